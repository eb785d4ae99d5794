"""Segments of an experiment file as seconds on the reference clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.file.reading import bounds
from palpate.experiment.file.schema import SamplesPart, SegmentsPart
from palpate.identify.balance import Segment
from palpate.physics.arrays import FloatArray

TRAIN_SHARE = 0.6
SHORTEST_RUN_S = 1.0
"""Shorter stretches between gaps are not worth a segment."""
Span = tuple[int, int]
"""Samples of a segment, half-open."""


def segments_in_seconds(
    part: SegmentsPart, name: str, times_s: FloatArray, rows: NDArray[np.int64] | None = None
) -> list[Segment]:
    """Half-open segments in seconds; sample k of the authors' counting is file row first_sample + k - 1, from 1.

    times_s (n,) is the even clock; `rows` holds the place on it of each row of the file, None: row by row the same.
    """
    chosen = part.train if name == "train" else part.test
    if not isinstance(chosen, SamplesPart):
        return bounds(chosen)
    return samples_in_seconds(chosen, part.first_sample, times_s, rows)


def samples_in_seconds(
    chosen: SamplesPart, first_sample: int, times_s: FloatArray, rows: NDArray[np.int64] | None = None
) -> list[Segment]:
    """As `segments_in_seconds`, of one list of samples."""
    step = float((times_s[-1] - times_s[0]) / (len(times_s) - 1))

    def time_s(sample: int) -> float:
        row = first_sample + sample - 1
        if rows is None:  # also beyond the recording, which is for the caller to refuse
            return float(times_s[0] + (row - 1) * step)
        if row > len(rows):
            counted = f"sample {sample}" + (f" is row {row} of the file" if first_sample > 1 else "")
            raise DataProblem(
                counted,
                f"the file has {len(rows)} rows: a segment must lie inside the recording, "
                f"{times_s[0]:.3f} to {times_s[-1]:.3f} s",
            )
        return float(times_s[rows[row - 1]])

    # both samples are included: from half a step before the first to half a step after the last
    return [(time_s(a) - 0.5 * step, time_s(b) + 0.5 * step) for a, b in chosen.samples]


def check_overlap(train_spans: Sequence[Span], test_spans: Sequence[Span]) -> tuple[Span, Span] | None:
    """The first pair of a train and a test span (samples, half-open) that share a sample; None where none do."""
    return next(((a, b) for a in train_spans for b in test_spans if max(a[0], b[0]) < min(a[1], b[1])), None)


def default_segments(times_s: FloatArray, seen: NDArray[np.bool_]) -> tuple[list[Segment], list[Segment]]:
    """The first part of what every instrument saw trains, the rest tests; gaps are left out."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]]).astype(int)))
    runs = [(int(a), int(b)) for a, b in edges.reshape(-1, 2) if times_s[b - 1] - times_s[a] > SHORTEST_RUN_S]
    if not runs:
        raise DataProblem("recordings", "there is no time that both instruments saw")
    limit = TRAIN_SHARE * sum(b - a for a, b in runs)
    train: list[Segment] = []
    test: list[Segment] = []
    done = 0
    for a, b in runs:
        cut = min(max(a + int(limit) - done, a), b)
        done += b - a
        for chosen, (i, j) in ((train, (a, cut)), (test, (cut, b))):
            if j - i > 1:
                chosen.append((float(times_s[i]), float(times_s[min(j, len(times_s) - 1)])))
    return train, test
