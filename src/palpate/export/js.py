"""A model as an ES module for Node and browsers: the terms of the generated C, operation by operation in its order.

Doubles of JavaScript are those of C without fused operations (ECMA-262, 6.1.6.1), so that + - * / and sqrt give the
same bits; sine, cosine, exponential and the like are the engine's own, and may differ from a C library's in the last.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from palpate.errors import PalpateError
from palpate.export.c import about_lines, comment
from palpate.export.common import NO_LIMIT, Files, file_stem, object_to_export, template
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.runtime.equations import Equations, Kernels, Term, limits
from palpate.runtime.native import filled, needed
from palpate.runtime.pairing import FRAME, wrench_words
from palpate.runtime.stepper import StepStatus, check_step, check_wrench_limit, has_one_freedom, kept, rest, step_terms

_JS = {
    **{op: f"{{0}} {op} {{1}}" for op in "+-*/"},
    "minimum": "{0} <= {1} ? {0} : {1}",
    "maximum": "{0} >= {1} ? {0} : {1}",
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : 0",
    "step": "{0} > 0 ? 1 : 0",
    "smaller": "{0} <= {1} ? {2} : {3}",
    **{name: f"Math.{name}({{0}})" for name in ("abs", "sin", "cos", "tanh", "exp", "sqrt")},
    "atan2": "Math.atan2({0}, {1})",
}
_WRENCH = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
_BITS = (
    "the last bits of sine, cosine, atan2, exp and tanh are those of the JavaScript engine, not of a C library: paths "
    "agree with the exported C to rounding (where none of these is used, to the last bit)."
)


class JsSource(NamedTuple):
    """The module, its declarations, and what is left out."""

    module: str
    types: str
    left_out: tuple[str, ...]


def js_source(
    model: Model,
    dt: float = 1e-3,
    *,
    wrench_limit: Sequence[float] | FloatArray | None = None,
    handle: Sequence[float] | FloatArray | None = None,
) -> JsSource:
    """The model as an ES module with a fixed step `dt` (s); `wrench_limit`: the sensor's range (N, N m).

    `handle`: where the hand holds, m in the body frame: pictures follow it, no motion does.
    """
    check_step(dt)
    limit = None if wrench_limit is None else check_wrench_limit(wrench_limit)
    given, (model, lost) = model, object_to_export(model)
    terms = step_terms(model, dt, [f"p[{i}]" for i in range(len(model.p))])
    e, mechanism = terms.equations, model.mechanism
    constants, kernels = needed(terms)
    kernels |= {"forward": ("s, w", e.forward()), **_pictures(e, model)}
    places = [*limits(mechanism), *([(0, *mechanism.reach)] if has_one_freedom(model) else [])]
    starts = [sum(len(x.parameters) for x in model.elements[:i]) for i in range(len(model.elements))]
    bodies = [at for at, x in zip(starts, model.elements, strict=True) if x.parameters and _is_body(x)]
    left_out = (*lost, _BITS, "the parameters' intervals and statuses; they are in result.json.")
    about = (*about_lines(given, dt, "an ES module"), *(f"Left out: {line}" for line in left_out))
    data = _data(given, model, dt, _placed(e), handle)
    fill = {
        "about": comment(about),
        "statuses": _json({status.name: status.value for status in StepStatus}),
        "data": _json(data),
        "bodies": _json(bodies),
        "limits": _numbers(limits(mechanism)),
        "within": _numbers(places),
        "quaternion": str(-1 if e.quaternion is None else e.quaternion),
        "keep": js_number(kept(dt)),
        "range": _json([None] * 6 if limit is None else list(limit)),
        "defines": _defines(constants),
        "kernels": "\n\n".join(_function(e, name, kernel) for name, kernel in kernels.items()),
        "step": template("one_freedom.js" if has_one_freedom(model) else "several_freedoms.js").rstrip("\n"),
    }
    types = {
        "about": fill["about"],
        "parameters": _union(x["name"] for x in data["parameters"]),
        "coordinates": _union(x["name"] for x in data["coordinates"]),
        "state": ", ".join(f"{x['name']} ({x['unit'] or '1'})" for x in data["state"]),
        "accelerations": ", ".join(f"{x['name']} ({x['unit']})" for x in data["accelerations"]),
        "wrench": f"{wrench_words(given)}, {FRAME}",
    }
    return JsSource(filled(template("model.js"), fill), filled(template("model.d.ts"), types), left_out)


def _is_body(element: Any) -> bool:
    return element.parameters[0].map == "inertia"


def _data(
    given: Model, model: Model, dt: float, placed: Sequence[str], handle: Sequence[float] | FloatArray | None
) -> dict[str, Any]:
    """What a user of the module may ask: names, units, values, limits, and what it looks like."""
    mechanism, n = model.mechanism, len(model.mechanism.accelerations)
    units = (*mechanism.units[:-n], *model.memory.values())
    state = zip((*mechanism.state, *model.memory), units, rest(model), strict=True)
    parameters = [
        {
            **{"name": p.name, "unit": p.unit, "element": e.name, "acts_on": e.acts_on, "map": p.map},
            **{"least": 0.0 if p.map == "positive" else None, "open": p.map == "positive" and e.inertial},
        }
        for e in model.elements
        for p in e.parameters
    ]
    names = list(model.parameters)
    outline = mechanism.outline(None if handle is None else _point(handle))
    ground = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)) if mechanism.z_up else mechanism.R_world_body
    links = [x for x in mechanism.linkages if x.after is None]
    low, high = mechanism.described or (None, None)
    return {
        **{"name": model.name, "dt": dt, "model_of": str(given.about.get("model_of", ""))},
        "state": [{"name": name, "unit": unit, "value": value} for name, unit, value in state],
        "positions": len(mechanism.state) - n,
        "accelerations": [
            {"name": x, "unit": u} for x, u in zip(mechanism.accelerations, mechanism.units[-n:], strict=True)
        ],
        "parameters": [
            x | {"name": name, "words": model.words.get(name, ""), "value": value}
            for x, name, value in zip(parameters, names, model.p.tolist(), strict=True)
        ],
        "coordinates": [{"name": name, "unit": mechanism.coordinates[name]} for name in placed],
        "main": mechanism.main,
        "described": None if low is None else [low, high],
        "wrench": {"names": _WRENCH, "units": ["N"] * 3 + ["N m"] * 3, "frame": FRAME, "is": wrench_words(given)},
        "rows": [{"name": row.name, "unit": row.unit} for row in mechanism.rows],
        "components": list(mechanism.row_components),
        "way": list(mechanism.way),
        "outward": list(mechanism.outward),
        "gravity": mechanism.gravity,
        "outline": {
            "ground": [x for row in ground for x in row],
            **{"hand": outline.hand, "floor": outline.floor, "links_at": outline.links_at},
            "solids": [asdict(solid) for solid in outline.solids],
            "links": [{"name": x.coordinate, "points": len(x.bars(x.range[0], FLOATS))} for x in links],
        },
    }


def _point(handle: Sequence[float] | FloatArray) -> tuple[float, float, float]:
    point = [float(x) for x in handle]
    if len(point) != 3 or not all(map(math.isfinite, point)):
        raise PalpateError(f"handle must be a point of three numbers in m, not {point}")
    return point[0], point[1], point[2]


def _pictures(e: Equations, model: Model) -> Kernels:
    """Pose, twist, coordinates and bars as functions of the state."""
    mechanism, fn, s = model.mechanism, e.trace.fn, e.state
    try:
        rows, origin = mechanism.place(s, fn)
    except PalpateError:  # a user's own mechanism need not say where its body is
        rows, origin = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
    term, positions = e.trace.term, e.k.coordinates
    twist = (*mechanism.velocity(s, fn), *e.k.omega)
    bars = [xy for x in mechanism.linkages if x.after is None for point in x.bars(s[0], fn) for xy in point]
    return {
        "pose": ("s", [term(x) for x in (*rows[0], *rows[1], *rows[2], *origin)]),
        "twist": ("s", [term(x) for x in twist]),
        "coordinates": ("s", [term(positions[name].position) for name in _placed(e)]),
        "links": ("s", [term(x) for x in bars]),
    }


def _placed(e: Equations) -> list[str]:
    """The coordinates whose position follows from the state."""
    return [name for name, c in e.k.coordinates.items() if e.trace.term(c.position).op != "constant"]


def _function(e: Equations, name: str, kernel: tuple[str, Sequence[Term]]) -> str:
    lines, values = e.trace.source(kernel[1], _JS, "const {0} = {1};")
    words = {"inf": "Infinity", "nan": "NaN"}
    body = "\n".join(f"  {line}" for line in (*lines, *(f"y[{i}] = {x};" for i, x in enumerate(values))))
    body = re.sub(r"(?<![\w.])(inf|nan)(?!\w)", lambda word: words[word[1]], body)
    return f"function k_{name}(p, {kernel[0]}, y) {{\n{body}\n}}"


def _defines(constants: dict[str, float | int]) -> str:
    """Constants of the step; the length of the state follows."""
    lines = [f"const {key} = {js_number(value)};" for key, value in constants.items() if key != "DT"]
    return "\n".join([*lines, "const NS = NQ + N + M;"])


def js_number(x: float) -> str:
    """A number as JavaScript writes it."""
    return repr(x) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"


def _numbers(rows: Sequence[Sequence[float]]) -> str:
    each = (", ".join(map(js_number, row)) for row in rows)
    return f"[{', '.join(f'[{row}]' for row in each)}]"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _union(names: Any) -> str:
    return " | ".join(json.dumps(name) for name in names) or "never"


def export_js(
    model: Model,
    *,
    dt: float = 1e-3,
    wrench_limit: Sequence[float] | FloatArray | None = None,
    handle: Sequence[float] | FloatArray | None = None,
) -> Files:
    """NAME.js, an ES module that needs nothing, and NAME.d.ts, its types; the step is that of the exported C.

    `dt` (s): the fixed step; `wrench_limit`: the sensor's range (N, N m), six positive numbers; `handle`: where the
    hand holds in pictures, m in the body frame.
    """
    code, name = js_source(model, dt, wrench_limit=wrench_limit, handle=handle), file_stem(model)
    use = f'use: import {{ create }} from "./{name}.js"; const object = create(); object.step([0, 0, 0, 0, 0, 5])'
    return (
        {f"{name}.js": code.module, f"{name}.d.ts": code.types},
        code.left_out,
        (use, *([NO_LIMIT] if wrench_limit is None else [])),
    )
