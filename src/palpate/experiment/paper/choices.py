"""What the paper's authors chose where palpate chooses otherwise, and what they printed: `choices.toml`.

Everything else (files, markers, links, priors) is in the experiment files that ship with palpate.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

Span = tuple[int, int]
"""First and last sample of the window, from 1, both included; or a window in samples and an order."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it stands in print."""

    text: str

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self.text)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit: by so much the number that was rounded may be off."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])


_Printed = Annotated[Printed, BeforeValidator(Printed)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Window(_Part):
    """Which samples of each device's file are looked at."""

    first: Mapping[str, int]
    """By recording: the decimated sample that coincides with those of the others."""
    offset: int
    samples: int
    """One more is taken: the last is included."""
    decimation: Mapping[str, int] = {}
    """By recording: every so many-th sample is kept."""

    def rows(self, name: str) -> slice:
        """Rows of a device's file, from 0."""
        step = self.decimation.get(name, 1)
        start = (self.first[name] + self.offset - 1) * step
        return slice(start, start + self.samples * step + 1, step)

    def needed(self, name: str) -> int:
        """How many rows the file must have at least."""
        return int(self.rows(name).stop)


class PaperColumn(_Part):
    """What the paper says about one identification."""

    title: str
    parameters: Mapping[str, _Printed]
    """SI."""
    train_s: _Printed
    test_s: _Printed
    damping: _Printed | None = None
    kappa: _Printed
    rms: Mapping[str, tuple[_Printed, _Printed]]
    """By row: value (N, N m) and percent of the signal's range."""
    marker_error_mm: _Printed | None = None


class Choices(_Part):
    """What the authors chose for a handle, or for a body, of whose handle the weight alone is removed."""

    window: Window
    train: tuple[Span, ...]
    test: Span
    smooth: Span
    """Of the motion only."""
    printed: PaperColumn
    slope: Span = (0, 0)
    """Of a handle: for the derivative of the angular rate."""
    still: Span = (0, 0)
    """Of a body, as all that follows: where the sensors' preload is taken."""
    handle_mass: float = 0.0
    handle_com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quasi_static: Span | None = None
    reference: Span | None = None
    """Samples whose mean is the reference cloud; None: the static file's."""
    raised_m: float = 0.0
    """Added to all heights."""
    at_contact: tuple[float, ...] = (0.0,) * 6
    """A fixed wrench that is added to the model, N and N m."""


_FILE = resources.files("palpate.experiment.paper") / "choices.toml"
CHOICES: Mapping[str, Choices] = {
    name: Choices.model_validate(part) for name, part in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
ORDER = tuple(CHOICES)
"""Of everything that is printed."""
HANDLES, BODIES = (
    {name: CHOICES[name] for name in names}
    for names in (("wheelbarrow-handle", "door-handle"), ("door", "wheelbarrow"))
)
PAPER: Mapping[str, PaperColumn] = {name: choices.printed for name, choices in CHOICES.items()}
