"""Lack of fit: what a fit leaves beside what the instruments' noise would leave, and which effect explains the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.experiment.file.sensors import numbered
from palpate.experiment.stage.fit import Fit, Off, natural_sizes
from palpate.experiment.stage.inputs import (
    Inputs,
    Moved,
    bent,
    bent_friction,
    fit_balance,
    move,
    noisier,
    projected,
    whole_balance,
    zeros_of,
)
from palpate.experiment.stage.leaning import leaning_part
from palpate.experiment.stage.led import LedRows, effects_between
from palpate.experiment.stage.variations import estimated
from palpate.files import finite
from palpate.identify.balance import EACH, Balance, Rows, Segment, stack_rows
from palpate.identify.effects import Effect, Lack, Leftover, Noise, attenuation, lacks, leftover
from palpate.identify.shapes import with_shapes
from palpate.identify.solution import VAGUE, Estimate, Solution, Status
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.motion.clock import Even, noise_floor
from palpate.physics.arrays import BoolArray, FloatArray, power_density, rate_hz, runs, spread_each
from palpate.physics.functions import ARRAYS, Scalar, dot
from palpate.physics.inertia import PHI_NAMES, body_regressor, drawing_jacobian

SURE, LEAST = 3.0, 0.2
"""Evidence over that of 95 %, and share of what is left, from which an effect counts."""
SUSPECTED = 1.5
"""Evidence from which friction that grows with the pull widens intervals: where the hand never brakes, a heavier object
looks the same, and little is left to be seen."""
BEYOND_NOISE = 1.2
"""What is left over the instruments' noise, from which anything is looked for, and ..."""
UNEXPLAINED = 3.0
"""... from which it is worth a word where nothing explains it."""
STIFF_HZ = 80.0
"""An adapter that swings faster is stiff."""
FAST_HZ = 20.0
"""No hand moves an object so fast."""
HELD = 0.01
"""Share of the range of a measured effort from which its value at rest may be a hand's, not the sensor's zero."""
SILENT = 1e-3
"""Share of the wrench that counts as noise at least: of data without any, rounding and interpolation are left."""
MOST, ENOUGH, STRETCH = 20_000, 1 << 17, 1 << 12
"""Rows that are looked at; of a long recording by an IMU so many samples, in stretches spread evenly over it; ..."""
ENOUGH_SEEN, STRETCH_SEEN, EDGE = 1 << 14, 1 << 11, 16
"""... of one by cameras and an IMU so many; and samples at either end of its stretches that friction, which changes its
side in the gap between two, may ring in."""
SPEEDS = (0.1, 0.25, 0.5)
"""Quantiles of the speed at which friction may fall."""
GIVES = 0.1
"""By this part of a step something soft is tried to give way under a usual force."""
WIDTHS = (0.02, 0.06, 0.15)
"""Shares of the travel over which a force may remember where it came from."""
PARTS = {
    "position": ("in the upper half of the travel", "in the lower half"),
    "direction": ("going forward", "going back"),
    "speed": ("in fast motion", "in slow motion"),
    "time": ("late in the recording", "early"),
}
"""Parts of the data that should agree; beside them each segment of several."""
MOST_TAKES = 6
"""Segments that are compared with one another: two are early and late."""
NEXT_TO_NOTHING, NARROW = 0.25, 4.0
"""Of what cannot be negative: below this share of its upper limit a number is next to nothing, where that limit is not
farther away than so many standard deviations of noise."""
LONGER_M = 0.005
"""By this much each link is tried to be longer."""
NEARLY_ALL = 0.8
"""Where an effect explains this much, play is not asked for."""
GRIP, AROUND_S, OUTSTANDING, LOUDER = 0.05, 0.15, 0.5, 3.0
"""Share of the usual force from which a hand holds on; around a change of sides, this long, play leaves so much of all
that is left, and squares so many times those of the rest."""
SKIP_PLACES, SKIP_ROUNDS = 12, 3
"""Moments at which rows may be missing, looked for all over the segments, and closer around the best one each time."""
UNMEASURED = 3.0
"""Tenths by which options may be off that nobody measured."""
PLACES, WAVES, SLOW_S = 6, 4, 10.0
"""Knots over the travel; slow waves over the time, no half of which is shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class LackOfFit:
    """What the fit leaves in its own band, and what would explain it."""

    left: FloatArray
    """(rows,) RMS, N and N m."""
    noise: FloatArray
    """(rows,) RMS that the noise of the instruments leaves after the same filters; 0 of rows that do not count."""
    lacks: tuple[Lack, ...]
    """The effect that explains most first."""
    significant: tuple[Lack, ...]
    """Those that are surely there and matter."""
    parts: tuple[Lack, ...]
    """Numbers (the effect's place) that surely differ between two parts of the data (its cause), by a coefficient."""
    attenuation: dict[str, float]
    """Number -> by how much noise in the motion moves it, where that was not taken out."""
    looked_at_s: float
    """Seconds of the fit's segments that were looked at: of long ones stretches, spread evenly."""

    @property
    def times(self) -> FloatArray:
        """(rows,): what is left over the noise; 0 where there is no noise to compare with."""
        return np.where(self.noise > 0, self.left / np.where(self.noise > 0, self.noise, 1.0), 0.0)

    @property
    def suspected(self) -> tuple[Lack, ...]:
        """Friction that grows with the pull, which may be there."""
        found = (x for x in self.lacks if x.effect.cause == "friction-load" and x not in self.significant)
        return tuple(x for x in found if x.evidence > SUSPECTED and x.coefficients.sum() > 0)

    def has(self, cause: str) -> bool:
        """Whether an effect of that cause is surely there."""
        return any(x.effect.cause == cause for x in self.significant)

    def as_json(self, rows: Sequence[Row]) -> dict[str, Any]:
        """For result.json."""
        left = zip(rows, self.left.tolist(), self.noise.tolist(), strict=True)
        return {
            "rows": {row.name: {"left": a, "noise": b, "unit": row.unit} for row, a, b in left},
            "attenuation": self.attenuation,
            "looked_at_s": self.looked_at_s,
            "effects": [
                {"cause": x.effect.cause, "place": x.effect.place, "share": x.share, "evidence": finite(x.evidence)}
                | {"changes": x.shift}
                for x in self.lacks
            ],
            "parts": [
                {"parameter": x.effect.place, "parts": x.effect.cause}
                | {"difference": float(x.coefficients[0]), "std": float(x.stds[0])}
                for x in self.parts
            ],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """The rows of a fit with all that is needed to test effects in them."""

    fit: Fit
    segments: Sequence[Segment]
    """That are looked at."""
    noisy: Fit
    """The same with the instruments' noise added once more."""
    rows: Rows
    noise: FloatArray
    """(rows,): what that changes in the residuals."""
    leftover: Leftover

    @property
    def noisy_columns(self) -> FloatArray:
        """(parameters, rows): the model's columns with that noise."""
        noisy = bent_friction(self.noisy.inputs, self.noisy.balance)
        return self.rows.of_model(self.fit.solution.model, noisy.kinematics)

    def test(self, effects: Callable[[Fit], Iterator[Effect]]) -> list[Lack]:
        """What each effect would explain; effects: of a fit."""
        if self.fit.inputs.inner is not None:  # both bodies are where all instruments together have them: no noise
            seen = [replace(e, columns=e.of(self.rows.felt_at(e.place)), only=None) for e in effects(self.fit)]
            return lacks(self.leftover, seen, Noise(seen, self.noise))
        return lacks(self.leftover, effects(self.fit), Noise(effects(self.noisy), self.noise))


def bench(fit: Fit) -> Bench:
    """Everything that tests of one fit share."""
    imu = fit.inputs.imu
    evens = [*(s.wrench for s in fit.inputs.sensors), *(() if imu is None else (imu.even,))]
    levels = [white_noise(even) for even in evens]
    whole, (fit, segments, at) = fit, excerpt(fit)
    low = replace(fit_balance(fit.inputs, fit.moved, fit.balance), weights=fit.train.weights)
    rows, noisy = stack_rows(low, segments, most=MOST), _noisy(fit, levels, whole=at is None)
    residuals = fit.left_of(fit.balance)
    if fit.inputs.inner is not None:
        led = LedRows(fit.inputs.inner, fit.inputs, fit.moved, segments)
        others, rows = [led.left_more(x.inputs) for x in _unsure(fit)], led.stacked(rows, fit.balance)
        left = leftover(rows, fit.solution, np.array(others) if others else None)
        return Bench(fit, segments, noisy, rows, led.left_more(noisy.inputs), left)
    noise = rows.taken((noisy.left_of(noisy.balance) - residuals)[None])[0]
    before = residuals if at is None else whole.left_of(whole.balance)
    beside = [_left_more(fit if at is None else whole, before, x) for x in _unsure(fit)]
    others = [*(x if at is None else x[:, at] for x in beside), *_unsure_shapes(fit), *_scale(fit)]
    unsure = rows.taken(np.array(others)) if others else None
    return Bench(fit, segments, noisy, rows, noise, leftover(rows, fit.solution, unsure))


def excerpt(fit: Fit) -> tuple[Fit, Sequence[Segment], NDArray[np.int64] | None]:
    """The fit with as many samples as are looked at, and its segments: of a long recording with an IMU, stretches of
    it. By cameras too, its variations stay whole; then the samples that the others are of them. Else None.

    Effects and noise in the segments of a fit are stationary or slow, so what stretches of all times show, the whole
    would; only its power to show small things is that of a recording as long as they are together.
    """
    inputs, whole = fit.inputs, [fit.balance.indices(s) for s in fit.plan.segments]
    total, alone = sum(b - a for a, b in whole), inputs.imu is not None
    # what an element remembers would begin anew after each gap
    seen = inputs.smoothed is not None and not inputs.model.memory
    if total <= (ENOUGH if alone else ENOUGH_SEEN) or not (alone or seen):
        return fit, fit.plan.segments, None
    spans = spread_each(whole, ENOUGH, STRETCH) if alone else spread_each(whole, ENOUGH_SEEN, STRETCH_SEEN)
    kept, t, half = np.zeros(len(inputs.times_s), dtype=bool), inputs.times_s, 0.5 / inputs.rate_hz
    for a, b in spans:
        kept[a:b] = True
    if not alone and inputs.static is not None:  # which tells the zeros
        kept |= inputs.inside([inputs.static])
    at, parts = np.flatnonzero(kept), runs(kept)
    m, balance = fit.moved.motion, fit.balance
    used = None if balance.used is None else balance.used[at]
    cut = replace(
        fit,
        inputs=inputs.cut(parts),
        moved=Moved(m.at(at), fit.moved.known[at], fit.moved.resting[at], fit.moved.still[at], fit.moved.sharp),
        balance=replace(
            balance, times_s=t[at], kinematics=balance.kinematics.at(at), wrench=balance.wrench[at], used=used
        ),
    )
    if alone and fit.varied is not None:
        cut = replace(cut, varied=tuple(Off(x.name, x.inputs.cut(parts)) for x in fit.varied))
    # differences at the ends of a stretch would reach into the next
    end = 2 if alone else EDGE
    looked_at = [(float(t[a + end]) - half, float(t[b - 1 - end]) + half) for a, b in spans]
    return cut, looked_at, None if alone else at


def lack_of_fit(fit: Fit) -> LackOfFit:
    """Test everything that the fit may lack, by its balance."""
    solution = fit.solution
    if fit.joint is not None:  # its numbers are not what the balance's own fit leaves its residuals with, and effects
        # which that cannot tell from noise say nothing of numbers that are sharper
        fit, solution = replace(fit, solution=fit.again(fit.inputs)[1]), fit.joint.balance
    tests = bench(fit)
    fit, weights = tests.fit, fit.train.weights
    both, samples = (tests.leftover.left, tests.noise), max(1, tests.rows.samples.sum())
    left, noise = (np.sqrt((x.reshape(-1, len(weights)) ** 2).sum(axis=0) / samples) / weights for x in both)
    counts = np.array([row.name not in fit.inputs.unwanted for row in fit.inputs.mechanism.rows])
    noise = np.where(counts, np.hypot(noise, SILENT * np.std(_measured(fit), axis=0)), 0.0)
    if fit.inputs.inner is not None:  # how much more than the measured force pushes the bodies
        left, noise = np.array([fit.inputs.inner.pushed]), np.array([fit.inputs.inner.noise])
    times = float((left / np.where(noise > 0, noise, np.inf)).max())
    tested = tests.test(_effects)
    if times > UNEXPLAINED and not any(x.share > NEARLY_ALL and x.evidence > SURE for x in tested):
        tested = sorted([*tested, *_skips(tests), *_play(fit)], key=lambda x: -x.share)
    sure = [
        x
        for x in tested
        if x.evidence > SURE
        and _possible(x, any(other.effect.cause == "give" for other in tested))
        and (x.effect.cause != "give" or times > BEYOND_NOISE)  # a little of it is in any noise
        and ((x.share >= LEAST and times > BEYOND_NOISE) or _moves(solution, x))
    ]
    parts = sorted(
        (x for x in tests.test(lambda f: _parts(f, fit, tests.rows)) if x.evidence > SURE), key=lambda x: -x.evidence
    )
    free = fit.noise is not None or fit.joint is not None
    moves = {} if free else attenuation(tests.leftover, tests.noisy_columns, tests.noise)
    looked_at_s = sum(b - a for a, b in tests.segments)
    return LackOfFit(left, noise, tuple(tested), tuple(sure), tuple(parts), moves, looked_at_s)


def _possible(x: Lack, gives: bool) -> bool:
    """Whether an effect can have its sign and size. gives: softness was asked for by its own columns."""
    c = float(x.coefficients[0])
    if x.effect.cause in ("give", "play"):
        return c > 0
    if x.effect.cause != "compliance":
        return True
    # knocks look like a resonance above all that a hand excites; one below is the shadow of what gives way
    return abs(c) > (2 * np.pi * STIFF_HZ) ** -2 and (c > 0 or not gives)


def _measured(fit: Fit) -> FloatArray:
    """(samples, rows): the wrench's free rows in the segments of the fit."""
    seen = fit.prediction
    return seen.rows[seen.inside(fit.plan.segments), :, -1]


def _moves(solution: Solution, x: Lack) -> bool:
    """Whether it moves a number out of its interval."""
    within = ((e.ci95, e.value + x.shift[e.name]) for e in solution.estimates)
    return any(ci95 is not None and not ci95[0] <= value <= ci95[1] for ci95, value in within)


def _unsure(fit: Fit) -> Iterator[Off]:
    """Each thing off by a standard deviation that was estimated beside the parameters."""
    varied = fit.varied if fit.varied is not None else (Off(v.name, v.inputs) for v in estimated(fit.inputs))
    yield from (x for x in varied if x.name not in fit.untried)


def _unsure_shapes(fit: Fit) -> Iterator[FloatArray]:
    """What is left more with shapes that are off by a standard deviation, each way along which they vary for itself."""
    if fit.shaped is not None:
        sizes, ways = np.linalg.eigh(fit.shaped.covariance)
        for way in (np.sqrt(np.maximum(sizes, 0.0)) * ways).T:
            shapes = dict(zip(fit.shaped.names, (fit.shaped.values + way).tolist(), strict=True))
            yield _left_more_by_shapes(fit, shapes)


def _scale(fit: Fit) -> Iterator[FloatArray]:
    """(rows, samples): what is fixed does where no force is recorded: no effect can be told from its scale."""
    fixed = fit.inputs.belief.fixed if fit.inputs.unloaded else dict[str, float]()
    for i, name in enumerate(fit.inputs.model.parameters):
        if fixed.get(name):
            (column,) = fit.balance.combined(fixed[name] * np.eye(len(fit.p) + 1)[i])
            yield np.nan_to_num(column, copy=False)


def _noisy(fit: Fit, levels: Sequence[FloatArray], *, whole: bool) -> Fit:
    """The same fit seen with noise of the measured level added once more to motion and wrench.

    levels: `white_noise` of each sensor, and of the IMU that tells the motion; whole: not only stretches of it.
    """
    rng, inputs = np.random.default_rng(0), fit.inputs

    def louder(even: Even, level: FloatArray) -> Even:
        x = rng.normal(size=even.x.shape)
        x *= level
        x += even.x
        return replace(even, x=x)

    if whole or inputs.imu is not None:
        sensors = (replace(s, wrench=louder(s.wrench, level)) for s, level in zip(inputs.sensors, levels, strict=False))
        noisy = replace(inputs, sensors=tuple(sensors))
        if inputs.imu is not None:
            noisy = replace(noisy, imu=replace(inputs.imu, even=louder(inputs.imu.even, levels[-1])))
        else:
            noisy = noisier(noisy, rng)
        noisy = noisy.on_clock(inputs.clock)
    else:  # white noise at the reference's rate, of the density that theirs has: all that the low-pass lets through
        pairs = zip(inputs.sensors, levels, strict=True)
        each = [np.sqrt(inputs.rate_hz / rate_hz(s.wrench.times_s)) * level for s, level in pairs]
        drawn = rng.normal(size=inputs.measured.shape) * np.array(each)[:, None]
        noisy = noisier(replace(inputs, measured=inputs.measured + drawn), rng)
    moved = move(noisy, like=fit.moved)
    balance = whole_balance(noisy, moved)
    # of an IMU's recording, nobody asks for the noisy samples again
    return replace(fit, inputs=noisy if inputs.imu is None else inputs, moved=moved, balance=balance)


def white_noise(even: Even) -> FloatArray:
    """(channels,): standard deviation of the white noise. Hum and vibration would look like more of it: above all
    motion the median of the spectrum counts, unless the rate leaves nothing there.
    """
    rate = rate_hz(even.times_s)
    plain = noise_floor(even.x)
    if rate < 4 * FAST_HZ or len(even.x) < 16 * rate / FAST_HZ:
        return plain
    f, density = power_density(even.x, rate, int(8 * rate / FAST_HZ))
    return np.minimum(plain, np.sqrt(np.median(density[f > FAST_HZ], axis=0) * rate / 2))


def with_model_part(fit: Fit, lack: LackOfFit) -> Fit:
    """The fit with intervals that allow for what effects missing from the model would change."""
    surely = [
        x.shift for x in (*lack.significant, *lack.suspected) if not x.doubt
    ]  # else Bayes' rule says how much of it there is
    parts = {e.name: max((abs(shift[e.name]) for shift in surely), default=0.0) for e in fit.solution.estimates}
    for x in lack.parts:  # the number is one in the first part of the data and another in the second
        own = x.effect.place
        for name, by in (*x.shift.items(), (own, x.shift[own] + float(x.coefficients[0]))):
            parts[name] = max(parts[name], abs(by))
    if any(x.effect.cause == "force-position" for x in lack.significant):
        # how much of that force the polynomial of a spring has taken upon itself is not known
        springs = [e for e in fit.inputs.model.elements if e.polynomial is not None]
        for name in (n for e in springs for n in fit.inputs.model.names_of(e)):
            parts[name] = max(parts[name], VAGUE * abs(fit.solution[name].value))
    doubts = [pair for x in lack.lacks for pair in x.doubt.items()]
    for name, by in (*leaning_part(fit).items(), *lack.attenuation.items(), *doubts):
        parts[name] = float(np.hypot(parts[name], by))
    solution, sizes = fit.solution.wider("model", parts), natural_sizes(fit.solution).tolist()
    return replace(fit, solution=replace(solution, estimates=tuple(map(_called, solution.estimates, sizes))))


def _called(e: Estimate, size: float) -> Estimate:
    """A number is identified where its whole interval is narrow beside it, or beside the body it belongs to."""
    if e.status is not Status.IDENTIFIED or e.ci95 is None:
        return e
    known = e.value + NARROW * e.noise
    if e.ci95[0] == 0 and e.value < NEXT_TO_NOTHING * e.ci95[1] <= NEXT_TO_NOTHING * known:  # known as next to nothing
        return e
    wide = e.ci95[1] - e.value > VAGUE * (abs(e.value) if np.isinf(size) else size)
    return replace(e, status=Status.UNCERTAIN) if wide else e


# --- effects ----------------------------------------------------------------------------------------------------------


def of_all_samples(fit: Fit) -> tuple[FloatArray, FloatArray]:
    """(rows, samples) each: residuals, and the wrench as predicted; 0 where either is not known.

    Where friction changes its side, accelerations are not known: nothing is left there, and the wrench is as measured.
    """
    residuals, measured = fit.left_of(fit.balance), _known(fit.balance, projected(fit.balance).T)
    residuals[:, bent(fit.inputs, fit.moved, fit.balance) & ~fit.moved.resting] = 0.0
    measured -= residuals
    return residuals, measured


def _known(balance: Balance, x: FloatArray) -> FloatArray:
    """(..., samples) of samples that count, 0 elsewhere and where not known."""
    return np.nan_to_num(balance.weighed(x, 0, x.shape[-1]), copy=False)


def _left_more(fit: Fit, residuals: FloatArray, off: Off) -> FloatArray:
    """(rows, samples): what is left with something off, less what is left with the fit's own inputs."""
    if off.left is not None and off.p is not None and np.array_equal(off.p, fit.p):
        return off.left - residuals
    wrench = fit.only_wrench(off.inputs)
    if wrench is None:
        return fit.left_of(fit.with_inputs(off.inputs)[1]) - residuals
    return _known(fit.balance, projected(replace(fit.balance, wrench=wrench - fit.balance.wrench)).T)


def _left_more_by_shapes(fit: Fit, shapes: Mapping[str, float]) -> FloatArray:
    """(rows, samples): the same with other shapes. Only elements that have some push otherwise."""
    model, v, total = fit.inputs.model, list(-fit.p), np.zeros((len(fit.balance.weights), len(fit.inputs.times_s)))
    for old, new in zip(model.elements, with_shapes(model, shapes).elements, strict=True):
        mine, v = v[: len(old.parameters)], v[len(old.parameters) :]
        for e, sign in ((old, -1.0), (new, 1.0)) if new is not old else ():
            part = replace(fit.balance, model=Model("part", model.mechanism, (e,)))
            total += sign * part.combined(np.array([*mine, 0.0]))[0]
    return np.nan_to_num(total, copy=False)


def _effects(fit: Fit) -> Iterator[Effect]:
    mechanism = fit.inputs.mechanism
    inner = mechanism.unmeasured[:1]  # of two bodies in series the inner one is the object
    for name in inner or mechanism.moving or ((mechanism.main,) if mechanism.main else ()):
        yield from _along(fit, name)
    own = [(e.constant, e.acts_on) for e in fit.inputs.model.elements if inner]
    for name, c in fit.balance.kinematics.coordinates.items():
        if name in mechanism.unmeasured[1:]:
            continue
        speed, acceleration, *ratio = _filled(fit, c.speed, c.acceleration, *c.ratio)
        for cause, force in (("friction", np.sign(speed)), ("damping", speed), ("inertia", acceleration)):
            if (cause, name) in own:
                continue
            yield Effect(cause, name, 0.0, (force * np.array(ratio))[None])
    if fit.inputs.inner is not None:
        yield from effects_between(fit, fit.inputs.inner)
    yield from _of_options(fit)
    yield from _of_tables(fit)
    if not fit.inputs.unloaded:  # else nothing is between a hand and the object
        yield from _of_instruments(fit)
        yield from give(fit)
    yield from link_effect(fit, fit.inputs.links_std_m)
    if len(fit.inputs.sensors) > 1:
        yield from _of_sensors(fit)


def _of_options(fit: Fit) -> Iterator[Effect]:
    """Options that nobody measured: what each element would push more with one of them a tenth larger."""
    model, k, v = fit.inputs.model, fit.balance.kinematics, list(fit.p)
    for e in model.elements:
        mine, v = v[: len(e.parameters)], v[len(e.parameters) :]
        if not e.others:
            continue
        forces: list[FloatArray] = []
        numbers = np.array([getattr(other, e.guessed) for other in (e, *e.others)])
        tenths = np.diag(numbers[1:] / numbers[0] - 1) / 0.1  # less than one where another number is near
        for element in (e, *e.others):
            part = Model("part", model.mechanism, (element,))
            rows = part.combined(part.remembering(replace(k, memory={}), fit.inputs.times_s), ARRAYS, mine)
            forces.append(np.array([np.broadcast_to(row, len(fit.inputs.times_s)) for row in rows], dtype=float))
        more = (np.array(forces[1:]) - forces[0]) / tenths[:, None, None]
        yield Effect("options", e.name, 0.0, np.nan_to_num(more), std=UNMEASURED)


def _of_tables(fit: Fit) -> Iterator[Effect]:
    """Tables that are curves between their knots: a column for each two of them, known as well as a spline tells."""
    k, v = fit.balance.kinematics, list(fit.p)
    for e in fit.inputs.model.elements:
        mine, v = v[: len(e.parameters)], v[len(e.parameters) :]
        more = e.between(k, mine)
        if more is None:
            continue
        c = k.coordinates[e.acts_on]
        position, more, *ratio = _filled(fit, c.position, more, *c.ratio)
        after = np.searchsorted(e.breaks, position)
        pieces = [np.where(after == i, more, 0.0) * np.array(ratio) for i in range(1, len(e.breaks))]
        columns = np.array([x for x in pieces if x.any()])
        if len(columns):
            yield Effect("between", e.name, 0.0, columns, std=1.0)


def link_effect(fit: Fit, known_m: float) -> Iterator[Effect]:
    """Linkages of other lengths than the fit's, one column each. known_m: how well those are known that are not
    estimated; 0: not asked.
    """
    inputs, columns, beliefs, names = fit.inputs, list[FloatArray](), list[tuple[float, float]](), list[str]()
    known = inputs.mechanism.off_by(known_m)
    residuals = fit.left_of(fit.balance)
    for name, by in link_steps(fit).items() if inputs.imu is None else ():
        size, _ = inputs.mechanism.sizes[name]
        for way in (by, -by):  # one of the two may not be assembled, or not reach where it was moved
            with suppress(PalpateError):
                mechanism = inputs.mechanism.with_sizes({name: size + way})
                other = fit.with_inputs(inputs.with_model(replace(inputs.model, mechanism=mechanism)))[1]
                columns.append((residuals - fit.left_of(other)) * (by / way))
                free = fit.links.get(name)
                std, away = (known[name], 0.0) if free is None else (free.prior, free.stated - size)
                beliefs.append((std / by, away / by))
                names.append(name)
                break
    if columns:
        std, expected = np.array(beliefs).T
        std = 0.0 if fit.joint is not None else std  # it has found them along
        place = inputs.mechanism.main or inputs.mechanism.moving[0]
        yield Effect("linkage", place, LONGER_M, np.array(columns), std=std, expected=expected, names=tuple(names))


def link_steps(fit: Fit) -> dict[str, float]:
    """Sizes of linkages that may be other than stated, and by how much each is tried to be, m or rad."""
    return {name: by for name, by in fit.inputs.mechanism.off_by(LONGER_M).items() if by > 0}


def _parts(fit: Fit, of: Fit, rows: Rows) -> Iterator[Effect]:
    """Each number of the fit, allowed to be another in one part of the data (Chow 1960, one number at a time).

    of: the fit whose parts are meant.
    """
    solution, k = fit.solution, fit.balance.kinematics
    for cause, inside in _splits(of):
        X = rows.of_model(fit.inputs.model, k, inside)
        for _, ps, _ in solution.problem.map_.bodies:
            X[ps] = np.linalg.inv(drawing_jacobian(solution.p[ps])).T @ X[ps]
        for e, columns in zip(solution.estimates, X, strict=True):
            if e.ci95 is not None and e.status is not Status.FIXED:
                yield Effect(cause, e.name, 0.0, columns[None])


def _splits(fit: Fit) -> Iterator[tuple[str, BoolArray]]:
    """Parts of the samples in which the numbers should be the same as in the rest."""
    inputs, k = fit.inputs, fit.balance.kinematics
    mechanism, inside = inputs.mechanism, inputs.inside(fit.plan.segments)
    used = inside if fit.balance.used is None else inside & fit.balance.used
    if not used.any():
        return
    name = mechanism.main or next(iter(mechanism.moving), None)
    if name is None:
        speed = np.linalg.norm(_filled(fit, *k.omega), axis=0)
    else:
        position, speed = _filled(fit, k.coordinates[name].position, k.coordinates[name].speed)
        used &= ~fit.moved.resting
        if mechanism.main is not None:
            yield "position", position > np.median(position[used])
        yield "direction", speed > 0
    yield "speed", np.abs(speed) > np.median(np.abs(speed[used]))
    yield "time", inputs.times_s > np.median(inputs.times_s[used])
    takes = fit.plan.segments if 2 < len(fit.plan.segments) <= MOST_TAKES else ()
    for a, b in takes:
        yield f"segment from {a:.0f} to {b:.0f} s", inputs.inside([(a, b)])


def _filled(fit: Fit, *values: Scalar) -> list[FloatArray]:
    """(samples,) each, 0 where not known."""
    shape = (len(fit.inputs.times_s),)
    return [np.nan_to_num(np.broadcast_to(np.asarray(x, dtype=float), shape)) for x in values]


def _along(fit: Fit, name: str) -> Iterator[Effect]:
    """Forces along one coordinate."""
    inputs, c = fit.inputs, fit.balance.kinematics.coordinates[name]
    position, speed, acceleration, *ratio = _filled(fit, c.position, c.speed, c.acceleration, *c.ratio)
    resting = fit.moved.resting
    sign, moving = np.where(resting, 0.0, np.sign(speed)), ~resting & (speed != 0)
    if not moving.any():
        return

    def effect(cause: str, *forces: FloatArray, shape: float = 0.0) -> Effect:
        return Effect(cause, name, shape, np.array([f * np.array(ratio) for f in forces]))

    for v_s in np.quantile(np.abs(speed[moving]), SPEEDS).tolist():
        yield effect("friction-speed", sign * np.exp(-((speed / v_s) ** 2)), shape=v_s)
    yield effect("friction-time", *(sign * wave for wave in _waves(inputs.times_s)))
    yield effect("drag", speed * np.abs(speed))
    pressed = _pressed(fit, name)
    if len(pressed):
        yield effect("friction-load", *(sign * x for x in pressed))
    yield effect("damping-direction", np.abs(speed))
    low, high = np.quantile(position[moving], [0.005, 0.995])
    for width in WIDTHS:
        width = float(width * (high - low))
        yield effect("memory", _dahl(position, np.sign(speed), width), shape=width)
    if inputs.main is None:
        return
    orders = [e.polynomial[1] for e in inputs.model.elements if e.polynomial is not None]
    stores = any(e.stores for e in inputs.model.elements)
    for cause, force, order, knots in (
        ("force-position", np.ones_like(speed), max(orders, default=0 if stores else -1), PLACES + 1),
        ("friction-position", sign, 0, PLACES),
        ("damping-position", speed, 0, PLACES),
        ("inertia-position", acceleration, 0, 4),
    ):
        yield effect(cause, *(force * f for f in _over(position, moving, low, high, knots, order)))


def across(fit: Fit, name: str) -> list[FloatArray]:
    """(samples,) each: what the hand presses across a coordinate, N; none where it was not measured or nobody asks."""
    b = fit.balance
    load = b.model.mechanism.loads(b.kinematics, list(b.wrench.T), ARRAYS).get(name)
    forces = [] if load is None else list(_filled(fit, *load.across))
    return forces if any(f.any() for f in forces) else []


def _pressed(fit: Fit, name: str) -> list[FloatArray]:
    """(samples,) each: what presses on the guide of a coordinate, N, weight and inertia of a rigid body included; and
    what the hand does of it, whole and each way. Where only its torque was measured, that, N m. None where nobody knows
    what bears it.
    """
    b = fit.balance
    load = b.model.mechanism.loads(b.kinematics, list(b.wrench.T), ARRAYS).get(name)
    if load is None:
        return []
    forces, felt = across(fit, name), _of_body(fit)
    if not len(forces):
        # as predicted: beside what is measured along the coordinate itself, all that is left of it would be explained
        return [np.abs(of_all_samples(fit)[1][0])]
    if felt is None:
        return [np.linalg.norm(forces, axis=0), *forces]
    borne = (f - _filled(fit, dot(axis, felt))[0] for f, axis in zip(forces, load.axes, strict=True))
    return [np.linalg.norm(list(borne), axis=0)]


def _of_body(fit: Fit) -> list[FloatArray] | None:
    """The force that moves and carries a rigid body, in its axes, N; None where the model has none."""
    values, k = fit.solution.model.values, fit.balance.kinematics
    if not all(name in values for name in PHI_NAMES):
        return None
    a, w, b = (np.stack(_filled(fit, *v), axis=1) for v in (k.specific_acceleration, k.omega, k.omega_dot))
    return list((body_regressor(a, w, b)[:, :3] @ np.array([values[name] for name in PHI_NAMES])).T)


def _play(fit: Fit) -> Iterator[Lack]:
    """Play between hand and object: what is left stands around the moments in which the force changes sides."""
    inputs = fit.inputs
    if inputs.main is None or inputs.imu is not None or inputs.inner is not None:
        return
    left, predicted = (x[0] for x in of_all_samples(fit))
    force = left + predicted
    firm = np.flatnonzero(np.abs(force) > GRIP * float(np.std(force)))
    turns = np.flatnonzero(np.diff(np.sign(force[firm])))
    around = np.zeros(len(force), dtype=bool)
    reach = round(AROUND_S * inputs.rate_hz)
    for before, after in zip(firm[turns], firm[turns + 1], strict=True):
        around[max(before - reach, 0) : after + reach] = True
    inside = inputs.inside(fit.plan.segments)
    share = float(np.sum(left[inside & around] ** 2) / max(np.sum(left[inside] ** 2), 1e-300))
    often = float(np.mean(around[inside]))
    louder = share * (1 - often) > LOUDER * often * (1 - share)
    effect = Effect("play", str(inputs.mechanism.main), 0.0, np.zeros((0, 0, 0)))
    evidence = np.inf if share > OUTSTANDING and louder else 0.0
    yield Lack(effect, share, evidence, np.ones(1), np.zeros(1), {e.name: 0.0 for e in fit.solution.estimates})


def _skips(tests: Bench) -> Iterator[Lack]:
    """Rows that one instrument lost without a trace in its times: from then on one clock is off against the other."""
    inputs = tests.fit.inputs
    if all(np.array_equal(s.wrench.times_s, inputs.times_s) for s in inputs.sensors):  # the rows of one table
        return
    t = inputs.times_s[inputs.inside(tests.segments)]
    low, high, best = 0.0, 1.0, None
    for _ in range(SKIP_ROUNDS):
        shares = np.linspace(low, high, SKIP_PLACES + 2)
        when = np.quantile(t, shares[1:-1]).tolist()

        def effects(fit: Fit, when: list[float] = when) -> Iterator[Effect]:
            slope, times = late(fit)[0], fit.inputs.times_s
            for at in when:
                yield Effect("skip", "", at, np.array([slope * (times < at), slope * (times >= at)]))

        tested = [x for x in tests.test(effects) if len(x.coefficients) == 2]
        if not tested:
            return
        best = tested[0]
        i = int(np.argmin(np.abs(np.array(when) - best.effect.shape))) + 1
        low, high = float(shares[i - 1]), float(shares[i + 1])
    if best is not None:
        yield best


def _waves(t: FloatArray) -> FloatArray:
    """(waves, samples): slow ones over the time."""
    u = np.pi * (t - t[0]) / max(float(t[-1] - t[0]), 1e-9)
    return np.array([np.cos(i * u) for i in range(1, int(np.clip((t[-1] - t[0]) / SLOW_S, 1, WAVES)) + 1)])


def _over(x: FloatArray, seen: BoolArray, low: float, high: float, knots: int, order: int) -> FloatArray:
    """Functions of a position: straight lines between knots, without the polynomials up to an order (-1: none)."""
    at = np.linspace(low, high, knots)
    hats = np.array([np.interp(x, at, row) for row in np.eye(knots)])
    if order < 0:
        return hats
    u = (np.clip(x, low, high) - low) / max(high - low, 1e-12)
    powers = np.array([u**i for i in range(order + 1)])
    inside, *_ = np.linalg.lstsq(powers[:, seen].T, hats[:, seen].T, rcond=None)
    return hats - inside.T @ powers


def _dahl(x: FloatArray, sign: FloatArray, width: float) -> FloatArray:
    """A force between -1 and 1 that follows a reversal over a width: dz/dx = (1 - z sgn v) / width (Dahl 1968)."""
    starts = np.flatnonzero(np.diff(sign, prepend=2.0))
    since = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    # what is left of where it came from, after each reversal; at rest all of it
    left = np.where(sign == 0, 1.0, np.exp(-np.abs(x - x[starts][since]) / max(width, 1e-12)))
    z, before = 0.0, list[float]()
    for s, share in zip(sign[starts].tolist(), left[np.append(starts[1:], len(x)) - 1].tolist(), strict=True):
        before.append(z)
        z = s - (s - z) * share
    return sign - (sign - np.array(before)[since]) * left


def _zero_along(inputs: Inputs) -> float:
    """What was taken for the load cells' zero, along the one row of an object with one freedom, N m or N."""
    still = [s.to_body(zero[None])[0] for s, zero in zip(inputs.sensors, zeros_of(inputs), strict=True)]
    return float(np.sum(still, axis=0)[inputs.mechanism.row_components[0]])


def late(fit: Fit) -> FloatArray:
    """(2, rows, samples): first and second derivative of the wrench as predicted, per s and s2."""
    _, wrench = of_all_samples(fit)
    first = np.gradient(wrench, 1 / fit.inputs.rate_hz, axis=1)
    return np.array([first, np.gradient(first, 1 / fit.inputs.rate_hz, axis=1)])


def _of_instruments(fit: Fit) -> Iterator[Effect]:
    """What load cells, amplifiers and adapters may do."""
    inputs = fit.inputs
    _, wrench = of_all_samples(fit)
    derivative = wrench
    for cause in ("lag", "compliance") if inputs.inner is None else ("lag",):  # what is soft is a parameter
        derivative = np.gradient(derivative, 1 / inputs.rate_hz, axis=1)
        yield Effect(cause, "", 0.0, derivative[None])
    del derivative
    # each row for itself: the range of a load cell differs from axis to axis
    yield Effect("linearity", "", 0.0, (wrench * np.abs(wrench))[:, None], only=EACH)
    waves = _waves(inputs.times_s)
    if inputs.zero == "still" and inputs.main is not None:  # a hand that held it then
        zero = abs(_zero_along(inputs)) if inputs.poses is None else 0.0
        std = zero if zero > HELD * float(np.ptp(wrench)) else 0.0
        yield Effect("held", "segments.static", 0.0, np.ones_like(wrench)[None], std=std)
    for j, row in enumerate(inputs.mechanism.rows):
        yield Effect("drift", row.name, 0.0, waves[:, None], only=j)
        if len(wrench) > 1:
            yield Effect("gain", row.name, 0.0, wrench[None, j : j + 1], only=j)


def give(fit: Fit) -> Iterator[Effect]:
    """Something soft between the object and where its position is measured, which is then on the hand's side.

    The object is at q - s f; the coefficient is the softness s, rad/(N m) or m/N.
    """
    inputs = fit.inputs
    if inputs.main is None or inputs.imu is not None or len(inputs.mechanism.rows) != 1 or inputs.inner is not None:
        return  # between two bodies in series it is a parameter
    force, residuals = np.nan_to_num(projected(fit.balance)), fit.left_of(fit.balance)
    softness = GIVES * inputs.step / max(float(np.std(force)), 1e-300)
    with suppress(PalpateError):  # out of a linkage's reach
        other = fit.with_inputs(inputs.with_positions(inputs.q - softness * force))[1]
        columns = (residuals - fit.left_of(other)) / softness
        yield Effect("give", str(inputs.mechanism.main), softness, columns[None])


def _of_sensors(fit: Fit) -> Iterator[Effect]:
    """One of several sensors that is turned against the others, or whose scale is not theirs."""
    inputs, k = fit.inputs, fit.balance.kinematics
    for i, (sensor, w, zero) in enumerate(zip(inputs.sensors, inputs.measured, zeros_of(inputs), strict=True)):
        shown = np.nan_to_num(w - zero).reshape(-1, 2, 3)
        turns = [np.asarray(np.cross(axis, shown), dtype=float).reshape(-1, 6) for axis in np.eye(3)]
        rows = [
            np.array(inputs.mechanism.project(k, list(sensor.to_body(x).T), ARRAYS))
            for x in (*turns, shown.reshape(-1, 6))
        ]
        columns, name = np.nan_to_num(np.array(rows)), numbered("wrench", i + 1)
        yield Effect("turned", name, 0.0, columns[:3])
        yield Effect("scale", name, 0.0, columns[3:])
