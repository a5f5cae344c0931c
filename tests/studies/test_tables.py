"""The tables of the studies: what follows what."""

from __future__ import annotations

from typing import Any

from studies._tables import stress_table


def cell(operation: str, case: str = "", gold: str = "", value: float = 50.0) -> dict[str, Any]:
    return {"operation": operation, "case": case, "gold": gold, "n": 7, "value": value, "to_neutral": None}


def rows(*stress: dict[str, Any]) -> list[str]:
    """The rows, without the task and what follows the labels."""
    lines = stress_table([{"stress": [{"found": one, "source": ""} for one in stress]}]).splitlines()[2:]
    return [" ".join(line.strip("| ").split(" | ")[1:4]) for line in lines]


def test_the_stress_test_is_told_by_operation_then_case_then_label() -> None:
    met = [
        cell("swap"), cell("swap", "de"), cell("delete", "", "neutral"), cell("delete", "o", "contradiction"),
        cell("delete", "o"), cell("delete", "", "entailment"), cell("delete", "ni"), cell("delete"), cell("swap", "o"),
        cell("delete", "", "contradiction"), cell("delete", "o", "entailment"), cell("delete", "de"),
    ]  # fmt: skip
    assert rows({"task": "t", "cells": met}) == [
        "delete all all", "delete all entailment", "delete all contradiction", "delete all neutral", "delete o all",
        "delete o entailment", "delete o contradiction", "delete de all", "delete ni all", "swap all all", "swap o all",
        "swap de all",
    ]  # fmt: skip


def test_systems_of_the_stress_test_stay_apart() -> None:
    first, second = ({"task": t, "cells": [cell("swap"), cell("delete")]} for t in ("b", "a"))
    assert rows(first, second) == ["delete all all", "swap all all"] * 2
