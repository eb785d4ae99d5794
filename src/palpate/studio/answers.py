"""What the Fit view shows: numbers with intervals, curves over time, laws over the coordinate, variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from palpate.experiment.file.reading import Experiment, object_model
from palpate.experiment.file.starting import options_text
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import projected
from palpate.experiment.stage.quick import Quick
from palpate.experiment.stage.result import parameter_entry
from palpate.files import finite
from palpate.identify import Solution
from palpate.identify.balance import Segment
from palpate.identify.solution import Status
from palpate.identify.variants import Variant
from palpate.mechanisms import Mechanism
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.units import shown_in
from palpate.report.model_plots import AT_SPEED, damping, dry_force
from palpate.studio.lines import Line, Track, numbers

POINTS = 160
WORSE = tuple(s.value for s in (Status.IDENTIFIED, Status.UNCERTAIN, Status.PRIOR_DOMINATED, Status.NOT_IDENTIFIABLE))
"""Statuses, each worse than the one before."""
Segments = Mapping[str, Sequence[Segment]]


def numbers_of(
    quick: Quick,
    solution: Solution,
    segments: Segments,
    added: Mapping[str, float] | None = None,
    full: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Parameters and errors of a quick fit.

    added: estimate -> what the last full run added to the square of half its interval (systematic, model, zones,
    clocks); without it the intervals are those of the noise alone. full: the last full result. Only another one says
    that a number is better known than there: what that one refused, a quick fit cannot judge.
    """
    free_body, entries = quick.fit.inputs.imu is not None, dict[str, Any]()
    for e in solution.estimates:
        entry = parameter_entry(e, free_body=free_body)
        if entry["ci95"] is not None and added is not None:
            half = float(np.sqrt((e.ci95[1] - e.value) ** 2 + added.get(e.name, 0.0))) if e.ci95 else 0.0
            entry["ci95"] = [e.value - half, e.value + half]
        told = "" if full is None else full["parameters"].get(e.name, {}).get("status", "")
        if entry["status"] in WORSE and told in WORSE[WORSE.index(entry["status"]) :]:
            entry["status"] = told
            if told == WORSE[-1] and not free_body:
                entry |= {"value": None, "ci95": None}
        entries[e.name] = {k: entry[k] for k in ("value", "unit", "ci95", "status", "information_from_data")}
    rows = quick.fit.inputs.mechanism.rows
    rms = {
        kind: {row.name: {"value": finite(x), "unit": row.unit} for row, x in zip(rows, left.tolist(), strict=True)}
        for kind, left in ((kind, quick.rms(solution.p, segments.get(kind, ()))) for kind in ("train", "test"))
    }
    return {"parameters": entries, "rms": rms, "total": added is not None}


def added_to(full: Mapping[str, Any], base: Solution) -> dict[str, float]:
    """By how much a full result's intervals are wider than the quick ones of the same segments, halves squared.

    What a full run moved a value by, a quick answer does not know of other segments: its interval allows for it.
    """
    added = dict[str, float]()
    for e in base.estimates:
        entry = full["parameters"].get(e.name)
        if entry is not None and entry["ci95"] is not None and e.ci95 is not None:
            half, own = (entry["ci95"][1] - entry["ci95"][0]) / 2, e.ci95[1] - e.value
            added[e.name] = max(half**2 - own**2, 0.0) + (entry["value"] - e.value) ** 2
    return added


def sizes_found(full: Mapping[str, Any] | None, stated: Mechanism) -> dict[str, float]:
    """Sizes of a linkage that a full run found along, where they are still stated as they were then.

    Those that the file has estimated, a quick fit finds by itself.
    """
    links = {} if full is None else {name: e for name, e in full["shapes"].items() if "stated" in e}
    own = {name: size for name, (size, _) in stated.sizes.items() if name not in stated.estimated}
    if any(own.get(name) != e["stated"] for name, e in links.items()):
        return {}
    return {name: e["value"] for name, e in links.items()}


def curves_of(fit: Fit, p: FloatArray) -> list[Track]:
    """Measured, estimated and what is left, one chart a row and one of what is left."""
    seen, balance = fit.prediction, fit.balance
    t = seen.times_s
    measured = seen.rows[:, :, -1] if fit.inputs.imu is not None else projected(balance)
    estimate = np.where(seen.used[:, None], seen.rows[:, :, :-1] @ p, np.nan)
    tracks = list[Track]()
    for j, row in enumerate(fit.inputs.mechanism.rows):
        y, x = measured[:, j], estimate[:, j]
        both = (Line("measured", row.unit, t, y), Line("estimated", row.unit, t, x))
        left = (Line("measured - estimated", row.unit, t, y - x),)
        tracks.append(Track(f"row:{row.name}", row.name, row.unit, both))
        tracks.append(Track(f"left:{row.name}", f"residual {row.name}", row.unit, left))
    return tracks


def laws_of(fit: Fit, model: Model) -> dict[str, Any] | None:
    """Spring with dry friction, and damping both ways, over the coordinate; None of more than one freedom."""
    m, inputs = model.mechanism, fit.inputs
    if inputs.imu is not None or (len(m.state), len(m.accelerations), len(m.rows)) != (2, 1, 1):
        return None
    used = fit.prediction.used
    q = inputs.q[fit.prediction.at[used], 0]
    if not len(q) or not np.ptp(q) > 0:
        return None
    x: FloatArray = np.linspace(float(q.min()), float(q.max()), POINTS)
    shown, own = shown_in(m.position_units[0]), model.of_object()
    forth, back = m.way
    return {
        "x": numbers(shown.factor * x),
        "x_unit": shown.unit,
        "unit": m.rows[0].unit,
        "damping_unit": f"{m.rows[0].unit} s/{m.position_units[0]}",
        "hold": numbers(own.along(x)),
        "dry": numbers(dry_force(own, x)),
        "damping": {forth: numbers(damping(own, x, AT_SPEED)), back: numbers(damping(own, x, -AT_SPEED))},
    }


def elements_of(experiment: Experiment[Any]) -> list[dict[str, Any]]:
    """The object's elements and those that the file adds: which are in the model, and which zones are searched for."""
    model, config = object_model(experiment), experiment.config
    path = experiment.source.parent / config.object
    base = load_object(path if path.suffix in (".yaml", ".yml") else config.object, experiment.parts)
    own = {e.name for e in base.elements}
    inside = {e.name: e for e in model.elements}
    listed = [*base.elements, *(e for e in model.elements if e.name not in own)]
    return [
        {
            "name": e.name,
            "type": e.type,
            "acts_on": e.acts_on,
            "used": e.name in inside,
            "added": e.name not in own,
            "zone": bool(e.borders),
            "estimated": any(s.free for s in inside.get(e.name, e).shapes),
            "kept": _kept(e.name in own, e.inertial),
        }
        for e in listed
        if not e.instrument
    ]


def _kept(shipped: bool, inertial: bool) -> str:
    """Why an element cannot be left out by a tick; empty: it can."""
    if inertial:
        return "every object has inertia"
    return "" if shipped else "this experiment adds it: to leave it out, take it out of elements in the file"


def element_options(model: Model, name: str) -> dict[str, Any]:
    """An element as an experiment file states it, units included."""
    part = next(e for e in model.to_dict()["elements"] if e["name"] == name)
    return dict(YAML(typ="safe").load(options_text(part, model.mechanism.coordinates)))


def searched(experiment: Experiment[Any], name: str, *, wanted: bool) -> dict[str, Any]:
    """The key `elements` with which the zone of an element is searched for, or stays where it is."""
    config, options = experiment.config, element_options(object_model(experiment), name)
    own = {str(given["name"]): dict(given) for given in config.elements}
    own[name] = {k: v for k, v in {**options, **own.get(name, {})}.items() if k != "estimate"}
    own[name] |= {"estimate": True} if wanted else {}
    return {"elements": list(own.values())}


def adopted(experiment: Experiment[Any], variant: Variant, model: Model) -> dict[str, Any]:
    """The keys `elements` and `without` with which the experiment describes a variant; model: with its shapes."""
    path = experiment.source.parent / experiment.config.object
    shipped = path if path.suffix in (".yaml", ".yml") else experiment.config.object
    base = {e["name"]: e for e in load_object(shipped, experiment.parts).to_dict()["elements"]}
    names = [e.name for e in variant.model.elements if not e.instrument]
    given = {e["name"]: e for e in model.to_dict()["elements"]}
    elements = [element_options(model, name) for name in names if base.get(name) != given[name]]
    without = [name for name in base if name not in names]
    return {"elements": elements or None, "without": without or None}
