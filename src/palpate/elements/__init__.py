"""Elements: one file per physical effect, one interface, one conformance test."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.elements.check import check_element as check_element
from palpate.elements.element import SENSOR as SENSOR
from palpate.elements.element import WRENCH as WRENCH
from palpate.elements.element import Element as Element
from palpate.elements.element import Parameter as Parameter
from palpate.elements.element import Shape as Shape
from palpate.elements.rigid_body import RigidBody as RigidBody
from palpate.elements.sensor_bias import SensorBias as SensorBias

ELEMENTS: Mapping[str, type[Any]] = MappingProxyType({RigidBody.type: RigidBody, SensorBias.type: SensorBias})
"""The element types that an object file may name."""
