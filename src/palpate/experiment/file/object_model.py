"""The model of an experiment: its object file with the mechanism's options and the elements that the file states."""

from __future__ import annotations

from typing import Any, cast

from palpate.errors import PalpateError, UnknownName
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import BodyPart, Options
from palpate.model import Model, load_object
from palpate.physics.units import parse_quantity

ANGLES = frozenset({"above", "below", "width", "at", "reference", "inclination", "direction", "range", "knots"})
"""Options that are angles: a bare number there might be meant in degrees."""
SHORTEST_M, LONGEST_M = 0.01, 3.0
"""Links of what people move by hand."""
UNITS = {"lengths": "m", "radius": "m", "track": "m", "v_s": "rad/s", "gravity": "m/s2"}


def object_model(experiment: Experiment[BodyPart]) -> Model:
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
    for i, given in enumerate(config.elements):
        options = _si(experiment, f"elements.{i}", given)
        name = options.get("name")
        if not isinstance(name, str):
            raise experiment.problem(f"elements.{i}.name", "this key is missing: which element is it?")
        if name in [other.get("name") for other in config.elements[:i]]:
            raise experiment.problem(f"elements.{i}.name", f"there are two elements {name!r} in this list")
        parts[name] = options
    own: Options = {**base.to_dict()["mechanism"], "gravity": config.gravity}
    mechanism = _merged(own, _si(experiment, "mechanism", config.mechanism))
    model = base
    places = {str(options["name"]): f"elements.{i}" for i, options in enumerate(config.elements)}
    steps: list[tuple[str | None, list[Options]]] = [
        ("mechanism", []),
        *((places.get(name), [part]) for name, part in parts.items()),
    ]
    for key, elements in (*steps, ("elements", list(parts.values()))):
        try:
            model = Model.from_dict({"name": base.name, "mechanism": mechanism, "elements": elements})
        except PalpateError as error:
            # an element of the object itself may miss a coordinate that the experiment's mechanism has not
            raise experiment.problem(key or "mechanism", str(error)) from error
    for key in ("fixed", "known"):
        for name, value in getattr(config, key).items():
            if name not in model.parameters:
                raise experiment.problem(f"{key}.{name}", str(UnknownName("parameter", name, model.parameters)))
            if model.parameters[name].map == "positive" and value < 0:
                wrong = f"{value:g} {model.parameters[name].unit} is not possible: it must not be negative"
                raise experiment.problem(f"{key}.{name}", wrong)
    _check_lengths(experiment, model)
    return model


def _check_lengths(experiment: Experiment[BodyPart], model: Model) -> None:
    """Refuse links as long as houses: only their ratios count in the balance, so nothing else would show it."""
    linkage = getattr(model.mechanism, "linkage", None)
    lengths = cast("tuple[float, ...]", getattr(linkage, "lengths", ()))
    if any(not SHORTEST_M <= length <= LONGEST_M for length in lengths):
        told = f"links of {', '.join(f'{length:g}' for length in lengths)} m are none of an object that people move"
        raise experiment.problem("mechanism.linkage.lengths", told, "write the unit, such as 286 mm or 11.25 in")


def _merged(base: Options, given: Options) -> Options:
    """Options of the base, replaced by those given; parts of parts likewise, unless they are of another type."""
    found = dict(base)
    for key, value in given.items():
        old = found.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            one, other = cast("Options", old), cast("Options", value)
            found[key] = _merged(one, other) if other.get("type", one["type"]) == one["type"] else other
        else:
            found[key] = value
    return found


def _si(experiment: Experiment[BodyPart], key: str, options: Options) -> Options:
    """Options with quantities as numbers in SI; an angle without its unit is refused."""
    return {name: _value(experiment, f"{key}.{name}", name, value) for name, value in options.items()}


def _value(experiment: Experiment[BodyPart], key: str, name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _si(experiment, key, cast("Options", value))
    if isinstance(value, list):
        return [_value(experiment, key, name, v) for v in cast("list[Any]", value)]
    if name not in ANGLES and name not in UNITS:
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in ANGLES and number and value != 0:
        raise experiment.problem(key, f"{value} has no unit", f"write {value} deg, or {value} rad")
    if not number and not isinstance(value, str):
        return value
    try:
        return parse_quantity(cast("float | str", value), UNITS.get(name, "deg"))
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error
