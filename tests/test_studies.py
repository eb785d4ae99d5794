"""A few seeds of each study; `make study` runs the many."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from studies import handles, motion


def test_handles_a_few_seeds() -> None:
    runs = handles.run(range(2))  # one well and one poorly excited
    for r in runs:
        assert r.automatic.consistent
        assert r.undamped.consistent
        assert abs(r.clock_error_s) < 4 * r.clock_std_s < 1e-3
        assert 0.95 < r.automatic.rms_ratio < 1.05
        hits = [hit for fit in (r.automatic, r.undamped) for hit in fit.inside.values() if hit is not None]
        assert np.mean(hits) > 0.75
        called = sum(r.automatic.status[name] == "identified" for name in handles.PHYSICAL)
        assert called >= 8 if not r.poor else called < 8
    assert "| mass |" in handles.table(runs)


def test_motion_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is half as long as the study's recordings; the bounds are the same."""
    for name in ("write_capture_twin", "capture_twin"):
        monkeypatch.setattr(motion, name, partial(getattr(motion, name), duration_s=60.0))
    monkeypatch.setattr(motion, "MIDDLE_S", 30.0)
    (r,) = motion.run([7])
    for clock, most in ((r.imu, 1e-4), (r.wrench, 2e-3)):
        assert clock is not None
        assert abs(clock.error_s) < most
        assert clock.observed
        assert abs(clock.drift_error_ppm) < 5.0
    assert r.found == r.faults == 2
    assert r.false == r.false_clean == 0
    assert r.tilt_error_deg < 0.1
    assert r.tilt_error_unbiased_deg < 0.1
    assert "| imu |" in motion.table([r])
