"""What people type: values print, show, draw themselves and become tables; docs/notebook.ipynb runs."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest

import palpate
from palpate.recording.recording import Channel, Clock, Recording
from tests.command import palpate as command
from tests.conftest import needs

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The notebook's cells, run one after the other in this process; lines with ! are commands."""
    needs("matplotlib", "report").use("Agg")
    folder, names = tmp_path_factory.mktemp("notebook"), dict[str, Any]()
    with contextlib.chdir(folder):
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code" and text.startswith("!palpate "):
                assert command(*shlex.split(text)[1:]).returncode == 0
            elif cell["cell_type"] == "code":
                exec(compile(text, NOTEBOOK.name, "exec"), names)
                assert not cell["outputs"], "outputs in the repository grow old: clear them"
    names["folder"] = folder
    return names


def text_of(fragment: str) -> str:
    """What a browser shows of HTML, which must be whole."""
    said, opened = list[str](), list[str]()
    parser = HTMLParser()
    parser.handle_data = said.append
    parser.handle_starttag = lambda tag, _: opened.append(tag)
    parser.handle_endtag = lambda tag: opened.remove(tag)
    parser.feed(fragment)
    assert opened == []
    return " ".join(" ".join(said).split())


def test_the_notebook_finds_the_drawer(run: dict[str, Any]) -> None:
    truth = json.loads((run["folder"] / "mydrawer" / "truth.json").read_text("utf-8"))["parameters"]
    frame: polars.DataFrame = run["numbers"]
    assert frame["parameter"].to_list() == ["m", "b_v", "b_c"]
    assert frame["words"].to_list() == ["mass", "viscous friction", "dry friction"]
    for row in frame.to_dicts():
        assert row["low"] < truth[row["parameter"]]["value"] < row["high"]
    assert run["table"].columns == ["time_s", "position", "force"]
    assert run["out"][1] == 0
    assert run["result"].data["provenance"]["simulated"]


def test_a_result_prints_what_the_terminal_shows(run: dict[str, Any]) -> None:
    printed, shown = str(run["result"]), text_of(run["result"]._repr_html_())
    said = command("identify", run["folder"] / "mydrawer" / "drawer.yaml", "-o", run["folder"] / "again").stdout
    assert [line.split() for line in printed.splitlines()[:5]] == [line.split() for line in said.splitlines()[1:6]]
    for words in ("Simulated drawer 1", "Verdict: passed", "identified"):
        assert words in printed
        assert words in shown
    assert "what it is" in str(run["result"].solution)
    assert text_of(run["again"].model._repr_html_()).startswith("drawer: slide")


def test_a_loaded_result_says_what_it_does_not_hold(run: dict[str, Any]) -> None:
    again: palpate.Result = run["again"]
    assert again.findings == run["result"].findings
    with pytest.raises(palpate.PalpateError, match=r"no signals to plot.*report\.html"):
        again.plot()
    with pytest.raises(palpate.PalpateError, match=r"no solution.*to_dataframe"):
        _ = again.solution
    assert again.to_dataframe().equals(run["numbers"])


def test_values_have_a_short_form_and_paths_are_taken_for_what_they_name(run: dict[str, Any], tmp_path: Path) -> None:
    result: palpate.Result = run["result"]
    assert repr(result).startswith("<Result ")
    assert "print(result) shows all" in repr(result)
    for value in (result, result.solution, run["again"]):
        assert len(repr(value)) < 400
    with pytest.raises(palpate.PalpateError, match=r"nowhere\.yaml: there is no such file"):
        palpate.run_experiment(tmp_path / "nowhere.yaml")
    with pytest.raises(palpate.PalpateError, match="an experiment or the path of its file is wanted, not 'int'"):
        palpate.run_experiment(3)  # pyright: ignore[reportArgumentType]
    result.save(tmp_path / "one")
    both = palpate.compare({"one": tmp_path / "one", "two": result})
    assert both["one_object"]


def test_a_unit_at_the_end_of_a_name_is_shown(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("t,angle_deg,torque_Nm,note\n0,1,2,3\n1,2,3,4\n2,3,4,5\n")
    recording = palpate.load(tmp_path / "log.csv")
    shown = str(recording)
    assert "deg (by its name)" in shown
    assert "Nm (by its name)" in shown
    assert repr(recording) == "<Recording 'log.csv', 3 channels: angle_deg, torque_Nm, note>"


def test_plots_have_units_and_every_row(run: dict[str, Any]) -> None:
    labels = [ax.get_ylabel() for ax in run["result"].plot().axes]
    assert labels == ["slide, m", "f_x, N", "measured - estimated,\nN"]
    turned = Recording({"w": Channel("w", np.ones((3, 3)), Clock("imu", np.arange(3.0)), "rad/s")})
    (ax,) = turned.plot().axes
    assert ax.get_ylabel() == "deg/s"
    assert ax.lines[0].get_ydata()[0] == pytest.approx(57.29578)


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    one = Recording({"a": Channel("a", np.ones(3), Clock("c", np.arange(3.0)))})
    with pytest.raises(palpate.PalpateError, match=r"a plot needs matplotlib.*pip install 'palpate\[report\]'"):
        one.plot()


def test_data_frames_of_several_clocks_and_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = [Clock("camera", np.arange(3.0)), Clock("cell", np.arange(5.0))]
    two = Recording(
        {"p": Channel("p", np.zeros((3, 3)), clocks[0], "m"), "f": Channel("f", np.ones(5), clocks[1], "N")}
    )
    with pytest.raises(palpate.PalpateError, match=r"2 clocks: camera, cell.*to_dataframe\('camera'\)"):
        two.to_dataframe()
    with pytest.raises(palpate.PalpateError, match="Did you mean 'camera'"):
        two.to_dataframe("camrea")
    assert two.to_dataframe("camera").columns == ["time_s", "p.x", "p.y", "p.z"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(palpate.PalpateError, match="pandas is not installed"):
        two.to_dataframe("cell", pandas=True)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    assert list(two.to_dataframe("cell", pandas=True)) == ["time_s", "f"]


def test_recordings_and_objects_print_short() -> None:
    many = Recording({f"c{i}": Channel(f"c{i}", np.ones(3), Clock("c", np.arange(3.0))) for i in range(40)})
    assert len(str(many.select(["c1", "c2"])).splitlines()) < 8
    assert re.search(r"and 24 more", str(many))
    assert palpate.__version__ == version("palpate")


@pytest.mark.parametrize("name", ["door", "box", "wheelbarrow", "car-door", "tailgate", "office-chair", "handle"])
def test_every_number_of_an_object_has_words(name: str) -> None:
    model = palpate.load_object(name)
    assert set(model.words) >= set(model.parameters)
    assert all(len(words) > 3 for words in model.words.values())
    assert str(model).startswith(f"{name}: ")
