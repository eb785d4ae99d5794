"""What was said of good recordings, and is not any more; beside each, the fault that must still be named."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.recording import Channel, Clock, Recording
from palpate.recording.gates import check_channels

Array = np.ndarray


def strokes(seed: int, rate_hz: float) -> tuple[Array, Array]:
    """An angle (rad) that moves from rest to rest, and where it moves."""
    rng, at = np.random.default_rng(seed), 0.2
    angle, moving = [], []
    for _ in range(10):
        to, u = rng.uniform(0, 1.5), np.linspace(0, 1, round(rng.uniform(0.5, 2) * rate_hz))
        rest = round(rng.uniform(0.3, 1.5) * rate_hz)
        angle += [np.full(rest, at), at + (to - at) * (10 * u**3 - 15 * u**4 + 6 * u**5)]
        moving += [np.zeros(rest), np.ones(len(u))]
        at = to
    return np.concatenate([*angle, np.full(round(rate_hz), at)]), np.concatenate([*moving, np.zeros(round(rate_hz))])


def said_of(x: Array, rate_hz: float) -> list[str]:
    clock = Clock("time", np.arange(len(x)) / rate_hz)
    return [f.cause for f in check_channels(Recording({"x": Channel("x", x, clock, "rad")}, None, "csv"), ["x"])]


@pytest.mark.parametrize("rate_hz", [100.0, 500.0, 1000.0])
@pytest.mark.parametrize("step", [1e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("instrument", ["encoder", "gyroscope"])
def test_what_vibrates_in_motion_and_is_quiet_at_rest_is_not_frozen(
    instrument: str, step: float, rate_hz: float
) -> None:
    for seed in range(4):
        angle, moving = strokes(seed, rate_hz)
        x = angle if instrument == "encoder" else 0.03 + np.gradient(angle) * rate_hz
        for vibration in (1.0, 2.0, 4.0):
            noise = np.random.default_rng(seed).normal(0, vibration * step, len(x))
            assert said_of(np.round((x + moving * noise) / step) * step, rate_hz) == []


def test_an_encoder_that_hangs_in_motion_is_frozen() -> None:
    angle, moving = strokes(1, 1000.0)
    x = np.round((angle + moving * np.random.default_rng(0).normal(0, 4e-3, len(angle))) / 1e-3) * 1e-3
    fastest = int(np.argmax(np.abs(np.gradient(angle))))
    x[fastest : fastest + 100] = x[fastest]
    assert said_of(x, 1000.0) == ["frozen"]
    x[fastest:] = x[fastest]
    assert said_of(x, 1000.0) == ["frozen"]
