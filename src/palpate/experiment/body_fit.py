"""Fitting an object on a hinge: all segments at once, or first the spring and then the rest, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements import PolynomialSpring
from palpate.errors import DataProblem
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.experiment.telling import Tell
from palpate.identify import Balance, Compressed, Solution, compress, solve
from palpate.identify.balance import Segment
from palpate.identify.shapes import Shaped, fit_shapes
from palpate.identify.solution import Estimate
from palpate.motion.adaptive import WindowedMotion
from palpate.motion.derivatives import AngleMotion
from palpate.physics.arrays import BoolArray, FloatArray, least_squares
from palpate.physics.functions import ARRAYS

QUASI_STATIC_RAD_S = 0.02
"""Slower is quasi-static (paper, Door)."""


@dataclass(frozen=True, slots=True, eq=False)
class BodyFit:
    """An identified object and what it was identified from."""

    inputs: HingeInputs
    """With the shapes that were found."""
    segments: tuple[Segment, ...]
    """Of the fit."""
    balance: Balance
    shaped: Shaped | None
    """None where no shape was to be estimated."""
    train: Compressed
    solution: Solution
    prediction: Balance
    """The wrench as it was measured at the motion's rate, not smoothed further, and ..."""
    motion: AngleMotion | WindowedMotion
    """... the motion as well as it can be known alone."""

    @property
    def whole(self) -> Segment:
        """The whole recording."""
        times = self.prediction.times_s
        return float(times[0]), float(times[-1]) + 1e-9

    def residuals(self, segments: Sequence[Segment], p: FloatArray | None = None) -> FloatArray:
        """(used samples,): measured minus predicted torque in these segments, N m."""
        v = np.append(-self.solution.p if p is None else -p, 1.0)
        parts = [self.prediction.rows(s)[_used(self.prediction, s), 0] @ v for s in segments]
        return np.concatenate(parts) if parts else np.zeros(0)

    def used(self, segment: Segment) -> BoolArray:
        """(samples of a segment,): those of the prediction that count."""
        return _used(self.prediction, segment)

    def reference(self, segments: Sequence[Segment]) -> FloatArray:
        """(used samples,): the measured torque in these segments, N m."""
        return np.concatenate([self.prediction.rows(s)[_used(self.prediction, s), 0, -1] for s in segments])


def fit_joint(
    inputs: HingeInputs,
    segments: Mapping[str, Sequence[Segment]],
    *,
    fixed: Mapping[str, float] | None = None,
    tell: Tell = lambda _: None,
) -> BodyFit:
    """All parameters and free shapes from the quasi-static and the train segments together."""
    chosen = (*segments["quasi_static"], *segments["train"])
    balance = inputs.balance()
    shaped = None
    if any(s.free for e in inputs.model.elements for s in e.shapes):
        tell("looking for the zones")
        shaped = _shapes_in_data(balance, chosen)
        inputs = inputs.with_model(shaped.model)
        balance = replace(balance, model=shaped.model)
    tell("solving")
    train = compress(balance, chosen)
    solution = _widened(solve(train, fixed=fixed), shaped, inputs, chosen, fixed)
    motion = inputs.windowed(moving(segments))
    return BodyFit(inputs, chosen, balance, shaped, train, solution, inputs.prediction(motion), motion)


def _shapes_in_data(balance: Balance, segments: Sequence[Segment]) -> Shaped:
    """The shapes that the data tell; the others stay as given, unless the data speak against that."""
    found = fit_shapes(balance, segments)
    given = balance.model.shapes
    lost = [p for p in found.profiles if p.interval is None and p.hull[0] <= given[p.name] <= p.hull[1]]
    if not lost:
        return found
    again = fit_shapes(balance, segments, held=[p.name for p in lost])
    kept = {p.name: p for p in again.profiles}
    for p in lost:
        factor, unit = (180 / np.pi, "deg") if p.unit == "rad" else (1.0, p.unit)
        told = f"{p.told}; it stays as given, {factor * given[p.name]:.3g} {unit}" if p.told else ""
        kept[p.name] = replace(p, value=given[p.name], told=told)
    return replace(again, profiles=tuple(kept[p.name] for p in found.profiles))


def fit_two_steps(
    inputs: HingeInputs, segments: Mapping[str, Sequence[Segment]], *, fixed: Mapping[str, float] | None = None
) -> BodyFit:
    """The paper's way: the spring from slow samples, then everything else from the train segments; shapes as given."""
    balance = inputs.balance(published=inputs.filtering.lowpass is None)
    spring = quasi_static_spring(balance, segments["quasi_static"])
    train = compress(balance, segments["train"])
    solution = solve(train, fixed={**spring, **(fixed or {})})
    if inputs.filtering.lowpass is None:
        return BodyFit(inputs, tuple(segments["train"]), balance, None, train, solution, balance, inputs.derivatives())
    motion = inputs.windowed(moving(segments))
    return BodyFit(inputs, tuple(segments["train"]), balance, None, train, solution, inputs.prediction(motion), motion)


def moving(segments: Mapping[str, Sequence[Segment]]) -> dict[str, Sequence[Segment]]:
    """The segments in which the object is moved, train first."""
    return {name: segments[name] for name in ("train", "test", "quasi_static")}


def quasi_static_spring(balance: Balance, segments: Sequence[Segment]) -> dict[str, float]:
    """Coefficients of the polynomial spring through -tau / nu of slow samples (paper, eq. tau_spring)."""
    springs = [e for e in balance.model.elements if isinstance(e, PolynomialSpring)]
    if len(springs) != 1:
        raise DataProblem("two-step", f"it needs one polynomial spring, the object has {len(springs)}")
    if not segments:
        raise DataProblem(
            "two-step",
            "there is no quasi-static segment to take the spring from",
            remedy="give segments.quasi_static, or procedure: joint",
        )
    spring = springs[0]
    at = np.concatenate([np.arange(*balance.indices(s)) for s in segments])
    hinge = next(iter(balance.kinematics.coordinates.values()))
    driven = balance.kinematics.coordinates[spring.acts_on]
    position, speed = np.asarray(driven.position)[at], np.asarray(hinge.speed)[at]
    ratio = np.broadcast_to(np.asarray(driven.ratio[0]), (len(balance.times_s),))[at]
    torque = np.asarray(balance.model.mechanism.project(balance.kinematics, list(balance.wrench.T), ARRAYS)[0])[at]
    slow = np.isfinite(position + speed + torque) & (np.abs(speed) < QUASI_STATIC_RAD_S)
    if slow.sum() < 10 * (spring.order + 1):
        raise DataProblem("two-step", f"only {slow.sum()} samples of segments.quasi_static are slower than 0.02 rad/s")
    powers = np.vander(position[slow] - spring.reference, spring.order + 1, increasing=True)
    c = least_squares(powers, -torque[slow] / ratio[slow])
    return {p.name: float(v) for p, v in zip(spring.parameters, c, strict=True)}


def _used(balance: Balance, segment: Segment) -> BoolArray:
    start, stop = balance.indices(segment)
    return np.ones(stop - start, dtype=bool) if balance.used is None else balance.used[start:stop]


def _widened(
    solution: Solution,
    shaped: Shaped | None,
    inputs: HingeInputs,
    segments: Sequence[Segment],
    fixed: Mapping[str, float] | None,
) -> Solution:
    """Intervals that also hold what not knowing shapes, clock and preload does to the parameters.

    What they were estimated from is noise too: Cov p = Cov(p | z) + dp/dz Cov z dp/dz' (partitioned least squares).
    """
    squares = np.zeros(len(solution.p)) if shaped is None else np.maximum(np.diag(shaped.widening), 0.0)
    for other in inputs.unsure():
        squares = squares + (solve(compress(other.balance(), segments), fixed=fixed).p - solution.p) ** 2
    critical = solution.uncertainty.critical

    def wider(e: Estimate, more: float) -> Estimate:
        noise = float(np.hypot(e.noise, more))
        half = critical * noise
        return replace(e, noise=noise, ci95=None if e.ci95 is None else (e.value - half, e.value + half))

    pairs = zip(solution.estimates, np.sqrt(squares).tolist(), strict=True)
    return replace(solution, estimates=tuple(wider(e, more) for e, more in pairs))
