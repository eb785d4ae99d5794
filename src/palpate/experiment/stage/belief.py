"""What is believed before the data are asked: a drawing, a scale, fixed numbers, of the part that the model is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import HandleWeightPart
from palpate.experiment.stage.inputs import Belief
from palpate.findings import Finding
from palpate.identify import Prior
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    PHI_NAMES,
    check_consistent,
    move_phi,
    phi_from_mass_properties,
    solid_box,
    solid_cylinder,
)

LIGHTEST_KG = 1.0
"""Of what is left of a whole without its handles."""


@dataclass(frozen=True, slots=True, eq=False)
class Handles:
    """The handle behind each sensor, as the body's balance needs them."""

    phis: tuple[FloatArray | None, ...] = (None,)
    """(10,) in the sensor's frame; None: not known."""
    results: tuple[Any, ...] = ()
    """Of their own stages, where those were run."""
    findings: tuple[Finding, ...] = ()

    @property
    def known(self) -> bool:
        """Whether what each weighs is known."""
        return all(phi is not None for phi in self.phis)

    @property
    def mass(self) -> float | None:
        """Of all together, kg; None: not known."""
        return float(sum(phi[0] for phi in self.phis if phi is not None)) if self.known else None


def belief_of(
    experiment: Experiment[Any], model: Model, handles: Handles | None = None, sensors: Sequence[FloatArray] = ()
) -> Belief:
    """The file's prior, mass and fixed values in the identification's terms; sensors: T_body_sensor of each."""
    config, handles = experiment.config, handles or Handles()
    prior = prior_of(experiment)
    if prior is not None:
        prior = _prior_of_part(experiment, prior, handles, sensors)
    mass, fixed = _mass(experiment, handles), dict(config.fixed)
    scalar = model.mass_parameter
    if mass is not None and scalar is not None:  # a mass that is a parameter by itself
        return Belief(prior, config.factor, None, {**fixed, scalar: mass})
    return Belief(prior, config.factor, mass, fixed)


def prior_of(experiment: Experiment[Any]) -> Prior | None:
    """The experiment file's prior in the identification's terms."""
    part = experiment.config.prior
    if part is None:
        return None
    if part.shape is None:
        inertia = np.array(part.inertia_com, dtype=float)
    elif part.shape.type == "cylinder":
        inertia = solid_cylinder(part.mass, part.shape.length, part.shape.radius, part.shape.axis)
    else:
        inertia = solid_box(part.mass, part.shape.sides)
    phi = phi_from_mass_properties(part.mass, part.com, inertia)
    try:
        check_consistent(phi, "the prior is not a possible body")
    except PalpateError as error:
        raise experiment.problem("prior", str(error)) from error
    damping = None if part.damping == "auto" else float(part.damping)
    form = part.form or ("divergence" if damping is None else "theta")
    return Prior(dict(zip(PHI_NAMES, phi.tolist(), strict=True)), part.spread, damping, form)


def _prior_of_part(experiment: Experiment[Any], prior: Prior, handles: Handles, frames: Sequence[FloatArray]) -> Prior:
    """What the drawing shows -> the part that the model describes, with the handles behind the sensors."""
    config, of = experiment.config, experiment.config.prior.of
    if of in (None, config.model_of) or not frames:
        return prior
    if config.model_of == "weight-only":
        wrong = f"model_of: weight-only is neither the body nor the whole, a prior of the {of} does not fit it"
        raise experiment.problem("prior.of", wrong, "leave it out, or choose another model_of")
    weights = any(isinstance(h, HandleWeightPart) for h in (config.handle, config.handle_2))
    if not handles.known or weights:
        wrong = f"a prior of the {of} cannot be turned into one of the {config.model_of} without the handles' inertia"
        raise experiment.problem("prior.of", wrong, "give handle as a file, or the other numbers")
    sign = 1.0 if config.model_of == "whole" else -1.0
    pairs = zip(handles.phis, frames, strict=False)
    phi = np.array([prior.values[name] for name in PHI_NAMES])
    phi = phi + sign * sum(move_phi(h, T[:3, :3], T[:3, 3]) for h, T in pairs if h is not None)
    try:
        check_consistent(
            phi, f"the prior of the {of}, turned into one of the {config.model_of}, is not a possible body"
        )
    except PalpateError as error:
        raise experiment.problem("prior", str(error)) from error
    return replace(prior, values=dict(zip(PHI_NAMES, phi.tolist(), strict=True)))


def _mass(experiment: Experiment[Any], handles: Handles) -> float | None:
    """What was on the scale -> the part that the model describes, with the handles' masses."""
    part = experiment.config.known_mass
    if part is None or part.of == "handle":
        return None if part is None else part.value
    ours = "body" if experiment.config.model_of == "body" else "whole"
    if part.of == ours:
        return part.value
    if handles.mass is None:
        wrong = f"{part.value:g} kg of the {part.of} cannot be turned into that of the {ours} without the handles"
        raise experiment.problem("known_mass", wrong, "give handle, or weigh the other")
    mass = part.value + (handles.mass if ours == "whole" else -handles.mass)
    if mass < LIGHTEST_KG:
        wrong = f"{part.value:g} kg of the whole less {handles.mass:.3g} kg of handles leave {mass:.3g} kg"
        raise experiment.problem("known_mass", wrong)
    return mass
