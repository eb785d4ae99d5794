"""MuJoCo's wheelbarrow: a free body with a wheel on a hinge, on a plane or in the air. Needs the extra `mujoco`.

The wheel is a sphere about the middle of the axle, as the paper's. Velocities are [d position / dt in the world; omega
in the body; wheel in its bearing]. `accelerations` holds the rolling constraints exactly and takes inertia and bias
from MuJoCo; `roll` lets MuJoCo's own soft contact carry the wheel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from tests.oracles.mujoco_body import GRAVITY, _text


def barrow_mjcf(
    phi: np.ndarray,
    wheel: tuple[float, float, float],
    radius: float,
    *,
    b_bearing: float = 0.0,
    on_ground: bool = False,
    step: float = 1e-4,
) -> str:
    """`phi`: the body without its wheel; `wheel`: its mass (kg), inertia across and about its axle (kg m2)."""
    m = phi[0]
    c = phi[1:4] / m
    xx, xy, xz, yy, yz, zz = phi[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    mass, across, spin = wheel
    contact = 'contype="1" conaffinity="1"' if on_ground else 'contype="0" conaffinity="0"'
    ground = 'friction="4 0 0" condim="3" solref="0.0005 1" solimp="0.999 0.9999 0.0001"'
    return f"""
    <mujoco>
      <compiler angle="radian" balanceinertia="false"/>
      <option gravity="0 0 {-GRAVITY!r}" timestep="{step!r}" cone="elliptic" impratio="100" tolerance="1e-14"
        iterations="200" integrator="RK4"/>
      <worldbody>
        <geom type="plane" size="50 50 1" {contact} {ground}/>
        <body name="body">
          <freejoint align="false"/>
          <inertial pos="{_text(c)}" mass="{float(m)!r}" fullinertia="{_text(full)}"/>
          <site name="origin"/>
          <body name="wheel">
            <joint type="hinge" axis="0 0 1" damping="{b_bearing!r}"/>
            <inertial pos="0 0 0" mass="{mass!r}" diaginertia="{_text([across, across, spin])}"/>
            <geom type="sphere" size="{radius!r}" mass="0" {contact} {ground}/>
          </body>
        </body>
      </worldbody>
    </mujoco>"""


def terms(model: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Inertia matrix (7, 7) and the forces that zero acceleration needs (7,): bias less damping of the bearing.

    By inverse dynamics of unit accelerations, which is exact.
    """

    def inverse(acceleration: np.ndarray) -> np.ndarray:
        data.qacc[:] = acceleration
        mujoco.mj_inverse(model, data)
        return np.array(data.qfrc_inverse)

    h = inverse(np.zeros(7))
    return np.array([inverse(e) - h for e in np.eye(7)]).T, h


def accelerations(
    model: Any,
    R_world_body: np.ndarray,
    qvel: np.ndarray,
    applied: np.ndarray,
    radius: float,
    *,
    rolling: bool,
) -> np.ndarray:
    """qacc (7,) under the generalised forces `applied`; `rolling`: the axle keeps its height, the contact rests.

    The constraint is J qvel = 0, so J qacc = -J' qvel; J is affine in R, and R' = R S(omega).
    """
    data = mujoco.MjData(model)
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R_world_body).ravel())
    data.qpos[:] = [0.0, 0.0, radius, *quaternion, 0.0]
    data.qvel[:] = qvel
    M, h = terms(model, data)
    if not rolling:
        return np.linalg.solve(M, applied - h)
    J = constraint(R_world_body, radius)
    R_dot = R_world_body @ _skew(qvel[3:6])
    right = -(constraint(R_dot, radius) - constraint(np.zeros((3, 3)), radius)) @ qvel
    K = np.block([[M, J.T], [J, np.zeros((3, 3))]])
    return np.linalg.solve(K, np.concatenate([applied - h, right]))[:7]


def constraint(R: np.ndarray, radius: float) -> np.ndarray:
    """J (3, 7): height of the axle and slip of the wheel's lowest point; affine in R."""
    J = np.zeros((3, 7))
    J[0, 2] = 1.0
    J[1, 0], J[2, 1] = 1.0, 1.0
    turning = np.column_stack([R, R[:, 2]])  # omega of the wheel in the world per omega of the body and the bearing
    J[1, 3:] = -radius * turning[1]
    J[2, 3:] = radius * turning[0]
    return J


def roll(
    model: Any,
    R_world_body: np.ndarray,
    qvel: np.ndarray,
    radius: float,
    seconds: float,
    push: Callable[[float, np.ndarray, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Let it roll on MuJoCo's ground. -> times, places of the axle (n, 3), R_world_body (n, 3, 3).

    `push(t, R, qvel)`: generalised forces (7,).
    """
    data = mujoco.MjData(model)
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R_world_body).ravel())
    data.qpos[:] = [0.0, 0.0, radius, *quaternion, 0.0]
    data.qvel[:] = qvel
    steps = round(seconds / model.opt.timestep)
    places, turns = [], []
    for i in range(steps + 1):
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        turns.append(R.reshape(3, 3))
        places.append(np.array(data.qpos[:3]))
        if i < steps:
            data.qfrc_applied[:] = push(i * model.opt.timestep, turns[-1], np.array(data.qvel))
            mujoco.mj_step(model, data)
    return model.opt.timestep * np.arange(steps + 1), np.array(places), np.array(turns)


def _skew(w: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
