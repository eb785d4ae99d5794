"""Mechanisms: how a body may move; one file per kind of constraint."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palpate.mechanisms.ball import Ball as Ball
from palpate.mechanisms.check import check_mechanism as check_mechanism
from palpate.mechanisms.four_bar import FourBar as FourBar
from palpate.mechanisms.free import Free as Free
from palpate.mechanisms.hinge import Hinge as Hinge
from palpate.mechanisms.linkage import Linkage as Linkage
from palpate.mechanisms.linkage import check_linkage as check_linkage
from palpate.mechanisms.mechanism import Joint as Joint
from palpate.mechanisms.mechanism import Mechanism as Mechanism
from palpate.mechanisms.mechanism import Row as Row
from palpate.mechanisms.mechanism import Wheel as Wheel
from palpate.mechanisms.planar import Planar as Planar
from palpate.mechanisms.ratio_table import RatioTable as RatioTable
from palpate.mechanisms.rolling import Rolling as Rolling
from palpate.mechanisms.screw import Screw as Screw
from palpate.mechanisms.series import SeriesHinge as SeriesHinge
from palpate.mechanisms.series import SeriesSlide as SeriesSlide
from palpate.mechanisms.slide import Slide as Slide
from palpate.mechanisms.track_arm import TrackArm as TrackArm
from palpate.mechanisms.two_points import TwoPoints as TwoPoints
from palpate.mechanisms.universal import Universal as Universal

MECHANISMS: Mapping[str, type[Any]] = MappingProxyType(
    {m.type: m for m in (Free, Hinge, Slide, Screw, SeriesHinge, SeriesSlide, Universal, Ball, Rolling, Planar)}
)
"""The mechanism types that an object file may name."""
LINKAGES: Mapping[str, type[Any]] = MappingProxyType(
    {link.type: link for link in (FourBar, TrackArm, TwoPoints, RatioTable)}
)
"""The types that a mechanism's option `linkage` may name."""
