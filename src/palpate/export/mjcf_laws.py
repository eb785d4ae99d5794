"""What a joint of MuJoCo or URDF can say of the elements along it, written into a tree; the rest in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

from palpate.elements import Table
from palpate.export.mjcf_curves import (
    FASTEST,
    Curves,
    Said,
    broken_line,
    is_cubic,
    joint_polynomial,
    nearest_damping,
    nearest_friction,
)
from palpate.export.mjcf_text import Part, child, numbers
from palpate.physics.arrays import FloatArray

FAR = 1e3
"""rad: where no limit is."""
_FIRM, _SETTLING = 0.9999, 0.002
"""Impedance (the highest that MuJoCo knows) and time constant (s, two steps) of dry friction at rest."""
_STICKING = {"solreffriction": f"{_SETTLING!r} 1", "solimpfriction": f"{_FIRM!r} {_FIRM!r} 0.001 0.5 2"}


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
