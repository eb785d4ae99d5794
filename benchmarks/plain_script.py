"""What a competent engineer writes in an afternoon instead of palpate: handle, door or wheelbarrow from their files.

Nothing of palpate is used: polars and SciPy read, Kabsch by SVD frame by frame, Savitzky-Golay derivatives, clocks by
cross-correlation, one stack of rows, `least_squares` with its 2-point Jacobian, intervals by (J'J)^-1, a table and a
page. Geometry, files and segments are in a JSON file, as they would stand at the top of such a script:

    python plain_script.py door settings.json OUT
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from scipy.io import loadmat
from scipy.optimize import least_squares
from scipy.signal import correlate, savgol_filter
from scipy.spatial.transform import Rotation

HZ = 1000.0
CAMERA_HZ = 100.0
MOST = 60_000
"""Samples in a stack: more do not fit into memory with their Jacobian, so every k-th is taken."""
PHI = ["m", "mc_x", "mc_y", "mc_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"]


# --- reading ----------------------------------------------------------------------------------------------------------


def read_imu(path: Path, g: float) -> np.ndarray:
    """(samples, 6): acceleration m/s2, rate rad/s, at 1 kHz."""
    with path.open() as lines:
        skip = next(i for i, line in enumerate(lines) if line.startswith("DATA_START")) + 1
    names = [f"scaled{kind}{axis}" for kind in ("Accel", "Gyro") for axis in "XYZ"]
    x = pl.read_csv(path, skip_rows=skip, columns=names).to_numpy()
    x[:, :3] *= g
    return x


def read_wrench(path: Path) -> list[np.ndarray]:
    """(samples, 6) N and N m of each load cell, at 1 kHz."""
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    capture = next(v for k, v in content.items() if not k.startswith("_"))
    signals = {s.Name: s.Data for s in capture.Y}
    sets = [[f"{q}{a}{i}_RawZero" for q in "FT" for a in "xyz"] for i in (1, 2)]
    return [np.column_stack([signals[n] for n in names]) for names in sets if names[0] in signals]


def read_markers(path: Path) -> tuple[list[str], np.ndarray]:
    """Names, and (frames, markers, 3) m; NaN where hidden."""
    with path.open() as lines:
        header = [next(lines) for _ in range(5)]
    names = [cell.split(":")[1] for cell in header[2].strip().split(",") if cell]
    x = pl.read_csv(path, skip_rows=5, has_header=False, infer_schema_length=0).cast(pl.Float64, strict=False)
    return names, x.to_numpy()[:, 2 : 2 + 3 * len(names)].reshape(-1, len(names), 3) / 1000.0


# --- geometry ---------------------------------------------------------------------------------------------------------


def kabsch(reference: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and r of each frame: points = R reference + r; frames with fewer than three markers repeat the one before."""
    R, r = np.tile(np.eye(3), (len(points), 1, 1)), np.zeros((len(points), 3))
    for i, frame in enumerate(points):
        seen = ~np.isnan(frame[:, 0])
        if seen.sum() < 3:
            if i:
                R[i], r[i] = R[i - 1], r[i - 1]
            continue
        a, b = reference[seen], frame[seen]
        ca, cb = a.mean(0), b.mean(0)
        u, _, vt = np.linalg.svd((a - ca).T @ (b - cb))
        d = np.sign(np.linalg.det(vt.T @ u.T))
        R[i] = vt.T @ np.diag([1, 1, d]) @ u.T
        r[i] = cb - R[i] @ ca
    return R, r


def mean_cloud(points: np.ndarray) -> np.ndarray:
    """Markers in the frame of the first complete one, averaged over the frames, twice."""
    first = np.flatnonzero(~np.isnan(points[:, :, 0]).any(axis=1))
    few = points[:: max(1, len(points) // 2000)]
    cloud = points[first[0]] if len(first) else few[np.isnan(few[:, :, 0]).sum(axis=1).argmin()]
    for _ in range(2):
        R, r = kabsch(cloud, few)
        cloud = np.nanmean(np.einsum("nji,nkj->nki", R, few - r[:, None]), axis=0)
    return cloud


def sensor_pose(p1: np.ndarray, p2: np.ndarray, p3: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R, r of the sensor's frame from its module's three markers; offset: of their frame in it."""
    x = (p3 - p2) / np.linalg.norm(p3 - p2)
    z = np.cross(p1 - p2, x)
    z /= np.linalg.norm(z)
    u, _, vt = np.linalg.svd(offset[:, :3])
    R = np.column_stack([x, np.cross(z, x), z]) @ (u @ vt).T
    return R, p2 - R @ offset[:, 3]


def moved(w: np.ndarray, R: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Wrenches of a sensor at R, r, seen from there."""
    f = w[:, :3] @ R.T
    return np.hstack([f, w[:, 3:] @ R.T + np.cross(r, f)])


# --- signals ----------------------------------------------------------------------------------------------------------


def slope(x: np.ndarray, window_s: float, rate: float, order: int = 1) -> np.ndarray:
    """Savitzky-Golay, cubic; order 0 smooths."""
    return savgol_filter(x, 2 * int(window_s * rate / 2) + 1, 3, deriv=order, delta=1 / rate, axis=0)


def lag_of(a: np.ndarray, b: np.ndarray, rate: float) -> float:
    """Time of b minus time of a at the same instant, s: the peak of the columns' cross-correlation, by a parabola."""
    a, b = ((x - x.mean(0)).reshape(len(x), -1) for x in (a, b))
    c = sum(correlate(v, u, method="fft") for u, v in zip(a.T, b.T, strict=True))
    k = int(c.argmax())
    before, peak, after = c[k - 1 : k + 2]
    return (k - len(a) + 1 + 0.5 * (before - after) / (before - 2 * peak + after)) / rate


def clock_of(a: np.ndarray, b: np.ndarray, rate: float) -> Any:
    """Times of b at times of a: a line through the lags of six parts, since clocks drift."""
    first, size = lag_of(a, b, rate), len(a) // 6
    a, times, lags = a.reshape(len(a), -1), [], []
    for start in range(0, len(a) - size + 1, size):
        begin = start + round((first - 0.2) * rate)  # no clock drifts further
        if begin >= 0 and a[start : start + size].std() > 0.3 * a.std():
            part = b.reshape(len(b), -1)[begin : begin + size + round(0.4 * rate)]
            lags.append(begin / rate - start / rate + lag_of(a[start : start + size], part, rate))
            times.append((start + size / 2) / rate)
    drift, lag = np.polyfit(times, lags, 1) if len(lags) > 2 else (0.0, first)
    if not np.isfinite(drift) or abs(drift) > 2e-4:
        drift, lag = 0.0, first
    return lambda t: t + lag + drift * t


def at(times: np.ndarray, x: np.ndarray, rate: float) -> np.ndarray:
    """Columns of an even signal at other times."""
    t = np.arange(len(x)) / rate
    return np.column_stack([np.interp(times, t, column) for column in x.T])


def inside(t: np.ndarray, segments: list[list[float]]) -> np.ndarray:
    chosen = np.any([(t >= a) & (t < b) for a, b in segments], axis=0)
    index = np.flatnonzero(chosen)
    return index[:: -(-len(index) // MOST)] if len(index) > MOST else index


# --- dynamics ---------------------------------------------------------------------------------------------------------


def regressor(a: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(samples, 6, 10): force and moment of a rigid body over phi; a less gravity, w rate, b its derivative."""

    def cross(v: np.ndarray) -> np.ndarray:
        o = np.zeros(len(v))
        return np.stack([o, -v[:, 2], v[:, 1], v[:, 2], o, -v[:, 0], -v[:, 1], v[:, 0], o], axis=1).reshape(-1, 3, 3)

    def dot(v: np.ndarray) -> np.ndarray:
        o, (x, y, z) = np.zeros(len(v)), v.T
        return np.stack([x, y, z, o, o, o, o, x, o, y, z, o, o, o, x, o, y, z], axis=1).reshape(-1, 3, 6)

    A = np.zeros((len(a), 6, 10))
    A[:, :3, 0], A[:, :3, 1:4] = a, cross(b) + cross(w) @ cross(w)
    A[:, 3:, 1:4], A[:, 3:, 4:] = -cross(a), dot(b) + cross(w) @ dot(w)
    return A


def phi_of(theta: np.ndarray) -> np.ndarray:
    """Log-Cholesky: any ten numbers are a body that can exist."""
    U = np.diag(np.exp(theta[:4]))
    U[0, 1], U[0, 2], U[1, 2], U[:3, 3] = theta[4], theta[5], theta[6], theta[7:]
    J = U @ U.T
    S = J[:3, :3]
    inertia = np.trace(S) * np.eye(3) - S
    return np.array([J[3, 3], *J[:3, 3], *inertia[np.triu_indices(3)]])


def theta_of(phi: np.ndarray) -> np.ndarray:
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = phi[4:]
    inertia += np.triu(inertia, 1).T
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = phi[1:4]
    J[3, 3] = phi[0]
    U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    return np.array([*np.log(np.diag(U)), U[0, 1], U[0, 2], U[1, 2], *U[:3, 3]])


def drawn(phi: np.ndarray) -> dict[str, float]:
    """Mass, centre of mass and inertias as a drawing has them."""
    return dict(zip(("m", "c_x", "c_y", "c_z", *PHI[4:]), (phi[0], *phi[1:4] / phi[0], *phi[4:]), strict=True))


def fit(residual: Any, start: np.ndarray, values: Any) -> tuple[dict[str, float], dict[str, float], Any]:
    """Values by name, half their 95 % intervals, and what SciPy returned; values: of x, by name."""
    done = least_squares(residual, start, x_scale="jac")
    J = done.jac
    cov = np.linalg.pinv(J.T @ J) * 2 * done.cost / (len(done.fun) - len(start))
    best = values(done.x)
    step = 1e-6 * np.maximum(1.0, np.abs(done.x))
    slopes = np.array([np.subtract([*values(done.x + h).values()], [*best.values()]) for h in np.diag(step)]).T / step
    return best, dict(zip(best, 1.96 * np.sqrt(np.einsum("ij,jk,ik->i", slopes, cov, slopes)), strict=True)), done


# --- the three objects ------------------------------------------------------------------------------------------------


def handle(s: dict[str, Any], folder: Path) -> tuple[np.ndarray, dict[str, float], dict[str, float], Any]:
    """phi of a handle shaken in the hand, and the table."""
    (w,), imu = read_wrench(folder / s["wrench"]), read_imu(folder / s["imu"], s["g"])
    R, r = np.array(s["imu_rotation"]), np.array(s["imu_translation"])
    lag = lag_of(imu[:, :3] @ R.T, -w[:, :3], HZ)
    omega = slope(imu[:, 3:], 0.021, HZ, 0) @ R.T
    b = slope(imu[:, 3:], 0.041, HZ) @ R.T
    a = slope(imu[:, :3], 0.021, HZ, 0) @ R.T - np.cross(b, r) - np.cross(omega, np.cross(omega, r))
    t = np.arange(len(w)) / HZ
    chosen = inside(t, s["train"])
    A = regressor(*(at(t[chosen] - lag, x, HZ) for x in (a, omega, b)))
    y, y_slope = -slope(w, 0.021, HZ, 0)[chosen], -slope(w, 0.021, HZ)[chosen]
    weights = 1 / np.array([0.2, 0.2, 0.2, 0.005, 0.005, 0.005])
    start = theta_of(np.array(s["prior"]))

    def residual(x: np.ndarray) -> np.ndarray:
        error = (A @ phi_of(x[:10]) + x[10:16] - y - x[16] * y_slope) * weights
        return np.concatenate([error.ravel(), x[:10] - start])

    best, half, done = fit(residual, np.concatenate([start, np.zeros(7)]), lambda x: drawn(phi_of(x[:10])))
    return phi_of(done.x[:10]), best, half, done


def door(s: dict[str, Any], folder: Path) -> tuple[dict[str, float], dict[str, float], Any]:
    """Inertia, friction, dampers with their zones and spring of a door with a closer."""
    handle(s["handle"], folder)
    names, points = read_markers(folder / s["markers"])
    _, still = read_markers(folder / s["static"])
    (w,), imu = read_wrench(folder / s["wrench"]), read_imu(folder / s["imu"], s["g"])
    cloud, body = np.nanmean(still, axis=0), [names.index(n) for n in s["body"]]
    frame = [i for i in range(len(names)) if i not in body or names[i] in s["axis"]]
    on_axis = cloud[[names.index(n) for n in s["axis"]]]
    origin = on_axis.mean(0)
    z = np.linalg.svd(on_axis - origin)[2][0]
    z = -z if z[2] > 0 else z  # it points down
    x = cloud[names.index(s["towards"])] - origin
    x -= (x @ z) * z
    x /= np.linalg.norm(x)
    R_hinge = np.column_stack([x, np.cross(z, x), z])
    R, _ = kabsch(cloud[body], points[:, body])
    (R_frame,), _ = kabsch(cloud[frame], np.nanmean(points[:, frame], axis=0)[None])
    turn = R_hinge.T @ R_frame.T @ R @ R_hinge
    angle = np.unwrap(np.arctan2(turn[:, 1, 0] - turn[:, 0, 1], turn[:, 0, 0] + turn[:, 1, 1]))

    t = np.arange(len(angle)) / CAMERA_HZ
    speed = slope(angle[:, None], 0.11, CAMERA_HZ)[:, 0]
    seen = np.linalg.norm(slope(imu[::10, 3:], 0.11, CAMERA_HZ, 0), axis=1)
    by_imu = clock_of(np.abs(speed), seen, CAMERA_HZ)(t)
    rate = at(by_imu, slope(imu[:, 3:], 0.041, HZ, 0), HZ)
    axis, *_ = np.linalg.lstsq(np.column_stack([rate, np.ones(len(t))]), speed, rcond=None)
    speed = rate @ axis[:3] + axis[3]
    acceleration = at(by_imu, slope(imu[:, 3:], 0.041, HZ), HZ) @ axis[:3]

    at_sensor = sensor_pose(*(cloud[names.index(n)] for n in s["sensor"]), np.array(s["offset"]))
    torque = moved(w, R_hinge.T @ at_sensor[0], R_hinge.T @ (at_sensor[1] - origin))[:, 5:]
    by_cell = t + lag_of(acceleration, slope(torque[::10], 0.11, CAMERA_HZ, 0)[:, 0], CAMERA_HZ)
    torque -= at(by_cell, torque, HZ)[inside(t, s["static_segment"])].mean()
    y, y_slope = (at(by_cell, slope(torque, 0.041, HZ, n), HZ)[:, 0] for n in (0, 1))

    closer, nu = four_bar(angle, s["lengths"])
    free = (angle > np.radians(1.5)) & (angle < angle.max() - np.radians(1.5)) & (np.abs(speed) > 0.01)
    chosen = [i for i in inside(t, s["train"]) if free[i]]
    q, v, u, nu, y, y_slope = (a[chosen] for a in (angle, speed, closer, nu, y, y_slope))
    later = t[chosen] - t[chosen].mean()  # the load cell's clock: what is left of its offset, and its drift
    rigid = np.column_stack([acceleration[chosen], v, np.sign(v)])
    spring = nu[:, None] * u[:, None] ** np.arange(4)
    order = ["I", "b_v", "b_c", "b_bc", "b_s", "b_l", "c_0", "c_1", "c_2", "c_3"]

    def residual(p: np.ndarray) -> np.ndarray:
        back, latch = ((1 + np.tanh((q - p[i]) / p[i + 1])) / 2 for i in (10, 12))
        opening = v > 0
        dampers = nu**2 * v * np.column_stack([back * opening, latch * ~opening, (1 - latch) * ~opening]).T
        model = rigid @ np.exp(p[:3]) + np.exp(p[3:6]) @ dampers - spring @ p[6:10]
        return model - y - (p[14] + 1e-4 * p[15] * later) * y_slope

    zones = np.radians([69, 2, 25, 2])
    start = np.concatenate([np.ones(6), np.zeros(4), zones, [0.0, 0.0]])
    return fit(residual, start, lambda p: dict(zip(order, (*np.exp(p[:6]), *p[6:10]), strict=True)))


def four_bar(angle: np.ndarray, lengths: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The closer's pinion angle and its slope over the door's, by differences."""
    a, b, c, d = lengths

    def pinion(theta: np.ndarray) -> np.ndarray:
        x, y = d - a * np.cos(theta), -a * np.sin(theta)  # from the pinion to the forearm's pivot
        q = x**2 + y**2
        return np.pi + theta - np.arctan2(y, x) - np.arccos((q + b**2 - c**2) / (2 * b * np.sqrt(q)))

    return pinion(angle), (pinion(angle + 1e-6) - pinion(angle - 1e-6)) / 2e-6


def wheelbarrow(s: dict[str, Any], folder: Path) -> tuple[dict[str, float], dict[str, float], Any]:
    """Ten inertial numbers (the mass is known) and three of friction; moments about the contact and the force ahead."""
    phi_handle, *_ = handle(s["handle"], folder)
    names, points = read_markers(folder / s["markers"])
    cells, imu, R_w = read_wrench(folder / s["wrench"]), read_imu(folder / s["imu"], s["g"]), s["radius"]
    cloud = mean_cloud(points)
    place = dict(zip(names, cloud, strict=True))
    right, left = (place[n] for n in s["axle"])
    z = (left - right) / np.linalg.norm(left - right)
    x = np.cross(sum(place[b] - place[a] for a, b in s["across"]), z)
    x /= np.linalg.norm(x)
    R_B, r_B = np.column_stack([x, np.cross(z, x), z]), (left + right) / 2
    R, r = kabsch(cloud, points)
    r, R = r + R @ r_B, R @ R_B
    t = np.arange(len(r)) / CAMERA_HZ

    window = 0.15
    relative = np.einsum("nji,njk->nik", R[:-1], R[1:])
    rough = slope(Rotation.from_matrix(relative).as_rotvec() * CAMERA_HZ, window, CAMERA_HZ, 0)
    fast = slope(imu[::10, 3:], window, CAMERA_HZ, 0)
    imu_lag = lag_of(np.linalg.norm(rough, axis=1), np.linalg.norm(fast, axis=1), CAMERA_HZ) - 0.005
    rate = at(t + imu_lag, slope(imu[:, 3:], 0.05, HZ, 0), HZ)
    rate -= rate[inside(t, s["static_segment"])].mean(0)
    (turn,), _ = kabsch(rate[:-1], rough[None])  # a cloud of rates, of which each frame is one marker
    omega = rate @ turn.T
    omega_dot = at(t + imu_lag, slope(imu[:, 3:], 0.05, HZ), HZ) @ turn.T
    velocity = slope(r, window, CAMERA_HZ)
    gravity = np.array([0.0, 0.0, s["gravity"]])
    acceleration = np.einsum("nji,nj->ni", R, slope(r, window, CAMERA_HZ, 2) + gravity)

    up = np.array([0.0, 0.0, 1.0])
    ahead = np.cross(R[:, :, 2], up)
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    C = np.stack([ahead, np.cross(up, ahead), np.broadcast_to(up, ahead.shape)], axis=2)
    to_C = np.einsum("nji,njk->nik", C, R)
    camber = np.arcsin(R[:, 2, 2])
    w_C, v_C = np.einsum("nij,nj->ni", to_C, omega), np.einsum("nji,nj->ni", C, velocity)
    heading = w_C[:, 2] - w_C[:, 1] * np.tan(camber)
    wheel = v_C[:, 0] / (R_w * np.cos(camber)) + heading * np.sin(camber)

    def rows(wrench: np.ndarray) -> np.ndarray:
        """Of wrenches at B (samples, 6, ...): moments about the contact and the force ahead."""
        f, n = (np.einsum("nij,nj...->ni...", to_C, part) for part in (wrench[:, :3], wrench[:, 3:]))
        return np.stack([n[:, 0] - R_w * f[:, 1], n[:, 1] + R_w * f[:, 0], n[:, 2], f[:, 0]], axis=1)

    still, total, slopes, lag = inside(t, s["static_segment"]), np.zeros((len(t), 6)), np.zeros((len(t), 6)), 0.0
    poses = [sensor_pose(*(place[n] for n in markers), np.array(s["offset"])) for markers in s["sensors"]]
    poses = [(R_B.T @ R_s, R_B.T @ (r_s - r_B)) for R_s, r_s in poses]
    force = sum(moved(w[::10], *pose)[:, :3] for w, pose in zip(cells, poses, strict=True))
    lag = lag_of(np.linalg.norm(acceleration, axis=1), np.linalg.norm(force, axis=1), CAMERA_HZ)
    nothing = np.zeros((len(still), 3))
    for w, (R_s, r_s) in zip(cells, poses, strict=True):
        here = at(t + lag, slope(w, window, HZ, 0), HZ)
        zero = (here[still] + regressor(acceleration[still] @ R_s, nothing, nothing) @ phi_handle).mean(0)
        total += moved(here - zero, R_s, r_s)
        slopes += moved(at(t + lag, slope(w, window, HZ), HZ), R_s, r_s)
    A, y, y_slope = rows(regressor(acceleration, omega, omega_dot)), rows(total), rows(slopes)
    couple = np.stack([0 * camber, np.cos(camber), np.sin(camber), 1 / (R_w * np.cos(camber))], axis=1)
    turning = np.stack([0 * camber, 0 * camber, w_C[:, 2], 0 * camber], axis=1)
    friction = np.stack([couple * wheel[:, None], couple * np.sign(wheel)[:, None], turning], axis=2)
    chosen = [i for i in inside(t, s["train"]) if abs(wheel[i]) > 0.1]
    A, y, y_slope, friction = A[chosen], y[chosen], y_slope[chosen], friction[chosen]
    weights, start = 1 / np.array([1.0, 1.0, 1.0, 3.0]), theta_of(np.array(s["prior"]))
    mass = s["mass"]

    def values(x: np.ndarray) -> dict[str, float]:
        phi = phi_of(x[:10])
        friction = dict(zip(("b_v", "b_c", "b_psi"), np.exp(x[10:13]), strict=True))
        return drawn(phi * (mass / phi[0])) | friction

    def residual(x: np.ndarray) -> np.ndarray:
        phi = phi_of(x[:10])
        error = A @ (phi * (mass / phi[0])) + friction @ np.exp(x[10:13]) - y - x[13] * y_slope
        return np.concatenate([(error * weights).ravel(), x[:10] - start])

    return fit(residual, np.concatenate([start, [-1.0, 0.0, 1.0, 0.0]]), values)


# --- what is written --------------------------------------------------------------------------------------------------


def main() -> None:
    """Fit, and write results.csv and results.html."""
    kind, settings, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    s = json.loads(settings.read_text())
    fitted = {"handle": lambda *a: handle(*a)[1:], "door": door, "wheelbarrow": wheelbarrow}[kind]
    best, half, done = fitted(s, settings.parent)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "results.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "value", "half"), *((n, best[n], half[n]) for n in best)])
    table = "".join(f"<tr><td>{n}</td><td>{best[n]:.4g}</td><td>&plusmn; {half[n]:.2g}</td></tr>" for n in best)
    left = done.fun[:: max(1, len(done.fun) // 5000)]
    page = go.Figure(go.Scatter(y=left, mode="lines", name="residual")).to_html(include_plotlyjs=True)
    (out / "results.html").write_text(f"<h1>{kind}</h1><table>{table}</table>{page}")


if __name__ == "__main__":
    main()
