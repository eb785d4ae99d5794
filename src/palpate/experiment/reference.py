"""The reference of the experiment file, written from its schema: `python -m palpate.experiment.reference`."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from palpate.experiment.instruments import Part
from palpate.experiment.messages import literals, schema_classes
from palpate.experiment.reading import ROOTS
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
        "Written from the schema by `python -m palpate.experiment.reference`; do not edit. A quantity is a number in "
        "SI units or a text with a unit (`0.9 kg`, `15 cm`, `30 %`, `20 Hz`); the [units](#units) are at the end. "
        "Unknown keys and keys without a value are refused.",
    ]
    seen: set[Any] = set()
    for stage, root in ROOTS.items():
        waiting: list[tuple[str, Any]] = [("", root)]
        while waiting:
            key, model = waiting.pop(0)
            if (key, model) in seen:
                continue
            seen.add((key, model))
            heading = f"## `{key}`" if key else f"# Stage `{stage}`: the whole file"
            lines += ["", heading, "", (model.__doc__ or "").strip(), ""]
            lines += ["| key | meaning | default |", "|---|---|---|"]
            for name, field in model.model_fields.items():
                children = schema_classes(field.annotation)
                lines.append(f"| `{name}` | {_meaning(field, children)} | {_default(field)} |")
                waiting += [(f"{key}.{name}".lstrip("."), child) for child in children]
    return "\n".join([*lines, *_units()]) + "\n"


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


def _meaning(field: FieldInfo, children: list[Any]) -> str:
    told = [field.description] if field.description else []
    told += [] if told or not children else [" or ".join(str(c.__doc__).strip().rstrip(".") for c in children)]
    choices = [f"`{c}`" for c in literals(field.annotation)]
    told += [f"one of {', '.join(choices)}"] if len(choices) > 1 else choices if choices and not told else []
    told += [f"for example `{example}`" for example in field.examples or []]
    return "; ".join(told).replace("|", "\\|").replace("\n", " ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == [] or value == "":
        return "-"
    if isinstance(value, Part):
        return f"`{value.type}`" if hasattr(value, "type") else "-"  # pyright: ignore
    return f"`{value}`"


if __name__ == "__main__":
    print(reference(), end="")
