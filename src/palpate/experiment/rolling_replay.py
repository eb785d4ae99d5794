"""A rolling object moved by the forces that were measured: does it go where it went?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.elements import SensorBias
from palpate.experiment.rolling_fit import RollingFit
from palpate.experiment.view import ReplayCurve, ReplayWindow
from palpate.files import finite
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.replay import Replay, Window, replay

WINDOW_S = 0.5
"""Nobody holds it in a replay: what leans falls over, and errors grow tenfold in so short a time."""
STEP_S = 5e-3
"""The step's own error is a tenth of what 0.3 mm of marker noise does to the speeds at the start."""
ANGLES = ("yaw", "camber", "pitch")
CONTACT = "contact"


def replay_rolling(
    fit: RollingFit, segments: Sequence[Segment], p: FloatArray | None = None, *, smoothing_s: float | None = None
) -> Replay:
    """The fitted object, or the same with parameters p, stepped through these segments window by window.

    smoothing_s: window over which the state at the start is taken; None: that of the fit, whose noise then is most of
    the error. Speeds have less of the quick motion than accelerations: a longer one has less noise and hardly any lag.
    From the measured state, by the sensors' wrenches less their zeros. Where a foot is on the ground or something was
    not seen there is no window; a wheel at rest is one like any other.
    """
    inputs, used = fit.inputs, fit.balance.used
    assert used is not None
    model = fit.solution.model if p is None else inputs.model.with_values(p)
    inside = np.zeros(len(used), dtype=bool)
    for s in segments:
        inside[slice(*fit.balance.indices(s))] = True
    state = np.where(used[:, None], inputs.rolling.states(inputs.motion(smoothing_s)), np.nan)
    wrench = fit.balance.wrench - _zero(model)
    # segments are apart in time, so that no window crosses from one to the next
    return replay(
        model,
        inputs.times_s[inside],
        wrench[inside],
        state[inside],
        window_s=WINDOW_S,
        dt=STEP_S,
        least_travel=0.0,
    )


def replay_errors(played: Replay) -> dict[str, float]:
    """RMS error of the contact's place (m, a distance) and of each angle (rad) over all windows; empty without any."""
    scores = {name: value for name, (value, _) in played.errors.items()}
    if not scores:
        return {}
    place = np.hypot(scores["x"], scores.get("y", 0.0))
    return {CONTACT: float(place), **{name: scores[name] for name in ANGLES if name in scores}}


def replay_entry(played: Replay) -> dict[str, Any]:
    """As result.json has it: `rms` of all angles together (rad), `coordinates` each by itself."""
    errors = replay_errors(played)
    turned = [v for name, v in errors.items() if name != CONTACT]
    return {
        "rms": finite(float(np.linalg.norm(turned))) if turned else None,
        "unit": "rad",
        "coordinates": {n: {"value": v, "unit": "m" if n == CONTACT else "rad"} for n, v in errors.items()},
        "windows": len(played.scored),
        "window_s": WINDOW_S,
        "least_travel": played.least_travel,
        "each": [_each(w) for w in played.scored],
    }


def replay_windows(played: Replay) -> tuple[ReplayWindow, ...]:
    """Measured and simulated contact, yaw, camber and pitch."""
    return tuple(
        ReplayWindow(
            w.times_s,
            tuple(
                ReplayCurve(t.name, "rad" if t.name in ANGLES else "m", t.measured, t.simulated, t.rms)
                for t in w.tracks
            ),
        )
        for w in played.scored
    )


def _zero(model: Model) -> FloatArray:
    """(6,) N and N m: the constant wrench of the sensors in the object's frame, where it was estimated along."""
    found = np.zeros(6)
    names = iter(model.parameters)
    for element in model.elements:
        own = [next(names) for _ in element.parameters]
        if isinstance(element, SensorBias):
            found += [model.values[name] for name in own]
    return found


def _each(window: Window) -> dict[str, float]:
    tracks = {t.name: t for t in window.tracks}
    angles = [tracks[name] for name in ANGLES if name in tracks]
    places = [t for t in window.tracks if t.name not in ANGLES]
    return {
        "start_s": window.start_s,
        "rms": float(np.linalg.norm([t.rms for t in angles])),
        "travel": max(t.travel for t in angles),
        CONTACT: float(np.linalg.norm([t.rms for t in places])),
    }
