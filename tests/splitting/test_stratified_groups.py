"""Groups kept whole and labels balanced at once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting import SplitterSettings, parse_sizes, splitters, stratified_groups
from nikawa.splitting.stratified_groups import measure_deviation

WAY = splitters()["stratified-groups"]


def make(groups: int, largest: int = 6, seed: int = 0) -> list[Example]:
    """Groups of several sizes, each with a label that most of its members have."""
    random = Random(seed)
    examples = []
    for group in range(groups):
        usual = random.choices("abc", (6, 3, 1))[0]
        for n in range(random.randint(1, largest)):
            label = usual if random.random() < 0.7 else random.choice("abc")
            name = f"{group}-{n}"
            examples.append(
                Example(id=name, inputs={"text": name}, gold={"label": label}, group=f"g{group}")
            )
    return examples


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("groups", [12, 60, 500])
def test_groups_stay_whole_and_labels_even(groups: int, seed: int) -> None:
    examples = make(groups, seed=seed)
    sizes = parse_sizes("0.7,0.15,0.15", len(examples))
    parts = WAY.split(examples, sizes, SplitterSettings(seed=seed))
    assert Counter(e.id for part in parts.values() for e in part) == Counter(e.id for e in examples)
    homes = {e.group: name for name, part in parts.items() for e in part}
    assert all(homes[e.group] == name for name, part in parts.items() for e in part)
    slack = max(1, 6 if groups == 12 else 1)
    assert all(abs(len(parts[name]) - size) <= slack for name, size in sizes.items())
    if groups > 12:
        off = measure_deviation(parts, SplitterSettings())
        assert max(figures["labels off by"] for figures in off.values()) < 0.05


def test_order_changes_nothing_and_seeds_do() -> None:
    examples = make(40)
    sizes = parse_sizes("0.6,0.2,0.2", len(examples))

    def homes(rows: list[Example], seed: int) -> dict[str, str]:
        parts = WAY.split(rows, sizes, SplitterSettings(seed=seed))
        return {e.id: name for name, part in parts.items() for e in part}

    assert (
        homes(examples, 1)
        == homes(examples[::-1], 1)
        == homes(sorted(examples, key=lambda e: e.id), 1)
    )
    assert homes(examples, 1) != homes(examples, 2)


def test_a_label_of_as_many_groups_as_parts_is_in_every_part() -> None:
    examples = make(60)
    rare = [
        Example(id=f"r{n}", inputs={"text": "r"}, gold={"label": "rare"}, group=f"r{n}")
        for n in range(3)
    ]
    both = [*examples, *rare]
    parts = WAY.split(both, parse_sizes("0.6,0.2,0.2", len(both)), SplitterSettings())
    assert all(any(e.gold["label"] == "rare" for e in part) for part in parts.values())


def test_examples_without_a_group_are_groups_of_their_own() -> None:
    examples = [
        *make(10),
        *(Example(id=f"x{n}", inputs={}, gold={"label": "a"}) for n in range(20)),
    ]
    parts = WAY.split(examples, parse_sizes("0.5,0.5", len(examples)), SplitterSettings())
    assert sum(map(len, parts.values())) == len(examples)
    assert abs(len(parts["train"]) - len(parts["test"])) <= 1


def test_a_part_of_size_zero_stays_empty_and_large_groups_are_refused() -> None:
    examples = make(20)
    parts = WAY.split(examples, parse_sizes("rest,0,9", len(examples)), SplitterSettings())
    assert parts["dev"] == []
    one = [Example(id=str(n), inputs={}, gold={"label": "a"}, group="g") for n in range(9)]
    other = [Example(id="o", inputs={}, gold={"label": "a"}, group="h")]
    with pytest.raises(BadInput, match="'g' has 9 examples, more than any part"):
        WAY.split([*one, *other], parse_sizes("0.5,0.5", 10), SplitterSettings())


def test_the_order_of_examples_changes_nothing() -> None:
    """Sums of floats depend on their order, and so would which of two nearly equal parts is the better one."""
    random = Random(3)
    for _ in range(60):
        count, groups, labels = (
            random.randint(30, 300),
            random.randint(5, 60),
            random.choice((3, 7, 20)),
        )
        examples = [
            Example(
                id=f"e{n}",
                inputs={},
                gold={
                    "label": f"l{random.randrange(labels)}",
                    "score": random.choice((0.1, 1.5, 2.5)),
                },
                group=f"g{random.randrange(groups)}",
            )
            for n in range(count)
        ]
        sizes = {"train": count - 2 * (count // 10), "dev": count // 10, "test": count // 10}
        outcomes = set()
        for _ in range(4):
            random.shuffle(examples)
            try:
                parts = WAY.split(examples, sizes, SplitterSettings())
            except BadInput:
                continue
            outcomes.add(tuple(frozenset(e.id for e in part) for part in parts.values()))
        assert len(outcomes) <= 1


def test_texts_that_people_wrote_are_too_many_labels_to_balance() -> None:
    examples = [
        Example(
            id=f"e{n}",
            inputs={},
            gold={"text": f"答え{n}", "label": "ab"[n % 2]},
            group=f"g{n // 2}",
        )
        for n in range(3000)
    ]
    rows: list[tuple[int, ...]] = []
    before = stratified_groups.fill_parts

    def fill_and_note(
        counts: stratified_groups.Counts, shares: stratified_groups.Counts
    ) -> list[int]:
        rows.append(counts.shape)
        return before(counts, shares)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stratified_groups, "fill_parts", fill_and_note)
        parts = WAY.split(examples, {"train": 2400, "dev": 600}, SplitterSettings())
    assert rows == [(1500, stratified_groups.MAX_LABELS_BALANCED + 1)]
    assert Counter(e.gold["label"] for e in parts["dev"]) == {"a": 300, "b": 300}
