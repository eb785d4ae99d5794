"""Steps that are compiled against those in Python, to the bit; and that nothing changes where they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from palpate.elements import Coulomb, EndStop, ScalarInertia, Stribeck, Viscous
from palpate.errors import PalpateError
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.native import compiled
from palpate.runtime.replay import Replay, replay
from tests.conftest import needs_program
from tests.test_replay import paper_door, torques

STEPS = 4000
MANY = 10**9
"""Steps for which compiling pays."""


def gate(dry: Coulomb | Stribeck) -> Model:
    """Thrown from one end stop to the other."""
    ends = (EndStop("open", at=0.4), EndStop("shut", at=0.0, side="lowest"))
    model = Model("gate", Hinge(), (ScalarInertia(), Viscous(), dry, *ends))
    return model.with_values([5.0, 2.0, *[5.0] * len(dry.parameters), *[4e4] * 4])


def shipped(name: str) -> Model:
    """With values of its size."""
    model = load_object(name).of_object()
    body = [20.0, -2.0, 6.0, 0.1, 4.0, 0.5, 0.0, 2.5, 0.0, 5.0] if "mc_x" in model.parameters else []
    return model.with_values([*body, *[0.5] * (len(model.parameters) - len(body))])


def pushes(steps: int) -> np.ndarray:
    t = np.arange(steps)[:, None] * 1e-3
    rng = np.random.default_rng(1)
    return rng.uniform(5.0, 40.0, 6) * np.sin(2 * np.pi * rng.uniform(0.3, 2.0, 6) * t + rng.uniform(0.0, 6.0, 6))


@pytest.mark.parametrize(
    "make",
    [
        *(paper_door, lambda: gate(Coulomb()), lambda: gate(Stribeck())),
        *(lambda: shipped("drawer"), lambda: shipped("wheelbarrow"), lambda: shipped("handle")),
    ],
    ids=["door", "gate", "gate-stribeck", "drawer", "wheelbarrow", "handle"],
)
def test_c_takes_the_steps_of_python(make: Callable[[], Model]) -> None:
    needs_program("cc")
    stepper, w = Stepper(make(), 1e-3), pushes(STEPS)
    start, expected = stepper.state, np.empty((STEPS, stepper.size))
    status = stepper.run(w, expected)
    run = compiled(stepper.terms, MANY)
    assert run is not None
    found = run(start, w)
    assert found is not None
    assert np.ptp(found, axis=0).max() > 0.1
    assert np.array_equal(found, expected[:, : len(start)])
    if stepper.terms.model.name == "gate":
        assert {StepStatus.OK, StepStatus.STICKING, StepStatus.AT_LIMIT} <= set(status.tolist())


def test_where_numbers_are_lost_it_says_so() -> None:
    needs_program("cc")
    stepper, w = Stepper(shipped("wheelbarrow"), 1e-3), pushes(20)
    run = compiled(stepper.terms, MANY)
    assert run is not None
    w[10] = 1e200
    assert stepper.run(w, np.empty((20, stepper.size))).max() == StepStatus.NOT_FINITE
    assert run(stepper.state, w) is None


def test_a_few_steps_are_not_worth_a_compiler() -> None:
    assert compiled(Stepper(paper_door(), 1e-3).terms, 1000) is None


# Replays


def thrown() -> Replay:
    """Three windows of 10 s in steps of 1 ms between two stops, from a measured way that is nearly so."""
    times = np.arange(3001) / 100.0
    wrench = torques(times, lambda t: 12.0 * np.sin(2 * np.pi * 0.2 * t))
    angle = 0.2 + 0.2 * np.sin(2 * np.pi * 0.2 * times - 1.0)
    return replay(gate(Coulomb()), times, wrench, np.column_stack([angle, np.gradient(angle, times)]), least_travel=0.2)


def ways(found: Replay) -> np.ndarray:
    assert len(found.windows) == 3
    return np.array([w.tracks[0].simulated for w in found.windows])


@pytest.fixture(scope="module")
def in_python() -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.runtime.replay.compiled", lambda *_: None)
        return ways(thrown())


def test_a_replay_in_c_is_that_of_python(in_python: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_program("cc")
    monkeypatch.setattr(Stepper, "run", None)  # nobody asks for it
    found = thrown()
    assert np.array_equal(ways(found), in_python)
    assert (found.played, found.not_in_c) == ("C", "")


def test_without_a_compiler_it_is_the_same(in_python: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    found = thrown()
    assert np.array_equal(ways(found), in_python)
    assert (found.played, found.not_in_c) == ("Python", "")


@pytest.mark.parametrize("does", ["exit 1", "sleep 2", 'while [ "$1" != -o ]; do shift; done; echo no library > "$2"'])
def test_with_a_compiler_that_fails_it_is_the_same(
    does: str, in_python: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\n{does}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr("palpate.runtime.native._LONGEST_S", 1.0)
    found = thrown()
    assert np.array_equal(ways(found), in_python)
    assert (tmp_path / "asked").exists()
    assert found.played == "Python"
    assert str(compiler) in found.not_in_c
    with pytest.raises(PalpateError, match="compiler"):
        compiled(Stepper(paper_door(), 1e-3).terms, MANY)
