"""Simulated experiments in the real file formats, with their truth."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from palpate.twin.authors import write_any, write_authors_twin, write_paper_handle
from palpate.twin.handle import write_capture_twin, write_handle_twin
from palpate.twin.wheelbarrow import hand_truck_twin, planar_twin, write_made

TWINS: Mapping[str, Callable[..., Path]] = MappingProxyType(
    {
        "handle": write_handle_twin,
        "capture": write_capture_twin,
        "door": partial(write_any, name="door"),
        "wheelbarrow": partial(write_any, name="wheelbarrow"),
        "wheelbarrow-planar": partial(write_made, make=planar_twin),
        "hand-truck": partial(write_made, make=hand_truck_twin),
        "wheelbarrow-handle": partial(write_paper_handle, name="wheelbarrow-handle"),
        "door-handle": partial(write_paper_handle, name="door-handle"),
        "authors": write_authors_twin,
    }
)
"""What `palpate twin` can make: kind -> function of (folder, seed); returns the experiment file, or a folder."""
