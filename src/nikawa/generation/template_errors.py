"""What can be wrong with a template, and where: file, line and column.

`TemplateError` stops a template from being read; `Trouble` is the same as a record, for the report
of a check. A reader collects the errors of one template in `TemplateErrors`, so that a user sees
all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from nikawa.errors import BadInput
from nikawa.records import Record

Level = Literal["error", "warning"]
T = TypeVar("T")


class Position(NamedTuple):
    """A place in a template file; lines and columns count from 1."""

    line: int = 0
    column: int = 0

    def forward(self, columns: int) -> Position:
        """The position so many columns further on the same line."""
        return Position(self.line, self.column + columns)


class Trouble(Record, frozen=True, kw_only=True):
    """One thing that a check of templates reports."""

    check: str
    """Stable name: syntax, unknown-slot, unbound-name, case, never, overlap, format, duplicate-id,
    …"""
    level: Level = "error"
    template: str = ""
    line: int
    column: int
    what: str
    cure: str = ""

    def sentence(self, file: str | Path) -> str:
        """`file, line 3, column 14: what; cure`."""
        position = Position(self.line, self.column)
        return str(TemplateError(self.check, self.what, position, self.cure, file))


class TemplateError(BadInput):
    """An error that stops a template from being read."""

    others: tuple[TemplateError, ...] = ()
    """Further errors of the same template."""

    def __init__(
        self, check: str, what: str, at: Position, cure: str = "", file: str | Path | None = None
    ) -> None:
        self.check, self.at = check, at
        super().__init__(what, file=file, line=at.line, cure=cure)

    @property
    def position(self) -> str:
        """Line and column."""
        return f"line {self.at.line}, column {self.at.column}"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Survive the trip back from a worker process."""
        return (TemplateError, (self.check, self.what, self.at, self.cure, self.file))

    def to_trouble(self, template: str = "") -> Trouble:
        """The same error as a record."""
        return Trouble(
            check=self.check,
            template=template,
            line=self.at.line,
            column=self.at.column,
            what=self.what,
            cure=self.cure,
        )


class TemplateErrors(list[TemplateError]):
    """The errors of one template so far, while reading goes on."""

    may_hide_times = False
    """Whether what could not be read may have been a time: then nothing can be said of times that
    are missing."""

    def attempt(self, make: Callable[[], T], otherwise: T) -> T:
        """What `make` returns; where it raises a `TemplateError`, that is kept and `otherwise` is
        returned.
        """
        try:
            return make()
        except TemplateError as error:
            self.append(error)
            return otherwise

    def raise_first(self) -> None:
        """Raise the first error of the text, which holds the others.

        Nothing happens without errors.
        """
        if self:
            first, *rest = sorted(self, key=lambda error: error.at)
            first.others = tuple(rest)
            raise first
