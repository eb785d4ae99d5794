"""The result of an identification: result.json and model.json, documented and versioned."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import FileProblem
from palpate.experiment.reading import Experiment
from palpate.files import read_bytes, sha256, write_text
from palpate.identify import Compressed, Solution
from palpate.identify.conditioning import KAPPA_LIMIT
from palpate.identify.search import Ending
from palpate.model import Model

if TYPE_CHECKING:
    from palpate.experiment.handle import Prepared

RESULT_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Everything an identification found, as plain data (`data`, the content of result.json), and the model."""

    data: Mapping[str, Any]
    model: Model
    solution: Solution

    @property
    def passed(self) -> bool:
        """Whether every quality gate was passed."""
        return bool(self.data["verdict"]["passed"])

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write result.json and model.json, each atomically; returns their paths."""
        result, model = Path(folder) / "result.json", Path(folder) / "model.json"
        self.model.save(model)
        write_text(result, json.dumps(self.data, indent=1, allow_nan=False) + "\n")
        return result, model


def build_result(
    experiment: Experiment, prepared: Prepared, solution: Solution, train: Compressed, test: Compressed
) -> Result:
    """Put a solution into the words of result.json."""
    rms = {name: _rms(part, solution) for name, part in (("train", train), ("test", test))}
    reasons = _reasons(solution, rms)
    clock: dict[str, Any] = {"load_cell_minus_imu_s": prepared.offset_s, "estimated": prepared.offset is not None}
    if prepared.offset is not None:
        clock |= {"std_s": prepared.offset.std_s, "explained": prepared.offset.explained}
    data: dict[str, Any] = {
        "palpate_result": RESULT_FORMAT,
        "title": experiment.config.title or experiment.source.stem,
        "stage": experiment.config.stage,
        "parameters": {e.name: _parameter(e) for e in solution.estimates},
        "references": read_references(experiment),
        "rms": rms,
        "kappa": _finite(solution.conditioning.kappa),
        "kappa_eff": _finite(solution.conditioning.kappa_eff),
        "kappa_eff_paper": _finite(solution.conditioning.kappa_eff_paper),
        "damping": solution.damping,
        "factor": experiment.config.factor,
        "clocks": clock,
        "verdict": {"passed": not reasons, "reasons": reasons},
        "warnings": [*prepared.warnings, *solution.warnings],
        "provenance": _provenance(experiment, prepared),
    }
    about = {
        "model_of": "handle (post-sensor part)",
        "frame": "sensor frame of the load cell; inertias are matrix entries about its origin",
        "zeroing": "sensor zeroed without the handle; the remaining bias was estimated and is not part of this model",
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    model = solution.model.of_object()
    return Result(data, model.with_values(model.p, **about), solution)


def read_references(experiment: Experiment) -> dict[str, dict[str, float]]:
    """The reference values of an experiment file, by label."""
    found: dict[str, dict[str, float]] = {}
    for part in experiment.config.reference:
        if part.values is not None:
            found[part.label] = dict(part.values)
            continue
        path = experiment.source.parent / str(part.file)
        try:
            found[part.label] = {
                name: float(v["value"]) for name, v in json.loads(read_bytes(path))["parameters"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileProblem(
                path, f"holds no parameters with values ({error!r})", remedy="give a truth.json or result.json"
            ) from error
    return found


def _parameter(e: Any) -> dict[str, Any]:
    return {
        "value": e.value,
        "unit": e.unit,
        "ci95": None if e.ci95 is None else list(e.ci95),
        "noise": e.noise,
        "pull": e.pull,
        "attenuation": e.attenuation,
        "prior": e.prior,
        "information_from_data": e.information_from_data,
        "status": e.status.value,
    }


def _rms(part: Compressed, solution: Solution) -> dict[str, dict[str, Any]]:
    values, ranges = part.rms(solution.p), part.range()
    return {
        row.name: {"value": float(v), "unit": row.unit, "percent_of_range": float(100 * v / r) if r > 0 else None}
        for row, v, r in zip(part.model.mechanism.rows, values, ranges, strict=True)
    }


def _reasons(solution: Solution, rms: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Why the result should not be trusted as it is."""
    reasons = list(solution.impossible)
    if solution.ending is not Ending.CONVERGED:
        reasons.append(solution.ending.value)
    if solution.conditioning.kappa_eff >= KAPPA_LIMIT:
        reasons.append(f"kappa_eff = {solution.conditioning.kappa_eff:.0f}, must be below {KAPPA_LIMIT:.0f}")
    for row, test in rms["test"].items():
        train = rms["train"][row]["value"]
        if test["value"] > 2 * train:
            reasons.append(
                f"{row}: the test error {test['value']:.3g} {test['unit']} is more than twice the train error "
                f"{train:.3g}; the fit does not carry over"
            )
    return reasons


def _provenance(experiment: Experiment, prepared: Prepared) -> dict[str, Any]:
    config = experiment.config
    files = [config.recordings.wrench.file, config.recordings.imu.file]
    return {
        "palpate": version("palpate"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "experiment": {"file": experiment.source.name, "sha256": sha256(experiment.source)},
        "recordings": [{"file": f, "sha256": sha256(experiment.path(f))} for f in files],
        "segments": {"train": [list(s) for s in prepared.train], "test": [list(s) for s in prepared.test], "unit": "s"},
        "filtering": config.filtering.model_dump(),
    }


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None
