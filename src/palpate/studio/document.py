"""The experiment file as people wrote it: changed key by key, comments and order kept, never over a newer version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any, cast

from palpate.errors import PalpateError
from palpate.experiment.file.yaml_text import parse, read_text
from palpate.files import write_text

Changes = Mapping[str, Any]
"""Dotted key -> its new value; None takes it out."""
FORBIDDEN = ("parts", "urdf")
"""Keys, wherever they stand, that only an editor may set: they name code to run, or files that are no recordings."""
OURS = re.compile(r"\s*#\s*(GUESS|EDIT)\b.*")
"""Remarks that are no longer true once somebody has set the value beside them."""
WIDE = 4096


class Stale(PalpateError):
    """A change to a version of the file that is no longer there."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's text, and by what its version is known."""

    path: Path
    text: str

    @property
    def revision(self) -> str:
        """Of the text."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def written(self, text: str, revision: str) -> Document:
        """The same file with another text, on disk; refused where the file is no longer the one that was changed."""
        on_disk = read_document(self.path)
        if not revision == on_disk.revision == self.revision:
            raise Stale(
                f"{self.path.name} was changed elsewhere (another tab or an editor) after this page had read it: "
                "nothing was written. Look at the newer version, then change it again"
            )
        if text != on_disk.text:
            write_text(self.path, text)
        return Document(self.path, text)


def read_document(path: Path) -> Document:
    """A YAML file as it is on disk."""
    return Document(path, read_text(path))


def changed(path: Path, text: str, changes: Changes) -> str:
    """The text with some keys set or taken out; everything else stays as it was written."""
    before, _ = parse(path, text)  # what is no YAML is refused with its line
    yaml = _round_trip(text)
    tree: Any = yaml.load(text)
    for key, value in changes.items():
        try:
            _set(tree, key.split("."), value)
        except (ValueError, LookupError, TypeError):
            raise PalpateError(f"{path.name} has no place {key!r} to set") from None
    out = StringIO()
    yaml.dump(tree, out)
    after, _ = parse(path, out.getvalue())
    for key in (x.split("=")[0] for x in sorted(_forbidden(after) - _forbidden(before))):
        raise PalpateError(f"{key} cannot be set in the studio: edit {path.name} itself")
    return out.getvalue()


def _forbidden(tree: Any) -> frozenset[str]:
    """What stands under keys that only an editor may set."""
    if isinstance(tree, list):
        return frozenset[str]().union(*map(_forbidden, cast("list[Any]", tree)))
    if not isinstance(tree, dict):
        return frozenset()
    held = cast("dict[str, Any]", tree)
    own = frozenset(f"{key}={value!r}" for key, value in held.items() if key in FORBIDDEN)
    return own.union(*map(_forbidden, held.values()))


def _round_trip(text: str) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes, yaml.width = True, WIDE
    if re.search(r"(?m)^( *)[\w.]+:.*\n\1  +- ", text):  # entries of lists stand farther in than their key
        yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _set(tree: Any, place: list[str], value: Any) -> None:
    from ruamel.yaml.comments import CommentedMap

    *way, last = place
    for key in way:
        at: Any = int(key) if isinstance(tree, list) else key
        if isinstance(tree, dict) and not isinstance(cast("dict[str, Any]", tree).get(key), dict | list):
            if value is None:
                return
            tree[key] = CommentedMap()
        tree = cast("Any", tree[at])
    at = int(last) if isinstance(tree, list) else last
    if value is None:
        if isinstance(tree, dict):
            cast("dict[str, Any]", tree).pop(last, None)
        return
    tree[at] = _flow(value, outer=len(place) == 1)
    _forget(tree, at)


def _flow(value: Any, *, outer: bool) -> Any:
    """Lists and maps in one line, as people write segments; of a list of maps, a line each."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, dict):
        made = CommentedMap({k: _flow(v, outer=False) for k, v in cast("dict[str, Any]", value).items()})
        made.fa.set_flow_style()
        return made
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        listed = CommentedSeq([_flow(v, outer=False) for v in entries])
        if not (outer and entries and all(isinstance(v, dict) for v in entries)):
            listed.fa.set_flow_style()
        return listed
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 6)
    return value


def _forget(tree: Any, at: Any) -> None:
    """Take away a remark beside a value that says that nobody has set it."""
    tokens: list[Any] = list(tree.ca.items.get(at) or ()) if hasattr(tree, "ca") else []
    for i, token in enumerate(tokens):
        if not hasattr(token, "value"):
            continue
        first, newline, rest = str(token.value).partition("\n")
        if OURS.fullmatch(first):
            if rest.strip():
                token.value = newline + rest
            else:
                tree.ca.items[at][i] = None
