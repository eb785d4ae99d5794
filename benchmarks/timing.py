"""Timing two or more functions turn by turn, so that whatever else the machine does hits all of them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter


def interleaved(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in s."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = perf_counter()
            function()
            best[name] = min(best[name], perf_counter() - start)
    return best
