"""Simulated experiments in which everything is off that intervals allow for, by as much as they say.

A twin's own files state all of its geometry exactly. Intervals that also hold a tape measure's 2 mm, a curve between
the knots of a table or a tilted capture frame are then too wide by construction. Here each of these is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from palpate.elements import Table
from palpate.errors import PalpateError
from palpate.experiment.stage.base import MARKED_STD
from palpate.experiment.stage.ground import CAPTURE_RAD
from palpate.experiment.stage.inputs import TAPE_MEASURE_M
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import (
    Coordinate,
    Kinematics,
    exp_rotation,
    quaternion_from_rotation,
    rotation_from_quaternion,
)
from palpate.twin.carried import NOISE_M, bodies, random_model, write_carried_twin
from palpate.twin.guided import SESSION, guided_twin, makes, write_guided_twin
from palpate.twin.instruments import write_table
from palpate.twin.person import Session

SCALE, FIXED, MASS = 0.003, 0.01, 0.003
"""Of the load cell, of values that are held, of a mass that is known: shares, one standard deviation each."""
PLACE_M, TURN_DEG = 0.001, 0.2
"""Of the load cell on a body."""
TILT_DEG = 0.3
"""Of the capture frame, where nothing is believed of it otherwise."""
FINER = 8
"""Straight lines for one of a table, to draw a curve."""


def write_doubted_twin(folder: Path, name: str, seed: int, session: Session = SESSION) -> Path:
    """A twin's tables, truth and experiment file, with all that may be off drawn from what the intervals believe."""
    rng = np.random.default_rng([seed, 60])
    if name in makes():
        twin = guided_twin(name, seed, session)
        path = write_guided_twin(folder, name, seed, session, moving=_bent(twin.model, rng))
        model, travel, told = twin.model, twin.make.travel, ["log.csv"]
    else:
        path, model, travel = write_carried_twin(folder, name, seed), random_model(name, seed), (0.0, 0.0)
        told = [f for f in ("log.csv", "wrench.csv") if (folder / f).exists()]
    yaml = YAML()
    data: dict[str, Any] = yaml.load(path.read_text())
    uncertain: dict[str, Any] = {"load_cell_scale": SCALE}
    _scaled(folder / told[0], 1 + SCALE * rng.normal())
    held = {n: v * (1 + FIXED * rng.normal()) for n, v in data.get("fixed", {}).items() if v}
    if held:
        data["fixed"].update(held)
        uncertain["fixed"] = FIXED
    if name in bodies() and bodies()[name].known_mass:
        mass = model.values["m"]
        data["known_mass"]["value"] = f"{mass * (1 + MASS * rng.normal()):.6g} kg"
        uncertain["mass"] = f"{MASS * mass:.6g} kg"
    mounted = _mounted(data)
    if mounted is not None:
        turn = exp_rotation(np.radians(TURN_DEG) * rng.normal(size=3))
        mounted["rotation"] = (np.array(mounted["rotation"]) @ turn).tolist()
        mounted["translation"] = (np.array(mounted["translation"]) + PLACE_M * rng.normal(size=3)).tolist()
        uncertain |= {"sensor_position": f"{PLACE_M} m", "sensor_rotation": f"{TURN_DEG} deg"}
        free = not model.mechanism.pivot
        uncertain |= {} if free else {"tilt": f"{TILT_DEG} deg"}
        _seen_otherwise(folder, rng, float(CAPTURE_RAD if free else np.radians(TILT_DEG)))
    if model.mechanism.sizes:
        stated = replace(model, mechanism=_measured(model, travel, rng), values={})
        described = {key: value for key, value in stated.to_dict().items() if key != "palpate_model"}
        (folder / "stated.yaml").write_text(json.dumps(described))
        data["object"] = "stated.yaml"
    data["uncertain"] = uncertain
    with path.open("w") as file:
        yaml.dump(data, file)
    return path


def _mounted(data: dict[str, Any]) -> dict[str, Any] | None:
    """Where the experiment file says that the load cell sits."""
    if "poses" in data:
        return data["poses"]["sensor"]
    return data["markers"]["sensor"]["offset"] if "markers" in data else None


def _measured(model: Model, travel: Sequence[float], rng: np.random.Generator) -> Any:
    """The mechanism as a tape measure has it; what could not be assembled nobody would have written down."""
    mechanism = model.mechanism
    while True:
        off = {n: by * rng.normal() for n, by in mechanism.off_by(TAPE_MEASURE_M).items()}
        try:
            other = mechanism.with_sizes({n: size + off[n] for n, (size, _) in mechanism.sizes.items()})
            other.check_reach(np.linspace(*travel, 50))
        except PalpateError:
            continue
        return other


def _bent(model: Model, rng: np.random.Generator) -> Model:
    """Tables that are curves: anything from straight lines to more bent than a spline, as far as `Element.between` says
    in the root of the mean square.
    """
    elements, values, p, bent = [], [], list(model.p), rng.uniform(0, 3**0.5)
    for e in model.elements:
        mine, p = p[: len(e.parameters)], p[len(e.parameters) :]
        if isinstance(e, Table):
            knots = np.interp(np.arange(FINER * (len(e.knots) - 1) + 1) / FINER, range(len(e.knots)), e.knots)
            k = Kinematics(*[(0.0, 0.0, 0.0)] * 3, coordinates={e.acts_on: Coordinate(knots, 0.0, 0.0)})
            more = e.between(k, mine)
            mine = (np.interp(knots, e.knots, mine) + bent * more).tolist()
            e = replace(e, knots=tuple(knots.tolist()))
        elements.append(e)
        values += mine
    return replace(model, elements=tuple(elements), values={}).with_values(values)


def _table(path: Path) -> tuple[list[str], FloatArray]:
    with path.open() as file:
        heads = file.readline().strip().split(",")
        return heads, np.loadtxt(file, delimiter=",")


def _scaled(path: Path, by: float) -> None:
    """Every force and torque of a table larger."""
    heads, x = _table(path)
    write_table(path, heads, x * np.where(["[N" in head for head in heads], by, 1.0))


def _seen_otherwise(folder: Path, rng: np.random.Generator, tilt_rad: float) -> None:
    """A capture frame that is not level, a tracker that errs as its body turns as much as it scatters, and markers that
    are not quite on an axle.
    """
    tilt = exp_rotation(np.append(tilt_rad * rng.normal(size=2), 0.0))
    path = folder / "poses.csv"
    if path.exists():
        heads, x = _table(path)
        turn = rotation_from_quaternion(x[:, 4:])
        about = np.stack([turn[:, j, i] - turn[:, i, j] for i, j in ((1, 2), (2, 0), (0, 1))], axis=1)
        slow = (about - about.mean(axis=0)) @ rng.normal(size=(3, 3))
        x[:, 1:4] = (x[:, 1:4] + NOISE_M * slow / slow.std(axis=0)) @ tilt.T
        x[:, 4:] = quaternion_from_rotation(tilt @ turn)
    else:
        path = folder / "markers.csv"
        heads, x = _table(path)
        points = x[:, 1:].reshape(len(x), -1, 3)
        ahead = points[:, 3] - points[:, 2]
        ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
        points[:, :2] += MARKED_STD[1] * rng.normal(size=(1, 2, 1)) * ahead[:, None]
        x[:, 1:] = (points @ tilt.T).reshape(len(x), -1)
    write_table(path, heads, x)
