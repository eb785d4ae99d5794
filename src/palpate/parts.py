"""What models are made of: the mechanisms, linkages and elements that ship, and those of a user's own."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from palpate.elements import ELEMENTS, Element, check_element
from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import read_bytes
from palpate.mechanisms import LINKAGES, MECHANISMS, Linkage, Mechanism, check_linkage, check_mechanism

GROUP = "palpate.parts"
"""The entry points under which a package announces a module of parts."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The types that a file may name, by their `type`."""

    elements: Mapping[str, type[Any]]
    mechanisms: Mapping[str, type[Any]]
    linkages: Mapping[str, type[Any]]
    source: str = ""
    """Where those come from that do not ship ..."""
    sha256: str = ""
    """... and the content of that file."""

    @property
    def types(self) -> Mapping[str, type[Any]]:
        """All of them."""
        return {**self.mechanisms, **self.linkages, **self.elements}


SHIPPED = Parts(ELEMENTS, MECHANISMS, LINKAGES)
CHECKS: tuple[tuple[type[Any], Callable[[Any], object]], ...] = (
    (Element, check_element),
    (Linkage, check_linkage),
    (Mechanism, check_mechanism),
)
"""What a part must pass as it is made without options."""


def load_parts(name: str | Path) -> Parts:
    """What ships, and what a Python file (`mine.py`) or an installed entry point of the group `palpate.parts` adds.

    The file is code and is run. Elements must pass `check_element`, linkages `check_linkage` and mechanisms
    `check_mechanism`, as they are made without options.
    """
    path = Path(name)
    if path.suffix == ".py":
        return _of_file(path, read_bytes(path))
    found = {point.name: point for point in entry_points(group=GROUP)}
    if str(name) not in found:
        raise UnknownName("file of parts (.py) or entry point of the group palpate.parts", str(name), found)
    return _with(_loaded(str(name), found[str(name)].load), str(name))


@lru_cache(maxsize=16)
def _of_file(path: Path, content: bytes) -> Parts:
    """One set of classes for one content, however often it is asked for; these very bytes are run."""
    digest = hashlib.sha256(content).hexdigest()
    module = ModuleType(f"palpate_parts_{digest[:16]}")
    module.__file__ = str(path)

    def load() -> ModuleType:
        sys.modules[module.__name__] = module  # dataclasses look their module up
        try:
            exec(compile(content, str(path), "exec"), module.__dict__)
        except BaseException:
            del sys.modules[module.__name__]
            raise
        return module

    return replace(_with(_loaded(path, load), path), sha256=digest)


def _loaded(source: str | Path, load: Callable[[], ModuleType]) -> ModuleType:
    """The module; what it raises is said with its line."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        steps = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == str(source)]
        line = error.lineno if isinstance(error, SyntaxError) else steps[-1].lineno if steps else None
        problem = f"this file of parts raises {type(error).__name__}: {' '.join(str(error).split())}"
        raise FileProblem(source, problem, line=line) from error


def _with(module: ModuleType, source: str | Path) -> Parts:
    """What ships, and the module's own classes beside it."""
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__.partition(".")[0] != "palpate"]
    named = {c: t for c in own if isinstance(t := getattr(c, "type", None), str)}
    twice = next((t for t in named.values() if list(named.values()).count(t) > 1), None)
    if twice is not None:
        raise FileProblem(source, f"two parts have the type {twice!r}", remedy="give one of them another")
    kinds: list[Mapping[str, type[Any]]] = []
    for base, shipped in ((Element, ELEMENTS), (Mechanism, MECHANISMS), (Linkage, LINKAGES)):
        mine = {t: c for c, t in named.items() if issubclass(c, base)}
        for name in mine:
            if name in SHIPPED.types:
                raise FileProblem(source, f"there is a part {name!r} already", remedy="give yours another `type`")
        kinds.append(MappingProxyType({**shipped, **mine}))
    if not any(issubclass(c, Element | Mechanism | Linkage) for c in named):
        wanted = "a class that derives from palpate.Element, Mechanism or Linkage and has a `type`"
        raise FileProblem(source, "there is no part in this file", remedy=f"write {wanted}")
    for c, check in ((c, check) for base, check in CHECKS for c in named if issubclass(c, base)):
        make: Any = c
        try:
            check(make())
        except PalpateError as error:
            raise FileProblem(source, str(error), remedy=f"palpate.{check.__name__} tests it alone") from error
        except TypeError as error:
            raise FileProblem(source, f"{c.__name__}: {error}", remedy="give every option a default") from error
    return Parts(*kinds, source=str(source))
