"""Alignment of an hour of 20 markers at 100 Hz, 5 % hidden, against loops over the frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from palpate.motion.cloud import Alignment, align

HEADINGS = ("1 h of 20 markers, 5 % hidden", "time", "times ours")
FRAMES, MARKERS, HIDDEN = 360_000, 20, 0.05
RIVAL_FRAMES = 4_000
"""The rivals cost the same for every frame; these are enough, and their time is scaled to the hour."""

Array = NDArray[np.float64]


def case(frames: int = FRAMES) -> tuple[Array, Array]:
    """Points (frames, markers, 3) of a tumbling body with 0.3 mm of noise, and its cloud."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(0)
    cloud = rng.uniform(-0.5, 0.5, (MARKERS, 3))
    t = np.arange(frames)[:, None] / 100
    turn = Rotation.from_rotvec(np.sin(2 * np.pi * t * [0.11, 0.23, 0.37]) * [0.5, 0.7, 1.5]).as_matrix()
    points = np.einsum("nij,kj->nki", turn, cloud) + np.sin(t * [0.3, 0.5, 0.7])[:, None]
    points += 3e-4 * rng.normal(size=points.shape)
    points[rng.random((frames, MARKERS)) < HIDDEN] = np.nan
    return points, cloud


def svd_loop(points: Array, cloud: Array) -> tuple[Array, Array, Array]:
    """Kabsch frame by frame: rotations, positions and errors, as `align` gives them."""
    rotation, position = np.empty((len(points), 3, 3)), np.empty((len(points), 3))
    error = np.full(points.shape[:2], np.nan)
    for i, frame in enumerate(points):
        seen = ~np.isnan(frame[:, 0])
        p, c = frame[seen], cloud[seen]
        mean_p, mean_c = p.mean(axis=0), c.mean(axis=0)
        U, _, V = np.linalg.svd((p - mean_p).T @ (c - mean_c))
        U[:, 2] *= np.linalg.det(U @ V)
        rotation[i] = U @ V
        position[i] = mean_p - rotation[i] @ mean_c
        error[i, seen] = np.linalg.norm(p - c @ rotation[i].T - position[i], axis=1)
    return rotation, position, error


def scipy_loop(points: Array, cloud: Array) -> tuple[Array, Array]:
    """`Rotation.align_vectors` frame by frame: rotations and positions, without errors."""
    from scipy.spatial.transform import Rotation

    rotation, position = np.empty((len(points), 3, 3)), np.empty((len(points), 3))
    for i, frame in enumerate(points):
        seen = ~np.isnan(frame[:, 0])
        p, c = frame[seen], cloud[seen]
        mean_p, mean_c = p.mean(axis=0), c.mean(axis=0)
        rotation[i] = Rotation.align_vectors(p - mean_p, c - mean_c)[0].as_matrix()
        position[i] = mean_p - rotation[i] @ mean_c
    return rotation, position


def ratios(rounds: int = 5) -> dict[str, float]:
    """Seconds of `align` for the hour ("ours"), and how many times longer each loop takes; all agree before."""
    points, cloud = case()
    part = points[:: FRAMES // RIVAL_FRAMES][:RIVAL_FRAMES]
    fit, (rotation, position, error) = align(part, cloud), svd_loop(part, cloud)
    _agree(fit, rotation, position)
    _agree(fit, *scipy_loop(part, cloud))
    np.testing.assert_allclose(fit.error, error, atol=1e-10)
    times = interleaved(
        {
            "ours": lambda: align(points, cloud),
            "SVD loop": lambda: svd_loop(part, cloud),
            "align_vectors loop": lambda: scipy_loop(part, cloud),
        },
        rounds,
    )
    scale = FRAMES / len(part)
    return {"ours": times["ours"]} | {k: times[k] * scale / times["ours"] for k in times if k != "ours"}


def _agree(fit: Alignment, rotation: Array, position: Array) -> None:
    np.testing.assert_allclose(fit.rotation, rotation, atol=1e-10)
    np.testing.assert_allclose(fit.position, position, atol=1e-10)


def rows() -> list[tuple[str, str, str]]:
    """Table rows: who, seconds for the hour, ratio to ours."""
    found = ratios()
    ours = found.pop("ours")
    rivals = [(f"{name} (NumPy)" if "SVD" in name else f"{name} (SciPy)", r) for name, r in found.items()]
    return [("palpate", f"{ours:.2f} s", "1"), *((name, f"{r * ours:.0f} s", f"{r:.0f}") for name, r in rivals)]


if __name__ == "__main__":
    for line in rows():
        print(" | ".join(line))
