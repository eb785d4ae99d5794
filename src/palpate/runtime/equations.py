"""The equations of a model in motion, M a + bias = wrench, as straight-line code: a Python function of floats, or C.

Elements and mechanisms are run once on `Term`s, which remember what was done to them. Equal terms are one, constants
are folded, derivatives are exact (Griewank and Walther, Evaluating Derivatives, 3.1), and what is left becomes source
code: at 1 kHz nothing is looked up, bound or allocated that a person would not have written by hand.
"""

# ruff: noqa: D105, ARG005 - operators need no docstring, and not every rule all of its arguments
from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from palpate.elements import Element
from palpate.errors import PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.functions import FLOATS, Functions, Scalar

_PYTHON = {
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1}",
    "/": "{0} / {1}",
    "minimum": "{0} if {0} <= {1} else {1}",
    "maximum": "{0} if {0} >= {1} else {1}",
    "abs": "abs({0})",
    "sign": "1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0",
    "step": "1.0 if {0} > 0.0 else 0.0",
    "smaller": "{2} if {0} <= {1} else {3}",
    **{name: f"{name}({{0}})" for name in ("sin", "cos", "tanh", "exp", "sqrt")},
    "atan2": "atan2({0}, {1})",
}
_NAMES: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tanh", "exp", "sqrt", "atan2", "inf", "nan")},
    "abs": abs,
}
_ARRAYS = _PYTHON | {
    "minimum": "minimum({0}, {1})",
    "maximum": "maximum({0}, {1})",
    "sign": "sign({0})",
    "step": "where({0} > 0.0, 1.0, 0.0)",
    "smaller": "where({0} <= {1}, {2}, {3})",
}
_ARRAY_NAMES: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tanh", "exp", "sqrt", "inf", "nan", "abs")},
    **{name: getattr(np, name) for name in ("minimum", "maximum", "sign", "where")},
    "atan2": np.arctan2,
}
_FOLD: dict[str, Callable[..., float]] = {
    **{f.name: getattr(FLOATS, f.name) for f in fields(Functions)},
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
}

_NESTED = 40
"""Parentheses deeper than this become a line of their own; Python's parser takes 200."""


_Operation = Callable[[Any, Any], "Term"]


def _operation(op: str) -> tuple[_Operation, _Operation]:
    """An operator with the term on its left, and with the term on its right."""
    return lambda self, other: self.trace.make(op, self, other), lambda self, other: self.trace.make(op, other, self)


class Term:
    """A constant, a variable, or an operation on other terms; it knows + - * / and nothing else."""

    __array_ufunc__: ClassVar[None] = None
    """NumPy's numbers leave the arithmetic to it."""

    __slots__ = ("args", "key", "op", "trace", "value")

    def __init__(self, trace: Trace, op: str, args: tuple[Term, ...], key: int, value: Any) -> None:
        self.trace, self.op, self.args, self.key, self.value = trace, op, args, key, value

    def __neg__(self) -> Term:
        return self.trace.make("-", 0.0, self)

    __add__, __radd__ = _operation("+")
    __sub__, __rsub__ = _operation("-")
    __mul__, __rmul__ = _operation("*")
    __truediv__, __rtruediv__ = _operation("/")

    def __bool__(self) -> bool:
        raise TypeError("a term is neither true nor false")


class Trace:
    """Terms of one set of equations; each exists once."""

    def __init__(self) -> None:
        self._terms: dict[tuple[Any, ...], Term] = {}
        self.fn = Functions(**{f.name: partial(self.make, f.name) for f in fields(Functions)})

    def variable(self, source: str) -> Term:
        """What the function is given: Python source such as `x[0]`."""
        return self._one("variable", (), source)

    def make(self, op: str, *args: Any) -> Term:
        """An operation, folded if nothing in it varies or changes."""
        a = tuple(self.term(x) for x in args)
        if op == "smaller" and a[2] is a[3]:
            return a[2]
        if op != "smaller" and all(x.op == "constant" for x in a):
            return self.term(_FOLD[op](*(x.value for x in a)))
        first, last = a[0].value if a[0].op == "constant" else None, a[-1].value if a[-1].op == "constant" else None
        if (op in "*/" and first == 0.0) or (op == "*" and last == 0.0):
            return self.term(0.0)
        if (op in "+-" and last == 0.0) or (op in "*/" and last == 1.0):
            return a[0]
        if (op == "+" and first == 0.0) or (op == "*" and first == 1.0):
            return a[1]
        return self._one(op, a, None)

    def term(self, x: Any) -> Term:
        """A number as a constant; a term as it is."""
        return x if isinstance(x, Term) else self._one("constant", (), float(x))

    def derivative(self, of: Any, by: Term) -> Term:
        """Exact, by the chain rule; at a kink the side on which the first argument counts."""
        known: dict[int, Term] = {}
        for t in _ordered([self.term(of)]):
            known[t.key] = self._rule(t, [known[a.key] for a in t.args]) if t is not by else self.term(1.0)
        return known[self.term(of).key]

    def varies(self, of: Any, by: Term) -> bool:
        """Whether one depends on the other at all."""
        return any(t is by for t in _ordered([self.term(of)]))

    def function(
        self, arguments: str, results: Sequence[Any], *, arrays: bool = False
    ) -> Callable[..., tuple[Any, ...]]:
        """The function of these arguments (`x, w`) that returns the results as a tuple: of floats, or of arrays."""
        lines, names = self.source(results, _ARRAYS if arrays else _PYTHON, "{0} = {1}")
        code = "\n    ".join([f"def flat({arguments}):", *lines, f"return ({''.join(f'{n}, ' for n in names)})"])
        scope: dict[str, Any] = dict(_ARRAY_NAMES if arrays else _NAMES)
        exec(compile(code, "<flat>", "exec"), scope)  # only our own operators and numbers are in it
        return scope["flat"]

    def source(self, results: Sequence[Any], table: Mapping[str, str], line: str) -> tuple[list[str], list[str]]:
        """Straight-line code: its lines, made with `line` of a name and what it is, and the name of each result.

        `table`: how each operation is written in that language. The order of operations is the same in all of them,
        so that their results are.
        """
        terms = [self.term(r) for r in results]
        names: dict[int, str] = {}
        depths: dict[int, int] = {}
        ordered, uses = _ordered(terms), Counter(t.key for t in terms)
        for t in ordered:  # how often each is written
            uses.update(a.key for i, a in enumerate(t.args) for _ in range(_PYTHON[t.op].count(f"{{{i}}}")))
        lines: list[str] = []
        for t in ordered:
            if t.op == "constant":
                names[t.key], depths[t.key] = f"({t.value!r})", 0
                continue
            right = t.value if t.op == "variable" else table[t.op].format(*(names[a.key] for a in t.args))
            depth = 1 + max((depths[a.key] for a in t.args), default=0)
            if uses[t.key] == 1 and depth < _NESTED and t.op != "variable":  # where it is needed: no name to look up
                names[t.key], depths[t.key] = f"({right})", depth
                continue
            names[t.key], depths[t.key] = f"t{t.key}", 0
            lines.append(line.format(names[t.key], right))
        return lines, [names[t.key] for t in terms]

    def _one(self, op: str, args: tuple[Term, ...], value: Any) -> Term:
        # 0.0 and -0.0 are equal but not the same
        key = (op, value, math.copysign(1.0, value) if op == "constant" else 0.0, *(a.key for a in args))
        if key not in self._terms:
            self._terms[key] = Term(self, op, args, len(self._terms), value)
        return self._terms[key]

    def _rule(self, t: Term, d: list[Term]) -> Term:
        rule = _DERIVATIVES.get(t.op)  # there is none for constants, other variables, sign and step
        return self.term(0.0) if rule is None else rule(t, t.args, d, self.fn)


_DERIVATIVES: dict[str, Callable[[Term, tuple[Term, ...], list[Term], Functions], Term]] = {
    "+": lambda t, a, d, fn: d[0] + d[1],
    "-": lambda t, a, d, fn: d[0] - d[1],
    "*": lambda t, a, d, fn: d[0] * a[1] + a[0] * d[1],
    "/": lambda t, a, d, fn: (d[0] - t * d[1]) / a[1],
    "minimum": lambda t, a, d, fn: t.trace.make("smaller", a[0], a[1], d[0], d[1]),
    "maximum": lambda t, a, d, fn: t.trace.make("smaller", a[1], a[0], d[0], d[1]),
    "smaller": lambda t, a, d, fn: t.trace.make("smaller", a[0], a[1], d[2], d[3]),
    "sin": lambda t, a, d, fn: fn.cos(a[0]) * d[0],
    "cos": lambda t, a, d, fn: -(fn.sin(a[0]) * d[0]),
    "tanh": lambda t, a, d, fn: (1.0 - t * t) * d[0],
    "exp": lambda t, a, d, fn: t * d[0],
    "sqrt": lambda t, a, d, fn: d[0] / (2.0 * t),
    "abs": lambda t, a, d, fn: fn.sign(a[0]) * d[0],
    "atan2": lambda t, a, d, fn: (a[1] * d[0] - a[0] * d[1]) / (a[0] * a[0] + a[1] * a[1]),
}
"""Of an operation t on the terms a, whose derivatives are d."""


def _ordered(terms: Iterable[Term]) -> list[Term]:
    """These terms and all that they need; what is needed comes first."""
    needed: dict[int, Term] = {}
    todo = list(terms)
    while todo:
        t = todo.pop()
        if t.key not in needed:
            needed[t.key] = t
            todo += t.args
    return [needed[key] for key in sorted(needed)]  # a term is made after its arguments


Kernels = dict[str, tuple[str, Sequence[Term]]]
"""What a step evaluates, by name: the arguments (`s, w`) and the results; as a function of Python, or of C."""


class Equations:
    """Inertia, bias (with and without speed), stops, dry friction and the applied wrench over the free rows.

    The variables are `s[i]` (state), `a[i]` (accelerations) and `w[i]` (wrench); the dry elements are left out of the
    bias. The parameters are numbers, or variables of these names (`p->I`).
    """

    def __init__(self, model: Model, parameters: Sequence[str] | None = None) -> None:
        mechanism = model.mechanism
        self.trace = trace = Trace()
        self._model, self._smooth = model, model.without_dry()
        values = model.p.tolist() if parameters is None else [trace.variable(name) for name in parameters]
        self._p = [[values.pop(0) for _ in e.parameters] for e in model.elements]
        self.n = n = len(mechanism.accelerations)
        self.state = [trace.variable(f"s[{i}]") for i in range(len(mechanism.state))]
        self.positions, self.speeds = self.state[:-n], self.state[-n:]
        acc = [trace.variable(f"a[{i}]") for i in range(n)]
        wrench = [trace.variable(f"w[{i}]") for i in range(6)]
        self.inertia = [[trace.derivative(row, a) for a in acc] for row in self._balance(self.state, acc)]
        if any(trace.varies(entry, a) for row in self.inertia for entry in row for a in acc):
            raise TypeError("an element is not linear in the acceleration")
        self.k = mechanism.expand(self.state, self._zeros, trace.fn)
        self.bias = self._balance(self.state, self._zeros)
        self.at_rest = self._balance([*self.positions, *self._zeros], self._zeros)
        self.applied = [trace.term(row) for row in mechanism.project(self.k, wrench, trace.fn)]

    def stops(self, positions: Sequence[Any]) -> list[Term]:
        """What the end stops alone add to the bias of a body that rests here."""
        rows: list[Scalar] = [0.0] * self.n
        for e, p, features, ratio in self._contacts(positions):
            (row,) = e.columns(features)
            force = sum(c * x for c, x in zip(row, p, strict=True))
            rows = [f + r * force for f, r in zip(rows, ratio, strict=True)]
        return [self.trace.term(row) for row in rows]

    def pressed(self, positions: Sequence[Any]) -> list[Term]:
        """Of each end stop how far it is pressed here; 0 if it is not."""
        return [self.trace.fn.abs(features[0]) for _, _, features, _ in self._contacts(positions)]

    def _contacts(self, positions: Sequence[Any]) -> list[tuple[Element, list[Any], Any, Sequence[Any]]]:
        """Each end stop with its parameters, its features of a body that rests here, and how it enters the rows."""
        k = self._model.mechanism.expand([*positions, *self._zeros], self._zeros, self.trace.fn)
        stops = [(e, p) for e, p in zip(self._model.elements, self._p, strict=True) if e.contact]
        shapes = [{z.name: z.value for z in e.shapes} for e, _ in stops]
        features = [e.features(k, z, self.trace.fn) for (e, _), z in zip(stops, shapes, strict=True)]
        return [(e, p, f, k.coordinates[e.acts_on].ratio) for (e, p), f in zip(stops, features, strict=True)]

    def dry(self) -> list[tuple[list[Term], list[Term], Term]]:
        """Of each dry element how its force enters the rows, how the speeds enter its own, and its level (N, N m)."""
        parts: list[tuple[list[Term], list[Term], Term]] = []
        for e, p in zip(self._model.elements, self._p, strict=True):
            if not e.dry:
                continue
            if e.acts_on not in self.k.coordinates:
                raise PalpateError(f"model {self._model.name!r}: {e.name!r} is dry, so it must act on a coordinate")
            z = {s.name: s.value for s in e.shapes}
            level = sum(c * x for c, x in zip(e.level(self.k, z, self.trace.fn), p, strict=True))
            along = self.k.coordinates[e.acts_on]
            slopes = [self.trace.derivative(along.speed, v) for v in self.speeds]
            parts.append(([self.trace.term(r) for r in along.ratio], slopes, self.trace.term(level)))
        return parts

    def forward(self) -> list[Term]:
        """Rows [M | right] of M a = right, one after the other; what slips does so at its level, at rest it is free."""
        right = [w - b for w, b in zip(self.applied, self.bias, strict=True)]
        for ratio, slopes, level in self.dry():
            force = level * self.trace.fn.sign(dot(slopes, self.speeds))
            right = [x - r * force for x, r in zip(right, ratio, strict=True)]
        return [x for row, last in zip(self.inertia, right, strict=True) for x in (*row, last)]

    def rates(self) -> list[Term]:
        """How fast the positions change."""
        return [self.trace.term(x) for x in self._model.mechanism.rates(self.state, self.trace.fn)]

    def energy(self) -> tuple[Term, Term, Term, Term]:
        """Kinetic energy (J), what springs and weight take (W), energy in the stops (J), power of the wrench (W)."""
        mechanism, trace = self._model.mechanism, self.trace
        speeds = [trace.term(x) for x in mechanism.row_speeds(self.state, trace.fn)]
        momentum = [dot(row, self.speeds) for row in self.inertia]
        held = [x - y for x, y in zip(self.at_rest, self.stops(self.positions), strict=True)]
        stops = [(p[0], trace.fn.abs(features[0])) for _, p, features, _ in self._contacts(self.positions)]
        stored = trace.term(sum(0.5 * stiffness * d * d for stiffness, d in stops))
        return 0.5 * dot(speeds, momentum), dot(speeds, held), stored, dot(self.applied, speeds)

    @property
    def _zeros(self) -> list[float]:
        return [0.0] * self.n

    def _balance(self, state: Sequence[Any], acc: Sequence[Any]) -> list[Term]:
        trace = self.trace
        columns = self._smooth.columns(self._model.mechanism.expand(state, acc, trace.fn), trace.fn)
        p = [x for e, values in zip(self._model.elements, self._p, strict=True) if not e.dry for x in values]
        rows = [sum(c[i] * x for c, x in zip(columns, p, strict=True)) for i in range(self.n)]
        return [trace.term(row) for row in rows]


def limits(mechanism: Mechanism) -> list[tuple[int, float, float]]:
    """Place in the state, lowest and highest value of each position that has limits."""
    return [(mechanism.state.index(name), low, high) for name, (low, high) in mechanism.limits.items()]


def dot(a: Sequence[Term], b: Sequence[Term]) -> Term:
    """The sum of products."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
