"""Numbers that were stated: a mass, a prior, fixed and known values; and those that are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from palpate.experiment.gates.case import (
    FIXED_OFF,
    FIXED_STDS,
    LIGHTER,
    MASS_OFF,
    MASS_STDS,
    SCALE_OFF,
    SCALE_UNKNOWN,
    Case,
)
from palpate.experiment.gates.explaining import misfit
from palpate.experiment.stage.fit import damping_changes, solve_with
from palpate.findings import Finding, Severity
from palpate.identify import solve
from palpate.identify.solution import Status


def known_mass(case: Case) -> Iterator[Finding]:
    """A mass from a scale that the data contradict, or that nobody weighed."""
    belief, stated = case.fit.inputs.belief, case.config.known_mass
    if stated is None:
        if case.model.mechanism.wheel is not None:
            yield Finding(
                "mass",
                "the mass is estimated from how the object speeds up and slows down, and every inertia with it",
                "known_mass is missing",
                "a scale tells it better, known_mass: {value: 45 kg, of: whole}",
            )
        return
    if belief.mass is None:
        return  # a fixed parameter: `fixed` compares it
    free = solve(case.fit.train, factor=belief.factor, fixed=belief.fixed)
    m = next((e for e in free.estimates if e.name.rpartition(".")[2] == "m"), None)
    if m is None or m.ci95 is None or abs(m.value - belief.mass) <= max(MASS_OFF * belief.mass, MASS_STDS * m.noise):
        return
    yield Finding(
        "mass",
        f"the known mass makes it {belief.mass:.4g} kg, which contradicts the data: they say {m.value:.4g} +- "
        f"{2 * m.noise:.2g} kg; centre of mass and inertias follow the stated one",
        "known_mass",
        "what was on the scale? Weigh it again, and say of what (of:)",
        Severity.FATAL,
    )


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
            yield Finding(
                "scale", "it is known, but the data do not tell it: the effort's scale cannot be checked", name
            )
            continue
        ratio, low, high = e.value / value, *sorted(bound / value for bound in e.ci95)
        if high - low > 2 * SCALE_UNKNOWN:
            evidence = f"it is known only to {50 * (high - low):.0f} %: the effort's scale cannot be checked"
            yield Finding("scale", evidence, name)
        elif abs(ratio - 1) > SCALE_OFF and not low <= 1 <= high:
            evidence = (
                f"it comes out {ratio:.2f} times ({low:.2f} to {high:.2f}) what is known ({value:.4g} {e.unit}): the "
                "scale of the force or torque is doubtful, and everything in N and N m with it; ratios such as inertia "
                "over mass stay right"
            )
            yield Finding("scale", evidence, name)


def fixed(case: Case) -> Iterator[Finding]:
    """Stated parameters that the data contradict."""
    stated = {n: v for n, v in case.fit.inputs.belief.fixed.items() if n in case.solution.model.parameters}
    if not stated or case.fit.plan.quasi_static is not None:
        return
    belief = case.fit.inputs.belief
    free = solve(case.fit.train, prior=belief.prior, factor=belief.factor, known_mass=belief.mass)
    for name, value in stated.items():
        e = free[name]
        if e.ci95 is not None and abs(e.value - value) > max(FIXED_STDS * e.noise, FIXED_OFF * abs(value)):
            evidence = (
                f"the data contradict what is fixed: {value:g} is stated, they say {e.value:.3g} (+- {2 * e.noise:.2g})"
            )
            yield Finding("fixed", evidence, name)


def leaning(case: Case) -> Iterator[Finding]:
    """For numbers that are partly the prior's: whether lambda makes them so, or the motion that would show them."""
    belief, model = case.fit.inputs.belief, case.model
    lean = [
        e
        for e in case.solution.estimates
        if e.status is Status.PRIOR_DOMINATED and e.prior is not None and e.name not in model.mechanism.hidden
    ]
    if not lean or model.mechanism.wheel is None:
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
        parts.insert(
            0, f"lambda is stated as {case.solution.damping:g}, with damping: auto the data alone tell {which}"
        )
        there = [(e, free[e.name].value) for e in lean if e.name in known and e.ci95 is not None]
        far = [f"{e.name} {v:.3g} {e.unit}" for e, v in there if e.ci95 and not e.ci95[0] <= v <= e.ci95[1]]
        if far:
            parts.insert(1, f"{', '.join(far)}, outside the interval here: the drawing is off by more than its spread")
    if parts:
        yield Finding("prior", "they lean on the prior", ", ".join(e.name for e in lean), "; ".join(parts))


def damping(case: Case) -> Iterator[Finding]:
    """Numbers called identified that half or twice the lambda moves out of their interval."""
    halves = {
        e.name: (e.ci95[1] - e.ci95[0]) / 2
        for e in case.solution.estimates
        if e.status is Status.IDENTIFIED and e.ci95 is not None
    }
    changes = damping_changes(case.fit)
    moved = [n for n, half in halves.items() if any(abs(by[n]) > half for by in changes.values())]
    if moved:
        evidence = "half or twice the lambda moves them out of their interval: the prior holds more than is said"
        yield Finding("damping", evidence, ", ".join(moved))


def shapes(case: Case) -> Iterable[Finding]:
    """What the profiles of zones say."""
    return () if case.fit.shaped is None else case.fit.shaped.findings


def refused(case: Case) -> Iterable[Finding]:
    """Numbers that the data do not tell, one finding a reason; no motion helps where the wrench is not explained."""
    reasons: dict[tuple[str, str], list[str]] = {}
    unexplained = any(True for _ in misfit(case))
    for name, f in case.refused.items():
        reasons.setdefault((f.evidence, "" if unexplained else f.remedy), []).append(name)
    for (evidence, remedy), names in reasons.items():
        verb = "is" if len(names) == 1 else "are"
        yield Finding(
            "unknown", f"{', '.join(names)} {verb} not known: {evidence}", ", ".join(names), remedy, Severity.FATAL
        )


def solver(case: Case) -> Iterable[Finding]:
    """What the solver noticed; conditioning is no news where the mechanism hides numbers by its nature."""
    silent = ("conditioning",) if case.model.mechanism.hidden or case.one_row else ()
    return tuple(f for f in case.solution.warnings if f.cause not in silent)
