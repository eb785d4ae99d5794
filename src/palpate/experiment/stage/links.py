"""Lengths of linkages that the data tell, found along with the parameters (`estimate` of a linkage).

Gauss and Newton's steps of variable projection (Golub & Pereyra 1973) in all lengths at once: what a longer link would
leave is a column beside the model's own, and Bayes' rule joins what it explains with how well a tape measure knows it.
Along directions that nothing shows, such as the common scale of links that drive an angle, they stay as stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage.fit import Fit, Size
from palpate.experiment.stage.inputs import TAPE_MEASURE_M, Inputs
from palpate.experiment.stage.joint import BELIEVED, LIKELY
from palpate.experiment.stage.lack import LackOfFit, bench, link_effect, link_steps
from palpate.findings import Finding
from palpate.mechanisms import Mechanism
from palpate.physics.arrays import symmetric_inverse
from palpate.physics.units import shown

PRIOR: Mapping[str, float] = {"m": 0.01, "rad": 0.1}
"""How well a size is known that is to be estimated, unless `uncertain: {links: ...}` says worse: the end of an arm
under its cover, a stand-off that nobody measured."""
TOLD = 0.7
"""Of a size's standard deviation before, what is left where the data tell it: half of the variance."""
ALONE = 0.4
"""The same where all are found at once: their common scale, which nothing shows, leaves each about half."""
ROUNDS, NEAR = 8, 0.05
"""Steps at most, and the last: in standard deviations."""
HELD_ROUNDS = 4
"""The same of links that a tape measure holds: they begin near, and what is still to go counts as doubt."""
HALVED = 4
"""How often a step is halved whose linkage cannot be assembled, or does not reach."""
FAR = 3.0
"""Standard deviations of the tape measure beyond which somebody should look again."""
Refit = Callable[[Fit, Inputs], Fit]
"""A fit of other inputs near one."""


def with_links(fit: Fit, stated_m: float | None, refit: Refit) -> Fit:
    """The fit with the sizes that are to be estimated where the data have them.

    stated_m: how well links are known, as the file says.
    """
    mechanism = fit.inputs.mechanism
    if not mechanism.estimated or fit.inputs.filtering.published:
        return fit
    priors = {**PRIOR, "m": max(PRIOR["m"], stated_m or 0.0)}
    given = {name: mechanism.sizes[name] for name in mechanism.estimated}
    links = {n: Size(unit, x, priors[unit], x, priors[unit], False) for n, (x, unit) in given.items()}
    return _searched(replace(fit, links=links), TAPE_MEASURE_M if stated_m is None else stated_m, refit)


def with_tape_measured_links(fit: Fit, lack: LackOfFit, refit: Refit) -> Fit | None:
    """The fit with links as data and tape measure together have them, where the data surely contradict the stated ones.

    None: they do not, the links are known better, or no such links are near the stated ones: then something else than
    a tape measure is wrong.
    """
    known_m = fit.inputs.links_std_m
    if not lack.has("linkage") or known_m == 0 or fit.links or fit.plan.quasi_static is not None:
        return None  # in two steps the spring is known before the links are
    stds, sizes = fit.inputs.mechanism.off_by(known_m), fit.inputs.mechanism.sizes
    given = {name: (*sizes[name], stds[name]) for name in link_steps(fit)}
    links = {n: Size(unit, x, std, x, std, told=False, held=True) for n, (x, unit, std) in given.items()}
    other = _searched(replace(fit, links=links), known_m, refit, HELD_ROUNDS)
    off = np.array([(x.value - x.stated) / x.prior for x in other.links.values()])
    return None if np.abs(off).max() > FAR or off @ off > _unlikely(len(off)) else other


def _unlikely(freedoms: int) -> float:
    """A sum of so many squares that one in a thousand exceeds (chi-square by Wilson & Hilferty 1931)."""
    part = 2 / (9 * freedoms)
    return freedoms * (1 - part + 3.09 * part**0.5) ** 3


def _searched(fit: Fit, beside_m: float, refit: Refit, rounds: int = ROUNDS) -> Fit:
    """The fit with `Fit.links` where data and tape measure have them; beside_m: how well the other links are known."""
    for _ in range(rounds):
        found = _believed(fit, beside_m)
        if found is None:
            break
        moves = {n: (x.value - fit.links[n].value) / x.std for n, x in found.items()}
        other = _moved(fit, found, refit)
        if other is None:
            break
        fit = other
        if max(abs(by) for by in moves.values()) < NEAR:
            break
    return fit


def _believed(fit: Fit, beside_m: float) -> dict[str, Size] | None:
    """Where data and tape measure together have the sizes, the other lengths being as they are; None: not to be tried.

    How well that is known counts the other lengths as known only so well (Schmidt 1966, consider covariance).
    """
    steps = link_steps(fit)
    lack = next(iter(bench(fit).test(lambda of: link_effect(of, beside_m))), None)
    if lack is None or len(lack.told) != len(steps):
        return None
    per = np.array(list(steps.values()))
    H, told = lack.information / per[:, None] / per, lack.told / per  # of sizes, not of steps
    own = np.array([name in fit.links for name in steps])
    sizes = [fit.links[name] for name in steps if name in fit.links]
    away = np.array([x.stated - x.value for x in sizes])
    # a stated size that is farther off than is likely pulls no more than one that was known so badly; what a tape
    # measure holds is not that far off
    loose = [0.0 if x.held else abs(by) / LIKELY for x, by in zip(sizes, away.tolist(), strict=True)]
    before = np.maximum([x.prior for x in sizes], loose) ** -2.0
    K = symmetric_inverse(H[np.ix_(own, own)] + np.diag(before))
    known = fit.inputs.mechanism.off_by(beside_m)
    beside = K @ H[np.ix_(own, ~own)] * [known[name] for name in steps if name not in fit.links]
    by = K @ (told[own] + before * away)
    stds = np.sqrt(np.diag(K + beside @ beside.T))
    names, moved = [name for name in steps if name in fit.links], zip(sizes, by.tolist(), stds.tolist(), strict=True)
    found = [
        replace(x, value=x.value + c, std=std, told=std <= (ALONE if x.held else TOLD) * x.prior) for x, c, std in moved
    ]
    return dict(zip(names, found, strict=True))


def _moved(fit: Fit, found: Mapping[str, Size], refit: Refit) -> Fit | None:
    """The fit with sizes as found, or as near as they can be assembled; None: not even then."""
    for share in 0.5 ** np.arange(HALVED + 1):
        sizes = {n: fit.links[n].value + float(share) * (x.value - fit.links[n].value) for n, x in found.items()}
        try:
            mechanism = fit.inputs.mechanism.with_sizes(sizes)
            other = refit(fit, fit.inputs.with_model(replace(fit.inputs.model, mechanism=mechanism)))
        except PalpateError:
            continue
        return replace(other, links={n: replace(x, value=sizes[n]) for n, x in found.items()})
    return None


def found_along(fit: Fit, stated: Mechanism, lack: LackOfFit | None) -> Fit:
    """A joint estimate with the lengths that it has found along; stated: as the file has them.

    How well they are known the balance says, which tells less; no better than a joint estimate believes geometry.
    """
    steps = link_steps(fit)
    told = next((x for x in lack.lacks if x.effect.cause == "linkage"), None) if lack is not None else None
    if fit.joint is None or told is None or len(told.told) != len(steps) or not fit.inputs.links_std_m:
        return fit
    per, known = np.array(list(steps.values())), stated.off_by(fit.inputs.links_std_m)
    prior = np.array([known[name] for name in steps])
    K = symmetric_inverse(told.information / per[:, None] / per + np.diag(prior**-2.0))
    links = dict[str, Size]()
    for name, before, after in zip(steps, prior.tolist(), np.sqrt(np.diag(K)).tolist(), strict=True):
        (value, unit), (given, _) = fit.inputs.mechanism.sizes[name], stated.sizes[name]
        std = max(after, BELIEVED * before, abs(value - given) - LIKELY * before)
        links[name] = Size(unit, given, before, value, std, std <= ALONE * before, held=True)
    return replace(fit, links=links)


def found_links(fit: Fit) -> Iterator[Finding]:
    """What is to be said of sizes that were estimated, or found along with more doubt than a tape measure leaves."""
    least = LIKELY if fit.joint is not None else 0.0  # without a joint estimate the data contradict what is stated
    held = {n: x for n, x in fit.links.items() if x.held and abs(x.value - x.stated) > least * x.prior}
    if held:
        sizes = (f"{n} {shown(x.value, x.unit)} where {shown(x.stated, x.unit)} is stated" for n, x in held.items())
        yield Finding("shape", f"the data want other lengths: {', '.join(sizes)}", remedy="measure them again")
    for name, x in fit.links.items():
        if name not in fit.inputs.mechanism.estimated:
            continue
        if not x.told:
            evidence = (
                f"the data do not tell it by itself, only to {shown(x.std, x.unit)} where it was known to "
                f"{shown(x.prior, x.unit)}: the model has {shown(x.value, x.unit)}, {shown(x.stated, x.unit)} is stated"
            )
            yield Finding("shape", evidence, name, "estimate fewer lengths, and measure the others")
        elif abs(x.value - x.stated) > FAR * x.prior:
            evidence = f"the data want {shown(x.value, x.unit)} where {shown(x.stated, x.unit)} is stated"
            yield Finding("shape", evidence, name, "measure it again, or look for another linkage")
