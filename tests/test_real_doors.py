"""Real doors and a real pendulum: the documented examples, and tables of signals made up to know the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.stage.recordings import TABLE_HZ, slower
from palpate.experiment.stage.result import Result
from palpate.motion.clock import Even
from tests.command import palpate

Array = NDArray[np.float64]
EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
KNOTS = np.array([1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 45, 60, 75.0])
LENGTH = (0.147 + 36 * 6.07e-5) / 0.304
"""J / (m c) of the pendulum, m: its makers' scale and ruler, the rotor behind its gear of 6:1."""


def identify(name: str, data: Path) -> Result:
    return run_experiment(read_experiment(str(EXAMPLES / f"{name}.yaml"), data=data))


def refused(result: Result, name: str) -> bool:
    entry = result.data["parameters"][name]
    return entry["status"] == "not-identifiable" and entry["value"] is None and entry["ci95"] is None


@pytest.fixture(scope="module")
def doors(real_folder: Path) -> dict[str, Result]:
    return {n: identify(f"cabinet-{n}", real_folder / "hrl_pr2_cabinet_door") for n in ("sprung", "catch")}


def moment_of_opening(path: Path) -> tuple[Array, Array]:
    """Angle (deg) and moment about the hinge, by a plain algebraic circle through the hook's path seen from above."""
    table = np.genfromtxt(path, delimiter=",", names=True)
    x, y = table["hook_x"], table["hook_y"]
    (a, b, _), *_ = np.linalg.lstsq(np.column_stack([2 * x, 2 * y, np.ones(len(x))]), x**2 + y**2, rcond=None)
    angle = np.unwrap(np.arctan2(y - b, x - a))
    way = np.sign(angle[-1] - angle[0])
    moment = -((x - a) * table["f_ati_y"] - (y - b) * table["f_ati_x"])
    return np.degrees(way * (angle - angle[0])), way * moment


@pytest.mark.real
@pytest.mark.parametrize("name", ["sprung", "catch"])
def test_cabinet_doors_give_friction_with_an_interval_and_no_inertia(doors: dict[str, Result], name: str) -> None:
    result = doors[name]
    assert refused(result, "I")
    assert not result.passed
    assert any("I is not known" in why for why in result.data["verdict"]["reasons"])
    assert result.model is None
    friction = result.data["parameters"]["b_c"]
    low, high = friction["ci95"]
    assert 0 <= low <= friction["value"] <= high < 0.5
    assert friction["noise"] < 0.05
    assert any("only ever opened" in w and "fixed" in w for w in result.data["warnings"])


@pytest.mark.real
@pytest.mark.parametrize(("name", "file"), [("sprung", "ikea"), ("catch", "lab")])
def test_moment_against_angle_is_that_of_the_raw_recording(
    doors: dict[str, Result], real_folder: Path, name: str, file: str
) -> None:
    p = doors[name].data["parameters"]
    angle, moment = moment_of_opening(real_folder / "hrl_pr2_cabinet_door" / f"{file}_cabinet_log.csv")
    opening = p["b_c"]["value"] + np.array([p[f"tau_{i}"]["value"] for i in range(len(KNOTS))])
    for i in range(len(KNOTS)):
        # each knot was passed once: its noise is known from few pieces
        assert p[f"tau_{i}"]["status"] == "fixed" or 3.92 * p[f"tau_{i}"]["noise"] < 0.25 * opening.max()
    beyond = (angle > 5) & (angle < 95)
    error = np.interp(angle, KNOTS, opening) - moment
    assert np.sqrt(np.mean(error[beyond] ** 2)) < 0.1
    peak = np.interp(KNOTS[np.argmax(opening)], angle, moment)
    assert opening.max() == pytest.approx(peak, abs=0.3)


@pytest.mark.real
def test_opening_alone_does_not_tell_friction_from_a_moment_that_holds(real_folder: Path, tmp_path: Path) -> None:
    text = (EXAMPLES / "cabinet-sprung.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("fixed")]
    (tmp_path / "free.yaml").write_text("\n".join(lines), encoding="utf-8")
    result = run_experiment(read_experiment(str(tmp_path / "free.yaml"), data=real_folder / "hrl_pr2_cabinet_door"))
    assert all(refused(result, name) for name in ("I", "b_c", *(f"tau_{i}" for i in range(len(KNOTS)))))
    assert any("cannot be separated" in w and "tau_12" in w for w in result.data["warnings"])


@pytest.mark.real
def test_the_model_of_one_door_does_not_pass_for_the_other(real_folder: Path, tmp_path: Path) -> None:
    """What a hook needs to open a door slowly: its own model explains the stretches that it has not seen."""
    data, errors = real_folder / "hrl_pr2_cabinet_door", dict[tuple[str, str], float]()
    for name in ("sprung", "catch"):
        experiment = EXAMPLES / f"cabinet-{name}-opening.yaml"
        done = palpate("identify", experiment, "--data", data, "-o", tmp_path / name)
        result = json.loads((tmp_path / name / "result.json").read_text())
        assert done.returncode == (0 if name == "sprung" else 3), done.stdout
        assert "friction-load" not in {f["cause"] for f in result["findings"]}  # it was named: a torque explains itself
        assert result["rms"]["test"]["n_z"]["value"] < 0.06
    for of, on in (("sprung", "catch"), ("catch", "sprung"), ("sprung", "sprung")):
        experiment, out = EXAMPLES / f"cabinet-{on}-opening.yaml", tmp_path / "validation.json"
        done = palpate("validate", tmp_path / of, experiment, "--data", data, "-o", out)
        errors[of, on] = json.loads(out.read_text())["rms"]["n_z"]["times_refit"]
        assert done.returncode == (0 if of == on else 3), done.stdout
        assert ("the object has changed, or is a different one" in " ".join(done.stdout.split())) == (of != on)
    # of a rate that is a guess, no inertia follows, and none is contradicted
    experiment = tmp_path / "heavy.yaml"
    text = (EXAMPLES / "cabinet-catch-opening.yaml").read_text(encoding="utf-8")
    experiment.write_text(text.replace("without: [I, b_c] ", "fixed: {I: 0.05}\nwithout: [b_c]"))
    palpate("identify", experiment, "--data", data, "-o", tmp_path / "heavy")
    done = palpate("validate", tmp_path / "heavy", EXAMPLES / "cabinet-sprung-opening.yaml", "--data", data)
    assert "exclude numbers of the model: tau_" in " ".join(done.stdout.split())
    assert "I = 0.05" not in done.stdout
    assert "Replay" not in done.stdout
    assert errors["sprung", "sprung"] < 1.1 < 10 < min(errors["sprung", "catch"], errors["catch", "sprung"])


@pytest.mark.real
@pytest.mark.parametrize("name", ["pendulum", "pendulum-short"])
def test_pendulum_has_the_right_inertia_beside_its_weight(real_folder: Path, name: str) -> None:
    result = identify(name, real_folder / "dfki_pendulum")
    p = result.data["parameters"]
    assert {p["I"]["status"], p["mc_x"]["status"]} <= (
        {"identified"} if name == "pendulum" else {"identified", "uncertain"}
    )
    low, high = p["mc_x"]["ci95"]
    assert low < 0.304 < high  # its makers' scale and ruler
    assert p["I"]["value"] / p["mc_x"]["value"] == pytest.approx(LENGTH, rel=0.05)
    if name == "pendulum":
        assert "scale" in {f.cause for f in result.findings if f.fatal}  # of the motor's torque
        assert not result.passed


@pytest.mark.real
def test_a_hand_that_is_not_recorded_gives_no_inertia(real_folder: Path) -> None:
    result = identify("pendulum-by-hand", real_folder / "dfki_pendulum")
    assert refused(result, "I")
    assert not result.passed
    assert result.model is None


DOOR = """
object: cabinet-door
stage: body
recordings:
  signals:
    file: door.csv
    columns: {%s}
    time: {column: t, unit: s}
    point: [x, y, z]
    force: [u, v, w]
    sign: %s
segments: {train: [0, 30], test: [30, 39.9]}
"""


def made_up_door(folder: Path, moved: str, sign: str = "on-hand") -> Result:
    """A door of 0.2 kg m2 and 0.3 N m of friction with a magnet, by a hook on a leaning circle of 0.4 m."""
    rng = np.random.default_rng(5)
    t = np.arange(0, 40, 0.004)
    # slow sweeps of 80 deg, with wiggles that are too weak to turn it back
    way = -np.cos(2 * np.pi * t / 8) if moved == "both ways" else t / 20 - 1
    wiggle, w = 0.03 if moved == "both ways" else 0.004, 2 * np.pi * 1.2
    angle = 0.7 * (1 + way) + wiggle * np.sin(w * t)
    speed, acceleration = np.gradient(angle, t), np.gradient(np.gradient(angle, t), t)
    moment = 0.2 * acceleration + 0.3 * np.sign(speed) + np.interp(np.degrees(angle), KNOTS, magnet())
    tilt = np.linalg.qr(np.array([[1.0, 0.1, 0.02], [-0.1, 1.0, 0.03], [0, -0.05, 1.0]]))[0]
    tilt = tilt * np.sign(np.diag(tilt))
    out, along = np.column_stack([np.cos(angle), np.sin(angle)]), np.column_stack([-np.sin(angle), np.cos(angle)])
    plane = 0.4 * out + 1e-4 * rng.standard_normal(out.shape)
    # pulled outwards as well, and upwards: neither turns the door
    force = 5 * out + along * (moment / 0.4)[:, None]
    point = np.column_stack([plane, np.full(len(t), 0.3)]) @ tilt.T + [1.0, -2.0, 0.5]
    pull = np.column_stack([force, np.full(len(t), 2.0)]) @ tilt.T * (-1 if sign == "on-hand" else 1)
    pull += 0.05 * rng.standard_normal(pull.shape)
    table = np.column_stack([t + 2e-4 * rng.standard_normal(len(t)), point, pull])
    table[2000:2003, 2] = np.nan
    head, lines = "t,x,y,z,u,v,w", [",".join("" if np.isnan(v) else f"{v:.7f}" for v in row) for row in table.tolist()]
    (folder / "door.csv").write_text("\n".join([head, *lines]), encoding="utf-8")
    columns = [f"{n}: {{column: {n}, unit: {unit}}}" for n, unit in zip("xyzuvw", ["m"] * 3 + ["N"] * 3, strict=True)]
    (folder / "door.yaml").write_text(DOOR % (", ".join(columns), sign), encoding="utf-8")
    return run_experiment(read_experiment(str(folder / "door.yaml")))


def magnet() -> Array:
    return 2 * np.exp(-KNOTS / 8) + 0.1


@pytest.mark.parametrize("sign", ["on-hand", "on-object"])
def test_path_and_force_of_a_door_that_is_moved_both_ways(tmp_path: Path, sign: str) -> None:
    p = made_up_door(tmp_path, "both ways", sign).data["parameters"]
    assert p["I"]["value"] == pytest.approx(0.2, rel=0.05)
    assert p["b_c"]["value"] == pytest.approx(0.3, rel=0.05)
    found = np.array([p[f"tau_{i}"]["value"] for i in range(len(KNOTS))])
    assert found == pytest.approx(magnet(), abs=0.05)


def test_path_and_force_of_a_door_that_is_only_opened(tmp_path: Path) -> None:
    result = made_up_door(tmp_path, "open")
    assert refused(result, "b_c")
    assert refused(result, "tau_5")
    assert any("cannot be separated" in w for w in result.data["warnings"])


@given(st.integers(1, 12), st.integers(50, 300), st.integers(2, 100))
def test_means_of_a_fast_table_keep_values_times_and_gaps(each: int, first: int, length: int) -> None:
    n, period = 40 * each + 3, 1 / (TABLE_HZ * each)
    t = 5 + period * np.arange(n)
    before = min(first, n - 3)  # one sample is lost at least
    after = min(before + length, n - 1)
    even = slower(
        Even(t, 3 * t[:, None] - 1, ((float(t[before]), float(t[after])),), 0.0, np.arange(n, dtype=np.int64))
    )
    kept = n // each
    np.testing.assert_allclose(even.x[:, 0], 3 * even.times_s - 1, rtol=1e-12)
    lost = np.zeros(n, dtype=bool)
    lost[before + 1 : after] = True
    expected = lost[: kept * each].reshape(kept, each).any(axis=1)
    np.testing.assert_array_equal(np.isnan(even.seen_x[:, 0]), expected)
    own = even.rows[: kept * each]
    assert np.abs(even.times_s[own] - t[: kept * each]).max() <= each * period / 2


PENDULUM = """
object: pendulum
stage: body
recordings:
  signals:
    file: pendulum.csv
    columns: {angle: {column: q, unit: deg}, torque: {column: tau, unit: N mm}}
    time: {column: t, unit: s}
    angle: angle
    torque: torque
known: {mc_x: 0.25}
segments: {train: [0, 20], test: [20, 29.9]}
"""


def test_angle_and_torque_with_whole_turns_and_holes(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    t, w = np.arange(0, 30, 0.002), 2 * np.pi * np.array([0.31, 0.83])
    size, phase = np.array([3.0, 0.8]), np.array([0.0, 0.4])
    at = w * t[:, None] + phase
    q, dq, ddq = (np.sin(at) @ size, np.cos(at) @ (w * size), -np.sin(at) @ (w**2 * size))
    tau = 0.15 * ddq + 0.3 * 9.80665 * np.sin(q) + 0.02 * dq + 0.1 * np.sign(dq)
    seen = q + 5e-4 * rng.standard_normal(len(t))
    wrapped = np.degrees(np.arctan2(np.sin(seen), np.cos(seen)))
    rows = np.column_stack([t, wrapped, 1e3 * (tau + 0.05 * rng.standard_normal(len(t)))]).tolist()
    lines = [f"{a:.4f},{'' if i in (700, 4001) else b},{c}" for i, (a, b, c) in enumerate(rows)]
    (tmp_path / "pendulum.csv").write_text("\n".join(["t,q,tau", *lines]), encoding="utf-8")
    (tmp_path / "pendulum.yaml").write_text(PENDULUM, encoding="utf-8")
    result = run_experiment(read_experiment(str(tmp_path / "pendulum.yaml")))
    for name, value in {"I": 0.15, "mc_x": 0.3, "b_v": 0.02, "b_c": 0.1}.items():
        assert result.data["parameters"][name]["value"] == pytest.approx(value, rel=0.05), name
    assert any("1.20 times" in f.sentence for f in result.findings)
