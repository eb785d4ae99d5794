"""palpate inspect: what is in these files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, known_errors, progress, show, show_json

if TYPE_CHECKING:
    from palpate.recording import Channel, Recording


def inspect(
    files: Annotated[list[Path], typer.Argument(help="Recordings in any format that palpate reads.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="vicon-csv, dspace-mat, microstrain-csv, csv or parquet [default: found out]."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the channels of recordings: units, rates, gaps, range and noise."""
    with known_errors():
        from palpate.recording import load

        described: list[dict[str, Any]] = []
        for path in files:
            with progress(quiet=quiet or as_json, verbose=False, title=path.name) as tell:
                tell("reading")
                recording = load(path, format=format_)
                described.append(describe(recording))
            if not as_json and not quiet:
                show(_table(described[-1]))
        if as_json:
            show_json(described)


def describe(recording: Recording) -> dict[str, Any]:
    """A recording's channels and clocks as plain data."""
    return {
        "file": str(recording.source),
        "format": recording.format,
        "clocks": [
            {
                "name": c.name,
                "samples": len(c),
                "rate_hz": c.rate_hz,
                "from_s": float(c.times_s[0]),
                "to_s": float(c.times_s[-1]),
                "gaps": c.gaps,
                "largest_gap_s": c.largest_gap_s,
                "jitter_s": c.jitter_s,
            }
            for c in recording.clocks
        ],
        "channels": [_describe_channel(channel) for channel in recording.channels.values()],
    }


def _describe_channel(channel: Channel) -> dict[str, Any]:
    import numpy as np

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


def _table(data: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    lines: list[Any] = [Text(f"\n{data['file']} ({data['format']})", style="bold")]
    for c in data["clocks"]:
        gaps = f"{c['gaps']} gaps, longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
        lines.append(
            Text(
                f"clock {c['name']}: {c['samples']} samples at {c['rate_hz']:.6g} Hz, "
                f"{c['from_s']:.3f} to {c['to_s']:.3f} s, {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"
            )
        )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("channel", "unit", "frame", "clock"):
        table.add_column(heading)
    for heading in ("missing", "lowest", "highest", "noise"):
        table.add_column(heading, justify="right")
    for c in data["channels"]:
        numbers = ("-" if c[k] is None else f"{c[k]:.4g}" for k in ("lowest", "highest", "noise"))
        table.add_row(c["name"], c["unit"], c["frame"] or "-", c["clock"], str(c["missing"]), *numbers)
    return Group(*lines, table)
