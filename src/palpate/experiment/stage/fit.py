"""Fitting: shapes, stops, weights of the rows, parameters, rows to predict with; and the same with other inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.stage import inputs as stage_inputs
from palpate.experiment.stage.contact import LEAST_SEEN, Contact, clear_of_contact, farther_out
from palpate.experiment.stage.inputs import (
    Inputs,
    Moved,
    bent,
    body_wrench,
    compressed,
    compressed_each,
    fit_balance,
    move,
    whole_balance,
)
from palpate.experiment.stage.series import lead
from palpate.identify import Balance, Compressed, MotionNoise, Solution, robust, solve
from palpate.identify.balance import Segment
from palpate.identify.shapes import Shaped, fit_shapes
from palpate.identify.solution import VAGUE, Believed, Estimate, Status, natural_size, solve_p, solve_values
from palpate.model import Model
from palpate.motion.extrinsics import Placement
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, rms, segment_mask
from palpate.progress import Tell, silent

LONGEST_S = 0.7
"""Of the windows that are compared."""
COUNT = 16
"""Of windows; each is about a sixth longer than the one before."""
PREDICTED_PIECE_S = 10.0
"""Rows of an IMU's motion are made in pieces of this length: a long segment at a load cell's rate fills the memory."""
MOST_PREDICTED = 60_000
"""Samples of an IMU's motion that are predicted."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Rows [Y | y] at some samples of the reference clock."""

    at: NDArray[np.int64]
    """(n,): indices of the samples."""
    times_s: FloatArray
    """(n,)."""
    rows: FloatArray
    """(n, rows, parameters + 1); NaN where not known."""
    used: BoolArray
    """(n,): known, and the model speaks about it: it moves freely."""
    windows_s: Mapping[str, tuple[float, ...]]
    """Kind of segment -> the window of each row, where they were chosen."""
    segments: Mapping[str, Sequence[Segment]]
    """That it was made for."""

    def inside(self, segments: Sequence[Segment]) -> BoolArray:
        """(n,): used, and in one of these segments."""
        return self.used & segment_mask(self.times_s, segments)


def predict(
    inputs: Inputs,
    moved: Moved,
    balance: Balance,
    p: FloatArray,
    segments: Mapping[str, Sequence[Segment]],
    near: Prediction | None = None,
) -> Prediction:
    """The rows of all samples that were seen, windows chosen for the parameters p; balance: the whole one.

    near: of nearly the same inputs, beside whose windows these are looked for.
    """
    if inputs.imu is not None:
        return _in_band(inputs, moved, balance, segments)
    times, rate, used = inputs.times_s, inputs.rate_hz, balance.used
    assert used is not None
    at, everything = np.arange(len(times)), (float(times[0]), float(times[-1]) + 0.5 / rate)
    if inputs.filtering.published:
        rows = balance.rows(everything)
        return Prediction(at, times, rows, used & np.isfinite(rows).all(axis=(1, 2)), {}, segments)

    used = used & ~moved.resting
    kinds = {kind: segment_mask(times, spans) & used for kind, spans in segments.items() if kind != "static" and spans}
    shortest, count = inputs.filtering.order + 3 - inputs.filtering.order % 2, len(inputs.mechanism.rows)
    shortest -= 0 if inputs.smoothed is None else 2  # a polynomial through all samples leaves them as they are
    sizes = np.geomspace(shortest, max(LONGEST_S * rate, shortest + 2 * COUNT), COUNT)
    windows = sorted({int(n) // 2 * 2 + 1 for n in np.round(sizes)})  # odd numbers of samples
    places = [(kind, j) for kind in kinds for j in range(count)]
    balances: dict[int, Balance] = {}
    left: dict[int, dict[tuple[str, int], FloatArray]] = {}

    def with_window(window: int) -> tuple[Balance, BoolArray]:
        """The balance with a window of so many samples, and where it is known."""
        if window not in balances:
            balances[window] = whole_balance(inputs, move(inputs, window / rate, moved), balance)
        seen = balances[window].used
        assert seen is not None
        return balances[window], seen

    def rows_of(window: int) -> FloatArray:
        """(samples, rows, parameters + 1); NaN where not known."""
        whole, seen = with_window(window)
        return np.where(seen[:, None, None], whole.rows(everything), np.nan)

    def left_of(window: int) -> dict[tuple[str, int], FloatArray]:
        """What the parameters leave in each place; NaN where not known."""
        whole, seen = with_window(window)
        rows = np.where(seen, whole.combined(np.append(-p, 1.0))[0], np.nan)
        return {(kind, j): rows[j, kinds[kind]] for kind, j in places}

    def best_of(more: Iterable[int]) -> dict[tuple[str, int], int]:
        """The best window of each place, so many more tried."""
        left.update({n: left_of(n) for n in more})
        best = {place: _best({n: x[place] for n, x in left.items()}) for place in places}
        for n in balances.keys() - best.values():  # only of the best ones rows will be asked for
            del balances[n]
        return best

    # errors fall with the length as noise does, then rise as motion is lost: every second window until all rise, and
    # their neighbours
    chosen: dict[tuple[str, int], int] = {}
    if near is not None and near.windows_s.keys() == kinds.keys():
        begin = {round(near.windows_s[kind][j] * rate) for kind, j in places}.intersection(windows)
        chosen = best_of(sorted(begin)) if begin else chosen
    for n in () if left else windows[::2]:
        chosen = best_of([n])
        if n not in chosen.values():
            break
    at_ends = [windows[0], *windows, windows[-1]]
    while missing := {m for n in chosen.values() for m in at_ends[windows.index(n) :][:3]} - set(left):
        chosen = best_of(sorted(missing))
    rows = rows_of(windows[len(windows) // 2])
    for n in set(chosen.values()):
        others = rows_of(n)
        for kind, j in (place for place, window in chosen.items() if window == n):
            rows[kinds[kind], j] = others[kinds[kind], j]
    windows_s = {kind: tuple(chosen[kind, j] / rate for j in range(count)) for kind in kinds}
    return Prediction(at, times, rows, used & np.isfinite(rows).all(axis=(1, 2)), windows_s, segments)


def _best(left: Mapping[int, FloatArray]) -> int:
    """The window with which least is left of a row (samples,); those that lose half of the samples are not asked.

    Short ones leave the noise of accelerations, long ones lose the motion. One number of thousands of samples: what it
    takes from the error of unseen data is nothing beside it.
    """
    known = {n: np.isfinite(x) for n, x in left.items()}
    most = max(int(where.sum()) for where in known.values())
    asked = [n for n, where in known.items() if 2 * where.sum() > most]
    if not asked:
        return sorted(left)[len(left) // 2]
    both = np.all([known[n] for n in asked], axis=0)
    return min(asked, key=lambda n: rms(left[n][both]))


def _in_band(inputs: Inputs, moved: Moved, balance: Balance, segments: Mapping[str, Sequence[Segment]]) -> Prediction:
    """Rows through the low-pass of the fit, at most `MOST_PREDICTED` samples."""
    low = fit_balance(inputs, moved, balance)
    spans = sorted(low.indices(s) for kind, pairs in segments.items() if kind != "static" for s in pairs)
    each = max(1, int(np.ceil(sum(b - a for a, b in spans) / low.step / MOST_PREDICTED)))
    half, stride = low.taps // 2, low.step * each
    if low.lowpass is not None:
        low = replace(low, lowpass=replace(low.lowpass, step=stride))
    length = stride * max(1, round(PREDICTED_PIECE_S * inputs.rate_hz / stride))
    at = [np.zeros(0, dtype=np.int64)]
    rows = [np.zeros((0, *low.lift.shape[::2]))]
    for start, stop in ((i, min(i + length, b)) for a, b in spans for i in range(a, b, length)):
        # a low-pass loses half its length at each end of a piece: take that from the neighbours
        first, last = max(start - half, 0), min(stop + half, len(low.times_s))
        if last - first > 2 * half:
            block = low.block(first, last)[0][:, :: stride // low.step]
            rows.append(low.lifted(block))
            at.append(first + half + stride * np.arange(len(rows[-1])))
    indices, known = np.concatenate(at), np.concatenate(rows)
    used = np.asarray(np.isfinite(known).all(axis=(1, 2)))
    return Prediction(indices, inputs.times_s[indices], known, used, {}, segments)


TIMES, CLUSTERS = 3, 20
"""Rows are weighted by the errors that the fit before left, so many times; stretches of slow samples that are compared.
"""
QUASI_STATIC = {"rad": 0.02, "m": 0.01}
"""rad/s (paper, Door), m/s: slower is quasi-static."""
DENT = 3.0
"""Steps (`STEP`) by which stops are tried closer."""
CONTACT_SHARE, MUCH_BETTER = 0.025, 0.5
"""Share of a row's range, and of the other fit's RMS, that raise and confirm the suspicion of contact."""
ROUNDS, SETTLED = 10, 0.05
"""How often an effort is predicted anew, and by which share of its noise every number may then still change."""
MOST_TIMES = 4
"""How often stops are moved."""


class ProcedureProblem(DataProblem):
    """A procedure that the object or its recording does not allow."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How parameters are obtained from a balance, so that it can be repeated with other inputs."""

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
class Joint:
    """What a joint estimate says beside its solution."""

    noise: FloatArray
    """(rows,): of the measured rows at the reference's rate, N and N m."""
    off: tuple[tuple[str, float], ...]
    """What was known only so well -> by how many standard deviations the data want it elsewhere."""
    excess: float
    """What is left over what the instruments' noise leaves, as the parameters feel it: about one."""
    apart: Mapping[str, float]
    """Estimate -> by how many standard deviations of the balance's own it is elsewhere."""
    balance: Solution
    """By the balance alone, from which it began."""


@dataclass(frozen=True, slots=True)
class Rolled:
    """How a wheel rolls, as its axle moves aside."""

    radius_m: float
    """That rolling without slip asks for."""
    unsure_m: float
    """Half its interval."""
    slip_rad: float
    """RMS of the angle by which it goes aside of where it is headed, beyond the markers' noise."""


@dataclass(frozen=True, slots=True)
class Size:
    """A length (m) or an angle (rad) of a linkage that was estimated."""

    unit: str
    stated: float
    prior: float
    """How well it is known before the data are asked, one standard deviation."""
    value: float
    std: float
    """With the data, those of all other lengths in it."""
    told: bool
    """Whether the data tell it by itself, not only together with others."""

    held: bool = False
    """Whether it was only found along, held by the tape measure: its interval is that of both."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of 95 %; None where the data do not tell it."""
        return (self.value - 1.96 * self.std, self.value + 1.96 * self.std) if self.told or self.held else None


@dataclass(frozen=True, slots=True, eq=False)
class Off:
    """What was estimated beside the parameters, off by a standard deviation."""

    name: str
    inputs: Inputs
    """With it off."""
    left: FloatArray | None = None
    """(rows, samples): `Fit.left_of` their balance, where that was made, ..."""
    p: FloatArray | None = None
    """... with these parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """An identified object and what it was identified from."""

    inputs: Inputs
    """With the shapes and stops of the fit."""
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
    imu_place: Placement | None = None
    """Where the load cell sees the IMU that tells the motion; None: not known, or not asked."""
    rolled: Rolled | None = None
    """How the wheel rolls; None: not known, or not asked."""
    links: Mapping[str, Size] = field(default_factory=dict[str, Size])
    """Sizes of linkages that were estimated, by name."""
    joint: Joint | None = None
    """Where the solution is a joint estimate, which started from this fit's own."""
    sources: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Key of `uncertain` -> parameter -> systematic standard deviation."""
    untried: Mapping[str, str] = field(default_factory=dict[str, str])
    """What may be off and could not be tried, at least in one way -> why."""
    varied: tuple[Off, ...] | None = None
    """None: not asked yet."""

    def __str__(self) -> str:
        """Its solution's table, for `print`."""
        return str(self.solution)

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return self.solution._repr_html_()  # pyright: ignore[reportPrivateUsage]  (notebooks' name for it)

    @property
    def p(self) -> FloatArray:
        """The parameters in column order."""
        return self.solution.p

    @property
    def damping(self) -> float:
        """Of the prior, in the balance: rows of a joint estimate are in units of their noise, and so is its own."""
        return (self.solution if self.joint is None else self.joint.balance).damping

    def rows(self, segments: Sequence[Segment] | None = None) -> FloatArray:
        """(used samples, rows, parameters + 1): [Y | y] in these segments, or those of the fit."""
        return self.prediction.rows[self.prediction.inside(self.plan.segments if segments is None else segments)]

    def residuals(self, segments: Sequence[Segment] | None = None, p: FloatArray | None = None) -> FloatArray:
        """(used samples, rows): measured minus predicted, with the parameters of the fit or others, N and N m."""
        return np.asarray(self.rows(segments) @ np.append(-(self.p if p is None else p), 1.0), dtype=float)

    def wrench_of(self, model: Model) -> FloatArray:
        """(samples, 6) in the body frame, without the sensors' constant wrench where a model with values holds one."""
        zeros = [[model.values[n] for n in model.names_of(e)] for e in model.elements if e.instrument]
        return self.balance.wrench - np.sum(zeros, axis=0)

    @property
    def level(self) -> FloatArray:
        """(rows,): RMS of what is left in the segments of the fit."""
        left = self.residuals()
        return np.sqrt(np.mean(left**2, axis=0)) if len(left) else np.ones(len(self.inputs.mechanism.rows))

    def again(self, inputs: Inputs, train: Compressed | None = None) -> tuple[Compressed, Solution]:
        """The same procedure with other inputs, the same weights of the rows and the same damping.

        train: of these inputs, where `trains` has it.
        """
        train, _, spring = self._again(inputs, train)
        return train, solve_with(inputs, train, spring, self.damping, start=self.solution.theta)

    def values_again(self, inputs: Inputs, train: Compressed | None = None) -> dict[str, float]:
        """Estimate -> its value by `again`."""
        return self.tried(inputs, train)[0]

    def tried(self, inputs: Inputs, train: Compressed | None = None) -> tuple[dict[str, float], Balance | None]:
        """Estimate -> its value by `again`, and the balance of these inputs, which a `train` makes needless."""
        train, balance, spring = self._again(inputs, train, joined=True)
        believed = _believed(inputs, spring, self.damping)
        return solve_values(train, **believed, start=self.solution.theta), balance

    def left_of(self, balance: Balance) -> FloatArray:
        """(rows, samples): what the parameters leave of a balance; 0 where not known."""
        (left,) = balance.combined(np.append(-self.p, 1.0))
        return np.nan_to_num(left, copy=False)

    def _again(
        self, inputs: Inputs, train: Compressed | None, *, joined: bool = False
    ) -> tuple[Compressed, Balance | None, Mapping[str, float] | None]:
        if train is not None:
            return train, None, None
        train, balance = self.recompressed(inputs, joined=joined)
        spring = quasi_static_spring(inputs, balance, self.plan)
        return train, balance, None if spring is None else spring.values

    def recompressed(self, inputs: Inputs, *, joined: bool = False) -> tuple[Compressed, Balance]:
        """The compressed balance of other inputs with the same weights of the rows, and the whole one.

        joined: its pieces are one, which is enough for values.
        """
        moved, balance = self.with_inputs(inputs)
        if joined:
            (train,) = compressed_each(inputs, moved, self.plan.segments, balance, (balance.wrench,))
        else:
            train = compressed(inputs, moved, self.plan.segments, balance)
        return replace(train, weights=self.train.weights), balance

    def trains(self, others: Sequence[Inputs]) -> list[Compressed | None]:
        """The compressed balance of those inputs that differ from the fit's in the wrench alone, made together."""
        wrenches: dict[int, FloatArray] = {}
        for i, inputs in enumerate(others):
            wrench = None if self.plan.quasi_static is not None else self.only_wrench(inputs)
            if wrench is not None:
                wrenches[i] = wrench
        if not wrenches:
            return [None] * len(others)
        each = compressed_each(self.inputs, self.moved, self.plan.segments, self.balance, list(wrenches.values()))
        trains = {i: replace(one, weights=self.train.weights) for i, one in zip(wrenches, each, strict=True)}
        return [trains.get(i) for i in range(len(others))]

    def only_wrench(self, inputs: Inputs) -> FloatArray | None:
        """(samples, 6): the wrench of inputs that differ in it alone, at the same samples; None where more differs."""
        if not self._same_motion(inputs) or inputs.model is not self.inputs.model or inputs.model.uses_load:
            return None
        wrench = body_wrench(inputs, self.moved.motion)
        known = self.moved.known & np.isfinite(wrench).all(axis=1)
        same = self.balance.used is None or np.array_equal(known, self.balance.used)
        return np.asfortranarray(wrench) if same else None

    def with_inputs(self, inputs: Inputs) -> tuple[Moved, Balance]:
        """Motion and balance of other inputs; the motion is computed anew only where they change it."""
        other = self.balance if self._same_wrench(inputs) else None
        if self._same_motion(inputs):
            return self.moved, whole_balance(inputs, self.moved, other)
        moved = move(inputs, like=self.moved if inputs.q.shape == self.inputs.q.shape else None)
        return moved, whole_balance(inputs, moved, other)

    def _same_wrench(self, inputs: Inputs) -> bool:
        """Whether sensors show the same, and zeros that follow from where it rests are the same."""
        ours, names = self.inputs, ("sensors", "measured", "add", "zero", "static", "at_contact", "zero_error", "q")
        mechanism = inputs.mechanism.with_linkages(ours.mechanism.linkages)
        same = mechanism == ours.mechanism and np.array_equal(inputs.up, ours.up)
        return same and all(getattr(inputs, name) is getattr(ours, name) for name in names)

    def _same_motion(self, inputs: Inputs) -> bool:
        ours = self.inputs
        same = inputs.q is ours.q and inputs.imu is ours.imu and inputs.filtering is ours.filtering
        # what a linkage drives does not move the body
        mechanism = inputs.mechanism.with_linkages(ours.mechanism.linkages)
        same &= mechanism == ours.mechanism and inputs.stops == ours.stops and inputs.blocked is ours.blocked
        same &= inputs.smoothed is ours.smoothed and np.array_equal(inputs.up, ours.up)
        return same and (inputs.imu is None or inputs.clock is ours.clock)


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
    return solve(train, **_believed(inputs, fixed, damping), start=start)


def _believed(inputs: Inputs, fixed: Mapping[str, float] | None, damping: float | None) -> Believed:
    b = inputs.belief
    prior = b.prior if b.prior is None or damping is None else replace(b.prior, damping=damping)
    return {"prior": prior, "factor": b.factor, "known_mass": b.mass, "fixed": {**(fixed or {}), **b.fixed}}


def fit_inputs(
    inputs: Inputs,
    segments: Mapping[str, Sequence[Segment]],
    plan: Plan,
    *,
    noise: MotionNoise | None = None,
    begun: tuple[Moved, Balance] | None = None,
    near: Fit | None = None,
    find_contact: Contact | None = None,
    tell: Tell = silent,
) -> Fit:
    """Fit the plan's segments.

    noise: of the motion; begun: motion and whole balance of the inputs, where they are known already; near: a fit of
    nearly the same inputs. find_contact: stops are moved inwards as far as something not in the model, of this kind,
    is felt near the ends of the travel.
    """
    if inputs.mechanism.unmeasured and (inputs.inner is None or inputs.inner.mechanism != inputs.mechanism):

        def led(other: Inputs, find: Contact | None = None) -> Fit:
            other = lead(other, plan.segments)
            return fit_inputs(other, segments, plan, noise=noise, near=near, find_contact=find, tell=tell)

        fit = led(inputs, find_contact)
        return fit if fit.inputs.stops == inputs.stops else led(fit.inputs)
    if inputs.effort is None and any(e.uses_effort for e in inputs.model.elements):

        def between(other: Inputs, find: Contact | None = None) -> Fit:
            return fit_inputs(other, segments, plan, noise=noise, near=near, find_contact=find, tell=tell)

        fit = _by_prediction(inputs, between)
        if find_contact is None:
            return fit
        # what is left beside an effort that is not settled yet would look like contact
        stops = between(fit.inputs, find_contact).inputs.stops
        return fit if stops == inputs.stops else _by_prediction(replace(inputs, stops=stops), between)

    def fitted(
        stops: tuple[float, float] | None,
        begun: tuple[Moved, Balance] | None = None,
        shapes: Callable[[Balance], Shaped] = lambda balance: _shapes_in_data(balance, plan.segments),
        near: Fit | None = near,
    ) -> Fit:
        beside = None if near is None else near.prediction
        return _between_stops(replace(inputs, stops=stops), segments, plan, noise, begun, beside, shapes, tell)

    if find_contact is None:
        return fitted(inputs.stops, begun)

    elements, main = inputs.model.elements, inputs.mechanism.main
    ends = [e.stops for e in elements if e.stops is not None and e.acts_on == main]
    own = [stop.side for stop in ends]  # there the model explains what pushes back

    def clear(fit: Fit, p: FloatArray | None = None) -> tuple[float, float] | None:
        return clear_of_contact(*along_travel(fit, p), fit.inputs.step, fit.inputs.stops, find_contact, own)

    def best(balance: Balance) -> Shaped:
        # while stops are looked for, nobody asks how well shapes are known; but where they are is searched each time:
        # those that contact has drawn along hide it, and beside them a polish would stay
        return fit_shapes(balance, plan.segments, profiles=False)

    fit = fitted(inputs.stops, begun, best)
    position, left = along_travel(fit)
    if len(left) and rms(left) > CONTACT_SHARE * np.ptp(fit.rows()[:, :, -1]):
        # contact may spoil the fit so much that it cannot be seen in it: try between closer stops
        dent, least, most = DENT * inputs.step, float(inputs.seen_position.min()), float(inputs.seen_position.max())
        low, high = inputs.stops or (least, most)
        low, high = low - dent * ("lowest" in own), high + dent * ("highest" in own)
        closer = max(least, low) + dent, min(most, high) - dent
        closer = low if "lowest" in own else closer[0], high if "highest" in own else closer[1]
        for stops in dict.fromkeys(((closer[0], high), (low, closer[1]), closer)):
            if stops == (low, high):
                continue
            other = fitted(stops, shapes=best, near=fit)
            there, less = along_travel(other)
            both = left[(position >= there.min(initial=np.inf)) & (position <= there.max(initial=-np.inf))]
            if len(less) >= LEAST_SEEN and len(both) and rms(less) < MUCH_BETTER * rms(both):
                fit = other
                break
    for _ in range(MOST_TIMES):
        stops = clear(fit)
        if stops is None:
            break
        fit = fitted(stops, shapes=best, near=fit)
    if fit.inputs.stops != inputs.stops:  # a fit that contact spoiled stands out where there is none
        kept = fit.shaped
        wide = fitted(inputs.stops, begun, best if kept is None else lambda _: kept, fit)
        outer = clear(wide, fit.p)
        if outer is not None and farther_out(outer, fit.inputs.stops, inputs.step):
            other = fitted(outer, shapes=best, near=fit)
            fit = other if clear(other) is None else fit
    if fit.shaped is None:
        return fit
    as_given = replace(fit_balance(fit.inputs, fit.moved, fit.balance), model=inputs.model)
    shaped = _shapes_in_data(as_given, plan.segments, _values(fit.shaped))
    if _values(shaped) == _values(fit.shaped):
        return replace(fit, shaped=shaped)
    return fitted(fit.inputs.stops, shapes=lambda _: shaped, near=fit)


def _by_prediction(inputs: Inputs, fitted: Callable[[Inputs], Fit]) -> Fit:
    """The fit of a model in which friction follows the effort of the hand, y (1 - mu s sgn y) = Y p.

    As measured, y would stand on both sides, and mu = 1 with all else zero explained everything that is pushed. So it
    is what the fit before predicts, from a fit without such friction on: a column that the others' make up where the
    hand only pushes and never brakes, of which the solver then says that nothing tells them apart.
    """
    names = [n for e in inputs.model.elements if e.uses_effort for n in inputs.model.names_of(e)]
    belief = replace(inputs.belief, fixed={**inputs.belief.fixed, **dict.fromkeys(names, 0.0)})
    fit = fitted(replace(inputs, effort={}, belief=belief))
    for _ in range(ROUNDS):
        before, fit = fit.p, fitted(replace(inputs, effort=fit.solution.model.values))
        noise = np.array([e.noise for e in fit.solution.estimates])
        if (np.abs(fit.p - before) <= SETTLED * noise).all():
            break
    return fit


def _values(shaped: Shaped) -> dict[str, float]:
    return dict(zip(shaped.names, shaped.values.tolist(), strict=True))


def _between_stops(
    inputs: Inputs,
    segments: Mapping[str, Sequence[Segment]],
    plan: Plan,
    noise: MotionNoise | None,
    begun: tuple[Moved, Balance] | None,
    near: Prediction | None,
    shapes: Callable[[Balance], Shaped],
    tell: Tell,
) -> Fit:
    moved, balance = (move(inputs), None) if begun is None else begun
    balance, shaped = whole_balance(inputs, moved) if balance is None else balance, None
    if plan.quasi_static is None and any(s.free for e in inputs.model.elements for s in e.shapes):
        tell("looking for the zones", 0.0)
        shaped = shapes(fit_balance(inputs, moved, balance))
        inputs, balance = inputs.with_model(shaped.model), replace(balance, model=shaped.model)
    tell("compressing", 0.5)
    train = compressed(inputs, moved, plan.segments, balance, noise)
    spring = quasi_static_spring(inputs, balance, plan)
    train, weights, solution = solve_train(inputs, train, plan, spring)
    balance = replace(balance, weights=train.weights)
    prediction = predict(inputs, moved, balance, solution.p, segments, near)
    return Fit(inputs, plan, moved, balance, noise, train, weights, solution, shaped, spring, prediction)


def solve_train(
    inputs: Inputs, train: Compressed, plan: Plan, spring: QuasiStatic | None = None, start: FloatArray | None = None
) -> tuple[Compressed, FloatArray, Solution]:
    """The compressed segments with the rows' weights, how much each piece counts in a robust fit, and the parameters.

    spring: of the first of two steps; start: theta of a fit to nearly the same data.
    """
    weighed, weights = robust(train)
    train = weighed if plan.robust else train
    fixed = None if spring is None else spring.values
    if inputs.sigma is None and len(inputs.mechanism.rows) > 1 and not inputs.filtering.published:
        # weights of the rows from what is left of each (feasible generalised least squares); unwanted ones stay out
        unwanted = np.array([row.name in inputs.unwanted for row in inputs.mechanism.rows])
        free = replace(inputs, belief=replace(inputs.belief, prior=None))
        for _ in range(TIMES):
            left = np.maximum(train.rms(solve_p(train, **_believed(free, fixed, None))), 1e-9)
            sigma = np.where(unwanted, stage_inputs.UNWANTED * left.max(), left)
            train = replace(train, weights=sigma.min() / sigma)
    return train, weights, solve_with(inputs, train, fixed, start=start)


def _shapes_in_data(balance: Balance, segments: Sequence[Segment], near: Mapping[str, float] | None = None) -> Shaped:
    """The shapes that the data tell; the others stay as given, unless the data speak against that.

    near: the best of nearly the same data.
    """
    shaped = fit_shapes(balance, segments, near=near)
    given = balance.model.shapes
    lost = [p for p in shaped.profiles if p.interval is None and p.hull[0] <= given[p.name] <= p.hull[1]]
    if not lost:
        return shaped
    again = fit_shapes(balance, segments, held=[p.name for p in lost])
    kept = {p.name: p for p in again.profiles} | {p.name: p.held_at(given[p.name]) for p in lost}
    return replace(again, profiles=tuple(kept[p.name] for p in shaped.profiles))


def quasi_static_spring(inputs: Inputs, balance: Balance, plan: Plan) -> QuasiStatic | None:
    """Coefficients of the only element that stores energy, from slow samples (paper, eq. tau_spring); None: one step.

    The row over the spring's first column (-tau / nu of a closer) is fitted by the columns over it (powers of the
    angle); coefficients that are fixed keep their values, and the others follow.
    """
    if plan.quasi_static is None:
        return None
    springs, main = [e for e in inputs.model.elements if e.stores], inputs.mechanism.main
    if len(springs) != 1 or main is None:
        others = f": {', '.join(e.name for e in springs)}" if springs else ""
        wrong = f"it needs one spring alone, the object has {len(springs)}{others}"
        raise ProcedureProblem("two-step", wrong, remedy="write procedure: joint")
    if not plan.quasi_static:
        wrong = "there is no quasi-static segment to take the spring from"
        raise ProcedureProblem("two-step", wrong, remedy="give segments.quasi_static, or procedure: joint")
    model, fixed, along = inputs.model, inputs.belief.fixed, inputs.mechanism.coordinates
    limit = QUASI_STATIC[along[main]]
    names = model.names_of(springs[0])
    columns = [list(model.parameters).index(n) for n in names]
    rows = np.concatenate([replace(balance, used=None).rows(s)[:, 0] for s in plan.quasi_static])
    at = np.concatenate([np.arange(*balance.indices(s)) for s in plan.quasi_static])
    speed = np.asarray(balance.kinematics.coordinates[main].speed)[at]
    slow = np.isfinite(rows).all(axis=1) & (np.abs(speed) < limit)
    if slow.sum() < 10 * len(columns):
        wrong = f"only {slow.sum()} samples of segments.quasi_static are slower than {limit:g} {along[main]}/s"
        raise ProcedureProblem("two-step", wrong, remedy="move it more slowly there, or write procedure: joint")
    unit = rows[slow][:, columns[0]]
    powers, y = rows[slow][:, columns] / unit[:, None], rows[slow, -1] / unit
    held = np.array([n in fixed for n in names])
    given = np.array([fixed.get(n, 0.0) for n in names])
    X, y = powers[:, ~held], y - powers @ given
    given[~held] = c = least_squares(X, y)
    # sandwich covariance of least squares with consecutive stretches as clusters (Liang & Zeger 1986)
    bread, residual, stretches = np.linalg.pinv(X), y - X @ c, np.array_split(np.arange(len(X)), CLUSTERS)
    pulls = np.array([bread[:, part] @ residual[part] for part in stretches])
    covariance = np.asarray(pulls.T @ pulls * CLUSTERS / (CLUSTERS - 1), dtype=float)
    free = tuple(n for n in names if n not in fixed)
    return QuasiStatic(dict(zip(names, given.tolist(), strict=True)), free, covariance)


def widened(fit: Fit, squares: Mapping[str, float]) -> Solution:
    """The solution with the variances `squares` (parameter -> unit^2) added to its noise.

    What was estimated beside the parameters is noise too: Cov p = Cov(p | z) + dp/dz Cov z dp/dz' (partitioned least
    squares). An interval that then reaches as far as the body itself says nothing, as in `solve`.
    """
    solution, spring = fit.solution, () if fit.spring is None else fit.spring.free
    critical, sizes = solution.uncertainty.critical, natural_sizes(solution).tolist()

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

    return replace(solution, estimates=tuple(map(wider, solution.estimates, sizes)))


def damping_changes(fit: Fit) -> dict[str, dict[str, float]]:
    """By how much parameters change with half and with twice the lambda; empty where there is none."""
    changes: dict[str, dict[str, float]] = {}
    damped = fit.solution.problem.penalty.damped.any() and fit.damping > 0
    for word, factor in (("halved", 0.5), ("doubled", 2.0)) if damped else ():
        believed = _believed(fit.inputs, None, factor * fit.damping)
        there = solve_values(fit.train, **believed, start=fit.solution.theta)
        changes[word] = {e.name: there[e.name] - e.value for e in fit.solution.estimates}
    return changes


def natural_sizes(solution: Solution) -> FloatArray:
    """(parameters,): of mass, centre of mass and inertia the body's size; infinite of all else."""
    sizes, p = np.full(len(solution.p), np.inf), solution.p
    for i, parameter in enumerate(solution.model.parameters.values()):
        if parameter.map == "inertia" and parameter.name == "m":
            sizes[i : i + 10] = natural_size(p[i : i + 10])
    return sizes


def along_travel(fit: Fit, p: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """(samples,) each: the main coordinate and what is left there, in the segments of the fit; p: other parameters.

    Without those whose accelerations a change of friction's side spoils, as it does most at the ends of a travel.
    """
    seen, spoilt = fit.prediction, np.zeros(len(fit.inputs.times_s), dtype=bool)
    for kind, (window_s, *_) in seen.windows_s.items():
        spoilt |= bent(fit.inputs, fit.moved, fit.balance, window_s) & fit.inputs.inside(seen.segments[kind])
    at = seen.at[seen.inside(fit.plan.segments)]
    return fit.inputs.q[at, 0][~spoilt[at]], fit.residuals(p=p)[~spoilt[at], 0]
