"""The reference of object files, written from the code: `python -m palpate.experiment.object_reference`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from importlib import resources
from typing import Any, cast

from palpate.elements import ELEMENTS
from palpate.mechanisms import LINKAGES, MECHANISMS

_INTRODUCTION = """\
# Objects: mechanisms and elements

Written from the code by `python -m palpate.experiment.object_reference`; do not edit.

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

An effect of your own is a small class (see `palpate.elements.element.Element`) that `palpate.check_element` tests and
`Model.from_dict(..., elements=...)` takes.
"""


def object_reference() -> str:
    """Markdown: the objects that ship, then every mechanism, linkage and element with its options."""
    shipped = sorted(p.name for p in resources.files("palpate.objects").iterdir() if p.name.endswith(".yaml"))
    names = ", ".join(f"`{name.removesuffix('.yaml')}`" for name in shipped)
    lines = [_INTRODUCTION, f"Objects that ship: {names}.", ""]
    for heading, types in (("Mechanisms", MECHANISMS), ("Linkages", LINKAGES), ("Elements", ELEMENTS)):
        lines += [f"## {heading}", ""]
        for name, kind in types.items():
            lines += [f"### `{name}`", "", _words(kind), "", *_options(kind), *_parameters(kind), ""]
    return "\n".join(lines).rstrip() + "\n"


def _words(kind: type[Any]) -> str:
    """The class's docstring as one paragraph or more."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def _options(kind: type[Any]) -> list[str]:
    own = [f for f in fields(kind) if f.init]
    if not own:
        return []
    shown = [f"`{f.name}`" + (f" ({_shown(f.default)})" if f.default is not MISSING else "") for f in own]
    return [f"Options (default): {', '.join(shown)}.", ""]


def _parameters(kind: type[Any]) -> list[str]:
    """Parameters and shapes of the element with its defaults."""
    if kind not in ELEMENTS.values():
        return []
    element = kind()
    found: list[str] = []
    if element.parameters:
        found += [f"Parameters: {_named((p.name, p.unit, p.map) for p in element.parameters)}.", ""]
    if element.shapes:
        found += [f"Shapes: {_named((s.name, s.unit, '') for s in element.shapes)}.", ""]
    return found


def _named(entries: Iterable[tuple[str, str, str]]) -> str:
    return ", ".join(f"`{name}` {unit}{f', {map_}' if map_ else ''}" for name, unit, map_ in entries)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_shown(v) for v in cast("tuple[Any, ...]", value)) + "]"
    return {None: "none", "": "empty", True: "true", False: "false"}.get(value, str(value))


if __name__ == "__main__":
    print(object_reference(), end="")
