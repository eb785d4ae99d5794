"""Findings: what a check has to say about data, as data. Sentences are made here, and nobody reads them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    FATAL = "fatal"
    """No result should be trusted: the verdict fails."""
    WARNING = "warning"
    """The result stands, and its user should know."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check noticed."""

    cause: str
    """Which check, or which cause it names: "clipping", "clock", "handle", ... one word or a few with hyphens."""
    evidence: str
    """The observation, with its numbers and units: a clause without a full stop."""
    place: str = ""
    """Where: a channel, a file's key, a marker, a parameter, a stretch of time; empty where it concerns everything."""
    remedy: str = ""
    """What would help, as an imperative; empty where nothing is known."""
    severity: Severity = Severity.WARNING

    @property
    def fatal(self) -> bool:
        """Whether it fails the verdict."""
        return self.severity is Severity.FATAL

    @property
    def sentence(self) -> str:
        """For people: "place: evidence; remedy"; evidence that begins with its place says it once."""
        named = not self.place or self.evidence.startswith(self.place)
        return ("" if named else f"{self.place}: ") + self.evidence + (f"; {self.remedy}" if self.remedy else "")

    def as_json(self) -> dict[str, str]:
        """For result.json."""
        return {key: str(value) for key, value in asdict(self).items()}


def sentences(findings: Iterable[Finding], *, fatal: bool) -> list[str]:
    """The sentences of those that fail the verdict, or of those that do not, each once and in order."""
    return list(dict.fromkeys(f.sentence for f in findings if f.fatal is fatal))
