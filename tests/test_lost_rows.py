"""Doors of other make whose instruments lost something, or whose file states a filter that lets nothing through."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from tests.oracles import doors_of_other_make as doors

Rows = list[list[str]]


def edited(path: Path, change: Callable[[Rows], Rows]) -> None:
    header, *rows = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("\n".join(",".join(row) for row in [header, *change(rows)]) + "\n")


def without(rows: Rows, at_s: float, count: int) -> Rows:
    """Rows are lost, and the times go on as if they were not."""
    first = int(at_s * doors.RATE_HZ)
    kept = rows[:first] + rows[first + count :]
    return [[time, *row[1:]] for (time, *_), row in zip(rows, kept, strict=False)]


def test_a_clock_that_jumps_is_named_with_its_time_and_size(tmp_path: Path) -> None:
    """It was told as play."""
    path, _ = doors.write(tmp_path, 3)
    edited(tmp_path / "wrench.csv", lambda rows: without(rows, 35.0, 20))
    result = run_experiment(read_experiment(path))
    assert not result.passed
    (reason,) = (f for f in result.findings if f.cause == "skip")
    assert re.search(
        r"a clock that jumps at about 35\.[0-2] s, as if 39 ms of the load cell were lost there", reason.evidence
    )


def test_seconds_without_markers_are_named(tmp_path: Path) -> None:
    path, _ = doors.write(tmp_path, 3)

    def hidden(rows: Rows) -> Rows:
        first = float(rows[0][0])
        return [[t, *([""] * len(x) if 30 <= float(t) - first < 33 else x)] for t, *x in rows]

    edited(tmp_path / "markers.csv", hidden)
    (said,) = prepare_experiment(read_experiment(path)).findings
    assert said.cause == "outage"
    assert "not seen for 3 s of the segments in 1 place, the longest 3 s at 30.0 s: these samples" in said.evidence


def test_a_filter_that_breaks_the_fit_is_blamed_itself(tmp_path: Path) -> None:
    """Clocks were."""
    path, _ = doors.write(tmp_path, 3, keys="filtering: {bandwidth: 30 Hz}\n")
    with pytest.raises(PalpateError, match=r"filtering.bandwidth: it does not suit this motion: leave it out \(3.4 Hz"):
        prepare_experiment(read_experiment(path))
