"""palpate new FILE...: an experiment file from the recordings alone, which identify takes as it is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy.spatial.transform import Rotation

from palpate.experiment import read_experiment
from palpate.experiment.guessing import TWO_AXES
from palpate.experiment.stage.recordings import load_part
from palpate.recording import Recording
from palpate.twin.carried import write_carried_twin
from palpate.twin.handle import write_capture_twin
from tests.command import palpate
from tests.drawer_files import NOISE_M, NOISE_N, TRUTH, simulate
from tests.pose_files import DOOR
from tests.test_encoder import write_door


def motion(scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The drawer of other make at 100 Hz, with noise: times, coordinate times a factor, effort."""
    rng, (t, x, f) = np.random.default_rng(3), simulate()
    t, x, f = t[::10], x[::10], f[::10]
    return t, scale * (x + rng.normal(0, NOISE_M, len(x))), f + rng.normal(0, NOISE_N, len(x))


def table(path: Path, header: str, *columns: np.ndarray, separator: str = ",", comma: bool = False) -> Path:
    rows = "\n".join(separator.join(f"{x:.9g}" for x in row) for row in zip(*columns, strict=True))
    path.write_text(f"{header}\n" * bool(header) + (rows.replace(".", ",") if comma else rows) + "\n")
    return path


def guessed(folder: Path, *arguments: str | Path) -> dict[str, dict[str, str]]:
    """What `palpate new` says that it guessed, by key; its file is mine.yaml."""
    done = palpate("new", *arguments, "-o", folder / "mine.yaml", "--json")
    assert done.returncode == 0, done.stderr
    guesses = {guess["key"]: guess for guess in json.loads(done.stdout)["guesses"]}
    marked = [line for line in (folder / "mine.yaml").read_text().splitlines() if "# GUESS: " in line]
    assert len(marked) == len(guesses)
    assert all(any(guess["why"] in line for line in marked) for guess in guesses.values())
    return guesses


def identified(folder: Path) -> dict[str, Any]:
    """What identify finds with that file, which passes."""
    done = palpate("identify", folder / "mine.yaml", "-o", folder / "out", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["parameters"]


def signals_of(folder: Path) -> Recording:
    """The recording as identify reads it with that file."""
    experiment = read_experiment(folder / "mine.yaml")
    return load_part(experiment, "recordings.signals", experiment.config.recordings.signals)


def covers(parameters: dict[str, Any], **truth: float) -> None:
    for name, value in truth.items():
        low, high = parameters[name]["ci95"]
        assert low <= value <= high, (name, value, low, high)


def test_a_drawer_in_milliseconds_and_decimal_commas_whose_force_is_the_drawers(tmp_path: Path) -> None:
    t, x, f = motion()
    path = table(tmp_path / "a.csv", "Zeit;Weg_mm;Kraft", 1e3 * t, 1e3 * x, -f, separator=";", comma=True)
    guesses = guessed(tmp_path, path)
    assert guesses["object"]["value"] == "drawer"
    assert "unit: ms" in guesses["recordings.signals.time"]["value"]
    assert "10 s apart" in guesses["recordings.signals.time"]["why"]
    assert guesses["recordings.signals.position"]["value"] == '{column: "Weg_mm", unit: mm}'
    assert guesses["recordings.signals.sign"]["value"] == "on-hand"
    segments = YAML(typ="safe").load(tmp_path / "mine.yaml")["segments"]
    assert 0 <= segments["static"][0] < segments["static"][1] <= 5.1
    assert all(5 < a < b < 25 for a, b in segments["quasi_static"])
    assert 25 < segments["train"][0] < segments["train"][1] <= segments["test"][0] < segments["test"][1] < 60
    covers(identified(tmp_path), **TRUTH)


def test_what_turns_against_a_spring_in_degrees(tmp_path: Path) -> None:
    t, q, f = motion(2.0)
    path = table(
        tmp_path / "a.csv", "time,target angle,position,torque", t, np.degrees(q) + 3, np.degrees(q), f + 6 * q
    )
    guesses = guessed(tmp_path, path)
    assert guesses["object"]["value"] == "hinge"
    assert "type: spring" in guesses["elements"]["value"]
    assert guesses["recordings.signals.angle"]["value"] == '{column: "position", unit: deg}'
    covers(identified(tmp_path), I=TRUTH["m"] / 2, b_v=TRUTH["b_v"] / 2, b_c=TRUTH["b_c"], c_1=-6)


def test_what_hangs_without_header_or_times(tmp_path: Path) -> None:
    _, q, f = motion(4.0)
    path = table(tmp_path / "a.csv", "", np.arange(len(q)), q, f + 30 * np.sin(q))
    assert "--header" in palpate("new", path).stderr
    named = ("--header", "row,angle,torque")
    assert "--rate 100" in palpate("new", path, *named).stderr
    assert guessed(tmp_path, path, *named, "--rate", "100")["object"]["value"] == "pendulum"
    covers(identified(tmp_path), I=TRUTH["m"] / 4, mc_x=30 / 9.80665)


def test_a_handle_with_its_imu_is_identified_from_the_recordings_alone(handle_folder: Path, tmp_path: Path) -> None:
    for name in ("wrench.mat", "imu.csv"):
        shutil.copy(handle_folder / name, tmp_path)
    guesses = guessed(tmp_path, tmp_path / "imu.csv", tmp_path / "wrench.mat")
    assert "their sign by the IMU" in guesses["recordings.wrench"]["why"]
    own, drawn = (YAML(typ="safe").load(p)["imu_pose"] for p in (tmp_path / "mine.yaml", handle_folder / "handle.yaml"))
    np.testing.assert_allclose(own["rotation"], drawn["rotation"], atol=0.01)
    np.testing.assert_allclose(own["translation"], drawn["translation"], atol=0.001)
    truth = json.loads((handle_folder / "truth.json").read_text())["parameters"]
    covers(identified(tmp_path), **{name: truth[name]["value"] for name in ("m", "c_x", "c_z", "Iyy")})


def test_a_capture_can_be_inspected_as_it_is(tmp_path: Path) -> None:
    write_capture_twin(tmp_path, seed=3, duration_s=8.0, clean=True)
    guesses = guessed(tmp_path, *(tmp_path / name for name in ("markers.csv", "imu.csv", "wrench.mat")))
    assert guesses.keys() == {"recordings.mocap", "recordings.imu", "recordings.wrench", "markers.body"}
    experiment = read_experiment(tmp_path / "mine.yaml")
    assert experiment.config.stage == "motion"
    assert len(experiment.config.markers.body) >= 4
    assert palpate("inspect", tmp_path / "mine.yaml").returncode == 0


def test_an_encoder_and_a_load_cell_lack_only_where_the_sensor_sits(tmp_path: Path) -> None:
    own, cell = write_door(tmp_path, 0, "angle: q").read_text(), tmp_path / "ft.csv"
    named = "t,Fx [N],Fy [N],Fz [N],Tx [Nm],Ty [Nm],Tz [Nm]"
    cell.write_text(cell.read_text().replace("t,a,b,c,d,e,f", named, 1))
    guesses = guessed(tmp_path, tmp_path / "motion.csv", cell)
    assert guesses["object"]["value"] == "hinge"
    assert {"recordings.poses", "segments.static", "segments.train", "segments.test"} < guesses.keys()
    text = (tmp_path / "mine.yaml").read_text()
    assert text.count("# EDIT") == 1
    stated = next(line for line in own.splitlines() if line.startswith("poses: "))
    (tmp_path / "mine.yaml").write_text(re.sub(r"poses:   # EDIT.*\n.*\n", stated + "\n", text))
    covers(identified(tmp_path), **DOOR)


REFUSED = {
    "a lever": ("t,angle [deg],force [N]", "multiply the force by its lever"),
    "nothing known": ("t,a,b", r"not plain what this holds.*--header"),
    "no force": ("t,angle [deg],b", "give markers, an encoder or an IMU, and a load cell"),
}


@pytest.mark.parametrize(("header", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_guessed_is_said(tmp_path: Path, header: str, words: str) -> None:
    t, x, f = motion()
    done = palpate("new", table(tmp_path / "a.csv", header, t, x, f), "-o", tmp_path / "b.yaml")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert re.search(words, done.stderr), done.stderr
    assert not (tmp_path / "b.yaml").exists()


def test_what_never_moves_is_said(tmp_path: Path) -> None:
    t, _, f = motion()
    path = table(tmp_path / "a.csv", "t,x,F", t, np.where(t > 58, 0.1, 0.0) + 1e-4 * np.sin(900 * t), f)
    assert "Record at least some seconds of motion" in palpate("new", path, "-o", tmp_path / "b.yaml").stderr


def test_two_tables_or_one_instrument_alone_are_no_experiment(handle_folder: Path, tmp_path: Path) -> None:
    t, x, f = motion()
    one, two = (table(tmp_path / name, "t,x,F", t, x, f) for name in ("a.csv", "b.csv"))
    assert "both look like recordings.signals" in palpate("new", one, two).stderr
    assert (
        "give markers, an encoder or an IMU, and a load cell"
        in palpate("new", handle_folder / "imu.csv", "-o", "-").stderr
    )
    assert "--rate are for recordings" in palpate("new", "door", "--rate", "100").stderr


@pytest.mark.real
def test_a_real_pendulum_on_a_motor(tmp_path: Path, real_folder: Path) -> None:
    guesses = guessed(tmp_path, real_folder / "dfki_pendulum" / "ddp_swingup.csv")
    assert (guesses["object"]["value"], guesses["recordings.signals.sign"]["value"]) == ("pendulum", "on-object")
    identified(tmp_path)


@pytest.mark.real
@pytest.mark.filterwarnings("error")
def test_a_position_whose_noise_does_not_show_gets_a_bandwidth(tmp_path: Path, real_folder: Path) -> None:
    guesses = guessed(tmp_path, real_folder / "dfki_pendulum" / "gravity_compensation.csv")
    assert guesses["filtering.bandwidth"]["value"] == "{bandwidth: 6 Hz}"
    done = palpate("identify", tmp_path / "mine.yaml", "-o", tmp_path / "out")
    assert done.returncode == 3, done.stderr  # the hand was not measured: told, not crashed


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("Force (kgf)", 9.80665),
        ("Force [lbs]", 4.4482216),
        ("force_daN", 10.0),
        ("Kraft/kN", 1e3),
        ("Force (mN)", 1e-3),
    ],
)
def test_a_force_in_any_usual_unit_is_read_in_it(header: str, factor: float, tmp_path: Path) -> None:
    t, x, f = motion()
    guessed(tmp_path, table(tmp_path / "a.csv", f"Time (ms),Position (um),{header}", 1e3 * t, 1e6 * x, f / factor))
    signals = signals_of(tmp_path)
    np.testing.assert_allclose(signals["force"].samples, f, atol=1e-4)
    np.testing.assert_allclose(signals["position"].samples, x, atol=1e-8)


def test_a_unit_that_nobody_knows_is_never_taken_for_newtons(tmp_path: Path) -> None:
    t, x, f = motion()
    guesses = guessed(tmp_path, table(tmp_path / "a.csv", "t,Position (mm),Force (kip)", t, 1e3 * x, f / 4448.2216))
    assert "'kip'" in guesses["recordings.signals.force"]["why"]
    assert "unit mm as the file states" in guesses["recordings.signals.position"]["why"]
    done = palpate("identify", tmp_path / "mine.yaml", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "columns.force.unit: in the unit 'kip'" in done.stderr


def test_dates_tell_the_time(tmp_path: Path) -> None:
    t, x, f = motion()
    rows = [f"01.03.2025 12:{s // 60:02.0f}:{s % 60:06.3f};{p:.7f};{e:.4f}" for s, p, e in zip(t, x, f, strict=True)]
    (tmp_path / "a.csv").write_text("Datum;Weg/m;Kraft/N\n" + "\n".join(rows) + "\n")
    guessed(tmp_path, tmp_path / "a.csv")
    times = signals_of(tmp_path)["force"].clock.times_s
    np.testing.assert_allclose(times, t - t[0], atol=2e-3)


def test_what_cannot_be_read_is_said_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,pos,force\n0,1,-\n1,1,2\n")
    assert "a.csv, line 2: column 'force': '-' is not a number" in palpate("new", tmp_path / "a.csv").stderr
    assert "drawer_ok.csv: there is no such file" in palpate("new", "drawer_ok.csv").stderr


@pytest.mark.parametrize("object_", ["box", "hinge", "drawer"])
@pytest.mark.parametrize("names", ["x,y,z,qx,qy,qz,qw", "Position X,Position Y,Position Z,q1,q2,q3,q0"])
def test_poses_are_told_from_a_table_of_one_coordinate(object_: str, names: str, tmp_path: Path) -> None:
    t = np.arange(0, 12, 0.01)
    wave = 0.6 * np.sin(1.3 * t)
    axis = Rotation.from_rotvec([0.3, -0.2, 0.9])
    turn = axis * Rotation.from_rotvec(np.outer(wave * (object_ != "drawer"), [0, 0, 1.0]))
    place = {
        "box": np.column_stack([wave, np.cos(0.9 * t), 0.4 * np.sin(2.1 * t)]),
        "hinge": turn.apply([0.8, 0.1, 0.2]) + np.array([1.0, 2.0, 0.5]),
        "drawer": np.outer(wave, [0.6, 0.8, 0.0]) + np.array([1.0, 2.0, 0.5]),
    }[object_]
    place = place + np.random.default_rng(1).normal(0, 1e-4, place.shape)
    poses = table(tmp_path / "p.csv", f"t,{names}", t, *place.T, *turn.as_quat().T)
    cell = [np.sin((i + 1) * t) for i in range(6)]
    wrench = table(tmp_path / "w.csv", "t,Fx [N],Fy [N],Fz [N],Tx [mNm],Ty [mNm],Tz [mNm]", t, *cell)
    guesses = guessed(tmp_path, poses, wrench)
    assert guesses["object"]["value"] == object_
    config = read_experiment(tmp_path / "mine.yaml").config
    assert config.recordings.poses.orientation == ["qx", "qy", "qz", "qw"]
    alone = palpate("new", poses, "-o", tmp_path / "alone.yaml")
    assert "holds poses, but no load cell's six forces and moments" in alone.stderr


def test_two_angles_and_two_torques_are_a_joystick(tmp_path: Path) -> None:
    truth = json.loads((write_carried_twin(tmp_path, "joystick", 3).parent / "truth.json").read_text())["parameters"]
    rows = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1).T
    path = table(tmp_path / "a.csv", "t,theta_deg,phi_deg,tau_b [Nm],tau_a [Nm]", *rows[:3], *rows[:2:-1])
    guesses = guessed(tmp_path, path)
    assert guesses["object"] == {"key": "object", "value": "joystick", "why": TWO_AXES}
    assert guesses["recordings.signals.torque_1"]["value"] == '{column: "tau_a"}'
    assert "no column says" in guesses["recordings.signals.coordinates"]["why"]
    assert guesses["recordings.signals.sign"]["value"] == "on-object"
    mine = tmp_path / "mine.yaml"
    assert mine.read_text().count("# EDIT") == 1
    mine.write_text(mine.read_text().replace("0.5 kg", f"{truth['m']['value']:.6f} kg"))
    covers(identified(tmp_path), **{n: truth[n]["value"] for n in ("Ixx", "Iyy", "b_1", "b_2", "spring_1.c_1")})


def test_an_angle_seen_twice_is_no_second_axis(tmp_path: Path) -> None:
    t, q, f = motion(2.0)
    path = table(tmp_path / "a.csv", "t,angle [rad],motor angle [rad],torque [Nm],tau_2 [Nm]", t, q, 3 * q, f, 0.1 * f)
    assert guessed(tmp_path, path)["object"]["value"] == "hinge"


@pytest.mark.parametrize("files", [1, 2])
def test_two_load_cells_on_one_body(files: int, tmp_path: Path) -> None:
    t = np.arange(0, 12, 0.01)
    place, turn = (
        np.column_stack([np.sin(t), np.cos(0.9 * t), np.sin(2.1 * t)]),
        np.outer(np.sin(1.3 * t), [0.3, 0.5, 1]),
    )
    poses = table(tmp_path / "p.csv", "t,x,y,z,qx,qy,qz,qw", t, *place.T, *Rotation.from_rotvec(turn).as_quat().T)
    names = [[f"{side}_{n}" for n in ("Fx [N]", "Fy [N]", "Fz [N]", "Mx [Nm]", "My [Nm]", "Mz [Nm]")] for side in "LR"]
    split = [names[0] + names[1]] if files == 1 else names
    cells = [
        table(tmp_path / f"w{i}.csv", ",".join(["t", *own]), t, *(np.sin((j + 2) * t) for j in range(len(own))))
        for i, own in enumerate(split)
    ]
    guesses = guessed(tmp_path, poses, *cells)
    assert ("three forces and three moments for each" in guesses["recordings.wrench"]["why"]) == (files == 1)
    config = read_experiment(tmp_path / "mine.yaml").config
    assert [part.columns["torque.z"].column for part in config.recordings.wrench] == ["L_Mz", "R_Mz"]
    assert len(config.poses.sensor) == 2
    (tmp_path / "angle.csv").write_text("\n".join(["t,angle [rad]", *(f"{s:.2f},{np.sin(s):.6f}" for s in t)]) + "\n")
    guessed(tmp_path, tmp_path / "angle.csv", *cells, "--force")
    assert len(read_experiment(tmp_path / "mine.yaml").config.poses.sensor) == 2


def test_a_column_that_stands_twice_is_said_and_can_be_taken(tmp_path: Path) -> None:
    t, x, f = motion()
    guesses = guessed(tmp_path, table(tmp_path / "log.csv", "t,x [m],F [N],F [N]", t, x, f, f))
    assert guesses["recordings.signals.force"]["value"] == '{column: "F#1"}'
    said = guesses["recordings.signals.force"]["why"]
    assert "the column 'F' stands twice (columns 3 and 4) with the same numbers: this is F#1; if " in said
    assert said.endswith("write F#2")
    covers(identified(tmp_path), m=TRUTH["m"])
    spoilt = f + 3 * np.sin(7 * t)
    guesses = guessed(tmp_path, table(tmp_path / "log.csv", "t,x,F,F", t, x, spoilt, f), "--force")
    assert guesses["recordings.signals.force"]["value"] == '{column: "F#2", unit: N}'
    assert (
        "with DIFFERENT numbers: this is F#2; if another is right, write F#1"
        in guesses["recordings.signals.force"]["why"]
    )
    assert np.array_equal(signals_of(tmp_path)["force"].samples, np.round(f, 9)) or signals_of(tmp_path)[
        "force"
    ].samples == pytest.approx(f, abs=1e-6)
    done = palpate("new", table(tmp_path / "log.csv", "t,F,F", t, x, f), "-o", tmp_path / "no.yaml")
    assert done.returncode == 1
    assert "the column 'F' stands twice (columns 2 and 3), and a position or a force is missing" in done.stderr
    assert "Rename in the file's header line" in done.stderr


@pytest.mark.parametrize(("header", "unit"), [("t,x [mm],F [N]", "mm"), ("t,pos_mm,force_N", "mm"), ("t,x,F", "mm")])
def test_a_swapped_header_is_recognised_and_read_as_it_was_meant(header: str, unit: str, tmp_path: Path) -> None:
    """Names and units of both exchanged: new, inspect and identify say so, and what they say works."""
    t, x, f = motion(1e3)
    names = [name.split(" ")[0] for name in header.split(",")]
    guesses = guessed(tmp_path, table(tmp_path / "log.csv", header, t, f, x))
    assert guesses["recordings.signals.position"]["value"] == f'{{column: "{names[2]}", unit: {unit}}}'
    assert guesses["recordings.signals.position"]["why"].startswith("position and force look swapped: ")
    covers(identified(tmp_path), m=TRUTH["m"])
    assert "position and force look swapped" in re.sub(r"\s+", " ", palpate("inspect", tmp_path / "log.csv").stdout)
    text = (tmp_path / "mine.yaml").read_text()
    for a, b in ((names[1], "@"), (names[2], names[1]), ("@", names[2])):
        text = text.replace(f'column: "{a}"', f'column: "{b}"')
    (tmp_path / "mine.yaml").write_text(text)
    done = palpate("identify", tmp_path / "mine.yaml", "-o", tmp_path / "out", "--json")
    said = (
        json.loads(done.stdout)["verdict"]["reasons"]
        if done.returncode == 3
        else [done.stderr.split("before that: ")[-1]]
    )
    assert "position and force look swapped" in said[0]
    wanted = f"write columns: {{position: {{column: {names[2]}, unit: mm}}, force: {{column: {names[1]}, unit: N}}}}"
    assert wanted in said[0]


@pytest.mark.parametrize("name", ["fx,fy,fz", "force.x,force.y,force.z"])
def test_a_point_and_the_force_on_it_are_a_path(name: str, tmp_path: Path) -> None:
    """The drawer along a slanted line, with a force across it: point and force, and its mass."""
    t, x, f = motion()
    along, across = np.array([0.8, 0.6, 0.0]), np.array([-0.6, 0.8, 0.0])
    p, push = np.outer(x, along) + np.array([0.3, -0.2, 1.0]), np.outer(f, along) + np.outer(np.sin(t), across)
    p[:, 2] += 1e-4 * np.cos(5 * t)
    push[:, 2] += 0.1 * np.cos(3 * t)
    guesses = guessed(tmp_path, table(tmp_path / "log.csv", f"t,x,y,z,{name}", t, *p.T, *push.T))
    assert guesses["object"]["value"] == "drawer"
    assert guesses["object"]["why"].startswith("the line comes from the path of the point")
    assert guesses["recordings.signals.fx"]["value"] == f'{{column: "{name.split(",")[0]}", unit: N}}'
    assert "    point: [x, y, z]" in (tmp_path / "mine.yaml").read_text()
    covers(identified(tmp_path), m=TRUTH["m"])
