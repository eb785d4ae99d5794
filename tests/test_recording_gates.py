"""Faults of instruments are found in their samples; quantised, still and held signals are not taken for faults."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter, lfilter

from palpate.errors import DataProblem, UnknownName
from palpate.findings import Finding
from palpate.physics.arrays import FloatArray
from palpate.recording import Channel, Clock, Recording, load
from palpate.recording.gates import check_channels, check_pair
from palpate.twin.handle import HandleTwin, handle_recordings, random_hand, random_handle
from palpate.twin.instruments import Instruments
from tests.oracles.gates_of_other_make import simulate

TOOLS = Instruments()
WRENCH = [f"{kind}{axis}1_RawZero" for kind in "FT" for axis in "xyz"]
IMU = [f"{kind}.{axis}" for kind in ("acceleration", "angular_rate") for axis in "xyz"]
SHEET = dict(
    zip(
        [*WRENCH, *IMU],
        np.repeat([TOOLS.force_noise, TOOLS.moment_noise, TOOLS.acceleration_noise, TOOLS.rate_noise], 3).tolist(),
        strict=True,
    )
)


@lru_cache(maxsize=64)
def twin(seed: int, noise_in_steps: float | None = None) -> tuple[Recording, Recording]:
    """Load cell and IMU at 1 kHz, still for the first and last two of 20 s."""
    tools = TOOLS
    if noise_in_steps is not None:
        step = (tools.force_step * noise_in_steps, tools.moment_step * noise_in_steps)
        tools = replace(tools, force_noise=step[0], moment_noise=step[1])
    rng = np.random.default_rng([seed, 5])
    hand = random_hand(rng, 20.0, 9.81, still_s=1.0)
    lever = np.array([-0.0861, 0.0125, -0.0290])
    wrench, imu, _ = handle_recordings(
        HandleTwin(random_handle(rng), hand, 20.0, 1.0, seed, 9.81, np.eye(3), lever, tools)
    )
    return wrench, imu


def recorded(x: FloatArray, rate_hz: float = 1000.0, times_s: FloatArray | None = None) -> Recording:
    clock = Clock("cell", np.arange(len(x)) / rate_hz if times_s is None else times_s)
    return Recording({"Fx": Channel("Fx", x, clock, "N")})


def found(x: FloatArray, rate_hz: float = 1000.0, **options: object) -> list[tuple[str, bool]]:
    return [(f.cause, f.fatal) for f in check_channels(recorded(x, rate_hz), ["Fx"], **options)]  # type: ignore[arg-type]


def one(x: FloatArray, **options: object) -> Finding:
    (finding,) = check_channels(recorded(x), ["Fx"], **options)  # type: ignore[arg-type]
    return finding


def rounded(x: FloatArray, step: float) -> FloatArray:
    return np.round(x / step) * step


def noisy_sines(seed: int, n: int = 20_000) -> FloatArray:
    rng = np.random.default_rng(seed)
    t = np.arange(n) / 1000
    return rounded(20 * np.sin(2.1 * t) + 8 * np.sin(9 * t + 1) + 3.3 + rng.normal(0, 0.15, n), 1 / 14)


def cut_off(x: FloatArray, level: float) -> FloatArray:
    middle = np.median(x)
    return np.minimum(x, middle + level * (x.max() - middle))


@pytest.mark.parametrize("seed", range(5))
def test_a_good_recording_is_clean(seed: int) -> None:
    wrench, imu = twin(seed)
    for segments in (None, [(0.0, 2.0)], [(4.0, 14.0), (15.0, 16.0), (16.0, 17.0)]):
        assert check_channels(wrench, WRENCH, noise=SHEET, segments=segments) == ()
        assert check_channels(imu, IMU, noise=SHEET, segments=segments) == ()


@pytest.mark.parametrize("noise_in_steps", [1e-9, 0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_rounding_and_stillness_are_no_faults(seed: int, noise_in_steps: float) -> None:
    wrench, _ = twin(seed, noise_in_steps)
    assert check_channels(wrench, WRENCH) == ()


@pytest.mark.parametrize("name", [*WRENCH, *IMU])
def test_clipping_of_every_channel_is_found(name: str) -> None:
    for seed in range(4):
        channel = (twin(seed)[0] if name in WRENCH else twin(seed)[1])[name]
        for sign in (1, -1):
            assert found(sign * cut_off(sign * channel.samples, 0.7)) == [("clipping", True)]


def test_a_clipped_signal_without_noise_is_found_and_a_whole_one_is_not() -> None:
    t = np.arange(20_000) / 1000
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.sin(rng.uniform(0.3, 20) * t) + 0.5 * np.sin(rng.uniform(0.3, 20) * t) + rng.uniform(-1, 1)
        assert found(rounded(x, 1e-3)) == []
        assert found(rounded(cut_off(x, 0.8), 1e-3)) == [("clipping", True)]


def test_the_message_of_clipping_says_where_and_how_much() -> None:
    x = noisy_sines(0)
    x[5000:5200] = 40.0
    x[9000:9100] = 40.0
    assert one(x).sentence == (
        "channel 'Fx': cut off at its maximum, 40 N, from 5.000 to 5.199 s and at 1 more place, 1.5 % of the "
        "samples; use a larger range, or segments without these places"
    )


def test_little_clipping_is_a_warning_and_clipping_outside_the_segments_is_none() -> None:
    x = noisy_sines(1, 60_000)
    top = int(np.argmax(x))
    clipped = x.copy()
    clipped[top - 25 : top + 25] = x.max()
    assert found(clipped) == [("clipping", False)]
    assert found(clipped, segments=[(top / 1000 - 1, top / 1000 + 1)]) == [("clipping", True)]
    assert found(clipped, segments=[(0, top / 1000 - 0.1), (top / 1000 + 0.1, 60)]) == []


def rests(seed: int, rate_hz: float, offset: float) -> FloatArray:
    """An angle between 0 and 1.5 rad that stops often, most of all at its minimum: a door."""
    rng = np.random.default_rng(seed)
    pieces, at = [], 0.0
    for _ in range(12):
        to = 0.0 if rng.uniform() < 0.4 else rng.uniform(0, 1.5)
        s = np.linspace(0, 1, round(rng.uniform(0.5, 2) * rate_hz))
        pieces += [
            np.full(round(rng.uniform(0.1, 1.5) * rate_hz), at),
            at + (to - at) * (10 * s**3 - 15 * s**4 + 6 * s**5),
        ]
        at = to
    return np.concatenate(pieces) + offset


@pytest.mark.parametrize("step", [1e-5, 1e-3, 0.02])
@pytest.mark.parametrize("rate_hz", [100.0, 1000.0])
def test_a_door_that_rests_at_its_stop_is_not_clipped(rate_hz: float, step: float) -> None:
    for seed in range(8):
        for offset in (0.0, 0.3):
            x = rests(seed, rate_hz, offset)
            noise = np.random.default_rng(seed).normal(0, step, len(x))
            for share in (0.0, 0.1, 0.5):
                assert found(rounded(x + share * noise, step), rate_hz) == []


@pytest.mark.parametrize("hold", [3, 10, 33])
def test_a_slow_sensor_stored_at_a_high_rate_is_neither_clipped_nor_frozen(hold: int) -> None:
    for seed in range(5):
        slow = noisy_sines(seed, 60_000)[::hold]
        assert found(np.repeat(slow, hold)) == []


def test_a_held_load_cell_is_not_clipped_unless_it_is() -> None:
    for seed in range(10):
        for name in WRENCH:
            for first in (0, 3, 6):
                assert found(np.repeat(twin(seed)[0][name].samples[first::10], 10)) == []
    x = noisy_sines(0, 60_000)
    assert found(np.repeat(cut_off(x, 0.7)[::10], 10)) == [("clipping", True)]


@pytest.mark.parametrize("name", [*WRENCH, *IMU])
def test_a_sensor_that_repeats_itself_is_found(name: str) -> None:
    for seed in range(4):
        x = (twin(seed)[0] if name in WRENCH else twin(seed)[1])[name].samples.copy()
        at = int(np.random.default_rng(seed).integers(4000, 15_000))
        value = x[at] if x[at] != 0 else x[at + 1]
        x[at : at + 60] = value
        assert found(x) == [("frozen", False)]
        x[at : at + 400] = value
        assert found(x) == [("frozen", True)]
        x[at:] = value
        assert found(x) == [("frozen", True)]


TABLE_S = [(0.5, 3.5), (4.0, 88.5)]


def tables(seed: int) -> dict[str, FloatArray]:
    """An encoder and a torque by instruments whose noise does not show, of a gate that was simulated elsewhere."""
    run, columns = simulate(seed)
    smooth = butter(2, 0.1)
    return {
        "t": columns["t"],
        "encoder": rounded(run.seen[::5], 2 * np.pi / 4096),
        "filtered angle": np.round(lfilter(*smooth, columns["angle"]), 4),
        "coarse torque": rounded(columns["torque"], 0.5),
        "filtered torque": np.round(lfilter(*smooth, columns["torque"]), 3),
    }


def faults_of(table: dict[str, FloatArray], angle: str, torque: str) -> list[str]:
    """Places of what is said of a table, each once."""
    clock = Clock("signals", table["t"])
    units = {angle: "rad", torque: "N m"}
    recording = Recording({name: Channel(name, table[name], clock, unit) for name, unit in units.items()})
    findings = list(check_channels(recording, [angle, torque], segments=TABLE_S))
    pair = np.column_stack([table[angle], table[torque]])
    findings += check_pair(table["t"], pair, [f"channel {angle!r}", f"channel {torque!r}"], TABLE_S)
    assert all(f.cause == "frozen" for f in findings), findings
    return sorted({f.place for f in findings})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pair", [("encoder", "coarse torque"), ("filtered angle", "filtered torque")])
def test_a_table_without_noise_shows_what_froze_and_is_else_clean(seed: int, pair: tuple[str, str]) -> None:
    whole = tables(seed)
    assert faults_of(whole, *pair) == []
    for name in pair:
        for start, stop in ((35.0, 55.0), (50.3, 90.0)):
            at = slice(int(200 * start), int(200 * stop))
            held, dead = (whole | {name: whole[name].copy()} for _ in range(2))
            held[name][at], dead[name][at] = whole[name][at.start], 0.0
            assert faults_of(held, *pair) == [f"channel {name!r}"]
            if stop < 60:
                assert faults_of(dead, *pair) == [f"channel {name!r}"]


@pytest.mark.parametrize("name", ["encoder", "filtered angle"])
def test_an_encoder_that_stops_for_a_moment_is_found_by_its_jump(name: str) -> None:
    table = tables(2)
    x = table[name].copy()
    at = int(np.argmax(np.abs(np.diff(x[6000:14000])))) + 6000
    x[at : at + 60] = x[at]
    assert found(x, 200.0) == [("frozen", False)]


def test_a_command_of_levels_and_an_angle_that_begins_again_are_not_frozen() -> None:
    t = np.arange(20_000) / 1000
    assert found(rounded(3 * np.sin(2 * t), 1.0) + 0.3) == []  # a motor's command
    clock = Clock("signals", t)
    turning = np.remainder(rounded(0.02 * t**1.5, 2 * np.pi / 1024) + np.pi, 2 * np.pi) - np.pi
    recording = Recording({"wheel": Channel("wheel", turning, clock, "rad")})
    assert check_channels(recording, ["wheel"]) == ()
    gap = np.concatenate([t[:8000], t[9000:]])
    resting = rounded(np.where(gap < 8, 0.4, 0.4 + np.sin(gap - 8) ** 2), 1e-3)
    recording = Recording({"angle": Channel("angle", resting, Clock("signals", gap), "rad")})
    assert [f.cause for f in check_channels(recording, ["angle"])] == ["dropouts"]


def test_freezing_says_where() -> None:
    x = noisy_sines(3)
    x[7000:7050] = x[7000]
    x[9000:9040] = x[9000]
    message = one(x).sentence
    assert message.startswith(
        "channel 'Fx': repeats its last value from 7.000 to 7.049 s and at 1 more place, 0.45 % of"
    )


def test_sensors_that_fall_to_zero_are_found_and_ones_that_rest_there_are_not() -> None:
    rng = np.random.default_rng(0)
    x = 9.81 + rng.normal(0, 0.006, 10_000)
    x[4000:4080] = 0.0
    assert found(x) == [("frozen", False)]
    speed = np.maximum(0, np.sin(3 * np.arange(10_000) / 1000))
    assert found(np.where(speed > 0, rounded(speed + rng.normal(0, 0.002, 10_000), 1e-3), 0.0)) == []


def test_constant_channels() -> None:
    assert one(np.full(1000, 2.5)).sentence.startswith("channel 'Fx': always 2.5 N; ")
    assert found(np.full(1000, 2.5)) == [("constant", True)]
    assert found(np.where(np.arange(1000) % 7 < 3, 0.0, 0.1)) == [("constant", True)]
    x = noisy_sines(4)
    x[:5000] = 1.0
    assert found(x, segments=[(0.0, 4.0)]) == [("constant", True)]


def test_gaps_and_missing_samples_are_counted_once_per_clock() -> None:
    x, t = noisy_sines(5), np.arange(20_000) / 1000
    keep = np.ones(20_000, dtype=bool)
    keep[3000:3021] = False
    clock = Clock("cell", t[keep])
    y = x[keep].copy()
    y[8000:8004] = np.nan
    other = Clock("imu", t)
    channels = [Channel("a", y, clock), Channel("b", x[keep], clock), Channel("c", x, other)]
    (finding,) = check_channels(Recording({c.name: c for c in channels}), ["a", "b", "c"])
    assert (finding.cause, finding.fatal) == ("dropouts", False)
    assert finding.sentence.startswith(
        "clock 'cell': misses 0.125 % of its samples (21 in gaps, 4 not numbers) in 2 places, "
        "the longest 0.022 s at 2.999 s; "
    )
    assert check_channels(Recording({"a": channels[0]}), ["a"], segments=[(4.0, 7.0), (9.0, 12.0)]) == ()


def test_segments_that_overlap_or_touch_count_once() -> None:
    x = noisy_sines(5)
    x[9000:9100] = np.nan
    (whole,) = check_channels(recorded(x), ["Fx"])
    assert "misses 0.5 % of its samples (0 in gaps, 100 not numbers) in 1 place," in whole.sentence
    assert check_channels(recorded(x), ["Fx"], segments=[(5.0, 20.0), (0.0, 12.0)]) == (whole,)
    assert check_channels(recorded(x), ["Fx"], segments=[(0.0, 9.05), (9.05, 20.0)]) == (whole,)


@pytest.mark.parametrize(("missing", "fatal"), [(900, False), (1100, True)])
def test_many_dropouts_are_fatal(missing: int, fatal: bool) -> None:
    x = noisy_sines(6)
    x[np.random.default_rng(0).permutation(20_000)[:missing]] = np.nan
    assert found(x) == [("dropouts", fatal)]


def test_all_samples_missing_and_empty_segments_are_fatal() -> None:
    assert found(np.full(1000, np.nan)) == [("dropouts", True)]
    assert found(noisy_sines(0), segments=[(100.0, 110.0)]) == [("dropouts", True)]


def test_jitter_is_no_gap() -> None:
    rng = np.random.default_rng(2)
    times = np.arange(20_000) / 1000 + rng.uniform(-0.00045, 0.00045, 20_000)
    assert check_channels(recorded(noisy_sines(7), times_s=times), ["Fx"]) == ()


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.5, None),
        (1.0, None),
        (4.0, None),
        (6.0, "times as much; look for vibration"),
        (0.03, "filtered, smoothed or coarsely"),
    ],
)
def test_noise_is_compared_with_the_data_sheet(factor: float, words: str | None) -> None:
    t = np.arange(20_000) / 1000
    x = 20 * np.sin(2.1 * t) + factor * np.random.default_rng(8).normal(0, 0.15, 20_000)
    findings = check_channels(recorded(x), ["Fx"], noise={"Fx": 0.15})
    assert [(f.cause, f.fatal) for f in findings] == ([] if words is None else [("noise", False)])
    assert all(words is not None and words in f.sentence for f in findings)


def test_motion_at_a_low_rate_is_not_taken_for_noise() -> None:
    t = np.arange(5000) / 100
    x = 30 * np.sin(2 * np.pi * 3 * t) + np.random.default_rng(9).normal(0, 0.02, 5000)
    assert found(x, 100.0, noise={"Fx": 0.02}) == []
    assert found(x + np.random.default_rng(9).normal(0, 0.2, 5000), 100.0, noise={"Fx": 0.02}) == [("noise", False)]


def test_smoothing_shows() -> None:
    x = np.convolve(noisy_sines(10), np.ones(50) / 50, mode="valid")
    assert found(x, noise={"Fx": 0.15}) == [("noise", False)]


def test_names_are_checked() -> None:
    clock = Clock("c", np.arange(10.0))
    recording = Recording({"marker": Channel("marker", np.zeros((10, 3)), clock, "m")})
    with pytest.raises(DataProblem, match="three components"):
        check_channels(recording, ["marker"])
    with pytest.raises(UnknownName):
        check_channels(recording, ["makrer"])


@pytest.mark.real
@pytest.mark.parametrize("name", ["pd_system_identification", "ddp_swingup", "gravity_compensation"])
def test_real_encoders_and_motors_raise_no_false_alarm(real_folder: Path, name: str) -> None:
    recording = load(real_folder / "dfki_pendulum" / f"{name}.csv")
    gates = [f.cause for f in check_channels(recording, list(recording))]
    # this log really pauses twice, for 5 ms at its start
    assert gates == (["dropouts"] if name == "gravity_compensation" else [])
