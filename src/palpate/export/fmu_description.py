"""modelDescription.xml of an FMU: its variables with their units, in the order of their value references."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from xml.etree import ElementTree as ET

from palpate.export.c_source import CSource
from palpate.physics.units import parse_unit
from palpate.runtime import Status

WRENCH = (
    *((f"wrench.f_{axis}", "N") for axis in "xyz"),
    *((f"wrench.n_{axis}", "N m") for axis in "xyz"),
)
"""The inputs; whose force and moment they are, the model says (`CSource.wrench`)."""
_STATUSES = ", ".join(f"{s.value} {s.name}" for s in Status)


def description(source: CSource, guid: str, dt: float, left_out: Sequence[str]) -> str:
    """The XML as text; what the FMU is and leaves out stands in its description."""
    told = " ".join(line for line in source.about if line and not line.startswith("Left out"))
    root = ET.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=source.name,
        guid=guid,
        description=" ".join([told, *(f"Left out: {line}" for line in left_out)]),
        generationTool=f"palpate {version('palpate')}",
        variableNamingConvention="structured",
        numberOfEventIndicators="0",
    )
    whole = ET.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=source.name,
        canHandleVariableCommunicationStepSize="true",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
    )
    files = ET.SubElement(whole, "SourceFiles")
    for name in ("model.c", "fmi2.c"):
        ET.SubElement(files, "File", name=name)
    _units(root, source)
    logs = ET.SubElement(root, "LogCategories")
    for name in ("logAll", "logStatusWarning", "logStatusError"):
        ET.SubElement(logs, "Category", name=name)
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="10", stepSize=repr(dt))
    _variables(root, source)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _units(root: ET.Element, source: CSource) -> None:
    units = [unit for _, unit in WRENCH] + [u for _, u, _ in (*source.state, *source.parameters)]
    units += [u for _, u in source.accelerations]
    place = ET.SubElement(root, "UnitDefinitions")
    for name in sorted({u for u in units if u}):
        unit = parse_unit(name)
        powers = {**dict(zip(("kg", "m", "s"), unit.dimension, strict=True)), "rad": unit.angle}
        base = ET.SubElement(ET.SubElement(place, "Unit", name=name), "BaseUnit")
        for key, power in powers.items():
            if power:
                base.set(key, str(int(power)))


def _variables(root: ET.Element, source: CSource) -> None:
    place = ET.SubElement(root, "ModelVariables")
    exact = {"initial": "exact"}
    for name, unit in WRENCH:
        _real(place, name, unit, 0.0, {"causality": "input", "variability": "continuous"}, source.wrench)
    first = len(place) + 1
    for name, unit, value in source.state:
        how = {"causality": "output", "variability": "continuous", **exact}
        _real(place, name, unit, value, how, "state; its start can be set")
    calculated = len(place) + 1
    for name, unit in source.accelerations:
        how = {"causality": "output", "variability": "continuous", "initial": "calculated"}
        _real(place, name, unit, None, how, "mean of the last step")
    for name, unit, value in source.parameters:
        how = {"causality": "parameter", "variability": "tunable", **exact}
        _real(place, f"parameters.{name}", unit, value, how, "identified")
    status = ET.SubElement(
        place,
        "ScalarVariable",
        name="status",
        valueReference="0",
        causality="output",
        variability="discrete",
        initial="calculated",
        description=f"what the steps have met, the highest that applies: {_STATUSES}",
    )
    ET.SubElement(status, "Integer")
    structure = ET.SubElement(root, "ModelStructure")
    outputs = ET.SubElement(structure, "Outputs")
    last = calculated + len(source.accelerations)
    for i in (*range(first, last), len(place)):
        ET.SubElement(outputs, "Unknown", index=str(i))
    unknowns = ET.SubElement(structure, "InitialUnknowns")
    for i in (*range(calculated, last), len(place)):
        ET.SubElement(unknowns, "Unknown", index=str(i))


def _real(place: ET.Element, name: str, unit: str, start: float | None, how: dict[str, str], what: str) -> None:
    given = {"name": name, "valueReference": str(len(place)), **how, "description": what}
    variable = ET.SubElement(place, "ScalarVariable", given)
    real = ET.SubElement(variable, "Real")
    if unit:
        real.set("unit", unit)
    if start is not None:
        real.set("start", repr(float(start)))
