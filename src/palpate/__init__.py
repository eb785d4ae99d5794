"""palpate: measure how a real object feels and give that feel to a robot."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palpate.elements import check_element as check_element
    from palpate.errors import PalpateError as PalpateError
    from palpate.experiment import read_experiment as read_experiment
    from palpate.experiment import run_experiment as run_experiment
    from palpate.experiment.comparison import compare as compare
    from palpate.experiment.inspection import inspect_recordings as inspect_recordings
    from palpate.experiment.stage.capture import build_motion as build_motion
    from palpate.experiment.stage.result import read_result as read_result
    from palpate.experiment.validation import validate as validate
    from palpate.export import export_model as export_model
    from palpate.identify import Prior as Prior
    from palpate.identify import build_balance as build_balance
    from palpate.identify import compress as compress
    from palpate.identify import merge as merge
    from palpate.identify import solve as solve
    from palpate.model import Model as Model
    from palpate.model import load_object as load_object
    from palpate.motion import estimate_offset as estimate_offset
    from palpate.motion import imu_motion as imu_motion
    from palpate.motion.clocks.offset import marker_clock as marker_clock
    from palpate.motion.derivatives.differentiate import pose_motion as pose_motion
    from palpate.motion.frames.hinge import hinge_from_motion as hinge_from_motion
    from palpate.motion.frames.hinge import hinge_from_path as hinge_from_path
    from palpate.motion.frames.roles import frames_of as frames_of
    from palpate.motion.imu.motion import fuse as fuse
    from palpate.motion.markers.cloud import fill_gaps as fill_gaps
    from palpate.motion.markers.cloud import fit_body as fit_body
    from palpate.motion.markers.cloud import markers_of as markers_of
    from palpate.motion.markers.cloud import mean_cloud as mean_cloud
    from palpate.motion.markers.cloud import static_cloud as static_cloud
    from palpate.motion.markers.labels import check_markers as check_markers
    from palpate.recording import load as load
    from palpate.report.identification import write_figures as write_figures
    from palpate.report.identification import write_report as write_report
    from palpate.report.identification import write_tables as write_tables
    from palpate.runtime import HandleSensor as HandleSensor
    from palpate.runtime import SensorStepper as SensorStepper
    from palpate.runtime import Stepper as Stepper

# Public name -> where it lives. Imported on first use, so that `palpate --help` does not wait for SciPy.
_PUBLIC = {
    "PalpateError": "palpate.errors",
    "check_element": "palpate.elements",
    "read_experiment": "palpate.experiment",
    "run_experiment": "palpate.experiment",
    "Prior": "palpate.identify",
    "build_balance": "palpate.identify",
    "compress": "palpate.identify",
    "merge": "palpate.identify",
    "solve": "palpate.identify",
    "Model": "palpate.model",
    "load_object": "palpate.model",
    "estimate_offset": "palpate.motion",
    "imu_motion": "palpate.motion",
    "load": "palpate.recording",
    "HandleSensor": "palpate.runtime",
    "SensorStepper": "palpate.runtime",
    "Stepper": "palpate.runtime",
    "compare": "palpate.experiment.comparison",
    "read_result": "palpate.experiment.stage.result",
    "validate": "palpate.experiment.validation",
    "export_model": "palpate.export",
    "write_figures": "palpate.report.identification",
    "write_report": "palpate.report.identification",
    "write_tables": "palpate.report.identification",
    "inspect_recordings": "palpate.experiment.inspection",
    "build_motion": "palpate.experiment.stage.capture",
    "fit_body": "palpate.motion.markers.cloud",
    "mean_cloud": "palpate.motion.markers.cloud",
    "static_cloud": "palpate.motion.markers.cloud",
    "pose_motion": "palpate.motion.derivatives.differentiate",
    "frames_of": "palpate.motion.frames.roles",
    "fuse": "palpate.motion.imu.motion",
    "fill_gaps": "palpate.motion.markers.cloud",
    "hinge_from_motion": "palpate.motion.frames.hinge",
    "hinge_from_path": "palpate.motion.frames.hinge",
    "check_markers": "palpate.motion.markers.labels",
    "marker_clock": "palpate.motion.clocks.offset",
    "markers_of": "palpate.motion.markers.cloud",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'palpate' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
