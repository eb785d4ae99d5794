"""The prior: what was believed before, how strongly it pulls, and how far off its author admits it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray, least_squares, triangular
from palpate.physics.inertia import check_consistent, relative_spread
from palpate.physics.maps import Exp, Fixed, LogCholesky, Map, Stacked

DEFAULT_SPREAD = 0.3


@dataclass(frozen=True, slots=True)
class Prior:
    """Physical values by parameter name, for whole inertias or single parameters; what is not named has no prior.

    `damping` is the paper's lambda (eq. optimization), None for automatic; `spread` the fraction by which the values
    may be off.
    """

    values: Mapping[str, float]
    spread: float = DEFAULT_SPREAD
    damping: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ThetaPrior:
    """The prior in the solver's coordinates: pull towards `theta` where `damped`, with `root` root' its declared
    covariance.
    """

    theta: FloatArray
    damped: np.ndarray[tuple[int], np.dtype[np.bool_]]
    root: FloatArray


def build_prior(prior: Prior | None, names: tuple[str, ...], map_: Stacked) -> ThetaPrior:
    """Express a prior in theta; refuses an inertia that is not physically consistent."""
    n = map_.size_theta
    theta, damped, root = np.zeros(n), np.zeros(n, dtype=bool), np.zeros((n, n))
    values: Mapping[str, float] = {} if prior is None else prior.values
    spread = 0.0 if prior is None else prior.spread
    for part, ps, ts in zip(map_.parts, map_.p_slices(), map_.theta_slices(), strict=True):
        own = names[ps]
        if isinstance(part, Fixed) or not all(name in values for name in own):
            continue
        p = np.array([values[name] for name in own])
        if isinstance(part, LogCholesky):
            check_consistent(p, "prior")
            p = p if part.known_mass is None else p * (part.known_mass / p[0])
        theta[ts], damped[ts] = part.inverse(p), True
        root[ts, ts] = _theta_spread(part, theta[ts], p, spread)
    return ThetaPrior(theta, damped, root)


def _theta_spread(part: Map, theta: FloatArray, p: FloatArray, spread: float) -> FloatArray:
    """A square root of theta's covariance when p is off by the fraction `spread`."""
    if isinstance(part, LogCholesky):
        S = relative_spread(p, spread, mass_known=part.known_mass is not None)
        return triangular(least_squares(part.jacobian(theta), S).T).T
    return np.diag(np.full(len(theta), spread) if isinstance(part, Exp) else spread * np.abs(p))
