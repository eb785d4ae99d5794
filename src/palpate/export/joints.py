"""A model as bodies on joints: what elements do along a coordinate, and the nearest that a format can express."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from palpate.errors import PalpateError
from palpate.export.common import Part, known_phi, names_of, parts_of, total_phi
from palpate.mechanisms import Mechanism
from palpate.mechanisms.mechanism import Joint, Wheel
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import check_consistent, is_consistent, phi_from_mass_properties
from palpate.physics.motion import Kinematics
from palpate.physics.units import along
from palpate.runtime.stepper import moving_range

STEP = 1e-3
"""s: the time step that a file asks for."""
FAR = 1e3
"""rad or m: where no limit is."""
FASTEST = 1.0
"""rad/s or m/s: up to this speed the nearest damping is sought and its error stated."""
_SAME = 1e-9
"""Curves that differ by less than this part of their size are the same."""
_POINTS, _SPEEDS = 801, 20
_RESOLVED = 0.5
"""rad: how far a step may turn the phase of a stop's oscillation."""
_TRAVEL = {"rad": math.pi / 2, "m": 0.5}
"""How far an object is taken to move where neither stops nor a linkage say it."""
_ROUND = 0.1
"""m: radius of gyration of a body of which only the mass is known."""
WHEEL_RADIUS, LIGHT_WHEEL = 0.05, 2e-4
"""m, and a part of the body's mass: of wheels that only hold a body on the floor."""
_LIGHT = 1e-4
"""Spin inertia of a wheel where it is not known, over m R^2 of the body: what it adds to the inertia ahead."""

See = Callable[[FloatArray, FloatArray, FloatArray], Kinematics]
"""Position, speed and acceleration along the coordinate, each (samples,) -> kinematics that elements read."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Forces of some elements along one coordinate, by virtual work, from `low` to `high`.

    `see` gives the kinematics; `unit` is that of the coordinate, "rad" or "m". A force is positive where it resists an
    increase of the coordinate.
    """

    parts: tuple[Part, ...]
    see: See
    low: float
    high: float
    unit: str

    def of(self, parts: Iterable[Part]) -> Curves:
        """The same of other elements."""
        return replace(self, parts=tuple(parts))

    def on(self, unit: str) -> str:
        """A unit that is written as for an angle, along this coordinate."""
        return along(unit, self.unit)

    @property
    def noun(self) -> str:
        """What the coordinate is."""
        return "angle" if self.unit == "rad" else "position"

    @property
    def grid(self) -> FloatArray:
        """Positions at which curves are compared."""
        return np.linspace(self.low, self.high, _POINTS)

    def inertia(self) -> FloatArray:
        """kg m2 (kg) at each position of the grid."""
        q, zero = self.grid, np.zeros(_POINTS)
        return self._force(q, zero, np.ones(_POINTS)) - self._force(q, zero, zero)

    def at_rest(self, q: FloatArray) -> FloatArray:
        """What it takes to hold the object at each position, without dry friction."""
        return self._force(q, np.zeros_like(q), np.zeros_like(q))

    def moving(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, speeds and what moving adds to the force at rest (samples,), over the grid and both directions."""
        speeds = FASTEST * np.arange(1, _SPEEDS + 1) / _SPEEDS
        q, v = (x.ravel() for x in np.meshgrid(self.grid[::8], np.concatenate([-speeds[::-1], speeds])))
        return q, v, self._force(q, v, np.zeros_like(q)) - self.at_rest(q)

    def level(self) -> FloatArray:
        """Dry friction over the grid, moving and at rest."""
        q, v, _ = self.moving()
        q, v = np.append(q, self.grid), np.append(v, np.zeros(_POINTS))
        return self._force(q, v, np.zeros_like(q), dry=True)

    def _force(self, q: FloatArray, v: FloatArray, a: FloatArray, *, dry: bool = False) -> FloatArray:
        k, total = self.see(q, v, a), np.zeros_like(q)
        for e, part in ((part.element, part) for part in self.parts if part.element.dry == dry):
            ratio = k.coordinates[e.acts_on].ratio[0]
            row = e.level(k, part.shapes, ARRAYS) if dry else e.columns(e.features(k, part.shapes, ARRAYS))[0]
            total = total + (np.abs(ratio) if dry else ratio) * sum(x * p for x, p in zip(row, part.p, strict=True))
        return total


class Nearest(NamedTuple):
    """Numbers that a format can say in the place of a curve; the error is in the curve's unit."""

    values: FloatArray
    rms: float
    worst: float
    exact: bool


def nearest_damping(curves: Curves, *, quadratic: bool = True) -> Nearest:
    """a v + b v |v| with a, b >= 0 (so that it takes energy out), by least squares over the grid; b = 0 if not
    `quadratic`.
    """
    from scipy.optimize import nnls

    _, v, force = curves.moving()
    columns = np.stack([v, v * np.abs(v) * quadratic], axis=1)
    values = nnls(columns, force)[0]
    values[values * [FASTEST, FASTEST**2] <= _SAME * np.abs(force).max(initial=0.0)] = 0.0
    return _nearest(values, columns @ values - force, force)


def nearest_constant(curve: FloatArray) -> Nearest:
    """The mean over the grid: one level of dry friction, one inertia."""
    mean = float(curve.mean())
    return _nearest(np.array([mean]), curve - mean, curve)


def _nearest(values: FloatArray, error: FloatArray, curve: FloatArray) -> Nearest:
    size, worst = float(np.abs(curve).max(initial=0.0)), float(np.abs(error).max(initial=0.0))
    values = np.array([float(f"{x:.13g}") for x in values])  # the last digits are those of the sums above
    return Nearest(values, rms(error) if len(error) else 0.0, worst, worst <= _SAME * size)


def friction_and_damping(curves: Curves, *, quadratic: bool) -> tuple[Nearest, Nearest, list[str]]:
    """The nearest level of dry friction and damping, and what they do not say."""
    friction, damping = nearest_constant(curves.level()), nearest_damping(curves, quadratic=quadratic)
    ends = f"{math.degrees(curves.low):.0f} to {math.degrees(curves.high):.0f} deg"
    where = f"from {ends if curves.unit == 'rad' else f'{curves.low:.3g} to {curves.high:.3g} m'}"
    force, left_out, (a, b) = curves.on("N m"), list[str](), damping.values
    both = f"{a:.4g} {curves.on('N m s/rad')}" + (f" and {b:.4g} {curves.on('N m s2/rad2')}" if b else "")
    moving = f"resistance to motion that depends on {curves.noun}, direction or flow; all damping is {both} instead"
    level = f"dry friction that depends on {curves.noun} or speed; {friction.values[0]:.4g} {force} in all instead"
    fast, each = f", up to {FASTEST:g} {curves.on('rad/s')}", [(p, curves.of([p])) for p in curves.parts]
    flowing = [p for p, alone in each if not nearest_damping(alone, quadratic=quadratic).exact]
    rubbing = [p for p, alone in each if not nearest_constant(alone.level()).exact]
    for near, what, up_to, odd in ((damping, moving, fast, flowing), (friction, level, "", rubbing)):
        if not near.exact:
            error = f"off by at most {near.worst:.3g} {force} (RMS {near.rms:.3g} {force})"
            left_out.append(f"{names_of(odd)}: {what}, {error} {where}{up_to}")
    return friction, damping, left_out


def knots(parts: Iterable[Part], coordinate: str) -> list[float]:
    """Where the force at rest of elements along this coordinate has a kink."""
    return [x for p in parts if p.element.stores and p.element.acts_on == coordinate for x in p.element.breaks]


class Stops(NamedTuple):
    """Ends of the range (rad), stiffness of both (N m/rad; 0 if rigid), and each one's damping (N m s/rad2); along a
    length in m, N/m and N s/m2.
    """

    low: float
    high: float
    stiffness: float = 0.0
    damping_low: float = 0.0
    damping_high: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class OneJoint:
    """A body on one joint: phi about the body frame's origin, what the joint adds, and what is lost on the way."""

    joint: Joint
    R_world_body: FloatArray
    curves: Curves
    phi: FloatArray
    armature: float
    weightless: bool
    """Whether the model has no weight along the joint though the body would: only its inertia is known."""
    stops: Stops | None
    about_stops: tuple[str, ...]
    """What MuJoCo's limits do not say of the stops."""
    left_out: tuple[str, ...]

    @property
    def inertia(self) -> float:
        """Along the joint, kg m2 or kg."""
        return _along(self.joint, self.phi) + self.armature

    @property
    def usage(self) -> str:
        """What its position is."""
        return f"the {self.curves.noun} of the {self.joint.name}, {self.curves.unit}."


def check_exportable(model: Model, mass: float | None) -> None:
    """Refuse a mechanism without declared joints, and a second mass (kg) for a model that has one."""
    model.mechanism.chain()
    if mass is not None and model.mechanism.main is None:
        raise PalpateError(f"model {model.name!r} knows its mass: do not give another")


def free_body(model: Model) -> tuple[FloatArray, list[str]]:
    """phi of a free body, and what it cannot have beside its inertia."""
    return known_phi(model), [f"{p.name}: not known to this export" for p in parts_of(model) if p.phi is None]


def one_joint(model: Model, mass: float | None) -> OneJoint:
    """Body, curves and stops of a model with one freedom; `mass` (kg) where the model does not know it."""
    mechanism, parts = model.mechanism, parts_of(model)
    main, (joint,) = str(mechanism.main), mechanism.joints
    unit, coordinates = mechanism.coordinates[main], mechanism.coordinates
    stops = [p for p in parts if p.element.stops is not None]
    others = [p for p in parts if p.element.acts_on in coordinates and p.phi is None and p not in stops]
    low, high = moving_range(model, (0.0, _TRAVEL[unit]))
    kinks = knots(others, main)
    low, high = min([low, *kinks]), max([high, *kinks])  # over which curves are compared

    def see(q: FloatArray, v: FloatArray, a: FloatArray) -> Kinematics:
        return model.untouched(mechanism.expand((q, v), (a,), ARRAYS), ARRAYS)

    curves = Curves(tuple(others), see, low, high, unit)
    left_out = [
        f"{p.name} ({p.element.type}): not known to this export"
        for p in parts
        if p.element.acts_on not in coordinates and p.phi is None
    ]
    if joint.pitch:
        way = f"{2e3 * math.pi * joint.pitch:.4g} mm in a turn"
        lost = f"the way along the axis, {way}: the body turns in place, and what pushes along the axis does nothing"
        left_out.append(f"{lost}; its own weight on the thread is missing where a rigid body has it")
    inertia = nearest_constant(curves.inertia())
    if not inertia.exact:
        left_out.append(
            f"inertia that changes with the {curves.noun}: its mean, {inertia.values[0]:.4g} {curves.on('kg m2')}, is "
            f"off by at most {inertia.worst:.3g} {curves.on('kg m2')}"
        )
    phi, armature, about_body = _body(model, parts, joint, float(inertia.values[0]), mass)
    ends, about_stops = _stops(mechanism, stops, _along(joint, phi) + armature, curves)
    R = np.array(mechanism.R_world_body)
    upwards = float((R @ joint.axis)[2]) if joint.kind == "slide" and total_phi(parts) is None else 0.0
    left_out += about_body
    return OneJoint(joint, R, curves, phi, armature, abs(upwards) > _SAME, ends, about_stops, tuple(left_out))


def _along(joint: Joint, phi: FloatArray) -> float:
    """Inertia of a body along a joint through its origin."""
    xx, xy, xz, yy, yz, zz = phi[4:]
    I, axis = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), np.array(joint.axis)
    return float(phi[0] if joint.kind == "slide" else axis @ I @ axis)


def _stops(
    mechanism: Mechanism, stops: list[Part], inertia: float, curves: Curves
) -> tuple[Stops | None, tuple[str, ...]]:
    main, stiff = mechanism.main, curves.on("N m/rad")
    low, high = max(mechanism.reach[0], -FAR), min(mechanism.reach[1], FAR)
    on_main = [p for p in stops if p.element.acts_on == main]
    lost = [f"{p.name}: an end stop of {p.element.acts_on}, not of the {main}" for p in stops if p not in on_main]
    if not on_main:
        if (low, high) == (-FAR, FAR):
            return None, tuple(lost)
        return Stops(low, high), (*lost, "end of the linkage's reach: a limit as MuJoCo makes it")
    sides = [(p.element.stops, float(p.p[1])) for p in on_main]
    low, c_low = max([(low, 0.0), *((s.at, c) for s, c in sides if s is not None and s.side == "lowest")])
    high, c_high = min([(high, 0.0), *((s.at, c) for s, c in sides if s is not None and s.side == "highest")])
    if not low < high:
        raise PalpateError(f"the end stops leave no range: lowest {low:.4g}, highest {high:.4g} {curves.unit}")
    names, stiffness = names_of(on_main), max(float(p.p[0]) for p in on_main)
    hardest = inertia * (_RESOLVED / STEP) ** 2
    lost.append(f"{names}: damping of a stop, within a few percent only")
    if any(float(p.p[0]) < stiffness for p in on_main):
        lost.append(f"{names}: stops of different stiffness; both have {stiffness:.4g} {stiff} instead")
    if len(on_main) > 2:
        lost.append(f"{names}: more than one stop on a side; the first to touch stands for all")
    if stiffness > hardest:
        lost.append(
            f"{names}: stops of {stiffness:.4g} {stiff}; {hardest:.4g} instead, the hardest that a step of {STEP:g} s "
            "resolves"
        )
        stiffness = hardest
    most = inertia / STEP * math.sqrt(stiffness / inertia)  # explicit: a step may not turn an impact at a speed of 1
    if max(c_low, c_high) > most:
        lost.append(f"{names}: damping of a stop is {most:.4g} {curves.on('N m s/rad2')} at most, for the same reason")
    return Stops(low, high, stiffness, min(c_low, most), min(c_high, most)), tuple(lost)


def _body(
    model: Model, parts: list[Part], joint: Joint, inertia: float, mass: float | None
) -> tuple[FloatArray, float, list[str]]:
    """phi of the body, inertia that the joint adds, and what is not known of them; `inertia` is along the joint."""
    phi, weight = total_phi(parts), total_phi(parts, inertial=False)
    mc = np.zeros(3) if weight is None else weight[1:4]
    known = float(phi[0]) if phi is not None else inertia if joint.kind == "slide" else None
    if phi is None and not inertia > 0:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add an inertia or a rigid body")
    if mass is not None and known is not None:
        raise PalpateError(f"model {model.name!r} knows its mass, {known:.6g} kg: do not give another")
    if phi is not None:
        phi = phi if weight is None else phi + weight
        check_consistent(phi, f"model {model.name!r}, rigid body and gravity together")
        return phi, inertia, []
    if joint.kind == "slide":
        about = inertia * _ROUND**2
        lost = f"centre of mass and inertia are not known: the origin and {about:.4g} kg m2 are made up"
        return phi_from_mass_properties(inertia, np.zeros(3), about * np.eye(3)), 0.0, [f"the body's {lost}"]
    least = float(mc @ mc) / inertia
    if mass is not None and not (math.isfinite(mass) and mass > least):
        raise PalpateError(
            f"model {model.name!r}: a body of {inertia:.4g} kg m2 and this gravity needs > {least:.4g} kg"
        )
    some = max(inertia, 2 * least) if mass is None else mass  # as if its radius of gyration were 1 m
    about = inertia - float(mc @ mc) / some
    lost = f"the body's inertia across the axis is not known: {about:.4g} kg m2 about its centre of mass is made up"
    if mass is None:
        lost = f"the body's mass is not known: {some:.4g} kg is made up, and forces in the bearings with it; {lost}"
    return phi_from_mass_properties(some, mc / some, about * np.eye(3)), 0.0, [lost]


class WheelBody(NamedTuple):
    """One wheel: its name, its place along the axle (m, left), and phi about its centre."""

    name: str
    place: float
    phi: FloatArray


def wheels_of(model: Model, wheel: Wheel) -> tuple[FloatArray, list[WheelBody], list[str]]:
    """phi of the body without its wheels, the wheels, and what is made up about them.

    The model's ten hold the wheel with its mass and inertia across the axle, Izz without that of its spin.
    """
    phi, made_up, half = known_phi(model), list[str](), 0.5 * wheel.track
    places = {"wheel_left": half, "wheel_right": -half} if half > 0 else {"wheel": 0.0}
    known = spin_inertia(parts_of(model))
    spin = (known or _LIGHT * float(phi[0]) * wheel.radius**2) / len(places)
    if not known:
        made_up.append(
            f"the wheel's spin inertia is not known: {spin:.3g} kg m2 is made up, and adds {_LIGHT:g} of the mass to "
            "the inertia ahead"
        )
    mass, across = min(2 * spin / wheel.radius**2, 0.05 * float(phi[0])), 0.505 * spin
    turning = phi_from_mass_properties(mass, np.zeros(3), np.diag([across, across, spin]))
    wheels = [WheelBody(name, place, turning) for name, place in places.items()]
    held = [phi_from_mass_properties(mass, [0.0, 0.0, w.place], np.diag([across, across, 0.0])) for w in wheels]
    body = phi - np.sum(held, axis=0)
    if is_consistent(body):
        return body, wheels, made_up
    made_up.append(f"the body cannot hold its wheels: {len(wheels) * mass:.3g} kg of wheels are added to it")
    return phi, wheels, made_up


def made_up_wheel(model: Model) -> tuple[float, FloatArray, list[str]]:
    """Mass (kg) and inertia (3, kg m2) of a wheel, or fork, under a body on the floor; and what to say of it."""
    mass = LIGHT_WHEEL * float(known_phi(model)[0])
    words = (
        f"wheels are made up: spheres of {1e3 * WHEEL_RADIUS:g} mm that weigh {mass:.2g} kg each, as do the forks of "
        "casters, which add to the mass"
    )
    return mass, np.full(3, 0.4 * mass * WHEEL_RADIUS**2), [words] if model.mechanism.supports else []


def spin_inertia(parts: Sequence[Part]) -> float:
    """I_w of all wheels together, kg m2; 0 if no element has it."""
    return float(sum(p.p[0] for p in parts if p.element.spin))


def is_constant(part: Part, coordinates: Collection[str]) -> bool:
    """Whether an element is a damper or dry friction with one coefficient along one of these coordinates."""
    return part.element.constant in ("damping", "friction") and part.element.acts_on in coordinates


def constants(parts: Iterable[Part], coordinates: Collection[str]) -> FloatArray:
    """Damping and dry friction along these coordinates."""
    acting = [(p.element.constant, float(p.p[0])) for p in parts if is_constant(p, coordinates)]
    return np.array([sum(x for kind, x in acting if kind == wanted) for wanted in ("damping", "friction")])


def alike(parts: Sequence[Part], coordinates: Sequence[str]) -> tuple[tuple[float, float], list[str]]:
    """One damping (N m s/rad) and one dry friction (N m) for several coordinates, their means, and what that loses."""
    each, lost = np.array([constants(parts, (name,)) for name in coordinates]), list[str]()
    for values, what, unit in zip(each.T, ("damping", "dry friction"), ("N m s/rad", "N m"), strict=True):
        if np.ptp(values) > _SAME * float(np.abs(values).max()):
            shown = ", ".join(f"{x:.4g}" for x in values)
            lost.append(f"{what} of its own about each axis ({shown} {unit}): {values.mean():.4g} about all instead")
    damping, friction = (float(x) for x in each.mean(axis=0))
    return (damping, friction), lost
