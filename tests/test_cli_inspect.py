"""palpate inspect on plain tables, experiment files and closed pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from palpate.cli.app import app


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def clock(*arguments: str | Path) -> dict[str, Any]:
    done = inspect(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["recordings"][0]["clocks"][0]


def table(path: Path, header: str = "t", step: float = 2) -> Path:
    path.write_text(f"{header},Fx [N]\n" + "".join(f"{i * step},{i % 7}\n" for i in range(50)))
    return path


def test_times_that_look_like_milliseconds_get_a_hint_that_works(tmp_path: Path) -> None:
    path = table(tmp_path / "forces.csv")
    done = inspect(path)
    assert "times look like milliseconds: --time-unit ms" in done.stdout
    assert clock(path)["rate_hz"] == pytest.approx(0.5)
    told = inspect(path, "--time-unit", "ms")
    assert " 500 " in told.stdout
    assert "hint" not in told.stdout


@pytest.mark.parametrize(("step", "header"), [(0.002, "t"), (2, "t [ms]"), (60, "t"), (0.5, "t"), (1.5, "t")])
def test_other_times_get_none(tmp_path: Path, step: float, header: str) -> None:
    assert clock(table(tmp_path / "forces.csv", header, step))["hint"] is None


def test_column_unit_and_rate_of_a_plain_table(tmp_path: Path) -> None:
    path = table(tmp_path / "forces.csv", "when")
    assert inspect(path).exit_code == 1
    assert clock(path, "--time", "when", "--time-unit", "ms")["rate_hz"] == pytest.approx(500)
    assert clock(path, "--time", "when")["rate_hz"] == pytest.approx(0.5)
    assert clock(path, "--rate", "250")["rate_hz"] == pytest.approx(250)
    for options, said in (
        (["--time", "wehn"], "Did you mean 'when'"),
        (["--time-unit", "ms"], "no column looks like time (when, Fx). Name it with the option time"),
        (["--time", "when", "--time-unit", "kg"], "--time-unit: 'kg' is not a unit of time"),
        (["--time", "when", "--rate", "5"], "both a time column and a rate"),
    ):
        done = inspect(path, *options)
        assert done.exit_code == 1
        assert said.lower() in done.stderr.lower(), done.stderr
        assert done.stderr.count("\n") == 1


def test_the_unit_alone_finds_the_column_of_parquet_and_commented_tables(tmp_path: Path) -> None:
    import polars as pl

    pl.DataFrame({"Time": [0.0, 4.0, 8.0], "fx": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "a.parquet")
    assert clock(tmp_path / "a.parquet", "--time-unit", "ms")["rate_hz"] == pytest.approx(250)
    (tmp_path / "b.csv").write_text("# made by hand, t was good\n# t;fx\n0;1\n5;2\n10;3\n")
    assert clock(tmp_path / "b.csv", "--time-unit", "ms")["rate_hz"] == pytest.approx(200)


def test_options_of_tables_are_refused_for_other_files_unless_a_table_is_with_them(
    short_handle_folder: Path, tmp_path: Path
) -> None:
    imu = short_handle_folder / "imu.csv"
    alone = inspect(imu, "--rate", "5")
    assert alone.exit_code == 1
    assert "no option 'rate'" in alone.stderr
    both = inspect(imu, table(tmp_path / "forces.csv"), "--time-unit", "ms", "--json")
    rates = [data["clocks"][0]["rate_hz"] for data in json.loads(both.stdout)["recordings"]]
    assert rates == pytest.approx([1000, 500], rel=1e-3)


EXPERIMENT = """\
recordings:
  wrench:
    file: forces.csv
    time: {column: t, unit: ms}
    columns: {fx: {column: Fx, unit: kN}}
  imu: {file: imu.csv, rate: 100 Hz}
imu_pose: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}
"""


def test_the_recordings_of_an_experiment_file_are_read_as_it_says(tmp_path: Path) -> None:
    table(tmp_path / "forces.csv")
    table(tmp_path / "imu.csv")
    path = tmp_path / "own.yaml"
    path.write_text(EXPERIMENT)
    wrench, imu = json.loads(inspect(path, "--json").stdout)["recordings"]
    assert wrench["clocks"][0]["rate_hz"] == pytest.approx(500)
    assert [(c["name"], c["highest"]) for c in wrench["channels"]] == [("fx", 6000.0)]
    assert imu["clocks"][0]["rate_hz"] == pytest.approx(100)
    shown = inspect(path).stdout
    assert "forces.csv" in shown
    assert "imu.csv" in shown

    path.write_text(EXPERIMENT.replace("    time: {column: t, unit: ms}\n", ""))
    assert "times look like milliseconds: recordings.wrench.time: {column: ..., unit: ms}" in inspect(path).stdout
    path.write_text(EXPERIMENT.replace("column: Fx", "column: Fz"))
    done = inspect(path)
    assert done.exit_code == 1
    assert "line 2: recordings.wrench: " in done.stderr
    assert "no column 'Fz'" in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_pipe_is_no_error(tmp_path: Path, options: list[str]) -> None:
    header = ",".join(["t", *(f"channel{i}" for i in range(1000))])  # more than a pipe holds
    (tmp_path / "wide.csv").write_text(header + "\n" + "\n".join(f"{t}" + ",1" * 1000 for t in range(3)) + "\n")
    command = [sys.executable, "-c", "from palpate.cli import main; main()", "inspect", str(tmp_path / "wide.csv")]
    # unbuffered, Python loses the rest of a long text in silence
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(10)
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()
    assert (running.wait(), errors) == (0, b"")


def test_names_of_a_file_without_a_header_are_given_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("".join(f"{k / 100:.2f};{k * 0.1:.1f};7;2\n".replace(".", ",") for k in range(9)))
    assert "--header t,angle" in inspect(tmp_path / "a.csv").stderr
    done = inspect(tmp_path / "a.csv", "--header", "t, q [deg],,F [N]", "--json")
    assert done.exit_code == 0, done.stderr
    channels = json.loads(done.stdout)["recordings"][0]["channels"]
    assert [(c["name"], c["unit"]) for c in channels] == [("q", "rad"), ("F", "N")]
