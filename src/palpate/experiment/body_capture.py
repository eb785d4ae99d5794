"""What every captured body shares, on a hinge or on wheels: its motion stage, and what of the handle is added."""

from __future__ import annotations

from typing import Any

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import BodyPart, CapturePart, MotionPart
from palpate.experiment.hinge_inputs import Added


def as_motion(experiment: Experiment[Any], *, with_wrench: bool) -> Experiment[MotionPart]:
    """The same file, read as one of the motion stage, with or without the load cell."""
    config, recordings = experiment.config, experiment.config.recordings
    assert recordings.mocap is not None
    part = MotionPart.model_construct(
        palpate=1,
        title=config.title,
        stage="motion",
        recordings=CapturePart.model_construct(
            mocap=recordings.mocap,
            static=recordings.static,
            imu=recordings.imu,
            wrench=recordings.wrench if with_wrench else None,
        ),
        markers=config.markers,
        imu_pose=config.imu_pose,
        gravity=config.gravity,
        accelerometer_zero=config.accelerometer_zero,
        clocks=config.clocks,
        derivatives=config.derivatives,
    )
    return Experiment(experiment.source, experiment.data, part, experiment.lines)


def added(config: BodyPart) -> Added:
    """What of the handle's wrench goes to the sensor's (FORMATS, erratum 7)."""
    kinds: dict[str, Added] = {"body": "nothing", "whole": "all", "weight-only": "weight"}
    return kinds[config.model_of]
