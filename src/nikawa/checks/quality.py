"""Faults inside a dataset: damaged texts, repeated items, the same item with different gold.

Everything is one pass and one index per form of sameness (see `keys`); leakage is in `leaks`, the shape of inputs and gold
in `schema`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Any
from unicodedata import normalize

from nikawa.checks.sameness import (
    COMPOSED,
    LocatedExample,
    SamenessIndex,
    make_finding,
    only_composed,
    related,
    texts,
)
from nikawa.records import Example, Finding, Span

Splits = Mapping[str, Sequence[Example]]

_ODD = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffd]"
)


def has_empty_text(example: Example) -> bool:
    """Whether a text is empty or only white space."""
    return any(not text.strip() for text in texts(example))


def has_short_text(example: Example) -> bool:
    """Whether a text is a single character; a choice of one character is a fair answer."""
    plain = (value for value in example.inputs.values() if isinstance(value, str))
    return any(len(value.strip()) == 1 for value in plain)


def has_edge_space(example: Example) -> bool:
    """Whether a text begins or ends in white space."""
    return any(text != text.strip() and text.strip() for text in texts(example))


def has_odd_characters(example: Example) -> bool:
    """Whether a text contains invisible characters, or characters that indicate damage."""
    return any(_ODD.search(text) for text in texts(example))


TEXT_CHECKS: dict[str, tuple[Callable[[Example], bool], str]] = {
    "empty-text": (has_empty_text, "a text is empty or contains only white space"),
    "short-text": (has_short_text, "a text is a single character"),
    "edge-space": (has_edge_space, "a text begins or ends with white space"),
    "odd-characters": (
        has_odd_characters,
        "replacement, zero-width, direction or control characters",
    ),
}
"""Name of a check to what it asks of an example and what it means."""


def text_findings(dataset: str, splits: Splits) -> Iterator[Finding]:
    """Texts that are empty, of one character, padded, or contain invisible characters."""
    for split, examples in splits.items():
        for check, (is_damaged, note) in TEXT_CHECKS.items():
            ids = [LocatedExample(dataset, split, e).ref for e in examples if is_damaged(e)]
            if ids:
                yield make_finding(check, split, ids, note)


def repetition_findings(dataset: str, splits: Splits) -> Iterator[Finding]:
    """Repeated items and conflicting gold, in each split and, where there are several, over all."""
    keyed = {split: SamenessIndex(dataset, split, examples) for split, examples in splits.items()}
    if len(keyed) > 1:
        keyed["+".join(keyed)] = SamenessIndex.join(list(keyed.values()))
    for where, index in keyed.items():
        yield from find_repetitions(where, index)


def find_repetitions(where: str, keyed: SamenessIndex) -> Iterator[Finding]:
    """Repeated items and conflicting gold among some items; `where` names them."""
    counts: dict[str, int] = {}
    for name, form in keyed.forms.items():
        # the groups of items that are the same though not made from one another
        repeated = keyed.find_repeated(name).values()
        groups = [group for group in repeated if len(group) > 1 and not related(group)]
        counts[name] = len(groups)
        if form.repeats and groups and counts.get(form.finer) != len(groups):
            rows = [item.ref for group in groups for item in group]
            other = sum(
                any(only_composed(form, item, group[:1]) for item in group[1:]) for group in groups
            )
            note = f"{len(rows)} rows" + (f", {other} items {COMPOSED}" if other else "")
            yield make_finding(f"repeated-{form.name}", where, rows, note, len(groups))
        if form.conflicts:
            yield from find_conflicts(where, groups)


def find_conflicts(where: str, groups: Iterable[Sequence[LocatedExample]]) -> Iterator[Finding]:
    """The questions whose gold differs within a group of equal items, one finding each."""
    rows: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for group in groups:
        by_question: dict[str, list[LocatedExample]] = {}
        for item in group:
            for question in item.example.gold:
                by_question.setdefault(question, []).append(item)
        for question, items in by_question.items():
            if gold_differs([item.example for item in items], question):
                counts[question] += 1
                rows.setdefault(question, []).extend(item.ref for item in items)
    for question, ids in rows.items():
        note = "the same item with different gold"
        place = f"{question} in {where}"
        yield make_finding("conflicting-gold", place, ids, note, counts[question])


def gold_differs(examples: Sequence[Example], question: str) -> bool:
    """Whether gold cannot all be right; lists of answers conflict only where they have none in common.

    A choice is compared by its text, a list without its order.
    """
    if question == "answers":
        return not set.intersection(*(answer_texts(e.gold[question]) for e in examples))
    values = set()
    for example in examples:
        value, choices = example.gold[question], example.inputs.get("choices", ())
        if question == "choice" and isinstance(value, int) and 0 <= value < len(choices):
            value = str(choices[value])
        values.add(_frozen(value))
    return len(values) > 1


def answer_texts(value: Any) -> set[str]:
    """The texts of a list of answers; an empty one stands for none."""
    texts = set()
    for answer in value if isinstance(value, list | tuple) else [value]:
        text = answer["text"] if isinstance(answer, dict) and "text" in answer else answer
        texts.add(normalize("NFC", str(text)))
    return texts or {""}


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return frozenset(_frozen(part) for part in value)
    return normalize("NFC", value) if isinstance(value, str) else value


def tops(splits: Splits) -> dict[str, float]:
    """Question to the end of its last bin, for the questions that are answered by numbers with a point."""
    highest: dict[str, float] = {}
    for examples in splits.values():
        for example in examples:
            for question, value in example.gold.items():
                if isinstance(value, float):
                    highest[question] = max(value, highest.get(question, value))
    return {question: max(1, ceil(value)) for question, value in highest.items()}


def distribution(
    examples: Iterable[Example], tops: Mapping[str, float] | None = None
) -> dict[str, dict[str, int]]:
    """Question to label to how often; the questions of `tops` in bins [a, a+1), the last one closed."""
    table: dict[str, Counter[str]] = {}
    for example in examples:
        for question, value in example.gold.items():
            labels = labels_in(value, (tops or {}).get(question))
            table.setdefault(question, Counter()).update(labels)
    return {question: dict(sorted(counts.items())) for question, counts in table.items()}


def labels_in(value: Any, top: float | None) -> list[str]:
    """What gold counts as in a distribution; `top` is the end of the last bin where it is a number with a point."""
    if top is not None and isinstance(value, int | float) and not isinstance(value, bool):
        low = min(floor(value), ceil(top) - 1) if value <= top else floor(value)
        return [f"{low}-{low + 1}"]
    if isinstance(value, dict):
        labels = value.get("labels")
        return [str(label) for label in labels] if isinstance(labels, list | tuple) else ["(none)"]
    if isinstance(value, list | tuple):
        if any(isinstance(part, dict) for part in value):
            return [f"{len(value)} answer{'s' * (len(value) > 1)}"]
        labels = []
        for part in value:
            # domain-slot-value counts as its slot
            slot = "-".join(str(part).split("-", 2)[:2])
            labels.append(part.label if isinstance(part, Span) else slot)
        return labels or ["(none)"]
    return [normalize("NFC", str(value))]
