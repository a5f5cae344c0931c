"""Items as texts: rendered in the benchmark's field order, cut in two, and with a twin each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from nikawa.datasets import load
from nikawa.errors import BadInput, MissingExtra, list_names
from nikawa.perturbation import perturbations
from nikawa.perturbation.selection import family_of
from nikawa.records import Example
from nikawa.text import analyser

FIELD_BREAK, ITEM_BREAK = "\n", "\n\n"
"""Text between the fields of an item, and after an item."""
MIN_HALF_CHARS = 4
"""Characters that each half of an item must have to complete one from the other."""
NO_TEXT_FIELDS = frozenset({"image", "words"})
"""Inputs that are no text of their own: a path, or the tokens of another input."""
FIELD_RANKS = {
    "title": -2,
    "context": -1,
    "question": 1,
    "choices": 2,
    "hypothesis": 2,
    "sentence2": 2,
}
"""The order of inputs in the published files, whatever the order of keys in a records file; other inputs
have rank 0 and stay as they are."""
TWIN_ORDER = ("polite", "plain", "punctuation", "kana", "spacing", "width", "jamo")
"""Kinds of surface operations, those that leave the most natural text in front."""


@dataclass(frozen=True)
class TextItem:
    """One item of a benchmark: what its inputs say. Labels are never part of it."""

    id: str
    fields: tuple[str, ...]

    @property
    def text(self) -> str:
        """All fields, one below the other."""
        return FIELD_BREAK.join(self.fields)

    def halves(self) -> tuple[str, str] | None:
        """The first field and the second; of a single text, its halves. None: too short."""
        first, second = (*self.fields, "")[:2]
        if not second:
            middle = len(first) // 2
            first, second = first[:middle], first[middle:]
        is_long_enough = min(len(first), len(second)) >= MIN_HALF_CHARS
        return (first, second) if is_long_enough else None


@dataclass(frozen=True)
class TextSet:
    """The items of one split."""

    name: str
    language: str
    items: tuple[TextItem, ...]


def load_items(spec: str, data: Path | None = None, limit: int = 0) -> TextSet:
    """The items of a dataset's split as texts, in the order of the file.

    Raises:
        BadInput: the dataset has several splits, or fewer than two items with text.
    """
    dataset = load(spec, data=data)
    if len(dataset.splits) != 1:
        names = list(dataset.splits)
        cure = f"name one, for example {spec}:{names[-1]}" if names else "pass another dataset"
        raise BadInput(f"{spec} has several splits: {list_names(names)}", cure=cure)
    examples = next(iter(dataset.splits.values()))
    return make_items(spec, dataset.language, examples[: limit or None])


def make_items(name: str, language: str, examples: Sequence[Example]) -> TextSet:
    """The same for examples in memory."""
    items = []
    for example in examples:
        fields = []
        for field in sorted(example.inputs, key=lambda name: FIELD_RANKS.get(name, 0)):
            value = example.inputs[field]
            text = "" if field in NO_TEXT_FIELDS and len(example.inputs) > 1 else render(value)
            if text:
                fields.append(text)
        if fields:
            items.append(TextItem(example.id, tuple(fields)))
    if len(items) < 2:
        what = f"{name} has {len(items)} item{'s' * (len(items) != 1)} with text"
        raise BadInput(what, cure="pass a split with two items or more")
    return TextSet(name, language, tuple(items))


def render(value: Any) -> str:
    """The texts in an input; numbers and spans are left out.

    >>> render(["赤", {"speaker": "A", "text": "青"}])
    '赤\\nA\\n青'
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return ""
    return FIELD_BREAK.join(text for text in map(render, value) if text)


class TwinMaker:
    """Rewrites a text without changing its meaning.

    The surface operations of `nikawa perturb` are tried in turn; the first whose result the model
    reads as other tokens is taken. Operations whose analyser is not installed are skipped.
    """

    def __init__(self, language: str, seed: int, differs: Callable[[str, str], bool]) -> None:
        table = perturbations(language)
        surface = [table[name] for name in table if family_of(name) == name]

        def rank(name: str) -> int:
            kinds = [at for at, kind in enumerate(TWIN_ORDER) if name.startswith(kind)]
            return kinds[0] if kinds else len(TWIN_ORDER)

        self.operations = sorted(
            (one for one in surface if one.effect == "keeps"), key=lambda one: rank(one.name)
        )
        self.seed, self.differs = seed, differs
        self._missing: set[str] = set()

    def make(self, item: TextItem) -> tuple[str, str] | None:
        """The name of the operation and the twin's text; None: no operation applies."""
        for operation in self.operations:
            name = operation.analysers[0] if operation.analysers else "characters"
            if name in self._missing:
                continue
            try:
                engine = analyser(name)
            except MissingExtra:
                self._missing.add(name)
                continue
            fields = []
            for number, field in enumerate(item.fields):
                rng = Random(f"{self.seed}/{operation.full_name}/{item.id}/{number}")  # noqa: S311
                example = Example(id=item.id, inputs={"text": field})
                is_eligible = operation.eligible(example, engine)
                changed = operation.rewrite(example, engine, rng) if is_eligible else None
                fields.append(field if changed is None else str(changed.inputs["text"]))
            twin = FIELD_BREAK.join(fields)
            if twin != item.text and self.differs(item.text, twin):
                return operation.name, twin
        return None
