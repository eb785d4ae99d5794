"""A simulated copy of the repository of the paper's authors: its folders, file names, start samples and segments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment import read_experiment
from palpate.experiment.reproduce import TRUTH_FILE
from palpate.experiment.reproduce_choices import HANDLES
from palpate.experiment.reproduce_files import recordings_in
from palpate.experiment.reproduce_paper import PAPER
from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, is_consistent, nearest_consistent
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.door import door_recordings, paper_door_twin, simulate_door
from palpate.twin.hand import random_hand
from palpate.twin.handle import HandleTwin, handle_recordings, random_handle
from palpate.twin.instruments import IMU_PLACE, R_SENSOR_IMU, RATE_HZ
from palpate.twin.wheelbarrow import write_paper_recordings

_SECONDS, _G = 125.0, 9.81


def write_authors_twin(folder: Path, *, seed: int | None = None) -> Path:
    """door/, handles/ and wheelbarrow/ as in nate-baum/large-objects-sys-id, for `palpate reproduce`; returns `folder`.

    Without a seed the truth is the paper's Table, made realisable where rounding broke it; with one it is random. The
    truth is in palpate-truth.json, which no real copy has.
    """
    truth: dict[str, Any] = {}
    for number, name in enumerate(HANDLES):  # each moved in its own way
        truth[name] = _handle(folder, name, seed, number)
    phi = {name: np.array([found["phi"][n] for n in PHI_NAMES]) for name, found in truth.items()}
    truth["door"] = _door(folder, phi["door-handle"], seed)
    write_paper_recordings(folder, phi["wheelbarrow-handle"], seed=seed)
    beside = folder / "wheelbarrow-truth.json"
    truth["wheelbarrow"] = json.loads(beside.read_text(encoding="utf-8"))
    beside.unlink()
    write_text(folder / TRUTH_FILE, json.dumps({"palpate_truth": 1, "experiments": truth}, indent=1) + "\n")
    for name in truth:
        read_experiment(name, data=folder)
    return folder


def _handle(folder: Path, name: str, seed: int | None, number: int) -> dict[str, Any]:
    own = 2 * (seed or 0) + number
    rng, first, files = np.random.default_rng([own, 2]), HANDLES[name].window.first, recordings_in(name)
    twin = HandleTwin(
        phi=_table_phi(name) if seed is None else random_handle(rng),
        hand=random_hand(rng, _SECONDS, _G),
        duration_s=_SECONDS,
        load_cell_minus_imu_s=(first["wrench"] - first["imu"]) / RATE_HZ,
        R_sensor_imu=R_SENSOR_IMU,
        r_sensor_imu=IMU_PLACE,
        g=_G,
        seed=own,
    )
    load_cell, imu, truth = handle_recordings(twin)
    write_dspace(folder / files["wrench"]["file"], load_cell)
    write_microstrain(folder / files["imu"]["file"], imu, g=twin.g)
    return truth


def _table_phi(name: str) -> FloatArray:
    """(10,): the Table's row, the nearest possible body where its rounded numbers are none."""
    row = {n: printed.value for n, printed in PAPER[name].parameters.items()}
    com = np.array([row["c_x"], row["c_y"], row["c_z"]])
    phi = np.array([row["m"], *(row["m"] * com), *(row[n] for n in PHI_NAMES[4:])])
    return phi if is_consistent(phi) else nearest_consistent(phi)


def _door(folder: Path, phi: FloatArray, seed: int | None) -> dict[str, Any]:
    twin, files = paper_door_twin(phi, seed=seed), recordings_in("door")
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin, dt=1e-3))
    write_vicon(folder / files["mocap"]["file"], markers)
    write_vicon(folder / files["static"]["file"], static)
    write_dspace(folder / files["wrench"]["file"], cell)
    write_microstrain(folder / files["imu"]["file"], imu, g=twin.gravity)
    return truth
