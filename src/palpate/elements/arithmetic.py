"""Numbers with which `check_element` finds what would work on arrays and fail, or differ, on symbols."""

# ruff: noqa: D105 - the operators are what they are
from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

from palpate.physics.functions import FLOATS, Functions


class Symbol:
    """A number that, like a symbol, knows + - * / and no NumPy function, comparison or conversion."""

    __array_ufunc__: ClassVar[None] = None
    """NumPy's functions refuse it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, Symbol) else float(value)

    def __neg__(self) -> Symbol:
        return Symbol(-self.value)

    def __add__(self, other: Any) -> Symbol:
        return Symbol(self.value + Symbol(other).value)

    def __sub__(self, other: Any) -> Symbol:
        return Symbol(self.value - Symbol(other).value)

    def __mul__(self, other: Any) -> Symbol:
        return Symbol(self.value * Symbol(other).value)

    def __truediv__(self, other: Any) -> Symbol:
        return Symbol(self.value / Symbol(other).value)

    def __rsub__(self, other: Any) -> Symbol:
        return Symbol(other) - self

    def __rtruediv__(self, other: Any) -> Symbol:
        return Symbol(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __bool__(self) -> bool:
        raise TypeError("a symbol is neither true nor false")


def _wrapped(function: Callable[..., float]) -> Callable[..., Symbol]:
    return lambda *x: Symbol(function(*(Symbol(v).value for v in x)))


SYMBOLS = Functions(**{f.name: _wrapped(getattr(FLOATS, f.name)) for f in fields(Functions)})
"""The table of functions for such numbers."""
