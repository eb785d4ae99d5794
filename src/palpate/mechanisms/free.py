"""Free motion: a body that nothing constrains, such as a handle moved on its sensor. All six rows are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.mechanisms.mechanism import WRENCH_ROWS, Row
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics, Triple
from palpate.physics.motion import Motion
from palpate.physics.units import STANDARD_GRAVITY


@dataclass(frozen=True, slots=True)
class Free:
    """State: position (world, m), quaternion w x y z, velocity (world, m/s), omega (body, rad/s), as MuJoCo's free
    joint.

    Accelerations: of the origin (world, m/s2), omega_dot (body, rad/s2). World z points up.
    """

    gravity: float = STANDARD_GRAVITY
    type: ClassVar[str] = "free"
    rows: ClassVar[tuple[Row, ...]] = WRENCH_ROWS
    coordinates: ClassVar[Mapping[str, str]] = {}
    constant_projection: ClassVar[bool] = True
    state: ClassVar[tuple[str, ...]] = (
        *("x", "y", "z", "q_w", "q_x", "q_y", "q_z"),
        *("v_x", "v_y", "v_z", "w_x", "w_y", "w_z"),
    )
    accelerations: ClassVar[tuple[str, ...]] = ("a_x", "a_y", "a_z", "w_dot_x", "w_dot_y", "w_dot_z")

    def observe(self, motion: Motion) -> Kinematics:
        """The measured motion as it is."""
        return Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)

    def expand(
        self, state: Sequence[Scalar], acc: Sequence[Scalar], z: Mapping[str, Scalar], fn: Functions
    ) -> Kinematics:
        """a - g turned into the body: R' (a + g e_z), with R of the unit quaternion (e.g. Diebel 2006, eq. 125)."""
        del z, fn
        felt = _into_body(state[3:7], (acc[0], acc[1], acc[2] + self.gravity))
        return Kinematics(felt, (state[10], state[11], state[12]), (acc[3], acc[4], acc[5]))

    def row_speeds(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The velocity turned into the body, and omega: what force and moment in the body frame work on."""
        del fn
        return (*_into_body(state[3:7], (state[7], state[8], state[9])), *state[10:13])

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[tuple[Triple, Triple, Triple], Triple]:
        """Rows of R_world_body, of the unit quaternion (e.g. Diebel 2006, eq. 125), and the place of the origin, m."""
        del fn
        w, x, y, z = state[3:7]
        return (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        ), (state[0], state[1], state[2])

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """All six rows as they are."""
        del k, fn
        return wrench


def _into_body(quaternion: Sequence[Scalar], v: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """R' v, with R of a unit quaternion (w, x, y, z)."""
    w, x, y, q = quaternion
    a, b, c = v
    return (
        (1 - 2 * (y * y + q * q)) * a + 2 * (x * y + w * q) * b + 2 * (x * q - w * y) * c,
        2 * (x * y - w * q) * a + (1 - 2 * (x * x + q * q)) * b + 2 * (y * q + w * x) * c,
        2 * (x * q + w * y) * a + 2 * (y * q - w * x) * b + (1 - 2 * (x * x + y * y)) * c,
    )
