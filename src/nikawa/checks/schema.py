"""Whether inputs and gold have the shape their task promises, and each field the type of its name.

What belongs to a name (`premise` is a text, `choices` a list of texts) is in docs/records.md; other names may contain
anything, but one type all through a split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.file_names import find_name_fault
from nikawa.io.folders import check_split_names
from nikawa.io.spans import share_characters
from nikawa.records import Example, Finding, Span, Task, reference

Fits = Callable[[Any], bool]
Faults = Iterator[str]

NOTES = {
    "missing-input": "the inputs fit none of the dataset's tasks",
    "missing-gold": "the gold fits none of the dataset's questions",
    "wrong-type": "an input or gold value has the wrong type; the other checks skip it",
    "label-outside": "the label is not in the closed set",
    "score-outside": "the score is outside the scale",
    "choice-outside": "the gold choice is not among the choices",
    "answer-offset": "the answer is not at its offset in the context",
    "answer-empty": "an answer is empty",
    "span-outside": "a span ends outside the text",
    "span-empty": "a span is empty",
    "span-overlap": "two gold spans overlap",
    "head-outside": "a head is not a word of the sentence",
    "tree-length": "the numbers of words, heads and labels differ",
    "tree-root": "the tree has no root or several roots",
    "state-format": "a state is not of the form domain-slot-value",
}
"""Check to what it means."""


def schema_findings(
    dataset: str, tasks: Sequence[Task], split: str, examples: Sequence[Example]
) -> Iterator[Finding]:
    """One finding per fault, with the examples that have it."""
    by_check: dict[str, dict[str, None]] = {}
    for example in examples:
        for check in find_faults(tasks, example):
            by_check.setdefault(check, {})[reference(dataset, split, example.id)] = None
    for check, ids in by_check.items():
        yield Finding(check=check, where=split, count=len(ids), ids=tuple(ids), note=NOTES[check])


def name_findings(splits: Iterable[str], card_name: str) -> Iterator[Finding]:
    """One finding for each split whose name cannot be a file's everywhere, and for such a name of
    the dataset.

    A local folder may contain them; it cannot be copied to every system, and no command
    writes them.
    """
    sound: list[str] = []
    for name in splits:
        try:
            check_split_names([*sound, name])
            sound.append(name)
        except BadInput as problem:
            yield Finding(check="file-name", where=name, count=1, note=problem.what)
    if fault := find_name_fault(card_name):
        note = f"dataset {card_name!r} cannot be a file name: it {fault}"
        yield Finding(check="file-name", where="card", count=1, note=note)


def find_faults(tasks: Sequence[Task], example: Example) -> Faults:
    """The names of the checks an example fails; a dataset may ask different tasks of different examples."""
    inputs, gold = example.inputs, example.gold
    fitting = [task for task in tasks if all(name in inputs for name in task.inputs)]
    if tasks and not fitting:
        yield "missing-input"
    if is_mistyped(example) or any(
        not fits_name(name, inputs[name]) for task in fitting for name in task.inputs
    ):
        yield "wrong-type"
        return
    spans = [value for value in inputs.values() if isinstance(value, Span)]
    if spans and isinstance(inputs.get("text"), str):
        yield from _span_faults(spans, inputs["text"])
    if not tasks and "choices" in inputs and "choice" in gold:
        yield from _place_faults(gold["choice"], inputs["choices"])
    if not tasks and isinstance(gold.get("spans"), list | tuple):
        yield from _overlap_faults(gold["spans"])
    judged = [task for task in fitting if task.question in gold]
    if fitting and gold and not judged:
        yield "missing-gold"
    for task in judged:
        try:
            yield from GOLD_FAULTS[task.kind](task, example, gold[task.question])
        except (TypeError, KeyError, AttributeError, ValueError):
            yield "wrong-type"


def _span_faults(spans: Iterable[Span], text: str) -> Faults:
    for span in spans:
        if span.start < 0 or span.end > len(text):
            yield "span-outside"
        elif not text[span.start : span.end].strip():
            yield "span-empty"


def _overlap_faults(spans: Iterable[Span]) -> Faults:
    if share_characters(span for span in spans if isinstance(span, Span)):
        yield "span-overlap"


def _place_faults(choice: int, choices: Sequence[str]) -> Faults:
    if not 0 <= choice < len(choices):
        yield "choice-outside"


def label_faults(task: Task, example: Example, value: Any) -> Faults:
    """A label must be a word, and in the closed set where there is one."""
    if not isinstance(value, str):
        yield "wrong-type"
    elif task.labels and value not in task.labels:
        yield "label-outside"


def score_faults(task: Task, example: Example, value: Any) -> Faults:
    """A score must be a number on the scale; a task with labels may have those instead."""
    if not _is_number(value):
        yield from label_faults(task, example, value) if task.labels else ("wrong-type",)
    elif task.scale and not task.scale[0] <= value <= task.scale[1]:
        yield "score-outside"


def choice_faults(task: Task, example: Example, value: Any) -> Faults:
    """A choice must be the place of one of the choices."""
    if _is_whole(value):
        yield from _place_faults(value, example.inputs["choices"])
    else:
        yield "wrong-type"


def answer_faults(task: Task, example: Example, value: Any) -> Faults:
    """Every answer must be in the context at its offset."""
    context = example.inputs["context"]
    for answer in value:
        if not answer["text"]:
            yield "answer-empty"
        elif answer["start"] < 0 or not context.startswith(answer["text"], answer["start"]):
            yield "answer-offset"


def tagging_faults(task: Task, example: Example, value: Any) -> Faults:
    """Spans must contain text, must not overlap, and must have a label of the closed set."""
    yield from _span_faults(value, example.inputs["text"])
    yield from _overlap_faults(value)
    if task.labels and any(span.label not in task.labels for span in value):
        yield "label-outside"


def tree_faults(task: Task, example: Example, value: Any) -> Faults:
    """A tree must have a head and a label for every word, and one root."""
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


def state_faults(task: Task, example: Example, value: Any) -> Faults:
    """Every entry of a state must be domain-slot-value."""
    for state in value:
        parts = state.split("-", 2)
        if len(parts) != 3 or not all(part.strip() for part in parts):
            yield "state-format"


GOLD_FAULTS: dict[str, Callable[[Task, Example, Any], Iterable[str]]] = {
    "text": label_faults,
    "inference": label_faults,
    "relation": label_faults,
    "similarity": score_faults,
    "choice": choice_faults,
    "reading": answer_faults,
    "tagging": tagging_faults,
    "tree": tree_faults,
    "dialogue": state_faults,
}
"""The check of gold by kind of task."""


def mixed_types(dataset: str, split: str, examples: Iterable[Example]) -> Iterator[Finding]:
    """Fields with text in one example and a number in another; the rarer types are counted."""
    fields: dict[str, dict[str, list[str]]] = {}
    for example in examples:
        for part, values in (("inputs", example.inputs), ("gold", example.gold)):
            for name, value in values.items():
                kind = type_name(value)
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


TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (bool, "truth value"),
    ((int, float), "number"),
    (Span, "span"),
    (dict, "object"),
    (type(None), "null"),
)


def type_name(value: Any) -> str:
    """The type of a value in words; whole numbers are numbers, and an empty list may be one of anything."""
    if isinstance(value, list | tuple):
        return " and ".join(sorted({f"list of {type_name(part) or 'lists'}" for part in value}))
    for types, name in TYPE_NAMES:
        if isinstance(value, types):
            return name
    return type(value).__name__


def fits_name(name: str, value: Any) -> bool:
    """Whether an input has the type its name promises; most are texts."""
    return INPUT_TYPES.get(name, _is_text)(value)


def is_mistyped(example: Example) -> bool:
    """Whether an input or gold of a name from docs/records.md has another type, or gold is null or not finite.

    Other names may contain anything.
    """
    inputs = example.inputs
    if any(name in inputs and not fits_name(name, inputs[name]) for name in NAMED_INPUTS):
        return True
    for name, value in example.gold.items():
        fits = GOLD_TYPES.get(name)
        if not is_comparable(value) or (fits is not None and not fits(value)):
            return True
    return False


def is_comparable(value: Any) -> bool:
    """Whether a value is neither null nor a number that none can be compared with, however deep."""
    if isinstance(value, str | int):
        return True
    if isinstance(value, dict):
        return all(map(is_comparable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_comparable, value))
    return value is not None and (not isinstance(value, float) or isfinite(value))


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


def _is_list_of(fits: Fits) -> Fits:
    return lambda value: isinstance(value, list | tuple) and all(map(fits, value))


def is_turn(value: Any) -> bool:
    """Whether a value is a turn of a dialogue."""
    return isinstance(value, dict) and _is_text(value.get("role")) and _is_text(value.get("text"))


def is_answer(value: Any) -> bool:
    """Whether a value is an answer of reading comprehension; where it starts may be left out."""
    return (
        isinstance(value, dict) and _is_text(value.get("text")) and _is_whole(value.get("start", 0))
    )


def is_tree(value: Any) -> bool:
    """Whether a value is a tree: heads as numbers, labels as texts."""
    return (
        isinstance(value, dict)
        and _is_list_of(_is_whole)(value.get("heads"))
        and _is_list_of(_is_text)(value.get("labels"))
    )


INPUT_TYPES: dict[str, Fits] = {
    "choices": _is_list_of(_is_text),
    "turns": _is_list_of(is_turn),
    "words": _is_list_of(lambda value: isinstance(value, dict)),
    "subject": _is_span,
    "object": _is_span,
}
"""Inputs that are not texts, and their types."""
NAMED_INPUTS = (
    "text",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "title",
    "context",
    "question",
    *INPUT_TYPES,
)
GOLD_TYPES: dict[str, Fits] = {
    "label": _is_label,
    "relation": _is_label,
    "score": _is_number,
    "relatedness": _is_number,
    "choice": _is_whole,
    "answers": _is_list_of(is_answer),
    "spans": _is_list_of(_is_span),
    "tree": is_tree,
    "state": _is_list_of(_is_text),
}
"""Question to what its gold must be; a task that names the labels asks for more."""
