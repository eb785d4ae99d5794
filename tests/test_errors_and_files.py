"""Messages that help, and files that are written whole or not at all."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from palpate import errors
from palpate.errors import (
    DataProblem,
    ExperimentProblem,
    FileProblem,
    MissingExtra,
    NotConsistent,
    PalpateError,
    UnknownName,
)
from palpate.files import read_bytes, replacing, sha256, write_text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileProblem("a.csv", "it is empty"), "a.csv: it is empty"),
        (FileProblem("a.csv", "no unit", line=5, remedy="write mm"), "a.csv, line 5: no unit. Write mm"),
        (ExperimentProblem("e.yaml", "segments.test", "too long", line=9), "e.yaml, line 9: segments.test: too long"),
        (ExperimentProblem("e.yaml", "", "no object", remedy="add one"), "e.yaml: no object. Add one"),
        (DataProblem("IMU", "all zero", remedy="check the cable"), "IMU: all zero. Check the cable"),
        (NotConsistent("handle", "the mass is 0 kg"), "handle: the mass is 0 kg"),
        (
            MissingExtra("MuJoCo", "mujoco", "a twin"),
            "a twin needs MuJoCo, which is not installed: pip install 'palpate[mujoco]'",
        ),
        (
            UnknownName("marker", "Dor1", ["Door1", "Frame1"], where="e.yaml"),
            "e.yaml: there is no marker 'Dor1'. Did you mean 'Door1'? There is: Door1, Frame1",
        ),
        (UnknownName("marker", "x", []), "there is no marker 'x'. There is: nothing"),
    ],
)
def test_a_problem_says_where_what_and_the_remedy(error: PalpateError, message: str) -> None:
    assert str(error) == message


def test_every_error_of_ours_can_be_caught_as_one() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
    assert len(classes) > 5
    assert all(issubclass(c, PalpateError) for c in classes)


def test_a_long_list_of_names_is_cut_and_counted() -> None:
    message = errors.unknown_name("marker", "M99x", [f"M{i:02}" for i in range(100)])
    assert "There is: M00, M01" in message
    assert message.endswith("M11, ... (100 in all)")
    assert "Did you mean 'M99'?" in message


def test_a_text_is_written_with_its_folder_and_ordinary_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.txt"
    write_text(path, "Größe: 1 µm\n")
    assert path.read_bytes() == "Größe: 1 µm\n".encode()
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def test_a_failure_midway_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half_and_fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half_and_fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_until_the_block_ends_readers_see_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent  # the same disk: replacing is one step
    assert path.read_text() == "new"


def test_who_reads_while_a_file_is_replaced_reads_the_old_one_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        write_text(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


def test_a_place_that_cannot_be_written_is_a_known_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileProblem, match=r"cannot be written \(.*\). Choose another output folder"):
        write_text(tmp_path / "file" / "a.txt", "text")


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "Static.csv").write_text("x")
    (tmp_path / "b.mat").write_text("x")
    with pytest.raises(FileProblem, match=r"there is no such file. Did you mean .*Static\.csv\?$"):
        read_bytes(tmp_path / "static.csv")
    with pytest.raises(FileProblem, match=r"The folder .* holds nothing that is called so"):
        read_bytes(tmp_path / "a.json")
    with pytest.raises(FileProblem, match=r"There is no folder .*nowhere$"):
        read_bytes(tmp_path / "nowhere" / "a.csv")


def test_an_empty_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(FileProblem, match=r"the file is empty. Export or copy it again"):
        read_bytes(tmp_path / "a.csv")
    with pytest.raises(FileProblem, match=r"cannot be read \(Is a directory\)"):
        read_bytes(tmp_path)


def test_a_checksum_is_sha256(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10_000
    (tmp_path / "a.bin").write_bytes(data)
    assert sha256(tmp_path / "a.bin") == hashlib.sha256(data).hexdigest()
