"""Two bodies in series: rows of what is left of their positions, with any inputs, and what such bodies may lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inner import Inner, Innovations, innovation_rows, settled_in, stacked_innovations
from palpate.experiment.stage.inputs import Inputs, Moved, projected, whole_balance
from palpate.identify.balance import Balance, Rows, Segment
from palpate.identify.effects import Effect
from palpate.motion.derivatives import coordinate_motion
from palpate.physics.arrays import FloatArray

LOOSE = 0.02
"""Steps of play that are tried between two bodies."""
FLEXES_HZ, FLEXES = 30.0, 0.3
"""How fast a part of the inner of two bodies may swing on the rest, and how much of it."""
SMOOTH_S, SMOOTH_ORDER = 0.06, 4
"""Over which an acceleration is differentiated."""


@dataclass(frozen=True, eq=False)
class LedRows:
    """Of the samples of some segments, all with the same parameters."""

    inner: Inner
    inputs: Inputs
    moved: Moved
    segments: Sequence[Segment]

    @cached_property
    def own(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """(samples, parameters + 1), and which samples they are."""
        return self._of(self.inputs)

    def left_more(self, inputs: Inputs) -> FloatArray:
        """(rows,): what is left more with other inputs."""
        (rows, at), (others, there) = self.own, self._of(inputs)
        more = np.zeros(len(at))
        _, here, other = np.intersect1d(at, there, return_indices=True)
        more[here] = others[other, -1] - rows[here, -1]
        return more

    def stacked(self, like: Rows, balance: Balance) -> Innovations:
        """In the place of rows of forces of a balance."""
        return stacked_innovations(*self.own, like, self.inner, self.inputs.q[:, 0], projected(balance)[:, 0])

    def _of(self, inputs: Inputs) -> tuple[FloatArray, NDArray[np.int64]]:
        force = projected(whole_balance(replace(inputs, inner=None), self.moved))[:, 0]
        used = settled_in(inputs.times_s, [self.moved.known & inputs.inside([s]) for s in self.segments])
        return innovation_rows(inputs.model, self.inner, inputs.times_s, inputs.q[:, 0], force, used)


def effects_between(fit: Fit, inner: Inner) -> Iterator[Effect]:
    """Play between both bodies, and a third one behind them."""
    inputs, coordinates = fit.inputs, fit.balance.kinematics.coordinates
    inside, between, *_ = inputs.mechanism.unmeasured
    # with play the outer body is farther by half of it, whichever way it pulls the inner one
    stretched, gap = np.nan_to_num(np.asarray(coordinates[between].position)), LOOSE * inputs.step
    farther = inputs.with_positions(inputs.q + 0.5 * gap * np.sign(stretched)[:, None])
    led = LedRows(inner, inputs, fit.moved, fit.plan.segments)
    yield Effect("play", between, gap, led.left_more(farther)[None] / gap)
    # a part of the mass m that swings at w is felt at s as m (1 + (s / w)^2), well below w
    model, values = inputs.model, fit.solution.model.values
    mass = sum(values[n] for e in model.elements if e.inertial and e.acts_on == inside for n in model.names_of(e))
    shaken = np.nan_to_num(np.asarray(coordinates[inside].acceleration))[:, None]
    fourth = coordinate_motion(inputs.times_s, shaken, window_s=SMOOTH_S, order=SMOOTH_ORDER).acceleration
    force = -mass / (2 * np.pi * FLEXES_HZ) ** 2 * np.nan_to_num(fourth[:, 0])
    yield Effect("behind", inside, FLEXES_HZ, force[None, None], std=FLEXES)
