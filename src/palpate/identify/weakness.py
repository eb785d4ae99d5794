"""What the data cannot tell, in words: the direction that they hold least, and the motion that would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from palpate.identify.solution import Solution
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import DRAWING_NAMES, DRAWING_UNITS, drawing_jacobian
from palpate.physics.maps import LogCholesky

_NAMES = {"m": "the mass", **{f"c_{axis}": f"c_{axis}" for axis in "xyz"}}
_ADVICE = {
    "m": "lift and shake it along every axis",
    **{f"c_{axis}": f"tilt its {axis} axis out of the vertical" for axis in "xyz"},
    **{f"I{axis}{axis}": f"turn it back and forth faster about {axis}" for axis in "xyz"},
    "Ixy": "turn it faster about x and about y",
    "Ixz": "turn it faster about x and about z",
    "Iyz": "turn it faster about y and about z",
}


@dataclass(frozen=True, slots=True)
class Weakness:
    """The combination of parameters that the data hold least: together they may change by this, and no residual shows
    it.
    """

    changes: Mapping[str, float]
    """By parameter, in its unit: one standard deviation along the direction."""
    relative: float
    """The same as a fraction of the body: 0.01 is one percent."""
    text: str


def weakest_direction(solution: Solution) -> Weakness | None:
    """The weakest direction of the (first) rigid body in a solution; None where the model has none."""
    map_, theta, R = solution.problem.map_, solution.theta, solution.problem.R
    p = map_.forward(theta)
    J = R[:, :-1] @ map_.natural(p)
    for part, ps, ts in zip(map_.parts, map_.p_slices(), map_.theta_slices(), strict=True):
        if not isinstance(part, LogCholesky):
            continue
        body = np.zeros(J.shape[1], dtype=bool)
        body[ts] = True
        use = J[:, body]
        if not body.all():
            basis = np.linalg.qr(J[:, ~body])[0]
            use = use - basis @ (basis.T @ use)
        _, s, Vt = np.linalg.svd(use)
        relative = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
        changes = drawing_jacobian(p[ps]) @ part.natural(p[ps]) @ Vt[-1] * relative
        named = {name: float(c) for name, c in zip(DRAWING_NAMES, changes, strict=True)}
        return Weakness(named, relative, _tell(p[ps], changes, relative))
    return None


def _tell(phi: FloatArray, changes: FloatArray, relative: float) -> str:
    half_trace = (phi[4] + phi[7] + phi[9]) / 2
    scale = np.array([phi[0]] + [np.sqrt(half_trace / phi[0])] * 3 + [half_trace] * 6)
    size = np.abs(changes) / scale
    chosen = [int(i) for i in np.argsort(size)[::-1] if size[i] > 0.4 * size.max()][:3]
    parts = [f"{DRAWING_NAMES[i]} {changes[i]:+.2g} {DRAWING_UNITS[i]}" for i in chosen]
    first = DRAWING_NAMES[chosen[0]]
    if len(chosen) > 1:
        names = [_NAMES.get(DRAWING_NAMES[i], DRAWING_NAMES[i]) for i in chosen]
        what = f"{', '.join(names[:-1])} and {names[-1]} trade off ({', '.join(parts)})"
    else:
        what = f"{_NAMES.get(first, first)} is held least ({parts[0]})"
    return f"{what}, one standard deviation, {100 * relative:.2g} % of the body; to know it better, {_ADVICE[first]}"
