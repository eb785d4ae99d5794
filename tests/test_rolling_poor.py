"""A wheelbarrow that is only pushed straight ahead and back: what is not known is called so, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from palpate.experiment.file.reading import read_experiment
from palpate.experiment.gates import judge
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage import variations
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import Inputs
from palpate.experiment.stage.result import Case, rms_of_kinds
from palpate.experiment.stage.variations import Variation, estimated, with_estimated
from palpate.findings import Finding
from palpate.identify.solution import Status
from palpate.twin.rolling import wheelbarrow_twin
from tests.rolling_session import SEED, TOGETHER, changed, write_session

PRIOR = """
prior: {mass: 44 kg, com: [-0.12, 0.46, 0.0], inertia_com: [[3, 0, 0], [0, 1.5, 0], [0, 0, 3]], damping: auto}
"""
HELD = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


Pushed = tuple[Fit, dict[str, Finding], tuple[Finding, ...]]


def _tilts(inputs: Inputs) -> Iterator[Variation]:
    return (v for v in estimated(inputs) if v.name == "tilt")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Pushed:
    folder = tmp_path_factory.mktemp("pushed")
    write_session(folder, poor=True)
    experiment = read_experiment(changed(folder, ("clocks: auto\n", f"{TOGETHER}{PRIOR}")))
    prepared = prepare_experiment(experiment)
    fit = fit_prepared(experiment, prepared)
    with pytest.MonkeyPatch.context() as patch:  # the vertical alone: clock and zeros are two dozen fits
        patch.setattr(variations, "estimated", _tilts)
        fit = with_estimated(fit)
    solution, refused = refuse(fit, rate_known=True)
    fit = replace(fit, solution=solution)
    findings = judge(Case(experiment, prepared, fit, rms_of_kinds(prepared, fit), refused, None))
    return fit, refused, findings


def test_it_is_hardly_turned_leaned_or_lifted() -> None:
    path = wheelbarrow_twin(SEED, poor=True).wheeling.path(np.arange(8.0, 42.0, 0.01))
    assert np.ptp(path.value[0]) > 0.15
    assert np.degrees(np.ptp(path.value[1:], axis=1)).max() < 1.0


def test_what_the_motion_does_not_show_is_the_priors_or_refused(
    pushed: Pushed,
) -> None:
    fit, refused, _ = pushed
    status = {e.name: e.status for e in fit.solution.estimates}
    assert all(status[n] in (Status.PRIOR_DOMINATED, Status.NOT_IDENTIFIABLE) for n in HELD)
    assert status["b_psi"] is Status.NOT_IDENTIFIABLE
    assert "(yaw)" in refused["b_psi"].remedy
    assert status["b_c"] is Status.IDENTIFIED  # rolling it did


def test_the_motions_that_are_missing_are_named(pushed: Pushed) -> None:
    told = "; ".join(f.remedy for f in pushed[2] if f.cause in ("unknown", "prior"))
    for motion in ("turn it faster to and fro on the spot (yaw)", "rock it faster from side to side (camber)"):
        assert motion in told
    assert "lift and lower the handles faster (pitch)" in told


def test_a_wheel_that_hardly_leans_is_not_accused(pushed: Pushed) -> None:
    assert [f for f in pushed[2] if f.cause == "wheel-radius"] == []
