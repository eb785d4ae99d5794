"""The stepper: a model that moves under the wrench it is given, as a robot or a simulator needs it.

A step is bound once, then plain floats without allocation, and the same in C.

A mechanism with one freedom, one with several, the dry friction that is solved in a step, and the brake: what an object
does when the wrench is lost. Sensors drop single samples, and cables break. A lost sample takes 1 - exp(-dt / BRAKE_S)
of the speed, then the object moves for a step as if nobody touched it; springs and weight may slow it down, but never
speed it up, and never turn it round. So one lost sample is hardly felt, and many are a stop: within speed * BRAKE_S, at
rest from then on. Position, speed and acceleration belong together in every step.

Energy of a braked step: the step under no wrench creates none, E' = T' + V' <= E. Where it is cut to the part s of its
way and its speeds, s^2 T' + V(s) <= s E' + (1 - s) V <= E, to the same order in dt as the step itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.physics.units import shown
from palpate.runtime.equations import Equations, Kernels, Term, dot, limits, quaternion_at


class StepStatus(IntEnum):
    """The outcome of a step: the highest status that applies. Generated C and FMU use the same numbers."""

    OK = 0
    STICKING = 1
    """Dry friction holds the object: the speed is exactly zero."""
    AT_LIMIT = 2
    """An end stop is pressed, a foot stands on the ground, or the mechanism is at the end of its reach."""
    SATURATED = 3
    """The wrench was beyond `wrench_limit`, so a sensor at its end: the object has moved under the limit instead."""
    NOT_FINITE = 4
    """The wrench or where it leads is not finite: the object is braked to rest (`brake`). Or `out` does not fit: the
    state is held."""
    NOT_READY = 5
    """Parameters that are not possible, or none yet; the state is held. In C and FMU only: here they are refused."""


State = tuple[float, ...]
Advance = Callable[[State, Sequence[float]], tuple[State, StepStatus]]
"""State and wrench -> the next state with the accelerations behind it, and how the step went."""

SLOW = 1e-6
"""rad/s: below, what moving adds to the force drowns in its rounding, and its slope takes its place."""
RESOLVED = 0.01
"""Springs up to (omega dt)^2 of this need no help; beyond, they are implicit too."""
PARTS = 16
"""A step that touches a stop is taken in this many parts: an implicit stop takes pi/2 omega dt of a bounce's energy."""
TOUCHES = 4
"""Stops that a step may touch or leave, one after the other."""


def one_freedom_kernels(e: Equations) -> tuple[Kernels, bool, bool]:
    """What a step of one freedom evaluates; whether dry friction changes with the speed; whether there are stops.

    The last of `s` is the angle at which the stops are pressed; before it stands what elements remember.
    """
    trace, fn, (angle,), (speed,) = e.trace, e.trace.fn, e.positions, e.speeds
    lead = trace.variable(f"s[{2 + len(e.memory)}]")
    (stop,) = e.stops([lead])
    spring = e.at_rest[0] - e.stops([angle])[0]
    loss = e.bias[0] - e.at_rest[0]
    threshold = trace.term(sum(fn.abs(ratio[0]) * level for ratio, _, level in e.dry()))
    memory = e.remembered([lead])
    (bent,) = trace.replaced([spring], e.memory, memory)  # how what remembers pushes back on the way
    stiffness = trace.derivative(spring, angle) + (trace.derivative(bent, lead) if memory else 0.0)
    smooth = (
        *(e.applied[0] - spring - stop, loss, e.inertia[0][0], stiffness),
        *(trace.derivative(stop, lead), stop),
    )
    kernels: Kernels = {
        "smooth": ("s, w", smooth),
        "creep": ("s", (trace.derivative(loss, speed),)),
        "dry": ("s, w", (threshold,)),
        "press": ("s", (stop,)),
        "remember": ("s", memory),
    }
    return kernels, trace.varies(threshold, speed), trace.varies(stop, lead)


class StepTerms(NamedTuple):
    """What a step evaluates, as terms: written out as Python for one copy or for many, or as C."""

    model: Model
    """As it moves (`moving`)."""
    dt: float
    equations: Equations
    kernels: Kernels
    fades: bool
    """Whether dry friction changes with the speeds."""
    has_stops: bool


def step_terms(model: Model, dt: float, parameters: Sequence[str] | None = None) -> StepTerms:
    """Of a model as it moves and a step (s); the parameters are numbers, or variables of these names."""
    e = Equations(model, parameters)
    if has_one_freedom(model):
        return StepTerms(model, dt, e, *one_freedom_kernels(e))
    kernels, fades = many_freedoms_kernels(model, e, dt)
    return StepTerms(model, dt, e, kernels, fades, bool(kernels["pressed"][1]))


def one_freedom(terms: StepTerms) -> Advance:
    """Bind the step of a mechanism that moves in one way only.

    Balance of a step from v to u:  M (u - v) / dt + spring + stop + D u + dry Sign(u) = applied. `spring` is the force
    at rest where the step begins, `stop` that where it ends (Newton's method: linear but for the touch, so each touch
    is one iteration); D u is what moving adds where the step begins, in proportion. With D >= 0 dampers and stops take
    energy out, however strong they are. A spring alone is stepped by symplectic Euler, which neither damps nor feeds
    an oscillation that the step resolves.

    Times u dt, this is the energy that a step may create: V(q + u dt) - V(q) - V'(q) u dt = V'' (u dt)^2 / 2, V the
    springs' and gravity's potential. Everything else only takes.
    """
    model, dt, e, kernels, fades, has_stops = terms
    _, creep, dry, press, remember = (e.trace.function(*kernel) for kernel in kernels.values())
    (arguments, forces), (_, (level,)) = kernels["smooth"], kernels["dry"]
    smooth = e.trace.function(arguments, (*forces, level))
    low, high = model.mechanism.reach
    ok, sticking, at_limit = StepStatus.OK, StepStatus.STICKING, StepStatus.AT_LIMIT

    def part(
        q: float, v: float, memory: State, wrench: Sequence[float], dt: float
    ) -> tuple[float, float, State, bool, StepStatus]:
        """Angle, speed and what is remembered after a time dt, whether a stop was touched, and the status."""
        there, new, touched, status = q + dt * v, v, False, ok
        slow = -SLOW < v < SLOW
        for _ in range(TOUCHES):
            # the new speed if the stops are as pressed as at the angle `ahead`
            ahead = low if there < low else high if there > high else there
            s = (q, v, *memory, ahead)
            force, loss, inertia, stiffness, stop, pressed, held = smooth(s, wrench)
            if not inertia > 0.0:
                return q, 0.0, memory, touched, StepStatus.NOT_FINITE
            stiff = dt * dt * stiffness - RESOLVED * inertia
            momentum = inertia * v + dt * force  # what is left without damping and dry friction
            if stop > 0.0:
                momentum += dt * stop * (ahead - q)
                inertia += dt * dt * stop
            damping = 0.0 if slow else loss / v
            if damping < 0.0:  # no damper: inertia that changes with the angle
                momentum -= dt * loss
            status = at_limit if pressed else ok
            slips = held
            if fades:
                (held,) = dry((q, 0.0, *memory), wrench)
            if abs(momentum) <= dt * held:
                new, status = 0.0, status or sticking
            else:
                if slow:
                    (damping,) = creep(s)
                lost = min(dt * slips, abs(momentum))
                whole = inertia + stiff if stiff > 0.0 else inertia
                whole = whole + dt * damping if damping > 0.0 else whole
                new = (momentum - math.copysign(lost, momentum)) / whole
            there = q + dt * new
            if not has_stops:
                break
            (at_end,) = press((q, v, *memory, there))
            if not pressed and not at_end:
                break
            touched = True
            if (at_end > 0.0, at_end < 0.0) == (pressed > 0.0, pressed < 0.0):  # the same stop, or none
                break
        if not low <= there <= high:  # a linkage that is stretched stops the door, and gives nothing back
            there = low if there < low else high
            new, status = (there - q) / dt, at_limit
        return there, new, remember((q, v, *memory, there)) if memory else memory, touched, status

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, StepStatus]:
        q, v, *before = state
        memory: State = tuple(before)
        there, new, after, touched, status = part(q, v, memory, wrench, dt)
        # at rest on a stop nothing is left to resolve
        if touched and (v or new) and status is not StepStatus.NOT_FINITE:
            there, new, after, pressed = q, v, memory, False
            for _ in range(PARTS):
                there, new, after, touched, status = part(there, new, after, wrench, dt / PARTS)
                pressed = pressed or touched
            status = StepStatus.AT_LIMIT if pressed else status
        return (there, new, *after, (new - v) / dt), status

    return advance


GAUSS = ((0.5 - math.sqrt(0.15), 5 / 18), (0.5, 8 / 18), (0.5 + math.sqrt(0.15), 5 / 18))
REST = 1e-9
"""Speeds (m/s, rad/s) and accelerations below this are rest where dry friction acts; less than what any tilt does."""


def many_freedoms_kernels(model: Model, e: Equations, dt: float) -> tuple[Kernels, bool]:
    """What a step of several freedoms evaluates; whether dry friction changes with the speeds.

    `system`: the balance of `many_freedoms`, solved; `l` are the positions at which the stops are pressed. First the
    new speeds u without dry friction; then kinetic and stored energy where the step begins, and what the wrench does to
    each speed (N, N m); then, each for all dry elements: what a unit impulse takes from the speeds (Z), how the speeds
    enter its own (C), C Z, C u, the largest impulse at rest and, if that is another, while it slips. `move`: the
    positions after a step with the speeds `u`. `account`: kinetic energy after a step with the speeds `u` to the
    positions `l`, and what springs, stops and weight take on it, less the wrench's work; `e`: what `system` said.
    """
    n, trace, dry = e.n, e.trace, e.dry()
    rates, count = e.rates(), len(e.positions)
    if not e.turns and len(rates) != count:
        names = ", ".join(model.mechanism.state[:-n])
        raise PalpateError(f"model {model.name!r}: rates() must say how {names} change, not {len(rates)} numbers")
    lead = [trace.variable(f"l[{i}]") for i in range(count)]
    new = [trace.variable(f"u[{i}]") for i in range(n)]
    bias = [b + there - here for b, there, here in zip(e.bias, e.stops(lead), e.stops(e.positions), strict=True)]
    impulse = [w - b for w, b in zip(e.applied, bias, strict=True)]
    stiffness: list[list[Term]] = []
    if not e.turns:  # no stop acts on a free body
        slope = [[trace.derivative(row, x) for x in lead] for row in e.stops(lead)]
        ratio = [[trace.derivative(r, v) for r in rates] for v in e.speeds]
        stiffness = [[dot(row, column) for column in ratio] for row in slope]
        way = [x - q for x, q in zip(lead, e.positions, strict=True)]
        back = [dot(s, way) - dt * dot(k, e.speeds) for s, k in zip(slope, stiffness, strict=True)]
        impulse = [x + b for x, b in zip(impulse, back, strict=True)]
    change, *Z = e.solved([[dt * x for x in impulse], *(rows for rows, _, _ in dry)], dt, stiffness)
    u, C = [v + x for v, x in zip(e.speeds, change, strict=True)], [speeds for _, speeds, _ in dry]
    energy, levels = e.energy(), [level for _, _, level in dry]
    resting = trace.replaced(levels, e.speeds, [0.0] * n)
    fades = any(a is not b for a, b in zip(levels, resting, strict=True))
    system = [
        *(*u, energy.kinetic, energy.stored, *energy.push),
        *(x for rows in (*Z, *C) for x in rows),
        *(dot(c, z) for c in C for z in Z),
        *(dot(c, u) for c in C),
        *(dt * level for level in (*resting, *(levels if fades else ()))),
    ]
    known = [trace.variable(f"e[{i}]") for i in range(2 * n + 2)]
    after = [energy.kinetic, energy.stored, energy.height]
    kinetic, stored, height = trace.replaced(after, e.state, [*lead, *new])
    taken = stored - known[n + 1] + energy.weight * (height - energy.height) - dt * dot(known[n + 2 :], new)
    for at, weight in GAUSS:
        between = [q + at * (x - q) for q, x in zip(e.positions, lead, strict=True)]
        taken = taken + dt * weight * trace.replaced([energy.taken], e.state, [*between, *new])[0]
    kernels: Kernels = {
        "system": ("s, l, w", system),
        "pressed": ("l", e.pressed(lead)),
        "move": ("s, u", trace.replaced(e.moved(dt), e.speeds, new)),
        "account": ("s, l, u, e", (kinetic, taken)),
        "remember": ("s, l", e.remembered(lead)),
    }
    return kernels, fades


def many_freedoms(terms: StepTerms) -> Advance:
    """Bind the step of a mechanism that moves in several ways.

    Balance of a step from v to u:  A (u - v) + sum r_j f_j = dt (applied - bias), A = M + dt D + dt^2 K. Damping and
    gyroscopic moments (slope D) and stops (slope K, pressed as where the step ends) are linearly implicit. f_j is the
    impulse of a dry element, within +-dt level_j; inside of that its speed c_j . u is zero.
    """
    model, dt, e, kernels, fades, has_stops = terms
    system, pressed, move, account, remember = (e.trace.function(*kernel) for kernel in kernels.values())
    n, m, first = e.n, len(e.dry()), len(e.positions)
    still, within = (0.0,) * n, limits(model.mechanism)
    ends = list(accumulate([*[n] * m, *[n] * m, *[m] * m, m, m, m], initial=2 * n + 2))
    places = [slice(a, b) for a, b in pairwise(ends)]

    def hold(said: Sequence[float]) -> State:
        """The new speeds with dry friction, from what the system said."""
        parts = [said[place] for place in places]
        Z, C, G, (free, most, slipping) = parts[:m], parts[m : 2 * m], parts[2 * m : 3 * m], parts[3 * m :]
        f = dry_impulses(G, free, most, (0.0,) * m)
        if fades:  # what slips does so at the level of its speed
            most = [a if abs(x) < a else b for x, a, b in zip(f, most, slipping, strict=True)]
            f = dry_impulses(G, free, most, f)
        new = list(said[:n])
        for x, z in zip(f, Z, strict=True):
            new = [a - x * b for a, b in zip(new, z, strict=True)]
        for x, bound, c in zip(f, most, C, strict=True):
            if abs(x) < bound and n - c.count(0.0) == 1:  # held, and exactly so
                new[[bool(y) for y in c].index(True)] = 0.0
        return tuple(new)

    def bounded(state: State, there: State, u: State, said: Sequence[float]) -> tuple[State, State] | None:
        """The step, made smaller where it would create energy; None where the numbers are not finite.

        Kinetic energy after it is at most what was there, the work, and what was given back. Inertia that changes with
        the pose and gyroscopic moments make errors of second order in dt, of either sign. Where one would create
        energy, the step is made smaller: speeds and way by the part s that solves T s^2 + c s = T before, c what is
        taken on the whole way. What curves then still leave, far below rounding's size in position, only the speeds
        give. Weight by its height; springs by Gauss's rule along the step, exact to dt^7.
        """
        had = said[n]
        for last in (False, False, True):
            new, taken = account(state, there, u, said)
            if new + taken <= had:
                break
            if not math.isfinite(new + taken):
                return None
            if last:
                left = had - taken
                if not left > 0.0:  # not even at rest would it be here
                    return state[:first], still
                part = math.sqrt(left / new)
                return there, tuple([part * x for x in u])
            root = math.sqrt(taken * taken + 4.0 * new * had)
            part = 2.0 * had / (taken + root) if taken > 0.0 else (root - taken) / (2.0 * new)
            u = tuple([part * x for x in u])
            there = move(state, u)
        return there, u

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, StepStatus]:
        q, v = state[:first], state[first : first + n]
        there, u, said = q, v, ()
        touched = before = ()
        if has_stops:
            there = move(state, v)
            touched = tuple([x > 0.0 for x in pressed(there)])
        for _ in range(TOUCHES):
            try:
                said = system(state, there, wrench)
            except ZeroDivisionError:
                return (*state, *still), StepStatus.NOT_FINITE
            u = hold(said) if m else said[:n]
            there = move(state, u)
            if not has_stops:
                break
            before, touched = touched, tuple([x > 0.0 for x in pressed(there)])
            if touched == before:
                break
        within_account = bounded(state, there, u, said)
        if within_account is None:
            return (*state, *still), StepStatus.NOT_FINITE
        there, u = within_account
        if m and all(abs(x) < REST and abs(x - y) < REST * dt for x, y in zip(u, v, strict=True)):
            there, u = q, still
        status = StepStatus.AT_LIMIT if True in touched else StepStatus.OK
        for i, low, high in within:
            if not low <= there[i] <= high:  # it lies there, and gives nothing back
                there, u, status = q, still, StepStatus.AT_LIMIT
        if m and not status and not any(u):
            status = StepStatus.STICKING
        memory = remember(state, there)
        return (*there, *u, *memory, *[(x - y) / dt for x, y in zip(u, v, strict=True)]), status

    return advance


SWEEPS = 200
SETTLED = 1e-12
"""Dry impulses are settled when a sweep changes them by less than this part of their bound."""
TURN, PIVOTS, CREEP = 4, 60, 1e-9
"""Sweeps before pivoting, how many pivots, and the part of a held speed that is left."""

Matrix = Sequence[Sequence[float]]


def dot_floats(a: Sequence[float], b: Sequence[float]) -> float:
    """The sum of products, first to last: `sum` is another one from Python 3.12 on."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def solved(rows: list[list[float]]) -> list[list[float]] | None:
    """Columns X of A X = B from the rows [A | B], which are used up; None where A is singular.

    Gauss's elimination with row pivoting (Golub and Van Loan, 3.4).
    """
    n = len(rows)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(rows[i][k]) > abs(rows[best][k]):
                best = i
        rows[k], rows[best] = rows[best], rows[k]
        first = rows[k]
        pivot = first[k]
        if not abs(pivot) > 0.0:
            return None
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], first, strict=True)]
    columns: list[list[float]] = []
    for c in range(n, len(rows[0]) if rows else 0):
        x = [0.0] * n
        for i in range(n - 1, -1, -1):
            row = rows[i]
            rest = row[c]
            for j in range(i + 1, n):
                rest -= row[j] * x[j]
            x[i] = rest / row[i]
        columns.append(x)
    return columns


def dry_impulses(G: Matrix, free: Sequence[float], most: Sequence[float], start: Sequence[float]) -> list[float]:
    """f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound.

    Projected Gauss-Seidel (Jean 1999, The non-smooth contact dynamics method); with one element it is exact. Where
    elements hold the same thing together it is slow, and pivoting finds which of them slip.
    """
    f = list(start)
    for sweep in range(SWEEPS):
        settled = True
        for j, row in enumerate(G):
            if row[j] > 0.0:
                taken, bound = 0.0, most[j]
                for g, x in zip(row, f, strict=True):
                    taken += g * x
                new = f[j] + (free[j] - taken) / row[j]
                new = -bound if new < -bound else bound if new > bound else new
                settled = settled and abs(new - f[j]) <= SETTLED * bound
                f[j] = new
        if settled or len(f) == 1:
            break
        if sweep == TURN and (exact := pivoted(G, free, most, f)) is not None:
            return exact
    return f


def pivoted(G: Matrix, free: Sequence[float], most: Sequence[float], f: Sequence[float]) -> list[float] | None:
    """The same impulses by principal pivoting, from those that are within their bounds now; None if that fails.

    First all that are wrong change sides, then one at a time, which ends (Murty 1974, Note on a Bard-type scheme for
    solving the complementarity problem). G is made regular by a creep of 1e-9 of the speeds.
    """
    m = len(G)
    size = [row[j] if row[j] > 0.0 else 1.0 for j, row in enumerate(G)]
    A = [[g + CREEP * size[i] if i == j else g for j, g in enumerate(row)] for i, row in enumerate(G)]
    side = [0.0 if abs(x) < bound else FLOATS.sign(x) for x, bound in zip(f, most, strict=True)]
    slack = SETTLED * max(abs(x) for x in free)
    for turn in range(PIVOTS):
        held = [j for j in range(m) if side[j] == 0.0]
        x = [s * bound for s, bound in zip(side, most, strict=True)]
        rows = [[*(A[i][j] for j in held), free[i] - dot_floats(A[i], x)] for i in held]
        if held:
            columns = solved(rows)
            if columns is None:
                return None
            for i, y in zip(held, columns[0], strict=True):
                x[i] = y
        wrong = -1
        old = list(side)
        for i in range(m):
            off = (abs(x[i]) - most[i]) * size[i] if old[i] == 0.0 else -(free[i] - dot_floats(A[i], x)) * old[i]
            if off > slack:
                wrong = i
                if turn < m:
                    side[i] = FLOATS.sign(x[i]) if old[i] == 0.0 else 0.0
        if wrong < 0:
            return [min(max(y, -bound), bound) for y, bound in zip(x, most, strict=True)]
        if turn >= m:
            side[wrong] = FLOATS.sign(x[wrong]) if old[wrong] == 0.0 else 0.0
    return None


BRAKE_S = 0.02
"""s in which a lost wrench brakes the speed to a third: as fast as a hand lets go, softer than a robot's own stop."""
_NOTHING = (0.0,) * 6


def kept(dt: float) -> float:
    """The part of the speed that is left after one lost sample."""
    return math.exp(-dt / BRAKE_S)


def brake(advance: Advance, positions: int, n: int, dt: float, quaternion: int | None) -> Callable[[State], State]:
    """Bind the step without a wrench, of n speeds; `quaternion`: where the positions end with one."""
    keep, speeds = kept(dt), slice(positions, positions + n)

    def braked(now: State) -> State:
        q, v, memory = now[:positions], now[speeds], now[positions + n :]
        slow = tuple(keep * x for x in v)
        there, u = q, [0.0] * n
        try:
            moved, status = advance((*q, *slow, *memory), _NOTHING)
            new = moved[speeds]
            if status is not StepStatus.NOT_FINITE and math.isfinite(sum(moved)) and dot_floats(new, slow) > 0.0:
                there, u, memory = moved[:positions], list(new), moved[positions + n : -n]
                had, has = dot_floats(slow, slow), dot_floats(new, new)
                if has > had:
                    part = math.sqrt(had / has)
                    u = [part * x for x in new]
                    there = tuple(a + part * (b - a) for a, b in zip(q, there, strict=True))
                    bent = zip(now[positions + n :], memory, strict=True)
                    memory = tuple(a + part * (b - a) for a, b in bent)
                    if quaternion is not None:
                        four = there[quaternion:]
                        size = math.sqrt(dot_floats(four, four))
                        there = (*there[:quaternion], *(x / size for x in four))
        except (ArithmeticError, ValueError):
            there, u, memory = q, [0.0] * n, now[positions + n :]
        lost = [(b - a) / dt for a, b in zip(v, u, strict=True)]
        return (*there, *u, *memory, *(lost if math.isfinite(sum(lost)) else [0.0] * n))

    return braked


_LOST = [math.nan] * 6
_HUGE = 1e300
"""N, N m: no six wrenches below it add up to more than a number can be."""
_PROBLEMS = (ArithmeticError, ValueError, TypeError, IndexError)
LONGEST_STEP_S = 0.1
"""Steps up to this are stable whatever the dampers, springs and stops; longer ones would jump over what they must meet.
For an error of the motion below 1 %, take a hundredth of the shortest swing or fade of the object: usually 1 ms."""
_EITHER_SIDE = {"rad": math.pi / 4, "m": 0.25}
"""How far an object without stops moves to either side, by the unit of its main coordinate."""


class Stepper:
    """Forward dynamics of a model at a fixed step `dt` (s), from the same elements that were identified.

    Semi-implicit Euler at velocity level with set-valued dry friction (Moreau 1988, Unilateral contact and dry
    friction in finite freedom dynamics): of first order in dt, and stable for any damper and stop.

        door = Stepper(model, dt=1e-3)
        out = np.empty(door.size)
        status = door.step((0, 0, 0, 0, 0, torque), out)  # out: angle, speed, acceleration

    `wrench_limit`: six positive numbers (N, N m), the sensor's range in the frame of the wrench. What is beyond it
    counts as the limit, and the step reports `SATURATED`.

    The state is all there is: `saved = door.state`, later `door.reset(saved)`, and the same wrenches give the same
    motion, bit by bit. Whatever comes in, a step gives finite numbers that belong together; where the wrench is lost,
    `NOT_FINITE` says so, and each such step brakes the object (`BRAKE_S`: to a third of its speed in
    20 ms, then to rest; never faster, never energy from nothing). The next good wrench moves it on from there.
    """

    def __init__(self, model: Model, dt: float, *, wrench_limit: Sequence[float] | FloatArray | None = None) -> None:
        check_step(dt)
        self._limit = None if wrench_limit is None else check_wrench_limit(wrench_limit)
        model = moving(model)
        self._model = model
        self._mechanism = model.mechanism
        self._reach = model.mechanism.reach
        self._quaternion = quaternion_at(model.mechanism)
        self._still = (0.0,) * len(model.mechanism.accelerations)
        self._now: State = rest(model)
        try:
            self.terms = step_terms(model, float(dt))  # for who takes the same steps otherwise
            self._advance = one_freedom(self.terms) if has_one_freedom(model) else many_freedoms(self.terms)
            _, status = self._advance(self._now, (0.0,) * 6)
        except (TypeError, ArithmeticError) as error:
            raise PalpateError(f"model {model.name!r} cannot be stepped ({error}); does check_element pass?") from error
        positions = len(model.mechanism.state) - len(self._still)
        self._braked = brake(self._advance, positions, len(self._still), float(dt), self._quaternion)
        if status is StepStatus.NOT_FINITE:
            raise PalpateError(f"model {model.name!r} has no inertia to move: add an inertia or a rigid body")

    @property
    def names(self) -> tuple[str, ...]:
        """What `out` receives, in order: the state, what elements remember, then the accelerations."""
        return (*self._mechanism.state, *self._model.memory, *self._mechanism.accelerations)

    @property
    def size(self) -> int:
        """The length of `out`."""
        return len(self._now) + len(self._still)

    @property
    def state(self) -> FloatArray:
        """A copy of the state, in SI units: the mechanism's, then what elements remember. `reset` goes on from it."""
        return np.array(self._now)

    def reset(self, state: Sequence[float] | FloatArray) -> None:
        """Go on from this state; one that is not possible is refused. Without what elements remember, that is zero."""
        values = tuple(float(x) for x in state)
        names = (*self._mechanism.state, *self._model.memory)
        if len(values) == len(self._mechanism.state):
            values = (*values, *_remembered(self._model, values))
        if len(values) != len(names) or not all(math.isfinite(x) for x in values):
            raise PalpateError(f"the state must be {len(names)} numbers ({', '.join(names)}), not {values}")
        low, high = self._reach
        if not low <= values[0] <= high:
            unit = self._mechanism.position_units[0]
            span = f"{shown(low, unit, named=False)} to {shown(high, unit)}"
            raise PalpateError(f"at {shown(values[0], unit)} the linkage is out of reach, {span}")
        for i, least, most in limits(self._mechanism):
            if not least <= values[i] <= most:
                raise PalpateError(f"{names[i]} must be from {least:.4g} to {most:.4g}, not {values[i]:.4g}")
        if self._quaternion is not None:
            a, b = self._quaternion, self._quaternion + 4
            size = math.hypot(*values[a:b])
            if abs(size - 1.0) > 1e-3:
                raise PalpateError(f"the quaternion {values[a:b]} is not a unit quaternion")
            if abs(size - 1.0) > 1e-12:  # what a step has left is taken as it is
                values = (*values[:a], *(x / size for x in values[a:b]), *values[b:])
        self._now = values

    def step(self, wrench: Sequence[float] | FloatArray, out: MutableSequence[float] | FloatArray) -> StepStatus:
        """Apply a wrench for one step; `out` receives the new state and the mean accelerations (see `names`).

        `wrench`: force (N) and moment (N m) in the body frame about its origin; a hinge takes only the moment about
        its axis, the last of the six. Whose it is, `model_of` says: for a model of the body what the sensor reads
        minus its zero, for the whole the person's (`SensorStepper` works it out). Never raises: look at the status.
        """
        try:
            w = [float(x) for x in wrench]
        except _PROBLEMS:
            w = []
        try:
            if len(out) == self.size:
                result, status = self._attempt(self._now, w if len(w) == 6 else _LOST)
                for i, x in enumerate(result):
                    out[i] = x
                self._now = result[: len(self._now)]
                return status
        except _PROBLEMS:
            pass
        with suppress(*_PROBLEMS):
            for i, x in enumerate((*self._now, *self._still)):
                out[i] = x
        return StepStatus.NOT_FINITE

    def run(self, wrenches: FloatArray, out: FloatArray) -> NDArray[np.int8]:
        """Take one step for each row of `wrenches` (steps, 6); `out` (steps, size) receives what `step` would give.

        The same numbers, bit by bit, in less time. Returns the `StepStatus` of each step.
        """
        if wrenches.shape != (len(wrenches), 6) or out.shape != (len(wrenches), self.size):
            raise PalpateError(
                f"for n steps, wrenches must be (n, 6) and out (n, {self.size}), not {wrenches.shape} and {out.shape}"
            )
        now, count, lost, finite = self._now, len(self._now), StepStatus.NOT_FINITE, math.isfinite
        plain = self._limit is None and bool((np.abs(wrenches) < _HUGE).all())  # nothing to look at in each
        attempt = self._advance if plain else self._attempt
        path: list[State] = []
        statuses: list[StepStatus] = []
        rows: list[list[float]] = wrenches.tolist()
        while len(path) < len(rows):
            try:
                for w in rows[len(path) :]:
                    result, status = attempt(now, w)
                    if plain and (status is lost or not finite(sum(result))):
                        break
                    now = result[:count]
                    path.append(result)
                    statuses.append(status)
                else:
                    break
            except _PROBLEMS:
                pass
            path.append(self._braked(now))
            statuses.append(lost)
            now = path[-1][:count]
        if path:
            out[:] = path
            self._now = now
        return np.array(statuses, dtype=np.int8)

    def _attempt(self, now: State, wrench: list[float]) -> tuple[State, StepStatus]:
        """One step of six numbers; a braked one where they lead nowhere."""
        if not math.isfinite(sum(wrench)):
            return self._braked(now), StepStatus.NOT_FINITE
        if self._limit is None:
            return self._moved(now, wrench)
        within = [min(max(x, -most), most) for x, most in zip(wrench, self._limit, strict=True)]
        result, status = self._moved(now, within)
        saturated = within != wrench and status is not StepStatus.NOT_FINITE
        return result, StepStatus.SATURATED if saturated else status

    def _moved(self, now: State, wrench: list[float]) -> tuple[State, StepStatus]:
        """One step of six numbers that are finite."""
        try:
            result, status = self._advance(now, wrench)
            if status is not StepStatus.NOT_FINITE and math.isfinite(sum(result)):
                return result, status
        except _PROBLEMS:
            pass
        return self._braked(now), StepStatus.NOT_FINITE


def check_step(dt: float) -> None:
    """Refuse what is no time step (s), or too long a one."""
    if not (math.isfinite(dt) and dt > 0):
        raise PalpateError(f"a step must be a positive time in s, not {dt!r}")
    if dt > LONGEST_STEP_S:
        raise PalpateError(f"a step of {dt:g} s is too long: at most {LONGEST_STEP_S:g} s, usually 0.001 s")


def check_wrench_limit(limit: Sequence[float] | FloatArray) -> tuple[float, ...]:
    """The range of a sensor as six positive numbers; infinite where there is none."""
    numbers = tuple(float(x) for x in limit)
    if len(numbers) != 6 or not all(x > 0 for x in numbers):
        raise PalpateError(f"wrench_limit must be six positive numbers (N, N m), not {numbers}")
    return numbers


def moving(model: Model) -> Model:
    """The model as it moves: without the instruments, its values possible, its mechanism as the runtime must see it."""
    model = model.of_object()
    model.check_values()
    return replace(model, mechanism=model.mechanism.forward().apart())


def has_one_freedom(model: Model) -> bool:
    """Whether its state is one position and its speed."""
    mechanism = model.mechanism
    single = len(mechanism.accelerations) == 1 and len(mechanism.state) == 2
    return single and tuple(mechanism.rates((0.3, 0.7), FLOATS)) == (0.7,)


def rest(model: Model) -> State:
    """The state in which a stepper begins: zero, or the position next to it that a linkage reaches; what has feet
    stands on them.
    """
    mechanism = model.mechanism
    state = [1.0 if name == "q_w" else 0.0 for name in mechanism.state]
    turns = [j.position for j in mechanism.joints if j.kind == "turn" and j.position is not None]
    if has_feet(model) and turns:
        state[turns[-1]] = _standing(model, turns[-1])
    low, high = mechanism.reach
    state[0] = min(max(state[0], low), high)
    return (*state, *_remembered(model, state))


def _remembered(model: Model, state: Sequence[float]) -> State:
    """What elements remember in this state where nothing is known of the way to it."""
    k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), FLOATS)
    return tuple(float(x) for numbers in model.untouched(k, FLOATS).memory.values() for x in numbers)


def has_feet(model: Model) -> bool:
    """Whether it can stand on feet."""
    return any(e.ground and e.contact for e in model.elements)


def feet_height(model: Model, state: Sequence[float]) -> float:
    """m, of the lowest foot above the ground in this state; negative if it is in the ground, infinite without feet."""
    names = [e.acts_on for e in model.elements if e.ground and e.contact]
    k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), FLOATS)
    return min((float(k.coordinates[name].position) for name in names), default=math.inf)


def _standing(model: Model, at: int) -> float:
    """The angle (rad, `at` in the state) nearest to zero at which the lowest foot just touches the ground; zero where
    none can.
    """

    def height(angle: float) -> float:
        return feet_height(model, [angle if i == at else 0.0 for i in range(len(model.mechanism.state))])

    for degrees, way in ((d, way) for d in range(90) for way in (1, -1)):
        a, b = math.radians(way * degrees), math.radians(way * (degrees + 1))
        if height(a) * height(b) <= 0.0:
            for _ in range(60):
                middle = (a + b) / 2
                a, b = (middle, b) if height(a) * height(middle) > 0.0 else (a, middle)
            return a
    return 0.0


def end_stops(model: Model) -> tuple[float, float]:
    """The main positions (rad, m) between the model's own end stops; infinite where there is none."""
    main = model.mechanism.main
    stops = [e.stops for e in model.elements if e.stops is not None and e.acts_on == main]
    low = max((s.at for s in stops if s.side == "lowest"), default=-math.inf)
    return low, min((s.at for s in stops if s.side == "highest"), default=math.inf)


def moving_range(model: Model, default: tuple[float, float] | None = None) -> tuple[float, float]:
    """The main positions between which the object moves: its stops, else what its linkages are described for, else
    `default`, else 45 deg or 0.25 m to either side; zeros where the mechanism has no main coordinate.
    """
    mechanism = model.mechanism
    if mechanism.main is None:
        return 0.0, 0.0
    most = _EITHER_SIDE[mechanism.coordinates[mechanism.main]]
    span = mechanism.described or default or (-most, most)
    low, high = end_stops(model)
    low, high = (low if low > -math.inf else span[0]), (high if high < math.inf else span[1])
    return (low, high) if high > low else span
