"""The commands as a user types them: a few in an interpreter of their own, the others in this one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread
from time import sleep
from typing import Any

import pytest

from palpate.cli.app import app
from palpate.cli.console import Steps
from palpate.experiment import Result, run_experiment
from palpate.experiment.inspection import inspect_recordings
from palpate.twin import TWINS
from palpate.twin.door import door_twin, write_door_twin
from palpate.twin.rolling import Segment, planar_twin, write_rolling_twin
from tests.command import palpate
from tests.door_files import SEED, SESSION
from tests.handle_files import SECONDS


def typed(*arguments: str | Path, cwd: Path | None = None) -> CompletedProcess[str]:
    """A command in an interpreter of its own."""
    command = [sys.executable, "-c", "from palpate.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=os.environ | {"COLUMNS": "160"}, check=False
    )


@pytest.fixture(scope="module")
def twin(short_handle_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(short_handle_folder, tmp_path_factory.mktemp("cli") / "twin")


@pytest.fixture(scope="module")
def identified(twin: Path) -> tuple[Path, CompletedProcess[str], Result]:
    """Where the handle was identified, what the command printed, and its result."""
    results: list[Result] = []

    def run(*arguments: Any) -> Result:
        results.append(run_experiment(*arguments))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.experiment.run_experiment", run)
        done = palpate("identify", twin / "handle.yaml", "-v", "--profile", "-o", twin / "out")
    return twin / "out", done, *results


@pytest.fixture
def identified_before(identified: tuple[Path, CompletedProcess[str], Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """The handle is known: where only what a command prints is asked, it need not be identified again."""
    monkeypatch.setattr("palpate.experiment.run_experiment", lambda *_: identified[2])


def test_identify_writes_result_and_model_prints_the_table_and_verbose_names_the_steps(
    identified: tuple[Path, CompletedProcess[str], Result],
) -> None:
    out, done, _ = identified
    assert done.returncode == 0, done.stderr
    assert "aligning the clocks" in done.stderr
    for part in ("95 % interval", "prior", "truth", "from data", "status", "RMS error", "kappa_eff", "Verdict: passed"):
        assert part in done.stdout, part
    assert {p.name for p in out.iterdir()} == {"result.json", "model.json", "report.html"}


def test_each_step_has_its_seconds_with_verbose_and_in_the_profile(
    identified: tuple[Path, CompletedProcess[str], Result],
) -> None:
    out, done, _ = identified
    steps = json.loads((out / "result.json").read_text())["profile"]
    printed = re.findall(r"^handle: (.*): (\d+\.\d\d) s$", done.stderr, re.MULTILINE)
    assert [name for name, _ in printed] == [s["step"] for s in steps]
    assert steps[-1]["step"] == "writing the report"
    for (_, seconds), step in zip(printed, steps, strict=True):
        assert step["seconds"] == pytest.approx(float(seconds), abs=0.006)
        assert step["cpu_seconds"] >= 0
    assert sum(s["seconds"] for s in steps) > 0.1


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a command writes to a terminal beside its output, with a bar from the start."""
    monkeypatch.setattr("palpate.cli.console.PATIENCE_S", 0.0)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")

    def run(*arguments: str | Path) -> str:
        ours, theirs = os.openpty()
        written: list[bytes] = []

        def watch() -> None:
            screen = os.fdopen(ours, "rb", buffering=0)
            with contextlib.suppress(OSError), screen:  # Linux: an error at its end
                while more := screen.read(4096):
                    written.append(more)

        watching, nothing = Thread(target=watch), contextlib.redirect_stdout(StringIO())
        watching.start()
        with os.fdopen(theirs, "w") as screen, contextlib.redirect_stderr(screen), nothing:
            app([str(a) for a in arguments], standalone_mode=False)
        watching.join()
        return b"".join(written).decode()

    return run


def test_a_terminal_shows_the_share_done_of_what_takes_longer(
    twin: Path, terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: Any) -> Any:
        sleep(0.4)  # long enough to be drawn
        return inspect_recordings(*given)

    monkeypatch.setattr("palpate.inspect_recordings", slowly)
    shown = terminal("inspect", twin / "wrench.mat", twin / "imu.csv")
    assert "inspect: aligning and comparing clocks" in shown
    assert " 30%" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # nothing of it stays
    assert terminal("inspect", twin / "wrench.mat", "--json") == ""


def test_a_poor_motion_is_simulated_and_what_it_cannot_tell_is_called_so(tmp_path: Path) -> None:
    done = palpate("twin", "handle", tmp_path, "--seed", "3", "--poor")
    assert done.returncode == 0, done.stderr
    assert f"palpate identify {tmp_path / 'handle.yaml'}" in done.stdout
    done = palpate("identify", tmp_path / "handle.yaml", "--json", "-o", tmp_path / "out")
    statuses = [e["status"] for e in json.loads(done.stdout)["parameters"].values()]
    assert 1 <= statuses.count("prior-dominated") + statuses.count("not-identifiable") <= 6
    refused = palpate("twin", "door-handle", tmp_path, "--poor")
    assert refused.returncode == 1
    assert "--poor" in refused.stderr


@pytest.mark.usefixtures("identified_before")
def test_identify_as_json_prints_the_result_and_nothing_else(twin: Path, tmp_path: Path) -> None:
    done = palpate("identify", twin / "handle.yaml", "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["verdict"]["passed"]
    assert json.loads((tmp_path / "handle-result" / "result.json").read_text()) == data
    assert done.stderr == ""


@pytest.mark.usefixtures("identified_before")
def test_quiet_is_quiet(twin: Path, tmp_path: Path) -> None:
    quiet = palpate("identify", twin / "handle.yaml", "-q", "-o", tmp_path / "a")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert "profile" not in json.loads((tmp_path / "a" / "result.json").read_text())


def test_a_known_error_is_one_line_and_exit_1_and_leaves_nothing(tmp_path: Path) -> None:
    done = typed("identify", tmp_path / "none.yaml", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "none.yaml: there is no such file" in done.stderr
    assert not (tmp_path / "out").exists()


def test_usage_is_exit_2() -> None:
    assert palpate("identify").returncode == 2
    assert typed("nonsense").returncode == 2


def test_a_failed_gate_is_exit_3_with_the_reason(twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign of the load cell turned round: no such body exists. The picture of what lambda does is not looked at."""
    monkeypatch.setattr("palpate.experiment.stage.result.damping_curve", lambda *_: ())
    text = (twin / "handle.yaml").read_text().replace("device: Platform", "device: Platform, sign: on-handle")
    (twin / "turned.yaml").write_text(text)
    done = palpate("identify", twin / "turned.yaml", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "Verdict: failed" in done.stdout
    assert "wrong sign" in " ".join(done.stdout.split())
    assert (tmp_path / "out" / "result.json").exists()


def test_an_unwritable_folder_is_said(twin: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = palpate("identify", twin / "handle.yaml", "-o", tmp_path / "file")
    assert done.returncode == 1
    assert "is a file, not a folder" in done.stderr


def test_inspect_shows_channels_clocks_and_noise(twin: Path) -> None:
    done = palpate("inspect", twin / "wrench.mat", twin / "imu.csv")
    assert done.returncode == 0, done.stderr
    for part in ("Fx1_RawZero", "angular_rate.z", "rad/s", "rate, Hz", "noise", "dspace-mat", "microstrain-csv"):
        assert part in done.stdout, part
    data = json.loads(palpate("inspect", twin / "wrench.mat", "--json").stdout)
    (clock,) = data["recordings"][0]["clocks"]
    assert clock["samples"] == 1000 * SECONDS
    force = next(c for c in data["recordings"][0]["channels"] if c["name"] == "Fx1_RawZero")
    assert 0.1 < force["noise"] < 0.2  # the twin's 0.15 N


def test_inspect_refuses_what_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir,\n")
    done = palpate("inspect", tmp_path / "letter.txt")
    assert done.returncode == 1
    assert "letter.txt" in done.stderr


def test_twin_refuses_an_unknown_kind(tmp_path: Path) -> None:
    done = palpate("twin", "dor-handle", tmp_path)
    assert done.returncode == 1
    assert "Did you mean 'door-handle'" in done.stderr


@pytest.mark.usefixtures("short_handles")
def test_demo_runs_every_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short recordings: the paper's, four times as long, are fitted in the studies and by `make demo`."""
    short = partial(write_door_twin, twin=door_twin(SEED, session=SESSION))
    ahead = (Segment("train", 4.0, 16.0, ("push", "lift", "mixed")), Segment("test", 18.5, 22.0, ("mixed",)))

    def barrow(folder: Path) -> Path:
        return write_rolling_twin(folder, planar_twin(1, segments=ahead))

    monkeypatch.setattr("palpate.twin.TWINS", {**TWINS, "door": short, "wheelbarrow": barrow})
    shares, called = list[float](), Steps.__call__
    monkeypatch.setattr(Steps, "__call__", lambda *a: (shares.append(a[2]), called(*a)))
    done = palpate("demo", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Verdict: passed") == 4  # wheelbarrow and door, each with its handle
    assert "Next:" in done.stdout
    for stage in ("wheelbarrow", "door"):
        assert (tmp_path / "demo" / stage / "model.json").exists()
    assert (tmp_path / "demo" / "door" / "report.html").exists()
    assert shares == sorted(shares)  # done, as the terminal shows it: handles and bodies, both objects
    assert (shares[0], len(set(shares)) > 30, shares[-1] < 1) == (0.0, True, True)


def test_help_does_not_wait_for_scipy() -> None:
    code = (
        "import sys; sys.argv = ['palpate', '--help']\n"
        "from palpate.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'scipy', 'polars', 'pydantic', 'numpy', 'ruamel'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version() -> None:
    assert palpate("--version").stdout.strip()[0].isdigit()
