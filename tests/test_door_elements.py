"""The elements of a door, one by one and together: the paper's door against a `solve_ivp` oracle."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from math import exp, radians, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from palpate.elements import (
    ELEMENTS,
    Coulomb,
    Detent,
    Drag,
    Element,
    EndStop,
    GasStrut,
    Gravity,
    Hysteresis,
    Latch,
    Magnet,
    PolynomialSpring,
    Presliding,
    ScalarInertia,
    SmoothTable,
    Stiffness,
    Stribeck,
    Table,
    Viscous,
    ZoneDamper,
    check_element,
)
from palpate.elements.spring import bernstein, hats
from palpate.errors import FileProblem, PalpateError
from palpate.identify.balance import build_balance
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from palpate.physics.motion import Coordinate, Kinematics
from tests.conftest import needs, needs_program
from tests.oracles import door_ode

SEEDS = st.integers(0, 100_000)
KNOTS = (-0.5, 0.1, 0.4, 1.3)
PAPER = [6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70]

DRY = [Coulomb(), Stribeck(), Stribeck(v_s=1.0), Hysteresis(), Hysteresis(knots=KNOTS, basis="polynomial")]
DAMPERS = [
    Viscous(),
    Viscous("b_p", "closer"),
    Drag(),
    ZoneDamper(),
    ZoneDamper(when="opening", above=0.5, flow="turbulent"),
    ZoneDamper(when="closing", below=0.3, width=0.4),
    ZoneDamper(above=-0.4, below=0.6, width=0.2, flow="mixed", otherwise="b_other"),
    ZoneDamper("b_l", "closer", "closer", "closing", above=0.3, otherwise="b_s"),
]
OTHERS = [
    ScalarInertia(),
    Gravity(),
    PolynomialSpring(),
    PolynomialSpring(order=0),
    PolynomialSpring(order=9, reference=2.5),
    Table(),
    Table("t", "closer", KNOTS),
    EndStop(),
    EndStop(at=0.2, side="lowest"),
    SmoothTable(),
    SmoothTable("t", "closer", KNOTS, periodic=True),
    Magnet(),
    Magnet(at=0.2, reach=0.3),
    Detent(reach=0.5),
    Detent(period=0.5),
    GasStrut(acts_on="hinge"),
    Latch(),
    Presliding(),
    Stiffness(acts_on="hinge"),
]


def at(position: Any, speed: Any, acceleration: Any = 0.0) -> Kinematics:
    c = Coordinate(position, speed, acceleration)
    return Kinematics((0.0, 0.0, 9.81), (0.0, 0.0, speed), (0.0, 0.0, acceleration), {"hinge": c, "closer": c})


def shapes(e: Element) -> dict[str, float]:
    return {s.name: s.value for s in e.shapes}


def columns(e: Element, position: float, speed: float, acceleration: float = 0.0) -> list[float]:
    (row,) = e.columns(e.features(at(position, speed, acceleration), shapes(e), FLOATS))
    return row


@pytest.mark.parametrize("e", [*DRY, *DAMPERS, *OTHERS], ids=lambda e: f"{e.type}-{e.name}")
def test_each_keeps_its_promises(e: Element) -> None:
    passed = check_element(e)
    assert "symbols" in passed
    assert ("dissipation" in passed) == (e in DRY or e in DAMPERS)


ELSEWHERE = ("wheel-spin", "foot", "foot-friction", "tyre-slip", "load-friction")
"""Those of things that roll are tested with them, and so is what follows the hand."""


def test_every_element_is_among_those_tested() -> None:
    assert {e.type for e in (*DRY, *DAMPERS, *OTHERS)} | {*ELSEWHERE, "rigid-body", "sensor-bias"} == set(ELEMENTS)


def test_each_is_its_formula() -> None:
    assert columns(ScalarInertia(), 0.3, 0.2, 1.7) == [1.7]
    assert columns(Viscous(), 0.3, -0.2) == [-0.2]
    assert columns(Coulomb(), 0.3, -0.2) == [-1.0]
    assert columns(Coulomb(), 0.3, 0.0) == [0.0]
    assert columns(Stribeck(v_s=0.1), 0.3, -0.2) == pytest.approx([-exp(-4)], rel=1e-14)
    assert columns(PolynomialSpring(order=3, reference=0.5), 2.5, 0.0) == [-1.0, -2.0, -4.0, -8.0]
    assert columns(Stiffness(acts_on="hinge"), 1.5, 2.0) == [1.5]
    assert columns(Table(knots=(0.0, 1.0, 3.0)), 1.5, 0.0) == [0.0, 0.75, 0.25]
    assert columns(Hysteresis(knots=(0.0, 1.0, 3.0)), 1.5, -2.0) == [0.0, -0.75, -0.25]
    assert columns(EndStop(at=1.0), 1.5, 2.0) == [0.5, 1.0]
    assert columns(EndStop(at=1.0), 1.5, -2.0) == [0.5, 0.0]
    assert columns(EndStop(at=1.0, side="lowest"), 0.5, -2.0) == [-0.5, -1.0]
    tilted = Hinge(gravity=10.0, inclination=radians(90)).expand([radians(90), 0.0], [0.0], FLOATS)
    # up is x at angle zero, so at 90 deg it is -y of the body: what lies along x falls towards +y
    assert Gravity().columns(Gravity().features(tilted, {}, FLOATS))[0] == pytest.approx([-10.0, 0.0], abs=1e-14)


@pytest.mark.parametrize("speed", [-1.5, 1.5])
def test_the_zones_are_the_papers(speed: float) -> None:
    theta, eps = 0.41, radians(2)
    w_bc = (1 + tanh((theta - 0.4) / eps)) / 2
    w_l = (1 + tanh((0.4 - theta) / eps)) / 2
    opening, closing = max(speed, 0.0), min(speed, 0.0)
    assert columns(ZoneDamper(when="opening", above=0.4), theta, speed) == pytest.approx([w_bc * opening])
    assert columns(ZoneDamper(when="closing", below=0.4), theta, speed) == pytest.approx([w_l * closing])
    both = ZoneDamper("b_s", when="closing", above=0.4, otherwise="b_l", flow="mixed")
    expected = [w * f for w in (1 - w_l, w_l) for f in (closing, closing * abs(closing))]
    assert columns(both, theta, speed) == pytest.approx(expected, rel=1e-12)
    assert [p.name for p in both.parameters] == ["b_s", "b_s_turbulent", "b_l", "b_l_turbulent"]
    between = ZoneDamper(above=0.4, below=0.5)
    w = w_bc * (1 + tanh((0.5 - theta) / eps)) / 2
    assert columns(between, theta, speed) == pytest.approx([w * speed], rel=1e-12)
    assert columns(ZoneDamper(flow="turbulent"), theta, speed) == pytest.approx([speed * abs(speed)])
    assert ZoneDamper().shapes == ()
    assert [(s.name, s.free) for s in replace(between, estimate=True).shapes] == [
        ("above", True),
        ("below", True),
        ("width", True),
    ]


@settings(deadline=None)
@given(SEEDS)
def test_shape_functions_interpolate_and_are_never_negative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    knots = tuple(np.cumsum(rng.uniform(0.05, 1.0, size=rng.integers(2, 8))).tolist())
    x, v = rng.uniform(-1, knots[-1] + 1, size=50), rng.normal(size=len(knots))
    linear = np.array([np.broadcast_to(h, 50) for h in hats(x, knots, ARRAYS)])
    assert v @ linear == pytest.approx(np.interp(x, knots, v), abs=1e-12)
    smooth = np.array([np.broadcast_to(h, 50) for h in bernstein(x, knots, ARRAYS)])
    clipped = np.clip(x, knots[0], knots[-1])
    assert v @ smooth == pytest.approx(BPoly(v[:, None], [knots[0], knots[-1]])(clipped), abs=1e-10)
    for shape in (linear, smooth):
        assert shape.min() >= -1e-15
        assert shape.sum(axis=0) == pytest.approx(np.ones(50), abs=1e-12)


@pytest.mark.parametrize("e", DRY, ids=lambda e: f"{e.type}-{e.name}")
def test_a_dry_element_is_its_level_with_the_sign_of_the_speed(e: Element) -> None:
    position, speed = np.random.default_rng(1).normal(size=(2, 100))
    k = at(position, speed)
    level = np.array([np.broadcast_to(x, 100) for x in e.level(k, shapes(e), ARRAYS)])
    f = np.array([np.broadcast_to(x, 100) for x in e.columns(e.features(k, shapes(e), ARRAYS))[0]])
    assert level.shape == (len(e.parameters), 100)
    assert level.min() >= 0
    assert np.abs(level * np.sign(speed) - f).max() == 0
    resting = e.level(at(0.3, 0.0), shapes(e), FLOATS)
    assert sum(resting) == pytest.approx(1.0)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-20, 20), st.sampled_from(["highest", "lowest"]))
def test_a_stop_never_pulls_and_gives_back_less_than_it_took(position: float, speed: float, side: Any) -> None:
    stop = EndStop(at=0.2, side=side)
    k, c = columns(stop, position, speed)
    outwards = 1.0 if side == "highest" else -1.0
    assert k * outwards >= 0
    assert c * outwards >= 0
    assert c * speed >= 0
    if (position - 0.2) * outwards <= 0:
        assert (k, c) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        (ZoneDamper, {"when": "open"}, "there is no when 'open'. Did you mean 'opening'?"),
        (ZoneDamper, {"flow": "lamina"}, "there is no flow 'lamina'. Did you mean 'laminar'?"),
        (ZoneDamper, {"above": 1.0, "below": 0.5}, "nothing is above 1 and below 0.5"),
        (ZoneDamper, {"above": "69 deg"}, "above must be a number in rad or m, not '69 deg'"),
        (ZoneDamper, {"width": 0.0}, "width must be from 0.0001 to 3.14 rad or m, not 0"),
        (ZoneDamper, {"otherwise": "b_l"}, "without above or below, nothing is left for 'b_l'"),
        (Stribeck, {"v_s": 0.0}, "v_s must be from 0.0001 to 100 rad/s or m/s, not 0"),
        (PolynomialSpring, {"order": 10}, "order must be a whole number from 0 to 9, not 10"),
        (PolynomialSpring, {"order": 2.0}, "order must be a whole number from 0 to 9, not 2.0"),
        (Table, {"knots": [0.0, 0.0]}, "knots must be at least two increasing numbers"),
        (Table, {"knots": [0.0]}, "knots must be at least two increasing numbers"),
        (Hysteresis, {"knots": 3}, "knots must be at least two increasing numbers"),
        (Hysteresis, {"knots": [0, 1, float("nan")]}, "knots must be at least two increasing numbers"),
        (Hysteresis, {"basis": "hat"}, "there is no basis 'hat'. Did you mean 'hats'?"),
        (EndStop, {"side": "upper"}, "there is no side 'upper'. There is: highest, lowest"),
    ],
)
def test_options_that_cannot_be_are_refused(kind: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PalpateError) as refused:
        kind(**options)
    assert f"element '{kind().name}': " in str(refused.value)
    assert problem in str(refused.value)


def paper_door() -> Model:
    return load_object("door").with_values(PAPER)


def test_the_papers_door_ships() -> None:
    model = load_object("door")
    assert list(model.parameters) == ["I", "b_v", "b_c", "b_bc", "b_s", "b_l", "c_0", "c_1", "c_2", "c_3"]
    assert [p.unit for p in model.parameters.values()] == [
        *("kg m2", "N m s/rad", "N m", "N m s/rad", "N m s/rad", "N m s/rad"),
        *("N m", "N m/rad", "N m/rad2", "N m/rad3"),
    ]
    degrees = {name: round(np.degrees(v), 9) for name, v in model.shapes.items()}
    assert degrees == {"b_bc.above": 69, "b_bc.width": 2, "b_s.above": 25, "b_s.width": 2}
    assert np.array(model.mechanism.linkage.lengths) / 0.0254 == pytest.approx([11.25, 10.75, 10.25, 13.75], rel=1e-12)


def test_a_door_is_saved_and_read_as_it_is(tmp_path: Path) -> None:
    parts = (*DRY, *DAMPERS, *OTHERS)
    named = tuple(replace(e, name=f"e{i}") for i, e in enumerate(parts))
    full = Model("full", Hinge(9.81, 0.02, 1.2, FourBar(assembly="positive")), named)
    for model in (paper_door(), full, full.with_values(np.arange(1.0, 1 + len(full.parameters)))):
        model.save(tmp_path / "door.json")
        assert Model.load(tmp_path / "door.json") == model
        assert Model.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("type: four-bar", "type: four-bra", "there is no linkage type 'four-bra'. Did you mean 'four-bar'?"),
        ("0.34925]", "3.4925]", "cannot close the loop at any angle"),
        ("assembly: negative", "asembly: negative", "linkage 'four-bar': there is no option 'asembly'"),
        ("1.6580627893946132", "2.1", "cannot close the loop at 120.3 deg, only from -113.9 to 113.9 deg"),
        ("when: opening", "over: door, when: opening", "element 'b_bc': there is no coordinate 'door'"),
        ("type: hinge", "type: hinge\n  gravity: {type: four-bar}", "gravity must be a number in SI units"),
    ],
)
def test_a_wrong_door_file_is_refused_in_one_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    from importlib import resources

    text = (resources.files("palpate.objects") / "door.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "door.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(FileProblem) as refused:
        load_object(tmp_path / "door.yaml")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def forward(model: Model, angle: float, speed: float, tau: float) -> float:
    """The balance is linear in the acceleration: two evaluations tell it."""
    still, moved = (model.wrench(model.mechanism.expand([angle, speed], [a], FLOATS), FLOATS)[0] for a in (0.0, 1.0))
    return (tau - still) / (moved - still)


def random_door(rng: np.random.Generator) -> tuple[Model, door_ode.Door]:
    """Other links, zones and springs than the paper's, both roots; the same in both tongues."""
    while True:
        lengths = tuple((np.array(door_ode.Door.lengths) * rng.uniform(0.75, 1.25, size=4)).tolist())
        root = int(rng.choice([-1, 1]))
        try:
            bar = FourBar(lengths, "negative" if root < 0 else "positive", (0.0, radians(95)))
        except PalpateError:
            continue
        break
    p = (np.array(PAPER) * rng.uniform(0.5, 2.0, size=10)).tolist()
    t_l, t_bc = rng.uniform([0.2, 0.9], [0.7, 1.4]).tolist()
    e_l, e_bc = rng.uniform(0.01, 0.2, size=2).tolist()
    bc, sweep = ZoneDamper("b_bc", "closer", when="opening", above=t_bc, width=e_bc), {"width": e_l, "when": "closing"}
    parts = (ScalarInertia(), Viscous(), Coulomb(), bc)
    closing = (ZoneDamper("b_s", "closer", above=t_l, **sweep), ZoneDamper("b_l", "closer", below=t_l, **sweep))
    model = Model("door", Hinge(linkage=bar), (*parts, *closing, PolynomialSpring(acts_on="closer"))).with_values(p)
    return model, door_ode.Door(lengths, root, *p[:6], tuple(p[6:]), t_bc, t_l, e_bc, e_l)


def test_forward_dynamics_of_the_papers_door_are_the_oracles() -> None:
    rng, model, door = np.random.default_rng(5), paper_door(), door_ode.Door()
    for angle, speed, tau in rng.uniform([0, -3, -60], [1.6, 3, 60], size=(300, 3)).tolist():
        expected = door_ode.acceleration(door, angle, speed, tau)
        assert forward(model, angle, speed, tau) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_forward_dynamics_of_other_doors_are_the_oracles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, door = random_door(rng)
    for angle, speed, tau in rng.uniform([0, -3, -60], [1.6, 3, 60], size=(5, 3)).tolist():
        expected = door_ode.acceleration(door, angle, speed, tau)
        assert forward(model, angle, speed, tau) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_dampers_and_dry_friction_take_energy_out_through_the_linkage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, _ = random_door(rng)
    taking = tuple(e for e in model.elements if e.dissipates)
    more = (Hysteresis(acts_on="closer", knots=(2.0, 3.0, 5.0)), Stribeck(acts_on="closer"))
    model = Model("taking", model.mechanism, (*taking, *more))
    model = model.with_values(rng.uniform(0.1, 10, size=len(model.parameters)))
    angle, speed = rng.uniform([0, -3], [1.6, 3], size=(50, 2)).T
    (tau,) = model.wrench(model.mechanism.expand([angle, speed], [0.0], ARRAYS), ARRAYS)
    assert (tau * speed).min() >= 0


def test_what_a_runtime_needs_of_dry_elements() -> None:
    more = (Hysteresis(acts_on="closer", knots=(2.0, 3.0, 5.0)), Stribeck(v_s=0.5), Hysteresis("other", "hinge"))
    model = Model("door", Hinge(linkage=FourBar()), (*paper_door().elements, *more))
    rng = np.random.default_rng(6)
    model = model.with_values(rng.uniform(0.5, 2, size=len(model.parameters)))
    smooth = model.without_dry()
    assert [e.name for e in smooth.elements] == ["I", "b_v", "b_bc", "b_s", "spring"]
    for angle, speed, acc in rng.uniform([0, -2, -5], [1.6, 2, 5], size=(50, 3)).tolist():
        k = model.mechanism.expand([angle, speed], [acc], FLOATS)
        dry = [r[0] * level * np.sign(r[0] * speed) for r, level in model.dry_forces(k, FLOATS)]
        assert len(dry) == 4
        assert smooth.wrench(k, FLOATS)[0] + sum(dry) == pytest.approx(model.wrench(k, FLOATS)[0], rel=1e-12)
    resting = model.mechanism.expand([0.5, 0.0], [0.0], FLOATS)
    assert min(level for _, level in model.dry_forces(resting, FLOATS)) > 0


def test_values_follow_their_element_when_a_shared_name_becomes_its_own() -> None:
    parts = (PolynomialSpring("a", order=0), Hysteresis(knots=(0.0, 1.0)), PolynomialSpring("b", order=0))
    model = Model("m", Hinge(), parts).with_values([1.0, 2.0, 3.0, 4.0])
    assert dict(model.without_dry().values) == {"a.c_0": 1.0, "b.c_0": 4.0}
    two = Model("m", Hinge(), (Hysteresis("one", knots=(0.0, 1.0)), replace(parts[0], name="two"), Table(knots=KNOTS)))
    assert list(two.with_values(np.arange(7.0)).without_dry().values.values()) == [2.0, 3.0, 4.0, 5.0, 6.0]
    same = (Coulomb("b_l"), ZoneDamper("b_s", above=0.3, otherwise="b_l"))
    model = Model("m", Hinge(), same).with_values([1.0, 2.0, 3.0])
    assert dict(model.values) == {"b_l.b_l": 1.0, "b_s": 2.0, "b_s.b_l": 3.0}
    assert dict(model.without_dry().values) == {"b_s": 2.0, "b_l": 3.0}
    dry = (Coulomb("x"), Hysteresis("y"), Hysteresis("z"))
    assert dict(Model("n", Hinge(), dry).with_values(np.ones(15)).without_dry().values) == {}


def test_a_dry_element_without_a_level_is_refused() -> None:
    class Old(Viscous):
        dry = True

    with pytest.raises(PalpateError, match=r"element 'b_v' \(Old\): it does not state its level"):
        Model("m", Hinge(), (Old(),)).with_values([1.0]).dry_forces(at(0.0, 0.0), FLOATS)


def test_all_ten_of_the_papers_door_come_back_from_its_balance() -> None:
    model = paper_door()
    t = np.arange(0, 40, 0.01)
    x = np.array([[a, w, p] for a, w, p in zip((0.3, 0.3, 0.2), (0.9, 2.3, 4.1), (0.0, 1.0, 2.5), strict=True)])
    angle = 0.8 + sum(a * np.sin(w * t + p) for a, w, p in x)
    speed = sum(a * w * np.cos(w * t + p) for a, w, p in x)
    acceleration = -sum(a * w * w * np.sin(w * t + p) for a, w, p in x)
    motion = model.mechanism.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])
    (tau,) = model.wrench(model.mechanism.observe(motion), ARRAYS)
    wrench = np.random.default_rng(7).normal(size=(len(t), 6))  # the other five rows carry constraint forces
    wrench[:, 5] = tau
    rows = build_balance(model, motion, wrench, sigma=[1.0]).rows((0.0, 40.0))[:, 0]
    assert np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0] == pytest.approx(PAPER, rel=1e-7)


def test_a_door_without_linkage_is_compressed_by_its_features() -> None:
    parts = (ScalarInertia(), Viscous(), Coulomb(), Stribeck(), Hysteresis(), Table(), EndStop(), ZoneDamper(above=0.5))
    model = Model("cabinet", Hinge(inclination=0.1), (*parts, Gravity(), PolynomialSpring()))
    t = np.arange(0, 4, 0.01)
    states = np.stack([0.8 - 0.9 * np.cos(2 * t), 1.8 * np.sin(2 * t)], axis=1)
    motion = model.mechanism.motion(t, states, 3.6 * np.cos(2 * t)[:, None])
    balance = build_balance(model, motion, np.ones((len(t), 6)), sigma=[1.0])
    assert balance.by_features
    k = model.mechanism.observe(motion)
    expected = np.array([np.broadcast_to(row, t.shape) for (row,) in model.columns(k, ARRAYS)]).T
    assert np.abs(balance.rows((0.0, 4.0))[:, 0, :-1] - expected).max() < 1e-12


def test_the_doors_generated_c_gives_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca = needs("casadi", "casadi")
    gcc = needs_program("gcc")
    extra = (*DRY[3:], Stribeck("st", "closer", 0.3), EndStop(at=1.5), Table(knots=KNOTS), Gravity())
    named = tuple(replace(e, name=f"e{i}") for i, e in enumerate(extra))
    model = Model("door", Hinge(inclination=0.1, linkage=FourBar()), (*paper_door().elements, *named))
    x = ca.SX.sym("x", 3)
    fn = casadi_functions()
    k = model.mechanism.expand([x[0], x[1]], [x[2]], fn)
    function = ca.Function("row", [x], [ca.vertcat(*(column[0] for column in model.columns(k, fn)))])
    monkeypatch.chdir(tmp_path)  # CasADi writes into the working folder only
    function.generate("row.c", {"with_header": False})
    subprocess.run([gcc, "-O1", "-shared", "-fPIC", "-o", "row.so", "row.c", "-lm"], check=True)
    compiled = ca.external("row", str(tmp_path / "row.so"))
    for angle, speed, acc in np.random.default_rng(8).uniform([-0.2, -3, -5], [1.7, 3, 5], size=(50, 3)).tolist():
        floats = [c[0] for c in model.columns(model.mechanism.expand([angle, speed], [acc], FLOATS), FLOATS)]
        assert np.array(compiled([angle, speed, acc])).ravel() == pytest.approx(floats, rel=1e-12, abs=1e-12)


def test_a_door_let_go_closes_in_the_oracle_and_rests() -> None:
    door, t = door_ode.Door(), np.linspace(0, 12, 601)
    angle, speed = door_ode.simulate(door, lambda _: 0.0, t, radians(90)).T
    assert np.degrees(angle[-1]) < 5
    assert speed.max() <= 1e-9
    held = door_ode.simulate(replace(door, b_c=30.0), lambda _: 0.0, t, radians(60))
    assert np.abs(held - [radians(60), 0.0]).max() == 0


def test_the_oracle_sticks_and_breaks_loose_when_the_push_says_so() -> None:
    """Without a spring and on a plain hinge's friction: rest until the ramp passes b_c, then I a = ramp - b_c."""
    door = door_ode.Door(c=(0.0,), b_v=1e-12, b_bc=1e-12, b_s=1e-12, b_l=1e-12, b_c=2.0, I=4.0)
    t = np.linspace(0, 3, 61)
    found = door_ode.simulate(door, lambda s: 2.0 * s, t, 0.3)
    late = np.maximum(t - 1.0, 0.0)
    assert found[:, 0] == pytest.approx(0.3 + 2.0 / 4.0 * late**3 / 6, abs=1e-6)
    assert found[:, 1] == pytest.approx(2.0 / 4.0 * late**2 / 2, abs=1e-6)
