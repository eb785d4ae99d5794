"""MicroStrain CSV: the authors' layout, time spellings and damaged files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.errors import FileProblem
from palpate.recording import Channel, Clock, Recording, text
from palpate.recording.instruments import ACCELERATION, ANGULAR_RATE, GRAVITY
from palpate.recording.instruments import read_microstrain as read
from palpate.recording.instruments import write_microstrain as write

ROWS = (
    "{0},0.1,0.2,1.0,0.01,0.02,0.03,9.7,1,0.2,1,0.1\n"
    "{1},0,0,0,0,0,0,9.8,1,0.3,1,0.4\n"
    "{2},0.1,0.2,1.1,0.01,0.02,0.04,0,0,0,0,0\n"
)
HEADER = "".join(f"Line {k}\n" for k in range(38))


def imu(n: int = 40, *, seed: int = 1) -> Recording:
    rng = np.random.default_rng(seed)
    clock = Clock("imu", np.arange(n) / 1000)
    channels = {name: Channel(name, rng.normal(size=n), clock, "m/s2", "imu") for name in ACCELERATION}
    channels |= {name: Channel(name, rng.normal(size=n), clock, "rad/s", "imu") for name in ANGULAR_RATE}
    return Recording(channels)


def file(tmp_path, text: str):
    path = tmp_path / "IMU_Door.csv"
    path.write_text(text, encoding="utf-8")
    return path


@settings(max_examples=20, deadline=None)
@given(n=st.integers(2, 60), seed=st.integers(0, 2**32 - 1), g=st.sampled_from([9.80665, 9.81]))
def test_round_trip(tmp_path_factory, n, seed, g):
    rec = imu(n, seed=seed)
    path = tmp_path_factory.mktemp("imu") / "a.csv"
    write(path, rec, g=g)
    again = read(path, g=g)
    assert list(again) == list(rec)
    for name, channel in rec.channels.items():
        np.testing.assert_allclose(again[name].samples, channel.samples, atol=1e-8, rtol=0)
        np.testing.assert_allclose(again[name].clock.times_s, channel.clock.times_s, atol=1e-9, rtol=0)
        assert (again[name].unit, again[name].frame) == (channel.unit, channel.frame)


def test_layout_is_that_of_the_authors(tmp_path):
    path, rec = tmp_path / "a.csv", imu()
    write(path, rec, g=9.81)
    lines = path.read_text().splitlines()
    assert lines[36] == "DATA_START"
    data = np.loadtxt(path, delimiter=",", skiprows=38)
    assert data.shape == (40, 12)
    np.testing.assert_allclose(data[:, 1:4] * 9.81, rec.stack(ACCELERATION), atol=1e-8)
    assert not data[:, 7:].any()


@pytest.mark.parametrize(
    "stamps",
    [
        ("5.0", "5.0005", "5.001"),
        ("1730214153123456789", "1730214153123956789", "1730214153124456789"),
        ("10/29/2024 15:02:33.123456789", "10/29/2024 15:02:33.123956789", "10/29/2024 15:02:33.124456789"),
        ("2024-10-29T15:02:33.123456789Z", "2024-10-29T15:02:33.123956789Z", "2024-10-29T15:02:33.124456789Z"),
        ("2024-10-29 15:02:33.123", "2024-10-29 15:02:33.1235", "2024-10-29 15:02:33.124"),
    ],
    ids=["seconds", "nanoseconds", "date", "iso", "short iso"],
)
def test_times_are_seconds_from_the_first_row_to_the_nanosecond(tmp_path, stamps):
    rec = read(file(tmp_path, HEADER + ROWS.format(*stamps)))
    np.testing.assert_allclose(rec["acceleration.x"].clock.times_s, [0, 0.001], atol=1e-12)
    np.testing.assert_allclose(rec["gravity.x"].clock.times_s, [0, 0.0005], atol=1e-12)


def test_positions_hold_where_no_names_are(tmp_path):
    rec = read(file(tmp_path, HEADER + ROWS.format(0, 0.5, 1)), g=10.0)
    np.testing.assert_allclose(rec.stack(ACCELERATION), [[1, 2, 10], [1, 2, 11]])
    np.testing.assert_allclose(rec.stack(ANGULAR_RATE), [[0.01, 0.02, 0.03], [0.01, 0.02, 0.04]])
    np.testing.assert_allclose(rec.stack(GRAVITY), [[0.1, 0.2, 9.7], [0.4, 0.3, 9.8]])


@pytest.mark.parametrize("lines", [0, 1, 5, 60])
def test_data_are_found_by_content(tmp_path, lines):
    rec = read(file(tmp_path, "Session,1,2\n" * lines + ROWS.format(0, 0.5, 1)))
    assert len(rec["acceleration.x"].clock) == 2


def test_names_win_over_positions(tmp_path):
    names = "Time," + ",".join(f"inertial-6254.9:scaled{q}{a}" for q in ("Gyro", "Accel") for a in "ZYX")
    rec = read(file(tmp_path, f"DATA_START\n{names}\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n"), g=1.0)
    np.testing.assert_array_equal(rec.stack(ACCELERATION)[0], [6, 5, 4])
    np.testing.assert_array_equal(rec.stack(ANGULAR_RATE)[0], [3, 2, 1])
    assert "gravity.x" not in rec


def test_empty_fields_are_missing_samples(tmp_path):
    rec = read(file(tmp_path, "0,0.1,,1,,0,0\n1,,,,,,\n2,0.1,0.2,1,0,0,0\n"))
    assert len(rec.clocks[0]) == 2
    assert rec["acceleration.y"].missing == 1
    assert rec["angular_rate.x"].missing == 1


DAMAGED = {
    "empty": ("", "the file is empty"),
    "only a header": (HEADER + "DATA_START\n", "no row has a time and 6 number columns"),
    "too few columns": ("DATA_START\n0,1,2,3\n1,1,2,3\n", "no row has a time and 6 number columns.*scaledGyro"),
    "an axis is missing": (
        "Time,scaledAccelX,scaledAccelY,scaledAccelZ,scaledGyroX,scaledGyroY,other\n0,1,2,3,4,5,6\n",
        "line 1: there is no column for angular_rate.z",
    ),
    "text in a cell": (
        HEADER + ROWS.format(0, 0.5, 1).replace("1.1", "1.l"),
        r"line 41: column 4 .*'1\.l' is not a number",
    ),
    "cut off": (HEADER + ROWS.format(0, 0.5, 1)[:-12], "line 41: the row has .* fields instead of 12.*cut off"),
    "time backwards": (HEADER + ROWS.format(1, 1.5, 0), "line 41: time goes backwards"),
    "time missing": (HEADER + ROWS.format(0, 0.5, ""), "line 41: the time is missing"),
    "time is a word": (HEADER + ROWS.format(0, 0.5, "noon"), "line 41: 'noon' is not a time"),
    "all zero": (HEADER + "0,0,0,0,1,1,1\n1,0,0,0,1,1,1\n", "every row has zero acceleration"),
    "vicon": ("Trajectories\n100\n,,A,,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n1,0,1,2,3\n", "it looks like vicon-csv"),
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_named_with_file_and_line(tmp_path, text, message):
    with pytest.raises(FileProblem, match=r"IMU_Door\.csv.*" + message):
        read(file(tmp_path, text))


@pytest.mark.parametrize("stamp", ["{}", "0.{:03d}", "2023-01-01 00:00:00.{:03d}"])
def test_a_long_file_is_read_in_parts_to_the_same_numbers(tmp_path, monkeypatch, stamp):
    numbers = np.random.default_rng(3).normal(size=(200, 6)).round(6)
    numbers[50, :3] = 0.0  # a row of the gravity estimate
    lines = [
        ",".join([stamp.format(k), *map(str, row), "0,0,0,0," + ("1" if k == 50 else "0")])
        for k, row in enumerate(numbers)
    ]
    path = file(tmp_path, HEADER + "\n".join(lines) + "\n\n")
    whole = read(path)
    monkeypatch.setattr(text, "PART_BYTES", 1000)
    parts = read(path)
    assert list(parts) == list(whole)
    for name, channel in whole.channels.items():
        np.testing.assert_array_equal(parts[name].samples, channel.samples)
        np.testing.assert_array_equal(parts[name].clock.times_s, channel.clock.times_s)
    file(tmp_path, HEADER + "\n".join(lines).replace(lines[150], lines[150].replace(",", ",x", 1)))
    with pytest.raises(FileProblem, match="189"):
        read(path)


def test_columns_of_a_file_stand_side_by_side_without_a_copy(tmp_path):
    path = tmp_path / "a.csv"
    write(path, imu())
    again = read(path)
    x = again.stack((*ACCELERATION, *ANGULAR_RATE))
    assert np.shares_memory(x, again[ANGULAR_RATE[2]].samples)
    np.testing.assert_array_equal(x, np.column_stack([again[n].samples for n in (*ACCELERATION, *ANGULAR_RATE)]))
    np.testing.assert_array_equal(again.stack(ACCELERATION[::-1]), x[:, 2::-1])
