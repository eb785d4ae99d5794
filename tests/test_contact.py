"""Something soft inside the stated stops: found, left out and told; between stops that are true nothing is lost.

Drawers of other make: the hand of `gates_of_other_make` moves them, m a + b_v v + b_c sgn v, and a stop of rubber,
k d + c d', pushes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.contact import clear_of_contact
from palpate.experiment.stage.fit import Plan, fit_inputs
from tests.oracles import gates_of_other_make as gates
from tests.oracles.tables import save_table

TRUTH = {"m": 6.2, "b_v": 9.0, "b_c": 3.1}
TRAVEL_M, STILL_S = 0.45, gates.STILL_S
STEP = 0.005


@dataclass(frozen=True)
class Stop:
    """Where it begins, m; N/m and N s/m."""

    at: float
    k: float
    lowest: bool = False

    def push(self, q: np.ndarray, speed: np.ndarray) -> np.ndarray:
        side = -1.0 if self.lowest else 1.0
        deep, into = side * (q - self.at), side * speed
        return side * np.where(deep > 0, np.maximum(self.k * deep + 0.02 * self.k * into, 0.0), 0.0)


def write(folder: Path, *stops: Stop, stated: str = "[-10 mm, 460 mm]") -> Path:
    rng = np.random.default_rng(7)
    t, q, speed, acceleration = (x[:: gates.STORED] for x in gates.hand(rng))
    q, speed, acceleration = (TRAVEL_M / 1.5 * x for x in (q, speed, acceleration))
    moving = np.sign(np.where(np.abs(speed) > 1e-9, speed, 0.0))
    force = TRUTH["m"] * acceleration + TRUTH["b_v"] * speed + TRUTH["b_c"] * moving
    force = force + sum(stop.push(q, speed) for stop in stops)
    seen = q + rng.normal(0, 5e-5, len(q)), force + rng.normal(0, 0.2, len(q))
    save_table(folder / "log.csv", ["t", "q", "f"], np.column_stack([t, *seen]), "%.8g")
    columns = "{q: {column: q, unit: m}, f: {column: f, unit: N}}, position: q, force: f"
    (folder / "body.yaml").write_text(
        f"object: drawer\nstage: body\nstops: {stated}\nrecordings:\n"
        f"  signals: {{file: log.csv, time: {{column: t, unit: s}}, columns: {columns}}}\n"
        f"segments: {{train: [[{STILL_S + 1}, 70]], test: [[70, 88]]}}\n"
    )
    return folder / "body.yaml"


@pytest.mark.usefixtures("exact_replay")
@pytest.mark.parametrize(
    ("stop", "told", "elsewhere"),
    [
        pytest.param(Stop(0.38, 900.0), "inside the stated stop at 460 mm", True, id="highest"),
        pytest.param(Stop(0.04, 3000.0, lowest=True), "inside the stated stop at -10 mm", False, id="lowest"),
    ],
)
def test_a_soft_stop_inside_the_stated_ones_is_left_out_and_told(
    tmp_path: Path, stop: Stop, told: str, elsewhere: bool
) -> None:
    """A mass of 6.1 kg (6.05 to 6.18) passed where 6.2 is true, and a replay that was off by 110 mm without a word."""
    result = run_experiment(read_experiment(write(tmp_path, stop)))
    assert result.passed, result.data["verdict"]
    (warning,) = (x for x in result.data["warnings"] if "something not in the model pushes back" in x)
    assert told in warning
    replay = result.data["replay"]
    assert 0 < replay["stopped"] <= replay["windows"]
    assert elsewhere == any("turns it back, where the object went on by" in x for x in result.data["warnings"])
    assert f"{replay['stopped']} of them meet a stop" in str(result)
    for name, value in TRUTH.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert abs((low + high) / 2 - value) < 0.75 * (high - low), name
        assert high - low < 0.03 * value, name


@pytest.mark.parametrize(
    "stops",
    [
        (Stop(0.38, 300.0),),
        (Stop(0.43, 20_000.0),),
        (Stop(0.03, 900.0, lowest=True), Stop(0.4, 900.0)),
    ],
    ids=["soft", "hard", "both"],
)
def test_what_pushes_back_is_found_where_it_begins(tmp_path: Path, stops: tuple[Stop, ...]) -> None:
    experiment = read_experiment(write(tmp_path, *stops))
    fit = fit_prepared(experiment, prepare_experiment(experiment))
    assert fit.inputs.stops is not None
    ends = {False: fit.inputs.stops[1] - STEP, True: fit.inputs.stops[0] + STEP}
    for stop in stops:
        # as far in as 4 times the noise shows it, and not much farther
        inside = (stop.at - ends[stop.lowest]) * (-1 if stop.lowest else 1)
        assert -2.5 / stop.k - 0.5 * STEP < inside < 2 * STEP, ends
    if not any(stop.lowest for stop in stops):
        assert fit.inputs.stops[0] == pytest.approx(-0.01)
    assert fit.solution["m"].value == pytest.approx(TRUTH["m"], rel=2e-3)


@pytest.mark.parametrize("stated", ["[-10 mm, 460 mm]", "[-0.1 m, 0.6 m]", "[1 mm, 449 mm]"])
def test_between_true_stops_nothing_is_lost(tmp_path: Path, stated: str) -> None:
    experiment = read_experiment(write(tmp_path, stated=stated))
    prepared = prepare_experiment(experiment)
    fit, train = fit_prepared(experiment, prepared), tuple(prepared.segments["train"])
    plain = fit_inputs(prepared.inputs, prepared.segments, Plan(train))
    assert fit.inputs.stops == prepared.inputs.stops
    assert fit.p == pytest.approx(plain.p, rel=1e-12)
    assert fit.prediction.used.sum() == plain.prediction.used.sum()


def test_what_stands_out_both_ways_or_elsewhere_too_is_no_contact() -> None:
    """Accelerations after a knock, and a catch that snaps shut: of shipped objects' twins two lost samples by them."""
    rng = np.random.default_rng(0)
    position, left = np.linspace(0, 0.45, 9000), rng.normal(0, 0.1, 9000)
    pushed = left + np.where(position > 0.44, 2.0, 0.0)
    stops = (-0.01, 0.46)

    def found(residual: np.ndarray) -> tuple[float, float] | None:
        return clear_of_contact(position, residual, STEP, stops, "pushing back")

    assert found(left) is None
    assert found(pushed) == pytest.approx((-0.01, 0.44 + STEP), abs=0.5 * STEP)
    assert found(-pushed) is None
    assert found(left + np.where(position > 0.44, 2.0 * np.sign(rng.normal(size=9000)), 0.0)) is None
    assert found(pushed - np.where((position > 0.42) & (position < 0.43), 3.0, 0.0)) is None
    anything = clear_of_contact(position, -pushed, STEP, stops, "any")
    assert anything == pytest.approx((-0.01, 0.44 + STEP), abs=0.5 * STEP)


@pytest.mark.parametrize("more", ["at: 300 mm, estimate: true", "at: 380 mm"])
def test_a_stop_of_the_model_is_identified_where_it_is_pressed(tmp_path: Path, more: str) -> None:
    """Its samples were left out as something not in the model, and the element that the warning asks for failed."""
    path = write(tmp_path, Stop(0.38, 900.0), stated="[-0.1 m, 0.6 m]")
    text = path.read_text().replace("stops: [-0.1 m, 0.6 m]\n", "")
    own = f"elements:\n- {{type: end-stop, name: stop, acts_on: slide, {more}}}\nfixed: {{stop_c: 0}}\n"
    path.write_text(text + own)
    result = run_experiment(read_experiment(path))
    low, high = result.data["parameters"]["stop_k"]["ci95"]
    assert low < 1.1 * 900
    assert high > 0.9 * 900
    assert result.data["shapes"]["at"]["value"] == pytest.approx(0.38, abs=1e-3)
    assert not any("not in the model pushes back" in warning for warning in result.data["warnings"])


def test_where_a_stop_is_along_a_length_must_be_said(tmp_path: Path) -> None:
    """95 deg, usual of doors, were 1.658 m of a drawer."""
    path = write(tmp_path)
    path.write_text(path.read_text() + "elements:\n- {type: end-stop, name: stop, acts_on: slide, estimate: true}\n")
    with pytest.raises(PalpateError, match=r"body.yaml, line 8: elements.0: element 'stop': at is missing.*at: 400 mm"):
        run_experiment(read_experiment(path))


def test_what_stops_beyond_which_it_was_seen_say_to_write_is_right(tmp_path: Path) -> None:
    path = write(tmp_path, stated="[0 mm, 300 mm]")
    with pytest.raises(PalpateError, match="what pushes back near the ends is then found") as refused:
        prepare_experiment(read_experiment(path))
    ends = re.search(r"Write (stops: \[.*?\])", str(refused.value))
    assert ends is not None
    path.write_text(path.read_text().replace("stops: [0 mm, 300 mm]", ends[1]))
    prepare_experiment(read_experiment(path))
