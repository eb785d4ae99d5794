"""A screw by Newton's law and SciPy: a jack whose spindle is turned, and pushed along, by a hand."""

from __future__ import annotations

from functools import cache
from math import cos, pi, sin, tanh

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from tests.joint_files import Moved

TRUTH = {"I": 0.031, "b_v": 0.02, "b_c": 0.42, "m_g": 24.0}
PITCH = 0.02 / (2 * np.pi)
GRAVITY, RATE_HZ, LENGTH_S = 9.80665, 500.0, 55.0


def hand(t: float, turned: float) -> float:
    """Where the hand wants it, rad: still, then up and down by so far, to and fro beside."""
    if t < 3:
        return 0.0
    begin = min((t - 3) / 2, 1.0) ** 2
    way = turned / 2 * (1 - cos(2 * pi * (t - 3) / 40)) + 1.6 * sin(2 * pi * 0.35 * (t - 3))
    return begin * (way + 0.5 * sin(2 * pi * 1.3 * (t - 3)))


@cache
def simulate(
    pitch: float = PITCH, m: float = TRUTH["m_g"], turned: float = 48.0, rub: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, angle (rad), the hand's moment about the axis (N m) and its push along it (N).

    pitch in m/rad, mass on it in kg, how far it is turned in rad, and how its thread rubs under the load, N m/N.
    """
    t, (i, b, c, _) = np.arange(0, LENGTH_S, 1 / RATE_HZ), TRUTH.values()
    stiff, soft = 25.0, 1.2

    def push(s: float) -> float:
        return 20 * sin(2 * pi * 0.23 * s) * min(max((s - 3) / 2, 0.0), 1.0)

    def moment(s: float, q: float, v: float) -> float:
        rate = (hand(s + 1e-4, turned) - hand(s - 1e-4, turned)) / 2e-4
        return stiff * (hand(s, turned) - q) + soft * (rate - v)

    def slope(s: float, y: np.ndarray) -> list[float]:
        q, v = y.tolist()
        along = push(s) - m * GRAVITY
        free = moment(s, q, v) + pitch * along
        if s < 3:  # the thread holds it
            return [0.0, 0.0]
        return [v, (free - b * v - (c + rub * abs(along)) * tanh(v / 2e-3)) / i]

    y = solve_ivp(slope, (0, LENGTH_S), [0.0, 0.0], t_eval=t, rtol=1e-8, atol=1e-9, max_step=0.01, method="LSODA").y
    moments = np.array([moment(*at) if at[0] >= 3 else 0.0 for at in zip(t.tolist(), *y.tolist(), strict=True)])
    return t, y[0], moments, np.array([push(s) for s in t])


def jack(lean: float = 0.0, *, pitch: float = PITCH, **of: float) -> Moved:
    """Its poses and the hand's wrench; the axis is upright but for `lean`, rad, about the world's y. of: `simulate`."""
    t, q, moment, push = simulate(pitch, **of)
    turn = Rotation.from_euler("y", lean) * Rotation.from_euler("z", q[:, None])
    wrench = np.zeros((len(t), 6))
    wrench[:, 2], wrench[:, 5] = push, moment
    place = np.outer(pitch * q, Rotation.from_euler("y", lean).as_matrix()[:, 2])
    return Moved(t, turn, place, wrench)
