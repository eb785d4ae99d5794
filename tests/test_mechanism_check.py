"""`check_mechanism` passes what keeps its promises and names, in words, each that is broken; ours and a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate
from palpate.elements import RigidBody
from palpate.errors import FileProblem, PalpateError
from palpate.mechanisms import (
    MECHANISMS,
    FourBar,
    Free,
    Hinge,
    Mechanism,
    Planar,
    Rolling,
    Screw,
    Slide,
    Universal,
    check_mechanism,
)
from palpate.model import Model
from palpate.parts import load_parts
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Kinematics, Motion, Poses
from tests.own_parts import SwingDoor

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "own-part.md").read_text(encoding="utf-8")
LIFT = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
WAYS = [
    *(kind() for kind in MECHANISMS.values()),
    Hinge(inclination=0.4, direction=-0.3, linkage=FourBar()),
    Slide(inclination=-0.3, direction=0.2),
    Screw(inclination=0.3, direction=0.2, pitch=-0.01),
    Universal(inclination=0.4, direction=2.0),
    Rolling(moves="upright", track=0.5, feet=((0.1, 0.2, 0.3),)),
    Rolling(moves="planar"),
    Rolling(feet=((0.1, 0.2, 0.3), (0.1, 0.2, -0.3))),
    Planar(track=0.5, casters=((0.6, -0.2), (0.6, 0.25)), trail=0.3),
    Planar(axle=False, casters=((0.6, -0.2), (-0.3, 0.1)), trail=0.3),
]


@pytest.mark.parametrize("mechanism", WAYS, ids=lambda m: m.type)
def test_those_that_ship_keep_their_promises(mechanism: Mechanism) -> None:
    everything = ("declarations", "numbers", "motion", "power", "inverses", "vertical", "units")
    assert check_mechanism(mechanism, seed=1) == everything


def broken(base: type[Any], words: str, **changes: Any) -> Any:
    """A mechanism that does one thing otherwise, and what must be said of it."""
    return pytest.param(dataclass(frozen=True, slots=True)(type("Broken", (base,), changes)), words, id=words[:40])


def wrong_velocity(self: Slide, state: Sequence[Scalar], fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
    del self, fn
    return (-state[1], 0.0, 0.0)


def wrong_moment(self: Hinge, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
    del self, k, fn
    return (wrench[5] + 0.1 * wrench[2],)


def no_symbols(self: Slide, state: Sequence[Scalar], fn: Functions) -> tuple[Any, Any]:
    return Slide.place(self, (state[0] if state[0] is None else np.add(state[0], 0.0), state[1]), fn)


def wrong_weight(self: Hinge, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
    return Hinge.body_motion(replace(self, direction=self.direction + 2 * state[0]), state, acc, fn)


def wrong_angle(self: Hinge, poses: Poses) -> np.ndarray:
    return -Hinge.coordinates_of(self, poses)


def wrong_position(self: Slide, motion: Motion) -> Kinematics:
    k = Slide.observe(self, motion)
    c = k.coordinates["slide"]
    return replace(k, coordinates={"slide": replace(c, speed=2 * c.speed)})


def wrong_rates(self: Free, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
    rates = list(Free.rates(self, state, fn))
    return (*rates[:3], *(2 * r for r in rates[3:]))


def millimetres(self: Slide, state: Sequence[Scalar], fn: Functions) -> tuple[Any, Any]:
    R, r = Slide.place(self, state, fn)
    return R, (r[0] + 0.001, r[1], r[2])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        broken(Slide, r"velocity\(\) is not how the origin of place\(\) moves", velocity=wrong_velocity),
        broken(Hinge, r"power: of a force along z, project\(\)", project=wrong_moment),
        broken(Slide, r"it fails on symbols .*use only \+ - \* /", place=no_symbols),
        broken(Hinge, r"specific_acceleration of expand\(\) is not how its velocity", body_motion=wrong_weight),
        broken(Hinge, r"coordinates_of\(\) is not the positions", coordinates_of=wrong_angle),
        broken(Slide, r"observe\(\) is not what expand\(\) says", observe=wrong_position),
        broken(Free, r"omega of expand\(\) is not how place\(\) turns", rates=wrong_rates),
        broken(Slide, r"coordinates_of\(\) is not the positions", place=millimetres),
        broken(Rolling, "declare constant_projection = False", constant_projection=True),
        broken(Hinge, "it moves in 1 ways, so it needs as many rows", rows=()),
        broken(Free, "units must hold one unit for each", units=("m",) * 3),
        broken(Hinge, "'lid'.*is none of its coordinates", moving=("lid",)),
        broken(Hinge, "unit of inclination: .*'turns'", options={"inclination": "turns"}),
        broken(Slide, "units: .*does not have the unit", units=("rad", "rad/s", "rad/s2")),
    ],
)
def test_what_is_wrong_is_said_in_words(kind: type[Any], words: str) -> None:
    with pytest.raises(PalpateError, match=words):
        check_mechanism(kind(inclination=0.3) if kind.main else kind())


def test_what_is_missing_is_said() -> None:
    with pytest.raises(PalpateError, match="units must hold one unit for each of angle, speed, speed_dot"):
        check_mechanism(SwingDoor())

    @dataclass(frozen=True, slots=True)
    class Placeless(SwingDoor):
        main: ClassVar[str] = "hinge"

    with pytest.raises(PalpateError, match="it does not say where the body is"):
        check_mechanism(Placeless())

    @dataclass(frozen=True, slots=True)
    class Raising(Slide):
        def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
            del state, fn
            raise KeyError("x")

    with pytest.raises(PalpateError, match=r"cannot be evaluated .KeyError"):
        check_mechanism(Raising())


def test_the_pages_example_is_short_passes_and_swings_as_scipy_says(tmp_path: Path) -> None:
    assert len(LIFT.splitlines()) <= 40
    (tmp_path / "lift.py").write_text(LIFT)
    arms: Mapping[str, type[Any]] = load_parts(tmp_path / "lift.py").mechanisms
    lift = arms["parallel-arms"](length=0.6)
    phi = phi_from_mass_properties(3.0, [0.1, 0.2, -0.3], np.diag([0.2, 0.3, 0.4]))
    stepper = palpate.Stepper(Model("lift", lift, (RigidBody(),)).with_values(phi), dt=1e-3)
    stepper.reset(np.array([0.3, 0.0]))
    out = np.empty(stepper.size)
    for _ in range(1000):
        stepper.step((0.0,) * 6, out)
    # nothing turns, so that it is a point's pendulum whatever its inertia
    path = solve_ivp(lambda _, y: [y[1], -9.80665 / 0.6 * np.cos(y[0])], (0, 1), [0.3, 0.0], rtol=1e-10, atol=1e-10)
    assert out[:2] == pytest.approx(path.y[:, -1], abs=5e-3)
    (tmp_path / "lift.py").write_text(LIFT.replace("return -self.length * state[1]", "return self.length * state[1]"))
    with pytest.raises(FileProblem, match=r"lift.py: .*velocity\(\) is not how .*check_mechanism tests it alone"):
        load_parts(tmp_path / "lift.py")
