"""Figures of an identified body: over time as the paper's, profiles of the shapes, and replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from math import ceil

import numpy as np

from palpate.experiment.body_view import BodyView, ReplayWindow, ShapeProfile, View
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.report.body_curves import (
    LEGEND_ABOVE,
    first_coordinate,
    quantity,
    row_name,
    runs,
    short,
    shown_in,
    unit_text,
    x_title,
)
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, band, curve, key, layout, line, since, zero_of

MEASURED, ESTIMATED, RESIDUAL = DARK, COLOURS[1], "#5fbf9f"
_SERIES = {"m": "contact", "rad": "angle", "m/s2": "a - g", "rad/s": "ω"}
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


def over_time(view: BodyView, segment: str) -> tuple[Figure, ...]:
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
        forces, errors = _forces(view, inside, seen), _errors(view, inside, seen)
        if len(errors) == 1:
            found.append(
                _stacked(
                    view,
                    inside,
                    seen,
                    [*_position(view, inside), *_series(view, inside), *forces, *errors],
                    name,
                    _CLOSE,
                )
            )
        else:
            found.append(
                _stacked(view, inside, seen, [*_position(view, inside), *_series(view, inside), *forces], name, _CLOSE)
            )
            found.append(_stacked(view, inside, seen, errors, f"{name}: absolute residual", _NOISE))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Panel:
    """One plot of several above a common time axis; rms: a level to draw and what is written about it."""

    title: str
    data: tuple[Json, ...]
    rms: tuple[float, str] | None = None


def _position(view: BodyView, inside: BoolArray) -> list[_Panel]:
    coordinate = first_coordinate(view)
    if coordinate is None:
        return []
    name, unit = coordinate
    shown, t = shown_in(unit), view.times_s[inside] - zero_of(view.times_s)
    trace = line(t, shown.factor * view.position[inside], name, DARK, showlegend=False)
    return [_Panel(f"{quantity(unit)}, {shown.unit}", (trace,))]


def _series(view: BodyView, inside: BoolArray) -> list[_Panel]:
    """Contact position, and pitch, camber and yaw, of what rolls (paper, figure of the wheelbarrow)."""
    t = view.times_s[inside] - zero_of(view.times_s)
    found: list[_Panel] = []
    # no orange: that is the estimate's
    tints = cycle([COLOURS[i] for i in (0, 2, 3, 4, 7, 6)])
    for unit in dict.fromkeys(s.unit for s in view.series):
        shown, own = shown_in(unit), [s for s in view.series if s.unit == unit]
        data = tuple(line(t, shown.factor * s.values[inside], s.name, next(tints)) for s in own)
        found.append(_Panel(f"{_SERIES.get(unit, quantity(unit))}, {unit_text(shown.unit)}", data))
    return found


def _forces(view: BodyView, inside: BoolArray, seen: BoolArray) -> list[_Panel]:
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


def _errors(view: BodyView, inside: BoolArray, seen: BoolArray) -> list[_Panel]:
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


def _stacked(
    view: BodyView, inside: BoolArray, seen: BoolArray, panels: Sequence[_Panel], title: str, look_for: str
) -> Figure:
    """Panels above one time axis, lettered as in a paper; what is not compared is grey."""
    zero = zero_of(view.times_s)
    grey = _bands(view.times_s[inside] - zero, ~seen[inside]) if len(inside) else []
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


def profiles(view: BodyView) -> Figure | None:
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


def replay(view: BodyView, windows: Sequence[ReplayWindow]) -> Figure | None:
    """Measured against simulated position, one small plot per window."""
    if not windows:
        return None
    unit = next(iter(view.model.mechanism.coordinates.values()), "rad")
    shown, zero = shown_in(unit), zero_of(windows[0].times_s)
    titles = [f"RMS {short(shown.factor * w.rms_rad)} {shown.unit}" for w in windows]
    made = grid(titles, [_time(zero)] * len(windows), f"{quantity(unit)}, {shown.unit}", 180)
    data: list[Json] = []
    for i, w in enumerate(windows):
        for name, y, colour in (("measured", w.measured, MEASURED), ("simulated", w.simulated, ESTIMATED)):
            more: Json = {"legendgroup": name, "showlegend": i == 0, **on_plot(i)}
            data.append(line(w.times_s - zero, shown.factor * y, name, colour, most=1200, **more))
    return Figure(
        f"Replay of {len(windows)} window{'s' if len(windows) != 1 else ''}",
        "The model gets the measured force and moves by itself: it should turn, stop and close when the real object "
        "does; a slow drift apart is a small error of the spring or of friction.",
        tuple(data),
        made | {"legend": LEGEND_ABOVE | {"yref": "container", "y": 0.995, "yanchor": "top"}},
    )


def replayed(view: View) -> Figure | None:
    """Measured against simulated coordinates of what has several, one above the other."""
    tracks = view.replayed
    if not tracks:
        return None
    zero, some = zero_of(tracks[0].times_s), slice(0, _REPLAYED)
    panels: list[_Panel] = []
    for i, track in enumerate(tracks):
        shown = shown_in(track.unit)
        both = (("measured", track.measured, MEASURED, 2.0), ("simulated", track.simulated, ESTIMATED, 1.1))
        data = tuple(
            curve(track.times_s[some] - zero, shown.factor * y[some], n, legendgroup=n, showlegend=i == 0)
            | {"line": {"color": colour, "width": width}}
            for n, y, colour, width in both
        )
        panels.append(_Panel(f"{track.name}, {shown.unit}", data))
    nowhere = np.zeros(0, dtype=bool)
    look_for = (
        "The model gets the measured forces and moves by itself, window after window from the measured state: the "
        "curves part slowly where the model is good. Nobody holds it, so what leans falls over in a second or two."
    )
    title = "Replay, its first windows" if len(tracks[0].times_s) > _REPLAYED else "Replay"
    return _stacked(view, nowhere, nowhere, panels, title, look_for)


# --- small plots side by side -----------------------------------------------------------------------------------------


def grid(titles: Sequence[str], x_titles: Sequence[str], y_title: str, each: int, *, columns: int = 2) -> Json:
    """A layout of small plots side by side, each with its title inside the figure."""
    count, columns = len(titles), min(columns, len(titles))
    rows = ceil(count / columns)
    made = layout([""], {}, height=70 + (each + 30) * rows)
    plain = {k: v for k, v in made["xaxis"].items() if k != "anchor"}
    gap_x, gap_y = 0.1, 75 / (each * rows)
    wide, high = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    labels: list[Json] = []
    for i, title in enumerate(titles):
        left, top = (i % columns) * (wide + gap_x), 1 - (i // columns) * (high + gap_y)
        x_domain, y_domain = [left, min(left + wide, 1.0)], [max(top - high, 0.0), top]
        made[axis_of("xaxis", i)] = plain | {"domain": x_domain, "anchor": axis_of("y", i), **x_title(x_titles[i])}
        y_name = {"text": y_title if i % columns == 0 else ""}
        made[axis_of("yaxis", i)] = plain | {"domain": y_domain, "anchor": axis_of("x", i), "title": y_name}
        label: Json = {"text": title, "x": left + wide / 2, "y": top, "xref": "paper", "yref": "paper"}
        label |= {"showarrow": False, "xanchor": "center", "yanchor": "bottom", "font": {"size": 12}}
        labels.append(label)
    return made | {"annotations": labels, "margin": {"l": 60, "r": 14, "t": 50, "b": 44}}


def _time(zero: float) -> str:
    return str(since("time, s", zero)["title"]["text"])


def axis_of(name: str, index: int) -> str:
    """Plotly's name of the axis of a small plot, counted from 0."""
    return name if index == 0 else f"{name}{index + 1}"


def on_plot(index: int) -> Json:
    """What puts a trace into a small plot."""
    return {"xaxis": axis_of("x", index), "yaxis": axis_of("y", index)}


def _place(index: int) -> Json:
    """What puts a shape into a small plot, over its whole height."""
    return {"xref": axis_of("x", index), "yref": f"{axis_of('y', index)} domain"}


def _vertical(x: float, place: Json) -> Json:
    stroke: Json = {"color": "#444", "width": 1.2, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": stroke, **place}


def horizontal(y: float, index: int) -> Json:
    """A dashed line across a small plot."""
    stroke: Json = {"color": "#888", "width": 1, "dash": "dash"}
    place: Json = {"xref": f"{axis_of('x', index)} domain", "yref": axis_of("y", index)}
    return {"type": "line", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": stroke, **place}
