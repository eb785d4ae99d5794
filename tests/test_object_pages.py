"""Every object that ships has a page with its pictures, and they are what its file says today."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from palpate.model import load_object, shipped_objects
from palpate.report.sketch import sketch
from palpate.twin.guided import makes
from tests.law_pictures import data
from tests.object_pages import PAGES, felt, index, page
from tests.test_law_pictures import stored


@pytest.mark.parametrize("name", list(shipped_objects()))
def test_the_page_is_what_the_object_is(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text == page(name), "make docs"
    for path in re.findall(r"!\[[^]]*\]\((.*?)\)", text):
        assert (PAGES / path).is_file(), path
    assert f"]({name}.md)" in (PAGES / "index.md").read_text(encoding="utf-8")
    drawn = sketch(load_object(name)), (PAGES / f"{name}.svg").read_text("utf-8")
    numbers = [re.findall(r"-?\d+\.\d+", s) for s in drawn]
    assert np.array(numbers[0], dtype=float) == pytest.approx(np.array(numbers[1], dtype=float), abs=0.11), "make docs"


@pytest.mark.parametrize("name", list(makes()))
def test_what_a_hand_feels_is_what_the_model_does(name: str) -> None:
    there, now = stored((PAGES / f"{name}-felt.svg").read_text(encoding="utf-8")), data(felt(name))
    assert list(there["curves"]) == list(now["curves"]), "make docs"
    for curve, pair in json.loads(json.dumps(now["curves"])).items():
        np.testing.assert_allclose(there["curves"][curve], pair, rtol=1e-3, atol=1e-4, err_msg="make docs")


def test_no_page_is_of_an_object_that_is_gone() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert pages == set(shipped_objects())
    assert (PAGES / "index.md").read_text(encoding="utf-8") == index(), "make docs"
