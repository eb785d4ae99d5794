"""Motion, parameters, clock and geometry of one recording together, by maximum likelihood (`method: joint`).

The load cells are one more instrument of the motion (`motion.trajectory`): they show y = Y(q, q', q''; z) p. What the
fit of a balance takes as given stands beside its parameters here, held by how well it is known: the clock, zeros, the
places of hinge and sensors, where the object is closed. What is left of the rows after motion and all that are fitted
too is again a balance that is linear in p, so it is solved and judged like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage import slope
from palpate.experiment.stage.fit import Fit, Joint, predict, solve_with, widened
from palpate.experiment.stage.inputs import (
    RINGS,
    Inputs,
    body_wrench,
    low_passed_friction,
    on_slope,
    position_noise,
    rests_of,
    whole_balance,
    zeros_of,
)
from palpate.experiment.stage.lack import white_noise
from palpate.experiment.stage.variations import (
    Variation,
    declared,
    estimated,
    held_shapes,
    with_borders,
    with_estimated,
)
from palpate.identify import Compressed, build_balance
from palpate.identify.balance import Balance
from palpate.identify.pieces import PIECES, SHORTEST_PIECE_S
from palpate.identify.shapes import Profile, Shaped, with_shapes
from palpate.identify.solution import drawn_values
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion.trajectory import Instrument, Path, States, Trajectory
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, runs, symmetric_inverse, triangular
from palpate.physics.motion import Motion
from palpate.progress import Tell, portion, silent

STEPS = (1e-6, 1e-5, 1e-4)
"""Of positions, speeds and accelerations (rad or m, per s, per s2), over which the balance is differenced."""
SHAPE_STEP = 0.1
"""The same of a shape, in standard deviations."""
FREE, SHAPES_FREE = 1e3, 10.0
"""How far parameters (in their own sizes), what the same data told before and shapes (in standard deviations of the
balance's fit) may move.
"""
TOLD_BEFORE = ("clock", "drift", "compensation")
"""Variations that these very data told; the others are known from elsewhere."""
HELD: Mapping[str, float] = {"shape": 1e-6}
"""Variations that stay where they are: the model has them so. Standard deviations they are held to."""
DOUBTED: Mapping[str, float] = {"ground": slope.DOUBTED, "zero": 0.1, "shape": 1.0}
BELIEVED, LIKELY = 0.3, 2.0
"""Geometry that data tell better than to this share of how well it was known, they tell by details of the model that no
real object keeps to: 0.3, less where weight tells it. Farther than so many standard deviations it is not off: something
else takes its place."""
FAR = 0.3
"""Standard deviations that links may be found elsewhere without another look from there."""
REACH = 40
"""Samples that a low-pass may reach."""
LEAST = 1e-4
"""Noise of a row, at least, over what it shows."""


@dataclass(frozen=True, slots=True, eq=False)
class _LoadCells:
    """Y p - y, which would be zero. Constants: p, free shapes, and how far each of the variations is off."""

    inputs: Inputs
    """With the zeros taken out."""
    shapes: tuple[Profile, ...]
    measured: FloatArray
    """(samples, rows): zero, NaN where the balance does not hold."""
    variations: FloatArray
    """(samples, rows, variations): what each changes by one standard deviation."""
    noise: FloatArray
    start: FloatArray
    prior: FloatArray
    columns: tuple[int, ...]
    """Which coordinates of the motion are the object's; it may sway in others, too."""
    name: ClassVar[str] = "the load cells"

    @property
    def alike(self) -> tuple[int, ...]:
        """Each row by itself."""
        return (1,) * len(self.noise)

    def split(self, constants: FloatArray) -> list[FloatArray]:
        """Parameters, shapes, variations."""
        off = len(constants) - self.variations.shape[2]
        return np.split(constants, [off - len(self.shapes), off])

    def model(self, shapes: FloatArray) -> Model:
        """With these free shapes, never beyond their limits."""
        values = {p.name: float(np.clip(x, *p.limits)) for p, x in zip(self.shapes, shapes, strict=True)}
        return with_shapes(self.inputs.model, values)

    def shown(self, z: States, constants: FloatArray) -> FloatArray:
        """(samples, rows)."""
        z, (p, shapes, off) = self._its(z), self.split(constants)
        everything, model = slice(0, len(z[0])), self.model(shapes)
        return self._columns(z, everything, model) @ p - self._measured(z, everything, model) + self.variations @ off

    def shows(self, _: States) -> BoolArray:
        """(rows, constants): all, as far as is known before."""
        return np.ones((len(self.noise), len(self.start)), dtype=bool)

    def rows(self, z: States, constants: FloatArray, here: slice, shows: BoolArray) -> tuple[FloatArray, FloatArray]:
        """By differences for motion and shapes; the columns themselves for the parameters."""
        n, z = z[0].shape[1], self._its(z)
        part, (p, shapes, _) = [x[here] for x in z], self.split(constants)
        model = self.model(shapes)
        base = self._left(part, here, p, model)
        J = np.zeros((*base.shape, n, 3))
        for d, i in np.ndindex(3, len(self.columns)):
            other = [x.copy() for x in part]
            other[d][:, i] += STEPS[d]
            J[:, :, self.columns[i], d] = (self._left(other, here, p, model) - base) / STEPS[d]
        steps = np.diag(SHAPE_STEP / SHAPES_FREE * self.split(self.prior)[1])
        moved = [(self._left(part, here, p, self.model(shapes + s)) - base) / s.sum() for s in steps]
        K = [self._columns(z, here, model), *(x[..., None] for x in moved), self.variations[here]]
        seen = np.isfinite(self.measured[here])
        return np.where(seen[..., None, None], J, 0.0), np.where(
            seen[..., None], np.concatenate(K, axis=2)[..., shows], 0.0
        )

    def _its(self, z: States) -> States:
        return [x[:, list(self.columns)] for x in z]

    def _columns(self, z: States, here: slice, model: Model) -> FloatArray:
        """(samples, rows, parameters), low-passed as the load cells are for this rate.

        Friction changes its side in no time; what is left of such a step below half the rate rings before and after.
        """
        around = slice(max(0, here.start - REACH), min(len(z[0]), here.stop + REACH))
        balance = low_passed_friction(self.inputs, self._balance([x[around] for x in z], around, model))
        return _rows(balance)[here.start - around.start :, :, :-1][: here.stop - here.start]

    def _measured(self, z: States, here: slice, model: Model) -> FloatArray:
        """(samples, rows)."""
        return _rows(self._balance([x[here] for x in z], here, model))[..., -1]

    @property
    def ones(self) -> FloatArray:
        """Weights of rows that are weighted elsewhere."""
        return np.ones(len(self.noise))

    def _balance(self, z: States, here: slice, model: Model) -> Balance:
        """Of the samples `here`, unfiltered."""
        inputs = replace(self.inputs, times_s=self.inputs.times_s[here], measured=self.inputs.measured[:, here])
        motion = _motion(inputs, model, z)
        return build_balance(model, motion, body_wrench(inputs, motion), sigma=self.ones, effort=inputs.effort)

    def _left(self, z: States, here: slice, p: FloatArray, model: Model) -> FloatArray:
        """Y p - y, (samples, rows), unfiltered."""
        return self._balance(z, here, model).combined(np.append(p, -1.0))[0].T


def _motion(inputs: Inputs, model: Model, z: States) -> Motion:
    mechanism = model.mechanism
    states = np.hstack([z[0], mechanism.speeds_of(z[0], z[1])])
    return on_slope(mechanism.motion(inputs.times_s, states, mechanism.accelerations_of(*z)), inputs)


def _rows(balance: Balance) -> FloatArray:
    """(samples, rows, parameters + 1) of all samples."""
    t = balance.times_s
    return balance.rows((float(t[0]), float(t[-1]) + 0.5 / rate_hz(t)))


def joint(fit: Fit, besides: Sequence[Variation] = (), tell: Tell = silent) -> Fit:
    """The fit with a solution by everything together, started from its own.

    besides: whatever else was estimated along with the parameters.
    """
    together = _joint(fit, besides, portion(tell, 0.0, 0.6))
    found = _links_off(together)
    if np.abs(found).max(initial=0.0) > FAR:  # what they do is not linear: once more where they were found
        mechanism = fit.inputs.mechanism.with_sizes(_sizes(together.inputs.mechanism))
        inputs = fit.inputs.with_model(replace(fit.inputs.model, mechanism=mechanism))
        balance, (_, solution) = whole_balance(inputs, fit.moved, fit.balance), fit.again(inputs)
        besides = [replace(v, inputs=v.inputs.with_model(inputs.model)) for v in besides]
        together = _joint(
            replace(fit, inputs=inputs, balance=balance, solution=solution), besides, portion(tell, 0.6, 1.0), found
        )
    inputs, near = together.inputs, fit.prediction
    balance = whole_balance(inputs, fit.moved, fit.balance)
    prediction = predict(inputs, fit.moved, balance, together.p, near.segments, near)
    return replace(together, balance=balance, prediction=prediction)


def _links_off(fit: Fit) -> FloatArray:
    """By how many standard deviations links were found to be longer."""
    return np.array([by for name, by in (() if fit.joint is None else fit.joint.off) if name == "links"])


def _joint(fit: Fit, besides: Sequence[Variation], tell: Tell, found: FloatArray | None = None) -> Fit:
    """By linear effects of all that stands beside the parameters. found: links are longer by that already (`off`)."""
    tell("varying what stands beside the parameters", 0.0)
    inputs, untried = fit.inputs, dict[str, str]()
    links = _links(inputs, untried)
    variations = (*(v for v in estimated(inputs) if v.name != "motion"), *held_shapes(fit), *besides, *links)
    variations = [(v, moved) for v in variations if (moved := _balance_with(fit, v, untried)) is not None]
    names = [v.name for v, _ in variations]
    before = np.zeros(len(names))
    if found is not None and names.count("links") == len(found):
        before[[name == "links" for name in names]] = found
    cells, smoothed = _load_cells(fit, variations, before), inputs.smoothed
    if smoothed is None:
        trajectory, begin = Trajectory(inputs.times_s, inputs.q, position_noise(inputs), (cells,)), None
    else:
        instruments: tuple[Instrument, ...] = (*smoothed.trajectory.instruments, cells)
        trajectory, begin = replace(smoothed.trajectory, instruments=instruments), _begin(smoothed.path, cells, fit)

    def say(number: int) -> None:
        """How many rounds it takes is not known: each takes a quarter of what is left."""
        tell(f"estimating motion and parameters together, round {number + 1}", 0.1 + 0.4 * (1 - 0.75**number))

    path = trajectory.solve(begin, for_constants=True, each=say)
    tell("eliminating the motion", 0.5)
    _, shapes, off = cells.split(path.constants[-len(cells.start) :])
    beside = _beside(trajectory, path, cells)
    model = _on_links(cells.model(shapes), [v for v, _ in variations], off, untried)
    train = _compressed(model, beside, cells.measured, inputs.rate_hz)
    inputs = inputs.with_model(train.model)
    solution = solve_with(inputs, train, start=fit.solution.theta)
    tell("comparing with the balance", 0.8)
    noise, apart = path.sigma[-len(cells.noise) :], with_estimated(fit, links).solution
    stds = {e.name: (solution[e.name].value - e.value) / max(e.noise, 1e-300) for e in apart.estimates if e.ci95}
    excess = float(np.sqrt(np.mean(np.diag(solution.uncertainty.noise))))
    wanted = tuple(zip(names, (off + before).tolist(), strict=True))
    fit = replace(fit, inputs=inputs, solution=solution, shaped=_moved(fit.shaped, cells, shapes), untried=untried)
    fit = replace(fit, joint=Joint(noise, wanted, excess, stds, apart))
    return replace(fit, solution=widened(fit, _squares(fit, beside)), shaped=with_borders(fit))


def _links(inputs: Inputs, untried: dict[str, str]) -> tuple[Variation, ...]:
    """Each length of the linkages off by how well it is known, where the experiment file does not say that."""
    try:
        return tuple(declared(inputs, {"links": inputs.links_std_m} if inputs.links_std_m > 0 else {}))
    except PalpateError as error:  # neither longer nor shorter ones can be assembled
        untried["links"] = str(error)
        return ()


def _on_links(model: Model, variations: Sequence[Variation], off: FloatArray, untried: dict[str, str]) -> Model:
    """With links as long as they were found: parameters hold for these."""
    mechanism = model.mechanism
    stated = _sizes(mechanism)
    found = dict(stated)
    for v, by in zip(variations, off.tolist(), strict=True):
        for name, size in _sizes(v.inputs.mechanism).items() if v.name == "links" else ():
            found[name] += by * (size - stated[name])
    try:
        return replace(model, mechanism=mechanism.with_sizes(found))
    except PalpateError as error:
        untried["links"] = str(error)
        return model


def _sizes(mechanism: Mechanism) -> dict[str, float]:
    return {name: size for name, (size, _) in mechanism.sizes.items()}


def _balance_with(fit: Fit, variation: Variation, untried: dict[str, str]) -> Balance | None:
    try:
        return fit.with_inputs(variation.inputs)[1]
    except PalpateError as error:  # links no longer reach, or the like
        untried[variation.name] = str(error)
        return None


def _load_cells(fit: Fit, variations: Sequence[tuple[Variation, Balance]], before: FloatArray) -> _LoadCells:
    """before (variations,): by how many standard deviations each is off already from where it was thought to be."""
    inputs, v = fit.inputs, np.append(fit.p, -1.0)
    everywhere = replace(fit.balance, used=None)
    (left,) = everywhere.combined(v)
    changes = [replace(moved, used=None).combined(v)[0] - left for _, moved in variations]
    used = ~_near_rest(fit.moved.resting) & inputs.inside(fit.plan.segments) & np.isfinite(left).all(axis=0)
    used &= True if fit.balance.used is None else fit.balance.used
    zeros, shaped = zeros_of(inputs), fit.shaped
    free = () if shaped is None else tuple(shaped[n] for n in shaped.names if shaped[n].interval is not None)
    at = [] if shaped is None else [shaped.names.index(p.name) for p in free]
    stds = np.zeros(0) if shaped is None else np.sqrt(np.diag(shaped.covariance))[at]
    own = np.maximum(np.abs(fit.p), 1e-3 * np.abs(fit.p).max())
    held = [FREE if v.name in TOLD_BEFORE else HELD.get(v.name, 1.0) for v, _ in variations]
    return _LoadCells(
        inputs=replace(inputs, measured=inputs.measured - zeros[:, None], zero="none"),
        shapes=free,
        measured=np.where(used[:, None], np.zeros_like(left.T), np.nan),
        variations=np.nan_to_num(np.array(changes).reshape(-1, *left.shape)).transpose(2, 1, 0),
        noise=np.maximum(_noise(fit), LEAST * np.nanstd(_rows(everywhere)[..., -1], axis=0) + 1e-9),
        start=np.concatenate([fit.p, [p.value for p in free], -before]),
        prior=np.concatenate([FREE * own, SHAPES_FREE * stds, held]),
        columns=tuple(range(inputs.q.shape[1])) if inputs.smoothed is None else inputs.smoothed.columns,
    )


def _noise(fit: Fit) -> FloatArray:
    """(rows,): what the white noise of the load cells is in the measured rows at the reference's rate, N and N m."""
    inputs, rng = fit.inputs, np.random.default_rng(0)
    wrench = np.zeros((len(inputs.times_s), 6))
    for sensor in inputs.sensors:
        share = min(1.0, inputs.rate_hz / rate_hz(sensor.wrench.times_s))
        wrench += sensor.to_body(rng.normal(size=wrench.shape) * white_noise(sensor.wrench) * share**0.5)
    return np.nanstd(_rows(replace(fit.balance, wrench=wrench, used=None))[..., -1], axis=0)


def _near_rest(resting: BoolArray) -> BoolArray:
    """Where it rests, and as far from longer rests as the unknown friction there still rings."""
    near = resting.copy()
    for a, b in runs(rests_of(resting)):
        near[max(0, a - RINGS) : b + RINGS] = True
    return near


def _begin(path: Path, cells: _LoadCells, fit: Fit) -> Path:
    """Where the instruments of the motion alone ended."""
    return replace(
        path,
        constants=np.concatenate([path.constants, cells.start]),
        sigma=np.concatenate([path.sigma, np.maximum(fit.level, cells.noise)]),
        counts=np.hstack([path.counts, np.isfinite(cells.measured)]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """What is left for the parameters once all that stands beside them is fitted too."""

    rows: FloatArray
    """(samples, rows, parameters + 1): columns, and y; each over its noise."""
    believed: FloatArray
    """(beliefs, parameters + 1): the same of what is believed of the rest, each with a standard deviation of one."""
    slopes: FloatArray
    """(parameters, variations): how the parameters follow a variation that the data are not asked about."""


def _beside(trajectory: Trajectory, path: Path, cells: _LoadCells) -> _Beside:
    kept = slice(len(path.constants) - len(cells.start), len(path.constants))
    rows, believed = trajectory.eliminated(path, kept)
    constants, flat = path.constants[kept], np.concatenate([rows.reshape(-1, rows.shape[2]), believed])
    count, inner = len(cells.split(constants)[0]), flat[:, :-1].T @ flat[:, :-1]
    p, z = slice(0, count), slice(count, len(constants))
    inner[z, z] += np.diag(cells.prior[z] ** -2.0)
    follow = -symmetric_inverse(inner[z, z]) @ inner[z, p]
    onto = np.concatenate([np.eye(count), follow])
    own = np.column_stack([follow, (cells.start - constants)[z]]) / cells.prior[z, None]
    believed = np.concatenate([np.column_stack([believed[:, :-1] @ onto, believed[:, -1]]), own])
    rows = np.concatenate([rows[..., :-1] @ onto, rows[..., -1:]], axis=2)
    for each in (rows, believed):
        each[..., -1] += each[..., :-1] @ constants[p]
    slopes: list[FloatArray] = []
    for k in range(len(constants) - cells.variations.shape[2], len(constants)):
        others = np.delete(np.arange(len(constants)), k)
        slopes.append(-(symmetric_inverse(inner[np.ix_(others, others)]) @ inner[others, k])[p])
    return _Beside(rows, believed, np.array(slopes).reshape(-1, count).T)


def _compressed(model: Model, beside: _Beside, measured: FloatArray, rate_hz: float) -> Compressed:
    """In pieces with equally many samples at which the balance holds; what lies between goes along."""
    used, count = np.isfinite(measured).all(axis=1), beside.rows.shape[2]
    each = max(int(SHORTEST_PIECE_S * rate_hz), -(-int(used.sum()) // PIECES), 1)
    ends = np.flatnonzero(used)[each::each]
    parts = [x.reshape(-1, count) for x in np.split(beside.rows, ends)]
    parts[-1] = np.concatenate([parts[-1], beside.believed])
    return Compressed(
        model=replace(model, values={}),
        roots=np.array([triangular(x) for x in parts])[:, None],
        lift=np.eye(count)[None],
        samples=np.array([x.sum() for x in np.split(used, ends)]),
        low=np.zeros((len(parts), 1)),
        high=np.ones((len(parts), 1)),
        weights=np.ones(1),
    )


def _moved(shaped: Shaped | None, cells: _LoadCells, shapes: FloatArray) -> Shaped | None:
    """The shapes where everything together has them, known as well as before."""
    if shaped is None:
        return None
    by = {p.name: float(np.clip(x, *p.limits)) - p.value for p, x in zip(cells.shapes, shapes, strict=True)}
    values = shaped.values + [by.get(name, 0.0) for name in shaped.names]
    return replace(
        shaped,
        model=cells.model(shapes),
        values=values,
        profiles=tuple(p.moved(by[p.name]) if p.name in by else p for p in shaped.profiles),
    )


def _squares(fit: Fit, beside: _Beside) -> dict[str, float]:
    """Estimate -> variance from what is only believed: each of its rows has a standard deviation of one.

    To it comes that of shapes that stay as given, all of it, and of geometry: it is not believed beyond `DOUBTED`, nor
    beyond as far as the data moved it and are not `LIKELY` to. No interval is narrower than the Cramér-Rao bound.
    """
    solution, off = fit.solution, () if fit.joint is None else fit.joint.off
    map_, theta = solution.problem.map_, solution.theta
    P, T = map_.jacobian(theta), solution.uncertainty.whiten
    known = np.array([name not in TOLD_BEFORE for name, _ in off], dtype=bool)
    believed = P @ T @ (T.T @ (P.T @ beside.believed[:, :-1].T))
    least = [DOUBTED.get(name, BELIEVED) for name, _ in off]
    doubts = np.maximum(least, np.abs([by for _, by in off]) - LIKELY)[known] * beside.slopes[:, known]
    moves, here = np.hstack([believed, doubts, P @ T]), drawn_values(map_, solution.p)
    squares = np.array([(drawn_values(map_, solution.p + m) - here) ** 2 for m in moves.T])
    others, bound = np.split(squares, [len(squares) - T.shape[1]])
    noise = np.array([e.noise for e in solution.estimates])
    total = others.sum(axis=0) + np.maximum(bound.sum(axis=0) - noise**2, 0.0)
    return dict(zip((e.name for e in solution.estimates), total.tolist(), strict=True))
