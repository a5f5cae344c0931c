"""Whether a corrected structure (spans, a tree, a state, answers) has the shape of its task and labels that the data know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nikawa.checks.schema import NOTES, faults
from nikawa.errors import suggest
from nikawa.io.spans import share_characters
from nikawa.records import Dataset, Example, Span, Task

LABEL, OVERLAP = "label-outside", "span-overlap"


def inner_labels(value: Any) -> Iterator[str]:
    """The labels inside gold that is a structure: of its spans, of the words of its tree."""
    if isinstance(value, list | tuple):
        yield from (part.label for part in value if isinstance(part, Span))
    elif isinstance(value, dict) and isinstance(value.get("labels"), list | tuple):
        yield from map(str, value["labels"])


def nests(dataset: Dataset, question: str) -> bool:
    """Whether spans of the dataset's gold share characters, so that a correction may do so too."""
    golds = (e.gold.get(question) for examples in dataset.splits.values() for e in examples)
    return any(share_characters(_spans(gold)) for gold in golds if isinstance(gold, list | tuple))


def misshapen(made: Example, old: Example, question: str, tasks: Sequence[Task]) -> list[str]:
    """The faults of shape that a correction brings; labels are told apart, with the ones there are."""
    asked = [task for task in tasks if task.question == question]
    before = set(faults(asked, old))
    found = [name for name in faults(asked, made) if name not in before and name != LABEL]
    if (
        any(span.start == span.end for span in _spans(made.gold[question]))
        and "span-empty" not in found
    ):
        found.append("span-empty")
    return found


def unknown_label(value: Any, known: Iterable[str]) -> tuple[str, str] | None:
    """What is wrong with the first label inside a structure that is not known, and the cure."""
    names = set(known)
    wrong = next((label for label in inner_labels(value) if label not in names), None)
    return None if wrong is None else (f"{wrong!r} is no label", suggest(wrong, names))


def told(name: str) -> str:
    """What a fault of shape means."""
    return NOTES[name]


def _spans(value: Any) -> list[Span]:
    return (
        [part for part in value if isinstance(part, Span)]
        if isinstance(value, list | tuple)
        else []
    )
