"""A smooth motion of a rigid body with exact derivatives: CasADi differentiates pose(t). Needs the extra `casadi`."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np


class SmoothMotion(NamedTuple):
    """R_world_body (n, 3, 3), and (n, 3): of the origin in the world, angular in the body; m, rad, s."""

    R_world_body: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    omega: np.ndarray
    omega_dot: np.ndarray


def smooth_motion(times_s: np.ndarray, seed: int, point: tuple[float, float, float] = (0, 0, 0)) -> SmoothMotion:
    """The motion of frame with `point` (m, in the body) as its origin; the body tumbles and swings for ever.

    Position and three angles are sums of sines with seeded amplitudes; R = Rz Ry Rx; omega is the vee of R' dR/dt.
    """
    rng = np.random.default_rng(seed)
    t = ca.SX.sym("t")
    x, y, z, a, b, c = (
        sum(
            (float(A) * ca.sin(float(w) * t + float(p)) for A, w, p in rng.uniform([0.2, 0.5, 0], [0.6, 4, 6], (3, 3))),
            0.0,
        )
        for _ in range(6)
    )
    R = _rotation(2, a) @ _rotation(1, b) @ _rotation(0, c)
    position = ca.vertcat(x, y, z) + R @ ca.DM(point)
    velocity = ca.jacobian(position, t)
    spin = R.T @ ca.reshape(ca.jacobian(ca.vec(R), t), 3, 3)
    omega = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
    everything = ca.vertcat(ca.vec(R.T), position, velocity, ca.jacobian(velocity, t), omega, ca.jacobian(omega, t))
    found = np.array(ca.Function("motion", [t], [everything])(ca.DM(times_s).T)).T
    parts = [found[:, i : i + 3] for i in range(9, 24, 3)]
    return SmoothMotion(found[:, :9].reshape(-1, 3, 3), *parts)


def _rotation(axis: int, angle: Any) -> Any:
    c, s = ca.cos(angle), ca.sin(angle)
    R = ca.SX.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R
