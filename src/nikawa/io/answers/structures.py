"""Answers that are more than a word or a number: spans, trees, dialogue states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nikawa.records import Example, Span, Task

Parsed = tuple[Any, str | None]


def read_tags(raw: Any, task: Task, example: Example) -> Parsed:
    """A list of spans, as mappings or as [start, end, label], or one BIO tag a character."""
    value = decoded(raw)
    text = str(example.inputs.get("text", ""))
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        return None, "not a list of spans or tags"
    if value and all(isinstance(item, str) for item in value):
        return _from_tags(value, text, task)
    spans = [_span(item) for item in value]
    for span in spans:
        if span is None:
            return None, "a span is not {start, end, label}"
        if (problem := _misfit(span, text, task)) is not None:
            return None, problem
    return spans, None


def decoded(raw: Any) -> Any:
    """The value of a text that is JSON; any other value as it is."""
    if isinstance(raw, str) and raw.lstrip()[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return raw
    return raw


def _span(item: Any) -> Span | None:
    if isinstance(item, Span):
        return item
    if isinstance(item, Mapping):
        item = [item.get("start"), item.get("end"), item.get("label")]
    if isinstance(item, Sequence) and len(item) == 3:
        start, end, label = item
        if type(start) is int and type(end) is int and isinstance(label, str):
            return Span(start, end, label)
    return None


def _misfit(span: Span, text: str, task: Task) -> str | None:
    if not 0 <= span.start < span.end <= len(text):
        return f"span {span.start}-{span.end} is outside the text of {len(text)} characters"
    if task.labels and span.label not in task.labels:
        return f"{span.label!r} is not one of {', '.join(task.labels)}"
    return None


def _from_tags(tags: list[str], text: str, task: Task) -> Parsed:
    """Spans of BIO tags, one for each character or for each that is not a space; an I- without its B- is none."""
    places = list(range(len(text)))
    if len(tags) != len(places):
        places = [i for i in places if not text[i].isspace()]
    if len(tags) != len(places):
        return None, f"{len(tags)} tags for {len(text)} characters ({len(places)} without spaces)"
    spans: list[Span] = []
    start, last, label = -1, -1, ""
    for place, tag in zip([*places, -1], [*tags, "O"], strict=True):
        mark, dash, kind = tag.partition("-")
        if tag != "O" and not (mark in ("B", "I") and dash and kind):
            return None, f"{tag!r} is not a BIO tag"
        if label and mark == "I" and kind == label:
            last = place
            continue
        if label:
            spans.append(Span(start, last + 1, label))
        start, last, label = (place, place, kind) if mark == "B" else (-1, -1, "")
    wrong = next((span.label for span in spans if task.labels and span.label not in task.labels), None)
    return (spans, None) if wrong is None else (None, f"{wrong!r} is not one of {', '.join(task.labels)}")


def read_tree(raw: Any, task: Task, example: Example) -> Parsed:
    """`{heads, labels}`, or a list of [head, label], for each word in turn."""
    value = decoded(raw)
    if isinstance(value, list) and all(isinstance(arc, list | tuple) and len(arc) == 2 for arc in value):
        value = {"heads": [arc[0] for arc in value], "labels": [arc[1] for arc in value]}
    if not isinstance(value, Mapping) or not {"heads", "labels"} <= value.keys():
        return None, "not a mapping of heads and labels"
    heads, labels = value["heads"], value["labels"]
    if not isinstance(heads, list) or not isinstance(labels, list):
        return None, "heads and labels are not lists"
    size = len(example.inputs.get("words", ()))
    if len(heads) != size or len(labels) != size:
        return None, f"{len(heads)} heads and {len(labels)} labels for {size} words"
    if any(type(head) is not int or not 0 <= head <= size for head in heads):
        return None, f"a head is not a number from 0 to {size}"
    known = set(task.labels)
    wrong = next(
        (label for label in labels if not isinstance(label, str) or (known and label not in known)), None
    )
    return ({"heads": heads, "labels": labels}, None) if wrong is None else (None, f"{wrong!r} is no label")


def read_state(raw: Any) -> Parsed:
    """A list of `domain-slot-value`, or a mapping of `domain-slot` to value, in which `none` is left out."""
    value = decoded(raw)
    if isinstance(value, Mapping):
        value = [f"{slot}-{filled}" for slot, filled in value.items() if filled not in (None, "none")]
    if not isinstance(value, list):
        return None, "not a list of domain-slot-value"
    wrong = next((item for item in value if not isinstance(item, str) or item.count("-") < 2), None)
    return (value, None) if wrong is None else (None, f"{wrong!r} is not domain-slot-value")
