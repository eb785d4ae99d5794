"""Figures of a model and its data: over time, over its coordinate, profiles of its shapes, replay, and residuals over
the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.view import CoordinateSeries, View
from palpate.identify.shapes import Profile
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, rms, runs, segment_mask
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.motion import Kinematics
from palpate.report import plots
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, GREY, LEGEND_ABOVE, LEGEND_ON_TOP, Panel, curve, line, short, shown_in
from palpate.runtime.replay import Window

MEASURED, ESTIMATED, RESIDUAL = DARK, COLOURS[1], "#5fbf9f"
FORTH, BACK = COLOURS[0], COLOURS[1]
SLOW = 0.1
"""rad/s (m/s): below, dampers hardly act."""
AT_SPEED = 0.3
"""rad/s (m/s), at which the damping is drawn: that of a door that is opened by hand."""
_STEP = 1e-3
"""rad/s (m/s), over which the damping is differenced."""
_STATIC_SHARE = 0.15
"""Of the range of the holding force: a slow point shows it where inertia and dampers take less than this."""
_NEAR_END = 0.0175
"""rad (m): who rests so near an end of the travel may be held by a stop."""
_SHORTEST_REST_S, _COMING_S = 0.5, 0.2
"""A rest lasts so long; it still moves too slowly to be seen when it begins and ends."""
_POINTS, _FEWEST = 1000, 100
"""Points of a cloud that are drawn at most, and samples below which a residual is not."""
_REPLAYED = 3000
"""Samples of a replay that are drawn."""
_MOST_BANDS = 200
_DENSE = 0.4
"""Spans share a figure where they fill at least this share of its time."""
_HIGHEST_COST, _LOWEST_COST = 12.0, 2.0
"""In units of the 95 % limit: what lies above would hide the valley; profiles are drawn at least to the second."""
_CLOSE = (
    "The estimate should lie on the measured curve at every turn, and the residual look like noise: what repeats with "
    "the motion is an effect that the model lacks."
)
_NOISE = "They should look like noise: what repeats with the motion is an effect that the model lacks."
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


def directions(view: View, main: CoordinateSeries) -> tuple[tuple[str, BoolArray, str], tuple[str, BoolArray, str]]:
    """Moving forth and back along the main coordinate: word, samples, colour."""
    forth, back = view.model.mechanism.way
    return (forth, main.speed > 0, FORTH), (back, main.speed < 0, BACK)


def compared(view: View) -> BoolArray:
    """(samples,): where measured and estimated rows are compared."""
    inside = view.within("train", "test", "quasi_static") if view.segments else np.ones_like(view.used)
    return view.used & inside & np.isfinite(view.reference - view.estimate).all(axis=1)


def _kind(row: Row) -> str:
    return "force" if row.unit == "N" else "torque"


# --- over time --------------------------------------------------------------------------------------------------------


def over_time(view: View, segment: str) -> tuple[Figure, ...]:
    """Positions, measured and estimated rows and the absolute residual, as in the paper's figures.

    Several rows have their residuals in a figure of their own; spans of a segment that lie far apart, too.
    """
    figures: list[Figure] = []
    zero = plots.zero_of(view.times_s)
    for spans in _groups(view.segments.get(segment, ())):
        inside = segment_mask(view.times_s, spans)
        seen = view.used & inside & np.isfinite(view.reference - view.estimate).all(axis=1)
        if not seen.any():
            continue
        name = f"{segment.replace('_', '-').capitalize()} segment, {spans[0][0] - zero:g} to {spans[-1][1] - zero:g} s"
        motion, forces, errors = _motion(view, inside), _forces(view, inside, seen), _errors(view, inside, seen)
        grey = _bands(view.times_s[inside] - zero, ~seen[inside])
        if len(errors) == 1:
            figures.append(_lettered(name, _CLOSE, [*motion, *forces, *errors], zero, grey))
        else:
            figures.append(_lettered(name, _CLOSE, [*motion, *forces], zero, grey))
            figures.append(_lettered(f"{name}: absolute residual", _NOISE, errors, zero, grey))
    return tuple(figures)


def _motion(view: View, inside: BoolArray) -> list[Panel]:
    """Positions of the coordinates, then the other series, those of one unit together."""
    t = view.times_s[inside] - plots.zero_of(view.times_s)
    positions = [(c.name, c.unit, c.position) for c in view.coordinates if np.isfinite(c.position).any()]
    tints = cycle([COLOURS[i] for i in (0, 2, 3, 4, 7, 6)])  # no orange: that is the estimate's
    words = {"m/s2": "a - g", "rad/s": "ω"}
    panels: list[Panel] = []
    for quantities in (positions, [(s.name, s.unit, s.values) for s in view.series]):
        lone: Json = {"showlegend": False} if len(quantities) == 1 else {}
        for unit in dict.fromkeys(unit for _, unit, _ in quantities):
            shown = shown_in(unit)
            data = tuple(
                line(t, shown.factor * y[inside], name, DARK if lone else next(tints), **lone)
                for name, u, y in quantities
                if u == unit
            )
            panels.append(Panel(f"{words.get(unit, plots.quantity(unit))}, {shown.unit}", data))
    return panels


def _forces(view: View, inside: BoolArray, seen: BoolArray) -> list[Panel]:
    """Measured and estimated; no estimate where the model does not speak, as of the friction of an object at rest."""
    t, rows = view.times_s[inside] - plots.zero_of(view.times_s), view.model.mechanism.rows
    estimate = np.where(seen[:, None], view.estimate, np.nan)
    return [
        Panel(
            f"{_kind(row)} {row.name}, {row.unit}" if len(rows) == 1 else f"{row.name}, {row.unit}",
            _both(line, t, view.reference[inside, i], estimate[inside, i], "estimated"),
        )
        for i, row in enumerate(rows)
    ]


def _both(draw: Any, t: FloatArray, measured: FloatArray, model: FloatArray, word: str) -> tuple[Json, Json]:
    """Measured, and thinner what the model says of it."""
    thin: Json = {"line": {"color": ESTIMATED, "width": 1.1}}
    broad: Json = {"line": {"color": MEASURED, "width": 2.0}}
    return draw(t, measured, "measured", MEASURED, **broad), draw(t, model, word, ESTIMATED, **thin)


def _errors(view: View, inside: BoolArray, seen: BoolArray) -> list[Panel]:
    t, rows = view.times_s[inside] - plots.zero_of(view.times_s), view.model.mechanism.rows
    panels: list[Panel] = []
    for i, row in enumerate(rows):
        left = np.where(seen, np.abs(view.reference[:, i] - view.estimate[:, i]), np.nan)
        data = line(t, left[inside], "absolute residual", RESIDUAL, showlegend=False)
        size, extent = rms(left[seen]), float(np.ptp(view.reference[seen, i]))
        share = f", {100 * size / extent:.2f} % of range" if extent > 0 else ""
        title = f"|residual|, {row.unit}" if len(rows) == 1 else f"{row.name}, {row.unit}"
        panels.append(Panel(title, (data,), (size, f"RMS {size:.3g} {row.unit}{share}")))
    return panels


def _lettered(title: str, look_for: str, panels: Sequence[Panel], zero: float, grey: Sequence[Json] = ()) -> Figure:
    """Panels above one time axis, lettered as in a paper; grey: bands of what is not compared."""
    named = [replace(p, title=f"({chr(ord('a') + i)}) {p.title}") for i, p in enumerate(panels)]
    levels = [p.level[1] for p in panels if p.level is not None]
    if grey:
        look_for += " Grey: not compared (at rest, at a stop, or not seen)."
        named[-1] = replace(named[-1], data=(*named[-1].data, plots.key("not compared", "#dddddd")))
    return plots.stacked(
        title,
        look_for,
        named,
        plots.since(zero),
        f"{levels[0]}." if len(levels) == 1 else "",
        height=90 + (165 if len(panels) <= 3 else 140) * len(panels),
        legend=LEGEND_ABOVE,
        shapes=grey,
        margin={"l": 70, "r": 14, "t": 36 if panels[0].level is None else 52, "b": 48},
    )


def _groups(spans: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Spans that are drawn together, because little time lies between them."""
    groups: list[list[tuple[float, float]]] = []
    for span in sorted(spans):
        together = [*(groups[-1] if groups else []), span]
        if groups and sum(b - a for a, b in together) >= _DENSE * (span[1] - together[0][0]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _bands(t: FloatArray, mask: BoolArray) -> list[Json]:
    """Stretches that can be seen, shaded."""
    spans = [(float(t[a]), float(t[b - 1])) for a, b in runs(mask)]
    shortest = float(t[-1] - t[0]) / 500
    long = sorted((b - a, a, b) for a, b in spans if b - a > shortest)[-_MOST_BANDS:]
    return [plots.band(a, b, "#bbbbbb", 0.35) for _, a, b in long]


# --- shapes -----------------------------------------------------------------------------------------------------------


def profiles(view: View) -> Figure | None:
    """How much worse the fit is with each shape held elsewhere, one small plot per shape."""
    if not view.profiles:
        return None
    titles = [_profile_title(p) for p in view.profiles]
    made = plots.grid(titles, [f"{p.name}, {shown_in(p.unit).unit}" for p in view.profiles], "misfit / 95 % limit", 190)
    data: list[Json] = []
    shapes: list[Json] = []
    for i, p in enumerate(view.profiles):
        x, place = shown_in(p.unit).factor, plots.on_plot(i)
        data.append(curve(x * p.values, np.minimum(p.costs, 1e6), p.name, 0, **place, showlegend=False))
        upright, whole = plots.upright(x * p.value, "")[0], {"xref": place["xaxis"], "yref": f"{place['yaxis']} domain"}
        shapes += [upright | whole, plots.level(1.0, i)]
        if p.interval is not None:
            low, high = (float(np.clip(v, p.values.min(), p.values.max())) for v in p.interval)
            shapes.append(plots.band(x * low, x * high, COLOURS[4], 0.3) | whole)
        worst = float(np.nanmax(p.costs)) if np.isfinite(p.costs).any() else 0.0
        top = min(max(1.1 * worst, _LOWEST_COST), _HIGHEST_COST)
        made[plots.axis_of("yaxis", i)] |= {"range": [-0.05 * top, top]}
        made[plots.axis_of("xaxis", i)] |= {"range": [x * v for v in _valley(p)]}
    return Figure(
        "Profiles of the shapes",
        "Below the dashed line the fit is as good as the best: a narrow valley (shaded: 95 % interval) says that the "
        "recording tells the value, a curve that stays below at an end that the value is an assumption.",
        tuple(data),
        made | {"shapes": shapes},
    )


def _valley(profile: Profile) -> tuple[float, float]:
    """The values that are worth a look: those not far out of question, and something on both sides."""
    first, last = float(profile.values.min()), float(profile.values.max())
    near = profile.values[profile.costs <= _HIGHEST_COST]
    places = np.clip([profile.value, *near.tolist(), *(profile.interval or ())], first, last)
    low, high = float(places.min()), float(places.max())
    margin = 0.6 * (high - low) or last - first
    return max(first, low - margin), min(last, high + margin)


def _profile_title(profile: Profile) -> str:
    shown = shown_in(profile.unit)
    text = f"{profile.name} = {short(shown.factor * profile.value)} {shown.unit}"
    if profile.interval is None:
        return f'{text}, <span style="color:#c0392b">flat: not in the data</span>'
    low, high = (short(shown.factor * v) for v in profile.interval)
    return f"{text} ({low} … {high})"


# --- replay -----------------------------------------------------------------------------------------------------------


def replay(windows: Sequence[Window]) -> Figure | None:
    """Measured against simulated position: a small plot for each window of one coordinate, else all windows one after
    the other, with a plot for each coordinate.
    """
    if not windows:
        return None
    zero = plots.zero_of(windows[0].times_s)
    if windows[0].tracks[1:]:
        return _several_coordinates(windows, zero)
    unit = windows[0].tracks[0].unit
    shown = shown_in(unit)
    titles = [f"RMS {short(shown.factor * w.tracks[0].rms)} {shown.unit}" for w in windows]
    x_titles = [plots.since(zero)["title"]["text"]] * len(windows)
    made = plots.grid(titles, x_titles, f"{plots.quantity(unit)}, {shown.unit}", 180)
    data: list[Json] = []
    for i, w in enumerate(windows):
        track = w.tracks[0]
        for name, y, colour in (("measured", track.measured, MEASURED), ("simulated", track.simulated, ESTIMATED)):
            more: Json = {"legendgroup": name, "showlegend": i == 0, **plots.on_plot(i)}
            data.append(line(w.times_s - zero, shown.factor * y, name, colour, most=1200, **more))
    return Figure(
        f"Replay of {len(windows)} window{'s' if len(windows) != 1 else ''}",
        "The model gets the measured force and moves by itself: it should start, turn and stop when the real object "
        "does; a slow drift apart is a small error of the spring or of friction.",
        tuple(data),
        made | {"legend": LEGEND_ON_TOP},
    )


def _several_coordinates(windows: Sequence[Window], zero: float) -> Figure:
    times = _joined([w.times_s - zero for w in windows])
    panels: list[Panel] = []
    for i, first in enumerate(windows[0].tracks):
        shown = shown_in(first.unit)
        measured, simulated = (
            shown.factor * _joined(parts)[:_REPLAYED]
            for parts in ([w.tracks[i].measured for w in windows], [w.tracks[i].simulated for w in windows])
        )
        panels.append(
            Panel(f"{first.name}, {shown.unit}", _both(curve, times[:_REPLAYED], measured, simulated, "simulated"))
        )
    return _lettered(
        "Replay, its first windows" if len(times) > _REPLAYED else "Replay",
        "The model gets the measured forces and moves by itself, window after window from the measured state: the "
        "curves part slowly where the model is good. Nobody holds it, so what leans falls over in a second or two.",
        panels,
        zero,
    )


def _joined(pieces: Sequence[FloatArray]) -> FloatArray:
    """One after the other, with NaN between them."""
    return np.concatenate([x for piece in pieces for x in (piece, [np.nan])])[:-1]


# --- the model over its coordinate ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Border:
    """Where a zone of an element begins or ends: SI, with its interval where it was estimated."""

    element: str
    side: str
    place: float
    interval: tuple[float, float] | None
    flat: bool
    """It was estimated, and the data do not tell it."""


def force_of(model: Model, position: FloatArray, speed: float, which: Sequence[bool]) -> FloatArray:
    """What some of the elements ask of a person at this speed: the first row of Y p, N m or N, (samples,)."""
    columns: list[list[Scalar]] = model.columns(_moving(model, position, speed), ARRAYS)
    use = [take for e, take in zip(model.elements, which, strict=True) for _ in e.parameters]
    total = np.zeros_like(position)
    for column, value, take in zip(columns, model.p.tolist(), use, strict=True):
        if take:
            total = total + column[0] * value
    return total


def holding_force(model: Model, position: FloatArray) -> FloatArray:
    """What a person must do to hold the object, without friction: N m or N, (samples,).

    At speed zero a damper does nothing, and sign(0) takes dry friction out.
    """
    return force_of(model, position, 0.0, [True] * len(model.elements))


def dry_force(model: Model, position: FloatArray, speed: FloatArray | float = 0.0) -> FloatArray:
    """How much dry friction can hold or take at most: N m or N, (samples,), never negative."""
    total = np.zeros_like(position)
    for ratio, size in model.dry_forces(_moving(model, position, speed), ARRAYS):
        total = total + np.abs(ratio[0] * size)
    return total


def damping(model: Model, position: FloatArray, speed: float) -> FloatArray:
    """d force / d speed of what only takes energy out, but dry friction, at this speed (rad/s, m/s): (samples,)."""
    damps = [e.dissipates and not e.dry for e in model.elements]
    faster, slower = (force_of(model, position, speed + h, damps) for h in (_STEP, -_STEP))
    return (faster - slower) / (2 * _STEP)


def _moving(model: Model, position: FloatArray, speed: FloatArray | float) -> Kinematics:
    still = np.zeros_like(position)
    return model.mechanism.expand((position, still + speed), (still,), model.shapes, ARRAYS)


def zone_borders(view: View) -> list[Border]:
    """Of the elements that look at the main coordinate to know where they act; widths are no borders."""
    main, estimated = view.main, {p.name: p for p in view.profiles}
    if main is None:
        return []
    shapes = zip([(e, s) for e in view.model.elements for s in e.shapes], view.model.shapes, strict=True)
    borders = [
        Border(e.name, s.name, s.value, p.interval if p else None, p is not None and p.interval is None)
        for (e, s), name in shapes
        for p in [estimated.get(name)]
        if main.name in e.looks_at and s.unit == main.unit and s.name != "width"
    ]
    return sorted(borders, key=lambda b: b.place)


def holding(view: View) -> Figure | None:
    """The force that holds the object over its coordinate: the model's with its dry friction, and what was measured
    at rest and in slow motion.
    """
    positions, main = _visited_positions(view), view.main
    if positions is None or main is None:
        return None
    row, shown = view.model.mechanism.rows[0], shown_in(main.unit)
    middle, dry = holding_force(view.model, positions), dry_force(view.model, positions)
    x = shown.factor * positions
    data: list[Json] = []
    if (dry > 0).any():
        edge: Json = {"line": {"width": 0}, "hoverinfo": "skip"}
        data.append(curve(x, middle - dry, "", showlegend=False, **edge))
        filled: Json = {"fill": "tonexty", "fillcolor": "rgba(138,138,138,0.25)"}
        data.append(curve(x, middle + dry, "dry friction, ±", **edge, **filled))
    measured, forces = _measured_points(view, main, float(np.ptp(middle)) + 2 * float(dry.max()))
    data += [*measured, curve(x, middle, "model", DARK, width=2.5)]
    every = np.concatenate([middle - dry, middle + dry, forces])
    margin = 0.08 * float(np.ptp(every)) + 1e-9
    scale = {0: {"range": [float(every.min()) - margin, float(every.max()) + margin]}}
    forth, back = view.model.mechanism.way
    return Figure(
        "Spring and dry friction over the travel",
        f"Slow {forth} should lie on the upper edge of the band, slow {back} on the lower, rests between them (bars: "
        f"5 to 95 % of a rest). Slow is below {shown.factor * SLOW:.2g} {shown.unit}/s; what inertia and dampers take "
        "there by the model is subtracted.",
        tuple(data),
        plots.layout([f"{_kind(row)} to hold it, {row.unit}"], _position_axis(main), height=380, y=scale)
        | {"legend": LEGEND_ABOVE | {"itemsizing": "constant"}},
    )


def _measured_points(view: View, main: CoordinateSeries, extent: float) -> tuple[list[Json], FloatArray]:
    """What was measured in slow motion and at rest, and the forces to keep in sight: all but lone ones and a stop's."""
    factor = shown_in(main.unit).factor
    known = np.isfinite(main.position) & np.isfinite(main.speed) & np.isfinite(view.reference[:, 0])
    slow, forces = _slow(view, main, known, extent)
    data: list[Json] = []
    for word, which, colour in directions(view, main):
        some = _few(which[slow])
        if len(some):
            x = factor * main.position[slow[some]]
            data.append(plots.points(x, forces[some], f"{word} slowly", colour, 4, opacity=0.5))
    rests, at_end = _rests(view, main, known)
    for name, part, symbol, colour in (
        ("at rest", rests[~at_end], "diamond", COLOURS[2]),
        ("at rest at an end", rests[at_end], "x-thin-open", GREY),
    ):
        if len(part):
            place, middle, low, high = part.T
            bars: Json = {"type": "data", "symmetric": False, "thickness": 1, "width": 0}
            bars |= {"array": plots.packed(high - middle), "arrayminus": plots.packed(middle - low)}
            data.append(plots.points(factor * place, middle, name, colour, 7, symbol, error_y=bars, opacity=0.9))
    usual = np.quantile(forces, (0.005, 0.995)) if len(forces) else forces
    return data, np.concatenate([usual, rests[~at_end][:, 1]])


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
    each = [
        [np.median(main.position[a:b]), *np.quantile(view.reference[a + cut : b - cut, 0], (0.5, 0.05, 0.95))]
        for a, b in runs(known & view.resting & ~view.within("static"))
        if (b - a) * step >= _SHORTEST_REST_S
    ]
    rests, ends = np.array(each, dtype=float).reshape(-1, 4), main.position[known]
    if not len(rests):
        return rests, np.zeros(0, dtype=bool)
    return rests, (rests[:, 0] < ends.min() + _NEAR_END) | (rests[:, 0] > ends.max() - _NEAR_END)


def damping_over_position(view: View) -> Figure | None:
    """The damping along the main coordinate, forth and back, with the borders of the zones."""
    positions, main = _visited_positions(view, 400), view.main
    if positions is None or main is None or not any(e.dissipates and not e.dry for e in view.model.elements):
        return None
    shown, row = shown_in(main.unit), view.model.mechanism.rows[0]
    x, data, unseen = shown.factor * positions, list[Json](), False
    moved = view.used & np.isfinite(main.position) & (np.abs(main.speed) > 0.5 * SLOW)
    for sign, (name, which, colour) in zip((1, -1), directions(view, main), strict=True):
        y = damping(view.model, positions, sign * AT_SPEED)
        there = _passed(positions, main.position[moved & which])
        unseen |= not there.all()
        dotted: Json = {"line": {"color": colour, "width": 1.5, "dash": "dot"}, "showlegend": False}
        data.append(curve(x, y, f"{name}, without data", colour, **dotted))
        data.append(curve(x, np.where(there, y, np.nan), name, colour, width=2.2))
    borders = zone_borders(view)
    places = [shown.factor * border.place for border in borders]
    low, high = min([x[0], *places]), max([x[-1], *places])
    shapes: list[Json] = []
    labels: list[Json] = []
    for i, (border, place) in enumerate(zip(borders, places, strict=True)):
        text = f"{border.element} {border.side} {short(place)} {shown.unit}{', not in the data' if border.flat else ''}"
        shape, label = plots.upright(place, text, level=1 - 0.08 * (i % 3))
        # to the side where there is room
        labels.append(label if place < (low + high) / 2 else label | {"xanchor": "right", "xshift": -4})
        shapes.append(shape)
        if border.interval is not None:
            a, b = np.clip(shown.factor * np.array(border.interval), x[0], x[-1]).tolist()
            shapes.append(plots.band(a, b, COLOURS[4], 0.25))
    made = plots.layout([f"d {_kind(row)} / d speed, {row.unit} s/{main.unit}"], _position_axis(main), height=340)
    made["yaxis"] |= {"rangemode": "tozero"}
    made["xaxis"] |= {"range": [float(low - 0.02 * (high - low)), float(high + 0.02 * (high - low))]}
    dots = " Dotted: not passed in that direction, so the model's alone." if unseen else ""
    return Figure(
        f"Damping at {AT_SPEED:g} {main.unit}/s",
        "Steps are zones and stand at their borders (shaded: 95 % interval where the border was estimated); a step "
        f"where the real object has none is a wrong border.{dots}",
        tuple(data),
        made | {"shapes": shapes, "annotations": labels, "legend": LEGEND_ABOVE},
    )


def _visited_positions(view: View, points: int = 200) -> FloatArray | None:
    """The positions that were visited, evenly; None where the model has more than one freedom and one row."""
    main, m = view.main, view.model.mechanism
    if main is None or (len(m.state), len(m.accelerations), len(m.rows)) != (2, 1, 1):
        return None
    known = np.isfinite(main.position)
    used = main.position[known & view.used] if (known & view.used).any() else main.position[known]
    low, high = float(used.min()), float(used.max())
    return np.linspace(low, high, points) if low < high else None


def _passed(grid: FloatArray, positions: FloatArray) -> BoolArray:
    """Which places of a grid were passed, within a fiftieth of its length."""
    if not len(positions):
        return np.zeros(len(grid), dtype=bool)
    positions, reach = np.sort(positions), float(grid[-1] - grid[0]) / 50
    return np.searchsorted(positions, grid + reach) > np.searchsorted(positions, grid - reach)


def _few(mask: BoolArray) -> NDArray[np.int64]:
    at = np.flatnonzero(mask)
    return at[:: max(1, -(-len(at) // _POINTS))]


def _position_axis(main: CoordinateSeries) -> Json:
    return plots.x_title(f"{plots.quantity(main.unit)}, {shown_in(main.unit).unit}")


# --- residuals over the motion ----------------------------------------------------------------------------------------


def residuals(view: View) -> list[Figure]:
    """The residual of every row against position, speed and acceleration of each coordinate, and against the magnitudes
    of what was measured in space.
    """
    several, figures = len(view.coordinates) > 1, list[Figure | None]()
    for c in (c for c in view.coordinates if np.isfinite(c.speed).any()):
        names = [plots.quantity(c.unit), "speed", "acceleration"]
        names = [c.name, f"{c.name} speed", f"{c.name} acceleration"] if several else names
        units = (c.unit, f"{c.unit}/s", f"{c.unit}/s²")
        for name, unit, x in zip(names, units, (c.position, c.speed, c.acceleration), strict=True):
            if x is not None:
                figures.append(_residual_figure(view, name, unit, x, by_direction=x is c.position))
    for word, unit in (("specific acceleration", "m/s2"), ("angular rate", "rad/s")):
        parts = [s.values for s in view.series if s.unit == unit]
        if len(parts) == 3:
            size = np.sqrt(sum((p**2 for p in parts), np.zeros(len(parts[0]))))
            figures.append(_residual_figure(view, word, unit, size, note=", magnitude"))
    return [figure for figure in figures if figure is not None]


def _residual_figure(
    view: View, name: str, unit: str, over: FloatArray, *, by_direction: bool = False, note: str = ""
) -> Figure | None:
    good, main, shown = compared(view) & np.isfinite(over), view.main, shown_in(unit)
    if main is not None:
        good &= np.isfinite(main.position) & np.isfinite(main.speed)
    if good.sum() < _FEWEST:
        return None
    rows, scales, panels = view.model.mechanism.rows, dict[int, Json](), list[Panel]()
    parts = directions(view, main) if main is not None and by_direction else (("", good, COLOURS[0]),)
    for i, row in enumerate(rows):
        left = view.reference[:, i] - view.estimate[:, i]
        data: list[Json] = []
        for word, which, colour in parts:
            at = _few(good & which)
            faint: Json = {"showlegend": False, "opacity": 0.4, "hoverinfo": "skip"}
            data.append(plots.points(shown.factor * over[at], left[at], f"residual {word}", colour, 3, **faint))
        for word, which, colour in parts:
            x, y = medians(shown.factor * over[good & which], left[good & which])
            data.append(curve(x, y, f"median, {word}" if word else "median", colour if word else DARK, width=2.5))
        reach = 1.15 * float(np.quantile(np.abs(left[good]), 0.998)) or 1.0
        scales[i] = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": "#888", "zerolinewidth": 1}
        panels.append(Panel(f"{f'{_kind(row)} {row.name}' if len(rows) > 1 else 'residual'}, {row.unit}", tuple(data)))
    return plots.stacked(
        f"Residual against {name}",
        _LOOK_FOR.get(name, "Every median should stay at zero: a slope or a wave is an effect that the model lacks."),
        panels,
        plots.x_title(f"{name}{note}, {shown.unit}"),
        height=100 + (200 if len(rows) == 1 else 150) * len(rows),
        y=scales,
        legend=LEGEND_ABOVE,
    )


def medians(x: FloatArray, y: FloatArray, bins: int = 40, fewest: int = 20) -> tuple[FloatArray, FloatArray]:
    """Median of y in stretches of x of equal width; NaN where a stretch has few samples."""
    if len(x) < fewest:
        return x[:0], y[:0]
    low, high = (float(v) for v in np.quantile(x, (0.002, 0.998)))
    edges = np.linspace(low, high, bins + 1)
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, -1, bins)
    parts = [y[place == i] for i in range(bins)]
    middle = np.array([np.median(part) if len(part) >= fewest else np.nan for part in parts])
    return (edges[:-1] + edges[1:]) / 2, middle
