"""A model as C99: the equations of its elements in straight lines, the solver from a template, parameters in a struct.

The step is that of `palpate.runtime.native`; here are its header, what checks and brakes around it, and its words.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from palpate.export.common import NO_LIMIT, Files, file_stem, object_to_export, template
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.equations import limits, quaternion_at
from palpate.runtime.native import HEADERS, c_number, c_step, compile_c, filled, find_compiler
from palpate.runtime.pairing import FRAME, wrench_words
from palpate.runtime.stepper import BRAKE_S, check_step, check_wrench_limit, has_one_freedom, kept, rest, step_terms

_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    # C++, for the header
    "and asm bool bitand bitor catch class compl concept constexpr decltype delete explicit export false friend "
    "mutable namespace new noexcept not nullptr operator or private protected public requires template this throw "
    "true try typeid typename using virtual wchar_t xor "
    # macros of the standard headers and of compilers
    "INFINITY NAN NULL HUGE_VAL HUGE_VALF HUGE_VALL FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_FAST_FMA "
    "FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW "
    "UNDERFLOW PLOSS TLOSS EOF BUFSIZ FILENAME_MAX FOPEN_MAX L_tmpnam SEEK_CUR SEEK_END SEEK_SET TMP_MAX stdin stdout "
    "stderr errno linux unix"
)
_WIDTH = 118
_READY = "0x70616c70"


def c_name(name: str) -> str:
    """The name with what C does not know replaced: `handle.m` -> `handle_m`."""
    clean = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "object"
    return f"x_{clean}" if clean[0].isdigit() or clean in _WORDS.split() else clean


def c_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names in C, each another one and none of `taken`: what becomes the same gets a number.

    None ends with an underscore, as all macros of the templates do.
    """
    used, given = list(taken), [c_name(name) for name in names]
    for name in given:
        used.append(next(x for x in chain([name], (f"{name}_{i}" for i in count(2))) if x not in used))
    return used[len(used) - len(given) :]


class Variable(NamedTuple):
    """A number of the model: its name in C, its unit ("" if not known), and its value at rest or as identified."""

    name: str
    unit: str
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class CSource:
    """`model.h`, `model.c` and a `main` that times the step; what in them bears which name, unit and value."""

    name: str
    header: str
    source: str
    timing: str
    state: tuple[Variable, ...]
    accelerations: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    wrench: str
    """Which wrench it wants."""
    about: tuple[str, ...]
    """Lines that say what the model is, what is assumed, and what the code leaves out."""
    left_out: tuple[str, ...]


def c_source(
    model: Model, dt: float, *, wrench_limit: Sequence[float] | FloatArray | None = None, what: str = "C"
) -> CSource:
    """The model as C99 with a fixed step `dt` (s); `wrench_limit` is the default range of the sensor (N, N m)."""
    check_step(dt)
    limit = None if wrench_limit is None else check_wrench_limit(wrench_limit)
    given, (model, lost) = model, object_to_export(model)
    name = c_name(model.name)
    mechanism, units = model.mechanism, [p.unit for p in model.parameters.values()]
    n = len(mechanism.accelerations)
    macros = [f"{name.upper()}_{x}" for x in ("DT", "FREEDOMS", "H")]
    parameters = tuple(map(Variable, c_names(model.parameters, macros), units, model.p.tolist()))
    units_of_state = (*mechanism.units[:-n], *model.memory.values())
    state = tuple(map(Variable, c_names((*mechanism.state, *model.memory)), units_of_state, rest(model)))
    accelerations = tuple(map(Variable, mechanism.accelerations, mechanism.units[-n:]))
    shapes = ", ".join(f"{key} = {value:.6g}" for key, value in model.shapes.items())
    constant = [f"angles, widths and lengths of the elements are constants of the code ({shapes})."] if shapes else []
    left_out = (*constant, *lost, "the parameters' intervals and statuses; they are in result.json.")
    about = (*about_lines(given, dt, what), *(f"Left out: {line}" for line in left_out))
    terms = step_terms(model, dt, [f"p->{x.name}" for x in parameters])
    step, to_fill = c_step(terms, {"forward": ("s, w", terms.equations.forward())})
    bodies = [e for e in model.elements if e.parameters and e.parameters[0].map == "inertia"]
    defines = {"READY": _READY, "BODIES": len(bodies), "KEEP": c_number(kept(dt))}
    fill = {
        "name": name,
        "NAME": name.upper(),
        "about": comment(about),
        "dt": c_number(dt),
        "brake_ms": f"{1e3 * BRAKE_S:g}",
        "frame": FRAME,
        "wrench_words": textwrap.indent(textwrap.fill(f"{wrench_words(given)}.", _WIDTH - 3), "   "),
        "freedoms": str(n),
        "state": _fields(state),
        "parameters": _fields(parameters),
        "acceleration_words": ", ".join(f"{x.name} ({x.unit})" if x.unit else x.name for x in accelerations),
        "limit_words": "none" if limit is None else ", ".join(f"{x:g}" for x in limit),
        "limit": ", ".join("INFINITY" if limit is None else c_number(x) for x in (limit or (0.0,) * 6)),
        "pack": "\n".join(f"    s[{i}] = state->{x.name};" for i, x in enumerate(state)),
        "unpack": "\n".join(f"    state->{x.name} = s[{i}];" for i, x in enumerate(state)),
        "defaults": "\n".join(f"    p.{x.name} = {c_number(x.value)};" for x in parameters),
        "rest": ", ".join(c_number(x.value) for x in state),
        "check": _check(model, parameters),
        "possible": _possible(model),
        **to_fill,
    }
    parts = [
        comment(about),
        f'{HEADERS}\n\n#include "model.h"',
        "\n".join(f"#define {key}_ {value}" for key, value in defines.items()),
        step,
        template("public.c"),
    ]
    header, timing = (filled(template(file), fill) for file in ("model.h", "timing.c"))
    source = filled("\n\n".join(part.rstrip("\n") for part in parts) + "\n", fill)
    wrench = f"{wrench_words(given)}; {FRAME}"
    return CSource(name, header, source, timing, state, accelerations, parameters, wrench, about, left_out)


def _possible(model: Model) -> str:
    """What else a state must be, as `Stepper.reset` asks."""
    places = [*limits(model.mechanism), *([(0, *model.mechanism.reach)] if has_one_freedom(model) else [])]
    conditions = [f"{c_number(low)} <= s[{i}] && s[{i}] <= {c_number(high)}" for i, low, high in places]
    if (first := quaternion_at(model.mechanism)) is not None:
        square = " + ".join(f"s[{i}] * s[{i}]" for i in range(first, first + 4))
        conditions.append(f"fabs({square} - 1.0) < 2e-3")
    return "".join(f" && {x}" for x in conditions)


def _check(model: Model, variables: Sequence[Variable]) -> str:
    """Lines that look for parameters that are not possible, as `Model.check_values` does."""
    lines, start = list[str](), 0
    for e in model.elements:
        names = [x.name for x in variables[start : start + len(e.parameters)]]
        for i, (name, parameter) in enumerate(zip(names, e.parameters, strict=True), start=start + 1):
            least = f" || !(p->{name} {'>' if e.inertial else '>='} 0.0)" if parameter.map == "positive" else ""
            bad = f"!isfinite(p->{name}){least}"
            lines.append(f"    if (first == 0 && ({bad}))\n        first = {i};")
        if names and e.parameters[0].map == "inertia":
            ten = ", ".join(f"p->{name}" for name in names)
            lines.append(
                f"    if (first == 0) {{\n        const double phi[10] = {{{ten}}};\n"
                f"        if (!is_solid(phi))\n            first = {start + 1};\n    }}"
            )
        start += len(names)
    return "\n".join(lines)


def about_lines(model: Model, dt: float, what: str) -> list[str]:
    """What the model is, what wrench it wants and what is assumed."""
    about = {"model_of": "not stated", "verdict": "not stated", **model.about}
    rows = model.mechanism.rows
    takes = f" Of the six, only {rows[0].name} moves the object." if len(rows) == 1 else ""
    return [
        f"{model.name}: how a real object moves under a wrench, as {what} with a fixed step of {dt:g} s.",
        f"Written by palpate {version('palpate')} from a model file; change the model and export again, not this file.",
        "",
        *(f"{key.replace('_', ' ')}: {value}" for key, value in about.items()),
        "",
        f"Units: SI and rad. The wrench (N, N m), {FRAME}: {wrench_words(model)}.{takes}",
        "Assumed: the wrench is constant over a step; doubles of 64 bit (IEEE 754), no -ffast-math. No heap, no hidden",
        "state, nothing needed but math.h. Dry friction is set-valued and holds exactly; dampers and stops implicit.",
    ]


def comment(lines: Sequence[str]) -> str:
    """The lines as a comment of C, whatever is in them."""
    pieces = [piece for line in lines for piece in (textwrap.wrap(line, _WIDTH - 3) or [""])]
    text = "\n".join(f" * {piece}".rstrip() for piece in pieces).replace("*/", "* /").replace("/*", "/ *")
    return f"/*\n{text}\n */"


def _fields(variables: Sequence[Variable]) -> str:
    return "\n".join(f"    double {x.name};{f' /* {x.unit} */' if x.unit else ''}" for x in variables)


def export_c(model: Model, *, dt: float = 1e-3, wrench_limit: Sequence[float] | FloatArray | None = None) -> Files:
    """NAME.h and NAME.c, called after the object: a fixed step `dt` (s), in C99 that needs nothing but math.h.

    `wrench_limit`: the sensor's range (N, N m), six positive numbers; beyond it a step reports SATURATED. The
    parameters are a struct and may change at run time; NAME_init refuses impossible ones.
    """
    code, name = c_source(model, dt, wrench_limit=wrench_limit), file_stem(model)
    notes = (*_notes(code, name), *([NO_LIMIT] if wrench_limit is None else []))
    source = code.source.replace('#include "model.h"', f'#include "{name}.h"')
    return {f"{name}.h": code.header, f"{name}.c": source}, code.left_out, notes


def _notes(source: CSource, name: str) -> tuple[str, ...]:
    """How to build it, and what a step takes on this machine."""
    build, compiler = f"build: cc -std=c99 -O2 -c {name}.c (link with -lm)", find_compiler()
    if compiler is None:
        return build, "the step was not timed: there is no C compiler here (sudo apt-get install gcc)"
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for file, text in (("model.h", source.header), ("model.c", source.source), ("timing.c", source.timing)):
                (folder / file).write_text(text, encoding="utf-8")
            compile_c(compiler, [folder / "model.c", folder / "timing.c"], folder / "timing")
            done = subprocess.run([folder / "timing"], capture_output=True, text=True, check=True)
        average, most, worst = (float(x) for x in done.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return build, f"the step was not timed: {error}"
    return build, (
        f"a step takes {average:.2f} us on average, 99.9 % of 200 000 below {most:.2f} us, {worst:.0f} us at worst"
        " (operating system included)"
    )
