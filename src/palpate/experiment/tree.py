"""An experiment file as plain lists and dicts, with the line of every key and entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from palpate.errors import FileProblem
from palpate.files import read_bytes

Place = tuple[str, ...]
"""Keys and numbers of entries from the top of the file."""


def parse(path: Path) -> tuple[dict[str, Any], dict[Place, int]]:
    """The content of a YAML file, and lines counted from 1."""
    from ruamel.yaml import YAML, YAMLError

    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileProblem(
            path, f"is not a text file ({error.reason})", remedy="give the experiment's YAML file"
        ) from None
    try:
        tree = YAML(typ="rt").load(text)
    except (YAMLError, ValueError) as error:
        raise _problem(path, error) from None
    if not isinstance(tree, dict):
        raise FileProblem(path, "an experiment file consists of keys and values, such as 'object: handle'")
    lines: dict[Place, int] = {}
    return _plain(tree, (), lines), lines  # pyright: ignore[reportUnknownArgumentType]


def line_of(lines: Mapping[Place, int], at: Place) -> int | None:
    """The line of a place, or of what it belongs to."""
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at)


def _problem(path: Path, error: Exception) -> FileProblem:
    mark = getattr(error, "problem_mark", None)
    line = None if mark is None else int(mark.line) + 1
    problem = str(getattr(error, "problem", None) or error or "not valid YAML").split("\n")[0]
    if twice := re.match(r'found duplicate key "(.*?)" with value', problem):
        return FileProblem(path, f"the key {twice[1]!r} stands there twice", line=line, remedy="remove one of them")
    return FileProblem(path, problem, line=line, remedy="check indentation, brackets and quotes")


def _plain(node: Any, at: Place, lines: dict[Place, int]) -> Any:
    """ruamel's tree as plain lists and dicts; notes the line of every key and entry."""
    if isinstance(node, dict):
        for key in node:  # pyright: ignore[reportUnknownVariableType]
            lines[(*at, str(key))] = int(node.lc.key(key)[0]) + 1  # pyright: ignore
        return {str(key): _plain(value, (*at, str(key)), lines) for key, value in node.items()}  # pyright: ignore
    if isinstance(node, list):
        for i in range(len(node)):  # pyright: ignore[reportUnknownArgumentType]
            lines[(*at, str(i))] = int(node.lc.item(i)[0]) + 1  # pyright: ignore
        return [_plain(value, (*at, str(i)), lines) for i, value in enumerate(node)]  # pyright: ignore
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)
