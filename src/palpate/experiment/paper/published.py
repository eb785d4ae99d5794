"""The paper's four identifications with its authors' choices, through the same stage as everything else.

What differs is how the inputs come about: every visible marker, plain Kabsch against a mean cloud, nothing
repaired; devices decimated and cut to a window; the handles' weight taken off; the contact at its measured height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment, object_model, wrench_channels
from palpate.experiment.paper.choices import CHOICES, HANDLES, PAPER, Choices, Window
from palpate.experiment.stage.belief import prior_of
from palpate.experiment.stage.capture import roles_of
from palpate.experiment.stage.fit import Fit, Plan, fit_inputs
from palpate.experiment.stage.inputs import Belief, Filtering, ImuMotion, Inputs, Sensor
from palpate.experiment.stage.prepare import Prepared, imu_inputs
from palpate.experiment.stage.recordings import load_part
from palpate.experiment.stage.result import rms_entry
from palpate.experiment.stage.view import View, picture
from palpate.files import finite
from palpate.identify import Prior, Solution
from palpate.identify.balance import Segment
from palpate.identify.problem import conditioning, search
from palpate.identify.solution import Status
from palpate.mechanisms import Mechanism, Row
from palpate.mechanisms.rolling import Rolling
from palpate.motion.clock import Even
from palpate.motion.cloud import BodyFit, Cloud, Markers, fit_body, markers_of, nan_mean
from palpate.motion.frames import axes_of, frame_of
from palpate.motion.imu import Smoothing
from palpate.motion.wheels import from_contact
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import drawing_values
from palpate.physics.motion import Coordinate, Kinematics, Motion, Poses, transform, wrench_transmission
from palpate.progress import Tell, portion

HANDLE_HZ, BODY_HZ = 1000.0, 100.0
HEIGHT = "height"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFit:
    """One identification with the authors' choices; `data` in the words of result.json, as far as they apply."""

    data: Mapping[str, Any]
    view: View | None = None
    """Of a body."""


def fit_published(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """One of the four, by its shipped file's name; the drawing is damped in theta with the Table's lambda."""
    tell("reading", 0.0)
    prior, damping = prior_of(experiment), PAPER[name].damping
    stated = None if prior is None or damping is None else replace(prior, damping=damping.value, form="theta")
    return (_handle if name in HANDLES else _body)(CHOICES[name], experiment, stated, tell)


def _handle(choices: Choices, experiment: Experiment[Any], prior: Prior | None, tell: Tell) -> PublishedFit:
    """A handle: w = -data = A phi + bias, weighted, damped towards the prior in theta (paper, eq. optimization)."""
    config, part = experiment.config, experiment.config.recordings.imu
    wrench = _even(-cut_wrench(experiment, "wrench", choices.window), HANDLE_HZ)
    recording = load_part(experiment, "recordings.imu", part)
    imu = _cut(recording.stack([*part.acceleration, *part.angular_rate]), choices.window, "imu", part.file)
    # the drawing's matrix as printed, not the nearest rotation
    T = transform(np.array(config.imu_pose.rotation, dtype=float), np.array(config.imu_pose.translation, dtype=float))
    (slope, slope_order), (smooth, order) = choices.slope, choices.smooth
    smoothing = Smoothing(slope / HANDLE_HZ, slope_order, smooth / HANDLE_HZ, order)
    filtering = Filtering(smoothing.slope_window_s, smoothing.slope_order, None, None, published=True)
    mounted = ImuMotion(_even(imu, HANDLE_HZ), T, smoothing)
    inputs = imu_inputs(object_model(experiment), config.sensor, wrench, mounted, filtering, Belief(prior))
    segments = _segments(choices, HANDLE_HZ)
    fit = _fitted(inputs.on_clock(None), segments, portion(tell, 0.5, 1.0))
    return PublishedFit(published_data(experiment, fit, segments))


def _body(choices: Choices, experiment: Experiment[Any], prior: Prior | None, tell: Tell) -> PublishedFit:
    """The door in two steps: the spring from slow samples, then inertia and friction (paper, eq. opt_door). The
    wheelbarrow: moments about the contact, mass known, damped towards the CAD prior (eq. optimization_wb).
    """
    config, model, fixed = experiment.config, object_model(experiment), np.zeros(6)
    cloud, body = aligned(experiment, choices)
    roles, mass = roles_of(experiment), config.known_mass
    T_cloud_body = frame_of(roles["hinge" if model.mechanism.wheel is None else "axle"], cloud)
    poses = body.poses.attached(T_cloud_body)
    wrench = _cleaned_wrench(experiment, choices, cloud, body.poses, T_cloud_body)
    if model.mechanism.wheel is None:
        # turn of x about z since the first sample seen, both as they were then
        first = poses.rotation[np.flatnonzero(poses.seen)[0]]
        x = poses.rotation[:, :, 0]
        q = np.arctan2(x @ first[:, 1], x @ first[:, 0])[:, None]
    else:
        fixed = from_contact(poses, poses.position[:, 2:], np.array(choices.at_contact))
        model = model.with_wheel(config.markers.axle.radius)
        options: dict[str, Any] = {f.name: getattr(model.mechanism, f.name) for f in fields(model.mechanism)}
        options["wheel_speed"] = "published"
        model = replace(model, mechanism=PaperContact(**options))
        q = model.mechanism.coordinates_of(poses)
    even, (window, order), segments = _even(wrench, BODY_HZ), choices.smooth, _segments(choices, BODY_HZ)
    # in the body's own frame, without low-pass or samples left out
    inputs = Inputs(
        model=model,
        times_s=even.times_s,
        sensors=(Sensor(even, np.eye(4)),),
        filtering=Filtering(window / BODY_HZ, order, None, None, published=True),
        q=q,
        poses=poses,
        belief=Belief(prior, mass=None if mass is None else mass.value, fixed=config.fixed),
        sigma=np.ones(len(model.mechanism.rows)),
    )
    fit = _fitted(replace(inputs, measured=(wrench - fixed)[None]), segments, portion(tell, 0.4, 0.7))
    known = () if fit.spring is None else tuple(fit.spring.values)
    data = {**published_data(experiment, fit, segments, known), "marker_error_m": body.mean_error_m}
    if any(choices.at_contact):
        without = _fitted(replace(inputs, measured=wrench[None]), segments, portion(tell, 0.7, 1.0)).solution
        data["without_correction"] = {e.name: e.value for e in without.estimates}
    return PublishedFit(data, picture(Prepared(fit.inputs, segments, {}, ()), fit, None))


def _even(x: FloatArray, rate: float) -> Even:
    return Even(np.arange(len(x)) / rate, x, (), 0.0, np.arange(len(x)))


def _segments(choices: Choices, rate_hz: float) -> dict[str, list[Segment]]:
    """The authors' counting as half-open seconds from the window's first sample."""
    spans = {"quasi_static": [choices.quasi_static], "train": choices.train, "test": [choices.test]}
    return {
        kind: [((first - 1.5) / rate_hz, (last - 0.5) / rate_hz) for first, last in filter(None, held)]
        for kind, held in spans.items()
    }


def _fitted(inputs: Inputs, segments: Mapping[str, Sequence[Segment]], tell: Tell) -> Fit:
    """The stage's fit, searched from the prior on where there is one."""
    plan = Plan(tuple(segments["train"]), tuple(segments["quasi_static"]) or None)
    fit = fit_inputs(inputs, segments, plan, tell=tell)
    return fit if inputs.belief.prior is None else replace(fit, solution=begun_at_prior(fit.solution))


def _cleaned_wrench(
    experiment: Experiment[Any], choices: Choices, cloud: Cloud, poses: Poses, T_cloud_body: FloatArray
) -> FloatArray:
    """(samples, 6): what the sensors pass on without the handles' weight and without the preload, the mean of what that
    weight does not explain while nobody touches the object; in the body's frame, N and N m.
    """
    config = experiment.config
    total: FloatArray = np.zeros(6)
    for key, markers in (("wrench", config.markers.sensor), ("wrench_2", config.markers.sensor_2)):
        if markers is None:
            continue
        # as by `sensor_frame`, but with the machined offset as printed (FORMATS, Sensor frame)
        p1, p2, p3 = cloud.select(markers.markers).points
        machined = transform(np.array(markers.offset.rotation), np.array(markers.offset.translation))
        z = np.cross(p1 - p2, p3 - p2)
        T_cloud_sensor = transform(axes_of(p3 - p2, z / np.linalg.norm(z)), p2) @ np.linalg.inv(machined)
        R_world_sensor = poses.rotation @ T_cloud_sensor[:3, :3]
        force = choices.handle_mass * (R_world_sensor.swapaxes(1, 2) @ np.array([0.0, 0.0, -config.gravity]))
        weight = np.hstack([force, np.cross(np.array(choices.handle_com), force)])
        left = cut_wrench(experiment, key, choices.window) - weight
        T = np.linalg.inv(T_cloud_body) @ T_cloud_sensor
        preload = np.nanmean(left[choices.still[0] - 1 : choices.still[1]], axis=0)
        total = total + (left - preload) @ wrench_transmission(T[:3, :3], T[:3, 3]).T
    return total


@dataclass(frozen=True, slots=True)
class PaperContact(Rolling):
    """`Rolling` as the paper writes its balance: the moments about the contact, which is straight below the axle at
    its measured height (eq. pC, r_CR), and a wheel that turns with v_x / R_w.
    """

    @property
    def rows(self) -> tuple[Row, ...]:
        """The moments (paper, eq. Pi)."""
        return self._plain().rows[:3]

    @property
    def coordinates(self) -> Mapping[str, str]:
        """As of the rolling object, and the height."""
        return {**self._plain().coordinates, HEIGHT: "m"}

    def at_rest(self) -> None:
        """None: the authors leave no sample out."""
        return

    def observe(self, motion: Motion) -> Kinematics:
        """As of the rolling object, with the measured height."""
        assert motion.poses is not None
        return self._with_height(self._plain().observe(motion), motion.poses.position[:, 2])

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """As of the rolling object, at the height of its radius."""
        return self._with_height(self._plain().expand(state, acc, fn), self.radius)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """W_CB w, moments only: r_CB x f with the measured height instead of the radius."""
        plain = self._plain()
        n_x, n_y, n_z, f_x = plain.project(k, wrench, fn)
        # f_y is what the height of one metre more or less would change in n_x
        f_y = plain.project(k, [*wrench[:3], 0.0, 0.0, 0.0], fn)[0] / -self.radius
        more = k.coordinates[HEIGHT].position - self.radius
        return (n_x - more * f_y, n_y + more * f_x, n_z)

    projector = Mechanism.projector

    def _plain(self) -> Rolling:
        return Rolling(**{f.name: getattr(self, f.name) for f in fields(self)})

    def _with_height(self, k: Kinematics, height: Scalar) -> Kinematics:
        coordinates = {n: replace(c, ratio=c.ratio[:3]) for n, c in k.coordinates.items()}
        return replace(k, coordinates={**coordinates, HEIGHT: Coordinate(height, 0.0, 0.0, (0.0, 0.0, 0.0))})


def begun_at_prior(solution: Solution) -> Solution:
    """The same problem searched from the prior on, as the authors do: where the data contradict it, valleys differ.

    For one body and parameters that are not transformed; intervals stay those of `solution`.
    """
    problem = solution.problem
    begin = np.where(problem.penalty.damped, problem.penalty.theta, solution.theta)
    result = search(problem, begin)
    if np.allclose(result.theta, solution.theta, rtol=1e-6, atol=1e-9):
        return solution
    p = problem.map_.forward(result.theta)
    values = np.concatenate([drawing_values(p[:10]), p[10:]]).tolist()
    return replace(
        solution,
        model=solution.model.with_values(p),
        estimates=tuple(replace(e, value=v) for e, v in zip(solution.estimates, values, strict=True)),
        theta=result.theta,
        conditioning=conditioning(problem, result.theta),
    )


def cut_wrench(experiment: Experiment[Any], name: str, window: Window) -> FloatArray:
    """(samples, 6) as stored, N and N m: decimated, then cut."""
    part = getattr(experiment.config.recordings, name)
    recording = load_part(experiment, f"recordings.{name}", part)
    return _cut(recording.stack(wrench_channels(part, list(recording))), window, name, part.file)


def _cut(x: FloatArray, window: Window, name: str, file: str) -> FloatArray:
    if len(x) < window.needed(name):
        raise DataProblem(file, f"it has {len(x)} rows, the authors' window ends with row {window.needed(name)}")
    rows = x[window.rows(name)]
    if name != "mocap" and not np.isfinite(rows).all():
        raise DataProblem(file, "inside the authors' window there are samples without a number")
    return rows


def published_data(
    experiment: Experiment[Any], fit: Fit, spans: Mapping[str, Sequence[Segment]], known: Sequence[str] = ()
) -> dict[str, Any]:
    """Parameters, RMS errors with the share of the signal that is explained, and condition number, in the words of
    result.json; `known`: see `sides`.
    """
    config, solution = experiment.config, fit.solution
    spans = {kind: spans[kind] for kind in ("train", "test")}
    errors: dict[str, dict[str, Any]] = {}
    for kind, segments in spans.items():
        y, f = sides(fit, segments, known)
        explained = 1 - np.var(y - f, axis=0) / np.maximum(np.var(y, axis=0), 1e-300)
        each = zip(fit.inputs.mechanism.rows, rms(y - f, 0), np.ptp(y, axis=0), explained.tolist(), strict=True)
        errors[kind] = {row.name: rms_entry(row, size, reach, explained=e) for row, size, reach, e in each}
    return {
        "title": config.title,
        "stage": config.stage,
        "parameters": {
            e.name: {"value": e.value, "unit": e.unit, "fixed": e.status is Status.FIXED and e.name not in known}
            for e in solution.estimates
        },
        "rms": errors,
        "damping": solution.damping,
        "kappa_eff_paper": finite(solution.conditioning.kappa_eff_paper),
        "seconds": {name: sum(b - a for a, b in segments) for name, segments in spans.items()},
    }


def sides(fit: Fit, segments: Sequence[Segment], known: Sequence[str] = ()) -> tuple[FloatArray, FloatArray]:
    """y and f of the used samples, (samples, rows) each; `known` ones stand on y's side (paper, eq. y_door_scalar)."""
    # a prediction at the load cell's rate may leave samples out
    by_imu = fit.inputs.imu is not None
    rows = np.concatenate([fit.balance.rows(s) for s in segments]) if by_imu else fit.rows(segments)
    before = np.array([name in known for name in fit.inputs.model.parameters])
    Y, p = rows[:, :, :-1], fit.p
    return rows[:, :, -1] - Y[:, :, before] @ p[before], np.asarray(Y[:, :, ~before] @ p[~before], dtype=float)


def read_markers(experiment: Experiment[Any], key: str) -> Markers:
    """All markers of a file, names without the subject, in its order."""
    held = markers_of(load_part(experiment, f"recordings.{key}", getattr(experiment.config.recordings, key)))
    return replace(held, names=tuple(n.rpartition(":")[2] for n in held.names))


def aligned(experiment: Experiment[Any], choices: Choices, *, whole: bool = False) -> tuple[Cloud, BodyFit]:
    """The reference cloud, and the body in the authors' window with heights from the floor, or in the `whole` file.

    The cloud is the mean of the static file, or of some samples of the window.
    """
    recordings = experiment.config.recordings
    markers = read_markers(experiment, "mocap")
    if not whole:
        points = _cut(markers.points, choices.window, "mocap", recordings.mocap.file)
        markers = Markers(markers.names, np.arange(len(points)) / BODY_HZ, points + np.array([0, 0, choices.raised_m]))
    if choices.reference is None:
        static = read_markers(experiment, "static")
        if markers.names != static.names:
            raise DataProblem(recordings.static.file, f"its markers are not those of {recordings.mocap.file}")
        mean = nan_mean(static.points, axis=0)
    else:
        first, last = choices.reference
        mean = nan_mean(markers.points[first - 1 : last], axis=0)
    known = np.asarray(np.isfinite(mean).all(axis=1))
    cloud = Cloud(tuple(name for name, there in zip(markers.names, known, strict=True) if there), mean[known])
    on_body = [name for name in experiment.config.markers.body or cloud.names if name in cloud.names]
    return cloud, fit_body(markers, cloud.select(on_body))
