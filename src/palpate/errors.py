"""Everything that palpate refuses, in one family: catch `PalpateError` and print it, it is one line.

A message says what is wrong, where, and what would be right. Messages are built here, so that they
sound alike everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any


class PalpateError(Exception):
    """A known problem with a one-line explanation; the command line prints it and exits with 1."""


class FileProblem(PalpateError):
    """A file that is missing, empty, damaged or of another format."""

    def __init__(self, path: str | Path, problem: str, *, line: int | None = None, remedy: str = "") -> None:
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(sentence(f"{where}: {problem}", remedy))


class UnknownName(PalpateError):
    """A name that does not exist where it was looked for; the nearest existing ones are listed."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        super().__init__(f"{where + ': ' if where else ''}{unknown_name(kind, name, known)}")


class ExperimentProblem(PalpateError):
    """A key of an experiment file that cannot be used as it stands."""

    def __init__(self, path: str | Path, key: str, problem: str, *, line: int | None = None, remedy: str = "") -> None:
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(sentence(f"{where}: {key}: {problem}" if key else f"{where}: {problem}", remedy))


class DataProblem(PalpateError):
    """Recordings from which the wanted quantity cannot be known."""

    def __init__(self, what: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(sentence(f"{what}: {problem}", remedy))


class NotConsistent(PalpateError):
    """Inertial parameters that no distribution of positive mass can have."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what}: {problem}")


class MissingExtra(PalpateError):
    """An optional library that is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'palpate[{extra}]'")


def extra_library(module: str, extra: str, purpose: str) -> Any:
    """A module of a library that not everybody has, or which one `purpose` needs and how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(module.partition(".")[0], extra, purpose) from None


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown and which one was probably meant."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    return f"there is no {kind} {name!r}.{hint} There is: {listed or 'nothing'}"


def sentence(problem: str, remedy: str) -> str:
    """Join problem and remedy: "problem. Remedy" or the problem alone."""
    return f"{problem}. {remedy[0].upper()}{remedy[1:]}" if remedy else problem
