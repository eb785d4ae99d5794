"""The function tables and records: the same on arrays, floats and symbols."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from palpate.errors import MissingExtra
from palpate.physics import functions
from palpate.physics.functions import ARRAYS, FLOATS, Functions, casadi_functions, remembering
from palpate.physics.motion import Motion
from tests.conftest import needs

NAMES = [f.name for f in fields(Functions)]
VALUES = [-1.7, -0.3, 0.0, 0.4, 2.1]


def arguments(name: str) -> list[tuple[float, ...]]:
    if name in ("atan2", "minimum", "maximum"):
        return [(a, b) for a in VALUES for b in VALUES if (a, b) != (0, 0)]
    return [(abs(v),) if name == "sqrt" else (v,) for v in VALUES]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_the_same_on_floats_and_arrays(name: str) -> None:
    calls = arguments(name)
    arrays = getattr(ARRAYS, name)(*np.array(calls).T)
    floats = [getattr(FLOATS, name)(*call) for call in calls]
    assert all(isinstance(v, float) for v in floats)
    assert arrays == pytest.approx(floats, rel=1e-15, abs=1e-16)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_the_same_on_symbols(name: str) -> None:
    ca = needs("casadi", "casadi")
    calls = arguments(name)
    x = [ca.SX.sym(f"x{i}") for i in range(len(calls[0]))]
    symbols = ca.Function("f", x, [getattr(casadi_functions(), name)(*x)])
    found = [float(symbols(*call)) for call in calls]
    assert found == pytest.approx([getattr(FLOATS, name)(*call) for call in calls], rel=1e-15, abs=1e-16)


def test_without_casadi_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(functions, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"needs CasADi, which is not installed: pip install 'palpate\[casadi\]'"):
        casadi_functions()


def test_what_is_remembered_is_of_the_array_itself() -> None:
    fn, x = remembering(ARRAYS), np.array(VALUES)
    assert fn.sin(x) is fn.sin(x)
    assert (fn.cos(x) == np.cos(x)).all()
    for i in range(100):  # of each anew, though one may lie where the one before was
        assert (fn.sin(x + i) == np.sin(x + i)).all()


def test_a_motion_refuses_arrays_that_do_not_belong_together() -> None:
    times, three = np.arange(5) / 100, np.zeros((5, 3))
    assert Motion(times, three, three, three).rate_hz == pytest.approx(100)
    with pytest.raises(ValueError, match=r"omega_dot has shape \(4, 3\), with 5 times it must be \(5, 3\)"):
        Motion(times, three, three, three[:4])


def test_a_motions_components_are_contiguous() -> None:
    motion = Motion(np.arange(5.0), np.zeros((5, 3)), np.zeros((5, 3)), np.zeros((5, 3)))
    assert motion.specific_acceleration[:, 1].flags.c_contiguous
