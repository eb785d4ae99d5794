"""How a study runs its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Run = TypeVar("Run")


def map_seeds(run_one: Callable[[int], Run], seeds: Iterable[int], workers: int = 1) -> list[Run]:
    """One run a seed, in order, on so many processes."""
    if workers == 1:
        return [run_one(seed) for seed in seeds]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(run_one, seeds))
