"""What a rolling object's result tells beyond its parameters: the load on its wheel, what of friction follows the load,
and the feet that it can stand on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from palpate.elements import Foot, FootFriction, Parameter
from palpate.elements.element import Element
from palpate.errors import PalpateError
from palpate.experiment.stage.fit import Fit, solve_with
from palpate.experiment.stage.inputs import compressed
from palpate.files import finite
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics

LOAD, WHEEL = "load", "wheel"
GIVES_M = 1e-3
"""How far a foot gives way under half of the object's weight: steel or rubber on a hard floor, and the floor."""
LOSES = 10.0
"""s/m, damping over stiffness: at 0.1 m/s a foot pushes twice as hard on the way down as on the way up."""
MU = 0.6
"""Friction of a foot on the ground: steel or rubber on concrete, 0.4 to 0.8."""


@dataclass(frozen=True, slots=True)
class LoadFriction(Element):
    """tau = mu_r R (F_N - mean) sign(speed): with it, b_c is the friction under the mean load, and stays what it is."""

    name: str = "mu_r"
    acts_on: str = WHEEL
    radius: float = 0.0
    mean: float = 0.0
    type: ClassVar[str] = "load-friction"
    dry: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """A coefficient of rolling resistance."""
        return (Parameter("mu_r", "1", "free"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The load beyond its mean, with the sign of the wheel's speed."""
        del z
        return (self.radius * (k.coordinates[LOAD].position - self.mean) * fn.sign(k.coordinates[self.acts_on].speed),)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As it is."""
        return [[f[0]]]


def load_on_wheel(fit: Fit) -> FloatArray:
    """(samples,): the normal force F_N at the contact, N, from the balance of forces along the vertical."""
    k = fit.balance.kinematics
    a, w, b = (np.stack([np.asarray(x) for x in v], axis=1) for v in (k.specific_acceleration, k.omega, k.omega_dot))
    phi = fit.p[:10]
    mc = np.broadcast_to(phi[1:4], a.shape)
    force = phi[0] * a + np.cross(b, mc) + np.cross(w, np.cross(w, mc)) - fit.balance.wrench[:, :3]
    assert fit.moved.motion.poses is not None
    return np.asarray(np.einsum("ni,ni->n", fit.moved.motion.poses.rotation[:, 2, :], force), dtype=float)


def resistance(fit: Fit) -> dict[str, Any] | None:
    """The load on the wheel, b_c as rolling resistance alone, and mu_r as far as friction follows the load.

    None where no single element of constant dry friction acts on the wheel. mu_r is a split of b_c, never an addition:
    of b_c under the mean load, mu_r R F_N is rolling resistance and the rest is not (paper, Wheelbarrow).
    """
    wheel = fit.inputs.mechanism.wheel
    dry = [e for e in fit.inputs.model.elements if e.acts_on == WHEEL and e.dry]
    at = fit.prediction.at[fit.prediction.inside(fit.plan.segments)]
    if wheel is None or len(dry) != 1 or dry[0].constant != "friction" or not len(at):
        return None
    load = load_on_wheel(fit)
    mean, spread = float(np.mean(load[at])), float(np.std(load[at]))
    entry: dict[str, Any] = {
        "element": dry[0].name,
        "mean_load_N": mean,
        "load_std_N": spread,
        "mu_r_at_most": fit.solution[dry[0].name].value / (wheel.radius * mean) if mean > 0 else None,
        "mu_r": None,
        "ci95": None,
    }
    extra = LoadFriction(radius=wheel.radius, mean=mean)
    model = replace(fit.inputs.model, elements=(*fit.inputs.model.elements, extra), values={})
    coordinate = Coordinate(np.where(np.isfinite(load), load, mean), 0.0, 0.0, (0.0,) * len(model.mechanism.rows))
    k = fit.balance.kinematics
    lift = np.tile(np.eye(len(model.parameters) + 1), (len(model.mechanism.rows), 1, 1))
    with_load = replace(k, coordinates={**k.coordinates, LOAD: coordinate})
    balance = replace(fit.balance, model=model, kinematics=with_load, lift=lift)
    try:
        inputs = fit.inputs.with_model(model)
        train = compressed(inputs, fit.moved, fit.plan.segments, balance)
        e = solve_with(inputs, replace(train, weights=fit.train.weights), damping=fit.solution.damping)["mu_r"]
    except PalpateError:
        return entry
    return entry | {"mu_r": finite(e.value), "ci95": None if e.ci95 is None else list(e.ci95)}


def with_feet(model: Model, points: Sequence[Sequence[float]]) -> tuple[Model, dict[str, float]]:
    """A model with values that can stand on these points (m, in its frame), and the numbers that were assumed for it.

    Feet that the object or experiment file has already stay as they are. Of objects that do not roll: as it is.
    """
    mass = next((v for n, v in model.values.items() if n.rpartition(".")[2] == "m"), None)
    wheel = model.mechanism.wheel
    if wheel is None or mass is None:
        return model, {}
    feet = wheel.feet or tuple((float(x), float(y), float(z)) for x, y, z in points)
    mechanism = model.mechanism.with_feet(feet)
    stiffness = mass * mechanism.gravity / (2 * GIVES_M)
    present = {e.acts_on: e for e in model.elements}
    elements: list[Element] = []
    values: list[float] = []
    for i in range(1, len(feet) + 1):
        foot = present.get(f"foot_{i}")
        k = stiffness if foot is None else model.values[model.names_of(foot)[0]]
        if foot is None:
            elements.append(Foot(f"foot_{i}", f"foot_{i}"))
            values += [k, LOSES * k]
        for way in ("ahead",) if wheel.moves == "planar" else ("ahead", "aside"):
            if f"foot_{i}_{way}" not in present:
                elements.append(FootFriction(f"mu_{i}_{way}", f"foot_{i}_{way}", k))
                values.append(MU)
    standing = replace(model, mechanism=mechanism, elements=(*model.elements, *elements), values={})
    names = list(standing.parameters)[len(model.p) :]
    return standing.with_values([*model.p, *values]), dict(zip(names, values, strict=True))
