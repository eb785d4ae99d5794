"""Conditioning: how well the data hold each direction, with and without the prior's help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Condition numbers at the solution; below 100 counts as identifiable (paper, eq. kappa)."""

    kappa: float
    """Of the data alone."""
    kappa_eff: float
    """With the prior's damping."""
    kappa_eff_paper: float
    """As the authors compute it (FORMATS, erratum 8): lambda added to every direction, also to undamped ones."""


def conditioning(J: FloatArray, damped: FloatArray, damping: float) -> Conditioning:
    """Condition numbers of the weighted Jacobian J (rows, theta) with `damping` on the damped columns.

    Undamped columns (bias, friction) are projected out; then the columns of [P J; lambda I] are scaled to length one,
    so that the number does not depend on the units of theta.
    """
    mask = np.asarray(damped, dtype=bool)
    use, rest = (J[:, mask], J[:, ~mask]) if mask.any() else (J, J[:, :0])
    if rest.shape[1]:
        basis = np.linalg.qr(rest)[0]
        use = use - basis @ (basis.T @ use)
    s = np.linalg.svd(J, compute_uv=False)
    return Conditioning(
        kappa=_scaled_condition(use),
        kappa_eff=_scaled_condition(np.concatenate([use, damping * np.eye(use.shape[1])]))
        if mask.any()
        else _scaled_condition(use),
        kappa_eff_paper=float(np.sqrt(s[0] ** 2 + damping**2) / max(np.sqrt(s[-1] ** 2 + damping**2), 1e-300)),
    )


def _scaled_condition(X: FloatArray) -> float:
    norms = np.linalg.norm(X, axis=0)
    if not (norms > 0).all():
        return float("inf")
    s = np.linalg.svd(X / norms, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")
