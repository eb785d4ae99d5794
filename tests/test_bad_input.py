"""Bad recordings and bad places to write to: a clear error with file, key and remedy, and nothing half-written."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.recording import Channel, Recording, load
from palpate.recording.mat import write_dspace
from tests.command import palpate


@pytest.fixture(scope="module")
def twin(short_handle_folder: Path) -> Path:
    return short_handle_folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def nan_burst(path: Path) -> None:
    recording = load(path)
    channels = dict(recording.channels)
    old = channels["Fy1_RawZero"]
    samples = old.samples.copy()
    samples[20000:20300] = np.nan
    channels[old.name] = Channel(old.name, samples, old.clock, old.unit, old.frame)
    write_dspace(path, Recording(channels, None, recording.format))


def rename(path: Path) -> None:
    recording = load(path)
    channels = {n.replace("Fy1", "Fyy"): Channel(n.replace("Fy1", "Fyy"), c.samples, c.clock, c.unit, c.frame)
                for n, c in recording.channels.items()}  # fmt: skip
    write_dspace(path, Recording(channels, None, recording.format))


DAMAGES: list[tuple[str, Callable[[Path], object], list[str]]] = [
    (
        "wrench.mat",
        lambda p: p.write_bytes(b""),
        ["line 7", "recordings.wrench", "wrench.mat", "the file is empty", "again"],
    ),
    ("imu.csv", lambda p: p.write_bytes(b""), ["line 8", "recordings.imu", "imu.csv", "the file is empty", "again"]),
    ("wrench.mat", cut, ["line 7", "recordings.wrench", "wrench.mat"]),
    ("wrench.mat", lambda p: p.write_text("Dear Sir,\n"), ["line 7", "wrench.mat", "not a dspace-mat file"]),
    ("imu.csv", lambda p: p.write_text("a,b\n1,2\n"), ["line 8", "imu.csv", "not a microstrain-csv file"]),
    ("imu.csv", lambda p: p.unlink(), ["line 8", "recordings.imu.file", "no such file"]),
    ("wrench.mat", rename, ["line 7", "recordings.wrench.channels", "Fyy_RawZero", "for example"]),
    ("wrench.mat", nan_burst, ["segments.train", "300 samples were not seen", "20.000 s", "eave that time out"]),
]


@pytest.mark.parametrize(("file", "damage", "said"), DAMAGES, ids=[f"{f}-{i}" for i, (f, _, _) in enumerate(DAMAGES)])
def test_a_damaged_recording_is_named(
    twin: Path, tmp_path: Path, file: str, damage: Callable[[Path], object], said: list[str]
) -> None:
    for name in ("wrench.mat", "imu.csv", "handle.yaml", "truth.json"):
        (tmp_path / name).write_bytes((twin / name).read_bytes())
    damage(tmp_path / file)
    with pytest.raises(PalpateError) as error:
        run_experiment(read_experiment(tmp_path / "handle.yaml"))
    message = str(error.value)
    assert "\n" not in message
    assert all(part in message for part in ["handle.yaml", *said]), message


def test_a_full_disk_leaves_the_old_result_and_says_so(
    short_handle_result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = short_handle_result
    result.save(tmp_path)
    before = (tmp_path / "result.json").read_bytes(), (tmp_path / "model.json").read_bytes()

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(PalpateError, match=r"cannot be written \(No space left on device\)"):
        result.save(tmp_path)
    assert ((tmp_path / "result.json").read_bytes(), (tmp_path / "model.json").read_bytes()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.json", "result.json"]


def test_an_output_folder_that_is_a_file_is_refused_before_any_computation(twin: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    done = palpate("identify", twin / "handle.yaml", "-o", tmp_path / "out", "-v")
    assert done.returncode == 1
    assert "is a file, not a folder" in done.stderr
    assert "aligning the clocks" not in done.stderr
