"""Steps in C: the terms that become Python in the stepper, operation by operation in the same order, and the compiler.

The two give the same numbers, to the last bit where the compiler does not fuse multiplications and additions. What is
exported is this code; a long run of steps, such as a replay, is compiled and taken in it where there is a compiler.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.runtime import stepper
from palpate.runtime.equations import Equations, Kernels, Term, limits
from palpate.runtime.stepper import StepTerms, has_one_freedom

_C = {
    **{op: f"{{0}} {op} {{1}}" for op in "+-*/"},
    "minimum": "{0} <= {1} ? {0} : {1}",
    "maximum": "{0} >= {1} ? {0} : {1}",
    "abs": "fabs({0})",
    "sign": "{0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : 0.0",
    "step": "{0} > 0.0 ? 1.0 : 0.0",
    "smaller": "{0} <= {1} ? {2} : {3}",
    **{name: f"{name}({{0}})" for name in ("sin", "cos", "tanh", "exp", "sqrt")},
    "atan2": "atan2({0}, {1})",
}
HEADERS = "#include <math.h>\n#include <stddef.h>\n#include <string.h>"
_PAYS = 25_000
"""Steps from which compiling, some 50 ms, is done before Python would be: one freedom, 4 us a step."""
_LONGEST_S = 30.0
"""That a compiler may take: a second is usual."""
Run = Callable[[FloatArray, FloatArray], FloatArray | None]
"""A state and wrenches (steps, 6) -> the states after each step (steps, state); None where they lead nowhere."""


def compiled(terms: StepTerms, steps: int) -> Run | None:
    """So many steps of this model in C, the numbers of `Stepper.run`; None where that does not pay, or there is no
    compiler.

    What is exported is this C: a compiler that refuses it, or whose library cannot be loaded, is an error.
    """
    compiler = find_compiler() if steps >= _PAYS and os.name == "posix" else None  # Windows' mathematics are others
    if compiler is None:
        return None
    statuses = ", ".join(f"@NAME@_{status.name} = {status.value}" for status in stepper.StepStatus)
    declared = f"enum {{{statuses}}};\ntypedef struct {{ int none; }} @name@_parameters;"
    step, fill = c_step(terms)
    fill |= {"name": "model", "NAME": "MODEL"}
    source = filled("\n".join([HEADERS, declared, step, _template("run.c")]), fill)
    library = _library(compiler, source, "-O0")  # a faster step would not make up for more
    double, long = ctypes.c_void_p, ctypes.c_long
    library.run.argtypes, library.run.restype = (double, long, double, double), long

    def run(start: FloatArray, wrenches: FloatArray) -> FloatArray | None:
        wrenches, state = np.ascontiguousarray(wrenches, dtype=float), np.array(start, dtype=float)
        path = np.empty((len(wrenches), len(state)))
        done = library.run(wrenches.ctypes.data, len(wrenches), state.ctypes.data, path.ctypes.data)
        return path if done == len(wrenches) else None

    return run


def compiled_function(
    e: Equations, kernels: Kernels, template: str, name: str, constants: Mapping[str, str] | None = None
) -> object:
    """A function of a template in C that calls these kernels, whose parameters are an array; None: no compiler."""
    compiler = find_compiler() if os.name == "posix" else None
    if compiler is None:
        return None
    defined = [f"#define {key} {value}" for key, value in (constants or {}).items()]
    parts = [HEADERS, "typedef double @name@_parameters;", *defined, *(_function(e, k, x) for k, x in kernels.items())]
    return getattr(_library(compiler, filled("\n".join([*parts, _template(template)]), {"name": "model"})), name)


@lru_cache(maxsize=32)
def _library(compiler: str, source: str, flag: str = "-O2") -> ctypes.CDLL:
    """What a compiler makes of a source."""
    try:
        with tempfile.TemporaryDirectory() as name:
            file, out = Path(name) / "model.c", Path(name) / "model.so"
            file.write_text(source, encoding="utf-8")
            compile_c(compiler, [file], out, flag, shared=True)
            return ctypes.CDLL(str(out))
    except OSError as e:
        raise PalpateError(f"what the compiler {compiler} made cannot be loaded: {e}") from e


def c_step(terms: StepTerms, also: Kernels | None = None) -> tuple[str, dict[str, str]]:
    """The step as C, `advance`, and what is to be filled in beside @name@ and @NAME@.

    It needs `HEADERS`, the type @name@_parameters and the statuses. `also`: functions beside those of the step.
    """
    constants, kernels = needed(terms)
    e = terms.equations
    defines = {key: value if isinstance(value, int) else f"({c_number(value)})" for key, value in constants.items()}
    within = " ||\n        ".join(
        f"!({c_number(a)} <= there[{i}] && there[{i}] <= {c_number(b)})" for i, a, b in limits(terms.model.mechanism)
    )
    parts = [
        "\n".join(f"#define {key}_ {value}" for key, value in (defines | {"NS": "(NQ_ + N_ + M_)"}).items()),
        *(_function(e, name, kernel) for name, kernel in (kernels | (also or {})).items()),
        _template("one_freedom.c" if has_one_freedom(terms.model) else "several_freedoms.c"),
    ]
    return "\n\n".join(parts), {"limits": f"    beyond = {within};" if within else ""}


def needed(terms: StepTerms) -> tuple[dict[str, float | int], Kernels]:
    """The constants that the written-out step uses, in any language, and the kernels that it calls."""
    model, dt, e, kernels, fades, has_stops = terms
    constants: dict[str, float | int] = {}
    if has_one_freedom(model):
        low, high = model.mechanism.reach
        constants |= {"STOPS": int(has_stops), "LOW": float(low), "HIGH": float(high)}
        names = ("SLOW", "RESOLVED", "PARTS", "TOUCHES")
        kernels = {name: kernel for name, kernel in kernels.items() if has_stops or name != "press"}
    else:
        stops, dry, says = len(kernels["pressed"][1]), len(e.dry()), len(kernels["system"][1])
        constants |= {"STOPS": stops, "DRY": dry, "SAYS": says}
        names = ("TOUCHES", "REST", "SWEEPS", "SETTLED", "TURN", "PIVOTS", "CREEP")
        kernels = {name: kernel for name, kernel in kernels.items() if kernel[1]}
    kernels = {name: kernel for name, kernel in kernels.items() if name != "remember" or e.memory}
    plain = len(e.positions) if e.quaternion is None else e.quaternion  # positions before a quaternion
    constants |= {name: getattr(stepper, name) for name in names}
    constants |= {"FADES": int(fades), "PLAIN": plain, "N": e.n, "NQ": len(e.positions), "M": len(e.memory)}
    return constants | {"DT": dt}, kernels


def _function(e: Equations, name: str, kernel: tuple[str, Sequence[Term]]) -> str:
    given = kernel[0].split(", ")
    lines, values = e.trace.source(kernel[1], _C, "const double {0} = {1};")
    lines = [*(f"(void){x};" for x in ("p", *given)), *lines, *(f"y[{i}] = {x};" for i, x in enumerate(values))]
    infinite = re.compile(r"(?<![\w.])inf(?!\w)")  # Python writes inf, C INFINITY
    body = "\n".join(f"    {infinite.sub('INFINITY', line)}" for line in lines)
    pointers = ", ".join(f"const double *{x}" for x in given)
    return f"static void k_{name}(const @name@_parameters *p, {pointers}, double *y)\n{{\n{body}\n}}"


def _template(name: str) -> str:
    return (resources.files("palpate.runtime") / "templates" / name).read_text(encoding="utf-8").rstrip("\n")


def filled(text: str, fill: Mapping[str, str]) -> str:
    """The text with each @word@ replaced."""
    return re.sub(r"@(\w+)@", lambda word: fill[word[1]], text)


def c_number(x: float) -> str:
    """A number as C writes it."""
    return repr(float(x)) if math.isfinite(x) else "INFINITY" if x > 0 else "-INFINITY"


def find_compiler() -> str | None:
    """The C compiler: what the variable CC names, else cc, gcc or clang; None if there is none."""
    paths = (shutil.which(name) for name in (os.environ.get("CC", ""), "cc", "gcc", "clang") if name)
    path = next((path for path in paths if path is not None), None)
    if sys.platform == "darwin" and path == "/usr/bin/cc":  # always there; without the tools it asks to install them
        tools = subprocess.run(["xcode-select", "-p"], capture_output=True, check=False)
        return None if tools.returncode else path
    return path


def compile_c(compiler: str, sources: Sequence[Path], out: Path, *flags: str, shared: bool = False) -> None:
    """Compile strict C99 with optimisation into a program or a shared library."""
    linked = ["-dynamiclib" if sys.platform == "darwin" else "-shared", "-fPIC"] if shared else []
    command = [compiler, "-std=c99", "-O2", "-ffp-contract=off", *linked, *flags, *map(str, sources), "-o", str(out)]
    try:
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired as e:
        raise PalpateError(f"the compiler {compiler} takes longer than {_LONGEST_S:g} s") from e
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise PalpateError(f"the compiler {compiler} refuses the generated C: {first}")
