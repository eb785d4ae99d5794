"""Carts of other make through the command line: right numbers where the model is right, and words where it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.inputs import noisier
from palpate.mechanisms import Planar
from palpate.model import load_object
from tests.command import palpate as command
from tests.oracles import carts_of_other_make as carts

PLACES = ((0.6, -0.2), (0.6, 0.2))
HIDDEN = ("c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")


def identified(
    folder: Path, cart: carts.Cart, seed: int, yaml: str = "object: cart\n", **more: Any
) -> Mapping[str, Any]:
    return run_experiment(read_experiment(carts.write(folder, cart, seed, yaml, **more))).data


def outside(data: Mapping[str, Any], truth: dict[str, float]) -> dict[str, float]:
    """Half widths by which numbers with an interval are off, of those beyond it."""
    off: dict[str, float] = {}
    for name, true in truth.items():
        ends = data["parameters"][name]["ci95"]
        if ends is not None:
            off[name] = abs(true - sum(ends) / 2) / ((ends[1] - ends[0]) / 2)
    return {name: x for name, x in off.items() if x > 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cart identified by the command line."""
    folder = tmp_path_factory.mktemp("cart")
    done = command("identify", carts.write(folder, carts.random_cart(1), 1, "object: cart\n"), "-o", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_cart_is_identified_from_the_command_line(folder: Path) -> None:
    data, truth = json.loads((folder / "out" / "result.json").read_text()), carts.random_cart(1).truth
    assert not outside(data, truth)
    for name, limit in {"m": 0.01, "c_x": 0.02, "Izz": 0.01, "b_left": 0.04, "b_right": 0.05, "b_v": 0.2}.items():
        low, high = data["parameters"][name]["ci95"]
        assert high - low < 2 * limit * truth[name], name
    assert {name for name in HIDDEN if data["parameters"][name]["value"] is None} == set(HIDDEN)
    assert {n: c["value"] < 2e-3 for n, c in data["replay"]["coordinates"].items()} == {
        "x": True,
        "y": True,
        "yaw": True,
    }
    assert "vertical" in data["mechanism"]


def test_its_model_goes_wherever_it_can_be_said(folder: Path) -> None:
    """C, FMU and ros2_control of every object that ships, carts among them: `test_export_command.py`."""
    for to in ("mjcf", "urdf"):
        done = command("export", folder / "out", "--to", to, "-o", folder / to)
        assert done.returncode == 0, done.stderr
    done = command("validate", folder / "out" / "model.json", folder / "cart.yaml")
    assert done.returncode == 0, done.stderr
    done = command(
        "simulate", folder / "out" / "model.json", "--force", "20", "--for", "1", "-o", folder / "motion.csv"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "out" / "model.json").read_text())["mechanism"]["track"] == 0.5


def test_an_axle_without_markers_is_found_from_the_motion(tmp_path: Path) -> None:
    cart = carts.random_cart(4)
    data = identified(tmp_path, cart, 4, base="{ahead: [B1, B2]}")
    assert data["verdict"]["passed"]
    assert not outside(data, cart.truth)


def test_an_axle_that_markers_have_elsewhere_is_named(tmp_path: Path) -> None:
    cart = carts.random_cart(1)
    data = identified(tmp_path, cart, 1, moved={"A1": 0.05, "A2": 0.05})
    assert not data["verdict"]["passed"]
    assert "50 mm behind the markers of the axle" in data["verdict"]["reasons"][0]
    data = identified(tmp_path, cart, 1, moved={"A1": 0.007, "A2": 0.007})
    assert data["verdict"]["passed"]
    assert any("7 mm behind the markers" in w for w in data["warnings"])
    assert not outside(data, cart.truth)


def test_an_axle_that_slips_is_named(tmp_path: Path) -> None:
    cart = replace(carts.random_cart(1), slip=0.05)
    data = identified(tmp_path, cart, 1)
    assert not data["verdict"]["passed"]
    assert "its wheels slip" in data["verdict"]["reasons"][0]
    assert not outside(data, cart.truth)


@pytest.mark.parametrize(("name", "seed"), [("walker", 1), ("office-chair", 3)])
def test_what_rolls_on_casters_is_identified(name: str, seed: int, tmp_path: Path) -> None:
    mechanism = load_object(name).mechanism
    assert isinstance(mechanism, Planar)
    cart = carts.with_casters(carts.random_cart(seed, axle=mechanism.axle), seed, mechanism.casters)
    data = identified(tmp_path, cart, seed, f"object: {name}\nmechanism: {{trail: {cart.trail} m}}\n")
    assert data["verdict"]["passed"], data["verdict"]["reasons"]
    assert not outside(data, cart.truth)
    assert data["parameters"]["b_roll_1"]["status"] == data["parameters"]["b_swivel_2"]["status"] == "identified"
    assert data["replay"]["coordinates"].keys() == {"x", "y", "yaw"}  # nobody measured the swivels
    assert data["replay"]["rms"] < 0.003
    assert data["kappa"] < 30  # what no motion shows has no part in it


def test_an_imu_on_a_walker_sharpens_its_numbers(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(2), 2, ((0.45, 0.22), (0.45, -0.22)))
    data = identified(tmp_path, cart, 2, f"object: walker\nmechanism: {{trail: {cart.trail} m}}\n", imu=True)
    assert data["verdict"]["passed"], data["verdict"]["reasons"]
    assert data["motion"]["from"] == "markers and IMU"
    assert not outside(data, cart.truth)
    low, high = data["parameters"]["m"]["ci95"]
    assert high - low < 0.002 * cart.truth["m"]


def test_dry_friction_in_the_pivots_of_casters_is_found(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(1), 1, ((0.45, 0.22), (0.45, -0.22)), dry=True)
    elements = "".join(f"  - {{type: coulomb, name: c_swivel_{i}, acts_on: caster_{i}_swivel}}\n" for i in (1, 2))
    yaml = f"mechanism: {{trail: {cart.trail} m}}\nwithout: [b_swivel_1, b_swivel_2]\nelements:\n{elements}"
    data = identified(tmp_path, cart, 1, f"object: walker\n{yaml}")
    assert data["verdict"]["passed"], data["verdict"]["reasons"]
    assert not outside(data, cart.truth)


def test_a_trail_that_is_wrong_is_named_and_found_where_the_data_shall_tell_it(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(2), 2, ((0.45, 0.22), (0.45, -0.22)))
    stated = f"trail: {0.85 * cart.trail:.5f} m"  # 7 mm less: what a tape measure has off is found along
    data = identified(tmp_path, cart, 2, f"object: walker\nmechanism: {{{stated}}}\n")
    assert not data["verdict"]["passed"]
    off = re.search(r"another trail than stated, as if it were (.*) mm more", data["verdict"]["reasons"][0])
    assert off is not None
    assert float(off[1]) == pytest.approx(150 * cart.trail, rel=0.2)
    assert "mechanism: {estimate: [trail]}" in data["verdict"]["reasons"][0]
    assert not outside(data, cart.truth)
    data = identified(tmp_path, cart, 2, f"object: walker\nmechanism: {{{stated}, estimate: [trail]}}\n")
    assert data["verdict"]["passed"]
    assert not outside(data, cart.truth)
    low, high = data["shapes"]["trail"]["ci95"]
    assert low < cart.trail < high
    assert high - low < 0.002


def test_a_track_that_is_wrong_is_named_and_found_where_the_data_shall_tell_it(tmp_path: Path) -> None:
    cart = carts.random_cart(1)
    data = identified(tmp_path, cart, 1, "object: cart\nmechanism: {track: 0.4 m}\n")
    (told,) = (w for w in data["warnings"] if "than stated" in w)
    off = re.search(r"another track than stated, as if it were (.*) mm more", told)
    assert off is not None
    assert 80 < float(off[1]) < 120
    assert "mechanism: {estimate: [track]}" in told
    data = identified(tmp_path, cart, 1, "object: cart\nmechanism: {track: 0.4 m, estimate: true}\n")
    assert any("the data want" in w for w in data["warnings"])
    low, high = data["shapes"]["track"]["ci95"]
    assert low < cart.track < high
    assert high - low < 0.02


def test_a_joint_estimate_finds_each_size_once(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(5), 5, ((0.45, 0.22), (0.45, -0.22)))
    stated = f"object: walker\nmethod: joint\nmechanism: {{trail: {1.05 * cart.trail:.5f} m}}\n"
    data = identified(tmp_path, cart, 5, stated)
    off = [x["standard_deviations"] for x in data["joint"]["off"] if x["name"] == "links"]
    moved = [(x["value"] - x["stated"]) / 0.002 for x in data["shapes"].values()]  # a tape measure's 2 mm
    assert off == pytest.approx(moved, abs=1e-6)
    low, high = data["shapes"]["trail"]["ci95"]
    assert low < cart.trail < high


def test_another_trail_is_seen_with_the_same_noise(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(5), 5, ((0.45, 0.22), (0.45, -0.22)))
    inputs = prepare_experiment(read_experiment(carts.write(tmp_path, cart, 5, "object: walker\n"))).inputs
    longer = replace(inputs.model, mechanism=inputs.mechanism.with_sizes({"trail": 0.05}))
    noisy = noisier(inputs, np.random.default_rng(0))
    clean, moved = (x.with_model(longer).q - x.q for x in (inputs, noisy))
    assert np.nanmax(np.abs(clean[:, 3:])) > 0.1
    assert np.nanmax(np.abs(moved - clean)) < 1e-9


def test_casters_that_nobody_knows_are_not_guessed(tmp_path: Path) -> None:
    mechanism = load_object("office-chair").mechanism
    assert isinstance(mechanism, Planar)
    cart = carts.with_casters(carts.random_cart(12, axle=False), 12, mechanism.casters)  # it hardly gets anywhere
    path = carts.write(tmp_path, cart, 12, f"object: office-chair\nmechanism: {{trail: {cart.trail} m}}\n")
    with pytest.raises(palpate.PalpateError, match=r"segments\.train: the path does not tell where casters point in 6"):
        run_experiment(read_experiment(path))


def test_casters_that_the_model_lacks_are_noticed(tmp_path: Path) -> None:
    cart = carts.with_casters(carts.random_cart(1), 1, PLACES)
    data = identified(tmp_path, cart, 1)
    assert not data["verdict"]["passed"]
    assert any("is dry friction" in reason for reason in data["verdict"]["reasons"])


def test_markers_that_a_cart_needs_are_asked_for(tmp_path: Path) -> None:
    path = carts.write(tmp_path, carts.random_cart(1), 1, "object: cart\n")
    text = path.read_text()
    path.write_text(text.replace("  base: {axle: [A1, A2]}\n", ""))
    with pytest.raises(palpate.PalpateError, match=r"markers\.base: this key is missing"):
        run_experiment(read_experiment(path))
    path.write_text(text.replace("{axle: [A1, A2]}", "{axle: [A1, A2], ahead: [B1, B2]}"))
    with pytest.raises(palpate.PalpateError, match="exactly one of axle and ahead"):
        read_experiment(path)
    path.write_text(text.replace("object: cart", "object: hand-truck"))
    with pytest.raises(palpate.PalpateError, match=r"markers\.base: this key is only for"):
        run_experiment(read_experiment(path))
