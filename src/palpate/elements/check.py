"""`check_element`: the conformance test that every element, ours or a user's, must pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, cast

import numpy as np

from palpate.elements.element import SENSOR, WRENCH, Element, column_coefficients, row_count
from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS, Functions, Scalar
from palpate.physics.memory import remembered
from palpate.physics.motion import Coordinate, Kinematics, Load
from palpate.physics.symbols import SYMBOLS, Symbol
from palpate.physics.units import parse_unit

_SAMPLES = 64
_FORCE, _MOMENT = (1.0, 1.0, -2.0), (1.0, 2.0, -2.0)


def check_element(element: Element, *, coordinate_unit: str | None = None, seed: int = 0) -> tuple[str, ...]:
    """Raise `PalpateError` with the reason if an element does not keep its promises; return what was checked.

    Declarations, shape of the columns, linearity in the features with constant coefficients, arrays = floats = symbols,
    units (the equation must survive a change of the units of mass, length and time), and dissipation where it is
    declared. `coordinate_unit`, "rad" or "m", is the unit of its coordinates: by
    default the natural one.
    """
    unit = coordinate_unit or element.natural_unit
    element = element.on(dict.fromkeys((element.acts_on, *element.looks_at), unit))
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(20 + len(element.memory), _SAMPLES))
    k = _kinematics(element, list(columns))
    z = {shape.name: shape.value for shape in element.shapes}
    _check_declarations(element)
    symbols = _on_symbols(element, [float(c[0]) for c in columns], z)
    f = _features(element, k, z, ARRAYS, "arrays")
    Y = _evaluate(element, f, (_SAMPLES,))
    if not np.isfinite(Y).all():
        _fail(element, "a column is not finite for an ordinary motion")
    T, each = column_coefficients(element, len(f)), np.array([np.broadcast_to(x, _SAMPLES) for x in f])
    if not np.allclose(np.einsum("rfp,fn->rpn", T, each), Y, rtol=1e-12, atol=1e-12):
        reason = "columns() is not linear in the features with constant coefficients; move the rest into features()"
        _fail(element, reason)
    for i in (0, 1):
        at = _kinematics(element, [float(c[i]) for c in columns])
        _compare(element, "floats", _evaluate(element, _features(element, at, z, FLOATS, "floats")), Y[:, :, i])
    _compare(element, "symbols", np.array(symbols), Y[:, :, 0])
    _check_units(element, columns, z, Y, unit, rng)
    if element.dry:
        _check_level(element, k, z, columns[10], Y)
    checked = ("declarations", "columns", "linearity", "floats", "units", "symbols")
    if element.memory:
        _check_memory(element, z, rng)
        checked = (*checked, "memory")
    if not element.dissipates:
        return checked
    if element.acts_on in (WRENCH, SENSOR) or any(p.map != "positive" for p in element.parameters):
        _fail(element, "dissipation is checked for positive parameters along a coordinate only")
    power = Y[0] * columns[10]  # each column times the speed of the coordinate
    if (power < -1e-12).any():
        worst = element.parameters[int(power.min(axis=1).argmin())].name
        _fail(element, f"it is declared to dissipate, but {worst} can put energy in")
    return (*checked, "dissipation")


def _check_declarations(element: Element) -> None:
    names = [p.name for p in element.parameters] + [s.name for s in element.shapes]
    if len(set(names)) != len(names):
        _fail(element, f"two parameters have the same name: {', '.join(names)}")
    for unit in [p.unit for p in element.parameters] + [s.unit for s in element.shapes]:
        try:
            parse_unit(unit)
        except PalpateError as error:
            _fail(element, str(error), error)
    if element.uses_load and not element.dry:
        _fail(element, "it uses the load, so it must be dry: a force that follows the hand's own is no other kind")
    inertial = [p for p in element.parameters if p.map == "inertia"]
    if inertial and (len(inertial) != 10 or len(element.parameters) != 10):
        _fail(element, "the map 'inertia' is for exactly the ten parameters of a rigid body")
    for s in element.shapes:
        if not s.bounds[0] <= s.value <= s.bounds[1]:
            _fail(element, f"the shape {s.name} = {s.value:g} is outside its own bounds {s.bounds}")


def _on_symbols(element: Element, values: list[float], z: dict[str, float]) -> list[list[float]]:
    """The columns on numbers that know + - * / and the table only: NumPy's functions, `if` and `>` fail."""
    k = _kinematics(element, [Symbol(v) for v in values])
    try:
        rows = element.columns(element.features(k, {name: Symbol(v) for name, v in z.items()}, SYMBOLS))
        return [[Symbol(x).value for x in row] for row in rows]
    except TypeError as error:
        _fail(element, f"{error}; use only + - * / and the functions of fn", error)
    except Exception as error:
        _fail(element, f"it cannot be evaluated ({type(error).__name__}: {error})", error)


def _check_units(
    element: Element,
    columns: FloatArray,
    z: dict[str, float],
    Y: FloatArray,
    unit: str,
    rng: np.random.Generator,
) -> None:
    """Dimensional analysis by experiment: in other units of mass, length and time, Y changes as the units say."""
    new = rng.uniform(0.5, 2.0, size=3)

    def factor(dimension: Sequence[float]) -> float:
        return float(np.prod(new ** np.array(dimension)))

    q = parse_unit(unit).dimension
    rate, rate2 = [(q[0], q[1], q[2] - i) for i in (1, 2)]
    scales = [factor((0, 1, -2))] * 3 + [factor((0, 0, -1))] * 3 + [factor((0, 0, -2))] * 3
    scales += [factor(q), factor(rate), factor(rate2)]
    scales += scales[9:]  # other coordinates that it looks at have the same unit
    # a force along a coordinate has the unit of work per coordinate
    along = tuple(m - c for m, c in zip(_MOMENT, q, strict=True))
    scales += [factor(_FORCE)] * 2 + [1.0] * 2 + [factor(along)]
    scales += [factor(parse_unit(text).dimension) for text in element.memory.values()]
    scaled = columns * np.array(scales)[:, None]
    z_new = {s.name: z[s.name] * factor(parse_unit(s.unit).dimension) for s in element.shapes}
    options = {name: factor(parse_unit(element.unit(text)).dimension) for name, text in element.options.items()}
    other = replace(element, **{n: _times(getattr(element, n), s) for n, s in options.items()})
    other = other.on(dict.fromkeys((other.acts_on, *other.looks_at), unit))
    Y_new = _evaluate(other, _features(other, _kinematics(other, list(scaled)), z_new, ARRAYS, "arrays"), (_SAMPLES,))
    rows = [_FORCE] * 3 + [_MOMENT] * 3 if row_count(element) == 6 else [along]
    for i, row in enumerate(rows):
        for j, p in enumerate(element.parameters):
            expected = Y[i, j] * factor(row) / factor(parse_unit(p.unit).dimension)
            if not np.allclose(Y_new[i, j], expected, rtol=1e-9, atol=1e-12):
                _fail(element, f"the unit {p.unit!r} of {p.name} does not fit its column in row {i + 1}")


def _times(option: Any, scale: float) -> Any:
    """An option that is a number, several or none, in another unit."""
    if isinstance(option, tuple):
        return tuple(scale * x for x in cast("tuple[float, ...]", option))
    return None if option is None else scale * option


def _check_level(element: Element, k: Kinematics, z: dict[str, float], speed: FloatArray, Y: FloatArray) -> None:
    try:
        levels = element.level(k, z, ARRAYS)
    except PalpateError as error:
        reason = "it is dry, so it must have level(k, z, fn), its columns without the sign of the speed"
        _fail(element, reason, error)
    level = np.array([np.broadcast_to(x, speed.shape) for x in levels])
    if level.shape != Y[0].shape or (level < 0).any() or not np.allclose(level * np.sign(speed), Y[0]):
        _fail(element, "its columns are not its level times the sign of the speed, with a level >= 0 per parameter")


def _check_memory(element: Element, z: dict[str, float], rng: np.random.Generator) -> None:
    """Its steps on floats, arrays and symbols; and that a way that is gone round and round gives no energy."""
    if element.acts_on in (WRENCH, SENSOR):
        _fail(element, "it remembers, so it must act on a coordinate")
    way = np.cumsum(rng.normal(size=_SAMPLES // 4)) * rng.choice([0.01, 0.1], _SAMPLES // 4)
    way = np.concatenate([way, np.linspace(-4.0, 4.0, _SAMPLES // 4)])  # past whatever it waits for
    q = np.concatenate([way, way[::-1]] * 3)
    before = np.concatenate([q[:1], q[:-1]])
    try:
        steps = [[np.broadcast_to(x, q.shape) for x in step] for step in element.remember(before, q, ARRAYS)]
        again = [
            [tuple(Symbol(x).value for x in step) for step in element.remember(kind(a), kind(b), fn)]
            for kind, fn in ((float, FLOATS), (Symbol, SYMBOLS))
            for a, b in zip(before[:9], q[:9], strict=True)
        ]
    except Exception as error:
        _fail(element, f"remember() cannot be evaluated ({type(error).__name__}: {error})", error)
    if len(steps) != len(element.memory) or any(len(step) != 3 for step in steps):
        _fail(
            element, f"remember() must give {len(element.memory)} times what is added, the lowest and the highest value"
        )
    if any((step[1] > step[2]).any() for step in steps):
        _fail(element, "remember() gives a lowest value above the highest")
    for i, there in enumerate(again):
        if not np.allclose(there, [[x[i % 9] for x in step] for step in steps], rtol=1e-12, atol=1e-12):
            _fail(element, "remember() differs between arrays, floats and symbols; use only + - * / and fn")
    memory = tuple(remembered([np.nan_to_num(x) for x in step]) for step in steps)
    last = slice(-_SAMPLES, None)
    if any(np.isnan(x[last]).any() for x in memory):
        _fail(element, "it never forgets where it came from, so no recording shows what it remembers")
    still, none = Coordinate(q[last], np.zeros(_SAMPLES), np.zeros(_SAMPLES)), (0.0, 0.0, 0.0)
    k = Kinematics(none, none, none, {element.acts_on: still}, memory={element.name: tuple(x[last] for x in memory)})
    (row,) = element.columns(element.features(k, z, ARRAYS))
    round_ = np.append(q[last], q[-_SAMPLES])
    for p, column in zip(element.parameters, row, strict=True):
        force = np.broadcast_to(column, _SAMPLES)
        work = float(np.sum((force + np.roll(force, -1)) / 2 * np.diff(round_)))
        if p.map == "positive" and work < -0.02 * float(np.sum(np.abs(force * np.diff(round_)))):
            _fail(element, f"gone round a closed way, {p.name} puts energy in")


def _kinematics(element: Element, v: Sequence[Scalar]) -> Kinematics:
    coordinates = {name: Coordinate(v[12], v[13], v[14]) for name in element.looks_at}
    if element.acts_on not in (WRENCH, SENSOR):
        coordinates[element.acts_on] = Coordinate(v[9], v[10], v[11])
    loads = (
        {element.acts_on: Load((v[15], v[16]), ((v[17], 0.0, v[18]), (0.0, 1.0, v[17])), v[19])}
        if element.uses_load
        else {}
    )
    return Kinematics(
        (v[0], v[1], v[2]), (v[3], v[4], v[5]), (v[6], v[7], v[8]), coordinates, loads, {element.name: tuple(v[20:])}
    )


def _evaluate(element: Element, f: Sequence[Scalar], shape: tuple[int, ...] = ()) -> FloatArray:
    """Columns as an array (rows, parameters[, samples])."""
    rows = element.columns(f)
    if len(rows) != (count := row_count(element)):
        _fail(element, f"it acts on {element.acts_on!r}, so columns() must have {count} rows, not {len(rows)}")
    for row in rows:
        if len(row) != len(element.parameters):
            _fail(element, f"{len(element.parameters)} parameters, but columns() gives {len(row)}")
    return np.array([[np.broadcast_to(entry, shape) for entry in row] for row in rows], dtype=float)


def _features(element: Element, k: Kinematics, z: dict[str, float], fn: Functions, kind: str) -> Sequence[Scalar]:
    try:
        return element.features(k, z, fn)
    except Exception as error:
        _fail(element, f"features() fails on {kind} ({type(error).__name__}: {error})", error)


def _compare(element: Element, kind: str, columns: FloatArray, expected: FloatArray) -> None:
    if not np.allclose(columns.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12):
        _fail(element, f"its columns differ between arrays and {kind}; use only + - * / and the functions of fn")


def _fail(element: Element, reason: str, cause: Exception | None = None) -> NoReturn:
    raise PalpateError(f"element {element.name!r} ({type(element).__name__}): {reason}") from cause
