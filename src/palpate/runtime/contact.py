"""Linear equations and dry friction in plain floats: small, without allocation that matters, and the same in C."""

from __future__ import annotations

from collections.abc import Sequence

SWEEPS = 200
SETTLED = 1e-12
"""Dry impulses are found when a sweep changes them by less than this part of their bound."""
TURN, PIVOTS, CREEP = 4, 60, 1e-9
"""Sweeps before pivoting, how many pivots, and the part of a held speed that is left."""

Matrix = Sequence[Sequence[float]]


def dot_floats(a: Sequence[float], b: Sequence[float]) -> float:
    """The sum of products, first to last: `sum` is another one from Python 3.12 on."""
    found = 0.0
    for x, y in zip(a, b, strict=True):
        found += x * y
    return found


def solved(rows: list[list[float]]) -> list[list[float]] | None:
    """Columns X of A X = B from the rows [A | B], which are used up; None where A is singular.

    Gauss's elimination with row pivoting (Golub and Van Loan, 3.4).
    """
    n = len(rows)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(rows[i][k]) > abs(rows[best][k]):
                best = i
        rows[k], rows[best] = rows[best], rows[k]
        first = rows[k]
        pivot = first[k]
        if not abs(pivot) > 0.0:
            return None
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], first, strict=True)]
    columns: list[list[float]] = []
    for c in range(n, len(rows[0]) if rows else 0):
        x = [0.0] * n
        for i in range(n - 1, -1, -1):
            row = rows[i]
            found = row[c]
            for j in range(i + 1, n):
                found -= row[j] * x[j]
            x[i] = found / row[i]
        columns.append(x)
    return columns


def dry_impulses(G: Matrix, free: Sequence[float], most: Sequence[float], start: Sequence[float]) -> list[float]:
    """f within +-most such that each speed, free - G f, is zero or has the sign of its f, which is then at its bound.

    Projected Gauss-Seidel (Jean 1999, The non-smooth contact dynamics method); with one element it is exact. Where
    elements hold the same thing together it is slow, and pivoting finds which of them slip.
    """
    f = list(start)
    for sweep in range(SWEEPS):
        settled = True
        for j, row in enumerate(G):
            if row[j] > 0.0:
                new = f[j] + (free[j] - dot_floats(row, f)) / row[j]
                new = -most[j] if new < -most[j] else most[j] if new > most[j] else new
                settled = settled and abs(new - f[j]) <= SETTLED * most[j]
                f[j] = new
        if settled:
            break
        if sweep == TURN and (found := _pivoted(G, free, most, f)) is not None:
            return found
    return f


def _pivoted(G: Matrix, free: Sequence[float], most: Sequence[float], f: Sequence[float]) -> list[float] | None:
    """The same impulses by principal pivoting, from those that are within their bounds now; None if that fails.

    First all that are wrong change sides, then one at a time, which ends (Murty 1974, Note on a Bard-type scheme for
    solving the complementarity problem). G is made regular by a creep of 1e-9 of the speeds.
    """
    m = len(G)
    size = [row[j] if row[j] > 0.0 else 1.0 for j, row in enumerate(G)]
    A = [[g + CREEP * size[i] if i == j else g for j, g in enumerate(row)] for i, row in enumerate(G)]
    side = [0.0 if abs(x) < bound else _sign(x) for x, bound in zip(f, most, strict=True)]
    slack = SETTLED * max(abs(x) for x in free)
    for turn in range(PIVOTS):
        held = [j for j in range(m) if side[j] == 0.0]
        x = [s * bound for s, bound in zip(side, most, strict=True)]
        rows = [[*(A[i][j] for j in held), free[i] - dot_floats(A[i], x)] for i in held]
        if held:
            found = solved(rows)
            if found is None:
                return None
            for i, y in zip(held, found[0], strict=True):
                x[i] = y
        wrong = -1
        old = list(side)
        for i in range(m):
            off = (abs(x[i]) - most[i]) * size[i] if old[i] == 0.0 else -(free[i] - dot_floats(A[i], x)) * old[i]
            if off > slack:
                wrong = i
                if turn < m:
                    side[i] = _sign(x[i]) if old[i] == 0.0 else 0.0
        if wrong < 0:
            return [min(max(y, -bound), bound) for y, bound in zip(x, most, strict=True)]
        if turn >= m:
            side[wrong] = _sign(x[wrong]) if old[wrong] == 0.0 else 0.0
    return None


def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0
