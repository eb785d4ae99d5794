"""An IMU's noise is measured where a balance lets it pass, whatever its colour; white noise changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter, freqz, lfilter

from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.imu_noise import _limited, expected_noise  # pyright: ignore[reportPrivateUsage]
from palpate.experiment.stage.inputs import fit_balance, imu_noise, move
from palpate.identify import compress
from palpate.motion.clock import Even, noise_floor
from palpate.motion.derivatives import design_lowpass
from palpate.motion.imu import PARALLEL, ImuNoise, judge_imu_noise
from palpate.physics.arrays import FloatArray
from palpate.recording import Channel, Recording, load
from palpate.recording.instruments import write_microstrain
from palpate.twin.handle import random_hand
from palpate.twin.instruments import Instruments, imu_signals

Colour = Callable[[FloatArray], FloatArray]
RATE_HZ, STD = 1000.0, np.repeat([0.06, 0.02], 3)
LOWPASS = design_lowpass(RATE_HZ, 20.0)
BUTTER = butter(2, 60, fs=RATE_HZ)


def white(x: FloatArray) -> FloatArray:
    return x


def averaged(x: FloatArray) -> FloatArray:
    return lfilter(np.full(10, 0.1), [1.0], x, axis=0)


def filtered(x: FloatArray) -> FloatArray:
    return lfilter(*BUTTER, x, axis=0)


def held(x: FloatArray) -> FloatArray:
    return np.repeat(x[::2], 2, axis=0)


@lru_cache(maxsize=8)
def moved(seed: int, still: bool) -> tuple[FloatArray, FloatArray]:
    """20 s of a handle's motion as an IMU without noise sees it."""
    rng = np.random.default_rng(seed)
    hand = random_hand(rng, 20.0, 9.80665, still_s=3.0 if still else -4.0)
    t = np.arange(20_000) / RATE_HZ
    exact = Instruments(acceleration_noise=0.0, rate_noise=0.0)
    a, w, _ = imu_signals(rng, exact, hand.motion(t), np.eye(3), np.array([-0.0861, 0.0125, -0.029]))
    return t, np.hstack([a, w])


def imu(seed: int, colour: Colour, std: FloatArray = STD, *, still: bool = True) -> Even:
    """A handle's IMU with noise that has passed a filter; held samples hold the motion too."""
    t, x = moved(seed % 2, still)
    noise = std * np.random.default_rng([seed, 1]).normal(size=(len(t), 6))
    return Even(t, held(x + noise) if colour is held else x + colour(noise), (), 0.0, np.arange(len(t)))


def judge(even: Even) -> ImuNoise:
    return judge_imu_noise(even, PARALLEL, LOWPASS, even.times_s)


def expected(power: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """White equivalents per unit of noise, for the force and the slope of the rate: from the filters' responses alone.

    The light smoothing before the low-pass hardly acts inside its band, so it is left out here.
    """
    f = np.linspace(0.1, 60.0, 600)
    low = np.abs(freqz(LOWPASS.taps, worN=f, fs=RATE_HZ)[1]) ** 2
    return np.sqrt([np.sum(power(f) * low * w) / np.sum(low * w) for w in (np.ones_like(f), f**2)])


@pytest.mark.parametrize(
    ("colour", "power"),
    [
        (white, np.ones_like),
        (averaged, lambda f: np.abs(freqz(np.full(10, 0.1), worN=f, fs=RATE_HZ)[1]) ** 2),
        (filtered, lambda f: np.abs(freqz(*BUTTER, worN=f, fs=RATE_HZ)[1]) ** 2),
        (held, lambda f: 2 * np.cos(np.pi * f / RATE_HZ) ** 2),
    ],
)
def test_the_white_equivalent_is_what_the_filters_let_pass(
    colour: Colour, power: Callable[[FloatArray], FloatArray]
) -> None:
    levels = np.array([judge(imu(seed, colour)).level / STD for seed in range(3)])  # type: ignore[operator]
    assert levels[:, :3].mean() == pytest.approx(expected(power)[0], rel=0.06)
    assert levels[:, 3:].mean() == pytest.approx(expected(power)[1], rel=0.06)


@pytest.mark.parametrize("seed", range(10))
def test_white_noise_is_left_to_split_halves(seed: int) -> None:
    for still in (True, False) if seed < 3 else (True,):
        found = judge(imu(seed, white, still=still))
        assert found.instead_of_halves is None
        assert found.findings == ()


@pytest.mark.parametrize("still", [True, False])
@pytest.mark.parametrize("colour", [averaged, filtered])
def test_filtered_noise_is_named_and_measured(colour: Colour, still: bool) -> None:
    even = imu(1, colour, still=still)
    found = judge(even)
    (finding,) = found.findings
    assert (finding.cause, finding.fatal) == ("imu-noise", False)
    assert "not white" in finding.sentence
    assert ("stillness" in finding.sentence) is still
    assert found.instead_of_halves is not None
    assert (found.instead_of_halves > 5 * noise_floor(even.x)).all()


def test_noise_too_weak_to_matter_changes_nothing() -> None:
    found = judge(imu(1, averaged, 0.03 * STD))
    assert found.level is not None
    assert found.instead_of_halves is None
    assert found.findings == ()


@pytest.mark.parametrize("still", [True, False])
def test_held_samples_are_named(still: bool) -> None:
    found = judge(imu(2, held, still=still))
    (finding,) = found.findings
    assert finding.cause == "held-samples"
    assert "50 % of the accelerometer's and 50 % of the gyroscope's" in finding.sentence
    assert found.instead_of_halves is not None


def test_a_coarse_resolution_at_rest_is_not_taken_for_held_samples() -> None:
    even = imu(3, white, 0.01 * STD)
    coarse = Even(even.times_s, np.round(even.x / 0.01) * 0.01, (), 0.0, even.rows)
    assert [f.cause for f in judge(coarse).findings if f.cause == "held-samples"] == []


def test_a_knock_at_rest_does_not_count() -> None:
    even = imu(4, white)
    knocked = even.x.copy()
    knocked[1500:1520] += 2.0 * np.random.default_rng(0).normal(size=(20, 6))
    found = judge(Even(even.times_s, knocked, (), 0.0, even.rows))
    assert found.level is not None
    assert found.level / STD == pytest.approx(1.0, abs=0.25)


def test_noise_that_nothing_tells_is_said_to_be_unknown() -> None:
    """Never still, and vibration that comes and goes."""
    even = imu(5, white, still=False)
    t = even.times_s
    rattle = np.sin(2 * np.pi * 0.11 * t)[:, None] ** 8 * np.random.default_rng(1).normal(size=(len(t), 6))
    found = judge(Even(t, even.x + 20 * STD * averaged(rattle), (), 0.0, even.rows))
    (finding,) = found.findings
    assert not finding.fatal
    assert "cannot be judged" in finding.sentence
    assert found.level is None
    assert found.instead_of_halves is None


def test_short_and_slow_recordings_say_nothing() -> None:
    even = imu(6, white)
    for short in (slice(0, 900), slice(0, None, 50)):
        found = judge(Even(even.times_s[short], even.x[short], (), 0.0, even.rows[short]))
        assert found.level is None
        assert found.findings == ()


# The whole stage


@pytest.fixture(scope="session")
def twin(short_handle_folder: Path) -> Path:
    return short_handle_folder


def noisy(twin: Path, folder: Path, colour: Colour | None) -> Path:
    """The twin's experiment without its prior and with noise of that colour in the IMU's file."""
    rng = np.random.default_rng(8)
    recording = load(twin / "imu.csv")
    channels = dict(recording.channels)
    for kind, std in (("acceleration", 0.06), ("angular_rate", 0.02)):
        for c in [channels[f"{kind}.{axis}"] for axis in "xyz"]:
            noise = std * rng.normal(size=len(c.samples))
            x = c.samples + noise if colour is held else c.samples + (0 * noise if colour is None else colour(noise))
            x = held(x)[: len(x)] if colour is held else x
            channels[c.name] = Channel(c.name, x, c.clock, c.unit, c.frame)
    write_microstrain(folder / "imu.csv", Recording(channels, None, recording.format))
    text = (twin / "handle.yaml").read_text().replace("file: wrench.mat", f"file: {twin / 'wrench.mat'}")
    text = text[: text.index("prior:")] + text[text.index("reference:") :]
    (folder / "truth.json").write_text((twin / "truth.json").read_text())
    (folder / "handle.yaml").write_text(text)
    return folder / "handle.yaml"


def off(result: Result, twin: Path) -> FloatArray:
    """How far the body's parameters are from the truth, in halves of their intervals."""
    truth = json.loads((twin / "truth.json").read_text())["parameters"]
    rows = [(e["value"] - truth[n]["value"], *e["ci95"]) for n, e in result.data["parameters"].items() if n[0] in "mcI"]
    return np.array([2 * d / (high - low) for d, low, high in rows])


@pytest.mark.parametrize("colour", [averaged, held])
def test_coloured_noise_leaves_the_truth_inside_the_intervals(colour: Colour, twin: Path, tmp_path: Path) -> None:
    result = run_experiment(read_experiment(noisy(twin, tmp_path, colour)))
    words = "repeats samples" if colour is held else "noise is not white"
    assert [words in w for w in result.data["warnings"]].count(True) == 1
    z = off(result, twin)
    assert np.mean(np.abs(z) < 1) >= 0.8
    assert np.abs(z).max() < 1.6
    assert any(abs(e["attenuation"]) > 0.5 * e["noise"] for e in result.data["parameters"].values())


def test_a_good_imu_is_judged_without_a_word(twin: Path, tmp_path: Path) -> None:
    prepared = prepare_experiment(read_experiment(noisy(twin, tmp_path, None)))
    assert prepared.findings == ()
    assert prepared.noise is not None
    assert prepared.noise.scale == 0.5  # split halves, as ever


def test_noise_beyond_the_residuals_is_not_taken_out(twin: Path) -> None:
    """As if the IMU had been shaken where it seemed still."""
    prepared = prepare_experiment(read_experiment(twin / "handle.yaml"))
    inputs, train = prepared.inputs, prepared.segments["train"]
    balance = fit_balance(inputs, move(inputs))
    noise = imu_noise(inputs, "simulated", balance, 50 * np.repeat([0.006, 0.002], 3))
    assert noise is not None
    wrench_noise = expected_noise(inputs)
    limited, (finding,) = _limited(noise, balance, train, wrench_noise)
    assert "the IMU was shaken" in finding.sentence
    assert limited.scale < 0.5
    compress(balance, train, noise=limited).factor()  # refuses more noise than there are residuals
    right = imu_noise(inputs, "simulated", balance)
    assert right is not None
    same, nothing = _limited(right, balance, train, wrench_noise)
    assert same.scale == 1.0
    assert nothing == ()
