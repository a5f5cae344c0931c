"""The statistics of the memory probes, on numbers worked out by hand."""

from __future__ import annotations

from itertools import permutations
from math import sqrt

import numpy as np
import pytest

from nikawa.analysis.memory.min_k import exchange_p, min_k_score, sign_flip_p
from nikawa.analysis.memory.order_test import (
    Shard,
    count_shard_items,
    cut_items,
    make_shards,
    neighbour_statistics,
    permutation_p,
    shard_t_test,
)
from nikawa.models.lm.texts import TokenScores


def test_p_counts_shuffled_orders_that_are_at_least_as_likely() -> None:
    assert permutation_p(np.array([5.0, 1.0, 2.0, 3.0])) == 0.25
    assert permutation_p(np.array([2.0, 1.0, 2.0, 3.0])) == 0.75


def test_p_over_all_orders_is_uniform_whatever_the_statistic() -> None:
    """Each of the 24 orders of four items is as good a canonical one: the p-values are 1/24 … 24/24."""
    values = [
        float(sum(2**place * item for place, item in enumerate(order)))
        for order in permutations(range(4))
    ]
    values = [value + number * 1e-6 for number, value in enumerate(values)]
    p_values = sorted(
        permutation_p(np.array([value, *(other for other in values if other != value)]))
        for value in values
    )
    assert p_values == pytest.approx([number / 24 for number in range(1, 25)])


def test_t_over_shards_by_hand() -> None:
    # differences from the mean of the shuffled orders: 2, 1, 3; mean 2, sd 1, t = 2 / (1 / sqrt 3)
    table = np.array([[4.0, 1.0, 3.0], [3.0, 2.0, 2.0], [9.0, 5.0, 7.0]])
    result = shard_t_test(table)
    assert result is not None
    t, p = result
    assert t == pytest.approx(2 * sqrt(3))
    # Student's t with two degrees of freedom: P(T > t) = 1/2 - t / (2 sqrt(2 + t^2))
    assert p == pytest.approx(0.5 - t / (2 * sqrt(2 + t * t)))
    other = shard_t_test(-table)
    assert other is not None
    assert other[1] == pytest.approx(1 - p)
    assert shard_t_test(table[:1]) is None


def test_a_shard_has_room_for_its_longest_items() -> None:
    assert count_shard_items([10, 10, 10, 1, 1, 1], context=21) == 3 - 1
    assert count_shard_items([1] * 100, context=1000) == 12  # an eighth, for the t-test
    assert count_shard_items([1] * 10, context=1000) == 4
    assert cut_items([tuple(range(30)), (1, 2)], context=40) == [tuple(range(10)), (1, 2)]


def test_shards_depend_on_the_lengths_and_not_on_their_order() -> None:
    lengths = [3, 9, 4, 4, 8, 2, 7, 7, 1, 5]
    one = make_shards(lengths, 20, permutations=5, seed=1)
    other = make_shards(lengths[::-1], 20, permutations=5, seed=1)
    assert one == other
    assert [place for shard in one for place in shard.items] == list(range(10))
    for shard in one:
        assert len(shard.orders) == 6
        assert shard.orders[0] == shard.items
        assert all(sorted(order) == list(shard.items) for order in shard.orders)
    assert one != make_shards(lengths, 20, permutations=5, seed=2)


def test_neighbours_that_are_alike_show_an_order_that_is_not_random() -> None:
    texts = ["赤い花", "赤い花", "青い海", "青い海"]
    orders = ((0, 1, 2, 3), (0, 2, 1, 3), (2, 3, 0, 1))
    totals = neighbour_statistics(texts, [Shard((0, 1, 2, 3), orders)])
    assert totals.tolist() == [2.0, 0.0, 2.0]


def test_min_k_score_by_hand() -> None:
    # z = (-1+2)/1, (-4+2)/2, (-3+3)/1, (-9+1)/2, (-1+1)/1 = 1, -1, 0, -4, 0
    scores = TokenScores(
        np.array([-1.0, -4, -3, -9, -1]),
        np.array([-2.0, -2, -3, -1, -1]),
        np.array([1.0, 2, 1, 2, 1]),
    )
    assert min_k_score(scores, 0.2) == -4
    assert min_k_score(scores, 0.4) == -2.5
    assert min_k_score(scores, 1.0) == pytest.approx(-0.8)
    assert min_k_score(TokenScores()) == 0


def test_random_signs_give_the_exact_p_of_few_differences() -> None:
    # of the 8 choices of signs for 1, 2, 3, one reaches the sum 6: p is near 1/8
    assert sign_flip_p(np.array([1.0, 2.0, 3.0]), seed=1) == pytest.approx(1 / 8, abs=0.02)
    assert sign_flip_p(np.array([-1.0, -2.0, -3.0]), seed=1) == 1.0


def test_exchanged_items_give_the_exact_p_of_few_items() -> None:
    # of the 6 ways to choose two of four items, one has the sum 7
    p = exchange_p(np.array([3.0, 4.0]), np.array([1.0, 2.0]), seed=1)
    assert p == pytest.approx(1 / 6, abs=0.02)
