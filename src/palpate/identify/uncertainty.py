"""Uncertainty of a solution: noise, the prior's pull, and how much of each number comes from the data at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.identify.prior import ThetaPrior
from palpate.physics.arrays import FloatArray, symmetric_inverse


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Covariances of theta, and what each part of the information weighs."""

    noise: FloatArray
    """Covariance from the residuals, correlated as they are."""
    pull: FloatArray
    """Covariance from a prior that is off by its declared spread."""
    information: FloatArray
    """J'J + lambda^2 D: what the fit knows, and ..."""
    from_data: FloatArray
    """... J'J: what of it the data said."""
    freedom: int
    """Degrees of freedom of the noise estimate."""

    def of(self, gradient: FloatArray) -> tuple[float, float, float]:
        """Standard deviations (noise, pull) and share of information from data of a quantity with this theta
        gradient.
        """
        noise, pull = (float(np.sqrt(max(gradient @ C @ gradient, 0.0))) for C in (self.noise, self.pull))
        spread = symmetric_inverse(self.information) @ gradient
        total = float(gradient @ spread)
        share = float(spread @ self.from_data @ spread) / total if total > 0 else 0.0
        return noise, pull, share


def uncertainty(grams: FloatArray, p: FloatArray, P: FloatArray, prior: ThetaPrior, damping: float) -> Uncertainty:
    """Sandwich covariance over pieces (Huber; White 1980; pieces as clusters: Liang & Zeger 1986), and the prior's
    pull.

    grams: weighted X'X of each piece with X = [Y | y], (pieces, p + 1, p + 1); P = dp/dtheta. Residuals of
    neighbouring samples are correlated; sums over pieces much longer than the correlation are not, and their scatter
    is the noise of the estimate.
    """
    total = grams.sum(axis=0)
    from_data = P.T @ total[:-1, :-1] @ P
    D = damping**2 * np.diag(prior.damped.astype(float))
    information = from_data + D
    inverse = symmetric_inverse(information)
    scores = (grams[:, :-1, -1] - grams[:, :-1, :-1] @ p) @ P
    scores = scores - scores.mean(axis=0)
    pieces = len(grams)
    freedom = max(1, pieces - P.shape[1])
    meat = scores.T @ scores * (pieces / freedom)
    return Uncertainty(
        noise=inverse @ meat @ inverse,
        pull=inverse @ D @ prior.root @ prior.root.T @ D @ inverse,
        information=information,
        from_data=from_data,
        freedom=freedom,
    )
