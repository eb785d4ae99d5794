"""Recordings that nobody of this project made; skipped where they are absent."""

from __future__ import annotations

from csv import reader
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from palpate.errors import FileProblem
from palpate.recording import load, recognise
from palpate.recording.table import ColumnSpec
from tests.conftest import needs

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


SMARTWHEEL = [f"c{k}" for k in range(18)] + ["Fx [N]", "Fy [N]", "Fz [N]", "Mx [Nm]", "My [Nm]", "Mz [Nm]"]
OPTIONS = {
    "hrl_pr2_cabinet_door/ikea_cabinet_log.csv": {"rate": 70.0},
    "hrl_pr2_cabinet_door/lab_cabinet_log.csv": {"rate": 70.0},
    "hrl_pr2_cabinet_door/ikea_cabinet_log_online.csv": {"rate": 10.0},
    "hrl_pr2_cabinet_door/lab_cabinet_log_online.csv": {"rate": 10.0},
    "ktk_smartwheel/sample_swl_overground_propulsion_withrubber.csv": {
        "rate": 240.0,
        "header": SMARTWHEEL,
        "format": "csv",
    },
}
"""What the files do not say themselves, from the README beside each."""
RECORDINGS = sorted(str(path.relative_to(REAL)) for path in REAL.rglob("*") if path.suffix in (".csv", ".mat", ".c3d"))


def plainly(name: str, *, header: bool = True) -> tuple[list[str], np.ndarray]:
    """Headers and numbers of a CSV file by the csv module; empty cells are NaN."""
    with (REAL / name).open(newline="") as text:
        rows = list(reader(text))
    names = rows[0] if header else []
    return names, np.array([[float(cell or "nan") for cell in row] for row in rows[header:]])


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recording_is_read(name):
    if name.endswith(".c3d"):
        needs("ezc3d", "c3d")
    rec = load(REAL / name, **OPTIONS.get(name, {}))
    assert len(rec) >= 1
    assert all(len(clock) > 3 and clock.rate_hz > 1 for clock in rec.clocks)
    assert any(np.isfinite(channel.samples).any() for channel in rec.channels.values())


def test_imu_log_with_units_in_the_header():
    name = "xio_imu/sensor_data.csv"
    rec, (headers, numbers) = load(REAL / name), plainly(name)
    assert rec.format == "csv"
    factors = {"Gyroscope": (np.pi / 180, "rad/s"), "Accelerometer": (9.80665, "m/s2"), "Magnetometer": (1e-6, "T")}
    assert len(rec) == len(headers) - 1 == 9
    for place, header in enumerate(headers[1:], 1):
        factor, unit = factors[header.split()[0]]
        channel = rec[header.partition(" (")[0]]
        np.testing.assert_allclose(channel.samples, numbers[:, place] * factor, rtol=1e-14)
        assert channel.unit == unit
    np.testing.assert_array_equal(rec.clocks[0].times_s, numbers[:, 0])
    assert np.std(np.diff(numbers[:, 0])) > 0
    assert rec.clocks[0].rate_hz == pytest.approx(100, rel=0.02)
    force = rec.stack([f"Accelerometer {axis}" for axis in "XYZ"])
    assert np.linalg.norm(force[:50].mean(axis=0)) == pytest.approx(9.8, abs=0.2)


@pytest.mark.parametrize(
    ("name", "rows", "rate"),
    [
        ("dfki_pendulum/pd_system_identification.csv", 1170, 300),
        ("dfki_pendulum/ddp_swingup.csv", 3000, 500),
        ("dfki_pendulum/gravity_compensation.csv", 30000, 1000),
        ("bicycle_wheel_pendulum/bicycle-wheel-radial-inertia-rate-gyro-measurement.csv", 1001, 500),
    ],
)
def test_logs_with_a_time_column_and_no_units(name, rows, rate):
    rec, (headers, numbers) = load(REAL / name), plainly(name)
    assert list(rec) == headers[1:]
    assert len(rec.clocks[0]) == rows == len(numbers)
    np.testing.assert_array_equal(rec.stack(headers[1:]), numbers[:, 1:])
    np.testing.assert_array_equal(rec.clocks[0].times_s, numbers[:, 0])
    assert rec.clocks[0].rate_hz == pytest.approx(rate, rel=0.02)
    named = load(REAL / name, columns={"x": ColumnSpec(headers[1], "rad", "axle")})
    assert (named["x"].unit, named["x"].frame) == ("rad", "axle")


@pytest.mark.parametrize(("name", "rows"), [("ikea", 921), ("lab", 919)])
def test_cabinet_log_has_no_time_and_says_so(name, rows):
    name = f"hrl_pr2_cabinet_door/{name}_cabinet_log.csv"
    with pytest.raises(FileProblem, match=r"no column looks like time \(row, f_ati_x.*option rate"):
        load(REAL / name)
    headers, numbers = plainly(name)
    columns = {"hook": ColumnSpec(("hook_x", "hook_y", "hook_z"), "m", "torso")}
    columns |= {f"f{axis}": ColumnSpec(f"f_ati_{axis}", "N", "torso") for axis in "xyz"}
    rec = load(REAL / name, rate=70.0, columns=columns)
    at = headers.index("hook_x")
    np.testing.assert_array_equal(rec["hook"].samples, numbers[:, at : at + 3])
    np.testing.assert_array_equal(rec.stack(["fx", "fy", "fz"]), numbers[:, 1:4])
    assert rec["hook"].samples.shape == (rows, 3)
    assert (rec["fx"].unit, rec["fx"].frame) == ("N", "torso")
    np.testing.assert_array_equal(rec.clocks[0].times_s, np.arange(rows) / 70.0)


def test_wheel_log_without_header_needs_names():
    name = "ktk_smartwheel/sample_swl_overground_propulsion_withrubber.csv"
    with pytest.raises(FileProblem, match="line 1: the first line holds numbers"):
        load(REAL / name, rate=240.0, format="csv")
    rec = load(REAL / name, **OPTIONS[name])
    _, numbers = plainly(name, header=False)
    np.testing.assert_array_equal(rec.stack(["Fx", "Fy", "Fz", "Mx", "My", "Mz"]), numbers[:, 18:24])
    assert (rec["Fx"].unit, rec["Mz"].unit) == ("N", "N m")
    assert len(rec.clocks[0]) == 7682
    assert np.abs(rec["Mz"].samples).max() == pytest.approx(12.7, abs=0.1)
    angle = load(REAL / name, **OPTIONS[name], columns={"angle": ColumnSpec("c3", "deg")})["angle"].samples
    turns = np.unwrap(angle)
    np.testing.assert_allclose(angle, np.radians(numbers[:, 3]), rtol=1e-14)
    assert abs(turns[-1] - turns[0]) / (2 * np.pi) == pytest.approx(14.7, abs=0.3)
    wheel = load(REAL / name)  # recognised as what it is: the same without names
    assert wheel.format == "smartwheel"
    np.testing.assert_array_equal(
        wheel.stack([f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"]), numbers[:, 18:24]
    )
    np.testing.assert_allclose(wheel["angle"].samples, turns, atol=1e-12)
    np.testing.assert_allclose(wheel.clocks[0].times_s, np.arange(7682) / 240, atol=1e-12)


def test_matlab_variables_with_a_rate():
    path = REAL / "bicycleparameters" / "BrowserForkCompoundFirst1.mat"
    assert recognise(path) == "mat"
    rec, own = load(path), loadmat(path)
    assert list(rec) == ["data"]
    np.testing.assert_array_equal(rec["data"].samples, own["data"][:, 0])
    np.testing.assert_array_equal(rec.clocks[0].times_s, np.arange(30000) / 1000)
    volts = load(path, columns={"rate": ColumnSpec("data", "V")})["rate"]
    assert volts.unit == "V"
    # the README's period, from the spectrum's peak
    spectrum = np.abs(np.fft.rfft((volts.samples - volts.samples.mean()) * np.hanning(30000), 1 << 19))
    assert (1 << 19) / 1000 / np.argmax(spectrum) == pytest.approx(1.59, abs=0.02)
    with pytest.raises(FileProblem, match="no ControlDesk capture"):
        load(path, format="dspace-mat")
