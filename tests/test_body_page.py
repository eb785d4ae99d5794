"""The report page of a body: what is on it, that its curves are the model's, and that it opens anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from palpate.elements import Coulomb, Hysteresis, PolynomialSpring, RigidBody, ScalarInertia, Stribeck, Viscous
from palpate.experiment.stage.view import CoordinateSeries, View
from palpate.experiment.tables import PARTS, half_width, notes, shape_table
from palpate.identify.shapes import Profile
from palpate.mechanisms import Free, Hinge, Slide
from palpate.mechanisms.mechanism import Row
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray, runs
from palpate.physics.functions import ARRAYS
from palpate.report import parameter_table, rms_table
from palpate.report.identification import SECTIONS, parameters_in_words, report_sections, without, write_report
from palpate.report.model_plots import damping, dry_force, medians
from palpate.report.page import Words
from palpate.runtime.replay import Track, Window
from palpate.tables import Table
from tests.oracles import door_ode
from tests.test_inspection_page import Reader, figures_of, numbers, trace, walk

graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed: pip install plotly")
HOLDING = "Spring and dry friction over the travel"
PAPER = [6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70]
SEGMENTS = {
    "static": ((0.5, 4.5),),
    "quasi_static": ((5.0, 65.0),),
    "train": ((66.0, 100.0), (130.0, 150.0)),
    "test": ((101.0, 129.0),),
}


# --- a door and its data ----------------------------------------------------------------------------------------------


def paper_door() -> Model:
    return load_object("door").with_values(PAPER)


def swept(times_s: np.ndarray) -> np.ndarray:
    """A hinge angle: shut until 5 s, then in steps to 80 deg and back until 65 s, then swung."""
    up = np.clip((times_s - 5.0) / 1.4, 0.0, 20.0)
    down = np.clip((times_s - 35.0) / 1.4, 0.0, 20.0)
    steps = sum(
        sign * (np.floor(n) + 0.5 - 0.5 * np.cos(np.pi * np.minimum(1.0, 1.8 * (n % 1))))
        for sign, n in ((1, up), (-1, down))
    )
    swing = 0.72 * (1 - np.cos(1.3 * (times_s - 65.0) + 1.2 * np.sin(0.37 * (times_s - 65.0))))
    return np.where(times_s < 65.0, np.radians(4.0) * steps, np.maximum(swing, 0.0))


def door_view(model: Model | None = None, seed: int = 1, noise: float = 0.4) -> View:
    """What the stage would fill in: the model's own force, noise, and any force within dry friction at rest."""
    model = paper_door() if model is None else model
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 150.0, 0.01)
    angle = swept(t)
    speed = np.gradient(angle, t)
    k = model.mechanism.observe(
        model.mechanism.motion(t, np.stack([angle, speed], axis=1), np.gradient(speed, t)[:, None])
    )
    estimate = np.column_stack(np.broadcast_arrays(*model.wrench(k, ARRAYS))).reshape(len(t), -1)
    resting = (np.abs(speed) < 1e-3) & (np.abs(np.gradient(speed, t)) < 0.01)
    held = np.zeros(len(t))
    for a, b in runs(resting):
        held[a:b] = rng.uniform(-0.9, 0.9) + rng.uniform(-0.1, 0.1) * np.linspace(-1, 1, b - a)
    truth = np.where(resting, model.along(angle) + held * dry_force(model, angle), estimate[:, 0])
    truth[t < 5.0] = 0.0  # the frame holds the door
    reference = truth + 0.15 * np.sin(6 * angle) + noise * rng.normal(size=len(t))
    windows = []
    for start in range(66, 126, 10):
        i = slice(100 * start, 100 * (start + 10))
        apart = np.radians(rng.uniform(0.5, 4)) * np.linspace(0, 1, 1000) ** 2
        error = float(np.sqrt(np.mean(apart**2)))
        windows.append(window_of(t[i], Track("angle", "rad", angle[i], angle[i] + apart, error, float(np.ptp(angle)))))
    return View(
        model,
        t,
        reference[:, None],
        estimate,
        ~resting,
        resting,
        SEGMENTS,
        (CoordinateSeries("hinge", "rad", angle, speed),),
        profiles=door_profiles(),
        replay=tuple(windows),
    )


def window_of(times_s: FloatArray, track: Track) -> Window:
    return Window(float(times_s[0]), times_s, (track,), track.unit)


def profile_of(
    name: str, values: FloatArray, costs: FloatArray, value: float, interval: tuple[float, float] | None
) -> Profile:
    limits = (float(values[0]), float(values[-1]))
    return Profile(name, "rad", value, limits, values, costs, interval or limits, interval, (), "")


def door_profiles() -> tuple[Profile, ...]:
    def valley(name: str, low: float, high: float, at: float, depth: float) -> Profile:
        x = np.radians(np.linspace(low, high, 41))
        cost = depth * (1 - np.exp(-(((x - np.radians(at)) / 0.1) ** 2)))
        sure = None if depth < 1 else (np.radians(at - 1.3), np.radians(at + 1.1))
        return profile_of(name, x, cost, float(np.radians(at)), sure)

    return (
        valley("b_bc.above", 50, 80, 69, 30.0),
        valley("b_bc.width", 0.5, 12, 2, 0.4),
        valley("b_s.above", 8, 45, 25, 60.0),
        valley("b_s.width", 0.5, 12, 2, 3.0),
    )


def door_data(model: Model, rows: tuple[Row, ...] | None = None, *, passed: bool = False) -> dict:
    """The content of a result.json."""
    rng = np.random.default_rng(3)
    parameters = {}
    for name, p in model.parameters.items():
        value = model.values[name]
        half = abs(value) * rng.uniform(0.01, 0.1) + 1e-3
        status = "not-identifiable" if name == "b_l" else "identified"
        parameters[name] = {
            "value": None if name == "b_l" else value,
            "unit": p.unit,
            "ci95": None if name == "b_l" else [value - half, value + half],
            "systematic": 0.0,
            "prior": None,
            "information_from_data": 0.2 if name == "b_l" else 1.0,
            "status": status,
        }
    rows = model.mechanism.rows if rows is None else rows
    rms = {r.name: {"value": 0.43, "unit": r.unit, "percent_of_range": 1.83, "noise": 0.1} for r in rows}
    why = [] if passed else ["b_l is not identifiable: the door was never closed below 25 deg <fast>"]
    return {
        "palpate_result": 2,
        "title": "Simulated door 3",
        "stage": "body",
        "model_of": "body",
        "parameters": parameters,
        "shapes": {
            "b_bc.width": {"value": 0.035, "unit": "rad", "ci95": None, "status": "not-identifiable"},
            "b_s.above": {"value": 0.436, "unit": "rad", "ci95": [0.414, 0.456], "status": "identified"},
        },
        "references": {"truth": {name: 1.01 * v for name, v in model.values.items()}},
        "rms": {"train": rms, "test": rms, "cross_validated": rms},
        "rms_below_hz": None,
        "kappa": 15.04,
        "kappa_eff": None,
        "damping": 0.0,
        "weakest_direction": {"text": "b_v and b_s together"},
        "verdict": {"passed": passed, "reasons": why},
        "warnings": ["the width of b_bc is not in the data", "door shut for 4 s only"],
        "provenance": {
            "experiment": {"file": "door.yaml", "sha256": "ab" * 32},
            "recordings": [{"file": "Trajectories.csv", "sha256": "cd" * 32}],
        },
    }


@dataclass(frozen=True, slots=True)
class Barrow(Free):
    """Several rows and no coordinate: what a wheelbarrow's mechanism looks like to a report."""

    rows: ClassVar[tuple[Row, ...]] = (Row("n_x", "N m"), Row("n_y", "N m"), Row("n_z", "N m"), Row("f_x", "N"))


@dataclass(frozen=True, slots=True)
class Drawer(Slide):
    """One coordinate in m and one row in N, with words of its own."""

    way: ClassVar[tuple[str, str]] = ("pulling", "pushing")


def drawer_view() -> View:
    elements = (ScalarInertia(acts_on="slide"), Viscous(acts_on="slide"), Coulomb(acts_on="slide"))
    model = Model("drawer", Drawer(), elements, {"I": 6.0, "b_v": 4.0, "b_c": 3.0})
    t = np.arange(0.0, 40.0, 0.01)
    x, v, a = 0.2 * (1 - np.cos(t)), 0.2 * np.sin(t), 0.2 * np.cos(t)
    estimate = np.asarray(model.wrench(model.mechanism.expand((x, v), (a,), ARRAYS), ARRAYS)).reshape(-1, 1)
    reference = estimate + 0.1 * np.random.default_rng(0).normal(size=estimate.shape)
    moving = np.abs(v) > 1e-3
    window = window_of(t[:1000], Track("position", "m", x[:1000], x[:1000] + 1e-3, 1e-3, float(np.ptp(x))))
    segments = {"train": ((1.0, 20.0),), "test": ((21.0, 39.0),)}
    coordinate = CoordinateSeries("slide", "m", x, v, a)
    return View(model, t, reference, estimate, moving, ~moving, segments, (coordinate,), replay=(window,))


def barrow_view() -> View:
    body = dict.fromkeys(("Ixy", "Ixz", "Iyz"), 0.0) | {"m": 45.0, "mx": 0.0, "my": 0.0, "mz": 0.0}
    values = {n: body.get(n, 4.0 if n.startswith("I") else 0.0) for n in (p.name for p in RigidBody().parameters)}
    model = Model("wheelbarrow", Barrow(), (RigidBody(),), values)
    t = np.arange(0.0, 40.0, 0.01)
    estimate = np.column_stack([a * np.sin(w * t) for a, w in ((40, 2), (60, 1.3), (20, 3), (80, 0.8))])
    reference = estimate + np.random.default_rng(0).normal(size=estimate.shape) * [2, 3, 1, 4]
    segments = {"train": ((1.0, 20.0),), "test": ((21.0, 39.0),)}
    nowhere = np.zeros(len(t), dtype=bool)
    return View(model, t, reference, estimate, ~nowhere, nowhere, segments)


@pytest.fixture(scope="module")
def view() -> View:
    return door_view()


@pytest.fixture(scope="module")
def sections(view):
    return body_sections(door_data(view.model), view)


@pytest.fixture(scope="module")
def figures(sections):
    return figures_of(sections)


@pytest.fixture(scope="module")
def page(view, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, SimpleNamespace(data=door_data(view.model), view=view))
    return path


def body_sections(data, view):
    """All sections of a result with these parts, but that in which it is pushed: mechanisms here only look like one."""
    return report_sections(SimpleNamespace(data=data, view=view), without("feel"))


def titles_of(sections) -> list[str]:
    return [s.title for s in sections if s.blocks]


# --- the model over its coordinate ------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_curves_are_those_of_the_papers_equations(seed):
    rng = np.random.default_rng(seed)
    p = np.array(PAPER) * rng.uniform(0.6, 1.6, size=10)
    I, b_v, b_c, b_bc, b_s, b_l, *c = p.tolist()
    model = load_object("door").with_values(p)
    oracle = door_ode.Door(I=I, b_v=b_v, b_c=b_c, b_bc=b_bc, b_s=b_s, b_l=b_l, c=tuple(c))
    angle = rng.uniform(0.02, 1.6, size=3)
    held = [-I * door_ode.acceleration(oracle, float(q), 0.0, 0.0) for q in angle]
    np.testing.assert_allclose(model.along(angle), held, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dry_force(model, angle), b_c)
    for speed in (0.3, -0.3):
        a, b = (
            np.array([door_ode.acceleration(oracle, float(q), speed + h, 0.0) for q in angle]) for h in (1e-4, -1e-4)
        )
        np.testing.assert_allclose(damping(model, angle, speed), -I * (a - b) / 2e-4, rtol=1e-6)


def test_dry_friction_of_all_kinds_adds_up_through_the_linkage():
    door = load_object("door")
    level = Hysteresis(acts_on="closer", knots=(0.0, 3.0))
    elements = (ScalarInertia(), Coulomb(), Stribeck(v_s=0.1), level)
    model = Model("rough", door.mechanism, elements, {"I": 5.0, "b_c": 1.0, "b_st": 0.5, "h_0": 2.0, "h_1": 4.0})
    angle = np.linspace(0.1, 1.4, 7)
    k = model.mechanism.expand((angle, 0.0 * angle), (0.0 * angle,), ARRAYS)
    phi, nu = k.coordinates["closer"].position, np.abs(k.coordinates["closer"].ratio[0])
    inside = np.clip(phi / 3.0, 0, 1)
    for speed, share in ((0.0, 1.0), (0.1, np.exp(-1))):
        expected = 1.0 + 0.5 * share + nu * (2.0 + 2.0 * inside)
        np.testing.assert_allclose(dry_force(model, angle, speed), expected)
    np.testing.assert_allclose(model.along(angle), 0.0)
    np.testing.assert_allclose(damping(model, angle, 0.3), 0.0)  # dry friction is none, though it takes energy


def test_borders_are_those_of_zones_with_their_intervals(view, figures):
    bands = [s for s in figures["Damping at 0.3 rad/s"].layout["shapes"] if s["type"] == "rect"]
    np.testing.assert_allclose([[s["x0"], s["x1"]] for s in bands], [[23.7, 26.1], [67.7, 70.1]])
    unknown = replace(view, profiles=(replace(view.profiles[0], interval=None),))
    flat = figures_of(body_sections(door_data(view.model), unknown))["Damping at 0.3 rad/s"]
    assert [a["text"] for a in flat.layout["annotations"]] == [
        "b_s above 25.0 deg",
        "b_bc above 69.0 deg, not in the data",
    ]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(100, 3000))
def test_running_median_follows_a_curve_and_not_its_outliers(seed, samples):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, samples)
    y = 3 * x
    y[: samples // 5] += 1e3 * rng.random(samples // 5)
    at, (middle, beside) = (z.T for z in medians(x, np.column_stack([y, -y]), bins=5, fewest=10))
    known = np.isfinite(middle)
    np.testing.assert_array_equal(beside, -middle)
    assert known.sum() >= 4
    assert np.abs(middle - 3 * at)[known].max() < 1.5


# --- what is on the page ----------------------------------------------------------------------------------------------


def test_sections_of_a_door(sections):
    expected = ["Verdict", "Parameters", "Errors", "Over time", "Spring and damping", "Shapes", "Replay", "Residuals"]
    assert titles_of(sections) == [*expected, "Conditioning and prior", "Excitation", "Origin"]


def test_every_figure_is_one_that_plotly_accepts(figures):
    for figure in figures.values():
        graph_objects.Figure({"data": figure.data, "layout": figure.layout})
        assert figure.look_for.endswith(".")


def test_verdict_and_warnings_come_first(view, page):
    text = page.read_text(encoding="utf-8")
    reason = "the door was never closed below 25 deg &lt;fast&gt;"
    places = [text.index(part) for part in ("Failed", reason, "door shut for 4 s only", "<h2>Parameters")]
    assert places == sorted(places)
    passed = body_sections(door_data(view.model, passed=True), view)[0]
    assert passed.blocks[0].text.startswith("Passed")


def test_tables_show_the_terminals_digits(view, page):
    data, read = door_data(view.model), Reader(page.read_text(encoding="utf-8"))
    console = Console(width=200, record=True, file=StringIO())
    console.print(parameter_table(data), rms_table(data), shape_table(data))
    text = console.export_text()
    rows = [*read.table("parameter"), *read.table("RMS error"), *read.table("shape")]
    assert len(rows) == 13
    for row in [*read.table("parameter"), *read.table("shape")]:
        line = next(found for found in text.splitlines() if found.startswith(f"{row[0]} "))
        assert re.split(r"  +", line.strip()) == row
    assert read.table("parameter")[0][:4] == ["I", "6.53", rows[0][2], "kg m²"]
    errors = read.table("RMS error")[0]
    assert errors == ["n_z", "0.43", "1.83 %", "0.43", "1.83 %", "0.43", "1.83 %", "0.1", "N m"]
    assert re.search(r"\s+".join(re.escape(cell) for cell in errors), text)


def test_what_the_data_do_not_tell_is_marked(sections):
    tables = walk(next(s for s in sections if s.title == "Parameters").blocks, Table)
    for table, doubtful, cell in zip(tables, ("b_l", "b_bc.width"), (1, 2), strict=True):
        assert [table.rows[i][0] for i in table.marked] == [doubtful]
        assert table.rows[table.marked[0]][cell] == "-"


def test_page_needs_no_network(page):
    read = Reader(page.read_text(encoding="utf-8"))
    assert all(address.startswith("#") for address in read.addresses)
    assert page.stat().st_size < 8e6


# --- over time --------------------------------------------------------------------------------------------------------


def test_test_segment_as_in_the_paper(view, figures):
    figure = figures["Test segment, 101 to 129 s"]
    inside = view.within("test")
    (t, angle), (_, y), (_, y_hat) = (
        trace(figure, "hinge"),
        trace(figure, "measured", "y2"),
        trace(figure, "estimated", "y2"),
    )
    assert (t[0], t[-1]) == pytest.approx((101.0, 128.99))
    assert np.nanmax(angle) == pytest.approx(np.degrees(view.main.position[inside].max()), rel=1e-6)
    assert np.nanmin(y) == pytest.approx(view.reference[inside].min(), rel=1e-6)
    assert np.nanmax(y_hat) == pytest.approx(view.estimate[inside].max(), rel=1e-6)
    _, left = trace(figure, "residual", "y3")
    difference = (view.reference - view.estimate)[inside & view.used]
    assert (np.nanmin(left), np.nanmax(left)) == pytest.approx((difference.min(), difference.max()), rel=1e-6)
    assert np.nanmin(left) < 0 < np.nanmax(left)
    rms, extent = np.sqrt(np.mean(difference**2)), np.ptp(view.reference[inside & view.used])
    (label,) = figure.layout["annotations"]
    assert label["text"] == f"RMS {rms:.3g} N m, {100 * rms / extent:.2f} % of range"
    assert [figure.layout[f"yaxis{n}"]["title"]["text"] for n in ("", "2", "3")] == [
        "(a) angle, deg",
        "(b) torque n_z, N m",
        "(c) measured - estimated, N m",
    ]


def test_rests_are_shaded_and_not_compared(figures):
    figure = figures["Quasi-static segment, 5 to 65 s"]
    shaded = [s for s in figure.layout["shapes"] if s["type"] == "rect"]
    assert len(shaded) > 30
    t, left = trace(figure, "residual", "y3")
    _, y_hat = trace(figure, "estimated", "y2")
    for a, b in ((s["x0"], s["x1"]) for s in shaded):
        between = (t >= a) & (t < b)
        assert np.isnan(left[between]).all()
    assert np.isfinite(left).any()
    assert np.isnan(y_hat).any()


def test_spans_far_apart_have_their_own_figure_and_near_ones_share(view, figures):
    assert "Train segment, 66 to 150 s" in figures
    apart = replace(view, segments={"test": ((10.0, 14.0), (120.0, 124.0), (125.0, 130.0)), "train": ((500.0, 600.0),)})
    found = [title for title in figures_of(body_sections(door_data(view.model), apart)) if "segment" in title]
    assert found == ["Test segment, 10 to 14 s", "Test segment, 120 to 130 s"]


def test_times_since_1970_are_shown_from_zero(view):
    zero = 1.7e9
    segments = {name: [(zero + a, zero + b) for a, b in spans] for name, spans in view.segments.items()}
    later = replace(view, times_s=view.times_s + zero, segments=segments)
    figure = figures_of(body_sections(door_data(view.model), later))["Test segment, 101 to 129 s"]
    assert trace(figure, "hinge")[0][0] == pytest.approx(101.0, abs=1e-5)
    assert "since 1700000000 s" in figure.layout["xaxis"]["title"]["text"]


# --- over the coordinate ----------------------------------------------------------------------------------------------


def test_points_lie_where_the_sentence_says(view, figures):
    figure = figures["Spring and dry friction over the travel"]
    x, model = trace(figure, "model")
    _, upper = trace(figure, "dry friction, ±")
    np.testing.assert_allclose(upper - model, 1.79, rtol=1e-4)
    np.testing.assert_allclose(model, view.model.along(np.radians(x)), rtol=1e-5, atol=1e-5)
    for name, low, high in (("opening slowly", 1.5, 2.1), ("closing slowly", -2.1, -1.5), ("at rest", -1.8, 1.8)):
        angle, y = trace(figure, name)
        assert len(angle) > 5
        off = y - view.model.along(np.radians(angle))
        assert low < np.median(off) < high
    angle, y = trace(figure, "at rest")
    assert np.abs(y - view.model.along(np.radians(angle))).max() < 1.79 + 0.5
    assert len(angle) == pytest.approx(38, abs=2)  # each rest of the sweep once


def test_rests_that_nobody_holds_are_no_points(view):
    (_, angle), counts = trace(figures_of(body_sections(door_data(view.model), view))[HOLDING], "at rest"), []
    assert len(angle) > 10
    first, last = next((a, b) for a, b in runs(view.resting) if 0.3 < view.main.position[a] < 1.0)
    for segments in ({}, {"static": ((view.times_s[first] - 0.01, view.times_s[last - 1] + 0.01),)}):
        found = figures_of(body_sections(door_data(view.model), replace(view, segments=segments)))
        counts.append(len(trace(found[HOLDING], "at rest")[0]))
    assert counts[0] == counts[1] + 1


def test_slow_points_are_free_of_inertia_and_dampers():
    quiet = door_view(noise=0.0)
    figure = figures_of(body_sections(door_data(quiet.model), quiet))["Spring and dry friction over the travel"]
    for name, sign in (("opening slowly", 1), ("closing slowly", -1)):
        angle, y = trace(figure, name)
        assert len(angle) > 100
        off = y - quiet.model.along(np.radians(angle))
        np.testing.assert_allclose(off, sign * 1.79, atol=0.152)  # 0.15: what the model lacks


def test_damping_is_dotted_where_nobody_passed(view, figures):
    figure = figures["Damping at 0.3 rad/s"]
    x, opening = trace(figure, "opening")
    assert np.isfinite(opening[2:-8]).all()
    np.testing.assert_allclose(opening[20], damping(view.model, np.radians(x[20:21]), 0.3)[0], rtol=1e-5)
    assert [a["text"] for a in figure.layout["annotations"]] == ["b_s above 25.0 deg", "b_bc above 69.0 deg"]
    one_way = replace(view, used=view.used & ~((view.main.speed > 0) & (view.main.position > np.radians(60))))
    other = figures_of(body_sections(door_data(view.model), one_way))["Damping at 0.3 rad/s"]
    x, opening = trace(other, "opening")
    assert np.isnan(opening[(x > 63) & (x < 80)]).all()
    assert np.isfinite(trace(other, "opening, without data")[1]).all()
    assert "Dotted" in other.look_for


def test_residual_medians_show_what_the_model_lacks(view, figures):
    figure = figures["Residual against angle"]
    for name in ("median, opening", "median, closing"):
        x, y = trace(figure, name)
        known = np.isfinite(y)
        wave = 0.15 * np.sin(6 * np.radians(x[known]))
        assert np.corrcoef(y[known], wave)[0, 1] > 0.85
    lacking = replace(view, estimate=view.estimate - 0.8 * np.sign(view.main.speed)[:, None])
    x, y = trace(figures_of(body_sections(door_data(view.model), lacking))["Residual against speed"], "median")
    assert np.nanmedian(y[x > 5]) - np.nanmedian(y[x < -5]) == pytest.approx(1.6, abs=0.2)


def test_points_are_few_however_long_the_recording(figures):
    for name in ("Residual against angle", "Residual against speed", "Spring and dry friction over the travel"):
        assert max(len(numbers(t["x"])) for t in figures[name].data) <= 1500


def test_a_hinge_with_nothing_but_friction():
    model = Model("plain", Hinge(), (ScalarInertia(), Coulomb()), {"I": 1.0, "b_c": 0.5})
    figures = figures_of(body_sections(door_data(model), replace(door_view(model), profiles=())))
    assert not any(name.startswith(("Damping", "Profiles")) for name in figures)
    np.testing.assert_allclose(trace(figures["Spring and dry friction over the travel"], "model")[1], 0.0)


# --- shapes and replay ------------------------------------------------------------------------------------------------


def test_profiles_say_what_is_in_the_data(view, figures):
    figure = figures["Profiles of the shapes"]
    texts = [a["text"] for a in figure.layout["annotations"]]
    assert texts[0] == "b_bc.above = 69.0 deg (67.7 … 70.1)"
    assert "flat: not in the data" in texts[1]
    assert len([s for s in figure.layout["shapes"] if s["type"] == "rect"]) == 3
    for i, profile in enumerate(view.profiles):
        x = numbers(figure.data[i]["x"])
        np.testing.assert_allclose(x, np.degrees(profile.values), rtol=1e-6)
        np.testing.assert_allclose(numbers(figure.data[i]["y"]), profile.costs, rtol=1e-5, atol=1e-6)
    assert figure.layout["yaxis2"]["range"][1] == 2.0  # a flat one looks flat
    levels = [s for s in figure.layout["shapes"] if s["type"] == "line" and s["y0"] == s["y1"] == 1.0]
    assert [s["yref"] for s in levels] == ["y", "y2", "y3", "y4"]


@settings(max_examples=40)
@given(st.floats(0.05, 1.5), st.floats(1e-4, 0.3))
def test_a_valley_is_in_sight_however_narrow(at, half):
    x = np.unique(np.concatenate([np.linspace(0.02, 1.6, 12), np.clip(at + half * np.linspace(-3, 3, 13), 0.02, 1.6)]))
    profile = profile_of("b_s.above", x, ((x - at) / half) ** 2, at, (at - half, at + half))
    view = replace(barrow_view(), profiles=(profile,))
    shapes = {"shapes": SECTIONS["shapes"]}  # of all sections the one that shows it
    sections = report_sections(SimpleNamespace(data=door_data(view.model), view=view), shapes)
    low, high = np.radians(figures_of(sections)["Profiles of the shapes"].layout["xaxis"]["range"])
    assert max(0.02, at - half) + 1e-9 >= low >= 0.02 - 1e-9
    assert min(1.6, at + half) - 1e-9 <= high <= 1.6 + 1e-9
    assert high - low < 20 * half


def test_profiles_that_fail_or_rise_without_end_are_drawn():
    x = np.linspace(0.1, 1.0, 10)
    cost = np.where(x < 0.3, np.nan, 1e9 * (x - 0.5) ** 2)
    odd = profile_of("b_s.above", x, cost, 0.5, (-np.inf, 0.55))
    view = replace(door_view(), profiles=(odd, replace(odd, costs=np.full(10, np.nan), interval=None)))
    figure = figures_of(body_sections(door_data(view.model), view))["Profiles of the shapes"]
    assert figure.layout["yaxis"]["range"][1] == 12.0


def test_replay_shows_every_window(view, figures):
    figure = figures["Replay of 6 windows"]
    t, y = trace(figure, "simulated")
    ends = np.flatnonzero(np.isnan(y))
    assert len(ends) == 5
    assert y[ends[2] - 1] in np.degrees(view.replay[2].tracks[0].simulated[-5:]).astype("f4")
    assert t[-1] == pytest.approx(view.replay[-1].times_s[-1], abs=0.1)
    rms = np.degrees([w.tracks[0].rms for w in view.replay])
    for score, pooled in ((None, np.sqrt(np.mean(rms**2))), (0.05, np.degrees(0.05))):
        data = door_data(view.model) | {"replay": {"rms": score}}
        words = next(s for s in body_sections(data, view) if s.title == "Replay").blocks[0].text
        assert f"{pooled:.2f} deg over all windows" in words
        assert f"{rms.max():.2f} deg in the worst" in words


# --- bodies of other kinds, bad data ----------------------------------------------------------------------------------


def test_several_rows_and_no_coordinate():
    view = barrow_view()
    sections = body_sections(door_data(view.model), view)
    expected = ["Verdict", "Parameters", "Errors", "Over time", "Residuals", "Conditioning and prior", "Origin"]
    assert titles_of(sections) == expected
    figures = figures_of(sections)
    forces, errors = figures["Test segment, 21 to 39 s"], figures["Test segment, 21 to 39 s: residual"]
    assert forces.layout["yaxis4"]["title"]["text"] == "(d) f_x, N"
    for i, sigma in enumerate((2, 3, 1, 4)):
        rms = float(errors.layout["annotations"][i]["text"].split()[1])
        assert rms == pytest.approx(sigma, rel=0.1)


def test_samples_that_nobody_saw(view):
    gone = (view.times_s > 104) & (view.times_s < 108)
    reference, position = view.reference.copy(), view.main.position.copy()
    reference[gone], position[gone] = np.nan, np.nan
    coordinate = replace(view.main, position=position)
    hidden = replace(view, reference=reference, coordinates=(coordinate,))
    figures = figures_of(body_sections(door_data(view.model), hidden))
    t, y = trace(figures["Test segment, 101 to 129 s"], "measured", "y2")
    assert not np.isfinite(y[(t > 104.02) & (t < 107.98)]).any()
    assert "Residual against angle" in figures


def test_nothing_used_gives_a_page_without_figures(view, tmp_path):
    nothing = np.zeros_like(view.used)
    bare = replace(view, used=nothing, resting=nothing, profiles=(), replay=(), segments=MappingProxyType({}))
    path = tmp_path / "bare.html"
    write_report(path, SimpleNamespace(data=door_data(view.model), view=bare))
    assert "Parameters" in path.read_text(encoding="utf-8")


def test_without_viscous_parts_only_the_dampers_count():
    both = (ScalarInertia(), Viscous(), PolynomialSpring(order=1))
    model = Model("plain", Hinge(), both, {"I": 1.0, "b_v": 2.5, "c_0": 0.0, "c_1": -3.0})
    angle = np.array([0.2, 0.9])
    np.testing.assert_allclose(damping(model, angle, 0.3), 2.5)
    np.testing.assert_allclose(model.along(angle), 3.0 * angle)


def test_lines_across_a_row_stay_on_the_axes_that_there_are(figures):
    for title, figure in figures.items():
        for shape in figure.layout.get("shapes", ()):
            for ref in (shape["xref"], shape["yref"]):
                axis = ref.removesuffix(" domain")
                assert ref == "paper" or f"{axis[0]}axis{axis[1:]}" in figure.layout, (title, ref)


def test_a_drawer_gets_the_same_page_in_metres():
    """Units decide what is shown, never the mechanism's kind."""
    view = drawer_view()
    data = door_data(view.model) | {"replay": {"rms": 1e-3, "unit": "m", "windows": 1, "window_s": 10.0}}
    sections = body_sections(data, view)
    figures = figures_of(sections)
    over_time = figures["Test segment, 21 to 39 s"].layout
    titles = [over_time[f"yaxis{n}"]["title"]["text"] for n in ("", "2", "3")]
    assert titles == ["(a) position, m", "(b) force f_x, N", "(c) measured - estimated, N"]
    assert figures["Damping at 0.3 m/s"].layout["yaxis"]["title"]["text"] == "d force / d speed, N s/m"
    assert trace(figures["Damping at 0.3 m/s"], "pulling")[1][20] == pytest.approx(4.0)
    holding = figures["Spring and dry friction over the travel"]
    assert holding.layout["xaxis"]["title"]["text"] == "position, m"
    np.testing.assert_allclose(trace(holding, "dry friction, ±")[1], 3.0)
    assert {"Residual against position", "Residual against speed", "Residual against acceleration"} <= set(figures)
    words = " ".join(b.text for s in sections for b in walk(s.blocks, Words))
    assert "RMS error of the position: 1.0 mm over all windows" in words
    assert not any("deg" in str(f.layout) or "opening" in str(f) for f in figures.values())


def test_a_doubtful_number_says_why_and_the_parts_of_an_interval_add_up():
    entry = {"value": 2.0, "unit": "N", "ci95": [1.0, 3.0], "noise": 0.3, "pull": 0.1, "systematic": 0.0, "model": 0.2}
    entry |= {"prior": None, "information_from_data": 1.0, "status": "uncertain"}
    data = {"parameters": {"b_c": entry}, "references": {}}
    shown = parameter_table(data)
    assert "Shaded, uncertain: the interval is wide beside the value." in shown.explained
    assert shown.marked == (0,)
    assert float(np.linalg.norm([half_width(entry, part) for part in PARTS])) == pytest.approx(1.0)
    assert parameters_in_words(data) == "0 of 1 parameters are identified, b_c is uncertain"


@pytest.mark.parametrize(("mean", "words"), [(0.1, "mean while nobody touched the object"), (0.0, "as recorded")])
def test_a_plain_table_has_no_load_cells(mean: float, words: str) -> None:
    zero = {"from": "still", "sensors": {"sensor": {"f_x": mean, "f_y": 0.0}}, "change_if": {}}
    assert notes({"parameters": {}, "clocks": {}, "zero": zero}) == [f"Zero of the measured force: {words}"]
