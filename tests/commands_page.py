"""docs/commands.md from the commands themselves: `python -m tests.commands_page > docs/commands.md`."""

from __future__ import annotations

from typing import Any, cast

import typer

from palpate.cli.app import app


def commands_page() -> str:
    """Every verb with its arguments and options, as Markdown."""
    group = cast("Any", typer.main.get_command(app))
    lines = [
        "# Commands",
        "",
        "Made from the commands themselves (`make docs`). `palpate VERB --help` prints the same.",
        "",
        "Exit codes: 0 fine, 1 a known error in one line, 2 usage, 3 finished but a quality gate failed.",
    ]
    for name, command in sorted(group.commands.items()):
        lines += ["", f"## palpate {name}", "", str(command.help).strip(), "", f"    {_usage(name, command)}", ""]
        lines += ["| argument or option | meaning |", "|---|---|"]
        context = command.make_context(name, [], resilient_parsing=True)
        lines += [_row(p, context) for p in command.params]
    return "\n".join(lines) + "\n"


def _usage(name: str, command: Any) -> str:
    words = ["palpate", name]
    for p in command.params:
        if p.param_type_name == "argument":
            shown = f"{p.name.upper()}{'...' if p.nargs == -1 else ''}"
            words.append(shown if p.required else f"[{shown}]")
    return " ".join([*words, "[OPTIONS]"])


def _row(p: Any, context: Any) -> str:
    """Spelling and meaning as `--help` has them."""
    if p.param_type_name == "argument":
        spelling, meaning = p.name.upper(), str(p.help or "")
    else:
        spelling, meaning = p.get_help_record(context)
    return f"| `{spelling}` | {_plain(meaning)} |"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(commands_page(), end="")
