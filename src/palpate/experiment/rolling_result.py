"""A rolling object's solution in the words of result.json and model.json, and what its figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from palpate.experiment.body_schema import BodyPart, HandleWeightPart
from palpate.experiment.body_view import BodyView, Series
from palpate.experiment.instruments import sensor_label
from palpate.experiment.reading import Experiment
from palpate.experiment.result import RESULT_FORMAT, Result, parameter_entry, provenance, read_references
from palpate.experiment.rolling_capture import RollingMeasured
from palpate.experiment.rolling_fit import RollingFit, estimated_zero, zero_effect
from palpate.experiment.rolling_judge import MOTIONS, motion_hints, of_object, why_failed
from palpate.files import finite, sha256
from palpate.identify import cross_validate, weakest_direction
from palpate.identify.balance import Segment
from palpate.identify.damping import damping_curve
from palpate.identify.solution import Status
from palpate.motion.clocks import Offset
from palpate.recording.gates import Finding

AXES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


def build_rolling_result(
    experiment: Experiment[BodyPart],
    measured: RollingMeasured,
    offset: Offset | None,
    fit: RollingFit,
    refused: Mapping[str, str],
    findings: Sequence[Finding],
) -> Result:
    """Put a rolling object's fit into the words of result.json."""
    config, solution = experiment.config, fit.solution
    rms = {name: _rms(fit, measured.segments[name]) for name in ("train", "test")}
    ratio = cross_validate(fit.train, solution) / np.maximum(fit.train.rms(solution.p), 1e-300)
    rms["cross_validated"] = {
        row: {**entry, "value": float(r) * entry["value"]}
        for r, (row, entry) in zip(ratio, rms["train"].items(), strict=True)
    }
    rms = {name: entry for name, entry in rms.items() if entry}
    why = why_failed(solution, refused, rms, findings, len(fit.inputs.sensors))
    stated = config.prior is not None and config.prior.damping != "auto"
    warnings = [
        *(f.message for f in findings if not f.fatal),
        *motion_hints(solution, stated=stated),
        *solution.warnings,
    ]
    data: dict[str, Any] = {
        "palpate_result": RESULT_FORMAT,
        "title": config.title or experiment.source.stem,
        "stage": config.stage,
        "model_of": config.model_of,
        "rows": config.rows,
        "parameters": {e.name: _refusable(parameter_entry(e)) for e in solution.estimates},
        "shapes": {},
        "references": read_references(experiment),
        "rms": rms,
        "rms_of_segments": [
            {"segment": name, "from_s": s[0], "to_s": s[1], "rms": _rms(fit, [s])}
            for name in ("train", "test")
            for s in measured.segments[name]
        ],
        "rms_below_hz": None,
        "kappa": finite(solution.conditioning.kappa),
        "kappa_eff": finite(solution.conditioning.kappa_eff),
        "kappa_eff_paper": finite(solution.conditioning.kappa_eff_paper),
        "damping": solution.damping,
        "damping_implies_std": finite(solution.uncertainty.level / solution.damping) if solution.damping else None,
        "damping_curve": _curve(fit),
        "factor": config.factor,
        "weakest_direction": _weakest(fit),
        "zero": _zero(fit),
        "replay": None,
        "clocks": _clocks(fit, measured, offset),
        "rolling": _rolling(fit, measured),
        "verdict": {"passed": not why, "reasons": why},
        "warnings": list(dict.fromkeys(w for w in warnings if w not in why)),
        "provenance": provenance(experiment, measured.segments)
        | {
            "derivatives": {"window_s": fit.inputs.filtering.window_s, "order": fit.inputs.filtering.order},
            "low_pass_hz": fit.inputs.filtering.bandwidth_hz,
        },
    }
    model = None
    if not refused:
        whole = of_object(solution.model, measured.feet)
        model = whole.with_values(whole.p, **_about(experiment, fit, why))
    handle = next((h for h in measured.handles if h is not None), None)
    return Result(data, model, solution, _view(fit, measured), handle)


def _refusable(entry: dict[str, Any]) -> dict[str, Any]:
    """What is not known has no number."""
    return entry if entry["status"] != Status.NOT_IDENTIFIABLE.value else entry | {"value": None, "ci95": None}


def _rms(fit: RollingFit, segments: Sequence[Segment]) -> dict[str, dict[str, Any]]:
    """RMS error of each row against the wrench at the motion's rate, not smoothed further."""
    error = fit.residuals(segments)
    if len(error) == 0:
        return {}
    values, spans = np.sqrt(np.mean(error**2, axis=0)), np.ptp(fit.reference(segments), axis=0)
    noise = _noise(fit)
    return {
        row.name: {
            "value": float(v),
            "unit": row.unit,
            "percent_of_range": float(100 * v / s) if s > 0 else None,
            "noise": float(n),
        }
        for row, v, s, n in zip(fit.inputs.model.mechanism.rows, values, spans, noise, strict=True)
    }


def _noise(fit: RollingFit) -> list[float]:
    """Standard deviation of the measured rows while nobody touches the object; 0 where that was not recorded."""
    rows, static = fit.inputs.model.mechanism.rows, fit.inputs.static
    if static is None:
        return [0.0] * len(rows)
    from palpate.experiment.rolling_inputs import projected

    at = slice(*fit.balance.indices(static))
    return [finite(float(v)) or 0.0 for v in np.nanstd(projected(fit.balance)[at], axis=0)]


def _curve(fit: RollingFit) -> list[dict[str, float | None]]:
    if not fit.solution.problem.penalty.damped.any():
        return []
    points = damping_curve(fit.solution.problem, fit.solution.theta)
    return [{**asdict(point), "kappa_eff": finite(point.kappa_eff)} for point in points]


def _weakest(fit: RollingFit) -> dict[str, Any] | None:
    """The direction held least, with the motion of a wheelbarrow that would help."""
    found = weakest_direction(fit.solution)
    if found is None:
        return None
    sizes = {e.name: abs(e.value) for e in fit.solution.estimates}
    worst = max(found.changes, key=lambda n: abs(found.changes[n]) / max(sizes.get(n, 1.0), 1e-3))
    text = found.text.partition("; to know it better, ")[0] + f"; to know it better, {MOTIONS[worst]}"
    return asdict(replace(found, text=text))


def _zero(fit: RollingFit) -> dict[str, Any]:
    """Zeros of the load cells, and what another way to know them would change."""
    found: dict[str, Any] = {"from": fit.inputs.zero, "unit": "N, N m"}
    if fit.inputs.zero == "still":
        names = [f"sensor_{i + 1}" for i in range(len(fit.inputs.sensors))]
        zeros = zip(names, fit.inputs.zeros().tolist(), strict=True)
        found["sensors"] = {n: dict(zip(AXES, v, strict=True)) for n, v in zeros}
    if fit.inputs.zero == "estimated":
        found["in_body_frame"] = estimated_zero(fit)
        found["note"] = "constant wrenches of several sensors on one body are one constant wrench in its frame"
    if fit.inputs.at_contact is not None:
        found["at_contact"] = dict(zip(AXES, fit.inputs.at_contact.tolist(), strict=True))
    found["change_if_known_otherwise"] = {n: finite(v) for n, v in zero_effect(fit).items()}
    return found


def _clocks(fit: RollingFit, measured: RollingMeasured, offset: Offset | None) -> dict[str, Any]:
    """Reference time minus each device's."""
    found: dict[str, Any] = {}
    imu = measured.captured.devices.get("imu")
    known = [("wrench", fit.inputs.clock, offset)] + ([] if imu is None else [("imu", imu.clock, imu.offset)])
    for name, clock, evidence in known:
        if clock is None:
            continue
        found[name] = {
            "reference_minus_device_s": clock.offset_s,
            "std_s": clock.offset_std_s,
            "at_s": clock.at_s,
            "drift_ppm": clock.drift_ppm if clock.drift_observed else None,
            "estimated": evidence is not None,
        }
    return found


def _rolling(fit: RollingFit, measured: RollingMeasured) -> dict[str, Any]:
    """What is told about ground, wheel and samples left out."""
    inputs, used = fit.inputs, fit.balance.used
    assert used is not None
    inside = np.zeros(len(used), dtype=bool)
    for s in fit.segments:
        inside[slice(*fit.balance.indices(s))] = True
    return {
        "radius_m": inputs.rolling.radius,
        "vertical": {"text": measured.vertical.told, "std_rad": measured.vertical.std_rad},
        "feet_m": [list(point) for point in measured.feet],
        "train_share_wheel_at_rest": float(np.mean(inputs.resting()[inside & used])) if (inside & used).any() else None,
        "train_share_foot_down": float(np.mean(inputs.grounded[inside])),
        "sigma": {
            r.name: float(s) for r, s in zip(inputs.model.mechanism.rows, inputs.sigma, strict=True) if np.isfinite(s)
        },
        "windows_s": [[n / inputs.rate_hz for n in own] for own in fit.seen.windows.values()],
        "sensors_m": [s.T_body_sensor[:3, 3].tolist() for s in inputs.sensors],
    }


def _about(experiment: Experiment[BodyPart], fit: RollingFit, why: Sequence[str]) -> dict[str, str]:
    config = experiment.config
    meaning = {
        "body": "body (pre-sensor part): drive it with the sensors' wrenches minus their zeros",
        "whole": "whole (body and handles): drive it with the person's wrench, the handles' compensated",
        "weight-only": "body with the handles' weight compensated, as the paper's authors: for reproduction",
    }
    zeroing = {"still": "mean while nobody touched the handles", "estimated": "estimated along", "none": "as recorded"}
    about = {
        "model_of": meaning[config.model_of],
        "frame": "origin in the middle of the axle, z left along it, y towards the handles; inertias are matrix "
        "entries about that origin",
        "verdict": "passed" if not why else f"failed: {'; '.join(why)}",
        "zeroing": zeroing[fit.inputs.zero],
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    recordings = config.recordings
    parts = [p for p in (recordings.wrench, recordings.wrench_2) if p is not None]
    about["sensor"] = ", ".join(sensor_label(config.sensor, p.device) for p in parts)
    if isinstance(config.handle, HandleWeightPart):
        about["handle"] = f"{config.handle.mass:g} kg at {config.handle.com} m, weight only"
    elif config.handle is not None:
        path = experiment.source.parent / config.handle
        about["handle"] = f"{config.handle}" + (f", sha256 {sha256(path)[:16]}" if path.is_file() else "")
    return about


def _view(fit: RollingFit, measured: RollingMeasured) -> BodyView:
    rows, poses = fit.seen.rows, fit.inputs.poses
    k = fit.balance.kinematics
    nothing = np.full(len(poses), np.nan)
    angles = {n: np.asarray(k.coordinates[n].position) for n in ("pitch", "camber", "heading") if n in k.coordinates}
    series = [
        Series("contact x", "m", poses.position[:, 0] - np.nanmean(poses.position[:, 0])),
        Series("contact y", "m", poses.position[:, 1] - np.nanmean(poses.position[:, 1])),
        *(Series("yaw" if n == "heading" else n, "rad", v) for n, v in angles.items()),
    ]
    return BodyView(
        model=fit.solution.model,
        times_s=fit.inputs.times_s,
        position=nothing,
        speed=nothing,
        reference=rows[:, :, -1],
        estimate=np.where(fit.used[:, None], rows[:, :, :-1] @ fit.solution.p, np.nan),
        used=fit.used,
        resting=fit.inputs.resting(),
        segments=measured.segments,
        series=tuple(series),
    )
