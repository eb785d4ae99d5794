"""A handle's solution in the words of result.json and model.json."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import sensor_label
from palpate.experiment.gates import expected_noise, reasons, remarks, zero_change, zero_drift
from palpate.experiment.handle_view import handle_view
from palpate.experiment.result import (
    RESULT_FORMAT,
    Result,
    parameter_entry,
    provenance,
    read_references,
    rms_entry,
)
from palpate.files import finite
from palpate.identify import Compressed, Solution, cross_validate, weakest_direction
from palpate.identify.solution import damping_curve

if TYPE_CHECKING:
    from palpate.experiment.handle import Prepared


def build_result(
    experiment: Experiment[Any], prepared: Prepared, solution: Solution, train: Compressed, test: Compressed
) -> Result:
    """Put a solution into the words of result.json."""
    noise = expected_noise(prepared.inputs)
    rms = {name: rms_entry(part, part.rms(solution.p), noise) for name, part in (("train", train), ("test", test))}
    rms["cross_validated"] = rms_entry(train, cross_validate(train, solution), noise)
    why = reasons(solution, rms, prepared.findings, train)
    weakness = weakest_direction(solution)
    told = [f.sentence for f in prepared.findings if not f.fatal]
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
        "parameters": {e.name: parameter_entry(e) for e in solution.estimates},
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
        "provenance": provenance(experiment, {"train": prepared.train, "test": prepared.test}),
    }
    about = {
        "model_of": "handle (post-sensor part)",
        "frame": "sensor frame of the load cell; inertias are matrix entries about its origin",
        "zeroing": "sensor zeroed without the handle; the remaining bias was estimated and is not part of this model",
        "sensor": sensor_label(experiment.config.sensor, experiment.config.recordings.wrench.device),
        "verdict": "passed" if not why else f"failed: {'; '.join(why)}",
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    model = solution.model.of_object()
    view = handle_view(experiment.config, prepared, solution)
    return Result(data, model.with_values(model.p, **about), solution, view)


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
