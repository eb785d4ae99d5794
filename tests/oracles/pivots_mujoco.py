"""A body on a ball joint or a universal joint by MuJoCo, swung and twisted by a hand."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from tests.joint_files import Moved

Kind = Literal["ball", "universal"]
MASS, COM = 6.0, np.array([0.03, -0.02, -0.45])
INERTIA = np.array([[0.31, 0.02, 0.03], [0.02, 0.28, -0.02], [0.03, -0.02, 0.11]])
"""About the centre of mass, kg m2."""
DAMPING, SPRING = 0.25, 3.0
GRAVITY, STEP_S, LENGTH_S = 9.80665, 2e-3, 30.0
"""What damps the joint, N m s/rad, and of a universal joint also pulls it straight, N m/rad."""


def model_of(kind: Kind, axes: Rotation | None = None) -> Any:
    """The body in its own frame; a universal joint's axes are x of the world's `axes` and y of the body's."""
    import mujoco

    joints = f'<joint type="ball" damping="{DAMPING}"/>'
    if kind == "universal":
        x, y = (axes or Rotation.identity()).as_matrix()[:, :2].T
        both = f'type="hinge" damping="{DAMPING}" stiffness="{SPRING}"'
        joints = "".join(f'<joint {both} axis="{v[0]} {v[1]} {v[2]}"/>' for v in (x, y))
    full = " ".join(repr(float(INERTIA[i])) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    place = " ".join(map(repr, COM.tolist()))
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 -{GRAVITY}" timestep="{STEP_S}" integrator="RK4"/><worldbody><body name="load">
        {joints}<inertial mass="{MASS}" pos="{place}" fullinertia="{full}"/></body></worldbody></mujoco>"""
    )


def _pushes(t: np.ndarray, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hand's force (world, N) and twist (body, N m), (samples, 3) each: none at first, then sums of sines."""
    grip = np.clip((t - 3.0) / 2.0, 0.0, 1.0)[:, None]
    waves = np.sin(2 * np.pi * np.array([0.31, 0.57, 0.83, 1.27])[:, None] * t[:, None, None] + phases)
    forces = 9.0 * grip * np.einsum("nwi,w->ni", waves, [1.0, 0.7, 0.5, 0.4])
    return forces[:, :3] * [1.0, 1.0, 0.3], 0.4 * grip * waves[:, 1:, 3:].sum(axis=1)


@cache
def simulate(kind: Kind, seed: int = 0, turned_deg: float = 0.0) -> Moved:
    """Poses of the body at 500 Hz, and the wrench of a hand that holds it at a point off its centre of mass."""
    import mujoco

    rng = np.random.default_rng([seed, 11])
    world = model_of(kind, Rotation.from_euler("z", turned_deg, degrees=True))
    data = mujoco.MjData(world)
    phases, at = rng.uniform(0, 2 * np.pi, (4, 6)), np.array([0.12, 0.05, -0.55])
    every = round(1 / (500.0 * STEP_S))
    arm, com = (np.cross(x, np.eye(3)).T for x in (at, COM))  # products with these matrices are cross products
    times, turns, wrenches = [], [], []
    _settle(mujoco, world, data)
    pushes = zip(*_pushes(np.arange(round(LENGTH_S / STEP_S)) * STEP_S, phases), strict=True)
    for i, (force, twist) in enumerate(pushes):
        R = np.array(data.xmat[1]).reshape(3, 3)
        inside = R.T @ force
        wrench = np.concatenate([inside, arm @ inside + twist])
        if i % every == 0:
            times.append(i * STEP_S)
            turns.append(R.copy())
            wrenches.append(wrench)
        data.xfrc_applied[1, :3] = R @ wrench[:3]
        # MuJoCo applies it at the centre of mass
        data.xfrc_applied[1, 3:] = R @ (wrench[3:] - com @ wrench[:3])
        mujoco.mj_step(world, data)
    held = np.array(wrenches)  # each for a step: at a sample, the mean of those before and after it
    held[1:] = 0.5 * (held[1:] + held[:-1])
    return Moved(np.array(times), Rotation.from_matrix(turns), np.zeros((len(times), 3)), held)


def _settle(mujoco: Any, world: Any, data: Any) -> None:
    """Let it come to rest by much damping."""
    damping = world.dof_damping.copy()
    world.dof_damping[:] = 6.0
    mujoco.mj_step(world, data, nstep=round(10.0 / STEP_S))
    world.dof_damping[:] = damping
    data.qvel[:] = 0.0


def truth(kind: Kind, R_body_frame: np.ndarray) -> dict[str, float]:
    """What a drawing would say in a frame at the centre whose axes these columns are, and what acts on the joint."""
    c, m = R_body_frame.T @ COM, MASS
    about = R_body_frame.T @ INERTIA @ R_body_frame + m * (c @ c * np.eye(3) - np.outer(c, c))
    body = {f"c_{a}": c[i] for i, a in enumerate("xyz")}
    body |= {f"I{'xyz'[i]}{'xyz'[j]}": about[i, j] for i in range(3) for j in range(i, 3)}
    if kind == "ball":
        return body | dict.fromkeys(("b_x", "b_y", "b_z"), DAMPING)
    return body | dict.fromkeys(("b_1", "b_2"), DAMPING) | dict.fromkeys(("spring_1.c_1", "spring_2.c_1"), -SPRING)


def frame_of(kind: Kind, moved: Moved, room: Rotation, turned_deg: float) -> np.ndarray:
    """Axes in the body of the frame that the pages promise, for a capture frame that is turned by `room`."""
    R0, room_R = moved.rotation[0].as_matrix(), room.as_matrix()
    if kind == "ball":  # z up, x along the capture frame's
        return R0.T @ room_R.T
    axes = Rotation.from_euler("z", turned_deg, degrees=True).as_matrix()
    seen = room_R @ axes[:, 0]
    x = axes[:, 0] * np.sign(seen[np.abs(seen).argmax()])
    y = R0 @ axes[:, 1]
    y = y if np.cross(x, y)[2] > 0 else -y
    return R0.T @ np.stack([x, y, np.cross(x, y)], axis=1)
