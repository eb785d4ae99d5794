"""Keys that have no effect for an object or its instruments are refused, and so is a file that lacks a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from palpate.errors import PalpateError
from palpate.experiment.file.reading import (
    CONDITIONS,
    ROOTS,
    Experiment,
    check_keys,
    object_model,
    read_experiment,
    schema_classes,
)
from palpate.experiment.file.signals import SignalsPart

POSE = "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}"
MARKERS = f"""\
stage: body
recordings: {{mocap: {{file: a.csv}}, wrench: {{file: b.csv}}}}
segments: {{static: [0, 1], train: [2, 3], test: [4, 5]}}
markers:
  sensor: {{markers: [A, B, C], offset: {POSE}}}
"""
DOOR = f"object: door\n{MARKERS}  hinge: {{}}\n"
BARROW = f"object: wheelbarrow\n{MARKERS}  axle: {{axle: [D, E], across: [[F, G]], radius: 0.2 m}}\n"
TABLE = """\
object: pendulum
stage: body
recordings:
  signals: {file: a.csv, columns: {q: {column: q}, tau: {column: tau}}, angle: q, torque: tau}
segments: {train: [2, 3], test: [4, 5]}
"""
FUSED = DOOR.replace("b.csv}}", "b.csv}, imu: {file: a.csv}}")
STATIC = DOOR.replace("b.csv}}", "b.csv}, static: {file: a.csv}}")
MOTION = "stage: motion\nrecordings: {mocap: {file: a.csv}}\n"
FUSED_MOTION = MOTION.replace("a.csv}}", "a.csv}, imu: {file: b.csv}}")
HANDLE = f"recordings: {{wrench: {{file: a.csv}}, imu: {{file: b.csv}}}}\nimu_pose: {POSE}\n"


def checked(folder: Path, text: str) -> Experiment:
    for name in ("a.csv", "b.csv", "h.yaml"):
        (folder / name).write_text("x")
    (folder / "own.yaml").write_text(text)
    experiment = read_experiment(folder / "own.yaml")
    if experiment.config.stage != "motion":
        check_keys(experiment, object_model(experiment))
    return experiment


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(PalpateError) as error:
        checked(folder, text)
    assert "own.yaml" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "motion"), [(DOOR, "markers"), (BARROW, "markers"), (TABLE, "table"), (HANDLE, "imu")]
)
def test_what_is_needed_is_enough(tmp_path: Path, text: str, motion: str) -> None:
    assert checked(tmp_path, text).config.motion_from == motion


EFFECTLESS: list[tuple[str, str, str]] = [
    (DOOR, "rows: moments", "rows: this key is only for objects that roll"),
    (DOOR, "prior: {mass: 1, com: [0, 0, 0], shape: {type: box, sides: [1, 1, 1]}}", "prior: this key is only for mod"),
    (DOOR, "known_mass: {value: 40 kg, of: body}", "known_mass: this key is only for models with a mass"),
    (DOOR, "uncertain: {wheel_radius: 1 mm}", "uncertain.wheel_radius: this key is only for objects that roll"),
    (DOOR, "uncertain: {imu_rotation: 1 deg}", "uncertain.imu_rotation: this key is only for stage: handle"),
    (DOOR, "uncertain: {closed: 1 mm}", "uncertain.closed: the position of 'door' is an angle, not a length"),
    (DOOR, "stops: [0 mm, 5 mm]", "stops: the position of 'door' is an angle, not a length"),
    (DOOR, "method: joint\nprocedure: two-step", "procedure: a joint estimate has one step"),
    (BARROW, "method: joint\nrows: moments", "rows: a joint estimate weighs each row by its noise"),
    (DOOR, "method: joint\nrobust: true", "robust: a joint estimate weighs every sample by itself"),
    (DOOR, "method: joint\nfiltering: {type: published}", "method: a joint estimate has no published filters"),
    (DOOR, "method: joint\nfiltering: {bandwidth: 6 Hz}", "filtering.bandwidth: this key is only for m"),
    (TABLE, "method: joint\nfiltering: {window: 0.2 s}", "filtering.window: this key is only for method: balance"),
    (BARROW, "method: joint\nderivatives: {order: 3}", "derivatives.order: this key is only for method: balance"),
    (DOOR, "filtering: {type: published}\nderivatives: {order: 3}", "derivatives.order: this key is only"),
    (FUSED, "filtering: {type: published}\nderivatives: {method: fusion}", "derivatives.method: this key is on"),
    (FUSED, "derivatives: {order: 3}", "derivatives.order: this key is only for positions that polynomials"),
    (FUSED, "filtering: {window: 0.2 s}", "or write derivatives: {method: local}"),
    (DOOR, "procedure: two-step\nelements: [{type: zone-damper, name: b_s, estimate: true}]", "zones are not est"),
    (DOOR, "clocks: {mocap: 1, wrench: 1, imu: 1}", "clocks.imu: this key is only for files with recordings.imu"),
    (DOOR, "  reference: mean\n  still: [0, 1]", "markers.still: this key is only for markers.reference: still"),
    (STATIC, "  still: [0, 1]", "markers.still: this key is only for markers.reference: still"),
    (STATIC, "  reference: mean", "recordings.static: this key is only for markers.reference: static"),
    (BARROW.replace("0.2 m}", "0.2 m, floor: 1 mm}"), "", "markers.axle.floor: this key is only for stage: motion"),
    (DOOR.replace("[4, 5]}", "[4, 5], first_sample: 7}"), "", "segments.first_sample: this key is only for s"),
    (HANDLE, "factor: UUt", "factor: this key is only for a prior that pulls theta"),
    (MOTION, "accelerometer_zero: 0.1", "accelerometer_zero: this key is only for files with recordings.imu"),
    (MOTION, "derivatives: {method: fusion, order: 3}", "derivatives.method: this key is only for files"),
    (FUSED_MOTION, "derivatives: {method: fusion, order: 3}", "derivatives.order: this key is only for pos"),
    (DOOR, "bias: estimated", "bias: it cannot be estimated here: with one freedom"),
    (DOOR, "bias: {at_contact: [1, 2, 3, 4, 5, 6]}", "bias.at_contact: this key is only for objects that roll"),
    (DOOR, "handle_2: h.yaml", "handle_2: this key is only for files with recordings.wrench_2"),
    (DOOR, f"imu_pose: {POSE}", "imu_pose: this key is only for files with recordings.imu"),
    (DOOR, "noise_in_motion: ignored", "noise_in_motion: this key is only for stage: handle"),
    (DOOR, "filtering: {type: savitzky-golay}", "filtering.type: this key is only for stage: handle"),
    (DOOR, "derivatives: {method: fusion}", "derivatives.method: this key is only for files with recordings.imu"),
    (DOOR, "derivatives: {window: 0.3 s}", "or set that window: filtering: {window: 0.2 s}"),
    (DOOR, "  feet: [A]", "markers.feet: this key is only for objects that roll"),
    (BARROW, "  hinge: {}", "markers.hinge: this key is only for objects on a hinge"),
    (BARROW, "procedure: two-step", "procedure: this key is only for objects on a hinge or a slide"),
    (BARROW, "stops: [0 deg, 9 deg]", "stops: this key is only for objects on a hinge or a slide"),
    (BARROW, "uncertain: {links: 1 mm}", "uncertain.links: this key is only for objects with a linkage"),
    (BARROW, "known_mass: {value: 40 kg, of: handle}", "known_mass.of: 'handle' is not possible in stage: body"),
    (TABLE, "handle: h.yaml", "handle: this key is only for files with recordings.wrench"),
    (TABLE, "sensor: ati-omega85", "sensor: this key is only for files with recordings.wrench"),
    (TABLE, "uncertain: {sensor_position: 1 mm}", "uncertain.sensor_position: this key is only for motion measured"),
    (TABLE, "uncertain: {links: 1 mm}", "uncertain.links: this key is only for objects with a linkage"),
    (HANDLE, "method: joint", "method: this key is only for stage: body"),
    (HANDLE, "model_of: whole", "model_of: this key is only for stage: body"),
    (HANDLE, "procedure: two-step", "procedure: this key is only for objects on a hinge or a slide"),
    (HANDLE, "segments: {static: [0, 1], train: [2, 3], test: [4, 5]}", "segments.static: this key is only for stage"),
]  # fmt: skip


ACTING: list[tuple[str, str]] = [
    (FUSED, "derivatives: {method: local, order: 3}\nfiltering: {window: 0.2 s, bandwidth: 6 Hz}"),
    (FUSED, "method: joint\nderivatives: {method: local}"),
    (FUSED, "clocks: {mocap: 1, wrench: 1, imu: 1}"),
    (DOOR, "derivatives: {order: 3}\nfiltering: {window: 0.2 s}"),
    (DOOR, "  still: [0, 1]"),
    (STATIC, "  reference: static"),
    (TABLE, "derivatives: {order: 3}"),
    (FUSED_MOTION, "derivatives: {method: fusion}\naccelerometer_zero: 0.1"),
]


@pytest.mark.parametrize(("file", "key"), ACTING)
def test_a_key_that_acts_is_taken(tmp_path: Path, file: str, key: str) -> None:
    checked(tmp_path, f"{file}{key}\n")


@pytest.mark.parametrize(("file", "key", "said"), EFFECTLESS, ids=[f"{k[:30]} {f[8:12]}" for f, k, _ in EFFECTLESS])
def test_a_key_without_effect_is_refused(tmp_path: Path, file: str, key: str, said: str) -> None:
    assert said in refusal(tmp_path, f"{file}{key}\n")


MISSING: list[tuple[str, str, str, str]] = [
    (DOOR, "  hinge: {}\n", "", "markers.hinge: this key is missing"),
    (DOOR, "object: door\n", "", "object: this key is missing"),
    (DOOR, "segments: {static: [0, 1], train: [2, 3], test: [4, 5]}\n", "", "segments: this key is missing"),
    (DOOR, "mocap: {file: a.csv}, ", "", "recordings.mocap: this key is missing: give mocap or poses, and wrench"),
    (DOOR, "stage: body", "stage: body\nclocks: {wrench: 3}", "clocks.mocap: this key is missing"),
    (DOOR, "stage: body", "stage: body\nmodel_of: whole", "handle: this key is missing: model_of: whole needs it"),
    (DOOR, "object: door", "object: handle", "does not identify 'handle', which moves freely. Write stage: handle"),
    (BARROW, "  axle:", "  sensor_2:", "there is no key 'axle'"),
    (BARROW, "b.csv}}", "b.csv}, wrench_2: {file: b.csv}}", "markers.sensor_2: this key is missing: recordings"),
    (BARROW, "stage: body", "stage: body\nrows: moments", "known_mass: this key is missing: the moments alone hardly"),
    (HANDLE, "imu_pose", "object: door\nimu_pose", "stage: handle does not identify 'door', which is held"),
    (HANDLE, ", imu: {file: b.csv}", "", "imu_pose: this key is only for files with recordings.imu"),
    (HANDLE, f"imu_pose: {POSE}\n", "", "imu_pose: this key is missing. Wanted: pose of the IMU in the sensor frame"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISSING, ids=[said[:40] for *_, said in MISSING])
def test_a_missing_key_is_named(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    assert old in file
    assert said in refusal(tmp_path, file.replace(old, new))


def test_a_table_has_one_pair_of_a_position_and_a_force() -> None:
    table = {"file": "a.csv", "columns": {}}
    turns = SignalsPart.model_validate({**table, "angle": "q", "torque": "tau"})
    slides = SignalsPart.model_validate({**table, "position": "x", "force": "f"})
    point, force = ["x", "y", "z"], ["a", "b", "c"]
    path = SignalsPart.model_validate({**table, "point": point, "force": force})
    assert turns.pair("rad") == (("angle", "q"), ("torque", "tau"))
    assert slides.pair("m") == (("position", "x"), ("force", "f"))
    assert turns.pair("m") is slides.pair("rad") is path.pair("m") is turns.path is slides.path is None
    assert path.path == (point, force)
    several = {"angle": "q", "torque": "t", "position": "x", "force": "f"}
    mixed = [{"position": "x", "torque": "t"}, {"position": "x", "force": force}, {"point": point, "force": "f"}]
    for wrong in ({"angle": "q"}, {"force": "f"}, several, *mixed):
        with pytest.raises(ValueError, match=r"give exactly one of the pairs|one name beside position"):
            SignalsPart.model_validate({**table, **wrong})


def test_every_condition_is_used_and_known() -> None:
    names: set[str] = set()
    waiting = [ROOTS["body"]]
    while waiting:
        part = waiting.pop()
        for field in part.model_fields.values():
            names |= set((field.json_schema_extra or {}).get("only", []))
            waiting += schema_classes(field.annotation)
    assert names == CONDITIONS.keys()
