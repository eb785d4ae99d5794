"""A model as an FMU: FMI 2.0 co-simulation with a fixed step inside, as Simulink, dSPACE and others load it."""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree as ET

from palpate.export.c import CSource, Variable, c_source, comment
from palpate.export.common import NO_LIMIT, Files, template
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.units import parse_unit
from palpate.runtime import StepStatus
from palpate.runtime.native import c_number, compile_c, filled, find_compiler
from palpate.runtime.replay import WRENCH_NAMES, WRENCH_UNITS

_PLATFORMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("win", ".dll")}
_WRENCH = tuple(Variable(f"wrench.{name}", unit) for name, unit in zip(WRENCH_NAMES, WRENCH_UNITS, strict=True))
"""The inputs; whose force and moment they are, the model says (`CSource.wrench`)."""
_STATUSES = ", ".join(f"{s.value} {s.name}" for s in StepStatus)


def export_fmu(model: Model, *, dt: float = 1e-3, wrench_limit: Sequence[float] | FloatArray | None = None) -> Files:
    """An FMU with its C sources and, where a compiler is there, the library for this platform.

    Inputs: the wrench (N, N m). Outputs: state, accelerations, status as `palpate.StepStatus`. The parameters can be
    tuned between steps; one that is not possible holds the state and gives NOT_READY. `dt` (s): the step inside; a
    communication step takes as many of them as fit.
    """
    source = c_source(model, dt, wrench_limit=wrench_limit, what="an FMU (FMI 2.0 co-simulation)")
    guid = sha256((source.source + source.header + template("fmi2.c")).encode()).hexdigest()[:32]
    unknown = [x.name for x in (*source.state, *source.accelerations) if not x.unit]
    left_out = list(source.left_out)
    if unknown:
        left_out.append(f"the units of {', '.join(unknown)}: the mechanism does not state them.")
    left_out.append("the worst status of all steps inside a communication step is reported, not each.")
    about = [line for line in source.about if line and not line.startswith("Left out")]
    page = {
        tag: "\n".join(f"<{inner}>{escape(line)}</{inner}>" for line in lines)
        for tag, inner, lines in (("about", "p", about), ("missing", "li", left_out))
    }
    page["title"] = escape(source.name)
    files = {
        "sources/model.c": source.source,
        "sources/model.h": source.header,
        "sources/fmi2.c": _wrapper(source, guid),
        "modelDescription.xml": _description(source, guid, dt, about, left_out),
        "documentation/index.html": filled(template("fmu.html"), page),
        "resources/model.json": json.dumps(model.to_dict(), indent=1) + "\n",
    }
    built, note = _binary(source, files)
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**{n: text.encode() for n, text in files.items()}, **built}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return {"model.fmu": whole.getvalue()}, left_out, (note,) if wrench_limit is not None else (note, NO_LIMIT)


def _wrapper(source: CSource, guid: str) -> str:
    names, parameters = ([x.name for x in variables] for variables in (source.state, source.parameters))
    reals = [x.value for x in (*_WRENCH, *source.state, *source.accelerations, *source.parameters)]
    fill = {
        "about": comment(source.about),
        "name": source.name,
        "NAME": source.name.upper(),
        "guid": guid,
        "states": str(len(names)),
        "count": str(len(parameters)),
        "reals": ", ".join(map(c_number, reals)),
        "set_parameters": "\n".join(f"    p.{name} = x[{i}];" for i, name in enumerate(parameters)),
        "set_state": "\n".join(f"    state.{name} = x[{i}];" for i, name in enumerate(names)),
        "get_state": "\n".join(f"    x[{i}] = state.{name};" for i, name in enumerate(names)),
    }
    return filled(template("fmi2.c"), fill)


def _binary(source: CSource, files: dict[str, str]) -> tuple[dict[str, bytes], str]:
    """The library for this platform by its place in the FMU, and what to say about it."""
    compiler = find_compiler()
    kind, suffix = _PLATFORMS.get(sys.platform, ("", ""))
    if compiler is None or not kind:
        why = "there is no C compiler here (sudo apt-get install gcc)" if kind else f"{sys.platform} is not known"
        return {}, f"no library in the FMU, only its sources: {why}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("model.c", "model.h", "fmi2.c"):
            (folder / file).write_text(files[f"sources/{file}"], encoding="utf-8")
        out = folder / f"{source.name}{suffix}"
        compile_c(compiler, [folder / "model.c", folder / "fmi2.c"], out, "-fvisibility=hidden", shared=True)
        bits = 64 if sys.maxsize > 2**32 else 32
        return {f"binaries/{kind}{bits}/{out.name}": out.read_bytes()}, f"with the library for {kind}{bits}"


def _description(source: CSource, guid: str, dt: float, about: Sequence[str], left_out: Sequence[str]) -> str:
    """The XML as text; what the FMU is and leaves out stands in its description."""
    root = ET.fromstring(filled(template("modelDescription.xml"), {"name": source.name, "guid": guid, "dt": repr(dt)}))
    root.set("description", " ".join([*about, *(f"Left out: {line}" for line in left_out)]))
    root.set("generationTool", f"palpate {version('palpate')}")
    place, variables = next(root.iter("UnitDefinitions")), (*source.state, *source.parameters, *source.accelerations)
    for name in sorted({x.unit for x in (*_WRENCH, *variables) if x.unit}):
        unit = parse_unit(name)
        powers = {**dict(zip(("kg", "m", "s"), unit.dimension, strict=True)), "rad": unit.angle}
        given = {key: str(int(power)) for key, power in powers.items() if power}
        ET.SubElement(ET.SubElement(place, "Unit", name=name), "BaseUnit", given)
    place, structure = (next(root.iter(tag)) for tag in ("ModelVariables", "ModelStructure"))
    parameters = [x._replace(name=f"parameters.{x.name}") for x in source.parameters]
    met = f"what the steps have met, the highest that applies: {_STATUSES}"
    for variables, causality, variability, initial, what in (
        (_WRENCH, "input", "continuous", "", source.wrench),
        (source.state, "output", "continuous", "exact", "state; its start can be set"),
        (source.accelerations, "output", "continuous", "calculated", "mean of the last step"),
        (parameters, "parameter", "tunable", "exact", "identified"),
        ([Variable("status", "")], "output", "discrete", "calculated", met),
    ):
        for x in variables:
            whole = variability == "discrete"  # the only integer
            given = {"name": x.name, "valueReference": "0" if whole else str(len(place)), "causality": causality}
            given |= {"variability": variability, **({"initial": initial} if initial else {}), "description": what}
            number = ET.SubElement(ET.SubElement(place, "ScalarVariable", given), "Integer" if whole else "Real")
            if x.unit:
                number.set("unit", x.unit)
            if initial != "calculated":
                number.set("start", repr(float(x.value)))
    first = len(_WRENCH) + 1
    calculated = first + len(source.state)
    last = calculated + len(source.accelerations)
    for section, start in (("Outputs", first), ("InitialUnknowns", calculated)):
        unknowns = ET.SubElement(structure, section)
        for i in (*range(start, last), len(place)):
            ET.SubElement(unknowns, "Unknown", index=str(i))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
