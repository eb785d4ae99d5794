"""Quality gates: why a result should not be trusted as it is, and what its user should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.experiment.handle_inputs import HandleInputs
from palpate.findings import Finding
from palpate.identify import Balance, Compressed, Solution, solve
from palpate.identify.axes import axis_problems, scale_problems
from palpate.identify.problem import Ending
from palpate.identify.uncertainty import KAPPA_LIMIT
from palpate.motion import noise_floor
from palpate.physics.arrays import FloatArray

WORST_PERCENT = 5.0
"""Test RMS beyond this share of a channel's range: something is wrong, not just noisy."""
NOISE_RATIO = 5.0
"""Residuals beyond this multiple of the load cell's own noise come from something else."""
MASS_TOLERANCE = 0.02
LIGHTER = 2.0
"""Nobody's drawing is wrong by this factor."""
STILL_S, STILL_RAD_S, FAR_S = 1.0, 0.05, 5.0
"""A still stretch lasts at least so long and turns with less than that; two must be that far apart to compare."""


def reasons(
    solution: Solution,
    rms: Mapping[str, Mapping[str, Mapping[str, Any]]],
    findings: Sequence[Finding],
    train: Compressed,
) -> list[str]:
    """Why the verdict is "failed"; empty when it passed."""
    axes = list(axis_problems(train))
    told = [*axes, *(f.sentence for f in findings if f.fatal and f.cause != "placement"), *solution.impossible]
    # whatever is wrong elsewhere makes the IMU look misplaced, and units and lever arms can look alike
    misplaced = [] if told else [f.sentence for f in findings if f.fatal]
    told += [*scale_problems(train), *misplaced]
    if solution.ending not in (Ending.CONVERGED, Ending.FLAT):
        told.append(solution.ending.value)
    if not solution.uncertainty.enough:
        told.append("the train segments are too short to know the noise")
    if solution.conditioning.kappa_eff >= KAPPA_LIMIT:
        told.append(
            f"kappa_eff = {solution.conditioning.kappa_eff:.0f} is not below {KAPPA_LIMIT:.0f}: "
            "the motion leaves a combination of parameters open"
        )
    for row, test in rms["test"].items():
        train_rms = rms["train"][row]["value"]
        if test["value"] > 2 * train_rms:
            told.append(
                f"{row}: the test error {test['value']:.3g} {test['unit']} is more than twice the train error "
                f"{train_rms:.3g}; the fit does not carry over"
            )
    return told + _misfit(rms) + _known_mass(solution, train) + _mass_of_prior(solution)


def remarks(rms: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """What the residuals say beyond the verdict."""
    worse = [
        f"{row} {entry['value'] / entry['noise']:.0f} times"
        for row, entry in rms["test"].items()
        if entry["noise"] and entry["value"] > NOISE_RATIO * entry["noise"] and entry["percent_of_range"] > 0.5
    ]
    if not worse:
        return []
    return [
        f"the residuals exceed the load cell's own noise ({', '.join(worse)}): look at frames, the IMU's lever arm, "
        "clocks and the stiffness of the adapters; the intervals contain noise, not such errors"
    ]


def zero_drift(train: Compressed, solution: Solution) -> list[str]:
    """A load cell's zero that wanders: the residual's mean per piece against time, from the factors alone.

    The score of a bias column is the weighted sum of that row's residuals.
    """
    names = list(train.model.parameters)
    scores = train.scores(solution.p)
    t = np.cumsum(train.samples) / train.samples.sum() - 0.5
    told: list[str] = []
    for row, weight, span in zip(train.model.mechanism.rows, train.weights, train.range(), strict=True):
        if f"bias_{row.name}" not in names:
            continue
        mean = scores[:, names.index(f"bias_{row.name}")] / (weight**2 * train.samples)
        slope = float(t @ (mean - mean.mean()) / (t @ t))
        std = float(np.std(mean - slope * t) / np.sqrt(t @ t))
        if abs(slope) > max(5 * std, 0.01 * span):
            told.append(f"{row.name} {slope:+.2g} {row.unit}")
    if not told:
        return []
    return [f"the load cell's zero drifts during the train segments ({', '.join(told)}): let it warm up, zero it again"]


def zero_change(balance: Balance, solution: Solution) -> list[str]:
    """What the load cell reads beyond the model in the first still stretch against the last one.

    The model knows the weight, so the handle may lie differently.
    """
    still = _still(balance)
    if len(still) < 2 or still[-1][0] - still[0][1] < FAR_S:
        return []
    v = np.append(-solution.p, 1.0)
    ends = (_cut(still[0], last=False), _cut(still[-1], last=True))
    unfiltered = replace(balance, lowpass=None)
    first, last = (_means(unfiltered.rows(s) @ v) for s in ends)
    change = last.mean(axis=0) - first.mean(axis=0)
    std = np.hypot(first.std(axis=0), last.std(axis=0)) / np.sqrt(len(first))
    allowed = np.maximum(0.01 * np.ptp(balance.wrench, axis=0), 5 * std)
    rows = zip(balance.model.mechanism.rows, change.tolist(), allowed.tolist(), strict=True)
    told = [f"{row.name} {by:+.2g} {row.unit}" for row, by, most in rows if abs(by) > most]
    if not told:
        return []
    when = f"{still[0][0]:.1f} and {still[-1][0]:.1f} s"
    return [
        f"the load cell's zero is not the same in the still stretches at {when} ({', '.join(told)}): let it warm up "
        "and zero it again, or something touched the handle there"
    ]


def _cut(stretch: tuple[float, float], *, last: bool) -> tuple[float, float]:
    """Three seconds at most, from the outer end."""
    a, b = stretch
    return (max(a, b - 3 * STILL_S), b) if last else (a, min(b, a + 3 * STILL_S))


def _means(x: FloatArray) -> FloatArray:
    """Means of ten parts of (samples, rows): their scatter tells how well the mean of all is known."""
    size = len(x) // 10
    return np.asarray(x[: 10 * size].reshape(10, size, -1).mean(axis=1), dtype=float)


def _still(balance: Balance) -> list[tuple[float, float]]:
    """Stretches in which nothing turns, seen by all instruments: seconds, in order."""
    rate = (len(balance.times_s) - 1) / (balance.times_s[-1] - balance.times_s[0])
    size = int(STILL_S * rate)
    count = len(balance.times_s) // size
    omega = np.array([x[: count * size] for x in balance.kinematics.omega], dtype=float).reshape(3, count, size)
    quiet = (np.ptp(omega, axis=2) < STILL_RAD_S).all(axis=0)  # NaN is not quiet
    quiet &= np.isfinite(balance.wrench[: count * size]).reshape(count, -1).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]]).astype(int))).reshape(-1, 2)
    return [(float(balance.times_s[a * size]), float(balance.times_s[b * size - 1])) for a, b in edges]


def expected_noise(inputs: HandleInputs) -> list[float]:
    """RMS that the load cell's white noise leaves in each row of the balance, N and N m."""
    gain = 1.0 if inputs.lowpass is None else float(np.linalg.norm(inputs.lowpass.taps))
    return [float(v) for v in noise_floor(inputs.wrench.x) * gain]


def _misfit(rms: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Channels that carry a signal and are not explained."""
    bad = [
        f"{row} {entry['percent_of_range']:.0f} %"
        for row, entry in rms["test"].items()
        if entry["percent_of_range"] is not None
        and entry["percent_of_range"] > WORST_PERCENT
        and entry["value"] > NOISE_RATIO * (entry["noise"] or 0.0)
    ]
    if not bad:
        return []
    return [
        f"the model does not explain the wrench (test error of range: {', '.join(bad)}): look for a wrong unit, "
        "scale, frame or lever arm, a dead or clipped channel, or a handle that somebody touched"
    ]


def _mass_of_prior(solution: Solution) -> list[str]:
    """A mass far from any that the drawing's author admits: not the drawing is wrong, but a unit or a gain."""
    told: list[str] = []
    for e in solution.estimates:
        if e.unit != "kg" or e.prior is None or e.ci95 is None:
            continue
        ratio = max(e.value / e.prior, e.prior / e.value)
        if ratio > LIGHTER and abs(e.value - e.prior) > 3 * np.hypot(e.prior_std, e.noise):
            told.append(
                f"{e.name} = {e.value:.3g} kg is far from the prior's {e.prior:.3g} kg: a wrong unit or gain of the "
                "load cell, or the drawing of another part"
            )
    return told


def _known_mass(solution: Solution, train: Compressed) -> list[str]:
    """A mass from a scale that the data contradict."""
    given = solution["m"] if "m" in [e.name for e in solution.estimates] else None
    if given is None or given.status.value != "fixed":
        return []
    free = solve(train)["m"]
    if abs(free.value - given.value) <= max(MASS_TOLERANCE * given.value, 5 * free.noise):
        return []
    return [
        f"the known mass {given.value:.4g} kg contradicts the data, which say {free.value:.4g} +- {2 * free.noise:.2g} "
        "kg: what was on the scale?"
    ]
