"""The result of an identification: result.json and model.json, documented and versioned."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileProblem
from palpate.experiment.file.reading import Experiment, recordings_of
from palpate.experiment.view import View
from palpate.files import read_bytes, sha256, write_text
from palpate.identify import Compressed, Solution
from palpate.identify.balance import Segment
from palpate.identify.solution import Estimate
from palpate.model import Model
from palpate.physics.arrays import FloatArray

RESULT_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Everything an identification found, as plain data (`data`, the content of result.json), and the model."""

    data: Mapping[str, Any]
    model: Model | None
    """None where a parameter is not known: a model with a guess inside would be believed."""
    solution: Solution
    view: View | None = None
    """What the figures show."""
    handle: Result | None = None
    """Of the handle's own stage, where that was run for the body."""
    handle_2: Result | None = None
    """Of a second handle's, where it is another one."""

    @property
    def passed(self) -> bool:
        """Whether every quality gate was passed."""
        return bool(self.data["verdict"]["passed"])

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write result.json and, where there is one, model.json, each atomically; returns their paths.

        A model.json of an earlier run that no longer holds is removed; the handle's results go into a folder of their
        own.
        """
        result, model = Path(folder) / "result.json", Path(folder) / "model.json"
        write_text(result, json.dumps(self.data, indent=1, allow_nan=False) + "\n")
        for name, handle in (("handle", self.handle), ("handle_2", self.handle_2)):
            if handle is not None:
                handle.save(Path(folder) / name)
        if self.model is None:
            model.unlink(missing_ok=True)
            return (result,)
        self.model.save(model)
        return result, model


def read_references(experiment: Experiment[Any]) -> dict[str, dict[str, float]]:
    """The reference values of an experiment file, by label."""
    found: dict[str, dict[str, float]] = {}
    for part in experiment.config.reference:
        if part.values is not None:
            found[part.label] = dict(part.values)
            continue
        path = experiment.source.parent / str(part.file)
        try:
            found[part.label] = {
                name: float(v["value"]) for name, v in json.loads(read_bytes(path))["parameters"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileProblem(
                path, f"holds no parameters with values ({error!r})", remedy="give a truth.json or result.json"
            ) from error
    return found


def parameter_entry(e: Estimate) -> dict[str, Any]:
    """An estimate as result.json has it."""
    return {
        "value": e.value,
        "unit": e.unit,
        "ci95": None if e.ci95 is None else list(e.ci95),
        "noise": e.noise,
        "pull": e.pull,
        "systematic": e.systematic,
        "attenuation": e.attenuation,
        "prior": e.prior,
        "information_from_data": e.information_from_data,
        "status": e.status.value,
    }


def rms_entry(part: Compressed, values: FloatArray, noise: list[float]) -> dict[str, dict[str, Any]]:
    """RMS error of each row (N, N m), with percent of the signal's range and the noise that explains a part of it."""
    return {
        row.name: {
            "value": float(v),
            "unit": row.unit,
            "percent_of_range": float(100 * v / r) if r > 0 else None,
            "noise": n,
        }
        for row, v, r, n in zip(part.model.mechanism.rows, values, part.range(), noise, strict=True)
    }


def provenance(experiment: Experiment[Any], segments: Mapping[str, Sequence[Segment]]) -> dict[str, Any]:
    """Where a result comes from: versions, files with checksums, segments, filtering."""
    files = [part.file for part in recordings_of(experiment).values()]
    return {
        "palpate": version("palpate"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "experiment": {"file": experiment.source.name, "sha256": sha256(experiment.source)},
        "recordings": [{"file": f, "sha256": sha256(experiment.path(f))} for f in files],
        "segments": {**{name: [list(s) for s in pairs] for name, pairs in segments.items()}, "unit": "s"},
        "filtering": experiment.config.filtering.model_dump(exclude_none=True),
    }
