"""Answers that are more than a word or a number: spans, trees, dialogue states.

Each comes in the shape of answer files, or in the shape that a prompt asks a model for: entities by
their words, heads by the number of the word, slots with values. Nothing is repaired: one entity
that is not in the text makes the answer unreadable.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from nikawa.io.answers.replies import quote
from nikawa.records import Example, Span, Tagged, Task

Parsed = tuple[Any, str | None]
_BIO = re.compile(r"O|[BI]-.+", re.DOTALL)


class Unreadable(Exception):
    """An answer that cannot be read; the message is the reason."""


def read_tags(
    raw: Any, task: Task, example: Example, words: Mapping[str, str] | None = None
) -> Parsed:
    """A list of spans, as mappings or as [start, end, label], one BIO tag a character, or entities
    by their words.

    `words` are what labels were shown by.
    """
    value = decode_text(raw)
    text = str(example.inputs.get("text", ""))
    entities = value.get("entities") if isinstance(value, Mapping) else value
    by_words = isinstance(value, Mapping) or any(
        isinstance(item, Mapping) and "text" in item and "start" not in item
        for item in (entities if isinstance(entities, list) else ())
    )
    if by_words and isinstance(entities, list):
        try:
            return find_spans(text, entities, name_labels(task, words)), None
        except Unreadable as problem:
            return None, str(problem)
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


def name_labels(task: Task, words: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each label by its own name and by the word it was shown by, whatever the case."""
    by_word = {word.casefold(): label for label, word in (words or {}).items()}
    return by_word | {label.casefold(): label for label in task.labels}


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

    The tags are kept with them.
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
    """Return the entities: each starts at B-X and continues over the following I-X; an I-X without B-X is ignored."""
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


def read_tree(
    raw: Any, task: Task, example: Example, words: Mapping[str, str] | None = None
) -> Parsed:
    """`{heads, labels}`, a list of [head, label] for each word in turn, or words with their number.

    `words` are what labels were shown by.
    """
    value = decode_text(raw)
    rows = value.get("words") if isinstance(value, Mapping) else value
    is_numbered = isinstance(value, Mapping) and "words" in value
    if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
        is_numbered = is_numbered or "index" in rows[0]
    if is_numbered and isinstance(rows, list):
        try:
            return read_heads(rows, example, name_labels(task, words)), None
        except Unreadable as problem:
            return None, str(problem)
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


def read_heads(
    rows: Sequence[Any], example: Example, label_by_name: Mapping[str, str]
) -> dict[str, Any]:
    """Heads and labels of all words; a word too many or too few makes the answer unreadable."""
    count = len(example.inputs.get("words", ()))
    heads: dict[int, tuple[int, str]] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise Unreadable("a word is not an object")
        index, head = row.get("index"), row.get("head")
        if not isinstance(index, int) or not 1 <= index <= count:
            raise Unreadable(f"there is no word {index!r}")
        if not isinstance(head, int) or not 0 <= head <= count or head == index:
            raise Unreadable(f"word {index} cannot have the head {head!r}")
        name = str(row.get("label"))
        label = label_by_name.get(name.casefold())
        if label is None:
            raise Unreadable(f"{quote(name)} is no label")
        if heads.setdefault(index, (head, label)) != (head, label):
            raise Unreadable(f"word {index} has two heads")
    numbers = range(1, count + 1)
    if missing := [number for number in numbers if number not in heads]:
        raise Unreadable(f"word {missing[0]} has no head")
    return {
        "heads": [heads[number][0] for number in numbers],
        "labels": [heads[number][1] for number in numbers],
    }


def read_state(raw: Any, slots: Sequence[str] = ()) -> Parsed:
    """A list of `domain-slot-value`, a mapping of `domain-slot` to value, or entries of a slot and
    a value; `none` is left out.

    `slots` are those that were offered; empty: any.
    """
    value = decode_text(raw)
    entries = value.get("state") if isinstance(value, Mapping) else value
    is_entries = isinstance(value, Mapping) or any(
        isinstance(item, Mapping) for item in (entries if isinstance(entries, list) else ())
    )
    if is_entries and isinstance(entries, list):
        try:
            return read_slots(entries, slots), None
        except Unreadable as problem:
            return None, str(problem)
    if isinstance(value, Mapping):
        filled = value.items()
        value = [f"{slot}-{entry}" for slot, entry in filled if entry not in (None, "none")]
    if not isinstance(value, list):
        return None, "not a list of domain-slot-value"
    for item in value:
        if not isinstance(item, str) or item.count("-") < 2:
            return None, f"{item!r} is not domain-slot-value"
    return value, None


def read_slots(rows: Sequence[Any], known: Sequence[str]) -> list[str]:
    """The entries as `domain-slot-value`, each once, in the order of the answer."""
    entries: dict[str, None] = {}
    for row in rows:
        fields = row if isinstance(row, Mapping) else {}
        slot, value = fields.get("slot"), fields.get("value")
        if not isinstance(slot, str) or not isinstance(value, str) or not value.strip():
            raise Unreadable("an entry is not a slot with a value")
        slot, value = slot.strip(), value.strip()
        if known and slot not in known:
            raise Unreadable(f"there is no slot {quote(slot)}")
        if value != "none":
            entries[f"{slot}-{value}"] = None
    return list(entries)


def count_occurrence(text: str, span: Span) -> int:
    """Which of the places that hold the same words a span is, from 1."""
    words = text[span.start : span.end]
    return sum(1 for start in _find_all(text, words) if start <= span.start)


def find_spans(text: str, entities: Sequence[Any], label_of: dict[str, str]) -> list[Span]:
    """The spans that entities of text, occurrence and label mean, in the order of the text.

    `label_of` has the label by the case-folded name an answer may call it. Entities without an
    occurrence are counted in order.
    """
    folded, seen = SpelledText(text), Counter[str]()
    spans: dict[tuple[int, int], Span] = {}
    for entity in entities:
        if not isinstance(entity, dict) or not isinstance(entity.get("text"), str):
            raise Unreadable("an entity has no text")
        words, name = entity["text"], str(entity.get("label"))
        label = label_of.get(name.casefold())
        if label is None:
            raise Unreadable(f"{quote(name)} is no label")
        seen[words] += 1
        start, end = folded.find(words, entity.get("occurrence", seen[words]))
        spans[start, end] = Span(start, end, label)
    ordered = sorted(spans.values(), key=lambda span: (span.start, span.end))
    for one, other in pairwise(ordered):
        if other.start < one.end:
            raise Unreadable("two entities overlap")
    return ordered


def _find_all(text: str, words: str) -> Iterator[int]:
    """All places at which the words begin, overlapping ones too."""
    start = text.find(words) if words else -1
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


class SpelledText:
    """A text with its characters taken apart (width, composed syllables), and where each part came
    from.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = [unicodedata.normalize("NFKD", c) for c in text]
        self.folded = "".join(parts)
        self.place_of = [i for i, part in enumerate(parts) for _ in part]

    def find(self, words: str, number: Any) -> tuple[int, int]:
        """Start and end of the n-th place that holds the words, from 1.

        Where there is one place, the number does not matter.
        """
        places = self._find_all(words) or self._find_all(words.strip())
        if not places:
            raise Unreadable(f"{quote(words)} is not in the text")
        if len(places) == 1:
            return places[0]
        if not isinstance(number, int) or not 1 <= number <= len(places):
            what = f"{quote(words)} is in the text {len(places)} times"
            raise Unreadable(f"{what}, but not at the stated position")
        return places[number - 1]

    def _find_all(self, words: str) -> list[tuple[int, int]]:
        """Find the words in the text as they are, or otherwise in another spelling."""
        exact = [(start, start + len(words)) for start in _find_all(self.text, words)]
        return exact or list(self._find_folded(unicodedata.normalize("NFKD", words)))

    def _find_folded(self, words: str) -> Iterator[tuple[int, int]]:
        place_of = self.place_of
        for start in _find_all(self.folded, words):
            end = start + len(words)
            is_whole_start = start == 0 or place_of[start - 1] != place_of[start]
            is_whole_end = end == len(place_of) or place_of[end] != place_of[end - 1]
            if is_whole_start and is_whole_end:
                yield place_of[start], place_of[end - 1] + 1
