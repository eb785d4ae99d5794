"""C3D: equal to ezc3d's own numbers, round trips, model outputs, foreign units and damaged files."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palpate.errors import FileProblem, MissingExtra
from palpate.recording import Channel, Clock, Recording, load, recognise
from palpate.recording.c3d import read
from tests.conftest import needs
from tests.writers import write_c3d as write

ezc3d = needs("ezc3d", "c3d")


def markers(n: int = 12, first_s: float = 0.0) -> Recording:
    """Three markers at 100 Hz and two analogs at 500 Hz."""
    rng = np.random.default_rng(1)
    points, analogs = (
        Clock("Trajectories", first_s + np.arange(n) / 100),
        Clock("Analog", first_s + np.arange(5 * n) / 500),
    )
    channels = [Channel(f"S:M{k}", rng.normal(size=(n, 3)), points, "m", "capture") for k in range(3)]
    channels += [Channel(name, rng.normal(size=5 * n), analogs, unit) for name, unit in (("Fx", "N"), ("EMG", "V"))]
    return Recording({channel.name: channel for channel in channels})


def stored(
    path: Path, *, points: Any, labels: list[str], units: str = "mm", extra: dict[str, Any] | None = None
) -> Path:
    """A C3D file written with ezc3d alone: points (3, p, n) at 100 Hz."""
    file = ezc3d.c3d()
    file["data"]["points"] = np.concatenate([points, np.ones((1, *points.shape[1:]))])
    file["parameters"]["POINT"]["RATE"]["value"] = np.array([100.0])
    file["parameters"]["POINT"]["LABELS"]["value"] = labels
    file["parameters"]["POINT"]["UNITS"]["value"] = [units] if units else []
    for name, value in (extra or {}).items():
        file.add_parameter("POINT", name, value)
    file.write(str(path))
    return path


@pytest.mark.real
def test_the_box_lift_equals_what_ezc3d_says(real_folder: Path) -> None:
    path = real_folder / "pyomeca_box_lift" / "markers_analogs.c3d"
    assert recognise(path) == "c3d"
    rec, own = load(path), ezc3d.c3d(str(path))
    labels = own["parameters"]["POINT"]["LABELS"]["value"]
    analogs = own["parameters"]["ANALOG"]["LABELS"]["value"]
    assert list(rec) == [*labels, *analogs]
    assert len(labels) == 51
    hidden = 0
    for place, label in enumerate(labels):
        theirs = own["data"]["points"][:3, place].T
        np.testing.assert_array_equal(rec[label].samples, theirs * 0.001)
        hidden += rec[label].missing
        assert (rec[label].unit, rec[label].frame) == ("m", "capture")
    assert hidden == np.count_nonzero(own["data"]["meta_points"]["residuals"] < 0) == 305
    for place, label in enumerate(analogs):
        np.testing.assert_array_equal(rec[label].samples, own["data"]["analogs"][0, place])
        assert rec[label].unit == "V"
    points, analog = rec.clocks
    assert (len(points), len(analog)) == (580, 11600)
    np.testing.assert_array_equal(points.times_s, np.arange(580) / 100)
    np.testing.assert_array_equal(analog.times_s, np.arange(11600) / 2000)
    box = np.stack([rec[name].samples for name in labels if name.startswith("boite:")])
    travel = np.linalg.norm(np.nanmax(box, axis=1) - np.nanmin(box, axis=1), axis=1)
    assert 0.2 < travel.min() < travel.max() < 1.0


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    xyz=arrays(np.float64, (7, 2, 3), elements=st.floats(-20, 20).map(lambda x: x + 1e-3)),
    hidden=arrays(np.bool_, (7, 2)),
    first=st.integers(0, 300),
)
def test_round_trip_in_single_precision(tmp_path: Path, xyz: Any, hidden: Any, first: int) -> None:
    samples = np.where(hidden[..., None], np.nan, xyz)
    clock = Clock("Trajectories", (first + np.arange(7)) / 200)
    rec = Recording({f"M{k}": Channel(f"M{k}", samples[:, k], clock, "m", "capture") for k in range(2)})
    write(tmp_path / "a.c3d", rec)
    back = read(tmp_path / "a.c3d")
    np.testing.assert_allclose(back.clocks[0].times_s, clock.times_s, rtol=0, atol=1e-9)
    for name, channel in rec.channels.items():
        np.testing.assert_allclose(back[name].samples, channel.samples, rtol=1e-6, atol=1e-7)


def test_markers_and_analogs_keep_their_clocks_names_and_units(tmp_path: Path) -> None:
    rec = markers(first_s=1.25)
    path = tmp_path / "a.c3d"
    write(path, rec)
    back = load(path)
    assert list(back) == list(rec)
    assert [(c.unit, c.frame) for c in back.channels.values()] == [(c.unit, c.frame) for c in rec.channels.values()]
    for name, channel in rec.channels.items():
        np.testing.assert_allclose(back[name].samples, channel.samples, rtol=1e-6)
        np.testing.assert_allclose(back[name].clock.times_s, channel.clock.times_s, atol=1e-9)


def test_model_outputs_are_no_positions(tmp_path: Path) -> None:
    points = np.arange(1.0, 61.0).reshape(3, 4, 5)
    extra = {"ANGLES": ["Knee"], "ANGLE_UNITS": ["deg"], "MOMENTS": ["KneeMoment"], "MOMENT_UNITS": ["Nmm"]}
    rec = load(stored(tmp_path / "a.c3d", points=points, labels=["A", "Knee", "KneeMoment", "A"], extra=extra))
    assert list(rec) == ["A", "Knee", "KneeMoment", "A#2"]
    assert [(c.unit, c.frame) for c in rec.channels.values()] == [
        ("m", "capture"), ("rad", ""), ("N m", ""), ("m", "capture"),
    ]  # fmt: skip
    np.testing.assert_allclose(rec["Knee"].samples, np.radians(points[:, 1].T), rtol=1e-6)
    np.testing.assert_allclose(rec["KneeMoment"].samples, points[:, 2].T * 1e-3, rtol=1e-6)


@pytest.mark.parametrize(("unit", "factor"), [("mm", 1e-3), ("m", 1.0), ("MM", 1e-3), ("meters", 1.0), ("cm", 1e-2)])
def test_the_unit_of_points_is_the_file_s(tmp_path: Path, unit: str, factor: float) -> None:
    points = np.arange(1.0, 7.0).reshape(3, 1, 2)
    rec = load(stored(tmp_path / "a.c3d", points=points, labels=["A"], units=unit))
    np.testing.assert_allclose(rec["A"].samples, points[:, 0].T * factor, rtol=1e-6)


def test_a_file_without_unit_needs_one_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    points = np.arange(1.0, 7.0).reshape(3, 1, 2)
    silent = stored(tmp_path / "silent.c3d", points=points, labels=["A"], units="")
    with pytest.raises(FileProblem, match=r"silent\.c3d: POINT:UNITS is '', not a length.*point_unit='mm'"):
        load(silent)
    np.testing.assert_allclose(load(silent, point_unit="mm")["A"].samples, points[:, 0].T * 1e-3, rtol=1e-6)
    with pytest.raises(FileProblem, match=r"POINT:UNITS is 'pixel', not a length"):
        load(stored(tmp_path / "b.c3d", points=points, labels=["A"], units="pixel"))


def test_three_zeros_are_a_hidden_marker(tmp_path: Path) -> None:
    points = np.arange(1.0, 7.0).reshape(3, 1, 2)
    points[:, 0, 1] = 0.0
    assert load(stored(tmp_path / "a.c3d", points=points, labels=["A"]))["A"].missing == 1


def test_an_unknown_analog_unit_stays_in_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.c3d"
    write(path, markers())
    file = ezc3d.c3d(str(path))
    file["parameters"]["ANALOG"]["UNITS"]["value"] = ["N", "a.u."]
    del file["data"]["meta_points"]
    file.write(str(path))
    rec = load(path)
    assert list(rec)[-2:] == ["Fx", "EMG [a.u.]"]
    assert (rec["Fx"].unit, rec["EMG [a.u.]"].unit) == ("N", "1")


def test_damaged_files_are_refused_and_never_read_in_part(tmp_path: Path) -> None:
    write(tmp_path / "whole.c3d", markers(200))
    whole, path = (tmp_path / "whole.c3d").read_bytes(), tmp_path / "a.c3d"
    start = 512 * (struct.unpack_from("<H", whole, 16)[0] - 1)
    ends = {"half": len(whole) // 2, "parameters": 700, "header": 512, "two bytes": 2, "a frame": len(whole) - 2000}
    assert ends["a frame"] > start
    for end in ends.values():
        path.write_bytes(whole[:end])
        with pytest.raises(FileProblem) as error:
            load(path)
        assert "a.c3d: the header" in str(error.value)
        assert "cut off; copy" in str(error.value)
    path.write_bytes(b"")
    with pytest.raises(FileProblem, match="the file is empty"):
        load(path)
    path.write_bytes(b"Dear Sir\n" + whole[9:])
    with pytest.raises(FileProblem, match="this looks like"):
        load(path)
    with pytest.raises(FileProblem, match="this is not a c3d file; it looks like"):
        load(path, format="c3d")
    path.write_bytes(whole[:520] + b"\xff" * 300 + whole[820:])
    with pytest.raises(FileProblem, match=r"a\.c3d: the file is damaged \(.*\)\. Copy or export it again"):
        load(path)


def test_parameters_that_would_crash_the_library_are_refused_before(tmp_path: Path) -> None:
    write(tmp_path / "whole.c3d", markers())
    whole, path = (tmp_path / "whole.c3d").read_bytes(), tmp_path / "a.c3d"
    lost = "parameters are not chained correctly"
    for old, new, message in (
        (b"OFFSET", b"OFFSAT", "ANALOG:OFFSET has 0 numbers for 2 channels"),
        (b"USED\x07\x00\x02\x00\x03", b"USED\x07\x00\x02\x00\x04", "POINT:USED is 4, but the header says 3"),
        (b"USED\x07\x00\x02", b"USED\x07\x00\x07", lost),
        (b"USED\x07\x00\x02", b"USED\x01\x00\x02", lost),
        (b"USED\x07\x00\x02", b"USED\xff\xff\x02", lost),
    ):
        assert old in whole
        path.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(FileProblem, match=message):
            load(path)


def test_without_the_library_the_install_line_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.c3d", markers())
    monkeypatch.setitem(sys.modules, "ezc3d", None)
    with pytest.raises(MissingExtra, match=r"reading C3D files needs ezc3d.*pip install 'palpate\[c3d\]'"):
        load(tmp_path / "a.c3d")
