"""Elements: one class per physical effect, one interface, one conformance test."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.elements.body import Gravity as Gravity
from palpate.elements.body import RigidBody as RigidBody
from palpate.elements.body import ScalarInertia as ScalarInertia
from palpate.elements.body import SensorBias as SensorBias
from palpate.elements.body import WheelSpin as WheelSpin
from palpate.elements.catch import Detent as Detent
from palpate.elements.catch import Latch as Latch
from palpate.elements.catch import Magnet as Magnet
from palpate.elements.check import check_element as check_element
from palpate.elements.contact import EndStop as EndStop
from palpate.elements.contact import Foot as Foot
from palpate.elements.contact import FootFriction as FootFriction
from palpate.elements.element import SENSOR as SENSOR
from palpate.elements.element import WRENCH as WRENCH
from palpate.elements.element import Element as Element
from palpate.elements.element import Parameter as Parameter
from palpate.elements.element import Shape as Shape
from palpate.elements.element import Stop as Stop
from palpate.elements.friction import Coulomb as Coulomb
from palpate.elements.friction import Drag as Drag
from palpate.elements.friction import Stribeck as Stribeck
from palpate.elements.friction import Viscous as Viscous
from palpate.elements.friction import ZoneDamper as ZoneDamper
from palpate.elements.load import LoadedFriction as LoadedFriction
from palpate.elements.presliding import Presliding as Presliding
from palpate.elements.spring import Hysteresis as Hysteresis
from palpate.elements.spring import PolynomialSpring as PolynomialSpring
from palpate.elements.spring import SmoothTable as SmoothTable
from palpate.elements.spring import Stiffness as Stiffness
from palpate.elements.spring import Table as Table
from palpate.elements.strut import GasStrut as GasStrut
from palpate.elements.tyre import TyreSlip as TyreSlip

ELEMENTS: Mapping[str, type[Any]] = MappingProxyType(
    {
        e.type: e
        for e in (
            *(RigidBody, SensorBias, ScalarInertia, Gravity, PolynomialSpring, Stiffness, Table, SmoothTable),
            *(GasStrut, Magnet, Latch, Detent, EndStop),
            *(Viscous, Coulomb, Stribeck, LoadedFriction, Drag, Hysteresis, Presliding, ZoneDamper),
            *(WheelSpin, TyreSlip, Foot, FootFriction),
        )
    }
)
"""The element types that an object file may name."""
