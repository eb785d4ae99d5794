"""What a handle's balance is made of: recordings on even clocks, the IMU's pose, filters; and the balance made of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment, RecordingPart, load_options, wrench_channels
from palpate.experiment.file.schema import (
    SENSORS,
    ImuPart,
    ParallelPart,
    PosePart,
    SavitzkyGolayPart,
    SensorPart,
    WrenchPart,
)
from palpate.identify import Balance, MotionNoise, build_balance
from palpate.mechanisms import Free
from palpate.model import Model, load_object
from palpate.motion import (
    PARALLEL,
    Lowpass,
    Smoothing,
    design_lowpass,
    evenly_sampled,
    every_second,
    imu_motion,
    noise_floor,
    resample_motion,
    without_lost,
)
from palpate.motion.clocks.clock import Even
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.spatial import nearest_rotation, transform
from palpate.physics.units import parse_unit
from palpate.recording import Recording, load

Clocked = TypeVar("Clocked", float, FloatArray)
CHANNEL_UNITS = {"wrench": ["N"] * 3 + ["N m"] * 3, "acceleration": ["m/s2"] * 3, "angular_rate": ["rad/s"] * 3}


@dataclass(frozen=True, slots=True, eq=False)
class HandleInputs:
    """Everything that a handle's balance is made of; systematic errors are changes of one of these."""

    model: Model
    wrench: Even
    """Minus what dSPACE stores: the wrench that moves the handle, N and N m."""
    imu: Even
    """Specific force (3, m/s2) and angular rate (3, rad/s) in the IMU's axes, on the IMU's clock."""
    T_sensor_imu: FloatArray
    offset_s: float
    """Load-cell time minus IMU time of the same instant."""
    drift: float
    """By how much that offset grows per second of load-cell time, ..."""
    drift_from_s: float
    """... which is zero at this load-cell time."""
    smoothing: Smoothing
    lowpass: Lowpass | None
    sigma: tuple[float, ...]

    def motion(self, imu: Even | None = None) -> Motion:
        """The sensor's motion on the IMU's clock."""
        even = self.imu if imu is None else imu
        return imu_motion(even.times_s, even.x[:, :3], even.x[:, 3:], self.T_sensor_imu, self.smoothing)

    def balance(self, imu: Even | None = None) -> Balance:
        """The balance on the load cell's clock, of these IMU samples or of all."""
        m = self.motion(imu)
        shifted = replace(m, times_s=self.on_load_cell(m.times_s))
        lost = tuple((self.on_load_cell(a), self.on_load_cell(b)) for a, b in self.imu.lost)
        on_clock = resample_motion(shifted, self.wrench.times_s, lost=lost, reach_s=self.smoothing.reach_s)
        w = without_lost(self.wrench.times_s, self.wrench.x, self.wrench.lost)
        return build_balance(self.model, on_clock, w, sigma=self.sigma, lowpass=self.lowpass)

    def on_load_cell(self, imu_s: Clocked) -> Clocked:
        """Times of the IMU (s) on the load cell's clock."""
        at = self.drift_from_s
        return (imu_s + self.offset_s - at * self.drift) / (1 - self.drift)

    def noise(self, method: str, balance: Balance, measured: FloatArray | None = None) -> MotionNoise | None:
        """The noise of the motion as two balances that differ by it.

        measured (6,): the noise's white equivalent per sample where split halves would not show it.
        """
        if method == "instrumental" and measured is None:
            halves = [self.balance(every_second(self.imu, first)) for first in (0, 1)]
            return MotionNoise(halves[0], halves[1], 0.5)
        if method != "ignored":
            level = noise_floor(self.imu.x) if measured is None else measured
            added = np.random.default_rng(0).normal(size=self.imu.x.shape) * level
            return MotionNoise(self.balance(replace(self.imu, x=self.imu.x + added)), balance, 1.0)
        return None


def read_wrench(experiment: Experiment[Any], part: WrenchPart) -> tuple[Recording, list[str], Even]:
    """The load cell's recording, its six channels, and the wrench that moves the handle (FORMATS, Sign)."""
    recording = load_part(experiment, "recordings.wrench", part)
    try:
        names = wrench_channels(part, list(recording))
    except PalpateError as error:
        raise experiment.problem("recordings.wrench.channels", str(error)) from error
    x = _stack(experiment, "recordings.wrench.channels", recording, names, CHANNEL_UNITS["wrench"])
    sign = -1.0 if part.sign == "on-other-side" else 1.0
    even = _even(experiment, "recordings.wrench", recording, names[0], sign * x, "load cell")
    return recording, names, even


def read_imu(experiment: Experiment[Any], part: ImuPart) -> tuple[Recording, list[str], Even]:
    """The IMU's recording, its six channels, and specific force with angular rate."""
    recording = load_part(experiment, "recordings.imu", part)
    groups = {"acceleration": part.acceleration, "angular_rate": part.angular_rate}
    stacks = [_stack(experiment, f"recordings.imu.{k}", recording, v, CHANNEL_UNITS[k]) for k, v in groups.items()]
    names = [*part.acceleration, *part.angular_rate]
    return recording, names, _even(experiment, "recordings.imu", recording, names[0], np.hstack(stacks), "IMU")


def build_inputs(experiment: Experiment[Any], wrench: Even, imu: Even) -> HandleInputs:
    """Everything but the clock offset, which is found from the signals or stated."""
    config = experiment.config
    model = load_object(config.object)
    return HandleInputs(
        model=replace(model, mechanism=Free(gravity=config.gravity)),
        wrench=wrench,
        imu=imu,
        T_sensor_imu=pose_of(experiment, "imu_pose", config.imu_pose, "the IMU"),
        offset_s=0.0,
        drift=0.0,
        drift_from_s=0.0,
        smoothing=_smoothing(config.filtering),
        lowpass=_lowpass(experiment, wrench),
        sigma=_sigma(sensor_of(config.sensor)),
    )


def load_part(experiment: Experiment[Any], key: str, part: RecordingPart) -> Recording:
    """A recording as the experiment file describes it."""
    try:
        return load(experiment.path(part.file), format=part.format, **load_options(part))
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def _stack(
    experiment: Experiment[Any], key: str, recording: Recording, names: list[str], units: list[str]
) -> FloatArray:
    try:
        x = recording.stack(names)
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error
    for name, unit in zip(names, units, strict=True):
        channel = recording[name]
        if parse_unit(channel.unit).dimension != parse_unit(unit).dimension:
            wrong = f"the channel {name!r} has the unit {channel.unit!r}, wanted is {unit}"
            raise experiment.problem(key, wrong, "state its unit under columns:")
    if len(set(names)) < len(names):
        raise experiment.problem(key, f"a channel is named twice: {', '.join(names)}")
    return x


def _even(experiment: Experiment[Any], key: str, recording: Recording, name: str, x: FloatArray, what: str) -> Even:
    try:
        return evenly_sampled(recording[name].clock.times_s, x, what=what)
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def pose_of(experiment: Experiment[Any], key: str, part: PosePart, what: str) -> FloatArray:
    """A pose of the experiment file as a transform (4, 4)."""
    try:
        return transform(nearest_rotation(part.rotation, what=f"rotation of {what}"), part.translation)
    except PalpateError as error:
        raise experiment.problem(f"{key}.rotation", str(error)) from error


def _smoothing(part: ParallelPart | SavitzkyGolayPart) -> Smoothing:
    if isinstance(part, ParallelPart):
        return PARALLEL
    return Smoothing(part.slope_window, part.slope_order, part.window, part.order)


def _lowpass(experiment: Experiment[Any], wrench: Even) -> Lowpass | None:
    part = experiment.config.filtering
    if not isinstance(part, ParallelPart) or part.bandwidth is None:
        return None
    rate_hz = (len(wrench.times_s) - 1) / (wrench.times_s[-1] - wrench.times_s[0])
    try:
        return design_lowpass(rate_hz, part.bandwidth)
    except PalpateError as error:
        raise experiment.problem("filtering.bandwidth", str(error)) from error


def sensor_of(sensor: str | SensorPart) -> SensorPart:
    """A force/torque sensor by name, or as described."""
    return SENSORS[sensor] if isinstance(sensor, str) else sensor


def _sigma(sensor: SensorPart) -> tuple[float, ...]:
    return (*sensor.sigma_force, *sensor.sigma_moment)
