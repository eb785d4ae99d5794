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
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.polynomial import Polynomial

from palpate.export import common, joints
from palpate.export.common import Files, Part, axis_text, child, names_of, numbers
from palpate.export.joints import FAR, FASTEST, STEP, Curves, OneJoint, Stops, WheelBody
from palpate.mechanisms.mechanism import Wheel
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.motion import Coordinate, Kinematics, quaternion_from_rotation
from palpate.runtime.pairing import wrench_words
from palpate.runtime.replay import WRENCH_NAMES
from palpate.runtime.stepper import rest

ORIGIN = "origin"
"""The site at the origin of the body frame, where the wrench acts."""
_KINDS = {"turn": "hinge", "slide": "slide", "ball": "ball", "free": "free"}
_FIRM, _SETTLING = 0.9999, 0.002
"""Impedance (the highest that MuJoCo knows) and time constant (s, two steps) of dry friction at rest."""
_STICKING = {"solreffriction": f"{_SETTLING!r} 1", "solimpfriction": f"{_FIRM!r} {_FIRM!r} 0.001 0.5 2"}
_SOFTEST = 1e-4
"""The least impedance that MuJoCo knows."""
_KNOTS = 24
_WHOLE = 1e-3
"""Impedance where a damper has begun; it adds as much to the inertia."""
_DEEP, _PRESSED = {"rad": 0.1, "m": 0.02}, 0.05
"""A stop's damping grows up to this way, and has this impedance there."""
_CLOSE, _MOST_KNOTS = 1e-3, 60
"""Part of the largest force by which a broken line may miss a spring, and how many knots it may take."""
_GRIP = 10.0
"""Coefficient of friction under the wheel: enough not to slip."""
_FOOT_RADIUS = 1e-3
_CONTACT = {"contype": "1", "conaffinity": "0", "priority": "1"}
_SOFT_GROUND = {"solref": "0.002 1", "solimp": "0.99 0.999 0.0001 0.5 2"}
_POSITIONS = {"pitch": "pitch", "camber": "camber", "heading": "yaw"}
"""Coordinates of what rolls that are one joint, and that joint."""


class _File(NamedTuple):
    """What the helpers fill: the tree, and the list of what it leaves out."""

    root: ElementTree.Element
    world: ElementTree.Element
    left_out: list[str]

    def tendon(self, attributes: Mapping[str, str], shares: Mapping[str, str]) -> None:
        """A tendon whose length is a sum over joints."""
        section = self.root.find("tendon")
        tendon = child(child(self.root, "tendon") if section is None else section, "fixed", attributes)
        for joint, share in shares.items():
            child(tendon, "joint", {"joint": joint, "coef": share})

    def limit(self, name: str, joint: str, ends: Sequence[float], damping: float, grows: tuple[float, float]) -> None:
        """A limit that damps motion out of a range; `grows`: to which impedance over which width."""
        solver = {"solreflimit": numbers([0.0, -damping]), "solimplimit": numbers([_SOFTEST, *grows, 0.5, 1.0])}
        self.tendon({"name": name, "limited": "true", "range": numbers(ends), **solver}, {joint: "1"})


def export_mjcf(model: Model, *, mass: float | None = None) -> Files:
    """`model` as MJCF: NAME.xml, named after the object.

    `mass` (kg): of a body that turns on one joint and whose model knows only its inertia. Six motors at the site
    `origin` take palpate's wrench in the body frame (N, N m).
    """
    bare, left_out = common.object_to_export(model, by_motion=True)
    mechanism = bare.mechanism
    joints.check_exportable(bare, mass)
    root = ElementTree.Element("mujoco", {"model": common.plain(bare.name)})
    child(root, "compiler", {"angle": "radian", "autolimits": "true", "balanceinertia": "false"})
    option = child(root, "option", {"timestep": repr(STEP), "integrator": "implicitfast"})
    file = _File(root, child(root, "worldbody"), left_out)
    if mechanism.wheel is not None:
        usage = _rolling(file, option, bare, mechanism.wheel)
    elif mechanism.floor:
        usage = _on_floor(file, option, bare)
    elif mechanism.main is not None:
        usage = _one_joint(file, bare, joints.one_joint(bare, mass))
    elif mechanism.pivot:
        usage = _pivot(file, bare)
    else:
        phi, lost = joints.free_body(bare)
        body = child(file.world, "body", {"name": common.body_name(bare)})
        child(body, "joint", {"name": "free", "type": "free"})
        _fill(body, phi)
        left_out += lost
        usage = "qpos: position (world, m), quaternion w x y z; qvel: velocity (world, m/s), omega (body, rad/s)."
    option.set("gravity", numbers([0.0, 0.0, -mechanism.gravity]))
    actuators = child(root, "actuator")
    for name, gear in zip(WRENCH_NAMES, np.eye(6), strict=True):
        child(actuators, "motor", {"name": name, "site": ORIGIN, "gear": numbers(gear)})
    lines = [usage, f"ctrl (N, N m), at the site {ORIGIN!r}, in its axes: {wrench_words(model)}."]
    if any(" " in e.get(key, "") for e in root.iter("joint") for key in ("stiffness", "damping")):
        lines.append("Polynomial stiffness or damping: needs MuJoCo 3.7 or later.")
    return (
        {f"{common.file_stem(model)}.xml": common.xml_text(root, common.header(bare, "MJCF", lines, left_out))},
        left_out,
        (usage,),
    )


def _one_joint(file: _File, model: Model, one: OneJoint) -> str:
    """A body on a hinge or a slide, with its springs, dampers and stops."""
    quaternion = quaternion_from_rotation(one.R_world_body)
    weightless = {"gravcomp": "1"} if one.weightless else {}
    body = child(file.world, "body", {"name": common.body_name(model), "quat": numbers(quaternion), **weightless})
    curves, inertia, name = one.curves, one.inertia, one.joint.name
    resisting, lost = _resistance(curves)
    elastic, errors = _springs(file, curves, name, str(model.mechanism.main))
    if lost and not joints.nearest_damping(curves).exact:
        damping, about = _add_zones(file, curves, name, inertia)
        resisting.pop("damping", None)
        resisting |= {"damping": _trimmed(damping)} if damping.any() else {}
        lost = [about, *lost[1:]]
    joint = {"name": name, "type": _KINDS[one.joint.kind], "axis": axis_text(one.joint.axis), **resisting, **elastic}
    joint |= {"armature": numbers(one.armature)} if one.armature else {}
    joint |= {} if one.stops is None else _limits(file, one.stops, name, inertia, curves.unit)
    child(body, "joint", joint)
    _fill(body, one.phi)
    level = float(joint.get("frictionloss", "0"))
    file.left_out.extend([*one.left_out, *lost, *errors, *one.about_stops])
    file.left_out.extend([_creep(level, inertia, curves.on("rad/s"))] if level else [])
    return f"qpos: {one.usage}"


def _pivot(file: _File, model: Model) -> str:
    """A body that turns about a point: hinges through it, or a ball joint, which has one damping for all its axes."""
    mechanism, parts = model.mechanism, common.parts_of(model)
    quaternion = quaternion_from_rotation(np.array(mechanism.R_world_body))
    body = child(file.world, "body", {"name": common.body_name(model), "quat": numbers(quaternion)})
    phi, dry = common.known_phi(model), 0.0
    others, ball = [p for p in parts if p.phi is None], mechanism.joints[0].kind == "ball"
    lost = [p for p in others if p.element.acts_on not in mechanism.coordinates or p.element.stops is not None]
    lost += [p for p in others if ball and p not in lost and not joints.is_constant(p, mechanism.coordinates)]
    file.left_out.extend(f"{p.name} ({p.element.type} on {p.element.acts_on}): not known to this export" for p in lost)
    for joint in mechanism.joints:
        attributes = {"name": joint.name, "type": _KINDS[joint.kind], "axis": axis_text(joint.axis)}
        if ball:
            resisting, messages = joints.alike(others, tuple(mechanism.coordinates))
            pairs = zip(("damping", "frictionloss"), resisting, strict=True)
            attributes |= {name: numbers(x) for name, x in pairs if x}
        else:
            acting = tuple(p for p in others if p not in lost and p.element.acts_on == joint.name)
            curves = _curves(acting, joint.name, math.pi / 2)
            resisting, messages = _resistance(curves)
            elastic, errors = _springs(file, curves, joint.name, joint.name)
            attributes |= {**resisting, **elastic}
            messages += errors
        child(body, "joint", attributes)
        dry = max(dry, float(attributes.get("frictionloss", "0")))
        file.left_out.extend(messages)
    _fill(body, phi)
    file.left_out.extend([_creep(dry, float(min(phi[4], phi[7], phi[9])), "rad/s")] if dry else [])
    if ball:
        return "qpos: the quaternion w x y z of the body in a world whose z points up; qvel: omega (body, rad/s)."
    return f"qpos: the angles {' and '.join(j.name for j in mechanism.joints)}, rad."


def _fill(body: ElementTree.Element, phi: FloatArray, site: str = ORIGIN) -> None:
    """Inertia about the centre of mass, in the body's axes: M11 M22 M33 M12 M13 M23; and the site of its origin."""
    mass, com, entries = common.inertial(phi)
    child(body, "inertial", {"pos": numbers(com), "mass": numbers(mass), "fullinertia": numbers(entries)})
    if site:
        child(body, "site", {"name": site})


def _resistance(curves: Curves) -> tuple[dict[str, str], list[str]]:
    """Attributes of a joint or tendon for damping and dry friction, and what they do not say."""
    friction, damping, left_out = joints.friction_and_damping(curves, quadratic=True)
    attributes = {"damping": _trimmed(damping.values)} if damping.values.any() else {}
    if friction.values[0]:
        attributes |= {"frictionloss": numbers(friction.values), **_STICKING}
    return attributes, left_out


def _creep(level: float, inertia: float, unit: str) -> str:
    """How dry friction (N m) that holds an inertia (kg m2) gives way: (1 - d) a = d b v, b = 2 / (d time constant)."""
    speed = (1 - _FIRM) * _SETTLING / 2 * level / inertia
    return f"dry friction at rest: MuJoCo's is soft; what it holds creeps at up to {speed:.1g} {unit}"


def _springs(file: _File, curves: Curves, joint: str, coordinate: str) -> tuple[dict[str, str], list[str]]:
    """Attributes of a joint for a spring of up to third order; other springs are added to the tree. -> also errors."""
    cubic = [p for p in curves.parts if p.element.acts_on == coordinate and (p.element.polynomial or (0, 4))[1] <= 3]
    others = curves.of(p for p in curves.parts if p not in cubic)
    ref, coefficients, constant = _joint_polynomial(cubic)
    attributes = {"stiffness": _trimmed(coefficients), "springref": numbers(ref)} if coefficients.any() else {}
    kinks = joints.knots(others.parts, coordinate)
    at, values, worst, largest = _broken_line(lambda q: others.at_rest(q) + constant, curves.low, curves.high, kinks)
    if largest == 0.0:
        return attributes, []
    # a force that is piecewise linear and constant beyond the ends: springs that begin to act at the knots
    first, stiffness = float(values[0]), max(abs(float(values[0])), 1.0)
    # two springs of opposite stiffness: what is left of them is constant
    springs = [(at[0] - first / stiffness, True, stiffness), (at[0], True, -stiffness)] if first else []
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(at), [0.0]])
    springs += [(q, False, step) for q, step in zip(at, np.diff(slopes), strict=True) if step]
    for i, (q, both, step) in enumerate(springs):
        q = q if q != -1.0 else np.nextafter(-1.0, 0.0)  # a length of -1 means another thing to MuJoCo
        length = numbers([q, q] if both else [-FAR, q])
        file.tendon({"name": f"{joint}_spring_{i}", "springlength": length, "stiffness": numbers(step)}, {joint: "1"})
    if worst <= 1e-9 * largest:
        return attributes, []
    bent = [p for p in others.parts if np.ptp(curves.of([p]).at_rest(curves.grid)) > 0]
    unit, noun = curves.on("N m"), "torque" if curves.unit == "rad" else "force"
    return attributes, [
        f"{names_of(bent)}: the {noun} at rest is a line through {len(at)} knots over the {curves.noun}, off by at "
        f"most {worst:.3g} {unit} of {largest:.3g} {unit}"
    ]


def _joint_polynomial(springs: Sequence[Part]) -> tuple[float, FloatArray, float]:
    """Springs of at most third order as one: held = constant + a x + b x^2 + c x^3, x = q - ref.

    -> ref, (a, b, c), constant, which is zero where the polynomial has a root.
    """
    total = Polynomial([0.0])
    for part in springs:
        reference, _ = part.element.polynomial or (0.0, 0)
        total = total - Polynomial(part.p)(Polynomial([-reference, 1.0]))
    total = total.trim()
    roots = total.roots() if total.degree() > 0 else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    ref, constant = (float(real[np.abs(real).argmin()]), 0.0) if len(real) else (0.0, float(total(0.0)))
    moved = np.array([*total(Polynomial([ref, 1.0])).coef, *(0.0,) * 4], dtype=float)
    return ref, moved[1:4], constant


def _broken_line(
    force: Callable[[FloatArray], FloatArray], low: float, high: float, kinks: Sequence[float]
) -> tuple[FloatArray, FloatArray, float, float]:
    """A line through the kinks and as many more knots as bring it close: knots, values, worst error, largest force."""
    inside = [x for x in kinks if low < x < high]
    fine = np.unique(np.concatenate([np.linspace(low, high, 4001), inside]))
    truth = force(fine)
    largest = float(np.abs(truth).max())
    at = np.unique([low, high, *inside])
    while True:
        values = force(at)
        error = np.abs(np.interp(fine, at, values) - truth)
        worst = int(error.argmax())
        if error[worst] <= _CLOSE * largest or len(at) >= _MOST_KNOTS + len(inside):
            return at, values, float(error[worst]), largest
        at = np.unique([*at, fine[worst]])


def _trimmed(values: FloatArray) -> str:
    """Without zeros at the end: one number is what every version of MuJoCo reads."""
    return numbers(np.trim_zeros(values, "b"))


def _add_zones(file: _File, curves: Curves, joint: str, inertia: float) -> tuple[FloatArray, str]:
    """Fit and write dampers against opening beyond a place and against closing below it; `inertia`: of the joint.

    The nearest sum of dampers that each take energy out, by least squares over positions and speeds. -> damping (a, b)
    that is left to the joint, and what the dampers do not say.
    """
    from scipy.optimize import nnls

    q, v, force = curves.moving()
    places = np.linspace(curves.low, curves.high, _KNOTS + 1)
    width = float(places[1] - places[0])
    up, down = places[:-1], places[1:]
    up, down = np.append(up[0] - width, up), np.append(down, down[-1] + width)  # those that are whole all along
    against_opening = [np.maximum(v, 0.0) * _share((q - at) / width) for at in up]
    against_closing = [np.minimum(v, 0.0) * _share((at - q) / width) for at in down]
    columns = np.stack([v, v * np.abs(v), *against_opening, *against_closing], axis=1)
    b = nnls(columns, force)[0]
    b[b < 1e-6 * b.max()] = 0.0
    error, counts = columns @ b - force, list[int]()
    for name, where, values in zip(("opening", "closing"), (up, down), np.split(b[2:], 2), strict=True):
        dampers = [(at, x) for at, x in zip(where.tolist(), values.tolist(), strict=True) if x]
        counts.append(len(dampers))
        for i, (at, x) in enumerate(dampers):
            ends = (-FAR, at) if name == "opening" else (at, FAR)
            file.limit(f"{joint}_{name}_{i}", joint, ends, x / inertia, (_WHOLE, width))
    odd = [p for p in curves.parts if not joints.nearest_damping(curves.of([p])).exact]
    unit = curves.on("N m")
    return b[:2], (
        f"{names_of(odd)}: resistance to motion that depends on {curves.noun}, direction or flow; {sum(counts)} "
        f"dampers against opening or closing instead, off by at most {np.abs(error).max():.3g} {unit} (RMS "
        f"{rms(error):.3g} {unit}) up to {FASTEST:g} {curves.on('rad/s')}; they add up to "
        f"{100 * max(counts) * _WHOLE:.2g} % to the inertia"
    )


def _share(beyond: FloatArray) -> FloatArray:
    """The share with which a damper acts, over widths beyond its place."""
    d = _SOFTEST + (_WHOLE - _SOFTEST) * np.clip(beyond, 0.0, 1.0)
    return np.where(beyond > 0, d / (1 - d) / _WHOLE, 0.0)


def _limits(file: _File, stops: Stops, joint: str, inertia: float, unit: str) -> dict[str, str]:
    """Attributes of the joint; the stops' damping c d d', d how far one is pressed, goes into the tree."""
    (low, high, stiffness, *dampings), deep = stops, _DEEP[unit]
    for side, ends, c in zip(("lowest", "highest"), ((low, FAR), (-FAR, high)), dampings, strict=True):
        if c:
            file.limit(f"{joint}_{side}", joint, ends, c * deep / inertia, (_PRESSED, deep))
    soft = {"solreflimit": numbers([-stiffness / inertia, 0.0])} if stiffness else {}
    soft |= {"solimplimit": numbers([_SOFTEST, _SOFTEST, 1e-3, 0.5, 1.0])} if stiffness else {}
    return {"range": numbers([low, high]), **soft}


def _rolling(file: _File, option: ElementTree.Element, model: Model, wheel: Wheel) -> str:
    """Fill the file; -> what qpos is."""
    mechanism, parts = model.mechanism, common.parts_of(model)
    planar, feet = wheel.moves == "planar", [p for p in parts if p.element.ground and p.element.contact]
    if not planar or feet:
        option.attrib.update({"cone": "elliptic", "impratio": "100"})
        child(file.world, "geom", {"name": "ground", "type": "plane", "size": "0 0 1"})
    quaternion = quaternion_from_rotation(np.array(mechanism.R_world_body))
    place = {"pos": numbers([0.0, 0.0, wheel.radius]), "quat": numbers(quaternion)}
    body = child(file.world, "body", {"name": common.body_name(model), **place})
    chain = {
        j.name: child(body, "joint", {"name": j.name, "type": _KINDS[j.kind], "axis": numbers(j.axis)})
        for j in mechanism.joints
    }
    for name, ends in mechanism.limits.items():
        chain[name].set("range", numbers(ends))
    if planar:
        phi, wheels = common.known_phi(model), list[WheelBody]()
        if spin := joints.spin_inertia(parts):
            chain["x"].set("armature", numbers(spin / wheel.radius**2))
    else:
        phi, wheels, made_up = joints.wheels_of(model, wheel)
        slip = f"rolling without slip: as far as a friction of {_GRIP:g} on soft ground holds"
        file.left_out.extend([*made_up, slip])
    _fill(body, phi)
    for one in wheels:
        inner = child(body, "body", {"name": one.name, "pos": numbers([0.0, 0.0, one.place])})
        child(inner, "joint", {"name": one.name, "type": "hinge", "axis": "0 0 1"})
        _fill(inner, one.phi, site="")
        shape = {"name": one.name, "type": "sphere", "size": numbers(wheel.radius), **_CONTACT}
        child(inner, "geom", {**shape, "condim": "3", "friction": f"{_GRIP!r} 0 0", **_SOFT_GROUND})
    _add_feet(file, body, wheel.feet, parts)
    lightest = min((float(w.phi[9]) for w in wheels), default=float(phi[0]) * wheel.radius**2)
    _add_laws(file, chain, _sums(wheel), parts, lightest)
    if feet:
        stand = dict(zip(mechanism.state, rest(model), strict=True))
        places = [*(stand.get(name, 0.0) for name in chain), *(0.0 for _ in wheels)]
        child(child(file.root, "keyframe"), "key", {"name": "rest", "qpos": numbers(places)})
        file.left_out.append(
            "MuJoCo starts with all angles zero, where the feet are in the ground: load the keyframe rest "
            "(mj_resetDataKeyframe), in which it stands"
        )
    names = ", ".join([*chain, *(w.name for w in wheels)])
    return f"qpos: {names} (m, rad): place of the axle's middle, z from the radius on; angles as palpate's state."


def _add_feet(file: _File, body: ElementTree.Element, places: Sequence[Sequence[float]], parts: list[Part]) -> None:
    feet = {p.element.acts_on: p for p in parts if p.element.ground and p.element.contact}
    rubbing = [p for p in parts if p.element.ground and p.element.dry]
    for name in feet:
        values = [float(p.p[0]) for p in rubbing if p.element.acts_on.startswith(f"{name}_")]
        mu = float(np.mean(values)) if values else 0.0
        place = places[int(name.removeprefix("foot_")) - 1]
        shape = {"name": name, "type": "sphere", "size": repr(_FOOT_RADIUS), "pos": numbers(place), **_CONTACT}
        child(body, "geom", {**shape, "condim": "3" if mu else "1", "friction": f"{mu!r} 0 0", "solref": "0.005 1"})
    if feet:
        file.left_out.append(
            f"{names_of(feet.values())}: stiffness and damping of a foot; MuJoCo's contact stands in their "
            f"place, and begins {1e3 * _FOOT_RADIUS:g} mm early"
        )
    if rubbing:
        file.left_out.append(f"{names_of(rubbing)}: friction ahead and aside apart; a cone with their mean instead")


def _on_floor(file: _File, option: ElementTree.Element, model: Model) -> str:
    """A body that neither leans nor leaves the floor, on spheres that roll: wheels of a fixed axle, casters.

    -> what qpos is. Its weight presses the spheres on the ground, as the joint z lets it.
    """
    mechanism, parts, phi = model.mechanism, common.parts_of(model), common.known_phi(model)
    option.attrib.update({"cone": "elliptic", "impratio": "100"})
    child(file.world, "geom", {"name": "ground", "type": "plane", "size": "0 0 1"})
    body = child(file.world, "body", {"name": common.body_name(model)})
    axes = {"x": ("slide", "1 0 0"), "y": ("slide", "0 1 0"), "z": ("slide", "0 0 1"), "yaw": ("hinge", "0 0 1")}
    supports = mechanism.supports
    if not supports:
        del axes["z"]
    chain = {n: child(body, "joint", {"name": n, "type": kind, "axis": axis}) for n, (kind, axis) in axes.items()}
    _fill(body, phi)
    R, (light, little, made_up) = joints.WHEEL_RADIUS, joints.made_up_wheel(model)
    sums: dict[str, tuple[dict[str, float], str]] = {"turn": ({"yaw": 1.0}, "")}
    for s in supports:
        at, inner = [*s.place, R], body
        if s.swivel:
            inner = child(body, "body", {"name": f"{s.name}_fork", "pos": numbers(at)})
            chain[s.swivel] = child(inner, "joint", {"name": s.swivel, "type": "hinge", "axis": "0 0 1"})
            child(inner, "inertial", {"pos": "0 0 0", "mass": numbers(light), "diaginertia": numbers(little)})
            at, sums[s.swivel] = [-s.trail, 0.0, 0.0], ({s.swivel: 1.0}, "")
        wheel = child(inner, "body", {"name": s.name, "pos": numbers(at)})
        chain[s.name] = child(wheel, "joint", {"name": s.name, "type": "hinge", "axis": "0 1 0"})
        child(wheel, "inertial", {"pos": "0 0 0", "mass": numbers(light), "diaginertia": numbers(little)})
        shape = {"name": s.name, "type": "sphere", "size": numbers(R), **_CONTACT}
        child(wheel, "geom", {**shape, "condim": "3", "friction": f"{_GRIP!r} 0 0", **_SOFT_GROUND})
        sums[s.roll] = ({s.name: R}, "")
    fixed = [s for s in supports if not s.swivel]
    if fixed:
        sums["forward"] = ({s.name: R / len(fixed) for s in fixed}, "")
    slip = f"rolling without slip: as far as a friction of {_GRIP:g} on soft ground holds"
    file.left_out.extend([*made_up, slip] if supports else [])
    _add_laws(file, chain, sums, parts, float(little[0]))
    return f"qpos: {', '.join(chain)} (m, rad): x, y and yaw as palpate's state; z keeps the weight on the wheels."


_Sums = Mapping[str, tuple[dict[str, float], str]]
"""Each coordinate as a sum over joints, and what that sum leaves out of it."""


def _sums(wheel: Wheel) -> dict[str, tuple[dict[str, float], str]]:
    """Each coordinate of what rolls as a sum over joints, and what that sum leaves out of it."""
    single = {coordinate: ({joint: 1.0}, "") for coordinate, joint in _POSITIONS.items()}
    if wheel.moves == "planar":
        R = wheel.radius
        return {**single, "wheel": ({"x": 1 / R}, ""), "bearing": ({"x": 1 / R, "pitch": -1.0}, "")}
    full = wheel.moves == "full"
    both = {"wheel_left": 0.5, "wheel_right": 0.5} if wheel.track > 0 else {"wheel": 1.0}
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
    file: _File, chain: Mapping[str, ElementTree.Element], sums: _Sums, parts: list[Part], lightest: float
) -> None:
    """Friction and damping along a coordinate as a tendon, springs as a joint's; `lightest`: kg m2 of a wheel."""
    left_out = file.left_out
    others = [p for p in parts if p.phi is None and not p.element.spin and not p.element.ground]
    lost = [p for p in others if not _can_say(p, sums, chain)]
    left_out += [f"{p.name} ({p.element.type} on {p.element.acts_on}): MJCF cannot express it here" for p in lost]
    dry = 0.0
    for coordinate, (shares, missing) in sums.items():
        acting = tuple(p for p in others if p not in lost and p.element.acts_on == coordinate)
        if not acting:
            continue
        curves = _curves(acting, coordinate)
        attributes, messages = _resistance(curves)
        left_out += messages
        dry = max(dry, float(attributes.get("frictionloss", "0")))
        if attributes:
            file.tendon({"name": coordinate, **attributes}, {joint: numbers(x) for joint, x in shares.items()})
        if missing:
            left_out.append(f"{names_of(acting)}: act on the speed of {coordinate} without {missing}")
        if coordinate in _POSITIONS:
            joint = chain[_POSITIONS[coordinate]]
            elastic, messages = _springs(file, curves, _POSITIONS[coordinate], coordinate)
            joint.attrib.update(elastic)
            left_out += messages
            inertia = joints.nearest_constant(curves.inertia())
            if inertia.values[0]:
                joint.set("armature", numbers(inertia.values))
    left_out += [_creep(dry, lightest, "rad/s")] if dry else []


def _can_say(part: Part, sums: Mapping[str, object], chain: Mapping[str, object]) -> bool:
    """Whether an element acts along a known coordinate and looks at no other."""
    e = part.element
    if e.acts_on not in sums or {*e.looks_at} - {e.acts_on} or e.stops is not None or e.uses_load or e.memory:
        return False
    curves = _curves((part,), e.acts_on)
    only_resists = not np.any(curves.inertia()) and not np.any(curves.at_rest(np.zeros(1)))
    return _POSITIONS[e.acts_on] in chain if e.acts_on in _POSITIONS else only_resists


def _curves(parts: tuple[Part, ...], coordinate: str, reach: float | None = None) -> Curves:
    zero = (0.0, 0.0, 0.0)

    def see(q: FloatArray, v: FloatArray, a: FloatArray) -> Kinematics:
        return Kinematics(zero, zero, zero, {coordinate: Coordinate(q, v, a, (1.0,))})

    reach = (math.pi / 2 if coordinate in _POSITIONS else 0.0) if reach is None else reach
    kinks = joints.knots(parts, coordinate)
    return Curves(parts, see, min([-reach, *kinks]), max([reach, *kinks]), "rad")
