"""The scale of a gyroscope against gravity: turned by its rates, gravity must stay where it is.

Integrated twice, the specific force in the world is a parabola (gravity, start) plus the path of the IMU. A path stays
within arm's reach, while the error of a wrong scale grows with time squared, so shaking hardly disturbs it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.recording.gates import Finding

_RATE_HZ, _SLOWEST_HZ = 50.0, 40.0
_STRETCH_S, _SHORTEST_S = 12.0, 6.0
"""Longer ones hold slower motion, against which a path says more, but also more of a drifting zero."""
_FEWEST, _MOST = 4, 40
"""Stretches; of more, those that turn most are taken."""
_APART_S = 1.5
"""Deviations of the path this far apart have nothing to do with each other."""
_TURNS_RAD = 0.1
"""RMS angle, beside a straight line, by which a stretch turns about an axis whose scale can be told: the integrated
noise and drift of a gyroscope are far smaller, and a scale of noise alone "explains" what that noise has done.
"""
_APART = 0.5
"""Sine of the angle from the axes of which gravity tells, beyond which an axis is another one."""
_STEPS, _SETTLED = 8, 1e-4
_WARNING, _FATAL = 0.015, 0.04
_WARNING_STDS, _FATAL_STDS = 4.0, 5.0
_TOO_FAR = 0.7
"""An entry of the gyroscope's matrix that the search must not leave."""
_LARGEST = 0.25
"""Errors beyond this are no matter of scale."""
_EXPLAINS = 0.2
"""Share of the squares of the path that a scale must explain to be believed: else the path is no hand's."""
_VAGUE = 0.015
"""Standard deviation from which on nothing is said: such a path is no hand's."""
_FINEST = 0.002
"""No scale is known better than this: it holds what the equations leave out."""

# What is unknown besides the three scales, with usual sizes (standard deviations): the gyroscope's cross axes (6) and
# zero (3, rad/s), the accelerometer's zero (3, m/s2), scales and cross axes (9), the delay between the two (1, s), a
# pivot about which a hand turns (3, m), and scales of their own about axes of which gravity does not tell (3).
_USUAL = np.repeat([0.3, 0.01, 0.05, 0.2, 0.01, 0.005, 1.0, 0.3], [3, 6, 3, 3, 9, 1, 3, 3])
_ENTRIES = ([0, 1, 2, 0, 0, 1, 1, 2, 2], [0, 1, 2, 1, 2, 0, 2, 0, 1])
"""Entries of the gyroscope's matrix in the order of the unknowns."""
_CURVED = np.r_[0:12, 25:31]
"""The unknowns that are solved for in steps: the gyroscope's and the pivot."""


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


def check_gyro_scale(a: FloatArray, omega: FloatArray, rate_hz: float) -> tuple[Finding, ...]:
    """Warn of a scale that gravity contradicts; silent where it cannot tell. Arguments as for `gyro_scale`."""
    found = gyro_scale(a, omega, rate_hz)
    if found is None or found.explains < _EXPLAINS or abs(found.error) > _LARGEST:
        return ()
    said = [(found.error, found.std, "")]
    said += [(float(e), float(s), f" about {n}") for e, s, n in zip(found.errors, found.stds, "xyz", strict=True)]
    for fatal, least, stds in ((True, _FATAL, _FATAL_STDS), (False, _WARNING, _WARNING_STDS)):
        for error, std, axis in said:
            if std < _VAGUE and abs(error) > max(least, stds * std):
                message = (
                    f"the gyroscope's scale{axis} is off by {100 * error:+.1f} % (+- {200 * std:.1f} %) against "
                    f"gravity in {found.stretches} stretches of {found.stretch_s:.3g} s: calibrate it or check its "
                    "range; inertias are wrong by up to twice as much"
                )
                return (Finding("gyro-scale", fatal, message),)
    return ()


def gyro_scale(a: FloatArray, omega: FloatArray, rate_hz: float) -> GyroScale | None:
    """Estimate the scale of angular rates omega (n, 3), rad/s, from the specific force a (n, 3), m/s2, at an even rate.

    NaN where nothing was seen. None where there are too few stretches or gravity does not turn. Least squares on the
    path of the IMU with all other usual errors of both instruments as unknowns; the standard deviation is the larger
    one of theory and of a jackknife over stretches. Nothing is learnt about axes that gravity hardly turns about.
    """
    thin = max(1, int(rate_hz / _RATE_HZ))
    rate_hz = rate_hz / thin
    whole = _averaged(np.hstack([a, omega]), thin)
    stretch_s = min(_STRETCH_S, len(whole) / rate_hz / _FEWEST)
    if stretch_s < _SHORTEST_S or rate_hz < _SLOWEST_HZ:
        return None
    both = _cut(whole, int(stretch_s * rate_hz))
    both = both[np.isfinite(both).all(axis=(1, 2))]
    if len(both) < _FEWEST:
        return None
    both = both[np.sort(np.argsort(-both[:, :, :3].var(axis=1).sum(axis=1))[:_MOST])]
    forces, rates = both[:, :, :3], both[:, :, 3:]
    motion = _motion(forces, rates, rate_hz)
    if motion is None:
        return None
    fit, done = _Fit.none(len(both)), np.zeros(len(_USUAL))
    for _ in range(_STEPS):
        fit = _solve(*_equations(motion, done, rate_hz), rate_hz, done, fit)
        done[_CURVED] += fit.p[_CURVED]
        if np.abs(motion.errors(done)).max() > _TOO_FAR:
            return None
        if np.abs(fit.p[:3]).max() < _SETTLED:
            break
    stored = np.where(np.arange(len(done)) < 3, 0.0, done)  # with all other errors as found
    Z, y = _equations(motion, stored, rate_hz)
    Z[:, :, :3] = 0.0
    as_stored = _solve(Z, y, rate_hz, stored, fit)
    return _summary(fit, done[:3], as_stored.squares, len(both), stretch_s)


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
    told = _turned_axes(rates - up * (up * rates).sum(axis=2, keepdims=True), rate_hz)
    if told.shape[1] == 0:
        return None
    U, size, _ = np.linalg.svd(axes - told @ (told.T @ axes), full_matrices=False)
    apart = np.zeros((9, 3))
    for k in np.flatnonzero(size > _APART):
        apart[:, k] = np.outer(U[:, k], U[:, k])[_ENTRIES]
    single = axes @ axes.T if axes.shape[1] == 1 else np.zeros((3, 3))
    return _Motion(forces, rates, rates @ axes @ axes.T, apart, np.eye(3) - single)


def _turned_axes(rates: FloatArray, rate_hz: float) -> FloatArray:
    """(3, 0 to 3) the axes about which these rates turn to and fro by more than noise."""
    angles = _integral(rates, rate_hz)
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

    @staticmethod
    def none(stretches: int) -> _Fit:
        return _Fit(np.zeros(len(_USUAL)), np.diag(_USUAL**2), np.ones(stretches), 0.0)


def _solve(Z: FloatArray, y: FloatArray, rate_hz: float, done: FloatArray, before: _Fit) -> _Fit:
    """Least squares with the usual errors as a prior about zero; stretches count by their own scatter, `before`."""
    weights = 1 / (before.rms**2 * _APART_S * rate_hz)
    prior = 1 / _USUAL**2
    weighted = Z.swapaxes(1, 2) * weights[:, None, None]
    each = weighted @ Z
    H = np.asarray(each.sum(axis=0), dtype=float) + np.diag(prior)
    inverse = np.asarray(np.linalg.inv(H), dtype=float)
    p = inverse @ ((weighted @ y[:, :, None]).sum(axis=0)[:, 0] - prior * done)
    left = y - Z @ p
    scores = (weighted @ left[:, :, None])[:, :, 0]
    # by how much p changes without each stretch: a few stretches fit themselves, so their residuals are too small
    changes = np.asarray(np.linalg.solve(H - each, scores[:, :, None]), dtype=float)[:, :, 0]
    jackknife = changes.T @ changes * ((len(y) - 1) / len(y)) + (inverse * prior) @ inverse
    larger = np.maximum(np.sqrt(np.diag(jackknife) / np.diag(inverse)), 1.0)
    rms = np.sqrt(np.mean(left**2, axis=1))
    rms = np.maximum(rms, 0.3 * np.median(rms))  # a still stretch knows no more than its share
    return replace(
        before,
        p=p,
        covariance=inverse * larger[:, None] * larger,
        rms=rms,
        squares=float(weights @ (left**2).sum(axis=1)),
    )


def _summary(fit: _Fit, found: FloatArray, without: float, stretches: int, stretch_s: float) -> GyroScale:
    """found: (3,) with true = (1 + found) * stored."""
    from scipy.special import stdtrit

    few = float(stdtrit(stretches - 1, 0.975)) / 1.96
    errors, slope = -found / (1 + found), 1 / (1 + found) ** 2
    C = few**2 * fit.covariance[:3, :3] * slope[:, None] * slope + _FINEST**2 * np.eye(3)
    weights = np.linalg.solve(C, np.ones(3))
    std = float(1 / np.sqrt(weights.sum()))
    explains = 1 - fit.squares / without if without > 0 else 0.0
    return GyroScale(
        float(weights @ errors) * std**2,
        std,
        errors,
        np.sqrt(np.diag(C)),
        explains,
        float(np.median(fit.rms)),
        stretches,
        stretch_s,
    )


# Equations


def _equations(motion: _Motion, done: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Columns (stretches, 3 samples, unknowns) and path about the pivot (stretches, 3 samples), m, without parabolas.

    With R' = R S(omega) and a small error phi of R in the world, R a = gravity + path'' - phi x R a; phi' = R d omega.
    """
    forces, turning = motion.forces, motion.turning
    R = _orientations(motion.rates + turning @ motion.errors(done).T + done[9:12], rate_hz)
    slope = np.gradient(forces, 1 / rate_hz, axis=1)
    f, late = ((R @ x[..., None]) for x in (forces, slope))
    s, n, _ = forces.shape
    phi = _integral(np.concatenate([R[..., _ENTRIES[0]] * turning[:, :, None, _ENTRIES[1]], R], axis=3), rate_hz)
    scales = (R[..., None] * forces[:, :, None, None, :]).reshape(s, n, 3, 9)
    in_world = np.concatenate([f, _cross(f, phi), R, scales, late], axis=3)
    paths = np.concatenate([_integral(_integral(in_world, rate_hz), rate_hz), R @ motion.arm], axis=3)
    arc = R @ motion.arm @ done[25:28][:, None]
    paths[..., :1] -= arc
    paths[..., 1:13] -= _cross(arc, phi)  # an error of R turns the pivot's arc, too
    paths = paths.reshape(s, n, -1)
    parabola = np.linalg.qr(np.vander(np.linspace(-1, 1, n), 3))[0]
    paths = (paths - parabola @ (parabola.T @ paths)).reshape(s, 3 * n, -1)
    return np.concatenate([paths[..., 1:], paths[..., 1:10] @ motion.apart], axis=2), paths[..., 0]


def _orientations(rates: FloatArray, rate_hz: float) -> FloatArray:
    """R (stretches, samples, 3, 3) with R' = R S(omega), R = 1 at the start.

    Cubic interpolation of the rates, and the first term of coning (Bortz 1971).
    """
    from scipy.spatial.transform import Rotation

    s, n, _ = rates.shape
    ends = 2 * rates[:, [0, -1]] - rates[:, [1, -2]]
    w = np.concatenate([ends[:, :1], rates, ends[:, 1:]], axis=1)
    steps = (13 * (w[:, 1:-2] + w[:, 2:-1]) - w[:, :-3] - w[:, 3:]) / (24 * rate_hz)
    steps = steps + _cross(w[:, 1:-2, :, None], w[:, 2:-1, :, None])[..., 0] / (12 * rate_hz**2)
    turns = Rotation.from_rotvec(steps.reshape(-1, 3)).as_matrix().reshape(s, n - 1, 3, 3)
    R = np.empty((s, n, 3, 3))
    R[:, 0] = np.eye(3)
    for k in range(n - 1):
        R[:, k + 1] = R[:, k] @ turns[:, k]
    return R


def _cross(u: FloatArray, v: FloatArray) -> FloatArray:
    """u x v along the third axis; np.cross takes several times as long."""
    (ux, uy, uz), (vx, vy, vz) = (np.moveaxis(x, 2, 0) for x in (u, v))
    return np.stack([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx], axis=2)


def _integral(x: FloatArray, rate_hz: float) -> FloatArray:
    """(stretches, samples, ...) over time, from zero: trapezes."""
    y = np.cumsum(x, axis=1)
    y -= (x + x[:, :1]) / 2
    y /= rate_hz
    return y


def _averaged(x: FloatArray, count: int) -> FloatArray:
    return x[: len(x) // count * count].reshape(-1, count, x.shape[1]).mean(axis=1)


def _cut(x: FloatArray, length: int) -> FloatArray:
    return x[: len(x) // length * length].reshape(-1, length, x.shape[1])
