"""Whether a model is safe to render: no step creates energy, how long a step may be, how it bears a stiff hand, and
whether what is left of its uncertainty could be felt.

The account of a step from (q, v) to (q', u):  created = T' - T + what springs, weight and stops took - work put in.
A passive object only ever takes. Of first order in the step, springs may give back what they have not got: this is the
number to look at.

Felt: the intervals beside published thresholds of people. A threshold is a Weber fraction: the smallest relative change
that people notice when nothing else changes. In an object that has everything at once they notice less: the threshold
of damping grows with the forces of mass and stiffness (Fu, Landman, van Paassen and Mulder 2018, IEEE Trans. Human-
Machine Systems 48(4), 359-368): for a parameter this comparison is strict. For the force on data not seen it is not:
there only the RMS error over the range is known, while a person compares with the force of the moment, which is
smaller. Springs that are a curve are not judged at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from palpate.elements import Element, Parameter
from palpate.errors import PalpateError
from palpate.files import finite
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import ARRAYS
from palpate.rendering.hand import Hand, grip_of, held_state
from palpate.rendering.robot import Inner
from palpate.rendering.stability import Line, edge, limits_of, line_of
from palpate.runtime.replay import drive_wrench
from palpate.runtime.stepper import Stepper, StepStatus, feet_height, has_feet, moving_range

_GAUSS = np.polynomial.legendre.leggauss(5)
"""Springs and stops are integrated along a step: nodes in each of some pieces."""
_REGAINED = 0.02
"""Part of the kinetic energy that an object left alone may win; where it wins more, the step is too long."""
_ENERGY_ROUNDING = 1e-9
"""Part of the energy that moves in a step which rounding may create."""
_SUNK_M = 2e-3
"""m that feet may be in the ground in a random state: they stand; deeper, the stops hold energy that nobody put in."""
_LONGEST_STEP_S, _FINEST_S = 0.1, 2.5e-4
_ARM_KG = 7.0
"""Of the built-in arm at its tip (`Arm.effective_mass`)."""
_EVERYDAY_SPEED = {"rad": 3.0, "m": 1.0}
"""Everyday speeds of a main coordinate, by its unit."""
_EVERYDAY = {
    **{"x": 1.0, "y": 1.0, "yaw": math.pi, "camber": 0.4, "pitch": 0.6},
    **{"forward_speed": 1.5, "sideways_speed": 1.0, "yaw_rate": 1.5, "camber_rate": 1.0, "pitch_rate": 2.0},
}
"""Everyday positions and speeds of what rolls, by the names in its state."""
_DRAWS = 60


@dataclass(frozen=True, slots=True)
class Audit:
    """What random steps and objects left alone did with energy."""

    steps: int
    dt: float
    created_j: float
    """Largest energy that one step created, J; negative where every step took some."""
    created_part: float
    """Largest energy that a step created, as part of the energy that moved in it."""
    unexplained_part: float
    """The same without what springs explain. A spring of one freedom is stepped at the force where the step begins, so
    that a step creates V(q') - V(q) - V'(q) (q' - q), k (u dt)^2 / 2 of a straight one, and gives it back later."""
    regained_part: float
    """Of objects left alone: what the second half of a run has above the first, as part of the kinetic energy."""
    held: int
    """Number of steps that led nowhere."""

    @property
    def passive(self) -> bool:
        """Whether nothing that could be felt comes from nothing."""
        fine = self.created_part < 1e-3 and self.unexplained_part < _ENERGY_ROUNDING and self.regained_part < _REGAINED
        return self.held == 0 and fine


@dataclass(frozen=True, slots=True)
class Coupling:
    """How a robot bears a hand that holds the object."""

    robot: str
    line: Line
    limits: dict[str, float]
    """As `limits_of` names them."""


_UNIT_SAID = {"stiffest_hand": "stiffest_hand_N_per_m", "smallest_inertia": "smallest_inertia_kg"}


def audit(model: Model, *, dt: float = 1e-3, count: int = 2000, seed: int = 0) -> Audit:
    """Random states under random wrenches, one step each; then objects that are left alone."""
    rng = np.random.default_rng(seed)
    model = _forward(model)
    stepper = Stepper(model, dt)
    before = random_states(model, rng, count)
    wrenches = np.column_stack([rng.uniform(-100, 100, (count, 3)), rng.uniform(-40, 40, (count, 3))])
    out, after, held = [0.0] * stepper.size, np.empty_like(before), np.zeros(count, dtype=bool)
    for i in range(count):
        stepper.reset(before[i])
        held[i] = stepper.step(wrenches[i], out) is StepStatus.NOT_FINITE
        after[i] = out[: before.shape[1]]
    created, moved = _account(model, before, after, wrenches, dt)
    unexplained = (created - _of_springs(model, before, after, dt)) / moved
    regained, lost = _left_alone(model, dt, rng)
    most, part, odd = (float(x.max()) for x in (created, created / moved, unexplained))
    return Audit(count, dt, most, part, odd, regained, int(held.sum()) + lost)


def longest_step(model: Model, *, seed: int = 0) -> float:
    """s: the longest step with which objects left alone win no energy; at most 0.1 s, to within 10 %."""
    model = _forward(model)

    def fine(dt: float) -> bool:
        regained, held = _left_alone(model, dt, np.random.default_rng(seed))
        return held == 0 and regained < _REGAINED

    return min(edge(fine, [*(1e-3 * 2.0**i for i in range(7)), _LONGEST_STEP_S], 1.1), _LONGEST_STEP_S)


def accurate_step(model: Model, *, part: float = 0.01, seed: int = 0) -> float:
    """s: the longest step whose motion stays within `part` of the way from that of steps of 0.25 ms; at most 0.1 s.

    Random starts, pushed to and fro at 1 Hz for up to a second. NaN if not even 0.5 ms is.
    """
    model = _forward(model)
    n = len(model.mechanism.accelerations)
    count, seconds = (3, 1.0) if n == 1 else (2, 0.4)  # what nobody holds falls, and small errors grow
    starts = random_states(model, np.random.default_rng(seed), count)

    def path(dt: float) -> FloatArray:
        """(starts, steps, positions)"""
        steps = round(seconds / dt)
        wrench = np.outer(20.0 * np.sin(2 * np.pi * (np.arange(steps) + 0.5) * dt), drive_wrench(model))
        stepper = Stepper(model, dt)
        out = np.empty((len(starts), steps, stepper.size))
        for start, rows in zip(starts, out, strict=True):
            stepper.reset(start)
            stepper.run(wrench, rows)
        return out[:, :, : starts.shape[1] - n]

    exact = path(_FINEST_S)
    way = np.ptp(exact, axis=1)

    def fine(dt: float) -> bool:
        error = rms(path(dt) - exact[:, round(dt / _FINEST_S) - 1 :: round(dt / _FINEST_S)], axis=1)
        return bool((error <= part * np.maximum(way, 1e-6)).all())

    return min(edge(fine, [_FINEST_S * n for n in (2, 4, 8, 16, 32, 80, 200, 400)], math.inf), _LONGEST_STEP_S)


def couplings(
    model: Model, *, radius: float | None = None, hand: Hand | None = None, delay_s: float = 0.002, dt: float = 1e-3
) -> tuple[Coupling, ...]:
    """A hand on the model, rendered by three robots: an ideal one, and the 20 Hz arm with and without feed-forward."""
    grip, hand = grip_of(model, radius), Hand() if hand is None else hand
    base = line_of(model, grip, held_state(model, 0.5), hand, _ARM_KG)
    base = replace(base, delay_s=delay_s, dt=dt)
    robots = {
        "ideal: exactly where the model is": replace(base, ideal=True),
        "20 Hz arm, speed and acceleration fed forward": base,
        "20 Hz arm, position only": replace(base, inner=Inner(velocity=False, acceleration=False)),
    }
    return tuple(Coupling(name, line, limits_of(line)) for name, line in robots.items())


def _forward(model: Model) -> Model:
    model = model.of_object()
    if model.mechanism.main is None and not model.mechanism.floor:
        raise PalpateError(f"model {model.name!r}: energy can be counted only of what is guided or rolls")
    return model


def random_states(model: Model, rng: np.random.Generator, count: int) -> FloatArray:
    """(count, states), within the range of each position and at everyday speeds; feet are not in the ground."""
    mechanism = model.mechanism
    if mechanism.main is None:
        most = [_EVERYDAY.get(name, math.pi) for name in mechanism.state]  # casters turn all the way round
        spans = [(-x, x) for x in most]
    else:
        most = _EVERYDAY_SPEED[mechanism.coordinates[mechanism.main]]
        spans = [moving_range(model), (-most, most)]
    states, todo = np.empty((count, len(spans))), np.ones(count, dtype=bool)
    for _ in range(_DRAWS):
        states[todo] = np.column_stack([rng.uniform(*span, int(todo.sum())) for span in spans])
        if has_feet(model):
            todo = np.array([feet_height(model, row) < -_SUNK_M for row in states.tolist()])
        if not (has_feet(model) and todo.any()):
            return states
    raise PalpateError(f"model {model.name!r}: its feet are in the ground in all everyday poses")


def _row_speeds(model: Model, states: FloatArray) -> FloatArray:
    """(rows, samples): the speeds on which the free rows work."""
    speeds = model.mechanism.row_speeds(list(states.T), ARRAYS)
    return np.array([np.broadcast_to(x, len(states)) for x in speeds])


def _rows(model: Model, positions: FloatArray, acc: FloatArray | None = None) -> FloatArray:
    """(rows, samples): the wrench that this needs at rest, without dry friction."""
    zero = np.zeros((len(positions), len(model.mechanism.accelerations)))
    state = np.column_stack([positions, zero])
    k = model.mechanism.expand(list(state.T), list((zero if acc is None else acc).T), ARRAYS)
    return np.array([np.broadcast_to(x, len(positions)) for x in model.without_dry().wrench(k, ARRAYS)], dtype=float)


def _kinetic(model: Model, states: FloatArray) -> FloatArray:
    n = len(model.mechanism.accelerations)
    positions, speeds = states[:, :-n], states[:, -n:]
    momentum = _rows(model, positions, speeds) - _rows(model, positions)
    return 0.5 * np.sum(momentum * _row_speeds(model, states), axis=0)


def _account(
    model: Model, before: FloatArray, after: FloatArray, wrenches: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """J created by each step, and J that moved in it."""
    n = len(model.mechanism.accelerations)
    taken = _taken(model, before, after, dt, 8)
    mean = np.column_stack([before[:, :-n], _mean_speeds(model, before, after, dt)])
    k = model.mechanism.expand(list(mean.T), list(np.zeros((n, len(mean)))), ARRAYS)
    rows = model.mechanism.project(k, list(wrenches.T), ARRAYS)
    push = np.array([np.broadcast_to(x, len(mean)) for x in rows])
    work = dt * np.sum(push * _row_speeds(model, mean), axis=0)
    start, end = _kinetic(model, before), _kinetic(model, after)
    return end - start + taken - work, start + end + np.abs(taken) + np.abs(work)


def _of_springs(model: Model, before: FloatArray, after: FloatArray, dt: float) -> FloatArray:
    """J that a step of one freedom may create, since its springs push as where it begins; 0 with several freedoms.

    Also what inertia that changes with the angle does: M u^2 / 2 moves with it by up to these terms of second order.
    """
    if len(model.mechanism.accelerations) > 1:
        return np.zeros(len(before))
    free = model.only(tuple(e for e in model.elements if e.stops is None))
    way = after[:, 0] - before[:, 0]
    explicit = _rows(free, before[:, :1])[0] * way
    v, u, places = before[:, 1], after[:, 1], [before[:, :1] + part * way[:, None] for part in (0.0, 0.5, 1.0)]
    first, middle, last = ((_rows(free, q, np.ones_like(q)) - _rows(free, q))[0] for q in places)
    change, bend = np.abs(last - first), np.abs(last - 2.0 * middle + first)
    moved = 0.505 * change * np.abs(u - v) * (np.abs(u) + np.abs(v)) + 1.01 * bend * u * u
    return np.maximum(_taken(free, before, after, dt, 8) - explicit, 0.0) + moved


def _mean_speeds(model: Model, before: FloatArray, after: FloatArray, dt: float) -> FloatArray:
    """With one freedom the way over the time (a step that touches a stop has parts), else the new speeds."""
    n = len(model.mechanism.accelerations)
    return (after[:, :1] - before[:, :1]) / dt if n == 1 else after[:, -n:]


def _taken(model: Model, before: FloatArray, after: FloatArray, dt: float, pieces: int) -> FloatArray:
    """J that springs, weight and stops took on the straight way of each step (Gauss-Legendre, piece by piece)."""
    n = len(model.mechanism.accelerations)
    start, way = before[:, :-n], after[:, :-n] - before[:, :-n]
    speeds = _mean_speeds(model, before, after, dt)
    total = np.zeros(len(before))
    for piece in range(pieces):
        for node, weight in zip(*_GAUSS, strict=True):
            at = start + (piece + 0.5 * (node + 1.0)) / pieces * way
            power = np.sum(_rows(model, at) * _row_speeds(model, np.column_stack([at, speeds])), axis=0)
            total += 0.5 * weight / pieces * dt * power
    return total


def _left_alone(model: Model, dt: float, rng: np.random.Generator) -> tuple[float, int]:
    """The largest energy won, as part of the kinetic energy, and steps that led nowhere."""
    stepper, n = Stepper(model, dt), len(model.mechanism.accelerations)
    count, seconds = (10, 3.0) if n == 1 else (3, 1.5)  # a step of several freedoms takes ten times as long
    steps = max(20, round(seconds / dt))
    worst, held = 0.0, 0
    for start in random_states(model, rng, count):
        path = np.empty((steps, stepper.size))
        stepper.reset(start)
        held += int((stepper.run(np.zeros((steps, 6)), path) == StepStatus.NOT_FINITE).sum())
        states = np.vstack([start, path[:, : len(start)]])
        kinetic = _kinetic(model, states)
        energy = kinetic + np.concatenate([[0.0], np.cumsum(_taken(model, states[:-1], states[1:], dt, 1))])
        half = len(energy) // 2  # a step that swings with a spring's phase gives back what it takes: no gain
        gain = float(energy[half:].max() - energy[:half].max())
        worst = max(worst, gain / max(float(kinetic[:half].max()), 1e-9))
    return worst, held


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest part of a quantity whose change people notice, and who measured it."""

    quantity: str
    part: float
    source: str


INERTIA = Threshold(
    "inertia",
    0.10,
    "Kuling, Smeets, Lammertse, Onneweer and Mugge 2015, PLoS ONE 10(9) e0138023 (inertial mass, about 10 %)",
)
VISCOSITY = Threshold(
    "viscosity",
    0.19,
    "Jones, Hunter and Lafontaine 1997, Perception 26, 1571-1578 (19 % by forced choice; 34 % by adjustment: Jones and "
    "Hunter 1993, Exp. Brain Res. 94, 343-351)",
)
STIFFNESS = Threshold(
    "stiffness",
    0.22,
    "Tan, Durlach, Beauregard and Srinivasan 1995, Perception & Psychophysics 57, 495-510 (22 % without force and work "
    "cues; 23 %: Jones and Hunter 1990, Exp. Brain Res. 79, 150-156)",
)
FORCE = Threshold(
    "force", 0.07, "Pang, Tan and Durlach 1991, Perception & Psychophysics 49, 531-540 (7 % for 2.5 to 10 N)"
)
DELAY = (
    "Delay itself is felt as inertia: 25 ms made a mass of 6 kg feel about 10 % heavier, 50 ms about 20 % (Kuling et "
    "al. 2015, PLoS ONE 10(9) e0138023)."
)


@dataclass(frozen=True, slots=True)
class Felt:
    """One parameter: how uncertain it is, and how much of it people notice."""

    name: str
    value: float
    unit: str
    part: float | None
    """Half of the 95 % interval over the value (or over what it belongs to); None where no interval is known."""
    threshold: Threshold | None
    """None where it cannot be felt alone."""
    note: str = ""
    average: bool = False
    """Whether it is not a parameter but an average error on data that the fit has not seen."""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.threshold is None:
            return "not judged alone"
        if self.part is None or not math.isfinite(self.part):
            return "unknown"
        if self.part > self.threshold.part:
            return "could be felt"
        return "not felt on average" if self.average else "not felt"


def felt(model: Model, result: Mapping[str, Any]) -> tuple[Felt, ...]:
    """Every parameter of a model beside what people notice; `result`: the content of result.json."""
    entries = result.get("parameters")
    if not isinstance(entries, Mapping):
        raise PalpateError("the result holds no parameters: give a result.json that palpate wrote")
    parts = [(e, names) for e, names in model.parts if not e.instrument]
    known = {n: _kind(e, p) for e, names in parts for n, p in zip(names, e.parameters, strict=True)}
    kinds = {n if n in entries else n.replace("mc_", "c_"): kind for n, kind in known.items()}
    missing = [name for name in kinds if name not in entries]
    if len(missing) == len(kinds):
        raise PalpateError(f"the result is not for model {model.name!r}: it has no {', '.join(missing)}")
    judged = [_judged(name, cast("Mapping[str, Any]", entries), kinds) for name in kinds if name in entries]
    return (*judged, *_unseen(result))


def _kind(e: Element, p: Parameter) -> tuple[Threshold | None, str]:
    """Threshold of a parameter, and what its interval is compared with ("", "first moments" or "inertias")."""
    inertia = "inertias" if p.unit == "kg m2" and p.map == "inertia" else ""
    straight = p.unit in ("N m/rad", "N/m") and len(e.parameters) <= 2  # its slope is what is felt
    rules = (
        (e.dry, FORCE, ""),
        (p.unit == "kg m", FORCE, "first moments"),
        (p.unit.startswith("kg"), INERTIA, inertia),
        (" s" in p.unit.split("/")[0], VISCOSITY, ""),
        (straight, STIFFNESS, ""),
        (True, None, "part of a curve: not judged"),
    )
    return next((threshold, what) for holds, threshold, what in rules if holds)


def _judged(name: str, entries: Mapping[str, Any], kinds: Mapping[str, tuple[Threshold | None, str]]) -> Felt:
    (threshold, what), entry = kinds[name], entries[name]
    value, unit, ci = float(entry["value"]), str(entry["unit"]), entry.get("ci95")
    if threshold is None:
        return Felt(name, value, unit, None, None, what)
    scale, note = abs(value), ""
    if what:
        same = [abs(float(entries[n]["value"])) for n, (_, w) in kinds.items() if w == what and n in entries]
        scale = math.hypot(*same) if what == "first moments" else max(same)
        note = "part of the centre's distance" if what == "first moments" else "part of the largest inertia"
    if entry.get("status") == "prior-dominated":
        note = f"{note}; believes the prior" if note else "believes the prior"
    if ci is None or not scale > 0:
        return Felt(name, value, unit, None, threshold, note)
    half = max(abs(float(ci[0]) - value), abs(float(ci[1]) - value))
    return Felt(name, value, unit, half / scale, threshold, note)


def _unseen(result: Mapping[str, Any]) -> list[Felt]:
    """The RMS of the wrench on data not seen, in percent of its range."""
    rms: Mapping[str, Any] = result.get("rms") or {}
    test: Mapping[str, Any] = rms.get("test") or rms.get("cross_validated") or {}
    note = "RMS error, part of its range, not of the force of the moment"
    known = [(row, e, e["percent_of_range"]) for row, e in test.items() if e.get("percent_of_range") is not None]
    return [
        Felt(f"{row} on data not seen", float(e["value"]), str(e["unit"]), percent / 100.0, FORCE, note, average=True)
        for row, e, percent in known
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Passivity:
    """What a robot's builder asks about a model, and what could not be examined."""

    model: Model
    audit: Audit
    longest_step_s: float
    accurate_step_s: float
    """With which the motion stays within 1 % of the way."""
    couplings: tuple[Coupling, ...]
    felt: tuple[Felt, ...]
    remarks: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "palpate_audit": 1,
            "model": self.model.name,
            "passive": self.audit.passive,
            "energy": asdict(self.audit),
            "longest_step_s": finite(self.longest_step_s),
            "accurate_step_s": finite(self.accurate_step_s),
            "coupling": [
                {"robot": c.robot, **{_UNIT_SAID.get(name, name): finite(x) for name, x in c.limits.items()}}
                for c in self.couplings
            ],
            "felt": [
                {"name": f.name, "part": f.part, "noticed_from": t and t.part, "verdict": f.verdict}
                | {"source": t and t.source}
                for f, t in ((f, f.threshold) for f in self.felt)
            ],
            "remarks": list(self.remarks),
        }


def passivity_of(
    model: Model,
    result: Mapping[str, Any] | None = None,
    *,
    radius: float | None = None,
    hand: Hand | None = None,
    delay_s: float = 0.002,
    dt: float = 1e-3,
) -> Passivity:
    """Everything about a model that a robot's builder asks; `result`: the content of result.json, for its intervals."""
    remarks, coupled = list[str](), tuple[Coupling, ...]()
    energy, longest = audit(model, dt=dt), longest_step(model)
    try:
        coupled = couplings(model, radius=radius, hand=hand, delay_s=delay_s, dt=dt)
    except PalpateError as error:
        remarks.append(str(error))
    remarks += ["whether the uncertainty could be felt: give --result result.json"] if result is None else []
    people = () if result is None else felt(model, result)
    return Passivity(model, energy, longest, accurate_step(model), coupled, people, tuple(remarks))
