"""Lengths of linkages that the data tell: doors and struts of other make, stated wrongly; what is hidden is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.file.reading import check_keys, object_model
from palpate.experiment.stage.result import Result
from palpate.experiment.validation import validate
from palpate.mechanisms import FourBar, Hinge, RatioTable, TwoPoints
from palpate.model import Model
from palpate.physics.functions import ARRAYS
from tests.command import palpate
from tests.oracles import doors_of_other_make as doors
from tests.oracles import gates_of_other_make as gates
from tests.oracles.objects_of_other_make import distance

DAMPERS = ("I", "b_v", "b_c", "b_bc", "b_s", "b_l")


def door(
    folder: Path, seed: int, *effects: doors.Effect, off: tuple[float, ...] = (0, 0, 0, 0), estimate: str = "false"
) -> tuple[Path, dict[str, float]]:
    """A door whose file states links that are `off` by so many m."""
    path, truth = doors.write(folder, seed, *effects)
    right = f"lengths: {[round(x, 6) for x in doors.LENGTHS]}"
    wrong = f"lengths: {[round(a + b, 6) for a, b in zip(doors.LENGTHS, off, strict=True)]}, estimate: {estimate}"
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    return path, truth


def assert_inside(result: Result, truth: dict[str, float], names: tuple[str, ...], widths: float = 1.5) -> None:
    assert result.passed, result.data["verdict"]
    for name in names:
        e = result.data["parameters"][name]
        assert e["status"] == "identified", name
        assert abs(e["value"] - truth[name]) < widths * (e["ci95"][1] - e["ci95"][0]) / 2, name


@pytest.mark.parametrize(("seed", "name", "off"), [(1, "L2", 0.005), (3, "L4", -0.005)], ids=["5 mm", "-5 mm"])
def test_a_link_that_was_measured_wrongly_is_found(seed: int, name: str, off: float, tmp_path: Path) -> None:
    i = int(name[1]) - 1
    path, truth = door(tmp_path, seed, off=tuple(off * (j == i) for j in range(4)), estimate=f"[{name}]")
    result = run_experiment(read_experiment(path))
    found = result.data["shapes"][f"closer.{name}"]
    low, high = found["ci95"]
    assert found["status"] == "identified"
    assert low < doors.LENGTHS[i] < high
    assert abs(found["value"] - doors.LENGTHS[i]) < 0.2 * abs(off)
    assert high - low < 0.03
    assert_inside(result, truth, DAMPERS)
    assert result.model is not None
    assert result.model.mechanism.sizes[f"closer.{name}"][0] == found["value"]


def test_links_off_by_a_tape_measures_error_are_found_along(tmp_path: Path) -> None:
    """A tape measure leaves such links: left as stated, this one fails by its linkage, with intervals ten times wider.
    The model validates on its own recording, although the file states other links.
    """
    path, truth = door(tmp_path, 3, off=(0.0021, -0.0026, 0.0012, 0.0030))
    result = run_experiment(read_experiment(path))
    assert_inside(result, truth, DAMPERS, widths=1.0)
    assert any("the data want other lengths: closer.L1" in w for w in result.data["warnings"])
    for i, length in enumerate(doors.LENGTHS):
        x = result.data["shapes"][f"closer.L{i + 1}"]
        assert x["ci95"][0] < length < x["ci95"][1]
        assert x["stated"] != x["value"]
    widths = [result.data["parameters"][n]["ci95"] for n in ("I", "b_v", "b_c")]
    assert all(high - low < 0.05 * low for low, high in widths)
    assert result.model is not None
    validation = validate(result.model, read_experiment(path))
    assert validation.passed, validation.data["verdict"]


def test_stand_offs_that_nobody_stated_do_not_pass(tmp_path: Path) -> None:
    path, _ = door(tmp_path, 1, doors.stand_offs)
    result = run_experiment(read_experiment(path))
    assert not result.passed
    assert "linkage other than the stated one" in result.data["verdict"]["reasons"][0]


def test_stand_offs_that_look_like_links_2_mm_longer_move_no_number(tmp_path: Path) -> None:
    path, truth = door(tmp_path, 3, doors.stand_offs)
    assert_inside(run_experiment(read_experiment(path)), truth, DAMPERS)


def test_stand_offs_that_nobody_stated_are_found(tmp_path: Path) -> None:
    path, truth = door(tmp_path, 5, doors.stand_offs, estimate="true")
    done = palpate("identify", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Zones and lengths" in done.stdout
    assert "closer.offset" in done.stdout
    data = json.loads((tmp_path / "out" / "result.json").read_text())
    low, high = data["shapes"]["closer.offset"]["ci95"]
    turned = doors.simulate(5, doors.stand_offs)[0].pinion  # the ratio at the shut door follows from the offset
    model = Model.load(tmp_path / "out" / "model.json")
    nu = model.mechanism.linkages[0].transmit(np.radians([5.0, 45.0, 85.0]), ARRAYS)[1]
    assert nu == pytest.approx(np.interp(np.radians([5.0, 45.0, 85.0]), doors.TABLE, turned[1]), rel=0.02)
    assert high - low < 0.12
    for name in DAMPERS:
        e = data["parameters"][name]
        assert abs(e["value"] - truth[name]) < 1.5 * (e["ci95"][1] - e["ci95"][0]) / 2, name


def strut(run: gates.Run) -> gates.Run:
    """A gas strut instead of the spring."""
    length, by = distance(run.q, 0.35 + 0.02j, -0.05 + 0.35j)
    spring = run.gate.spring_0 + run.gate.spring_1 * run.q
    return replace(run, torque=run.torque - spring - (120.0 + 200.0 * (0.6 - length)) * by)


def test_of_a_struts_anchor_the_data_tell_one_direction(tmp_path: Path) -> None:
    """Its place along the lever changes what the strut does as its force does: it must not be called known."""
    linkage = "{type: two-points, body: [0.35, 0.02], ground: [-0.057, 0.357], estimate: true}"
    keys = f"stops: [0 deg, 90 deg]\nmechanism: {{linkage: {linkage}}}\nwithout: [spring]\n"
    keys += "elements: [{type: gas-strut, name: strut, extended: 0.6 m}]\n"
    path, truth = gates.write(tmp_path, 2, strut, keys=keys)
    result = run_experiment(read_experiment(path))
    assert_inside(
        result, truth | {"strut_force": 120.0, "strut_rate": 200.0}, ("I", "b_v", "strut_force", "strut_rate")
    )
    across, along = (result.data["shapes"][f"strut.ground_{axis}"] for axis in "yx")
    assert across["ci95"][0] < 0.35 < across["ci95"][1]
    assert (along["status"], along["ci95"]) == ("not-identifiable", None)
    assert any("strut.ground_x: the data do not tell it by itself" in w for w in result.data["warnings"])


def test_links_as_large_again_turn_as_before() -> None:
    """Why L1 is not among those that `estimate: true` means."""
    bar, q = FourBar(range=(0.0, 1.6)), np.linspace(0.05, 1.55, 31)
    larger = bar.with_lengths([1.3 * x for x in bar.lengths])
    assert np.array(larger.transmit(q, ARRAYS)) == pytest.approx(np.array(bar.transmit(q, ARRAYS)), abs=1e-12)
    assert FourBar(estimate=True).estimated == ("L2", "L3", "L4", "offset")
    assert TwoPoints(estimate="body_x").estimated == ("body_x",)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Hinge(linkage=FourBar(estimate=("L5",))), "there is no size to estimate 'L5'"),
        (lambda: Hinge(linkage=RatioTable(estimate=True)), "it has no lengths that could be estimated"),
    ],
)
def test_what_cannot_be_estimated_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(PalpateError, match=problem):
        make()


@pytest.mark.parametrize("key", ["method: joint", "procedure: two-step"])
def test_procedures_that_do_not_estimate_lengths_say_so(key: str, tmp_path: Path) -> None:
    keys = "mechanism: {linkage: {type: two-points, estimate: true}}\n" + key + "\n"
    path, _ = gates.write(tmp_path, 1, keys=keys)
    experiment = read_experiment(path)
    with pytest.raises(PalpateError, match="Leave its `estimate` out"):
        check_keys(experiment, object_model(experiment))
    said = palpate("explain", path)
    assert "strut.ground_x" in said.stdout
