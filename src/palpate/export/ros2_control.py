"""Parameters of ros2_control's admittance_controller: the model near one configuration, with its error stated.

The controller knows independent axes F = M a + D v + K x with D = 2 zeta sqrt(M K) (ros2_controllers,
admittance_rule_impl.hpp), so that a damper needs a spring. Everything else of a model is lost: for the model itself
use the C or FMU export.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palpate.errors import PalpateError
from palpate.export.common import Files, header, object_to_export, parts_of, template, total_phi
from palpate.export.joints import check_exportable
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import mass_properties
from palpate.physics.motion import exp_rotation, quaternion_from_rotation, quaternion_product, wrench_transmission
from palpate.runtime import Stepper
from palpate.runtime.native import filled
from palpate.runtime.pairing import model_of
from palpate.runtime.replay import WRENCH_UNITS
from palpate.runtime.stepper import feet_height, has_feet, moving_range, rest

FILE = "admittance_controller.yaml"
_HELD = (1.0, 1.0, 100.0)
"""Mass, damping ratio, stiffness of an axis along which nothing moves: back to the reference."""
_MASSES, _STIFFEST = (1e-4, 1e6), 1e8
"""What the controller accepts."""
_SUNK_M = 1e-4
"""m that a foot may be in the ground: it stands."""
_LABELS = ("x", "y", "z", "rx", "ry", "rz")
_AMPLITUDE, _FREQUENCY_HZ = 0.1, 0.5
"""The standard motion, m (rad) and Hz: a sine along one axis, the others at rest."""
_SPEED = math.pi * _FREQUENCY_HZ * _AMPLITUDE
"""Speed at which damping is taken: half of the standard motion's highest."""
_SLOWEST = 1e-4
"""1/s2: K / M of an axis without a spring, so that it can have a damper: a period of 10 minutes."""
_SMALL, _SAMPLES = 1e-5, 400
_RANK, _NOTHING = 1e-6, 1e-9


class _Law(NamedTuple):
    """F = mass a + damping v + stiffness x along one axis of the control frame, in SI units, and what that leaves out.

    `true_stiffness` is the object's. `constant`: force that holds the object at rest there; `dry`: level of dry
    friction. Of the standard motion: RMS error of the law, the same once the constant is known, the full model's
    largest force, and the largest change of force along the other axes, which independent axes lose.
    """

    mass: float
    damping: float
    stiffness: float
    true_stiffness: float
    constant: float
    dry: float
    rms: float
    rms_without: float
    largest: float
    across: float


def export_ros2_control(
    model: Model,
    *,
    handle: Sequence[float] | FloatArray | None = None,
    state: Sequence[float] | FloatArray | None = None,
    tool: Model | None = None,
) -> Files:
    """The parameters of an admittance_controller that moves like `model` near one configuration.

    `handle`: where the hand holds, m in the body frame; by default 1 m from the axis of what turns, else the origin.
    `state`: the positions of the mechanism's state there (rad, m); by default the middle of the range between its
    stops, else zero. `tool`: the model of the handle that the robot carries; its weight goes into gravity_compensation.
    """
    bare, left_out = object_to_export(model, by_motion=True)
    check_exportable(bare, None)
    positions = _positions(bare, state)
    point, assumed = _handle(bare.mechanism, handle)
    R_body_control, axes = _control_frame(bare, positions, point)
    laws = _local_laws(bare, positions, R_body_control, point)
    rows = [_controller_axis(laws.get(i), _LABELS[i], bare.name) for i in range(6)]
    com, weight = _weight(tool)
    left_out += [*assumed, *_lost(bare, tool, laws)]
    where = ", ".join(f"{n} {x:.6g}" for n, x in zip(bare.mechanism.state, positions, strict=False))
    notes = [
        f"A local approximation about {where}; the hand at {_list(point)} m of the body frame.",
        f"Control frame: origin at the hand, with the sensor; axes: {axes}.",
        *(_error(law, i) for i, law in laws.items()),
    ]
    edit = "Names of joints, links and frames are examples: put in those of your robot."
    lines = header(bare, "parameters of ros2_control's admittance_controller", [*notes, edit], left_out)
    comment = "".join(f"# {''.join(c if c.isprintable() else '_' for c in line)}\n" for line in lines)
    # all parameters of the controller (admittance_controller_parameters.yaml, ros2_controllers 4 to 6)
    selected, mass, ratio, stiffness = zip(*rows, strict=True)
    fill = {"com": _list(com), "weight": _number(weight), "selected": ", ".join(json.dumps(x) for x in selected)}
    fill |= {"mass": _list(mass), "ratio": _list(ratio), "stiffness": _list(stiffness)}
    return {FILE: comment + filled(template(FILE), fill)}, left_out, notes


def _floats(mechanism: Mechanism) -> bool:
    return any(joint.kind == "free" for joint in mechanism.joints)


def _positions(model: Model, state: Sequence[float] | FloatArray | None) -> FloatArray:
    """The configuration, refused where the stepper refuses it."""
    n = len(model.mechanism.accelerations)
    names = model.mechanism.state[:-n]
    positions = default_positions(model) if state is None else np.asarray(state, dtype=float)
    if positions.shape != (len(names),):
        raise PalpateError(f"state must be {len(names)} numbers ({', '.join(names)}), not {positions.tolist()}")
    stepper = Stepper(model, 1e-3)
    stepper.reset([*positions, *np.zeros(n)])
    depth = -feet_height(model, stepper.state[: len(model.mechanism.state)].tolist())
    if depth > _SUNK_M:
        raise PalpateError(
            f"state: its feet are {1e3 * depth:.1f} mm in the ground: give a pitch at which they are above it"
        )
    return stepper.state[: len(names)]


def default_positions(model: Model) -> FloatArray:
    """The middle of the main coordinate's range; else zero, upright, pitched until the feet stay clear of the ground
    through the standard motion.
    """
    names, n = model.mechanism.state, len(model.mechanism.accelerations)
    state = list(rest(model)[: len(names)])
    if model.mechanism.main is not None:
        state[0] = 0.5 * sum(moving_range(model, (0.0, 0.0)))
    if not has_feet(model):
        return np.array(state[:-n])
    for pitch in (way * math.radians(degrees) for degrees in range(60) for way in (1, -1)):
        pitched = [x + pitch * (name == "pitch") for x, name in zip(state, names, strict=True)]
        if feet_height(model, pitched) >= _AMPLITUDE:
            return np.array(pitched[:-n])
    raise PalpateError(f"model {model.name!r}: no pitch lifts its feet off the ground; give a state")


def _handle(mechanism: Mechanism, handle: Sequence[float] | FloatArray | None) -> tuple[FloatArray, list[str]]:
    if handle is not None:
        point = np.asarray(handle, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise PalpateError(f"handle must be a point of three numbers in m, not {list(handle)}")
        return point, []
    if not any(joint.kind in ("turn", "ball") for joint in mechanism.joints):
        return np.zeros(3), []
    hand = np.abs(mechanism.hand)
    point = np.where(hand == hand.max(), np.sign(mechanism.hand), 0.0)
    return point, ["where the hand holds was not given: 1 m from the axis is assumed; masses go with 1 / distance^2"]


def _control_frame(model: Model, positions: FloatArray, handle: FloatArray) -> tuple[FloatArray, str]:
    """R_body_control and what its axes are."""
    mechanism = model.mechanism
    if mechanism.floor:
        still = [*positions, *[0.0] * len(mechanism.accelerations)]
        state = [0.0 if n in ("x", "y", "yaw") else x for n, x in zip(mechanism.state, still, strict=True)]
        return np.array(mechanism.place(state, FLOATS)[0], dtype=float).T, "x ahead, y left, z up"
    if _floats(mechanism):
        return np.eye(3), "those of the body frame"
    axis = np.array(mechanism.joints[0].axis)
    if mechanism.joints[0].kind == "slide":
        aside = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
        aside /= np.linalg.norm(aside)
        return np.stack([axis, aside, np.cross(axis, aside)], axis=1), "x along the slide, the way the object opens"
    x = handle - axis * (axis @ handle)
    x = x / (np.linalg.norm(x) or 1.0)
    words = "x from the axis to the hand, y where the hand goes when the object opens, z along the axis"
    return np.stack([x, np.cross(axis, x), axis], axis=1), words


def _local_laws(model: Model, positions: FloatArray, R_body_control: FloatArray, handle: FloatArray) -> dict[int, _Law]:
    """Linearise at rest at `positions`, as felt at the point `handle` (m, in the body frame); axis -> its law.

    There is a law for each axis along which the object moves, together as many as it has freedoms there. The object's
    inertia at the hand is (J M^-1 J')^-1 (Khatib 1987); of it and of damping and stiffness an axis gets what is felt
    along it while the others are held. A damper needs a spring, if only a weak one.
    """
    n, smooth = len(model.mechanism.accelerations), model.without_dry()
    still = np.concatenate([positions, np.zeros(n)])
    S = _row_speeds(model, still[None])[0]
    hold = _forces(smooth, still[None], np.zeros((1, n)))[0]
    M = (_forces(smooth, np.tile(still, (n, 1)), np.eye(n)) - hold).T
    k = model.mechanism.expand(still.tolist(), [0.0] * n, FLOATS)
    W = wrench_transmission(R_body_control, handle)
    P = np.array([[float(x) for x in model.mechanism.project(k, column.tolist(), FLOATS)] for column in W.T])
    J = P @ S  # by the power of a wrench at the hand
    axes, least = list[int](), _RANK * float(np.abs(J).max(initial=0.0))
    for i in range(6):  # in their order, each that can move apart from those before it
        axes += [i] if np.linalg.matrix_rank(J[[*axes, i]], tol=least) > len(axes) else []
    if not axes:
        raise PalpateError(f"model {model.name!r} does not move at the hand {handle.tolist()} m: choose another point")
    per_force = np.asarray(np.linalg.solve(M, J[axes].T), dtype=float)
    felt = np.asarray(np.linalg.inv(J[axes] @ per_force), dtype=float)
    T: FloatArray = per_force @ felt  # speeds of the state per speed along an axis
    zero = np.zeros_like(T.T)
    speeds = [np.hstack([np.tile(positions, (len(axes), 1)), v * T.T]) for v in (_SPEED, -_SPEED)]
    ways = [np.hstack([_moved(model, positions, x * T.T), zero]) for x in (_SMALL, -_SMALL)]
    mass = felt.diagonal()
    damping, true_stiffness = (
        np.einsum("ij,ij->i", _forces(smooth, forth, zero) - _forces(smooth, back, zero), T.T) / (2 * step)
        for (forth, back), step in ((speeds, _SPEED), (ways, _SMALL))
    )
    damping = np.where(damping > _NOTHING * mass, damping, 0.0)
    true_stiffness = np.where(np.abs(true_stiffness) > _NOTHING * mass, true_stiffness, 0.0)
    stiffness = np.maximum(true_stiffness, np.where(damping > 0, _SLOWEST * mass, 0.0))
    constant: FloatArray = hold @ T
    dry = np.zeros(len(axes))
    for ratio, level in model.dry_forces(k, FLOATS):
        dry += float(level) * np.abs(np.array([float(r) for r in ratio]) @ S @ T)
    laws: dict[int, _Law] = {}
    for j, i in enumerate(axes):
        law = (float(mass[j]), float(damping[j]), float(stiffness[j]))
        errors = _errors(model, positions, T, j, law, constant)
        friction = float(dry[j]) if dry[j] > _NOTHING * errors[2] else 0.0
        laws[i] = _Law(*law, float(true_stiffness[j]), float(constant[j]), friction, *errors)
    return laws


def _errors(
    model: Model, positions: FloatArray, T: FloatArray, axis: int, law: Sequence[float], constant: FloatArray
) -> tuple[float, float, float, float]:
    """Of the standard motion along one axis: the last four numbers of a law."""
    phase, w = 2 * math.pi * np.arange(_SAMPLES) / _SAMPLES, 2 * math.pi * _FREQUENCY_HZ
    x, v = _AMPLITUDE * np.sin(phase), w * _AMPLITUDE * np.cos(phase)
    a, way = -w * w * x, T[:, axis]
    states = np.hstack([_moved(model, positions, np.outer(x, way)), np.outer(v, way)])
    forces = _forces(model, states, np.outer(a, way)) @ T
    error = law[0] * a + law[1] * v + law[2] * x - forces[:, axis]
    others = np.abs(np.delete(forces - constant, axis, axis=1)).max(initial=0.0)
    return rms(error), rms(error + constant[axis]), float(np.abs(forces[:, axis]).max()), float(others)


def _forces(model: Model, states: FloatArray, accelerations: FloatArray) -> FloatArray:
    """(samples, n): the forces along the speeds of the state that these motions need."""
    k = model.mechanism.expand(list(states.T), list(accelerations.T), ARRAYS)
    rows = np.stack([np.broadcast_to(x, len(states)) for x in model.wrench(k, ARRAYS)], axis=1)
    return np.einsum("sij,si->sj", _row_speeds(model, states), rows)


def _row_speeds(model: Model, states: FloatArray) -> FloatArray:
    """(samples, row, speed): the speeds that the rows work on per speed of the state."""
    count, n = len(states), len(model.mechanism.accelerations)
    each = [*np.repeat(states[:, :-n], n, axis=0).T, *np.tile(np.eye(n), count)]
    speeds = [np.broadcast_to(x, count * n) for x in model.mechanism.row_speeds(each, ARRAYS)]
    return np.stack(speeds).reshape(len(speeds), count, n).swapaxes(0, 1)


def _moved(model: Model, positions: FloatArray, ways: FloatArray) -> FloatArray:
    """Positions after small ways (samples, n) along the speeds of the state."""
    start = np.tile(positions, (len(ways), 1))
    if _floats(model.mechanism):
        turned = quaternion_product(start[:, 3:7], quaternion_from_rotation(exp_rotation(ways[:, 3:])))
        return np.hstack([start[:, :3] + ways[:, :3], turned])
    rates = model.mechanism.rates([*start.T, *ways.T], ARRAYS)
    return start + np.stack([np.broadcast_to(x, len(ways)) for x in rates], axis=1)


def _controller_axis(law: _Law | None, axis: str, name: str) -> tuple[bool, float, float, float]:
    """What the file says of one axis: selected, mass, damping ratio, stiffness."""
    if law is None:
        return False, *_HELD
    if not _MASSES[0] <= law.mass <= _MASSES[1] or law.stiffness > _STIFFEST:
        raise PalpateError(
            f"model {name!r}: along {axis} the mass is {law.mass:.4g} and the stiffness {law.stiffness:.4g}; the "
            f"controller takes masses from {_MASSES[0]:g} to {_MASSES[1]:g} and stiffness up to {_STIFFEST:g}"
        )
    ratio = law.damping / (2 * math.sqrt(law.mass * law.stiffness)) if law.damping else 0.0
    return True, law.mass, ratio, law.stiffness


def _error(law: _Law, i: int) -> str:
    """The error of one axis in the standard motion."""
    share, unit = 100 * law.rms / law.largest if law.largest > 0 else 0.0, WRENCH_UNITS[i]
    return (
        f"Error along {_LABELS[i]}: {law.rms:.3g} {unit} RMS, {share:.0f} % of the largest force {law.largest:.3g} "
        f"{unit}, in a sine of {_AMPLITUDE:g} {'m' if i < 3 else 'rad'} at {_FREQUENCY_HZ:g} Hz; "
        f"{law.rms_without:.3g} {unit} RMS without the constant part."
    )


def _lost(model: Model, tool: Model | None, laws: Mapping[int, _Law]) -> Iterator[str]:
    """What independent axes M a + D v + K x, and this controller, do not say of this model here."""
    for i, law in laws.items():
        axis, unit, per = _LABELS[i], WRENCH_UNITS[i], "N/m" if i < 3 else "N m/rad"
        if abs(law.constant) > 1e-9 * law.largest:
            yield f"{axis}: springs and weight push with {-law.constant:.4g} {unit} at rest: not rendered"
        if law.dry > 0:
            yield f"{axis}: dry friction of {law.dry:.4g} {unit}: not rendered, nothing sticks"
        if law.true_stiffness < 0:
            yield f"{axis}: a spring of negative stiffness, {law.true_stiffness:.4g} {per}: left out"
        if law.stiffness > max(law.true_stiffness, 0.0):
            yield f"{axis}: a spring of {law.stiffness:.3g} {per} is made up, since a damper needs one"
        if law.across > 1e-9 * law.largest:
            yield f"{axis}: up to {law.across:.3g} N or N m along other axes at the same time: axes are independent"
    held = [axis for i, axis in enumerate(_LABELS) if i not in laws]
    if held:
        yield f"{', '.join(held)}: held at the reference; the hand moves on a straight line and does not turn"
    names = ", ".join(e.name for e in model.elements)
    yield f"{names}: M, D and K are constant, whatever the configuration and the speed"
    yield "ros2_controllers before 2026 apply the masses along the axes of the base, not of the control frame"
    yield "joint_damping is 0 here (5 by default), and ft_sensor.filter_coefficient delays the force"
    if tool is None:
        yield "gravity_compensation is zero: no model of the handle on the robot was given"
    if model_of(model) == "whole":
        yield "the model holds the handle too: all of the robot's handle must be compensated, not only its weight"


def _weight(tool: Model | None) -> tuple[FloatArray, float]:
    """Centre of mass (3, m) and weight (N) of the handle on the robot."""
    if tool is None:
        return np.zeros(3), 0.0
    phi = total_phi(parts_of(object_to_export(tool)[0]))
    if phi is None or not _floats(tool.mechanism):
        raise PalpateError(f"model {tool.name!r} is not a handle: a tool must be a free rigid body")
    return mass_properties(phi).com, float(phi[0]) * tool.mechanism.gravity


def _number(value: float) -> str:
    """With a point, also before an exponent: a whole number is refused, and 1e-05 is text to YAML 1.1."""
    mantissa, e, exponent = repr(float(value)).partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent


def _list(values: Sequence[float] | FloatArray) -> str:
    return f"[{', '.join(_number(float(x)) for x in values)}]"
