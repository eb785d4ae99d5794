"""The stepper: a model that moves under the wrench it is given, step by step, as a robot or a simulator needs it."""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.mechanisms import Hinge
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.advance import State, one_freedom
from palpate.runtime.advance import Status as Status
from palpate.runtime.equations import Forward, Rates, limits
from palpate.runtime.several import has_quaternion, many_freedoms

_PROBLEMS = (ArithmeticError, ValueError, TypeError, IndexError)


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
        if isinstance(model.mechanism, Forward):
            model = replace(model, mechanism=model.mechanism.forward())
        self._mechanism = model.mechanism
        self._reach = _reach(model)
        self._turns = has_quaternion(model)
        rest = [1.0 if name == "q_w" else 0.0 for name in model.mechanism.state]
        if isinstance(model.mechanism, Hinge):
            rest[0] = min(max(0.0, self._reach[0]), self._reach[1])
        self._still = (0.0,) * len(model.mechanism.accelerations)
        self._now: State = tuple(rest)
        try:
            if len(self._still) == 1 and len(self._now) == 2 and not isinstance(model.mechanism, Rates):
                self._advance = one_freedom(model, float(dt), self._reach)
            else:
                self._advance = many_freedoms(model, float(dt))
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
        for i, least, most in limits(self._mechanism):
            if not least <= found[i] <= most:
                raise PalpateError(f"{names[i]} must be from {least:.4g} to {most:.4g}, not {found[i]:.4g}")
        if self._turns:
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
            if len(w) == 6 and len(out) == self.size:
                found, status = self._attempt(self._now, w)
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

    def run(self, wrenches: FloatArray, out: FloatArray) -> NDArray[np.int8]:
        """Take one step for each row of `wrenches` (steps, 6); `out` (steps, size) receives what `step` would give.

        The same numbers, bit by bit, in less time. Returns the `Status` of each step.
        """
        if wrenches.shape != (len(wrenches), 6) or out.shape != (len(wrenches), self.size):
            raise PalpateError(
                f"for n steps, wrenches must be (n, 6) and out (n, {self.size}), not {wrenches.shape} and {out.shape}"
            )
        now, count, attempt = self._now, len(self._now), self._attempt
        path: list[State] = []
        statuses: list[Status] = []
        rows: list[list[float]] = wrenches.tolist()
        for w in rows:
            found, status = attempt(now, w)
            now = found[:count]
            path.append(found)
            statuses.append(status)
        if path:
            out[:] = path
            self._now = now
        return np.array(statuses, dtype=np.int8)

    def _attempt(self, now: State, wrench: list[float]) -> tuple[State, Status]:
        """One step of six numbers; the state is held where it leads nowhere."""
        try:
            found, status = self._advance(now, wrench)
            if status is not Status.NOT_FINITE and math.isfinite(sum(wrench) + sum(found)):
                return found, status
        except _PROBLEMS:
            pass
        return (*now, *self._still), Status.NOT_FINITE


def _reach(model: Model) -> tuple[float, float]:
    """The angles (rad) between which a linkage follows."""
    linkage = model.mechanism.linkage if isinstance(model.mechanism, Hinge) else None
    found: tuple[float, float] = getattr(linkage, "reach", (-math.inf, math.inf))
    return found
