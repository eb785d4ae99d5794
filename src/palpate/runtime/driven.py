"""A body that nobody measures, moved by one that was: its motion follows from that of the other, given the parameters.

The inner body of two in series (`mechanisms/series.py`) obeys M u'' + F(q, u, q', u') + L Sign(u') = 0 with q(t) known.
Leapfrog: positions at the steps, speeds half a step beside them; damping and springs are averaged over a step (Newmark
1959, average acceleration), so that any stiffness is stable. Dry friction is a set: what comes to rest in a step does
so at some part of it, and slips on or sticks for the others; at 1 ms a drawer's force is right to 0.05 %.

In C, copy after copy, where there is a compiler. In NumPy all copies go side by side, and parts of the recording too:
each begins where the one before it ended the last time round, until all beginnings stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import c_double, c_long, c_void_p
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, runs
from palpate.runtime.equations import Equations, Kernels
from palpate.runtime.native import compiled_function

LONGEST_STEP_S, RESOLVED = 1e-3, 0.15
"""A step, s; and over the time in which the inner body swings by a radian on what is soft."""
MOST_STEPS = 40
"""In a sample."""
PAYS = 20_000
"""Steps from which compiling is worth it."""
PART_S, FEWEST, ROUNDS = 1.0, 64, 1000
"""Length of the parts that go side by side, at least, and of how many samples; how often, at most."""
SAME = 1e-6
"""Of how far what is between the two is stretched: beginnings that differ by less are the same."""
TOLD = 1e-3
"""The same, of motions from far apart: the beginning is forgotten."""
SWEEPS = 4
"""In which the impulses of dry friction on both bodies settle."""
FAR = 1e3
"""rad or m, beyond what friction stretches."""
_Kernel = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Of an inner body, (copies, samples) each; NaN where the outer one is not known."""

    position: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    side: FloatArray
    """What dry friction does over its level, from -1 to 1."""
    passed: FloatArray
    """What the outer body has to do for it, N or N m."""

    def first(self) -> Path:
        """Of the first copy alone."""
        return Path(*(x[:1] for x in (self.position, self.speed, self.acceleration, self.side, self.passed)))


@dataclass(frozen=True, eq=False)
class Driven:
    """The inner body of a model as functions of motion and parameters."""

    model: Model
    """Without instruments."""
    equations: Equations
    results: tuple[Any, ...]
    """Of a step: force, its slopes by position and speed, inertia, level of dry friction."""
    step: _Kernel
    passed: _Kernel
    both: tuple[Any, ...]
    """Of both rows: force, its slopes by both positions and by both speeds; inertia of each, level of dry friction of
    each.
    """
    all_of: _Kernel
    """`both` of a state and parameters."""

    @cached_property
    def driving(self) -> Any:
        """`drive` of driven.c; None: no compiler."""
        kernels: Kernels = {"step": ("s", self.results)}
        return compiled_function(self.equations, kernels, "driven.c", "drive")

    @cached_property
    def observing(self) -> Any:
        """`observe` of observed.c; None: no compiler."""
        two = len({e.acts_on for e in self.model.elements if e.dry}) > 1
        kernels: Kernels = {"both": ("s", self.both)}
        constants = {"SWEEPS_": str(SWEEPS if two else 2)}
        return compiled_function(self.equations, kernels, "observed.c", "observe", constants)

    def parameters(self, values: Mapping[str, float]) -> FloatArray:
        """(parameters, 1)."""
        return np.array([[values[name]] for name in self.model.parameters])

    def soft(self, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(copies,) each: stiffness between the two, inertia of the inner one, and how far friction stretches it."""
        still = np.zeros(p.shape[1])
        (force,), (_, _, _, M, L) = self.passed((still + FAR, still, still, still), p), self.step([still] * 4, p)
        k = np.asarray(force / FAR)
        return k, M + still, L / np.maximum(k, 1e-300)

    def steps(self, period: float, p: FloatArray) -> int:
        """Of a sample."""
        k, M, _ = self.soft(p)
        swings = float(np.sqrt(np.max(k / np.maximum(M, 1e-300))))
        longest = min(LONGEST_STEP_S, RESOLVED / max(swings, 1e-9))
        return int(np.clip(np.ceil(period / longest - 1e-9), 1, MOST_STEPS))

    def linear(self, p: FloatArray, position: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Slopes of both rows by positions (2, 2) and by speeds (2, 2), inertia (2,), beyond any friction."""
        values = [
            float(np.max(x)) for x in self.all_of([np.full(1, x) for x in (position + FAR, position, 0.0, 0.0)], p)
        ]
        return np.reshape(values[2:6], (2, 2)), np.reshape(values[6:10], (2, 2)), np.array(values[10:12])

    def run(
        self,
        times_s: FloatArray,
        position: FloatArray,
        speed: FloatArray,
        p: FloatArray,
        begin: FloatArray | None = None,
        steps: int | None = None,
    ) -> Path:
        """Along the measured position and speed (samples,) of the outer body; p: (parameters, copies).

        begin (copies,): how far it is stretched where a stretch that is known begins; steps: of a sample.
        """
        out = np.full((4, p.shape[1], len(times_s)), np.nan)
        period = float(np.median(np.diff(times_s)))
        steps = self.steps(period, p) if steps is None else steps
        stretched = np.zeros(p.shape[1], dtype=float) if begin is None else begin
        gaps = np.flatnonzero(np.diff(times_s) > 1.5 * period) + 1
        spans = [pair for a, b in runs(np.isfinite(position + speed)) for pair in _without(gaps, a, b)]
        total = sum(b - a for a, b in spans) * steps * p.shape[1]
        drive = self.driving if total >= PAYS else None
        if drive is None:
            self._side_by_side(spans, position, speed, p, stretched, period, steps, out)
        else:
            _one_by_one(drive, spans, position, speed, p, stretched, period, steps, out)
        u, v, _, _ = out
        q, qd = np.broadcast_to(position, u.shape), np.broadcast_to(speed, u.shape)
        (passed,) = self.passed((q, u, qd, v), p[:, :, None])
        return Path(out[0], out[1], out[2], out[3], np.asarray(passed + 0 * u, dtype=float))

    def told(
        self, times_s: FloatArray, position: FloatArray, speed: FloatArray, values: Mapping[str, float], steps: int
    ) -> tuple[Path, BoolArray]:
        """Of these values; and (samples,) where it no longer counts how it began: from far to either side it is the
        same.
        """
        p = np.repeat(self.parameters(values), 2, axis=1)
        path = self.run(times_s, position, speed, p, self.soft(p)[2] * np.array([1.0, -1.0]), steps)
        low, high = path.position
        stretched = float(np.nanstd(position - low)) if np.isfinite(low).any() else 0.0
        return path.first(), np.isfinite(low) & (np.abs(low - high) <= TOLD * max(stretched, 1e-12))

    def _side_by_side(
        self,
        spans: Sequence[tuple[int, int]],
        position: FloatArray,
        speed: FloatArray,
        p: FloatArray,
        begin: FloatArray,
        period: float,
        steps: int,
        out: FloatArray,
    ) -> None:
        """Into `out`, (4, copies, samples)."""
        parts = _parts(spans, max(FEWEST, round(PART_S / period)))
        first, last, on = (np.array(x) for x in zip(*parts, strict=True)) if parts else (np.zeros(0, dtype=int),) * 3
        same = SAME * float(np.max(self.soft(p)[2], initial=0.0))
        u = position[first] - np.where(on, 0.0, begin[:, None])
        v = np.broadcast_to(speed[first], u.shape).copy()
        todo = np.ones(len(parts), dtype=bool)
        for _ in range(ROUNDS):
            which = np.flatnonzero(todo)
            todo[:] = False
            if not len(which):
                return
            ends = self._round(
                first[which], last[which], position, speed, p, u[:, which], v[:, which], period, steps, out
            )
            for k, i in ((k, i + 1) for k, i in enumerate(which) if i + 1 < len(parts) and on[i + 1]):
                there, fast = ends[..., k]  # where it ended, the next one begins
                todo[i] = np.abs(there - u[:, i]).max() + period * np.abs(fast - v[:, i]).max() > same
                u[:, i], v[:, i] = there, fast

    def _round(
        self,
        first: NDArray[np.int64],
        last: NDArray[np.int64],
        position: FloatArray,
        speed: FloatArray,
        p: FloatArray,
        u: FloatArray,
        v: FloatArray,
        period: float,
        steps: int,
        out: FloatArray,
    ) -> FloatArray:
        """Parts from their first sample to their last; (2, copies, parts): where they end."""
        dt, size = period / steps, int((last - first).max())
        at = np.minimum(first[:, None] + np.arange(size + 2), last[:, None])
        q, qd, lengths = position[at].T, speed[at].T, last - first
        p = np.ascontiguousarray(p[:, :, None] + np.zeros(len(first)))
        path, ends = np.empty((4, size + 1, *u.shape)), np.empty((2, *u.shape))
        with np.errstate(all="ignore"):
            for i in range(size + 1):
                ended = lengths == i
                ends[0][:, ended], ends[1][:, ended] = u[:, ended], v[:, ended]
                # a cubic through position and speed of both samples (Hermite)
                rise, slope, after = q[i + 1] - q[i], period * qd[i], period * qd[i + 1]
                two, three = 3 * rise - 2 * slope - after, slope + after - 2 * rise
                for k in range(steps):
                    x = k / steps
                    here = q[i] + x * (slope + x * (two + x * three))
                    fast = (slope + x * (2 * two + 3 * x * three)) / period
                    force, K, D, M, level = self.step((here, u, fast, v), p)
                    whole = M + dt * (0.5 * D + 0.25 * dt * K)
                    by, most = -dt * force / whole, dt * level / whole
                    new = after_step(v, by, most)
                    if k == 0:
                        path[0, i], path[1, i], path[2, i] = u, 0.5 * (v + new), (new - v) / dt
                        path[3, i] = np.where(most > 0.0, (v + by - new) / np.maximum(most, 1e-300), 0.0)
                    v = new
                    u = u + dt * v
        for k, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            out[:, :, a : b + 1] = path[:, : b + 1 - a, :, k].transpose(0, 2, 1)
        return ends


def after_step(v: FloatArray, by: FloatArray, most: FloatArray) -> FloatArray:
    """A speed after a step that changes it so, of which dry friction takes at most so much: it goes on slipping, or
    comes
    to rest at some part of the step and slips or sticks for the others.
    """
    way = np.sign(v)
    left, slips = way * (v + by) - most, by - np.minimum(np.maximum(by, -most), most)
    rest = 1.0 - way * v / np.maximum(most - way * by, 1e-300)
    return np.asarray(np.where((way != 0.0) & (left >= 0.0), way * left, rest * slips), dtype=float)


def _one_by_one(
    drive: Any,
    spans: Sequence[tuple[int, int]],
    position: FloatArray,
    speed: FloatArray,
    p: FloatArray,
    begin: FloatArray,
    period: float,
    steps: int,
    out: FloatArray,
) -> None:
    """Into `out`, (4, copies, samples), in C."""
    drive.restype = None
    drive.argtypes = (c_void_p, c_void_p, c_long, c_double, c_long, c_void_p, c_double, c_double, c_void_p)
    for a, b in spans:
        q, qd = (np.ascontiguousarray(x[a:b], dtype=float) for x in (position, speed))
        for i, (values, stretched) in enumerate(zip(np.ascontiguousarray(p.T), begin.tolist(), strict=True)):
            path = np.empty((4, b - a))
            u, v = float(q[0]) - stretched, float(qd[0])
            drive(q.ctypes.data, qd.ctypes.data, b - a, period, steps, values.ctypes.data, u, v, path.ctypes.data)
            out[:, i, a:b] = path


def _without(gaps: NDArray[np.int64], a: int, b: int) -> list[tuple[int, int]]:
    """A run of samples, cut at gaps in time; a single sample is none."""
    return [(x, y) for x, y in pairwise([a, *(int(g) for g in gaps if a < g < b), b]) if y - x > 1]


def _parts(spans: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int, bool]]:
    """First and last sample of each part, the last being the first of the next, and whether it goes on from another."""
    parts: list[tuple[int, int, bool]] = []
    for a, b in spans:
        count = max(1, (b - 1 - a) // size)
        ends = [a + (b - 1 - a) * i // count for i in range(count + 1)]
        parts += [(x, y, i > 0) for i, (x, y) in enumerate(pairwise(ends))]
    return parts


def driven(model: Model) -> Driven:
    """The inner body of a model whose mechanism has one; values are not asked for."""
    model = replace(model, elements=tuple(e for e in model.elements if not e.instrument), values={}, about={})
    return _driven(_Structure(model))


class _Structure:
    """A model that is the same as others that are written the same."""

    def __init__(self, model: Model) -> None:
        self.model, self.text = model, repr((model.mechanism, model.elements))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=64)
def _driven(of: _Structure) -> Driven:
    model = of.model
    mechanism = model.mechanism
    inner, *between = mechanism.unmeasured
    for e in model.elements:
        if e.dry and e.acts_on in between:
            wrong = f"dry friction cannot act on {e.acts_on!r}: let it act on {inner!r} or on {mechanism.main!r}"
            raise PalpateError(f"model {model.name!r}, element {e.name!r}: {wrong}")
    whole = replace(model, mechanism=mechanism.apart())
    names = [f"p[{i}]" for i in range(len(model.parameters))]
    e = Equations(whole, names)
    row, fn = e.bias[1], e.trace.fn
    level = sum((fn.abs(rows[1]) * level for rows, _, level in e.dry()), e.trace.term(0.0))
    slopes = (e.trace.derivative(row, x) for x in (e.positions[1], e.speeds[1]))
    results = (row, *slopes, e.inertia[1][1], level)
    owners = [x for x in whole.elements for _ in x.parameters]
    own = [name for x, name in zip(owners, names, strict=True) if x.acts_on in between]
    part = Equations(replace(whole, elements=tuple(x for x in whole.elements if x.acts_on in between)), own)
    passed = part.trace.function("s, p", (part.bias[0],), arrays=True)
    by = [e.trace.derivative(row, x) for part in (e.positions, e.speeds) for row in e.bias for x in part]
    levels = [sum((fn.abs(rows[i]) * x for rows, _, x in e.dry()), e.trace.term(0.0)) for i in range(2)]
    both = (*e.bias, *by, e.inertia[0][0], e.inertia[1][1], *levels)
    kernels = (e.trace.function("s, p", x, arrays=True) for x in (results, both))
    step, of_both = kernels
    return Driven(model, e, results, step, passed, both, of_both)
