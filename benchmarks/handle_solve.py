"""Compression + solve of the handle stage (10 theta + 6 bias, lambda 10) against the usual stacked solve."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from palpate.identify import Balance, Prior, bootstrap, build_balance, compress, solve
from palpate.identify.solution import solve_values
from palpate.model import load_object
from palpate.physics.inertia import PHI_NAMES, body_regressor
from palpate.physics.maps import LogCholesky
from palpate.twin.handle import off_by, random_hand, random_handle
from tests.oracles.scipy_stack import solve_stacked

SIGMA = np.array([14.25, 14.25, 19.0, 0.5, 0.5, 0.5])
DAMPING = 10.0
MOST_STACKED_S = 30
"""Seconds of recording up to which the rival with differences is run; the analytic one goes ten times as far."""


def case(seconds: float) -> tuple[Balance, NDArray[np.float64], Prior]:
    rng = np.random.default_rng(0)
    phi = random_handle(rng)
    prior = off_by(rng, phi, 0.2)
    t = 5 + np.arange(int(seconds * 1000)) / 1000
    motion = random_hand(rng, seconds + 10, 9.81).motion(t)
    w = np.empty((len(t), 6))
    for part in np.array_split(np.arange(len(t)), max(1, len(t) // 100_000)):
        w[part] = body_regressor(motion.specific_acceleration[part], motion.omega[part], motion.omega_dot[part]) @ phi
    w += rng.normal(size=w.shape) * [0.2, 0.2, 0.2, 0.01, 0.01, 0.01]
    balance = build_balance(load_object("handle"), motion, w, sigma=SIGMA)
    return balance, prior, Prior(dict(zip(PHI_NAMES, (float(v) for v in prior), strict=True)), 0.2, DAMPING)


def read(balance: Balance) -> float:
    """Read every signal from memory once: the limit."""
    k = balance.kinematics
    signals = (*k.specific_acceleration, *k.omega, *k.omega_dot, *balance.wrench.T)
    return float(sum(np.add.reduce(s) for s in signals))


def rows() -> Iterator[tuple[str, ...]]:
    """Table rows: length, our time with intervals and without, ratios to the rivals and to reading, extra memory.

    The rivals give values alone, so the ratios are those to `values`.
    """
    for seconds, rounds in ((27, 3), (270, 1), (2700, 1)):
        balance, prior_phi, prior = case(seconds)
        segment = [(float(balance.times_s[0]), float(balance.times_s[-1]) + 1e-3)]

        def ours(b: Balance = balance, at: list[tuple[float, float]] = segment, prior: Prior = prior) -> object:
            return solve(compress(b, at), prior=prior)

        def values(b: Balance = balance, at: list[tuple[float, float]] = segment, prior: Prior = prior) -> object:
            return solve_values(compress(b, at), prior=prior)

        times = interleaved({"ours": ours, "values": values, "read": lambda b=balance: read(b)}, 3)
        if seconds <= 10 * MOST_STACKED_S:
            rivals = stacked(balance, prior_phi, differences=seconds <= MOST_STACKED_S)
            measured = interleaved({"ours": ours, "values": values, **rivals}, rounds)
            times |= {name: min(times.get(name, took), took) for name, took in measured.items()}
        ratio = {name: f"{times[name] / times['values']:.0f}" for name in ("differences", "analytic") if name in times}
        yield (
            f"{seconds} s",
            f"{1e3 * times['ours']:.1f} ms",
            f"{1e3 * times['values']:.1f} ms",
            ratio.get("differences", "-") + (" (aim 1000)" if seconds == 27 else ""),
            ratio.get("analytic", "-") + (" (aim 2000)" if seconds == 270 else ""),
            f"{times['values'] / times['read']:.1f}" + (" (aim 2)" if seconds == 2700 else ""),
            f"{peak_memory(ours) / 1e6:.1f} MB",
        )


def stacked(balance: Balance, prior_phi: NDArray[np.float64], *, differences: bool) -> dict[str, Callable[[], object]]:
    """The rivals on the same data, their regressor already built: SciPy with its default tolerances."""
    k = balance.kinematics
    A = body_regressor(*(np.array(x).T for x in (k.specific_acceleration, k.omega, k.omega_dot)))
    theta = LogCholesky().inverse(prior_phi)

    def rival(analytic: bool) -> Callable[[], object]:
        return lambda: solve_stacked(
            A, balance.wrench, balance.weights, theta, DAMPING, tolerance=1e-8, analytic=analytic
        )

    return {"differences": rival(False), "analytic": rival(True)} if differences else {"analytic": rival(True)}


def peak_memory(function: Callable[[], object]) -> int:
    """Bytes that a call allocates at most, beyond what was there."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def replicate_ratio() -> float:
    """How many bootstrap replicates cost as much as one stacked refit with differences, on 27 s."""
    balance, prior_phi, prior = case(27)
    compressed = compress(balance, [(float(balance.times_s[0]), float(balance.times_s[-1]) + 1e-3)])
    solution = solve(compressed, prior=prior)
    count = 50
    times = interleaved(
        {
            "ours": lambda: bootstrap(compressed, solution, replicates=count),
            "rival": stacked(balance, prior_phi, differences=True)["differences"],
        },
        2,
    )
    return times["rival"] / (times["ours"] / count)


HEADINGS = (
    "recording at 1 kHz",
    "compress + solve",
    "values alone",
    "SciPy stack, differences: times slower",
    "SciPy stack, analytic: times slower",
    "times the bare read",
    "extra memory",
)
