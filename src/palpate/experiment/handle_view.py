"""What the report of a handle shows: six channels in the band of the fit, the motion, and the wrenches in space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.file.schema import ExperimentPart
from palpate.experiment.view import Arrows, Scene, Series, View
from palpate.experiment.view_parts import IMU, WRENCH, clock_seen, excitation_of, instrument
from palpate.identify import Balance, Solution
from palpate.identify.balance import Segment
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES

if TYPE_CHECKING:
    from palpate.experiment.handle import Prepared

_PIECE_S = 10.0
"""Rows are made in pieces of this length: a long segment at the load cell's rate would fill the memory."""
_MOST = 60_000
"""Samples of the view."""
_ARROWS = 60


def handle_view(config: ExperimentPart, prepared: Prepared, solution: Solution) -> View:
    """Measured and estimated wrench in the train and test segments, both through the fit's low-pass."""
    balance, k = prepared.balance, prepared.balance.kinematics
    spans = sorted([*prepared.train, *prepared.test])
    parts = [piece for span in spans for piece in _pieces(balance, span, solution.p, _stride(balance, spans))]
    at = np.concatenate([p[0] for p in parts])
    reference, estimate = np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
    nowhere = np.zeros(len(at), dtype=bool)
    groups = (("a", "m/s2", k.specific_acceleration), ("ω", "rad/s", k.omega))
    series = [
        Series(f"{letter}_{axis}", unit, np.asarray(s)[at])
        for letter, unit, triple in groups
        for axis, s in zip("xyz", triple, strict=True)
    ]
    inside = np.zeros(len(balance.times_s), dtype=bool)
    for span in prepared.train:
        inside[slice(*balance.indices(span))] = True
    recordings: Any = config.recordings
    return View(
        model=solution.model,
        times_s=balance.times_s[at],
        reference=reference,
        estimate=estimate,
        used=~nowhere,
        resting=nowhere,
        segments={"train": tuple(prepared.train), "test": tuple(prepared.test)},
        series=tuple(series),
        instruments=(
            instrument("load cell", recordings.wrench.file, prepared.inputs.wrench, WRENCH),
            instrument("IMU", recordings.imu.file, prepared.inputs.imu, IMU),
        ),
        clocks=() if prepared.offset is None else (clock_seen("imu", prepared.offset),),
        scene=_scene(prepared, solution, reference),
        excitation=excitation_of(k, inside),
    )


def _pieces(
    balance: Balance, span: Segment, p: FloatArray, stride: int
) -> Iterator[tuple[NDArray[np.int_], FloatArray, FloatArray]]:
    """Indices, measured and estimated rows of a segment, piece by piece."""
    count = max(1, round((span[1] - span[0]) / _PIECE_S))
    edges = np.linspace(span[0], span[1], count + 1)
    half, step = (0, 1) if balance.lowpass is None else (len(balance.lowpass.taps) // 2, balance.lowpass.step)
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        start, stop = balance.indices((a, b))
        # a low-pass loses half its length at each end of a piece: take that from the neighbours
        wide = (max(start - half, 0), min(stop + half, len(balance.times_s)))
        if wide[1] - wide[0] <= 2 * half:
            continue
        rows = _rows(balance, *wide)[::stride]
        at = wide[0] + half + step * stride * np.arange(len(rows))
        keep = (at >= start) & (at < stop)
        yield at[keep], rows[keep, :, -1], rows[keep, :, :-1] @ p


def _rows(balance: Balance, start: int, stop: int) -> FloatArray:
    return np.asarray(np.einsum("iN,rip->Nrp", balance.block(start, stop)[0], balance.lift), dtype=float)


def _stride(balance: Balance, spans: list[Segment]) -> int:
    step = 1 if balance.lowpass is None else balance.lowpass.step
    samples = sum(b - a for a, b in (balance.indices(s) for s in spans)) / step
    return max(1, int(np.ceil(samples / _MOST)))


def _scene(prepared: Prepared, solution: Solution, reference: FloatArray) -> Scene:
    """The sensor with its IMU, the centre of mass, and the forces that moved the handle, in the sensor's axes."""
    known = reference[np.isfinite(reference).all(axis=1)]
    some = known[np.linspace(0, len(known) - 1, min(_ARROWS, len(known))).astype(int)]
    values = solution.model.values
    m, *first = (values[n] for n in PHI_NAMES[:4])
    centre = np.array(first) / m if m > 0 else np.full(3, np.nan)
    at = np.zeros((len(some), 3))
    return Scene(
        "sensor",
        {"sensor": np.eye(4), "IMU": prepared.inputs.T_sensor_imu},
        np.zeros((0, 3)),
        arrows=(
            Arrows("force at the sensor", "N", at, some[:, :3]),
            Arrows("moment at the sensor", "N m", at, some[:, 3:]),
        ),
        points={"centre of mass": centre},
    )
