"""An object that rolls: which way is up, when its feet are down, how large its wheel is, and what its friction owes to
the load on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from palpate.elements import Foot, FootFriction, Parameter
from palpate.elements.element import Element
from palpate.errors import PalpateError
from palpate.experiment.stage.base import base_of, unsettled
from palpate.experiment.stage.capture import CapturedMotion
from palpate.experiment.stage.fit import Fit, Rolled, solve_with
from palpate.experiment.stage.inputs import compressed, time_from
from palpate.files import finite
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion.derivatives import coordinate_motion, derivative_noise, signal_noise, stretches, window_samples
from palpate.motion.extrinsics import Tilt
from palpate.motion.wheels import level_axes
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, rate_hz, segment_mask, symmetric_inverse
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import PHI_NAMES, body_regressor
from palpate.physics.motion import Coordinate, Kinematics, Poses, exp_rotation

FLOOR_RAD = np.radians(0.1)
"""How far off level a laboratory's floor may be: two millimetres a metre."""
CAPTURE_RAD = np.radians(1.0)
"""How far off z of a capture frame that was set up on the floor may be: all that is known across a straight path."""
TO_UP = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""Of rotations about x and y -> of up's components: up = (y, -x, 1)."""
BOARD_M = 5e-4
"""Unevenness of a floor, beside the markers' noise."""
SIGNIFICANT, SHRUNK = 4.0, 3.0
DOWN_M = 0.005
"""A foot that is not higher than this above where it stands may touch the ground."""
UPWARDS = 0.2
"""Of x of the axle's frame, along the vertical: no object that rolls lies so far on its back."""
CLEAR_S = 0.1
"""From a foot on the ground: it knocks."""
RESTS_S = 0.3
NEAR_M = 0.04
"""A marker on a foot is not higher than this above the floor while the foot stands on it."""
RADIUS_HINT, RADIUS_OFF = 0.01, 0.05
"""Shares by which the no-slip condition asks for another radius: friction and inertia are off by as much, which is a
warning; beyond the second something is wrong."""
SLIPS_RAD = np.radians(0.5)
"""A tyre that goes aside by less does not slip: what it changes is below a hundredth."""
ALIKE_S, NOISE_S = 1.0, 0.11
"""Residuals so near in time say the same; what a window as short as the second leaves of a lean is noise."""
SLOW_S = 0.4
"""Window of the derivatives by which a radius is judged: noise of a turn's speed would make the wheel look smaller."""
LEANS_DEG, TURNS_DEG = 3.0, 10.0
"""What is held may stray so far within a segment: soft tyres, a floor that is not even, a hand."""
LOAD, WHEEL = "load", "wheel"
GIVES_M = 1e-3
"""How far a foot gives way under half of the object's weight: steel or rubber on a hard floor, and the floor."""
LOSES = 10.0
"""s/m, damping over stiffness: at 0.1 m/s a foot pushes twice as hard on the way down as on the way up."""
MU = 0.6
"""Friction of a foot on the ground: steel or rubber on concrete, 0.4 to 0.8."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A rolling object on its floor."""

    poses: Poses
    """Of the axle's frame in a world whose z is the floor's normal."""
    up: FloatArray
    """(2,): components of up along the floor."""
    root: FloatArray
    """(4, 4): how vertical and floor may be off, about x and y each, in columns of one standard deviation, rad."""
    vertical: str
    """Where that was taken from, in words."""
    grounded: BoolArray
    """(samples,): a foot is on the ground, or may be ..."""
    blocked: BoolArray
    """... and the time around it."""
    points: tuple[tuple[float, float, float], ...]
    """Where feet touch the ground, m in the object's frame, left first; none where it never stands."""
    findings: tuple[Finding, ...]
    T_cloud_body: FloatArray = field(default_factory=lambda: np.eye(4))
    """The object's frame among the markers."""
    frame_root: FloatArray = field(default_factory=lambda: np.zeros((6, 0)))
    """(6, n): how that may be off, see `Inputs.frame_root`."""


def ground_of(
    captured: CapturedMotion,
    mechanism: Mechanism,
    segments: Mapping[str, Sequence[Segment]],
    static: Segment | None,
    *,
    marked: bool = True,
) -> Ground:
    """Level the object's poses, and find when feet are down, or where a fixed axle is; marked: markers sit on it."""
    poses = captured.body.poses_of(mechanism.floor)
    tilt = None if captured.placement is None else captured.placement.tilt
    known = _directions(poses, tilt)
    normal, findings = known.normal, list(known.findings)
    level = _levelling(normal)
    if mechanism.wheel is None:
        poses = Poses(poses.times_s, level @ poses.rotation, poses.position @ level.T)
        base = base_of(poses, captured.body, mechanism, segments, marked=marked)
        ground = Ground(
            base.poses,
            (level @ known.up)[:2],
            _root(known.covariance),
            known.vertical,
            grounded=np.zeros(len(poses), dtype=bool),
            blocked=unsettled(base.poses, mechanism, segments),
            points=(),
            findings=(*findings, *base.findings),
        )
        return replace(ground, T_cloud_body=base.T_cloud_body, frame_root=base.root)
    if mechanism.wheel.moves == "planar":  # it goes along x of its frame, which is the mean heading
        axle = np.nanmean((level @ poses.rotation)[:, :2, 2], axis=0)
        level = exp_rotation(np.array([0.0, 0.0, -float(np.arctan2(-axle[0], axle[1]))])) @ level
    poses = Poses(poses.times_s, level @ poses.rotation, poses.position @ level.T)
    T_axle_cloud = np.linalg.inv(captured.body.frames["axle"])
    places = captured.body.feet @ T_axle_cloud[:3, :3].T + T_axle_cloud[:3, 3]
    grounded, points, never = _feet_down(poses, places, static, mechanism.wheel.radius)
    findings += [*never, *held_findings(poses, segments, mechanism)]
    if float(np.nanmedian(poses.rotation[:, 2, 0])) > UPWARDS:
        wrong = "x of the frame on the axle points up instead of down"
        remedy = "exchange the two markers of markers.axle.axle, or those of each pair of markers.axle.across"
        evidence = f"{wrong}: z runs along the axle to the left, y to the handles"
        findings.append(Finding("axle", evidence, "markers.axle", remedy, Severity.FATAL))
    if not len(places):
        evidence = "the feet are assumed to be off the ground in the segments"
        findings.append(Finding("feet", evidence, "markers.feet names none"))
    blocked = time_from(poses.times_s, grounded) <= CLEAR_S
    root = _root(known.covariance)
    up, T_cloud_body = (level @ known.up)[:2], captured.body.frames[mechanism.floor]
    return Ground(poses, up, root, known.vertical, grounded, blocked, points, tuple(findings), T_cloud_body)


def _levelling(normal: FloatArray) -> FloatArray:
    """(3, 3): the shortest rotation that turns a direction (3,) to z."""
    sine = float(np.hypot(normal[0], normal[1]))
    if sine < 1e-12:
        return np.eye(3)
    axis = np.array([normal[1], -normal[0], 0.0])
    return exp_rotation(axis / sine * float(np.arctan2(sine, normal[2])))


def levelled(poses: Poses, tilt: Tilt | None) -> tuple[Poses, FloatArray]:
    """Poses in a world whose z points up, and (4, 2) as `Ground.root`: by an IMU's tilt of the capture frame, and by
    that frame itself, which is known to `CAPTURE_RAD`; nothing rolls on a floor.
    """
    of_up, pull = np.eye(2) / CAPTURE_RAD**2, np.zeros(2)
    if tilt is not None:
        by_imu = symmetric_inverse(TO_UP @ tilt.covariance @ TO_UP.T)
        of_up, pull = of_up + by_imu, by_imu @ np.array(tilt.up[:2])
    covariance = symmetric_inverse(of_up)
    x, y = covariance @ pull
    level = _levelling(np.array([x, y, np.sqrt(1 - x * x - y * y)]))
    root = np.zeros((4, 2))
    root[:2] = TO_UP.T @ np.linalg.cholesky(covariance)
    return Poses(poses.times_s, level @ poses.rotation, poses.position @ level.T), root


@dataclass(frozen=True, slots=True, eq=False)
class _Directions:
    """Up and the floor's normal in the capture frame, estimated together."""

    up: FloatArray
    normal: FloatArray
    covariance: FloatArray
    """(4, 4), rad2: of the level components of up, and of the normal."""
    vertical: str
    findings: tuple[Finding, ...]


def _directions(axle: Poses, tilt: Tilt | None) -> _Directions:
    """From the plane in which the axle's middle rolls, the IMU and the capture frame, each as good as it can be.

    A wheel that stays on the floor keeps its middle at one height above it: the plane shows the normal, which is up as
    far as the floor is level. An accelerometer's zero tells up to a few tenths of a degree.
    """
    slope, of_slope = _floor(axle)
    rolled, level = symmetric_inverse(of_slope), np.eye(2) / FLOOR_RAD**2
    of_up, pull = np.eye(2) / CAPTURE_RAD**2, np.zeros(2)
    words = f"floor under the wheel {np.degrees(np.hypot(*slope)):.2f} deg off the capture frame's z"
    findings: list[Finding] = []
    if tilt is not None:
        other, by_imu = np.array(tilt.up[:2]), TO_UP @ tilt.covariance @ TO_UP.T
        apart = other - slope
        if float(apart @ symmetric_inverse(by_imu + of_slope + FLOOR_RAD**2 * np.eye(2)) @ apart) > SIGNIFICANT**2:
            evidence = (
                f"by the IMU up is {np.degrees(np.hypot(*apart)):.2f} deg off the normal of the floor on which the "
                "wheel rolls: the floor slopes, or the accelerometer's zero is off (accelerometer_zero)"
            )
            findings.append(Finding("vertical", evidence))
        of_up, pull = of_up + symmetric_inverse(by_imu), symmetric_inverse(by_imu) @ other
        words += f", by the IMU {np.degrees(np.hypot(*other)):.2f} deg"
    information = np.block([[of_up + level, -level], [-level, rolled + level]])
    covariance = symmetric_inverse(information)
    best = covariance @ np.concatenate([pull, rolled @ slope])
    up, normal = (np.array([x, y, 1.0]) for x, y in best.reshape(2, 2))
    up, normal = up / np.linalg.norm(up), normal / np.linalg.norm(normal)
    return _Directions(up, normal, covariance, words, tuple(findings))


def _root(covariance: FloatArray) -> FloatArray:
    """(4, 4) rotations about x and y, of the vertical and of the floor: first the vertical alone, then both together.

    covariance: of their level components, which are (y, -x) of the rotations.
    """
    turn = TO_UP.T
    vertical, both, floor = covariance[:2, :2], covariance[:2, 2:], covariance[2:, 2:]
    of_floor = np.linalg.cholesky(floor)
    follows = both @ symmetric_inverse(floor) @ of_floor
    alone = np.linalg.cholesky(vertical - follows @ follows.T)
    return np.asarray(np.block([[turn @ alone, turn @ follows], [np.zeros((2, 2)), turn @ of_floor]]), dtype=float)


def _floor(axle: Poses) -> tuple[FloatArray, FloatArray]:
    """Level components of the normal of the plane in which the axle's middle rolls, and their covariance."""
    points = axle.position[axle.seen]
    away = points - points.mean(axis=0)
    tangents = least_squares(away[:, :2], away[:, 2])
    left = float(np.std(away[:, 2] - away[:, :2] @ tangents))
    # neighbours in time say the same, and so do neighbours on the floor
    seconds = float(axle.seen.mean() * (axle.times_s[-1] - axle.times_s[0]))
    scatter = away[:, :2].T @ away[:, :2] / len(away) * max(seconds / ALIKE_S, 1.0)
    covariance = (left**2 + BOARD_M**2) * symmetric_inverse(scatter + 1e-12 * np.eye(2))
    return -tangents / np.sqrt(1 + tangents @ tangents), covariance


def turned(poses: Poses, turn: FloatArray) -> Poses:
    """The same poses in a world that is turned by a rotation vector (3,), rad."""
    R = exp_rotation(turn)
    return Poses(poses.times_s, R @ poses.rotation, poses.position @ R.T)


def lowest(poses: Poses, place: FloatArray) -> BoolArray:
    """(samples,): when a place (3,) of the object, m, is as low as it ever is, and the time around it."""
    height = (poses.position + poses.rotation @ place)[:, 2]
    down = np.isfinite(height) & (height < np.nanpercentile(height, 0.5) + 2 * DOWN_M)
    return np.asarray(time_from(poses.times_s, down) <= CLEAR_S)


def _feet_down(
    poses: Poses, places: FloatArray, static: Segment | None, radius_m: float
) -> tuple[BoolArray, tuple[tuple[float, float, float], ...], list[Finding]]:
    """When feet (n, 3, m, markers near them in the object's frame) are as low as where they stand, and where they do.

    They stand in the static segment, or where they are lowest and stay for a while, near the floor under the wheel.
    """
    grounded, points = np.zeros(len(poses), dtype=bool), list[tuple[float, float, float]]()
    times, high = poses.times_s, list[float]()
    for place in places[np.argsort(-places[:, 2])]:
        if not np.isfinite(place).all():
            continue
        height = (poses.position + poses.rotation @ place)[:, 2]
        lowest = float(np.nanpercentile(height, 0.5))
        at, stands = np.isfinite(height) & (np.abs(height - lowest) < DOWN_M), False
        if static is not None:
            inside = np.isfinite(height) & segment_mask(times, [static])
            if inside.any() and float(np.median(height[inside])) < lowest + 2 * DOWN_M:
                lowest, at, stands = float(np.median(height[inside])), inside, True
        rests = stretches(times, at, max(3, round(RESTS_S / float(np.median(np.diff(times))))))
        if not rests:
            continue
        still = np.concatenate([np.arange(a, b) for a, b in rests])
        floor = float(poses.position[still, 2].mean()) - radius_m
        if not stands and lowest - floor > NEAR_M:
            high.append(lowest - floor)
            continue
        grounded |= np.isfinite(height) & (height < lowest + DOWN_M)
        up = poses.rotation[still, 2, :].mean(axis=0)
        x, y, z = (place - (lowest - floor) * up).tolist()
        points.append((x, y, z))
    if not high:
        return grounded, tuple(points), []
    evidence = (
        f"never nearer than {100 * min(high):.0f} cm to the floor on which the wheel rolls: they are assumed to "
        "be in the air throughout, and where they touch the ground is unknown"
    )
    return grounded, tuple(points), [Finding("feet", evidence, "markers.feet", "record it standing (segments.static)")]


def held_findings(poses: Poses, segments: Mapping[str, Sequence[Segment]], mechanism: Mechanism) -> list[Finding]:
    """Numbers that the mechanism hides, and segments in which the object leans or turns though it is said not to."""
    assert mechanism.wheel is not None
    moves = mechanism.wheel.moves
    if moves == "full":
        return []
    findings: list[Finding] = []
    if mechanism.hidden:
        evidence = (
            "an object that goes straight and upright neither shows nor needs them; without a prior they get no "
            "number, and the model holds any body that moves the same way instead"
        )
        findings.append(Finding("hidden", evidence, ", ".join(mechanism.hidden)))
    strays = [text for kind in ("train", "test") for s in segments[kind] for text in _strays(poses, kind, s, moves)]
    if strays:
        held, but = "goes straight and upright" if moves == "planar" else "stays upright", _first(strays, 3)
        evidence = f"the object is described as one that {held}, but it {but}: the effort for that remains in the error"
        remedy = "choose an object that may do so (mechanism: {moves: full} has all freedoms)"
        findings.append(Finding("held", evidence, remedy=remedy))
    return findings


def _first(words: Sequence[str], most: int) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def _strays(poses: Poses, kind: str, segment: Segment, moves: str) -> list[str]:
    inside = poses.seen & segment_mask(poses.times_s, [segment])
    if not inside.any():
        return []
    axle, where = poses.rotation[inside, :, 2], f"in segments.{kind} {segment[0]:g} to {segment[1]:g} s"
    lean = float(np.degrees(np.ptp(np.arcsin(np.clip(axle[:, 2], -1.0, 1.0)))))
    turn = float(np.degrees(np.ptp(np.unwrap(np.arctan2(-axle[:, 0], axle[:, 1])))))
    strays = [f"leans by {lean:.1f} deg {where}"] if lean > LEANS_DEG else []
    return strays + ([f"turns by {turn:.0f} deg {where}"] if moves == "planar" and turn > TURNS_DEG else [])


def feet_findings(ground: Ground, segments: Mapping[str, Sequence[Segment]]) -> list[Finding]:
    """Feet on the ground inside segments: how long, and when."""
    times, findings = ground.poses.times_s, list[Finding]()
    for kind in ("train", "test"):
        down = ground.grounded & segment_mask(times, segments[kind])
        spans = stretches(times, down, 2)
        if not spans:
            continue
        when = [f"{times[a]:.1f} to {times[b - 1]:.1f} s" for a, b in spans]
        evidence = (
            f"a foot is on the ground for {down.sum() / rate_hz(times):.1f} s ({_first(when, 5)}): these samples are "
            "left out, because the ground carries an unknown share then"
        )
        findings.append(Finding("feet", evidence, f"segments.{kind}"))
    return findings


def rolled_by_axle(poses: Poses, used: BoolArray, radius_m: float, order: int) -> Rolled | None:
    """How the wheel rolls; None where the motion does not tell.

    The middle of the axle moves aside by v_y = -R camber rate; the sine of the camber is how far up the axle points.
    What is left of v_y is a tyre that slips, but for a constant share of the speed ahead: an axle that is not square.
    poses: of the axle, as measured; order: of the polynomials that differentiate them.
    """
    lean = np.arcsin(np.clip(poses.rotation[:, 2, 2], -1.0, 1.0))
    path = np.column_stack([lean, poses.position])
    speeds = coordinate_motion(poses.times_s, path, window_s=SLOW_S, order=order).speed
    used = used & np.isfinite(speeds).all(axis=1)
    leaning = speeds[used, 0]
    level = level_axes(poses.rotation[used])
    ahead, aside = (np.asarray(np.einsum("ni,ni->n", level[:, :, i], speeds[used, 1:]), dtype=float) for i in range(2))
    if len(leaning) < 100 or not np.std(leaning) > 0:
        return None
    rate = rate_hz(poses.times_s)
    radius = -float(aside @ leaning / (leaning @ leaning))
    left = aside + radius * leaning
    scores = leaning * left
    piece = np.arange(len(scores)) // max(1, round(ALIKE_S * rate))
    std = float(np.sqrt(np.sum(np.bincount(piece, scores) ** 2)) / (leaning @ leaning))
    # noise of a regressor shrinks the slope by its share of the squares, or less where the axle shakes along
    short, long = (window_samples(w, rate, order) for w in (NOISE_S, SLOW_S))
    noises = [float(derivative_noise(signal_noise(x, short, order), long, order, 1, rate)) for x in path.T]
    shrunk = SHRUNK * radius_m * noises[0] ** 2 * len(leaning) / float(leaning @ leaning)
    left = left - ahead * float(left @ ahead) / max(float(ahead @ ahead), 1e-300)
    squares = max(noises[1:]) ** 2 + (radius * noises[0]) ** 2
    beyond = max(float(np.mean(left**2)) - SIGNIFICANT * squares, 0.0) ** 0.5
    slip = float(np.arctan2(beyond, float(np.mean(ahead**2)) ** 0.5))
    return Rolled(radius, SIGNIFICANT * std + shrunk, slip)


def wheel_findings(rolled: Rolled | None, stated: float) -> list[Finding]:
    """A stated radius (m) that is not the one on which the wheel rolls, and a tyre that slips."""
    if rolled is None:
        return []
    findings: list[Finding] = []
    if rolled.slip_rad > SLIPS_RAD:
        aside = f"the wheel goes aside by {np.degrees(rolled.slip_rad):.1f} deg (RMS) of where it is headed"
        evidence = (
            f"{aside}: a tyre that creeps so far aside turns by another {100 * rolled.slip_rad:.0f} % than it goes, "
            "which the intervals allow for; the forces of its slipping are not in the model"
        )
        remedy = "pump up the tyre, move more slowly around bends, or clean wheel and floor"
        severity = Severity.FATAL if rolled.slip_rad > RADIUS_OFF else Severity.WARNING
        findings.append(Finding("slip", evidence, remedy=remedy, severity=severity))
    off = abs(rolled.radius_m - stated)
    if not off > max(RADIUS_HINT * stated, rolled.unsure_m):
        return findings
    wheel = f"a wheel of {1e3 * rolled.radius_m:.1f} mm (+- {1e3 * rolled.unsure_m:.1f})"
    evidence = f"when the object leans, its axle moves sideways as on {wheel}, the radius is stated as "
    evidence += f"{1e3 * stated:.1f} mm"
    fatal = off > max(RADIUS_OFF * stated, rolled.unsure_m)
    if not fatal:
        evidence += "; a wrong one puts friction and inertia off by the same share, which their intervals allow for"
    remedy = "measure it again under its load (markers.axle.radius), or the wheel slips or is not spherical"
    severity = Severity.FATAL if fatal else Severity.WARNING
    return [*findings, Finding("wheel-radius", evidence, remedy=remedy, severity=severity)]


@dataclass(frozen=True, slots=True)
class LoadFriction(Element):
    """tau = mu_r R (F_N - mean) sign(speed): with it, b_c is the friction under the mean load, and stays what it is."""

    name: str = "mu_r"
    acts_on: str = WHEEL
    radius: float = 0.0
    mean: float = 0.0
    type: ClassVar[str] = "load-friction"
    dry: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """A coefficient of rolling resistance."""
        return (Parameter("mu_r", "1", "free"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The load beyond its mean, with the sign of the wheel's speed."""
        del z
        return (self.radius * (k.coordinates[LOAD].position - self.mean) * fn.sign(k.coordinates[self.acts_on].speed),)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As it is."""
        return [[f[0]]]


def load_on_wheel(fit: Fit) -> FloatArray:
    """(samples,): the normal force F_N at the contact, N, from the balance of forces along the vertical."""
    k = fit.balance.kinematics
    a, w, b = (np.stack([np.asarray(x) for x in v], axis=1) for v in (k.specific_acceleration, k.omega, k.omega_dot))
    model = fit.solution.model
    phi = np.array([model.values[name] for name in PHI_NAMES])
    force = (body_regressor(a, w, b) @ phi - fit.wrench_of(model))[:, :3]
    assert fit.moved.motion.poses is not None
    return np.asarray(np.einsum("ni,ni->n", fit.moved.motion.poses.rotation[:, 2, :], force), dtype=float)


def resistance(fit: Fit) -> dict[str, Any] | None:
    """The load on the wheel, b_c as rolling resistance alone, and mu_r as far as friction follows the load.

    None where no single element of constant dry friction acts on the wheel. mu_r is a split of b_c, never an addition:
    of b_c under the mean load, mu_r R F_N is rolling resistance and the rest is not (paper, Wheelbarrow).
    """
    wheel = fit.inputs.mechanism.wheel
    dry = [e for e in fit.inputs.model.elements if e.acts_on == WHEEL and e.dry]
    at = fit.prediction.at[fit.prediction.inside(fit.plan.segments)]
    if wheel is None or len(dry) != 1 or dry[0].constant != "friction" or not len(at):
        return None
    load = load_on_wheel(fit)
    mean, spread = float(np.mean(load[at])), float(np.std(load[at]))
    entry: dict[str, Any] = {"element": dry[0].name, "mean_load_N": mean, "load_std_N": spread}
    most = fit.solution[dry[0].name].value / (wheel.radius * mean) if mean > 0 else None
    entry |= {"mu_r_at_most": most, "mu_r": None, "ci95": None}
    extra, k = LoadFriction(radius=wheel.radius, mean=mean), fit.balance.kinematics
    model = replace(fit.inputs.model, elements=(*fit.inputs.model.elements, extra), values={})
    coordinate = Coordinate(np.where(np.isfinite(load), load, mean), 0.0, 0.0, (0.0,) * len(model.mechanism.rows))
    lift = np.tile(np.eye(len(model.parameters) + 1), (len(model.mechanism.rows), 1, 1))
    with_load = replace(k, coordinates={**k.coordinates, LOAD: coordinate})
    balance = replace(fit.balance, model=model, kinematics=with_load, lift=lift)
    try:
        inputs = fit.inputs.with_model(model)
        train = compressed(inputs, fit.moved, fit.plan.segments, balance)
        e = solve_with(inputs, replace(train, weights=fit.train.weights), damping=fit.damping)["mu_r"]
    except PalpateError:
        return entry
    return entry | {"mu_r": finite(e.value), "ci95": None if e.ci95 is None else list(e.ci95)}


def with_feet(model: Model, points: Sequence[Sequence[float]]) -> tuple[Model, dict[str, float]]:
    """A model with values that can stand on these points (m, in its frame), and the numbers that were assumed for it.

    Feet that the object or experiment file has already stay as they are. Of objects that do not roll: as it is.
    """
    mass = next((v for n, v in model.values.items() if n.rpartition(".")[2] == "m"), None)
    wheel = model.mechanism.wheel
    if wheel is None or mass is None:
        return model, {}
    feet = wheel.feet or tuple((float(x), float(y), float(z)) for x, y, z in points)
    mechanism = model.mechanism.with_options(feet=feet)
    stiffness = mass * mechanism.gravity / (2 * GIVES_M)
    present = {e.acts_on: e for e in model.elements}
    elements: list[Element] = []
    values: list[float] = []
    for i in range(1, len(feet) + 1):
        foot = present.get(f"foot_{i}")
        k = stiffness if foot is None else model.values[model.names_of(foot)[0]]
        if foot is None:
            elements.append(Foot(f"foot_{i}", f"foot_{i}"))
            values += [k, LOSES * k]
        for way in ("ahead",) if wheel.moves == "planar" else ("ahead", "aside"):
            if f"foot_{i}_{way}" not in present:
                elements.append(FootFriction(f"mu_{i}_{way}", f"foot_{i}_{way}", k))
                values.append(MU)
    standing = replace(model, mechanism=mechanism, elements=(*model.elements, *elements), values={})
    names = list(standing.parameters)[len(model.p) :]
    return standing.with_values([*model.p, *values]), dict(zip(names, values, strict=True))
