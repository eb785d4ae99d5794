"""The reference of the experiment file, written from its schema: `python -m tests.reference_pages`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, cast

from pydantic.fields import FieldInfo

from palpate.elements import ELEMENTS
from palpate.experiment.file.reading import CONDITIONS, ROOTS, literals, schema_classes
from palpate.experiment.file.schema import CommonPart, MotionPart, Part
from palpate.mechanisms import LINKAGES, MECHANISMS
from palpate.model import shipped_objects
from palpate.physics.units import UNITS

_KINDS: dict[tuple[float, float, float], str] = {
    (1, 0, 0): "mass",
    (0, 1, 0): "length",
    (0, 0, 1): "time",
    (0, 0, -1): "frequency",
    (1, 1, -2): "force",
    (1, 2, -2): "moment",
    (0, 1, -2): "acceleration",
    (1, 2, -3): "power, voltage",
    (1, 0, -2): "magnetic flux density",
}


def reference() -> str:
    """Markdown: every key with its meaning and default, part by part."""
    lines = [
        "# The experiment file",
        "",
        "Written from the schema by `python -m tests.reference_pages`; do not edit. A quantity is a number "
        "in SI units or a text with a unit (`0.9 kg`, `15 cm`, `30 %`, `20 Hz`); the [units](#units) are at the end. "
        "Tables are files in the formats csv, parquet, hdf5 and mat. "
        "Unknown keys, keys without a value and keys that have no effect for this object or these instruments are "
        "refused.",
    ]
    described: set[Any] = set()
    for root in dict.fromkeys(ROOTS.values()):
        stages = [f"`{stage}`" for stage, other in ROOTS.items() if other is root]
        lines += ["", f"# Stage {' or '.join(stages)}"]
        for part, keys in _places(root).items():
            if part in described:
                continue
            described.add(part)
            heading = ", ".join(f"`{key}`" for key in keys if key) or "The whole file"
            heading += "".join(f" of type `{t}`" for t in _types(part))
            lines += ["", f"## {heading}", "", _words(part), "", "| key | meaning | default |", "|---|---|---|"]
            own = part.__annotations__ if issubclass(part, CommonPart) else part.model_fields
            for name, field in sorted(part.model_fields.items(), key=lambda entry: entry[0] not in own):
                meaning = _meaning(field, schema_classes(field.annotation), conditions=part is not MotionPart)
                lines.append(f"| `{name}` | {meaning} | {_default(field)} |")
    return "\n".join([*lines, *_units()]) + "\n"


def _types(part: type[Part]) -> list[str]:
    return literals(part.model_fields["type"].annotation) if "type" in part.model_fields else []


def _places(root: type[Part]) -> dict[type[Part], list[str]]:
    """Every part inside a schema, the outer ones first, and the keys under which it stands."""
    places: dict[type[Part], list[str]] = {}
    waiting: list[tuple[str, type[Part]]] = [("", root)]
    for key, part in waiting:  # grows on the way
        places.setdefault(part, []).append(key)
        for name, field in part.model_fields.items():
            waiting += [(f"{key}.{name}".lstrip("."), child) for child in schema_classes(field.annotation)]
    return places


def _units() -> list[str]:
    kinds: dict[str, list[str]] = {}
    for name, unit in UNITS.items():
        kind = (
            ("angle" if unit.dimension == (0, 0, 0) else "angular rate")
            if unit.angle
            else _KINDS.get(unit.dimension, "current" if unit.current else "fraction")
        )
        kinds.setdefault(kind, []).append(f"`{name}`")
    return [
        "",
        "## Units",
        "",
        "Products have a blank between their factors, powers stand behind a unit, and what follows a slash divides: "
        "`N m`, `kg m2`, `m/s2`, `deg/s`.",
        "",
        "| quantity | units |",
        "|---|---|",
        *(f"| {kind} | {', '.join(names)} |" for kind, names in kinds.items()),
        "",
        "`g` is gram and `gn` standard gravity, 9.80665 m/s2; but in `recordings.imu.columns` the unit `g` of a "
        "channel listed under `acceleration` is standard gravity, as IMUs mean it. `%` is for fractions only, `deg` "
        "and `rad` for angles only.",
    ]


def _meaning(field: FieldInfo, children: list[Any], *, conditions: bool) -> str:
    words = [field.description] if field.description else []
    words += [] if words or not children else [" or ".join(_words(c).rstrip(".") for c in children)]
    choices = [f"`{c}`" for c in literals(field.annotation)]
    words += [f"one of {', '.join(choices)}"] if len(choices) > 1 else choices if choices and not words else []
    words += [f"for example `{example}`" for example in field.examples or []]
    names = cast("dict[str, list[str]]", field.json_schema_extra or {}).get("only", []) if conditions else []
    words += ["only for " + " and for ".join(CONDITIONS[name].where for name in names)] if names else []
    return "; ".join(words).replace("|", "\\|").replace("\n", " ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Part):
        value = dict(value).get("type")
    if value is None or value in ("", [], {}):
        return "-"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


_INTRODUCTION = """\
# Objects: mechanisms and elements

Written from the code by `python -m tests.reference_pages object`; do not edit.

An object file says what an object is made of: how it may move (`mechanism`) and which physical effects act
(`elements`). An experiment file takes an object by name or path (`object: my-fridge.yaml`) and may change options
(`mechanism:`), add or replace elements by their name (`elements:`) or leave some out (`without:`). In object files
numbers are SI and rad; in experiment files angles need their unit (`69 deg`).

```yaml
name: fridge-door                     # my-fridge.yaml
mechanism: {type: hinge}              # upright, nothing driven
elements:
- {type: inertia, name: I}            # kg m2 about the hinge
- {type: viscous, name: b_v}
- {type: coulomb, name: b_c}
- {type: table, name: hold, knots: [0, 0.02, 0.05, 0.1, 0.3, 0.6, 1.0, 1.5], smooth: 0.5}   # seal and magnet
```

An effect, a mechanism or a linkage of your own is a small class in a Python file that `parts: mine.py` names:
[a part of your own](own-part.md). The pictures of the elements are made by running them, each number 1 in its unit
(of many some more, some less); forces are what a person must do. `palpate schema` prints the JSON Schema of these
files for your editor.
"""

_SEVERAL = """\
`linkage:` of a hinge or a slide is one of these, or a list of several whose coordinates bear different names: a
tailgate has a strut on either side and a motor. `after: closer` lets the coordinate `closer` of an earlier one drive it
instead of the hinge. An experiment file that says of a list what differs names the linkage by its `coordinate`:
`mechanism: {linkage: [{coordinate: strut, body: [52 cm, 3 cm]}, {coordinate: strap}]}`.

`estimate: [L2, offset]` lets the data tell some of its lengths and angles along with the parameters, `estimate: true`
those that they may: all but L1 of a linkage that drives an angle, since only ratios are seen, and `ground_x`,
`ground_y` of two points (the others are `body_x`, `body_y`). They count as known to 1 cm and 0.1 rad before, the others
as `uncertain: {links: ...}` says. Intervals are in the table and in result.json (`shapes`), model.json has the lengths
that its numbers belong to; what the data do not tell by itself is said."""


def object_reference() -> str:
    """Markdown: the objects that ship, then every mechanism, linkage and element with its options."""
    names = ", ".join(f"`{name}`" for name in shipped_objects())
    lines = [_INTRODUCTION, f"Objects that ship: {names}.", ""]
    parts = (("Mechanisms", "", MECHANISMS), ("Linkages", _SEVERAL, LINKAGES), ("Elements", "", ELEMENTS))
    for heading, about, types in parts:
        lines += [f"## {heading}", "", *([about, ""] if about else [])]
        for name, kind in types.items():
            drawn = [f"![{name}](laws/{name}.svg)", ""] if types is ELEMENTS else []
            lines += [f"### `{name}`", "", _words(kind), "", *drawn, *_options(kind), *_parameters(kind), ""]
    return "\n".join(lines).rstrip() + "\n"


def _words(kind: type[Any]) -> str:
    """The class's docstring as one paragraph or more."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def _options(kind: type[Any]) -> list[str]:
    """Options with their defaults and units, as for an angle."""
    options = [f for f in fields(kind) if f.init]
    units = {name: f", {'rad or m' if unit == 'main' else unit}" for name, unit in kind.options.items()}
    shown = [f"`{f.name}` ({_shown(f.default)}{units.get(f.name, '')})" for f in options]
    return [f"Options (default): {', '.join(shown)}.", ""] if options else []


def _parameters(kind: type[Any]) -> list[str]:
    """Parameters and shapes of the element with its defaults."""
    if kind not in ELEMENTS.values():
        return []
    element = kind()
    parameters = _named((p.name, p.unit, p.map) for p in element.parameters)
    shapes = _named((s.name, s.unit, "") for s in element.shapes)
    lists = {"Parameters": parameters, "Shapes": shapes}
    return [line for name, text in lists.items() if text for line in (f"{name}: {text}.", "")]


def _named(entries: Iterable[tuple[str, str, str]]) -> str:
    return ", ".join(f"`{name}` {unit}{f', {map_}' if map_ else ''}" for name, unit, map_ in entries)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_shown(v) for v in cast("tuple[Any, ...]", value)) + "]"
    return {None: "none", "": "empty", True: "true", False: "false"}.get(value, str(value))


if __name__ == "__main__":
    print(object_reference() if sys.argv[1:] == ["object"] else reference(), end="")
