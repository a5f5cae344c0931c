from __future__ import annotations

from collections import Counter

import pytest

from nikawa.datasets import tasks
from nikawa.datasets.subsets import assign_folds, group_of, hold_out, take_share, take_shots
from nikawa.errors import BadInput
from nikawa.records import Example

LABELS = ("entailment", "neutral", "contradiction")
EXAMPLES = [
    Example(id=str(i), inputs={}, gold={"label": LABELS[i % 3]}, group=f"g{i // 10}")
    for i in range(200)
]


def ids(examples: list[Example]) -> list[str]:
    return [example.id for example in examples]


def test_a_larger_share_holds_a_smaller_one_and_every_group_gives_its_part() -> None:
    quarter, half = take_share(EXAMPLES, 0.25, seed=3), take_share(EXAMPLES, 0.5, seed=3)
    assert (len(quarter), len(half)) == (50, 100)
    assert set(ids(quarter)) < set(ids(half))
    counts = Counter(group_of(example) for example in quarter)
    assert len(counts) == 20
    assert set(counts.values()) <= {2, 3}
    assert ids(half) == sorted(ids(half), key=int)


def test_a_share_depends_on_ids_and_seed_not_on_places() -> None:
    turned = take_share(EXAMPLES[::-1], 0.25, seed=3)
    assert set(ids(turned)) == set(ids(take_share(EXAMPLES, 0.25, seed=3)))
    assert set(ids(turned)) != set(ids(take_share(EXAMPLES, 0.25, seed=4)))


def test_shots_are_so_many_of_each_label_and_more_hold_fewer() -> None:
    task = tasks()["jnli"]
    two, five = take_shots(task, EXAMPLES, 2, seed=0), take_shots(task, EXAMPLES, 5, seed=0)
    assert Counter(e.gold["label"] for e in two) == dict.fromkeys(LABELS, 2)
    assert set(ids(two)) < set(ids(five))
    assert ids(two) != ids(take_shots(task, EXAMPLES, 2, seed=1))


def test_a_part_held_out_takes_whole_groups() -> None:
    rest, held = hold_out(EXAMPLES, 0.1, "x")
    assert len(held) == 20
    assert {group_of(e) for e in held}.isdisjoint(group_of(e) for e in rest)
    assert hold_out(EXAMPLES[::-1], 0.1, "x")[1] == held[::-1]


def test_one_group_cannot_be_held_out_or_folded() -> None:
    with pytest.raises(BadInput, match="none can be held out"):
        hold_out(EXAMPLES[:10], 0.1, "x")
    with pytest.raises(BadInput, match="cannot be split into folds"):
        assign_folds(EXAMPLES[:10], 5, "x")


def test_folds_are_of_whole_groups_and_about_even() -> None:
    folds = assign_folds(EXAMPLES, 5, "x")
    assert Counter(folds.values()) == dict.fromkeys(range(5), 4)
    assert folds == assign_folds(EXAMPLES[::-1], 5, "x")
    assert set(assign_folds(EXAMPLES[:30], 5, "x").values()) == {0, 1, 2}
