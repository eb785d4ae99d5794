"""A load cell beside an encoder or a gyroscope, each in a file of its own with a clock of its own; of other make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from tests import drawer_files
from tests.command import palpate
from tests.oracles.tables import save_table
from tests.pose_files import DOOR, FREE_DOOR, FREE_DOOR_FILE, NOISE_N, NOISE_NM, door

LATE_S = 1.734
ARM, GRASP = np.array([0.8, 0.04, 0.1]), Rotation.from_euler("xyz", [100, 10, -60], degrees=True).as_matrix()
DOOR_SEGMENTS = "{static: [0.2, 1.8], quasi_static: [2.2, 13.5], train: [14.5, 30], test: [30.5, 39]}"
RESTS = "[[0.5, 4.5], [25.3, 25.9], [59.5, 59.9]]"
DRAWER_SEGMENTS = f"{{static: {RESTS}, quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}}"


def table(path: Path, names: list[str], *columns: Any) -> None:
    save_table(path, names, np.column_stack(columns), "%.9g")


def write(folder: Path, t: Any, force: Any, motion: str, head: str, segments: str, seed: int, arm: Any = ARM) -> Path:
    """A load cell's file: this force (samples, 3) on the object at the sensor, in the object's axes."""
    rng, every = np.random.default_rng([seed, 1]), round(4e-3 / float(t[1] - t[0]))
    wrench = np.hstack([force @ GRASP, np.outer(np.clip(t - 5, 0, 1) * np.sin(t), [0.2, 0.1, 0.0]) @ GRASP])
    zero = np.array([1.2, -0.7, 0.4, 0.02, -0.03, 0.01])
    wrench += zero + rng.normal(0, [NOISE_N] * 3 + [NOISE_NM] * 3, (len(t), 6))
    table(folder / "ft.csv", ["t", *"abcdef"], t[::every] + LATE_S, wrench[::every])
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if i < 3 else 'N m'}}}" for i, c in enumerate("abcdef"))
    path = folder / "apart.yaml"
    path.write_text(
        f"{head}stage: body\nrecordings:\n  poses: {{file: motion.csv, {motion}}}\n"
        f"  wrench: {{file: ft.csv, columns: {{{channels}}}}}\n"
        f"poses: {{sensor: {{rotation: {GRASP.tolist()}, translation: {np.asarray(arm).tolist()}}}}}\n"
        f"segments: {segments}\n"
    )
    return path


def write_door(folder: Path, seed: int, motion: str) -> Path:
    """A door without a closer: an encoder in degrees whose zero is anywhere, and a gyroscope put on askew."""
    rng, (t, q, torque) = np.random.default_rng(seed), door()
    at, angle = np.arange(0, t[-1], 0.005), make_interp_spline(t, q, k=5)
    askew = Rotation.from_euler("xyz", [20, 40, 10], degrees=True).as_matrix()[:, 2]
    encoder = np.degrees(angle(at) + rng.normal(0, 2e-4, len(at))) + 30
    rate = np.outer(angle(at, 1), askew) + np.array([0.01, -0.02, 0.005]) + rng.normal(0, 2e-3, (len(at), 3))
    table(folder / "motion.csv", ["t", "q [deg]", "gx [rad/s]", "gy [rad/s]", "gz [rad/s]"], at, encoder, rate)
    radial = np.clip(t - 2, 0, 1) * (6 * np.sin(0.7 * t + seed) + 4 * np.sin(5.3 * t))
    force = np.stack([radial, (torque + ARM[1] * radial) / ARM[0], 0.3 * radial], axis=1)
    (folder / "free-door.yaml").write_text(FREE_DOOR_FILE)
    return write(folder, t, force, motion, FREE_DOOR, DOOR_SEGMENTS, seed)


def write_drawer(folder: Path, seed: int, motion: str, gain: float = 1.0) -> Path:
    rng, (t, x, f) = np.random.default_rng(seed), drawer_files.simulate()
    at = slice(None, None, 5)
    lean = Rotation.from_euler("xyz", [15, -30, 70], degrees=True).as_matrix()  # the accelerometer on the drawer
    felt = np.outer(make_interp_spline(t, x, k=5)(t, 2)[at], [1.0, 0.0, 0.0]) + np.array([0.0, 0.0, 9.81])
    felt = gain * (felt @ lean) + np.array([0.02, -0.05, 0.03]) + rng.normal(0, 0.01, felt.shape)
    names = ["t", "x [mm]", *(f"a{axis} [m/s2]" for axis in "xyz")]
    table(folder / "motion.csv", names, t[at], 1e3 * (x[at] + rng.normal(0, 1e-4, len(t[at]))), felt)
    force = np.stack([f, np.clip(t - 5, 0, 1) * np.sin(2 * t), 0 * t], axis=1)
    return write(folder, t, force, motion, "object: drawer\n", DRAWER_SEGMENTS, seed)


def identified(path: Path) -> dict[str, Any]:
    done = palpate("identify", path, "-o", path.parent / "out", "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


CASES = {
    "encoder": (write_door, "angle: q", DOOR, 0, 0.06),
    "gyroscope": (write_door, "angular_rate: [gx, gy, gz]", DOOR, 1, 0.06),
    "accelerometer": (write_drawer, "acceleration: [ax, ay, az]", drawer_files.TRUTH, 1, 0.06),
    "runner": (write_drawer, "travel: x", drawer_files.TRUTH, 0, 0.06),
}


@pytest.mark.parametrize(("make", "motion", "truth", "seed", "width"), CASES.values(), ids=CASES.keys())
def test_the_clock_and_every_number_are_found(
    tmp_path: Path, make: Any, motion: str, truth: Any, seed: int, width: float
) -> None:
    result = identified(make(tmp_path, seed, motion))
    assert result["verdict"]["passed"], result["verdict"]
    assert result["clocks"]["wrench"]["reference_minus_device_s"] == pytest.approx(-LATE_S, abs=5e-4)
    for name, value in truth.items():
        low, high = result["parameters"][name]["ci95"]
        assert low <= value <= high, (name, value, low, high)
        assert high - low < width * value


@pytest.mark.parametrize(
    ("rests", "words"),
    [
        ("", "segments.static: this key is missing: an accelerometer does not tell rest from an even motion"),
        ("static: [0.5, 4.5], ", "segments.static: after a single rest nothing tells how far"),
    ],
)
def test_an_accelerometer_needs_rests_that_are_stated(tmp_path: Path, rests: str, words: str) -> None:
    path = write_drawer(tmp_path, 0, "acceleration: [ax, ay, az]")
    path.write_text(path.read_text().replace(f"static: {RESTS}, ", rests))
    done = palpate("identify", path)
    assert done.returncode == 1
    assert words in done.stderr


def test_the_scale_of_an_accelerometer_is_compared_with_gravity(tmp_path: Path) -> None:
    result = identified(write_drawer(tmp_path, 0, "acceleration: [ax, ay, az]", gain=1.015))
    assert any("its scale may be off by 1.8 %" in x for x in result["warnings"])
    low, high = result["parameters"]["m"]["ci95"]
    assert low < drawer_files.TRUTH["m"] < high  # 6.31 +- 0.01 by noise alone


def test_the_scale_of_an_accelerometer_is_declared_or_said_to_be_exact(tmp_path: Path) -> None:
    path = write_drawer(tmp_path, 0, "acceleration: [ax, ay, az]")
    assert "accelerometer_scale" in identified(path)["taken_as_exact"]
    path.write_text(path.read_text() + "uncertain: {accelerometer_scale: 1 %}\n")
    result = identified(path)
    assert "accelerometer_scale" not in result["taken_as_exact"]
    low, high = result["parameters"]["m"]["ci95"]
    assert (high - low) / 2 == pytest.approx(1.96 * 0.01 * 6.4, rel=0.05)


REFUSED = {
    "slides": ("travel: q", "'free-door' does not slide.*[Ww]rite angle or angular_rate"),
    "two": ("angle: q, angular_rate: gx", "angle and angular_rate tell the same: give one of them"),
    "arm": (
        "acceleration: [gx, gy, gz], joints: {a: q}, urdf: arm.urdf, frame: tool",
        "joints and acceleration tell the same: give one of them",
    ),
    "unit": ("angle: gx", "has the unit 'rad/s', not rad"),
    "no such": ("angle: w", "there is no channel 'w'"),
}


@pytest.mark.parametrize(("motion", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_said(tmp_path: Path, motion: str, words: str) -> None:
    done = palpate("identify", write_door(tmp_path, 0, motion))
    assert done.returncode == 1
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(done.stderr)


def test_a_wrong_sign_is_named_with_its_remedy(tmp_path: Path) -> None:
    path = write_door(tmp_path, 0, "angle: q")
    path.write_text(path.read_text().replace("wrench: {file", "wrench: {sign: on-handle, file"))
    done = palpate("identify", path)
    assert done.returncode == 1
    assert "write recordings.wrench.sign: on-other-side" in done.stderr
