"""The exchangeability test: does a model prefer the published order of items to shuffled orders?

Items of a benchmark can usually be put in any order. If the order was random when the benchmark was made,
a model that never saw the file gives every order the same chance of a high likelihood. A model that
was trained on the file prefers the order of the file.

Oren, Meister, Chatterji, Ladhak, Hashimoto (2023). Proving Test Set Contamination in Black Box Language
Models. arXiv:2310.17623.

Items are cut into shards that fit the context of the model, and are shuffled inside their shard. With
the log-likelihood l(s, o) of shard s in order o, the canonical order 0 and m shuffled orders:

    T_o = sum over s of l(s, o)                      p = (1 + #{o > 0: T_o >= T_0}) / (m + 1)

This p is exact: if items are exchangeable, it is under a with probability at most a, for any model.
The paper's own test compares l(s, 0) with the mean over the shuffled orders, and takes Student's t over shards:

    d_s = l(s, 0) - mean over o > 0 of l(s, o)       t = mean(d) / (sd(d) / sqrt(S)), S - 1 degrees

Shards have equal numbers of items, and the number depends on the lengths of the items alone: shards that
were filled in the order of the file would begin with long items, in that order only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.models.lm.tokens import Tokens
from nikawa.stats.distributions import t_p

Floats = NDArray[np.float64]

MIN_SHARD_ITEMS = 4
"""Items of a shard; longer items are cut so that so many fit."""
MIN_SHARDS = 8
"""Shards that are made where there are enough items: the t-test is over shards."""
MAX_SHARD_TOKENS = 2_048
"""Tokens of a shard: what is learned of an order is mostly which item follows which."""


@dataclass(frozen=True)
class Shard:
    """Some items in a row, in several orders."""

    items: tuple[int, ...]
    """Places of the items, in the canonical order."""
    orders: tuple[tuple[int, ...], ...]
    """The same places in each order; the first is the canonical one."""


def cut_items(items: Sequence[Tokens], context: int) -> list[Tokens]:
    """Cut long items, so that `MIN_SHARD_ITEMS` of any length fit into the context."""
    longest = max(1, min(context, MAX_SHARD_TOKENS) // MIN_SHARD_ITEMS)
    return [item[:longest] for item in items]


def count_shard_items(lengths: Sequence[int], context: int) -> int:
    """Items of a shard: as many as fit whichever they are.

    >>> count_shard_items([3, 3, 2, 2, 2], context=8)
    3
    """
    room, count = min(context, MAX_SHARD_TOKENS), 0
    for length in sorted(lengths, reverse=True):
        room -= length
        if room < 0:
            break
        count += 1
    return max(1, min(count, max(MIN_SHARD_ITEMS, len(lengths) // MIN_SHARDS)))


def make_shards(lengths: Sequence[int], context: int, permutations: int, seed: int) -> list[Shard]:
    """Put items into shards of about equal numbers, and draw the shuffled orders."""
    size = count_shard_items(lengths, context)
    parts = np.array_split(np.arange(len(lengths)), -(-len(lengths) // size))
    shards = []
    for number, part in enumerate(parts):
        draw = np.random.default_rng([seed, number])
        orders = [tuple(part.tolist())]
        orders += [tuple(draw.permutation(part).tolist()) for _ in range(permutations)]
        shards.append(Shard(orders[0], tuple(orders)))
    return shards


def permutation_p(statistics: Floats) -> float:
    """The exact p of the first statistic among all, one-sided: large values are evidence.

    >>> permutation_p(np.array([3.0, 1.0, 3.0, 2.0]))
    0.5
    """
    return float((1 + np.count_nonzero(statistics[1:] >= statistics[0])) / len(statistics))


def shard_t_test(table: Floats) -> tuple[float, float] | None:
    """Student's t of the shards and its one-sided p; None with fewer than two shards.

    `table` has one row per shard and one column per order, the canonical one first.
    """
    differences = table[:, 0] - table[:, 1:].mean(axis=1)
    count = len(differences)
    if count < 2:
        return None
    error = float(differences.std(ddof=1)) / sqrt(count)
    mean = float(differences.mean())
    if error == 0:
        return (inf, 0.0) if mean > 0 else (0.0, 0.5) if mean == 0 else (-inf, 1.0)
    t = mean / error
    half = t_p(t, count - 1) / 2
    return t, half if t > 0 else 1 - half


def neighbour_statistics(texts: Sequence[str], shards: Sequence[Shard]) -> Floats:
    """How alike neighbours are in each order, without any model: the mean overlap of character
    bigrams (Jaccard).

    If the canonical order is far above the shuffled ones, it is not random: items of one topic or
    paragraph are next to each other. The order test is then no evidence.
    """
    pairs = [{text[i : i + 2] for i in range(len(text) - 1)} for text in texts]
    totals = np.zeros(len(shards[0].orders)) if shards else np.zeros(0)
    for shard in shards:
        size = len(shard.items)
        alike = np.zeros((size, size))
        for i, j in zip(*np.triu_indices(size, 1), strict=True):
            one, other = pairs[shard.items[i]], pairs[shard.items[j]]
            alike[i, j] = alike[j, i] = len(one & other) / max(1, len(one | other))
        first = shard.items[0]
        orders: Any = np.array(shard.orders) - first
        totals += alike[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    return totals.round(9)  # sums of the same numbers in another order are equal
