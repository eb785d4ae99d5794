"""MuJoCo's cart: one body on two slides, a hinge about the vertical and one about its axle. Needs the extra `mujoco`.

The axle's middle keeps its height and the axle is level: what is left of a wheelbarrow in a plane (no yaw) and of a
hand truck. The body frame is as palpate's: x down at pitch zero, y back, z left along the axle. MuJoCo's inverse
dynamics is exact: no contact, no constraint.
"""

from __future__ import annotations

import mujoco
import numpy as np

from tests.oracles.mujoco_body import _text


def cart_forces(
    phi: np.ndarray, position: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, gravity: float
) -> np.ndarray:
    """(n, 4): the force along world x and y, the moment about the vertical and that about the axle, which a motion
    needs that is given as (n, 4) of x, y, yaw, pitch.
    """
    m = phi[0]
    c = phi[1:4] / m
    xx, xy, xz, yy, yz, zz = phi[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    # at rest world x is -y of the body, world y is z, up is -x
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <compiler angle="radian" balanceinertia="false"/>
      <option gravity="0 0 {-gravity!r}"/>
      <worldbody>
        <body xyaxes="0 0 -1 -1 0 0">
          <joint type="slide" axis="0 -1 0"/>
          <joint type="slide" axis="0 0 1"/>
          <joint type="hinge" axis="-1 0 0"/>
          <joint type="hinge" axis="0 0 1"/>
          <inertial pos="{_text(c)}" mass="{float(m)!r}" fullinertia="{_text(full)}"/>
        </body>
      </worldbody>
    </mujoco>""")
    data = mujoco.MjData(model)
    found = np.empty_like(position)
    for i in range(len(position)):
        data.qpos[:], data.qvel[:], data.qacc[:] = position[i], velocity[i], acceleration[i]
        mujoco.mj_inverse(model, data)
        found[i] = data.qfrc_inverse
    return found
