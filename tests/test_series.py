"""Two bodies in series: the inner one, which nobody measures, is found by the dynamics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.elements import Coulomb, ScalarInertia, Stiffness, Viscous
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.mechanisms import SeriesHinge, SeriesSlide, check_mechanism
from palpate.model import Model
from palpate.runtime import StepStatus, observer
from palpate.runtime import driven as along
from palpate.runtime.driven import driven
from palpate.runtime.stepper import Stepper
from tests import series_files as files
from tests.generated import generate
from tests.test_export_c import EXACT, differences, in_python


def model(mechanism: SeriesSlide | SeriesHinge) -> Model:
    main = str(mechanism.main)
    elements = (
        ScalarInertia("m_1", main),
        ScalarInertia("m_2", "inner"),
        Stiffness("k", "coupling"),
        Viscous("c", "coupling"),
        Coulomb("b_c", "inner"),
        Viscous("b_v", "inner"),
    )
    return Model("pair", mechanism, elements)


@pytest.mark.parametrize("mechanism", [SeriesSlide(), SeriesHinge(inclination=0.4)])
def test_a_series_is_one_body_for_whoever_knows_no_dynamics(mechanism: SeriesSlide | SeriesHinge) -> None:
    check_mechanism(mechanism)
    stepper = Stepper(model(mechanism).with_values([0.5, 6.0, 9e3, 20.0, 4.0, 5.0]), 1e-3)
    assert [n for n in stepper.names if "inner" in n] == list(stepper.names[1::2])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("stage: body", "stage: body\nmethod: joint", "not for two bodies in series"),
        ("object: drawer-soft", "object: drawer-soft\nwithout: [k]", "stiffness"),
    ],
)
def test_what_is_not_for_two_bodies_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "log.csv").write_text("t,x,F\n0,0,0\n")
    path = files.write_experiment(tmp_path, files.Pair())
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(PalpateError, match=said):
        run_experiment(read_experiment(path))


def test_both_bodies_move_in_c_as_in_python(tmp_path: Path) -> None:
    """Dragged, turned round and let go, so that the inner one slips and sticks."""
    moving = model(SeriesSlide()).with_values([0.5, 6.0, 9e3, 20.0, 4.0, 5.0])
    wrenches = np.zeros((3000, 6))
    wrenches[:2000, 0] = 15 * np.sin(np.arange(2000) * 7e-3)
    start, found, status = in_python(moving, wrenches)
    assert StepStatus.STICKING in status
    assert np.abs(found[:, 0] - found[:, 1]).max() > 1e-3
    worst, other = differences(generate(moving, tmp_path / "c", "-O1"), wrenches, (start, found, status))
    assert worst.max() < EXACT * 1e3  # accelerations of hundreds of m/s2 over a step of 1 ms
    assert not len(other)


def test_python_and_c_lead_both_bodies_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """And along the motion and under the force of somebody else's two bodies to where those were."""
    pair = files.random_pair(1)
    t, q, u, force = files.simulate(pair, 12.0)
    of, period = driven(model(SeriesSlide())), 1 / files.RATE_HZ
    p = of.parameters(pair.truth)
    held = observer.gains(of, p, 0.2, period, (5e-5, 0.03))
    left, there = observer.observe(of, [(0, len(t))], period, q, force, p, held)
    assert np.abs(left[0, 1500:]).max() < 2e-6
    np.testing.assert_allclose(there[0, 1500:], q[1500:], atol=2e-6)
    speed = np.gradient(q, t)
    path = of.run(t, q, speed, p)
    np.testing.assert_allclose(path.position[0, 1500:], u[1500:], atol=2e-5)
    monkeypatch.setattr(along, "PAYS", 0)
    compiled = of.run(t, q, speed, p)
    np.testing.assert_allclose(path.position[0], compiled.position[0], atol=1e-7)
    assert of.observing is not None
    assert of.driving is not None
    of.__dict__.update(observing=None, driving=None)  # what a machine without a compiler has
    few = slice(0, 400)
    again, _ = observer.observe(of, [(0, 400)], period, q[few], force[few], p, held)
    np.testing.assert_allclose(again[0], left[0, few], atol=1e-12)
    slow = of.run(t[few], q[few], speed[few], p)
    np.testing.assert_allclose(slow.position[0], path.position[0, few], atol=1e-7)


def test_a_drawer_behind_something_soft_is_identified(tmp_path: Path) -> None:
    """One on which steps in logarithms alone crept along a valley: m_1 + m_2 is known better than m_1."""
    pair = files.random_pair(3)
    result = run_experiment(read_experiment(files.write(tmp_path, pair, 3, short=True)))
    assert result.passed, result.findings
    for name, truth in pair.truth.items():
        e = result.data["parameters"][name]
        low, high = e["ci95"]
        assert low < truth < high, name
        assert (high - low) / 2 < 0.03 * truth, name
