"""How a person moves an object that rolls: forward distance, yaw, camber and pitch in closed formulas, and rolling.

The wheel is a sphere of radius R about the middle of the axle and does not slip (paper, Wheelbarrow): the axle's middle
moves with v_x ahead and v_y = -R camber_rate to the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray

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
    """How far and how fast an object is moved. Four numbers each are of distance (m), yaw, camber, pitch (rad): the
    amplitude of slow sines and the rms acceleration of fast ones; zeros are held.
    """

    meant: tuple[FloatArray, FloatArray]
    sway: tuple[FloatArray, FloatArray]
    """What the other coordinates do meanwhile: nobody holds an object quite still."""
    clear: tuple[float, float]
    """rad: by how much the pitch stays away from that of standing feet, between these."""
    lifted_by: float = 1.0
    """1: the handles go up to take the feet off the ground; -1: down."""
    lifting_s: float = 0.8
    """How long taking the feet off lasts, before a segment, and putting them down, after it."""

    def straight(self, sway: float = 0.0) -> Manner:
        """The same ahead and in pitch alone; what yaw and camber sway is multiplied by a factor."""
        meant, less = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, sway, sway, 1.0])
        slow, fast = self.meant
        return replace(self, meant=(slow * meant, fast * meant), sway=(self.sway[0] * less, self.sway[1] * less))

    def held(self, sway: float) -> Manner:
        """The same by somebody who keeps all else still: what it sways is multiplied by a factor."""
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
    """One stretch with the feet in the air, s on the markers' clock, and what is done in it, one after the other."""

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
class Path:
    """The four free coordinates at times t, each (4, samples): distance ahead (m), yaw, camber, pitch about the axle
    (rad).
    """

    times_s: FloatArray
    value: FloatArray
    rate: FloatArray
    acceleration: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Wheeling:
    """What is done with the wheelbarrow; between the segments it stands on its feet and nothing moves."""

    blocks: tuple[Block, ...]
    segments: tuple[Segment, ...]
    standing: float
    """rad, pitch at which both feet stand."""
    radius: float
    place: tuple[float, float]
    """m, of the contact in the world at the beginning."""
    heading: float
    """rad, of x_C in the world at the beginning."""
    lifting_s: float = AS_A_WHEELBARROW.lifting_s

    def path(self, t: FloatArray) -> Path:
        """Closed formulas: values and derivatives agree to the last digit."""
        found = np.zeros((3, 4, len(t)))
        found[0, 1], found[0, 3] = self.heading, self.standing
        for block in self.blocks:
            inside = np.flatnonzero((t >= block.rise[0]) & (t <= sum(block.fall)))
            up, down = (_step(t[inside], *ramp) for ramp in (block.rise, block.fall))
            e0, e1, e2 = (a - b for a, b in zip(up, down, strict=True))
            s0, s1, s2 = block.series(t[inside])
            found[0][:, inside] += e0 * s0
            found[1][:, inside] += e1 * s0 + e0 * s1
            found[2][:, inside] += e2 * s0 + 2 * e1 * s1 + e0 * s2
        return Path(t, *found)

    def standing_at(self, t: FloatArray) -> NDArray[np.bool_]:
        """Whether the feet stand on the ground."""
        found = np.ones(len(t), dtype=bool)
        for a, b in self.lifted:
            found &= (t <= a) | (t >= b)
        return found

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

    def velocity(self, path: Path) -> FloatArray:
        """(samples, 2) m/s of the contact in the world: v_x along x_C, -R camber_rate along y_C."""
        cos, sin = np.cos(path.value[1]), np.sin(path.value[1])
        ahead, left = path.rate[0], -self.radius * path.rate[2]
        return np.stack([ahead * cos - left * sin, ahead * sin + left * cos], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Motion of frame B in axes of the contact frame C, each (samples, 3)."""

    R_contact_body: FloatArray
    """(samples, 3, 3)."""
    acceleration: FloatArray
    """m/s2 of the axle's middle, without gravity."""
    omega: FloatArray
    omega_dot: FloatArray
    spin: FloatArray
    """(samples,) rad/s of the wheel about its axle, against the world."""
    spin_dot: FloatArray
    camber: FloatArray


def kinematics(path: Path, radius: float) -> Kinematics:
    """Differentiated by hand in C, which turns with the yaw rate about up.

    R_CB = R_x(camber) R_y(pitch) [-z, -x, y]: at zero angles x_B points down, y_B back, z_B left.
    """
    _, _, camber, pitch = path.value
    v, yaw1, camber1, pitch1 = path.rate
    v1, yaw2, camber2, pitch2 = path.acceleration
    cg, sg, cb, sb, zero = np.cos(camber), np.sin(camber), np.cos(pitch), np.sin(pitch), np.zeros_like(v)
    x_B, y_B = np.array([-sb, sg * cb, -cg * cb]), np.array([-cb, -sg * sb, cg * sb])
    z_B = np.array([zero, cg, sg])
    omega = np.array([camber1, pitch1 * cg, yaw1 + pitch1 * sg])
    # components' own change, then that of the axes: yaw rate about z crossed with the vector
    change = np.array(
        [camber2, pitch2 * cg - pitch1 * camber1 * sg, yaw2 + pitch2 * sg + pitch1 * camber1 * cg],
    )
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
