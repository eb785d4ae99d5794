"""The equations of a model in motion, M a + bias = wrench, on terms, ready to be flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from palpate.elements import EndStop
from palpate.model import Model
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.runtime.flat import Term, Trace


@runtime_checkable
class Rates(Protocol):
    """A mechanism whose positions are not the integrals of its speeds, such as a wheel that rolls."""

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """How fast each position of the state changes; linear in the speeds, zero at rest."""
        ...


class Equations:
    """Inertia, bias (with and without speed), stops, dry friction and the applied wrench over the free rows.

    The variables are `s[i]` (state), `a[i]` (accelerations) and `w[i]` (wrench); the dry elements are left out of the
    bias.
    """

    def __init__(self, model: Model) -> None:
        mechanism = model.mechanism
        self.trace = trace = Trace()
        self._model, self._smooth = model, model.without_dry()
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
        return [self.trace.term(row) for row in _stops(self._model, k, self.n, self.trace.fn)]

    def pressed(self, positions: Sequence[Any]) -> list[Term]:
        """Of each end stop how far it is pressed here; 0 if it is not."""
        k = self._model.mechanism.expand([*positions, *self._zeros], self._zeros, {}, self.trace.fn)
        stops = [e for e in self._model.elements if isinstance(e, EndStop)]
        features = [e.features(k, {z.name: z.value for z in e.shapes}, self.trace.fn)[0] for e in stops]
        return [self.trace.fn.abs(f) for f in features]

    def dry(self) -> list[tuple[list[Term], list[Term], Term]]:
        """Of each dry element how its force enters the rows, how the speeds enter its own, and its level (N, N m)."""
        elements = [e for e in self._model.elements if e.dry]
        found: list[tuple[list[Term], list[Term], Term]] = []
        for e, (ratio, level) in zip(elements, self._model.dry_forces(self.k, self.trace.fn), strict=True):
            speed = self.k.coordinates[e.acts_on].speed
            slopes = [self.trace.derivative(speed, v) for v in self.speeds]
            found.append(([self.trace.term(r) for r in ratio], slopes, self.trace.term(level)))
        return found

    def rates(self) -> list[Term] | None:
        """How fast the positions change, where the mechanism says it."""
        mechanism = self._model.mechanism
        if not isinstance(mechanism, Rates):
            return None
        return [self.trace.term(x) for x in mechanism.rates(self.state, self.trace.fn)]

    @property
    def _zeros(self) -> list[float]:
        return [0.0] * self.n

    def _balance(self, state: Sequence[Any], acc: Sequence[Any]) -> list[Term]:
        trace = self.trace
        found = self._smooth.wrench(self._model.mechanism.expand(state, acc, {}, trace.fn), trace.fn)
        return [trace.term(row) for row in found]


def _stops(model: Model, k: Kinematics, rows: int, fn: Functions) -> list[Scalar]:
    values, p0 = [float(value) for value in model.p], 0
    found: list[Scalar] = [0.0] * rows
    for e in model.elements:
        p = values[p0 : p0 + len(e.parameters)]
        p0 += len(p)
        if isinstance(e, EndStop):
            (row,) = e.columns(e.features(k, {z.name: z.value for z in e.shapes}, fn))
            force = sum(c * x for c, x in zip(row, p, strict=True))
            found = [f + r * force for f, r in zip(found, k.coordinates[e.acts_on].ratio, strict=True)]
    return found
