"""What a body's result can be trusted for: numbers that the data do not tell are refused, doubts are said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.elements import ScalarInertia, ZoneDamper
from palpate.experiment.body_fit import BodyFit
from palpate.identify.balance import Segment
from palpate.identify.search import Ending
from palpate.identify.solution import Estimate, Solution, Status
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.recording.gates import Finding

WORST_PERCENT = 10.0
"""Test RMS beyond this share of the range: something is wrong, not just noisy (the paper's own door: 5.2 %)."""
VAGUE = 0.5
"""An inertia whose interval reaches this share of it to either side is not known."""
OFTEN = 95.0
"""Percentile of a column's size that stands for what it does to the torque."""
SCALE_TOLERANCE = 0.05
REST_SHARE = 0.05
LONG_S = 0.25
"""A sample is at rest for certain where it has been and will be for so long."""


def judged(fit: BodyFit, *, rate_known: bool) -> tuple[Solution, dict[str, str]]:
    """The solution with statuses that fit scalar parameters, and for each that is refused, why.

    A coefficient that cannot be told from zero is known as such where all that its interval allows drowns in the
    residual; else it is not known.
    """
    rows = np.concatenate([fit.prediction.rows(s)[:, 0] for s in fit.segments])
    used = np.concatenate([fit.used(s) for s in fit.segments])
    columns, level = rows[used][:, :-1], float(np.sqrt(np.mean(fit.residuals(fit.segments) ** 2)))
    owner = {p.name: e for e in fit.inputs.model.elements for p in e.parameters}
    refused: dict[str, str] = {}
    found: list[Estimate] = []
    for e, parameter, column in zip(
        fit.solution.estimates, fit.inputs.model.parameters.values(), columns.T, strict=True
    ):
        element = owner[parameter.name]
        why = ""
        if e.status is not Status.FIXED:
            why = _why(
                e, element, column, level, fit.solution.uncertainty.critical, positive=parameter.map == "positive"
            )
            timed = isinstance(element, ScalarInertia) or "s" in re.split(r"[ /]", parameter.unit)
            if not why and timed and not rate_known:
                why = "the rate of the recording is a guess"
        if why:
            refused[e.name] = why
            e = replace(e, status=Status.NOT_IDENTIFIABLE, ci95=None)
        elif e.ci95 is not None and parameter.map == "positive":
            e = replace(e, ci95=(max(e.ci95[0], 0.0), e.ci95[1]))
        found.append(e)
    return replace(fit.solution, estimates=tuple(found)), refused


def _why(e: Estimate, element: Any, column: FloatArray, level: float, critical: float, *, positive: bool) -> str:
    """Why a number is refused; empty if it is not."""
    acting = np.abs(column[np.abs(column) > 1e-3 * max(np.abs(column).max(initial=0.0), 1e-300)])
    if len(acting) == 0 or np.abs(column).max() < 1e-9:
        return _never(element)
    half = critical * e.noise
    if e.status is Status.NOT_IDENTIFIABLE and not (positive and np.isfinite(half)):
        return "the motion does not tell it from others"
    if isinstance(element, ScalarInertia) and half > VAGUE * e.value:
        return f"the motion is too slow or too short for it: at most {e.value + half:.3g} {e.unit}"
    if positive and half >= e.value and (e.value + half) * float(np.percentile(acting, OFTEN)) > level:
        return f"it cannot be told from zero: at most {e.value + half:.3g} {e.unit}"
    return ""


def _never(element: Any) -> str:
    """What was never done that would show an element."""
    if not isinstance(element, ZoneDamper):
        return "the motion never shows it"
    way = {"opening": "opening", "closing": "closing", "both": "moving"}[element.when]
    zone = f" above {np.degrees(element.above):.0f} deg" if element.above is not None else ""
    zone += f" below {np.degrees(element.below):.0f} deg" if element.below is not None else ""
    if element.otherwise and zone:
        zone = f" on both sides of {np.degrees(element.above or element.below or 0.0):.0f} deg"
    return f"the object is never seen {way}{zone}"


def reasons(
    solution: Solution, refused: Mapping[str, str], rms: Mapping[str, Any], findings: Sequence[Finding]
) -> list[str]:
    """Why the verdict is "failed"; empty when it passed."""
    told = [*(f.message for f in findings if f.fatal), *solution.impossible]
    told += [f"{name} is not known: {why}" for name, why in refused.items()]
    if solution.ending not in (Ending.CONVERGED, Ending.FLAT):
        told.append(solution.ending.value)
    if not solution.uncertainty.enough:
        told.append("the train segments are too short to know the noise")
    for row, test in rms["test"].items():
        if test["value"] > 2 * rms["train"][row]["value"]:
            told.append(
                f"{row}: the test error {test['value']:.3g} {test['unit']} is more than twice the train error "
                f"{rms['train'][row]['value']:.3g}; the fit does not carry over"
            )
        if test["percent_of_range"] is not None and test["percent_of_range"] > WORST_PERCENT:
            told.append(
                f"the model does not explain the wrench (test error of range: {row} {test['percent_of_range']:.0f} %): "
                "look for a wrong sign, frame, clock or lever arm, or for an effect that the object file lacks"
            )
    return told


def scale_doubts(known: Mapping[str, float], solution: Solution) -> list[str]:
    """What a quantity known from a scale and a ruler says about the scale of force or torque."""
    told: list[str] = []
    for name, value in known.items():
        e = solution[name]
        if e.ci95 is None or value == 0:
            told.append(f"{name} is known, but the data do not tell it: the torque's scale cannot be checked")
            continue
        ratio, low, high = e.value / value, *sorted(bound / value for bound in e.ci95)
        if abs(ratio - 1) > SCALE_TOLERANCE and not low <= 1 <= high:
            told.append(
                f"{name} comes out {ratio:.2f} times ({low:.2f} to {high:.2f}) what is known ({value:.4g} {e.unit}): "
                "the scale of the force or torque is doubtful, and everything in N and N m with it; ratios such as "
                "inertia over mass stay right"
            )
    return told


def resting_doubts(fit: BodyFit, segments: Sequence[Segment]) -> list[str]:
    """Where the object rests, friction is anywhere within its level: the spring must be within that of the torque."""
    inputs, model = fit.inputs, fit.solution.model
    found = inputs.derivatives()
    wrench = fit.balance.wrench[:, 5]
    inside = np.zeros(len(wrench), dtype=bool)
    for s in segments:
        inside[slice(*fit.balance.indices(s))] = True
    resting = _long(inputs.resting(found) & inside, round(2 * LONG_S * inputs.rate_hz))
    at = np.flatnonzero(resting & np.isfinite(wrench) & _clear_of_stops(fit))
    if len(at) < 100:
        return []
    held, limit = holding(model, found.angle[at])
    excess = np.abs(wrench[at] - held) - limit
    level = float(np.sqrt(np.mean(fit.residuals(fit.segments) ** 2)))
    share = float(np.mean(excess > 2 * level))
    if share < REST_SHARE:
        return []
    return [
        f"in {100 * share:.0f} % of the samples at rest the torque differs from the spring's by more than the friction "
        "in motion could hold: static friction may be higher (try a stribeck element), or the angle of rest is wrong"
    ]


def holding(model: Any, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Torque (N m) that holds an object still at these angles without friction, and how far dry friction may stray."""
    from palpate.physics.functions import ARRAYS

    k = model.mechanism.expand([angle, np.zeros_like(angle)], [np.zeros_like(angle)], model.shapes, ARRAYS)
    still = np.broadcast_to(model.without_dry().wrench(k, ARRAYS)[0], angle.shape)
    dry = sum(np.abs(ratio[0]) * level for ratio, level in model.dry_forces(k, ARRAYS))
    return np.asarray(still, dtype=float), np.broadcast_to(np.asarray(dry, dtype=float), angle.shape)


def _long(resting: BoolArray, length: int) -> BoolArray:
    """Samples in the midst of a rest, so many around them at rest too: a turning point is none."""
    around = np.convolve(resting, np.ones(2 * (length // 2) + 1), mode="same")
    return around > 2 * (length // 2) + 0.5


def _clear_of_stops(fit: BodyFit) -> BoolArray:
    low, high = fit.inputs.stops or (-np.inf, np.inf)
    return (fit.inputs.angle > low + np.radians(2)) & (fit.inputs.angle < high - np.radians(2))
