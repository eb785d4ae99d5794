"""A body on the floor: its rows against MuJoCo, its casters against SciPy's ODE and Newton, its steps against both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from palpate.elements import RigidBody, Viscous
from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Planar
from palpate.model import Model
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import move_phi
from palpate.physics.motion import Poses
from palpate.runtime import Stepper
from tests.conftest import needs
from tests.oracles import carts_of_other_make as carts

PLACES = ((0.6, -0.2), (0.6, 0.25), (-0.3, 0.1))
CHAIR = Planar(axle=False, casters=PLACES, trail=0.035)
CART = Planar(track=0.5, casters=PLACES[:2], trail=0.035)


def states_of(mechanism: Planar, seed: int, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, len(mechanism.state))), rng.normal(size=(count, len(mechanism.accelerations)))


def poses_of(run: carts.Run, every: int = 5) -> Poses:
    at = slice(None, None, every)
    R = Rotation.from_euler("z", run.yaw[at, None]).as_matrix()
    return Poses(run.t[at], R, np.column_stack([run.place[at], np.zeros(len(R))]))


@pytest.mark.parametrize("axle", [False, True])
def test_the_rows_are_those_of_mujocos_cart(axle: bool) -> None:
    needs("mujoco", "mujoco")
    from tests.oracles.cart_mujoco import cart_forces

    rng, mechanism, n = np.random.default_rng(4), Planar(axle=axle), 50
    phi = carts.random_cart(3).body.phi
    q, speeds, acc = rng.normal(size=(3, n, 3))
    speeds[:, 1], acc[:, 1] = (0.0, 0.0) if axle else (speeds[:, 1], acc[:, 1])
    c, d, w = np.cos(q[:, 2]), np.sin(q[:, 2]), speeds[:, 2]
    # the same motion along the axes of the world: v = R u, v' = R (u' + w x u)
    turned = [acc[:, 0] - w * speeds[:, 1], acc[:, 1] + w * speeds[:, 0]]
    world = [np.column_stack([c * x - d * y, d * x + c * y]) for x, y in (speeds[:, :2].T, turned)]
    velocity, acceleration = (
        np.column_stack([x, z, 0 * z]) for x, z in zip(world, (speeds[:, 2], acc[:, 2]), strict=True)
    )
    # its frame has x down, y back, z left
    theirs = move_phi(phi, [[0, 0, -1], [-1, 0, 0], [0, 1, 0]], [0, 0, 0])
    f = cart_forces(theirs, np.column_stack([q, np.zeros(n)]), velocity, acceleration, mechanism.gravity)
    wanted = np.stack([f[:, 0] * c + f[:, 1] * d, f[:, 1] * c - f[:, 0] * d, f[:, 2]])
    kept = [0, 2] if axle else [0, 1, 2]
    model = Model("body", mechanism, (RigidBody(),)).with_values(phi)
    k = mechanism.expand(list(np.hstack([q, speeds[:, kept]]).T), list(acc[:, kept].T), ARRAYS)
    (body,) = model.elements
    columns = np.array(np.broadcast_arrays(*[x for row in body.columns(body.features(k, {}, ARRAYS)) for x in row]))
    wrench = np.einsum("ijn,j->in", columns.reshape(6, 10, n), phi)
    assert np.abs(np.array(mechanism.project(k, list(wrench), ARRAYS)) - wanted[kept]).max() < 1e-10


@pytest.mark.parametrize("mechanism", [CHAIR, CART, Planar(axle=False), Planar()])
def test_a_motion_is_observed_as_it_was_made(mechanism: Planar) -> None:
    states, acc = states_of(mechanism, 1)
    motion = mechanism.motion(np.arange(len(states)) / 100, states, acc)
    seen, made = mechanism.observe(motion), mechanism.expand(list(states.T), list(acc.T), ARRAYS)
    for name in mechanism.coordinates:
        for part in ("position", "speed", "acceleration"):
            a, b = (np.asarray(getattr(k.coordinates[name], part)) for k in (seen, made))
            assert np.abs(a - b).max() < 1e-12, (name, part)
    assert np.abs(mechanism.states(motion) - states).max() < 1e-12
    assert mechanism.units == ("m", "m", *["rad"] * (1 + len(mechanism.casters)), *mechanism.units[-2 * len(acc.T) :])
    assert mechanism.units[-len(acc.T) :] == tuple(u + "2" for u in mechanism.units[-2 * len(acc.T) : -len(acc.T)])


@pytest.mark.parametrize("mechanism", [CHAIR, CART])
def test_a_coordinate_moves_as_its_ratio_and_changes_as_its_acceleration_say(mechanism: Planar) -> None:
    """By virtual work, a force along a coordinate enters the rows with these ratios."""
    states, acc = states_of(mechanism, 2)
    n, h = len(acc.T), 1e-6
    k = mechanism.expand(list(states.T), list(acc.T), ARRAYS)
    rows = np.array(mechanism.row_speeds(list(states.T), ARRAYS))
    rates = np.array(np.broadcast_arrays(*mechanism.rates(list(states.T), ARRAYS)))
    later, before = (
        mechanism.expand(list((states + way * h * np.hstack([rates.T, acc])).T), list(acc.T), ARRAYS) for way in (1, -1)
    )
    for i in range(len(mechanism.casters)):
        assert np.abs(k.coordinates[f"caster_{i + 1}_swivel"].speed - rates[3 + i]).max() < 1e-12
    for name, c in k.coordinates.items():
        along = sum(r * v for r, v in zip(c.ratio, rows, strict=True))
        assert np.abs(along - c.speed).max() < 1e-12, name
        slope = (later.coordinates[name].speed - before.coordinates[name].speed) / (2 * h)
        assert np.abs(slope - c.acceleration).max() < 1e-4 * max(1.0, np.abs(slope).max()), name
    assert rates.shape == (states.shape[1] - n, len(states))


@pytest.mark.parametrize("axle", [False, True])
def test_casters_follow_their_pivots_as_scipys_ode_has_it(axle: bool) -> None:
    cart = carts.with_casters(carts.random_cart(2, axle=axle), 2, PLACES[:2])
    run = carts.pushed(cart, 2)
    mechanism = Planar(axle=axle, casters=PLACES[:2], trail=cart.trail)
    poses = poses_of(run)
    q, known = mechanism.coordinates_of(poses), ~mechanism.unsettled(poses)
    assert not known[:200].any()  # it has not moved: nobody knows where its casters point
    assert known[600:].mean() > 0.9
    for found, true in zip(q[:, 3:].T, run.swivels[:, ::5], strict=True):
        off = np.angle(np.exp(1j * (found - true)))
        assert np.sqrt(np.mean(off[known] ** 2)) < 0.005


def test_a_caster_that_is_pushed_straight_back_turns_round_who_knows_which_way() -> None:
    x = np.concatenate([np.linspace(0, 1, 200), np.linspace(1, 0, 200)])
    poses = Poses(np.arange(400) / 100, np.tile(np.eye(3), (400, 1, 1)), np.column_stack([x, 0 * x, 0 * x]))
    mechanism = Planar(casters=((0.5, 0.0),), trail=0.04)
    unknown = mechanism.unsettled(poses)
    assert not unknown[60:200].any()
    assert unknown[230:260].any()
    one = Poses(poses.times_s, poses.rotation, np.where(np.arange(400)[:, None] == 90, np.nan, poses.position))
    assert np.isnan(mechanism.coordinates_of(one)[90]).all()
    assert np.isfinite(mechanism.coordinates_of(one)[91]).all()


@pytest.mark.parametrize("axle", [False, True])
def test_it_is_stepped_as_newton_and_scipy_have_it(axle: bool) -> None:
    cart = replace(carts.with_casters(carts.random_cart(5, axle=axle), 5, PLACES[:2]), b_wheels=(0.0, 0.0))
    casters = [replace(c, b_roll=0.0) for c in cart.casters]
    phi, kept, push = cart.body.phi, [0, 2] if axle else [0, 1, 2], np.array([9.0, 5.0, 1.2])
    m, mx, my, Izz = phi[0], phi[1], phi[2], phi[9]

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        yaw, swivels, u = y[2], y[3:5], np.zeros(3)
        u[kept] = y[5:]
        drag = np.array([0.0, 0.0, cart.b_turn * u[2]])
        turns = []
        for caster, swivel in zip(casters, swivels, strict=True):
            drag += carts.caster_force(caster, cart.trail, np.array([swivel]), u[None], np.sign)[0]
            pivot = np.array([u[0] - caster.place[1] * u[2], u[1] + caster.place[0] * u[2]])
            turns.append(pivot @ [-np.sin(swivel), np.cos(swivel)] / cart.trail - u[2])
        # m (u' + w x u) and the moment of it, with the centre of mass at (mx, my) / m
        M = np.array([[m, 0, -my], [0, m, mx], [-my, mx, Izz]])
        spin = u[2] * np.array([-m * u[1] - mx * u[2], m * u[0] - my * u[2], mx * u[0] + my * u[1]])
        rest = push - drag - spin
        acc = np.linalg.solve(M[np.ix_(kept, kept)], rest[kept])
        c, d = np.cos(yaw), np.sin(yaw)
        return np.array([u[0] * c - u[1] * d, u[0] * d + u[1] * c, u[2], *turns, *acc])

    mechanism = Planar(axle=axle, casters=PLACES[:2], trail=cart.trail)
    swivels = [Viscous(f"b_{i}", f"caster_{i}_swivel") for i in (1, 2)]
    model = Model("cart", mechanism, (RigidBody(), Viscous("b_turn", "turn"), *swivels))
    stepper = Stepper(model.with_values([*phi, cart.b_turn, *(c.b_swivel for c in casters)]), 2e-4)
    start = [0.0, 0.0, 0.3, 0.4, -0.7, *[0.0] * len(kept)]
    stepper.reset(start)
    wrench, out = np.zeros((7500, 6)), np.empty((7500, stepper.size))
    wrench[:, [0, 1, 5]] = push
    assert not stepper.run(wrench, out).any()
    true = solve_ivp(slope, (0, 1.5), start, rtol=1e-9, atol=1e-10).y[:, -1]
    assert np.abs(out[-1, : len(start)] - true).max() < 2e-3 * np.abs(true).max()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"axle": False, "track": 0.4}, "track .* fixed axle"),
        ({"casters": [0.3]}, "places \\[x, y\\]"),
        ({"casters": [[0.3, float("nan")]]}, "places \\[x, y\\]"),
        ({"trail": 0.0}, "trail must be a positive length"),
        ({"estimate": True}, "neither casters nor a track"),
        ({"track": 0.5, "estimate": ["trail"]}, "size to estimate"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(PalpateError, match=words):
        Planar(**options)  # type: ignore[arg-type]


def test_a_body_that_leans_is_not_on_the_floor() -> None:
    R = Rotation.from_euler("y", [[0.0], [15.0]], degrees=True).as_matrix()
    with pytest.raises(DataProblem, match="sample 1: the body leans"):
        Planar().coordinates_of(Poses(np.arange(2.0), R, np.zeros((2, 3))))
    assert Planar().place([1.0, 2.0, 0.0, 0.0, 0.0], FLOATS)[1] == (1.0, 2.0, 0.0)
