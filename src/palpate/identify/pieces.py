"""How short the pieces of a recording may be by whose scatter the noise is known."""

from __future__ import annotations

from palpate.motion.derivatives import Lowpass

PIECES = 100
"""A recording is cut into about so many pieces, for statistics ..."""
SHORTEST_PIECE_S, FEW = 0.25, 20
"""... none of which is shorter, but where a few seconds would give fewer than so many."""


def shortest_piece(lowpass: Lowpass | None, samples: int, step_s: float) -> float:
    """In samples, of so many: never so short that neighbours say the same, which half a filter sees to."""
    usual = SHORTEST_PIECE_S / step_s
    return usual if lowpass is None else min(usual, max(len(lowpass.taps) / 2, samples / FEW))
