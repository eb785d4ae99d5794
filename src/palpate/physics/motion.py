"""Rigid motion: vectors and wrenches between frames, rotations, poses, and how a body moved.

`R_ab`, `r_ab`: frame b seen from a, so that p_a = R_ab p_b + r_ab. Wrenches are [force; moment]. A rotation vector is
axis times angle, rad. All functions broadcast over leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import factorial
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Scalar


def skew(u: ArrayLike) -> FloatArray:
    """S(u) with S(u) v = u x v (paper, below eq. A). (..., 3) -> (..., 3, 3)."""
    u = np.asarray(u, dtype=float)
    S = np.zeros((*u.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = u[..., 2], -u[..., 1], u[..., 0]
    return S


def wrench_transmission(R_ab: ArrayLike, r_ab: ArrayLike) -> FloatArray:
    """W_ab with w_a = W_ab w_b (paper, eq. wrench_transmission). r_ab in m, expressed in a. -> (..., 6, 6)."""
    R = np.asarray(R_ab, dtype=float)
    W = np.zeros((*np.broadcast_shapes(R.shape[:-2], np.shape(r_ab)[:-1]), 6, 6))
    W[..., :3, :3] = R
    W[..., 3:, 3:] = R
    W[..., 3:, :3] = skew(r_ab) @ R
    return W


def transport_acceleration(a: FloatArray, omega: FloatArray, omega_dot: FloatArray, r: ArrayLike) -> FloatArray:
    """Acceleration of the point at r (m, from where `a` holds) of the same rigid body, m/s2. All in one frame.

    a + omega_dot x r + omega x (omega x r), e.g. Siciliano & Khatib, Handbook of Robotics, 2.2. It holds for
    specific force (acceleration minus gravity) as well, because gravity is the same at both points.
    """
    r = np.asarray(r, dtype=float)
    along, square = (omega @ r)[..., None], np.einsum("...i,...i->...", omega, omega)[..., None]
    moved = omega_dot @ skew(r)  # omega_dot x r
    moved += a
    moved += along * omega
    moved -= square * r
    return moved


def transform(R_ab: ArrayLike, r_ab: ArrayLike) -> FloatArray:
    """T_ab (4 x 4) of a rotation and a translation in m."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R_ab, r_ab
    return T


def nearest_rotation(R: ArrayLike, *, what: str = "rotation", tolerance: float = 1e-2) -> FloatArray:
    """The rotation nearest to a rounded matrix (3 x 3), refusing what is none.

    A drawing's four digits leave R'R off unity by 1e-4, which would scale every force; a matrix further than
    `tolerance` from any rotation, or a left-handed one, is a mistake and not a rounding.
    """
    given = np.asarray(R, dtype=float)
    U, _, Vt = np.linalg.svd(given)
    if np.linalg.det(given) < 0:
        raise PalpateError(f"{what}: the matrix is left-handed (determinant {np.linalg.det(given):+.3f}, must be +1)")
    nearest = U @ Vt
    off = float(np.abs(nearest - given).max())
    if off > tolerance:
        raise PalpateError(
            f"{what}: the matrix is not a rotation; the nearest one differs by {off:.3g} "
            f"in an entry (at most {tolerance:g} passes as rounding)"
        )
    return nearest


def minimum_jerk(u: FloatArray) -> FloatArray:
    """0 to 1 for u from 0 to 1, with two derivatives zero at both ends: a person's stroke (Flash and Hogan 1985)."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10 - 15 * u + 6 * u * u)


_TERMS = 10
"""Of the power series, which serve where the square of the angle is below one: the next is below 1e-20."""


def exp_rotation(phi: ArrayLike) -> FloatArray:
    """R of a rotation vector: I + a S + b S S (Rodrigues). (..., 3) -> (..., 3, 3)."""
    phi = np.asarray(phi, dtype=float)
    a, b, _ = _coefficients((phi**2).sum(axis=-1))
    S = skew(phi)
    return np.eye(3) + a[..., None, None] * S + b[..., None, None] * (S @ S)


def log_rotation(R: ArrayLike) -> FloatArray:
    """The shortest rotation vector of R, at most pi long. (..., 3, 3) -> (..., 3).

    By R - R', which holds the sine, and the trace; beyond 120 deg, where the sine loses digits, through the quaternion.
    NaN stays NaN.
    """
    m = np.asarray(R, dtype=float)
    sines = np.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], axis=-1)
    sines *= 0.5
    sine, cosine = np.sqrt((sines**2).sum(axis=-1)), (m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2] - 1) / 2
    vector = sines * np.where(sine > 0, np.arctan2(sine, cosine) / np.where(sine > 0, sine, 1.0), 1.0)[..., None]
    far = cosine < -0.5
    if far.any():
        vector[far] = log_quaternion(quaternion_from_rotation(m[far]))
    return vector


def body_rates(phi: FloatArray, phi_dot: FloatArray, phi_ddot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """omega (rad/s) and omega_dot (rad/s2) in the frame R_0 exp(phi(t)), from the vector and its derivatives (..., 3).

    omega = J_r phi_dot and omega_dot = J_r phi_ddot + (d J_r / dt) phi_dot, exact at any angle (Chirikjian 2012,
    Stochastic Models 2, 10.86; Sola et al. 2018, arXiv 1812.01537, eq. 143).
    """
    square = (phi**2).sum(axis=-1)
    a, b, c = _coefficients(square)
    near, safe = square < 1, np.where(square < 1, 1.0, square)
    # (db/dx) / x and (dc/dx) / x of the coefficients b and c
    b_slope = np.where(near, 2 * _series(square, 2, 1), (a - 2 * b) / safe)
    c_slope = np.where(near, 2 * _series(square, 3, 1), (b - 3 * c) / safe)
    along = (phi * phi_dot).sum(axis=-1)
    u, u_dot = np.cross(phi, phi_dot), np.cross(phi, phi_ddot)
    twice = np.cross(phi, u)
    omega = phi_dot - b[..., None] * u + c[..., None] * twice
    omega_dot = phi_ddot - b[..., None] * u_dot + c[..., None] * (np.cross(phi, u_dot) + np.cross(phi_dot, u))
    return omega, omega_dot - (b_slope * along)[..., None] * u + (c_slope * along)[..., None] * twice


def quaternion_from_rotation(R: ArrayLike) -> FloatArray:
    """Unit quaternions w x y z with w >= 0. (..., 3, 3) -> (..., 4).

    Divides by the largest of the four components (Shepperd 1978, J. Guidance and Control 1:223).
    """
    m = np.asarray(R, dtype=float)
    x, y, z = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # four times q q', whose largest diagonal entry picks the column that is q up to its length
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., 0, 0], outer[..., 1, 1] = 1 + x + y + z, 1 + x - y - z
    outer[..., 2, 2], outer[..., 3, 3] = 1 - x + y - z, 1 - x - y + z
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        outer[..., 0, i] = outer[..., i, 0] = m[..., k, j] - m[..., j, k]
        outer[..., j + 1, k + 1] = outer[..., k + 1, j + 1] = m[..., k, j] + m[..., j, k]
    largest = np.einsum("...ii->...i", outer).argmax(axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return q * np.where(q[..., :1] < 0, -1.0, 1.0)


def rotation_from_quaternion(q: ArrayLike) -> FloatArray:
    """R of quaternions w x y z of any length but zero. (..., 4) -> (..., 3, 3)."""
    given = np.asarray(q, dtype=float)
    unit = given / np.linalg.norm(given, axis=-1, keepdims=True)
    S = skew(unit[..., 1:])
    return np.eye(3) + 2 * unit[..., :1, None] * S + 2 * (S @ S)


def log_quaternion(q: FloatArray) -> FloatArray:
    """Rotation vectors of unit quaternions w x y z. (..., 4) -> (..., 3)."""
    q = q * np.where(q[..., :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(q[..., 1:], axis=-1)
    small = sine < 1e-8
    factor = np.where(small, 2.0, 2 * np.arctan2(sine, q[..., 0]) / np.where(small, 1.0, sine))
    return factor[..., None] * q[..., 1:]


def quaternion_product(p: FloatArray, q: FloatArray) -> FloatArray:
    """p q, w x y z: of unit quaternions, the rotation p after the rotation q. (..., 4)."""
    scalar = p[..., :1] * q[..., :1] - (p[..., 1:] * q[..., 1:]).sum(axis=-1, keepdims=True)
    vector = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def continuous_quaternions(q: FloatArray) -> FloatArray:
    """The same rotations (samples, 4) with signs chosen so that neighbours are near each other."""
    flips = np.where((q[1:] * q[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(flips)])[:, None]


def _coefficients(square: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """sin x / x, (1 - cos x) / x^2, (x - sin x) / x^3 of x^2."""
    x = np.sqrt(square)
    a = np.sinc(x / np.pi)
    b = 0.5 * np.sinc(x / (2 * np.pi)) ** 2
    c = np.where(square < 1, _series(square, 3, 0), (1 - a) / np.where(square < 1, 1.0, square))
    return a, b, c


def _series(square: FloatArray, first: int, derivative: int) -> FloatArray:
    """Sum of (-s)^n / (2 n + first)!, or its derivative with respect to s."""
    terms = [(-1.0) ** n / factorial(2 * n + first) for n in range(_TERMS)]
    if derivative:
        terms = [n * term for n, term in enumerate(terms)][1:]
    total = np.zeros_like(square)
    for term in reversed(terms):
        total = total * square + term
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Poses:
    """T_world_frame at each time; NaN where the frame was not seen."""

    times_s: FloatArray
    """(samples,) s, increasing."""
    rotation: FloatArray
    """R_world_frame, (samples, 3, 3)."""
    position: FloatArray
    """Origin of the frame in the world, (samples, 3), m."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        n = len(self.times_s)
        for name, shape in (("rotation", (n, 3, 3)), ("position", (n, 3))):
            array: FloatArray = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} has shape {array.shape}, with {n} times it must be {shape}")

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.times_s)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(samples,) whether the pose is known there."""
        parts = (np.isfinite(x).reshape(len(self), -1).T for x in (self.position, self.rotation))
        return np.logical_and.reduce([entry for part in parts for entry in part])  # quicker than over a short axis

    def at(self, index: NDArray[np.int64]) -> Poses:
        """Some of them."""
        return Poses(self.times_s[index], self.rotation[index], self.position[index])

    def attached(self, T_frame_other: FloatArray) -> Poses:
        """Poses of another frame that is fixed to this one: T_world_other = T_world_frame T_frame_other."""
        R, r = T_frame_other[:3, :3], T_frame_other[:3, 3]
        rows = self.rotation.reshape(-1, 3)  # one product, not one for each pose
        return Poses(self.times_s, (rows @ R).reshape(-1, 3, 3), self.position + (rows @ r).reshape(-1, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """How a rigid body's frame moved, expressed in that frame, sample by sample on the reference clock.

    >>> import numpy as np
    >>> from palpate.mechanisms import Hinge
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> motion = Hinge().motion(t, np.stack([0.5 * t**2, t], axis=1), np.ones((101, 1)))
    >>> motion.rate_hz, motion.omega[-1].tolist()
    (100.0, [0.0, 0.0, 1.0])

    Arrays are (samples, 3) in column-major order: elements read one component at a time.
    """

    times_s: FloatArray
    """(samples,) s, increasing."""
    specific_acceleration: FloatArray
    """a - g of the origin, m/s2: R_world_body' (a_world - g_world), what an accelerometer there reads."""
    omega: FloatArray
    """rad/s."""
    omega_dot: FloatArray
    """rad/s2."""
    poses: Poses | None = None
    """T_world_body on the same clock, where it is known; an IMU alone does not tell it."""
    velocity: FloatArray | None = None
    """Of the origin, m/s, where it is known."""
    positions: FloatArray | None = None
    """(samples, positions) of the state that a mechanism made it of; the poses say the same."""
    slope: FloatArray = field(default_factory=lambda: np.zeros(2))
    """(2,): components of up along x and y of the poses' world where that is a floor and slopes."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        n = self.times_s.shape[0]
        for name in ("specific_acceleration", "omega", "omega_dot", "velocity"):
            array: FloatArray | None = getattr(self, name)
            if array is None:
                continue
            if array.shape != (n, 3):
                raise ValueError(f"{name} has shape {array.shape}, with {n} times it must be ({n}, 3)")
            object.__setattr__(self, name, np.asfortranarray(array, dtype=float))
        if self.poses is not None and not np.array_equal(self.poses.times_s, self.times_s):
            raise ValueError("poses and motion must have the same times")

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return float((len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0]))

    def at(self, index: NDArray[np.int64]) -> Motion:
        """The same at some of the samples."""
        velocity, positions = (None if x is None else x[index] for x in (self.velocity, self.positions))
        return replace(
            self,
            times_s=self.times_s[index],
            specific_acceleration=self.specific_acceleration[index],
            omega=self.omega[index],
            omega_dot=self.omega_dot[index],
            poses=None if self.poses is None else self.poses.at(index),
            velocity=velocity,
            positions=positions,
        )

    def on_slope(self, slope: FloatArray, gravity: float) -> Motion:
        """The same motion along a floor as it is felt on one that slopes otherwise; gravity: m/s2.

        Without poses nobody knows which way a floor slopes: it stays as it is.
        """
        if self.poses is None or np.array_equal(slope, self.slope):
            return self
        more = gravity * np.einsum("nji,j->ni", self.poses.rotation[:, :2], slope - self.slope)
        return replace(self, specific_acceleration=self.specific_acceleration + more, slope=slope)


Triple = tuple[Scalar, Scalar, Scalar]


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One scalar coordinate of a mechanism (a hinge angle, a pinion angle, a wheel's roll).

    `ratio` holds, for each free row of the mechanism, the virtual-work factor by which a force along this coordinate
    enters that row (d coordinate / d row coordinate: 1 for the hinge itself, nu for the pinion of a closer).
    """

    position: Scalar
    speed: Scalar
    acceleration: Scalar
    ratio: tuple[Scalar, ...] = (1.0,)
    side: Scalar | None = None
    """The sign of the speed as a recording holds it, which was low-passed; None: it changes at once."""


@dataclass(frozen=True, slots=True)
class Load:
    """What presses on the guide of a coordinate: bearings of a hinge, rails of a drawer, the ground under a wheel."""

    across: tuple[Scalar, ...]
    """Forces of the hand across the coordinate's free direction, which the guide has to bear, N ..."""
    axes: tuple[Triple, ...]
    """... and these directions in axes of the body, along which its own weight and inertia add to them."""
    along: Scalar
    """Of the hand along the coordinate, N or N m."""
    side: Scalar | None = None
    """The sign of `along`, where that is predicted with noise and its sign is measured."""


@dataclass(frozen=True, slots=True)
class Kinematics:
    """What elements may look at, at one instant: motion of the body frame, expressed in it, and coordinates by name.

    Identification fills it from measured motion, the runtime from a state; the entries are `Scalar`s, so that one
    element serves both.

    `specific_acceleration` is a - g, what an accelerometer at the origin reads, in m/s2; `omega` rad/s, `omega_dot`
    rad/s2.
    """

    specific_acceleration: Triple
    omega: Triple
    omega_dot: Triple
    coordinates: Mapping[str, Coordinate] = field(default_factory=lambda: MappingProxyType({}))
    loads: Mapping[str, Load] = field(default_factory=lambda: MappingProxyType({}))
    """By coordinate, where an element asks for it (`Element.uses_load`): of the wrench that acts at that instant."""
    memory: Mapping[str, tuple[Scalar, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By the name of an element, what it remembers of the way here (`Element.memory`)."""

    def at(self, index: slice[int, int] | NDArray[np.int64]) -> Kinematics:
        """The same at some of the samples; what is one number for all of them stays."""

        def take(x: Scalar) -> Scalar:
            if isinstance(x, tuple):
                return tuple(take(part) for part in cast("tuple[Scalar, ...]", x))
            return cast("FloatArray", x)[index] if isinstance(x, np.ndarray) else x

        coordinates = {
            name: Coordinate(*(take(part) for part in (c.position, c.speed, c.acceleration, c.ratio, c.side)))
            for name, c in self.coordinates.items()
        }
        a, w, b = (take(t) for t in (self.specific_acceleration, self.omega, self.omega_dot))
        loads = {
            name: Load(*(take(part) for part in (x.across, x.axes, x.along, x.side))) for name, x in self.loads.items()
        }
        memory = {name: take(numbers) for name, numbers in self.memory.items()}
        return Kinematics(a, w, b, coordinates, loads, memory)

    @classmethod
    def from_arrays(cls, specific_acceleration: FloatArray, omega: FloatArray, omega_dot: FloatArray) -> Kinematics:
        """Of arrays (..., 3); the entries are views."""
        a, w, b = ((x[..., 0], x[..., 1], x[..., 2]) for x in (specific_acceleration, omega, omega_dot))
        return cls(a, w, b)
