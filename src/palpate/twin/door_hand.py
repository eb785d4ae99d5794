"""How a person moves a door: an arm with stiffness and damping, and an intention, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

import numpy as np

from palpate.physics.arrays import FloatArray

_RELEASE_S, _GRASP_S = 0.15, 0.3
_LET_GO_S = 6.5
"""For which the door is left alone."""
_SLOWEST_HZ, _FASTEST_HZ = 0.6, 3.0
"""Of shaking."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What the arm is about the hinge: tau = K (wanted - angle) + D (wanted' - speed), up to a strongest torque.

    Hogan 1985, Impedance control.
    """

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
    """Until then nobody touches the door, and nobody looks."""
    still_s: float = 5.5
    sweep_s: float = 54.7
    step: float = radians(4.0)
    """rad, of the sweep (paper, Data Collection)."""
    blocks: tuple[tuple[str, float], ...] = (("train", 48.1), ("test", 33.0), ("train", 8.7))
    tail_s: float = 4.0

    @property
    def duration_s(self) -> float:
        """Of the whole recording."""
        return self.start_s + self.still_s + self.sweep_s + sum(s for _, s in self.blocks) + self.tail_s

    @property
    def segments(self) -> dict[str, list[tuple[float, float]]]:
        """Name -> from, to (s), a little inside of what happens."""
        sweep = self.start_s + self.still_s
        found = {
            "static": [(self.start_s + 0.5, sweep - 1.0)],
            "quasi_static": [(sweep + 0.5, sweep + self.sweep_s - 0.2)],
        }
        t = sweep + self.sweep_s
        for name, seconds in self.blocks:
            found.setdefault(name, []).append((t + 0.2, t + seconds - 0.2))
            t += seconds
        return {name: [(round(a, 2), round(b, 2)) for a, b in pairs] for name, pairs in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """The intention of one phase on the steps of a simulation."""

    angle: FloatArray
    """rad, beside where the phase begins."""
    grip: FloatArray
    """0 (let go) to 1."""


def wanted(phase: Phase, rng: np.random.Generator, t: FloatArray, start: float, *, held: bool) -> Wanted:
    """What is wanted at times t of a phase (s) that begins at the angle `start`; `held`: the hand was on the door."""
    if phase.target is None:
        grip = 1.0 - _smooth(t / _RELEASE_S) if held else np.zeros_like(t)
        return Wanted(np.full_like(t, start), grip)
    angle = start + (phase.target - start) * _minimum_jerk(t / max(phase.moving_s, 0.01))
    if phase.shake > 0:
        edge = _smooth(t / 0.4) * _smooth((phase.seconds - t) / 0.4)
        angle = angle + phase.shake * edge * smooth_noise(rng, t, _SLOWEST_HZ, _FASTEST_HZ, 4)
    return Wanted(angle, np.ones_like(t) if held else _smooth(t / _GRASP_S))


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
        phases += _slow_openings(rng, seconds, widest) if one_way else _block(rng, seconds, shut, widest, vigour)
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
    found: list[Phase] = []
    for _ in range(count):
        pushed = max(0.5 * each, each - _LET_GO_S)
        found.append(Phase(pushed, widest - radians(float(rng.uniform(4, 10))), 0.95 * pushed))
        found.append(Phase(each - pushed, None, recorded=False))
    return found


_CYCLE = ("let go", "swing", "shake", "slam", "swing", "shake", "shut", "swing", "shake", "swing")


def _block(rng: np.random.Generator, seconds: float, shut: float, widest: float, vigour: float) -> list[Phase]:
    """Strokes at different speeds through all zones, shaking, letting go, hitting the stops: in any order."""
    found: list[Phase] = []
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
        found += new
        left -= length
        at = shut if new[-1].target is None else new[-1].target
    return [*found, Phase(left, at)] if left > 1e-9 else found


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
    """0 to 1 with the derivatives zero at both ends."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10 - 15 * u + 6 * u * u)


_minimum_jerk = _smooth  # Flash and Hogan 1985: the same polynomial
