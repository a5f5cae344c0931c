"""What can be wrong with a template, and where: file, line and column."""

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

    def later(self, columns: int) -> Position:
        """A place further on the same line."""
        return Position(self.line, self.column + columns)


class Trouble(Record, frozen=True, kw_only=True):
    """One thing a check of templates found."""

    check: str
    """Stable name: syntax, unknown-slot, unbound-name, case, never, overlap, format, duplicate-id, …"""
    level: Level = "error"
    template: str = ""
    line: int
    column: int
    what: str
    cure: str = ""

    def sentence(self, file: str | Path) -> str:
        """`file, line 3, column 14: what; cure`."""
        return str(
            TemplateError(
                self.check, self.what, Position(self.line, self.column), self.cure
            ).within(file)
        )


class TemplateError(BadInput):
    """A fault that stops a template from being read."""

    others: tuple[TemplateError, ...] = ()
    """Further faults of the same template."""

    def __init__(
        self, check: str, what: str, at: Position, cure: str = "", file: str | Path | None = None
    ) -> None:
        self.check, self.at = check, at
        super().__init__(what, file=file, line=at.line, cure=cure)

    def __str__(self) -> str:
        place = f"line {self.at.line}, column {self.at.column}"
        text = (
            f"{self.file}, {place}: {self.what}"
            if self.file is not None
            else f"{place}: {self.what}"
        )
        return " ".join((f"{text}; {self.cure}" if self.cure else text).split())

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Survive the trip back from a worker process."""
        return (TemplateError, (self.check, self.what, self.at, self.cure, self.file))

    def within(self, file: str | Path) -> TemplateError:
        """The same fault with its file named."""
        return TemplateError(self.check, self.what, self.at, self.cure, file)

    def trouble(self, template: str = "") -> Trouble:
        """The same fault as a record."""
        return Trouble(
            check=self.check,
            template=template,
            line=self.at.line,
            column=self.at.column,
            what=self.what,
            cure=self.cure,
        )


class TemplateErrors(list[TemplateError]):
    """The faults met so far, while reading goes on."""

    hide_times = False
    """Whether a time may stand in what could not be read, so that nothing can be said of times that are missing."""

    def tried(self, make: Callable[[], T], otherwise: T) -> T:
        """What `make` gives; where it cannot, the fault is kept and `otherwise` is taken."""
        try:
            return make()
        except TemplateError as mistake:
            self.append(mistake)
            return otherwise

    def refuse(self) -> None:
        """Raise the first fault of the text, which knows the others."""
        if self:
            first, *rest = sorted(self, key=lambda mistake: mistake.at)
            first.others = tuple(rest)
            raise first
