"""Whether an IMU can be right: gravity has a known size, and it turns as the gyroscope says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from math import log, pi, sqrt

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.gyro_scale import check_gyro_scale, gyro_scale
from palpate.physics.arrays import FloatArray
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording.gates import Finding

_RATE_HZ = 25.0
"""Enough for a hand's turning; faster signals are averaged down to it."""
_SLOWEST_HZ = 10.0
_CALM_S, _CALM_SHARE, _CALM_WINDOWS = 0.5, 0.1, 8
_GRAVITY_WARNING, _GRAVITY_FATAL = 0.02, 0.10
_STRETCH_S, _WINDOW_S = 5.0, 1.0
_MOST_STRETCHES = 40
_TURNING = 0.2
"""Standard deviation of gravity's direction (rad) in a stretch that turns enough to judge by."""
_PUSHING = 0.25
"""Largest ratio of the variation in size to that in direction of such a stretch."""
_FLOOR = 0.02
"""Deviations (as a fraction of gravity) below this are all equally good."""
_CLEARLY = 1 / 4
"""Ratio of squared deviations from which one reading of the gyroscope is clearly better than another: half as far
off.
"""
_EXPLAINED = 1 / 16
"""Share of the turning's mean square that may be left over in a stretch before other readings are tried."""
_FEWEST = 2
"""Stretches that have to speak against the gyroscope as stored."""
_FASTEST = 3.0
"""rad/s; a reading that spins faster for whole windows would make any force vanish from their means."""
_DEGREE = pi / 180
_UNITS = (1.0, _DEGREE, 1 / _DEGREE)
_CONFIRMED, _REACH_M = 0.02, 0.3
"""Standard deviation of a scale that the IMU's path confirms, and how far (RMS) such a path may go."""
_SCALES = np.geomspace(1 / 16, 16, 17)
_AXES = "xyz"


def check_imu(times_s: FloatArray, acceleration: FloatArray, angular_rate: FloatArray) -> tuple[Finding, ...]:
    """Check units, signs and axes of an IMU against gravity, with nothing but its own signals.

    times_s (n,), even, s; acceleration: specific force (n, 3), m/s2; angular_rate (n, 3), rad/s; both in the IMU's own
    axes, NaN where nothing was seen. What the motion cannot tell is not reported.
    """
    if acceleration.shape != (len(times_s), 3) or angular_rate.shape != (len(times_s), 3):
        raise DataProblem(
            "IMU", f"shapes {acceleration.shape} and {angular_rate.shape} do not fit {len(times_s)} times, (n, 3) does"
        )
    rate_hz = (len(times_s) - 1) / float(times_s[-1] - times_s[0]) if len(times_s) > 1 else 0.0
    if rate_hz < _SLOWEST_HZ:
        return ()
    thin = max(1, round(rate_hz / _RATE_HZ))
    a, omega, rate_hz = _averaged(acceleration, thin), _averaged(angular_rate, thin), rate_hz / thin
    gravity = _calm_level(a, rate_hz)
    if gravity is None:
        return ()
    findings = _check_gravity(gravity)
    if gravity.level < 0.03 * STANDARD_GRAVITY:
        return tuple(findings)
    turning = _turning(times_s[::thin], a / gravity.level, omega, rate_hz)
    whole = _Whole(acceleration * (STANDARD_GRAVITY / gravity.level), angular_rate, rate_hz * thin)
    findings += _check_gyroscope(turning, whole) if len(turning.a) >= _FEWEST else []
    if any(finding.gate.startswith("gyro") for finding in findings):
        return tuple(findings)
    return (*findings, *check_gyro_scale(whole.a, whole.omega, whole.rate_hz))


# Gravity


@dataclass(frozen=True, slots=True)
class _Level:
    """Size of the specific force in the calmest parts, m/s2, and by what fraction motion may have changed it there."""

    level: float
    margin: float


def _calm_level(a: FloatArray, rate_hz: float) -> _Level | None:
    """The median over the calmest tenth of all half seconds, eight at least; None where there are fewer than four.

    Shaking makes the mean of the norm too large and turning makes the norm of the mean too small, so the two
    bracket gravity; slow acceleration scatters both. Half their distance and twice the scatter are the margin, at least
    half of what the size varies by inside a window.
    """
    windows = _cut(a, max(1, round(_CALM_S * rate_hz)))
    windows = windows[np.isfinite(windows).all(axis=(1, 2))]
    if len(windows) < 4:
        return None
    unrest = windows.var(axis=1).sum(axis=1)
    calm = windows[np.argsort(unrest)[: max(_CALM_WINDOWS, round(_CALM_SHARE * len(windows)))]]
    sizes = np.linalg.norm(calm, axis=2)
    high, low = sizes.mean(axis=1), np.linalg.norm(calm.mean(axis=1), axis=1)
    middle = (high + low) / 2
    level = float(np.median(middle))
    margin = float(np.median(high - low)) / 2 + 2 * 1.4826 * float(np.median(np.abs(middle - level)))
    margin = max(margin, 0.5 * float(np.median(sizes.std(axis=1))))  # eight windows of shaking may agree by chance
    return _Level(level, margin / level if level > 0 else 0.0)


def _check_gravity(gravity: _Level) -> list[Finding]:
    factor = gravity.level / STANDARD_GRAVITY
    off = abs(factor - 1) - gravity.margin
    if off <= _GRAVITY_WARNING:
        return []
    seen = f"the accelerometer reads {gravity.level:.4g} m/s2 in calm parts where gravity is {STANDARD_GRAVITY:.4g}"
    if factor < 0.03:
        reason = "gravity has been removed; record the specific force as the sensor measures it"
    elif abs(factor * STANDARD_GRAVITY - 1) < 0.1:
        reason = "it looks like g, not m/s2; state its unit as gn"
    elif abs(factor / STANDARD_GRAVITY - 1) < 0.1:
        reason = "it looks converted from g to m/s2 twice; state its unit as m/s2"
    else:
        reason = f"its scale is off by a factor of {factor:.3g}; check its unit, range and calibration"
    return [Finding("gravity", off > _GRAVITY_FATAL, f"{seen}: {reason}")]


# Gyroscope against accelerometer


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """The whole recording: specific force (n, 3) scaled so that gravity has its size, and rates (n, 3) as stored."""

    a: FloatArray
    omega: FloatArray
    rate_hz: float

    def confirms(self, reading: _Reading) -> bool:
        """Whether the path of the IMU speaks for a scale: pushing to and fro can look like turning by too little."""
        found = gyro_scale(self.a, self.omega @ reading.matrix.T, self.rate_hz)
        if found is None or found.path_m > _REACH_M:
            return False
        return found.std < _CONFIRMED and abs(found.error) < 3 * _CONFIRMED


@dataclass(frozen=True, slots=True, eq=False)
class _Turning:
    """The stretches in which gravity turns enough: (stretches, samples, 3), specific force as a fraction of gravity."""

    start_s: FloatArray
    a: FloatArray
    omega: FloatArray
    rate_hz: float
    mean_rate: float
    """Root mean square over all windows of the mean rate as stored."""
    unturned: FloatArray
    """(stretches,): deviations as from `_deviations`, for a gyroscope that reads nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """How to read the gyroscope: true rate = scale * axes @ stored rate, with axes a signed permutation."""

    axes: FloatArray
    scale: float

    @property
    def matrix(self) -> FloatArray:
        return self.scale * self.axes

    @property
    def changes(self) -> float:
        """How much has to have gone wrong: exchanged and flipped axes, and an odd scale."""
        return _changes(self.axes) + (self.scale != 1.0)


def _check_gyroscope(turning: _Turning, whole: _Whole) -> list[Finding]:
    """Find the reading of the gyroscope under which gravity stands still in the world, if it is not the stored one."""
    plain = _Reading(np.eye(3), 1.0)
    as_stored = _deviations(turning, [plain])[0]
    if np.count_nonzero(as_stored > _EXPLAINED * turning.unturned) < _FEWEST:
        return []
    units = [_Reading(axes, scale) for scale in _UNITS for axes in _signed_permutations()]
    odd = [_Reading(np.eye(3), float(scale)) for scale in _SCALES]
    possible = [reading for reading in (*units, *odd) if reading.scale * turning.mean_rate < _FASTEST]
    if not possible:
        return []
    best = _refined(turning, _best(turning, possible))
    found = _deviations(turning, [best])[0]
    wins = _votes(found, as_stored, turning.unturned)
    losses = _votes(as_stored, found, turning.unturned)
    if wins < max(_FEWEST, len(turning.a) / 3) or wins <= 4 * losses:
        return []
    if best.scale not in _UNITS and not whole.confirms(best):
        return []
    at = float(turning.start_s[int(np.argmax(as_stored - found))])
    where = f"in {wins} of {len(turning.a)} stretches of {_STRETCH_S:g} s that turn (most from {at:.1f} s)"
    return [*_wrong_scale(best.scale, where), *_wrong_axes(best.axes, where)]


def _best(turning: _Turning, readings: list[_Reading]) -> _Reading:
    """The simplest of the readings that explain the turning as well as any, the best one of equally simple ones.

    Several do where the motion is about one axis only; a difference of less than one clear stretch is none.
    """
    scores = _scores(_deviations(turning, readings))
    good = np.flatnonzero(scores < scores.min() - log(_CLEARLY))
    return readings[min(good, key=lambda i: (readings[i].changes, scores[i]))]


def _refined(turning: _Turning, reading: _Reading) -> _Reading:
    """The same axes with the scale that fits best; a scale of 1 was good enough and stays."""
    if reading.scale == 1.0:
        return reading
    near = [_Reading(reading.axes, reading.scale * float(f)) for f in np.geomspace(0.8, 1.25, 19)]
    return near[int(np.argmin(_scores(_deviations(turning, near))))]


def _scores(deviations: FloatArray) -> FloatArray:
    """(readings, stretches) -> (readings,): sum of logarithms, so that a stretch of violent motion counts but once."""
    return np.log(deviations + _FLOOR**2).sum(axis=1)


def _votes(better: FloatArray, worse: FloatArray, unturned: FloatArray) -> int:
    """In how many stretches the first reading explains the turning, and clearly better than the second."""
    clear = better + _FLOOR**2 < _CLEARLY * (np.minimum(worse, unturned) + _FLOOR**2)
    return int(np.count_nonzero(clear))


def _turning(times_s: FloatArray, a: FloatArray, omega: FloatArray, rate_hz: float) -> _Turning:
    """Cut into stretches and keep those that turn most.

    Gravity keeps its size when it turns; where the size varies much, the motion is a push rather than a turn.
    """
    windows, window = round(_STRETCH_S / _WINDOW_S), round(_WINDOW_S * rate_hz)
    both = _cut(np.hstack([a, omega]), windows * window)
    means = both[..., :3].reshape(len(both), windows, window, 3).mean(axis=2)
    unturned = _spread(means.transpose(1, 2, 0))
    most = np.argsort(-np.nan_to_num(unturned))[:_MOST_STRETCHES]
    sizes = np.linalg.norm(both[..., :3], axis=2).reshape(len(both), windows, window).mean(axis=2)
    turns = (unturned > _TURNING**2) & (sizes.var(axis=1) < _PUSHING**2 * unturned)  # false where there is NaN
    keep = np.sort(most[turns[most]])
    start = times_s[: len(both) * windows * window : windows * window]
    forces, rates = both[keep, :, :3], both[keep, :, 3:]
    mean_rate = sqrt(float((rates.reshape(-1, window, 3).mean(axis=1) ** 2).sum(axis=1).mean())) if len(keep) else 0.0
    return _Turning(start[keep], forces, rates, rate_hz, mean_rate, unturned[keep])


def _deviations(turning: _Turning, readings: list[_Reading]) -> FloatArray:
    """How far gravity strays in the world when the specific force is turned back by the gyroscope: (readings,
    stretches).

    With R' = R S(omega), R a = gravity + acceleration in the world. Its means over windows of a second hold only what
    the velocity has changed by, so they must stay where they are; the mean square of how far they do not is returned,
    in units of gravity squared.
    """
    stretches, samples, _ = turning.a.shape
    window = round(_WINDOW_S * turning.rate_hz)
    matrices = np.array([reading.matrix for reading in readings])
    half_steps = np.einsum("cij,bnj->incb", matrices, turning.omega) / (2 * turning.rate_hz)
    angle = np.sqrt((half_steps**2).sum(axis=0))
    steps = np.concatenate([np.cos(angle)[None], np.sinc(angle / pi) * half_steps])
    q = np.empty((samples, 4, len(readings), stretches))  # w, x, y, z
    q[0] = np.array([1.0, 0.0, 0.0, 0.0])[:, None, None]
    for k in range(samples - 1):
        q[k + 1] = _quaternion_product(q[k], steps[:, k])
    w, u = q[:, 0], q[:, 1:].transpose(1, 0, 2, 3)
    forces = turning.a.transpose(2, 1, 0)[:, :, None, :]
    forces = forces + _cross(half_steps, forces)  # a mean over a step belongs to the step's middle
    twice = 2 * _cross(u, forces)
    in_world = forces + w * twice + _cross(u, twice)
    means = in_world.reshape(3, samples // window, window, len(readings), stretches).mean(axis=2)
    return _spread(means.transpose(1, 0, 2, 3))


def _quaternion_product(p: FloatArray, q: FloatArray) -> FloatArray:
    """p q along the first axis, w x y z: turn by p, then in the turned frame by q."""
    (a, b, c, d), (e, f, g, h) = p, q
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def _spread(means: FloatArray) -> FloatArray:
    """Mean square distance of (windows, 3, ...) from their mean."""
    return ((means - means.mean(axis=0)) ** 2).sum(axis=1).mean(axis=0)


def _cross(u: FloatArray, v: FloatArray) -> FloatArray:
    """u x v along the first axis; np.cross takes several times as long."""
    return np.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])


# Words


def _wrong_scale(scale: float, where: str) -> list[Finding]:
    """true = scale * stored."""
    if abs(log(scale)) < log(1.1):
        return []
    if abs(log(scale / _DEGREE)) < log(1.2):
        reason = "it looks like deg/s taken for rad/s; state its unit as deg/s"
    elif abs(log(scale * _DEGREE)) < log(1.2):
        reason = "it looks like rad/s taken for deg/s; state its unit as rad/s"
    else:
        reason = "check its unit, range and calibration"
    message = f"the gyroscope's scale is off by a factor of {1 / scale:.3g} against gravity {where}: {reason}"
    return [Finding("gyro-scale", True, message)]


def _wrong_axes(axes: FloatArray, where: str) -> list[Finding]:
    """true = axes @ stored.

    With a = D a_stored, D orthogonal, da/dt = a x omega becomes da_stored/dt = a_stored x (det(D) D' omega): a wrong
    axis of the accelerometer looks like axes = det(D) D', which never mirrors. So D = -axes' explains it as well if
    axes do not.
    """
    if _changes(axes) == 0:
        return []
    if np.array_equal(axes, -np.eye(3)):
        message = (
            f"the gyroscope turns the wrong way against gravity {where}: one of the two is left-handed or has flipped "
            "signs; negate all three rates"
        )
        return [Finding("gyro-sign", True, message)]
    blamed = [("gyroscope", axes)]
    if np.linalg.det(axes) > 0:
        blamed.append(("accelerometer", -axes.T))
    blamed.sort(key=lambda item: _changes(item[1]))
    (device, first), others = blamed[0], blamed[1:]
    either = "".join(f", or the {name}'s x, y, z as {_as_read(matrix)}" for name, matrix in others)
    fault = "flipped" if np.all(np.diag(first) != 0) else "swapped"
    message = (
        f"the {device}'s axes look {fault} against gravity {where}: {_describe(first)}; read its x, y, z as "
        f"{_as_read(first)}{either}"
    )
    return [Finding("gyro-axes", True, message)]


def _describe(axes: FloatArray) -> str:
    """In words: "x and y exchanged, z flipped"."""
    source = np.argmax(np.abs(axes), axis=1)
    moved = [_AXES[i] for i in range(3) if source[i] != i]
    flipped = [_AXES[i] for i in range(3) if axes[i, source[i]] < 0]
    words = [f"{' and '.join(moved)} exchanged"] if len(moved) == 2 else ["all three in another order"] if moved else []
    return ", ".join([*words, *([f"{' and '.join(flipped)} flipped"] if flipped else [])])


def _as_read(axes: FloatArray) -> str:
    """The three components as they should be read: "y, x, -z"."""
    source = np.argmax(np.abs(axes), axis=1)
    return ", ".join(("-" if axes[i, j] < 0 else "") + _AXES[j] for i, j in enumerate(source))


def _changes(axes: FloatArray) -> int:
    """How many axes are in another place, plus how many are flipped."""
    return int(np.count_nonzero(np.diag(axes) == 0) + np.count_nonzero(axes < 0))


def _signed_permutations() -> list[FloatArray]:
    """All 48 ways to exchange and flip three axes."""
    rows = np.eye(3)
    return [
        rows[list(order)] * np.array(signs)[:, None]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]


def _averaged(x: FloatArray, count: int) -> FloatArray:
    """Means of `count` consecutive samples."""
    return x[: len(x) // count * count].reshape(-1, count, x.shape[1]).mean(axis=1)


def _cut(x: FloatArray, length: int) -> FloatArray:
    """(samples, k) -> (pieces, length, k) without the rest."""
    return x[: len(x) // length * length].reshape(-1, length, x.shape[1])
