"""Plain CSV and Parquet tables: column maps, units, time columns and damaged files."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palpate.errors import DataProblem, FileProblem, UnknownName
from palpate.recording import Channel, Clock, Recording
from palpate.recording.headers import split_header, to_si
from palpate.recording.table import ColumnSpec, read, read_parquet, write, write_parquet

TEXT = "Time (ms),Fx [N],angle (deg),note\n0,1.5,180,start\n10,2.5,90,\n20,,0,end\n"


def file(tmp_path, text: str, encoding: str = "utf-8"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def check(rec: Recording) -> None:
    assert list(rec) == ["Fx", "angle"]
    np.testing.assert_array_equal(rec["Fx"].samples, [1.5, 2.5, np.nan])
    np.testing.assert_allclose(rec["angle"].samples, [np.pi, np.pi / 2, 0])
    assert (rec["Fx"].unit, rec["angle"].unit) == ("N", "rad")
    np.testing.assert_allclose(rec.clocks[0].times_s, [0, 0.01, 0.02])


VARIANTS = {
    "as written": TEXT,
    "semicolons": TEXT.replace(",", ";"),
    "decimal commas": TEXT.replace(",", ";").replace(".", ","),
    "tabs": TEXT.replace(",", "\t"),
    "carriage returns and mark": "\ufeff" + TEXT.replace("\n", "\r\n"),
    "blanks": TEXT.replace(",", " , "),
    "comments before": "# measured on Monday\n\n" + TEXT,
    "header in a comment": "# measured on Monday\n# " + TEXT,
    "units below": "Time,Fx,angle,note\n(ms),[N],deg,\n" + TEXT.partition("\n")[2],
    "a preamble": "Device: XYZ\nMonday, 12:30\n\n" + TEXT,
    "Excel's separator line": "sep=;\n" + TEXT.replace(",", ";"),
    "quotes": TEXT.replace("Fx [N]", '"Fx [N]"').replace("start", '"start, at rest"'),
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_reads_the_same_channels_from_every_spelling(tmp_path, text):
    check(read(file(tmp_path, text)))


def test_degree_sign_in_an_old_encoding(tmp_path):
    rec = read(file(tmp_path, "t,q [°]\n0,180\n1,0\n", "latin-1"))
    np.testing.assert_allclose(rec["q"].samples, [np.pi, 0])


def test_column_map_names_units_frames_and_vectors(tmp_path):
    path = file(tmp_path, "stamp,a,b,c,d\n0,1,2,3,4\n2,5,6,7,8\n")
    columns = {
        "Fx": ColumnSpec("a", "kN", "sensor"),
        "hook": ColumnSpec(("b", "c", "d"), "mm", "capture"),
        "raw": "d",
        "angle": {"column": "a", "unit": "deg"},
    }
    rec = read(path, columns=columns, time={"column": "stamp", "unit": "us"})
    assert (rec["Fx"].samples[0], rec["Fx"].unit, rec["Fx"].frame) == (1000.0, "N", "sensor")
    np.testing.assert_allclose(rec["hook"].samples, [[0.002, 0.003, 0.004], [0.006, 0.007, 0.008]])
    assert rec["hook"].unit == "m"
    assert rec["raw"].unit == "1"
    assert rec["angle"].unit == "rad"
    np.testing.assert_allclose(rec.clocks[0].times_s, [0, 2e-6])


def test_constant_rate_and_names_for_a_file_without_header(tmp_path):
    rec = read(file(tmp_path, "1,2,\n3,4,\n5,6,\n"), header=["Fx [N]", "Fy [N]"], rate=50)
    np.testing.assert_array_equal(rec.stack(["Fx", "Fy"]), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_allclose(rec.clocks[0].times_s, [0, 0.02, 0.04])


@pytest.mark.parametrize("name", ["time", "Time (s)", "t [s]", "timestamp", "Timestamps", "time_s", "T", "Time stamp"])
def test_time_columns_are_found_by_usual_names(tmp_path, name):
    assert list(read(file(tmp_path, f"Fx,{name}\n1,0\n2,1\n"))) == ["Fx"]


def test_time_unit_in_the_name_dates_and_nanoseconds(tmp_path):
    ms = read(file(tmp_path, "time_ms,a\n0,1\n5,2\n"))
    date = read(file(tmp_path, "timestamp,a\n2024-10-29T15:02:33.000000001,1\n2024-10-29T15:02:33.005000001,2\n"))
    ns = read(file(tmp_path, "timestamp,a\n1730214153123456789,1\n1730214153128456789,2\n"))
    for rec in (ms, date, ns):
        np.testing.assert_allclose(rec.clocks[0].times_s, [0, 0.005], atol=1e-15)


def test_a_unit_alone_is_that_of_the_usual_column(tmp_path):
    for text in VARIANTS.values():
        times_s = read(file(tmp_path, text), time={"unit": "us"}).clocks[0].times_s
        np.testing.assert_allclose(times_s, [0, 1e-5, 2e-5])
    pl.DataFrame({"a": [1.0, 2.0], "timestamp": [2.0, 4.0]}).write_parquet(tmp_path / "a.parquet")
    np.testing.assert_allclose(
        read_parquet(tmp_path / "a.parquet", time={"unit": "ms"})["a"].clock.times_s, [2e-3, 4e-3]
    )


def test_a_name_that_stands_twice_is_numbered(tmp_path):
    assert list(read(file(tmp_path, "t,a,a,t\n0,1,2,3\n1,2,3,4\n"))) == ["a", "a#2", "t#2"]
    assert list(read(file(tmp_path, "t,a,a,a#2\n0,1,2,3\n1,2,3,4\n"))) == ["a", "a#2", "a#2#2"]


def test_of_two_columns_with_one_name_either_can_be_asked_for(tmp_path):
    path = file(tmp_path, "t,a [N],b,a [N]\n0,1,2,3\n1,2,3,4\n")
    rec = read(path, columns={"first": "a [N]#1", "second": "a [N]#2"})
    np.testing.assert_array_equal(rec.stack(["first", "second"]), [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-03-01T12:34:56.789+01:00", "2024-03-01T12:34:56.799+01:00"),
        ("2024-03-01 12:34:56.789-0530", "2024-03-01 12:34:56.799-0530"),
        ("2024-10-27T02:59:59.990+02:00", "2024-10-27T02:00:00+01:00"),  # the clocks go back
        ("2024-03-01T12:34:56,789Z", "2024-03-01T12:34:56,799Z"),
        ("01.03.2024 12:34:56.789", "01.03.2024 12:34:56.799"),
        ("12:34:56.789", "12:34:56.799"),
        ("12:34:56,789", "12:34:56,799"),
        ("23:59:59.995", "00:00:00.005"),
        ("34:56.789", "34:56.799"),
    ],
)
def test_date_stamps_are_counted_from_the_first(tmp_path, first, second):
    rec = read(file(tmp_path, f"Zeitstempel;a\n{first};1\n{second};2\n"))
    np.testing.assert_allclose(rec.clocks[0].times_s, [0, 0.01], atol=1e-12)


@pytest.mark.parametrize("head", ["t  a\n", "# t a\n"])
def test_blanks_may_set_columns_apart(tmp_path, head):
    rec = read(file(tmp_path, f"{head}  0.0   1.5\n  1e-2  -2 \n"))
    np.testing.assert_array_equal(rec["a"].samples, [1.5, -2])
    np.testing.assert_array_equal(rec.clocks[0].times_s, [0, 0.01])


def test_seconds_are_kept_as_stored(tmp_path):
    np.testing.assert_array_equal(read(file(tmp_path, "t,a\n5.5,1\n6.5,2\n")).clocks[0].times_s, [5.5, 6.5])


DAMAGED = {
    "empty": ("", {}, "the file is empty"),
    "blank lines": ("\n  \n", {}, "the file is empty"),
    "commas in numbers": ("t,a,b\n0,00,0,03,3,2\n0,01,0,04,3,3\n", {}, "line 2: .*commas are in the numbers.*points"),
    "header only": ("t,Fx\n", {}, "line 2: there are no data rows"),
    "no header": ("0,1\n1,2\n", {}, "line 1: the first line holds numbers.*header: .*--header"),
    "two headers": ("t,a\n0,1\n", {"header": ["t", "a"]}, "names its columns itself.*Leave header out"),
    "a name too few": ("0,1,2\n1,2,3\n", {"header": ["t", "a"]}, "header names 2 columns, the rows have 3"),
    "a name too many": ("t,a,b,c\n0,1,2\n1,2,3\n1,2,4\n", {}, "the header names 4 columns .*the rows have 3"),
    "one name twice": (
        "t,a,b,a\n0,1,2,3\n",
        {"columns": {"v": "a"}},
        "the column 'a' stands twice .columns 2 and 4.*write a#1",
    ),
    "times twice": ("t,a,t\n0,1,2\n", {"time": "t"}, "column 't' stands twice .columns 1 and 3"),
    "text in a cell": ("t,Fx\n0,1\n1,oops\n2,3\n", {}, r"line 3: column 2 \(Fx\): 'oops' is not a number"),
    "mapped text": ("t,Fx\n0,a\n1,b\n", {"columns": {"F": "Fx"}}, r"line 2: column 'Fx': 'a' is not a number"),
    "cut off": ("t,Fx,Fy\n0,1,2\n1,2", {}, "line 3: the row has 2 fields instead of 3.*cut off"),
    "time backwards": ("t,Fx\n0,1\n1,2\n0.5,3\n", {}, "line 4: time goes backwards"),
    "time missing": ("t,Fx\n0,1\n,2\n", {}, "line 3: the time is missing"),
    "no time": ("a,Fx\n0,1\n1,2\n", {}, r"no column looks like time \(a, Fx\).*option time.*option rate"),
    "two clocks": ("t,Fx\n0,1\n", {"time": "t", "rate": 5.0}, "both a time column and a rate"),
    "bad rate": ("t,Fx\n0,1\n", {"rate": 0.0}, "rate 0.0 Hz is not positive"),
    "no numbers": ("t,a\n0,x\n1,y\n", {}, "no column of numbers"),
    "two units": (
        "t,a [m],b [N],c [m]\n0,1,2,3\n",
        {"columns": {"v": ColumnSpec(("a", "b", "c"))}},
        "three of one unit",
    ),
    "bad unit": ("t,a\n0,1\n", {"columns": {"v": ColumnSpec("a", "furlong")}}, "'v': in the unit 'furlong'"),
    "vicon": ("Trajectories\n100\n,,A,,\n", {}, "it looks like vicon-csv. Read it with format='vicon-csv'"),
}


@pytest.mark.parametrize(("text", "options", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_named_with_file_and_line(tmp_path, text, options, message):
    with pytest.raises(FileProblem, match=r"table\.csv.*" + message):
        read(file(tmp_path, text), **options)


def test_a_column_that_does_not_exist_is_named_with_the_nearest(tmp_path):
    path = file(tmp_path, "t,force_x\n0,1\n1,2\n")
    with pytest.raises(UnknownName, match=r"table\.csv: there is no column 'forcex'. Did you mean 'force_x'"):
        read(path, columns={"Fx": "forcex"})
    with pytest.raises(UnknownName, match="no column 'clock'"):
        read(path, time="clock")
    with pytest.raises(UnknownName, match="no key 'units'"):
        read(path, columns={"Fx": {"column": "force_x", "units": "N"}})
    with pytest.raises(DataProblem, match="no column is named"):
        read(path, columns={"Fx": {"unit": "N"}})


numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=64), st.just(float("nan")))


@settings(max_examples=25, deadline=None)
@given(data=st.data(), parquet=st.booleans())
def test_round_trip_is_exact(tmp_path_factory, data, parquet):
    steps = data.draw(arrays(float, st.integers(1, 12), elements=st.floats(1e-6, 10)))
    clock = Clock("c", np.cumsum(steps))
    names = data.draw(
        st.lists(st.from_regex(r"[A-Za-z][\w.]{2,8}", fullmatch=True), min_size=1, max_size=4, unique=True)
    )
    names = [f"q{name}" for name in names]
    channels = {n: Channel(n, data.draw(arrays(float, len(clock), elements=numbers)), clock, "N m") for n in names}
    path = tmp_path_factory.mktemp("table") / "a"
    (write_parquet if parquet else write)(path, Recording(channels))
    again = (read_parquet if parquet else read)(path)
    assert list(again) == names
    np.testing.assert_array_equal(again.clocks[0].times_s, clock.times_s)
    for name in names:
        np.testing.assert_array_equal(again[name].samples, channels[name].samples)
        assert again[name].unit == "N m"


def test_vectors_become_three_columns(tmp_path):
    clock = Clock("c", np.arange(3.0))
    hook = Channel("hook", np.arange(9.0).reshape(3, 3), clock, "m")
    write(tmp_path / "a.csv", Recording({"hook": hook}))
    again = read(tmp_path / "a.csv", columns={"hook": ColumnSpec(("hook.x", "hook.y", "hook.z"))})
    np.testing.assert_array_equal(again["hook"].samples, hook.samples)


def test_parquet_with_dates_integers_and_words(tmp_path):
    path = tmp_path / "a.parquet"
    times = pl.Series([1_730_214_153_000_000_001, 1_730_214_153_002_000_001]).cast(pl.Datetime("ns"))
    pl.DataFrame({"time": times, "Fx [kN]": [1, 2], "who": ["a", "b"]}).write_parquet(path)
    rec = read_parquet(path)
    assert list(rec) == ["Fx"]
    np.testing.assert_array_equal(rec["Fx"].samples, [1000, 2000])
    np.testing.assert_allclose(rec.clocks[0].times_s, [0, 0.002], atol=1e-15)


def test_damaged_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"time": [0.0, 1.0], "Fx": [1.0, 2.0]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileProblem, match=r"a\.parquet: the file is damaged or cut off"):
        read_parquet(path)
    path.write_text("t,Fx\n0,1\n")
    with pytest.raises(FileProblem, match="not a parquet file; it looks like csv"):
        read_parquet(path)
    pl.DataFrame({"time": [0.0, None], "Fx": [1.0, 2.0]}).write_parquet(path)
    with pytest.raises(FileProblem, match="line 2: the time is missing"):
        read_parquet(path)


@pytest.mark.parametrize(
    ("unit", "factor", "name"),
    [
        ("mm", 1e-3, "m"),
        ("deg/s", np.pi / 180, "rad/s"),
        ("N.mm", 1e-3, "N m"),
        ("Nm", 1, "N m"),
        ("m/s²", 1, "m/s2"),
        ("°/s", np.pi / 180, "rad/s"),
        ("gn", 9.80665, "m/s2"),
        ("g", 1e-3, "kg"),
        ("kHz", None, ""),
        ("Hz", 1, "1/s"),
        ("lbf in", 0.112984829, "N m"),
        ("%", 0.01, "1"),
        ("", 1, "1"),
    ],
)
def test_units_of_headers(unit, factor, name):
    if factor is None:
        assert split_header(f"x [{unit}]") == (f"x [{unit}]", "")
        return
    got = to_si(unit)
    assert got[0] == pytest.approx(factor)
    assert got[1] == name


def test_g_means_gravity_at_an_accelerometer_and_gram_elsewhere():
    assert split_header("Accelerometer X (g)") == ("Accelerometer X", "gn")
    assert split_header("load (g)") == ("load", "g")
    assert split_header("Magnetometer X (uT)") == ("Magnetometer X", "uT")
    assert split_header("Temperature (degC)") == ("Temperature (degC)", "")
    assert split_header("plain") == ("plain", "")
