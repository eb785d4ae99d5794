"""What all tests share: seeds, visible skips, and where the recordings of real objects are.

A skip says what is missing and the line that installs it. With PALPATE_REQUIRE_ALL=1 (continuous integration) a skip
is a failure, except that of a test marked `real` where the recordings are really absent.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from palpate.files import replacing

if TYPE_CHECKING:
    from palpate.experiment import Result
    from palpate.experiment.stage.prepare import Prepared

REAL = Path(__file__).resolve().parents[2] / "shared" / "real"
"""Recordings beside the project; they are not part of it."""

PACKAGES = {"cc": "gcc", "chromium": "chromium"}
"""Programs that tests run, and the Debian packages that bring them."""

LONGEST = (
    *("reproduce", "studies", "gates", "readme", "motion_stage", "cli", "experiment", "report", "public_names"),
    *("false_alarms", "lack_of_fit", "twin_related", "validation", "body_bad_data", "body_contradicted"),
)
"""Modules of tests that take ten seconds or more: first, so that no process waits for another one's in the end."""

settings.register_profile("seeded", derandomize=True, deadline=None, database=None)
settings.load_profile("seeded")


def needs(module: str, extra: str) -> Any:
    """The module of an optional library, or a skip that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        return pytest.skip(f"{module} is not installed: pip install 'palpate[{extra}]'", allow_module_level=True)


def needs_program(name: str) -> str:
    """The full path of a program, or a skip that says how to install it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: sudo apt-get install {PACKAGES[name]}", allow_module_level=True)
    return found


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The folder with recordings of real objects; use it in tests marked `real`."""
    if not REAL.is_dir():
        pytest.skip(f"there are no recordings of real objects in {REAL}")
    return REAL


@pytest.fixture(scope="session")
def door_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short door session with its experiment file body.yaml (tests/door_files.py); copy what you change."""
    from tests.door_files import short_door, write_short_door

    return write_short_door(tmp_path_factory.mktemp("door"), short_door()).parent


@pytest.fixture(scope="session")
def door_prepared(door_folder: Path) -> Prepared:
    """The short door before anything is fitted."""
    from palpate.experiment import read_experiment
    from palpate.experiment.run import prepare_experiment

    return prepare_experiment(read_experiment(door_folder / "body.yaml"))


@pytest.fixture(scope="session")
def door_result(door_folder: Path) -> Result:
    """The short door, identified."""
    from palpate.experiment import read_experiment, run_experiment

    return run_experiment(read_experiment(door_folder / "body.yaml"))


SLOW = (
    *("experiment.stage.capture.mean_cloud", "experiment.inspection.mean_cloud"),
    *("experiment.stage.capture.check_markers", "experiment.stage.capture.fill_gaps"),
    *("experiment.stage.capture.estimate_offset", "experiment.stage.prepare.estimate_offset"),
)
"""What takes half of a run or more and depends on its arguments alone: many tests read the same recording."""


@pytest.fixture(scope="session", autouse=True)
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In a run of the tests, `SLOW` functions are called once with the same arguments, whichever process asks."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "remembered"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in SLOW:
            module, _, function = f"palpate.{name}".rpartition(".")
            patch.setattr(f"{module}.{function}", _remembering(getattr(import_module(module), function), folder))
        yield


def _remembering(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        key = pickle.dumps((function.__module__, function.__name__, args, options))
        file = folder / sha256(key).hexdigest()
        if file.exists():
            return pickle.loads(file.read_bytes())  # a copy for everybody
        value = function(*args, **options)
        with replacing(file) as temporary:
            temporary.write_bytes(pickle.dumps(value))
        return value

    return call


@pytest.fixture(scope="module")
def coarse_replay() -> Iterator[None]:
    """Replays in steps of 5 ms instead of 1 ms, for modules in which nothing is asked of their errors: of what a table
    or a door takes to be identified they are most.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.runtime.replay._STEP_S", 5e-3)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {f"test_{name}": i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def _everything_is_required() -> bool:
    return os.environ.get("PALPATE_REQUIRE_ALL") == "1"


def _refuse_skip(report: Any) -> None:
    """Turn a skipped report into a failed one that keeps the reason."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"PALPATE_REQUIRE_ALL=1 allows no skip, but: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    absent = item.get_closest_marker("real") is not None and not REAL.is_dir()
    if report.skipped and not hasattr(report, "wasxfail") and _everything_is_required() and not absent:
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    if report.skipped and _everything_is_required():
        _refuse_skip(report)
    return report
