"""What is uncertain, as one list: a name, and the inputs with it off by one standard deviation.

The same list serves what was estimated beside the parameters (a clock, a zero: it widens their intervals) and what the
experiment file declares (a scale, a position: their systematic error).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements.body import SensorBias
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.stage.fit import Fit, Off, Rolled, solve_with, widened
from palpate.experiment.stage.ground import SLIPS_RAD, rolled_by_axle, turned
from palpate.experiment.stage.inputs import ImuMotion, Inputs, still_motion
from palpate.identify import Solution, solve
from palpate.identify.shapes import Profile, Shaped, with_shapes
from palpate.identify.solution import Estimate
from palpate.motion.clock import ClockMap
from palpate.motion.derivatives import savitzky_golay
from palpate.motion.extrinsics import Placement, imu_on_load_cell, misplaced
from palpate.motion.imu import imu_motion, resample_motion
from palpate.physics.arrays import FloatArray, runs, spread
from palpate.physics.inertia import DRAWING_NAMES
from palpate.physics.motion import Motion, exp_rotation, transform

ENOUGH_S, STRETCH_S = 120.0, 15.0
"""Of the segments, in stretches spread over them: the IMU's place is known from it."""
NEAR = 0.01
"""Samples by which a clock may be another one and what it shows still changes by its slope."""
SURELY = 4.0
"""Standard deviations."""
STILL_PARTS = 10
"""The scatter between so many parts of the static segment tells how well a zero is known."""
UNIT_AXES = np.eye(3)
Ways = Callable[[Inputs, float], Iterable[Inputs]]
"""Inputs, standard deviation -> the inputs with each way to be off by it, one at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """One thing that may be off."""

    name: str
    """A key of `uncertain`, or what was estimated: "clock", "zero", "tilt", ..."""
    inputs: Inputs
    """With it off by one standard deviation."""


def estimated(inputs: Inputs) -> Iterator[Variation]:
    """What was estimated from the same recordings, beside the parameters."""
    clock = inputs.clock
    if clock is not None and inputs.imu is None:
        late = replace(clock, offset_s=clock.offset_s + clock.offset_std_s)
        drifting = replace(clock, drift_ppm=clock.drift_ppm + clock.drift_std_ppm)
        for name, other in zip(("clock", "drift"), _on_clocks(inputs, (late, drifting)), strict=True):
            yield Variation(name, other)
    if inputs.zero == "still" and inputs.static is not None:
        at = inputs.inside([inputs.static]) & np.isfinite(inputs.measured).all(axis=(0, 2))
        parts = [np.mean(part, axis=1) for part in np.array_split(inputs.measured[:, at], STILL_PARTS, axis=1)]
        std = np.std(parts, axis=0, ddof=1) / np.sqrt(STILL_PARTS) * _slow(np.array(parts))
        for place in np.ndindex(*std.shape):  # each by itself: they know nothing of each other
            error = np.zeros_like(std)
            error[place] = std[place]
            yield Variation("zero", replace(inputs, zero_error=error))
    for i, sensor in enumerate(inputs.sensors):
        for turn in sensor.turn_root.T:
            yield Variation("sensor_rotation", _with_sensor(inputs, i, _turned(sensor.T_body_sensor, turn)))
    for axis in UNIT_AXES if inputs.mechanism.pivot else UNIT_AXES[:2]:  # across z, about which a hinge turns
        shift, turn = transform(np.eye(3), inputs.hinge_std_m * axis), exp_rotation(inputs.axis_std_rad * axis)
        for std, T in ((inputs.hinge_std_m, shift), (inputs.axis_std_rad, transform(turn, np.zeros(3)))):
            sensors = (replace(s, T_body_sensor=T @ s.T_body_sensor) for s in inputs.sensors)
            if std > 0:
                yield Variation("hinge", replace(inputs, sensors=tuple(sensors)))
    for joint in inputs.mechanism.joints if inputs.pitch_std > 0 else ():
        coarser = inputs.mechanism.with_options(pitch=(joint.pitch or 0.0) + inputs.pitch_std)
        yield Variation("pitch", inputs.with_model(replace(inputs.model, mechanism=coarser)))
    if inputs.travel_std > 0:
        farther = 1 + inputs.travel_std / float(np.ptp(inputs.seen_position))
        yield Variation("travel", inputs.with_positions(inputs.q * farther))
    if inputs.closed_std > 0 and not inputs.filtering.published:
        yield Variation("closed", _closed(inputs, inputs.closed_std))
    since_s = float(inputs.times_s.mean() if inputs.static is None else np.mean(inputs.static))
    for off in () if inputs.integrated is None else inputs.integrated.drifts(inputs.times_s, since_s):
        yield Variation("rate_zero", inputs.with_positions(inputs.q + off[:, None]))
    for other in () if inputs.smoothed is None else inputs.smoothed.sways():
        yield Variation("motion", replace(inputs, smoothed=other))
    for change in inputs.frame_root.T:
        yield Variation("axle", _on_frame(inputs, change))
    for turn in inputs.ground_root.T:
        yield Variation("ground", on_ground(inputs, turn))


def held_shapes(fit: Fit) -> Iterator[Variation]:
    """Shapes that the data do not tell and that stay as given, to either side: all that their profile leaves is alike
    likely, so as far as the root of the mean square of a uniform distribution, shared by both sides.
    """
    for p in () if fit.shaped is None else fit.shaped.profiles:
        low, high = p.hull
        if p.interval is None and low <= p.value <= high and 0 < high - low < np.inf:  # inf: of a zone never visited
            std = np.sqrt(((high - p.value) ** 3 + (p.value - low) ** 3) / (3 * (high - low)))
            for by in (-std / np.sqrt(2), std / np.sqrt(2)):
                there = {p.name: float(np.clip(p.value + by, low, high))}
                yield Variation("shape", fit.inputs.with_model(with_shapes(fit.inputs.model, there)))


def declared(inputs: Inputs, uncertain: Mapping[str, float]) -> Iterator[Variation]:
    """What the experiment file says of how far things may be off: key of `uncertain` -> standard deviation."""
    return (Variation(name, other) for name, std in uncertain.items() for other in _WAYS[name](inputs, std))


def _slow(parts: FloatArray) -> float:
    """How much less the mean of (parts, ...) is known than if they were independent: slow noise makes neighbours alike.

    Of a first-order autoregression, sqrt((1 + r) / (1 - r)), with r pooled and freed of its bias (Kendall 1954).
    """
    x = parts - parts.mean(axis=0)
    n, square = len(parts), float(np.sum(x**2))
    r = float(np.sum(x[1:] * x[:-1])) / square if square > 0 else 0.0
    r = min(max((n * r + 1) / (n - 3), 0.0), 0.9)
    return float(np.sqrt((1 + r) / (1 - r)))


def _each_sensor(change: Callable[[FloatArray, FloatArray], FloatArray], axes: FloatArray) -> Ways:
    return lambda x, by: [
        _with_sensor(x, i, change(s.T_body_sensor, by * axis)) for i, s in enumerate(x.sensors) for axis in axes
    ]


def _with_sensor(inputs: Inputs, i: int, T_body_sensor: FloatArray) -> Inputs:
    moved = replace(inputs.sensors[i], T_body_sensor=T_body_sensor)
    return replace(inputs, sensors=(*inputs.sensors[:i], moved, *inputs.sensors[i + 1 :]))


def _turned(T: FloatArray, turn: FloatArray) -> FloatArray:
    """Turned in its own frame, rad."""
    return transform(T[:3, :3] @ exp_rotation(turn), T[:3, 3])


def _shifted(T: FloatArray, shift: FloatArray) -> FloatArray:
    """Shifted in the body frame, m."""
    return transform(T[:3, :3], T[:3, 3] + shift)


def _each_imu(change: Callable[[ImuMotion, float], Iterable[ImuMotion]]) -> Ways:
    return lambda x, by: [] if x.imu is None else [replace(x, imu=imu) for imu in change(x.imu, by)]


def _each_imu_pose(change: Callable[[FloatArray, FloatArray], FloatArray]) -> Ways:
    return _each_imu(lambda imu, by: [replace(imu, T_body_imu=change(imu.T_body_imu, by * axis)) for axis in UNIT_AXES])


def _imu_scaled(accelerometer: int, gyroscope: int) -> Ways:
    which = np.repeat([accelerometer, gyroscope], 3)
    return _each_imu(lambda imu, by: [replace(imu, even=replace(imu.even, x=imu.even.x * (1 + by * which)))])


def _instrument_scaled(accelerometer: int, gyroscope: int) -> Ways:
    """Of an IMU, or of one whose signal was integrated: what follows from it grows as it does."""
    of_imu = _imu_scaled(accelerometer, gyroscope)
    return lambda x, by: of_imu(x, by) if x.integrated is None else [x.with_positions(x.q * (1 + by))]


def _with_fixed(inputs: Inputs, by: float) -> list[Inputs]:
    """Each of the values that are fixed larger, one at a time."""
    belief = inputs.belief
    others = [{**belief.fixed, name: (1 + by) * value} for name, value in belief.fixed.items() if value != 0]
    return [replace(inputs, belief=replace(belief, fixed=other)) for other in others]


def _scaled(inputs: Inputs, by: float) -> list[Inputs]:
    sensors = tuple(replace(s, wrench=replace(s.wrench, x=(1 + by) * s.wrench.x)) for s in inputs.sensors)
    return [replace(inputs, sensors=sensors, measured=(1 + by) * inputs.measured)]


def _late(inputs: Inputs, by: float) -> Inputs:
    clock = inputs.clock or ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False)
    return inputs.on_clock(replace(clock, offset_s=clock.offset_s + by))


def _on_clocks(inputs: Inputs, clocks: Sequence[ClockMap]) -> Iterator[Inputs]:
    """The same with other clocks of the load cells. By microseconds their wrenches change with their slope: that of a
    polynomial through nine samples is right to a thousandth up to 15 Hz at 100, beyond which hardly anything counts.
    """
    t, before = inputs.times_s, inputs.clock
    if before is None or inputs.filtering.published:
        yield from map(inputs.on_clock, clocks)
        return
    by = [clock.from_reference(t) - before.from_reference(t) for clock in clocks]
    if max(np.abs(x).max() for x in by) * inputs.rate_hz > NEAR:
        yield from map(inputs.on_clock, clocks)
        return
    slope = savitzky_golay(inputs.measured.swapaxes(0, 1), 9, 8, derivative=1, rate_hz=inputs.rate_hz)
    slope = np.nan_to_num(slope.swapaxes(0, 1))  # beside what was not seen
    for clock, moved_by in zip(clocks, by, strict=True):
        yield replace(inputs, clock=clock, measured=inputs.measured + moved_by[:, None] * slope)


def tilted(inputs: Inputs, turn: FloatArray) -> Inputs:
    """The same with another vertical: turned by a rotation vector (3,), rad."""
    mechanism = inputs.mechanism
    if mechanism.pivot == "point" and inputs.poses is not None:  # z of body and world is up where it rests
        return _turned_poses(_on_frame(inputs, np.append(turn, np.zeros(3))), -turn)
    if mechanism.z_up and inputs.poses is not None:
        up = inputs.up + np.array([turn[1], -turn[0]])  # turn x z
        return _turned_poses(inputs, turn) if inputs.filtering.published else replace(inputs, up=up)
    up = still_motion(inputs, np.zeros((1, inputs.q.shape[1]))).specific_acceleration[0]
    z = up / np.linalg.norm(up)
    x = np.cross(z, UNIT_AXES[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    level = np.array([x, np.cross(z, x), z], dtype=float).T  # axes whose z is up, seen from the mechanism's frame
    gravity = -(level @ exp_rotation(turn) @ level.T) @ up
    return inputs.with_model(replace(inputs.model, mechanism=mechanism.with_gravity(gravity)))


def on_ground(inputs: Inputs, turn: FloatArray) -> Inputs:
    """The same with another vertical, and rolling on another floor: turned about x and y each, (4,) rad."""
    tilt, floor = np.append(turn[:2], 0.0), np.append(turn[2:], 0.0)
    if inputs.filtering.published:  # floor and vertical are one
        return _turned_poses(inputs, tilt + floor)
    return tilted(_turned_poses(inputs, floor) if floor.any() else inputs, tilt + floor)


def _on_frame(inputs: Inputs, change: FloatArray) -> Inputs:
    """The same with the body frame elsewhere on the body: turned and shifted in itself, (6,) rad and m."""
    assert inputs.poses is not None
    T = transform(exp_rotation(change[:3]), change[3:])
    poses, back = inputs.poses.attached(T), np.linalg.inv(T)
    sensors = tuple(replace(s, T_body_sensor=back @ s.T_body_sensor) for s in inputs.sensors)
    return replace(inputs.with_positions(inputs.mechanism.coordinates_of(poses)), poses=poses, sensors=sensors)


def _turned_poses(inputs: Inputs, turn: FloatArray) -> Inputs:
    """The same seen from a frame in which all is turned by a rotation vector (3,), rad; up stays as it has it."""
    assert inputs.poses is not None
    poses = turned(inputs.poses, turn)
    return replace(inputs.with_positions(inputs.mechanism.coordinates_of(poses)), poses=poses)


def _closed(inputs: Inputs, by: float) -> Inputs:
    """The main coordinate's zero elsewhere."""
    q = inputs.q.copy()
    q[:, inputs.main] += by
    stops = None if inputs.stops is None else (inputs.stops[0] + by, inputs.stops[1] + by)
    # what turns with the object keeps its place in the world
    mechanism = inputs.mechanism.with_zero_at(by)
    moved = inputs.with_positions(q).with_model(replace(inputs.model, mechanism=mechanism))
    return replace(moved, stops=stops)


def _links(inputs: Inputs, by: float) -> Iterator[Inputs]:
    """Each link that is not estimated longer, or shorter where the longer one cannot be assembled."""
    mechanism = inputs.mechanism
    for name, off in mechanism.off_by(by).items():
        if off == 0 or name in mechanism.estimated:
            continue
        size, _ = mechanism.sizes[name]
        try:
            other = mechanism.with_sizes({name: size + off})
        except PalpateError:
            other = mechanism.with_sizes({name: size - off})
        yield inputs.with_model(replace(inputs.model, mechanism=other))


def _larger_wheel(inputs: Inputs, by: float) -> list[Inputs]:
    wheel = inputs.mechanism.wheel
    return [] if wheel is None else [inputs.with_model(inputs.model.with_wheel(wheel.radius + by))]


def _heavier(inputs: Inputs, by: float) -> list[Inputs]:
    mass = inputs.belief.mass
    return [inputs if mass is None else replace(inputs, belief=replace(inputs.belief, mass=mass + by))]


_WAYS: Mapping[str, Ways] = {
    "load_cell_scale": _scaled,
    "sensor_position": _each_sensor(_shifted, UNIT_AXES),
    "sensor_rotation": _each_sensor(_turned, UNIT_AXES),
    "sensor_yaw": _each_sensor(_turned, UNIT_AXES[2:]),
    "imu_rotation": _each_imu_pose(lambda T, turn: transform(exp_rotation(turn) @ T[:3, :3], T[:3, 3])),
    "imu_position": _each_imu_pose(_shifted),
    "accelerometer_scale": _instrument_scaled(1, 0),
    "gyroscope_scale": _instrument_scaled(0, 1),
    "fixed": _with_fixed,
    "clock": lambda x, by: [_late(x, by)],
    "tilt": lambda x, by: [tilted(x, by * axis) for axis in UNIT_AXES[:2]],
    "closed": lambda x, by: [_closed(x, by)],
    "links": _links,
    "wheel_radius": _larger_wheel,
    "mass": _heavier,
}
"""Key of `uncertain` -> the ways in which it may be off."""


def taken_as_exact(fit: Fit) -> list[str]:
    """Keys of `uncertain` that apply to these inputs but were not declared."""
    x, mechanism = fit.inputs, fit.inputs.mechanism
    keys = ["fixed"] if x.unloaded else ["load_cell_scale"]
    if x.integrated is not None:
        keys.append("accelerometer_scale" if x.integrated.rests else "gyroscope_scale")
    if x.imu is not None:
        keys += ["imu_rotation", "imu_position", "accelerometer_scale", "gyroscope_scale"]
    if x.poses is not None:
        keys += ["sensor_position", "sensor_rotation", "tilt"]
    links = None if x.links_std_m > 0 else mechanism.sizes or None
    one = {"closed": x.main, "links": links, "wheel_radius": mechanism.wheel, "mass": x.belief.mass}
    keys += [key for key, what in one.items() if what is not None]
    return [key for key in keys if key not in fit.sources and key not in fit.untried]


def weighed(fit: Fit) -> Estimate | None:
    """The mass as the data have it, where it was stated and they tell it."""
    belief = fit.inputs.belief
    if belief.mass is None or fit.inputs.filtering.published or "m" in fit.inputs.mechanism.hidden:
        return None
    free = solve(fit.train, factor=belief.factor, fixed=belief.fixed)
    return next((e for e in free.estimates if e.name.rpartition(".")[2] == "m" and e.ci95 is not None), None)


def imu_place(fit: Fit) -> Placement | None:
    """Where the IMU that tells the motion sits, by the load cell: what carries both is rigid; None: not known."""
    inputs, mounted, clock = fit.inputs, fit.inputs.imu, fit.inputs.clock
    if mounted is None or clock is None or inputs.filtering.published:
        return None
    even, rate, at = mounted.even, inputs.rate_hz, np.flatnonzero(inputs.inside(fit.plan.segments))
    parts: list[FloatArray] = []
    for a, b in spread(len(at), int(ENOUGH_S * rate), int(STRETCH_S * rate)):
        for start, stop in runs(np.diff(at[a:b], append=at[b - 1] + 1) == 1):
            t = inputs.times_s[at[a + start : a + stop]]
            near = slice(*np.searchsorted(even.times_s, clock.from_reference(t[[0, -1]] + [-1.0, 1.0])))
            at_imu = imu_motion(even.times_s[near], even.x[near, :3], even.x[near, 3:], np.eye(4), mounted.smoothing)
            m = resample_motion(replace(at_imu, times_s=clock.to_reference(even.times_s[near])), t)
            wrench = inputs.sensors[0].wrench.x[at[a + start : a + stop]]
            parts.append(np.hstack([m.specific_acceleration, m.omega, m.omega_dot, wrench]))
            parts.append(np.full((1, parts[-1].shape[1]), np.nan))  # nothing reaches from one stretch to the next
    x = np.concatenate(parts)
    motion = Motion(np.arange(len(x)) / rate, x[:, :3], x[:, 3:6], x[:, 6:9])
    try:
        return imu_on_load_cell(motion, x[:, 9:])
    except DataProblem:  # too little motion to tell, which gates say in other words
        return None


def rolled(fit: Fit) -> Rolled | None:
    """How the wheel rolls; None: there is no wheel, or the motion does not tell."""
    inputs, wheel, used = fit.inputs, fit.inputs.mechanism.wheel, fit.balance.used
    if wheel is None or wheel.moves != "full" or inputs.poses is None or used is None:
        return None
    return rolled_by_axle(inputs.poses, used, wheel.radius, inputs.filtering.order)


def contradicted(fit: Fit, known: Mapping[str, float]) -> dict[str, float]:
    """Key of `uncertain` -> by how much the data surely contradict what was stated: numbers follow the stated one.

    known: numbers that are known otherwise.
    """
    off: dict[str, float] = {}
    inputs, wheel = fit.inputs, fit.inputs.mechanism.wheel
    if wheel is not None and fit.rolled is not None:
        by, slip = abs(fit.rolled.radius_m - wheel.radius), fit.rolled.slip_rad
        # a tyre gives way along its heading about as much as across (Pacejka, Tire and Vehicle Dynamics, ch. 3): it
        # turns as a larger or a smaller wheel would
        creep = wheel.radius * slip if slip > SLIPS_RAD else 0.0
        off |= {"wheel_radius": far} if (far := max(by if by > fit.rolled.unsure_m else 0.0, creep)) > 0 else {}
    if inputs.imu is not None and fit.imu_place is not None:
        turn, move = misplaced(fit.imu_place, inputs.imu.T_body_imu)
        off |= {key: by for key, by in (("imu_rotation", turn), ("imu_position", move)) if by > 0}
    m, mass = weighed(fit), inputs.belief.mass
    if m is not None and mass is not None and abs(m.value - mass) > SURELY * m.noise:
        off["load_cell_scale"] = abs(m.value / mass - 1)
    for name, value in known.items():
        e = fit.solution[name]
        if value != 0 and e.ci95 is not None and not e.ci95[0] <= value <= e.ci95[1]:
            off["load_cell_scale"] = max(off.get("load_cell_scale", 0.0), abs(e.value / value - 1))
    return off


def with_estimated(fit: Fit, besides: Iterable[Variation] = ()) -> Fit:
    """The fit with intervals that also allow for the uncertainty of shapes, clock, zeros and a first step's spring.

    besides: whatever else was estimated along with the parameters.
    """
    if fit.inputs.filtering.published and fit.inputs.mechanism.wheel is not None:
        return fit  # as published, nothing but noise is thought of
    squares = dict.fromkeys((e.name for e in fit.solution.estimates), 0.0)
    if fit.shaped is not None:
        for name, more in zip(fit.solution.model.parameters, np.diag(fit.shaped.widening).tolist(), strict=True):
            squares[name] = max(more, 0.0)
    untried: dict[str, str] = {}
    varied, left = (*estimated(fit.inputs), *held_shapes(fit)), dict[int, FloatArray]()
    others = list(_tried(fit, (*varied, *besides), untried, left))
    if fit.spring is not None and fit.spring.free:
        moved = (solve_with(fit.inputs, fit.train, values, fit.damping) for values in fit.spring.moved())
        others += [values_of(solution) for solution in moved]
    base = _base(fit) if others else values_of(fit.solution)
    for other in others:
        _add_squares(squares, other, base)
    for name, more in _felt_zero(fit).items():
        squares[name] += more
    off = tuple(Off(v.name, v.inputs, left.get(i), fit.p) for i, v in enumerate(varied))
    return replace(fit, solution=widened(fit, squares), shaped=with_borders(fit), untried=untried, varied=off)


def with_borders(fit: Fit) -> Shaped | None:
    """The shapes with intervals of borders that also allow for where the main coordinate is zero and how far it goes:
    a border lies so far from there.
    """
    inputs, shaped = fit.inputs, fit.shaped
    if shaped is None or inputs.main is None:
        return shaped
    borders = {f"{e.name}.{name}" for e in inputs.model.elements for name in e.borders}
    share = inputs.travel_std / max(float(np.ptp(inputs.seen_position)), 1e-12)
    profiles: list[Profile] = []
    for p in shaped.profiles:
        if p.interval is not None and p.name in borders:
            more, (low, high) = 1.96 * float(np.hypot(inputs.closed_std, share * p.value)), p.interval
            wide = p.value - float(np.hypot(p.value - low, more)), p.value + float(np.hypot(high - p.value, more))
            p = replace(p, interval=wide)
        profiles.append(p)
    return replace(shaped, profiles=tuple(profiles))


def _felt_zero(fit: Fit) -> dict[str, float]:
    """Bias -> its variance, N^2 and N^2 m^2, from the zero z of the accelerometer that alone tells a handle's motion.

    In the body's columns a + z in place of a adds (m z, m c x z): a constant wrench, so only the bias takes it.
    """
    imu, values = fit.inputs.imu, {e.name: e.value for e in fit.solution.estimates}
    names = [p.name for p in SensorBias.parameters]
    if imu is None or not values.keys() >= {*DRAWING_NAMES, *names}:
        return {}
    c = np.array([values[name] for name in DRAWING_NAMES[1:4]])
    variances = (values["m"] * imu.zero_std) ** 2 * np.concatenate([np.ones(3), c @ c - c**2])
    return dict(zip(names, variances.tolist(), strict=True))


def values_of(solution: Solution) -> dict[str, float]:
    """Estimate -> its value."""
    return {e.name: e.value for e in solution.estimates}


def _base(fit: Fit) -> dict[str, float]:
    """What others are compared with: fitted as they are, from the balance alone, unweighted, the motion's noise in."""
    as_others = fit.noise is None and not fit.plan.robust and fit.joint is None
    return values_of(fit.solution) if as_others else fit.values_again(fit.inputs)


def with_systematic(fit: Fit, uncertain: Mapping[str, float]) -> Fit:
    """The fit with intervals that include declared errors too, and what each source does to every estimate."""
    base, untried = _base(fit), dict(fit.untried)
    sources: dict[str, dict[str, float]] = {}
    for name, std in uncertain.items():
        try:
            for other in _tried(fit, declared(fit.inputs, {name: std}), untried):
                squares = sources.setdefault(name, dict.fromkeys(base, 0.0))
                _add_squares(squares, other, base)
        except PalpateError as error:  # neither longer nor shorter links can be assembled
            untried[name] = str(error)
    total = {e.name: float(np.sqrt(sum(by[e.name] for by in sources.values()))) for e in fit.solution.estimates}
    roots = {source: {n: float(np.sqrt(v)) for n, v in by.items()} for source, by in sources.items()}
    return replace(fit, solution=fit.solution.wider("systematic", total), sources=roots, untried=untried)


def _tried(
    fit: Fit, variations: Iterable[Variation], untried: dict[str, str], left: dict[int, FloatArray] | None = None
) -> Iterator[dict[str, float]]:
    """The values with each thing off; where links no longer reach, or the like, it goes into `untried`.

    left: number of the variation -> `Fit.left_of` its balance, where that is made.
    """
    varied = list(variations)
    for i, (v, train) in enumerate(zip(varied, fit.trains([v.inputs for v in varied]), strict=True)):
        try:
            values, balance = fit.tried(v.inputs, train)
        except PalpateError as error:
            untried[v.name] = str(error)
            continue
        if left is not None and balance is not None:
            left[i] = fit.left_of(balance)
        yield values


def _add_squares(squares: dict[str, float], one: Mapping[str, float], other: Mapping[str, float]) -> None:
    for name, value in one.items():
        by = value - other[name]
        squares[name] += by * by  # infinite where a power would raise: nothing is known then
