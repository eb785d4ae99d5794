"""`palpate reproduce` on a simulated copy of the authors' repository, against an independent script of their way."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palpate.errors import DataProblem, PalpateError
from palpate.experiment import read_experiment
from palpate.experiment import run as stage_run
from palpate.experiment.file.reading import parse, shipped_experiments
from palpate.experiment.paper.choices import ORDER, PAPER, Printed, Window
from palpate.experiment.paper.reproduce import look, reproduce
from palpate.report.paper import save_figure
from palpate.report.reproduction import Line
from palpate.twin.authors import write_authors_twin, write_paper_handle, write_shipped_experiment
from tests.browser import violations
from tests.command import palpate
from tests.oracles import published

pytestmark = pytest.mark.usefixtures("exact_replay")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"
BODY_IMUS = ("door/data/IMU_Door.csv", "wheelbarrow/data/WB_Object_IMU.csv")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The paper's Table in the authors' layout; the bodies' IMUs, without which all runs, are not in it."""
    folder = write_authors_twin(tmp_path_factory.mktemp("authors") / "clone")
    for file in BODY_IMUS:
        (folder / file).unlink()
    yield folder
    shutil.rmtree(folder)  # 100 MB


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduced") / "out"


@pytest.fixture(scope="module")
def run(clone: Path, out: Path) -> Any:
    """The command in both ways, once; of eight figures for papers those that are looked at are drawn."""

    def save_some(figure: Any, *paths: Path) -> None:
        if paths[0].stem in ("door", "wheelbarrow"):
            save_figure(figure, *paths)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.report.reproduction.save_figure", save_some)
        return palpate("reproduce", clone, "-o", out)


@pytest.fixture(scope="module")
def data(run: Any, out: Path) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    return json.loads((out / "reproduction.json").read_text())


@pytest.fixture(scope="module")
def independent(clone: Path) -> dict[str, dict[str, Any]]:
    return published.everything(clone)


def part_of(clone: Path, folder: Path, *files: str) -> Path:
    """A copy with these files or folders only."""
    for top in files:
        found = [clone / top] if (clone / top).is_file() else [p for p in (clone / top).rglob("*") if p.is_file()]
        for path in found:
            link = folder / path.relative_to(clone)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    return folder


def put(folder: Path, file: str, source: Path) -> None:
    """Another file under this name."""
    (folder / file).unlink(missing_ok=True)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).symlink_to(source)


# -- the two ways ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDER)
def test_as_published_is_what_an_independent_script_of_the_authors_choices_gives(
    name: str, data: dict[str, Any], independent: dict[str, dict[str, Any]]
) -> None:
    ours, theirs = data["experiments"][name]["published"], independent[name]
    assert set(ours["parameters"]) == set(theirs["parameters"])
    for parameter, value in theirs["parameters"].items():
        assert ours["parameters"][parameter]["value"] == pytest.approx(value, rel=1e-6), parameter
    assert ours["kappa_eff_paper"] == pytest.approx(theirs["kappa"], rel=1e-6)
    rows = list(ours["rms"]["test"].values())
    np.testing.assert_allclose([r["value"] for r in rows], theirs["rms"], rtol=1e-6)
    np.testing.assert_allclose([r["percent_of_range"] for r in rows], theirs["percent"], rtol=1e-6)
    if "marker_error_m" in theirs:
        assert ours["marker_error_m"] == pytest.approx(theirs["marker_error_m"], rel=1e-6)
    assert ours.get("without_correction", {}) == pytest.approx(theirs.get("without_correction", {}), rel=1e-6)


def test_as_published_begins_at_the_prior_where_the_data_contradict_it(tmp_path: Path) -> None:
    """Another handle than the prior's: the cost has two valleys, and the authors go down from the prior."""
    write_paper_handle(tmp_path, name="wheelbarrow-handle", seed=10)
    ours = reproduce(tmp_path, as_published=True).entries["wheelbarrow-handle"].published
    theirs = published.handle(tmp_path, "wheelbarrow-handle")
    assert ours is not None
    for parameter, value in theirs["parameters"].items():
        assert ours.data["parameters"][parameter]["value"] == pytest.approx(value, rel=1e-6), parameter
    assert ours.data["kappa_eff_paper"] == pytest.approx(theirs["kappa"], rel=1e-6)


def test_the_default_is_inside_its_intervals(data: dict[str, Any]) -> None:
    lines = [(n, x) for n, e in data["experiments"].items() for x in e["table"] if x["default_ci95"] is not None]
    apart = {(n, x["name"]): abs(x["default"] - x["truth"]) / (np.ptp(x["default_ci95"]) / 2) for n, x in lines}
    assert len(apart) == len(lines) == 54
    assert max(apart.values()) < 2.0, apart
    # intervals of 95 %: of 54, three are outside on average
    assert sum(line["inside"] for _, line in lines) >= len(lines) - 6
    assert all(e["default_verdict"]["passed"] for e in data["experiments"].values())


@pytest.mark.parametrize("name", ["wheelbarrow-handle", "door-handle"])
def test_a_drawing_that_points_the_wrong_way_is_told(name: str, data: dict[str, Any], out: Path) -> None:
    """Erratum 6: the door handle's prior has the other sign; its intervals hold the truth all the same."""
    lines = [x for x in data["experiments"][name]["table"] if x["default_ci95"] is not None]
    away = {x["name"]: 2 * abs(x["default"] - x["truth"]) / np.ptp(x["default_ci95"]) for x in lines}
    assert len(away) >= 10
    assert sum(a > 1 for a in away.values()) <= 1, away
    assert max(away.values()) < 1.5
    warnings = json.loads((out / name / "result.json").read_text())["warnings"]
    said = [w for w in warnings if "contradict the prior" in w and "Ixy" in w and "other sign" in w]
    assert bool(said) == (name == "door-handle")


def test_the_published_choices_have_a_bias_that_is_printed(run: Any, data: dict[str, Any]) -> None:
    lines = {(n, line["name"]): line for n, e in data["experiments"].items() for line in e["table"]}
    for key in (("door", "b_v"), ("door", "b_c"), ("wheelbarrow", "Iyy")):
        assert abs(lines[key]["published_percent"]) > 10
        assert abs(lines[key]["default_percent"]) < 2
    assert run.returncode == 0
    for words in ("paper", "truth", "as published", "of truth", "default", "95 % interval", "inside", "Written:"):
        assert words in run.stdout
    shown = f"{lines['door', 'b_v']['published_percent']:+.2f} %"
    assert shown in run.stdout


def test_the_part_of_the_bias_that_is_the_fixed_wrenchs_own_is_told(run: Any, data: dict[str, Any]) -> None:
    """It corrects an error of the authors' laboratory, which a simulated copy does not have."""
    lines = {line["name"]: line for line in data["experiments"]["wheelbarrow"]["table"]}
    assert abs(lines["b_psi"]["uncorrected_percent"]) < abs(lines["b_psi"]["published_percent"])
    assert abs(lines["Iyy"]["uncorrected_percent"]) > 10  # the bias of their other choices
    told = " ".join(run.stdout.split())
    assert "corrects an error of the authors' laboratory that a simulated copy does not have" in told
    assert (
        f"b_psi {lines['b_psi']['uncorrected_percent']:+.1f} % ({lines['b_psi']['published_percent']:+.1f} %)" in told
    )
    assert all(x["uncorrected"] is None for x in data["experiments"]["door"]["table"])


def test_what_has_no_truth_is_compared_with_nothing_on_a_simulated_copy(data: dict[str, Any]) -> None:
    for name, e in data["experiments"].items():
        for line in e["table"]:
            known = line["truth"] is not None and line["truth"] != 0
            assert (line["published_percent"] is not None) == known, (name, line["name"])
    # on a real one, with the paper; a choice is no result
    for kind, expected in (("rms", 10.0), ("quality", 10.0), ("regression", None)):
        assert Line(kind, "x", "-", Printed("20"), 22.0, None).percent(22.0) == expected


@pytest.mark.parametrize("name", ORDER)
def test_the_seconds_are_of_the_segment_whose_errors_stand_beside_them(name: str, data: dict[str, Any]) -> None:
    (line,) = (x for x in data["experiments"][name]["table"] if x["name"] == "test")
    assert line["default"] == pytest.approx(line["paper"], abs=0.6)
    assert line["published"] == pytest.approx(line["default"], abs=0.03)


def test_declared_uncertainties_are_shown_beside_the_intervals(out: Path, data: dict[str, Any]) -> None:
    assert data
    for name in ORDER:
        held = json.loads((out / name / "result.json").read_text())["parameters"]
        own = [e["systematic"] / abs(e["value"]) for n, e in held.items() if n in ("I", "b_c", "Ixx", "b_v")]
        assert min(own) > 5e-3, name  # the load cell's scale alone is 1 %
        assert max(own) < 0.1, name


def test_the_page_is_accessible_in_a_browser(run: Any, out: Path, browser: Any) -> None:
    assert run.returncode == 0
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    problems: list[str] = []
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.goto((out / "report.html").as_uri(), timeout=120_000)
    page.wait_for_function("() => names.every(id => document.getElementById(id)._fullData)", timeout=60_000)
    assert violations(page, plots=True) == []
    assert problems == []
    page.close()


def test_the_experiment_of_a_twin_names_the_handle_beside_it(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is changed in it counts, and its truth is known."""
    part = part_of(clone, tmp_path, "door", "handles", "wheelbarrow")
    (part / "truth.json").write_text('{"palpate_truth": 1, "parameters": {"m": {"value": 1.0, "unit": "kg"}}}')
    for file in BODY_IMUS:  # must be there, are not read
        put(part, file, clone / "handles/data/IMU_Door.csv")
    asked: list[Any] = []

    def remember(experiment: Any, _: Any) -> Any:
        asked.append(experiment)
        raise DataProblem("handle", "enough")

    monkeypatch.setattr(stage_run, "run_experiment", remember)
    for body in ("door", "wheelbarrow"):
        own = write_shipped_experiment(part, f"{body}-handle", "truth.json")
        experiment = read_experiment(write_shipped_experiment(part, body, "truth.json"))
        with pytest.raises(DataProblem, match="enough"):
            stage_run.handles_of(experiment, lambda *_: None)
        assert asked[-1].source == own
        assert [r.label for r in asked[-1].config.reference] == ["truth", "paper"]


def test_files_that_are_missing_are_listed_and_the_rest_runs(run: Any, data: dict[str, Any]) -> None:
    for file in BODY_IMUS:
        assert f"Missing: {file}" in run.stdout
    assert {f["file"] for f in data["files"] if f["state"] == "missing"} == set(BODY_IMUS)


def test_one_report_with_the_papers_figures_and_tables_for_papers(run: Any, out: Path, clone: Path) -> None:
    assert str(out / "report.html") in run.stdout
    page = (out / "report.html").read_text()
    for title in ("Door handle", "Wheelbarrow handle", "Door, test segment", "Wheelbarrow, test segment", "Files"):
        assert title in page
    assert len(page) < 8e6
    for text in (page, (out / "reproduction.json").read_text()):
        assert str(clone) not in text
    for name in ("door", "wheelbarrow"):
        assert ElementTree.parse(out / "figures" / f"{name}.svg").getroot().tag.endswith("svg")
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert json.loads((out / name / "result.json").read_text())["verdict"]["passed"]
        assert (out / name / "model.json").is_file()
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    first = next(r for r in rows if r["experiment"] == "door" and r["name"] == "I")
    assert first["paper"] == "6.53"
    assert float(first["low95"]) < float(first["default"]) < float(first["high95"])
    latex = (out / "table.tex").read_text()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 4
    assert r"$b_{\mathrm{bc}}$" in latex
    assert latex.count("quantity & unit & paper & truth") == 4
    assert {line.count(" & ") for line in latex.splitlines() if " & " in line} == {9}


# -- copies that are not whole ---------------------------------------------------------------------------------------


def test_one_handle_alone_runs_and_json_says_what_is_missing(clone: Path, tmp_path: Path) -> None:
    files = ("handles/data/exp1_036.mat", "handles/data/IMU_Single.csv")
    part = part_of(clone, tmp_path / "download" / "large-objects-sys-id-main", *files)
    done = palpate("reproduce", part.parent, "-o", tmp_path / "out", "--as-published", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3  # what is not there was not reproduced
    assert found["modes"] == ["published"]
    assert found["experiments"]["wheelbarrow-handle"]["published"] is not None
    assert "exp1_021.mat" in found["experiments"]["door"]["refused"]["published"]
    assert not found["simulated"]


def test_a_clone_without_its_large_files(clone: Path, tmp_path: Path) -> None:
    part = part_of(clone, tmp_path / "clone", "door", "handles", "wheelbarrow")
    for path in [p for p in part.rglob("*") if p.is_symlink()]:
        path.unlink()
        path.write_text(POINTER)
    done = palpate("reproduce", part, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "git lfs pull" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_without_the_load_cell_the_markers_are_aligned(clone: Path, tmp_path: Path) -> None:
    part = part_of(clone, tmp_path, "door")
    (part / "door/data/exp1_021.mat").unlink()
    (part / "door/data/exp1_021.mat").write_text(POINTER)
    found = reproduce(part, as_published=True)
    assert [f.file for f in found.missing if "pull" in f.remark] == ["door/data/exp1_021.mat"]
    assert 0.2e-3 < (found.entries["door"].marker_error_m or 0) < 1e-3
    assert not found.ran


@pytest.mark.parametrize(
    ("file", "source", "parts"),
    [
        ("door/data/Trajectories.csv", "wheelbarrow/data/WB Trajectories.csv", ("no marker WB_Door1", "wheelbarrow")),
        ("door/data/exp1_021.mat", "handles/data/exp1_036.mat", ("exp1_021.mat", "125000 rows")),
        ("wheelbarrow/data/exp1_039.mat", "door/data/exp1_021.mat", ("exp1_039.mat", "184710 rows")),
        ("handles/data/exp1_038.mat", "handles/data/exp1_036.mat", ("exp1_038.mat", "do not belong together")),
        ("handles/data/IMU_Single.csv", "handles/data/IMU_Door.csv", ("IMU_Single.csv", "do not belong together")),
        ("handles/data/IMU_Door.csv", "door/data/Static.csv", ("IMU_Door.csv", "looks like vicon-csv")),
    ],
)
def test_a_file_of_another_experiment_under_the_right_name(
    file: str, source: str, parts: tuple[str, ...], clone: Path, tmp_path: Path
) -> None:
    kept = {
        "door": ("door",),
        "wheelbarrow": ("wheelbarrow",),
        "handles": ("handles/data/exp1_038.mat", "handles/data/IMU_Door.csv")
        if file.endswith(("38.mat", "Door.csv"))
        else ("handles/data/exp1_036.mat", "handles/data/IMU_Single.csv"),
    }
    part = part_of(clone, tmp_path, *kept[file.partition("/")[0]])
    put(part, file, clone / source)
    with pytest.raises(PalpateError) as told:
        reproduce(part, as_published=True)
    for words in parts:
        assert words in str(told.value)
    assert str(tmp_path) not in str(told.value).removeprefix(str(tmp_path))


def test_a_damaged_recording_is_named_and_the_others_run(clone: Path, tmp_path: Path) -> None:
    part = part_of(clone, tmp_path / "clone", "handles")
    broken = part / "handles/data/exp1_036.mat"
    broken.unlink()
    broken.write_bytes((clone / "handles/data/exp1_036.mat").read_bytes()[:300000])
    done = palpate("reproduce", part, "-o", tmp_path / "out", "--as-published", "-q")
    assert done.returncode == 3
    assert "exp1_036.mat" in done.stderr
    assert "damaged" in done.stderr
    held = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert held["experiments"]["door-handle"]["published"] is not None


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("reproduction.json", '{"palpate_reproduction": 0}', "has format 0"),
        ("reproduction.json", '{"palpate_reproduction": ', "damaged"),
        ("reproduction.json", "[]", "not palpate's"),
        ("door/result.json", '{"palpate_result": 0, "title": "x"}', "format 0"),
        ("door/result.json", "{", "damaged"),
        ("wheelbarrow/model.json", '{"palpate_model": 1, "name": ', "model.json"),
    ],
)
def test_what_this_palpate_cannot_read_is_not_overwritten(file: str, content: str, words: str, tmp_path: Path) -> None:
    old = tmp_path / "out" / file
    old.parent.mkdir(parents=True)
    old.write_text(content)
    (tmp_path / "clone" / "door").mkdir(parents=True)
    done = palpate("reproduce", tmp_path / "clone", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert words in done.stderr
    assert "nothing was overwritten" in done.stderr
    assert old.read_text() == content
    assert sum(p.is_file() for p in (tmp_path / "out").rglob("*")) == 1


def test_a_folder_that_is_no_copy(tmp_path: Path) -> None:
    for folder, words in ((tmp_path / "none", "no such folder"), (tmp_path, "none of door/, handles/, wheelbarrow/")):
        done = palpate("reproduce", folder, "-o", tmp_path / "out")
        assert done.returncode == 1
        assert words in done.stderr


@pytest.mark.real
def test_the_authors_excerpts(real_folder: Path, tmp_path: Path) -> None:
    """Errors as in real/README.md: the mean of its four groups, and the paper's 1.54 and 2.1 mm not far from it."""
    for name, file in (
        ("door_static_excerpt.csv", "door/data/Static.csv"),
        ("door_trajectories_excerpt.csv", "door/data/Trajectories.csv"),
        ("wheelbarrow_trajectories_excerpt.csv", "wheelbarrow/data/WB Trajectories.csv"),
    ):
        put(tmp_path / "clone", file, real_folder / name)
    done = palpate("reproduce", tmp_path / "clone", "-o", tmp_path / "out")
    held = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    error = {
        name: next(line["published"] for line in held["experiments"][name]["table"] if line["name"] == "marker error")
        for name in ("door", "wheelbarrow")
    }
    assert error["door"] == pytest.approx((0.38 + 1.69 + 2.11 + 1.69) / 4, abs=0.01)
    for name, mm in error.items():
        line = next(x for x in held["experiments"][name]["table"] if x["name"] == "marker error")
        assert line["published_percent"] == pytest.approx(100 * (mm / line["paper"] - 1))
    assert error["wheelbarrow"] == pytest.approx((1.76 + 2.14 + 1.27 + 2.28) / 4, abs=0.05)
    assert "Too short: door/data/Trajectories.csv: it has 16 rows" in done.stdout
    assert "Missing: door/data/exp1_021.mat" in done.stdout
    assert done.returncode == 3


# -- small parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDER)
def test_the_table_is_the_one_of_the_shipped_experiments(name: str) -> None:
    tree = parse(shipped_experiments()[name])[0]
    column = PAPER[name]
    told = {n: p.value for n, p in column.parameters.items()} | {"kappa_eff_paper": column.kappa.value}
    told |= {f"rms_{row}": value.value for row, (value, _) in column.rms.items()}
    if column.damping is not None:
        told["damping"] = column.damping.value
        assert tree["prior"]["damping"] == "auto"
    assert told == tree["reference"]["values"]


def test_the_independent_script_has_the_linkage_of_the_errata() -> None:
    phi, nu = published.four_bar(np.radians([0, 5, 10, 30, 60, 90]))
    np.testing.assert_allclose(np.degrees(phi), [108.16, 133.90, 153.73, 197.61, 239.12, 277.92], atol=0.006)
    np.testing.assert_allclose(nu, [5.500, 4.607, 3.370, 1.597, 1.284, 1.351], atol=6e-4)


@given(first=st.integers(1, 50), offset=st.integers(0, 20), samples=st.integers(0, 40), every=st.integers(1, 12))
def test_a_window_is_cut_after_the_decimation(first: int, offset: int, samples: int, every: int) -> None:
    window = Window(first={"wrench": first}, offset=offset, samples=samples, decimation={"wrench": every})
    rows = np.arange(1500)
    expected = rows[::every][first + offset - 1 : first + offset + samples]
    np.testing.assert_array_equal(rows[window.rows("wrench")], expected)
    assert window.needed("wrench") == expected[-1] + 1


@pytest.mark.parametrize(("text", "rounding"), [("45.0", 0.05), ("0.0001", 0.00005), ("-0.70", 0.005), ("10", 0.5)])
def test_a_printed_number_is_known_up_to_its_last_digit(text: str, rounding: float) -> None:
    assert Printed(text).rounding == pytest.approx(rounding)
    value = Printed(text).value
    for shift, inside in ((0.9, True), (1.1, False)):
        ci = (value + shift * rounding, value + shift * rounding + 1.0)
        line = Line("parameter", "x", "N", Printed(text), None, value, ci)
        assert line.inside is inside
        true = Line("parameter", "x", "N", Printed(text), None, value, ci, truth=value)
        assert true.inside is False


def test_every_file_of_a_whole_copy_is_found(clone: Path) -> None:
    states = {f.file: f.state for f in look(clone) if f.needed}
    assert set(states.values()) == {"there"}
    assert len(states) == 9
