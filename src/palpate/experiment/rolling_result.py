"""A rolling object's solution in the words of result.json and model.json, and what its figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import HandleWeightPart, sensor_label
from palpate.experiment.handle_inputs import sensor_of
from palpate.experiment.result import Result
from palpate.experiment.result_parts import (
    about_body,
    clock_entry,
    curve_of,
    ending,
    heading,
    rms_of_rows,
    with_cross_validated,
)
from palpate.experiment.rolling_capture import RollingMeasured
from palpate.experiment.rolling_feet import with_feet
from palpate.experiment.rolling_fit import RollingFit, damping_changes
from palpate.experiment.rolling_inputs import projected
from palpate.experiment.rolling_judge import damping_doubts, motion_for, motion_hints, why_failed
from palpate.experiment.rolling_load import resistance
from palpate.experiment.rolling_replay import replay_entry, replay_windows
from palpate.experiment.rolling_zero import zero_entry
from palpate.experiment.view import CoordinateSeries, View
from palpate.experiment.view_parts import excitation_of, with_capture
from palpate.files import finite
from palpate.findings import Finding
from palpate.identify import cross_validate, weakest_direction
from palpate.identify.balance import Segment
from palpate.motion.clocks.offset import Offset
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES
from palpate.runtime.replay import Replay

FRAME = (
    "origin in the middle of the axle, z left along it, y towards the handles; inertias are matrix entries about that "
    "origin"
)
SENSORS = ("sensor", "sensor_2")
SHAKE = "turn and shake the object about every axis"
ZEROING = {"still": "mean while nobody touched the handles", "estimated": "estimated along", "none": "as recorded"}


def build_rolling_result(
    experiment: Experiment[Any],
    measured: RollingMeasured,
    offset: Offset | None,
    fit: RollingFit,
    refused: Mapping[str, str],
    findings: Sequence[Finding],
    played: Replay | None = None,
) -> Result:
    """Put a rolling object's fit into the words of result.json; played: the test segments, where it was."""
    config, solution, noise = experiment.config, fit.solution, _noise(fit)
    rms = {name: _rms(fit, measured.segments[name], noise) for name in ("train", "test")}
    rms = with_cross_validated(rms, cross_validate(fit.train, solution), fit.train.rms(solution.p))
    why = why_failed(solution, refused, rms, findings, len(fit.inputs.sensors))
    changes = damping_changes(fit)
    warnings = [
        *(f.sentence for f in findings if not f.fatal),
        *motion_hints(fit),
        *damping_doubts(solution, changes),
        # what shakes a handle is no advice for what rolls: the weakest direction has its own
        *(w.replace(SHAKE, "see the weakest direction") for w in solution.warnings if not _of_hidden(fit, w)),
    ]
    model, assumed = None, dict[str, float]()
    if not refused:
        model, assumed = with_feet(solution.model.of_object(), measured.feet)
        model = model.with_values(model.p, **_about(experiment, fit, why, assumed))
    data: dict[str, Any] = {
        **heading(experiment, solution),
        "rows": config.rows,
        "shapes": {},
        "rms": rms,
        "rms_of_segments": [
            {"segment": name, "from_s": s[0], "to_s": s[1], "rms": _rms(fit, [s], noise)}
            for name in ("train", "test")
            for s in measured.segments[name]
        ],
        "rms_below_hz": None,
        "damping_implies_std": finite(solution.uncertainty.level / solution.damping) if solution.damping else None,
        "damping_curve": curve_of(solution),
        "damping_changes": changes,
        "factor": config.factor,
        "weakest_direction": _weakest(fit),
        "systematic": {source: dict(own) for source, own in fit.sources.items()},
        "zero": zero_entry(fit, sensor_of(config.sensor)),
        "handles": _handles(experiment, measured),
        "replay": None if played is None else replay_entry(played),
        "clocks": _clocks(fit, measured, offset),
        "rolling": _rolling(fit, measured)
        | {"feet_assumed": assumed, "resistance": None if refused else resistance(fit)},
        **ending(experiment, why, warnings, measured.segments, fit.inputs.filtering),
    }
    own = [h for h in measured.handles if h is not None]
    handle, handle_2 = (*own, None, None)[:2]
    view = with_capture(
        _view(fit, measured, played),
        config.recordings,
        measured.captured,
        offset,
        dict(zip(SENSORS, fit.inputs.measured - fit.inputs.zeros()[:, None], strict=False)),
        dict(zip(("wrench", "wrench_2"), (s.wrench for s in fit.inputs.sensors), strict=False)),
    )
    return Result(data, model, solution, view, handle, handle_2)


def _rms(fit: RollingFit, segments: Sequence[Segment], noise: Sequence[float]) -> dict[str, dict[str, Any]]:
    """RMS error of each row against the wrench at the motion's rate, not smoothed further."""
    return rms_of_rows(fit.inputs.model.mechanism.rows, fit.residuals(segments), fit.reference(segments), noise)


def _noise(fit: RollingFit) -> list[float]:
    """Standard deviation of the measured rows while nobody touches the object; 0 where that was not recorded."""
    rows, static = fit.inputs.model.mechanism.rows, fit.inputs.static
    if static is None:
        return [0.0] * len(rows)
    at = slice(*fit.balance.indices(static))
    return [finite(float(v)) or 0.0 for v in np.nanstd(projected(fit.balance)[at], axis=0)]


def _of_hidden(fit: RollingFit, warning: str) -> bool:
    """Whether a warning is of conditioning that what the mechanism hides spoils: no motion would help."""
    return bool(fit.inputs.rolling.hidden) and warning.startswith("kappa_eff")


def _weakest(fit: RollingFit) -> dict[str, Any] | None:
    """The direction held least, with the motion of a wheelbarrow that would help."""
    found = weakest_direction(fit.solution)
    if found is None:
        return None
    sizes = {e.name: abs(e.value) for e in fit.solution.estimates}
    worst = max(found.changes, key=lambda n: abs(found.changes[n]) / max(sizes.get(n, 1.0), 1e-3))
    if worst in fit.inputs.rolling.hidden:
        return None
    advice = motion_for(fit.inputs.model, worst)
    told = found.text.partition("; to know it better, ")[0]
    return asdict(replace(found, text=told if advice is None else f"{told}; to know it better, {advice}"))


def _handles(experiment: Experiment[Any], measured: RollingMeasured) -> dict[str, Any]:
    """The handle behind each sensor: from where, its ten numbers in the sensor's frame, and what its own stage said."""
    config, found = experiment.config, dict[str, Any]()
    given = (config.handle, config.handle_2 or config.handle)
    results = (*measured.handles, *measured.handles)[:2]  # one may stand for both
    for name, part, sensor, result in zip(SENSORS, given, measured.inputs.sensors, results, strict=False):
        if part is None or sensor.handle is None:
            continue
        weight = isinstance(part, HandleWeightPart)
        found[name] = {
            "from": "stated weight" if weight else part,
            "phi": dict(zip(PHI_NAMES[:4] if weight else PHI_NAMES, sensor.handle.tolist(), strict=False)),
            "parameters": None if result is None else result.data["parameters"],
            "verdict": None if result is None else result.data["verdict"],
        }
    return found


def _clocks(fit: RollingFit, measured: RollingMeasured, offset: Offset | None) -> dict[str, Any]:
    """Reference time minus each device's."""
    imu = measured.captured.devices.get("imu")
    known = [("wrench", fit.inputs.clock, offset)] + ([] if imu is None else [("imu", imu.clock, imu.offset)])
    return {n: clock_entry(c, estimated=evidence is not None) for n, c, evidence in known if c is not None}


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


def _about(
    experiment: Experiment[Any], fit: RollingFit, why: Sequence[str], assumed: Mapping[str, float]
) -> dict[str, str]:
    config = experiment.config
    about = about_body(experiment, FRAME, why) | {"zeroing": ZEROING[fit.inputs.zero]}
    parts = [p for p in (config.recordings.wrench, config.recordings.wrench_2) if p is not None]
    about["sensor"] = ", ".join(sensor_label(config.sensor, p.device) for p in parts)
    if assumed:
        about["feet"] = f"where they touch the ground is measured; assumed: {', '.join(assumed)}"
    return about


def _view(fit: RollingFit, measured: RollingMeasured, played: Replay | None) -> View:
    rows, k = fit.seen.rows, fit.balance.kinematics
    return View(
        model=fit.solution.model,
        times_s=fit.inputs.times_s,
        reference=rows[:, :, -1],
        estimate=np.where(fit.used[:, None], rows[:, :, :-1] @ fit.solution.p, np.nan),
        used=fit.used,
        resting=fit.inputs.resting(),
        segments=measured.segments,
        coordinates=_coordinates(fit),
        excitation=excitation_of(k, fit.inside(fit.segments)),
        replay=() if played is None else replay_windows(played),
    )


def _coordinates(fit: RollingFit) -> tuple[CoordinateSeries, ...]:
    """Where the contact was, the way ahead, and the angles; derivatives are central differences over 0.1 s."""
    c, times, poses = fit.balance.kinematics.coordinates, fit.inputs.times_s, fit.inputs.poses
    x, y = (poses.position[:, i] - np.nanmean(poses.position[:, i]) for i in range(2))
    yaw = np.asarray(c["heading"].position) if "heading" in c else np.zeros(len(times))
    ahead = _slope(times, x) * np.cos(yaw) + _slope(times, y) * np.sin(yaw)
    angles = {"yaw" if n == "heading" else n: c[n].position for n in ("heading", "camber", "pitch") if n in c}
    speeds = {name: _slope(times, np.asarray(angle)) for name, angle in angles.items()}
    unknown = np.full(len(times), np.nan)
    return (
        CoordinateSeries("x", "m", x, unknown),
        CoordinateSeries("y", "m", y, unknown),
        CoordinateSeries("forward", "m", unknown, ahead, _slope(times, ahead)),
        *(CoordinateSeries(n, "rad", np.asarray(angles[n]), v, _slope(times, v)) for n, v in speeds.items()),
    )


def _slope(times_s: FloatArray, x: FloatArray) -> FloatArray:
    """Central difference over 0.1 s; NaN beside gaps."""
    n = max(1, round(0.05 / float(np.median(np.diff(times_s)))))
    slope = np.full(len(x), np.nan)
    if len(x) > 2 * n:
        slope[n:-n] = (x[2 * n :] - x[: -2 * n]) / (times_s[2 * n :] - times_s[: -2 * n])
    return slope
