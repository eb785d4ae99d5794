"""Fitting a rolling object: rows weighted by their own errors, the prior's damping, and what else may be off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from palpate.experiment.file.schema import BodyUncertainPart
from palpate.experiment.rolling_inputs import RollingInputs, Sensor, with_radius
from palpate.experiment.rolling_windows import WindowedRows, windowed_rows
from palpate.identify import Balance, Compressed, Prior, Solution, solve
from palpate.identify.balance import Segment
from palpate.identify.solution import VAGUE, Estimate, Status, natural_size
from palpate.motion.clocks.clock import ClockMap
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.log_cholesky import Factor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import transform

TIMES = 3
"""Rows are weighted by the errors that the fit before left, so many times."""


@dataclass(frozen=True, slots=True)
class Believed:
    """What is known before."""

    prior: Prior | None
    factor: Factor
    mass: float | None
    """kg, of what the model is of."""
    fixed: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class RollingFit:
    """An identified rolling object and what it was identified from."""

    inputs: RollingInputs
    segments: tuple[Segment, ...]
    """Of the fit."""
    believed: Believed
    balance: Balance
    """All samples that count, without a low-pass, with the fit's window."""
    train: Compressed
    solution: Solution
    seen: WindowedRows
    """The wrench as it was measured at the motion's rate, and the motion as well as it can be known alone."""
    used: BoolArray
    """(samples,): those that the model speaks about: seen, feet in the air, the wheel turning."""
    sources: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Key of `uncertain` -> parameter -> systematic standard deviation."""

    def inside(self, segments: Sequence[Segment]) -> BoolArray:
        """(samples,): used, and in one of these segments."""
        found = np.zeros(len(self.used), dtype=bool)
        for s in segments:
            found[slice(*self.balance.indices(s))] = True
        return found & self.used & np.isfinite(self.seen.rows).all(axis=(1, 2))

    def residuals(self, segments: Sequence[Segment], p: FloatArray | None = None) -> FloatArray:
        """(used samples, rows): measured minus predicted in these segments, N m and N."""
        v = np.append(-self.solution.p if p is None else -p, 1.0)
        return np.asarray(self.seen.rows[self.inside(segments)] @ v, dtype=float)

    def reference(self, segments: Sequence[Segment]) -> FloatArray:
        """(used samples, rows): measured in these segments, N m and N."""
        return self.seen.rows[self.inside(segments)][:, :, -1]


def fit_rolling(inputs: RollingInputs, segments: Mapping[str, Sequence[Segment]], believed: Believed) -> RollingFit:
    """All parameters from the train segments."""
    chosen = tuple(segments["train"])
    balance = inputs.whole()
    train = inputs.compressed(chosen, balance)
    if inputs.filtering.lowpass is not None:
        train, inputs = _weighted(train, inputs, believed)
        balance = replace(balance, weights=train.weights)
    solution = _solve(train, believed)
    if inputs.filtering.lowpass is not None:  # as published, nothing but noise is thought of
        solution = _widened(solution, inputs, chosen, believed, balance)
    seen, used = _looked_at(inputs, balance, solution.p, segments)
    return RollingFit(inputs, chosen, believed, balance, train, solution, seen, used)


def _solve(train: Compressed, believed: Believed, damping: float | None = None) -> Solution:
    prior = believed.prior
    if prior is not None and damping is not None:
        prior = replace(prior, damping=damping)
    return solve(train, prior=prior, factor=believed.factor, known_mass=believed.mass, fixed=believed.fixed)


def _weighted(train: Compressed, inputs: RollingInputs, believed: Believed) -> tuple[Compressed, RollingInputs]:
    """Weights of the rows from what is left of each (feasible generalised least squares); one not wanted stays out."""
    wanted = inputs.sigma < 10 * inputs.sigma.min()
    sigma = inputs.sigma
    for _ in range(TIMES):
        p = _solve(train, replace(believed, prior=None)).p
        left = np.maximum(train.rms(p), 1e-9)
        sigma = np.where(wanted, left, inputs.sigma.max() * left.max())
        train = replace(train, weights=sigma.min() / sigma)
    return train, replace(inputs, sigma=sigma)


def _looked_at(
    inputs: RollingInputs, balance: Balance, p: FloatArray, segments: Mapping[str, Sequence[Segment]]
) -> tuple[WindowedRows, BoolArray]:
    """Rows to predict with, and which samples count."""
    assert balance.used is not None
    everything = (float(balance.times_s[0]), float(balance.times_s[-1]) + 1e-9)
    if inputs.filtering.lowpass is None:
        return WindowedRows(balance.rows(everything), {}), balance.used
    used = balance.used & ~inputs.resting()
    spans = [s for name in ("train", "test") for s in segments[name]]
    stretches: list[BoolArray] = []
    for span in spans:
        inside = np.zeros(len(used), dtype=bool)
        inside[slice(*balance.indices(span))] = True
        stretches.append(inside & used)
    found = windowed_rows(partial(_rows, inputs), p, stretches, order=inputs.filtering.order)
    return found, used


def _rows(inputs: RollingInputs, window: int) -> FloatArray:
    """Rows of all samples with a window of so many samples, NaN where unknown."""
    seen = inputs.whole(window / inputs.rate_hz)
    rows = seen.rows((float(seen.times_s[0]), float(seen.times_s[-1]) + 1e-9))
    assert seen.used is not None
    rows[~seen.used] = np.nan
    return rows


def _widened(
    solution: Solution, inputs: RollingInputs, segments: Sequence[Segment], believed: Believed, balance: Balance
) -> Solution:
    """Intervals that also hold what not knowing clock and zeros does (partitioned least squares).

    One that then reaches as far as the body itself says nothing, as in `solve`.
    """
    squares, motion, rests = np.zeros(len(solution.estimates)), inputs.motion(), inputs.resting()
    for other in inputs.unsure():
        same = other.poses is inputs.poses
        moved = other.compressed(segments, other.with_wrench(balance, motion) if same else None, rests)
        there = _solve(replace(moved, weights=balance.weights), believed, solution.damping)
        squares += _differences(there, solution) ** 2
    critical = solution.uncertainty.critical

    def wider(e: Estimate, more: float, size: float) -> Estimate:
        noise = float(np.hypot(e.noise, more))
        if e.ci95 is not None and critical * noise > VAGUE * size:
            return replace(e, noise=noise, ci95=None, status=Status.NOT_IDENTIFIABLE)
        half = float(np.hypot(critical * noise, 1.96 * e.pull))
        return replace(e, noise=noise, ci95=None if e.ci95 is None else (e.value - half, e.value + half))

    found = zip(solution.estimates, np.sqrt(squares).tolist(), _sizes(solution).tolist(), strict=True)
    return replace(solution, estimates=tuple(wider(*row) for row in found))


def _sizes(solution: Solution) -> FloatArray:
    """(parameters,): of mass, centre of mass and inertia the body's own size; infinite of all else."""
    sizes, p = np.full(len(solution.p), np.inf), solution.p
    for i, parameter in enumerate(solution.model.parameters.values()):
        if parameter.map == "inertia" and parameter.name == "m":
            sizes[i : i + 10] = natural_size(p[i : i + 10])
    return sizes


def _differences(one: Solution, other: Solution) -> FloatArray:
    return np.array([a.value - b.value for a, b in zip(one.estimates, other.estimates, strict=True)])


def refit(
    fit: RollingFit, inputs: RollingInputs, mass: float | None = None, *, damping: float | None = None
) -> Solution:
    """The same fit, same weights and damping (unless another is given), with other inputs."""
    train = replace(inputs.compressed(fit.segments), weights=fit.train.weights)
    believed = fit.believed if mass is None else replace(fit.believed, mass=mass)
    return _solve(train, believed, fit.solution.damping if damping is None else damping)


def solve_as(fit: RollingFit, train: Compressed) -> Solution:
    """Another balance solved as this fit was: same belief, same damping."""
    return _solve(train, fit.believed, fit.solution.damping)


def damping_changes(fit: RollingFit) -> dict[str, dict[str, float]]:
    """By how much parameters change with half and with twice the lambda; empty where there is none."""
    found: dict[str, dict[str, float]] = {}
    if not fit.solution.problem.penalty.damped.any() or not fit.solution.damping > 0:
        return found
    for word, factor in (("halved", 0.5), ("doubled", 2.0)):
        there = _solve(fit.train, fit.believed, factor * fit.solution.damping)
        differences = _differences(there, fit.solution).tolist()
        found[word] = {e.name: d for e, d in zip(fit.solution.estimates, differences, strict=True)}
    return found


def by_data(fit: RollingFit) -> Solution | None:
    """The same data with the prior only as strong as its spread says, where lambda was stated; None elsewhere."""
    prior = fit.believed.prior
    if prior is None or prior.damping is None:
        return None
    return _solve(fit.train, replace(fit.believed, prior=replace(prior, damping=None, form="divergence")))


def rolling_systematic(fit: RollingFit, part: BodyUncertainPart) -> RollingFit:
    """The fit with the systematic standard deviation of every estimate, and what each source does to it."""
    squares: dict[str, FloatArray] = {}
    for source, inputs, mass in _others(fit, part):
        found = _differences(refit(fit, inputs, mass), fit.solution) ** 2
        squares[source] = squares.get(source, np.zeros(len(found))) + found
    names = [e.name for e in fit.solution.estimates]
    total = np.sqrt(sum(squares.values(), np.zeros(len(names)))).tolist()
    estimates = tuple(replace(e, systematic=s) for e, s in zip(fit.solution.estimates, total, strict=True))
    sources = {s: dict(zip(names, np.sqrt(v).tolist(), strict=True)) for s, v in squares.items()}
    return replace(fit, solution=replace(fit.solution, estimates=estimates), sources=sources)


def _others(fit: RollingFit, part: BodyUncertainPart) -> Iterator[tuple[str, RollingInputs, float | None]]:
    """The source's key, inputs, and a mass if it is that, with one thing off by its standard deviation each."""
    inputs = fit.inputs
    if part.load_cell_scale:
        yield "load_cell_scale", replace(inputs, measured=(1 + part.load_cell_scale) * inputs.measured), None
    for i, sensor in enumerate(inputs.sensors):
        for source, moved in _moved(sensor, part):
            yield source, replace(inputs, sensors=(*inputs.sensors[:i], moved, *inputs.sensors[i + 1 :])), None
    if part.clock:
        clock = inputs.clock or ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False)
        yield "clock", inputs.on_clock(replace(clock, offset_s=clock.offset_s + part.clock)), None
    if part.tilt:
        for axis in np.eye(3)[:2]:
            yield "tilt", inputs.tilted(part.tilt * axis), None
    if part.wheel_radius:
        model = with_radius(inputs.model, inputs.rolling.radius + part.wheel_radius)
        yield "wheel_radius", replace(inputs, model=model), None
    if part.mass and fit.believed.mass is not None:
        yield "mass", inputs, fit.believed.mass + part.mass


def _moved(sensor: Sensor, part: BodyUncertainPart) -> Iterator[tuple[str, Sensor]]:
    R, r = sensor.T_body_sensor[:3, :3], sensor.T_body_sensor[:3, 3]
    for axis in np.eye(3):
        if part.sensor_position:
            yield "sensor_position", replace(sensor, T_body_sensor=transform(R, r + part.sensor_position * axis))
        if part.sensor_rotation:
            turn = exp_rotation(part.sensor_rotation * axis)
            yield "sensor_rotation", replace(sensor, T_body_sensor=transform(R @ turn, r))
    if part.sensor_yaw:
        turn = exp_rotation(part.sensor_yaw * np.array([0.0, 0.0, 1.0]))
        yield "sensor_yaw", replace(sensor, T_body_sensor=transform(R @ turn, r))
