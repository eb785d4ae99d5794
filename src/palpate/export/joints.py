"""A model as bodies on joints: what elements do along a coordinate, and the nearest that a format can say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.elements import EndStop, Gravity, PolynomialSpring, RigidBody, Table, WheelSpin
from palpate.errors import PalpateError
from palpate.export.common import (
    STEP,
    Part,
    parts_of,
    rigid_phi,
)
from palpate.mechanisms import Hinge, Rolling
from palpate.mechanisms.hinge import HINGE
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import check_consistent, is_consistent, phi_from_mass_properties
from palpate.physics.kinematics import Kinematics

FASTEST = 1.0
"""rad/s (m/s): up to this speed the nearest damping is sought and its error told."""
_SAME = 1e-9
"""Curves that differ by less than this part of their size are the same."""
_CLOSE = 1e-3
"""Part of the largest torque by which a broken line may miss a spring."""
_MOST_KNOTS = 60
_POINTS, _SPEEDS = 801, 20
See = Callable[[FloatArray, FloatArray, FloatArray], Kinematics]
"""Position, speed and acceleration along the coordinate, each (samples,) -> kinematics with the elements' own."""
FAR = 1e3
"""rad: where no limit is."""
_RESOLVED = 0.5
"""rad: how far a step may turn the phase of a stop's oscillation."""
_LIGHT = 1e-4
"""Spin inertia of a wheel whose own is not known, over m R^2 of the body: what it adds to the inertia ahead."""
R_WORLD_BODY = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
"""B at zero angles in the world."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Forces of some elements along one coordinate, by virtual work: `see` tells the kinematics, from `low` to `high`.

    A force is positive where it resists an increase of the coordinate.
    """

    parts: tuple[Part, ...]
    see: See
    low: float
    high: float

    @property
    def grid(self) -> FloatArray:
        """Positions at which curves are compared."""
        return np.linspace(self.low, self.high, _POINTS)

    def inertia(self) -> FloatArray:
        """kg m2 (kg) at each position of the grid."""
        q, zero = self.grid, np.zeros(_POINTS)
        return self._force(self.parts, q, zero, np.ones(_POINTS)) - self._force(self.parts, q, zero, zero)

    def at_rest(self, q: FloatArray, parts: Sequence[Part] | None = None) -> FloatArray:
        """What it takes to hold the object at each position, without dry friction."""
        zero = np.zeros_like(q)
        return self._force(self.parts if parts is None else parts, q, zero, zero)

    def moving(self, parts: Sequence[Part] | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, speeds and what moving adds to the force at rest (samples,), over the grid and both directions."""
        parts = self.parts if parts is None else parts
        q, v = self._moving_grid()
        zero = np.zeros_like(q)
        return q, v, self._force(parts, q, v, zero) - self._force(parts, q, zero, zero)

    def level(self, parts: Sequence[Part] | None = None) -> FloatArray:
        """Dry friction over the grid, at rest and moving."""
        parts = self.parts if parts is None else parts
        q, v = self._moving_grid()
        q, v = np.concatenate([q, self.grid]), np.concatenate([v, np.zeros(_POINTS)])
        k, total = self.see(q, v, np.zeros_like(q)), np.zeros_like(q)
        for part in parts:
            e = part.element
            if e.dry:
                own = sum(x * p for x, p in zip(e.level(k, _shapes(part), ARRAYS), part.p, strict=True))
                total = total + np.abs(k.coordinates[e.acts_on].ratio[0]) * own
        return total

    def _moving_grid(self) -> tuple[FloatArray, FloatArray]:
        speeds = FASTEST * np.arange(1, _SPEEDS + 1) / _SPEEDS
        q, v = np.meshgrid(self.grid[::8], np.concatenate([-speeds[::-1], speeds]))
        return q.ravel(), v.ravel()

    def _force(self, parts: Sequence[Part], q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        k, total = self.see(q, v, a), np.zeros_like(q)
        for part in parts:
            e = part.element
            if not e.dry:
                (row,) = e.columns(e.features(k, _shapes(part), ARRAYS))
                total = total + k.coordinates[e.acts_on].ratio[0] * sum(x * p for x, p in zip(row, part.p, strict=True))
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Numbers that a format can say in the place of a curve; the error is in the curve's unit."""

    values: FloatArray
    rms: float
    worst: float
    exact: bool


def nearest_damping(curves: Curves, parts: Sequence[Part] | None = None, *, quadratic: bool = True) -> Said:
    """a v + b v |v| with a, b >= 0 (so that it takes energy out), by least squares over the grid; b = 0 if not
    `quadratic`.
    """
    from scipy.optimize import nnls

    _, v, force = curves.moving(parts)
    columns = np.stack([v, v * np.abs(v)], axis=1)[:, : 2 if quadratic else 1]
    found = np.zeros(2)
    found[: columns.shape[1]] = nnls(columns, force)[0]
    found[found * [FASTEST, FASTEST**2] <= _SAME * np.abs(force).max(initial=0.0)] = 0.0
    return _said(found, columns @ found[: columns.shape[1]] - force, force)


def nearest_friction(curves: Curves, parts: Sequence[Part] | None = None) -> Said:
    """One level of dry friction, the mean over the grid."""
    level = curves.level(parts)
    mean = float(level.mean())
    return _said(np.array([mean]), level - mean, level)


def nearest_inertia(curves: Curves) -> Said:
    """One inertia, the mean over the grid."""
    inertia = curves.inertia()
    mean = float(inertia.mean())
    return _said(np.array([mean]), inertia - mean, inertia)


def joint_polynomial(parts: Sequence[Part], coordinate: str) -> tuple[float, FloatArray, float] | None:
    """All springs of at most third order on a coordinate as one: held = constant + a x + b x^2 + c x^3, x = q - ref.

    -> ref, (a, b, c), constant; None if there is no such spring. The constant is zero where the polynomial has a root.
    """
    from numpy.polynomial import Polynomial

    springs = [part for part in parts if is_cubic(part, coordinate)]
    if not springs:
        return None
    total = Polynomial([0.0])
    for part in springs:
        assert isinstance(part.element, PolynomialSpring)
        total = total - Polynomial(part.p)(Polynomial([-part.element.reference, 1.0]))
    total = total.trim()
    roots = total.roots() if total.degree() > 0 else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    ref, constant = (float(real[np.abs(real).argmin()]), 0.0) if len(real) else (0.0, float(total(0.0)))
    moved = np.zeros(4)
    coefficients = np.asarray(total(Polynomial([ref, 1.0])).coef)
    moved[: len(coefficients)] = coefficients
    return ref, moved[1:], constant


def is_cubic(part: Part, coordinate: str) -> bool:
    """Whether a joint can say this spring: a polynomial of at most third order."""
    e = part.element
    return isinstance(e, PolynomialSpring) and e.acts_on == coordinate and e.order <= 3


@dataclass(frozen=True, slots=True, eq=False)
class BrokenLine:
    """Piecewise linear through (knots, values), constant beyond the ends; `worst`: its largest error."""

    knots: FloatArray
    values: FloatArray
    worst: float
    largest: float


def broken_line(
    force: Callable[[FloatArray], FloatArray], low: float, high: float, knots: Sequence[float]
) -> BrokenLine:
    """A line through the given knots and as many more as bring it within a thousandth of the largest force."""
    inside = [x for x in knots if low < x < high]
    fine = np.unique(np.concatenate([np.linspace(low, high, 4001), inside]))
    truth = force(fine)
    largest = float(np.abs(truth).max())
    at = np.unique([low, high, *inside])
    while True:
        error = np.abs(np.interp(fine, at, force(at)) - truth)
        worst = int(error.argmax())
        if error[worst] <= _CLOSE * largest or len(at) >= _MOST_KNOTS + len(inside):
            return BrokenLine(at, force(at), float(error[worst]), largest)
        at = np.unique([*at, fine[worst]])


def _said(values: FloatArray, error: FloatArray, curve: FloatArray) -> Said:
    size, worst = float(np.abs(curve).max(initial=0.0)), float(np.abs(error).max(initial=0.0))
    values = np.array([float(f"{x:.13g}") for x in values])  # the last digits are those of the sums above
    return Said(values, math.sqrt(float(np.mean(error**2))) if len(error) else 0.0, worst, worst <= _SAME * size)


def _shapes(part: Part) -> dict[str, float]:
    return {s.name: s.value for s in part.element.shapes}


def friction_and_damping(curves: Curves, *, quadratic: bool) -> tuple[Said, Said, list[str]]:
    """The nearest level of dry friction and damping, and what they do not say."""
    friction, damping = nearest_friction(curves), nearest_damping(curves, quadratic=quadratic)
    where = f"from {math.degrees(curves.low):.0f} to {math.degrees(curves.high):.0f} deg"
    left_out: list[str] = []
    if not damping.exact:
        odd = [p for p in curves.parts if not nearest_damping(curves, [p], quadratic=quadratic).exact]
        a, b = damping.values
        both = f"{a:.4g} N m s/rad" + (f" and {b:.4g} N m s2/rad2" if b else "")
        left_out.append(
            f"{names_of(odd)}: resistance to motion that depends on angle, direction or flow; all damping is {both} "
            f"instead, off by at most {damping.worst:.3g} N m (RMS {damping.rms:.3g} N m) {where}, up to "
            f"{FASTEST:g} rad/s"
        )
    if not friction.exact:
        odd = [p for p in curves.parts if p.element.dry and not nearest_friction(curves, [p]).exact]
        left_out.append(
            f"{names_of(odd)}: dry friction that depends on angle or speed; {friction.values[0]:.4g} N m in all "
            f"instead, off by at most {friction.worst:.3g} N m (RMS {friction.rms:.3g} N m) {where}"
        )
    return friction, damping, left_out


def table_knots(part: Part, coordinate: str) -> tuple[float, ...]:
    """The knots of a table over this coordinate."""
    e = part.element
    return e.knots if isinstance(e, Table) and e.acts_on == coordinate else ()


def names_of(parts: Sequence[Part]) -> str:
    """The names of elements, as a sentence wants them."""
    return ", ".join(p.element.name for p in parts) or "the elements together"


def type_of(part: Part) -> str:
    """The type of an element, ours or a user's."""
    return str(getattr(part.element, "type", type(part.element).__name__))


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
