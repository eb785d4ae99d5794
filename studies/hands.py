"""A person who holds an object: springs and dampers at grips, whose far ends follow what the person means to do.

What counts for a person is the object in hand. Two models held by the same person with the same intention feel alike
if they move alike and ask for the same forces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.motion import Triple
from palpate.runtime.equations import Term, Trace
from palpate.runtime.replay import half_step_back
from palpate.runtime.stepper import Stepper, StepStatus

_FADING, _SWINGING = 0.1, 0.2
"""A step is at most this part of the time in which a hand's damper stops a grip, and of that of a swing on its spring,
1 / omega: a damper that acts a step late takes energy out as long as the step is less than the former."""
_MOST_STEPS = 1000
_NUDGE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Hands:
    """Where and how firmly a person holds an object. Nothing turns in the hands: they are points.

    Two arms that hold one thing may be stiffer against turning than against moving it: `balance` adds to the
    stiffness of each grip against the mean of all. A person needs it where the springs alone would let the object
    topple (see `growth`).
    """

    grips: FloatArray
    """(grips, 3) m in the body frame."""
    stiffness: float = 300.0
    """N/m, of each grip, in all directions."""
    damping: float = 20.0
    """N s/m."""
    balance: float = 0.0
    """N/m."""
    balance_damping: float = 0.0
    """N s/m."""

    def __post_init__(self) -> None:
        """Refuse what no hand is."""
        shape = self.grips.shape
        if len(shape) != 2 or shape[1] != 3 or not shape[0] or not np.isfinite(self.grips).all():
            raise PalpateError(f"grips must be (grips, 3) numbers in m, at least one, not {self.grips.tolist()}")
        for name in ("stiffness", "damping", "balance", "balance_damping"):
            value: float = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise PalpateError(f"the {name} of a hand must not be negative, nor {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Intention:
    """What a person means to do: where the grips should be, and the forces expected there.

    A hand gives force + stiffness (point - grip) + damping (their speeds' difference). That is a spring whose far end
    leads the point by d with stiffness d + damping d' = force.
    """

    times_s: FloatArray
    """(samples,), even."""
    points: FloatArray
    """(samples, grips, 3) m in the world; of a hinge in its frame at angle zero."""
    forces: FloatArray
    """(samples, grips, 3) N, in the same axes, on the object."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """An object in the hands of a person, at the times of the intention."""

    model: Model
    hands: Hands
    times_s: FloatArray
    positions: FloatArray
    """(samples, positions) as the mechanism's state names them."""
    forces: FloatArray
    """(samples, grips, 3) N of the hands on the object, in axes of the world."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two objects in the hands of the same person with the same intention."""

    truth: Held
    model: Held

    @property
    def apart_m(self) -> FloatArray:
        """(samples,): distance of their origins or of a grip, whichever is larger."""
        (R, r), (S, s) = (_poses(held) for held in (self.truth, self.model))
        points = np.vstack([np.zeros(3), self.truth.hands.grips])
        apart = points @ (S - R).transpose(0, 2, 1) + (s - r)[:, None]
        return np.asarray(np.linalg.norm(apart, axis=2).max(axis=1), dtype=float)

    @property
    def apart_rad(self) -> FloatArray:
        """(samples,): the angle of the turn from one to the other."""
        (R, _), (S, _) = (_poses(held) for held in (self.truth, self.model))
        chord = np.linalg.norm(R - S, axis=(1, 2)) / math.sqrt(8.0)  # |R - S| = 2 sqrt(2) sin(angle / 2)
        return np.asarray(2 * np.arcsin(np.minimum(chord, 1.0)), dtype=float)

    @property
    def force_share(self) -> FloatArray:
        """(samples,): largest difference of a force along an axis, over the range that it has on the first object."""
        span = np.ptp(self.truth.forces, axis=0)
        apart = np.abs(self.model.forces - self.truth.forces) / np.where(span > 0, span, np.inf)
        return np.asarray(apart.max(axis=(1, 2)), dtype=float)


def compare_held(
    truth: Model, model: Model, hands: Hands, intention: Intention, start: FloatArray, *, dt: float = 2e-3
) -> Compared:
    """Let the same person hold one and the other, from the same state, with the same step."""
    return Compared(*(hold(m, hands, intention, start, dt=dt) for m in (truth, model)))


def intended(model: Model, grips: FloatArray, times_s: FloatArray, states: FloatArray, acc: FloatArray) -> Intention:
    """The intention of somebody who knows an object well and means to move it so: all that its motion needs except for
    dry friction, shared between the grips so that the squares of the forces are least.

    `states` (samples, states) and `acc` (samples, freedoms) as the mechanism names them.
    """
    smooth = _smooth(model)
    mechanism = smooth.mechanism
    k = mechanism.expand(list(states.T), list(acc.T), ARRAYS)
    one = np.ones(len(times_s))
    needed = np.stack([x * one for x in smooth.wrench(k, ARRAYS)], axis=1)
    R, r = _arrays(mechanism.place(list(states.T), ARRAYS), len(times_s))
    rows = np.empty((len(times_s), needed.shape[1], 3 * len(grips)))
    for i, grip in enumerate(grips):
        for j in range(3):
            force = R[:, j]  # a unit force along axis j of the world, in axes of the body
            wrench = [*force.T, *np.cross(grip, force).T]
            rows[:, :, 3 * i + j] = np.stack([x * one for x in mechanism.project(k, wrench, ARRAYS)], axis=1)
    forces = np.asarray(np.linalg.pinv(rows) @ needed[:, :, None], dtype=float)
    points = grips @ R.transpose(0, 2, 1) + r[:, None]
    return Intention(times_s, points, forces.reshape(-1, len(grips), 3))


def hold(model: Model, hands: Hands, intention: Intention, start: FloatArray, *, dt: float = 2e-3) -> Held:
    """Step a model in the hands of a person, from a state at the first time of the intention.

    Between its samples the intention is a cubic spline. The step is the longest up to `dt` that divides their period
    and with which the hands are stable on this object: the mobility of the grips at the start tells it. Springs act at
    the positions of a step, dampers on speeds half a step earlier (`half_step_back`).
    """
    from scipy.interpolate import CubicSpline

    times, grips = intention.times_s, len(hands.grips)
    count = len(times)
    if count < 4 or not np.allclose(np.diff(times), (times[-1] - times[0]) / (count - 1), rtol=1e-3, atol=0.0):
        raise DataProblem("person", "the intention needs at least four times, evenly apart")
    if intention.points.shape != (count, grips, 3) or intention.forces.shape != (count, grips, 3):
        told = f"{intention.points.shape} and {intention.forces.shape}, not ({count}, {grips}, 3)"
        raise DataProblem("person", f"points and forces of the intention are {told}")
    if not (np.isfinite(intention.points).all() and np.isfinite(intention.forces).all()):
        raise DataProblem("person", "the intention is not known all the time", remedy="take a stretch without gaps")
    period = float(times[-1] - times[0]) / (count - 1)
    steps = max(1, math.ceil(period / min(dt, _longest(model, hands, start)) - 1e-6))
    if steps > _MOST_STEPS:
        told = f"steps of {1e6 * period / steps:.0f} us would be needed"
        raise PalpateError(f"model {model.name!r} is too light for hands so firm: {told}")
    at = times[0] + period * np.arange((count - 1) * steps + 1) / steps
    along = CubicSpline(times, intention.points.reshape(count, -1))
    expected = CubicSpline(times, intention.forces.reshape(count, -1))
    wanted: list[list[float]] = np.hstack([along(at), along(at, 1), expected(at)]).tolist()
    act = _acting(model.mechanism, hands)
    stepper = Stepper(model, period / steps)
    half_step_back(stepper, start, np.array(act(start.tolist(), wanted[0])[:6]), period / steps)
    states, forces = np.empty((count, len(start))), np.empty((count, 3 * grips))
    out, now = [0.0] * stepper.size, stepper.state.tolist()
    for i, aim in enumerate(wanted):
        found = act(now, aim)
        if i % steps == 0:
            states[i // steps], forces[i // steps] = now, found[6:]
        if stepper.step(found[:6], out) is StepStatus.NOT_FINITE:
            raise PalpateError(f"model {model.name!r}: in the hands, a step leads nowhere at {at[i]:.2f} s")
        now = out[: len(start)]
    freedoms = len(model.mechanism.accelerations)
    return Held(model, hands, times, states[:, :-freedoms], forces.reshape(count, grips, 3))


def growth(model: Model, hands: Hands, state: FloatArray) -> float:
    """How fast a small error grows while a person holds the object still at these positions, 1/s; negative: it fades.

    The largest real part of the linearised loop without dry friction. What rolls has a direction in which nothing
    changes, so that it is not below zero.
    """
    smooth = _smooth(model)
    n = len(smooth.mechanism.accelerations)
    still = state.copy()
    still[-n:] = 0.0
    meant = intended(model, hands.grips, np.zeros(1), still[None], np.zeros((1, n)))
    aim = [*meant.points.ravel().tolist(), *[0.0] * hands.grips.size, *meant.forces.ravel().tolist()]
    act = _acting(smooth.mechanism, hands)
    trace, variables = _variables(smooth.mechanism)
    moves = trace.function("s", smooth.mechanism.rates(variables, trace.fn))

    def rates(x: FloatArray) -> FloatArray:
        inertia, bias, project = _dynamics(smooth, x)
        wrench = np.array(act(x.tolist(), aim)[:6])
        return np.concatenate([moves(x.tolist()), np.linalg.solve(inertia, project @ wrench - bias)])

    nudges = _NUDGE * np.eye(len(state))
    A = np.array([(rates(still + d) - rates(still - d)) / (2 * _NUDGE) for d in nudges]).T
    return float(np.linalg.eigvals(A).real.max())


def _acting(mechanism: Mechanism, hands: Hands) -> Callable[[Sequence[float], Sequence[float]], tuple[float, ...]]:
    """(state, wanted points, velocities and forces of all grips) -> wrench in the body frame (6), forces (3 a grip)."""
    trace, state = _variables(mechanism)
    R, _ = mechanism.place(state, trace.fn)
    points, speeds = _moving(mechanism, trace, state, hands.grips)
    size = hands.grips.size
    wanted = [trace.variable(f"d[{i}]") for i in range(3 * size)]
    off = [a - b for a, b in zip(wanted, points, strict=False)]
    rate = [a - b for a, b in zip(wanted[size:], speeds, strict=False)]
    turning = [hands.balance * x + hands.balance_damping * v for x, v in zip(off, rate, strict=True)]
    common = [sum(turning[j::3]) / len(hands.grips) for j in range(3)]
    forces = [
        f + hands.stiffness * x + hands.damping * v + b - common[i % 3]
        for i, (f, x, v, b) in enumerate(zip(wanted[2 * size :], off, rate, turning, strict=True))
    ]
    wrench: list[Term] = [trace.term(0.0)] * 6
    for i, (x, y, z) in enumerate(hands.grips.tolist()):
        F = forces[3 * i : 3 * i + 3]
        a, b, c = (sum(R[j][axis] * F[j] for j in range(3)) for axis in range(3))
        own = (a, b, c, y * c - z * b, z * a - x * c, x * b - y * a)
        wrench = [trace.term(w + o) for w, o in zip(wrench, own, strict=True)]
    return trace.function("s, d", [*wrench, *forces])


def _variables(mechanism: Mechanism) -> tuple[Trace, list[Term]]:
    trace = Trace()
    return trace, [trace.variable(f"s[{i}]") for i in range(len(mechanism.state))]


def _moving(
    mechanism: Mechanism, trace: Trace, state: Sequence[Term], grips: FloatArray
) -> tuple[list[Term], list[Term]]:
    """Places of the grips in the world, and how fast these change, three numbers a grip."""
    R, r = mechanism.place(state, trace.fn)
    found = [
        trace.term(r[j] + sum(R[j][axis] * x for axis, x in enumerate(grip)))
        for grip in grips.tolist()
        for j in range(3)
    ]
    pairs = list(zip(state, mechanism.rates(state, trace.fn), strict=False))
    changes = [trace.term(sum(trace.derivative(x, q) * rate for q, rate in pairs)) for x in found]
    return found, changes


def _smooth(model: Model) -> Model:
    """The object as it moves, without dry friction."""
    model = model.of_object().without_dry()
    return replace(model, mechanism=model.mechanism.forward())


def _dynamics(smooth: Model, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inertia (rows, freedoms), bias (rows,) and projection (rows, 6) at a state: inertia a + bias = projection w."""
    mechanism, n = smooth.mechanism, len(smooth.mechanism.accelerations)
    one = np.ones(n + 1)
    units = [np.append(0.0, unit) for unit in np.eye(n)]
    moved = mechanism.expand([x * one for x in state], units, ARRAYS)
    rows = np.array([x * one for x in smooth.wrench(moved, ARRAYS)])
    k = mechanism.expand(state.tolist(), [0.0] * n, FLOATS)
    projection = np.array([mechanism.project(k, unit, FLOATS) for unit in np.eye(6).tolist()]).T
    return rows[:, 1:] - rows[:, :1], rows[:, 0], projection


def _longest(model: Model, hands: Hands, start: FloatArray) -> float:
    """The longest step (s) with which the hands are stable on this object.

    The mobility of the grips, J M^-1 J' (Khatib 1987, eq. 49), is largest along some direction; a spring k swings
    there with omega^2 = k mobility, and a damper c stops it within 1 / (c mobility).
    """
    smooth = _smooth(model)
    mechanism, n = smooth.mechanism, len(smooth.mechanism.accelerations)
    trace, state = _variables(mechanism)
    speeds_of = trace.function("s", _moving(mechanism, trace, state, hands.grips)[1])
    inertia, _, projection = _dynamics(smooth, np.array([*start[:-n], *[0.0] * n]))
    J = np.array([speeds_of([*start[:-n].tolist(), *unit]) for unit in np.eye(n).tolist()]).T
    act = _acting(mechanism, Hands(hands.grips, 0.0, 0.0))
    size = hands.grips.size
    wrenches = np.array([act(start.tolist(), [*[0.0] * (2 * size), *unit])[:6] for unit in np.eye(size).tolist()]).T
    mobility = J @ np.linalg.solve(inertia, projection @ wrenches)
    most = max(float(np.linalg.eigvals(mobility).real.max()), 1e-12)
    stiffness, damping = hands.stiffness + hands.balance, hands.damping + hands.balance_damping
    return min(_FADING / max(damping * most, 1e-12), _SWINGING / math.sqrt(max(stiffness * most, 1e-12)))


def _poses(held: Held) -> tuple[FloatArray, FloatArray]:
    """R_world_body (samples, 3, 3) and the places (samples, 3) m."""
    speeds = [np.zeros(len(held.times_s))] * len(held.model.mechanism.accelerations)
    return _arrays(held.model.mechanism.place([*held.positions.T, *speeds], ARRAYS), len(held.times_s))


def _arrays(found: tuple[tuple[Triple, Triple, Triple], Triple], count: int) -> tuple[FloatArray, FloatArray]:
    one = np.ones(count)
    R, r = found
    return np.array([[x * one for x in row] for row in R]).transpose(2, 0, 1), np.stack([x * one for x in r], axis=1)
