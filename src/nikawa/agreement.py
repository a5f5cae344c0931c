"""How far workers agree, as one number each, for notebooks: `nk.agreement.krippendorff_alpha(frame)`.

Every function takes judgements in one of these forms:

- a DataFrame (or a mapping of columns, or a list of mappings) with the columns `example`, `worker` and `answer`, or
  `task`, `worker` and `label` as in crowd-kit;
- a list of tuples (item, worker, answer), or of `nikawa.Judgement`;
- a two-dimensional array with one row per worker, one column per item and NaN for no answer, as in the package
  krippendorff;
- the path of a file of judgements, or the name of a dataset that publishes its workers' answers.

Gaps are allowed: null answers are skipped, and workers may differ from item to item. Two answers of one worker to the same
item are an error. If the judgements answer several questions, pass `question`.

`nikawa.agree` computes all measures at once, each with its confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.aggregation import alpha as _alpha
from nikawa.aggregation import kappa as _kappa
from nikawa.aggregation.agreement import refuse_single_answers
from nikawa.aggregation.frames import make_table
from nikawa.aggregation.measure import LEVELS, Level
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import refuse_free_text
from nikawa.errors import BadInput, unknown

__all__ = ["cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "percent_agreement"]


def __dir__() -> list[str]:
    return __all__


def krippendorff_alpha(
    data: Any, level: Level = "nominal", *, question: str | None = None
) -> float:
    """Krippendorff's alpha: 1 is perfect agreement, 0 is chance.

    `level` determines the distance between answers: `nominal` (labels), `ordinal` (ranks), `interval` (differences) or `ratio`
    (proportions). The result is NaN if all answers are the same, because chance agreement is then undefined. The values equal
    those of crowd-kit's `alpha_krippendorff` (nominal) and of the package krippendorff.

    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
    >>> krippendorff_alpha([*rows, ("q3", "ann", "no"), ("q3", "ben", "no")])
    0.4444444444444444
    >>> frame = {"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": [1, 2, 4, 5]}
    >>> krippendorff_alpha(frame, level="interval")
    0.85
    """
    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    return _alpha.alpha(_paired_table(data, question), level).value


def percent_agreement(data: Any, *, question: str | None = None) -> float:
    """The share of equal pairs of answers about an item, averaged over items.

    >>> percent_agreement([("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q1", "eve", "no")])
    0.3333333333333333
    """
    return _kappa.percent(_countable_table(data, question)).value


def fleiss_kappa(data: Any = None, *, counts: Any = None, question: str | None = None) -> float:
    """Fleiss' kappa, which treats workers as interchangeable.

    `counts`, instead of `data`, is a table of items by labels with the number of workers in each cell, as in statsmodels.

    >>> round(fleiss_kappa(counts=[[3, 0], [1, 2], [0, 3]]), 4)
    0.55
    """
    if (data is None) == (counts is None):
        raise BadInput("fleiss_kappa needs judgements or counts", cure="pass one of them")
    if counts is None:
        return _kappa.fleiss(_countable_table(data, question)).value
    import numpy as np

    array = np.asarray(counts, dtype=np.float64)
    if array.ndim != 2 or not (array.sum(axis=1) > 1).any():
        cure = "pass one row per item and one column per label"
        raise BadInput("the counts have no item with two answers", cure=cure)
    return _kappa.fleiss_of_counts(array).value


def cohen_kappa(
    data: Any, second: Sequence[Any] | None = None, *, question: str | None = None
) -> float:
    """Cohen's kappa of two workers; for more workers, the mean over all pairs that share items.

    With `second`, `data` has the answers of one worker and `second` those of the other, item by item, as in scikit-learn's
    `cohen_kappa_score`.

    >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5
    """
    if second is not None:
        pairs = list(zip(data, second, strict=True))
        rows = [
            (item, worker, pair[worker]) for item, pair in enumerate(pairs) for worker in (0, 1)
        ]
        table = _paired_table(rows, question)
    else:
        table = _paired_table(data, question)
    if not _kappa.has_few_pairs(table):
        what = f"{len(table.workers):,} workers make too many pairs for Cohen's kappa"
        raise BadInput(what, cure="use fleiss_kappa or krippendorff_alpha")
    return _kappa.cohen(table).value


def _paired_table(data: Any, question: str | None) -> Table:
    table = make_table(data, question)
    refuse_single_answers(table)
    return table


def _countable_table(data: Any, question: str | None) -> Table:
    table = _paired_table(data, question)
    refuse_free_text(table)
    return table
