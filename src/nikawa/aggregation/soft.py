"""Soft labels: what share of the workers, or what probability, each answer of an item has. Nothing is thrown away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nikawa.aggregation.agreement_spans import Marks
from nikawa.aggregation.rules import Verdicts
from nikawa.aggregation.rules_spans import support, written
from nikawa.aggregation.table import Floats, Table


def vote_shares(table: Table) -> Floats:
    """Items by categories: the share of an item's answers; zeros where nobody answered."""
    return np.asarray(table.counts() / np.maximum(1, table.per_item())[:, None])


def soft_labels(verdicts: Verdicts) -> Floats:
    """Items by categories: the model's posterior where the rule has one, else the shares of the votes."""
    return vote_shares(verdicts.table) if verdicts.fit is None else verdicts.fit.posterior


def entropy(shares: Floats) -> Floats:
    """In bits, of each row: 0 where all agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares), 0.0)
    return np.asarray(np.abs(terms.sum(axis=1)))


def as_mapping(row: Floats, names: Sequence[object]) -> dict[str, float]:
    """One item's soft label by name; answers without any share are left out."""
    return {str(names[c]): round(float(row[c]), 6) for c in np.flatnonzero(row > 0).tolist()}


def span_shares(given: Sequence[Marks]) -> dict[str, float]:
    """Of one item: the share of its workers who marked each span."""
    return {written(mark): round(count / len(given), 6) for mark, count in support(given).items()}
