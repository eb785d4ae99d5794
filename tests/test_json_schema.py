"""`palpate schema`: valid JSON Schema that takes every file that palpate takes, and refuses what is misspelt."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from palpate.experiment.file.json_schema import file_schema
from palpate.experiment.file.reading import shipped_experiments
from palpate.experiment.file.starting import starting_experiment, starting_names
from palpate.model import shipped_objects
from tests.command import palpate

PROJECT = Path(__file__).resolve().parents[1]
YAML_FILES = [*shipped_experiments().values(), *(PROJECT / "docs" / "examples").glob("*.yaml")]


def load(text: str) -> Any:
    return YAML(typ="safe").load(text)


def problems(data: Any) -> list[str]:
    kind = "object" if "name" in data else "motion" if data.get("stage") == "motion" else "experiment"
    return [f"{list(e.path)}: {e.message}" for e in validator(kind).iter_errors(data)]


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(file_schema(kind))


@pytest.mark.parametrize("kind", ["experiment", "motion", "object"])
def test_it_is_json_schema_and_printed(kind: str, tmp_path: Path) -> None:
    done = palpate("schema", kind)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert palpate("schema", kind, "-o", tmp_path / "s.json").returncode == 0
    assert json.loads((tmp_path / "s.json").read_text()) == printed


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda p: p.name)
def test_experiments_that_ship_are_valid(path: Path) -> None:
    assert problems(load(path.read_text())) == []


@pytest.mark.parametrize("name", starting_names())
def test_what_new_writes_is_valid(name: str) -> None:
    assert problems(load(starting_experiment(name))) == []


@pytest.mark.parametrize("name", shipped_objects())
def test_objects_that_ship_are_valid(name: str) -> None:
    assert problems(load(shipped_objects()[name].read_text())) == []


def test_twins_are_valid(door_folder: Path, short_handle_folder: Path) -> None:
    for path in (door_folder / "body.yaml", short_handle_folder / "handle.yaml"):
        assert problems(load(path.read_text())) == []


def test_mistakes_are_found() -> None:
    good = load(shipped_objects()["door"].read_text())
    assert problems({**good, "elements": [{"type": "viscos", "name": "b_v"}]})
    assert problems({**good, "mechanism": {"type": "hinge", "linkage": {"type": "four-bar", "length": [1, 1, 1, 1]}}})
    experiment = load(shipped_experiments()["door"].read_text())
    assert any("recordinsg" in p for p in problems({**experiment, "recordinsg": {}}))
    assert problems({**experiment, "method": "joined"})


def test_an_unknown_kind_is_refused() -> None:
    done = palpate("schema", "objects")
    assert done.returncode == 1
    assert "Did you mean 'object'?" in done.stderr
