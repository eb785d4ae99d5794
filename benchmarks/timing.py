"""Timing two or more functions turn by turn, so that whatever else the machine does hits all of them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

LEAST_S = 0.1
"""A turn lasts at least this long, so that a short function is called as often as a long one is lucky."""


def interleaved(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in s."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            left = LEAST_S
            while left > 0:
                start = perf_counter()
                function()
                took = perf_counter() - start
                best[name], left = min(best[name], took), left - took
    return best
