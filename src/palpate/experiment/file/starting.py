"""A commented experiment file to begin with, for an object that ships or one of the user's own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from itertools import islice
from math import degrees
from pathlib import Path
from typing import Any, cast

from palpate.errors import PalpateError, unknown_name
from palpate.experiment.file.keys import Options
from palpate.experiment.file.markers import AxleMarkersPart
from palpate.experiment.file.reading import of_parts, option_units, same_part
from palpate.model import Model, load_object, shipped_objects
from palpate.parts import SHIPPED, Parts, load_parts

CAPTURE = "motion"
"""The name of the file that identifies nothing."""
HINGE = """\
  hinge:
    axis: [M7, M8]                  # on the hinge's line, two or more; without axis it is found from the motion
    towards: Frame1                 # the hinge's x axis points to this marker; only its place at rest counts
    points: down                    # which way z points: the angle must grow when the object opens; else up"""
SLIDE = "  # the line along which the object slides is found from its motion"
PLACED = """\
  frame:                            # EDIT: on the body, whose frame place() tells in the world of the markers
    markers: [M4, M5, M6]
    offset: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}"""
AXLE = (
    "axle: [M1, M2]                  # at the ends of the fixed axle, right and left; or ahead: [...], and it is found"
)
AHEAD = "ahead: [M1, M2]                 # the second is straight ahead of the first; the frame is halfway between them"
FLOOR: Mapping[str, Mapping[str, str]] = {
    "axle": {
        "frame": """\
  axle:
    axle: [M1, M2]                  # on the wheel's axle, right and left of the wheel
    across: [[M3, M4], [M5, M6]]    # pairs whose direction is the object's y axis, towards the handles
    radius: 0.197 m                 # of the wheel under load: push it one turn and measure the distance
  feet: [M5, M6]                    # near the ends of the legs, right and left; without legs: []""",
        "moved": "legs in the air: pushed and pulled, turned, leaned to both sides, lifted and lowered",
        "wheel": "wheel_radius: 2 mm, ",
        "more": (
            "# prior: {mass: 45 kg, com: [-0.1, 0.45, 0], inertia_com: [[3.7, 0, 0], [0, 1.1, 0], [0, 0, 3.1]], "
            "spread: 30 %}   # a drawing\n"
            "# rows: moments                     # as in the paper; default: all, with the forward force\n"
        ),
    },
    "base": {
        "frame": "  base:\n    @pair@",
        "moved": "pushed and pulled, turned to and fro on the spot and while it goes, slowly and fast",
        "wheel": "",
        "more": "",
    },
}
"""Of what stands on a floor, by the role of its markers: what its file says otherwise."""
PIVOTS = {
    "point": "the point about which the object turns is found from its motion",
    "axes": "the two axes about which the object turns are found from its motion",
}
FLOW = 110
"""Characters that a mapping on one line may have."""
TRAVEL = {"rad": ("deg", 92, "0.2 deg"), "m": ("mm", 400, "1 mm")}
"""Unit of a coordinate -> how people write it, a usual range, how well its zero is known."""


TABLE = {"rad": ("angle", "torque", ("deg", "N m")), "m": ("position", "force", ("mm", "N"))}
"""Unit of a coordinate -> what a table calls it and what moves it, and their units."""


def starting_names() -> list[str]:
    """What `palpate new` knows by name: the objects that ship, and a capture of motion alone."""
    return [*shipped_objects(), CAPTURE]


def starting_experiment(
    name: str, *, file: str | None = None, object_path: str | None = None, parts: str | None = None
) -> str:
    """The text of an experiment file for `name`: one of `starting_names`, or the path of an object file.

    `file`: what it will be called; `object_path`: the object file as seen from there; `parts`: a file of parts that
    the object needs, which is run.
    """
    words = {
        "heading": f"{'An' if name[0] in 'aeiou' else 'A'} {name.replace('-', ' ')}",
        "name": name,
        "object": name,
        "file": file or f"{name}.yaml",
    }
    users = Path(name).suffix.lower() in (".yaml", ".yml")
    if not users and name not in starting_names():
        unknown = unknown_name("object", name, starting_names())
        raise PalpateError(f"{unknown}; or give the path of an object file, such as my-gate.yaml")
    if name == CAPTURE:
        return _filled(CAPTURE, words)
    known = SHIPPED if parts is None else load_parts(parts)
    model = load_object(Path(name) if users else name, known)
    if users:  # in quotes, as names and paths may hold what YAML takes for its own
        title = json.dumps(f"The object {model.name}")
        words |= {"title": title, "heading": title.strip('"'), "object": json.dumps(object_path or name)}
    if parts is not None:
        is_file = object_path is not None and Path(parts).suffix == ".py"  # else as given, or an entry point
        near = Path(object_path or "").parent / os.path.relpath(parts, Path(name).parent) if is_file else parts
        words["object"] += f"\nparts: {json.dumps(str(near))}   # Python code: it is run, with your rights"
    main, parameters = model.mechanism.main, list(model.parameters)
    words = {"title": words["heading"], **words, "parts": _parts(model, known, edit=not users)}
    if main is not None:
        unit, most, zero = TRAVEL[model.mechanism.coordinates[main]]
        turns = [joint.kind for joint in model.mechanism.joints] == ["turn"]
        frame = PLACED if model.mechanism.placed else HINGE if turns else SLIDE
        words |= {"frame": frame, "stops": f"[0 {unit}, {most} {unit}]", "zero": zero}
    words |= {"first": parameters[0], "last": parameters[-1]}
    if model.mechanism.unmeasured:
        position, effort, units = TABLE[model.mechanism.coordinates[str(main)]]
        return _filled(
            "table", {**words, "position": position, "effort": effort, "unit": units[0], "effort_unit": units[1]}
        )
    if model.mechanism.floor:
        pair = AXLE if model.mechanism.holds_sideways else AHEAD
        return _filled("floor", {**words, **FLOOR[model.mechanism.floor], "pair": pair})
    if model.mechanism.pivot:
        return _filled("pivot", words | {"pivot": PIVOTS[model.mechanism.pivot], "fixed": _fixed(model)})
    hangs = any(element.instrument for element in model.elements)
    return _filled("body" if main is not None else "handle" if hangs else "free", words)


def _fixed(model: Model) -> str:
    """The line that holds parameters: preloads of springs, which look the same as a weight beside the joint."""
    names, preloads = iter(model.parameters), list[str]()
    for element in model.elements:
        own = list(islice(names, len(element.parameters)))
        preloads += own[:1] if element.polynomial is not None else []
    if not preloads:
        return f"# fixed: {{{list(model.parameters)[-1]}: 0.2}}   # parameters held at a value, SI"
    held = ", ".join(f"{name}: 0" for name in preloads)
    return f"fixed: {{{held}}}   # springs at ease at zero: a preload looks like a weight beside the joint"


def _filled(template: str, words: Mapping[str, str]) -> str:
    folder = resources.files("palpate.experiment.file.templates")
    text = (folder / f"{template}.yaml").read_text(encoding="utf-8")
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return text


def _parts(model: Model, parts: Parts, *, edit: bool) -> str:
    """Mechanism and elements of the object: what this experiment may say differently.

    Of an object that ships, what differs from one exemplar to the next is to be edited: lengths, and zones, which are
    searched for from where they are. All else stands in comments.
    """
    data, coordinates = model.to_dict(), model.mechanism.coordinates
    mechanism: Options = data["mechanism"]
    lengths = _lengths(mechanism) if edit else {}
    lines = ["# The object's own mechanism and elements. Uncomment what differs here:"]
    lines += [f"# mechanism: {options_text(mechanism, coordinates, parts=parts)}"]
    if lengths:
        each = [f"  {options_text({k: v}, coordinates, mechanism, parts)[1:-1]}" for k, v in lengths.items()]
        short = f"mechanism: {options_text(lengths, coordinates, mechanism, parts)}"
        measured = [short] if len(short) <= FLOW else ["mechanism:", *each]
        lines = [f"{measured[0]}   # EDIT: measured on yours", *measured[1:], *lines[:1]]
    zones = [e.name for e in model.elements if e.borders and edit]
    if zones:
        lines += ["elements:                           # with estimate: true, the search for zones starts from these"]
    for element in data["elements"]:
        zone = element["name"] in zones
        shown = options_text(element | ({"estimate": True} if zone else {}), coordinates, parts=parts)
        lines.append(f"- {shown}" if zone else f"# - {shown}")
    if not zones:
        lines.insert(len(lines) - len(data["elements"]), "# elements:")
    return "\n".join([*lines, f"# without: [{data['elements'][-1]['name']}]"] if data["elements"] else lines)


def _lengths(part: Options) -> Options:
    """The lengths that somebody must measure on this exemplar, apart from those that the markers' part states."""
    units, stated = option_units(part), AxleMarkersPart.model_fields
    lengths = {k: v for k, v in part.items() if units.get(k) == "m" and v and k not in stated}
    inside = dict[str, Any]({k: _lengths(cast("Options", v)) for k, v in part.items() if isinstance(v, dict)})
    for k, v in part.items():
        if of_parts(v):  # which of them is meant, its coordinate says
            inside[k] = [{"coordinate": x["coordinate"], **_lengths(x)} for x in cast("list[Options]", v)]
    return lengths | {k: v for k, v in inside.items() if v}


def options_text(
    part: Options, coordinates: Mapping[str, str], typed: Options | None = None, parts: Parts = SHIPPED
) -> str:
    """Options as they are written in an experiment file, with their units; what is not given or usual is left out."""
    typed = part if typed is None else typed
    units, kind = option_units(typed, coordinates, parts), parts.types.get(str(typed.get("type")))
    usual = {} if kind is None else {f.name: f.default for f in fields(kind) if f.name != "name"}

    def shown(name: str, value: Any) -> str:
        if isinstance(value, dict):
            return options_text(
                cast("Options", value), coordinates, same_part(cast("Options", value), typed[name]), parts
            )
        if isinstance(value, list):
            return "[" + ", ".join(shown(name, entry) for entry in cast("list[Any]", value)) + "]"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(value).lower() if isinstance(value, bool) else str(value)
        unit = units.get(name, "")
        return f"{degrees(value):.10g} deg" if unit == "rad" else f"{value:.10g} {unit}".rstrip()

    given = {
        k: v
        for k, v in part.items()
        if v is not None and v not in ("", []) and not (k in usual and usual[k] == v and typed is part)
    }
    return "{" + ", ".join(f"{k}: {shown(k, v)}" for k, v in given.items()) + "}"
