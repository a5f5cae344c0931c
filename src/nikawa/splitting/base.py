"""Parts that all splitters share: sizes, settings, and draws that depend on names and the seed
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from unicodedata import normalize

from nikawa.datasets.subsets import draw, group_of
from nikawa.errors import BadInput, list_names
from nikawa.records import Example

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Sizes = Mapping[str, int]
"""Name of a part to how many examples it should hold; the first part takes what the others leave.
"""
Parts = dict[str, list[Example]]
Splits = Mapping[str, Sequence[Example]]
Words = Callable[[str], Sequence[str]]
Signal = Callable[[Sequence[Example], Sequence[str]], Sequence[Mapping[str, float]]]
"""Probabilities of the labels of each example from its hypothesis alone; the second argument is
their groups."""

NAMES = {2: ("train", "test"), 3: ("train", "dev", "test")}
"""Number of parts to their usual names."""


@dataclass(frozen=True)
class SplitterSettings:
    """Settings of splitters; each uses some of them."""

    seed: int = 0
    question: str = ""
    """The gold to look at; the only one when empty."""
    fields: tuple[str, ...] = ()
    """Meta values (or `group`, or an input) to group, balance or date by."""
    after: str = ""
    """First date of the evaluation parts."""
    unseen: float = 0.1
    """Share of the evaluation parts that are older but hold terms met nowhere else."""
    scale: tuple[float, float] = (0.0, 5.0)
    """Lowest and highest score."""
    bins: int = 51
    """Steps that the scale is cut into; 51 are the tenths from 0 to 5."""
    turn: float = 3.0
    """Score from which the pairs that share the fewest words are preferred; below it, the most."""
    words: Words = str.split
    """Cuts a text into words."""
    signal: Signal | None = None
    """What a hypothesis gives away; only for splitters that need it."""


@dataclass(frozen=True)
class Splitter:
    """One way to split, as a file of this folder declares it in `SPLITTERS`."""

    name: str
    title: str
    """What it does, in a few words, for lists and cards."""
    split: Callable[[Sequence[Example], Sizes, SplitterSettings], Parts]
    """The examples of each part, for the sizes that are asked for."""
    keeps_groups: bool = False
    """Whether what belongs together stays in one part, so that a part may become empty."""
    needs_signal: bool = False
    """Whether it needs `SplitterSettings.signal`."""
    needs_gold: Callable[[Example], bool] | None = None
    """Whether it looks at the gold of an example, which may be hidden; None where it never does."""
    measure: Callable[[Splits, SplitterSettings], dict[str, dict[str, float]]] | None = None
    """Part to the figures that matter for this way of splitting, for the report."""


def shuffle(examples: Iterable[Example], seed: int) -> list[Example]:
    """The examples in an order that depends on their ids and the seed alone."""
    return sorted(examples, key=lambda example: (draw(seed, example.id), example.id))


def parse_sizes(text: str, total: int, names: Sequence[str] = ()) -> dict[str, int]:
    """`0.8,0.1,0.1` as shares, `1000,1000` or `rest,500,500` as counts.

    The first part takes what is left.
    """
    words = [word.strip() for word in text.split(",")]
    parts = tuple(names) or NAMES.get(len(words), ())
    if len(parts) != len(words) or len(set(parts)) != len(parts):
        what = f"{len(words)} sizes and {len(parts)} names"
        raise BadInput(what, cure="pass as many different --names as --sizes")
    counts = [_parse_size(word, total) for word in words[1:]]
    if words[0] != "rest":
        requested = _parse_size(words[0], total) + sum(counts)
        if abs(requested - total) > len(words):  # rounding may cost one a part
            what = f"the sizes {text} add up to {requested:,} of {total:,} examples"
            raise BadInput(what, cure="make the shares add up to 1, or write rest for the first")
    if sum(counts) > total:
        raise BadInput(
            f"the sizes {text} ask for more than the {total:,} examples", cure="ask for less"
        )
    return dict(zip(parts, (total - sum(counts), *counts), strict=True))


def _parse_size(word: str, total: int) -> int:
    """A count, or a share where there is a point in it."""
    if not re.fullmatch(r"[0-9]+|[01]?\.[0-9]+", word):
        cure = "write shares (0.8,0.1,0.1) or counts (rest,500,500) of the examples"
        raise BadInput(f"{word!r} is not a size", cure=cure)
    if float(word) > max(total, 1):
        raise BadInput(f"the size {word} is more than the {total:,} examples", cure="ask for less")
    return round(float(word) * total) if "." in word else int(word)


def evaluation_sizes(sizes: Sizes) -> dict[str, int]:
    """The parts but the first, which is for learning."""
    return dict(list(sizes.items())[1:])


def training_part(sizes: Sizes) -> str:
    """The name of the first part."""
    return next(iter(sizes))


def cut(ordered: Sequence[T], sizes: Mapping[str, int]) -> dict[str, list[T]]:
    """An ordered list cut at the sizes."""
    parts, begin = {}, 0
    for name, size in sizes.items():
        parts[name] = list(ordered[begin : begin + size])
        begin += size
    return parts


def share_out(ordered: Sequence[T], sizes: Mapping[str, int]) -> dict[str, list[T]]:
    """All of an ordered list, dealt so that every stretch of it goes to the parts in the ratio of
    their sizes.
    """
    wanted = max(sum(sizes.values()), 1)
    parts: dict[str, list[T]] = {name: [] for name in sizes}
    for place, item in enumerate(ordered, start=1):
        name = max(sizes, key=lambda part: sizes[part] * place / wanted - len(parts[part]))
        parts[name].append(item)
    return parts


def scale_sizes(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """The same ratio with another sum; what rounding leaves goes to the last."""
    requested = max(sum(sizes.values()), 1)
    counts = {name: size * total // requested for name, size in sizes.items()}
    counts[list(counts)[-1]] += total - sum(counts.values())
    return counts


def quotas(available: Mapping[K, int], remaining: int) -> dict[K, int]:
    """As even as can be: every kind gives the same, those that have less all they have.

    What is odd by order.
    """
    taken = dict.fromkeys(available, 0)
    while remaining > 0:
        unspent = [kind for kind in available if taken[kind] < available[kind]]
        if not unspent:
            break
        least = min(available[kind] - taken[kind] for kind in unspent)
        each = min(remaining // len(unspent), least)
        if each == 0:  # fewer are wanted than there are kinds: one of each, by order
            each, unspent = 1, unspent[:remaining]
        for kind in unspent:
            taken[kind] += each
        remaining -= each * len(unspent)
    return taken


def unseen_shares(
    splits: Splits, things_of: Callable[[Example], Iterable[str]], title: str
) -> dict[str, dict[str, float]]:
    """Share of each further part's examples that hold something the first part lacks."""
    first, *others = splits
    known = {thing for example in splits[first] for thing in things_of(example)}
    shares = {}
    for name in others:
        unseen = [example for example in splits[name] if not known.issuperset(things_of(example))]
        shares[name] = {title: len(unseen) / max(len(splits[name]), 1)}
    return shares


def find_question(examples: Sequence[Example], settings: SplitterSettings) -> str:
    """The question to look at: as named, else the only one there is."""
    questions = dict.fromkeys(key for example in examples for key in example.gold)
    if not settings.question and len(questions) != 1:
        if not questions:
            raise BadInput("the examples have no gold label", cure="add gold to the examples")
        what = f"the examples have gold for several questions: {', '.join(questions)}"
        raise BadInput(what, cure="pass --question NAME")
    question = settings.question or next(iter(questions))
    for example in examples:
        if question not in example.gold:
            what = f"example {example.id!r} has no gold for {question!r}"
            raise BadInput(what, cure=f"questions: {', '.join(questions) or 'none'}")
    return question


def value_of(example: Example, field: str) -> Any:
    """A meta value, an input, or `group`; an example without it is an error."""
    if field == "group" and example.group is not None:
        return example.group
    value = example.meta.get(field, example.inputs.get(field))
    if value is None:
        here = list_names(dict.fromkeys((*example.meta, *example.inputs)))
        raise BadInput(f"example {example.id!r} has no {field!r}", cure=f"it has: {here}")
    return value


def kind_of(example: Example, settings: SplitterSettings) -> str:
    """What an example is by the named fields, all of which it must have.

    The same for all where none is named.
    """
    return "\0".join(str(value_of(example, field)) for field in settings.fields)


def groups_of(examples: Sequence[Example], settings: SplitterSettings) -> list[str]:
    """The group of each example: by the named fields, else its own.

    Those of which a field says nothing are one group. Without fields, an example that belongs to no
    group is one by itself, as long as others have groups.
    """
    names = []
    has_groups = not settings.fields and any(example.group is not None for example in examples)
    for example in examples:
        if has_groups:
            names.append(group_of(example))
            continue
        values = []
        for field in settings.fields or ("group",):
            # It may be there and hold nothing: not every template has a time format.
            is_empty = field in example.meta and example.meta[field] is None
            values.append("" if is_empty else str(value_of(example, field)))
        names.append("\0".join(values))
    return unify_spelling(names)


def unify_spelling(names: Sequence[str]) -> list[str]:
    """The names, those that are the same in NFC all in one of their spellings."""
    spelled: dict[str, str] = {}
    keys = [normalize("NFC", name) for name in names]
    for key, name in zip(keys, names, strict=True):
        spelled[key] = min(name, spelled.get(key, name))
    return [spelled[key] for key in keys]
