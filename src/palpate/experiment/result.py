"""The result of an identification: result.json and model.json, documented and versioned."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import FileProblem
from palpate.experiment.gates import expected_noise, reasons, remarks, zero_change, zero_drift
from palpate.experiment.reading import Experiment
from palpate.experiment.schema import ExperimentPart
from palpate.files import finite, read_bytes, sha256, write_text
from palpate.identify import Compressed, Solution, cross_validate, weakest_direction
from palpate.identify.damping import damping_curve
from palpate.model import Model
from palpate.physics.arrays import FloatArray

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
    experiment: Experiment[ExperimentPart], prepared: Prepared, solution: Solution, train: Compressed, test: Compressed
) -> Result:
    """Put a solution into the words of result.json."""
    noise = expected_noise(prepared.inputs)
    rms = {name: _rms(part, part.rms(solution.p), noise) for name, part in (("train", train), ("test", test))}
    rms["cross_validated"] = _rms(train, cross_validate(train, solution), noise)
    why = reasons(solution, rms, prepared.findings, train)
    weakness = weakest_direction(solution)
    told = [f.message for f in prepared.findings if not f.fatal]
    warnings = [
        *told,
        *remarks(rms),
        *zero_drift(train, solution),
        *zero_change(prepared.balance, solution),
        *solution.warnings,
    ]
    data: dict[str, Any] = {
        "palpate_result": RESULT_FORMAT,
        "title": experiment.config.title or experiment.source.stem,
        "stage": experiment.config.stage,
        "parameters": {e.name: _parameter(e) for e in solution.estimates},
        "references": read_references(experiment),
        "rms": rms,
        "rms_below_hz": getattr(experiment.config.filtering, "bandwidth", None),
        "kappa": finite(solution.conditioning.kappa),
        "kappa_eff": finite(solution.conditioning.kappa_eff),
        "kappa_eff_paper": finite(solution.conditioning.kappa_eff_paper),
        "damping": solution.damping,
        "damping_implies_std": finite(solution.uncertainty.level / solution.damping) if solution.damping else None,
        "damping_curve": _curve(solution),
        "factor": experiment.config.factor,
        "weakest_direction": None if weakness is None else asdict(weakness),
        "excitation": _excitation(prepared),
        "clocks": _clocks(prepared),
        "verdict": {"passed": not why, "reasons": why},
        "warnings": [w for w in warnings if w not in why],
        "provenance": _provenance(experiment, prepared),
    }
    about = {
        "model_of": "handle (post-sensor part)",
        "frame": "sensor frame of the load cell; inertias are matrix entries about its origin",
        "zeroing": "sensor zeroed without the handle; the remaining bias was estimated and is not part of this model",
        "verdict": "passed" if not why else f"failed: {'; '.join(why)}",
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    model = solution.model.of_object()
    return Result(data, model.with_values(model.p, **about), solution)


def read_references(experiment: Experiment[ExperimentPart]) -> dict[str, dict[str, float]]:
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
        "systematic": e.systematic,
        "attenuation": e.attenuation,
        "prior": e.prior,
        "information_from_data": e.information_from_data,
        "status": e.status.value,
    }


def _rms(part: Compressed, values: FloatArray, noise: list[float]) -> dict[str, dict[str, Any]]:
    return {
        row.name: {
            "value": float(v),
            "unit": row.unit,
            "percent_of_range": float(100 * v / r) if r > 0 else None,
            "noise": n,
        }
        for row, v, r, n in zip(part.model.mechanism.rows, values, part.range(), noise, strict=True)
    }


def _curve(solution: Solution) -> list[dict[str, float | None]]:
    """The whole curve over lambda, where there is a prior."""
    if not solution.problem.penalty.damped.any():
        return []
    points = damping_curve(solution.problem, solution.theta)
    return [{**asdict(point), "kappa_eff": finite(point.kappa_eff)} for point in points]


def _excitation(prepared: Prepared) -> dict[str, dict[str, float]]:
    """RMS of specific force, angular rate and angular acceleration along each sensor axis in the train segments."""
    balance, k = prepared.balance, prepared.balance.kinematics
    spans = [balance.indices(segment) for segment in prepared.train]
    kinds = {"acceleration": k.specific_acceleration, "angular_rate": k.omega, "angular_acceleration": k.omega_dot}
    found: dict[str, dict[str, float]] = {}
    for kind, signals in kinds.items():
        parts = [np.concatenate([signal[a:b] for a, b in spans]) for signal in signals]
        found[kind] = {axis: float(np.sqrt(np.mean(x**2))) for axis, x in zip("xyz", parts, strict=True)}
    return found


def _clocks(prepared: Prepared) -> dict[str, Any]:
    clock: dict[str, Any] = {"load_cell_minus_imu_s": prepared.offset_s, "estimated": prepared.offset is not None}
    if prepared.offset is not None:
        o = prepared.offset
        clock |= {"std_s": o.std_s, "explained": o.explained}
        clock |= {"drift_ppm": finite(o.drift_ppm), "drift_std_ppm": finite(o.drift_std_ppm)}
    return clock


def _provenance(experiment: Experiment[ExperimentPart], prepared: Prepared) -> dict[str, Any]:
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
