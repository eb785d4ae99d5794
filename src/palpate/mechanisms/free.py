"""Free motion: a body that nothing constrains, such as a handle moved on its sensor. All six rows are free."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palpate.errors import DataProblem
from palpate.mechanisms.mechanism import WRENCH_ROWS, Joint, Matrix, Mechanism, Row, into_body
from palpate.physics import motion as rigid
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar


@dataclass(frozen=True, slots=True)
class Free(Mechanism):
    """State as MuJoCo's free joint: position (world, m), quaternion wxyz, velocity (world, m/s), omega (body, rad/s).

    Accelerations: of the origin (world, m/s2), omega_dot (body, rad/s2). World z points up.
    """

    type: ClassVar[str] = "free"
    frame: ClassVar[str] = (
        "sensor frame of the load cell, or the one that the file declares for a body; inertias are matrix entries "
        "about its origin"
    )
    origin: ClassVar[str] = "the sensor frame"
    z_up: ClassVar[bool] = True
    rows: ClassVar[tuple[Row, ...]] = WRENCH_ROWS
    coordinates: ClassVar[Mapping[str, str]] = {}
    state: ClassVar[tuple[str, ...]] = (
        *("x", "y", "z", "q_w", "q_x", "q_y", "q_z"),
        *("v_x", "v_y", "v_z", "w_x", "w_y", "w_z"),
    )
    accelerations: ClassVar[tuple[str, ...]] = ("a_x", "a_y", "a_z", "w_dot_x", "w_dot_y", "w_dot_z")
    units: ClassVar[tuple[str, ...]] = (
        *(*["m"] * 3, *["1"] * 4),
        *(*["m/s"] * 3, *["rad/s"] * 3, *["m/s2"] * 3, *["rad/s2"] * 3),
    )
    advice: ClassVar[Mapping[str, str]] = {
        "m": "lift and shake it along every axis",
        **{f"c_{axis}": f"tilt its {axis} axis out of the vertical" for axis in "xyz"},
        **{f"I{axis}{axis}": f"turn it back and forth faster about {axis}" for axis in "xyz"},
        **{f"I{a}{b}": f"turn it faster about {a} and about {b}" for a, b in ("xy", "xz", "yz")},
    }
    joints: ClassVar[tuple[Joint, ...]] = (Joint("free", "free", (0.0, 0.0, 0.0), 0),)

    def observe(self, motion: rigid.Motion) -> rigid.Kinematics:
        """The measured motion as it is."""
        return rigid.Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> rigid.Kinematics:
        """a - g turned into the body: R' (a + g e_z), with R of the unit quaternion (e.g. Diebel 2006, eq. 125)."""
        felt = into_body(rotation_rows(state[3:7]), (acc[0], acc[1], acc[2] + self.gravity))
        return rigid.Kinematics(felt, (state[10], state[11], state[12]), (acc[3], acc[4], acc[5]))

    def project(self, k: rigid.Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """All six rows as they are."""
        return wrench

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, rigid.Triple]:
        """Rows of R_world_body, of the unit quaternion (e.g. Diebel 2006, eq. 125), and the place of the origin, m."""
        return rotation_rows(state[3:7]), (state[0], state[1], state[2])

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> rigid.Triple:
        """The velocity turned into the body."""
        return into_body(rotation_rows(state[3:7]), (state[7], state[8], state[9]))

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """Velocity, and q' = q omega / 2 (Diebel 2006, 6.5)."""
        return (*state[7:10], *turning(state[3:7], state[10:13]))

    def row_speeds(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The velocity turned into the body, and omega: what force and moment in the body frame work on."""
        return (*self.velocity(state, fn), *state[10:13])

    def coordinates_of(self, poses: rigid.Poses) -> FloatArray:
        """Place and quaternion, whose sign does not jump."""
        turns, known = np.full((len(poses), 4), np.nan), poses.seen
        turns[known] = rigid.continuous_quaternions(rigid.quaternion_from_rotation(poses.rotation[known]))
        return np.hstack([np.where(known[:, None], poses.position, np.nan), turns])

    def speeds_of(self, q: FloatArray, q_dot: FloatArray) -> FloatArray:
        """Velocity, and omega = 2 q* q'."""
        return _world_and_body(q, q_dot)

    def accelerations_of(self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """Acceleration, and omega_dot = 2 q* q'', whose other part q'* q' turns nothing."""
        return _world_and_body(q, q_ddot)

    def states(self, motion: rigid.Motion) -> FloatArray:
        """Poses, the velocity in the world, and omega."""
        if motion.poses is None or motion.velocity is None:
            raise DataProblem("free", "the motion has no poses or no velocity", remedy="build it from markers")
        v = np.einsum("nij,nj->ni", motion.poses.rotation, motion.velocity)
        return np.hstack([self.coordinates_of(motion.poses), v, motion.omega])


def rotation_rows(quaternion: Sequence[Scalar]) -> Matrix:
    """R of a unit quaternion w x y z (e.g. Diebel 2006, eq. 125)."""
    w, x, y, z = quaternion
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def turning(quaternion: Sequence[Scalar], omega: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """q' = q omega / 2, omega in the body (rad/s; Diebel 2006, 6.5)."""
    w, x, y, z = quaternion
    a, b, c = (0.5 * s for s in omega)
    return (-x * a - y * b - z * c, w * a - z * b + y * c, z * a + w * b - x * c, -y * a + x * b + w * c)


def conjugate(q: FloatArray) -> FloatArray:
    """w -x -y -z: the inverse of a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _world_and_body(q: FloatArray, slope: FloatArray) -> FloatArray:
    """Derivatives of place and quaternion (..., 7) -> of the place, and twice the vector of q* q' (..., 6)."""
    turn = 2 * rigid.quaternion_product(conjugate(q[..., 3:]), slope[..., 3:])[..., 1:]
    return np.concatenate([np.broadcast_to(slope[..., :3], turn.shape), turn], axis=-1)
