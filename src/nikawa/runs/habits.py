"""Datasets that are not run as most are: those that learn from another one, and JAMP with its training splits.

A habit says where a dataset learns, which training splits are runs of their own, how its sets are read and parted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nikawa.datasets.custom import is_own
from nikawa.datasets.jamp.splits import WAKATI, seen, split_names
from nikawa.datasets.views import SEEN
from nikawa.records import Example
from nikawa.runs.parts import Cell, group_of, hold_rows

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
    whole: str = ""
    """What stays whole in folds, by its name in `meta`, where that is more than a group."""

    def together(self, example: Example) -> str:
        """What an example shares with those that must be in its fold."""
        return str(example.meta[self.whole]) if self.whole else group_of(example)


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


def marked_parts(trainings: Sequence[str], examples: Sequence[Example]) -> dict[str, list[Example]]:
    """The same of a dataset of one's own, where its items say for the training split whether their kind was seen."""
    split = trainings[0].rpartition(":")[2] if len(trainings) == 1 else ""
    marks = [example.meta.get(split) for example in examples]
    if not split or not all(mark in SEEN for mark in marks):
        return {}
    return {
        name: [e for e, mark in zip(examples, marks, strict=True) if mark == name] for name in SEEN
    }


def habit_of(dataset: str) -> Habit:
    """The habit of a dataset."""
    if dataset == "jamp":
        trainings = tuple(f"jamp:{name}" for name in split_names())
        return Habit("", trainings, jamp_read, STAND_IN, jamp_parts, jamp_cell)
    if is_own(dataset):
        return Habit(parts=marked_parts)
    if dataset == "jsquad":  # as published, no article is in two of its splits
        return Habit(whole="article")
    return Habit(home="jsick") if dataset == "jsick-stress" else Habit()
