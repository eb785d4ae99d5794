"""Timing two or more functions turn by turn, so that whatever else the machine does hits all of them."""

from __future__ import annotations

from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

LEAST_S = 0.1
"""A turn lasts at least this long, so that a short function is called as often as a long one is lucky."""


def cpu_s() -> float:
    """CPU seconds of this process and of the children that have ended: what others do beside it does not count."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def interleaved(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in s of CPU."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            left = LEAST_S
            while left > 0:
                start = cpu_s()
                function()
                took = cpu_s() - start
                best[name], left = min(best[name], took), left - took
    return best
