"""What the readers of JGLUE share: rows with and without labels, edge white space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Origin, reference


class HasLabel(Protocol):
    """A line of a published file that may keep its label hidden."""

    @property
    def label(self) -> object: ...


R = TypeVar("R", bound=HasLabel)


def labelled(rows: Iterable[tuple[int, R]], path: Path) -> Iterator[tuple[int, R]]:
    """Pass rows on; a file has labels on every line or (a hidden test set) on none."""
    hidden: bool | None = None
    for line, row in rows:
        hidden = row.label is None if hidden is None else hidden
        if (row.label is None) is not hidden:
            raise mixed(path, line)
        yield line, row


def mixed(path: Path, line: int | None, what: str = "label") -> BadInput:
    """The error for a file whose labels are there for some items only."""
    return BadInput(
        f"the {what} is here for some items and missing for others",
        file=path,
        line=line,
        cure="the file is damaged: fetch it again",
    )


def hidden(recipe: str, gold: dict[str, Any]) -> Origin | None:
    """The origin of an example without gold."""
    return None if gold else Origin(recipe=recipe, gold="hidden")


def choose(label: str, labels: Iterable[str], path: Path, line: int) -> str:
    """`label`, which must be one of `labels`."""
    if label not in labels:
        raise BadInput(
            f"label {label!r} is unknown",
            file=path,
            line=line,
            cure=f"expected: {', '.join(labels)}",
        )
    return label


def finding(
    check: str, dataset: Dataset, split: str, examples: list[Example], note: str = ""
) -> Iterator[Finding]:
    """One finding for `examples`, counted with repetition; none where there are none."""
    if examples:
        ids = tuple(
            dict.fromkeys(reference(dataset.name, split, example.id) for example in examples)
        )
        yield Finding(check=check, where=split, count=len(examples), ids=ids, note=note)


def has_edge_blank(text: str) -> bool:
    """Whether white space begins or ends the text."""
    return text != text.strip()
