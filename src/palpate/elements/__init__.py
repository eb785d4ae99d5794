"""Elements: one file per physical effect, one interface, one conformance test."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.elements.check import check_element as check_element
from palpate.elements.coulomb import Coulomb as Coulomb
from palpate.elements.element import SENSOR as SENSOR
from palpate.elements.element import WRENCH as WRENCH
from palpate.elements.element import Element as Element
from palpate.elements.element import Parameter as Parameter
from palpate.elements.element import Shape as Shape
from palpate.elements.element import Stop as Stop
from palpate.elements.end_stop import EndStop as EndStop
from palpate.elements.foot import Foot as Foot
from palpate.elements.foot import FootFriction as FootFriction
from palpate.elements.gravity import Gravity as Gravity
from palpate.elements.hysteresis import Hysteresis as Hysteresis
from palpate.elements.rigid_body import RigidBody as RigidBody
from palpate.elements.scalar_inertia import ScalarInertia as ScalarInertia
from palpate.elements.sensor_bias import SensorBias as SensorBias
from palpate.elements.spring import PolynomialSpring as PolynomialSpring
from palpate.elements.stribeck import Stribeck as Stribeck
from palpate.elements.table import Table as Table
from palpate.elements.viscous import Viscous as Viscous
from palpate.elements.wheel_spin import WheelSpin as WheelSpin
from palpate.elements.zone_damper import ZoneDamper as ZoneDamper

ELEMENTS: Mapping[str, type[Any]] = MappingProxyType(
    {
        e.type: e
        for e in (
            *(RigidBody, SensorBias, ScalarInertia, Gravity, PolynomialSpring, Table, EndStop),
            *(Viscous, Coulomb, Stribeck, Hysteresis, ZoneDamper),
            *(WheelSpin, Foot, FootFriction),
        )
    }
)
"""The element types that an object file may name."""
