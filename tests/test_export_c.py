"""Generated C against the stepper in Python, against arrays and CasADi on the same elements, and on bad input."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.elements import Coulomb, EndStop, Foot, FootFriction, ScalarInertia, Stribeck, Viscous
from palpate.errors import PalpateError
from palpate.experiment.stage.result import DRIVEN_BY
from palpate.export.c import c_source
from palpate.export.common import template
from palpate.mechanisms import Hinge, Rolling
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import phi_from_mass_properties
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.native import _C
from palpate.runtime.pairing import wrench_words
from tests.conftest import needs, needs_program
from tests.exported_models import export_c, export_fmu
from tests.generated import FUSED, Generated, generate
from tests.test_energy import random_door

DOOR = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
BARROW = phi_from_mass_properties(45.0, [-0.1121, 0.4498, 0.0004], [[4.0, 0.1, 0], [0.1, 3.0, 0.2], [0, 0.2, 5.0]])
HANDLE = (1.3, 0.05, -0.03, 0.08, 0.02, 0.001, -0.002, 0.025, 0.0015, 0.015)
SHIPPED = ("cabinet-door", "door", "hand-truck", "handle", "pendulum", "wheelbarrow", "wheelbarrow-planar")
HELD = (0.0, 0.0, 0.3, 0.05, 0.2, 0.5, 0.0, 0.0, 0.0)
EXACT = 1e-12
"""Without fused operations the numbers are the same; another libm may differ in the last bit."""


def shipped(name: str) -> Model:
    model = load_object(name).of_object()
    if name == "door":
        return model.with_values(DOOR)
    body = [HANDLE if name == "handle" else BARROW] if any(e.type == "rigid-body" for e in model.elements) else []  # type: ignore[attr-defined]
    given = [float(x) for part in body for x in part]
    return model.with_values([*given, *np.linspace(0.4, 0.9, len(model.parameters) - len(given))])


def closing_door() -> Model:
    """A door with a frame and a stop behind it."""
    door = shipped("door")
    stops = (EndStop("frame", at=0.03, side="lowest"), EndStop("open", at=1.5))
    return replace(door, elements=(*door.elements, *stops), values={}).with_values([*DOOR, 2e4, 1e4, 2e4, 1e4])


def standing_barrow() -> Model:
    """On its feet, with friction under them, and a wheel that sticks: seven dry elements hold it together."""
    feet = ((0.25, 0.75, 0.25), (0.25, 0.75, -0.25))
    rub = [FootFriction(f"mu_{i}{way}", f"foot_{i}_{way}") for i in (1, 2) for way in ("ahead", "aside")]
    parts = (*load_object("wheelbarrow").elements, Stribeck("b_st", "wheel"), Coulomb("b_p", "patch"))
    model = Model("barrow", Rolling(feet=feet), (*parts, Foot("left", "foot_1"), Foot("right", "foot_2"), *rub))
    return model.with_values([*BARROW, 0.3, 0.5, 0.2, 0.4, 0.3, *[1e5, 1e4] * 2, *[0.6] * 4])


def pushes(steps: int, seed: int, size: float = 30.0) -> np.ndarray:
    """Random wrenches held for a tenth of a second, nothing for a while, and then small ones."""
    rng = np.random.default_rng(seed)
    found = np.repeat(rng.normal(size=(steps // 100 + 1, 6)) * size, 100, axis=0)[:steps]
    found[np.arange(steps) % 2000 > 1200] *= 0.01
    return found


def in_python(model: Model, wrenches: np.ndarray, start: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The start, path and statuses."""
    stepper = Stepper(model, 1e-3)
    if start is not None:
        stepper.reset(start)
    first, out = stepper.state, np.empty((len(wrenches), stepper.size))
    status = stepper.run(wrenches, out)
    return first, out, status


def differences(
    found: Generated, wrenches: np.ndarray, python: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Largest difference of each number between C and Python; the steps at which the statuses differ."""
    start, out, status = python
    found.reset(start)
    c_out, c_status = found.run(wrenches)
    return np.abs(c_out - out).max(axis=0), np.flatnonzero(status != c_status)


def paths(model: Model, found: Generated, wrenches: np.ndarray, start: Any = None) -> tuple[np.ndarray, np.ndarray]:
    return differences(found, wrenches, in_python(model, wrenches, start))


@cache
def door_in_python() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return in_python(closing_door(), a_minute_at_the_door())


@cache
def standing_in_python() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return in_python(standing_barrow(), pushes(1000, 1, 150.0), [0.0, 0.0, 0.1, 0.0, 0.07, 0.3, 0.0, 0.0, 0.0])


@cache
def held_in_python() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closed loop: under the wrench that its own motion asks for."""
    stepper, path, status = Stepper(shipped("wheelbarrow"), 1e-3), np.empty((2000, 13)), np.empty(2000)
    stepper.reset(HELD)
    for i, out in enumerate(path):
        status[i] = stepper.step(hand(i * 1e-3, stepper.state), out)
    return np.array(HELD), path, status


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("c")


@pytest.fixture(scope="module")
def door(folder: Path) -> Generated:
    return generate(closing_door(), folder / "door")


@pytest.fixture(scope="module")
def barrow(folder: Path) -> Generated:
    return generate(shipped("wheelbarrow"), folder / "barrow")


@pytest.fixture(scope="module")
def fused_barrow(folder: Path) -> Generated:
    return generate(shipped("wheelbarrow"), folder / "fused barrow", *FUSED)


# The same motion


def a_minute_at_the_door() -> np.ndarray:
    """Opened to the stop, let go, closing and latching, leant on while shut; four times, each a little different."""
    t = np.arange(60_000) * 1e-3
    phase = t % 15.0
    torque = np.where(phase < 5, 20.0 + 0.3 * t + 15 * np.sin(1.7 * t), np.where(phase < 12, 0.0, 3 * np.sin(7 * t)))
    wrenches = np.zeros((len(t), 6))
    wrenches[:, 5] = torque
    return wrenches


@pytest.mark.parametrize("flags", [(), FUSED], ids=["strict", "fused"])
def test_a_minute_of_the_door_is_the_same_in_c(flags: tuple[str, ...], door: Generated, folder: Path) -> None:
    """Closing, latching and resting on its frame; with fused multiplications to 1e-9 in angle and speed."""
    found = door if not flags else generate(closing_door(), folder / "fused", *flags)
    worst, other = differences(found, a_minute_at_the_door(), door_in_python())
    angle, speed, acceleration = worst
    assert max(angle, speed) < (1e-9 if flags else EXACT)
    assert acceleration < (1e-6 if flags else EXACT)  # (new - old) / dt: a thousand times the rounding of the speed
    assert not len(other)
    assert set(door_in_python()[2].tolist()) == {StepStatus.OK, StepStatus.STICKING, StepStatus.AT_LIMIT}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_object_moves_in_c_as_in_python(name: str, folder: Path) -> None:
    model = shipped(name)
    found = generate(model, folder / "shipped" / name, "-O1")
    worst, other = paths(model, found, pushes(1500, 3))
    assert worst.max() < EXACT
    assert not len(other)


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_doors_of_all_elements_move_in_c_as_in_python(seed: int, folder: Path) -> None:
    model, _ = random_door(seed, lossy=True)
    found = generate(model, folder / f"random{seed}", "-O0")
    rng = np.random.default_rng(seed)
    for _ in range(4):
        worst, other = paths(model, found, pushes(500, seed, 200.0), (rng.uniform(0.1, 1.4), rng.normal()))
        assert worst.max() < EXACT * 1e3  # stops of 1e8 N m/rad: accelerations of thousands of rad/s2
        assert not len(other)


@pytest.mark.parametrize("flags", [("-O1",), FUSED], ids=["strict", "fused"])
def test_a_barrow_on_its_feet_slips_sticks_and_rests_in_c_as_in_python(flags: tuple[str, ...], folder: Path) -> None:
    """Seven dry elements at once: sweeps and pivots are the same."""
    model = standing_barrow()
    found = generate(model, folder / f"standing{len(flags)}", *flags)
    worst, other = differences(found, pushes(1000, 1, 150.0), standing_in_python())
    assert worst[:9].max() < (1e-9 if len(flags) > 1 else EXACT)
    assert not len(other)
    _, status = found.run(np.zeros((2000, 6)))
    assert StepStatus.AT_LIMIT in status


def hand(t: float, s: np.ndarray) -> list[float]:
    """A person at the handles: springs and dampers to where they want to be, in the body frame."""
    pitch, camber = s[4], s[3]
    level = [-500 * camber - 60 * s[7], 198 - 900 * (pitch - 0.2 - 0.1 * math.sin(1.3 * t)) - 90 * s[8]]
    ahead = 60 * math.sin(0.9 * t) - 30 * s[5]
    return [
        -ahead * math.sin(pitch),
        -ahead * math.cos(pitch),
        0.0,
        *np.array([0.0, 0.0, level[1]]) + turned(level[0], pitch),
    ]


def turned(moment: float, pitch: float) -> np.ndarray:
    """A moment about the way ahead, in axes of the body that is pitched."""
    return np.array([-moment * math.sin(pitch), -moment * math.cos(pitch), 0.0])


@pytest.mark.parametrize(("kind", "most"), [("barrow", EXACT), ("fused_barrow", 1e-9)])
def test_a_barrow_in_somebodys_hands_moves_in_c_as_in_python(
    kind: str, most: float, request: pytest.FixtureRequest
) -> None:
    """Closed loop: each moves under the wrench that its own motion asks for."""
    found = request.getfixturevalue(kind)
    start, path, status = held_in_python()
    found.reset(start)
    c_out, c_path, c_status = start, np.empty_like(path), np.empty_like(status)
    for i in range(len(path)):
        (c_out,), (c_status[i],) = found.run(np.array([hand(i * 1e-3, c_out)]))
        c_path[i] = c_out
    assert c_status.tolist() == status.tolist()
    assert np.abs(path[:, 3]).max() < 0.3  # nobody has let it fall
    assert np.abs(path[-1, :2]).max() > 0.3
    worst = np.abs(c_path[:, :9] - path[:, :9]).max()
    assert worst < most


# The same accelerations


def random_states(model: Model, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    n = len(model.mechanism.accelerations)
    positions = rng.uniform(-0.7, 0.7, size=(count, len(model.mechanism.state) - n))
    return np.hstack([positions, 2.0 * rng.normal(size=(count, n))]), rng.normal(size=(count, 6)) * 50.0


def on_arrays(model: Model, states: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """M a = applied - rest, from the elements on NumPy arrays: none of the runtime's own code."""
    mechanism, n = model.mechanism, len(model.mechanism.accelerations)

    def needed(acc: list[Any]) -> np.ndarray:
        k = mechanism.expand(list(states.T), acc, ARRAYS)
        return np.stack(np.broadcast_arrays(*model.wrench(k, ARRAYS), states[:, 0])[:-1], axis=1)

    zero = np.zeros(len(states))
    still = needed([zero] * n)
    M = np.stack([needed([zero + (i == j) for i in range(n)]) - still for j in range(n)], axis=2)
    k = mechanism.expand(list(states.T), [zero] * n, ARRAYS)
    applied = np.stack(mechanism.project(k, list(wrenches.T), ARRAYS), axis=1)
    return np.linalg.solve(M, (applied - still)[:, :, None])[:, :, 0]


@pytest.mark.parametrize("kind", ["barrow", "fused_barrow"])
def test_thousands_of_accelerations_of_the_barrow(kind: str, request: pytest.FixtureRequest) -> None:
    model, found = shipped("wheelbarrow"), request.getfixturevalue(kind)
    states, wrenches = random_states(model, 20_000)
    expected = on_arrays(model, states, wrenches)
    worst = np.abs(found.accelerations(states, wrenches) - expected) / np.abs(expected).max(axis=1, keepdims=True)
    assert worst.max() < 1e-12


def test_the_elements_on_casadis_symbols_say_the_same(barrow: Generated) -> None:
    """Another program's algebra and interpreter, on the elements as they are."""
    ca = needs("casadi", "casadi")
    from palpate.physics.functions import casadi_functions

    model, fn = shipped("wheelbarrow"), casadi_functions()
    mechanism, n = model.mechanism, 4
    s, a, w = ca.SX.sym("s", 9), ca.SX.sym("a", n), ca.SX.sym("w", 6)
    k = mechanism.expand(ca.vertsplit(s), ca.vertsplit(a), fn)
    needed = ca.vertcat(*model.wrench(k, fn))
    applied = ca.vertcat(*mechanism.project(k, ca.vertsplit(w), fn))
    M, still = ca.jacobian(needed, a), ca.substitute(needed, a, ca.DM.zeros(n))
    function = ca.Function("forward", [s, w], [M, applied - still])
    states, wrenches = random_states(model, 300)
    found = barrow.accelerations(states, wrenches)
    for x, f, got in zip(states, wrenches, found, strict=True):
        matrix, right = (np.array(y) for y in function(x, f))
        expected = np.linalg.solve(matrix, right).ravel()
        assert got == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())


# Limits and bad input


def lossy(steps: int, seed: int, size: float) -> np.ndarray:
    """Pushes with lost samples: single ones, in a row, and numbers so large that a step leads nowhere."""
    rng = np.random.default_rng(seed)
    found = pushes(steps, seed, size)
    found[rng.integers(0, steps, steps // 20), rng.integers(0, 6, steps // 20)] = math.nan
    found[steps // 2 : steps // 2 + 40] = math.inf
    found[rng.integers(0, steps, steps // 50)] *= 1e300
    found[-3:] = [3e307] * 5 + [1.0]  # finite, and so is their sum
    return found


@pytest.mark.parametrize("name", ["door", "handle", "wheelbarrow"])
def test_lost_wrenches_brake_in_c_as_in_python(name: str, door: Generated, barrow: Generated, folder: Path) -> None:
    """Bit by bit. And a step that overflows is told in both."""
    model = closing_door() if name == "door" else shipped(name)
    found = generate(model, folder / "lost", "-O1") if name == "handle" else door if name == "door" else barrow
    assert found.init() == 0
    wrenches = lossy(800, 6, 5.0 if name == "handle" else 30.0)
    worst, other = paths(model, found, wrenches)
    assert worst.max() == 0.0
    assert not len(other)
    _, out, status = in_python(model, wrenches)
    assert np.isfinite(out).all()
    assert (status[~np.isfinite(wrenches).all(axis=1)] == StepStatus.NOT_FINITE).all()


def test_every_lost_number_of_a_wrench_is_seen(door: Generated) -> None:
    assert door.init() == 0
    for bad in (math.nan, math.inf, -math.inf):
        for place in range(6):
            door.reset((0.7, 0.0))
            (out,), (status,) = door.run(np.array([[bad if i == place else 1.0 for i in range(6)]]))
            assert status == StepStatus.NOT_FINITE
            assert out.tolist() == [0.7, 0.0, 0.0]
    _, (status,) = door.run(np.zeros((1, 6)))
    assert status == StepStatus.OK


def test_a_saturated_sensor_counts_as_its_limit(door: Generated) -> None:
    limit = [100.0] * 3 + [10.0] * 3
    wrenches = pushes(2000, 4)
    assert door.init(limit=limit) == 0
    stepper, out = Stepper(closing_door(), 1e-3, wrench_limit=limit), np.empty((2000, 3))
    status = stepper.run(wrenches, out)
    door.reset((0.0, 0.0))
    c_out, c_status = door.run(wrenches)
    assert door.init() == 0
    assert c_out == pytest.approx(out, abs=EXACT)
    assert c_status.tolist() == status.tolist()
    assert ((np.abs(wrenches) > limit).any(axis=1) == (status == StepStatus.SATURATED)).all()


def test_parameters_that_no_object_has_are_refused_and_the_state_held(door: Generated, barrow: Generated) -> None:
    for found, model in ((door, closing_door()), (barrow, shipped("wheelbarrow"))):
        p, check = model.p.tolist(), getattr(found.library, f"{found.source.name}_check")
        start = list(found.now)
        inertias = {n for e, mine in model.parts if e.inertial for n in mine}
        for place, (name, parameter) in enumerate(model.parameters.items()):
            least = [-1.0, *([0.0] if name in inertias else [])] if parameter.map == "positive" else []
            for bad in (math.nan, math.inf, *least):
                wrong = [bad if i == place else x for i, x in enumerate(p)]
                assert found.init(wrong) == StepStatus.NOT_READY
                assert check(found.model.parameters) == place + 1
                out, (status,) = found.run(np.full((1, 6), 100.0))
                assert status == StepStatus.NOT_READY
                assert out[0, : len(start)].tolist() == start
                with pytest.raises(PalpateError):
                    Stepper(model.with_values(wrong), 1e-3)
        for limit in ([0.0] * 6, [math.nan] * 6, [-1.0] * 6):
            assert found.init(limit=limit) == StepStatus.NOT_READY
        assert found.init() == 0


def test_bodies_are_possible_in_c_where_they_are_in_python(barrow: Generated) -> None:
    model, rng, both = shipped("wheelbarrow"), np.random.default_rng(1), set()
    for _ in range(300):
        phi = np.array(BARROW) + rng.normal(size=10) * np.abs(BARROW) * 10 ** rng.uniform(-2, 0.5)
        p = [*phi, *model.p[10:]]
        try:
            model.with_values(p).check_values()
            possible = True
        except PalpateError:
            possible = False
        assert (barrow.init(p) == 0) == possible
        both.add(possible)
    assert both == {True, False}
    assert barrow.init() == 0


def test_parameters_change_at_run_time(door: Generated) -> None:
    """As if the model had been exported with them."""
    values = [1.3 * x for x in closing_door().p.tolist()]
    model = closing_door().with_values(values)
    assert door.init(values) == 0
    worst, other = paths(model, door, pushes(2000, 8))
    assert door.init() == 0
    assert worst.max() < EXACT
    assert not len(other)


# Files


def test_the_header_says_what_it_is_and_the_files_are_complete(tmp_path: Path) -> None:
    needs_program("cc")
    told = {"model_of": "body (pre-sensor part) */ int x;", "verdict": "passed", "frame": "hinge"}
    done = export_c(replace(closing_door(), about=told), tmp_path / "out", dt=2e-3, wrench_limit=[200.0] * 6)
    assert [p.name for p in done.files] == ["door.h", "door.c"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["door.c", "door.h"]
    header = done.files[0].read_text()
    words = " ".join(header.replace("\n *", " ").split())
    for expected in (
        "model of: body (pre-sensor part) * / int x;",
        "verdict: passed",
        "fixed step of 0.002 s",
        "rad/s",
    ):
        assert expected in words
    for line in done.left_out:
        assert " ".join(line.split()) in words
    assert any("b_bc.above = 1.20428" in line for line in done.left_out)
    assert any("us on average" in note and "at worst" in note for note in done.notes)
    assert 'extern "C"' in header


def test_what_cannot_be_exported_is_refused() -> None:
    for dt in (0.0, math.nan, 0.5):
        with pytest.raises(PalpateError, match="a step"):
            c_source(closing_door(), dt)
    with pytest.raises(PalpateError, match="six positive numbers"):
        c_source(closing_door(), 1e-3, wrench_limit=[1.0] * 5)
    with pytest.raises(PalpateError, match="has no value for"):
        c_source(load_object("door"), 1e-3)


def test_the_code_says_which_wrench_it_wants() -> None:
    """As the pairing has it: only a model of the whole is driven by the person's wrench."""
    model = closing_door()
    said = {of: c_source(replace(model, about={"model_of": words}), 1e-3) for of, words in DRIVEN_BY.items()}
    said[""] = c_source(model, 1e-3)
    for of, source in said.items():
        told = " ".join(source.header.replace("\n *", " ").split())
        assert ("of the person" in told) == (of == "whole")
        assert ("minus its zero" in told) == (of == "body")
        assert (wrench_words(model) in told) == (of == "")
    assert any("weight-only, for reproduction" in line for line in said["weight-only"].left_out)
    assert any("does not say what it describes" in line for line in said[""].left_out)
    assert not any("model_of" in line for of in ("body", "whole") for line in said[of].left_out)


def test_a_door_without_end_stops_is_told() -> None:
    """As identify writes doors: nobody measured the frame."""
    for model, missing in ((shipped("door"), True), (closing_door(), False), (shipped("wheelbarrow"), False)):
        assert any("has no end stop" in line for line in c_source(model, 1e-3).left_out) == missing


def test_no_name_of_an_element_meets_a_macro(folder: Path) -> None:
    """Every macro that the code defines, with and without its underscore, those of the headers, and words of C++."""
    source = c_source(closing_door(), 1e-3)
    wheels = c_source(shipped("wheelbarrow"), 1e-3)
    text = "\n".join((source.source, source.header, wheels.source, template("fmi2.c")))
    macros = sorted(set(re.findall(r"#define (\w+)", text.replace("@NAME@", "M"))))
    assert "DT_" in macros
    assert "DOOR_DT" in macros
    names = [*macros, *(m.strip("_") for m in macros if m.endswith("_")), "INFINITY", "NAN", "new", "class", "M_DT"]
    elements = (ScalarInertia("I"), *(Viscous(name) for name in dict.fromkeys(names)))
    model = Model("M", Hinge(), elements).with_values([1.0] * len(elements))
    found = generate(model, folder / "macros", "-O0")
    worst, _ = paths(model, found, pushes(50, 0))
    assert worst.max() < EXACT


def test_a_model_that_does_not_compile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_program("cc")
    monkeypatch.setattr("palpate.runtime.native._C", {**_C, "*": "{0} times {1}"})
    for export, out in ((export_c, tmp_path / "c"), (export_fmu, tmp_path / "door.fmu")):
        with pytest.raises(PalpateError, match="refuses the generated C"):
            export(closing_door(), out)
        assert not out.is_file()
    assert not list(tmp_path.rglob("model.*"))


def test_names_that_c_does_not_know_are_changed(folder: Path) -> None:
    elements = (ScalarInertia("double"), Viscous("b.v"), Viscous("b v"), Coulomb("1"))
    model = Model("a door / 2", Hinge(), elements).with_values([1.0, 2.0, 3.0, 0.5])
    found = generate(model, folder / "names", "-O0")
    assert found.source.name == "a_door_2"
    assert [name for name, _, _ in found.source.parameters] == ["x_double", "b_v", "b_v_2", "x_1"]
    worst, _ = paths(model, found, pushes(200, 0))
    assert worst.max() < EXACT
