"""What an export has written, and what its format could not say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NO_LIMIT = (
    "no range of the sensor is given: a glitch of any finite size moves the object. Say it with --wrench-limit, such "
    "as 500,20 (N, N m; wrench_limit in Python)"
)


@dataclass(frozen=True, slots=True)
class Export:
    """The files of one export. `left_out` is printed and stands in the files' own header: nothing is dropped silently.

    `files` are complete and were written atomically; `left_out` has one sentence for each thing of the model that the
    format cannot express, and what stands in its place; `notes` are for the terminal only (step times, how to build).
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
