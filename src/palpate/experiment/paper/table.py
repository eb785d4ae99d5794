"""The paper's Table with ours beside it, as rows that terminal, page, CSV and LaTeX show alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from palpate.experiment.paper.choices import BODIES, HANDLES, PAPER, PaperColumn, Printed
from palpate.experiment.paper.reproduce import REPRODUCTION_FORMAT, Entry, Reproduction

Kind = Literal["parameter", "regression", "quality", "rms"]
WAYS = ("published", "uncorrected", "default")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the comparison; numbers in the unit named."""

    kind: Kind
    name: str
    unit: str
    paper: Printed | None
    published: float | None
    default: float | None
    ci95: tuple[float, float] | None = None
    """Of the default."""
    truth: float | None = None
    """Of a simulated copy: then differences are against it."""
    status: str = ""
    fixed: bool = False
    """Known beforehand, in both ways."""
    simulated: bool = False
    """Of a simulated copy, whose recordings are not the paper's: what has no truth is compared with nothing."""
    uncorrected: float | None = None
    """As published, but without the fixed wrench at the contact."""

    @property
    def against(self) -> float | None:
        """What ours is compared with: the truth where it is known, on a real copy the paper; choices with nothing."""
        if self.truth is not None:
            return self.truth
        if self.paper is None or self.simulated or self.kind == "regression":
            return None
        return self.paper.value

    def percent(self, value: float | None) -> float | None:
        """By how much a value differs from what it is compared with, percent."""
        against = self.against
        return None if value is None or not against else 100 * (value - against) / abs(against)

    @property
    def inside(self) -> bool | None:
        """Whether the default's interval holds what it is compared with; a printed number up to its rounding."""
        if self.ci95 is None or self.against is None:
            return None
        slack = self.paper.rounding if self.truth is None and self.paper is not None else 0.0
        return self.ci95[0] - slack <= self.against <= self.ci95[1] + slack


def comparison(entry: Entry) -> tuple[Line, ...]:
    """All lines of one identification: parameters in the paper's order, then regression, then RMS errors."""
    paper, simulated = PAPER[entry.name], entry.truth is not None
    published: Mapping[str, Any] = {} if entry.published is None else entry.published.data
    default: Mapping[str, Any] = {} if entry.default is None else entry.default.data
    lines = (*_parameters(entry, paper, published, default), *_regression(entry, paper, published, default))
    return tuple(replace(line, simulated=simulated) for line in lines)


def _parameters(
    entry: Entry, paper: PaperColumn, published: Mapping[str, Any], default: Mapping[str, Any]
) -> Iterator[Line]:
    one, other = published.get("parameters", {}), default.get("parameters", {})
    biases = (name for name in (*one, *other) if name.startswith("bias_"))
    for name in dict.fromkeys([*paper.parameters, *biases]):
        a, b = one.get(name, {}), other.get(name, {})
        ci, status = b.get("ci95"), str(b.get("status", ""))
        yield Line(
            "parameter",
            name,
            str(a.get("unit") or b.get("unit") or ""),
            paper.parameters.get(name),
            a.get("value"),
            b.get("value"),
            None if ci is None else (float(ci[0]), float(ci[1])),
            None if entry.truth is None else entry.truth.get(name),
            status,
            fixed=bool(a.get("fixed")) or status == "fixed",
            uncorrected=published.get("without_correction", {}).get(name),
        )


def _regression(
    entry: Entry, paper: PaperColumn, published: Mapping[str, Any], default: Mapping[str, Any]
) -> Iterator[Line]:
    spans, chosen = published.get("seconds", {}), default.get("provenance", {}).get("segments", {})
    other, test_s = _default_test(entry.name, default)
    train_s = sum(b - a for a, b in chosen["train"]) if "train" in chosen else None
    yield Line("regression", "train", "s", paper.train_s, spans.get("train"), train_s)
    yield Line("regression", "test", "s", paper.test_s, spans.get("test"), test_s)
    if paper.damping is not None:
        yield Line("regression", "lambda", "-", paper.damping, published.get("damping"), default.get("damping"))
    # of a joint fit it is of the spring's powers as well, which the paper's number does not hold
    kappa = None if default.get("procedure") == "joint" else default.get("kappa_eff_paper")
    yield Line("quality", "kappa, as the paper", "-", paper.kappa, published.get("kappa_eff_paper"), kappa)
    yield Line("regression", "kappa_eff of palpate", "-", None, None, default.get("kappa_eff"))
    if paper.marker_error_mm is not None:
        error = None if entry.marker_error_m is None else 1e3 * entry.marker_error_m
        yield Line("quality", "marker error", "mm", paper.marker_error_mm, error, None)
    one = published.get("rms", {}).get("test", {})
    for row, (value, percent) in paper.rms.items():
        a, b = one.get(row, {}), other.get(row, {})
        unit = "N" if row.startswith("f") else "N m"
        yield Line("rms", f"RMS {row}", unit, value, a.get("value"), b.get("value"))
        yield Line("rms", f"RMS {row}, of range", "%", percent, a.get("percent_of_range"), b.get("percent_of_range"))


def _default_test(name: str, default: Mapping[str, Any]) -> tuple[Mapping[str, Any], float | None]:
    """RMS errors on what the paper tests on, of the wheelbarrow's several test segments the last, and its seconds."""
    spans = default.get("provenance", {}).get("segments", {}).get("test", [])
    rms = default.get("rms", {}).get("test", {})
    several = [s for s in default.get("rms_of_segments", []) if s["segment"] == "test"]
    if several and name not in HANDLES:
        rms, spans = several[-1]["rms"], [(several[-1]["from_s"], several[-1]["to_s"])]
    return rms, sum(b - a for a, b in spans) if spans else None


def correction_text(entry: Entry) -> str:
    """What the authors' fixed wrench at the contact does; nothing where they have none."""
    lines = [x for x in comparison(entry) if x.uncorrected is not None and x.uncorrected != x.published and not x.fixed]
    if not lines:
        return ""
    wrench = f"as published: the fixed wrench {list(BODIES[entry.name].at_contact)} at the contact"
    if entry.truth is None:
        moved = ", ".join(f"{x.name} {x.uncorrected:.4g} ({x.published:.4g})" for x in lines)
        return f"{wrench} is of the authors; without it (with it): {moved}"
    known = [x for x in lines if x.against]
    moved = ", ".join(f"{x.name} {x.percent(x.uncorrected):+.1f} % ({x.percent(x.published):+.1f} %)" for x in known)
    return (
        f"{wrench} corrects an error of the authors' laboratory that a simulated copy does not have, so that a part of "
        f"the difference printed here is that wrench's own; without it (with it): {moved}"
    )


def outside(entry: Entry) -> tuple[Line, ...]:
    """Parameters whose interval does not hold what they are compared with."""
    return tuple(line for line in comparison(entry) if line.kind == "parameter" and line.inside is False)


def reproduction_data(runs: Reproduction) -> dict[str, Any]:
    """The content of reproduction.json."""
    from importlib.metadata import version

    return {
        "palpate_reproduction": REPRODUCTION_FORMAT,
        "palpate": version("palpate"),
        "modes": list(runs.modes),
        "files": [{"told" if k == "remark" else k: v for k, v in asdict(file).items()} for file in runs.files],
        "simulated": any(e.truth is not None for e in runs.entries.values()),
        "experiments": {name: _entry_data(entry) for name, entry in runs.entries.items()},
        "failures": list(runs.failures),
    }


def _entry_data(entry: Entry) -> dict[str, Any]:
    verdict = None if entry.default is None else entry.default.data["verdict"]
    return {
        "title": PAPER[entry.name].title,
        "table": [_line_data(line) for line in comparison(entry)],
        "published": None if entry.published is None else dict(entry.published.data),
        "default_verdict": verdict,
        "refused": dict(entry.refused),
        "notes": [*entry.notes, *filter(None, [correction_text(entry)])],
    }


def _line_data(line: Line) -> dict[str, Any]:
    return {
        **{name: getattr(line, name) for name in ("kind", "name", "unit", "truth", "inside", "status")},
        "paper": None if line.paper is None else line.paper.value,
        "default_ci95": None if line.ci95 is None else list(line.ci95),
        **{way: getattr(line, way) for way in WAYS},
        **{f"{way}_percent": line.percent(getattr(line, way)) for way in WAYS},
    }


def choices_text(name: str) -> tuple[tuple[str, str], ...]:
    """The authors' choices of one identification, in words."""
    if name in HANDLES:
        choices = HANDLES[name]
        first = choices.window.first
        return (
            ("clocks", f"load-cell sample {first['wrench']} and IMU sample {first['imu']} coincide"),
            ("derivative", f"Savitzky-Golay, {choices.slope[0]} ms, order {choices.slope[1]}, of the angular rate"),
            ("smoothing", f"Savitzky-Golay, {choices.smooth[0]} ms, order {choices.smooth[1]}, of the motion only"),
            ("noise of the IMU", "left in"),
        )
    choices = BODIES[name]
    lines = [
        ("clocks", ", ".join(f"{n} {k}" for n, k in choices.window.first.items()) + " coincide, at 100 Hz"),
        ("decimation", "every 10th sample of the load cell, without a filter before it"),
        ("smoothing", f"Savitzky-Golay, {10 * choices.smooth[0]} ms, order {choices.smooth[1]}, of the motion only"),
        ("handle", f"its weight alone is removed: {choices.handle_mass} kg at {choices.handle_com} m"),
        ("preload", f"mean over samples {choices.still[0]} to {choices.still[1]}"),
    ]
    if any(choices.at_contact):
        lines.append(("correction", f"a fixed wrench {list(choices.at_contact)} at the contact is added to the model"))
    if choices.quasi_static is not None:
        lines.append(("procedure", "two steps: the spring from slow samples, then the rest"))
    return tuple(lines)
