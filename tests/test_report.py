"""The report of an identification, opened in a real browser: handle, door and wheelbarrow."""

from __future__ import annotations

import csv
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.errors import UnknownName
from palpate.experiment import read_experiment, run_experiment
from palpate.recording import load
from palpate.report import SECTIONS, without, write_figures, write_report, write_tables
from palpate.report.fit_plots import lagged
from palpate.report.identification import findings_table, report_sections, verdict_sentence
from palpate.report.inspection import markers_table
from palpate.report.page import Figure, Section, Words, figures_in
from palpate.report.paper import draw, escape_latex, numbers, symbol
from palpate.tables import Table
from tests.browser import violations
from tests.command import palpate
from tests.rolling_session import changed, write_session

graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed: pip install plotly")
SCREENSHOTS = Path(__file__).resolve().parents[1] / "build" / "screenshots"
LIMIT_BYTES = 4e6
EVIL = "</script><script>alert('x')</script><b>Door & handle"


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def handle(handle_result: Any) -> Any:
    """The README's handle, identified."""
    return handle_result


@pytest.fixture(scope="module")
def door(door_result: Any) -> Any:
    """The short door, identified."""
    return door_result


@pytest.fixture(scope="module")
def barrow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A short wheelbarrow session, identified; with a title that means harm, and with declared uncertainties."""
    folder = tmp_path_factory.mktemp("barrow")
    write_session(folder)
    title = ("object: wheelbarrow", f"title: {json.dumps(EVIL)}\nobject: wheelbarrow")
    declared = ("clocks: auto", "clocks: auto\nuncertain: {tilt: 0.3 deg, load_cell_scale: 1 %}")
    return run_experiment(read_experiment(changed(folder, title, declared)))


@pytest.fixture(scope="module")
def pages(handle: Any, door: Any, barrow: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    results = {"handle": handle, "door": door, "wheelbarrow": barrow}
    return {name: write_report(folder / f"{name}.html", result) for name, result in results.items()}


# --- a browser --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """A page in the browser, and what it complained about or asked for."""

    page: Any
    problems: list[str]
    requests: list[str]


DRAWN = """() => names.every(id => {
  const e = document.getElementById(id);
  return folded(e) || (e.dataset.drawn && (e._fullData || e.querySelector("canvas")));
})"""
UNREADABLE = """() => [...document.querySelectorAll("main :not(tspan), nav *")].filter(e => {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return own && e.offsetParent !== null && parseFloat(getComputedStyle(e).fontSize) < 10.5;
}).map(e => e.outerHTML.slice(0, 120))"""
EMPTY = """() => names.filter(id => {
  const e = document.getElementById(id);
  if (folded(e) || "scene" in figures[id].layout) return false;
  const any = t => [t.x, t.y, t.z].some(v => v && Array.from(v).some(Number.isFinite));
  return !(e._fullData && e._fullData.some(t => t.visible === true && any(t)));
})"""
NARROW = """() => names.every(id => {
  const e = document.getElementById(id);
  return folded(e) || (e._fullLayout || {width: e.clientWidth}).width <= 400;
})"""
WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[dict[str, Opened]]:
    """Each report once, 1600 pixels wide and light, with every figure drawn."""
    found: dict[str, Opened] = {}
    for name, path in pages.items():
        page = browser.new_page(viewport={"width": 1600, "height": 1000}, color_scheme="light")
        found[name] = Opened(page, [], [])
        page.on("console", lambda m, o=found[name]: o.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e, o=found[name]: o.problems.append(str(e)))
        page.on("request", lambda r, o=found[name]: o.requests.append(r.url))
        page.goto(path.as_uri(), timeout=120_000)
        page.wait_for_function(DRAWN, timeout=60_000)
    yield found
    for one in found.values():
        one.page.close()


def keep(page: Any, name: str) -> None:
    """A picture for people, who have to ask for it: it takes seconds, and no test looks at it."""
    if os.environ.get("PALPATE_SCREENSHOTS") == "1":
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"report-{name}.png", full_page=True)


@pytest.mark.parametrize("kind", ["handle", "door", "wheelbarrow"])
def test_browser_opens_it_offline_and_every_plot_has_data(opened, pages, kind):
    one = opened[kind]
    keep(one.page, f"{kind}-1600-light")
    assert one.page.evaluate(WIDE) <= 0
    assert one.page.evaluate(UNREADABLE) == []
    one.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    one.page.wait_for_function(DRAWN, timeout=60_000)
    assert one.page.evaluate("names.length") > 10
    assert one.page.evaluate(EMPTY) == []
    assert one.problems == []
    # modules are blobs of the page itself
    assert [url for url in one.requests if not url.startswith("blob:")] == [pages[kind].as_uri()]
    assert pages[kind].stat().st_size < LIMIT_BYTES
    one.page.evaluate("document.querySelectorAll('details:not(.fold)').forEach(d => { d.open = false; })")


def test_accessibility(opened):
    """A light page; of the same parts are a handle's, and a door's, which is looked at when dark."""
    assert violations(opened["wheelbarrow"].page) == []


def test_accessibility_of_a_dark_page(opened):
    page = opened["door"].page
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert page.evaluate("document.querySelector('.plot')._fullLayout.paper_bgcolor") == "#14171a"
    keep(page, "door-1600-dark")
    page.emulate_media(color_scheme="light")


ANGLE = "() => document.querySelector('.pushed').panel.feel.object.motion.state[0]"


def test_the_door_of_the_page_is_pushed_open_closes_and_is_replayed(opened):
    """By the keyboard alone, from disk: what was identified, with its intervals, beside what was measured."""
    page = opened["door"].page
    page.locator(".pushed").scroll_into_view_if_needed()
    page.wait_for_selector(".feel-view canvas")
    page.focus(".feel-view")
    page.keyboard.down("ArrowUp")
    page.wait_for_function(f"() => ({ANGLE})() > 0.5", timeout=30_000)
    page.keyboard.up("ArrowUp")
    page.wait_for_function(f"() => ({ANGLE})() < 0.1", timeout=60_000)
    page.focus(".feel-replay button")
    page.keyboard.press("Enter")
    page.wait_for_function("() => Number(document.querySelector('.feel-replay input').value) > 0.02", timeout=30_000)
    assert "measured" in page.inner_text(".feel-now")
    page.keyboard.press("Enter")
    assert violations(page) == []
    assert opened["door"].problems == []


def test_readable_on_400_pixels_and_reachable_by_keyboard(opened):
    page = opened["door"].page
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_function(NARROW, timeout=60_000)
    assert page.evaluate(WIDE) <= 0
    assert page.evaluate(UNREADABLE) == []
    keep(page, "door-400-light")
    wide = "[...document.querySelectorAll('.wide')].filter(w => w.checkVisibility() && w.scrollWidth > w.clientWidth)"
    assert page.evaluate(f"{wide}.map(w => w.ariaLabel)") == []  # tables are cards here: none is cut off
    assert page.evaluate("document.querySelectorAll('summary').length") >= 12
    assert page.evaluate("document.querySelectorAll('nav a').length") >= 10
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert (levels[0], levels.count(1), max(np.diff(levels))) == (1, 1, 1)
    assert page.evaluate("[...document.querySelectorAll('.plot')].every(p => p.ariaLabel.length > 20)")
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption.textContent)")


def test_prints_to_pages_of_paper(opened, tmp_path):
    page = opened["door"].page
    page.set_viewport_size({"width": 688, "height": 900})
    width = "document.querySelector('.plot')._fullLayout.width"
    page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.printed = {width}; }})")
    made = page.pdf(path=tmp_path / "report-door.pdf", prefer_css_page_size=True)
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", made)) <= 30
    assert page.evaluate("printed") == 680
    page.emulate_media(media="print")
    shown = "[...document.querySelectorAll('table')].filter(t => t.checkVisibility())"
    assert page.evaluate(f"Math.max(...{shown}.map(t => t.scrollWidth))") <= 688
    assert opened["door"].problems == []


def test_what_files_call_things_cannot_become_markup(opened):
    page = opened["wheelbarrow"].page
    assert page.title() == EVIL
    assert page.inner_text("h1") == EVIL
    assert page.evaluate("[...document.scripts].filter(s => s.type === '').length") == 4
    assert page.evaluate("[...document.scripts].every(s => !s.textContent.startsWith('alert'))")
    assert page.evaluate("document.querySelectorAll('main b, header b').length") == 0


def test_what_a_warning_says_cannot_become_markup(barrow, tmp_path):
    path = write_report(tmp_path / "r.html", {**barrow.data, "warnings": [f"a file says {EVIL}"]})
    text = path.read_text(encoding="utf-8")
    assert "a file says &lt;/script&gt;" in text
    assert "<b>Door" not in text


# --- sections ---------------------------------------------------------------------------------------------------------


def test_sections_of_each_stage(handle, door, barrow):
    always = ["Verdict", "Parameters", "Errors", "Over time", "Residuals", "Conditioning and prior", "Recordings"]
    always += ["Frames and wrenches", "Excitation", "Origin"]
    for result, more in (
        (handle, ["Clocks"]),
        (door, ["Markers", "Spring and damping", "Clocks"]),
        (barrow, ["Markers", "Clocks", "Replay"]),
    ):
        titles = [s.title for s in report_sections(result)]
        assert set(always + more) <= set(titles)


def test_every_figure_is_one_that_plotly_accepts(handle, door, barrow):
    for result in (handle, door, barrow):
        for figure in all_figures(result):
            graph_objects.Figure({"data": figure.data, "layout": figure.layout})
            assert figure.look_for.endswith(".")


def test_users_add_drop_and_reorder_sections(door, tmp_path):
    def grip(data, view):
        return Section("Grip", (Words(f"{len(view.times_s)} samples, {data['stage']}"),))

    path = write_report(tmp_path / "mine.html", door, sections={"grip": grip, **without("clocks", "residuals")})
    text = path.read_text(encoding="utf-8")
    assert text.index("<h2>Grip") < text.index("<h2>Verdict")
    assert "<h2>Clocks" not in text
    assert "<h2>Residuals" not in text
    assert next(iter(SECTIONS)) == "verdict"
    with pytest.raises(UnknownName, match="Did you mean 'clocks'"):
        without("clock")
    nothing = write_report(tmp_path / "none.html", door, sections={"none": lambda data, view: None})  # noqa: ARG005
    assert "<h2>" not in nothing.read_text(encoding="utf-8")


def test_a_result_file_alone_gives_the_tables(handle, tmp_path):
    data = json.loads(json.dumps(handle.data))
    text = write_report(tmp_path / "r.html", data).read_text(encoding="utf-8")
    assert "<h2>Parameters" in text
    assert "<h2>Over time" not in text


def all_figures(result) -> list[Figure]:
    return [f for s in report_sections(result) for f in figures_in(s.blocks)]


def figure_of(result, start: str) -> Figure:
    return next(f for f in all_figures(result) if f.title.startswith(start))


# --- what the sections say --------------------------------------------------------------------------------------------


def test_verdict_is_one_sentence(handle, door, barrow):
    said = verdict_sentence(door.data)
    percent = door.data["rms"]["test"]["n_z"]["percent_of_range"]
    status = {e["status"] for e in door.data["parameters"].values()}
    assert said.startswith("Passed: the model of the body explains unseen data to ")
    assert float(re.search(r"to ([\d.]+) %", said)[1]) == pytest.approx(percent, rel=0.05)
    assert ("all 10 parameters are identified" in said) == (status == {"identified"})
    assert "the handle" in verdict_sentence(handle.data)
    told = {"passed": False, "reasons": ["the two load cells are exchanged: swap wrench and wrench_2"]}
    failed = verdict_sentence({**barrow.data, "verdict": told})
    assert failed.startswith("Failed: ")
    assert "swap wrench and wrench_2" in failed


def test_findings_stand_with_their_place_and_remedy(door):
    """They are shown as data; a result without them shows its sentences as they are."""
    clock = {"cause": "clock", "place": "clocks", "evidence": "the clock is lost", "remedy": "state the samples"}
    doubt = {"cause": "slow", "place": "", "evidence": "there is no slow sweep", "remedy": "record one"}
    findings = [clock | {"severity": "fatal"}, doubt | {"severity": "warning"}]
    data = {**door.data, "findings": findings, "verdict": {"passed": False, "reasons": ["clocks: the clock is lost"]}}
    against, warnings = findings_table(data, fatal=True), findings_table(data, fatal=False)
    assert (against.title, warnings.title) == ("Why it failed", "Warning")
    assert against.headings == ("where", "what was noticed", "what helps")
    assert against.rows == (("clocks", "the clock is lost", "state the samples"),)
    assert (warnings.headings[0], warnings.rows) == ("what was noticed", (("there is no slow sweep", "record one"),))
    assert verdict_sentence(data).endswith("is not to be trusted: clocks: the clock is lost.")
    plain = {**data, "findings": [], "warnings": ["a; use b"]}
    assert findings_table(plain, fatal=False).rows == (("a; use b",),)
    assert "the clock is lost" in verdict_sentence(plain)


def test_parameter_table_has_each_kind_of_uncertainty(handle):
    section = next(s for s in report_sections(handle) if s.title == "Parameters")
    table = next(b for b in section.blocks if isinstance(b, Table))
    assert {"noise,\u00a0±", "pull,\u00a0±", "status"} <= set(table.headings)
    for row, entry in zip(table.rows, handle.data["parameters"].values(), strict=True):
        cells = dict(zip(table.headings, row, strict=True))
        digits = len(cells["value"].partition(".")[2])
        noise = handle.solution.uncertainty.critical * entry["noise"]  # as in the total
        assert cells["noise,\u00a0±"] == f"{noise:.{digits}f}"
        assert float(cells["pull,\u00a0±"]) == float(f"{1.96 * entry['pull']:.{digits}f}")
        assert cells["status"] == entry["status"]


def test_a_declared_systematic_error_is_shown_and_an_undeclared_one_is_unknown(handle, barrow):
    section = next(s for s in report_sections(barrow) if s.title == "Parameters")
    table = next(b for b in section.blocks if isinstance(b, Table))
    at = table.headings.index("systematic,\u00a0±")
    assert {row[0]: float(row[at].removeprefix("± ")) for row in table.rows} == pytest.approx(
        {n: 1.96 * e["systematic"] for n, e in barrow.data["parameters"].items()}, rel=0.1, abs=6e-4
    )
    drawn, undeclared = (figure_of(r, "What the intervals") for r in (barrow, handle))
    bars = next(t for t in drawn.data if t["name"] == "systematic")
    entry = barrow.data["parameters"]["Ixx"]
    share = dict(zip(bars["y"], numbers(bars["x"]), strict=True))["Ixx"]
    assert share == pytest.approx(196 * entry["systematic"] / entry["value"], rel=1e-5)
    assert "unknown" not in drawn.look_for
    assert "systematic" not in {t["name"] for t in undeclared.data}
    assert "Systematic is not declared (uncertain: in the experiment file): unknown, not zero." in undeclared.look_for


def test_handle_view_is_in_the_band_of_the_fit(handle):
    view = handle.view
    inside = view.within("test")
    for i, (name, entry) in enumerate(handle.data["rms"]["test"].items()):
        error = (view.reference - view.estimate)[inside, i]
        assert np.sqrt(np.mean(error**2)) == pytest.approx(entry["value"], rel=0.03), name
    assert (np.diff(view.times_s) > 0).all()


def test_handle_view_is_on_the_load_cells_clock(handle, handle_folder):
    file = handle.data["provenance"]["recordings"][0]["file"]
    recording = load(handle_folder / file)
    channel = recording[next(iter(recording))]
    alike = [
        abs(np.corrcoef(np.interp(handle.view.times_s + late, channel.clock.times_s, channel.samples), measured)[0, 1])
        for measured in [handle.view.reference[:, 0]]
        for late in (-0.01, 0.0, 0.01)
    ]
    assert alike[1] == max(alike) > 0.98


def test_forces_in_space_turn_the_door_as_measured(door, door_prepared):
    scene, view = door.view.scene, door.view
    hinge = scene.frames["hinge"]
    z, origin = hinge[:3, 2], hinge[:3, 3]
    path = scene.paths["path of the sensor"]
    away = path[np.isfinite(path).all(axis=1)] - origin
    radius = np.linalg.norm(away - np.outer(away @ z, z), axis=1)
    np.testing.assert_allclose(radius, np.hypot(*door.data["mechanism"]["sensors_m"][0][:2]), atol=0.005)
    force, moment = scene.arrows
    known = view.within("test") & np.isfinite(door_prepared.inputs.measured[0]).all(axis=1)
    known = np.flatnonzero(known & door_prepared.capture.body.poses.seen)
    some = known[np.linspace(0, len(known) - 1, len(force.at)).astype(int)]
    torque = (np.cross(force.at - origin, force.vectors) + moment.vectors) @ z
    np.testing.assert_allclose(torque, view.reference[some, 0], atol=0.05 * np.ptp(view.reference[known, 0]))


def test_instruments_and_markers_are_those_of_the_files(door, door_folder):
    section = next(s for s in report_sections(door) if s.title == "Recordings")
    clocks, channels = section.blocks
    cameras, cell = clocks.rows
    assert (cameras[0], cell[0]) == ("motion capture, Trajectories.csv", "load cell, wrench.mat")
    assert (round(float(cameras[2])), round(float(cell[2]))) == (100, 1000)
    force = next(iter(load(door_folder / "wrench.mat").channels.values())).samples
    first = channels.blocks[0].rows[0]
    assert [float(x) for x in first[3:5]] == pytest.approx([force.min(), force.max()], rel=1e-3)
    rows = markers_table(door.view.body).rows
    assert len(rows) == 16
    assert all(0 < float(row[1]) < 2 for row in rows)


def test_replay_of_several_coordinates(barrow):
    section = next(s for s in report_sections(barrow) if s.title == "Replay")
    table, figure = section.blocks
    shown = {"m": (1e3, "mm"), "rad": (180 / np.pi, "deg")}
    for row, (name, entry) in zip(table.rows, barrow.data["replay"]["coordinates"].items(), strict=True):
        factor, unit = shown[entry["unit"]]
        assert (row[0], row[2]) == (name, unit)
        assert float(row[1]) == pytest.approx(factor * entry["value"], rel=0.01)
    windows = barrow.view.replay
    assert {"yaw", "camber", "pitch"} <= {c.name for c in windows[0].tracks}
    for i, (letter, first) in enumerate(zip("abcdefg", windows[0].tracks, strict=False)):
        number = i + 1 if i else ""
        factor = 180 / np.pi if first.unit == "rad" else 1.0
        assert figure.layout[f"yaxis{number}"]["title"]["text"].startswith(f"({letter}) {first.name}, ")
        simulated = next(t for t in figure.data if t["name"] == "simulated" and t["yaxis"] == f"y{number}")
        drawn = numbers(simulated["y"])
        whole = np.concatenate([w.tracks[i].simulated for w in windows])
        seen = drawn[np.isfinite(drawn)]
        np.testing.assert_allclose(seen, factor * whole[: len(seen)], rtol=1e-6, atol=1e-6)


def test_residuals_of_what_rolls_are_drawn_against_its_accelerations(barrow):
    """The slope of the forward speed is what a cart is accelerated with: on a circle it is not that of the speed."""
    titles = [f.title for f in all_figures(barrow)]
    for name in ("forward acceleration", "yaw acceleration", "pitch acceleration", "pitch", "camber speed"):
        assert f"Residual against {name}" in titles
    assert not any(f"Residual against {name}" in titles for name in ("x", "y", "x speed", "forward"))
    ahead = next(c for c in barrow.view.coordinates if c.name == "forward")
    x, y, yaw = (next(c for c in barrow.view.coordinates if c.name == n) for n in ("x", "y", "yaw"))
    path = np.hypot(np.gradient(x.position, barrow.view.times_s), np.gradient(y.position, barrow.view.times_s))
    known = np.isfinite(ahead.speed) & np.isfinite(path)
    assert np.corrcoef(np.abs(ahead.speed[known]), path[known])[0, 1] > 0.95
    assert np.nanmax(np.abs(yaw.speed)) < 5.0


def test_what_a_hinge_holds_least_is_told(door):
    """A change along it alters the residuals less than any other of the same size in torques."""
    told, text = door.data["weakest_direction"], page_text(door)
    assert f"Weakest direction: {told['text']}." in text
    assert "trade off" in told["text"]
    assert "to know it better, " in told["text"]
    R = door.solution.problem.R[:, :-1]
    size = np.linalg.norm(R, axis=0)
    change = np.array([told["changes"][n] for n in door.data["parameters"]])
    assert np.linalg.norm(R @ change) == pytest.approx(door.solution.uncertainty.level, rel=1e-6)
    other = np.random.default_rng(1).normal(size=(200, len(change))) / size
    other *= np.linalg.norm(size * change) / np.linalg.norm(size * other, axis=1)[:, None]
    assert np.linalg.norm(R @ other.T, axis=0).min() > np.linalg.norm(R @ change)


def page_text(result) -> str:
    return " ".join(b.text for s in report_sections(result) for b in s.blocks if isinstance(b, Words))


def test_cross_validated_errors_are_of_the_train_segments_range(door):
    section = next(s for s in report_sections(door) if s.title == "Errors")
    row = dict(zip(section.blocks[0].headings, section.blocks[0].rows[0], strict=True))
    rms = {n: door.data["rms"][n]["n_z"] for n in ("train", "cross_validated")}
    share = rms["train"]["percent_of_range"] * rms["cross_validated"]["value"] / rms["train"]["value"]
    cells = section.blocks[0].rows[0]
    assert float(row["cross-validated"]) == pytest.approx(rms["cross_validated"]["value"], rel=0.01)
    assert float(cells[6].split()[0]) == pytest.approx(share, abs=0.006)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.0, 0.9))
def test_autocorrelation_is_that_of_the_process(seed, memory):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=6000)
    x = np.zeros(6000)
    for i in range(1, 6000):
        x[i] = memory * x[i - 1] + noise[i]
    times, seen = np.arange(6000) * 0.01, np.ones(6000, dtype=bool)
    times[3000:] += 5.0
    seen[1000:1300] = False
    direct = np.array([np.mean(x[: 6000 - k] * x[k:]) for k in range(6)]) / np.mean(x**2)
    noisy = np.where(seen, x, 1e6)
    r = lagged(noisy, noisy, seen, times, 5)
    assert r[0] == pytest.approx(1.0)
    np.testing.assert_allclose(r, direct, atol=0.12)
    np.testing.assert_allclose(r, memory ** np.arange(6), atol=0.2)
    assert np.argmax(lagged(np.roll(noise, 4), noise, np.ones(6000, dtype=bool), times, 5)) == 4


def test_pairs_across_a_gap_do_not_count():
    x, times = np.tile([1.0, -1.0], 50), np.arange(100) * 1.0
    times[50:] += 0.9  # no gap yet
    assert lagged(x, x, np.ones(100, dtype=bool), times, 1)[1] == pytest.approx(-1.0)
    x[50:] *= -1  # would spoil one pair, if it counted
    times[50:] += 10.0
    assert lagged(x, x, np.ones(100, dtype=bool), times, 1)[1] == pytest.approx(-1.0)


# --- papers -----------------------------------------------------------------------------------------------------------


def test_figures_for_papers_show_the_pages_data(door, tmp_path):
    figure = figure_of(door, "Test segment")
    drawn, _ = draw(figure)
    lines = {line.get_label(): line for ax in drawn.axes for line in ax.get_lines()}
    for name in ("measured", "estimated"):
        source = next(t for t in figure.data if t["name"] == name)
        np.testing.assert_array_equal(lines[name].get_ydata(), numbers(source["y"]))
    assert [ax.get_ylabel() for ax in drawn.axes][1] == "(b) torque n_z, N m"
    few = {name: SECTIONS[name] for name in ("parameters", "replay", "frames", "excitation")}
    for kind in ("svg", "pdf"):
        paths = write_figures(tmp_path / kind, door, format=kind, sections=few)
        assert len(paths) >= 3
        assert all(p.suffix == f".{kind}" and p.stat().st_size > 2000 for p in paths)
    svg = (tmp_path / "svg").glob("*.svg")
    assert all(ElementTree.parse(p).getroot().tag.endswith("svg") for p in svg)
    assert all(p.read_bytes().startswith(b"%PDF") for p in (tmp_path / "pdf").iterdir())
    before = {p: p.read_bytes() for p in (tmp_path / "svg").iterdir()}
    write_figures(tmp_path / "svg", door, format="svg", sections=few)
    assert before == {p: p.read_bytes() for p in (tmp_path / "svg").iterdir()}


def test_every_kind_of_figure_can_be_drawn_for_a_paper(handle, barrow):
    kinds = ("Three kinds", "Test segment", "Correlation of the residual", "Distribution", "Frames", "The prior")
    for result in (handle, barrow):
        for figure in all_figures(result):
            if figure.title.startswith(kinds):
                assert draw(figure)[0].axes, figure.title


def test_tables_have_all_digits_as_csv_and_rounded_ones_as_latex(door, tmp_path):
    write_tables(tmp_path, door, format="csv")
    with (tmp_path / "parameters.csv").open(newline="") as file:
        rows = {row["parameter"]: row for row in csv.DictReader(file)}
    for name, entry in door.data["parameters"].items():
        assert float(rows[name]["value"]) == entry["value"]
        assert [float(rows[name][k]) for k in ("ci95_low", "ci95_high")] == entry["ci95"]
        assert rows[name]["status"] == entry["status"]
    write_tables(tmp_path, door, format="latex")
    text = (tmp_path / "parameters.tex").read_text(encoding="utf-8")
    assert r"\begin{tabular}" in text
    assert r"$b_{\mathrm{v}}$" in text
    assert text.count(r"\\") == 1 + len(rows)
    with pytest.raises(UnknownName, match="csv, latex"):
        write_tables(tmp_path, door, format="word")


@pytest.mark.parametrize(
    ("name", "written"),
    [("I", "$I$"), ("Ixy", "$I_{xy}$"), ("c_x", "$c_{x}$"), ("b_psi", r"$b_\psi$"), ("bias_f_x", r"bias\_f\_x")],
)
def test_names_become_symbols(name, written):
    assert symbol(name) == written


@settings(max_examples=30)
@given(st.text(max_size=40))
def test_latex_is_never_given_a_command(text):
    assert not re.search(r"(?<!\\)[%&#_](?!\$)", re.sub(r"\\text[a-z]+\{\}", "", escape_latex(text.replace("$", ""))))


# --- the command ------------------------------------------------------------------------------------------------------


def test_identify_writes_report_figures_and_tables(door, door_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("palpate.experiment.run_experiment", lambda *_: door)
    out = tmp_path / "out"
    done = palpate(
        "identify", door_folder / "body.yaml", "-o", out, "--tables", "latex", "--without-section", "markers"
    )
    assert done.returncode in (0, 3), done.stderr
    assert {p.name for p in out.iterdir()} >= {"result.json", "report.html", "tables"}
    assert "<h2>Verdict" in (out / "report.html").read_text(encoding="utf-8")
    assert str(out / "report.html") in done.stdout


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--figures", "png", "pdf, svg"), ("--tables", "xlsx", "csv, latex"), ("--without-section", "clock", "clocks")],
)
def test_what_does_not_exist_is_refused_before_anything_is_read(tmp_path, option, value, said):
    done = palpate("identify", tmp_path / "none.yaml", option, value)
    assert done.returncode == 1
    assert said in done.stderr
