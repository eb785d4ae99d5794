"""Objects that swing untouched, and gyroscopes whose rate is integrated: by SciPy, and real parts of a bicycle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

from tests.command import palpate
from tests.drawer_files import NOISE_N, TRUTH, simulate
from tests.oracles.tables import save_table

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
G, INERTIA, MOMENT, DAMPING = 9.80665, 0.98, 1.54, 0.02


def swing(folder: Path, seed: int = 0) -> None:
    """A pendulum let go at 17 deg: its angle, its rate by a gyroscope that is off by 0.6 deg/s, no torque."""

    def slope(_: float, y: Any) -> list[float]:
        return [y[1], -(MOMENT * G * np.sin(y[0]) + DAMPING * y[1]) / INERTIA]

    rng, t = np.random.default_rng(seed), np.arange(0, 20, 0.01)
    q, w = solve_ivp(slope, (0, 20), [0.3, 0.0], t_eval=t, rtol=1e-9, atol=1e-11).y
    columns = [t, q + rng.normal(0, 5e-4, len(t)), w + 0.01 + rng.normal(0, 5e-3, len(t)), 0 * t]
    save_table(folder / "log.csv", ["t", "q", "w", "tau"], np.column_stack(columns), "%.18e")


def experiment(folder: Path, signals: str, *lines: str) -> Path:
    units = "q: {column: q, unit: rad}, w: {column: w, unit: rad/s}, tau: {column: tau, unit: N m}"
    text = (
        f"object: pendulum\nstage: body\nrecordings: {{signals: {{file: log.csv, columns: {{{units}}}, {signals}}}}}\n"
    )
    path = folder / "swing.yaml"
    path.write_text("\n".join([text, *lines]))
    return path


def identified(path: Path, *more: str) -> dict[str, Any]:
    done = palpate("identify", path, "-o", path.parent / "out", "--json", *more)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def covers(result: dict[str, Any], name: str, truth: float, within: float) -> None:
    low, high = result["parameters"][name]["ci95"]
    assert low <= truth <= high, (name, low, high)
    assert high - low < 2 * within * truth, (name, low, high)


FREE = ("without: [b_c]", f"fixed: {{mc_x: {MOMENT}, mc_y: 0}}", "segments: {train: [0, 13], test: [13, 19.9]}")


@pytest.mark.parametrize("signals", ["angle: q", "angular_rate: w"])
def test_a_swing_tells_the_inertia_beside_a_known_moment(tmp_path: Path, signals: str) -> None:
    swing(tmp_path)
    result = identified(experiment(tmp_path, f"{signals}, free: true", *FREE))
    assert result["verdict"]["passed"], result["verdict"]
    covers(result, "I", INERTIA, 0.005)
    covers(result, "b_v", DAMPING, 0.5)
    assert any("ratios only" in w and "mc_x = 1.54" in w for w in result["warnings"])
    (row,) = result["rms"]["train"].values()
    assert 0 < row["percent_of_range"] < 1


def test_how_well_what_is_fixed_is_known_goes_into_every_number(tmp_path: Path) -> None:
    swing(tmp_path)
    path = experiment(tmp_path, "angular_rate: w, free: true", *FREE, "uncertain: {fixed: 2 %, gyroscope_scale: 1 %}")
    low, high = identified(path)["parameters"]["I"]["ci95"]
    assert (high - low) / 2 == pytest.approx(2 * 0.02 * INERTIA, rel=0.1)


def test_without_a_known_number_a_swing_is_refused(tmp_path: Path) -> None:
    swing(tmp_path)
    done = palpate("identify", experiment(tmp_path, "angle: q, free: true", FREE[2]))
    assert done.returncode == 1
    assert "only ratios of the numbers can be known" in done.stderr
    assert "I, mc_x, mc_y" in done.stderr


def test_a_torque_that_is_always_zero_says_what_to_write_and_that_works(tmp_path: Path) -> None:
    swing(tmp_path)
    done = palpate("identify", experiment(tmp_path, "angle: q, torque: tau", *FREE))
    assert done.returncode == 1
    assert "recordings.signals.torque: it is always zero" in done.stderr
    assert "leave it out and write free: true" in done.stderr
    wrong = palpate("identify", experiment(tmp_path, "angle: q, torque: tau, free: true", *FREE))
    assert "with free: true the first of a pair" in wrong.stderr


def test_a_swing_that_a_hand_pushes_is_not_explained(tmp_path: Path) -> None:
    t, x, _ = (column[::10] for column in simulate())
    x = x + np.random.default_rng(0).normal(0, 2e-4, len(x))
    np.savetxt(
        tmp_path / "log.csv", np.column_stack([t, x, 0 * t, 0 * t]), delimiter=",", header="t,q,w,tau", comments=""
    )
    segments = "segments: {train: [28, 46], test: [46.5, 57]}"
    result = identified(experiment(tmp_path, "angle: q, free: true", *FREE[:2], segments))
    assert not result["verdict"]["passed"]
    assert any("does not explain" in reason for reason in result["verdict"]["reasons"])


def gyroscope_on_a_hinge(folder: Path, seed: int, during_s: tuple[float, float] = (-1.0, 60.0)) -> None:
    """The drawer of other make as what turns, watched by a gyroscope whose zero creeps, beside its torque."""
    rng, (t, x, f) = np.random.default_rng(seed), simulate()
    rate = make_interp_spline(t, x, k=5)(t, 1)
    t, x, rate, f = (column[::5] for column in (t, x, rate, f))
    rate = rate + 0.01 + 1e-4 * t + rng.normal(0, 2e-3, len(t))
    columns = np.column_stack([t, x, rate, f + rng.normal(0, NOISE_N, len(t))])
    columns = columns[(t > during_s[0]) & (t < during_s[1])]
    save_table(folder / "log.csv", ["t", "q", "w", "tau"], columns, "%.18e")


PUSHED = ("mechanism: {inclination: 0}", "without: [gravity]")


@pytest.mark.parametrize("seed", range(3))
def test_a_gyroscope_and_a_torque_on_a_hinge_that_rests_now_and_then(tmp_path: Path, seed: int) -> None:
    gyroscope_on_a_hinge(tmp_path, seed)
    segments = "segments: {static: [0.5, 4.5], quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}"
    result = identified(experiment(tmp_path, "angular_rate: w, torque: tau", *PUSHED, segments))
    assert result["verdict"]["passed"], result["verdict"]
    for name, key in (("I", "m"), ("b_v", "b_v"), ("b_c", "b_c")):
        covers(result, name, TRUTH[key], 0.05)
    assert any("rest" in w and "deg/s" in w for w in result["warnings"])


def test_the_zero_of_a_gyroscope_that_rests_once_is_not_claimed_for_later(tmp_path: Path) -> None:
    gyroscope_on_a_hinge(tmp_path, 0, (25.1, 57.0))
    segments = "segments: {static: [25.3, 25.9], train: [28, 46], test: [46.5, 56.5]}"
    result = identified(experiment(tmp_path, "angular_rate: w, torque: tau", *PUSHED, segments))
    (said,) = (w for w in result["warnings"] if "deg/s" in w)
    assert "1 rest; a rest at the end would tell how it creeps" in said
    std = float(said.partition("+- ")[2].partition(" ")[0])
    assert np.degrees(1e-4 * 32) < 2 * std < 2  # by so much it creeps


def test_a_gyroscope_that_never_rests_is_refused(tmp_path: Path) -> None:
    gyroscope_on_a_hinge(tmp_path, 0, (28.0, 57.0))
    done = palpate(
        "identify",
        experiment(tmp_path, "angular_rate: w, torque: tau", *PUSHED, "segments: {train: [30, 40], test: [41, 50]}"),
    )
    assert done.returncode == 1
    assert "never rests" in done.stderr
    assert "Hold it still" in done.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "folder", "inertia"),
    # a damped sine's period and the rod's stiffness; published about the centre of mass, moved to the axle
    [
        ("wheel", "bicycle_wheel_pendulum", 11.71 * (0.42138 / 2 / np.pi) ** 2),
        ("fork", "bicycleparameters", 0.2458 + 3.22 * 0.4778**2),
    ],
)
def test_parts_of_a_bicycle_have_the_inertia_that_is_known(
    real_folder: Path, tmp_path: Path, name: str, folder: str, inertia: float
) -> None:
    (tmp_path / "swing.yaml").write_text((EXAMPLES / f"bicycle-{name}.yaml").read_text())
    result = identified(tmp_path / "swing.yaml", "--data", str(real_folder / folder))
    assert result["verdict"]["passed"], result["verdict"]
    covers(result, "I", inertia, 0.07)
