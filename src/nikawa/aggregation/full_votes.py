"""How often each full vote occurs, learnt from items of which only a part of the vote is known.

A full vote F says how many of `most` persons give each answer. Persons are asked in any order, so that a part of the vote is a draw without
replacement:

    p(counts c of n answers | F) = prod_a C(F_a, c_a) / C(most, n)

The share of each full vote is estimated from all items by EM, leaning on what a model expects by `MODEL_ITEMS` items. Which item gets
another answer depends only on the answers that it has, and these are used, so that the estimate is not misled by it (Rubin 1976,
https://doi.org/10.1093/biomet/63.3.581).
"""

from __future__ import annotations

import math

import numpy as np

from nikawa.aggregation.table import Counts, Floats

MAX_FULL_VOTES = 2_000
"""Full votes beyond which they are not listed one by one; the model alone says what comes then."""
MODEL_ITEMS = 100.0
"""Items that the expectation of the model counts as."""
MAX_ITERATIONS = 60
LEAST_CHANGE = 1e-6
NEVER = -1e9
"""Stands for the logarithm of 0."""


def list_full_votes(width: int, most: int) -> Counts | None:
    """All ways in which `most` persons can give `width` answers; None where there are too many to list.

    >>> list_full_votes(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if width < 1 or math.comb(most + width - 1, width - 1) > MAX_FULL_VOTES:
        return None
    votes: list[list[int]] = [[]]
    for _ in range(width - 1):
        votes = [[*vote, count] for vote in votes for count in range(most - sum(vote) + 1)]
    return np.array([[*vote, most - sum(vote)] for vote in votes], dtype=np.int64)


def match_votes(parts: Counts, full: Counts) -> Floats:
    """Parts by full votes: the log probability that the answers bought first are this part of the full vote.

    >>> np.exp(match_votes(np.array([[1, 0]]), list_full_votes(2, 2))).tolist()
    [[0.0, 0.5, 1.0]]
    """
    most = int(full[0].sum())
    ways = np.full((most + 1, most + 1), NEVER)
    for whole in range(most + 1):
        ways[whole, : whole + 1] = [math.log(math.comb(whole, part)) for part in range(whole + 1)]
    logs = -ways[most, parts.sum(axis=1)][:, None] + np.zeros(len(full))
    for answer in range(full.shape[1]):
        logs += ways[full[:, answer][None, :], parts[:, answer][:, None]]
    return np.asarray(np.maximum(logs, NEVER))


def count_orders(full: Counts) -> Floats:
    """The logarithm of how many orders of answers make each full vote."""
    factorials = np.array([math.lgamma(count + 1) for count in range(int(full[0].sum()) + 1)])
    orders: Floats = factorials[-1] - factorials[full].sum(axis=1)
    return orders


def learn_shares(matches: Floats, weights: Floats, expected: Floats) -> Floats:
    """How often each full vote occurs: `matches` are parts by full votes, `weights` how many items have each part."""
    likely = np.exp(matches - matches.max(axis=1, keepdims=True, initial=NEVER))
    shares = expected / expected.sum()
    base = MODEL_ITEMS * shares
    for _ in range(MAX_ITERATIONS):
        total = likely @ shares
        before = shares
        shares = shares * ((weights / np.maximum(total, 1e-300)) @ likely) + base
        shares = np.asarray(shares / shares.sum())
        if float(np.abs(shares - before).max()) < LEAST_CHANGE:
            break
    return np.asarray(shares)


def find_posterior(matches: Floats, shares: Floats) -> Floats:
    """Parts by full votes: how probable each full vote is."""
    logs = matches + np.log(np.maximum(shares, 1e-300))
    posterior = np.exp(logs - logs.max(axis=1, keepdims=True, initial=NEVER))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return np.asarray(posterior)
