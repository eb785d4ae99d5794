"""HDF5 and MATLAB variables: layouts of loggers, clocks of groups, units, MATLAB 7.3, and damaged files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.io import savemat

from palpate.errors import FileProblem, MissingExtra, UnknownName
from palpate.recording import Channel, Clock, Recording, hdf5, load, recognise
from tests.conftest import needs
from tests.writers import write, write_hdf5, write_mat

h5py = needs("h5py", "hdf5")

T = np.arange(40) / 200
RNG = np.random.default_rng(4)
WRENCH, XYZ = RNG.normal(size=(40, 6)), RNG.normal(size=(40, 3))


def file(path: Path, build: Any) -> Path:
    with h5py.File(path, "w") as content:
        build(content)
    return path


def logger(content: Any) -> None:
    """Two instruments with clocks of their own, the second by its rate."""
    content["ft/time"] = T
    content["ft/wrench"] = WRENCH
    content["ft/wrench"].attrs["units"] = ["N", "N", "N", "Nm", "Nm", "Nm"]
    content["ft/wrench"].attrs["labels"] = ["fx", "fy", "fz", "mx", "my", "mz"]
    content["ft/tip"] = 1e3 * XYZ.astype(np.float32)
    content["ft/tip"].attrs["unit"] = b"mm"
    content["ft/tip"].attrs["frame"] = "capture"
    content["ft/calibration"] = np.eye(6)
    imu = content.create_group("imu")
    imu.attrs["sample_rate"] = 50.0
    imu["acc"] = np.ones((10, 3))
    imu["acc"].attrs["units"] = "g"
    imu["temperature"] = np.arange(10)
    imu["temperature"].attrs["units"] = "degC"
    content["note"] = "measured on Monday"


def test_groups_are_instruments_with_their_own_time_units_and_names(tmp_path: Path) -> None:
    path = file(tmp_path / "log.h5", logger)
    assert recognise(path) == "hdf5"
    rec = load(path)
    force = [f"wrench.{name}" for name in ("fx", "fy", "fz", "mx", "my", "mz")]
    assert list(rec) == ["tip", *force, "acc.x", "acc.y", "acc.z", "temperature [degC]"]
    np.testing.assert_array_equal(rec.stack(force), WRENCH)
    assert [rec[name].unit for name in force] == ["N"] * 3 + ["N m"] * 3
    np.testing.assert_allclose(rec["tip"].samples, XYZ, rtol=1e-6)
    assert (rec["tip"].unit, rec["tip"].frame) == ("m", "capture")
    np.testing.assert_array_equal(rec["tip"].clock.times_s, T)
    assert [clock.name for clock in rec.clocks] == ["ft", "imu"]
    assert rec["acc.y"].samples[0] == pytest.approx(9.80665)
    assert rec["acc.y"].clock.rate_hz == pytest.approx(50)
    assert rec["temperature [degC]"].unit == "1"


def test_columns_time_and_rate_are_those_of_a_table(tmp_path: Path) -> None:
    path = file(tmp_path / "log.h5", logger)
    columns = {
        "Fx": {"column": "ft/wrench.fx", "unit": "kN", "frame": "sensor"},
        "arm": {"column": ["wrench.mx", "wrench.my", "wrench.mz"], "unit": "m"},
        "hook": "ft/tip",
        "n": {"column": ["wrench.mx", "wrench.my", "wrench.mz"]},
    }
    rec = load(path, columns=columns, time={"column": "ft/time", "unit": "ms"})
    np.testing.assert_allclose(rec["Fx"].samples, WRENCH[:, 0] * 1e3)
    np.testing.assert_array_equal(rec["arm"].samples, WRENCH[:, 3:])
    assert rec["n"].unit == "N m"
    np.testing.assert_allclose(rec["hook"].samples, XYZ, rtol=1e-6)
    np.testing.assert_allclose(rec.clocks[0].times_s, T * 1e-3)
    assert load(path, columns={"hook": "tip"}, rate=10.0).clocks[0].rate_hz == pytest.approx(10)
    with pytest.raises(UnknownName, match=r"no column 'wrench\.f'\. Did you mean 'ft/wrench\.f[xyz]'"):
        load(path, columns={"F": "wrench.f"})
    twice = file(tmp_path / "twice.h5", lambda f: [f.create_dataset(f"{g}/x", data=T) for g in "ab"])
    with pytest.raises(FileProblem, match=r"'x' could be a/x or b/x\. Write the whole name"):
        load(twice, columns={"F": "x"}, rate=5.0)
    assert list(load(twice, rate=5.0)) == ["a/x", "b/x"]
    for wanted in ("wrench", ["wrench.fx", "wrench.fy", "wrench.mz"]):
        with pytest.raises(FileProblem, match="'F' needs one column, or three of one unit"):
            load(path, columns={"F": {"column": wanted}})
    with pytest.raises(FileProblem, match="channel 'F': in the unit 'furlong'"):
        load(path, columns={"F": {"column": "wrench.fx", "unit": "furlong"}})
    with pytest.raises(FileProblem, match=r"'imu/acc' has the shape \(10, 3\), but its clock 'ft' has 40 times"):
        load(path, columns={"a": "imu/acc.x"}, time="ft/time")
    with pytest.raises(UnknownName, match=r"no column 'times'"):
        load(path, time="times")
    with pytest.raises(FileProblem, match="both a time column and a rate"):
        load(path, time="ft/time", rate=5.0)


def test_compound_datasets_transposed_arrays_and_counts_of_nanoseconds(tmp_path: Path) -> None:
    def build(content: Any) -> None:
        table = np.zeros(5, dtype=[("timestamp", np.int64), ("Fx", np.float64), ("note", "S4")])
        table["timestamp"] = 1_730_214_153_123_456_789 + np.arange(5) * 2_000_000
        table["Fx"] = np.arange(5)
        content["log"] = table
        content["t"] = np.arange(7.0) * 1e3
        content["t"].attrs["units"] = "milliseconds since midnight"
        content["q"] = np.arange(28.0).reshape(4, 7)

    rec = load(file(tmp_path / "a.h5", build))
    assert list(rec) == ["Fx", "q.1", "q.2", "q.3", "q.4"]
    np.testing.assert_allclose(rec["Fx"].clock.times_s, np.arange(5) * 2e-3, atol=1e-15)
    np.testing.assert_array_equal(rec["q.2"].samples, np.arange(7.0, 14.0))
    np.testing.assert_allclose(rec["q.2"].clock.times_s, np.arange(7.0))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    x=arrays(np.float64, (9, 3), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    unit=st.sampled_from(["m", "N", "m/s2", "V", "1"]),
)
def test_round_trip_is_exact(tmp_path: Path, x: Any, unit: str) -> None:
    slow, fast = Clock("cam 1", 3.5 + np.arange(9) / 7), Clock("ft", np.arange(4) / 1000)
    rec = Recording(
        {
            "S:M1": Channel("S:M1", x, slow, unit, "capture"),
            "b/Fx": Channel("b/Fx", np.arange(4.0), fast, "N", "sensor"),
            "a": Channel("a", x[:, 0], slow, unit),
        }
    )
    write_hdf5(tmp_path / "a.h5", rec)
    back = hdf5.read(tmp_path / "a.h5")
    assert set(back) == set(rec)
    for name, channel in rec.channels.items():
        np.testing.assert_array_equal(back[name].samples, channel.samples)
        np.testing.assert_array_equal(back[name].clock.times_s, channel.clock.times_s)
        assert (back[name].unit, back[name].frame, back[name].clock.name) == (
            channel.unit,
            channel.frame,
            channel.clock.name,
        )


def broken(name: str, content: Any) -> None:
    content["Fx"] = np.arange(5.0)
    if name == "backwards":
        content["t"] = [0.0, 1.0, 2.0, 1.5, 3.0]
    if name == "lengths":
        content["t"] = np.arange(6.0)
    if name == "unit of time":
        content["t"] = np.arange(5.0)
        content["t"].attrs["units"] = "fortnights"
    if name == "negative rate":
        content.attrs["rate"] = -5.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no time", r"no column looks like time \(Fx \(5,\)\)\. Name it with the option time.*option rate"),
        ("backwards", "row 4 of a: time goes backwards"),
        ("lengths", r"'Fx' has the shape \(5,\), but its clock 'a' has 6 times.*option time"),
        ("negative rate", "no column looks like time"),
        ("unit of time", "the unit of the times 't' is 'fortnights'. State it with the option time"),
    ],
)
def test_a_file_whose_times_are_not_known_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(FileProblem, match=message):
        load(file(tmp_path / "a.h5", lambda content: broken(name, content)))


def test_damaged_files(tmp_path: Path) -> None:
    path = file(tmp_path / "a.h5", logger)
    whole = path.read_bytes()
    for keep in (0.1, 0.5, 0.95):
        path.write_bytes(whole[: int(keep * len(whole))])
        with pytest.raises(
            FileProblem, match=r"a\.h5: the file is damaged or cut off \(.*\)\. Copy or export it again"
        ):
            load(path)
    path.write_bytes(b"")
    with pytest.raises(FileProblem, match="the file is empty"):
        load(path)
    path.write_text("t,a\n0,1\n")
    with pytest.raises(FileProblem, match="not a hdf5 file; it looks like csv"):
        load(path, format="hdf5")
    with pytest.raises(FileProblem, match="no column looks like time"):
        load(file(tmp_path / "b.h5", lambda content: content.create_group("nothing")))


def test_without_the_library_the_install_line_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path / "a.h5", logger)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"reading HDF5 files needs h5py.*pip install 'palpate\[hdf5\]'"):
        load(path)


# --- MATLAB ---


def test_matlab_variables_with_a_time_a_rate_or_a_struct(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"t": T[None, :], "F": WRENCH[:, :3], "gain": 2.0, "K": np.eye(3), "units": {"F": "N"}})
    assert recognise(path) == "mat"
    rec = load(path)
    assert list(rec) == ["F.x", "F.y", "F.z"]
    np.testing.assert_array_equal(rec.stack(["F.x", "F.y", "F.z"]), WRENCH[:, :3])
    assert rec["F.x"].unit == "N"
    savemat(path, {"x": np.arange(6.0), "SampleRate": 20})
    np.testing.assert_allclose(load(path)["x"].clock.times_s, np.arange(6) / 20)
    savemat(path, {"log": {"time_ms": np.arange(6.0), "x": np.arange(6.0)}})
    assert recognise(path) == "mat"
    rec = load(path)
    assert list(rec) == ["x"]
    np.testing.assert_allclose(rec["x"].clock.times_s, np.arange(6) * 1e-3)
    assert rec["x"].clock.name == "log"
    savemat(path, {"x": np.arange(6.0), "rate": 20, "fs": 30})
    with pytest.raises(FileProblem, match="no column looks like time"):
        load(path)


def test_matlab_round_trip(tmp_path: Path) -> None:
    clock = Clock("a", np.arange(5) / 10)
    rec = Recording({"Fx": Channel("Fx", np.arange(5.0), clock, "N"), "tip": Channel("tip", XYZ[:5], clock, "m")})
    write_mat(tmp_path / "a.mat", rec)
    back = load(tmp_path / "a.mat")
    assert back.format == "mat"
    for name, channel in rec.channels.items():
        np.testing.assert_array_equal(back[name].samples, channel.samples)
        assert back[name].unit == channel.unit
        np.testing.assert_array_equal(back[name].clock.times_s, clock.times_s)


def matlab_73(path: Path, build: Any) -> Path:
    """A file as MATLAB 7.3 lays it out: 512 bytes of its own, then HDF5 with every array transposed."""
    with h5py.File(path, "w", userblock_size=512) as content:
        build(content)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def put(group: Any, name: str, value: Any, *, refs: Any) -> Any:
    """A MATLAB value: text, numbers, a list of structs or one struct."""
    if isinstance(value, str):
        item = group.create_dataset(name, data=np.array([[ord(c)] for c in value], dtype=np.uint16))
        item.attrs["MATLAB_class"] = np.bytes_("char")
    elif isinstance(value, list):
        item = group.create_group(name)
        item.attrs["MATLAB_class"] = np.bytes_("struct")
        for key in value[0]:
            cells = np.empty((len(value), 1), dtype=h5py.ref_dtype)
            for place, entry in enumerate(value):
                cells[place, 0] = put(refs, f"r{len(refs)}", entry[key], refs=refs).ref
            item.create_dataset(key, data=cells, dtype=h5py.ref_dtype)
    elif isinstance(value, dict):
        item = group.create_group(name)
        item.attrs["MATLAB_class"] = np.bytes_("struct")
        for key, part in value.items():
            put(item, key, part, refs=refs)
    else:
        item = group.create_dataset(name, data=np.atleast_2d(value).T)
        item.attrs["MATLAB_class"] = np.bytes_("double")
    return item


def capture() -> dict[str, Any]:
    times = [{"Name": "time", "Data": T[None, :]} for _ in range(2)]
    signals = [
        {"Name": name, "Device": "Platform", "Path": f"Labels/{name}", "XIndex": 1.0, "Data": WRENCH[None, :, place]}
        for place, name in enumerate(("Fx1_RawZero", "Tx1_RawZero"))
    ]
    return {"X": times, "Y": signals}


def test_a_controldesk_capture_in_matlab_73(tmp_path: Path) -> None:
    path = matlab_73(tmp_path / "a.mat", lambda f: put(f, "exp1", capture(), refs=f.create_group("#refs#")))
    assert recognise(path) == "dspace-mat"
    rec = load(path)
    assert list(rec) == ["Fx1_RawZero", "Tx1_RawZero"]
    np.testing.assert_array_equal(rec["Fx1_RawZero"].samples, WRENCH[:, 0])
    np.testing.assert_array_equal(rec["Tx1_RawZero"].clock.times_s, T)
    assert (rec["Tx1_RawZero"].unit, rec["Tx1_RawZero"].clock.name) == ("N m", "Platform")


def test_plain_variables_in_matlab_73(tmp_path: Path) -> None:
    def build(content: Any) -> None:
        put(content, "t", T[:, None], refs=None)
        put(content, "F", WRENCH[:, :3], refs=None)
        put(content, "who", "me", refs=None)

    path = matlab_73(tmp_path / "a.mat", build)
    assert recognise(path) == "mat"
    rec = load(path)
    np.testing.assert_array_equal(rec.stack(["F.x", "F.y", "F.z"]), WRENCH[:, :3])
    np.testing.assert_array_equal(rec.clocks[0].times_s, T)


def test_damaged_matlab_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = matlab_73(tmp_path / "a.mat", lambda f: put(f, "t", T[:, None], refs=None))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    for format_name in ("mat", "dspace-mat"):
        with pytest.raises(FileProblem, match=r"a\.mat: the file is damaged or cut off"):
            load(path, format=format_name)
    savemat(path, {"x": np.arange(6.0)})
    with pytest.raises(FileProblem, match=r"no ControlDesk capture .*only x.*format='mat'"):
        load(path, format="dspace-mat")
    write("dspace-mat", path, Recording({"Fx": Channel("Fx", np.ones(3), Clock("P", np.arange(3.0)), "N")}))
    with pytest.raises(FileProblem, match=r"a ControlDesk capture\. Read it with format='dspace-mat'"):
        load(path, format="mat")
    path.write_bytes(whole)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"reading MATLAB 7\.3 files needs h5py"):
        load(path)
