"""Numbers: those that were stated and the data contradict, and those that the data do not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from palpate.elements.element import Element, Scope
from palpate.experiment.gates.explaining import MISFIT_PERCENT, QUIET_ROW, misfit
from palpate.experiment.stage.fit import Fit, damping_changes, solve_with
from palpate.experiment.stage.inputs import STEP
from palpate.experiment.stage.links import found_links
from palpate.experiment.stage.result import Case
from palpate.experiment.stage.variations import weighed
from palpate.findings import Finding, Severity
from palpate.identify import solve
from palpate.identify.diagnosis import lookalikes
from palpate.identify.solution import VAGUE, Estimate, Solution, Status
from palpate.physics.units import told_apart

MASS_HINT, MASS_OFF, MASS_STDS = 0.005, 0.02, 5.0
"""Shares by which a stated mass may differ from what the data weigh before a word and before a failure, or so many
standard deviations.
"""
LIGHTER = 2.0
"""Nobody's drawing is wrong by this factor."""
SCALE_OFF, SCALE_UNKNOWN = 0.05, 0.2
"""By so much a scale must be off to be accused; an interval beyond the second to either side cannot tell."""
FIXED_OFF, FIXED_STDS = 0.05, 5.0
"""A fixed number may differ from what the data say by this share, or by so many standard deviations."""
OFTEN = 95.0
"""Percentile of a column's size, or of a speed, that stands for what it does."""
BRAKED = 0.001
"""Share of the squared effort against the motion below which nobody braked."""
ORDINARY = {"rad": 0.5, "m": 0.2}
"""rad/s, m/s: who moves something by hand moves it at least so fast."""
OTHER_WAY_SHARE = 0.1
"""Less of the way than this share back: moved in one direction only."""
LEAST_WAY = 5.0
"""Steps: less way in a zone is an accident (an overshoot, a tremor), no test of it."""
OFF_STDS, APART_STDS, EXCESS = 4.0, 3.0, 3.0
"""By so many standard deviations data may want something elsewhere, and a joint estimate may differ from the balance's,
before that is a contradiction (Hausman 1978); and how much more than noise it may leave.
"""
KNOWN_SO_WELL = {
    "closed": "where it is closed",
    "travel": "how far it travels",
    "links": "how long its links are",
    "hinge": "where its hinge is",
    "pitch": "how far a screw travels in a turn",
    "sensor_rotation": "how the load cell is turned",
    "zero": "the load cell's zero",
    "ground": "vertical and floor",
}
"""What a joint estimate moves, in words."""
GUESSED_RATE = "the rate of the recording is a guess"
SAME = 1e-6
"""Two elements that differ by a smaller share are one."""


NEAR_ZERO = "it cannot be distinguished from zero"
"""Of a number that may be nothing."""


def refuse(fit: Fit, *, rate_known: bool = True) -> tuple[Solution, dict[str, Finding]]:
    """The solution with statuses that fit scalar parameters, and for each number that is refused, why.

    A coefficient indistinguishable from zero is known as such where all that its interval allows drowns in the
    residual, at an ordinary speed too, and the residual is not large for another reason; else it is not known. The ten
    numbers of a free body are fitted together and give the wrench of any motion like the recorded one: none is refused,
    their statuses say which are not known individually.
    """
    if fit.inputs.imu is not None:
        return fit.solution, {}
    judge = _Judge(fit, rate_known)
    refused: dict[str, Finding] = {}
    estimates: list[Estimate] = []
    owners = [(element, j) for element in fit.inputs.model.elements for j in range(len(element.parameters))]
    parameters = fit.inputs.model.parameters.values()
    for i, (e, parameter, (element, j)) in enumerate(zip(fit.solution.estimates, parameters, owners, strict=True)):
        positive = parameter.map == "positive"
        half = fit.solution.uncertainty.critical * e.noise
        reason = "" if e.status is Status.FIXED else judge.reason(e, element, i, j, positive=positive)
        if reason:
            e = replace(e, status=Status.NOT_IDENTIFIABLE, ci95=None)
            if e.name in fit.inputs.mechanism.hidden:
                e = replace(e, information_from_data=0.0)
            elif not element.instrument:
                advice = (
                    ""
                    if "fixed:" in reason or reason in (GUESSED_RATE, judge.pushed)
                    else fit.inputs.model.advice(e.name)
                )
                if reason.startswith(NEAR_ZERO):
                    advice += f"{', or, ' if advice else ''}where it may be nothing, say so (fixed: {{{e.name}: 0}})"
                refused[e.name] = Finding("unknown", reason, e.name, advice)
        elif e.status is Status.NOT_IDENTIFIABLE:  # known, as next to nothing
            e = replace(e, status=Status.IDENTIFIED, ci95=(max(e.value - half, 0.0), e.value + half))
        elif e.ci95 is not None and positive:
            e = replace(e, ci95=(max(e.ci95[0], 0.0), e.ci95[1]))
        estimates.append(e)
    return replace(fit.solution, estimates=tuple(estimates)), refused


def timed(element: Element, e: Estimate) -> bool:
    """Whether a number follows the scale of time."""
    return element.inertial or "s" in re.split(r"[ /]", e.unit)


class _Judge:
    """What the samples of a fit show."""

    def __init__(self, fit: Fit, rate_known: bool) -> None:
        at = fit.prediction.at[fit.prediction.inside(fit.plan.segments)]
        self.fit, self.rate_known, self.kinematics = fit, rate_known, fit.balance.kinematics.at(at)
        self.rows = fit.rows()
        """(samples, rows, parameters + 1) of the fit's segments."""
        self.level = fit.level
        span = np.ptp(self.rows[:, :, -1], axis=0) if len(self.rows) else np.zeros_like(self.level)
        units = np.array([row.unit for row in fit.inputs.mechanism.rows])
        loudest = np.array([span[units == unit].max() for unit in units])
        self.explained = bool(np.all(self.level <= MISFIT_PERCENT / 100 * np.maximum(span, QUIET_ROW * loudest)))
        """Whether what is left is small beside the range of each row."""
        priors = {e.name for e in fit.solution.estimates if e.prior is not None}
        pairs = lookalikes(fit.solution, {*priors, *fit.inputs.mechanism.hidden})
        self.alike = {name: pair for pair in pairs for name in pair.parameters}
        """Parameter -> two elements that these data do not tell apart."""
        self.pushed: str = next((why for e in fit.inputs.model.elements if (why := self._pushed(e))), "")
        """Why friction that follows the effort of the hand cannot be told from all the rest; empty: it may be."""

    def _pushed(self, element: Element) -> str:
        """With y (1 - mu s sgn y) = Y p, a hand that never brakes, s sgn y = 1, shows only p / (1 - mu)."""
        names = self.fit.inputs.model.names_of(element)
        if not element.uses_effort or all(self.fit.solution[n].status is Status.FIXED for n in names):
            return ""
        column = self.rows[:, 0, list(self.fit.inputs.model.parameters).index(names[0])]
        effort = self.rows[:, 0, :-1] @ self.fit.p
        braked = float(np.sum(effort[column * effort < 0] ** 2) / max(np.sum(effort**2), 1e-300))
        if braked > BRAKED:
            return ""
        rest = f"{element.name}, which follows its torque, only scales all the rest"
        return (
            f"the hand hardly ever brakes, and where it only pushes {rest}; brake it too, or leave {element.name} out"
        )

    def reason(self, e: Estimate, element: Element, i: int, j: int, *, positive: bool) -> str:
        """Why a number is refused; empty if it is not. i, j: its column in the model and in its element."""
        solution = self.fit.solution
        half = solution.uncertainty.critical * e.noise
        if not solution.uncertainty.enough:
            return "the segments are too short to know the noise"
        if timed(element, e) and not self.rate_known:
            return GUESSED_RATE
        if self.pushed and not element.instrument:
            return self.pushed
        unseen = self._unseen(element.scopes[j]) if element.scopes else ""
        if unseen:
            return unseen
        inner = self.fit.inputs.inner
        column = np.abs(self.rows[:, :, i] if inner is None else np.nan_to_num(inner.slopes[i])[:, None])
        if not len(column) or column.max() < 1e-9:
            return "the motion never shows it"
        if e.name in self.alike:
            pair = self.alike[e.name]
            but = "" if pair.left < SAME else f" but for {100 * pair.left:.2g} %"
            return (
                f"in this motion {' and '.join(pair.elements)} do the same{but}: leave one of them out (elements:, "
                "without:), and the other is the sum of both, or fix what you know of one (fixed:)"
            )
        # what may be zero can be known all the same, as next to nothing
        near_zero = positive and np.isfinite(half) and half >= e.value
        if e.status is Status.NOT_IDENTIFIABLE and not near_zero:
            return "the motion does not separate it from others"
        if element.inertial and positive and half > VAGUE * e.value:
            return "the motion is too slow or too short for it, or something else moves the object"
        if near_zero:
            acting = [c[c > 1e-3 * max(c.max(), 1e-300)] for c in column.T]
            share = max(float(np.percentile(c, OFTEN)) / s for c, s in zip(acting, self.level, strict=True) if len(c))
            if not self.explained or (e.value + half) * self._slowness(element) * share > 1:
                return f"{NEAR_ZERO}: at most {e.value + half:.3g} {e.unit}"
        return ""

    def _slowness(self, element: Element) -> float:
        """How many times faster than in the fit the coordinate of a viscous element ordinarily moves, at least 1."""
        coordinate = self.kinematics.coordinates.get(element.acts_on)
        if coordinate is None or element.dry or not len(self.rows):
            return 1.0
        speed = float(np.percentile(np.abs(np.asarray(coordinate.speed)), OFTEN))
        return max(1.0, ORDINARY[self.fit.inputs.mechanism.coordinates[element.acts_on]] / max(speed, 1e-12))

    def _unseen(self, zone: Scope) -> str:
        """What of a zone was not done: too little of it for a number, however small the noise."""
        coordinates = self.kinematics.coordinates
        over, speed = coordinates[zone.over], np.asarray(coordinates[zone.acts_on].speed)
        going = {"opening": speed > 0, "closing": speed < 0, "both": speed != 0}[zone.when]
        there, back = float(np.maximum(speed, 0).sum()), float(np.maximum(-speed, 0).sum())
        verb = zone.when if zone.when != "both" else "moving"
        where = f" {zone.where}" if zone.where else ""
        only = "opening" if there > back else "closing"
        if zone.when not in ("both", only) and min(there, back) < OTHER_WAY_SHARE * max(there, back):
            return f"the object was moved in one direction only, {only}; it needs {verb}{where}"
        way = float(np.sum(np.abs(over.speed) * going * zone.weight(over.position))) / self.fit.inputs.rate_hz
        unit = self.fit.inputs.mechanism.coordinates[zone.over]
        steps = way / STEP[unit]
        if steps >= LEAST_WAY:
            return ""
        if steps < 0.1 * LEAST_WAY:
            return f"the object is never seen {verb}{where}"
        seen = f"{np.degrees(way):.1f} deg" if unit == "rad" else f"{1e3 * way:.0f} mm"
        return f"the object is seen {verb}{where} for {seen} in all"


def known_mass(case: Case) -> Iterator[Finding]:
    """A mass from a scale that the data contradict, or that nobody weighed."""
    belief, stated = case.fit.inputs.belief, case.config.known_mass
    if stated is None:
        if case.model.mechanism.floor:
            why = "the mass is estimated from how the object speeds up and slows down, and every inertia with it"
            remedy = "weigh it instead, known_mass: {value: 45 kg, of: whole}"
            yield Finding("mass", why, "known_mass is missing", remedy)
        return
    if belief.mass is None:
        return  # a fixed parameter: `fixed` compares it
    m = weighed(case.fit)
    off, least = (0.0, 0.0) if m is None else (abs(m.value - belief.mass), MASS_STDS * m.noise)
    if m is None or off <= max(MASS_HINT * belief.mass, least):
        return
    remedy = "weigh it again and state what was on the scale (of:); otherwise the load cells' gain is off by as much"
    if case.model.mechanism.wheel is not None:
        remedy += ", or a heavy wheel resists: add {type: wheel-spin, name: I_w} to elements"
    stated_kg, weighed_kg = told_apart(belief.mass, m.value, 4)
    against = f"which contradicts the data: they say {weighed_kg} +- {2 * m.noise:.2g} kg"
    follows = "centre of mass and inertias follow the stated one"
    evidence = f"the known mass makes it {stated_kg} kg, {against}; {follows}"
    severity = Severity.FATAL if off > max(MASS_OFF * belief.mass, least) else Severity.WARNING
    yield Finding("mass", evidence, "known_mass", remedy, severity)


def mass_of_prior(case: Case) -> Iterator[Finding]:
    """A mass far from any that the drawing's author admits: not the drawing is wrong, but a unit or a gain."""
    for e in case.solution.estimates:
        if e.unit != "kg" or e.prior is None or e.ci95 is None:
            continue
        ratio = max(e.value / e.prior, e.prior / e.value)
        if ratio > LIGHTER and abs(e.value - e.prior) > 3 * np.hypot(e.prior_std, e.noise):
            evidence = (
                f"{e.value:.3g} kg is far from the prior's {e.prior:.3g} kg: a wrong unit or gain of the load cell, or "
                "the drawing of another part"
            )
            yield Finding("prior", evidence, e.name, severity=Severity.FATAL)


def scale(case: Case) -> Iterator[Finding]:
    """What a quantity known from a scale and a ruler says about the scale of force or torque."""
    for name, value in case.config.known.items():
        e = case.solution[name]
        if e.ci95 is None or value == 0:
            evidence = "the data do not show it: the scale of force or torque cannot be checked"
            yield Finding("scale", evidence, name)
            continue
        half = 1.96 * float(np.hypot(np.hypot(e.noise, e.pull), e.model))  # without what this very gate adds to it
        ratio, low, high = e.value / value, *sorted((e.value + by) / value for by in (-half, half))
        if high - low > 2 * SCALE_UNKNOWN:
            evidence = f"it is known only to {50 * (high - low):.0f} %: the scale of force or torque cannot be checked"
            yield Finding("scale", evidence, name)
        elif abs(ratio - 1) > SCALE_OFF and not low <= 1 <= high:
            evidence = (
                f"it comes out {ratio:.2f} times ({low:.2f} to {high:.2f}) what is known ({value:.4g} {e.unit}): the "
                "scale of the force or torque is doubtful, and everything in N and N m with it; ratios such as inertia "
                "over mass stay right"
            )
            remedy = "check calibration, unit and gain of the force or torque"
            yield Finding("scale", evidence, name, remedy, Severity.FATAL)


def contradicted(case: Case) -> Iterator[Finding]:
    """What a joint estimate leaves, wants elsewhere than it is known to be, and says otherwise than the balance."""
    if (joint := case.fit.joint) is None:
        return
    remedy = "check what is stated (links, lengths, clocks) and what the model lacks, or write method: balance"
    if joint.excess > EXCESS:
        evidence = f"motion and parameters together leave {joint.excess:.1f} times what the instruments' noise explains"
        yield Finding("joint", evidence, "method: joint", remedy, Severity.FATAL)
    name, by = max(joint.apart.items(), key=lambda x: abs(x[1]), default=("", 0.0))
    if abs(by) > APART_STDS:
        evidence = f"{name} is {abs(by):.1f} standard deviations from what the balance says"
        yield Finding("joint", evidence, "method: joint", remedy, Severity.FATAL)
    for name, words in KNOWN_SO_WELL.items():
        by = max((abs(x) for n, x in joint.off if n == name), default=0.0)
        if by > OFF_STDS:
            evidence = f"the data contradict {words} by {by:.1f} standard deviations of how well it is known"
            yield Finding("geometry", evidence, "method: joint", remedy)


def untried(case: Case) -> Iterator[Finding]:
    """What may be off, by the file or by estimate, and cannot be put into the intervals."""
    for name, why in case.fit.untried.items():
        evidence = f"with that off by a standard deviation nothing can be fitted ({why}): the intervals do not hold it"
        yield Finding("untried", evidence, f"uncertain.{name}", "state less, or state more exactly what it is of")


def fixed(case: Case) -> Iterator[Finding]:
    """Stated parameters that the data contradict."""
    stated = {n: v for n, v in case.fit.inputs.belief.fixed.items() if n in case.solution.model.parameters}
    if not stated or case.fit.plan.quasi_static is not None or case.fit.inputs.unloaded:
        return
    belief, signals = case.fit.inputs.belief, case.config.recordings.signals
    free = solve(case.fit.train, prior=belief.prior, factor=belief.factor, known_mass=belief.mass)
    elements = {name: element for element in case.model.elements for name in case.model.names_of(element)}
    for name, value in stated.items():
        e = free[name]
        if signals is not None and not signals.rate_known and timed(elements[name], e):
            continue  # without a scale of time it cannot be compared
        if e.ci95 is not None and abs(e.value - value) > max(FIXED_STDS * e.noise, FIXED_OFF * abs(value)):
            is_fixed, found = told_apart(value, e.value, 3)
            instead = f"{is_fixed} is stated, they say {found} (+- {2 * e.noise:.2g})"
            yield Finding("fixed", f"the data contradict what is fixed: {instead}", name)


def leaning_on_prior(case: Case) -> Iterator[Finding]:
    """For numbers that are partly the prior's: whether lambda makes them so, or the motion that would show them."""
    belief, model = case.fit.inputs.belief, case.model
    held = [e for e in case.solution.estimates if e.status is Status.PRIOR_DOMINATED and e.prior is not None]
    lean = [e for e in held if e.name not in model.mechanism.hidden]
    if not lean or not model.mechanism.floor:
        return
    free = None
    if belief.prior is not None and belief.prior.damping is not None:
        auto = replace(belief, prior=replace(belief.prior, damping=None, form="divergence"))
        free = solve_with(replace(case.fit.inputs, belief=auto), case.fit.train)
    known = [] if free is None else [e.name for e in lean if free[e.name].status is Status.IDENTIFIED]
    ways: dict[str, list[str]] = {}
    for e in lean:
        motion = model.advice(e.name)
        if e.name not in known and motion:
            ways.setdefault(motion, []).append(e.name)
    parts = [f"for {', '.join(names)} {motion}" for motion, names in ways.items()]
    if free is not None and known:
        which = "them" if len(known) == len(lean) else ", ".join(known)
        stated = f"lambda is stated as {case.solution.damping:g}"
        parts.insert(0, f"{stated}; with damping: auto the data alone give {which}")
        there = [(e, free[e.name].value) for e in lean if e.name in known and e.ci95 is not None]
        far = [f"{e.name} {v:.3g} {e.unit}" for e, v in there if e.ci95 and not e.ci95[0] <= v <= e.ci95[1]]
        if far:
            parts.insert(1, f"{', '.join(far)}, outside the interval here: the drawing is off by more than its spread")
    if parts:
        yield Finding("prior", "they lean on the prior", ", ".join(e.name for e in lean), "; ".join(parts))


def damping(case: Case) -> Iterator[Finding]:
    """Numbers called identified that half or twice the lambda moves out of their interval."""
    identified = [e for e in case.solution.estimates if e.status is Status.IDENTIFIED]
    halves = {e.name: (e.ci95[1] - e.ci95[0]) / 2 for e in identified if e.ci95 is not None}
    changes = damping_changes(case.fit)
    moved = [n for n, half in halves.items() if any(abs(by[n]) > half for by in changes.values())]
    if moved:
        evidence = "halving or doubling lambda moves them out of their interval: the prior contributes more than stated"
        yield Finding("damping", evidence, ", ".join(moved))


def shapes(case: Case) -> Iterator[Finding]:
    """What the profiles of zones and the lengths of linkages say."""
    yield from () if case.fit.shaped is None else case.fit.shaped.findings
    yield from found_links(case.fit)


def refused(case: Case) -> Iterable[Finding]:
    """Numbers that the data do not tell, one finding a reason; no motion helps where the wrench is not explained."""
    reasons: dict[tuple[str, str], list[str]] = {}
    unexplained = any(True for _ in misfit(case))
    for name, f in case.refused.items():
        reasons.setdefault((f.evidence, "" if unexplained else f.remedy), []).append(name)
    for (evidence, remedy), names in reasons.items():
        verb, which = "is" if len(names) == 1 else "are", ", ".join(names)
        yield Finding("unknown", f"{which} {verb} not known: {evidence}", which, remedy, Severity.FATAL)


def solver(case: Case) -> Iterable[Finding]:
    """What the solver noticed; conditioning is no news where the mechanism hides numbers by its nature."""
    silent = ("conditioning",) if case.model.mechanism.hidden or len(case.model.mechanism.rows) == 1 else ()
    return tuple(f for f in case.solution.warnings if f.cause not in silent)
