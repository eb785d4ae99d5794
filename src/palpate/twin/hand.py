"""How a person moves things: a handle shaken in six directions, and a door pulled open and pushed shut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import radians
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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


_RELEASE_S, _GRASP_S = 0.15, 0.3
_LET_GO_S = 6.5
"""How long the door is left alone."""
_SHAKING_HZ = (0.6, 3.0)


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm about the hinge: tau = K (wanted - angle) + D (wanted' - speed), up to a strongest torque (Hogan 1985)."""

    stiffness: float
    """N m/rad."""
    damping: float
    """N m s/rad."""
    strongest: float = 55.0
    """N m; the torque goes to it smoothly."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One thing that a person does: go to an angle, stay, perhaps shake; or let go."""

    seconds: float
    target: float | None
    """rad; None: nobody touches the door."""
    moving_s: float = 0.0
    """How long going there takes; the rest of the phase stays there."""
    shake: float = 0.0
    """Amplitude, rad."""
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """What is done when, s on the markers' clock: a door left alone, a sweep in steps, and dynamic blocks."""

    start_s: float = 0.0
    """Until then nobody touches the door and nothing is recorded of use."""
    still_s: float = 5.5
    sweep_s: float = 54.7
    step: float = radians(4.0)
    """Step of the sweep, rad (paper, Data Collection)."""
    blocks: tuple[tuple[str, float], ...] = (("train", 48.1), ("test", 33.0), ("train", 8.7))
    tail_s: float = 4.0

    @property
    def duration_s(self) -> float:
        """Length of the whole recording."""
        return self.start_s + self.still_s + self.sweep_s + sum(s for _, s in self.blocks) + self.tail_s

    @property
    def segments(self) -> dict[str, list[tuple[float, float]]]:
        """Name -> from, to (s), a little inside of what happens."""
        sweep = self.start_s + self.still_s
        spans = {
            "static": [(self.start_s + 0.5, sweep - 1.0)],
            "quasi_static": [(sweep + 0.5, sweep + self.sweep_s - 0.2)],
        }
        t = sweep + self.sweep_s
        for name, seconds in self.blocks:
            spans.setdefault(name, []).append((t + 0.2, t + seconds - 0.2))
            t += seconds
        return {name: [(round(a, 2), round(b, 2)) for a, b in pairs] for name, pairs in spans.items()}


def intention(
    phase: Phase, rng: np.random.Generator, t: FloatArray, start: float, *, held: bool
) -> tuple[FloatArray, FloatArray]:
    """The wanted angle (rad) and the grip, 0 (let go) to 1, at times t of a phase (s) that begins at the angle `start`.

    `held`: the hand was on the door before.
    """
    if phase.target is None:
        grip = 1.0 - _smooth(t / _RELEASE_S) if held else np.zeros_like(t)
        return np.full_like(t, start), grip
    angle = start + (phase.target - start) * _smooth(t / max(phase.moving_s, 0.01))
    if phase.shake > 0:
        edge = _smooth(t / 0.4) * _smooth((phase.seconds - t) / 0.4)
        angle = angle + phase.shake * edge * smooth_noise(rng, t, *_SHAKING_HZ, 4)
    return angle, np.ones_like(t) if held else _smooth(t / _GRASP_S)


def smooth_noise(rng: np.random.Generator, t: FloatArray, low_hz: float, high_hz: float, sines: int) -> FloatArray:
    """A sum of sines with a standard deviation of about one half: band-limited, smooth."""
    frequency, phase = rng.uniform(low_hz, high_hz, sines), rng.uniform(0, 2 * np.pi, sines)
    return np.sin(2 * np.pi * frequency[:, None] * t + phase[:, None]).sum(axis=0) / np.sqrt(2 * sines)


def plan(
    rng: np.random.Generator,
    session: Session,
    shut: float,
    widest: float,
    *,
    vigour: float = 1.0,
    one_way: bool = False,
) -> tuple[Phase, ...]:
    """The phases of a session between the stops `shut` and `widest` (rad).

    `vigour`: a factor of the speeds. `one_way`: the door is only ever pushed open, slowly; while it closes nothing is
    recorded.
    """
    phases = [Phase(session.start_s + session.still_s, None)]
    phases += _sweep(session, shut, widest, one_way)
    for _, seconds in session.blocks:
        phases += _slow_openings(rng, seconds, widest) if one_way else _strokes(rng, seconds, shut, widest, vigour)
    return (*phases, Phase(session.tail_s, None, recorded=not one_way))


def _sweep(session: Session, shut: float, widest: float, one_way: bool) -> list[Phase]:
    """Open and back in steps with holds between."""
    seconds, count = session.sweep_s, int((widest - radians(1.0) - shut) / session.step)
    up = [shut + session.step * (i + 1) for i in range(count)]
    if one_way:
        each = (seconds - _LET_GO_S) / len(up)
        return [*(Phase(each, a, 0.4 * each) for a in up), Phase(_LET_GO_S, None, recorded=False)]
    targets = [*up, *up[-2::-1], shut - radians(1.5)]
    each = (seconds - 1.0) / len(targets)
    return [*(Phase(each, a, 0.4 * each) for a in targets), Phase(1.0, None)]


def _slow_openings(rng: np.random.Generator, seconds: float, widest: float) -> list[Phase]:
    count = max(1, round(seconds / 13.0))
    each = seconds / count
    pushed = max(0.5 * each, each - _LET_GO_S)
    phases: list[Phase] = []
    for _ in range(count):
        phases.append(Phase(pushed, widest - radians(float(rng.uniform(4, 10))), 0.95 * pushed))
        phases.append(Phase(each - pushed, None, recorded=False))
    return phases


_CYCLE = ("let go", "swing", "shake", "slam", "swing", "shake", "shut", "swing", "shake", "swing")


def _strokes(rng: np.random.Generator, seconds: float, shut: float, widest: float, vigour: float) -> list[Phase]:
    """Strokes at different speeds through all zones, shaking, letting go, hitting the stops: in any order."""
    phases: list[Phase] = []
    left, at = seconds, shut
    todo: list[str] = []
    while left > 1.0:
        if not todo:
            todo = [str(kind) for kind in rng.permutation(_CYCLE)]
            if left > 12.0:  # a door that closes by itself is in every block that is long enough
                todo.remove("let go")
                todo.insert(len(todo) - 1, "let go")
        new = _stroke(rng, todo.pop(), at, shut, widest, vigour)
        length = sum(p.seconds for p in new)
        if length > left:
            continue
        phases += new
        left -= length
        at = shut if new[-1].target is None else new[-1].target
    return [*phases, Phase(left, at)] if left > 1e-9 else phases


def _stroke(rng: np.random.Generator, kind: str, at: float, shut: float, widest: float, vigour: float) -> list[Phase]:
    def go(to: float, fastest: float, stay: float) -> Phase:
        moving = max(0.6, 1.875 * abs(to - at) / fastest)  # the peak speed of a minimum-jerk stroke
        return Phase(moving + stay, to, moving)

    def somewhere(low: float, high: float) -> float:
        return float(rng.uniform(shut + low * (widest - shut), shut + high * (widest - shut)))

    speed, stay = vigour * float(rng.uniform(0.6, 2.0)), float(rng.uniform(0.05, 0.4))
    match kind:
        case "shake":
            to = somewhere(0.08, 0.92)
            seconds = float(rng.uniform(2.5, 4.0))
            return [Phase(seconds, to, 0.6 * seconds, vigour * radians(float(rng.uniform(5.0, 12.0))))]
        case "slam":
            return [go(widest + radians(4.0), min(speed, 1.3), 0.4)]
        case "shut":
            return [go(shut - radians(3.0), min(speed, 1.0), 0.5)]
        case "let go":
            return [go(somewhere(0.65, 0.95), speed, stay), Phase(_LET_GO_S, None)]
        case _:
            far = somewhere(0.6, 0.97) if at < shut + 0.5 * (widest - shut) else somewhere(0.05, 0.5)
            return [go(far, speed, stay)]


def _smooth(u: FloatArray) -> FloatArray:
    """0 to 1 with the derivatives zero at both ends: a minimum-jerk stroke (Flash and Hogan 1985)."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10 - 15 * u + 6 * u * u)


Kind = Literal["push", "roll", "scrub", "lift", "mixed"]
KINDS: tuple[Kind, ...] = ("push", "roll", "scrub", "lift")
_CHANGING_S = 1.0
_SLOW_HZ, _FAST_HZ = (0.15, 0.45), (0.7, 3.0)
_SLOW, _FAST = 2, 4
_CAMBER_LIMIT = np.radians(7.2)
_TRIES = 40
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


@dataclass(frozen=True, slots=True, eq=False)
class Manner:
    """How far and how fast an object is moved: amplitudes of slow sines and rms accelerations of fast ones.

    Four numbers each, for distance (m), yaw, camber and pitch (rad); what is zero is held.
    """

    meant: tuple[FloatArray, FloatArray]
    sway: tuple[FloatArray, FloatArray]
    """What the other coordinates do meanwhile: nobody holds an object quite still."""
    clear: tuple[float, float]
    """Between these angles (rad) the pitch keeps away from that of standing feet."""
    lifted_by: float = 1.0
    """1: the handles go up to take the feet off the ground; -1: down."""
    lifting_s: float = 0.8
    """How long it takes to lift the feet before a segment, and to put them down after it."""

    def straight(self, sway: float = 0.0) -> Manner:
        """The same motion ahead and in pitch alone; the sway of yaw and camber is multiplied by a factor."""
        meant, less = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, sway, sway, 1.0])
        slow, fast = self.meant
        return replace(self, meant=(slow * meant, fast * meant), sway=(self.sway[0] * less, self.sway[1] * less))

    def held(self, sway: float) -> Manner:
        """The same motion by somebody who keeps all else still: every sway is multiplied by a factor."""
        return replace(self, sway=(self.sway[0] * sway, self.sway[1] * sway))


AS_A_WHEELBARROW = Manner(
    meant=(np.array([0.25, 0.18, 0.050, 0.050]), np.array([0.4, 2.4, 1.5, 4.0])),
    sway=(np.array([0.02, 0.02, 0.006, 0.010]), np.array([0.2, 0.4, 0.35, 0.8])),
    # no camber within the limit lowers a foot so far
    clear=(float(np.radians(5.5)), float(np.radians(8.0))),
)
AS_A_HAND_TRUCK = Manner(
    meant=(np.array([0.30, 0.30, 0.0, 0.10]), np.array([0.4, 2.0, 0.0, 1.8])),
    sway=(np.array([0.02, 0.02, 0.0, 0.015]), np.array([0.15, 0.3, 0.0, 0.4])),
    clear=(float(np.radians(20.0)), float(np.radians(28.0))),
    lifted_by=-1.0,
    lifting_s=1.2,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch with the feet in the air, s on the markers' clock, and what is done in it, one after the other."""

    name: str
    begin_s: float
    end_s: float
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A sum of sines under an envelope that rises from `rise` and falls from `fall`, each (begin, length) in s."""

    rise: tuple[float, float]
    fall: tuple[float, float]
    base: FloatArray
    """(4,) m and rad."""
    amplitude: FloatArray
    """(4, sines) m and rad."""
    frequency: FloatArray
    """(4, sines) rad/s."""
    phase: FloatArray

    def series(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, first and second derivatives without the envelope: three times (4, samples)."""
        angle = self.frequency[:, :, None] * t + self.phase[:, :, None]
        a, w = self.amplitude[:, :, None], self.frequency[:, :, None]
        sine, cosine = a * np.sin(angle), a * w * np.cos(angle)
        return sine.sum(1) + self.base[:, None], cosine.sum(1), -(w * w * sine).sum(1)


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The four free coordinates at times t, each (4, samples): distance ahead (m), yaw, camber, pitch about the axle
    (rad).
    """

    times_s: FloatArray
    value: FloatArray
    rate: FloatArray
    acceleration: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Wheeling:
    """How an object is wheeled about; between the segments it stands on its feet and nothing moves."""

    blocks: tuple[Block, ...]
    segments: tuple[Segment, ...]
    standing: float
    """Pitch at which both feet stand, rad."""
    radius: float
    place: tuple[float, float]
    """Of the contact point in the world at the beginning, m."""
    heading: float
    """Of x_C in the world at the beginning, rad."""
    lifting_s: float = AS_A_WHEELBARROW.lifting_s

    def path(self, t: FloatArray) -> Course:
        """Closed formulas: values and derivatives agree to the last digit."""
        course = np.zeros((3, 4, len(t)))
        course[0, 1], course[0, 3] = self.heading, self.standing
        for block in self.blocks:
            inside = np.flatnonzero((t >= block.rise[0]) & (t <= sum(block.fall)))
            up, down = (_step(t[inside], *ramp) for ramp in (block.rise, block.fall))
            e0, e1, e2 = (a - b for a, b in zip(up, down, strict=True))
            s0, s1, s2 = block.series(t[inside])
            course[0][:, inside] += e0 * s0
            course[1][:, inside] += e1 * s0 + e0 * s1
            course[2][:, inside] += e2 * s0 + 2 * e1 * s1 + e0 * s2
        return Course(t, *course)

    def standing_at(self, t: FloatArray) -> NDArray[np.bool_]:
        """Whether the feet stand on the ground."""
        return np.all([(t <= a) | (t >= b) for a, b in self.lifted], axis=0)

    @property
    def lifted(self) -> list[tuple[float, float]]:
        """From, to (s): when the feet are off the ground."""
        return [(s.begin_s - self.lifting_s, s.end_s + self.lifting_s) for s in self.segments]

    def contact(self, t: FloatArray) -> FloatArray:
        """(samples, 2) m: where the wheel touches the ground, at increasing times.

        The rolling constraint integrated from sample to sample with five Gauss points: steps of 10 ms are exact to
        rounding.
        """
        start = np.linspace(min(0.0, float(t[0])), max(0.0, float(t[0])), 400)
        lead = self._travelled(start if t[0] >= 0 else start[::-1]).sum(axis=0)
        travelled = np.vstack([np.zeros((1, 2)), self._travelled(t)])
        return np.array(self.place) + lead + np.cumsum(travelled, axis=0)

    def _travelled(self, t: FloatArray) -> FloatArray:
        """(samples - 1, 2) m, from each time to the next."""
        half, middle = np.diff(t) / 2, (t[1:] + t[:-1]) / 2
        at = (middle[:, None] + half[:, None] * _NODES).ravel()
        velocity = self.velocity(self.path(at)).reshape(len(half), len(_NODES), 2)
        return half[:, None] * np.einsum("k,nkj->nj", _WEIGHTS, velocity)

    def velocity(self, path: Course) -> FloatArray:
        """(samples, 2) m/s of the contact in the world: v_x along x_C, -R camber_rate along y_C."""
        cos, sin = np.cos(path.value[1]), np.sin(path.value[1])
        ahead, left = path.rate[0], -self.radius * path.rate[2]
        return np.stack([ahead * cos - left * sin, ahead * sin + left * cos], axis=1)


def random_wheeling(
    rng: np.random.Generator,
    segments: Sequence[Segment],
    *,
    standing: float,
    radius: float,
    manner: Manner = AS_A_WHEELBARROW,
    vigour: float = 1.0,
) -> Wheeling:
    """What a person does in these segments; `vigour`: a factor of the accelerations."""
    blocks: list[Block] = []
    lifting_s = manner.lifting_s
    for segment in segments:
        inner = np.linspace(segment.begin_s, segment.end_s, len(segment.kinds) + 1)[1:-1] - _CHANGING_S / 2
        ramps = [(segment.begin_s - lifting_s, lifting_s), *((float(a), _CHANGING_S) for a in inner)]
        ramps.append((segment.end_s, lifting_s))
        spans = pairwise(ramps)
        blocks += [_block(rng, manner, kind, *span, vigour) for kind, span in zip(segment.kinds, spans, strict=True)]
    place = (float(rng.uniform(-0.3, 0.3)), float(rng.uniform(-0.3, 0.3)))
    heading = float(rng.uniform(-np.pi, np.pi))
    return Wheeling(tuple(blocks), tuple(segments), standing, radius, place, heading, lifting_s)


def _block(
    rng: np.random.Generator,
    manner: Manner,
    kind: Kind,
    rise: tuple[float, float],
    fall: tuple[float, float],
    vigour: float,
) -> Block:
    meant = np.array([kind in (name, "mixed") for name in ("push", "scrub", "roll", "lift")])
    much = vigour * (0.6 if kind == "mixed" else 1.0) * rng.uniform(0.85, 1.15, 4)
    slow, fast = (np.where(meant, much * a, b) for a, b in zip(manner.meant, manner.sway, strict=True))
    frequency = 2 * np.pi * np.hstack([rng.uniform(*_SLOW_HZ, (4, _SLOW)), rng.uniform(*_FAST_HZ, (4, _FAST))])
    amplitude = np.empty_like(frequency)
    amplitude[:, :_SLOW] = slow[:, None] * rng.uniform(0.6, 1.2, (4, _SLOW))
    amplitude[:, _SLOW:] = (fast * np.sqrt(2 / _FAST))[:, None] / frequency[:, _SLOW:] ** 2
    # people begin and end near the middle of what they do: of many phases those with little at both ramps
    ramps = np.array([begin + length / 2 for begin, length in (rise, fall)])
    phases = rng.uniform(0, 2 * np.pi, (_TRIES, *frequency.shape))
    there = (amplitude[:, :, None] * np.sin(frequency[:, :, None] * ramps + phases[..., None])).sum(axis=2)
    best = np.abs(there).max(axis=2).argmin(axis=0)
    block = Block(rise, fall, np.zeros(4), amplitude, frequency, phases[best, np.arange(4)])
    value = block.series(np.arange(rise[0], sum(fall), 0.005))[0]
    amplitude[2] *= min(1.0, float(_CAMBER_LIMIT / max(np.abs(value[2]).max(), 1e-12)))
    block.base[3] = manner.lifted_by * (rng.uniform(*manner.clear) - (manner.lifted_by * value[3]).min())
    return block


def _step(t: FloatArray, begin: float, length: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """0 to 1 with three derivatives zero at both ends, 35 u^4 - 84 u^5 + 70 u^6 - 20 u^7, and two derivatives."""
    u = np.clip((t - begin) / length, 0.0, 1.0)
    value = u**4 * (35 + u * (-84 + u * (70 - 20 * u)))
    slope = 140 * (u * (1 - u)) ** 3
    bend = 420 * (u * (1 - u)) ** 2 * (1 - 2 * u)
    return value, slope / length, bend / length**2
