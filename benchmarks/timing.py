"""Timing two or more functions turn by turn, so that whatever else the machine does hits all of them."""

from __future__ import annotations

from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

LEAST_S = 0.1
"""A turn lasts at least this long: a clock of CPU time is not to be trusted for less than that."""


def cpu_s() -> float:
    """CPU seconds of this process and of the children that have ended: what others do beside it does not count."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def interleaved(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in s of CPU: the mean of its best turn."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start, calls, took = cpu_s(), 0, 0.0
            while took < LEAST_S:
                function()
                calls, took = calls + 1, cpu_s() - start
            best[name] = min(best[name], took / calls)
    return best
