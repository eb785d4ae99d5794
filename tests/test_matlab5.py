"""Plain MATLAB files are read as SciPy reads them; all others are left to SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from palpate.recording.matlab5 import NotPlainError, read_plain

ENTRIES = np.array([("a", 1.0), ("bc", np.arange(3.0))], dtype=[("Name", object), ("Data", object)])
PLAIN: dict[str, Any] = {
    "text": "Fx",
    "number": 3,
    "whole": np.arange(4, dtype=np.int16),
    "table": np.arange(6.0).reshape(2, 3),
    "space": np.arange(24.0).reshape(2, 3, 4),
    "flags": np.array([True, False]),
    "one": {"x": np.arange(5.0), "deep": {"unit": "N m"}},
    "many": ENTRIES,
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("compressed", [False, True])
def test_numbers_texts_and_structs_are_what_scipy_reads(tmp_path: Path, compressed: bool) -> None:
    savemat(path := tmp_path / "plain.mat", PLAIN, do_compression=compressed)
    theirs = {k: v for k, v in loadmat(path, simplify_cells=True).items() if not k.startswith("__")}
    assert same(read_plain(path), theirs)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 40])
    with pytest.raises(NotPlainError):
        read_plain(path)


@pytest.mark.parametrize(
    "other", [1j * np.ones(3), np.array(["a", "bc"]), np.array([1, "a"], object), np.zeros((0, 3))]
)
def test_anything_else_is_left_to_scipy(tmp_path: Path, other: Any) -> None:
    savemat(path := tmp_path / "other.mat", {"x": np.zeros(3), "other": other})
    with pytest.raises(NotPlainError):
        read_plain(path)
