"""Door and wheelbarrow as the paper's authors identified them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.experiment.body_fit import quasi_static_spring
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment
from palpate.experiment.reproduce_choices import BODIES
from palpate.experiment.reproduce_markers import (
    aligned_barrow,
    aligned_door,
    axle_in_cloud,
    hinge_in_cloud,
    sensor_in_cloud,
)
from palpate.experiment.reproduce_published import (
    BODY_HZ,
    PublishedFit,
    Trace,
    begun_at_prior,
    cleaned,
    cut_wrench,
    published_data,
    published_prior,
    seconds,
    sides,
    weight_wrench,
)
from palpate.experiment.rolling_inputs import with_radius
from palpate.experiment.telling import Tell
from palpate.identify import Balance, Solution, build_balance, compress, solve
from palpate.mechanisms import Hinge, Rolling
from palpate.mechanisms.mechanism import Mechanism, Row
from palpate.motion.derivatives.differentiate import coordinate_motion, published_pose_motion
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Coordinate, Kinematics
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.spatial import wrench_transmission

HEIGHT = "height"


def fit_published_door(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """The door in two steps: the spring from slow samples, then inertia and friction (paper, eq. opt_door)."""
    choices, config = BODIES[name], experiment.config
    hinge, sensor, part = config.markers.hinge, config.markers.sensor, config.recordings.wrench
    assert hinge is not None
    assert hinge.towards is not None
    assert sensor is not None
    assert part is not None
    assert choices.quasi_static is not None
    tell("aligning the markers")
    body = aligned_door(experiment, choices)
    T_cloud_hinge, T_cloud_sensor = hinge_in_cloud(body, hinge.axis, hinge.towards), sensor_in_cloud(body, sensor)
    angle = door_angle(body.rotation(T_cloud_hinge[:3, :3]))
    tell("reading the load cell")
    measured = cut_wrench(experiment, part, choices.window, "wrench")
    weight = weight_wrench(choices, config.gravity, body.rotation(T_cloud_sensor[:3, :3]))
    T = np.linalg.inv(T_cloud_hinge) @ T_cloud_sensor
    wrench = cleaned(measured, weight, choices.still) @ wrench_transmission(T[:3, :3], T[:3, 3]).T
    tell("solving")
    times, (window, order) = np.arange(len(angle)) / BODY_HZ, choices.smooth
    found = coordinate_motion(times, angle, window_s=window / BODY_HZ, order=order, ends=True)
    model = object_model(experiment)
    assert isinstance(model.mechanism, Hinge)
    motion = model.mechanism.motion(times, np.stack([found.position, found.speed], axis=1), found.acceleration[:, None])
    used = np.isfinite(found.acceleration) & np.isfinite(wrench).all(axis=1)
    balance = build_balance(model, motion, np.where(used[:, None], wrench, 0.0), sigma=[1.0], used=used)
    spring = quasi_static_spring(balance, [seconds(choices.quasi_static, BODY_HZ)])
    train, test = [seconds(s, BODY_HZ) for s in choices.train], [seconds(choices.test, BODY_HZ)]
    solution = solve(compress(balance, train), fixed=spring.values)
    known = tuple(spring.values)
    data = published_data(experiment, balance, solution, {"train": train, "test": test}, known)
    shown = used & (times >= test[0][0]) & (times < test[0][1])
    y, f = sides(balance, solution, test, known)
    trace = Trace(times[shown] - test[0][0], {"angle": found.position[shown]}, ("n_z",), y, f)
    return PublishedFit({**data, "marker_error_m": body.error_m}, trace, solution)


def door_angle(R_world_hinge: FloatArray) -> FloatArray:
    """(samples,) rad: turn of x about z since the first sample seen, both as they were then; NaN: not seen."""
    first = R_world_hinge[np.flatnonzero(np.isfinite(R_world_hinge[:, 0, 0]))[0]]
    x = R_world_hinge[:, :, 0]
    return np.asarray(np.arctan2(x @ first[:, 1], x @ first[:, 0]), dtype=float)


@dataclass(frozen=True, slots=True)
class PaperContact(Mechanism):
    """`Rolling` as the paper writes its balance: the moments about the contact, which is straight below the axle at
    its measured height (eq. pC, r_CR), and a wheel that turns with v_x / R_w.
    """

    rolling: Rolling = field(default_factory=Rolling)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The moments (paper, eq. Pi)."""
        return self.rolling.rows[:3]

    @property
    def coordinates(self) -> Mapping[str, str]:
        """As of the rolling object, and the height."""
        return {**self.rolling.coordinates, HEIGHT: "m"}

    @property
    def constant_projection(self) -> bool:
        """It changes with the angles."""
        return False

    @property
    def state(self) -> tuple[str, ...]:
        """As of the rolling object."""
        return self.rolling.state

    @property
    def accelerations(self) -> tuple[str, ...]:
        """As of the rolling object."""
        return self.rolling.accelerations

    def observe(self, motion: Motion) -> Kinematics:
        """As of the rolling object, with the measured height."""
        assert motion.poses is not None
        return self._three(self.rolling.observe(motion), motion.poses.position[:, 2])

    def expand(
        self, state: Sequence[Scalar], acc: Sequence[Scalar], z: Mapping[str, Scalar], fn: Functions
    ) -> Kinematics:
        """As of the rolling object, at the height of its radius."""
        return self._three(self.rolling.expand(state, acc, z, fn), self.rolling.radius)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """W_CB w, moments only: r_CB x f with the measured height instead of the radius."""
        n_x, n_y, n_z, f_x = self.rolling.project(k, wrench, fn)
        # f_y is what the height of one metre more or less would change in n_x
        f_y = self.rolling.project(k, [*wrench[:3], 0.0, 0.0, 0.0], fn)[0] / -self.rolling.radius
        more = k.coordinates[HEIGHT].position - self.rolling.radius
        return (n_x - more * f_y, n_y + more * f_x, n_z)

    def _three(self, k: Kinematics, height: Scalar) -> Kinematics:
        own = {n: replace(c, ratio=c.ratio[:3]) for n, c in k.coordinates.items()}
        return replace(k, coordinates={**own, HEIGHT: Coordinate(height, 0.0, 0.0, (0.0, 0.0, 0.0))})


def fit_published_barrow(name: str, experiment: Experiment[Any], tell: Tell) -> PublishedFit:
    """The wheelbarrow: moments about the contact, mass known, damped towards the CAD prior (paper, eq.
    optimization_wb).
    """
    choices, config = BODIES[name], experiment.config
    axle, recordings = config.markers.axle, config.recordings
    assert axle is not None
    assert axle.radius is not None
    assert config.known_mass is not None
    tell("aligning the markers")
    body = aligned_barrow(experiment, choices)
    T_cloud_axle = axle_in_cloud(body, axle.axle, axle.across)
    times = np.arange(len(body.alignment.rotation)) / BODY_HZ
    poses = Poses(times, body.rotation(T_cloud_axle[:3, :3]), body.position(T_cloud_axle[:3, 3]))
    window, order = choices.smooth
    gravity = (0.0, 0.0, -config.gravity)
    motion = published_pose_motion(poses, gravity=gravity, window=window, order=order).motion
    tell("reading the load cells")
    fixed = _from_contact(poses, np.array(choices.at_contact))
    wrench = -fixed
    for key, part, markers in (
        ("wrench", recordings.wrench, config.markers.sensor),
        ("wrench_2", recordings.wrench_2, config.markers.sensor_2),
    ):
        assert part is not None
        assert markers is not None
        T_cloud_sensor = sensor_in_cloud(body, markers)
        measured = cut_wrench(experiment, part, choices.window, key)
        weight = weight_wrench(choices, config.gravity, body.rotation(T_cloud_sensor[:3, :3]))
        T = np.linalg.inv(T_cloud_axle) @ T_cloud_sensor
        wrench = wrench + cleaned(measured, weight, choices.still) @ wrench_transmission(T[:3, :3], T[:3, 3]).T
    tell("solving")
    model = with_radius(object_model(experiment), axle.radius)
    assert isinstance(model.mechanism, Rolling)
    mechanism = PaperContact(rolling=replace(model.mechanism, wheel_speed="published"))
    model = replace(model, mechanism=mechanism)
    used = np.asarray(np.isfinite(motion.omega_dot).all(axis=1) & np.isfinite(wrench).all(axis=1))
    train, test = [seconds(s, BODY_HZ) for s in choices.train], [seconds(choices.test, BODY_HZ)]
    prior, mass = published_prior(name, experiment), config.known_mass.value

    def fitted(w: FloatArray) -> tuple[Balance, Solution]:
        made = build_balance(model, motion, np.where(used[:, None], w, 0.0), sigma=[1.0] * 3, used=used)
        found = solve(compress(made, train), prior=prior, factor="UtU", known_mass=mass)
        return made, begun_at_prior(found)

    balance, solution = fitted(wrench)
    without = fitted(wrench + fixed)[1]
    data = published_data(experiment, balance, solution, {"train": train, "test": test})
    shown = used & (times >= test[0][0]) & (times < test[0][1])
    y, f = sides(balance, solution, test)
    series = {n: v[shown] for n, v in barrow_angles(poses).items()}
    trace = Trace(times[shown] - test[0][0], series, tuple(r.name for r in mechanism.rows), y, f)
    more = {"marker_error_m": body.error_m, "without_correction": {e.name: e.value for e in without.estimates}}
    return PublishedFit({**data, **more}, trace, solution)


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
