"""Parts of result.json and model.json that the results of all bodies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import HandleWeightPart
from palpate.experiment.result import RESULT_FORMAT, parameter_entry, provenance, read_references
from palpate.files import finite, sha256
from palpate.identify import Solution
from palpate.identify.balance import Segment
from palpate.identify.solution import Status, damping_curve
from palpate.mechanisms.mechanism import Row
from palpate.motion.clocks.clock import ClockMap
from palpate.physics.arrays import FloatArray

DRIVEN_BY = {
    "body": "body (pre-sensor part): drive it with the wrench of each sensor minus its zero",
    "whole": "whole (body and handle): drive it with the person's wrench, that of the handle compensated",
    "weight-only": "weight-only (of the handle only its weight compensated, as the paper's authors): for reproduction",
}


def heading(experiment: Experiment[Any], solution: Solution) -> dict[str, Any]:
    """What every body's result begins with: what it is of, its parameters and their conditioning."""
    config, conditioning = experiment.config, solution.conditioning
    return {
        "palpate_result": RESULT_FORMAT,
        "title": config.title or experiment.source.stem,
        "stage": config.stage,
        "model_of": config.model_of,
        "parameters": {e.name: _refusable(parameter_entry(e)) for e in solution.estimates},
        "references": read_references(experiment),
        "kappa": finite(conditioning.kappa),
        "kappa_eff": finite(conditioning.kappa_eff),
        "kappa_eff_paper": finite(conditioning.kappa_eff_paper),
        "damping": solution.damping,
    }


def ending(
    experiment: Experiment[Any],
    why: Sequence[str],
    warnings: Sequence[str],
    segments: Mapping[str, Sequence[Segment]],
    filtering: Any,
) -> dict[str, Any]:
    """What every body's result ends with: the verdict, what to look at, and where it comes from."""
    return {
        "verdict": {"passed": not why, "reasons": list(why)},
        "warnings": list(dict.fromkeys(w for w in warnings if w not in why)),
        "provenance": provenance(experiment, segments)
        | {
            "derivatives": {"window_s": filtering.window_s, "order": filtering.order},
            "low_pass_hz": filtering.bandwidth_hz,
        },
    }


def _refusable(entry: dict[str, Any]) -> dict[str, Any]:
    """What is not known has no number."""
    return entry if entry["status"] != Status.NOT_IDENTIFIABLE.value else entry | {"value": None, "ci95": None}


def rms_of_rows(
    rows: Sequence[Row], error: FloatArray, reference: FloatArray, noise: Sequence[float | None]
) -> dict[str, dict[str, Any]]:
    """RMS of errors (samples, rows) beside the range of what was measured (samples, rows); none without samples."""
    if len(error) == 0:
        return {}
    values, spans = np.sqrt(np.mean(error**2, axis=0)).tolist(), np.ptp(reference, axis=0).tolist()
    return {
        row.name: {"value": v, "unit": row.unit, "percent_of_range": 100 * v / s if s > 0 else None, "noise": n}
        for row, v, s, n in zip(rows, values, spans, noise, strict=True)
    }


def with_cross_validated(
    rms: Mapping[str, dict[str, dict[str, Any]]], unseen: FloatArray, seen: FloatArray
) -> dict[str, dict[str, dict[str, Any]]]:
    """The sets that have samples, and the train set as it comes out when each part is left out of the fit.

    unseen, seen (rows,): RMS of the low-passed rows with and without leaving out.
    """
    ratios = (unseen / np.maximum(seen, 1e-300)).tolist()
    pairs = zip(ratios, rms["train"].items(), strict=False)
    found = {row: {**entry, "value": ratio * entry["value"]} for ratio, (row, entry) in pairs}
    return {name: entry for name, entry in {**rms, "cross_validated": found}.items() if entry}


def clock_entry(clock: ClockMap, *, estimated: bool) -> dict[str, Any]:
    """Reference time minus a device's."""
    return {
        "reference_minus_device_s": clock.offset_s,
        "std_s": clock.offset_std_s,
        "at_s": clock.at_s,
        "drift_ppm": clock.drift_ppm if clock.drift_observed else None,
        "estimated": estimated,
    }


def curve_of(solution: Solution) -> list[dict[str, float | None]]:
    """What lambda does over its whole range; nothing where nothing is damped."""
    if not solution.problem.penalty.damped.any():
        return []
    points = damping_curve(solution.problem, solution.theta)
    return [{**asdict(point), "kappa_eff": finite(point.kappa_eff)} for point in points]


def about_body(experiment: Experiment[Any], frame: str, why: Sequence[str]) -> dict[str, str]:
    """What people must know of a body's model."""
    config = experiment.config
    about = {
        "model_of": DRIVEN_BY[config.model_of],
        "frame": frame,
        "verdict": "passed" if not why else f"failed: {'; '.join(why)}",
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    for key, part in (("handle", config.handle), ("handle_2", config.handle_2)):
        if isinstance(part, HandleWeightPart):
            about[key] = f"{part.mass:g} kg at {part.com} m, weight only"
        elif part is not None:
            path = experiment.source.parent / part
            about[key] = f"{part}" + (f", sha256 {sha256(path)[:16]}" if path.is_file() else "")
    return about
