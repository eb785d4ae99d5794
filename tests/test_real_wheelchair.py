"""A real wheelchair, of which one wheel was measured: its mean resistance is told, its inertia refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from palpate.experiment import read_experiment, run_experiment

EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "examples" / "wheelchair.yaml"


@pytest.mark.real
@pytest.mark.parametrize("averaged", [True, False])
def test_a_wheel_tells_its_resistance_and_no_inertia(real_folder: Path, tmp_path: Path, averaged: bool) -> None:
    folder, text = real_folder / "ktk_smartwheel", EXAMPLE.read_text(encoding="utf-8")
    path = tmp_path / "wheelchair.yaml"
    path.write_text(text if averaged else re.sub(r"^filtering:.*\n", "", text, flags=re.MULTILINE))
    (tmp_path / "wheelchair-wheel.yaml").write_text((EXAMPLE.parent / "wheelchair-wheel.yaml").read_text())
    result = run_experiment(read_experiment(path, data=folder))
    assert not result.passed
    assert result.model is None
    found = result.data["parameters"]
    assert found["I"]["status"] == "not-identifiable"  # another hand and a trunk move the chair
    # by the work of the hand between times of equal speed
    raw = np.genfromtxt(folder / "sample_swl_overground_propulsion_withrubber.csv", delimiter=",")
    angle, moment = np.unwrap(np.radians(raw[:, 3])), raw[:, 23] - raw[:240, 23].mean()
    strokes = slice(6 * 240, 30 * 240)
    mean = np.trapezoid(moment[strokes], angle[strokes]) / np.ptp(angle[strokes])
    low, high = found["b_c"]["ci95"]
    assert low < mean < high
    assert (high - low < 1.0) == averaged
