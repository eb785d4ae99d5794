"""A hinge from the path of one point: the circle in space that fits it best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.motion.axes import axes_of, is_reversed
from palpate.motion.scatter import angle_groups, jackknife
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.spatial import transform

_FEWEST = 8
_SHORTEST_RAD = np.radians(20.0)
"""A shorter arc is a line as far as motion capture can tell."""
_FEWEST_ANGLES = 4
_LARGEST_STD = 0.1
"""Of the radius as a fraction of it, and of the axis in rad."""
_ROUND = 0.05
"""Largest rms deviation from the circle, as a fraction of its radius."""
_STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class CirclePath:
    """A point that goes round a fixed axis. The hinge's frame: origin in the centre, z along the axis, x towards the
    point at angle zero.
    """

    T_world_hinge: FloatArray
    """(4, 4), m; `hinge_poses` turns it along."""
    radius_m: float
    angle_rad: FloatArray
    """(samples,) about z, unwrapped; NaN where the point was not seen."""
    off_m: FloatArray
    """(samples, 2) how far the point is outside the circle and above its plane."""
    rms_m: float
    """Root mean square distance from the circle."""
    radius_std_m: float
    centre_std_m: float
    """Root mean square distance of the centre from the true axis."""
    direction_std_rad: float
    """Root mean square angle between this axis and the true one."""
    range_rad: float
    """From the smallest to the largest angle."""


def hinge_from_path(
    points_m: ArrayLike,
    *,
    points: ArrayLike | None = None,
    zero: int | None = None,
    what: str = "hinge",
) -> CirclePath:
    """Fit a circle in space to positions (samples, 3) of one point of the body, NaN where it was hidden.

    The sum of squared distances from the circle is minimised (geometric fit; Gander, Golub & Strebel 1994), with its
    plane free; it starts from the plane of the points and Taubin's circle in it. points: the side of the world to
    which z points; without it, the point goes round positively on the whole, seen from the first sample. zero: the
    sample at which the angle is zero; without it, the first seen. Raises `DataProblem` where the arc is too short to
    tell its centre.
    """
    path = np.asarray(points_m, dtype=float)
    seen = np.asarray(np.isfinite(path).all(axis=1))
    if seen.sum() < _FEWEST:
        raise DataProblem(what, f"the point was seen in {seen.sum()} samples, at least {_FEWEST} are needed")
    P = path[seen]
    first = int(np.flatnonzero(seen)[0]) if zero is None else zero
    if not (0 <= first < len(path) and seen[first]):
        raise DataProblem(what, f"the angle cannot be zero at sample {first}: the point was not seen there")
    axes, centre, radius = _refined(P, *_start(P, what), what)
    q = (P - centre) @ axes
    groups = angle_groups(np.unwrap(np.arctan2(q[:, 1], q[:, 0])))
    J, off = _linearised(q, radius)
    cov = jackknife(J, off, groups)

    T_world_hinge = transform(_oriented(P, int(seen[:first].sum()), axes[:, 2], centre, points, what), centre)
    local = (path - centre) @ T_world_hinge[:3, :3]
    angle = np.arctan2(local[:, 1], local[:, 0])
    angle[seen] = np.unwrap(angle[seen])
    angle -= angle[first]
    result = CirclePath(
        T_world_hinge=T_world_hinge,
        radius_m=radius,
        angle_rad=angle,
        off_m=np.stack([np.hypot(local[:, 0], local[:, 1]) - radius, local[:, 2]], axis=1),
        rms_m=float(np.sqrt((off**2).sum(axis=1).mean())),
        radius_std_m=float(np.sqrt(cov[5, 5])),
        centre_std_m=float(np.sqrt(cov[2, 2] + cov[3, 3])),
        direction_std_rad=float(np.sqrt(cov[0, 0] + cov[1, 1])),
        range_rad=float(np.ptp(angle[seen])),
    )
    _refuse_vague(result, int(groups.max()) + 1, what)
    return result


def _start(P: FloatArray, what: str) -> tuple[FloatArray, FloatArray, float]:
    """Axes (3, 3) with the plane's normal last, centre and radius: principal plane, Taubin's algebraic fit in it.

    Taubin 1991; as a singular value problem: Chernov, Circular and Linear Regression, ch. 5.
    """
    mean = P.mean(axis=0)
    _, spread, directions = np.linalg.svd(P - mean, full_matrices=False)
    if not spread[1] > 1e-9 * max(spread[0], 1e-300):
        raise DataProblem(what, "the path is a straight line", remedy="move the point further round its axis")
    axes = directions.T * np.linalg.det(directions)
    xy = (P - mean) @ axes[:, :2]
    square = (xy**2).sum(axis=1)
    size = 2 * np.sqrt(square.mean())
    _, _, rows = np.linalg.svd(np.column_stack([(square - square.mean()) / size, xy]), full_matrices=False)
    a, bc = rows[2, 0] / size, rows[2, 1:]
    if abs(a) * size < 1e-9:
        raise DataProblem(what, "the path is a straight line", remedy="move the point further round its axis")
    offset = -bc / (2 * a)
    return axes, mean + axes[:, :2] @ offset, float(np.sqrt(offset @ offset + square.mean()))


def _refined(
    P: FloatArray, axes: FloatArray, centre: FloatArray, radius: float, what: str
) -> tuple[FloatArray, FloatArray, float]:
    """Gauss-Newton on the distances, steps halved where they lead uphill."""
    at = axes, centre, radius
    slopes, off = _linearised((P - centre) @ axes, radius)
    cost = float((off**2).sum())
    for _ in range(_STEPS):
        step = least_squares(slopes.reshape(-1, 6), -off.ravel())
        for _ in range(30):
            new = _stepped(*at, step)
            slopes, off = _linearised((P - new[1]) @ new[0], new[2])
            new_cost = float((off**2).sum())
            if new_cost <= cost:
                break
            step = step / 2
        else:
            return at  # nothing downhill that floats can tell
        done = cost - new_cost <= 1e-12 * cost
        at, cost = new, new_cost
        if done:
            return at
    raise DataProblem(
        what,
        "no circle fits the path, which is too short or nearly straight",
        remedy="move the point further round its axis",
    )


def _linearised(q: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """Distances (samples, 2) outside the circle and above its plane, and their derivatives (samples, 2, 6).

    q (samples, 3): points in the circle's frame. Unknowns: rotation of the frame about its x and y (rad), shift of the
    centre along x, y, z (m), growth of the radius (m). The derivatives are those at the nearest points of the circle:
    they give the same gradient, and noise does not pass for knowledge of the plane.
    """
    rho = np.hypot(q[:, 0], q[:, 1])
    x, y = (q[:, :2] / np.maximum(rho, 1e-300)[:, None]).T
    J = np.zeros((len(q), 2, 6))
    J[:, 0, 2], J[:, 0, 3], J[:, 0, 5] = -x, -y, -1.0
    J[:, 1, 0], J[:, 1, 1], J[:, 1, 4] = -radius * y, radius * x, -1.0
    return J, np.stack([rho - radius, q[:, 2]], axis=1)


def _stepped(
    axes: FloatArray, centre: FloatArray, radius: float, step: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    x, y, n = axes.T
    normal = n + step[1] * x - step[0] * y
    return axes_of(x, normal / np.linalg.norm(normal)), centre + axes @ step[2:5], radius + float(step[5])


def _oriented(
    P: FloatArray, first: int, z: FloatArray, centre: FloatArray, points: ArrayLike | None, what: str
) -> FloatArray:
    """Axes with x towards P[first] and z to the stated side, or so that the point goes round positively."""
    axes = axes_of(P[first] - centre, z)
    if points is not None:
        flip = is_reversed(z, points, what)
    else:
        q = (P - centre) @ axes
        angle = np.unwrap(np.arctan2(q[:, 1], q[:, 0]))
        flip = float((angle - angle[0]).sum()) < 0
    return axes_of(axes[:, 0], -z) if flip else axes


def _refuse_vague(path: CirclePath, angles: int, what: str) -> None:
    """Raise where the path does not tell a circle."""
    share = path.radius_std_m / path.radius_m
    if not path.rms_m < _ROUND * path.radius_m:
        reason = (
            f"the path is no circle: its best one has a radius of {path.radius_m:.3f} m and is missed by "
            f"{1e3 * path.rms_m:.1f} mm (rms)"
        )
    elif path.range_rad < _SHORTEST_RAD:
        reason = (
            f"the arc of {np.degrees(path.range_rad):.1f} deg (radius {path.radius_m:.3f} m) is too short to tell its "
            f"centre, at least {np.degrees(_SHORTEST_RAD):g} deg are needed"
        )
    elif angles < _FEWEST_ANGLES:
        reason = f"the point was seen at {angles} distinct angles only, at least {_FEWEST_ANGLES} are needed"
    elif not (share < _LARGEST_STD and path.direction_std_rad < _LARGEST_STD):
        reason = (
            f"the arc of {np.degrees(path.range_rad):.0f} deg tells its radius to {100 * share:.0f} % and its axis to "
            f"{np.degrees(path.direction_std_rad):.1f} deg only (standard deviations)"
        )
    else:
        return
    raise DataProblem(what, reason, remedy="move the point further round its axis")
