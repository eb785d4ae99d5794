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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palpate.elements import Element
from palpate.errors import PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.functions import FLOATS, Functions, Scalar
from palpate.physics.memory import stepped
from palpate.physics.motion import Coordinate, Kinematics

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

_QUATERNION = ("q_w", "q_x", "q_y", "q_z")
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
        self._derivatives: dict[int, dict[int, Term]] = {}  # by the variable's key: that of each term asked for so far
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
        if op == "*" and -1.0 in (first, last):
            return -(a[0] if last == -1.0 else a[1])
        if op in "+-*/" and (signed := self._signed(op, *a)) is not None:
            return signed
        return self._one(op, tuple(sorted(a, key=lambda t: t.key)) if op in "+*" else a, None)

    def _signed(self, op: str, a: Term, b: Term) -> Term | None:
        """The operation with signs moved outwards, where sums take them up; None: there are none."""
        minus_a, minus_b = _negated(a), _negated(b)
        if op in "+-":
            if minus_b is not None:
                return self.make("-" if op == "+" else "+", a, minus_b)
            return self.make("-", b, minus_a) if minus_a is not None and op == "+" else None
        if minus_a is None and minus_b is None:
            return None
        size = self.make(op, a if minus_a is None else minus_a, b if minus_b is None else minus_b)
        return size if minus_a is not None and minus_b is not None else -size

    def term(self, x: Any) -> Term:
        """A number as a constant; a term as it is."""
        return x if isinstance(x, Term) else self._one("constant", (), float(x))

    def replaced(self, terms: Sequence[Any], old: Sequence[Term], new: Sequence[Any]) -> list[Term]:
        """The terms with some variables replaced by others, all at once."""
        known = {a.key: self.term(b) for a, b in zip(old, new, strict=True)}
        for t in _ordered([self.term(x) for x in terms]):
            if t.key not in known:
                known[t.key] = self.make(t.op, *(known[a.key] for a in t.args)) if t.args else t
        return [known[self.term(x).key] for x in terms]

    def derivative(self, of: Any, by: Term) -> Term:
        """Exact, by the chain rule; at a kink the side on which the first argument counts."""
        known = self._derivatives.setdefault(by.key, {by.key: self.term(1.0)})
        for t in _ordered([self.term(of)], known):
            known[t.key] = self._rule(t, [known[a.key] for a in t.args])
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
        same = all(x.op == "constant" and x.value == 0.0 for x in d)
        return self.term(0.0) if rule is None or same else rule(t, t.args, d, self.fn)


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


def _negated(t: Term) -> Term | None:
    """What t is the negative of, where it is written so."""
    return t.args[1] if t.op == "-" and t.args[0].op == "constant" and t.args[0].value == 0.0 else None


def _ordered(terms: Iterable[Term], known: Collection[int] = ()) -> list[Term]:
    """These terms and all that they need, but for those of the known keys; what is needed comes first."""
    needed: dict[int, Term] = {}
    todo = list(terms)
    while todo:
        t = todo.pop()
        if t.key not in needed and t.key not in known:
            needed[t.key] = t
            todo += t.args
    return [needed[key] for key in sorted(needed)]  # a term is made after its arguments


Kernels = dict[str, tuple[str, Sequence[Term]]]
"""What a step evaluates, by name: the arguments (`s, w`) and the results; as a function of Python, or of C."""


class Energy(NamedTuple):
    """The account of a state: what a step may not create."""

    kinetic: Term
    """J."""
    stored: Term
    """J, in the stops and in the weight of what is off the origin."""
    weight: Term
    """N: what lifting the origin takes, by ..."""
    height: Term
    """... m."""
    taken: Term
    """W: what springs take, and weight whose height is not known."""
    push: list[Term]
    """N, N m: how the wrench works on each speed."""


class Equations:
    """Inertia, bias (with and without speed), stops, dry friction and the applied wrench over the free rows.

    The variables are `s[i]` (state), `a[i]` (accelerations) and `w[i]` (wrench); the dry elements are left out of the
    bias. The parameters are numbers, or variables of these names (`p->I`).

    Elements see the motion through a few numbers only, its kinematics. Their forces are differentiated by these, these
    by the state, and the slopes multiplied: fewer operations than differentiating the whole balance.
    """

    def __init__(self, model: Model, parameters: Sequence[str] | None = None) -> None:
        mechanism = model.mechanism
        self.trace = trace = Trace()
        self._model, self._mechanism = model, mechanism
        values = model.p.tolist() if parameters is None else [trace.variable(name) for name in parameters]
        self._p = [[values.pop(0) for _ in e.parameters] for e in model.elements]
        self.n = n = len(mechanism.accelerations)
        self.quaternion = quaternion_at(mechanism)
        self.turns = self.quaternion is not None and self.n == 6
        """Whether it is a free body, whose speeds are told as MuJoCo does."""
        self.state = [trace.variable(f"s[{i}]") for i in range(len(mechanism.state))]
        self.positions, self.speeds = self.state[:-n], self.state[-n:]
        acc = [trace.variable(f"a[{i}]") for i in range(n)]
        count = len(self.state)
        numbers = [trace.variable(f"s[{count + i}]") for i in range(len(model.memory))]
        self.memory = tuple(numbers)
        self._memory = {e.name: tuple(numbers.pop(0) for _ in e.memory) for e in model.elements if e.memory}
        self._wrench = wrench = [trace.variable(f"w[{i}]") for i in range(6)]
        self.k, self._still = self._expanded(self.speeds), self._expanded(self._zeros)
        moved = _numbers(mechanism.expand(self.state, acc, trace.fn), trace)
        self._motion = _numbers(self.k, trace)
        # what elements look at; a number that never changes is no variable
        self._seen = [x if x.op == "constant" else trace.variable(f"k[{i}]") for i, x in enumerate(moved)]
        self._forces = self._forces_of(e for e in model.elements if not e.dry)
        self._by_acceleration = [[trace.derivative(x, a) for a in acc] for x in moved]
        self._by_speed = [[trace.derivative(x, v) for v in self.speeds] for x in self._motion]
        slopes = [[trace.derivative(f, x) for x in self._seen] for f in self._forces]
        self._check_linear(slopes, acc)
        self._slopes = [self._at(line, self._motion) for line in slopes]
        self.bias = self._rows(self._at(self._forces, self._motion), self.k)
        self.at_rest = self._rows(self._at(self._forces, _numbers(self._still, trace)), self._still)
        self.applied = [trace.term(row) for row in mechanism.project(self.k, wrench, trace.fn)]
        self._row_speeds = [trace.term(x) for x in mechanism.row_speeds(self.state, trace.fn)]
        self._by_row = [[trace.derivative(x, v) for v in self.speeds] for x in self._row_speeds]

    @cached_property
    def inertia(self) -> list[list[Term]]:
        """M: how the accelerations of the state enter the rows."""
        columns = [self._pushed([line[j] for line in self._by_acceleration]) for j in range(self.n)]
        return [list(row) for row in zip(*columns, strict=True)]

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
        k = self._mechanism.expand([*positions, *self._zeros], self._zeros, self.trace.fn)
        stops = [(e, p) for e, p in zip(self._model.elements, self._p, strict=True) if e.contact]
        features = [e.features(k, _shapes(e), self.trace.fn) for e, _ in stops]
        return [(e, p, f, k.coordinates[e.acts_on].ratio) for (e, p), f in zip(stops, features, strict=True)]

    def dry(self) -> list[tuple[list[Term], list[Term], Term]]:
        """Of each dry element how its force enters the rows, how the speeds enter its own, and its level (N, N m)."""
        parts: list[tuple[list[Term], list[Term], Term]] = []
        k = replace(self._model.loaded(self.k, self._wrench, self.trace.fn), memory=self._memory)
        for e, p in zip(self._model.elements, self._p, strict=True):
            if not e.dry:
                continue
            if e.acts_on not in self.k.coordinates:
                raise PalpateError(f"model {self._model.name!r}: {e.name!r} is dry, so it must act on a coordinate")
            level = sum(c * x for c, x in zip(e.level(k, _shapes(e), self.trace.fn), p, strict=True))
            along = self.k.coordinates[e.acts_on]
            slopes = [self.trace.derivative(along.speed, v) for v in self.speeds]
            parts.append(([self.trace.term(r) for r in along.ratio], slopes, self.trace.term(level)))
        return parts

    def remembered(self, positions: Sequence[Any]) -> list[Term]:
        """What elements remember after the way to these positions."""
        fn, there = self.trace.fn, self._mechanism.expand([*positions, *self._zeros], self._zeros, self.trace.fn)
        return [
            self.trace.term(stepped(number, step, fn))
            for e in self._model.elements
            if e.memory
            for number, step in zip(
                self._memory[e.name],
                e.remember(self.k.coordinates[e.acts_on].position, there.coordinates[e.acts_on].position, fn),
                strict=True,
            )
        ]

    def forward(self) -> list[Term]:
        """The accelerations; what slips does so at its level, at rest it is free."""
        right = [w - b for w, b in zip(self.applied, self.bias, strict=True)]
        for ratio, slopes, level in self.dry():
            force = level * self.trace.fn.sign(dot(slopes, self.speeds))
            right = [x - r * force for x, r in zip(right, ratio, strict=True)]
        return self.solved([right])[0]

    def solved(self, right: Sequence[list[Term]], dt: float = 0.0, K: Sequence[list[Term]] = ()) -> list[list[Term]]:
        """x of (M + dt D + dt^2 K) x = b for each b over the rows: accelerations, or how speeds change in a step.

        D: how the bias changes with the speeds; K over rows and speeds. A free body is solved for in its axes, in which
        its inertia is constant; of all others the rows become those that the speeds themselves work on. Either way M is
        symmetric and positive definite, and no pivot has to be searched for (Golub and Van Loan, 4.2 and 4.3.2).
        """
        mine, other, lost = self._by_acceleration, self._by_speed, self._by_speed_alone
        if K:
            lost = [[d + dt * k for d, k in zip(*rows, strict=True)] for rows in zip(lost, K, strict=True)]
        if self.turns:
            mine, other, lost = self._by_axes, self._in_axes(other), self._in_axes(lost)
        columns = [self._pushed([a[j] + dt * v[j] for a, v in zip(mine, other, strict=True)]) for j in range(self.n)]
        rows = [
            [*(column[i] + dt * lost[i][j] for j, column in enumerate(columns)), *(b[i] for b in right)]
            for i in range(self.n)
        ]
        if not self.turns:
            works = list(zip(*self._by_row, strict=True))
            rows = [[dot(line, column) for column in zip(*rows, strict=True)] for line in works]
        found = self._eliminated(rows)
        return [[*(dot(r, x[:3]) for r in self._R), *x[3:]] for x in found] if self.turns else found

    def _eliminated(self, rows: list[list[Term]]) -> list[list[Term]]:
        """Columns x of A x = b from the rows [A | b ...]; A is positive definite."""
        inverse: list[Term] = []
        for k, first in enumerate(rows):
            if first[k].op == "constant" and not first[k].value > 0.0:
                raise PalpateError(f"model {self._model.name!r} has no inertia to move: add an inertia or a rigid body")
            inverse.append(1.0 / first[k])
            for i in range(k + 1, self.n):
                factor = rows[i][k] * inverse[k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], first, strict=True)]
        columns: list[list[Term]] = []
        for c in range(self.n, len(rows[0])):
            x: list[Term] = []
            for i in reversed(range(self.n)):
                left = rows[i][c]
                for j, found in zip(range(i + 1, self.n), x, strict=True):
                    left = left - rows[i][j] * found
                x.insert(0, left * inverse[i])
            columns.append(x)
        return columns

    def rates(self) -> list[Term]:
        """How fast the positions change."""
        return [self.trace.term(x) for x in self._mechanism.rates(self.state, self.trace.fn)]

    def moved(self, dt: float) -> list[Term]:
        """The positions after a step with these speeds: by the middle of the step, or a quaternion exactly turned."""
        if self.quaternion is not None:
            before = zip(self.positions[: self.quaternion], self.speeds, strict=False)
            return [*(x + dt * v for x, v in before), *self._turned(dt, self.positions[self.quaternion :])]
        rates = self.rates()
        half = [x + 0.5 * dt * r for x, r in zip(self.positions, rates, strict=True)]
        middle = self.trace.replaced(rates, self.positions, half)
        return [x + dt * r for x, r in zip(self.positions, middle, strict=True)]

    def _turned(self, dt: float, quaternion: list[Term]) -> list[Term]:
        """A unit quaternion w x y z after turning with omega (body, rad/s): q exp(omega dt / 2) (Diebel 2006, 6.5).

        Sine and cosine of half the angle by their series where it is below 0.1: the next term is below 3e-18.
        """
        fn, omega, (a, b, g, d) = self.trace.fn, self.speeds[-3:], quaternion
        square = 0.25 * dt * dt * dot(omega, omega)
        half = fn.sqrt(square)
        c, s = (
            self.trace.make("smaller", square, 0.01, _series(square, first), far)
            for first, far in ((0, fn.cos(half)), (1, fn.sin(half) / half))
        )
        x, y, z = (0.5 * dt * s * w for w in omega)
        turned = [
            a * c - b * x - g * y - d * z,
            a * x + b * c + g * z - d * y,
            a * y - b * z + g * c + d * x,
            a * z + b * y - g * x + d * c,
        ]
        size = 1.0 / fn.sqrt(dot(turned, turned))
        return [size * t for t in turned]

    def energy(self) -> Energy:
        """The account of this state under the wrench."""
        trace, elements = self.trace, list(zip(self._model.elements, self._p, strict=True))
        speeds = self._row_speeds if self.turns else self.speeds
        stored: Scalar = 0.0
        for _, p, features, _ in self._contacts(self.positions):
            pressed = trace.fn.abs(features[0])
            stored = stored + 0.5 * p[0] * pressed * pressed
        ten: list[tuple[Element, list[Any]]] = []
        weight, height = trace.term(0.0), trace.term(0.0)
        if self._mechanism.z_up:
            ten = [(e, p) for e, p in elements if e.parameters and e.parameters[0].map == "inertia"]
            height = trace.term(self._mechanism.place(self.state, trace.fn)[1][2])
        for _, p in ten:
            weight = weight + self._mechanism.gravity * p[0]
            stored = stored + dot([trace.term(x) for x in p[1:4]], list(self._still.specific_acceleration))
        heavy = [e.name for e, _ in ten]
        others = self._forces_of(e for e, _ in elements if not (e.dry or e.contact or e.name in heavy))
        held = self._rows(self._at(others, _numbers(self._still, trace)), self._still)
        return Energy(
            kinetic=0.5 * dot(self._row_speeds, self._pushed(self._along(speeds))),
            stored=trace.term(stored),
            weight=weight,
            height=height,
            taken=dot(self._row_speeds, held),
            push=[dot(self.applied, [line[j] for line in self._by_row]) for j in range(self.n)],
        )

    @property
    def _zeros(self) -> list[float]:
        return [0.0] * self.n

    def _expanded(self, speeds: Sequence[Any]) -> Kinematics:
        """Of the positions with these speeds, without accelerations."""
        return self._mechanism.expand([*self.positions, *speeds], self._zeros, self.trace.fn)

    def _forces_of(self, elements: Iterable[Element]) -> list[Term]:
        """Of these elements, over what they look at: their wrench, and their force along each coordinate."""
        names, trace, x = list(self.k.coordinates), self.trace, self._seen
        places = {name: Coordinate(x[9 + 3 * i], x[10 + 3 * i], x[11 + 3 * i]) for i, name in enumerate(names)}
        k = Kinematics((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8]), places, memory=self._memory)
        names_of = [e.name for e in elements]
        total: list[Scalar] = [0.0] * (6 + len(names))
        for e, p in zip(self._model.elements, self._p, strict=True):
            if e.name in names_of:
                rows = e.columns(e.features(k, _shapes(e), trace.fn))
                force = [sum(c * x for c, x in zip(row, p, strict=True)) for row in rows]
                first = 6 + names.index(e.acts_on) if e.acts_on in names else 0
                for i, f in enumerate(force):
                    total[first + i] = total[first + i] + f
        return [trace.term(f) for f in total]

    def _check_linear(self, slopes: Sequence[Sequence[Term]], acc: Sequence[Term]) -> None:
        """Refuse a force, or a motion, that is not linear in the accelerations."""
        moves = [any(entry.op != "constant" or entry.value for entry in line) for line in self._by_acceleration]
        fast = [x for x, yes in zip(self._seen, moves, strict=True) if yes]
        bent = any(self.trace.varies(x, a) for line in self._by_acceleration for x in line for a in acc)
        for line in slopes:
            bent = bent or any(self.trace.varies(s, x) for s, yes in zip(line, moves, strict=True) if yes for x in fast)
        if bent:
            raise TypeError("an element is not linear in the acceleration")

    def _at(self, terms: Sequence[Term], motion: Sequence[Term]) -> list[Term]:
        """What elements say of a motion."""
        pairs = [(x, y) for x, y in zip(self._seen, motion, strict=True) if x.op != "constant"]
        return self.trace.replaced(terms, [x for x, _ in pairs], [y for _, y in pairs])

    def _rows(self, forces: Sequence[Term], k: Kinematics) -> list[Term]:
        """A wrench and forces along the coordinates, over the free rows."""
        rows = list(self._mechanism.project(k, forces[:6], self.trace.fn))
        for force, c in zip(forces[6:], k.coordinates.values(), strict=True):
            rows = [row + ratio * force for row, ratio in zip(rows, c.ratio, strict=True)]
        return [self.trace.term(row) for row in rows]

    def _pushed(self, change: Sequence[Term]) -> list[Term]:
        """How the rows change where what the elements look at changes so."""
        return self._rows([dot(line, change) for line in self._slopes], self.k)

    def _along(self, speeds: Sequence[Term]) -> list[Term]:
        """How what elements look at changes with accelerations equal to these speeds, of a free body in its axes."""
        return [dot(line, speeds) for line in (self._by_axes if self.turns else self._by_acceleration)]

    @cached_property
    def _R(self) -> list[list[Term]]:
        """Rows of R_world_body."""
        return [[self.trace.term(x) for x in row] for row in self._mechanism.place(self.state, self.trace.fn)[0]]

    def _in_axes(self, lines: Sequence[Sequence[Term]]) -> list[list[Term]]:
        """What is given for each speed of a free body, for speeds along its axes and about them."""
        turned = list(zip(*self._R, strict=True))
        return [[*(dot(line[:3], column) for column in turned), *line[3:]] for line in lines]

    @cached_property
    def _by_axes(self) -> list[list[Term]]:
        """How accelerations along the axes of a free body, and about them, change what the elements look at."""
        one = [[self.trace.term(float(i == j)) for j in range(6)] for i in range(6)]
        none = [[self.trace.term(0.0)] * 6] * (len(self._seen) - 6)
        return [*one[:3], *none[:3], *one[3:], *none[3:]]

    @cached_property
    def _by_speed_alone(self) -> list[list[Term]]:
        """How the bias changes with the speeds while the forces stay: not at all, if only positions turn the rows."""
        forces = [self.trace.variable(f"f[{i}]") for i in range(len(self._forces))]
        rows, here = self._rows(forces, self.k), self._at(self._forces, self._motion)
        slopes = [[self.trace.derivative(row, v) for v in self.speeds] for row in rows]
        return [self.trace.replaced(line, forces, here) for line in slopes]


def limits(mechanism: Mechanism) -> list[tuple[int, float, float]]:
    """Place in the state, lowest and highest value of each position that has limits."""
    return [(mechanism.state.index(name), low, high) for name, (low, high) in mechanism.limits.items()]


def dot(a: Sequence[Term], b: Sequence[Term]) -> Term:
    """The sum of products."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def quaternion_at(mechanism: Mechanism) -> int | None:
    """Where the positions of the state end with a quaternion, which the last three speeds turn; None: they do not."""
    positions = mechanism.state[: -len(mechanism.accelerations)]
    return len(positions) - 4 if positions[-4:] == _QUATERNION else None


def _shapes(e: Element) -> dict[str, float]:
    return {z.name: z.value for z in e.shapes}


def _numbers(k: Kinematics, trace: Trace) -> list[Term]:
    """All that elements may look at: nine numbers of the body, three of each coordinate."""
    along = (x for c in k.coordinates.values() for x in (c.position, c.speed, c.acceleration))
    return [trace.term(x) for x in (*k.specific_acceleration, *k.omega, *k.omega_dot, *along)]


def _series(square: Term, first: int) -> Term:
    """cos x (first = 0) or sin x / x (first = 1) from x^2 <= 0.01."""
    total = square.trace.term(1.0 / math.factorial(8 + first))
    for n in (3, 2, 1, 0):
        total = (-1.0) ** n / math.factorial(2 * n + first) + total * square
    return total
