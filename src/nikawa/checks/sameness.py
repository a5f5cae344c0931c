"""What makes two items the same, by the shape of their inputs.

A rule is one notion of sameness: the exact pair, the pair in any order, the question, … Checks of
repetition and leakage walk the rules of a dataset, so none of them knows a kind of task. Texts are compared in NFC: how
a program composes its Hangul and kana does not make another item.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from nikawa.checks.schema import fits_name
from nikawa.records import Example, Finding, reference

COMPOSED = "written in other Unicode forms (NFC, NFD)"
"""What a note calls items that are the same in NFC alone."""
Key = Callable[[Mapping[str, Any]], Hashable]
Places = NDArray[np.int64]
_NO_PLACES: Places = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class SamenessRule:
    """One notion of sameness of items."""

    name: str
    """In the plural, for the name of a check: `pairs` makes `repeated-pairs` and `leaked-pairs`."""
    key: Key
    repeats: bool = True
    """Whether meeting it twice within a split is worth telling; many questions share a context by design."""
    conflicts: bool = False
    """Whether the same item must have the same gold."""
    leaks: bool = True
    finer: str = ""
    """The stricter form; this one is reported only if the two counts differ."""


class LocatedExample(NamedTuple):
    """An example and its place."""

    dataset: str
    split: str
    example: Example

    @property
    def ref(self) -> str:
        """Full reference."""
        return reference(self.dataset, self.split, self.example.id)

    @property
    def kin(self) -> set[str]:
        """Itself and what it was made from."""
        origin = self.example.origin
        return {self.ref, *(origin.parents if origin else ())}


def is_parent(one: LocatedExample, other: LocatedExample) -> bool:
    """Whether one of two examples was made from the other, which then repeats it by design.

    Two examples that were made from the same one are not that: a pair of captions in test and
    another pair of them in train share what a model learns.
    """
    if one.ref == other.ref:  # a copy has the name of what it copies
        return False
    for child, parent in ((one, other), (other, one)):
        origin = child.example.origin
        if origin is not None and parent.ref in origin.parents:
            return True
    return False


def find_perturbation(item: LocatedExample) -> str | None:
    """The step that made an example from another whose gold it has; None where it was made otherwise."""
    origin = item.example.origin
    return origin.step if origin is not None and origin.gold == "inherited" else None


def are_perturbations(one: LocatedExample, other: LocatedExample) -> bool:
    """Whether two examples were made in two ways from examples whose gold they have."""
    ways = {find_perturbation(one), find_perturbation(other)}
    return len(ways) == 2 and None not in ways


def related(items: Iterable[LocatedExample]) -> bool:
    """Whether the similarity of all items is intended: one of them is the parent of the others, or
    they are perturbations of one example.
    """
    members = list(items)
    if any(
        all(child is parent or is_parent(parent, child) for child in members) for parent in members
    ):
        return True
    return all(
        are_perturbations(one, other) and not one.kin.isdisjoint(other.kin)
        for one, other in combinations(members, 2)
    )


def loose(text: str) -> str:
    """A sentence without its final 。, which the published captions carry or drop at will."""
    return text.rstrip("。")


def _exact(*names: str) -> Key:
    """The values of inputs as they are."""
    return lambda inputs: tuple(inputs[name] for name in names)


def _unordered(first: str, second: str) -> Key:
    """Two sentences in any order, the final 。 left out."""
    return lambda inputs: tuple(sorted((loose(inputs[first]), loose(inputs[second]))))


SHAPES: tuple[tuple[frozenset[str], tuple[SamenessRule, ...]], ...] = (
    (
        frozenset({"premise", "hypothesis"}),
        (
            SamenessRule("pairs", _exact("premise", "hypothesis"), conflicts=True),
            SamenessRule("unordered-pairs", _unordered("premise", "hypothesis"), finer="pairs"),
        ),
    ),
    (
        frozenset({"sentence1", "sentence2"}),
        (
            SamenessRule("pairs", _exact("sentence1", "sentence2")),
            SamenessRule(
                "unordered-pairs",
                _unordered("sentence1", "sentence2"),
                conflicts=True,
                finer="pairs",
            ),
        ),
    ),
    (
        frozenset({"context", "question"}),
        (
            SamenessRule("questions", _exact("context", "question"), conflicts=True),
            SamenessRule("contexts", _exact("context"), repeats=False),
        ),
    ),
    (
        frozenset({"question", "choices"}),
        (
            SamenessRule("questions", _exact("question")),
            SamenessRule(
                "items",
                lambda inputs: (inputs["question"], tuple(sorted(inputs["choices"]))),
                conflicts=True,
                finer="questions",
            ),
        ),
    ),
    (
        frozenset({"text", "subject", "object"}),
        (
            SamenessRule("texts", _exact("text")),
            SamenessRule(
                "items", _exact("text", "subject", "object"), conflicts=True, finer="texts"
            ),
        ),
    ),
    (frozenset({"text"}), (SamenessRule("texts", _exact("text"), conflicts=True),)),
    (
        frozenset({"turns"}),
        (
            SamenessRule(
                "dialogues",
                lambda inputs: tuple((turn["role"], turn["text"]) for turn in inputs["turns"]),
                conflicts=True,
            ),
        ),
    ),
)
"""Inputs that give a shape away, the most telling first, and its forms."""


def sameness_rules(example: Example) -> tuple[SamenessRule, ...]:
    """The forms of an example, by the names of its inputs; empty if the names are unknown or the inputs damaged."""
    inputs = example.inputs
    for needs, forms in SHAPES:
        if needs <= inputs.keys():
            return forms if all(fits_name(name, inputs[name]) for name in needs) else ()
    return ()


class SamenessIndex:
    """Examples by what makes them the same under each of their forms, as a hash of 64 bits; those without a form are left out.

    Most examples are like no other: a hash that no other example has says so. Only the others are looked at as they are,
    so that a million examples take some bytes each.
    """

    def __init__(self, dataset: str, split: str, examples: Sequence[Example]) -> None:
        self._parts = [(dataset, split, examples)]
        self.forms: dict[str, SamenessRule] = {}
        places: dict[str, array[int]] = {}
        hashes: dict[str, array[int]] = {}
        for place, example in enumerate(examples):
            rules = sameness_rules(example)
            inputs = composed(example.inputs) if rules else {}
            for form in rules:
                self.forms[form.name] = form
                places.setdefault(form.name, array("q")).append(place)
                hashes.setdefault(form.name, array("q")).append(hash(form.key(inputs)))
        self._places = {name: np.frombuffer(each, np.int64) for name, each in places.items()}
        self._hashes = {name: np.frombuffer(each, np.int64) for name, each in hashes.items()}

    @classmethod
    def join(cls, indexes: Iterable[SamenessIndex]) -> SamenessIndex:
        """The examples of several indexes, in their order."""
        joined = cls("", "", ())
        joined._parts = []
        places: dict[str, list[Places]] = {}
        hashes: dict[str, list[Places]] = {}
        for index in indexes:
            begin = len(joined)
            joined._parts += index._parts
            joined.forms |= index.forms
            for name in index.forms:
                places.setdefault(name, []).append(index._places[name] + begin)
                hashes.setdefault(name, []).append(index._hashes[name])
        joined._places = {name: np.concatenate(each) for name, each in places.items()}
        joined._hashes = {name: np.concatenate(each) for name, each in hashes.items()}
        return joined

    def __len__(self) -> int:
        return sum(len(examples) for _, _, examples in self._parts)

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(examples for _, _, examples in self._parts)

    def locate(self, places: Iterable[int]) -> Iterator[LocatedExample]:
        """The examples at some places."""
        for place in places:
            begin = 0
            for dataset, split, examples in self._parts:
                if place < begin + len(examples):
                    yield LocatedExample(dataset, split, examples[place - begin])
                    break
                begin += len(examples)

    def hashes(self, form: str) -> Places:
        """The hash of each example that has the form of that name."""
        return self._hashes.get(form, _NO_PLACES)

    def rows(self, form: str, chosen: NDArray[np.bool_]) -> list[tuple[Hashable, LocatedExample]]:
        """Key and example, of those that have the form of that name and are `chosen` among them."""
        if not chosen.any():
            return []
        items = self.locate(self._places[form][chosen].tolist())
        return [(_make_key(form, item.example), item) for item in items]

    def find_alike(self, form: str, hashes: Places) -> dict[Hashable, list[LocatedExample]]:
        """Key to examples under the form of that name, of those with one of some hashes."""
        own = self.hashes(form)
        return group_rows(self.rows(form, np.isin(own, hashes)) if len(own) and len(hashes) else ())

    def find_repeated(self, form: str) -> dict[Hashable, list[LocatedExample]]:
        """Key to examples under the form of that name, of those whose hash another one has too."""
        own = self.hashes(form)
        ordered = np.sort(own)
        repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return self.find_alike(form, repeated)


def _make_key(name: str, example: Example) -> Hashable:
    """What makes an example the same under the form of that name."""
    form = next(form for form in sameness_rules(example) if form.name == name)
    return form.key(composed(example.inputs))


def group_rows(
    rows: Iterable[tuple[Hashable, LocatedExample]],
) -> dict[Hashable, list[LocatedExample]]:
    """Key to examples, in order of first appearance."""
    groups: dict[Hashable, list[LocatedExample]] = {}
    for key, item in rows:
        groups.setdefault(key, []).append(item)
    return groups


def composed(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inputs with their texts in NFC; the same object where they are that already."""
    if _is_composed(inputs):
        return inputs
    composed_inputs: Mapping[str, Any] = _compose(inputs)
    return composed_inputs


def _is_composed(value: Any) -> bool:
    if isinstance(value, str):
        return is_normalized("NFC", value)
    if isinstance(value, Mapping):
        return all(map(_is_composed, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_composed, value))


def _compose(value: Any) -> Any:
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, Mapping):
        return {name: _compose(part) for name, part in value.items()}
    return [_compose(part) for part in value] if isinstance(value, list | tuple) else value


def only_composed(
    form: SamenessRule, item: LocatedExample, others: Iterable[LocatedExample]
) -> bool:
    """Whether an item is the same as others in NFC alone, and not as their texts are written."""
    here = [item, *others]
    if all(_is_composed(one.example.inputs) for one in here):
        return False
    written, *theirs = (form.key(one.example.inputs) for one in here)
    return written not in theirs


def family(example: Example) -> str:
    """Examples of one family can be compared: both kinds of sentence pairs are one family."""
    forms = sameness_rules(example)
    if not forms:
        return ""
    return "reading" if "context" in example.inputs else forms[0].name


def sentences(example: Example) -> tuple[str, str] | None:
    """The two sentences of a pair in NFC, else None."""
    for first, second in (("premise", "hypothesis"), ("sentence1", "sentence2")):
        pair = example.inputs.get(first), example.inputs.get(second)
        if isinstance(pair[0], str) and isinstance(pair[1], str):
            return normalize("NFC", pair[0]), normalize("NFC", pair[1])
    return None


def texts(example: Example) -> Iterator[str]:
    """Every text of the inputs: plain ones, choices, turns."""
    for value in example.inputs.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            for part in value:
                if isinstance(part, str):
                    yield part
                elif isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"]


def make_finding(
    check: str, where: str, ids: Iterable[str], note: str, count: int | None = None
) -> Finding:
    """A finding on the examples `ids`; `count` is their number by default."""
    rows = tuple(ids)
    return Finding(
        check=check, where=where, count=len(rows) if count is None else count, ids=rows, note=note
    )
