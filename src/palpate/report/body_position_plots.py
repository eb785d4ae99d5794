"""Figures of an identified body over its coordinate: spring and dry friction, damping and zones, residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.body_view import BodyView
from palpate.mechanisms.mechanism import Row
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.report.body_curves import (
    LEGEND_ABOVE,
    Border,
    damping,
    dry_force,
    first_coordinate,
    has_one_freedom,
    holding_force,
    medians,
    quantity,
    row_name,
    runs,
    short,
    shown_in,
    unit_text,
    x_title,
    zone_borders,
)
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, GREY, band, curve, layout, packed, upright

OPENING, CLOSING = COLOURS[0], COLOURS[1]
SLOW = 0.1
"""rad/s (m/s): below, dampers hardly act."""
AT_SPEED = 0.3
"""rad/s (m/s), at which the damping is drawn: that of a door that is opened by hand."""
_STATIC_SHARE = 0.15
"""Of the range of the holding force: a slow point shows it where inertia and dampers take less than this."""
_NEAR_END = 0.0175
"""rad (m): who rests so near an end of the travel may be held by a stop."""
_SHORTEST_REST_S, _COMING_S = 0.5, 0.2
"""A rest lasts so long; it still moves too slowly to be seen when it begins and ends."""
_POINTS = 1000
_FEWEST = 100


def holding(view: BodyView) -> Figure | None:
    """The force that holds the object over its coordinate: the model's with its dry friction, and what was measured
    at rest and in slow motion.
    """
    grid, coordinate = _grid_of(view), first_coordinate(view)
    if grid is None or coordinate is None:
        return None
    row, unit = view.model.mechanism.rows[0], shown_in(coordinate[1])
    middle, dry = holding_force(view.model, grid), dry_force(view.model, grid)
    x = unit.factor * grid
    data: list[Json] = []
    if (dry > 0).any():
        edge: Json = {"line": {"width": 0}, "hoverinfo": "skip"}
        data.append(curve(x, middle - dry, "", showlegend=False, **edge))
        filled: Json = {"fill": "tonexty", "fillcolor": "rgba(138,138,138,0.25)"}
        data.append(curve(x, middle + dry, "dry friction, ±", **edge, **filled))
    points, measured = _measured_points(view, unit.factor, float(np.ptp(middle)) + 2 * float(dry.max()))
    data += [*points, curve(x, middle, "model", DARK, line={"color": DARK, "width": 2.5})]
    every = np.concatenate([middle - dry, middle + dry, measured])
    margin = 0.08 * float(np.ptp(every)) + 1e-9
    scale = {1: {"range": [float(every.min()) - margin, float(every.max()) + margin]}}
    made = layout([f"{_force(row)} to hold it, {row.unit}"], _position_axis(coordinate[1]), height=380, y=scale)
    return Figure(
        "Spring and dry friction over the travel",
        "Slow opening should lie on the upper edge of the band, slow closing on the lower, rests between them (bars: "
        f"5 to 95 % of a rest). Slow is below {unit.factor * SLOW:.2g} {unit.unit}/s; what inertia and dampers take "
        "there by the model is subtracted.",
        tuple(data),
        made | {"legend": LEGEND_ABOVE | {"itemsizing": "constant"}},
    )


def _measured_points(view: BodyView, factor: float, extent: float) -> tuple[list[Json], FloatArray]:
    """What was measured in slow motion and at rest, and the forces to keep in sight: all but lone ones and a stop's."""
    known = np.isfinite(view.position) & np.isfinite(view.speed) & np.isfinite(view.reference[:, 0])
    slow, forces = _slow(view, known, extent)
    data: list[Json] = []
    for word, sign, colour in (("opening", 1, OPENING), ("closing", -1, CLOSING)):
        some = _few(sign * view.speed[slow] > 0)
        if len(some):
            x = factor * view.position[slow[some]]
            data.append(_points(x, forces[some], f"{word} slowly", colour, size=4))
    rests, at_end = _rests(view, known)
    for name, part, symbol, colour in (
        ("at rest", rests[~at_end], "diamond", COLOURS[2]),
        ("at rest at an end", rests[at_end], "x-thin-open", GREY),
    ):
        if len(part):
            place, middle, low, high = part.T
            bars = {"type": "data", "symmetric": False, "thickness": 1, "width": 0}
            bars |= {"array": packed(high - middle), "arrayminus": packed(middle - low)}
            points = _points(factor * place, middle, name, colour, size=7, symbol=symbol)
            data.append(points | {"error_y": bars, "opacity": 0.9})
    usual = np.quantile(forces, (0.005, 0.995)) if len(forces) else forces
    return data, np.concatenate([usual, rests[~at_end][:, 1]])


def damping_over_position(view: BodyView) -> Figure | None:
    """The damping at the hinge for opening and closing, with the borders of the zones."""
    grid, coordinate = _grid_of(view, 400), first_coordinate(view)
    if grid is None or coordinate is None or not any(e.dissipates and not e.dry for e in view.model.elements):
        return None
    unit, row = shown_in(coordinate[1]), view.model.mechanism.rows[0]
    data: list[Json] = []
    x = unit.factor * grid
    moved = view.used & np.isfinite(view.position) & np.isfinite(view.speed)
    unseen = False
    for name, sign, colour in (("opening", 1, OPENING), ("closing", -1, CLOSING)):
        y = damping(view.model, grid, sign * AT_SPEED)
        there = _visited(grid, view.position[moved & (sign * view.speed > 0.5 * SLOW)])
        unseen |= not there.all()
        dotted: Json = {"line": {"color": colour, "width": 1.5, "dash": "dot"}, "showlegend": False}
        data.append(curve(x, y, f"{name}, without data", colour, **dotted))
        solid: Json = {"line": {"color": colour, "width": 2.2}}
        data.append(curve(x, np.where(there, y, np.nan), name, colour, **solid))
    borders = zone_borders(view)
    places = [unit.factor * border.place for border in borders]
    low, high = min([x[0], *places]), max([x[-1], *places])
    shapes: list[Json] = []
    labels: list[Json] = []
    for i, (border, place) in enumerate(zip(borders, places, strict=True)):
        shape, label = upright(place, _border_text(border, coordinate[1]), level=1 - 0.08 * (i % 3))
        # to the side where there is room
        labels.append(label if place < (low + high) / 2 else label | {"xanchor": "right", "xshift": -4})
        shapes.append(shape)
        if border.interval is not None:
            a, b = np.clip(unit.factor * np.array(border.interval), x[0], x[-1]).tolist()
            shapes.append(band(a, b, COLOURS[4], 0.25))
    dots = " Dotted: not passed in that direction, so the model's alone." if unseen else ""
    per = f"{row.unit} s/{coordinate[1]}"
    made = layout([f"d {_force(row)} / d speed, {per}"], _position_axis(coordinate[1]), height=340, legend=LEGEND_ABOVE)
    made["yaxis"] |= {"rangemode": "tozero"}
    made["xaxis"] |= {"range": [float(low - 0.02 * (high - low)), float(high + 0.02 * (high - low))]}
    return Figure(
        f"Damping at {AT_SPEED:g} {coordinate[1]}/s",
        "Steps are zones and stand at their borders (shaded: 95 % interval where the border was estimated); a step "
        f"where the real object has none is a wrong border.{dots}",
        tuple(data),
        made | {"shapes": shapes, "annotations": labels},
    )


def residuals(view: BodyView) -> tuple[Figure, ...]:
    """The residual against position and against speed, for each row."""
    coordinate = first_coordinate(view)
    if coordinate is None:
        return ()
    inside = view.within("train", "test", "quasi_static") if view.segments else np.ones_like(view.used)
    left = view.reference - view.estimate
    good = view.used & inside & np.isfinite(left).all(axis=1) & np.isfinite(view.position) & np.isfinite(view.speed)
    if not good.any():
        return ()
    word = quantity(coordinate[1])
    found = [
        _residual_figure(
            view,
            good,
            view.position,
            coordinate[1],
            f"Residual against {word}",
            "Both medians should stay at zero: a wave is a spring or a zone that the model lacks, two medians that "
            "part are friction that changes along the travel.",
            by_direction=True,
        ),
        _residual_figure(
            view,
            good,
            view.speed,
            f"{coordinate[1]}/s",
            "Residual against speed",
            "The median should stay at zero: a step at zero is dry friction, a slope or a bend is damping that the "
            "model lacks.",
            by_direction=False,
        ),
    ]
    if view.acceleration is not None:
        known = good & np.isfinite(view.acceleration)
        title, look_for = "Residual against acceleration", "The median should stay at zero: a slope is a wrong inertia."
        unit = f"{coordinate[1]}/s²"
        found.append(_residual_figure(view, known, view.acceleration, unit, title, look_for, by_direction=False))
    return tuple(found)


def residuals_against(view: BodyView, name: str, unit: str, over: FloatArray, good: BoolArray) -> Figure | None:
    """The residual of every row against one more quantity."""
    known = good & np.isfinite(over)
    if known.sum() < _FEWEST:
        return None
    look_for = "Every median should stay at zero: a slope or a wave is an effect of this motion that the model lacks."
    title = f"Residual against {name.partition(',')[0]}"
    return _residual_figure(view, known, over, unit, title, look_for, by_direction=False, over_name=name)


def _residual_figure(
    view: BodyView,
    good: BoolArray,
    over: FloatArray,
    unit: str,
    title: str,
    look_for: str,
    *,
    by_direction: bool,
    over_name: str = "",
) -> Figure:
    shown = shown_in(unit)
    over_name = over_name or title.rpartition(" ")[2]
    data: list[Json] = []
    scales: dict[int, Json] = {}
    rows = view.model.mechanism.rows
    directions = (("opening", view.speed > 0, OPENING), ("closing", view.speed < 0, CLOSING))
    parts = directions if by_direction else (("", good, COLOURS[0]),)
    for i in range(len(rows)):
        left = view.reference[:, i] - view.estimate[:, i]
        for word, which, colour in parts:
            at = _few(good & which)
            once: Json = {"showlegend": False, "opacity": 0.4, "yaxis": f"y{i + 1}" if i else "y", "hoverinfo": "skip"}
            data.append(_points(shown.factor * over[at], left[at], f"residual {word}", colour, size=3) | once)
        for word, which, colour in parts:
            x, y = medians(shown.factor * over[good & which], left[good & which])
            name = f"median, {word}" if word else "median"
            style: Json = {"color": colour if word else DARK, "width": 2.5}
            data.append(curve(x, y, name, colour, row=i + 1, line=style, legendgroup=name, showlegend=i == 0))
        reach = 1.15 * float(np.quantile(np.abs(left[good]), 0.998)) or 1.0
        scales[i + 1] = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": "#888", "zerolinewidth": 1}
    titles = [f"{row_name(row) if len(rows) > 1 else 'residual'}, {row.unit}" for row in rows]
    axis = x_title(f"{over_name}, {unit_text(shown.unit)}")
    made = layout(
        titles, axis, height=100 + (200 if len(rows) == 1 else 150) * len(rows), y=scales, legend=LEGEND_ABOVE
    )
    return Figure(title, look_for, tuple(data), made)


def _grid_of(view: BodyView, points: int = 200) -> FloatArray | None:
    """The positions that were visited, evenly."""
    if not has_one_freedom(view.model) or first_coordinate(view) is None:
        return None
    known = np.isfinite(view.position)
    used = view.position[known & view.used] if (known & view.used).any() else view.position[known]
    low, high = float(used.min()), float(used.max())
    return np.linspace(low, high, points) if low < high else None


def _visited(grid: FloatArray, positions: FloatArray) -> BoolArray:
    """Which places of a grid were passed, within a fiftieth of its length."""
    if not len(positions):
        return np.zeros(len(grid), dtype=bool)
    positions, reach = np.sort(positions), float(grid[-1] - grid[0]) / 50
    return np.searchsorted(positions, grid + reach) > np.searchsorted(positions, grid - reach)


def _slow(view: BodyView, known: BoolArray, extent: float) -> tuple[NDArray[np.int64], FloatArray]:
    """Samples in slow motion, and what of their force is left for spring and dry friction: measured, less what inertia
    and dampers take by the model. Where that is much, the sample says little about a spring.
    """
    at = np.flatnonzero(known & view.used & ~view.resting & (np.abs(view.speed) < SLOW))
    x, v = view.position[at], view.speed[at]
    other = view.estimate[at, 0] - holding_force(view.model, x) - np.sign(v) * dry_force(view.model, x, v)
    little = np.abs(other) < _STATIC_SHARE * extent
    return at[little], (view.reference[at, 0] - other)[little]


def _rests(view: BodyView, known: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Each rest as (position, median, 5 %, 95 % of the force), and whether it is at an end of the travel.

    The static segments are left out: there nobody touches the object.
    """
    step = float(np.median(np.diff(view.times_s))) if len(view.times_s) > 1 else 1.0
    cut = round(_COMING_S / step)
    found = [
        [np.median(view.position[a:b]), *np.quantile(view.reference[a + cut : b - cut, 0], (0.5, 0.05, 0.95))]
        for a, b in runs(known & view.resting & ~view.within("static"))
        if (b - a) * step >= _SHORTEST_REST_S
    ]
    rests = np.array(found, dtype=float).reshape(-1, 4)
    ends = view.position[known]
    if not len(rests):
        return rests, np.zeros(0, dtype=bool)
    return rests, (rests[:, 0] < ends.min() + _NEAR_END) | (rests[:, 0] > ends.max() - _NEAR_END)


def _few(mask: BoolArray) -> NDArray[np.int64]:
    at = np.flatnonzero(mask)
    return at[:: max(1, -(-len(at) // _POINTS))]


def _points(x: FloatArray, y: FloatArray, name: str, colour: str, *, size: int, symbol: str = "circle") -> Json:
    marker: Json = {"size": size, "color": colour, "symbol": symbol, "line": {"width": 1.5, "color": colour}}
    marker |= {"line": {"width": 0}} if symbol == "circle" else {}
    place: Json = {"x": packed(x), "y": packed(y)}
    return {"type": "scatter", "mode": "markers", "name": name, "marker": marker, "opacity": 0.5, **place}


def _position_axis(unit: str) -> Json:
    return x_title(f"{quantity(unit)}, {shown_in(unit).unit}")


def _force(row: Row) -> str:
    return "force" if row.unit == "N" else "torque"


def _border_text(border: Border, unit: str) -> str:
    shown = shown_in(unit)
    text = f"{border.element} {border.side} {short(shown.factor * border.place)} {shown.unit}"
    return f"{text}, not in the data" if border.flat else text
