"""One reported quantity: value, interval, and what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties


class Status(Enum):
    """What stands behind a number."""

    IDENTIFIED = "identified"
    PRIOR_DOMINATED = "prior-dominated"
    FIXED = "fixed"
    NOT_IDENTIFIABLE = "not-identifiable"


VAGUE = 0.5
"""An interval that reaches this share of a body's own size to either side says nothing about it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One reported quantity. `noise` and `pull` are standard deviations; the interval holds both."""

    name: str
    value: float
    unit: str
    noise: float
    pull: float
    ci95: tuple[float, float] | None
    prior: float | None
    systematic: float
    """Standard deviation from declared errors of geometry, scale, clock and mass; not part of the interval."""
    attenuation: float
    """What noise in the motion would have done to the value, had it not been taken out."""
    prior_std: float
    """What the prior's declared spread means for this quantity; 0 without a prior."""
    information_from_data: float
    status: Status


def natural_size(phi: FloatArray) -> FloatArray:
    """Mass, radius of gyration (three times) and half the trace of the inertia (six times) about the centre of mass."""
    mass, _, I = mass_properties(phi)
    half_trace = float(np.trace(I)) / 2
    return np.repeat([mass, np.sqrt(max(half_trace, 0.0) / mass), half_trace], [1, 3, 6])
