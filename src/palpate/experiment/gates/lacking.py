"""What the model lacks: the effect that explains most of what the fit leaves beyond the instruments' noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from palpate.experiment.stage.fit import natural_sizes
from palpate.experiment.stage.lack import (
    BEYOND_NOISE,
    LEAST,
    PARTS,
    PLACES,
    UNEXPLAINED,
    LackOfFit,
    across,
    link_steps,
)
from palpate.experiment.stage.leaning import VERTICAL_RAD, leaning_part
from palpate.experiment.stage.result import Case
from palpate.findings import Finding, Severity
from palpate.identify.effects import Lack
from palpate.physics.arrays import FloatArray
from palpate.physics.units import along, share_text, shown, told_apart

MOVED_SHARE = 0.1
"""Share of its value by which an effect must move a number to fail the verdict."""
UNLIKELY = 3.0
"""Times a spline's curve between the knots of a table from which straight lines are wrong; the intervals hold less."""
BUILT_UP = (0.25, 1.0)
"""Thresholds over the width in which a force follows a reversal."""
SERIES_LOUD = 1.3
"""What is left of two bodies in series, over the instruments' noise, that no model may leave: their numbers hang on
every detail of it."""
TOO_LOUD, TOO_MUCH = 10.0, 0.1
"""What is left without a name, in multiples of the instruments' noise and as a share of the wrench, that no model may
leave."""


def lacking(case: Case) -> Iterator[Finding]:
    """The effect that explains most, or how much nothing explains."""
    lack = case.lack
    if lack is None:
        return
    row = int(np.argmax(lack.times))
    unit = case.model.mechanism.rows[row].unit
    left, noise = told_apart(float(lack.left[row]), float(lack.noise[row]))
    beside = f"the fit leaves {left} {unit} where instrument noise alone leaves {noise}"
    best = next(iter(lack.significant), None)
    if best is None or (best.share < LEAST and lack.times[row] > _loud(case)):  # a twentieth of much is no cause of it
        yield from _without_a_name(case, lack, row, beside)
        return
    words, remedy = WORDS[best.effect.cause](case, best)
    instruments, sizes = _instruments(case), natural_sizes(case.solution).tolist()
    moved: list[str] = []
    for e, size in zip(case.solution.estimates, sizes, strict=True):
        by, size = best.shift[e.name], abs(e.value) if np.isinf(size) else size
        least = max(MOVED_SHARE * size, 1.96 * float(np.hypot(e.noise, e.pull)))
        if e.ci95 is None or e.name in instruments or abs(by) <= least:
            continue
        moved.append(f"{e.name} by {by:+.2g} {e.unit}")
    evidence = f"{beside}; {100 * best.share:.0f} % of it {words}"
    if moved:
        evidence += f", which would move {', '.join(moved)}"
    elif best.share < LEAST:
        return  # the intervals hold it
    # what hardly shows beside noise is in the intervals, and noise alone looks like it now and then
    held = best.share < LEAST and lack.times[row] < BEYOND_NOISE
    held |= best.effect.cause == "between" and best.unlikely < UNLIKELY
    fails = (moved and not held) or best.effect.cause == "play" or _too_much(case, lack, row)
    severity = Severity.FATAL if fails else Severity.WARNING
    yield Finding(best.effect.cause, evidence, best.effect.place, remedy, severity)


def suspected(case: Case) -> Iterator[Finding]:
    """Friction that grows with the pull, where the motion hardly tells it from a heavier object."""
    for x in () if case.lack is None else case.lack.suspected:
        narrow = [e for e in case.solution.estimates if e.ci95 is not None]
        moved = [
            f"{e.name} by {x.shift[e.name]:+.2g} {e.unit}" for e in narrow if abs(x.shift[e.name]) > 1.96 * e.noise
        ]
        if moved:
            evidence = (
                "dry friction may grow with what presses on the guide, which hardly shows in this motion and would "
                f"move {', '.join(moved)}; the intervals allow for it"
            )
            yield Finding("suspected", evidence, x.effect.place, "move it faster and brake it by hand now and then")


def _without_a_name(case: Case, lack: LackOfFit, row: int, beside: str) -> Iterator[Finding]:
    """Where no effect explains what is left: numbers that differ between parts of the data, or how much it is."""
    for x in lack.parts:
        e, by = case.solution[x.effect.place], float(x.coefficients[0])
        if abs(by) > MOVED_SHARE * abs(e.value) and e.name not in _instruments(case):
            first, second = PARTS.get(x.effect.cause, (f"in the {x.effect.cause}", "in the others"))
            one = e.value + x.shift[e.name]
            here, there = told_apart(one + by, one, 3)
            apart = f"{e.name} is {here} {e.unit} {first}, {there} {second}"
            evidence = f"parts of the data disagree: {apart}; the interval covers both"
            remedy = "look for what differs between them: temperature, wear, a helping hand"
            yield Finding("parts", evidence, e.name, remedy)
            break
    if lack.times[row] > _loud(case):
        evidence = f"{beside}, and none of the effects tested explains it"
        name = case.model.mechanism.rows[row].name
        severity = Severity.FATAL if _too_much(case, lack, row) else Severity.WARNING
        remedy = "look at the residuals in the report for play, something loose, or somebody touching the object"
        yield Finding("unexplained", evidence, name, remedy, severity)


def _loud(case: Case) -> float:
    """Times the instruments' noise from which what is left is worth a word where nothing explains it."""
    return UNEXPLAINED if case.fit.inputs.inner is None else SERIES_LOUD


def _too_much(case: Case, lack: LackOfFit, row: int) -> bool:
    if case.fit.inputs.inner is not None:
        return bool(lack.times[row] > SERIES_LOUD)
    return bool(lack.times[row] > TOO_LOUD and lack.left[row] > TOO_MUCH * float(np.std(case.fit.rows()[:, row, -1])))


def _instruments(case: Case) -> set[str]:
    return {n for e in case.model.elements if e.instrument for n in case.model.names_of(e)}


def not_found(case: Case) -> Iterator[Finding]:
    """Two bodies in series for which the search ended before nothing nearby left less."""
    inner = case.fit.inputs.inner
    if inner is not None and not inner.found:
        evidence = "the search for both bodies ended on the way: other numbers nearby leave less"
        remedy = (
            "record quicker strokes and reversals, or leave out what the motion does not show (elements:, without:)"
        )
        yield Finding("unexplained", evidence, case.model.mechanism.unmeasured[0], remedy, Severity.FATAL)


def weight(case: Case) -> Iterator[Finding]:
    """The weight of an object that leans, where it is not in the model and a spring takes it upon itself."""
    parts, rest = leaning_part(case.fit), case.fit.solution
    narrow = {e.name: 1.96 * np.hypot(e.noise, e.pull) for e in rest.estimates if e.ci95 is not None}
    moved = [f"{n} by up to {parts[n]:.2g} {rest[n].unit}" for n, half in narrow.items() if parts.get(n, 0.0) > half]
    if moved:
        mechanism = case.model.mechanism
        evidence = (
            f"it leans by {np.degrees(mechanism.leaning):.2f} deg and its weight is not in the model, which may move "
        )
        remedy = _element(f"type: gravity, name: weight, acts_on: {mechanism.weighed}")
        yield Finding("leaning", evidence + ", ".join(moved), str(mechanism.main), remedy)


Words = Callable[[Case, Lack], tuple[str, str]]


def _plain(words: str, remedy: str) -> Words:
    """The same for every object; @: the coordinate."""
    return lambda _, x: (words.replace("@", x.effect.place), remedy.replace("@", x.effect.place))


def _linkage(case: Case, lack: Lack) -> tuple[str, str]:
    mechanism, (at, steps) = case.model.mechanism, lack.strongest
    name = lack.effect.names[at]
    by, unit = steps * link_steps(case.fit)[name], mechanism.sizes[name][1]
    much = f"{shown(abs(by), unit)} {'more' if by > 0 else 'less'}"
    if mechanism.linkages:
        again = "again, or state how far off they may be (uncertain: {links: 5 mm})"
        return (
            f"is a linkage other than the stated one, as if {name} were {much}",
            f"measure links, pivots and stand-offs {again}",
        )
    words = f"is another {name} than stated, as if it were {much}"
    if name in mechanism.estimated:
        return words, "measure the others again"
    told = ", ".join((*mechanism.estimated, name))
    return words, f"measure it again, or let the data tell, mechanism: {{estimate: [{told}]}}"


def _element(text: str) -> str:
    return f"add {{{text}}} to elements"


def _places(case: Case, count: int) -> FloatArray:
    """So many positions over the travel, rad or m."""
    low, high = np.quantile(case.fit.inputs.seen_position, [0.005, 0.995])
    return np.linspace(float(low), float(high), count)


def _knots(case: Case, coordinate: str) -> str:
    unit = case.model.mechanism.coordinates[coordinate]
    return f"[{', '.join(shown(x, unit) for x in _places(case, PLACES + 1).tolist())}]"


def _friction_speed(case: Case, lack: Lack) -> tuple[str, str]:
    c = lack.effect.place
    speed = f"{lack.effect.shape:.2g} {along('rad/s', case.model.mechanism.coordinates[c])}"
    if any(e.dry and e.shapes and e.acts_on == c for e in case.model.elements):
        return "is friction that falls with speed in another way", f"set v_s of the stribeck element to {speed}"
    text = f"type: stribeck, name: b_st, acts_on: {c}, v_s: {speed}, estimate: true"
    return "is friction that falls with speed", _element(text)


def _friction_load(case: Case, lack: Lack) -> tuple[str, str]:
    c, mass = lack.effect.place, case.model.mass_parameter
    known, place = {e.name: e.value for e in case.solution.estimates}, ("c_x", "c_y", "c_z")
    more, words = "", "is dry friction that grows with what presses on its guide"
    if not len(across(case.fit, c)):
        if case.model.mechanism.coordinates[c] != "rad":
            return words, "record the force across the motion too: nothing else tells what presses there"
        more = ", lever: 0.8 m"
    elif mass is not None:
        more = f", mass: {known[mass]:.3g} kg"
    elif all(name in known for name in ("m", *place)):
        more = f", mass: {known['m']:.4g} kg, com: [{', '.join(f'{known[n]:.4f} m' for n in place)}]"
    return words, _element(f"type: load-friction, name: mu, acts_on: {c}{more}")


def _memory(case: Case, lack: Lack) -> tuple[str, str]:
    c, width = lack.effect.place, lack.effect.shape
    unit = case.model.mechanism.coordinates[c]
    words = f"is a force that depends on the path of the motion, over about {shown(width, unit)}"
    ours = [e.name for e in case.model.elements if e.memory and e.acts_on == c]
    if ours:
        return (
            words,
            f"give {' and '.join(ours)} another threshold; where that does not help, the intervals allow for it",
        )
    thresholds = ", ".join(shown(part * width, unit, digits=2) for part in BUILT_UP)
    return words, _element(f"type: presliding, name: k, acts_on: {c}, thresholds: [{thresholds}]")


def _options(case: Case, lack: Lack) -> tuple[str, str]:
    element = next(e for e in case.model.elements if e.name == lack.effect.place)
    unit, pairs = case.model.mechanism.coordinates[element.acts_on], getattr(element, element.guessed)
    better = [x * float(np.clip(1 + 0.1 * c, 0.5, 2)) for x, c in zip(pairs, lack.coefficients, strict=True)]
    written = ", ".join(shown(x, unit, digits=2) for x in sorted(better))
    words = f"is {element.name} with other {element.guessed} than stated"
    return words, f"try {element.guessed}: [{written}] of {element.name}"


def _direction(case: Case, lack: Lack) -> tuple[str, str]:
    c, (one, other) = lack.effect.place, case.model.mechanism.way
    more = one if float(lack.coefficients[0]) > 0 else other  # of |speed|, beside what opposes both ways alike
    text = f"type: zone-damper, name: b_{more}, acts_on: {c}, over: {c}, when: {more}"
    return f"is damping that differs between {one} and {other}, more of it while {more}", _element(text)


def _force(case: Case, lack: Lack) -> tuple[str, str]:
    better = "give the spring a higher order or a table more knots"
    if not any(e.stores and e.acts_on == lack.effect.place for e in case.model.elements):
        better = _element(
            f"type: table, name: hold, acts_on: {lack.effect.place}, knots: {_knots(case, lack.effect.place)}"
        )
    better += "" if not case.model.mechanism.linkages else ", or look for the right linkage"
    weighed = case.model.mechanism.weighed
    if weighed is not None and case.model.mechanism.leaning > VERTICAL_RAD:
        better = f"{_element(f'type: gravity, name: weight, acts_on: {weighed}')}, or {better}"
    return "is a force that depends on the position", better


def _friction_position(case: Case, lack: Lack) -> tuple[str, str]:
    c = lack.effect.place
    dry = [e for e in case.model.elements if e.dry and e.acts_on == c]
    better = f"give {' and '.join(e.name for e in dry)} more knots"
    if not any(e.breaks for e in dry):
        where = f"in place of {' and '.join(e.name for e in dry)}" if dry else "into elements"
        better = f"put {{type: hysteresis, name: rubbing, acts_on: {c}, knots: {_knots(case, c)}}} {where}"
    return "is dry friction that depends on the position", f"check whether it rubs somewhere, or {better}"


def _damping_position(case: Case, lack: Lack) -> tuple[str, str]:
    c, steps = lack.effect.place, np.diff(lack.coefficients)
    at = int(np.abs(steps).argmax())
    middle = float(np.mean(_places(case, len(lack.coefficients))[at : at + 2]))
    border, side = shown(middle, case.model.mechanism.coordinates[c]), "above" if steps[at] > 0 else "below"
    element = _element(f"type: zone-damper, name: b_zone, acts_on: {c}, over: {c}, {side}: {border}, estimate: true")
    return "is damping that depends on the position", element


def _lag(case: Case, lack: Lack) -> tuple[str, str]:
    late = -1e3 * float(lack.coefficients[0])
    stated = "state it (recordings.signals.delay), " if case.config.motion_from == "table" else ""
    return (
        f"is a {'wrench' if late > 0 else 'motion'} that is {abs(late):.1f} ms late",
        f"look for a filter in the amplifier, {stated}or have it removed (compensate: true)",
    )


def _skip(_: Case, lack: Lack) -> tuple[str, str]:
    by, at = 1e3 * float(lack.coefficients[1] - lack.coefficients[0]), lack.effect.shape
    lost = "load cell" if by > 0 else "motion"
    words = f"is a clock that jumps at about {at:.1f} s, as if {abs(by):.0f} ms of the {lost} were lost there"
    return words, "choose all segments before or all after it, or record again"


def _compliance(case: Case, lack: Lack) -> tuple[str, str]:
    c = float(lack.coefficients[0])
    f = 1 / (2 * np.pi * np.sqrt(abs(c)))
    if c < 0:
        words = f"is something soft between sensor and object that resonates at about {f:.0f} Hz"
        return words, "make the adapter stiffer, move more slowly, or have it removed (compensate: true)"
    where, mend = "a filter on the force", "make the filter faster"
    if case.fit.inputs.imu is None:
        where, mend = f"{where}, or markers or an encoder that vibrate,", f"{mend} or their mounting stiffer"
    return (
        f"is a low-passed signal: {where} at about {f:.0f} Hz",
        f"{mend}, move more slowly, or have it removed (compensate: true)",
    )


def _play(case: Case, lack: Lack) -> tuple[str, str]:
    if case.fit.inputs.inner is None:
        return (
            "occurs where the force changes sign, as play between hand and object would cause",
            "tighten it, measure the motion of the object itself, or have what is soft there removed "
            "(compensate: true)",
        )
    unit, gap = case.model.mechanism.coordinates[lack.effect.place], float(lack.coefficients[0])
    size = f"{1e3 * gap:.1g} mm" if unit == "m" else f"{np.degrees(gap):.1g} deg"
    return (
        f"occurs where what is between both bodies is pulled the other way, as play of about {size} would cause",
        "play between bodies is not described: tighten it, or measure the motion of the inner body itself and describe "
        "it alone",
    )


def _give(case: Case, lack: Lack) -> tuple[str, str]:
    unit, c = case.model.mechanism.coordinates[lack.effect.place], float(lack.coefficients[0])
    stiffness = f"{1e-3 / c:.2g} N/mm" if unit == "m" else f"{np.radians(1.0) / c:.2g} N m/deg"
    series = "series-slide" if unit == "m" else "series-hinge"
    return (
        f"is a position measured on the hand's side of something soft, of about {stiffness}",
        "measure it on the object itself, make stiffer what is between, or have it removed (compensate: true); with a "
        f"mass on either side, describe two bodies (mechanism type {series})",
    )


def _gain(case: Case, lack: Lack) -> tuple[str, str]:
    times = f"reads {1 + float(lack.coefficients[0]):.2f} times what it should"
    if case.fit.inputs.imu is None:
        return f"is a row that {times}", "check the load cells' gains and places"
    return f"is a channel that {times}", "check the cable, the gain and the calibration of that channel"


def _linearity(case: Case, lack: Lack) -> tuple[str, str]:
    largest = np.abs(case.fit.rows()[:, :, -1]).max(axis=0)
    by = 100 * float(np.max(largest * np.abs(lack.coefficients)))
    words = f"is a load cell that is nonlinear, by {share_text(by / 100)} between small and the largest forces"
    return words, "calibrate it over the range used"


WORDS: Mapping[str, Words] = {
    "inertia": lambda case, x: (
        f"is an inertia along {x.effect.place}",
        _element(f"type: inertia, name: I_{x.effect.place}, acts_on: {x.effect.place}")
        if case.model.mechanism.wheel is None
        else f"for a wheel, {_element('type: wheel-spin, name: I_w')}",
    ),
    "turned": lambda _, x: (
        f"is a load cell turned by {np.degrees(np.linalg.norm(x.coefficients)):.1f} deg relative to the other",
        "check how it is mounted, and its drawing",
    ),
    "scale": lambda _, x: (
        f"is a load cell whose scale is {100 * float(x.coefficients[0]):+.1f} % off the other's",
        "check gain and calibration of both",
    ),
    "friction": _plain("is dry friction", "add {type: coulomb, name: b_c_@, acts_on: @} to elements"),
    "damping": _plain("is damping", "add {type: viscous, name: b_v_@, acts_on: @} to elements"),
    "friction-speed": _friction_speed,
    "friction-load": _friction_load,
    "drag": _plain(
        "is a resistance that grows with the square of the speed",
        "add {type: drag, name: b_d, acts_on: @} to elements",
    ),
    "damping-direction": _direction,
    "memory": _memory,
    "options": _options,
    "between": _plain(
        "is a curve where the table '@' has straight lines", "give it more knots, or make it a smooth-table"
    ),
    "force-position": _force,
    "friction-position": _friction_position,
    "friction-time": _plain(
        "is dry friction that changes as it is moved", "move it until it is warm, or make the recording shorter"
    ),
    "damping-position": _damping_position,
    "inertia-position": _plain(
        "is an inertia that depends on the position",
        "look for a wrong linkage, or a force in axes that turn with the object",
    ),
    "lag": _lag,
    "skip": _skip,
    "compliance": _compliance,
    "give": _give,
    "held": lambda case, x: (
        f"is a zero that is {float(x.coefficients[0]):.2g} {case.model.mechanism.rows[0].unit} off, as if a hand had "
        "held the object in the static segment",
        "let segments.static be seconds in which nobody touches it, or leave it out",
    ),
    "drift": _plain("is a zero of the load cell that drifts", "let it warm up and zero it again"),
    "gain": _gain,
    "linearity": _linearity,
    "play": _play,
    "behind": _plain(
        "is a part of the inner body that swings on the rest of it, or a third body behind",
        "fasten what is loose in it, or measure nearer to what is to be described",
    ),
    "linkage": _linkage,
}
"""Cause -> what it is, and what helps."""
CAUSES = (*WORDS, "parts", "unexplained")
