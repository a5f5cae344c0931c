"""Splits that lack a label or have only one: `majority` answers all items of the latter correctly.

Only gold from a closed set of labels is checked, not a score, a list or a free text. For a
multiple choice the label is the place of the right answer, of which none need be met; that it is
always the same is a finding all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from unicodedata import normalize

from nikawa.checks.quality import Splits
from nikawa.errors import list_names
from nikawa.records import Finding, Task

SINGLE, LACKING = "single-label", "lacking-labels"
MIN_ITEMS = 2
"""Items below which a split cannot have two labels."""
MAX_LABELS = 100
"""Different answers above which they are labels only where each is met twice on average."""


def label_findings(splits: Splits, tasks: Sequence[Task] = ()) -> Iterator[Finding]:
    """One finding per split and question with missing labels.

    The labels are those that occur in any split, and those of the registered `tasks`.
    """
    counts = count_labels(splits)
    for question, by_split in counts.items():
        labels = {label for held in by_split.values() for label in held}
        for task in tasks:
            if task.question == question and task.labels and labels <= set(task.labels):
                labels |= set(task.labels)
        if len(labels) > MAX_LABELS and sum(map(Counter.total, by_split.values())) < 2 * len(
            labels
        ):
            continue
        for split, held in by_split.items():
            place = split if len(counts) == 1 else f"{question} in {split}"
            missing = sorted(labels - held.keys())
            if len(held) == 1 and held.total() >= MIN_ITEMS:
                note = f"{question} is {next(iter(held))} in all {held.total():,} examples"
                yield Finding(check=SINGLE, where=place, count=held.total(), note=note)
            elif missing and question != "choice":
                note = f"{question} is never {list_names(missing)}"
                yield Finding(check=LACKING, where=place, count=len(missing), note=note)


def count_labels(splits: Splits) -> dict[str, dict[str, Counter[str]]]:
    """Question to split to its labels, for the questions whose gold is a label everywhere."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    others: set[str] = set()
    for split, examples in splits.items():
        if any(e.origin is not None and e.origin.gold == "inherited" for e in examples):
            continue  # a perturbed set has the labels of what it was made from
        for example in examples:
            for question, value in example.gold.items():
                if isinstance(value, str | int):
                    held = counts.setdefault(question, {}).setdefault(split, Counter())
                    held[normalize("NFC", str(value))] += 1
                else:
                    others.add(question)
    return {question: held for question, held in counts.items() if question not in others}
