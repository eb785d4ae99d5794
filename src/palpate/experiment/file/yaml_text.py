"""A YAML file as plain lists and dicts, with the line of every key: so that mistakes can be said with their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palpate.errors import FileProblem
from palpate.files import read_bytes
from palpate.yaml_problems import yaml_problem

Place = tuple[str, ...]
"""Keys and numbers of entries from the top of the file."""


BEGIN = """\
let palpate write one, from your recording (`palpate new log.csv`) or of a kind of object to edit (`palpate new door`).
A smallest one, for a table log.csv with the columns t [s], angle [deg], torque [N m]:
  object: hinge
  stage: body
  recordings: {signals: {file: log.csv, angle: angle, torque: torque}}
  segments: {train: [5, 40], test: [40, 60]}      # s: what is fitted, what is predicted"""
"""What to do about a file that says nothing."""


def read_text(path: Path) -> str:
    """The text of a YAML file."""
    return decoded(path, read_bytes(path, if_empty=BEGIN))


def decoded(path: Path, content: bytes) -> str:
    """The text of a YAML file with this content."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"is not a text file ({error.reason})"
        raise FileProblem(path, wrong, remedy="give the experiment's YAML file") from None


def parse(path: Path, text: str | None = None) -> tuple[dict[str, Any], dict[Place, int]]:
    """The content of a YAML file, and lines counted from 1; text: what is to be written there."""
    from ruamel.yaml import YAML, YAMLError

    text = read_text(path) if text is None else text
    try:
        tree = YAML(typ="rt").load(text)
    except (YAMLError, ValueError) as error:
        line, problem, cure = yaml_problem(text, error)
        raise FileProblem(path, problem, line=line, remedy=cure) from None
    if tree is None:
        raise FileProblem(path, "the file holds no keys, only comments or nothing", remedy=BEGIN)
    if not isinstance(tree, dict):
        recorded = path.suffix.lower() not in (".yaml", ".yml")
        cure = f"if it is a recording, `palpate new {path.name}` writes its experiment file" if recorded else ""
        raise FileProblem(path, "an experiment file consists of keys and values, such as 'object: handle'", remedy=cure)
    lines: dict[Place, int] = {}
    return _plain(tree, (), lines), lines  # pyright: ignore[reportUnknownArgumentType]


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
    return next((kind(node) for kind in (int, float) if isinstance(node, kind)), str(node))
