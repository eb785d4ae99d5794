"""Objects of a user's own file: identified from the command line, and what the recording does not show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from palpate.experiment import read_experiment, run_experiment
from tests.command import palpate
from tests.oracles import gates_of_other_make as gates
from tests.test_docs import blocks


def sealed(run: gates.Run) -> gates.Run:
    """No spring, but a magnetic seal of 4 N m that lets go within 5 deg."""
    seal = 4.0 * np.exp(-np.maximum(run.q, 0) / 0.03)
    return replace(run, torque=run.torque - run.gate.spring_0 - run.gate.spring_1 * run.q + seal)


def fridge(folder: Path, *effects: gates.Effect, keys: str = "") -> tuple[Path, dict[str, float]]:
    """The refrigerator of docs/object-file.md, of other make."""
    path, truth = gates.write(folder, 0, sealed, *effects, keys=keys)
    ((_, block),) = blocks("object-file.md")
    (folder / "my-fridge.yaml").write_text(block, encoding="utf-8")
    path.write_text(path.read_text().replace("object: gate.yaml", "object: my-fridge.yaml"))
    return path, truth


def test_the_refrigerator_of_the_documentation_is_identified(tmp_path: Path) -> None:
    """Its prior of smoothness, with no other, was a KeyError."""
    path, truth = fridge(tmp_path)
    done = palpate("identify", path, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "out" / "result.json").read_text())["parameters"]
    for name in ("I", "b_v", "b_c"):
        assert found[name]["value"] == pytest.approx(truth[name], rel=0.02), name
    assert found["tau_2"]["value"] == pytest.approx(4 * np.exp(-0.05 / 0.03), abs=0.2)  # straight lines, a curved seal
    assert found["tau_6"]["value"] == pytest.approx(0, abs=0.1)


def test_a_test_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    path, _ = fridge(tmp_path)
    text = path.read_text()
    test = next(line for line in text.splitlines() if line.startswith("  test:"))
    path.write_text(text.replace(test, "  test: [80, 80.1]"))
    said = run_experiment(read_experiment(path)).data
    assert any("s of the test segments can be used: they prove next to nothing" in w for w in said["warnings"])
    static = next(line for line in text.splitlines() if line.startswith("  static:"))
    path.write_text(text.replace(test, "  test: [0.5, 3.5]").replace(static, ""))
    done = palpate("identify", path, "--out", tmp_path / "out")
    assert done.returncode == 3
    assert "no sample of the test segments can be used: the object is at rest" in " ".join(done.stdout.split())


def test_what_is_fixed_at_zero_makes_a_model_that_every_verb_loads(tmp_path: Path) -> None:
    path, _ = gates.write(
        tmp_path, 0, keys="elements: [{type: end-stop, name: shut, at: 2 rad}]\nfixed: {shut_k: 400, shut_c: 0}\n"
    )
    palpate("identify", path, "--out", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "model.json").read_text())["parameters"]["shut_c"]["value"] == 0
    done = palpate(
        "simulate", tmp_path / "out" / "model.json", "--torque", "5", "--for", "0.1", "-o", tmp_path / "s.csv"
    )
    assert done.returncode == 0, done.stderr
    done = palpate("export", tmp_path / "out", "--to", "c", "--even-if-failed", "-o", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    path.write_text(path.read_text().replace("shut_c: 0", "I: 0"))
    done = palpate("identify", path, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "fixed.I: 0 kg m2 is not possible" in done.stderr
