"""How close two answers to the same item are: equal labels, near numbers, shared spans. For many pairs at a time.

| answers | closeness | best |
|---|---|---|
| labels | 1 if they are equal, else 0 | 1 |
| numbers | the negative squared difference | 0 |
| spans | F1 of the spans that are equal (start, end, label); two empty answers are equal | 1 |
| trees | the share of words with the same head and relation | 1 |
| answers marked in a text | F1 of the marked characters; two that find no answer are equal | 1 |
| sets of labels | Jaccard: the share of the labels of either that both have | 1 |
| states of dialogues | F1 of the slots with the same value, over the turns | 1 |
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.spans import count_equal, holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.trees import count_equal_arcs, holds_trees
from nikawa.errors import BadInput

Score = Literal["equality", "neg-rmse", "span-f1", "equal-arcs", "answer-f1", "jaccard", "state-f1"]
"""How an answer is scored against several others: the mean closeness (of labels the paper calls it accuracy); of numbers the negative root of the mean squared difference."""
MAX_NUMBER = 1e150
"""Numbers above have no square that can be computed with."""
MAX_EXACT_SQUARES = 512
"""Different numbers up to which every squared difference is Python's own, as the reference has it; beyond, numpy's."""


def choose_score(table: Table, level: str | None = None) -> Score:
    """The score that fits the answers: of numbers `equality` only at the nominal level."""
    kind = find_kind(table)
    if kind is not None:
        return cast(Score, kind.score)
    if holds_spans(table):
        return "span-f1"
    if holds_trees(table):
        return "equal-arcs"
    return "neg-rmse" if table.numeric and level != "nominal" else "equality"


def refuse_huge_numbers(table: Table) -> None:
    """Refuse numbers whose squares have no value."""
    values = table.values
    if len(values) and float(np.abs(values).max()) > MAX_NUMBER:
        odd = values[np.abs(values).argmax()]
        what = f"answers to {table.question!r} are as large as {odd:g}"
        raise BadInput(what, cure="correct the answers, or use the nominal level")


class Closeness:
    """The closeness of answers of one table, given by their codes; what was computed once is looked up."""

    def __init__(self, table: Table, score: Score) -> None:
        self.score = score
        if score == "neg-rmse":
            refuse_huge_numbers(table)
        self.categories = table.categories
        self._values = table.values if score == "neg-rmse" else np.zeros(0)
        self._squares = self._square_all() if score == "neg-rmse" else None
        self._shared: dict[int, float] = {}
        self._kind = find_kind(table)
        if score in ("answer-f1", "jaccard") and (self._kind is None or self._kind.score != score):
            kind = "answers in a text" if score == "answer-f1" else "label sets"
            what = f"the answers to {table.question!r} are not {kind}"
            raise BadInput(what, cure="score labels by equality, and numbers by neg-rmse")
        if score == "span-f1" and not holds_spans(table):
            what = f"the answers to {table.question!r} are not spans"
            raise BadInput(what, cure="score labels by equality, and numbers by neg-rmse")
        if score == "equal-arcs" and not holds_trees(table):
            what = f"the answers to {table.question!r} are not trees"
            raise BadInput(what, cure="score labels by equality, and numbers by neg-rmse")

    def _square_all(self) -> Floats | None:
        if len(self.categories) > MAX_EXACT_SQUARES:
            return None
        rows = [[-((one - other) ** 2) for other in self.categories] for one in self.categories]
        return np.array(rows, dtype=np.float64)

    def of(self, first: NDArray[np.int32], second: NDArray[np.int32]) -> Floats:
        """The closeness of each pair; the arrays may have any shape that numpy can broadcast."""
        if self.score == "equality":
            equal: Floats = np.equal(first, second).astype(np.float64)
            return equal
        if self.score == "neg-rmse":
            if self._squares is not None:
                squares: Floats = self._squares[first, second]
                return squares
            difference = self._values[first] - self._values[second]
            return -(difference * difference)
        width = len(self.categories)
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys, place = np.unique(low.astype(np.int64) * width + high, return_inverse=True)
        values = np.array([self._share(key) for key in keys.tolist()])
        shared: Floats = values[place].reshape(low.shape)
        return shared

    def _share(self, key: int) -> float:
        """F1 of the spans of two answers, or the share of equal arcs of two trees."""
        value = self._shared.get(key)
        if value is None:
            one, other = (self.categories[code] for code in divmod(key, len(self.categories)))
            if self._kind is not None:
                value = self._kind.closeness(one, other)
            elif self.score == "equal-arcs":
                value = count_equal_arcs(one, other) / len(one.heads)
            else:
                marked = len(one) + len(other)
                value = 2 * count_equal(one, other) / marked if marked else 1.0
            self._shared[key] = value
        return value

    def score_against(self, answers: NDArray[np.int32], others: NDArray[np.int32]) -> Floats:
        """The score of an answer per row against the row of others: their mean closeness, of numbers its root.

        Sums run over a row from left to right as in the reference, so that equal scores are equal to the last digit.
        """
        mean: Floats = self.of(answers[:, None], np.ascontiguousarray(others)).mean(axis=1)
        return -np.sqrt(-mean) if self.score == "neg-rmse" else mean
