"""How much everything that a board showed can reveal about its labels: upper bounds in bits, and what they allow.

What is shown is a message about the labels. If all that an account saw takes B bits to record, the account learned at most B
bits, whatever it submitted and however clever it was: this is counting, and assumes nothing about the attacker.

Shown values of a ladder rise strictly over a grid of m values. A sequence of k submissions with p new bests is given by which
submissions were the new bests and which values they showed: C(k, p) * C(m, p) sequences. Over all p these are C(k + m, m)
sequences (Vandermonde); here p is limited, as the rise that is needed grows (`ladder.needed_steps`). A board that shows every score rounded to the grid has m^k sequences, one that shows the exact score of n items has
(n + 1)^k.

- The description of what was shown so far (`ladder_bits`): log2(min(k, m) + 1) for p, and log2 C(k, p) + log2 C(m, p).
- The most that k submissions can be shown (`worst_ladder_bits`): log2 of the sum over all possible p.

What B bits allow (`accuracy_bound`): let an attacker guess each of n labels, right with a mean probability of a. Without what the board
showed, the guess would be right with probability q at most (the share of the most frequent label, or the true accuracy of the
attacker's model). By the data processing inequality and convexity, n * d(a || q) <= B, where
d(a || q) = a log2(a / q) + (1 - a) log2((1 - a) / (1 - q)). For labels drawn evenly this is the rate-distortion function,
so no bound from B alone can be better.

How far a shown best can be above the truth (`overfit_bound`): one of 2^B systems that were fixed before the labels were drawn is chosen.
By Hoeffding's inequality and a union bound, none of them is better on the n items than on new ones by more than
sqrt((B ln 2 + ln(1 / delta)) / (2 n)), with probability 1 - delta. This is the argument of Theorem 3.1 of Blum and Hardt (2015).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, isinf, lgamma, log, log2, sqrt

from nikawa.board.ladder import count_most_bests

LN2 = log(2)
EXACT_COMB = 10_000
"""Up to this size binomial coefficients are computed with whole numbers."""


def log2_comb(n: int, k: int) -> float:
    """log2 of the binomial coefficient.

    >>> log2_comb(4, 2) == log2(6)
    True
    """
    if k < 0 or k > n:
        return float("-inf")
    if n <= EXACT_COMB:
        return log2(comb(n, k))
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / LN2


def count_levels(step: float, low: float = 0.0, high: float = 100.0, n: int | None = None) -> int:
    """The values that can be shown: multiples of the step between two bounds; without a step, those of a mean of n right or wrong items.

    >>> count_levels(0.5), count_levels(0.0, n=2_000)
    (201, 2001)
    """
    if step:
        return int((high - low) / step + 0.5) + 1
    return (n or 0) + 1


def ladder_bits(tries: int, bests: int, levels: int) -> float:
    """The bits that describe what a ladder showed: how many new bests, which submissions they were, and their values.

    >>> ladder_bits(1, 1, 101) == 1 + log2(101)
    True
    >>> round(ladder_bits(100, 3, 101), 1)
    41.3
    """
    bests = min(bests, tries, levels)
    if not tries:
        return 0.0
    return log2(min(tries, levels) + 1) + log2_comb(tries, bests) + log2_comb(levels, bests)


def worst_ladder_bits(tries: int, levels: int) -> float:
    """The most bits that a ladder can show to one account in so many tries.

    >>> round(worst_ladder_bits(1_000, 101)), round(log2_comb(1_000 + 101, 101))
    (269, 482)
    """
    parts = [
        log2_comb(tries, bests) + log2_comb(levels, bests)
        for bests in range(min(count_most_bests(levels), tries) + 1)
    ]
    most = max(parts)
    return most + log2(sum(2.0 ** (part - most) for part in parts))


def rounded_bits(tries: int, levels: int) -> float:
    """The most bits if the board shows one of so many values each time."""
    return tries * log2(levels)


def monotone_bits(changes: int, levels: int) -> float:
    """The bits of a sequence of that many values, none below the one before: log2 C(changes + levels - 1, levels - 1)."""
    return log2_comb(changes + levels - 1, levels - 1)


def label_bits(counts: Iterable[int]) -> float:
    """The bits in the labels of a test, for somebody who knows how many items have each label: log2 of the possible orders.

    >>> round(label_bits([1_000, 1_000]))
    1994
    """
    known = [count for count in counts if count]
    return (lgamma(sum(known) + 1) - sum(lgamma(count + 1) for count in known)) / LN2


def divergence(a: float, q: float) -> float:
    """Kullback and Leibler's divergence of two coins, in bits."""
    total = 0.0
    for x, y in ((a, q), (1 - a, 1 - q)):
        if x > 0:
            total += float("inf") if y <= 0 else x * log2(x / y)
    return total


def accuracy_bound(bits: float, n: int, start: float) -> float:
    """The highest mean accuracy that somebody can reach on n labels with so many bits about them; `start` without.

    >>> round(accuracy_bound(0, 2_000, 0.5), 3), round(accuracy_bound(20, 2_000, 0.5), 3)
    (0.5, 0.559)
    >>> accuracy_bound(2_000, 2_000, 0.5)
    1.0
    """
    if n <= 0 or start >= 1 or bits >= n * divergence(1.0, start):
        return 1.0
    low, high = start, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if n * divergence(middle, start) <= bits:
            low = middle
        else:
            high = middle
    return low


def overfit_bound(bits: float, n: int, delta: float = 0.05) -> float:
    """By how much a shown best share can be above what the system reaches on new items, with probability 1 - delta.

    >>> round(overfit_bound(20, 2_000), 3)
    0.065
    """
    if n <= 0 or isinf(bits):
        return 1.0
    return min(1.0, sqrt((bits * LN2 + log(1 / delta)) / (2 * n)))


@dataclass(frozen=True)
class TestLabels:
    """The labels of one task and split, as far as the budget needs them."""

    __test__ = False  # no class of tests for pytest

    task: str
    split: str
    n: int
    bits: float
    """What the labels hold; see `label_bits`."""
    start: float
    """The accuracy of the best guess without any score: the share of the most frequent label."""


@dataclass(frozen=True)
class Leak:
    """What one account, or everybody together, can have learned about one test."""

    task: str
    split: str
    account: str | None
    """None: everything that was shown to anybody, which accounts may have put together."""
    bits: float
    share: float
    """Of the bits in the labels, 1 at most."""
    accuracy: float
    """The highest accuracy that the bits allow on the test; see `accuracy_bound`."""
    overfit: float
    """By how much a shown best can be above the truth; see `overfit_bound`."""
    by_kind: Mapping[str, float]
    """Bits by what was shown: scores, slices, comparisons, ties."""


def sum_leaks(
    sums: Iterable[tuple[str, str, str | None, str, int, float]], tests: Sequence[TestLabels]
) -> list[Leak]:
    """The leak budget: for each test, everybody together first, then each account, the highest first.

    `sums` is what `store.sum_disclosures` returns: task, split, account, kind, how many, bits. Entries of the owner have no account;
    they count for everybody, and for no account alone.
    """
    by_test: dict[tuple[str, str], dict[str | None, dict[str, float]]] = {}
    for task, split, account, kind, _, bits in sums:
        accounts = by_test.setdefault((task, split), {None: {}})
        for one in {None, account}:
            kinds = accounts.setdefault(one, {})
            kinds[kind] = kinds.get(kind, 0.0) + bits
    leaks = []
    for test in tests:
        accounts = by_test.get((test.task, test.split), {None: {}})
        rows = [make_leak(test, account, kinds) for account, kinds in accounts.items()]
        leaks += sorted(rows, key=lambda leak: (leak.account is not None, -leak.bits))
    return leaks


def make_leak(test: TestLabels, account: str | None, kinds: Mapping[str, float]) -> Leak:
    """What so many bits allow on a test."""
    bits = sum(kinds.values())
    return Leak(
        task=test.task,
        split=test.split,
        account=account,
        bits=bits,
        share=min(1.0, bits / test.bits) if test.bits else 1.0 if bits else 0.0,
        accuracy=accuracy_bound(bits, test.n, test.start),
        overfit=overfit_bound(bits, test.n),
        by_kind=dict(kinds),
    )


def pool_tests(items: Mapping[str, frozenset[str]]) -> list[tuple[str, ...]]:
    """Tests that share items, by the digests of their texts: what one shows tells about the others, so their bits add up.

    >>> pool_tests({"a": frozenset("12"), "b": frozenset("23"), "c": frozenset("4")})
    [('a', 'b'), ('c',)]
    """
    pools: list[tuple[tuple[str, ...], frozenset[str]]] = []
    for name, digests in items.items():
        touching = [pool for pool in pools if pool[1] & digests]
        names = tuple(each for pool in touching for each in pool[0])
        together = digests.union(*(pool[1] for pool in touching))
        pools = [pool for pool in pools if pool not in touching] + [((*names, name), together)]
    return [names for names, _ in pools]


def gain_of(tries: int, n: int, start: float, step: float) -> dict[str, tuple[float, float]]:
    """What so many submissions of one account allow at most, by rule: bits and accuracy. One metric, no slices, no comparisons.

    >>> {rule: round(accuracy, 2) for rule, (_, accuracy) in gain_of(50, 2_000, 0.5, 1.0).items()}
    {'exact': 0.8, 'rounded': 0.74, 'ladder': 0.65}
    """
    levels = count_levels(step)
    bits = {
        "exact": rounded_bits(tries, n + 1),
        "rounded": rounded_bits(tries, levels),
        "ladder": worst_ladder_bits(tries, levels),
    }
    return {rule: (value, accuracy_bound(value, n, start)) for rule, value in bits.items()}
