"""Load on the wheel, and what of its dry friction follows the load: rolling resistance as a split of b_c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from palpate.elements import Coulomb, Element, Parameter
from palpate.errors import PalpateError
from palpate.experiment.rolling_fit import RollingFit, solve_as
from palpate.files import finite
from palpate.identify import build_balance
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Coordinate, Kinematics

LOAD = "load"


@dataclass(frozen=True, slots=True)
class LoadFriction(Element):
    """tau = mu_r R (F_N - mean) sign(speed): with it, b_c is the friction under the mean load, and stays what it is."""

    name: str = "mu_r"
    acts_on: str = "wheel"
    radius: float = 1.0
    mean: float = 0.0
    type: ClassVar[str] = "load-friction"
    dry: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The part of the load that is friction."""
        return (Parameter("mu_r", "1", "free"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The load beyond its mean, with the sign of the wheel's speed."""
        del z
        return (self.radius * (k.coordinates[LOAD].position - self.mean) * fn.sign(k.coordinates[self.acts_on].speed),)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As it is."""
        return [[f[0]]]


def load_on_wheel(fit: RollingFit) -> FloatArray:
    """(samples,): the normal force F_N at the contact, N, from the balance of forces along the vertical."""
    inputs, k = fit.inputs, fit.balance.kinematics
    a, w, b = (np.stack([np.asarray(x) for x in v], axis=1) for v in (k.specific_acceleration, k.omega, k.omega_dot))
    phi = fit.solution.p[:10]
    mc = np.broadcast_to(phi[1:4], a.shape)
    force = phi[0] * a + np.cross(b, mc) + np.cross(w, np.cross(w, mc)) - fit.balance.wrench[:, :3]
    motion = inputs.motion()
    assert motion.poses is not None
    return np.asarray(np.einsum("ni,ni->n", motion.poses.rotation[:, 2, :], force), dtype=float)


def resistance(fit: RollingFit) -> dict[str, Any] | None:
    """The load on the wheel, b_c as rolling resistance alone, and mu_r as far as friction follows the load.

    None where no single dry element acts on the wheel. mu_r is a split of b_c, never an addition: of b_c under the
    mean load, mu_r R F_N is rolling resistance and the rest is not (paper, Wheelbarrow).
    """
    elements = [e for e in fit.inputs.model.elements if e.acts_on == "wheel" and e.dry]
    inside = fit.inside(fit.segments)
    if len(elements) != 1 or not isinstance(elements[0], Coulomb) or not inside.any():
        return None
    load, radius = load_on_wheel(fit), fit.inputs.rolling.radius
    mean, spread = float(np.mean(load[inside])), float(np.std(load[inside]))
    b = fit.solution[elements[0].name]
    found: dict[str, Any] = {
        "element": elements[0].name,
        "mean_load_N": mean,
        "load_std_N": spread,
        "mu_r_at_most": b.value / (radius * mean) if mean > 0 else None,
        "mu_r": None,
        "ci95": None,
    }
    try:
        e = _following(fit, load, mean)
    except PalpateError:
        return found
    return found | {"mu_r": finite(e.value), "ci95": None if e.ci95 is None else list(e.ci95)}


def _following(fit: RollingFit, load: FloatArray, mean: float) -> Any:
    """mu_r, fitted along with everything else."""
    inputs, balance = fit.inputs, fit.balance
    extra = LoadFriction(radius=inputs.rolling.radius, mean=mean)
    model = replace(inputs.model, elements=(*inputs.model.elements, extra), values={})
    own = replace(inputs, model=model)
    at = Coordinate(np.where(np.isfinite(load), load, mean), 0.0, 0.0, (0.0,) * len(model.mechanism.rows))
    k = balance.kinematics
    built = build_balance(model, inputs.motion(), balance.wrench, sigma=inputs.sigma, used=balance.used)
    built = replace(built, kinematics=replace(k, coordinates={**k.coordinates, LOAD: at}))
    train = replace(own.compressed(fit.segments, built), weights=fit.train.weights)
    return solve_as(fit, train)["mu_r"]
