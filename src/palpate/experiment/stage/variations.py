"""What is uncertain, as one list: a name, a standard deviation, and how it changes the inputs.

The same list serves what was estimated beside the parameters (a clock, a zero: it widens their intervals) and what the
experiment file declares (a scale, a position: their systematic error).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage.fit import Fit, solve_with, widened
from palpate.experiment.stage.inputs import ImuMotion, Inputs, Sensor
from palpate.identify import Solution
from palpate.motion.clock import ClockMap
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses, exp_rotation, transform

STILL_PARTS = 10
"""The scatter between so many parts of the static segment tells how well a zero is known."""


@dataclass(frozen=True, slots=True)
class Variation:
    """One thing that may be off."""

    name: str
    """A key of `uncertain`, or what was estimated: "clock", "zero", "vertical", ..."""
    std: float
    """In the unit of that key."""
    change: Callable[[Inputs, float], Inputs]
    """The inputs with it off by an amount."""

    def applied(self, inputs: Inputs) -> Inputs:
        """The inputs with it off by one standard deviation."""
        return self.change(inputs, self.std)


def estimated(inputs: Inputs) -> Iterator[Variation]:
    """What was estimated from the same recordings, beside the parameters."""
    clock = inputs.clock
    if clock is not None and inputs.imu is None:
        yield Variation("clock", clock.offset_std_s, _late)
        yield Variation("drift", clock.drift_std_ppm, _drifting)
    if inputs.zero == "still" and inputs.static is not None:
        at = inputs.inside([inputs.static])
        parts = [np.nanmean(part, axis=1) for part in np.array_split(inputs.measured[:, at], STILL_PARTS, axis=1)]
        std = np.std(parts, axis=0, ddof=1) / np.sqrt(STILL_PARTS)
        for i, j in np.ndindex(*std.shape):  # each by itself: they know nothing of each other
            yield Variation("zero", float(std[i, j]), lambda x, by, i=i, j=j: _zero_off(x, i, j, by))
    for i, sensor in enumerate(inputs.sensors):
        for turn in sensor.turn_root.T:
            yield Variation("sensor_rotation", 1.0, lambda x, by, i=i, t=turn: _sensor(x, i, turn=by * t))
    if inputs.tilt_std_rad > 0:
        for axis in np.eye(3)[:2]:
            yield Variation("tilt", inputs.tilt_std_rad, lambda x, by, a=axis: tilted(x, by * a))


def declared(inputs: Inputs, uncertain: Mapping[str, float]) -> Iterator[Variation]:
    """What the experiment file says of how far things may be off: key of `uncertain` -> standard deviation."""
    for name, std in uncertain.items():
        for change in _CHANGES[name](inputs):
            yield Variation(name, std, change)


Change = Callable[[Inputs, float], Inputs]


def _each_sensor(
    how: Callable[[FloatArray, float], dict[str, FloatArray]], axes: FloatArray
) -> Callable[[Inputs], Iterable[Change]]:
    def changes(inputs: Inputs) -> Iterator[Change]:
        for i in range(len(inputs.sensors)):
            for axis in axes:
                yield lambda x, by, i=i, a=axis: _sensor(x, i, **how(a, by))

    return changes


def _each_axis(how: Callable[[Inputs, FloatArray], Inputs], axes: FloatArray) -> Callable[[Inputs], Iterable[Change]]:
    return lambda _: [lambda x, by, a=axis: how(x, by * a) for axis in axes]


def _scaled(inputs: Inputs, by: float) -> Inputs:
    sensors = tuple(replace(s, wrench=replace(s.wrench, x=(1 + by) * s.wrench.x)) for s in inputs.sensors)
    return replace(inputs, sensors=sensors, measured=(1 + by) * inputs.measured)


def _late(inputs: Inputs, by: float) -> Inputs:
    clock = inputs.clock or ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False)
    return inputs.on_clock(replace(clock, offset_s=clock.offset_s + by))


def _drifting(inputs: Inputs, by: float) -> Inputs:
    assert inputs.clock is not None
    return inputs.on_clock(replace(inputs.clock, drift_ppm=inputs.clock.drift_ppm + by))


def _zero_off(inputs: Inputs, sensor: int, component: int, by: float) -> Inputs:
    error = np.zeros((len(inputs.sensors), 6))
    error[sensor, component] = by
    return replace(inputs, zero_error=error)


def _sensor(inputs: Inputs, i: int, *, shift: FloatArray | None = None, turn: FloatArray | None = None) -> Inputs:
    """The i-th sensor shifted in the body frame (m) or turned in its own (rad)."""
    sensor: Sensor = inputs.sensors[i]
    T = _turned(sensor.T_body_sensor, turn, shift)
    moved = replace(sensor, T_body_sensor=T)
    return replace(inputs, sensors=(*inputs.sensors[:i], moved, *inputs.sensors[i + 1 :]))


def _turned(T: FloatArray, turn: FloatArray | None, shift: FloatArray | None = None) -> FloatArray:
    R = T[:3, :3] if turn is None else T[:3, :3] @ exp_rotation(turn)
    return transform(R, T[:3, 3] if shift is None else T[:3, 3] + shift)


def _imu(inputs: Inputs, change: Callable[[ImuMotion], ImuMotion]) -> Inputs:
    assert inputs.imu is not None
    return replace(inputs, imu=change(inputs.imu))


def _imu_turned(inputs: Inputs, turn: FloatArray) -> Inputs:
    return _imu(
        inputs,
        lambda m: replace(m, T_body_imu=transform(exp_rotation(turn) @ m.T_body_imu[:3, :3], m.T_body_imu[:3, 3])),
    )


def _imu_shifted(inputs: Inputs, shift: FloatArray) -> Inputs:
    return _imu(inputs, lambda m: replace(m, T_body_imu=_turned(m.T_body_imu, None, shift)))


def _imu_scaled(columns: slice) -> Change:
    def change(inputs: Inputs, by: float) -> Inputs:
        assert inputs.imu is not None
        x = inputs.imu.even.x.copy()
        x[:, columns] *= 1 + by
        return _imu(inputs, lambda m: replace(m, even=replace(m.even, x=x)))

    return change


def tilted(inputs: Inputs, turn: FloatArray) -> Inputs:
    """The same with another vertical: the world turned by a rotation vector (3,), rad."""
    R, mechanism = exp_rotation(turn), inputs.mechanism
    if mechanism.wheel is not None and inputs.poses is not None:  # its frame is level by definition
        poses = Poses(inputs.poses.times_s, R @ inputs.poses.rotation, inputs.poses.position @ R.T)
        return replace(inputs, poses=poses, q=mechanism.coordinates_of(poses))
    up = np.array(mechanism.motion(np.zeros(1), *_at_zero(inputs)).specific_acceleration[0])
    level = _level_frame(up)
    gravity = -(level @ R @ level.T) @ up
    return inputs.with_model(replace(inputs.model, mechanism=mechanism.with_gravity(gravity)))


def _at_zero(inputs: Inputs) -> tuple[FloatArray, FloatArray]:
    return np.zeros((1, len(inputs.mechanism.state))), np.zeros((1, len(inputs.mechanism.accelerations)))


def _level_frame(up: FloatArray) -> FloatArray:
    """(3, 3): axes whose z is up, seen from the mechanism's frame."""
    z = up / np.linalg.norm(up)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z], dtype=float).T


def _closed(inputs: Inputs, by: float) -> Inputs:
    """The main coordinate's zero elsewhere."""
    assert inputs.main is not None
    q = inputs.q.copy()
    q[:, inputs.main] += by
    stops = None if inputs.stops is None else (inputs.stops[0] + by, inputs.stops[1] + by)
    # what turns with the object keeps its place in the world
    mechanism = inputs.mechanism.with_zero_at(by)
    return replace(inputs.with_model(replace(inputs.model, mechanism=mechanism)), q=q, stops=stops)


def _links(inputs: Inputs) -> Iterator[Change]:
    linkage = inputs.mechanism.linkage
    for i in range(0 if linkage is None else len(linkage.lengths)):
        yield lambda x, by, i=i: _longer(x, i, by)


def _longer(inputs: Inputs, link: int, by: float) -> Inputs:
    """One link longer, or shorter where the longer one cannot be assembled."""
    linkage = inputs.mechanism.linkage
    assert linkage is not None
    for sign in (1, -1):
        lengths = tuple(x + sign * by * (i == link) for i, x in enumerate(linkage.lengths))
        try:
            mechanism = inputs.mechanism.with_linkage(linkage.with_lengths(lengths))
        except PalpateError:
            continue
        return inputs.with_model(replace(inputs.model, mechanism=mechanism))
    return inputs


def _larger_wheel(inputs: Inputs, by: float) -> Inputs:
    assert inputs.mechanism.wheel is not None
    return inputs.with_model(inputs.model.with_wheel(inputs.mechanism.wheel.radius + by))


def _heavier(inputs: Inputs, by: float) -> Inputs:
    mass = inputs.belief.mass
    return inputs if mass is None else replace(inputs, belief=replace(inputs.belief, mass=mass + by))


def _one(change: Change) -> Callable[[Inputs], Iterable[Change]]:
    return lambda _: [change]


_AXES = np.eye(3)
_CHANGES: Mapping[str, Callable[[Inputs], Iterable[Change]]] = {
    "load_cell_scale": _one(_scaled),
    "sensor_position": _each_sensor(lambda axis, by: {"shift": by * axis}, _AXES),
    "sensor_rotation": _each_sensor(lambda axis, by: {"turn": by * axis}, _AXES),
    "sensor_yaw": _each_sensor(lambda axis, by: {"turn": by * axis}, _AXES[2:]),
    "imu_rotation": _each_axis(_imu_turned, _AXES),
    "imu_position": _each_axis(_imu_shifted, _AXES),
    "accelerometer_scale": _one(_imu_scaled(slice(0, 3))),
    "gyroscope_scale": _one(_imu_scaled(slice(3, 6))),
    "clock": _one(_late),
    "tilt": _each_axis(tilted, _AXES[:2]),
    "closed": _one(_closed),
    "links": _links,
    "wheel_radius": _one(_larger_wheel),
    "mass": _one(_heavier),
}
"""Key of `uncertain` -> the ways in which it may be off, each alone."""


def with_estimated(fit: Fit) -> Fit:
    """The fit with intervals that also hold what not knowing shapes, clock, zeros and a first step's spring does."""
    if fit.inputs.filtering.published and fit.inputs.mechanism.wheel is not None:
        return fit  # as published, nothing but noise is thought of
    squares = dict.fromkeys((e.name for e in fit.solution.estimates), 0.0)
    if fit.shaped is not None:
        for name, more in zip(fit.solution.model.parameters, np.diag(fit.shaped.widening).tolist(), strict=True):
            squares[name] = max(more, 0.0) if name in squares else 0.0
    others = [fit.again(v.applied(fit.inputs))[1] for v in estimated(fit.inputs)]
    if fit.spring is not None and fit.spring.free:
        others += [solve_with(fit.inputs, fit.train, values, fit.solution.damping) for values in fit.spring.moved()]
    for other in others:
        for name, square in _squares(other, fit.solution).items():
            squares[name] += square
    return replace(fit, solution=widened(fit, squares))


def with_systematic(fit: Fit, uncertain: Mapping[str, float]) -> Fit:
    """The fit with the systematic standard deviation of every estimate, and what each source does to it."""
    base = fit.solution if fit.noise is None else fit.again(fit.inputs)[1]
    sources: dict[str, dict[str, float]] = {}
    for variation in declared(fit.inputs, uncertain):
        try:
            other = fit.again(variation.applied(fit.inputs))[1]
        except PalpateError:  # out of reach with these links
            continue
        squares = sources.setdefault(variation.name, dict.fromkeys((e.name for e in base.estimates), 0.0))
        for name, square in _squares(other, base).items():
            squares[name] += square
    total = {e.name: sum(own[e.name] for own in sources.values()) for e in fit.solution.estimates}
    estimates = tuple(replace(e, systematic=float(np.sqrt(total[e.name]))) for e in fit.solution.estimates)
    roots = {source: {n: float(np.sqrt(v)) for n, v in own.items()} for source, own in sources.items()}
    return replace(fit, solution=replace(fit.solution, estimates=estimates), sources=roots)


def _squares(one: Solution, other: Solution) -> dict[str, float]:
    return {e.name: (e.value - other[e.name].value) ** 2 for e in one.estimates}
