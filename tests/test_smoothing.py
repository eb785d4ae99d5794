"""One smoother for markers and an IMU: right where both are, honest about noise, and moved by no mistake of the IMU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.capture import capture
from palpate.experiment.stage.inputs import Inputs, motion_noise, motion_of
from palpate.experiment.stage.together import felt_by
from palpate.mechanisms import Rolling
from palpate.motion import smoothing, trajectory
from palpate.motion.derivatives import coordinate_motion, design_lowpass, pose_motion
from palpate.motion.smoothing import Smoothed, fuse, smooth
from palpate.physics.motion import Poses, transport_acceleration
from palpate.twin.handle import random_hand
from palpate.twin.rolling import body_poses, planar_twin
from tests.oracles import doors_of_other_make as doors
from tests.oracles import wheelbarrows_of_other_make as barrows

Array = NDArray[np.float64]
G, AT = 9.80665, np.array([0.6, -0.05, 0.2])
TURN = Rotation.from_rotvec([0.5, -2.0, 1.0]).as_matrix()
LEAN = 0.02
PLACE = np.block([[TURN, AT[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
NOISE_Q, NOISE_A, NOISE_W = 1e-4, 0.01, 0.002


def rms(x: Array) -> float:
    return float(np.sqrt(np.nanmean(x**2)))


def angle(t: Array) -> tuple[Array, Array, Array]:
    """Of a door that is shaken, with its derivatives: up to 9 Hz."""
    parts = [(0.6, 0.3, 0.0), (0.15, 1.1, 1.0), (0.03, 2.7, 2.0), (0.004, 9.0, 0.5)]
    w = [(a, 2 * np.pi * f, p) for a, f, p in parts]
    q = sum(a * np.sin(k * t + p) for a, k, p in w)
    v = sum(a * k * np.cos(k * t + p) for a, k, p in w)
    return np.asarray(q), np.asarray(v), np.asarray(sum(-a * k * k * np.sin(k * t + p) for a, k, p in w))


def shown(t: Array) -> Array:
    """(samples, 6): an IMU on a door whose hinge leans, by hand: gravity, tangential and centripetal acceleration."""
    q, v, a = angle(t)
    up = G * np.stack([np.sin(LEAN) * np.cos(q), -np.sin(LEAN) * np.sin(q), np.cos(LEAN) + 0 * q], axis=1)
    x, y, _ = AT
    force = up + np.stack([-a * y - v * v * x, a * x - v * v * y, 0 * q], axis=1)
    return np.hstack([force @ TURN, np.stack([0 * q, 0 * q, v], axis=1) @ TURN])


def felt(q: Array, v: Array, a: Array) -> Array:
    angle, speed, acceleration = np.broadcast_arrays(q[..., 0], v[..., 0], a[..., 0])
    zero, lean, up = 0 * angle, np.sin(LEAN), np.cos(LEAN)
    force = [G * lean * np.cos(angle), -G * lean * np.sin(angle), G * up + zero]
    return np.stack([*force, zero, zero, speed, zero, zero, acceleration], axis=-1)


@dataclass(frozen=True)
class Seen:
    t: Array
    q: Array
    imu_s: Array
    imu: Array

    def smooth(self, place: Array = PLACE) -> Smoothed:
        return smooth(self.t, self.q, self.imu_s, self.imu, place, felt)


def seen(noise: float = 1.0, *, seed: int = 0, seconds: float = 40.0) -> Seen:
    rng = np.random.default_rng(seed)
    t, imu_s = np.arange(round(100 * seconds)) / 100, np.arange(round(500 * seconds)) / 500 - 0.2
    imu = shown(imu_s) + rng.normal(0, [0.05] * 3 + [0.01] * 3)
    imu += noise * rng.normal(size=imu.shape) * np.repeat([NOISE_A, NOISE_W], 3)
    return Seen(t, (angle(t)[0] + noise * NOISE_Q * rng.normal(size=len(t)))[:, None], imu_s, imu)


@cache
def usual() -> tuple[Seen, Smoothed]:
    """The first seed with its noise, smoothed once; its arrays are not to be changed."""
    c = seen()
    return c, c.smooth()


def errors(s: Smoothed, t: Array) -> list[Array]:
    m = s.motion
    return [x[:, 0] - y for x, y in zip((m.position, m.speed, m.acceleration), angle(t), strict=True)]


def test_the_spline_is_scipys() -> None:
    b = BSpline.basis_element(np.arange(7) - 3.0)
    expected = [[float(b(x, nu=d)) for x in (2, 1, 0, -1, -2)] for d in range(3)]
    assert pytest.approx(np.array(expected), abs=1e-14) == trajectory._SPLINE


def test_what_is_felt_is_linear_in_the_features_with_the_constants_of_the_place() -> None:
    rng = np.random.default_rng(1)
    k = rng.normal(size=(50, 9))
    at = transport_acceleration(k[:, :3], k[:, 3:6], k[:, 6:], AT) @ TURN
    got = smoothing._shown(k, smoothing._constants(PLACE))
    assert got == pytest.approx(np.hstack([at, k[:, 3:6] @ TURN]), abs=1e-12)


def test_without_noise_nothing_of_the_motion_is_lost() -> None:
    c = seen(0.0)
    s = c.smooth()
    known = slice(50, -50)
    for off, true in zip(errors(s, c.t), angle(c.t), strict=True):
        assert rms(off[known]) < 2e-3 * rms(true)


def test_the_stated_noise_is_that_of_the_errors_and_far_below_the_markers() -> None:
    (c, s), lowpass = usual(), design_lowpass(100.0, 15.0)
    inner = slice(100, -100)
    stated = [s.noise.position, s.noise.speed, s.noise.acceleration]
    for off, noise in zip(errors(s, c.t), stated, strict=True):
        ratio = rms(lowpass.apply(off[inner])) / rms(lowpass.apply(noise[inner, 0]))
        assert 0.7 < ratio < 1.3
    markers = coordinate_motion(c.t, c.q, window_s=0.05).acceleration[:, 0] - angle(c.t)[2]
    assert rms(errors(s, c.t)[2][inner]) < 0.02 * rms(markers[inner])
    assert s.unexplained.max() < 1e-3
    assert s.disagree < 1.1


def test_accelerations_do_not_shrink() -> None:
    another = seen(seed=1)
    for c, s in (usual(), (another, another.smooth())):
        x, y = s.motion.acceleration[100:-100, 0], angle(c.t)[2][100:-100]
        assert float(x @ y / (y @ y)) == pytest.approx(1.0, abs=5e-4)


TURNED = Rotation.from_euler("xyz", [90, 20, -120], degrees=True).as_matrix()
MISTAKES = {
    "turned": lambda x: np.hstack([x[:, :3] @ TURNED, x[:, 3:] @ TURNED]),
    "gyroscope 3 % off": lambda x: x * np.repeat([1.0, 1.03], 3),
    "accelerometer 10 % off": lambda x: x * np.repeat([1.1, 1.0], 3),
    "mirrored": lambda x: x * [1, -1, 1, 1, -1, 1],
    "one axis dead": lambda x: x * [1, 1, 1, 1, 0, 1],
    "zeros far off": lambda x: x + np.array([0.5, -0.4, 0.3, 0.1, -0.1, 0.05]),
    "2 ms late": lambda x: np.roll(x, 1, axis=0),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_imu_moves_nothing(mistake: str) -> None:
    c, right = usual()
    s = Seen(c.t, c.q, c.imu_s, np.ascontiguousarray(MISTAKES[mistake](c.imu))).smooth()
    inner = slice(100, -100)
    assert rms(errors(s, c.t)[2][inner]) < 3 * rms(errors(right, c.t)[2][inner])
    x, y = s.motion.acceleration[inner, 0], angle(c.t)[2][inner]
    assert float(x @ y / (y @ y)) == pytest.approx(1.0, abs=1e-3)
    assert s.gyro_scale == pytest.approx(1.03 if "gyro" in mistake else 1.0, abs=2e-3) or mistake == "one axis dead"


def test_an_imu_that_saw_another_motion_contradicts_or_is_refused() -> None:
    c, _ = usual()
    other = Seen(c.t, c.q, c.imu_s, np.roll(c.imu, 3000, axis=0))
    try:
        unexplained = float(other.smooth().unexplained.max())
    except DataProblem:
        unexplained = np.inf
    assert unexplained > 0.02
    with pytest.raises(DataProblem, match="saw the object together in 0 samples"):
        Seen(c.t, c.q, c.imu_s + 100, c.imu).smooth()


def test_what_either_did_not_see_is_not_known_and_the_rest_is() -> None:
    c, right = usual()
    q, imu = c.q.copy(), c.imu.copy()
    q[1000:1040], imu[10_000:10_100] = np.nan, np.nan
    s = Seen(c.t, q, c.imu_s, imu).smooth()
    known = np.isfinite(s.motion.acceleration[:, 0])
    assert not known[1000:1040].any()
    assert not known[1982:1998].any()
    inside = known.copy()
    inside[:100] = inside[-100:] = False
    assert inside.sum() > 3600
    assert rms(errors(s, c.t)[2][inside]) < 2 * rms(errors(right, c.t)[2][100:-100])


def test_constants_that_a_hinge_never_shows_change_nothing_where_they_are_solved_for_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """About one axis, 27 of the 53 columns of an IMU's constants are zero; those that are not are all solved for."""
    c = seen(seconds=12.0)
    less, of_imu = c.smooth(), smoothing._Imu.shows
    z = less.trajectory.states(less.path.coefficients)
    assert less.trajectory.shows(z).any(axis=0).sum() == 3 * 6 + 3 * 2 + 2
    monkeypatch.setattr(smoothing._Imu, "shows", lambda imu, z: np.ones_like(of_imu(imu, z)))
    everything = c.smooth()
    assert everything.trajectory.shows(z).all()
    for x, y in ((less.motion, everything.motion), (less.noise, everything.noise)):
        np.testing.assert_allclose(x.acceleration, y.acceleration, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(less.path.constants, everything.path.constants, rtol=0, atol=1e-10)


def test_knocks_count_little() -> None:
    (c, right), rng = usual(), np.random.default_rng(3)
    imu = c.imu.copy()
    for k in rng.integers(500, len(imu) - 500, 20):
        imu[k : k + 5, :3] += 5 * rng.normal(size=(5, 3))
    knocked = Seen(c.t, c.q, c.imu_s, imu).smooth()
    off, plain = (errors(s, c.t)[2][100:-100] for s in (knocked, right))
    assert np.median(np.abs(off)) < 1.5 * np.median(np.abs(plain))
    assert rms(off) < 20 * rms(plain)


def test_a_free_body_by_its_poses_and_an_imu() -> None:
    rng = np.random.default_rng(5)
    hand = random_hand(rng, 20.0, G)
    t, imu_s = 7 + np.arange(600) / 100, 6.9 + np.arange(3100) / 500
    turn = Rotation.from_rotvec(8e-4 * rng.normal(size=(600, 3))).as_matrix()
    poses = Poses(t, hand.rotation(t) @ turn, hand.coordinates(t)[0][3:].T + 1e-4 * rng.normal(size=(600, 3)))
    m = hand.motion(imu_s)
    a = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, AT) @ TURN + 0.02 * rng.normal(
        size=(3100, 3)
    )
    w = m.omega @ TURN + 0.002 * rng.normal(size=(3100, 3))
    down = (0.0, 0.0, -G)
    fused, markers = (
        fuse(poses, imu_s, a, w, PLACE, gravity=down),
        pose_motion(poses, gravity=down, window_s=0.05).motion,
    )
    true, inner = hand.motion(t), slice(50, -50)
    lowpass = design_lowpass(100.0, 15.0)
    for name, share in (("omega", 0.1), ("omega_dot", 0.1), ("specific_acceleration", 0.3)):
        both = (getattr(x, name)[inner] - getattr(true, name)[inner] for x in (fused, markers))
        off, other = (rms(lowpass.apply(np.ascontiguousarray(x.T))) for x in both)
        assert off < share * other
    assert fused.velocity is not None
    assert true.velocity is None or rms(fused.velocity[inner] - true.velocity[inner]) < 0.01


# --- what rolls -------------------------------------------------------------------------------------------------------


def test_a_barrow_of_other_make_feels_what_its_coordinates_say() -> None:
    run, *_ = barrows.simulate(0)
    pitch = np.unwrap(np.arctan2(run.R[:, 2, 1], -run.R[:, 2, 0]))
    q = np.column_stack([run.place[:, :2], run.heading, run.camber, pitch])
    splines, inner = make_interp_spline(run.t, q, k=7), slice(50, -50)
    felt = felt_by(Rolling(radius=run.barrow.radius))(q, splines(run.t, 1), splines(run.t, 2))[inner]
    # its floor slopes: gravity is not quite along z
    world = np.einsum("nij,nj->ni", run.R[inner], run.a[inner] - felt[:, :3])
    assert world == pytest.approx(np.broadcast_to(world.mean(axis=0), world.shape), abs=1e-5)
    assert np.abs(world.mean(axis=0)).max() < G * np.radians(0.12)
    assert felt[:, 3:] == pytest.approx(np.hstack([run.omega, run.omega_dot])[inner], abs=1e-5)


def test_a_barrow_of_other_make_is_seen_better_with_its_imu(tmp_path: Path) -> None:
    """Its IMU hangs for two seconds of the test segment, which is no reason to doubt the rest."""
    path, _ = barrows.write(tmp_path, 0, imu=True)
    head, *lines = (tmp_path / "imu.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    at = [i for i, row in enumerate(rows) if 32.0 <= float(row[0]) - barrows.IMU_LATE_S < 34.0]
    for i in at:
        rows[i][1:] = rows[at[0]][1:]
    (tmp_path / "imu.csv").write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")
    prepared = prepare_experiment(read_experiment(path))
    (finding,) = (f for f in prepared.findings if f.cause == "frozen")
    assert not finding.fatal
    assert finding.sentence.startswith("channel 'acceleration.x' and 5 more: repeats its last value from 32.0")
    inputs = prepared.inputs
    assert inputs.smoothed is not None
    known, hung = inputs.smoothed.known, inputs.inside([(32.02, 33.98)])
    assert not known[hung].any()
    assert known[inputs.inside([(4.5, 31.5), (34.5, 43.0)])].all()
    run, *_ = barrows.simulate(0)
    # its floor slopes
    forces = np.einsum("nij,nj->ni", run.R, run.a) - make_interp_spline(run.t, run.place, k=7)(run.t, 2)
    assert inputs.up == pytest.approx(forces.mean(axis=0)[:2] / G, abs=2e-4)
    assert inputs.smoothed is not None
    noise, lowpass = motion_noise(inputs), inputs.filtering.lowpass
    alone = replace(inputs, smoothed=None)
    inside, true = inputs.inside([barrows.TRAIN]), run.omega_dot[:: barrows.STORED]

    def off(inputs: Inputs) -> Array:
        return lowpass.apply(np.ascontiguousarray((motion_of(inputs).omega_dot - true)[inside].T)).std(axis=1)

    assert lowpass is not None
    assert (off(inputs) < 0.3 * off(alone)).all()
    # z of the body is the axle, about which it pitches
    assert noise["pitch_acceleration"] == pytest.approx(off(inputs)[2], rel=0.3)
    assert motion_noise(alone)["pitch_acceleration"] == pytest.approx(off(alone)[2], rel=0.3)


def test_what_a_guide_holds_in_the_model_is_felt_all_the_same() -> None:
    twin, t = planar_twin(1), 10 + np.arange(1500) / 100
    held, fine = Rolling(radius=twin.wheel.radius, moves="planar"), 10 + np.arange(7500) / 500
    free, rng, m = held.unguided(), np.random.default_rng(0), twin.moved(fine)
    poses, true = Poses(t, *body_poses(twin, t)), twin.course(t)[1]
    force = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, AT) @ TURN
    imu = np.hstack([force, m.omega @ TURN])
    imu += rng.normal(size=imu.shape) * np.repeat([NOISE_A, NOISE_W], 3)
    lowpass, left = design_lowpass(100.0, 5.0), dict[str, float]()
    for name, mechanism in (("free", free), ("held", held)):
        q = mechanism.coordinates_of(poses)
        s = smooth(t, q + 1e-4 * rng.normal(size=q.shape), fine, imu, PLACE, felt_by(mechanism))
        pitch = s.of([mechanism.state.index("pitch")]).motion.acceleration[:, 0]
        left[name] = rms(lowpass.apply((pitch - true[:, 3])[100:-100]))
    assert left["free"] < 0.3 * left["held"]


# --- a door of other make, with an IMU --------------------------------------------------------------------------------


def door_with_imu(
    folder: Path, seed: int, keys: str = "", *, wrong: Array | None = None
) -> tuple[Result, dict[str, float]]:
    path, truth = door_files(folder, seed, keys, wrong, wrong)
    return run_experiment(read_experiment(path)), truth


def door_files(
    folder: Path, seed: int, keys: str = "", force_as: Array | None = None, rate_as: Array | None = None
) -> tuple[Path, dict[str, float]]:
    """NumPy's door (`doors_of_other_make`) with an IMU on its sensor module; matrices on what it stores."""
    folder.mkdir()
    path, truth = doors.write(folder, seed, keys=keys)
    run, motion, *_ = doors.simulate(seed)
    rng, zero = np.random.default_rng([seed, 99]), 0 * motion.q
    r, axes = run.r_sensor + run.R_sensor @ [0.03, -0.02, 0.01], run.R_sensor @ TURN
    w, w_dot = np.stack([zero, zero, motion.v], axis=1), np.stack([zero, zero, motion.a], axis=1)
    force = np.broadcast_to(G * run.up, w.shape) + np.cross(w_dot, r) + np.cross(w, np.cross(w, r))
    imu = np.hstack([force @ axes, w @ axes]) + rng.normal(0, [0.02] * 3 + [0.002] * 3)
    imu += rng.normal(size=imu.shape) * np.repeat([0.006, 0.002], 3)
    force_as, rate_as = (np.eye(3) if x is None else x for x in (force_as, rate_as))
    imu = np.hstack([imu[:, :3] @ force_as.T, imu[:, 3:] @ rate_as.T])
    names = [f"{kind}.{axis}" for kind in ("acceleration", "angular_rate") for axis in "xyz"]
    doors._save(folder / "imu.csv", names, run.t + 0.0123, imu)
    units = ", ".join(
        f"{n}: {{column: {n}, unit: {'m/s2' if n[0] == 'a' and n[1] == 'c' else 'rad/s'}}}" for n in names
    )
    line = f"  imu: {{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{units}}}}}\n"
    path.write_text(path.read_text().replace("markers:\n", f"{line}markers:\n", 1))
    return path, truth


def half(result: Result, name: str) -> float:
    ci = result.data["parameters"][name]["ci95"]
    return float(ci[1] - ci[0]) / 2


def test_a_door_of_other_make_is_known_far_better_with_its_imu(tmp_path: Path) -> None:
    links = "uncertain: {links: 0.01 mm}\n"  # they are as stated: what instruments tell is compared
    drawing = f"imu_pose: {{{{rotation: {TURN.tolist()}, translation: {{}}}}}}\n"
    fused, truth = door_with_imu(tmp_path / "fused", 3, links + drawing.format([0.28, -0.02, 0.01]))
    right = drawing.format([0.03, -0.02, 0.01])
    plain, _ = door_with_imu(tmp_path / "plain", 3, f"{links}derivatives: {{method: local}}\n{right}")
    said = [[f for f in r.data["findings"] if f["place"] == "imu_pose"] for r in (fused, plain)]
    assert [[f["cause"] for f in of_one] for of_one in said] == [["placement"], []]
    assert "no number follows imu_pose" in said[0][0]["evidence"]
    for name, value in truth.items():
        assert abs(fused.data["parameters"][name]["value"] - value) < 1.5 * half(fused, name)
    for name in ("b_v", "b_c", "b_bc", "b_s", "b_l"):
        assert half(fused, name) < 0.5 * half(plain, name)
    assert half(fused, "I") < half(plain, "I")
    left = [r.data["rms"]["test"]["n_z"]["value"] for r in (fused, plain)]
    assert left[0] < 0.3 * left[1]
    assert fused.data["verdict"]["passed"]


def test_an_imu_that_does_not_belong_to_the_door_is_named_and_left_out(tmp_path: Path) -> None:
    result, truth = door_with_imu(tmp_path / "still", 3, wrong=np.zeros((3, 3)))
    assert any("IMU is left out, markers alone tell the motion" in x for x in result.data["warnings"])
    for name, value in truth.items():
        assert abs(result.data["parameters"][name]["value"] - value) < 1.5 * half(result, name)


@pytest.mark.parametrize(
    ("rate_as", "cause", "remedy"),
    [
        (np.eye(3), "", ""),
        (-np.eye(3), "gyro-axes", "read its x, y, z as -x, -y, -z"),
        (np.diag([1.0, 1.0, -1.0]), "gyro-axes", "read its x, y, z as x, y, -z"),
        (np.degrees(np.eye(3)), "gyro-scale", "state its unit as deg/s"),
    ],
    ids=["right", "negated", "z negated", "deg/s"],
)
def test_a_gyroscope_on_an_upright_door_that_is_read_wrongly_is_named(
    tmp_path: Path, rate_as: Array, cause: str, remedy: str
) -> None:
    """They were told as a door that leans, a vertical upside down and an IMU that is not fixed."""
    path, _ = door_files(tmp_path / "door", 3, rate_as=rate_as)
    captured = capture(read_experiment(path))
    assert [(f.cause, f.remedy) for f in captured.findings] == ([(cause, remedy)] if cause else [])
    assert (captured.placement is None) == bool(cause)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_elimination_in_a_band_is_that_of_the_whole_matrix(n: int) -> None:
    rng, samples, lags = np.random.default_rng(n), 30, 5
    blocks = 0.1 * rng.normal(size=(lags, samples, n, n))
    blocks[0] = blocks[0] + blocks[0].swapaxes(1, 2) + 5 * n * np.eye(n)
    whole = np.zeros((samples, n, samples, n))
    for lag in range(lags):
        blocks[lag, samples - lag :] *= lag == 0
        for u in range(samples - lag):
            whole[u + lag, :, u], whole[u, :, u + lag] = blocks[lag, u], blocks[lag, u].T
    matrix, right = whole.reshape(samples * n, -1), rng.normal(size=(samples * n, 3))
    factor = trajectory._Factor(blocks)  # pyright: ignore[reportPrivateUsage]
    half = factor.forward(right.T.copy())
    np.testing.assert_allclose(half @ half.T, right.T @ np.linalg.solve(matrix, right), rtol=1e-12)
    np.testing.assert_allclose(factor.backward(half).T, np.linalg.solve(matrix, right), rtol=1e-10, atol=1e-14)


def test_an_imu_drawn_with_other_axes_is_named_and_moves_no_number(tmp_path: Path) -> None:
    """It is no failure of an object that markers show, and it must not silence itself."""
    path, truth = barrows.write(tmp_path, 2, imu=True)
    text, turned = path.read_text(), (TURN @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).tolist()
    path.write_text(f"{text}\nimu_pose: {{rotation: {turned}, translation: [0.03, -0.02, 0.01]}}\n")
    result = run_experiment(read_experiment(path))
    assert result.passed
    said = [f["evidence"] for f in result.data["findings"] if f["place"] == "imu_pose"]
    assert len(said) >= 1
    assert "no number follows imu_pose" in said[0]
    assert (
        sum(
            abs(result.data["parameters"][n]["value"] - v) < 1.5 * half(result, n)
            for n, v in truth.items()
            if n in result.data["parameters"] and result.data["parameters"][n]["ci95"]
        )
        >= 11
    )


@pytest.mark.parametrize("place", [(0, 3, 0, 0), (2, 20, 0, 0)], ids=["diagonal", "beside"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_band_that_is_not_finite_is_refused(place: tuple[int, ...], wrong: float) -> None:
    blocks = np.zeros((5, 30, 1, 1))
    blocks[0] = 5.0
    blocks[place] = wrong
    with pytest.raises(DataProblem, match="seen by no instrument"):
        trajectory._Factor(blocks)  # pyright: ignore[reportPrivateUsage]
