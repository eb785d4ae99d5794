"""What compressed data tell beside the parameters: turned axes, the weakest direction, cross-validation, bootstrap."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from palpate.errors import DataProblem
from palpate.identify.balance import Compressed
from palpate.identify.problem import LAGS, search, unconstrained
from palpate.identify.solution import Solution, Status
from palpate.model import Model
from palpate.motion.plausibility import signed_permutations
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import DRAWING_NAMES, DRAWING_UNITS, drawing_jacobian
from palpate.physics.maps import Body
from palpate.physics.motion import Kinematics, nearest_rotation
from palpate.physics.units import share_text

TURNED_DEG = 3.0
"""A load cell's cross-talk of a few percent looks like a degree or two."""
MISMATCH = 3.0
"""A lever arm that is off by the way to the centre of mass looks like a factor of two."""
ALIKE = 0.03
"""Elements whose columns differ by a smaller share are not told apart: no spring, weight or friction keeps to its law
so well. A polynomial or a table takes a weight over but for 0.0001 to 0.02, a strut of known rate but for 0.04.
"""
RANK = 1e-6
"""Share of the largest singular value below which columns of one element are one."""
_CLEAR = 0.5
"""A signed permutation is believed when it leaves less than this share of what the stated axes leave."""
_STILL = Kinematics((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), {})
_PERMUTATIONS = signed_permutations()


def axis_problems(compressed: Compressed) -> tuple[str, ...]:
    """What the load cell's axes are against the IMU's, in words; empty where they agree or the data do not tell.

    Whatever the body, its force follows the acceleration with the mass and its moment with the first moments of mass:
    f = m a + ..., n = h x a + ... A free regression shows these two 3 x 3 matrices as the data have them. Anything but
    m 1 and a skew matrix is a turned, swapped or mirrored axis.
    """
    regression = _regression(compressed)
    if regression is None:
        return ()
    followed, std = regression
    return _force_problem(followed[0][:3], std[0, 0]) or _moment_problem(followed[0][3:], std[0, 1])


def scale_problems(compressed: Compressed) -> tuple[str, ...]:
    """Forces and moments whose units do not fit together.

    The first moments of mass stand in the forces, f = ... - h x omega_dot, and in the moments, n = h x a + ...: with
    right units they are the same.
    """
    regression = _regression(compressed)
    if regression is None:
        return ()
    followed, std = regression
    in_force, in_moment = -_axial(followed[1][:3]), _axial(followed[0][3:])
    size_f, size_m = float(np.linalg.norm(in_force)), float(np.linalg.norm(in_moment))
    if size_f < 20 * std[1, 0] or size_m == 0.0 or float(in_force @ in_moment) < 0.9 * size_f * size_m:
        return ()
    ratio = size_m / size_f
    if 1 / MISMATCH < ratio < MISMATCH:
        return ()
    return (
        f"the load cell's moments are {ratio:.3g} times what its forces and the motion imply: check the units of "
        "forces and moments (N mm for N m? lbf for N?)",
    )


def _regression(compressed: Compressed) -> tuple[tuple[FloatArray, FloatArray], FloatArray] | None:
    """How the wrench (rows) follows acceleration and omega_dot (columns); stds [of these, forces or moments]."""
    model = compressed.model
    if compressed.roots.shape[1] != 1 or len(compressed.weights) != 6:
        return None
    at = 0
    for element in model.elements:
        if any(p.map == "inertia" for p in element.parameters):
            break
        at += len(element.features(_STILL, {}, FLOATS))
    else:
        return None
    stacked = compressed.roots[:, 0].reshape(-1, compressed.roots.shape[3])
    gram, k = stacked.T @ stacked, compressed.roots.shape[3] - 6
    inverse = symmetric_inverse(gram[:k, :k])
    B = inverse @ gram[:k, k:]
    left = np.diag(gram[k:, k:] - B.T @ gram[:k, k:]) / max(float(compressed.samples.sum()), 1.0)
    spread = [np.diag(inverse)[a : a + 3].max() for a in (at, at + 3)]
    size = [left[rows].max() for rows in (slice(0, 3), slice(3, 6))]
    std = np.sqrt(np.maximum(spread, 0.0))[:, None] * np.sqrt(np.maximum(size, 0.0))
    return (B[at : at + 3].T, B[at + 3 : at + 6].T), std


def _force_problem(M: FloatArray, std: float) -> tuple[str, ...]:
    """M = m 1 where the axes agree; m P with a signed permutation where they are swapped; m R where they are turned."""
    size = float(np.linalg.norm(M) / np.sqrt(3))
    if size < 20 * std:
        return ()
    P = min(_PERMUTATIONS, key=lambda Q: float(np.linalg.norm(M / size - Q)))
    if np.array_equal(P, -np.eye(3)):
        return ()  # minus one: the wrench's sign, which the mass tells
    off = float(np.linalg.norm(M / size - np.eye(3)))
    if not np.array_equal(P, np.eye(3)) and float(np.linalg.norm(M / size - P)) < _CLEAR * off:
        kind = "turned" if np.linalg.det(P) > 0 else "mirrored (left-handed)"
        return (
            f"the load cell's forces follow other axes of the IMU: {_swaps(P, 'f', 'a')}; the axes are {kind} against "
            "each other: check the order and signs of the channels, and imu_pose.rotation",
        )
    if np.linalg.det(M) <= 0:
        return ()
    R = nearest_rotation(M / size, tolerance=np.inf)
    angle = float(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))
    if angle > max(TURNED_DEG, np.degrees(10 * std / size)) and float(np.linalg.norm(M / size - R)) < _CLEAR * off:
        axis = _axial(R)
        axis = np.round(axis / max(float(np.linalg.norm(axis)), 1e-300), 1) + 0.0  # no minus zero
        return (
            f"the load cell's forces follow the IMU's accelerations turned by {angle:.0f} deg about "
            f"({axis[0]:g}, {axis[1]:g}, {axis[2]:g}): check imu_pose.rotation",
        )
    return ()


def _axial(S: FloatArray) -> FloatArray:
    """The vector of the skew part of a matrix: S x = v x x."""
    return np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2


def _moment_problem(N: FloatArray, std: float) -> tuple[str, ...]:
    """N is skew where the moments' axes are those of the forces; P N where they are swapped."""
    if float(np.linalg.norm(N)) < 20 * std:
        return ()
    scores = [float(np.linalg.norm(P.T @ N + N.T @ P)) for P in _PERMUTATIONS]
    here = float(np.linalg.norm(N + N.T))
    best = int(np.argmin(scores))
    P = _PERMUTATIONS[best]
    # a skew matrix of one entry is skew in several orders of its axes: only a clear case counts
    if here < 0.3 * float(np.linalg.norm(N)) or scores[best] > 0.1 * here:
        return ()
    also = [Q for Q, score in zip(_PERMUTATIONS, scores, strict=True) if score <= 2 * scores[best] + 5 * std]
    certain = f": {_swaps(P, 'n', 'n')}" if len(also) == 2 else ""  # P and -P look alike
    return (
        "the load cell's moments do not match its forces and the IMU's axes"
        f"{certain}: check the order and signs of the moment channels",
    )


def _swaps(P: FloatArray, left: str, right: str) -> str:
    """'f_x follows -a_y' for each axis that is not its own."""
    parts: list[str] = []
    for i, name in enumerate("xyz"):
        j = int(np.abs(P[i]).argmax())
        if i != j or P[i, j] < 0:
            parts.append(f"{left}_{name} follows {'-' if P[i, j] < 0 else ''}{right}_{'xyz'[j]}")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Weakness:
    """The combination of parameters that the data hold least: they may change so together, and nothing shows it."""

    changes: Mapping[str, float]
    """By parameter, in its unit: one standard deviation along the direction."""
    relative: float
    """The same as a fraction of the body, or of the parameters that change most: 0.01 is one percent."""
    first: str
    """The parameter that changes most."""
    text: str


def weakest_direction(solution: Solution) -> Weakness | None:
    """The weakest direction of the (first) rigid body of a solution, else of its free parameters; None: one alone."""
    bodies = solution.problem.map_.bodies
    return _of_body(solution, bodies[0]) if bodies else _of_parameters(solution)


def _of_body(solution: Solution, body: Body) -> Weakness:
    """In natural coordinates of the body, with everything else projected out."""
    part, ps, ts = body
    map_, phi = solution.problem.map_, solution.p[ps]
    J = solution.problem.R[:, :-1] @ map_.natural(solution.p)
    use, others = J[:, ts], np.delete(J, ts, axis=1)
    if others.shape[1]:
        basis = np.linalg.qr(others)[0]
        use = use - basis @ (basis.T @ use)
    _, s, Vt = np.linalg.svd(use)
    relative = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
    changes = drawing_jacobian(phi) @ part.natural(phi) @ Vt[-1] * relative
    half_trace = (phi[4] + phi[7] + phi[9]) / 2
    scale = np.array([phi[0]] + [np.sqrt(half_trace / phi[0])] * 3 + [half_trace] * 6)
    share = np.abs(changes) / scale
    chosen = [int(i) for i in np.argsort(share)[::-1] if share[i] > 0.4 * share.max()][:3]
    changes *= np.sign(changes[chosen[0]])  # a singular vector's own is arbitrary
    words = _words(solution.model, DRAWING_NAMES, DRAWING_UNITS, changes, chosen, f"{_of(relative)} the body")
    named = {name: float(c) for name, c in zip(DRAWING_NAMES, changes, strict=True)}
    return Weakness(named, relative, DRAWING_NAMES[chosen[0]], words)


def _of(share: float) -> str:
    """ "12 % of" or "11 times", before what it is a share of."""
    return share_text(share) if share >= 1 else f"{share_text(share)} of"


def _of_parameters(solution: Solution) -> Weakness | None:
    """The last right singular vector of the compressed columns, scaled to length one. None: only one is free."""
    p, model = solution.p, solution.model
    fixed = {e.name for e in solution.estimates if e.status is Status.FIXED}
    R = solution.problem.R[:, :-1]
    size = np.linalg.norm(R, axis=0)
    free = np.array([n not in fixed for n in model.parameters]) & (size > 0)
    if free.sum() < 2:
        return None
    _, s, Vt = np.linalg.svd(R[:, free] / size[free])
    std = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
    parts = np.zeros(len(p))
    parts[free] = Vt[-1]
    parts *= np.sign(parts[np.abs(parts).argmax()])
    changes = np.where(free, parts * std / np.where(free, size, 1.0), 0.0)
    names, units = list(model.parameters), [q.unit for q in model.parameters.values()]
    chosen = [int(i) for i in np.argsort(-np.abs(parts)) if abs(parts[i]) > 0.3 * np.abs(parts).max()][:4]
    relative = float(max(abs(changes[i]) / max(abs(p[i]), 1e-12) for i in chosen))
    words = _words(model, names, units, changes, chosen, f"up to {_of(relative)} the value")
    return Weakness({names[i]: float(changes[i]) for i in np.flatnonzero(free)}, relative, names[chosen[0]], words)


def _words(
    model: Model, names: Sequence[str], units: Sequence[str], changes: FloatArray, chosen: Sequence[int], size: str
) -> str:
    """Which parameters trade off, by how much, and the motion that would tell them apart."""
    parts = ", ".join(f"{names[i]} {changes[i]:+.2g} {units[i]}" for i in chosen)
    if len(chosen) > 1:
        what = f"{', '.join(names[i] for i in chosen[:-1])} and {names[chosen[-1]]} trade off ({parts})"
    else:
        what = f"{names[chosen[0]]} is the least well known ({parts})"
    advice = model.advice(names[chosen[0]])
    return f"{what}, one standard deviation, {size}" + (f"; to know it better, {advice}" if advice else "")


@dataclass(frozen=True, slots=True)
class Lookalike:
    """Two elements of which each can do, in these data, what the other does."""

    elements: tuple[str, str]
    left: float
    """Share of either that the other cannot take over."""
    parameters: tuple[str, ...]
    """Those that change when one takes over."""


def lookalikes(solution: Solution, besides: Collection[str] = ()) -> Iterator[Lookalike]:
    """Pairs of elements with nearly the same columns, `besides` some parameters that are known otherwise.

    The sine of the smallest angle between what the columns of two elements span (Björck and Golub 1973, Math. Comp.
    27:579). What noise makes of such a pair is in the intervals; but no element keeps to its law so well, and what one
    departs from it, the other takes, many times as large.
    """
    model, R = solution.model, solution.problem.R[:, :-1]
    sizes = np.linalg.norm(R, axis=0)
    known = {*besides, *(e.name for e in solution.estimates if e.status is Status.FIXED)}
    free = {name: i for i, name in enumerate(model.parameters) if name not in known and sizes[i] > 0}
    own = [(e.name, [free[n] for n in model.names_of(e) if n in free]) for e in model.elements if not e.instrument]
    names = list(model.parameters)
    for (a, of_a), (b, of_b) in combinations([(name, at) for name, at in own if at], 2):
        A, B = R[:, of_a] / sizes[of_a], R[:, of_b] / sizes[of_b]
        (all_of_a, s, Vt), basis = np.linalg.svd(A, full_matrices=False), np.linalg.svd(B, full_matrices=False)
        kept = s > RANK * s[0]
        U, Q = all_of_a[:, kept], basis[0][:, basis[1] > RANK * basis[1][0]]
        _, sines, turned = np.linalg.svd(U - Q @ (Q.T @ U), full_matrices=False)
        common = turned[sines <= ALIKE].T  # of length one: what both can do
        if not common.size:
            continue
        share = np.zeros((len(names), common.shape[1]))
        share[of_a] = Vt[kept].T @ (common / s[kept, None])
        share[of_b] = np.linalg.lstsq(B, U @ common, rcond=RANK)[0]
        share = np.abs(share).max(axis=1)
        moved = share > 0.1 * share.max()
        yield Lookalike((a, b), float(sines[-1]), tuple(n for n, there in zip(names, moved, strict=True) if there))


OUTLYING = 4.0
"""A piece whose mean square residual exceeds the median by this factor counts less, in proportion."""


def cross_validate(compressed: Compressed, solution: Solution, *, folds: int = 5) -> FloatArray:
    """RMS per row on pieces that the fit had not seen: each of `folds` consecutive stretches is left out once."""
    which = np.arange(len(compressed.samples)) * folds // len(compressed.samples)
    squares = np.zeros(len(compressed.weights))
    for fold in range(folds):
        kept = compressed.select(np.flatnonzero(which != fold))
        p = _refit(kept, solution, None)
        squares += compressed.select(np.flatnonzero(which == fold)).squares(p).sum(axis=0)
    return np.sqrt(squares / compressed.samples.sum())


def bootstrap(compressed: Compressed, solution: Solution, *, replicates: int = 200, seed: int = 0) -> FloatArray:
    """Parameters of fits to pieces drawn again with replacement, (replicates, parameters).

    Runs of neighbouring pieces are drawn together, around the end as well (circular block bootstrap: Politis & Romano
    1992), as long as the sandwich looks for correlation between them: both then tell the same noise.
    """
    rng = np.random.default_rng(seed)
    pieces = len(compressed.samples)
    length = min(LAGS + 1, max(1, pieces // 5))
    starts = rng.integers(pieces, size=(replicates, -(-pieces // length)))
    drawn = (starts[:, :, None] + np.arange(length)).reshape(replicates, -1)[:, :pieces] % pieces
    draws = np.array([np.bincount(row, minlength=pieces) for row in drawn], dtype=float)
    return np.array([_refit(compressed, solution, draw) for draw in draws])


def robust(compressed: Compressed) -> tuple[Compressed, FloatArray]:
    """Weigh pieces by how badly an unconstrained fit explains them, again and again until the weights settle.

    -> the compressed balance in which pieces that do not fit count less, and the weights (pieces,), usually 1.

    A piece counts in inverse proportion to its mean square beyond the limit, as in a fit to Student's t noise of which
    each piece has its own size (iteratively reweighted: Lange et al. 1989, JASA 84:881).
    """
    weights = np.ones(len(compressed.samples))
    for _ in range(10):
        p = unconstrained(_factor(_weigh(compressed, weights), None))
        misfit = (compressed.squares(p) * compressed.weights**2).sum(axis=1) / compressed.samples
        new = np.minimum(1.0, OUTLYING * np.median(misfit) / np.maximum(misfit, 1e-300))
        if np.allclose(new, weights, atol=1e-3):
            break
        weights = new
    return _weigh(compressed, weights), weights


def _weigh(compressed: Compressed, weights: FloatArray) -> Compressed:
    column = weights[:, None, None, None]
    noise = None if compressed.noise is None else compressed.noise * column
    return replace(compressed, roots=compressed.roots * np.sqrt(column), noise=noise)


def _factor(compressed: Compressed, draws: FloatArray | None) -> FloatArray:
    """The factor of some pieces; with the motion's noise left in where these move too little to take it out."""
    try:
        return compressed.factor(draws)
    except DataProblem:
        return replace(compressed, noise=None).factor(draws)


def _refit(compressed: Compressed, solution: Solution, draws: FloatArray | None) -> FloatArray:
    """The parameters of the same problem on other pieces, from the solution on."""
    problem = replace(solution.problem, R=_factor(compressed, draws))
    return problem.map_.forward(search(problem, solution.theta, polish=False).theta)
