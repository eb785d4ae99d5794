"""The stepper: a model that moves under the wrench it is given, step by step, as a robot or a simulator needs it."""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.runtime.advance import State, brake, has_quaternion, many_freedoms, one_freedom
from palpate.runtime.advance import StepStatus as StepStatus
from palpate.runtime.equations import limits

_LOST = [math.nan] * 6
_PROBLEMS = (ArithmeticError, ValueError, TypeError, IndexError)
LONGEST_STEP_S = 0.1
"""Steps up to this are stable whatever the dampers, springs and stops; longer ones would jump over what they must meet.
For an error of the motion below 1 %, take a hundredth of the shortest swing or fade of the object: usually 1 ms."""
_EITHER_SIDE = {"rad": math.pi / 4, "m": 0.25}
"""How far an object without stops moves to either side, by the unit of its main coordinate."""


class Stepper:
    """Forward dynamics of a model at a fixed step `dt` (s), from the same elements that were identified.

    Semi-implicit Euler at velocity level with set-valued dry friction (Moreau 1988, Unilateral contact and dry
    friction in finite freedom dynamics): of first order in dt, and stable for any damper and stop.

        door = Stepper(model, dt=1e-3)
        out = np.empty(door.size)
        status = door.step((0, 0, 0, 0, 0, torque), out)  # out: angle, speed, acceleration

    `wrench_limit`: six positive numbers (N, N m), the sensor's range in the frame of the wrench. What is beyond it
    counts as the limit, and the step reports `SATURATED`.

    The state is all there is: `saved = door.state`, later `door.reset(saved)`, and the same wrenches give the same
    motion, bit by bit. Whatever comes in, a step gives finite numbers that belong together; where the wrench is lost,
    `NOT_FINITE` says so, and each such step brakes the object (`palpate.runtime.advance`: to a third of its speed in
    20 ms, then to rest; never faster, never energy from nothing). The next good wrench moves it on from there.
    """

    def __init__(self, model: Model, dt: float, *, wrench_limit: Sequence[float] | FloatArray | None = None) -> None:
        check_step(dt)
        self._limit = None if wrench_limit is None else check_wrench_limit(wrench_limit)
        model = moving(model)
        self._mechanism = model.mechanism
        self._reach = model.mechanism.reach
        self._turns = has_quaternion(model)
        self._still = (0.0,) * len(model.mechanism.accelerations)
        self._now: State = rest(model)
        try:
            if has_one_freedom(model):
                self._advance = one_freedom(model, float(dt), self._reach)
            else:
                self._advance = many_freedoms(model, float(dt))
            _, status = self._advance(self._now, (0.0,) * 6)
        except (TypeError, ArithmeticError) as error:
            raise PalpateError(f"model {model.name!r} cannot be stepped ({error}); does check_element pass?") from error
        self._braked = brake(self._advance, len(self._still), float(dt), turns=self._turns)
        if status is StepStatus.NOT_FINITE:
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
        """A copy of the state, in SI units; its names are the mechanism's. `reset` goes on from it."""
        return np.array(self._now)

    def reset(self, state: Sequence[float] | FloatArray) -> None:
        """Go on from this state; one that is not possible is refused."""
        values = tuple(float(x) for x in state)
        names = self._mechanism.state
        if len(values) != len(names) or not all(math.isfinite(x) for x in values):
            raise PalpateError(f"the state must be {len(names)} numbers ({', '.join(names)}), not {values}")
        low, high = self._reach
        if not low <= values[0] <= high:
            at, first, last = (shown(x, self._mechanism.position_units[0], 1) for x in (values[0], low, high))
            raise PalpateError(f"at {at} the linkage is out of reach, {first.removesuffix(' deg')} to {last}")
        for i, least, most in limits(self._mechanism):
            if not least <= values[i] <= most:
                raise PalpateError(f"{names[i]} must be from {least:.4g} to {most:.4g}, not {values[i]:.4g}")
        if self._turns:
            size = math.hypot(*values[3:7])
            if abs(size - 1.0) > 1e-3:
                raise PalpateError(f"the quaternion {values[3:7]} is not a unit quaternion")
            if abs(size - 1.0) > 1e-12:  # what a step has left is taken as it is
                values = (*values[:3], *(x / size for x in values[3:7]), *values[7:])
        self._now = values

    def step(self, wrench: Sequence[float] | FloatArray, out: MutableSequence[float] | FloatArray) -> StepStatus:
        """Apply a wrench for one step; `out` receives the new state and the mean accelerations (see `names`).

        `wrench`: force (N) and moment (N m) in the body frame about its origin; a hinge takes only the moment about
        its axis, the last of the six. Whose it is, `model_of` says: for a model of the body what the sensor reads
        minus its zero, for the whole the person's (`SensorStepper` works it out). Never raises: look at the status.
        """
        try:
            w = [float(x) for x in wrench]
        except _PROBLEMS:
            w = []
        try:
            if len(out) == self.size:
                result, status = self._attempt(self._now, w if len(w) == 6 else _LOST)
                for i, x in enumerate(result):
                    out[i] = x
                self._now = result[: len(self._now)]
                return status
        except _PROBLEMS:
            pass
        with suppress(*_PROBLEMS):
            for i, x in enumerate((*self._now, *self._still)):
                out[i] = x
        return StepStatus.NOT_FINITE

    def run(self, wrenches: FloatArray, out: FloatArray) -> NDArray[np.int8]:
        """Take one step for each row of `wrenches` (steps, 6); `out` (steps, size) receives what `step` would give.

        The same numbers, bit by bit, in less time. Returns the `StepStatus` of each step.
        """
        if wrenches.shape != (len(wrenches), 6) or out.shape != (len(wrenches), self.size):
            raise PalpateError(
                f"for n steps, wrenches must be (n, 6) and out (n, {self.size}), not {wrenches.shape} and {out.shape}"
            )
        now, count, attempt = self._now, len(self._now), self._attempt
        path: list[State] = []
        statuses: list[StepStatus] = []
        rows: list[list[float]] = wrenches.tolist()
        for w in rows:
            result, status = attempt(now, w)
            now = result[:count]
            path.append(result)
            statuses.append(status)
        if path:
            out[:] = path
            self._now = now
        return np.array(statuses, dtype=np.int8)

    def _attempt(self, now: State, wrench: list[float]) -> tuple[State, StepStatus]:
        """One step of six numbers; a braked one where they lead nowhere."""
        if math.isfinite(sum(wrench)):
            beyond = False
            if self._limit is not None:
                within = [min(max(x, -most), most) for x, most in zip(wrench, self._limit, strict=True)]
                beyond, wrench = within != wrench, within
            try:
                result, status = self._advance(now, wrench)
                if status is not StepStatus.NOT_FINITE and math.isfinite(sum(result)):
                    return result, StepStatus.SATURATED if beyond else status
            except _PROBLEMS:
                pass
        return self._braked(now), StepStatus.NOT_FINITE


def shown(x: float, unit: str, digits: int = 0) -> str:
    """An angle in deg, a length in m, for people; `digits` of a degree."""
    return f"{math.degrees(x):.{digits}f} deg" if unit == "rad" else f"{x:.{digits + 2}f} {unit}"


def check_step(dt: float) -> None:
    """Refuse what is no time step (s), or too long a one."""
    if not (math.isfinite(dt) and dt > 0):
        raise PalpateError(f"a step must be a positive time in s, not {dt!r}")
    if dt > LONGEST_STEP_S:
        raise PalpateError(f"a step of {dt:g} s is too long: at most {LONGEST_STEP_S:g} s, usually 0.001 s")


def check_wrench_limit(limit: Sequence[float] | FloatArray) -> tuple[float, ...]:
    """The range of a sensor as six positive numbers; infinite where there is none."""
    numbers = tuple(float(x) for x in limit)
    if len(numbers) != 6 or not all(x > 0 for x in numbers):
        raise PalpateError(f"wrench_limit must be six positive numbers (N, N m), not {numbers}")
    return numbers


def moving(model: Model) -> Model:
    """The model as it moves: without the instruments, its values possible, its mechanism as the runtime must see it."""
    model = model.of_object()
    model.check_values()
    return replace(model, mechanism=model.mechanism.forward())


def has_one_freedom(model: Model) -> bool:
    """Whether its state is one position and its speed."""
    mechanism = model.mechanism
    single = len(mechanism.accelerations) == 1 and len(mechanism.state) == 2
    return single and tuple(mechanism.rates((0.3, 0.7), FLOATS)) == (0.7,)


def rest(model: Model) -> State:
    """The state in which a stepper begins: zero, or the position next to it that a linkage reaches; what has feet
    stands on them.
    """
    mechanism = model.mechanism
    state = [1.0 if name == "q_w" else 0.0 for name in mechanism.state]
    turns = [j.position for j in mechanism.joints if j.kind == "turn" and j.position is not None]
    if has_feet(model) and turns:
        state[turns[-1]] = _standing(model, turns[-1])
    low, high = mechanism.reach
    state[0] = min(max(state[0], low), high)
    return tuple(state)


def has_feet(model: Model) -> bool:
    """Whether it can stand on feet."""
    return any(e.ground and e.contact for e in model.elements)


def feet_height(model: Model, state: Sequence[float]) -> float:
    """m, of the lowest foot above the ground in this state; negative if it is in the ground, infinite without feet."""
    names = [e.acts_on for e in model.elements if e.ground and e.contact]
    k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), model.shapes, FLOATS)
    return min((float(k.coordinates[name].position) for name in names), default=math.inf)


def _standing(model: Model, at: int) -> float:
    """The angle (rad, `at` in the state) nearest to zero at which the lowest foot just touches the ground; zero where
    none can.
    """

    def height(angle: float) -> float:
        return feet_height(model, [angle if i == at else 0.0 for i in range(len(model.mechanism.state))])

    for degrees, way in ((d, way) for d in range(90) for way in (1, -1)):
        a, b = math.radians(way * degrees), math.radians(way * (degrees + 1))
        if height(a) * height(b) <= 0.0:
            for _ in range(60):
                middle = (a + b) / 2
                a, b = (middle, b) if height(a) * height(middle) > 0.0 else (a, middle)
            return a
    return 0.0


def end_stops(model: Model) -> tuple[float, float]:
    """The main positions (rad, m) between the model's own end stops; infinite where there is none."""
    main = model.mechanism.main
    stops = [e.stops for e in model.elements if e.stops is not None and e.acts_on == main]
    low = max((s.at for s in stops if s.side == "lowest"), default=-math.inf)
    return low, min((s.at for s in stops if s.side == "highest"), default=math.inf)


def moving_range(model: Model) -> tuple[float, float]:
    """The main positions between which the object moves: its stops, else what its linkage was described for, else 45
    deg or 0.25 m to either side; zeros where the mechanism has no main coordinate.
    """
    mechanism = model.mechanism
    if mechanism.main is None:
        return 0.0, 0.0
    most = _EITHER_SIDE[mechanism.coordinates[mechanism.main]]
    span = (-most, most) if mechanism.linkage is None else mechanism.linkage.range
    low, high = end_stops(model)
    low, high = (low if low > -math.inf else span[0]), (high if high < math.inf else span[1])
    return (low, high) if high > low else span
