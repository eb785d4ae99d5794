"""Where an object on a ball joint or a universal joint turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment
from palpate.experiment.stage.capture import CapturedMotion
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.motion.joints import Pivot, pivot_from_motion
from palpate.physics.arrays import segment_mask


def on_pivot(
    experiment: Experiment[Any], model: Model, captured: CapturedMotion, static: Sequence[Segment]
) -> tuple[Model, Pivot]:
    """The point about which the object turns, with the axes of its joint, and the model with gravity as it is there."""
    body = captured.body
    with experiment.at("recordings.poses" if body.key == "poses" else "markers", kind=DataProblem):
        still, slow = segment_mask(body.poses.times_s, static), float(np.nan_to_num(body.pose_std[1]))
        pivot = pivot_from_motion(body.poses, captured.up, still, model.mechanism.pivot, slow_m=slow)
    gravity = -experiment.config.gravity * captured.up @ pivot.frame.T_world_frame[:3, :3]
    return replace(model, mechanism=model.mechanism.with_gravity(gravity)), pivot
