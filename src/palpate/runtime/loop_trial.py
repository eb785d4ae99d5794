"""A trial of a model on the simulated robot: the comparison with the true object, and the limits of the loop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.runtime.driven import model_of
from palpate.runtime.loop import (
    DT_S,
    PASS_PERCENT,
    Comparison,
    Robot,
    Trace,
    apparent_inertia,
    check_pairing,
    compare,
    run_robot,
    run_true,
)
from palpate.runtime.loop_study import (
    Line,
    line_of,
    longest_delay,
    slowest_rate,
    smallest_inertia,
    stability_map,
    stiffest_hand,
)
from palpate.runtime.person import Hand, Intention, on_object, rocking
from palpate.runtime.robot_arm import Arm
from palpate.runtime.robot_grip import Grip, directions, grip_of, motion_of

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
    """What was found."""

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
    """longest_delay_s, stiffest_hand (N/m), smallest_inertia (kg at the hand), slowest_hz."""

    @property
    def passed(self) -> bool:
        """Whether the model on this robot feels like the true object, and the trial notices one that does not."""
        return self.comparison.passed and (self.wrong is None or not self.wrong.passed)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know before the numbers."""
        found: list[str] = []
        if self.same:
            found.append(
                "no --truth is given: the model is compared with itself, which judges the robot, not the model"
            )
        if not model_of(self.model):
            found.append("the model does not say what it is of (about: model_of): it is taken for the body alone")
        return tuple(found)

    def apparent(self) -> list[tuple[float, complex, complex]]:
        """Hz, kg of the true object, kg of the robot: force over acceleration at each frequency of the intention."""
        return [(f, apparent_inertia(self.true, f), apparent_inertia(self.robot, f)) for f in self.intention.lines_hz]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        c, s = self.comparison, self.setup
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
            "ways": [
                {
                    "way": way,
                    "force_rms_N": float(c.force_rms[i]),
                    "force_range_N": float(c.force_range[i]),
                    "force_percent": float(c.force_percent[i]),
                    "motion_rms_m": float(c.way_rms[i]),
                    "motion_range_m": float(c.way_range[i]),
                    "motion_percent": float(c.way_percent[i]),
                }
                for i, way in enumerate(c.ways)
            ],
            "limit_percent": PASS_PERCENT,
            "stable": c.stable,
            "ended": self.robot.ended,
            "steps": {"all": len(self.robot.times_s), **dict(self.robot.counts)},
            "wrong": None
            if self.wrong is None
            else {
                "part": s.wrong,
                "force_percent": [float(x) for x in self.wrong.force_percent],
                "passed": self.wrong.passed,
            },
            "apparent_inertia": [
                {"hz": f, "true_kg": _finite(abs(a)), "robot_kg": _finite(abs(b))} for f, a, b in self.apparent()
            ],
            "limits": {name: _finite(value) for name, value in self.limits.items()},
            "passed": self.passed,
        }


def trial(model: Model, truth: Model | None = None, setup: Setup | None = None) -> Trial:
    """Render `model` on the simulated robot and compare it with `truth` (itself without one) in the same hand."""
    setup = Setup() if setup is None else setup
    check_pairing(model)
    if not (math.isfinite(setup.seconds) and 3.0 <= setup.seconds <= 600.0):
        raise PalpateError(f"a trial takes 3 to 600 s, not {setup.seconds!r}")
    true_model = model if truth is None else truth
    if type(true_model.mechanism) is not type(model.mechanism):
        raise PalpateError(f"{true_model.name!r} moves in another way than {model.name!r}: they cannot be compared")
    grip, hand = grip_of(model, setup.radius), setup.hand
    intention = rocking(true_model, grip, hand, setup.seconds, DT_S)
    true = run_true(true_model, grip, hand, intention)
    intention = intention if truth is None else on_object(intention, model, grip)
    robot = run_robot(model, grip, hand, intention, setup.robot)
    wrong = None
    if setup.wrong:
        wrong = compare(run_robot(wrong_by(model, setup.wrong), grip, hand, intention, setup.robot), true)
    line = loop_line(model, grip, hand, intention, setup.robot)
    found = {
        "longest_delay_s": longest_delay(line),
        "stiffest_hand": stiffest_hand(line),
        "smallest_inertia": smallest_inertia(line),
        "slowest_hz": slowest_rate(line),
    }
    return Trial(
        model,
        truth is None,
        setup,
        grip,
        intention,
        true,
        robot,
        compare(robot, true),
        wrong,
        line,
        stability_map(line, DELAYS_S, STIFFNESSES),
        found,
    )


def loop_line(model: Model, grip: Grip, hand: Hand, intention: Intention, robot: Robot) -> Line:
    """The loop along the hand's way, about the middle of what the person intends, with the arm's mass there."""
    n = len(model.mechanism.accelerations)
    middle = 0.5 * (intention.positions.min(axis=0) + intention.positions.max(axis=0))
    state, still = [*middle.tolist(), *(0.0,) * n], [0.0] * n
    body = motion_of(model)(state, still)
    arm = Arm(body, grip, hand.mass, robot.inner, DT_S)
    arm.reset(body.R, body.point(grip.place)[0], intention.holds)
    (_, along), *_ = directions(model, grip, body.R)
    line = line_of(model, grip, state, hand, arm.effective_mass(along))
    return replace(line, inner=robot.inner, delay_s=robot.sensor.delay_s, dt=DT_S)


def wrong_by(model: Model, part: float) -> Model:
    """The same object with all inertia, damping and dry friction too large by this part; springs and stops stay."""
    values, names = dict(model.values), iter(model.parameters)
    for e in model.elements:
        for p in e.parameters:
            name = next(names)
            slows = e.dry or " s" in p.unit.split("/")[0]
            if not isinstance(e, EndStop) and (slows or p.unit.startswith("kg")):
                values[name] *= 1.0 + part
    return replace(model, values=values)


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
