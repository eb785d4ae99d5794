"""What a body's result can be trusted for: numbers that the data do not tell are refused, doubts are said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.elements import PolynomialSpring, ScalarInertia, ZoneDamper
from palpate.errors import PalpateError
from palpate.experiment.body_fit import BodyFit
from palpate.experiment.hinge_inputs import ATTENUATION_DB
from palpate.findings import Finding
from palpate.identify import solve
from palpate.identify.balance import Segment
from palpate.identify.problem import Ending
from palpate.identify.solution import Estimate, Solution, Status
from palpate.motion.derivatives.filters import design_lowpass
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.kinematics import Kinematics

WORST_PERCENT = 10.0
"""Test RMS beyond this share of the range: something is wrong, not just noisy (the paper's own door: 5.2 %)."""
VAGUE = 0.5
"""An inertia whose interval reaches this share of it to either side is not known."""
OFTEN = 95.0
"""Percentile of a column's size that stands for what it does to the torque."""
ONE_WAY = 0.1
"""Less of the way than this share back: moved in one direction only."""
LEAST_WAY_RAD = np.radians(5.0)
"""Less way in a zone is an accident (an overshoot, a tremor), no test of it."""
SCALE_TOLERANCE, UNCHECKED = 0.05, 0.2
"""By so much a scale must be off to be accused; an interval beyond the second to either side cannot tell."""
REST_SHARE = 0.05
SURE = 5.0
MOVED = 3.0
"""Standard deviations by which a number may move with the filter."""
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
    seen, enough = _seen(fit), fit.solution.uncertainty.enough
    owner = {p.name: e for e in fit.inputs.model.elements for p in e.parameters}
    refused: dict[str, str] = {}
    found: list[Estimate] = []
    for e, parameter, column in zip(
        fit.solution.estimates, fit.inputs.model.parameters.values(), columns.T, strict=True
    ):
        element = owner[parameter.name]
        why = ""
        timed = isinstance(element, ScalarInertia) or "s" in re.split(r"[ /]", parameter.unit)
        if e.status is not Status.FIXED and not enough:
            why = "the segments are too short to know the noise"
        elif e.status is not Status.FIXED and timed and not rate_known:
            why = "the rate of the recording is a guess"
        elif e.status is not Status.FIXED:
            why = _unseen(element, parameter.name, seen) or _why(
                e, element, column, level, fit.solution.uncertainty.critical, positive=parameter.map == "positive"
            )
        if why:
            refused[e.name] = why
            e = replace(e, status=Status.NOT_IDENTIFIABLE, ci95=None)
        elif e.status is Status.NOT_IDENTIFIABLE:
            half = fit.solution.uncertainty.critical * e.noise
            e = replace(e, status=Status.IDENTIFIED, ci95=(max(e.value - half, 0.0), e.value + half))
        elif e.ci95 is not None and parameter.map == "positive":
            e = replace(e, ci95=(max(e.ci95[0], 0.0), e.ci95[1]))
        found.append(e)
    return replace(fit.solution, estimates=tuple(found)), refused


def _why(e: Estimate, element: Any, column: FloatArray, level: float, critical: float, *, positive: bool) -> str:
    """Why a number is refused; empty if it is not."""
    acting = np.abs(column[np.abs(column) > 1e-3 * max(np.abs(column).max(initial=0.0), 1e-300)])
    if len(acting) == 0 or np.abs(column).max() < 1e-9:
        return "the motion never shows it"
    half = critical * e.noise
    # what may be zero can be known all the same, as next to nothing
    if e.status is Status.NOT_IDENTIFIABLE and not (positive and np.isfinite(half) and half >= e.value):
        return "the motion does not tell it from others"
    if isinstance(element, ScalarInertia) and half > VAGUE * e.value:
        return "the motion is too slow or too short for it, or something else moves the object"
    if positive and half >= e.value and (e.value + half) * float(np.percentile(acting, OFTEN)) > level:
        return f"it cannot be told from zero: at most {e.value + half:.3g} {e.unit}"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The motion that a fit speaks about: way travelled between two samples, and where."""

    kinematics: Kinematics
    at: NDArray[np.int64]
    """The samples that count."""
    dt_s: float

    def way(self, element: ZoneDamper, *, otherwise: bool) -> float:
        """How far the object goes in an element's zone, in its direction, rad; samples count as far as they are in."""
        q = self._of(element.over)[0]
        inside = np.ones_like(q)
        for border, sign in ((element.above, 1.0), (element.below, -1.0)):
            if border is not None:
                inside = inside * (1 + np.tanh(sign * (q - border) / element.width)) / 2
        speed = self._of(element.acts_on)[1]  # what the element itself looks at
        way = np.abs(self._of(element.over)[1])
        going = {"opening": speed > 0, "closing": speed < 0, "both": speed != 0}[element.when]
        return float(np.sum(way * going * (1 - inside if otherwise else inside)) * self.dt_s)

    def only(self, name: str) -> str:
        """The one direction in which a coordinate was moved; empty if it was moved in both."""
        speed = self._of(name)[1]
        there, back = float(np.maximum(speed, 0).sum()), float(np.maximum(-speed, 0).sum())
        if min(there, back) >= ONE_WAY * max(there, back):
            return ""
        return "opening" if there > back else "closing"

    def _of(self, name: str) -> tuple[FloatArray, FloatArray]:
        coordinate = self.kinematics.coordinates[name]
        return np.asarray(coordinate.position)[self.at], np.asarray(coordinate.speed)[self.at]


def _seen(fit: BodyFit) -> Seen:
    balance = fit.prediction
    inside = [np.arange(*balance.indices(s))[fit.used(s)] for s in fit.segments]
    at = np.asarray(np.concatenate(inside), dtype=np.int64)
    return Seen(balance.kinematics, at, 1 / fit.inputs.rate_hz)


def _unseen(element: Any, name: str, seen: Seen) -> str:
    """What of a zone was not done: too little of it for a number, however small the noise."""
    if not isinstance(element, ZoneDamper):
        return ""
    other = bool(element.otherwise) and name in (element.otherwise, f"{element.otherwise}_turbulent")
    border = element.above if element.above is not None else element.below
    zone = ""
    if border is not None:
        above = (element.above is not None) != other
        zone = f" {'above' if above else 'below'} {np.degrees(border):.0f} deg"
        if element.above is not None and element.below is not None:
            zone = f" {'outside' if other else 'within'} {np.degrees([element.above, element.below]).round()} deg"
    way = element.when if element.when != "both" else "moving"
    only = seen.only(element.acts_on)
    if only and element.when not in ("both", only):
        return f"the object was moved in one direction only, {only}; it takes {way}{zone}"
    gone = seen.way(element, otherwise=other)
    if gone >= LEAST_WAY_RAD:
        return ""
    much = "never" if gone < 0.1 * LEAST_WAY_RAD else f"for {np.degrees(gone):.1f} deg in all"
    return f"the object is seen {way}{zone} {much}" if much != "never" else f"the object is never seen {way}{zone}"


def reasons(
    solution: Solution, refused: Mapping[str, str], rms: Mapping[str, Any], findings: Sequence[Finding]
) -> list[str]:
    """Why the verdict is "failed"; empty when it passed."""
    told = [*(f.sentence for f in findings if f.fatal), *_impossible(solution, refused)]
    told += [f"{name} is not known: {why}" for name, why in refused.items()]
    if solution.ending not in (Ending.CONVERGED, Ending.FLAT):
        told.append(solution.ending.value)
    if not solution.uncertainty.enough:
        told.append("the train segments are too short to know the noise")
    for row, test in rms.get("test", {}).items():
        if test["value"] > 2 * rms["train"][row]["value"]:
            told.append(
                f"{row}: the test error {test['value']:.3g} {test['unit']} is more than twice the train error "
                f"{rms['train'][row]['value']:.3g}; the fit does not carry over"
            )
    if not rms.get("test"):
        told.append("nothing of the test segments can be used: the object rests, or is at a stop, throughout")
    for row in rms.get("test", {}):
        told_of = {name: rms[name][row] for name in ("train", "test", "quasi_static") if name in rms}
        ranges = [100 * r["value"] / r["percent_of_range"] for r in told_of.values() if r["percent_of_range"]]
        # a quiet segment is not to be blamed for its small range
        shares = {name: 100 * r["value"] / max(ranges) for name, r in told_of.items()} if ranges else {}
        bad = [f"{name.replace('_', '-')} {p:.0f} %" for name, p in shares.items() if p > WORST_PERCENT]
        if bad:
            told.append(
                f"the model does not explain the wrench (error of range, {row}: {', '.join(bad)}): "
                "look for a wrong sign, frame, clock or lever arm, or for an effect that the object file lacks"
            )
    return told


def _impossible(solution: Solution, refused: Mapping[str, str]) -> list[str]:
    """Negative inertia and friction; where most of it is, one cause is enough, and of what is not known, none is."""
    named = {text.removeprefix("without constraints ").split(" = ")[0]: text for text in solution.impossible}
    if len(named) < 3:
        return [text for name, text in named.items() if name not in refused]
    return [
        f"without constraints {', '.join(named)} come out negative: the wrench has the wrong sign "
        "(sign: of recordings.wrench or recordings.signals), or the angle has (markers.hinge.points)"
    ]


def scale_doubts(known: Mapping[str, float], solution: Solution) -> list[str]:
    """What a quantity known from a scale and a ruler says about the scale of force or torque."""
    told: list[str] = []
    for name, value in known.items():
        e = solution[name]
        if e.ci95 is None or value == 0:
            told.append(f"{name} is known, but the data do not tell it: the torque's scale cannot be checked")
            continue
        ratio, low, high = e.value / value, *sorted(bound / value for bound in e.ci95)
        if high - low > 2 * UNCHECKED:
            told.append(f"{name} is known only to {50 * (high - low):.0f} %: the torque's scale cannot be checked")
        elif abs(ratio - 1) > SCALE_TOLERANCE and not low <= 1 <= high:
            told.append(
                f"{name} comes out {ratio:.2f} times ({low:.2f} to {high:.2f}) what is known ({value:.4g} {e.unit}): "
                "the scale of the force or torque is doubtful, and everything in N and N m with it; ratios such as "
                "inertia over mass stay right"
            )
    return told


def fixed_doubts(fit: BodyFit) -> list[str]:
    """Stated parameters that the data contradict."""
    stated = {n: v for n, v in fit.how.fixed.items() if n in fit.solution.model.parameters}
    if not stated or fit.how.quasi_static is not None:
        return []
    free = solve(fit.train)
    told = [
        f"{name} = {value:g} is fixed, they say {free[name].value:.3g} (+- {2 * free[name].noise:.2g})"
        for name, value in stated.items()
        if free[name].ci95 is not None
        and abs(free[name].value - value) > max(SURE * free[name].noise, 0.05 * abs(value))
    ]
    return [f"the data contradict what is fixed: {'; '.join(told)}"] if told else []


def bandwidth_doubts(fit: BodyFit) -> list[str]:
    """Numbers that depend on the filter: what it cancels out of the balance must not move them."""
    f = fit.inputs.filtering
    if f.bandwidth_hz is None or f.lowpass is None or not fit.solution.uncertainty.enough:
        return []
    try:
        low = design_lowpass(fit.inputs.rate_hz, f.bandwidth_hz / 2, attenuation_db=ATTENUATION_DB)
        slow = replace(fit.inputs, filtering=replace(f, lowpass=low, bandwidth_hz=f.bandwidth_hz / 2))
        there = fit.again(slow)[1]
    except PalpateError:
        return []
    springs = {p.name for e in fit.inputs.model.elements if isinstance(e, PolynomialSpring) for p in e.parameters}
    told: list[str] = []
    for e, other in zip(fit.solution.estimates, there.estimates, strict=True):
        apart = abs(other.value - e.value)
        if e.ci95 is None or e.status is not Status.IDENTIFIED or e.name in springs:
            continue
        if apart > MOVED * float(np.hypot(e.noise, other.noise)) and apart > 0.05 * abs(e.value):
            told.append(f"{e.name} {e.value:.3g} to {other.value:.3g} {e.unit}")
    if not told:
        return []
    return [
        f"at half the filter's bandwidth ({f.bandwidth_hz:.1f} Hz) these come out differently: {'; '.join(told)}. "
        "Noise of the motion may be in the wrench too (a controller), something may be soft, or an effect is missing"
    ]


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
    held, limit = holding(model, found.position[at])
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
