"""Formats by name and by content, several files at once, and what importing the room costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from csv import reader
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileProblem, UnknownName
from palpate.recording import FORMATS, Channel, Clock, Recording, load, recognise
from palpate.recording.table import TableOptions
from tests.conftest import needs
from tests.writers import write

UNITS = {"acceleration": "m/s2", "angular_rate": "rad/s"}


def markers(n: int = 30, count: int = 3) -> Recording:
    clock, rng = Clock("Trajectories", np.arange(n) / 100), np.random.default_rng(5)
    names = [f"S:M{place}" for place in range(count)]
    return Recording({name: Channel(name, rng.normal(size=(n, 3)), clock, "m", "capture") for name in names})


def scalars(n: int = 30) -> Recording:
    clock = Clock("Platform", np.arange(n) / 1000)
    return Recording({name: Channel(name, np.ones(n), clock, "N", "sensor") for name in ("Fx1", "Fy1")})


def imu(n: int = 30) -> Recording:
    clock = Clock("imu", np.arange(n) / 1000)
    names = [(quantity, f"{quantity}.{axis}") for quantity in UNITS for axis in "xyz"]
    return Recording({name: Channel(name, np.ones(n), clock, UNITS[quantity], "imu") for quantity, name in names})


def wrench(n: int = 30) -> Recording:
    clock = Clock("ft", np.arange(n) / 1000)
    names = [(unit, f"ft/{name}.{axis}") for name, unit in (("force", "N"), ("torque", "N m")) for axis in "xyz"]
    return Recording({name: Channel(name, np.ones(n), clock, unit, "sensor") for unit, name in names})


def wheel(n: int = 30) -> Recording:
    clock = Clock("smartwheel", np.arange(n) / 240)
    angle = {"angle": Channel("angle", np.ones(n), clock, "rad")}
    loads = {c.name.removeprefix("ft/"): Channel(c.name, c.samples, clock, c.unit) for c in wrench(n).channels.values()}
    return Recording(angle | loads)


SAMPLES = {
    "smartwheel": wheel,
    "vicon-csv": markers,
    "dspace-mat": scalars,
    "microstrain-csv": imu,
    "c3d": markers,
    "trc": markers,
    "rosbag": wrench,
    "hdf5": scalars,
    "mat": scalars,
    "csv": scalars,
    "parquet": scalars,
}
EXTRAS = {"c3d": ("ezc3d", "c3d"), "rosbag": ("rosbags.highlevel", "ros"), "hdf5": ("h5py", "hdf5")}


def sample(name: str, path: Path) -> None:
    """Write a small file of this format, where its library is installed."""
    if name in EXTRAS:
        needs(*EXTRAS[name])
    write(name, path, SAMPLES[name]())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_recognises_its_own_files_and_no_others(tmp_path, name):
    path = tmp_path / "file.dat"
    sample(name, path)
    assert recognise(path) == name
    rec = load(path)
    assert rec.format == name
    assert rec.source == path
    assert list(rec) == list(SAMPLES[name]())


@pytest.mark.parametrize("name", FORMATS)
def test_listed_options_are_those_of_the_reader(name):
    module = import_module(f"palpate.recording.{FORMATS[name].module}")
    parameters = list(inspect.signature(getattr(module, f"read{FORMATS[name].suffix}")).parameters)
    if parameters[-1] == "options":
        parameters = [*parameters[:-1], *TableOptions.__annotations__]
    assert set(parameters) == {"path", *FORMATS[name].options}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_one_format_read_as_another_is_refused_by_name(tmp_path, name):
    path = tmp_path / "file.dat"
    sample("csv", path)
    if name in ("csv", "microstrain-csv", "vicon-csv"):
        path.write_bytes(b"PAR1 and so on")
    if name in EXTRAS:
        needs(*EXTRAS[name])
    with pytest.raises(FileProblem, match=rf"file\.dat: this is not a {name} file; it looks like"):
        load(path, format=name)


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_or_missing_file_is_refused_by_every_reader(tmp_path, name):
    (tmp_path / "empty").touch()
    with pytest.raises(FileProblem, match="empty: the file is empty"):
        load(tmp_path / "empty", format=name)
    with pytest.raises(FileProblem, match="nothing: there is no such file"):
        load(tmp_path / "nothing", format=name)


def test_several_files_merge_and_options_find_their_format(tmp_path):
    for name, stem in (("vicon-csv", "T.csv"), ("dspace-mat", "exp.mat"), ("microstrain-csv", "IMU.csv")):
        write(name, tmp_path / stem, SAMPLES[name]())
    rec = load(tmp_path / "T.csv", tmp_path / "exp.mat", str(tmp_path / "IMU.csv"), g=9.81, device="Platform")
    assert rec["M1"].samples.shape == (30, 3)
    assert rec["acceleration.x"].samples[0] == pytest.approx(9.81 / 9.80665)
    assert [clock.name for clock in rec.clocks] == ["Trajectories", "Platform", "imu"]


def test_two_files_of_one_kind_get_their_stems(tmp_path):
    for stem in ("a", "b"):
        write("dspace-mat", tmp_path / f"{stem}.mat", scalars())
    rec = load(tmp_path / "a.mat", tmp_path / "b.mat")
    assert list(rec) == ["a/Fx1", "a/Fy1", "b/Fx1", "b/Fy1"]


def test_wrong_names_and_files_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    write("csv", path, scalars())
    with pytest.raises(UnknownName, match=r"no format 'vicon'\. Did you mean 'vicon-csv'"):
        load(path, format="vicon")
    with pytest.raises(UnknownName, match=r"reading csv: there is no option 'rates'\. Did you mean 'rate'"):
        load(path, rates=5)
    with pytest.raises(FileProblem, match="no such file"):
        load(tmp_path / "b.csv")
    with pytest.raises(TypeError, match="at least one path"):
        load()
    (tmp_path / "empty.csv").touch()
    with pytest.raises(FileProblem, match="the file is empty"):
        load(tmp_path / "empty.csv")
    with pytest.raises(FileProblem, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("a.xls", b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
        ("a.csv.gz", b"\x1f\x8b\x08", "a gzip archive"),
        ("a.xlsx", b"PK\x03\x04", "a ZIP archive or Excel workbook"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        ("a.bin", b"\x00\x01\x02\x03", "no file type that palpate knows"),
    ],
)
def test_foreign_files_are_named(tmp_path, name, content, looks):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileProblem, match=f"this looks like {looks}.*Palpate reads vicon-csv"):
        load(path)


def test_importing_the_room_imports_no_reader():
    heavy = {"scipy", "polars", "ezc3d", "h5py", "rosbags"}
    code = f"import sys, palpate.recording; print({heavy} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_vicon_numbers_are_those_of_the_csv_module(tmp_path):
    """The benchmark compares the times of the two."""
    path, moving = tmp_path / "a.csv", markers(300, 4)
    samples = moving["M2"].samples.copy()
    samples[50:60] = np.nan
    channels = dict(moving.channels) | {"S:M2": Channel("S:M2", samples, moving.clocks[0], "m", "capture")}
    write("vicon-csv", path, Recording(channels))
    with path.open() as text:
        rows = list(reader(text))[5:]
    numbers = np.array([[float(cell or "nan") for cell in row] for row in rows])
    read = np.hstack([channel.samples for channel in load(path).channels.values()])
    np.testing.assert_allclose(read, numbers[:, 2:] * 1e-3, rtol=1e-14)
    np.testing.assert_allclose(load(path).clocks[0].times_s, (numbers[:, 0] - 1) / 100, rtol=1e-14)
