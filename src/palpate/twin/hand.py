"""How a person shakes a handle: smooth motion in six directions, with its derivatives known exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion


@dataclass(frozen=True, slots=True, eq=False)
class HandMotion:
    """Sums of sines for roll, pitch, yaw (rad) and x, y, z (m), between a still beginning and a still end.

    Everything is a closed formula of time, so positions and accelerations agree to the last digit.
    """

    amplitude: FloatArray
    """(6, sines), rad and m."""
    frequency: FloatArray
    """(6, sines), rad/s."""
    phase: FloatArray
    """(6, sines), rad."""
    begin_s: float
    end_s: float
    gravity: float
    rise_s: float = 0.6

    def coordinates(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, first and second derivatives of roll, pitch, yaw, x, y, z: three times (6, samples)."""
        angle = self.frequency[:, :, None] * t + self.phase[:, :, None]
        a, w = self.amplitude[:, :, None], self.frequency[:, :, None]
        s0, s1, s2 = (a * np.sin(angle)).sum(1), (a * w * np.cos(angle)).sum(1), -(a * w**2 * np.sin(angle)).sum(1)
        e0, e1, e2 = self._envelope(t)
        return e0 * s0, e1 * s0 + e0 * s1, e2 * s0 + 2 * e1 * s1 + e0 * s2

    def motion(self, t: FloatArray) -> Motion:
        """The motion of the sensor frame at true times t (s), expressed in it; world z points up.

        R = Rz(yaw) Ry(pitch) Rx(roll); omega and its derivative as in any textbook on flight dynamics (Stevens &
        Lewis, 1.3).
        """
        q, v, b = self.coordinates(t)
        (roll, pitch, _), (p1, q1, r1), (p2, q2, r2) = q[:3], v[:3], b[:3]
        sf, cf, st, ct = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
        omega = np.array([p1 - r1 * st, q1 * cf + r1 * sf * ct, -q1 * sf + r1 * cf * ct])
        omega_dot = np.array(
            [
                p2 - r2 * st - r1 * q1 * ct,
                q2 * cf - q1 * p1 * sf + r2 * sf * ct + r1 * p1 * cf * ct - r1 * q1 * sf * st,
                -q2 * sf - q1 * p1 * cf + r2 * cf * ct - r1 * p1 * sf * ct - r1 * q1 * cf * st,
            ]
        )
        world = b[3:] + np.array([0.0, 0.0, self.gravity])[:, None]
        a = np.einsum("nij,in->nj", self.rotation(t), world)
        return Motion(t, a, omega.T, omega_dot.T)

    def rotation(self, t: FloatArray) -> FloatArray:
        """R_world_sensor at times t, (samples, 3, 3)."""
        roll, pitch, yaw = self.coordinates(t)[0][:3]
        sf, cf, st, ct, sy, cy = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch), np.sin(yaw), np.cos(yaw)
        return np.array(
            [
                [cy * ct, cy * st * sf - sy * cf, cy * st * cf + sy * sf],
                [sy * ct, sy * st * sf + cy * cf, sy * st * cf - cy * sf],
                [-st, ct * sf, ct * cf],
            ]
        ).transpose(2, 0, 1)

    def _envelope(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """From 0 to 1 and back, smooth to every order, with derivatives."""
        u, d = np.tanh((t - self.begin_s) / self.rise_s), np.tanh((self.end_s - t) / self.rise_s)
        up, down = (1 + u) / 2, (1 + d) / 2
        up1, down1 = (1 - u**2) / (2 * self.rise_s), -(1 - d**2) / (2 * self.rise_s)
        up2, down2 = -2 * u * up1 / self.rise_s, 2 * d * down1 / self.rise_s
        return up * down, up1 * down + up * down1, up2 * down + 2 * up1 * down1 + up * down2


def random_hand(
    rng: np.random.Generator, duration_s: float, gravity: float, *, still_s: float = 3.0, poor: bool = False
) -> HandMotion:
    """Slow turning through all orientations (0.1-0.4 Hz, about 1 rad) and fast shaking (1-3 Hz), as in the paper's
    data.

    `poor`: about one axis only, and hardly any shaking.
    """
    slow, fast = 3, 4
    amplitude = np.empty((6, slow + fast))
    frequency = 2 * np.pi * np.hstack([rng.uniform(0.1, 0.4, (6, slow)), rng.uniform(1.0, 3.0, (6, fast))])
    amplitude[:3, :slow] = rng.uniform(0.3, 0.6, (3, slow))
    amplitude[:3, slow:] = rng.uniform(0.06, 0.16, (3, fast))
    amplitude[3:, :slow] = rng.uniform(0.02, 0.08, (3, slow))
    amplitude[3:, slow:] = rng.uniform(0.003, 0.012, (3, fast))
    if poor:  # someone who turns the handle about one axis only, and hardly shakes it
        amplitude[:3] *= np.where(np.arange(3) == rng.integers(3), 1.0, 0.03)[:, None]
        amplitude[3:] *= 0.1
    phase = rng.uniform(0, 2 * np.pi, amplitude.shape)
    return HandMotion(amplitude, frequency, phase, still_s + 2.0, duration_s - still_s - 2.0, gravity)
