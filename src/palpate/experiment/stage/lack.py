"""Lack of fit: what a fit leaves beside what the instruments' noise would leave, and which effect explains the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import Inputs, fit_balance, move, position_noise, whole_balance
from palpate.identify.balance import stack_rows
from palpate.identify.effects import Effect, Lack, Noise, lacks
from palpate.motion.clock import noise_floor
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS

MOST = 20_000
"""Rows that are looked at."""
SPEEDS = (0.1, 0.25, 0.5)
"""Quantiles of the speed at which friction may fall."""
WIDTHS = (0.02, 0.06, 0.15)
"""Shares of the travel over which a force may remember where it came from."""
PLACES, WAVES = 6, 4
"""Knots over the travel; slow waves over the time."""
CONTACT_N = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class LackOfFit:
    """What the fit leaves in its own band, and what would explain it."""

    left: FloatArray
    """(rows,) RMS, N and N m."""
    noise: FloatArray
    """(rows,) RMS that the noise of the instruments leaves after the same filters."""
    lacks: tuple[Lack, ...]
    """The effect that explains most first."""


def lack_of_fit(fit: Fit) -> LackOfFit:
    """Test everything that the fit may lack."""
    low = replace(fit_balance(fit.inputs, fit.moved, fit.balance), weights=fit.train.weights)
    rows = stack_rows(low, fit.plan.segments, most=MOST)
    count = len(fit.inputs.mechanism.rows)
    X = np.concatenate([rows.columns(e) for e in fit.solution.model.elements])
    left = rows.y[0] - fit.p @ X
    noisy = _noisy(fit)
    noise = rows.taken((_residuals(noisy) - _residuals(fit))[None])[0]
    samples = max(1, rows.samples.sum())
    rms = [np.sqrt((x.reshape(-1, count) ** 2).sum(axis=0) / samples) / fit.train.weights for x in (left, noise)]
    tested = lacks(rows, fit.solution, _effects(fit), Noise(tuple(_effects(noisy)), noise))
    return LackOfFit(rms[0], rms[1], tuple(tested))


def _noisy(fit: Fit) -> Fit:
    """The same fit seen with noise of the measured level added once more to motion and wrench."""
    rng, inputs = np.random.default_rng(0), fit.inputs
    sensors = tuple(
        replace(s, wrench=replace(s.wrench, x=s.wrench.x + rng.normal(size=s.wrench.x.shape) * noise_floor(s.wrench.x)))
        for s in inputs.sensors
    )
    noisy = replace(inputs, sensors=sensors)
    if inputs.imu is not None:
        even = inputs.imu.even
        added = rng.normal(size=even.x.shape) * noise_floor(even.x)
        noisy = replace(noisy, imu=replace(inputs.imu, even=replace(even, x=even.x + added)))
    else:
        noisy = replace(noisy, q=inputs.q + rng.normal(size=inputs.q.shape) * position_noise(inputs))
    noisy = noisy.on_clock(inputs.clock)
    moved = move(noisy, resting=fit.moved.resting)
    return replace(fit, inputs=noisy, moved=moved, balance=whole_balance(noisy, moved))


def _residuals(fit: Fit) -> FloatArray:
    """(rows, samples) at every sample, 0 where not known."""
    t = fit.inputs.times_s
    return np.nan_to_num((fit.balance.rows((float(t[0]), float(t[-1]) + 1e-9)) @ np.append(-fit.p, 1.0)).T)


# --- effects ----------------------------------------------------------------------------------------------------------


def _effects(fit: Fit) -> Iterator[Effect]:
    inputs = fit.inputs
    rows = len(inputs.mechanism.rows)
    k = fit.balance.kinematics
    for name in inputs.mechanism.moving or ([] if inputs.mechanism.main is None else [inputs.mechanism.main]):
        c = k.coordinates[name]
        position, speed, acceleration = (_known(x, len(inputs.times_s)) for x in (c.position, c.speed, c.acceleration))
        ratio = np.array([np.broadcast_to(_known(x, len(speed)), speed.shape) for x in c.ratio])

        def along(cause: str, *forces: FloatArray, ratio: FloatArray = ratio, name: str = name) -> Effect:
            return Effect(f"{cause}:{name}", np.array([f * ratio for f in forces]))

        yield from _of_coordinate(along, position, speed, acceleration, fit.moved.resting, inputs)
    yield from _of_instruments(fit, rows)


def _known(x: object, count: int) -> FloatArray:
    return np.nan_to_num(np.broadcast_to(np.asarray(x, dtype=float), (count,)))


def _of_coordinate(along, position, speed, acceleration, resting: BoolArray, inputs: Inputs) -> Iterator[Effect]:  # type: ignore[no-untyped-def]
    sign = np.where(resting, 0.0, np.sign(speed))
    quick = np.abs(speed[~resting]) if (~resting).any() else np.ones(1)
    for fade in np.quantile(quick, SPEEDS):
        yield along("friction-speed", sign * np.exp(-((speed / max(fade, 1e-9)) ** 2)))
    yield along("drag", speed * np.abs(speed))
    yield along("way", np.abs(speed))
    low, high = np.quantile(position, [0.005, 0.995])
    if inputs.main is not None:
        hats = list(_hats(position, low, high, PLACES))
        yield along("friction-position", *(sign * h for h in hats))
        yield along("force-position", *_hats(position, low, high, PLACES + 1))
        yield along("damping-position", *(speed * h for h in hats))
        yield along("inertia-position", *(acceleration * h for h in _hats(position, low, high, 4)))
    for width in WIDTHS:
        yield along("memory", _dahl(position, np.sign(speed), width * (high - low)))


def _hats(x: FloatArray, low: float, high: float, count: int) -> Iterator[FloatArray]:
    """Piecewise linear functions of a position that are one at their knot and zero at the others."""
    knots = np.linspace(low, high, count)
    for i in range(count):
        yield np.interp(x, knots, np.eye(count)[i])


def _dahl(x: FloatArray, sign: FloatArray, width: float) -> FloatArray:
    """A force between -1 and 1 that follows a reversal over a width: dz/dx = (1 - z sgn v) / width (Dahl 1968)."""
    starts = np.flatnonzero(np.diff(sign, prepend=2.0))
    z, force = 0.0, np.empty(len(x))
    for a, b in zip(starts.tolist(), [*starts[1:].tolist(), len(x)], strict=True):
        s = sign[a]
        force[a:b] = z if s == 0 else s - (s - z) * np.exp(-np.abs(x[a:b] - x[a]) / max(width, 1e-12))
        z = float(force[b - 1])
    return force


def _of_instruments(fit: Fit, rows: int) -> Iterator[Effect]:
    inputs, balance = fit.inputs, fit.balance
    t = inputs.times_s
    everything = (float(t[0]), float(t[-1]) + 1e-9)
    known = balance.rows(everything)
    predicted = np.nan_to_num((known[:, :, :-1] @ fit.p).T)
    measured = np.nan_to_num(np.array(inputs.mechanism.project(balance.kinematics, list(balance.wrench.T), ARRAYS)))
    smooth = predicted if balance.used is None else np.where(balance.used, predicted, measured)
    first = np.gradient(smooth, 1 / inputs.rate_hz, axis=1)
    yield Effect("lag", first[None])
    yield Effect("compliance", np.gradient(first, 1 / inputs.rate_hz, axis=1)[None])
    u = np.pi * (t - t[0]) / max(float(t[-1] - t[0]), 1e-9)
    waves = [np.cos(i * u) for i in range(1, WAVES + 1)]
    for j in range(rows):
        own = np.zeros((rows, 1))
        own[j] = 1.0
        yield Effect(f"drift:{inputs.mechanism.rows[j].name}", np.array([own * w for w in waves]))
        if rows > 1:
            yield Effect(f"gain:{inputs.mechanism.rows[j].name}", (own * smooth)[None])
    if rows == 1:
        side = np.gradient(np.gradient(np.tanh(measured / CONTACT_N), axis=1), axis=1)
        yield Effect("play", side[None])
