"""The paper's two result figures: of the door's and of the wheelbarrow's test segment, with ours in both ways.

The same traces become SVG and PDF for papers (Matplotlib) and interactive figures of the page (Plotly).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import PolynomialSpring
from palpate.errors import MissingExtra
from palpate.experiment.reproduce import Entry, Reproduction
from palpate.experiment.reproduce_choices import BODIES
from palpate.experiment.reproduce_published import BODY_HZ, Trace
from palpate.experiment.result import Result
from palpate.files import replacing
from palpate.mechanisms import Hinge
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, layout, line

TORQUES = {"n_x": "τ_x", "n_y": "τ_y", "n_z": "τ_z"}
WAYS = {"published": "as published", "default": "default"}
_INCH = 3.5
"""Width of a column of the journal."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One plot of a figure: curves over time with a unit."""

    title: str
    unit: str
    curves: tuple[tuple[str, FloatArray, FloatArray, str], ...]
    """Name, times (s), values, colour."""


def panels(entry: Entry) -> tuple[Panel, ...]:
    """The plots of one figure, from top to bottom; none where nothing was identified."""
    traces = traces_of(entry)
    if not traces:
        return ()
    first = next(iter(traces.values()))
    if "angle" in first.series:
        t, angle = first.times_s, np.degrees(first.series["angle"])
        own = [Panel("door angle θ_d", "deg", (("θ_d", t, angle, DARK),)), _torque(traces, "n_z", "hinge torque")]
        return tuple(own)
    place = tuple((n, first.times_s, first.series[n], COLOURS[i]) for i, n in enumerate(("contact x", "contact y")))
    turned = tuple(
        (n, first.times_s, np.degrees(first.series[n] - first.series[n][0] * (n == "yaw")), COLOURS[i])
        for i, n in enumerate(("pitch", "camber", "yaw"))
    )
    rows = [_torque(traces, row, TORQUES[row]) for row in TORQUES]
    return (Panel("contact", "m", place), Panel("angles", "deg", turned), *rows)


def traces_of(entry: Entry) -> dict[str, Trace]:
    """By way: what was measured and estimated in the paper's test segment."""
    found: dict[str, Trace] = {}
    if entry.published is not None and entry.published.trace is not None:
        found["published"] = entry.published.trace
    if entry.default is not None and entry.default.view is not None and entry.name in BODIES:
        trace = _default_trace(entry.default)
        if trace is not None:
            found["default"] = trace
    return found


def _default_trace(result: Result) -> Trace | None:
    """Of the last test segment, which is the paper's; the door's spring on the side of the reference."""
    view: Any = result.view
    spans = view.segments.get("test", ())
    if not spans:
        return None
    start, stop = spans[-1]
    # one sample more at either end belongs to the authors' segments
    at = (view.times_s >= start - 1 / BODY_HZ) & (view.times_s < stop + 1 / BODY_HZ)
    names = tuple(row.name for row in view.model.mechanism.rows)
    keep = [i for i, name in enumerate(names) if name in TORQUES]
    reference, estimate = view.reference[at][:, keep], view.estimate[at][:, keep]
    series: dict[str, FloatArray] = {s.name: s.values[at] for s in view.series}
    if isinstance(view.model.mechanism, Hinge):
        series = {"angle": view.position[at]}
        spring = _spring(result, view.position[at])[:, None]
        reference, estimate = reference + spring, estimate + spring
    return Trace(view.times_s[at] - start, series, tuple(names[i] for i in keep), reference, estimate)


def _spring(result: Result, angle: FloatArray) -> FloatArray:
    """(samples,): nu tau_s of the identified spring, N m (paper, eq. y_door_scalar)."""
    model: Any = result.view.model  # type: ignore[union-attr]
    mechanism = model.mechanism
    springs = [e for e in model.elements if isinstance(e, PolynomialSpring)]
    if not springs or mechanism.linkage is None:
        return np.zeros(len(angle))
    position, ratio, _ = mechanism.linkage.transmit(angle, ARRAYS)
    values = [model.values[p.name] for p in springs[0].parameters]
    return np.asarray(ratio * np.polynomial.polynomial.polyval(position - springs[0].reference, values), dtype=float)


def _torque(traces: Mapping[str, Trace], row: str, title: str) -> Panel:
    """Measured once, estimated in each way, and what is left."""
    curves: list[tuple[str, FloatArray, FloatArray, str]] = []
    for i, (way, trace) in enumerate(traces.items()):
        at = trace.rows.index(row)
        # each way has a reference of its own: another wrench of the handle, another filter
        curves.append((f"y, {WAYS[way]}", trace.times_s, trace.reference[:, at], (DARK, "#888888")[i]))
        curves.append((f"f, {WAYS[way]}", trace.times_s, trace.estimate[:, at], COLOURS[(1, 0)[i]]))
    return Panel(title, "N m", tuple(curves))


def figure_of(entry: Entry) -> Figure | None:
    """The interactive figure of the page."""
    rows = panels(entry)
    if not rows:
        return None
    data: list[Json] = []
    shown: set[str] = set()
    for number, panel in enumerate(rows, start=1):
        for name, times, values, colour in panel.curves:
            data.append(line(times, values, name, colour, row=number, showlegend=name not in shown, legendgroup=name))
            shown.add(name)
    titles = [f"{panel.title}, {panel.unit}" for panel in rows]
    return Figure(
        f"{'Door' if entry.name == 'door' else 'Wheelbarrow'}, test segment",
        "The estimate f should lie on its reference y; the two ways have references of their own, because they treat "
        "the handle and the sensor's zero differently.",
        tuple(data),
        layout(titles, {"title": {"text": "time, s"}}, height=120 + 150 * len(rows)),
    )


def write_figures(folder: Path, found: Reproduction) -> list[Path]:
    """door and wheelbarrow as SVG and PDF; returns the paths. Raises `MissingExtra` without Matplotlib."""
    paths: list[Path] = []
    for name in ("door", "wheelbarrow"):
        rows = panels(found.entries[name])
        if rows:
            paths += _draw(folder / name, rows)
    return paths


def _draw(stem: Path, rows: Sequence[Panel]) -> list[Path]:
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtra("matplotlib", "report", "a figure for papers") from None
    canvas = Canvas(figsize=(_INCH, 1.3 * len(rows)), layout="constrained")
    canvas.set_layout_engine("constrained", h_pad=0.08, rect=(0, 0, 1, 0.99))
    axes: Any = canvas.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for letter, ax, panel in zip("abcdefgh", axes, rows, strict=False):
        for name, times, values, colour in panel.curves:
            dashes = "--" if name == f"f, {WAYS['default']}" else "-"
            ax.plot(times, values, dashes, color=colour, linewidth=0.6, label=name)
        ax.set_ylabel(f"({letter}) {panel.title}\n{panel.unit}", fontsize=6)
        ax.tick_params(labelsize=6)
        shown = ax.legend(
            fontsize=4.5,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            frameon=False,
            ncols=4,
            borderaxespad=0,
            handlelength=1.2,
        )
        shown.set_in_layout(False)  # it must not narrow the plot
    axes[-1].set_xlabel("time, s", fontsize=6)
    paths: list[Path] = []
    for kind in ("svg", "pdf"):
        path = stem.with_suffix(f".{kind}")
        with replacing(path) as temporary:
            # no date inside: the same data give the same file
            canvas.savefig(temporary, format=kind, metadata={"Date" if kind == "svg" else "CreationDate": None})
        paths.append(path)
    return paths
