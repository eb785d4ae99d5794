"""Channels: those of a load cell that died, and those of any instrument that hum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.lack import FAST_HZ
from palpate.experiment.stage.result import Case
from palpate.findings import Finding, Severity
from palpate.mechanisms.mechanism import WRENCH_ROWS
from palpate.motion.clock import noise_floor
from palpate.physics.arrays import FloatArray, power_density, rate_hz, running_median

WINDOW_S = 0.5
"""Over which a channel must move when the model says so."""
EXPECTED, SHOWN, LEAST_S = 20.0, 2.0, 2.0
"""Standard deviations of noise by which a channel should move and does not, for so long."""
RESOLUTION_HZ, NEIGHBOURS = 0.5, 8
"""Of spectra; a line is compared with so many bins to either side."""
LINE = 50.0
"""Times the density beside it."""
LINE_POWER = 0.5
"""A line's power over that of all other noise of the channel, from which it is worth a word."""
IMU_CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")


def dead(case: Case) -> Iterator[Finding]:
    """Channels that stay still while the model says that they move."""
    fit, rows = case.fit, case.model.mechanism.rows
    if fit.inputs.imu is None or not len(fit.prediction.at):
        return  # only a free body's rows are the channels of its load cell
    times, known = fit.prediction.times_s, fit.prediction.used
    measured = fit.prediction.rows[:, :, -1]
    expected = fit.prediction.rows[:, :, :-1] @ fit.p
    window = np.floor(times / WINDOW_S).astype(int)
    starts = np.flatnonzero(np.diff(window, prepend=window[0] - 1))
    noise = noise_floor(fit.inputs.sensors[0].wrench.x)
    for j, row in enumerate(rows):
        spread, should = (_scatter(np.where(known, x[:, j], 0.0), starts) for x in (measured, expected))
        still = (spread < SHOWN * noise[j]) & (should > EXPECTED * noise[j])
        if WINDOW_S * still.sum() < LEAST_S:
            continue
        since = float(times[starts[int(np.argmax(still))]])
        evidence = f"it stays constant for {WINDOW_S * still.sum():.0f} s from {since:.1f} s on while the others change"
        yield Finding("dead", evidence, row.name, "check its cable and the amplifier, and record again", Severity.FATAL)


def _scatter(x: FloatArray, starts: NDArray[np.intp]) -> FloatArray:
    """Standard deviation of (samples,) in each window."""
    count = np.diff(np.append(starts, len(x)))
    mean = np.add.reduceat(x, starts) / count
    return np.sqrt(np.maximum(np.add.reduceat(x**2, starts) / count - mean**2, 0.0))


def hum(case: Case) -> Iterator[Finding]:
    """Lines in the spectra of load cells and IMU, of mains and motors."""
    inputs = case.fit.inputs
    signals = [(s.wrench, tuple(row.name for row in WRENCH_ROWS), ("N", "N m")) for s in inputs.sensors]
    if inputs.imu is not None:
        signals.append((inputs.imu.even, IMU_CHANNELS, ("m/s2", "rad/s")))
    for even, names, units in signals:
        rate = rate_hz(even.times_s)
        samples = round(rate / RESOLUTION_HZ)
        if rate < 3 * FAST_HZ or len(even.x) < 4 * samples:
            continue
        f, density = power_density(even.x, rate, samples)
        beside = running_median(density, 2 * NEIGHBOURS + 1, "reflect")
        power = np.where((f > FAST_HZ)[:, None], density - beside, 0.0)
        at = np.argmax(power, axis=0)
        every = np.arange(len(at))
        # a Hann window spreads a line over three bins
        line = 1.5 * power[at, every] * RESOLUTION_HZ
        loud = line > LINE_POWER * np.median(beside, axis=0) * rate / 2
        loud &= density[at, every] > LINE * beside[at, every]
        if loud.any():
            i = int(np.argmax(np.where(loud, line, 0.0)))
            evidence = f"a hum at {f[at[i]]:.1f} Hz with an amplitude of {np.sqrt(2 * line[i]):.2g} {units[i // 3]}"
            places = ", ".join(n for n, x in zip(names, loud, strict=True) if x)
            yield Finding("hum", evidence, places, "keep cables away from mains and motors, or ground the instrument")
