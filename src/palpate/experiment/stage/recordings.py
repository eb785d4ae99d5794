"""Recordings as an experiment file describes them: channels in SI, each on its even clock, and segments of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.experiment.file.poses import SensorPosePart
from palpate.experiment.file.reading import Experiment, RecordingPart, load_options, wrench_channels
from palpate.experiment.file.schema import SENSORS, ImuPart, PosePart, SamplesPart, SensorPart, WrenchPart
from palpate.experiment.file.sensors import wrenches_of
from palpate.experiment.file.signals import SignalsPart
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.motion.clock import ClockMap, Even, evenly_sampled
from palpate.motion.exchanged import exchange
from palpate.motion.frames import coordinate_of_path
from palpate.motion.integration import Integrated, angle_of_rate
from palpate.motion.offset import Offset
from palpate.physics.arrays import FloatArray, rate_hz, segment_mask
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import nearest_rotation, transform
from palpate.physics.units import parse_unit, shown_in
from palpate.recording import Recording, load
from palpate.recording.gates import check_channels, check_pair, judge_channels

KINDS = ("static", "quasi_static", "train", "test")
MOVING_KINDS = KINDS[1:]
"""Of segments in which the object is moved."""
CHANNEL_UNITS = {"wrench": ["N"] * 3 + ["N m"] * 3, "acceleration": ["m/s2"] * 3, "angular_rate": ["rad/s"] * 3}
IDLE = 1e-6
"""N, N m: a load cell whose numbers change by less does not measure."""
TABLE_HZ = 250.0
"""Faster tables gain nothing: hands, doors and pendulums are slow."""
TRAVEL = {"rad": (float(np.radians(3.0)), 40.0), "m": (0.01, 30.0)}
"""Travels beyond these are of another unit ..."""
SPUN_RAD_S = 40.0
"""... unless it is a wheel or a knob, which may turn often; no hand turns it faster than this."""
STRONGEST = {"N m": 1000.0, "N": 5000.0}
"""No hand gives more."""
SLOWEST_S = 0.25
"""Between samples of a table."""
JITTER = 0.2
"""Share of a step by which times may deviate from an even clock before that is said."""


@dataclass(frozen=True, slots=True, eq=False)
class Instrument:
    """A recording on its own even clock."""

    recording: Recording
    channels: list[str]
    even: Even
    noise: dict[str, float]
    """What its data sheet promises, by channel: standard deviation of a sample; empty where nothing is stated."""
    clock: ClockMap | None = None
    """How its clock runs against the reference; None where that is not known."""
    offset: Offset | None = None
    """The evidence, where the clock was estimated from the signals."""

    def faults(self, segments: list[tuple[float, float]] | None = None) -> tuple[Finding, ...]:
        """Of its channels; segments: what is used, s on its own clock."""
        return check_channels(self.recording, self.channels, noise=self.noise or None, segments=segments)

    def without_faults(self) -> tuple[Instrument, list[Finding]]:
        """The same without the samples at which a channel was cut off or frozen, as if they were lost; what others tell
        as well then needs no record without them.
        """
        findings, stuck = judge_channels(self.recording, self.channels, noise=self.noise or None)
        half = 0.5 / rate_hz(self.even.times_s)
        lost = (*self.even.lost, *((a - half, b + half) for a, b in stuck))
        said = [f for f in findings if f.cause not in ("clipping", "frozen")]
        alike: dict[str, list[Finding]] = {}
        for f in findings:
            if f not in said:  # a bus that hangs stops all channels at once
                alike.setdefault(f.evidence, []).append(f)
        for evidence, (first, *more) in alike.items():
            place = f"{first.place}{f' and {len(more)} more' if more else ''}"
            words = f"{evidence}, which are left out"
            said.append(Finding(first.cause, words, place, first.remedy))
        return replace(self, even=replace(self.even, lost=lost)), said

    def timed_by(self, offset: Offset | None) -> Instrument:
        """The same with a clock that was estimated from the signals."""
        return replace(self, clock=None if offset is None else offset.clock, offset=offset)


def read_wrench(experiment: Experiment[Any], part: WrenchPart, place: str = "recordings.wrench") -> Instrument:
    """A load cell: the wrench that moves what is behind the sensor (the handle), N and N m (FORMATS, Sign)."""
    recording = load_part(experiment, place, part)
    with experiment.at(f"{place}.channels"):
        names = wrench_channels(part, list(recording))
    _check_units(experiment, f"{place}.channels", recording, names, CHANNEL_UNITS["wrench"])
    opposite = part.sign == "on-other-side"
    x = recording.stack(names, negative=opposite)
    recording = recording if opposite else recording.held_in(x, names)
    even = _even(experiment, place, recording, names[0], x, "load cell")
    sensor = sensor_of(getattr(experiment.config, "sensor", "ati-omega85"))
    return Instrument(recording, names, even, _data_sheet(names, sensor.noise_force, sensor.noise_moment))


def read_wrenches(experiment: Experiment[Any]) -> list[Instrument]:
    """All load cells of a body: what each passes on to it, the opposite of what moves the handle."""
    cells: list[Instrument] = []
    for key, part in wrenches_of(experiment.config):
        try:
            instrument = read_wrench(experiment, part, key)
        except PalpateError as error:
            if not cells:
                raise
            raise experiment.problem(key, f"as a further load cell: {error}") from error
        if float(np.nanmax(np.nanstd(instrument.even.x, axis=0))) < IDLE:
            raise experiment.problem(key, "its numbers never change: this load cell did not measure")
        cells.append(replace(instrument, even=replace(instrument.even, x=-instrument.even.x)))
        for (other, _), cell in zip(wrenches_of(experiment.config), cells[:-1], strict=False):
            if np.array_equal(cell.even.x, cells[-1].even.x):
                same = f"it holds the same numbers as {other}: name the other device or other channels"
                raise experiment.problem(key, same)
    return cells


def read_imu(experiment: Experiment[Any], part: ImuPart) -> Instrument:
    """An IMU: specific force (m/s2) and angular rate (rad/s)."""
    recording = load_part(experiment, "recordings.imu", part)
    groups = {"acceleration": part.acceleration, "angular_rate": part.angular_rate}
    for key, channels in groups.items():
        _check_units(experiment, f"recordings.imu.{key}", recording, channels, CHANNEL_UNITS[key])
    names = [*part.acceleration, *part.angular_rate]
    with experiment.at("recordings.imu"):
        x = recording.stack(names)
    recording = recording.held_in(x, names)
    even = _even(experiment, "recordings.imu", recording, names[0], x, "IMU")
    return Instrument(recording, names, even, _data_sheet(names, part.noise_acceleration, part.noise_rate))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of one coordinate, or of several."""

    even: Even
    """(samples, 2): coordinate (rad, m) and effort (N m, N)."""
    findings: tuple[Finding, ...]
    integrated: Integrated | None = None
    """Whose rate was integrated."""


def read_table(
    experiment: Experiment[Any],
    part: SignalsPart,
    model: Model,
    *,
    turning: bool = False,
    recording: Recording | None = None,
) -> Table:
    """Coordinate and effort of a mechanism with one freedom, at `TABLE_HZ` at most.

    turning: the force's axes are taken to turn with the object; recording: of this part, if it was loaded already.
    """
    mechanism = model.mechanism
    recording = load_part(experiment, "recordings.signals", part) if recording is None else recording
    sign, unit = -1.0 if part.sign == "on-hand" else 1.0, mechanism.position_units[0]
    findings: list[Finding] = []
    if part.path is None:
        keys = part.pair(unit)
        if keys is None:
            pair = "angle and torque" if unit == "rad" else "position and force"
            wrong = f"the mechanism {mechanism.type!r} needs {pair}"
            raise experiment.problem("recordings.signals", wrong, "or point and force")
        names, units = [name for _, name in keys if name is not None], (unit, mechanism.rows[0].unit)
        units = ("rad/s", units[1]) if keys[0][0] == "angular_rate" else units
        both = [
            stacked(experiment, f"recordings.signals.{key}", recording, [name], [u])[:, 0]
            for (key, name), u in zip(keys, units, strict=True)
            if name is not None
        ]
        if len(both) == 2 and not both[1].any():
            wrong, alone = "it is always zero: no force was measured", "leave it out and write free: true"
            raise experiment.problem(
                f"recordings.signals.{keys[1][0]}", wrong, f"if nobody touches the object, {alone}"
            )
        position, effort = both if len(both) == 2 else (both[0], np.zeros(len(both[0])))
        if keys[0][0] == "angle":  # without jumps by whole turns
            seen = np.isfinite(position)
            position[seen] = np.unwrap(position[seen])
        x = np.column_stack([position - (part.zero if isinstance(part.zero, float) else 0.0), sign * effort])
    else:
        names = [*part.path[0], *part.path[1]]
        path, force = (
            stacked(experiment, f"recordings.signals.{key}", recording, channels, [u] * len(channels))
            for channels, key, u in zip(part.path, ("point", "force"), ("m", "N"), strict=True)
        )
        with experiment.at("recordings.signals.point"):
            along = coordinate_of_path(path, sign * force, unit, turning=turning)
        x = np.column_stack([along.coordinate, along.effort])
        findings.append(Finding("path", along.words))
        findings += _span_findings("point", float(np.max(np.nanmax(path, axis=0) - np.nanmin(path, axis=0))), "m")
    even = _even(experiment, "recordings.signals.time", recording, names[0], x, "signals")
    used = [s for spans in segments_of(experiment, even.times_s, even.rows).values() for s in spans]
    findings += check_channels(recording, names, segments=used)
    pair = [f"channel {name!r}" for name in (names if part.path is None else ("point", "force"))]
    known = {f.place for f in findings if f.cause in ("frozen", "constant", "clipping")}
    if not part.free:
        findings += _exchanged(part, recording, even) if part.angle or part.position else []
        findings += [f for f in check_pair(even.times_s, even.x, pair, used) if f.place not in known]
    integrated = None
    if part.angular_rate is not None:
        with experiment.at("recordings.signals.angular_rate"):
            angle, integrated, words = angle_of_rate(even.times_s, even.x[:, 0], swings=part.free)
        even = replace(even, x=np.column_stack([angle, even.x[:, 1]]))
        findings.append(Finding("gyroscope", f"the angle is the integral of {names[0]!r}: {words}"))
    times, period = even.times_s, float(even.times_s[1] - even.times_s[0])
    if period > SLOWEST_S:
        wrong = f"the samples are {period:.3g} s apart, too far for an object moved by hand"
        name = None if part.time is None else part.time.column
        remedy = f"if its unit is ms, write time: {{{f'column: {name}, ' if name else ''}unit: ms}}"
        raise experiment.problem("recordings.signals.time", wrong, remedy)
    if even.jitter_s >= JITTER * period:  # they are taken as those of an even clock, which not every table has
        by = f"{1e3 * even.jitter_s:.2g} ms, {100 * even.jitter_s / period:.0f} % of a step"
        evidence = f"the times deviate from an even clock by up to {by}, which is taken as time-stamp jitter"
        remedy = "if the samples really were taken at those times, resample them"
        findings.append(Finding("times", evidence, "recordings.signals.time", remedy))
    if not part.rate_known:
        why = "the table has no times and its rate is a guess: numbers that depend on speed or acceleration are refused"
        findings.append(Finding("rate", why, "recordings.signals"))
    if part.delay != 0:  # the effort as it was when the coordinate was taken: stored late by this time
        late = np.interp(times + part.delay, times, even.x[:, 1])
        even = replace(even, x=np.column_stack([even.x[:, 0], late]))
    rows = len(even.times_s)
    even = slower(even)
    if integrated is not None:  # of means of several samples
        integrated = replace(integrated, noise=integrated.noise / np.sqrt(rows // len(even.times_s)))
    return Table(even, tuple(findings + _travel_findings(experiment, model, even)), integrated)


def read_axes(experiment: Experiment[Any], part: SignalsPart, model: Model) -> Table:
    """All coordinates of a mechanism and the efforts along them, at `TABLE_HZ` at most: (samples, twice as many)."""
    recording, mechanism = load_part(experiment, "recordings.signals", part), model.mechanism
    coordinates, efforts = cast("list[str]", part.coordinates), cast("list[str]", part.efforts)
    units = {"coordinates": list(mechanism.position_units), "efforts": [row.unit for row in mechanism.rows]}
    q, tau = (
        stacked(experiment, f"recordings.signals.{key}", recording, names, units[key])
        for key, names in (("coordinates", coordinates), ("efforts", efforts))
    )
    for column, unit in zip(q.T, units["coordinates"], strict=True):
        seen = np.isfinite(column)
        column[seen] = np.unwrap(column[seen]) if unit == "rad" else column[seen]
    x = np.hstack([q, -tau if part.sign == "on-hand" else tau])
    even = _even(experiment, "recordings.signals.time", recording, coordinates[0], x, "signals")
    used = [s for spans in segments_of(experiment, even.times_s, even.rows).values() for s in spans]
    findings = list(check_channels(recording, [*coordinates, *efforts], segments=used))
    times, n = even.times_s, len(coordinates)
    if part.delay != 0:
        moved = even.x.copy()
        for i in range(n, 2 * n):
            moved[:, i] = np.interp(times + part.delay, times, even.x[:, i])
        even = replace(even, x=moved)
    if not part.rate_known:
        why = "the table has no times and its rate is a guess: numbers that depend on speed or acceleration are refused"
        findings.append(Finding("rate", why, "recordings.signals"))
    for name, column, unit in zip(coordinates, even.seen_x.T, units["coordinates"], strict=False):
        findings += _span_findings(name, float(np.nanmax(column) - np.nanmin(column)), unit)
    return Table(slower(even), tuple(findings))


def load_part(experiment: Experiment[Any], key: str, part: RecordingPart) -> Recording:
    """A recording as the experiment file describes it."""
    with experiment.at(key):
        return load(experiment.path(part.file), format=part.format, **load_options(part))


def pose_of(experiment: Experiment[Any], key: str, part: PosePart | SensorPosePart, what: str) -> FloatArray:
    """A pose of the experiment file as a transform (4, 4)."""
    with experiment.at(f"{key}.rotation"):
        return transform(nearest_rotation(part.rotation, what=f"rotation of {what}"), part.translation)


def sensor_of(sensor: str | SensorPart) -> SensorPart:
    """A force/torque sensor by name, or as described."""
    return SENSORS[sensor] if isinstance(sensor, str) else sensor


def segments_of(
    experiment: Experiment[Any], times_s: FloatArray, rows: NDArray[np.int64] | range
) -> dict[str, list[Segment]]:
    """The file's segments in seconds, checked; `rows`: the place of each row of the reference's file on the even clock.

    A sample k of the authors' counting is row first_sample + k - 1 of the file, from 1, both ends included.
    """
    part, segments = experiment.config.segments, dict[str, list[Segment]]()
    step, span = 1 / rate_hz(times_s), f"{times_s[0]:.3f} to {times_s[-1]:.3f} s"

    def time_of(key: str, sample: int) -> float:
        row = part.first_sample + sample - 1
        if row > len(rows):
            counted = f"sample {sample}" + (f" is row {row} of the file" if part.first_sample > 1 else "")
            wrong = f"{counted}: the file has {len(rows)} rows: a segment must lie inside the recording, {span}"
            raise experiment.problem(key, wrong)
        return float(times_s[rows[row - 1]])

    for kind in KINDS:
        chosen = getattr(part, kind)
        if isinstance(chosen, SamplesPart):
            ends = [[time_of(f"segments.{kind}", k) for k in pair] for pair in chosen.samples]
            segments[kind] = [(a - 0.5 * step, b + 0.5 * step) for a, b in ends]
        else:
            segments[kind] = [(float(a), float(b)) for a, b in cast("list[Segment] | None", chosen) or []]
        for a, b in segments[kind]:
            if a < times_s[0] - 2 * step or b > times_s[-1] + 2 * step:
                wrong = f"{a:.3f} to {b:.3f} s is not inside the recording, {span}"
                raise experiment.problem(f"segments.{kind}", wrong)
    fitted = segment_mask(times_s, [*segments["train"], *segments["quasi_static"]])
    for a, b in segments["test"]:
        shared = times_s[fitted & segment_mask(times_s, [(a, b)])]
        if len(shared):
            wrong = f"{a:.3f} to {b:.3f} s overlaps a segment of the fit, from {shared[0]:.3f} to {shared[-1]:.3f} s"
            raise experiment.problem("segments.test", wrong, "a test on data of the fit proves nothing")
    return segments


def time_of_sample(experiment: Experiment[Any], key: str, even: Even) -> float:
    """When the row that `clocks` states for an instrument was taken, s on its own clock."""
    sample: int | None = getattr(experiment.config.clocks, key)
    if sample is None:
        raise experiment.problem(f"clocks.{key}", "this key is missing: the file has such a recording")
    if sample > len(even.rows):
        raise experiment.problem(f"clocks.{key}", f"there is no sample {sample}, the file has {len(even.rows)}")
    return float(even.times_s[even.rows[sample - 1]])


def slower(even: Even) -> Even:
    """Means of as many samples as bring a fast table down to about `TABLE_HZ`.

    They leave white noise white, and take the same from motion and force, so that it cancels out of the balance.
    """
    n = len(even.times_s)
    each = max(1, int(rate_hz(even.times_s) / TABLE_HZ + 1e-6))
    if each == 1:
        return even
    kept = n // each
    times, x = (a[: kept * each].reshape(kept, each, -1).mean(axis=1) for a in (even.times_s[:, None], even.x))
    # a mean with a bridged sample is no measurement either
    beside = (each - 2) / 2 * float(even.times_s[1] - even.times_s[0])
    lost = tuple((a - beside, b + beside) for a, b in even.lost)
    return replace(even, times_s=times[:, 0], x=x, lost=lost, rows=np.minimum(np.asarray(even.rows) // each, kept - 1))


def stacked(
    experiment: Experiment[Any], key: str, recording: Recording, names: list[str], units: list[str]
) -> FloatArray:
    """(samples, channels): scalar channels of one clock, refused where their units do not fit these."""
    _check_units(experiment, key, recording, names, units)
    return recording.stack(names)


def _check_units(
    experiment: Experiment[Any], key: str, recording: Recording, names: list[str], units: list[str]
) -> None:
    """Refuse channels that cannot stand side by side in these units."""
    with experiment.at(key):
        recording.stackable(names)
    for name, unit in zip(names, units, strict=True):
        stored = recording[name].unit
        if not parse_unit(stored).fits(parse_unit(unit)):  # a bare number may be degrees
            wrong = f"the channel {name!r} has the unit {stored!r}, not {unit}"
            fitting = [n for n, c in recording.channels.items() if parse_unit(c.unit).fits(parse_unit(unit))]
            other = f"name one in {shown_in(unit).unit}: {' or '.join(fitting[:3])}"
            raise experiment.problem(key, wrong, other if fitting and stored != "1" else "state its unit under columns")
    if len(set(names)) < len(names):
        raise experiment.problem(key, f"a channel is named twice: {', '.join(names)}")


def _even(experiment: Experiment[Any], key: str, recording: Recording, name: str, x: FloatArray, what: str) -> Even:
    with experiment.at(key):
        return evenly_sampled(recording[name].clock.times_s, x, what=what)


def _data_sheet(names: list[str], *groups: list[float] | None) -> dict[str, float]:
    """The noise that a data sheet promises, by channel, where the file states it: three channels a group."""
    return {
        name: noise
        for k, group in enumerate(groups)
        for name, noise in zip(names[3 * k : 3 * k + 3], group or [], strict=False)
    }


def _exchanged(part: SignalsPart, recording: Recording, even: Even) -> list[Finding]:
    """A position and an effort that look exchanged, and how to exchange them."""
    keys = ("angle", "torque") if part.angle is not None else ("position", "force")
    found = exchange(even.times_s, even.x[:, 0], even.x[:, 1])
    if found is None:
        return []
    names = [str(getattr(part, key)) for key in keys]
    stored = [str(part.columns[n].column) if part.columns and n in part.columns else n for n in names]
    units = [recording[n].stated or recording[n].unit for n in names]
    columns = zip(names, reversed(stored), units, strict=True)
    exchanged = ", ".join(f"{name}: {{column: {column}, unit: {unit}}}" for name, column, unit in columns)
    remedy = f"exchange their names in the header of the file, or write columns: {{{exchanged}}}"
    return [Finding("exchanged", found.words(*keys), "recordings.signals", remedy)]


def _travel_findings(experiment: Experiment[Any], model: Model, even: Even) -> list[Finding]:
    """Travels that no such object has, or that tell nothing: a wrong unit."""
    position, unit = even.seen_x[:, 0], model.mechanism.position_units[0]
    travel, key = float(np.nanmax(position) - np.nanmin(position)), "angle" if unit == "rad" else "position"
    if travel == 0:
        raise experiment.problem(f"recordings.signals.{key}", "it is constant: nothing moves")
    spins = unit == "rad" and (model.mechanism.endless or _repeats(model))
    speed = float(np.nanpercentile(np.abs(np.gradient(position, even.times_s)), 99)) if spins else np.inf
    row, strongest = model.mechanism.rows[0].unit, float(np.nanmax(np.abs(even.seen_x[:, 1])))
    often = travel > TRAVEL[unit][1] and unit == "rad" and not model.mechanism.endless and not model.mechanism.linkages
    findings = _span_findings(key, travel, unit, spins=speed < SPUN_RAD_S, often=often)
    if strongest > STRONGEST[row]:
        name = "torque" if unit == "rad" else "force"
        evidence = f"the {name} reaches {strongest:.2g} {row}, more than any hand gives"
        remedy = "is its unit N mm?" if row == "N m" else "is its unit mN?"
        findings.append(Finding("effort", evidence, "recordings.signals", remedy, Severity.FATAL))
    return findings


def _span_findings(key: str, travel: float, unit: str, *, spins: bool = False, often: bool = False) -> list[Finding]:
    """A travel that no such object has, or that tells nothing; spins: it may turn often; often: it could be said to."""
    least, most = TRAVEL[unit]
    if least <= travel <= most or (spins and travel > most):
        return []
    shown = f"{travel:.2g} {unit}" if travel > most or unit != "rad" else f"{np.degrees(travel):.2g} deg"
    other = {"rad": ("deg", "rad"), "m": ("mm", "m")}[unit][0 if travel > most else 1]
    evidence, remedy = f"the {key} spans {'only ' if travel < least else ''}{shown}", f"is its unit {other}?"
    remedy += " Or does it turn so often? Then write mechanism: {endless: true}" if often else ""
    return [Finding("travel", evidence, f"recordings.signals.{key}", remedy, Severity.FATAL)]


def _repeats(model: Model) -> bool:
    """Whether an object is the same after a whole turn, as a wheel is and a sprung door is not."""
    x = np.linspace(0.1, 2 * np.pi, 7)
    here, there = (
        np.array(model.columns(model.mechanism.expand([q, x], [x], ARRAYS), ARRAYS), dtype=object)
        for q in (x, x + 2 * np.pi)
    )
    return all(np.allclose(a, b) for a, b in zip(here.ravel(), there.ravel(), strict=True))
