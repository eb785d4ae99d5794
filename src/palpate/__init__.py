"""palpate: measure how a real object feels and give that feel to a robot."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palpate.elements import check_element as check_element
    from palpate.errors import PalpateError as PalpateError
    from palpate.experiment import read_experiment as read_experiment
    from palpate.experiment import run_experiment as run_experiment
    from palpate.identify import Prior as Prior
    from palpate.identify import build_balance as build_balance
    from palpate.identify import compress as compress
    from palpate.identify import merge as merge
    from palpate.identify import solve as solve
    from palpate.model import Model as Model
    from palpate.model import load_object as load_object
    from palpate.motion import estimate_offset as estimate_offset
    from palpate.motion import imu_motion as imu_motion
    from palpate.recording import load as load

# Public name -> where it lives. Imported on first use, so that `palpate --help` does not wait for SciPy.
_PUBLIC = {
    "PalpateError": "palpate.errors",
    "check_element": "palpate.elements",
    "read_experiment": "palpate.experiment",
    "run_experiment": "palpate.experiment",
    "Prior": "palpate.identify",
    "build_balance": "palpate.identify",
    "compress": "palpate.identify",
    "merge": "palpate.identify",
    "solve": "palpate.identify",
    "Model": "palpate.model",
    "load_object": "palpate.model",
    "estimate_offset": "palpate.motion",
    "imu_motion": "palpate.motion",
    "load": "palpate.recording",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'palpate' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
