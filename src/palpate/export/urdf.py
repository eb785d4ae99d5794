"""URDF: links with inertia, joints with limits, damping and friction; it has no springs and no gravity."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from palpate.export import common, joints
from palpate.export.common import Files, Part, axis_text, child, numbers
from palpate.export.joints import FAR, OneJoint
from palpate.mechanisms.mechanism import Wheel
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import is_consistent, phi_from_mass_properties

_NO_LIMIT = {"effort": "1000000.0", "velocity": "1000.0"}
"""URDF wants these of every joint with limits; they say nothing about the object."""
_CARRIAGE = 1e-6
"""Mass of a link that moves with x only, over that of the body, where no spin inertia of the wheel gives it."""
_ROUND = 0.1
"""m: radius of gyration of such a link."""
_AT_ZERO = np.eye(3)


def export_urdf(model: Model, *, mass: float | None = None) -> Files:
    """`model` as URDF: NAME.urdf, named after the object.

    `mass` (kg): of a body that turns on one joint and whose model knows only its inertia.
    """
    bare, left_out = common.object_to_export(model, by_motion=True)
    mechanism = bare.mechanism
    joints.check_exportable(bare, mass)
    root = ElementTree.Element("robot", {"name": common.plain(bare.name) or "object"})
    extension = child(root, "mujoco")
    child(extension, "compiler", {"balanceinertia": "false", "fusestatic": "false"})
    child(extension, "option", {"gravity": numbers([0.0, 0.0, -mechanism.gravity])})
    child(root, "link", {"name": "world"})
    if mechanism.wheel is not None:
        usage = (_planar if mechanism.wheel.moves == "planar" else _rolling)(root, bare, mechanism.wheel, left_out)
    elif mechanism.floor:
        usage = _on_floor(root, bare, left_out)
    elif mechanism.main is not None:
        usage = _one_joint(root, bare, joints.one_joint(bare, mass), left_out)
    elif mechanism.pivot:
        usage = _pivot(root, bare, left_out)
    else:
        phi, lost = joints.free_body(bare)
        _link(root, common.body_name(bare), phi)
        _joint(root, "free", "floating", ("world", common.body_name(bare)))
        left_out += lost
        usage = "The joint 'free' floats."
    left_out.append(f"gravity, {mechanism.gravity:g} m/s2 along -z of the world: only MuJoCo reads it from this file")
    return (
        {f"{common.file_stem(model)}.urdf": common.xml_text(root, common.header(bare, "URDF", [usage], left_out))},
        left_out,
        (usage,),
    )


def _one_joint(root: ElementTree.Element, model: Model, one: OneJoint, left_out: list[str]) -> str:
    """A body on a hinge or a slide."""
    curves, phi = one.curves, one.phi
    friction, damping, lost = joints.friction_and_damping(curves, quadratic=False)
    force = curves.on("N m")
    if one.armature:
        spun = one.armature * np.outer(one.joint.axis, one.joint.axis)[np.triu_indices(3)]
        heavier = phi + np.concatenate([np.zeros(4), spun])
        if one.joint.kind == "turn" and is_consistent(heavier):
            phi = heavier
        else:
            size = f"{one.armature:.4g} {curves.on('kg m2')}"
            lost.append(f"inertia of the joint, {size}: no link can have it beside that of the body")
    left_out += [*one.left_out, *lost]
    held = np.abs(curves.at_rest(curves.grid))
    if held.any():
        names = ", ".join(p.name for p in curves.parts if curves.of([p]).at_rest(curves.grid).any())
        left_out.append(f"{names}: URDF has no springs; up to {held.max():.4g} {force} at rest are missing")
    if one.weightless:
        left_out.append(f"no weight along the {one.joint.name}: the model has none, but gravity pulls the link")
    link, name = common.body_name(model), one.joint.name
    _link(root, link, phi)
    limited = one.joint.kind == "slide" or one.stops is not None
    kind = "prismatic" if one.joint.kind == "slide" else "revolute" if limited else "continuous"
    joint = _joint(root, name, kind, ("world", link), axis_text(one.joint.axis), R=one.R_world_body)
    if limited:
        low, high = (-FAR, FAR) if one.stops is None else (one.stops.low, one.stops.high)
        child(joint, "limit", {"lower": numbers(low), "upper": numbers(high), **_NO_LIMIT})
    if one.stops is not None and one.stops.stiffness:
        left_out.append("stiffness and damping of the end stops: limits that a program makes as hard as it likes")
    _dynamics(joint, float(damping.values[0]), float(friction.values[0]))
    return f"The joint {name!r} is {one.usage}"


def _planar(root: ElementTree.Element, model: Model, wheel: Wheel, left_out: list[str]) -> str:
    """What rolls ahead and pitches: a carriage that slides, and the body that turns on it."""
    parts, body = common.parts_of(model), common.body_name(model)
    R, phi, spin = wheel.radius, common.known_phi(model), joints.spin_inertia(parts)
    moved = spin / R**2 or _CARRIAGE * float(phi[0])
    if not spin:
        left_out.append(f"a carriage of {moved:.3g} kg is made up: programs want a mass for each link that moves")
    _link(root, "carriage", np.array([moved, 0, 0, 0, *(0.4 * moved * R**2 * np.eye(3))[np.triu_indices(3)]]))
    _link(root, body, phi)
    upright = np.array(model.mechanism.R_world_body)
    ahead = _joint(root, "x", "prismatic", ("world", "carriage"), "0 -1 0", R=upright, place=np.array([0.0, 0.0, R]))
    child(ahead, "limit", {"lower": numbers(-FAR), "upper": numbers(FAR), **_NO_LIMIT})
    _dynamics(ahead, *(joints.constants(parts, ("wheel",)) / [R**2, R]))
    _dynamics(_joint(root, "pitch", "continuous", ("carriage", body), "0 0 1"), *joints.constants(parts, ("pitch",)))
    left_out += _lost(parts, ("wheel", "pitch"))
    return "Joints: x (ahead, m) and pitch (rad), as palpate's state."


def _pivot(root: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    """What turns about a point: hinges one after the other, with next to nothing between them."""
    mechanism, parts, body = model.mechanism, common.parts_of(model), common.body_name(model)
    phi, R, ball = common.known_phi(model), np.array(mechanism.R_world_body), mechanism.joints[0].kind == "ball"
    axes = {f"about_{axis}": unit for axis, unit in zip("xyz", np.eye(3).tolist(), strict=True)}
    chain = axes if ball else {j.name: list(j.axis) for j in mechanism.joints}
    links = ["world", *(f"cross_{i + 1}" for i in range(len(chain) - 1)), body]
    small = _CARRIAGE * float(phi[0])
    light = np.array([small, 0, 0, 0, *(small * _ROUND**2 * np.eye(3))[np.triu_indices(3)]])
    for link in links[1:]:
        _link(root, link, phi if link == body else light)
    both, messages = joints.alike(parts, tuple(mechanism.coordinates)) if ball else ((0.0, 0.0), [])
    for i, (name, axis) in enumerate(chain.items()):
        joint = _joint(root, name, "continuous", (links[i], links[i + 1]), axis_text(axis), R=R if i == 0 else _AT_ZERO)
        _dynamics(joint, *(both if ball else joints.constants(parts, (name,))))
    left_out += [
        *messages,
        f"links of {small:.3g} kg between its hinges are made up",
        *_lost(parts, tuple(mechanism.coordinates)),
    ]
    if ball:
        left_out.append(
            "a ball joint: three hinges instead, about x, y and z, which lock where the second is at 90 deg"
        )
        held = [p for p in parts if p.phi is None and joints.is_constant(p, tuple(mechanism.coordinates))]
        left_out += [f"{common.names_of(held)}: about those hinges instead of the body's axes"] if held else []
    return f"Joints: {', '.join(chain)} (rad), about axes that cross at the origin of the body frame."


def _rolling(root: ElementTree.Element, model: Model, wheel: Wheel, left_out: list[str]) -> str:
    """What rolls on the ground: a body that floats, with wheels in their bearings."""
    parts, body = common.parts_of(model), common.body_name(model)
    phi, wheels, lost = joints.wheels_of(model, wheel)
    _link(root, body, phi)
    _joint(root, "free", "floating", ("world", body))
    for one in wheels:
        shape = child(child(_link(root, one.name, one.phi), "collision"), "geometry")
        child(shape, "sphere", {"radius": numbers(wheel.radius)})
        joint = _joint(root, one.name, "continuous", (body, one.name), "0 0 1", place=np.array([0.0, 0.0, one.place]))
        single = joints.constants(parts, (one.name,)) * (len(wheels) > 1)
        _dynamics(joint, *(joints.constants(parts, ("wheel", "bearing")) / len(wheels) + single))
    held = ("wheel", "bearing", *(w.name for w in wheels))
    ground = [p.name for p in parts if joints.is_constant(p, held) and p.element.acts_on != "bearing"]
    if ground:
        lost.append(
            f"{', '.join(ground)}: in the bearing instead of on the ground, so that the body feels their moment"
        )
    left_out += [*lost, "the ground: rolling without slip needs one with friction", *_lost(parts, held)]
    if wheel.moves == "upright":
        left_out.append("camber, which the wheels hold at zero: the joint 'free' leaves it to the ground")
    return "The joint 'free' floats: body frame B in the world; each wheel turns in its bearing (z of B, left)."


def _on_floor(root: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    """A body on wheels and casters: it floats, and the ground holds it."""
    parts, body, (mass, inertia, made_up) = common.parts_of(model), common.body_name(model), joints.made_up_wheel(model)
    light, R = phi_from_mass_properties(mass, np.zeros(3), np.diag(inertia)), joints.WHEEL_RADIUS
    _link(root, body, common.known_phi(model))
    _joint(root, "free", "floating", ("world", body))
    fixed = [s for s in model.mechanism.supports if not s.swivel]
    said = {"forward": len(fixed)} if fixed else {}  # coordinate -> wheels that share what acts on it
    said |= {s.roll: 1 for s in model.mechanism.supports if s.roll not in said}
    for s in model.mechanism.supports:
        parent, at = body, np.array([*s.place, R])
        if s.swivel:
            _link(root, f"{s.name}_fork", light)
            swivel = _joint(root, s.swivel, "continuous", (body, f"{s.name}_fork"), "0 0 1", place=at)
            _dynamics(swivel, *joints.constants(parts, (s.swivel,)))
            parent, at, said[s.swivel] = f"{s.name}_fork", np.array([-s.trail, 0.0, 0.0]), 1
        shape = child(child(_link(root, s.name, light), "collision"), "geometry")
        child(shape, "sphere", {"radius": numbers(R)})
        shares = [joints.constants(parts, (x,)) / said[x] for x in {s.roll, *([] if s.swivel else ["forward"])}]
        joint = _joint(root, s.name, "continuous", (parent, s.name), "0 1 0", place=at)
        _dynamics(joint, *(np.sum(shares, axis=0) * [R**2, R]))
    left_out += [*made_up, *_lost(parts, tuple(said))]
    left_out.append("the ground, which needs friction: it keeps wheels from slipping, and the body from leaning")
    return "The joint 'free' floats: body frame B in the world; wheels and casters turn in theirs."


def _lost(parts: list[Part], coordinates: tuple[str, ...]) -> list[str]:
    lost = [p for p in parts if p.phi is None and not p.element.spin and not joints.is_constant(p, coordinates)]
    return [f"{p.name} ({p.element.type} on {p.element.acts_on}): URDF cannot express it" for p in lost]


def _link(root: ElementTree.Element, name: str, phi: FloatArray) -> ElementTree.Element:
    mass, com, entries = common.inertial(phi)
    link = child(root, "link", {"name": name})
    inside = child(link, "inertial")
    child(inside, "origin", {"xyz": numbers(com), "rpy": "0 0 0"})
    child(inside, "mass", {"value": numbers(mass)})
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    child(inside, "inertia", {n: numbers(x) for n, x in zip(names, entries, strict=True)})
    return link


def _joint(
    root: ElementTree.Element, name: str, kind: str, links: tuple[str, str], axis: str = "", **at: FloatArray
) -> ElementTree.Element:
    """Between two links, parent and child; `at`: their rotation R and `place` (m), none by default."""
    joint, R, place = child(root, "joint", {"name": name, "type": kind}), at.get("R", _AT_ZERO), at.get("place")
    for role, link in zip(("parent", "child"), links, strict=True):
        child(joint, role, {"link": link})
    place = np.zeros(3) if place is None else place
    child(joint, "origin", {"xyz": numbers(place), "rpy": numbers(_roll_pitch_yaw(R))})
    if axis:
        child(joint, "axis", {"xyz": axis})
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
