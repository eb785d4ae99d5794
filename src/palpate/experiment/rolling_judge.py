"""What a rolling object's result can be trusted for: exchanged sensors, feet on the ground, numbers not in the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.elements import SENSOR, WheelSpin
from palpate.errors import PalpateError
from palpate.experiment.body_doubts import MEAN_S, TOUCHED
from palpate.experiment.body_judge import OFTEN, WORST_PERCENT, reasons
from palpate.experiment.rolling_fit import RollingFit, by_data
from palpate.experiment.rolling_inputs import RollingInputs
from palpate.findings import Finding, Severity
from palpate.identify import solve
from palpate.identify.balance import Segment
from palpate.identify.clock_profile import residuals
from palpate.identify.solution import Estimate, Solution, Status
from palpate.mechanisms.rolling import HEADING, PATCH, YAW, Rolling
from palpate.model import Model
from palpate.motion.derivatives.differentiate import stretches
from palpate.physics.arrays import FloatArray

BETTER = 0.5
"""Exchanged load cells explain the wrench better when they leave less than this share of the squares."""
ORDINARY = 0.5
"""rad/s: who wheels something about turns it, and its wheel, at least so fast."""
MASS_OFF = 0.02
"""A stated mass may differ from what the data weigh by so much: load cells are no scales."""
QUIET = 0.1
"""A row whose range is less than this share of the largest of its unit is not what the motion is about."""
SAME = 1e-6
"""Columns whose directions differ by less are one."""
UNEXPLAINED = "the model does not explain the wrench (error of range, "
"""How `reasons` begins for a row."""
GRAVITY_ADVICE = "lift the handles through a larger range"
MOTIONS: Mapping[str, str] = {
    "m": "push and pull it faster",
    "c_x": GRAVITY_ADVICE,
    "c_y": GRAVITY_ADVICE,
    "c_z": "lean it further to either side",
    "Ixx": "turn it faster to and fro on the spot (yaw)",
    "Iyy": "rock it faster from side to side (camber)",
    "Izz": "lift and lower the handles faster (pitch)",
    "Ixy": "rock it from side to side faster while it turns (camber and yaw)",
    "Ixz": "turn it to and fro faster while the handles go up and down (yaw and pitch)",
    "Iyz": "rock it from side to side faster while the handles go up and down (camber and pitch)",
}
"""What shows a parameter; x of the frame points down, y to the handles, z left along the axle."""
_AT_SEVERAL = "turn it to and fro (yaw) with the handles high and with the handles low"
UPRIGHT: Mapping[str, str] = {
    "c_z": "turn it faster to and fro while it goes ahead and back (yaw)",
    "Ixx": _AT_SEVERAL,
    "Ixy": _AT_SEVERAL,
    "Iyy": _AT_SEVERAL,
    "Iyz": MOTIONS["Ixz"],
}
"""The same of what cannot lean."""


def motion_for(model: Model, name: str) -> str | None:
    """The motion that shows a parameter, by its name on a drawing or by what its element acts on; None: not known."""
    if name in MOTIONS:
        upright = isinstance(model.mechanism, Rolling) and model.mechanism.moves == "upright"
        return UPRIGHT.get(name, MOTIONS[name]) if upright else MOTIONS[name]
    owner = next((e for e in model.elements for p in e.parameters if p.name == name.rpartition(".")[2]), None)
    if owner is None or owner.acts_on == SENSOR:
        return None
    if owner.acts_on in (YAW, HEADING, PATCH):
        return "turn it to and fro on the spot (yaw)"
    if isinstance(owner, WheelSpin):
        return "push and pull it with faster starts and stops"
    return "push and pull it slowly, too" if owner.dry else "push and pull it at several speeds"


def judged(fit: RollingFit) -> tuple[Solution, dict[str, str]]:
    """The solution with statuses that fit scalar parameters, and for each of the object that is refused, why.

    A coefficient that cannot be told from zero is known as such where all that its interval allows drowns in the
    residual, at an ordinary speed too, and the residual is not large for another reason; else it is not known.
    """
    model, solution = fit.inputs.model, fit.solution
    inside = fit.inside(fit.segments)
    rows = fit.seen.rows[inside]
    level = np.sqrt(np.mean(fit.residuals(fit.segments) ** 2, axis=0)) if len(rows) else np.ones(rows.shape[1])
    explained = len(rows) > 0 and _explained(fit, level, np.ptp(rows[:, :, -1], axis=0))
    own, slowness = set(model.of_object().parameters), _slowness(fit)
    refused: dict[str, str] = {}
    found: list[Estimate] = []
    for i, (e, (name, parameter)) in enumerate(zip(solution.estimates, model.parameters.items(), strict=True)):
        why, half = "", solution.uncertainty.critical * e.noise
        if e.status is Status.NOT_IDENTIFIABLE:
            same = _twins(rows, i, list(model.parameters))
            why = "the motion does not tell it from others"
            if same:
                why = f"it does the same as {', '.join(same)}: fix one of them (fixed:), the rest is the other"
            if not solution.uncertainty.enough:
                why = "the train segments are too short to know the noise"
        if parameter.map == "positive" and e.status is not Status.FIXED and solution.uncertainty.enough:
            share = np.percentile(np.abs(rows[:, :, i]), OFTEN, axis=0) / level if len(rows) else np.zeros(1)
            if not len(rows) or float(share.max()) < 1e-9:
                why = "the motion never shows it"
            elif np.isfinite(half) and half >= e.value:
                drowned = explained and (e.value + half) * slowness.get(name, 1.0) * float(share.max()) <= 1
                why = "" if drowned else f"it cannot be told from zero: at most {e.value + half:.3g} {e.unit}"
                if drowned:
                    e = replace(e, status=Status.IDENTIFIED, ci95=(0.0, e.value + half))
        if why:
            e = replace(e, status=Status.NOT_IDENTIFIABLE, ci95=None)
            if e.name in fit.inputs.rolling.hidden:
                e = replace(e, information_from_data=0.0)
            elif name in own:
                advice = None if "fixed:" in why else motion_for(model, e.name)
                refused[e.name] = why if advice is None else f"{why}; {advice}"
        elif parameter.map == "positive" and e.ci95 is not None:
            e = replace(e, ci95=(max(e.ci95[0], 0.0), e.ci95[1]))
        found.append(e)
    return replace(solution, estimates=tuple(found)), refused


def _explained(fit: RollingFit, level: FloatArray, span: FloatArray) -> bool:
    """Whether what is left of each row (rows,) is small beside its range (rows,), as `why_failed` judges it."""
    units = np.array([row.unit for row in fit.inputs.model.mechanism.rows])
    most = np.array([span[units == unit].max() for unit in units])
    return bool(np.all(level <= WORST_PERCENT / 100 * np.maximum(span, QUIET * most)))


def _slowness(fit: RollingFit) -> dict[str, float]:
    """Viscous coefficients -> how many times faster than in the fit their coordinate ordinarily moves, at least 1."""
    inside, k = fit.inside(fit.segments), fit.balance.kinematics
    model, found = fit.inputs.model, dict[str, float]()
    names = iter(model.parameters)
    for element in model.elements:
        own = [next(names) for _ in element.parameters]
        coordinate = k.coordinates.get(element.acts_on)
        if coordinate is None or element.dry or not inside.any():
            continue
        speed = float(np.percentile(np.abs(np.asarray(coordinate.speed)[inside]), OFTEN))
        found |= dict.fromkeys(own, max(1.0, ORDINARY / max(speed, 1e-12)))
    return found


def _twins(rows: FloatArray, i: int, names: Sequence[str]) -> list[str]:
    """Parameters whose columns of (samples, rows, parameters + 1) are that of the i-th times a number."""
    columns = rows[:, :, :-1].reshape(-1, len(names))
    sizes = np.linalg.norm(columns, axis=0)
    alike = np.abs(columns.T @ columns[:, i]) >= (1 - SAME) * sizes * sizes[i]
    return [n for j, n in enumerate(names) if j != i and alike[j] and sizes[j] > 0 and sizes[i] > 0]


def motion_hints(fit: RollingFit) -> list[str]:
    """For numbers that are partly the prior's: whether lambda makes them so, or the motion that would show them."""
    hidden = fit.inputs.rolling.hidden
    leaning = [
        e
        for e in fit.solution.estimates
        if e.status is Status.PRIOR_DOMINATED and e.prior is not None and e.name not in hidden
    ]
    if not leaning:
        return []
    free = by_data(fit)
    known = [] if free is None else [e.name for e in leaning if free[e.name].status is Status.IDENTIFIED]
    told: dict[str, list[str]] = {}
    for e in leaning:
        motion = motion_for(fit.inputs.model, e.name)
        if e.name not in known and motion is not None:
            told.setdefault(motion, []).append(e.name)
    parts = [f"for {', '.join(names)} {motion}" for motion, names in told.items()]
    if free is not None and known:
        which = "them" if len(known) == len(leaning) else ", ".join(known)
        parts.insert(0, f"lambda is stated as {fit.solution.damping:g}, with damping: auto the data alone tell {which}")
        there = [(e, free[e.name].value) for e in leaning if e.name in known and e.ci95 is not None]
        far = [f"{e.name} {v:.3g} {e.unit}" for e, v in there if e.ci95 and not e.ci95[0] <= v <= e.ci95[1]]
        if far:
            parts.insert(1, f"{', '.join(far)}, outside the interval here: the drawing is off by more than its spread")
    return [f"{', '.join(e.name for e in leaning)} lean on the prior: {'; '.join(parts)}"] if parts else []


def damping_doubts(solution: Solution, changes: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Numbers called identified that half or twice the lambda moves out of their interval."""
    halves = {
        e.name: (e.ci95[1] - e.ci95[0]) / 2
        for e in solution.estimates
        if e.status is Status.IDENTIFIED and e.ci95 is not None
    }
    moved = [n for n, half in halves.items() if any(abs(own[n]) > half for own in changes.values())]
    if not moved:
        return []
    return [f"half or twice the lambda moves {', '.join(moved)} out of the interval: the prior holds more than is said"]


def feet_findings(inputs: RollingInputs, segments: Mapping[str, Sequence[Segment]]) -> list[Finding]:
    """Feet on the ground inside segments: how long, and when."""
    found: list[Finding] = []
    for name in ("train", "test"):
        inside = np.zeros(len(inputs.times_s), dtype=bool)
        for a, b in segments[name]:
            inside |= (inputs.times_s >= a) & (inputs.times_s < b)
        down = inside & inputs.grounded
        spans = stretches(inputs.times_s, down, 2)
        if not spans:
            continue
        times = [f"{inputs.times_s[a]:.1f} to {inputs.times_s[b - 1]:.1f} s" for a, b in spans]
        more = f" and {len(times) - 5} more" if len(times) > 5 else ""
        told = (
            f"segments.{name}: a foot is on the ground for {down.sum() / inputs.rate_hz:.1f} s "
            f"({', '.join(times[:5])}{more}): these samples are left out, the ground carries an unknown part there"
        )
        found.append(Finding("feet", told))
    return found


def touched_findings(inputs: RollingInputs) -> list[Finding]:
    """Somebody touches a handle in the static segment: its wrench then changes more than its noise does."""
    if inputs.static is None or inputs.zero != "still":
        return []
    at = (inputs.times_s >= inputs.static[0]) & (inputs.times_s < inputs.static[1])
    count = max(1, round(MEAN_S * inputs.rate_hz))
    found: list[Finding] = []
    for i, w in enumerate(inputs.measured):
        inside = w[at][np.isfinite(w[at]).all(axis=1)]
        if len(inside) < 2 * count:
            told = f"segments.static: load cell {i + 1} saw hardly anything there, so that its zero is not known"
            found.append(Finding("zero", told, severity=Severity.FATAL))
            continue
        sums = np.cumsum(np.concatenate([np.zeros((1, 6)), inside]), axis=0)
        change = np.ptp((sums[count:] - sums[:-count]) / count, axis=0)
        extent = np.maximum(np.ptp(np.nanpercentile(w, [1, 99], axis=0), axis=0), 1e-300)
        quick = np.median(np.abs(np.diff(inside, axis=0)), axis=0) / 0.6745 / np.sqrt(2)
        share = np.where(change > 10 * quick / np.sqrt(count), change / extent, 0.0)
        if share.max() > TOUCHED:
            told = (
                f"in segments.static the wrench of load cell {i + 1} changes by {100 * share.max():.0f} % of all that "
                "is recorded: somebody touches the handles there, or the object moves, so that the zero is wrong"
            )
            found.append(Finding("zero", told, severity=Severity.FATAL))
    return found


def swap_findings(fit: RollingFit) -> list[Finding]:
    """Right and left exchanged, if the wrench is explained far better so."""
    if len(fit.inputs.sensors) != 2:
        return []
    try:
        train = replace(fit.inputs.swapped().compressed(fit.segments), weights=fit.train.weights)
        ours, theirs = (float(residuals(t).sum()) for t in (fit.train, train))
    except PalpateError:
        return []
    return (
        [Finding("swapped", swapped_text(np.sqrt(theirs / ours)), severity=Severity.FATAL)]
        if theirs < BETTER * ours
        else []
    )


def swapped_text(share: float | None = None) -> str:
    """Words for exchanged load cells; share: of the error that is left without the exchange."""
    how = "only so" if share is None else f"far better so: the error falls to {100 * share:.0f} %"
    return (
        "right and left load cell seem to be exchanged (the wrench is explained "
        f"{how}): exchange recordings.wrench and recordings.wrench_2, or markers.sensor and markers.sensor_2"
    )


def weighed_findings(fit: RollingFit) -> list[Finding]:
    """A stated mass that the data contradict: with the push along the heading they weigh the object themselves."""
    known = fit.believed.mass
    if known is None:
        return []
    free = solve(fit.train, factor=fit.believed.factor, fixed=fit.believed.fixed)
    m = next((e for e in free.estimates if e.name.rpartition(".")[2] == "m"), None)
    if m is None or m.status is not Status.IDENTIFIED or m.ci95 is None:
        return []
    half = (m.ci95[1] - m.ci95[0]) / 2
    if abs(m.value - known) <= max(MASS_OFF * known, 2.5 * half):
        return []
    told = (
        f"known_mass makes it {known:.4g} kg, the data say {m.value:.4g} +- {half:.2g} kg: weigh it again, and say of "
        "what (of: body, or whole with the handles); centre of mass and inertias follow the stated one"
    )
    return [Finding("mass", told, severity=Severity.FATAL)]


def mass_findings(known: bool) -> list[Finding]:
    """A mass that nobody weighed."""
    if known:
        return []
    told = (
        "known_mass is missing: the mass is estimated from how the object speeds up and slows down, and every inertia "
        "with it; a scale tells it better, known_mass: {value: 45 kg, of: whole}"
    )
    return [Finding("mass", told)]


def why_failed(
    solution: Solution, refused: Mapping[str, str], rms: Mapping[str, Any], findings: Sequence[Finding], sensors: int
) -> list[str]:
    """Why the verdict is "failed"; empty when it passed. Where the cause is known, what follows from it is not told."""
    told = reasons(replace(solution, impossible=()), {}, _of_loud_rows(rms), findings)
    misfit = [text for text in told if text.startswith(UNEXPLAINED)]
    told = [text for text in told if text not in misfit]
    if any(f.cause == "swapped" for f in findings):
        lost = [f"until then {_listed(refused)} not known"] if refused else []
        return [*(f.sentence for f in findings if f.fatal), *lost]
    if misfit:
        rows = "; ".join(text.removeprefix(UNEXPLAINED).partition(")")[0] for text in misfit)
        told.append(f"{UNEXPLAINED}{rows}){misfit[0].partition(')')[2]}")
    if sensors == 1 and misfit:
        told.insert(0, "only one load cell is given: if both hands held the object, recordings.wrench_2 is missing")
    told += [f"{_listed(dict.fromkeys(names))} not known{why}" for why, names in _alike(refused, misfit).items()]
    if len(solution.impossible) > 2:
        names = [text.removeprefix("without constraints ").split(" = ")[0] for text in solution.impossible]
        told.append(
            f"without constraints {', '.join(names)} come out impossible: the wrench has the wrong sign "
            "(recordings.wrench.sign), a sensor's frame or the axle's is wrong, or right and left are exchanged"
        )
    else:
        told += [text.replace("lever arm of the IMU", "lever arm of a sensor") for text in solution.impossible]
    return list(dict.fromkeys(told))


def _of_loud_rows(rms: Mapping[str, Any]) -> dict[str, Any]:
    """RMS with shares of a range that is at least `QUIET` of the largest of its unit: noise is most of a row that the
    motion leaves alone, and no misfit.
    """
    found: dict[str, Any] = {}
    for name, rows in rms.items():
        ranges = {n: 100 * r["value"] / r["percent_of_range"] for n, r in rows.items() if r["percent_of_range"]}
        found[name] = dict(rows)
        for n, own in ranges.items():
            most = max(v for other, v in ranges.items() if rows[other]["unit"] == rows[n]["unit"])
            found[name][n] = {**rows[n], "percent_of_range": 100 * rows[n]["value"] / max(own, QUIET * most)}
    return found


def _alike(refused: Mapping[str, str], misfit: Sequence[str]) -> dict[str, list[str]]:
    """Names that are refused for the same reason; no motion helps where the model does not explain the wrench."""
    found: dict[str, list[str]] = {}
    for name, why in refused.items():
        found.setdefault("" if misfit else f": {why}", []).append(name)
    return found


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return f"{', '.join(found)} {'is' if len(found) == 1 else 'are'}"
