"""Gates: everything that is asked of a fit before its numbers are believed, for every object alike.

A gate takes a `Case` and yields findings. What is fatal fails the verdict. `GATES` is the whole list; a threshold
stands with its gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from palpate.experiment.gates import channels, explaining, lacking, mounting, numbers
from palpate.experiment.stage.result import Case
from palpate.findings import Finding, Severity

Gate = Callable[[Case], Iterable[Finding]]

GATES: Sequence[tuple[Gate, str]] = (
    (mounting.axes, "imu"),
    (mounting.placement, "imu"),
    (mounting.signs, "any"),
    (mounting.columns, "guided"),
    (mounting.energy, "guided"),
    (mounting.touched, "any"),
    (mounting.lever, "any"),
    (mounting.beside, "guided"),
    (mounting.oblique, "guided"),
    (mounting.mistaken, "any"),
    (mounting.ground, "any"),
    (mounting.contact, "guided"),
    (channels.dead, "any"),
    (channels.hum, "any"),
    (numbers.known_mass, "any"),
    (lacking.weight, "guided"),
    (lacking.not_found, "guided"),
    (lacking.lacking, "any"),
    (lacking.suspected, "guided"),
    (explaining.ending, "any"),
    (explaining.conditioning, "imu"),
    (explaining.carry_over, "any"),
    (explaining.misfit, "any"),
    (explaining.noise, "imu"),
    (explaining.outlying, "any"),
    (explaining.zero_drift, "imu"),
    (explaining.zero_change, "imu"),
    (explaining.bandwidth, "guided"),
    (explaining.rest, "guided"),
    (explaining.one_way, "guided"),
    (explaining.extrapolated, "guided"),
    (explaining.replayed, "guided"),
    (numbers.mass_of_prior, "any"),
    (numbers.scale, "any"),
    (numbers.fixed, "any"),
    (numbers.untried, "any"),
    (numbers.contradicted, "any"),
    (numbers.leaning_on_prior, "any"),
    (numbers.damping, "any"),
    (numbers.shapes, "any"),
    (numbers.refused, "any"),
    (numbers.solver, "any"),
)
"""What is asked, and of what: any object, one whose motion an IMU tells, or one that turns on a hinge or slides."""

WRONG_FRAME = ("misfit", "sign", "unknown", "carry-over", "oblique", "unexplained", *lacking.CAUSES)
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "swapped": ("misfit", "sign", "unknown", "wheel-radius", "carry-over"),
    "closed": ("assembly", "order"),
    "order": WRONG_FRAME,
    "assembly": ("unexplained", *lacking.CAUSES),
    "axes": ("placement", "misfit"),
    **dict.fromkeys(("gyro-axes", "gyro-scale"), ("imu",)),
    **dict.fromkeys(("orientation", "wrench-frame"), WRONG_FRAME),
    "sign": ("placement", "unexplained"),
    "columns": ("energy", "sign", "misfit", "unknown", "carry-over", "replay", "rest", "unexplained", *lacking.CAUSES),
    "exchanged": (
        *("columns", "energy", "sign", "misfit", "unknown", "carry-over", "replay", "rest", "unexplained", "travel"),
        *("effort", "static", "delay", "search", "one-way", "noise", "bandwidth", *lacking.CAUSES),
    ),
    "axle": ("sign", "misfit", "unknown", "wheel-radius", *lacking.CAUSES),
    "slip": ("unexplained",),
    "travel": ("static", "unexplained", *lacking.CAUSES),
    "dead": ("sign", "misfit", "search", "carry-over", "zero-drift", *lacking.CAUSES),
    "delay": ("lag", "compliance"),
    **dict.fromkeys(lacking.CAUSES, ("carry-over", "noise", "bandwidth", "zero-drift", "rest")),
    "give": ("carry-over", "noise", "bandwidth", "zero-drift", "rest", "delay"),
}
"""Where one cause is established, findings that follow from it are not repeated: cause -> those."""
SYMPTOMS = ("carry-over", "misfit", "search", "unknown", "replay", "delay", "joint")
"""What many causes do: a cause that is named stands before them."""


def judge(case: Case) -> tuple[Finding, ...]:
    """All findings about a fit, fatal ones first; what only follows from another is left out."""
    inputs = case.fit.inputs
    kinds = ("any", "imu" if inputs.imu is not None else "guided" if inputs.main is not None else "")
    findings = [*case.prepared.findings, *(f for gate, kind in GATES if kind in kinds for f in gate(case))]
    if any(f.fatal for f in findings):  # columns that look exchanged are why; where all is well, it only looks so
        findings = [replace(f, severity=Severity.FATAL) if f.cause == "exchanged" else f for f in findings]
    explained = _followers(findings)
    failures = _followers(f for f in findings if f.fatal)  # a warning never takes a failure away
    if any(f.fatal and f.cause != "placement" for f in case.prepared.findings):
        failures.add("placement")  # whatever is wrong with an instrument makes the IMU look misplaced
    kept = dict.fromkeys(f for f in findings if f.cause not in (failures if f.fatal else failures | explained))
    said = {(f.cause, f.evidence) for f in kept if f.fatal}
    blurred = any(cause in SYMPTOMS for cause, _ in said)
    kept = [f for f in kept if f.fatal or (f.cause, f.evidence) not in said]
    return tuple(sorted(kept, key=lambda f: _rank(f, blurred=blurred)))


def _rank(finding: Finding, *, blurred: bool) -> int:
    """Failures first, and of these what only shows that something is wrong behind what it may come from."""
    if blurred and finding.cause in lacking.CAUSES:
        return 3 if finding.cause == "unexplained" else 1
    if not finding.fatal:
        return 5
    return 0 if finding.cause not in SYMPTOMS else 2 if finding.cause in ("delay", "joint") else 4


def _followers(findings: Iterable[Finding]) -> set[str]:
    return {follower for f in findings for follower in FOLLOWS.get(f.cause, ())}
