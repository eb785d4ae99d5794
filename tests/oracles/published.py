"""The paper's four identifications with its authors' choices, from the paper and FORMATS.md alone: NumPy and SciPy.

Own readers, own frames, own filters (scipy.signal), own regressors written out with cross products, the paper's
printed map phi(theta), and scipy.optimize. Where FORMATS.md leaves a choice open, this is what is taken: the door's
angle is the turn of x_B about z_B of the first sample, smoothed with the same window as its derivatives; of the
wheelbarrow, position and rotation are differentiated by central differences and each derivative is filtered once.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from scipy.optimize import least_squares
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

G = 9.81
T_LC_IMU = np.array([[0.0877, -0.9962, 0, -0.0861], [-0.9962, -0.0877, 0, 0.0125], [0, 0, -1, -0.0290]])
T_MARKER = np.array([[0.0997, -0.9950, 0, -0.0897], [0.9950, 0.0997, 0, -0.0201], [0, 0, 1, -0.0066], [0, 0, 0, 1]])
SIGMA = np.array([950 * 0.015, 950 * 0.015, 1900 * 0.010, 40 * 0.0125, 40 * 0.0125, 40 * 0.0125])


# -- files -------------------------------------------------------------------------------------------------------------


def read_vicon(path: Path) -> np.ndarray:
    """(frames, markers, 3) m."""
    text = "\n".join(line for line in path.read_text().splitlines()[5:] if line.strip()) + "\n"
    for gap in (",,", ",\n"):  # two empty cells share a comma
        while gap in text:
            text = text.replace(gap, f",nan{gap[1]}")
    table = np.loadtxt(StringIO(text), delimiter=",")[:, 2:]
    return table[:, : table.shape[1] // 3 * 3].reshape(len(table), -1, 3) / 1000


def read_mat(path: Path, number: int) -> np.ndarray:
    """(samples, 6) N, N m of sensor 1 or 2."""
    (variable,) = (v for k, v in loadmat(path, struct_as_record=False, squeeze_me=True).items() if k[0] != "_")
    by_name = {y.Path.split("/", 1)[1]: np.asarray(y.Data, dtype=float) for y in variable.Y}
    return np.stack([by_name[f"{kind}{axis}{number}_RawZero"] for kind in "FT" for axis in "xyz"], axis=1)


def read_imu(path: Path) -> np.ndarray:
    """(samples, 6) m/s2, rad/s."""
    table = np.loadtxt(path, delimiter=",", skiprows=38, usecols=range(1, 7))
    table = table[np.any(table != 0, axis=1)]
    table[:, :3] *= 9.81
    return table


def window(x: np.ndarray, first: int, offset: int, n: int, every: int = 1) -> np.ndarray:
    """Decimated, then samples first + offset ... first + offset + n, from 1."""
    return x[::every][first + offset - 1 : first + offset + n]


def inside(a: int, b: int) -> np.ndarray:
    """Samples a:b of MATLAB."""
    return np.arange(a - 1, b)


# -- physics -----------------------------------------------------------------------------------------------------------


def phi_of(theta: np.ndarray) -> np.ndarray:
    """Paper, eq. phi_theta; theta = alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e1, e2, e3 = np.exp(d1), np.exp(d2), np.exp(d3)
    return np.exp(2 * a) * np.array(
        [
            t1**2 + t2**2 + t3**2 + 1,
            t1 * e1,
            t1 * s12 + t2 * e2,
            t1 * s13 + t2 * s23 + t3 * e3,
            s12**2 + s13**2 + s23**2 + e2**2 + e3**2,
            -s12 * e1,
            -s13 * e1,
            s13**2 + s23**2 + e1**2 + e3**2,
            -s12 * s13 - s23 * e2,
            s12**2 + e1**2 + e2**2,
        ]
    )


def phi_of_known_mass(theta: np.ndarray, mass: float) -> np.ndarray:
    """Paper, eq. alpha; theta without alpha."""
    t = theta[6:9]
    return phi_of(np.concatenate([[0.5 * np.log(mass / (t @ t + 1))], theta]))


def theta_of(phi: np.ndarray) -> np.ndarray:
    """The inverse of the printed map: J = U'U, J the second moments of (x, y, z, 1), U upper triangular."""
    m, mc = phi[0], phi[1:4]
    inertia = np.array([[phi[4], phi[5], phi[6]], [phi[5], phi[7], phi[8]], [phi[6], phi[8], phi[9]]])
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    U = np.linalg.cholesky(np.block([[second, mc[:, None]], [mc[None, :], np.array([[m]])]])).T
    V = U / U[3, 3]
    d = np.log(np.diag(V)[:3])
    return np.array([np.log(U[3, 3]), *d, V[0, 1], V[1, 2], V[0, 2], *V[:3, 3]])


def regressor(a: np.ndarray, w: np.ndarray, wd: np.ndarray) -> np.ndarray:
    """(samples, 6, 10): f = m a + wd x mc + w x (w x mc), n = mc x a + I wd + w x I w; a is without gravity."""
    A = np.zeros((len(a), 6, 10))
    A[:, :3, 0] = a
    for i, e in enumerate(np.eye(3)):
        A[:, :3, 1 + i] = np.cross(wd, e) + np.cross(w, np.cross(w, e))
        A[:, 3:, 1 + i] = np.cross(e, a)
    for k, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        A[:, 3:, 4 + k] = wd @ unit + np.cross(w, w @ unit)
    return A


def body(m: float, com: list[float], inertia_com: np.ndarray) -> np.ndarray:
    """phi of mass, centre of mass and the inertia about it (parallel axes)."""
    c = np.array(com)
    about = inertia_com + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *about[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])


def cylinder(m: float, length: float, radius: float) -> np.ndarray:
    """About its middle, along x."""
    across = m * (3 * radius**2 + length**2) / 12
    return np.diag([m * radius**2 / 2, across, across])


def printed(phi: np.ndarray) -> dict[str, float]:
    """As the Table has it."""
    names = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    com = dict(zip(("c_x", "c_y", "c_z"), phi[1:4] / phi[0], strict=True))
    return {"m": phi[0], **com, **dict(zip(names, phi[4:], strict=True))}


# -- least squares -----------------------------------------------------------------------------------------------------


def derivative(f, x: np.ndarray) -> np.ndarray:
    """By complex steps: exact to rounding."""
    steps = 1e-30j * np.eye(len(x))
    return np.stack([np.imag(f(x + step)) / 1e-30 for step in steps], axis=1)


def fit(Y: np.ndarray, y: np.ndarray, physical, start: np.ndarray, damped: int = 0, lam: float = 0.0):
    """min |Y p(u) - y|^2 + lam^2 |u - start|^2 over the first `damped` unknowns; the solution, the authors' kappa."""
    R = np.linalg.qr(np.column_stack([Y, y]), mode="r")

    def residual(u: np.ndarray) -> np.ndarray:
        return np.concatenate([R[:, :-1] @ physical(u) - R[:, -1], lam * (u - start)[:damped]])

    u = start
    for _ in range(4):  # again from where it ended, until it stays there
        found = least_squares(
            residual, u, jac=lambda v: derivative(residual, v), x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        u = found.x
    s = np.linalg.svd(derivative(lambda v: R[:, :-1] @ physical(v), u), compute_uv=False)
    return u, float(np.hypot(s[0], lam) / np.hypot(s[-1], lam))


def errors(y: np.ndarray, f: np.ndarray) -> dict[str, list[float]]:
    size = np.sqrt(np.mean((y - f) ** 2, axis=0))
    return {"rms": size.tolist(), "percent": (100 * size / np.ptp(y, axis=0)).tolist()}


# -- markers -----------------------------------------------------------------------------------------------------------


def kabsch(points: np.ndarray, cloud: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """R (frames, 3, 3), r (frames, 3) with p = R c + r, over the visible markers; and their mean distance."""
    seen = np.isfinite(points[:, :, 0])
    count = seen.sum(axis=1)[:, None]
    p, c = np.where(seen[:, :, None], points, 0.0), np.where(seen[:, :, None], cloud, 0.0)
    p_mean, c_mean = p.sum(axis=1) / count, c.sum(axis=1) / count
    p0 = np.where(seen[:, :, None], p - p_mean[:, None], 0.0)
    c0 = np.where(seen[:, :, None], c - c_mean[:, None], 0.0)
    U, _, Vt = np.linalg.svd(np.einsum("nki,nkj->nij", p0, c0))
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]
    R = U @ Vt
    r = p_mean - np.einsum("nij,nj->ni", R, c_mean)
    distance = np.linalg.norm(points - np.einsum("nij,kj->nki", R, cloud) - r[:, None], axis=2)
    return R, r, float(np.mean(np.nanmean(distance, axis=1)))


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def sensor_frame(p1: np.ndarray, p2: np.ndarray, p3: np.ndarray) -> np.ndarray:
    """T (4, 4) of the sensor in the cloud."""
    x = unit(p3 - p2)
    z = unit(np.cross(p1 - p2, x))
    T = np.eye(4)
    T[:3] = np.column_stack([x, -np.cross(x, z), z, p2])
    return T @ np.linalg.inv(T_MARKER)


def without_weight(w: np.ndarray, R_ws: np.ndarray, mass: float, com: list[float], still: np.ndarray) -> np.ndarray:
    """The sensor's wrench minus the handle's weight minus the preload."""
    weight = mass * R_ws.transpose(0, 2, 1) @ np.array([0, 0, -G])
    left = w - np.hstack([weight, np.cross(com, weight)])
    return left - left[still].mean(axis=0)


# -- the four identifications ------------------------------------------------------------------------------------------


def handle(folder: Path, name: str) -> dict:
    if name == "wheelbarrow-handle":
        files, first, offset, n = ("exp1_036.mat", "IMU_Single.csv"), (17757, 9463), 5000, 96500
        train, test, lam, order = inside(20387, 46965), inside(51066, 66693), 10.0, 4
        turn = Rotation.from_euler("y", -90, degrees=True).as_matrix()
        prior = body(0.9, [0, 0, 0.075], turn @ cylinder(0.9, 0.15, 0.02) @ turn.T)
    else:
        files, first, offset, n = ("exp1_038.mat", "IMU_Door.csv"), (16309, 9760), 5000, 95000
        train, test, lam, order = inside(2736, 47446), inside(47446, 66936), 20.0, 3
        turn = Rotation.from_euler("z", -45, degrees=True).as_matrix()
        prior = body(1.5, [0, 0, 0.02], turn @ cylinder(1.5, 0.3, 0.02) @ turn.T)
    w = -window(read_mat(folder / "handles/data" / files[0], 1), first[0], offset, n)
    imu = window(read_imu(folder / "handles/data" / files[1]), first[1], offset, n)
    R, r = T_LC_IMU[:, :3], -T_LC_IMU[:, 3]
    omega = imu[:, 3:] @ R.T
    omega_dot = savgol_filter(omega, 51, 3, deriv=1, delta=0.001, axis=0)
    a = imu[:, :3] @ R.T + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))
    a, omega, omega_dot = (savgol_filter(x, 101, order, axis=0) for x in (a, omega, omega_dot))
    weights = SIGMA.min() / SIGMA
    with_bias = [
        np.concatenate([regressor(a[s], omega[s], omega_dot[s]), np.tile(np.eye(6), (len(s), 1, 1))], axis=2)
        for s in (train, test)
    ]
    Y, y = (x * weights.reshape(-1, *[1] * (x.ndim - 2)) for x in (with_bias[0], w[train]))
    start = np.concatenate([theta_of(prior), np.zeros(6)])
    u, kappa = fit(
        Y.reshape(-1, 16), y.ravel(), lambda v: np.concatenate([phi_of(v[:10]), v[10:]]), start, damped=10, lam=lam
    )
    phi = phi_of(u[:10])
    bias = {f"bias_{k}_{x}": v for (k, x), v in zip([(k, x) for k in "fn" for x in "xyz"], u[10:], strict=True)}
    return {
        "parameters": {**printed(phi), **bias},
        "kappa": kappa,
        **errors(w[test], with_bias[1] @ np.concatenate([phi, u[10:]])),
    }


def four_bar(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """phi_d and nu; Freudenstein with + K4 cos(theta), negative root (errata 1 and 2)."""
    L1, L2, L3, L4 = np.array([11.25, 10.75, 10.25, 13.75]) * 0.0254
    K1, K4, K5 = L4 / L1, L4 / L2, (L3**2 - L4**2 - L1**2 - L2**2) / (2 * L1 * L2)
    D, E = np.cos(theta) - K1 + K4 * np.cos(theta) + K5, -2 * np.sin(theta)
    F = K1 + (K4 - 1) * np.cos(theta) + K5
    gamma = 2 * np.arctan((-E - np.sqrt(E**2 - 4 * D * F)) / (2 * D))
    slope = (K4 * np.sin(theta) - np.sin(theta - gamma)) / (-K1 * np.sin(gamma) - np.sin(theta - gamma))
    return np.mod(np.pi + theta - gamma, 2 * np.pi), 1 - slope


def door(folder: Path) -> dict:
    data = folder / "door/data"
    cloud = np.nanmean(read_vicon(data / "Static.csv"), axis=0)
    points = window(read_vicon(data / "Trajectories.csv"), 1058, 900, 15400)
    w = window(read_mat(data / "exp1_021.mat", 1), 2082, 900, 15400, 10)
    on_door = np.array([*range(1, 11), 13, 14, 16, 17, 19, 20]) - 1
    R, _, error = kabsch(points[:, on_door], cloud[on_door])
    line = cloud[np.array([13, 14, 16, 17, 19, 20]) - 1]
    origin = line.mean(axis=0)
    z = np.linalg.eigh((line - origin).T @ (line - origin))[1][:, 2]
    z = -z * np.sign(z[2])
    x = cloud[10] - origin
    x = unit(x - (x @ z) * z)
    T = np.eye(4)
    T[:3] = np.column_stack([x, np.cross(z, x), z, origin])
    x_now = R @ x
    x0, z0 = x_now[0], R[0] @ z
    angle = np.arctan2(np.cross(x0, x_now) @ z0, x_now @ x0)
    theta, speed, acceleration = (savgol_filter(angle, 31, 4, deriv=d, delta=0.01) for d in range(3))
    T_cs = sensor_frame(cloud[0], cloud[1], cloud[2])
    clean = without_weight(w, R @ T_cs[:3, :3], 1.5310, [-0.0007, -0.0015, 0.0260], inside(1, 500))
    T_bs = np.linalg.inv(T) @ T_cs
    force = clean[:, :3] @ T_bs[:3, :3].T
    tau = (clean[:, 3:] @ T_bs[:3, :3].T + np.cross(T_bs[:3, 3], force))[:, 2]
    phi, nu = four_bar(theta)

    slow = inside(1, 6023)
    slow = slow[np.abs(speed[slow]) < 0.02]
    c = np.linalg.lstsq(np.vander(phi[slow], 4, increasing=True), -tau[slow] / nu[slow], rcond=None)[0]
    y = tau + nu * (np.vander(phi, 4, increasing=True) @ c)
    rate, eps = nu * speed, np.radians(2)
    w_bc = 0.5 * (1 + np.tanh((theta - np.radians(69)) / eps))
    w_l = 0.5 * (1 + np.tanh((np.radians(25) - theta) / eps))
    opening, closing = rate > 0, rate < 0
    Y = np.stack(
        [
            acceleration,
            speed,
            np.sign(speed),
            nu * rate * w_bc * opening,
            nu * rate * (1 - w_l) * closing,
            nu * rate * w_l * closing,
        ],
        axis=1,
    )
    train, test = np.concatenate([inside(6024, 10833), inside(14129, 15000)]), inside(10833, 14129)
    u, kappa = fit(Y[train], y[train], np.exp, np.zeros(6))
    p = np.exp(u)
    return {
        "parameters": {
            **dict(zip(("I", "b_v", "b_c", "b_bc", "b_s", "b_l"), p, strict=True)),
            **{f"c_{i}": v for i, v in enumerate(c)},
        },
        "kappa": kappa,
        **errors(y[test][:, None], (Y @ p)[test][:, None]),
        "marker_error_m": error,
    }


def central(x: np.ndarray) -> np.ndarray:
    """Central differences at 100 Hz, one-sided at the ends."""
    d = np.empty_like(x)
    d[1:-1] = (x[2:] - x[:-2]) / 0.02
    d[0], d[-1] = (x[1] - x[0]) / 0.01, (x[-1] - x[-2]) / 0.01
    return d


def wheelbarrow(folder: Path) -> dict:
    data = folder / "wheelbarrow/data"
    points = window(read_vicon(data / "WB Trajectories.csv"), 1008, 1, 21200)
    points[:, :, 2] += 0.0095
    cloud = np.nanmean(points[inside(20951, 21201)], axis=0)
    R, r, error = kabsch(points, cloud)
    ID = {i + 1: p for i, p in enumerate(cloud)}
    z = unit(ID[11] - ID[8])
    y = (ID[6] - ID[9]) + (ID[13] - ID[10])
    y = unit(y - (y @ z) * z)
    T = np.eye(4)
    T[:3] = np.column_stack([np.cross(y, z), y, z, 0.5 * (ID[8] + ID[11])])
    R_B, r_B = R @ T[:3, :3], R @ T[:3, 3] + r

    up = np.array([0.0, 0.0, 1.0])

    def smooth(v: np.ndarray) -> np.ndarray:
        return savgol_filter(v, 11, 4, axis=0)

    spin = R_B.transpose(0, 2, 1) @ central(R_B)
    spin = 0.5 * (spin - spin.transpose(0, 2, 1))
    omega = smooth(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1))
    omega_dot = smooth(central(omega))
    velocity = smooth(central(r_B))
    acceleration = smooth(central(velocity)) + G * up
    a = np.einsum("nji,nj->ni", R_B, acceleration)

    y_C = unit(R_B[:, :, 2] * [1, 1, 0])
    R_C = np.stack([np.cross(y_C, up), y_C, np.tile(up, (len(y_C), 1))], axis=2)
    r_C = r_B * [1, 1, 0]

    def at_contact(w: np.ndarray, R_f: np.ndarray, r_f: np.ndarray) -> np.ndarray:
        """Moments (samples, 3, ...) about C in axes of C of wrenches (samples, 6, k) in a frame."""
        R_cf = R_C.transpose(0, 2, 1) @ R_f
        arm = np.einsum("nji,nj->ni", R_C, r_f - r_C)
        f, m = R_cf @ w[:, :3], R_cf @ w[:, 3:]
        return m + np.cross(arm[:, :, None], f, axis=1)

    total = np.zeros((len(r), 3))
    for number, corners in ((1, (5, 4, 3)), (2, (14, 15, 16))):
        w = window(read_mat(data / "exp1_039.mat", number), 2005, 1, 21200, 10)
        T_s = sensor_frame(*(ID[i] for i in corners))
        clean = without_weight(w, R @ T_s[:3, :3], 0.8082, [0.0002, 0.0001, 0.0814], inside(1000, 1500))
        total += at_contact(clean[:, :, None], R @ T_s[:3, :3], R @ T_s[:3, 3] + r)[:, :, 0]
    speed = np.einsum("ni,ni->n", R_C[:, :, 0], velocity) / 0.197
    yaw_rate = np.einsum("ni,ni->n", R_B[:, 2], omega)
    axle = np.einsum("nji,nj->ni", R_C, R_B[:, :, 2])
    friction = np.stack([axle * speed[:, None], axle * np.sign(speed)[:, None], up * yaw_rate[:, None]], axis=2)
    Y = np.concatenate([at_contact(regressor(a, omega, omega_dot), R_B, r_B), friction], axis=2)
    fixed = np.array([0, 0, 9.5])  # of [-13.7, 0, 0, 0, 0, 9.5] at C, what the moments see

    inertia = np.array([[3.6670, 0.0553, 0.0046], [0.0553, 1.0924, 0.0008], [0.0046, 0.0008, 3.1350]])
    prior = theta_of(body(45.0, [-0.1121, 0.4498, 0.0004], inertia))[1:]
    start = np.concatenate([prior, np.log([0.5, 0.5, 1.0])])

    def physical(v: np.ndarray) -> np.ndarray:
        return np.concatenate([phi_of_known_mass(v[:9], 45.0), np.exp(v[9:])])

    train, test = inside(1879, 4883), inside(18586, 20859)
    (u, kappa), (plain, _) = (
        fit(Y[train].reshape(-1, 13), y[train].ravel(), physical, start, damped=9, lam=100.0)
        for y in (total - fixed, total)
    )
    p = physical(u)

    def named(p: np.ndarray) -> dict[str, float]:
        return {**printed(p[:10]), **dict(zip(("b_v", "b_c", "b_psi"), p[10:], strict=True))}

    return {
        "parameters": named(p),
        "without_correction": named(physical(plain)),
        "kappa": kappa,
        **errors((total - fixed)[test], Y[test] @ p),
        "marker_error_m": error,
    }


def everything(folder: Path) -> dict[str, dict]:
    """All four, by the names that palpate has for them."""
    handles = {name: handle(folder, name) for name in ("door-handle", "wheelbarrow-handle")}
    return {**handles, "door": door(folder), "wheelbarrow": wheelbarrow(folder)}
