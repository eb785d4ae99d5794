"""Figures of a model and its data: over time, over its coordinate, profiles of its shapes, replay, and residuals over
the motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.view import CoordinateSeries, View
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, rms, runs, segment_mask
from palpate.physics.functions import ARRAYS
from palpate.physics.units import quantity, shown_in
from palpate.report import plots
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, Mark, Panel, curve, line, short
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
"""A rest lasts so long; when it begins and ends, the object still moves, too slowly to notice."""
_POINTS, _FEWEST_SAMPLES = 1000, 100
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
    "Both medians should stay at zero: a wave is a spring or a zone that the model lacks, two medians that diverge are "
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
    """Positions, measured and estimated rows and what is left between them, with its sign.

    Several rows have their residuals in a further figure; spans of a segment that lie far apart have a figure each.
    """
    figures: list[Figure] = []
    zero = plots.zero_of(view.times_s)
    for spans in _groups(view.segments.get(segment, ())):
        inside = segment_mask(view.times_s, spans)
        known = view.used & inside & np.isfinite(view.reference - view.estimate).all(axis=1)
        if not known.any():
            continue
        name = f"{segment.replace('_', '-').capitalize()} segment, {spans[0][0] - zero:g} to {spans[-1][1] - zero:g} s"
        t = view.times_s[inside] - zero
        motion, forces, errors = _motion(view, t, inside), list[Panel](), list[Panel]()
        # no estimate where the model does not speak, as of the friction of an object at rest
        estimate, rows = np.where(known[:, None], view.estimate, np.nan)[inside], view.model.mechanism.rows
        for i, row in enumerate(rows):
            measured, label = view.reference[inside, i], f"{row.name}, {row.unit}"
            left = measured - estimate[:, i]
            size, extent = rms(left[known[inside]]), float(np.ptp(measured[known[inside]]))
            share = f", {100 * size / extent:.2f} % of range" if extent > 0 else ""
            above = plots.level(size, f"RMS {size:.3g} {row.unit}{share}", DARK, 1.5)
            marks = (above, plots.level(-size, "", DARK, 1.5))
            both = _both(line, t, measured, estimate[:, i], "estimated")
            forces.append(Panel(f"{_kind(row)} {label}" if len(rows) == 1 else label, both))
            title = f"measured - estimated, {row.unit}" if len(rows) == 1 else label
            errors.append(Panel(title, (line(t, left, "residual", RESIDUAL),), marks))
        # what is not compared, where that is long enough to show
        spans_s = [(float(t[b - 1] - t[a]), float(t[a]), float(t[b - 1])) for a, b in runs(~known[inside])]
        long = [span for span in sorted(spans_s)[-_MOST_BANDS:] if span[0] > float(t[-1] - t[0]) / 500]
        grey, alone = [plots.band(a, b, "#bbbbbb", 0.35) for _, a, b in long], len(errors) == 1
        figures.append(_lettered(name, _CLOSE, [*motion, *forces, *(errors if alone else ())], zero, grey))
        if not alone:
            figures.append(_lettered(f"{name}: residual", _NOISE, errors, zero, grey))
    return tuple(figures)


def _motion(view: View, t: FloatArray, inside: BoolArray) -> list[Panel]:
    """Positions of the coordinates, then the other series, those of one unit together."""
    positions = [(c.name, c.unit, c.position) for c in view.coordinates if np.isfinite(c.position).any()]
    tints = cycle([COLOURS[i] for i in (0, 2, 3, 4, 7, 6)])  # no orange: that is the estimate's
    words = {"m/s2": "a - g", "rad/s": "ω"}
    panels: list[Panel] = []
    for quantities in (positions, [(s.name, s.unit, s.values) for s in view.series]):
        for unit in dict.fromkeys(unit for _, unit, _ in quantities):
            those, shown = [(n, y) for n, u, y in quantities if u == unit], shown_in(unit)
            title = those[0][0] if len(those) == 1 < len(quantities) else words.get(unit, quantity(unit))
            lone = len(quantities) == 1
            data = tuple(line(t, shown.factor * y[inside], n, DARK if lone else next(tints)) for n, y in those)
            panels.append(Panel(f"{title}, {shown.unit}", data))
    return panels


def _both(draw: Any, t: FloatArray, measured: FloatArray, model: FloatArray, word: str) -> tuple[Json, Json]:
    """Measured, and thinner what the model says of it."""
    broad, thin = ({"line": {"color": c, "width": w}} for c, w in ((MEASURED, 2.0), (ESTIMATED, 1.1)))
    return draw(t, measured, "measured", MEASURED, **broad), draw(t, model, word, ESTIMATED, **thin)


def _lettered(title: str, look_for: str, panels: Sequence[Panel], zero: float, grey: Sequence[Mark] = ()) -> Figure:
    """Panels above one time axis, lettered as in a paper; grey: bands of what is not compared."""
    letters = [f"({chr(ord('a') + i)}) " for i in range(len(panels))] if len(panels) > 1 else [""]
    named = [replace(p, title=letter + p.title) for letter, p in zip(letters, panels, strict=True)]
    levels = [mark.label["text"] for p in panels for mark in p.marks]
    say = f"{look_for} Grey: not compared (at rest, at a stop, or not measured)." if grey else look_for
    keys = {"not compared": "#dddddd"} if grey else None
    message = f"{levels[0]}." if len(levels) == 1 else ""
    return plots.figure(title, say, named, plots.since(zero), message, marks=grey, keys=keys)


def _groups(spans: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Spans that are drawn together, because little time lies between them."""
    groups: list[list[tuple[float, float]]] = []
    for span in sorted(spans):
        together = [*groups.pop(), span] if groups else [span]
        dense = sum(b - a for a, b in together) >= _DENSE * (span[1] - together[0][0])
        groups += [together] if dense else [together[:-1], [span]]
    return groups


# --- shapes -----------------------------------------------------------------------------------------------------------


def profiles(view: View) -> Figure | None:
    """How much worse the fit is with each shape held elsewhere, one small plot per shape."""
    if not view.profiles:
        return None
    panels: list[Panel] = []
    for p in view.profiles:
        shown = shown_in(p.unit)
        x = shown.factor
        marks = [plots.upright(x * p.value), plots.level(1.0)]
        text = f"{p.name} = {short(x * p.value)} {shown.unit}"
        if p.interval is None:
            text += ', <span style="color:#c0392b">flat: not in the data</span>'
        else:
            low, high = (float(np.clip(v, p.values.min(), p.values.max())) for v in p.interval)
            marks.append(plots.band(x * low, x * high, COLOURS[4], 0.3))
            text += " ({} … {})".format(*(short(x * v) for v in p.interval))
        worst = float(np.nanmax(p.costs)) if np.isfinite(p.costs).any() else 0.0
        top = min(max(1.1 * worst, _LOWEST_COST), _HIGHEST_COST)
        # the values that are worth a look: those not far out of question, and something on both sides
        near = [p.value, *p.values[p.costs <= _HIGHEST_COST].tolist(), *(p.interval or ())]
        ends = np.clip([min(near), max(near)], p.values.min(), p.values.max())
        margin = 0.6 * float(np.ptp(ends)) or float(np.ptp(p.values))
        reach = np.clip([ends[0] - margin, ends[1] + margin], p.values.min(), p.values.max())
        across = plots.x_title(f"{p.name}, {shown.unit}") | {"range": (x * reach).tolist()}
        data, y = curve(x * p.values, np.minimum(p.costs, 1e6), p.name), {"range": [-0.05 * top, top]}
        panels.append(Panel("misfit / 95 % limit", (data,), tuple(marks), y, across, text))
    return plots.figure(
        "Profiles of the shapes",
        "Below the dashed line the fit is as good as the best: a narrow valley (shaded: 95 % interval) says that the "
        "recording determines the value, a curve that stays below at an end that the value is an assumption.",
        panels,
    )


# --- replay -----------------------------------------------------------------------------------------------------------


def replay(windows: Sequence[Window]) -> Figure | None:
    """Measured against simulated positions, a plot for each coordinate, all windows one after the other."""
    if not windows:
        return None
    zero, panels, tracks = plots.zero_of(windows[0].times_s), list[Panel](), windows[0].tracks
    every = -(-sum(len(w.times_s) for w in windows) // _REPLAYED)

    def joined(pieces: Iterable[FloatArray]) -> FloatArray:
        """One after the other, with NaN between them."""
        return np.concatenate([x for piece in pieces for x in (piece[::every], [np.nan])])[:-1]

    times = joined(w.times_s - zero for w in windows)
    for i, first in enumerate(tracks):
        shown, parts = shown_in(first.unit), [w.tracks[i] for w in windows]
        measured, simulated = (joined(shown.factor * getattr(c, k) for c in parts) for k in ("measured", "simulated"))
        name = first.name if tracks[1:] else quantity(first.unit)
        panels.append(Panel(f"{name}, {shown.unit}", _both(curve, times, measured, simulated, "simulated")))
    falls = " Nobody holds it, so what leans falls over in a second or two." if tracks[1:] else ""
    return _lettered(
        f"Replay of {len(windows)} window{'s' if len(windows) != 1 else ''}",
        "Driven by the measured force, the model moves on its own, in each window from the measured state: it should "
        f"start, turn and stop when the real object does, and drift away from it only slowly.{falls}",
        panels,
        zero,
    )


# --- the model over its coordinate ------------------------------------------------------------------------------------


def dry_force(model: Model, position: FloatArray, speed: FloatArray | float = 0.0) -> FloatArray:
    """How much dry friction can hold or take at most: N m or N, (samples,), never negative."""
    still = np.zeros_like(position)
    sizes = model.dry_forces(model.mechanism.expand((position, still + speed), (still,), ARRAYS), ARRAYS)
    return sum((np.abs(ratio[0] * size) for ratio, size in sizes), np.zeros_like(position))


def damping(model: Model, position: FloatArray, speed: float) -> FloatArray:
    """d force / d speed of what only takes energy out, but dry friction, at this speed (rad/s, m/s): (samples,)."""
    damps = model.only(tuple(e for e in model.elements if e.dissipates and not e.dry))
    return (damps.along(position, speed + _STEP) - damps.along(position, speed - _STEP)) / (2 * _STEP)


def holding(view: View) -> Figure | None:
    """The force that holds the object over its coordinate: the model's with its dry friction, and what was measured
    at rest and in slow motion.
    """
    positions, main = _visited_positions(view), view.main
    if positions is None or main is None:
        return None
    row, shown = view.model.mechanism.rows[0], shown_in(main.unit)
    middle, dry = view.model.along(positions), dry_force(view.model, positions)
    x = shown.factor * positions
    data: list[Json] = []
    if (dry > 0).any():
        edge: Json = {"line": {"width": 0}, "hoverinfo": "skip"}
        data.append(curve(x, middle - dry, "", **edge))
        filled: Json = {"fill": "tonexty", "fillcolor": "rgba(138,138,138,0.25)"}
        data.append(curve(x, middle + dry, "dry friction, ±", **edge, **filled))
    measured, forces = _measured_points(view, main, float(np.ptp(middle)) + 2 * float(dry.max()))
    data += [*measured, curve(x, middle, "model", DARK, width=2.5)]
    every = np.concatenate([middle - dry, middle + dry, forces])
    margin = 0.08 * float(np.ptp(every)) + 1e-9
    forth, back = view.model.mechanism.way
    scale = {"range": [float(every.min()) - margin, float(every.max()) + margin]}
    return plots.figure(
        "Spring and dry friction over the travel",
        f"Slow {forth} should lie on the upper edge of the band, slow {back} on the lower, rests between them (bars: "
        f"5 to 95 % of a rest). Slow is below {shown.factor * SLOW:.2g} {shown.unit}/s; what inertia and dampers take "
        "there by the model is subtracted.",
        [Panel(f"{_kind(row)} to hold it, {row.unit}", tuple(data), y=scale)],
        plots.x_title(f"{quantity(main.unit)}, {shown.unit}"),
    )


def _measured_points(view: View, main: CoordinateSeries, extent: float) -> tuple[list[Json], FloatArray]:
    """What was measured in slow motion and at rest, and the forces to keep in sight: all but lone ones.

    Of slow motion, what inertia and dampers take by the model is subtracted; where that is much, the sample says little
    about a spring. Rests in the static segments, where nobody touches the object, and at an end are left out.
    """
    factor, data = shown_in(main.unit).factor, list[Json]()
    known = np.isfinite(main.position) & np.isfinite(main.speed) & np.isfinite(view.reference[:, 0])
    at = np.flatnonzero(known & view.used & ~view.resting & (np.abs(main.speed) < SLOW))
    x, v = main.position[at], main.speed[at]
    other = view.estimate[at, 0] - view.model.along(x) - np.sign(v) * dry_force(view.model, x, v)
    little = np.abs(other) < _STATIC_SHARE * extent
    slow, forces = at[little], (view.reference[at, 0] - other)[little]
    for word, which, colour in directions(view, main):
        some = _few(which[slow])
        if len(some):
            x = factor * main.position[slow[some]]
            data.append(plots.points(x, forces[some], f"{word} slowly", colour, 4, opacity=0.5))
    step, ends = float(np.median(np.diff(view.times_s))), main.position[known]
    cut, rests = round(_COMING_S / step), list[list[float]]()
    for a, b in runs(known & view.resting & ~view.within("static")):
        place = float(np.median(main.position[a:b]))
        if (b - a) * step >= _SHORTEST_REST_S and ends.min() + _NEAR_END <= place <= ends.max() - _NEAR_END:
            rests.append([place, *np.quantile(view.reference[a + cut : b - cut, 0], (0.5, 0.05, 0.95))])
    place, middle, low, high = np.array(rests, dtype=float).reshape(-1, 4).T
    if rests:
        bars: Json = {"type": "data", "symmetric": False, "thickness": 1, "width": 0}
        bars |= {"array": plots.packed(high - middle), "arrayminus": plots.packed(middle - low)}
        style: Json = {"error_y": bars, "opacity": 0.9}
        data.append(plots.points(factor * place, middle, "at rest", COLOURS[2], 7, "diamond", **style))
    return data, np.concatenate([np.quantile(forces, (0.005, 0.995)) if len(forces) else forces, middle])


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
        visited, near = np.sort(main.position[moved & which]), float(np.ptp(positions)) / 50
        there = np.searchsorted(visited, positions + near) > np.searchsorted(visited, positions - near)
        unseen |= not there.all()
        dotted: Json = {"line": {"color": colour, "width": 1.5, "dash": "dot"}, "showlegend": False}
        data.append(curve(x, y, f"{name}, without data", colour, **dotted))
        data.append(curve(x, np.where(there, y, np.nan), name, colour, width=2.2))
    shapes = zip([(e, s) for e in view.model.elements for s in e.shapes], view.model.shapes, strict=True)
    # of elements that look at the coordinate to know where they act; widths are no borders
    borders = sorted(
        (shown.factor * s.value, f"{e.name} {s.name}", name)
        for (e, s), name in shapes
        if main.name in e.looks_at and s.unit == main.unit and s.name != "width"
    )
    places, profiles = [place for place, *_ in borders], {p.name: p for p in view.profiles}
    low, high, marks = min([x[0], *places]), max([x[-1], *places]), list[Mark]()
    for i, (place, label, name) in enumerate(borders):
        profile = profiles.get(name)
        flat = ", not in the data" if profile is not None and profile.interval is None else ""
        text, right = f"{label} {short(place)} {shown.unit}{flat}", place < (low + high) / 2  # where there is room
        marks.append(plots.upright(place, text, level=1 - 0.08 * (i % 3), right=right))
        if profile is not None and profile.interval is not None:
            a, b = np.clip(shown.factor * np.array(profile.interval), x[0], x[-1]).tolist()
            marks.append(plots.band(a, b, COLOURS[4], 0.25))
    reach = {"range": [float(low - 0.02 * (high - low)), float(high + 0.02 * (high - low))]}
    dots = " Dotted: not passed in that direction, so the model's alone." if unseen else ""
    y_title = f"d {_kind(row)} / d speed, {row.unit} s/{main.unit}"
    return plots.figure(
        f"Damping at {AT_SPEED:g} {main.unit}/s",
        "Steps are zones and stand at their borders (shaded: 95 % interval where the border was estimated); a step "
        f"where the real object has none is a wrong border.{dots}",
        [Panel(y_title, tuple(data), y={"rangemode": "tozero"})],
        plots.x_title(f"{quantity(main.unit)}, {shown.unit}") | reach,
        marks=marks,
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


def _few(mask: BoolArray) -> NDArray[np.int64]:
    at = np.flatnonzero(mask)
    return at[:: max(1, -(-len(at) // _POINTS))]


# --- residuals over the motion ----------------------------------------------------------------------------------------


def residuals(view: View) -> list[Figure]:
    """The residual of every row against position, speed and acceleration of each coordinate, and against the magnitudes
    of what was measured in space.
    """
    over: list[tuple[str, str, FloatArray | None]] = []
    for c in (c for c in view.coordinates if np.isfinite(c.speed).any()):
        place, of = (c.name, f"{c.name} ") if len(view.coordinates) > 1 else (quantity(c.unit), "")
        over += [(place, c.unit, c.position), (f"{of}speed", f"{c.unit}/s", c.speed)]
        over.append((f"{of}acceleration", f"{c.unit}/s²", c.acceleration))
    for word, unit in (("specific acceleration", "m/s2"), ("angular rate", "rad/s")):
        parts = [s.values for s in view.series if s.unit == unit]
        over += [(word, unit, np.linalg.norm(parts, axis=0))] if len(parts) == 3 else []
    used, main, figures, rows = compared(view), view.main, list[Figure](), view.model.mechanism.rows
    if main is not None:
        used &= np.isfinite(main.position) & np.isfinite(main.speed)
    left = view.reference - view.estimate
    for name, unit, x in over:
        good, shown, panels = used & np.isfinite(np.nan if x is None else x), shown_in(unit), list[Panel]()
        if x is None or good.sum() < _FEWEST_SAMPLES:
            continue
        two_ways = main is not None and x is main.position
        ways = directions(view, main) if main is not None and two_ways else (("", good, COLOURS[0]),)
        cells = [(word, _few(good & which), colour) for word, which, colour in ways]
        middles = [medians(shown.factor * x[good & which], left[good & which]) for _, which, _ in ways]
        for i, row in enumerate(rows):
            clouds, lines = list[Json](), list[Json]()
            for (word, at, colour), (bins, middle) in zip(cells, middles, strict=True):
                faint: Json = {"showlegend": False, "opacity": 0.4, "hoverinfo": "skip"}
                clouds.append(plots.points(shown.factor * x[at], left[at, i], f"residual {word}", colour, 3, **faint))
                title = f"median, {word}" if word else "median"
                lines.append(curve(bins, middle[:, i], title, colour if word else DARK, width=2.5))
            reach = 1.15 * float(np.quantile(np.abs(left[good, i]), 0.998)) or 1.0
            scale = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": "#888", "zerolinewidth": 1}
            title = f"{f'{_kind(row)} {row.name}' if len(rows) > 1 else 'residual'}, {row.unit}"
            panels.append(Panel(title, (*clouds, *lines), y=scale))
        usual = "Every median should stay at zero: a slope or a wave is an effect that the model lacks."
        size, look_for = ", magnitude" if unit in ("m/s2", "rad/s") and view.series else "", _LOOK_FOR.get(name, usual)
        across = plots.x_title(f"{name}{size}, {shown.unit}")
        figures.append(plots.figure(f"Residual against {name}", look_for, panels, across))
    return figures


def medians(x: FloatArray, y: FloatArray, bins: int = 40, fewest: int = 20) -> tuple[FloatArray, FloatArray]:
    """Medians of y (samples, rows) in stretches of x of equal width, (bins, rows); NaN where one has few samples."""
    if len(x) < fewest:
        return x[:0], y[:0]
    order = np.argsort(x)
    x, y = x[order], y[order]
    low, high = (float(v) for v in np.quantile(x, (0.002, 0.998)))
    edges = np.linspace(low, high, bins + 1)
    parts = np.split(y, np.searchsorted(x, edges))[1:-1]
    middle = [np.median(part, axis=0) if len(part) >= fewest else np.full(y.shape[1], np.nan) for part in parts]
    return (edges[:-1] + edges[1:]) / 2, np.array(middle)
