"""One step of a mechanism with several freedoms: dampers, stops and dry friction are solved together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.advance import TOUCHES, Advance, State, Status
from palpate.runtime.equations import Equations, dot, limits
from palpate.runtime.flat import Term

_SWEEPS = 200
_SETTLED = 1e-12
"""Dry impulses are found when a sweep changes them by less than this part of their bound."""
_TURN, _PIVOTS, _CREEP = 4, 60, 1e-9
"""Sweeps before pivoting, how many pivots, and the part of a held speed that is left."""
_GAUSS = ((0.5 - math.sqrt(0.15), 5 / 18), (0.5, 8 / 18), (0.5 + math.sqrt(0.15), 5 / 18))
_QUATERNION = ("q_w", "q_x", "q_y", "q_z")
_REST = 1e-9
"""Speeds (m/s, rad/s) and accelerations below this are rest where dry friction acts; less than what any tilt does."""
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
    K = [[dot(row, [r[j] for r in ratio]) for j in range(n)] for row in slope]
    back = [dot(row, [x - q for x, q in zip(lead, e.positions, strict=True)]) for row in slope]
    impulse = [dt * (w - b + x - dt * dot(k, e.speeds)) for w, b, x, k in zip(e.applied, bias, back, K, strict=True)]
    A = [
        e.inertia[i][j] + dt * (trace.derivative(bias[i], v) + dt * K[i][j])
        for i in range(n)
        for j, v in enumerate(e.speeds)
    ]
    flat = trace.function("s, l, w", (*impulse, *A))
    pressed = trace.function("l", e.pressed(lead))
    hold, bounded, within = _friction(e, dt), _account(e, dt), limits(model.mechanism)

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
        if bounded is not None:
            there, u = bounded(state, there, u, wrench)
        if hold is not None and all(abs(x) < _REST and abs(x - y) < _REST * dt for x, y in zip(u, v, strict=True)):
            there, u = q, [0.0] * n
        beyond = any(not low <= there[i] <= high for i, low, high in within)
        if beyond:  # it lies there, and gives nothing back
            there, u = q, [0.0] * n
        status = Status.AT_LIMIT if beyond or any(touched) else Status.OK
        if hold is not None and not any(u):
            status = status or Status.STICKING
        return (*there, *u, *((new - old) / dt for new, old in zip(u, v, strict=True))), status

    return advance


def dry_impulses(
    G: Sequence[Sequence[float]], free: Sequence[float], most: Sequence[float], start: Sequence[float]
) -> list[float]:
    """f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound.

    Projected Gauss-Seidel (Jean 1999, The non-smooth contact dynamics method); with one element it is exact. Where
    elements hold the same thing together it is slow, and pivoting finds which of them slip.
    """
    f = list(start)
    for sweep in range(_SWEEPS):
        settled = True
        for j, row in enumerate(G):
            if row[j] > 0.0:
                speed = free[j] - sum(g * x for g, x in zip(row, f, strict=True))
                new = min(max(f[j] + speed / row[j], -most[j]), most[j])
                settled = settled and abs(new - f[j]) <= _SETTLED * most[j]
                f[j] = new
        if settled:
            break
        if sweep == _TURN and (found := _pivoted(G, free, most, f)) is not None:
            return found
    return f


def _pivoted(
    G: Sequence[Sequence[float]], free: Sequence[float], most: Sequence[float], f: Sequence[float]
) -> list[float] | None:
    """The same impulses by principal pivoting, from those that are within their bounds now; None if that fails.

    First all that are wrong change sides, then one at a time, which ends (Murty 1974, Note on a Bard-type scheme for
    solving the complementarity problem). G is made regular by a creep of 1e-9 of the speeds.
    """
    matrix, v, bound, x = np.array(G), np.array(free), np.array(most), np.array(f)
    size = np.where(np.diag(matrix) > 0.0, np.diag(matrix), 1.0)
    A = matrix + np.diag(_CREEP * size)
    side = np.where(np.abs(x) < bound, 0.0, np.sign(x))
    slack = _SETTLED * float(np.abs(v).max())
    for turn in range(_PIVOTS):
        held = side == 0.0
        x = side * bound
        x[held] = np.linalg.solve(A[held][:, held], (v - A @ x)[held])
        wrong = np.where(held, (np.abs(x) - bound) * size, -(v - A @ x) * side) > slack
        if not wrong.any():
            return np.clip(x, -bound, bound).tolist()
        change = np.flatnonzero(wrong)
        if turn >= len(v):
            change = change[-1:]
        side[change] = np.where(held[change], np.sign(x[change]), 0.0)
    return None


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


_Bounded = Callable[[State, State, list[float], Sequence[float]], tuple[State, list[float]]]


def _account(e: Equations, dt: float) -> _Bounded | None:
    """Bind the account of a step: kinetic energy after it is at most what was there, the work, and what was given back.

    Inertia that changes with the pose and gyroscopic moments make errors of second order in dt, of either sign. Where
    one would create energy, all speeds are made smaller by the same part. Springs and weight: Gauss's rule along the
    step, exact to dt^7. None if the mechanism does not tell on what its rows work.
    """
    energy, work = e.energy(), e.row_work()
    if energy is None or work is None:
        return None
    trace = e.trace
    account, power, pushed = (
        trace.function("s", (energy[0], energy[2])),
        trace.function("s", (energy[1],)),
        trace.function("s, w", (work,)),
    )

    def bounded(state: State, there: State, u: list[float], wrench: Sequence[float]) -> tuple[State, list[float]]:
        q = state[: len(there)]
        way = [y - x for x, y in zip(q, there, strict=True)]
        (had, old_stops), (new, new_stops), (worked,) = account(state), account((*there, *u)), pushed((*q, *u), wrench)
        lifted = 0.0
        for at, weight in _GAUSS:
            (taken,) = power((*(x + at * d for x, d in zip(q, way, strict=True)), *u))
            lifted += weight * taken
        allowed = had + dt * (worked - lifted) + old_stops - new_stops
        if new <= allowed:
            return there, u
        if not allowed > 0.0:  # not even at rest would it be here
            return q, [0.0] * len(u)
        part = math.sqrt(allowed / new)
        return there, [part * x for x in u]

    return bounded


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
