"""Fitting: shapes, stops, weights of the rows and parameters; and the same procedure again with other inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.stage.inputs import (
    AT_STOP,
    UNWANTED,
    Inputs,
    Moved,
    compressed,
    fit_balance,
    move,
    whole_balance,
    with_wrench,
)
from palpate.experiment.stage.prediction import Prediction, predict
from palpate.identify import Balance, Compressed, MotionNoise, Solution, robust, solve
from palpate.identify.balance import Segment
from palpate.identify.shapes import Shaped, fit_shapes
from palpate.identify.solution import VAGUE, Estimate, Status, natural_size
from palpate.physics.arrays import BoolArray, FloatArray, least_squares

Tell = Callable[[str], None]
"""Called with the name of each step as it begins."""
TIMES = 3
"""Rows are weighted by the errors that the fit before left, so many times."""
QUASI_STATIC = {"rad": 0.02, "m": 0.01}
"""rad/s (paper, Door), m/s: slower is quasi-static."""
BIN, FARTHEST, DENT = 0.5, 15.0, 3.0
"""Steps (`STEP`) in which contact near a stop is looked for, and how far; a seal gives way by a step or two."""
WORSE = 4.0
"""RMS of the residual near an end of the travel, over that of the middle, from which it is contact."""
MUCH, MUCH_BETTER = 0.025, 0.5
"""Share of a row's range, and of the other fit's RMS, that raise and confirm the suspicion of contact."""
FEWEST, MOST_TIMES = 5, 4


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How parameters come out of a balance, so that it can be done again with other inputs."""

    segments: tuple[Segment, ...]
    """Of the fit."""
    quasi_static: tuple[Segment, ...] | None = None
    """Where the spring comes from in the paper's two steps; None: all at once."""
    robust: bool = False
    """Whether pieces that do not fit count less."""


@dataclass(frozen=True, slots=True, eq=False)
class QuasiStatic:
    """A spring from slow samples, and how well they know it."""

    values: dict[str, float]
    free: tuple[str, ...]
    """Those that were not fixed."""
    covariance: FloatArray
    """(free, free), from the scatter between consecutive stretches."""

    def moved(self) -> list[dict[str, float]]:
        """The values moved by one standard deviation along each principal axis of their covariance."""
        sizes, axes = np.linalg.eigh(self.covariance)
        return [
            self.values | {n: self.values[n] + float(s * a) for n, a in zip(self.free, axis, strict=True)}
            for s, axis in zip(np.sqrt(np.maximum(sizes, 0.0)), axes.T, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """An identified object and what it was identified from."""

    inputs: Inputs
    """With the shapes and stops that were found."""
    plan: Plan
    moved: Moved
    balance: Balance
    """All samples that count, without a low-pass, with the fit's window."""
    noise: MotionNoise | None
    train: Compressed
    outlying: FloatArray
    """(pieces,): weights that a robust fit gives the pieces, whether they are used or not."""
    solution: Solution
    shaped: Shaped | None
    """None where no shape was to be estimated."""
    spring: QuasiStatic | None
    """Of the first of two steps."""
    prediction: Prediction
    sources: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Key of `uncertain` -> parameter -> systematic standard deviation."""

    @property
    def p(self) -> FloatArray:
        """The parameters in column order."""
        return self.solution.p

    def residuals(self, segments: Sequence[Segment] | None = None) -> FloatArray:
        """(used samples, rows): measured minus predicted in these segments, or those of the fit, N and N m."""
        return self.prediction.residuals(self.plan.segments if segments is None else segments, self.p)

    def reference(self, segments: Sequence[Segment] | None = None) -> FloatArray:
        """(used samples, rows): measured in these segments, or those of the fit, N and N m."""
        return self.prediction.reference(self.plan.segments if segments is None else segments)

    @property
    def level(self) -> FloatArray:
        """(rows,): RMS of what is left in the segments of the fit."""
        left = self.residuals()
        return np.sqrt(np.mean(left**2, axis=0)) if len(left) else np.ones(len(self.inputs.mechanism.rows))

    def again(self, inputs: Inputs, *, damping: float | None = None) -> tuple[Compressed, Solution]:
        """The same procedure with other inputs; same weights of the rows, same damping unless another is given."""
        moved, balance = self._moved(inputs)
        spring = quasi_static_spring(inputs, balance, self.plan)
        train = replace(compressed(inputs, moved, self.plan.segments, balance), weights=self.train.weights)
        chosen = self.solution.damping if damping is None else damping
        values = None if spring is None else spring.values
        return train, solve_with(inputs, train, values, chosen, start=self.solution.theta)

    def _moved(self, inputs: Inputs) -> tuple[Moved, Balance]:
        """Only what the other inputs change is computed anew."""
        ours = self.inputs
        same_path = inputs.q is ours.q and inputs.imu is ours.imu and inputs.filtering is ours.filtering
        same_path &= inputs.imu is None or inputs.clock is ours.clock
        if same_path and inputs.mechanism is ours.mechanism and inputs.stops == ours.stops:
            if inputs.model is ours.model:
                return self.moved, with_wrench(inputs, self.balance, self.moved)
            return self.moved, whole_balance(inputs, self.moved)
        moved = move(inputs, resting=self.moved.resting if inputs.q.shape == ours.q.shape else None)
        return moved, whole_balance(inputs, moved)


def solve_with(
    inputs: Inputs,
    train: Compressed,
    fixed: Mapping[str, float] | None = None,
    damping: float | None = None,
    *,
    start: FloatArray | None = None,
) -> Solution:
    """Solve with what is believed before; `fixed` besides, and this damping instead of the prior's.

    start: theta of a fit to nearly the same data.
    """
    b = inputs.belief
    prior = b.prior if b.prior is None or damping is None else replace(b.prior, damping=damping)
    given = {**(fixed or {}), **b.fixed}
    return solve(train, prior=prior, factor=b.factor, known_mass=b.mass, fixed=given, start=start)


def fit_inputs(
    inputs: Inputs,
    segments: Mapping[str, Sequence[Segment]],
    plan: Plan,
    *,
    noise: Callable[[Balance], MotionNoise | None] = lambda _: None,
    find_contact: bool = False,
    tell: Tell = lambda _: None,
) -> Fit:
    """Fit the plan's segments.

    noise: of the motion, by the balance of the fit. find_contact: stops are moved inwards as far as something pushes
    back near the ends of the travel that the model lacks.
    """

    def fitted(stops: tuple[float, float] | None) -> Fit:
        return _fit(replace(inputs, stops=stops), segments, plan, noise, tell)

    fit = fitted(inputs.stops)
    if not find_contact:
        return fit
    if _suspicious(fit):  # contact may spoil the fit so much that it cannot be seen in it
        position = _travel(fit)
        inner = (float(position.min()) + DENT * inputs.step, float(position.max()) - DENT * inputs.step)
        fit = _better(fit, fitted(inner))
    for _ in range(MOST_TIMES):
        stops = _inner_stops(fit)
        if stops is None:
            break
        fit = fitted(stops)
    return fit


def _fit(
    inputs: Inputs,
    segments: Mapping[str, Sequence[Segment]],
    plan: Plan,
    noise_of: Callable[[Balance], MotionNoise | None],
    tell: Tell,
) -> Fit:
    moved = move(inputs)
    shaped = None
    if plan.quasi_static is None and any(s.free for e in inputs.model.elements for s in e.shapes):
        tell("looking for the zones")
        shaped = _shapes_in_data(fit_balance(inputs, moved), plan.segments)
        inputs = inputs.with_model(shaped.model)
    balance = whole_balance(inputs, moved)
    noise = noise_of(fit_balance(inputs, moved, balance))
    tell("compressing")
    train = compressed(inputs, moved, plan.segments, balance, noise)
    weighed = robust(train)
    train = weighed.compressed if plan.robust else train
    spring = quasi_static_spring(inputs, balance, plan)
    fixed = None if spring is None else spring.values
    if inputs.sigma is None and len(inputs.mechanism.rows) > 1 and not inputs.filtering.published:
        train = _weighted(inputs, train, fixed)
        balance = replace(balance, weights=train.weights)
    solution = solve_with(inputs, train, fixed)
    prediction = predict(inputs, moved, balance, solution.p, segments)
    return Fit(inputs, plan, moved, balance, noise, train, weighed.weights, solution, shaped, spring, prediction)


def _weighted(inputs: Inputs, train: Compressed, fixed: Mapping[str, float] | None) -> Compressed:
    """Weights of the rows from what is left of each (feasible generalised least squares); unwanted ones stay out."""
    unwanted = np.array([row.name in inputs.unwanted for row in inputs.mechanism.rows])
    free = replace(inputs, belief=replace(inputs.belief, prior=None))
    for _ in range(TIMES):
        left = np.maximum(train.rms(solve_with(free, train, fixed).p), 1e-9)
        sigma = np.where(unwanted, UNWANTED * left.max(), left)
        train = replace(train, weights=sigma.min() / sigma)
    return train


def _shapes_in_data(balance: Balance, segments: Sequence[Segment]) -> Shaped:
    """The shapes that the data tell; the others stay as given, unless the data speak against that."""
    found = fit_shapes(balance, segments)
    given = balance.model.shapes
    lost = [p for p in found.profiles if p.interval is None and p.hull[0] <= given[p.name] <= p.hull[1]]
    if not lost:
        return found
    again = fit_shapes(balance, segments, held=[p.name for p in lost])
    kept = {p.name: p for p in again.profiles} | {p.name: p.held_at(given[p.name]) for p in lost}
    return replace(again, profiles=tuple(kept[p.name] for p in found.profiles))


def quasi_static_spring(inputs: Inputs, balance: Balance, plan: Plan) -> QuasiStatic | None:
    """Coefficients of the only element that stores energy, from slow samples (paper, eq. tau_spring); None: one step.

    The row over the spring's first column (-tau / nu of a closer) is fitted by the columns over it (powers of the
    angle); coefficients that are fixed keep their values, and the others follow.
    """
    if plan.quasi_static is None:
        return None
    springs = [e for e in inputs.model.elements if e.stores]
    main = inputs.mechanism.main
    if len(springs) != 1 or main is None:
        others = f": {', '.join(e.name for e in springs)}" if springs else ""
        raise DataProblem(
            "two-step",
            f"it needs one spring alone, the object has {len(springs)}{others}",
            remedy="write procedure: joint",
        )
    if not plan.quasi_static:
        raise DataProblem(
            "two-step",
            "there is no quasi-static segment to take the spring from",
            remedy="give segments.quasi_static, or procedure: joint",
        )
    names = list(inputs.model.parameters)
    columns = [names.index(n) for n in inputs.model.names_of(springs[0])]
    known = balance if balance.used is None else replace(balance, used=None)
    rows = np.concatenate([known.rows(s)[:, 0] for s in plan.quasi_static])
    at = np.concatenate([np.arange(*balance.indices(s)) for s in plan.quasi_static])
    speed, limit = (
        np.asarray(balance.kinematics.coordinates[main].speed)[at],
        QUASI_STATIC[inputs.mechanism.coordinates[main]],
    )
    slow = np.isfinite(rows).all(axis=1) & (np.abs(speed) < limit)
    if slow.sum() < 10 * len(columns):
        raise DataProblem(
            "two-step", f"only {slow.sum()} samples of segments.quasi_static are slower than {limit:g} rad/s"
        )
    unit = rows[slow][:, columns[0]]
    powers, y = rows[slow][:, columns] / unit[:, None], rows[slow, -1] / unit
    fixed = inputs.belief.fixed
    held = np.array([names[i] in fixed for i in columns])
    given = np.array([fixed.get(names[i], 0.0) for i in columns])
    X, y = powers[:, ~held], y - powers @ given
    c = least_squares(X, y)
    free = tuple(names[i] for i, h in zip(columns, held, strict=True) if not h)
    values = {names[i]: float(v) for i, v in zip(columns, given, strict=True)} | dict(
        zip(free, c.tolist(), strict=True)
    )
    return QuasiStatic(values, free, _clustered(X, y - X @ c))


def _clustered(X: FloatArray, residual: FloatArray, pieces: int = 20) -> FloatArray:
    """Sandwich covariance of least squares with consecutive stretches as clusters (Liang & Zeger 1986)."""
    bread = np.linalg.pinv(X)
    parts = np.array_split(np.arange(len(X)), pieces)
    pulls = np.array([bread[:, part] @ residual[part] for part in parts])
    return np.asarray(pulls.T @ pulls * pieces / (pieces - 1), dtype=float)


def widened(fit: Fit, squares: Mapping[str, float]) -> Solution:
    """The solution with the variances `squares` (parameter -> unit^2) added to its noise.

    What was estimated beside the parameters is noise too: Cov p = Cov(p | z) + dp/dz Cov z dp/dz' (partitioned least
    squares). An interval that then reaches as far as the body itself says nothing, as in `solve`.
    """
    solution, spring = fit.solution, () if fit.spring is None else fit.spring.free
    critical, sizes = solution.uncertainty.critical, _sizes(solution)

    def wider(e: Estimate, size: float) -> Estimate:
        noise = float(np.hypot(e.noise, np.sqrt(squares[e.name])))
        half = float(np.hypot(critical * noise, 1.96 * e.pull))
        interval = (e.value - half, e.value + half)
        if e.name in spring:  # fixed in the second step, but estimated in the first
            return replace(e, noise=noise, ci95=interval, status=Status.IDENTIFIED)
        if e.status is Status.FIXED:
            return e
        if e.ci95 is not None and critical * noise > VAGUE * size:
            return replace(e, noise=noise, ci95=None, status=Status.NOT_IDENTIFIABLE)
        return replace(e, noise=noise, ci95=None if e.ci95 is None else interval)

    pairs = zip(solution.estimates, sizes.tolist(), strict=True)
    return replace(solution, estimates=tuple(wider(e, size) for e, size in pairs))


def damping_changes(fit: Fit) -> dict[str, dict[str, float]]:
    """By how much parameters change with half and with twice the lambda; empty where there is none."""
    changes: dict[str, dict[str, float]] = {}
    if not fit.solution.problem.penalty.damped.any() or not fit.solution.damping > 0:
        return changes
    for word, factor in (("halved", 0.5), ("doubled", 2.0)):
        there = solve_with(fit.inputs, fit.train, damping=factor * fit.solution.damping)
        changes[word] = {e.name: there[e.name].value - e.value for e in fit.solution.estimates}
    return changes


def _sizes(solution: Solution) -> FloatArray:
    """(parameters,): of mass, centre of mass and inertia the body's own size; infinite of all else."""
    sizes, p = np.full(len(solution.p), np.inf), solution.p
    for i, parameter in enumerate(solution.model.parameters.values()):
        if parameter.map == "inertia" and parameter.name == "m":
            sizes[i : i + 10] = natural_size(p[i : i + 10])
    return sizes


def _travel(fit: Fit, used: BoolArray | None = None) -> FloatArray:
    """The main coordinate where it was seen, or of the used samples of the fit."""
    assert fit.inputs.main is not None
    position = fit.inputs.q[:, fit.inputs.main]
    return position[np.isfinite(position)] if used is None else position[fit.prediction.at[used]]


def _suspicious(fit: Fit) -> bool:
    """Whether a fit leaves so much that something strong may be missing in it."""
    left, measured = fit.residuals(), fit.reference()
    return bool(len(left) and np.sqrt(np.mean(left**2)) > MUCH * np.ptp(measured))


def _better(fit: Fit, other: Fit) -> Fit:
    """The other, between closer stops, if it explains what both have seen far better; else the first."""
    position, left = _travel(fit, fit.prediction.inside(fit.plan.segments)), fit.residuals()
    there, less = _travel(other, other.prediction.inside(other.plan.segments)), other.residuals()
    low, high = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
    both = left[(position >= low) & (position <= high)]
    if len(less) < 200 or len(both) == 0:
        return fit
    return other if np.mean(less**2) < MUCH_BETTER**2 * np.mean(both**2) else fit


def _inner_stops(fit: Fit) -> tuple[float, float] | None:
    """Stops farther in, where the residual near an end of the travel stands far out of the rest; None: as they are."""
    position, residual = _travel(fit, fit.prediction.inside(fit.plan.segments)), fit.residuals()[:, 0]
    if len(position) < 200:
        return None
    low, high = float(position.min()), float(position.max())
    middle = (position > low + 0.25 * (high - low)) & (position < high - 0.25 * (high - low))
    if middle.sum() < 50:
        return None
    limit, step = WORSE * float(np.sqrt(np.mean(residual[middle] ** 2))), fit.inputs.step
    at_low, at_high = (_reach(away / step, residual, limit) for away in (position - low, high - position))
    if at_low == 0 and at_high == 0:
        return None
    return low + (at_low - AT_STOP) * step, high - (at_high - AT_STOP) * step


def _reach(away: FloatArray, residual: FloatArray, limit: float) -> float:
    """How far from an end, in steps, bins stand out without a break; 0: not at all."""
    reach = 0.0
    for i in range(1, round(FARTHEST / BIN)):
        outer = i * BIN
        inside = (away >= outer - BIN) & (away < outer)
        if inside.sum() < FEWEST:
            continue
        if float(np.sqrt(np.mean(residual[inside] ** 2))) < limit:
            break
        reach = outer
    return reach
