"""What all verbs share: options, progress, and the one place where a known error becomes one line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from inspect import Parameter, Signature, signature
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Annotated, Any, cast

import typer

import palpate
from palpate.errors import MissingExtra, PalpateError, UnknownName
from palpate.files import check_folder, write_text

KNOWN_ERROR, GATE_FAILED = 1, 3
PATIENCE_S = 2.0
"""What takes longer shows how far it is."""


def option(*names: str, **more: Any) -> Any:
    """Names of an option, and what it is for."""
    return typer.Option(*names[:-1], help=names[-1], **more)


def argument(what: str, **more: Any) -> Any:
    """An argument by what it is."""
    return typer.Argument(help=what, **more)


def one_of(names: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """What the shell completes an argument with; the names are asked for only then."""
    return {"autocompletion": lambda incomplete: [n for n in names() if n.startswith(incomplete)]}  # pyright: ignore


def objects() -> list[str]:
    """Names of the objects that ship, without importing what they are made of."""
    files = resources.files("palpate.objects").iterdir()
    return sorted(p.name.removesuffix(".yaml") for p in files if p.name.endswith(".yaml"))


Data = Annotated[Path | None, option("--data", "Folder of the recordings, if not the experiment file's.")]
OwnParts = Annotated[
    str | None,
    option("--parts", "Python file (or entry point) of your own parts in the model; it is run."),
]
_JSON = Annotated[bool, option("--json", "Print JSON instead of tables.")]
_QUIET = Annotated[bool, option("--quiet", "-q", "Print nothing but errors.")]
_VERBOSE = Annotated[bool, option("--verbose", "-v", "Name each step and the time it took.")]


class Steps:
    """What a verb calls as each step begins: seconds of the steps so far, a line for each with -v, a bar's position."""

    def __init__(self, title: str, *, verbose: bool) -> None:
        self.taken: list[dict[str, Any]] = []
        """Steps that have ended: `step`, `seconds` and `cpu_seconds`."""
        self.now: tuple[str, float] = (title, 0.0)
        """The step that goes on, and the share of the whole that was done when it began."""
        self._title, self._verbose, self._began = title, verbose, None

    def __call__(self, step: str, done: float) -> None:
        """A step begins, and the one before it has ended."""
        self.end()
        name = f"{self._title}: {step}"
        self.now, self._began = (name, max(done, self.now[1])), (step, perf_counter(), process_time())

    def end(self) -> None:
        """The last step has ended."""
        if self._began is None:
            return
        step, wall, cpu = self._began
        self._began, seconds = None, perf_counter() - wall
        taken = {"step": step, "seconds": round(seconds, 3), "cpu_seconds": round(process_time() - cpu, 3)}
        self.taken.append(taken)
        if self._verbose:
            typer.echo(f"{self._title}: {step}: {seconds:.2f} s", err=True)


@contextmanager
def progress(*, quiet: bool, verbose: bool, title: str) -> Generator[Steps]:
    """What to call as each step begins: a line a step with -v, else a bar on a terminal after two seconds."""
    steps = Steps(title, verbose=verbose and not quiet)
    if quiet or verbose or not sys.stderr.isatty():
        yield steps
        steps.end()
        return
    over = Event()
    bar = Thread(target=_draw, args=(steps, over), daemon=True)
    bar.start()
    try:
        yield steps
    finally:
        over.set()
        bar.join()


def _draw(steps: Steps, over: Event) -> None:
    """A bar with the share done, from the third second on; a step of which nobody knows how far it is only pulses."""
    if over.wait(PATIENCE_S):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description} …"), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        while True:
            step, done = steps.now
            bar.update(task, description=step, completed=done, total=1.0 if done else None)
            if over.wait(0.1):
                return


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb hands back: data for --json, what to print, what was written, and why a gate failed, if one did."""

    data: Any
    text: Callable[[], Any]
    paths: Sequence[Path] = ()
    failure: str = ""
    save: Path | None = None
    """A file for the data."""
    then: Callable[[], None] | None = None
    """What goes on after that, until it is interrupted."""


def verb(function: Callable[..., Done | None]) -> Callable[..., None]:
    """A command with --json, -q and -v: progress while it runs, then its result, and known errors in one line.

    The function's first parameter is what it calls as each step begins; the others are those of the command.
    """

    def run(*, as_json: bool, quiet: bool, verbose: bool, **given: Any) -> None:
        title = Path(str(given.get("experiment", given.get("path", function.__name__)))).stem
        try:
            with progress(quiet=quiet or (as_json and not verbose), verbose=verbose, title=title) as steps:
                done = function(steps, **given)
            if done is not None:
                _finish(done, as_json=as_json, quiet=quiet)
        except PalpateError as error:
            typer.echo(f"palpate: {error}", err=True)
            raise typer.Exit(KNOWN_ERROR) from None
        except KeyboardInterrupt:
            typer.echo("palpate: interrupted; no half-written file is left", err=True)
            raise typer.Exit(130) from None

    _, *parameters = signature(function, eval_str=True).parameters.values()
    shared = {"as_json": _JSON, "quiet": _QUIET, "verbose": _VERBOSE}
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=a) for name, a in shared.items()]
    command = cast("Any", run)
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = Signature([p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters])
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _finish(done: Done, *, as_json: bool, quiet: bool) -> None:
    """Print a result as JSON or text, and what was written; a failed gate ends with its own exit code."""
    written = list(done.paths)
    if done.save is not None:
        save_json(done.save, done.data)
        written.append(done.save)
    try:
        if as_json:
            typer.echo(json.dumps(done.data, indent=1))
        elif not quiet:
            _show(done.text())
            if written:
                typer.echo(f"\nWritten: {', '.join(map(str, written))}")
        sys.stdout.flush()
    # `palpate ... | head` closes the pipe early; rich turns the one into the other
    except (BrokenPipeError, SystemExit):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
    if done.then is not None:
        done.then()
    if done.failure:
        if quiet:
            typer.echo(f"palpate: {done.failure}", err=True)
        raise typer.Exit(GATE_FAILED)


def _show(renderable: Any) -> None:
    """Print text or a table; that is wide enough for its columns where the output is no terminal."""
    if isinstance(renderable, str):
        typer.echo(renderable)
        return
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(renderable, highlight=False)


def save_json(path: Path, data: Any) -> None:
    """Write JSON into a file."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def save_page(path: Path, write: Callable[..., Any], *arguments: Any, **options: Any) -> list[Path]:
    """Write a page where its libraries are there; without them a message says so."""
    try:
        write(path, *arguments, **options)
    except MissingExtra as missing:
        typer.echo(f"palpate: {path.name} is not written: {missing}", err=True)
        return []
    return [path]


def model_file(path: Path) -> Path:
    """The model that a path names: a file, or the one in the folder of a result."""
    return path / "model.json" if path.is_dir() else path


def load_model(path: Path, parts: str | None) -> palpate.Model:
    """The model in a file, made of what ships or of the user's own parts too."""
    if parts is not None:
        return palpate.Model.load(path, palpate.load_parts(parts))
    try:
        return palpate.Model.load(path)
    except PalpateError as error:
        if isinstance(error.__cause__, UnknownName):
            raise PalpateError(f"{error}; if it is a part of your own, name its file: --parts mine.py") from error
        raise


def output_folder(out: Path | None, otherwise: str) -> Path:
    """Where results go: the given folder, else one of this name; a file of that name is refused."""
    folder = out if out is not None else Path(otherwise)
    check_folder(folder)
    return folder


def numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(x) for x in text.replace(";", ",").split(",")]
    except ValueError:
        raise PalpateError(f"{option} must be numbers with commas between them, not {text!r}") from None
