"""Area under the precision-recall curve of KLUE-RE.

For each of the 30 relations (no_relation among them) the trapezoid area under precision against recall, from
scores sorted downwards with ties taken together; then the plain mean. Not average precision, which sums
rectangles. A relation without gold has no recall: the pinned reference gives NaN for the whole, which
`official` does too; `documented` is the mean over the relations that have gold.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.metrics.base import Floats, Ints, Items, Metric, Mode, Weighted, encode_labels, ratio

BLOCK_SIZE = 64
"""Resamples worked on at once: few, so that a block of weights stays in the processor's cache."""


class PrecisionRecallCurve:
    """The runs of equal scores of one relation that contain a gold item.

    Recall rises only at these, so the area is a sum over them; everything between two of them enters as
    one sum of weights.
    """

    def __init__(self, scores: Floats, gold: NDArray[np.bool_]) -> None:
        self.order = np.argsort(-scores)
        ranked, hit = scores[self.order], gold[self.order]
        starts = np.flatnonzero(np.append(True, np.diff(ranked) != 0))
        self.gold = self.order[hit]
        run = np.searchsorted(starts, np.flatnonzero(hit), side="right") - 1
        self.runs, self.firsts = np.unique(run, return_index=True)
        begin = starts[self.runs]
        end = np.append(starts[1:], len(ranked))[self.runs]
        self.bounds = np.unique(np.concatenate([[0], begin, end]))
        self.bounds = self.bounds[self.bounds < len(ranked)]
        self.begin, self.end = (
            np.searchsorted(self.bounds, begin),
            np.searchsorted(self.bounds, end),
        )

    def area(self, weights: Floats) -> Floats:
        """Area for each column of item weights; NaN where no gold item has weight."""
        if not len(self.gold):
            return np.full(weights.shape[1], np.nan)
        hits = np.add.reduceat(weights[self.gold], self.firsts, axis=0)
        reached = np.cumsum(hits, axis=0)
        parts = np.add.reduceat(weights[self.order], self.bounds, axis=0)
        nothing = np.zeros((1, weights.shape[1]))
        above = np.concatenate([nothing, np.cumsum(parts, axis=0)])
        at_end = ratio(reached, above[self.end], 1.0)
        at_begin = ratio(reached - hits, above[self.begin], 1.0)
        precision = at_end + at_begin
        return ratio((hits * precision).sum(axis=0) / 2, reached[-1], np.nan)


def area(scores: Floats, gold: NDArray[np.bool_]) -> float:
    """Area of one relation, every item counted once; NaN without a gold item."""
    if not gold.any():
        return float("nan")
    ranked = np.sort(scores)
    own, hits = (x[::-1] for x in np.unique(scores[gold], return_counts=True))
    total = np.cumsum(hits)
    reached = len(ranked) - np.searchsorted(ranked, own, side="left")
    passed = len(ranked) - np.searchsorted(ranked, own, side="right")
    before = ratio((total - hits).astype(np.float64), passed.astype(np.float64), 1.0)
    precision = total / reached + before
    return float((hits * precision).sum() / 2 / total[-1])


def auprc_of(probabilities: Floats, gold: Ints, mode: Mode) -> Weighted:
    """AUPRC from a matrix of scores (items by relations) and gold indices."""
    columns = np.ascontiguousarray(probabilities.T)
    curves = cache(
        lambda: [PrecisionRecallCurve(column, gold == c) for c, column in enumerate(columns)]
    )

    def weigh(weights: Floats) -> Floats:
        means = []
        for start in range(0, len(weights), BLOCK_SIZE):
            block = np.ascontiguousarray(weights[start : start + BLOCK_SIZE].T)
            areas_drawn = np.stack([curve.area(block) for curve in curves()])
            means.append(_mean_area(areas_drawn, mode))
        return np.concatenate(means)

    areas = np.array([[area(column, gold == c)] for c, column in enumerate(columns)])
    value = float(_mean_area(areas, mode)[0]) if len(gold) else float("nan")
    return Weighted(weigh, value)


def _mean_area(areas: Floats, mode: Mode) -> Floats:
    if mode == "official":
        mean: Floats = areas.mean(axis=0)
        return mean
    known = ~np.isnan(areas)
    total = np.where(known, areas, 0).sum(axis=0)
    return ratio(total, known.sum(axis=0).astype(np.float64), np.nan)


def auprc(items: Items, mode: Mode = "official") -> Weighted:
    """AUPRC from the scores by label that the answers carry."""
    if len(items.scores) != len(items.gold) or any(score is None for score in items.scores):
        raise BadInput(
            "AUPRC needs a score for every relation",
            cure="add `scores` to each answer, or leave auprc out",
        )
    rows = [
        [score.get(label, 0.0) for label in items.labels]
        for score in items.scores
        if score is not None
    ]
    gold = encode_labels(items.gold, items.labels)
    return auprc_of(np.array(rows, dtype=np.float64), gold, mode)


RELATION_COUNT = 30


def golden_case(case: dict[str, list[list[float]] | list[int]]) -> dict[str, float]:
    """The area in percent, with the pinned scikit-learn and with a newer one."""
    probabilities = np.array(case["probs"], dtype=np.float64)
    codes = np.array(case["gold"] if "gold" in case else case["labels"], dtype=np.int64)
    if (
        probabilities.ndim != 2
        or probabilities.shape[1] < RELATION_COUNT
        or len(probabilities) != len(codes)
    ):
        raise BadInput("an item does not have 30 scores", cure="add a score for every relation")
    probabilities = probabilities[:, :RELATION_COUNT]
    gold = np.arange(RELATION_COUNT)[
        codes
    ]  # so the reference: -1 is the last relation, 30 an error
    areas = np.array([area(probabilities[:, c], gold == c) for c in range(RELATION_COUNT)])
    return {
        "sklearn_0.24.1": auprc_of(probabilities, gold, "official").value * 100,
        "sklearn_1.9.1": float(np.where(np.isnan(areas), 0.5, areas).mean()) * 100,
    }


NO_GOLD = "The reference is NaN when a relation has no gold item; the documented metric averages over the others."
METRICS = (
    Metric(
        "auprc",
        auprc,
        "Area under precision against recall, mean over relations.",
        NO_GOLD,
        kinds=("relation",),
        slow=True,
        needs_scores=True,
    ),
)
GOLDEN = {"klue_re_auprc": golden_case}
