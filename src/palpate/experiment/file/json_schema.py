"""JSON Schema of experiment and object files, so that editors complete and check them as they are written.

A schema says less than `read_experiment` refuses: which keys there are, what they mean and which words they take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast, get_args, get_origin, get_type_hints

from palpate.errors import UnknownName
from palpate.experiment.file.reading import literals
from palpate.experiment.file.schema import ExperimentPart, MotionPart
from palpate.model import shipped_objects
from palpate.parts import SHIPPED, Parts

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
QUANTITY: Schema = {"type": ["number", "string"]}
"""A number, or one with its unit: 45 kg."""


def file_schema(kind: str, parts: Parts = SHIPPED) -> Schema:
    """The schema of an `experiment`, of one of the stage `motion`, or of an `object` file."""
    kinds = {"experiment": ExperimentPart, "motion": MotionPart}
    if kind == "object":
        return {"$schema": DIALECT, "title": "palpate object file", **_object(parts)}
    if kind not in kinds:
        raise UnknownName("kind of file", kind, (*kinds, "object"))
    schema = cast("Schema", _as_written(kinds[kind].model_json_schema()))
    if kind == "experiment":
        keys = schema["properties"]
        keys["object"]["examples"] = list(shipped_objects())
        keys["mechanism"] = {**keys["mechanism"], "properties": _any_of(parts.mechanisms, parts)}
        keys["elements"]["items"] = {"anyOf": [_part(t, c, parts) for t, c in parts.elements.items()]}
    return {"$schema": DIALECT, **schema, "title": f"palpate {kind} file"}


def _as_written(schema: Any) -> Any:
    """pydantic's schema of what was read, widened to how people write it: units, one number for three, one segment."""
    if isinstance(schema, list):
        return [_as_written(x) for x in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    entries = {k: _as_written(v) for k, v in cast("Schema", schema).items() if k not in ("only", "prefixItems")}
    if entries.get("type") == "number":
        return {**{k: v for k, v in entries.items() if k not in ("minimum", "exclusiveMinimum")}, **QUANTITY}
    if entries.get("type") != "array" or "properties" in entries:
        return entries
    said = {k: entries[k] for k in ("default", "description", "examples") if k in entries}
    items = entries.get("items", {})
    if "prefixItems" in cast("Schema", schema) or items.get("type") == "array" or not items:
        return {**said, "type": "array"}  # a segment or several of them, rows of a matrix
    alone = {k: v for k, v in items.items() if k != "description"}
    several = {k: v for k, v in entries.items() if k in ("type", "items")}
    return {**said, "anyOf": [several, alone]} if alone else {**said, **several}


def _object(parts: Parts) -> Schema:
    mechanisms = [_part(t, c, parts) for t, c in parts.mechanisms.items()]
    elements = [_part(t, c, parts) for t, c in parts.elements.items()]
    return {
        "type": "object",
        "required": ["name", "mechanism", "elements"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "description": "what the object is called"},
            "mechanism": {"description": "how it may move", "anyOf": mechanisms},
            "elements": {"description": "which effects act", "type": "array", "items": {"anyOf": elements}},
            "about": {"description": "for people", "type": "object", "additionalProperties": {"type": "string"}},
        },
    }


def _any_of(types: Mapping[str, type[Any]], parts: Parts) -> Schema:
    """The options of all types together: which of them is meant, an experiment file need not say."""
    together: Schema = {}
    for name, kind in types.items():
        together.update(_part(name, kind, parts, required=())["properties"])
    return together | {"type": {"enum": list(types)}}


def _part(name: str, kind: type[Any], parts: Parts, required: Sequence[str] = ("type",)) -> Schema:
    """One mechanism, linkage or element with its options."""
    hints, options = get_type_hints(kind), dict[str, Schema]()
    for f in (f for f in fields(kind) if f.init):
        option, usual = _option(f.name, hints[f.name], kind, parts, required), cast("Any", f.default)
        if isinstance(usual, str | int | float | tuple):
            option = option | {"default": list(cast("tuple[Any, ...]", usual)) if isinstance(usual, tuple) else usual}
        options[f.name] = option
    words = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return {
        "type": "object",
        "description": words,
        "required": list(required),
        "additionalProperties": False,
        "properties": {"type": {"const": name}, **options},
    }


def _option(name: str, hint: Any, kind: type[Any], parts: Parts, required: Sequence[str]) -> Schema:
    unit = {"main": "rad or m"}.get(given := kind.options.get(name), given)
    said: Schema = {} if unit is None else {"description": unit}
    if name == "linkage":
        linkages = [_part(t, c, parts, required) for t, c in parts.linkages.items()]
        return {"anyOf": [*linkages, {"type": "array", "items": {"anyOf": linkages}}, {"type": "null"}]}
    if words := literals(hint):
        return {**said, "enum": words}
    inner = [a for a in get_args(hint) if a is not type(None)] if get_origin(hint) not in (tuple, list) else []
    if any(get_origin(x) is tuple for x in inner):  # several kinds, such as true or names
        return {**said, "anyOf": [_option(name, kind_of, kind, parts, required) for kind_of in inner]}
    hint = inner[0] if inner else hint
    if get_origin(hint) is tuple:
        return {**said, "type": "array"}
    return said | {bool: {"type": "boolean"}, int: {"type": "integer"}, float: QUANTITY}.get(hint, {"type": "string"})
