"""The identified object, to be pushed in the page: its module, intervals for the sliders, and the recorded motion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage.view import View
from palpate.export.js import js_source
from palpate.model import Model
from palpate.physics.units import shown
from palpate.report.page import Json, Pushed
from palpate.runtime.replay import Window, with_stops
from palpate.runtime.stepper import end_stops, moving_range

_RATE_HZ, _POINTS = 30.0, 6000
"""Of the replay: nobody sees more."""


def feel(data: Mapping[str, Any], view: View) -> Pushed | None:
    """The object as identified; None where the model cannot be stepped."""
    try:
        main = view.main
        visited = None if main is None else (float(np.nanmin(main.position)), float(np.nanmax(main.position)))
        model, note = between_stops(view.model.of_object(), visited)
        module = js_source(model, handle=_hand(data)).module
    except PalpateError:
        return None
    known = {name: entry["ci95"] for name, entry in data["parameters"].items() if entry.get("ci95")}
    options: Json = {
        "sliders": list(view.model.of_object().parameters),
        "intervals": known,
        "replay": _replayed(view.replay),
    }
    doubt = "" if data["verdict"]["passed"] else " The verdict is failed: do not trust what you feel here."
    say = f"The identified model moves here as it would in a robot, in steps of 1 ms.{note}{doubt}"
    return Pushed(f"Push the {model.name}", say, module, options)


def between_stops(model: Model, visited: tuple[float, float] | None) -> tuple[Model, str]:
    """The model between end stops, and what is to be said of those that were put there.

    An identified model ends nowhere: a closer would pull the door through its frame, to where dry friction holds it.
    visited: lowest and highest main position of the recording (rad, m).
    """
    mechanism = model.mechanism
    if mechanism.main is None or mechanism.endless or not any(map(math.isinf, end_stops(model))):
        return model, ""
    low, high = moving_range(model, visited)
    unit = mechanism.coordinates[mechanism.main]
    ends = f"{shown(low, unit, digits=0, named=False)} and {shown(high, unit, digits=0)}"
    return with_stops(model, low, high), f" Its end stops at {ends} were put there for this picture, not identified."


def _hand(data: Mapping[str, Any]) -> list[float] | None:
    """Where the sensors are on the body, m; None: nobody says, or at the origin."""
    mechanism: Mapping[str, Any] = data.get("mechanism") or {}
    places = np.array(mechanism.get("sensors_m") or [[0.0] * 3], dtype=float)
    middle = places.mean(axis=0)
    return middle.tolist() if np.linalg.norm(middle) > 0.01 else None


def _replayed(windows: Sequence[Window]) -> Json | None:
    """Measured and simulated positions, thinned."""
    if not windows:
        return None
    made, left = list[Json](), _POINTS
    for w in windows:
        period = float(np.median(np.diff(w.times_s))) if len(w.times_s) > 1 else 1.0
        at = slice(None, None, max(1, round(1 / (_RATE_HZ * period))))
        left -= len(w.times_s[at]) * len(w.tracks)
        if made and left < 0:
            break
        both = {kind: [_rounded(getattr(t, kind)[at]) for t in w.tracks] for kind in ("measured", "simulated")}
        made.append({"times": _rounded(w.times_s[at]), **both})
    return {"names": [t.name for t in windows[0].tracks], "windows": made}


def _rounded(x: Any) -> list[float]:
    return np.round(np.asarray(x, dtype=float), 4).tolist()
