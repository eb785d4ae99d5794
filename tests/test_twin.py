"""The twin is proven against other people's physics before anything is proven with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.physics.inertia import is_consistent, phi_from_mass_properties
from palpate.physics.motion import transport_acceleration
from palpate.recording import load
from palpate.twin import TWINS
from palpate.twin.handle import HandleTwin, handle_recordings, off_by, random_hand, random_handle
from palpate.twin.instruments import Instruments
from tests.conftest import needs
from tests.handle_files import write_short_handle

PERFECT = Instruments(**dict.fromkeys(Instruments.__dataclass_fields__, 1e-15))


def test_the_hand_moves_as_its_positions_say() -> None:
    """omega, omega_dot and a - g against differences of rotation and position, by SciPy."""
    hand, g = random_hand(np.random.default_rng(0), 30.0, 9.81), 9.81
    h = 1e-4
    t = np.linspace(2, 28, 500)
    before, now, after = (Rotation.from_matrix(hand.rotation(t + d)) for d in (-h, 0.0, h))
    motion = hand.motion(t)
    omega = (before.inv() * after).as_rotvec() / (2 * h)
    assert np.abs(omega - motion.omega).max() < 2e-6 * np.abs(motion.omega).max()
    omega_dot = (hand.motion(t + h).omega - hand.motion(t - h).omega) / (2 * h)
    assert np.abs(omega_dot - motion.omega_dot).max() < 2e-6 * np.abs(motion.omega_dot).max()
    p = [hand.coordinates(t + d)[0][3:].T for d in (-h, 0.0, h)]
    world = (p[0] - 2 * p[1] + p[2]) / h**2 + [0, 0, g]
    assert np.abs(now.inv().apply(world) - motion.specific_acceleration).max() < 1e-5 * 20


@pytest.mark.parametrize("seed", range(3))
def test_the_stored_wrench_is_minus_mujocos(seed: int) -> None:
    needs("mujoco", "mujoco")
    from tests.oracles.mujoco_body import body_wrench

    rng = np.random.default_rng(seed)
    hand, phi = random_hand(rng, 12.0, 9.81), random_handle(rng)
    twin = HandleTwin(phi, hand, 12.0, 1.5, seed, 9.81, np.eye(3), np.zeros(3), PERFECT)
    load_cell, imu, truth = handle_recordings(twin)
    names = [f"{k}{a}1_RawZero" for k in "FT" for a in "xyz"]
    stored = load_cell.stack(names)
    t = load_cell[names[0]].clock.times_s[::40]
    m = hand.motion(t)
    theirs = body_wrench(phi, hand.rotation(t), m.omega, m.omega_dot, hand.coordinates(t)[2][3:].T, 9.81)
    assert np.abs(stored[::40] + theirs).max() < 1e-9
    # the IMU at the origin, unturned, sees the motion 1.5 s earlier on its own clock
    a = imu.stack([f"acceleration.{x}" for x in "xyz"])
    at = hand.motion(imu["acceleration.x"].clock.times_s + 1.5)
    assert np.abs(a - at.specific_acceleration).max() < 1e-9
    assert truth["parameters"]["bias_f_x"]["value"] == pytest.approx(0.0, abs=1e-12)


def test_the_imu_reads_what_a_point_of_the_moving_body_does() -> None:
    hand = random_hand(np.random.default_rng(1), 12.0, 9.81)
    R = Rotation.random(rng=np.random.default_rng(2)).as_matrix()
    r = np.array([0.05, -0.1, 0.02])
    twin = HandleTwin(random_handle(np.random.default_rng(1)), hand, 12.0, 0.0, 1, 9.81, R, r, PERFECT)
    a = handle_recordings(twin)[1].stack([f"acceleration.{x}" for x in "xyz"])
    h, t = 1e-4, np.arange(12000)[1000:11000:100] / 1000
    path = [hand.coordinates(t + d)[0][3:].T + hand.rotation(t + d) @ r for d in (-h, 0.0, h)]
    world = (path[0] - 2 * path[1] + path[2]) / h**2 + [0, 0, 9.81]
    expected = np.einsum("nji,nj->ni", hand.rotation(t) @ R, world)
    assert np.abs(a[1000:11000:100] - expected).max() < 2e-4
    assert transport_acceleration(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)), r).shape == (1, 3)


def test_random_handles_and_their_drawings_are_possible_bodies() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        phi = random_handle(rng)
        assert is_consistent(phi)
        assert is_consistent(off_by(rng, phi, 0.5))


def test_a_drawing_is_off_by_what_it_declares() -> None:
    rng = np.random.default_rng(0)
    phi = phi_from_mass_properties(1.2, [0.01, 0.02, 0.1], np.diag([0.004, 0.005, 0.002]))
    masses = np.array([off_by(rng, phi, 0.2)[0] for _ in range(4000)])
    assert np.log(masses / 1.2).std() == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize("kind", ["capture", "handle", "wheelbarrow-handle"])
def test_a_twin_is_a_folder_with_experiment_recordings_and_truth(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palpate.twin.authors._SECONDS", 30.0)
    brief: dict[str, Any] = {"duration_s": 15.0} if kind == "capture" else {}
    experiment = TWINS[kind](tmp_path / "new", seed=5, **brief)
    truth = json.loads((experiment.parent / "truth.json").read_text())
    assert is_consistent(list(truth["phi"].values()))
    assert truth["seed"] == 5
    files = [path for pattern in ("*.mat", "*.csv") for path in sorted((tmp_path / "new").rglob(pattern))]
    formats = [load(path).format for path in files]
    assert formats == ["dspace-mat", "microstrain-csv", *(["vicon-csv"] if kind == "capture" else [])]


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_short_handle(tmp_path / name, seed=3)
    for file in ("imu.csv", "truth.json", "handle.yaml"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
