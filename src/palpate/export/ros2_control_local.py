"""A model near one configuration as independent masses, dampers and springs at the hand, and how far that is off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.so3 import exp_rotation, quaternion_from_rotation, quaternion_product, rotation_from_quaternion
from palpate.physics.spatial import wrench_transmission
from palpate.runtime.equations import Rates, RowSpeeds
from palpate.runtime.stepper import feet_height, has_feet, rest

AXES = ("x", "y", "z", "rx", "ry", "rz")
UNITS = ("N", "N", "N", "N m", "N m", "N m")
AMPLITUDE, FREQUENCY_HZ = 0.1, 0.5
"""The standard motion, m (rad) and Hz: a sine along one axis, the others at rest."""
_SPEED = math.pi * FREQUENCY_HZ * AMPLITUDE
"""Speed at which damping is taken: half of the standard motion's highest."""
SLOWEST = 1e-4
"""1/s2: K / M of an axis without a spring of its own, so that it can have a damper: a period of 10 minutes."""
_SMALL, _SAMPLES = 1e-5, 400
_RANK, _NOTHING = 1e-6, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """Per axis of the control frame (6,): M (kg, kg m2), D, K in SI units; NaN where the object cannot move by itself.

    `stiffness` is what M a + D v + K x says, `own_stiffness` what the object has. `constant`: force that holds the
    object at rest there; `dry`: level of dry friction; `rms` and `largest`: error of that law and the largest force of
    the full model along the axis in the standard motion; `rms_without`: the error once the constant is known;
    `across`: largest change of the force along the other axes meanwhile, which independent axes lose.
    """

    mass: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    own_stiffness: FloatArray
    constant: FloatArray
    dry: FloatArray
    rms: FloatArray
    rms_without: FloatArray
    largest: FloatArray
    across: FloatArray

    @property
    def selected(self) -> tuple[int, ...]:
        """The axes along which the object moves; together as many as it has freedoms there."""
        return tuple(int(i) for i in np.flatnonzero(np.isfinite(self.mass)))


def local_model(model: Model, positions: FloatArray, R_body_control: FloatArray, handle: FloatArray) -> Local:
    """Linearise at rest at `positions`, seen at the point `handle` (m, in the body frame).

    The object's inertia at the hand is (J M^-1 J')^-1 (Khatib 1987); of it and of damping and stiffness an axis gets
    what is felt along it while the others are held. A damper needs a spring, if only a weak one.
    """
    n = len(model.mechanism.accelerations)
    still = np.concatenate([positions, np.zeros(n)])
    S = _row_speeds(model, still[None])[0]
    M = S.T @ _inertia(model, still, n)
    k = model.mechanism.expand(still.tolist(), [0.0] * n, {}, FLOATS)
    W = wrench_transmission(R_body_control, handle)
    P = np.array([[float(x) for x in model.mechanism.project(k, column.tolist(), FLOATS)] for column in W.T])
    J = P @ S  # by the power of a wrench at the hand
    chosen = _independent(J)
    if not chosen:
        raise PalpateError(f"model {model.name!r} does not move at the hand {handle.tolist()} m: choose another point")
    per_force = np.asarray(np.linalg.solve(M, J[chosen].T), dtype=float)
    felt = np.asarray(np.linalg.inv(J[chosen] @ per_force), dtype=float)
    T: FloatArray = per_force @ felt  # speeds of the state per speed along an axis
    mass = felt.diagonal()
    damping = np.maximum((T.T @ S.T @ _damping(model, still, T)).diagonal(), 0.0)
    damping = np.where(damping > _NOTHING * mass, damping, 0.0)
    own = (T.T @ _stiffness(model, positions, T)).diagonal()
    own = np.where(np.abs(own) > _NOTHING * mass, own, 0.0)
    stiffness = np.maximum(own, np.where(damping > 0, SLOWEST * mass, 0.0))
    constant: FloatArray = T.T @ S.T @ _rows(model.without_dry(), still[None], np.zeros((1, n)))[0]
    laws = np.stack([mass, damping, stiffness], axis=1)
    errors = np.array([_errors(model, positions, T, i, law) for i, law in enumerate(laws)])
    dry = np.zeros(len(chosen))
    for ratio, level in model.dry_forces(k, FLOATS):
        dry += float(level) * np.abs(np.array([float(r) for r in ratio]) @ S @ T)
    dry = np.where(dry > _NOTHING * errors[:, 2], dry, 0.0)
    columns = (mass, damping, stiffness, own, constant, dry, *errors.T)
    return Local(*(_spread(c, chosen) for c in columns))


def default_positions(model: Model) -> FloatArray:
    """The middle of a hinge's range; else zero, upright, its feet clear of the ground."""
    mechanism = model.mechanism
    if has_feet(model):
        return _lifted(model)
    found = np.array([1.0 if name == "q_w" else 0.0 for name in mechanism.state[: -len(mechanism.accelerations)]])
    if isinstance(mechanism, Hinge):
        low, high = getattr(mechanism.linkage, "range", (0.0, 0.0))
        for e in model.elements:
            if isinstance(e, EndStop) and e.acts_on == "hinge":
                low, high = (e.at, high) if e.side == "lowest" else (low, e.at)
        found[0] = 0.5 * (low + high)
    return found


def _lifted(model: Model) -> FloatArray:
    """As it stands, then pitched until its feet stay clear of the ground through the standard motion."""
    state, at = list(rest(model)), model.mechanism.state.index("pitch")
    for degrees, way in ((d, way) for d in range(60) for way in (1, -1)):
        found = [x + way * math.radians(degrees) if i == at else x for i, x in enumerate(state)]
        if feet_height(model, found) >= AMPLITUDE:
            return np.array(found[: -len(model.mechanism.accelerations)])
    raise PalpateError(f"model {model.name!r}: no pitch lifts its feet off the ground; give a state")


def control_frame(model: Model, positions: FloatArray, handle: FloatArray) -> tuple[FloatArray, str]:
    """R_body_control and what its axes are."""
    mechanism = model.mechanism
    if isinstance(mechanism, Hinge):
        c, s = np.array(handle[:2]) / (math.hypot(handle[0], handle[1]) or 1.0)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return R, "x from the axis to the hand, y where the hand goes when the object opens, z along the axis"
    if isinstance(mechanism, Rolling):
        names = list(mechanism.state)
        camber = float(positions[names.index("camber")]) if "camber" in names else 0.0
        pitch = float(positions[names.index("pitch")])
        sc, cc, sp, cp = math.sin(camber), math.cos(camber), math.sin(pitch), math.cos(pitch)
        R_control_body = np.array([[-sp, -cp, 0.0], [cp * sc, -sp * sc, cc], [-cp * cc, sp * cc, sc]])
        return R_control_body.T, "x ahead, y left, z up"
    if isinstance(mechanism, Free):
        return np.eye(3), "those of the body frame"
    raise PalpateError(f"model {model.name!r}: its mechanism is not known to this export")


def _errors(
    model: Model, positions: FloatArray, T: FloatArray, axis: int, law: FloatArray
) -> tuple[float, float, float, float]:
    """Of the standard motion along one axis: RMS error, the same without the constant, largest force, largest
    change across.
    """
    t = np.arange(_SAMPLES) / _SAMPLES
    w = 2 * math.pi * FREQUENCY_HZ
    x = AMPLITUDE * np.sin(2 * math.pi * t)
    v, a = w * AMPLITUDE * np.cos(2 * math.pi * t), -w * w * x
    states = np.concatenate([_moved(model, positions, x[:, None] * T[:, axis]), v[:, None] * T[:, axis]], axis=1)
    rows = _rows(model, states, a[:, None] * T[:, axis])
    forces = np.einsum("sij,si->sj", _row_speeds(model, states), rows) @ T
    still = np.concatenate([positions, np.zeros(T.shape[0])])[None]
    constant = (_row_speeds(model, still)[0].T @ _rows(model.without_dry(), still, np.zeros((1, T.shape[0])))[0]) @ T
    error = law[0] * a + law[1] * v + law[2] * x - forces[:, axis]
    others = np.delete(forces - constant, axis, axis=1)
    return (
        _rms(error),
        _rms(error + constant[axis]),
        float(np.abs(forces[:, axis]).max()),
        float(np.abs(others).max(initial=0.0)),
    )


def _damping(model: Model, still: FloatArray, T: FloatArray) -> FloatArray:
    """Rows per speed along each axis: the part of the force that changes its sign with the speed."""
    n = T.shape[0]
    smooth, positions = model.without_dry(), np.broadcast_to(still[:-n], (T.shape[1], len(still) - n))
    forth, back = (np.concatenate([positions, s * T.T], axis=1) for s in (_SPEED, -_SPEED))
    zero = np.zeros((T.shape[1], n))
    return (_rows(smooth, forth, zero) - _rows(smooth, back, zero)).T / (2 * _SPEED)


def _stiffness(model: Model, positions: FloatArray, T: FloatArray) -> FloatArray:
    """Forces along the state's speeds per way along each axis, by central differences."""
    n, smooth = T.shape[0], model.without_dry()
    found: list[FloatArray] = []
    for way in (_SMALL, -_SMALL):
        moved = np.concatenate([_moved(model, positions, way * T.T), np.zeros((T.shape[1], n))], axis=1)
        rows = _rows(smooth, moved, np.zeros((T.shape[1], n)))
        found.append(np.einsum("sij,si->sj", _row_speeds(model, moved), rows))
    return (found[0] - found[1]).T / (2 * _SMALL)


def _rows(model: Model, states: FloatArray, accelerations: FloatArray) -> FloatArray:
    """The free rows (samples, n) of the wrench that these motions need."""
    k = model.mechanism.expand(list(states.T), list(accelerations.T), {}, ARRAYS)
    return np.stack([np.broadcast_to(x, len(states)) for x in model.wrench(k, ARRAYS)], axis=1)


def _inertia(model: Model, still: FloatArray, n: int) -> FloatArray:
    """Inertia over the rows: [row, acceleration]."""
    smooth, states = model.without_dry(), np.broadcast_to(still, (n, len(still)))
    return (_rows(smooth, states, np.eye(n)) - _rows(smooth, states, np.zeros((n, n)))).T


def _row_speeds(model: Model, states: FloatArray) -> FloatArray:
    """(samples, row, speed): the speeds on which the rows work per speed of the state."""
    mechanism, count = model.mechanism, len(states)
    n = len(mechanism.accelerations)
    if isinstance(mechanism, RowSpeeds):
        found: list[FloatArray] = []
        for unit in np.eye(n):
            given = [*list(states[:, :-n].T), *(np.full(count, u) for u in unit)]
            speeds = mechanism.row_speeds(given, ARRAYS)
            found.append(np.stack([np.broadcast_to(x, count) for x in speeds], axis=1))
        return np.stack(found, axis=2)
    S = np.broadcast_to(np.eye(n), (count, n, n)).copy()
    if isinstance(mechanism, Free):  # forces in the body's axes, velocities in the world's
        S[:, :3, :3] = rotation_from_quaternion(states[:, 3:7]).swapaxes(1, 2)
    return S


def _moved(model: Model, positions: FloatArray, ways: FloatArray) -> FloatArray:
    """Positions after small ways (samples, n) along the speeds of the state."""
    mechanism, count = model.mechanism, len(ways)
    start = np.broadcast_to(positions, (count, len(positions)))
    if isinstance(mechanism, Rates):
        rates = mechanism.rates([*list(start.T), *list(ways.T)], ARRAYS)
        return start + np.stack([np.broadcast_to(x, count) for x in rates], axis=1)
    if isinstance(mechanism, Free):
        turned = quaternion_product(start[:, 3:7], quaternion_from_rotation(exp_rotation(ways[:, 3:])))
        return np.concatenate([start[:, :3] + ways[:, :3], turned], axis=1)
    return start + ways


def _independent(J: FloatArray) -> list[int]:
    """Axes in their order, each that can move apart from those before it."""
    size = float(np.abs(J).max(initial=0.0))
    chosen: list[int] = []
    for i in range(6):
        if size > 0 and np.linalg.matrix_rank(J[[*chosen, i]], tol=_RANK * size) > len(chosen):
            chosen.append(i)
    return chosen


def _spread(values: FloatArray, chosen: Sequence[int]) -> FloatArray:
    found = np.full(6, np.nan)
    found[list(chosen)] = values
    return found


def _rms(x: FloatArray) -> float:
    return math.sqrt(float(np.mean(x**2)))
