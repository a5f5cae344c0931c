"""What the models of trees read and write: words of an example, trees that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nikawa.errors import BadInput
from nikawa.models._structured import visible
from nikawa.models.base import gold_of
from nikawa.records import Example, Task


def words_of(task: Task, example: Example) -> Sequence[Mapping[str, Any]]:
    """The words of a sentence; where the task hides them, the parts of its text between blanks."""
    seen = visible(task, example)
    if isinstance(seen.get("words"), list | tuple):
        words: Sequence[Mapping[str, Any]] = seen["words"]
        return words
    if isinstance(seen.get("text"), str):
        return [{"form": form} for form in seen["text"].split()]
    raise BadInput(f"example {example.id!r} has neither words nor text", cure="name other inputs")


def trees_of(task: Task, examples: Sequence[Example]) -> list[Mapping[str, Any]]:
    """The gold trees, each with a head and a label a word."""
    trees = gold_of(task, examples)
    for example, tree in zip(examples, trees, strict=True):
        n = len(words_of(task, example))
        heads, labels = tree["heads"], tree["labels"]
        if not len(heads) == len(labels) == n:
            what = (
                f"example {example.id!r} has {n} words, {len(heads)} heads and {len(labels)} labels"
            )
            raise BadInput(what, cure="give every word a head and a label")
        if any(not 0 <= head <= n or head == place for place, head in enumerate(heads, start=1)):
            what = f"example {example.id!r} has a head that is no other of its {n} words, nor 0"
            raise BadInput(what, cure="count words from 1; 0 is the root")
    return trees
