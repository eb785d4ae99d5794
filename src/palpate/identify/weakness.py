"""What the data cannot tell, in words: the direction that they hold least, and the motion that would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.identify.solution import Solution, Status
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import DRAWING_NAMES, DRAWING_UNITS, drawing_jacobian
from palpate.physics.maps import LogCholesky


@dataclass(frozen=True, slots=True)
class Weakness:
    """The combination of parameters that the data hold least: together they may change by this, and no residual shows
    it.
    """

    changes: Mapping[str, float]
    """By parameter, in its unit: one standard deviation along the direction."""
    relative: float
    """The same as a fraction of the body, or of the parameters that change most: 0.01 is one percent."""
    first: str
    """The parameter that changes most."""
    text: str


def weakest_direction(solution: Solution) -> Weakness | None:
    """The weakest direction of the (first) rigid body of a solution, else of its free parameters; None: one alone."""
    for part, ps, ts in zip(
        solution.problem.map_.parts, solution.problem.map_.p_slices(), solution.problem.map_.theta_slices(), strict=True
    ):
        if isinstance(part, LogCholesky):
            return _of_body(solution, part, ps, ts)
    return _of_parameters(solution)


def _of_body(solution: Solution, part: LogCholesky, ps: slice, ts: slice) -> Weakness:
    """In natural coordinates of the body, with everything else projected out."""
    map_, R = solution.problem.map_, solution.problem.R
    p = map_.forward(solution.theta)
    J = R[:, :-1] @ map_.natural(p)
    body = np.zeros(J.shape[1], dtype=bool)
    body[ts] = True
    use = J[:, body]
    if not body.all():
        basis = np.linalg.qr(J[:, ~body])[0]
        use = use - basis @ (basis.T @ use)
    _, s, Vt = np.linalg.svd(use)
    relative = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
    changes = drawing_jacobian(p[ps]) @ part.natural(p[ps]) @ Vt[-1] * relative
    phi = p[ps]
    half_trace = (phi[4] + phi[7] + phi[9]) / 2
    scale = np.array([phi[0]] + [np.sqrt(half_trace / phi[0])] * 3 + [half_trace] * 6)
    share = np.abs(changes) / scale
    chosen = [int(i) for i in np.argsort(share)[::-1] if share[i] > 0.4 * share.max()][:3]
    words = _words(solution.model, DRAWING_NAMES, DRAWING_UNITS, changes, chosen, f"{100 * relative:.2g} % of the body")
    named = {name: float(c) for name, c in zip(DRAWING_NAMES, changes, strict=True)}
    return Weakness(named, relative, DRAWING_NAMES[chosen[0]], words)


def _of_parameters(solution: Solution) -> Weakness | None:
    """Each parameter measured by what it does to the rows of the recording: the last right singular vector of the
    compressed columns, scaled to length one. None: only one is free.
    """
    p, model = solution.p, solution.model
    fixed = {e.name for e in solution.estimates if e.status is Status.FIXED}
    R = solution.problem.R[:, :-1]
    size = np.linalg.norm(R, axis=0)
    free = np.array([n not in fixed for n in model.parameters]) & (size > 0)
    if free.sum() < 2:
        return None
    _, s, Vt = np.linalg.svd(R[:, free] / size[free])
    std = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
    parts = np.zeros(len(p))
    parts[free] = Vt[-1]
    parts *= np.sign(parts[np.abs(parts).argmax()])
    changes = np.where(free, parts * std / np.where(free, size, 1.0), 0.0)
    names, units = list(model.parameters), [q.unit for q in model.parameters.values()]
    chosen = [int(i) for i in np.argsort(-np.abs(parts)) if abs(parts[i]) > 0.3 * np.abs(parts).max()][:4]
    relative = float(max(abs(changes[i]) / max(abs(p[i]), 1e-12) for i in chosen))
    words = _words(model, names, units, changes, chosen, f"up to {100 * relative:.2g} % of a value")
    return Weakness({names[i]: float(changes[i]) for i in np.flatnonzero(free)}, relative, names[chosen[0]], words)


def _words(
    model: Model, names: Sequence[str], units: Sequence[str], changes: FloatArray, chosen: Sequence[int], size: str
) -> str:
    """Which parameters trade off, by how much, and the motion that would tell them apart."""
    parts = ", ".join(f"{names[i]} {changes[i]:+.2g} {units[i]}" for i in chosen)
    if len(chosen) > 1:
        what = f"{', '.join(names[i] for i in chosen[:-1])} and {names[chosen[-1]]} trade off ({parts})"
    else:
        what = f"{names[chosen[0]]} is known least ({parts})"
    advice = model.advice(names[chosen[0]])
    return f"{what}, one standard deviation, {size}" + (f"; to know it better, {advice}" if advice else "")
