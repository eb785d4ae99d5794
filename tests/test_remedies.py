"""What messages tell people to do can be done: commands and options exist, keys are keys, extras can be installed."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from palpate.cli.app import app
from palpate.experiment.file.reading import ROOTS
from palpate.model import load_object, shipped_objects
from tests.command import palpate
from tests.sources import nodes_of

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "src" / "palpate"
IMPERATIVES = "write|state|give|declare|remove|leave out|say|set|add|name|use"


@cache
def sentences() -> dict[str, str]:
    """Every text in the code but docstrings, with where it is; what is filled in stands as {}."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        documents = {
            id(node.body[0].value)
            for node in nodes_of(path)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        inside = {id(v) for node in nodes_of(path) if isinstance(node, ast.JoinedStr) for v in node.values}
        for node in nodes_of(path):
            if id(node) in documents or id(node) in inside:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[f"{path.relative_to(SOURCE)}:{node.lineno}"] = node.value
            elif isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
                found[f"{path.relative_to(SOURCE)}:{node.lineno}"] = "".join(map(str, parts))
    return found


@cache
def verbs() -> dict[str, set[str]]:
    """Verb -> its options."""
    group: Any = typer.main.get_command(app)
    return {name: {o for p in verb.params for o in p.opts} for name, verb in group.commands.items()}


@cache
def keys() -> set[str]:
    """Every key that an experiment or object file may have, whatever it is in, and its full paths."""
    found = {"type", "name", "mechanism", "linkage", "elements", "acts_on", "samples", "column", "columns", "unit"}

    def walk(part: Any, at: str) -> None:
        for name, field in part.model_fields.items():
            found.update((name, f"{at}{name}"))
            for inner in _parts(field.annotation):
                walk(inner, f"{at}{name}.")

    for root in ROOTS.values():
        walk(root, "")
    for name in shipped_objects():
        model = load_object(name).to_dict()
        found |= {*model["mechanism"], *(option for e in model["elements"] for option in e)}
    return found


def _parts(annotation: Any) -> list[Any]:
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [part for inner in getattr(annotation, "__args__", ()) for part in _parts(inner)]


def test_every_command_that_a_message_names_exists() -> None:
    named = [(at, m) for at, text in sentences().items() for m in re.findall(r"`palpate ([a-z]+)([^`]*)`", text)]
    assert len(named) >= 3
    for at, (verb, rest) in named:
        assert verb in verbs(), f"{at}: there is no verb {verb!r}"
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in verbs()[verb], f"{at}: palpate {verb} has no {option}"


def test_every_option_that_a_message_names_exists() -> None:
    known = set[str]().union(*verbs().values(), {"--version", "--help"})
    named = [
        (at, o) for at, text in sentences().items() for o in re.findall(r"(?<![\w-])--[a-z][a-z-]+[a-z]\b(?!-)", text)
    ]
    assert len(named) > 20
    assert [(at, option) for at, option in named if option not in known] == []


def test_every_key_that_a_message_tells_to_write_exists() -> None:
    """`write stage: body`, `state stops:`, `declare it under uncertain:`."""
    pattern = rf"\b(?:{IMPERATIVES}) `?([a-z][a-z_]*(?:\.[a-z_]+)*):(?=[\s,;.)`]|$)"
    named = [(at, key) for at, text in sentences().items() for key in re.findall(pattern, text)]
    assert len(named) > 15
    assert [(at, key) for at, key in named if key not in keys()] == []


def test_every_extra_that_a_message_tells_to_install_exists() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    calls = [c for text in sentences().values() for c in re.findall(r"palpate\[([a-z]+)\]", text)]
    for path in SOURCE.rglob("*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("MissingExtra", "extra_library"):
                calls += [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
    assert calls
    assert set(calls) <= extras


def test_no_remedy_begins_with_a_name_that_a_capital_would_spoil() -> None:
    """A remedy's first letter becomes a capital: `Report.html`, `Method: balance` would be other names."""
    spoilt: list[str] = []
    for path in SOURCE.rglob("*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.keyword) and node.arg == "remedy" and isinstance(node.value, ast.Constant):
                first = str(node.value.value).split(" ")[0]
                if re.fullmatch(r"[a-z_.]+(\.[a-z]+|:)", first):
                    spoilt.append(f"{path.relative_to(SOURCE)}:{node.value.lineno}: {first}")
    assert spoilt == []


# -- the command line ------------------------------------------------------------------------------------------------


def test_help_has_the_verbs_in_the_order_of_the_work_and_cuts_nothing_off() -> None:

    said = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--help"]).stdout
    assert "..." not in said.replace("[ARGS]...", "")
    assert max(map(len, said.splitlines())) <= 80
    order = [word for word in re.findall(r"^  (\w+)", said, re.MULTILINE) if word in verbs()]
    assert order == list(verbs())
    assert order.index("new") < order.index("inspect") < order.index("identify") < order.index("export")


def test_the_shell_completes_verbs_objects_and_formats() -> None:
    for words, at, wanted in (("palpate ident", 1, "identify"), ("palpate twin draw", 2, "drawer")):
        env = {"COMP_WORDS": words, "COMP_CWORD": str(at), "_PALPATE_COMPLETE": "complete_bash"}
        assert wanted in CliRunner(env=env).invoke(app, [], prog_name="palpate").stdout
    env = {"COMP_WORDS": "palpate export door --to f", "COMP_CWORD": "4", "_PALPATE_COMPLETE": "complete_bash"}
    assert "fmu" in CliRunner(env=env).invoke(app, [], prog_name="palpate").stdout


def test_a_folder_is_not_taken_for_an_experiment_that_ships(tmp_path: Path) -> None:
    (tmp_path / "door").mkdir()
    said = palpate("identify", "door", cwd=tmp_path).stderr
    assert "door: is a folder, not an experiment file. There is no .yaml file in it: `palpate new` writes one" in said
    assert "--data FOLDER" in said
    (tmp_path / "door" / "body.yaml").write_text("object: door\n")
    for name in ("door", "door/", "./door"):
        said = palpate("identify", name, cwd=tmp_path).stderr
        assert "is a folder" in said
        assert "give door/body.yaml" in said.lower()


def test_an_export_is_named_after_its_object_and_spares_that_of_another(tmp_path: Path) -> None:
    drawer = load_object("drawer")
    for name, mass in (("monday", 6.0), ("friday", 7.0)):
        (tmp_path / name).mkdir()
        drawer.with_values([mass, 3.0, 2.0], model_of="body").save(tmp_path / name / "model.json")
    done = palpate("export", "monday", "--to", "urdf", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "drawer-urdf/drawer.urdf" in done.stdout
    assert palpate("export", "monday", "--to", "urdf", cwd=tmp_path).returncode == 0
    before = (tmp_path / "drawer-urdf" / "drawer.urdf").read_bytes()
    refused = palpate("export", "friday", "--to", "urdf", cwd=tmp_path)
    assert refused.returncode == 1
    assert "is there already, of another model" in refused.stderr
    assert (tmp_path / "drawer-urdf" / "drawer.urdf").read_bytes() == before
    (again,) = re.findall(r"replace it with (-o \S+)", refused.stderr)
    assert palpate("export", "friday", "--to", "urdf", *again.split(), cwd=tmp_path).returncode == 0
    assert (tmp_path / "drawer-urdf" / "drawer.urdf").read_bytes() != before
