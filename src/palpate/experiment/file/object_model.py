"""The model of an experiment: its object file with the mechanism's options and the elements that the file states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from palpate.elements import ELEMENTS
from palpate.errors import PalpateError, UnknownName
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import Options
from palpate.mechanisms import LINKAGES, MECHANISMS
from palpate.model import Model, load_object
from palpate.physics.units import parse_quantity

SHORTEST_M, LONGEST_M = 0.01, 3.0
"""Links of what people move by hand."""

TYPES: Mapping[str, type[Any]] = {**MECHANISMS, **LINKAGES, **ELEMENTS}
"""Everything that an object consists of, by the type that a file names."""


def object_model(experiment: Experiment[Any]) -> Model:
    """The object with what this experiment says differs; a model without values."""
    config = experiment.config
    path = experiment.source.parent / config.object
    try:
        base = load_object(path if path.suffix in (".yaml", ".yml") else config.object)
    except PalpateError as error:
        raise experiment.problem("object", str(error)) from error
    parts = {e["name"]: e for e in base.to_dict()["elements"]}
    for i, name in enumerate(config.without):
        if name not in parts:
            raise experiment.problem(f"without.{i}", str(UnknownName("element", name, parts)))
        del parts[name]
    given = {**base.to_dict()["mechanism"], "gravity": config.gravity}
    mechanism = _merged(given, _si(experiment, "mechanism", config.mechanism, given))
    places: dict[str, str] = {}
    model = _built(experiment, "mechanism", base.name, mechanism, [])
    for i, options in enumerate(config.elements):
        name = options.get("name")
        if not isinstance(name, str):
            raise experiment.problem(f"elements.{i}.name", "this key is missing: which element is it?")
        if name in places:
            raise experiment.problem(f"elements.{i}.name", f"there are two elements {name!r} in this list")
        places[name] = f"elements.{i}"
        parts[name] = _si(experiment, places[name], options, options, model.mechanism.coordinates)
    for name, part in parts.items():
        # an element of the object itself may miss a coordinate that the experiment's mechanism has not
        _built(experiment, places.get(name, "mechanism"), base.name, mechanism, [part])
    model = _built(experiment, "elements", base.name, mechanism, list(parts.values()))
    for key in ("fixed", "known"):
        for name, value in getattr(config, key).items():
            if name not in model.parameters:
                raise experiment.problem(f"{key}.{name}", str(UnknownName("parameter", name, model.parameters)))
            if model.parameters[name].map == "positive" and value < 0:
                wrong = f"{value:g} {model.parameters[name].unit} is not possible: it must not be negative"
                raise experiment.problem(f"{key}.{name}", wrong)
    _check_lengths(experiment, model)
    return model


def option_units(part: Mapping[str, Any], coordinates: Mapping[str, str] | None = None) -> dict[str, str]:
    """Units of a mechanism's, a linkage's or an element's options, by its type; others have none.

    Those of an element follow from the coordinate that it looks at, else from the one that it acts on; `coordinates`:
    name -> "rad" or "m".
    """
    kind = TYPES.get(str(part.get("type")))
    if kind is None or kind not in ELEMENTS.values() or coordinates is None:
        return {} if kind is None else dict(kind.options)
    element = kind()
    named = (element.acts_on, *element.looks_at)
    choices = {f.name for f in fields(kind) if f.init and f.name != "name" and getattr(element, f.name) in named}
    element = replace(element, **{name: part[name] for name in choices if name in part}).on(coordinates)
    along = (element.acts_on, *element.looks_at)[-1]
    return {name: element.unit(unit, along) for name, unit in kind.options.items()}


def _built(experiment: Experiment[Any], key: str, name: str, mechanism: Options, elements: list[Options]) -> Model:
    try:
        return Model.from_dict({"name": name, "mechanism": mechanism, "elements": elements})
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def _check_lengths(experiment: Experiment[Any], model: Model) -> None:
    """Refuse links as long as houses: only their ratios count in the balance, so nothing else would show it."""
    linkage = model.mechanism.linkage
    lengths = () if linkage is None else linkage.lengths
    if any(not SHORTEST_M <= length <= LONGEST_M for length in lengths):
        wrong = f"links of {', '.join(f'{length:g}' for length in lengths)} m are none of an object that people move"
        raise experiment.problem("mechanism.linkage.lengths", wrong, "write the unit, such as 286 mm or 11.25 in")


def _merged(base: Options, given: Options) -> Options:
    """Options of the base, replaced by those given; parts of parts likewise, unless they are of another type."""
    merged = dict(base)
    for key, value in given.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            one, other = cast("Options", old), cast("Options", value)
            merged[key] = _merged(one, other) if other.get("type", one["type"]) == one["type"] else other
        else:
            merged[key] = value
    return merged


def _si(
    experiment: Experiment[Any],
    key: str,
    options: Options,
    typed: Mapping[str, Any],
    coordinates: Mapping[str, str] | None = None,
) -> Options:
    """Options with quantities as numbers in SI; an angle without its unit is refused. `typed` says their type."""
    units = option_units({**typed, **options}, coordinates)

    def value(name: str, given: Any) -> Any:
        place = f"{key}.{name}"
        if isinstance(given, dict):
            inner = typed.get(name)
            return _si(experiment, place, cast("Options", given), cast("Options", inner or given))
        if isinstance(given, list):
            return [value(name, entry) for entry in cast("list[Any]", given)]
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if name not in units or not (number or isinstance(given, str)):
            return given
        angle = units[name] == "rad"
        if angle and number and given != 0:
            raise experiment.problem(place, f"{given} has no unit", f"write {given} deg, or {given} rad")
        try:
            return parse_quantity(given, "deg" if angle else units[name])
        except PalpateError as error:
            raise experiment.problem(place, str(error)) from error

    return {name: value(name, given) for name, given in options.items()}
