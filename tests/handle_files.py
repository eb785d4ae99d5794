"""A handle that a hand moves for a shorter time than `palpate twin` says, for tests that ask nothing of its length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from palpate.twin.handle import HandleTwin, write_handle_twin

SEED, SECONDS = 11, 34.0
TRAIN, TEST = "[6, 21]", "[22, 28]"


def _short(**parts: Any) -> HandleTwin:
    hand = replace(parts["hand"], end_s=SECONDS - 5.0)
    return HandleTwin(**{**parts, "duration_s": SECONDS, "hand": hand})


def write_short_handle(folder: Path, seed: int = SEED) -> Path:
    """Recordings, truth and handle.yaml, which is returned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.twin.handle.HandleTwin", _short)
        path = write_handle_twin(folder, seed=seed)
    text, long = path.read_text(), "train: [6, 44]\n  test: [45, 63]"
    assert long in text
    path.write_text(text.replace(long, f"train: {TRAIN}\n  test: {TEST}"))
    return path
