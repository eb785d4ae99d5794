"""Commands of README and pages that take long, and the test that runs them, or the same on a smaller recording."""

from __future__ import annotations

from pathlib import Path

ELSEWHERE = {
    "palpate new door": "test_new.py::test_a_new_file_parses_and_lacks_nothing_but_the_recordings",
    "palpate new wheelbarrow": "test_new.py::test_a_new_file_parses_and_lacks_nothing_but_the_recordings",
    "palpate variants mydoor/body.yaml -o door": "test_body_stage.py::test_variants_from_the_command_line",
    "palpate twin wheelbarrow mybarrow --seed 3": "test_cli.py::test_demo_runs_every_stage",
    "palpate identify mybarrow/body.yaml -o barrow": "test_cli.py::test_demo_runs_every_stage",
    "palpate simulate door/model.json --robot -o loop": "test_loop.py::test_the_command_runs_the_trial_and_draws_it",
    "palpate simulate door/model.json --audit --result door/result.json -o audit": (
        "test_passivity.py::test_the_command_audits_a_model"
    ),
    "palpate validate door mydoor/body.yaml": "test_validation.py::test_another_door_is_not_this_one",
    "palpate twin authors CLONE": "test_reproduce.py::test_every_file_of_a_whole_copy_is_found",
    "palpate twin authors clone": "test_reproduce.py::test_every_file_of_a_whole_copy_is_found",
    "palpate reproduce CLONE -o reproduction": "test_reproduce.py::test_the_default_is_inside_its_intervals",
    "palpate reproduce clone -o reproduction": "test_reproduce.py::test_the_default_is_inside_its_intervals",
    "palpate identify door --data CLONE -o door": "test_reproduce.py::test_the_default_is_inside_its_intervals",
}

for command, where in ELSEWHERE.items():
    file, _, name = where.partition("::")
    source = (Path(__file__).parent / file).read_text(encoding="utf-8")
    assert f"def {name}(" in source, (command, where)
