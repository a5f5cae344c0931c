"""Answers that are more than a word or a number: spans, trees, dialogue states."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from nikawa.records import Example, Span, Tagged, Task

Parsed = tuple[Any, str | None]
_BIO = re.compile(r"O|[BI]-.+", re.DOTALL)


def read_tags(raw: Any, task: Task, example: Example) -> Parsed:
    """A list of spans, as mappings or as [start, end, label], or one BIO tag a character."""
    value = decode_text(raw)
    text = str(example.inputs.get("text", ""))
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        return None, "not a list of spans or tags"
    if value and all(isinstance(item, str) for item in value):
        return read_bio_tags(value, text, task)
    spans = []
    for item in value:
        span = read_span(item)
        if span is None:
            return None, "a span is not {start, end, label}"
        if not 0 <= span.start < span.end <= len(text):
            where = f"span {span.start}-{span.end}"
            return None, f"{where} is outside the text of {len(text)} characters"
        if task.labels and span.label not in task.labels:
            return None, f"{span.label!r} is not one of {', '.join(task.labels)}"
        spans.append(span)
    return spans, None


def decode_text(raw: Any) -> Any:
    """The value of a text that is JSON; any other value as it is."""
    if isinstance(raw, str) and raw.lstrip()[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return raw
    return raw


def read_span(item: Any) -> Span | None:
    """A span of `Span`, `{start, end, label}` or `[start, end, label]`; None for anything else."""
    if isinstance(item, Span):
        return item
    if isinstance(item, Mapping):
        item = [item.get("start"), item.get("end"), item.get("label")]
    if isinstance(item, Sequence) and len(item) == 3:
        start, end, label = item
        if type(start) is int and type(end) is int and isinstance(label, str):
            return Span(start, end, label)
    return None


def read_bio_tags(tags: list[str], text: str, task: Task) -> Parsed:
    """Spans of BIO tags, one for each character or for each that is not a space.

    The tags are kept beside them.
    """
    wrong = next((tag for tag in tags if not _BIO.fullmatch(tag)), None)
    if wrong is not None:
        return None, f"{wrong!r} is not a BIO tag"
    kinds = dict.fromkeys(tag[2:] for tag in tags if tag != "O")
    wrong = next((kind for kind in kinds if task.labels and kind not in task.labels), None)
    if wrong is not None:
        return None, f"{wrong!r} is not one of {', '.join(task.labels)}"
    whole = add_space_tags(tags, text)
    if whole is None:
        bare = sum(not sign.isspace() for sign in text)
        return None, f"{len(tags)} tags for {len(text)} characters ({bare} without spaces)"
    return Tagged(_spans_of_tags(whole), whole), None


def add_space_tags(tags: list[str], text: str) -> list[str] | None:
    """A tag for each character: a space that has none is inside where the entity goes on behind it;
    None: no fit.
    """
    skips: tuple[Callable[[str], bool], ...] = (
        lambda _: False,
        lambda character: character == " ",
        str.isspace,
    )
    for is_skipped in skips:
        if len(tags) == sum(not is_skipped(character) for character in text):
            break
    else:
        return None
    remaining, last, whole = iter([*tags, "O"]), "O", []
    coming = next(remaining)
    for character in text:
        if is_skipped(character):
            whole.append(coming if coming[0] == "I" and coming[2:] == last[2:] else "O")
        else:
            whole.append(coming)
            last, coming = coming, next(remaining)
    return whole


def _spans_of_tags(tags: Sequence[str]) -> list[Span]:
    """An entity starts at B-X and runs over the I-X that follow; an I- without its B- is none."""
    spans: list[Span] = []
    start, label = -1, ""
    for place, tag in enumerate([*tags, "O"]):
        if label and tag == f"I-{label}":
            continue
        if label:
            spans.append(Span(start, place, label))
        start, label = (place, tag[2:]) if tag[0] == "B" else (-1, "")
    return spans


def restore_tags(spans: list[Span], raw: str | None) -> list[Span]:
    """Stored spans, with the tags they were read from where `raw` holds these."""
    tags = (raw or "").split()
    if not tags or not all(map(_BIO.fullmatch, tags)) or _spans_of_tags(tags) != spans:
        return spans
    return Tagged(spans, tags)


def read_tree(raw: Any, task: Task, example: Example) -> Parsed:
    """`{heads, labels}`, or a list of [head, label], for each word in turn."""
    value = decode_text(raw)
    if isinstance(value, list) and all(
        isinstance(arc, list | tuple) and len(arc) == 2 for arc in value
    ):
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
    for label in labels:
        if not isinstance(label, str) or (known and label not in known):
            return None, f"{label!r} is no label"
    return {"heads": heads, "labels": labels}, None


def read_state(raw: Any) -> Parsed:
    """A list of `domain-slot-value`, or a mapping of `domain-slot` to value, in which `none` is
    left out.
    """
    value = decode_text(raw)
    if isinstance(value, Mapping):
        slots = value.items()
        value = [f"{slot}-{filled}" for slot, filled in slots if filled not in (None, "none")]
    if not isinstance(value, list):
        return None, "not a list of domain-slot-value"
    for item in value:
        if not isinstance(item, str) or item.count("-") < 2:
            return None, f"{item!r} is not domain-slot-value"
    return value, None
