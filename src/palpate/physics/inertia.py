"""Inertial parameters of a rigid body and their conversions.

phi = [m, m c_x, m c_y, m c_z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] (paper, eq. phi): kg, kg m, kg m2. The inertias are
matrix entries about the frame's **origin** (Ixy = -integral x y dm). Everything about other tools' orders and about
inertias about the centre of mass is in this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import NotConsistent
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Scalar
from palpate.physics.motion import Kinematics, transform

PHI_NAMES = ("m", "mc_x", "mc_y", "mc_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PHI_UNITS = ("kg", "kg m", "kg m", "kg m", "kg m2", "kg m2", "kg m2", "kg m2", "kg m2", "kg m2")
DRAWING_NAMES = ("m", "c_x", "c_y", "c_z", *PHI_NAMES[4:])
DRAWING_UNITS = ("kg", "m", "m", "m", *PHI_UNITS[4:])

_FLAT = 1e-13
"""Of the largest second moment about the origin: a body thinner than this is flat, and its sign an accident."""
_I_ROW, _I_COLUMN = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2])


class MassProperties(NamedTuple):
    """What a drawing states: mass (kg), centre of mass (3, m), inertia about the centre of mass (3 x 3, kg m2)."""

    mass: float
    com: FloatArray
    inertia_com: FloatArray


def phi_from_mass_properties(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> FloatArray:
    """Steiner's theorem: I_origin = I_com + m S(c)' S(c). -> (10,)."""
    c = np.asarray(com, dtype=float)
    I = np.asarray(inertia_com, dtype=float) + mass * ((c @ c) * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, I[_I_ROW, _I_COLUMN]])


def mass_properties(phi: ArrayLike) -> MassProperties:
    """The inverse of `phi_from_mass_properties`; the mass must not be zero."""
    phi = np.asarray(phi, dtype=float)
    mass, com = float(phi[0]), phi[1:4] / phi[0]
    return MassProperties(mass, com, inertia_matrix(phi) - mass * ((com @ com) * np.eye(3) - np.outer(com, com)))


def inertia_matrix(phi: ArrayLike) -> FloatArray:
    """The inertia matrix about the origin. (..., 10) -> (..., 3, 3), kg m2."""
    phi = np.asarray(phi, dtype=float)
    I = np.empty((*phi.shape[:-1], 3, 3))
    I[..., _I_ROW, _I_COLUMN] = phi[..., 4:]
    I[..., _I_COLUMN, _I_ROW] = phi[..., 4:]
    return I


def pseudo_inertia(phi: ArrayLike) -> FloatArray:
    """J = [Sigma, m c; m c', m] with Sigma = tr(I)/2 - I (Wensing et al. 2018). (..., 10) -> (..., 4, 4)."""
    phi = np.asarray(phi, dtype=float)
    return (phi @ PSEUDO_OF_PHI.reshape(10, 16)).reshape(*phi.shape[:-1], 4, 4)


def _pseudo_of_phi(phi: FloatArray) -> FloatArray:
    """(n, 10) -> (n, 4, 4)."""
    I, J = inertia_matrix(phi), np.empty((len(phi), 4, 4))
    J[:, :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - I
    J[:, :3, 3] = J[:, 3, :3] = phi[:, 1:4]
    J[:, 3, 3] = phi[:, 0]
    return J


PSEUDO_OF_PHI = _pseudo_of_phi(np.eye(10))
"""(10, 4, 4): J = sum_k phi_k M_k; a search calls it thousands of times."""


def phi_from_pseudo_inertia(J: ArrayLike) -> FloatArray:
    """The inverse of `pseudo_inertia`: I = tr(Sigma) - Sigma. (..., 4, 4) -> (..., 10)."""
    pseudo = np.asarray(J, dtype=float)
    return pseudo.reshape(*pseudo.shape[:-2], 16) @ PHI_OF_PSEUDO


def _phi_of_pseudo(pseudo: FloatArray) -> FloatArray:
    """(n, 4, 4) -> (n, 10)."""
    Sigma = pseudo[:, :3, :3]
    I = np.trace(Sigma, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - (Sigma + Sigma.swapaxes(1, 2)) / 2
    h = (pseudo[:, :3, 3] + pseudo[:, 3, :3]) / 2
    return np.concatenate([pseudo[:, 3, 3:], h, I[:, _I_ROW, _I_COLUMN]], axis=1)


PHI_OF_PSEUDO = _phi_of_pseudo(np.eye(16).reshape(16, 4, 4))
"""(16, 10): phi = vec(J) @ PHI_OF_PSEUDO; a search calls it thousands of times."""


def principal_moments(phi: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Moments about the principal axes through the centre of mass (3, ascending, kg m2) and those axes as columns."""
    moments, axes = np.linalg.eigh(mass_properties(phi).inertia_com)
    return moments, axes if np.linalg.det(axes) > 0 else -axes


def spread_of_mass(phi: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (3, ascending, kg m2) of the integral of r r' dm about the centre of mass, and their axes as columns.

    All positive, with a positive mass, is exactly the condition that a distribution of positive density exists
    (pseudo-inertia positive definite; implies the triangle inequalities of the principal moments).
    """
    I = mass_properties(phi).inertia_com
    values, axes = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)
    return values, axes


def is_consistent(phi: ArrayLike) -> bool:
    """Whether a body of positive density can have these parameters."""
    try:
        check_consistent(phi, "")
    except NotConsistent:
        return False
    return True


def check_consistent(phi: ArrayLike, what: str) -> None:
    """Raise `NotConsistent` with the reason unless a body of positive density can have these parameters.

    The mass must spread in all directions by more than rounding can pretend: both Cholesky factors exist.
    """
    phi = np.asarray(phi, dtype=float)
    if not np.isfinite(phi).all():
        raise NotConsistent(what, "contains values that are not finite")
    if phi[0] <= 0:
        raise NotConsistent(what, f"the mass is {phi[0]:.6g} kg, it must be positive")
    if _is_thick(*phi.tolist()):
        return
    spread, _ = spread_of_mass(phi)
    if not spread[0] > _FLAT * (phi[1:4] @ phi[1:4] / phi[0] + spread[-1]):
        a, b, c = principal_moments(phi)[0]
        why = "each must be positive"
        if a > 0:
            why = f"the largest must be less than the sum of the others, {a + b:.6g}"
        moments = f"{a:.6g}, {b:.6g}, {c:.6g} kg m2 about its centre of mass"
        raise NotConsistent(what, f"no body has the principal moments {moments}: {why}")


def _is_thick(
    m: float, x: float, y: float, z: float, Ixx: float, Ixy: float, Ixz: float, Iyy: float, Iyz: float, Izz: float
) -> bool:
    """Whether the mass surely spreads in all directions by more than rounding: Cholesky's pivots, without eigenvalues.

    Against the sum of all second moments about the origin, which is more than the largest.
    """
    half = 0.5 * (Ixx + Iyy + Izz)
    least = _FLAT * half
    a, b, c = half - Ixx - x * x / m - least, half - Iyy - y * y / m - least, half - Izz - z * z / m - least
    d, e, f = -Ixy - x * y / m, -Ixz - x * z / m, -Iyz - y * z / m
    if not (a > 0.0 and half > 0.0):
        return False
    b, f = b - d * d / a, f - d * e / a
    return b > 0.0 and c - e * e / a - f * f / b > 0.0


def nearest_consistent(phi: ArrayLike, *, thinnest: float = 1e-3) -> FloatArray:
    """Keep mass and centre of mass, and raise the spread of mass to at least `thinnest` of its largest value.

    For rounded or noisy parameters: a printed table, an unconstrained estimate. The mass must be positive.
    """
    mass, com, _ = mass_properties(phi)
    values, axes = spread_of_mass(phi)
    rounding = 10 * _FLAT * (mass * (com @ com) + max(values[-1], 0.0))
    largest = values[-1] if values[-1] > rounding else 1e-4 * mass  # nothing known: a ball of 1 cm
    values = np.maximum(values, max(thinnest * largest, rounding))
    Sigma = (axes * values) @ axes.T
    return phi_from_mass_properties(mass, com, np.trace(Sigma) * np.eye(3) - Sigma)


def move_phi(phi: ArrayLike, R_ab: ArrayLike, r_ab: ArrayLike) -> FloatArray:
    """The same body seen from frame a: J_a = T_ab J_b T_ab'. r_ab in m."""
    T = transform(R_ab, r_ab)
    return phi_from_pseudo_inertia(T @ pseudo_inertia(phi) @ T.T)


def drawing_values(phi: ArrayLike) -> FloatArray:
    """[m, c_x, c_y, c_z, Ixx .. Izz]: phi as people read it, with the centre of mass in m. (10,) -> (10,)."""
    phi = np.asarray(phi, dtype=float)
    return np.concatenate([phi[:1], phi[1:4] / phi[0], phi[4:]])


def drawing_jacobian(phi: ArrayLike) -> FloatArray:
    """d drawing_values / d phi: dc = (d(mc) - c dm) / m. (10,) -> (10, 10)."""
    phi = np.asarray(phi, dtype=float)
    D = np.eye(10)
    D[1:4, 1:4] /= phi[0]
    D[1:4, 0] = -phi[1:4] / phi[0] ** 2
    return D


def relative_changes(phi: ArrayLike) -> FloatArray:
    """S (10 x 10): how phi changes per unit of each relative change E of the body, J = U (1 + E) U'.

    E is symmetric; U carries the principal axes at the centre of mass, so that the ten changes are those of the
    second moments and products along them, of the centre of mass in radii of gyration, and (last) of the mass;
    off-diagonal ones are scaled by sqrt 1/2, which makes |E| the affine-invariant metric of positive matrices (Pennec
    et al. 2006; for inertias Lee & Park 2018): the same statement in every frame, unit and factor convention.
    """
    mass, com, _ = mass_properties(phi)
    values, axes = spread_of_mass(phi)
    U = np.zeros((4, 4))
    U[:3, :3] = axes * np.sqrt(np.maximum(values, 0.0))
    U[:3, 3], U[3, 3] = com * np.sqrt(mass), np.sqrt(mass)
    return phi_from_pseudo_inertia(U @ _CHANGES @ U.T).T


def relative_spread(phi: ArrayLike, spread: float, *, mass_known: bool = False) -> FloatArray:
    """S (10 x 10) with S S' = covariance of phi when a drawing is off by the fraction `spread`, in the sense above.

    The mass is off by that fraction, the second moments too, the centre of mass by that fraction of the radius of
    gyration along each direction (over sqrt 2).
    """
    S = spread * relative_changes(phi)
    if mass_known:
        S[:, 9] = 0.0
    return S


def _changes() -> FloatArray:
    E = np.zeros((10, 4, 4))
    for n, (i, j) in enumerate(zip(*np.triu_indices(4), strict=True)):
        E[n, i, j] = E[n, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return E


_CHANGES = _changes()


def solid_cylinder(mass: float, length: float, radius: float, axis: ArrayLike) -> FloatArray:
    """Inertia about the centre of a solid cylinder along `axis` (3,). kg, m -> (3 x 3) kg m2; any textbook."""
    u = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    axial, radial = mass * radius**2 / 2, mass * (3 * radius**2 + length**2) / 12
    return radial * np.eye(3) + (axial - radial) * np.outer(u, u)


def solid_box(mass: float, sides: ArrayLike) -> FloatArray:
    """Inertia about the centre of a solid box with the given sides (3, m). -> (3 x 3) kg m2; any textbook."""
    x, y, z = np.asarray(sides, dtype=float) ** 2
    return mass / 12 * np.diag([y + z, x + z, x + y])


def log_det_divergence(phi: ArrayLike, J0: FloatArray) -> float:
    """D = tr(J J0^-1) - log det(J J0^-1) - 4 >= 0, zero for J = J0 (Kullback-Leibler; Lee & Park 2018, eq. 22).

    The same in every frame: J -> T J T' and J0 -> T J0 T' leave it alone. Infinite for an impossible body.
    """
    ratio = np.linalg.solve(J0, pseudo_inertia(phi))
    sign, log_det = np.linalg.slogdet(ratio)
    return float(np.trace(ratio) - log_det - 4) if sign > 0 else float("inf")


def divergence_rows(phi: ArrayLike, J0: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F (16, 10) and b (16,) with dD/dphi = F'b and d2D/dphi2 = F'F (from d log det J = tr(J^-1 dJ)).

    With J = L L': F has the columns L^-1 M_k L^-T for J = sum_k phi_k M_k, and b = L' J0^-1 L - 1.
    """
    L = np.linalg.cholesky(pseudo_inertia(phi))
    inverse = np.linalg.inv(L)
    F = (inverse @ PSEUDO_OF_PHI @ inverse.T).reshape(10, 16).T
    return F, (L.T @ np.linalg.solve(J0, L) - np.eye(4)).ravel()


def body_features(k: Kinematics) -> tuple[Scalar, ...]:
    """The twelve features of a sample: a - g, omega_dot, omega_i omega_j (xx, xy, xz, yy, yz, zz).

    The wrench of a moving rigid body is linear in its inertial parameters, w = A phi (Atkeson et al. 1986; paper, eq.
    wrench and A), and every entry of A is linear in these with constant coefficients: compression rests on that.
    """
    x, y, z = k.omega
    return (*k.specific_acceleration, *k.omega_dot, x * x, x * y, x * z, y * y, y * z, z * z)


def body_columns(f: Sequence[Scalar]) -> list[list[Scalar]]:
    """A (6 x 10) from the features: force rows, then moment rows about the origin (paper, eq. A and L)."""
    ax, ay, az, bx, by, bz, xx, xy, xz, yy, yz, zz = f
    return [
        [ax, -yy - zz, xy - bz, xz + by, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [ay, xy + bz, -xx - zz, yz - bx, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [az, xz - by, yz + bx, -xx - yy, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, az, -ay, bx, by - xz, bz + xy, -yz, yy - zz, yz],
        [0.0, -az, 0.0, ax, xz, bx + yz, zz - xx, by, bz - xy, -xz],
        [0.0, ay, -ax, 0.0, -xy, xx - yy, bx - yz, xy, by + xz, bz],
    ]


def body_regressor(specific_acceleration: FloatArray, omega: FloatArray, omega_dot: FloatArray) -> FloatArray:
    """A for arrays (samples, 3) in m/s2, rad/s, rad/s2. -> (samples, 6, 10)."""
    k = Kinematics.from_arrays(specific_acceleration, omega, omega_dot)
    A = np.empty((*omega.shape[:-1], 6, 10))
    for i, row in enumerate(body_columns(body_features(k))):
        for j, entry in enumerate(row):
            A[..., i, j] = entry
    return A
