"""The closed loop: a hand holds the real handle on a robot that moves as a model says; and the same hand on the object.

    hand -> handle -> sensor -> Stepper(model of the body) -> pose, velocity, acceleration -> arm -> handle -> hand

The sensor reads what handle and hand do to the robot: for a model of the body alone (`model_of: body`) this is what
drives it, as it is (Keemink, van der Kooij and Stienen 2018, Admittance control for physical human-robot interaction:
the post-sensor inertia is real and is not rendered).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.files import finite
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms
from palpate.rendering import hand as hands
from palpate.rendering.hand import Grip, Hand, Intention
from palpate.rendering.robot import Arm, Inner, LoopSensor, Reading
from palpate.rendering.stability import Line, limits_of, line_of, stability_map
from palpate.runtime.pairing import model_of
from palpate.runtime.replay import finer
from palpate.runtime.stepper import Stepper, StepStatus

DT_S = 1e-3
"""s: the admittance loop runs at 1 kHz."""
FINER = 2
"""Steps of the true object in one step of the loop."""
_RUNAWAY_M, _RUNAWAY_M_S = 1.0, 10.0
"""m from where the hand wants to be, and m/s, at which a loop has run away."""
_SHAKING = 0.02
"""Part of the steps in which an axis may want more torque than it has."""
PASS_PERCENT = 5.0
"""Force error, RMS in percent of the range, up to which an object feels like another here."""


@dataclass(frozen=True, slots=True)
class Robot:
    """Sensor and inner loop of the arm."""

    sensor: LoopSensor = field(default_factory=LoopSensor)
    inner: Inner = field(default_factory=Inner)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened at the handle, one row for each step."""

    times_s: FloatArray
    place: FloatArray
    """(steps, 3) m, of the hand in the world."""
    force: FloatArray
    """(steps, ways) N, of the hand on the handle, along the ways in which the object can move."""
    way: FloatArray
    """(steps, ways) m: how far the hand is along each way; for a hinge along its arc."""
    acceleration: FloatArray
    """(steps, ways) m/s2, of the hand along each way."""
    ways: tuple[str, ...]
    ended: str = ""
    """Why it was stopped before its end; empty if it was not."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Steps in which the sensor was saturated, the torque at its limit, the model at a stop."""

    @property
    def stable(self) -> bool:
        """Whether it neither ran away nor shook the arm at the limit of its torque."""
        return not self.ended and self.counts.get("torque limited", 0) <= _SHAKING * len(self.times_s)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Robot minus true object along each way, (ways,): RMS, and the range from the least to the largest true value."""

    rms: FloatArray
    range: FloatArray

    @property
    def percent(self) -> FloatArray:
        """RMS in percent of the range."""
        return 100.0 * self.rms / self.range


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A robot that renders a model beside the true object, both in the same hand."""

    ways: tuple[str, ...]
    force: Difference
    """N"""
    motion: Difference
    """m"""
    stable: bool

    @property
    def passed(self) -> bool:
        """Whether it feels like the true object."""
        return self.stable and bool((self.force.percent < PASS_PERCENT).all())


_Rows = list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]
"""Of each step: place and acceleration of the hand, rotation of the handle, and how the hand is pulled."""


def check_pairing(model: Model) -> None:
    """Refuse a model that the raw sensor wrench must not drive: it has the handle inside, which the robot carries.

    One that does not say what it describes is taken for the body; `Trial.remarks` says so.
    """
    of = model_of(model)
    if of not in ("", "body"):
        raise PalpateError(
            f"model {model.name!r}: model_of is {of!r}; a robot that carries the real handle renders the body alone, "
            "driven by the raw sensor wrench. Identify with model_of: body"
        )


def run_true(model: Model, grip: Grip, hand: Hand, intention: Intention) -> Trace:
    """The hand on the true object: no robot, no sensor, one simulation of object, handle and hand's mass together."""
    dt = float(intention.times_s[1] - intention.times_s[0]) / FINER
    whole = hands.held(model, grip, hand.mass)
    stepper, moving = Stepper(whole, dt), hands.motion_of(model)
    n = len(model.mechanism.accelerations)
    out = [0.0] * stepper.size
    state = [*intention.start, *(0.0,) * n]
    stepper.reset(state)
    rows: _Rows = []
    wants, speeds = finer(intention.place, FINER), finer(intention.velocity, FINER)
    now = moving(state, out[-n:])
    p, v, a = now.point(grip.hand)
    for i in range(len(wants)):
        pulls = hand.stiffness * (wants[i] - p) + hand.damping * (speeds[i] - v) + intention.holds
        status = stepper.step(hands.wrench_at(now.R.T @ pulls, grip.hand), out)
        if status is StepStatus.NOT_FINITE:
            raise DataProblem("true object", f"the simulation breaks down at {i * dt:.3f} s")
        now = moving(out[:-n], out[-n:])
        p, v, a = now.point(grip.hand)
        if i % FINER == FINER - 1:
            rows.append((p, a, now.R, pulls))
    return _trace(model, grip, hand, intention, rows)


def run_robot(model: Model, grip: Grip, hand: Hand, intention: Intention, robot: Robot | None = None) -> Trace:
    """The hand on a robot that renders `model` (of the body, without handle) from what its sensor reads."""
    check_pairing(model)
    robot = Robot() if robot is None else robot
    dt = float(intention.times_s[1] - intention.times_s[0])
    stepper, moving, n = Stepper(model, dt), hands.motion_of(model), len(model.mechanism.accelerations)
    out, still = [0.0] * stepper.size, [0.0] * n
    stepper.reset([*intention.start, *still])
    arm = Arm(moving(intention.middle, still), grip, hand.mass, robot.inner, dt)
    target = moving([*intention.start, *still], still).at(grip.place)
    arm.reset(target.R, target.p, intention.holds)
    reading = Reading(robot.sensor, dt, np.random.default_rng(0))
    stops, ended = 0, ""
    rows: _Rows = []
    for i in range(len(intention.times_s) - 1):
        read = reading.read(arm.sensed())
        force = read[:3]
        stops += stepper.step([*force, *(read[3:] + hands.cross(grip.place, force))], out) >= StepStatus.AT_LIMIT
        target = moving(out[:-n], out[-n:]).at(grip.place)
        p, v = arm.hand()
        pulls = hand.stiffness * (intention.place[i] - p) + hand.damping * (intention.velocity[i] - v) + intention.holds
        arm.step(target, pulls)
        p, after = arm.hand()
        rows.append((p, (after - v) / dt, arm.handle()[0], pulls))
        if not (math.dist(p, intention.place[i]) < _RUNAWAY_M and math.hypot(*after) < _RUNAWAY_M_S):
            ended = f"the loop ran away at {i * dt:.2f} s"
            break
    counts = {"saturated": reading.saturated, "torque limited": arm.limited, "at a stop": stops}
    return replace(_trace(model, grip, hand, intention, rows), ended=ended, counts=counts)


def compare_traces(robot: Trace, true: Trace) -> Comparison:
    """Forces and motion of both; the first half second, in which the hand takes hold, is left out."""
    count = min(len(robot.times_s), len(true.times_s))
    part = slice(min(int(np.searchsorted(true.times_s, 0.5)), count - 1), count)
    pairs = ((robot.force[part], true.force[part]), (robot.way[part], true.way[part]))
    differences = (Difference(rms(ours - real, axis=0), np.ptp(real, axis=0)) for ours, real in pairs)
    return Comparison(true.ways, *differences, stable=robot.stable)


def apparent_inertia(trace: Trace, frequency_hz: float, *, from_s: float = 2.0) -> complex:
    """kg: force over acceleration at one frequency, along the first way (Fourier coefficients, Hann's window)."""
    part = trace.times_s >= from_s
    t = trace.times_s[part]
    weight = np.hanning(len(t)) * np.exp(-2j * np.pi * frequency_hz * t)
    force, acceleration = (x[part, 0] - x[part, 0].mean() for x in (trace.force, trace.acceleration))
    below = complex(weight @ acceleration)
    return complex(weight @ force) / below if below else complex(math.nan, math.nan)


def _trace(model: Model, grip: Grip, hand: Hand, intention: Intention, rows: _Rows) -> Trace:
    place, a, R, pulls = (np.array([row[i] for row in rows]) for i in range(4))
    weight = np.array([0.0, 0.0, hand.mass * model.mechanism.gravity])
    names = tuple(name for name, _ in hands.directions(model, grip, R[0]))
    units = np.array([[u for _, u in hands.directions(model, grip, turn)] for turn in R])
    force, far, faster = (np.einsum("twi,ti->tw", units, x) for x in (pulls - hand.mass * a - weight, place, a))
    way = far if model.mechanism.main is None else hands.way_along(model, grip, place)[:, None]
    return Trace(intention.times_s[1 : len(rows) + 1], place, force, way, faster, names)


DELAYS_S = np.array([0.0, 0.001, 0.002, 0.004, 0.006, 0.008, 0.012, 0.016, 0.024, 0.032, 0.048, 0.064])
STIFFNESSES = np.array([100.0, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 10e3, 20e3])
"""N/m, of the hand: a relaxed arm to a person who leans on it."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a trial needs beside the model."""

    seconds: float = 10.0
    radius: float | None = None
    """m from a hinge's axis to the sensor."""
    hand: Hand = field(default_factory=Hand)
    robot: Robot = field(default_factory=Robot)
    wrong: float = 0.2
    """Part by which inertia and damping are made wrong, to see that the trial notices; 0: not tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A model on the simulated robot beside the true object, and the limits of the loop."""

    model: Model
    same: bool
    """Whether the true object is the model itself, so that all error is the robot's."""
    setup: Setup
    grip: Grip
    intention: Intention
    true: Trace
    robot: Trace
    comparison: Comparison
    wrong: Comparison | None
    line: Line
    map: FloatArray
    """(DELAYS_S, STIFFNESSES) spectral radius."""
    limits: dict[str, float]
    """As `limits_of` names them."""

    @property
    def passed(self) -> bool:
        """Whether the model on this robot feels like the true object, and the trial notices one that does not."""
        return self.comparison.passed and (self.wrong is None or not self.wrong.passed)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know before the numbers."""
        itself = "no --truth is given: the model is compared with itself, which judges the robot, not the model"
        unsaid = "the model does not say what it describes (about: model_of): taken to be the body alone"
        return (itself,) * self.same + (unsaid,) * (not model_of(self.model))

    def apparent(self) -> list[tuple[float, complex, complex]]:
        """Hz, kg of the true object, kg of the robot: force over acceleration at each frequency of the intention."""
        return [(f, apparent_inertia(self.true, f), apparent_inertia(self.robot, f)) for f in self.intention.lines_hz]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        c, s = self.comparison, self.setup
        parts = (("force", "N", c.force), ("motion", "m", c.motion))
        ways = [
            {"way": way}
            | {
                f"{name}_{key}": float(x[i])
                for name, unit, d in parts
                for key, x in ((f"rms_{unit}", d.rms), (f"range_{unit}", d.range), ("percent", d.percent))
            }
            for i, way in enumerate(c.ways)
        ]
        off = self.wrong
        return {
            "palpate_loop": 1,
            "model": self.model.name,
            "remarks": list(self.remarks),
            "true_object": "the model itself" if self.same else "another model",
            "hand": {"mass_kg": s.hand.mass, "damping_Ns_per_m": s.hand.damping, "stiffness_N_per_m": s.hand.stiffness},
            "robot": {
                "bandwidth_hz": s.robot.inner.bandwidth_hz,
                "feeds_forward": [n for n in ("velocity", "acceleration") if getattr(s.robot.inner, n)],
                "masses_wrong_by": s.robot.inner.wrong,
                "delay_s": s.robot.sensor.delay_s,
                "noise_N": s.robot.sensor.noise_n,
                "noise_Nm": s.robot.sensor.noise_nm,
                "loop_hz": 1.0 / DT_S,
            },
            "grip_m": self.grip.place.tolist(),
            "pace_hz": self.intention.pace_hz,
            "ways": ways,
            "limit_percent": PASS_PERCENT,
            "stable": c.stable,
            "ended": self.robot.ended,
            "steps": {"all": len(self.robot.times_s), **dict(self.robot.counts)},
            "wrong": off and {"part": s.wrong, "force_percent": off.force.percent.tolist(), "passed": off.passed},
            "apparent_inertia": [
                {"hz": f, "true_kg": finite(abs(a)), "robot_kg": finite(abs(b))} for f, a, b in self.apparent()
            ],
            "limits": {name: finite(value) for name, value in self.limits.items()},
            "passed": self.passed,
        }


def trial(model: Model, truth: Model | None = None, setup: Setup | None = None) -> Trial:
    """Render `model` on the simulated robot and compare it with `truth` (itself without one) in the same hand."""
    setup = Setup() if setup is None else setup
    check_pairing(model)
    if not (math.isfinite(setup.seconds) and 3.0 <= setup.seconds <= 600.0):
        raise PalpateError(f"a trial takes 3 to 600 s, not {setup.seconds!r}")
    true_model, same, wrong = model if truth is None else truth, truth is None, None
    if true_model.mechanism.state != model.mechanism.state:
        raise PalpateError(f"{true_model.name!r} moves in another way than {model.name!r}: they cannot be compared")
    grip, hand = hands.grip_of(model, setup.radius), setup.hand
    intention = hands.rocking(true_model, grip, hand, setup.seconds, DT_S)
    true = run_true(true_model, grip, hand, intention)
    intention = intention if truth is None else hands.on_object(intention, model, grip)
    robot = run_robot(model, grip, hand, intention, setup.robot)
    if setup.wrong:
        wrong = compare_traces(run_robot(wrong_by(model, setup.wrong), grip, hand, intention, setup.robot), true)
    line = loop_line(model, grip, hand, intention, setup.robot)
    felt, grid = compare_traces(robot, true), stability_map(line, DELAYS_S, STIFFNESSES)
    return Trial(model, same, setup, grip, intention, true, robot, felt, wrong, line, grid, limits_of(line))


def loop_line(model: Model, grip: Grip, hand: Hand, intention: Intention, robot: Robot) -> Line:
    """The loop along the hand's way, about the middle of what the person intends, with the arm's mass there."""
    body = hands.motion_of(model)(intention.middle, [0.0] * len(model.mechanism.accelerations))
    arm = Arm(body, grip, hand.mass, robot.inner, DT_S)
    arm.reset(body.R, body.point(grip.place)[0], intention.holds)
    (_, along), *_ = hands.directions(model, grip, body.R)
    line = line_of(model, grip, intention.middle, hand, arm.effective_mass(along))
    return replace(line, inner=robot.inner, delay_s=robot.sensor.delay_s, dt=DT_S)


def wrong_by(model: Model, part: float) -> Model:
    """The same object with all inertia, damping and dry friction too large by this part; springs and stops stay."""
    values = dict(model.values)
    for e, names in model.parts:
        for name, p in zip(names, e.parameters, strict=True):
            slows = e.dry or " s" in p.unit.split("/")[0]
            if e.stops is None and (slows or p.unit.startswith("kg")):
                values[name] *= 1.0 + part
    return replace(model, values=values)
