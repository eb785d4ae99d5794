"""Simulated experiments in the real file formats, with their truth."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from palpate.twin.capture import write_capture_twin
from palpate.twin.door import write_any_door_twin
from palpate.twin.handle import write_handle_twin, write_paper_twin
from palpate.twin.wheelbarrow import write_any_wheelbarrow_twin

TWINS: Mapping[str, Callable[..., Path]] = MappingProxyType(
    {
        "handle": write_handle_twin,
        "capture": write_capture_twin,
        "door": write_any_door_twin,
        "wheelbarrow": write_any_wheelbarrow_twin,
        "wheelbarrow-handle": partial(write_paper_twin, name="wheelbarrow-handle"),
        "door-handle": partial(write_paper_twin, name="door-handle"),
    }
)
"""What `palpate twin` can make: kind -> function of (folder, seed) that returns the experiment file."""
