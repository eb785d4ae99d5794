"""Variants of simulated doors: is the effect that is in the data chosen, and none where there is none?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements import Coulomb, EndStop, Hysteresis, Stribeck, ZoneDamper
from palpate.experiment.stage.inputs import Filtering, Inputs, Sensor, fit_balance, move
from palpate.identify import Balance
from palpate.identify.balance import Segment
from palpate.identify.variants import Ranking, door_variants, rank_variants
from palpate.model import Model
from palpate.motion.clock import Even
from palpate.motion.derivatives import design_lowpass, light_window_s, signal_bandwidth
from palpate.twin.door import DoorTwin, door_twin, simulate_door
from palpate.twin.person import Truth
from studies.running import map_seeds
from tests.varied_doors import door_of

TITLE = "Variants: simulated doors"
TRUTHS = ("laminar", "turbulent", "mixed", "hysteresis", "stribeck")
ANGLE_NOISE, TORQUE_NOISE = 2.5e-4, 0.1
"""rad a sample at 100 Hz, as 16 markers of 0.3 mm leave it; N m a sample at 1 kHz."""


@dataclass(frozen=True)
class Choice:
    """What was chosen for one door with one truth."""

    truth: str
    chosen: str
    right: bool
    effect: float
    """RMS that the best plain laminar model leaves unexplained, over the noise that the right one leaves."""


@dataclass(frozen=True)
class Run:
    """One seed with every truth."""

    seed: int
    choices: list[Choice]


def run_one(seed: int) -> Run:
    return Run(seed, [_choose(seed, truth) for truth in TRUTHS])


def _choose(seed: int, truth: str) -> Choice:
    twin = door_twin(seed, draw=door_of(truth))
    moved = simulate_door(twin, dt=1e-3)
    segments: list[Segment] = [
        s
        for name in ("quasi_static", "train")
        for s in twin.session.segments[name]  # type: ignore[index]
    ]
    inputs = _inputs(seed, twin, moved)
    balance = fit_balance(inputs, move(inputs))
    ranking = rank_variants(balance, door_variants(balance.model, span=_span(balance)), segments)
    chosen = ranking.chosen.variant.model
    return Choice(truth, ranking.chosen.variant.name, _is(chosen, truth), _effect(ranking, truth))


def _is(model: Model, truth: str) -> bool:
    flows = {e.flow for e in model.elements if isinstance(e, ZoneDamper)}
    flow = truth if truth in ("turbulent", "mixed") else "laminar"
    has = {kind: any(isinstance(e, kind) for e in model.elements) for kind in (Hysteresis, Stribeck)}
    return flows == {flow} and has[Hysteresis] == (truth == "hysteresis") and has[Stribeck] == (truth == "stribeck")


def _effect(ranking: Ranking, truth: str) -> float:
    """From the fits themselves: sqrt(plain^2 - right^2) over right."""
    right = min(r.rms for r in ranking.ranked if _is(r.variant.model, truth))
    plain = min(r.rms for r in ranking.ranked if _is(r.variant.model, "laminar"))
    return float(np.sqrt(max(plain**2 - right**2, 0.0)) / right)


def _inputs(seed: int, twin: DoorTwin, moved: Truth) -> Inputs:
    """What the instruments leave of the truth, without files: angle and torque with noise, zones to be estimated."""
    rng = np.random.default_rng([seed, 77])
    t = np.arange(round(twin.session.duration_s * 100)) / 100
    fine = np.arange(round(twin.session.duration_s * 1000)) / 1000
    torque = moved.at("effort", fine) - twin.handle_inertia * moved.at("acceleration", fine)
    wrench = np.zeros((len(fine), 6))
    wrench[:, 5] = torque + TORQUE_NOISE * rng.normal(size=len(fine))
    angle = moved.at("position", t) + ANGLE_NOISE * rng.normal(size=len(t))
    static = twin.session.segments["static"][0]  # type: ignore[index]
    chosen = signal_bandwidth(t, angle, still=static)
    low = design_lowpass(100.0, chosen.bandwidth_hz, attenuation_db=45.0)
    window = light_window_s(100.0, chosen.bandwidth_hz)
    inputs = Inputs(
        model=_plain(twin.model),
        times_s=t,
        sensors=(Sensor(Even(fine, wrench, (), 0.0, np.arange(len(fine))), np.eye(4)),),
        q=angle[:, None],
        zero="still",
        static=static,
        stops=(float(angle.min()), float(angle.max())),
        filtering=Filtering(window, 4, low, chosen.bandwidth_hz),
    )
    return inputs.on_clock(None)


def _plain(model: Model) -> Model:
    """The laminar door without extra friction, as a user begins with: zones at 25 and 69 deg, to be estimated."""
    borders = {"b_bc": np.radians(69.0), "b_s": np.radians(25.0)}
    parts = [e for e in model.elements if not isinstance(e, EndStop | Hysteresis | Stribeck | Coulomb)]
    parts = [
        replace(e, above=float(borders[e.name]), width=float(np.radians(2)), flow="laminar", estimate=True)
        if isinstance(e, ZoneDamper)
        else e
        for e in parts
    ]
    return replace(model, elements=(*parts[:2], Coulomb(), *parts[2:]), values={})


def _span(balance: Balance) -> tuple[float, float]:
    assert balance.used is not None
    position = np.asarray(balance.kinematics.coordinates["closer"].position)[balance.used]
    return float(position.min()), float(position.max())


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: list[Run]) -> str:
    lines = [
        f"{len(runs)} random doors, each with every truth, moved by a simulated hand; 48 variants ranked by",
        "cross-validation with the one-standard-error rule. The effect is what a plain laminar model cannot explain,",
        "over the noise that is left by the right one.",
        "",
        "| truth | right, of all | effect above 2 | right, of these | median effect | else chosen |",
        "|---|---|---|---|---|---|",
    ]
    for truth in TRUTHS:
        own = [c for r in runs for c in r.choices if c.truth == truth]
        large = [c for c in own if c.effect > 2 or truth == "laminar"]
        wrong = sorted({c.chosen for c in own if not c.right})
        lines.append(
            f"| {truth} | {sum(c.right for c in own)} of {len(own)} | {len(large)} | "
            f"{sum(c.right for c in large)} | {np.median([c.effect for c in own]):.2f} | {'; '.join(wrong) or '-'} |"
        )
    return "\n".join(lines)
