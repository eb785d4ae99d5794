"""Where dry friction changes its side, the acceleration jumps: derivatives over both sides show neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.experiment import read_experiment, run_experiment
from palpate.motion.derivatives import bent_sign, savitzky_golay, signal_noise
from tests.oracles import stick_slip


@pytest.mark.parametrize("seed", [0, 16])
def test_quick_drawers_in_a_table_at_100_hz(tmp_path: Path, seed: int) -> None:
    """With the samples at turns the mass was 0.4 and 0.8 % too large, and the verdict blamed a delay."""
    path, truth = stick_slip.write(tmp_path, seed)
    result = run_experiment(read_experiment(path))
    assert result.passed
    assert "delay" not in {f.cause for f in result.findings}
    for name, share in (("m", 1e-3), ("b_v", 1e-2), ("b_c", 2e-3)):
        (low, high), value = (result.data["parameters"][name][key] for key in ("ci95", "value"))
        assert low <= truth[name] <= high
        assert value == pytest.approx(truth[name], rel=share)


@pytest.mark.parametrize("window", [5, 9])
def test_friction_changes_its_side_as_the_derivative_shows_the_jump(window: int) -> None:
    """An acceleration of -1 that becomes 1 where the speed is zero, between two samples."""
    t = np.arange(200.0) - 100.37
    x, speed = np.sign(t) * t**2 / 2, np.abs(t) * np.sign(t)
    bent = savitzky_golay(x, window, 4, derivative=2)
    assert bent_sign(speed, window, 4) == pytest.approx(bent, abs=1e-9)
    assert np.abs(bent - np.sign(t)).max() > 0.1


def test_an_encoder_shows_its_noise_where_it_moves() -> None:
    """Rounding at rest and in slow motion follows the motion; in fast motion it is noise of step / sqrt(12)."""
    t, step = np.arange(0, 60, 0.004), 1e-4
    x = np.where(t < 25, 2e-4 * t, 5e-3 + 0.3 * np.sin(9 * (t - 25)))
    assert signal_noise(np.round(x / step) * step, 7, 4, moving=True) == pytest.approx(step / np.sqrt(12), rel=0.1)
