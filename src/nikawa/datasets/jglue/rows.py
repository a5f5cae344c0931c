"""What the readers of JGLUE share: rows with and without labels, edge white space, the caption ids
of JSTS and JNLI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nikawa.datasets.base import Source
from nikawa.errors import BadInput
from nikawa.records import Card

make_card = partial(
    Card,
    version="1.3",
    languages=("ja",),
    citation="Kurihara, Kawahara, Shibata (2022). JGLUE: Japanese General Language Understanding Evaluation. LREC.",
    homepage="https://github.com/yahoojapan/JGLUE",
    workers_are="none",
)
"""The card of a dataset of JGLUE; given here is what most of them share."""


def sources(stem: str) -> tuple[Source, Source, Source]:
    """Train, dev and test as upstream lays them out: `jnli-v1.3/valid-v1.3.json` is dev."""
    names = {"train": "train", "dev": "valid", "test": "test"}
    train, dev, test = (
        Source(split, (f"datasets/{stem}-v*/{name}-v*.json",)) for split, name in names.items()
    )
    return train, dev, test


class HasLabel(Protocol):
    """A line of a published file that may keep its label hidden."""

    @property
    def label(self) -> object:
        """None where it is hidden."""


R = TypeVar("R", bound=HasLabel)


def check_labelled(rows: Iterable[tuple[int, R]], path: Path) -> Iterator[tuple[int, R]]:
    """Pass rows on; a file has labels on every line or (a hidden test set) on none."""
    hidden: bool | None = None
    for line, row in rows:
        hidden = row.label is None if hidden is None else hidden
        if (row.label is None) is not hidden:
            raise mixed_labels(path, line)
        yield line, row


def mixed_labels(path: Path, line: int | None, what: str = "label") -> BadInput:
    """The error for a file whose labels are there for some items only."""
    return BadInput(
        f"the {what} is here for some items and missing for others",
        file=path,
        line=line,
        cure="the file is damaged: fetch it again",
    )


def check_label(label: str, labels: Iterable[str], path: Path, line: int) -> str:
    """`label`, which must be one of `labels`."""
    if label not in labels:
        raise BadInput(
            f"label {label!r} is unknown",
            file=path,
            line=line,
            cure=f"expected: {', '.join(labels)}",
        )
    return label


def has_edge_blank(text: str) -> bool:
    """Whether white space begins or ends the text."""
    return text != text.strip()


def caption_meta(pair: str, path: Path, line: int) -> dict[str, Any]:
    """`img-s1-s2` is A (same image), `imgA_imgB-s1-s2` B, a sentence id starting with `g` C
    (worker-written).

    `pair` names the two sentences without their order, so it is shared by both directions and by
    JSTS and JNLI.

    >>> caption_meta("12-34-56", Path("train.json"), 1)["source"], caption_meta("12_13-34-g5", Path(), 1)["source"]
    ('A', 'C')
    """
    parts = pair.split("-")
    if len(parts) != 3 or not all(parts):
        raise BadInput(
            f"yjcaptions_id {pair!r} is not image-sentence-sentence",
            file=path,
            line=line,
            cure="is this JSTS or JNLI?",
        )
    image, first, second = parts
    flow = "C" if first.startswith("g") or second.startswith("g") else "B" if "_" in image else "A"
    unordered = "-".join(sorted((first, second)))
    return {"source": flow, "yjcaptions_id": pair, "image": image, "pair": unordered}
