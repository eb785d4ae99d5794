"""Whether an IMU can be right: gravity has a known size, and it turns as the gyroscope says.

The scale of a gyroscope shows in the path of the IMU. Integrated twice, the specific force in the world is a parabola
(gravity, start) plus that path. A path stays within arm's reach, while the error of a wrong scale grows with time
squared, so shaking hardly disturbs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from math import log, pi, sqrt

import numpy as np

from palpate.findings import Finding, Severity
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import exp_rotation
from palpate.physics.student import t_quantile
from palpate.physics.units import STANDARD_GRAVITY

_SLOWEST_HZ = 10.0
_CALM_S, _CALM_SHARE, _CALM_WINDOWS = 0.5, 0.1, 8
_AT_REST, _FEWEST_AT_REST, _CALM_MARGIN, _SAME_GRAVITY = 0.1, 2, 0.005, 0.005
"""m/s2 within half a second, and how many such a rest needs; by how much its level may be off to count, and gravity may
differ from place to place."""
_GRAVITY_WARNING, _GRAVITY_FATAL = 0.02, 0.10
_STRETCH_S, _WINDOW_S = 5.0, 1.0
_TURNS_ENOUGH = 0.2
"""Standard deviation of gravity's direction (rad) in a stretch that turns enough to judge by."""
_PUSHES_LITTLE = 0.25
"""Largest ratio of the variation in size to that in direction of such a stretch."""
_DEVIATION_FLOOR = 0.02
"""Deviations (as a fraction of gravity) below this are all equally good."""
_CLEARLY_BETTER = 1 / 4
"""Ratio of squared deviations from which one reading of the gyroscope is clearly better: half as far off."""
_FEWEST_AGAINST = 2
"""Stretches that have to speak against the gyroscope as stored."""
_FASTEST = 3.0
"""rad/s; a reading that spins faster for whole windows would make any force vanish from their means."""
DEGREE = pi / 180
_UNITS = (1.0, DEGREE, 1 / DEGREE)
_CONFIRMED, _REACH_M = 0.02, 0.3
"""Standard deviation of a scale that the IMU's path confirms, and how far (RMS) such a path may go."""
_PATH_RATE_HZ, _PATH_SLOWEST_HZ = 50.0, 40.0
_PATH_STRETCH_S, _SHORTEST_S = 12.0, 6.0
"""Longer ones hold slower motion, against which a path says more, but also more of a drifting zero."""
_PATH_FEWEST, _PATH_MOST = 4, 40
"""Stretches; of more, those that turn most are taken."""
_INDEPENDENT_S = 1.5
"""Deviations of the path this far apart have nothing to do with each other."""
_TURNS_RAD = 0.1
"""RMS angle, beside a straight line, by which a stretch must turn for its scale to be known: far above noise's."""
_SCALE_STEPS, _SCALE_SETTLED = 8, 1e-4
_SCALE_WARNING, _SCALE_FATAL = (0.015, 4.0), (0.04, 5.0)
"""Error of a scale, and how many of its standard deviations."""
_EXPLAINS = 0.2
"""Share of the squares of the path that a scale must explain to be believed: else the path is no hand's."""
_VAGUEST_SCALE = 0.015
"""Standard deviation from which on nothing is said: such a path is no hand's."""

# What is unknown besides the three scales, with usual sizes (standard deviations): the gyroscope's cross axes (6) and
# zero (3, rad/s), the accelerometer's zero (3, m/s2), scales and cross axes (9), the delay between the two (1, s), a
# pivot about which a hand turns (3, m), and separate scales about axes about which gravity does not turn (3).
_USUAL = np.repeat([0.3, 0.01, 0.05, 0.2, 0.01, 0.005, 1.0, 0.3], [3, 6, 3, 3, 9, 1, 3, 3])
_ENTRIES = ([0, 1, 2, 0, 0, 1, 1, 2, 2], [0, 1, 2, 1, 2, 0, 2, 0, 1])
"""Entries of the gyroscope's matrix in the order of the unknowns."""
_CURVED = np.r_[0:12, 25:31]
"""The unknowns that are solved for in steps: the gyroscope's and the pivot."""


def check_imu(times_s: FloatArray, acceleration: FloatArray, angular_rate: FloatArray) -> tuple[Finding, ...]:
    """What `judge_imu` finds."""
    return judge_imu(times_s, acceleration, angular_rate)[0]


def judge_accelerometer(times_s: FloatArray, acceleration: FloatArray) -> tuple[tuple[Finding, ...], dict[str, float]]:
    """The same of an accelerometer alone (n, 3), m/s2, on what rests now and then: its size there is gravity's."""
    rate_hz = (len(times_s) - 1) / float(times_s[-1] - times_s[0]) if len(times_s) > 1 else 0.0
    calm = _calm_level(acceleration, rate_hz) if rate_hz >= _SLOWEST_HZ else None
    if calm is None:
        return (), {}
    findings, off = _check_gravity(*calm), _scale_off(*calm)
    for by in () if findings else off.values():
        evidence = f"reads {calm[0]:.4g} m/s2 in calm parts where gravity is {STANDARD_GRAVITY:.4g}"
        wrong = f"its scale may be off by {100 * by:.1f} %, which the intervals allow for"
        findings = [Finding("gravity", f"{evidence}: {wrong}", "accelerometer", "calibrate it")]
    return tuple(findings), off


def judge_imu(
    times_s: FloatArray, acceleration: FloatArray, angular_rate: FloatArray
) -> tuple[tuple[Finding, ...], dict[str, float]]:
    """Check units, signs and axes of an IMU against gravity, with nothing but its own signals.

    times_s (n,), even, s; acceleration: specific force (n, 3), m/s2; angular_rate (n, 3), rad/s; both in the IMU's own
    axes, NaN where nothing was seen. What the motion cannot tell is not reported. Also by what share the scales of both
    are surely off: "accelerometer_scale", "gyroscope_scale".
    """
    rate_hz = (len(times_s) - 1) / float(times_s[-1] - times_s[0]) if len(times_s) > 1 else 0.0
    if rate_hz < _SLOWEST_HZ:
        return (), {}
    thin = max(1, round(rate_hz / 25.0))  # enough for a hand's turning; faster signals are averaged
    a, omega = (_thinned(x, thin) for x in (acceleration, angular_rate))
    path = max(1, int(rate_hz / _PATH_RATE_HZ))  # what `gyro_scale` looks at
    acceleration, angular_rate = (_thinned(x, path) for x in (acceleration, angular_rate))
    path_hz, rate_hz = rate_hz / path, rate_hz / thin
    calm = _calm_level(a, rate_hz)
    if calm is None:
        return (), {}
    level, findings = calm[0], _check_gravity(*calm)
    if level < 0.03 * STANDARD_GRAVITY:
        return tuple(findings), {}
    turning = _turning(times_s[::thin], a / level, omega, rate_hz)

    def path_scale(matrix: FloatArray) -> GyroScale | None:
        """What the path says of the scale of all rates, read by a matrix; gravity has its size."""
        return gyro_scale(acceleration * (STANDARD_GRAVITY / level), angular_rate @ matrix.T, path_hz)

    off = _scale_off(*calm)
    gyroscope = _check_gyroscope(turning, path_scale) if len(turning.a) >= _FEWEST_AGAINST else []
    scale = None if gyroscope else path_scale(np.eye(3))
    surely = np.inf if scale is None else max(_SCALE_WARNING[1] * scale.std, _SAME_GRAVITY)
    if scale is not None and scale.explains > _EXPLAINS and abs(scale.error) > surely:
        off["gyroscope_scale"] = abs(scale.error)
    return (*findings, *gyroscope, *_check_gyro_scale(scale)), off


def _scale_off(level: float, margin: float) -> dict[str, float]:
    """By what share the accelerometer is surely off."""
    by = abs(level / STANDARD_GRAVITY - 1)
    return {"accelerometer_scale": by} if margin < _CALM_MARGIN and by > _SAME_GRAVITY else {}


def _calm_level(a: FloatArray, rate_hz: float) -> tuple[float, float] | None:
    """Size of the specific force in the calmest parts, m/s2, and by what fraction motion may have changed it there.

    The median over all half seconds at rest, or else over the calmest tenth, eight at least; None where there are fewer
    than four.
    Shaking makes the mean of the norm too large and turning makes the norm of the mean too small, so the two
    bracket gravity; slow acceleration scatters both. Half their distance and twice the scatter are the margin, at least
    half of what the size varies by inside a window.
    """
    windows = _cut(a, max(1, round(_CALM_S * rate_hz)))
    windows = windows[np.isfinite(windows).all(axis=(1, 2))]
    if len(windows) < 4:
        return None
    unrest = windows.var(axis=1).sum(axis=1)
    count = int((unrest < _AT_REST**2).sum())
    if count < _FEWEST_AT_REST:
        count = max(_CALM_WINDOWS, round(_CALM_SHARE * len(windows)))
    calm = windows[np.argsort(unrest)[:count]]
    sizes = np.linalg.norm(calm, axis=2)
    high, low = sizes.mean(axis=1), np.linalg.norm(calm.mean(axis=1), axis=1)
    middle = (high + low) / 2
    level = float(np.median(middle))
    margin = float(np.median(high - low)) / 2 + 2 * 1.4826 * float(np.median(np.abs(middle - level)))
    margin = max(margin, 0.5 * float(np.median(sizes.std(axis=1))))  # eight windows of shaking may agree by chance
    return level, margin / level if level > 0 else 0.0


def _check_gravity(level: float, margin: float) -> list[Finding]:
    factor = level / STANDARD_GRAVITY
    off = abs(factor - 1) - margin
    if off <= _GRAVITY_WARNING:
        return []
    if factor < 0.03:
        reason, remedy = "gravity has been removed", "record the specific force as the sensor measures it"
    elif abs(factor * STANDARD_GRAVITY - 1) < 0.1:
        reason, remedy = "it looks like g, not m/s2", "state its unit as gn"
    elif abs(factor / STANDARD_GRAVITY - 1) < 0.1:
        reason, remedy = "it looks converted from g to m/s2 twice", "state its unit as m/s2"
    else:
        reason, remedy = f"its scale is off by a factor of {factor:.3g}", "check its unit, range and calibration"
    evidence = f"reads {level:.4g} m/s2 in calm parts where gravity is {STANDARD_GRAVITY:.4g}: {reason}"
    severity = Severity.FATAL if off > _GRAVITY_FATAL else Severity.WARNING
    return [Finding("gravity", evidence, "accelerometer", remedy, severity)]


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


def _check_gyroscope(turning: _Turning, path_scale: Callable[[FloatArray], GyroScale | None]) -> list[Finding]:
    """Find the reading of the gyroscope under which gravity stands still in the world, if it is not the stored one.

    true rate = scale * axes @ stored rate, with axes a signed permutation. Of the readings that explain the turning as
    well as any, the simplest, and the best one of equally simple ones: several do where the motion is about one axis
    only, and a difference of less than one clear stretch is none.
    """
    as_stored = _deviations(turning, np.eye(3))
    if np.count_nonzero(as_stored > 1 / 16 * turning.unturned) < _FEWEST_AGAINST:  # all is explained
        return []
    readings = [(scale, axes) for scale in _UNITS for axes in signed_permutations()]
    readings += [(float(scale), np.eye(3)) for scale in np.geomspace(1 / 16, 16, 17)]
    readings = [(scale, axes) for scale, axes in readings if scale * turning.mean_rate < _FASTEST]
    if not readings:
        return []
    scores = [_score(turning, scale * axes) for scale, axes in readings]
    good = [i for i, score in enumerate(scores) if score < min(scores) - log(_CLEARLY_BETTER)]
    changes = [axes_changed(axes) + (scale != 1.0) for scale, axes in readings]
    scale, axes = readings[min(good, key=lambda i: (changes[i], scores[i]))]
    if scale != 1.0:  # one was good enough and stays
        scale = min((scale * np.geomspace(0.8, 1.25, 19)).tolist(), key=lambda near: _score(turning, near * axes))
    as_read = _deviations(turning, scale * axes)
    floor = _DEVIATION_FLOOR**2
    wins, losses = (  # stretches in which one explains the turning, and clearly better than the other
        int(np.count_nonzero(better + floor < _CLEARLY_BETTER * (np.minimum(worse, turning.unturned) + floor)))
        for better, worse in ((as_read, as_stored), (as_stored, as_read))
    )
    if wins < max(_FEWEST_AGAINST, len(turning.a) / 3) or wins <= 4 * losses:
        return []
    if scale not in _UNITS:  # pushing to and fro can look like turning by too little: the path must say the same
        path = path_scale(scale * axes)
        if path is None or path.path_m > _REACH_M or path.std >= _CONFIRMED or abs(path.error) >= 3 * _CONFIRMED:
            return []
    at = float(turning.start_s[int(np.argmax(as_stored - as_read))])
    where = f"in {wins} of {len(turning.a)} stretches of {_STRETCH_S:g} s that turn (most from {at:.1f} s)"
    return [*_wrong_scale(scale, where), *_wrong_axes(axes, where)]


def _score(turning: _Turning, matrix: FloatArray) -> float:
    """How badly a reading fits: a sum of logarithms, so that a stretch of violent motion counts but once."""
    return float(np.log(_deviations(turning, matrix) + _DEVIATION_FLOOR**2).sum())


def _turning(times_s: FloatArray, a: FloatArray, omega: FloatArray, rate_hz: float) -> _Turning:
    """Cut into stretches and keep those that turn most.

    Gravity keeps its size when it turns; where the size varies much, the motion is a push rather than a turn.
    """
    windows, window = round(_STRETCH_S / _WINDOW_S), round(_WINDOW_S * rate_hz)
    both = _cut(np.hstack([a, omega]), windows * window)
    means = both[..., :3].reshape(len(both), windows, window, 3).mean(axis=2)
    unturned = _spread(means)
    most = np.argsort(-np.nan_to_num(unturned))[:40]
    sizes = np.linalg.norm(both[..., :3], axis=2).reshape(len(both), windows, window).mean(axis=2)
    # false where there is NaN
    turns = (unturned > _TURNS_ENOUGH**2) & (sizes.var(axis=1) < _PUSHES_LITTLE**2 * unturned)
    keep = np.sort(most[turns[most]])
    start = times_s[: len(both) * windows * window : windows * window]
    forces, rates = both[keep, :, :3], both[keep, :, 3:]
    mean_rate = sqrt(float((rates.reshape(-1, window, 3).mean(axis=1) ** 2).sum(axis=1).mean())) if len(keep) else 0.0
    return _Turning(start[keep], forces, rates, rate_hz, mean_rate, unturned[keep])


def _deviations(turning: _Turning, matrix: FloatArray) -> FloatArray:
    """How far gravity strays in the world when the specific force is turned back by the gyroscope, read by a matrix.

    With R' = R S(omega), R a = gravity + acceleration in the world. Its means over windows of a second hold only what
    the velocity has changed by, so they must stay where they are; the mean square of how far they do not is returned,
    (stretches,), in units of gravity squared.
    """
    half_steps = turning.omega @ matrix.T / (2 * turning.rate_hz)
    forces = turning.a + np.cross(half_steps, turning.a, axis=2)  # a mean over a step belongs to the step's middle
    in_world = (_rotations(2 * half_steps[:, :-1]) @ forces[..., None])[..., 0]
    stretches, samples, _ = in_world.shape
    window = round(_WINDOW_S * turning.rate_hz)
    return _spread(in_world.reshape(stretches, samples // window, window, 3).mean(axis=2))


def _rotations(steps: FloatArray) -> FloatArray:
    """R (stretches, samples + 1, 3, 3) after each of the rotation vectors (stretches, samples, 3), from R = 1 on."""
    s, n, _ = steps.shape
    turns, R = exp_rotation(steps), np.empty((s, n + 1, 3, 3))
    R[:, 0] = np.eye(3)
    for k in range(n):
        R[:, k + 1] = R[:, k] @ turns[:, k]
    return R


def _spread(means: FloatArray) -> FloatArray:
    """Mean square distance of (stretches, windows, 3) from each stretch's mean."""
    return ((means - means.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1)


def _wrong_scale(scale: float, where: str) -> list[Finding]:
    """true = scale * stored."""
    if abs(log(scale)) < log(1.1):
        return []
    evidence = f"its scale is off by a factor of {1 / scale:.3g} against gravity {where}"
    remedy = "check its unit, range and calibration"
    if abs(log(scale / DEGREE)) < log(1.2):
        evidence, remedy = f"{evidence}: it looks like deg/s taken for rad/s", "state its unit as deg/s"
    elif abs(log(scale * DEGREE)) < log(1.2):
        evidence, remedy = f"{evidence}: it looks like rad/s taken for deg/s", "state its unit as rad/s"
    return [Finding("gyro-scale", evidence, "gyroscope", remedy, Severity.FATAL)]


def _wrong_axes(axes: FloatArray, where: str) -> list[Finding]:
    """true = axes @ stored.

    With a = D a_stored, D orthogonal, da/dt = a x omega becomes da_stored/dt = a_stored x (det(D) D' omega): a wrong
    axis of the accelerometer looks like axes = det(D) D', which never mirrors. So D = -axes' explains it as well if
    axes do not.
    """
    if axes_changed(axes) == 0:
        return []
    if np.array_equal(axes, -np.eye(3)):
        evidence = f"turns the wrong way against gravity {where}: one of the two is left-handed or has flipped signs"
        return [Finding("gyro-sign", evidence, "gyroscope", "negate all three rates", Severity.FATAL)]
    blamed = [("gyroscope", axes)]
    if np.linalg.det(axes) > 0:
        blamed.append(("accelerometer", -axes.T))
    blamed.sort(key=lambda item: axes_changed(item[1]))
    (device, first), others = blamed[0], blamed[1:]
    either = "".join(f", or the {name}'s x, y, z as {axes_as_read(matrix)}" for name, matrix in others)
    fault = "flipped" if np.all(np.diag(first) != 0) else "swapped"
    evidence = f"its axes look {fault} against gravity {where}: {axes_in_words(first)}"
    return [
        Finding("gyro-axes", evidence, device, f"read its x, y, z as {axes_as_read(first)}{either}", Severity.FATAL)
    ]


def axes_in_words(axes: FloatArray) -> str:
    """In words: "x and y exchanged, z flipped"."""
    source = np.argmax(np.abs(axes), axis=1)
    moved = ["xyz"[i] for i in range(3) if source[i] != i]
    flipped = ["xyz"[i] for i in range(3) if axes[i, source[i]] < 0]
    words = [f"{' and '.join(moved)} exchanged"] if len(moved) == 2 else ["all three in another order"] if moved else []
    return ", ".join([*words, *([f"{' and '.join(flipped)} flipped"] if flipped else [])])


def axes_as_read(axes: FloatArray) -> str:
    """The three components as they should be read: "y, x, -z"."""
    source = np.argmax(np.abs(axes), axis=1)
    return ", ".join(("-" if axes[i, j] < 0 else "") + "xyz"[j] for i, j in enumerate(source))


def axes_changed(axes: FloatArray) -> int:
    """How many axes are in another place, plus how many are flipped."""
    return int(np.count_nonzero(np.diag(axes) == 0) + np.count_nonzero(axes < 0))


def signed_permutations() -> list[FloatArray]:
    """All 48 ways to exchange and flip three axes."""
    pairs = product(permutations(np.eye(3)), product((1.0, -1.0), repeat=3))
    return [np.array(rows) * np.array(signs)[:, None] for rows, signs in pairs]


def _thinned(x: FloatArray, samples: int) -> FloatArray:
    """Means of so many samples each, of (n, channels)."""
    if samples == 1:
        return x
    count, weights = len(x) // samples, np.full(samples, 1 / samples)
    return np.stack([column[: count * samples].reshape(count, samples) @ weights for column in x.T], axis=1)


def _cut(x: FloatArray, length: int) -> FloatArray:
    """(samples, k) -> (pieces, length, k) without the rest."""
    return x[: len(x) // length * length].reshape(-1, length, x.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class GyroScale:
    """Stored rate = (1 + error) * true rate."""

    error: float
    """Of all axes together."""
    std: float
    errors: FloatArray
    """(3,), of each axis."""
    stds: FloatArray
    explains: float
    """Share of the squares of the path (without scales) that the scales explain."""
    path_m: float
    """RMS of the path that is left over."""
    stretches: int
    stretch_s: float


def _check_gyro_scale(scale: GyroScale | None) -> tuple[Finding, ...]:
    """Warn of a scale that gravity contradicts; silent where it cannot tell."""
    if scale is None or scale.explains < _EXPLAINS or abs(scale.error) > 0.25:  # that is no matter of scale
        return ()
    errors = [(scale.error, scale.std, "")]
    errors += [(float(e), float(s), f" about {n}") for e, s, n in zip(scale.errors, scale.stds, "xyz", strict=True)]
    for severity, least, stds in ((Severity.FATAL, *_SCALE_FATAL), (Severity.WARNING, *_SCALE_WARNING)):
        for error, std, axis in errors:
            if std < _VAGUEST_SCALE and abs(error) > max(least, stds * std):
                evidence = (
                    f"its scale{axis} is off by {100 * error:+.1f} % (+- {200 * std:.1f} %) against gravity in "
                    f"{scale.stretches} stretches of {scale.stretch_s:.3g} s: inertias are wrong by up to twice as much"
                )
                return (Finding("gyro-scale", evidence, "gyroscope", "calibrate it or check its range", severity),)
    return ()


def gyro_scale(a: FloatArray, omega: FloatArray, rate_hz: float) -> GyroScale | None:
    """Estimate the scale of angular rates omega (n, 3), rad/s, from the specific force a (n, 3), m/s2, at an even rate.

    NaN where nothing was seen. None where there are too few stretches or gravity does not turn. Least squares on the
    path of the IMU with all other usual errors of both instruments as unknowns; the standard deviation is the larger
    one of theory and of a jackknife over stretches. Nothing is learnt about axes that gravity hardly turns about.
    """
    thin = max(1, int(rate_hz / _PATH_RATE_HZ))
    rate_hz = rate_hz / thin
    whole = _thinned(np.hstack([a, omega]), thin)
    stretch_s = min(_PATH_STRETCH_S, len(whole) / rate_hz / _PATH_FEWEST)
    if stretch_s < _SHORTEST_S or rate_hz < _PATH_SLOWEST_HZ:
        return None
    both = _cut(whole, int(stretch_s * rate_hz))
    both = both[np.isfinite(both).all(axis=(1, 2))]
    if len(both) < _PATH_FEWEST:
        return None
    both = both[np.sort(np.argsort(-both[:, :, :3].var(axis=1).sum(axis=1))[:_PATH_MOST])]
    motion = _motion(both[:, :, :3], both[:, :, 3:], rate_hz)
    if motion is None:
        return None
    done = np.zeros(len(_USUAL))
    fit = _Fit(done, np.diag(_USUAL**2), np.ones(len(both)), 0.0)
    for _ in range(_SCALE_STEPS):
        fit = _solve(*_equations(motion, done, rate_hz), rate_hz, done, fit.rms)
        done[_CURVED] += fit.p[_CURVED]
        if np.abs(motion.errors(done)).max() > 0.7:  # astray
            return None
        if np.abs(fit.p[:3]).max() < _SCALE_SETTLED:
            break
    stored = np.where(np.arange(len(done)) < 3, 0.0, done)  # with all other errors as estimated
    Z, y = _equations(motion, stored, rate_hz)
    Z[:, :, :3] = 0.0
    without = _solve(Z, y, rate_hz, stored, fit.rms).squares
    few = t_quantile(len(both) - 1) / 1.96
    errors, slope = -done[:3] / (1 + done[:3]), 1 / (1 + done[:3]) ** 2
    # no scale is known better: it holds what the equations leave out
    C = few**2 * fit.covariance[:3, :3] * slope[:, None] * slope + 0.002**2 * np.eye(3)
    weights = np.linalg.solve(C, np.ones(3))
    std = float(1 / np.sqrt(weights.sum()))
    explains = 1 - fit.squares / without if without > 0 else 0.0
    error, stds, path_m = float(weights @ errors) * std**2, np.sqrt(np.diag(C)), float(np.median(fit.rms))
    return GyroScale(error, std, errors, stds, explains, path_m, len(both), stretch_s)


@dataclass(frozen=True, slots=True, eq=False)
class _Motion:
    """Stretches (stretches, samples, 3) of specific force and stored rates, and what can be learnt from them."""

    forces: FloatArray
    rates: FloatArray
    turning: FloatArray
    """The part of the rates that is more than noise."""
    apart: FloatArray
    """(9, 3): a scale about each axis that turns without turning gravity, in the order of `_ENTRIES`.

    What its arcs tell of the scale, an accelerometer that is a little off tells as well: it must not count.
    """
    arm: FloatArray
    """(3, 3): projection on the directions in which a pivot's distance shows in more than noise."""

    def errors(self, done: FloatArray) -> FloatArray:
        """(3, 3): E with true rate = stored rate + E turning rate."""
        E = np.zeros((3, 3))
        E[_ENTRIES] = done[:9] + self.apart @ done[28:]
        return E


def _motion(forces: FloatArray, rates: FloatArray, rate_hz: float) -> _Motion | None:
    """None where gravity turns about no axis of the IMU."""
    R = _orientations(rates, rate_hz)
    up = (R @ forces[..., None]).mean(axis=1, keepdims=True)
    up = (R.swapaxes(2, 3) @ (up / np.linalg.norm(up, axis=2, keepdims=True)))[..., 0]
    axes = _turned_axes(rates, rate_hz)
    gravity_axes = _turned_axes(rates - up * (up * rates).sum(axis=2, keepdims=True), rate_hz)
    if gravity_axes.shape[1] == 0:
        return None
    U, size, _ = np.linalg.svd(axes - gravity_axes @ (gravity_axes.T @ axes), full_matrices=False)
    apart = np.zeros((9, 3))
    for k in np.flatnonzero(size > 0.5):  # to those about which gravity turns
        apart[:, k] = np.outer(U[:, k], U[:, k])[_ENTRIES]
    single = axes @ axes.T if axes.shape[1] == 1 else np.zeros((3, 3))
    return _Motion(forces, rates, rates @ axes @ axes.T, apart, np.eye(3) - single)


def _turned_axes(rates: FloatArray, rate_hz: float) -> FloatArray:
    """(3, 0 to 3) the axes about which these rates turn to and fro by more than noise."""
    angles = np.array([_integral(x, rate_hz) for x in rates])
    line = np.linalg.qr(np.vander(np.linspace(-1, 1, angles.shape[1]), 2))[0]
    angles = (angles - line @ (line.T @ angles)).reshape(-1, 3)
    squares, axes = np.linalg.eigh(angles.T @ angles / len(angles))
    return np.asarray(axes[:, squares > _TURNS_RAD**2], dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    p: FloatArray
    covariance: FloatArray
    rms: FloatArray
    """(stretches,), m: of the path that is left over."""
    squares: float
    """Weighted sum of its squares."""


def _solve(Z: FloatArray, y: FloatArray, rate_hz: float, done: FloatArray, scatter: FloatArray) -> _Fit:
    """Least squares with the usual errors as a prior about zero; stretches count by their scatter (m)."""
    weights = 1 / (scatter**2 * _INDEPENDENT_S * rate_hz)
    prior = 1 / _USUAL**2
    each = Z.swapaxes(1, 2) @ Z * weights[:, None, None]
    across = (Z.swapaxes(1, 2) @ y[:, :, None])[:, :, 0] * weights[:, None]
    H = np.asarray(each.sum(axis=0), dtype=float) + np.diag(prior)
    inverse = np.asarray(np.linalg.inv(H), dtype=float)
    p = inverse @ (across.sum(axis=0) - prior * done)
    left, scores = y - Z @ p, across - each @ p
    # by how much p changes without each stretch: a few stretches fit themselves, so their residuals are too small
    changes = np.asarray(np.linalg.solve(H - each, scores[:, :, None]), dtype=float)[:, :, 0]
    jackknife = changes.T @ changes * ((len(y) - 1) / len(y)) + (inverse * prior) @ inverse
    larger = np.maximum(np.sqrt(np.diag(jackknife) / np.diag(inverse)), 1.0)
    rms = np.sqrt(np.mean(left**2, axis=1))
    rms = np.maximum(rms, 0.3 * np.median(rms))  # a still stretch knows no more than its share
    return _Fit(p, inverse * larger[:, None] * larger, rms, float(weights @ (left**2).sum(axis=1)))


def _equations(motion: _Motion, done: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Columns (stretches, 3 samples, unknowns) and path about the pivot (stretches, 3 samples), m, without parabolas.

    With R' = R S(omega) and a small error phi of R in the world, R a = gravity + path'' - phi x R a; phi' = R d omega.
    """
    forces, turning = motion.forces, motion.turning
    s, n, _ = forces.shape
    R = _orientations(motion.rates + turning @ motion.errors(done).T + done[9:12], rate_hz)
    slope = np.gradient(forces, 1 / rate_hz, axis=1)
    parabola = np.linalg.qr(np.vander(np.linspace(-1, 1, n), 3))[0]
    columns = np.empty((s, n, 3, len(done) + 1))  # the path first
    for i in range(s):  # one at a time stays near the processor
        paths = columns[i]
        _fill(paths[..., :29], motion.arm, done[25:28], rate_hz, R[i], forces[i], turning[i], slope[i])
        paths[..., 29:] = paths[..., 1:10] @ motion.apart
        flat = paths.reshape(n, -1)
        flat -= parabola @ (parabola.T @ flat)
    columns = columns.reshape(s, 3 * n, -1)
    return columns[..., 1:], columns[..., 0]


def _fill(
    paths: FloatArray,
    arm: FloatArray,
    pivot: FloatArray,
    rate_hz: float,
    R: FloatArray,
    force: FloatArray,
    turning: FloatArray,
    slope: FloatArray,
) -> None:
    """The path of a stretch and its columns (samples, 3, 29), of all unknowns but scales about single axes."""
    phi = _integral(np.concatenate([R[..., _ENTRIES[0]] * turning[:, None, _ENTRIES[1]], R], axis=2), rate_hz)
    f, late = (R @ x[..., None] for x in (force, slope))
    scales = (R[..., None] * force[:, None, None, :]).reshape(len(R), 3, 9)
    in_world = np.concatenate([f, _across(f, phi), R, scales, late], axis=2)
    paths[..., :26] = _integral(_integral(in_world, rate_hz), rate_hz)
    paths[..., 26:] = R @ arm
    arc = R @ arm @ pivot[:, None]
    paths[..., :1] -= arc
    paths[..., 1:13] -= _across(arc, phi)  # an error of R turns the pivot's arc, too


def _across(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b along the second axis of (samples, 3, columns)."""
    (a0, a1, a2), (b0, b1, b2) = a.swapaxes(0, 1), b.swapaxes(0, 1)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=1)


def _orientations(rates: FloatArray, rate_hz: float) -> FloatArray:
    """R (stretches, samples, 3, 3) with R' = R S(omega), R = 1 at the start.

    Cubic interpolation of the rates, and the first term of coning (Bortz 1971).
    """
    ends = 2 * rates[:, [0, -1]] - rates[:, [1, -2]]
    w = np.concatenate([ends[:, :1], rates, ends[:, 1:]], axis=1)
    steps = (13 * (w[:, 1:-2] + w[:, 2:-1]) - w[:, :-3] - w[:, 3:]) / (24 * rate_hz)
    return _rotations(steps + np.cross(w[:, 1:-2], w[:, 2:-1]) / (12 * rate_hz**2))


def _integral(x: FloatArray, rate_hz: float) -> FloatArray:
    """(samples, ...) over time, from zero."""
    total = np.zeros(x.shape)
    np.cumsum(x[1:] + x[:-1], axis=0, out=total[1:])
    total *= 0.5 / rate_hz
    return total
