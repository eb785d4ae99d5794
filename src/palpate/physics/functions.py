"""The functions an element may use, as a table with one instance per kind of number.

An element's equation is written once and evaluated on NumPy arrays (a recording), Python floats (the 1 kHz runtime) and
CasADi symbols (generated C): it calls `fn.tanh(x)`, never `np.tanh(x)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

import numpy as np

from palpate.errors import MissingExtra

Scalar = Any
"""One number per sample: an array (samples,), a float, or a symbol. Only + - * / and `Functions` apply to it."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Elementary functions on one kind of `Scalar`; `step(x)` is 1 for x > 0, else 0."""

    sin: Callable[[Scalar], Scalar]
    cos: Callable[[Scalar], Scalar]
    tanh: Callable[[Scalar], Scalar]
    exp: Callable[[Scalar], Scalar]
    sqrt: Callable[[Scalar], Scalar]
    abs: Callable[[Scalar], Scalar]
    sign: Callable[[Scalar], Scalar]
    step: Callable[[Scalar], Scalar]
    atan2: Callable[[Scalar, Scalar], Scalar]
    minimum: Callable[[Scalar, Scalar], Scalar]
    maximum: Callable[[Scalar, Scalar], Scalar]


def _table(module: Any, *, step: Callable[[Scalar], Scalar], **others: Callable[..., Scalar]) -> Functions:
    """The functions of a module, where they bear these names, and others."""
    others["step"] = step
    return Functions(**{f.name: others.get(f.name) or getattr(module, f.name) for f in fields(Functions)})


def _sign(x: float) -> float:
    return (x > 0) - (x < 0) + 0.0


ARRAYS = _table(np, atan2=np.arctan2, step=lambda x: np.where(np.asarray(x) > 0, 1.0, 0.0))
FLOATS = _table(math, abs=abs, sign=_sign, step=lambda x: 1.0 if x > 0 else 0.0, minimum=min, maximum=max)


def remembering(fn: Functions) -> Functions:
    """The same, but sine and cosine of one and the same array are computed once: for the parts of one motion."""

    def once(f: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
        known: dict[int, tuple[Scalar, Scalar]] = {}

        def recalled(x: Scalar) -> Scalar:
            if id(x) not in known:
                known[id(x)] = x, f(x)  # as long as x is held here, nothing else bears its number
            return known[id(x)][1]

        return recalled

    return replace(fn, sin=once(fn.sin), cos=once(fn.cos))


def dot(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """Sum of products. Those with the number zero, of which matrices of mechanics are full, are left out: of arrays
    they would cost as much as any other.
    """
    products = [x * y for x, y in zip(a, b, strict=True) if not (_is_zero(x) or _is_zero(y))]
    return sum(products[1:], start=products[0]) if products else 0.0


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0


def casadi_functions() -> Functions:
    """The table for CasADi symbols (needs the extra `casadi`)."""
    try:
        ca: Any = import_module("casadi")  # it has no types
    except ImportError:
        raise MissingExtra("CasADi", "casadi", "evaluating elements on symbols") from None
    return _table(ca, abs=ca.fabs, minimum=ca.fmin, maximum=ca.fmax, step=lambda x: ca.if_else(x > 0, 1.0, 0.0))
