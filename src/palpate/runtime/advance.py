"""One step of a mechanism with one freedom, under a wrench, from state to state. Bound once, then plain floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum

from palpate.model import Model
from palpate.runtime.equations import Equations, Kernels


class Status(IntEnum):
    """What a step has met; the highest that applies. Generated C and FMU use the same numbers."""

    OK = 0
    STICKING = 1
    """Dry friction holds the object: the speed is exactly zero."""
    AT_LIMIT = 2
    """An end stop is pressed, a foot stands on the ground, or the mechanism is at the end of its reach."""
    SATURATED = 3
    """The wrench was beyond `wrench_limit`, so a sensor at its end: the object has moved under the limit instead."""
    NOT_FINITE = 4
    """The wrench is not six finite numbers, or the step leads nowhere: the object is braked to rest (`brake`). Or `out`
    does not fit: the state is held."""
    NOT_READY = 5
    """Parameters that are not possible, or none yet; the state is held. In C and FMU only: here they are refused."""


State = tuple[float, ...]
Advance = Callable[[State, Sequence[float]], tuple[State, Status]]
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

    `s[2]` is the angle at which the stops are pressed.
    """
    trace, fn, (angle,), (speed,) = e.trace, e.trace.fn, e.positions, e.speeds
    lead = trace.variable("s[2]")
    (stop,) = e.stops([lead])
    spring = e.at_rest[0] - e.stops([angle])[0]
    loss = e.bias[0] - e.at_rest[0]
    threshold = trace.term(sum(fn.abs(ratio[0]) * level for ratio, _, level in e.dry()))
    smooth = (
        *(e.applied[0] - spring - stop, loss, e.inertia[0][0], trace.derivative(spring, angle)),
        *(trace.derivative(stop, lead), stop),
    )
    kernels: Kernels = {
        "smooth": ("s, w", smooth),
        "creep": ("s", (trace.derivative(loss, speed),)),
        "dry": ("s", (threshold,)),
        "press": ("s", (stop,)),
    }
    return kernels, trace.varies(threshold, speed), trace.varies(stop, lead)


def one_freedom(model: Model, dt: float, reach: tuple[float, float]) -> Advance:
    """Bind the step of a mechanism that moves in one way only.

    Balance of a step from v to u:  M (u - v) / dt + spring + stop + D u + dry Sign(u) = applied. `spring` is the force
    at rest where the step begins, `stop` that where it ends (Newton's method: linear but for the touch, so each touch
    is one iteration); D u is what moving adds where the step begins, in proportion. With D >= 0 dampers and stops take
    energy out, however strong they are. A spring alone is stepped by symplectic Euler, which neither damps nor feeds
    an oscillation that the step resolves.

    Times u dt, this is the energy that a step may create: V(q + u dt) - V(q) - V'(q) u dt = V'' (u dt)^2 / 2, V the
    springs' and gravity's potential. Everything else only takes.
    """
    e = Equations(model)
    kernels, fades, has_stops = one_freedom_kernels(e)
    smooth, creep, dry, press = (e.trace.function(*kernel) for kernel in kernels.values())
    low, high = reach

    def towards(q: float, v: float, ahead: float, wrench: Sequence[float], dt: float) -> tuple[float, float, Status]:
        """The new speed if the stops are as pressed as at the angle `ahead`, how much that is, and the status."""
        s = (q, v, ahead)
        force, loss, inertia, stiffness, stop, pressed = smooth(s, wrench)
        if not inertia > 0.0:
            return 0.0, 0.0, Status.NOT_FINITE
        stiff = max(dt * dt * stiffness - RESOLVED * inertia, 0.0)
        momentum = inertia * v + dt * force  # what is left without damping and dry friction
        if stop > 0.0:
            momentum += dt * stop * (ahead - q)
            inertia += dt * dt * stop
        slow = -SLOW < v < SLOW
        damping = 0.0 if slow else loss / v
        if damping < 0.0:  # no damper: inertia that changes with the angle
            momentum -= dt * loss
        (held,) = dry((q, 0.0))
        status = Status.AT_LIMIT if pressed else Status.OK
        if abs(momentum) <= dt * held:
            return 0.0, pressed, status or Status.STICKING
        if fades:
            (held,) = dry((q, v))
        if slow:
            (damping,) = creep(s)
        lost = min(dt * held, abs(momentum))
        new = (momentum - math.copysign(lost, momentum)) / (inertia + stiff + dt * max(damping, 0.0))
        return new, pressed, status

    def part(q: float, v: float, wrench: Sequence[float], dt: float) -> tuple[float, float, bool, Status]:
        """Angle and speed after a time dt, whether a stop was touched, and the status."""
        there, new, pressed, touched, status = q + dt * v, v, 0.0, False, Status.OK
        for _ in range(TOUCHES):
            ahead = low if there < low else high if there > high else there
            new, pressed, status = towards(q, v, ahead, wrench, dt)
            there = q + dt * new
            if not has_stops:
                break
            (at_end,) = press((q, v, there))
            touched = touched or pressed != 0.0 or at_end != 0.0
            if _same_side(at_end, pressed):
                break
        if not low <= there <= high:  # a linkage that is stretched stops the door, and gives nothing back
            there = low if there < low else high
            new, status = (there - q) / dt, Status.AT_LIMIT
        return there, new, touched, status

    def advance(state: State, wrench: Sequence[float]) -> tuple[State, Status]:
        q, v = state
        there, new, touched, status = part(q, v, wrench, dt)
        if touched and (v or new) and status is not Status.NOT_FINITE:  # at rest on a stop nothing is left to resolve
            there, new, pressed = q, v, False
            for _ in range(PARTS):
                there, new, touched, status = part(there, new, wrench, dt / PARTS)
                pressed = pressed or touched
            status = Status.AT_LIMIT if pressed else status
        return (there, new, (new - v) / dt), status

    return advance


def _same_side(a: float, b: float) -> bool:
    """Whether the same stop is pressed, or none."""
    return (a > 0.0) == (b > 0.0) and (a < 0.0) == (b < 0.0)
