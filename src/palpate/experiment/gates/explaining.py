"""How well the model explains the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage.fit import along_travel
from palpate.experiment.stage.inputs import FIT_ATTENUATION_DB, bent, projected
from palpate.experiment.stage.result import Case
from palpate.findings import Finding, Severity
from palpate.identify import Balance
from palpate.identify.problem import KAPPA_LIMIT, Ending
from palpate.identify.solution import Status
from palpate.model import Model
from palpate.motion.derivatives import design_lowpass
from palpate.physics.arrays import FloatArray, least_squares, runs, segment_mask
from palpate.physics.functions import ARRAYS
from palpate.runtime.replay import Window, led_astray

MISFIT_PERCENT = 10.0
"""Error beyond this share of a row's range: something is wrong, not just noisy (the paper's own door: 5.2 %)."""
QUIET_ROW = 0.1
"""A row whose range is less than this share of the largest of its unit is not what the motion is about."""
NOISE_RATIO = 5.0
"""Errors in the band of the fit beyond this multiple of the load cell's own noise come from something else."""
SMALL_PERCENT = 1.0
"""A test error of so little of the range is no failure, whatever the train error."""
CARRY_OVER = 2.0
"""A test error beyond this multiple of the train error: the fit does not carry over."""
TESTED_S = 0.5
"""Less than this is no test."""
BAND_OFF, BAND_STDS = 0.05, 3.0
"""And a number at half the bandwidth from that at the whole."""
REST_SHARE, REST_S, REST_FROM_STOP = 0.05, 0.25, 2.0
"""Share of the samples at rest that friction cannot hold; long enough at rest; steps from a stop."""
LOST = 0.5
"""Share of the travel by which a replay that is off fails."""
WAYWARD, BEGINNINGS = 5.0, 16
"""Times the error that the forces left by the fit explain, from which a replay fails; times at which they may begin."""
EXTRAPOLATED, ASTRAY, GAVE_WAY = 5.0, 10.0, 2.0
"""Steps from the closed position that were never seen; by which a replay goes astray; beyond a stop that gave way."""
BACK_SHARE = 0.02
"""Share of the range by which an object that moves one way only may seem to go back."""
OUTLYING = 0.5
"""Weight below which a piece of the recording counts as one that does not fit."""
DRIFT_SHARE, DRIFT_STDS = 0.01, 5.0
"""Share of a row's range, and standard deviations, by which a zero must move to be said to."""
STILL_S, STILL_RAD_S, FAR_S = 1.0, 0.05, 5.0
"""A still stretch lasts at least so long and turns with less than that; two must be that far apart to compare."""


def ending(case: Case) -> Iterator[Finding]:
    """A search that did not end, data that are too short."""
    if case.solution.ending not in (Ending.CONVERGED, Ending.FLAT):
        yield Finding("search", case.solution.ending.value, severity=Severity.FATAL)
    if not case.solution.uncertainty.enough:
        evidence = "the train segments are too short to know the noise"
        yield Finding("short", evidence, "segments.train", severity=Severity.FATAL)


def conditioning(case: Case) -> Iterator[Finding]:
    """A combination of a free body's parameters that the motion leaves open."""
    kappa = case.solution.conditioning.kappa_eff
    if kappa >= KAPPA_LIMIT:
        beyond = f"kappa_eff = {kappa:.0f} is not below {KAPPA_LIMIT:.0f}"
        evidence = f"{beyond}: the motion leaves a combination of parameters undetermined"
        yield Finding("conditioning", evidence, severity=Severity.FATAL)


def carry_over(case: Case) -> Iterator[Finding]:
    """A test error far above the train error, or no test at all."""
    rms = case.rms
    word, carried = ("train", rms["train"]) if "train" in rms else ("quasi-static", rms.get("quasi_static", {}))
    if "train" not in rms:
        evidence = "nothing of the train segments can be used, the quasi-static ones carry the fit"
        yield Finding("train", evidence, "segments.train")
    if not rms.get("test"):
        evidence = "no sample of the test segments can be used: the object is at rest or at a stop throughout"
        yield Finding("test", evidence, "segments.test", severity=Severity.FATAL)
    elif (length := len(case.fit.rows(case.prepared.segments["test"])) / case.fit.inputs.rate_hz) < TESTED_S:
        evidence = f"only {length:.2g} s of the test segments can be used: they prove next to nothing"
        yield Finding("test", evidence, "segments.test", "leave some seconds of motion for the test")
    for i, (row, test) in enumerate(rms.get("test", {}).items()):
        train = carried.get(row, test)["value"]
        if test["value"] <= CARRY_OVER * train or (test["percent_of_range"] or 0.0) <= SMALL_PERCENT:
            continue
        evidence = f"the test error {test['value']:.3g} {test['unit']} is more than twice the {word} error {train:.3g}"
        X, y = np.split(case.fit.rows(case.prepared.segments["test"])[:, i], [-1], axis=1)
        least = float(np.sqrt(np.mean((y[:, 0] - X @ least_squares(X, y[:, 0])) ** 2)))
        if test["value"] > CARRY_OVER * least:
            yield Finding("carry-over", f"{evidence}; the fit does not generalise", row, severity=Severity.FATAL)
            continue
        evidence += f", and no parameter values would leave less than {least:.3g} there"
        remedy = "look at the test segments: a shove, a hand on the object"
        remedy += ", or markers that were hidden" if case.config.motion_from == "markers" else ""
        yield Finding("test", evidence, row, remedy)


def misfit(case: Case) -> Iterator[Finding]:
    """Rows that carry a signal and are not explained."""
    rms = {kind: rows for kind, rows in case.rms.items() if kind in ("train", "test", "quasi_static")}
    ranges: dict[str, float] = {}
    units = {row.name: row.unit for row in case.model.mechanism.rows}
    for rows in rms.values():  # a quiet segment is not to be blamed for its small range
        for row, e in rows.items():
            if e["percent_of_range"]:
                ranges[row] = max(ranges.get(row, 0.0), 100 * e["value"] / e["percent_of_range"])
    bad, in_band = list[str](), case.fit.inputs.imu is not None  # where the load cell's noise counts
    for row, reach in ranges.items():
        loudest = max(v for other, v in ranges.items() if units[other] == units[row])
        errors = {
            kind: rows[row]["value"]
            for kind, rows in rms.items()
            if row in rows and (not in_band or rows[row]["value"] > NOISE_RATIO * (rows[row]["noise"] or 0.0))
        }
        limit = MISFIT_PERCENT / 100 * max(reach, QUIET_ROW * loudest)
        worse = [f"{kind.replace('_', '-')} {e:.2g}" for kind, e in errors.items() if e > limit]
        if worse:  # in its unit: shares of the range of each kind of segment stand in the table
            bad.append(f"{row} {', '.join(worse)} of {reach:.2g} {units[row]}")
    if not bad:
        return
    if case.config.captured and len(case.fit.inputs.sensors) == 1 and case.model.mechanism.floor:
        evidence = "only one load cell is given: if both hands held the object, recordings.wrench_2 is missing"
        yield Finding("misfit", evidence, severity=Severity.FATAL)
    yield Finding(
        "misfit",
        f"the model does not explain the wrench (error and largest range: {'; '.join(bad)})",
        remedy="look for a wrong sign, unit, scale, frame, clock or lever arm, a dead or clipped channel, somebody who "
        "touched the object, or an effect that the object file lacks",
        severity=Severity.FATAL,
    )


def noise(case: Case) -> Iterator[Finding]:
    """Errors in the band of the fit that are more than the load cell's noise."""
    worse = [
        f"{row} {e['value'] / e['noise']:.0f} times"
        for row, e in case.rms.get("test", {}).items()
        if e["noise"] and e["value"] > NOISE_RATIO * e["noise"] and (e["percent_of_range"] or 0.0) > 0.5
    ]
    if worse:
        evidence = f"the residuals exceed the load cell's own noise ({', '.join(worse)})"
        remedy = "look at frames, the IMU's lever arm, clocks and the stiffness of the adapters"
        yield Finding("noise", evidence, remedy=remedy)


def outlying(case: Case) -> Iterator[Finding]:
    """When the pieces were that a robust fit takes less seriously."""
    inputs, plan, weights = case.fit.inputs, case.fit.plan, case.fit.outlying
    ends = np.cumsum(case.fit.train.samples)
    if len(weights) != len(ends):
        return
    used = np.ones(len(inputs.times_s), dtype=bool)
    if case.fit.balance.used is not None:  # pieces stand for samples that are used, and these are not all
        used = case.fit.balance.used & ~bent(inputs, case.fit.moved, case.fit.balance)
    times = np.concatenate([inputs.times_s[used & segment_mask(inputs.times_s, [span])] for span in plan.segments])
    starts = np.append(0, ends[:-1])[weights < OUTLYING] * (len(times) / max(1, ends[-1]))
    when = [f"{times[int(i)]:.1f} s" for i in starts if i < len(times)]
    if not when:
        return
    evidence = f"{len(when)} of {len(ends)} pieces do not fit, at about {', '.join(when[:12])}"
    if plan.robust:
        yield Finding("outlying", f"{evidence}; they count less")
    elif inputs.imu is not None:
        yield Finding("outlying", evidence, remedy="check whether somebody touched it; `robust: true` helps")


def zero_drift(case: Case) -> Iterator[Finding]:
    """A load cell's zero that wanders: the residual's mean per piece against time, from the factors alone.

    The score of a bias column is the weighted sum of that row's residuals.
    """
    train = case.fit.train
    names, scores = list(train.model.parameters), train.scores(case.solution.p)
    t = np.cumsum(train.samples) / train.samples.sum() - 0.5
    moved: list[str] = []
    for row, weight, span in zip(train.model.mechanism.rows, train.weights, train.range(), strict=True):
        if f"bias_{row.name}" not in names:
            continue
        mean = scores[:, names.index(f"bias_{row.name}")] / (weight**2 * train.samples)
        slope = float(t @ (mean - mean.mean()) / (t @ t))
        std = float(np.std(mean - slope * t) / np.sqrt(t @ t))
        if abs(slope) > max(DRIFT_STDS * std, DRIFT_SHARE * span):
            moved.append(f"{row.name} {slope:+.2g} {row.unit}")
    if moved:
        evidence = f"the load cell's zero drifts during the train segments ({', '.join(moved)})"
        yield Finding("zero-drift", evidence, remedy="let it warm up, zero it again")


def zero_change(case: Case) -> Iterator[Finding]:
    """What the load cell reads beyond the model in the first still stretch against the last one.

    The model knows the weight, so the object may lie differently.
    """
    balance = case.fit.balance
    still = _still(balance, case.fit.inputs.rate_hz)
    if len(still) < 2 or still[-1][0] - still[0][1] < FAR_S:
        return
    v = np.append(-case.solution.p, 1.0)
    (a, b), (c, d) = still[0], still[-1]
    ends = ((a, min(b, a + 3 * STILL_S)), (max(c, d - 3 * STILL_S), d))
    # means of ten parts: their scatter tells how well the mean of all is known
    left = (balance.rows(s) @ v for s in ends)
    first, last = (x[: len(x) // 10 * 10].reshape(10, len(x) // 10, -1).mean(axis=1) for x in left)
    change = last.mean(axis=0) - first.mean(axis=0)
    std = np.hypot(first.std(axis=0), last.std(axis=0)) / np.sqrt(len(first))
    allowed = np.maximum(DRIFT_SHARE * np.ptp(balance.wrench, axis=0), DRIFT_STDS * std)
    rows = zip(balance.model.mechanism.rows, change.tolist(), allowed.tolist(), strict=True)
    moved = [f"{row.name} {by:+.2g} {row.unit}" for row, by, most in rows if abs(by) > most]
    if moved:
        when = f"{a:.1f} and {c:.1f} s ({', '.join(moved)})"
        evidence = f"the load cell's zero is not the same in the still stretches at {when}"
        remedy = "let it warm up and zero it again, and check that nothing touched the handle there"
        yield Finding("zero-change", evidence, remedy=remedy)


def _still(balance: Balance, rate: float) -> list[tuple[float, float]]:
    """Stretches in which nothing turns, seen by all instruments: seconds, in order."""
    size = int(STILL_S * rate)
    count = len(balance.times_s) // size
    quiet = np.ones(count, dtype=bool)
    for x in balance.kinematics.omega:
        quiet &= np.ptp(np.asarray(x)[: count * size].reshape(count, size), axis=1) < STILL_RAD_S  # NaN is not quiet
    for x in balance.wrench.T:
        quiet &= np.isfinite(x[: count * size]).reshape(count, size).all(axis=1)
    return [(float(balance.times_s[a * size]), float(balance.times_s[b * size - 1])) for a, b in runs(quiet)]


def bandwidth(case: Case) -> Iterator[Finding]:
    """Numbers that depend on the filter: what it cancels out of the balance must not move them."""
    inputs, f = case.fit.inputs, case.fit.inputs.filtering
    if f.bandwidth_hz is None or f.lowpass is None or not case.solution.uncertainty.enough:
        return
    try:
        low = design_lowpass(inputs.rate_hz, f.bandwidth_hz / 2, attenuation_db=FIT_ATTENUATION_DB)
        slow = replace(inputs, filtering=replace(f, lowpass=low, bandwidth_hz=f.bandwidth_hz / 2))
        there = case.fit.again(slow)[1]
    except PalpateError:
        return
    stored = {n for e in case.model.elements if e.stores for n in case.model.names_of(e)}
    moved: list[str] = []
    for e, other in zip(case.solution.estimates, there.estimates, strict=True):
        least = max(BAND_STDS * float(np.hypot(e.noise, other.noise)), BAND_OFF * abs(e.value))
        known = e.ci95 is not None and e.status is Status.IDENTIFIED and e.name not in stored
        if known and abs(other.value - e.value) > least:
            moved.append(f"{e.name} {e.value:.3g} to {other.value:.3g} {e.unit}")
    if moved:
        evidence = (
            f"at half the filter's bandwidth ({f.bandwidth_hz:.1f} Hz) these come out differently: {'; '.join(moved)}. "
            "Motion noise may also be in the wrench (a controller), something may be soft, or an effect may be missing"
        )
        yield Finding("bandwidth", evidence)


def rest(case: Case) -> Iterator[Finding]:
    """Where the object rests, friction is anywhere within its level: the spring must be within that of the effort."""
    fit, inputs = case.fit, case.fit.inputs
    if case.refused or case.model.memory or case.model.uses_load:  # which hold it too
        return
    if inputs.drift > 0:  # then nobody knows that it rests
        return
    effort = projected(fit.balance)[:, 0]
    length = 2 * (round(2 * REST_S * inputs.rate_hz) // 2) + 1
    segments = case.prepared.segments
    resting = fit.moved.resting & inputs.inside([*segments["quasi_static"], *segments["train"]])
    long = np.convolve(resting, np.ones(length), mode="same") > length - 0.5  # a turning point is no rest
    position = inputs.q[:, 0]
    low, high = inputs.stops or (-np.inf, np.inf)
    clear = (position > low + REST_FROM_STOP * inputs.step) & (position < high - REST_FROM_STOP * inputs.step)
    at = np.flatnonzero(long & np.isfinite(effort) & clear)
    if len(at) < 100:
        return
    held, limit = holding(case.solution.model, position[at])
    excess = np.abs(effort[at] - held) - limit
    share = float((excess > 2 * fit.level[0]).mean())
    if share >= REST_SHARE:
        evidence = (
            f"in {100 * share:.0f} % of the samples at rest the effort differs from the spring's by more than the "
            "kinetic friction could hold: static friction may be higher, or the rest position is wrong"
        )
        yield Finding("rest", evidence, remedy="try a stribeck element")


def holding(model: Model, position: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Effort (N m, N) that holds an object still without friction, and how far dry friction may stray from it."""
    still = np.zeros_like(position)
    k = model.mechanism.expand([position, still], [still], ARRAYS)
    without = np.broadcast_to(model.without_dry().wrench(k, ARRAYS)[0], position.shape)
    dry = sum(np.abs(ratio[0]) * level for ratio, level in model.dry_forces(k, ARRAYS))
    return np.array(without, dtype=float), np.array(np.broadcast_to(dry, position.shape), dtype=float)


def one_way(case: Case) -> Iterator[Finding]:
    """Moved one way only in what is fitted, friction has one sign: the same as a force that holds it everywhere."""
    dry = [e.name for e in case.model.elements if e.dry]
    static = [n for e in case.model.elements if e.stores and e.acts_on != "wrench" for n in case.model.names_of(e)]
    plan, prediction = case.fit.plan, case.fit.prediction
    at = prediction.at[prediction.inside([*plan.segments, *(plan.quasi_static or ())])]
    position = case.fit.inputs.q[at, 0]
    way = np.cumsum(np.where(np.diff(at, prepend=at[:1]) == 1, np.diff(position, prepend=position[:1]), 0.0))
    least = BACK_SHARE * float(np.ptp(position)) if len(at) else -1.0  # nothing goes no way
    back, forth = (float((np.maximum.accumulate(x) - x).max(initial=0.0)) for x in (way, -way))
    if not dry or not static or min(back, forth) > least:
        return
    going, fixed = "opened" if back <= least else "closed", case.fit.inputs.belief.fixed
    held = [f"{name} = {fixed[name]:g}" for name in static if name in fixed]
    evidence = f"the object is only ever {going}: friction ({', '.join(dry)}) and a constant force"
    if held:
        yield Finding("one way", f"{evidence} are separated only by what is fixed ({', '.join(held)})")
        return
    remedy = f"move it both ways, or fix one of {static[0]} to {static[-1]}, or leave {', '.join(dry)} out"
    yield Finding("one way", f"{evidence} cannot be separated", remedy=remedy)


def extrapolated(case: Case) -> Iterator[Finding]:
    """Positions that the model speaks about and the fit has not seen."""
    position = along_travel(case.fit)[0]
    if len(position) == 0:
        return
    low, high = float(np.nanmin(position)), float(np.nanmax(position))
    if low > EXTRAPOLATED * case.fit.inputs.step and not case.model.mechanism.endless:
        unseen = f"the object was never seen moving below {case.shown(low, '.0f')}"
        yield Finding("extrapolated", f"{unseen}: its behaviour near the closed position is extrapolated")
    springs = any(e.stores and e.acts_on != "wrench" for e in case.model.elements)
    if springs and not case.prepared.segments["quasi_static"] and case.config.captured:
        yield Finding("extrapolated", "there is no quasi-static segment: the spring is known only from fast motion")
    if not high > low:
        yield Finding("extrapolated", "the object did not move")


def replayed(case: Case) -> Iterator[Finding]:
    """A replay that went elsewhere, or that there is none; and C that was made for it and could not be compiled."""
    if case.replay is None:
        return
    if case.replay.not_in_c:
        evidence = f"the replay was played in Python, which is slower: {case.replay.not_in_c}"
        yield Finding("compiler", evidence, remedy="mend the compiler; if others refuse it too, report it")
    if not case.replay.windows:
        travel = case.shown(case.replay.least_travel, ".0f")
        evidence = f"there is no replay: no uninterrupted ten seconds in which the object travels {travel}"
        yield Finding("replay", evidence)
        return
    windows, least, inputs = case.replay.windows, ASTRAY * case.fit.inputs.step, case.fit.inputs
    errors = np.array([w.rms for w in windows])
    if errors.max() < least:
        return
    explained, paths = _explained_replay(case, windows), [w.tracks[0].simulated for w in windows]
    # an integrated acceleration goes astray itself, all of a window the same way: by twice the usual now and then
    explained = np.hypot(explained, 2 * inputs.drift * float(np.ptp(windows[0].times_s)))
    low, high = inputs.stops or (-np.inf, np.inf)
    free = np.array([x.min() > low and x.max() < high for x in paths])  # of a stop only the place is known
    lost = errors > np.maximum(LOST * max(w.travel for w in windows), explained)
    snapped = lost & np.array([w.anew is not None and w.anew <= least for w in windows])
    lost &= ~snapped
    astray = lost | (free & (errors > np.maximum(least, explained)))  # what falls over goes astray by itself
    if astray.any():
        i = int(np.where(astray, errors, 0.0).argmax())
        evidence = (
            f"the replay is off by {case.shown(errors[i], '.0f')} RMS in the window from "
            f"{windows[i].start_s:.0f} s, where force errors the size of the fit's residuals "
            f"{'and the drift of the travel ' if inputs.drift > 0 else ''}explain "
            f"{case.shown(explained[i], '.1f')}: the object meets stops or hands unknown to the model, or it is wrong"
        )
        fails = bool((lost | (free & (errors > np.maximum(least, WAYWARD * explained)))).any())
        severity = Severity.FATAL if fails else Severity.WARNING
        yield Finding("replay", evidence, remedy="look at these windows in the report", severity=severity)
    elif snapped.any():
        i = int(np.where(snapped, errors, 0.0).argmax())
        evidence = (
            f"the replay goes elsewhere in the window from {windows[i].start_s:.0f} s, off by "
            f"{case.shown(errors[i], '.0f')} RMS, though it follows where it begins anew: a small error decides "
            "where such an object goes"
        )
        yield Finding("replay", evidence, remedy="look at this window in the report; state stops: where there are any")
    else:
        yield from _given_way(case, windows, np.where(errors > np.maximum(least, explained), errors, 0.0))


def _given_way(case: Case, windows: Sequence[Window], errors: FloatArray) -> Iterator[Finding]:
    """A replay that a hard stop turns back where the object's own gave way. errors (windows,): 0 where explained."""
    inputs = case.fit.inputs
    if inputs.stops is None:
        return
    beyond = [
        max((inputs.stops[0] - float(x.min()), inputs.stops[0]), (float(x.max()) - inputs.stops[1], inputs.stops[1]))
        for x in (w.tracks[0].measured for w in windows)
    ]
    errors = np.where(np.array([by for by, _ in beyond]) > GAVE_WAY * inputs.step, errors, 0.0)
    i = int(errors.argmax())
    if errors[i] == 0:
        return
    by, at = beyond[i]
    evidence = (
        f"the replay is off by {case.shown(errors[i], '.0f')} RMS in the window from {windows[i].start_s:.0f} s: a "
        f"hard stop at {case.shown(at, '.0f')} turns it back, where the object went on by {case.shown(by, '.0f')}; of "
        "how a stop gives way the model knows nothing"
    )
    remedy = "correct stops:, or, where it is to be felt, add an end-stop to elements"
    yield Finding("replay", evidence, remedy=remedy)


def _explained_replay(case: Case, windows: Sequence[Window]) -> FloatArray:
    """(windows,) RMS: how far forces such as the fit leaves lead a replay astray, on average, whenever they begin."""
    fit, inputs = case.fit, case.fit.inputs
    left = fit.residuals([s for kind in case.prepared.segments.values() for s in kind])[:, 0]
    count, rate = len(windows[0].times_s), inputs.rate_hz
    at = np.searchsorted(inputs.times_s, [w.start_s - 0.5 / rate for w in windows]) + np.arange(count)[:, None]
    begins = np.linspace(0, len(left), BEGINNINGS, endpoint=False).astype(int)
    forces = left[(np.arange(count)[:, None] + begins) % len(left)]
    states = inputs.mechanism.states(fit.moved.motion)[at]
    held = np.broadcast_to(fit.moved.resting, len(inputs.times_s))[at]
    forces = np.repeat(forces[:, None], len(windows), axis=1)
    away = led_astray(fit.solution.model.of_object(), states, forces, held, 1 / rate)
    return np.sqrt(np.mean(away[1:] ** 2, axis=(0, 2)))
