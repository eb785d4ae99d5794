"""Units and quantities as people write them, and what is said when they are wrong."""

from __future__ import annotations

from math import pi, radians

import pytest

from palpate.errors import PalpateError
from palpate.physics.units import STANDARD_GRAVITY, parse_quantity, parse_unit, told_apart
from palpate.recording.headers import split_header, to_si


@pytest.mark.parametrize(
    ("text", "unit", "si"),
    [
        ("45 kg", "kg", 45.0),
        ("1.5kg", "kg", 1.5),
        ("856 g", "kg", 0.856),
        ("25 deg", "rad", radians(25)),
        ("-0.3 deg", "rad", -radians(0.3)),
        ("11.25 inch", "m", 0.28575),
        ("11.25 in", "m", 0.28575),
        ("1 %", "1", 0.01),
        ("2 mm", "m", 0.002),
        ("+1.5e-3 m", "m", 0.0015),
        ("310 ms", "s", 0.31),
        ("100", "Hz", 100.0),
        ("10 lb", "kg", 4.5359237),
        ("2 gn", "m/s2", 2 * STANDARD_GRAVITY),
        ("40 Nm", "N m", 40.0),
        ("4 N m s/rad", "kg m2/s", 4.0),
        (".5 m", "m", 0.5),
        ("2 deg/s", "rad/s", radians(2)),
        ("0.3", "1", 0.3),
        ("3 N m", "N m/rad", 3.0),
        ("25 uT", "T", 25e-6),
        ("3 mV", "V", 3e-3),
        ("2 W", "N m/s", 2.0),
        # NIST SP 811 (2008), appendix B.8, to its seven digits
        ("1 mN", "N", 1e-3),
        ("1 daN", "N", 10.0),
        ("1 kgf", "N", 9.80665),
        ("1 kp", "N", 9.80665),
        ("1 ft", "m", 0.3048),
        ("1 um", "m", 1e-6),
        ("1 min", "s", 60.0),
        ("1 rev", "rad", 2 * pi),
        ("1 mrad", "rad", 1e-3),
        ("1 mNm", "N m", 1e-3),
        ("1 Ncm", "N m", 1e-2),
        ("1 daNm", "N m", 10.0),
    ],
)
def test_a_quantity_is_read_as_people_write_it(text: str, unit: str, si: float) -> None:
    assert parse_quantity(text, unit) == pytest.approx(si, rel=1e-15)


@pytest.mark.parametrize(("value", "unit", "si"), [(45, "kg", 45.0), (90.0, "deg", pi / 2), ("90", "deg", pi / 2)])
def test_a_bare_number_has_the_unit_that_is_asked_for(value: float | str, unit: str, si: float) -> None:
    assert parse_quantity(value, unit) == pytest.approx(si, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "factor", "dimension"),
    [
        ("kg m2", 1.0, (1, 2, 0)),
        ("kg m^2", 1.0, (1, 2, 0)),
        ("kg·m2", 1.0, (1, 2, 0)),
        ("kg*m2", 1.0, (1, 2, 0)),
        ("m/s2", 1.0, (0, 1, -2)),
        ("m/s/s", 1.0, (0, 1, -2)),
        ("m s^-2", 1.0, (0, 1, -2)),
        ("N m s/rad", 1.0, (1, 2, -1)),
        ("deg/s", pi / 180, (0, 0, -1)),
        ("1/s", 1.0, (0, 0, -1)),
        ("g mm2", 1e-9, (1, 2, 0)),
        ("N mm", 1e-3, (1, 2, -2)),
        ("", 1.0, (0, 0, 0)),
    ],
)
def test_a_unit_is_a_product_with_a_slash(text: str, factor: float, dimension: tuple[int, int, int]) -> None:
    unit = parse_unit(text)
    assert unit.factor == pytest.approx(factor, rel=1e-14)
    assert unit.dimension == dimension


@pytest.mark.parametrize(
    ("unit", "factor", "si"),
    [
        ("ozf", 2.780139e-1, "N"),
        ("lbf", 4.448222, "N"),
        ("ft-lb", 1.355818, "N m"),
        ("lbf·ft", 1.355818, "N m"),
        ("lbf in", 1.129848e-1, "N m"),
        ("in-lbs", 1.129848e-1, "N m"),
        ("oz-in", 7.061552e-3, "N m"),
        ("kgf.cm", 9.80665e-2, "N m"),
        ("N·mm", 1e-3, "N m"),
        ("N-m", 1.0, "N m"),
        ("µm", 1e-6, "m"),
        ("rpm", 1.047198e-1, "rad/s"),
    ],
)
def test_a_header_states_its_unit_as_nist_converts_it(unit: str, factor: float, si: str) -> None:
    """NIST SP 811 (2008), appendix B.8, with its seven digits."""
    assert to_si(unit) == (pytest.approx(factor, rel=1e-6), si)


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("Force [lbs]", "Force", "lbf"),
        ("Fz (kg)", "Fz", "kgf"),
        ("load [kg]", "load", "kg"),
        ("Kraft/N", "Kraft", "N"),
        ("v/mm/s", "v", "mm/s"),
        ("left/right", "left/right", ""),
    ],
)
def test_a_header_is_a_name_and_a_unit(header: str, name: str, unit: str) -> None:
    assert split_header(header) == (name, unit)


def test_newton_times_metre_is_newtonmetre() -> None:
    assert parse_unit("N m") == parse_unit("Nm") == parse_unit("kg m2/s2")


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("45 kilo", "kg", "in the unit 'kilo' there is no unit 'kilo'"),
        ("25 degrees", "rad", "there is no unit 'degrees'. Write 'deg'"),
        ("3 newtons of force", "N", "there is no unit 'newtons'. Write 'N'"),
        ("45 m", "kg", "'45 m' is not a quantity in kg"),
        ("heavy", "kg", "'heavy' is not a number with a unit, such as '1.5 kg'"),
        ("1.2.3 kg", "kg", "'1.2.3' is not a number"),
        ("", "kg", "'' is not a number with a unit"),
        ("2 mm^2", "m", "'2 mm^2' is not a quantity in m"),
        ("3 kg m22", "kg m2", "there is no unit 'm22'. Write 'kg m'"),
        ("1.43 N", "kg", "'1.43 N' is not a quantity in kg, g or lb"),
        ("25 %", "rad", "'25 %' is not a quantity in rad, deg, turn or mrad"),
        ("25 %", "Hz", "'25 %' is not a quantity in Hz"),
        ("30 deg", "1", "'30 deg' is not a fraction"),
        ("3 rad", "1", "'3 rad' is not a fraction"),
        ("3 1/deg", "1", "'3 1/deg' is not a fraction"),
        ("0.3 1", "rad", "'0.3 1' is not a quantity in rad"),
        ("20 rad/s", "Hz", "'20 rad/s' is not a quantity in Hz"),
        ("20 Hz", "rad/s", "'20 Hz' is not a quantity in rad/s"),
        ("much", "1", "'much' is not a fraction, such as '30 %'"),
        ("1 g0", "m/s2", "there is no unit 'g0'. Standard gravity is 'gn'"),
        ("1 m0", "m", "there is no unit 'm0'. Write 'm'"),
        ("1 m^0", "m", "there is no unit 'm^0'"),
        ("1 12", "1", "there is no unit '12'"),
        ("1 V", "N", "'1 V' is not a quantity in N"),
        ("1 V", "W", "'1 V' is not a quantity in W"),
        ("1 A", "1", "'1 A' is not a fraction"),
    ],
)
def test_a_wrong_quantity_is_refused_with_what_would_be_right(text: str, unit: str, message: str) -> None:
    with pytest.raises(PalpateError) as refused:
        parse_quantity(text, unit)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_degrees_per_second_and_turns_per_minute_have_names_of_their_own() -> None:
    assert parse_unit("dps").factor == pytest.approx(pi / 180)
    assert parse_unit("rpm").factor == pytest.approx(2 * pi / 60)
    assert parse_unit("dps").dimension == parse_unit("rad/s").dimension


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (0.1132, 0.1101, ("0.113", "0.110")),
        (0.11, 0.027, ("0.11", "0.027")),
        (45.0, 45.0001, ("45.0000", "45.0001")),
        (2.0, 2.0, ("2", "2")),
    ],
)
def test_numbers_that_are_compared_look_different_where_they_are(a: float, b: float, words: tuple[str, str]) -> None:
    """A reason said that the fit leaves 0.11 where noise leaves 0.11."""
    assert told_apart(a, b) == words
