"""Fitting an object on a hinge: all segments at once, or first the spring and then the rest, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements import Gravity, PolynomialSpring, Table
from palpate.errors import DataProblem
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.experiment.telling import Tell
from palpate.identify import Balance, Compressed, Solution, compress, solve
from palpate.identify.balance import Segment
from palpate.identify.shapes import Shaped, fit_shapes
from palpate.identify.solution import Estimate, Status
from palpate.motion.derivatives.differentiate import CoordinateMotion
from palpate.physics.arrays import BoolArray, FloatArray, least_squares
from palpate.physics.functions import ARRAYS

QUASI_STATIC_RAD_S = 0.02
"""Slower is quasi-static (paper, Door)."""


@dataclass(frozen=True, slots=True, eq=False)
class Procedure:
    """How parameters come out of a balance, so that it can be done again with other inputs."""

    segments: tuple[Segment, ...]
    """Of the fit."""
    quasi_static: tuple[Segment, ...] | None
    """Where the spring comes from in the paper's two steps; None: all at once."""
    fixed: Mapping[str, float]

    def balance(self, inputs: HingeInputs) -> Balance:
        """As this way wants it: published, no sample is left out."""
        return inputs.balance(published=self.quasi_static is not None and inputs.filtering.lowpass is None)

    def spring(self, balance: Balance) -> QuasiStatic | None:
        """The first of two steps."""
        return None if self.quasi_static is None else quasi_static_spring(balance, self.quasi_static, self.fixed)

    def solve(self, balance: Balance, spring: Mapping[str, float] | None = None) -> tuple[Compressed, Solution]:
        """The compressed segments and their solution; `spring` instead of that of the first step."""
        found = self.spring(balance) if spring is None else None
        values = (spring or {}) if found is None else found.values
        train = compress(balance, self.segments)
        return train, solve(train, fixed={**values, **self.fixed})


@dataclass(frozen=True, slots=True, eq=False)
class BodyFit:
    """An identified object and what it was identified from."""

    inputs: HingeInputs
    """With the shapes that were found."""
    how: Procedure
    balance: Balance
    shaped: Shaped | None
    """None where no shape was to be estimated."""
    train: Compressed
    solution: Solution
    prediction: Balance
    """The wrench as it was measured at the motion's rate, not smoothed further, and ..."""
    motion: CoordinateMotion
    """... the motion as well as it can be known alone."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Of the fit."""
        return self.how.segments

    def again(self, inputs: HingeInputs) -> tuple[Compressed, Solution]:
        """The same procedure with other inputs."""
        return self.how.solve(self.how.balance(inputs))

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
    how = Procedure((*segments["quasi_static"], *segments["train"]), None, dict(fixed or {}))
    shaped = None
    if any(s.free for e in inputs.model.elements for s in e.shapes):
        tell("looking for the zones")
        shaped = _shapes_in_data(inputs.balance(), how.segments)
        inputs = inputs.with_model(shaped.model)
    tell("solving")
    return _fitted(inputs, segments, how, shaped)


def fit_two_steps(
    inputs: HingeInputs, segments: Mapping[str, Sequence[Segment]], *, fixed: Mapping[str, float] | None = None
) -> BodyFit:
    """The paper's way: the spring from slow samples, then everything else from the train segments; shapes as given."""
    how = Procedure(tuple(segments["train"]), tuple(segments["quasi_static"]), dict(fixed or {}))
    return _fitted(inputs, segments, how, None)


def _fitted(
    inputs: HingeInputs, segments: Mapping[str, Sequence[Segment]], how: Procedure, shaped: Shaped | None
) -> BodyFit:
    balance = how.balance(inputs)
    train, solution = how.solve(balance)
    solution = _widened(solution, how, shaped, inputs)
    if inputs.filtering.lowpass is None:
        return BodyFit(inputs, how, balance, shaped, train, solution, balance, inputs.derivatives())
    motion = inputs.windowed(moving(segments))
    return BodyFit(inputs, how, balance, shaped, train, solution, inputs.prediction(motion), motion)


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
        told = f"{p.message}; it stays as given, {factor * given[p.name]:.3g} {unit}" if p.message else ""
        kept[p.name] = replace(p, value=given[p.name], told=told)
    return replace(again, profiles=tuple(kept[p.name] for p in found.profiles))


def moving(segments: Mapping[str, Sequence[Segment]]) -> dict[str, Sequence[Segment]]:
    """The segments in which the object is moved, train first."""
    return {name: segments[name] for name in ("train", "test", "quasi_static")}


@dataclass(frozen=True, slots=True, eq=False)
class QuasiStatic:
    """A spring from slow samples, and how well they know it."""

    values: dict[str, float]
    covariance: FloatArray
    """(coefficients that were free, the same), from the scatter between consecutive stretches."""
    free: tuple[str, ...]


def quasi_static_spring(
    balance: Balance, segments: Sequence[Segment], fixed: Mapping[str, float] | None = None
) -> QuasiStatic:
    """Coefficients of the polynomial spring through -tau / nu of slow samples (paper, eq. tau_spring).

    `fixed` coefficients keep their values, and the others follow.
    """
    springs = [e for e in balance.model.elements if isinstance(e, PolynomialSpring)]
    others = [e.name for e in balance.model.elements if isinstance(e, Gravity | Table)]
    if len(springs) != 1 or others:
        told = (
            f"it needs one polynomial spring alone, the object has {len(springs)}{''.join(f' and {o}' for o in others)}"
        )
        raise DataProblem("two-step", told, remedy="procedure: joint fits everything")
    if not segments:
        raise DataProblem(
            "two-step",
            "there is no quasi-static segment to take the spring from",
            remedy="give segments.quasi_static, or procedure: joint",
        )
    spring, fixed = springs[0], fixed or {}
    at = np.concatenate([np.arange(*balance.indices(s)) for s in segments])
    hinge = next(iter(balance.kinematics.coordinates.values()))
    driven = balance.kinematics.coordinates[spring.acts_on]
    position, speed = np.asarray(driven.position)[at], np.asarray(hinge.speed)[at]
    ratio = np.broadcast_to(np.asarray(driven.ratio[0]), (len(balance.times_s),))[at]
    torque = np.asarray(balance.model.mechanism.project(balance.kinematics, list(balance.wrench.T), ARRAYS)[0])[at]
    slow = np.isfinite(position + speed + torque) & (np.abs(speed) < QUASI_STATIC_RAD_S)
    if slow.sum() < 10 * (spring.order + 1):
        raise DataProblem("two-step", f"only {slow.sum()} samples of segments.quasi_static are slower than 0.02 rad/s")
    names = [p.name for p in spring.parameters]
    powers = np.vander(position[slow] - spring.reference, spring.order + 1, increasing=True)
    known = np.array([name in fixed for name in names])
    given = np.array([fixed.get(name, 0.0) for name in names])
    y, X = -torque[slow] / ratio[slow] - powers @ given, powers[:, ~known]
    c = least_squares(X, y)
    values = dict(zip(names, given, strict=True)) | dict(zip(np.array(names)[~known].tolist(), c.tolist(), strict=True))
    return QuasiStatic(values, _clustered(X, y - X @ c), tuple(np.array(names)[~known].tolist()))


def _clustered(X: FloatArray, residual: FloatArray, pieces: int = 20) -> FloatArray:
    """Sandwich covariance of least squares with consecutive stretches as clusters (Liang & Zeger 1986)."""
    bread = np.linalg.pinv(X)
    parts = np.array_split(np.arange(len(X)), pieces)
    pulls = np.array([bread[:, part] @ residual[part] for part in parts])
    return np.asarray(pulls.T @ pulls * pieces / (pieces - 1), dtype=float)


def _used(balance: Balance, segment: Segment) -> BoolArray:
    start, stop = balance.indices(segment)
    return np.ones(stop - start, dtype=bool) if balance.used is None else balance.used[start:stop]


def _widened(solution: Solution, how: Procedure, shaped: Shaped | None, inputs: HingeInputs) -> Solution:
    """Intervals that also hold what not knowing shapes, clock, preload and, in two steps, the spring does to the rest.

    What they were estimated from is noise too: Cov p = Cov(p | z) + dp/dz Cov z dp/dz' (partitioned least squares).
    """
    squares = {e.name: 0.0 for e in solution.estimates}
    if shaped is not None:
        for name, more in zip(solution.model.parameters, np.diag(shaped.widening).tolist(), strict=True):
            squares[name] = max(more, 0.0) if name in squares else 0.0
    spring = how.spring(how.balance(inputs))
    others = [how.solve(how.balance(other))[1] for other in inputs.unsure()]
    if spring is not None and len(spring.free):
        values, axes = np.linalg.eigh(spring.covariance)
        for size, axis in zip(np.sqrt(np.maximum(values, 0.0)), axes.T, strict=True):
            moved = {n: spring.values[n] + float(size * a) for n, a in zip(spring.free, axis, strict=True)}
            others.append(how.solve(how.balance(inputs), spring.values | moved)[1])
    for other in others:
        for e in other.estimates:
            squares[e.name] += (e.value - solution[e.name].value) ** 2
    known = () if spring is None else spring.free
    critical = solution.uncertainty.critical
    return replace(
        solution,
        estimates=tuple(_wider(e, squares[e.name], critical, told=e.name in known) for e in solution.estimates),
    )


def _wider(e: Estimate, more: float, critical: float, *, told: bool) -> Estimate:
    """An estimate whose noise has grown by a variance; `told`: fixed in this step, but estimated in one before."""
    noise = float(np.hypot(e.noise, np.sqrt(more)))
    half = float(np.hypot(critical * noise, 1.96 * e.pull))
    if told:
        return replace(e, noise=noise, ci95=(e.value - half, e.value + half), status=Status.IDENTIFIED)
    if e.status is Status.FIXED:
        return e
    return replace(e, noise=noise, ci95=None if e.ci95 is None else (e.value - half, e.value + half))
