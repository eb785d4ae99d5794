"""Gates, doors on a plain sprung hinge, of other make: NumPy and SciPy only, nothing of palpate.

A hand moves the gate through smooth strokes, shakes it and rests. The motion is given, so the torque follows from it
exactly, whatever the gate hides: each effect is one function that changes the torque, or what the instruments show.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.interpolate import BPoly
from scipy.signal import cont2discrete, lfilter, ss2tf
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

Array = np.ndarray
RATE_HZ, STORED = 1000.0, 5
"""Rate of the simulation, and every which sample is stored."""
NOISE_RAD, NOISE_NM = 1e-4, 0.05
ARM_M = 0.8
STILL_S, SLOW_S, TRAIN_S, TEST_S = 4.0, 24.0, 45.0, 16.0
OBJECT = """\
name: gate
mechanism: {type: hinge}
elements:
  - {type: inertia, name: I}
  - {type: viscous, name: b_v}
  - {type: coulomb, name: b_c}
  - {type: spring, name: spring, acts_on: hinge, order: 1}
"""


@dataclass(frozen=True)
class Gate:
    """The truth, SI."""

    I: float
    b_v: float
    b_c: float
    spring_0: float
    spring_1: float

    @property
    def parameters(self) -> dict[str, float]:
        """As palpate names them: its spring gives torque, this one takes it."""
        return {"I": self.I, "b_v": self.b_v, "b_c": self.b_c, "c_0": -self.spring_0, "c_1": -self.spring_1}


@dataclass(frozen=True)
class Run:
    """One session at `RATE_HZ`: what happens, and what the instruments show of it."""

    gate: Gate
    rng: np.random.Generator
    t: Array
    q: Array
    speed: Array
    acceleration: Array
    held: Array
    """-1 to 1: how much of dry friction is active; sign of the speed in motion, what the hand leaves at rest."""
    torque: Array
    seen: Array
    """The angle as the instrument shows it, before its noise."""
    noise: Array = field(default_factory=lambda: np.zeros(0))
    """That the torque has beside white noise."""
    keys: str = ""
    """Of the experiment file, beside the usual ones."""
    axes: str = ""
    """Those of a force on a point whose path is stored instead of angle and torque: "fixed", or "turning" with it."""


Effect = Callable[[Run], Run]


def simulate(seed: int, *effects: Effect) -> tuple[Run, dict[str, Array]]:
    """A random gate with these effects, and its table: time, angle, torque at 200 Hz."""
    run = _moved(seed, STILL_S, SLOW_S, TRAIN_S, TEST_S)
    rng, t = deepcopy(run.rng), run.t  # whoever asks goes on from the same numbers
    run = replace(run, rng=rng)
    for effect in effects:
        run = effect(run)
    # shut and untouched it leans on its frame; then a hand takes hold of it
    grip = np.clip((t - STILL_S + 0.3) / 0.3, 0, 1)
    run = replace(run, torque=grip * run.torque)
    at = slice(None, None, STORED)
    n = len(t[at])
    torque = run.torque[at] + run.noise[at]
    if run.axes:
        return run, {"t": t[at], **_path(run.seen[at], torque, run.axes == "turning", rng)}
    return run, {
        "t": t[at],
        "angle": run.seen[at] + rng.normal(0, NOISE_RAD, n),
        "torque": torque + rng.normal(0, NOISE_NM, n),
    }


@lru_cache(maxsize=8)
def _moved(seed: int, *_: float) -> Run:
    """A random gate, and what a hand does with it in as many seconds; once for all effects."""
    rng = np.random.default_rng([seed, 77])
    gate = Gate(rng.uniform(2, 8), rng.uniform(0.8, 3), rng.uniform(0.8, 2.5), rng.uniform(1, 4), rng.uniform(1, 5))
    t, q, speed, acceleration = hand(rng)
    held = np.sign(np.where(np.abs(speed) > 1e-9, speed, 0.0))
    resting = held == 0
    last = np.maximum.accumulate(np.where(resting, 0, np.arange(len(t))))
    held = np.where(resting, 0.6 * held[last] * np.exp(-(t - t[last]) / 0.4), held)
    torque = gate.I * acceleration + gate.b_v * speed + gate.b_c * held + gate.spring_0 + gate.spring_1 * q
    run = Run(gate, rng, t, q, speed, acceleration, held, torque, q, np.zeros(len(t)))
    for array in (t, q, speed, acceleration, held, torque, run.noise):
        array.setflags(write=False)  # effects make new ones
    return run


def _path(q: Array, torque: Array, turning: bool, rng: np.random.Generator) -> dict[str, Array]:
    """A hand 0.8 m out that pulls outwards by 3 N besides; its force along x, y, z or along axes that turn with it."""
    out, along = (Rotation.from_rotvec(np.outer(q, [0, 0, 1])).apply(e) for e in np.eye(3)[:2])
    force = along * torque[:, None] / ARM_M - 3 * out
    force = Rotation.from_rotvec(np.outer(-q, [0, 0, 1])).apply(force) if turning else force
    place = ARM_M * out + rng.normal(0, ARM_M * NOISE_RAD, out.shape)
    force = force + rng.normal(0, NOISE_NM, out.shape)
    return dict(zip(("x", "y", "z", "fx", "fy", "fz"), (*place.T, *force.T), strict=True))


def write(folder: Path, seed: int, *effects: Effect, keys: str = "") -> tuple[Path, dict[str, float]]:
    """Table, object and experiment file; -> the last and the truth."""
    run, columns = simulate(seed, *effects)
    save_table(folder / "log.csv", list(columns), np.column_stack(list(columns.values())), "%.8g")
    (folder / "gate.yaml").write_text(OBJECT)
    units = {"angle": "rad", "torque": "N m", **dict.fromkeys("xyz", "m"), **dict.fromkeys(("fx", "fy", "fz"), "N")}
    named = ", ".join(f"{name}: {{column: {name}, unit: {units[name]}}}" for name in columns if name != "t")
    signals = "point: [x, y, z]\n    force: [fx, fy, fz]" if run.axes else "angle: angle\n    torque: torque"
    ends = np.cumsum([STILL_S, SLOW_S, TRAIN_S, TEST_S])
    (folder / "body.yaml").write_text(
        f"""\
object: gate.yaml
stage: body
recordings:
  signals:
    file: log.csv
    time: {{column: t, unit: s}}
    columns: {{{named}}}
    {signals}
segments:
  static: [0.5, {ends[0] - 0.5}]
  quasi_static: [{ends[0]}, {ends[1]}]
  train: [{ends[1]}, {ends[2]}]
  test: [{ends[2]}, {ends[3] - 0.5}]
{run.keys}{keys}"""
    )
    return folder / "body.yaml", run.gate.parameters


def hand(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Times, angle, speed and acceleration: still, slowly out and back, then strokes of all sizes with rests."""
    knots, targets = [0.0, STILL_S], [0.0, 0.0]
    for k in range(1, 9):  # slowly through the range and back, a rest after each step
        a = 1.45 * (k if k <= 4 else 8 - k) / 4
        knots += [knots[-1] + SLOW_S / 8 - 0.6, knots[-1] + SLOW_S / 8]
        targets += [a, a]
    end = STILL_S + SLOW_S + TRAIN_S + TEST_S
    while knots[-1] < end - 3:
        move, rest = rng.uniform(0.5, 1.8), rng.uniform(0.05, 0.4) if rng.uniform() < 0.6 else rng.uniform(0.4, 1.0)
        knots += [knots[-1] + move, knots[-1] + move + rest]
        a = rng.uniform(0.05, 1.5)
        targets += [a, a]
    knots += [knots[-1] + 1.5, end + 1]
    targets += [0.02, 0.02]
    path = BPoly.from_derivatives(knots, [[a, 0.0, 0.0, 0.0] for a in targets])
    t = np.arange(0, end, 1 / RATE_HZ)
    parts = [path(t), path.derivative()(t), path.derivative(2)(t)]
    for _ in range(6):  # shaking, while it lasts
        a, length = rng.uniform(STILL_S + SLOW_S, end - 6), rng.uniform(2.0, 4.0)
        u = np.clip((t - a) / length, 0, 1)
        f, size = rng.uniform(0.8, 2.6), rng.uniform(0.03, 0.12)
        w = 2 * np.pi * f
        bump = np.array([u**3 * (1 - u) ** 3 * 64, 64 * (3 * u**2 - 12 * u**3 + 15 * u**4 - 6 * u**5) / length,
                         64 * (6 * u - 36 * u**2 + 60 * u**3 - 30 * u**4) / length**2])  # fmt: skip
        wave = np.array([np.sin(w * (t - a)), w * np.cos(w * (t - a)), -(w**2) * np.sin(w * (t - a))])
        parts[0] = parts[0] + size * bump[0] * wave[0]
        parts[1] = parts[1] + size * (bump[1] * wave[0] + bump[0] * wave[1])
        parts[2] = parts[2] + size * (bump[2] * wave[0] + 2 * bump[1] * wave[1] + bump[0] * wave[2])
    return t, parts[0], parts[1], parts[2]


# --- what a gate may hide ---------------------------------------------------------------------------------------------


def stribeck(run: Run) -> Run:
    """Friction that falls with speed."""
    more, fade = run.rng.uniform(0.4, 1.0) * run.gate.b_c, run.rng.uniform(0.08, 0.3)
    return replace(run, torque=run.torque + more * run.held * np.exp(-((run.speed / fade) ** 2)))


def hysteresis(run: Run) -> Run:
    """A spring that remembers (Dahl 1968): its torque follows a reversal over 0.1 to 0.3 rad."""
    size, width = run.rng.uniform(0.8, 1.5) * run.gate.b_c, run.rng.uniform(0.08, 0.25)
    return replace(run, torque=run.torque + size * _dahl(run.q, run.speed, width))


def maxwell_slip(run: Run) -> Run:
    """Two springs that are bent by so much and then slide along, one millisecond after the other."""
    size, limits = run.rng.uniform(0.8, 1.5) * run.gate.b_c, (run.rng.uniform(0.02, 0.05), run.rng.uniform(0.08, 0.2))
    total, bent = np.zeros(len(run.q)), [0.0, 0.0]
    for i, way in enumerate(np.diff(run.q, prepend=run.q[0]).tolist()):
        bent = [min(max(z + way, -r), r) for z, r in zip(bent, limits, strict=True)]
        total[i] = size / 2 * sum(z / r for z, r in zip(bent, limits, strict=True))
    return replace(run, torque=run.torque + total)


def loaded(run: Run) -> Run:
    """Bearings whose friction is 6 to 15 % of the torque that acts: t = smooth + mu |t| sgn(v), solved for t."""
    mu = run.rng.uniform(0.06, 0.15)
    return replace(run, torque=run.torque / (1 - mu * np.sign(run.torque) * run.held))


def bouc_wen(run: Run) -> Run:
    """The same with an exponent of two (Wen 1976), by Euler's steps."""
    size, width = run.rng.uniform(0.8, 1.5) * run.gate.b_c, run.rng.uniform(0.08, 0.25)
    z, out = 0.0, np.empty(len(run.q))
    for i, dq in enumerate(np.diff(run.q, prepend=run.q[0]).tolist()):
        z += dq / width * (1 - z * z * (1.0 if dq * z > 0 else -1.0))
        out[i] = z
    return replace(run, torque=run.torque + size * out)


def rough_track(run: Run) -> Run:
    """Dry friction that depends on the angle."""
    waves, phase, part = run.rng.uniform(2, 6), run.rng.uniform(0, 6), run.rng.uniform(0.4, 0.8)
    return replace(run, torque=run.torque + part * run.gate.b_c * run.held * np.sin(waves * run.q + phase))


def drag(run: Run) -> Run:
    """A closer whose oil is turbulent: quadratic instead of linear, besides."""
    return replace(run, torque=run.torque + run.rng.uniform(1.0, 3.0) * run.speed * np.abs(run.speed))


def leaning(run: Run) -> Run:
    """A hinge that leans by 1 to 3 deg: gravity on a gate of 25 kg whose centre is 0.4 m out."""
    weight = 25 * 9.81 * 0.4 * np.sin(np.radians(run.rng.uniform(1, 3)))
    return replace(run, torque=run.torque + weight * np.sin(run.q - run.rng.uniform(-1.0, 2.5)))


def soft_plate(run: Run) -> Run:
    """The plate with the markers swings at 4 to 8 Hz."""
    w, damping = 2 * np.pi * run.rng.uniform(4, 8), run.rng.uniform(0.03, 0.15)
    return replace(run, seen=_second_order(run.seen, w, damping))


def soft_adapter(run: Run) -> Run:
    """The angle is seen at the hand's side of an adapter that gives way; with the gate it swings at 6 to 12 Hz."""
    stiffness = run.gate.I * (2 * np.pi * run.rng.uniform(6, 12)) ** 2
    return replace(run, seen=run.seen + run.torque / stiffness)


def slow_amplifier(run: Run) -> Run:
    """A low-pass of first order at 5 to 12 Hz in the torque, of which nobody knows."""
    tau = 1 / (2 * np.pi * run.rng.uniform(5, 12))
    a = np.exp(-1 / (RATE_HZ * tau))
    y, _ = lfilter([1 - a], [1, -a], run.torque, zi=[a * run.torque[0]])
    return replace(run, torque=y)


def play(run: Run) -> Run:
    """The angle is seen at the hand's side of a joint with 1 to 3 deg of play."""
    size = np.radians(run.rng.uniform(1, 3))
    side = lfilter([0.06], [1, -0.94], np.tanh(run.torque / 0.2))
    return replace(run, seen=run.seen + size / 2 * side)


def not_linear(run: Run) -> Run:
    """A load cell that reads 4 to 8 % more at the largest torque than at small ones."""
    more = run.rng.uniform(0.04, 0.08) / np.abs(run.torque).max()
    return replace(run, torque=run.torque * (1 + more * np.abs(run.torque)))


def warming(run: Run) -> Run:
    """Dry friction that falls by 25 to 40 % while the hinge warms up."""
    less = run.rng.uniform(0.25, 0.4) * (1 - np.exp(-np.maximum(run.t - STILL_S, 0) / 25))
    return replace(run, torque=run.torque - less * run.gate.b_c * run.held)


def drift(run: Run) -> Run:
    """A zero that wanders over tens of seconds, by 1 to 3 N m."""
    u = run.t / run.t[-1]
    size, phase, waves = run.rng.uniform(1.0, 3.0), run.rng.uniform(0, 6), run.rng.uniform(0.5, 1.5)
    return replace(run, noise=run.noise + size * (np.sin(2 * np.pi * waves * u + phase) - np.sin(phase)))


def another_hand(run: Run) -> Run:
    """Somebody pushes the gate now and then, past the load cell."""
    pushed = np.zeros(len(run.t))
    for a in run.rng.uniform(STILL_S + SLOW_S, run.t[-1] - 3, 7):
        length, size = run.rng.uniform(0.5, 2.0), run.rng.uniform(3, 10) * run.rng.choice([-1, 1])
        u = np.clip((run.t - a) / length, 0, 1)
        pushed += size * 16 * u**2 * (1 - u) ** 2
    return replace(run, torque=run.torque - pushed)


def backwards(run: Run) -> Run:
    """The torque's sign is that of the other side."""
    return replace(run, torque=-run.torque)


def in_degrees(run: Run) -> Run:
    """The angle is stored in degrees and called radians."""
    return replace(run, seen=np.degrees(run.seen))


def by_path(run: Run) -> Run:
    """No fault: the path of a point and the force on it, instead of angle and torque."""
    return replace(run, axes="fixed")


def by_gripper(run: Run) -> Run:
    """The same with the force along axes that turn with the gate, of which the file says nothing."""
    return replace(run, axes="turning")


def helped(run: Run) -> Run:
    """A motor turns the gate the way it moves, with more than its friction."""
    return replace(run, torque=run.torque - run.rng.uniform(4.0, 6.0) * run.gate.b_c * run.held)


def delayed(run: Run) -> Run:
    """The torque is stored 15 to 40 ms late."""
    n = int(run.rng.uniform(15, 40))
    return replace(run, torque=np.concatenate([np.full(n, run.torque[0]), run.torque[:-n]]))


def coloured(run: Run) -> Run:
    """No fault: noise of the load cell with a memory of seconds, three times the white one."""
    a = np.exp(-1 / (RATE_HZ * run.rng.uniform(0.3, 3.0)))
    return replace(
        run, noise=run.noise + lfilter([0.15 * np.sqrt(1 - a * a)], [1, -a], run.rng.normal(size=len(run.t)))
    )


def _dahl(q: Array, speed: Array, width: float) -> Array:
    """z' = (1 - z sgn v) v / width: between reversals an exponential of the way gone."""
    sign = np.sign(np.where(np.abs(speed) > 1e-9, speed, 0.0))
    starts = np.flatnonzero(np.diff(sign, prepend=2.0))
    z, out = 0.0, np.empty(len(q))
    for a, b in zip(starts, [*starts[1:], len(q)], strict=True):
        s = sign[a]
        out[a:b] = z if s == 0 else s - (s - z) * np.exp(-np.abs(q[a:b] - q[a]) / width)
        z = float(out[b - 1])
    return out


def _second_order(x: Array, w: float, damping: float) -> Array:
    A, B = np.array([[0.0, 1.0], [-w * w, -2 * damping * w]]), np.array([[0.0], [w * w]])
    num, den = _transfer(A, B)
    zero = x - x[0]
    return np.asarray(x[0] + lfilter(num, den, zero))


def _transfer(A: Array, B: Array) -> tuple[Array, Array]:
    Ad, Bd, C, D, _ = cont2discrete((A, B, np.array([[1.0, 0.0]]), np.zeros((1, 1))), 1 / RATE_HZ, "foh")
    num, den = ss2tf(Ad, Bd, C, D)
    return num[0], den
