"""Any object along one coordinate (a drawer, a lid, a knob), moved by a person and recorded by an encoder and a force
sensor: one table, as many laboratories have it. How its exemplars differ stands in `makes.yaml`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np

from palpate.elements import EndStop
from palpate.files import write_text
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.twin import instruments as tools
from palpate.twin.person import DEGREE, STEP_M, Arm, Session, Truth, plan, simulate

RATE_HZ = 250.0
SESSION = Session(still_s=3.0, sweep_s=24.0, steps=8.0, blocks=(("train", 26.0), ("test", 14.0)), tail_s=1.0)
_NOISE, _FORCE_NOISE = 0.02, 2e-3
"""Of the encoder, in degrees or `STEP_M`; of the force, over the strongest that the arm does."""
_SETTLED_S = 12.0
_STEPS = 12
"""Of a sweep, at most."""
_PACE = (5.0, 8.0)
"""rad/s, of the object on the arm."""
_STIFF, _PRESSED, _BOUNCE_S = 55.0, 0.3, 0.5 * DEGREE
"""Of stops: rad/s of the object on one; degrees that the arm can press it; damping over stiffness, in s per degree."""


@dataclass(frozen=True, slots=True)
class Make:
    """How exemplars of an object differ."""

    travel: Sequence[float]
    """From, to: rad or m."""
    values: Mapping[str, Sequence[float]]
    """Parameter -> from, to."""
    stops: bool = True
    """Whether something ends the travel."""
    start: float | None = None
    """Where it rests at first; None: at the lower end."""
    vigour: float = 1.0
    """How fast people move it, over what they do with a door."""
    zero: str = ""
    """From where the experiment counts the position, where it says so."""
    fixed: Sequence[str] = ()
    """Parameters that are known."""
    mechanism: Mapping[str, float] = field(default_factory=dict[str, float])
    """Its options, of this make."""


@cache
def makes() -> Mapping[str, Make]:
    """Object -> how exemplars of it differ."""
    from ruamel.yaml import YAML

    text = (resources.files("palpate.twin") / "makes.yaml").read_text(encoding="utf-8")
    data = cast("dict[str, dict[str, Any]]", YAML(typ="safe").load(text))
    return {name: Make(**make) for name, make in data.items()}


@dataclass(frozen=True, slots=True, eq=False)
class GuidedTwin:
    """All that determines a simulated experiment."""

    name: str
    model: Model
    """Without stops."""
    make: Make
    seed: int
    session: Session = SESSION

    @property
    def unit(self) -> str:
        """Of its coordinate."""
        return self.model.mechanism.coordinates[str(self.model.mechanism.main)]

    @property
    def degree(self) -> float:
        """A small step of it, rad or m."""
        return DEGREE if self.unit == "rad" else STEP_M


def guided_twin(name: str, seed: int, session: Session = SESSION) -> GuidedTwin:
    """A random exemplar of a shipped object: positive numbers are drawn evenly on a logarithmic scale."""
    rng, make, model = np.random.default_rng([seed, 40]), makes()[name], load_object(name)
    model = replace(model, mechanism=model.mechanism.with_options(**make.mechanism))
    drawn = [_between(rng, *make.values[n]) for n in model.parameters]
    return GuidedTwin(name, model.with_values(drawn), make, seed, session)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    share = float(rng.uniform())
    return low * (high / low) ** share if low > 0 else low + (high - low) * share


def moved(twin: GuidedTwin) -> tuple[Truth, Arm]:
    """What a person does with it, and how strong their arm is."""
    rng, model, (low, high) = np.random.default_rng([twin.seed, 41]), twin.model, twin.make.travel
    places, slow, mechanism = np.linspace(low, high, 200), 10 * twin.degree, model.mechanism
    at_rest = mechanism.expand((places, 0 * places), (0 * places,), ARRAYS)
    dry = sum(abs(ratio[0]) * level for ratio, level in model.dry_forces(at_rest, ARRAYS)) + 0 * places
    holds = float((np.abs([model.along(places, speed) for speed in (0.0, slow, -slow)]) + dry).max())
    felt = [float(model.wrench(mechanism.expand(((low + high) / 2, 0.0), (a,), FLOATS), FLOATS)[0]) for a in (0.0, 1.0)]
    inertia, pace = felt[1] - felt[0], float(rng.uniform(*_PACE))
    stiffness = max(inertia * pace**2, 8 * holds / (high - low))
    damping = 2 * float(rng.uniform(0.4, 0.7)) * math.sqrt(stiffness * inertia)
    strongest = 2.5 * (holds + inertia * 60 * twin.degree)
    arm = Arm(stiffness, damping, strongest, 0.01 * strongest)
    whole = _with_stops(twin, inertia, strongest) if twin.make.stops else model
    coarse = max(twin.session.steps, (high - low) / twin.degree / _STEPS)
    phases = plan(rng, replace(twin.session, steps=coarse), (low, high), twin.make.vigour, degree=twin.degree)
    return simulate(whole, phases, arm, (low, high), rng, start=twin.make.start, settled_s=_SETTLED_S), arm


def _with_stops(twin: GuidedTwin, inertia: float, strongest: float) -> Model:
    """The same with rubber at both ends; at the lower one it gives way to what presses the object shut."""
    model, main, (low, high) = twin.model, str(twin.model.mechanism.main), twin.make.travel
    k = max(inertia * _STIFF**2, strongest / (_PRESSED * twin.degree))
    shut = low + max(float(model.along(low)), 0.0) / k
    stops = EndStop("shut", main, at=shut, side="lowest"), EndStop("open", main, at=high)
    with_stops = replace(model, elements=(*model.elements, *stops), values={})
    return with_stops.with_values([*model.p, *[k, _BOUNCE_S / twin.degree * k] * 2])


def write_guided_twin(
    folder: Path, name: str, seed: int = 0, session: Session = SESSION, moving: Model | None = None
) -> Path:
    """log.csv, truth.json and the experiment file, which it returns; moving: what is moved, if not quite the truth."""
    twin = guided_twin(name, seed, session)
    truth, arm = moved(twin if moving is None else replace(twin, model=moving))
    rng, t = np.random.default_rng([seed, 42]), np.arange(round(session.duration_s * RATE_HZ)) / RATE_HZ
    position = np.interp(t, truth.times_s, truth.position) + rng.normal(0, _NOISE * twin.degree, len(t))
    effort = np.interp(t, truth.times_s, truth.effort) + rng.normal(0, _FORCE_NOISE * arm.strongest, len(t))
    turns = twin.unit == "rad"
    position = np.degrees(position) if turns else 1e3 * position
    heads = ("t [s]", "angle [deg]", "torque [N m]") if turns else ("t [s]", "position [mm]", "force [N]")
    tools.write_table(folder / "log.csv", heads, np.column_stack([t, position, effort]))
    values = {n: {"value": v, "unit": twin.model.parameters[n].unit} for n, v in twin.model.values.items()}
    note = "of the object alone, simulated without the noise of the instruments"
    tools.write_truth(folder / "truth.json", {"parameters": values, "seed": seed, "note": note})
    path = folder / f"{name}.yaml"
    write_text(path, _experiment(twin))
    return path


def _experiment(twin: GuidedTwin) -> str:
    turns, (low, high) = twin.unit == "rad", twin.make.travel
    ends = [f"{math.degrees(x):.6g} deg" if turns else f"{1e3 * x:.6g} mm" for x in (low, high)]
    segments = {name: ", ".join(f"[{a:g}, {b:g}]" for a, b in spans) for name, spans in twin.session.segments.items()}
    fixed, mechanism = ({n: twin.model.values[n] for n in twin.make.fixed}, twin.make.mechanism)
    stated = [f"stops: [{ends[0]}, {ends[1]}]\n"] if twin.make.stops else []
    stated += [f"{key}: {json.dumps(part)}\n" for key, part in (("mechanism", mechanism), ("fixed", fixed)) if part]
    words = {
        "name": twin.name,
        "words": twin.name.replace("-", " "),
        "seed": twin.seed,
        "zero": f", zero: {twin.make.zero}" if twin.make.zero else "",
        "position": "angle" if turns else "position",
        "effort": "torque" if turns else "force",
        "stated": "".join(stated),
        **segments,
    }
    text = (resources.files("palpate.twin") / "templates" / "guided.yaml").read_text(encoding="utf-8")
    return text.format(**words)
