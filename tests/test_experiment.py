"""Experiment files: what they mean, and what is refused with file, line and remedy before anything is computed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import Result, read_experiment, run_experiment, shipped_experiments
from palpate.experiment.file.schema import SegmentsPart
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.prepare import (
    _default_segments,  # pyright: ignore[reportPrivateUsage]
)
from palpate.experiment.stage.recordings import segments_of
from palpate.identify import Solution
from palpate.model import Model
from palpate.physics.inertia import is_consistent
from palpate.recording import load
from palpate.twin import TWINS
from tests.writers import write


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A twin of the wheelbarrow's handle in the authors' layout."""
    return TWINS["wheelbarrow-handle"](tmp_path_factory.mktemp("paper"))


@pytest.fixture(scope="session")
def result(paper: Path) -> Result:
    """By the shipped file, on data elsewhere; the twin's own file says the same."""
    return run_experiment(read_experiment("wheelbarrow-handle", data=paper.parent))


def fitted(path: Path) -> Solution:
    """Without what comes after the fit."""
    experiment = read_experiment(path)
    return fit_prepared(experiment, prepare_experiment(experiment)).solution


def variant(paper: Path, *changes: tuple[str, str]) -> Path:
    """The experiment file with some text replaced, beside the original."""
    text = paper.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = paper.parent / f"variant{abs(hash(changes))}.yaml"
    path.write_text(text)
    return path


REFUSED: list[tuple[str, str, list[str]]] = [
    ("sensor: ati", "sensr: ati", ["line 13", "no key 'sensr'", "Did you mean 'sensor'"]),
    ("damping: auto", "dampin: auto", ["line 24", "prior", "Did you mean 'damping'"]),
    ("imu_pose:\n", "imu_poses:\n", ["line 10", "Did you mean 'imu_pose'"]),
    ("0.9 kg", "0.9 m", ["line 21", "prior.mass", "not a quantity in kg"]),
    ("0.9 kg", "heavy", ["line 21", "prior.mass", "not a number with a unit"]),
    ("0.9 kg", "-0.9 kg", ["line 21", "prior.mass", "must be positive"]),
    (
        "shape: {type: cylinder, length: 0.15 m, radius: 0.02 m, axis: [0, 0, 1]}",
        "inertia_com: [[0.001, 0, 0], [0, 0.001, 0], [0, 0, 0.01]]",
        ["line 20", "prior", "less than the sum"],
    ),
    ("test: {samples: [51066", "test: {samples: [40000", ["line 19", "segments.test", "overlaps", "segments.train"]),
    ("[51066, 66693]", "[66693, 51066]", ["line 19", "ends before it begins"]),
    ("exp1_036", "exp1_063", ["line 8", "recordings.wrench.file", "no such file", "exp1_036.mat"]),
    ("imu_pose:\n", "imu_pose: [\n", ["line 10", "the bracket [ is not closed"]),
    ("clocks: auto", "clocks: {wrench: 17757}", ["line 14", "clocks.imu", "missing"]),
    ("clocks: auto", "clocks: manual", ["line 14", "clocks", "'auto'"]),
    ("type: cylinder", "type: cilinder", ["line 23", "prior.shape", "'cylinder'"]),
    ("reference:\n", "known_mass: {value: 0.9 kg}\nreference:\n", ["known_mass.of", "missing", "what was weighed"]),
    ("palpate: 1", "palpate: 2", ["line 3", "palpate", "1"]),
]


@pytest.mark.parametrize(("old", "new", "said"), REFUSED, ids=[new[:24].strip() for _, new, _ in REFUSED])
def test_a_mistake_in_the_file_is_named_with_its_line(paper: Path, old: str, new: str, said: list[str]) -> None:
    path = variant(paper, (old, new))
    with pytest.raises(PalpateError) as error:
        run_experiment(read_experiment(path))
    message = str(error.value)
    assert "\n" not in message
    assert path.name in message
    assert all(part in message for part in said), message


LATE: list[tuple[str, str, list[str]]] = [
    ("[51066, 66693]", "[51066, 966693]", ["line 19", "segments.test", "inside the recording, 0.000 to 124.999 s"]),
    ("device: Platform}", "device: Platform_3}", ["line 8", "no device 'Platform_3'", "Did you mean 'Platform'"]),
    ("[0, 0, -1]]", "[0, 0, 1]]", ["line 11", "imu_pose.rotation", "left-handed"]),
    ("[0, 0, -1]]", "[0, 0, -2]]", ["line 11", "imu_pose.rotation", "not a rotation"]),
    ("bandwidth: 20 Hz", "bandwidth: 2 kHz", ["line 15", "filtering.bandwidth", "no unit 'kHz'"]),
    ("bandwidth: 20 Hz", "bandwidth: 900 Hz", ["line 15", "filtering.bandwidth", "below 400 Hz"]),
    ("clocks: auto", "clocks: {wrench: 99999999, imu: 1}", ["line 14", "clocks.wrench", "no sample 99999999"]),
    ("exp1_036.mat, format: dspace-mat", "IMU_Single.csv, format: dspace-mat",
     ["line 8", "not a dspace-mat file", "microstrain-csv"]),
    ("device: Platform}", "device: Platform, channels: [Fx_RawZero, Fy1_RawZero, Fz1_RawZero, a, b, c]}",
     ["line 8", "recordings.wrench.channels", "Did you mean 'Fx1_RawZero'"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), LATE, ids=[new[:24].strip() for _, new, _ in LATE])
def test_a_mistake_that_shows_in_the_recordings_is_named_too(paper: Path, old: str, new: str, said: list[str]) -> None:
    with pytest.raises(PalpateError) as error:
        run_experiment(read_experiment(variant(paper, (old, new))))
    assert all(part in str(error.value) for part in said), str(error.value)


def test_two_recordings_that_do_not_belong_together_are_refused(paper: Path, short_handle_folder: Path) -> None:
    path = variant(paper, ("handles/data/IMU_Single.csv", str(short_handle_folder / "imu.csv")))
    with pytest.raises(PalpateError, match=r"clock offset .* cannot be known .* files belong together"):
        run_experiment(read_experiment(path))


def test_the_authors_samples_and_our_clock_estimate_agree(paper: Path) -> None:
    auto = prepare_experiment(read_experiment(paper))
    typed = prepare_experiment(read_experiment(variant(paper, ("clocks: auto", "clocks: {wrench: 17757, imu: 9463}"))))
    assert auto.inputs.clock is not None
    assert typed.inputs.clock is not None
    assert auto.inputs.clock.offset_s == pytest.approx(typed.inputs.clock.offset_s, abs=50e-6)
    assert typed.instruments["imu"].offset is None


def test_the_authors_counting_is_one_based_and_closed() -> None:
    experiment = shipped_experiments()["wheelbarrow-handle"]
    text = experiment.read_text()
    assert "first_sample: 22757" in text
    times = np.arange(130000) / 1000
    part = SegmentsPart.model_validate(
        {"first_sample": 22757, "train": {"samples": [20387, 46965]}, "test": {"samples": [[1, 1], [3, 4]]}}
    )
    config: Any = SimpleNamespace(config=SimpleNamespace(segments=part))
    segments = segments_of(config, times, np.arange(len(times)))
    ((a, b),) = segments["train"]
    chosen = np.flatnonzero((times >= a) & (times < b))
    assert chosen[0] == 22757 + 20387 - 1 - 1  # sample 1 is file sample 22757, and file samples count from 1
    assert len(chosen) == 46965 - 20387 + 1
    first, second = segments["test"]
    assert [int(np.count_nonzero((times >= s[0]) & (times < s[1]))) for s in (first, second)] == [1, 2]


def test_without_segments_the_first_part_trains_and_the_rest_tests(paper: Path) -> None:
    text = paper.read_text()
    start, stop = text.index("segments:"), text.index("prior:")
    path = paper.parent / "no-segments.yaml"
    path.write_text(text[:start] + text[stop:])
    prepared = prepare_experiment(read_experiment(path))
    ((a, b),), ((c, d),) = prepared.segments["train"], prepared.segments["test"]
    assert b == c
    assert (b - a) / (d - a) == pytest.approx(0.6, abs=1e-4)
    times = np.arange(1001) / 100
    seen = np.ones(1001, dtype=bool)
    seen[300:400] = False  # a gap is left out, and its second does not count
    first, second = _default_segments(times, seen)
    assert np.allclose(first, [(0.0, 3.0), (4.0, 6.4)], atol=0.02)
    assert np.allclose(second, [(6.4, 10.0)], atol=0.02)


def test_result_and_model_files(result: Result, tmp_path: Path) -> None:
    result_path, model_path = result.save(tmp_path / "out")
    data = json.loads(result_path.read_text())
    assert data["palpate_result"] == 2
    assert list(data["parameters"])[:4] == ["m", "c_x", "c_y", "c_z"]
    m = data["parameters"]["m"]
    assert m["unit"] == "kg"
    assert m["ci95"][0] < 0.856 < m["ci95"][1]
    assert m["status"] in ("identified", "prior-dominated")
    assert set(data["rms"]) == {"train", "test", "cross_validated"}
    assert data["rms"]["test"]["n_z"]["unit"] == "N m"
    assert data["references"]["paper"]["damping"] == 10
    assert data["kappa_eff"] < 100
    assert data["verdict"] == {"passed": True, "reasons": []}
    assert data["references"]["paper"]["Izz"] == 0.0004
    assert len(data["provenance"]["recordings"][0]["sha256"]) == 64
    assert data["provenance"]["segments"]["train"][0] == pytest.approx([43.1415, 69.7205])
    model = Model.load(model_path)
    assert is_consistent(model.p)
    assert next(iter(model.values)) == "m"
    assert not any(name.startswith("bias") for name in model.values)
    assert "sensor frame" in model.about["frame"]


def test_the_shipped_experiment_runs_on_data_elsewhere(paper: Path, result: Result) -> None:
    """The door's handle: `test_reproduce.py`."""
    folder = paper.parent
    assert result.passed
    assert list(result.data["references"]) == ["paper"]
    truth = json.loads((folder / "truth.json").read_text())["parameters"]
    halves = {n: (e["ci95"][1] - e["ci95"][0]) / 2 for n, e in result.data["parameters"].items()}
    away = {n: abs(result.data["parameters"][n]["value"] - truth[n]["value"]) / half for n, half in halves.items()}
    assert sum(a > 1 for a in away.values()) <= 1, away  # of sixteen 95 % intervals
    assert max(away.values()) < 1.5
    assert not any("contradict the prior" in w for w in result.data["warnings"])


def test_a_folder_does_not_hide_a_shipped_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "door").mkdir()
    with pytest.raises(PalpateError, match="--data FOLDER"):
        read_experiment("door")


def test_a_shipped_experiment_asks_for_its_data() -> None:
    with pytest.raises(PalpateError, match="--data FOLDER"):
        read_experiment("door-handle")
    with pytest.raises(PalpateError, match="Did you mean 'door-handle'"):
        read_experiment("doorhandle")


def as_table(recording: Any, path: Path, format_: str, names: dict[str, str]) -> None:
    """The same channels under other names in a plain table."""
    from palpate.recording import Channel, Recording

    channels = {
        new: Channel(new, recording[old].samples, recording[old].clock, recording[old].unit)
        for old, new in names.items()
    }
    write(format_, path, Recording(channels))


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_plain_tables_give_the_same_model(paper: Path, result: Result, format_: str) -> None:
    folder = paper.parent
    wrench, imu = load(folder / "handles/data/exp1_036.mat"), load(folder / "handles/data/IMU_Single.csv", g=9.81)
    cell = dict(
        zip([f"{k}{a}1_RawZero" for k in "FT" for a in "xyz"], ["fx", "fy", "fz", "tx", "ty", "tz"], strict=True)
    )
    inertial = {f"{q}.{a}": f"{q[0]}{a}" for q in ("acceleration", "angular_rate") for a in "xyz"}
    inertial = {old: ("g" if old.startswith("angular") else "a") + old[-1] for old in inertial}
    as_table(wrench, folder / f"cell.{format_}", format_, cell)
    as_table(imu, folder / f"imu.{format_}", format_, inertial)
    header = {"cell": [], "imu": []}
    for name in header:
        header[name] = list(load(folder / f"{name}.{format_}"))
    path = variant(
        paper,
        ("{file: handles/data/exp1_036.mat, format: dspace-mat, device: Platform}",
         f"{{file: cell.{format_}, channels: {json.dumps(header['cell'])}}}"),
        ("{file: handles/data/IMU_Single.csv, format: microstrain-csv, g: 9.81}",
         f"{{file: imu.{format_}, acceleration: {json.dumps(header['imu'][:3])}, "
         f"angular_rate: {json.dumps(header['imu'][3:])}}}"),
    )  # fmt: skip
    assert np.allclose(result.solution.p, fitted(path).p, rtol=1e-6, atol=1e-8)


def test_published_and_parallel_filtering_agree_on_a_handle(paper: Path, result: Result) -> None:
    """A handle's motion is slow beside a 101 ms window, so both must find the same body."""
    published = variant(
        paper, ("{type: parallel, bandwidth: 20 Hz}", "{type: savitzky-golay, window: 101 ms, order: 4}")
    )
    here, there = result.solution, fitted(published)
    for name in ("m", "c_z", "Ixx", "Iyy"):
        assert here[name].value == pytest.approx(there[name].value, rel=5e-3)


def test_a_gap_in_a_segment_is_refused_and_elsewhere_reported(paper: Path) -> None:
    lines = (paper.parent / "handles/data/IMU_Single.csv").read_text().splitlines(keepends=True)
    (paper.parent / "gap.csv").write_text("".join(lines[:50000] + lines[50400:]))
    path = variant(paper, ("handles/data/IMU_Single.csv", "gap.csv"))
    with pytest.raises(
        PalpateError, match=r"segments.train: .* not seen by every instrument .* leave that time out|Leave"
    ):
        run_experiment(read_experiment(path))
    (paper.parent / "gap.csv").write_text("".join(lines[:20000] + lines[20400:]))
    findings = prepare_experiment(read_experiment(path)).findings
    assert any("IMU: 1 gaps, the longest 0.40" in f.sentence and not f.fatal for f in findings)
