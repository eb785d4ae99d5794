"""How short the pieces of a recording may be by whose scatter the noise is known."""

from __future__ import annotations

from typing import Protocol

from palpate.motion.derivatives import Lowpass
from palpate.physics.arrays import FloatArray

PIECES = 100
"""A recording is cut into about so many pieces, for statistics ..."""
SHORTEST_PIECE_S, FEW = 0.25, 20
"""... none of which is shorter, but where a few seconds would give fewer than so many."""


def shortest_piece(lowpass: Lowpass | None, samples: int, step_s: float) -> float:
    """In samples, of so many: never so short that neighbours say the same, which half a filter sees to."""
    usual = SHORTEST_PIECE_S / step_s
    return usual if lowpass is None else min(usual, max(len(lowpass.taps) / 2, samples / FEW))


class Blocks(Protocol):
    """What makes the low-passed blocks of a balance, as `Balance.block` does."""

    def block(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Samples start:stop, low-passed: (1 or rows, entries, outputs); out: where it may be put."""
        ...
