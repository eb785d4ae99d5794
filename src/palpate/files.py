"""Files as every room uses them: written whole or not at all, and known by their checksum."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from palpate.errors import FileProblem


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary path beside `path`; it takes the place of `path` only when the block succeeds."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise FileProblem(
            path,
            f"cannot be written ({error.strerror or error})",
            remedy="choose another output folder or free some space",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Refuse an output folder into which nothing can be written, before anything is computed."""
    if path.exists() and not path.is_dir():
        raise FileProblem(path, "is a file, not a folder", remedy="choose another output folder")
    nearest = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not os.access(nearest, os.W_OK):
        raise FileProblem(
            path, f"cannot be written: no permission for {nearest}", remedy="choose another output folder"
        )


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_bytes(path: Path, most: int = -1, *, if_empty: str = "export or copy it again") -> bytes:
    """Read a file that must exist and hold something; most: only so much of its beginning."""
    try:
        with path.open("rb") as file:
            data = file.read(most)
    except FileNotFoundError:
        raise FileProblem(path, "there is no such file", remedy=nearest_file(path)) from None
    except OSError as error:
        raise FileProblem(path, f"cannot be read ({error.strerror})") from error
    if not data or data.isspace():
        raise FileProblem(path, "the file is empty", remedy=if_empty)
    return data


def short_names(paths: Sequence[Path]) -> list[str]:
    """The end of each path, as long as it must be to tell them apart; numbered where that is not enough."""
    names: list[str] = []
    for depth in (1, 2, 3):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{name}#{place}" for place, name in enumerate(names, 1)]


def sha256(path: Path) -> str:
    """The checksum by which a result names the files that it came from; of a folder, over its files by name."""
    if path.is_dir():
        total = hashlib.sha256()
        for inside in sorted(p for p in path.rglob("*") if p.is_file()):
            total.update(f"{inside.relative_to(path).as_posix()} {sha256(inside)}\n".encode())
        return total.hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finite(x: float) -> float | None:
    """The number as JSON can hold it: None where it is infinite or none at all."""
    return float(x) if math.isfinite(x) else None


def nearest_file(path: Path) -> str:
    """What to write instead of a path that leads nowhere: the nearest name there, or what there is."""
    missing = path
    while not missing.parent.is_dir() and missing.parent != missing:
        missing = missing.parent  # the first part that is not there
    names = sorted(p.name for p in missing.parent.iterdir() if not p.name.startswith("."))
    near = get_close_matches(missing.name, names, 1)
    alike = [n for n in names if missing == path and path.suffix and n.lower().endswith(path.suffix.lower())]
    lost = "" if missing == path else f"there is no folder {missing}: "
    if near:
        return f"{lost}did you mean {missing.with_name(near[0])}?"
    here = "this folder" if missing.parent == Path() else f"the folder {missing.parent}"
    if lost:
        return lost.removesuffix(": ")
    return f"{here} holds {', '.join(alike[:8])}" if alike else f"{here} holds nothing that is called so"
