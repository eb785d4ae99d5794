"""A fit that follows a dragged border: rows are kept, other segments re-merge their factors and solve again.

Zones, stops, clocks and windows stay those of the fit that it began with; what they and the doubts add to an interval
is kept from the last full run. The full `run_experiment` has the last word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment, object_model
from palpate.experiment.file.schema import HANDLE_HZ
from palpate.experiment.stage.belief import Handles, belief_of
from palpate.experiment.stage.fit import Fit, Plan, QuasiStatic, quasi_static_spring, solve_train
from palpate.experiment.stage.inputs import (
    Belief,
    balance_at_rest,
    compressed,
    fit_balance,
    joined_with,
    move,
    whole_balance,
)
from palpate.experiment.stage.prepare import Prepared, filtering_of
from palpate.identify import Compressed, Solution
from palpate.identify.balance import Segment
from palpate.identify.kept import Kept, keep
from palpate.motion.derivatives import design_lowpass
from palpate.physics.arrays import FloatArray, rms, segment_mask


@dataclass(frozen=True, slots=True, eq=False)
class Quick:
    """A fit with the rows of its whole recording in memory."""

    fit: Fit
    moving: Kept
    still: Kept | None
    """Rows of samples at rest that friction does not enter."""

    def solved(self, segments: Mapping[str, Sequence[Segment]], belief: Belief | None = None) -> Solution:
        """The parameters from other segments, or with another belief; intervals are those of the noise alone."""
        inputs = self.fit.inputs if belief is None else replace(self.fit.inputs, belief=belief)
        train, slow = tuple(segments["train"]), tuple(segments.get("quasi_static", ()))
        two_step = self.fit.plan.quasi_static is not None
        plan = replace(self.fit.plan, segments=train if two_step else (*slow, *train))
        plan = replace(plan, quasi_static=slow if two_step else None)
        return solve_train(inputs, self._train(plan), plan, self._spring(plan), self.fit.solution.theta)[2]

    def rms(self, p: FloatArray, segments: Sequence[Segment]) -> FloatArray:
        """(rows,): what these parameters leave in some segments, at the motion's rate, N and N m; NaN of nothing."""
        seen = self.fit.prediction
        inside = seen.used & segment_mask(seen.times_s, segments)
        left = np.asarray(seen.rows[inside] @ np.append(-p, 1.0), dtype=float)
        return np.array([rms(row) if len(row) else np.nan for row in left.T])

    def _train(self, plan: Plan) -> Compressed:
        if self.fit.inputs.inner is not None:  # its rows are not those of forces
            return compressed(self.fit.inputs, self.fit.moved, plan.segments, self.fit.balance)
        moving = self.moving.compressed(plan.segments)
        if self.still is None or self.still.balance.used is None:
            return moving
        if not (self.still.balance.used & self.fit.inputs.inside(plan.segments)).any():
            return moving
        return joined_with(moving, self.still.compressed(plan.segments))

    def _spring(self, plan: Plan) -> QuasiStatic | None:
        return quasi_static_spring(self.fit.inputs, self.fit.balance, plan)


def quick(fit: Fit) -> Quick:
    """Keep the rows of a fit."""
    inputs, moved, times = fit.inputs, fit.moved, fit.inputs.times_s
    whole = replace(fit.balance, weights=np.ones_like(fit.balance.weights)) if inputs.sigma is None else fit.balance
    everything = (float(times[0]), float(times[-1]))
    still = balance_at_rest(inputs, moved, [everything], whole)
    moving = keep(fit_balance(inputs, moved, whole), fit.noise)
    return Quick(fit, moving, None if still is None else keep(still))


def retuned(prepared: Prepared, experiment: Experiment[Any], handles: Handles | None = None) -> Prepared:
    """The same measurements for a file that differs in elements, beliefs or bandwidth alone.

    Nothing is read again, and clocks stay as they are; `prepare` has the last word.
    """
    before, model = prepared.inputs, object_model(experiment)
    instruments = tuple(e for e in before.model.elements if e.instrument)
    model = replace(before.model, elements=(*model.elements, *instruments), values={})
    belief = belief_of(experiment, model, handles, [s.T_body_sensor for s in before.sensors])
    inputs, filtering = replace(before, model=model, belief=belief), before.filtering
    if before.imu is None:
        whose = (before.times_s, before.q, before.static, before.smoothed)
        filtering = filtering_of(experiment, model, *whose, integrated=before.integrated)
        return replace(prepared, inputs=replace(inputs, filtering=filtering), begun=None)
    band: float = experiment.config.filtering.bandwidth or HANDLE_HZ if filtering.lowpass is not None else 0.0
    if filtering.lowpass is not None:
        filtering = replace(filtering, lowpass=design_lowpass(before.rate_hz, band), bandwidth_hz=band)
    inputs = replace(inputs, filtering=filtering)
    moved = move(inputs)
    whole = whole_balance(inputs, moved)
    noise = None if prepared.noise is None else replace(prepared.noise, balance=fit_balance(inputs, moved, whole))
    return replace(prepared, inputs=inputs, noise=noise, begun=(moved, whole))
