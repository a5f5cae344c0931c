"""Parts of a set of examples that depend on ids, groups and a seed alone: shares, shots, folds, a
part held out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from nikawa.errors import BadInput
from nikawa.records import Example, Task

Cell = Callable[[Example], Hashable]
"""What examples are alike by."""
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def draw(*names: object) -> int:
    """A number below 2**64 that depends on the names alone, such as a seed and an id.

    >>> draw(0, "example-1") == draw("0", "example-1")
    True
    """
    key = "\0".join(map(str, names)).encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def group_of(example: Example) -> str:
    """The group of an example; one without is its own."""
    return example.group if example.group is not None else f"\0{example.id}"


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, in order of first appearance."""
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def take_share(examples: Sequence[Example], share: float, seed: int) -> list[Example]:
    """A share of the examples in their order, of every group about that share.

    A larger one holds a smaller one. Each example has a place between 0 and 1 that ids, groups and
    the seed fix: the members of a group are spread evenly from a random start, and the first of all
    places are taken.

    >>> from nikawa.datasets import load
    >>> train = load("mini-ja:train").splits["train"]
    >>> len(train), len(take_share(train, 0.1, seed=0))
    (58, 6)
    """
    place: dict[str, tuple[float, int]] = {}
    for group, members in group_by(examples, group_of).items():
        start = draw("share", seed, group) / 2**64
        for rank, example in enumerate(sorted(members, key=lambda e: draw("member", seed, e.id))):
            place[example.id] = ((rank + start) / len(members), draw("tie", seed, example.id))
    count = max(1, round(share * len(examples)))
    chosen = set(sorted(place, key=lambda name: place[name])[:count])
    return [example for example in examples if example.id in chosen]


def take_shots(task: Task, examples: Sequence[Example], shots: int, seed: int) -> list[Example]:
    """So many examples of each answer, drawn by seed, in their order; more shots hold fewer.

    >>> from nikawa.datasets import load_task
    >>> task, examples = load_task("mini-ja-nli", "train")
    >>> [example.id for example in take_shots(task, examples, 1, seed=0)]
    ['nli-002', 'nli-003', 'nli-011']
    """
    chosen: set[str] = set()
    for members in group_by(examples, lambda e: answer_kind(e.gold.get(task.question))).values():
        drawn = sorted(members, key=lambda e: draw("shot", seed, e.id))
        chosen.update(example.id for example in drawn[:shots])
    return [example for example in examples if example.id in chosen]


def answer_kind(gold: Any) -> str:
    """What a shot is drawn of: a label, a step of a similarity, or anything where answers are
    structures.
    """
    if isinstance(gold, float):
        return str(int(gold))
    return gold if isinstance(gold, str) else ""


def hold_out(
    examples: Sequence[Example], share: float, name: str
) -> tuple[list[Example], list[Example]]:
    """The examples without, and those of, whole groups that make up a share.

    The same for every seed.
    Raises `BadInput` where all examples are of one group.
    """
    groups = group_by(examples, group_of)
    groups_held_out: set[Hashable] = set()
    count, wanted = 0, share * len(examples)
    for group in sorted(groups, key=lambda g: draw("hold", name, g)):
        if count >= wanted:
            break
        groups_held_out.add(group)
        count += len(groups[group])
    if len(groups_held_out) == len(groups):
        what = f"{name} has {len(groups)} group{'s' if len(groups) > 1 else ''}: none can be held out for choosing settings"
        raise BadInput(what, cure="add examples of other groups")
    return (
        [e for e in examples if group_of(e) not in groups_held_out],
        [e for e in examples if group_of(e) in groups_held_out],
    )


def hold_rows(examples: Sequence[Example], rows: int, cell: Cell, name: str) -> set[str]:
    """The ids of so many rows of every cell, the same for every seed."""
    return {
        example.id
        for members in group_by(examples, cell).values()
        for example in sorted(members, key=lambda e: draw("row", name, e.id))[:rows]
    }


def assign_folds(
    examples: Sequence[Example],
    folds: int,
    name: str,
    together: Callable[[Example], str] = group_of,
) -> dict[str, int]:
    """Group to fold, about as many groups in each; the same for every seed.

    `together` tells a group. Raises `BadInput` where all examples are of one group; of fewer groups
    than folds, each is a fold.
    """
    groups = sorted(group_by(examples, together), key=lambda g: draw("fold", name, g))
    if len(groups) < 2:
        cure = "add examples of other groups, or pass training data: --train DATASET"
        raise BadInput(f"{name} has only one group, so it cannot be split into folds", cure=cure)
    return {str(group): place % min(folds, len(groups)) for place, group in enumerate(groups)}
