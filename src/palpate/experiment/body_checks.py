"""What the balance itself says against what was taken as given: where the sensor sits, its clock, the elbow's side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.experiment.body_fit import BodyFit
from palpate.findings import Finding, Severity
from palpate.identify import Balance
from palpate.mechanisms import FourBar
from palpate.physics.arrays import FloatArray, least_squares

LIMITS = np.array([0.02, 0.02, 0.5, 0.5, 0.005])
"""m, m, 1, 1, s: less is what a ruler, a drawing or a typed sample may be off by."""
SENSED = ("f_x", "f_z", "n_x", "n_y")
UNITS = {"f": "m", "n": "of"}
LATE_S = 1e-3
SURE = 5.0
"""Standard deviations from which on a difference is one."""
BETTER = 0.7
"""The other elbow explains the torque better when it leaves less than this share."""
PIECE_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What beside the model goes with the torque, and its standard deviations."""

    names: tuple[str, ...]
    value: FloatArray
    """Of f_x, f_z (m), n_x, n_y (1), and of the torque's slope (s)."""
    std: FloatArray


def fit_findings(fit: BodyFit) -> list[Finding]:
    """Things stated in the experiment file that the fitted balance contradicts."""
    # without a clock of its own the torque comes from a table, and from no sensor that sits somewhere
    return [*(late_findings(fit) if fit.inputs.clock is None else sensor_findings(fit)), *assembly_findings(fit)]


def late_findings(fit: BodyFit) -> list[Finding]:
    """A torque that is late or early against the angle of the same table."""
    beside = beside_balance(fit)
    late, std = float(beside.value[-1]), float(beside.std[-1])
    if not abs(late) > max(LATE_S, SURE * std):
        return []
    told = (
        f"the torque fits best {1e3 * abs(late):.1f} ms (+- {1.96e3 * std:.1f}) {'later' if late > 0 else 'earlier'} "
        "than stored: damping and friction move with that; if an amplifier or filter delays it, say "
        f"recordings.signals.delay: {-1e3 * late:.3g} ms"
    )
    return [Finding("delay", told, severity=Severity.FATAL)]


def sensor_findings(fit: BodyFit) -> list[Finding]:
    """A sensor that sits otherwise than stated, and a clock that is off."""
    beside = beside_balance(fit)
    sure = np.abs(beside.value) > np.maximum(LIMITS, SURE * beside.std)
    found: list[Finding] = []
    if sure[:-1].any():
        parts = zip(beside.names, beside.value, sure, strict=True)
        shares = ", ".join(
            f"{v:+.2g} {UNITS[name[0]]} {name}" for name, v, is_sure in parts if is_sure and name in SENSED
        )
        told = (
            f"the torque about the hinge goes with components of the wrench that do not turn it ({shares}): the sensor "
            "sits otherwise than stated; check the order of markers.sensor.markers, their offset, and the order and "
            "units of recordings.wrench.channels; or an effect is missing that goes with them"
        )
        found.append(Finding("lever arm", told))
    if sure[-1]:
        late = float(beside.value[-1])
        told = (
            f"the load cell's samples fit best {1e3 * abs(late):.0f} ms (+- {1.96e3 * beside.std[-1]:.0f}) "
            f"{'later' if late > 0 else 'earlier'} on the markers' clock than stated: check the samples under clocks, "
            "or write auto"
        )
        found.append(Finding("clock", told, severity=Severity.FATAL))
    return found


def beside_balance(fit: BodyFit) -> Beside:
    """How much of other components of the wrench the torque about the hinge holds: none, if the sensor's pose is right.

    A sensor that sits by (x, y) elsewhere adds x f_y - y f_x, one that is turned adds the other components; one that is
    late adds the torque's slope. f_y is the torque itself over the lever, so a place along x cannot be told from the
    scale of all parameters. Standard deviations hold for residuals that are alike within a second (sandwich).
    """
    balance = fit.balance
    w = balance.wrench
    r = fit.inputs.T_hinge_sensor[:3, 3]
    at_sensor = w[:, 3:] - np.cross(r, w[:, :3])
    raw = np.stack([w[:, 0], w[:, 2], at_sensor[:, 0], at_sensor[:, 1], np.gradient(w[:, 5], balance.times_s)])
    raw = np.where(np.isfinite(raw), raw, 0.0)
    own: list[FloatArray] = []
    more: list[FloatArray] = []
    pieces: list[NDArray[np.int64]] = []
    for a, b in (balance.indices(s) for s in fit.segments):
        rows = balance.block(a, b)[0]
        own.append(rows)
        more.append(_passed(balance, raw[:, a:b], a, b))
        step_s = float(balance.times_s[b - 1] - balance.times_s[a]) / max(rows.shape[1], 1)
        pieces.append(np.asarray(np.arange(rows.shape[1]) * step_s / PIECE_S, dtype=np.int64) + 1_000_000 * len(pieces))
    rows = np.concatenate(own, axis=1).T
    X = np.concatenate([rows[:, :-1], np.concatenate(more, axis=1).T], axis=1)
    scale = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    Z, target = X / scale, rows[:, -1]
    found = least_squares(Z, target)
    scores = Z * (target - Z @ found)[:, None]
    _, index = np.unique(np.concatenate(pieces), return_inverse=True)
    summed = np.stack([np.bincount(index, column) for column in scores.T])
    inverse = np.asarray(np.linalg.pinv(Z.T @ Z), dtype=float)
    std = np.sqrt(np.diag(inverse @ summed @ summed.T @ inverse)) / scale
    n = len(raw)
    return Beside((*SENSED, "slope"), (found / scale)[-n:], std[-n:])


def assembly_findings(fit: BodyFit) -> list[Finding]:
    """A four-bar closes with its elbow on either side: the data may know which."""
    linkage = fit.inputs.hinge.linkage
    if not isinstance(linkage, FourBar):
        return []
    other = "positive" if linkage.assembly == "negative" else "negative"
    model = replace(
        fit.inputs.model, mechanism=replace(fit.inputs.hinge, linkage=replace(linkage, assembly=other)), values={}
    )
    try:
        train, there = fit.again(fit.inputs.with_model(model))
        left = float(train.rms(there.p)[0])
    except PalpateError:
        return []
    ours = float(fit.train.rms(fit.solution.p)[0])
    if left > BETTER * ours:
        return []
    told = (
        f"the links explain the torque better with the elbow on the other side (RMS {left:.3g} instead of {ours:.3g} "
        f"N m): check mechanism.linkage.assembly, {other} instead of {linkage.assembly}"
    )
    return [Finding("assembly", told, severity=Severity.FATAL)]


def _passed(balance: Balance, raw: FloatArray, start: int, stop: int) -> FloatArray:
    """Columns as the balance's own: nothing where it takes nothing, low-passed."""
    used = np.ones(stop - start, dtype=bool) if balance.used is None else balance.used[start:stop]
    raw = np.where(used, raw, 0.0) * float(balance.weights[0])
    return raw if balance.lowpass is None else balance.lowpass.apply(raw)
