"""Is the label in the words? Tokens that go with a label more often than chance, over all examples.

The test of Gardner et al. (2021), "Competency Problems", as JAMP's authors use it: an example counts once for each
distinct token in it; of the n examples with a token, k carry label y; the null is P(y | token) = 1/m for m labels. A
pair (token, label) is over the line when P(X ≥ k | n, 1/m) < α/|V| (one-sided, exact, Bonferroni over the vocabulary).
PMI is that of Gururangan et al. (2018), smoothed by adding 100 to every count, in bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import tee
from math import inf

import numpy as np

from nikawa.errors import BadInput
from nikawa.records import Record
from nikawa.stats.distributions import Ints, binomial_log_tail, critical_counts
from nikawa.text.protocol import Analyser

ALPHA = 0.01
SMOOTHING = 100.0

Item = tuple[str, tuple[str, ...]]
"""A label and the texts of an example, one a side."""


@dataclass
class Tally:
    """What one pass over the examples counts; tallies of parts merge into that of the whole, in any order."""

    sides: tuple[str, ...]
    examples: Counter[str] = field(default_factory=Counter)
    """Examples by label."""
    tokens: dict[str, Counter[str]] = field(default_factory=dict)
    """For each label and token, the number of examples with the token."""
    lengths: dict[tuple[str, str, str], Counter[int]] = field(default_factory=dict)
    """Side, unit and label to length to examples."""

    def add(self, label: str, texts: Sequence[str], words: Sequence[Sequence[str]]) -> None:
        """Count one example: its texts and their tokens, one a side."""
        self.examples[label] += 1
        self.tokens.setdefault(label, Counter()).update(set().union(*words))
        for side, text, tokens in zip(self.sides, texts, words, strict=True):
            for unit, length in (("characters", len(text)), ("tokens", len(tokens))):
                counts = self.lengths.get((side, unit, label))
                if counts is None:  # a Counter is not made for nothing, for every text
                    counts = self.lengths[side, unit, label] = Counter()
                counts[length] += 1

    def merge(self, other: Tally) -> None:
        """Add what another tally counted."""
        self.examples.update(other.examples)
        for label, tokens in other.tokens.items():
            self.tokens.setdefault(label, Counter()).update(tokens)
        for key, lengths in other.lengths.items():
            self.lengths.setdefault(key, Counter()).update(lengths)


def count_tokens(items: Iterable[Item], sides: tuple[str, ...], analyser: Analyser) -> Tally:
    """Tally a stream of examples, cut into tokens by `analyser`."""
    tally, (left, right) = Tally(sides), tee(items)
    stream = analyser.analyse_many(text for _, texts in left for text in texts)
    for label, texts in right:
        # The form distinguishes Korean morphemes that share a syllable; otherwise it is the surface.
        words = [[token.form or token.surface for token in next(stream)] for _ in texts]
        tally.add(label, texts, words)
    return tally


class Pair(Record, frozen=True, kw_only=True):
    """A token and a label that go together more often than chance."""

    token: str
    label: str
    n: int
    """Examples with the token."""
    count: int
    """Of these, the ones with the label."""
    share: float
    """count / n."""
    critical: int
    """The least count that is over the line for this n."""
    p: float
    """The exact one-sided tail; 0 where it is too small for a float."""


class Association(Record, frozen=True, kw_only=True):
    """One of the tokens that predict a label most strongly."""

    token: str
    pmi: float
    """Smoothed pointwise mutual information, in bits."""
    count: int
    share: float
    """Share of the label's examples with the token."""


@dataclass(frozen=True)
class Table:
    """The counts of a tally as arrays, and the line."""

    labels: tuple[str, ...]
    tokens: tuple[str, ...]
    """Sorted."""
    counts: Ints
    """One row per token, one column per label."""
    totals: Ints
    """Examples with each token."""
    examples: Ints
    """Examples of each label."""
    alpha: float

    @property
    def exact_threshold(self) -> Fraction:
        """α/|V|, α as it is written."""
        return Fraction(repr(self.alpha)) / len(self.tokens)

    def line(self, n: Ints) -> Ints:
        """The critical count for each n."""
        return critical_counts(n, len(self.labels), self.exact_threshold)


def tabulate(tally: Tally, labels: Sequence[str] = (), alpha: float = ALPHA) -> Table:
    """The table of a tally. `labels` is the closed set, whose size makes the null; else those that were seen."""
    known = tuple(labels) or tuple(sorted(tally.examples))
    refuse_unfit(tally, known, alpha)
    tokens = tuple(sorted(set().union(*tally.tokens.values())))
    if not tokens:
        raise BadInput("the texts contain no token", cure="check the texts and the tokeniser")
    none: Counter[str] = Counter()
    columns = [[tally.tokens.get(label, none)[token] for token in tokens] for label in known]
    counts = np.array(columns, dtype=np.int64).T
    examples = np.array([tally.examples[label] for label in known], dtype=np.int64)
    return Table(known, tokens, counts, counts.sum(axis=1), examples, alpha)


def refuse_unfit(tally: Tally, labels: tuple[str, ...], alpha: float) -> None:
    """Raise `BadInput` for an alpha or a set of labels that the test is not defined for."""
    if not 0 < alpha < 0.5:
        raise BadInput(f"alpha is {alpha}", cure="choose a value between 0 and 0.5, such as 0.01")
    strange = sorted(set(tally.examples) - set(labels))
    if strange:
        raise BadInput(
            f"{strange[0]!r} is not one of the labels", cure=f"use one of {', '.join(labels)}"
        )
    if len(labels) < 2:
        raise BadInput(
            f"the only label is {', '.join(labels)!r}", cure="the test needs two labels or more"
        )


def find_pairs(table: Table) -> tuple[Pair, ...]:
    """The pairs over the line, the least likely first."""
    line = table.line(table.totals)
    rows, columns = np.nonzero(table.counts >= line[:, None])
    n, k = table.totals[rows], table.counts[rows, columns]
    tails = binomial_log_tail(n, k, 1 / len(table.labels))
    pairs = [
        Pair(
            token=table.tokens[row],
            label=table.labels[column],
            n=int(n[i]),
            count=int(k[i]),
            share=float(k[i] / n[i]),
            critical=int(line[row]),
            p=float(np.exp(tails[i])),
        )
        for i, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))
    ]
    ranked = sorted(
        zip(tails.tolist(), pairs, strict=True),
        key=lambda entry: (entry[0], entry[1].token, entry[1].label),
    )
    return tuple(pair for _, pair in ranked)


def find_uneven_labels(table: Table) -> tuple[str, ...]:
    """The labels that are above the line on their own: every frequent token is above it with them."""
    line = table.line(table.examples.sum(keepdims=True))
    return tuple(table.labels[i] for i in np.flatnonzero(table.examples >= line).tolist())


def rank_associations(
    table: Table, top: int = 10, smoothing: float = SMOOTHING
) -> dict[str, tuple[Association, ...]]:
    """For each label the tokens of highest PMI with it."""
    weight = table.counts + smoothing
    total = weight.sum()
    apart = weight.sum(axis=1, keepdims=True) * weight.sum(axis=0, keepdims=True)
    # Without smoothing, what never met has no PMI.
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.nan_to_num(np.log2(weight * total / apart), nan=-inf, neginf=-inf)
    ranked = {}
    for column, label in enumerate(table.labels):
        counts = table.counts[:, column].tolist()
        bits = pmi[:, column].tolist()
        examples = max(1, int(table.examples[column]))
        rows = sorted(
            zip(bits, counts, table.tokens, strict=True),
            key=lambda row: (-row[0], -row[1], row[2]),
        )
        ranked[label] = tuple(
            Association(token=token, pmi=pmi_of_token, count=count, share=count / examples)
            for pmi_of_token, count, token in rows[:top]
            if pmi_of_token > -inf
        )
    return ranked
