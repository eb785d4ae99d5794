"""The paper's four identifications on a copy of its authors' repository, with their choices and with palpate's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from palpate.errors import FileProblem, PalpateError
from palpate.experiment.file.reading import ROOTS, Experiment, shipped_experiments
from palpate.experiment.file.yaml_text import parse
from palpate.experiment.paper.choices import BODIES, CHOICES, HANDLES, ORDER
from palpate.experiment.paper.published import PublishedFit, aligned, fit_published, read_markers
from palpate.experiment.run import run_experiment
from palpate.experiment.stage.result import Result, read_result
from palpate.files import read_bytes, sha256
from palpate.model import Model
from palpate.motion.cloud import fit_body, mean_cloud
from palpate.progress import Tell, portion, silent
from palpate.recording.formats import as_utf8, head_of, kind

REPRODUCTION_FORMAT = 1
TRUTH_FILE = "palpate-truth.json"
"""Beside the folders of a simulated copy (twin/authors.py); no real one has it."""
Mode = Literal["published", "default"]
Weight = tuple[float, tuple[float, float, float]]
LEAST_EXPLAINED = 0.5
"""Share of the wrench that the motion must explain, row by row in the median; files of one experiment explain nearly
all of it.
"""
NOT_RUN = "not run without"
State = Literal["there", "missing", "wrong", "short"]
FOLDERS = ("door", "handles", "wheelbarrow")
OPTIONAL = (("door", "imu"), ("wheelbarrow", "imu"))
"""The bodies' IMUs tell the vertical; without them the floor and the cameras' frame do."""
MARKERS: Mapping[str, tuple[str, ...]] = {
    "door": tuple(f"WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11)),
    "wheelbarrow": tuple(f"WB_ID{i}" for i in range(1, 24)),
}
HEADERS = {"vicon-csv": 5, "microstrain-csv": 38}


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of the repository."""

    experiment: str
    recording: str
    """Key of the experiment file: mocap, static, wrench, wrench_2, imu."""
    file: str
    """Relative to the copy."""
    state: State
    remark: str = ""
    """What is wrong with it, and what would be right."""

    @property
    def usable(self) -> bool:
        """Whether an identification can read it."""
        return self.state == "there"

    @property
    def needed(self) -> bool:
        """Whether the identification cannot run without it."""
        return (self.experiment, self.recording) not in OPTIONAL


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One of the four identifications."""

    name: str
    published: PublishedFit | None = None
    default: Result | None = None
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Mode -> why it did not run."""
    notes: tuple[str, ...] = ()
    marker_error_m: float | None = None
    """Mean distance of a visible marker from its place; also where nothing else could run."""
    truth: Mapping[str, float] | None = None
    """Of a simulated copy."""


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """What a copy of the authors' repository gave."""

    files: tuple[FileState, ...]
    entries: Mapping[str, Entry]
    modes: tuple[Mode, ...]

    @property
    def missing(self) -> tuple[FileState, ...]:
        """Files that are not there, or only as pointers."""
        return tuple(f for f in self.files if f.state == "missing")

    @property
    def wrong(self) -> tuple[FileState, ...]:
        """Files that are not what their name says, or too short."""
        return tuple(f for f in self.files if f.state in ("wrong", "short"))

    @property
    def ran(self) -> bool:
        """Whether anything was identified."""
        return any(e.published is not None or e.default is not None for e in self.entries.values())

    @property
    def simulated(self) -> bool:
        """Whether the truth is known."""
        return any(e.truth is not None for e in self.entries.values())

    @property
    def failures(self) -> tuple[str, ...]:
        """What speaks against a result: files that are wrong or absent, identifications that failed."""
        against = [f"{f.file}: {f.remark}" for f in self.wrong]
        absent = dict.fromkeys(f.file for f in self.missing if f.needed)
        against += [f"absent: {', '.join(absent)}"] if absent else []
        waiting = {f.experiment for f in self.files if not f.usable and f.needed}
        for entry in self.entries.values():
            if entry.default is not None and not entry.default.passed:
                against.append(f"{entry.name}: {'; '.join(entry.default.data['verdict']['reasons'])}")
            if entry.name not in waiting:
                against += [f"{entry.name} ({mode}): {why}" for mode, why in entry.refused.items()]
        return tuple(dict.fromkeys(against))


def reproduce(folder: str | Path, *, as_published: bool = False, tell: Tell = silent) -> Reproduction:
    """Run what can run; `as_published`: the authors' choices only."""
    copy = find_copy(folder)
    files = look(copy)
    modes: tuple[Mode, ...] = ("published",) if as_published else ("published", "default")
    truth, entries = _truth(copy), dict[str, Entry]()
    share = 1.0 / (len(ORDER) * len(modes))
    for i, name in enumerate(sorted(ORDER, key=lambda name: name not in HANDLES)):  # a body needs its handle's weight
        mine = tuple(f for f in files if f.experiment == name)
        lost = dict.fromkeys(f.file for f in mine if f.needed and not f.usable)
        entry = Entry(name, truth=truth.get(name))
        if lost:
            why = f"{NOT_RUN} {' and '.join(lost)}"
            entries[name] = replace(entry, refused=dict.fromkeys(modes, why), **_markers_only(name, copy, mine))
            continue
        for j, (mode, run) in enumerate(zip(modes, (_published, _default), strict=False)):
            try:
                begin, how = (len(modes) * i + j) * share, ", as published" if mode == "published" else ""
                entry = run(entry, copy, mine, entries, portion(tell, begin, begin + share, f"{name}{how}: "))
            except PalpateError as error:  # without the folders of this machine: a report may go to others
                why = str(error).replace(str(shipped_experiments()[name]), f"{name}.yaml").replace(f"{copy}/", "")
                entry = replace(entry, refused={**entry.refused, mode: why})
        entries[name] = entry
    runs = Reproduction(files, entries, modes)
    if not runs.ran and all(e.marker_error_m is None for e in runs.entries.values()):
        raise FileProblem(copy, f"nothing of it can be identified: {_first_reason(runs)}")
    return runs


def experiment_of(
    name: str, copy: Path, files: tuple[FileState, ...], *, handle: Weight | None = None
) -> Experiment[Any]:
    """A shipped experiment on this copy, without those of its files that it can do without and that are not there.

    handle: mass and centre of mass instead of the handle's own identification.
    """
    source = shipped_experiments()[name]
    tree, lines = parse(source)
    for f in files:
        if not f.needed and not f.usable:
            del tree["recordings"][f.recording]
            if f.recording == "imu":
                tree.pop("imu_pose", None)
    if handle is not None:
        tree["handle"] = {"mass": handle[0], "com": list(handle[1])}
    return Experiment(source, copy, ROOTS[tree["stage"]].model_validate(tree), lines, sha256(source))


def check_previous(out: Path) -> None:
    """Refuse to write over what this palpate cannot read: it may be somebody's only copy."""

    def read_reproduction(path: Path) -> None:
        try:
            version = json.loads(read_bytes(path))["palpate_reproduction"]
        except (ValueError, KeyError, TypeError) as error:
            raise PalpateError(f"is damaged or not palpate's ({error!r})") from None
        if version != REPRODUCTION_FORMAT:
            raise PalpateError(f"has format {version}, this palpate writes format {REPRODUCTION_FORMAT}")

    held: dict[Path, Callable[[Path], Any]] = {out / "reproduction.json": read_reproduction}
    held |= {out / name / "result.json": read_result for name in ORDER}
    held |= {out / name / "model.json": Model.load for name in ORDER}
    for path, read in held.items():
        try:
            if path.exists():
                read(path)
        except PalpateError as error:
            wrong = f"{error}; nothing was overwritten"
            raise FileProblem(path, wrong, remedy="choose another output folder") from None


def _published(entry: Entry, copy: Path, files: tuple[FileState, ...], _: Mapping[str, Entry], tell: Tell) -> Entry:
    experiment = experiment_of(entry.name, copy, files)
    fit = fit_published(entry.name, experiment, tell)
    entry = replace(entry, marker_error_m=fit.data.get("marker_error_m"))
    explained = float(np.median([row["explained"] for row in fit.data["rms"]["train"].values()]))
    if explained >= LEAST_EXPLAINED:
        return replace(entry, published=fit)
    names = ", ".join(dict.fromkeys(f.file for f in files if f.needed))
    foreign = (
        f"{names} do not belong together: at the authors' start samples the motion explains "
        f"{100 * max(explained, 0.0):.0f} % of the wrench; one of them is from another experiment, or cut differently"
    )
    return replace(entry, refused={"published": foreign})


def _default(entry: Entry, copy: Path, files: tuple[FileState, ...], entries: Mapping[str, Entry], tell: Tell) -> Entry:
    """With palpate's own choices. Of its handle, a body needs the weight alone."""
    name, weight, notes = entry.name, None, entry.notes
    if name in BODIES:
        weight, whose = (BODIES[name].handle_mass, BODIES[name].handle_com), "stated by the authors"
        handle = entries[f"{name}-handle"].default
        if handle is not None and handle.passed:
            values = {n: float(e["value"]) for n, e in handle.data["parameters"].items()}
            weight, whose = (values["m"], (values["c_x"], values["c_y"], values["c_z"])), "identified above"
        notes = (*notes, f"default: the handle's mass is the one {whose}, {weight[0]:.4g} kg")
    result = run_experiment(experiment_of(name, copy, files, handle=weight), tell)
    return replace(entry, default=result, notes=notes)


def _first_reason(runs: Reproduction) -> str:
    """What stands in the way: a file that is not what it should be, a fit that was refused, or what is missing."""
    remarks = {f.file: f.remark for f in (*runs.wrong, *runs.missing) if f.remark}
    if remarks:
        file, what = next(iter(remarks.items()))
        return f"{file}: {what}" + (f" (and {len(remarks) - 1} more files)" if len(remarks) > 1 else "")
    refused = [why for e in runs.entries.values() for why in e.refused.values() if not why.startswith(NOT_RUN)]
    if refused:
        return refused[0]
    return f"there is no {', no '.join(dict.fromkeys(f.file for f in runs.missing))}"


def _markers_only(name: str, copy: Path, files: tuple[FileState, ...]) -> dict[str, Any]:
    """What the markers alone say, where the rest is not there: how rigid the body is, and how far it turned."""
    states = {f.recording: f for f in files}
    if name in HANDLES or states["mocap"].state not in ("there", "short"):
        return {}
    experiment = experiment_of(name, copy, files)
    try:
        if name == "door":
            if not states["static"].usable:
                return {}
            body, cloud = aligned(experiment, BODIES[name], whole=True)[1], "the static file"
        else:
            markers = read_markers(experiment, "mocap")
            body, cloud = fit_body(markers, mean_cloud(markers)), "their own mean"
    except PalpateError as problem:
        return {"notes": (f"the markers could not be aligned: {problem}",)}
    error = body.mean_error_m
    note = f"markers alone: {1e3 * error:.2f} mm off on average against {cloud}, {len(body.poses)} frames"
    return {"notes": (note,), "marker_error_m": error}


def _truth(copy: Path) -> dict[str, dict[str, float]]:
    """The true parameters of a simulated copy, by experiment."""
    path = copy / TRUTH_FILE
    if not path.exists():
        return {}
    try:
        held = json.loads(read_bytes(path))["experiments"]
        return {n: {k: float(v["value"]) for k, v in held[n]["parameters"].items()} for n in ORDER if n in held}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileProblem(path, f"is damaged ({error!r})", remedy="make the twin again, or remove the file") from None


def find_copy(folder: str | Path) -> Path:
    """The folder that holds door/, handles/ and wheelbarrow/: the one given, or the only one in it that does."""
    top, remedy = Path(folder), "give a clone of nate-baum/large-objects-sys-id"
    if not top.is_dir():
        raise FileProblem(top, "there is no such folder", remedy=remedy)
    inside = sorted(top.iterdir())
    holding = [p for p in (top, *inside) if any((p / name).is_dir() for name in FOLDERS)]
    if holding[:1] == [top] or len(holding) == 1:
        return holding[0]
    held = ", ".join([p.name for p in inside][:8]) or "nothing"
    wrong = f"is not a copy of the authors' repository: it has none of door/, handles/, wheelbarrow/, but {held}"
    raise FileProblem(top, wrong, remedy=remedy)


def look(folder: Path) -> tuple[FileState, ...]:
    """Every file that the four identifications name, judged without reading it as a whole where that can be."""
    return tuple(
        FileState(
            experiment, recording, part["file"], *_judged(folder / part["file"], experiment, recording, part["format"])
        )
        for experiment in ORDER
        for recording, part in recordings_in(experiment).items()
    )


def recordings_in(experiment: str) -> dict[str, dict[str, Any]]:
    """The recordings that a shipped experiment file names, as they stand there."""
    return cast("dict[str, dict[str, Any]]", parse(shipped_experiments()[experiment])[0]["recordings"])


def _judged(path: Path, experiment: str, recording: str, wanted: str) -> tuple[State, str]:
    if not path.exists():
        return "missing", ""
    try:
        head = head_of(path)
    except PalpateError as error:
        return "wrong", str(error)
    likely = kind(head, path)
    if likely.startswith("a Git LFS pointer"):
        return "missing", "this is git-LFS's pointer to the file, not the file: type `git lfs pull` in the clone"
    if likely != wanted:
        return "wrong", f"it looks like {likely}, a {wanted} file is expected"
    if wanted == "vicon-csv":
        lines, needed = as_utf8(head).decode("utf-8", "replace").splitlines(), MARKERS[experiment]
        names = {field.rpartition(":")[2].strip() for line in lines[:4] for field in line.split(",") if ":" in field}
        lost = [name for name in needed if name not in names]
        if lost:
            other = next((e for e, held in MARKERS.items() if e != experiment and set(held) <= names), None)
            what = f"; its markers are those of the {other}" if other else ""
            return "wrong", f"it has no marker {lost[0]} ({len(lost)} of {len(needed)} are not there){what}"
    if wanted.endswith("csv") and recording != "static":
        data, least = read_bytes(path), CHOICES[experiment].window.needed(recording)
        rows = max(0, data.count(b"\n") + (not data.endswith(b"\n")) - HEADERS[wanted])
        if rows < least:
            return "short", f"it has {rows} rows, the authors' window ends with row {least}: an excerpt?"
    return "there", ""
