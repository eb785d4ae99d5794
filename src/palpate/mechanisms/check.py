"""`check_mechanism`: the conformance test that every mechanism, ours or a user's, must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn, cast

import numpy as np

from palpate.errors import PalpateError
from palpate.mechanisms.mechanism import Mechanism
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS, Functions, Scalar
from palpate.physics.motion import Kinematics, Poses
from palpate.physics.symbols import SYMBOLS, Symbol
from palpate.physics.units import parse_unit

_SAMPLES = 24
_STEP = 1e-5
"""s: of central differences."""
_CLOSE, _NEAR = 1e-10, 1e-6
"""Relative to the larger of one and the largest number: rounding, and central differences."""
_POWER = (1.0, 2.0, -3.0)
_WRENCH_UNITS = ("N",) * 3 + ("N m",) * 3


def check_mechanism(mechanism: Mechanism, *, seed: int = 0) -> tuple[str, ...]:
    """Raise `PalpateError` with the reason if a mechanism does not keep its promises; return what was checked.

    Declarations; arrays = floats = symbols; rates, velocity and accelerations against differences of `place`; power:
    what holds the body does no work; `coordinates_of`, `states` and `observe` as inverses; the vertical; and units (all
    must survive a change of the units of length and time).
    """
    done = ["declarations"]
    try:
        _check_declarations(mechanism)
        path = _path(mechanism, np.random.default_rng(seed))
        for name, check in CHECKS.items():
            done.append(name)
            check(mechanism, path)
    except PalpateError as error:
        ours = str(error).startswith("mechanism ")
        raise error if ours else PalpateError(f"mechanism {mechanism.type!r}: {done[-1]}: {error}") from error
    except Exception as error:
        _fail(mechanism, f"{done[-1]}: it cannot be evaluated ({type(error).__name__}: {error})", error)
    return tuple(done)


class _Path:
    """States of a smooth path (samples, state) with accelerations, and the same a step before and after each."""

    def __init__(self, mechanism: Mechanism, states: FloatArray, accelerations: FloatArray) -> None:
        self.states, self.accelerations = states, accelerations
        n = accelerations.shape[1]
        rates = _columns(mechanism.rates(list(states.T), ARRAYS), len(states))
        if rates.shape[1] != states.shape[1] - n:
            names = ", ".join(mechanism.state[:-n])
            _fail(mechanism, f"rates() must say how {names} change, not {rates.shape[1]} numbers")
        self.rates = rates
        # to the second order, so that central differences are exact to the third
        bent = (self._rates_at(mechanism, 1.0) - self._rates_at(mechanism, -1.0)) / (2 * _STEP)
        self.before, self.after = (
            np.hstack([self._moved(h) + 0.5 * h * h * bent, states[:, -n:] + h * accelerations])
            for h in (-_STEP, _STEP)
        )

    def _moved(self, h: float) -> FloatArray:
        return self.states[:, : self.rates.shape[1]] + h * self.rates

    def _rates_at(self, mechanism: Mechanism, side: float) -> FloatArray:
        h, n = side * _STEP, self.accelerations.shape[1]
        states = np.hstack([self._moved(h), self.states[:, -n:] + h * self.accelerations])
        return _columns(mechanism.rates(list(states.T), ARRAYS), len(states))


def _path(mechanism: Mechanism, rng: np.random.Generator) -> _Path:
    """Positions that the mechanism may have, with any speeds and accelerations."""
    n, units = len(mechanism.accelerations), mechanism.position_units
    q = 0.4 * rng.normal(size=(_SAMPLES, len(units)))
    turning = [i for i, unit in enumerate(units) if unit == "1"]
    if turning:
        q[:, turning] += np.eye(len(turning))[0]
        q[:, turning] /= np.linalg.norm(q[:, turning], axis=1, keepdims=True)
    ends = dict(mechanism.limits)
    if mechanism.main is not None:
        low, high = mechanism.described or mechanism.reach
        ends.setdefault(mechanism.state[0], (low, high))
    for name, (low, high) in ends.items():
        if np.isfinite([low, high]).all():
            q[:, mechanism.state.index(name)] = low + (high - low) * rng.uniform(0.1, 0.9, _SAMPLES)
    return _Path(mechanism, np.hstack([q, rng.normal(size=(_SAMPLES, n))]), rng.normal(size=(_SAMPLES, n)))


def _check_declarations(m: Mechanism) -> None:
    names = [*m.state, *m.accelerations]
    if len(set(names)) != len(names) or not m.accelerations:
        _fail(m, f"state and accelerations must have names, each its own: {', '.join(names)}")
    if not len(m.accelerations) < len(m.state):
        _fail(m, "state must hold the positions, then as many speeds as there are accelerations")
    if len({row.name for row in m.rows}) != len(m.rows) or len(m.rows) != len(m.accelerations):
        _fail(m, f"it moves in {len(m.accelerations)} ways, so it needs as many rows, each with its own name")
    if len(m.units) != len(names) or not all(m.units):
        _fail(m, f"units must hold one unit for each of {', '.join(names)}")
    for what, unit in [
        *zip(names, m.units, strict=True),
        *((row.name, row.unit) for row in m.rows),
        *m.options.items(),
    ]:
        try:
            parse_unit(unit)
        except PalpateError as error:
            _fail(m, f"unit of {what}: {error}", error)
    for name, unit in m.coordinates.items():
        if unit not in ("rad", "m"):
            _fail(m, f"the coordinate {name} must be in rad or m, not {unit!r}")
    for name in [*([] if m.main is None else [m.main]), *m.moving]:
        if name not in m.coordinates:
            _fail(m, f"{name!r} (main, moving) is none of its coordinates: {', '.join(m.coordinates)}")
    for name in m.limits:
        if name not in m.state:
            _fail(m, f"limits: {name!r} is no position of the state")
    for joint in m.joints:
        if joint.position is not None and not 0 <= joint.position < len(m.position_units):
            _fail(m, f"the joint {joint.name!r} has no position {joint.position} in the state")


def _check_numbers(m: Mechanism, path: _Path) -> None:
    """Arrays, floats and symbols give the same; states far away do not make it raise."""

    def all_of(state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> list[tuple[str, Scalar]]:
        k = m.expand(state, acc, fn)
        rows, origin = m.place(state, fn)
        wrench = [0.3, -1.0, 0.7, 2.0, -0.4, 1.1]
        loads = m.loads(k, wrench, fn)
        for name in loads:
            if name not in m.coordinates:
                _fail(m, f"loads(): {name!r} is none of its coordinates: {', '.join(m.coordinates)}")
        parts: list[tuple[str, Sequence[Scalar]]] = [
            ("expand", _numbers(m, k)),
            ("body_motion", _numbers(m, replace(m.body_motion(state, acc, fn), coordinates={}))),
            ("project", m.project(k, wrench, fn)),
            ("projector", m.projector(k, fn)(wrench)),
            ("loads", [x for load in loads.values() for x in (*load.across, load.along, *chain(*load.axes))]),
            ("place", [x for row in (*rows, origin) for x in row]),
            ("velocity", m.velocity(state, fn)),
            ("rates", m.rates(state, fn)),
            ("row_speeds", m.row_speeds(state, fn)),
        ]
        return [(name, x) for name, values in parts for x in values]

    def evaluated(kind: str, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> list[tuple[str, Scalar]]:
        try:
            return all_of(state, acc, fn)
        except PalpateError:
            raise
        except Exception as error:
            hint = "; use only + - * / and the functions of fn" if kind == "symbols" else ""
            _fail(m, f"it fails on {kind} ({type(error).__name__}: {error}){hint}", error)

    arrays = evaluated("arrays", list(path.states.T), list(path.accelerations.T), ARRAYS)
    for i in (0, 1):
        state, acc = path.states[i].tolist(), path.accelerations[i].tolist()
        for kind, fn, make in (("floats", FLOATS, float), ("symbols", SYMBOLS, Symbol)):
            here = evaluated(kind, [make(x) for x in state], [make(x) for x in acc], fn)
            for (name, a), (_, b) in zip(arrays, here, strict=True):
                at = np.broadcast_to(np.asarray(a, dtype=float), _SAMPLES)[i]
                if not _same(Symbol(b).value, at, _CLOSE):
                    _fail(m, f"{name}() differs between arrays and {kind}; use only + - * / and the functions of fn")
    for factor in (0.0, 100.0):
        state, acc = (factor * x[0] for x in (path.states, path.accelerations))
        evaluated("states far from zero" if factor else "zeros", state.tolist(), acc.tolist(), FLOATS)
    names = [name for name, _ in arrays]
    for name, count in (("project", len(m.rows)), ("projector", len(m.rows)), ("row_speeds", len(m.rows))):
        if names.count(name) != count:
            _fail(m, f"{name}() must give one number for each of its {count} rows, not {names.count(name)}")


def _check_motion(m: Mechanism, path: _Path) -> None:
    """Velocity, omega and accelerations against differences of `place` along the path."""
    h, k = _STEP, _expanded(m, path)
    (R, _), (Ra, ra), (Rb, rb) = (_placed(m, s) for s in (path.states, path.before, path.after))
    if not _same(np.einsum("nji,njk->nik", R, R), np.broadcast_to(np.eye(3), R.shape), _CLOSE):
        _fail(m, "place() must give a rotation: three rows of right angles and length one")
    turn = np.einsum("nji,njk->nik", R, (Rb - Ra) / (2 * h))
    omega = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    _compare(m, "omega of expand()", _vector(k.omega), omega, "how place() turns in the body's axes")
    moved = np.einsum("nji,nj->ni", R, (rb - ra) / (2 * h))
    velocity = _columns(m.velocity(list(path.states.T), ARRAYS), _SAMPLES)
    _compare(m, "velocity()", velocity, moved, "how the origin of place() moves, in the body's axes")
    ends = [_expanded(m, path, side) for side in ("before", "after")]
    slope = (_vector(ends[1].omega) - _vector(ends[0].omega)) / (2 * h)
    _compare(m, "omega_dot of expand()", _vector(k.omega_dot), slope, "how its omega changes")
    world = [
        np.einsum("nij,nj->ni", turned, _columns(m.velocity(list(s.T), ARRAYS), _SAMPLES))
        for turned, s in ((Ra, path.before), (Rb, path.after))
    ]
    felt = np.einsum("nji,nj->ni", R, (world[1] - world[0]) / (2 * h) + m.gravity * _up(m))
    what = "how its velocity changes less gravity, whose vertical is z_up or R_world_body"
    _compare(m, "specific_acceleration of expand()", _vector(k.specific_acceleration), felt, what)
    for name, c in k.coordinates.items():
        before, after = (end.coordinates[name] for end in ends)
        for part, of in (("speed", "position"), ("acceleration", "speed")):
            a, b = (_array(getattr(x, of)) for x in (before, after))
            nowhere = of == "position" and not np.ptp([a, b])  # it has no position, as a wheel's roll
            if name not in m.untold and not nowhere:
                what = f"{part} of the coordinate {name}"
                _compare(m, what, _array(getattr(c, part)), (b - a) / (2 * h), f"how its {of} changes")


def _check_power(m: Mechanism, path: _Path) -> None:
    """Rows times their speeds are the power of any wrench; a coordinate's ratios times them are its speed."""
    forward = m.forward()
    state = list(path.states.T)
    k = forward.expand(state, list(path.accelerations.T), ARRAYS)
    speeds = _columns(forward.row_speeds(state, ARRAYS), _SAMPLES)
    twist = np.hstack([_columns(forward.velocity(state, ARRAYS), _SAMPLES), _vector(k.omega)])
    for i, unit in enumerate(np.eye(6)):
        rows = _columns(forward.project(k, unit.tolist(), ARRAYS), _SAMPLES)
        if not _same((rows * speeds).sum(axis=1), twist[:, i], _CLOSE):
            name = f"{'force' if i < 3 else 'moment'} along {'xyz'[i % 3]}"
            _fail(m, f"power: of a {name}, project() times row_speeds() is not the work that it does on the body")
    for name, c in k.coordinates.items():
        if len(c.ratio) != len(m.rows):
            _fail(m, f"the coordinate {name} must have a ratio for each of {len(m.rows)} rows, not {len(c.ratio)}")
        if not _same((_columns(c.ratio, _SAMPLES) * speeds).sum(axis=1), _array(c.speed), _CLOSE):
            _fail(m, f"power: the ratios of the coordinate {name} times row_speeds() are not its speed")
    for name, axis in m.directions.items():
        if name not in m.coordinates:
            _fail(m, f"directions: {name!r} is none of its coordinates: {', '.join(m.coordinates)}")
        if not _same(twist[:, :3], np.outer(_array(k.coordinates[name].speed), axis), _CLOSE):
            _fail(m, f"directions: velocity() is not the speed of the coordinate {name} in the direction {axis}")
    every = [x for c in k.coordinates.values() for x in c.ratio]
    every += [x for unit in np.eye(6) for x in m.project(k, unit.tolist(), ARRAYS)]
    if m.constant_projection and any(np.ptp(_array(x)) for x in every):
        _fail(m, "project() or a coordinate's ratio changes with the motion: declare constant_projection = False")
    if m.main is not None and m.row_components:
        wrench = np.eye(6)[m.row_components[0]].tolist()
        if not _same(_array(m.project(k, wrench, ARRAYS)[0]), np.ones(_SAMPLES), _CLOSE):
            _fail(m, "row_components must say which component of a wrench is the row")


def _check_inverses(m: Mechanism, path: _Path) -> None:
    """What is read from poses, from derivatives and from a motion is what they were made of."""
    n, (R, r) = path.accelerations.shape[1], _placed(m, path.states)
    q, times = path.states[:, :-n], np.arange(_SAMPLES, dtype=float)
    found = m.coordinates_of(Poses(times, R, r))
    if found.shape != q.shape:
        _fail(m, f"coordinates_of() must give {q.shape[1]} positions for each pose, not {found.shape}")
    turning = [i for i, unit in enumerate(m.position_units) if unit == "1"]
    if turning:  # a quaternion and its negative are one rotation
        sign = np.sign((found[:, turning] * q[:, turning]).sum(axis=1))
        found[:, turning] = sign[:, None] * found[:, turning]
    told = [i for i, name in enumerate(m.state[:-n]) if name not in m.following]
    _compare(m, "coordinates_of()", found[:, told], q[:, told], "the positions that place() was given", _CLOSE)
    slopes = (path.after - path.before)[:, :-n] / (2 * _STEP)
    bends = (path.after - 2 * path.states + path.before)[:, :-n] / _STEP**2
    _compare(m, "speeds_of()", m.speeds_of(q, slopes), path.states[:, -n:], "the speeds that rates() was given")
    accelerations = m.accelerations_of(q, slopes, bends)
    _compare(m, "accelerations_of()", accelerations, path.accelerations, "the accelerations that were given", 1e-4)
    motion = m.motion(times, path.states, path.accelerations)
    seen, expanded = (_numbers(m, k) for k in (m.observe(motion), _expanded(m, path)))
    for a, b in zip(seen, expanded, strict=True):
        _compare(m, "observe()", _array(a), _array(b), "what expand() says of the states of that motion", _CLOSE)
    if m.floor:
        sloping = m.observe(motion.on_slope(np.array([0.05, -0.03]), m.gravity)).coordinates
        for name, c in _expanded(m, path).coordinates.items():
            what = f"acceleration of the coordinate {name} by observe() on a floor that slopes"
            found, right = (_array(x.acceleration) for x in (sloping[name], c))
            _compare(m, what, found, right, "how its speed changes: the motion feels gravity too", _CLOSE)
    states = m.states(motion)
    if turning:
        sign = np.sign((states[:, turning] * path.states[:, turning]).sum(axis=1))
        states[:, turning] = sign[:, None] * states[:, turning]
    _compare(m, "states()", states, path.states, "the states of that motion", _CLOSE)


def _check_vertical(m: Mechanism, path: _Path) -> None:
    """Gravity as a vector in its frame, and a main coordinate that is counted from elsewhere."""
    n, states = path.accelerations.shape[1], path.states
    g = np.array([0.0, 0.0, -9.5]) if m.z_up else np.array([3.0, -5.0, -7.0])
    state = [*states[:, :-n].T, *np.zeros((n, _SAMPLES))]
    still = m.with_gravity(g).expand(state, list(np.zeros((n, _SAMPLES))), ARRAYS)
    R, _ = _placed(m, states)
    felt = np.einsum("nji,j->ni", R, -g)
    _compare(m, "with_gravity()", _vector(still.specific_acceleration), felt, "what a body at rest feels then")
    if m.z_up:
        rows, _ = m.place([0.0] * len(m.state), FLOATS)
        _compare(m, "R_world_body", np.array(m.R_world_body), np.array(rows), "place() where all positions are zero")
    if m.main is not None:
        there, here = (
            _vector(
                x.expand([state[0] + zero, *state[1:]], list(np.zeros((n, _SAMPLES))), ARRAYS).specific_acceleration
            )
            for x, zero in ((m.with_zero_at(0.3), 0.3), (m, 0.0))
        )
        _compare(m, "with_zero_at()", there, here, "the same mechanism: the body feels another vertical there")


def _check_units(m: Mechanism, path: _Path) -> None:
    """In other units of mass, length and time every number changes as its unit says."""
    scale = np.array([1.7, 0.6, 1.4])

    def factor(unit: str) -> float:
        return float(np.prod(scale ** np.array(parse_unit(unit).dimension)))

    if m.linkages:  # they have options of their own
        return
    options = {name: _times(getattr(m, name), factor(unit)) for name, unit in m.options.items()}
    other, per = replace(m, **options), np.array([factor(unit) for unit in m.units])
    state, acc = path.states * per[: len(m.state)], path.accelerations * per[len(m.state) :]
    wrench = [0.3, -1.0, 0.7, 2.0, -0.4, 1.1]

    def said(m: Mechanism, state: FloatArray, acc: FloatArray, wrench: list[float]) -> dict[str, list[Scalar]]:
        s = list(state.T)
        k = m.expand(s, list(acc.T), ARRAYS)
        parts: dict[str, list[Scalar]] = {
            "specific_acceleration of expand()": list(k.specific_acceleration),
            "omega of expand()": list(k.omega),
            "omega_dot of expand()": list(k.omega_dot),
            "project()": list(m.project(k, wrench, ARRAYS)),
            "row_speeds()": list(m.row_speeds(s, ARRAYS)),
            "rates()": list(m.rates(s, ARRAYS)),
            "place()": list(m.place(s, ARRAYS)[1]),
        }
        for name, c in k.coordinates.items():
            parts[f"the coordinate {name}"] = [c.position, c.speed, c.acceleration]
        return parts

    def per_row(unit: str) -> float:
        return float(np.prod(scale ** (np.array(_POWER) - parse_unit(unit).dimension)))

    q = m.position_units
    factors: dict[str, list[float]] = {
        "specific_acceleration of expand()": [factor("m/s2")] * 3,
        "omega of expand()": [factor("rad/s")] * 3,
        "omega_dot of expand()": [factor("rad/s2")] * 3,
        "project()": [factor(row.unit) for row in m.rows],
        "row_speeds()": [per_row(row.unit) for row in m.rows],
        "rates()": [factor(unit) * factor("Hz") for unit in q],
        "place()": [factor("m")] * 3,
        **{
            f"the coordinate {name}": [factor(unit) * factor("Hz") ** i for i in range(3)]
            for name, unit in m.coordinates.items()
        },
    }
    mine = said(m, path.states, path.accelerations, wrench)
    theirs = said(other, state, acc, [w * factor(unit) for w, unit in zip(wrench, _WRENCH_UNITS, strict=True)])
    for name, values in mine.items():
        for a, b, by in zip(values, theirs[name], factors[name], strict=True):
            if not _same(_array(a) * by, _array(b), 1e-9):
                _fail(m, f"units: {name} does not have the unit that is declared for it, or an option has another")


# --- numbers --------------------------------------------------------------------------------------------------------


def _times(option: Any, scale: float) -> Any:
    """An option that is a number or numbers of any depth, in another unit."""
    if isinstance(option, tuple):
        return tuple(_times(x, scale) for x in cast("tuple[Any, ...]", option))
    return None if option is None else scale * option


def _numbers(m: Mechanism, k: Kinematics) -> list[Scalar]:
    """All that elements may look at."""
    if k.coordinates and set(k.coordinates) != set(m.coordinates):
        _fail(m, f"expand() must give the coordinates {', '.join(m.coordinates)}, not {', '.join(k.coordinates)}")
    along = [x for c in k.coordinates.values() for x in (c.position, c.speed, c.acceleration, *c.ratio)]
    return [*k.specific_acceleration, *k.omega, *k.omega_dot, *along]


def _expanded(m: Mechanism, path: _Path, at: str = "states") -> Kinematics:
    states: FloatArray = getattr(path, at)
    return m.expand(list(states.T), list(path.accelerations.T), ARRAYS)


def _placed(m: Mechanism, states: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(samples, 3, 3) and (samples, 3)."""
    rows, origin = m.place(list(states.T), ARRAYS)
    return np.stack([_vector(row) for row in rows], axis=1), _vector(origin)


def _up(m: Mechanism) -> FloatArray:
    """Up in the mechanism's frame."""
    return np.array([0.0, 0.0, 1.0]) if m.z_up else np.array(m.R_world_body[2], dtype=float)


def _array(x: Scalar) -> FloatArray:
    return np.array(np.broadcast_to(np.asarray(x, dtype=float), _SAMPLES))


def _vector(v: Sequence[Scalar]) -> FloatArray:
    return np.stack([_array(x) for x in v], axis=1)


def _columns(values: Sequence[Scalar], samples: int) -> FloatArray:
    """(samples, numbers); no numbers are none."""
    each = [np.broadcast_to(np.asarray(x, dtype=float), samples) for x in values]
    return np.stack(each, axis=1) if each else np.zeros((samples, 0))


def _same(a: Any, b: Any, share: float) -> bool:
    size = max(1.0, float(np.abs(b).max(initial=0.0)))
    return bool(np.shape(a) == np.shape(b) and np.abs(np.asarray(a) - b).max(initial=0.0) <= share * size)


def _compare(m: Mechanism, what: str, found: FloatArray, right: FloatArray, words: str, share: float = _NEAR) -> None:
    if not _same(found, right, share):
        _fail(m, f"{what} is not {words}")


def _fail(mechanism: Mechanism, reason: str, cause: Exception | None = None) -> NoReturn:
    raise PalpateError(f"mechanism {mechanism.type!r} ({type(mechanism).__name__}): {reason}") from cause


CHECKS: Mapping[str, Callable[[Mechanism, _Path], None]] = {
    "numbers": _check_numbers,
    "motion": _check_motion,
    "power": _check_power,
    "inverses": _check_inverses,
    "vertical": _check_vertical,
    "units": _check_units,
}
"""What is asked of a mechanism, by the word for it."""
