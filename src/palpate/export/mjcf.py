"""MJCF: a model for MuJoCo and what reads its files. What MuJoCo cannot say is told in the file and in the result."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from palpate.elements import RigidBody
from palpate.errors import PalpateError
from palpate.export.exported import Export
from palpate.export.mjcf_hinge import hinge_joint, take_apart
from palpate.export.mjcf_rolling import rolling_tree
from palpate.export.mjcf_text import (
    ORIGIN,
    STEP,
    WRENCH_NAMES,
    add_inertial,
    body_name,
    child,
    document,
    header,
    numbers,
    object_to_export,
    parts_of,
    plain,
    rigid_phi,
)
from palpate.files import check_folder, write_text
from palpate.mechanisms import Free, Hinge, Rolling
from palpate.model import Model
from palpate.physics.so3 import quaternion_from_rotation
from palpate.runtime.driven import wrench_words


def export_mjcf(model: Model, folder: str | Path, *, mass: float | None = None) -> Export:
    """Write `model` as MJCF into `folder`, as model.xml.

    `mass` (kg): of a body on a hinge whose model knows only its inertia. Six motors at the site `origin` take
    palpate's wrench in the body frame (N, N m).
    """
    folder = Path(folder)
    check_folder(folder)
    found, left_out = object_to_export(model)
    root = ElementTree.Element("mujoco", {"model": plain(found.name)})
    child(root, "compiler", {"angle": "radian", "autolimits": "true", "balanceinertia": "false"})
    option = child(root, "option", {"timestep": repr(STEP), "integrator": "implicitfast"})
    world = child(root, "worldbody")
    mechanism = found.mechanism
    if mass is not None and not isinstance(mechanism, Hinge):
        raise PalpateError(f"model {found.name!r} knows its mass: do not give another")
    if isinstance(mechanism, Free):
        told, gravity = _free(world, found, left_out), mechanism.gravity
    elif isinstance(mechanism, Hinge):
        taken = take_apart(found, mass)
        quaternion = quaternion_from_rotation(taken.R_world_hinge)
        body = child(world, "body", {"name": body_name(found), "quat": numbers(quaternion)})
        left_out += [*taken.left_out, *hinge_joint(body, root, taken)]
        add_inertial(body, taken.phi)
        child(body, "site", {"name": ORIGIN})
        told, gravity = "qpos: the angle of the hinge, rad.", mechanism.gravity
    elif isinstance(mechanism, Rolling):
        told, gravity = rolling_tree(root, world, option, found, left_out), mechanism.gravity
    else:
        raise PalpateError(f"model {found.name!r}: its mechanism is not known to this export")
    option.set("gravity", numbers([0.0, 0.0, -gravity]))
    _motors(root)
    lines = [told, f"ctrl (N, N m), at the site {ORIGIN!r}, in its axes: {wrench_words(model)}."]
    if any(" " in e.get(key, "") for e in root.iter("joint") for key in ("stiffness", "damping")):
        lines.append("Polynomial stiffness or damping: needs MuJoCo 3.7 or later.")
    path = folder / "model.xml"
    write_text(path, document(root, header(found, "MJCF", lines, left_out)))
    return Export((path,), tuple(left_out), (told,))


def _free(world: ElementTree.Element, model: Model, left_out: list[str]) -> str:
    phi = rigid_phi(parts_of(model))
    if phi is None:
        raise PalpateError(f"model {model.name!r} has no inertia to move: add a rigid body")
    body = child(world, "body", {"name": body_name(model)})
    child(body, "joint", {"name": "free", "type": "free"})
    add_inertial(body, phi)
    child(body, "site", {"name": ORIGIN})
    left_out += [f"{e.name}: not known to this export" for e in model.elements if not isinstance(e, RigidBody)]
    return "qpos: position (world, m), quaternion w x y z; qvel: velocity (world, m/s), omega (body, rad/s)."


def _motors(root: ElementTree.Element) -> None:
    actuators = child(root, "actuator")
    for name, gear in zip(WRENCH_NAMES, np.eye(6), strict=True):
        child(actuators, "motor", {"name": name, "site": ORIGIN, "gear": numbers(gear)})
