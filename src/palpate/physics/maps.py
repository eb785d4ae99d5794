"""Maps from unconstrained theta to physical parameters p, so that a solver may go anywhere and p stays possible.

A parameter may take any value (p = theta), be positive (p = e^theta; paper, text after eq. theta), be fixed, or be one
of the ten of a rigid body.

The log-Cholesky map takes ten free numbers onto exactly the physically consistent phi (Rucker & Wensing 2022).
theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] (paper, eq. theta) fills one upper triangular factor

    U = e^alpha [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1],

and the pseudo-inertia is J = U'U in the paper (`UtU`; e^d and s are lengths, t dimensionless), J = UU' in Pinocchio and
MuJoCo (`UUt`; all lengths, e^2alpha = m, t = centre of mass). Both reach the same phi with different theta, so
theta, damping and conditioning compare only within one convention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.physics import inertia
from palpate.physics.arrays import BoolArray, FloatArray

Factor = Literal["UtU", "UUt"]
MapKind = Literal["inertia", "positive", "free"]

_DIAGONAL, _NUMBER = np.arange(3), np.arange(1, 10)
_U_ROW, _U_COLUMN = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 1, 2, 2, 3, 3, 3])


def _factor_slopes(theta: FloatArray, U: FloatArray) -> FloatArray:
    """d U / d theta, (10, 4, 4): d/dd_i e^d_i = e^d_i; the others enter U as they are."""
    dU = np.zeros((10, 4, 4))
    dU[0] = U
    scale = np.full(9, np.exp(theta[0]))
    scale[:3] = U[_DIAGONAL, _DIAGONAL]
    dU[_NUMBER, _U_ROW, _U_COLUMN] = scale
    return dU


def _factor(theta: FloatArray) -> FloatArray:
    """U entry by entry: a search calls it thousands of times, and one array of floats is the fastest way."""
    e, e1, e2, e3 = np.exp(theta[:4]).tolist()
    s12, s23, s13, t1, t2, t3 = theta[4:].tolist()
    return e * np.array([[e1, s12, s13, t1], [0.0, e2, s23, t2], [0.0, 0.0, e3, t3], [0.0, 0.0, 0.0, 1.0]])


@dataclass(frozen=True, slots=True)
class LogCholesky:
    """phi of a rigid body from ten theta, or from nine when its mass (kg) is known (paper, eq. theta_m)."""

    factor: Factor = "UtU"
    known_mass: float | None = None

    @property
    def size_theta(self) -> int:
        """Ten, or nine."""
        return 10 if self.known_mass is None else 9

    def forward(self, theta: FloatArray) -> FloatArray:
        """Paper, eq. phi_theta, with eq. alpha when the mass is known."""
        return self._phi(_factor(self.ten(theta)))

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """d phi / d theta, analytic."""
        return self.both(theta)[1]

    def both(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi and d phi / d theta."""
        U = _factor(ten := self.ten(theta))
        return self._phi(U), self._slopes(theta, U, _factor_slopes(ten, U))

    def _phi(self, U: FloatArray) -> FloatArray:
        return inertia.phi_from_pseudo_inertia(U.T @ U if self.factor == "UtU" else U @ U.T)

    def _slopes(self, theta: FloatArray, U: FloatArray, dU: FloatArray) -> FloatArray:
        """dJ = dU'U + U'dU, or dU U' + U dU'."""
        half = np.swapaxes(dU, 1, 2) @ U if self.factor == "UtU" else dU @ U.T
        full = 2 * inertia.phi_from_pseudo_inertia(half).T  # phi sees the symmetric part alone
        if self.known_mass is None:
            return full
        jacobian = full[:, 1:].copy()
        if self.factor == "UtU":  # alpha moves with t: d alpha / dt = -t / (1 + t't)
            t = theta[6:9]
            jacobian[:, 6:9] -= np.outer(full[:, 0], t / (1 + t @ t))
        return jacobian

    def inverse(self, phi: FloatArray) -> FloatArray:
        """By Cholesky; refuses parameters that are not physically consistent.

        With a known mass, phi is first scaled to it (same centre of mass and shape).
        """
        phi = phi if self.known_mass is None else phi * (self.known_mass / phi[0])
        inertia.check_consistent(phi, "inertial parameters")
        J = inertia.pseudo_inertia(phi)
        # UU' is the Cholesky factorisation of J with rows and columns in reverse order
        U = np.linalg.cholesky(J).T if self.factor == "UtU" else np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
        entries = U[_U_ROW, _U_COLUMN] / U[3, 3]
        return np.concatenate([[np.log(U[3, 3])], np.log(entries[:3]), entries[3:]])[10 - self.size_theta :]

    def nearest(self, phi: FloatArray) -> FloatArray:
        """The same mass and centre with a possible inertia; a ball of 1 kg and 10 cm where the mass is not positive."""
        if phi[0] <= 0:
            return inertia.phi_from_mass_properties(1.0, np.zeros(3), 0.004 * np.eye(3))
        return inertia.nearest_consistent(phi)

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """As of `Map`, analytic; with a known mass, by differences of the analytic Jacobian.

        slope' phi = <W, J> with a symmetric W, J is quadratic in U, and U is exponential in alpha and d.
        """
        if self.known_mass is not None:
            h, P = 1e-6, self.jacobian(theta)
            extra = np.array([slope @ (self.jacobian(theta + h * e) - P) / h for e in np.eye(len(theta))])
            return (extra + extra.T) / 2
        U, paper = _factor(theta), self.factor == "UtU"
        dU = _factor_slopes(theta, U)
        W = (inertia.PHI_OF_PSEUDO @ slope).reshape(4, 4)
        H = 2 * (dU @ W if paper else W @ dU).reshape(10, 16) @ dU.reshape(10, 16).T
        slopes = 2 * dU.reshape(10, 16) @ (U @ W if paper else W @ U).ravel()
        H[0, :] += slopes
        H[1:, 0] += slopes[1:]
        H[_NUMBER[:3], _NUMBER[:3]] += slopes[1:4]
        return H

    def natural(self, phi: FloatArray) -> FloatArray:
        """By relative changes of the body; the mass's is the last."""
        return inertia.relative_changes(phi)[:, : self.size_theta]

    def ten(self, theta: FloatArray) -> FloatArray:
        """All ten: alpha gives the known mass (paper, eq. alpha, for `UtU`; log(m) / 2 for `UUt`)."""
        if self.known_mass is None:
            return theta
        squared = theta[6:9] @ theta[6:9] if self.factor == "UtU" else 0.0
        return np.concatenate([[0.5 * np.log(self.known_mass / (1 + squared))], theta])


Body = tuple[LogCholesky, "slice[int, int]", "slice[int, int]"]
"""The map of a body, and where its ten p and its theta are."""


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """theta (size_theta,) -> p (size_p,) of a whole model, smooth and invertible on its image."""

    size_theta: int
    values: FloatArray
    """(size_p,): what is fixed, NaN elsewhere."""
    simple: NDArray[np.int64]
    """Which p have one theta each ..."""
    at: NDArray[np.int64]
    """... where that is ..."""
    positive: BoolArray
    """... and whether p is its exponential."""
    bodies: tuple[Body, ...]

    @property
    def fixed(self) -> BoolArray:
        """(size_p,): what theta does not change; the known mass of a body counts."""
        fixed = np.isfinite(self.values)
        for body, ps, _ in self.bodies:
            fixed[ps.start] = body.known_mass is not None
        return fixed

    def forward(self, theta: FloatArray) -> FloatArray:
        """The physical parameters, (size_p,)."""
        p = self.values.copy()
        p[self.simple] = theta[self.at]
        if self.positive.any():
            p[self.simple[self.positive]] = np.exp(theta[self.at[self.positive]])
        for body, ps, ts in self.bodies:
            p[ps] = body.forward(theta[ts])
        return p

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """d p / d theta, (size_p, size_theta)."""
        return self.both(theta)[1]

    def both(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """p and d p / d theta."""
        p, J, slope = self.values.copy(), np.zeros((len(self.values), self.size_theta)), 1.0
        p[self.simple] = theta[self.at]
        if self.positive.any():
            slope = self._exponential(theta)
            p[self.simple[self.positive]] = slope[self.positive]
        J[self.simple, self.at] = slope
        for body, ps, ts in self.bodies:
            p[ps], J[ps, ts] = body.both(theta[ts])
        return p, J

    def inverse(self, p: FloatArray) -> FloatArray:
        """The theta of given physical parameters; refuses what the map cannot reach."""
        theta, x = np.empty(self.size_theta), p[self.simple]
        if (x[self.positive] <= 0).any():
            raise PalpateError(f"a positive parameter cannot be {x[self.positive].min():.6g}")
        theta[self.at] = np.where(self.positive, np.log(np.where(self.positive, x, 1.0)), x)
        for body, ps, ts in self.bodies:
            theta[ts] = body.inverse(p[ps])
        return theta

    def nearest(self, p: FloatArray) -> FloatArray:
        """Possible parameters near p, which may be impossible: where a search can begin.

        What must be positive and is not becomes a thousandth of its size: far from zero, where e^theta would not move.
        """
        near, x = self.values.copy(), p[self.simple]
        near[self.simple] = np.where(self.positive, np.maximum(x, 1e-3 * np.maximum(np.abs(x), 1e-3)), x)
        for body, ps, _ in self.bodies:
            near[ps] = body.nearest(p[ps])
        return near

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """sum_k slope_k d2 p_k / d theta2, (size_theta, size_theta): what Gauss-Newton neglects."""
        H = np.zeros((self.size_theta, self.size_theta))
        H[self.at, self.at] = np.where(self.positive, slope[self.simple] * self._exponential(theta), 0.0)
        for body, ps, ts in self.bodies:
            H[ts, ts] = body.curvature(theta[ts], slope[ps])
        return H

    def natural(self, p: FloatArray) -> FloatArray:
        """How p changes per unit of each natural, mostly relative, change: (size_p, size_theta).

        Conditioning is stated in these.
        """
        S = np.zeros((len(self.values), self.size_theta))
        S[self.simple, self.at] = np.where(self.positive, p[self.simple], 1.0)
        for body, ps, ts in self.bodies:
            S[ps, ts] = body.natural(p[ps])
        return S

    def _exponential(self, theta: FloatArray) -> FloatArray:
        """e^theta of what is positive, one of what is not."""
        return np.exp(np.where(self.positive, theta[self.at], 0.0))


def build_map(
    kinds: Sequence[str],
    *,
    fixed: Mapping[int, float] | None = None,
    factor: Factor = "UtU",
    known_mass: float | None = None,
) -> Map:
    """The map of parameters of these kinds, of which some are `fixed` (place -> value); bodies come in tens."""
    values = np.full(len(kinds), np.nan)
    values[list(fixed or ())] = list((fixed or {}).values())
    simple, at = list[int](), list[int]()
    bodies: list[Body] = []
    body, i, size = LogCholesky(factor, known_mass), 0, 0
    while i < len(kinds):
        count, thetas = (10, body.size_theta) if kinds[i] == "inertia" else (1, int(np.isnan(values[i])))
        if kinds[i] == "inertia":
            bodies.append((body, slice(i, i + 10), slice(size, size + thetas)))
        elif thetas:
            simple.append(i)
            at.append(size)
        i, size = i + count, size + thetas
    positive = np.array([kinds[i] == "positive" for i in simple], dtype=bool)
    return Map(size, values, np.array(simple, dtype=np.int64), np.array(at, dtype=np.int64), positive, tuple(bodies))
