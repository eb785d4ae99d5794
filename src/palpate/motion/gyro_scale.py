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
_STEPS = 3
_WARNING, _FATAL = 0.015, 0.04
_WARNING_STDS, _FATAL_STDS = 4.0, 5.0
_LARGEST = 0.25
"""Errors beyond this are no matter of scale."""
_EXPLAINS = 0.2
"""Share of the squares of the path that a scale must explain to be believed: else the path is no hand's."""
_VAGUE = 0.01
"""Standard deviation from which on nothing is said: such a path is no hand's."""
_FINEST = 0.002
"""No scale is known better than this: it holds what the equations leave out."""

# What is unknown besides the three scales, with usual sizes (standard deviations): the gyroscope's cross axes (6) and
# zero (3, rad/s), the accelerometer's zero (3, m/s2), scales and cross axes (9), the delay between the two (1, s), and
# a pivot about which a hand turns (3, m).
_USUAL = np.repeat([0.3, 0.01, 0.05, 0.2, 0.01, 0.005, 1.0], [3, 6, 3, 3, 9, 1, 3])
_ENTRIES = ([0, 1, 2, 0, 0, 1, 1, 2, 2], [0, 1, 2, 1, 2, 0, 2, 0, 1])
"""Entries of the gyroscope's matrix in the order of the unknowns."""


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

    NaN where nothing was seen. None where there are too few stretches. Least squares on the path of the IMU with all
    other usual errors of both instruments as unknowns; the standard deviation is the larger one of theory and of the
    scatter between stretches.
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
    matrix, zero = np.eye(3), np.zeros(3)
    fit, done = _Fit.none(len(both)), np.zeros(len(_USUAL))
    for _ in range(_STEPS):
        fit = _solve(*_equations(forces, rates @ matrix.T + zero, rate_hz), rate_hz, done, fit)
        step = np.zeros((3, 3))
        step[_ENTRIES] = fit.p[:9]
        matrix, zero = matrix + step @ matrix, zero + step @ zero + fit.p[9:12]
        if np.abs(matrix - np.eye(3)).max() > 1:
            return None
        done[:9] = (matrix - np.eye(3))[_ENTRIES]
        done[9:12] = zero
    np.fill_diagonal(matrix, 1.0)  # as stored, with all other errors as found
    Z, y = _equations(forces, rates @ matrix.T + zero, rate_hz)
    Z[:, :, :3] = 0.0
    as_stored = _solve(Z, y, rate_hz, np.where(np.arange(len(done)) < 3, 0.0, done), fit)
    return _summary(fit, 1 / (1 + done[:3]) - 1, as_stored.squares, len(both), stretch_s)


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
    H = np.asarray((weighted @ Z).sum(axis=0), dtype=float) + np.diag(prior)
    inverse = np.asarray(np.linalg.inv(H), dtype=float)
    p = inverse @ ((weighted @ y[:, :, None]).sum(axis=0)[:, 0] - prior * done)
    left = y - Z @ p
    scores = (weighted @ left[:, :, None])[:, :, 0]
    spread = scores.T @ scores * (len(y) / (len(y) - 1))
    sandwich = inverse @ (spread + np.diag(prior)) @ inverse
    larger = np.maximum(np.sqrt(np.diag(sandwich) / np.diag(inverse)), 1.0)
    rms = np.sqrt(np.mean(left**2, axis=1))
    rms = np.maximum(rms, 0.3 * np.median(rms))  # a still stretch knows no more than its share
    return replace(
        before,
        p=p,
        covariance=inverse * larger[:, None] * larger,
        rms=rms,
        squares=float(weights @ (left**2).sum(axis=1)),
    )


def _summary(fit: _Fit, errors: FloatArray, without: float, stretches: int, stretch_s: float) -> GyroScale:
    from scipy.special import stdtrit

    few = float(stdtrit(stretches - 1, 0.975)) / 1.96
    C = few**2 * fit.covariance[:3, :3] + _FINEST**2 * np.eye(3)
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


def _equations(forces: FloatArray, rates: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Columns (stretches, 3 samples, unknowns) and path (stretches, 3 samples), m, without parabolas.

    With R' = R S(omega) and a small error phi of R in the world, R a = gravity + path'' - phi x R a; phi' = R d omega.
    """
    R = _orientations(rates, rate_hz)
    slope = np.gradient(forces, 1 / rate_hz, axis=1)
    f, late = ((R @ x[..., None]) for x in (forces, slope))
    s, n, _ = forces.shape
    phi = _integral(np.concatenate([R[..., _ENTRIES[0]] * rates[:, :, None, _ENTRIES[1]], R], axis=3), rate_hz)
    scales = (R[..., None] * forces[:, :, None, None, :]).reshape(s, n, 3, 9)
    in_world = np.concatenate([f, _cross(f, phi), R, scales, late], axis=3)
    paths = np.concatenate([_integral(_integral(in_world, rate_hz), rate_hz), R], axis=3).reshape(s, n, -1)
    parabola = np.linalg.qr(np.vander(np.linspace(-1, 1, n), 3))[0]
    paths = (paths - parabola @ (parabola.T @ paths)).reshape(s, 3 * n, -1)
    return paths[..., 1:], paths[..., 0]


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
