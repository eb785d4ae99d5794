"""`palpate explain`: the balance in words and symbols, without a recording being read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palpate.elements import ELEMENTS
from palpate.experiment.explanation import _sentence
from tests.command import palpate


def test_a_door(door_folder: Path) -> None:
    done = palpate("explain", door_folder / "body.yaml")
    assert done.returncode == 0, done.stderr
    assert "n_z = I + b_v + b_c + ∂closer/∂hinge·b_bc" in done.stdout
    assert "tau = b sign(speed)" in done.stdout
    assert "hold it still at more positions over the whole travel" in done.stdout
    data = json.loads(palpate("explain", door_folder / "body.yaml", "--json").stdout)
    assert [p["name"] for p in data["parameters"]][:3] == ["I", "b_v", "b_c"]
    driven = {"type": "four-bar", "coordinate": "closer", "unit": "rad", "after": "hinge"}
    assert data["linkages"] == [driven]


def test_a_handle(short_handle_folder: Path) -> None:
    done = palpate("explain", short_handle_folder / "handle.yaml")
    assert done.returncode == 0, done.stderr
    assert "(f_x, f_y, f_z, n_x, n_y, n_z) = P·" in done.stdout
    assert "w = A phi" in done.stdout


@pytest.mark.parametrize("name", ELEMENTS)
def test_every_element_has_a_law_in_one_sentence(name: str) -> None:
    law = _sentence(ELEMENTS[name]())
    assert 8 < len(law) < 220
    assert law.count("(") == law.count(")")
    assert "paper, eq" not in law


def test_a_capture_of_motion_has_no_balance(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("x\n")
    (tmp_path / "m.yaml").write_text("stage: motion\nrecordings: {mocap: {file: m.csv}}\n")
    done = palpate("explain", tmp_path / "m.yaml")
    assert done.returncode == 1
    assert "nothing is identified" in done.stderr
