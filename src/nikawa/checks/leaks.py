"""Leakage: items of one split that are also in another split or another dataset.

An example is compared with everything but its own parents: a perturbed item repeats the item that it
was made from, and that is all it may repeat. Two pairs of the same captions, or two items made from
one template, are compared like any others. Only groups are another matter where two perturbations
were made from the same items: both contain their groups, and models do not learn from one to answer the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload
from unicodedata import normalize

import numpy as np
from msgspec.structs import replace

from nikawa.checks.quality import Splits
from nikawa.checks.sameness import (
    COMPOSED,
    LocatedExample,
    Places,
    SamenessIndex,
    SamenessRule,
    family,
    find_perturbation,
    group_rows,
    is_parent,
    make_finding,
    only_composed,
    sentences,
)
from nikawa.records import Example, Finding

_ORDER = {"train": 0, "dev": 1, "test": 3}
"""A split can leak from those before it; splits with other names come before test."""


def split_leaks(dataset: str, splits: Splits) -> Iterator[Finding]:
    """Rows of a split whose item occurs in an earlier one: dev in train, test in train+dev."""
    names = sort_splits(splits)
    keyed = {name: SamenessIndex(dataset, name, splits[name]) for name in names}
    for place, name in enumerate(names):
        yield from _leaks_from_earlier(keyed, name, names[:place])


def sort_splits(splits: Iterable[str]) -> list[str]:
    """Names of splits, train first and test last."""
    return sorted(splits, key=lambda name: _ORDER.get(name, 2))


def lone_split_leaks(dataset: str, splits: Splits, name: str) -> Iterator[Finding]:
    """The findings of `split_leaks` for one split, and its rows in each later split: `train in test`."""
    names = sort_splits(splits)
    place = names.index(name)
    keyed = {each: SamenessIndex(dataset, each, splits[each]) for each in names}
    yield from _leaks_from_earlier(keyed, name, names[:place])
    for other in names[place + 1 :]:
        yield from _leaks(_find_shared(keyed[name], keyed[other]), f"{name} in {other}")


def _leaks_from_earlier(
    keyed: Mapping[str, SamenessIndex], name: str, others: Sequence[str]
) -> Iterator[Finding]:
    earlier = SamenessIndex.join([keyed[other] for other in others])
    if len(earlier):
        items = keyed[name]
        where = f"{name} in {'+'.join(others)}"
        shared = _find_shared(items, earlier)
        yield from _leaks(shared, where)
        yield from _count_shared_items(shared, where)
        yield from find_reversed_pairs(items, earlier, where)
        yield from find_seen_sentences(items, earlier, where)
        yield from find_broken_groups(items, earlier, where)


def dataset_leaks(
    dataset: str, splits: Splits, other: str, other_splits: Mapping[str, Sequence[Example]]
) -> Iterator[Finding]:
    """Rows of a dataset that are also in another dataset: `dev in jsts:train`."""
    own = {ours: SamenessIndex(dataset, ours, examples) for ours, examples in splits.items()}
    for theirs, examples in other_splits.items():
        held = SamenessIndex(other, theirs, examples)
        for ours, items in own.items():
            yield from _leaks(_find_shared(items, held), f"{ours} in {other}:{theirs}")


def families(splits: Splits) -> set[str]:
    """The families of forms in a dataset; datasets without a common one cannot leak into each other."""
    return {family(example) for examples in splits.values() for example in examples} - {""}


class _SharedItems(NamedTuple):
    """The items that may be on both sides under a form: all that are, and some that only have the same hash."""

    form: SamenessRule
    rows: list[tuple[Hashable, LocatedExample]]
    """Key and item of one side."""
    held: dict[Hashable, list[LocatedExample]]
    """Key to items of the other."""


def _find_shared(items: SamenessIndex, held: SamenessIndex) -> list[_SharedItems]:
    """What items of one side the other has, by form."""
    shared = []
    for name, form in items.forms.items():
        own = items.hashes(name)
        is_shared = np.isin(own, held.hashes(name))
        index = held.find_alike(name, own[is_shared])
        shared.append(_SharedItems(form, items.rows(name, is_shared), index))
    return shared


def _leaks(shared: Iterable[_SharedItems], where: str) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for form, rows, index in shared:
        hits = [
            (key, item) for key, item in rows if key in index and _has_stranger(item, index[key])
        ]
        counts[form.name] = len(hits)
        if hits and form.leaks and counts.get(form.finer) != len(hits):
            other = sum(only_composed(form, item, index[key]) for key, item in hits)
            refs = [item.ref for _, item in hits]
            yield make_finding(
                f"leaked-{form.name}", where, refs, f"{other} {COMPOSED}" if other else ""
            )


def _has_stranger(item: LocatedExample, others: Iterable[LocatedExample]) -> bool:
    """Whether one of the others is neither what the item was made from nor made from it."""
    return any(not is_parent(item, other) for other in others)


def _count_shared_items(shared: Iterable[_SharedItems], where: str) -> Iterator[Finding]:
    """How many different items leak, where that is not how many rows do."""
    for form, pairs, index in shared:
        by_item = [
            [item.ref for item in group if _has_stranger(item, index.get(key, []))]
            for key, group in group_rows(pairs).items()
        ]
        rows = tuple(ref for refs in by_item for ref in refs)
        count = sum(bool(refs) for refs in by_item)
        if form.repeats and not form.finer and count != len(rows):
            note = f"different {form.name}, on {len(rows)} rows"
            yield make_finding(f"shared-{form.name}", where, rows, note, count)


def _hash_values(values: Iterable[Hashable]) -> Places:
    """A hash of each value; equal values have equal ones."""
    return np.fromiter(map(hash, values), np.int64)


def find_reversed_pairs(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Pairs of sentences that the other side contains in reverse order."""
    reverse = _hash_values((pair[1], pair[0]) if (pair := sentences(e)) else () for e in items)
    met = np.isin(reverse, held.hashes("pairs"))
    index = held.find_alike("pairs", reverse[met])
    rows = []
    for item in items.locate(np.flatnonzero(met).tolist()):
        pair = sentences(item.example)
        if pair and _has_stranger(item, index.get((pair[1], pair[0]), [])):
            rows.append(item.ref)
    if rows:
        yield make_finding("leaked-reversed-pairs", where, rows, "the pair occurs in reverse order")


def find_seen_sentences(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Pairs whose sentences both occur on the other side, together or apart."""
    theirs = np.unique(_hash_values(text for e in held for text in sentences(e) or ()))
    met = np.ones(len(items), dtype=np.bool_)
    for side in (0, 1):
        met &= np.isin(
            _hash_values(pair[side] if (pair := sentences(e)) else 0 for e in items), theirs
        )
    seen = list(items.locate(np.flatnonzero(met).tolist()))
    holders: dict[str, list[LocatedExample]] = {
        text: [] for item in seen for text in sentences(item.example) or ()
    }
    for place, example in enumerate(held if holders else ()):
        for text in sentences(example) or ():
            if text in holders:
                holders[text] += held.locate((place,))
    rows = []
    for item in seen:
        pair = sentences(item.example)
        if pair and all(_has_stranger(item, holders[text]) for text in pair):
            rows.append(item.ref)
    if rows:
        yield make_finding(
            "leaked-sentences", where, rows, "both sentences occur there, in one example or in two"
        )


def find_broken_groups(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Groups with members on both sides: a test item whose premise or dialogue was learned from."""
    theirs, own = (_hash_values(example.group for example in side) for side in (held, items))
    have_group = np.fromiter((e.group is not None for e in items), np.bool_, len(items))
    shared = have_group & np.isin(own, theirs)
    # By the step that made them: those of another step than an item's are its fellow perturbations, and a large group has
    # too many pairs to look at each.
    members: dict[str, dict[str | None, list[LocatedExample]]] = {}
    for other in held.locate(np.flatnonzero(np.isin(theirs, own[shared])).tolist()):
        if other.example.group is not None:
            by_way = members.setdefault(other.example.group, {})
            by_way.setdefault(find_perturbation(other), []).append(other)
    rows = []
    for item in items.locate(np.flatnonzero(shared).tolist()):
        by_way = members.get(item.example.group, {}) if item.example.group is not None else {}
        way = find_perturbation(item)
        ways = set(by_way) if way is None else {None, way} & by_way.keys()
        if any(_has_stranger(item, by_way[each]) for each in ways):
            rows.append(item)
    if rows:
        count = len({item.example.group for item in rows})
        note = f"groups that are in both, on {len(rows)} rows"
        yield make_finding("broken-groups", where, [item.ref for item in rows], note, count)


def group_by_premise(splits: Splits) -> dict[str, Sequence[Example]]:
    """The examples, those without a group in the group of their premise where they have one."""
    return {name: _GroupedByPremise(examples) for name, examples in splits.items()}


class _GroupedByPremise(Sequence[Example]):
    """Examples in the groups of their premises; each is made when it is looked at."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __iter__(self) -> Iterator[Example]:
        return map(_put_in_group, self._examples)

    @overload
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Example]: ...
    def __getitem__(self, place: int | slice) -> Example | Sequence[Example]:
        if isinstance(place, slice):
            return _GroupedByPremise(self._examples[place])
        return _put_in_group(self._examples[place])


def _put_in_group(example: Example) -> Example:
    premise = example.inputs.get("premise")
    if example.group is None and isinstance(premise, str):
        return replace(example, group=f"premise {normalize('NFC', premise)}")
    return example
