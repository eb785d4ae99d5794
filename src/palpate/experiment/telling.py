"""How a stage tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
"""Called with the name of each step as it begins."""
