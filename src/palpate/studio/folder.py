"""The folder that the studio was started on: nothing outside it is read or written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palpate.errors import FileProblem, PalpateError
from palpate.experiment.file.reading import read_experiment, recordings_of
from palpate.experiment.file.sensors import listed
from palpate.experiment.stage.result import read_result
from palpate.recording import FORMATS
from palpate.recording.formats import recognise

YAML = (".yaml", ".yml")
NO_DATA = (
    *YAML,
    ".json",
    ".html",
    ".htm",
    ".md",
    ".py",
    ".js",
    ".css",
    ".pdf",
    ".svg",
    ".png",
    ".jpg",
    ".ipynb",
    ".urdf",
)
"""Endings of what is no recording, whatever it looks like inside."""
DEEPEST, MOST = 4, 4000
"""Folders below the studio's in which files are looked for, and files that are looked at."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with all links in its own path resolved."""

    root: Path

    def path(self, name: str) -> Path:
        """A file or folder inside by its relative name; refuses what leads out: `..`, links, absolute paths."""
        relative = Path(name)
        outside = FileProblem(
            name, "is not inside the folder of the studio", remedy="start palpate studio on its folder"
        )
        if "\0" in name or not name or relative.is_absolute() or relative.drive or ".." in relative.parts:
            raise outside
        path = self.root / relative
        if not path.resolve().is_relative_to(self.root):
            raise outside
        return path

    def name(self, path: Path) -> str:
        """The relative name of a path inside; refuses others."""
        resolved = path.resolve()
        if not resolved.is_relative_to(self.root):
            wrong, both = f"lies outside of {self.root}", Path(os.path.commonpath([self.root, resolved.parent]))
            remedy = f"start palpate studio on the folder that holds both: palpate studio {both}"
            raise FileProblem(path, wrong, remedy=remedy)
        return resolved.relative_to(self.root).as_posix()

    def beside(self, name: str, other: str) -> Path:
        """Another file in the folder of one inside, itself inside."""
        path = self.path(name).with_name(other)
        self.name(path)
        return path

    def check(self, experiment: Any, *, of_handle: bool = False) -> None:
        """Refuse an experiment that names files outside: recordings, its object, handles and theirs, references."""
        for part in recordings_of(experiment).values():
            for file in (part.file, getattr(part, "urdf", None)):
                self.name(experiment.path(file or ""))
        config, here = experiment.config, experiment.source.parent
        names = [getattr(config, "object", ""), getattr(config, "parts", None)]
        names += [handle for _, handle in listed(config, "handle")] if hasattr(config, "handle") else []
        names += [part.file for part in getattr(config, "reference", ())]
        for name in names:
            if isinstance(name, str):  # a shipped object's is as good as a file's inside
                self.name(here / name)
        for _, handle in listed(config, "handle") if hasattr(config, "handle") and not of_handle else ():
            if isinstance(handle, str) and Path(handle).suffix in YAML and (here / handle).is_file():
                self.check(read_experiment(here / handle), of_handle=True)

    def files(self) -> Iterator[Path]:
        """All files that people have put here, in order; not hidden ones, nor what links lead to."""
        seen = 0
        for here, folders, names in os.walk(self.root):
            depth = len(Path(here).relative_to(self.root).parts)
            folders[:] = sorted(f for f in folders if not f.startswith((".", "__"))) if depth < DEEPEST else []
            for name in sorted(names):
                path = Path(here) / name
                if not name.startswith(".") and path.resolve().is_relative_to(self.root):
                    seen += 1
                    if seen > MOST:
                        return
                    yield path

    def listing(self) -> dict[str, Any]:
        """What the page offers: experiments, recordings, results."""
        experiments, recordings, results = list[str](), list[dict[str, Any]](), list[dict[str, Any]]()
        pages = list[str]()
        for path in self.files():
            name = path.relative_to(self.root).as_posix()
            if path.suffix.lower() in YAML and is_experiment(path):
                experiments.append(name)
            elif path.name == "result.json":
                results.append(summary(name, path))
            elif path.suffix.lower() == ".html" and not path.with_name("result.json").exists():
                pages.append(name)
            elif is_recording(path):
                recordings.append({"file": name, "bytes": path.stat().st_size})
        listed = {"experiments": experiments, "recordings": recordings, "results": results, "pages": pages}
        return {"folder": self.root.name, **listed}


def folder_of(paths: Sequence[Path]) -> Path:
    """The folder that holds all of these files or folders."""
    for path in paths:
        if not path.exists():
            raise FileProblem(
                path, "there is no such file or folder", remedy="give a folder, an experiment or recordings"
            )
    folders = [str(p.resolve() if p.is_dir() else p.resolve().parent) for p in paths]
    return Path(os.path.commonpath(folders)) if folders else Path.cwd()


def is_experiment(path: Path) -> bool:
    """Whether a YAML file describes an experiment, by its keys at the beginning of a line."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return any(line.startswith("recordings:") for line in file.readlines(1 << 17))
    except OSError:
        return False


def is_recording(path: Path) -> bool:
    """Whether a file is in a format that palpate reads."""
    if path.suffix.lower() in NO_DATA or path.with_name("result.json").exists():
        return False
    try:
        return recognise(path) in FORMATS
    except (PalpateError, OSError):
        return False


def summary(name: str, path: Path) -> dict[str, Any]:
    """A result in a line, or why it cannot be read."""
    folder = Path(name).parent.as_posix()
    entry = {"file": name, "folder": folder, "changed": path.stat().st_mtime}
    try:
        data = read_result(path)
    except PalpateError as error:
        return entry | {"error": str(error)}
    pages = [p.name for p in sorted(path.parent.glob("*.html")) if p.is_file()]
    known = {n: {k: e[k] for k in ("value", "unit", "ci95", "status")} for n, e in data["parameters"].items()}
    return entry | {
        "title": data["title"],
        "stage": data["stage"],
        "passed": bool(data["verdict"]["passed"]),
        "reasons": data["verdict"]["reasons"],
        "parameters": known,
        "model": (path.parent / "model.json").is_file(),
        "pages": pages,
    }
