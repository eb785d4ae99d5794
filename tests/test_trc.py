"""TRC: round trips, other programs' spellings of a hidden marker, rounded times, and damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palpate.errors import FileProblem
from palpate.recording import Channel, Clock, Recording, load, recognise
from palpate.recording.instruments import read_trc as read
from tests.writers import write_trc as write

HEAD = (
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "60\t60\t4\t2\tmm\t60\t1\t4\n"
    "Frame#\tTime\tR.ASIS\t\t\tL.ASIS\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
)
ROWS = (
    "1\t0.000\t1\t2\t3\t4\t5\t6\n"
    "2\t0.017\t1\t2\t3\t\t\t\n"
    "3\t0.033\tNaN\tNaN\tNaN\t4\t5\t6\n"
    "4\t0.050\t9999999.0\t9999999.0\t9999999.0\t0\t0\t0\n"
)
TEXT = HEAD + "\n" + ROWS
NAN = [np.nan] * 3


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.trc"
    path.write_bytes(text.encode())
    return path


VARIANTS = {
    "blank line after the header": TEXT,
    "no blank line": HEAD + ROWS,
    "carriage returns": TEXT.replace("\n", "\r\n"),
    "a tab too many in every row": HEAD.replace("L.ASIS\t\t\n", "L.ASIS\t\t\t\n") + ROWS.replace("\n", "\t\n"),
    "no last line end": TEXT.rstrip("\n"),
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_reads_the_same_markers_from_every_spelling(tmp_path: Path, text: str) -> None:
    path = file(tmp_path, text)
    assert recognise(path) == "trc"
    rec = load(path)
    assert list(rec) == ["R.ASIS", "L.ASIS"]
    assert {(c.unit, c.frame) for c in rec.channels.values()} == {("m", "capture")}
    np.testing.assert_allclose(rec["R.ASIS"].samples, [[0.001, 0.002, 0.003]] * 2 + [NAN] * 2)
    np.testing.assert_allclose(rec["L.ASIS"].samples, [[0.004, 0.005, 0.006], NAN, [0.004, 0.005, 0.006], NAN])
    # three decimals are not even at 60 Hz; the frame numbers are
    np.testing.assert_allclose(rec.clocks[0].times_s, np.arange(4) / 60, atol=1e-15)


def test_metres_stay_metres_and_a_rate_that_the_times_contradict_is_not_believed(tmp_path: Path) -> None:
    text = TEXT.replace("\tmm\t", "\tm\t").replace("0.017", "0.020").replace("0.033", "0.040").replace("0.050", "0.060")
    rec = load(file(tmp_path, text))
    np.testing.assert_array_equal(rec["R.ASIS"].samples[0], [1, 2, 3])
    np.testing.assert_array_equal(rec.clocks[0].times_s, [0, 0.02, 0.04, 0.06])


@pytest.mark.parametrize("named", ["\tV_Mid\t\t", "\t\t\t"])
def test_virtual_markers_that_are_not_counted_are_read_where_they_have_columns(tmp_path: Path, named: str) -> None:
    more = HEAD.replace("L.ASIS\t\t\n", f"L.ASIS\t\t{named}\n")
    rec = load(file(tmp_path, more + ROWS.replace("\n", "\t7\t8\t9\n")))
    assert list(rec) == ["R.ASIS", "L.ASIS", *(["V_Mid"] if named.strip() else [])]
    # named without columns: the rows decide
    assert list(load(file(tmp_path, HEAD.replace("L.ASIS\t\t\n", "L.ASIS\t\t\tV_Mid\t\t\n") + ROWS))) == list(rec)[:2]


def test_a_gap_in_the_frames_is_a_gap_in_time(tmp_path: Path) -> None:
    rec = load(file(tmp_path, TEXT.replace("4\t0.050", "7\t0.100")))
    np.testing.assert_allclose(rec.clocks[0].times_s, np.array([0, 1, 2, 6]) / 60, atol=1e-15)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    xyz=arrays(np.float64, (6, 2, 3), elements=st.floats(-9, 9).map(lambda x: round(x, 9) + 1e-3)),
    hidden=arrays(np.bool_, (6, 2)),
    first=st.integers(0, 5000),
    rate=st.sampled_from([50.0, 60.0, 100.0, 119.88, 250.0]),
)
def test_round_trip(tmp_path: Path, xyz: Any, hidden: Any, first: int, rate: float) -> None:
    samples = np.where(hidden[..., None], np.nan, xyz)
    clock = Clock("Trajectories", (first + np.arange(6)) / rate)
    rec = Recording({f"S:M{k}": Channel(f"S:M{k}", samples[:, k], clock, "m", "capture") for k in range(2)})
    write(tmp_path / "a.trc", rec)
    back = read(tmp_path / "a.trc")
    assert list(back) == list(rec)
    for name, channel in rec.channels.items():
        np.testing.assert_allclose(back[name].samples, channel.samples, atol=1e-9)
    np.testing.assert_allclose(back.clocks[0].times_s, clock.times_s, atol=1e-6)
    np.testing.assert_allclose(np.diff(back.clocks[0].times_s), 1 / rate, rtol=1e-8)


DAMAGED = {
    "empty": ("", "the file is empty"),
    "header cut": ("\n".join(TEXT.splitlines()[:3]), "line 3: the header is cut off"),
    "no rows": (HEAD, "line 6: there are no data rows.*cut off"),
    "row cut": (TEXT[:-12], r"line 10: the row has \d fields instead of 8.*cut off"),
    "rows missing": (TEXT.replace("\t4\t2\tmm", "\t9\t2\tmm"), "line 3: NumFrames is 9, but there are 4 rows.*cut off"),
    "marker missing": (TEXT.replace("\t4\t2\tmm", "\t4\t3\tmm"), "line 4: NumMarkers is 3, but 2 markers are named"),
    "columns missing": (HEAD + "1\t0\t1\t2\t3\n", "line 4: 2 markers need 8 columns, the first row has 5"),
    "unit": (TEXT.replace("\tmm\t", "\tcubits\t"), "line 3: Units is 'cubits', not a length. Write mm or m"),
    "no unit": (TEXT.replace("Units", "Kinds"), "line 2: the header does not say Units"),
    "rate": (TEXT.replace("\n60\t", "\nfast\t"), "line 3: DataRate is 'fast', not a positive number"),
    "columns": (TEXT.replace("Frame#", "Row"), "line 4: the columns should begin with 'Frame#' and 'Time'"),
    "cell": (TEXT.replace("\t5\t6", "\tfive\t6", 1), r"line 7: column 7 \(L.ASIS Y\): 'five' is not a number"),
    "time": (TEXT.replace("0.033", "0.003"), "line 9: time goes backwards"),
    "other": ("t,a\n0,1\n", "this is not a trc file; it looks like csv. Read it with format='csv'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_files_are_refused_with_line_and_reason(tmp_path: Path, text: str, message: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(FileProblem, match=message) as error:
        load(path, format="trc")
    assert str(path) in str(error.value)
