"""MuJoCo's free rigid body: the wrench that moves it, its energy, its accelerometer. Needs the extra `mujoco`.

A free joint's velocity is [d position / dt in the world; omega in the body], and its generalised force is conjugate to
that: force in the world, torque in the body about the body frame's origin (MuJoCo documentation, Floating objects, and
Inverse dynamics: `qfrc_inverse`). Gravity is along -z of the world and its share is part of `qfrc_inverse`.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

GRAVITY = 9.80665
"""m/s2."""


class State(NamedTuple):
    """How a body moves, sample by sample: R_world_body (n, 3, 3); the rest (n, 3).

    `position`, `velocity`, `acceleration` of the body frame's origin in the world (m, m/s, m/s2); `omega` and
    `omega_dot` in the body (rad/s, rad/s2).
    """

    R_world_body: np.ndarray
    omega: np.ndarray
    omega_dot: np.ndarray
    acceleration: np.ndarray
    position: np.ndarray
    velocity: np.ndarray


class Readings(NamedTuple):
    """What MuJoCo says about each sample."""

    wrench: np.ndarray
    """(n, 6) force and moment about the body frame's origin, in the body frame, that move the body. N, N m."""
    accelerometer: np.ndarray
    """(n, 3) a - g at the origin, in the body frame, m/s2."""
    gyro: np.ndarray
    """(n, 3) rad/s."""
    kinetic: np.ndarray
    """(n,) J."""
    potential: np.ndarray
    """(n,) J, zero at world height zero."""


def body_mjcf(phi: np.ndarray, gravity: float = GRAVITY) -> str:
    """A free body with these inertial parameters, as MJCF: full inertia about the centre of mass in body axes."""
    m, h = phi[0], phi[1:4]
    c = h / m
    xx, xy, xz, yy, yz, zz = phi[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return f"""
    <mujoco>
      <compiler angle="radian" balanceinertia="false"/>
      <option gravity="0 0 {-gravity!r}"><flag energy="enable" contact="disable" constraint="disable"/></option>
      <worldbody>
        <body name="body">
          <freejoint align="false"/>
          <inertial pos="{_text(c)}" mass="{float(m)!r}" fullinertia="{_text(full)}"/>
          <site name="origin"/>
        </body>
      </worldbody>
      <sensor><accelerometer site="origin"/><gyro site="origin"/></sensor>
    </mujoco>"""


def read(phi: np.ndarray, state: State, gravity: float = GRAVITY) -> Readings:
    """Put the body into each state and ask MuJoCo's inverse dynamics."""
    model = mujoco.MjModel.from_xml_string(body_mjcf(np.asarray(phi, dtype=float), gravity))
    data = mujoco.MjData(model)
    rows = []
    quaternion = np.empty(4)
    for R, omega, omega_dot, acceleration, position, velocity in zip(*state, strict=True):
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
        data.qpos[:] = [*position, *quaternion]
        data.qvel[:] = [*velocity, *omega]
        data.qacc[:] = [*acceleration, *omega_dot]
        mujoco.mj_inverse(model, data)
        force, moment = R.T @ data.qfrc_inverse[:3], data.qfrc_inverse[3:]
        potential, kinetic = data.energy
        rows.append([*force, *moment, *data.sensordata, kinetic, potential])
    found = np.array(rows)
    return Readings(found[:, :6], found[:, 6:9], found[:, 9:12], found[:, 12], found[:, 13])


def body_wrench(
    phi: np.ndarray,
    R_world_body: np.ndarray,
    omega: np.ndarray,
    omega_dot: np.ndarray,
    acceleration_world: np.ndarray,
    gravity: float = GRAVITY,
) -> np.ndarray:
    """Force and moment about the body frame's origin, in the body frame, that move the body so: (n, 6), N and N m."""
    still = np.zeros_like(omega)  # a wrench depends neither on where the body is nor on how fast it travels
    return read(phi, State(R_world_body, omega, omega_dot, acceleration_world, still, still), gravity).wrench


def geom_inertia(kind: str, size: tuple[float, ...], mass: float) -> np.ndarray:
    """Principal inertia (3,) about the centre that MuJoCo computes for a geom, in the geom's own axes, kg m2."""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom type="{kind}" size="{_text(size)}" mass="{mass!r}"/>'
        "</body></worldbody></mujoco>"
    )
    axes = np.empty(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[1])
    R = axes.reshape(3, 3)
    return np.diag(R @ np.diag(model.body_inertia[1]) @ R.T)


def _text(values: np.ndarray | list[float] | tuple[float, ...]) -> str:
    return " ".join(repr(float(v)) for v in values)
