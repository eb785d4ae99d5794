"""A seven-axis arm in MuJoCo that carries a force/torque sensor, the real handle and, in it, a person's hand.

The arm is invented, of the size of an industrial arm for 15 kg (arm.xml). It follows a pose by resolved
acceleration (Luh, Walker and Paul 1980): q'' = J+ (x''_r + 2 w (x'_r - x') + w^2 (x_r - x) - J' q'), and the torque is
M q'' + h, with M and h of a model of the arm that is wrong on purpose, and friction that nobody compensates.

The sensor has noise, delay and saturation. What a lost wrench does to the object is the Stepper's (`brake`).
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

import numpy as np

from palpate.errors import MissingExtra, PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties
from palpate.physics.motion import quaternion_from_rotation
from palpate.rendering.hand import Grip, Moving, cross


@dataclass(frozen=True, slots=True)
class LoopSensor:
    """What stands between the true wrench and the loop."""

    noise_n: float = 0.1
    """N, standard deviation of a sample of each force."""
    noise_nm: float = 0.005
    """N m, standard deviation of a sample of each moment."""
    delay_s: float = 0.002
    """From the wrench to the loop: filter, bus, computation; rounded to whole steps."""
    range_n: float = 475.0
    """N at which it saturates, as an ATI Omega85 SI-475-20 does."""
    range_nm: float = 20.0
    """N m at which it saturates."""

    def __post_init__(self) -> None:
        """Refuse what no sensor is."""
        for name in ("noise_n", "noise_nm", "delay_s"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise PalpateError(f"sensor: {name} must be a number of at least 0, not {getattr(self, name)!r}")
        for name in ("range_n", "range_nm"):
            if not getattr(self, name) > 0:
                raise PalpateError(f"sensor: {name} must be positive, not {getattr(self, name)!r}")


class Reading:
    """A sensor at work, one `read` a step of `dt` (s)."""

    def __init__(self, sensor: LoopSensor, dt: float, rng: np.random.Generator) -> None:
        self._rng, late = rng, round(sensor.delay_s / dt)
        self._range = np.repeat([sensor.range_n, sensor.range_nm], 3)
        self._noise = np.repeat([sensor.noise_n, sensor.noise_nm], 3)
        self._waiting = deque([np.zeros(6)] * late, maxlen=late + 1)
        self.saturated = 0
        """Steps in which it was."""

    def read(self, wrench: FloatArray) -> FloatArray:
        """The true wrench now (6,) -> what the loop works with."""
        sample = wrench + self._noise * self._rng.standard_normal(6)
        clipped = np.clip(sample, -self._range, self._range)
        self.saturated += int(np.any(clipped != sample))
        self._waiting.append(clipped)
        return self._waiting[0]


_HOME = np.array([0.0, 0.25, 0.0, 1.6, 0.0, -0.28, 0.0])
"""rad, elbow up."""
_AWAY, _BELOW = 0.90, 0.45
"""m: how far the base stands from the middle of the way, and how far its shoulder is below."""
_DAMPED = 1e-3
"""Of the inverse: what it gives up near a stretched arm."""
_POSTURE = 2 * math.pi * 1.0
"""rad/s: how fast the elbow goes back to where it was."""
NARROW = 0.6436
"""-3 dB of w^2 / (s + w)^2 is at this part of w."""


@dataclass(frozen=True, slots=True)
class Inner:
    """The arm's own position and velocity loop."""

    bandwidth_hz: float = 20.0
    """-3 dB of position over its reference, without feed-forward."""
    velocity: bool = True
    acceleration: bool = True
    """What of the model's motion is fed forward: admittance controllers know it, a bare position interface does not."""
    wrong: float = 0.1
    """Part by which the controller takes all masses of the arm for heavier than they are."""

    @property
    def omega(self) -> float:
        """rad/s of the double pole."""
        return 2 * math.pi * self.bandwidth_hz / NARROW


class Arm:
    """The arm at a place, holding a handle; `step` moves it for one period of its loop.

    All poses are of the body-aligned frame at the sensor: it moves as the object's handle should.
    """

    def __init__(self, middle: Moving, grip: Grip, hand_mass: float, inner: Inner, dt: float) -> None:
        """`middle`: the object in the middle of its way; the arm's base is placed by it."""
        try:
            import mujoco
        except ImportError:
            raise MissingExtra("mujoco", "mujoco", "the simulated arm") from None
        mj = self._mj = cast("Any", mujoco)
        place, handle, hand = grip.place, grip.handle, grip.hand
        where = middle.p + middle.R @ place
        out = (middle.R @ place) * [1.0, 1.0, 0.0]
        size = float(np.linalg.norm(out))
        out = out / size if size > 1e-6 else np.array([1.0, 0.0, 0.0])
        self._base = where - _AWAY * out - np.array([0.0, 0.0, _BELOW + 0.36])
        R_flange = np.column_stack([[0.0, 0.0, -1.0], cross(out, np.array([0.0, 0.0, -1.0])), out])
        self._R_fb = R_flange.T @ middle.R
        self._inner = inner
        bar = mass_properties(handle)
        I = bar.inertia_com
        fill = {
            **{"base": self._base, "yaw": (math.atan2(out[1], out[0]),), "hand": hand - place, "dt": (dt / 2,)},
            **{"turn": quaternion_from_rotation(self._R_fb), "back": quaternion_from_rotation(self._R_fb.T)},
            **{"com": bar.com, "mass": (bar.mass,)},
            "inertia": (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]),
        }
        text = (resources.files("palpate.rendering") / "arm.xml").read_text(encoding="utf-8")
        text = re.sub("@([a-z]+)@", lambda word: _text(fill[word[1]]), text)
        held = f'<inertial pos="0 0 0" mass="{hand_mass}" diaginertia="1e-6 1e-6 1e-6"/>' if hand_mass else ""
        self._model = mj.MjModel.from_xml_string(text.replace("<!--hand-->", held))
        self._known = known = mj.MjModel.from_xml_string(text)
        self._data, self._belief = mj.MjData(self._model), mj.MjData(known)
        for heavy in (known.body_mass[2:9], known.body_inertia[2:9], known.dof_armature):  # of the seven links
            heavy *= 1.0 + inner.wrong
        known.dof_frictionloss[:] = known.dof_damping[:] = 0.0
        mj.mj_setConst(known, self._belief)
        self._limit = self._model.actuator_ctrlrange[:, 1].copy()
        self._body = mj.mj_name2id(self._known, mj.mjtObj.mjOBJ_BODY, "handle")
        self._hand = mj.mj_name2id(self._model, mj.mjtObj.mjOBJ_BODY, "hand")
        self._J, self._J_dot = np.zeros((6, 7)), np.zeros((6, 7))
        self._home = _HOME.copy()
        self.limited = 0
        """Steps in which an axis wanted more torque than it has."""

    def reset(self, R: FloatArray, p: FloatArray, pull: FloatArray) -> None:
        """Rest with the sensor at this pose while the hand is pulled with `pull` (N, world)."""
        mj, d = self._mj, self._belief
        d.qpos[:] = _HOME
        error = np.full(6, np.inf)
        for _ in range(300):
            self._see(d.qpos, np.zeros(7))
            error = self._error(R, p)
            if float(np.abs(error).max()) < 1e-9:
                break
            size = float(np.abs(error).max())
            d.qpos[:] += self._inverse(error * min(1.0, 0.2 / size))
        else:
            raise PalpateError(f"the arm does not reach the handle: it is {np.linalg.norm(error[:3]):.2f} m short")
        self._home = np.array(d.qpos)
        self._data.qpos[:], self._data.qvel[:], self._data.qacc_warmstart[:] = d.qpos, 0.0, 0.0
        self._data.xfrc_applied[self._hand, :3] = pull
        self._data.ctrl[:] = d.qfrc_bias
        mj.mj_forward(self._model, self._data)

    def sensed(self) -> FloatArray:
        """(6,) what handle and hand do to the arm: N and N m at the sensor, in the body's axes, without any error."""
        f = -(self._R_fb.T @ self._data.sensordata.reshape(2, 3).T)  # MuJoCo: of the parent on the child
        return np.concatenate([f[:, 0], f[:, 1]])

    def hand(self) -> tuple[FloatArray, FloatArray]:
        """Place (m) and velocity (m/s) of the hand in the world."""
        d = self._data
        r = d.xpos[self._hand] - d.subtree_com[0]
        return d.xpos[self._hand].copy(), d.cvel[self._hand, 3:] + cross(d.cvel[self._hand, :3], r)

    def handle(self) -> tuple[FloatArray, FloatArray]:
        """R_world_body and place of the sensor, as they are."""
        d = self._data
        return d.xmat[self._body].reshape(3, 3).copy(), d.xpos[self._body].copy()

    def step(self, target: Moving, pull: FloatArray) -> None:
        """Follow `target` (of the sensor's frame) for one period while the hand is pulled with `pull` (N, world)."""
        inner, mj, d = self._inner, self._mj, self._data
        self._see(d.qpos, d.qvel)
        w = inner.omega
        twist = self._J @ d.qvel
        wanted = w * w * self._error(target.R, target.p) - 2 * w * twist
        if inner.velocity:
            wanted += 2 * w * np.concatenate([target.v, target.omega])
        if inner.acceleration:
            wanted += np.concatenate([target.a, target.omega_dot])
        posture = _POSTURE * (_POSTURE * (self._home - d.qpos) - 2.0 * d.qvel)
        qacc = posture + self._inverse(wanted - self._J_dot @ d.qvel - self._J @ posture)  # posture where it is free
        torque = np.empty(7)
        mj.mj_mulM(self._known, self._belief, torque, qacc)
        torque += self._belief.qfrc_bias
        bounded = np.clip(torque, -self._limit, self._limit)
        self.limited += int(np.any(bounded != torque))
        d.ctrl[:] = bounded
        d.xfrc_applied[self._hand, :3] = pull
        mj.mj_step(self._model, d, 2)
        mj.mj_forward(self._model, d)

    def effective_mass(self, direction: FloatArray) -> float:
        """kg of the arm with its handle, without the hand, along a direction where it is now: 1 / (u J M^-1 J' u)."""
        M = np.empty((7, 7))
        self._see(self._data.qpos, self._data.qvel)
        self._mj.mj_fullM(self._known, self._belief, M)
        J = self._J[:3].T @ direction
        return 1.0 / ((1.0 + self._inner.wrong) * float(J @ np.linalg.solve(M, J)))

    def _see(self, qpos: FloatArray, qvel: FloatArray) -> None:
        """What the controller makes of the joints: Jacobian, its rate, mass matrix and bias of its idea of the arm."""
        mj, m, d = self._mj, self._known, self._belief
        d.qpos[:], d.qvel[:] = qpos, qvel
        mj.mj_fwdPosition(m, d)
        mj.mj_fwdVelocity(m, d)
        place = d.xpos[self._body]
        mj.mj_jac(m, d, self._J[:3], self._J[3:], place, self._body)
        mj.mj_jacDot(m, d, self._J_dot[:3], self._J_dot[3:], place, self._body)

    def _error(self, R: FloatArray, p: FloatArray) -> FloatArray:
        """(6,) from where the sensor is to the pose; small angles, sin of the angle times the axis."""
        d = self._belief
        E = R @ d.xmat[self._body].reshape(3, 3).T
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        return np.concatenate([p - d.xpos[self._body], turn])

    def _inverse(self, x: FloatArray) -> FloatArray:
        """J' (J J' + damping)^-1 x."""
        J = self._J
        A = J @ J.T
        A.flat[::7] += _DAMPED * _DAMPED
        return J.T @ np.linalg.solve(A, x)


def _text(x: FloatArray | tuple[float, ...]) -> str:
    return " ".join(f"{float(v):.17g}" for v in x)
