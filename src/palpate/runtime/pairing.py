"""Model and wrench as they belong together: what a model describes, whose wrench drives it, and a stepper that turns
what a sensor on the robot reads into what the model must be given."""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import PHI_NAMES, body_columns, body_features, move_phi
from palpate.physics.motion import nearest_rotation, wrench_transmission
from palpate.runtime.stepper import Stepper, StepStatus, check_step, check_wrench_limit, moving

_OLD_WEIGHT_ONLY = "body with the handle's weight compensated"
"""As files said it that were written before `weight-only` stood in front."""
_WRENCHES = {
    "body": "force and moment of the handle on the object: what each sensor reads minus its zero",
    "whole": "force and moment of the person on object and handle: what the sensor reads minus its bias, plus the "
    "Newton-Euler wrench of the handle on the robot",
    "handle": "force and moment of the person and of what holds the sensor on the handle",
    "weight-only": "what the sensor reads with the weight, but not the inertia, of the handle taken off",
}
_UNKNOWN = "force and moment on the object"
FRAME = "in the body frame about its origin"


def model_of(model: Model) -> str:
    """What the model says it describes: "body", "whole", "handle", "weight-only"; "" if it says nothing."""
    words = str(model.about.get("model_of", ""))
    return "weight-only" if words.startswith(_OLD_WEIGHT_ONLY) else words.split(" ", 1)[0]


def wrench_words(model: Model) -> str:
    """The wrench (N, N m) that this model wants, in words."""
    return _WRENCHES.get(model_of(model), _UNKNOWN)


_DOUBTS = {
    "body": "",
    "whole": "",
    "weight-only": "model_of is weight-only, for reproduction of the paper only: no wrench of a sensor on a robot "
    "belongs to it; identify with model_of: body or whole.",
    "handle": "model_of is handle: a handle is what the robot carries, not what it renders.",
    "": "the model does not say what it describes (about: model_of): whether it includes the handle is unknown.",
}


def doubt(model: Model) -> str:
    """Why it is not safe to drive it by a sensor's wrench, in a sentence; empty for a model of the body or whole."""
    of = model_of(model)
    return _DOUBTS.get(of, f"model_of is {of!r}, which palpate does not know: which wrench drives it is not known.")


@dataclass(frozen=True, slots=True, eq=False)
class HandleSensor:
    """A force/torque sensor between a handle and the object: where it is, what it reads at rest, and what is on it.

    `R_body_sensor` (3, 3) and `r_body_sensor` (3,), m: its frame seen from the model's body frame. `bias` (6,): what it
    reads with nothing on it; a zero that was taken with the handle mounted holds the handle's weight in that pose, and
    is no bias. `handle`: the model of the handle on it (stage `handle`), for a model of the whole only. `limit` (6,):
    its range, N and N m.
    """

    R_body_sensor: FloatArray
    r_body_sensor: FloatArray
    bias: FloatArray | None = None
    handle: Model | None = None
    limit: Sequence[float] | None = None


class SensorStepper:
    """A `Stepper` that is driven by what sensors read: wrenches of the handle on the object, in the sensors' frames.

    The model says what it is (`about: model_of`), and only one wrench belongs to it:

    - `body`: the sensor's wrench minus its bias. The handle on the robot is real, and is felt as it is.
    - `whole`: the same plus the handle's own Newton-Euler wrench, A phi of its motion, so that the handle on the robot
      is not felt twice. The acceleration for it is the model's own, through a first-order low-pass of `cutoff_hz`.

    Any other pairing is refused: a handle for a model of the body, no handle for a model of the whole.

    What `whole` costs: the handle's inertia I_h is given back late by tau = 1 / (2 pi cutoff). To the hand that is I_h
    (1 - 1 / (1 + s tau)) more, and at the frequency omega the damping I_h tau omega^2 / (1 + (omega tau)^2) less: up to
    I_h / tau that the object's own damping must outweigh. The loop through the model itself has the gain I_h / (I_body
    + I_h) < 1. Where there is a choice, take a model of the body.
    """

    def __init__(self, model: Model, dt: float, sensors: Sequence[HandleSensor], *, cutoff_hz: float = 50.0) -> None:
        check_step(dt)
        if not (math.isfinite(cutoff_hz) and 0 < cutoff_hz < 0.5 / dt):
            raise PalpateError(
                f"cutoff_hz must be positive and below {0.5 / dt:g} Hz (dt = {dt:g} s), not {cutoff_hz!r}"
            )
        _check_pairing(model, sensors)
        self._stepper = Stepper(model, dt)
        self._mechanism = moving(model).mechanism
        poses = [
            (nearest_rotation(s.R_body_sensor, what="R_body_sensor"), _numbers(s.r_body_sensor, 3, "r_body_sensor"))
            for s in sensors
        ]
        self._W: FloatArray = np.stack([wrench_transmission(R, r) for R, r in poses])
        self._bias: FloatArray = np.stack(
            [np.zeros(6) if s.bias is None else _numbers(s.bias, 6, "bias") for s in sensors]
        )
        ranges = [check_wrench_limit([math.inf] * 6 if s.limit is None else s.limit) for s in sensors]
        self._limit: FloatArray = np.array(ranges)
        handles = [(s.handle.values, *pose) for s, pose in zip(sensors, poses, strict=True) if s.handle is not None]
        each = [move_phi([values[name] for name in PHI_NAMES], R, r) for values, R, r in handles]
        self._phi: FloatArray | None = np.sum(each, axis=0) if each else None
        self._share = 1.0 - math.exp(-2.0 * math.pi * cutoff_hz * dt)
        self._filtered = np.zeros(len(self._mechanism.accelerations))

    @property
    def names(self) -> tuple[str, ...]:
        """What `out` receives, in order: the state, then the accelerations."""
        return self._stepper.names

    @property
    def size(self) -> int:
        """The length of `out`."""
        return self._stepper.size

    @property
    def state(self) -> FloatArray:
        """All that a later `reset` needs: the stepper's state, then the filtered accelerations."""
        return np.concatenate([self._stepper.state, self._filtered])

    def reset(self, state: Sequence[float] | FloatArray) -> None:
        """Go on from a saved `state`, or from a state of the mechanism alone: then without acceleration."""
        given, count = np.array([float(x) for x in state]), len(self._stepper.state)
        whole = len(given) == count + len(self._filtered) and bool(np.isfinite(given).all())
        self._stepper.reset(given[:count] if whole else given)
        self._filtered = given[count:] if whole else np.zeros_like(self._filtered)

    def step(
        self, raw: Sequence[float] | Sequence[Sequence[float]] | FloatArray, out: MutableSequence[float] | FloatArray
    ) -> StepStatus:
        """One step under what the sensors read: (6,), or one row per sensor. Never raises: look at the status.

        A reading that is not finite brakes the object as `Stepper` says; one beyond its sensor's range counts as the
        limit.
        """
        try:
            read = np.array(raw, dtype=float).reshape(self._bias.shape)
        except (TypeError, ValueError):
            read = np.full_like(self._bias, np.nan)
        within = np.where(np.isfinite(read), np.clip(read, -self._limit, self._limit), read)
        beyond = bool((within != read).any())
        wrench: FloatArray = np.einsum("sij,sj->i", self._W, within - self._bias)
        if self._phi is not None:
            state = self._stepper.state[: len(self._mechanism.state)].tolist()
            k = self._mechanism.expand(state, self._filtered.tolist(), FLOATS)
            wrench = wrench + np.array(body_columns(body_features(k)), dtype=float) @ self._phi
        status = self._stepper.step(wrench.tolist(), out)
        if len(out) == self.size:
            self._filtered += self._share * (np.array(out[self.size - len(self._filtered) :]) - self._filtered)
        return StepStatus.SATURATED if beyond and status is not StepStatus.NOT_FINITE else status


def _check_pairing(model: Model, sensors: Sequence[HandleSensor]) -> None:
    what, of = f"model {model.name!r}", model_of(model)
    if why := doubt(model):
        raise PalpateError(f"{what}: {why}")
    if not sensors:
        raise PalpateError(f"{what}: there is no sensor to drive it")
    handles = [s.handle for s in sensors]
    if of == "body" and any(h is not None for h in handles):
        raise PalpateError(
            f"{what} is a model of the body: it takes the sensor's wrench as is. With the handle's wrench added, the "
            "handle would be lost; give no handle, or the model of the whole"
        )
    if of == "whole" and any(h is None for h in handles):
        raise PalpateError(
            f"{what} is a model of the whole: without the wrench of the robot's handle, it would be felt twice. "
            "Give the handle's model with each sensor, or the model of the body"
        )
    for handle in (h for h in handles if h is not None):
        if len(handle.mechanism.rows) != 6 or any(name not in handle.values for name in PHI_NAMES):
            raise PalpateError(
                f"{what}: {handle.name!r} is not a model of a handle; give the model.json of a handle stage"
            )
        theirs, ours = handle.about.get("sensor"), model.about.get("sensor")
        if theirs is not None and ours is not None and theirs not in ours.split(", "):
            raise PalpateError(f"{what} was measured with the sensor {ours!r}, its handle with {theirs!r}")


def _numbers(given: Sequence[float] | FloatArray, count: int, what: str) -> FloatArray:
    numbers = np.array(given, dtype=float)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise PalpateError(f"{what} must be {count} finite numbers, not {given!r}")
    return numbers
