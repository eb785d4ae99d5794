"""Vicon Nexus CSV: round trips, foreign spellings and damaged files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palpate.errors import FileProblem
from palpate.recording import Channel, Clock, Recording
from palpate.recording.instruments import read_vicon as read
from palpate.recording.instruments import write_vicon as write

TEXT = """Trajectories
100
,,Door:A,,,Door:B,,,
Frame,Sub Frame,X,Y,Z,X,Y,Z
,,mm,mm,mm,mm,mm,mm
1,0,1000,2000,3000,-1,-2,-3
2,0,1001,2001,3001,,,
5,0,,,,-1.5,-2.5,-3.5
"""
DEVICES = """
Devices
1000
,,Plate - Force,,,Amp - Voltage,
Frame,Sub Frame,Fx,Fy,Fz,1,2
,,N,N,N,V,V
1,0,1,2,3,4,5
1,1,1,2,3,4,5
1,2,1,2,3,4,5
1,9,1,2,3,4,6
2,0,1,2,3,4,5

Events
100
Subject,Context,Name,Time (s),Description
Door,Left,Strike,0.5,the foot
"""


def file(tmp_path, text: str, encoding: str = "utf-8"):
    path = tmp_path / "Trajectories.csv"
    path.write_bytes(text.encode(encoding))
    return path


def check(rec: Recording) -> None:
    assert list(rec)[:2] == ["Door:A", "Door:B"]
    a, b = rec["A"], rec["B"]
    np.testing.assert_allclose(a.samples[:2], [[1, 2, 3], [1.001, 2.001, 3.001]])
    np.testing.assert_allclose(b.samples[2], [-0.0015, -0.0025, -0.0035])
    assert np.isnan(a.samples[2]).all()
    assert np.isnan(b.samples[1]).all()
    assert (a.unit, a.frame, a.clock.name) == ("m", "capture", "Trajectories")
    np.testing.assert_allclose(a.clock.times_s, [0.0, 0.01, 0.04])


VARIANTS = {
    "as written": TEXT,
    "carriage returns": TEXT.replace("\n", "\r\n"),
    "byte-order mark": "\ufeff" + TEXT,
    "no last line end": TEXT.rstrip("\n"),
    "labels trimmed": TEXT.replace(",,Door:A,,,Door:B,,,", ",,Door:A,,,Door:B"),
    "semicolons": TEXT.replace(",", ";"),
    "decimal commas": TEXT.replace(",", ";").replace(".", ","),
    "tabs": TEXT.replace(",", "\t"),
    "re-saved with padding": TEXT.replace("Trajectories\n100\n", "Trajectories,,,,,,,\n100,,,,,,,\n"),
    "blanks round numbers": TEXT.replace("1,0,1000,", "1,0, 1000 ,"),
    "blank lines around": "\n\n" + TEXT + "\n,,,,,,,\n\n",
    "blocks apart by separators": (TEXT + DEVICES).replace("\n\n", "\n,,,,,\n"),
    "quoted labels": TEXT.replace("Door:A", '"Door:A"'),
    "with devices": TEXT + DEVICES,
    "events first": DEVICES[DEVICES.index("Events") :] + "\n" + TEXT,
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_reads_the_same_markers_from_every_spelling(tmp_path, text):
    check(read(file(tmp_path, text)))


def test_metres_are_taken_from_the_file(tmp_path):
    rec = read(file(tmp_path, TEXT.replace("mm", "m")))
    np.testing.assert_allclose(rec["A"].samples[0], [1000, 2000, 3000])


def test_devices_have_their_own_clock_and_units(tmp_path):
    rec = read(file(tmp_path, TEXT + DEVICES))
    force = rec["Plate - Force"]
    assert (force.unit, force.samples.shape, force.clock.name) == ("N", (5, 3), "Devices")
    np.testing.assert_allclose(force.clock.times_s, [0, 0.001, 0.002, 0.009, 0.010])
    assert rec["Amp - Voltage.2"].unit == "V"
    np.testing.assert_array_equal(rec["Amp - Voltage.2"].samples, [5, 5, 5, 6, 5])


def test_names_that_clash_get_the_block_as_prefix(tmp_path):
    rec = read(file(tmp_path, TEXT + "\n" + TEXT.replace("Trajectories", "Model Outputs").replace("mm", "deg")))
    assert list(rec) == ["Door:A", "Door:B", "Model Outputs/Door:A", "Model Outputs/Door:B"]
    assert rec["Model Outputs/Door:A"].unit == "rad"


def test_a_column_without_label_is_kept_as_unnamed(tmp_path):
    rec = read(file(tmp_path, TEXT.replace(",,Door:A,,,Door:B,,,", ",,Door:A,,,")))
    assert list(rec) == ["Door:A", "unnamed2"]


DAMAGED = {
    "empty": ("", "the file is empty"),
    "only the first line": ("Trajectories\n", "line 1: the block Trajectories ends within its header"),
    "header only": (TEXT[: TEXT.index("1,0,")], "line 6: there are no data rows"),
    "cut in a row": (TEXT[: TEXT.index("-1.5")], "line 8: the row has 6 fields instead of 8.*cut off"),
    "short row": (TEXT.replace("2,0,1001,2001,3001,,,", "2,0,1001,2001"), "line 7: the row has 4 fields"),
    "long row": (TEXT.replace("3001,,,", "3001,,,,9"), "line 7: the row has 9 fields instead of 8"),
    "text in a cell": (TEXT.replace("2001", "2o01"), r"line 7: column 4 \(Door:A Y\): '2o01' is not a number"),
    "rate": (TEXT.replace("\n100\n", "\nfast\n"), "line 2: the rate of Trajectories is 'fast'"),
    "no unit": (TEXT.replace("mm", ""), "line 5: the unit of 'Door:A' is '', not a length.*mm or m"),
    "wrong unit": (TEXT.replace("mm", "deg"), "line 5: the unit of 'Door:A' is 'deg'"),
    "frames backwards": (TEXT.replace("\n5,0", "\n1,0"), "line 8: time goes backwards"),
    "frame twice": (TEXT.replace("\n2,0", "\n1,0"), "line 7: time stands still"),
    "frame missing": (TEXT.replace("\n2,0", "\n,0"), "line 7: the frame number is missing"),
    "other columns": (TEXT.replace("Frame,Sub", "Bild,Sub"), "line 4: .*'Frame', not 'Bild'"),
    "two components": (
        TEXT.replace("Door:B", ",Door:B", 1).replace("B,,,", "B,,"),
        "line 4: the marker 'unnamed2' has 1 columns",
    ),
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_named_with_file_and_line(tmp_path, text, message):
    with pytest.raises(FileProblem, match=r"Trajectories\.csv.*" + message):
        read(file(tmp_path, text))


def test_another_format_is_named(tmp_path):
    with pytest.raises(FileProblem, match="not a vicon-csv file; it looks like csv"):
        read(file(tmp_path, "time,Fx\n0,1\n1,2\n"))
    with pytest.raises(FileProblem, match="looks like no file type"):
        read(file(tmp_path, "\x00\x01\x02"))


visible = st.one_of(st.floats(-50, 50), st.just(float("nan")))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_round_trip_keeps_positions_gaps_and_hidden_markers(tmp_path_factory, data):
    frames = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=20, unique=True).map(sorted)))
    rate = data.draw(st.sampled_from([50.0, 100.0, 119.88, 1000.0]))
    clock = Clock("Trajectories", frames / rate)
    names = data.draw(st.lists(st.from_regex(r"[A-Za-z_]\w{0,8}:\w{1,8}", fullmatch=True), min_size=1, unique=True))
    channels = {
        name: Channel(name, data.draw(arrays(float, (len(frames), 3), elements=visible)), clock, "m", "capture")
        for name in names
    }
    path = tmp_path_factory.mktemp("vicon") / "a.csv"
    write(path, Recording(channels), rate_hz=rate)
    again = read(path)
    assert list(again) == names
    for name in names:
        np.testing.assert_allclose(again[name].samples, channels[name].samples, atol=1e-9, rtol=0)
    np.testing.assert_allclose(again.clocks[0].times_s, clock.times_s, rtol=1e-12)
    assert path.read_text().splitlines()[2].count(",") == 2 + 3 * len(names)


def test_writer_takes_the_rate_from_the_clock(tmp_path):
    clock = Clock("Trajectories", np.arange(50) / 120)
    write(tmp_path / "a.csv", Recording({"a": Channel("a", np.zeros((50, 3)), clock, "m")}))
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == "120"
