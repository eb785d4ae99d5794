"""What recordings hold, as data and as text: channels, units, rates, gaps, range and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palpate.files import finite
from palpate.recording import FORMATS, Channel, Clock, Recording


def describe(recording: Recording, unit_remedy: str = "--time-unit ms") -> dict[str, Any]:
    """A recording's channels and clocks as plain data; `unit_remedy` is how to say that times are milliseconds."""
    return {
        "file": str(recording.source),
        "format": recording.format,
        "clocks": [
            {
                "name": c.name,
                "samples": len(c),
                "rate_hz": finite(c.rate_hz),
                "from_s": float(c.times_s[0]) if len(c) else None,
                "to_s": float(c.times_s[-1]) if len(c) else None,
                "gaps": c.gaps,
                "largest_gap_s": finite(c.largest_gap_s),
                "jitter_s": finite(c.jitter_s),
                "hint": f"times look like milliseconds: {unit_remedy}"
                if _takes_rate(recording.format) and _looks_like_ms(c)
                else None,
            }
            for c in recording.clocks
        ],
        "channels": [_describe_channel(channel) for channel in recording.channels.values()],
    }


def _looks_like_ms(clock: Clock) -> bool:
    """Nobody records hands below 5 Hz, but whole milliseconds read as seconds look like that."""
    if len(clock) < 3:
        return False
    step = float(np.median(np.diff(clock.times_s)))
    return 1 / step < 5 and abs(step - round(step)) < 1e-6 and 1 <= round(step) <= 20


def _describe_channel(channel: Channel) -> dict[str, Any]:
    seen = channel.samples[np.isfinite(channel.samples).reshape(len(channel.samples), -1).all(axis=1)]
    second = np.diff(seen, n=2, axis=0)
    return {
        "name": channel.name,
        "unit": channel.unit,
        "frame": channel.frame,
        "clock": channel.clock.name,
        "missing": channel.missing,
        "lowest": float(seen.min()) if len(seen) else None,
        "highest": float(seen.max()) if len(seen) else None,
        # white noise has second differences of variance 6 sigma^2; motion hardly has any
        "noise": float(np.median(np.abs(second)) / 0.6745 / 6**0.5) if len(second) else None,
    }


def recordings_text(described: Sequence[dict[str, Any]]) -> RenderableType:
    """A table of channels for each recording, under its clocks."""
    return Group(*(line for data in described for line in _lines(data)))


def _lines(data: dict[str, Any]) -> list[Any]:
    lines: list[Any] = [Text(f"\n{data['file']} ({data['format']})", style="bold")]
    for c in data["clocks"]:
        lines.append(Text(_clock_line(c)))
        if c["hint"]:
            lines.append(Text(f"hint: {c['hint']}", style="yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("channel", "unit", "frame", "clock"):
        table.add_column(heading)
    for heading in ("missing", "lowest", "highest", "noise"):
        table.add_column(heading, justify="right")
    for c in data["channels"]:
        numbers = ("-" if c[k] is None else f"{c[k]:.4g}" for k in ("lowest", "highest", "noise"))
        texts = (c["name"], c["unit"], c["frame"] or "-", c["clock"])  # as they are: a bracket in a name is no markup
        table.add_row(*(Text(t) for t in texts), str(c["missing"]), *numbers)
    return [*lines, table]


def _clock_line(c: dict[str, Any]) -> str:
    if c["rate_hz"] is None:
        return f"clock {c['name']}: {c['samples']} sample{'s' if c['samples'] != 1 else ''}"
    gaps = f"{c['gaps']} gaps, longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
    return (
        f"clock {c['name']}: {c['samples']} samples at {c['rate_hz']:.6g} Hz, "
        f"{c['from_s']:.3f} to {c['to_s']:.3f} s, {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"
    )


def _takes_rate(format_: str) -> bool:
    """Plain tables, whose times are the user's word."""
    return format_ in FORMATS and "rate" in FORMATS[format_].options
