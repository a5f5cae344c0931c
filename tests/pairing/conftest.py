"""The naive algorithms, with the F-measure of rouge-score: every pair scored, no index, no bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

Triple = tuple[int, int, float]
Sentences = Sequence[Sequence[str]]


def measure(common: int, own: int, other: int) -> float:
    precision, recall = common / max(other, 1), common / max(own, 1)
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def grams(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def lcs(a: Sequence[str], b: Sequence[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            table[i][j] = table[i - 1][j - 1] + 1 if same else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def naive_rouge(a: Sequence[str], b: Sequence[str], variant: str) -> float:
    if variant == "L":
        return measure(lcs(a, b), len(a), len(b))
    x, y = grams(a, int(variant)), grams(b, int(variant))
    common = sum(min(count, y[gram]) for gram, count in x.items())
    return measure(common, sum(x.values()), sum(y.values()))


def naive_algorithm1(sentences: Sentences, variant: str, order: Sequence[int]) -> list[Triple]:
    left, pairs = set(range(len(sentences))), []
    for first in order:
        if first not in left or len(left) < 2:
            continue
        left.remove(first)
        scores = {
            other: naive_rouge(sentences[first], sentences[other], variant)
            for other in sorted(left)
        }
        second = max(scores, key=lambda other: scores[other])  # the first of those that tie
        left.remove(second)
        pairs.append((first, second, scores[second]))
    return pairs


def naive_global(sentences: Sentences, variant: str) -> list[Triple]:
    count = len(sentences)
    scored = sorted(
        (-naive_rouge(sentences[i], sentences[j], variant), i, j)
        for i in range(count)
        for j in range(i + 1, count)
    )
    left, pairs = set(range(count)), []
    for score, i, j in scored:
        if {i, j} <= left:
            left -= {i, j}
            pairs.append((i, j, -score))
    return pairs


@pytest.fixture
def one_by_one() -> Callable[[Sentences, str, Sequence[int]], list[Triple]]:
    return naive_algorithm1


@pytest.fixture
def all_at_once() -> Callable[[Sentences, str], list[Triple]]:
    return naive_global


@pytest.fixture
def subsequence() -> Callable[[Sequence[str], Sequence[str]], int]:
    return lcs


@pytest.fixture
def plain_rouge() -> Callable[[Sequence[str], Sequence[str], str], float]:
    return naive_rouge
