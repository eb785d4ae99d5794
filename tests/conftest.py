"""What all tests share: seeds, visible skips, and where the recordings of real objects are.

A skip says what is missing and the line that installs it. With PALPATE_REQUIRE_ALL=1 (continuous integration) a skip
is a failure, except that of a test marked `real` where the recordings are really absent.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from ruamel.yaml import YAML

from palpate.files import replacing

if TYPE_CHECKING:
    from palpate.experiment import Result
    from palpate.experiment.stage.prepare import Prepared

REAL = Path(__file__).resolve().parents[2] / "shared" / "real"
"""Recordings beside the project; they are not part of it."""

PACKAGES = {"cc": "gcc", "chromium": "chromium", "node": "nodejs"}
"""Programs that tests run, and the Debian packages that bring them."""

LONG = (
    *("studio_page", "studio"),
    *("reproduce", "lack_of_fit", "false_alarms", "cart", "object_twins", "tour", "loop", "gates", "smoothing"),
    *("studies", "links", "report", "box", "joint", "export_c", "mistakes", "cli", "motion_plausibility", "screw"),
    *("poses", "pivots", "stepper", "motion_clocks", "motion_stage", "twin_related", "experiment", "export_fmu"),
    *("own_mechanism", "drawer", "recording_gates", "marker_clock", "presliding", "encoder", "remedies"),
    *("load_friction", "real_doors", "labels", "passivity", "public_names", "body_stage", "guessing"),
    *("body_bad_data", "contact", "objects", "tyres", "free_swing", "invariance", "identify_statistics", "identify"),
    *("clock_profile", "rolling_replay", "inspection_page", "slide_rendering", "energy", "twin_wheelbarrow"),
    *("extrinsics", "rolling_stage", "body_contradicted", "replay", "clocks", "twin_door", "validation"),
    *("rolling_mechanism", "lost_rows", "export_mjcf", "own_objects", "slope", "cli_inspect", "export_command"),
    *("rolling_result", "comparison", "imu_noise", "twin", "shapes", "takes", "derivatives", "variants"),
    *("lookalikes", "series", "export_js", "rolling_options", "rolling_poor", "notebook", "turns", "judging_pages"),
    *("readme", "site"),
)
"""Modules of tests that take seconds, the longest first, so that no process waits for another one in the end; not in
`make quick`."""

settings.register_profile("seeded", max_examples=20, derandomize=True, deadline=None, database=None)
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


# --- sessions that several modules look at, written and identified once for all processes -----------------------------


@dataclass(frozen=True, slots=True)
class Shared:
    """A folder of all processes of this run of the tests: what one of them has made, the others take."""

    folder: Path

    def written(self, name: str, write: Callable[[Path], object]) -> Path:
        """A folder of this name, filled by whoever asks first. Others read it: copy what you change."""
        folder, done = self.folder / name, self.folder / f"{name}.done"
        with self._turn(name):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                write(folder)
                done.touch()
        return folder

    def computed(self, name: str, compute: Callable[[], Any]) -> Any:
        """What whoever asks first has computed; a copy for everybody."""
        file = self.folder / f"{name}.pickle"
        with self._turn(name):
            if not file.exists():
                with replacing(file) as temporary:
                    temporary.write_bytes(pickle.dumps(compute()))
        return pickle.loads(file.read_bytes())

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """One process at a time."""
        import fcntl

        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return Shared(folder)


@pytest.fixture(scope="session")
def handle_folder(shared: Shared) -> Path:
    """The README's handle: `palpate twin handle mytwin --seed 7`; copy what you change."""
    from palpate.twin.handle import write_handle_twin

    return shared.written("handle", lambda folder: write_handle_twin(folder, seed=7))


@pytest.fixture(scope="session")
def handle_result(shared: Shared, handle_folder: Path) -> Result:
    """The README's handle, identified."""
    from palpate.experiment import read_experiment, run_experiment

    return shared.computed("handle", lambda: run_experiment(read_experiment(handle_folder / "handle.yaml")))


@pytest.fixture(scope="session")
def short_handle_folder(shared: Shared) -> Path:
    """A handle moved for a shorter time (tests/handle_files.py); copy what you change."""
    from tests.handle_files import write_short_handle

    return shared.written("short-handle", write_short_handle)


@pytest.fixture(scope="session")
def short_handle_result(shared: Shared, short_handle_folder: Path) -> Result:
    """The short handle, identified."""
    from palpate.experiment import read_experiment, run_experiment

    experiment = read_experiment(short_handle_folder / "handle.yaml")
    return shared.computed("short-handle", lambda: run_experiment(experiment))


@pytest.fixture(scope="session")
def door_folder(shared: Shared) -> Path:
    """A short door session with its experiment file body.yaml (tests/door_files.py); copy what you change."""
    from tests.door_files import short_door, write_short_door

    return shared.written("door", lambda folder: write_short_door(folder, short_door()))


@pytest.fixture(scope="session")
def door_prepared(shared: Shared, door_folder: Path) -> Prepared:
    """The short door before anything is fitted."""
    from palpate.experiment import read_experiment
    from palpate.experiment.run import prepare_experiment

    experiment = read_experiment(door_folder / "body.yaml")
    return shared.computed("door-prepared", lambda: prepare_experiment(experiment))


@pytest.fixture(scope="session")
def door_result(shared: Shared, door_folder: Path, coarse_replay: dict[str, float]) -> Result:
    """The short door, identified, with replays as users have them."""
    from palpate.experiment import read_experiment, run_experiment

    experiment = read_experiment(door_folder / "body.yaml")
    with _replays(**coarse_replay):
        return shared.computed("door-result", lambda: run_experiment(experiment))


@pytest.fixture
def short_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins of doors and of what rolls come with handles that were moved for a shorter time."""
    from tests.handle_files import write_short_handle

    for kind in ("door", "rolling"):
        monkeypatch.setattr(f"palpate.twin.{kind}.write_handle_twin", write_short_handle)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One for all pages of this process."""
    from tests.browser import chromium

    with chromium() as opened:
        yield opened


SLOW = (
    *("experiment.stage.capture.mean_cloud", "experiment.inspection.mean_cloud"),
    *("experiment.stage.capture.check_markers", "experiment.stage.capture.fill_gaps"),
    *("experiment.stage.capture.estimate_offset", "experiment.stage.prepare.offset_between"),
    *("experiment.stage.capture.check_imu", "experiment.stage.prepare.judge_imu", "experiment.inspection.check_imu"),
    "experiment.stage.recordings.check_channels",
)
"""What takes a large part of a run and depends on its arguments alone: many tests read the same recording."""

SIMULATED = "tests.oracles.doors_of_other_make"
MATLAB = "scipy.io.matlab._mio5"
STEPS = ("runtime.stepper.step_terms",)
"""Steps that are derived from a model's equations and compiled: functions, so each process keeps its own."""

UNPICKLABLE = (pickle.PicklingError, AttributeError, TypeError)
"""Of arguments with parts that a test has made up."""


@pytest.fixture(scope="session", autouse=True)
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In a run of the tests, `SLOW` functions are called once with the same arguments, whichever process asks.

    Not those of modules that nobody has imported: tests of tests would wait for them. `STEPS` are made once in each
    process, and MATLAB files are stored instead of deflated, which noise does not become smaller by. Doors of other
    make are simulated once, and the same text of a YAML file is read once.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "remembered"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in (*SLOW, *STEPS):
            module, _, function = f"palpate.{name}".rpartition(".")
            if module in sys.modules:
                called = getattr(sys.modules[module], function)
                patch.setattr(f"{module}.{function}", _remembering(called, folder) if name in SLOW else _kept(called))
        if SIMULATED in sys.modules:
            simulate = sys.modules[SIMULATED].simulate
            patch.setattr(f"{SIMULATED}.simulate", lru_cache(4)(_remembering(simulate.__wrapped__, folder)))
        patch.setattr(YAML, "load", _read_once(YAML.load, folder))
        if MATLAB in sys.modules:
            patch.setattr(f"{MATLAB}.zlib", SimpleNamespace(compress=partial(zlib.compress, level=0)))
        yield


def _remembering(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        try:
            key = pickle.dumps((function.__module__, function.__name__, args, options))
        except UNPICKLABLE:
            return function(*args, **options)
        file = folder / sha256(key).hexdigest()
        if file.exists():
            return pickle.loads(file.read_bytes())  # a copy for everybody
        value = function(*args, **options)
        with replacing(file) as temporary:
            temporary.write_bytes(pickle.dumps(value))
        return value

    return call


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    made: dict[bytes, Any] = {}

    def call(*args: Any) -> Any:
        try:
            key = pickle.dumps(args)
        except UNPICKLABLE:
            return function(*args)
        if key not in made:
            made[key] = function(*args)
        return made[key]

    return call


def _read_once(load: Callable[[YAML, Any], Any], folder: Path) -> Callable[[YAML, Any], Any]:
    """Of a text that was read before, by whichever process, a copy of what was in it."""
    read: dict[tuple[str, bool, str], bytes] = {}

    def call(yaml: YAML, source: Any) -> Any:
        if not isinstance(source, str):
            return load(yaml, source)
        key = str(yaml.typ), bool(yaml.preserve_quotes), source
        if key not in read:
            file = folder / sha256(repr(key).encode()).hexdigest()
            if not file.exists():
                with replacing(file) as temporary:
                    temporary.write_bytes(pickle.dumps(load(yaml, source)))
            read[key] = file.read_bytes()
        return pickle.loads(read[key])

    return call


@contextmanager
def _replays(**values: float) -> Iterator[dict[str, float]]:
    """Replays of results with these constants; gives those from before."""
    run = sys.modules.get("palpate.experiment.run")
    with pytest.MonkeyPatch.context() as patch:
        before = {} if run is None else {name: getattr(run, name) for name in values}
        for name in before:
            patch.setattr(run, name, values[name])
        yield before


@pytest.fixture(scope="session", autouse=True)
def coarse_replay() -> Iterator[dict[str, float]]:
    """Replays of results in a few windows and in steps of 5 ms: of what a table or a door takes to be identified they
    are half. Gives what users have, for results of which something is asked about their replays.
    """
    with _replays(REPLAY_STEP_S=5e-3, REPLAYED_S=20.0) as exact:
        yield exact


@pytest.fixture(scope="module")
def exact_replay(coarse_replay: dict[str, float]) -> Iterator[None]:
    """Replays as users have them."""
    with _replays(**coarse_replay):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="without the modules that take seconds (conftest.LONG)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (config.getoption("quick") and collection_path.stem.removeprefix("test_") in LONG) or None


def pytest_collection_finish() -> None:
    """What all modules have imported stays: the search for garbage, a twentieth of the time, need not go through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {f"test_{name}": i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: (rank.get(item.path.stem, len(rank)), item.path))


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
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    if isinstance(collector, pytest.Directory) and os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579":
        report.result.reverse()  # from both ends: what one process has compiled, the other one reads
    if report.skipped and _everything_is_required():
        _refuse_skip(report)
    return report
