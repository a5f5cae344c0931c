from __future__ import annotations

from typing import Any

import pytest

from nikawa.checks.schema import mixed_types, type_name
from nikawa.records import Example, Span


def found(*values: Any, part: str = "gold") -> dict[str, tuple[int, tuple[str, ...]]]:
    examples = [
        Example(
            id=str(n),
            inputs={"a": v} if part == "inputs" else {},
            gold={"a": v} if part == "gold" else {},
        )
        for n, v in enumerate(values)
    ]
    return {f.where: (f.count, f.ids) for f in mixed_types("zoo", "dev", examples)}


@pytest.mark.parametrize("part", ["inputs", "gold"])
def test_the_rarer_type_is_told(part: str) -> None:
    assert found(1.0, "x", 2, part=part) == {f"{part}.a in dev": (1, ("zoo:dev/1",))}


@pytest.mark.parametrize(
    "values",
    [(1.0, 2), ("x", "y"), ([], ["x"]), ([Span(0, 1)], []), ({"heads": []}, {}), (True, False)],
)
def test_one_type_is_no_finding(values: tuple[Any, ...]) -> None:
    assert found(*values) == {}


@pytest.mark.parametrize("other", ["x", True, None, ["x"], {"x": 1}, Span(0, 1)])
def test_no_type_passes_for_a_number(other: Any) -> None:
    assert found(1.0, other, 2.0)["gold.a in dev"][0] == 1


def test_lists_are_told_apart_by_what_they_hold() -> None:
    assert type_name(["x", "y"]) == "list of text"
    assert type_name(["x", 1]) == "list of number and list of text"
    assert found(["x"], ["y"], ["x", 1])["gold.a in dev"] == (1, ("zoo:dev/2",))


def test_the_note_counts_each_type() -> None:
    examples = [Example(id=str(n), inputs={"a": v}) for n, v in enumerate(("x", 1, "y"))]
    (finding,) = mixed_types("zoo", "dev", examples)
    assert finding.note == "2 text, 1 number"
