"""Reading an experiment file: every mistake is found here, with its line, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args

from palpate.errors import ExperimentProblem, FileProblem, UnknownName, unknown_name
from palpate.experiment.schema import ExperimentPart
from palpate.files import read_bytes


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked experiment file, and where its files are."""

    source: Path
    data: Path
    """Folder to which the recordings' paths are relative."""
    config: ExperimentPart
    lines: Mapping[tuple[str, ...], int]
    """Line of each key, for messages."""

    def path(self, file: str) -> Path:
        """A file named in the experiment."""
        return self.data / file

    def problem(self, key: str, problem: str, remedy: str = "") -> ExperimentProblem:
        """An error at a key such as "segments.train"."""
        return ExperimentProblem(
            self.source, key, problem, line=_line(self.lines, tuple(key.split("."))), remedy=remedy
        )


def shipped_experiments() -> dict[str, Path]:
    """The experiment files that come with palpate, by name."""
    folder = resources.files("palpate.experiment") / "paper"
    return {p.name.removesuffix(".yaml"): Path(str(p)) for p in folder.iterdir() if p.name.endswith(".yaml")}


def read_experiment(source: str | Path, *, data: str | Path | None = None) -> Experiment:
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
    tree, lines = _parse(path)
    config = _validate(path, tree, lines)
    experiment = Experiment(path, path.parent if data is None else Path(data), config, lines)
    _check(experiment)
    return experiment


def _parse(path: Path) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    from ruamel.yaml import YAML, YAMLError

    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem(
            path, f"is not a text file ({error.reason})", remedy="give the experiment's YAML file"
        ) from None
    try:
        tree = YAML(typ="rt").load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", "") or "not valid YAML").split("\n")[0]
        raise FileProblem(
            path, problem, line=None if mark is None else mark.line + 1, remedy="check indentation, brackets and quotes"
        ) from None
    if not isinstance(tree, dict):
        raise FileProblem(path, "an experiment file consists of keys and values, such as 'object: handle'")
    lines: dict[tuple[str, ...], int] = {}
    return _plain(tree, (), lines), lines  # pyright: ignore[reportUnknownArgumentType]


def _plain(node: Any, at: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> Any:
    """ruamel's tree as plain lists and dicts; notes the line of every key."""
    if isinstance(node, dict):
        for key in node:  # pyright: ignore[reportUnknownVariableType]
            lines[(*at, str(key))] = int(node.lc.key(key)[0]) + 1  # pyright: ignore
        return {str(key): _plain(value, (*at, str(key)), lines) for key, value in node.items()}  # pyright: ignore
    if isinstance(node, list):
        return [_plain(value, (*at, str(i)), lines) for i, value in enumerate(node)]  # pyright: ignore
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)


def _validate(path: Path, tree: dict[str, Any], lines: Mapping[tuple[str, ...], int]) -> ExperimentPart:
    from pydantic import ValidationError

    try:
        return ExperimentPart.model_validate(tree)
    except ValidationError as error:
        at, first = _most_telling(tree, error.errors())
        key = ".".join(at)
        line = _line(lines, at)
        if first["type"] == "extra_forbidden":
            known = _known_keys(at[:-1])
            raise ExperimentProblem(path, ".".join(at[:-1]), unknown_name("key", at[-1], known), line=line) from None
        if first["type"] == "missing":
            raise ExperimentProblem(
                path, key, "this key is missing", line=_line(lines, at[:-1]), remedy=_describe(at)
            ) from None
        message = first["msg"].removeprefix("Value error, ")
        plain = isinstance(first["input"], dict | list) or str(first["input"]) in message
        given = "" if plain else f" (given: {first['input']!r})"
        raise ExperimentProblem(
            path, key, message[0].lower() + message[1:] + given, line=line, remedy=_describe(at)
        ) from None


def _most_telling(tree: Any, errors: Sequence[Any]) -> tuple[tuple[str, ...], Any]:
    """An unknown key before all (it explains the missing one); else what lies deepest: the branch of a union that was
    meant.
    """
    located = [(_location(tree, e["loc"], missing=e["type"] == "missing"), e) for e in errors]
    return max(located, key=lambda pair: (pair[1]["type"] == "extra_forbidden", len(pair[0])))


def _location(tree: Any, loc: Sequence[int | str], *, missing: bool) -> tuple[str, ...]:
    """Pydantic's location without the names of a union's branches, which are not in the file."""
    node: Any = tree
    at: list[str] = []
    for step in loc:
        if (isinstance(node, dict) and step in node) or (isinstance(node, list) and isinstance(step, int)):
            node = cast("Any", node)[step]
            at.append(str(step))
    return (*at, str(loc[-1])) if missing else tuple(at)


def _models(at: Sequence[str]) -> list[Any]:
    """The schema's classes that may stand at a place of the file."""
    models: list[Any] = [ExperimentPart]
    for step in at:
        found: list[Any] = []
        for model in models:
            if step in model.model_fields:
                found += schema_classes(model.model_fields[step].annotation)
        models = found
    return models


def schema_classes(annotation: Any) -> list[Any]:
    """The parts of the schema inside a type."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [c for a in get_args(annotation) for c in schema_classes(a)]


def _known_keys(at: Sequence[str]) -> list[str]:
    return [name for model in _models(at) for name in model.model_fields]


def _describe(at: Sequence[str]) -> str:
    """The schema's own words on a key."""
    for model in _models(at[:-1]):
        if at and at[-1] in model.model_fields and model.model_fields[at[-1]].description:
            return f"{at[-1]}: {model.model_fields[at[-1]].description}"
    return ""


def _line(lines: Mapping[tuple[str, ...], int], at: tuple[str, ...]) -> int | None:
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at)


def _check(experiment: Experiment) -> None:
    """What the schema cannot say: files that exist, segments that do not overlap."""
    config = experiment.config
    for key, file in (
        ("recordings.wrench.file", config.recordings.wrench.file),
        ("recordings.imu.file", config.recordings.imu.file),
    ):
        if not experiment.path(file).is_file():
            try:
                read_bytes(experiment.path(file))
            except FileProblem as error:
                raise experiment.problem(key, str(error)) from None
    if config.segments is not None:
        check_segments(experiment)


def check_segments(experiment: Experiment) -> None:
    """Refuse empty, reversed and overlapping segments."""
    from palpate.experiment.segments import bounds

    segments = experiment.config.segments
    assert segments is not None
    named = [(f"segments.{name}", pair) for name in ("train", "test") for pair in bounds(getattr(segments, name))]
    for key, (a, b) in named:
        if not a < b:
            raise experiment.problem(key, f"[{a:g}, {b:g}] ends before it begins")
    for i, (key, (a, b)) in enumerate(named):
        for other, (c, d) in named[:i]:
            if (
                isinstance(getattr(segments, key[9:]), list) == isinstance(getattr(segments, other[9:]), list)
                and a < d
                and c < b
            ):
                raise experiment.problem(
                    key,
                    f"[{a:g}, {b:g}] overlaps [{c:g}, {d:g}] of {other}",
                    "a test on data of the fit proves nothing",
                )
