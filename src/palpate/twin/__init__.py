"""Simulated experiments in the real file formats, with their truth."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from palpate.twin.authors import write_any, write_authors_twin, write_paper_handle
from palpate.twin.carried import bodies, write_carried_twin
from palpate.twin.guided import makes, write_guided_twin
from palpate.twin.handle import write_capture_twin, write_handle_twin

TWINS: Mapping[str, Callable[..., Path]] = MappingProxyType(
    {
        "handle": write_handle_twin,
        "capture": write_capture_twin,
        **{name: partial(write_any, name=name) for name in ("door", "wheelbarrow", "wheelbarrow-planar", "hand-truck")},
        **{name: partial(write_paper_handle, name=name) for name in ("wheelbarrow-handle", "door-handle")},
        **{name: partial(write_guided_twin, name=name) for name in makes()},
        **{name: partial(write_carried_twin, name=name) for name in bodies()},
        "authors": write_authors_twin,
    }
)
"""What `palpate twin` can make: kind -> function of (folder, seed); returns the experiment file, or a folder."""
