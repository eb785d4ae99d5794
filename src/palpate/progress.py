"""How far a computation is: whatever takes seconds tells each step as it begins."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str, float], None]
"""Called with the name of each step as it begins, and the share of the whole, 0 to 1, that is usually done by then."""


def silent(_: str, __: float) -> None:
    """Tell nobody."""


def portion(tell: Tell, begin: float, end: float, of: str = "") -> Tell:
    """Tells the steps of a part that lasts from one share of the whole to another; `of` stands before their names."""
    return lambda step, done: tell(of + step, begin + (end - begin) * done)


def onward(tell: Tell) -> Tell:
    """Tells steps that may be repeated: the share done never falls."""
    most = 0.0

    def told(step: str, done: float) -> None:
        nonlocal most
        most = max(most, done)
        tell(step, most)

    return told
