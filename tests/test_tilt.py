"""Tilt of the capture frame: from a vector along up, in a motion, and of a hinge against it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from palpate.motion.extrinsics import Tilt, hinge_inclination, up_vector

Array = NDArray[np.float64]


def plain_tilt(x: float, y: float) -> Tilt:
    return Tilt(x, y, np.eye(2) * 1e-8, np.zeros(3), np.zeros(3), "")


@given(x=st.floats(-0.2, 0.2), y=st.floats(-0.2, 0.2), size=st.floats(0.1, 20.0))
def test_the_tilt_of_a_vector_along_up(x: float, y: float, size: float) -> None:
    up = size * plain_tilt(x, y).up
    found_x, found_y, covariance = up_vector(up, 1e-4 * size**2 * np.eye(3))
    assert [found_x, found_y] == pytest.approx([x, y], abs=1e-9)
    assert np.sqrt(np.diag(covariance)) == pytest.approx([0.01, 0.01], rel=0.03)


def test_a_hinge_leans_by_its_angle_to_true_up() -> None:
    tilt = plain_tilt(0.01, -0.02)
    angle, std = hinge_inclination(tilt.up, 0.001, tilt)
    assert angle < 1e-7
    assert std == pytest.approx(np.hypot(0.001, 1e-4), rel=1e-6)
    angle, _ = hinge_inclination([0, 0, -1], 0.001, tilt)
    assert angle == pytest.approx(np.hypot(0.01, 0.02), rel=1e-3)
