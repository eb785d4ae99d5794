"""The prior: what was believed before, how it pulls, and how far off its author admits it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palpate.errors import NotConsistent
from palpate.physics.arrays import FloatArray, solve_columns, triangular
from palpate.physics.inertia import (
    check_consistent,
    divergence_rows,
    log_det_divergence,
    pseudo_inertia,
    relative_spread,
)
from palpate.physics.maps import Exp, Fixed, LogCholesky, Map, Stacked

DEFAULT_SPREAD = 0.3
Form = Literal["theta", "divergence"]


@dataclass(frozen=True, slots=True)
class Prior:
    """Physical values by parameter name, for whole inertias or single parameters; what is not named has no prior.

    `spread`: the fraction by which the values may be off. `damping`: the paper's lambda (eq. optimization), None for
    automatic. `form`: "theta" pulls as the paper does, lambda^2 |theta - theta_prior|^2, which depends on the factor
    convention and the frame; "divergence" by the log-det divergence of the pseudo-inertias, which depends on neither.
    """

    values: Mapping[str, float]
    spread: float = DEFAULT_SPREAD
    damping: float | None = None
    form: Form = "theta"


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """The prior in the solver's coordinates, per unit of lambda^2."""

    map_: Stacked
    theta: FloatArray
    """Where it pulls to (0 where it does not pull)."""
    damped: NDArray[np.bool_]
    root: FloatArray
    """root root' is the covariance of theta that the declared spread means."""
    inertias: tuple[tuple[slice[int, int], LogCholesky, FloatArray], ...]
    """Bodies that are pulled by divergence: their theta, their map, and the prior's pseudo-inertia."""
    smooth: FloatArray
    """(rows, theta): what is pulled to zero by priors of smoothness."""

    def value(self, theta: FloatArray) -> float:
        """The penalty: |theta - prior|^2, and twice the divergence for bodies, which near the prior is |E|^2."""
        total = float(np.sum((theta - self.theta)[self._plain] ** 2) + np.sum((self.smooth @ theta) ** 2))
        return total + sum(2 * log_det_divergence(m.forward(theta[s]), J0) for s, m, J0 in self.inertias)

    def rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A and b with value(theta + d) = |A d + b|^2 + constant to second order: rows for a least-squares step."""
        blocks = [np.eye(len(theta))[self._plain], self.smooth]
        b = [(theta - self.theta)[self._plain], self.smooth @ theta]
        for s, m, J0 in self.inertias:
            F, target = divergence_rows(m.forward(theta[s]), J0)
            block = np.zeros((len(F), len(theta)))
            block[:, s] = F @ m.jacobian(theta[s])
            blocks.append(block)
            b.append(target)
        return np.concatenate(blocks), np.concatenate(b)

    def slope(self, theta: FloatArray) -> FloatArray:
        """Half the derivative of the part that is a function of p, with respect to p."""
        slope = np.zeros(self.map_.size_p)
        for part, ps, ts in zip(self.map_.parts, self.map_.p_slices(), self.map_.theta_slices(), strict=True):
            for s, m, J0 in self.inertias:
                if s == ts and m is part:
                    F, target = divergence_rows(m.forward(theta[s]), J0)
                    slope[ps] = F.T @ target
        return slope

    @property
    def _plain(self) -> NDArray[np.bool_]:
        """What is pulled in theta itself."""
        if not self.inertias:
            return self.damped
        plain = self.damped.copy()
        for s, _, _ in self.inertias:
            plain[s] = False
        return plain


def build_penalty(
    prior: Prior | None, names: tuple[str, ...], map_: Stacked, roughness: FloatArray | None = None
) -> Penalty:
    """Express a prior in theta; refuses an inertia that is not physically consistent.

    roughness (rows, parameters): of parameters that are their own theta, expected to be zero with standard deviation
    one (`Model.roughness`).
    """
    n = map_.size_theta
    theta, damped, root = np.zeros(n), np.zeros(n, dtype=bool), np.zeros((n, n))
    inertias: list[tuple[slice[int, int], LogCholesky, FloatArray]] = []
    if prior is None:
        return Penalty(map_, theta, damped, root, (), np.zeros((0, n)))
    for part, ps, ts in zip(map_.parts, map_.p_slices(), map_.theta_slices(), strict=True):
        given = np.array([prior.values.get(name, np.nan) for name in names[ps]])
        known = np.isfinite(given)
        if isinstance(part, LogCholesky):
            if not known.all():
                continue
            if not given[0] > 0:
                check_consistent(given, "prior")
            p = given if part.known_mass is None else given * (part.known_mass / given[0])
            try:
                theta[ts], damped[ts] = part.inverse(p), True
            except NotConsistent:
                check_consistent(given, "prior")  # the same in the user's own numbers
                raise
            S = relative_spread(p, prior.spread, mass_known=part.known_mass is not None)
            root[ts, ts] = triangular(solve_columns(part.jacobian(theta[ts]), S).T).T
            if prior.form == "divergence":
                inertias.append((ts, part, pseudo_inertia(p)))
        elif not isinstance(part, Fixed):
            at = ts.start + np.flatnonzero(known)
            theta[at], damped[at] = part.inverse(np.where(known, given, 1.0))[known], True
            root[at, at] = _simple_spread(part, given[known], prior.spread)
    smooth = np.zeros((0, n))
    if roughness is not None and len(roughness):
        smooth = prior.spread * roughness @ map_.jacobian(theta)
        root = np.asarray(np.hstack([root, prior.spread * np.linalg.pinv(smooth)]), dtype=float)
    return Penalty(map_, theta, damped, root, tuple(inertias), smooth)


def _simple_spread(part: Map, p: FloatArray, spread: float) -> FloatArray:
    return np.full(len(p), spread) if isinstance(part, Exp) else spread * np.abs(p)
