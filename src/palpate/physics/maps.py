"""Maps from unconstrained theta to physical parameters p, so that a solver may go anywhere and p stays possible.

Each map is a value with `size_theta`, `size_p`, `forward`, `jacobian` and `inverse`; `Stacked` joins several into one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Protocol

import numpy as np

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import nearest_consistent, phi_from_mass_properties, relative_changes
from palpate.physics.log_cholesky import (
    Factor,
    phi_curvature,
    phi_from_theta,
    phi_from_theta_m,
    phi_jacobian,
    phi_jacobian_m,
    theta_from_phi,
)


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
