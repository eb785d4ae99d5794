"""An inspection as plain data: what `palpate inspect --json` prints beside the channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.experiment.capture import Body
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import CapturedMotion, DeviceOnClock
from palpate.files import finite


def inspection_data(inspection: Inspection) -> dict[str, Any]:
    """Markers, clocks, vertical, frames and findings; SI units."""
    return {
        "markers": None if inspection.body is None else _markers(inspection.body),
        "reference_clock": inspection.reference or None,
        "clocks": {name: _clock(device) for name, device in inspection.devices.items()},
        "motion": None if inspection.motion is None else _motion(inspection.motion),
        "findings": [{"gate": f.cause, "fatal": f.fatal, "message": f.sentence} for f in inspection.findings],
    }


def _markers(body: Body) -> dict[str, Any]:
    name, error, at = body.fit.largest()
    return {
        "reference": body.reference,
        "noise_m": finite(body.checked.noise_m),
        "bending_m": finite(body.checked.bending_m),
        "mean_error_m": finite(body.fit.mean_error_m),
        "mean_error_as_stored_m": finite(body.raw.mean_error_m),
        "largest_error": {"name": name, "error_m": finite(error), "at_s": finite(at)},
        "by_marker": [
            {"name": n, "mean_error_m": finite(mean), "largest_error_m": finite(most), "at_s": finite(t), "hidden": h}
            for n, mean, most, t, h in body.raw.rows()
        ],
        "frames_without_pose": body.fit.unknown(),
        "faults": [
            {"kind": f.kind, "names": list(f.names), "interval_s": list(f.interval_s), "size_m": finite(f.size_m)}
            for f in body.checked.faults
        ],
        "gaps": body.filled.sentence(),
        "usable_s": [list(pair) for pair in body.filled.usable],
    }


def _clock(device: DeviceOnClock) -> dict[str, Any] | None:
    """reference time = device time + offset_s + drift (reference time - at_s)."""
    clock = device.clock
    if clock is None:
        return None
    low, high = clock.interval_at(np.array(clock.at_s))
    return {
        "offset_s": clock.offset_s,
        "ci95_s": [float(low), float(high)],
        "at_s": clock.at_s,
        "drift_ppm": clock.drift_ppm if clock.drift_observed else None,
        "drift_ci95_ppm": list(clock.drift_interval_ppm()),
        "drift_observed": clock.drift_observed,
        "estimated": device.offset is not None,
    }


def _motion(motion: CapturedMotion) -> dict[str, Any]:
    placement, found = motion.placement, motion.derivatives
    data: dict[str, Any] = {
        "frame": motion.frame,
        "frames": {name: T.tolist() for name, T in motion.body.frames.items()},
        "up_in_capture_frame": motion.up.tolist(),
        "window_s": None if found is None else found.window_s,
        "bandwidth_hz": None if found is None or found.bandwidth is None else found.bandwidth.bandwidth_hz,
    }
    if placement is not None:
        data["imu"] = {
            "rotation": placement.R_ab.tolist(),
            "rotation_std_rad": placement.turn_std_rad.tolist(),
            "translation_m": placement.r_ab.tolist(),
            "translation_std_m": placement.lever_std.tolist(),
            "not_told": list(placement.weak),
        }
        if placement.tilt is not None:
            tilt = placement.tilt
            data["tilt"] = {"x_rad": tilt.x_rad, "y_rad": tilt.y_rad, "ci95_rad": tilt.interval_rad().tolist()}
    if motion.hinge is not None and motion.hinge_motion is not None:
        data["hinge"] = {
            "T_world_hinge": motion.hinge.T_world_hinge.tolist(),
            "direction_std_rad": finite(motion.hinge.direction_std_rad),
            "point_std_m": finite(motion.hinge.point_std_m),
            "range_rad": finite(motion.hinge.range_rad),
            "inclination_rad": None if motion.inclination_rad is None else motion.inclination_rad[0],
            "inclination_std_rad": None if motion.inclination_rad is None else finite(motion.inclination_rad[1]),
        }
    return data
