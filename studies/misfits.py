"""Objects and instruments that differ from the model: does the result say so, and does it name what is wrong?

Simulated without palpate (`tests/oracles`). A confident wrong number is one that is called identified in a result that
passed, with the truth outside its interval by more than half the interval's length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from studies.running import map_seeds
from tests.oracles import doors_of_other_make as doors
from tests.oracles import gates_of_other_make as gates
from tests.oracles import handles_of_other_make as handles
from tests.oracles import wheelbarrows_of_other_make as barrows

TITLE = "Misfits: models that are wrong"
Write = Callable[..., tuple[Path, dict[str, float]]]


@dataclass(frozen=True)
class Misfit:
    """A way to differ from the model."""

    name: str
    write: Write
    effects: tuple[Callable[..., object], ...] = ()
    causes: tuple[str, ...] = ()
    """Which of them must be named first; none: nothing is wrong."""
    without: tuple[str, ...] = ()
    """Parameters that have no true value then."""


GATE, HANDLE, DOOR, BARROW = gates.write, handles.write, doors.write, barrows.write
LINKS = ("linkage", "force-position", "damping-direction", "damping-position")
SPRING = ("c_0", "c_1", "c_2", "c_3")
WITHOUT_IMU: Sequence[Misfit] = (
    Misfit("gate, clean", GATE),
    Misfit("gate, coloured noise", GATE, (gates.coloured,)),
    Misfit("gate, path of a point", GATE, (gates.by_path,)),
    Misfit("handle, clean", HANDLE),
    Misfit("handle, coloured noise", HANDLE, (handles.coloured,)),
    Misfit("handle, accelerometer's zero", HANDLE, (handles.accelerometer_zero,)),
    Misfit("Stribeck friction", GATE, (gates.stribeck,), ("friction-speed",)),
    Misfit("hysteretic spring", GATE, (gates.hysteresis,), ("memory",)),
    Misfit("Bouc-Wen spring", GATE, (gates.bouc_wen,), ("memory",)),
    Misfit("Maxwell slip", GATE, (gates.maxwell_slip,), ("memory",)),
    Misfit("friction that grows with load", GATE, (gates.loaded,), ("friction-load",)),
    Misfit("friction along the travel", GATE, (gates.rough_track,), ("friction-position",)),
    Misfit("quadratic drag", GATE, (gates.drag,), ("drag",)),
    Misfit("leaning hinge", GATE, (gates.leaning,), ("force-position",), ("c_0", "c_1")),
    Misfit("soft marker plate", GATE, (gates.soft_plate,), ("compliance", "lag", "delay")),
    Misfit("soft adapter", GATE, (gates.soft_adapter,), ("give", "compliance")),
    Misfit("slow amplifier", GATE, (gates.slow_amplifier,), ("lag", "delay")),
    Misfit("late torque", GATE, (gates.delayed,), ("lag", "delay")),
    Misfit("play", GATE, (gates.play,), ("play",)),
    Misfit("load cell that is not linear", GATE, (gates.not_linear,), ("linearity",)),
    Misfit("friction that warms up", GATE, (gates.warming,), ("friction-time",), ("b_c",)),
    Misfit("drift of the zero", GATE, (gates.drift,), ("drift",)),
    Misfit("another hand", GATE, (gates.another_hand,), ("unexplained", "touched", "outlying")),
    Misfit("torque of the wrong sign", GATE, (gates.backwards,), ("sign", "columns")),
    Misfit("degrees as radians", GATE, (gates.in_degrees,), ("travel",)),
    Misfit("force in a gripper's axes", GATE, (gates.by_gripper,), ("columns",)),
    Misfit("motor that helps", GATE, (gates.helped,), ("energy", "sign")),
    Misfit("handle, slow amplifier", HANDLE, (handles.slow_amplifier,), ("compliance", "lag")),
    Misfit("handle, soft adapter", HANDLE, (handles.soft_adapter,), ("compliance",)),
    Misfit("handle, gain of a channel", HANDLE, (handles.one_gain,), ("gain",)),
    Misfit("handle, load cell that is not linear", HANDLE, (handles.not_linear,), ("linearity",)),
    Misfit("handle, accelerometer's scale", HANDLE, (handles.accelerometer_scale,), ("gravity",)),
    Misfit("handle, dead channel", HANDLE, (handles.dead,), ("gain", "dead", "stuck", "frozen")),
    Misfit("handle, hum", HANDLE, (handles.hum,), ("hum",)),
    Misfit("handle, sensor turned", HANDLE, (handles.turned,), ("placement",)),
    Misfit("handle, drift", HANDLE, (handles.drift,), ("drift", "zero-drift")),
    Misfit("handle, touched", HANDLE, (handles.touched,), ("unexplained", "touched", "outlying")),
    Misfit("door, clean", DOOR),
    Misfit("door, ajar where it rests", DOOR, (doors.ajar,)),
    Misfit("door, coloured noise", DOOR, (doors.coloured,)),
    Misfit("door, few visits", DOOR, (doors.few_visits,)),
    Misfit("door, zones estimated", DOOR, (doors.zones_guessed,)),
    Misfit("door, drift", DOOR, (doors.drift,), ("drift",)),
    Misfit("door, leaning hinge", DOOR, (doors.leaning,), ("force-position", "leaning"), SPRING),
    Misfit(
        "door, track arm",
        DOOR,
        (doors.track_arm,),
        LINKS,
    ),
    Misfit(
        "door, stand-offs",
        DOOR,
        (doors.stand_offs,),
        LINKS,
    ),
    Misfit("wheelbarrow, clean", BARROW),
    Misfit("wheelbarrow, whole", BARROW, (barrows.as_whole,)),
    Misfit("wheelbarrow, coloured noise", BARROW, (barrows.coloured,)),
    Misfit("wheelbarrow, dry bearing", BARROW, (barrows.dry_bearing,), ("friction",)),
    Misfit("wheelbarrow, heavy wheel", BARROW, (barrows.heavy_wheel,), ("inertia", "mass")),
    Misfit("wheelbarrow, load cell turned", BARROW, (barrows.cell_turned,), ("turned",)),
    Misfit("wheelbarrow, load-cell scale", BARROW, (barrows.cell_scale,), ("mass", "scale")),
    Misfit("wheelbarrow, axle ends exchanged", BARROW, (barrows.axle_exchanged,), ("axle",)),
    Misfit("wheelbarrow, across reversed", BARROW, (barrows.across_reversed,), ("axle",)),
    Misfit("wheelbarrow, wrong radius", BARROW, (barrows.wrong_radius,), ("wheel-radius",)),
    Misfit("wheelbarrow, tyre slips", BARROW, (barrows.slip,), ("slip", "unexplained", "wheel-radius")),
    Misfit("wheelbarrow, second person", BARROW, (barrows.second_person,), ("unexplained", "outlying", "carry-over")),
)
MISFITS = (
    *WITHOUT_IMU,
    *(
        replace(m, name=m.name.replace("wheelbarrow,", "wheelbarrow with IMU,"), write=partial(BARROW, imu=True))
        for m in WITHOUT_IMU
        if m.write is BARROW
    ),
)
"""An IMU makes intervals narrower, so less may be wrong."""


@dataclass(frozen=True)
class Outcome:
    """What was said of one recording."""

    passed: bool
    named: tuple[str, ...]
    """Causes in the order in which they are told."""
    outside: dict[str, float]
    """Identified number -> distance from the truth in half widths of its interval."""
    holds: dict[str, bool]
    """Number with an interval -> whether the truth is inside."""
    refused: str = ""


@dataclass(frozen=True)
class Run:
    """All ways with one seed."""

    seed: int
    outcomes: dict[str, Outcome]


def run_one(seed: int, misfits: Sequence[Misfit] = MISFITS) -> Run:
    return Run(seed, {m.name: _outcome(m, seed) for m in misfits})


def _outcome(misfit: Misfit, seed: int) -> Outcome:
    with TemporaryDirectory() as folder:
        path, truth = misfit.write(Path(folder), seed, *misfit.effects)
        try:
            result = run_experiment(read_experiment(path))
        except PalpateError as error:
            return Outcome(False, (), {}, {}, str(error))
    outside: dict[str, float] = {}
    holds: dict[str, bool] = {}
    for name, entry in result.data["parameters"].items():
        if name not in truth or name in misfit.without or entry["ci95"] is None:
            continue
        low, high = entry["ci95"]
        holds[name] = low <= truth[name] <= high
        if entry["status"] == "identified":
            outside[name] = (entry["value"] - truth[name]) / max((high - low) / 2, 1e-300)
    return Outcome(result.passed, tuple(f.cause for f in result.findings), outside, holds)


def confident_and_wrong(outcome: Outcome) -> bool:
    return outcome.passed and any(abs(x) > 2 for x in outcome.outside.values())


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: Sequence[Run]) -> str:
    lines = [
        "| differs by | recordings | passed | confident wrong | inside 95 % | cause named first | first causes |",
        "|---|---|---|---|---|---|---|",
    ]
    wrong = named = misfits = alarms = clean = 0
    for m in MISFITS:
        outcomes = [r.outcomes[m.name] for r in runs]
        bad = sum(map(confident_and_wrong, outcomes))
        first = [o.named[0] if o.named else ("refused" if o.refused else "-") for o in outcomes]
        hits = [abs(x) <= 1 for o in outcomes for x in o.outside.values()]
        wrong += bad
        if m.causes:
            right = sum(f in m.causes for f in first)
            named, misfits = named + right, misfits + len(outcomes)
            told = f"{right} of {len(outcomes)}"
        else:
            clean, alarms = clean + len(outcomes), alarms + sum(not o.passed for o in outcomes)
            told = ""
        counts = sorted({f: first.count(f) for f in first}.items(), key=lambda x: -x[1])[:3]
        lines.append(
            f"| {m.name} | {len(outcomes)} | {sum(o.passed for o in outcomes)} | {bad} | "
            f"{sum(hits)} of {len(hits)} | {told} | {', '.join(f'{f} {n}' for f, n in counts)} |"
        )
    total = len(runs) * len(MISFITS)
    lines += [
        "",
        f"Confident wrong numbers: {wrong} of {total} recordings. The right cause is named first in {named} of "
        f"{misfits}. False alarms: {alarms} of {clean} recordings in which nothing is wrong.",
    ]
    return "\n".join([*lines, "", *_coverage(runs)])


def _coverage(runs: Sequence[Run]) -> list[str]:
    """How often the total interval holds the truth where nothing is wrong, by object and number."""
    counts: dict[tuple[str, str], list[bool]] = {}
    for m in (m for m in MISFITS if not m.causes):
        kind = m.name.split(",")[0]
        for name, inside in (pair for r in runs for pair in r.outcomes[m.name].holds.items()):
            counts.setdefault((kind, name), []).append(inside)
    lines = ["Total intervals that hold the truth where nothing is wrong:", "", "| object | number | inside |"]
    lines.append("|---|---|---|")
    lines += [f"| {kind} | {name} | {sum(x)} of {len(x)} |" for (kind, name), x in counts.items()]
    return lines
