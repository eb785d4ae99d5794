"""What all exports share: what was written and what was lost, a model's parts with their values, XML, the header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from palpate.elements import SENSOR, Element, RigidBody
from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties
from palpate.runtime.pairing import doubt
from palpate.runtime.simulate import missing_stops

NO_LIMIT = (
    "no range of the sensor is given: a glitch of any finite size moves the object. Say it with --wrench-limit, such "
    "as 500,20 (N, N m; wrench_limit in Python)"
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTH = 110
_OWN_NAMES = ("world", "carriage", "wheel", "wheel_left", "wheel_right")
ORIGIN = "origin"
"""The site at the origin of the body frame, where the wrench acts."""
STEP = 1e-3
"""s: the time step that a file asks for."""
WRENCH_NAMES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


@dataclass(frozen=True, slots=True)
class Export:
    """The files of one export. `left_out` is printed and stands in the files' own header: nothing is dropped silently.

    `files` are complete and were written atomically; `left_out` has one sentence for each thing of the model that the
    format cannot express, and what stands in its place; `notes` are for the terminal only (step times, how to build).
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An element with its values, in the order of its parameters."""

    element: Element
    p: FloatArray


def object_to_export(model: Model) -> tuple[Model, list[str]]:
    """The object alone as a runtime sees it, and what that leaves out; a model without values is refused."""
    try:
        _ = model.of_object().p
    except PalpateError as error:
        raise PalpateError(f"{error}; an object file cannot be exported, identify it first") from None
    model.check_values()
    left_out: list[str] = []
    sensor = [e.name for e in model.elements if e.acts_on == SENSOR]
    if sensor:
        left_out.append(f"{', '.join(sensor)}: belongs to the sensor, not to the object")
    found = model.of_object()
    left_out += [line for line in (doubt(model), missing_stops(found)) if line]
    forward = found.mechanism.forward()
    if forward != found.mechanism:
        left_out.append("wheel_speed 'published': nothing can move by it; the conjugate speed stands in its place")
    found = replace(found, mechanism=forward)
    return found, left_out


def parts_of(model: Model) -> list[Part]:
    """Each element with its values."""
    p, start, found = model.p, 0, list[Part]()
    for e in model.elements:
        found.append(Part(e, p[start : start + len(e.parameters)]))
        start += len(e.parameters)
    return found


def rigid_phi(parts: Iterable[Part]) -> FloatArray | None:
    """The rigid bodies together (10,), or None if there is none."""
    bodies = [part.p for part in parts if isinstance(part.element, RigidBody)]
    return np.sum(bodies, axis=0) if bodies else None


def numbers(values: ArrayLike) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(v)) for v in np.atleast_1d(np.asarray(values, dtype=float)))


def child(parent: ElementTree.Element, tag: str, attributes: Mapping[str, str] | None = None) -> ElementTree.Element:
    """A new element inside another; what XML cannot hold becomes an underscore."""
    clean = {name: plain(value) for name, value in (attributes or {}).items()}
    return ElementTree.SubElement(parent, tag, clean)


def plain(text: str) -> str:
    """Without the control characters that no XML may hold."""
    return _NOT_XML.sub("_", text)


def body_name(model: Model) -> str:
    """The name of the body, other than the names that the files use themselves."""
    found = plain(model.name) or "object"
    return f"{found}_" if found in _OWN_NAMES else found


def document(root: ElementTree.Element, header: Sequence[str]) -> str:
    """The file: declaration, the header as a comment, the tree."""
    ElementTree.indent(root)
    comment = plain("\n".join(f"  {line}" for line in header))
    while "--" in comment:  # which would end a comment
        comment = comment.replace("--", "- -")
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'


def header(model: Model, target: str, told: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """What a reader must know first: origin, how to use it, and what the format could not say."""
    lines = [f"{_one_line(model.name)} as {target}, written by palpate {version('palpate')}. SI units and radians."]
    lines += [f"{_one_line(key)}: {_one_line(value)}" for key, value in model.about.items()]
    lines += list(told)
    lines += ["Left out, or said otherwise than the model does:"] if left_out else ["Nothing is left out."]
    lines += [f"* {_one_line(sentence)}" for sentence in left_out]
    return [piece for line in lines for piece in _wrapped(line)]


def inertial(phi: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Mass (kg), centre of mass (3, m), and the inertia about it as xx, yy, zz, xy, xz, yz (kg m2)."""
    mass, com, I = mass_properties(phi)
    return mass, com, np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def add_inertial(body: ElementTree.Element, phi: FloatArray) -> None:
    """MJCF's inertia about the centre of mass, in the body's axes: M11 M22 M33 M12 M13 M23."""
    mass, com, entries = inertial(phi)
    child(body, "inertial", {"pos": numbers(com), "mass": numbers(mass), "fullinertia": numbers(entries)})


def _one_line(text: str) -> str:
    return " ".join(str(text).split())


def _wrapped(line: str) -> list[str]:
    from textwrap import wrap

    return wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [""]
