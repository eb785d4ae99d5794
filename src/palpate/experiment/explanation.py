"""The balance of an experiment in words and symbols: what acts, and what each number needs to be seen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.elements import SENSOR, WRENCH, Element
from palpate.experiment.file.reading import Experiment, object_model
from palpate.model import Model
from palpate.physics.units import shown

POSSIBLE = {"inertia": "of a possible body", "positive": "positive", "free": "any sign"}
"""Map of a parameter -> which values it may have."""


def explain(experiment: Experiment[Any]) -> dict[str, Any]:
    """What `identify` will fit to this experiment's recordings, before any of them is read."""
    config = experiment.config
    if config.stage == "motion":
        raise experiment.problem("stage", "nothing is identified in the motion stage", "handle or body")
    return {
        **explain_model(object_model(experiment), config.fixed),
        "model_of": config.model_of if config.stage == "body" else "handle",
        "known": {"mass": None if config.known_mass is None else config.known_mass.value},
    }


def explain_model(model: Model, fixed: Mapping[str, float] = MappingProxyType({})) -> dict[str, Any]:
    """What an object is made of; fixed: parameters that are held at a value."""
    mechanism = model.mechanism
    return {
        "object": model.name,
        "mechanism": mechanism.type,
        "frame": mechanism.frame,
        "state": list(mechanism.state),
        "coordinates": dict(mechanism.coordinates),
        "linkages": [
            {"type": x.type, "coordinate": x.coordinate, "unit": x.unit, "after": x.after or str(mechanism.main)}
            for x in mechanism.linkages
        ],
        "rows": [{"name": row.name, "unit": row.unit} for row in mechanism.rows],
        "balance": _equation(model),
        "elements": [
            {"name": e.name, "type": e.type, "acts_on": e.acts_on, "law": _sentence(e), "needs": _needs(model, e)}
            for e in model.elements
        ],
        "parameters": [
            {
                "name": name,
                "unit": model.parameters[name].unit,
                "element": e.name,
                "may_be": POSSIBLE[model.parameters[name].map],
                "where": e.scopes[i].where if e.scopes else "",
                "fixed": fixed.get(name),
                "needs": _told(model, name.replace("mc_", "c_")) or _needs(model, e),
            }
            for e, names in model.parts
            for i, name in enumerate(names)
        ],
        "shapes": [
            {"name": f"{e.name}.{s.name}", "value": shown(s.value, s.unit, digits=2), "estimated": s.free}
            for e in model.elements
            for s in e.shapes
        ]
        + [{"name": name, "value": shown(*mechanism.sizes[name]), "estimated": True} for name in mechanism.estimated],
    }


def _equation(model: Model) -> str:
    """The free rows as a sum over the elements, each along what it acts on (virtual work); of two bodies, both."""
    left = ", ".join(row.name for row in model.mechanism.rows)
    left = f"({left})" if len(model.mechanism.rows) > 1 else left
    unseen = model.mechanism.unmeasured
    felt = [_along(model, e) + e.name for e in model.elements if e.acts_on not in unseen]
    inner, between = ([e.name for e in model.elements if e.acts_on == place] for place in unseen or ("", ""))
    first = f"{left} = {' + '.join([*felt, *between])}"
    return f"{first},  {' + '.join(between)} = {' + '.join(inner)}" if unseen else first


def _along(model: Model, e: Element) -> str:
    if e.acts_on in (WRENCH, SENSOR):
        return "P·"
    if e.acts_on == model.mechanism.main:
        return ""
    return f"∂{e.acts_on}/∂{model.mechanism.main or 'q'}·"


def _sentence(part: object) -> str:
    """The first sentence of what a part says about itself, without where it is from: its law."""
    text = " ".join((type(part).__doc__ or "").split("\n\n")[0].split())
    cited = re.sub(r" \((?:paper,|[A-Z][^()]*\d{4})[^()]*\)", "", text)
    return re.split(r"\.(?= [A-Z`]|$)|; at rest", cited)[0].strip()


def _told(model: Model, name: str) -> str:
    """Which motion tells a number as on a drawing."""
    return "no motion of it shows or needs it" if name in model.mechanism.hidden else model.advice(name)


def _needs(model: Model, e: Element) -> str:
    return "" if e.instrument else model.mechanism.advice.get(e.acts_on, e.needs)
