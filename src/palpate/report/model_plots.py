"""Figures of a model and its data: over time, over its coordinate, profiles of its shapes, and replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.view import CoordinateSeries, ReplayWindow, ShapeProfile, View
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.report.page import Figure, Json
from palpate.report.plots import (
    COLOURS,
    DARK,
    GREY,
    LEGEND_ABOVE,
    axis_of,
    band,
    curve,
    grid,
    horizontal,
    key,
    layout,
    line,
    on_plot,
    packed,
    quantity,
    runs,
    short,
    shown_in,
    since,
    unit_text,
    upright,
    x_title,
    zero_of,
)

_STEP = 1e-3
"""rad/s (m/s), over which the damping is differenced."""


def row_name(row: Row) -> str:
    """A free row with the word for what it is."""
    return f"{'force' if row.unit == 'N' else 'torque'} {row.name}"


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


def zone_borders(view: View) -> list[Border]:
    """Of the elements that look at the main coordinate to know where they act; widths are no borders."""
    main = view.main
    found: list[Border] = []
    if main is None:
        return found
    profiles = {p.name: p for p in view.profiles}
    owned = [(e, s) for e in view.model.elements for s in e.shapes]
    for (e, s), name in zip(owned, view.model.shapes, strict=True):
        if main.name in e.looks_at and s.unit == main.unit and s.name != "width":
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


MEASURED, ESTIMATED, RESIDUAL = DARK, COLOURS[1], "#5fbf9f"
_SERIES = {"m/s2": "a - g", "rad/s": "ω"}
"""What series of these units are called on an axis."""
_REPLAYED = 3000
"""Samples of a replay that are drawn."""
_MOST_BANDS = 200
_DENSE = 0.4
"""Spans share a figure where they fill at least this share of its time."""
_HIGHEST_COST = 12.0
"""In units of the 95 % limit: what lies above is far out of question and would hide the valley."""
_LOWEST_COST = 2.0
"""Profiles that rise less are drawn to this height, so that noise does not look like a valley."""
_CLOSE = (
    "The estimate should lie on the measured curve at every turn, and the residual look like noise: what repeats with "
    "the motion is an effect that the model lacks."
)
_NOISE = "They should look like noise: what repeats with the motion is an effect that the model lacks."


# --- over time --------------------------------------------------------------------------------------------------------


def over_time(view: View, segment: str) -> tuple[Figure, ...]:
    """Position, measured and estimated rows and the absolute residual, as in the paper's figures.

    Several rows have their residuals in a figure of their own; spans of a segment that lie far apart, too.
    """
    found: list[Figure] = []
    for spans in _groups(view.segments.get(segment, ())):
        inside = np.zeros(len(view.times_s), dtype=bool)
        for start, stop in spans:
            inside |= (view.times_s >= start) & (view.times_s < stop)
        seen = view.used & inside & np.isfinite(view.reference - view.estimate).all(axis=1)
        if not seen.any():
            continue
        zero = zero_of(view.times_s)
        name = f"{segment.replace('_', '-').capitalize()} segment, {spans[0][0] - zero:g} to {spans[-1][1] - zero:g} s"
        motion, forces, errors = _motion(view, inside), _forces(view, inside, seen), _errors(view, inside, seen)
        grey = _bands(view.times_s[inside] - zero, ~seen[inside])
        if len(errors) == 1:
            found.append(_stacked(zero, grey, [*motion, *forces, *errors], name, _CLOSE))
        else:
            found.append(_stacked(zero, grey, [*motion, *forces], name, _CLOSE))
            found.append(_stacked(zero, grey, errors, f"{name}: absolute residual", _NOISE))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Panel:
    """One plot of several above a common time axis; rms: a level to draw and what is written about it."""

    title: str
    data: tuple[Json, ...]
    rms: tuple[float, str] | None = None


def _motion(view: View, inside: BoolArray) -> list[_Panel]:
    """Positions of the coordinates, then the other series, those of one unit together."""
    t = view.times_s[inside] - zero_of(view.times_s)
    positions = [(c.name, c.unit, c.position) for c in view.coordinates if np.isfinite(c.position).any()]
    tints = cycle([COLOURS[i] for i in (0, 2, 3, 4, 7, 6)])  # no orange: that is the estimate's
    found: list[_Panel] = []
    for quantities in (positions, [(s.name, s.unit, s.values) for s in view.series]):
        alone = len(quantities) == 1
        for unit in dict.fromkeys(unit for _, unit, _ in quantities):
            shown = shown_in(unit)
            data = tuple(
                line(t, shown.factor * y[inside], name, DARK if alone else next(tints), showlegend=not alone)
                for name, u, y in quantities
                if u == unit
            )
            found.append(_Panel(f"{_SERIES.get(unit, quantity(unit))}, {unit_text(shown.unit)}", data))
    return found


def _forces(view: View, inside: BoolArray, seen: BoolArray) -> list[_Panel]:
    """Measured and estimated; no estimate where the model does not speak, as of the friction of an object at rest."""
    t, rows = view.times_s[inside] - zero_of(view.times_s), view.model.mechanism.rows
    estimate = np.where(seen[:, None], view.estimate, np.nan)
    found: list[_Panel] = []
    for i, row in enumerate(rows):
        both = (("measured", view.reference, MEASURED, 2.0), ("estimated", estimate, ESTIMATED, 1.1))
        data = tuple(
            line(t, y[inside, i], n, c, legendgroup=n, showlegend=i == 0, line={"color": c, "width": width})
            for n, y, c, width in both
        )
        found.append(_Panel(f"{row_name(row) if len(rows) == 1 else row.name}, {row.unit}", data))
    return found


def _errors(view: View, inside: BoolArray, seen: BoolArray) -> list[_Panel]:
    t, rows = view.times_s[inside] - zero_of(view.times_s), view.model.mechanism.rows
    found: list[_Panel] = []
    for i, row in enumerate(rows):
        left = np.where(seen, np.abs(view.reference[:, i] - view.estimate[:, i]), np.nan)
        data = line(t, left[inside], "absolute residual", RESIDUAL, showlegend=False)
        rms, extent = float(np.sqrt(np.mean(left[seen] ** 2))), float(np.ptp(view.reference[seen, i]))
        share = f", {100 * rms / extent:.2f} % of range" if extent > 0 else ""
        title = f"|residual|, {row.unit}" if len(rows) == 1 else f"{row.name}, {row.unit}"
        found.append(_Panel(title, (data,), (rms, f"RMS {rms:.3g} {row.unit}{share}")))
    return found


def _stacked(zero: float, grey: Sequence[Json], panels: Sequence[_Panel], title: str, look_for: str) -> Figure:
    """Panels above one time axis, lettered as in a paper; grey: bands of what is not compared."""
    data = [trace | {"yaxis": axis_of("y", i)} for i, panel in enumerate(panels) for trace in panel.data]
    data += [key("not compared", "#dddddd")] if grey else []
    levels = [(i, panel.rms) for i, panel in enumerate(panels) if panel.rms is not None]
    made = layout(
        [f"({chr(ord('a') + i)}) {panel.title}" for i, panel in enumerate(panels)],
        x_title(_time(zero)),
        height=90 + (165 if len(panels) <= 3 else 140) * len(panels),
        legend=LEGEND_ABOVE,
        shapes=[*grey, *(_level(rms, i) for i, (rms, _) in levels)],
        annotations=[_corner(text, i) for i, (_, text) in levels],
        margin={"l": 70, "r": 14, "t": 36 if panels[0].rms is None else 52, "b": 48},
    )
    look_for += " Grey: not compared (at rest, at a stop, or not seen)." if grey else ""
    worst = [text for _, (_, text) in levels]
    return Figure(title, look_for, tuple(data), made, f"{worst[0]}." if len(worst) == 1 else "")


def _groups(spans: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Spans that are drawn together, because little time lies between them."""
    groups: list[list[tuple[float, float]]] = []
    for span in sorted(spans):
        if groups:
            together = [*groups[-1], span]
            filled = sum(b - a for a, b in together)
            if filled >= _DENSE * (span[1] - together[0][0]):
                groups[-1].append(span)
                continue
        groups.append([span])
    return groups


def _bands(t: FloatArray, mask: BoolArray) -> list[Json]:
    """Stretches that can be seen, shaded."""
    found = [(float(t[a]), float(t[b - 1])) for a, b in runs(mask)]
    shortest = float(t[-1] - t[0]) / 500
    long = sorted((b - a, a, b) for a, b in found if b - a > shortest)[-_MOST_BANDS:]
    return [band(a, b, "#bbbbbb", 0.35) for _, a, b in long]


def _corner(text: str, index: int) -> Json:
    """Words above the right end of a panel."""
    label: Json = {"text": text, "x": 1, "y": 1, "xref": "paper", "yref": f"{axis_of('y', index)} domain"}
    return label | {"showarrow": False, "xanchor": "right", "yanchor": "bottom", "font": {"size": 11}}


def _level(value: float, index: int) -> Json:
    shape: Json = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": axis_of("y", index)}
    return shape | {"y0": value, "y1": value, "line": {"color": DARK, "width": 1.5, "dash": "dash"}}


# --- shapes -----------------------------------------------------------------------------------------------------------


def profiles(view: View) -> Figure | None:
    """How much worse the fit is with each shape held elsewhere, one small plot per shape."""
    if not view.profiles:
        return None
    titles = [_profile_title(p) for p in view.profiles]
    made = grid(titles, [f"{p.name}, {shown_in(p.unit).unit}" for p in view.profiles], "misfit / 95 % limit", 190)
    data: list[Json] = []
    shapes: list[Json] = []
    for i, p in enumerate(view.profiles):
        x, place = shown_in(p.unit).factor, _place(i)
        data.append(curve(x * p.values, np.minimum(p.cost, 1e6), p.name, 0, **on_plot(i), showlegend=False))
        shapes += [_vertical(x * p.value, place), horizontal(1.0, i)]
        if p.interval is not None:
            low, high = (float(np.clip(v, p.values.min(), p.values.max())) for v in p.interval)
            shapes.append(band(x * low, x * high, COLOURS[4], 0.3) | place)
        worst = float(np.nanmax(p.cost)) if np.isfinite(p.cost).any() else 0.0
        top = min(max(1.1 * worst, _LOWEST_COST), _HIGHEST_COST)
        made[axis_of("yaxis", i)] |= {"range": [-0.05 * top, top]}
        made[axis_of("xaxis", i)] |= {"range": [x * v for v in _valley(p)]}
    return Figure(
        "Profiles of the shapes",
        "Below the dashed line the fit is as good as the best: a narrow valley (shaded: 95 % interval) says that the "
        "recording tells the value, a curve that stays below at an end that the value is an assumption.",
        tuple(data),
        made | {"shapes": shapes},
    )


def _valley(profile: ShapeProfile) -> tuple[float, float]:
    """The values that are worth a look: those not far out of question, and something on both sides."""
    first, last = float(profile.values.min()), float(profile.values.max())
    near = profile.values[profile.cost <= _HIGHEST_COST]
    seen = np.clip([profile.value, *near.tolist(), *(profile.interval or ())], first, last)
    low, high = float(seen.min()), float(seen.max())
    margin = 0.6 * (high - low) or last - first
    return max(first, low - margin), min(last, high + margin)


def _profile_title(profile: ShapeProfile) -> str:
    shown = shown_in(profile.unit)
    text = f"{profile.name} = {short(shown.factor * profile.value)} {shown.unit}"
    if profile.interval is None:
        return f'{text}, <span style="color:#c0392b">flat: not in the data</span>'
    low, high = (short(shown.factor * v) for v in profile.interval)
    return f"{text} ({low} … {high})"


# --- replay -----------------------------------------------------------------------------------------------------------


def replay(windows: Sequence[ReplayWindow]) -> Figure | None:
    """Measured against simulated position: a small plot for each window of one coordinate, else all windows one after
    the other, with a plot for each coordinate.
    """
    if not windows:
        return None
    return _one_coordinate(windows) if len(windows[0].curves) == 1 else _several_coordinates(windows)


def _one_coordinate(windows: Sequence[ReplayWindow]) -> Figure:
    unit = windows[0].curves[0].unit
    shown, zero = shown_in(unit), zero_of(windows[0].times_s)
    titles = [f"RMS {short(shown.factor * w.curves[0].rms)} {shown.unit}" for w in windows]
    made = grid(titles, [_time(zero)] * len(windows), f"{quantity(unit)}, {shown.unit}", 180)
    data: list[Json] = []
    for i, w in enumerate(windows):
        both = (("measured", w.curves[0].measured, MEASURED), ("simulated", w.curves[0].simulated, ESTIMATED))
        for name, y, colour in both:
            more: Json = {"legendgroup": name, "showlegend": i == 0, **on_plot(i)}
            data.append(line(w.times_s - zero, shown.factor * y, name, colour, most=1200, **more))
    return Figure(
        f"Replay of {len(windows)} window{'s' if len(windows) != 1 else ''}",
        "The model gets the measured force and moves by itself: it should turn, stop and close when the real object "
        "does; a slow drift apart is a small error of the spring or of friction.",
        tuple(data),
        made | {"legend": LEGEND_ABOVE | {"yref": "container", "y": 0.995, "yanchor": "top"}},
    )


def _several_coordinates(windows: Sequence[ReplayWindow]) -> Figure:
    zero = zero_of(windows[0].times_s)
    times = _joined([w.times_s - zero for w in windows])
    panels: list[_Panel] = []
    for i, first in enumerate(windows[0].curves):
        shown = shown_in(first.unit)
        both = (
            ("measured", [w.curves[i].measured for w in windows], MEASURED, 2.0),
            ("simulated", [w.curves[i].simulated for w in windows], ESTIMATED, 1.1),
        )
        data = tuple(
            curve(times[:_REPLAYED], shown.factor * _joined(parts)[:_REPLAYED], n, legendgroup=n, showlegend=i == 0)
            | {"line": {"color": colour, "width": width}}
            for n, parts, colour, width in both
        )
        panels.append(_Panel(f"{first.name}, {shown.unit}", data))
    title = "Replay, its first windows" if len(times) > _REPLAYED else "Replay"
    return _stacked(
        zero,
        [],
        panels,
        title,
        "The model gets the measured forces and moves by itself, window after window from the measured state: the "
        "curves part slowly where the model is good. Nobody holds it, so what leans falls over in a second or two.",
    )


def _joined(pieces: Sequence[FloatArray]) -> FloatArray:
    """One after the other, with NaN between them."""
    return np.concatenate([x for piece in pieces for x in (piece, [np.nan])])[:-1]


def _time(zero: float) -> str:
    return str(since("time, s", zero)["title"]["text"])


def _place(index: int) -> Json:
    """What puts a shape into a small plot, over its whole height."""
    return {"xref": axis_of("x", index), "yref": f"{axis_of('y', index)} domain"}


def _vertical(x: float, place: Json) -> Json:
    stroke: Json = {"color": "#444", "width": 1.2, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": stroke, **place}


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


def holding(view: View) -> Figure | None:
    """The force that holds the object over its coordinate: the model's with its dry friction, and what was measured
    at rest and in slow motion.
    """
    positions, main = _grid_of(view), view.main
    if positions is None or main is None:
        return None
    row, unit = view.model.mechanism.rows[0], shown_in(main.unit)
    middle, dry = holding_force(view.model, positions), dry_force(view.model, positions)
    x = unit.factor * positions
    data: list[Json] = []
    if (dry > 0).any():
        edge: Json = {"line": {"width": 0}, "hoverinfo": "skip"}
        data.append(curve(x, middle - dry, "", showlegend=False, **edge))
        filled: Json = {"fill": "tonexty", "fillcolor": "rgba(138,138,138,0.25)"}
        data.append(curve(x, middle + dry, "dry friction, ±", **edge, **filled))
    points, measured = _measured_points(view, main, unit.factor, float(np.ptp(middle)) + 2 * float(dry.max()))
    data += [*points, curve(x, middle, "model", DARK, line={"color": DARK, "width": 2.5})]
    every = np.concatenate([middle - dry, middle + dry, measured])
    margin = 0.08 * float(np.ptp(every)) + 1e-9
    scale = {1: {"range": [float(every.min()) - margin, float(every.max()) + margin]}}
    made = layout([f"{_force(row)} to hold it, {row.unit}"], _position_axis(main.unit), height=380, y=scale)
    return Figure(
        "Spring and dry friction over the travel",
        "Slow opening should lie on the upper edge of the band, slow closing on the lower, rests between them (bars: "
        f"5 to 95 % of a rest). Slow is below {unit.factor * SLOW:.2g} {unit.unit}/s; what inertia and dampers take "
        "there by the model is subtracted.",
        tuple(data),
        made | {"legend": LEGEND_ABOVE | {"itemsizing": "constant"}},
    )


def _measured_points(view: View, main: CoordinateSeries, factor: float, extent: float) -> tuple[list[Json], FloatArray]:
    """What was measured in slow motion and at rest, and the forces to keep in sight: all but lone ones and a stop's."""
    known = np.isfinite(main.position) & np.isfinite(main.speed) & np.isfinite(view.reference[:, 0])
    slow, forces = _slow(view, main, known, extent)
    data: list[Json] = []
    for word, sign, colour in (("opening", 1, OPENING), ("closing", -1, CLOSING)):
        some = _few(sign * main.speed[slow] > 0)
        if len(some):
            x = factor * main.position[slow[some]]
            data.append(_points(x, forces[some], f"{word} slowly", colour, size=4))
    rests, at_end = _rests(view, main, known)
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


def damping_over_position(view: View) -> Figure | None:
    """The damping at the hinge for opening and closing, with the borders of the zones."""
    positions, main = _grid_of(view, 400), view.main
    if positions is None or main is None or not any(e.dissipates and not e.dry for e in view.model.elements):
        return None
    unit, row = shown_in(main.unit), view.model.mechanism.rows[0]
    data: list[Json] = []
    x = unit.factor * positions
    moved = view.used & np.isfinite(main.position) & np.isfinite(main.speed)
    unseen = False
    for name, sign, colour in (("opening", 1, OPENING), ("closing", -1, CLOSING)):
        y = damping(view.model, positions, sign * AT_SPEED)
        there = _visited(positions, main.position[moved & (sign * main.speed > 0.5 * SLOW)])
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
        shape, label = upright(place, _border_text(border, main.unit), level=1 - 0.08 * (i % 3))
        # to the side where there is room
        labels.append(label if place < (low + high) / 2 else label | {"xanchor": "right", "xshift": -4})
        shapes.append(shape)
        if border.interval is not None:
            a, b = np.clip(unit.factor * np.array(border.interval), x[0], x[-1]).tolist()
            shapes.append(band(a, b, COLOURS[4], 0.25))
    dots = " Dotted: not passed in that direction, so the model's alone." if unseen else ""
    per = f"{row.unit} s/{main.unit}"
    made = layout([f"d {_force(row)} / d speed, {per}"], _position_axis(main.unit), height=340, legend=LEGEND_ABOVE)
    made["yaxis"] |= {"rangemode": "tozero"}
    made["xaxis"] |= {"range": [float(low - 0.02 * (high - low)), float(high + 0.02 * (high - low))]}
    return Figure(
        f"Damping at {AT_SPEED:g} {main.unit}/s",
        "Steps are zones and stand at their borders (shaded: 95 % interval where the border was estimated); a step "
        f"where the real object has none is a wrong border.{dots}",
        tuple(data),
        made | {"shapes": shapes, "annotations": labels},
    )


def compared(view: View) -> BoolArray:
    """(samples,): where measured and estimated rows are compared."""
    inside = view.within("train", "test", "quasi_static") if view.segments else np.ones_like(view.used)
    return view.used & inside & np.isfinite(view.reference - view.estimate).all(axis=1)


def residuals(view: View) -> list[Figure]:
    """The residual of every row against position, speed and acceleration of each coordinate, or, where there is none,
    against the magnitudes of what was measured.
    """
    main, found = view.main, list[Figure | None]()
    several = len(view.coordinates) > 1
    for c in (c for c in view.coordinates if np.isfinite(c.speed).any()):
        of = f"{c.name} " if several else ""
        names = (f"{of}{quantity(c.unit)}" if c is main or not several else c.name, f"{of}speed", f"{of}acceleration")
        units = (c.unit, f"{c.unit}/s", f"{c.unit}/s²")
        for name, unit, x in zip(names, units, (c.position, c.speed, c.acceleration), strict=True):
            if x is not None:
                found.append(_residual_figure(view, name, unit, x, by_direction=c is main and x is c.position))
    for word, unit in (("specific acceleration", "m/s2"), ("angular rate", "rad/s")):
        parts = [s.values for s in view.series if s.unit == unit]
        if len(parts) == 3:
            found.append(_residual_figure(view, word, unit, np.linalg.norm(parts, axis=0), note=", magnitude"))
    return [figure for figure in found if figure is not None]


def _residual_figure(
    view: View, name: str, unit: str, over: FloatArray, *, by_direction: bool = False, note: str = ""
) -> Figure | None:
    good, main, shown = compared(view) & np.isfinite(over), view.main, shown_in(unit)
    if main is not None:
        good &= np.isfinite(main.position) & np.isfinite(main.speed)
    if good.sum() < _FEWEST:
        return None
    data: list[Json] = []
    scales: dict[int, Json] = {}
    rows = view.model.mechanism.rows
    parts: list[tuple[str, BoolArray, str]] = [("", good, COLOURS[0])]
    if main is not None and by_direction:
        parts = [("opening", main.speed > 0, OPENING), ("closing", main.speed < 0, CLOSING)]
    for i in range(len(rows)):
        left = view.reference[:, i] - view.estimate[:, i]
        for word, which, colour in parts:
            at = _few(good & which)
            once: Json = {"showlegend": False, "opacity": 0.4, "yaxis": f"y{i + 1}" if i else "y", "hoverinfo": "skip"}
            data.append(_points(shown.factor * over[at], left[at], f"residual {word}", colour, size=3) | once)
        for word, which, colour in parts:
            x, y = medians(shown.factor * over[good & which], left[good & which])
            label = f"median, {word}" if word else "median"
            style: Json = {"color": colour if word else DARK, "width": 2.5}
            data.append(curve(x, y, label, colour, row=i + 1, line=style, legendgroup=label, showlegend=i == 0))
        reach = 1.15 * float(np.quantile(np.abs(left[good]), 0.998)) or 1.0
        scales[i + 1] = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": "#888", "zerolinewidth": 1}
    titles = [f"{row_name(row) if len(rows) > 1 else 'residual'}, {row.unit}" for row in rows]
    height = 100 + (200 if len(rows) == 1 else 150) * len(rows)
    axis = x_title(f"{name}{note}, {unit_text(shown.unit)}")
    return Figure(
        f"Residual against {name}",
        _LOOK_FOR.get(name, "Every median should stay at zero: a slope or a wave is an effect that the model lacks."),
        tuple(data),
        layout(titles, axis, height=height, y=scales, legend=LEGEND_ABOVE),
    )


_WAVE = (
    "Both medians should stay at zero: a wave is a spring or a zone that the model lacks, two medians that part are "
    "friction that changes along the travel."
)
_LOOK_FOR = {
    "angle": _WAVE,
    "position": _WAVE,
    "speed": "The median should stay at zero: a step at zero is dry friction, a slope or a bend is damping that the "
    "model lacks.",
    "acceleration": "The median should stay at zero: a slope is a wrong inertia.",
}


def _grid_of(view: View, points: int = 200) -> FloatArray | None:
    """The positions that were visited, evenly."""
    main = view.main
    if main is None or not has_one_freedom(view.model):
        return None
    known = np.isfinite(main.position)
    used = main.position[known & view.used] if (known & view.used).any() else main.position[known]
    low, high = float(used.min()), float(used.max())
    return np.linspace(low, high, points) if low < high else None


def _visited(grid: FloatArray, positions: FloatArray) -> BoolArray:
    """Which places of a grid were passed, within a fiftieth of its length."""
    if not len(positions):
        return np.zeros(len(grid), dtype=bool)
    positions, reach = np.sort(positions), float(grid[-1] - grid[0]) / 50
    return np.searchsorted(positions, grid + reach) > np.searchsorted(positions, grid - reach)


def _slow(view: View, main: CoordinateSeries, known: BoolArray, extent: float) -> tuple[NDArray[np.int64], FloatArray]:
    """Samples in slow motion, and what of their force is left for spring and dry friction: measured, less what inertia
    and dampers take by the model. Where that is much, the sample says little about a spring.
    """
    at = np.flatnonzero(known & view.used & ~view.resting & (np.abs(main.speed) < SLOW))
    x, v = main.position[at], main.speed[at]
    other = view.estimate[at, 0] - holding_force(view.model, x) - np.sign(v) * dry_force(view.model, x, v)
    little = np.abs(other) < _STATIC_SHARE * extent
    return at[little], (view.reference[at, 0] - other)[little]


def _rests(view: View, main: CoordinateSeries, known: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Each rest as (position, median, 5 %, 95 % of the force), and whether it is at an end of the travel.

    The static segments are left out: there nobody touches the object.
    """
    step = float(np.median(np.diff(view.times_s))) if len(view.times_s) > 1 else 1.0
    cut = round(_COMING_S / step)
    found = [
        [np.median(main.position[a:b]), *np.quantile(view.reference[a + cut : b - cut, 0], (0.5, 0.05, 0.95))]
        for a, b in runs(known & view.resting & ~view.within("static"))
        if (b - a) * step >= _SHORTEST_REST_S
    ]
    rests = np.array(found, dtype=float).reshape(-1, 4)
    ends = main.position[known]
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
