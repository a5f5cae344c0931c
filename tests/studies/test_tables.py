"""The tables of the studies: what follows what."""

from __future__ import annotations

from typing import Any

from studies._pairs import Contest
from studies._tables import fewer_seeds, figures, stress_table

from nikawa.runs.job import RunCell


def cell(operation: str, case: str = "", gold: str = "", value: float = 50.0) -> dict[str, Any]:
    return {
        "operation": operation,
        "case": case,
        "gold": gold,
        "n": 7,
        "value": value,
        "to_neutral": None,
    }


def rows(*stress: dict[str, Any]) -> list[str]:
    """The rows, without the task and what follows the labels."""
    lines = stress_table(
        [{"stress": [{"found": one, "source": ""} for one in stress]}]
    ).splitlines()[2:]
    return [" ".join(line.strip("| ").split(" | ")[1:4]) for line in lines]


def test_the_stress_test_is_told_by_operation_then_case_then_label() -> None:
    met = [
        cell("swap"),
        cell("swap", "de"),
        cell("delete", "", "neutral"),
        cell("delete", "o", "contradiction"),
        cell("delete", "o"),
        cell("delete", "", "entailment"),
        cell("delete", "ni"),
        cell("delete"),
        cell("swap", "o"),
        cell("delete", "", "contradiction"),
        cell("delete", "o", "entailment"),
        cell("delete", "de"),
    ]
    assert rows({"task": "t", "cells": met}) == [
        "delete all all",
        "delete all entailment",
        "delete all contradiction",
        "delete all neutral",
        "delete o all",
        "delete o entailment",
        "delete o contradiction",
        "delete de all",
        "delete ni all",
        "swap all all",
        "swap o all",
        "swap de all",
    ]


def test_systems_of_the_stress_test_stay_apart() -> None:
    first, second = ({"task": t, "cells": [cell("swap"), cell("delete")]} for t in ("b", "a"))
    assert rows(first, second) == ["delete all all", "swap all all"] * 2


def contest(metric: str, difference: float, p: float) -> Contest:
    return Contest(
        "t", "", "test", metric, "a", "b", difference, difference - 0.01, difference + 0.01, p
    )


def test_differences_have_as_many_digits_as_their_figures() -> None:
    told = figures(
        ("task", "pearson", "mse"),
        [["t", contest("pearson", 1.5, 0.2), contest("mse", -0.0177, 0.0)]],
        1,
    )
    head, rule, row = told.splitlines()
    assert (head, rule) == ("| task | pearson | mse |", "| --- | ---: | ---: |")
    assert (
        row
        == "| t | +1.50 (+1.49 to +1.51), p 0.200 | **-0.0177 (-0.0277 to -0.0077), p <0.001** |"
    )


def figure_of(task: str, model: str, seeds: int) -> RunCell:
    return RunCell(
        task=task,
        model=model,
        variation="",
        settings={},
        set="test",
        where="",
        metric="accuracy",
        unit="percent",
        mean=50.0,
        sd=1.0,
        low=None,
        high=None,
        seeds=tuple(range(seeds)),
        n=9,
        answered=9,
        asked=9,
        unanswered=0,
        protocol="",
        runs=(),
    )


def test_figures_that_rest_on_fewer_seeds_are_told() -> None:
    cells = [
        figure_of("a", "encoder:m", 3),
        figure_of("b", "encoder:m", 2),
        figure_of("b", "baseline", 2),
    ]
    assert fewer_seeds(cells, {"encoder:m": "mine"}) == "Not all seeds are done: b mine (2 of 3)."
    assert fewer_seeds(cells[:1], {}) == ""
