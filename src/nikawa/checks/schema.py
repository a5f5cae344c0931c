"""Whether inputs and gold have the shape their task promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

from nikawa.io.spans import share_characters
from nikawa.records import Example, Finding, Span, Task, reference


def mixed_types(dataset: str, split: str, examples: Iterable[Example]) -> Iterator[Finding]:
    """Fields that hold text in one example and a number in another; the rarer types are counted."""
    fields: dict[str, dict[str, list[str]]] = {}
    for example in examples:
        for part, values in (("inputs", example.inputs), ("gold", example.gold)):
            for name, value in values.items():
                kind = type_of(value)
                if kind:
                    fields.setdefault(f"{part}.{name}", {}).setdefault(kind, []).append(example.id)
    for field, kinds in fields.items():
        _, *rarer = sorted(kinds, key=lambda kind: -len(kinds[kind]))
        ids = tuple(reference(dataset, split, name) for kind in rarer for name in kinds[kind])
        if ids:
            note = ", ".join(f"{len(names):,} {kind}" for kind, names in kinds.items())
            yield Finding(
                check="mixed-types", where=f"{field} in {split}", count=len(ids), ids=ids, note=note
            )


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (bool, "truth value"),
    ((int, float), "number"),
    (Span, "span"),
    (dict, "object"),
    (type(None), "null"),
)


def type_of(value: Any) -> str:
    """The type of a value in words; whole numbers are numbers, and an empty list may be one of anything."""
    if isinstance(value, list | tuple):
        return " and ".join(sorted({f"list of {type_of(part) or 'lists'}" for part in value}))
    return next((name for types, name in _TYPES if isinstance(value, types)), type(value).__name__)


def fits(name: str, value: Any) -> bool:
    """Whether an input has the type its name promises; most are texts."""
    return _INPUTS.get(name, _is_text)(value)


def mistyped(example: Example) -> bool:
    """Whether an input or gold of a name from docs/records.md has another type, or gold is null or not finite.

    Names of one's own may hold anything.
    """
    inputs, gold = example.inputs, example.gold
    return any(name in inputs and not fits(name, inputs[name]) for name in _NAMED) or any(
        not _is_given(value) or not _GOLD.get(name, _is_given)(value)
        for name, value in gold.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _is_span(value: Any) -> bool:
    return isinstance(value, Span)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("role", "text")
    )


def _is_answer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("text"), str)
        and _is_whole(value.get("start", 0))
    )


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and _HEADS(value.get("heads")) and _TEXTS(value.get("labels"))


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(fits, value))


def _is_given(value: Any) -> bool:
    """Neither null nor a number that none can be compared with, however deep."""
    if isinstance(value, str | int):
        return True
    if isinstance(value, dict):
        return all(map(_is_given, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_given, value))
    return value is not None and (not isinstance(value, float) or isfinite(value))


_TEXTS, _HEADS = _list_of(_is_text), _list_of(_is_whole)
_TEXT_INPUTS = (
    "text",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "title",
    "context",
    "question",
)
_INPUTS: dict[str, Callable[[Any], bool]] = {
    "choices": _TEXTS,
    "turns": _list_of(_is_turn),
    "words": _list_of(_is_object),
    "subject": _is_span,
    "object": _is_span,
}
_NAMED = (*_TEXT_INPUTS, *_INPUTS)
_GOLD: dict[str, Callable[[Any], bool]] = {
    "label": _is_label,
    "relation": _is_label,
    "score": _is_number,
    "relatedness": _is_number,
    "choice": _is_whole,
    "answers": _list_of(_is_answer),
    "spans": _list_of(_is_span),
    "tree": _is_tree,
    "state": _TEXTS,
}
"""Question to what its gold must be; a task that names the labels asks for more."""


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
