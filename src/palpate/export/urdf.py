"""URDF: links with inertia, joints with limits, damping and friction; it has no springs and no gravity."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from palpate.elements import Coulomb, RigidBody, Viscous, WheelSpin
from palpate.errors import PalpateError
from palpate.export.common import (
    Export,
    Part,
    body_name,
    child,
    document,
    header,
    inertial,
    numbers,
    object_to_export,
    parts_of,
    plain,
    rigid_phi,
)
from palpate.export.joints import (
    FAR,
    R_WORLD_BODY,
    HingeParts,
    friction_and_damping,
    spin_inertia,
    take_apart,
    type_of,
    wheels_of,
)
from palpate.files import check_folder, write_text
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.mechanisms.hinge import HINGE
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import is_consistent

_NO_LIMIT = {"effort": "1000000.0", "velocity": "1000.0"}
"""URDF wants these of every joint with limits; they say nothing about the object."""
_CARRIAGE = 1e-6
"""Mass of a link that moves with x only, over that of the body, where the wheel's spin does not tell it."""
_AT_ZERO = np.eye(3)


def export_urdf(model: Model, folder: str | Path, *, mass: float | None = None) -> Export:
    """Write `model` as URDF into `folder`, as model.urdf.

    `mass` (kg): of a body on a hinge whose model knows only its inertia.
    """
    folder = Path(folder)
    check_folder(folder)
    found, left_out = object_to_export(model)
    mechanism = found.mechanism
    if not isinstance(mechanism, Free | Hinge | Rolling):
        raise PalpateError(f"model {found.name!r}: its mechanism is not known to this export")
    if mass is not None and not isinstance(mechanism, Hinge):
        raise PalpateError(f"model {found.name!r} knows its mass: do not give another")
    root = ElementTree.Element("robot", {"name": plain(found.name) or "object"})
    gravity = numbers([0.0, 0.0, -mechanism.gravity])
    extension = child(root, "mujoco")
    child(extension, "compiler", {"balanceinertia": "false", "fusestatic": "false"})
    child(extension, "option", {"gravity": gravity})
    child(root, "link", {"name": "world"})
    if isinstance(mechanism, Free):
        told = _free(root, found, left_out)
    elif isinstance(mechanism, Hinge):
        told = _hinge(root, found, take_apart(found, mass), left_out)
    else:
        told = _rolling(root, found, left_out)
    left_out.append(f"gravity, {mechanism.gravity:g} m/s2 along -z of the world: only MuJoCo reads it from this file")
    path = folder / "model.urdf"
    write_text(path, document(root, header(found, "URDF", [told], left_out)))
    return Export((path,), tuple(left_out), (told,))


def _free(root: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    phi = _known(model)
    _link(root, body_name(model), phi)
    _joint(root, "free", "floating", "world", body_name(model))
    left_out += [f"{e.name}: not known to this export" for e in model.elements if not isinstance(e, RigidBody)]
    return "The joint 'free' floats."


def _hinge(root: ElementTree.Element, model: Model, taken: HingeParts, left_out: list[str]) -> str:
    friction, damping, lost = friction_and_damping(taken.curves, quadratic=False)
    phi = taken.phi
    if taken.armature:
        phi = phi + np.concatenate([np.zeros(9), [taken.armature]])
        if not is_consistent(phi):
            phi = taken.phi
            lost.append(f"inertia of the joint, {taken.armature:.4g} kg m2: no link can have it beside the body's own")
    left_out += [*taken.left_out, *lost]
    held = np.abs(taken.curves.at_rest(taken.curves.grid))
    if held.any():
        springs = [p for p in taken.curves.parts if taken.curves.at_rest(taken.curves.grid, [p]).any()]
        names = ", ".join(p.element.name for p in springs)
        left_out.append(f"{names}: URDF has no springs; up to {held.max():.4g} N m at rest are missing")
    _link(root, body_name(model), phi)
    limited = taken.stops is not None
    joint = _joint(root, HINGE, "revolute" if limited else "continuous", "world", body_name(model), taken.R_world_hinge)
    child(joint, "axis", {"xyz": "0 0 1"})
    if taken.stops is not None:
        child(joint, "limit", {"lower": numbers(taken.stops.low), "upper": numbers(taken.stops.high), **_NO_LIMIT})
        if taken.stops.stiffness:
            left_out.append("stiffness and damping of the end stops: limits that a program makes as hard as it likes")
    _dynamics(joint, float(damping.values[0]), float(friction.values[0]))
    return "The joint 'hinge' is the angle of the hinge, rad."


def _rolling(root: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    mechanism, parts = model.mechanism, parts_of(model)
    assert isinstance(mechanism, Rolling)
    R, body = mechanism.radius, body_name(model)
    others = [p for p in parts if not isinstance(p.element, RigidBody | WheelSpin)]
    if mechanism.moves == "planar":
        phi, spin = _known(model), spin_inertia(parts)
        moved = spin / R**2 or _CARRIAGE * float(phi[0])
        if not spin:
            left_out.append(f"a carriage of {moved:.3g} kg is made up: programs want a mass for each link that moves")
        carriage = np.array([moved, 0, 0, 0, *(0.4 * moved * R**2 * np.eye(3))[np.triu_indices(3)]])
        _link(root, "carriage", carriage)
        _link(root, body, phi)
        ahead = _joint(root, "x", "prismatic", "world", "carriage", R_WORLD_BODY, (0.0, 0.0, R))
        child(ahead, "axis", {"xyz": "0 -1 0"})
        child(ahead, "limit", {"lower": numbers(-FAR), "upper": numbers(FAR), **_NO_LIMIT})
        pitch = _joint(root, "pitch", "continuous", "carriage", body)
        child(pitch, "axis", {"xyz": "0 0 1"})
        _dynamics(ahead, *(x / R**n for x, n in zip(_simple(others, ("wheel",)), (2, 1), strict=True)))
        _dynamics(pitch, *_simple(others, ("pitch",)))
        left_out += _lost(others, ("wheel", "pitch"))
        return "Joints: x (ahead, m) and pitch (rad), as palpate's state."
    phi, wheels, told = wheels_of(model)
    _link(root, body, phi)
    _joint(root, "free", "floating", "world", body)
    for wheel in wheels:
        link = _link(root, wheel.name, wheel.phi)
        shape = child(child(link, "collision"), "geometry")
        child(shape, "sphere", {"radius": numbers(R)})
        joint = _joint(root, wheel.name, "continuous", body, wheel.name, _AT_ZERO, (0.0, 0.0, wheel.place))
        child(joint, "axis", {"xyz": "0 0 1"})
        shared = np.array(_simple(others, ("wheel", "bearing"))) / len(wheels)
        own = np.array(_simple(others, (wheel.name,))) if len(wheels) > 1 else np.zeros(2)
        _dynamics(joint, *(shared + own))
    held = ("wheel", "bearing", *(w.name for w in wheels))
    ground = [p.element.name for p in others if _is_simple(p, held) and p.element.acts_on != "bearing"]
    if ground:
        told.append(
            f"{', '.join(ground)}: in the bearing instead of on the ground, so that the body feels their moment"
        )
    told.append("the ground: rolling without slip needs one with friction")
    left_out += [*told, *_lost(others, held)]
    if mechanism.moves == "upright":
        left_out.append("camber, which the wheels hold at zero: the joint 'free' leaves it to the ground")
    return "The joint 'free' floats: body frame B in the world; each wheel turns in its bearing (z of B, left)."


def _known(model: Model) -> FloatArray:
    phi = rigid_phi(parts_of(model))
    if phi is None:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
    return phi


def _is_simple(part: Part, coordinates: tuple[str, ...]) -> bool:
    return isinstance(part.element, Viscous | Coulomb) and part.element.acts_on in coordinates


def _simple(parts: list[Part], coordinates: tuple[str, ...]) -> tuple[float, float]:
    """Viscous and dry friction along these coordinates."""
    own = [p for p in parts if _is_simple(p, coordinates)]
    return tuple(float(sum(p.p[0] for p in own if isinstance(p.element, kind))) for kind in (Viscous, Coulomb))  # pyright: ignore[reportReturnType]


def _lost(parts: list[Part], coordinates: tuple[str, ...]) -> list[str]:
    lost = [p for p in parts if not _is_simple(p, coordinates)]
    return [f"{p.element.name} ({type_of(p)} on {p.element.acts_on}): URDF cannot say it" for p in lost]


def _link(root: ElementTree.Element, name: str, phi: FloatArray) -> ElementTree.Element:
    mass, com, entries = inertial(phi)
    link = child(root, "link", {"name": name})
    found = child(link, "inertial")
    child(found, "origin", {"xyz": numbers(com), "rpy": "0 0 0"})
    child(found, "mass", {"value": numbers(mass)})
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    child(found, "inertia", {n: numbers(x) for n, x in zip(names, entries, strict=True)})
    return link


def _joint(
    root: ElementTree.Element,
    name: str,
    kind: str,
    parent: str,
    link: str,
    R: FloatArray = _AT_ZERO,
    place: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> ElementTree.Element:
    joint = child(root, "joint", {"name": name, "type": kind})
    child(joint, "parent", {"link": parent})
    child(joint, "child", {"link": link})
    child(joint, "origin", {"xyz": numbers(place), "rpy": numbers(_roll_pitch_yaw(R))})
    return joint


def _dynamics(joint: ElementTree.Element, damping: float, friction: float) -> None:
    if damping or friction:
        child(joint, "dynamics", {"damping": numbers(damping), "friction": numbers(friction)})


def _roll_pitch_yaw(R: FloatArray) -> tuple[float, float, float]:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (URDF: about fixed axes x, y, z); roll is zero where it is the same as yaw."""
    across = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], across)
    if across < 1e-12:
        return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
