"""Ball and universal joints: mechanism files and object files, from markers to every export, beside MuJoCo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import palpate
from palpate.elements import PolynomialSpring, RigidBody, Viscous
from palpate.errors import DataProblem, PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.mechanisms import Ball, Universal
from palpate.model import Model
from palpate.motion.joints import centre_of_rotation, crossing_axes, pivot_from_motion
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Poses
from tests import pose_files
from tests.command import palpate as command
from tests.conftest import needs, needs_program
from tests.joint_files import ROOM, add_imu, write, write_table
from tests.oracles import pivots_mujoco as pivots

SEGMENTS = "{static: [0.3, 2.7], train: [3.5, 22], test: [22.5, 29.5]}"
KEYS = "handle: {mass: 1 g, com: [0, 0, 0]}\nknown_mass: {value: 6 kg, of: body}\n"
TURNED: dict[str, float] = {"ball": 0.0, "universal": 25.0}
OBJECTS = {"ball": "hanging-load", "universal": "joystick"}
KINDS: tuple[pivots.Kind, ...] = ("ball", "universal")
PHI = phi_from_mass_properties(pivots.MASS, pivots.COM, pivots.INERTIA)


def file_of(folder: Path, kind: pivots.Kind, keys: str = KEYS) -> Path:
    return write(folder, pivots.simulate(kind, 0, TURNED[kind]), OBJECTS[kind], SEGMENTS, keys=keys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("mujoco", "mujoco")
    folder = tmp_path_factory.mktemp("pivots")
    for kind in KINDS:
        (folder / kind).mkdir()
        done = command("identify", file_of(folder / kind, kind), "-o", folder / kind / "out")
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_inside_its_intervals_in_the_promised_frame(kind: pivots.Kind, folder: Path) -> None:
    result = json.loads((folder / kind / "out" / "result.json").read_text())
    assert result["verdict"]["passed"]
    moved = pivots.simulate(kind, 0, TURNED[kind])
    truth = pivots.truth(kind, pivots.frame_of(kind, moved, ROOM, TURNED[kind]))
    for name, value in truth.items():
        low, high = result["parameters"][name]["ci95"]
        assert low <= value <= high, (name, low, value, high)
        size = {"c": 0.45, "I": 1.5, "b": 0.25, "s": 3.0}[name[0]]
        assert (high - low) / 2 < 0.1 * size, name
    assert np.degrees(result["replay"]["rms"]) < 1.0
    assert result["replay"]["unit"] == "rad"
    assert "centre of the joint" in (folder / kind / "out" / "report.html").read_text()


def mine(kind: pivots.Kind) -> Model:
    """The same body in palpate's own elements, in MuJoCo's frames."""
    if kind == "ball":
        parts = (RigidBody(), *(Viscous(f"b_{a}", f"turn_{a}") for a in "xyz"))
        return Model("load", Ball(), parts).with_values([*PHI, *[pivots.DAMPING] * 3])
    parts = (
        RigidBody(),
        *(e for n in ("first", "second") for e in (Viscous(f"b_{n}", n), PolynomialSpring(f"s_{n}", n, 1))),
    )
    values = [pivots.DAMPING, 0.0, -pivots.SPRING]
    return Model("stick", Universal(), parts).with_values([*PHI, *values, *values])


@pytest.mark.parametrize("kind", KINDS)
def test_a_stepper_moves_as_mujoco_does(kind: pivots.Kind) -> None:
    mujoco = needs("mujoco", "mujoco")
    world = pivots.model_of(kind)
    data = mujoco.MjData(world)
    turn = Rotation.from_euler("XY", [0.7, -0.5])
    start = turn.as_quat(scalar_first=True).tolist() if kind == "ball" else [0.7, -0.5]
    speeds = [0.3, -0.4, 2.0] if kind == "ball" else [0.3, -0.4]
    data.qpos[:], data.qvel[:] = start, speeds
    stepper = palpate.Stepper(mine(kind), dt=2e-4)
    stepper.reset(np.array([*start, *speeds]))
    out = np.empty(stepper.size)
    wrench = np.array([1.0, -2.0, 3.0, 0.5, -0.4, 0.3])
    for i in range(5000):
        stepper.step(wrench, out)
        if i % round(pivots.STEP_S / 2e-4) == 0:
            R = np.array(data.xmat[1]).reshape(3, 3) if i else turn.as_matrix()
            data.xfrc_applied[1, :3] = R @ wrench[:3]
            data.xfrc_applied[1, 3:] = R @ (wrench[3:] - np.cross(pivots.COM, wrench[:3]))
            mujoco.mj_step(world, data)
    assert out[: len(start)] == pytest.approx(np.array(data.qpos), abs=4e-3)
    assert out[len(start) : len(start) + len(speeds)] == pytest.approx(np.array(data.qvel), abs=2e-2)
    if kind == "ball":
        assert np.linalg.norm(out[:4]) == pytest.approx(1.0, abs=1e-12)


def swung(dt: float) -> np.ndarray:
    """Energy (J) of a load that swings and spins freely for two seconds."""
    stepper = palpate.Stepper(Model("load", Ball(), (RigidBody(),)).with_values(PHI), dt=dt)
    stepper.reset(np.array([*Rotation.from_euler("x", 1.2).as_quat(scalar_first=True), 0.5, 0.2, 3.0]))
    J = np.array([[PHI[4], PHI[5], PHI[6]], [PHI[5], PHI[7], PHI[8]], [PHI[6], PHI[8], PHI[9]]])
    out, energies = np.empty(stepper.size), list[float]()
    for _ in range(round(2.0 / dt)):
        stepper.step((0.0,) * 6, out)
        height = Rotation.from_quat(out[:4], scalar_first=True).apply(PHI[1:4])[2]
        energies.append(0.5 * out[4:7] @ J @ out[4:7] + 9.80665 * height)
    return np.array(energies)


def test_a_load_that_swings_freely_never_gains_energy_and_loses_it_with_the_step() -> None:
    lost: list[float] = []
    for dt in (2e-3, 5e-4):
        energy = swung(dt)
        assert np.diff(energy).max() < 1e-9
        lost.append(float(energy[0] - energy[-1]))
    assert 0 <= lost[1] < 0.3 * lost[0]
    assert lost[1] < 0.01 * 2 * 9.80665 * float(np.linalg.norm(PHI[1:4]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["c", "fmu", "mjcf", "urdf", "ros2-control"])
def test_every_target_takes_it_or_says_what_is_lost(
    target: str, kind: pivots.Kind, folder: Path, tmp_path: Path
) -> None:
    if target in ("c", "fmu"):
        needs_program("cc")
    done = command("export", folder / kind / "out" / "model.json", "--to", target, "-o", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if target not in ("mjcf", "urdf"):
        return
    mujoco = needs("mujoco", "mujoco")
    model = palpate.Model.load(folder / kind / "out" / "model.json")
    world = mujoco.MjModel.from_xml_path(str(next(tmp_path.iterdir())))
    world.opt.timestep = 1e-3
    data, start = mujoco.MjData(world), [0.25, -0.2, 0.0]
    stepper, spins = palpate.Stepper(model, dt=1e-3), target == "urdf" and kind == "ball"
    turn = Rotation.from_euler("XYZ", start)
    q = turn.as_quat(scalar_first=True).tolist() if kind == "ball" else start[:2]
    data.qpos[:] = start if spins else q
    stepper.reset(np.array([*q, *[0.0] * (3 if kind == "ball" else 2)]))
    out = np.empty(stepper.size)
    for _ in range(400):
        stepper.step((0.0,) * 6, out)
        mujoco.mj_step(world, data)
    mujoco.mj_kinematics(world, data)
    place = np.array(model.mechanism.place(out.tolist(), palpate_floats())[0])
    there = np.array(data.xmat[-1]).reshape(3, 3)
    R0 = np.array(model.mechanism.R_world_body)
    if target == "urdf" and kind == "universal":  # without its springs, and said so
        assert "spring_1 (spring on first): URDF cannot express it" in done.stdout
        return
    assert there == pytest.approx(R0 @ place, abs=0.01)


def palpate_floats() -> Any:
    from palpate.physics.functions import FLOATS

    return FLOATS


def turned(rng: np.random.Generator, angles: np.ndarray, order: str) -> Poses:
    """Poses of a body that turns about (1, 2, 3), which is (0.1, 0.2, 0.3) of its own, with the noise of markers."""
    R = Rotation.from_euler(order, angles) * Rotation.from_rotvec(rng.normal(0, 5e-4, (len(angles), 3)))
    place = np.array([1.0, 2.0, 3.0]) - R.apply([0.1, 0.2, 0.3]) + rng.normal(0, 2e-4, (len(angles), 3))
    return Poses(np.arange(len(angles)) / 100.0, R.as_matrix(), place)


def test_centre_and_axes_are_found_from_motion_as_well_as_they_say() -> None:
    rng, t = np.random.default_rng(5), np.arange(0, 20, 0.01)
    waves = np.stack([np.sin(1.1 * t), np.sin(1.7 * t + 1), np.sin(0.6 * t)], axis=1)
    off: list[float] = []
    for _ in range(20):
        body, world, std, _ = centre_of_rotation(turned(rng, waves * [0.5, 0.4, 0.9], "XYZ"))
        off += [*((body - [0.1, 0.2, 0.3]) / std), *((world - [1, 2, 3]) / std)]
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.5
    poses = turned(rng, waves[:, :2] * [0.4, 0.35], "XY")
    first, second, std, bent = crossing_axes(poses)
    assert np.abs(first[0]) > np.cos(4 * std) > np.cos(np.radians(1.0))
    assert np.abs(second[1]) > np.cos(4 * std)
    assert bent < np.radians(0.1)
    pivot = pivot_from_motion(poses, np.array([0.0, 0.0, 1.0]), t < 0, "axes")
    assert pivot.findings() == ()
    thrice = pivot_from_motion(turned(rng, waves * [0.5, 0.5, 0.15], "XYZ"), np.array([0.0, 0.0, 1.0]), t < 0, "axes")
    assert [f.cause for f in thrice.findings()] == ["crossing"]
    assert "type: ball" in thrice.findings()[0].sentence


def test_what_turns_about_one_axis_or_wanders_has_no_centre() -> None:
    rng, t = np.random.default_rng(6), np.arange(0, 20, 0.01)
    one = np.stack([np.sin(t), 0 * t, 0 * t], axis=1)
    with pytest.raises(DataProblem, match="about more than one axis"):
        centre_of_rotation(turned(rng, one, "XYZ"))
    poses = turned(rng, 0.5 * np.stack([np.sin(1.1 * t), np.sin(1.7 * t), 0 * t], axis=1), "XYZ")
    sways = Poses(poses.times_s, poses.rotation, poses.position + 0.02 * np.sin(3 * t)[:, None] * [1, 0, 0])
    (finding,) = pivot_from_motion(sways, np.array([0.0, 0.0, 1.0]), t < 0, "point").findings()
    assert finding.cause == "centre"


JOYSTICK = """object: joystick
stage: body
recordings:
  signals:
    file: log.csv
    time: {column: t, unit: s}
    columns:
      {a: {column: a, unit: deg}, b: {column: b, unit: deg}, ta: {column: ta, unit: N m}, tb: {column: tb, unit: N m}}
    coordinates: [a, b]
    efforts: [ta, tb]
known_mass: {value: 6 kg, of: body}
segments: {static: [0.3, 2.7], train: [3.5, 22], test: [22.5, 29.5]}
"""


def write_joystick(folder: Path, seed: int = 0) -> Path:
    """Both encoders of a joystick and the torques of its two motors, which a hand feels."""
    moved, rng, at = pivots.simulate("universal", seed), np.random.default_rng([seed, 9]), slice(None, None, 5)
    R = moved.rotation.as_matrix()
    angles = np.stack([np.arctan2(R[:, 2, 1], R[:, 1, 1]), np.arctan2(R[:, 0, 2], R[:, 0, 0])], axis=1)
    c, s, n = np.cos(angles[:, 1]), np.sin(angles[:, 1]), moved.wrench[:, 3:]
    torques = np.stack([c * n[:, 0] + s * n[:, 2], n[:, 1]], axis=1)
    angles, torques = angles[at] + rng.normal(0, 2e-4, (len(angles[at]), 2)), torques[at]
    torques = torques + np.array([0.3, -0.2]) + rng.normal(0, 0.01, torques.shape)
    columns = dict(zip(("a", "b", "ta", "tb"), [*np.degrees(angles).T, *torques.T], strict=True))
    write_table(folder / "log.csv", {"t": moved.times_s[at], **columns})
    path = folder / "body.yaml"
    path.write_text(JOYSTICK)
    return path


def test_a_table_may_hold_both_angles_and_torques_of_a_joystick(tmp_path: Path) -> None:
    path = write_joystick(tmp_path)
    done = command("identify", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    for name, value in pivots.truth("universal", np.eye(3)).items():
        low, high = result["parameters"][name]["ci95"]
        assert low <= value <= high, (name, low, value, high)
    start = command("new", "joystick", "-o", "-").stdout
    (fixed,) = [line for line in start.splitlines() if line.startswith("fixed: {spring_1.c_0: 0, spring_2.c_0: 0}")]
    path.write_text(JOYSTICK + fixed)
    held = run_experiment(read_experiment(path))
    assert held.passed, held.findings
    assert held.data["parameters"]["spring_1.c_0"]["status"] == "fixed"
    path.write_text(JOYSTICK.replace("[a, b]", "[a]").replace("[ta, tb]", "[ta]"))
    with pytest.raises(
        PalpateError, match=r"recordings.signals: 'joystick' moves in 2 ways: .*In the order first, second"
    ):
        run_experiment(read_experiment(path))
    path.write_text(JOYSTICK.replace("    efforts: [ta, tb]\n", ""))
    with pytest.raises(PalpateError, match="give coordinates and efforts, as many of the one as of the other"):
        read_experiment(path)


def test_an_imu_on_a_hanging_load_sharpens_it(folder: Path, tmp_path: Path) -> None:
    result = run_experiment(read_experiment(add_imu(file_of(tmp_path, "ball"), pivots.simulate("ball", 0))))
    assert result.passed, result.findings
    assert result.data["motion"]["from"] == "markers and IMU"
    alone = json.loads((folder / "ball" / "out" / "result.json").read_text())
    truth = pivots.truth("ball", pivots.frame_of("ball", pivots.simulate("ball", 0), ROOM, 0.0))
    for name, value in truth.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert low <= value <= high, (name, low, value, high)
    left = [x["rms"]["test"]["n_x"]["value"] for x in (alone, result.data)]
    assert left[1] < 0.5 * left[0]


def test_a_robot_or_tracker_shows_a_hanging_load_too(tmp_path: Path) -> None:
    moved, tool = pivots.simulate("ball", 0), np.array([0.05, 0.02, -0.4])
    wrench = moved.wrench.copy()
    wrench[:, 3:] -= np.cross(tool, wrench[:, :3])
    place = moved.rotation.apply(tool) + np.array([0.5, 0.2, 0.9])
    head = f"object: hanging-load\n{KEYS}"
    signals = (moved.times_s, place, moved.rotation, wrench)
    segments = "{static: [0.3, 2.7], train: [3.5, 22], test: [22.5, 29.3]}"
    path = pose_files.write(tmp_path, np.random.default_rng(0), *signals, head, segments)
    result = run_experiment(read_experiment(path))
    assert result.passed, result.findings
    truth = pivots.truth("ball", pivots.frame_of("ball", moved, Rotation.identity(), 0.0))
    for name, value in truth.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert low <= value <= high, (name, low, value, high)


def test_the_mass_must_be_weighed(tmp_path: Path) -> None:
    path = file_of(tmp_path, "ball", "handle: {mass: 1 g, com: [0, 0, 0]}\n")
    with pytest.raises(PalpateError, match=r"known_mass: .*no motion of a ball joint shows the mass. Weigh"):
        run_experiment(read_experiment(path))


def test_a_ball_joint_taken_for_a_universal_joint_does_not_pass(tmp_path: Path) -> None:
    path = file_of(tmp_path, "ball")
    path.write_text(path.read_text().replace("hanging-load", "joystick"))
    try:
        result = run_experiment(read_experiment(path))
    except PalpateError:
        return
    assert not result.passed
