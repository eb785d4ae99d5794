"""What hands must do to an object that rolls, by Newton and Euler at the contact point: no mechanism, no regressor.

In axes of the contact frame C, about its origin:

    rate of momentum = hands + ground,   ground = [f_x, f_y, F_N; -tau_r z_B - b_psi omega_z z_C]

The ground turns the wheel back with tau_r = b_v spin + b_c sgn(spin) about the axle and scrubs against the body's yaw.
The wheel alone, about its axle: I_w spin_dot = -tau_r - R cos(camber) f_x, which gives f_x. f_y and F_N are what
rolling without slip needs. Each of two wheels rolls at its own speed, (v_x -+ track / 2 omega_z) / R, and the ground's
force on it has a lever arm about the vertical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.physics.inertia import mass_properties


@dataclass(frozen=True)
class Kinematics:
    """Motion of frame B in axes of the contact frame C, each (samples, 3)."""

    R_contact_body: np.ndarray
    """(samples, 3, 3)."""
    acceleration: np.ndarray
    """Of the axle's middle without gravity, m/s2."""
    omega: np.ndarray
    omega_dot: np.ndarray
    spin: np.ndarray
    """(samples,) of the wheel about its axle, relative to the world, rad/s."""
    spin_dot: np.ndarray
    camber: np.ndarray


def kinematics(path: Any, radius: float) -> Kinematics:
    """Derivatives by hand in axes of C, which turns with the yaw rate about the vertical.

    path: distance ahead, yaw, camber, pitch as value, rate, acceleration, each (4, samples).
    R_CB = R_x(camber) R_y(pitch) [-z, -x, y]: at zero angles x_B points down, y_B back, z_B left.
    """
    _, _, camber, pitch = path.value
    v, yaw1, camber1, pitch1 = path.rate
    v1, yaw2, camber2, pitch2 = path.acceleration
    cg, sg, cb, sb, zero = np.cos(camber), np.sin(camber), np.cos(pitch), np.sin(pitch), np.zeros_like(v)
    x_B, y_B = np.array([-sb, sg * cb, -cg * cb]), np.array([-cb, -sg * sb, cg * sb])
    z_B = np.array([zero, cg, sg])
    omega = np.array([camber1, pitch1 * cg, yaw1 + pitch1 * sg])
    # change of the components, then that of the axes: yaw rate about z crossed with the vector
    change = np.array([camber2, pitch2 * cg - pitch1 * camber1 * sg, yaw2 + pitch2 * sg + pitch1 * camber1 * cg])
    omega_dot = change + yaw1 * np.array([-omega[1], omega[0], zero])
    left, left1 = -radius * camber1, -radius * camber2
    return Kinematics(
        R_contact_body=np.stack([x_B, y_B, z_B], axis=1).transpose(2, 0, 1),
        acceleration=np.stack([v1 - yaw1 * left, left1 + yaw1 * v, zero], axis=1),
        omega=omega.T,
        omega_dot=omega_dot.T,
        spin=v / (radius * cg) + yaw1 * sg,
        spin_dot=v1 / (radius * cg) + v * camber1 * sg / (radius * cg * cg) + yaw2 * sg + yaw1 * camber1 * cg,
        camber=camber,
    )


def momentum_rate(phi: np.ndarray, radius: float, k: Kinematics, gravity: float, wheel_inertia: float) -> np.ndarray:
    """(samples, 6) N and N m at C, weight included: m (a_c + g), and that at the centre of mass plus dH/dt.

    H = I omega about the centre of mass; the wheel's own spin adds I_w (spin_dot z_B + spin omega x z_B).
    """
    mass, com, inertia = mass_properties(phi)
    R = k.R_contact_body
    arm = R @ com
    centre = k.acceleration + np.cross(k.omega_dot, arm) + np.cross(k.omega, np.cross(k.omega, arm))
    force = mass * (centre + np.array([0.0, 0.0, gravity]))
    I = R @ inertia @ R.transpose(0, 2, 1)
    turning = np.einsum("nij,nj->ni", I, k.omega_dot)
    turning += np.cross(k.omega, np.einsum("nij,nj->ni", I, k.omega))
    axle = R[:, :, 2]
    turning += wheel_inertia * (k.spin_dot[:, None] * axle + k.spin[:, None] * np.cross(k.omega, axle))
    moment = np.cross(arm + np.array([0.0, 0.0, radius]), force) + turning
    return np.hstack([force, moment])


def hands_needed(
    phi: np.ndarray, friction: dict[str, float], radius: float, track: float, path: Any, gravity: float
) -> np.ndarray:
    """(samples, 6) at C in its axes; f_y and F_N are what is left for the ground, so that they mean nothing."""
    k, wheel_inertia = kinematics(path, radius), friction.get("I_w", 0.0)
    d = 0.5 * track / radius
    wheels = ((d, friction["b_left"]), (-d, friction["b_right"])) if track else ((0.0, friction["b_c"]),)
    resistance, turning = friction["b_v"] * k.spin, 0.0 * k.spin
    for left, level in wheels:
        dry = level * np.sign(k.spin - left * k.omega[:, 2])
        resistance, turning = resistance + dry, turning + left * dry  # n_z = -left R f_x, f_x = -dry / R
    ground = np.zeros((len(k.spin), 6))
    ground[:, 0] = -(resistance + wheel_inertia * k.spin_dot) / (radius * np.cos(k.camber))
    ground[:, 3:] = -resistance[:, None] * k.R_contact_body[:, :, 2]
    ground[:, 5] += turning - friction.get("b_psi", 0.0) * k.omega[:, 2]
    return momentum_rate(phi, radius, k, gravity, wheel_inertia) - ground
