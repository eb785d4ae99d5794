"""Magnets, detents, smooth tables, struts and drag: their laws by SciPy, and found in gates of other make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from palpate.elements import Detent, Drag, Element, GasStrut, Magnet, SmoothTable
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.mechanisms import TwoPoints
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Coordinate, Kinematics
from tests.oracles import gates_of_other_make as gates

KNOTS = (-0.3, 0.1, 0.25, 0.7, 1.4)


def force(e: Element, q: np.ndarray, p: list[float], speed: float = 0.0) -> np.ndarray:
    """What the person must do."""
    k = Kinematics((0.0, 0.0, 9.81), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), {e.acts_on: Coordinate(q, speed + 0 * q, 0 * q)})
    (row,) = e.columns(e.features(k, {s.name: s.value for s in e.shapes}, ARRAYS))
    return np.asarray(sum(c * v for c, v in zip(row, p, strict=True))) + 0 * q


@pytest.mark.parametrize("periodic", [False, True])
def test_a_smooth_table_is_scipys_spline(periodic: bool) -> None:
    element, q = SmoothTable(knots=KNOTS, periodic=periodic), np.linspace(KNOTS[0], KNOTS[-1], 401)
    if not periodic:
        values = [1.0, -2.0, 0.5, 3.0, -1.0]
        spline = CubicSpline(KNOTS, values, bc_type="natural")
        assert force(element, q, values) == pytest.approx(spline(q), abs=1e-12)
        beyond = force(element, np.array([1.5, 2.5]), values)
        assert beyond == pytest.approx(spline(1.4) + spline(1.4, 1) * np.array([0.1, 1.1]), abs=1e-12)
        return
    inner = [-2.0, 0.5, 3.0]

    def work(first: float) -> float:
        return float(CubicSpline(KNOTS, [first, *inner, first], bc_type="periodic").integrate(KNOTS[0], KNOTS[-1]))

    first = brentq(work, -50, 50)  # a turn takes no work, else a knob would turn by itself
    spline = CubicSpline(KNOTS, [first, *inner, first], bc_type="periodic")
    assert [p.name for p in element.parameters] == ["tau_1", "tau_2", "tau_3"]
    outside = np.linspace(-3, 4, 301)
    assert force(element, outside, inner) == pytest.approx(spline(outside), abs=1e-9)


def test_a_detent_resists_most_at_its_reach_and_gives_back_what_it_took() -> None:
    element = Detent(at=0.4, reach=0.05)
    q = np.linspace(0.0, 0.8, 8001)
    tau = force(element, q, [2.0])
    assert tau.max() == pytest.approx(2.0, rel=1e-6)
    assert q[tau.argmax()] == pytest.approx(0.45, abs=1e-3)
    assert quad(lambda x: float(force(element, np.array([x]), [2.0])[0]), 0.0, 0.8, points=[0.4])[0] == pytest.approx(
        0.0, abs=1e-9
    )
    row = Detent(at=0.1, period=0.3)
    assert force(row, np.array([0.1, 0.175, 0.25, 0.4]), [2.0]) == pytest.approx([0.0, 2.0, 0.0, 0.0], abs=1e-12)


def test_a_magnet_pulls_shut_and_fades_with_the_square_of_the_gap() -> None:
    element = Magnet(at=0.1, reach=0.02)
    assert force(element, np.array([0.0, 0.1, 0.12, 0.16]), [4.0]) == pytest.approx([4.0, 4.0, 1.0, 0.25])


def test_a_strut_pushes_its_ends_apart_more_the_shorter_it_is() -> None:
    assert force(GasStrut(extended=0.5), np.array([0.5, 0.3]), [300.0, 100.0]) == pytest.approx([-300.0, -320.0])
    assert [p.unit for p in GasStrut().parameters] == ["N", "N/m"]


def test_drag_is_quadratic_against_the_motion() -> None:
    assert force(Drag(), np.zeros(1), [2.0], -3.0) == pytest.approx([-18.0])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Magnet(reach=0.0), "reach must be from 0.0001 to 1 rad or m, not 0"),
        (lambda: Detent(period=-1.0), "period must not be negative"),
        (lambda: SmoothTable(knots=(0.0, 1.0, 2.0), periodic=True), "needs four knots or more"),
        (lambda: SmoothTable(knots=(0.0, 0.0)), "at least two increasing numbers"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], Element], problem: str) -> None:
    with pytest.raises(PalpateError, match=problem):
        make()


LINK = TwoPoints((0.35, 0.02), (-0.05, 0.35))


def strut_torque(q: np.ndarray) -> np.ndarray:
    """N m that a person needs against a strut of 120 N and 200 N/m between two points, by differences of its energy."""

    def energy(angle: np.ndarray) -> np.ndarray:
        end = np.array([0.35 * np.cos(angle) - 0.02 * np.sin(angle), 0.35 * np.sin(angle) + 0.02 * np.cos(angle)])
        length = np.hypot(end[0] + 0.05, end[1] - 0.35)
        return -(120.0 * length + 200.0 * (0.6 * length - length**2 / 2))

    return (energy(q + 1e-5) - energy(q - 1e-5)) / 2e-5


CASES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, dict[str, float]]] = {
    "magnet": (
        lambda q: 3.0 / (1 + np.maximum(q, 0) / 0.03) ** 2,
        "stops: [0 deg, 90 deg]\nelements: [{type: magnet, name: magnet, reach: 0.03 rad}]\n",
        {"magnet": 3.0},
    ),
    "detent": (
        lambda q: 2.0 * (q - 0.6) / 0.08 * np.exp(0.5 - 0.5 * ((q - 0.6) / 0.08) ** 2),
        "elements: [{type: detent, name: detent, at: 0.6 rad, reach: 0.05 rad, estimate: true}]\n",
        {"detent": 2.0},
    ),
    "strut": (
        strut_torque,
        "stops: [0 deg, 90 deg]\nmechanism: {linkage: {type: two-points, body: [0.35, 0.02], ground: [-0.05, 0.35]}}\n"
        "elements: [{type: gas-strut, name: strut, extended: 0.6 m}]\nwithout: [spring]\nuncertain: {links: 0 mm}\n",
        {"strut_force": 120.0, "strut_rate": 200.0},
    ),
}


def without_spring(run: gates.Run) -> gates.Run:
    return replace(run, torque=run.torque - run.gate.spring_0 - run.gate.spring_1 * run.q)


@pytest.mark.parametrize("case", CASES)
def test_they_are_found_in_gates_of_other_make(case: str, tmp_path: Path) -> None:
    law, keys, truth = CASES[case]
    effects = [lambda run: replace(run, torque=run.torque + law(run.q))]
    if case == "strut":
        effects.insert(0, without_spring)
    path, others = gates.write(tmp_path, 3, *effects, keys=keys)
    result = run_experiment(read_experiment(path))
    assert result.passed, result.data["verdict"]
    entries = result.data["parameters"]
    for name, value in {**others, **truth}.items():
        if name not in entries or (case == "strut" and name.startswith("c_")):
            continue
        low, high = entries[name]["ci95"]
        half = (high - low) / 2
        assert abs(entries[name]["value"] - value) < 1.5 * half, name
    for name in truth:
        assert entries[name]["status"] == "identified"
        assert entries[name]["value"] == pytest.approx(truth[name], rel=0.05)
    if case == "detent":
        assert result.data["shapes"]["reach"]["value"] == pytest.approx(0.08, rel=0.05)
