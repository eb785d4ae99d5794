"""What lies between object and instruments, taken out: lag and compliance of the wrench (the paper's future work), and
what gives way between the object and where its position is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import Inputs, move, projected, whole_balance
from palpate.experiment.stage.lack import bench, give, late
from palpate.identify.effects import Effect
from palpate.physics.arrays import FloatArray, rate_hz

BAND = 3.0
"""Times the bandwidth of the fit: what is faster than any motion is left as it was measured."""
USUAL_HZ = 20.0
"""Bandwidth, where none is stated."""

TRUNCATED = 0.03
"""Share of what a lag or an adapter does that a series of second order leaves (2 to 5 % at 10 to 40 Hz)."""


@dataclass(frozen=True, slots=True)
class Compensation:
    """Wrench: true = measured + lag_s d/dt measured + square_s2 d2/dt2 measured; main position: true = measured -
    softness times the force along it (rad/(N m), m/N).
    """

    lag_s: float = 0.0
    square_s2: float = 0.0
    softness: float = 0.0
    lag_std_s: float = 0.0
    square_std_s2: float = 0.0
    softness_std: float = 0.0

    def of(self, inputs: Inputs) -> Inputs:
        """The inputs with wrenches as they were before lag and compliance, and the position of the object itself."""
        firm = inputs if self.lag_s == self.square_s2 == 0 else self._prompt(inputs)
        if self.softness == 0:
            return firm
        force = projected(whole_balance(firm, move(firm)))
        return firm.with_positions(firm.q - self.softness * force)

    def _prompt(self, inputs: Inputs) -> Inputs:
        band = BAND * (inputs.filtering.bandwidth_hz or USUAL_HZ)
        true = [replace(s.wrench, x=self._true(s.wrench.times_s, s.wrench.x, band)) for s in inputs.sensors]
        sensors = tuple(replace(s, wrench=w) for s, w in zip(inputs.sensors, true, strict=True))
        return replace(inputs, sensors=sensors).on_clock(inputs.clock)

    def off(self) -> Iterator[Compensation]:
        """Each number off by its standard deviation, and by what a series of second order leaves."""
        if self.lag_std_s > 0:
            yield replace(self, lag_s=self.lag_s + float(np.hypot(self.lag_std_s, TRUNCATED * self.lag_s)))
        if self.square_std_s2 > 0:
            off = float(np.hypot(self.square_std_s2, TRUNCATED * self.square_s2))
            yield replace(self, square_s2=self.square_s2 + off)
        if self.softness_std > 0:
            yield replace(self, softness=self.softness + float(np.hypot(self.softness_std, TRUNCATED * self.softness)))

    def _true(self, times_s: FloatArray, measured: FloatArray, band_hz: float) -> FloatArray:
        rate = rate_hz(times_s)
        first = np.gradient(measured, 1 / rate, axis=0)
        added = self.lag_s * first + self.square_s2 * np.gradient(first, 1 / rate, axis=0)
        if band_hz < 0.45 * rate:
            from scipy.signal import butter, sosfiltfilt

            added = sosfiltfilt(butter(4, band_hz, fs=rate, output="sos"), added, axis=0)
        return measured + added


def compensation(fit: Fit, before: Compensation) -> Compensation:
    """What is still to be taken out of the measurements of a fit, added to what was taken out before.

    A wrench that lags and a position that gives way look alike in a narrow band: one of them is taken, and kept.

    Of measured = true + c_1 true' + c_2 true'' the inverse to second order: a_1 = -c_1, a_2 = c_1^2 - c_2.
    """

    def effects(fit: Fit) -> Iterator[Effect]:
        if before.softness == 0:
            yield Effect("late", "", 0.0, late(fit))
        if before.lag_s == before.square_s2 == 0:
            yield from give(fit)

    tested = bench(fit).test(effects)
    if not tested:
        return before
    best, soft = tested[0], next((x for x in tested if x.effect.cause == "give"), None)
    if soft is not None and best is not soft and best.coefficients[1] < 0:
        best = soft  # a resonance of a position that is measured is that of something soft
    if best.effect.cause == "give":
        softness, std = before.softness + float(best.coefficients[0]), float(best.stds[0])
        return replace(before, softness=max(softness, 0.0), softness_std=std)
    (c_1, c_2), (s_1, s_2) = best.coefficients.tolist(), best.stds.tolist()
    # one after the other: the product of two polynomials, to second order
    square = before.square_s2 - c_1 * before.lag_s + c_1**2 - c_2
    return replace(before, lag_s=before.lag_s - c_1, square_s2=square, lag_std_s=s_1, square_std_s2=s_2)
