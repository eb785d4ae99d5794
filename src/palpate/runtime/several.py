"""One step of a mechanism with several freedoms: dampers, stops and dry friction are solved together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.runtime.advance import TOUCHES, Advance, State, Status
from palpate.runtime.contact import dot_floats, dry_impulses, solved
from palpate.runtime.equations import Equations, Kernels, dot, limits

GAUSS = ((0.5 - math.sqrt(0.15), 5 / 18), (0.5, 8 / 18), (0.5 + math.sqrt(0.15), 5 / 18))
REST = 1e-9
"""Speeds (m/s, rad/s) and accelerations below this are rest where dry friction acts; less than what any tilt does."""
_QUATERNION = ("q_w", "q_x", "q_y", "q_z")
_Function = Callable[..., tuple[float, ...]]
_Move = Callable[[State, Sequence[float]], State]


def many_freedoms_kernels(model: Model, e: Equations, dt: float) -> tuple[Kernels, bool]:
    """What a step of several freedoms evaluates; whether dry friction changes with the speeds.

    `system`: for each row [A | impulse | r_j ...] of the balance in `many_freedoms`; `l` are the positions at which the
    stops are pressed. `account` and `pushed`: energy and power where the mechanism tells on what its rows work.
    """
    n, trace, dry = e.n, e.trace, e.dry()
    rates = e.rates()
    count = len(e.positions)
    if rates is not None and len(rates) != count:
        raise PalpateError(f"model {model.name!r}: {count} positions, but rates() gives {len(rates)}")
    if rates is None and not has_quaternion(model) and count != n:
        names = ", ".join(model.mechanism.state[:-n])
        raise PalpateError(f"model {model.name!r}: the stepper does not know how {names} change: add rates()")
    if rates is not None:
        ratio = [[trace.derivative(r, v) for v in e.speeds] for r in rates]
    elif has_quaternion(model):
        ratio = [[trace.term(0.0)] * n] * count  # nothing acts on a coordinate of a free body
    else:
        ratio = [[trace.term(float(i == j)) for j in range(n)] for i in range(n)]
    lead = [trace.variable(f"l[{i}]") for i in range(count)]
    parts = zip(e.bias, e.stops(lead), e.stops(e.positions), strict=True)
    bias = [trace.term(b + there - here) for b, there, here in parts]
    slope = [[trace.derivative(row, x) for x in lead] for row in e.stops(lead)]
    K = [[dot(row, [r[j] for r in ratio]) for j in range(n)] for row in slope]
    back = [dot(row, [x - q for x, q in zip(lead, e.positions, strict=True)]) for row in slope]
    impulse = [dt * (w - b + x - dt * dot(k, e.speeds)) for w, b, x, k in zip(e.applied, bias, back, K, strict=True)]
    A = [
        [e.inertia[i][j] + dt * (trace.derivative(bias[i], v) + dt * K[i][j]) for j, v in enumerate(e.speeds)]
        for i in range(n)
    ]
    kernels: Kernels = {
        "system": ("s, l, w", [x for i in range(n) for x in (*A[i], impulse[i], *(rows[i] for rows, _, _ in dry))]),
        "pressed": ("l", e.pressed(lead)),
        "ways": ("s", [x for _, speeds, _ in dry for x in speeds]),
        "levels": ("s", [level for _, _, level in dry]),
    }
    if rates is not None:
        kernels["rates"] = ("s", rates)
    energy, work = e.energy(), e.row_work()
    if energy is not None and work is not None:
        kernels |= {
            "account": ("s", (energy[0], energy[2])),
            "power": ("s", (energy[1],)),
            "pushed": ("s, w", (work,)),
        }
    return kernels, any(trace.varies(level, v) for _, _, level in dry for v in e.speeds)


def many_freedoms(model: Model, dt: float) -> Advance:
    """Bind the step of a mechanism that moves in several ways.

    Balance of a step from v to u:  A (u - v) + sum r_j f_j = dt (applied - bias), A = M + dt D + dt^2 K. Damping and
    gyroscopic moments (slope D) and stops (slope K, pressed as where the step ends) are linearly implicit. f_j is the
    impulse of a dry element, within +-dt level_j; inside of that its speed c_j . u is zero.
    """
    e = Equations(model)
    kernels, fades = many_freedoms_kernels(model, e, dt)
    flat = {name: e.trace.function(*kernel) for name, kernel in kernels.items()}
    n, m = e.n, len(kernels["levels"][1])
    width = n + 1 + m
    system, pressed, ways, levels = (flat[name] for name in ("system", "pressed", "ways", "levels"))
    move = _move(model, flat, dt)
    bounded, within = _account(flat, move, dt), limits(model.mechanism)

    def hold(state: State, u: list[float], Z: list[list[float]]) -> list[float]:
        """The new speeds with dry friction, from those without (u) and what unit impulses take (Z)."""
        found = ways(state)
        C = [found[i : i + n] for i in range(0, m * n, n)]
        G = [[dot_floats(c, z) for z in Z] for c in C]
        free = [dot_floats(c, u) for c in C]
        most = [dt * x for x in levels((*state[:-n], *(0.0,) * n))]
        f = dry_impulses(G, free, most, [0.0] * m)
        if fades:  # what slips does so at the level of its speed
            slipping = [dt * x for x in levels(state)]
            most = [a if abs(x) < a else b for x, a, b in zip(f, most, slipping, strict=True)]
            f = dry_impulses(G, free, most, f)
        new = list(u)
        for x, z in zip(f, Z, strict=True):
            new = [a - x * b for a, b in zip(new, z, strict=True)]
        for x, bound, c in zip(f, most, C, strict=True):
            along = [i for i, y in enumerate(c) if y]
            if abs(x) < bound and len(along) == 1:  # held, and exactly so
                new[along[0]] = 0.0
        return new

    def towards(state: State, ahead: State, wrench: Sequence[float]) -> list[float] | None:
        """The new speeds if the stops are as pressed as at the positions `ahead`."""
        found = system(state, ahead, wrench)
        columns = solved([list(found[i : i + width]) for i in range(0, n * width, width)])
        if columns is None:
            return None
        u = [v + x for v, x in zip(state[-n:], columns[0], strict=True)]
        return hold(state, u, columns[1:]) if m else u

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, Status]:
        q, v = state[:-n], state[-n:]
        there, u = move(q, v), list(v)
        touched = [x > 0.0 for x in pressed(there)]
        for _ in range(TOUCHES):
            found = towards(state, there, wrench)
            if found is None:
                return (*state, *(0.0,) * n), Status.NOT_FINITE
            u = found
            there, before = move(q, u), touched
            touched = [x > 0.0 for x in pressed(there)]
            if touched == before:
                break
        if bounded is not None:
            within_account = bounded(state, there, u, wrench)
            if within_account is None:
                return (*state, *(0.0,) * n), Status.NOT_FINITE
            there, u = within_account
        if m and all(abs(x) < REST and abs(x - y) < REST * dt for x, y in zip(u, v, strict=True)):
            there, u = q, [0.0] * n
        beyond = any(not low <= there[i] <= high for i, low, high in within)
        if beyond:  # it lies there, and gives nothing back
            there, u = q, [0.0] * n
        status = Status.AT_LIMIT if beyond or any(touched) else Status.OK
        if m and not any(u):
            status = status or Status.STICKING
        return (*there, *u, *((new - old) / dt for new, old in zip(u, v, strict=True))), status

    return advance


_Bounded = Callable[[State, State, list[float], Sequence[float]], tuple[State, list[float]] | None]


def _account(flat: dict[str, _Function], move: _Move, dt: float) -> _Bounded | None:
    """Bind the account of a step: kinetic energy after it is at most what was there, the work, and what was given back.

    Inertia that changes with the pose and gyroscopic moments make errors of second order in dt, of either sign. Where
    one would create energy, the step is made smaller: speeds and way by the part s that solves T s^2 + c s = T before,
    c what is taken on the whole way. What curves then still leave, far below rounding's size in position, only the
    speeds give. Springs and weight: Gauss's rule along the step, exact to dt^7. None if the mechanism does not tell on
    what its rows work; `bounded` gives None where the numbers are not finite.
    """
    if "account" not in flat:
        return None
    account, power, pushed = flat["account"], flat["power"], flat["pushed"]

    def taken_on(q: State, there: State, u: list[float], wrench: Sequence[float]) -> float:
        """J that springs and weight take on the way, minus the work that is put in."""
        way = [y - x for x, y in zip(q, there, strict=True)]
        (worked,) = pushed((*q, *u), wrench)
        lifted = 0.0
        for at, weight in GAUSS:
            (taken,) = power((*(x + at * d for x, d in zip(q, way, strict=True)), *u))
            lifted += weight * taken
        return dt * (lifted - worked)

    def bounded(
        state: State, there: State, u: list[float], wrench: Sequence[float]
    ) -> tuple[State, list[float]] | None:
        q = state[: len(there)]
        had, old_stops = account(state)
        for last in (False, False, True):
            new, new_stops = account((*there, *u))
            taken = taken_on(q, there, u, wrench) + new_stops - old_stops
            if not math.isfinite(new + taken):
                return None
            if new + taken <= had:
                break
            if last:
                left = had - taken
                if not left > 0.0:  # not even at rest would it be here
                    return q, [0.0] * len(u)
                part = math.sqrt(left / new)
                u = [part * x for x in u]
                break
            root = math.sqrt(taken * taken + 4.0 * new * had)
            part = 2.0 * had / (taken + root) if taken > 0.0 else (root - taken) / (2.0 * new)
            u = [part * x for x in u]
            there = move(q, u)
        return there, u

    return bounded


def _move(model: Model, flat: dict[str, _Function], dt: float) -> _Move:
    """How a step moves the positions."""
    if "rates" in flat:
        rates = flat["rates"]

        def roll(q: State, u: Sequence[float]) -> State:
            half = [x + 0.5 * dt * r for x, r in zip(q, rates((*q, *u)), strict=True)]
            return tuple(x + dt * r for x, r in zip(q, rates((*half, *u)), strict=True))

        return roll
    if has_quaternion(model):

        def turn(q: State, u: Sequence[float]) -> State:
            return (*(x + dt * y for x, y in zip(q[:3], u, strict=False)), *_turned(q[3:7], u[3:], dt))

        return turn

    def slide(q: State, u: Sequence[float]) -> State:
        return tuple(x + dt * y for x, y in zip(q, u, strict=True))

    return slide


def has_quaternion(model: Model) -> bool:
    """Whether the positions are a place and a quaternion."""
    n = len(model.mechanism.accelerations)
    return n == 6 and model.mechanism.state[3:-n] == _QUATERNION


def _turned(q: State, omega: Sequence[float], dt: float) -> State:
    """A unit quaternion w x y z after turning with omega (body, rad/s): q exp(omega dt / 2) (Diebel 2006, 6.5)."""
    speed = math.sqrt(dot_floats(omega, omega))
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
    size = math.sqrt(dot_floats(found, found))
    return tuple(f / size for f in found)
