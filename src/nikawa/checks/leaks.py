"""Leakage: items of one split that are also in another split or another dataset.

An example is compared with everything but its own parents: a perturbed item repeats the item that it
was made from, and that is all it may repeat. Two pairs of the same captions, or two items made from
one template, are compared like any others. Only groups are another matter where two perturbations
were made from the same items: both contain their groups, and models do not learn from one to answer the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

from msgspec.structs import replace

from nikawa.checks.quality import Splits
from nikawa.checks.sameness import (
    COMPOSED,
    LocatedExample,
    SamenessIndex,
    family,
    find_perturbation,
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
    for place, name in enumerate(names):
        yield from _leaks_from_earlier(dataset, splits, name, names[:place])


def sort_splits(splits: Iterable[str]) -> list[str]:
    """Names of splits, train first and test last."""
    return sorted(splits, key=lambda name: _ORDER.get(name, 2))


def lone_split_leaks(dataset: str, splits: Splits, name: str) -> Iterator[Finding]:
    """The findings of `split_leaks` for one split, and its rows in each later split: `train in test`."""
    names = sort_splits(splits)
    place = names.index(name)
    yield from _leaks_from_earlier(dataset, splits, name, names[:place])
    items = _keyed(dataset, splits, name)
    for other in names[place + 1 :]:
        yield from _leaks(items, _keyed(dataset, splits, other), f"{name} in {other}")


def _keyed(dataset: str, splits: Splits, *names: str) -> SamenessIndex:
    return SamenessIndex(LocatedExample(dataset, name, e) for name in names for e in splits[name])


def _leaks_from_earlier(
    dataset: str, splits: Splits, name: str, others: Sequence[str]
) -> Iterator[Finding]:
    earlier = _keyed(dataset, splits, *others)
    if earlier.items:
        items = _keyed(dataset, splits, name)
        where = f"{name} in {'+'.join(others)}"
        yield from _leaks(items, earlier, where)
        yield from count_shared_items(items, earlier, where)
        yield from find_reversed_pairs(items, earlier, where)
        yield from find_seen_sentences(items, earlier, where)
        yield from find_broken_groups(items, earlier, where)


def dataset_leaks(
    dataset: str, splits: Splits, other: str, other_splits: Mapping[str, Sequence[Example]]
) -> Iterator[Finding]:
    """Rows of a dataset that are also in another dataset: `dev in jsts:train`."""
    own = {ours: _keyed(dataset, splits, ours) for ours in splits}
    for theirs in other_splits:
        held = _keyed(other, other_splits, theirs)
        for ours, items in own.items():
            yield from _leaks(items, held, f"{ours} in {other}:{theirs}")


def families(splits: Splits) -> set[str]:
    """The families of forms in a dataset; datasets without a common one cannot leak into each other."""
    return {family(example) for examples in splits.values() for example in examples} - {""}


def _leaks(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for form in items.forms.values():
        index = held.groups(form.name)
        hits = [
            (key, item)
            for key, item in items.rows[form.name]
            if key in index and _has_stranger(item, index[key])
        ]
        counts[form.name] = len(hits)
        if hits and form.leaks and counts.get(form.finer) != len(hits):
            other = sum(only_composed(form, item, index[key]) for key, item in hits)
            rows = [item.ref for _, item in hits]
            yield make_finding(
                f"leaked-{form.name}", where, rows, f"{other} {COMPOSED}" if other else ""
            )


def _has_stranger(item: LocatedExample, others: Iterable[LocatedExample]) -> bool:
    """Whether one of the others is neither what the item was made from nor made from it."""
    return any(not is_parent(item, other) for other in others)


def count_shared_items(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """How many different items leak, where that is not how many rows do."""
    for form in items.forms.values():
        index = held.groups(form.name)
        by_item = [
            [item.ref for item in group if _has_stranger(item, index.get(key, []))]
            for key, group in items.groups(form.name).items()
        ]
        rows = tuple(ref for refs in by_item for ref in refs)
        count = sum(bool(refs) for refs in by_item)
        if form.repeats and not form.finer and count != len(rows):
            note = f"different {form.name}, on {len(rows)} rows"
            yield make_finding(f"shared-{form.name}", where, rows, note, count)


def find_reversed_pairs(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Pairs of sentences that the other side contains in reverse order."""
    index = held.groups("pairs")
    rows = []
    for item in items.items:
        pair = sentences(item.example)
        if pair and _has_stranger(item, index.get((pair[1], pair[0]), [])):
            rows.append(item.ref)
    if rows:
        yield make_finding("leaked-reversed-pairs", where, rows, "the pair occurs in reverse order")


def find_seen_sentences(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Pairs whose sentences both occur on the other side, together or apart."""
    holders: dict[str, list[LocatedExample]] = {}
    for other in held.items:
        for text in sentences(other.example) or ():
            holders.setdefault(text, []).append(other)
    rows = []
    for item in items.items:
        pair = sentences(item.example)
        if pair and all(_has_stranger(item, holders.get(text, ())) for text in pair):
            rows.append(item.ref)
    if rows:
        yield make_finding(
            "leaked-sentences", where, rows, "both sentences occur there, in one example or in two"
        )


def find_broken_groups(items: SamenessIndex, held: SamenessIndex, where: str) -> Iterator[Finding]:
    """Groups with members on both sides: a test item whose premise or dialogue was learned from."""
    # By the step that made them: those of another step than an item's are its fellow perturbations, and a large group has
    # too many pairs to look at each.
    members: dict[str, dict[str | None, list[LocatedExample]]] = {}
    for other in held.items:
        if other.example.group is not None:
            by_way = members.setdefault(other.example.group, {})
            by_way.setdefault(find_perturbation(other), []).append(other)
    rows = []
    for item in items.items:
        by_way = members.get(item.example.group, {}) if item.example.group is not None else {}
        way = find_perturbation(item)
        ways = set(by_way) if way is None else {None, way} & by_way.keys()
        if any(_has_stranger(item, by_way[each]) for each in ways):
            rows.append(item)
    if rows:
        count = len({item.example.group for item in rows})
        note = f"groups that are in both, on {len(rows)} rows"
        yield make_finding("broken-groups", where, [item.ref for item in rows], note, count)


def group_by_premise(splits: Splits) -> dict[str, tuple[Example, ...]]:
    """The examples, those without a group in the group of their premise where they have one."""
    grouped: dict[str, tuple[Example, ...]] = {}
    for name, examples in splits.items():
        members = []
        for example in examples:
            premise = example.inputs.get("premise")
            if example.group is None and isinstance(premise, str):
                members.append(replace(example, group=f"premise {normalize('NFC', premise)}"))
            else:
                members.append(example)
        grouped[name] = tuple(members)
    return grouped
