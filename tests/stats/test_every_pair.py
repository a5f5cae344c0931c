"""Every pair of several systems on shared draws: the figures of `compare_pairs`, to the last digit."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from nikawa.metrics import Items, metrics
from nikawa.metrics.base import from_sums, mean
from nikawa.scoring.compare import evaluate_again
from nikawa.stats import every_pair, paired
from nikawa.stats.every_pair import compare_every_pair
from nikawa.stats.paired import compare_pairs

SHARES = {"a": 0.6, "b": 0.63, "c": 0.9}
PAIRS = list(combinations(SHARES, 2))


def labelled(n: int, names: tuple[str, ...] = ("accuracy", "macro-f1")) -> dict[str, list[Any]]:
    """Invented systems under metrics of whole numbers."""
    generator = np.random.default_rng(n)
    gold = generator.integers(0, 3, n).tolist()
    systems = {}
    for name, share in SHARES.items():
        answers = [g if generator.random() < share else (g + 1) % 3 for g in gold]
        items = Items(gold, answers, labels=(0, 1, 2))
        systems[name] = [metrics()[metric].evaluate(items, "official") for metric in names]
    return systems


def test_the_figures_are_those_of_each_pair_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    systems, groups = labelled(700), np.arange(700) // 2
    done: list[int] = []
    alone = {
        (a, b): compare_pairs(list(zip(systems[a], systems[b], strict=True)), groups, rounds=1500)
        for a, b in PAIRS
    }
    together = compare_every_pair(systems, PAIRS, groups, rounds=1500, on_progress=done.append)
    assert together == alone
    assert sum(done) == 2 * 1500 * len(PAIRS)
    assert alone["a", "b"] != alone["a", "c"]
    monkeypatch.setattr(every_pair, "PAIRS_AT_ONCE", 2)
    assert compare_every_pair(systems, PAIRS, groups, rounds=1500) == alone
    monkeypatch.setattr(
        "nikawa.stats.resample.EXACT_SUM", 0
    )  # as if no statistics were whole numbers
    assert compare_every_pair(systems, PAIRS, groups, rounds=1500) == alone


@pytest.mark.parametrize("units", [0, 1 << 14])
def test_of_many_units_kinds_are_drawn(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (paired, every_pair):
        monkeypatch.setattr(module, "MAX_UNITS_DRAWN", units)
    systems, groups = labelled(300), np.arange(300)
    pairs = list(zip(systems["a"], systems["b"], strict=True))
    alone = compare_pairs(pairs, groups, rounds=400)
    assert compare_every_pair(systems, [("a", "b")], groups, rounds=400) == {("a", "b"): alone}


def test_means_of_fractions_beside_whole_numbers() -> None:
    systems, groups = labelled(500), np.arange(500) // 3
    generator = np.random.default_rng(5)
    for evaluations in systems.values():
        evaluations.append(mean(generator.random(500)))
    found = compare_every_pair(systems, PAIRS, groups, rounds=700)
    for (a, b), tests in found.items():
        pairs = list(zip(systems[a], systems[b], strict=True))
        assert tests == compare_pairs(pairs, groups, rounds=700)


def test_systems_with_other_classes_are_compared_one_by_one() -> None:
    def macro(classes: int) -> Any:
        counts = np.zeros((60, 3 * classes))
        counts[np.arange(60), np.arange(60) % classes] = 1
        counts[:, classes] = counts[:, 2 * classes] = 1
        return from_sums(counts, lambda sums: sums[..., 0] / sums.sum(-1))

    systems = {"two": [macro(2)], "three": [macro(3)]}
    (found,) = compare_every_pair(systems, [("two", "three")], np.arange(60), rounds=200).values()
    assert found == compare_pairs(
        [(systems["two"][0], systems["three"][0])], np.arange(60), rounds=200
    )


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("n", [2, 3, 40])
def test_exchanged_ranks_are_those_of_the_metric(n: int, digits: int) -> None:
    spearman = metrics()["spearman"]
    assert spearman.exchange is not None
    generator = np.random.default_rng((n, digits))
    for _ in range(5):
        gold = generator.normal(size=n).round(digits).tolist()
        answers = [generator.normal(size=n).round(digits).tolist() for _ in "ab"]
        sides = [Items(gold, each, scores=[None] * n) for each in answers]
        coins = generator.integers(0, 2, (30, n)).astype(bool)
        fast, slow = (
            exchange(*sides)(coins)
            for exchange in (spearman.exchange, lambda a, b: evaluate_again(spearman, a, b))
        )
        for one, other in zip(fast, slow, strict=True):
            assert np.array_equal(one, other, equal_nan=True)
