"""What a gate may ask about, and every threshold: one each, for all objects alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.mount import shown_as
from palpate.experiment.stage.prepared import Prepared
from palpate.findings import Finding
from palpate.identify.solution import Solution
from palpate.model import Model
from palpate.runtime.replay import Replay

MISFIT_PERCENT = 10.0
"""Error beyond this share of a row's range: something is wrong, not just noisy (the paper's own door: 5.2 %)."""
QUIET_ROW = 0.1
"""A row whose range is less than this share of the largest of its unit is not what the motion is about."""
NOISE_RATIO = 5.0
"""Errors in the band of the fit beyond this multiple of the load cell's own noise come from something else."""
CARRY_OVER = 2.0
"""A test error beyond this multiple of the train error: the fit does not carry over."""
MASS_OFF, MASS_STDS = 0.02, 5.0
"""A stated mass may differ from what the data weigh by this share, or by so many standard deviations."""
LIGHTER = 2.0
"""Nobody's drawing is wrong by this factor."""
TOUCHED, TOUCH_S = 0.03, 0.2
"""Share of a component's range by which means over so many seconds may change while nobody touches the handle."""
LEVER_M = (0.003, 2.0)
"""From a sensor to the hand on the handle."""
BESIDE_M, BESIDE_SHARE, LATE_S = 0.02, 0.5, 1e-3
"""Less is what a ruler, a drawing or a typed sample may be off by: a lever arm, a share, a delay."""
STATED_LATE_S = 5e-3
"""The same of a clock that was stated by samples."""
BESIDE_STDS = 5.0
OTHER_LINKAGE = 0.7
"""Another assembly explains the row better when it leaves less than this share of the error ..."""
SWAPPED_SHARE = 0.5
"""... and exchanged load cells when they leave less than this share of the squares."""
SCALE_OFF, SCALE_UNKNOWN = 0.05, 0.2
"""By so much a scale must be off to be accused; an interval beyond the second to either side cannot tell."""
FIXED_OFF, FIXED_STDS = 0.05, 5.0
"""A fixed number may differ from what the data say by this share, or by so many standard deviations."""
BAND_OFF, BAND_STDS = 0.05, 3.0
"""And a number at half the bandwidth from that at the whole."""
REST_SHARE, REST_S, REST_FROM_STOP = 0.05, 0.25, 2.0
"""Share of the samples at rest that friction cannot hold; long enough at rest; steps from a stop."""
EXTRAPOLATED, ASTRAY = 5.0, 10.0
"""Steps from the closed position that were never seen; by which a replay goes astray."""
ONE_WAY = 0.02
"""Share of the range by which an object that moves one way only may seem to go back."""
OUTLYING = 0.5
"""Weight below which a piece of the recording counts as one that does not fit."""
DRIFT_SHARE, DRIFT_STDS = 0.01, 5.0
"""Share of a row's range, and standard deviations, by which a zero must move to be said to."""
STILL_S, STILL_RAD_S, FAR_S = 1.0, 0.05, 5.0
"""A still stretch lasts at least so long and turns with less than that; two must be that far apart to compare."""
PIECE_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A fit with all that a gate may ask about."""

    config: Any
    prepared: Prepared
    fit: Fit
    rms: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """train, test, ... -> row -> value, unit, percent_of_range, noise."""
    refused: Mapping[str, Finding]
    """Parameters that have no number, and why."""
    replay: Replay | None

    @property
    def solution(self) -> Solution:
        """Of the fit."""
        return self.fit.solution

    @property
    def model(self) -> Model:
        """With its mechanism."""
        return self.fit.inputs.model

    @property
    def one_row(self) -> bool:
        """Whether the object has a single freedom."""
        return len(self.model.mechanism.rows) == 1

    @property
    def moved(self) -> list[tuple[float, float]]:
        """All segments in which the object is moved and that were fitted."""
        return [*self.prepared.segments["quasi_static"], *self.prepared.segments["train"]]

    def shown(self, position: float, spec: str) -> str:
        """A position of the main coordinate for people, with a number format."""
        main = self.model.mechanism.main
        return shown_as("rad" if main is None else self.model.mechanism.coordinates[main])(position, spec)
