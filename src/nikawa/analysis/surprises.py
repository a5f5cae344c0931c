"""The most surprising errors: sure and wrong, far from gold, or wholly missed, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2
from typing import Any

import msgspec
import numpy as np

from nikawa.analysis.results import Surprise
from nikawa.records import Example
from nikawa.stats.resample import Floats, Ints

LEAST = 1e-12
"""The smallest probability a surprise is told of."""


def by_probability(
    examples: Sequence[Example],
    labels: Sequence[Any],
    probabilities: Floats,
    gold: Ints,
    answers: Ints,
) -> list[Surprise]:
    """Wrong answers by how little probability gold got.

    `probabilities` (runs, items, labels) and `answers` (runs, items) are places in `labels`. An item counts as wrong where more than
    half of the runs are.
    """
    mean = probabilities.mean(axis=0)
    wrong = (answers != gold).sum(axis=0)
    found = []
    for i in np.flatnonzero((2 * wrong > len(answers)) & (gold >= 0)).tolist():
        given = answers[:, i][(answers[:, i] != gold[i]) & (answers[:, i] >= 0)]
        if not len(given):  # no wrong run could be read
            continue
        answer = int(np.bincount(given).argmax())
        p_gold = float(mean[i, gold[i]])
        found.append(
            _surprise(
                examples[i],
                labels[gold[i]],
                labels[answer],
                int(wrong[i]),
                p_gold=p_gold,
                p_answer=float(mean[i, answer]),
                bits=-log2(max(p_gold, LEAST)),
            )
        )
    return sorted(found, key=lambda s: (-(s.bits or 0), s.example))


def by_error(
    examples: Sequence[Example], gold: Sequence[float], answers: Floats, step: float = 1.0
) -> list[Surprise]:
    """Scores by how far their mean over runs is from gold; a run is wrong where it is more than `step` off."""
    mean = answers.mean(axis=0)
    errors = np.abs(mean - np.asarray(gold))
    wrong = (np.abs(answers - np.asarray(gold)) > step).sum(axis=0)
    order = np.argsort(-errors, kind="stable")
    return [
        _surprise(examples[i], gold[i], float(mean[i]), int(wrong[i]), error=float(errors[i]))
        for i in order
        if wrong[i]
    ]


def by_score(
    examples: Sequence[Example],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    details: Floats,
) -> list[Surprise]:
    """Items by what their score (runs by items, best is 1) lacks on the mean."""
    lacks = 1 - details.mean(axis=0)
    order = sorted(np.flatnonzero(lacks > 0).tolist(), key=lambda i: (-lacks[i], examples[i].id))
    wrong = (details < 1).sum(axis=0)
    return [
        _surprise(
            examples[i],
            gold[i],
            most_frequent([run[i] for run in answers]),
            int(wrong[i]),
            error=float(lacks[i]),
        )
        for i in order
    ]


def most_frequent(answers: Sequence[Any]) -> Any:
    """The answer given most often, of equals the first."""
    keys = [msgspec.json.encode(answer) for answer in answers]
    return answers[keys.index(Counter(keys).most_common(1)[0][0])]


def _surprise(example: Example, gold: Any, answer: Any, wrong: int, **numbers: float) -> Surprise:
    return Surprise(
        example=example.id,
        gold=gold,
        answer=answer,
        wrong=wrong,
        tags=tuple(sorted(example.tags)),
        meta=example.meta,
        inputs=example.inputs,
        **numbers,
    )
