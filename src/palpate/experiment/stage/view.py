"""What the report of an identification shows beyond result.json: `picture` fills a `View`, and the report draws it.

It is the same for every mechanism: units decide how a quantity is shown, never the object's kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.drawing import Curves, draw_curves
from palpate.experiment.file.sensors import numbered
from palpate.experiment.stage.body import Body, MarkedBody
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import coordinates_of, projected, zeros_of
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.recordings import Instrument
from palpate.identify.shapes import Profile
from palpate.mechanisms.outline import edges
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, segment_mask
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.motion import Poses, transform
from palpate.physics.units import shown_in
from palpate.runtime.replay import Replay, Window

ARROWS, PATH, POSES = 48, 600, 600
"""Wrenches, points of a path and poses that are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateSeries:
    """One coordinate of the mechanism over time, on the view's clock; each array is (samples,), NaN where unknown."""

    name: str
    """As in `Mechanism.coordinates` where an element may act on it (hinge, slide, pitch), else as in its `state`."""
    unit: str
    """Of the position: "rad" for an angle (shown in degrees) or "m" for a length."""
    position: FloatArray
    """NaN throughout where the mechanism keeps no position, as of the way that a wheel has rolled."""
    speed: FloatArray
    """unit/s; NaN throughout where nothing is to be compared with it, as where a wheel went on the floor."""
    acceleration: FloatArray | None = None
    """unit/s2."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One more quantity over time."""

    name: str
    unit: str
    values: FloatArray
    """(samples,); NaN where unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Vectors in space: forces (N) or moments (N m) at points (m); both (n, 3)."""

    name: str
    unit: str
    at: FloatArray
    vectors: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Frames, markers, paths and wrenches in one frame, m."""

    frame: str
    """In whose axes: capture, sensor."""
    frames: Mapping[str, FloatArray]
    """(4, 4) by name, at one instant."""
    markers: FloatArray
    """(n, 3), at that instant; none: (0, 3)."""
    marker_names: tuple[str, ...] = ()
    paths: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    """(n, 3) each: where an origin went; NaN: a gap."""
    arrows: tuple[Arrows, ...] = ()
    points: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    """(3,) each: a centre of mass."""
    outline: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 3)))
    """(lines, 2, 3): what the mechanism looks like at that instant, of typical size."""
    motion: Poses | None = None
    """How the body moves on from that instant: poses of a frame that stands as the scene's then, some of them."""
    at_s: float = 0.0
    """The instant."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What the figures show; arrays (samples,) or (samples, rows) on the reference clock at the motion's rate.

    Everything after `segments` may be missing: what is not there is not drawn.
    """

    model: Model
    """With values; its mechanism names the rows and their units."""
    times_s: FloatArray
    reference: FloatArray
    """(samples, rows): measured free rows, N or N m, anti-aliased, not smoothed further."""
    estimate: FloatArray
    """(samples, rows): the model's; NaN where it does not speak."""
    used: BoolArray
    """(samples,): where the model speaks, as `Balance.used`; not at rest, at a stop, or where something is unknown."""
    resting: BoolArray
    """(samples,): at rest."""
    segments: Mapping[str, Sequence[tuple[float, float]]]
    """static, quasi_static, train, test: seconds, half-open."""
    coordinates: tuple[CoordinateSeries, ...] = ()
    """Of the mechanism, in the order of its state: positions are drawn over time, and residuals over all of it."""
    series: tuple[Series, ...] = ()
    """Further quantities to draw over time: a handle's acceleration and angular rate."""
    profiles: tuple[Profile, ...] = ()
    replay: tuple[Window, ...] = ()
    """The windows that count, in the order of time."""
    body: Body | None = None
    """As its poses show it."""
    instruments: Mapping[str, Instrument] = field(default_factory=dict[str, Instrument])
    """The others, by their key under `recordings`."""
    scene: Scene | None = None

    @property
    def main(self) -> CoordinateSeries | None:
        """The coordinate that figures have on their x-axis, where the mechanism has one and it moved."""
        series = next((c for c in self.coordinates if c.name == self.model.mechanism.main), None)
        known = np.zeros(0) if series is None else series.position[np.isfinite(series.position)]
        return series if len(known) and known.min() < known.max() else None

    def plot(self, title: str) -> Any:
        """The coordinates, then measured, estimated and measured minus estimated effort, as a Matplotlib figure."""
        panels = list[Curves]()
        for series in self.coordinates:
            if np.isfinite(series.position).any():
                factor, unit = shown_in(series.unit)
                panels.append(Curves(f"{series.name}, {unit}", {series.name: (self.times_s, factor * series.position)}))
        for i, row in enumerate(self.model.mechanism.rows):
            measured, told = self.reference[:, i], self.estimate[:, i]
            both = {"measured": (self.times_s, measured), "estimated": (self.times_s, told)}
            left = {"measured - estimated": (self.times_s, measured - told)}
            panels.append(Curves(f"{row.name}, {row.unit}", both))
            panels.append(Curves(f"measured - estimated,\n{row.unit}", left))
        return draw_curves(panels, title, self.segments)

    def within(self, *names: str) -> BoolArray:
        """(samples,): inside one of these segments."""
        return segment_mask(self.times_s, [span for name in names for span in self.segments.get(name, ())])


def picture(prepared: Prepared, fit: Fit, replay: Replay | None) -> View:
    """Everything that the figures of an identification show."""
    inputs, seen, captured = fit.inputs, fit.prediction, prepared.capture
    return View(
        model=fit.solution.model,
        times_s=seen.times_s,
        reference=seen.rows[:, :, -1] if inputs.imu is not None else projected(fit.balance),
        estimate=np.where(seen.used[:, None], seen.rows[:, :, :-1] @ fit.p, np.nan),
        used=seen.used,
        resting=fit.moved.resting[seen.at],
        segments=prepared.segments,
        coordinates=_coordinates(fit),
        series=_series(fit),
        profiles=() if fit.shaped is None else fit.shaped.profiles,
        replay=() if replay is None else replay.windows,
        body=None if captured is None else captured.body,
        instruments=prepared.instruments,
        scene=_scene(fit) if captured is None else _capture_scene(captured.body, prepared, fit),
    )


def _coordinates(fit: Fit) -> tuple[CoordinateSeries, ...]:
    """Of the mechanism's state; a wheel's place on the floor counts from its mean, its way ahead has no position."""
    inputs, mechanism = fit.inputs, fit.inputs.mechanism
    if inputs.imu is not None or not mechanism.coordinates:
        return ()
    c, at = coordinates_of(inputs), fit.prediction.at
    unknown, series = np.full(len(at), np.nan), list[CoordinateSeries]()
    names = mechanism.state if mechanism.main is None else (mechanism.main,)
    for i, (name, unit) in enumerate(zip(names, mechanism.position_units, strict=False)):
        columns: list[FloatArray] = [x[at, i] for x in (c.position, c.speed, c.acceleration)]
        if unit == "m" and mechanism.main is None:
            series.append(CoordinateSeries(name, unit, columns[0] - float(np.nanmean(columns[0])), unknown))
        else:
            series.append(CoordinateSeries(name, unit, *columns))
    if mechanism.main is not None:
        return tuple(series)
    ahead = mechanism.speeds_of(c.position, c.speed)[at, 0]
    forward = mechanism.accelerations_of(c.position, c.speed, c.acceleration)[at, 0]
    return (*series, CoordinateSeries("forward", "m", unknown, ahead, forward))


def _series(fit: Fit) -> tuple[Series, ...]:
    """A free body's acceleration and angular rate."""
    if fit.inputs.mechanism.coordinates:
        return ()
    k, at = fit.balance.kinematics, fit.prediction.at
    groups = (("a", "m/s2", k.specific_acceleration), ("ω", "rad/s", k.omega))
    return tuple(
        Series(f"{letter}_{axis}", unit, np.asarray(s)[at])
        for letter, unit, triple in groups
        for axis, s in zip("xyz", triple, strict=True)
    )


def _scene(fit: Fit) -> Scene | None:
    """The sensor with its IMU, the centre of mass, and the forces that moved the object, in the sensor's axes."""
    mounted = fit.inputs.imu
    if mounted is None:
        return None
    w = fit.prediction.rows[:, :, -1]
    m, *first = (fit.solution.model.values[n] for n in PHI_NAMES[:4])
    centre = np.array(first) / m if m > 0 else np.full(3, np.nan)
    here = Poses(fit.prediction.times_s, np.broadcast_to(np.eye(3), (len(w), 3, 3)), np.zeros((len(w), 3)))
    frames = {"sensor": np.eye(4), "IMU": mounted.T_body_imu}
    arrows = tuple(_arrows("sensor", here, w))
    return Scene("sensor", frames, np.zeros((0, 3)), arrows=arrows, points={"centre of mass": centre})


def _capture_scene(body: Body, prepared: Prepared, fit: Fit) -> Scene:
    """Markers and frames at one instant, paths of the sensors, and the wrenches along them in the test segments."""
    seen = body.poses.seen
    during = seen & segment_mask(body.poses.times_s, prepared.segments["test"])
    inside = during if during.any() else seen
    at = int(np.flatnonzero(inside)[inside.sum() // 2])
    arrows, paths = list[Arrows](), dict[str, FloatArray]()
    for i, w in enumerate(fit.inputs.measured - zeros_of(fit.inputs)[:, None]):
        name = numbered("sensor", i + 1)
        poses, word = body.poses_of(name), name.replace("_", " ")
        path = np.where(seen[:, None], poses.position, np.nan)
        paths[f"path of the {word}"] = path[:: max(1, -(-len(path) // PATH))]
        arrows += _arrows(word, poses, np.where(inside[:, None], w, np.nan))
    T = transform(body.poses.rotation[at], body.poses.position[at])
    return replace(body_scene(body, at), paths=paths, arrows=tuple(arrows), outline=_outline(T, body, fit))


def body_scene(body: Body, at: int, frames: Mapping[str, FloatArray] | None = None) -> Scene:
    """Markers and frames of a body at one of its poses, and how it moves on; frames: others than its own, in it."""
    seen, poses = np.flatnonzero(body.poses.seen), body.poses
    T, some = transform(poses.rotation[at], poses.position[at]), seen[:: max(1, -(-len(seen) // POSES))]
    R, r = poses.rotation[some] @ T[:3, :3].T, poses.position[some]
    marked = isinstance(body, MarkedBody)
    return Scene(
        "capture",
        {name: T @ frame for name, frame in (body.frames if frames is None else frames).items()},
        body.cloud.points @ T[:3, :3].T + T[:3, 3] if marked else np.zeros((0, 3)),
        tuple(n.rsplit(":", 1)[-1] for n in body.cloud.names) if marked else (),
        motion=Poses(poses.times_s[some], R, r - R @ T[:3, 3]),
        at_s=float(poses.times_s[at]),
    )


def _outline(T: FloatArray, body: Body, fit: Fit) -> FloatArray:
    """What moves of the mechanism's outline, where its frame is in the body at this pose, the hand at the sensors."""
    first, sensors = numbered("sensor", 1), fit.inputs.sensors
    if first not in body.frames or not sensors:
        return np.zeros((0, 2, 3))
    T_scene_body = T @ body.frames[first] @ np.linalg.inv(sensors[0].T_body_sensor)
    x, y, z = np.mean([s.T_body_sensor[:3, 3] for s in sensors], axis=0).tolist()
    solids = fit.inputs.mechanism.outline((x, y, z)).solids
    lines = np.concatenate([edges(s) for s in solids if s.part != "frame"])
    return np.asarray(lines @ T_scene_body[:3, :3].T + T_scene_body[:3, 3], dtype=float)


def _arrows(name: str, poses: Poses, wrench: FloatArray) -> list[Arrows]:
    """At most `ARROWS` of the wrenches (samples, 6) in the frame of these poses, evenly spread."""
    known = np.flatnonzero(np.isfinite(wrench).all(axis=1))
    some = known[np.linspace(0, len(known) - 1, min(ARROWS, len(known))).astype(int)]
    at, turned = poses.position[some], np.einsum("nij,nkj->kni", poses.rotation[some], wrench[some].reshape(-1, 2, 3))
    kinds = zip((("force", "N"), ("moment", "N m")), turned, strict=True)
    return [Arrows(f"{kind} at the {name}", unit, at, vectors) for (kind, unit), vectors in kinds if len(some)]
