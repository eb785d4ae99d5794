"""The paper's Table with ours beside it, as rows that terminal, page, CSV and LaTeX show alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from palpate.experiment.paper.choices import BODIES, HANDLES, PAPER, PaperColumn, Printed
from palpate.experiment.paper.reproduce import REPRODUCTION_FORMAT, Entry, Reproduction

Kind = Literal["parameter", "regression", "quality", "rms"]


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

    @property
    def published_percent(self) -> float | None:
        """By how much the fit with the authors' choices differs, percent."""
        return _percent(self.published, self.against)

    @property
    def uncorrected_percent(self) -> float | None:
        """The same without the fixed wrench."""
        return _percent(self.uncorrected, self.against)

    @property
    def default_percent(self) -> float | None:
        """By how much palpate's own fit differs, percent."""
        return _percent(self.default, self.against)

    @property
    def inside(self) -> bool | None:
        """Whether the default's interval holds what it is compared with; a printed number up to its rounding."""
        if self.ci95 is None or self.against is None:
            return None
        slack = self.paper.rounding if self.truth is None and self.paper is not None else 0.0
        return self.ci95[0] - slack <= self.against <= self.ci95[1] + slack


def comparison(entry: Entry) -> tuple[Line, ...]:
    """All lines of one identification: parameters in the paper's order, then regression, then RMS errors."""
    paper = PAPER[entry.name]
    published = {} if entry.published is None else dict(entry.published.data)
    default = {} if entry.default is None else dict(entry.default.data)
    return (*_parameters(entry, paper, published, default), *_regression(entry, paper, published, default))


def _parameters(
    entry: Entry, paper: PaperColumn, published: Mapping[str, Any], default: Mapping[str, Any]
) -> list[Line]:
    one, other = published.get("parameters", {}), default.get("parameters", {})
    plain = published.get("without_correction", {})
    names = list(dict.fromkeys([*paper.parameters, *(n for n in (*one, *other) if n.startswith("bias_"))]))
    found: list[Line] = []
    for name in names:
        a, b = one.get(name, {}), other.get(name, {})
        ci, status = b.get("ci95"), str(b.get("status", ""))
        found.append(
            Line(
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
                simulated=entry.truth is not None,
                uncorrected=plain.get(name),
            )
        )
    return found


def _regression(
    entry: Entry, paper: PaperColumn, published: Mapping[str, Any], default: Mapping[str, Any]
) -> list[Line]:
    spans, simulated = published.get("seconds", {}), entry.truth is not None
    chosen = default.get("provenance", {}).get("segments", {})
    other, test_s = _default_test(entry.name, default)
    train_s = sum(b - a for a, b in chosen["train"]) if "train" in chosen else None
    lines = [
        Line("regression", "train", "s", paper.train_s, spans.get("train"), train_s),
        Line("regression", "test", "s", paper.test_s, spans.get("test"), test_s),
    ]
    if paper.damping is not None:
        damping = [d.get("damping") for d in (published, default)]
        lines.append(Line("regression", "lambda", "-", paper.damping, damping[0], damping[1]))
    kappa = [d.get("kappa_eff_paper") for d in (published, default)]
    if default.get("procedure") == "joint":
        kappa[1] = None  # of the spring's powers as well, which the paper's number does not hold
    lines.append(Line("quality", "kappa, as the paper", "-", paper.kappa, kappa[0], kappa[1], simulated=simulated))
    lines.append(Line("regression", "kappa_eff of palpate", "-", None, None, default.get("kappa_eff")))
    if paper.marker_error_mm is not None:
        error = None if entry.marker_error_m is None else 1e3 * entry.marker_error_m
        lines.append(Line("quality", "marker error", "mm", paper.marker_error_mm, error, None, simulated=simulated))
    one = published.get("rms", {}).get("test", {})
    for row, (value, percent) in paper.rms.items():
        a, b = one.get(row, {}), other.get(row, {})
        unit = "N" if row.startswith("f") else "N m"
        lines.append(Line("rms", f"RMS {row}", unit, value, a.get("value"), b.get("value"), simulated=simulated))
        shares = [x.get("percent_of_range") for x in (a, b)]
        lines.append(Line("rms", f"RMS {row}, of range", "%", percent, shares[0], shares[1], simulated=simulated))
    return lines


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
    known = [x for x in lines if x.uncorrected_percent is not None]
    moved = ", ".join(f"{x.name} {x.uncorrected_percent:+.1f} % ({x.published_percent:+.1f} %)" for x in known)
    return (
        f"{wrench} corrects an error of the authors' laboratory that a simulated copy does not have, so that a part of "
        f"the difference printed here is that wrench's own; without it (with it): {moved}"
    )


def outside(entry: Entry) -> tuple[Line, ...]:
    """Parameters whose interval does not hold what they are compared with."""
    return tuple(line for line in comparison(entry) if line.kind == "parameter" and line.inside is False)


def reproduction_data(found: Reproduction) -> dict[str, Any]:
    """The content of reproduction.json."""
    from importlib.metadata import version

    return {
        "palpate_reproduction": REPRODUCTION_FORMAT,
        "palpate": version("palpate"),
        "modes": list(found.modes),
        "files": [
            {"experiment": f.experiment, "recording": f.recording, "file": f.file, "state": f.state, "told": f.told}
            for f in found.files
        ],
        "simulated": any(e.truth is not None for e in found.entries.values()),
        "experiments": {name: _entry_data(entry) for name, entry in found.entries.items()},
        "failures": list(found.failures),
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
        "kind": line.kind,
        "name": line.name,
        "unit": line.unit,
        "paper": None if line.paper is None else line.paper.value,
        "truth": line.truth,
        "published": line.published,
        "published_percent": line.published_percent,
        "uncorrected": line.uncorrected,
        "uncorrected_percent": line.uncorrected_percent,
        "default": line.default,
        "default_ci95": None if line.ci95 is None else list(line.ci95),
        "default_percent": line.default_percent,
        "inside": line.inside,
        "status": line.status,
    }


def _percent(value: float | None, against: float | None) -> float | None:
    if value is None or against is None or against == 0:
        return None
    return 100 * (value - against) / abs(against)


def choices_text(name: str) -> tuple[tuple[str, str], ...]:
    """The authors' choices of one identification, in words."""
    if name in HANDLES:
        own = HANDLES[name]
        first = own.window.first
        return (
            ("clocks", f"load-cell sample {first['wrench']} and IMU sample {first['imu']} coincide"),
            ("derivative", f"Savitzky-Golay, {own.slope[0]} ms, order {own.slope[1]}, of the angular rate"),
            ("smoothing", f"Savitzky-Golay, {own.smooth} ms, order {own.order}, of the motion only"),
            ("noise of the IMU", "left in"),
        )
    own = BODIES[name]
    found = [
        ("clocks", ", ".join(f"{n} {k}" for n, k in own.window.first.items()) + " coincide, at 100 Hz"),
        ("decimation", "every 10th sample of the load cell, without a filter before it"),
        ("smoothing", f"Savitzky-Golay, {10 * own.smooth[0]} ms, order {own.smooth[1]}, of the motion only"),
        ("handle", f"its weight alone is removed: {own.handle_mass} kg at {own.handle_com} m"),
        ("preload", f"mean over samples {own.still[0]} to {own.still[1]}"),
    ]
    if any(own.at_contact):
        found.append(("correction", f"a fixed wrench {list(own.at_contact)} at the contact is added to the model"))
    if own.quasi_static is not None:
        found.append(("procedure", "two steps: the spring from slow samples, then the rest"))
    return tuple(found)
