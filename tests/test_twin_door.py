"""The door twin is proven against SciPy's integrator, MuJoCo and plain geometry before anything is proven with it."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy.interpolate import CubicSpline
from scipy.ndimage import binary_dilation

from palpate.mechanisms import Hinge
from palpate.model import Model
from palpate.physics.inertia import PHI_NAMES
from palpate.recording import Recording, load
from palpate.runtime import Stepper, StepStatus
from palpate.twin.authors import paper_door_twin
from palpate.twin.door import (
    TABLE,
    DoorTwin,
    door_recordings,
    door_twin,
    paper_door,
    person_wrench,
    simulate_door,
    stop_at,
    write_door_twin,
)
from palpate.twin.handle import random_handle
from palpate.twin.instruments import T_MARKER, Instruments
from palpate.twin.person import Phase, Session, Truth
from tests.conftest import needs
from tests.oracles import door_ode
from tests.varied_doors import VARIANTS, door_of

DT = 1e-3
SHORT = Session(still_s=1.5, sweep_s=4.0, steps=40, blocks=(("train", 3.0),), tail_s=7.5)
PERFECT = Instruments(**dict.fromkeys((f.name for f in fields(Instruments)), 1e-15))
NAMES = [f"{kind}{axis}1_RawZero" for kind in "FT" for axis in "xyz"]


def stopped(truth: Truth) -> Any:
    """Where an end stop is pressed, and one step more on either side."""
    return binary_dilation(truth.status == StepStatus.AT_LIMIT)


def oracle(model: Model) -> door_ode.Door:
    """The same door for SciPy."""
    v, z = model.values, model.shapes
    assert isinstance(model.mechanism, Hinge)
    linkage: Any = model.mechanism.linkage
    numbers = {name: v[name] for name in ("I", "b_v", "b_c", "b_bc", "b_s", "b_l")}
    return door_ode.Door(
        lengths=linkage.lengths,
        c=tuple(v[f"c_{i}"] for i in range(4)),
        theta_bc=z["b_bc.above"],
        eps_bc=z["b_bc.width"],
        theta_l=z["b_s.above"],
        eps_l=z["b_s.width"],
        **numbers,
    )


def phase(seconds: float, degrees: float, shake: float = 0.0) -> Phase:
    return Phase(seconds, math.radians(degrees), 0.8 * seconds, math.radians(shake))


@pytest.fixture(scope="module")
def twin() -> DoorTwin:
    """All that a person does, in sixteen seconds."""
    twin = replace(door_twin(3, session=SHORT), instruments=PERFECT)
    moves = (phase(1.0, 30), phase(2.0, 50, 9), phase(2.0, 98), phase(1.5, 25), phase(1.5, -4), phase(2.0, 75))
    return replace(twin, phases=(Phase(1.5, None), *moves, Phase(4.5, None)))


@pytest.fixture(scope="module")
def truth(twin: DoorTwin) -> Truth:
    return simulate_door(twin, dt=DT)


@pytest.fixture(scope="module")
def recordings(twin: DoorTwin, truth: Truth) -> tuple[Recording, Recording, Recording, Recording, dict[str, Any]]:
    return door_recordings(twin, truth)


def error_deg(twin: DoorTwin, truth: Truth, torque: np.ndarray, first: int, last: int) -> float:
    """How far the oracle's door gets from the twin's, given a torque on the whole."""
    t, door = truth.times_s, oracle(twin.whole)
    coarse, fine = np.linspace(-0.02, 1.7, 300), np.linspace(-0.02, 1.7, 100_000)
    table = np.ascontiguousarray(CubicSpline(coarse, [door_ode.linkage(door, float(x)) for x in coarse])(fine).T)
    with pytest.MonkeyPatch.context() as patch:  # its own linkage, but quicker
        patch.setattr(door_ode, "linkage", lambda _, x: tuple(float(np.interp(x, fine, y)) for y in table))
        path = door_ode.simulate(
            door,
            lambda s: float(np.interp(s, t, torque)),
            t[first:last:8],
            float(truth.position[first]),
            float(truth.speed[first]),
        )
    return math.degrees(np.abs(path[:, 0] - truth.position[first:last:8]).max())


# The physics


def test_the_recorded_torque_moves_the_oracles_door_the_same_way(twin: DoorTwin, truth: Truth) -> None:
    first, last = 3500, 5700  # shaking, then on to where it opens wide
    assert not stopped(truth)[first:last].any()
    assert np.ptp(truth.position[first:last]) > math.radians(40)
    assert error_deg(twin, truth, truth.effort, first, last) < 0.02


def test_it_sticks_as_the_oracles_door_does() -> None:
    steps = [Phase(1.2, math.radians(a), 0.5) for a in (40.0, 44.0, 40.0)]
    twin = replace(door_twin(2), phases=(Phase(0.2, None), Phase(1.6, math.radians(36.0), 1.4), *steps))
    truth = simulate_door(twin, dt=DT)
    first = 1400
    assert 0.1 < (truth.status[first:] == StepStatus.STICKING).mean() < 0.9
    assert error_deg(twin, truth, truth.effort, first, len(truth.position)) < 0.02
    # what friction holds is within its level
    sticking = truth.status == StepStatus.STICKING
    rests = np.flatnonzero(sticking[first:] & sticking[first - 1 : -1])[::20] + first
    pushed = [door_ode._drive(oracle(twin.whole), truth.position[i], 0.0, truth.effort[i]) for i in rests]
    assert np.abs(pushed).max() <= twin.model.values["b_c"] * (1 + 1e-6)


def test_the_torque_is_what_the_hand_gave_but_for_the_steppers_first_order(twin: DoorTwin, truth: Truth) -> None:
    off = [np.sqrt(((t.effort - t.pushed) ** 2).mean()) for t in (truth, simulate_door(twin, dt=2 * DT))]
    assert off[0] < 0.03
    assert off[1] / off[0] == pytest.approx(2.0, rel=0.1)
    assert np.abs((truth.effort - truth.pushed)[truth.grip == 0]).max() < 0.1  # nobody is there


def test_the_stored_wrench_moves_the_body_alone(
    twin: DoorTwin, truth: Truth, recordings: tuple[Recording, ...]
) -> None:
    """The oracle's acceleration of the pre-sensor door under the load cell's moment about the hinge."""
    cell = recordings[2]
    t = twin.load_cell.true(cell[NAMES[0]].clock.times_s)
    stored = cell.stack(NAMES) @ np.eye(6)
    about = (
        np.cross(twin.r_body_sensor[0], stored[:, :3] @ twin.R_body_sensor[0].T)
        + stored[:, 3:] @ twin.R_body_sensor[0].T
    )
    held = stopped(truth) | (truth.status == StepStatus.STICKING)
    steady = (np.interp(t, truth.times_s, held) == 0) & (np.abs(truth.at("speed", t)) > 0.01)
    use = np.flatnonzero(steady & (t > 0.1) & (t < truth.times_s[-1] - 0.1))[::40]
    assert len(use) > 200
    angle, speed, acceleration = (truth.at(n, t[use]) for n in ("position", "speed", "acceleration"))
    body = oracle(twin.model)
    found = [door_ode.acceleration(body, a, v, tau) for a, v, tau in zip(angle, speed, about[use, 2], strict=True)]
    assert body.I * np.abs(np.array(found) - acceleration).max() < 2e-3  # N m; linear between the steps
    assert body.I * np.std(np.array(found) - acceleration) < 2e-4
    assert twin.whole.values["I"] > body.I + 0.2


def test_between_person_and_load_cell_is_mujocos_handle(
    twin: DoorTwin, truth: Truth, recordings: tuple[Recording, ...]
) -> None:
    needs("mujoco", "mujoco")
    from tests.oracles.mujoco_body import body_wrench

    cell = recordings[2]
    t = twin.load_cell.true(cell[NAMES[0]].clock.times_s)
    i = np.arange(1000, len(truth.times_s) - 1000, 80)
    cos, sin = np.cos(truth.position), np.sin(truth.position)
    x, y, z = twin.r_body_sensor[0]
    down = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
    path = np.stack([cos * x - sin * y, sin * x + cos * y, np.full_like(cos, z)], axis=1) @ down.T
    a = (path[i + 1] - 2 * path[i] + path[i - 1]) / DT**2
    turned = np.array([[[c, -s, 0], [s, c, 0], [0, 0, 1]] for c, s in zip(cos[i], sin[i], strict=True)])
    R = down @ turned @ twin.R_body_sensor[0]
    spin = twin.R_body_sensor[0][2]  # z of the hinge in the sensor frame
    omega, omega_dot = truth.speed[i, None] * spin, truth.acceleration[i, None] * spin
    theirs = body_wrench(twin.phi, R, omega, omega_dot, a, twin.gravity)
    held = person_wrench(twin, truth, t) - cell.stack(NAMES)
    ours = np.stack([np.interp(truth.times_s[i], t, held[:, j]) for j in range(6)], axis=1)
    jerk = np.abs(np.diff(truth.acceleration)) / DT  # knocks are not linear between the steps
    calm = (np.max([jerk[i - 2], jerk[i - 1], jerk[i], jerk[i + 1]], axis=0) < 100) & ~stopped(truth)[i]
    assert calm.mean() > 0.7
    assert np.abs(ours - theirs)[calm].max() < 4e-3
    assert np.abs(theirs).max() > 5


def test_the_hand_lets_go_hits_both_stops_and_pulls_every_way(twin: DoorTwin, truth: Truth) -> None:
    assert truth.position.max() > stop_at(twin.model, "widest")
    pressed = truth.position < stop_at(twin.model, "frame")
    assert (pressed & (truth.grip == 1)).any()
    gone = truth.grip == 0
    held = person_wrench(twin, truth, truth.times_s)
    assert np.abs(held[gone & (truth.times_s < 2)]).max() == 0.0
    assert (held[truth.grip == 1].std(axis=0) > [2, 2, 2, 0.2, 0.2, 0.2]).all()
    spectrum = np.abs(np.fft.rfft(np.where(stopped(truth), 0.0, truth.effort)))
    assert spectrum[np.fft.rfftfreq(len(truth.effort), DT) > 10].max() < 0.05 * spectrum[1:].max()


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_doors_close_by_themselves(variant: Any) -> None:
    for seed in range(2):
        model = door_of(variant)(np.random.default_rng(seed))
        stepper, out = Stepper(model, 4e-3), np.empty(3)
        stepper.reset((math.radians(80), 0.0))
        angle = np.empty(2000)
        for i in range(len(angle)):
            assert stepper.step([0.0] * 6, out) is not StepStatus.NOT_FINITE
            angle[i] = out[0]
        assert angle[-1] < math.radians(0.5)
        assert 1.0 < 4e-3 * np.argmax(angle < math.radians(3)) < 6.5
        z = model.shapes
        assert math.radians(15) <= z["b_s.above"] <= math.radians(35)
        assert math.radians(55) <= z["b_bc.above"] <= math.radians(78)


# What the instruments store


def test_markers_turn_about_the_hinge_by_the_angle(
    twin: DoorTwin, truth: Truth, recordings: tuple[Recording, ...]
) -> None:
    session, static = recordings[0], recordings[1]
    names = list(session)
    assert names == [f"WB Sys Redo:WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11)]
    t = session[names[0]].clock.times_s
    points = np.stack([session[n].samples for n in names], axis=1)
    own = (points - twin.r_capture_hinge) @ twin.R_capture_hinge
    for k in range(3, 10):
        seen = np.isfinite(own[:, k, 0])
        turned = np.arctan2(own[seen, k, 1], own[seen, k, 0]) - math.atan2(twin.places[k, 1], twin.places[k, 0])
        off = turned - truth.at("position", t[seen])
        noise = 3e-4 / np.hypot(*twin.places[k, :2])
        assert abs(off.mean()) < 5 * noise / math.sqrt(seen.sum())
        assert off.std() == pytest.approx(noise, rel=0.1)
    assert np.nanstd(own[:, 10:], axis=0).max() < 4e-4  # the frame stands
    hidden = np.isnan(points[:, :, 0]).mean(axis=0)
    assert hidden[:3].mean() > 0.5
    assert 0.03 < hidden[3:].mean() < 0.08
    still = np.stack([static[n].samples for n in names], axis=1)
    assert np.isfinite(still).all()
    assert np.degrees(np.arccos(twin.R_capture_world[2, 2])) == pytest.approx(0.3)


def test_the_sensors_markers_say_where_it_is(twin: DoorTwin) -> None:
    """FORMATS, Sensor frame, word by word."""
    p1, p2, p3 = twin.places[:3]
    x = (p3 - p2) / np.linalg.norm(p3 - p2)
    z = np.cross(p1 - p2, x)
    z /= np.linalg.norm(z)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.stack([x, -np.cross(x, z), z], axis=1), p2
    T = T @ np.linalg.inv(T_MARKER)
    assert np.abs(T[:3, :3] - twin.R_body_sensor[0]).max() < 1e-4  # the drawing has four digits
    assert np.abs(T[:3, 3] - twin.r_body_sensor[0]).max() < 1e-4
    assert twin.R_body_sensor[0][1, 2] < -0.9  # z away from the door, towards the person


def test_the_imu_feels_the_same_door(twin: DoorTwin, truth: Truth, recordings: tuple[Recording, ...]) -> None:
    imu = recordings[3]
    t = twin.imu.true(imu["acceleration.x"].clock.times_s)
    R = np.array([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
    R_hinge_imu = twin.R_body_sensor[0] @ R
    rate = imu.stack([f"angular_rate.{x}" for x in "xyz"]) @ R_hinge_imu.T
    expected = truth.at("speed", t)
    assert np.abs(rate - np.stack([0 * t, 0 * t, expected], axis=1)).max() < 2e-4 * np.abs(expected).max()
    a = imu.stack([f"acceleration.{x}" for x in "xyz"]) @ R_hinge_imu.T
    x, y, _ = twin.r_body_sensor[0] + twin.R_body_sensor[0] @ [-0.0861, 0.0125, -0.0290]
    v, b = expected, truth.at("acceleration", t)
    felt = np.stack([-v * v * x - b * y, -v * v * y + b * x, np.full_like(v, -9.80665)], axis=1)
    assert np.abs(a - felt).max() < 2e-3
    assert np.abs(b * x).max() > 1


def test_the_same_seed_gives_the_same_recordings(twin: DoorTwin, truth: Truth) -> None:
    again = door_recordings(replace(door_twin(3, session=SHORT), instruments=PERFECT), truth)
    assert json.dumps(again[4]) == json.dumps(door_recordings(twin, truth)[4])
    other = door_twin(4, session=SHORT)
    assert other.model.values["I"] != twin.model.values["I"]


@pytest.mark.usefixtures("short_handles")
def test_a_folder_has_all_that_the_stages_need(tmp_path: Path) -> None:
    file = write_door_twin(tmp_path / "new", door_twin(7, session=SHORT))
    assert file.name == "body.yaml"
    folder = file.parent
    formats = {name: load(folder / name).format for name in ("Trajectories.csv", "Static.csv", "wrench.mat", "imu.csv")}
    assert list(formats.values()) == ["vicon-csv", "vicon-csv", "dspace-mat", "microstrain-csv"]
    config = YAML(typ="safe").load(file.read_text())
    truth = json.loads((folder / "truth.json").read_text())
    assert list(truth["parameters"]) == ["I", "b_v", "b_c", "b_bc", "b_s", "b_l", "c_0", "c_1", "c_2", "c_3"]
    assert set(truth["shapes"]) == {"b_bc.above", "b_bc.width", "b_s.above", "b_s.width"}
    assert config["mechanism"]["linkage"]["lengths"] == truth["linkage"]["lengths"]
    assert truth["I_whole"] == pytest.approx(truth["parameters"]["I"]["value"] + truth["handle"]["inertia_about_hinge"])
    handle = json.loads((folder / "handle" / "truth.json").read_text())
    assert handle["phi"] == truth["phi"]
    assert (folder / config["handle"]).exists()
    end = load(folder / "Trajectories.csv")["WB Sys Redo:WB_Door4"].clock.times_s[-1]
    assert (
        0
        < config["segments"]["static"][0]
        < config["segments"]["quasi_static"][0]
        < config["segments"]["train"][0][1]
        < end
    )
    assert [e["name"] for e in config["elements"]] == ["b_bc", "b_s"]


# Bad sessions, and the paper's


def test_a_one_way_session_shows_no_closing() -> None:
    session = replace(SHORT, sweep_s=14.0, steps=10, blocks=(), tail_s=0.5)
    twin = door_twin(2, session=session, one_way=True)
    truth = simulate_door(twin, dt=DT)
    seen = truth.recorded == 1
    assert truth.speed[~seen].min() < -0.3
    assert np.ptp(truth.position[seen]) > math.radians(70)
    backwards = np.minimum(truth.speed[seen], 0.0)
    assert backwards.min() > -0.1
    assert -backwards.sum() < 0.05 * np.maximum(truth.speed[seen], 0.0).sum()
    markers = door_recordings(twin, truth)[0]
    t = markers["WB Sys Redo:WB_Frame3"].clock.times_s
    points = np.stack([markers[n].samples for n in markers], axis=1)
    assert np.isnan(points[truth.at("recorded", t) == 0]).all()


def test_the_papers_samples_are_one_instant() -> None:
    phi = random_handle(np.random.default_rng(0))
    twin = paper_door_twin(phi)
    vicon, cell, imu = 0.01 * (1058 - 1), 0.01 * (2082 - 1), 0.01 * (787 - 1)
    assert twin.load_cell.true(np.array([cell]))[0] == pytest.approx(vicon, abs=1e-9)
    assert twin.imu.true(np.array([imu]))[0] == pytest.approx(vicon, abs=1e-9)
    assert 100 * twin.session.duration_s >= 1058 + 900 + 15400
    # sample k of the authors' window: still to 500, sweep to 6023, test from 10833 to 14129
    begin = 0.01 * (1058 + 900 - 1)
    ends = np.cumsum([p.seconds for p in twin.phases])
    assert ends[0] - begin > 5.0
    for k in (6023, 10833, 14129, 15000):
        assert np.abs(ends - begin - 0.01 * k).min() < 0.02
    assert [twin.model.values[n] for n in list(twin.model.parameters)[:10]] == list(TABLE)
    other = paper_door(np.random.default_rng(1))
    assert replace(other.mechanism, gravity=twin.gravity) == twin.model.mechanism
    assert twin.gravity == 9.81
    assert other.shapes["b_s.above"] == pytest.approx(math.radians(25))
    assert list(dict(zip(PHI_NAMES, phi, strict=True))) == list(PHI_NAMES)


def test_a_session_ends_where_no_stroke_fits_into_what_is_left() -> None:
    session = Session(still_s=3.5, sweep_s=25.0, blocks=(("train", 30.0), ("test", 15.0)), tail_s=1.0)
    assert sum(p.seconds for p in door_twin(5, session=session).phases) > 70
