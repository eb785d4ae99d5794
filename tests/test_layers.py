"""Who may import whom, how long a module may be, and that a skip cannot hide."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.sources import nodes_of, tree_of

PACKAGE = "palpate"
SOURCE = Path(__file__).resolve().parents[1] / "src" / PACKAGE
LONGEST = 800

BUILDS_ON = {
    "errors": (),
    "files": ("errors",),
    "findings": (),
    "progress": (),
    "tables": ("errors",),
    "yaml_problems": (),
    "physics": ("errors",),
    "drawing": ("physics",),
    "objects": (),
    "elements": ("errors", "files", "physics"),
    "mechanisms": ("errors", "files", "physics"),
    "parts": ("elements", "mechanisms"),
    "model": ("parts", "objects", "tables", "yaml_problems"),
    "runtime": ("model",),
    "rendering": ("runtime",),
    "recording": ("files", "findings", "drawing", "tables"),
    "motion": ("recording",),
    "identify": ("model", "motion"),
    "experiment": ("identify", "rendering", "progress"),
    "export": ("model", "runtime"),
    "web": (),
    "twin": ("experiment",),
    "report": ("experiment", "export", "web"),
    "studio": ("report",),
    "cli": ("twin", "studio", "__init__"),
    "__main__": ("cli",),
    "__init__": ("twin", "report", "export"),
}
"""Room -> the rooms right below it; a room may import these, all that they build on, and itself.

`__init__` is the public list of names: it may show every room but the command line, which alone may use it.
"""

INSIDE_EXPERIMENT = {
    "file": (),
    "tables": (),
    "stage": ("file", "tables"),
    "gates": ("stage",),
    "run": ("gates",),
    "comparison": ("run",),
    "explanation": ("file",),
    "columns": (),
    "guessing": ("inspection", "columns"),
    "inspection": ("run", "columns"),
    "validation": ("run",),
    "variants": ("run",),
    "paper": ("run",),
    "__init__": ("run",),
}
"""The same inside `experiment`: what stands above `run` does not know each other."""


def allowed(room: str, table: Mapping[str, Sequence[str]] = BUILDS_ON) -> set[str]:
    """All rooms that a room may import."""
    return {room, *(lower for below in table[room] for lower in allowed(below, table))}


def room_of(module: str) -> str:
    """The room of a dotted module name inside the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join((PACKAGE, *parts))


def called(node: ast.Call) -> str:
    """The last part of what is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def imported_modules(path: Path, source: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of every import of the package in a file: absolute, relative, inside functions, by string."""
    package = module_name(path, source).split(".")[:-1]  # of a module and of an __init__ alike
    found: list[tuple[int, str]] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            # `from palpate import physics` imports a room, `from palpate.physics import units` stays in it
            found += [(node.lineno, f"{start}.{a.name}" if is_room(start, a.name) else start) for a in node.names]
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            found += [(node.lineno, a.value) for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str]
    return [(line, name) for line, name in found if name.split(".")[0] == PACKAGE]


def is_room(start: str, name: str) -> bool:
    return start == PACKAGE and name in BUILDS_ON


def violations(source: Path) -> list[str]:
    """Everything in a tree of sources that the rules forbid."""
    problems: list[str] = []
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source).as_posix()
        room = room_of(module_name(path, source))
        if room not in BUILDS_ON:
            problems.append(f"{where}: the room {room!r} is not in the table")
            continue
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > LONGEST:
            problems.append(f"{where}: {length} lines, at most {LONGEST} are allowed")
        for line, name in imported_modules(path, source):
            if room_of(name) not in allowed(room):
                problems.append(f"{where}:{line}: {room} must not import {name}")
    return problems


def test_every_import_goes_downwards_and_no_module_is_too_long() -> None:
    assert violations(SOURCE) == []


def test_inside_experiment_imports_go_downwards_too() -> None:
    room, problems = SOURCE / "experiment", list[str]()
    assert {p.stem for p in room.iterdir() if p.name != "__pycache__"} == set(INSIDE_EXPERIMENT)
    for path in sorted(room.rglob("*.py")):
        part = path.relative_to(room).with_suffix("").parts[0]
        for line, name in imported_modules(path, SOURCE):
            if name.split(".")[1:2] == ["experiment"]:
                lower = name.split(".")[2] if name.count(".") > 1 else "__init__"
                if lower not in allowed(part, INSIDE_EXPERIMENT):
                    problems.append(f"{path.relative_to(room).as_posix()}:{line}: {part} must not import {name}")
    assert problems == []


def test_every_folder_of_the_package_is_in_the_table() -> None:
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert {"physics", "elements", "mechanisms", "objects"} <= folders
    assert folders <= set(BUILDS_ON)


def test_the_table_says_what_the_design_says() -> None:
    basic = {"errors", "files", "physics"}
    waist = {*basic, "tables", "yaml_problems", "elements", "mechanisms", "parts", "objects", "model"}
    assert allowed("elements") == {*basic, "elements"}
    assert allowed("model") == waist
    assert allowed("runtime") == {*waist, "runtime"}
    assert allowed("rendering") == {*waist, "runtime", "rendering"}
    assert allowed("motion") == {*basic, "findings", "tables", "drawing", "recording", "motion"}
    assert allowed("identify") == {*waist, "findings", "drawing", "recording", "motion", "identify"}
    assert allowed("export") == {*waist, "runtime", "export"}
    assert allowed("twin") == {*allowed("identify"), "progress", "runtime", "rendering", "experiment", "twin"}
    assert allowed("cli") == set(BUILDS_ON) - {"__main__"}


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("physics/a.py", "import palpate.model\n", "physics/a.py:1: physics must not import palpate.model"),
        ("physics/a.py", "from palpate.files import x\n", "physics/a.py:1: physics must not import palpate.files"),
        ("physics/a.py", "from palpate import model\n", "physics must not import palpate.model"),
        ("physics/a.py", "from palpate import Model\n", "physics must not import palpate"),
        ("physics/a.py", "import palpate\n", "physics must not import palpate"),
        ("physics/a.py", "from ..model import Model\n", "physics must not import palpate.model"),
        ("physics/a.py", "from .. import model\n", "physics must not import palpate.model"),
        ("physics/__init__.py", "from ..model import Model\n", "physics must not import palpate.model"),
        ("physics/deep/a.py", "from ...model import Model\n", "physics must not import palpate.model"),
        ("elements/a.py", "from palpate.mechanisms import Free\n", "elements must not import palpate.mechanisms"),
        (
            "recording/a.py",
            "def f():\n    from palpate.model import M\n",
            "recording/a.py:2: recording must not import",
        ),
        (
            "identify/a.py",
            "import importlib as i\ni.import_module('palpate.cli')\n",
            "identify must not import palpate.cli",
        ),
        ("report/a.py", "from palpate.twin import t\n", "report must not import palpate.twin"),
        ("__init__.py", "from palpate.cli import main\n", "__init__ must not import palpate.cli"),
        ("model.py", "from .identify import solve\n", "model must not import palpate.identify"),
        ("helpers/a.py", "", "helpers/a.py: the room 'helpers' is not in the table"),
        ("utils.py", "", "utils.py: the room 'utils' is not in the table"),
        ("physics/a.py", "x = 1\n" * 801, "physics/a.py: 801 lines, at most 800 are allowed"),
    ],
)
def test_the_checker_finds_what_is_forbidden(tmp_path: Path, path: str, text: str, problem: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    (found,) = violations(tmp_path)
    assert problem in found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("physics/a.py", "import numpy\nfrom . import b\nfrom .b import c\nfrom palpate.errors import PalpateError\n"),
        ("physics/deep/a.py", "from ..b import c\nfrom ...errors import PalpateError\n"),
        ("model.py", "from .elements import Element\nfrom palpate import errors\n"),
        ("cli/a.py", "import palpate\nfrom palpate import Model\nfrom palpate.recording import load\n"),
        ("__init__.py", "from palpate.model import Model\nfrom .twin import make\n"),
        ("physics/a.py", "x = 1\n" * 800),
    ],
)
def test_the_checker_lets_pass_what_is_allowed(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert violations(tmp_path) == []


# What other rooms may ask of mechanisms and elements, and who imports whom among the modules

DECLARING = ("elements", "mechanisms")


def classes_of(rooms: tuple[str, ...]) -> set[str]:
    """Names of the classes that these rooms define."""
    paths = [p for room in rooms for p in (SOURCE / room).rglob("*.py")]
    return {node.name for path in paths for node in nodes_of(path) if isinstance(node, ast.ClassDef)}


def asked(source: Path) -> dict[str, int]:
    """Module -> how often it asks with isinstance for a class that it imports from these rooms, or defines for them."""
    names, counts = classes_of(DECLARING), dict[str, int]()
    for path in sorted(source.rglob("*.py")):
        if room_of(module_name(path, source)) in DECLARING:
            continue
        imported = {
            alias.asname or alias.name
            for node in nodes_of(path)
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[1:2] in [[r] for r in DECLARING]
            for alias in node.names
            if alias.name in names
        }
        count = 0
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and called(node) == "isinstance":
                parts = [n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)]
                count += any(part in imported for part in parts)
        if count:
            counts[path.relative_to(source).as_posix()] = count
    return counts


def test_other_rooms_ask_what_is_declared_and_never_for_a_class() -> None:
    assert asked(SOURCE) == {}


def test_nobody_asks_a_mechanism_or_an_element_whether_it_has_a_member() -> None:
    """getattr and hasattr of a stated name on something that is called mechanism, linkage, element or e."""
    odd: list[str] = []
    for path in (p for p in sorted(SOURCE.rglob("*.py")) if room_of(module_name(p, SOURCE)) not in DECLARING):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and called(node) in ("hasattr", "getattr") and node.args:
                what = ast.unparse(node.args[0]).split(".")[-1]
                by_name = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
                if by_name and what in ("mechanism", "linkage", "element", "e"):
                    odd.append(f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}: {ast.unparse(node)}")
    assert odd == []


def imports_between_modules() -> dict[str, set[str]]:
    """Module -> modules that it imports at its top, under TYPE_CHECKING too; not those inside functions."""
    modules = {module_name(p, SOURCE).removesuffix(".__init__"): p for p in SOURCE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        tree = tree_of(path)
        top = [n for node in tree.body for n in (ast.walk(node) if isinstance(node, ast.If) else [node])]
        targets: set[str] = set()
        for node in top:
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                targets |= {
                    f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in modules else node.module
                    for a in node.names
                }
        graph[name] = {t for t in targets if t in modules and t != name}
    return graph


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules that each lead to all others of the set (strongly connected, more than one)."""

    def reached(start: str) -> set[str]:
        seen, todo = set[str](), [start]
        while todo:
            for target in graph[todo.pop()] - seen:
                seen.add(target)
                todo.append(target)
        return seen

    reach = {name: reached(name) for name in graph}
    return {frozenset(o for o in reach[n] if n in reach[o]) for n in graph if n in reach[n]}


def test_no_modules_import_each_other() -> None:
    assert cycles(imports_between_modules()) == set()


def test_the_search_for_cycles_finds_them() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
    assert cycles({"a": {"b"}, "b": set()}) == set()


SKIPPING = """
import pytest
from conftest import needs, needs_program, PACKAGES

def test_fine():
    pass

@pytest.mark.xfail
def test_known():
    assert False

def test_skips():
    needs("a_module_that_nobody_has", "mujoco")

def test_skips_program():
    PACKAGES["a-program-that-nobody-has"] = "gcc"
    needs_program("a-program-that-nobody-has")

@pytest.mark.real
def test_real(real_folder):
    assert real_folder.is_dir()
"""


@pytest.mark.parametrize(
    ("require", "real_is_there", "expected"),
    [
        ("", False, "1 passed, 3 skipped, 1 xfailed"),
        ("1", False, "2 failed, 1 passed, 1 skipped, 1 xfailed"),
        ("1", True, "2 failed, 2 passed, 1 xfailed"),
    ],
)
def test_where_everything_is_required_a_skip_is_a_failure(
    tmp_path: Path, require: str, real_is_there: bool, expected: str
) -> None:
    project = tmp_path / "project"
    (project / "tests").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("conftest.py"), project / "tests" / "conftest.py")
    (project / "tests" / "test_a.py").write_text(SKIPPING)
    (project / "pytest.ini").write_text("[pytest]\npythonpath = tests\nmarkers = real: x\naddopts = -ra\n")
    if real_is_there:
        (tmp_path / "shared" / "real").mkdir(parents=True)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=project,
        env={**os.environ, "PALPATE_REQUIRE_ALL": require, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in run.stdout
    assert "pip install 'palpate[mujoco]'" in run.stdout
    assert "sudo apt-get install gcc" in run.stdout
    assert run.returncode == (1 if require else 0)


def test_a_module_that_skips_as_a_whole_fails_where_everything_is_required(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path / "conftest.py")
    (tmp_path / "test_a.py").write_text("from conftest import needs\nneeds('a_module_that_nobody_has', 'mujoco')\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PALPATE_REQUIRE_ALL": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "PALPATE_REQUIRE_ALL=1 allows no skip, but" in run.stdout
