"""The files of a copy of the authors' repository: which are there, which are not what their name says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from palpate.errors import FileProblem, PalpateError
from palpate.experiment.file.reading import parse, shipped_experiments
from palpate.experiment.paper.choices import BODIES, HANDLES, ORDER, Window
from palpate.recording.signature import head_of, kind
from palpate.recording.text import as_utf8

State = Literal["there", "missing", "wrong", "short"]
FOLDERS = ("door", "handles", "wheelbarrow")
LFS = b"version https://git-lfs"
OPTIONAL = (("door", "imu"), ("wheelbarrow", "imu"))
"""The bodies' IMUs tell the vertical; without them the floor and the cameras' frame do."""
MARKERS: Mapping[str, tuple[str, ...]] = {
    "door": tuple(f"WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11)),
    "wheelbarrow": tuple(f"WB_ID{i}" for i in range(1, 24)),
}
HEADERS = {"vicon-csv": 5, "microstrain-csv": 38}
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of the repository."""

    experiment: str
    recording: str
    """Key of the experiment file: mocap, static, wrench, wrench_2, imu."""
    file: str
    """Relative to the copy."""
    state: State
    told: str = ""
    """What is wrong with it, and what would be right."""

    @property
    def usable(self) -> bool:
        """Whether an identification can read it."""
        return self.state == "there"

    @property
    def needed(self) -> bool:
        """Whether the identification cannot run without it."""
        return (self.experiment, self.recording) not in OPTIONAL


def find_copy(folder: str | Path) -> Path:
    """The folder that holds door/, handles/ and wheelbarrow/: the one given, or the only one in it that does."""
    top = Path(folder)
    if not top.is_dir():
        raise FileProblem(top, "there is no such folder", remedy="give a clone of nate-baum/large-objects-sys-id")
    if _holds_folders(top):
        return top
    below = [p for p in sorted(top.iterdir()) if p.is_dir() and _holds_folders(p)]
    if len(below) == 1:
        return below[0]
    held = ", ".join(sorted(p.name for p in top.iterdir())[:8]) or "nothing"
    raise FileProblem(
        top,
        f"is no copy of the authors' repository: it has none of door/, handles/, wheelbarrow/, but {held}",
        remedy="give a clone of nate-baum/large-objects-sys-id",
    )


def _holds_folders(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in FOLDERS)


def look(folder: Path) -> tuple[FileState, ...]:
    """Every file that the four identifications name, judged without reading it as a whole where that can be."""
    found: list[FileState] = []
    for experiment in ORDER:
        for recording, part in recordings_in(experiment).items():
            state, told = _judged(folder / part["file"], experiment, recording, str(part["format"]))
            found.append(FileState(experiment, recording, str(part["file"]), state, told))
    return tuple(found)


def recordings_in(experiment: str) -> dict[str, dict[str, Any]]:
    """The recordings that a shipped experiment file names, as they stand there."""
    return cast("dict[str, dict[str, Any]]", parse(shipped_experiments()[experiment])[0]["recordings"])


def window_of(experiment: str) -> Window:
    """The authors' window of an identification."""
    return (HANDLES[experiment] if experiment in HANDLES else BODIES[experiment]).window


def _judged(path: Path, experiment: str, recording: str, wanted: str) -> tuple[State, str]:
    if not path.exists():
        return "missing", ""
    try:
        head = head_of(path)
    except PalpateError as error:
        return "wrong", str(error)
    if head.startswith(LFS):
        return "missing", "this is git-LFS's pointer to the file, not the file: type `git lfs pull` in the clone"
    found = kind(head, path)
    if found != wanted:
        return "wrong", f"it looks like {found}, a {wanted} file is expected"
    if wanted == "vicon-csv":
        told = _other_markers(head, experiment)
        if told:
            return "wrong", told
    if wanted.endswith("csv") and recording != "static":
        rows, least = _lines(path, HEADERS[wanted]), window_of(experiment).needed(recording)
        if rows < least:
            return "short", f"it has {rows} rows, the authors' window ends with row {least}: an excerpt?"
    return "there", ""


def _other_markers(head: bytes, experiment: str) -> str:
    """What to say where the markers are not those of the experiment."""
    lines = as_utf8(head).decode("utf-8", "replace").splitlines()
    names = {field.rpartition(":")[2].strip() for line in lines[:4] for field in line.split(",") if ":" in field}
    lost = [name for name in MARKERS[experiment] if name not in names]
    if not lost:
        return ""
    other = next((e for e, own in MARKERS.items() if e != experiment and set(own) <= names), None)
    what = f"; its markers are those of the {other}" if other else ""
    return f"it has no marker {lost[0]} ({len(lost)} of {len(MARKERS[experiment])} are not there){what}"


def _lines(path: Path, header: int) -> int:
    """Rows of a text file below its header."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return max(0, count + (last != b"\n") - header)
