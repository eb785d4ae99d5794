"""The formats into which a model can be exported, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from palpate.errors import PalpateError, UnknownName
from palpate.export.common import Export
from palpate.model import Model


@dataclass(frozen=True, slots=True)
class Exporter:
    """One format: the module whose function `export_MODULE` writes it into a folder (`suffix`: into a file), and the
    options it takes.
    """

    module: str
    options: tuple[str, ...]
    suffix: str = ""


_STEPPED = ("dt", "wrench_limit")
EXPORTERS: Mapping[str, Exporter] = MappingProxyType(
    {
        "c": Exporter("c", _STEPPED),
        "fmu": Exporter("fmu", _STEPPED, ".fmu"),
        "mjcf": Exporter("mjcf", ("mass",)),
        "urdf": Exporter("urdf", ("mass",)),
        "ros2-control": Exporter("ros2_control", ("handle", "state", "tool")),
    }
)
"""C99 for a controller, FMI 2.0 co-simulation, MuJoCo, robots' descriptions, and parameters of an admittance_controller
of ros2_control, which approximate the model."""


def export_model(model: Model, to: str, out: str | Path, *, even_if_failed: bool = False, **options: Any) -> Export:
    """Write a model in the format `to` (see `EXPORTERS`) into the folder `out`; returns what could not be said.

    A model whose verdict is "failed" is refused unless `even_if_failed`. `options` are those of the format: `dt`
    (s) and `wrench_limit` for C and FMU, `mass` (kg) for MJCF and URDF; an option of another format is refused.
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
            f"model {model.name!r}: its verdict is {verdict!r}; to export it all the same, say --even-if-failed "
            "(even_if_failed=True)"
        )
    out = Path(out)
    if exporter.suffix and out.suffix != exporter.suffix:
        out = out / f"{model.name}{exporter.suffix}"
    module = import_module(f"palpate.export.{exporter.module}")
    return getattr(module, f"export_{exporter.module}")(model, out, **options)
