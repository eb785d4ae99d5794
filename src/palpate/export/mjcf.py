"""MJCF: a model for MuJoCo. What MuJoCo cannot express is listed in the file and in the result.

**Damping that depends on position and direction**: limits that resist but do not push. A limit of small impedance d is
a spring and damper in force that never pulls: f = max(0, I (k r + b v) d / (1 - d)) (MuJoCo documentation, Solver
parameters). With k = 0 it is a damper that acts beyond a place and against one direction only; d that grows over a
width lets it begin gradually. So resistance to opening may grow with the angle and resistance to closing fall, as those
of a door closer do; and a stop may have damping that grows with how far it is pressed.

**A body on a wheel**: the joints x, y, z, yaw, camber, pitch in this order make the pose that the mechanism's angles
make, so that friction along a coordinate is a tendon over joints. The wheel is a sphere on the ground; ahead and pitch
only (`planar`) needs no ground: the wheel's speed is that of x over the radius.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from palpate.elements import EndStop, Foot, FootFriction, RigidBody, WheelSpin
from palpate.errors import PalpateError
from palpate.export.common import (
    ORIGIN,
    STEP,
    WRENCH_NAMES,
    Export,
    Part,
    add_inertial,
    body_name,
    child,
    document,
    header,
    numbers,
    object_to_export,
    parts_of,
    plain,
    rigid_phi,
)
from palpate.export.joints import (
    FAR,
    FASTEST,
    R_WORLD_BODY,
    Curves,
    HingeParts,
    Stops,
    Wheel,
    broken_line,
    friction_and_damping,
    is_cubic,
    joint_polynomial,
    names_of,
    nearest_damping,
    nearest_inertia,
    spin_inertia,
    table_knots,
    take_apart,
    type_of,
    wheels_of,
)
from palpate.files import check_folder, write_text
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.mechanisms.hinge import HINGE
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.kinematics import Coordinate, Kinematics
from palpate.physics.so3 import quaternion_from_rotation
from palpate.runtime.pairing import wrench_words
from palpate.runtime.stepper import rest

_FIRM, _SETTLING = 0.9999, 0.002
"""Impedance (the highest that MuJoCo knows) and time constant (s, two steps) of dry friction at rest."""
_STICKING = {"solreffriction": f"{_SETTLING!r} 1", "solimpfriction": f"{_FIRM!r} {_FIRM!r} 0.001 0.5 2"}
SOFTEST = 1e-4
"""The least impedance that MuJoCo knows."""
_KNOTS = 24
_WHOLE = 1e-3
"""Impedance where a damper has begun; it adds as much to the inertia."""
_DEEP, _PRESSED = 0.1, 0.05
"""A stop's damping grows up to this way (rad), and has this impedance there."""
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
_POSITIONS = {"pitch": "pitch", "camber": "camber", "heading": "yaw"}
"""Coordinates that are one joint, and that joint."""


def export_mjcf(model: Model, folder: str | Path, *, mass: float | None = None) -> Export:
    """Write `model` as MJCF into `folder`, as model.xml.

    `mass` (kg): of a body on a hinge whose model knows only its inertia. Six motors at the site `origin` take
    palpate's wrench in the body frame (N, N m).
    """
    folder = Path(folder)
    check_folder(folder)
    found, left_out = object_to_export(model)
    root = ElementTree.Element("mujoco", {"model": plain(found.name)})
    child(root, "compiler", {"angle": "radian", "autolimits": "true", "balanceinertia": "false"})
    option = child(root, "option", {"timestep": repr(STEP), "integrator": "implicitfast"})
    world = child(root, "worldbody")
    mechanism = found.mechanism
    if mass is not None and not isinstance(mechanism, Hinge):
        raise PalpateError(f"model {found.name!r} knows its mass: do not give another")
    if isinstance(mechanism, Free):
        told, gravity = _free(world, found, left_out), mechanism.gravity
    elif isinstance(mechanism, Hinge):
        taken = take_apart(found, mass)
        quaternion = quaternion_from_rotation(taken.R_world_hinge)
        body = child(world, "body", {"name": body_name(found), "quat": numbers(quaternion)})
        left_out += [*taken.left_out, *hinge_joint(body, root, taken)]
        add_inertial(body, taken.phi)
        child(body, "site", {"name": ORIGIN})
        told, gravity = "qpos: the angle of the hinge, rad.", mechanism.gravity
    elif isinstance(mechanism, Rolling):
        told, gravity = rolling_tree(root, world, option, found, left_out), mechanism.gravity
    else:
        raise PalpateError(f"model {found.name!r}: its mechanism is not known to this export")
    option.set("gravity", numbers([0.0, 0.0, -gravity]))
    _motors(root)
    lines = [told, f"ctrl (N, N m), at the site {ORIGIN!r}, in its axes: {wrench_words(model)}."]
    if any(" " in e.get(key, "") for e in root.iter("joint") for key in ("stiffness", "damping")):
        lines.append("Polynomial stiffness or damping: needs MuJoCo 3.7 or later.")
    path = folder / "model.xml"
    write_text(path, document(root, header(found, "MJCF", lines, left_out)))
    return Export((path,), tuple(left_out), (told,))


def _free(world: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    phi = rigid_phi(parts_of(model))
    if phi is None:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
    body = child(world, "body", {"name": body_name(model)})
    child(body, "joint", {"name": "free", "type": "free"})
    add_inertial(body, phi)
    child(body, "site", {"name": ORIGIN})
    left_out += [f"{e.name}: not known to this export" for e in model.elements if not isinstance(e, RigidBody)]
    return "qpos: position (world, m), quaternion w x y z; qvel: velocity (world, m/s), omega (body, rad/s)."


def _motors(root: ElementTree.Element) -> None:
    actuators = child(root, "actuator")
    for name, gear in zip(WRENCH_NAMES, np.eye(6), strict=True):
        child(actuators, "motor", {"name": name, "site": ORIGIN, "gear": numbers(gear)})


def resistance(curves: Curves) -> tuple[dict[str, str], list[str]]:
    """Attributes of a joint or tendon for damping and dry friction, and what they do not say."""
    friction, damping, left_out = friction_and_damping(curves, quadratic=True)
    found: dict[str, str] = {}
    if damping.values.any():
        found["damping"] = trimmed(damping.values)
    if friction.values[0]:
        found |= {"frictionloss": numbers(friction.values), **_STICKING}
    return found, left_out


def creep(level: float, inertia: float) -> str:
    """How dry friction (N m) that holds an inertia (kg m2) gives way: (1 - d) a = d b v, b = 2 / (d time constant)."""
    speed = (1 - _FIRM) * _SETTLING / 2 * level / inertia
    return f"dry friction at rest: MuJoCo's is soft; what it holds back creeps by up to {speed:.1g} rad/s"


def springs(root: ElementTree.Element, curves: Curves, joint: str, coordinate: str) -> tuple[dict[str, str], list[str]]:
    """Attributes of a joint for a spring of up to third order; other springs are added to the tree. -> also errors."""
    found: dict[str, str] = {}
    constant = 0.0
    spring = joint_polynomial(curves.parts, coordinate)
    if spring is not None:
        ref, coefficients, constant = spring
        if coefficients.any():
            found = {"stiffness": trimmed(coefficients), "springref": numbers(ref)}
    others = [p for p in curves.parts if not is_cubic(p, coordinate)]

    def force(q: FloatArray) -> FloatArray:
        return curves.at_rest(q, others) + constant

    knots = [x for p in others for x in table_knots(p, coordinate)]
    line = broken_line(force, curves.low, curves.high, knots)
    if line.largest == 0.0:
        return found, []
    _add_line(root, joint, line.knots, line.values)
    if line.worst <= 1e-9 * line.largest:
        return found, []
    bent = [p for p in others if np.ptp(curves.at_rest(curves.grid, [p])) > 0]
    return found, [
        f"{names_of(bent)}: the torque at rest is a line through {len(line.knots)} knots over the angle, off by at "
        f"most {line.worst:.3g} N m of {line.largest:.3g} N m"
    ]


def _add_line(root: ElementTree.Element, joint: str, knots: FloatArray, values: FloatArray) -> None:
    """A force that is piecewise linear and constant beyond the ends: springs that begin to act at the knots."""
    first = float(values[0])
    stiffness = max(abs(first), 1.0)
    # two springs of opposite stiffness: what is left of them is constant
    found = [(knots[0] - first / stiffness, True, stiffness), (knots[0], True, -stiffness)] if first else []
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    found += [(q, False, step) for q, step in zip(knots, np.diff(slopes), strict=True) if step]
    tendons = section(root, "tendon")
    for i, (q, both, step) in enumerate(found):
        q = q if q != -1.0 else np.nextafter(-1.0, 0.0)  # a length of -1 means another thing to MuJoCo
        length = numbers([q, q] if both else [-FAR, q])
        attributes = {"name": f"{joint}_spring_{i}", "springlength": length, "stiffness": numbers(step)}
        child(child(tendons, "fixed", attributes), "joint", {"joint": joint, "coef": "1"})


def section(root: ElementTree.Element, tag: str) -> ElementTree.Element:
    """The section of the file, made if it is not there."""
    found = root.find(tag)
    return child(root, tag) if found is None else found


def trimmed(values: FloatArray) -> str:
    """Without zeros at the end: one number is what every version of MuJoCo reads."""
    count = int(np.flatnonzero(values)[-1]) + 1
    return numbers(values[:count])


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """Damping (a, b) of the joint; dampers (place in rad, N m s/rad) against opening beyond and closing below."""

    joint: FloatArray
    opening: tuple[tuple[float, float], ...]
    closing: tuple[tuple[float, float], ...]
    width: float
    rms: float
    worst: float

    @property
    def added_inertia(self) -> float:
        """The largest part by which the limits together make the inertia seem larger."""
        return max(len(self.opening), len(self.closing)) * _WHOLE


def fit_zones(curves: Curves) -> Zones:
    """The nearest sum of dampers that each take energy out, by least squares over angles and speeds."""
    from scipy.optimize import nnls

    q, v, force = curves.moving()
    places = np.linspace(curves.low, curves.high, _KNOTS + 1)
    width = float(places[1] - places[0])
    up, down = places[:-1], places[1:]
    up, down = np.append(up[0] - width, up), np.append(down, down[-1] + width)  # those that are whole all along
    whole = [v, v * np.abs(v)]
    against_opening = [np.maximum(v, 0.0) * _weight((q - at) / width) for at in up]
    against_closing = [np.minimum(v, 0.0) * _weight((at - q) / width) for at in down]
    columns = np.stack([*whole, *against_opening, *against_closing], axis=1)
    found = nnls(columns, force)[0]
    found[found < 1e-6 * found.max()] = 0.0
    error = columns @ found - force
    opening, closing = np.split(found[2:], 2)
    return Zones(
        found[:2],
        tuple((float(at), float(b)) for at, b in zip(up, opening, strict=True) if b),
        tuple((float(at), float(b)) for at, b in zip(down, closing, strict=True) if b),
        width,
        math.sqrt(float(np.mean(error**2))),
        float(np.abs(error).max()),
    )


def add_zones(root: ElementTree.Element, zones: Zones, joint: str, inertia: float) -> None:
    """Write the dampers into the tree as limited tendons along the joint, whose inertia is given in kg m2."""
    for name, dampers in (("opening", zones.opening), ("closing", zones.closing)):
        for i, (at, b) in enumerate(dampers):
            ends = (-FAR, at) if name == "opening" else (at, FAR)
            _add_limit(root, f"{joint}_{name}_{i}", joint, ends, b / inertia, (_WHOLE, zones.width))


def add_stop_damper(
    root: ElementTree.Element, name: str, joint: str, ends: tuple[float, float], c: float, inertia: float
) -> None:
    """Damping c d d' of a stop (N m s/rad2) at the end of a range, where d is how far it is pressed."""
    _add_limit(root, name, joint, ends, c * _DEEP / inertia, (_PRESSED, _DEEP))


def _add_limit(
    root: ElementTree.Element,
    name: str,
    joint: str,
    ends: tuple[float, float],
    damping: float,
    grows: tuple[float, float],
) -> None:
    """A limit that damps motion out of a range; `grows`: to which impedance over which width."""
    solver = {"solreflimit": numbers([0.0, -damping]), "solimplimit": numbers([SOFTEST, *grows, 0.5, 1.0])}
    attributes = {"name": name, "limited": "true", "range": numbers(ends), **solver}
    child(child(section(root, "tendon"), "fixed", attributes), "joint", {"joint": joint, "coef": "1"})


def _weight(beyond: FloatArray) -> FloatArray:
    """The damper's share, over widths beyond its place."""
    d = SOFTEST + (_WHOLE - SOFTEST) * np.clip(beyond, 0.0, 1.0)
    return np.where(beyond > 0, d / (1 - d) / _WHOLE, 0.0)


def hinge_joint(body: ElementTree.Element, root: ElementTree.Element, taken: HingeParts) -> list[str]:
    """Add the joint, its springs and dampers to a tree; -> what they do not say."""
    curves, inertia = taken.curves, float(taken.phi[9]) + taken.armature
    resisting, left_out = resistance(curves)
    elastic, errors = springs(root, curves, HINGE, HINGE)
    if left_out and not nearest_damping(curves).exact:
        zones = fit_zones(curves)
        add_zones(root, zones, HINGE, inertia)
        resisting.pop("damping", None)
        if zones.joint.any():
            resisting["damping"] = trimmed(zones.joint)
        left_out = [*_about_zones(curves, zones), *left_out[1:]]
    joint = {"name": HINGE, "type": "hinge", "axis": "0 0 1", **resisting, **elastic}
    if taken.armature:
        joint["armature"] = numbers(taken.armature)
    if taken.stops is not None:
        joint |= _limits(root, taken.stops, inertia)
    child(body, "joint", joint)
    level = float(joint.get("frictionloss", "0"))
    told = [creep(level, inertia)] if level else []
    return [*left_out, *errors, *taken.about_stops, *told]


def _about_zones(curves: Curves, zones: Zones) -> list[str]:
    odd = [p for p in curves.parts if not nearest_damping(curves, [p]).exact]
    dampers = len(zones.opening) + len(zones.closing)
    return [
        f"{names_of(odd)}: resistance to motion that depends on angle, direction or flow; {dampers} dampers against "
        f"opening or closing instead, off by at most {zones.worst:.3g} N m (RMS {zones.rms:.3g} N m) up to "
        f"{FASTEST:g} rad/s; they add up to {100 * zones.added_inertia:.2g} % to the inertia"
    ]


def _limits(root: ElementTree.Element, stops: Stops, inertia: float) -> dict[str, str]:
    """Attributes of the joint; the dampers of the stops go into the tree."""
    found = {"range": numbers([stops.low, stops.high])}
    if stops.stiffness:
        soft = numbers([-stops.stiffness / inertia, 0.0])
        found |= {"solreflimit": soft, "solimplimit": numbers([SOFTEST, SOFTEST, 1e-3, 0.5, 1.0])}
    if stops.damping_low:
        add_stop_damper(root, f"{HINGE}_lowest", HINGE, (stops.low, FAR), stops.damping_low, inertia)
    if stops.damping_high:
        add_stop_damper(root, f"{HINGE}_highest", HINGE, (-FAR, stops.high), stops.damping_high, inertia)
    return found


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
