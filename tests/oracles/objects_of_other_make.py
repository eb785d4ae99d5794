"""Objects that ship, of other make: NumPy and SciPy only, nothing of palpate.

The hand of `gates_of_other_make` moves them; what they do to it is written here from textbooks, one function for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.interpolate import interp1d

from tests.oracles import doors_of_other_make as doors
from tests.oracles import gates_of_other_make as gates

Array = np.ndarray
Truth = dict[str, float]
GRAVITY = 9.80665


@dataclass(frozen=True)
class Object:
    """How it is moved and what the file says beside the object's name."""

    draw: Callable[[np.random.Generator], Truth]
    force: Callable[[gates.Run, Truth], Array]
    """N m or N, that the hand needs."""
    travel: float = 1.5
    """rad or m."""
    keys: Callable[[Truth], str] = field(default=lambda _: "")
    slides: bool = False


def write(folder: Path, seed: int, name: str, *, keys: str = "") -> tuple[Path, Truth]:
    """Table and experiment file; -> the latter and the truth."""
    made = OBJECTS[name]
    truth = made.draw(np.random.default_rng([seed, 171]))
    scale = made.travel / 1.5

    def effect(run: gates.Run) -> gates.Run:
        q, speed, acceleration = scale * run.q, scale * run.speed, scale * run.acceleration
        run = replace(run, q=q, speed=speed, acceleration=acceleration, seen=q)
        return replace(run, torque=made.force(run, truth))

    path, _ = gates.write(folder, seed, effect, keys=made.keys(truth) + keys)
    text = path.read_text().replace("object: gate.yaml", f"object: {name}")
    if made.slides:
        text = text.replace("unit: rad", "unit: m").replace("unit: N m", "unit: N")
        text = text.replace("angle: angle\n    torque: torque", "position: angle\n    force: torque")
    path.write_text(text)
    return path, truth


def _drawn(**spans: tuple[float, float]) -> Callable[[np.random.Generator], Truth]:
    return lambda rng: {name: float(rng.uniform(*span)) for name, span in spans.items()}


def _plain(run: gates.Run, x: Truth, inertia: str = "I") -> Array:
    return x[inertia] * run.acceleration + x["b_v"] * run.speed + x.get("b_c", 0.0) * run.held


def _weight(q: Array, x: Truth, up: complex) -> Array:
    """Slope of the potential m g h, h = Re(c e^(iq) conj(up)) with the part of up across the axis."""
    return GRAVITY * np.real(1j * (x["mc_x"] + 1j * x["mc_y"]) * np.exp(1j * q) * np.conj(up))


def distance(q: Array, body: complex, ground: complex) -> tuple[Array, Array]:
    """Of two points, one of which turns with q, and its slope."""
    away = body * np.exp(1j * q) - ground
    return np.abs(away), np.real(np.conj(away) * 1j * body * np.exp(1j * q)) / np.abs(away)


def _tailgate(run: gates.Run, x: Truth) -> Array:
    length, by = distance(run.q, 0.18 + 0.05j, 0.54 + 0.175j)
    push = x["strut_force"] + x["strut_rate"] * (0.6 - length)
    plain = _plain(run, x | {"b_c": 0.0}) + _weight(run.q, x, -1.0)
    return plain + x["b_c"] * run.held * np.abs(by) - push * by


def _car_door(run: gates.Run, x: Truth) -> Array:
    notches = 0.0 * run.q
    for name, at in (("notch_1", np.pi / 6), ("notch_2", np.pi / 3)):
        u = (run.q - at) / 0.06
        notches = notches + x[name] * u * np.exp((1 - u * u) / 2)
    seal = np.interp(run.q, np.radians([2, 4, 7]), [x["tau_0"], x["tau_1"], 0.0])
    return _plain(run, x) + _weight(run.q, x, 1j * np.sin(np.radians(3))) + notches + seal


def _oven(run: gates.Run, x: Truth) -> Array:
    spring = -x["c_0"] - x["c_1"] * run.q
    return _plain(run, x) + _weight(run.q, {**x, "mc_y": 0.0}, 1.0) + spring


def _refrigerator(run: gates.Run, x: Truth) -> Array:
    gasket = x["gasket"] / (1 + np.maximum(run.q, 0) / np.radians(1.0)) ** 2
    return _plain(run, x) - x["c_0"] - x["c_1"] * run.q + gasket


def _closer(pinion: Array) -> Callable[[gates.Run, Truth], Array]:
    """pinion: (2, len(doors.TABLE)), its angle and the ratio."""
    of = interp1d(doors.TABLE, pinion, kind="cubic")

    def force(run: gates.Run, x: Truth) -> Array:
        phi, nu = of(run.q)
        bc = 0.5 * (1 + np.tanh((run.q - np.radians(69)) / np.radians(2)))
        sweep = 0.5 * (1 + np.tanh((run.q - np.radians(25)) / np.radians(2)))
        back = x["b_bc"] * bc * (run.speed > 0) + (x["b_s"] * sweep + x["b_l"] * (1 - sweep)) * (run.speed < 0)
        return _plain(run, x) + back * nu**2 * run.speed - nu * (x["c_0"] + x["c_1"] * phi)

    return force


def _parallel_arm() -> Array:
    """The elbow on the other side than `four_bar` has it, by the law of cosines."""
    theta = doors.TABLE
    pinion, pivot, arm, forearm = (0.2 - 0.07j) * np.exp(1j * theta), 0.3 - 0.04j, 0.3, 0.24
    away = pivot - pinion
    d = np.abs(away)
    gamma = np.unwrap(np.angle(away) - np.arccos((d * d + arm**2 - forearm**2) / (2 * d * arm)))
    phi = np.pi + theta + np.angle(0.2 - 0.07j) - np.angle(0.3 - 0.04j) - (gamma - np.angle(0.3 - 0.04j))
    return np.array([phi, np.gradient(phi, theta)])


def _track_arm() -> Array:
    gamma = np.arcsin((0.02 - 0.28 * np.sin(doors.TABLE)) / 0.42)
    return np.array([np.pi + doors.TABLE - gamma, 1 + 0.28 * np.cos(doors.TABLE) / (0.42 * np.cos(gamma))])


def _sliding_door(run: gates.Run, x: Truth) -> Array:
    soft = x["b_soft"] * 0.5 * (1 + np.tanh((0.08 - run.q) / 0.005)) * (run.speed < 0) * run.speed
    pull = np.interp(run.q, [0.04, 0.08, 0.1], [x[f"tau_{i}"] for i in range(3)])
    return _plain(run, x, "m") + soft + pull


_HINGE = {"I": (0.8, 3.0), "b_v": (0.3, 1.5), "b_c": (0.5, 2.0)}
_CLOSER = {
    "I": (4.0, 10.0),
    "b_v": (1.0, 4.0),
    "b_c": (0.8, 2.2),
    "b_bc": (4.0, 10.0),
    "b_s": (3.0, 6.0),
    "b_l": (2.0, 4.0),
}
_SPRING = {"c_0": (-2.0, -1.0), "c_1": (-1.0, -0.3)}
STOPS = "stops: [0 deg, 90 deg]\n"
OBJECTS = {
    "tailgate": Object(
        _drawn(I=(3.0, 6.0), mc_x=(7.0, 11.0), mc_y=(0.1, 0.8), b_v=(1.0, 4.0), b_c=(15.0, 40.0),
               strut_force=(500.0, 800.0), strut_rate=(300.0, 600.0)),
        _tailgate,
        keys=lambda x: STOPS + f"fixed: {{strut_rate: {x['strut_rate']:.9g}}}\n",
    ),
    "car-door": Object(
        _drawn(I=(6.0, 12.0), mc_x=(10.0, 16.0), mc_y=(-1.0, 1.0), b_v=(0.5, 3.0), b_c=(1.0, 4.0), notch_1=(6.0, 14.0),
               notch_2=(6.0, 14.0), tau_0=(-20.0, -12.0), tau_1=(-8.0, -4.0)),
        _car_door,
        travel=1.25,
        keys=lambda _: "stops: [0 deg, 90 deg]\nfixed: {tau_2: 0}\n",
    ),
    "oven": Object(
        _drawn(**_HINGE, mc_x=(1.2, 3.0), c_0=(-5.0, -2.0), c_1=(-14.0, -6.0)),
        _oven,
        keys=lambda _: STOPS + "fixed: {mc_y: 0}\n",
    ),
    "refrigerator": Object(_drawn(**_HINGE, c_0=(-1.5, -0.5), c_1=(-1.0, 0.5), gasket=(8.0, 20.0)), _refrigerator,
                           keys=lambda _: STOPS),
    "door-parallel-arm": Object(_drawn(**_CLOSER, **_SPRING), _closer(_parallel_arm()), keys=lambda _: STOPS),
    "door-track-arm": Object(_drawn(**_CLOSER, **_SPRING), _closer(_track_arm()), keys=lambda _: STOPS),
    "interior-door": Object(_drawn(**_HINGE), _plain, keys=lambda _: STOPS),
    "sliding-door": Object(
        _drawn(m=(15.0, 40.0), b_v=(4.0, 20.0), b_c=(3.0, 8.0), b_soft=(150.0, 400.0), tau_0=(15.0, 25.0),
               tau_1=(10.0, 20.0), tau_2=(-0.5, 0.5)),
        _sliding_door,
        travel=0.8,
        keys=lambda _: "stops: [0 mm, 900 mm]\n",
        slides=True,
    ),
}  # fmt: skip
"""By the name under which the object ships; the truth has palpate's names."""
