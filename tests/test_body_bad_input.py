"""What a body stage refuses: one line with file, line, key and remedy; or a failed verdict with its reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from palpate.cli.app import app
from palpate.errors import PalpateError
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.file.reading import object_model
from tests.door_files import copy_of, handle_model, own_copy, short_door

Change = tuple[str, str]
DOOR = "segments:\n"
"""Where a key may be put in."""


def key(text: str) -> Change:
    return DOOR, f"{text}\n{DOOR}"


def segment(name: str, text: str) -> Change:
    return rf"^  {name}: \[.*$", f"  {name}: {text}" if text else ""


def changed(door_folder: Path, folder: Path, *changes: Change) -> Path:
    """A copy of body.yaml with these replacements, the first text a pattern where it begins with ^."""
    text = (door_folder / "body.yaml").read_text()
    exact: list[Change] = []
    for old, new in changes:
        found = re.search(old, text, re.MULTILINE) if old.startswith("^") else None
        exact.append((found.group(), new) if found is not None else (old, new))
    return copy_of(door_folder / "body.yaml", folder, *exact)


def refusal(path: Path) -> str:
    with pytest.raises(PalpateError) as error:
        run_experiment(read_experiment(path))
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{path}, line "), message
    return message


LINKS = r"^mechanism: .*$"
MECHANISM: list[tuple[Change, list[str]]] = [
    (
        (LINKS, "mechanism: {linkage: {lengths: [0.1, 0.1, 0.1, 1.0]}}"),
        ["mechanism", "cannot close the loop at any angle"],
    ),
    ((LINKS, "mechanism: {linkage: {lengths: [0.29, 0.2, 0.2, 0.35]}}"), ["cannot close", "95.0 deg", "to 76.7 deg"]),
    ((LINKS, "mechanism: {linkage: {lengths: [0.28, 0.27, 0.26]}}"), ["four positive numbers"]),
    ((LINKS, "mechanism: {linkage: {lengths: [286, 273, 260, 349]}}"), ["linkage.lengths", "286 mm"]),
    ((LINKS, "mechanism: {linkage: {lengths: [L1, L2, L3, L4]}}"), ["linkage.lengths", "'L1' is not a number"]),
    ((LINKS, "mechanism: {linkage: {assembly: negativ}}"), ["Did you mean 'negative'?"]),
    ((LINKS, "mechanism: {linkge: {assembly: negative}}"), ["Did you mean 'linkage'?"]),
    ((LINKS, "mechanism: {linkage: {type: five-bar}}"), ["Did you mean 'four-bar'?"]),
    (
        ("{type: zone-damper, name: b_bc", "{type: zone-dampr, name: b_bc"),
        ["elements.0", "Did you mean 'zone-damper'?"],
    ),
    (("when: opening", "wen: opening"), ["elements.0", "Did you mean 'when'?"]),
    (("when: closing", "when: closin"), ["elements.1", "Did you mean 'closing'?"]),
    (("b_bc, acts_on: closer", "b_bc, acts_on: closr"), ["elements.0", "no coordinate 'closr'", "'closer'"]),
    (("name: b_bc, ", ""), ["elements.0.name", "missing"]),
    (("name: b_s,", "name: b_bc,"), ["elements.1.name", "two elements 'b_bc'"]),
    ((r"^- \{type: zone-damper, name: b_bc.*$", "- {type: zone-damper, name: b_bc, above: 69}"), ["above", "69 deg"]),
    ((r"^- \{type: zone-damper, name: b_bc.*$", "- {type: zone-damper, name: b_bc, above: 6 N}"), ["'6 N'", "deg"]),
    (key("fixed: {b_x: 3}"), ["fixed.b_x", "There is: I, b_bc"]),
    (key("fixed: {b_c: -3}"), ["fixed.b_c", "-3 N m", "negative"]),
    (key("known: {i: 3}"), ["known.i", "no parameter 'i'"]),
    (key("without: [b_b]"), ["without.0", "Did you mean 'b_bc'?"]),
    (("object: door", "object: dor"), ["object", "Did you mean 'door'?"]),
    (("object: door", "object: mine.yaml"), ["object", "there is no such file"]),
]


@pytest.mark.parametrize(("change", "said"), MECHANISM, ids=[str(i) for i in range(len(MECHANISM))])
def test_a_wrong_mechanism_or_element_is_named(
    door_folder: Path, tmp_path: Path, change: Change, said: list[str]
) -> None:
    path = changed(door_folder, tmp_path, change)
    with pytest.raises(PalpateError) as error:
        object_model(read_experiment(path))
    assert all(part in str(error.value) for part in [f"{path}, line ", *said]), error.value


def test_an_object_without_a_hinge_is_refused(door_folder: Path, tmp_path: Path) -> None:
    path = changed(
        door_folder, tmp_path, ("object: door", "object: handle"), (LINKS, ""), (r"^elements:\n(.*\n)*?(?=seg)", "")
    )
    assert "stage: body does not identify 'handle', which moves freely" in refusal(path)


def overwrite(text: str) -> Callable[[Path], object]:
    return lambda folder: own_copy(folder, "handle.json").write_text(text)


def other_sensor(folder: Path) -> None:
    own_copy(folder, "handle.json")
    handle_model(short_door(), sensor="ati-omega85 (Platform_2)").save(folder / "handle.json")


def of_a_door(folder: Path) -> None:
    own_copy(folder, "handle.json")
    short_door().model.save(folder / "handle.json")


HANDLES: list[tuple[Callable[[Path], object], list[str]]] = [
    (lambda folder: (folder / "handle.json").unlink(), ["there is no such file"]),
    (overwrite('{"palpate_model": 1, "na'), ["damaged", "Identify it again"]),
    (overwrite('{"a": 1}'), ["not a palpate model"]),
    (other_sensor, ["'ati-omega85 (Platform_2)'", "'ati-omega85 (Platform)'", "same sensor"]),
    (of_a_door, ["a model of 'door', not of a handle"]),
]


@pytest.mark.parametrize(("damage", "said"), HANDLES, ids=["missing", "damaged", "no-model", "sensor", "door"])
def test_a_wrong_handle_is_named(
    door_folder: Path, tmp_path: Path, damage: Callable[[Path], object], said: list[str]
) -> None:
    path = changed(door_folder, tmp_path)
    damage(tmp_path)
    message = refusal(path)
    assert all(part in message for part in ["handle: ", *said]), message


def test_a_handle_that_is_a_body_experiment_is_refused(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path, ("handle: handle.json", "handle: body.yaml"))
    assert "stage 'body'. Give one of stage: handle" in refusal(path)


@pytest.mark.parametrize("name", ["handle.yaml", "body.yaml"])
def test_handles_in_a_circle_are_refused(door_folder: Path, tmp_path: Path, name: str) -> None:
    """A handle's experiment that names itself, or the body that names it."""
    path = changed(door_folder, tmp_path, ("handle: handle.json", "handle: handle.yaml"))
    handle = tmp_path / "handle.yaml"
    handle.write_text(
        f"object: handle\nstage: handle\nhandle: {name}\nrecordings:\n"
        "  wrench: {file: wrench.mat, format: dspace-mat, device: Platform}\n"
        "  imu: {file: imu.csv, format: microstrain-csv}\nsegments: {train: [3, 20], test: [20, 30]}\n"
    )
    message = refusal(path)
    assert f"handle: {handle}, line 3: handle: this key is only for stage: body. Leave it out" in message


EARLY: list[tuple[list[Change], list[str]]] = [
    ([segment("test", "[[20, 30]]")], ["segments.test", "overlaps [13.7, 27.3] of segments.train", "proves nothing"]),
    ([segment("test", "[[5, 9]]")], ["segments.test", "overlaps", "segments.quasi_static"]),
    ([segment("test", "[[34, 28]]")], ["segments.test", "ends before it begins"]),
    ([(r"^  hinge: .*$", "")], ["markers.hinge", "missing"]),
    (
        [(r"^  static: \{.*$", "")],
        ["markers.hinge.towards", "WB_Frame1 is not under markers.body", "Give recordings.static"],
    ),
    ([("device: Platform}", "device: Platform, sign: on-object}")], ["wrench.sign", "'on-other-side', 'on-handle'"]),
    ([key("stops: [0, 92]")], ["stops.0", "no unit"]),
]


@pytest.mark.parametrize(("changes", "said"), EARLY, ids=[str(i) for i in range(len(EARLY))])
def test_what_the_file_alone_shows_is_refused_before_anything_is_read(
    door_folder: Path, tmp_path: Path, changes: list[Change], said: list[str]
) -> None:
    path = changed(door_folder, tmp_path, *changes)
    message = refusal(path)
    assert all(part in message for part in said), message


LATE: list[tuple[list[Change], list[str]]] = [
    ([("towards: WB_Frame1", "towards: WB_Frame11")], ["markers.hinge", "'WB_Frame11'", "WB_Frame1'?"]),
    ([("body: [WB_Door1,", "body: [WB_Dor1, WB_Door1,")], ["markers.body", "'WB_Dor1'", "WB_Door1'?", "Trajectories"]),
    ([segment("static", "[-3, 2]")], ["segments.static", "is not inside the recording", "34.990 s"]),
    ([key("stops: [92 deg, 0 deg]")], ["stops", "The smaller one comes first"]),
    ([key("stops: [20 deg, 50 deg]")], ["stops", "is seen from", "beyond its stops at 20 deg and 50 deg"]),
    (
        [segment("quasi_static", ""), key("procedure: two-step")],
        ["procedure: two-step: there is no quasi-static segment", "procedure: joint"],
    ),
]


@pytest.mark.parametrize(("changes", "said"), LATE, ids=[str(i) for i in range(len(LATE))])
def test_what_the_recordings_contradict_is_refused(
    door_folder: Path, tmp_path: Path, changes: list[Change], said: list[str]
) -> None:
    message = refusal(changed(door_folder, tmp_path, *changes))
    assert all(part in message for part in said), message


def test_a_sensors_markers_may_stay_behind_after_the_static_recording(
    door_folder: Path, door_result: Result, tmp_path: Path
) -> None:
    path = changed(door_folder, tmp_path, ("body: [WB_Door1, WB_Door2, WB_Door3, ", "body: ["))
    result = run_experiment(read_experiment(path))
    assert result.solution["I"].value == pytest.approx(door_result.solution["I"].value, rel=0.03)


def test_a_whole_needs_its_handle(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path, ("handle: handle.json\n", ""), ("model_of: body", "model_of: whole"))
    with pytest.raises(PalpateError, match="handle: this key is missing: model_of: whole needs it"):
        run_experiment(read_experiment(path))


def test_an_angle_out_of_the_linkages_reach_is_named(door_folder: Path, tmp_path: Path) -> None:
    links = "mechanism: {linkage: {lengths: [0.29, 0.2, 0.2, 0.35], range: [0 deg, 60 deg]}}"
    message = refusal(changed(door_folder, tmp_path, (LINKS, links)))
    assert "mechanism" in message
    assert "out of the linkage's reach, -76.7 to 76.7 deg" in message


def test_an_error_is_one_line_and_exit_1_and_leaves_nothing(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path, ("object: door", "object: dor"))
    done = CliRunner().invoke(app, ["identify", str(path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_lines_of_a_message_are_right(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path, ("when: closing", "when: closin"))
    line = int(str(refusal(path)).split("line ")[1].split(":")[0])
    assert "closin" in path.read_text().splitlines()[line - 1]
    assert json.dumps(YAML(typ="safe").load(path)["elements"][1])
