"""The equations of a model in motion, M a + bias = wrench, on terms, ready to be flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palpate.errors import PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.functions import Scalar
from palpate.runtime.flat import Term, Trace

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
        self.k = mechanism.expand(self.state, self._zeros, {}, trace.fn)
        self.bias = self._balance(self.state, self._zeros)
        self.at_rest = self._balance([*self.positions, *self._zeros], self._zeros)
        self.applied = [trace.term(row) for row in mechanism.project(self.k, wrench, trace.fn)]

    def stops(self, positions: Sequence[Any]) -> list[Term]:
        """What the end stops alone add to the bias of a body that rests here."""
        k = self._model.mechanism.expand([*positions, *self._zeros], self._zeros, {}, self.trace.fn)
        rows: list[Scalar] = [0.0] * self.n
        for e, p in zip(self._model.elements, self._p, strict=True):
            if e.contact:
                (row,) = e.columns(e.features(k, {z.name: z.value for z in e.shapes}, self.trace.fn))
                force = sum(c * x for c, x in zip(row, p, strict=True))
                rows = [f + r * force for f, r in zip(rows, k.coordinates[e.acts_on].ratio, strict=True)]
        return [self.trace.term(row) for row in rows]

    def pressed(self, positions: Sequence[Any]) -> list[Term]:
        """Of each end stop how far it is pressed here; 0 if it is not."""
        k = self._model.mechanism.expand([*positions, *self._zeros], self._zeros, {}, self.trace.fn)
        stops = [e for e in self._model.elements if e.contact]
        features = [e.features(k, {z.name: z.value for z in e.shapes}, self.trace.fn)[0] for e in stops]
        return [self.trace.fn.abs(f) for f in features]

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

    def rates(self) -> list[Term] | None:
        """How fast the positions change; None where they are the integrals of the speeds, or turns of a free body."""
        rates = self._model.mechanism.rates(self.state, self.trace.fn)
        if "q_w" in self._model.mechanism.state or all(a is b for a, b in zip(rates, self.speeds, strict=False)):
            return None
        return [self.trace.term(x) for x in rates]

    def energy(self) -> tuple[Term, Term, Term]:
        """Kinetic energy (J), what springs and weight take (W), and the energy in the stops (J)."""
        mechanism, trace = self._model.mechanism, self.trace
        speeds = [trace.term(x) for x in mechanism.row_speeds(self.state, trace.fn)]
        momentum = [dot(row, self.speeds) for row in self.inertia]
        held = [x - y for x, y in zip(self.at_rest, self.stops(self.positions), strict=True)]
        stops = zip(self._model.elements, self._p, strict=True)
        firsts = [p[0] for e, p in stops if e.contact]  # the stiffness
        pressed = zip(firsts, self.pressed(self.positions), strict=True)
        stored = trace.term(sum(0.5 * k * d * d for k, d in pressed))
        return 0.5 * dot(speeds, momentum), dot(speeds, held), stored

    def row_work(self) -> Term:
        """Power of the applied wrench (W)."""
        mechanism = self._model.mechanism
        return dot(self.applied, [self.trace.term(x) for x in mechanism.row_speeds(self.state, self.trace.fn)])

    @property
    def _zeros(self) -> list[float]:
        return [0.0] * self.n

    def _balance(self, state: Sequence[Any], acc: Sequence[Any]) -> list[Term]:
        trace = self.trace
        columns = self._smooth.columns(self._model.mechanism.expand(state, acc, {}, trace.fn), trace.fn)
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
