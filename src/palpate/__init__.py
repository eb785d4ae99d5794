"""palpate: measure how a real object feels and give that feel to a robot.

Nouns and verbs in the order of a recording's way; docs/python.md shows each of them once, at work.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palpate.elements import Element as Element
    from palpate.elements import Parameter as Parameter
    from palpate.elements import Shape as Shape
    from palpate.elements import check_element as check_element
    from palpate.errors import PalpateError as PalpateError
    from palpate.experiment import Experiment as Experiment
    from palpate.experiment import Result as Result
    from palpate.experiment import read_experiment as read_experiment
    from palpate.experiment import run_experiment as run_experiment
    from palpate.experiment.comparison import compare as compare
    from palpate.experiment.gates.numbers import refuse as refuse
    from palpate.experiment.inspection import inspect_recordings as inspect_recordings
    from palpate.experiment.stage.capture import build_motion as build_motion
    from palpate.experiment.stage.clock import clock_by_balance as clock_by_balance
    from palpate.experiment.stage.fit import Fit as Fit
    from palpate.experiment.stage.fit import Plan as Plan
    from palpate.experiment.stage.fit import fit_inputs as fit_inputs
    from palpate.experiment.stage.inputs import Belief as Belief
    from palpate.experiment.stage.inputs import Filtering as Filtering
    from palpate.experiment.stage.inputs import ImuMotion as ImuMotion
    from palpate.experiment.stage.inputs import Inputs as Inputs
    from palpate.experiment.stage.inputs import Sensor as Sensor
    from palpate.experiment.stage.inputs import choose_filtering as choose_filtering
    from palpate.experiment.stage.inputs import fit_balance as fit_balance
    from palpate.experiment.stage.inputs import move as move
    from palpate.experiment.stage.inputs import whole_balance as whole_balance
    from palpate.experiment.stage.result import read_result as read_result
    from palpate.experiment.stage.variations import with_estimated as with_estimated
    from palpate.experiment.stage.variations import with_systematic as with_systematic
    from palpate.experiment.stage.view import View as View
    from palpate.experiment.validation import validate as validate
    from palpate.export import export_model as export_model
    from palpate.findings import Finding as Finding
    from palpate.findings import Severity as Severity
    from palpate.identify import Balance as Balance
    from palpate.identify import Compressed as Compressed
    from palpate.identify import Prior as Prior
    from palpate.identify import Solution as Solution
    from palpate.identify import build_balance as build_balance
    from palpate.identify import compress as compress
    from palpate.identify import merge as merge
    from palpate.identify import solve as solve
    from palpate.identify.solution import Estimate as Estimate
    from palpate.identify.solution import Status as Status
    from palpate.mechanisms import Linkage as Linkage
    from palpate.mechanisms import Mechanism as Mechanism
    from palpate.mechanisms import check_mechanism as check_mechanism
    from palpate.model import Model as Model
    from palpate.model import load_object as load_object
    from palpate.motion.clock import ClockMap as ClockMap
    from palpate.motion.clock import Even as Even
    from palpate.motion.clock import evenly_sampled as evenly_sampled
    from palpate.motion.cloud import Cloud as Cloud
    from palpate.motion.cloud import Markers as Markers
    from palpate.motion.cloud import fill_gaps as fill_gaps
    from palpate.motion.cloud import fit_body as fit_body
    from palpate.motion.cloud import markers_of as markers_of
    from palpate.motion.cloud import mean_cloud as mean_cloud
    from palpate.motion.cloud import static_cloud as static_cloud
    from palpate.motion.derivatives import pose_motion as pose_motion
    from palpate.motion.faults import check_markers as check_markers
    from palpate.motion.frames import HingeRoles as HingeRoles
    from palpate.motion.frames import JointFrame as JointFrame
    from palpate.motion.frames import SensorRoles as SensorRoles
    from palpate.motion.frames import frames_of as frames_of
    from palpate.motion.frames import hinge_from_frame as hinge_from_frame
    from palpate.motion.frames import hinge_from_motion as hinge_from_motion
    from palpate.motion.frames import hinge_from_path as hinge_from_path
    from palpate.motion.frames import joint_of_hinge as joint_of_hinge
    from palpate.motion.imu import Smoothing as Smoothing
    from palpate.motion.imu import imu_motion as imu_motion
    from palpate.motion.offset import Offset as Offset
    from palpate.motion.offset import estimate_offset as estimate_offset
    from palpate.motion.offset import marker_clock as marker_clock
    from palpate.motion.smoothing import fuse as fuse
    from palpate.parts import Parts as Parts
    from palpate.parts import load_parts as load_parts
    from palpate.physics.motion import Motion as Motion
    from palpate.physics.motion import Poses as Poses
    from palpate.recording import Channel as Channel
    from palpate.recording import Recording as Recording
    from palpate.recording import load as load
    from palpate.report.identification import write_figures as write_figures
    from palpate.report.identification import write_report as write_report
    from palpate.report.identification import write_tables as write_tables
    from palpate.runtime import HandleSensor as HandleSensor
    from palpate.runtime import SensorStepper as SensorStepper
    from palpate.runtime import Stepper as Stepper
    from palpate.runtime import StepStatus as StepStatus

# Public names by the module that they live in, as listed above: imported on first use, so that `palpate --help` does
# not wait for SciPy.
_SOURCE = (get_data("palpate", "__init__.py") or b"").decode("utf-8")
_PUBLIC = {name: module for module, name in re.findall(r"^    from (\S+) import (\w+) as \2$", _SOURCE, re.MULTILINE)}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("palpate")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'palpate' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
