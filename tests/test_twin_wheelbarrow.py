"""The wheelbarrow twin is proven against MuJoCo, energy and plain geometry before anything is proven with it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy.io import loadmat

from palpate.experiment import shipped_experiments
from palpate.physics.inertia import is_consistent, mass_properties
from palpate.physics.motion import exp_rotation
from palpate.recording import Recording, load
from palpate.twin.authors import paper_wheelbarrow_twin, write_paper_body
from palpate.twin.handle import off_by, random_handle
from palpate.twin.instruments import T_MARKER, DeviceClock, Instruments, random_clocks
from palpate.twin.rolling import (
    KINDS,
    TABLE,
    WHEELBARROW,
    Kind,
    RollingTwin,
    Segment,
    body_poses,
    dress_rolling,
    holding,
    markers_in_capture,
    paper_barrow,
    pushes,
    random_barrow,
    rolling_recordings,
    wheelbarrow_twin,
    write_rolling_twin,
)
from tests.conftest import needs
from tests.oracles.rolling_newton import hands_needed, kinematics
from tests.rolling_session import at_contact, spinning, standing_at

PERFECT = Instruments(**dict.fromkeys((f.name for f in fields(Instruments)), 1e-15))
SHORT = (Segment("train", 3.0, 15.0, KINDS), Segment("test", 18.5, 22.0, ("mixed",)))
AXES = [f"{kind}{axis}" for kind in "FT" for axis in "xyz"]
G = 9.80665


def made() -> RollingTwin:
    vigorous = replace(WHEELBARROW, manner=WHEELBARROW.manner.scaled(1.4, 1.0))
    rng, phi = np.random.default_rng([3, 30]), random_handle(np.random.default_rng([3, 0]))
    twin = dress_rolling(random_barrow(rng), phi, 3, SHORT, random_clocks(rng, -2.0, 0.3), build=vigorous)
    return replace(spinning(twin, 0.08), instruments=PERFECT, R_capture_world=np.eye(3))


@pytest.fixture(scope="module")
def twin() -> RollingTwin:
    """All four kinds of motion in 26 s, a wheel with spin inertia, perfect instruments and an upright capture."""
    return replace(made(), noise_m=0.0, hidden=(0.0, 0.0))


@pytest.fixture(scope="module")
def recordings(twin: RollingTwin) -> tuple[Recording, Recording, Recording, dict[str, Any]]:
    return rolling_recordings(twin)


class Seen:
    """The motion at a few times from poses alone, by differences: nothing of the twin's own derivatives."""

    def __init__(self, twin: RollingTwin, t: np.ndarray, h: float = 2e-4) -> None:
        fine = (t[:, None] + h * np.arange(-2, 3)).ravel()
        R, r = body_poses(twin, fine)
        R, r = R.reshape(-1, 5, 3, 3), r.reshape(-1, 5, 3)
        first, second = np.array([1, -8, 0, 8, -1]) / (12 * h), np.array([-1, 16, -30, 16, -1]) / (12 * h * h)
        self.R, self.r = R[:, 2], r[:, 2]
        self.v, self.a = np.einsum("k,nki->ni", first, r), np.einsum("k,nki->ni", second, r)
        R1, R2 = np.einsum("k,nkij->nij", first, R), np.einsum("k,nkij->nij", second, R)
        self.omega = axial(self.R.transpose(0, 2, 1) @ R1)  # in B
        self.omega_dot = axial(self.R.transpose(0, 2, 1) @ R2)  # the symmetric part, omega x omega x, drops out
        z = self.R[:, :, 2]
        y_C = np.stack([z[:, 0], z[:, 1], 0 * z[:, 0]], axis=1)
        y_C /= np.linalg.norm(y_C, axis=1, keepdims=True)
        up = np.array([0.0, 0.0, 1.0])
        self.R_C = np.stack([np.cross(y_C, up), y_C, np.broadcast_to(up, y_C.shape)], axis=2)
        self.camber = np.arcsin(z[:, 2])
        self.contact = self.r * [1, 1, 0]
        self.omega_world = np.einsum("nij,nj->ni", self.R, self.omega)

    def spin(self, radius: float) -> np.ndarray:
        """Of a sphere that does not slip and whose axle is that of the body: omega_wheel = omega + s z_B."""
        z, up = self.R[:, :, 2], np.array([0.0, 0.0, radius])
        ahead, x = np.cross(z, up), self.R_C[:, :, 0]
        missing = self.v - np.cross(self.omega_world, up)
        s = (missing * x).sum(axis=1) / (ahead * x).sum(axis=1)
        return ((self.omega_world + s[:, None] * z) * z).sum(axis=1)


def axial(S: np.ndarray) -> np.ndarray:
    return np.stack([S[:, 2, 1] - S[:, 1, 2], S[:, 0, 2] - S[:, 2, 0], S[:, 1, 0] - S[:, 0, 1]], axis=1) / 2


def lifted_times(twin: RollingTwin, every: float = 0.037) -> np.ndarray:
    return np.concatenate([np.arange(a + 0.01, b - 0.01, every) for a, b in twin.wheeling.lifted])


def stored_at(twin: RollingTwin, cells: Recording, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest samples' true times and the two stored wrenches there."""
    t = twin.load_cell.true(cells["Fx1_RawZero"].clock.times_s)
    i = np.searchsorted(t, times_s)
    right, left = (cells.stack([f"{axis}{number}_RawZero" for axis in AXES])[i] for number in (1, 2))
    return t[i], right, left


def hands_on_body(twin: RollingTwin, seen: Seen, right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """(n, 6) of both load cells in world axes about the contact."""
    total = np.zeros_like(right)
    for i, wrench in enumerate((right, left)):
        R = seen.R @ twin.R_body_sensor[i]
        arm = seen.r + seen.R @ twin.r_body_sensor[i] - seen.contact
        force = np.einsum("nij,nj->ni", R, wrench[:, :3])
        total[:, :3] += force
        total[:, 3:] += np.einsum("nij,nj->ni", R, wrench[:, 3:]) + np.cross(arm, force)
    return total


# The physics


def test_the_wheel_rolls_without_slip(twin: RollingTwin) -> None:
    """From ideal markers: height, and the sideways speed that a sphere has while it leans."""
    h = 1e-3
    t = np.sort(np.concatenate([lifted_times(twin, 0.2) + d for d in (-h, 0.0, h)]))
    points = markers_in_capture(twin, t)
    right, left = points[:, 7], points[:, 10]
    middle, z = (right + left) / 2, left - right
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    assert np.abs(middle[:, 2] - twin.wheel.radius).max() < 1e-12
    before, now, after = (slice(i, None, 3) for i in range(3))
    v = (middle[after] - middle[before]) / (2 * h)
    camber = np.arcsin(z[:, 2])
    leaning = (camber[after] - camber[before]) / (2 * h)
    y = z[now] * [1, 1, 0] / np.cos(camber[now])[:, None]
    slip = (v * y).sum(axis=1) + twin.wheel.radius * leaning
    assert np.abs(slip).max() < 3e-5
    assert np.abs(twin.wheel.radius * leaning).max() > 0.03
    assert np.abs(v).max() > 0.3


def test_rates_are_the_derivatives_of_the_poses(twin: RollingTwin) -> None:
    t = lifted_times(twin, 0.11)
    seen, k = Seen(twin, t), kinematics(twin.wheeling.path(t), twin.wheel.radius)
    to_contact = seen.R_C.transpose(0, 2, 1)
    assert np.abs(to_contact @ seen.R - k.R_contact_body).max() < 1e-9
    own = k.R_contact_body.transpose(0, 2, 1)
    for found, expected, within in (
        (np.einsum("nij,nj->ni", own, k.omega), seen.omega, 1e-8),
        (np.einsum("nij,nj->ni", own, k.omega_dot), seen.omega_dot, 1e-5),
        (k.acceleration, np.einsum("nij,nj->ni", to_contact, seen.a), 1e-5),
    ):
        assert np.abs(found - expected).max() < within
        assert np.abs(expected).max() > 1
    assert np.abs(k.spin - seen.spin(twin.wheel.radius)).max() < 1e-7


def test_stored_wrenches_and_ground_move_mujocos_body(
    twin: RollingTwin, recordings: tuple[Recording, Recording, Recording, dict[str, Any]]
) -> None:
    """Of the ground: two constraint forces are free, the rest is rolling resistance, scrub and the wheel's f_x."""
    needs("mujoco", "mujoco")
    from tests.oracles.mujoco_body import body_wrench

    t, right, left = stored_at(twin, recordings[1], lifted_times(twin))
    seen, values, radius = Seen(twin, t), twin.model.values, twin.wheel.radius
    locked = body_wrench(twin.model.p[:10], seen.R, seen.omega, seen.omega_dot, seen.a, G)
    force = np.einsum("nij,nj->ni", seen.R, locked[:, :3])
    moment = np.einsum("nij,nj->ni", seen.R, locked[:, 3:]) + np.cross(seen.r - seen.contact, force)
    # the wheel's spin, which MuJoCo's body does not have: d/dt (I_w spin z_B), by differences
    h = 1e-4
    spun = [s.spin(radius)[:, None] * s.R[:, :, 2] for s in (Seen(twin, t - h), Seen(twin, t + h))]
    moment += values["I_w"] * (spun[1] - spun[0]) / (2 * h)
    ground = np.hstack([force, moment]) - hands_on_body(twin, seen, right, left)
    ground = np.hstack([np.einsum("nji,nj->ni", seen.R_C, part) for part in (ground[:, :3], ground[:, 3:])])

    spin, spin_dot = (
        seen.spin(radius),
        (Seen(twin, t + h).spin(radius) - Seen(twin, t - h).spin(radius)) / (2 * h),
    )
    resistance = values["b_v"] * spin + values["b_c"] * np.sign(spin)
    z_B = np.einsum("nji,nj->ni", seen.R_C, seen.R[:, :, 2])
    couple = -resistance[:, None] * z_B
    couple[:, 2] -= values["b_psi"] * seen.omega_world[:, 2]
    ahead = -(resistance + values["I_w"] * spin_dot) / (radius * np.cos(seen.camber))
    surely = np.abs(spin) > 1e-6  # the sign of less is not known from differences
    assert surely.mean() > 0.95
    assert np.abs(ground[:, 3:] - couple)[surely].max() < 2e-4
    assert np.abs(ground[:, 0] - ahead)[surely].max() < 5e-4
    assert ground[:, 2].min() > 50  # the wheel stays on the ground and has no cause to slip
    assert (np.hypot(ground[:, 0], ground[:, 1]) / ground[:, 2]).max() < 0.8
    assert np.abs(couple[:, 2]).max() > 1


def test_newton_and_euler_ask_for_the_same_hands(twin: RollingTwin) -> None:
    """Two derivations that share nothing: a balance at the contact, and the mechanism with its elements."""
    t = lifted_times(twin)
    path = twin.wheeling.path(t)
    theirs = hands_needed(twin.model.p[:10], dict(twin.model.values), twin.wheel.radius, 0.0, path, twin.gravity)
    ours, rows = at_contact(twin, t)[0], [3, 4, 5, 0]
    assert np.abs(ours - theirs)[:, rows].max() < 1e-10
    assert (ours[:, rows].std(axis=0) > 5).all()


def test_work_of_the_hands_is_energy_and_friction(twin: RollingTwin) -> None:
    """Both load cells' power, integrated over a whole segment with its lifting and putting down."""
    begin, end = twin.wheeling.lifted[0]
    t = np.arange(begin, end, 1e-3)
    k, done = kinematics(twin.wheeling.path(t), twin.wheel.radius), pushes(twin, t)
    R = k.R_contact_body
    omega = np.einsum("nji,nj->ni", R, k.omega)
    path = twin.wheeling.path(t)
    axle = np.einsum("nji,nj->ni", R, np.stack([path.rate[0], -twin.wheel.radius * path.rate[2], 0 * t], axis=1))
    power = np.zeros_like(t)
    for wrench, place in zip(done, twin.r_body_sensor, strict=True):
        power += (wrench[:, :3] * (axle + np.cross(omega, place))).sum(1) + (wrench[:, 3:] * omega).sum(1)
    mass, com, inertia = mass_properties(twin.model.p[:10])
    v = axle + np.cross(omega, com)
    energy = 0.5 * mass * (v * v).sum(1) + 0.5 * np.einsum("ni,ij,nj->n", omega, inertia, omega)
    energy += 0.5 * twin.model.values["I_w"] * k.spin**2 + mass * G * (R @ com)[:, 2]
    b_v, b_c, b_psi = (twin.model.values[n] for n in ("b_v", "b_c", "b_psi"))
    lost = b_v * k.spin**2 + b_c * np.abs(k.spin) + b_psi * k.omega[:, 2] ** 2
    balance = np.cumsum((power - lost)[1:] + (power - lost)[:-1]) * 0.5e-3 - (energy[1:] - energy[0])
    assert np.abs(balance).max() < 2e-3 * np.ptp(energy)
    assert np.abs(balance).max() < 0.01 * np.cumsum(lost)[-1] * 1e-3
    assert (lost * 1e-3).sum() > 5


def test_feet_stand_or_are_clear(twin: RollingTwin) -> None:
    t = np.arange(0, twin.duration_s, 0.01)
    R, r = body_poses(twin, t)
    heights = (np.array(twin.wheel.feet) @ R.transpose(0, 2, 1) + r[:, None])[:, :, 2]
    stands = standing_at(twin, t)
    assert np.abs(heights[stands]).max() < 1e-12
    assert heights[~stands].min() > -1e-12
    inside = np.any([(t >= s.begin_s) & (t < s.end_s) for s in SHORT], axis=0)
    assert heights[inside].min() > 0.015
    assert np.abs(np.diff(r[stands & np.roll(stands, -1)], axis=0)).max() < 0.2  # rests where it was put down
    assert (holding(twin.wheeling, t)[~stands] == 1).all()
    resistance = twin.wheel.radius * at_contact(twin, t)[1][stands, 0]
    assert np.abs(resistance).max() <= twin.model.values["b_c"]
    assert np.ptp(resistance) > 0.1 * twin.model.values["b_c"]


def test_untouched_sensors_carry_the_handles(
    twin: RollingTwin, recordings: tuple[Recording, Recording, Recording, dict[str, Any]]
) -> None:
    _, right, left = stored_at(twin, recordings[1], np.array([0.4]))
    R = body_poses(twin, np.array([0.4, 0.5]))[0][0]
    m, com = twin.phi[0], twin.phi[1:4] / twin.phi[0]
    for i, wrench in enumerate((right[0], left[0])):
        weight = (R @ twin.R_body_sensor[i]).T @ [0, 0, -m * G]
        assert np.abs(wrench - [*weight, *np.cross(com, weight)]).max() < 1e-9


def test_hands_squeeze_lift_and_share(twin: RollingTwin) -> None:
    done = pushes(twin, lifted_times(twin))
    force = done[:, :, :3]
    assert (force[:, :, 0].mean(axis=1) < -20).all()  # x_B is down: both lift
    assert (force.std(axis=1).min(axis=0) > [5, 5, 1]).all()
    assert 40 < np.abs(force).max() < 450
    assert np.abs(done[:, :, 3:]).max() < 50


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_wheelbarrows_are_moved_as_the_paper_moves_its(seed: int) -> None:
    twin = wheelbarrow_twin(seed)
    t = np.arange(0, twin.duration_s, 0.01)
    path = twin.wheeling.path(t)
    free = ~standing_at(twin, t)
    assert np.degrees(np.abs(path.value[2])).max() < 7.5
    assert at_contact(twin, t)[1][free, 2].min() > 30
    assert 0 < np.degrees(path.value[3].min()) < 15
    assert np.degrees(path.value[3].max()) < 60
    segment = twin.wheeling.segments[0]
    edges = np.linspace(segment.begin_s, segment.end_s, len(segment.kinds) + 1)
    assert set(segment.kinds) >= set(KINDS)
    rms = {}
    for kind, a, b in zip(segment.kinds, edges[:-1] + 0.6, edges[1:] - 0.6, strict=True):
        rms[kind] = path.acceleration[:, (t > a) & (t < b)].std(axis=1)
    assert 2.8 < rms["lift"][3] < 5.5
    for kind, coordinate in (("push", 0), ("scrub", 1), ("roll", 2), ("lift", 3)):
        assert rms[kind][coordinate] > 2 * max(r[coordinate] for name, r in rms.items() if name not in (kind, "mixed"))
    inside = (t >= segment.begin_s) & (t < segment.end_s)
    n = int(inside.sum())
    power = np.abs(np.fft.rfft(path.acceleration[:, inside] * np.hanning(n))) ** 2
    # sines to 3 Hz, which changing from one kind to the next widens a little
    beyond = power[:, np.fft.rfftfreq(n, 0.01) > 4.0].sum(axis=1) / power.sum(axis=1)
    assert (beyond < 2e-3).all()


def test_random_wheelbarrows_are_bodies() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        barrow = random_barrow(rng)
        phi = barrow.p[:10]
        mass, com, _ = mass_properties(phi)
        assert is_consistent(phi)
        assert 25 <= mass <= 60
        assert 0.15 <= barrow.mechanism.wheel.radius <= 0.22
        assert 0.25 < com[1] < 0.5
        assert com[0] < 0
        drawn = off_by(rng, phi, 0.3, mass_known=True)
        assert is_consistent(drawn)
        assert drawn[0] == pytest.approx(mass)
    many = np.array([off_by(np.random.default_rng(i), phi, 0.1, mass_known=True)[9] for i in range(400)])
    assert 0.02 < many.std() / phi[9] < 0.12


def test_the_papers_table_is_a_body() -> None:
    barrow = paper_barrow()
    row = np.array(TABLE)
    np.testing.assert_allclose(barrow.p[:10], [45.0, *(45.0 * row[1:4]), *row[4:]], rtol=1e-12)
    assert is_consistent(barrow.p[:10])


# What the instruments store


def test_markers_give_the_frames(twin: RollingTwin) -> None:
    """FORMATS, Wheelbarrow and Sensor frame, word by word."""
    p = {i + 1: place for i, place in enumerate(twin.places)}
    z = (p[11] - p[8]) / np.linalg.norm(p[11] - p[8])
    y = (p[6] - p[9]) + (p[13] - p[10])
    y -= (y @ z) * z
    y /= np.linalg.norm(y)
    assert np.abs(np.stack([np.cross(y, z), y, z], axis=1) - np.eye(3)).max() < 1e-12
    assert np.abs(p[8] + p[11]).max() < 1e-12
    for i, (a, b, c) in enumerate(((5, 4, 3), (14, 15, 16))):
        x = (p[c] - p[b]) / np.linalg.norm(p[c] - p[b])
        up = np.cross(p[a] - p[b], x)
        up /= np.linalg.norm(up)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.stack([x, -np.cross(x, up), up], axis=1), p[b]
        T = T @ np.linalg.inv(T_MARKER)
        assert np.abs(T[:3, :3] - twin.R_body_sensor[i]).max() < 1e-4  # the drawing has four digits
        assert np.abs(T[:3, 3] - twin.r_body_sensor[i]).max() < 1e-4
        assert twin.R_body_sensor[i, 1, 2] > 0.95  # z back, towards the person
    assert twin.r_body_sensor[0, 2] < 0 < twin.r_body_sensor[1, 2]
    apart = np.linalg.norm(twin.places[:, None] - twin.places, axis=2) + np.eye(23)
    assert apart.min() > 0.02


def test_the_cameras_see_noise_gaps_and_the_floor() -> None:
    twin = replace(wheelbarrow_twin(5, segments=SHORT), R_capture_world=exp_rotation(np.radians([0.0, 0.3, 0.0])))
    markers = rolling_recordings(twin)[0]
    assert list(markers) == [f"WBObject:WB_ID{i}" for i in range(1, 24)]
    points = np.stack([markers[n].samples for n in markers], axis=1)
    t = markers["WBObject:WB_ID1"].clock.times_s
    ideal = markers_in_capture(twin, t)
    off = points - ideal
    assert np.nanstd(off) == pytest.approx(3e-4, rel=0.02)
    hidden = np.isnan(points[:, :, 0]).mean(axis=0)
    modules = [i - 1 for i in (3, 4, 5, 14, 15, 16)]
    assert hidden[modules].mean() > 0.08
    assert 0.02 < np.delete(hidden, modules).mean() < 0.06
    up = twin.R_capture_world[:, 2]
    assert np.degrees(np.arccos(up[2])) == pytest.approx(0.3)
    axle = (ideal[:, 7] + ideal[:, 10]) / 2
    assert np.ptp(axle @ up) < 1e-12
    assert np.ptp(axle[:, 2]) > 1e-4
    standing = t < 2.0
    assert np.abs((ideal[standing][:, [6, 11]] @ up) - 0.021).max() < 1e-9


def test_the_imu_feels_the_right_sensors_motion(
    twin: RollingTwin, recordings: tuple[Recording, Recording, Recording, dict[str, Any]]
) -> None:
    imu = recordings[2]
    t = twin.imu.true(imu["acceleration.x"].clock.times_s)
    i = np.searchsorted(t, lifted_times(twin, 0.13))
    h, T = 2e-4, np.array([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
    place = twin.r_body_sensor[0] + twin.R_body_sensor[0] @ [-0.0861, 0.0125, -0.0290]
    R, r = body_poses(twin, (t[i][:, None] + h * np.arange(-2, 3)).ravel())
    point = (r + R @ place).reshape(-1, 5, 3)
    a = np.einsum("k,nki->ni", np.array([-1, 16, -30, 16, -1]) / (12 * h * h), point) + np.array([0, 0, G])
    to_imu = (R.reshape(-1, 5, 3, 3)[:, 2] @ twin.R_body_sensor[0] @ T).transpose(0, 2, 1)
    felt = imu.stack([f"acceleration.{x}" for x in "xyz"])[i]
    assert np.abs(felt - np.einsum("nij,nj->ni", to_imu, a)).max() < 2e-3  # the drawing has four digits
    assert np.abs(a - [0, 0, G]).max() > 2
    rate = imu.stack([f"angular_rate.{x}" for x in "xyz"])[i]
    turned = np.einsum("nij,nj->ni", to_imu, Seen(twin, t[i]).omega_world)
    assert np.abs(rate - turned).max() < 5e-4


def test_the_same_seed_gives_the_same_recordings(
    twin: RollingTwin, recordings: tuple[Recording, Recording, Recording, dict[str, Any]]
) -> None:
    again = rolling_recordings(made())
    assert json.dumps(again[3]) == json.dumps(recordings[3])
    np.testing.assert_array_equal(again[1]["Tz2_RawZero"].samples, recordings[1]["Tz2_RawZero"].samples)
    assert wheelbarrow_twin(4).wheel.radius != twin.wheel.radius


@pytest.mark.usefixtures("short_handles")
def test_a_folder_has_all_that_the_stages_need(tmp_path: Path) -> None:
    file = write_rolling_twin(tmp_path / "new", wheelbarrow_twin(7, segments=SHORT))
    folder = file.parent
    formats = {name: load(folder / name).format for name in ("WB Trajectories.csv", "wrench.mat", "imu.csv")}
    assert list(formats.values()) == ["vicon-csv", "dspace-mat", "microstrain-csv"]
    config = YAML(typ="safe").load(file.read_text())
    truth = json.loads((folder / "truth.json").read_text())
    named = truth["parameters"]
    assert list(named) == ["m", "c_x", "c_y", "c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "b_v", "b_c", "b_psi"]
    assert config["known_mass"] == {"value": f"{named['m']['value']:.6g} kg", "of": "body"}
    assert config["markers"]["axle"]["radius"] == f"{truth['wheel']['radius_m']:g} m"
    assert config["markers"]["feet"] == ["WB_ID7", "WB_ID12"]
    assert config["segments"] == {"static": [0.5, 1.0], "train": [[3, 15]], "test": [[18.5, 22]]}
    assert truth["feet"]["on_ground_s"] == [[0.0, 2.2], [15.8, 17.7], [22.8, 26.0]]
    assert truth["parameters_whole"]["m"]["value"] == pytest.approx(named["m"]["value"] + 2 * truth["phi"]["m"])
    handle = json.loads((folder / "handle" / "truth.json").read_text())
    assert handle["phi"] == truth["phi"]
    assert (folder / config["handle"]).exists()
    for device in ("wrench", "wrench_2"):
        entry = config["recordings"][device]
        cell = load(folder / entry["file"], format=entry["format"], device=entry["device"])
        assert len(cell) == 6
        t = cell[next(iter(cell))].clock.times_s
        still = cell.stack(list(cell))[(t > 0.6) & (t < 0.9)]
        assert np.abs(still.mean(axis=0)[:3]).max() < 25


# The paper's


def test_the_papers_samples_are_one_instant() -> None:
    twin = paper_wheelbarrow_twin(random_handle(np.random.default_rng(0)))
    vicon, cell, imu = (0.01 * (first - 1) for first in (1008, 2005, 1439))
    assert twin.load_cell.true(np.array([cell]))[0] == pytest.approx(vicon, abs=1e-9)
    assert twin.imu.true(np.array([imu]))[0] == pytest.approx(vicon, abs=1e-9)
    assert 100 * twin.duration_s >= 1008 + 1 + 21200
    k = np.arange(1, 21202)
    stands = standing_at(twin, 0.01 * (1008 + k - 1))
    held = holding(twin.wheeling, 0.01 * (1008 + k[::10] - 1))[np.arange(0, len(k), 10) // 10]
    for a, b in ((1, 1500), (20951, 21201)):
        assert stands[a - 1 : b].all()
    assert (held[:150] == 0).all()
    for a, b in (
        *((1879, 4883), (18586, 20859)),
        *((6000, 7755), (9265, 11646), (12422, 14345), (15713, 17817)),
    ):
        assert not stands[a - 1 : b].any()
    assert twin.gravity == 9.81
    assert markers_in_capture(twin, np.array([1.0, 1.1]))[:, [6, 11], 2].mean() == pytest.approx(
        0.021 - 0.0095, abs=4e-3
    )
    other = paper_wheelbarrow_twin(twin.phi, seed=1)
    assert other.wheel.radius == 0.197
    assert other.model.p[0] != 45.0


@pytest.mark.skipif("wheelbarrow" not in shipped_experiments(), reason="its experiment file does not ship yet")
def test_the_authors_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palpate.twin.authors._WINDOWS", {"train": ((379, 600),)})
    monkeypatch.setattr("palpate.twin.authors._SECONDS", 30.0)  # of the handle
    file = write_paper_body(tmp_path, name="wheelbarrow")
    assert "wheelbarrow-truth.json" in file.read_text()
    assert (tmp_path / "handles" / "data" / "exp1_036.mat").exists()
    handle = json.loads((tmp_path / "truth.json").read_text())
    data = tmp_path / "wheelbarrow" / "data"
    assert {p.name for p in data.iterdir()} == {"WB Trajectories.csv", "exp1_039.mat", "WB_Object_IMU.csv"}
    struct = loadmat(data / "exp1_039.mat", simplify_cells=True)["exp1_039"]
    np.testing.assert_array_equal(struct["X"][0]["Data"], struct["X"][2]["Data"])
    assert [(y["Name"], y["Device"]) for y in struct["Y"][5:7]] == [
        ("Tz1_RawZero", "Platform"),
        ("Fx2_RawZero", "Platform_2"),
    ]
    truth = json.loads((tmp_path / "wheelbarrow-truth.json").read_text())
    assert truth["phi"] == handle["phi"]
    assert [truth["parameters"][n]["value"] for n in ("m", "b_v", "b_c", "b_psi")] == [45.0, 0.388, 1.172, 2.943]


def test_a_person_who_only_pushes() -> None:
    kinds: tuple[Kind, ...] = ("push",)
    segments = (Segment("train", 2.5, 9.0, kinds),)
    gentle = replace(WHEELBARROW, manner=WHEELBARROW.manner.scaled(0.4, 1.0))
    twin = dress_rolling(paper_barrow(), np.zeros(10), 0, segments, [DeviceClock(0.0, 0.0)] * 2, build=gentle)
    path = twin.wheeling.path(np.arange(2.5, 9.0, 0.01))
    assert np.degrees(np.abs(path.value[2])).max() < 2
    assert path.acceleration[0].std() < 1.0
