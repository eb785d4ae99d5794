"""dSPACE ControlDesk .mat: the authors' layout, its variants and damaged files."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat, savemat

from palpate.errors import DataProblem, FileProblem, UnknownName
from palpate.recording import Channel, Clock, Recording
from palpate.recording.mat import read_dspace as read
from palpate.recording.mat import write_dspace as write

AXES = ("Fx", "Fy", "Fz", "Tx", "Ty", "Tz")


@pytest.fixture(autouse=True, scope="module")
def deflated():
    """Files as palpate writes them; elsewhere in the tests they are stored."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.io.matlab._mio5.zlib", zlib)
        yield


def two_platforms(n: int = 50) -> Recording:
    rng = np.random.default_rng(3)
    channels: dict[str, Channel] = {}
    for number, device, length in ((1, "Platform", n), (2, "Platform_2", n - 3)):
        clock = Clock(device, np.arange(length) / 1000 + 0.01 * number)
        for axis in AXES:
            name = f"{axis}{number}_RawZero"
            unit = "N" if axis[0] == "F" else "N m"
            channels[name] = Channel(name, rng.normal(size=length), clock, unit, "sensor")
    return Recording(channels)


def capture(axes, signals) -> dict[str, object]:
    """A ControlDesk struct from lists of dictionaries."""
    return {"exp": {"X": entries(axes), "Y": entries(signals)}}


def entries(rows):
    array = np.empty((1, len(rows)), dtype=[(name, object) for name in rows[0]])
    for place, row in enumerate(rows):
        array[0, place] = tuple(row.values())
    return array


def signal(name: str, data, device: str = "Platform", **more):
    return {"Name": name, "Device": device, "Path": f"Labels/{name}", "Data": np.asarray(data, float)[None, :], **more}


def axis(n: int, rate: float = 1000.0):
    return {"Name": "time", "Data": np.arange(n)[None, :] / rate}


def test_round_trip_of_two_platforms(tmp_path):
    path, rec = tmp_path / "exp1_039.mat", two_platforms()
    write(path, rec)
    again = read(path)
    assert list(again) == list(rec)
    for name, channel in rec.channels.items():
        got = again[name]
        np.testing.assert_array_equal(got.samples, channel.samples)
        np.testing.assert_array_equal(got.clock.times_s, channel.clock.times_s)
        assert (got.unit, got.frame, got.clock.name) == (channel.unit, channel.frame, channel.clock.name)
    assert again.stack([f"{a}2_RawZero" for a in AXES]).shape == (47, 6)


def test_the_authors_places_hold_in_what_is_written(tmp_path):
    path, rec = tmp_path / "exp1_039.mat", two_platforms()
    write(path, rec)
    struct = loadmat(path, simplify_cells=True)["exp1_039"]
    np.testing.assert_array_equal(struct["X"][0]["Data"], rec["Fx1_RawZero"].clock.times_s)
    np.testing.assert_array_equal(struct["X"][2]["Data"], rec["Fx2_RawZero"].clock.times_s)
    entry = struct["Y"][6]
    assert (entry["Name"], entry["Device"], entry["XIndex"]) == ("Fx2_RawZero", "Platform_2", 3)
    assert entry["Path"].partition("/")[2] == "Fx2_RawZero"


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 30), devices=st.integers(1, 3), signals=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_round_trip_of_any_number_of_devices(tmp_path_factory, n, devices, signals, seed):
    rng = np.random.default_rng(seed)
    channels: dict[str, Channel] = {}
    for device in range(devices):
        clock = Clock(f"P{device}", np.cumsum(rng.uniform(0.1, 2, size=n + device)))
        for place in range(signals):
            name = f"P{device}/s{place}" if devices > 1 else f"s{place}"
            channels[name] = Channel(name, rng.normal(size=len(clock)), clock)
    path = tmp_path_factory.mktemp("dspace") / "9 odd-name.mat"
    write(path, Recording(channels))
    again = read(path)
    assert list(again) == list(channels)
    for name, channel in channels.items():
        np.testing.assert_array_equal(again[name].samples, channel.samples)
        np.testing.assert_array_equal(again[name].clock.times_s, channel.clock.times_s)


def test_one_device_only(tmp_path):
    path = tmp_path / "a.mat"
    write(path, two_platforms())
    assert list(read(path, device="Platform_2")) == [f"{a}2_RawZero" for a in AXES]
    with pytest.raises(UnknownName, match=r"a\.mat: there is no device 'Platfrom'. Did you mean 'Platform'"):
        read(path, device="Platfrom")


def test_without_xindex_devices_take_the_first_and_third_axis(tmp_path):
    path = tmp_path / "a.mat"
    signals = [signal("Fx1", np.arange(20)), signal("Fx2", np.arange(30), "Platform_2")]
    savemat(path, capture([axis(20), axis(25), axis(30, 500)], signals))
    rec = read(path)
    assert rec["Fx1"].clock.rate_hz == pytest.approx(1000)
    assert rec["Fx2"].clock.rate_hz == pytest.approx(500)
    savemat(path, capture([axis(20), axis(30, 500)], signals))
    assert read(path)["Fx2"].clock.rate_hz == pytest.approx(500)


def test_lengths_that_differ_are_cut_and_parameters_left_out(tmp_path):
    path = tmp_path / "a.mat"
    signals = [signal("Fx1", np.arange(20)), signal("Fy1", np.arange(18)), signal("gain", [3.0])]
    savemat(path, capture([axis(19)], signals))
    rec = read(path)
    assert list(rec) == ["Fx1", "Fy1"]
    assert rec.stack(["Fx1", "Fy1"]).shape == (18, 2)


def test_a_clash_gets_the_device_and_other_quantities_stay_plain(tmp_path):
    path = tmp_path / "a.mat"
    signals = [signal("Fx", [1, 2]), signal("Fx", [3, 4], "P2"), signal("Force", [5, 6]), signal("Tx_Raw", [7, 8])]
    savemat(path, capture([axis(2)], signals))
    rec = read(path)
    assert list(rec) == ["Platform/Fx", "P2/Fx", "Force", "Tx_Raw"]
    assert (rec["P2/Fx"].unit, rec["P2/Fx"].frame) == ("N", "sensor")
    assert (rec["Force"].unit, rec["Force"].frame) == ("1", "")
    assert rec["Tx_Raw"].unit == "N m"
    with pytest.raises(DataProblem, match="could be"):
        rec["Fx"]


def test_single_precision_and_column_vectors_are_read(tmp_path):
    path = tmp_path / "a.mat"
    column = {"Name": "Fx", "Path": "Fx", "Data": np.array([[1.5], [2.5]], dtype=np.float32)}
    savemat(path, capture([{"Name": "time", "Data": np.array([[0.0], [0.1]])}], [column]))
    np.testing.assert_array_equal(read(path)["Fx"].samples, [1.5, 2.5])


@pytest.mark.parametrize("keep", [60, 200, 0.3, 0.6, 0.95])
def test_a_file_that_was_cut_off(tmp_path, keep):
    path = tmp_path / "a.mat"
    write(path, two_platforms(2000))
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(keep * len(data))])
    with pytest.raises(FileProblem, match=r"a\.mat"):
        read(path)


def test_flipped_bytes(tmp_path):
    path = tmp_path / "a.mat"
    write(path, two_platforms(2000))
    data = bytearray(path.read_bytes())
    data[2000:2100] = bytes(100)
    path.write_bytes(bytes(data))
    with pytest.raises(FileProblem, match="damaged or cut off"):
        read(path)


def test_other_problems_are_named(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"data": np.zeros(3), "rate": 5.0})
    with pytest.raises(FileProblem, match=r"no ControlDesk capture .*only data, rate.*format='mat'"):
        read(path)
    savemat(path, capture([axis(5)], [signal("Fx", np.zeros(5), XIndex=4.0)]))
    with pytest.raises(FileProblem, match=r"Y\(1\) belongs to X\(4\), but there are 1"):
        read(path)
    savemat(path, capture([axis(5)], [signal("Fx", np.zeros(5)), signal("Fx", np.zeros(5))]))
    with pytest.raises(FileProblem, match="'Platform/Fx' is stored twice"):
        read(path)
    savemat(path, capture([{"Name": "t", "Data": np.array([[0, 1, 0.5]])}], [signal("Fx", np.zeros(3))]))
    with pytest.raises(FileProblem, match="row 3 of Platform: time goes backwards"):
        read(path)
    savemat(path, capture([axis(5)], [{"Name": "Fx", "Data": np.zeros(5)}]))
    with pytest.raises(FileProblem, match="have no Path"):
        read(path)
    path.write_text("time,Fx\n0,1\n")
    with pytest.raises(FileProblem, match="not a dspace-mat file; it looks like csv"):
        read(path)
    with pytest.raises(FileProblem, match="no such file"):
        read(tmp_path / "b.mat")
