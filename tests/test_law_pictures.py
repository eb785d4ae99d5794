"""Every element's law has a picture in the documentation, and it is what the element does today."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from palpate.elements import ELEMENTS
from tests.law_pictures import LAWS, data, law, picture

PAGE = LAWS.parent / "object-file.md"


def stored(text: str) -> dict[str, Any]:
    (entry,) = (e for e in ET.fromstring(text) if e.tag.endswith("metadata"))
    return json.loads(entry.text or "")


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_the_picture_shows_what_the_element_does(name: str) -> None:
    text = (LAWS / f"{name}.svg").read_text(encoding="utf-8")
    there, now = stored(text), json.loads(json.dumps(data(law(name))))
    assert (there["x"], there["y"], list(there["curves"])) == (now["x"], now["y"], list(now["curves"])), "make docs"
    for curve, pair in now["curves"].items():
        np.testing.assert_allclose(there["curves"][curve], pair, rtol=1e-3, atol=1e-4, err_msg="make docs")
    assert text.count("<polyline") == len(now["curves"])
    assert f"![{name}](laws/{name}.svg)" in PAGE.read_text(encoding="utf-8")


def test_no_picture_is_of_an_element_that_is_gone_and_none_is_empty() -> None:
    assert {path.stem for path in LAWS.glob("*.svg")} == set(ELEMENTS)
    for name in ELEMENTS:
        curves = law(name).curves.values()
        assert max(float(np.nanmax(np.abs(y))) for _, y in curves) > 1e-3, name
    viscous = law("viscous")
    ((x, y),) = viscous.curves.values()
    assert y == pytest.approx(np.radians(x))
    assert stored(picture("viscous", viscous)) == data(viscous)
