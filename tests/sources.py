"""The package's own code as syntax trees, parsed once in a process: several modules of tests go through all files."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parsed(text: str) -> tuple[ast.Module, tuple[ast.AST, ...]]:
    """The tree and all its nodes."""
    tree = ast.parse(text)
    return tree, tuple(ast.walk(tree))


def tree_of(path: Path) -> ast.Module:
    return parsed(path.read_text(encoding="utf-8"))[0]


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return parsed(path.read_text(encoding="utf-8"))[1]
