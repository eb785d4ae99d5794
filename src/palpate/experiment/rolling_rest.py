"""Rows of a rolling object that friction of its wheel does not enter: what can be said where the wheel may rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from palpate.mechanisms import Rolling
from palpate.mechanisms.mechanism import Mechanism, Row
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.physics.motion import Motion

_NAMES = ("n_x", "n_y", "n_z", "f_x")


@dataclass(frozen=True, slots=True)
class AtRest(Mechanism):
    """`Rolling` with its rows combined so that a couple along the axle on the wheel drops out.

    The couple tau enters n_y with cos c, n_z with sin c and f_x with 1 / (R cos c), c the camber (mechanisms/rolling).
    So n_y - R cos^2 c f_x (about the moment about the axle) and n_z - tan c n_y are free of it, n_x is anyway, and of
    f_x nothing is left. At rest tau is whatever friction allows: these rows hold all the same. Of two wheels each has
    its own couple and a lever arm about the vertical: nothing is left of n_z either.
    """

    rolling: Rolling = field(default_factory=Rolling)

    @property
    def rows(self) -> tuple[Row, ...]:
        """As of the moving object, so that both stack."""
        return self.rolling.rows

    @property
    def coordinates(self) -> Mapping[str, str]:
        """As of the moving object."""
        return self.rolling.coordinates

    @property
    def constant_projection(self) -> bool:
        """As of the moving object: it is not."""
        return False

    @property
    def state(self) -> tuple[str, ...]:
        """As of the moving object."""
        return self.rolling.state

    @property
    def accelerations(self) -> tuple[str, ...]:
        """As of the moving object."""
        return self.rolling.accelerations

    def observe(self, motion: Motion) -> Kinematics:
        """As of the moving object, with ratios of the combined rows."""
        return self.turned(self.rolling.observe(motion))

    def turned(self, k: Kinematics) -> Kinematics:
        """Kinematics of the moving object with ratios of the combined rows."""
        own = {name: replace(c, ratio=tuple(self._combined(k, c.ratio))) for name, c in k.coordinates.items()}
        return replace(k, coordinates=own)

    def expand(
        self, state: Sequence[Scalar], acc: Sequence[Scalar], z: Mapping[str, Scalar], fn: Functions
    ) -> Kinematics:
        """As of the moving object, with ratios of the combined rows."""
        return self.turned(self.rolling.expand(state, acc, z, fn))

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The rows of the moving object, combined."""
        return self._combined(k, self.rolling.project(k, wrench, fn))

    def _combined(self, k: Kinematics, rows: Sequence[Scalar]) -> Sequence[Scalar]:
        """No row may be missing here but n_x and n_z: what holds the camber holds it at zero."""
        names = [row.name for row in self.rolling.rows]
        full: dict[str, Scalar] = dict.fromkeys(_NAMES, 0.0) | dict(zip(names, rows, strict=True))
        wheel = self._wheel(k)
        cos, sin, ahead = wheel["n_y"], wheel["n_z"], wheel["f_x"]
        found = {
            "n_x": full["n_x"],
            "n_y": full["n_y"] - cos / ahead * full["f_x"],
            "n_z": 0.0 * full["n_z"] if self.rolling.track > 0 else full["n_z"] - sin / cos * full["n_y"],
            "f_x": 0.0 * full["f_x"],
        }
        return [found[name] for name in names]

    def _wheel(self, k: Kinematics) -> dict[str, Scalar]:
        """What a couple along the axle does to each row: cos c, sin c, 1 / (R cos c), from the camber alone."""
        from palpate.physics.functions import ARRAYS

        camber = k.coordinates["camber"].position
        cos, sin = ARRAYS.cos(camber), ARRAYS.sin(camber)
        return {"n_y": cos, "n_z": sin, "f_x": 1 / (self.rolling.radius * cos)}
