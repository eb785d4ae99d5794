"""One step of each object: plain-float Python, generated C, and MuJoCo on the exported model; medians."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from math import radians
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.timing import LEAST_S, cpu_s
from palpate.elements import Foot
from palpate.export import export_model
from palpate.export.c import c_source
from palpate.mechanisms import Rolling
from palpate.model import Model, load_object
from palpate.physics.inertia import phi_from_mass_properties
from palpate.runtime import Stepper
from palpate.runtime.native import compile_c, find_compiler
from palpate.runtime.replay import with_stops

DT, STEPS, C_STEPS = 1e-3, 500, 20_000
DOOR = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
"""The paper's door."""
BARROW = phi_from_mass_properties(45.0, [-0.1121, 0.4498, 0.0004], np.diag([3.667, 1.0924, 3.135]))
HEADINGS = ("one step of (median)", "Python (aim 20 us)", "C (aim 0.2 us)", "Python / C", "MuJoCo, exported model")
_LOOP = """
#include "model.h"

void many(const NAME_model *model, NAME_state *state, const double *wrenches, long count)
{
    double acceleration[UPPER_FREEDOMS];
    long i;
    for (i = 0; i < count; i++)
        NAME_step(model, state, wrenches + 6 * (i % LENGTH), acceleration);
}
"""


def objects() -> dict[str, Model]:
    """Each with values of its size, and a state from which a second of pushing leads nowhere odd."""
    handle = phi_from_mass_properties(1.3, [0.04, -0.02, 0.06], np.diag([0.02, 0.025, 0.015]))
    values = {
        "door": DOOR,
        "cabinet-door": (0.4, 0.2, *np.linspace(0.8, 0.0, 13)),
        "pendulum": (0.5, 1.2, 0.0, 0.05, 0.02),
        "handle": handle,
        "hand-truck": (*BARROW, 0.5, 0.4, 0.4, 0.5),
        "wheelbarrow-planar": (*BARROW, 0.5, 1.2),
        "wheelbarrow": (*BARROW, 0.5, 1.2, 2.0),
    }
    found = {name: load_object(name).of_object().with_values([float(x) for x in v]) for name, v in values.items()}
    found["door, from stop to stop"] = with_stops(found["door"], 0.0, radians(3.0))
    found["wheelbarrow, on its feet"] = standing(found["wheelbarrow"])
    return found


def standing(barrow: Model) -> Model:
    """With two feet on the ground."""
    feet = ((0.25, 0.75, 0.25), (0.25, 0.75, -0.25))
    parts = (*barrow.elements, Foot("left", "foot_1"), Foot("right", "foot_2"))
    return Model("barrow", Rolling(feet=feet), parts).with_values([*barrow.p.tolist(), *[1e5, 1e4] * 2])


def wrenches(name: str) -> np.ndarray:
    """A person's: forces in N, moments in N m; what holds a barrow up is in it."""
    t = np.arange(STEPS) * DT
    found = np.zeros((STEPS, 6))
    rolling = "barrow" in name or "truck" in name
    found[:, 5] = 198.0 if rolling else 12.0 * np.sin(6 * t)
    if "stop" in name:
        found[:, 5] = 90.0 * np.cos(15 * t)  # hits both in turn
    if "feet" in name:
        found[:, 5] = 30.0 * np.sin(9 * t)  # stays on them
    found[:, 1] = -20.0 * np.sin(5 * t) if rolling else 0.0
    return found * (0.02 if name == "handle" else 1.0)


def python_run(model: Model, w: np.ndarray) -> Callable[[], object]:
    stepper = Stepper(model, DT)
    start, out = stepper.state, np.empty((len(w), stepper.size))

    def run() -> None:
        stepper.reset(start)
        stepper.run(w, out)

    return run


def c_run(model: Model, w: np.ndarray, folder: Path) -> Callable[[], object] | None:
    compiler = find_compiler()
    if compiler is None:
        return None
    source = c_source(model, DT)
    loop = _LOOP.replace("NAME", source.name).replace("UPPER", source.name.upper()).replace("LENGTH", str(len(w)))
    for file, text in (("model.h", source.header), ("model.c", source.source), ("loop.c", loop)):
        (folder / file).write_text(text)
    compile_c(compiler, [folder / "model.c", folder / "loop.c"], folder / "loop.so", shared=True)
    library: Any = ctypes.CDLL(str(folder / "loop.so"))
    bound = (ctypes.c_double * (len(source.parameters) + 7))()  # parameters, six limits, and room for `ready`
    if getattr(library, f"{source.name}_init")(bound, None, None) != 0:
        raise RuntimeError("the model is not ready")
    state, rows = (ctypes.c_double * len(source.state))(), np.ascontiguousarray(w)
    start = [x for _, _, x in source.state]

    def run() -> None:
        for _ in range(C_STEPS // len(w)):  # each from the same start, as in Python
            state[:] = start
            library.many(bound, state, rows.ctypes.data_as(ctypes.c_void_p), len(w))

    return run


def mujoco_run(model: Model, w: np.ndarray, folder: Path) -> Callable[[], object] | None:
    try:
        import mujoco
    except ImportError:
        return None
    (path, *_) = export_model(model, "mjcf", folder).files
    found: Any = mujoco.MjModel.from_xml_path(str(path))  # type: ignore[attr-defined]
    found.opt.timestep = DT
    data: Any = mujoco.MjData(found)  # type: ignore[attr-defined]

    def run() -> None:
        mujoco.mj_resetData(found, data)  # type: ignore[attr-defined]
        data.ctrl[:] = np.resize(w[20], len(data.ctrl))
        mujoco.mj_step(found, data, nstep=STEPS)  # type: ignore[attr-defined]

    return run


def medians(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median time of each, in s of CPU, called turn by turn."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            end = cpu_s() + LEAST_S
            while cpu_s() < end:
                start = cpu_s()
                function()
                found[name].append(cpu_s() - start)
    return {name: median(times) for name, times in found.items()}


def rows(rounds: int = 3) -> list[tuple[str, ...]]:
    """Table rows: object, microseconds of a step in Python, in C, their ratio, and in MuJoCo."""
    found: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        for kind, model in objects().items():
            folder, w = Path(name) / kind, wrenches(kind)
            folder.mkdir()
            made = {
                "python": python_run(model, w),
                "c": c_run(model, w, folder),
                "mujoco": mujoco_run(model, w, folder),
            }
            times = medians({k: run for k, run in made.items() if run is not None}, rounds)
            counts = {"python": STEPS, "c": C_STEPS, "mujoco": STEPS}
            us = {k: 1e6 * t / counts[k] for k, t in times.items()}
            ratio = f"{us['python'] / us['c']:.0f}" if "c" in us else "-"
            cells = [f"{us[k]:.2f} us" if k in us else "-" for k in ("python", "c", "mujoco")]
            found.append((kind, *cells[:2], ratio, cells[2]))
    return found


if __name__ == "__main__":
    for line in rows():
        print(" | ".join(line))
