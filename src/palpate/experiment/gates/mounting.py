"""What the balance says about instruments, frames, clocks and contact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.sensors import wrenches_of
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.ground import feet_findings, wheel_findings
from palpate.experiment.stage.inputs import AT_STOP, Inputs, driving, fit_balance, projected
from palpate.experiment.stage.lack import BEYOND_NOISE
from palpate.experiment.stage.mistakes import mistakes
from palpate.experiment.stage.recordings import MOVING_KINDS, load_part, read_table
from palpate.experiment.stage.result import WRENCH_AXES, Case
from palpate.findings import Finding, Severity
from palpate.identify import Compressed
from palpate.identify.clock_profile import residuals
from palpate.identify.diagnosis import axis_problems, scale_problems
from palpate.motion.extrinsics import check_placement, misplaced
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.functions import ARRAYS

TOUCHED, TOUCH_S = 0.03, 0.2
"""Share of a component's range by which means over so many seconds may change while nobody touches the handle."""
SMOOTH, WANDERS = 2.5, 6.0
"""Growth of squares over twice the lag beyond which a hand does it; range of noise with a memory, in deviations."""
LEVER_M = (0.003, 2.0)
"""From a sensor to the line along which the hand pulls at the handle."""
BESIDE_M, BESIDE_SHARE, LATE_S = 0.02, 0.5, 1e-3
"""Less is what a ruler, a drawing or a typed sample may be off by: a lever arm, a share, a delay."""
SHIFTED = 5
"""How often a delay is looked for again."""
STATED_LATE_S = 5e-3
"""The same of a clock that was stated by samples."""
BESIDE_STDS = 5.0
OBLIQUE_DEG = (25.0, 45.0)
"""People pull at drawers along their runners; at so much beside them that is doubted, and not believed."""
OTHER_READING = 0.7
"""Another reading of a table explains the effort better when it leaves less than this share of the error ..."""
MISTAKEN_SHARE, ORDER_SHARE, WELL_PERCENT = 0.5, 0.1, 1.0
"""... and a mistake in the file is named when less than this share of the squares is left without it. Other readings,
and mistakes with several sensors, are not looked for where no more than so much is left, because that takes long."""
WELL_NOISE = 20.0
"""... and what is left is not so many times the noise of the load cells."""
AT_ONCE = 8
"""Mistakes that are tried together: more would fill the memory with wrenches."""
MOST_LEFT = 0.3
"""A reading that leaves more of the effort is none."""
TURNED = "the force seems to be in axes that turn with the object, such as a gripper's: rotate it into those of point"
PIECE_S = 1.0
MOVES_PLACE = ("compliance", "lag", "delay")
"""What makes an IMU look misplaced that is not."""
GIVEN, MOST_RESTS = 0.25, 500
"""Share of all work to and fro that an object may seem to give (a late signal does that); rests that are compared."""


def axes(case: Case) -> Iterable[Finding]:
    """Axes of load cell and IMU against each other, units of forces against moments."""
    turned = [Finding("axes", text, severity=Severity.FATAL) for text in axis_problems(case.fit.train)]
    return turned + [Finding("scale", text, severity=Severity.FATAL) for text in scale_problems(case.fit.train)]


def placement(case: Case) -> Iterator[Finding]:
    """Whether the IMU sits as the drawing says, seen by the load cell: what carries both is rigid."""
    mounted, place = case.fit.inputs.imu, case.fit.imu_place
    if mounted is None or place is None:
        return
    T, small = mounted.T_body_imu, True
    for finding in check_placement(place, T[:3, :3], T[:3, 3]):
        # a millimetre is a percent of a small handle's inertia: what is said here is no small matter
        if finding.cause == "placement":
            small = False
            yield replace(finding, severity=Severity.FATAL)
    turn, move = misplaced(place, T)
    named = case.lack is not None and any(x.effect.cause in MOVES_PLACE for x in case.lack.significant)
    if small and not named and (turn or move):
        by = [f"{np.degrees(turn):.2f} deg"] * (turn > 0) + [f"{1e3 * move:.1f} mm"] * (move > 0)
        evidence = f"the IMU seems {' and '.join(by)} from where the drawing has it; the intervals allow for that"
        yield Finding("placement-small", evidence, "imu_pose", "measure where it sits, and correct imu_pose")


def signs(case: Case) -> Iterator[Finding]:
    """Negative masses, inertias and frictions without constraints; where most are, one cause is enough."""
    impossible = [f for f in case.solution.impossible if f.place not in case.refused]
    if len(case.solution.impossible) < 3 or case.fit.inputs.imu is not None:
        yield from impossible
        return
    names = ", ".join(f.place for f in case.solution.impossible)
    evidence, remedy = f"without constraints {names} are impossible", "check the sign of the wrench (sign: of the "
    if case.config.motion_from == "table":
        remedy = "check the columns of recordings.signals, their order and units, and on whom the force acts (sign:)"
    elif len(case.fit.inputs.sensors) > 1:
        remedy += "recordings), the frames of sensors and axle (markers), and that right and left are not exchanged"
    else:
        remedy += "recording) and the frames of sensor and mechanism (markers.sensor, markers.hinge.points)"
    yield Finding("sign", evidence, remedy=remedy, severity=Severity.FATAL)


def columns(case: Case) -> Iterator[Finding]:
    """A table that is explained far better with the force's sign reversed, its columns in another order, or in axes
    that turn with the object.
    """
    if case.config.motion_from != "table" or case.fit.inputs.unloaded:
        return
    inputs, part = case.fit.inputs, case.config.recordings.signals
    drive, inside = driving(inputs.mechanism, inputs.q), inputs.inside(case.fit.plan.segments)

    def left(of: Inputs, train: Compressed, p: FloatArray) -> float:
        """Share of what the effort does: one that does nothing is explained by nothing."""
        effort = (of.measured[0] * drive).sum(axis=1) / (drive * drive).sum(axis=1)
        return float(train.rms(p)[0] / max(np.nanstd(effort[inside]), 1e-300))

    ours, path = left(inputs, case.fit.train, case.solution.p), part.path is not None
    if ours < WELL_PERCENT / 100 or not (path or case.solution.impossible):
        return
    best = (min(OTHER_READING * ours, MOST_LEFT), "")
    recording = load_part(case.experiment, "recordings.signals", part)
    orders = [list(names) for names in permutations(part.force)] if path else [part.force]
    axes = (False, True) if path and inputs.mechanism.position_units[0] == "rad" else (False,)
    for force, sign, turning in product(orders, ("on-object", "on-hand"), axes):
        changes = {k: v for k, v in (("force", force), ("sign", sign)) if v != getattr(part, k)}
        if not (changes or turning):
            continue
        way = "write " + " and ".join(f"{k}: {v}" for k, v in changes.items()).replace("'", "")
        try:
            read = part.model_copy(update=changes)
            table = read_table(case.experiment, read, case.model, turning=turning, recording=recording)
            other = replace(inputs, measured=(drive * table.even.seen_x[:, 1:2])[None])
            train, there = case.fit.again(other)
        except PalpateError:
            continue
        if not there.impossible:
            best = min(best, (left(other, train, there.p), TURNED if turning else way))
    if best[1]:
        shares = ", not ".join(f"{x:.0f} %" if x >= 10 else f"{x:.2g} %" for x in (100 * best[0], 100 * ours))
        evidence = f"another reading of the table leaves less of the effort unexplained ({shares})"
        yield Finding("columns", evidence, "recordings.signals", best[1], Severity.FATAL)


def energy(case: Case) -> Iterator[Finding]:
    """An object that rests again where it rested before has not given more work than it took: springs and weight are
    even then.
    """
    inputs, segments = case.fit.inputs, case.prepared.segments
    times, position = inputs.times_s, inputs.q[:, 0]
    speed = np.asarray(case.fit.balance.kinematics.coordinates[str(inputs.mechanism.main)].speed)
    power = projected(case.fit.balance)[:, 0] * speed / inputs.rate_hz
    unseen = ~inputs.inside([s for kind in MOVING_KINDS for s in segments[kind]]) | ~np.isfinite(power)
    power, before = np.where(unseen, 0.0, power), np.cumsum(unseen)
    rests = np.flatnonzero(case.fit.moved.resting & np.isfinite(position) & ~unseen)
    rests = rests[:: max(1, len(rests) // MOST_RESTS)]
    if not len(rests):
        return
    alike = (np.abs(position[rests, None] - position[rests]) < inputs.step) & (before[rests, None] == before[rests])
    apart = np.where(alike, times[rests] - times[rests, None], 0.0)
    first, last = rests[list(np.unravel_index(apart.argmax(), apart.shape))]
    work, turnover = float(power[first:last].sum()), float(np.abs(power[first:last]).sum())
    if work < -GIVEN * turnover and 2 * turnover > np.abs(power).sum():
        evidence = (
            f"from {times[first]:.1f} to {times[last]:.1f} s the object returns {-work:.2g} J and comes to rest "
            f"where it started, while {turnover:.2g} J go to and fro: force and motion disagree in direction"
        )
        remedy = "check on whom the force acts (sign:), and the axes of force and motion"
        yield Finding("energy", evidence, remedy=remedy, severity=Severity.FATAL)


def touched(case: Case) -> Iterator[Finding]:
    """Somebody touches a handle in the static segment: its wrench then changes more than its noise does."""
    inputs = case.fit.inputs
    if inputs.static is None or inputs.zero != "still" or case.config.motion_from == "table":
        return
    at, count = inputs.inside([inputs.static]), max(1, round(TOUCH_S * inputs.rate_hz))
    for i, w in enumerate(inputs.measured):
        inside = w[at][np.isfinite(w[at]).all(axis=1)]
        which = f"load cell {i + 1}" if len(inputs.measured) > 1 else "the load cell"
        if len(inside) < 2 * count:
            evidence = f"{which} recorded hardly anything there, so its zero is unknown"
            yield Finding("zero", evidence, "segments.static", severity=Severity.FATAL)
            continue
        sums = np.cumsum(np.concatenate([np.zeros((1, 6)), inside]), axis=0)
        means = (sums[count:] - sums[:-count]) / count
        change = np.ptp(means, axis=0)
        extent = np.maximum(np.ptp(np.nanpercentile(w, [1, 99], axis=0), axis=0), 1e-300)
        quick = np.median(np.abs(np.diff(inside, axis=0)), axis=0) / 0.6745 / np.sqrt(2)
        loud = change > np.maximum(10 * quick / np.sqrt(count), _wandering(inside, means, max(1, count // 5)))
        share = np.where(loud, change / extent, 0.0)
        if share.max() <= TOUCHED:
            continue
        k = int(share.argmax())
        evidence = (
            f"the wrench of {which} changes by {change[k]:.2g} {'N' if k < 3 else 'N m'} "
            f"({WRENCH_AXES[k]}, {100 * share[k]:.0f} % of its range in the recording): "
            "somebody touches a handle there or the object moves, so the sensor's preload is wrong"
        )
        yield Finding("preload", evidence, "segments.static", severity=Severity.FATAL)


def _wandering(x: FloatArray, means: FloatArray, lag: int) -> FloatArray:
    """(channels,): the range that noise with a memory may give to means of (samples, channels); 0 where they move
    smoothly, as by a hand.

    The square of what noise does grows at most with the lag, that of a smooth motion with its square. Medians: a touch
    is brief.
    """
    short, long = (np.median((x[k:] - x[:-k]) ** 2, axis=0) for k in (lag, 2 * lag))
    spread = np.median(np.abs(means - np.median(means, axis=0)), axis=0) / 0.6745
    return np.asarray(np.where(long < SMOOTH * short, WANDERS * spread, 0.0), dtype=float)


def lever(case: Case) -> Iterator[Finding]:
    """Moments at a sensor are forces times the way to the hand: a way that no handle has is a wrong unit."""
    if not case.config.captured:
        return
    for i, measured in enumerate(case.fit.inputs.measured):
        w = np.asarray(measured - np.nanmedian(measured, axis=0), dtype=float)
        force, moment = (float(np.sqrt(3 * np.nanmean(part**2))) for part in (w[:, :3], w[:, 3:]))
        way = moment / max(force, 1e-300)
        if LEVER_M[0] < way < LEVER_M[1]:
            continue
        place = wrenches_of(case.config)[i][0]
        both = f"forces of {force:.2g} N and moments of {moment:.2g} N m"
        evidence = f"{both} would mean a hand that pulls {way:.2g} m beside the sensor"
        severity = Severity.FATAL if way > LEVER_M[0] else Severity.WARNING  # it may pull straight at the sensor
        yield Finding("units", evidence, place, "check the units of its channels", severity)


def beside(case: Case) -> Iterator[Finding]:
    """A sensor that is not mounted as stated, and a clock or a table's effort that is late: of one row."""
    if case.fit.inputs.unloaded:
        return
    names, value, std = _beside_balance(case.fit)
    late, late_std = float(value[-1]), float(std[-1])
    by, way = f"{1e3 * abs(late):.1f} ms (+- {1.96e3 * late_std:.1f})", "later" if late > 0 else "earlier"
    if case.config.motion_from == "table":
        signals = case.config.recordings.signals
        remedy = f"if an amplifier or filter delays it, write delay: {1e3 * (signals.delay - late):.4g} ms"
        if not signals.rate_known:  # nobody knows how long a row is
            table = case.fit.inputs.sensors[0].wrench
            rate = len(table.rows) / float(np.ptp(table.times_s))
            by = f"{rate * abs(late):.1f} rows (+- {1.96 * rate * late_std:.1f})"
            remedy = "if an amplifier or filter delays it, shift its column by that many rows"
        if abs(late) > max(LATE_S, BESIDE_STDS * late_std):
            evidence = f"force or torque fits best {by} {way} than stored: damping and friction depend on that"
            yield Finding("delay", evidence, "recordings.signals", remedy, Severity.FATAL)
        return
    row_unit = case.model.mechanism.rows[0].unit
    shares: list[str] = []
    for name, v, s in zip(names, value[:-1], std[:-1], strict=True):
        unit = "N" if name.startswith("f") else "N m"
        limit, word = (BESIDE_M, "m") if row_unit == "N m" else (1 / BESIDE_M, "1/m")
        limit, word = (BESIDE_SHARE, "of") if unit == row_unit else (limit, word)
        if abs(v) > max(limit, BESIDE_STDS * s):
            shares.append(f"{v:+.2g} {word} {name}")
    if shares and (case.lack is None or case.lack.times.max() > BEYOND_NOISE):  # else noise is all that is left
        yield Finding(
            "lever arm",
            f"what moves the object correlates with wrench components that do not ({', '.join(shares)}): the sensor "
            "is not mounted as stated, or an effect that goes with them is missing",
            "markers.sensor",
            "check the order of its markers, their offset, and the order and units of recordings.wrench.channels",
        )
    if abs(late) > max(STATED_LATE_S, BESIDE_STDS * late_std):
        than, remedy = ("estimated", "state") if case.config.clocks == "auto" else ("stated", "write auto, or check")
        evidence = f"the load cell's samples fit best {by} {way} on the markers' clock than {than}"
        yield Finding("clock", evidence, "clocks", f"{remedy} the samples that coincide", Severity.FATAL)


def oblique(case: Case) -> Iterator[Finding]:
    """A hand that always pulls obliquely at what slides: a force that is only turned is explained as well as another,
    with all numbers too small by the cosine.
    """
    inputs, used = case.fit.inputs, case.fit.balance.used
    joints = inputs.mechanism.joints
    if not case.config.captured or [joint.kind for joint in joints] != ["slide"]:
        return
    inside = inputs.inside(case.fit.plan.segments) & (True if used is None else used)
    force, axis = case.fit.balance.wrench[inside, :3], np.array(joints[0].axis)
    force = force - force.mean(axis=0)
    along = force @ axis
    aside = (force - np.outer(along, axis)).T @ along / max(float(along @ along), 1e-300)
    angle = float(np.degrees(np.arctan(np.linalg.norm(aside))))
    if angle < OBLIQUE_DEG[0]:
        return
    evidence = f"the hand's force goes {angle:.0f} deg aside of the line along which the object slides"
    remedy = f"check the rotation of the sensor ({'poses' if case.config.recordings.poses else 'markers'}.sensor)"
    severity = Severity.FATAL if angle > OBLIQUE_DEG[1] else Severity.WARNING
    yield Finding("oblique", evidence, "recordings.wrench", remedy, severity)


def _beside_balance(fit: Fit) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """How much the row holds of other components of the wrench, and last of its slope: none where the pose is right.

    A hinge's sensor that sits by (x, y) elsewhere adds x f_y - y f_x, one that is turned adds the other components; one
    that is late adds the row's slope. A component that is the row itself over a lever cannot be told from the scale of
    all parameters and is left out. Standard deviations hold for residuals that are alike within a second (sandwich).
    A delay is more than its slope where it is long: the wrench is shifted by what was found, and the rest found again
    (Gauss and Newton).
    """
    inputs, balance = fit.inputs, fit.balance
    low = fit_balance(inputs, fit.moved, balance)
    idle, row, times = _idle_components(fit), projected(balance)[:, 0], balance.times_s
    beside, pieces, columns = list[FloatArray](), list[Any](), list[FloatArray]()
    for number, segment in enumerate(fit.plan.segments):
        columns.append(low.rows(segment)[:, 0])
        a, b = balance.indices(segment)
        step_s = float(times[b - 1] - times[a]) / max(len(columns[-1]), 1)
        pieces.append(np.asarray(np.arange(len(columns[-1])) * step_s / PIECE_S, dtype=np.int64) + 1_000_000 * number)
    index, late = np.unique(np.concatenate(pieces), return_inverse=True)[1], 0.0
    known, measured = np.hsplit(np.concatenate(columns), [-1])
    value, std = np.zeros(len(idle) + 1), np.zeros(len(idle) + 1)
    for _ in range(SHIFTED):
        shifted = [np.interp(times - late, times, x) for x in (*idle.values(), row)]
        raw = np.nan_to_num(np.vstack([*shifted[:-1], np.gradient(shifted[-1], times), shifted[-1] - row]))
        spans = [balance.indices(segment) for segment in fit.plan.segments]
        beside = [low.passed(low.weighed(raw[:, a:b], a, b)).T for a, b in spans]
        more, moved = np.hsplit(np.concatenate(beside), [-1])
        value, std = _with_scatter(np.hstack([known, more]), (measured + moved)[:, 0], index)
        value, std = value[-more.shape[1] :], std[-more.shape[1] :]
        step, late = float(value[-1]), late + float(value[-1])
        # a slope that shows nothing is no delay, wherever the search might go from there
        if abs(step) < 0.1 * std[-1] or abs(late) < max(LATE_S, BESIDE_STDS * std[-1]):
            break
    return tuple(idle), np.append(value[:-1], late), std


def _with_scatter(X: FloatArray, y: FloatArray, piece: Any) -> tuple[FloatArray, FloatArray]:
    """Least squares and its standard deviations, for residuals that are alike within a piece (White 1980)."""
    scale = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    Z = X / scale
    best = least_squares(Z, y)
    scores = Z * (y - Z @ best)[:, None]
    summed = np.stack([np.bincount(piece, column) for column in scores.T])
    inverse = np.asarray(np.linalg.pinv(Z.T @ Z), dtype=float)
    return best / scale, np.linalg.norm(inverse @ summed, axis=1) / scale


def _idle_components(fit: Fit) -> dict[str, FloatArray]:
    """(samples,) each, N and N m at the sensor: what of the wrench does not move an object with one freedom."""
    inputs, w = fit.inputs, fit.balance.wrench
    r = inputs.sensors[0].T_body_sensor[:3, 3]
    force, moment = w[:, :3], w[:, 3:] - np.cross(r, w[:, :3])
    if inputs.mechanism.placed:  # components at the sensor that do nothing in any position
        k, project = fit.balance.kinematics, inputs.mechanism.project
        along = [*np.hstack([np.eye(3), np.cross(r, np.eye(3))]), *np.eye(6)[3:]]
        idle = [not np.nan_to_num(project(k, unit.tolist(), ARRAYS)[0]).any() for unit in along]
        parts = dict(zip(WRENCH_AXES, [*force.T, *moment.T], strict=True))
        return {name: part for (name, part), none in zip(parts.items(), idle, strict=True) if none}
    (joint,) = inputs.mechanism.joints
    axis = np.array(joint.axis)
    if joint.kind == "slide":
        aside, across = (force @ np.eye(3)[i] for i in range(3) if abs(axis[i]) < 0.5)
        return {"f_aside": aside, "f_across": across, **dict(zip(("n_x", "n_y", "n_z"), moment.T, strict=True))}
    radial = r - axis * float(r @ axis)
    radial = radial / max(float(np.linalg.norm(radial)), 1e-12)
    forces = {"f_radial": force @ radial, "f_axial": force @ axis}
    return forces | {"n_radial": moment @ radial, "n_across": moment @ np.cross(axis, radial)}


def mistaken(case: Case) -> Iterator[Finding]:
    """A usual mistake in the file, if the wrench is explained far better without it."""
    rows = case.rms.get("train", {}).values()
    well = all(
        (e["percent_of_range"] or 0.0) < WELL_PERCENT and e["value"] < WELL_NOISE * (e["noise"] or 0.0) for e in rows
    )
    if case.prepared.capture is None or (len(case.fit.inputs.sensors) > 1 and well):
        return
    ours, best = _unexplained(case.fit.train), (MISTAKEN_SHARE, None)
    possible = mistakes(case.experiment, case.prepared.capture, case.fit.inputs)
    while some := list(islice(possible, AT_ONCE)):
        for (cause, key, words, other), train in zip(some, case.fit.trains([x for *_, x in some]), strict=True):
            try:
                share = _unexplained(case.fit.recompressed(other, joined=True)[0] if train is None else train) / ours
            except PalpateError:
                continue
            if share < best[0] * (ORDER_SHARE if cause == "order" else 1.0):  # a turned sensor resembles some order
                better = f"this fits far better: the error falls to {100 * np.sqrt(share):.0f} %"
                best = share, Finding(cause, words.format(better), key, severity=Severity.FATAL)
    if best[1] is not None:
        yield best[1]


def _unexplained(train: Compressed) -> float:
    """Share of the squares of the wrench that no parameters explain."""
    return float(residuals(train).sum() / train.gram()[-1, -1])


def ground(case: Case) -> Iterable[Finding]:
    """Feet inside segments, and the wheel's radius."""
    prepared, inputs = case.prepared, case.fit.inputs
    if prepared.ground is None:
        return ()
    findings, wheel = feet_findings(prepared.ground, prepared.segments), inputs.mechanism.wheel
    return findings if wheel is None else findings + wheel_findings(case.fit.rolled, wheel.radius)


def contact(case: Case) -> Iterator[Finding]:
    """Stops farther in than the ends of the travel, or than stated."""
    before, inputs, stated = case.prepared.inputs, case.fit.inputs, case.config.stops
    if inputs.stops is None or inputs.stops == before.stops:
        return
    edge = AT_STOP * inputs.step
    low, high = inputs.stops[0] + edge, inputs.stops[1] - edge
    if before.stops is None:
        position = inputs.seen_position
        found = low > position.min() + 1.01 * edge, high < position.max() - 1.01 * edge
    else:
        found = inputs.stops[0] != before.stops[0], inputs.stops[1] != before.stops[1]
    ends = [f"below {case.shown(low, '.1f')}", f"above {case.shown(high, '.1f')}"]
    if stated is not None:
        ends = [f"{x}, inside the stated stop at {case.shown(at, 'g')}," for x, at in zip(ends, stated, strict=True)]
    where = " and ".join(x for x, there in zip(ends, found, strict=True) if there)
    evidence = (
        f"{where or 'near its ends'} something not in the model pushes back (a stop, a seal, a catch): samples there "
        "were left out"
    )
    shown = "state stops:, or add an element" if stated is None else "correct stops:, or add an element"
    if found == (False, True):
        stop = f"{{type: end-stop, name: stop, acts_on: {inputs.mechanism.main}, at: {case.shown(high, '.1f')}}}"
        shown = f"if it is to be felt, add {stop} to elements"
    yield Finding("contact", evidence, remedy=shown)
