"""No step creates energy: the account of random doors, kept from textbook formulas and the oracle's linkage.

The account of one step from (q, v) to (q', u) under a constant wrench with the moment tau about the hinge:

    created = T(q', u) + V(q') - T(q, v) - V(q) - tau (q' - q)      T kinetic, V potential, the last the wrench's work

Moving the balance of the step (`one_freedom`) times u dt into it, with q' = q + u dt, leaves

    created <= curvature (q' - q)^2 / 2 + |M'| |q' - q| |u - v| (|u| + |v|) / 2 + |M''| (q' - q)^2 u^2 / 4

curvature: the largest of V'' (springs, gravity) on the way, if positive; M(q): the inertia, to which a closer's own
adds with the angle. Stops, dampers and dry friction only take. Each term is of second order in dt: over a given time,
what a path may create is of first order. Nothing else is allowed but rounding.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from palpate.elements import (
    Coulomb,
    EndStop,
    Gravity,
    Hysteresis,
    PolynomialSpring,
    RigidBody,
    ScalarInertia,
    Stribeck,
    Viscous,
    ZoneDamper,
)
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model, load_object
from palpate.runtime import Stepper, StepStatus
from tests.oracles import door_ode

PAPER_LINKS = (0.28575, 0.27305, 0.26035, 0.34925)
G = 9.80665
KNOTS = (0.0, 0.4, 1.0, 1.5)


@dataclass(frozen=True)
class Account:
    """Energies of one door, J, from formulas that are written here once more."""

    links: door_ode.Door
    inertia: float
    closer_inertia: float
    mc: tuple[float, float]
    inclination: float
    direction: float
    hinge_spring: tuple[float, ...]
    closer_spring: tuple[float, ...]
    stops: tuple[tuple[float, float, float], ...]
    """(at, side, k), side +-1."""
    middle: float = math.nan
    """phi at 0.75 rad."""

    def linkage(self, q: float) -> tuple[float, float]:
        """phi and nu: two circles meet at the elbow; whole turns as the oracle counts them."""
        L1, L2, L3, L4 = self.links.lengths
        diagonal = L4 - L1 * cmath.exp(1j * q)
        r = abs(diagonal)
        elbow = math.acos(min((L2 * L2 + r * r - L3 * L3) / (2 * L2 * r), 1.0 - 1e-9))  # stretched, at the most
        gamma = cmath.phase(diagonal) - self.links.root * elbow
        phi = math.pi + q - gamma
        phi += 2 * math.pi * round((self.middle - phi) / (2 * math.pi))
        psi = cmath.phase(L2 * cmath.exp(1j * gamma) - diagonal)
        return phi, 1.0 - L1 / L2 * math.sin(psi - q) / math.sin(gamma - psi)

    def mass(self, q: float) -> float:
        nu = self.linkage(q)[1]
        return self.inertia + self.closer_inertia * nu * nu

    def smooth(self, q: float) -> float:
        """Springs drive, so their work is lost potential; gravity lifts the centre of mass along the vertical."""
        phi, _ = self.linkage(q)
        springs = sum(c * q ** (i + 1) / (i + 1) for i, c in enumerate(self.hinge_spring))
        springs += sum(c * phi ** (i + 1) / (i + 1) for i, c in enumerate(self.closer_spring))
        height = self.mc[0] * math.cos(self.direction - q) + self.mc[1] * math.sin(self.direction - q)
        return G * math.sin(self.inclination) * height - springs

    def energy(self, q: float, v: float) -> float:
        pressed = sum(0.5 * k * max(side * (q - at), 0.0) ** 2 for at, side, k in self.stops)
        return 0.5 * self.mass(q) * v * v + self.smooth(q) + pressed

    def allowed(self, q: float, v: float, to: float, u: float) -> float:
        """The bound of the module's docstring; slopes are the largest of three places on the way."""
        h, places = 1e-3, (q, 0.5 * (q + to), to)
        curvature = max(_second(self.smooth, x, h) for x in places)
        found = 0.5 * max(curvature, 0.0) * (to - q) ** 2 * 1.01
        if self.closer_inertia:
            first = max(abs(self.mass(x + h) - self.mass(x - h)) / (2 * h) for x in places)
            second = max(abs(_second(self.mass, x, h)) for x in places)
            found += 0.505 * first * abs(to - q) * abs(u - v) * (abs(u) + abs(v))
            found += 0.2525 * second * (to - q) ** 2 * u * u
        return found


def _second(f: Callable[[float], float], x: float, h: float) -> float:
    return (f(x + h) - 2 * f(x) + f(x - h)) / (h * h)


def random_door(seed: int, *, lossy: bool = False, wrong: type[Any] | None = None) -> tuple[Model, Account]:
    """A door and its account: spring, gravity, stops, and some of all the losses there are, of any strength.

    `lossy`: all of them. `wrong` takes the place of the element that it is made of; no other loss would hide it.
    """
    rng = np.random.default_rng(seed)
    links = tuple(float(x) for x in np.array(PAPER_LINKS) * rng.uniform(0.95, 1.05, size=4))
    root = int(rng.choice([-1, 1]))
    hinge = Hinge(
        inclination=float(rng.choice([0.0, rng.uniform(0.0, 1.2)])),
        direction=rng.uniform(-3.0, 3.0),
        linkage=FourBar(links, "negative" if root < 0 else "positive"),  # type: ignore[arg-type]
    )
    width, v_s = 10 ** rng.uniform(-3, 0, size=2)
    flows = rng.choice(["laminar", "turbulent", "mixed"], size=3).tolist()
    m, cx, cy, I = rng.uniform(5, 30), rng.uniform(0.2, 0.5), rng.uniform(-0.1, 0.1), rng.uniform(2.0, 9.0)
    size = iter((10 ** rng.uniform(-2, 3, size=40)).tolist())
    closer_inertia = float(rng.choice([0.0, rng.uniform(0.01, 0.1)]))
    hinge_spring = tuple((rng.normal(size=3) * 3).tolist())
    closer_spring = (18.01, -17.10, 5.34, -0.70) if rng.integers(0, 2) else tuple((rng.normal(size=4) * 5).tolist())
    k = 10 ** rng.uniform(2, 8, size=2)
    parts: list[tuple[Any, list[float]]] = []
    if rng.integers(0, 2):
        xx, xy, yy = m * cx * cx, m * cx * cy, m * cy * cy
        tensor = [I + yy, -xy, 0.0, I + xx, 0.0, 1.5 * I + xx + yy]
        parts.append((RigidBody(), [m, m * cx, m * cy, 0.0, *tensor]))
        inertia = tensor[-1]
    else:
        parts += [(ScalarInertia(), [I]), (Gravity(), [m * cx, m * cy])]
        inertia = I
    if closer_inertia:
        parts.append((ScalarInertia("I_p", "closer"), [closer_inertia]))
    parts += [
        (Viscous(), [next(size)]),
        (Viscous("b_p", "closer"), [next(size)]),
        (Coulomb(), [next(size)]),
        (Coulomb("b_cp", "closer"), [next(size)]),
        (Stribeck(v_s=v_s), [next(size)]),
        (Hysteresis("h_h", knots=KNOTS, basis="polynomial"), [next(size) for _ in KNOTS]),
        (Hysteresis("h_p", "closer", knots=KNOTS), [next(size) for _ in KNOTS]),
        (PolynomialSpring("s_h", order=2), list(hinge_spring)),
        (PolynomialSpring("s_p", "closer", order=3), list(closer_spring)),
        (EndStop("open", at=1.5), [k[0], 0.3 * k[0]]),
        (EndStop("shut", at=0.05, side="lowest"), [k[1], 0.3 * k[1]]),
    ]
    for e in (
        ZoneDamper("b_bc", "closer", when="opening", above=1.2, width=width, flow=flows[0]),
        ZoneDamper("b_s", "closer", when="closing", above=0.4, width=width, otherwise="b_l", flow=flows[1]),
        ZoneDamper("b_z", when="both", above=0.3, below=0.9, width=width, flow=flows[2]),
    ):
        parts.append((e, [next(size) for _ in e.parameters]))
    if wrong is not None:
        parts = [(_made(wrong, e), values) for e, values in parts if not e.dissipates or issubclass(wrong, type(e))]
    elif not lossy:
        parts = [part for part in parts if not part[0].dissipates or rng.uniform() < 0.2]
    model = Model("m", hinge, tuple(e for e, _ in parts)).with_values([x for _, values in parts for x in values])
    door = door_ode.Door(lengths=links, root=root)  # type: ignore[arg-type]
    account = Account(
        door,
        *(inertia, closer_inertia, (m * cx, m * cy), hinge.inclination, hinge.direction),
        *(hinge_spring, closer_spring, ((1.5, 1.0, k[0]), (0.05, -1.0, k[1]))),
        door_ode.linkage(door, 0.75)[0],
    )
    return model, account


def _made(wrong: type[Any], e: Any) -> Any:
    """The same element of the wrong class, if it is one of those."""
    if not issubclass(wrong, type(e)) or (isinstance(e, ScalarInertia) and e.acts_on == "hinge"):
        return e
    return wrong(**{f.name: getattr(e, f.name) for f in fields(e) if f.init})


def worst(seeds: Sequence[int], states: int, wrong: type[Any] | None = None) -> float:
    """The most energy that one step created beyond what is allowed, as a part of what was there or put in."""
    found = -math.inf
    for seed in seeds:
        model, account = random_door(seed, wrong=wrong)
        rng, out = np.random.default_rng(seed + 10_000), np.empty(3)
        dt = float(rng.choice([1e-4, 1e-3, 1e-2]))
        stepper = Stepper(model, dt)
        for _ in range(states):
            at_stop = rng.choice([0.05, 1.5]) + rng.normal() * 10 ** rng.uniform(-9, -1)
            q = rng.uniform(0.0, 1.55) if rng.integers(0, 3) else at_stop
            v = rng.normal() * 10 ** rng.uniform(-7, 0.7) * rng.integers(0, 2)
            tau = rng.normal() * 10 ** rng.uniform(-2, 4) * rng.integers(0, 2)
            stepper.reset((q, v))
            status = stepper.step([*rng.normal(size=5), tau], out)
            assert status is not StepStatus.NOT_FINITE
            to, u = out[:2]
            before, after, work = account.energy(q, v), account.energy(to, u), tau * (to - q)
            created = after - before - work - account.allowed(q, v, to, u)
            size = abs(work) + abs(after - account.smooth(to)) + abs(account.smooth(q)) + 1.0
            found = max(found, created / size)
    return found


ROUNDING = 1e-12
"""Of the sum of the energies' sizes."""


def test_no_step_creates_energy() -> None:
    """1000 random states and wrenches of 50 random doors."""
    assert worst(range(50), 20) <= ROUNDING


def test_a_lost_wrench_creates_no_energy() -> None:
    """From any state, at stops and on springs: each step of braking takes some, or leaves all as it is."""
    for seed in range(25):
        model, account = random_door(seed)
        rng, out = np.random.default_rng(seed), np.empty(3)
        stepper = Stepper(model, float(rng.choice([1e-4, 1e-3, 1e-2])))
        for _ in range(8):
            q, v = rng.uniform(0.0, 1.55), rng.normal() * 10 ** rng.uniform(-5, 0.7)
            stepper.reset((q, v))
            assert stepper.step([math.nan] * 6, out) is StepStatus.NOT_FINITE
            to, u = out[:2]
            created = account.energy(to, u) - account.energy(q, v) - account.allowed(q, v, to, u)
            assert created <= ROUNDING * (1.0 + abs(account.smooth(q)) + abs(account.energy(q, v)))
            assert u * v >= 0.0
            assert abs(u) <= abs(v)


def test_the_accounts_linkage_is_the_oracles() -> None:
    for seed in range(8):
        _, account = random_door(seed)
        for q in (0.01, 0.4, 1.0, 1.5):
            assert account.linkage(q) == pytest.approx(door_ode.linkage(account.links, q), abs=1e-12)


def backwards(kind: type[Any]) -> type[Any]:
    """The element with a sign error."""

    class Wrong(kind):
        def columns(self, f: Any) -> Any:
            return [[-x for x in row] for row in kind.columns(self, f)]

        def level(self, k: Any, z: Any, fn: Any) -> Any:
            return [-x for x in kind.level(self, k, z, fn)]

    return Wrong


@pytest.mark.parametrize(
    "kind",
    [Viscous, Coulomb, Stribeck, Hysteresis, ZoneDamper, PolynomialSpring, EndStop, Gravity, ScalarInertia],
)
def test_an_element_with_a_sign_error_does_not_balance(kind: type[Any]) -> None:
    """The account can fail: of any one element (of an inertia, the closer's)."""
    assert worst(range(8, 12), 20, backwards(kind)) > 1e6 * ROUNDING


@pytest.mark.parametrize("flow", ["laminar", "turbulent", "mixed"])
def test_what_a_moving_door_loses_is_what_its_dampers_and_friction_take(flow: Any) -> None:
    """The account closes from below too: what is missing is the power of the losses, to first order in dt."""
    I, b_v, b_c, b_st, v_s, h, b, b_o, b_t, b_to = 3.0, 0.7, 1.1, 0.9, 0.4, 0.6, 2.0, 1.3, 0.8, 0.5
    zone = ZoneDamper("b_s", "closer", when="closing", above=0.7, width=0.1, otherwise="b_l", flow=flow)
    elements = (
        *(ScalarInertia(), Viscous(), Coulomb(), Stribeck(v_s=v_s), PolynomialSpring(acts_on="closer")),
        *(Hysteresis(acts_on="closer", knots=(0.0, 3.0)), zone),
    )
    spring = (18.01, -17.10, 5.34, -0.70)
    zones = {"laminar": [b, b_o], "turbulent": [b_t, b_to], "mixed": [b, b_t, b_o, b_to]}[flow]
    model = Model("m", Hinge(linkage=FourBar()), elements)
    model = model.with_values([I, b_v, b_c, b_st, *spring, h, h, *zones])
    door = door_ode.Door()
    account = Account(door, I, 0.0, (0.0, 0.0), 0.0, 0.0, (), spring, (), door_ode.linkage(door, 0.75)[0])
    rng, out, dt = np.random.default_rng(1), np.empty(3), 1e-6
    stepper = Stepper(model, dt)
    for _ in range(50):
        q, v, tau = rng.uniform(0.1, 1.4), rng.choice([-1, 1]) * rng.uniform(0.05, 3.0), rng.normal() * 20
        stepper.reset((q, v))
        stepper.step([0.0, 0.0, 0.0, 0.0, 0.0, tau], out)
        nu = account.linkage(q)[1]
        p, w = nu * v, 0.5 * (1 + math.tanh((q - 0.7) / 0.1))
        power = b_v * v * v + (b_c + b_st * math.exp(-((v / v_s) ** 2))) * abs(v) + h * abs(p)
        if p < 0:
            power += (w * b + (1 - w) * b_o) * p * p * (flow != "turbulent")
            power += (w * b_t + (1 - w) * b_to) * abs(p) ** 3 * (flow != "laminar")
        change = account.energy(out[0], out[1]) - account.energy(q, v) - tau * (out[0] - q)
        assert -change / dt == pytest.approx(power, rel=1e-3, abs=1e-4)


# At rest


def test_a_door_at_rest_stays_under_any_wrench_below_its_friction() -> None:
    """Exactly, whatever else it is made of; beyond its friction it moves, and to the right side."""
    rng, out = np.random.default_rng(3), np.empty(3)
    for seed in range(20):
        model, account = random_door(seed, lossy=True)
        p = model.values
        stepper = Stepper(model, float(rng.choice([1e-4, 1e-3, 1e-2])))
        for _ in range(10):
            q = rng.uniform(0.06, 1.49)
            phi, nu = account.linkage(q)
            s = min(max(q / 1.5, 0.0), 1.0)
            bernstein = sum(math.comb(3, i) * s**i * (1 - s) ** (3 - i) * p[f"h_h.h_{i}"] for i in range(4))
            hats = float(np.interp(phi, KNOTS, [p[f"h_p.h_{i}"] for i in range(4)]))
            most = p["b_c"] + p["b_st"] + bernstein + abs(nu) * (p["b_cp"] + hats)
            h = 1e-4
            hold = (account.smooth(q + h) - account.smooth(q - h)) / (2 * h)
            tau = hold + rng.uniform(-0.999, 0.999) * most
            stepper.reset((q, 0.0))
            for _ in range(20):
                assert stepper.step([*rng.normal(size=5) * 100, tau], out) is StepStatus.STICKING
            assert out.tolist() == [q, 0.0, 0.0]
            for sign in (1.0, -1.0):
                stepper.reset((q, 0.0))
                assert stepper.step([0.0] * 5 + [hold + sign * 1.001 * most], out) is StepStatus.OK
                assert out[1] * sign > 0


# Let go


def crossing(times_s: np.ndarray, path: np.ndarray, border: float) -> tuple[float, float]:
    """When a closing door passes an angle, and how fast."""
    i = int(np.argmax(path[:, 0] < border))
    assert i
    back = path[i - 1 : i + 1][::-1]
    return tuple(float(np.interp(border, back[:, 0], y)) for y in (times_s[i - 1 : i + 1][::-1], back[:, 1]))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(3))
def test_a_door_let_go_closes_through_sweep_and_latch_as_the_oracles_and_ends_at_the_frame(seed: int) -> None:
    """From 85 deg, through every border when and as fast as the oracle's.

    Stated error of a first-order step: half a step's travel in angle, one step's acceleration in speed.
    """
    factors = np.random.default_rng(seed).uniform(0.8, 1.25, size=6)
    I, b_v, b_c, b_bc, b_s, b_l = (np.array([6.53, 4.75, 1.2, 7.52, 4.47, 2.57]) * factors).tolist()
    door = door_ode.Door(I=I, b_v=b_v, b_c=b_c, b_bc=b_bc, b_s=b_s, b_l=b_l, c=(21.6, -20.5, 6.4, -0.84))
    shipped, frame, k = load_object("door"), math.radians(1.0), 5e4
    stop = EndStop("frame", at=frame, side="lowest")
    model = replace(shipped, elements=(*shipped.elements, stop))
    model = model.with_values([I, b_v, b_c, b_bc, b_s, b_l, *door.c, k, k])
    stepper, path = Stepper(model, 1e-3), np.empty((5_000, 3))
    start = math.radians(85.0)
    stepper.reset((start, 0.0))
    status = stepper.run(np.zeros((5_000, 6)), path)

    times = np.arange(0.0, 5.0, 5e-3)
    oracle = door_ode.simulate(door, lambda t: 0.0 * t, times, start)
    fastest, hardest = np.abs(oracle[:, 1]).max(), np.abs(np.gradient(oracle[:, 1], times)).max()
    assert 0.8 < fastest < 1.5  # rad/s, as doors do
    path_times = np.arange(1, 5_001) * 1e-3
    for border in np.radians([70.0, 50.0, 30.0, 25.0, 20.0, 10.0, 2.0]):
        found, expected = crossing(path_times, path, border), crossing(times, oracle, border)
        assert abs(found[0] - expected[0]) * abs(expected[1]) <= 0.5e-3 * fastest
        assert found[1] == pytest.approx(expected[1], abs=1e-3 * hardest)
    touch = int(np.argmax(path[:, 0] < frame))
    assert (np.diff(path[: touch + 1, 0]) < 0).all()  # without a pause on the way
    assert path[-1, 1] == 0.0
    assert status[-1] == StepStatus.AT_LIMIT
    assert frame - 2.0 * 20.0 / k < path[-1, 0] < frame  # no farther in than its spring presses
