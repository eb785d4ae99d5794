"""Copies of one object side by side: a step of the `Stepper` on arrays, one entry for each copy.

For many short runs, such as the windows of a replay: what Python costs for one copy, NumPy costs for hundreds. The
equations are the Stepper's own, from the same terms (`Trace.function`); only what chooses between cases is written
again, with masks, because on arrays both cases happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.runtime import stepper as one
from palpate.runtime.equations import limits

_Advance = Callable[[FloatArray, FloatArray], FloatArray]
"""States (state, copies) and wrenches (6, copies) -> the next states; NaN where they lead nowhere."""
_FEWEST = 3
"""Copies from which arrays are faster than one after the other."""


def pays(terms: one.StepTerms, copies: int) -> bool:
    """Whether so many copies take less time side by side: with one freedom, floats are as fast for 40 of them."""
    return copies >= _FEWEST and not one.has_one_freedom(terms.model)


def run_side_by_side(terms: one.StepTerms, states: FloatArray, wrench: FloatArray, steps: int) -> FloatArray:
    """States (samples, copies, state) of a model with several freedoms, `steps` of its steps a sample.

    states (copies, state) at the start; wrench (samples, copies, 6), linear between samples; the last one only leads
    there. A copy whose numbers are not finite any more is NaN from then on. Equal to `Stepper.run` to rounding.
    """
    advance = _many_freedoms(terms)
    now, path = np.ascontiguousarray(states.T), np.empty((len(wrench), *states.shape))
    path[0] = states
    forces = np.ascontiguousarray(wrench.swapaxes(1, 2))
    with np.errstate(all="ignore"):
        for i in range(1, len(wrench)):
            for k in range(steps):
                share = k / steps
                now = advance(now, forces[i - 1] * (1 - share) + forces[i] * share)
            path[i] = now.T
    return path


def _many_freedoms(terms: one.StepTerms) -> _Advance:
    """`many_freedoms` of the stepper."""
    model, dt, e, kernels, fades, _ = terms
    flat = {name: e.trace.function(*kernel, arrays=True) for name, kernel in kernels.items()}
    n, m, positions, within = e.n, len(e.dry()), len(e.positions), limits(model.mechanism)

    def of(name: str, *arguments: Any, copies: int) -> FloatArray:
        """(results, copies)."""
        results = flat[name](*arguments)
        out = np.empty((len(results), copies))
        for i, x in enumerate(results):
            out[i] = x
        return out

    def move(state: FloatArray, u: FloatArray) -> FloatArray:
        return of("move", tuple(state), tuple(u), copies=u.shape[1])

    def hold(said: FloatArray) -> FloatArray:
        copies, u = said.shape[1], said[:n]
        sizes = [2 * n + 2, m * n, m * n, m * m, m, m]
        _, *parts, free, most, slipping = np.split(said, np.cumsum(sizes))
        Z, C, G = (x.reshape(m, -1, copies) for x in parts)
        f = _dry_impulses(G, free, most, np.zeros((m, copies)))
        if fades:
            most = np.where(np.abs(f) < most, most, slipping)
            f = _dry_impulses(G, free, most, f)
        new = u - np.einsum("jb,jnb->nb", f, Z)
        along = C != 0.0
        held = (np.abs(f) < most) & (along.sum(axis=1) == 1)
        return np.where((along & held[:, None]).any(axis=0), 0.0, new)

    def bounded(state: FloatArray, there: FloatArray, u: FloatArray, said: FloatArray) -> tuple[FloatArray, FloatArray]:
        q, had, copies = state[:positions], said[n], u.shape[1]
        over = np.ones(copies, dtype=bool)
        for last in (False, False, True):
            new, taken = of("account", tuple(state), tuple(there), tuple(u), tuple(said), copies=copies)
            u = np.where(np.isfinite(new + taken), u, np.nan)
            over = over & (new + taken > had)
            if not over.any():
                break
            if last:
                left = had - taken
                kept = np.where(over, np.where(left > 0.0, np.sqrt(np.maximum(left, 0.0) / new), 0.0), 1.0)
                return np.where(over & ~(left > 0.0), q, there), kept * u
            u = np.where(over, _affordable(had, new, taken) * u, u)
            there = np.where(over, move(state, u), there)
        return there, u

    def advance(state: FloatArray, w: FloatArray) -> FloatArray:
        q, v, copies = state[:positions], state[positions : positions + n], state.shape[1]
        there, u, said, open_ = move(state, v), v, np.empty((0, copies)), np.ones(copies, dtype=bool)
        touched = of("pressed", tuple(there), copies=copies) > 0.0
        for _ in range(one.TOUCHES):
            said = of("system", tuple(state), tuple(there), tuple(w), copies=copies)
            u = np.where(open_, hold(said) if m else said[:n], u)
            there = np.where(open_, move(state, u), there)
            before, touched = touched, of("pressed", tuple(there), copies=copies) > 0.0
            open_ = open_ & (touched != before).any(axis=0)
            if not open_.any():
                break
        there, u = bounded(state, there, u, said)
        lost = ~np.isfinite(there.sum(axis=0) + u.sum(axis=0))
        rests = np.zeros(copies, dtype=bool)
        if m:
            rests = ((np.abs(u) < one.REST) & (np.abs(u - v) < one.REST * dt)).all(axis=0)
        for i, low, high in within:
            rests |= ~((low <= there[i]) & (there[i] <= high))
        there, u = np.where(rests, q, there), np.where(rests, 0.0, u)
        result = np.concatenate([there, u, of("remember", tuple(state), tuple(there), copies=copies)])
        result[:, lost] = np.nan
        return result

    return advance


def _affordable(had: FloatArray, new: FloatArray, taken: FloatArray) -> FloatArray:
    """The part s of a step for which kinetic energy is left: new s^2 + taken s = had."""
    root = np.sqrt(taken * taken + 4.0 * new * had)
    return np.asarray(np.where(taken > 0.0, 2.0 * had / (taken + root), (root - taken) / (2.0 * new)), dtype=float)


def _dry_impulses(G: FloatArray, free: FloatArray, most: FloatArray, start: FloatArray) -> FloatArray:
    """`dry_impulses` of the stepper: G (m, m, copies), the others (m, copies)."""
    f, open_ = start.copy(), np.ones(free.shape[1], dtype=bool)
    for sweep in range(one.SWEEPS):
        settled = np.ones(len(open_), dtype=bool)
        for j in range(len(f)):
            G_jj = G[j, j]
            new = np.clip(f[j] + (free[j] - np.sum(G[j] * f, axis=0)) / G_jj, -most[j], most[j])
            new = np.asarray(np.where(open_ & (G_jj > 0.0), new, f[j]), dtype=float)
            settled &= np.abs(new - f[j]) <= one.SETTLED * most[j]
            f[j] = new
        open_ &= ~settled
        if not open_.any():
            break
        if sweep == one.TURN:
            for i in np.flatnonzero(open_).tolist():
                exact = one.pivoted(*(x[..., i].tolist() for x in (G, free, most, f)))
                if exact is not None:
                    f[:, i], open_[i] = exact, False
    return f
