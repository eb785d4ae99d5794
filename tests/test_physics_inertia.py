"""Inertial parameters: what exists, conversions, moving; against point masses, Pinocchio and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.errors import NotConsistent
from palpate.physics.inertia import (
    PHI_NAMES,
    PHI_UNITS,
    check_consistent,
    drawing_jacobian,
    drawing_values,
    inertia_matrix,
    is_consistent,
    mass_properties,
    move_phi,
    nearest_consistent,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    principal_moments,
    pseudo_inertia,
    relative_spread,
    solid_box,
    solid_cylinder,
    spread_of_mass,
)
from palpate.physics.maps import LogCholesky
from palpate.physics.units import parse_unit
from tests.conftest import needs
from tests.oracles.point_masses import cloud_phi, random_cloud

seeds = st.integers(0, 10_000)


def random_phi(seed: int) -> np.ndarray:
    return cloud_phi(*random_cloud(np.random.default_rng(seed)))


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@given(seeds)
def test_every_cloud_of_points_is_consistent(seed: int) -> None:
    phi = random_phi(seed)
    check_consistent(phi, "cloud")
    assert is_consistent(phi)


@given(seeds)
def test_spread_and_moments_are_those_of_the_points(seed: int) -> None:
    masses, r = random_cloud(np.random.default_rng(seed))
    phi = cloud_phi(masses, r)
    from_centre = r - masses @ r / masses.sum()
    spread = np.linalg.eigvalsh((masses[:, None] * from_centre).T @ from_centre)
    assert relative(spread_of_mass(phi)[0], spread) < 1e-12
    moments, axes = principal_moments(phi)
    assert relative(moments, (spread.sum() - spread)[::-1]) < 1e-12
    assert np.linalg.det(axes) == pytest.approx(1, rel=1e-12)
    for moment, axis in zip(moments, axes.T, strict=True):
        distance = np.linalg.norm(np.cross(axis, from_centre), axis=1)
        assert masses @ distance**2 == pytest.approx(moment, rel=1e-10)


def test_a_flat_body_is_not_consistent_but_a_slightly_thick_one_is() -> None:
    # lengths and masses are powers of two: exact
    flat = phi_from_mass_properties(2.0, [0, 0, 0], np.diag([0.25, 0.5, 0.75]))
    assert not is_consistent(flat)
    assert is_consistent(flat + np.array([0, 0, 0, 0, 1e-9, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    ("moments", "reason"),
    [
        ((1, 1, 3), "principal moments 1, 1, 3 kg m2 .* the largest must be less than the sum of the others, 2"),
        ((-1, 2, 2), "principal moments -1, 2, 2 kg m2 .* each must be positive"),
    ],
)
def test_moments_that_no_body_has_are_refused_with_the_reason(moments: tuple[float, ...], reason: str) -> None:
    R = Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix()
    phi = phi_from_mass_properties(2.0, [0.1, 0.2, -0.3], R @ np.diag(moments) @ R.T)
    assert not is_consistent(phi)
    with pytest.raises(NotConsistent, match=f"door: no body has the {reason}"):
        check_consistent(phi, "door")


@pytest.mark.parametrize(
    ("index", "value", "reason"),
    [(0, 0.0, "the mass is 0 kg"), (0, -2.0, "the mass is -2 kg, it must be positive"), (4, np.nan, "not finite")],
)
def test_impossible_masses_and_numbers_are_refused(index: int, value: float, reason: str) -> None:
    phi = random_phi(1)
    phi[index] = value
    with pytest.raises(NotConsistent, match=reason):
        check_consistent(phi, "handle")
    if value != 0:
        assert not is_consistent(phi)


def test_a_zero_mass_is_just_not_consistent() -> None:
    assert not is_consistent(np.zeros(10))


@given(seeds)
def test_steiner_there_and_back(seed: int) -> None:
    phi = random_phi(seed)
    assert relative(phi_from_mass_properties(*mass_properties(phi)), phi) < 1e-14


@given(seeds)
def test_pseudo_inertia_is_the_second_moment_of_the_points_and_comes_back(seed: int) -> None:
    masses, r = random_cloud(np.random.default_rng(seed))
    homogeneous = np.hstack([r, np.ones((len(r), 1))])
    J = (masses[:, None] * homogeneous).T @ homogeneous
    phi = cloud_phi(masses, r)
    assert relative(pseudo_inertia(phi), J) < 1e-13
    assert relative(phi_from_pseudo_inertia(J), phi) < 1e-13


def test_conversions_work_on_stacks() -> None:
    phis = np.array([random_phi(seed) for seed in range(6)]).reshape(2, 3, 10)
    assert relative(phi_from_pseudo_inertia(pseudo_inertia(phis)), phis) < 1e-14
    assert inertia_matrix(phis)[1, 2].tolist() == inertia_matrix(phis[1, 2]).tolist()


@given(seeds)
def test_a_moved_body_is_its_moved_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses, r = random_cloud(rng)
    R_ab, r_ab = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    assert relative(move_phi(cloud_phi(masses, r), R_ab, r_ab), cloud_phi(masses, r @ R_ab.T + r_ab)) < 1e-13


@given(seeds)
def test_frames_compose_for_bodies_and_the_way_back_ends_at_the_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi = random_phi(seed)
    (R_ab, R_bc), (r_ab, r_bc) = Rotation.random(2, rng=rng).as_matrix(), rng.normal(size=(2, 3))
    step_by_step = move_phi(move_phi(phi, R_bc, r_bc), R_ab, r_ab)
    assert relative(move_phi(phi, R_ab @ R_bc, R_ab @ r_bc + r_ab), step_by_step) < 1e-13
    back = move_phi(move_phi(phi, R_ab, r_ab), R_ab.T, -R_ab.T @ r_ab)
    assert relative(back, phi) < 1e-13


def test_mass_properties_and_moved_bodies_are_pinocchios() -> None:
    needs("pinocchio", "pinocchio")
    from tests.oracles import pinocchio_body

    for seed in range(20):
        rng = np.random.default_rng(seed)
        phi = random_phi(seed)
        R_ab, r_ab = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
        assert relative(move_phi(phi, R_ab, r_ab), pinocchio_body.moved_phi(phi, R_ab, r_ab)) < 1e-13
        assert relative(pseudo_inertia(phi), pinocchio_body.pseudo_inertia(phi)) < 1e-13
        body = pinocchio_body.inertia(phi)
        mass, com, inertia = mass_properties(phi)
        assert mass == body.mass
        assert relative(com, body.lever) < 1e-13
        assert relative(inertia, body.inertia) < 1e-13
        expected = pinocchio_body.phi_from_mass_properties(mass, com, inertia)
        assert relative(phi_from_mass_properties(mass, com, inertia), expected) < 1e-13


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6), st.floats(0.1, 50))
def test_the_nearest_consistent_body_is_consistent_and_keeps_mass_and_centre(entries: list[float], mass: float) -> None:
    com = np.array([0.1, -0.2, 0.3])
    I = np.empty((3, 3))
    I[np.triu_indices(3)] = entries
    I = np.triu(I) + np.triu(I, 1).T
    found = nearest_consistent(phi_from_mass_properties(mass, com, I))
    check_consistent(found, "nearest")
    assert found[0] == mass
    assert found[1:4] == pytest.approx(mass * com, rel=1e-14)
    assert relative(nearest_consistent(found), found) < 1e-12


@given(seeds)
def test_the_nearest_consistent_body_of_a_consistent_one_is_itself(seed: int) -> None:
    phi = random_phi(seed)
    assert relative(nearest_consistent(phi, thinnest=0.0), phi) < 1e-13


def test_the_nearest_consistent_body_changes_the_thin_direction_only() -> None:
    spread = np.array([-0.1, 0.5, 2.0])
    R = Rotation.from_rotvec([0.5, 0.1, -0.4]).as_matrix()
    Sigma = R @ np.diag(spread) @ R.T
    phi = phi_from_mass_properties(3.0, [0, 0.1, 0], np.trace(Sigma) * np.eye(3) - Sigma)
    assert spread_of_mass(nearest_consistent(phi))[0] == pytest.approx([0.002, 0.5, 2.0], rel=1e-12)


def test_cylinder_and_box_are_mujocos() -> None:
    needs("mujoco", "mujoco")
    from tests.oracles.mujoco_body import geom_inertia

    cylinder = solid_cylinder(0.9, length=0.15, radius=0.02, axis=[0, 0, 1])
    assert relative(cylinder, np.diag(geom_inertia("cylinder", (0.02, 0.075), 0.9))) < 1e-12
    box = solid_box(45.0, [0.9, 2.0, 0.04])
    assert relative(box, np.diag(geom_inertia("box", (0.45, 1.0, 0.02), 45.0))) < 1e-12


def test_a_cylinder_along_any_axis_is_the_turned_one() -> None:
    R = Rotation.from_euler("z", -45, degrees=True).as_matrix()
    turned = R @ solid_cylinder(1.5, 0.3, 0.02, [1, 0, 0]) @ R.T
    along = solid_cylinder(1.5, 0.3, 0.02, [2.0, -2.0, 0])
    assert relative(along, turned) < 1e-14
    assert along[0, 1] == pytest.approx(0.0055, abs=5e-5)  # the door handle's prior: +, in matrix entries
    assert np.linalg.eigvalsh(along)[0] == pytest.approx(1.5 * 0.02**2 / 2, rel=1e-12)


def test_a_solid_cylinder_is_a_million_points_in_it() -> None:
    rng = np.random.default_rng(1)
    n, length, radius = 1_000_000, 0.15, 0.05
    distance, angle = radius * np.sqrt(rng.uniform(size=n)), rng.uniform(0, 2 * np.pi, n)
    r = np.column_stack([distance * np.cos(angle), distance * np.sin(angle), rng.uniform(-0.5, 0.5, n) * length])
    found = inertia_matrix(cloud_phi(np.full(n, 0.9 / n), r))
    assert relative(found, solid_cylinder(0.9, length, radius, [0, 0, 1])) < 3e-3  # 1 / sqrt(n), threefold


def test_each_inertial_parameter_has_a_name_and_the_unit_of_its_power_of_length() -> None:
    assert len(PHI_NAMES) == len(PHI_UNITS) == 10
    lengths = [parse_unit(unit).dimension for unit in PHI_UNITS]
    assert lengths == [(1, 0, 0)] + [(1, 1, 0)] * 3 + [(1, 2, 0)] * 6


@given(seeds, st.floats(-9, -5))
def test_a_flat_body_is_refused_whichever_way_it_rounds(seed: int, thickness: float) -> None:
    rng = np.random.default_rng(seed)
    masses, r = random_cloud(rng)
    plate = np.column_stack([r[:, 0], r[:, 1], 0.7 * r[:, 0] + 0.3])
    with pytest.raises(NotConsistent, match=r"the largest must be less than the sum of the others|each must be"):
        check_consistent(cloud_phi(masses, plate), "plate")
    thick = cloud_phi(masses, plate + rng.normal(size=r.shape) * [0, 0, 10**thickness])
    for factor in ("UtU", "UUt"):  # what counts as a body has a theta
        try:
            assert np.isfinite(LogCholesky(factor).inverse(thick)).all()
        except NotConsistent:
            assert thickness < -6


@given(seeds)
def test_values_of_a_drawing_are_mass_centre_and_inertia_with_the_right_derivative(seed: int) -> None:
    phi = random_phi(seed)
    assert drawing_values(phi) == pytest.approx([phi[0], *mass_properties(phi).com, *phi[4:]], rel=1e-14)
    h = 1e-6
    differences = [(drawing_values(phi + h * e) - drawing_values(phi - h * e)) / (2 * h) for e in np.eye(10)]
    assert np.abs(drawing_jacobian(phi) - np.transpose(differences)).max() < 1e-8


@given(seeds, st.booleans())
def test_the_spread_of_a_drawing_is_the_same_body_in_every_frame(seed: int, mass_known: bool) -> None:
    rng = np.random.default_rng(seed)
    phi = random_phi(seed)
    R_ab, r_ab = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    moves = np.array([move_phi(e, R_ab, r_ab) for e in np.eye(10)]).T  # moving is linear in phi
    S_b = relative_spread(phi, 0.2, mass_known=mass_known)
    S_a = relative_spread(move_phi(phi, R_ab, r_ab), 0.2, mass_known=mass_known)
    assert relative(S_a @ S_a.T, moves @ S_b @ S_b.T @ moves.T) < 1e-12
    standard_deviation = np.linalg.norm(S_b[0])
    assert standard_deviation == pytest.approx(0.0 if mass_known else 0.2 * phi[0], rel=1e-12, abs=1e-15)
