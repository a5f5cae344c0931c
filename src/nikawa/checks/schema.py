"""Whether inputs and gold have the shape their task promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nikawa.checks.field_types import fits, mistyped
from nikawa.io.spans import share_characters
from nikawa.records import Example, Finding, Span, Task, reference

Faults = Iterator[str]


def schema_findings(
    dataset: str, tasks: Sequence[Task], split: str, examples: Sequence[Example]
) -> Iterator[Finding]:
    """One finding a fault of shape, with the examples that have it."""
    found: dict[str, dict[str, None]] = {}
    for example in examples:
        for check in faults(tasks, example):
            found.setdefault(check, {})[reference(dataset, split, example.id)] = None
    for check, ids in found.items():
        yield Finding(check=check, where=split, count=len(ids), ids=tuple(ids), note=NOTES[check])


NOTES = {
    "missing-input": "the inputs of no task of the dataset are there",
    "missing-gold": "there is gold, but for no question that is asked",
    "wrong-type": "an input or gold has not the type of its name; no other check looked at it",
    "label-outside": "the label is not in the closed set",
    "score-outside": "the score is outside the scale",
    "choice-outside": "the right choice is not among the choices",
    "answer-offset": "the answer is not at its offset in the context",
    "answer-empty": "an answer is empty",
    "span-outside": "a span reaches outside the text",
    "span-empty": "a span holds nothing",
    "span-overlap": "two spans of the gold share characters",
    "head-outside": "a head is not a word of the sentence",
    "tree-length": "words, heads and labels are not equally many",
    "tree-root": "the tree has no root, or several",
    "state-format": "a state is not domain-slot-value",
}
"""Check to what it means."""


def faults(tasks: Sequence[Task], example: Example) -> Faults:
    """The names of the checks an example fails; a dataset may ask different tasks of different examples."""
    asked = [task for task in tasks if all(name in example.inputs for name in task.inputs)]
    if tasks and not asked:
        yield "missing-input"
    if mistyped(example) or any(
        not fits(name, example.inputs[name]) for task in asked for name in task.inputs
    ):
        yield "wrong-type"
        return
    yield from _input_spans(example)
    if not tasks and "choices" in example.inputs and "choice" in example.gold:
        yield from _among(example.gold["choice"], example.inputs["choices"])
    if not tasks and isinstance(example.gold.get("spans"), list | tuple):
        yield from _overlap(example.gold["spans"])
    judged = [task for task in asked if task.question in example.gold]
    if asked and example.gold and not judged:
        yield "missing-gold"
    for task in judged:
        yield from _judged(task, example)


def _judged(task: Task, example: Example) -> Faults:
    try:
        yield from _JUDGES[task.kind](task, example, example.gold[task.question])
    except (TypeError, KeyError, AttributeError, ValueError):
        yield "wrong-type"


def _input_spans(example: Example) -> Faults:
    spans = [value for value in example.inputs.values() if isinstance(value, Span)]
    if spans and isinstance(example.inputs.get("text"), str):
        yield from _spans(spans, example.inputs["text"])


def _spans(spans: Iterable[Span], text: str) -> Faults:
    for span in spans:
        if span.start < 0 or span.end > len(text):
            yield "span-outside"
        elif not text[span.start : span.end].strip():
            yield "span-empty"


def _overlap(spans: Iterable[Span]) -> Faults:
    if share_characters(span for span in spans if isinstance(span, Span)):
        yield "span-overlap"


def _label(task: Task, example: Example, value: Any) -> Faults:
    if not isinstance(value, str):
        yield "wrong-type"
    elif task.labels and value not in task.labels:
        yield "label-outside"


def _score(task: Task, example: Example, value: Any) -> Faults:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield from _label(task, example, value) if task.labels else ("wrong-type",)
    elif task.scale and not task.scale[0] <= value <= task.scale[1]:
        yield "score-outside"


def _choice(task: Task, example: Example, value: Any) -> Faults:
    if isinstance(value, bool) or not isinstance(value, int):
        yield "wrong-type"
    else:
        yield from _among(value, example.inputs["choices"])


def _among(choice: int, choices: Sequence[str]) -> Faults:
    if not 0 <= choice < len(choices):
        yield "choice-outside"


def _answers(task: Task, example: Example, value: Any) -> Faults:
    context = example.inputs["context"]
    for answer in value:
        if not answer["text"]:
            yield "answer-empty"
        elif answer["start"] < 0 or not context.startswith(answer["text"], answer["start"]):
            yield "answer-offset"


def _tagging(task: Task, example: Example, value: Any) -> Faults:
    yield from _spans(value, example.inputs["text"])
    yield from _overlap(value)
    if task.labels and any(span.label not in task.labels for span in value):
        yield "label-outside"


def _tree(task: Task, example: Example, value: Any) -> Faults:
    heads, labels, words = value["heads"], value["labels"], example.inputs["words"]
    if not len(heads) == len(labels) == len(words):
        yield "tree-length"
    if any(
        not 0 <= head <= len(heads) or head == place for place, head in enumerate(heads, start=1)
    ):
        yield "head-outside"
    if sum(head == 0 for head in heads) != 1:
        yield "tree-root"
    if task.labels and any(label not in task.labels for label in labels):
        yield "label-outside"


def _state(task: Task, example: Example, value: Any) -> Faults:
    for state in value:
        parts = state.split("-", 2)
        if len(parts) != 3 or not all(part.strip() for part in parts):
            yield "state-format"


_JUDGES: dict[str, Callable[[Task, Example, Any], Iterable[str]]] = {
    "text": _label,
    "inference": _label,
    "relation": _label,
    "similarity": _score,
    "choice": _choice,
    "reading": _answers,
    "tagging": _tagging,
    "tree": _tree,
    "dialogue": _state,
}
