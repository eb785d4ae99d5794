"""What the result must not depend on: units of the files, threads of the machine, axes of the world."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.inputs import fit_balance, move
from palpate.identify import Balance, compress
from palpate.identify.diagnosis import axis_problems
from palpate.physics.units import parse_unit
from palpate.recording import load
from tests.handle_files import SEED, write_short_handle


@pytest.fixture(scope="session")
def twin(short_handle_folder: Path) -> Path:
    return short_handle_folder / "handle.yaml"


@pytest.fixture(scope="session")
def here(short_handle_result: Result) -> Result:
    return short_handle_result


def in_units(twin: Path, folder: Path, force: str, moment: str, acceleration: str, rate: str, time: str) -> Path:
    """The same experiment with its recordings as Parquet tables in other units."""
    parts: list[str] = []
    for kind, file, units in (
        ("wrench", "wrench.mat", [force] * 3 + [moment] * 3),
        ("imu", "imu.csv", [acceleration] * 3 + [rate] * 3),
    ):
        recording = load(twin.parent / file)
        names = list(recording)[:6]
        columns = {"clock": recording[names[0]].clock.times_s / parse_unit(time).factor}
        for name, unit in zip(names, units, strict=True):
            factor = parse_unit("gn" if unit == "g" else unit).factor
            columns[f"raw {name}"] = recording[name].samples / factor
        pl.DataFrame(columns).write_parquet(folder / f"{kind}.parquet")
        parts.append(f"  {kind}:\n    file: {kind}.parquet\n    time: {{column: clock, unit: {time}}}\n    columns:")
        parts += [
            f"      c{i}: {{column: 'raw {name}', unit: {unit}}}"
            for i, (name, unit) in enumerate(zip(names, units, strict=True))
        ]
    parts.append("    acceleration: [c0, c1, c2]\n    angular_rate: [c3, c4, c5]")
    text = twin.read_text()
    start, stop = text.index("recordings:"), text.index("imu_pose:")
    (folder / "truth.json").write_bytes((twin.parent / "truth.json").read_bytes())
    path = folder / "handle.yaml"
    path.write_text(text[:start] + "recordings:\n" + "\n".join(parts) + "\n" + text[stop:])
    return path


@pytest.mark.parametrize(
    "units",
    [
        ("lbf", "lbf in", "g", "deg/s", "ms"),
        ("kN", "N mm", "mm/s2", "deg/ms", "us"),
    ],
)
def test_units_of_the_files_do_not_matter(twin: Path, here: Result, tmp_path: Path, units: tuple[str, ...]) -> None:
    there = run_experiment(read_experiment(in_units(twin, tmp_path, *units)))
    # MicroStrain files keep ten digits, so the tables' copies are theirs and only the conversion's rounding is left
    assert np.allclose(here.solution.p, there.solution.p, rtol=1e-7, atol=1e-9)
    for name, e in here.data["parameters"].items():
        other = there.data["parameters"][name]
        assert other["status"] == e["status"]
        assert other["unit"] == e["unit"]
        assert np.allclose(other["ci95"], e["ci95"], rtol=1e-5, atol=1e-7)


def test_the_number_of_threads_does_not_matter(twin: Path, here: Result) -> None:
    code = (
        "import sys, json; from palpate.experiment import read_experiment; "
        "from palpate.experiment.run import fit_prepared, prepare_experiment; e = read_experiment(sys.argv[1]); "
        "print(json.dumps([float(v) for v in fit_prepared(e, prepare_experiment(e)).solution.p]))"
    )
    threads = "2" if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else "1"  # another number than here
    env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "POLARS_MAX_THREADS": threads}
    run = subprocess.run([sys.executable, "-c", code, str(twin)], env=env, capture_output=True, text=True, check=True)
    assert np.allclose(here.solution.p, json.loads(run.stdout), rtol=1e-9, atol=1e-11)


TURNS = {
    "as drawn": (np.eye(3), ""),
    "x and y swapped": (np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]), "f_x follows a_y, f_y follows a_x"),
    "z mirrored": (np.diag([1.0, 1, -1]), "f_z follows -a_z"),
    "a quarter turn": (np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), "f_x follows -a_y, f_y follows a_x"),
    "twelve degrees": (
        np.array([[1, 0, 0], [0, np.cos(0.21), -np.sin(0.21)], [0, np.sin(0.21), np.cos(0.21)]]),
        "turned by 12 deg about (1, 0, 0)",
    ),
}


@pytest.mark.parametrize("seed", [SEED, 22])
def test_axes_of_the_load_cell_against_the_imu_are_named(twin: Path, tmp_path: Path, seed: int) -> None:
    prepared = prepare_experiment(read_experiment(twin if seed == SEED else write_short_handle(tmp_path, seed)))
    inputs, train = prepared.inputs, prepared.segments["train"]
    balance = fit_balance(inputs, move(inputs))
    w = balance.wrench
    for name, (P, told) in TURNS.items():
        turned = np.hstack([w[:, :3] @ P.T, w[:, 3:] @ P.T])
        problems = axis_problems(compress(_with_wrench(balance, turned), train))
        assert (told in problems[0]) if told else problems == ()
        if "mirrored" in name or "swapped" in name:
            assert "left-handed" in problems[0]
    swapped = balance.wrench[:, [0, 1, 2, 4, 3, 5]]
    (problem,) = axis_problems(compress(_with_wrench(balance, swapped), train))
    assert "moments do not match its forces" in problem


def _with_wrench(balance: Balance, wrench: NDArray[np.float64]) -> Balance:
    return replace(balance, wrench=np.asfortranarray(wrench))
