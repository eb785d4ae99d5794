"""Simulated experiments in the real file formats, with their truth."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from palpate.twin.authors import write_authors_twin
from palpate.twin.door import write_any_door_twin
from palpate.twin.handle import write_capture_twin, write_handle_twin, write_paper_twin
from palpate.twin.wheelbarrow import write_any_wheelbarrow_twin, write_hand_truck_twin, write_planar_twin

TWINS: Mapping[str, Callable[..., Path]] = MappingProxyType(
    {
        "handle": write_handle_twin,
        "capture": write_capture_twin,
        "door": write_any_door_twin,
        "wheelbarrow": write_any_wheelbarrow_twin,
        "wheelbarrow-planar": write_planar_twin,
        "hand-truck": write_hand_truck_twin,
        "wheelbarrow-handle": partial(write_paper_twin, name="wheelbarrow-handle"),
        "door-handle": partial(write_paper_twin, name="door-handle"),
        "authors": write_authors_twin,
    }
)
"""What `palpate twin` can make: kind -> function of (folder, seed); returns the experiment file, or a folder."""
