"""What every part of the schema is made of: how a key is declared, and the files and columns that recordings share."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from palpate.experiment.file import quantities as q

Names = Annotated[list[str], AfterValidator(q.distinct)]
Pair = Annotated[list[str], AfterValidator(q.distinct), Field(min_length=2, max_length=2)]
Three = Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=3)]
Options = dict[str, Any]
Flag = Annotated[bool, Field(strict=True)]


def key(description: str, *examples: str, default: Any = ..., only: str | tuple[str, ...] = (), **limits: Any) -> Any:
    """A key of the file; `only`: names of `conditions.CONDITIONS` that must all hold for it to act."""
    return Field(
        default=default,
        description=description,
        examples=list(examples) or None,
        json_schema_extra={"only": [only] if isinstance(only, str) else list(only)},
        **limits,
    )


def optional(description: str, *examples: str, only: str | tuple[str, ...] = (), **limits: Any) -> Any:
    """A key that may be absent: then it is None."""
    return key(description, *examples, default=None, only=only, **limits)


class Part(BaseModel):
    """A group of keys; others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    one_of: ClassVar[tuple[str, ...]] = ()
    """Keys of which exactly one must be given."""

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if self.one_of and sum(getattr(self, name) is not None for name in self.one_of) != 1:
            raise ValueError(f"give exactly one of {' and '.join(self.one_of)}")
        return self


class ColumnPart(Part):
    """One column of a plain table."""

    column: str = key("header of the column, with or without its unit", '"Fx (lbf)"')
    unit: q.ChannelUnit = key("unit of the numbers; if absent, the header's, such as Fx [N]", "lbf", default="")


Columns = dict[str, ColumnPart] | None


class TimePart(Part):
    """The column of times of a plain table."""

    column: str = key("header of the column; if absent, the one named time, t, timestamp, ...", "t", default="")
    unit: q.TimeUnit = key("unit of the times in the file; if absent, the one in the header, else s", "ms", default="")


class FilePart(Part):
    """A file of recordings."""

    file: str = key("path, relative to the experiment file or to --data", "recording.csv")
    time: TimePart | None = optional("tables: the time column", "{column: t, unit: ms}")
    rate: q.Frequency | None = optional("tables without times: samples per second", "500 Hz", gt=0)
    header: list[str] | None = optional(
        'CSV tables without a header line: the names of their columns; "" leaves one out', "[t, angle, torque]"
    )


FORMAT: Any = optional("the file's format; recognised if absent")
