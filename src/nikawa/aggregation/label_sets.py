"""Answers that are sets of labels, of which the order does not count: agreement, votes label by label, decisions.

Two sets a, b are as far apart as

    jaccard    1 - |a & b| / |a | b|
    masi       1 - |a & b| / |a | b| * m,    m = 1 if a = b, 2/3 if one holds the other, 1/3 if they overlap, else 0

(Passonneau 2006, https://aclanthology.org/L06-1392/). `alpha-jaccard` and `alpha-masi` are Krippendorff's alpha with these
distances:

    alpha = 1 - (n - 1) * sum_i D_i / sum_ab n_a n_b d(a, b),    D_i = sum_ab n_ia n_ib d(a, b) / (m_i - 1)

with n_a how often the set a was given about items with two answers or more, n_ia how often about item i. `jaccard` is the mean
similarity of two workers, `sets-equal` the share of equal sets; neither is corrected for chance. Two empty sets are equal.

In votes each label counts by itself: `majority` keeps those of more than half of an item's workers. Where exactly half chose a label,
or no label has enough votes and no worker chose the empty set, the item is tied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.marked_answers import pair_measure
from nikawa.aggregation.measure import NOMINAL, AnyMeasure, WeighedMeasure
from nikawa.aggregation.rules import Step
from nikawa.aggregation.structures import (
    AnswerKind,
    Outcome,
    Structured,
    structures_by_item,
    votes_needed,
)
from nikawa.aggregation.table import Floats, Table

MAX_SETS = 2048
"""Different sets up to which alpha is computed: there is a distance for each pair of them."""
MIN_TEXTS = 20
"""Different labels from which they may be texts that workers wrote."""


class LabelSet(Structured, frozen=True):
    """A set of labels, in the order of their names."""

    labels: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join(self.labels)


def jaccard(one: LabelSet, other: LabelSet) -> float:
    """The share of the labels of either that both have.

    >>> jaccard(LabelSet(("a", "b")), LabelSet(("b", "c")))
    0.3333333333333333
    """
    first, second = set(one.labels), set(other.labels)
    return len(first & second) / len(first | second) if first | second else 1.0


def masi(one: LabelSet, other: LabelSet) -> float:
    """Jaccard times how monotone the two are.

    >>> round(masi(LabelSet(("a", "b")), LabelSet(("a",))), 4)
    0.3333
    """
    first, second = set(one.labels), set(other.labels)
    if first == second:
        return 1.0
    if first <= second or second <= first:
        return jaccard(one, other) * 2 / 3
    return jaccard(one, other) / 3


class LabelSets(AnswerKind):
    """Sets of labels."""

    name = "label sets"
    heading = "Labels"
    score = "jaccard"
    remark = "The order of the labels does not count (for ranked labels, aggregate with first+RULE). jaccard and sets-equal are not corrected for chance; the alphas are."
    answer_type = LabelSet
    decision_cure = "write the labels with | between them"

    def read(self, value: Any) -> LabelSet | None:
        """The set of a list of texts."""
        if isinstance(value, LabelSet):
            return value
        if not isinstance(value, list) or not value:
            return None
        if not all(isinstance(label, str) for label in value):
            return None
        return LabelSet(tuple(sorted(set(value))))

    def find_table_fault(self, table: Table) -> str:
        """Lists of texts that workers wrote: most of them occur once."""
        counts = Counter[str]()
        for answer, times in zip(table.categories, table.per_category().tolist(), strict=True):
            for label in answer.labels:
                counts[label] += times
        if len(counts) > MIN_TEXTS and 2 * len(counts) > counts.total():
            return f"the answers to {table.question!r} are lists of {len(counts):,} different texts, not of labels"
        return ""

    def measures(self, table: Table) -> Iterator[AnyMeasure]:
        """Alpha with two distances, and the plain means."""
        if len(table.categories) <= MAX_SETS:
            yield set_alpha("alpha-masi", table, masi)
            yield set_alpha("alpha-jaccard", table, jaccard)
        answers = structures_by_item(table)
        yield pair_measure("jaccard", answers, jaccard)
        yield pair_measure("sets-equal", answers, lambda one, other: float(one == other))

    def count_parts(self, answer: LabelSet) -> Iterable[str]:
        """Its labels."""
        return answer.labels

    def vote(self, answers: Sequence[LabelSet], decider: Step) -> Outcome:
        """The labels with enough votes."""
        needed = votes_needed(decider, len(answers))
        counts = Counter(label for answer in answers for label in answer.labels)
        gold = sorted(label for label, votes in counts.items() if votes >= needed)
        by_majority = decider.name == "majority"
        if by_majority and any(2 * votes == len(answers) for votes in counts.values()):
            return Outcome(None, "tied")
        empty = sum(not answer.labels for answer in answers)
        if not gold and empty < needed:
            return Outcome(None, "tied" if by_majority else "dropped")
        return Outcome(gold, "accepted")

    def support(self, gold: Any, answers: Sequence[LabelSet]) -> float:
        """The mean share of workers who chose a label of the gold."""
        if not gold:
            return sum(not answer.labels for answer in answers) / len(answers)
        votes = sum(label in answer.labels for answer in answers for label in gold)
        return votes / (len(gold) * len(answers))

    def closeness(self, one: LabelSet, other: LabelSet) -> float:
        """Jaccard."""
        return jaccard(one, other)

    def read_decided(self, answer: Any) -> list[str]:
        """The labels that a person decided on: a list, JSON, or labels with | between them."""
        if isinstance(answer, str) and answer.lstrip().startswith("["):
            try:
                answer = msgspec.json.decode(answer)
            except msgspec.DecodeError:
                raise ValueError("it is not JSON") from None
        if isinstance(answer, str):
            answer = [part for part in re.split(r"\s*\|\s*", answer.strip()) if part]
        read = self.read(list(answer)) if isinstance(answer, list | tuple) else None
        if read is None:
            raise ValueError("it is not a list of labels")
        return list(read.labels)

    def shares(self, answers: Sequence[LabelSet]) -> dict[str, float]:
        """The share of workers who chose each label."""
        counts = Counter(label for answer in answers for label in answer.labels)
        return {label: round(votes / len(answers), 6) for label, votes in counts.most_common()}

    def format_votes(self, answers: Sequence[LabelSet]) -> str:
        """`sports 3, world 1, of 3`."""
        if not answers:
            return "no answers"
        counts = Counter(label for answer in answers for label in answer.labels)
        votes = [f"{label} {count}" for label, count in counts.most_common()]
        return ", ".join([*(votes or ["none"]), f"of {len(answers)}"])


def set_alpha(
    name: str, table: Table, similarity: Callable[[LabelSet, LabelSet], float]
) -> WeighedMeasure:
    """Krippendorff's alpha with one minus a similarity as the distance."""
    sets, width = table.categories, len(table.categories)
    distances = 1 - np.array([[similarity(one, other) for other in sets] for one in sets])
    item, _, answer = table.by_item()
    apart = np.zeros(len(table.items))
    bounds = np.searchsorted(item, np.arange(len(table.items) + 1))
    for row in range(len(table.items)):
        codes = answer[bounds[row] : bounds[row + 1]]
        if len(codes) > 1:
            apart[row] = distances[np.ix_(codes, codes)].sum() / (len(codes) - 1)
    paired = table.paired()[table.item].astype(np.float64)

    def weigh(weights: Floats) -> float:
        marginals = np.bincount(table.answer, weights[table.item] * paired, width)
        expected = marginals @ distances @ marginals
        if not expected:
            return float("nan")
        return float(1 - (marginals.sum() - 1) * (weights @ apart) / expected)

    return WeighedMeasure(name, NOMINAL, len(table.items), weigh)


LABEL_SETS = LabelSets()
