"""A model of one freedom, evaluated over its coordinate: what it takes to hold it, its dry friction, its damping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.elements.traits import LooksAt
from palpate.experiment.body_view import BodyView
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.report.page import Json
from palpate.report.table import shown_unit

_STEP = 1e-3
"""rad/s (m/s), over which the damping is differenced."""
LEGEND_ABOVE: Json = {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "font": {"size": 11}}
"""The legend above a figure: all its width is for the curves, on paper too."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a quantity in SI is shown to people: angles in deg."""

    factor: float
    unit: str


def shown_in(unit: str) -> Shown:
    """deg for rad, deg/s for rad/s; others as they are."""
    return Shown(*shown_unit(unit)) if unit != "rad/s²" else Shown(shown_unit("rad")[0], "deg/s²")


def unit_text(unit: str) -> str:
    """A unit as people write it: m/s² for m/s2."""
    return re.sub(r"(?<=[a-z])[23]\b", lambda m: {"2": "²", "3": "³"}[m[0]], unit)


def quantity(unit: str) -> str:
    """What a coordinate in this unit is called."""
    return "angle" if unit == "rad" else "position"


def x_title(text: str) -> Json:
    """The title of a horizontal axis, close to it."""
    return {"title": {"text": text, "standoff": 8}}


def row_name(row: Row) -> str:
    """A free row with the word for what it is."""
    return f"{'force' if row.unit == 'N' else 'torque'} {row.name}"


def short(value: float) -> str:
    """Three digits or so, for labels."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


@dataclass(frozen=True, slots=True)
class Border:
    """Where a zone of an element begins or ends: SI, with its interval where it was estimated."""

    element: str
    side: str
    place: float
    interval: tuple[float, float] | None
    flat: bool
    """It was estimated, and the data do not tell it."""


def has_one_freedom(model: Model) -> bool:
    """Whether the model moves along one coordinate and has one row, so that its forces can be drawn over it."""
    m = model.mechanism
    return bool(m.coordinates) and (len(m.state), len(m.accelerations), len(m.rows)) == (2, 1, 1)


def first_coordinate(view: BodyView) -> tuple[str, str] | None:
    """Name and unit of the coordinate whose position the view holds; None where it holds none."""
    known = view.position[np.isfinite(view.position)]
    coordinates = view.model.mechanism.coordinates
    return next(iter(coordinates.items())) if coordinates and len(known) and known.min() < known.max() else None


def holding_force(model: Model, position: FloatArray) -> FloatArray:
    """What a person must do to hold the object, without friction: N m or N, (samples,).

    At speed zero a damper does nothing, and sign(0) takes dry friction out.
    """
    return _sum(model, _moving(model, position, 0.0), np.ones(len(model.parameters), dtype=bool))


def dry_force(model: Model, position: FloatArray, speed: FloatArray | float = 0.0) -> FloatArray:
    """How much dry friction can hold or take at most: N m or N, (samples,), never negative."""
    sets = model.dry_forces(_moving(model, position, speed), ARRAYS)
    return sum((np.abs(ratio[0] * level) + np.zeros_like(position) for ratio, level in sets), np.zeros_like(position))


def damping(model: Model, position: FloatArray, speed: float) -> FloatArray:
    """d force / d speed of what only takes energy out, but dry friction, at this speed (rad/s): (samples,)."""
    damps = _of_elements(model, [e.dissipates and not e.dry for e in model.elements])
    faster, slower = (_sum(model, _moving(model, position, speed + h), damps) for h in (_STEP, -_STEP))
    return (faster - slower) / (2 * _STEP)


def zone_borders(view: BodyView) -> list[Border]:
    """Of the elements that look at the first coordinate to know where they act; widths are no borders."""
    coordinates = view.model.mechanism.coordinates
    found: list[Border] = []
    if not coordinates:
        return found
    first, unit = next(iter(coordinates.items()))
    profiles = {p.name: p for p in view.profiles}
    owned = [(e, s) for e in view.model.elements for s in e.shapes]
    for (e, s), name in zip(owned, view.model.shapes, strict=True):
        if isinstance(e, LooksAt) and first in e.looks_at and s.unit == unit and s.name != "width":
            profile = profiles.get(name)
            interval, flat = (None, False) if profile is None else (profile.interval, profile.interval is None)
            found.append(Border(e.name, s.name, s.value, interval, flat))
    return sorted(found, key=lambda b: b.place)


def medians(x: FloatArray, y: FloatArray, bins: int = 40, fewest: int = 20) -> tuple[FloatArray, FloatArray]:
    """Median of y in stretches of x of equal width; NaN where a stretch has few samples."""
    if len(x) < fewest:
        return x[:0], y[:0]
    low, high = (float(v) for v in np.quantile(x, (0.002, 0.998)))
    edges = np.linspace(low, high, bins + 1)
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, -1, bins)
    parts: Sequence[FloatArray] = [y[place == i] for i in range(bins)]
    middle = np.array([np.median(part) if len(part) >= fewest else np.nan for part in parts])
    return (edges[:-1] + edges[1:]) / 2, middle


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """First sample and the one after the last of each run of True."""
    steps = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _moving(model: Model, position: FloatArray, speed: FloatArray | float) -> Kinematics:
    still = np.zeros_like(position)
    return model.mechanism.expand((position, still + speed), (still,), model.shapes, ARRAYS)


def _of_elements(model: Model, which: Sequence[bool]) -> BoolArray:
    """The parameters, in column order, of the elements that are meant."""
    return np.array([take for e, take in zip(model.elements, which, strict=True) for _ in e.parameters], dtype=bool)


def _sum(model: Model, k: Kinematics, take: BoolArray) -> FloatArray:
    """The first row of Y p over some parameters."""
    columns: list[list[Scalar]] = model.columns(k, ARRAYS)
    total = np.zeros_like(k.coordinates[next(iter(k.coordinates))].position)
    for column, value, use in zip(columns, model.p.tolist(), take.tolist(), strict=True):
        if use:
            total = total + column[0] * value
    return total
