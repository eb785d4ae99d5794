"""The paper's four identifications with its authors' choices, through the same stage as everything else.

What is their own is how the inputs come about: every visible marker, plain Kabsch against a mean cloud, nothing
repaired; devices decimated and cut to a window; the handles' weight taken off; the contact at its measured height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment, object_model, wrench_channels
from palpate.experiment.file.schema import ImuPart, MocapPart, SensorMarkersPart, WrenchPart
from palpate.experiment.paper.choices import BODIES, HANDLES, PAPER, BodyChoices, Span, Window
from palpate.experiment.stage.capture import Tell
from palpate.experiment.stage.fit import Fit, Plan, fit_inputs
from palpate.experiment.stage.inputs import Belief, Filtering, ImuMotion, Inputs, Sensor, prior_of
from palpate.experiment.stage.recordings import load_part, sensor_of
from palpate.files import finite
from palpate.identify import Prior, Solution
from palpate.identify.balance import Segment
from palpate.identify.problem import conditioning, search
from palpate.identify.solution import Status
from palpate.mechanisms import Row
from palpate.mechanisms.rolling import Rolling
from palpate.model import Model
from palpate.motion.clock import Even
from palpate.motion.cloud import Markers, markers_of
from palpate.motion.frames import axle_frame, hinge_frame
from palpate.motion.imu import Smoothing
from palpate.motion.rigid import Alignment, align
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import drawing_values
from palpate.physics.motion import Coordinate, Kinematics, Motion, Poses, transform, wrench_transmission

HANDLE_HZ, BODY_HZ = 1000.0, 100.0
HEIGHT = "height"
UP = (0.0, 0.0, 1.0)


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


def fit_published(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """One of the four, by the name of its shipped experiment file."""
    if name in HANDLES:
        return _handle(name, experiment, tell)
    return _door(name, experiment, tell) if BODIES[name].quasi_static is not None else _barrow(name, experiment, tell)


def _handle(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """A handle: w = -data = A phi + bias, weighted, damped towards the prior in theta (paper, eq. optimization)."""
    choices, config = HANDLES[name], experiment.config
    tell("reading")
    wrench = _even(-cut_wrench(experiment, config.recordings.wrench, choices.window, "wrench"), HANDLE_HZ)
    imu = _even(cut_imu(experiment, config.recordings.imu, choices.window), HANDLE_HZ)
    # the drawing's matrix as printed, not the nearest rotation
    T = transform(np.array(config.imu_pose.rotation, dtype=float), np.array(config.imu_pose.translation, dtype=float))
    (slope, slope_order), smooth = choices.slope, choices.smooth
    smoothing = Smoothing(slope / HANDLE_HZ, slope_order, smooth / HANDLE_HZ, choices.order)
    sensor = sensor_of(config.sensor)
    inputs = Inputs(
        model=object_model(experiment),
        times_s=wrench.times_s,
        sensors=(Sensor(wrench, np.eye(4)),),
        filtering=Filtering(smoothing.slope_window_s, smoothing.slope_order, None, None, published=True),
        imu=ImuMotion(imu, T, smoothing),
        zero="estimated",
        sigma=np.array([*sensor.sigma_force, *sensor.sigma_moment]),
        belief=Belief(published_prior(name, experiment)),
    )
    segments = {
        "train": [seconds(s, HANDLE_HZ) for s in choices.train],
        "test": [seconds(choices.test, HANDLE_HZ)],
    }
    fit = _fitted(inputs, segments, None, tell)
    return PublishedFit(published_data(experiment, fit, segments), None, fit.solution)


def _door(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """The door in two steps: the spring from slow samples, then inertia and friction (paper, eq. opt_door)."""
    choices, config = BODIES[name], experiment.config
    hinge = config.markers.hinge
    assert choices.quasi_static is not None
    tell("aligning the markers")
    body = aligned_door(experiment, choices)
    T_cloud_hinge = hinge_in_cloud(body, hinge.axis, hinge.towards)
    angle = door_angle(body.rotation(T_cloud_hinge[:3, :3]))
    tell("reading the load cell")
    wrench = _cleaned_wrench(experiment, choices, body, T_cloud_hinge)
    inputs = _body_inputs(object_model(experiment), wrench, choices, Belief(fixed=config.fixed), q=angle[:, None])
    segments = _segments(choices)
    fit = _fitted(inputs, segments, segments["quasi_static"], tell)
    assert fit.spring is not None
    known = tuple(fit.spring.values)
    data = published_data(experiment, fit, segments, known)
    trace = _trace(fit, segments["test"], {"angle": angle}, known)
    return PublishedFit({**data, "marker_error_m": body.error_m}, trace, fit.solution)


def _barrow(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """The wheelbarrow: moments about the contact, mass known, damped towards the CAD prior (paper, eq.
    optimization_wb).
    """
    choices, config = BODIES[name], experiment.config
    axle = config.markers.axle
    tell("aligning the markers")
    body = aligned_barrow(experiment, choices)
    T_cloud_axle = axle_in_cloud(body, axle.axle, axle.across)
    times = np.arange(len(body.alignment.rotation)) / BODY_HZ
    poses = Poses(times, body.rotation(T_cloud_axle[:3, :3]), body.position(T_cloud_axle[:3, 3]))
    tell("reading the load cells")
    wrench = _cleaned_wrench(experiment, choices, body, T_cloud_axle)
    fixed = _from_contact(poses, np.array(choices.at_contact))
    model = object_model(experiment).with_wheel(axle.radius)
    options: dict[str, Any] = {f.name: getattr(model.mechanism, f.name) for f in fields(model.mechanism)}
    options["wheel_speed"] = "published"
    model = replace(model, mechanism=PaperContact(**options))
    belief = Belief(published_prior(name, experiment), mass=config.known_mass.value)
    segments = _segments(choices)

    def fitted(w: FloatArray) -> Fit:
        q = model.mechanism.coordinates_of(poses)
        return _fitted(_body_inputs(model, w, choices, belief, q=q, poses=poses), segments, None, tell)

    fit, without = fitted(wrench - fixed), fitted(wrench)
    trace = _trace(fit, segments["test"], barrow_angles(poses))
    more = {
        "marker_error_m": body.error_m,
        "without_correction": {e.name: e.value for e in without.solution.estimates},
    }
    return PublishedFit({**published_data(experiment, fit, segments), **more}, trace, fit.solution)


def _even(x: FloatArray, rate: float) -> Even:
    return Even(np.arange(len(x)) / rate, x, (), 0.0, np.arange(len(x)))


def _segments(choices: BodyChoices) -> dict[str, list[Segment]]:
    slow = [] if choices.quasi_static is None else [seconds(choices.quasi_static, BODY_HZ)]
    train, test = [seconds(s, BODY_HZ) for s in choices.train], [seconds(choices.test, BODY_HZ)]
    return {"quasi_static": slow, "train": train, "test": test}


def _body_inputs(
    model: Model, wrench: FloatArray, choices: BodyChoices, belief: Belief, *, q: FloatArray, poses: Poses | None = None
) -> Inputs:
    """A body moved by a wrench (samples, 6) in its own frame, without low-pass or samples left out."""
    even = _even(wrench, BODY_HZ)
    window, order = choices.smooth
    return Inputs(
        model=model,
        times_s=even.times_s,
        sensors=(Sensor(even, np.eye(4)),),
        filtering=Filtering(window / BODY_HZ, order, None, None, published=True),
        q=q,
        poses=poses,
        measured=wrench[None],
        belief=belief,
        sigma=np.ones(len(model.mechanism.rows)),
    )


def _fitted(
    inputs: Inputs, segments: Mapping[str, Sequence[Segment]], quasi_static: Sequence[Segment] | None, tell: Tell
) -> Fit:
    """The stage's fit, searched from the prior on where there is one."""
    if inputs.imu is not None:
        inputs = inputs.on_clock(None)
    plan = Plan(tuple(segments["train"]), None if quasi_static is None else tuple(quasi_static))
    fit = fit_inputs(inputs, segments, plan, tell=tell)
    return fit if inputs.belief.prior is None else replace(fit, solution=begun_at_prior(fit.solution))


def _cleaned_wrench(
    experiment: Experiment[Any], choices: BodyChoices, body: Aligned, T_cloud_body: FloatArray
) -> FloatArray:
    """(samples, 6): what the sensors pass on without the handles' weight and the preload, in the body's frame."""
    config = experiment.config
    total: FloatArray | None = None
    for key, part, markers in (
        ("wrench", config.recordings.wrench, config.markers.sensor),
        ("wrench_2", config.recordings.wrench_2, config.markers.sensor_2),
    ):
        if part is None or markers is None:
            continue
        T_cloud_sensor = sensor_in_cloud(body, markers)
        measured = cut_wrench(experiment, part, choices.window, key)
        weight = weight_wrench(choices, config.gravity, body.rotation(T_cloud_sensor[:3, :3]))
        T = np.linalg.inv(T_cloud_body) @ T_cloud_sensor
        w = cleaned(measured, weight, choices.still) @ wrench_transmission(T[:3, :3], T[:3, 3]).T
        total = w if total is None else total + w
    assert total is not None
    return total


def _trace(fit: Fit, test: Sequence[Segment], series: Mapping[str, FloatArray], known: Sequence[str] = ()) -> Trace:
    shown = fit.prediction.inside(test)
    y, f = sides(fit, test, known)
    rows = tuple(r.name for r in fit.inputs.mechanism.rows)
    times = fit.prediction.times_s[shown] - test[0][0]
    return Trace(times, {n: v[shown] for n, v in series.items()}, rows, y, f)


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

    def expand(
        self, state: Sequence[Scalar], acc: Sequence[Scalar], z: Mapping[str, Scalar], fn: Functions
    ) -> Kinematics:
        """As of the rolling object, at the height of its radius."""
        return self._with_height(self._plain().expand(state, acc, z, fn), self.radius)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """W_CB w, moments only: r_CB x f with the measured height instead of the radius."""
        plain = self._plain()
        n_x, n_y, n_z, f_x = plain.project(k, wrench, fn)
        # f_y is what the height of one metre more or less would change in n_x
        f_y = plain.project(k, [*wrench[:3], 0.0, 0.0, 0.0], fn)[0] / -self.radius
        more = k.coordinates[HEIGHT].position - self.radius
        return (n_x - more * f_y, n_y + more * f_x, n_z)

    def _plain(self) -> Rolling:
        return Rolling(**{f.name: getattr(self, f.name) for f in fields(self)})

    def _with_height(self, k: Kinematics, height: Scalar) -> Kinematics:
        coordinates = {n: replace(c, ratio=c.ratio[:3]) for n, c in k.coordinates.items()}
        return replace(k, coordinates={**coordinates, HEIGHT: Coordinate(height, 0.0, 0.0, (0.0, 0.0, 0.0))})


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
    return _cut_rows(recording.stack(names), window, name, part.file)


def cut_imu(experiment: Experiment[Any], part: ImuPart, window: Window) -> FloatArray:
    """(samples, 6): specific force and angular rate in the IMU's axes, m/s2 and rad/s."""
    recording = load_part(experiment, "recordings.imu", part)
    return _cut_rows(recording.stack([*part.acceleration, *part.angular_rate]), window, "imu", part.file)


def _cut_rows(x: FloatArray, window: Window, name: str, file: str) -> FloatArray:
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


def door_angle(R_world_hinge: FloatArray) -> FloatArray:
    """(samples,) rad: turn of x about z since the first sample seen, both as they were then; NaN: not seen."""
    first = R_world_hinge[np.flatnonzero(np.isfinite(R_world_hinge[:, 0, 0]))[0]]
    x = R_world_hinge[:, :, 0]
    return np.asarray(np.arctan2(x @ first[:, 1], x @ first[:, 0]), dtype=float)


def barrow_angles(poses: Poses) -> dict[str, FloatArray]:
    """(samples,) each, as in the figure: contact (m); pitch and camber (asin of the z components of y_B and z_B)
    and yaw (heading of x_C), rad.
    """
    R, r = poses.rotation, poses.position
    yaw, seen = np.arctan2(-R[:, 0, 2], R[:, 1, 2]), poses.seen
    yaw[seen] = np.unwrap(yaw[seen])
    angles = {"pitch": np.arcsin(R[:, 2, 1]), "camber": np.arcsin(R[:, 2, 2]), "yaw": yaw}
    return {"contact x": r[:, 0], "contact y": r[:, 1], **angles}


def _from_contact(poses: Poses, w: FloatArray) -> FloatArray:
    """(samples, 6): a wrench (6,) at the contact, in its axes, as one at the axle in the object's axes."""
    R = poses.rotation
    y = R[:, :, 2] * [1.0, 1.0, 0.0]
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    up = np.broadcast_to([0.0, 0.0, 1.0], y.shape)
    axes = np.stack([np.cross(y, up), y, up], axis=2)
    force, moment = axes @ w[:3], axes @ w[3:]
    moment = moment - poses.position[:, 2:] * np.cross(up, force)
    return np.hstack([np.einsum("nij,ni->nj", R, v) for v in (force, moment)])


def published_data(
    experiment: Experiment[Any], fit: Fit, spans: Mapping[str, Sequence[Segment]], known: Sequence[str] = ()
) -> dict[str, Any]:
    """Parameters, RMS errors and condition number in the words of result.json; `known`: see `sides`."""
    config, solution = experiment.config, fit.solution
    spans = {kind: spans[kind] for kind in ("train", "test")}
    return {
        "title": config.title,
        "stage": config.stage,
        "parameters": {
            e.name: {"value": e.value, "unit": e.unit, "fixed": e.status is Status.FIXED and e.name not in known}
            for e in solution.estimates
        },
        "rms": {name: errors(fit, segments, known) for name, segments in spans.items()},
        "damping": solution.damping,
        "kappa_eff_paper": finite(solution.conditioning.kappa_eff_paper),
        "seconds": {name: sum(b - a for a, b in segments) for name, segments in spans.items()},
    }


def sides(fit: Fit, segments: Sequence[Segment], known: Sequence[str] = ()) -> tuple[FloatArray, FloatArray]:
    """y and f of the used samples, each (samples, rows); `known` parameters stand on the side of y (paper, eq.
    y_door_scalar).
    """
    if fit.inputs.imu is None:
        rows = fit.prediction.rows[fit.prediction.inside(segments)]
    else:  # a prediction at the load cell's rate may leave samples out
        rows = np.concatenate([fit.balance.rows(s) for s in segments])
    before = np.array([name in known for name in fit.inputs.model.parameters])
    Y, p = rows[:, :, :-1], fit.p
    return rows[:, :, -1] - Y[:, :, before] @ p[before], np.asarray(Y[:, :, ~before] @ p[~before], dtype=float)


def errors(fit: Fit, segments: Sequence[Segment], known: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """By row: RMS error with its unit, percent of the signal's range, and the share of the signal that is explained."""
    y, f = sides(fit, segments, known)
    size, reach = rms(y - f, 0), np.ptp(y, axis=0)
    explained = 1 - np.var(y - f, axis=0) / np.maximum(np.var(y, axis=0), 1e-300)
    return {
        row.name: {
            "value": float(size[i]),
            "unit": row.unit,
            "percent_of_range": float(100 * size[i] / reach[i]) if reach[i] > 0 else None,
            "explained": float(explained[i]),
        }
        for i, row in enumerate(fit.inputs.mechanism.rows)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A body in the authors' window: the reference cloud, its pose in every sample, and frames in the cloud."""

    names: tuple[str, ...]
    """Of the cloud, in the file's order, without the subject."""
    cloud: FloatArray
    """(markers, 3) m; NaN: never seen."""
    alignment: Alignment

    def place(self, name: str) -> FloatArray:
        """(3,) m: a marker in the cloud."""
        return self.cloud[self.names.index(name)]

    def rotation(self, R_cloud_frame: FloatArray) -> FloatArray:
        """(samples, 3, 3): a frame of the cloud in the world."""
        return self.alignment.rotation @ R_cloud_frame

    def position(self, r_cloud: FloatArray) -> FloatArray:
        """(samples, 3) m: a point of the cloud in the world."""
        return self.alignment.rotation @ r_cloud + self.alignment.position

    @property
    def error_m(self) -> float:
        """The paper's marker error, m."""
        return mean_error_m(self.alignment)


def mean_error_m(alignment: Alignment) -> float:
    """Mean distance of the visible markers from their places, averaged over the frames with a pose, m."""
    error = alignment.error[alignment.usable]
    each = np.asarray(np.nanmean(error, axis=1), dtype=float)
    return float(each.mean()) if len(each) else float("nan")


def read_markers(experiment: Experiment[Any], key: str, part: MocapPart) -> Markers:
    """All markers of a file, names without the subject, in its order."""
    found = markers_of(load_part(experiment, f"recordings.{key}", part))
    return Markers(tuple(n.rpartition(":")[2] for n in found.names), found.times_s, found.points)


def aligned_door(experiment: Experiment[Any], choices: BodyChoices, *, whole: bool = False) -> Aligned:
    """The door against the mean of its static file; `whole`: all rows of the file instead of the authors' window."""
    recordings = experiment.config.recordings
    assert recordings.mocap is not None
    assert recordings.static is not None
    markers, static = (
        read_markers(experiment, "mocap", recordings.mocap),
        read_markers(experiment, "static", recordings.static),
    )
    if markers.names != static.names:
        raise DataProblem(recordings.static.file, f"its markers are not those of {recordings.mocap.file}")
    points = markers.points if whole else _cut_markers(markers, choices, recordings.mocap.file)
    cloud = _mean(static.points)
    body = [markers.names.index(n) for n in experiment.config.markers.body]
    return Aligned(markers.names, cloud, align(points[:, body], cloud[body]))


def aligned_barrow(experiment: Experiment[Any], choices: BodyChoices) -> Aligned:
    """The wheelbarrow against the mean of some samples of its own window, heights from the floor."""
    recordings = experiment.config.recordings
    assert recordings.mocap is not None
    assert choices.reference is not None
    markers = read_markers(experiment, "mocap", recordings.mocap)
    points = _cut_markers(markers, choices, recordings.mocap.file) + np.array([0.0, 0.0, choices.raised_m])
    cloud = _mean(points[span(choices.reference)])
    return Aligned(markers.names, cloud, align(points, cloud))


def sensor_in_cloud(body: Aligned, part: SensorMarkersPart) -> FloatArray:
    """T_cloud_sensor (4, 4): x from p2 to p3, z along (p1 - p2) x x, y = -x x z, times the inverse of the machined
    offset as printed (FORMATS, Sensor frame).
    """
    p1, p2, p3 = (body.place(n) for n in part.markers)
    x = _unit(p3 - p2)
    z = _unit(np.cross(p1 - p2, x))
    machined = transform(np.array(part.offset.rotation), np.array(part.offset.translation))
    return transform(np.stack([x, -np.cross(x, z), z], axis=1), p2) @ np.linalg.inv(machined)


def hinge_in_cloud(body: Aligned, axis: Sequence[str], towards: str) -> FloatArray:
    """T_cloud_hinge (4, 4), z down."""
    points = np.array([body.place(n) for n in axis])
    return hinge_frame(points, body.place(towards), -np.array(UP))


def axle_in_cloud(body: Aligned, axle: Sequence[str], across: Sequence[Sequence[str]]) -> FloatArray:
    """T_cloud_axle (4, 4)."""
    along = np.sum([body.place(b) - body.place(a) for a, b in across], axis=0)
    return axle_frame(body.place(axle[0]), body.place(axle[1]), along)


def _cut_markers(markers: Markers, choices: BodyChoices, file: str) -> FloatArray:
    needed = choices.window.needed("mocap")
    if len(markers.points) < needed:
        raise DataProblem(file, f"it has {len(markers.points)} rows, the authors' window ends with row {needed}")
    return markers.points[choices.window.rows("mocap")]


def _mean(points: FloatArray) -> FloatArray:
    """(markers, 3): mean over the samples in which each was seen, NaN where it never was."""
    seen = np.asarray(np.isfinite(points).all(axis=2))
    count = seen.sum(axis=0)
    total = np.where(seen[:, :, None], points, 0.0).sum(axis=0)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)


def _unit(v: FloatArray) -> FloatArray:
    return np.asarray(v / np.linalg.norm(v), dtype=float)
