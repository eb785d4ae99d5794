"""A body on a wheel in MuJoCo: joints with the names of palpate's state, a wheel that is a sphere on the ground.

The joints x, y, z, yaw, camber, pitch in this order make the pose that the mechanism's angles make, so that friction
along a coordinate is a tendon over joints. Ahead and pitch only (`planar`) needs no ground: the wheel's speed is that
of x over the radius.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from palpate.elements import EndStop, Foot, FootFriction, RigidBody, WheelSpin
from palpate.errors import PalpateError
from palpate.export.mjcf_curves import Curves, nearest_inertia
from palpate.export.mjcf_laws import creep, names_of, resistance, section, springs, table_knots, type_of
from palpate.export.mjcf_text import ORIGIN, Part, add_inertial, body_name, child, numbers, parts_of, rigid_phi
from palpate.mechanisms import Rolling
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import is_consistent, phi_from_mass_properties
from palpate.physics.kinematics import Coordinate, Kinematics
from palpate.physics.so3 import quaternion_from_rotation
from palpate.runtime.stepper import rest

_LIGHT = 1e-4
"""Spin inertia of a wheel whose own is not known, over m R^2 of the body: what it adds to the inertia ahead."""
_GRIP = 10.0
"""Coefficient of friction under the wheel: enough not to slip."""
_FOOT_RADIUS = 1e-3
_AXES: Mapping[str, tuple[str, tuple[float, float, float]]] = {
    "x": ("slide", (0.0, -1.0, 0.0)),
    "y": ("slide", (0.0, 0.0, 1.0)),
    "z": ("slide", (-1.0, 0.0, 0.0)),
    "yaw": ("hinge", (-1.0, 0.0, 0.0)),
    "camber": ("hinge", (0.0, -1.0, 0.0)),
    "pitch": ("hinge", (0.0, 0.0, 1.0)),
}
"""Joints with their axes in B: ahead is -y, left is z, up is -x at zero angles."""
_JOINTS: Mapping[str, tuple[str, ...]] = {
    "full": ("x", "y", "z", "yaw", "camber", "pitch"),
    "upright": ("x", "y", "z", "yaw", "pitch"),
    "planar": ("x", "pitch"),
}
R_WORLD_BODY = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
"""B at zero angles in the world."""
_POSITIONS = {"pitch": "pitch", "camber": "camber", "heading": "yaw"}
"""Coordinates that are one joint, and that joint."""


@dataclass(frozen=True, slots=True, eq=False)
class Wheel:
    """One wheel: its name, its place along the axle (m, left), and phi about its own centre."""

    name: str
    place: float
    phi: FloatArray


def wheels_of(model: Model) -> tuple[FloatArray, list[Wheel], list[str]]:
    """phi of the body without its wheels, the wheels, and what is made up about them.

    The model's ten hold the wheel with its mass and inertia across the axle, Izz without that of its spin.
    """
    mechanism, parts = model.mechanism, parts_of(model)
    assert isinstance(mechanism, Rolling)
    phi = rigid_phi(parts)
    if phi is None:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
    half = 0.5 * mechanism.track
    places = {"wheel_left": half, "wheel_right": -half} if half > 0 else {"wheel": 0.0}
    known = spin_inertia(parts)
    spin = (known or _LIGHT * float(phi[0]) * mechanism.radius**2) / len(places)
    told: list[str] = []
    if not known:
        told.append(
            f"the wheel's spin inertia is not known: {spin:.3g} kg m2 is made up, and adds {_LIGHT:g} of the mass to "
            "the inertia ahead"
        )
    mass, across = min(2 * spin / mechanism.radius**2, 0.05 * float(phi[0])), 0.505 * spin
    body, found = np.array(phi), list[Wheel]()
    for name, place in places.items():
        inertia = np.diag([across, across, spin])
        found.append(Wheel(name, place, phi_from_mass_properties(mass, np.zeros(3), inertia)))
        without_spin = phi_from_mass_properties(mass, [0.0, 0.0, place], np.diag([across, across, 0.0]))
        body = body - without_spin
    if is_consistent(body):
        return body, found, told
    told.append(f"the body cannot hold its wheels: {len(found) * mass:.3g} kg of wheels are added to it")
    return phi, found, told


def spin_inertia(parts: list[Part]) -> float:
    """I_w of all wheels together, kg m2; 0 if no element tells it."""
    return float(sum(p.p[0] for p in parts if isinstance(p.element, WheelSpin)))


def rolling_tree(
    root: ElementTree.Element,
    world: ElementTree.Element,
    option: ElementTree.Element,
    model: Model,
    left_out: list[str],
) -> str:
    """Fill the tree and the list of what it does not say; -> what qpos is."""
    mechanism, parts = model.mechanism, parts_of(model)
    assert isinstance(mechanism, Rolling)
    planar = mechanism.moves == "planar"
    feet = [p for p in parts if isinstance(p.element, Foot)]
    if not planar or feet:
        option.attrib.update({"cone": "elliptic", "impratio": "100"})
        child(world, "geom", {"name": "ground", "type": "plane", "size": "0 0 1"})
    place = {"pos": numbers([0.0, 0.0, mechanism.radius]), "quat": numbers(quaternion_from_rotation(R_WORLD_BODY))}
    body = child(world, "body", {"name": body_name(model), **place})
    joints = {
        name: child(body, "joint", {"name": name, "type": kind, "axis": numbers(axis)})
        for name, (kind, axis) in _AXES.items()
        if name in _JOINTS[mechanism.moves]
    }
    for name, ends in mechanism.limits.items():
        joints[name].set("range", numbers(ends))
    if planar:
        phi, wheels = rigid_phi(parts), list[Wheel]()
        if phi is None:
            raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
        if spin := spin_inertia(parts):
            joints["x"].set("armature", numbers(spin / mechanism.radius**2))
    else:
        phi, wheels, told = wheels_of(model)
        left_out += [*told, f"rolling without slip: as far as a friction of {_GRIP:g} on soft ground holds"]
    add_inertial(body, phi)
    child(body, "site", {"name": ORIGIN})
    for wheel in wheels:
        _add_wheel(body, wheel, mechanism.radius)
    _add_feet(body, mechanism, parts, left_out)
    lightest = min((float(w.phi[9]) for w in wheels), default=float(phi[0]) * mechanism.radius**2)
    _add_laws(root, joints, _ways(mechanism), parts, lightest, left_out)
    names = ", ".join([*joints, *(w.name for w in wheels)])
    if feet:
        stand = dict(zip(mechanism.state, rest(model), strict=True))
        places = [*(stand.get(name, 0.0) for name in joints), *(0.0 for _ in wheels)]
        child(section(root, "keyframe"), "key", {"name": "rest", "qpos": numbers(places)})
        left_out.append(
            "MuJoCo begins with all angles zero, where the feet are in the ground: load the keyframe rest "
            "(mj_resetDataKeyframe), in which it stands"
        )
    return f"qpos: {names} (m, rad): place of the axle's middle, z from the radius on; angles as palpate's state."


def _add_wheel(body: ElementTree.Element, wheel: Wheel, radius: float) -> None:
    found = child(body, "body", {"name": wheel.name, "pos": numbers([0.0, 0.0, wheel.place])})
    child(found, "joint", {"name": wheel.name, "type": "hinge", "axis": "0 0 1"})
    add_inertial(found, wheel.phi)
    contact = {"contype": "1", "conaffinity": "0", "priority": "1", "condim": "3", "friction": f"{_GRIP!r} 0 0"}
    soft = {"solref": "0.002 1", "solimp": "0.99 0.999 0.0001 0.5 2"}
    child(found, "geom", {"name": wheel.name, "type": "sphere", "size": numbers(radius), **contact, **soft})


def _add_feet(body: ElementTree.Element, mechanism: Rolling, parts: list[Part], left_out: list[str]) -> None:
    feet = {p.element.acts_on: p for p in parts if isinstance(p.element, Foot)}
    rubbing = [p for p in parts if isinstance(p.element, FootFriction)]
    for name in feet:
        own = [float(p.p[0]) for p in rubbing if p.element.acts_on.startswith(f"{name}_")]
        mu = float(np.mean(own)) if own else 0.0
        contact = {"contype": "1", "conaffinity": "0", "priority": "1", "condim": "3" if mu else "1"}
        place = mechanism.feet[int(name.removeprefix("foot_")) - 1]
        shape = {"name": name, "type": "sphere", "size": repr(_FOOT_RADIUS), "pos": numbers(place)}
        child(body, "geom", {**shape, **contact, "friction": f"{mu!r} 0 0", "solref": "0.005 1"})
    if feet:
        left_out.append(
            f"{names_of(list(feet.values()))}: stiffness and damping of a foot; MuJoCo's own contact stands in their "
            f"place, and begins {1e3 * _FOOT_RADIUS:g} mm early"
        )
    if rubbing:
        left_out.append(f"{names_of(rubbing)}: friction ahead and aside apart; a cone with their mean instead")


def _ways(mechanism: Rolling) -> dict[str, tuple[dict[str, float], str]]:
    """Each coordinate as a sum over joints, and what that sum leaves out of it."""
    R = mechanism.radius
    single: dict[str, tuple[dict[str, float], str]] = {
        "pitch": ({"pitch": 1.0}, ""),
        "camber": ({"camber": 1.0}, ""),
        "heading": ({"yaw": 1.0}, ""),
    }
    if mechanism.moves == "planar":
        return {**single, "wheel": ({"x": 1 / R}, ""), "bearing": ({"x": 1 / R, "pitch": -1.0}, "")}
    full = mechanism.moves == "full"
    both = {"wheel_left": 0.5, "wheel_right": 0.5} if mechanism.track > 0 else {"wheel": 1.0}
    return {
        **single,
        "wheel": ({**both, "pitch": 1.0}, "yaw rate x sin(camber)" if full else ""),
        "bearing": (both, ""),
        "yaw": ({"yaw": 1.0}, "pitch rate x sin(camber)" if full else ""),
        "patch": ({"yaw": 1.0}, "wheel speed x sin(camber)"),
        "wheel_left": ({"wheel_left": 1.0, "pitch": 1.0}, ""),
        "wheel_right": ({"wheel_right": 1.0, "pitch": 1.0}, ""),
    }


def _add_laws(
    root: ElementTree.Element,
    joints: Mapping[str, ElementTree.Element],
    ways: Mapping[str, tuple[dict[str, float], str]],
    parts: list[Part],
    lightest: float,
    left_out: list[str],
) -> None:
    """Friction and damping along a coordinate as a tendon, springs as a joint's; `lightest`: kg m2 of a wheel."""
    handled = RigidBody | WheelSpin | Foot | FootFriction
    others = [p for p in parts if not isinstance(p.element, handled)]
    lost = [p for p in others if not _can_say(p, ways, joints)]
    left_out += [f"{p.element.name} ({type_of(p)} on {p.element.acts_on}): MJCF cannot say it here" for p in lost]
    dry = 0.0
    for coordinate, (way, missing) in ways.items():
        own = tuple(p for p in others if p not in lost and p.element.acts_on == coordinate)
        if not own:
            continue
        curves = _curves(own, coordinate)
        attributes, told = resistance(curves)
        left_out += told
        dry = max(dry, float(attributes.get("frictionloss", "0")))
        if attributes:
            tendon = child(section(root, "tendon"), "fixed", {"name": coordinate, **attributes})
            for joint, share in way.items():
                child(tendon, "joint", {"joint": joint, "coef": numbers(share)})
        if missing:
            left_out.append(f"{names_of(own)}: act on the speed of {coordinate} without {missing}")
        if coordinate in _POSITIONS:
            joint = _POSITIONS[coordinate]
            elastic, told = springs(root, curves, joint, coordinate)
            joints[joint].attrib.update(elastic)
            left_out += told
            inertia = nearest_inertia(curves)
            if inertia.values[0]:
                joints[joint].set("armature", numbers(inertia.values))
    left_out += [creep(dry, lightest)] if dry else []


def _can_say(part: Part, ways: Mapping[str, object], joints: Mapping[str, object]) -> bool:
    """Whether an element acts along a known coordinate and looks at no other."""
    e = part.element
    looked_at: tuple[str, ...] = getattr(e, "looks_at", ())
    if e.acts_on not in ways or any(name != e.acts_on for name in looked_at) or isinstance(e, EndStop):
        return False
    joint = _POSITIONS.get(e.acts_on)
    moves_only = not np.any(_curves((part,), e.acts_on).inertia()) and not np.any(
        _curves((part,), e.acts_on).at_rest(np.zeros(1))
    )
    return joint in joints if joint else moves_only


def _curves(parts: tuple[Part, ...], coordinate: str) -> Curves:
    zero = (0.0, 0.0, 0.0)

    def see(q: FloatArray, v: FloatArray, a: FloatArray) -> Kinematics:
        return Kinematics(zero, zero, zero, {coordinate: Coordinate(q, v, a, (1.0,))})

    reach = math.pi / 2 if coordinate in _POSITIONS else 0.0
    knots = [x for p in parts for x in table_knots(p, coordinate)]
    return Curves(parts, see, min([-reach, *knots]), max([reach, *knots]))
