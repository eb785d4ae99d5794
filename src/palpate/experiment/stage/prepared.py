"""An experiment up to its balance: recordings on one clock, and the segments that are used for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import SamplesPart
from palpate.experiment.stage.capture import CapturedMotion
from palpate.experiment.stage.ground import Ground
from palpate.experiment.stage.inputs import Inputs
from palpate.experiment.stage.recordings import Instrument
from palpate.findings import Finding
from palpate.identify import MotionNoise
from palpate.identify.balance import Segment
from palpate.motion.hinge import JointFrame
from palpate.motion.offset import Offset
from palpate.physics.arrays import FloatArray, rate_hz, segment_mask

KINDS = ("static", "quasi_static", "train", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An experiment up to its balance, on one clock."""

    inputs: Inputs
    segments: dict[str, list[Segment]]
    """static, quasi_static, train, test; seconds on the reference clock."""
    instruments: Mapping[str, Instrument]
    """By their key under `recordings`."""
    findings: tuple[Finding, ...]
    offset: Offset | None = None
    """How the clock was found; None where it is stated, or there is one clock only."""
    capture: CapturedMotion | None = None
    joint: JointFrame | None = None
    ground: Ground | None = None
    handles: tuple[Any, ...] = ()
    """Results of the handles' own stages, where they were run."""
    noise: MotionNoise | None = None
    """Of a motion by an IMU."""


def segments_of(experiment: Experiment[Any], times_s: FloatArray, rows: NDArray[np.int64]) -> dict[str, list[Segment]]:
    """The file's segments in seconds, checked; `rows`: the place of each row of the reference's file on the even clock.

    A sample k of the authors' counting is row first_sample + k - 1 of the file, from 1, both ends included.
    """
    part, segments = experiment.config.segments, dict[str, list[Segment]]()
    step = 1 / rate_hz(times_s)
    for kind in KINDS:
        chosen = getattr(part, kind)
        try:
            if isinstance(chosen, SamplesPart):
                ends = [[_time_of(part.first_sample, k, times_s, rows) for k in pair] for pair in chosen.samples]
                segments[kind] = [(a - 0.5 * step, b + 0.5 * step) for a, b in ends]
            else:
                segments[kind] = [(float(a), float(b)) for a, b in cast("list[Segment] | None", chosen) or []]
        except PalpateError as error:
            raise experiment.problem(f"segments.{kind}", str(error)) from error
        for a, b in segments[kind]:
            if a < times_s[0] - 2 * step or b > times_s[-1] + 2 * step:
                wrong = f"{a:.3f} to {b:.3f} s is not inside the recording, {times_s[0]:.3f} to {times_s[-1]:.3f} s"
                raise experiment.problem(f"segments.{kind}", wrong)
    fitted = segment_mask(times_s, [*segments["train"], *segments["quasi_static"]])
    for a, b in segments["test"]:
        shared = times_s[fitted & segment_mask(times_s, [(a, b)])]
        if len(shared):
            wrong = f"{a:.3f} to {b:.3f} s overlaps a segment of the fit, from {shared[0]:.3f} to {shared[-1]:.3f} s"
            raise experiment.problem("segments.test", wrong, "a test on data of the fit proves nothing")
    return segments


def _time_of(first_sample: int, sample: int, times_s: FloatArray, rows: NDArray[np.int64]) -> float:
    row = first_sample + sample - 1
    if row > len(rows):
        counted = f"sample {sample}" + (f" is row {row} of the file" if first_sample > 1 else "")
        raise DataProblem(
            counted,
            f"the file has {len(rows)} rows: a segment must lie inside the recording, {times_s[0]:.3f} to "
            f"{times_s[-1]:.3f} s",
        )
    return float(times_s[rows[row - 1]])


def check_seen_segments(experiment: Experiment[Any], inputs: Inputs, segments: Mapping[str, list[Segment]]) -> None:
    """Refuse segments in which nothing was seen, or all of which something beside the hands carries the object."""
    seen = np.asarray(np.isfinite(inputs.q).all(axis=1))
    free = seen if inputs.blocked is None else seen & ~inputs.blocked
    for kind, spans in segments.items():
        for a, b in spans:
            inside = segment_mask(inputs.times_s, [(a, b)])
            if not seen[inside].any():
                wrong = f"{a:.2f} to {b:.2f} s: where the object is was not seen anywhere in it"
                raise experiment.problem(f"segments.{kind}", wrong)
            if kind != "static" and not free[inside].any():
                wrong = f"{a:.2f} to {b:.2f} s: a foot is on the ground all the time, which carries an unknown part"
                raise experiment.problem(f"segments.{kind}", wrong)
