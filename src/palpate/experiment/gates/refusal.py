"""Which numbers of a fit are known: one that the data do not tell is refused, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.elements.element import Element, Scope
from palpate.experiment.gates.case import MISFIT_PERCENT, QUIET_ROW
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import STEP
from palpate.findings import Finding
from palpate.identify.solution import Estimate, Solution, Status
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Kinematics

VAGUE = 0.5
"""An inertia whose interval reaches this share of it to either side is not known."""
OFTEN = 95.0
"""Percentile of a column's size, or of a speed, that stands for what it does."""
ORDINARY = {"rad": 0.5, "m": 0.2}
"""rad/s, m/s: who moves something by hand moves it at least so fast."""
ONE_WAY = 0.1
"""Less of the way than this share back: moved in one direction only."""
LEAST_WAY = 5.0
"""Steps: less way in a zone is an accident (an overshoot, a tremor), no test of it."""
SAME = 1e-6
"""Columns whose directions differ by less are one."""


def refuse(fit: Fit, *, rate_known: bool = True) -> tuple[Solution, dict[str, Finding]]:
    """The solution with statuses that fit scalar parameters, and for each number that is refused, why.

    A coefficient that cannot be told from zero is known as such where all that its interval allows drowns in the
    residual, at an ordinary speed too, and the residual is not large for another reason; else it is not known. The ten
    numbers of a free body are fitted together and give the wrench of any motion like the recorded one: none is refused,
    their statuses say which are not known by themselves.
    """
    if fit.inputs.imu is not None:
        return fit.solution, {}
    judge = _Judge.of(fit, rate_known)
    refused: dict[str, Finding] = {}
    estimates: list[Estimate] = []
    owners = [(element, j) for element in fit.inputs.model.elements for j in range(len(element.parameters))]
    parameters = fit.inputs.model.parameters.values()
    for i, (e, parameter, (element, j)) in enumerate(zip(fit.solution.estimates, parameters, owners, strict=True)):
        positive = parameter.map == "positive"
        half = fit.solution.uncertainty.critical * e.noise
        reason = "" if e.status is Status.FIXED else judge.reason(e, element, i, j, positive=positive)
        if reason:
            e = replace(e, status=Status.NOT_IDENTIFIABLE, ci95=None)
            if e.name in fit.inputs.mechanism.hidden:
                e = replace(e, information_from_data=0.0)
            elif not element.instrument:
                advice = "" if "fixed:" in reason else fit.inputs.model.advice(e.name)
                refused[e.name] = Finding("unknown", reason, e.name, advice)
        elif e.status is Status.NOT_IDENTIFIABLE:  # known, as next to nothing
            e = replace(e, status=Status.IDENTIFIED, ci95=(max(e.value - half, 0.0), e.value + half))
        elif e.ci95 is not None and positive:
            e = replace(e, ci95=(max(e.ci95[0], 0.0), e.ci95[1]))
        estimates.append(e)
    return replace(fit.solution, estimates=tuple(estimates)), refused


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """What the samples of a fit show."""

    fit: Fit
    rate_known: bool
    rows: FloatArray
    """(samples, rows, parameters + 1) of the fit's segments."""
    level: FloatArray
    """(rows,): RMS of what is left."""
    explained: bool
    """Whether that is small beside the range of each row."""
    kinematics: Kinematics
    at: NDArray[np.int64]
    """The samples that count."""

    @staticmethod
    def of(fit: Fit, rate_known: bool) -> _Judge:
        inside = fit.prediction.inside(fit.plan.segments)
        rows, level = fit.prediction.rows[inside], fit.level
        explained = False
        if len(rows):
            span = np.ptp(rows[:, :, -1], axis=0)
            units = np.array([row.unit for row in fit.inputs.mechanism.rows])
            loudest = np.array([span[units == unit].max() for unit in units])
            explained = bool(np.all(level <= MISFIT_PERCENT / 100 * np.maximum(span, QUIET_ROW * loudest)))
        return _Judge(fit, rate_known, rows, level, explained, fit.balance.kinematics, fit.prediction.at[inside])

    def reason(self, e: Estimate, element: Element, i: int, j: int, *, positive: bool) -> str:
        """Why a number is refused; empty if it is not. i, j: its column in the model and in its element."""
        solution = self.fit.solution
        half = solution.uncertainty.critical * e.noise
        timed = element.inertial or "s" in re.split(r"[ /]", e.unit)
        if not solution.uncertainty.enough:
            return "the segments are too short to know the noise"
        if timed and not self.rate_known:
            return "the rate of the recording is a guess"
        unseen = self._unseen(element.scopes[j]) if element.scopes else ""
        if unseen:
            return unseen
        column = np.abs(self.rows[:, :, i])
        if not len(column) or column.max() < 1e-9:
            return "the motion never shows it"
        # what may be zero can be known all the same, as next to nothing
        near_zero = positive and np.isfinite(half) and half >= e.value
        if e.status is Status.NOT_IDENTIFIABLE and not near_zero:
            twins = self._twins(i)
            if twins:
                return f"it does the same as {', '.join(twins)}: fix one of them (fixed:), the rest is the other"
            return "the motion does not tell it from others"
        if element.inertial and positive and half > VAGUE * e.value:
            return "the motion is too slow or too short for it, or something else moves the object"
        if near_zero:
            acting = [c[c > 1e-3 * max(c.max(), 1e-300)] for c in column.T]
            share = max(float(np.percentile(c, OFTEN)) / s for c, s in zip(acting, self.level, strict=True) if len(c))
            if not self.explained or (e.value + half) * self._slowness(element) * share > 1:
                return f"it cannot be told from zero: at most {e.value + half:.3g} {e.unit}"
        return ""

    def _slowness(self, element: Element) -> float:
        """How many times faster than in the fit the coordinate of a viscous element ordinarily moves, at least 1."""
        coordinate = self.kinematics.coordinates.get(element.acts_on)
        if coordinate is None or element.dry or not len(self.at):
            return 1.0
        speed = float(np.percentile(np.abs(np.asarray(coordinate.speed)[self.at]), OFTEN))
        return max(1.0, ORDINARY[self.fit.inputs.mechanism.coordinates[element.acts_on]] / max(speed, 1e-12))

    def _twins(self, i: int) -> list[str]:
        """Parameters whose columns are that of the i-th times a number."""
        names = list(self.fit.inputs.model.parameters)
        columns = self.rows[:, :, :-1].reshape(-1, len(names))
        sizes = np.linalg.norm(columns, axis=0)
        alike = np.abs(columns.T @ columns[:, i]) >= (1 - SAME) * sizes * sizes[i]
        return [n for k, n in enumerate(names) if k != i and alike[k] and sizes[k] > 0 and sizes[i] > 0]

    def _unseen(self, zone: Scope) -> str:
        """What of a zone was not done: too little of it for a number, however small the noise."""
        position, over = self._path(zone.over)
        _, speed = self._path(zone.acts_on)
        going = {"opening": speed > 0, "closing": speed < 0, "both": speed != 0}[zone.when]
        there, back = float(np.maximum(speed, 0).sum()), float(np.maximum(-speed, 0).sum())
        verb = zone.when if zone.when != "both" else "moving"
        where = f" {zone.where}" if zone.where else ""
        if zone.when != "both" and min(there, back) < ONE_WAY * max(there, back):
            only = "opening" if there > back else "closing"
            if only != zone.when:
                return f"the object was moved in one direction only, {only}; it takes {verb}{where}"
        way = float(np.sum(np.abs(over) * going * zone.weight(position))) / self.fit.inputs.rate_hz
        steps = way / STEP[self.fit.inputs.mechanism.coordinates[zone.over]]
        if steps >= LEAST_WAY:
            return ""
        if steps < 0.1 * LEAST_WAY:
            return f"the object is never seen {verb}{where}"
        unit = self.fit.inputs.mechanism.coordinates[zone.over]
        return (
            f"the object is seen {verb}{where} for {np.degrees(way):.1f} deg in all"
            if unit == "rad"
            else (f"the object is seen {verb}{where} for {1e3 * way:.0f} mm in all")
        )

    def _path(self, name: str) -> tuple[FloatArray, FloatArray]:
        coordinate = self.kinematics.coordinates[name]
        return np.asarray(coordinate.position)[self.at], np.asarray(coordinate.speed)[self.at]
