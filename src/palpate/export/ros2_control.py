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

from palpate.errors import PalpateError
from palpate.export.exported import Export
from palpate.export.mjcf_text import header, object_to_export, parts_of, rigid_phi
from palpate.export.ros2_control_local import (
    AMPLITUDE,
    AXES,
    FREQUENCY_HZ,
    UNITS,
    Local,
    control_frame,
    default_positions,
    local_model,
)
from palpate.files import check_folder, write_text
from palpate.mechanisms import Free, Hinge
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties
from palpate.runtime import Stepper
from palpate.runtime.driven import model_of
from palpate.runtime.stepper import feet_height

FILE = "admittance_controller.yaml"
_HELD = (1.0, 1.0, 100.0)
"""Mass, damping ratio, stiffness of an axis along which nothing moves: back to the reference."""
_MASSES = (1e-4, 1e6)
_SUNK_M = 1e-4
"""m that a foot may be in the ground: it stands."""
_STIFFEST = 1e8
"""What the controller accepts."""


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
