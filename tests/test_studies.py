"""Three seeds of each study; `make study` runs the many."""

from __future__ import annotations

import numpy as np

from studies import handles


def test_handles_three_seeds() -> None:
    runs = handles.run(range(3))
    assert all(r.consistent for r in runs)
    assert all(abs(r.clock_error_s) < 4 * r.clock_std_s < 1e-3 for r in runs)
    assert np.mean([hit for r in runs for hit in r.inside.values()]) > 0.85
    assert max(abs(z) for r in runs for z in r.z.values()) < 2.5
    assert all(0.95 < r.rms_ratio < 1.5 for r in runs)
    assert "| mass |" in handles.table(runs)
