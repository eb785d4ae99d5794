"""Models with values of every object that ships, for the tests of exports to other programs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import Coulomb, PolynomialSpring, Table, Viscous, WheelSpin
from palpate.export import export_model
from palpate.export.common import Export
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.physics.maps import LogCholesky
from palpate.twin.door import paper_door
from palpate.twin.rolling import paper_barrow

BARROW = paper_barrow()


def _written(model: Model, out: Path, *, to: str, **options: Any) -> Export:
    return export_model(model, to, out, even_if_failed=True, **options)


export_c, export_fmu, export_js, export_mjcf, export_urdf, export_ros2_control = (
    partial(_written, to=to) for to in ("c", "fmu", "js", "mjcf", "urdf", "ros2-control")
)


def wide_phi(seed: int) -> np.ndarray:
    """Any body: 1 g to 1 t, 1 mm to 1 m, ten times longer than wide, its centre of mass off the origin."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=10) * [1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
    theta[0] += rng.uniform(-3.5, 3.5) / 2
    theta[1:4] += rng.uniform(-3.0, 0.0)
    return LogCholesky().forward(theta)


def handle(phi: np.ndarray | None = None) -> Model:
    phi = wide_phi(3) if phi is None else phi
    return load_object("handle").with_values([*phi, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], model_of="body")


def pendulum() -> Model:
    return load_object("pendulum").with_values([0.21, 0.31, 0.012, 0.02, 0.03], model_of="body")


def cabinet_door() -> Model:
    hold = [3.1, 2.8, 2.5, 2.0, 1.4, 0.9, 0.6, 0.3, 0.2, 0.1, 0.05, -0.1, 0.0]
    return load_object("cabinet-door").with_values([0.2, 0.3, *hold], model_of="body")


def wheelbarrow() -> Model:
    return load_object("wheelbarrow").with_values(BARROW.p, model_of="body")


def planar(*, spin: bool = False) -> Model:
    model = load_object("wheelbarrow-planar")
    values = BARROW.p[:-1].tolist()
    if spin:
        model = replace(model, elements=(*model.elements, WheelSpin()))
        values.append(0.07)
    return model.with_values(values, model_of="body")


def hand_truck() -> Model:
    return load_object("hand-truck").with_values([*BARROW.p[:10], 0.4, 0.5, 0.6, 2.0], model_of="body")


def sprung_lid() -> Model:
    """All that a joint of MuJoCo can say exactly: inertia, weight, a cubic spring, a table, two kinds of friction."""
    lid = Model(
        "lid",
        Hinge(inclination=1.1, direction=0.4),
        (
            *pendulum().elements[:2],
            PolynomialSpring("spring", order=3, reference=0.2),
            PolynomialSpring("preload", order=0),
            Table("hold", knots=(-0.5, 0.1, 0.4, 1.2)),
            Viscous("b_v"),
            Coulomb("b_c"),
        ),
    )
    return lid.with_values([0.4, 0.5, -0.1, 1.0, -2.0, 0.3, -0.7, 0.6, 0.5, 1.5, 1.0, -0.3, 0.3, 0.2], model_of="body")


SHIPPED = {
    "handle": handle,
    "door": paper_door,
    "pendulum": pendulum,
    "cabinet-door": cabinet_door,
    "wheelbarrow": wheelbarrow,
    "wheelbarrow-planar": planar,
    "hand-truck": hand_truck,
}
