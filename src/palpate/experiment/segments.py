"""Segments of an experiment file as seconds on the reference clock."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.experiment.schema import SamplesPart, SegmentsPart
from palpate.identify.balance import Segment
from palpate.physics.arrays import FloatArray

TRAIN_SHARE = 0.6


def bounds(part: SamplesPart | Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The numbers as they stand in the file."""
    return [(float(a), float(b)) for a, b in (part.samples if isinstance(part, SamplesPart) else part)]


def segments_in_seconds(part: SegmentsPart, name: str, times_s: FloatArray) -> list[Segment]:
    """Half-open segments in seconds; sample k of the authors' counting is file sample first_sample + k - 1."""
    chosen = part.train if name == "train" else part.test
    if not isinstance(chosen, SamplesPart):
        return bounds(chosen)
    step = float((times_s[-1] - times_s[0]) / (len(times_s) - 1))
    # both samples are included: from half a step before the first to half a step after the last
    origin = times_s[0] + (part.first_sample - 1) * step
    return [(float(origin + (a - 1.5) * step), float(origin + (b - 0.5) * step)) for a, b in chosen.samples]


def default_segments(first_s: float, last_s: float) -> tuple[list[Segment], list[Segment]]:
    """The first part trains, the rest tests."""
    edge = first_s + TRAIN_SHARE * (last_s - first_s)
    return [(first_s, edge)], [(edge, last_s)]
