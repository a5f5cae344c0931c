"""How gold shifts between two datasets that share ids: a language and its translation, a version and the next.

Every shared example is one row of a table from answer to answer, for the whole and for each part (split, tag, a
key of the meta). Numbers are tabled by whole steps, with the mean shift and the correlation beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets import load
from nikawa.errors import BadInput, listed, suggest
from nikawa.records import Dataset, Example, Record, reference
from nikawa.scoring.shift_parts import SPLIT, TAG, Part, Row, name_of, part_of, parts_of

LABEL = "label"


class Moved(Record, frozen=True, kw_only=True):
    """An example whose gold differs."""

    example: str
    """Full reference in the second dataset."""
    before: Any
    after: Any
    tags: tuple[str, ...] = ()


class ShiftReport(Record, frozen=True, kw_only=True):
    """How the gold of one question differs between two datasets."""

    before: str
    after: str
    question: str
    n: int
    changed: int
    into: dict[str, int]
    """Answer to how many rows changed to it."""
    only_before: int
    only_after: int
    without_gold: int
    """Shared examples that lack gold on either side."""
    parts: tuple[Part, ...]
    """All rows first, then part by part."""
    moved: tuple[Moved, ...]


def shift(
    before: str,
    after: str,
    *,
    question: str | None = None,
    by: Sequence[str] = (SPLIT, TAG),
    data: Path | None = None,
) -> ShiftReport:
    """Compare the gold of two datasets, given as `load` takes them, example by example."""
    return compare(load(before, data=data), load(after, data=data), question=question, by=by)


def compare(
    one: Dataset, other: Dataset, *, question: str | None = None, by: Sequence[str] = (SPLIT, TAG)
) -> ShiftReport:
    """The same of loaded datasets."""
    pairs, only = _joined(one, other)
    asked = _question(pairs, one.name, other.name, question)
    rows = list(_rows(pairs, asked))
    if not rows:
        raise BadInput(
            f"no shared example has gold for {asked!r} on both sides", cure="are labels hidden?"
        )
    moved = [row for row in rows if row.before != row.after]
    same = one.name == other.name
    return ShiftReport(
        before=f"{one.name} {one.version}" if same else one.name,
        after=f"{other.name} {other.version}" if same else other.name,
        question=asked,
        n=len(rows),
        changed=len(moved),
        into=dict(sorted(Counter(name_of(row.after) for row in moved).items())),
        only_before=only[0],
        only_after=only[1],
        without_gold=len(pairs) - len(rows),
        parts=tuple(part_of(where, some) for where, some in parts_of(rows, by)),
        moved=tuple(
            Moved(
                example=reference(other.name, row.split, row.example.id),
                before=row.before,
                after=row.after,
                tags=row.tags,
            )
            for row in moved
        ),
    )


Pair = tuple[str, Example, Example]


def _joined(one: Dataset, other: Dataset) -> tuple[list[Pair], tuple[int, int]]:
    """Examples by id, within the split where an id alone does not tell them; and how many are on one side only."""
    plain = _unique(one) and _unique(other)
    left = {
        (e.id if plain else (split, e.id)): e
        for split, examples in one.splits.items()
        for e in examples
    }
    right = [(split, e) for split, examples in other.splits.items() for e in examples]
    pairs = [
        (split, left[key], e)
        for split, e in right
        if (key := e.id if plain else (split, e.id)) in left
    ]
    if not pairs:
        what = f"{one.name} and {other.name} share no id"
        raise BadInput(what, cure="name two versions of one dataset, or one and its translation")
    return pairs, (len(left) - len(pairs), len(right) - len(pairs))


def _unique(dataset: Dataset) -> bool:
    return len({e.id for examples in dataset.splits.values() for e in examples}) == len(dataset)


def _question(pairs: Sequence[Pair], one: str, other: str, asked: str | None) -> str:
    here = {name for _, example, _ in pairs for name in example.gold}
    shared = sorted(here & {name for _, _, example in pairs for name in example.gold})
    if asked is not None and asked not in shared:
        what = f"{one} and {other} do not both have gold for {asked!r}"
        raise BadInput(what, cure=suggest(asked, shared))
    if asked is None and LABEL not in shared and len(shared) != 1:
        what = f"{one} and {other} share {len(shared)} questions"
        raise BadInput(
            what,
            cure=f"say --question with one of: {listed(shared)}"
            if shared
            else "nothing can be compared",
        )
    return asked or (LABEL if LABEL in shared else shared[0])


def _rows(pairs: Iterable[Pair], question: str) -> Iterator[Row]:
    for split, one, other in pairs:
        before, after = one.gold.get(question), other.gold.get(question)
        if before is None or after is None:
            continue
        if isinstance(before, list | dict) or isinstance(after, list | dict):
            what = f"the gold of {question!r} is a structure, not a label or a number"
            raise BadInput(what, cure="name another question")
        yield Row(split, before, after, other, tuple(sorted(one.tags | other.tags)))


def summary(report: ShiftReport) -> str:
    """The shift in one sentence."""
    into = sorted(report.into.items(), key=lambda pair: (-pair[1], pair[0]))
    said = ", ".join(f"{count:,} to {name}" for name, count in into)
    text = f"{report.question} of {report.before} -> {report.after}: {report.changed:,} of {report.n:,} rows differ"
    return f"{text} ({said})" if said and report.parts[0].numbers is None else text


def as_json(report: ShiftReport) -> Any:
    """The report in plain values, the share of each part with it."""
    plain = msgspec.to_builtins(report)
    for part, found in zip(plain["parts"], report.parts, strict=True):
        part["share"] = found.share
    return plain
