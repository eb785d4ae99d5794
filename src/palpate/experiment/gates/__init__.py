"""Gates: everything that is asked of a fit before its numbers are believed, for every object alike.

A gate takes a `Case` and yields findings; it yields nothing where its question does not arise. What is fatal fails the
verdict. `GATES` is the whole list; a threshold stands with its gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from palpate.experiment.gates import explaining, mounting, numbers
from palpate.experiment.stage.result import Case
from palpate.findings import Finding

Gate = Callable[[Case], Iterable[Finding]]

GATES: Sequence[Gate] = (
    mounting.axes,
    mounting.placement,
    mounting.signs,
    mounting.touched,
    mounting.lever,
    mounting.beside,
    mounting.assembly,
    mounting.exchanged,
    mounting.ground,
    mounting.contact,
    explaining.ending,
    explaining.conditioning,
    explaining.carry_over,
    explaining.misfit,
    explaining.noise,
    explaining.outlying,
    explaining.zero_drift,
    explaining.zero_change,
    explaining.bandwidth,
    explaining.rest,
    explaining.one_way,
    explaining.extrapolated,
    explaining.replayed,
    numbers.known_mass,
    numbers.mass_of_prior,
    numbers.scale,
    numbers.fixed,
    numbers.leaning,
    numbers.damping,
    numbers.shapes,
    numbers.refused,
    numbers.solver,
)

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "swapped": ("misfit", "sign", "unknown", "wheel-radius", "carry-over"),
    "axes": ("placement", "misfit"),
    "sign": ("placement",),
}
"""Where one cause is established, findings that follow from it are not repeated: cause -> those."""
MADE_BY_ANYTHING = ("placement",)
"""Whatever is wrong with an instrument makes the IMU look misplaced."""


def judge(case: Case) -> tuple[Finding, ...]:
    """All findings about a fit, fatal ones first; what only follows from another is left out."""
    findings = [*case.prepared.findings, *(f for gate in GATES for f in gate(case))]
    causes = {f.cause for f in findings if f.fatal}
    dropped = {follower for cause in causes for follower in FOLLOWS.get(cause, ())}
    if any(f.fatal for f in case.prepared.findings):
        dropped.update(MADE_BY_ANYTHING)
    kept = dict.fromkeys(f for f in findings if f.cause not in dropped)
    return tuple(sorted(kept, key=lambda f: not f.fatal))
