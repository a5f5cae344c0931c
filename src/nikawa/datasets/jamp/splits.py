"""JAMP's training splits as rules over `train_all.tsv` (`splits.toml`), and the files they regenerate.

Each published file is `train_all.tsv`, or its segmented twin, with some rows left out: same order, same
numbers, same bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_write
from nikawa.io.lines import decode_line, open_bytes
from nikawa.io.tsv import check_header
from nikawa.records import Example

WAKATI = "-wakati"
"""Ending of the names of the segmented twins."""
Rule = Mapping[str, frozenset[str]]
"""Column to the words whose rows are left out."""


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "splits.toml").read_text("utf-8"))


def split_names() -> tuple[str, ...]:
    """The five training splits, in the order of the rules file."""
    return tuple(_data()["split"])


@cache
def categories() -> frozenset[str]:
    """The categories the published templates have."""
    return frozenset(_data()["categories"])


@cache
def rule(split: str) -> Rule:
    """What `split`, or its segmented twin, leaves out."""
    rules = _data()["split"]
    name = split.removesuffix(WAKATI)
    if name not in rules:
        raise unknown("training split of jamp", split, rules)
    entry = dict(rules[name])
    dropped = dict(rule(entry.pop("extends"))) if "extends" in entry else {}
    for column, words in entry.items():
        dropped[column] = dropped.get(column, frozenset()) | frozenset(words)
    return dropped


def seen(example: Example, split: str) -> bool:
    """Whether rows of this example's kind are in the training data of `split` (time-less rows are)."""
    return not any(example.meta.get(column) in words for column, words in rule(split).items())


@cache
def fragment_of(category: str) -> tuple[str, str]:
    """The fragment and sub-fragment of the paper's Table 10 a category belongs to."""
    found = [
        (len(head), main, sub)
        for main, subs in _data()["fragments"].items()
        for sub, heads in subs.items()
        for head in heads
        if category.startswith(head)
    ]
    if not found:
        raise unknown("category of jamp", category, categories())
    _, main, sub = max(found)
    return main, sub


def filtered(train: Path, split: str) -> Iterator[bytes]:
    """The raw lines of `train` that `split` keeps, header first."""
    dropped = rule(split)
    width, tests = 0, []
    with open_bytes(train) as stream:
        for number, raw in enumerate(stream, start=1):
            cells = decode_line(raw, train, number).split("\t")
            if number == 1:
                check_header(cells, tuple(dropped), train)
                width, tests = (
                    len(cells),
                    [(cells.index(name), words) for name, words in dropped.items()],
                )
            else:
                _check_width(cells, width, train, number)
                if any(cells[place] in words for place, words in tests):
                    continue
            yield raw
    if not width:
        raise BadInput("is empty", file=train, cure="name train_all.tsv or train_all_wakati.tsv")


def _check_width(cells: Sequence[str], width: int, path: Path, line: int) -> None:
    if len(cells) != width:
        raise BadInput(
            f"has {len(cells)} columns, the header has {width}",
            file=path,
            line=line,
            cure="look for a stray or missing tab",
        )


def regenerate(train: Path, split: str, out: Path, *, overwrite: bool = False) -> int:
    """Write the training file of `split` from `train_all.tsv` (or its twin); returns the number of rows."""
    count = -1
    with atomic_write(out, overwrite=overwrite) as stream:
        for raw in filtered(train, split):
            stream.write(raw)
            count += 1
    return count


def identical(train: Path, split: str, published: Path) -> bool:
    """Whether the regenerated file of `split` has the very bytes of the published one."""
    with open_bytes(published) as stream:
        return all(ours == theirs for ours, theirs in zip_longest(filtered(train, split), stream))
