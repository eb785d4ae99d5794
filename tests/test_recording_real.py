"""Recordings that nobody of this project made; skipped where they are absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileProblem
from palpate.recording import load, recognise
from palpate.recording.table import ColumnSpec

REAL = Path(__file__).resolve().parents[2] / "shared" / "real"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real recordings is not beside the project"),
]


def hidden(rec) -> dict[int, list[int]]:
    """Per frame (1-based) the markers that were not seen, 1-based in file order."""
    frames = np.rint(rec.clocks[0].times_s * 100).astype(int) + 1
    absent = np.stack([np.isnan(channel.samples).any(axis=1) for channel in rec.channels.values()], axis=1)
    return {int(f): (np.flatnonzero(row) + 1).tolist() for f, row in zip(frames, absent, strict=True)}


def test_door_markers_and_hidden_ones():
    static = load(REAL / "door_static_excerpt.csv")
    moving = load(REAL / "door_trajectories_excerpt.csv")
    names = [f"WB Sys Redo:WB_{part}{k}" for part in ("Door", "Frame") for k in range(1, 11)]
    assert list(static) == list(moving) == names
    assert static["WB_Door1"].samples.shape == (4, 3)
    assert not any(hidden(static).values())
    expected = {1957: [1, 2, 3], 6000: [1, 2], 11035: [2, 3], 14000: [2, 3]}
    expected = {first + k: markers for first, markers in expected.items() for k in range(4)}
    assert hidden(moving) == expected | {11037: [2, 3, 9]}
    clock = moving.clocks[0]
    assert clock.rate_hz == pytest.approx(100)
    assert clock.gaps == 3
    assert clock.times_s[4] == pytest.approx(59.99)
    # A door is a few metres at most: millimetres were converted.
    assert all(not (np.abs(channel.samples) > 10).any() for channel in moving.channels.values())


def test_digits_are_those_of_the_file():
    path = REAL / "door_static_excerpt.csv"
    first = [float(cell) for cell in path.read_text().splitlines()[5].split(",")[2:5]]
    np.testing.assert_allclose(load(path)["WB_Door1"].samples[0] * 1e3, first, rtol=1e-15)


def test_wheelbarrow_markers_and_hidden_ones():
    rec = load(REAL / "wheelbarrow_trajectories_excerpt.csv")
    assert list(rec) == [f"WBObject:WB_ID{k}" for k in range(1, 24)]
    expected = {first + k: [m] for first, m in ((2900, 14), (9542, 4)) for k in range(4)}
    expected |= {15007: [], 15008: [11], 15009: [11], 15010: [7, 11]}
    expected |= {20951 + k: [] for k in range(4)}
    assert hidden(rec) == expected


def test_imu_log_with_units_in_the_header():
    rec = load(REAL / "xio_imu" / "sensor_data.csv")
    assert rec.format == "csv"
    force = rec.stack([f"Accelerometer {axis}" for axis in "XYZ"])
    assert rec["Accelerometer X"].unit == "m/s2"
    assert np.linalg.norm(force[:50].mean(axis=0)) == pytest.approx(9.8, abs=0.2)
    assert rec["Gyroscope X"].unit == "rad/s"
    assert rec["Magnetometer X (uT)"].unit == "1"
    assert rec.clocks[0].rate_hz == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize(
    ("name", "rows", "rate"),
    [("pd_system_identification", 1170, 300), ("ddp_swingup", 3000, 500), ("gravity_compensation", 30000, 1000)],
)
def test_pendulum_logs(name, rows, rate):
    rec = load(REAL / "dfki_pendulum" / f"{name}.csv")
    assert list(rec) == ["position", "velocity", "torque"]
    assert len(rec.clocks[0]) == rows
    assert rec.clocks[0].rate_hz == pytest.approx(rate, rel=0.02)


def test_rate_gyro_log():
    path = REAL / "bicycle_wheel_pendulum" / "bicycle-wheel-radial-inertia-rate-gyro-measurement.csv"
    rec = load(path, columns={"rate": ColumnSpec("angular_velocity", "rad/s", "wheel")})
    assert rec["rate"].samples.shape == (1001,)
    assert rec.clocks[0].rate_hz == pytest.approx(500)


def test_cabinet_log_has_no_time_and_says_so():
    path = REAL / "hrl_pr2_cabinet_door" / "ikea_cabinet_log.csv"
    with pytest.raises(FileProblem, match="no column looks like time"):
        load(path)
    columns = {"hook": ColumnSpec(("hook_x", "hook_y", "hook_z"), "m", "torso"), "fx": ColumnSpec("f_ati_x", "N")}
    rec = load(path, rate=70.0, columns=columns)
    assert rec["hook"].samples.shape == (921, 3)
    assert rec["fx"].unit == "N"


def test_wheel_log_without_header_needs_names():
    path = REAL / "ktk_smartwheel" / "sample_swl_overground_propulsion_withrubber.csv"
    with pytest.raises(FileProblem, match="line 1: the first line holds numbers"):
        load(path, rate=240.0)
    header = [f"c{k}" for k in range(18)] + ["Fx [N]", "Fy [N]", "Fz [N]", "Mx [Nm]", "My [Nm]", "Mz [Nm]"]
    rec = load(path, rate=240.0, header=header)
    assert len(rec.clocks[0]) == 7682
    assert np.abs(rec["Mz"].samples).max() == pytest.approx(12.7, abs=0.1)


def test_foreign_files_are_named():
    with pytest.raises(FileProblem, match="a C3D file"):
        load(REAL / "pyomeca_box_lift" / "markers_analogs.c3d")
    path = REAL / "bicycleparameters" / "BrowserForkCompoundFirst1.mat"
    assert recognise(path) == "dspace-mat"
    with pytest.raises(FileProblem, match="no ControlDesk capture"):
        load(path)
