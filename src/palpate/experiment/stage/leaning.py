"""The weight of an object that leans, where the model has none."""

from __future__ import annotations

import numpy as np

from palpate.elements import Gravity
from palpate.experiment.stage.fit import Fit
from palpate.identify.balance import filled
from palpate.model import Model
from palpate.physics.functions import ARRAYS

VERTICAL_RAD = np.radians(0.5)
"""The vertical of a room with cameras is not known better."""
NEAREST_M = 0.2
"""No handle is nearer to its hinge."""


def leaning_part(fit: Fit) -> dict[str, float]:
    """By how much numbers are off because the weight of an object that leans is not in the model; empty: it is.

    Of its mass times place nothing is known but that of a plate, 3/2 of its inertia over its width, which is about as
    far from the hinge as the sensor; along a slide the inertia is the mass.
    """
    inputs, k = fit.inputs, fit.balance.kinematics.at(fit.prediction.at[fit.prediction.inside(fit.plan.segments)])
    inertia = [n for e in inputs.model.elements if e.inertial for n in inputs.model.names_of(e)]
    weighs = any(e.weighs for e in inputs.model.elements)
    known = inputs.main is not None and inputs.mechanism.weighed is not None
    if not known or weighs or len(inertia) != 1 or inputs.mechanism.leaning < VERTICAL_RAD:
        return {}
    weight = Gravity(acts_on=str(inputs.mechanism.main))
    part = Model("weight", inputs.mechanism, (weight,))
    size, arm = fit.solution[inertia[0]].value, float(np.linalg.norm(inputs.sensors[0].T_body_sensor[:2, 3]))
    size *= 1.0 if len(part.parameters) == 1 else 1.5 / max(arm, NEAREST_M)
    X = fit.rows()
    columns = size * filled(part.columns(k, ARRAYS), len(X))
    moves, *_ = np.linalg.lstsq(X[:, 0, :-1], columns[:, 0].T, rcond=None)
    return dict(zip((e.name for e in fit.solution.estimates), np.linalg.norm(moves, axis=1).tolist(), strict=True))
