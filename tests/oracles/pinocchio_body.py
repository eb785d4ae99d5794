"""Pinocchio's rigid body: regressor, log-Cholesky parameters, inertias. Needs the extra `pinocchio`.

Its dynamic parameters are [m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the frame's origin, its `Inertia` holds the
inertia about the centre of mass, and its log-Cholesky factor is J = U U'.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

_TO_PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""Exchanges Ixz and Iyy; its own inverse."""


def inertia(phi: np.ndarray) -> pin.Inertia:
    """Pinocchio's inertia of phi."""
    return pin.Inertia.FromDynamicParameters(np.asarray(phi, dtype=float)[_TO_PINOCCHIO])


def phi(body: pin.Inertia) -> np.ndarray:
    """phi of Pinocchio's inertia."""
    return body.toDynamicParameters()[_TO_PINOCCHIO]


def phi_from_mass_properties(mass: float, com: np.ndarray, inertia_com: np.ndarray) -> np.ndarray:
    """phi of a mass (kg), a centre of mass (m) and an inertia about it (kg m2)."""
    return phi(pin.Inertia(mass, np.asarray(com, dtype=float), np.asarray(inertia_com, dtype=float)))


def moved_phi(phi_b: np.ndarray, R_ab: np.ndarray, r_ab: np.ndarray) -> np.ndarray:
    """phi of the same body seen from frame a: `Inertia.se3Action`."""
    return phi(inertia(phi_b).se3Action(pin.SE3(R_ab, r_ab)))


def body_regressor(
    specific_acceleration: np.ndarray, omega: np.ndarray, omega_dot: np.ndarray, velocity: np.ndarray
) -> np.ndarray:
    """A (6 x 10), columns in palpate's order, of one sample; arguments (3,) in the body frame.

    Pinocchio wants the spatial acceleration, the classical one minus omega x velocity; the velocity of the origin must
    therefore drop out.
    """
    v = pin.Motion(velocity, omega)
    a = pin.Motion(specific_acceleration - np.cross(omega, velocity), omega_dot)
    return pin.bodyRegressor(v, a)[:, _TO_PINOCCHIO]


def phi_from_log_cholesky(theta: np.ndarray) -> np.ndarray:
    """phi of theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3], J = U U'."""
    return pin.LogCholeskyParameters(theta).toDynamicParameters()[_TO_PINOCCHIO]


def log_cholesky_jacobian(theta: np.ndarray) -> np.ndarray:
    """d phi / d theta (10 x 10) of `phi_from_log_cholesky`."""
    return pin.LogCholeskyParameters(theta).calculateJacobian()[_TO_PINOCCHIO]


def pseudo_inertia(phi: np.ndarray) -> np.ndarray:
    """The 4 x 4 pseudo-inertia [Sigma, h; h', m]."""
    return inertia(phi).toPseudoInertia().toMatrix()


def transmission(R_ab: np.ndarray, r_ab: np.ndarray) -> np.ndarray:
    """The 6 x 6 action of SE(3) on forces, [force; moment]."""
    return pin.SE3(R_ab, r_ab).toDualActionMatrix()
