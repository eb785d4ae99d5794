"""The stepper: a model that moves under the wrench it is given, step by step, as a robot or a simulator needs it."""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any

import numpy as np

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.mechanisms import Hinge
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.runtime.flat import Term, Trace


class Status(IntEnum):
    """What a step has met; the highest that applies."""

    OK = 0
    STICKING = 1
    """Dry friction holds the object: the speed is exactly zero."""
    AT_LIMIT = 2
    """An end stop is pressed, or the linkage is at the end of its reach."""
    NOT_FINITE = 3
    """The wrench is not six finite numbers, `out` does not fit, or the step leads nowhere; the state is held."""


State = tuple[float, ...]
_Advance = Callable[[State, Sequence[float]], tuple[State, Status]]
"""State and wrench -> the next state with the accelerations behind it, and how the step went."""

_PROBLEMS = (ArithmeticError, ValueError, TypeError, IndexError)
_SLOW = 1e-6
"""rad/s: below, what moving adds to the force drowns in its rounding, and its slope takes its place."""
_RESOLVED = 0.01
"""Springs up to (omega dt)^2 of this need no help; beyond, they are implicit too."""
_QUATERNION = ("q_w", "q_x", "q_y", "q_z")


class Stepper:
    """Forward dynamics of a model at a fixed step `dt` (s), from the same elements that were identified.

    Semi-implicit Euler at velocity level with set-valued dry friction (Moreau 1988, Unilateral contact and dry
    friction in finite freedom dynamics): of first order in dt, and stable for any damper and stop.

        door = Stepper(model, dt=1e-3)
        out = np.empty(door.size)
        status = door.step((0, 0, 0, 0, 0, torque), out)  # out: angle, speed, acceleration
    """

    def __init__(self, model: Model, dt: float) -> None:
        if not (math.isfinite(dt) and dt > 0):
            raise PalpateError(f"a step must be a positive time in s, not {dt!r}")
        model = model.of_object()
        model.check_values()
        self._mechanism = model.mechanism
        self._reach = _reach(model)
        self._plain = _plain_positions(model)
        rest = [1.0 if name == "q_w" else 0.0 for name in model.mechanism.state]
        if len(model.mechanism.accelerations) == 1:
            rest[0] = min(max(0.0, self._reach[0]), self._reach[1])
        self._still = (0.0,) * len(model.mechanism.accelerations)
        self._now: State = tuple(rest)
        try:
            if len(self._still) == 1:
                self._advance = _one_freedom(model, float(dt), self._reach)
            else:
                self._advance = _many_freedoms(model, float(dt), self._plain)
            _, status = self._advance(self._now, (0.0,) * 6)
        except (TypeError, ArithmeticError) as error:
            raise PalpateError(f"model {model.name!r} cannot be stepped ({error}); does check_element pass?") from error
        if status is Status.NOT_FINITE:
            raise PalpateError(f"model {model.name!r} has no inertia to move: add an inertia or a rigid body")

    @property
    def names(self) -> tuple[str, ...]:
        """What `out` receives, in order: the state, then the accelerations."""
        return (*self._mechanism.state, *self._mechanism.accelerations)

    @property
    def size(self) -> int:
        """The length of `out`."""
        return len(self._now) + len(self._still)

    @property
    def state(self) -> FloatArray:
        """A copy of the state, in SI units; its names are the mechanism's."""
        return np.array(self._now)

    def reset(self, state: Sequence[float] | FloatArray) -> None:
        """Go on from this state; one that is not possible is refused."""
        found = tuple(float(x) for x in state)
        names = self._mechanism.state
        if len(found) != len(names) or not all(math.isfinite(x) for x in found):
            raise PalpateError(f"the state must be {len(names)} numbers ({', '.join(names)}), not {found}")
        low, high = self._reach
        if not low <= found[0] <= high:
            raise PalpateError(
                f"at {math.degrees(found[0]):.1f} deg the linkage is out of reach, "
                f"{math.degrees(low):.1f} to {math.degrees(high):.1f} deg"
            )
        if not self._plain:
            size = math.hypot(*found[3:7])
            if abs(size - 1.0) > 1e-3:
                raise PalpateError(f"the quaternion {found[3:7]} is not a unit quaternion")
            found = (*found[:3], *(x / size for x in found[3:7]), *found[7:])
        self._now = found

    def step(self, wrench: Sequence[float] | FloatArray, out: MutableSequence[float] | FloatArray) -> Status:
        """Apply a wrench for one step; `out` receives the new state and the mean accelerations (see `names`).

        `wrench`: force (N) and moment (N m) of the person on the object, in the body frame about its origin; a hinge
        takes only the moment about its axis, the last of the six. Never raises: look at the status.
        """
        try:
            w = [float(x) for x in wrench]
            found, status = self._advance(self._now, w)
            if len(w) != 6 or len(out) != len(found) or not math.isfinite(sum(w) + sum(found)):
                status = Status.NOT_FINITE
            if status is not Status.NOT_FINITE:
                for i, x in enumerate(found):
                    out[i] = x
                self._now = found[: len(self._now)]
                return status
        except _PROBLEMS:
            pass
        with suppress(*_PROBLEMS):
            for i, x in enumerate((*self._now, *self._still)):
                out[i] = x
        return Status.NOT_FINITE


class _Equations:
    """The balance M a + bias = wrench of a model on terms, ready to be flattened."""

    def __init__(self, model: Model) -> None:
        mechanism, smooth = model.mechanism, model.without_dry()
        self.trace = trace = Trace()
        n = len(mechanism.accelerations)
        self.state = [trace.variable(f"s[{i}]") for i in range(len(mechanism.state))]
        acc = [trace.variable(f"a[{i}]") for i in range(n)]
        wrench = [trace.variable(f"w[{i}]") for i in range(6)]

        def balance(state: Sequence[Any], acc: Sequence[Any]) -> list[Term]:
            found = smooth.wrench(mechanism.expand(state, acc, {}, trace.fn), trace.fn)
            return [trace.term(row) for row in found]

        zeros = [0.0] * n
        self.inertia = [[trace.derivative(row, a) for a in acc] for row in balance(self.state, acc)]
        if any(trace.varies(entry, a) for row in self.inertia for entry in row for a in acc):
            raise TypeError("an element is not linear in the acceleration")
        self.k = mechanism.expand(self.state, zeros, {}, trace.fn)
        self.bias = balance(self.state, zeros)
        self.at_rest = balance([*self.state[:-n], *zeros], zeros)
        self.applied = [trace.term(row) for row in mechanism.project(self.k, wrench, trace.fn)]


def _one_freedom(model: Model, dt: float, reach: tuple[float, float]) -> _Advance:
    """Bind the step of a mechanism that moves in one way only.

    Balance of a step from v to u:  M (u - v) / dt + static + K dt (u - v) + D u + dry Sign(u) = applied. `static` is
    the force at rest where the step begins (for stops: where the speed v leads, and K is their slope); D u is what
    moving adds, in proportion. With D, K >= 0 dampers and stops take energy out, however strong they are. A spring
    alone is stepped by symplectic Euler, which neither damps nor feeds an oscillation that the step resolves.
    """
    e = _Equations(model)
    trace, fn, (angle, speed) = e.trace, e.trace.fn, e.state
    lead = trace.variable("s[2]")
    k_lead, k_lead_still, k_still = (
        model.mechanism.expand(state, [0.0], {}, fn) for state in ((lead, speed), (lead, 0.0), (angle, 0.0))
    )
    stop, stop_still = _stops(model, k_lead, fn), _stops(model, k_lead_still, fn)
    spring = e.at_rest[0] - _stops(model, k_still, fn)
    loss = e.bias[0] - _stops(model, e.k, fn) - spring + (stop - stop_still)
    threshold = sum(fn.abs(ratio[0]) * level for ratio, level in model.dry_forces(e.k, fn))
    smooth = trace.function(
        "s, w",
        (
            e.applied[0] - spring - stop_still,
            loss,
            e.inertia[0][0],
            trace.derivative(spring, angle),
            trace.derivative(stop_still, lead),
            fn.abs(stop_still),
        ),
    )
    creep = trace.function("s", (trace.derivative(loss, speed),))
    dry = trace.function("s", (threshold,))
    fades = trace.varies(threshold, speed)
    low, high = reach

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, Status]:
        q, v = state
        ahead = q + dt * v
        s = (q, v, low if ahead < low else high if ahead > high else ahead)
        force, loss, inertia, stiffness, stop, pressed = smooth(s, wrench)
        if not inertia > 0.0:
            return (q, v, 0.0), Status.NOT_FINITE
        stiff = max(dt * dt * stiffness - _RESOLVED * inertia, 0.0)
        inertia += dt * dt * stop
        momentum = inertia * v + dt * force  # what is left without damping and dry friction
        slow = -_SLOW < v < _SLOW
        damping = 0.0 if slow else loss / v
        if damping < 0.0:  # no damper: inertia that changes with the angle
            momentum -= dt * loss
        (held,) = dry((q, 0.0))
        status = Status.AT_LIMIT if pressed > 0.0 else Status.OK
        if abs(momentum) <= dt * held:
            new = 0.0
            status = status or Status.STICKING
        else:
            if fades:
                (held,) = dry((q, v))
            if slow:
                (damping,) = creep(s)
            lost = min(dt * held, abs(momentum))
            new = (momentum - math.copysign(lost, momentum)) / (inertia + stiff + dt * max(damping, 0.0))
        there = q + dt * new
        if not low <= there <= high:  # a linkage that is stretched stops the door, and gives nothing back
            there = low if there < low else high
            new, status = (there - q) / dt, Status.AT_LIMIT
        return (there, new, (new - v) / dt), status

    return advance


def _stops(model: Model, k: Kinematics, fn: Functions) -> Scalar:
    """What the end stops alone add to the bias of the one free row."""
    values, p0, found = [float(value) for value in model.p], 0, 0.0
    for e in model.elements:
        p = values[p0 : p0 + len(e.parameters)]
        p0 += len(p)
        if isinstance(e, EndStop):
            (row,) = e.columns(e.features(k, {z.name: z.value for z in e.shapes}, fn))
            found = found + k.coordinates[e.acts_on].ratio[0] * sum(c * x for c, x in zip(row, p, strict=True))
    return found


def _many_freedoms(model: Model, dt: float, plain: bool) -> _Advance:
    """Bind the step of a mechanism with several freedoms; damping and gyroscopic moments are linearly implicit."""
    dry = [x.name for x in model.elements if x.dry]
    if dry:
        raise PalpateError(
            f"model {model.name!r}: dry friction ({', '.join(dry)}) is stepped with one degree of freedom only"
        )
    e = _Equations(model)
    n = len(e.inertia)
    force = [f - b for f, b in zip(e.applied, e.bias, strict=True)]
    damping = [[e.trace.derivative(row, x) for x in e.state[-n:]] for row in e.bias]
    matrix = [m + dt * d for ms, ds in zip(e.inertia, damping, strict=True) for m, d in zip(ms, ds, strict=True)]
    flat = e.trace.function("s, w", (*force, *matrix))

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, Status]:
        found = flat(state, wrench)
        try:
            acc: list[float] = np.linalg.solve(np.array(found[n:]).reshape(n, n), np.array(found[:n])).tolist()
        except np.linalg.LinAlgError:
            return (*state, *(0.0,) * n), Status.NOT_FINITE
        v = [x + dt * a for x, a in zip(state[-n:], acc, strict=True)]
        if plain:
            position = tuple(x + dt * y for x, y in zip(state, v, strict=False))
        else:
            position = (*(x + dt * y for x, y in zip(state[:3], v, strict=False)), *_turned(state[3:7], v[3:], dt))
        return (*position, *v, *acc), Status.OK

    return advance


def _turned(q: State, omega: Sequence[float], dt: float) -> State:
    """A unit quaternion w x y z after turning with omega (body, rad/s): q exp(omega dt / 2) (Diebel 2006, 6.5)."""
    speed = math.hypot(*omega)
    half = 0.5 * dt * speed
    c, s = math.cos(half), (math.sin(half) / speed if speed > 0.0 else 0.0)
    x, y, z = (s * w for w in omega)
    a, b, g, d = q
    found = (
        a * c - b * x - g * y - d * z,
        a * x + b * c + g * z - d * y,
        a * y - b * z + g * c + d * x,
        a * z + b * y - g * x + d * c,
    )
    size = math.hypot(*found)
    return tuple(f / size for f in found)


def _plain_positions(model: Model) -> bool:
    """Whether positions are integrals of speeds; else they are a place and a quaternion."""
    n = len(model.mechanism.accelerations)
    positions = model.mechanism.state[:-n]
    if len(positions) != n and not (n == 6 and positions[3:] == _QUATERNION):
        raise PalpateError(f"model {model.name!r}: the stepper does not know how {', '.join(positions)} change")
    return len(positions) == n


def _reach(model: Model) -> tuple[float, float]:
    """The angles (rad) between which a linkage follows."""
    linkage = model.mechanism.linkage if isinstance(model.mechanism, Hinge) else None
    found: tuple[float, float] = getattr(linkage, "reach", (-math.inf, math.inf))
    return found
