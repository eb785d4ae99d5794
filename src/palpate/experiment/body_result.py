"""A body's solution in the words of result.json and model.json, and what its figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from palpate.elements import PolynomialSpring
from palpate.experiment.body_fit import BodyFit
from palpate.experiment.body_inputs import BodyMeasured
from palpate.experiment.body_judge import bandwidth_doubts, fixed_doubts, reasons, resting_doubts, scale_doubts
from palpate.experiment.body_weakness import weakest_of_hinge
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import sensor_label
from palpate.experiment.result import Result
from palpate.experiment.result_parts import about_body, clock_entry, ending, heading, rms_of_rows, with_cross_validated
from palpate.experiment.view import CoordinateSeries, ReplayCurve, ReplayWindow, ShapeProfile, View
from palpate.experiment.view_parts import with_capture
from palpate.files import finite
from palpate.identify import cross_validate
from palpate.identify.balance import Segment
from palpate.motion.clocks.offset import Offset
from palpate.runtime.replay import Replay

EXTRAPOLATED_RAD = np.radians(5.0)
ASTRAY_RAD = np.radians(10.0)


def build_body_result(
    experiment: Experiment[Any],
    measured: BodyMeasured,
    offset: Offset | None,
    fit: BodyFit,
    refused: Mapping[str, str],
    played: Replay | None,
) -> Result:
    """Put a body's fit into the words of result.json."""
    config, solution = experiment.config, fit.solution
    noise, weakest = _noise(fit), weakest_of_hinge(solution)
    rms = {name: _rms(fit, measured.segments[name], noise) for name in ("train", "test", "quasi_static")}
    rms = with_cross_validated(rms, cross_validate(fit.train, solution), fit.train.rms(solution.p))
    why = reasons(solution, refused, rms, measured.findings)
    warnings = [
        *(f.sentence for f in measured.findings if not f.fatal),
        *_extrapolated(fit, measured.segments),
        *(() if fit.shaped is None else fit.shaped.messages),
        *([] if refused else resting_doubts(fit, (*measured.segments["quasi_static"], *measured.segments["train"]))),
        *scale_doubts(config.known, solution),
        *bandwidth_doubts(fit),
        *fixed_doubts(fit),
        *_replay_doubts(played),
        *(w for w in solution.warnings if "kappa" not in w),
    ]
    data: dict[str, Any] = {
        **heading(experiment, solution),
        "procedure": config.procedure,
        "shapes": _shapes(fit),
        "rms": rms,
        "rms_below_hz": None,
        "weakest_direction": None if refused or weakest is None else asdict(weakest),
        "replay": _replay(played),
        "clocks": _clocks(measured, offset),
        "hinge": _hinge(fit),
        **ending(experiment, why, warnings, measured.segments, fit.inputs.filtering),
    }
    view = _view(fit, measured.segments, played)
    if measured.captured is not None:
        wrench = fit.inputs.measured - fit.inputs.preload()
        view = with_capture(view, config.recordings, measured.captured, offset, {"sensor": wrench})
    model = None if refused else fit.solution.model.with_values(fit.solution.p, **_about(experiment, measured, why))
    return Result(data, model, solution, view, measured.handle)


def _replay_doubts(played: Replay | None) -> list[str]:
    """A replay that went elsewhere, or that there is none."""
    if played is None:
        return []
    if not played.scored:
        return ["there is no replay: no ten seconds in which the object travels 40 deg are seen throughout"]
    worst = max(w.rms for w in played.scored)
    if worst < ASTRAY_RAD:
        return []
    return [
        f"the replay goes astray, by up to {np.degrees(worst):.0f} deg RMS in a window: the object is unstable there, "
        "meets stops or hands that the model does not know, or the model is wrong; look at the windows on the page"
    ]


def _rms(fit: BodyFit, segments: Sequence[Segment], noise: float | None) -> dict[str, dict[str, Any]]:
    """RMS error against the wrench at the motion's rate, not smoothed further, where the object moves freely."""
    if not segments:
        return {}
    error, reference = fit.residuals(segments), fit.reference(segments)
    return rms_of_rows(fit.inputs.model.mechanism.rows, error[:, None], reference[:, None], [noise])


def _noise(fit: BodyFit) -> float | None:
    """RMS of the measured torque while nobody touches the object, N m; None where that was not recorded."""
    if fit.inputs.static is None:
        return None
    at = slice(*fit.prediction.indices(fit.inputs.static))
    return float(np.nanstd(fit.prediction.wrench[at, 5]))


def _extrapolated(fit: BodyFit, segments: Mapping[str, Sequence[Segment]]) -> list[str]:
    """Angles that the model speaks about and the fit has not seen."""
    inside = [np.arange(*fit.prediction.indices(s))[fit.used(s)] for s in fit.segments]
    angle = fit.inputs.angle[np.concatenate(inside)]
    if len(angle) == 0:
        return []
    low, high = float(np.nanmin(angle)), float(np.nanmax(angle))
    told: list[str] = []
    if low > EXTRAPOLATED_RAD:
        told.append(
            f"the object was never seen moving below {np.degrees(low):.0f} deg: what it does near the closed position "
            "is extrapolated"
        )
    springs = any(isinstance(e, PolynomialSpring) for e in fit.inputs.model.elements)
    if springs and not segments["quasi_static"] and fit.inputs.clock is not None:
        told.append("there is no quasi-static segment: the spring is known from fast motion only")
    return told if high > low else [*told, "the object did not move"]


def _shapes(fit: BodyFit) -> dict[str, Any]:
    """Zone borders and widths: as given, or as the data say."""
    found: dict[str, Any] = {}
    profiles = {} if fit.shaped is None else {p.name: p for p in fit.shaped.profiles}
    units = {s.name: s.unit for e in fit.inputs.model.elements for s in e.shapes}
    for name, value in fit.inputs.model.shapes.items():
        profile = profiles.get(name)
        ci = None if profile is None or profile.interval is None else list(profile.interval)
        status = "fixed" if profile is None else "identified" if ci is not None else "not-identifiable"
        unit = units[name.rpartition(".")[2]]
        found[name] = {"value": value, "unit": unit, "ci95": ci, "status": status}
    return found


def _replay(played: Replay | None) -> dict[str, Any] | None:
    if played is None:
        return None
    return {
        "rms": finite(played.rms),
        "unit": "rad",
        "windows": len(played.scored),
        "window_s": 10.0,
        "least_travel": played.least_travel,
        "each": [{"start_s": w.start_s, "rms": w.rms, "travel": w.travel} for w in played.scored],
    }


def _clocks(measured: BodyMeasured, offset: Offset | None) -> dict[str, Any]:
    """Reference time minus each device's."""
    devices = {} if measured.captured is None else dict(measured.captured.devices)
    found: dict[str, Any] = {}
    for name, device in devices.items():
        clock, evidence = device.clock, device.offset
        if name == "wrench":
            clock, evidence = measured.inputs.clock, offset
        if clock is None:
            continue
        found[name] = clock_entry(clock, estimated=evidence is not None)
    return found


def _hinge(fit: BodyFit) -> dict[str, float]:
    hinge = fit.inputs.hinge
    leaning = min(hinge.inclination, np.pi - hinge.inclination)
    angle = fit.inputs.angle
    return {
        "inclination_rad": float(leaning),
        "lowest_rad": float(np.nanmin(angle)),
        "highest_rad": float(np.nanmax(angle)),
        "angle_noise_rad": fit.inputs.angle_noise(),
        "lever_m": float(np.linalg.norm(fit.inputs.T_hinge_sensor[:2, 3])),
    }


def _about(experiment: Experiment[Any], measured: BodyMeasured, why: Sequence[str]) -> dict[str, str]:
    config = experiment.config
    frame = "hinge: origin on the axis, z along it; the angle is zero when shut and positive when opening"
    about = about_body(experiment, frame, why)
    if config.recordings.wrench is not None:
        about["sensor"] = sensor_label(config.sensor, config.recordings.wrench.device)
        static = measured.segments["static"]
        about["zeroing"] = (
            f"mean over {static[0][0]:g} to {static[0][1]:g} s, shut and untouched" if static else "as recorded"
        )
    return about


def _view(fit: BodyFit, segments: Mapping[str, Sequence[Segment]], played: Replay | None) -> View:
    seen, rows = fit.prediction, fit.prediction.rows(fit.whole)[:, 0]
    used = fit.used(fit.whole)
    estimate = np.where(used, rows[:, :-1] @ fit.solution.p, np.nan)
    found, (name, unit) = fit.motion, next(iter(fit.inputs.model.mechanism.coordinates.items()))
    return View(
        model=fit.solution.model,
        times_s=seen.times_s,
        reference=seen.wrench[:, 5:],
        estimate=estimate[:, None],
        used=used,
        resting=fit.inputs.resting(fit.inputs.derivatives()),
        segments=segments,
        profiles=_profiles(fit),
        replay=_windows(played),
        coordinates=(CoordinateSeries(name, unit, found.position, found.speed, found.acceleration),),
    )


def _profiles(fit: BodyFit) -> tuple[ShapeProfile, ...]:
    found = () if fit.shaped is None else fit.shaped.profiles
    return tuple(ShapeProfile(p.name, p.unit, p.values, p.costs, p.value, p.interval) for p in found)


def _windows(played: Replay | None) -> tuple[ReplayWindow, ...]:
    scored = () if played is None else played.scored
    return tuple(
        ReplayWindow(w.times_s, tuple(ReplayCurve(t.name, "rad", t.measured, t.simulated, t.rms) for t in w.tracks))
        for w in scored
    )
