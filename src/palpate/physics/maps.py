"""Maps from unconstrained theta to physical parameters p, so that a solver may go anywhere and p stays possible.

Each map is a value with `size_theta`, `size_p`, `forward`, `jacobian` and `inverse`; `Stacked` joins several into one.

The log-Cholesky map takes ten free numbers onto exactly the physically consistent phi (Rucker & Wensing 2022).
theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] (paper, eq. theta) fills one upper triangular factor

    U = e^alpha [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1],

and the pseudo-inertia is J = U'U in the paper (`UtU`; e^d and s are lengths, t dimensionless), J = UU' in Pinocchio and
MuJoCo (`UUt`; all lengths, e^2alpha = m, t = centre of mass). Both reach the same phi with different theta, so
theta, damping and conditioning compare only within one convention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    PHI_OF_PSEUDO,
    check_consistent,
    nearest_consistent,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    pseudo_inertia,
    relative_changes,
)

Factor = Literal["UtU", "UUt"]

THETA_NAMES = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_DIAGONAL, _NUMBER = np.arange(3), np.arange(1, 10)
_ROW, _COLUMN = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 1, 2, 2, 3, 3, 3])


def phi_from_theta(theta: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """Paper, eq. phi_theta, in the chosen factor convention. (10,) -> (10,)."""
    U = _factor(np.asarray(theta, dtype=float))
    return phi_from_pseudo_inertia(U.T @ U if factor == "UtU" else U @ U.T)


def phi_jacobian(theta: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """d phi / d theta, analytic: dJ = dU'U + U'dU, or dU U' + U dU'. (10,) -> (10, 10)."""
    theta = np.asarray(theta, dtype=float)
    U = _factor(theta)
    dU = _factor_slopes(theta, U)
    half = np.swapaxes(dU, 1, 2) @ U if factor == "UtU" else dU @ U.T
    return 2 * phi_from_pseudo_inertia(half).T  # phi sees the symmetric part alone


def phi_curvature(theta: ArrayLike, slope: FloatArray, factor: Factor = "UtU") -> FloatArray:
    """sum_k slope_k d2 phi_k / d theta2, analytic. (10,), (10,) -> (10, 10).

    slope' phi = <W, J> with a symmetric W, J is quadratic in U, and U is exponential in alpha and d.
    """
    theta = np.asarray(theta, dtype=float)
    U = _factor(theta)
    dU = _factor_slopes(theta, U)
    W = (PHI_OF_PSEUDO @ slope).reshape(4, 4)
    turned = dU @ W if factor == "UtU" else W @ dU
    H = 2 * turned.reshape(10, 16) @ dU.reshape(10, 16).T
    slopes = 2 * dU.reshape(10, 16) @ (U @ W if factor == "UtU" else W @ U).ravel()
    H[0, :] += slopes
    H[1:, 0] += slopes[1:]
    H[_NUMBER[:3], _NUMBER[:3]] += slopes[1:4]
    return H


def theta_from_phi(phi: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """The inverse map, by Cholesky; refuses parameters that are not physically consistent. (10,) -> (10,)."""
    check_consistent(phi, "inertial parameters")
    J = pseudo_inertia(phi)
    # UU' is the Cholesky factorisation of J with rows and columns in reverse order
    U = np.linalg.cholesky(J).T if factor == "UtU" else np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    entries = U[_ROW, _COLUMN] / U[3, 3]
    return np.concatenate([[np.log(U[3, 3])], np.log(entries[:3]), entries[3:]])


def alpha_of_mass(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> float:
    """The alpha that gives the known mass (kg): paper, eq. alpha, for `UtU`; log(m)/2 for `UUt`. theta_m is (9,)."""
    t = np.asarray(theta_m, dtype=float)[6:9]
    return float(0.5 * np.log(mass / (1 + t @ t if factor == "UtU" else 1.0)))


def phi_from_theta_m(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> FloatArray:
    """phi of the nine remaining parameters when the mass (kg) is known (paper, eq. theta_m). (9,) -> (10,)."""
    return phi_from_theta(np.concatenate([[alpha_of_mass(theta_m, mass, factor)], theta_m]), factor)


def phi_jacobian_m(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> FloatArray:
    """d phi / d theta_m with the mass (kg) known, analytic. (9,) -> (10, 9)."""
    theta_m = np.asarray(theta_m, dtype=float)
    full = phi_jacobian(np.concatenate([[alpha_of_mass(theta_m, mass, factor)], theta_m]), factor)
    jacobian = full[:, 1:].copy()
    if factor == "UtU":  # alpha moves with t: d alpha / dt = -t / (1 + t't)
        t = theta_m[6:9]
        jacobian[:, 6:9] -= np.outer(full[:, 0], t / (1 + t @ t))
    return jacobian


def _factor_slopes(theta: FloatArray, U: FloatArray) -> FloatArray:
    """d U / d theta, (10, 4, 4): d/dd_i e^d_i = e^d_i; the others enter U as they are."""
    dU = np.zeros((10, 4, 4))
    dU[0] = U
    scale = np.full(9, np.exp(theta[0]))
    scale[:3] = U[_DIAGONAL, _DIAGONAL]
    dU[_NUMBER, _ROW, _COLUMN] = scale
    return dU


def _factor(theta: FloatArray) -> FloatArray:
    """U entry by entry: a search calls it thousands of times, and one array of floats is the fastest way."""
    e, e1, e2, e3 = np.exp(theta[:4]).tolist()
    s12, s23, s13, t1, t2, t3 = theta[4:].tolist()
    return e * np.array([[e1, s12, s13, t1], [0.0, e2, s23, t2], [0.0, 0.0, e3, t3], [0.0, 0.0, 0.0, 1.0]])


class Map(Protocol):
    """theta (size_theta,) -> p (size_p,), smooth and invertible on its image."""

    @property
    def size_theta(self) -> int: ...  # noqa: D102
    @property
    def size_p(self) -> int: ...  # noqa: D102
    def forward(self, theta: FloatArray) -> FloatArray:
        """The physical parameters, (size_p,)."""
        ...

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """d p / d theta, (size_p, size_theta)."""
        ...

    def inverse(self, p: FloatArray) -> FloatArray:
        """The theta of given physical parameters; refuses what the map cannot reach."""
        ...

    def nearest(self, p: FloatArray) -> FloatArray:
        """Possible parameters near p, which may be impossible: where a search can begin."""
        ...

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """sum_k slope_k d2 p_k / d theta2, (size_theta, size_theta): what Gauss-Newton neglects."""
        ...

    def natural(self, p: FloatArray) -> FloatArray:
        """How p changes per unit of each natural, mostly relative, change: (size_p, size_theta). Conditioning is told
        in these.
        """
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """p = theta: a quantity that may take any sign (bias, spring coefficients)."""

    size_p: int = 1

    @property
    def size_theta(self) -> int:
        """As many as p."""
        return self.size_p

    def forward(self, theta: FloatArray) -> FloatArray:
        """P = theta."""
        return theta.copy()

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """The unit matrix."""
        return np.eye(len(theta))

    def inverse(self, p: FloatArray) -> FloatArray:
        """Theta = p."""
        return p.copy()

    def nearest(self, p: FloatArray) -> FloatArray:
        """All are possible."""
        return p.copy()

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """None."""
        del slope
        return np.zeros((len(theta), len(theta)))

    def natural(self, p: FloatArray) -> FloatArray:
        """By itself."""
        return np.eye(len(p))


@dataclass(frozen=True, slots=True)
class Exp:
    """p = e^theta > 0 (paper, text after eq. theta): friction, damping, a scalar inertia."""

    size_p: int = 1

    @property
    def size_theta(self) -> int:
        """As many as p."""
        return self.size_p

    def forward(self, theta: FloatArray) -> FloatArray:
        """P = e^theta."""
        return np.exp(theta)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """diag(e^theta)."""
        return np.diag(np.exp(theta))

    def inverse(self, p: FloatArray) -> FloatArray:
        """Theta = log p."""
        if (p <= 0).any():
            raise PalpateError(f"a positive parameter cannot be {p.min():.6g}")
        return np.log(p)

    def nearest(self, p: FloatArray) -> FloatArray:
        """A thousandth of its size where p is not positive: far from zero, where e^theta would not move."""
        return np.maximum(p, 1e-3 * np.maximum(np.abs(p), 1e-3))

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """diag(slope e^theta)."""
        return np.diag(slope * np.exp(theta))

    def natural(self, p: FloatArray) -> FloatArray:
        """By its own size."""
        return np.diag(p)


@dataclass(frozen=True, slots=True)
class Fixed:
    """p as given, nothing to estimate."""

    values: tuple[float, ...]

    @property
    def size_p(self) -> int:
        """As many as values."""
        return len(self.values)

    @property
    def size_theta(self) -> int:
        """None."""
        return 0

    def forward(self, theta: FloatArray) -> FloatArray:
        """The values, whatever theta."""
        del theta
        return np.array(self.values)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """No columns."""
        del theta
        return np.empty((len(self.values), 0))

    def inverse(self, p: FloatArray) -> FloatArray:
        """Nothing."""
        del p
        return np.empty(0)

    def nearest(self, p: FloatArray) -> FloatArray:
        """The values."""
        del p
        return np.array(self.values)

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """Nothing."""
        del theta, slope
        return np.empty((0, 0))

    def natural(self, p: FloatArray) -> FloatArray:
        """Not at all."""
        return np.empty((len(p), 0))


@dataclass(frozen=True, slots=True)
class LogCholesky:
    """phi of a rigid body from ten theta, or from nine when its mass (kg) is known."""

    factor: Factor = "UtU"
    known_mass: float | None = None
    size_p: int = 10

    @property
    def size_theta(self) -> int:
        """Ten, or nine."""
        return 10 if self.known_mass is None else 9

    def forward(self, theta: FloatArray) -> FloatArray:
        """Paper, eq. phi_theta, with eq. alpha when the mass is known."""
        if self.known_mass is None:
            return phi_from_theta(theta, self.factor)
        return phi_from_theta_m(theta, self.known_mass, self.factor)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """Analytic."""
        if self.known_mass is None:
            return phi_jacobian(theta, self.factor)
        return phi_jacobian_m(theta, self.known_mass, self.factor)

    def inverse(self, p: FloatArray) -> FloatArray:
        """By Cholesky; with a known mass, p is first scaled to it (same centre of mass and shape)."""
        if self.known_mass is None:
            return theta_from_phi(p, self.factor)
        return theta_from_phi(p * (self.known_mass / p[0]), self.factor)[1:]

    def nearest(self, p: FloatArray) -> FloatArray:
        """The same mass and centre with a possible inertia; a ball of 1 kg and 10 cm where the mass is not positive."""
        if p[0] <= 0:
            return phi_from_mass_properties(1.0, np.zeros(3), 0.004 * np.eye(3))
        return nearest_consistent(p)

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """Analytic; with a known mass, by differences of the analytic Jacobian."""
        if self.known_mass is None:
            return phi_curvature(theta, slope, self.factor)
        h, P = 1e-6, self.jacobian(theta)
        extra = np.array([slope @ (self.jacobian(theta + h * e) - P) / h for e in np.eye(len(theta))])
        return (extra + extra.T) / 2

    def natural(self, p: FloatArray) -> FloatArray:
        """By relative changes of the body; the mass's is the last."""
        return relative_changes(p)[:, : self.size_theta]


@dataclass(frozen=True, slots=True)
class Stacked:
    """Several maps side by side: theta and p are their concatenations, the Jacobian is block diagonal."""

    parts: tuple[Map, ...]

    @property
    def size_p(self) -> int:
        """Sum of the parts'."""
        return sum(part.size_p for part in self.parts)

    @property
    def size_theta(self) -> int:
        """Sum of the parts'."""
        return sum(part.size_theta for part in self.parts)

    def forward(self, theta: FloatArray) -> FloatArray:
        """Each part on its own piece."""
        return np.concatenate([m.forward(theta[s]) for m, s in zip(self.parts, self.theta_slices(), strict=True)])

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """Block diagonal."""
        J = np.zeros((self.size_p, self.size_theta))
        for m, rows, columns in zip(self.parts, self.p_slices(), self.theta_slices(), strict=True):
            J[rows, columns] = m.jacobian(theta[columns])
        return J

    def inverse(self, p: FloatArray) -> FloatArray:
        """Each part on its own piece."""
        return np.concatenate([m.inverse(p[s]) for m, s in zip(self.parts, self.p_slices(), strict=True)])

    def nearest(self, p: FloatArray) -> FloatArray:
        """Each part on its own piece."""
        return np.concatenate([m.nearest(p[s]) for m, s in zip(self.parts, self.p_slices(), strict=True)])

    def curvature(self, theta: FloatArray, slope: FloatArray) -> FloatArray:
        """Block diagonal."""
        H = np.zeros((self.size_theta, self.size_theta))
        for m, rows, columns in zip(self.parts, self.p_slices(), self.theta_slices(), strict=True):
            H[columns, columns] = m.curvature(theta[columns], slope[rows])
        return H

    def natural(self, p: FloatArray) -> FloatArray:
        """Block diagonal."""
        S = np.zeros((self.size_p, self.size_theta))
        for m, rows, columns in zip(self.parts, self.p_slices(), self.theta_slices(), strict=True):
            S[rows, columns] = m.natural(p[rows])
        return S

    def theta_slices(self) -> list[slice[int, int]]:
        """Where each part's theta sits."""
        return _slices(tuple([part.size_theta for part in self.parts]))

    def p_slices(self) -> list[slice[int, int]]:
        """Where each part's p sits."""
        return _slices(tuple([part.size_p for part in self.parts]))


def stack_maps(parts: Iterable[Map]) -> Stacked:
    """One map out of several; neighbours of the same simple kind become one, which is faster."""
    joined: list[Map] = []
    for kind, group in groupby(parts, key=type):
        members = list(group)
        if kind in (Identity, Exp):
            joined.append(kind(sum(m.size_p for m in members)))
        elif kind is Fixed:
            joined.append(Fixed(tuple(v for m in members if isinstance(m, Fixed) for v in m.values)))
        else:
            joined += members
    return Stacked(tuple(joined))


@lru_cache(maxsize=64)
def _slices(sizes: tuple[int, ...]) -> list[slice[int, int]]:
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
