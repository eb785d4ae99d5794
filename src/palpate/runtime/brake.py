"""What an object does when the wrench is lost: it is braked to rest, so that a robot stops softly.

Sensors drop single samples, and cables break. A lost sample takes 1 - exp(-dt / BRAKE_S) of the speed, then the object
moves for a step as if nobody touched it; springs and weight may slow it down, but never speed it up, and never turn it
round. So one lost sample is hardly felt, and many are a stop: within speed * BRAKE_S, at rest from then on. Position,
speed and acceleration belong together in every step.

Energy: the step under no wrench creates none, E' = T' + V' <= E. Where it is cut to the part s of its way and its
speeds, s^2 T' + V(s) <= s E' + (1 - s) V <= E, to the same order in dt as the step itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from palpate.runtime.advance import Advance, State, Status
from palpate.runtime.contact import dot_floats

BRAKE_S = 0.02
"""s in which a lost wrench brakes the speed to a third: as fast as a hand lets go, softer than a robot's own stop."""
_NOTHING = (0.0,) * 6


def kept(dt: float) -> float:
    """The part of the speed that is left after one lost sample."""
    return math.exp(-dt / BRAKE_S)


def brake(advance: Advance, n: int, dt: float, *, turns: bool) -> Callable[[State], State]:
    """Bind the step without a wrench, of n speeds; `turns`: positions 3 to 6 are a quaternion."""
    keep = kept(dt)

    def braked(now: State) -> State:
        q, v = now[:-n], now[-n:]
        slow = tuple(keep * x for x in v)
        there, u = q, [0.0] * n
        try:
            found, status = advance((*q, *slow), _NOTHING)
            new = found[len(q) : -n]
            if status is not Status.NOT_FINITE and math.isfinite(sum(found)) and dot_floats(new, slow) > 0.0:
                there, u = found[: len(q)], list(new)
                had, has = dot_floats(slow, slow), dot_floats(new, new)
                if has > had:
                    part = math.sqrt(had / has)
                    u = [part * x for x in new]
                    there = tuple(a + part * (b - a) for a, b in zip(q, there, strict=True))
                    there = _unit(there) if turns else there
        except (ArithmeticError, ValueError):
            there, u = q, [0.0] * n
        lost = [(b - a) / dt for a, b in zip(v, u, strict=True)]
        return (*there, *u, *(lost if math.isfinite(sum(lost)) else [0.0] * n))

    return braked


def _unit(q: State) -> State:
    size = math.sqrt(dot_floats(q[3:7], q[3:7]))
    return (*q[:3], *(x / size for x in q[3:7]))
