"""Two bodies in series: the parameters by which both are led, found by steps of Gauss and Newton.

From the stiffnesses that leave least, of some that would let the inner body swing between `SLOWEST_HZ` and
`FASTEST_HZ`, with the inertia split in several ways and all else as if both were one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from palpate.experiment.stage.inner import COARSE, Inner, innovation_slopes, innovations, noise_products, settled_in
from palpate.experiment.stage.inputs import (
    FIT_ATTENUATION_DB,
    Inputs,
    fit_balance,
    move,
    position_noise,
    projected,
    whole_balance,
)
from palpate.identify.balance import Balance, Segment, stack_rows
from palpate.motion.clock import noise_floor
from palpate.motion.derivatives import design_lowpass
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz
from palpate.runtime.driven import driven
from palpate.runtime.observer import Gains, gains

SLOWEST_HZ, FASTEST_HZ, TRIED = 1.5, 40.0, 8
SHARES = (0.05, 0.3)
"""Of the inertia that the outer body may have."""
DAMPED = 0.15
"""Of the critical damping, of what is between the two at first."""
ROUNDS, ENOUGH = 30, 0.02
"""Steps at most; the last moves everything by less than this share of a standard deviation."""
HELD = (0.0, 1e-3, 1e-2, 1e-1, 10.0)
"""How strongly steps are held back that are tried together (Levenberg 1944)."""
SHRINKS, GROWS = 0.3, 4.0
"""What a step makes of something positive, at least and at most."""
FIRST, FEW = 3, 6
"""How many beginnings are followed, and for how many steps, before the best goes on."""
AGAIN = 2
"""How often the filter is made anew for what was found."""
STALLED = 0.3
"""Standard deviations that a step may still want where nothing leaves less: noise of the sums, not a wrong place."""
LEAST = 1e-4
"""Noise of the force at least, over what it shows."""
BAND = 2.0
"""Of the balance of forces: up to where noise of positions is felt as much as that of the force, times this."""


@dataclass(frozen=True)
class _Search:
    """What stays the same from step to step."""

    inputs: Inputs
    q: FloatArray
    force: FloatArray
    used: BoolArray
    noise: tuple[float, float]
    coarse: int = 1
    """How much longer steps are than they would be."""

    @cached_property
    def names(self) -> list[str]:
        """Of the parameters."""
        return list(self.inputs.model.parameters)

    @cached_property
    def free(self) -> BoolArray:
        """Which are to be found."""
        return np.array([n not in self.inputs.belief.fixed for n in self.names])

    @cached_property
    def positive(self) -> BoolArray:
        """Which cannot be negative."""
        return np.array([x.map == "positive" for x in self.inputs.model.parameters.values()])

    @property
    def period(self) -> float:
        """Of the samples, s."""
        return 1 / self.inputs.rate_hz

    def held(self, p: FloatArray) -> Gains:
        """The filter for these parameters."""
        of = driven(self.inputs.model)
        return gains(of, self.ours(p)[:, None], float(np.median(self.inputs.seen_position)), self.period, self.noise)

    def ours(self, p: FloatArray) -> FloatArray:
        """Without those of instruments."""
        return p[[self.names.index(n) for n in driven(self.inputs.model).model.parameters]]

    def slopes(self, p: FloatArray, held: Gains) -> tuple[FloatArray, FloatArray]:
        """What is left (samples,), and how predictions follow the parameters (parameters, samples)."""
        of = self.inputs.model, self.inputs.times_s, self.q, self.force
        return innovation_slopes(*of, p, held, coarse=self.coarse)

    def noisy(self, p: FloatArray, held: Gains) -> FloatArray:
        """`noise_products` of these instruments."""
        return noise_products(
            self.inputs.model, self.inputs.times_s, self.q, self.force, p, held, self.noise, self.used
        )

    def costs(self, p: FloatArray, held: Gains) -> FloatArray:
        """(copies,) of parameters (parameters, copies): mean square of what is left."""
        of = driven(self.inputs.model)
        ours = np.stack([self.ours(x) for x in p.T], axis=1)
        left, _ = innovations(of, self.inputs.times_s, self.q, self.force, ours, held, coarse=self.coarse)
        left = left[:, self.used]
        return np.where(np.isfinite(left).all(axis=1), np.mean(np.nan_to_num(left) ** 2, axis=1), np.inf)


def lead(inputs: Inputs, segments: Sequence[Segment]) -> Inputs:
    """The inputs with both bodies led by the parameters that leave least in these segments."""
    near, plain = inputs.inner, replace(inputs, inner=None)
    moved = move(plain)
    whole = whole_balance(plain, moved)
    force, q = projected(whole)[:, 0], plain.q[:, 0]
    used = settled_in(plain.times_s, [moved.known & plain.inside([s]) for s in segments]) & np.isfinite(q + force)
    noise = float(position_noise(plain)[0]), max(_force_noise(plain), LEAST * float(np.nanstd(force)))
    search = _Search(plain, q, force, used, noise)
    if near is None:
        p = _begin(replace(search, coarse=COARSE), fit_balance(plain, moved, whole), segments)
    else:
        p = np.array([near.values[n] for n in search.names])
    found = False
    for _ in range(AGAIN):
        p, found = _descend(search, p, search.held(p), ROUNDS)
    held = search.held(p)
    (left,) = search.costs(p[:, None], held)
    return _led(search, _without_noise(search, p, held), held, float(np.sqrt(left)) / held.std, found)


def _without_noise(search: _Search, p: FloatArray, held: Gains) -> FloatArray:
    """The parameters after a step without what noise adds to the slopes."""
    left, J = search.slopes(p, held)
    rows = np.vstack([J, left])[:, search.used]
    products = rows @ rows.T / rows.shape[1] - search.noisy(p, held)
    free = search.free & (np.diag(products)[:-1] > 0)
    size = np.where(free, np.diag(products)[:-1], 1.0) ** -0.5
    step = np.zeros(len(p))
    H = (products[:-1, :-1] * size[:, None] * size)[np.ix_(free, free)]
    step[free] = np.linalg.lstsq(H, (products[:-1, -1] * size)[free], rcond=1e-12)[0] * size[free]
    return np.where(search.positive, np.maximum(p + step, SHRINKS * p), p + step)


def _led(search: _Search, p: FloatArray, held: Gains, louder: float, found: bool) -> Inputs:
    inputs, noise, values = search.inputs, search.noise, dict(zip(search.names, p.tolist(), strict=True))
    _, J = search.slopes(p, held)
    stiffness = noise[1] / noise[0]
    of = driven(inputs.model)
    inner = Inner(
        values=values,
        mechanism=inputs.mechanism,
        steps=of.steps(search.period, of.parameters(values)),
        held=held,
        stiffness=stiffness,
        slopes=stiffness * J,
        noisy=stiffness**2 * search.noisy(p, held),
        pushed=louder * noise[1],
        noise=noise[1],
        found=found,
    )
    f = inputs.filtering
    band = BAND * _crossing_hz(search, p, stiffness)
    if f.bandwidth_hz is not None and band < f.bandwidth_hz:
        low = design_lowpass(inputs.rate_hz, band, attenuation_db=FIT_ATTENUATION_DB)
        f = replace(f, lowpass=low, bandwidth_hz=band)
    return replace(inputs, inner=inner, filtering=f)


def _crossing_hz(search: _Search, p: FloatArray, stiffness: float) -> float:
    """From where on a noise of the position is felt more than that of the force."""
    of = driven(search.inputs.model)
    A, B, M = of.linear(search.ours(p)[:, None], float(np.median(search.inputs.seen_position)))
    hz = np.geomspace(0.3, 50.0, 200)
    s = 2j * np.pi * hz
    rows = [[M[i] * (i == j) * s**2 + B[i, j] * s + A[i, j] for j in range(2)] for i in range(2)]
    felt = np.abs(rows[0][0] - rows[0][1] * rows[1][0] / rows[1][1])
    above = np.flatnonzero(felt > stiffness)
    return float(hz[above[0]]) if len(above) else float(hz[-1])


def _force_noise(inputs: Inputs) -> float:
    """Of the row at the reference's rate, N or N m."""
    rng, row = np.random.default_rng(0), inputs.mechanism.row_components[0]
    drawn = np.zeros((4096, 6))
    for sensor in inputs.sensors:
        share = min(1.0, inputs.rate_hz / rate_hz(sensor.wrench.times_s))
        drawn += sensor.to_body(rng.normal(size=drawn.shape) * noise_floor(sensor.wrench.x) * share**0.5)
    return float(np.std(drawn[:, row]))


def _begin(search: _Search, low: Balance, segments: Sequence[Segment]) -> FloatArray:
    """The best of many, from both bodies as one."""
    model, fixed = search.inputs.model, search.inputs.belief.fixed
    rows = stack_rows(low, segments)
    X, y, p = rows.of_model(model), rows.y[0], np.zeros(len(search.names))
    p[~search.free] = [fixed[n] for n in search.names if n in fixed]
    sizes = np.sqrt(np.sum(X**2, axis=1))
    seen = search.free & (sizes > 1e-9 * sizes.max())
    scaled = X[seen] / sizes[seen, None]
    p[seen] = np.linalg.solve(scaled @ scaled.T + 1e-6 * np.eye(len(scaled)), scaled @ (y - p @ X)) / sizes[seen]
    level = np.std(y) / np.where(sizes > 0, sizes / np.sqrt(X.shape[1]), np.inf)
    p = np.where(search.positive & search.free, np.maximum(p, 1e-2 * level), p)
    main, (inner, between, *_) = str(model.mechanism.main), model.mechanism.unmeasured
    heavy = {place: _of(search, place, "inertial") for place in (main, inner)}
    soft, damps = _of(search, between, "stores"), _of(search, between, "dissipates")
    whole = float(p[heavy[main] + heavy[inner]].sum())
    tried: list[FloatArray] = []
    for share in SHARES if heavy[main] else (0.0,):
        for hz in np.geomspace(SLOWEST_HZ, FASTEST_HZ, TRIED).tolist():
            x, mass = p.copy(), whole * (1 - share)
            for at, value in (
                *((i, share * whole / len(heavy[main])) for i in heavy[main]),
                *((i, mass / len(heavy[inner])) for i in heavy[inner]),
                *((i, mass * (2 * np.pi * hz) ** 2) for i in soft),
                *((i, 2 * DAMPED * mass * 2 * np.pi * hz) for i in damps),
            ):
                x[at] = value if search.free[at] else x[at]
            tried.append(x)
    costs = [float(search.costs(x[:, None], search.held(x))[0]) for x in tried]
    first = sorted(range(len(tried)), key=lambda i: costs[i])[:FIRST]
    best = [_descend(search, tried[i], search.held(tried[i]), FEW)[0] for i in first]
    return min(best, key=lambda x: float(search.costs(x[:, None], search.held(x))[0]))


def _of(search: _Search, place: str, kind: str) -> list[int]:
    """Parameters of elements of a kind that act there."""
    parts = search.inputs.model.parts
    return [search.names.index(n) for e, names in parts if e.acts_on == place and getattr(e, kind) for n in names]


def _descend(search: _Search, p: FloatArray, held: Gains, rounds: int) -> tuple[FloatArray, bool]:
    """The parameters after steps of Gauss and Newton, and whether nothing nearby leaves less.

    Each step is tried straight, along which the sum of two masses stays what it is, and in logarithms, which reach what
    is many times as large.
    """
    positive = search.positive
    (cost,) = search.costs(p[:, None], held)
    for _ in range(rounds):
        left, J = search.slopes(p, held)
        slopes, left = np.nan_to_num(np.where(search.free[:, None], J, 0.0)[:, search.used]), left[search.used]
        unit = np.where(positive, np.abs(p), 1.0)  # a step of one doubles it
        lengths = unit * np.sqrt(np.sum(slopes**2, axis=1))
        seen = lengths > 1e-12 * lengths.max()
        size = unit[seen] / lengths[seen]
        A = slopes[seen] * size[:, None]
        H, g = A @ A.T, A @ left
        moves = np.zeros((len(p), len(HELD)))
        for k, more in enumerate(HELD):
            moves[seen, k] = np.linalg.solve(H + (more + 1e-10) * np.eye(len(H)), g) * size
        std = np.sqrt(cost * np.diag(np.linalg.pinv(H))) * size
        wanted = np.where(positive, np.maximum(moves[:, 0], -p), moves[:, 0])[seen] / std
        tried = np.concatenate([_straight(p, moves, positive), _by_powers(p, moves, positive)], axis=1)
        costs = search.costs(tried, held)
        best = int(np.argmin(costs))
        if not costs[best] < cost:
            return p, bool((np.abs(wanted) < STALLED).all())
        p, cost = tried[:, best], costs[best]
        if (np.abs(wanted) < ENOUGH).all():
            return p, True
    return p, False


def _straight(p: FloatArray, moves: FloatArray, positive: BoolArray) -> FloatArray:
    """(parameters, moves): each as far as it goes until something positive has shrunk or grown too much."""
    share = moves / np.where(positive, np.maximum(p, 1e-300), np.inf)[:, None]
    most: FloatArray = np.max(np.maximum(share / (GROWS - 1.0), -share / (1.0 - SHRINKS)), axis=0)
    return np.asarray(p[:, None] + moves / np.maximum(most, 1.0), dtype=float)


def _by_powers(p: FloatArray, moves: FloatArray, positive: BoolArray) -> FloatArray:
    """(parameters, moves): the logarithm of what is positive changes as straight it would at first."""
    share = moves / np.where(positive, np.maximum(p, 1e-300), np.inf)[:, None]
    shorter: FloatArray = np.minimum(1.0, np.log(GROWS) / np.maximum(np.max(np.abs(share), axis=0), 1e-300))
    return np.where(positive[:, None], p[:, None] * np.exp(share * shorter), p[:, None] + moves * shorter)
