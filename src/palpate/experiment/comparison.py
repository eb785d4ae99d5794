"""Several results side by side: takes and sessions pooled, with the spread between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.stage.result import Result, read_result
from palpate.findings import Finding, sentences
from palpate.identify.shapes import with_shapes
from palpate.model import Model
from palpate.physics.arrays import FloatArray

LEAST_CHANCE = 0.01
"""Of takes that scatter so much by noise alone, for all numbers of a comparison together; below it they differ."""
CLEARLY = 0.1
"""Share of the larger value: takes of one object that differ by more than noise and by more than this have no mean."""
LEAST_SHARED = 0.5
"""Share of their parameters that results must have in common to be set side by side; of one object, that agree."""
COMMON = ("pull", "systematic", "model")
"""Parts of an interval that all takes share: one prior, one setup, one model."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """One number from several takes."""

    value: float
    std: float
    """Of the mean, the spread between takes included."""
    between: float
    """Standard deviation between takes beyond their own noise."""
    chance: float
    """That takes of one and the same object scatter as much (Cochran's Q, with what is known of the noise)."""
    half: float
    """Half of the 95 % interval of the mean."""


def pool(values: Sequence[float], stds: Sequence[float], *, freedoms: float = 1000.0, common: float = 0.0) -> Pooled:
    """The mean of takes that differ by their noise and by themselves: a random-effects model (DerSimonian and Laird
    1986; the variance between them as Paule and Mandel), with the interval of Hartung and Knapp (2001), which holds for
    few takes.

    freedoms: of each take's own noise, as its interval implies. common: a standard deviation that all takes share, such
    as the pull of one prior: no number of takes averages it away.
    """
    from scipy.special import fdtrc, stdtrit

    x, s = np.asarray(values, dtype=float), np.asarray(stds, dtype=float)
    n = len(x)
    if n < 2 or not (np.isfinite(x).all() and np.isfinite(s).all() and (s > 0).all()):
        raise PalpateError("pooling needs two takes at least, each with its own noise")
    w = s**-2.0
    Q = float(w @ (x - _mean(x, w)) ** 2)
    between = _between(x, s)
    w = 1 / (s**2 + between)
    mean, within = _mean(x, w), 1 / float(w.sum())
    scatter = float(w @ (x - mean) ** 2) / (n - 1) * within
    std = float(np.sqrt(max(within, scatter)))
    half = float(np.hypot(stdtrit(n - 1, 0.975) * std, 1.96 * common))
    return Pooled(mean, std, float(np.sqrt(between)), float(fdtrc(n - 1, n * freedoms, Q / (n - 1))), half)


def _between(x: FloatArray, s: FloatArray) -> float:
    """Variance between takes with which their weighted scatter is what it should be (Paule and Mandel 1982)."""
    from scipy.optimize import brentq

    def excess(variance: float) -> float:
        w = 1 / (s**2 + variance)
        return float(w @ (x - _mean(x, w)) ** 2) - (len(x) - 1)

    most = float(np.ptp(x) ** 2) + 1e-300
    return float(brentq(excess, 0.0, most, xtol=1e-12 * most)) if excess(0.0) > 0 > excess(most) else 0.0


def _mean(x: FloatArray, w: FloatArray) -> float:
    return float(w @ x / w.sum())


@dataclass(frozen=True, slots=True)
class Kind:
    """What results must have in common for their numbers to mean the same: only then may they be pooled."""

    stage: str
    model_of: str
    mechanism: tuple[str, ...]
    """Its type and those of its linkages."""
    parameters: frozenset[tuple[str, str, str]]
    """Name, unit and words, which the elements declare; without the sensor's bias, which belongs to the session."""
    shapes: frozenset[str]


def kind_of_result(result: Mapping[str, Any]) -> Kind:
    """The kind of object that a result.json is about."""
    mechanism: Mapping[str, Any] = result.get("mechanism") or {}
    named = ((n, e["unit"], _law(e.get("words", ""))) for n, e in result["parameters"].items() if not _of_session(n))
    return Kind(
        str(result["stage"]),
        str(result.get("model_of", "handle")),
        (str(mechanism.get("type", "")), *mechanism.get("linkages", ())),
        frozenset(named),
        frozenset(result.get("shapes") or {}),
    )


def _law(words: str) -> str:
    """Words of a parameter without the numbers in them: where a zone begins differs from take to take."""
    return re.sub(r"-?\d+(\.\d+)?", "", words)


def _of_session(name: str) -> bool:
    return name.startswith("bias_")


def compare(given: Mapping[str, Result | Mapping[str, Any] | str | Path]) -> dict[str, Any]:
    """Results by label -> one table: each number, and what they say together.

    Each is a result, what `read_result` reads, or the path of a result.json or its folder.

    Results of different kinds of objects stand side by side where they share most numbers, and are never pooled; nor
    is a number that clearly differs, nor any where most do.
    """
    results = {label: _content(one) for label, one in given.items()}
    if len(results) < 2:
        raise PalpateError("there is nothing to compare: give two results at least")
    kinds = {label: kind_of_result(r) for label, r in results.items()}
    names = _comparable(kinds, results)
    parameters = {name: _parameter(name, results) for name in names}
    judged = [n for n, e in parameters.items() if e["pooled"] is not None and not _of_session(n)]
    differing = [n for n in judged if parameters[n]["pooled"]["chance"] * len(judged) < LEAST_CHANCE]
    apart = {n: share for n in differing if (share := _apart(parameters[n])) > CLEARLY}
    other = len(set(kinds.values())) > 1 or len(apart) > LEAST_SHARED * len(judged)
    for name in names if other else apart:
        parameters[name] |= {"pooled": None}
    findings = list(_findings(results, kinds, differing, apart, one_object=not other))
    return {
        "palpate_comparison": 1,
        "results": {
            label: {
                "title": r["title"],
                "stage": r["stage"],
                "passed": r["verdict"]["passed"],
                "kappa": r.get("kappa"),
                "damping": r.get("damping"),
                "palpate": r["provenance"].get("palpate"),
                "simulated": bool(r["provenance"].get("simulated")),
                "recordings": [e["sha256"] for e in r["provenance"].get("recordings", ())],
            }
            for label, r in results.items()
        },
        "parameters": parameters,
        "differing": differing,
        "apart": apart,
        "one_object": not other,
        "rms": {label: r["rms"] for label, r in results.items()},
        "findings": [f.as_json() for f in findings],
        "warnings": sentences(findings, fatal=False),
    }


def _content(given: Result | Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    if isinstance(given, Result):
        return given.data
    return read_result(given) if isinstance(given, str | Path) else given


def _comparable(kinds: Mapping[str, Kind], results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of all parameters; results that have nothing to do with each other are refused."""
    stages = {kind.stage for kind in kinds.values()}
    if len(stages) > 1:
        raise PalpateError(f"results of different stages cannot be compared: {', '.join(sorted(stages))}")
    if len({kind.model_of for kind in kinds.values()}) > 1:
        parts = ", ".join(f"{label}: {kind.model_of}" for label, kind in kinds.items())
        raise PalpateError(f"models of different parts cannot be compared ({parts})")
    if len({kind.mechanism for kind in kinds.values()}) > 1:
        lists = ", ".join(f"{label}: {' with '.join(kind.mechanism)}" for label, kind in kinds.items())
        raise PalpateError(f"these are results of different objects ({lists}): their numbers do not mean the same")
    names = list(dict.fromkeys(n for r in results.values() for n in r["parameters"]))
    shared = [n for n in names if all(n in r["parameters"] for r in results.values())]
    if len(shared) < LEAST_SHARED * len(names):
        lists = "; ".join(f"{label}: {', '.join(r['parameters'])}" for label, r in results.items())
        raise PalpateError(f"these are results of different objects ({lists})")
    return names


def _apart(entry: Mapping[str, Any]) -> float:
    """Between the lowest and the highest value, as a share of the larger one's size."""
    values = np.array([e["value"] for e in entry["each"].values() if e is not None and e["value"] is not None])
    return float(np.ptp(values) / np.max(np.abs(values)))


def _parameter(name: str, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    entries = {label: r["parameters"].get(name) for label, r in results.items()}
    here = {label: e for label, e in entries.items() if e is not None}
    units = {e["unit"] for e in here.values()}
    if len(units) > 1:
        raise PalpateError(f"{name} is in different units: {', '.join(sorted(units))}")
    each = {n: None if e is None else {k: e[k] for k in ("value", "ci95", "status")} for n, e in entries.items()}
    known = [e for e in here.values() if e["value"] is not None and e["ci95"] is not None and e["noise"]]
    named = {"words": next((e["words"] for e in here.values() if e.get("words")), ""), "unit": units.pop()}
    if len(known) < 2:
        return {**named, "each": each, "pooled": None}
    common = {key: max(float(e.get(key) or 0.0) for e in known) for key in COMMON}
    pooled = pool(
        [e["value"] for e in known],
        [e["noise"] for e in known],
        freedoms=min(_freedoms(e) for e in known),
        common=float(np.linalg.norm(list(common.values()))),
    )
    entry = {"value": pooled.value, "ci95": [pooled.value - pooled.half, pooled.value + pooled.half]}
    entry |= {"between_takes": pooled.between, "systematic": common["systematic"]}
    entry |= {"chance": pooled.chance, "takes": len(known)}
    return {**named, "each": each, "pooled": entry}


def _freedoms(entry: Mapping[str, Any]) -> float:
    """Of the noise: those of Student's t whose quantile the interval was made with."""
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    half = entry["ci95"][1] - entry["value"]  # of a positive number the lower end may be cut off
    others = sum((1.96 * float(entry.get(key) or 0.0)) ** 2 for key in COMMON)
    quantile = float(np.sqrt(max(half**2 - others, 0.0))) / entry["noise"]
    if quantile <= float(stdtrit(1000, 0.975)):
        return 1000.0
    return float(brentq(lambda n: float(stdtrit(n, 0.975)) - min(quantile, 12.0), 1.0, 1000.0))


def _findings(
    results: Mapping[str, Mapping[str, Any]],
    kinds: Mapping[str, Kind],
    differing: Sequence[str],
    apart: Mapping[str, float],
    *,
    one_object: bool,
) -> Iterator[Finding]:
    """Takes that failed, that differ, or that are the same."""
    failed = [label for label, r in results.items() if not r["verdict"]["passed"]]
    if failed:
        yield Finding("verdict", f"the verdict of {', '.join(failed)} is failed: do not pool what was not understood")
    if len(set(kinds.values())) > 1:
        first = next(iter(kinds.values()))
        own = sorted({n for k in kinds.values() for n, *_ in k.parameters ^ first.parameters}) or ["the zones"]
        evidence = f"the models differ in {', '.join(own)}: they stand side by side and are not pooled"
        yield Finding("kinds", evidence)
    elif not one_object:
        evidence = (
            f"{_shares(apart)}: by far more than noise, as two different objects do; nothing is pooled. If it is one "
            "object, something differs between the sessions: a unit, a sensor's scale, a load"
        )
        yield Finding("objects", evidence)
    elif apart:
        evidence = (
            f"{_shares(apart)}, by more than noise (less than {100 * LEAST_CHANCE:g} % chance), and not pooled: the "
            "object changed, or something differs between sessions (mounting, zero, temperature)"
        )
        yield Finding("apart", evidence)
    slightly = [name for name in differing if name not in apart]
    if slightly:
        evidence = (
            f"the takes differ by more than their noise allows (less than {100 * LEAST_CHANCE:g} % chance): the object "
            "changed, or something differs between sessions (mounting, zero, temperature)"
        )
        evidence += "; the pooled interval holds that spread" if one_object else ""
        yield Finding("differing", evidence, ", ".join(slightly))
    files = [tuple(sorted(e["sha256"] for e in r["provenance"].get("recordings", ()))) for r in results.values()]
    if len(set(files)) < len(files):
        evidence = "some results come from the same recordings: they are not independent takes, do not pool them"
        yield Finding("same", evidence)


def _shares(apart: Mapping[str, float]) -> str:
    return ", ".join(f"{name} is {100 * share:.0f} % apart" for name, share in apart.items())


def mean_model(models: Sequence[Model]) -> Model:
    """The mean of several models of one object, zones included.

    Of consistent inertias the mean is consistent: the set is convex.
    """
    first = models[0]
    for other in models[1:]:
        same = type(other.mechanism) is type(first.mechanism) and list(other.parameters) == list(first.parameters)
        if not same or other.about.get("model_of") != first.about.get("model_of"):
            raise PalpateError(f"the models {first.name!r} and {other.name!r} are not of the same kind")
    verdicts = {m.about.get("verdict", "passed") for m in models}
    verdict = "passed" if verdicts == {"passed"} else "failed: a take failed"
    shapes = {name: float(np.mean([m.shapes[name] for m in models])) for name in first.shapes}
    p = np.mean([m.p for m in models], axis=0)
    return with_shapes(first, shapes).with_values(p, identified_from=f"mean of {len(models)} takes", verdict=verdict)
