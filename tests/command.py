"""The command line in this process: what a test asks of a verb does not need a new interpreter and its imports."""

from __future__ import annotations

import contextlib
from pathlib import Path
from subprocess import CompletedProcess

from typer.testing import CliRunner

from palpate.cli.app import app


def palpate(*arguments: str | Path, cwd: Path | None = None) -> CompletedProcess[str]:
    """Exit code, stdout and stderr of a command; an error that is not a known one is raised."""
    with contextlib.chdir(Path.cwd() if cwd is None else cwd):
        done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(a) for a in arguments], prog_name="palpate")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return CompletedProcess([], done.exit_code, done.stdout, done.stderr)
