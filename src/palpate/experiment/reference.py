"""The reference of the experiment file, written from its schema: `python -m palpate.experiment.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from palpate.experiment.reading import schema_classes
from palpate.experiment.schema import ExperimentPart


def reference() -> str:
    """Markdown: every key with its meaning and default, part by part."""
    lines = [
        "# The experiment file",
        "",
        "Written from the schema by `python -m palpate.experiment.reference`; do not edit. A quantity is a number in "
        "SI units or a text with a unit (`0.9 kg`, `15 cm`, `30 %`, `20 Hz`). Unknown keys are refused.",
    ]
    waiting: list[tuple[str, Any]] = [("", ExperimentPart)]
    seen: set[Any] = set()
    while waiting:
        key, model = waiting.pop(0)
        if (key, model) in seen:
            continue
        seen.add((key, model))
        lines += ["", f"## `{key}`" if key else "## The whole file", "", (model.__doc__ or "").strip(), ""]
        lines += ["| key | meaning | default |", "|---|---|---|"]
        for name, field in model.model_fields.items():
            children = schema_classes(field.annotation)
            lines.append(f"| `{name}` | {_meaning(field, children)} | {_default(field)} |")
            waiting += [(f"{key}.{name}".lstrip("."), child) for child in children]
    return "\n".join(lines) + "\n"


def _meaning(field: FieldInfo, children: list[Any]) -> str:
    told = [field.description] if field.description else []
    told += [] if told or not children else [" or ".join(str(c.__doc__).strip().rstrip(".") for c in children)]
    choices = [f"`{c}`" for c in _literals(field.annotation)]
    told += (
        [f"one of {', '.join(choices)}"] if len(choices) > 1 else [f"`{choices[0]}`"] if choices and not told else []
    )
    return "; ".join(told).replace("|", "\\|").replace("\n", " ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == []:
        return "-"
    return f"`{value.type}`" if hasattr(value, "type") else f"`{value}`"


def _literals(annotation: Any) -> Iterator[Any]:
    from typing import Literal, get_args, get_origin

    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif not hasattr(annotation, "model_fields"):
        for part in get_args(annotation):
            yield from _literals(part)


if __name__ == "__main__":
    print(reference(), end="")
