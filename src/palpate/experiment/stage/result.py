"""The result of an identification: result.json and model.json, documented and versioned, and the view to draw."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import DataProblem, FileProblem, PalpateError
from palpate.experiment.file.poses import PosesPart
from palpate.experiment.file.reading import Experiment, recordings_of
from palpate.experiment.file.schema import HandleWeightPart, SensorPart, sensor_label
from palpate.experiment.file.sensors import listed, numbered, sensors_of, wrenches_of
from palpate.experiment.stage.compensation import Compensation
from palpate.experiment.stage.fit import Fit, damping_changes
from palpate.experiment.stage.ground import Ground, resistance, with_feet
from palpate.experiment.stage.imu_noise import expected_noise
from palpate.experiment.stage.inputs import Inputs, Sensor, Zero, motion_noise, position_noise, projected, zeros_of
from palpate.experiment.stage.lack import LackOfFit
from palpate.experiment.stage.placing import shown_as
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.recordings import Instrument, sensor_of
from palpate.experiment.stage.variations import taken_as_exact
from palpate.experiment.stage.view import View, picture
from palpate.experiment.tables import result_lines
from palpate.files import finite, read_bytes, sha256, write_text
from palpate.findings import Finding, Severity, sentences
from palpate.identify import Solution, compress, cross_validate
from palpate.identify.balance import Segment
from palpate.identify.diagnosis import weakest_direction
from palpate.identify.solution import Estimate, Status, damping_curve, estimates_frame
from palpate.mechanisms import Row
from palpate.model import Model
from palpate.physics.arrays import FloatArray, rms, runs
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.motion import Kinematics, wrench_transmission
from palpate.runtime.replay import Replay
from palpate.tables import html, plain

RESULT_FORMAT = 2
TRUTH_FILES = ("truth.json", "palpate-truth.json")
"""Where the truth is known, the recordings are simulated: `palpate twin` writes it beside them."""
NEEDED = ("title", "stage", "parameters", "rms", "verdict", "provenance")
OF_A_PARAMETER = ("value", "unit", "ci95", "noise", "status")
"""What a result.json, and each of its parameters, must hold to be read."""
_SHOWN = 6
"""Numbers in the short form of a result."""
WRENCH_AXES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
DRIVEN_BY = {
    "body": "body (pre-sensor part): drive it with the wrench of each sensor minus its zero",
    "whole": "whole (body and handle): drive it with the person's wrench, that of the handle compensated",
    "weight-only": "weight-only (of the handle only its weight compensated, as the paper's authors): for reproduction",
}
ZEROING = {
    "handle": "sensor zeroed without the handle; the remaining bias was estimated and is not part of this model",
    "still": "mean while nobody touched the handles",
    "estimated": "estimated with the parameters",
    "none": "as recorded",
}
SUM_ONLY = (
    "the motion shows only what the zeros add up to in the object's frame, six numbers; they are split "
    "between the sensors by least squares, weighted by each sensor's accuracy"
)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A fit with all that a gate may ask about, and that its result tells."""

    experiment: Experiment[Any]
    prepared: Prepared
    fit: Fit
    rms: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """train, test, ... -> row -> value, unit, percent_of_range, noise."""
    refused: Mapping[str, Finding]
    """Parameters that have no number, and why."""
    replay: Replay | None
    lack: LackOfFit | None = None
    compensation: Compensation | None = None

    @property
    def config(self) -> Any:
        """What the experiment file says."""
        return self.experiment.config

    @property
    def solution(self) -> Solution:
        """Of the fit."""
        return self.fit.solution

    @property
    def model(self) -> Model:
        """With its mechanism."""
        return self.fit.inputs.model

    def shown(self, position: float, spec: str) -> str:
        """A position of the main coordinate for people, with a number format."""
        return shown_as(self.model.mechanism.position_units[0])(position, spec)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """Everything that an identification says, as plain data (`data`, the content of result.json), and the model."""

    data: Mapping[str, Any]
    model: Model | None
    """None where a parameter is not known: a model with a guess inside would be believed."""
    fitted: Solution | None
    """None of a result that was loaded from its file."""
    findings: tuple[Finding, ...] = ()
    """What the checks noticed, as data; those that are fatal fail the verdict."""
    view: View | None = None
    """What the figures show."""
    handles: tuple[Result, ...] = ()
    """Of the handles, where those were identified first."""

    @property
    def solution(self) -> Solution:
        """The fit with all its statistics, which only a result that was just made has."""
        if self.fitted is None:
            remedy = "print(result) and result.to_dataframe() show its numbers; run_experiment makes a new solution"
            raise DataProblem(str(self.data["title"]), "a result from a file holds no solution", remedy=remedy)
        return self.fitted

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """A result that `save` or `palpate identify` wrote: its folder, or the result.json in it.

        It has all numbers and the model, not the measured signals: what `plot` draws is in report.html.
        """
        data, folder = read_result(path), Path(path) if Path(path).is_dir() else Path(path).parent
        model = Model.load(folder / "model.json") if (folder / "model.json").is_file() else None
        handles = [folder / numbered("handle", i + 1) for i in range(len(data.get("handles") or ()))]
        return cls(
            data,
            model,
            None,
            tuple(Finding(**{**f, "severity": Severity(f["severity"])}) for f in data.get("findings", ())),
            handles=tuple(cls.load(handle) for handle in handles if (handle / "result.json").is_file()),
        )

    def __str__(self) -> str:
        """What `palpate identify` prints."""
        return plain(*result_lines(self.data)).lstrip("\n")

    def __repr__(self) -> str:
        """A line for the verdict and one for the numbers: print shows all."""
        verdict = "passed" if self.passed else f"failed: {', '.join(self.data['verdict']['reasons'][:1])}"
        entries = list(self.data["parameters"].items())
        known = {n: "not known" if e["value"] is None else f"{e['value']:.4g} {e['unit']}" for n, e in entries[:_SHOWN]}
        numbers = (f"{name} = {value}" for name, value in known.items())
        more = ", ..." if len(entries) > _SHOWN else ""
        return f"<Result {self.data['title']!r}, {verdict}\n {', '.join(numbers)}{more}; print(result) shows all>"

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return html(*result_lines(self.data))

    def plot(self) -> Any:
        """Motion, measured and estimated effort and what is left between them, as a Matplotlib figure."""
        if self.view is None:
            remedy = "see the figures in report.html beside it, or identify again with run_experiment"
            raise DataProblem(str(self.data["title"]), "a result from a file holds no signals to plot", remedy=remedy)
        return self.view.plot(str(self.data["title"]))

    def to_dataframe(self, *, pandas: bool = False) -> Any:
        """A row for each parameter, as a Polars data frame (of pandas: where installed)."""
        entries = self.data["parameters"]
        return estimates_frame(entries, {name: e.get("words", "") for name, e in entries.items()}, pandas=pandas)

    @property
    def passed(self) -> bool:
        """Whether every quality gate was passed."""
        return bool(self.data["verdict"]["passed"])

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write result.json and, where there is one, model.json, each atomically; returns their paths.

        A model.json of an earlier run that no longer holds is removed; handles' results go into folders of their own.
        """
        result, model = Path(folder) / "result.json", Path(folder) / "model.json"
        write_text(result, json.dumps(self.data, indent=1, allow_nan=False) + "\n")
        for i, handle in enumerate(self.handles):
            handle.save(Path(folder) / numbered("handle", i + 1))
        if self.model is None:
            model.unlink(missing_ok=True)
            return (result,)
        self.model.save(model)
        return result, model


def build_result(case: Case, findings: tuple[Finding, ...]) -> Result:
    """Put a judged fit into the words of result.json."""
    experiment, prepared, fit, refused = case.experiment, case.prepared, case.fit, case.refused
    config, solution, inputs = case.config, case.solution, fit.inputs
    reasons, warnings = sentences(findings, fatal=True), sentences(findings, fatal=False)
    model, assumed = None, dict[str, float]()
    if not refused:
        model = solution.model.of_object()
        if prepared.ground is not None:
            model, assumed = with_feet(model, prepared.ground.points)
        model = model.with_values(model.p, **_about(experiment, fit, reasons, assumed))
    f, c, words = inputs.filtering, solution.conditioning, inputs.model.words
    damped, weak = solution.problem.penalty.damped.any(), weakest_direction(solution)
    # by the mechanism's nature, no motion would show it
    hidden = weak is None or (refused and len(inputs.mechanism.rows) == 1) or weak.first in inputs.mechanism.hidden
    data: dict[str, Any] = {
        "palpate_result": RESULT_FORMAT,
        "title": config.title or experiment.source.stem,
        "stage": config.stage,
        "model_of": _model_of(config),
        "parameters": {
            e.name: parameter_entry(e, words.get(e.name, ""), free_body=inputs.imu is not None)
            for e in solution.estimates
        },
        "shapes": _shapes(fit),
        "references": read_references(experiment),
        "rms": case.rms,
        "rms_of_segments": [
            {
                "segment": kind,
                "from_s": s[0],
                "to_s": s[1],
                "rms": case.rms.get(kind, {}) if alone else rms_of(fit, [s]),
            }
            for kind, alone in ((kind, len(prepared.segments[kind]) == 1) for kind in ("train", "test"))
            for s in prepared.segments[kind]
        ],
        "rms_below_hz": f.bandwidth_hz if inputs.imu is not None else None,
        "kappa": finite(c.kappa),
        "kappa_eff": finite(c.kappa_eff),
        "kappa_eff_paper": finite(c.kappa_eff_paper),
        "damping": solution.damping,
        "damping_implies_std": finite(solution.uncertainty.level / solution.damping) if solution.damping else None,
        "damping_curve": [
            {**asdict(point), "kappa_eff": finite(point.kappa_eff)}
            for point in (damping_curve(solution.problem, solution.theta) if damped else ())
        ],
        "damping_changes": damping_changes(fit),
        "factor": config.factor,
        "procedure": config.procedure,
        "method": config.method,
        "joint": _joint(fit),
        "rows": config.rows,
        "weakest_direction": None if weak is None or hidden else asdict(weak),
        "excitation": excitation(fit.balance.kinematics, inputs.inside(fit.plan.segments)),
        "systematic": {source: dict(by) for source, by in fit.sources.items()},
        "taken_as_exact": taken_as_exact(fit),
        "zero": _zero(fit, sensor_of(config.sensor), [key.label for key in sensors_of(config)]),
        "handles": _handles(experiment, prepared, fit),
        "replay": replay_entry(case.replay, fit.inputs.stops),
        "clocks": _clocks(prepared.instruments),
        "motion": _motion(inputs, config.motion_from),
        "mechanism": _mechanism(prepared, fit, assumed, refused, _frame(config, inputs)),
        "compensation": None if case.compensation is None else asdict(case.compensation),
        "lack_of_fit": None if case.lack is None else case.lack.as_json(inputs.mechanism.rows),
        "findings": [finding.as_json() for finding in findings],
        "verdict": {"passed": not reasons, "reasons": reasons},
        "warnings": warnings,
        "provenance": provenance(experiment, prepared.segments)
        | {"derivatives": {"window_s": f.window_s, "order": f.order}, "low_pass_hz": f.bandwidth_hz},
    }
    return Result(data, model, solution, findings, picture(prepared, fit, case.replay), prepared.handles)


def _joint(fit: Fit) -> dict[str, Any] | None:
    """Noise of the measured rows, and by how many standard deviations the data want what was known only so well."""
    if fit.joint is None:
        return None
    rows = zip(fit.inputs.mechanism.rows, fit.joint.noise.tolist(), strict=True)
    return {
        "noise": {row.name: {"value": std, "unit": row.unit} for row, std in rows},
        "off": [{"name": name, "standard_deviations": by} for name, by in fit.joint.off],
        "excess": fit.joint.excess,
        "apart": dict(fit.joint.apart),
    }


def _model_of(config: Any) -> str:
    return "handle" if config.stage == "handle" else str(config.model_of)


def parameter_entry(e: Estimate, words: str = "", *, free_body: bool = False) -> dict[str, Any]:
    """An estimate as result.json has it: without a value where that is unknown, unless of a free body's ten."""
    unknown = e.status is Status.NOT_IDENTIFIABLE and not free_body
    return {
        "words": words,
        "value": None if unknown else e.value,
        "unit": e.unit,
        "ci95": None if e.ci95 is None or unknown else list(e.ci95),
        **{key: getattr(e, key) for key in ("noise", "pull", "systematic", "model", "attenuation", "prior")},
        "information_from_data": e.information_from_data,
        "status": e.status.value,
    }


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
    content = cast("dict[str, Any]", data)
    if content["palpate_result"] != RESULT_FORMAT:
        wrong = f"the result has format {content['palpate_result']}, this palpate reads format {RESULT_FORMAT}"
        raise FileProblem(path, wrong, remedy="identify again, or read it with the version that wrote it")
    entries = content.get("parameters")
    missing = [key for key in NEEDED if key not in content or (key == "parameters" and not isinstance(entries, dict))]
    for name, entry in (cast("dict[str, Any]", entries) if not missing else {}).items():
        if not isinstance(entry, dict) or any(key not in entry for key in OF_A_PARAMETER):
            missing.append(f"parameters.{name}")
    if missing:
        raise FileProblem(path, f"the result is damaged: {', '.join(missing)} is not whole", remedy="identify again")
    return content


def read_references(experiment: Experiment[Any]) -> dict[str, dict[str, float]]:
    """The reference values of an experiment file, by label."""
    references: dict[str, dict[str, float]] = {}
    for part in experiment.config.reference:
        if part.values is not None:
            references[part.label] = dict(part.values)
            continue
        path = experiment.source.parent / str(part.file)
        try:
            entries = json.loads(read_bytes(path))["parameters"].items()
            references[part.label] = {name: float(v["value"]) for name, v in entries}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            wrong = 'holds no values such as {"parameters": {"m": {"value": 6.4, "unit": "kg"}}}'
            raise FileProblem(path, wrong, remedy="give a truth.json or result.json") from error
    return references


def provenance(experiment: Experiment[Any], segments: Mapping[str, Sequence[Segment]]) -> dict[str, Any]:
    """Where a result comes from: versions, files with checksums, segments, filtering."""
    files, parts = [part.file for part in recordings_of(experiment).values()], experiment.parts
    files += [part.urdf for part in recordings_of(experiment).values() if isinstance(part, PosesPart) and part.urdf]
    own = {"parts": {"file": experiment.config.parts, "sha256": parts.sha256 or None}} if parts.source else {}
    return own | {
        "palpate": version("palpate"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "experiment": {"file": experiment.source.name, "sha256": experiment.sha256},
        "recordings": [{"file": f, "sha256": sha256(experiment.path(f))} for f in files],
        "simulated": any(
            (folder / name).is_file() for folder in {experiment.source.parent, experiment.data} for name in TRUTH_FILES
        ),
        "segments": {**{name: [list(s) for s in pairs] for name, pairs in segments.items()}, "unit": "s"},
        "filtering": experiment.config.filtering.model_dump(),
    }


# --- errors -----------------------------------------------------------------------------------------------------------


def rms_of_kinds(prepared: Prepared, fit: Fit) -> dict[str, Any]:
    """RMS errors by kind of segment, and of the train segments as they come out when each part is left out."""
    kinds = ("train", "test", "quasi_static")
    noise = None if fit.inputs.imu is None else expected_noise(fit.inputs)
    entries = {kind: rms_of(fit, prepared.segments[kind], noise) for kind in kinds}
    unseen = cross_validate(fit.train, fit.solution)
    ratios = (unseen / np.maximum(fit.train.rms(fit.p), 1e-300)).tolist()
    entries["cross_validated"] = {
        row: entry | {key: None if entry[key] is None else r * entry[key] for key in ("value", "percent_of_range")}
        for r, (row, entry) in zip(ratios, entries["train"].items(), strict=False)
    }
    return {kind: entry for kind, entry in entries.items() if entry}


def rms_of(fit: Fit, segments: Sequence[Segment], expected: Sequence[float] | None = None) -> dict[str, Any]:
    """RMS error of each row (N, N m), with percent of the range and the noise that explains a part of it.

    With markers against the wrench at the motion's rate, not smoothed further; with an IMU in the band of the fit.
    expected: what noise is expected in each row of a motion by an IMU, where that is known already.
    """
    if not segments:
        return {}
    rows = fit.inputs.mechanism.rows
    if fit.inputs.imu is not None:
        fitted = tuple(segments) == fit.plan.segments and not fit.plan.robust
        part = fit.train if fitted else compress(replace(fit.balance, lowpass=fit.inputs.filtering.lowpass), segments)
        values, spans, noise = part.rms(fit.p), part.range(), expected or expected_noise(fit.inputs)
    else:
        measured, static, noise = fit.rows(segments)[:, :, -1], fit.inputs.static, [None] * len(rows)
        if not len(measured):
            return {}
        if fit.inputs.unloaded:  # it is moved by what is known of it, as a load cell would have shown it
            known = [fit.inputs.belief.fixed.get(name, 0.0) for name in fit.inputs.model.parameters]
            measured = -fit.rows(segments)[:, :, :-1] @ np.array(known)
        values, spans = rms(fit.residuals(segments), 0), np.ptp(measured, axis=0)
        if static is not None:  # while nobody touches the object
            at = slice(*fit.balance.indices(static))
            noise = [finite(float(v)) for v in np.nanstd(projected(fit.balance)[at], axis=0)]
    return {r.name: rms_entry(r, v, s, noise=n) for r, v, s, n in zip(rows, values, spans, noise, strict=True)}


def rms_entry(row: Row, value: float, span: float, **more: float | None) -> dict[str, Any]:
    """An RMS error of a row, with its unit and its share of the range."""
    share = float(100 * value / span) if span > 0 else None
    return {"value": float(value), "unit": row.unit, "percent_of_range": share, **more}


# --- parts of result.json ---------------------------------------------------------------------------------------------


def _shapes(fit: Fit) -> dict[str, Any]:
    """Zone borders and widths, sizes of linkages: as given, or as the data say."""
    profiles = {} if fit.shaped is None else {p.name: p for p in fit.shaped.profiles}
    units = {s.name: s.unit for e in fit.inputs.model.elements for s in e.shapes}
    entries: dict[str, Any] = {}
    for name, value in fit.inputs.model.shapes.items():
        profile = profiles.get(name)
        ci = None if profile is None or profile.interval is None else list(profile.interval)
        status = "fixed" if profile is None else "identified" if ci is not None else "not-identifiable"
        entries[name] = {"value": value, "unit": units[name.rpartition(".")[2]], "ci95": ci, "status": status}
    for name, x in fit.links.items():
        ci = None if x.interval is None else list(x.interval)
        status = "identified" if x.told else "prior-dominated" if x.held else "not-identifiable"
        entries[name] = {"value": x.value, "unit": x.unit, "ci95": ci, "status": status, "stated": x.stated}
    return entries


def excitation(k: Kinematics, inside: Any) -> dict[str, dict[str, float]]:
    """RMS along each axis of specific acceleration (m/s2), angular rate (rad/s) and acceleration (rad/s2)."""
    spans = runs(inside)
    kinds = {"acceleration": k.specific_acceleration, "angular_rate": k.omega, "angular_acceleration": k.omega_dot}

    def rms_of_axis(signal: Any) -> float:
        x = np.broadcast_to(np.asarray(signal, dtype=float), inside.shape)
        total = sum(float(x[a:b] @ x[a:b]) for a, b in spans)
        if np.isfinite(total):
            return float(np.sqrt(total / max(1, sum(b - a for a, b in spans))))
        x = x[inside]
        return float(np.sqrt(np.nanmean(x**2))) if np.isfinite(x).any() else 0.0

    return {kind: dict(zip("xyz", map(rms_of_axis, signals), strict=True)) for kind, signals in kinds.items()}


def _zero(fit: Fit, accuracy: SensorPart, labels: Sequence[str]) -> dict[str, Any]:
    """Zeros of the load cells: where from, of each sensor, and how parameters change if they are known otherwise."""
    inputs = fit.inputs
    entry: dict[str, Any] = {"from": inputs.zero, "unit": "N, N m"}
    if inputs.zero == "still":
        entry["sensors"] = _named(zeros_of(inputs), labels)
    if inputs.zero == "estimated":
        total = np.array([fit.solution[p.name].value for p in SensorBias().parameters])
        entry["in_body_frame"] = dict(zip(WRENCH_AXES, total.tolist(), strict=True))
        entry["sensors"] = _named(split_zero(inputs.sensors, total, accuracy), labels)
        entry["note"] = SUM_ONLY
    if inputs.at_contact is not None:
        entry["at_contact"] = dict(zip(WRENCH_AXES, inputs.at_contact.tolist(), strict=True))
    entry["change_if"] = _zero_changes(fit) if inputs.mechanism.floor else {}
    return entry


def _named(zeros: FloatArray, labels: Sequence[str]) -> dict[str, dict[str, float]]:
    names = labels or ("sensor",)
    return {name: dict(zip(WRENCH_AXES, v, strict=True)) for name, v in zip(names, zeros.tolist(), strict=True)}


def split_zero(sensors: Sequence[Sensor], total: FloatArray, accuracy: SensorPart) -> FloatArray:
    """(sensors, 6): zeros in the sensors' frames that add up to `total` (6,) in the object's, the likeliest ones.

    Each is normal with its sensor's accuracy S: b_i = S W_i' (sum_j W_j S W_j')^-1 total (least squares of least
    length; Lawson and Hanson 1974).
    """
    S = np.diag(np.square([*accuracy.sigma_force, *accuracy.sigma_moment]))
    Ws = [wrench_transmission(s.T_body_sensor[:3, :3], s.T_body_sensor[:3, 3]) for s in sensors]
    shared = np.linalg.solve(sum(W @ S @ W.T for W in Ws), total)
    return np.array([S @ W.T @ shared for W in Ws])


def _vertical(fit: Fit, ground: Ground) -> dict[str, Any]:
    """How well it was known before; where the fit has up along the floor, and how well it knows both, about x and y."""
    before = float(np.linalg.norm(ground.root[:2], axis=1).max())
    vertical, floor = np.split(np.linalg.norm(fit.inputs.ground_root, axis=1), 2)
    known = {"up_std_rad": vertical.tolist(), "floor_std_rad": floor.tolist()}
    return {"text": ground.vertical, "std_rad": before, "up": fit.inputs.up.tolist()} | known


def _zero_changes(fit: Fit) -> dict[str, dict[str, float | None]]:
    """By how much parameters change when the zeros come from elsewhere: way -> parameter -> change.

    From the still segment only where there is one and the handles' weight is known.
    """
    inputs = fit.inputs
    known = inputs.static is not None and all(s.handle is not None for s in inputs.sensors)
    ways: list[Zero] = ["still", "estimated", "none"] if known else ["estimated", "none"]
    changes: dict[str, dict[str, float | None]] = {}
    for way in ways:
        if way == inputs.zero:
            continue
        try:
            there = fit.values_again(inputs.with_zero(way))
        except PalpateError:
            continue
        changes[way] = {e.name: finite(there[e.name] - e.value) for e in fit.solution.estimates if e.name in there}
    return changes


def _handles(experiment: Experiment[Any], prepared: Prepared, fit: Fit) -> dict[str, Any]:
    """The handle behind each sensor: its source, its numbers in the sensor's frame, what its identification said."""
    entries, given = dict[str, Any](), dict(listed(experiment.config, "handle"))
    run = [key for key, part in given.items() if isinstance(part, str) and not part.endswith(".json")]
    results = dict(zip(run if len(run) == len(prepared.handles) else given, prepared.handles, strict=False))
    for key, sensor in zip(sensors_of(experiment.config), fit.inputs.sensors, strict=False):
        name, part, result = key.label, key.handle, results.get(key.handle_key)
        if part is None or sensor.handle is None:
            continue
        weight = isinstance(part, HandleWeightPart)
        entries[name] = {
            "from": "stated weight" if weight else part,
            "phi": dict(zip(PHI_NAMES[:4] if weight else PHI_NAMES, sensor.handle.tolist(), strict=False)),
            "parameters": None if result is None else result.data["parameters"],
            "verdict": None if result is None else result.data["verdict"],
        }
    return entries


def _clocks(instruments: Mapping[str, Instrument]) -> dict[str, Any]:
    """Reference time minus each device's; the reference is motion capture where there is any, else the load cell."""
    entries: dict[str, Any] = {}
    for name, clock, o in ((name, i.clock, i.offset) for name, i in instruments.items() if i.clock is not None):
        entry = {"reference_minus_device_s": clock.offset_s, "std_s": clock.offset_std_s, "at_s": clock.at_s}
        entry |= {"drift_ppm": clock.drift_ppm if clock.drift_observed else None, "estimated": o is not None}
        if o is not None:
            entry |= {"std_s": o.std_s, "explained": finite(o.explained), "drift_ppm": finite(o.drift_ppm)}
            entry |= {"drift_std_ppm": finite(o.drift_std_ppm)}
        entries[name] = entry
    return entries


def _motion(inputs: Inputs, source: str) -> dict[str, Any]:
    """Which instruments tell it, and how well: noise of the state and its accelerations in the band of the fit."""
    names = (*inputs.mechanism.state, *inputs.mechanism.accelerations)
    units = dict(zip(names, inputs.mechanism.units, strict=True))
    told = inputs.imu is None and not inputs.filtering.published
    by = "IMU" if inputs.imu is not None else source
    noise = {n: {"value": finite(v), "unit": units[n]} for n, v in (motion_noise(inputs) if told else {}).items()}
    return {"from": by if inputs.smoothed is None else f"{by} and IMU", "noise": noise}


def _mechanism(
    prepared: Prepared, fit: Fit, assumed: Mapping[str, float], refused: Mapping[str, Finding], frame: str
) -> dict[str, Any]:
    """What was seen of the mechanism: range and noise of its positions, samples left out, ground and wheel."""
    inputs, mechanism = fit.inputs, fit.inputs.mechanism
    inside = inputs.inside(fit.plan.segments)
    entry: dict[str, Any] = {
        "type": mechanism.type,
        "linkages": [link.type for link in mechanism.linkages],
        "origin": frame or mechanism.origin,
        "sensors_m": [s.T_body_sensor[:3, 3].tolist() for s in inputs.sensors],
    }
    if inputs.imu is None:
        names, units = mechanism.state[: inputs.q.shape[1]], mechanism.position_units
        low, high = np.nanmin(inputs.q, axis=0), np.nanmax(inputs.q, axis=0)
        entry["positions"] = {
            name: {"unit": unit, "lowest": float(a), "highest": float(b), "noise": finite(float(n))}
            for name, unit, a, b, n in zip(names, units, low, high, position_noise(inputs), strict=True)
        }
        counted = inside & (True if fit.balance.used is None else fit.balance.used)
        entry["train_share_at_rest"] = float(np.mean(fit.moved.resting[counted])) if counted.any() else None
        entry["windows_s"] = {kind: list(windows) for kind, windows in fit.prediction.windows_s.items()}
    if mechanism.main is not None:
        entry["leaning_rad"] = mechanism.leaning
    if len(mechanism.rows) > 1:
        weights = fit.train.weights
        entry["sigma_ratios"] = {r.name: float(1 / w) for r, w in zip(mechanism.rows, weights, strict=True) if w > 0}
    ground = prepared.ground
    if ground is not None:
        entry["vertical"] = _vertical(fit, ground)
    if ground is not None and mechanism.wheel is not None:
        entry |= {
            "radius_m": mechanism.wheel.radius,
            "feet_m": [list(point) for point in ground.points],
            "train_share_foot_down": float(np.mean(ground.grounded[inside])),
            "feet_assumed": dict(assumed),
            "resistance": None if refused else resistance(fit),
        }
    return entry


def _frame(config: Any, inputs: Inputs) -> str:
    """In words, the frame that the file declares for a free body; empty where the mechanism has one of its own."""
    if inputs.poses is None or inputs.mechanism.coordinates:
        return ""
    if config.motion_from == "poses":
        return "the frame of the poses"
    return "the sensor frame of the first load cell" if config.markers.frame is None else "the frame of markers.frame"


def replay_entry(replay: Replay | None, stops: tuple[float, float] | None = None) -> dict[str, Any] | None:
    """A replay as result.json has it: errors of each position, all angles (or lengths) together, and each window.

    stops: hard ones that the object was given for it.
    """
    if replay is None:
        return None
    low, high = stops or (-np.inf, np.inf)
    paths = [w.tracks[0].simulated for w in replay.windows]
    return {
        "rms": finite(replay.rms),
        "unit": replay.unit,
        "coordinates": {n: {"value": v, "unit": u} for n, (v, u) in replay.errors.items()},
        "windows": len(replay.windows),
        "stopped": sum(bool(x.min() <= low or x.max() >= high) for x in paths),
        "window_s": replay.window_s,
        "least_travel": replay.least_travel,
        "played": replay.played,
        "not_in_c": replay.not_in_c or None,
        "each": [{"start_s": w.start_s, "rms": w.rms, "travel": w.travel} for w in replay.windows],
    }


def _about(
    experiment: Experiment[Any], fit: Fit, reasons: Sequence[str], assumed: Mapping[str, float]
) -> dict[str, str]:
    """What people must know of a model."""
    config, of, frame = experiment.config, _model_of(experiment.config), _frame(experiment.config, fit.inputs)
    about = {
        "model_of": "handle (post-sensor part)" if of == "handle" else DRIVEN_BY[of],
        "frame": f"{frame}; inertias are matrix entries about its origin" if frame else fit.inputs.mechanism.frame,
        "zeroing": ZEROING["handle" if of == "handle" else fit.inputs.zero],
        "verdict": "passed" if not reasons else f"failed: {'; '.join(reasons)}",
        "identified_from": experiment.source.name,
        "palpate": version("palpate"),
    }
    parts = [part for _, part in wrenches_of(config)]
    if parts:
        about["sensor"] = ", ".join(sensor_label(config.sensor, p.device) for p in parts)
    for i, (_, part) in enumerate(listed(config, "handle")):
        key = numbered("handle", i + 1)
        if isinstance(part, HandleWeightPart):
            about[key] = f"{part.mass:g} kg at {part.com} m, weight only"
        elif part is not None:
            path = experiment.source.parent / part
            about[key] = f"{part}" + (f", sha256 {sha256(path)[:16]}" if path.is_file() else "")
    if assumed:
        about["feet"] = f"where they touch the ground is measured; assumed: {', '.join(assumed)}"
    return about
