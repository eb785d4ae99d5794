"""Free motion: a body that nothing constrains, such as a handle moved on its sensor. All six rows are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.mechanisms.mechanism import WRENCH_ROWS, Row
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics
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
        w, x, y, q = state[3:7]  # q: the quaternion's z
        ax, ay, az = acc[0], acc[1], acc[2] + self.gravity
        return Kinematics(
            (
                (1 - 2 * (y * y + q * q)) * ax + 2 * (x * y + w * q) * ay + 2 * (x * q - w * y) * az,
                2 * (x * y - w * q) * ax + (1 - 2 * (x * x + q * q)) * ay + 2 * (y * q + w * x) * az,
                2 * (x * q + w * y) * ax + 2 * (y * q - w * x) * ay + (1 - 2 * (x * x + y * y)) * az,
            ),
            (state[10], state[11], state[12]),
            (acc[3], acc[4], acc[5]),
        )

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """All six rows as they are."""
        del k, fn
        return wrench
