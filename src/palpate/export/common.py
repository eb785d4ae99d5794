"""The formats into which a model can be exported, and what they share: parts of a model, what was lost, XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, NamedTuple, cast
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from palpate.elements import Element
from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import check_folder, replacing
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties
from palpate.runtime.pairing import doubt
from palpate.runtime.replay import missing_stops

NO_LIMIT = (
    "no sensor range is given: a glitch of any finite size moves the object. State it with --wrench-limit, such "
    "as 500,20 (N, N m; wrench_limit in Python)"
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTH = 110
_RESERVED = ("world", "carriage", "wheel", "wheel_left", "wheel_right")
"""Names of bodies that the files use themselves."""


@dataclass(frozen=True, slots=True)
class Export:
    """The files of one export. `left_out` is printed and stands in the files' headers: nothing is dropped silently.

    `files` are complete and were written atomically; `left_out` has one sentence for each thing of the model that the
    format cannot express, and what stands in its place; `notes` are for the terminal only (step times, how to build).
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Files = tuple[Mapping[str, str | bytes], Sequence[str], Sequence[str]]
"""What an exporter makes: content by the file's name, what is left out, notes."""


class Part:
    """An element with its values p, its shapes, and what it contributes to the ten inertial parameters of the body."""

    def __init__(self, element: Element, p: FloatArray) -> None:
        self.element, self.p, self.name, self.phi = element, p, element.name, element.phi(p)
        self.shapes = {s.name: s.value for s in element.shapes}


def object_to_export(model: Model, *, by_motion: bool = False) -> tuple[Model, list[str]]:
    """The object alone as a runtime sees it, and what that leaves out; a model without values is refused.

    by_motion: the format knows forces as functions of positions and speeds only.
    """
    bare = model.of_object()
    try:
        _ = bare.p
    except PalpateError as error:
        raise PalpateError(f"{error}; an object file cannot be exported, identify it first") from None
    model.check_values()
    sensor = ", ".join(e.name for e in model.elements if e.instrument)
    left_out = [f"{sensor}: belongs to the sensor, not to the object; subtract it first"] if sensor else []
    left_out += [line for line in (doubt(model), missing_stops(bare)) if line]
    left_out += [
        f"{e.name} ({e.type}): it follows what the hand presses on the {e.acts_on}; here it is as if nobody did"
        for e in bare.elements
        if by_motion and e.uses_load
    ]
    left_out += [
        f"{e.name} ({e.type}): it remembers the way to where the object is, which this format does not: left out"
        for e in bare.elements
        if by_motion and e.memory
    ]
    moving = replace(bare, mechanism=bare.mechanism.forward())
    old, new = (m.to_dict()["mechanism"] for m in (bare, moving))
    left_out += [
        f"{option} {old[option]!r}: it allows no motion; {new[option]!r} is used instead"
        for option in old
        if old[option] != new[option]
    ]
    if by_motion and bare.mechanism.unmeasured:
        inner, between = bare.mechanism.unmeasured
        left_out.append(f"{inner}, {between}: this format has both bodies as one; what is soft between is lost")
    moving = moving if by_motion else replace(moving, mechanism=moving.mechanism.apart())
    return moving, left_out


def parts_of(model: Model) -> list[Part]:
    """Each element with its values."""
    ends = np.cumsum([len(e.parameters) for e in model.elements])
    return [Part(e, p) for e, p in zip(model.elements, np.split(model.p, ends[:-1]), strict=True)]


def total_phi(parts: Iterable[Part], *, inertial: bool = True) -> FloatArray | None:
    """The sum of what rigid bodies (else: elements of weight alone) say about the ten, or None if there is none."""
    ten = [part.phi for part in parts if part.element.inertial == inertial and part.phi is not None]
    return np.sum(ten, axis=0) if ten else None


def known_phi(model: Model) -> FloatArray:
    """The rigid bodies of a model together (10,); a model without any is refused."""
    phi = total_phi(parts_of(model))
    if phi is None:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
    return phi


def names_of(parts: Iterable[Part]) -> str:
    """The names of elements, as a sentence wants them."""
    return ", ".join(p.name for p in parts) or "the elements together"


def numbers(values: ArrayLike) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(v)) for v in np.atleast_1d(np.asarray(values, dtype=float)))


def axis_text(axis: Sequence[float]) -> str:
    """A direction, whole numbers without a point."""
    return " ".join(f"{x:.17g}" for x in axis)


def child(parent: ElementTree.Element, tag: str, attributes: Mapping[str, str] | None = None) -> ElementTree.Element:
    """A new element inside another; what XML cannot hold becomes an underscore."""
    clean = {name: plain(value) for name, value in (attributes or {}).items()}
    return ElementTree.SubElement(parent, tag, clean)


def plain(text: str) -> str:
    """Without the control characters that no XML may hold."""
    return _NOT_XML.sub("_", text)


def body_name(model: Model) -> str:
    """The name of the body, other than the names that the files use themselves."""
    name = plain(model.name) or "object"
    return f"{name}_" if name in _RESERVED else name


def xml_text(root: ElementTree.Element, header: Sequence[str]) -> str:
    """Declaration, the header as a comment, the tree."""
    ElementTree.indent(root)
    comment = plain("\n".join(f"  {line}" for line in header))
    while "--" in comment:  # which would end a comment
        comment = comment.replace("--", "- -")
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'


def header(model: Model, target: str, usage: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """What a reader must know first: origin, how to use it, and what the format could not say."""
    lines = [f"{model.name} as {target}, written by palpate {version('palpate')}. SI units and radians."]
    lines += [*(f"{key}: {value}" for key, value in model.about.items()), *usage]
    lines += ["Left out, or expressed differently from the model:"] if left_out else ["Nothing is left out."]
    lines += [f"* {sentence}" for sentence in left_out]
    wrapper = TextWrapper(_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [piece for line in lines for piece in wrapper.wrap(" ".join(line.split())) or [""]]


def template(name: str) -> str:
    """One of the texts that ship beside the exporters."""
    folder = resources.files("palpate.export") / "templates"
    return (folder / name).read_text(encoding="utf-8").rstrip("\n") + "\n"


def inertial(phi: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Mass (kg), centre of mass (3, m), and the inertia about it as xx, yy, zz, xy, xz, yz (kg m2)."""
    mass, com, I = mass_properties(phi)
    return mass, com, np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


class Exporter(NamedTuple):
    """One format: the module whose function `export_MODULE` makes its files (`suffix`: the one file), and the options
    it takes.
    """

    module: str
    options: tuple[str, ...]
    suffix: str = ""


_STEPPED = ("dt", "wrench_limit")
EXPORTERS: Mapping[str, Exporter] = {
    "c": Exporter("c", _STEPPED),
    "fmu": Exporter("fmu", _STEPPED, ".fmu"),
    "js": Exporter("js", (*_STEPPED, "handle")),
    "mjcf": Exporter("mjcf", ("mass",)),
    "urdf": Exporter("urdf", ("mass",)),
    "ros2-control": Exporter("ros2_control", ("handle", "state", "tool")),
}
"""C99 for a controller, FMI 2.0 co-simulation, JavaScript, MuJoCo, robots' descriptions, and parameters of an
admittance_controller of ros2_control, which approximate the model."""


def file_stem(model: Model) -> str:
    """What the files of a model are called: after the object, without what a file's name should not hold."""
    return re.sub(r"[^\w-]+", "_", model.name).strip("_") or "object"


def export_model(
    model: Model, to: str, out: str | Path, *, even_if_failed: bool = False, overwrite: bool = True, **options: Any
) -> Export:
    """Write a model in the format `to` (see `EXPORTERS`) into the folder `out`; returns what it cannot express.

    A model whose verdict is "failed" is refused unless `even_if_failed`. `options` are those of the format: `dt`
    (s) and `wrench_limit` for C and FMU, `mass` (kg) for MJCF and URDF; an option of another format is refused.
    Files of the same name that say something else are refused unless `overwrite`.
    """
    if to not in EXPORTERS:
        raise UnknownName("format", to, EXPORTERS)
    exporter = EXPORTERS[to]
    for name in options:
        if name not in exporter.options:
            raise PalpateError(f"{to} has no option {name!r}, only {', '.join(exporter.options)}")
    verdict = model.about.get("verdict", "passed")
    if verdict != "passed" and not even_if_failed:
        raise PalpateError(
            f"model {model.name!r}: its verdict is {verdict!r}; to export it anyway, use --even-if-failed "
            "(even_if_failed=True)"
        )
    folder, named = Path(out), Path(out).suffix == exporter.suffix != ""
    folder, one = (folder.parent, folder.name) if named else (folder, f"{file_stem(model)}{exporter.suffix}")
    check_folder(folder)
    module, name = import_module(f"palpate.export.{exporter.module}"), f"export_{exporter.module}"
    files, left_out, notes = cast("Files", getattr(module, name)(model, **options))
    paths = tuple(folder / (one if exporter.suffix else name) for name in files)
    contents = [data.encode() if isinstance(data, str) else data for data in files.values()]
    for path, data in zip(paths, contents, strict=True):
        if not overwrite and path.exists() and path.read_bytes() != data:
            remedy = f"say where to write with -o, or replace it with -o {folder}"
            raise FileProblem(path, "is there already, of another model or with other options", remedy=remedy)
    for path, data in zip(paths, contents, strict=True):
        with replacing(path) as temporary:
            temporary.write_bytes(data)
    return Export(paths, tuple(left_out), tuple(notes))
