"""The motion stage through its public interface: capture twins, the paper's excerpts, and mistakes in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment, read_experiment
from palpate.experiment.file.schema import MotionPart
from palpate.experiment.inspection import inspect_recordings
from palpate.experiment.stage.capture import CapturedMotion, build_motion
from palpate.motion.derivatives import design_lowpass
from palpate.recording import Channel, Clock, Recording, load
from palpate.recording.instruments import write_microstrain, write_vicon
from palpate.twin.handle import capture_twin, write_capture_twin
from tests.command import palpate

DURATION_S = 60.0
SHORT_S = 25.0
"""Enough where nothing statistical is asked."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture_twin(tmp_path_factory.mktemp("capture"), seed=3, duration_s=DURATION_S)


@pytest.fixture(scope="module")
def built(twin: Path) -> CapturedMotion:
    return build_motion(read_experiment(twin))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markers without faults: their repair takes most of the time."""
    return write_capture_twin(tmp_path_factory.mktemp("short"), seed=3, clean=True, duration_s=SHORT_S)


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For what is refused or stated."""
    return write_capture_twin(tmp_path_factory.mktemp("brief"), seed=3, clean=True, duration_s=12.0)


@pytest.fixture(scope="module")
def short_built(short: Path) -> CapturedMotion:
    return build_motion(read_experiment(short))


def variant(twin: Path, *changes: tuple[str, str]) -> Path:
    text = twin.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = twin.parent / f"variant{abs(hash(changes))}.yaml"
    path.write_text(text)
    return path


def test_the_faults_of_the_twin_are_named_and_no_others(twin: Path, built: CapturedMotion) -> None:
    truth = json.loads((twin.parent / "truth.json").read_text())["marker_faults"]
    found = {(f.kind, *sorted(f.names)) for f in built.body.checked.faults}
    assert found == {(f["kind"], *sorted(f["names"])) for f in truth}


def test_clocks_come_with_intervals_that_hold_the_truth(twin: Path, built: CapturedMotion) -> None:
    truth = json.loads((twin.parent / "truth.json").read_text())["clocks"]
    for name, device in built.devices.items():
        clock, true = device.clock, truth[name]
        assert clock is not None
        assert clock.drift_observed
        for t in (10.0, 30.0, 50.0):
            offset = t - (t * (1 + 1e-6 * true["drift_ppm"]) + true["offset_s"])
            low, high = clock.interval_at(np.array(t))
            assert low - 5e-6 < offset < high + 5e-6
            assert high - low < 1e-4
        assert clock.drift_ppm == pytest.approx(-true["drift_ppm"], abs=2.5)


def test_the_vertical_and_the_imu_are_found(twin: Path, built: CapturedMotion) -> None:
    truth = json.loads((twin.parent / "truth.json").read_text())
    assert np.degrees(np.arccos(built.up @ truth["up_in_capture_frame"])) < 0.02
    assert built.placement is not None
    assert np.abs(built.placement.r_ab - [-0.0861, 0.0125, -0.0290]).max() < 2e-4
    assert not [f for f in built.findings if f.cause == "placement"]


def test_motion_of_the_sensor_is_the_true_one(built: CapturedMotion) -> None:
    """Derivatives of noisy markers are noisy; through the low-pass that a balance applies they are the hand's."""
    twin = capture_twin(3, duration_s=DURATION_S)
    assert built.motion is not None
    assert built.derivatives is not None
    assert built.derivatives.bandwidth is not None
    seen = np.flatnonzero(np.isfinite(built.motion.omega_dot).all(axis=1))
    assert len(seen) > 0.95 * len(built.motion.times_s)
    assert (np.diff(seen) == 1).all()
    true = twin.hand.motion(built.motion.times_s[seen])
    lowpass = design_lowpass(100.0, built.derivatives.bandwidth.bandwidth_hz)
    for name in ("omega", "omega_dot", "specific_acceleration"):
        signal = lowpass.apply(getattr(true, name).T)
        off = lowpass.apply(getattr(built.motion, name)[seen].T) - signal
        assert np.sqrt((off**2).mean()) < 0.02 * np.sqrt((signal**2).mean())


def test_fusion_is_closer_to_the_truth_than_markers_alone(short: Path, short_built: CapturedMotion) -> None:
    fused = build_motion(read_experiment(variant(short, ("clocks: auto", "derivatives: {method: fusion}"))))
    hand = capture_twin(3, duration_s=SHORT_S).hand

    def error(motion: CapturedMotion) -> float:
        assert motion.motion is not None
        seen = np.isfinite(motion.motion.omega_dot).all(axis=1)
        true = hand.motion(motion.motion.times_s[seen]).omega_dot
        return float(np.sqrt(((motion.motion.omega_dot[seen] - true) ** 2).mean()))

    assert error(fused) < 0.2 * error(short_built)


def test_stated_clocks_are_taken_and_known_to_half_a_frame(brief: Path) -> None:
    truth = json.loads((brief.parent / "truth.json").read_text())["clocks"]
    samples = {n: round((8.0 * (1 + 1e-6 * c["drift_ppm"]) + c["offset_s"]) * 1000) + 1 for n, c in truth.items()}
    stated = f"clocks: {{mocap: 801, imu: {samples['imu']}, wrench: {samples['wrench']}}}"
    motion = build_motion(read_experiment(variant(brief, ("clocks: auto", stated))))
    for name, device in motion.devices.items():
        assert device.clock is not None
        assert device.offset is None
        assert not device.clock.drift_observed
        assert float(device.clock.offset_at(np.array(8.0))) == pytest.approx(-truth[name]["offset_s"], abs=2e-3)


def test_plain_files_are_recognised_by_their_units_and_compared(short: Path) -> None:
    folder = short.parent
    truth = json.loads((folder / "truth.json").read_text())["clocks"]
    found = inspect_recordings([load(folder / name) for name in ("wrench.mat", "markers.csv", "imu.csv")])
    assert found.reference == "mocap"
    for name, device in found.devices.items():
        assert device.clock is not None
        offset = 12.0 - (12.0 * (1 + 1e-6 * truth[name]["drift_ppm"]) + truth[name]["offset_s"])
        assert float(device.clock.offset_at(np.array(12.0))) == pytest.approx(offset, abs=1e-4)
    alone = inspect_recordings([load(folder / name) for name in ("wrench.mat", "imu.csv")])
    assert alone.reference == "imu"
    assert alone.body is None
    offset = float(alone.devices["wrench"].clock.offset_at(np.array(12.0)))  # type: ignore[union-attr]
    assert offset == pytest.approx(truth["imu"]["offset_s"] - truth["wrench"]["offset_s"], abs=0.02)


def test_recordings_that_do_not_belong_together_are_refused_not_guessed(short: Path, tmp_path: Path) -> None:
    other = write_capture_twin(tmp_path, seed=99, clean=True, duration_s=SHORT_S)
    found = inspect_recordings([load(short.parent / "markers.csv"), load(other.parent / "imu.csv")])
    assert found.devices["imu"].clock is None
    assert any(f.cause == "clock" and "cannot be known" in f.sentence for f in found.findings)


def test_from_the_command_line(twin: Path, built: CapturedMotion, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the motion that was built already: `test_tour.py` has one built by the command."""

    def known(experiment: Experiment[MotionPart], *_: object) -> CapturedMotion:
        assert experiment.source == twin
        return built

    monkeypatch.setattr("palpate.experiment.stage.capture.build_motion", known)
    table = twin.parent / "motion.parquet"
    done = palpate("inspect", twin, "--json", "--table", table)
    assert done.returncode == 0, done.stderr
    written = load(table)
    assert len(written.one_clock()) == 6000
    assert {"position.x", "quaternion.w", "omega_dot.z", "f_x", "n_z"} <= set(written)
    data = json.loads(done.stdout)
    assert [r["format"] for r in data["recordings"]] == ["vicon-csv", "microstrain-csv", "dspace-mat"]
    assert {f["kind"] for f in data["markers"]["faults"]} == {"swapped", "moved"}
    assert data["clocks"]["imu"]["drift_observed"]
    assert data["motion"]["frame"] == "sensor"
    assert "must end in .csv" in palpate("inspect", twin, "--table", twin.parent / "motion.xls").stderr
    shown = palpate("inspect", twin).stdout
    assert "their labels are exchanged" in shown
    refused = palpate("identify", twin)
    assert refused.returncode == 1
    assert "nothing is identified in the motion stage" in refused.stderr


REFUSED: list[tuple[tuple[str, str], list[str]]] = [
    (("[M1, M2, M3]", "[M1, M2, N3]"), ["markers.sensor", "'N3'", "M3"]),
    (("[M1, M2, M3]", "[M1, M2]"), ["markers.sensor.markers", "2 entries instead of 3"]),
    (("  sensor:  ", "  body: [M1, M2, Mx]\n  sensor:  "), ["markers.body", "'Mx'"]),
    (("  sensor:  ", "  reference: static\n  sensor:  "), ["recordings.static", "missing"]),
    (("  sensor:  ", "  still: [5, 10]\n  reference: still\n  sensor:  "), ["markers.reference", "moves"]),
    (("  sensor:  ", "  hinge: {axis: [M4, M5]}\n  sensor:  "), ["markers.hinge", "towards and points"]),
    (("  sensor:  ", "  axel: {}\n  sensor:  "), ["no key 'axel'", "axle"]),
    (("clocks: auto", "clocks: {mocap: 20}"), ["clocks.imu", "missing"]),
    (("clocks: auto", "clocks: {mocap: 99999, imu: 1, wrench: 1}"), ["clocks.mocap", "there is no sample 99999"]),
    (("  sensor:", "  sensors:"), ["no key 'sensors'"]),
    (("stage: motion", "stage: moton"), ["stage", "Did you mean 'motion'"]),
    (("file: markers.csv", "file: marker.csv"), ["recordings.mocap.file", "markers.csv"]),
    (("imu_pose:", "derivatives: {method: fusoin}\nimu_pose:"), ["derivatives.method", "Did you mean 'fusion'"]),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[w[0] + " " + c[1][:20] for c, w in REFUSED])
def test_a_mistake_is_named_with_its_line(brief: Path, change: tuple[str, str], words: list[str]) -> None:
    path = variant(brief, change)
    with pytest.raises(PalpateError) as error:
        build_motion(read_experiment(path))
    for word in (path.name, "line", *words):
        assert word in str(error.value), str(error.value)


DOOR = """\
title: Door of the paper, excerpt
stage: motion
recordings:
  mocap: {{file: {real}/door_trajectories_excerpt.csv}}
  static: {{file: {real}/door_static_excerpt.csv}}
markers:
  body: [{body}]
  sensor:
    markers: [WB_Door1, WB_Door2, WB_Door3]
    offset: {{rotation: [[.0997, -.9950, 0], [.9950, .0997, 0], [0, 0, 1]], translation: [-.0897, -.0201, -.0066]}}
  hinge: {{axis: [WB_Frame3, WB_Frame4, WB_Frame6, WB_Frame7], towards: WB_Frame1, points: down}}
"""
BODY = [*(f"WB_Door{i}" for i in range(1, 11)), *(f"WB_Frame{i}" for i in (3, 4, 6, 7, 9, 10))]


@pytest.mark.real
def test_the_paper_s_door_from_its_excerpt(real_folder: Path, tmp_path: Path) -> None:
    """Figures of the recordings' own README: angles, the marker that moved, a sensor whose markers are hidden."""
    path = tmp_path / "door.yaml"
    path.write_text(DOOR.format(real=real_folder, body=", ".join(BODY)))
    motion = build_motion(read_experiment(path))
    assert motion.hinge_motion is not None
    angle = np.degrees(motion.hinge_motion.angle_rad)
    # against the shut door at 1960; the README's are about the axis of the motion, ours about the hinge markers' line
    told = [0.0, 56.235 - 0.145, 0.5 * (70.47 + 70.94) - 0.145, 0.5 * (42.14 + 41.31) - 0.145]
    assert [angle[i : i + 4].mean() for i in range(0, 16, 4)] == pytest.approx(told, abs=0.15)
    assert [f.names for f in motion.body.checked.faults if f.kind == "moved"] == [("WB Sys Redo:WB_Frame9",)]
    assert not motion.body.markers.seen[:, :3].all(axis=1).any()
    assert motion.poses.seen.all()
    assert motion.motion is None  # sixteen frames in four groups have no derivatives, and that is said
    assert any(f.cause == "derivatives" for f in motion.findings)


WHEELBARROW = """\
stage: motion
recordings:
  mocap: {{file: {real}/wheelbarrow_trajectories_excerpt.csv}}
markers:
  axle: {{axle: [WB_ID8, WB_ID11], across: [[WB_ID9, WB_ID6], [WB_ID10, WB_ID13]], radius: {radius}, floor: -9.5 mm}}
"""


@pytest.mark.real
def test_the_paper_s_wheelbarrow_from_its_excerpt(real_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wheelbarrow.yaml"
    path.write_text(WHEELBARROW.format(real=real_folder, radius="0.197 m"))
    motion = build_motion(read_experiment(path))
    assert motion.frame == "axle"
    assert motion.rolling is not None
    assert np.nanmedian(motion.rolling.height_m) == pytest.approx(0.197, rel=0.05)
    assert not [f for f in motion.findings if f.cause.startswith("wheel")]
    path.write_text(WHEELBARROW.format(real=real_folder, radius="0.25 m"))
    assert [f for f in build_motion(read_experiment(path)).findings if f.cause == "wheel-radius"]


def door_file(folder: Path, *, lean_rad: float = 0.02, noise_m: float = 3e-4) -> tuple[Path, np.ndarray]:
    """Markers on a door that opens by 80 deg and closes, none on its hinge, which leans a little."""
    rng = np.random.default_rng(5)
    t = np.arange(3000) / 100.0
    angle = 0.7 * (1 - np.cos(2 * np.pi * t / 15.0)) * (t > 1.0)
    points = np.array([[0.2, 0, 0.1], [0.8, 0.02, 0.2], [0.7, 0, 1.5], [0.3, 0.03, 1.7], [0.5, -0.02, 0.9]])
    c, s, zero, one = np.cos(angle), np.sin(angle), 0 * angle, 1 + 0 * angle
    swing = np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]).transpose(2, 0, 1)
    cl, sl = np.cos(lean_rad), np.sin(lean_rad)
    lean = np.array([[1, 0, 0], [0, cl, -sl], [0, sl, cl]])
    world = points @ (lean @ swing).swapaxes(1, 2) + [2.0, 1.0, 0.0] + noise_m * rng.normal(size=(len(t), 5, 3))
    clock = Clock("mocap", t)
    channels = {f"D{i}": Channel(f"D{i}", world[:, i], clock, "m", "capture") for i in range(5)}
    write_vicon(folder / "door.csv", Recording(channels))
    path = folder / "door.yaml"
    path.write_text("stage: motion\nrecordings: {mocap: {file: door.csv}}\nmarkers: {hinge: {}}\n")
    return path, angle


def test_a_hinge_without_markers_is_found_from_the_motion(tmp_path: Path) -> None:
    path, angle = door_file(tmp_path)
    motion = build_motion(read_experiment(path))
    assert motion.hinge is not None
    assert motion.hinge_motion is not None
    assert motion.hinge.T_world_hinge[:3, 2] == pytest.approx([0, -np.sin(0.02), np.cos(0.02)], abs=2e-3)
    assert np.abs(motion.hinge_motion.angle_rad - angle).max() < 0.01
    assert motion.inclination_rad is not None
    assert motion.inclination_rad[0] == pytest.approx(0.02, abs=2e-3)
    assert motion.inclination_rad[1] == np.inf  # nothing measured the vertical, and the file does not say it did
    assert [f.cause for f in motion.findings] == []


def rewritten(twin: Path, folder: Path, change: Callable[[Recording], Recording]) -> Path:
    """The twin's experiment with another file of markers."""
    for name in ("imu.csv", "wrench.mat", "truth.json", "motion.yaml"):
        (folder / name).write_bytes((twin.parent / name).read_bytes())
    write_vicon(folder / "markers.csv", change(load(twin.parent / "markers.csv")))
    return folder / "motion.yaml"


def test_rows_that_the_file_leaves_out_are_gaps(twin: Path, tmp_path: Path, built: CapturedMotion) -> None:
    """10 s of rows are missing: vertical and lever arm must not take the neighbours for neighbours."""

    def cut(recording: Recording) -> Recording:
        times = recording.one_clock().times_s
        kept = (times < 20) | (times >= 30)
        clock = Clock("mocap", times[kept])
        return Recording(
            {n: Channel(n, c.samples[kept], clock, c.unit, c.frame) for n, c in recording.channels.items()}
        )

    motion = build_motion(read_experiment(rewritten(twin, tmp_path, cut)))
    assert motion.placement is not None
    assert built.placement is not None
    assert np.degrees(np.arccos(min(1.0, motion.up @ built.up))) < 0.02
    assert np.abs(motion.placement.r_ab - built.placement.r_ab).max() < 2e-4
    assert not motion.poses.seen[(motion.poses.times_s > 21) & (motion.poses.times_s < 29)].any()


def test_a_capture_frame_with_y_up_is_declared_or_pointed_out(
    short: Path, tmp_path: Path, short_built: CapturedMotion
) -> None:
    def turned(recording: Recording) -> Recording:  # x, y, z -> y, z, x: what was z is now y
        channels = recording.channels.items()
        return Recording({n: Channel(n, c.samples[:, [1, 2, 0]], c.clock, c.unit, c.frame) for n, c in channels})

    path = rewritten(short, tmp_path, turned)
    assert any(f.cause == "vertical" and "up: y" in f.sentence for f in build_motion(read_experiment(path)).findings)
    path.write_text(path.read_text().replace("markers:\n", "markers:\n  up: y\n", 1))
    motion = build_motion(read_experiment(path))
    assert motion.up == pytest.approx(short_built.up, abs=1e-9)
    assert motion.poses.position[100] == pytest.approx(short_built.poses.position[100], abs=1e-9)
    assert [f.cause for f in motion.findings] == [f.cause for f in short_built.findings]


def test_a_dropout_of_the_imu_is_no_straight_line_for_the_fusion(short: Path, tmp_path: Path) -> None:
    for name in ("markers.csv", "wrench.mat", "motion.yaml"):
        (tmp_path / name).write_bytes((short.parent / name).read_bytes())
    imu = load(short.parent / "imu.csv")
    times = imu.one_clock().times_s
    kept = (times < 15) | (times >= 15.2)
    clock = Clock("imu", times[kept])
    channels = {n: Channel(n, c.samples[kept], clock, c.unit, c.frame) for n, c in imu.channels.items()}
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, imu.format))
    path = tmp_path / "motion.yaml"
    path.write_text(path.read_text().replace("clocks: auto", "derivatives: {method: fusion}"))
    motion = build_motion(read_experiment(path))
    assert motion.motion is not None
    true = capture_twin(3, duration_s=SHORT_S).hand.motion(motion.motion.times_s).omega
    off = np.abs(motion.motion.omega - true).max(axis=1)
    imu_clock = motion.devices["imu"].clock
    assert imu_clock is not None
    there = np.abs(motion.motion.times_s - imu_clock.to_reference(np.array(15.1))) < 0.15
    assert np.nanmax(off[there], initial=0.0) < 0.5  # markers carry it, or it is not known
    assert np.nanmax(off[~there]) < 0.05


def test_markers_of_two_bodies_are_no_body() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(2000) / 100.0
    clock = Clock("mocap", t)
    channels = {}
    for body in range(2):
        swing = 0.4 * np.sin(t * (0.7 + 0.4 * body))
        for i in range(5):
            p = rng.uniform(-0.3, 0.3, 3)
            c, s = np.cos(swing), np.sin(swing)
            x = np.array([c * p[0] - s * p[1], s * p[0] + c * p[1], p[2] + 0 * t])
            name = f"B{body}M{i}"
            noise = 3e-4 * rng.normal(size=(len(t), 3))
            channels[name] = Channel(name, x.T + np.array([body, 0, 1.0]) + noise, clock, "m", "capture")
    found = inspect_recordings([Recording(channels)])
    assert found.body is None
    assert any("not one rigid body" in f.sentence for f in found.findings)


def test_a_plain_table_of_one_marker_is_read_by_its_columns(tmp_path: Path) -> None:
    path, angle = door_file(tmp_path)
    recording = load(tmp_path / "door.csv")
    table = {"t": recording.one_clock().times_s}
    for name, channel in recording.channels.items():
        table |= {f"{name}_{axis}": 1e3 * channel.samples[:, i] for i, axis in enumerate("xyz")}
    pl.DataFrame(table).write_csv(tmp_path / "plain.csv")
    columns = ", ".join(f"D{i}: {{column: [D{i}_x, D{i}_y, D{i}_z], unit: mm}}" for i in range(5))
    text = (
        f"stage: motion\nrecordings: {{mocap: {{file: plain.csv, columns: {{{columns}}}}}}}\nmarkers: {{hinge: {{}}}}\n"
    )
    path.write_text(text)
    motion = build_motion(read_experiment(path))
    assert motion.hinge_motion is not None
    assert np.abs(motion.hinge_motion.angle_rad - angle).max() < 0.01
    assert motion.angle is not None
    assert np.nanmax(np.abs(motion.angle.speed - np.gradient(angle, 0.01))[200:]) < 0.15
