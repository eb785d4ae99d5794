"""A body whose pose was recorded, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palpate.findings import Finding
from palpate.motion import cloud as clouds
from palpate.motion.cloud import Cloud, Markers
from palpate.motion.faults import Faults
from palpate.motion.integration import Integrated
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses
from palpate.recording import Recording


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Body:
    """A body whose pose was recorded: by a robot or a tracker as it is, or by cameras (`MarkedBody`)."""

    key: str
    """Where its recording stands under `recordings`."""
    recording: Recording
    poses: Poses
    """T_capture_body, NaN where it was not seen."""
    rows: NDArray[np.intp]
    """For each row of the file the index of its pose."""
    pose_std: tuple[float, float] = (float("nan"), float("nan"))
    """How far single poses may be off, rad and m: root mean squares of a tilt, and of the place at `middle`."""
    middle: FloatArray = field(default_factory=lambda: np.zeros(3))
    """(3,): where in the body its place is known best, m."""
    frames: dict[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    """T_body_frame of each declared role: sensor, sensor_2, hinge, axle, base."""
    feet: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    """(feet, 3): places of the feet's markers in the body, m."""
    towards: FloatArray | None = None
    """(3,): a point of the body to which x of its hinge points, m; None: any."""
    points: Literal["up", "down"] | None = None
    """Which way z of its hinge points; None: so that it opens positively."""
    reference: str = ""
    """Where the body's own frame was measured: static, still or mean of markers; nothing: the recording has it."""
    findings: tuple[Finding, ...] = ()
    integrated: Integrated | None = None
    """Whose rate was integrated to the poses."""
    contradicted: Mapping[str, float] = field(default_factory=dict[str, float])
    """Key of `uncertain` -> by how much gravity surely contradicts it."""

    def poses_of(self, frame: str) -> Poses:
        """T_capture_frame of a role; of the body itself where it has none."""
        return self.poses.attached(self.frames[frame]) if frame in self.frames else self.poses


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarkedBody(Body):
    """A body as motion capture saw it: its own frame is that of the cloud of its markers; gaps of its poses filled."""

    markers: Markers
    """Those on the body, as they were stored."""
    cloud: Cloud
    placed: Cloud
    """The cloud with markers that only its reference shows, as they sat when the frames were measured."""
    averaged: int
    """Of how many frames the cloud is the mean."""
    raw: clouds.BodyFit
    """The alignment of the markers as stored, faults included: what the paper calls the marker error."""
    checked: Faults
    filled: clouds.Gaps
    fit: clouds.BodyFit
    """The alignment without the faults."""
