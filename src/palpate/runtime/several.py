"""One step of a mechanism with several freedoms: dampers, stops and dry friction are solved together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.advance import TOUCHES, Advance, State, Status
from palpate.runtime.equations import Equations
from palpate.runtime.flat import Term

_SWEEPS = 200
_SETTLED = 1e-12
"""Dry impulses are found when a sweep changes them by less than this part of their bound."""
_QUATERNION = ("q_w", "q_x", "q_y", "q_z")
_Move = Callable[[State, Sequence[float]], State]


def many_freedoms(model: Model, dt: float) -> Advance:
    """Bind the step of a mechanism that moves in several ways.

    Balance of a step from v to u:  A (u - v) + sum r_j f_j = dt (applied - bias), A = M + dt D + dt^2 K. Damping and
    gyroscopic moments (slope D) and stops (slope K, pressed as where the step ends) are linearly implicit. f_j is the
    impulse of a dry element, within +-dt level_j; inside of that its speed c_j . u is zero.
    """
    e = Equations(model)
    n, trace = e.n, e.trace
    move, ratio = _positions(model, e, dt)
    lead = [trace.variable(f"l[{i}]") for i in range(len(e.positions))]
    parts = zip(e.bias, e.stops(lead), e.stops(e.positions), strict=True)
    bias = [trace.term(b + there - here) for b, there, here in parts]
    slope = [[trace.derivative(row, x) for x in lead] for row in e.stops(lead)]
    K = [[_dot(row, [r[j] for r in ratio]) for j in range(n)] for row in slope]
    back = [_dot(row, [x - q for x, q in zip(lead, e.positions, strict=True)]) for row in slope]
    impulse = [dt * (w - b + x - dt * _dot(k, e.speeds)) for w, b, x, k in zip(e.applied, bias, back, K, strict=True)]
    A = [
        e.inertia[i][j] + dt * (trace.derivative(bias[i], v) + dt * K[i][j])
        for i in range(n)
        for j, v in enumerate(e.speeds)
    ]
    flat = trace.function("s, l, w", (*impulse, *A))
    pressed = trace.function("l", e.pressed(lead))
    hold = _friction(e, dt)

    def towards(state: State, ahead: State, wrench: Sequence[float]) -> list[float]:
        """The new speeds if the stops are as pressed as at the positions `ahead`."""
        found = flat(state, ahead, wrench)
        matrix, right = np.array(found[n:]).reshape(n, n), np.array(found[:n])
        if hold is None:
            return (np.array(state[-n:]) + np.linalg.solve(matrix, right)).tolist()
        return hold(state, matrix, right)

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, Status]:
        q, v = state[:-n], state[-n:]
        there, u = move(q, v), list(v)
        touched = [x > 0.0 for x in pressed(there)]
        try:
            for _ in range(TOUCHES):
                u = towards(state, there, wrench)
                there, before = move(q, u), touched
                touched = [x > 0.0 for x in pressed(there)]
                if touched == before:
                    break
        except np.linalg.LinAlgError:
            return (*state, *(0.0,) * n), Status.NOT_FINITE
        status = Status.AT_LIMIT if any(touched) else Status.OK
        if hold is not None and not any(u):
            status = status or Status.STICKING
        return (*there, *u, *((new - old) / dt for new, old in zip(u, v, strict=True))), status

    return advance


def dry_impulses(
    G: Sequence[Sequence[float]], free: Sequence[float], most: Sequence[float], start: Sequence[float]
) -> list[float]:
    """f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound.

    Projected Gauss-Seidel (Jean 1999, The non-smooth contact dynamics method); with one element it is exact.
    """
    f = list(start)
    for _ in range(_SWEEPS):
        settled = True
        for j, row in enumerate(G):
            if row[j] > 0.0:
                speed = free[j] - sum(g * x for g, x in zip(row, f, strict=True))
                new = min(max(f[j] + speed / row[j], -most[j]), most[j])
                settled = settled and abs(new - f[j]) <= _SETTLED * most[j]
                f[j] = new
        if settled:
            break
    return f


_Hold = Callable[[State, FloatArray, FloatArray], list[float]]


def _friction(e: Equations, dt: float) -> _Hold | None:
    """Bind the solution of the balance with dry elements; None if there are none."""
    dry, n, trace = e.dry(), e.n, e.trace
    m = len(dry)
    if not m:
        return None
    ways = trace.function("s", [*(x for rows, _, _ in dry for x in rows), *(x for _, speeds, _ in dry for x in speeds)])
    levels = trace.function("s", [level for _, _, level in dry])
    fades = any(trace.varies(level, v) for _, _, level in dry for v in e.speeds)

    def hold(state: State, matrix: FloatArray, right: FloatArray) -> list[float]:
        R, C = np.array(ways(state)).reshape(2, m, n)
        solved = np.linalg.solve(matrix, np.column_stack([right, R.T]))
        u, Z = np.array(state[-n:]) + solved[:, 0], solved[:, 1:]
        G, free = (C @ Z).tolist(), (C @ u).tolist()
        most = [dt * x for x in levels((*state[:-n], *(0.0,) * n))]
        f = dry_impulses(G, free, most, [0.0] * m)
        if fades:  # what slips does so at the level of its speed
            slipping = [dt * x for x in levels(state)]
            most = [a if abs(x) < a else b for x, a, b in zip(f, most, slipping, strict=True)]
            f = dry_impulses(G, free, most, f)
        new: list[float] = (u - Z @ np.array(f)).tolist()
        for x, bound, row in zip(f, most, C, strict=True):
            along = np.flatnonzero(row).tolist()
            if abs(x) < bound and len(along) == 1:  # held, and exactly so
                new[along[0]] = 0.0
        return new

    return hold


def _positions(model: Model, e: Equations, dt: float) -> tuple[_Move, list[list[Term]]]:
    """How a step moves the positions, and how their rates follow from the speeds: [position][speed]."""
    trace, n, count = e.trace, e.n, len(e.positions)
    rates = e.rates()
    if rates is not None:
        if len(rates) != count:
            raise PalpateError(f"model {model.name!r}: {count} positions, but rates() gives {len(rates)}")
        flat = trace.function("s", rates)

        def roll(q: State, u: Sequence[float]) -> State:
            half = [x + 0.5 * dt * r for x, r in zip(q, flat((*q, *u)), strict=True)]
            return tuple(x + dt * r for x, r in zip(q, flat((*half, *u)), strict=True))

        return roll, [[trace.derivative(r, v) for v in e.speeds] for r in rates]
    if has_quaternion(model):

        def turn(q: State, u: Sequence[float]) -> State:
            return (*(x + dt * y for x, y in zip(q[:3], u, strict=False)), *_turned(q[3:7], u[3:], dt))

        return turn, [[trace.term(0.0)] * n] * count  # nothing acts on a coordinate of a free body
    if count != n:
        names = ", ".join(model.mechanism.state[:-n])
        raise PalpateError(f"model {model.name!r}: the stepper does not know how {names} change: add rates()")

    def slide(q: State, u: Sequence[float]) -> State:
        return tuple(x + dt * y for x, y in zip(q, u, strict=True))

    return slide, [[trace.term(float(i == j)) for j in range(n)] for i in range(n)]


def has_quaternion(model: Model) -> bool:
    """Whether the positions are a place and a quaternion."""
    n = len(model.mechanism.accelerations)
    return n == 6 and model.mechanism.state[3:-n] == _QUATERNION


def _dot(a: Sequence[Term], b: Sequence[Term]) -> Term:
    found = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        found = found + x * y
    return found


def _turned(q: State, omega: Sequence[float], dt: float) -> State:
    """A unit quaternion w x y z after turning with omega (body, rad/s): q exp(omega dt / 2) (Diebel 2006, 6.5)."""
    speed = math.hypot(*omega)
    half = 0.5 * dt * speed
    c, s = math.cos(half), (math.sin(half) / speed if speed > 0.0 else 0.0)
    x, y, z = (s * w for w in omega)
    a, b, g, d = q
    found = (
        a * c - b * x - g * y - d * z,
        a * x + b * c + g * z - d * y,
        a * y - b * z + g * c + d * x,
        a * z + b * y - g * x + d * c,
    )
    size = math.hypot(*found)
    return tuple(f / size for f in found)
