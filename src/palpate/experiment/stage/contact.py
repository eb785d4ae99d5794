"""Contact near the ends of a travel, a stop, a seal or a catch that the model does not know, in what a fit leaves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from palpate.experiment.stage.inputs import AT_STOP
from palpate.physics.arrays import FloatArray, rms

Contact = Literal["any", "pushing back"]
"""What is looked for. Between stops that are stated the object is free, and only what pushes back speaks against it;
what stands out both ways (accelerations after a knock, a damper) is not contact.
"""
BIN, FARTHEST = 0.5, 15.0
"""Steps (`STEP`) in which contact near a stop is looked for, and how far; a seal gives way by a step or two."""
WORSE_AT_END = 4.0
"""RMS of the residual near an end of the travel, over that of the middle, from which it is contact."""
ONE_SIDED = 0.5
"""Mean over RMS of what pushes back; of noise the mean is nothing."""
FEWEST_IN_BIN, LEAST_SEEN = 5, 200
"""Samples in a bin and in all, for contact to be looked for."""


def clear_of_contact(
    position: FloatArray,
    residual: FloatArray,
    step: float,
    stops: tuple[float, float] | None,
    kind: Contact,
    own: Collection[str] = (),
) -> tuple[float, float] | None:
    """Stops between which nothing stands out; None: nowhere does it.

    position, residual (samples,): of the main coordinate, and the hand's effort beyond the model's; stops: of the fit,
    which stay where they are at an end without contact, and at those with a stop of the model's `own`.
    """
    if len(position) < LEAST_SEEN:
        return None
    low, high = float(position.min()), float(position.max())
    middle = abs(position - (low + high) / 2) < 0.25 * (high - low)
    if middle.sum() < LEAST_SEEN / 4:
        return None
    limit, edge = WORSE_AT_END * rms(residual[middle]), AT_STOP * step
    sides = ((position - low, -residual), (high - position, residual))
    at_low, at_high = (step * _reach(away / step, back, limit, kind) for away, back in sides)
    at_low, at_high = 0.0 if "lowest" in own else at_low, 0.0 if "highest" in own else at_high
    if at_low == 0 and at_high == 0:
        return None
    lowest, highest = stops or (low - edge, high + edge)
    return low + at_low - edge if at_low else lowest, high - at_high + edge if at_high else highest


def _reach(away: FloatArray, back: FloatArray, limit: float, kind: Contact) -> float:
    """How far from an end, in steps, bins stand out without a break; 0: not at all. back: what pushes away from it.

    What stands out no more than other bins near the end do is no contact: a catch that snaps shut is not seen sharply.
    """
    reach, inside, beyond = 0.0, 0.0, 0.0
    for i in range(1, round(FARTHEST / BIN)):
        outer = i * BIN
        there = back[(away >= outer - BIN) & (away < outer)]
        if len(there) < FEWEST_IN_BIN:
            continue
        size = rms(there)
        pushes = kind == "any" or there.mean() >= ONE_SIDED * size
        if beyond == 0.0 and size >= limit and pushes:
            reach, inside = outer, max(inside, size)
        else:
            beyond = max(beyond, size)
    return reach if kind == "any" or inside > beyond else 0.0


def farther_out(outer: tuple[float, float], inner: tuple[float, float] | None, step: float) -> bool:
    """Whether one of the outer stops is farther out by more than a step."""
    return inner is not None and (outer[0] < inner[0] - step or outer[1] > inner[1] + step)
