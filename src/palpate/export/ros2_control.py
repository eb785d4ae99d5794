"""Parameters of ros2_control's admittance_controller: the model near one configuration, with its error stated.

The controller knows independent axes F = M a + D v + K x with D = 2 zeta sqrt(M K) (ros2_controllers,
admittance_rule_impl.hpp), so that a damper needs a spring. Everything else of a model is lost: for the model itself
use the C or FMU export.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.export.common import (
    Export,
    header,
    object_to_export,
    parts_of,
    rigid_phi,
)
from palpate.files import check_folder, write_text
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import mass_properties
from palpate.physics.so3 import exp_rotation, quaternion_from_rotation, quaternion_product
from palpate.physics.spatial import wrench_transmission
from palpate.runtime import Stepper
from palpate.runtime.pairing import model_of
from palpate.runtime.stepper import feet_height, has_feet, rest

FILE = "admittance_controller.yaml"
_HELD = (1.0, 1.0, 100.0)
"""Mass, damping ratio, stiffness of an axis along which nothing moves: back to the reference."""
_MASSES = (1e-4, 1e6)
_SUNK_M = 1e-4
"""m that a foot may be in the ground: it stands."""
_STIFFEST = 1e8
"""What the controller accepts."""
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


@dataclass(frozen=True, slots=True)
class _Axis:
    """What the file says of one axis."""

    selected: bool
    mass: float
    damping_ratio: float
    stiffness: float


def export_ros2_control(
    model: Model,
    folder: str | Path,
    *,
    handle: Sequence[float] | FloatArray | None = None,
    state: Sequence[float] | FloatArray | None = None,
    tool: Model | None = None,
) -> Export:
    """Write the parameters of an admittance_controller that moves like `model` near one configuration.

    `handle`: where the hand holds, m in the body frame; by default the origin of a free body, else 1 m from the axis.
    `state`: the positions of the mechanism's state there (rad, m); by default the middle of a hinge's range, else zero.
    `tool`: the model of the handle that the robot carries; its weight goes into gravity_compensation.
    """
    folder = Path(folder)
    check_folder(folder)
    found, left_out = object_to_export(model)
    positions = _positions(found, state)
    point, assumed = _handle(found, handle)
    R_body_control, axes = control_frame(found, positions, point)
    local = local_model(found, positions, R_body_control, point)
    said = [_axis(local, i, found.name) for i in range(6)]
    weight = _weight(tool)
    left_out += [*assumed, *_lost(found, local), *_of_controller(found, tool)]
    where = ", ".join(f"{n} {x:.6g}" for n, x in zip(found.mechanism.state, positions, strict=False))
    told = [
        f"A local approximation about {where}; the hand at {_list(point)} m of the body frame.",
        f"Control frame: origin at the hand, with the sensor; axes: {axes}.",
        *_errors(local),
    ]
    edit = "Names of joints, links and frames are examples: put in those of your robot."
    path = folder / FILE
    lines = header(found, "parameters of ros2_control's admittance_controller", [*told, edit], left_out)
    write_text(path, "".join(f"# {_plain(line)}\n" for line in lines) + _yaml(said, *weight))
    return Export((path,), tuple(left_out), tuple(told))


def _positions(model: Model, state: Sequence[float] | FloatArray | None) -> FloatArray:
    """The configuration, refused where the stepper refuses it."""
    n = len(model.mechanism.accelerations)
    names = model.mechanism.state[:-n]
    found = default_positions(model) if state is None else np.asarray(state, dtype=float)
    if found.shape != (len(names),):
        raise PalpateError(f"state must be {len(names)} numbers ({', '.join(names)}), not {found.tolist()}")
    stepper = Stepper(model, 1e-3)
    stepper.reset([*found, *np.zeros(n)])
    depth = -feet_height(model, stepper.state.tolist())
    if depth > _SUNK_M:
        raise PalpateError(
            f"state: its feet are {1e3 * depth:.1f} mm in the ground: give a pitch at which they are above it"
        )
    return stepper.state[:-n]


def _handle(model: Model, handle: Sequence[float] | FloatArray | None) -> tuple[FloatArray, list[str]]:
    if handle is not None:
        found = np.asarray(handle, dtype=float)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise PalpateError(f"handle must be a point of three numbers in m, not {list(handle)}")
        return found, []
    if isinstance(model.mechanism, Free):
        return np.zeros(3), []
    point = np.array([1.0, 0.0, 0.0] if isinstance(model.mechanism, Hinge) else [0.0, 1.0, 0.0])
    return point, ["where the hand holds was not given: 1 m from the axis is assumed; masses go with 1 / distance^2"]


def _axis(local: Local, i: int, name: str) -> _Axis:
    mass, damping, stiffness = (float(x[i]) for x in (local.mass, local.damping, local.stiffness))
    if not math.isfinite(mass):
        return _Axis(False, *_HELD)
    if not _MASSES[0] <= mass <= _MASSES[1] or stiffness > _STIFFEST:
        raise PalpateError(
            f"model {name!r}: along {AXES[i]} the mass is {mass:.4g} and the stiffness {stiffness:.4g}; the controller "
            f"takes masses from {_MASSES[0]:g} to {_MASSES[1]:g} and stiffness up to {_STIFFEST:g}"
        )
    ratio = damping / (2 * math.sqrt(mass * stiffness)) if damping else 0.0
    return _Axis(True, mass, ratio, stiffness)


def _errors(local: Local) -> list[str]:
    """The error of each axis in the standard motion."""
    found: list[str] = []
    for i in local.selected:
        rms, largest = float(local.rms[i]), float(local.largest[i])
        share = 100 * rms / largest if largest > 0 else 0.0
        found.append(
            f"Error along {AXES[i]}: {rms:.3g} {UNITS[i]} RMS, {share:.0f} % of the largest force {largest:.3g} "
            f"{UNITS[i]}, in a sine of {AMPLITUDE:g} {'m' if i < 3 else 'rad'} at {FREQUENCY_HZ:g} Hz; "
            f"{local.rms_without[i]:.3g} {UNITS[i]} RMS without the constant part."
        )
    return found


def _lost(model: Model, local: Local) -> list[str]:
    """What independent axes M a + D v + K x do not say of this model here."""
    found: list[str] = []
    for i in local.selected:
        axis, unit, per = AXES[i], UNITS[i], "N/m" if i < 3 else "N m/rad"
        own, size = float(local.own_stiffness[i]), float(local.largest[i])
        if abs(local.constant[i]) > 1e-9 * size:
            found.append(f"{axis}: springs and weight push with {-local.constant[i]:.4g} {unit} at rest: not rendered")
        if local.dry[i] > 0:
            found.append(f"{axis}: dry friction of {local.dry[i]:.4g} {unit}: not rendered, nothing sticks")
        if own < 0:
            found.append(f"{axis}: a spring of negative stiffness, {own:.4g} {per}: left out")
        if local.stiffness[i] > max(own, 0.0):
            found.append(f"{axis}: a spring of {local.stiffness[i]:.3g} {per} is made up, since a damper needs one")
        if local.across[i] > 1e-9 * size:
            found.append(
                f"{axis}: up to {local.across[i]:.3g} N or N m along other axes meanwhile: axes are independent"
            )
    held = [a for i, a in enumerate(AXES) if i not in local.selected]
    if held:
        found.append(f"{', '.join(held)}: held at the reference; the hand moves on a straight line and does not turn")
    names = ", ".join(e.name for e in model.elements)
    return [*found, f"{names}: M, D and K are constant, whatever the configuration and the speed"]


def _of_controller(model: Model, tool: Model | None) -> list[str]:
    found = [
        "ros2_controllers before 2026 apply the masses along the axes of the base, not of the control frame",
        "joint_damping is 0 here (5 by default), and ft_sensor.filter_coefficient delays the force",
    ]
    if tool is None:
        found.append("gravity_compensation is zero: no model of the handle on the robot was given")
    if model_of(model) == "whole":
        found.append("the model holds the handle too: the robot's own handle must be compensated, not only its weight")
    return found


def _weight(tool: Model | None) -> tuple[FloatArray, float]:
    """Centre of mass (3, m) and weight (N) of the handle on the robot."""
    if tool is None:
        return np.zeros(3), 0.0
    phi = rigid_phi(parts_of(object_to_export(tool)[0]))
    if phi is None or not isinstance(tool.mechanism, Free):
        raise PalpateError(f"model {tool.name!r} is no handle: a tool is a free rigid body")
    return mass_properties(phi).com, float(phi[0]) * tool.mechanism.gravity


def _yaml(axes: Sequence[_Axis], com: FloatArray, weight: float) -> str:
    """All parameters of the controller (admittance_controller_parameters.yaml, ros2_controllers 4 to 6)."""
    return f"""admittance_controller:
  ros__parameters:
    joints: [joint1, joint2, joint3, joint4, joint5, joint6]
    command_interfaces: [position]
    state_interfaces: [position]
    chainable_command_interfaces: [position, velocity]
    kinematics:
      plugin_name: kinematics_interface_kdl/KinematicsInterfaceKDL
      plugin_package: kinematics_interface
      base: base_link
      tip: tool0
      alpha: 0.0005
    ft_sensor:
      name: ft_sensor
      frame:
        id: ft_frame
      filter_coefficient: 0.05
    control:
      frame:
        id: ft_frame
    fixed_world_frame:
      frame:
        id: base_link
    gravity_compensation:
      frame:
        id: ft_frame
      CoG:
        pos: {_list(com)}
        force: {_number(weight)}
    admittance:  # x, y, z, rx, ry, rz of the control frame
      selected_axes: [{", ".join(json.dumps(a.selected) for a in axes)}]
      mass: {_list([a.mass for a in axes])}
      damping_ratio: {_list([a.damping_ratio for a in axes])}  # D / (2 sqrt(M K))
      stiffness: {_list([a.stiffness for a in axes])}
      joint_damping: 0.0
    enable_parameter_update_without_reactivation: true
"""


def _number(value: float) -> str:
    """With a point, also before an exponent: a whole number is refused, and 1e-05 is text to YAML 1.1."""
    found = repr(float(value))
    mantissa, e, exponent = found.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent


def _list(values: Sequence[float] | FloatArray) -> str:
    return f"[{', '.join(_number(float(x)) for x in values)}]"


def _plain(line: str) -> str:
    """Without what would end a comment or is no text in YAML."""
    return "".join(c if c.isprintable() else "_" for c in line)


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
    errors = np.array([_motion_errors(model, positions, T, i, law) for i, law in enumerate(laws)])
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


def _motion_errors(
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
    found: list[FloatArray] = []
    for unit in np.eye(n):
        given = [*list(states[:, :-n].T), *(np.full(count, u) for u in unit)]
        speeds = mechanism.row_speeds(given, ARRAYS)
        found.append(np.stack([np.broadcast_to(x, count) for x in speeds], axis=1))
    return np.stack(found, axis=2)


def _moved(model: Model, positions: FloatArray, ways: FloatArray) -> FloatArray:
    """Positions after small ways (samples, n) along the speeds of the state."""
    mechanism, count = model.mechanism, len(ways)
    start = np.broadcast_to(positions, (count, len(positions)))
    if "q_w" in mechanism.state:
        turned = quaternion_product(start[:, 3:7], quaternion_from_rotation(exp_rotation(ways[:, 3:])))
        return np.concatenate([start[:, :3] + ways[:, :3], turned], axis=1)
    rates = mechanism.rates([*list(start.T), *list(ways.T)], ARRAYS)
    return start + np.stack([np.broadcast_to(x, count) for x in rates], axis=1)


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
