"""A position and an effort that were exchanged are recognised, and right ones never accused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.motion.exchanged import exchange
from palpate.recording import load
from tests.drawer_files import simulate


def test_a_drawer_is_told_from_its_force() -> None:
    """In any units and at any of these rates; with noise on a position whose force was low-passed."""
    t, x, f = simulate()
    for every in (10, 50):
        q, push, times = 1e3 * x[::every], f[::every], t[::every]
        assert exchange(times, q, push) is None
        swapped = exchange(times, push, q)
        assert swapped is not None
        assert swapped.left_otherwise < 0.9 * swapped.left
        assert "position and force look swapped" in swapped.words("position", "force")
    slow = np.convolve(f, np.ones(300) / 300, "same")[::10]
    rough = x[::10] + np.random.default_rng(1).normal(0, 1e-3, len(slow))
    assert exchange(t[::10], rough, slow) is None


def test_what_a_spring_alone_does_tells_nothing() -> None:
    t = np.arange(0, 20, 0.01)
    q = np.sin(t) + 0.3 * np.sin(2.3 * t)
    assert exchange(t, q, 40 * q) is None
    assert exchange(t, 40 * q, q) is None
    assert exchange(t, q, np.zeros(len(t))) is None


@pytest.mark.real
@pytest.mark.parametrize("name", ["ddp_swingup", "gravity_compensation", "pd_system_identification"])
def test_real_pendulums_are_not_accused(name: str, real_folder: Path) -> None:
    table = load(real_folder / "dfki_pendulum" / f"{name}.csv")
    times = table["position"].clock.times_s
    even = np.linspace(times[0], times[-1], len(times))
    q, torque = (np.interp(even, times, table[n].samples) for n in ("position", "torque"))
    assert exchange(even, q, torque) is None
    assert exchange(even, torque, q) is not None
