"""The rolling mechanism: rows against Lagrange and MuJoCo, power, energy accounts, feet, and its reduced kin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from palpate.elements import Coulomb, Foot, FootFriction, RigidBody, ScalarInertia, Viscous, WheelSpin, check_element
from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Rolling
from palpate.model import Model, load_object
from palpate.motion.wheels import rolling
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from palpate.physics.inertia import inertia_matrix, phi_from_mass_properties
from palpate.physics.motion import Kinematics, Motion, Poses
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.equations import Equations
from tests.conftest import needs
from tests.poses import heading

SEEDS = st.integers(0, 100_000)
R, G = 0.197, 9.80665
INERTIA_COM = [[3.667, 0.0553, 0.0046], [0.0553, 1.0924, 0.0008], [0.0046, 0.0008, 3.135]]
PHI = phi_from_mass_properties(45.0, [-0.1121, 0.4498, 0.0004], INERTIA_COM)
FEET = ((0.197, 0.75, 0.25), (0.197, 0.75, -0.25))
FOOT_K = 1e5
ALL = [
    Rolling(radius=R, feet=FEET),
    Rolling(radius=R, moves="upright", track=0.45, feet=FEET),
    Rolling(radius=R, moves="planar", feet=FEET),
]
NAMES = [m.moves for m in ALL]


def barrow(*more: Any, values: tuple[float, ...] = (), mechanism: Rolling | None = None) -> Model:
    elements = (RigidBody(), WheelSpin(radius=R), *more)
    return Model("m", mechanism or Rolling(radius=R), elements).with_values([*PHI, 0.08, *values])


def standing() -> Model:
    """The paper's barrow with friction and two feet."""
    elements: list[Any] = [Viscous("b_v", "wheel"), Coulomb("b_c", "wheel"), Viscous("b_psi", "yaw")]
    values = [0.5, 1.17, 2.0]
    for i in (1, 2):
        elements += [Foot(f"foot_{i}", f"foot_{i}")]
        elements += [FootFriction(f"mu_{i}{way}", f"foot_{i}_{way}", FOOT_K) for way in ("ahead", "aside")]
        values += [FOOT_K, 1e6, 0.6, 0.6]
    return barrow(*elements, values=tuple(values), mechanism=Rolling(radius=R, feet=FEET))


def random_state(mechanism: Rolling, rng: np.random.Generator, fast: float = 2.0) -> tuple[list[float], list[float]]:
    n = len(mechanism.accelerations)
    positions = rng.uniform(-0.7, 0.7, size=len(mechanism.state) - n)
    return [*positions.tolist(), *(fast * rng.normal(size=n)).tolist()], (5 * rng.normal(size=n)).tolist()


def turn_of(camber: Any, pitch: Any, yaw: Any = 0.0) -> np.ndarray:
    """R_world_body by SciPy: heading, camber, pitch about the axle; at zero x is down, y back, z left."""
    yaw, camber, pitch = np.broadcast_arrays(yaw, camber, pitch)
    lean = Rotation.from_euler("ZX", np.stack([yaw, camber], axis=-1)).as_matrix()
    raised = Rotation.from_euler("z", pitch[..., None]).as_matrix().reshape(*pitch.shape, 3, 3)
    return lean @ np.array([[0.0, -1, 0], [0, 0, 1], [-1, 0, 0]]) @ raised


def energies(states: np.ndarray, spin: float = 0.08, feet: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energy (J) of PHI with a wheel of inertia `spin`, from textbook formulas."""
    _, _, yaw, camber, pitch, v, yaw_1, camber_1, pitch_1 = states.T
    turn = turn_of(camber, pitch, yaw)
    level = np.stack([camber_1, pitch_1 * np.cos(camber), yaw_1 + pitch_1 * np.sin(camber)], axis=1)
    from_level = Rotation.from_euler("z", yaw[:, None]).as_matrix()
    omega = np.einsum("nji,njk,nk->ni", turn, from_level, level)
    speed = np.einsum("nji,njk,nk->ni", turn, from_level, np.stack([v, -R * camber_1, 0 * v], axis=1))
    kinetic = 0.5 * PHI[0] * (speed**2).sum(axis=1) + (np.cross(omega, PHI[1:4]) * speed).sum(axis=1)
    kinetic += 0.5 * np.einsum("ni,ij,nj->n", omega, inertia_matrix(PHI), omega)
    kinetic += 0.5 * spin * (v / (R * np.cos(camber)) + yaw_1 * np.sin(camber)) ** 2
    potential = G * (PHI[0] * R + turn[:, 2] @ PHI[1:4])
    if feet:
        pressed = np.maximum(-(R + turn[:, 2] @ np.array(FEET).T), 0.0)
        potential = potential + 0.5 * FOOT_K * (pressed**2).sum(axis=1)
    return kinetic, potential


def flat(k: Kinematics) -> list[Any]:
    motion = [*k.specific_acceleration, *k.omega, *k.omega_dot]
    return motion + [v for c in k.coordinates.values() for v in (c.position, c.speed, c.acceleration, *c.ratio)]


# Rows


def test_four_rows_are_lagranges_equations() -> None:
    """Any body, wheel and friction; all ways that the constraints leave."""
    needs("casadi", "casadi")
    from tests.oracles.wheelbarrow_lagrange import Barrow, Lagrange

    for seed in range(3):
        rng = np.random.default_rng(seed)
        masses, places = rng.uniform(1, 10, size=6), rng.normal(size=(6, 3)) * 0.4 + [-0.1, 0.4, 0.0]
        mass, across, spin, radius, g = rng.uniform(0.1, 0.3, size=5) * [20, 0.2, 0.3, 1, 40]
        b = rng.uniform(0.2, 2, size=4)
        oracle = Lagrange(Barrow(masses, places, mass, across, spin, radius, g, *b))
        phi = np.array([mass, 0, 0, 0, across, 0, 0, across, 0, 0])
        for m, r in zip(masses, places, strict=True):
            phi += phi_from_mass_properties(m, r, np.zeros((3, 3)))
        mechanism = Rolling(gravity=float(g), radius=float(radius))
        rubbing = [Viscous(f"b_{way}", way) for way in ("wheel", "bearing", "yaw", "patch")]
        model = Model("m", mechanism, (RigidBody(), WheelSpin(radius=float(radius)), *rubbing))
        model = model.with_values([*phi, spin, *b])
        for _ in range(10):
            q = rng.uniform(-0.8, 0.8, size=7)
            q[2] = radius
            N = oracle.ways(q)
            v = 3 * N @ rng.normal(size=4)
            e = oracle.evaluate(q, v)
            a = 5 * N @ rng.normal(size=4) - np.linalg.pinv(e["J"]) @ e["J_dot_v"].ravel()
            needed = N.T @ (e["M"] @ a + e["h"].ravel())
            cos, sin = math.cos(q[3]), math.sin(q[3])
            ahead = cos * v[0] + sin * v[1]
            ahead_1 = cos * a[0] + sin * a[1] + v[3] * (cos * v[1] - sin * v[0])
            state = [q[0], q[1], q[3], q[4], q[5], ahead, v[3], v[4], v[5]]
            k = mechanism.expand(state, [ahead_1, a[3], a[4], a[5]], FLOATS)
            rows, w = np.array(model.wrench(k, FLOATS)), rng.normal(size=6) * 50
            hands = np.array(mechanism.project(k, w.tolist(), FLOATS))
            ways = [oracle.evaluate(q, way) for way in N.T]
            speeds = np.array([[*x["omega"].ravel(), x["speed"][0, 0] - radius * x["omega"][1, 0]] for x in ways])
            assert np.abs(speeds @ rows - needed).max() < 1e-12 * np.abs(needed).max()
            assert speeds @ hands == pytest.approx(N.T @ e["twist"].T @ w, rel=1e-12, abs=1e-12)


@given(SEEDS, st.sampled_from(ALL))
@settings(max_examples=60)
def test_power_of_the_rows_is_that_of_the_hands_and_each_ratio_is_its_speed(seed: int, mechanism: Rolling) -> None:
    rng = np.random.default_rng(seed)
    state, acc = random_state(mechanism, rng)
    k = mechanism.expand(state, acc, FLOATS)
    speeds = np.array(mechanism.row_speeds(state, FLOATS))
    s = dict(zip(mechanism.state, state, strict=True))
    velocity = turn_of(s.get("camber", 0.0), s["pitch"]).T @ [s["forward_speed"], -R * s.get("camber_rate", 0.0), 0.0]
    w = rng.normal(size=6) * 50
    power = velocity @ w[:3] + np.array(k.omega) @ w[3:]
    assert speeds @ np.array(mechanism.project(k, w.tolist(), FLOATS)) == pytest.approx(power, rel=1e-12, abs=1e-11)
    for name, c in k.coordinates.items():
        assert np.dot(c.ratio, speeds) == pytest.approx(c.speed, rel=1e-12, abs=1e-12), name
    assert set(k.coordinates) == set(mechanism.coordinates)


@given(SEEDS, st.sampled_from(ALL))
@settings(max_examples=30)
def test_speeds_and_accelerations_are_derivatives_along_the_motion(seed: int, mechanism: Rolling) -> None:
    rng = np.random.default_rng(seed)
    state, acc = random_state(mechanism, rng, fast=1.0)
    n, dt = len(acc), 1e-4

    def at(t: float) -> list[float]:
        speeds = [v + t * a for v, a in zip(state[-n:], acc, strict=True)]
        mean = [v + t / 2 * a for v, a in zip(state[-n:], acc, strict=True)]
        # x and y do not matter, the other positions are integrals of their speeds
        rates = mechanism.rates([*state[:-n], *mean], FLOATS)
        return [*(q + t * r for q, r in zip(state[:-n], rates, strict=True)), *speeds]

    k, before, after = (mechanism.expand(at(t), acc, FLOATS) for t in (0.0, -dt, dt))
    for name, c in k.coordinates.items():
        one, other = after.coordinates[name], before.coordinates[name]
        if name in ("camber", "pitch", "heading", "foot_1", "foot_2"):
            assert (one.position - other.position) / (2 * dt) == pytest.approx(c.speed, abs=1e-5)
        if not name.startswith("foot"):
            assert (one.speed - other.speed) / (2 * dt) == pytest.approx(c.acceleration, abs=2e-4), name
    omega_dot = (np.array(after.omega) - np.array(before.omega)) / (2 * dt)
    assert omega_dot == pytest.approx(k.omega_dot, abs=1e-4)


@pytest.mark.parametrize("mechanism", ALL, ids=NAMES)
def test_observed_motion_is_the_expanded(mechanism: Rolling) -> None:
    rng = np.random.default_rng(3)
    pairs = [random_state(mechanism, rng) for _ in range(50)]
    states, acc = np.array([s for s, _ in pairs]), np.array([a for _, a in pairs])
    motion = mechanism.motion(np.arange(50) / 100, states, acc)
    expanded, observed = mechanism.expand(list(states.T), list(acc.T), ARRAYS), mechanism.observe(motion)
    assert expanded.coordinates.keys() == observed.coordinates.keys()
    for a, b in zip(flat(expanded), flat(observed), strict=True):
        assert np.abs(np.broadcast_to(a, 50) - np.broadcast_to(b, 50)).max() < 1e-11
    s = dict(zip(mechanism.state, states.T, strict=True))
    turn = turn_of(s.get("camber", np.zeros(50)), s["pitch"], s.get("yaw", 0.0))
    assert motion.poses is not None
    assert np.abs(motion.poses.rotation - turn).max() < 1e-13
    assert np.abs(mechanism.states(motion) - states).max() < 1e-11
    floats = [flat(mechanism.expand(x, a, FLOATS)) for x, a in pairs]
    arrays = np.array([np.broadcast_to(x, 50) for x in flat(expanded)])
    assert np.abs(np.array(floats).T - arrays).max() < 1e-11


def test_camber_and_heading_are_those_of_the_motion_room() -> None:
    rng = np.random.default_rng(1)
    times, n = np.arange(40) / 100, 40
    R_wb = turn_of(rng.uniform(-0.5, 0.5, n), rng.uniform(-0.5, 0.5, n), np.linspace(0, 9, n))
    poses = Poses(times, R_wb, np.column_stack([rng.normal(size=(n, 2)), np.full(n, R)]))
    seen, zero = rolling(poses), np.zeros((n, 3))
    k = Rolling(radius=R).observe(Motion(times, zero, zero, zero, poses, zero))
    assert k.coordinates["camber"].position == pytest.approx(seen.camber_rad, abs=1e-12)
    assert k.coordinates["heading"].position == pytest.approx(seen.yaw_rad, abs=1e-12)
    # the paper's pitch is how far y rises, ours the turn about the axle
    about, c = k.coordinates["pitch"].position, k.coordinates["camber"].position
    assert np.arcsin(np.sin(about) * np.cos(c)) == pytest.approx(seen.pitch_rad, abs=1e-12)
    # moments about the contact, as wrench transmission says
    w = rng.normal(size=(n, 6))
    rows = np.array(Rolling(radius=R).project(k, list(w.T), ARRAYS)).T
    R_cb = np.einsum("nji,njk->nik", heading(seen), R_wb)
    f, moment = np.einsum("nij,nj->ni", R_cb, w[:, :3]), np.einsum("nij,nj->ni", R_cb, w[:, 3:])
    assert rows == pytest.approx(np.column_stack([moment + np.cross([0, 0, R], f), f[:, 0]]), abs=1e-12)


def test_the_published_wheel_speed_is_the_papers_and_the_conjugate_that_of_the_design() -> None:
    state, acc = random_state(Rolling(radius=R), np.random.default_rng(7))
    published = Rolling(radius=R, wheel_speed="published").expand(state, acc, FLOATS).coordinates["wheel"]
    k = Rolling(radius=R).expand(state, acc, FLOATS)
    omega = turn_of(state[3], state[4]) @ k.omega
    assert published.speed == pytest.approx(state[5] / R, rel=1e-13)
    assert k.coordinates["yaw"].speed == pytest.approx(omega[2], rel=1e-12)
    design = state[5] / (R * math.cos(state[3])) + math.sin(state[3]) * (omega[2] - omega[1] * math.tan(state[3]))
    assert k.coordinates["wheel"].speed == pytest.approx(design, rel=1e-12)


@pytest.mark.parametrize("mechanism", ALL, ids=NAMES)
def test_it_expands_the_same_on_symbols(mechanism: Rolling) -> None:
    ca = needs("casadi", "casadi")
    state, acc = ca.SX.sym("s", len(mechanism.state)), ca.SX.sym("a", len(mechanism.accelerations))
    symbols = flat(mechanism.expand(ca.vertsplit(state), ca.vertsplit(acc), casadi_functions()))
    function = ca.Function("expand", [state, acc], [ca.vertcat(*symbols)])
    x, a = random_state(mechanism, np.random.default_rng(2))
    assert np.array(function(x, a)).ravel() == pytest.approx(flat(mechanism.expand(x, a, FLOATS)), abs=1e-11)


# Energy


def forward(model: Model) -> tuple[Any, Any]:
    """(state, wrench) -> accelerations, and state -> rates of the positions; without dry elements."""
    e = Equations(model)
    n = e.n
    found = e.trace.function("s, w", [*(x for row in e.inertia for x in row), *e.bias, *e.applied])

    def accelerate(state: Any, wrench: Any) -> np.ndarray:
        x = np.array(found(state, wrench))
        return np.linalg.solve(x[: n * n].reshape(n, n), x[n * n + n :] - x[n * n : n * n + n])

    return accelerate, e.trace.function("s", e.rates() or [])


def hands(t: float, s: Any, turn: np.ndarray) -> np.ndarray:
    """Somebody who leans, yaws and pushes the barrow; in the body frame."""
    force = turn.T @ [60 * math.sin(1.3 * t) - 8 * s[5], 20 * math.sin(3 * t), 30.0]
    level = turn.T @ [-500 * s[3] - 60 * s[7] + 120 * math.sin(2.5 * t), 0.0, 35 * math.sin(1.7 * t) - 3 * s[6]]
    pitching = 198 - 500 * (s[4] - 0.2) - 60 * s[8] + 30 * math.sin(2 * t)
    return np.concatenate([force, level + np.array([0.0, 0.0, pitching])])


def missing_energy(mechanism: Rolling) -> tuple[float, float, float]:
    """What the account of a leaning and yawing barrow lacks, the work of the hands (J), and the largest camber."""
    b = {"wheel": 1.5, "bearing": 0.4, "yaw": 2.0, "patch": 0.5}
    rubbing = [Viscous(f"b_{name}", name) for name in b]
    accelerate, rates = forward(barrow(*rubbing, values=tuple(b.values()), mechanism=mechanism))

    def slope(t: float, y: np.ndarray) -> list[float]:
        s = y[:9]
        turn = turn_of(s[3], s[4])
        w = hands(t, s, turn)
        k = mechanism.expand(s.tolist(), [0.0] * 4, FLOATS)
        velocity = turn.T @ [s[5], -R * s[7], 0.0]
        power = velocity @ w[:3] + np.array(k.omega) @ w[3:]
        lost = sum(x * k.coordinates[name].speed ** 2 for name, x in b.items())
        return [*rates(s), *accelerate(s, w), power, lost, abs(power)]

    start = np.array([0.0, 0, 0, 0.02, 0.2, 0.8, 0.1, 0, 0, 0, 0, 0])
    found = solve_ivp(slope, (0.0, 1.5), start, method="DOP853", rtol=1e-9, atol=1e-10).y
    total = sum(energies(found[:9].T))
    return total[-1] - total[0] + found[10, -1] - found[9, -1], found[11, -1], np.abs(found[3]).max()


def test_the_account_closes_where_the_published_wheel_speed_loses_energy() -> None:
    missing, work, camber = missing_energy(Rolling(radius=R))
    assert camber > 0.1
    assert work > 20
    assert abs(missing) < 1e-6 * work
    published, _, _ = missing_energy(Rolling(radius=R, wheel_speed="published"))
    assert abs(published) > 1e-4 * work


def test_friction_at_the_published_wheel_speed_can_push() -> None:
    """Leaning while yawing: the couple of the wheel works on a speed of the other sign."""
    state = [0.0, 0.0, 0.0, 0.2, 0.0, 0.05, -3.0, 0.0, 0.0]
    for mechanism, sign in ((Rolling(radius=R), 1), (Rolling(radius=R, wheel_speed="published"), -1)):
        model = Model("m", mechanism, (Coulomb("b_c", "wheel"),)).with_values([1.0])
        rows = model.wrench(mechanism.expand(state, [0.0] * 4, FLOATS), FLOATS)
        assert sign * np.dot(rows, mechanism.row_speeds(state, FLOATS)) > 0.1


@pytest.mark.parametrize("feet", [False, True])
def test_no_step_creates_energy(feet: bool) -> None:
    rng, n = np.random.default_rng(4), 300 if feet else 800
    stepper = Stepper(standing() if feet else barrow(), 1e-3)
    positions = np.column_stack([rng.normal(size=(n, 2)), rng.uniform(-3, 3, n), *rng.uniform(-1, 1, size=(2, n))])
    if feet:
        positions[:, 3:] *= [0.03, 0.1]
    before = np.column_stack([positions, rng.normal(size=(n, 4)) * 10 ** rng.uniform(-4, 1, size=(n, 1))])
    after, out = np.empty((n, 9)), np.empty(13)
    for i, state in enumerate(before):
        stepper.reset(state)
        assert stepper.step((0.0,) * 6, out) is not StepStatus.NOT_FINITE
        after[i] = out[:9]
    old, new = (sum(energies(x, feet=feet)) for x in (before, after))
    assert (new - old <= 1e-12 * (np.abs(old) + energies(before)[0])).all()


def test_hands_put_no_more_energy_in_than_their_work() -> None:
    """The work of a step is the wrench's on the twist with which the axle really moved."""
    rng, model = np.random.default_rng(5), barrow(Viscous("b_v", "wheel"), Coulomb("b_c", "wheel"), values=(0.5, 1.2))
    stepper, out, dt = Stepper(model, 1e-3), np.empty(13), 1e-3
    for _ in range(150):
        state = np.array([0, 0, 0, *rng.uniform(-0.5, 0.5, 2), *rng.normal(size=4)])
        w = rng.normal(size=6) * 10 ** rng.uniform(0, 2.5)
        stepper.reset(state)
        stepper.step(w, out)
        u = (out[2:5] - state[2:5]) / dt  # yaw, camber, pitch rate of the step
        ahead = (out[0] * math.cos(u[0] * dt / 2) + out[1] * math.sin(u[0] * dt / 2)) / dt
        turn = turn_of(state[3], state[4])
        omega = turn.T @ [u[1], u[2] * math.cos(state[3]), u[0] + u[2] * math.sin(state[3])]
        work = dt * (w[:3] @ turn.T @ [ahead, -R * u[1], 0.0] + w[3:] @ omega)
        old, new = (sum(energies(x[None]))[0] for x in (state, out[:9]))
        assert new - old <= work + 1e-12 * (abs(old) + abs(work))


# The forward model


def test_steps_follow_the_smooth_model_and_the_error_shrinks_with_the_step() -> None:
    rubbing = (Viscous("b_v", "wheel"), Viscous("b_psi", "yaw"))
    model = barrow(*rubbing, values=(0.5, 2.0))
    accelerate, rates = forward(model)
    start, w = np.array([0, 0, 0, 0.03, 0.15, 1.2, 0.4, 0.0, 0.0]), np.array([-5.0, -25, 4, 1, -3, 190])
    path = solve_ivp(lambda _, s: [*rates(s), *accelerate(s, w)], (0.0, 0.5), start, rtol=1e-9, atol=1e-11)
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        stepper, out = Stepper(model, dt), np.empty((round(0.5 / dt), 13))
        stepper.reset(start)
        stepper.run(np.tile(w, (len(out), 1)), out)
        errors.append(np.abs(out[-1, :5] - path.y[:5, -1]).max())
    assert errors[2] < 3e-3
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.05)
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.05)


def test_the_stepper_never_uses_the_published_wheel_speed() -> None:
    state = [0.0, 0.0, 0.0, 0.2, 0.1, 0.5, -3.0, 0.0, 0.0]
    ends = []
    for mechanism in (Rolling(radius=R), Rolling(radius=R, wheel_speed="published")):
        stepper, out = Stepper(barrow(Viscous("b", "wheel"), values=(5.0,), mechanism=mechanism), 1e-3), np.empty(13)
        stepper.reset(state)
        stepper.step((0.0,) * 6, out)
        ends.append(out.tolist())
    assert ends[0] == ends[1]


def test_it_falls_over_to_the_side_it_leans_to_and_lies_there() -> None:
    """Somebody lifts the handles straight up, in the middle: the lean grows until it lies on the ground."""
    for lean in (0.02, -0.02):
        stepper, out = Stepper(barrow(Coulomb("b_c", "wheel"), values=(1.2,)), 5e-3), np.empty(13)
        stepper.reset([0, 0, 0, lean, 0.2, 0, 0, 0, 0])
        path, status, grip = [], [], np.array([0.0, 1.3, 0.0])
        for _ in range(1000):
            s = stepper.state
            f = turn_of(s[3], s[4]).T @ [0.0, 0.0, 145 - 1500 * (s[4] - 0.2) - 300 * s[8]]
            status.append(stepper.step((*f, *np.cross(grip, f)), out))
            path.append(out[3])
            if status[-1] is StepStatus.AT_LIMIT:
                break
        assert (np.diff(path) * lean >= 0).all()
        assert status[-1] is StepStatus.AT_LIMIT
        assert abs(path[-1]) > 1.3
        assert out[5:9].tolist() == [0.0] * 4


def test_hands_that_hold_it_leave_the_wheel_stuck_until_friction_gives_way() -> None:
    model = barrow(Coulomb("b_c", "wheel"), Viscous("b_v", "wheel"), values=(1.17, 0.5))
    start = [0.1, 0.2, 0.3, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0]
    turn = turn_of(0.0, 0.25)
    c = turn @ PHI[1:4] / PHI[0]

    def held(push: float) -> list[float]:
        weight = np.array([0.0, 0.0, PHI[0] * G])
        force = weight + np.array([push, 0.0, 0.0])
        moment = np.cross(c, weight)  # what pushes does so at the axle
        return [*(turn.T @ force), *(turn.T @ moment)]

    stepper, out = Stepper(model, 1e-3), np.empty(13)
    stepper.reset(start)
    for _ in range(100):
        stepper.step(held(0.9 * 1.17 / R), out)
    assert out[:2].tolist() == start[:2]
    assert out[5] == 0.0
    for _ in range(50):
        stepper.step(held(1.2 * 1.17 / R), out)
    assert out[5] > 1e-3


def test_it_stands_on_its_feet_until_pushed_or_lifted() -> None:
    stepper, out = Stepper(standing(), 4e-3), np.empty(13)
    stepper.reset([0, 0, 0, 0.003, 0.01, 0.05, 0, 0, 0])
    for _ in range(450):
        stepper.step((0.0,) * 6, out)
    rest = out.copy()
    load = PHI[0] * G * 0.4498 / 0.75  # on both feet
    assert rest[4] == pytest.approx(-load / (2 * FOOT_K) / 0.75, rel=0.02)
    for push in ((0, -0.5 * 0.6 * load, 0, 0, 0, 0), (0, 0, 0.3 * 0.6 * load, 0, 0, 0)):
        for _ in range(120):
            status = stepper.step(push, out)
        assert status is StepStatus.AT_LIMIT
        assert np.abs(out[:2] - rest[:2]).max() < 2e-3
        assert np.abs(out[5:9]).max() < 1e-4
    for _ in range(75):
        stepper.step((0, -1.5 * 0.6 * load, 0, 0, 0, 0), out)
    assert out[0] - rest[0] > 0.01
    for _ in range(75):
        status = stepper.step((0, 0, 0, 0, 0, 1.3 * PHI[0] * G * 0.4498), out)
    assert status is StepStatus.OK
    assert out[4] > 0.01


# Other people's physics


def mujoco_barrow(**options: Any) -> tuple[Any, Any, Model]:
    mujoco = needs("mujoco", "mujoco")
    from tests.oracles import wheelbarrow_mujoco as oracle

    body = PHI - np.array([3.0, 0, 0, 0, 0.04, 0, 0, 0.04, 0, 0])
    mj = mujoco.MjModel.from_xml_string(oracle.barrow_mjcf(body, (3.0, 0.04, 0.08), R, b_bearing=0.4, **options))
    return oracle, mj, barrow(Viscous("b", "bearing"), values=(0.4,))


def mujoco_speeds(model: Model, state: np.ndarray, acc: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R_world_body, and velocities and accelerations as MuJoCo has them."""
    mechanism: Any = model.mechanism
    motion = mechanism.motion(np.zeros(1), state[None], acc[None])
    turn = motion.poses.rotation[0]
    bearing = mechanism.expand(state.tolist(), acc.tolist(), FLOATS).coordinates["bearing"]
    linear = turn @ motion.specific_acceleration[0] - [0.0, 0.0, G]
    return (
        turn,
        np.array([*(turn @ motion.velocity[0]), *motion.omega[0], bearing.speed]),
        np.array([*linear, *motion.omega_dot[0], bearing.acceleration]),
    )


def test_accelerations_are_mujocos_rolling_and_in_the_air() -> None:
    oracle, mj, model = mujoco_barrow()
    accelerate, _ = forward(model)
    rng = np.random.default_rng(1)
    for _ in range(20):
        state = np.array([0, 0, *rng.uniform(-0.7, 0.7, 3), *2 * rng.normal(size=4)])
        w = rng.normal(size=6) * 50
        acc = accelerate(state, w)
        turn, qvel, mine = mujoco_speeds(model, state, acc)
        applied = np.array([*(turn @ w[:3]), *w[3:], 0.0])
        theirs = oracle.accelerations(mj, turn, qvel, applied, R, rolling=True)
        assert np.abs(mine - theirs).max() < 1e-11 * np.abs(theirs).max()
        # free of contact: the wrench that the same motion takes in the air, all six rows, wheel not driven
        free = oracle.accelerations(mj, turn, qvel, applied, R, rolling=False)
        M, h = oracle_terms(oracle, mj, turn, qvel)
        lumped = RigidBody().columns(RigidBody().features(air(turn, qvel, free), {}, FLOATS))
        wrench = np.array(lumped) @ PHI
        omega, spin = qvel[3:6], qvel[5] + qvel[6]
        wrench[3:] += 0.08 * (np.array([0, 0, free[5] + free[6]]) + spin * np.cross(omega, [0.0, 0, 1]))
        assert M @ free + h == pytest.approx(applied, rel=1e-11, abs=1e-9)
        assert wrench == pytest.approx(w, rel=1e-9, abs=1e-9)


def oracle_terms(oracle: Any, mj: Any, turn: np.ndarray, qvel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import mujoco

    data, quaternion = mujoco.MjData(mj), np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(turn).ravel())
    data.qpos[:], data.qvel[:] = [0, 0, R, *quaternion, 0], qvel
    return oracle.terms(mj, data)


def air(turn: np.ndarray, qvel: np.ndarray, qacc: np.ndarray) -> Kinematics:
    a = turn.T @ (qacc[:3] + np.array([0.0, 0.0, G]))
    return Kinematics(tuple(a), tuple(qvel[3:6]), tuple(qacc[3:6]))


def test_it_rolls_as_mujocos_sphere_on_its_soft_ground() -> None:
    """0.6 s of leaning, turning and pushing: 0.2 mm and 0.1 deg apart, by MuJoCo's soft contact (0.2 ms steps)."""
    oracle, mj, model = mujoco_barrow(on_ground=True, step=2e-4)
    start, w = np.array([0, 0, 0, 0.03, 0.15, 1.2, 0.4, 0.0, 0.0]), np.array([-5.0, -25, 4, 1, -3, 190])
    turn, qvel, _ = mujoco_speeds(model, start, np.zeros(4))
    times, places, turns = oracle.roll(
        mj, turn, qvel, R, 0.6, lambda _, R_wb, __: np.array([*(R_wb @ w[:3]), *w[3:], 0.0])
    )
    accelerate, rates = forward(model)
    path = solve_ivp(
        lambda _, s: [*rates(s), *accelerate(s, w)], (0.0, 0.6), start, t_eval=times, rtol=1e-9, atol=1e-11
    ).y.T
    mechanism: Any = model.mechanism
    poses = mechanism.motion(times, path, np.zeros((len(times), 4))).poses
    between = Rotation.from_matrix(np.einsum("nji,njk->nik", poses.rotation, turns)).magnitude()
    assert np.linalg.norm(path[-1, :2]) > 0.3
    assert np.abs(path[:, 3]).max() > 0.05
    assert np.abs(poses.position - places).max() < 2e-4
    assert np.degrees(between.max()) < 0.1


# Its kin, and what is refused


def test_the_reduced_mechanisms_are_the_full_one_held() -> None:
    rng = np.random.default_rng(6)
    for mechanism in ALL[1:]:
        mechanism = replace(mechanism, track=0.0)
        own, whole = (
            barrow(Viscous("b", "wheel"), values=(0.7,), mechanism=mechanism),
            barrow(Viscous("b", "wheel"), values=(0.7,), mechanism=ALL[0]),
        )
        state, acc = random_state(mechanism, rng)
        s, a = dict(zip(mechanism.state, state, strict=True)), dict(zip(mechanism.accelerations, acc, strict=True))
        k = ALL[0].expand([s.get(n, 0.0) for n in ALL[0].state], [a.get(n, 0.0) for n in ALL[0].accelerations], FLOATS)
        rows = dict(zip([r.name for r in ALL[0].rows], whole.wrench(k, FLOATS), strict=True))
        found = own.wrench(mechanism.expand(state, acc, FLOATS), FLOATS)
        assert found == pytest.approx([rows[r.name] for r in mechanism.rows], rel=1e-12)


def test_each_wheel_of_a_hand_truck_turns_on_its_own_way() -> None:
    truck = load_object("hand-truck")
    mechanism: Any = truck.mechanism
    state = [0.0, 0.0, 0.3, 0.5, 1.0, 2.0, 0.7]  # x, y, yaw, pitch, speeds ahead, yaw, pitch
    k = mechanism.expand(state, [0.0] * 3, FLOATS)
    left, right = (k.coordinates[name].speed for name in ("wheel_left", "wheel_right"))
    assert [left, right] == pytest.approx([(1.0 - 2.0 * 0.225) / 0.125, (1.0 + 2.0 * 0.225) / 0.125])
    stepper, out = Stepper(truck.with_values([*PHI, 0.1, 0.5, 0.5, 0.5]), 1e-3), np.empty(10)
    lying = (0.0, 0.0, 0.0, math.atan2(0.1121, 0.4498) + math.pi / 2 - 0.2, 0.0, 0.0, 0.0)
    stepper.reset(lying)
    for _ in range(200):
        stepper.step((0.0,) * 6, out)
    assert abs(out[3] - lying[3]) > 1e-3  # nobody holds it: it pitches


@pytest.mark.parametrize("name", ["wheelbarrow", "wheelbarrow-planar", "hand-truck"])
def test_object_files_are_models_that_roll(name: str, tmp_path: Any) -> None:
    model = load_object(name)
    model = model.with_values([*PHI, *[0.5] * (len(model.parameters) - 10)])
    model.save(tmp_path / "m.json")
    assert Model.load(tmp_path / "m.json") == model
    mechanism: Any = model.mechanism
    stepper, out = Stepper(model, 1e-3), np.empty(len(mechanism.state) + len(mechanism.accelerations))
    assert stepper.step((1.0, -20.0, 2.0, 0.1, 0.2, 190.0), out) is StepStatus.OK


def test_feet_survive_a_file() -> None:
    model = standing()
    assert Model.from_dict(model.to_dict()) == model
    assert model.mechanism.coordinates["foot_2_aside"] == "m"


@pytest.mark.parametrize("element", [WheelSpin(), Foot(), FootFriction()], ids=lambda e: e.type)
def test_elements_keep_their_promises(element: Any) -> None:
    needs("casadi", "casadi")
    assert "symbols" in check_element(element, coordinate_unit=element.natural_unit)


def test_spin_without_gyroscopic_moment_is_an_inertia_along_the_wheel() -> None:
    state, acc = random_state(Rolling(radius=R), np.random.default_rng(8))
    state[-3:] = [0.0, 0.0, 0.0]
    mechanism = Rolling(radius=R)
    k = mechanism.expand(state, acc, FLOATS)
    own = Model("m", mechanism, (WheelSpin(radius=R),)).with_values([0.08]).wrench(k, FLOATS)
    other = Model("m", mechanism, (ScalarInertia("I", "wheel"),)).with_values([0.08]).wrench(k, FLOATS)
    assert own == pytest.approx(other, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"radius": 0.0}, "radius must be positive"),
        ({"wheel_speed": "paper"}, "wheel_speed"),
        ({"moves": "sideways"}, "moves"),
        ({"track": 0.5}, "two wheels"),
        ({"feet": [[0.1, 0.2]]}, "three numbers"),
    ],
)
def test_what_cannot_roll_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PalpateError, match=said):
        Rolling(**options)


def test_motion_that_does_not_tell_the_ground_is_refused() -> None:
    zero, times = np.zeros((2, 3)), np.arange(2.0)
    with pytest.raises(DataProblem, match="no velocity"):
        Rolling().observe(Motion(times, zero, zero, zero))
    steep = Poses(times, turn_of(np.array([0.1, 1.5]), 0.0), zero)
    with pytest.raises(DataProblem, match="sample 1: the axle is tilted by 86 deg"):
        Rolling().observe(Motion(times, zero, zero, zero, steep, zero))
    positions = np.array([[0.0, 0.0, 0.0, camber, 0.0] for camber in (0.1, 1.5)])
    with pytest.raises(DataProblem, match="sample 1: the axle is tilted by 86 deg"):
        Rolling().observe(Motion(times, zero, zero, zero, steep, zero, positions))
    with pytest.raises(PalpateError, match="camber must be"):
        Stepper(barrow(), 1e-3).reset([0, 0, 0, 1.5, 0, 0, 0, 0, 0])


def test_samples_that_were_not_seen_stay_unknown() -> None:
    mechanism = ALL[0]
    states = np.array([random_state(mechanism, np.random.default_rng(i))[0] for i in range(4)])
    motion = mechanism.motion(np.arange(4.0), states, np.zeros((4, 4)))
    assert motion.poses is not None
    rotation = motion.poses.rotation.copy()
    rotation[1] = np.nan
    seen = Poses(motion.times_s, rotation, motion.poses.position)
    k = mechanism.observe(replace(motion, poses=seen, positions=None))
    assert np.isnan(k.coordinates["camber"].position).tolist() == [False, True, False, False]
