"""What a wrong value in an experiment file is told: what is wrong, what would be right, an example; in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import ValidationError

from palpate.errors import ExperimentProblem, unknown_name
from palpate.experiment.quantities import shown
from palpate.experiment.tree import Place, line_of

_LIMITS = {
    "greater_than": "above",
    "greater_than_equal": "at least",
    "less_than": "below",
    "less_than_equal": "at most",
}


def problem_of(
    path: Path, root: Any, tree: Mapping[str, Any], lines: Mapping[Place, int], error: ValidationError
) -> ExperimentProblem:
    """The most telling of pydantic's errors, in our own words; `root` is the schema of the whole file."""
    at, first = _most_telling(tree, error.errors())
    kind, line = first["type"], line_of(lines, at)
    if kind == "extra_forbidden":
        problem = _unknown_key(root, at, _node(tree, at[:-1]))
        return ExperimentProblem(path, ".".join(at[:-1]), problem, line=line)
    if kind == "missing":
        return ExperimentProblem(
            path, ".".join(at), "this key is missing", line=line_of(lines, at[:-1]), remedy=remedy(root, at)
        )
    if kind.startswith("union_tag"):
        at = (*at, "type")
    if kind == "union_tag_not_found":
        known = " or ".join(sorted(_literals(t for m in _models(root, at[:-1]) for t in _types(m, "type"))))
        return ExperimentProblem(path, ".".join(at), "this key is missing", line=line, remedy=f"write {known}")
    return ExperimentProblem(
        path, ".".join(at), _words(root, at, first), line=line_of(lines, at), remedy=remedy(root, at)
    )


def nothing_given(path: Path, root: Any, tree: Any, lines: Mapping[Place, int]) -> ExperimentProblem | None:
    """A key without a value is an unfinished line, not a wish for the default."""
    at = _first_empty(tree, ())
    if at is None:
        return None
    told = remedy(root, at)
    return ExperimentProblem(
        path,
        ".".join(at),
        "nothing is given after this key",
        line=line_of(lines, at),
        remedy=f"remove the key, or complete it; {told}" if told else "remove the key, or complete it",
    )


def remedy(root: Any, at: Place) -> str:
    """The schema's own words on a place, and an example."""
    for end in range(len(at), 0, -1):
        for model in _models(root, at[: end - 1]):
            field = model.model_fields.get(at[end - 1])
            if field is not None and (field.description or field.examples):
                told = [f"wanted: {field.description}"] if field.description else []
                examples = cast("list[str]", field.examples or [])
                told += [f"for example {at[end - 1]}: {example}" for example in examples[:1]]
                return ", ".join(told)
    return ""


def _words(root: Any, at: Place, error: Any) -> str:
    """One error of pydantic's in plain words; what is not known by its type is only called unusable."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if value is None:
        return "nothing is given after this key"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error" or kind == "union_tag_invalid":
        return _not_possible(root, at, context["tag"] if kind == "union_tag_invalid" else value)
    if kind in _LIMITS:
        limit = next(iter(context.values()))
        wanted = "positive" if kind == "greater_than" and limit == 0 else f"{_LIMITS[kind]} {limit:g}"
        return f"{shown(value)} is not possible: it must be {wanted}"
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        return f"{shown(value)} has {context['actual_length']} entries instead of {wanted}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{shown(value)} is no group of keys"
    if kind in ("list_type", "tuple_type"):
        return f"{shown(value)} is not a list"
    if kind == "string_type":
        quoted = f': write "{value}" in quotes if that is meant' if isinstance(value, int | float) else ""
        return f"{shown(value)} is not a text{quoted}"
    if kind in ("bool_type", "bool_parsing"):
        return f"{shown(value)} is neither true nor false"
    return f"{shown(value)} cannot be used here"


def _not_possible(root: Any, at: Place, value: Any) -> str:
    known = {str(v): repr(v) for v in _literals(t for m in _models(root, at[:-1]) for t in _types(m, at[-1]))}
    near = get_close_matches(str(value), known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{shown(value)} is not possible here.{hint} Possible: {', '.join(known.values())}"


def _unknown_key(root: Any, at: Place, around: Any) -> str:
    """Keys of the branch that the file chose by its type, where it did."""
    models = _models(root, at[:-1])
    chosen = cast("Mapping[str, Any]", around).get("type") if isinstance(around, dict) else None
    meant = [m for m in models if chosen is not None and chosen in _literals(_types(m, "type"))]
    known = {name for model in meant or models for name in model.model_fields}
    if at[-1] in known:
        return f"the key {at[-1]!r} does not go with the others here: say which type is meant"
    return unknown_name("key", at[-1], known)


def _most_telling(tree: Any, errors: Sequence[Any]) -> tuple[Place, Any]:
    """An unknown key before all (it explains the missing one); else what lies deepest: the branch of a union that was
    meant.
    """
    located = [(_location(tree, e["loc"], missing=e["type"] == "missing"), e) for e in errors]
    return max(located, key=lambda pair: (pair[1]["type"] == "extra_forbidden", len(pair[0])))


def _location(tree: Any, loc: Sequence[int | str], *, missing: bool) -> Place:
    """Pydantic's location without the names of a union's branches, which are not in the file."""
    node: Any = tree
    at: list[str] = []
    for step in loc:
        if (isinstance(node, dict) and step in node) or (isinstance(node, list) and isinstance(step, int)):
            node = cast("Any", node)[step]
            at.append(str(step))
    return (*at, str(loc[-1])) if missing else tuple(at)


def _node(tree: Any, at: Place) -> Any:
    node: Any = tree
    for step in at:
        node = node[int(step) if isinstance(node, list) else step]
    return node


def _first_empty(node: Any, at: Place) -> Place | None:
    if node is None:
        return at
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(node, dict):
        inside = cast("dict[str, Any]", node).items()
    elif isinstance(node, list):
        inside = enumerate(cast("list[Any]", node))
    return next((found for k, v in inside if (found := _first_empty(v, (*at, str(k)))) is not None), None)


def _models(root: Any, at: Place) -> list[Any]:
    """The schema's classes that may stand at a place of the file; names of a map and numbers of a list lead no
    further.
    """
    models: list[Any] = [root]
    for step in at:
        if any(step in model.model_fields for model in models):
            models = [c for model in models for t in _types(model, step) for c in schema_classes(t)]
    return models


def _types(model: Any, name: str) -> list[Any]:
    return [model.model_fields[name].annotation] if name in model.model_fields else []


def schema_classes(annotation: Any) -> list[Any]:
    """The parts of the schema inside a type."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [c for a in get_args(annotation) for c in schema_classes(a)]


def _literals(annotations: Iterable[Any]) -> list[Any]:
    return [value for annotation in annotations for value in literals(annotation)]


def literals(annotation: Any) -> list[Any]:
    """The words that a type allows, those of the schema's parts inside it left out."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if hasattr(annotation, "model_fields"):
        return []
    return [value for part in get_args(annotation) for value in literals(part)]
