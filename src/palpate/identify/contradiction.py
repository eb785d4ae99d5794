"""Data against the prior: where the data alone say something else than a drawing, by more than both admit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import drawing_jacobian, drawing_values
from palpate.physics.maps import LogCholesky, Stacked

SURE = 3.0
ROUND = 0.02
"""A symmetric drawing pretends to know its zeros exactly: nothing is known better than to this share of its kind."""


def contradictions(
    map_: Stacked,
    p_free: FloatArray,
    covariance: Callable[[], FloatArray],
    names: Sequence[str],
    units: Sequence[str],
    prior: Sequence[float | None],
    prior_std: FloatArray,
) -> list[str]:
    """In words, for each quantity that the unconstrained fit puts far from its prior.

    Judged on the fit without the prior, since a strong one pulls its own contradiction away. covariance: of p_free,
    asked for only where something is far. Quantities of a body are those of a drawing: mass, centre of mass, inertia.
    """
    free, gradient = _as_drawn(map_, p_free)
    stated = [(unit, abs(v)) for unit, v in zip(units, prior, strict=True) if v is not None]
    sizes = {unit: max(v for other, v in stated if other == unit) for unit, _ in stated}
    told: list[str] = []
    for i, before in enumerate(prior):
        if before is None or not np.isfinite(free[i]):
            continue
        allowed = float(np.hypot(prior_std[i], ROUND * sizes[units[i]]))
        off = abs(float(free[i]) - before)
        if off <= SURE * allowed:
            continue
        std = float(np.sqrt(max(gradient[i] @ covariance() @ gradient[i], 0.0)))
        if off <= SURE * np.hypot(allowed, std):
            continue
        sign = ", other sign" if free[i] * before < 0 else ""
        told.append(f"{names[i]} = {free[i]:.4g} {units[i]} (prior {before:.4g} +- {prior_std[i]:.2g}{sign})")
    return told


def _as_drawn(map_: Stacked, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values in the words of a drawing and their gradients by p; NaN where a mass is known or not positive."""
    values, gradient = p.copy(), np.eye(len(p))
    for part, ps in zip(map_.parts, map_.p_slices(), strict=True):
        if isinstance(part, LogCholesky):
            possible = part.known_mass is None and p[ps.start] > 0
            values[ps] = drawing_values(p[ps]) if possible else np.nan
            if possible:
                gradient[ps, ps] = drawing_jacobian(p[ps])
    return values, gradient
