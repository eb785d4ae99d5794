"""Medians and quantiles of many values, by a sample of them."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.physics.arrays import median, quantile

MANY = 40_001
NOISE = np.random.default_rng(1).normal(size=MANY)
KINDS = {
    "noise": NOISE,
    "rounded": np.round(NOISE, 1),
    "one value": np.ones(MANY),
    "in order": np.arange(float(MANY)),
    "unlike the sample": np.where(np.arange(MANY) % (MANY // 2048) == 0, 1e3, NOISE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_numpys(kind: str) -> None:
    x = KINDS[kind]
    for part in (x, x[1:], x[:7]):
        assert median(part) == np.median(part)
        for share in (0.0, 0.01, 0.5, 0.999, 1.0):
            assert quantile(part, share) == pytest.approx(np.quantile(part, share), rel=1e-14, abs=1e-300)
    both = np.stack([x, -x], axis=1)
    np.testing.assert_array_equal(median(both), np.median(both, axis=0))
    both[3, 1] = np.nan
    np.testing.assert_array_equal(median(both), np.median(both, axis=0))
