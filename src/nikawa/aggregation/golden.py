"""The functions behind the groups of a golden file that are about agreement and aggregation.

`nikawa conformance` compares them with the results of the reference implementations; the groups of metrics are in the metrics package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.alternative import AlternativeOptions, run_alternative_test
from nikawa.aggregation.closeness import Score
from nikawa.aggregation.kappa import fleiss_of_counts
from nikawa.aggregation.measure import Level
from nikawa.aggregation.spans import find_marks
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import round_number
from nikawa.errors import BadInput


def golden_alpha(matrix: Sequence[Sequence[Any]]) -> dict[str, Callable[[], float]]:
    """Alpha of a matrix of workers by items at each level, null for a missing answer."""
    cells = [
        (item, worker, answer)
        for worker, row in enumerate(matrix)
        for item, answer in enumerate(row)
        if answer is not None
    ]
    items, workers, answers = zip(*cells, strict=True)
    table = Table.from_columns(items, workers, answers)

    def value_at(level: Level) -> float:
        value = alpha(table, level).value
        if np.isnan(value):
            raise BadInput("only one answer occurs: agreement beyond chance is undefined")
        return value

    return {
        "nominal": lambda: value_at("nominal"),
        "ordinal": lambda: value_at("ordinal"),
        "interval": lambda: value_at("interval"),
    }


def golden_fleiss(counts: Sequence[Sequence[int]]) -> float:
    """Fleiss' kappa of counts of items by categories."""
    return fleiss_of_counts(np.array(counts, dtype=np.float64)).value


def klue_sts_labels(ratings: list[float]) -> dict[str, object]:
    """The published labels of a KLUE-STS pair from its ratings, as the released file has them."""
    real = round_number(sum(ratings) / len(ratings), "digits", 16)
    return {
        "real-label": real,
        "label": round_number(real, "round", 1),
        "binary-label": int(real >= 3),
        "agreement": ":".join(str(ratings.count(rating)) for rating in range(6)),
    }


SCORES: dict[str, Score] = {
    "accuracy": "equality",
    "neg_rmse": "neg-rmse",
    "rmse": "neg-rmse",
    "span_f1": "span-f1",
    "spans": "span-f1",
}
"""Names of scoring functions in a golden file."""


def golden_alternative_test(case: Mapping[str, Any]) -> dict[str, float]:
    """The alternative annotator test of answers by person and item, and of a machine's by item; null is no answer."""
    if case["scoring"] not in SCORES:
        raise BadInput(f"the scoring function {case['scoring']!r} is not known")
    columns = [*case["humans"].values(), case["machine"]]
    cells = [
        (item, worker, freeze_answer(answer))
        for worker, answers in enumerate(columns)
        for item, answer in answers.items()
        if answer is not None
    ]
    items, workers, answers = zip(*cells, strict=True)
    table = Table.from_columns(items, workers, answers)
    if len(columns) - 1 not in workers:
        raise BadInput("the machine has no answers")
    machine = max(range(len(table.workers)), key=table.workers.__getitem__)
    options = AlternativeOptions(
        epsilon=case.get("epsilon", 0.2),
        level=case.get("q", 0.05),
        min_persons=case.get("min_humans_per_item", 2),
        min_items=case.get("min_items_per_human", 30),
        score=SCORES[case["scoring"]],
    )
    persons = np.arange(len(table.workers)) != machine
    test = run_alternative_test(table, persons, machine, options)
    return {"winning_rate": test.winning_rate, "advantage_probability": test.advantage}


def freeze_answer(answer: Any) -> Any:
    """An answer as a table holds it: spans as marks, other lists as tuples."""
    if not isinstance(answer, list | dict):
        return answer
    marks = find_marks(answer)
    if marks is None and isinstance(answer, list):
        return tuple(sorted({tuple(part) if isinstance(part, list) else part for part in answer}))
    return answer if marks is None else tuple(sorted(set(marks)))


GOLDEN: dict[str, Callable[[Any], Any]] = {
    "agreement": golden_alpha,
    "fleiss_kappa": golden_fleiss,
    "klue_sts_label_rules": klue_sts_labels,
    "alternative_annotator_test": golden_alternative_test,
}
"""Group of a golden file to the function that answers its cases."""
