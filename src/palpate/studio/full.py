"""The full identification in a process of its own: doubts, verdict and report, while the page stays quick.

`python -m palpate.studio.full FILE OUT` reads what is to be written into the experiment file from its input and prints
a line of JSON for each step; `FullRun` is the other end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from palpate.errors import MissingExtra, PalpateError

NICE = 5
"""What a person waits for goes first."""

Ended = Callable[["FullRun", dict[str, Any]], None]
"""Told once of a run that came to a result, and that result."""


class FullRun:
    """One full identification; a newer one ends it."""

    def __init__(self, path: Path, text: str, revision: str, out: Path, ended: Ended) -> None:
        self.revision, self.out, self._ended = revision, out, ended
        self.state: dict[str, Any] = {"state": "running", "step": "starting", "done": 0.0, "revision": revision}
        self.result: dict[str, Any] | None = None
        """The content of result.json, once it is there."""
        command = [sys.executable, "-m", "palpate.studio.full", str(path), str(out)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, text=True, encoding="utf-8", **pipes)
        threading.Thread(target=self._follow, args=(text,), daemon=True).start()

    def _follow(self, text: str) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.write(text)
            process.stdin.close()
        last: dict[str, Any] = {}
        for line in process.stdout:
            with suppress(ValueError):
                last = json.loads(line)
                if "step" in last:
                    self.state = self.state | last
        process.wait()
        process.stdout.close()
        failed = {"state": "failed", "message": "the identification ended unexpectedly: try palpate identify"}
        try:
            if last.get("state") == "done":
                result = json.loads((self.out / "result.json").read_text(encoding="utf-8"))
                self._ended(self, result)  # quick answers follow before it is shown
                self.result = result
        finally:
            self.state = self.state | (last if "state" in last else failed)

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.state["state"] == "running"

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)


def main(path: str, out: str) -> None:
    """Identify as `palpate identify` does, and say how far it is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    if hasattr(os, "nice"):
        os.nice(NICE)
    text = sys.stdin.buffer.read().decode("utf-8")
    from palpate.experiment.file.reading import read_experiment
    from palpate.experiment.run import run_experiment
    from palpate.progress import portion
    from palpate.report.identification import write_report

    def tell(step: str, done: float) -> None:
        print(json.dumps({"step": step, "done": round(done, 3)}), flush=True)

    try:
        result = run_experiment(read_experiment(path, text=text), portion(tell, 0.0, 0.9))
        tell("writing the report", 0.9)
        folder = Path(out)
        result.save(folder)
        with suppress(MissingExtra):
            write_report(folder / "report.html", result)
        print(json.dumps({"state": "done", "done": 1.0, "passed": result.passed}), flush=True)
    except PalpateError as error:
        print(json.dumps({"state": "failed", "message": str(error)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
