"""A floor that slopes: found by the load cells along with the parameters, held by how well it was known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.experiment import read_experiment
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.fit import fit_inputs
from palpate.experiment.stage.slope import with_slope
from tests.oracles import gates_of_other_make as gates
from tests.oracles import wheelbarrows_of_other_make as barrows


def test_the_weight_tells_how_a_floor_slopes(tmp_path: Path) -> None:
    slope = barrows.slope_of(7)
    path, _ = barrows.write(tmp_path, 7, imu=True)
    experiment = read_experiment(path)
    prepared = prepare_experiment(experiment)
    level, fit = prepared.inputs, fit_prepared(experiment, prepared)
    before, after = (np.sqrt(np.diag(x.ground_root @ x.ground_root.T)) for x in (level, fit.inputs))
    assert (after[2:] < 0.3 * before[2:]).all()  # the floor was known no better than boards are even
    # up along the floor
    assert np.linalg.norm(fit.inputs.up - slope) < 0.5 * np.linalg.norm(level.up - slope)
    assert (np.abs(fit.inputs.up - slope) < 2 * np.hypot(after[:2], after[2:])).all()
    plain = fit_inputs(level, prepared.segments, fit.plan)
    assert fit.level[3] < plain.level[3]


def test_without_an_imu_the_floor_stays_where_markers_saw_it(tmp_path: Path) -> None:
    slope = barrows.slope_of(1)
    path, _ = barrows.write(tmp_path, 1)
    experiment = read_experiment(path)
    prepared = prepare_experiment(experiment)
    level, fit = prepared.inputs, fit_prepared(experiment, prepared)
    assert np.abs(level.up - slope).max() > 5e-4  # nothing but the floor told it before
    before, after = (np.split(x.ground_root, 2) for x in (level, fit.inputs))
    assert np.linalg.norm(after[1], axis=1) == pytest.approx(np.linalg.norm(before[1], axis=1))
    of_x, of_y = np.linalg.norm(after[0] - after[1], axis=1)  # vertical against the floor
    assert max(of_x, of_y) < 4e-4
    assert (np.abs(fit.inputs.up - slope) < 2 * np.array([of_y, of_x])).all()


def test_a_gate_has_no_floor(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 1)
    experiment = read_experiment(path)
    assert with_slope(fit_prepared(experiment, prepare_experiment(experiment))) is None
