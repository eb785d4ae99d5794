"""A screw, and what turns any number of times: a mechanism file and object files, from the table to every export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate
from palpate.elements import Gravity, LoadedFriction, RigidBody, ScalarInertia
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.mechanisms import Hinge, Screw, TwoPoints, check_mechanism
from palpate.model import Model
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import phi_from_mass_properties
from tests.command import palpate as command
from tests.conftest import needs, needs_program
from tests.joint_files import write, write_table
from tests.oracles import screws_of_other_make as screws

SEGMENTS = "{static: [0.3, 2.7], train: [5, 38], test: [38.5, 54]}"
KEYS = "handle: {mass: 1 g, com: [0, 0, 0]}\n"
PHI = phi_from_mass_properties(
    3.0, [0.11, 0.03, -0.2], np.array([[0.3, 0.05, 0.01], [0.05, 0.4, 0.02], [0.01, 0.02, 0.2]])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jack")
    # of seeds 0 to 5, 23 of 24 intervals hold the truth; b_v of seed 0 is 1.2 half widths off
    path = write(folder, screws.jack(), "jack", SEGMENTS, seed=1, markers="  hinge: {points: up}\n", keys=KEYS)
    done = command("identify", path, "-o", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def check_truth(parameters: dict[str, Any], truth: dict[str, float], half: float = 0.05) -> None:
    for name, value in truth.items():
        low, high = parameters[name]["ci95"]
        assert low <= value <= high, (name, low, high)
        assert (high - low) / 2 < half * value, name


def test_a_jack_is_identified_with_its_load_and_its_pitch(folder: Path) -> None:
    result = json.loads((folder / "out" / "result.json").read_text())
    assert result["verdict"]["passed"]
    check_truth(result["parameters"], screws.TRUTH)
    found = palpate.Model.load(folder / "out" / "model.json").mechanism.joints[0].pitch
    assert found == pytest.approx(screws.PITCH, rel=2e-3)


def test_a_stated_pitch_that_the_markers_contradict_fails(tmp_path: Path) -> None:
    keys = KEYS + "mechanism: {pitch: 25 mm/turn}\n"
    path = write(tmp_path, screws.jack(), "jack", SEGMENTS, markers="  hinge: {points: up}\n", keys=keys)
    result = run_experiment(read_experiment(path))
    assert not result.passed
    assert any(
        f.cause == "pitch" and "travel 20 mm in a turn, the file states 25 mm" in f.sentence for f in result.findings
    )
    path.write_text(path.read_text().replace("25 mm/turn", "20 mm"))
    with pytest.raises(PalpateError, match=r"mechanism.pitch"):
        run_experiment(read_experiment(path))


def test_how_well_markers_show_the_pitch_is_in_the_interval_of_the_load(tmp_path: Path) -> None:
    moved = screws.jack(pitch=2e-3 / (2 * np.pi), m=240.0, turned=1.0)
    path = write(tmp_path, moved, "jack", SEGMENTS, seed=2, noise_m=1e-3, markers="  hinge: {points: up}\n", keys=KEYS)
    result = run_experiment(read_experiment(path))
    low, high = result.solution["m_g"].ci95
    assert low < 240.0 < high < 1.2 * low
    path.write_text(path.read_text() + "mechanism: {pitch: 2 mm/turn}\n")
    low, high = run_experiment(read_experiment(path)).solution["m_g"].ci95
    assert low < 240.0 < high < 1.02 * low


def test_friction_of_a_thread_that_grows_with_its_load_is_told_from_plain_friction(tmp_path: Path) -> None:
    keys = f"{KEYS}elements:\n- {{name: rub, type: load-friction, acts_on: screw, mass: 4 kg}}\n"
    path = write(tmp_path, screws.jack(rub=4e-3, m=4.0), "jack", SEGMENTS, markers="  hinge: {points: up}\n", keys=keys)
    result = run_experiment(read_experiment(path))
    assert result.passed
    low, high = result.solution["rub"].ci95
    assert low < 4e-3 < high < 1.1 * low


def test_the_load_of_a_thread_is_along_it_and_that_of_a_hinge_across() -> None:
    wrench = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    for mechanism, across in ((Screw(pitch=0.01), (3.0,)), (Hinge(), (1.0, 2.0))):
        (load,) = mechanism.loads(mechanism.expand([0.0] * 2, [0.0], FLOATS), wrench, FLOATS).values()
        assert load.across == across
    model = Model("a", Screw(pitch=0.01), (LoadedFriction("rub", "screw", mass=5.0),)).with_values([0.002])
    k = model.loaded(model.mechanism.expand([0.0, 1.0], [0.0], FLOATS), (0.0, 0.0, -40.0, 0.0, 0.0, 0.0), FLOATS)
    assert model.wrench(k, FLOATS) == pytest.approx([0.002 * (40.0 + 5.0 * 9.80665)])


def test_loads_and_directions_of_no_coordinate_or_of_another_way_are_refused() -> None:
    class Loaded(Screw):
        def loads(self, k, wrench, fn):
            return {"hinge": Hinge.loads(self, k, wrench, fn)["screw"]}

    class Sideways(Screw):
        directions = {"travel": (1.0, 0.0, 0.0)}  # noqa: RUF012

    with pytest.raises(PalpateError, match=r"loads\(\): 'hinge' is none of its coordinates: screw, travel"):
        check_mechanism(Loaded(pitch=0.01))
    with pytest.raises(PalpateError, match=r"directions: velocity\(\) is not the speed of the coordinate travel"):
        check_mechanism(Sideways(pitch=0.01))


def test_weight_works_along_the_travel_without_being_told_and_along_no_length_of_no_direction() -> None:
    parts = (ScalarInertia("I", "screw"), Gravity("load", "travel"))
    model = Model("a", Screw(pitch=0.01), parts).with_values([0.02, 6.0])
    assert Model.from_dict(model.to_dict()).wrench(model.mechanism.expand([0.3, 0.1], [2.0], FLOATS), FLOATS) == (
        pytest.approx([0.02 * 2.0 + 0.01 * 6.0 * 9.80665])
    )
    strut = TwoPoints()
    with pytest.raises(PalpateError, match=rf"'load': the mechanism does not say .* {strut.coordinate!r} goes"):
        Model("a", Hinge(linkage=strut), (Gravity("load", strut.coordinate),))


@pytest.mark.parametrize("target", ["c", "fmu", "mjcf", "urdf", "ros2-control"])
def test_every_target_takes_it_or_says_what_is_lost(target: str, folder: Path, tmp_path: Path) -> None:
    if target in ("c", "fmu"):
        needs_program("cc")
    done = command("export", folder / "out" / "model.json", "--to", target, "-o", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("20 mm in a turn" in done.stdout) == (target in ("mjcf", "urdf"))
    assert "no end stop" not in done.stdout


def test_the_row_of_a_body_on_a_thread_is_mujocos() -> None:
    mujoco = needs("mujoco", "mujoco")
    rng, pitch = np.random.default_rng(4), -0.03
    g = rng.normal(size=3) * 9.81
    about = PHI[4:]  # xx, xy, xz, yy, yz, zz about the origin
    com, m = PHI[1:4] / PHI[0], PHI[0]
    J = np.array([[about[0], about[1], about[2]], [about[1], about[3], about[4]], [about[2], about[4], about[5]]])
    at_com = J - m * (com @ com * np.eye(3) - np.outer(com, com))
    full = " ".join(repr(float(at_com[i])) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    text = " ".join(map(repr, map(float, com)))
    world = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="{g[0]} {g[1]} {g[2]}"/><worldbody><body>
        <joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 0 1"/>
        <inertial mass="{m}" pos="{text}" fullinertia="{full}"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(world)
    q, v, a = (float(x) for x in rng.normal(size=3))
    data.qpos[:], data.qvel[:], data.qacc[:] = [pitch * q, q], [pitch * v, v], [pitch * a, a]
    mujoco.mj_inverse(world, data)
    screw = Screw(pitch=pitch).with_gravity(g)
    k = screw.expand([q, v], [a], FLOATS)
    (row,) = Model("a", screw, (RigidBody(),)).with_values(PHI).wrench(k, FLOATS)
    assert row == pytest.approx(data.qfrc_inverse[1] + pitch * data.qfrc_inverse[0], rel=1e-10)
    parts = (ScalarInertia("I", "screw"), Gravity("beside", "screw"), Gravity("load", "travel"))
    scalar = Model("b", screw, parts).with_values([PHI[9] + m * pitch**2, PHI[1], PHI[2], m])
    assert scalar.wrench(k, FLOATS) == pytest.approx([row], rel=1e-12)


def test_a_load_on_a_steep_thread_runs_down_as_newton_says() -> None:
    pitch, inertia, m = 0.05, 0.02, 6.0
    parts = (ScalarInertia("I", "screw"), Gravity("load", "travel"))
    stepper = palpate.Stepper(Model("a", Screw(pitch=pitch), parts).with_values([inertia, m]), dt=1e-3)
    out = np.empty(stepper.size)
    for _ in range(500):
        stepper.step((0.0, 0.0, 10.0, 0.0, 0.0, 0.3), out)
    assert out[1] == pytest.approx((0.3 + pitch * (10.0 - m * 9.80665)) / inertia * 0.5, rel=1e-9)
    assert check_mechanism(Screw(pitch=pitch, inclination=0.2, direction=1.0))
    with pytest.raises(PalpateError, match=r"pitch 20 m/rad is none .* 2 mm/turn"):
        Screw(pitch=20.0)


# --- many turns -----------------------------------------------------------------------------------------------------

TABLE = """object: turn.yaml
stage: body
recordings:
  signals:
    file: log.csv
    time: {column: t, unit: s}
    columns: {q: {column: q, unit: rad}, tau: {column: tau, unit: N m}}
    angle: q
    torque: tau
"""


def write_knob(folder: Path, *, mechanism: str, start: float = 0.0) -> tuple[Path, dict[str, float]]:
    """A crank that winds a spring up by eight turns: the jack's moments less its thread, and a spring."""
    t, q, moment, push = screws.simulate()
    rng, at, spring = np.random.default_rng(3), slice(None, None, 5), 0.05
    wound = moment + screws.PITCH * (push - screws.TRUTH["m_g"] * screws.GRAVITY) + spring * q
    noise = rng.normal(size=(2, len(t[at]))) * [[1e-3], [5e-3]]
    write_table(folder / "log.csv", {"t": t[at], "q": q[at] + start + noise[0], "tau": wound[at] + noise[1]})
    (folder / "turn.yaml").write_text(
        f"name: crank\nmechanism: {mechanism}\nelements:\n"
        "- {type: inertia, name: I}\n- {type: viscous, name: b_v}\n- {type: coulomb, name: b_c}\n"
        "- {type: spring, name: spring, order: 1}\n"
    )
    path = folder / "body.yaml"
    path.write_text(TABLE + "segments: {train: [5, 38], test: [38.5, 54]}\n")
    return path, {n: screws.TRUTH[n] for n in ("I", "b_v", "b_c")}


def test_a_crank_that_turns_often_passes_wherever_its_encoder_begins(tmp_path: Path) -> None:
    path, truth = write_knob(tmp_path, mechanism="{type: hinge, endless: true}", start=70.0)
    done = command("identify", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    check_truth(result["parameters"], truth)
    assert "extrapolated" not in done.stdout


def test_an_angle_of_many_turns_is_a_wrong_unit_unless_the_file_says_so(tmp_path: Path) -> None:
    result = run_experiment(read_experiment(write_knob(tmp_path, mechanism="{type: hinge}")[0]))
    (finding,) = [f for f in result.findings if f.cause == "travel"]
    assert finding.fatal
    assert "is its unit deg?" in finding.sentence
    (tmp_path / "body.yaml").write_text((tmp_path / "body.yaml").read_text() + "mechanism: {endless: true}\n")
    assert "mechanism: {endless: true}" in finding.sentence
    assert run_experiment(read_experiment(tmp_path / "body.yaml")).passed


def write_angle(folder: Path, encoder: bool) -> Path:
    """A jack by its angle alone: in a table with the torque, or beside a load cell at its axis."""
    t, q, moment, push = screws.simulate()
    rng, at = np.random.default_rng(5), slice(None, None, 5)
    angle = {"t": t[at], "q": q[at] + 1e-3 * rng.normal(size=len(q[at]))}
    text = TABLE.replace("turn.yaml", "jack")
    if encoder:
        wrench = {c: 5e-3 * rng.normal(size=len(t)) for c in "abcdef"}
        write_table(folder / "ft.csv", {"t": t, **wrench, "c": wrench["c"] + push, "f": wrench["f"] + moment})
        channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if c < 'd' else 'N m'}}}" for c in "abcdef")
        text = (
            "object: jack\nstage: body\nrecordings:\n"
            "  poses: {file: log.csv, columns: {q: {column: q, unit: rad}}, angle: q}\n"
            f"  wrench: {{file: ft.csv, columns: {{{channels}}}}}\n"
            "poses: {sensor: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}}\n" + KEYS
        )
    else:
        angle["tau"] = (moment + screws.PITCH * push)[at] + 5e-3 * rng.normal(size=len(q[at]))
    write_table(folder / "log.csv", angle)
    path = folder / "body.yaml"
    path.write_text(f"{text}segments: {SEGMENTS}\n")
    return path


@pytest.mark.parametrize("encoder", [False, True], ids=["table", "encoder"])
def test_an_angle_alone_does_not_show_a_pitch_that_must_then_be_stated(encoder: bool, tmp_path: Path) -> None:
    path = write_angle(tmp_path, encoder)
    with pytest.raises(
        PalpateError, match=r"mechanism.pitch: .* 'load' depends on\. State .*mechanism: \{pitch: 4 mm/turn\}"
    ):
        run_experiment(read_experiment(path))
    path.write_text(path.read_text() + "mechanism: {pitch: 20 mm/turn}\n")
    result = run_experiment(read_experiment(path))
    check_truth(result.data["parameters"], screws.TRUTH)
    assert result.passed
    path.write_text(path.read_text().replace("mechanism: {pitch: 20 mm/turn}", "without: [load]"))
    run_experiment(read_experiment(path))  # nothing depends on it


def test_a_motion_may_begin_anywhere_but_not_jump() -> None:
    t = np.linspace(0, 1, 50)
    states = np.stack([200.0 + t, np.ones(50)], axis=1)
    motion = Hinge().motion(t, states, np.zeros((50, 1)))
    assert Hinge().states(motion) == pytest.approx(states)
    with pytest.raises(PalpateError, match="jumps by more than half a turn"):
        Hinge().motion(t, np.where(t[:, None] < 0.5, states, states + 7.0), np.zeros((50, 1)))
