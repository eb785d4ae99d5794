"""The page and the tables of an inspection: what is on them, that it is true, and that it opens anywhere."""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from palpate.errors import FileProblem, MissingExtra
from palpate.experiment.file.reading import load_options, read_experiment, recordings_of
from palpate.experiment.inspection import Inspection, inspect_motion, inspect_recordings
from palpate.experiment.stage.capture import build_motion
from palpate.findings import Finding, Severity
from palpate.motion.cloud import Source
from palpate.recording import Channel, Clock, Recording, load
from palpate.report.inspection import inspection_sections, inspection_text, write_inspection
from palpate.report.page import Figure, Folded, Section, Words, _template, page_html, write_page
from palpate.report.plots import over_time, packed, thinned
from palpate.tables import Table
from palpate.twin import handle as twin
from tests.conftest import needs

graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed: pip install plotly")
LIMIT_BYTES = 4e6


# --- reading a page back ----------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Headings, tables as lists of rows, addresses and the number of scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._inside = tag
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag in ("h2", "h3"):
            self.headings.append("")
        elif tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data):
        if self._inside in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif self._inside in ("h2", "h3"):
            self.headings[-1] += data
        elif self._inside == "script":
            self.scripts[-1] += data

    def table(self, first: str) -> list[list[str]]:
        """The rows, without the heading, of the table whose first heading is this."""
        return next(rows[1:] for rows in self.tables if rows[0][0] == first)

    @property
    def figures(self) -> dict:
        text = next(script for script in self.scripts if script.startswith("const figures="))
        return json.JSONDecoder().raw_decode(text[text.index("{") :])[0]


def numbers(x) -> np.ndarray:
    """What Plotly will draw."""
    if isinstance(x, dict):
        found = np.frombuffer(base64.b64decode(x["bdata"]), dtype=x["dtype"]).astype(float)
        return found.reshape([int(n) for n in x["shape"].split(",")]) if "shape" in x else found
    return np.array([np.nan if v is None else v for v in x], dtype=float)


def walk(blocks, kind):
    """All blocks of a kind, those in folded parts too."""
    for block in blocks:
        if isinstance(block, kind):
            yield block
        elif isinstance(block, Folded):
            yield from walk(block.blocks, kind)


def figures_of(sections) -> dict[str, Figure]:
    return {figure.title: figure for section in sections for figure in walk(section.blocks, Figure)}


def trace(figure: Figure, name: str, axis: str = "y") -> tuple[np.ndarray, np.ndarray]:
    found = next(t for t in figure.data if t.get("name") == name and t.get("yaxis", "y") == axis)
    return numbers(found["x"]), numbers(found["y"])


# --- inspections ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def captured(tmp_path_factory) -> Inspection:
    """A short capture with a marker that moved, two exchanged ones, an IMU and a load cell."""
    folder = tmp_path_factory.mktemp("twin")
    path = twin.write_capture_twin(folder, seed=4, duration_s=16.0)
    experiment = read_experiment(path)
    parts = [recordings_of(experiment)[name] for name in ("mocap", "imu", "wrench")]
    recordings = [load(experiment.path(p.file), format=p.format, **load_options(p)) for p in parts]
    return inspect_motion("Short capture", recordings, build_motion(experiment))


@pytest.fixture(scope="module")
def page(captured, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "inspection.html"
    write_inspection(path, captured)
    return path


@pytest.fixture(scope="module")
def read(page) -> Reader:
    return Reader(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def figures(captured) -> dict[str, Figure]:
    return figures_of(inspection_sections(captured))


def plain_recording(name: str = "x", samples: int = 300, unit: str = "1") -> Recording:
    clock = Clock("plain", np.arange(samples) / 100)
    return Recording({name: Channel(name, np.sin(np.arange(samples) / 9), clock, unit)}, Path("plain.csv"), "csv")


# --- thinning ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 20_000), st.integers(10, 500))
def test_thinning_keeps_every_extreme(seed, samples, most):
    rng = np.random.default_rng(seed)
    t, y = np.arange(samples) / 100, rng.normal(size=samples)
    y[rng.integers(samples)] = 1e3  # a spike of one sample
    x, z = thinned(t, y, most)
    assert len(x) <= max(most + 4, min(samples, most))
    assert z.max() == 1e3
    assert z.min() == y.min()
    assert (np.diff(x) > 0).all()
    assert set(zip(x, z, strict=True)) <= set(zip(t, y, strict=True))
    assert (x[0], x[-1]) == (t[0], t[-1])


def test_a_short_curve_stays_as_it_is():
    t, y = np.arange(50) / 100, np.random.default_rng(0).normal(size=50)
    x, z = thinned(t, y, 100)
    np.testing.assert_array_equal(x, t)
    np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize("samples", [500, 50_000])
def test_gaps_break_the_line(samples):
    t = np.arange(samples) / 100
    y = np.sin(t)
    y[samples // 4 : samples // 2] = np.nan
    t[3 * samples // 4 :] += t[-1]  # no rows at all
    x, z = thinned(t, y, 400)
    assert np.isnan(z).sum() == 2
    at = np.flatnonzero(np.isnan(z))
    assert x[at[0] - 1] < t[samples // 4] <= t[samples // 2] <= x[at[0] + 1]
    assert x[at[1] - 1] < t[3 * samples // 4] <= x[at[1] + 1]


def test_hidden_moments_shorter_than_a_pixel_leave_the_line_whole():
    t = np.arange(100_000) / 100
    y = np.sin(t / 10)
    y[::7] = np.nan
    _, z = thinned(t, y, 1000)
    assert not np.isnan(z).any()


@given(st.lists(st.floats(-1e6, 1e6, width=32) | st.just(float("nan")), min_size=0, max_size=200))
def test_packed_numbers_come_back(values):
    x = np.array(values, dtype=float)
    np.testing.assert_array_equal(numbers(packed(x)), x)


def test_times_that_count_from_1970_are_read_from_zero():
    times = 1.7e9 + 0.5 + np.arange(100) / 100
    figure = over_time("t", "", times, {"a": {"a": times - times[0]}})
    assert numbers(figure.data[0]["x"])[0] == pytest.approx(0.5)
    assert figure.layout["xaxis"]["title"]["text"] == "time, s since 1700000000 s"


# --- the page itself --------------------------------------------------------------------------------------------------


def test_page_needs_no_other_file(read):
    assert read.addresses
    assert all(address.startswith("#") for address in read.addresses)
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(read.tags)


def test_style_fetches_nothing(page):
    style = re.search(r"<style>(.*?)</style>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import|@font-face|https?:", style[1])


def test_plotly_is_inside_once_and_the_page_stays_small(page, read):
    assert sum("plotly.js v" in script[:300] for script in read.scripts) == 1
    assert page.stat().st_size < LIMIT_BYTES


def test_every_figure_is_valid_and_labelled(read):
    assert len(read.figures) > 15
    for figure in read.figures.values():
        graph_objects.Figure(figure)  # raises for an unknown property
        axes = [v for k, v in figure["layout"].items() if k.startswith("xaxis")]
        axes += [v for k, v in figure["layout"].get("scene", {}).items() if k.endswith("axis")]
        assert axes
        assert all(axis["title"]["text"] for axis in axes)


def test_names_cannot_become_markup():
    name = "</script><script>alert(1)</script><b>"
    figure = Figure("f", "look", ({"type": "scatter", "x": [0], "y": [0], "name": name},), {"height": 100})
    read = Reader(
        page_html(name, [Section("s", (Words(name, "heading"), Words(name), Table((name,), ((name,),)), figure))])
    )
    assert read.figures["figure-1"]["data"][0]["name"] == name
    assert len(read.scripts) == 3
    assert "b" not in read.tags


def test_sections_without_blocks_are_left_out():
    text = page_html("t", [Section("full", (Words("x"),)), Section("empty", ())])
    assert Reader(text).headings == ["full"]


def test_page_without_figures_needs_no_scripts():
    assert "<script" not in page_html("t", [Section("s", (Words("x"),))])


def test_missing_jinja_is_named_and_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _template.cache_clear()
    with pytest.raises(MissingExtra, match=re.escape("pip install 'palpate[report]'")):
        write_inspection(tmp_path / "page.html", inspect_recordings([plain_recording()]))
    assert list(tmp_path.iterdir()) == []


def test_page_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    path = tmp_path / "page.html"
    write_page(path, "first", [])
    before = path.read_text(encoding="utf-8")

    def full(self, text, encoding):
        self.write_bytes(text[:10].encode(encoding))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(FileProblem, match="No space left"):
        write_page(path, "second", [])
    assert path.read_text(encoding="utf-8") == before
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


# --- what is on it ----------------------------------------------------------------------------------------------------


def test_sections_of_a_capture(captured, read):
    sections = [s.title for s in inspection_sections(captured) if s.blocks]
    expected = ["Findings", "Recordings", "Markers", "Clocks", "Vertical and placement", "Derivatives"]
    assert sections == expected
    assert [h for h in read.headings if h in (*expected, "Hinge", "Wheel")] == expected


def test_every_finding_is_on_the_page(captured, page):
    text = unescape(page.read_text(encoding="utf-8"))
    assert len(captured.findings) >= 2
    for finding in captured.findings:
        assert finding.sentence in text


def test_marker_numbers(captured, read):
    body = captured.body
    error = [1e3 * fit.alignment.error for fit in (body.raw, body.fit)]
    for i, row in enumerate(read.table("marker")):
        column = error[0][:, i]
        worst = int(np.nanargmax(column))
        expected = [f"M{i + 1}", f"{np.nanmean(column):.2f}", f"{column[worst]:.2f}", f"{worst / 100:.2f}"]
        expected += [f"{np.nanmean(error[1][:, i]):.2f}", f"{np.nanmax(error[1][:, i]):.2f}"]
        hidden = np.isnan(captured.recordings[0][f"M{i + 1}"].samples[:, 0]).mean()
        assert row[:7] == [*expected, f"{100 * hidden:.1f} %" if hidden else "-"]
        kinds = [f.kind for f in body.checked.faults if f"Handle:M{i + 1}" in f.names]
        assert row[7] == ", ".join(dict.fromkeys(kinds))


def test_gap_numbers(captured, read):
    tables = [t for t in read.tables if t[0][:2] == ["marker", "gaps"]]
    (rows,) = tables
    for name, gaps, _, *counts in rows[1:]:
        hidden = ~captured.body.fit.alignment.used[:, int(name[1]) - 1]
        assert int(gaps) == np.count_nonzero(np.diff(np.concatenate([[0], hidden.astype(int)])) == 1)
        assert sum(int(c) for c in counts) == hidden.sum()


def test_clock_numbers(captured, read):
    for row, name in zip(read.table("device"), ("imu", "wrench"), strict=True):
        clock, offset = captured.devices[name].clock, captured.devices[name].offset
        low, high = clock.interval_at(np.array(clock.at_s))
        assert float(row[1]) == pytest.approx(clock.offset_s, abs=6e-7)
        assert float(row[2]) == pytest.approx(1e3 * (high - low) / 2, abs=6e-4)
        assert row[4] == "not observable"
        assert row[6:] == [f"{100 * offset.explained:.2f} %", f"{100 * offset.runner_up:.0f} %", "estimated"]


def test_vertical_placement_and_bandwidth_numbers(captured, read):
    placement, bandwidth = captured.motion.placement, captured.motion.derivatives.bandwidth
    low, high = np.degrees(placement.tilt.interval_rad()).T
    x, y = read.table("vertical")
    assert x[1:] == [f"{np.degrees(placement.tilt.x_rad):+.3f}", f"{low[0]:+.3f} … {high[0]:+.3f}"]
    assert y[1:] == [f"{np.degrees(placement.tilt.y_rad):+.3f}", f"{low[1]:+.3f} … {high[1]:+.3f}"]
    lever = [float(row[1]) for row in read.table("sensor axis")]
    np.testing.assert_allclose(lever, 1e3 * placement.r_ab, atol=0.051)
    assert ["bandwidth for the balance", f"{bandwidth.bandwidth_hz:.2f} Hz"] in read.table("derivatives")


def test_channel_numbers(captured, read):
    rows = {row[0]: row for table in read.tables if table[0][0] == "channel" for row in table[1:]}
    hidden = max(captured.recordings[0].channels.values(), key=lambda c: c.missing)
    row, force = rows[hidden.name], captured.recordings[2]["Fx1_RawZero"].samples
    assert row[1] == "mm"
    assert float(row[4]) == pytest.approx(1e3 * np.nanmax(hidden.samples), rel=1e-4)
    assert row[2].startswith(f"{np.isnan(hidden.samples[:, 0]).sum()} (")
    assert hidden.missing
    assert float(rows["Fx1_RawZero"][3]) == pytest.approx(force.min(), rel=1e-4)
    assert float(rows["acceleration.x"][5]) == pytest.approx(0.006, rel=0.05)  # the twin's own noise


def test_figures_of_markers_show_the_errors(captured, figures):
    over_time = figures["Distance of the markers from their places"]
    for i in range(8):
        _, error = trace(over_time, f"M{i + 1}")
        assert np.nanmax(error) == pytest.approx(1e3 * np.nanmax(captured.body.raw.alignment.error[:, i]), rel=1e-6)
    swap = next(f for f in captured.body.checked.faults if f.kind == "swapped")
    shaded = [s for s in over_time.layout["shapes"] if s["type"] == "rect"]
    assert [(s["x0"], s["x1"]) for s in shaded] == [pytest.approx(swap.interval_s, abs=0.011)]


def test_timeline_shows_what_was_filled_and_exchanged(captured, figures):
    heat, *keys = figures["When each marker was visible"].data
    z, x = numbers(heat["z"]), numbers(heat["x"])
    names = [key["name"] for key in keys]
    assert names == ["visible", "moved, carried back", "label exchanged, corrected", "hidden, from the body"]
    hidden = captured.body.filled.source == Source.BODY
    assert z.shape == (8, len(x))
    np.testing.assert_allclose((z == 3).mean(axis=1), hidden.mean(axis=0), atol=0.02)
    swap = next(f for f in captured.body.checked.faults if f.kind == "swapped")
    row = heat["y"].index(swap.names[0].removeprefix("Handle:"))
    inside = (x > swap.interval_s[0] + 0.1) & (x < swap.interval_s[1] - 0.1)
    assert set(np.unique(z[row, inside])) <= {2, 3}


@pytest.mark.parametrize(
    ("title", "reference", "device"),
    [
        ("Angular speed by markers and gyroscope", "markers", "gyroscope"),
        ("Force .* and what the motion explains of it", "explained by the motion", "load cell"),
        ("Moment .* and what the motion explains of it", "explained by the motion", "load cell"),
    ],
)
def test_overlaid_signals_agree_only_once_aligned(figures, title, reference, device):
    figure = next(f for name, f in figures.items() if re.fullmatch(title + ": the liveliest seconds", name))
    shares = []
    for axis in ("y", "y2"):
        (t, y), (s, z) = trace(figure, reference, axis), trace(figure, device, axis)
        both = np.isfinite(y) & (t >= np.nanmin(s)) & (t <= np.nanmax(s))
        other = np.interp(t[both], s[np.isfinite(z)], z[np.isfinite(z)])
        shares.append(np.corrcoef(y[both], other)[0, 1])
    assert shares[1] > 0.99
    assert shares[0] < 0.9


@pytest.mark.parametrize(("name", "word"), [("imu", "IMU"), ("wrench", "load cell")])
def test_misfit_has_its_valley_at_the_offset(captured, figures, name, word):
    lags, share = trace(figures[f"Clock of the {word}"], "unexplained")
    assert abs(lags[share.argmin()]) < 0.05  # ms
    at_zero = float(share[np.flatnonzero(lags == 0)][0])
    assert at_zero == pytest.approx(100 * (1 - captured.devices[name].offset.explained), rel=1e-4)
    assert share[[0, -1]].min() > 10 * at_zero
    assert (np.diff(lags) > 0).all()
    assert len(lags) == len(captured.devices[name].offset.lags_s) + 1


# --- what may be missing ----------------------------------------------------------------------------------------------


def test_a_table_alone_has_findings_and_recordings_only():
    inspection = inspect_recordings([plain_recording()])
    assert [s.title for s in inspection_sections(inspection) if s.blocks] == ["Findings", "Recordings"]
    assert "Nothing unusual was noticed." in page_html("t", inspection_sections(inspection))


def test_imu_and_load_cell_without_markers(captured):
    inspection = inspect_recordings(captured.recordings[1:])
    assert inspection.reference == "imu"
    titles = [s.title for s in inspection_sections(inspection) if s.blocks]
    assert titles == ["Findings", "Recordings", "Clocks"]
    figures = figures_of(inspection_sections(inspection))
    assert any(name.startswith("Force") for name in figures)
    (rows,) = [
        b for s in inspection_sections(inspection) if s.title == "Clocks" for b in s.blocks if isinstance(b, Table)
    ]
    assert [row[0] for row in rows.rows] == ["load cell"]
    assert rows.note.startswith("Offset: IMU time minus")


def test_clocks_that_are_not_known_or_stated(captured):
    imu, wrench = captured.devices["imu"], captured.devices["wrench"]
    devices = {
        "imu": replace(imu, clock=None, offset=None),
        "wrench": replace(wrench, offset=None),
    }
    inspection = replace(captured, devices=devices, motion=None)
    clocks = next(s for s in inspection_sections(inspection) if s.title == "Clocks")
    table = clocks.blocks[0]
    assert isinstance(table, Table)
    assert table.rows[0][-1] == "not known, see the findings"
    assert table.rows[1][-1] == "stated"
    assert not any(title.startswith("Clock of") for title in figures_of([clocks]))


def test_many_findings_of_a_kind_stay_calm():
    findings = tuple(Finding("constant", f"channel {i} is dead", severity=Severity.FATAL) for i in range(19))
    inspection = Inspection("t", (plain_recording(),), (*findings, Finding("gaps", "a gap")), None, {}, "")
    text = page_html("t", inspection_sections(inspection))
    assert "Constant (19)" in text
    assert "14 more of this kind" in text
    assert all(f.sentence in text for f in findings)


# --- terminal ---------------------------------------------------------------------------------------------------------


def in_terminal(inspection: Inspection, width: int = 160) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(inspection_text(inspection))
    return console.export_text()


def test_terminal_shows_the_same_cells_and_ends_in_the_findings(captured, read):
    text = in_terminal(captured)
    for first in ("marker", "device", "vertical", "sensor axis", "frame", "derivatives"):
        for row in read.table(first):
            pattern = r"\s+".join(re.escape(cell) for cell in row if cell)
            assert re.search(pattern, text), row
    assert captured.findings[-1].sentence.split()[-1] in text.rstrip().splitlines()[-1]
    assert "Fx1_RawZero" not in text  # channels are printed elsewhere


def test_terminal_takes_brackets_for_what_they_are(captured):
    inspection = replace(captured, findings=(Finding("x", "channel [red] is [/bold] odd"),), motion=None)
    assert "channel [red] is [/bold] odd" in in_terminal(inspection)


def test_terminal_of_a_table_alone_is_empty():
    assert in_terminal(inspect_recordings([plain_recording()])).strip() == ""


# --- real recordings --------------------------------------------------------------------------------------------------

DOOR = """\
palpate: 1
title: Door
stage: motion
recordings:
  mocap: {{file: "{folder}/door_trajectories_excerpt.csv"}}
  static: {{file: "{folder}/door_static_excerpt.csv"}}
markers:
  body: [{names}]
  hinge: {{points: down}}
"""


@pytest.mark.real
def test_real_door(real_folder, tmp_path):
    moving = load(real_folder / "door_trajectories_excerpt.csv")
    body = [list(moving)[i - 1] for i in (*range(1, 11), 13, 14, 16, 17, 19, 20)]
    path = tmp_path / "door.yaml"
    names = ", ".join(f'"{name}"' for name in body)
    path.write_text(DOOR.format(folder=real_folder, names=names), encoding="utf-8")
    inspection = inspect_motion("Door", [moving], build_motion(read_experiment(path)))
    sections = inspection_sections(inspection)
    assert [s.title for s in sections if s.blocks] == ["Findings", "Recordings", "Markers", "Hinge"]
    markers = next(t for section in sections for t in walk(section.blocks, Table) if t.headings[0] == "marker")
    (worst,) = [row for row in markers.rows if row[-1] == "moved"]
    assert (worst[0], worst[2]) == ("WB_Frame9", "7.55")  # README: marker 19, 7.55 mm in the last group
    figure = figures_of(sections)["Angle, and motion off the hinge"]
    angle = numbers(figure.data[0]["y"])
    angle = angle[np.isfinite(angle)]
    assert len(angle) == 16
    np.testing.assert_allclose(angle[[4, 11, 15]] - angle[0], [56.09, 70.80, 41.17], atol=0.15)
    for found in figures_of(sections).values():
        graph_objects.Figure({"data": found.data, "layout": found.layout})


@pytest.mark.real
def test_real_box_lift_and_imu(real_folder):
    needs("ezc3d", "c3d")
    for name in ("pyomeca_box_lift/markers_analogs.c3d", "xio_imu/sensor_data.csv"):
        inspection = inspect_recordings([load(real_folder / name)])
        sections = inspection_sections(inspection)
        assert [s.title for s in sections if s.blocks] == ["Findings", "Recordings"]
        clocks, channels = [table for section in sections for table in walk(section.blocks, Table)]
        assert len(clocks.rows) == len(inspection.recordings[0].clocks)
        assert len(channels.rows) == len(inspection.recordings[0])
        for figure in figures_of(sections).values():
            graph_objects.Figure({"data": figure.data, "layout": figure.layout})


# --- a browser --------------------------------------------------------------------------------------------------------

MARKS = ".main-svg .js-line, .main-svg .point, .main-svg image, canvas"
"""Curves, bars, a picture or a canvas: something that is there beside the axes."""


def test_browser_draws_every_figure_without_an_error(page, browser):
    problems, opened = [], browser.new_page(viewport={"width": 900, "height": 700})
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(page.as_uri(), timeout=120_000)
    opened.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    marked = f"() => names.every(id => document.getElementById(id).querySelector({MARKS!r}))"
    opened.wait_for_function(marked, timeout=60_000)
    assert opened.evaluate("names.length") == len(Reader(page.read_text(encoding="utf-8")).figures)
    assert problems == []
    opened.close()
