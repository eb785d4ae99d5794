"""The pages of validate, compare and variants, and what every page owes its reader: words, a sketch, room."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from palpate.experiment import Result
from palpate.experiment.comparison import compare
from palpate.model import load_object, shipped_objects
from palpate.report import write_report
from palpate.report.judging import write_comparison_page, write_validation_page, write_variants_page
from palpate.report.sketch import sketch
from tests.browser import violations
from tests.command import palpate

VARIANTS = {
    **{"title": "door", "unit": "N m", "chosen": "laminar", "best": "mixed", "rule": "the simplest"},
    "variants": [
        {"name": name, "numbers": n, "cross_validated_rms": e, "rms": e, "as_good_as_best": True, "shapes": {}}
        for name, n, e in (("mixed", 19, 0.25), ("laminar", 14, 0.26))
    ],
}


def entry(value: float, refit: float, apart: float) -> dict[str, Any]:
    known = {"words": "dry friction", "unit": "N m", "refit_ci95": [refit - 0.1, refit + 0.1]}
    return {**known, "value": value, "refit": refit, "apart": apart}


def validation(*, passed: bool) -> dict[str, Any]:
    reasons = [] if passed else ["these data exclude numbers of the model"]
    return {
        "title": "Friday",
        "model": {"name": "door", "file": "model.json"},
        "rms": {"n_z": {"value": 0.4, "percent_of_range": 1.0, "refit": 0.3, "times_refit": 1.3, "unit": "N m"}},
        "samples": 1000,
        "parameters": {"b_c": entry(2.0, 1.0, 7.0), "I": entry(3.0, 3.0, 0.1)},
        "replay": {"model": 0.01, "refit": 0.005, "unit": "rad"},
        "findings": [],
        "warnings": [],
        "verdict": {"passed": passed, "reasons": reasons},
        "provenance": {"experiment": {"file": "friday.yaml"}, "simulated": True},
    }


@pytest.fixture(scope="module")
def pages(door_result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_validation_page(folder / "validation.html", validation(passed=False))
    write_variants_page(folder / "variants.html", VARIANTS)
    write_comparison_page(folder / "comparison.html", compare({"monday": door_result.data, "friday": door_result.data}))
    source = {**door_result.data["provenance"], "simulated": True}
    write_report(folder / "report.html", replace(door_result, data={**door_result.data, "provenance": source}))
    return folder


@pytest.mark.parametrize("name", ["validation", "variants", "comparison", "report"])
def test_no_table_is_cut_off_on_a_phone_or_a_screen(name: str, pages: Path, browser: Any) -> None:
    problems: list[str] = []
    for width in (400, 1400):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"file://{pages / name}.html")
        wide = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(wide) == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 400 and name != "report":  # of which other tests ask
            assert violations(page) == []
        page.close()
    assert problems == []


def test_the_pages_say_what_matters_and_where_it_comes_from(pages: Path) -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in pages.glob("*.html")}
    assert "Failed: these data exclude numbers of the model." in texts["validation"]
    assert "judged on friday.yaml, simulated data" in texts["validation"]
    assert "the simplest that is as good as the best" in texts["variants"]
    assert "some results come from the same recordings" in texts["comparison"]
    assert "simulated data" in texts["report"]
    assert "moment of inertia" in texts["report"]
    assert "each name stands where the parameter acts" in texts["report"]


def test_compare_writes_a_page_and_its_numbers(door_result: Result, tmp_path: Path) -> None:
    for day in ("monday", "friday"):
        door_result.save(tmp_path / day)
    done = palpate("compare", tmp_path / "monday", tmp_path / "friday", "-o", tmp_path / "both.html")
    assert done.returncode == 0
    assert json.loads((tmp_path / "both.json").read_text())["palpate_comparison"] == 1
    assert "what it is" in (tmp_path / "both.html").read_text(encoding="utf-8")
    refused = palpate("compare", tmp_path / "monday", tmp_path / "friday", "-o", tmp_path / "both")
    assert "must end in .html" in refused.stderr


@pytest.mark.parametrize("name", list(shipped_objects()))
def test_a_sketch_names_the_parameters_where_they_act(name: str) -> None:
    model = load_object(name)
    drawn = sketch(model)
    for element in model.elements:
        first = element.parameters[0].name
        assert element.instrument or first in drawn or "…" in drawn, first
    assert "<text" not in sketch(model, numbers=False)
