"""Splits that lack a label or hold one only."""

from __future__ import annotations

from typing import Any

import pytest

from nikawa.checks.label_balance import label_findings
from nikawa.datasets import tasks
from nikawa.records import Example


def items(*golds: Any, question: str = "label") -> list[Example]:
    return [
        Example(id=str(n), inputs={"text": f"{n}"}, gold={} if gold is None else {question: gold})
        for n, gold in enumerate(golds)
    ]


def found(splits: dict[str, list[Example]], **more: Any) -> list[tuple[str, str, int]]:
    return [(f.check, f.where, f.count) for f in label_findings(splits, **more)]


def test_one_label_and_too_few() -> None:
    splits = {"train": items("a", "b", "c"), "dev": items("a", "a"), "test": items("b", "c", "c")}
    assert found(splits) == [("single-label", "dev", 2), ("lacking-labels", "test", 1)]


def test_labels_of_a_task_count_where_the_gold_is_of_it() -> None:
    task = tasks()["jnli"]
    splits = {"train": items("entailment", "neutral")}
    assert found(splits, tasks=(task,)) == [("lacking-labels", "train", 1)]
    assert found({"train": items("yes", "no")}, tasks=(task,)) == []


def test_a_split_without_gold_lacks_nothing() -> None:
    assert found({"train": items("a", "b"), "test": items(None, None)}) == []
    assert found({"train": items("a", "b"), "test": items("a")}) == [("lacking-labels", "test", 1)]


@pytest.mark.parametrize("golds", [(0.5, 1.0, 4.8), (["a"], ["b"], ["a"]), ({"heads": [0]},) * 3])
def test_what_is_no_label_is_left_aside(golds: tuple[Any, ...]) -> None:
    assert found({"train": items(*golds), "dev": items(*golds[:2])}) == []


def test_free_texts_are_no_labels() -> None:
    texts = [f"答え{n}" for n in range(150)]
    assert found({"train": items(*texts[:100]), "dev": items(*texts[100:])}) == []


def test_places_of_choices_need_not_all_be_met() -> None:
    splits = {"train": items(0, 1, 2, question="choice"), "dev": items(1, 2, question="choice")}
    assert found(splits) == []
    splits["dev"] = items(1, 1, question="choice")
    assert found(splits) == [("single-label", "dev", 2)]


def test_several_questions_are_told_apart() -> None:
    both = [*items("a", "b"), *items("x", "y", question="topic")]
    splits = {"train": both, "dev": [*items("a", "b"), *items("x", "x", question="topic")]}
    assert found(splits) == [("single-label", "topic in dev", 2)]
