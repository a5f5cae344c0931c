"""Datasets that are not run as most are: those that learn from another one, and JAMP with its training splits.

A habit says where a dataset learns, which training splits are runs of their own, how its sets are read and parted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nikawa.benchmarks.jamp.splits import WAKATI, seen, split_names
from nikawa.records import Example
from nikawa.run.parts import Cell, hold_rows

Examples = tuple[Example, ...]
ReadSplit = Callable[[str], Examples]

STAND_IN = "stand-in"
ROWS = 2
"""Rows of every cell that stand in for JAMP's test file: it has two of each of its cells."""


@dataclass(frozen=True)
class Habit:
    """How a dataset is run; the default is the way of most."""

    home: str = ""
    """The dataset whose train and dev it learns from and chooses on, and whose test is shown beside its own sets."""
    trainings: tuple[str, ...] = ()
    """Training splits that are runs of their own, beside the whole."""
    read: Callable[[str, ReadSplit, Sequence[str]], Examples] | None = None
    """The examples of a split, from a reader of the files and the names of those that are here."""
    stand_in: str = ""
    """The set that is evaluated where there is no test file."""
    parts: Callable[[Sequence[str], Sequence[Example]], dict[str, list[Example]]] | None = None
    """Named parts of an evaluated set, given the training sets; they are scored apart."""
    cell: Cell | None = None
    """Examples of a cell are alike: one row of each is held out to choose on, instead of whole groups."""


def jamp_cell(example: Example) -> tuple[object, ...]:
    """Template, time format, time span and label: rows of a cell differ in their fillers only."""
    meta = example.meta
    return meta["template"], meta["time_format"], meta["time_span"], example.gold["label"]


def jamp_read(split: str, files: ReadSplit, here: Sequence[str]) -> Examples:
    """A set of JAMP; without its test file, rows held out of train stand in for it and no training split has them."""
    if split not in ("train", STAND_IN, *split_names()):
        return files(split)
    train = files("train")
    held = set() if "test" in here else hold_rows(train, ROWS, jamp_cell, "jamp")
    if split == STAND_IN:
        return tuple(e for e in train if e.id in held)
    kept = (e for e in train if e.id not in held)
    return tuple(kept if split == "train" else (e for e in kept if seen(e, split)))


def jamp_parts(trainings: Sequence[str], examples: Sequence[Example]) -> dict[str, list[Example]]:
    """Problems of a kind the training split holds, and of kinds it leaves out."""
    splits = [name.removeprefix("jamp:").removesuffix(WAKATI) for name in trainings]
    if len(splits) != 1 or splits[0] not in split_names():
        return {}
    known = [seen(example, splits[0]) for example in examples]
    return {
        "seen": [e for e, is_known in zip(examples, known, strict=True) if is_known],
        "unseen": [e for e, is_known in zip(examples, known, strict=True) if not is_known],
    }


def habit_of(dataset: str) -> Habit:
    """The habit of a dataset."""
    if dataset == "jamp":
        trainings = tuple(f"jamp:{name}" for name in split_names())
        return Habit("", trainings, jamp_read, STAND_IN, jamp_parts, jamp_cell)
    return Habit(home="jsick") if dataset == "jsick-stress" else Habit()
