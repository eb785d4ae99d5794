"""A body that stays on the floor: how its frame stands on it, and where its fixed axle is, as its motion shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.stage.body import Body
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.mechanisms import Mechanism
from palpate.motion.derivatives import coordinate_motion, derivative_noise, signal_noise, window_samples
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, segment_mask, symmetric_inverse
from palpate.physics.motion import Poses, exp_rotation, transform

MARKED_STD = np.array([np.radians(0.5), 0.003])
"""How well markers at the ends of an axle show it: rad about the vertical, m ahead."""
SURE_STD = np.array([np.radians(0.02), 3e-4])
"""No motion on a real floor tells it better."""
ASKEW_RAD, AHEAD_M = np.radians((0.5, 1.5)), np.array([0.005, 0.015])
"""From where on markers and motion disagree about an axle: a warning, a failure."""
LOST_M = 0.02
"""An axle that is known no better is not known."""
UNTOLD = 0.5
"""Share of the samples of segments in which casters may be anywhere; those are left out."""
SLIPS_RAD, SKIDS_RAD = np.radians(0.7), np.radians(3.0)
"""What an axle goes aside of where it is headed (RMS): a warning, a failure."""
SURELY, ALIKE_S, SLOW_S, NOISE_S, ORDER = 4.0, 1.0, 0.4, 0.11, 4
"""Standard deviations; residuals so near in time say the same; windows and order of derivatives and of noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """The frame of what stays on a floor."""

    poses: Poses
    T_cloud_body: FloatArray
    root: FloatArray
    """(6, n): how it may be off, see `Inputs.frame_root`."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Axle:
    """A fixed axle as the motion shows it: the line along which nothing slips."""

    off: FloatArray
    """(2,): how far it is turned about z of the frame (rad), and ahead of its origin (m) ..."""
    covariance: FloatArray
    """... with their covariance."""
    slip_rad: float
    """How far it goes aside of its heading, beyond the markers' noise (RMS)."""


def base_of(
    poses: Poses, body: Body, mechanism: Mechanism, segments: Mapping[str, Sequence[Segment]], *, marked: bool
) -> Base:
    """z of the frame as the floor's normal was on the average; its origin on the axle, and x square to it.

    poses: of the frame that markers show, in a world whose z is the floor's normal. marked: whether these sit on the
    axle; then the motion must agree with them.
    """
    up = poses.rotation[poses.seen, 2, :].mean(axis=0)
    T_level = transform(exp_rotation(np.array([-up[1], up[0], 0.0])), np.zeros(3))  # z onto up, which is near
    tilt = float(np.nan_to_num(body.pose_std[0]))
    root, findings = np.zeros((6, 2)), list[Finding]()
    root[[0, 1], [0, 1]] = tilt / 2**0.5
    poses, T_axle = poses.attached(T_level), np.eye(4)
    if mechanism.holds_sideways:
        moving = [s for kind, spans in segments.items() if kind != "static" for s in spans]
        axle = axle_by_motion(poses, segment_mask(poses.times_s, moving))
        findings = _axle_findings(axle, marked=marked)
        off, covariance = axle.off, axle.covariance
        if marked:
            before = np.diag(MARKED_STD**-2)
            covariance = symmetric_inverse(symmetric_inverse(axle.covariance) + before)
            off = covariance @ symmetric_inverse(axle.covariance) @ axle.off
        turn, ahead = off.tolist()
        T_axle = transform(exp_rotation(np.array([0.0, 0.0, turn])), np.array([ahead, 0.0, 0.0]))
        poses = poses.attached(T_axle)
        known = np.zeros((6, 2))
        known[[2, 3]] = np.linalg.cholesky(covariance + np.diag(SURE_STD**2))
        root = np.hstack([root, known])
    return Base(poses, body.frames[mechanism.floor] @ T_level @ T_axle, root, tuple(findings))


def unsettled(poses: Poses, mechanism: Mechanism, segments: Mapping[str, Sequence[Segment]]) -> BoolArray:
    """(samples,): where the path does not tell how casters point; refused where that is most of a kind of segments."""
    unknown = mechanism.unsettled(poses)
    for kind in ("train", "test"):
        inside = segment_mask(poses.times_s, segments[kind]) & poses.seen
        share = float(unknown[inside].mean()) if inside.any() else 0.0
        if share > UNTOLD:
            raise DataProblem(
                f"segments.{kind}",
                f"the path does not tell where casters point in {100 * share:.0f} % of them, before they have followed "
                "it and while they turn round",
                remedy="push it ahead by half a metre before they begin, and move it farther than to and fro",
            )
    return unknown


def axle_by_motion(poses: Poses, used: BoolArray) -> Axle:
    """Where the axle of a body on the floor is: v_y = turn v_x - ahead w at the origin of its frame (small angles).

    By least squares over the samples used; how sure it is follows from how residuals scatter from second to second
    (Liang & Zeger 1986).
    """
    R, times = poses.rotation, poses.times_s
    yaw = np.full(len(times), np.nan)
    yaw[poses.seen] = np.unwrap(np.arctan2(R[poses.seen, 1, 0], R[poses.seen, 0, 0]))
    path = np.column_stack([poses.position[:, :2], yaw])
    speeds = coordinate_motion(times, path, window_s=SLOW_S, order=ORDER).speed
    used = used & np.isfinite(speeds).all(axis=1)
    c, d, v, turning = np.cos(yaw[used]), np.sin(yaw[used]), speeds[used, :2], speeds[used, 2]
    ahead, aside = v[:, 0] * c + v[:, 1] * d, v[:, 1] * c - v[:, 0] * d
    X = np.column_stack([ahead, -turning])
    gram, rate = X.T @ X, rate_hz(times)
    remedy = "go ahead and back and turn in the segments, or put markers at the ends of the axle (markers.base.axle)"
    if len(X) < 100 or not np.linalg.cond(gram) < 1e8:
        raise DataProblem("axle", "the motion does not show where it is: it hardly moves", remedy=remedy)
    inverse = symmetric_inverse(gram)
    off = np.asarray(inverse @ X.T @ aside, dtype=float)
    left = aside - X @ off
    piece = np.arange(len(X)) // max(1, round(ALIKE_S * rate))
    scores = np.array([np.bincount(piece, column) for column in (X * left[:, None]).T])
    covariance = inverse @ scores @ scores.T @ inverse
    short, long = (window_samples(w, rate, ORDER) for w in (NOISE_S, SLOW_S))
    noise = max(float(derivative_noise(signal_noise(x, short, ORDER), long, ORDER, 1, rate)) for x in path[:, :2].T)
    beyond = max(float(np.mean(left**2)) - SURELY * noise**2, 0.0) ** 0.5
    slip = float(np.arctan2(beyond, float(np.mean(ahead**2)) ** 0.5))
    return Axle(off, np.asarray(covariance, dtype=float), slip)


def _axle_findings(axle: Axle, *, marked: bool) -> list[Finding]:
    """An axle that slips, that markers have elsewhere, or that nothing shows."""
    findings: list[Finding] = []
    (turn, ahead), (turn_std, ahead_std) = axle.off.tolist(), np.sqrt(np.diag(axle.covariance)).tolist()
    if axle.slip_rad > SLIPS_RAD:
        evidence = (
            f"the axle goes aside by {np.degrees(axle.slip_rad):.1f} deg (RMS) of where it is headed: its wheels slip, "
            "or it is no fixed axle; the forces of its slipping are not in the model"
        )
        remedy = "move more slowly around bends, or describe it without one, mechanism: {axle: false}"
        severity = Severity.FATAL if axle.slip_rad > SKIDS_RAD else Severity.WARNING
        findings.append(Finding("slip", evidence, remedy=remedy, severity=severity))
    if not marked:
        if ahead_std > LOST_M:
            evidence = f"the motion tells where the axle is to {1e3 * ahead_std:.0f} mm only"
            remedy = "turn more in the segments, or put markers at its ends (markers.base.axle)"
            findings.append(Finding("axle", evidence, "markers.base", remedy, Severity.FATAL))
        return findings
    words = (
        f"by the motion the line that never slips sideways is {1e3 * abs(ahead):.0f} mm "
        f"{'ahead of' if ahead > 0 else 'behind'} the markers of the axle, and turned by {np.degrees(turn):.1f} deg"
    )
    for i, severity in ((1, Severity.FATAL), (0, Severity.WARNING)):
        if abs(ahead) > max(AHEAD_M[i], SURELY * ahead_std) or abs(turn) > max(ASKEW_RAD[i], SURELY * turn_std):
            remedy = "check which markers sit on it; or give markers.base.ahead, and the axle is found from the motion"
            return [*findings, Finding("axle", words, "markers.base.axle", remedy, severity)]
    return findings
