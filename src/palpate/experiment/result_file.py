"""Reading result.json: of this format version, whole, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from palpate.errors import FileProblem
from palpate.experiment.result import RESULT_FORMAT
from palpate.files import read_bytes

NEEDED = ("title", "stage", "parameters", "rms", "verdict", "provenance")
OF_A_PARAMETER = ("value", "unit", "ci95", "noise", "status")


def read_result(path: str | Path) -> dict[str, Any]:
    """The content of a result.json; of a folder, of the one in it."""
    path = Path(path)
    path = path / "result.json" if path.is_dir() else path
    try:
        data: Any = json.loads(read_bytes(path))
    except ValueError as error:
        raise FileProblem(path, f"the result is damaged ({error})", remedy="identify again") from error
    if not isinstance(data, dict) or "palpate_result" not in data:
        raise FileProblem(path, "this JSON is not a palpate result", remedy="give a result.json that palpate wrote")
    found = cast("dict[str, Any]", data)
    if found["palpate_result"] != RESULT_FORMAT:
        told = f"the result has format {found['palpate_result']}, this palpate reads format {RESULT_FORMAT}"
        raise FileProblem(path, told, remedy="identify again with this palpate, or read it with that which wrote it")
    missing = [key for key in NEEDED if key not in found]
    parameters = found.get("parameters")
    if not missing and isinstance(parameters, dict):
        entries = cast("dict[str, Any]", parameters)
        whole = {n: isinstance(e, dict) and all(key in e for key in OF_A_PARAMETER) for n, e in entries.items()}
        missing = [f"parameters.{n}" for n, good in whole.items() if not good]
    elif not missing:
        missing = ["parameters"]
    if missing:
        raise FileProblem(path, f"the result is damaged: {', '.join(missing)} is not whole", remedy="identify again")
    return found
