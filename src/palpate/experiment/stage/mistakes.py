"""What people confuse in an experiment file, each as the inputs without the mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.sensors import numbered, sensors_of
from palpate.experiment.stage import recordings
from palpate.experiment.stage.body import Body, MarkedBody
from palpate.experiment.stage.capture import CapturedMotion
from palpate.experiment.stage.ground import lowest
from palpate.experiment.stage.inputs import Inputs, Sensor
from palpate.experiment.stage.posed import other_readings
from palpate.motion.cloud import marker_index
from palpate.motion.frames import sensor_frame
from palpate.physics.arrays import FloatArray, nearest
from palpate.physics.motion import Poses, transform

SWAPPED = "{} and {} load cell seem to be exchanged (the wrench is explained {{}}): exchange {} and {}, or {} and {}"


def mistakes(
    experiment: Experiment[Any], captured: CapturedMotion, inputs: Inputs
) -> Iterator[tuple[str, str, str, Inputs]]:
    """What people confuse: cause, key, words with a place for how well it explains the wrench, and the inputs without
    it.
    """
    keys = sensors_of(experiment.config)
    for a, b in combinations(keys, 2):
        two = ("right", "left") if len(keys) == 2 else (str(a.number), str(b.number))
        words = SWAPPED.format(*two, a.wrench_key, b.wrench_key, a.mount_key, b.mount_key)
        yield "swapped", b.wrench_key, words, swapped(inputs, a.number - 1, b.number - 1)
    mechanism, body = inputs.mechanism, captured.body
    for i, link in enumerate(mechanism.linkages):
        for way, other in link.others.items():
            linkages = (*mechanism.linkages[:i], other, *mechanism.linkages[i + 1 :])
            model = replace(inputs.model, mechanism=mechanism.with_linkages(linkages), values={})
            words = f"the links of {link.coordinate} are assembled the other way, {way} (the wrench is explained {{}})"
            yield "assembly", "mechanism.linkage", words, inputs.with_model(model)
    if mechanism.wheel is not None and not experiment.config.markers.feet and inputs.poses is not None:
        place = np.mean([s.T_body_sensor[:3, 3] for s in inputs.sensors], axis=0)
        words = (
            "feet carry a part of the object while its handles are lowest (the wrench is explained {} without these "
            "times): name the markers of its feet, or choose segments in which it is lifted"
        )
        yield "feet", "markers.feet", words, replace(inputs, blocked=lowest(inputs.poses, place))
    if isinstance(body, MarkedBody):
        yield from _other_orders(experiment, body, inputs)
    else:
        yield from _other_poses(experiment, body, inputs)
    if len(inputs.sensors) == 1:
        yield from _other_axes(inputs)


def _other_orders(
    experiment: Experiment[Any], body: MarkedBody, inputs: Inputs
) -> Iterator[tuple[str, str, str, Inputs]]:
    """The three markers of a sensor in another order."""
    for i, key in enumerate(sensors_of(experiment.config)):
        part: Any = key.mount
        offset = recordings.pose_of(experiment, f"{key.mount_key}.offset", part.offset, "the markers' frame")
        for order in list(permutations(part.markers))[1:]:
            a, b, c = body.placed.points[[marker_index(body.placed.names, marker) for marker in order]]
            sensors, turned = list(inputs.sensors), np.linalg.inv(body.frames[key.role]) @ sensor_frame(a, b, c, offset)
            sensors[i] = replace(sensors[i], T_body_sensor=sensors[i].T_body_sensor @ turned)
            words = f"the markers are in the wrong order (the wrench is explained {{}}): write [{', '.join(order)}]"
            yield "order", f"{key.mount_key}.markers", words, replace(inputs, sensors=tuple(sensors))


def _other_poses(experiment: Experiment[Any], body: Body, inputs: Inputs) -> Iterator[tuple[str, str, str, Inputs]]:
    """Orientations that are read in another way, and a wrench in the axes of the world.

    What turns about a hinge leaves it if it is read in a wrong way, which is seen without a wrench (`check_turning`).
    """
    kinds = [joint.kind for joint in inputs.mechanism.joints]
    if inputs.poses is None:
        return
    key = "recordings.poses.orientation"
    for way, poses in () if kinds == ["turn"] else other_readings(experiment, body):
        words = f"it seems to be read in a wrong way (the wrench is explained {{}}): {way}"
        if kinds == ["free"] or inputs.mechanism.placed:
            there = poses.attached(body.frames.get("body", np.eye(4)))
            other = inputs.with_positions(inputs.mechanism.coordinates_of(there))
            yield "orientation", key, words, replace(other, poses=there)
        elif kinds == ["slide"] and np.array_equal(poses.position, body.poses.position, equal_nan=True):
            # along the same line in the world, a sensor that is turned by a constant
            yield "orientation", key, words, replace(inputs, sensors=_turned(body, poses, inputs.sensors))
    yield (
        "wrench-frame",
        "recordings.wrench",
        "it seems to be in the axes of the world (the wrench is explained {}): rotate it into those of the sensor",
        _from_world(body, inputs),
    )


def _turned(body: Body, poses: Poses, sensors: tuple[Sensor, ...]) -> tuple[Sensor, ...]:
    """Sensors on a body whose constant orientation is another."""
    seen = body.poses.seen & poses.seen
    U, _, Vt = np.linalg.svd(np.mean(body.poses.rotation[seen].transpose(0, 2, 1) @ poses.rotation[seen], axis=0))
    other: list[Sensor] = []
    for i, sensor in enumerate(sensors):
        R, T = body.frames[numbered("sensor", i + 1)][:3, :3], sensor.T_body_sensor
        other.append(replace(sensor, T_body_sensor=transform(T[:3, :3] @ R.T @ (U @ Vt) @ R, T[:3, 3])))
    return tuple(other)


def _from_world(body: Body, inputs: Inputs) -> Inputs:
    """The wrenches turned from the axes of the world into those of the sensors; before the clocks are known, as if all
    had one.
    """
    measured, sensors = list[FloatArray](), list[Sensor]()
    for i, sensor in enumerate(inputs.sensors):
        R = body.poses_of(numbered("sensor", i + 1)).rotation
        if len(inputs.measured):
            parts = np.split(inputs.measured[i], 2, axis=1)
            measured.append(np.hstack([np.einsum("nji,nj->ni", R, w) for w in parts]))
            continue
        there = R[nearest(inputs.times_s, sensor.wrench.times_s)]
        parts = np.split(sensor.wrench.x, 2, axis=1)
        x = np.nan_to_num(np.hstack([np.einsum("nji,nj->ni", there, w) for w in parts]))
        sensors.append(replace(sensor, wrench=replace(sensor.wrench, x=x)))
    return replace(inputs, measured=np.array(measured)) if measured else replace(inputs, sensors=tuple(sensors))


def _other_axes(inputs: Inputs) -> Iterator[tuple[str, str, str, Inputs]]:
    """The axes of a load cell in another order."""
    for order in list(permutations(range(3)))[1:]:
        sensor, columns = inputs.sensors[0], [*order, *(3 + k for k in order)]
        if len(inputs.measured):  # on its clock already
            other = replace(inputs, measured=inputs.measured[..., columns])
        else:
            wrench = replace(sensor.wrench, x=sensor.wrench.x[:, columns])
            other = replace(inputs, sensors=(replace(sensor, wrench=wrench),))
        now = ", ".join("xyz"[k] for k in order)
        words = f"its axes are in another order (the wrench is explained {{}}): x, y, z are what is called {now}"
        yield "axes", "recordings.wrench", words, other


def swapped(inputs: Inputs, a: int = 0, b: int = 1) -> Inputs:
    """The same with two load cells exchanged, right for left."""
    order = list(range(len(inputs.sensors)))
    order[a], order[b] = b, a
    sensors = tuple(replace(s, wrench=inputs.sensors[i].wrench) for s, i in zip(inputs.sensors, order, strict=True))
    return replace(
        inputs, sensors=sensors, measured=inputs.measured[order] if len(inputs.measured) else inputs.measured
    )
