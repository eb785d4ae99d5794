"""Our elements and a user's own: `check_element` passes what keeps its promises and names each that is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import tanh
from typing import Any

import numpy as np
import pytest

from palpate.elements import ELEMENTS, Coulomb, Element, Parameter, RigidBody, SensorBias, Shape, check_element
from palpate.elements import ZoneDamper as OurZoneDamper
from palpate.elements.element import WRENCH, column_coefficients, row_count
from palpate.errors import PalpateError
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.inertia import body_regressor
from palpate.physics.motion import Coordinate, Kinematics
from tests.own_parts import Viscous, ZoneDamper

ALWAYS = ("declarations", "columns", "linearity", "floats", "units", "symbols")


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_every_element_of_ours_keeps_its_promises(name: str) -> None:
    element = ELEMENTS[name]()
    kept = [name for name, yes in (("memory", element.memory), ("dissipation", element.dissipates)) if yes]
    assert check_element(element) == (*ALWAYS, *kept)


@pytest.mark.parametrize("element", [Viscous(), ZoneDamper(), ZoneDamper(above=-0.2, width=1.5)])
def test_a_users_own_element_passes(element: Element) -> None:
    assert check_element(element) == (*ALWAYS, "dissipation")


def test_an_element_on_a_coordinate_in_metres_has_other_units() -> None:
    class Rail(Viscous):
        parameters = (Parameter("b", "N s/m", "positive"),)

    check_element(Rail(), coordinate_unit="m")
    with pytest.raises(PalpateError, match="the unit 'N s/m' of b does not fit its column in row 1"):
        check_element(Rail(), coordinate_unit="rad")


def broken(*, acts_on: str = "hinge", **instead: Any) -> Element:
    """The zone damper with one promise broken."""
    return type("Broken", (ZoneDamper,), instead)(acts_on=acts_on)


def speed(k: Kinematics) -> Scalar:
    return k.coordinates["hinge"].speed


NUMPY_FUNCTION = broken(features=lambda _, k, *_rest: (speed(k), np.tanh(speed(k)) * speed(k)))
MATH_FUNCTION = broken(features=lambda _, k, *_rest: (speed(k), tanh(speed(k)) * speed(k)))
NUMPY_WHERE = broken(features=lambda _, k, *_rest: (speed(k), np.where(speed(k) > 0, 1.0, 0.0) * speed(k)))
PYTHON_IF = broken(features=lambda _, k, *_rest: (speed(k), speed(k) if speed(k) > 0 else 0.0))
COMPARISON = broken(features=lambda _, k, *_rest: (speed(k), (speed(k) > 0) * speed(k)))
POWER = broken(features=lambda _, k, *_rest: (speed(k), speed(k) ** 2))
IF_ON_SHAPE = broken(features=lambda _, k, z, _fn: (speed(k), speed(k) if z["width"] > 0 else 0.0))


@pytest.mark.parametrize(
    "element",
    [NUMPY_FUNCTION, MATH_FUNCTION, NUMPY_WHERE, PYTHON_IF, COMPARISON, POWER, IF_ON_SHAPE],
    ids=["numpy", "math", "where", "if", "comparison", "power", "if_on_shape"],
)
def test_a_function_that_symbols_do_not_know_is_refused(element: Element) -> None:
    with pytest.raises(PalpateError, match=r"element 'zone' \(Broken\): .*use only \+ - \* / and the functions of fn"):
        check_element(element)


@dataclass(frozen=True)
class OtherOnFloats(Viscous):
    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z
        return (speed(k) if fn is ARRAYS else 2 * speed(k),)


@dataclass(frozen=True)
class OtherOnSymbols(Viscous):
    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z, fn
        return (2 * speed(k) if type(speed(k)).__name__ == "Symbol" else speed(k),)


def test_an_element_may_look_at_another_coordinate_than_the_one_it_acts_on() -> None:
    valve = OurZoneDamper("b_bc", "closer", over="hinge", when="opening", above=0.4, width=0.3, flow="mixed")
    assert check_element(valve) == (*ALWAYS, "dissipation")
    check_element(replace(valve, flow="laminar"), coordinate_unit="m")


def test_a_dry_element_must_tell_its_level() -> None:
    class Silent(Viscous):
        dry = True

    class Wrong(Coulomb):
        def features(self, *_: Any) -> Sequence[Scalar]:
            return (2.0,)

    with pytest.raises(PalpateError, match=r"\(Silent\): it is dry, so it must have level\(k, z, fn\)"):
        check_element(Silent())
    with pytest.raises(PalpateError, match="its columns are not its level times the sign of the speed"):
        check_element(Wrong())


def test_an_element_that_differs_on_floats_or_symbols_is_refused() -> None:
    with pytest.raises(PalpateError, match="its columns differ between arrays and floats"):
        check_element(OtherOnFloats())
    with pytest.raises(PalpateError, match="its columns differ between arrays and symbols"):
        check_element(OtherOnSymbols())


B_0, B_1 = ZoneDamper.parameters


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (broken(columns=lambda _, f: [[f[0], f[0] * f[1]]]), "not linear in the features with constant coefficients"),
        (broken(columns=lambda _, f: [[f[0], f[1] + 1.0]]), "not linear in the features with constant coefficients"),
        (broken(parameters=(B_0, Parameter("b_1", "N m", "positive"))), "the unit 'N m' of b_1 does not fit"),
        (
            broken(parameters=(B_0, Parameter("b_1", "N m sec", "positive"))),
            "there is no unit 'sec'. Did you mean 's'?",
        ),
        (broken(shapes=(Shape("above", "m", 0.5), Shape("width", "rad", 0.2))), "the unit .* of b_1 does not fit"),
        (broken(columns=lambda _, f: [[f[0], f[1]], [f[0], f[1]]]), "acts on 'hinge', .* must have 1 rows, not 2"),
        (broken(acts_on="wrench", features=lambda *_: (1.0, 1.0)), "acts on 'wrench', .* must have 6 rows, not 1"),
        (broken(columns=lambda _, f: [[f[0], f[1], f[0]]]), "2 parameters, but columns.. gives 3"),
        (broken(columns=lambda _, f: [[f[0]]]), "2 parameters, but columns.. gives 1"),
        (broken(parameters=(B_0, B_0)), "two parameters have the same name: b_0, b_0"),
        (broken(shapes=(Shape("b_0", "rad", 0.5), Shape("width", "rad", 0.2))), "two parameters have the same name"),
        (
            broken(shapes=(Shape("above", "rad", 9.0, bounds=(0, 3)), Shape("width", "rad", 0.2))),
            "outside its own bounds",
        ),
        (broken(columns=lambda _, f: [[f[0], -f[1]]]), "it is declared to dissipate, but b_1 can put energy in"),
        (
            broken(features=lambda _, k, _z, fn: (speed(k), speed(k) * fn.tanh(k.coordinates["hinge"].position))),
            "it is declared to dissipate, but b_1 can put energy in",
        ),
        (broken(parameters=(B_0, Parameter("b_1", "N m s", "free"))), "dissipation is checked for positive parameters"),
        (broken(parameters=(B_0, Parameter("b_1", "N m s", "inertia"))), "exactly the ten parameters of a rigid body"),
        (broken(features=lambda _, k, _z, fn: (speed(k), speed(k) * fn.sqrt(-1.0))), "cannot be evaluated"),
        (broken(features=lambda _, k, *_rest: (speed(k), float("inf") * speed(k))), "a column is not finite"),
        (broken(features=lambda _, k, z, _fn: (speed(k), z["angle"])), "cannot be evaluated .KeyError: 'angle'"),
        (broken(acts_on="hinge ", features=lambda _, k, *_rest: (speed(k), speed(k))), "KeyError: 'hinge'"),
    ],
)
def test_each_broken_promise_is_named(element: Element, reason: str) -> None:
    with pytest.raises(PalpateError, match=rf"element 'zone' \(Broken\): .*{reason}") as refused:
        check_element(element)
    assert "\n" not in str(refused.value)


def test_the_rigid_body_element_is_the_body_regressor() -> None:
    a, omega, omega_dot = np.random.default_rng(1).normal(size=(3, 20, 3))
    body = RigidBody()
    k = Kinematics(tuple(a.T), tuple(omega.T), tuple(omega_dot.T))
    f = np.array(body.features(k, {}, ARRAYS))
    Y = np.einsum("rfp,fn->nrp", column_coefficients(body, len(f)), f)
    assert pytest.approx(body_regressor(a, omega, omega_dot), abs=1e-15) == Y


def test_the_sensor_bias_adds_itself() -> None:
    bias = SensorBias()
    f = bias.features(Kinematics((0, 0, 0), (0, 0, 0), (0, 0, 0)), {}, ARRAYS)
    assert np.array(bias.columns(f)).tolist() == np.eye(6).tolist()
    assert [p.unit for p in bias.parameters] == ["N"] * 3 + ["N m"] * 3


def test_the_zone_damper_is_its_formula() -> None:
    k = Kinematics((0, 0, 0), (0, 0, 0), (0, 0, 0), {"hinge": Coordinate(0.9, -1.5, 0.0)})
    zone = ZoneDamper(above=0.5, width=0.2)
    z = {s.name: s.value for s in zone.shapes}
    expected = [-1.5, -1.5 * (1 + tanh(2.0)) / 2]
    assert zone.columns(zone.features(k, z, ARRAYS))[0] == pytest.approx(expected, rel=1e-14)
    assert row_count(zone) == 1
    assert row_count(RigidBody()) == 6
    assert RigidBody().acts_on == WRENCH
