"""A wheelbarrow in a plane and a hand truck: their twins against other people's physics, and identified again."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate import read_experiment, run_experiment
from palpate.experiment.stage.ground import held_findings
from palpate.mechanisms.rolling import Rolling
from palpate.model import load_object
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import is_consistent, mass_properties
from palpate.physics.motion import Poses, exp_rotation
from palpate.recording import load
from palpate.twin import TWINS
from palpate.twin.instruments import Instruments
from palpate.twin.rolling import (
    BUILDS,
    WHEELBARROW,
    RollingTwin,
    Segment,
    body_poses,
    hand_truck_twin,
    planar_twin,
    pushes,
    random_truck,
    rolling_recordings,
    standing_pitch,
    write_rolling_twin,
)
from tests.command import palpate
from tests.conftest import needs
from tests.oracles.planar_lagrange import hands_in_a_plane
from tests.oracles.rolling_newton import hands_needed
from tests.rolling_session import at_contact, standing_at

PERFECT = Instruments(**dict.fromkeys((f.name for f in fields(Instruments)), 1e-15))
SHAFT = [(-0.05, 0.55, 0.24), (-0.06, 0.70, 0.25), (-0.02, 0.99, 0.26)]
ON_THE_SHAFT = dict(zip(WHEELBARROW.sensors[1], SHAFT, strict=True))
ONE_HANDLE = replace(  # one load cell between both shafts and a bar, z back and x left
    WHEELBARROW,
    drawn=np.array([ON_THE_SHAFT.get(i, place) for i, place in enumerate(WHEELBARROW.drawn, start=1)]),
    sensors=WHEELBARROW.sensors[:1],
    axes=([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],),
    places=((-0.043, 1.076, 0.0),),
)
AHEAD = (Segment("train", 4.0, 16.0, ("push", "lift", "mixed")), Segment("test", 18.5, 22.0, ("mixed",)))
TURNED = (Segment("train", 4.5, 20.0, ("push", "scrub", "lift", "mixed")), Segment("test", 23.5, 27.0, ("mixed",)))
AXES = [f"{kind}{axis}" for kind in "FT" for axis in "xyz"]
HIDDEN = {"c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz"}


def perfect(twin: RollingTwin) -> RollingTwin:
    return replace(twin, instruments=PERFECT, noise_m=0.0, hidden=(0.0, 0.0))


def passed_on(twin: RollingTwin) -> tuple[np.ndarray, np.ndarray]:
    """True times within the segments, and what the load cells stored there: (n, 6) at the contact in its axes."""
    cells = rolling_recordings(twin)[1]
    t = twin.load_cell.true(cells["Fx1_RawZero"].clock.times_s)
    inside = np.any([(t > s.begin_s) & (t < s.end_s) for s in twin.wheeling.segments], axis=0)
    at = np.flatnonzero(inside)[::53]
    R, r = body_poses(twin, t[at])
    y = R[:, :, 2] * [1, 1, 0]
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    up = np.broadcast_to([0.0, 0.0, 1.0], y.shape)
    to_contact = np.stack([np.cross(y, up), y, up], axis=1)
    total = np.zeros((len(at), 6))
    for i, (own, place) in enumerate(zip(twin.R_body_sensor, twin.r_body_sensor, strict=True)):
        wrench = cells.stack([f"{axis}{i + 1}_RawZero" for axis in AXES])[at]
        force = np.einsum("nij,nj->ni", R @ own, wrench[:, :3])
        moment = np.einsum("nij,nj->ni", R @ own, wrench[:, 3:])
        moment += np.cross(r * [0, 0, 1] + R @ place, force)
        total += np.hstack([np.einsum("nij,nj->ni", to_contact, part) for part in (force, moment)])
    return t[at], total


# The physics


@pytest.mark.parametrize("sensors", [1, 2])
def test_in_a_plane_the_hands_do_what_lagrange_asks(sensors: int) -> None:
    twin = perfect(planar_twin(2, build=ONE_HANDLE if sensors == 1 else WHEELBARROW, sway=0.0, segments=AHEAD))
    t, found = passed_on(twin)
    path, phi, values = twin.wheeling.path(t), twin.model.p[:10], twin.model.values
    mass, com, _ = mass_properties(phi)
    force, moment = hands_in_a_plane(
        {"m": mass, "down": com[0], "back": com[1], "I": phi[9]},
        {"r": twin.wheel.radius, "viscous": values["b_v"], "dry": values["b_c"]},
        (path.rate[0], path.acceleration[0]),
        (path.value[3], path.rate[3], path.acceleration[3]),
        twin.gravity,
    )
    assert np.abs(found[:, 0] - force).max() < 1e-9
    assert np.abs(found[:, 4] - moment).max() < 1e-9
    assert min(force.std(), moment.std()) > 10
    assert np.abs(path.value[2]).max() == 0
    assert found[:, [3, 5]].std(axis=0).min() > 0.1  # hands press against the guide, which is nobody's business


@pytest.mark.parametrize("sensors", [1, 2])
def test_a_hand_truck_moves_as_mujocos(sensors: int) -> None:
    needs("mujoco", "mujoco")
    from tests.oracles.cart_mujoco import cart_forces

    twin = perfect(
        hand_truck_twin(2, build=BUILDS["hand-truck" if sensors == 1 else "hand-truck-two-handles"], segments=TURNED)
    )
    t, found = passed_on(twin)
    path, truck, values = twin.wheeling.path(t), twin.wheel, twin.model.values
    v, turning, a, turning_more = *path.rate[:2], *path.acceleration[:2]
    cos, sin, still = np.cos(path.value[1]), np.sin(path.value[1]), np.zeros_like(t)
    needed = cart_forces(
        twin.model.p[:10],
        np.stack([still, still, path.value[1], path.value[3]], axis=1),
        np.stack([v * cos, v * sin, turning, path.rate[3]], axis=1),
        np.stack(
            [a * cos - v * turning * sin, a * sin + v * turning * cos, turning_more, path.acceleration[3]], axis=1
        ),
        twin.gravity,
    )
    force, about_up = cos * needed[:, 0] + sin * needed[:, 1], needed[:, 2] + values["b_psi"] * turning
    force = force + values["b_v"] * v / truck.radius**2
    for beside, dry in zip((truck.track / 2, -truck.track / 2), (values["b_left"], values["b_right"]), strict=True):
        held = dry * np.sign(v - beside * turning) / truck.radius  # the ground holds this wheel back, beside the middle
        force, about_up = force + held, about_up - beside * held
    assert np.abs(found[:, 0] - force).max() < 1e-9
    assert np.abs(found[:, 4] - (needed[:, 3] + truck.radius * force)).max() < 1e-9
    assert np.abs(found[:, 5] - about_up).max() < 1e-9
    assert (found[:, [0, 4, 5]].std(axis=0) > [10, 10, 1]).all()
    assert values["b_left"] != values["b_right"]


@pytest.mark.parametrize("twin", [planar_twin(1, sway=0.0), hand_truck_twin(1)], ids=["planar", "truck"])
def test_newton_and_euler_ask_for_the_same_hands(twin: RollingTwin) -> None:
    """Two derivations that share nothing: a balance at the contact, and the object file's mechanism and elements."""
    assert [e.name for e in twin.model.elements] == [e.name for e in load_object(twin.build.object).elements]
    t = np.arange(8.0, 42.0, 0.02)
    wheel, path, values = twin.wheel, twin.wheeling.path(t), dict(twin.model.values)
    theirs = hands_needed(twin.model.p[:10], values, wheel.radius, wheel.track, path, twin.gravity)
    rows = [{"n_y": 4, "n_z": 5, "f_x": 0}[row.name] for row in twin.model.mechanism.rows]
    ours = at_contact(twin, t)[0]
    assert np.abs(ours - theirs)[:, rows].max() < 1e-10
    assert (ours[:, rows].std(axis=0) > 1).all()


@pytest.mark.parametrize(
    "twin", [planar_twin(3, sway=0.0), hand_truck_twin(3), hand_truck_twin()], ids=["planar", "truck", "own"]
)
def test_feet_stand_or_are_clear_and_nothing_leans(twin: RollingTwin) -> None:
    t = np.arange(0, twin.duration_s, 0.01)
    R, r = body_poses(twin, t)
    heights = (np.array(twin.wheel.feet) @ R.transpose(0, 2, 1) + r[:, None])[:, :, 2]
    stands = standing_at(twin, t)
    assert np.abs(heights[stands]).max() < 1e-12
    assert heights[~stands].min() > -1e-12
    inside = np.any([(t >= s.begin_s) & (t < s.end_s) for s in twin.wheeling.segments], axis=0)
    assert heights[inside].min() > 0.03
    assert np.abs(R[:, 2, 2]).max() < 1e-12
    done = pushes(twin, t)
    assert at_contact(twin, t)[1][~stands, 2].min() > 20
    assert np.abs(done[:, inside, :3]).max() < 700
    apart = np.linalg.norm(twin.places[:, None] - twin.places, axis=2) + np.eye(len(twin.places))
    assert apart.min() > 0.02


def test_random_hand_trucks_are_bodies() -> None:
    for seed in range(40):
        truck = random_truck(np.random.default_rng(seed))
        mass, com, _ = mass_properties(truck.p[:10])
        assert is_consistent(truck.p[:10])
        assert 25 <= mass <= 70
        assert -0.25 < com[0] < 0 < com[1] < 0.6
        assert 85 < np.degrees(standing_pitch(truck)) < 91


# What is held is no evidence


@pytest.mark.parametrize("moves", ["planar", "upright"])
def test_what_is_measured_of_a_held_freedom_is_not_looked_at(moves: Any) -> None:
    """A wheelbarrow leans and turns; to a mechanism that does neither, its motion is one that does neither."""
    swaying = planar_twin(1, sway=1.0, segments=AHEAD)
    t = np.arange(4.0, 16.0, 0.01)
    path, place = swaying.wheeling.path(t), swaying.wheeling.contact(t)
    full = Rolling(radius=swaying.wheel.radius)
    states = np.stack([*place.T, *path.value[1:], *path.rate], axis=1)
    motion = full.motion(t, states, path.acceleration.T)
    k = Rolling(radius=full.radius, moves=moves).observe(motion)
    R = np.asarray(k.omega).T
    ahead = np.stack([-np.sin(path.value[3]), -np.cos(path.value[3]), 0 * t], axis=1)  # x_C in the body without camber
    assert np.abs((R * ahead).sum(axis=1)).max() < 1e-12
    assert np.abs(np.asarray(full.observe(motion).coordinates["camber"].speed)).max() > 0.02
    assert np.abs(np.asarray(k.coordinates["camber"].position)).max() == 0
    assert np.abs(np.asarray(k.coordinates["pitch"].speed) - path.rate[3]).max() < 0.02
    model = load_object("wheelbarrow-planar")
    columns = np.array(model.elements[0].columns(model.elements[0].features(k, {}, ARRAYS)), dtype=object)
    shown = np.zeros(10, dtype=bool)
    mechanism = Rolling(radius=full.radius, moves=moves)
    for i in range(10):
        rows = mechanism.project(k, list(columns[:, i]), ARRAYS)
        shown[i] = any(float(np.abs(np.asarray(row)).max()) > 0 for row in rows)
    names = ["m", "c_x", "c_y", "c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"]
    assert {n for n, s in zip(names, shown, strict=True) if not s} == set(mechanism.hidden)
    assert (set(mechanism.hidden) == HIDDEN) == (moves == "planar")


def test_a_motion_without_camber_is_observed_as_it_is() -> None:
    twin = hand_truck_twin(1, segments=TURNED)
    t = np.arange(4.5, 20.0, 0.01)
    path, place = twin.wheeling.path(t), twin.wheeling.contact(t)
    rolling = Rolling(radius=twin.wheel.radius, moves="upright", track=twin.wheel.track)
    states = np.stack([*place.T, path.value[1], path.value[3], path.rate[0], path.rate[1], path.rate[3]], axis=1)
    motion = rolling.motion(t, states, path.acceleration[[0, 1, 3]].T)
    seen, k = rolling.observe(motion), rolling.expand(list(states.T), list(path.acceleration[[0, 1, 3]]), ARRAYS)
    for ours, theirs in zip((*seen.omega, *seen.omega_dot), (*k.omega, *k.omega_dot), strict=True):
        assert np.abs(ours - theirs).max() < 1e-12
    assert np.abs(rolling.states(motion) - states).max() < 1e-12


def test_at_rest_no_friction_of_either_wheel_is_left() -> None:
    """Rows for samples in which the one or the other wheel may stand still."""
    truck = Rolling(radius=0.12, moves="upright", track=0.5)
    state = [0.1, 0.2, 0.3, 0.9, 0.2, 1.5, -0.4]
    still = truck.at_rest()
    k = still.turned(truck.expand(state, [0.0, 0.0, 0.0], ARRAYS))
    for name in truck.moving:
        assert np.abs(np.array(k.coordinates[name].ratio, dtype=float)).max() < 1e-15
    assert truck.moving == ("wheel_left", "wheel_right")
    rows = still.project(k, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ARRAYS)
    assert rows[0] == pytest.approx(6.0)  # about the axle, with the bearing free, hands alone
    assert rows[1:] == [0.0, 0.0]


def test_an_object_that_does_not_hold_what_it_says_is_named() -> None:
    twin = hand_truck_twin(1, segments=TURNED)
    t = np.arange(4.0, 28.0, 0.01)
    poses = Poses(t, *body_poses(twin, t))
    segments = {"train": [(4.5, 20.0)], "test": [(23.5, 27.0)]}
    assert held_findings(poses, segments, load_object("hand-truck").mechanism) == []
    assert held_findings(poses, segments, load_object("wheelbarrow").mechanism) == []
    told = [f.sentence for f in held_findings(poses, segments, load_object("wheelbarrow-planar").mechanism)]
    assert "neither shows nor needs" in told[0]
    assert "but it turns by" in told[1]
    assert "4.5 to 20 s" in told[1]
    leaning = exp_rotation(np.stack([0.1 * np.sin(t), 0 * t, 0 * t], axis=1))
    leans, truck = replace(poses, rotation=leaning @ poses.rotation), load_object("hand-truck").mechanism
    told = [f.sentence for f in held_findings(leans, segments, truck)]
    assert "stays upright, but it leans by" in told[0]


# Identified


def short(folder: Path, twin: RollingTwin) -> tuple[Path, dict[str, float]]:
    """A short session with the handle's true model; the experiment file and the true parameters."""
    file = write_rolling_twin(folder, twin, handle=False)
    load_object("handle").of_object().with_values(twin.phi).save(folder / "handle.json")
    file.write_text(file.read_text().replace("handle/handle.yaml", "handle.json"))
    truth = json.loads((folder / "truth.json").read_text())["parameters"]
    return file, {name: entry["value"] for name, entry in truth.items()}


def outside(found: dict[str, Any], truth: dict[str, float]) -> list[str]:
    told = {n: e["ci95"] for n, e in found.items() if e["ci95"] is not None}
    return [n for n, (low, high) in told.items() if not low <= truth[n] <= high]


def test_a_person_pushes_straight_and_the_plane_is_identified(tmp_path: Path) -> None:
    """One load cell; the person sways, which a guide would not let."""
    file, truth = short(tmp_path, planar_twin(1, build=ONE_HANDLE, sway=1.0, segments=AHEAD))
    result = run_experiment(read_experiment(file))
    assert result.data["verdict"] == {"passed": True, "reasons": []}
    found = result.data["parameters"]
    assert {n for n, e in found.items() if e["status"] == "not-identifiable"} == HIDDEN
    assert {n for n, e in found.items() if e["status"] == "identified"} == {"c_x", "c_y", "Izz", "b_v", "b_c"}
    assert {(found[n]["value"], found[n]["information_from_data"]) for n in HIDDEN} == {(None, 0.0)}
    assert outside(found, truth) == []
    assert found["Izz"]["value"] == pytest.approx(truth["Izz"], rel=0.02)
    assert found["b_c"]["value"] == pytest.approx(truth["b_c"], rel=0.05)
    assert any("neither shows nor needs" in w and "Iyz" in w for w in result.data["warnings"])
    assert not any("kappa" in w or "leans" in w for w in result.data["warnings"])
    assert result.data["weakest_direction"] is None
    assert result.model is not None
    assert is_consistent(result.model.p[:10])


def test_a_hand_truck_with_one_handle_is_identified(tmp_path: Path) -> None:
    file, truth = short(tmp_path, hand_truck_twin(1, segments=TURNED))
    assert "wrench_2" not in file.read_text()
    done = palpate("identify", file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "Verdict: passed" in done.stdout
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = result["parameters"]
    assert list(result["rms"]["test"]) == ["n_y", "n_z", "f_x"]
    assert len(outside(found, truth)) <= 1  # one of thirteen 95 % intervals may
    assert {found[n]["status"] for n in ("c_x", "c_y", "Izz", "b_v", "b_left", "b_right", "b_psi")} == {"identified"}
    for name, within in (("Izz", 0.02), ("b_left", 0.06), ("b_right", 0.06), ("b_psi", 0.15)):
        assert found[name]["value"] == pytest.approx(truth[name], rel=within)
    model = json.loads((tmp_path / "out" / "model.json").read_text())
    assert model["mechanism"]["track"] == pytest.approx(hand_truck_twin(1).wheel.track)


# The files


@pytest.mark.usefixtures("short_handles")
@pytest.mark.parametrize(
    ("kind", "devices", "markers", "parameters"),
    [
        ("wheelbarrow-planar", ["Platform", "Platform_2"], 23, ["b_v", "b_c"]),
        ("hand-truck", ["Platform"], 18, ["b_v", "b_left", "b_right", "b_psi"]),
    ],
)
def test_a_folder_has_all_that_the_stages_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, devices: list[str], markers: int, parameters: list[str]
) -> None:
    monkeypatch.setattr("palpate.twin.rolling.random_segments", lambda *_: AHEAD)
    assert kind in TWINS
    done = palpate("twin", kind, tmp_path / "new", "--seed", "4", "--json")
    assert done.returncode == 0, done.stderr
    file = Path(json.loads(done.stdout)["experiment"])
    config, truth = read_experiment(file).config, json.loads((file.parent / "truth.json").read_text())
    assert config.object == kind
    assert list(truth["parameters"])[10:] == parameters
    assert set(truth["parameters"]) - {"m", "c_x", "c_y", "Izz", *parameters} == HIDDEN
    parts = [part for part in (config.recordings.wrench, config.recordings.wrench_2) if part is not None]
    assert [part.device for part in parts] == devices
    for device in devices:
        assert len(load(file.parent / "wrench.mat", format="dspace-mat", device=device)) == 6
    points = load(file.parent / config.recordings.mocap.file)
    assert len(points) == markers
    assert 0.01 < np.isnan(np.stack([points[n].samples[:, 0] for n in points])).mean() < 0.1
    assert load(file.parent / "imu.csv").format == "microstrain-csv"
    assert json.loads((file.parent / "handle" / "truth.json").read_text())["phi"] == truth["phi"]
    assert truth["seed"] == 4


def test_without_a_seed_they_are_typical() -> None:
    planar, truck = planar_twin(), hand_truck_twin()
    assert planar.model.p[0] == 45.0
    assert planar.model.p[10:].tolist() == [0.388, 1.172]
    model = load_object("hand-truck").mechanism
    assert isinstance(model, Rolling)
    assert (truck.wheel.radius, truck.wheel.track) == (model.radius, model.track)
    assert planar_twin(1).model.p[0] != planar_twin(2).model.p[0]
