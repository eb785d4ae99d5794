"""Generated C in this process: compiled into a shared library and called through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.export.c import CSource, c_source
from palpate.model import Model
from palpate.runtime.native import compile_c
from tests.conftest import needs_program

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
FUSED = ("-mfma", "-ffp-contract=fast")
"""As a user may compile it: products and sums in one operation."""


@dataclass(frozen=True)
class Generated:
    """A model in C; one state, as `Stepper` has it."""

    source: CSource
    library: Any
    model: Any
    now: Any

    def reset(self, state: Any) -> None:
        self.now[:] = [float(x) for x in state]

    def run(self, wrenches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(steps, size) and (steps,): what `Stepper.run` would give."""
        n, step = len(self.source.accelerations), getattr(self.library, f"{self.source.name}_step")
        acceleration = (ctypes.c_double * n)()
        out, status = np.empty((len(wrenches), len(self.now) + n)), np.empty(len(wrenches), dtype=np.int8)
        rows = np.ascontiguousarray(wrenches, dtype=float)
        model, first = ctypes.byref(self.model), rows.ctypes.data
        for i in range(len(rows)):
            status[i] = step(model, self.now, ctypes.c_void_p(first + 48 * i), acceleration)
            out[i, : len(self.now)], out[i, len(self.now) :] = self.now, acceleration
        return out, status

    def accelerations(self, states: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
        n, function = len(self.source.accelerations), getattr(self.library, f"{self.source.name}_acceleration")
        found, s, w = np.empty((len(states), n)), np.ascontiguousarray(states), np.ascontiguousarray(wrenches)
        model, size = ctypes.byref(self.model), 8 * s.shape[1]
        places = (s.ctypes.data, w.ctypes.data, found.ctypes.data)
        for i in range(len(s)):
            at = (places[0] + size * i, places[1] + 48 * i, places[2] + 8 * n * i)
            assert function(model, *(ctypes.c_void_p(x) for x in at)) == 0
        return found

    def init(self, parameters: list[float] | None = None, limit: list[float] | None = None) -> int:
        p = None if parameters is None else (ctypes.c_double * len(parameters))(*parameters)
        w = None if limit is None else (ctypes.c_double * 6)(*limit)
        return getattr(self.library, f"{self.source.name}_init")(ctypes.byref(self.model), p, w)


def generate(model: Model, folder: Path, *flags: str, dt: float = 1e-3, **options: Any) -> Generated:
    """Write, compile with all warnings as errors, and load; skips where there is no compiler."""
    source = c_source(model, dt, **options)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.h").write_text(source.header)
    (folder / "model.c").write_text(source.source)
    compile_c(needs_program("cc"), [folder / "model.c"], folder / "model.so", *STRICT, *flags, shared=True)
    count = len(source.parameters)

    class Bound(ctypes.Structure):
        _fields_ = (
            ("parameters", ctypes.c_double * count),
            ("wrench_limit", ctypes.c_double * 6),
            ("ready", ctypes.c_int),
        )

    found = Generated(source, ctypes.CDLL(str(folder / "model.so")), Bound(), (ctypes.c_double * len(source.state))())
    assert found.init() == 0
    found.reset([x for _, _, x in source.state])
    return found
