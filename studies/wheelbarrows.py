"""Simulated wheelbarrows, identified from their recordings: is the truth inside, and does the model predict as the
truth does?
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palpate.experiment.file.reading import read_experiment
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment, replay_fit
from palpate.experiment.stage.fit import Fit, solve_with
from palpate.experiment.stage.inputs import SPEED_WINDOW_S, move, whole_balance
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.variations import with_estimated
from palpate.identify.solution import Estimate as Told
from palpate.identify.solution import Status
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import is_consistent
from palpate.twin.rolling import RollingTwin, wheelbarrow_twin, write_rolling_twin
from studies.hands import Hands, compare_held, growth, intended
from studies.running import map_seeds

TITLE = "Wheelbarrows: simulated experiments"
WINDOWS = (9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 35, 39, 45, 51)
"""Samples of 10 ms."""
PUBLISHED = 11
ROWS = ("n_x", "n_y", "n_z", "f_x")
HELD_S, HELD_HZ, HELD_STEP_S = 30.0, 100.0, 5e-3
"""How long a person holds the object; truth and model are stepped alike."""
BALANCE = {"balance": 300.0, "balance_damping": 20.0}
"""N/m and N s/m, of a person who balances."""
TOPPLES = 0.05
"""1/s: what leans away faster than this cannot be held by springs alone."""


@dataclass(frozen=True)
class Estimate:
    """One parameter of one wheelbarrow."""

    name: str
    relative: float
    """Error over truth; of a centre of mass, m."""
    of_scale: float
    """The same, but of a product of inertia over the geometric mean of its two moments: it may be zero."""
    inside: bool | None
    """In its 95 % interval; None where it has none."""
    identified: bool


@dataclass(frozen=True)
class Held:
    """Truth and model in the hands of one person: how far apart they come at most."""

    cm: float
    deg: float
    percent: float
    """Force of a hand along an axis, of its range."""

    @property
    def alike(self) -> bool:
        return self.cm <= 5 and self.deg <= 2 and self.percent <= 5


@dataclass(frozen=True)
class Run:
    """One wheelbarrow; tuples hold a number per row."""

    seed: int
    parameters: list[Estimate]
    ratio: tuple[float, ...]
    """Test RMS over the oracle's: the same pipeline with the true parameters."""
    smoothing: tuple[float, ...]
    """The oracle's RMS over the smallest with any one window of the same filter."""
    rms: tuple[float, ...]
    """Test RMS, N m and N."""
    published: tuple[float, ...]
    """The oracle's with the published window, 110 ms."""
    moved: float
    """Largest change of an identified parameter when lambda is doubled or halved, in half widths of its interval."""
    replay: dict[str, float]
    """RMS error by coordinate in windows of 0.5 s from the measured state, speeds over 150 ms, m and rad."""
    replay_ratio: dict[str, float]
    """Over that of the true parameters on the same input."""
    rough_ratio: dict[str, float]
    """The same from speeds of the fit's own, shorter window, which are noisier."""
    held: Held
    """By a person who balances."""
    held_by_springs: Held | None
    """By one who does not; None where the truth topples in these hands."""
    clock_error_s: float
    consistent: bool
    refused: int


def run_one(seed: int) -> Run:
    with TemporaryDirectory() as folder:
        path = write_rolling_twin(Path(folder), wheelbarrow_twin(seed))
        truth: dict[str, Any] = json.loads((Path(folder) / "truth.json").read_text())
        experiment = read_experiment(path)
        prepared = prepare_experiment(experiment)
        fit = with_estimated(fit_prepared(experiment, prepared))
    solution, refused = refuse(fit, rate_known=True)
    test = prepared.segments["test"]
    p = np.array([*truth["body_phi"].values(), *(_true(truth, n) for n in ("b_v", "b_c", "b_psi"))])
    oracle = _rms(fit.residuals(test, p))
    each = np.array([_rms(_with_window(fit, n).residuals(test, p)) for n in WINDOWS])
    long = replace(fit, moved=move(fit.inputs, SPEED_WINDOW_S, fit.moved))
    played, played_truth = (_replay_errors(long, prepared, q) for q in (None, p))
    rough, rough_truth = (_replay_errors(fit, prepared, q) for q in (None, p))
    held, held_by_springs = _held(fit, p, wheelbarrow_twin(seed))
    clock, true_clock = fit.inputs.clock, truth["clocks"]["wrench"]
    assert clock is not None
    at = np.array(clock.at_s)
    return Run(
        seed=seed,
        parameters=[_estimate(e, truth) for e in solution.estimates],
        ratio=tuple(_rms(fit.residuals(test)) / oracle),
        smoothing=tuple(oracle / each.min(axis=0)),
        rms=tuple(_rms(fit.residuals(test))),
        published=tuple(each[WINDOWS.index(PUBLISHED)]),
        moved=_moved(fit, solution.estimates),
        replay=played,
        replay_ratio={name: error / played_truth[name] for name, error in played.items()},
        rough_ratio={name: error / rough_truth[name] for name, error in rough.items()},
        held=held,
        held_by_springs=held_by_springs,
        clock_error_s=float(clock.offset_at(at) + true_clock["offset_s"] + 1e-6 * true_clock["drift_ppm"] * at),
        consistent=bool(is_consistent(solution.p[:10])),
        refused=len(refused),
    )


def _true(truth: dict[str, Any], name: str) -> float:
    return float(truth["parameters"][name]["value"])


def _estimate(e: Told, truth: dict[str, Any]) -> Estimate:
    value = _true(truth, e.name)
    error = e.value - value if e.name.startswith("c_") else e.value / value - 1
    of_scale = error
    if e.name in ("Ixy", "Ixz", "Iyz"):
        of_scale = (e.value - value) / np.sqrt(np.prod([_true(truth, f"I{a}{a}") for a in e.name[1:]]))
    inside = None if e.ci95 is None else bool(e.ci95[0] <= value <= e.ci95[1])
    return Estimate(e.name, error, float(of_scale), inside, e.status is Status.IDENTIFIED)


def _rms(x: FloatArray) -> FloatArray:
    return np.sqrt(np.mean(x**2, axis=0))


def _with_window(fit: Fit, samples: int) -> Fit:
    """The same samples, differentiated with another window."""
    balance = whole_balance(fit.inputs, move(fit.inputs, samples / fit.inputs.rate_hz, fit.moved))
    assert balance.used is not None
    rows = balance.rows((float(balance.times_s[0]), float(balance.times_s[-1]) + 5e-3))
    rows[~balance.used] = np.nan
    used = fit.prediction.used & balance.used
    return replace(fit, prediction=replace(fit.prediction, rows=rows, used=used))


def _replay_errors(fit: Fit, prepared: Prepared, p: FloatArray | None) -> dict[str, float]:
    """RMS error of the contact's place (m, a distance) and of each angle (rad)."""
    played = replay_fit(fit, prepared.segments["test"], p)
    assert played is not None
    errors = {name: value for name, (value, _) in played.errors.items()}
    place = float(np.hypot(errors.pop("x"), errors.pop("y")))
    return {"contact": place, **errors}


def _moved(fit: Fit, estimates: tuple[Told, ...]) -> float:
    """How far identified parameters move with twice and half the lambda, in half widths of their intervals."""
    worst = 0.0
    for factor in (0.5, 2.0):
        there = solve_with(fit.inputs, fit.train, damping=factor * fit.solution.damping)
        for e in estimates:
            if e.ci95 is not None and e.status is Status.IDENTIFIED:
                worst = max(worst, abs(there[e.name].value - e.value) / (e.ci95[1] - e.value))
    return worst


def wheeled(twin: RollingTwin, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """States and accelerations of what the simulated person does, as the mechanism names them."""
    path = twin.wheeling.path(times_s)
    return np.hstack([twin.wheeling.contact(times_s), path.value[1:].T, path.rate.T]), path.acceleration.T


def _held(fit: Fit, p: FloatArray, twin: RollingTwin) -> tuple[Held, Held | None]:
    """Truth and model in the same hands, which mean to do what was done in the train segment."""
    begin = next(s.begin_s for s in twin.wheeling.segments if s.name == "train")
    times = begin + 1.0 + np.arange(round(HELD_S * HELD_HZ) + 1) / HELD_HZ
    states, accelerations = wheeled(twin, times)
    grips, truth, model = twin.r_body_grip, fit.inputs.model.with_values(p), fit.solution.model
    meant = intended(truth, grips, times, states, accelerations)

    def apart(hands: Hands) -> Held:
        found = compare_held(truth, model, hands, meant, states[0], dt=HELD_STEP_S)
        return Held(
            100 * float(found.apart_m.max()),
            float(np.degrees(found.apart_rad.max())),
            100 * float(found.force_share.max()),
        )

    springs = Hands(grips)
    topples = growth(truth, springs, states[0]) > TOPPLES
    return apart(Hands(grips, **BALANCE)), None if topples else apart(springs)


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: list[Run]) -> str:
    lines = [
        f"{len(runs)} random wheelbarrows (25 to 60 kg), each wheeled about for 76 s by a simulated person and",
        "recorded by simulated instruments: 23 markers with 0.3 mm of noise, some hidden, two load cells and an IMU",
        "with clocks that drift. The drawing is off by 30 %, the mass known. Errors are relative to the truth, of",
        "centres in mm.",
        "",
        "| parameter | mean error | largest error | identified | in its 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for name in (e.name for e in runs[0].parameters):
        own = [e for r in runs for e in r.parameters if e.name == name and e.inside is not None]
        if not own:
            continue
        factor, unit = (1e3, "mm") if name.startswith("c_") else (100.0, "%")
        errors = factor * np.array([e.relative for e in own])
        lines.append(
            f"| {name} | {errors.mean():+.2f} {unit} | {np.abs(errors).max():.2f} {unit} | "
            f"{sum(e.identified for e in own)} of {len(runs)} | {100 * np.mean([bool(e.inside) for e in own]):.0f} % |"
        )
    lines += [
        "",
        "| row | test RMS, largest | over the oracle's | oracle's over the best window's | oracle's, 110 ms window |",
        "|---|---|---|---|---|",
    ]
    for j, row in enumerate(ROWS):
        ratio, smoothing = np.array([r.ratio[j] for r in runs]), np.array([r.smoothing[j] for r in runs])
        there = [r.published[j] for r in runs]
        lines.append(
            f"| {row} | {max(r.rms[j] for r in runs):.2f} {'N' if row == 'f_x' else 'N m'} | "
            f"{ratio.min():.3f} to {ratio.max():.3f} | {smoothing.min():.3f} to {smoothing.max():.3f} | "
            f"{min(there):.1f} to {max(there):.1f} |"
        )
    lines += [
        "",
        "Replay: the measured wrench moves the model for 0.5 s from the measured state.",
        "",
        "| coordinate | RMS error, speeds over 150 ms, median | largest | over that of the true parameters | the same, "
        "over the fit's own window |",
        "|---|---|---|---|---|",
    ]
    for name in runs[0].replay:
        factor, unit = (1e3, "mm") if name == "contact" else (180 / np.pi, "deg")
        errors, ratio = factor * np.array([r.replay[name] for r in runs]), [r.replay_ratio[name] for r in runs]
        rough = [r.rough_ratio[name] for r in runs]
        lines.append(
            f"| {name} | {np.median(errors):.3f} {unit} | {errors.max():.3f} {unit} | {min(ratio):.3f} to "
            f"{max(ratio):.3f} | {min(rough):.3f} to {max(rough):.3f} |"
        )
    everything = [e.inside for r in runs for e in r.parameters if e.inside is not None]
    named = [e for r in runs for e in r.parameters if e.identified and not e.name.startswith("c_")]
    outside = [e for e in named if e.inside is not True]
    wrong, wrong_of_scale = (
        sum(abs(x) > 0.05 for x in xs) for xs in ([e.relative for e in outside], [e.of_scale for e in outside])
    )
    return "\n".join(
        [
            *lines,
            "",
            f"- Intervals that hold the truth: {100 * np.mean(everything):.1f} % of {len(everything)}; "
            f"numbers refused: {sum(r.refused for r in runs)}.",
            f"- Inertias and friction called identified, neither within 5 % nor in their interval: {wrong} of "
            f"{len(named)} (products of inertia, which may be near zero, taken over their moments: {wrong_of_scale}).",
            f"- Physically consistent: {sum(r.consistent for r in runs)} of {len(runs)}.",
            f"- Lambda doubled or halved moves identified parameters by at most "
            f"{max(r.moved for r in runs):.2f} half widths of their interval.",
            f"- Replay at most 1.2 times the true parameters' in every coordinate: from the state that the fit itself "
            f"measures {sum(max(r.rough_ratio.values()) <= 1.2 for r in runs)} of {len(runs)}; from speeds over 150 ms,"
            f" which have less noise and so show more of the model, "
            f"{sum(max(r.replay_ratio.values()) <= 1.2 for r in runs)} of {len(runs)}.",
            *_told_of_hands(runs),
            f"- Load cells' clock: largest error {1e3 * max(abs(r.clock_error_s) for r in runs):.2f} ms.",
        ]
    )


def _told_of_hands(runs: list[Run]) -> list[str]:
    """Lines about truth and model in the hands of the same person."""
    springs = [r.held_by_springs for r in runs if r.held_by_springs is not None]
    lines = [
        _hands_line(
            "held for 30 s by a person who also balances, another 300 N/m and 20 N s/m against turning",
            [r.held for r in runs],
        ),
    ]
    topple = len(runs) - len(springs)
    if springs:
        lines.append(_hands_line("held by springs alone, 300 N/m and 20 N s/m at each grip", springs))
    if topple:
        lines.append(f"- Springs alone do not hold {topple} of {len(runs)}: the true object topples in them.")
    return lines


def _hands_line(who: str, held: list[Held]) -> str:
    worst = (
        f"{max(h.cm for h in held):.2f} cm",
        f"{max(h.deg for h in held):.2f} deg",
        f"{max(h.percent for h in held):.1f} %",
    )
    return (
        f"- Truth and model {who}: {sum(h.alike for h in held)} of {len(held)} within 5 cm, 2 deg and 5 % of the hand "
        f"force's range; largest {worst[0]}, {worst[1]}, {worst[2]}; median {np.median([h.cm for h in held]):.2f} cm, "
        f"{np.median([h.deg for h in held]):.2f} deg, {np.median([h.percent for h in held]):.1f} %."
    )
