"""The identifications as the paper's authors made them: what handles and bodies share, and the handles.

Plain on purpose: no sample is left out, no fault is looked for, nothing is filtered but the motion. What a published
choice costs is seen beside the default, which takes none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment, wrench_channels
from palpate.experiment.file.schema import ImuPart, WrenchPart
from palpate.experiment.handle import prior_of
from palpate.experiment.handle_inputs import load_part, sensor_of
from palpate.experiment.reproduce_choices import HANDLES, BodyChoices, Span, Window
from palpate.experiment.reproduce_paper import PAPER
from palpate.experiment.telling import Tell
from palpate.files import finite
from palpate.identify import Balance, Prior, Solution, build_balance, compress, solve
from palpate.identify.balance import Segment
from palpate.identify.problem import search
from palpate.identify.solution import Status
from palpate.identify.uncertainty import conditioning
from palpate.mechanisms import Free
from palpate.model import load_object
from palpate.motion.derivatives.filters import savitzky_golay
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import drawing_values
from palpate.physics.motion import Motion
from palpate.physics.spatial import transport_acceleration

HANDLE_HZ, BODY_HZ = 1000.0, 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What the paper's figures show of a test segment; arrays (samples,) or (samples, rows)."""

    times_s: FloatArray
    """From the segment's first sample on."""
    series: Mapping[str, FloatArray]
    """Name -> m or rad: door angle; contact x, contact y, pitch, camber, yaw."""
    rows: tuple[str, ...]
    reference: FloatArray
    """N m."""
    estimate: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFit:
    """One identification with the authors' choices; `data` in the words of result.json, as far as they apply."""

    data: Mapping[str, Any]
    trace: Trace | None
    solution: Solution


def fit_published_handle(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """A handle: w = -data = A phi + bias, weighted, damped towards the prior in theta (paper, eq. optimization)."""
    choices, config = HANDLES[name], experiment.config
    tell("reading")
    wrench = -cut_wrench(experiment, config.recordings.wrench, choices.window, "wrench")
    imu = cut_imu(experiment, config.recordings.imu, choices.window)
    tell("solving")
    # the drawing's matrix as printed, not the nearest rotation
    R, r = np.array(config.imu_pose.rotation, dtype=float), np.array(config.imu_pose.translation, dtype=float)
    omega = imu[:, 3:] @ R.T
    omega_dot = savitzky_golay(omega, *choices.slope, derivative=1, rate_hz=HANDLE_HZ)
    a = transport_acceleration(imu[:, :3] @ R.T, omega, omega_dot, -r)
    a, omega, omega_dot = (savitzky_golay(x, choices.smooth, choices.order) for x in (a, omega, omega_dot))
    motion = Motion(np.arange(len(wrench)) / HANDLE_HZ, a, omega, omega_dot)
    model = replace(load_object(config.object), mechanism=Free(gravity=config.gravity))
    sensor = sensor_of(config.sensor)
    balance = build_balance(model, motion, wrench, sigma=(*sensor.sigma_force, *sensor.sigma_moment))
    train = compress(balance, [seconds(s, HANDLE_HZ) for s in choices.train])
    solution = begun_at_prior(solve(train, prior=published_prior(name, experiment), factor="UtU"))
    test = seconds(choices.test, HANDLE_HZ)
    spans = {"train": [seconds(s, HANDLE_HZ) for s in choices.train], "test": [test]}
    return PublishedFit(published_data(experiment, balance, solution, spans), None, solution)


def published_prior(name: str, experiment: Experiment[Any]) -> Prior | None:
    """The drawing, damped in theta with the Table's lambda."""
    prior, damping = prior_of(experiment), PAPER[name].damping
    return None if prior is None or damping is None else replace(prior, damping=damping.value, form="theta")


def begun_at_prior(solution: Solution) -> Solution:
    """The same problem searched from the prior on, as the authors do: where the data contradict it, valleys differ.

    Of a body alone and parameters that are as they are told: intervals stay those of `solution`.
    """
    problem = solution.problem
    begin = np.where(problem.penalty.damped, problem.penalty.theta, solution.theta)
    found = search(problem, begin)
    if np.allclose(found.theta, solution.theta, rtol=1e-6, atol=1e-9):
        return solution
    p = problem.map_.forward(found.theta)
    values = np.concatenate([drawing_values(p[:10]), p[10:]]).tolist()
    return replace(
        solution,
        model=solution.model.with_values(p),
        estimates=tuple(replace(e, value=v) for e, v in zip(solution.estimates, values, strict=True)),
        theta=found.theta,
        conditioning=conditioning(problem, found.theta),
    )


def cut_wrench(experiment: Experiment[Any], part: WrenchPart, window: Window, name: str) -> FloatArray:
    """(samples, 6) as stored, N and N m: decimated, then cut."""
    recording = load_part(experiment, f"recordings.{name}", part)
    names = wrench_channels(part, list(recording))
    return _cut(recording.stack(names), window, name, part.file)


def cut_imu(experiment: Experiment[Any], part: ImuPart, window: Window) -> FloatArray:
    """(samples, 6): specific force and angular rate in the IMU's axes, m/s2 and rad/s."""
    recording = load_part(experiment, "recordings.imu", part)
    return _cut(recording.stack([*part.acceleration, *part.angular_rate]), window, "imu", part.file)


def _cut(x: FloatArray, window: Window, name: str, file: str) -> FloatArray:
    if len(x) < window.needed(name):
        raise DataProblem(file, f"it has {len(x)} rows, the authors' window ends with row {window.needed(name)}")
    found = x[window.rows(name)]
    if not np.isfinite(found).all():
        raise DataProblem(file, "inside the authors' window there are samples without a number")
    return found


def weight_wrench(choices: BodyChoices, gravity: float, R_world_sensor: FloatArray) -> FloatArray:
    """(samples, 6): what the weight of the handle alone does to its sensor, in the sensor's frame, N and N m."""
    force = choices.handle_mass * (R_world_sensor.swapaxes(1, 2) @ np.array([0.0, 0.0, -gravity]))
    return np.hstack([force, np.cross(np.array(choices.handle_com), force)])


def cleaned(measured: FloatArray, weight: FloatArray, still: Span) -> FloatArray:
    """(samples, 6): the sensor's wrench without the handle's weight and without the preload, the mean of what that
    weight does not explain.
    """
    left = measured - weight
    return left - np.nanmean(left[span(still)], axis=0)


def span(samples: Span) -> slice:
    """The authors' counting as a slice."""
    return slice(samples[0] - 1, samples[1])


def seconds(samples: Span, rate_hz: float) -> Segment:
    """The same as half-open seconds from the window's first sample."""
    return (samples[0] - 1.5) / rate_hz, (samples[1] - 0.5) / rate_hz


def published_data(
    experiment: Experiment[Any],
    balance: Balance,
    solution: Solution,
    spans: Mapping[str, Sequence[Segment]],
    known: Sequence[str] = (),
) -> dict[str, Any]:
    """Parameters, RMS errors and condition number in the words of result.json; `known`: see `sides`."""
    config = experiment.config
    return {
        "title": config.title,
        "stage": config.stage,
        "parameters": {
            e.name: {"value": e.value, "unit": e.unit, "fixed": e.status is Status.FIXED and e.name not in known}
            for e in solution.estimates
        },
        "rms": {name: rms(balance, solution, segments, known) for name, segments in spans.items()},
        "damping": solution.damping,
        "kappa_eff_paper": finite(solution.conditioning.kappa_eff_paper),
        "seconds": {name: sum(b - a for a, b in segments) for name, segments in spans.items()},
    }


def sides(
    balance: Balance, solution: Solution, segments: Sequence[Segment], known: Sequence[str] = ()
) -> tuple[FloatArray, FloatArray]:
    """y and f of the used samples, each (samples, rows); `known` parameters stand on the side of y (paper, eq.
    y_door_scalar).
    """
    rows = np.concatenate([balance.rows(s) for s in segments])
    if balance.used is not None:
        rows = rows[np.concatenate([balance.used[slice(*balance.indices(s))] for s in segments])]
    before = np.array([name in known for name in balance.model.parameters])
    Y, p = rows[:, :, :-1], solution.p
    return rows[:, :, -1] - Y[:, :, before] @ p[before], np.asarray(Y[:, :, ~before] @ p[~before], dtype=float)


def rms(
    balance: Balance, solution: Solution, segments: Sequence[Segment], known: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """By row: RMS error with its unit, percent of the signal's range, and the share of the signal that is explained."""
    y, f = sides(balance, solution, segments, known)
    error = y - f
    size, reach = np.sqrt(np.mean(error**2, axis=0)), np.ptp(y, axis=0)
    explained = 1 - np.var(error, axis=0) / np.maximum(np.var(y, axis=0), 1e-300)
    return {
        row.name: {
            "value": float(size[i]),
            "unit": row.unit,
            "percent_of_range": float(100 * size[i] / reach[i]) if reach[i] > 0 else None,
            "explained": float(explained[i]),
        }
        for i, row in enumerate(balance.model.mechanism.rows)
    }
