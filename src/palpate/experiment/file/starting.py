"""A commented experiment file to begin with, for an object that ships or one of the user's own."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, cast

from palpate.errors import PalpateError, unknown_name
from palpate.experiment.file.object_model import ANGLES, UNITS
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.model import Model, load_object

STARTS = {
    "handle": ("handle", "A handle"),
    "door": ("body", "A door with a closer"),
    "wheelbarrow": ("rolling", "A wheelbarrow"),
    "wheelbarrow-planar": ("rolling", "A wheelbarrow that goes straight"),
    "hand-truck": ("rolling", "A hand truck"),
    "motion": ("motion", "A capture"),
}
"""What `palpate new` knows by name: which template, and its heading."""


def starting_experiment(name: str, *, file: str | None = None, object_path: str | None = None) -> str:
    """The text of an experiment file for `name`: one of STARTS, or the path of an object file.

    `file`: what it will be called; `object_path`: the object file as seen from there.
    """
    if Path(name).suffix.lower() in (".yaml", ".yml"):
        model = load_object(Path(name))
        base, parts = _base(name, model), _parts(model)
        # in quotes, as names and paths may hold what YAML takes for its own
        title, shown = json.dumps(f"The object {model.name}"), json.dumps(object_path or name)
    elif name in STARTS:
        (base, title), shown = STARTS[name], name
        parts = _template(name) if base == "body" else _wheels(load_object(name)) if base == "rolling" else ""
    else:
        unknown = unknown_name("object", name, STARTS)
        raise PalpateError(f"{unknown}; or give the path of an object file, such as my-gate.yaml")
    filled = {
        "heading": title.strip('"'),
        "title": title,
        "name": name,
        "object": shown,
        "parts": parts.rstrip(),
        "file": file or f"{name}.yaml",
    }
    text = _template(base)
    for key, value in filled.items():
        text = text.replace(f"@{key}@", value)
    return text


def _base(name: str, model: Model) -> str:
    """Which stage identifies such an object."""
    if isinstance(model.mechanism, Free):
        return "handle"
    if isinstance(model.mechanism, Hinge):
        return "body"
    if isinstance(model.mechanism, Rolling):
        return "rolling"
    raise PalpateError(
        f"{name}: no stage identifies an object on the mechanism {model.to_dict()['mechanism']['type']!r} yet"
    )


def _template(name: str) -> str:
    return (resources.files("palpate.experiment.file.templates") / f"{name}.yaml").read_text(encoding="utf-8")


def _parts(model: Model) -> str:
    """Mechanism and elements of an object as comments: what the experiment may say differently."""
    data = model.to_dict()
    lines = ["# The object's own mechanism and elements. Uncomment what differs here:"]
    lines += [f"# mechanism: {_flow(data['mechanism'])}", "# elements:"]
    lines += [f"# - {_flow(element)}" for element in data["elements"]]
    lines.append(f"# without: [{data['elements'][-1]['name']}]" if data["elements"] else "")
    return "\n".join(lines)


def _wheels(model: Model) -> str:
    """What a rolling object that ships may be told: how far its wheels are apart, and what it lacks."""
    track = model.to_dict()["mechanism"]["track"]
    speed = "# mechanism: {wheel_speed: published}   # as in the paper; its friction can create energy"
    apart = f"mechanism: {{track: {track:g} m}}           # EDIT: between the middles of the wheels"
    less = f"# without: [{model.elements[-1].name}]                  # an effect that yours has not"
    return f"{apart if track else speed}\n{less}"


def _flow(part: Any, name: str = "") -> str:
    """A value as it is written in an experiment file, with its unit; what is not given is left out."""
    if isinstance(part, dict):
        options = cast("dict[str, Any]", part)
        given = {k: v for k, v in options.items() if v is not None and v != ""}
        return "{" + ", ".join(f"{k}: {_flow(v, k)}" for k, v in given.items()) + "}"
    if isinstance(part, list):
        return "[" + ", ".join(_flow(v, name) for v in cast("list[Any]", part)) + "]"
    if isinstance(part, bool):
        return "true" if part else "false"
    if isinstance(part, int | float) and name in ANGLES:
        from math import degrees

        return f"{degrees(part):.10g} deg"
    if isinstance(part, int | float):
        return f"{part:.10g} {UNITS[name]}" if name in UNITS else f"{part:.10g}"
    return str(part)
