"""Curves over time with Matplotlib, for those who look at a value from Python: `recording.plot()`, `result.plot()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palpate.errors import extra_library
from palpate.physics.arrays import FloatArray

_LISTED = 12
"""Curves of one panel that a legend still tells apart."""
_SHADES = {"train": "#0072b2", "test": "#d55e00", "quasi-static": "#009e73", "static": "#8a8a8a"}


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Curves of one panel by name, each its times (s) and values, above one label with the unit."""

    label: str
    curves: Mapping[str, tuple[FloatArray, FloatArray]]


def draw_curves(
    panels: Sequence[Curves], title: str, segments: Mapping[str, Sequence[tuple[float, float]]] | None = None
) -> Any:
    """Panels above one time axis, as a Matplotlib figure with one of its axes for each.

    Stretches of time are shaded by what they are for.
    """
    pyplot = extra_library("matplotlib.pyplot", "report", "a plot")
    figure, made = pyplot.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(9, 1.2 + 2 * len(panels)), layout="constrained"
    )
    axes: list[Any] = list(made[:, 0])
    for ax, panel in zip(axes, panels, strict=True):
        for name, (times, values) in panel.curves.items():
            ax.plot(times, values, label=name, linewidth=0.8)
        ax.set_ylabel(panel.label)
        ax.grid(color="#e6e6e6")
        if 1 < len(panel.curves) <= _LISTED:
            ax.legend(loc="upper right", fontsize="small", ncols=min(4, len(panel.curves)))
        for kind, spans in (segments or {}).items():
            for low, high in spans:
                ax.axvspan(low, high, color=_SHADES.get(kind.replace("_", "-"), "#8a8a8a"), alpha=0.08, linewidth=0)
    axes[-1].set_xlabel("time, s")
    shaded = ", ".join(kind.replace("_", "-") for kind, spans in (segments or {}).items() if spans)
    figure.suptitle(f"{title} (shaded: {shaded})" if shaded else title)
    return figure
