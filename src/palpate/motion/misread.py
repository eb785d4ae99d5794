"""An IMU on a body that cameras see: whether its gyroscope was stored in another unit, or with other axes.

An upright hinge turns about gravity, so that the IMU alone cannot tell (`plausibility`). But cameras know which way the
body turns: read wrongly, the gyroscope asks for an IMU that stands on its head or leans, which then feels something
else than it shows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palpate.errors import DataProblem
from palpate.findings import Finding
from palpate.motion import offset
from palpate.motion.clock import ClockMap, resample
from palpate.motion.extrinsics import Placement
from palpate.motion.plausibility import DEGREE, axes_as_read, axes_changed, axes_in_words, signed_permutations
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses

CLEARLY = 0.2
"""What a reading leaves unexplained, over what the stored one does, to be the right one."""
ALIKE = 10.0
"""Readings that leave up to so many times what the best one leaves are as good: one axis of turning tells no more."""
UPSIDE_DOWN = 0.98
"""Cosine of the angle between z of the capture frame and the vertical of a reading to be believed."""

Place = Callable[[FloatArray], Placement]


def misread_gyroscope(
    poses: Poses, times_s: FloatArray, angular_rate: FloatArray, clock: ClockMap, place: Place, stored: Placement | None
) -> Finding | None:
    """The simplest other reading of a gyroscope under which the IMU feels what the body does; None: there is none.

    place: where the IMU sits with other rates (samples, 3); stored: with those as stored, None where they explain none.
    """
    scale = _scale(poses, times_s, angular_rate, clock)
    left, as_stored = 1.0, "contradicts the markers"
    if stored is not None and stored.tilt is not None:
        left = 1 - stored.explained
        as_stored = f"leaves {100 * left:.2g} % of what the IMU feels" if stored.tilt.up[2] > 0 else "turns up to down"
    readings = [axes for axes in signed_permutations() if scale != 1 or axes_changed(axes)]
    tried: list[tuple[float, FloatArray]] = []
    for axes in sorted(readings, key=axes_changed):
        if tried and axes_changed(axes) > axes_changed(tried[0][1]) and not np.array_equal(axes, -np.eye(3)):
            continue  # a simpler one will do
        try:
            found = place(scale * angular_rate @ axes.T)
        except DataProblem:
            continue
        upright = found.tilt is not None and found.tilt.up[2] > UPSIDE_DOWN
        if upright and 1 - found.explained < CLEARLY * left:
            tried.append((1 - found.explained, axes))
    if not tried:
        return None
    best = min(unexplained for unexplained, _ in tried)
    good = [axes for unexplained, axes in tried if unexplained <= ALIKE * best]
    better = f"as stored it {as_stored}, read otherwise it leaves {100 * best:.2g} %"
    if scale != 1.0:
        was, is_ = ("deg/s", "rad/s") if scale == DEGREE else ("rad/s", "deg/s")
        turned = "" if not axes_changed(good[0]) else f", and its axes are {axes_in_words(good[0])}"
        evidence = f"it looks like {was} taken for {is_}{turned}: {better}"
        return Finding("gyro-scale", f"{evidence}; the IMU is left out", "gyroscope", f"state its unit as {was}")
    words = " or ".join(dict.fromkeys(axes_in_words(axes) for axes in good))
    remedy = f"read its x, y, z as {' or '.join(axes_as_read(axes) for axes in good)}"
    return Finding("gyro-axes", f"its axes look wrong, {words}: {better}; the IMU is left out", "gyroscope", remedy)


def _scale(poses: Poses, times_s: FloatArray, angular_rate: FloatArray, clock: ClockMap) -> float:
    """One, or what makes the rates as large as those of the poses: degrees for radians or the other way round."""
    at, turning, half_s = offset.angular_velocity(poses)
    rate = resample(times_s, offset.window_mean(times_s, angular_rate, half_s), at, clock=clock)
    both = np.isfinite(rate).all(axis=1) & np.isfinite(turning).all(axis=1)
    sizes = [
        float(np.median(x) + np.percentile(x, 90)) for x in (np.linalg.norm(y[both], axis=1) for y in (turning, rate))
    ]
    ratio = np.log(max(sizes[0], 1e-12) / max(sizes[1], 1e-12))
    return min((1.0, DEGREE, 1 / DEGREE), key=lambda unit: abs(ratio - np.log(unit)))
