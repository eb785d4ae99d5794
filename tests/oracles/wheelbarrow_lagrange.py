"""A wheelbarrow by Lagrange and d'Alembert: point masses, a spinning wheel, and constraints with exact derivatives.

Seven coordinates: place of the axle's middle (x, y, z), heading, camber, pitch, and the wheel's turn in its bearing.
Three constraints: the axle keeps its height and the wheel's lowest point rests. Nothing of palpate is used; CasADi
differentiates kinetic and potential energy. The motion that the constraints leave is their null space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np


@dataclass(frozen=True)
class Barrow:
    """Point masses (kg) at places (m) in the body frame; a wheel with its mass, inertias and radius; friction."""

    masses: np.ndarray
    places: np.ndarray
    wheel_mass: float
    across: float
    spin: float
    radius: float
    gravity: float
    b_wheel: float = 0.0
    b_bearing: float = 0.0
    b_yaw: float = 0.0
    b_patch: float = 0.0


class Lagrange:
    """The equations of one barrow as functions of q (7), q_dot and q_ddot."""

    def __init__(self, b: Barrow) -> None:
        q, v = ca.SX.sym("q", 7), ca.SX.sym("v", 7)
        # at rest x of the body points down, y back, z left
        R = ca.mtimes([_rz(q[3]), _rx(q[4]), ca.SX([[0, -1, 0], [0, 0, 1], [-1, 0, 0]]), _rz(q[5])])
        R_dot = sum(ca.jacobian(ca.vec(R), q[i]) * v[i] for i in range(7)).reshape((3, 3))
        S = ca.mtimes(R.T, R_dot)
        omega = ca.vertcat(S[2, 1], S[0, 2], S[1, 0])
        wheel = omega + ca.vertcat(0, 0, v[6])
        place, speed = q[:3], v[:3]
        kinetic = 0.5 * b.wheel_mass * ca.dot(speed, speed)
        kinetic += 0.5 * (b.across * (wheel[0] ** 2 + wheel[1] ** 2) + b.spin * wheel[2] ** 2)
        potential = b.wheel_mass * b.gravity * place[2]
        for m, r in zip(b.masses, b.places, strict=True):
            u = speed + ca.mtimes(R_dot, ca.DM(r))
            kinetic += 0.5 * m * ca.dot(u, u)
            potential += m * b.gravity * (place + ca.mtimes(R, ca.DM(r)))[2]
        omega_world, wheel_world = ca.mtimes(R, omega), ca.mtimes(R, wheel)
        touch = speed + ca.cross(wheel_world, ca.vertcat(0, 0, -b.radius))
        J = ca.jacobian(ca.vertcat(v[2], touch[0], touch[1]), v)
        J_dot_v = ca.jtimes(ca.mtimes(J, v), q, v)
        p = ca.gradient(kinetic, v)
        M = ca.jacobian(p, v)
        rubbed = 0
        pairs = ((b.b_wheel, wheel[2]), (b.b_bearing, v[6]), (b.b_yaw, omega_world[2]), (b.b_patch, wheel_world[2]))
        for coefficient, way in pairs:
            rubbed += coefficient * way * ca.gradient(way, v)
        h = ca.jtimes(p, q, v) - ca.gradient(kinetic, q) + ca.gradient(potential, q) + rubbed
        level = ca.mtimes(_rz(-q[3]), ca.horzcat(speed, omega_world))
        twist = ca.vertcat(ca.mtimes(R.T, speed), omega)
        self._all: Any = ca.Function(
            "all", [q, v], [J, J_dot_v, M, h, level[:, 0], level[:, 1], ca.jacobian(twist, v), kinetic, potential]
        )

    def evaluate(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Constraints J v = 0 and J_dot v, inertia M, the rest h, speed and omega in level axes, twist Jacobian."""
        names = ("J", "J_dot_v", "M", "h", "speed", "omega", "twist", "kinetic", "potential")
        return {name: np.array(x) for name, x in zip(names, self._all(q, v), strict=True)}

    def ways(self, q: np.ndarray) -> np.ndarray:
        """The four speeds that the constraints leave: an orthonormal null space (7, 4)."""
        return np.linalg.svd(self.evaluate(q, np.zeros(7))["J"])[2][3:].T


def _rz(a: Any) -> Any:
    c, s = ca.cos(a), ca.sin(a)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def _rx(a: Any) -> Any:
    c, s = ca.cos(a), ca.sin(a)
    return ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c))
