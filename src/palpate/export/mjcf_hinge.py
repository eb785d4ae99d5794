"""A hinge as MuJoCo and URDF see it: a body on a joint, with what the joint can say of the elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from palpate.elements import EndStop, Gravity, RigidBody
from palpate.errors import PalpateError
from palpate.export.mjcf_curves import FASTEST, Curves, nearest_damping, nearest_inertia
from palpate.export.mjcf_laws import FAR, creep, names_of, resistance, springs, table_knots, trimmed, type_of
from palpate.export.mjcf_text import STEP, Part, child, numbers, parts_of, rigid_phi
from palpate.export.mjcf_zones import SOFTEST, Zones, add_stop_damper, add_zones, fit_zones
from palpate.mechanisms import Hinge
from palpate.mechanisms.hinge import HINGE
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import check_consistent, phi_from_mass_properties

_RESOLVED = 0.5
"""rad: how far a step may turn the phase of a stop's oscillation."""


@dataclass(frozen=True, slots=True, eq=False)
class Stops:
    """Ends of the range (rad), stiffness of both (N m/rad; 0 if rigid), and each one's damping (N m s/rad2)."""

    low: float
    high: float
    stiffness: float = 0.0
    damping_low: float = 0.0
    damping_high: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class HingeParts:
    """A hinge, taken apart: the body about its frame's origin, what the joint adds, and what is lost on the way."""

    hinge: Hinge
    curves: Curves
    phi: FloatArray
    armature: float
    stops: Stops | None
    about_stops: tuple[str, ...]
    """What MuJoCo's limits do not say of the stops."""
    left_out: tuple[str, ...]

    @property
    def R_world_hinge(self) -> FloatArray:
        """The hinge's frame at angle zero in a world whose z points up: up in its own axes becomes z."""
        c, s = math.cos(self.hinge.inclination), math.sin(self.hinge.inclination)
        cd, sd = math.cos(self.hinge.direction), math.sin(self.hinge.direction)
        return np.array([[c * cd, c * sd, -s], [-sd, cd, 0.0], [s * cd, s * sd, c]])


def take_apart(model: Model, mass: float | None) -> HingeParts:
    """Body, curves and stops of a model on a hinge; `mass` (kg) where the model does not know it."""
    hinge = model.mechanism
    assert isinstance(hinge, Hinge)
    parts = parts_of(model)
    along = tuple(
        p for p in parts if p.element.acts_on in hinge.coordinates and not isinstance(p.element, EndStop | Gravity)
    )
    stops = [p for p in parts if isinstance(p.element, EndStop)]
    low, high = _range(hinge, stops, along)
    curves = Curves(along, lambda q, v, a: hinge.expand((q, v), (a,), {}, ARRAYS), low, high)
    left_out = [
        f"{p.element.name} ({type_of(p)}): not known to this export"
        for p in parts
        if p.element.acts_on not in hinge.coordinates and not isinstance(p.element, RigidBody)
    ]
    inertia = nearest_inertia(curves)
    if not inertia.exact:
        left_out.append(
            f"inertia that changes with the angle: its mean, {inertia.values[0]:.4g} kg m2, is off by at most "
            f"{inertia.worst:.3g} kg m2"
        )
    phi, armature, told = _body(model, parts, float(inertia.values[0]), mass)
    ends, about_stops = _stops(hinge, stops, float(phi[9]) + armature)
    return HingeParts(hinge, curves, phi, armature, ends, about_stops, (*left_out, *told))


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


def _stops(hinge: Hinge, stops: list[Part], inertia: float) -> tuple[Stops | None, tuple[str, ...]]:
    reach: tuple[float, float] = getattr(hinge.linkage, "reach", (-FAR, FAR))
    own = [p for p in stops if p.element.acts_on == HINGE]
    told = [f"{p.element.name}: an end stop of {p.element.acts_on}, not of the hinge" for p in stops if p not in own]
    if not own:
        if reach == (-FAR, FAR):
            return None, tuple(told)
        return Stops(*reach), (*told, "end of the linkage's reach: MuJoCo's own limit")
    low, c_low, high, c_high = reach[0], 0.0, reach[1], 0.0
    for p in own:
        assert isinstance(p.element, EndStop)
        at, c = p.element.at, float(p.p[1])
        if p.element.side == "lowest" and at > low:
            low, c_low = at, c
        elif p.element.side == "highest" and at < high:
            high, c_high = at, c
    if not low < high:
        raise PalpateError(f"the end stops leave no range: lowest {low:.4g}, highest {high:.4g} rad")
    stiffness = max(float(p.p[0]) for p in own)
    hardest = inertia * (_RESOLVED / STEP) ** 2
    told.append(f"{names_of(own)}: damping of a stop, within a few percent only")
    if any(float(p.p[0]) < stiffness for p in own):
        told.append(f"{names_of(own)}: stops of different stiffness; both have {stiffness:.4g} N m/rad instead")
    if len(own) > 2:
        told.append(f"{names_of(own)}: of more than one stop on a side, the first to touch stands for all")
    if stiffness > hardest:
        told.append(
            f"{names_of(own)}: stops of {stiffness:.4g} N m/rad; {hardest:.4g} instead, the hardest that a step "
            f"of {STEP:g} s resolves"
        )
        stiffness = hardest
    most = inertia / STEP * math.sqrt(stiffness / inertia)  # explicit: it may not turn an impact at 1 rad/s in a step
    if max(c_low, c_high) > most:
        told.append(f"{names_of(own)}: damping of a stop is {most:.4g} N m s/rad2 at most, for the same reason")
    return Stops(low, high, stiffness, min(c_low, most), min(c_high, most)), tuple(told)


def _body(
    model: Model, parts: list[Part], inertia: float, mass: float | None
) -> tuple[FloatArray, float, tuple[str, ...]]:
    """phi of the body, inertia that the joint adds, and what is not known of them."""
    phi = rigid_phi(parts)
    moments = [p.p for p in parts if isinstance(p.element, Gravity)]
    mc = np.sum(moments, axis=0) if moments else np.zeros(2)
    if phi is not None:
        if mass is not None:
            raise PalpateError(f"model {model.name!r} knows its mass, {phi[0]:.6g} kg: do not give another")
        whole = phi + np.concatenate([[0.0], mc, np.zeros(7)])
        check_consistent(whole, f"model {model.name!r}, rigid body and gravity together")
        return whole, inertia, ()
    if not inertia > 0:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add an inertia or a rigid body")
    least = float(mc @ mc) / inertia
    if mass is not None and not (math.isfinite(mass) and mass > least):
        raise PalpateError(
            f"model {model.name!r}: a body of {inertia:.4g} kg m2 and this gravity needs > {least:.4g} kg"
        )
    found = max(inertia, 2 * least) if mass is None else mass  # as if its radius of gyration were 1 m
    centre = np.array([*mc, 0.0]) / found
    about = inertia - found * float(centre @ centre)
    told = f"the body's inertia across the axis is not known: {about:.4g} kg m2 about its centre of mass is made up"
    if mass is None:
        told = f"the body's mass is not known: {found:.4g} kg is made up, and forces in the bearings with it; {told}"
    return phi_from_mass_properties(found, centre, about * np.eye(3)), 0.0, (told,)


def _range(hinge: Hinge, stops: list[Part], along: tuple[Part, ...]) -> tuple[float, float]:
    """Angles over which curves are compared, rad: from stop to stop, else what the linkage or a quarter turn spans."""
    low, high = getattr(hinge.linkage, "range", (0.0, math.pi / 2))
    for p in stops:
        e = p.element
        if isinstance(e, EndStop) and e.acts_on == HINGE:
            low, high = (e.at, high) if e.side == "lowest" else (low, e.at)
    knots = [x for p in along for x in table_knots(p, HINGE)]
    return min([low, *knots]), max([high, *knots])
