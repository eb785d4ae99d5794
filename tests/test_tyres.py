"""What rolls: resistance that grows with the load on a wheel, and tyres that creep sideways."""

from __future__ import annotations

from math import atan
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from palpate.elements import Coulomb, LoadedFriction, RigidBody, TyreSlip, Viscous, check_element
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.identify import build_balance, compress, solve
from palpate.mechanisms import Planar, Rolling
from palpate.model import Model
from palpate.physics.functions import FLOATS as _FLOATS
from palpate.physics.inertia import phi_from_mass_properties
from palpate.runtime import Stepper
from tests.exported_models import wheelbarrow
from tests.generated import generate
from tests.oracles import wheelbarrows_of_other_make as barrows

MASS, IZZ, DRAG, STIFFNESS, CRAWL = 30.0, 2.0, 6.0, 1500.0, 0.02


def test_a_barrow_whose_resistance_grows_with_the_load(tmp_path: Path) -> None:
    path, truth = barrows.write(tmp_path, 2, barrows.loaded_tyre)
    silent = run_experiment(read_experiment(path))
    assert not silent.passed
    assert silent.findings[0].cause == "friction-load"
    element = silent.findings[0].remedy.removeprefix("add ").removesuffix(" to elements")
    path.write_text(f"{path.read_text()}elements: [{element}]\n")
    stated = run_experiment(read_experiment(path))
    assert stated.passed, stated.findings
    for name, value in (truth | {"mu": barrows.LEVER_M}).items():
        low, high = stated.data["parameters"][name]["ci95"] or (value, value)
        assert abs((low + high) / 2 - value) <= 0.75 * (high - low), name
    assert stated.data["parameters"]["mu"]["unit"] == "m"
    assert stated.data["parameters"]["b_c"]["ci95"][1] < 1.5 * truth["b_c"] < silent.data["parameters"]["b_c"]["value"]


def test_lifting_the_handles_takes_load_off_the_wheel(tmp_path: Path) -> None:
    barrow = wheelbarrow()
    mu = LoadedFriction("mu", "wheel", mass=barrow.values["m"])
    model = Model("b", barrow.mechanism, (*barrow.elements, mu)).with_values([*barrow.p, 0.01])
    load = model.mechanism.loads(model.mechanism.expand([0.0] * 9, [0.0] * 4, _FLOATS), (-50.0, 0, 0, 0, 0, 0), _FLOATS)
    assert load["wheel"].across == pytest.approx((50.0,))  # x of the body is down
    assert Rolling(moves="upright", track=0.5).loads(model.mechanism.expand([0.0] * 9, [0.0] * 4, _FLOATS),
        (-50.0, 0, 0, 0, 0, 0), _FLOATS)["wheel_left"].across == pytest.approx((25.0,))  # fmt: skip
    w = np.zeros((300, 6))
    w[:, 1], w[:, 0] = -60.0, -200 * np.sin(0.02 * np.arange(300))
    stepper = Stepper(model, 1e-3)
    out = np.empty((300, stepper.size))
    stepper.run(w, out)
    in_c, _ = generate(model, tmp_path).run(w)
    assert np.abs(in_c - out).max() < 1e-9


def cart() -> Model:
    parts = (RigidBody("body"), Viscous("b_v", "forward"), Viscous("b_w", "turn"), TyreSlip(crawl=CRAWL))
    phi = phi_from_mass_properties(MASS, [0.0, 0.0, 0.0], np.diag([1.5, 1.5, IZZ]))
    return Model("cart", Planar(axle=False), parts).with_values([*phi, DRAG, 1.0, STIFFNESS], model_of="body")


def test_a_tyre_that_creeps_is_found() -> None:
    """Newton's law in axes of the body for a motion that is given: m (s' + w v) + C alpha along the axle."""
    t, rng = np.arange(0, 40, 0.01), np.random.default_rng(0)
    v, v1 = 0.6 + 0.3 * np.sin(0.7 * t), 0.21 * np.cos(0.7 * t)
    w, w1 = 0.5 * np.sin(1.1 * t), 0.55 * np.cos(1.1 * t)
    s, s1 = 0.012 * np.sin(0.9 * t), 0.0108 * np.cos(0.9 * t)
    yaw = 0.5 / 1.1 * (1 - np.cos(1.1 * t))
    states, acc = np.stack([0 * t, 0 * t, yaw, v, s, w], axis=1), np.stack([v1, s1, w1], axis=1)
    alpha = np.arctan(s / (np.abs(v) + CRAWL))
    wrench = np.zeros((len(t), 6))
    wrench[:, 0] = MASS * (v1 - w * s) + DRAG * v
    wrench[:, 1] = MASS * (s1 + w * v) + STIFFNESS * alpha
    wrench[:, 5] = IZZ * w1 + 1.0 * w
    wrench += rng.normal(0, 0.1, wrench.shape)
    model = cart()
    balance = build_balance(model, model.mechanism.motion(t, states, acc), wrench, sigma=[0.1, 0.1, 0.1])
    fixed = solve(compress(balance, [(0.0, 40.0)]))
    low, high = fixed["C_alpha"].ci95 or (np.nan, np.nan)
    assert low < STIFFNESS < high
    assert high - low < 0.02 * STIFFNESS


def test_it_is_stepped_as_scipy_integrates_it() -> None:
    dt, model = 1e-3, cart()
    stepper = Stepper(model, dt)
    out = np.empty((2000, stepper.size))
    w = np.zeros((2000, 6))
    w[:, 0], w[:, 1] = 20.0, 15.0
    stepper.run(w, out)

    def slope(_: float, y: np.ndarray) -> list[float]:
        v, s, turn = y
        force = STIFFNESS * atan(s / (abs(v) + CRAWL))
        return [(20 - DRAG * v) / MASS + turn * s, (15 - force) / MASS - turn * v, -turn / IZZ]

    exact = solve_ivp(slope, (0, 2), [0, 0, 0], method="LSODA", rtol=1e-8, atol=1e-12).y[:, -1]
    assert out[-1, 3:6] == pytest.approx(exact, rel=2e-3, abs=1e-5)


def test_what_cannot_be_is_refused() -> None:
    assert "dissipation" in check_element(TyreSlip())
    with pytest.raises(PalpateError, match="crawl must be a positive speed"):
        TyreSlip(crawl=0.0)
    with pytest.raises(PalpateError, match="'sideways'"):
        Model("cart", Planar(), (TyreSlip(),))
    with pytest.raises(PalpateError, match=r"com must be a place \[x, y, z\] in m"):
        LoadedFriction(com=(1.0, 2.0))  # type: ignore[arg-type]
    with pytest.raises(PalpateError, match="does not say what presses on 'caster_1_roll'"):
        Model("cart", Planar(casters=((0.5, 0.0),)), (Coulomb(acts_on="turn"), LoadedFriction(acts_on="caster_1_roll")))
