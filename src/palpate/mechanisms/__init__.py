"""Mechanisms: how a body may move; one file per kind of constraint."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.mechanisms.free import Free as Free
from palpate.mechanisms.mechanism import Mechanism as Mechanism
from palpate.mechanisms.mechanism import Row as Row

MECHANISMS: Mapping[str, type[Any]] = MappingProxyType({Free.type: Free})
"""The mechanism types that an object file may name."""
