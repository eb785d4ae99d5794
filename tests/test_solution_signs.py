"""What an unconstrained fit may be accused of."""

from __future__ import annotations

import numpy as np

from palpate.identify.problem import untold
from palpate.identify.solution import sign_problems
from palpate.model import load_object


def test_numbers_that_the_data_leave_open_are_not_accused() -> None:
    """Straight ahead, a wheelbarrow shows Izz alone of its inertia: with zeros for the rest it looks impossible."""
    model, R = load_object("wheelbarrow-planar"), np.eye(13)
    R[:, 3:9] = 0.0
    p = np.array([56.0, -7.7, 23.1, 0, 0, 0, 0, 0, 0, 13.4, 0.45, 2.1])
    known = 1e-6 * np.eye(12)
    assert [f.place for f in sign_problems(model, p, lambda: known)] == ["inertia"]
    assert not sign_problems(model, p, lambda: known + untold(R))
    assert [f.place for f in sign_problems(model, p * [-1, *[1] * 11], lambda: known + untold(R))] == ["m"]
    assert [f.place for f in sign_problems(model, p * [*[1] * 11, -1], lambda: known + untold(R))] == ["b_c"]
