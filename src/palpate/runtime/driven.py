"""What a model is of, and so by whose wrench it is driven: one answer for steppers, robots and exports."""

from __future__ import annotations

from palpate.model import Model

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
    """What the model says it is of: "body", "whole", "handle", "weight-only"; "" if it says nothing."""
    told = str(model.about.get("model_of", ""))
    if told.startswith(_OLD_WEIGHT_ONLY):
        return "weight-only"
    return told.split(" ", 1)[0]


def wrench_words(model: Model) -> str:
    """The wrench (N, N m) that this model wants, in words."""
    return _WRENCHES.get(model_of(model), _UNKNOWN)


def doubt(model: Model) -> str:
    """Why it is not safe to drive it by a sensor's wrench, in a sentence; empty for a model of the body or whole."""
    of = model_of(model)
    if of in ("body", "whole"):
        return ""
    if of == "weight-only":
        return (
            "model_of is weight-only, for reproduction of the paper: no wrench of a sensor on a robot belongs to it; "
            "identify with model_of: body or whole."
        )
    if of == "handle":
        return "model_of is handle: this is what a robot carries, not what it renders."
    if of:
        return f"model_of is {of!r}, which palpate does not know: which wrench drives it is not known."
    return "the model does not say what it is of (about: model_of): whether the handle is in it is not known."
