from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.analysis.stress import StressCount, StressItem, stress_cells
from nikawa.metrics import Items, metrics
from nikawa.stats.resample import Resampleable


def same(before: Sequence[Any], after: Sequence[Any]) -> Resampleable:
    return metrics()["accuracy"].evaluate(Items(before, after), "official")


def item(operation: str, case: str, before: str, after: str, **more: Any) -> StressItem:
    return StressItem(
        operation,
        case,
        more.pop("gold", "entailment"),
        more.pop("unit", "u"),
        before,
        after,
        **more,
    )


def at(found: list[StressCount], *place: str) -> StressCount:
    (cell,) = [c for c in found if (c.operation, c.case, c.gold) == place]
    return cell


def test_cases_are_pooled_over_items_not_over_cases() -> None:
    items = [item("swap", "o", "a", "a")] * 3 + [item("swap", "ni", "a", "b")]
    found = stress_cells(items, same, resamples=100)
    assert at(found, "swap", "", "").value == 75.0
    assert at(found, "swap", "ni", "").value == 0.0


def test_people_stand_beside_the_model_on_their_items() -> None:
    items = [
        item("swap", "o", "a", "a", human=("x", "y")),
        item("swap", "o", "a", "a", human=("x", "x")),
        item("swap", "o", "a", "b"),
    ]
    cell = at(stress_cells(items, same, resamples=100), "swap", "o", "")
    assert (cell.human, cell.judged, cell.human_n) == (50.0, 100.0, 2)
    assert cell.value is not None
    assert round(cell.value, 1) == 66.7


def test_an_operation_without_cases_has_no_row_a_case() -> None:
    found = stress_cells([item("width-full", "", "a", "a")], same, resamples=100)
    assert [(c.case, c.gold) for c in found] == [("", ""), ("", "entailment")]


def test_to_neutral_counts_what_was_something_else() -> None:
    answers = [("a", "neutral"), ("a", "a"), ("neutral", "neutral"), (None, "neutral")]
    items = [item("swap", "o", *pair) for pair in answers]  # type: ignore[arg-type]
    assert (
        at(stress_cells(items, same, neutral=True, resamples=100), "swap", "", "").to_neutral
        == 50.0
    )
    assert at(stress_cells(items, same, resamples=100), "swap", "", "").to_neutral is None


def test_the_premise_is_the_unit_of_resampling() -> None:
    answers = [("a", "a")] * 20 + [("a", "b")] * 20
    alone = [item("swap", "o", *pair, unit=str(i)) for i, pair in enumerate(answers)]
    grouped = [
        item("swap", "o", *pair, unit=pair[1] + str(i % 6)) for i, pair in enumerate(answers)
    ]
    spread = []
    for items in (alone, grouped):
        cell = at(stress_cells(items, same, resamples=2000), "swap", "o", "")
        assert cell.value == 50.0
        assert cell.low is not None
        assert cell.high is not None
        spread.append(cell.high - cell.low)
    assert spread[0] < spread[1]


def test_a_correlation_of_one_item_or_of_a_constant_is_none() -> None:
    def pearson(before: Sequence[Any], after: Sequence[Any]) -> Resampleable:
        return metrics()["pearson"].evaluate(Items(before, after), "documented")

    one = [StressItem("swap", "o", "", "u", 1.0, 2.0)]
    flat = [StressItem("swap", "o", "", str(i), 1.0, float(i)) for i in range(5)]
    for items in (one, flat):
        assert {c.value for c in stress_cells(items, pearson, resamples=100)} == {None}
    steep = [StressItem("swap", "o", "", str(i), float(i), 2.0 * i) for i in range(5)]
    value = stress_cells(steep, pearson, resamples=100)[0].value
    assert value is not None
    assert np.isclose(value, 100)
