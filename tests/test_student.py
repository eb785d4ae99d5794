"""Student's t against SciPy."""

from __future__ import annotations

import pytest
from scipy.special import stdtrit

from palpate.physics.student import t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 6, 7, 10, 11, 30, 31, 100, 1000, 10_001])
def test_the_quantile_is_that_of_scipy(freedom: int) -> None:
    assert t_quantile(freedom) == pytest.approx(float(stdtrit(freedom, 0.975)), rel=1e-11)


def test_without_freedom_there_is_none() -> None:
    with pytest.raises(ValueError, match="at least one degree"):
        t_quantile(0)
