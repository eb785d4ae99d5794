"""Several results side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palpate.errors import PalpateError
from palpate.experiment import Result
from palpate.experiment.comparison import compare, kind_of_result, mean_model, pool
from palpate.model import Model
from tests.command import palpate


def take(
    values: Mapping[str, float], std: float = 0.1, *, passed: bool = True, sha: str = "", **more: Any
) -> dict[str, Any]:
    parameters = {
        n: {"value": v, "unit": "kg", "ci95": [v - 2 * std, v + 2 * std], "noise": std, "status": "identified"}
        for n, v in values.items()
    }
    return {
        "palpate_result": 2,
        "title": "take",
        "stage": "body",
        "model_of": "body",
        "parameters": parameters,
        "rms": {"test": {"n_z": {"value": 0.5, "unit": "N m", "percent_of_range": 1.0, "noise": None}}},
        "verdict": {"passed": passed, "reasons": []},
        "provenance": {"palpate": "0", "recordings": [{"file": "a", "sha256": sha or str(values)}]},
        **more,
    }


def test_pooled_intervals_hold_the_mean_of_takes() -> None:
    """Takes with a spread of their own: the interval holds the truth in 95 of 100 cases, with few takes too."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(600):
        stds = rng.uniform(0.5, 1.5, 5)
        found = pool(list(10 + rng.normal(0, 1.0, 5) + rng.normal(0, stds)), list(stds))
        inside.append(abs(found.value - 10) < found.half)
    assert 0.93 < np.mean(inside) < 0.985


def test_takes_of_unequal_noise_that_differ_have_their_spread() -> None:
    found = pool([0.393, -0.264, 0.393], [0.0003, 0.05, 0.0003])
    assert found.between == pytest.approx(np.std([0.393, -0.264, 0.393], ddof=1), rel=0.05)


def test_equal_takes_are_pooled_as_in_any_textbook() -> None:
    """Without a spread between takes: the inverse-variance mean."""
    x, s = np.array([1.0, 1.1, 0.9]), np.array([0.2, 0.4, 0.3])
    found = pool(list(x), list(s))
    assert found.between == 0.0
    assert found.value == pytest.approx(np.sum(x / s**2) / np.sum(s**-2.0))
    assert found.std >= np.sqrt(1 / np.sum(s**-2.0)) - 1e-12
    assert found.chance > 0.5


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(0.1, 10), st.floats(-3, 3))
def test_pooling_does_not_depend_on_units(values: list[float], scale: float, shift: float) -> None:
    stds = [0.3 + 0.1 * i for i in range(len(values))]
    one = pool(values, stds)
    other = pool([scale * v + shift for v in values], [scale * s for s in stds])
    assert other.value == pytest.approx(scale * one.value + shift, abs=1e-9)
    assert other.half == pytest.approx(scale * one.half, rel=1e-9)


@pytest.mark.parametrize("part", ["pull", "systematic", "model"])
def test_what_is_common_to_all_takes_is_not_averaged_away(part: str) -> None:
    """Twenty takes with little noise: one prior, one load cell's scale, one thing that the model lacks."""
    pulled = take({"m": 10.0}, std=0.01)
    pulled["parameters"]["m"] |= {part: 0.5, "ci95": [9.02, 10.98]}
    found = compare({str(i): pulled | {"provenance": {"recordings": [{"sha256": str(i)}]}} for i in range(20)})
    low, high = found["parameters"]["m"]["pooled"]["ci95"]
    assert low < 9.5
    assert high > 10.5


def test_identical_takes_are_rarely_accused() -> None:
    """Takes whose noise is known from ten degrees of freedom; any of twelve numbers, in forty comparisons."""
    rng = np.random.default_rng(3)
    accused = 0
    for _ in range(40):
        takes = {}
        for label in "abc":
            std = 0.1 * np.sqrt(rng.chisquare(10, 12) / 10)
            entry = take({f"p{i}": 1.0 + 0.1 * rng.normal() for i in range(12)}, sha=label)
            for i, e in enumerate(entry["parameters"].values()):
                half = 2.228 * std[i]
                e |= {"noise": float(std[i]), "ci95": [e["value"] - half, e["value"] + half]}
            takes[label] = entry
        accused += bool(compare(takes)["differing"])
    assert accused <= 2


def test_takes_that_differ_a_little_are_marked_and_pooled_with_their_spread() -> None:
    takes = {"a": (10.0, 1.0), "b": (10.4, 1.05), "c": (9.6, 0.98)}
    found = compare({label: take({"m": m, "I": inertia}, std=0.04) for label, (m, inertia) in takes.items()})
    assert found["parameters"]["m"]["pooled"]["chance"] < 1e-6
    assert found["parameters"]["I"]["pooled"]["chance"] > 0.1
    assert [w for w in found["warnings"] if w.startswith("m: the takes differ")]
    low, high = found["parameters"]["m"]["pooled"]["ci95"]
    assert low < 9.6 < 10.4 < high


def test_what_clearly_differs_is_not_pooled() -> None:
    """One number of three: the object changed. Most of them: two objects, of which not even an equal number is one."""
    one = {"m": 10.0, "I": 1.0, "b_c": 2.0}
    found = compare({"a": take(one, std=0.05), "b": take({**one, "b_c": 3.0}, std=0.05, sha="b")})
    assert found["one_object"]
    assert found["parameters"]["b_c"]["pooled"] is None
    assert found["parameters"]["m"]["pooled"]["value"] == pytest.approx(10.0)
    assert found["apart"] == {"b_c": pytest.approx(1 / 3)}
    assert any(w.startswith("b_c is 33 % apart, by more than noise") for w in found["warnings"])
    found = compare({"a": take(one, std=0.05), "b": take({**one, "m": 14.0, "b_c": 3.0}, std=0.05, sha="b")})
    assert not found["one_object"]
    assert [e["pooled"] for e in found["parameters"].values()] == [None, None, None]
    assert any("m is 29 % apart, b_c is 33 % apart" in w and "two different objects" in w for w in found["warnings"])


def test_models_of_different_elements_stand_side_by_side_and_are_not_pooled() -> None:
    """The same names, but another law behind one of them, or a number that one does not have."""
    one, sprung = take({"m": 1.0, "k": 2.0}), take({"m": 1.0, "k": 2.0}, sha="b")
    one["parameters"]["k"]["words"] = "damping, closing below 25.0 deg"
    sprung["parameters"]["k"]["words"] = "damping, closing below 24.1 deg"
    assert kind_of_result(one) == kind_of_result(sprung)
    sprung["parameters"]["k"]["words"] = "stiffness"
    for other in (sprung, take({"m": 1.0}, sha="c")):
        found = compare({"a": one, "b": other})
        assert found["parameters"]["m"]["pooled"] is None
        assert any("the models differ in k" in w and "not pooled" in w for w in found["warnings"])


def test_what_cannot_be_compared_is_refused() -> None:
    one = take({"m": 1.0})
    with pytest.raises(PalpateError, match="two results at least"):
        compare({"a": one})
    with pytest.raises(PalpateError, match="different stages"):
        compare({"a": one, "b": one | {"stage": "handle"}})
    with pytest.raises(PalpateError, match="different objects"):
        compare({"a": take({"I": 1.0, "b_v": 2.0, "b_c": 1.0}), "b": take({"b_v": 1.0, "m": 1.0, "c_x": 0.1})})
    with pytest.raises(PalpateError, match="different parts"):
        compare({"a": one, "b": one | {"model_of": "whole"}})
    with pytest.raises(PalpateError, match=r"different objects \(a: hinge, b: slide\)"):
        compare({"a": one | {"mechanism": {"type": "hinge"}}, "b": one | {"mechanism": {"type": "slide"}}})
    closers = [one | {"mechanism": {"type": "hinge", "linkages": [link]}} for link in ("four-bar", "track-arm")]
    with pytest.raises(PalpateError, match=r"a: hinge with four-bar, b: hinge with track-arm"):
        compare(dict(zip("ab", closers, strict=True)))


def test_failed_and_dependent_takes_are_named() -> None:
    found = compare({"a": take({"m": 1.0}, sha="x"), "b": take({"m": 1.0}, passed=False, sha="x")})
    assert any("verdict of b is failed" in w for w in found["warnings"])
    assert any("not independent" in w for w in found["warnings"])


def test_a_parameter_that_only_one_has_stays_alone() -> None:
    found = compare({"a": take({"m": 1.0, "b": 2.0}), "b": take({"m": 1.1})})
    assert found["differing"] == []
    assert found["parameters"]["b"]["each"]["b"] is None
    assert found["parameters"]["b"]["pooled"] is None


def test_from_the_command_line_with_a_mean_model(door_result: Result, tmp_path: Path) -> None:
    assert door_result.model is not None
    door_result.save(tmp_path / "monday")
    model = door_result.model
    other = replace(model, values={**model.values, "I": 1.02 * model.values["I"]})
    replace(door_result, model=other).save(tmp_path / "tuesday")
    done = palpate(
        "compare", tmp_path / "monday", tmp_path / "tuesday" / "result.json", "--model", tmp_path / "mean.json"
    )
    assert done.returncode == 0, done.stderr
    assert "monday" in done.stdout
    assert "tuesday" in done.stdout
    assert "between takes" in done.stdout
    mean = Model.load(tmp_path / "mean.json")
    assert mean.values["I"] == pytest.approx(1.01 * model.values["I"])
    assert mean.about["identified_from"] == "mean of 2 takes"
    data = json.loads(palpate("compare", tmp_path / "monday", tmp_path / "tuesday", "--json").stdout)
    assert data["palpate_comparison"] == 1
    done = palpate("compare", tmp_path / "monday", tmp_path / "nowhere")
    assert done.returncode == 1
    far = json.loads((tmp_path / "tuesday" / "result.json").read_text())
    far["parameters"]["I"]["value"] *= 3
    (tmp_path / "tuesday" / "result.json").write_text(json.dumps(far))
    done = palpate("compare", tmp_path / "monday", tmp_path / "tuesday", "--model", tmp_path / "no.json")
    assert done.returncode == 1
    assert "there is no mean of these models: they differ in I" in done.stderr
    assert not (tmp_path / "no.json").exists()


def test_models_of_different_kinds_have_no_mean(door_result: Result) -> None:
    assert door_result.model is not None
    with pytest.raises(PalpateError, match="not of the same kind"):
        mean_model([door_result.model, replace(door_result.model, about={"model_of": "whole"})])
