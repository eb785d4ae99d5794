"""Reading an experiment file: every mistake is found here, with its line, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar

from palpate.errors import DataProblem, ExperimentProblem, FileProblem, UnknownName, unknown_name
from palpate.experiment.body_schema import BodyPart, SignalsPart
from palpate.experiment.instruments import Part
from palpate.experiment.motion_schema import MocapPart, MotionPart
from palpate.experiment.schema import ExperimentPart, ImuPart, WrenchPart
from palpate.experiment.tree import Place, line_of, parse
from palpate.files import read_bytes
from palpate.mechanisms import Row

ROOTS: dict[str, type[ExperimentPart] | type[MotionPart] | type[BodyPart]] = {
    "handle": ExperimentPart,
    "motion": MotionPart,
    "body": BodyPart,
}
"""The schema of each stage's file."""
Config = TypeVar("Config", bound=ExperimentPart | MotionPart | BodyPart, covariant=True)
RecordingPart = WrenchPart | ImuPart | MocapPart | SignalsPart
COMPARED = ("damping", "kappa", "kappa_eff", "kappa_eff_paper")
"""What a reference may tell beside parameters and `rms_ROW`."""


@dataclass(frozen=True, slots=True)
class Experiment(Generic[Config]):
    """A checked experiment file, and where its files are."""

    source: Path
    data: Path
    """Folder to which the recordings' paths are relative."""
    config: Config
    lines: Mapping[Place, int]
    """Line of each key, for messages."""

    def path(self, file: str) -> Path:
        """A file named in the experiment."""
        return self.data / file

    def problem(self, key: str, problem: str, remedy: str = "") -> ExperimentProblem:
        """An error at a key such as "segments.train"."""
        return ExperimentProblem(
            self.source, key, problem, line=line_of(self.lines, tuple(key.split("."))), remedy=remedy
        )


def shipped_experiments() -> dict[str, Path]:
    """The experiment files that come with palpate, by name."""
    folder = resources.files("palpate.experiment") / "paper"
    return {p.name.removesuffix(".yaml"): Path(str(p)) for p in folder.iterdir() if p.name.endswith(".yaml")}


def read_experiment(source: str | Path, *, data: str | Path | None = None) -> Experiment[Any]:
    """Read and check an experiment file, or one that ships with palpate by its name.

    `data` is the folder of the recordings when it is not the experiment file's own.
    """
    shipped = shipped_experiments()
    path = Path(source)
    if str(source) in shipped and not path.exists():
        path = shipped[str(source)]
        if data is None:
            raise FileProblem(
                str(source), "this experiment ships with palpate", remedy="say where its recordings are: --data FOLDER"
            )
    elif path.suffix.lower() not in (".yaml", ".yml") and not path.is_file():
        raise UnknownName("experiment file or shipped experiment", str(source), shipped)
    tree, lines = parse(path)
    config = _validate(path, tree, lines)
    experiment = Experiment(path, path.parent if data is None else Path(data), config, lines)
    _check(experiment)
    return experiment


def load_options(part: RecordingPart) -> dict[str, Any]:
    """The options with which `palpate.load` reads a recording as the experiment file describes it."""
    options: dict[str, Any] = {}
    if isinstance(part, WrenchPart) and part.device is not None:
        options["device"] = part.device
    if isinstance(part, ImuPart) and "g" in part.model_fields_set:
        options["g"] = part.g
    if part.columns is not None:
        options["columns"] = {name: column.model_dump() for name, column in part.columns.items()}
    if part.time is not None:
        options["time"] = part.time.model_dump()
    if part.rate is not None:
        options["rate"] = part.rate
    return options


def wrench_channels(part: WrenchPart, available: Sequence[str]) -> list[str]:
    """The names of f_x, f_y, f_z, n_x, n_y, n_z in a recording with these channels.

    As the experiment file states them; else dSPACE's of the device; else a column map of six, in its order.
    """
    if part.channels is not None:
        return part.channels
    number = 2 if part.device == "Platform_2" else 1
    usual = [f"{kind}{axis}{number}_RawZero" for kind in "FT" for axis in "xyz"]
    of_a_bag = [f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"]
    for names in (usual, of_a_bag):
        if set(names) <= {name.rpartition("/")[2] for name in available}:
            return names
    if part.columns is not None and len(part.columns) == 6:
        return list(part.columns)
    held = ", ".join(available[:24]) + (f", ... ({len(available)} in all)" if len(available) > 24 else "")
    raise DataProblem(
        "this key is missing",
        f"{part.file} does not hold the usual {usual[0]} to {usual[-1]}, but: {held}",
        remedy="name those that are f_x, f_y, f_z, n_x, n_y, n_z, for example channels: [fx, fy, fz, tx, ty, tz]",
    )


def check_reference_names(
    experiment: Experiment[ExperimentPart | BodyPart], known: Iterable[str], rows: Iterable[Row]
) -> None:
    """Refuse reference values for what a result does not tell; `known` are the names of its parameters."""
    names = [*known, *COMPARED, *(f"rms_{row.name}" for row in rows)]
    for i, part in enumerate(experiment.config.reference):
        for name in part.values or {}:
            if name not in names:
                told = unknown_name("parameter", name, names)
                if name.lower() == "mass" and "m" in names and "Did you mean" not in told:
                    told = told.replace(" There is:", " Did you mean 'm'? There is:")
                raise experiment.problem(f"{_reference_key(experiment, i)}.values.{name}", told)


def _reference_key(experiment: Experiment[Any], i: int) -> str:
    """Where the i-th reference stands: a single one needs no list."""
    return f"reference.{i}" if ("reference", str(i)) in experiment.lines else "reference"


def _validate(path: Path, tree: dict[str, Any], lines: Mapping[Place, int]) -> Any:
    from pydantic import ValidationError

    from palpate.experiment.messages import nothing_given, problem_of

    stage = tree.get("stage", "handle")
    if stage not in ROOTS:
        told = unknown_name("stage", str(stage), ROOTS)
        raise ExperimentProblem(path, "stage", told, line=line_of(lines, ("stage",)))
    root = ROOTS[stage]
    try:
        config = root.model_validate(tree)
    except ValidationError as error:
        raise problem_of(path, root, tree, lines, error) from None
    empty = nothing_given(path, root, tree, lines)
    if empty is not None:
        raise empty
    return config


def recordings_of(experiment: Experiment[Any]) -> dict[str, RecordingPart]:
    """The recordings that an experiment file names, by their key."""
    recordings: Part = experiment.config.recordings
    named = ((name, getattr(recordings, name)) for name in type(recordings).model_fields)
    return {name: part for name, part in named if part is not None}


def _check(experiment: Experiment[Any]) -> None:
    """What the schema cannot say: files that exist, segments that do not overlap."""
    config = experiment.config
    files = [(f"recordings.{name}.file", experiment.path(p.file)) for name, p in recordings_of(experiment).items()]
    if not isinstance(config, MotionPart):
        files += [
            (f"{_reference_key(experiment, i)}.file", experiment.source.parent / part.file)
            for i, part in enumerate(config.reference)
            if part.file is not None
        ]
    if isinstance(config, BodyPart) and isinstance(config.handle, str) and config.handle not in shipped_experiments():
        files.append(("handle", experiment.source.parent / config.handle))
    for key, path in files:
        if not path.is_file() and not (path / "metadata.yaml").is_file():  # a ROS 2 bag is a folder
            try:
                read_bytes(path)
            except FileProblem as error:
                raise experiment.problem(key, str(error)) from None
    if not isinstance(config, MotionPart) and config.segments is not None:
        check_segments(experiment)


def check_segments(experiment: Experiment[ExperimentPart | BodyPart]) -> None:
    """Refuse empty, reversed and overlapping segments; of different kinds, once both are samples (`check_overlap`)."""
    from palpate.experiment.schema import SamplesPart
    from palpate.experiment.segments import bounds

    segments = experiment.config.segments
    assert segments is not None
    named: list[tuple[str, bool, tuple[float, float]]] = []
    for name in type(segments).model_fields:
        part = getattr(segments, name)
        if part is None or isinstance(part, int):
            continue
        named += [(f"segments.{name}", isinstance(part, SamplesPart), pair) for pair in bounds(part)]
    for key, closed, (a, b) in named:
        if a > b or (a == b and not closed):
            raise experiment.problem(key, f"[{a:.10g}, {b:.10g}] {'is empty' if a == b else 'ends before it begins'}")
    counted = [one for one in named if one[0] != "segments.static"]  # nothing is fitted to rest
    for i, (key, closed, (a, b)) in enumerate(counted):
        for other, other_closed, (c, d) in counted[:i]:
            # samples are counted with both ends, so that neighbours must not even share one
            if closed == other_closed and ((a < d and c < b) or (closed and a <= d and c <= b)):
                shared = f" (both hold sample {a if a == d else b:.10g})" if closed and (a == d or c == b) else ""
                raise experiment.problem(
                    key,
                    f"[{a:.10g}, {b:.10g}] overlaps [{c:.10g}, {d:.10g}] of {other}{shared}",
                    "a test on data of the fit proves nothing" if key != other else "no time may count twice",
                )
