"""Where a robot's tool is, by the positions of its joints and its URDF. Needs the extra `pinocchio`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import UnknownName
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses
from palpate.recording.formats import library, refusing_damage


class Arm:
    """The chain of joints from the base of a URDF to one of its frames."""

    def __init__(self, urdf: Path, frame: str) -> None:
        """Read it; a frame is a link or a joint. Refused where the file has no such frame."""
        self._pin: Any = library("pinocchio", "reading a URDF")
        with refusing_damage(urdf, "this is no URDF that Pinocchio can read", "export it again"):
            self._model: Any = self._pin.buildModelFromUrdf(str(urdf))
        if not self._model.existFrame(frame):
            raise UnknownName("frame", frame, [f.name for f in self._model.frames], where=str(urdf))
        self._frame: int = self._model.getFrameId(frame)

    @property
    def joints(self) -> dict[str, str]:
        """Those that move the frame, from the base on: name -> "rad" or "m"."""
        chain = list(self._model.supports[self._model.frames[self._frame].parentJoint])[1:]
        kinds = {self._model.names[i]: self._model.joints[i].shortname().removeprefix("JointModel") for i in chain}
        return {
            name: "m" if kind.startswith("P") else "rad" for name, kind in kinds.items()
        }  # PX, Prismatic..., RX, ...

    def poses(self, times_s: FloatArray, positions: Mapping[str, FloatArray]) -> Poses:
        """T_base_frame at each time, by positions (samples,) of its joints, rad and m; NaN where one is not known.

        Forward kinematics by Pinocchio (Carpentier et al. 2019), sample by sample.
        """
        model, n = self._model, len(times_s)
        data, q = model.createData(), self._pin.neutral(model)
        places = [(model.joints[i].idx_q, model.joints[i].nq, positions[name]) for name, i in self._indices().items()]
        seen = np.all([np.isfinite(x) for *_, x in places], axis=0)
        R, r = np.full((n, 3, 3), np.nan), np.full((n, 3), np.nan)
        for k in np.flatnonzero(seen).tolist():
            for at, size, x in places:
                # a continuous joint is its cosine and sine
                q[at : at + size] = x[k] if size == 1 else (np.cos(x[k]), np.sin(x[k]))
            self._pin.forwardKinematics(model, data, q)
            T = self._pin.updateFramePlacement(model, data, self._frame)
            R[k], r[k] = T.rotation, T.translation
        return Poses(times_s, R, r)

    def _indices(self) -> dict[str, int]:
        return {name: self._model.getJointId(name) for name in self.joints}
