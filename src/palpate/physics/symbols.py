"""Numbers that know what symbols know: by them a part shows whether CasADi and generated C could follow it."""

from __future__ import annotations

import operator
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

    def __bool__(self) -> bool:  # noqa: D105
        raise TypeError("a symbol is neither true nor false")


def _wrapped(function: Callable[..., Any], *, swapped: bool = False) -> Callable[..., Symbol]:
    return lambda *x: Symbol(function(*(Symbol(v).value for v in (x[::-1] if swapped else x))))


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Symbol, f"__{_name}__", _wrapped(getattr(operator, _name)))
    setattr(Symbol, f"__r{_name}__", _wrapped(getattr(operator, _name), swapped=True))
setattr(Symbol, "__neg__", _wrapped(operator.neg))  # noqa: B010 - as the others
SYMBOLS = Functions(**{f.name: _wrapped(getattr(FLOATS, f.name)) for f in fields(Functions)})
"""The table of functions for such numbers."""
