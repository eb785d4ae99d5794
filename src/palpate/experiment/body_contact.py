"""Contact that nobody stated: near an end of its travel something pushes back that the model lacks."""

from __future__ import annotations

from math import radians

import numpy as np

from palpate.experiment.body_fit import BodyFit
from palpate.experiment.hinge_inputs import AT_STOP_RAD
from palpate.physics.arrays import FloatArray

BIN_RAD, FARTHEST_RAD = radians(0.5), radians(15.0)
WORSE = 4.0
"""RMS of the residual near an end, over that of the middle, from which it is contact."""
MUCH, MUCH_BETTER = 0.025, 0.5
"""Share of the torque's range, and of the other fit's RMS."""
DENT_RAD = radians(3.0)
"""A seal gives way by a degree or two."""
FEWEST = 5
MOST_TIMES = 4


def inner_stops(fit: BodyFit) -> tuple[float, float] | None:
    """Stops farther in, where the residual near an end of the travel stands far out of the rest; None: as they are."""
    angle, residual = _residuals(fit)
    if len(angle) < 200:
        return None
    low, high = float(angle.min()), float(angle.max())
    middle = (angle > low + 0.25 * (high - low)) & (angle < high - 0.25 * (high - low))
    if middle.sum() < 50:
        return None
    limit = WORSE * float(np.sqrt(np.mean(residual[middle] ** 2)))
    at_low, at_high = _reach(angle - low, residual, limit), _reach(high - angle, residual, limit)
    if at_low == 0 and at_high == 0:
        return None
    return low + at_low - AT_STOP_RAD, high - at_high + AT_STOP_RAD


def suspicious(fit: BodyFit) -> bool:
    """Whether a fit leaves so much that something strong may be missing in it."""
    left, measured = fit.residuals(fit.segments), fit.reference(fit.segments)
    return bool(len(left) and np.sqrt(np.mean(left**2)) > MUCH * np.ptp(measured))


def farther_in(fit: BodyFit) -> tuple[float, float]:
    """Stops (rad) a few degrees inside the ends of the travel."""
    angle = fit.inputs.angle[np.isfinite(fit.inputs.angle)]
    return float(angle.min()) + DENT_RAD, float(angle.max()) - DENT_RAD


def better(fit: BodyFit, other: BodyFit) -> BodyFit:
    """The other, between closer stops, if it explains what both have seen far better; else the first."""
    (angle, left), (there, less) = _residuals(fit), _residuals(other)
    low, high = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
    both = left[(angle >= low) & (angle <= high)]
    if len(less) < 200 or len(both) == 0:
        return fit
    return other if np.mean(less**2) < MUCH_BETTER**2 * np.mean(both**2) else fit


def _residuals(fit: BodyFit) -> tuple[FloatArray, FloatArray]:
    """Angle and residual of the used samples of the fit."""
    at = np.concatenate([np.arange(*fit.prediction.indices(s))[fit.used(s)] for s in fit.segments])
    return fit.inputs.angle[at], fit.residuals(fit.segments)


def _reach(away: FloatArray, residual: FloatArray, limit: float) -> float:
    """How far from an end (rad) bins of half a degree stand out without a break; 0: not at all."""
    reach = 0.0
    for i in range(1, round(FARTHEST_RAD / BIN_RAD)):
        outer = i * BIN_RAD
        inside = (away >= outer - BIN_RAD) & (away < outer)
        if inside.sum() < FEWEST:
            continue
        if float(np.sqrt(np.mean(residual[inside] ** 2))) < limit:
            break
        reach = outer
    return reach
