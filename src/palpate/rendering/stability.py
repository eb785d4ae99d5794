"""Where the closed loop is stable: hand, handle, sensor, model and arm along one direction, linear and sampled.

Between two samples the arm is exact (matrix exponential, inputs held), so that the limits are those of the sampled loop
and not of a continuous one. Dry friction is left out: it only makes a real loop more stable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.rendering.hand import Grip, Hand, apparent_mass, at_rest, directions, handle_mass, lever
from palpate.rendering.robot import Inner

ComplexArray = NDArray[np.complex128]
_LIGHTEST_PART, _LIMIT_FACTOR = 1e-4, 1.02
"""Smallest inertia that is tried, as part of the model's; the factor to which limits are known."""
_STIFFEST = 1e6
"""N/m: a hand is never as stiff."""
_SLOWEST_HZ, _FASTEST_HZ = 20.0, 64e3


@dataclass(frozen=True, slots=True)
class Line:
    """A loop along one direction at the hand; everything in N, m, kg, s.

    `mass`, `damping`, `stiffness`: of the virtual object (the body). `handle`: kg behind the sensor. `arm`: kg of the
    arm where it is held, with the handle. `ideal`: the robot is exactly where the model is.
    """

    mass: float
    damping: float = 0.0
    stiffness: float = 0.0
    handle: float = 0.0
    hand: Hand = field(default_factory=Hand)
    arm: float = 10.0
    inner: Inner = field(default_factory=Inner)
    delay_s: float = 0.002
    dt: float = 1e-3
    ideal: bool = False

    @property
    def stable(self) -> bool:
        """Whether every disturbance dies out."""
        return spectral_radius(self) < 1.0 - 1e-9


def line_of(model: Model, grip: Grip, state: Sequence[float], hand: Hand, arm: float) -> Line:
    """The loop about a state of the object at rest; `arm` kg. Damping is the lesser of both directions of motion."""
    (_, along), *_ = directions(model, grip, at_rest(model, state).R)
    damping = stiffness = 0.0
    if len(model.mechanism.accelerations) == 1:
        damping, stiffness = (x / lever(model, grip) ** 2 for x in _slopes(model, float(state[0])))
    mass, handle = apparent_mass(model, grip, state, along), handle_mass(grip, model)
    return Line(mass, max(damping, 0.0), stiffness, handle, hand, arm)


def spectral_radius(line: Line) -> float:
    """Of the matrix that takes the loop from one sample to the next: below 1 the loop is stable."""
    return float(np.abs(np.linalg.eigvals(stepped(line)[:, :-1])).max())


def stability_map(line: Line, delays_s: FloatArray, stiffnesses: FloatArray) -> FloatArray:
    """(delays, stiffnesses) spectral radius; the hand's damping stays as it is."""
    hands = [replace(line.hand, stiffness=float(k)) for k in stiffnesses]
    rows = [[spectral_radius(replace(line, delay_s=float(d), hand=h)) for h in hands] for d in delays_s]
    return np.array(rows)


def limits_of(line: Line) -> dict[str, float]:
    """longest_delay_s, stiffest_hand (N/m), smallest_inertia (kg at the hand), slowest_hz."""
    return {
        "longest_delay_s": longest_delay(line),
        "stiffest_hand": stiffest_hand(line),
        "smallest_inertia": smallest_inertia(line),
        "slowest_hz": slowest_rate(line),
    }


def longest_delay(line: Line, most_s: float = 0.2) -> float:
    """s of delay up to which the loop is stable, whole samples; NaN if not even without, infinite beyond `most_s`."""
    count = round(most_s / line.dt)
    stride = max(1, count // 40)

    def first(samples: Sequence[int], else_: int) -> int:
        return next((n for n in samples if not replace(line, delay_s=n * line.dt).stable), else_)

    bad = first((*range(0, count, stride), count), count + 1)
    bad = first(range(max(0, bad - stride + 1), bad), bad)
    return math.nan if bad == 0 else math.inf if bad > count else (bad - 1) * line.dt


def smallest_inertia(line: Line) -> float:
    """kg of the virtual object below which the loop is not stable; 0 if it always is, NaN if for no inertia."""
    start = next((mass for mass in (line.mass * 1.5**i for i in range(24)) if replace(line, mass=mass).stable), None)
    return math.nan if start is None else start * _limit(lambda part: replace(line, mass=start * part), _LIGHTEST_PART)


def stiffest_hand(line: Line) -> float:
    """N/m of the hand up to which the loop is stable; infinite if for every hand, NaN if not even as it stands."""
    start = max(line.hand.stiffness, 1.0)
    return start * _limit(
        lambda part: replace(line, hand=replace(line.hand, stiffness=start * part)), _STIFFEST / start
    )


def slowest_rate(line: Line) -> float:
    """Hz of the loop above which it is stable, the delay at least one period; NaN if not even at 64 kHz.

    The delay stays what it is in s, and is rounded up to whole periods.
    """

    def at(hz: float) -> Line:
        dt = 1.0 / hz
        return replace(line, dt=dt, delay_s=math.ceil(line.delay_s / dt - 1e-9) * dt)

    rates = (2.0**i / line.dt for i in range(7))
    rate = next((hz for i, hz in enumerate(rates) if (i == 0 or hz <= _FASTEST_HZ) and at(hz).stable), math.nan)
    return math.nan if math.isnan(rate) else rate * _limit(lambda part: at(rate * part), _SLOWEST_HZ / rate)


def apparent(line: Line, frequencies_hz: FloatArray) -> ComplexArray:
    """Complex kg that the hand feels at each frequency: handle and what the robot makes of the virtual object.

    The response of the loop without a hand to a force on the handle, force over acceleration.
    """
    step = stepped(replace(line, hand=Hand(0.0, 0.0, 0.0)))
    A, B = step[:, :-1], step[:, -1]
    z = np.exp(2j * np.pi * frequencies_hz * line.dt)
    way = np.linalg.solve(z[:, None, None] * np.eye(len(A)) - A, B[:, None])[:, 0, 0]
    return np.asarray(-1.0 / ((2 * np.pi * frequencies_hz) ** 2 * way), dtype=complex)


def true_apparent(line: Line, frequencies_hz: FloatArray) -> ComplexArray:
    """The same of the object itself with its handle: m + b / s + k / s2."""
    s = 2j * np.pi * frequencies_hz
    return np.asarray(line.mass + line.handle + line.damping / s + line.stiffness / s**2, dtype=complex)


def _slopes(model: Model, at: float) -> tuple[float, float]:
    """Damping (the lesser of opening and closing, slowly) and stiffness of a hinge about an angle, per rad."""
    slow, step = 0.05, 1e-4
    damping = min(float(model.along(at, v) - model.along(at)) / v for v in (slow, -slow))
    return damping, float(model.along(at + step) - model.along(at - step)) / (2 * step)


def stepped(line: Line) -> FloatArray:
    """The state after one sample, each row over the state before it and a force that is held on the handle.

    State: place and speed of the handle, the arm's last command, place and speed of the model, then the forces on
    their way from the sensor to the loop, youngest first.
    An ideal robot is where the model is; its command is the model's acceleration.
    """
    from scipy.linalg import expm

    h, dt, w, count = line.hand, line.dt, line.inner.omega, round(line.delay_s / line.dt)
    x, v, u, place, speed, *waiting, push = np.eye(6 + count)
    total = line.arm + h.mass
    believed = (line.arm - line.handle) * (1.0 + line.inner.wrong) + line.handle
    # the arm: total x'' = believed u - k x - b x' + f, u and f held
    plant = np.zeros((4, 4))
    plant[0, 1] = 1.0
    plant[1] = [-h.stiffness / total, -h.damping / total, believed / total, 1.0 / total]
    moving = u if line.ideal else plant[1] @ [x, v, u, push]
    read = push - h.stiffness * x - h.damping * v - (h.mass + line.handle) * moving  # before the new command
    force = [read, *waiting][-1]
    # the Stepper's balance: (M + dt B) v' = M v + dt (f - K x)
    new = (line.mass * speed + dt * (force - line.stiffness * place)) / (line.mass + dt * line.damping)
    acceleration, speed, place = (new - speed) / dt, new, place + dt * new
    if line.ideal:
        return np.array([place, speed, acceleration, place, speed, *[read, *waiting][:count]])
    inner = line.inner
    command = inner.acceleration * acceleration + 2 * w * (inner.velocity * speed - v) + w * w * (place - x)
    x, v = expm(plant * dt)[:2] @ [x, v, command, push]
    return np.array([x, v, command, place, speed, *[read, *waiting][:count]])


def _limit(at: Callable[[float], Line], worst: float) -> float:
    """The factor between 1 and `worst` at which stability ends, to 2 %; 0 or infinite if it does not, NaN if at 1."""
    factor = edge(lambda part: at(part).stable, np.geomspace(1.0, worst, 16).tolist(), _LIMIT_FACTOR)
    return 0.0 if math.isinf(factor) and worst < 1.0 else factor


def edge(fine: Callable[[float], bool], values: Sequence[float], closely: float) -> float:
    """On the way through these values the last that is fine, to this factor; NaN if none is, infinite if all are."""
    bad_at = next((i for i, x in enumerate(values) if not fine(x)), len(values))
    if bad_at in (0, len(values)):
        return math.nan if bad_at == 0 else math.inf
    good, bad = values[bad_at - 1], values[bad_at]
    while max(bad / good, good / bad) > closely:
        half = math.sqrt(bad * good)
        good, bad = (half, bad) if fine(half) else (good, half)
    return good
