"""The errors a user can meet. Each is one line: what is wrong, where, and what to do."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NikawaError(Exception):
    """Anything Nikawa raises on purpose; the command line prints it as one line."""


class BadInput(NikawaError):
    """Input that cannot be used. Exit status 2. Place and cure are part of the message."""

    def __init__(
        self, what: str, *, file: str | Path | None = None, line: int | None = None, cure: str = ""
    ) -> None:
        self.what, self.file, self.line, self.cure = what, file, line, cure
        super().__init__(str(self))

    def __str__(self) -> str:
        place = "" if self.file is None else str(self.file)
        if self.line is not None:
            place = f"{place}, line {self.line}" if place else f"line {self.line}"
        text = f"{place}: {self.what}" if place else self.what
        text = f"{text}; {self.cure}" if self.cure else text
        return " ".join(text.split())

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Survive the trip back from a worker process."""
        return (_rebuild, (type(self), self.what, self.file, self.line, self.cure))


class UnknownName(BadInput):
    """A name nobody registered."""


class MissingData(BadInput):
    """A published file that is not on this machine."""


class MissingExtra(BadInput):
    """A capability whose optional packages are not installed."""


def _rebuild(
    kind: type[BadInput], what: str, file: str | Path | None, line: int | None, cure: str
) -> BadInput:
    return kind(what, file=file, line=line, cure=cure)


def suggest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """`did you mean …?` for the nearest known names, or the list of all when none is near."""
    names = sorted(known)
    folded = {n.casefold(): n for n in names}
    near = [folded[n] for n in get_close_matches(name.casefold(), folded, n=limit, cutoff=0.6)]
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    return f"known: {', '.join(names)}" if names else "nothing is known under any name"


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a wrong `kind` (dataset, task, split, …) called `name`."""
    return UnknownName(f"there is no {kind} {name!r}", cure=suggest(name, known))


def missing_extra(what: str, extra: str) -> MissingExtra:
    """The error for a missing optional package, with the command that installs it."""
    return MissingExtra(f"{what} is not installed", cure=f"run: pip install 'nikawa[{extra}]'")
