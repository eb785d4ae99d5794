"""What an experiment file says beforehand, in the identification's terms: prior, masses, fixed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import HandleWeightPart
from palpate.experiment.file.sensors import listed
from palpate.experiment.stage.inputs import Belief
from palpate.findings import Finding
from palpate.identify import Prior
from palpate.model import Model
from palpate.physics import inertia
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES

LIGHTEST_KG = 1.0
"""Of what is left of a whole without its handles."""


@dataclass(frozen=True, slots=True, eq=False)
class Handles:
    """The handle behind each sensor, as the body's balance needs them."""

    phis: tuple[FloatArray | None, ...] = (None,)
    """(10,) in the sensor's frame; None: not known."""
    results: tuple[Any, ...] = ()
    """Of their identification, where that was run."""
    findings: tuple[Finding, ...] = ()

    def each(self, sensors: int) -> tuple[FloatArray | None, ...]:
        """Of so many sensors: one may stand for all."""
        return self.phis * sensors if len(self.phis) == 1 else self.phis

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
    mass, scalar = _mass(experiment, handles), model.mass_parameter
    if mass is not None and scalar is not None:  # a mass that is a parameter by itself
        return Belief(prior, config.factor, None, {**config.fixed, scalar: mass})
    return Belief(prior, config.factor, mass, dict(config.fixed))


def prior_of(experiment: Experiment[Any]) -> Prior | None:
    """The experiment file's prior in the identification's terms."""
    part = experiment.config.prior
    if part is None:
        return None
    if part.shape is None:
        about_com = np.array(part.inertia_com, dtype=float)
    elif part.shape.type == "cylinder":
        about_com = inertia.solid_cylinder(part.mass, part.shape.length, part.shape.radius, part.shape.axis)
    else:
        about_com = inertia.solid_box(part.mass, part.shape.sides)
    phi = inertia.phi_from_mass_properties(part.mass, part.com, about_com)
    with experiment.at("prior"):
        inertia.check_consistent(phi, "the prior is not a possible body")
    damping = None if part.damping == "auto" else float(part.damping)
    form = part.form or ("divergence" if damping is None else "theta")
    return Prior(dict(zip(PHI_NAMES, phi.tolist(), strict=True)), part.spread, damping, form)


def _prior_of_part(experiment: Experiment[Any], prior: Prior, handles: Handles, frames: Sequence[FloatArray]) -> Prior:
    """The prior with what it shows besides the part that the model describes: the handles behind the sensors."""
    config, of = experiment.config, experiment.config.prior.of
    if of in (None, config.model_of) or not frames:
        return prior
    if config.model_of == "weight-only":
        wrong = f"model_of: weight-only is neither the body nor the whole, so a prior of the {of} does not fit"
        raise experiment.problem("prior.of", wrong, "leave it out, or choose another model_of")
    weights = any(isinstance(h, HandleWeightPart) for _, h in listed(config, "handle"))
    if not handles.known or weights:
        wrong = f"a prior of the {of} cannot be turned into one of the {config.model_of} without the handles' inertia"
        raise experiment.problem("prior.of", wrong, "give handle as a file, or the other numbers")
    pairs = [(h, T) for h, T in zip(handles.phis, frames, strict=False) if h is not None]
    phi = np.sum([inertia.move_phi(h, T[:3, :3], T[:3, 3]) for h, T in pairs], axis=0)
    if of == "whole" and prior.values["m"] <= phi[0]:
        wrong = f"the handles weigh {phi[0]:.3g} kg, the whole with them only {prior.values['m']:.3g} kg"
        raise experiment.problem("prior.mass", wrong, "check both, or write of: body if the handles are not in it")
    phi = phi if of == "whole" else -phi
    return replace(prior, besides=dict(zip(PHI_NAMES, phi.tolist(), strict=True)))


def _mass(experiment: Experiment[Any], handles: Handles) -> float | None:
    """What was on the scale -> the part that the model describes, with the handles' masses."""
    part = experiment.config.known_mass
    ours = "body" if experiment.config.model_of == "body" else "whole"
    if part is None or part.of in ("handle", ours):
        return None if part is None else part.value
    if handles.mass is None:
        wrong = f"{part.value:g} kg of the {part.of} cannot be turned into that of the {ours} without the handles"
        raise experiment.problem("known_mass", wrong, "give handle, or weigh the other")
    mass = part.value + (handles.mass if ours == "whole" else -handles.mass)
    if mass < LIGHTEST_KG:
        wrong = f"{part.value:g} kg of the whole less {handles.mass:.3g} kg of handles leave {mass:.3g} kg"
        raise experiment.problem("known_mass", wrong)
    return mass
