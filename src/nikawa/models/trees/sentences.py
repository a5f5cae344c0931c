"""What parsers read: the words of an example, and gold trees that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.base import get_gold, get_inputs
from nikawa.records import Example, Kind, Task

KINDS: tuple[Kind, ...] = ("tree",)
"""What parsers answer."""


def get_words(task: Task, example: Example) -> Sequence[Mapping[str, Any]]:
    """The words of a sentence, each with its form and perhaps lemma and pos.

    If the task hides them, the parts of its text between blanks. Raises BadInput if it hides the
    text too.
    """
    inputs = get_inputs(task, example)
    if isinstance(inputs.get("words"), list | tuple):
        words: Sequence[Mapping[str, Any]] = inputs["words"]
        return words
    if isinstance(inputs.get("text"), str):
        return [{"form": form} for form in inputs["text"].split()]
    raise BadInput(f"example {example.id!r} has neither words nor text", cure="choose other inputs")


def get_trees(task: Task, examples: Sequence[Example]) -> list[Mapping[str, Any]]:
    """The gold trees: `heads` (counted from 1, 0 is the root) and `labels`, one of each per word.

    Raises BadInput if a tree does not fit its sentence.
    """
    trees = get_gold(task, examples)
    for example, tree in zip(examples, trees, strict=True):
        n = len(get_words(task, example))
        heads, labels = tree["heads"], tree["labels"]
        if not len(heads) == len(labels) == n:
            what = (
                f"example {example.id!r} has {n} words, {len(heads)} heads and {len(labels)} labels"
            )
            raise BadInput(what, cure="add a head and a label for every word")
        if any(not 0 <= head <= n or head == place for place, head in enumerate(heads, start=1)):
            what = (
                f"example {example.id!r} has a head that is neither 0 nor another of its {n} words"
            )
            raise BadInput(what, cure="count words from 1, and use 0 for the root")
    return trees
