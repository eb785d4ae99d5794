"""All variants of a door with their zones, ranked, against one stacked fit with differences of one variant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from palpate.elements import ZoneDamper
from palpate.identify.balance import Balance, build_balance
from palpate.identify.shapes import fit_shapes, with_shapes
from palpate.identify.variants import door_variants, rank_variants
from palpate.mechanisms import Hinge
from palpate.model import load_object
from palpate.motion.derivatives import design_lowpass
from palpate.physics.functions import ARRAYS

Array = NDArray[np.float64]
SECONDS, RATE_HZ = 150.0, 100.0
TRUTH = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
"""The paper's door."""
ZONES = {name: float(np.radians(v)) for name, v in (("b_bc.above", 64), ("b_bc.width", 3), ("b_s.above", 30))}
"""Not quite where the paper has them: nobody knows beforehand."""
HEADINGS = ("150 s of a door at 100 Hz", "time", "times the ranking (aim 1.8 with bounds)")


def case(noise: float = 0.5) -> Balance:
    """A door opened and closed again and again, slowly and quickly, with noise in the torque (N m)."""
    rng = np.random.default_rng(0)
    model = with_shapes(load_object("door"), ZONES)
    t = np.arange(0, SECONDS, 1 / RATE_HZ)
    angle, speed, acceleration = swings(rng, t)
    assert isinstance(model.mechanism, Hinge)
    motion = model.mechanism.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])
    wrench = np.zeros((len(t), 6))
    wrench[:, 5] = model.with_values(TRUTH).wrench(model.mechanism.observe(motion), ARRAYS)[0]
    wrench[:, 5] += noise * rng.normal(size=len(t))
    told = load_object("door")
    free = tuple(replace(e, estimate=True) if isinstance(e, ZoneDamper) else e for e in told.elements)
    asked = replace(told, elements=free)
    return build_balance(asked, motion, wrench, sigma=[1.0], lowpass=design_lowpass(RATE_HZ, 10.0))


def swings(rng: np.random.Generator, t: Array) -> tuple[Array, Array, Array]:
    """Angle, speed, acceleration: a sum of smooth steps of random height and duration."""
    angle, speed, acceleration = np.full(len(t), 0.05), np.zeros(len(t)), np.zeros(len(t))
    begin, here = 0.0, 0.05
    while begin < t[-1]:
        there = np.radians(rng.uniform(50, 88) if here < 0.6 else rng.uniform(2, 20))
        length = rng.uniform(0.8, 4.0)
        s = np.clip((t - begin) / length, 0.0, 1.0)
        angle += (there - here) * s**3 * (10 - 15 * s + 6 * s**2)
        speed += (there - here) * 30 * s**2 * (1 - s) ** 2 / length
        acceleration += (there - here) * 60 * s * (1 - s) * (1 - 2 * s) / length**2
        begin, here = begin + length, there
    return angle, speed, acceleration


def stacked_fit(balance: Balance, *, bounded: bool) -> Array:
    """The rival: SciPy's least_squares with differences on all rows, the model's columns each time.

    Exponents of the positive parameters and the spring from zero, zones from where the paper has them, free or
    within `bounded` angles and widths that somebody must know. -> parameters and shapes.
    """
    from scipy.optimize import least_squares

    y, names = balance.wrench[:, 5], tuple(balance.model.shapes)

    def residual(x: Array) -> Array:
        z = dict(zip(names, x[10:], strict=True))
        columns = np.stack([c[0] for c in balance.model.columns(balance.kinematics, ARRAYS, z)], axis=1)
        return columns @ np.concatenate([np.exp(x[:6]), x[6:10]]) - y

    start = np.concatenate([np.zeros(10), list(balance.model.shapes.values())])
    low, high = np.full(14, -np.inf), np.full(14, np.inf)
    if bounded:
        low[10:], high[10:] = np.radians([2, 0.3, 2, 0.3]), np.radians([88, 10, 88, 10])
    found = least_squares(residual, start, bounds=(low, high)).x
    return np.concatenate([np.exp(found[:6]), found[6:]])


def rows(rounds: int = 3) -> list[tuple[str, str, str]]:
    """Table rows: what, time, ratio to the ranking."""
    balance = case()
    segments = [(0.0, SECONDS)]
    variants = door_variants(balance.model)
    times = interleaved(
        {
            "ranking": lambda: rank_variants(balance, variants, segments),
            "stack": lambda: stacked_fit(balance, bounded=True),
            "unbounded": lambda: stacked_fit(balance, bounded=False),
            "fit": lambda: fit_shapes(balance, segments, profiles=False),
            "profile": lambda: fit_shapes(balance, segments),
        },
        rounds,
    )
    labels = {
        "ranking": f"palpate: {len(variants)} variants with their zones, 10 folds",
        "stack": "SciPy stack, differences: one variant, bounds given",
        "unbounded": "SciPy stack, differences: one variant",
        "fit": "palpate: zones of one variant",
        "profile": "palpate: zones of one variant with profiles",
    }
    return [(labels[n], f"{times[n]:.2f} s", f"{times[n] / times['ranking']:.2f}") for n in labels]


if __name__ == "__main__":
    for line in rows():
        print(" | ".join(line))
