"""At the edge of possible bodies the fit's own curvature says nothing across the edge: what the data alone leave open
is as wide as an unconstrained fit has it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.identify.estimate import VAGUE, Estimate, Status, natural_size
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.inertia import drawing_jacobian
from palpate.physics.maps import Fixed, LogCholesky, Stacked


def widened_at_the_edge(
    estimates: tuple[Estimate, ...], map_: Stacked, p: FloatArray, covariance: FloatArray, critical: float
) -> tuple[Estimate, ...]:
    """Estimates with at least the noise of the unconstrained fit (its covariance, given what is known)."""
    J, size, known = np.eye(len(p)), np.full(len(p), np.inf), np.zeros(len(p), dtype=bool)
    for part, ps in zip(map_.parts, map_.p_slices(), strict=True):
        if isinstance(part, LogCholesky):
            J[ps, ps], size[ps] = drawing_jacobian(p[ps]), natural_size(p[ps])
            known[ps.start] = part.known_mass is not None
        else:
            known[ps] = isinstance(part, Fixed)
    noise = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", J, _given(covariance, known), J), 0.0))
    return tuple(_wider(e, float(n), critical, float(s)) for e, n, s in zip(estimates, noise, size, strict=True))


def _given(covariance: FloatArray, known: BoolArray) -> FloatArray:
    """Of the others, once some are known: a Gaussian's conditional covariance."""
    if not known.any():
        return covariance
    these = np.flatnonzero(known)
    across = covariance[:, these]
    return np.asarray(covariance - across @ np.linalg.pinv(across[these]) @ across.T, dtype=float)


def _wider(e: Estimate, noise: float, critical: float, size: float) -> Estimate:
    if e.status not in (Status.IDENTIFIED, Status.PRIOR_DOMINATED) or noise <= e.noise:
        return e
    if critical * noise > VAGUE * size:
        return replace(e, noise=noise, ci95=None, status=Status.NOT_IDENTIFIABLE)
    half = float(np.hypot(critical * noise, 1.96 * e.pull))
    return replace(e, noise=noise, ci95=(e.value - half, e.value + half))
