"""Model: mechanism + elements + parameter values. Identification ends in it; everything a robot needs starts from it.

An object file is a model without values. A model carries no data, only what the data said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np

from palpate.elements import SENSOR, WRENCH, Element, Parameter, Shape
from palpate.elements.element import column_coefficients
from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import read_bytes, write_text
from palpate.mechanisms import Mechanism
from palpate.parts import SHIPPED, Parts
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS, Functions, Scalar, dot
from palpate.physics.inertia import DRAWING_NAMES, check_consistent
from palpate.physics.maps import Factor, Map, build_map
from palpate.physics.memory import remembered, stepped
from palpate.physics.motion import Kinematics
from palpate.physics.units import unit_text
from palpate.tables import Styled, Table, html, plain, table
from palpate.yaml_problems import yaml_problem

MODEL_FORMAT = 1
_SEIZED = 0.1
"""What friction that follows the effort leaves of it, at least: with nothing left the object would not move."""
_NOTHING = (0.0,) * 6
_GAP = 1.5
"""Times the usual one, a step in time between samples that nobody knows the way through."""
_KEYS = ("palpate_model", "name", "mechanism", "elements", "parameters", "about")


@dataclass(frozen=True, slots=True)
class Model:
    """What an object is made of, and how much of it: mechanism, elements, values of their parameters.

    `about` is for people: frame, model_of, zeroing, origin.

    >>> door = load_object("door")
    >>> [f"{name} ({p.unit})" for name, p in door.parameters.items()][:3]
    ['I (kg m2)', 'b_v (N m s/rad)', 'b_c (N m)']
    """

    name: str
    mechanism: Mechanism
    elements: tuple[Element, ...]
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    _named: dict[str, Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse elements that do not fit together or act on what the mechanism has not."""
        names = [e.name for e in self.elements]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise PalpateError(f"model {self.name!r}: two elements are called {twice!r}: give each a name of its own")
        coordinates, directions = self.mechanism.coordinates, self.mechanism.directions
        for e in self.elements:
            where = f"model {self.name!r}, element {e.name!r}"
            if e.acts_on not in (WRENCH, SENSOR, *coordinates):
                raise UnknownName("coordinate", e.acts_on, (WRENCH, *coordinates), where=where)
            for name in e.looks_at:
                if name not in coordinates:
                    raise UnknownName("coordinate", name, coordinates, where=where)
            if e.uses_load and e.acts_on not in (known := self._loaded_coordinates()):
                mechanism = f"the mechanism {self.mechanism.type!r} does not say what presses on {e.acts_on!r}"
                raise PalpateError(f"{where}: {mechanism}; it says so of {', '.join(known) or 'none'}")
            if e.uses_effort and (e.acts_on != self.mechanism.main or len(self.mechanism.rows) > 1):
                raise PalpateError(
                    f"{where}: lever is for a hinge alone; leave it out, the force across is measured here"
                )
            if e.acts_on in self.mechanism.unmeasured and (e.weighs or e.memory):
                what = "weight" if e.weighs else "a force that remembers its way"
                wrong = f"{what} cannot act on {e.acts_on!r}, which nobody measures"
                raise PalpateError(f"{where}: {wrong}; a constant force is {{type: spring, order: 0}}")
            if e.memory and not self._has_position(e.acts_on):
                raise PalpateError(f"{where}: it remembers positions, and {e.acts_on!r} has only a speed")
        object.__setattr__(self, "elements", tuple(e.on(coordinates, directions) for e in self.elements))
        remembered = [name for e in self.elements for name in e.memory]
        if len(set(remembered)) != len(remembered):
            raise PalpateError(f"model {self.name!r}: two elements remember what has the same name: {remembered}")
        owners = [(e.name, p) for e in self.elements for p in e.parameters]
        names = [p.name for _, p in owners]
        named = {p.name if names.count(p.name) == 1 else f"{owner}.{p.name}": p for owner, p in owners}
        object.__setattr__(self, "_named", named)
        for name in self.values:
            if name not in named:
                raise UnknownName("parameter", name, named, where=f"model {self.name!r}")

    def __str__(self) -> str:
        """For `print`: mechanism, elements, and the values that there are."""
        return plain(*self._shown())

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return html(*self._shown())

    def _shown(self) -> list[Styled | Table]:
        values = {name: self.values.get(name) for name in self.parameters}
        words, owners = self.words, {name: e.type for e, names in self.parts for name in names}
        numbers = table(
            {"parameter": name, "value": "-" if value is None else f"{value:.5g}"}
            | {"unit": unit_text(self.parameters[name].unit), "what it is": words[name], "element": owners[name]}
            for name, value in values.items()
        )
        about = ", ".join(f"{key}: {self.about[key]}" for key in ("model_of", "verdict") if key in self.about)
        known = "" if any(v is not None for v in values.values()) else "; no values yet"
        lines = [Styled(f"{self.name}: {self.mechanism.type}{known}", style="bold"), numbers]
        return [*lines, *([Styled(about)] if about else [])]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All linear parameters in column order; a name that two elements share gets the element's name in front."""
        return self._named

    @property
    def p(self) -> FloatArray:
        """The values in column order."""
        names = tuple(self.parameters)
        missing = [name for name in names if name not in self.values]
        if missing:
            raise PalpateError(f"model {self.name!r} has no value for {', '.join(missing)}")
        return np.array([self.values[name] for name in names])

    @property
    def shapes(self) -> dict[str, float]:
        """The nonlinear parameters' values; a name that two elements share gets the element's name in front."""
        return {name: s.value for shapes in self._shape_names() for name, s in shapes}

    def with_values(self, p: Sequence[float] | FloatArray, **about: str) -> Model:
        """The same model with these values, in column order."""
        values = {name: float(v) for name, v in zip(self.parameters, p, strict=True)}
        return replace(self, values=values, about={**self.about, **about})

    def names_of(self, element: Element) -> tuple[str, ...]:
        """The names of an element's parameters in this model."""
        return next(names for e, names in self.parts if e.name == element.name)

    @property
    def parts(self) -> list[tuple[Element, tuple[str, ...]]]:
        """The elements with the names of their parameters."""
        names = iter(self.parameters)
        return [(e, tuple(next(names) for _ in e.parameters)) for e in self.elements]

    def advice(self, name: str) -> str:
        """Which motion would tell more about a parameter, by its name in a result; empty where nothing is known."""
        if name in self.mechanism.advice:
            return self.mechanism.advice[name]
        owner = next((e for e, names in self.parts if name in names), None)
        if owner is None or owner.instrument:
            return ""
        return self.mechanism.advice.get(owner.acts_on, owner.needs)

    @property
    def words(self) -> dict[str, str]:
        """What each number is, in words: all parameters, and mass, centre and inertia of bodies as on a drawing."""
        named: dict[str, str] = {}
        for e, names in self.parts:
            coupled = e.acts_on not in (WRENCH, SENSOR, self.mechanism.main)
            where = f" ({e.acts_on.replace('_', ' ')})" if coupled else ""
            for name, words in zip(names, e.words, strict=True):
                named[name] = words + where
            if names and e.parameters[0].map == "inertia":
                prefix = names[0].removesuffix("m")  # "" or the element's name and a dot
                named |= {prefix + n: w + where for n, w in zip(DRAWING_NAMES, e.words, strict=True)}
                named |= {f"{prefix}mc_{axis}": f"mass times {axis} of its centre" for axis in "xyz"}
        return named

    @property
    def mass_parameter(self) -> str | None:
        """The parameter that is the whole mass of a body that only moves along a line; None: there is none."""
        scalar = (n for e, names in self.parts if e.constant == "inertia" for n in names)
        return next((n for n in scalar if self.parameters[n].unit == "kg"), None)

    def with_wheel(self, radius: float) -> Model:
        """The same object on a wheel of another radius, m; elements that know it follow."""
        elements = tuple(e.on_wheel(radius) for e in self.elements)
        return replace(self, mechanism=self.mechanism.with_options(radius=radius), elements=elements)

    def of_object(self) -> Model:
        """The object alone, without what belongs to the instruments."""
        return self.only(tuple(e for e in self.elements if not e.instrument))

    def without_dry(self) -> Model:
        """The same model without its dry elements: what a runtime evaluates beside `dry_forces`."""
        return self.only(tuple(e for e in self.elements if not e.dry))

    @property
    def uses_load(self) -> bool:
        """Whether its forces depend on the wrench that moves it."""
        return any(e.uses_load for e in self.elements)

    def loaded(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The kinematics with what a wrench in the body frame (6) presses on the guides, where an element asks."""
        return replace(k, loads=self.mechanism.loads(k, wrench, fn)) if self.uses_load else k

    def with_effort(self, k: Kinematics, values: Mapping[str, float]) -> Kinematics:
        """A recording's `loaded` kinematics with the effort that these values predict instead of the measured one.

        y = Y p + f y, so y = Y p / (1 - f), f = mu s sgn y / lever of friction that follows it.
        """
        p = np.array([values.get(name, 0.0) for name in self.parameters])

        def along(effort: Scalar) -> Kinematics:
            sides = {name: np.sign(np.asarray(load.along)) for name, load in k.loads.items()}
            return replace(k, loads={n: replace(k.loads[n], along=effort, side=side) for n, side in sides.items()})

        without, with_one = (np.asarray(self.combined(along(x), ARRAYS, p)[0]) for x in (0.0, 1.0))
        return along(without / np.maximum(1 - (with_one - without), _SEIZED))

    def untouched(self, k: Kinematics, fn: Functions) -> Kinematics:
        """The kinematics with all that an element may ask: where nobody said which wrench acts, none does; where nobody
        said how it came there, what is remembered is zero, as far as that is possible.
        """
        k = k if k.loads else self.loaded(k, _NOTHING, fn)
        if not self.memory or k.memory:
            return k
        memory = {
            e.name: tuple(stepped(0.0, step, fn) for step in e.remember(at, at, fn))
            for e, at in ((e, k.coordinates[e.acts_on].position) for e in self.elements if e.memory)
        }
        return replace(k, memory=memory)

    @property
    def memory(self) -> dict[str, str]:
        """What its elements remember of the way, in order, with units."""
        return {name: unit for e in self.elements for name, unit in e.memory.items()}

    def remembering(self, k: Kinematics, times_s: FloatArray) -> Kinematics:
        """A recording's kinematics with what elements remember at each sample; NaN where the way does not tell it."""
        if not self.memory:
            return k
        memory: dict[str, tuple[FloatArray, ...]] = {}
        gaps = np.diff(times_s, prepend=times_s[:1]) > _GAP * np.median(np.diff(times_s))
        for e in (e for e in self.elements if e.memory):
            now = np.where(gaps, np.nan, k.coordinates[e.acts_on].position)
            before = np.concatenate([now[:1], now[:-1]])
            memory[e.name] = tuple(
                remembered([np.broadcast_to(x, len(now)) for x in step]) for step in e.remember(before, now, ARRAYS)
            )
        return replace(k, memory=memory)

    def _has_position(self, coordinate: str) -> bool:
        count, still = len(self.mechanism.state), [0.0] * len(self.mechanism.accelerations)
        states = ([x * (i + 1) for i in range(count)] for x in (0.0, 0.01))
        here, there = (self.mechanism.expand(state, still, FLOATS).coordinates[coordinate] for state in states)
        return bool(here.position != there.position)

    def _loaded_coordinates(self) -> tuple[str, ...]:
        state, acc = [0.0] * len(self.mechanism.state), [0.0] * len(self.mechanism.accelerations)
        return tuple(self.mechanism.loads(self.mechanism.expand(state, acc, FLOATS), _NOTHING, FLOATS))

    def features(self, k: Kinematics, fn: Functions, z: Mapping[str, Scalar] | None = None) -> list[Scalar]:
        """The features of all elements, one after the other."""
        k = self.untouched(k, fn)
        parts = zip(self.elements, self._shape_values(z), strict=True)
        return [f for e, shapes in parts for f in e.features(k, shapes, fn)]

    def coefficients(self) -> FloatArray:
        """Constant coefficients [row, feature, parameter] with which the features make up Y.

        They exist where the mechanism's projection and ratios do not change from sample to sample.
        """
        if not self.mechanism.constant_projection:
            raise PalpateError(f"model {self.name!r}: its rows are not constant combinations of features")
        state, acc = [0.0] * len(self.mechanism.state), [0.0] * len(self.mechanism.accelerations)
        still = self.untouched(self.mechanism.expand(state, acc, FLOATS), FLOATS)  # any motion would do
        parts = zip(self.elements, self._shape_values(None), strict=True)
        counts = [len(e.features(still, shapes, FLOATS)) for e, shapes in parts]
        T = np.zeros((len(self.mechanism.rows), sum(counts), len(self.parameters)))
        f0, p0, project = 0, 0, self.mechanism.projector(still, FLOATS)
        for e, count in zip(self.elements, counts, strict=True):
            for i, block in enumerate(np.moveaxis(column_coefficients(e, count), 1, 0)):
                for j, column in enumerate(block.T):
                    T[:, f0 + i, p0 + j] = self._lift(e, still, list(column), project)
            f0, p0 = f0 + count, p0 + len(e.parameters)
        return T

    def columns(self, k: Kinematics, fn: Functions, z: Mapping[str, Scalar] | None = None) -> list[list[Scalar]]:
        """Y: for each parameter its column over the free rows."""
        k = self.untouched(k, fn)
        columns, project = list[list[Scalar]](), self.mechanism.projector(k, fn)
        for e, shapes in zip(self.elements, self._shape_values(z), strict=True):
            rows = e.columns(e.features(k, shapes, fn))
            columns += [self._lift(e, k, [row[j] for row in rows], project) for j in range(len(e.parameters))]
        return columns

    def combined(self, k: Kinematics, fn: Functions, p: Sequence[float] | FloatArray) -> list[Scalar]:
        """Y p: as the columns times these parameters, but each element is projected once, not once for each of them."""
        k = self.untouched(k, fn)
        total, project, values = (
            list[Scalar]([0.0] * len(self.mechanism.rows)),
            self.mechanism.projector(k, fn),
            list(p),
        )
        for e, shapes in zip(self.elements, self._shape_values(None), strict=True):
            mine = [float(values.pop(0)) for _ in e.parameters]
            force = [dot(row, mine) for row in e.columns(e.features(k, shapes, fn))]
            total = [a + b for a, b in zip(total, self._lift(e, k, force, project), strict=True)]
        return total

    def wrench(self, k: Kinematics, fn: Functions) -> list[Scalar]:
        """Inverse dynamics: the free rows of the wrench that this motion needs, N and N m."""
        columns = self.columns(k, fn)
        p = [float(value) for value in self.p]
        return [sum(c[i] * v for c, v in zip(columns, p, strict=True)) for i in range(len(self.mechanism.rows))]

    def along(
        self, position: FloatArray | float, speed: FloatArray | float = 0.0, acceleration: float = 0.0
    ) -> FloatArray:
        """What moves in one way needs along it, without dry friction: N m or N, as many as positions."""
        zero = 0.0 * np.asarray(position)
        k = self.mechanism.expand((position + zero, speed + zero), (acceleration + zero,), ARRAYS)
        return np.asarray(self.without_dry().wrench(k, ARRAYS)[0], dtype=float) + zero

    def dry_forces(self, k: Kinematics, fn: Functions) -> list[tuple[tuple[Scalar, ...], Scalar]]:
        """The dry elements as sets, each (ratio, level): its part of free row i is ratio_i level Sign(ratio . v).

        Sign(0) is everything from -1 to 1; v are the speeds that belong to the free rows; level >= 0 (N, N m).
        """
        k = self.untouched(k, fn)
        forces: list[tuple[tuple[Scalar, ...], Scalar]] = []
        for (e, names), shapes in zip(self.parts, self._shape_values(None), strict=True):
            if e.dry and e.acts_on not in k.coordinates:
                raise PalpateError(f"model {self.name!r}: {e.name!r} is dry, so it must act on a coordinate")
            if e.dry:
                level = sum(c * self.values[n] for c, n in zip(e.level(k, shapes, fn), names, strict=True))
                forces.append((k.coordinates[e.acts_on].ratio, level))
        return forces

    def map(
        self,
        *,
        factor: Factor = "UtU",
        known_mass: float | None = None,
        fixed: Mapping[str, float] | None = None,
    ) -> Map:
        """How unconstrained theta become these parameters; `fixed` parameters keep their value.

        The ten of a rigid body are possible or not only together: of them, the mass alone may be known.
        """
        fixed = {} if fixed is None else fixed
        free = [name for name, p in self.parameters.items() if p.map != "inertia"]
        for name in fixed:
            if name not in free:
                raise UnknownName("parameter to fix", name, free, where=f"model {self.name!r}")
        places = {i: fixed[name] for i, name in enumerate(self.parameters) if name in fixed}
        kinds = [p.map for p in self.parameters.values()]
        return build_map(kinds, fixed=places, factor=factor, known_mass=known_mass)

    def roughness(self) -> FloatArray:
        """(rows, parameters): what priors of smoothness expect to be zero, in standard deviations."""
        names = list(self.parameters)
        rows = [dict(zip(mine, row, strict=True)) for e, mine in self.parts for row in e.roughness]
        return np.array([[row.get(n, 0.0) for n in names] for row in rows]).reshape(-1, len(names))

    def only(self, elements: tuple[Element, ...]) -> Model:
        """The same model of some of its elements, with their values.

        A name that was shared may stand alone then: values go by place, not by name.
        """
        kept = replace(self, elements=elements, values={})
        pairs = zip(kept.parameters, (n for e, names in self.parts if e in elements for n in names), strict=True)
        return replace(kept, values={new: self.values[n] for new, n in pairs if n in self.values})

    def _lift(
        self, e: Element, k: Kinematics, column: list[Scalar], project: Callable[[Sequence[Scalar]], Sequence[Scalar]]
    ) -> list[Scalar]:
        """A column of an element -> free rows, by projection of a wrench or by virtual work along a coordinate."""
        if e.acts_on in (WRENCH, SENSOR):
            return list(project(column))
        return [ratio * column[0] for ratio in k.coordinates[e.acts_on].ratio]

    def _shape_names(self) -> list[list[tuple[str, Shape]]]:
        """For each element its shapes with the names that they have in the model."""
        names = [s.name for e in self.elements for s in e.shapes]
        return [
            [(s.name if names.count(s.name) == 1 else f"{e.name}.{s.name}", s) for s in e.shapes] for e in self.elements
        ]

    def _shape_values(self, z: Mapping[str, Scalar] | None) -> list[dict[str, Scalar]]:
        """For each element its shapes' values under its own names; `z` has the model's names."""
        values = self.shapes if z is None else z
        return [{s.name: values[name] for name, s in shapes} for shapes in self._shape_names()]

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data; `Model.from_dict` reads it back."""
        data: dict[str, Any] = {
            "palpate_model": MODEL_FORMAT,
            "name": self.name,
            "mechanism": _describe(self.mechanism),
            "elements": [_describe(e) for e in self.elements],
        }
        if self.values:
            units = {name: p.unit for name, p in self.parameters.items()}
            data["parameters"] = {n: {"value": v, "unit": units[n]} for n, v in self.values.items()}
        return data | ({"about": dict(self.about)} if self.about else {})

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        parts: Parts = SHIPPED,
    ) -> Model:
        """Build a model from plain data; `parts` may hold a user's own types beside ours (`load_parts`)."""
        if data.get("palpate_model", MODEL_FORMAT) != MODEL_FORMAT:
            raise PalpateError(
                f"the model has format {data['palpate_model']}, this palpate reads format {MODEL_FORMAT}"
            )
        for key in data:
            if key not in _KEYS:
                raise UnknownName("key", str(key), _KEYS)
        try:
            name, mechanism, elements = str(data["name"]), data["mechanism"], data["elements"]
        except KeyError as key:
            raise PalpateError(f"the model has no {key.args[0]!r}") from None
        if not isinstance(elements, list):
            raise PalpateError(f"elements must be a list, not {elements!r}")
        given = _parameters(data.get("parameters", {}))
        model = cls(
            name=name,
            mechanism=_build("mechanism", mechanism, parts.mechanisms, parts.linkages),
            elements=tuple(_build("element", e, parts.elements) for e in cast("list[Any]", elements)),
            values={n: float(v["value"]) for n, v in given.items()},
            about=dict(data.get("about", {})),
        )
        for n, v in given.items():
            if v.get("unit") != (unit := model.parameters[n].unit):
                raise PalpateError(f"model {name!r}: {n} must be in {unit!r}, not in {v.get('unit')!r}")
        model.check_values()
        model.check_mass()
        return model

    def check_mass(self) -> None:
        """Refuse a file that states one mass twice; a runtime adds what the hand holds to what the object is."""
        body = next((e for e in self.elements if e.inertial and e.acts_on == WRENCH), None)
        again = [e for e in self.elements if (e.inertial or e.weighs) and e.acts_on == self.mechanism.main]
        if body is not None and again:
            known = f"{again[0].name!r} ({again[0].type}) and {body.name!r} ({body.type}) describe the same mass"
            raise PalpateError(f"model {self.name!r}: {known}: leave one of them out")

    def check_values(self) -> None:
        """Refuse values that are not physically consistent."""
        for e, mine in self.parts:
            if not all(n in self.values for n in mine):
                continue
            if mine and e.parameters[0].map == "inertia":
                check_consistent([self.values[n] for n in mine], f"model {self.name!r}, element {e.name!r}")
            for n, p in zip(mine, e.parameters, strict=True):
                value = self.values[n]
                less = p.map == "positive" and (value < 0 or (e.inertial and value == 0))  # no friction is possible
                if less or not np.isfinite(value):
                    raise PalpateError(f"model {self.name!r}: {n} = {self.values[n]:g} {p.unit} is not possible")

    def save(self, path: str | Path) -> None:
        """Write one JSON file, atomically."""
        write_text(Path(path), json.dumps(self.to_dict(), indent=1) + "\n")

    @classmethod
    def load(
        cls,
        path: str | Path,
        parts: Parts = SHIPPED,
    ) -> Model:
        """Read a model that `save` wrote; a user's own types are given as in `from_dict`."""
        path = Path(path)
        try:
            data = json.loads(read_bytes(path))
            if not isinstance(data, dict) or "palpate_model" not in data:
                raise FileProblem(
                    path, "this JSON is not a palpate model", remedy="give a model.json that palpate wrote"
                )
            return cls.from_dict(cast("dict[str, Any]", data), parts)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileProblem(path, f"the model is damaged ({error})", remedy="identify it again") from error
        except FileProblem:
            raise
        except PalpateError as error:
            raise FileProblem(path, str(error)) from error


def shipped_objects() -> dict[str, Any]:
    """The object files that come with palpate, by name."""
    files = resources.files("palpate.objects").iterdir()
    return {p.name.removesuffix(".yaml"): p for p in sorted(files, key=lambda p: p.name) if p.name.endswith(".yaml")}


_OBJECT = (
    "an object file has the keys name, mechanism, elements, such as {name: gate, mechanism: {type: hinge}, "
    "elements: [{type: inertia, name: I}]}"
)


def load_object(
    name: str | Path,
    parts: Parts = SHIPPED,
) -> Model:
    """An object file by the name under which it ships ("handle"), or by path: a model without values."""
    from ruamel.yaml import YAML, YAMLError
    from ruamel.yaml.error import MarkedYAMLError

    shipped = shipped_objects()
    if str(name) in shipped:
        text, source = shipped[str(name)].read_text(encoding="utf-8"), Path(f"{name}.yaml")
    elif Path(name).suffix in (".yaml", ".yml"):
        text = read_bytes(Path(name), if_empty=_OBJECT).decode("utf-8", "replace")
        source = Path(name)
    else:
        raise UnknownName("object", str(name), shipped)
    try:
        data = YAML(typ="safe").load(text)
        if not isinstance(data, dict):
            raise PalpateError(_OBJECT)
        return Model.from_dict(cast("dict[str, Any]", data), parts)
    except MarkedYAMLError as error:
        line, problem, cure = yaml_problem(text, error)
        raise FileProblem(source, problem, line=line, remedy=cure) from error
    except (PalpateError, YAMLError, ValueError, TypeError, AttributeError) as error:
        raise FileProblem(source, " ".join(str(error).split())) from error


def _parameters(data: Any) -> dict[str, dict[str, Any]]:
    named: dict[str, Any] = cast("dict[str, Any]", data) if isinstance(data, dict) else {"": None}
    if not all(isinstance(v, dict) and "value" in v for v in named.values()):
        raise PalpateError("parameters must be given by name as {value: ..., unit: ...}")
    return named


def _describe(part: Any) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if is_dataclass(value):
            return _describe(value)
        return [plain(v) for v in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value

    return {"type": part.type, **{f.name: plain(getattr(part, f.name)) for f in fields(part) if f.init}}


def _build(
    kind: str, data: Any, types: Mapping[str, type[Any]], linkages: Mapping[str, type[Any]] | None = None
) -> Any:
    if not isinstance(data, dict):
        raise PalpateError(f"{kind}: {data!r} must be options in braces, such as {{type: {next(iter(types))}}}")
    options = dict(cast("dict[str, Any]", data))
    name = str(options.pop("type", ""))
    if name not in types:
        raise UnknownName(f"{kind} type", name, types)
    known = {f.name: f.type for f in fields(types[name]) if f.init}
    for option, value in options.items():
        if option not in known:
            raise UnknownName("option", option, known, where=f"{kind} {name!r}")
        number = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
        if known[option] in ("float", float) and not number:
            raise PalpateError(f"{kind} {name!r}: {option} must be a number in SI units, not {value!r}")
        if isinstance(value, dict) and linkages is not None:  # a part of a part: the linkage of a hinge
            options[option] = _build(option, value, linkages)
        if isinstance(value, list) and all(isinstance(x, str) for x in cast("list[Any]", value)):
            options[option] = tuple(cast("list[str]", value))
        if option == "linkage" and isinstance(value, list) and linkages is not None:
            options[option] = tuple(_build(option, v, linkages) for v in cast("list[Any]", value))
    try:
        return types[name](**options)
    except TypeError as error:
        raise PalpateError(f"{kind} {name!r}: {error}") from error
