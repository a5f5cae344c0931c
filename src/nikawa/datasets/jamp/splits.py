"""JAMP's training splits as rules over `train_all.tsv` (`splits.toml`), and the files they
regenerate.

Each published file is `train_all.tsv`, or its segmented twin, with some rows left out: same order,
same numbers, same bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nikawa.datasets.base import Examples, RunProtocol
from nikawa.datasets.subsets import hold_rows
from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_write
from nikawa.io.lines import decode_line, numbered_lines, open_bytes
from nikawa.io.tsv import check_header
from nikawa.records import Example

WAKATI = "-wakati"
"""Ending of the names of the segmented twins."""
STAND_IN = "stand-in"
"""The name of the rows held out of train where there is no test file."""
ROWS_PER_CELL = 2
"""Rows of every cell of train that replace the test file, which has two of each of its cells."""
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
def split_rule(split: str) -> Rule:
    """What `split`, or its segmented twin, leaves out.

    >>> split_rule("timespan-easy")
    {'time_span': frozenset({'short'})}
    """
    rules = _data()["split"]
    name = split.removesuffix(WAKATI)
    if name not in rules:
        raise unknown("training split of jamp", split, rules)
    entry = dict(rules[name])
    dropped = dict(split_rule(entry.pop("extends"))) if "extends" in entry else {}
    for column, words in entry.items():
        dropped[column] = dropped.get(column, frozenset()) | frozenset(words)
    return dropped


def is_seen(example: Example, split: str) -> bool:
    """Whether rows of this example's kind are in the training data of `split` (time-less rows are)."""
    return not any(example.meta.get(column) in words for column, words in split_rule(split).items())


@cache
def fragment_of(category: str) -> tuple[str, str]:
    """The fragment and sub-fragment of the paper's Table 10 a category belongs to.

    >>> fragment_of("順序（前後）")
    ('Temporal ordering', 'Ordering relation')
    """
    matches = [
        (len(head), main, sub)
        for main, subs in _data()["fragments"].items()
        for sub, heads in subs.items()
        for head in heads
        if category.startswith(head)
    ]
    if not matches:
        raise unknown("category of jamp", category, categories())
    _, main, sub = max(matches)  # the longest beginning
    return main, sub


def filter_lines(train: Path, split: str) -> Iterator[bytes]:
    """The raw lines of `train` that `split` keeps, header first."""
    dropped = split_rule(split)
    width, tests = 0, []
    with open_bytes(train) as stream:
        for number, raw in numbered_lines(stream):
            cells = decode_line(raw, train, number).split("\t")
            if number == 1:
                check_header(cells, tuple(dropped), train)
                width = len(cells)
                tests = [(cells.index(name), words) for name, words in dropped.items()]
            else:
                if len(cells) != width:
                    what = f"has {len(cells)} columns, the header has {width}"
                    cure = "look for a stray or missing tab"
                    raise BadInput(what, file=train, line=number, cure=cure)
                if any(cells[place] in words for place, words in tests):
                    continue
            yield raw
    if not width:
        raise BadInput("is empty", file=train, cure="name train_all.tsv or train_all_wakati.tsv")


def regenerate(train: Path, split: str, out: Path, *, overwrite: bool = False) -> int:
    """Write the training file of `split` from `train_all.tsv` (or its twin).

    Returns the number of rows.
    """
    count = -1
    with atomic_write(out, overwrite=overwrite) as stream:
        for raw in filter_lines(train, split):
            stream.write(raw)
            count += 1
    return count


def is_identical(train: Path, split: str, published: Path) -> bool:
    """Whether the regenerated file of `split` has the very bytes of the published one."""
    with open_bytes(published) as stream:
        lines = (raw for _, raw in numbered_lines(stream))
        return all(
            ours == theirs for ours, theirs in zip_longest(filter_lines(train, split), lines)
        )


def cell_of(example: Example) -> tuple[object, ...]:
    """Template, time format, time span and label: rows of a cell differ in their fillers only."""
    meta = example.meta
    return meta["template"], meta["time_format"], meta["time_span"], example.gold["label"]


def read_split(
    split: str, read_file: Callable[[str], Examples], splits_here: Sequence[str]
) -> Examples:
    """The examples of a split.

    Without a test file, rows held out of train replace it, and no training split has them.
    """
    if split not in ("train", STAND_IN, *split_names()):
        return read_file(split)
    train = read_file("train")
    held_out = set() if "test" in splits_here else hold_rows(train, ROWS_PER_CELL, cell_of, "jamp")
    if split == STAND_IN:
        return tuple(example for example in train if example.id in held_out)
    kept = [example for example in train if example.id not in held_out]
    if split != "train":
        kept = [example for example in kept if is_seen(example, split)]
    return tuple(kept)


def divide_by_kind(
    training_sets: Sequence[str], examples: Sequence[Example]
) -> dict[str, list[Example]]:
    """Problems of a kind that the one training split holds, and of kinds that it leaves out."""
    splits = [name.removeprefix("jamp:").removesuffix(WAKATI) for name in training_sets]
    if len(splits) != 1 or splits[0] not in split_names():
        return {}
    return {
        "seen": [example for example in examples if is_seen(example, splits[0])],
        "unseen": [example for example in examples if not is_seen(example, splits[0])],
    }


PROTOCOL = RunProtocol(
    training_sets=tuple(f"jamp:{name}" for name in split_names()),
    read_split=read_split,
    stand_in=STAND_IN,
    divide=divide_by_kind,
    cell_of=cell_of,
)
"""Each training split is a separate run; the results are reported for seen and unseen kinds of
problems."""
