"""Min-K%++: how far the least likely tokens of a text are below what the model expects there.

Zhang, Sun, Yeats, Ouyang, Kuo, Zhang, Yang, Li (2024). Min-K%++: Improved Baseline for Detecting Pre-Training
Data from Large Language Models. arXiv:2404.02936.

With the log-probability of a token x_t and the mean m_t and standard deviation s_t of the
log-probability over the vocabulary at its place:

    z_t = (log p(x_t | x_<t) - m_t) / s_t            score = mean of the lowest K% of the z_t

Texts of the training data have higher scores. A score alone has no natural threshold, so each text is
compared with a twin of the same meaning: d = score(text) - score(twin). Published text may also
score higher because it reads more naturally than its twin. Items that the model cannot have seen
show how much of d that explains:

    gap = mean of d over the benchmark - mean of d over the unseen items

Both p-values are one-sided and by randomisation: signs of d are flipped at random, or items are
exchanged at random between the benchmark and the unseen ones.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from nikawa.analysis.memory.order_test import Floats, permutation_p
from nikawa.models.lm.texts import TokenScores

SHARE = 0.2
"""K of the paper's tables."""
ROUNDS = 1_999
"""Random draws of the paired test and of the test against unseen items."""
LEAST_DEVIATION = 1e-6
"""Stands for a standard deviation of 0: a model that is certain."""


def min_k_score(scores: TokenScores, share: float = SHARE) -> float:
    """The mean of the lowest z-values of a text; 0 for a text without a scored token."""
    if not len(scores.logprobs):
        return 0.0
    z = (scores.logprobs - scores.means) / np.maximum(scores.deviations, LEAST_DEVIATION)
    count = max(1, ceil(share * len(z)))
    return float(np.sort(z)[:count].mean())


def sign_flip_p(differences: Floats, seed: int, rounds: int = ROUNDS) -> float:
    """One-sided p of a positive mean of paired differences, by random flips of their signs."""
    draw = np.random.default_rng([seed, len(differences)])
    sums = [float(differences.sum())]
    for _ in range(rounds):
        signs = draw.integers(0, 2, len(differences)) * 2 - 1
        sums.append(float((signs * differences).sum()))
    return permutation_p(np.array(sums).round(9))


def exchange_p(seen: Floats, unseen: Floats, seed: int, rounds: int = ROUNDS) -> float:
    """One-sided p of a larger mean of `seen` than of `unseen`, by random exchanges of items."""
    draw = np.random.default_rng([seed, len(seen), len(unseen)])
    pool = np.concatenate([seen, unseen])
    sums = [float(seen.sum())]
    sums += [float(draw.permutation(pool)[: len(seen)].sum()) for _ in range(rounds)]
    return permutation_p(np.array(sums).round(9))
