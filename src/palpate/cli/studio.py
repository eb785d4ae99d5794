"""palpate studio: look at recordings, pick segments, fit, feel and compare in the browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from palpate.cli.console import Done, argument, option
from palpate.progress import Tell


def studio(
    _: Tell,
    things: Annotated[
        list[Path] | None,
        argument("A folder, an experiment file, or recordings [default: this folder].", metavar="FOLDER"),
    ] = None,
    host: Annotated[
        str, option("--host", "Address to listen at; others than this machine's reach it then.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, option("--port", "Port [default: the first free one from 8765 on].", min=0, max=65535)
    ] = None,
    no_browser: Annotated[bool, option("--no-browser", "Print the address only.")] = False,
) -> Done:
    """Look, pick segments, fit, feel and compare in the browser. Changes go into the experiment file."""
    from palpate.studio.serve import start_studio

    started = start_studio(things or [Path()], host=host, port=port)
    text = f"The studio is open at\n  {started.address}\nCtrl-C ends it."
    return Done({"address": started.address}, lambda: text, then=partial(started.run, browser=not no_browser))
