"""The C compiler of this machine, where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from palpate.errors import PalpateError


def find_compiler() -> str | None:
    """The C compiler: what the variable CC names, else cc, gcc or clang; None if there is none."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        found = shutil.which(name) if name else None
        if found is not None:
            return found
    return None


def compile_c(compiler: str, sources: Sequence[Path], out: Path, *flags: str, shared: bool = False) -> None:
    """Compile strict C99 with optimisation into a program or a shared library."""
    linked = ["-dynamiclib" if sys.platform == "darwin" else "-shared", "-fPIC"] if shared else []
    command = [compiler, "-std=c99", "-O2", "-ffp-contract=off", *linked, *flags, *map(str, sources), "-o", str(out)]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise PalpateError(f"the compiler {compiler} refuses the generated C: {first}")
