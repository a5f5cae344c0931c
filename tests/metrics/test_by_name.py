"""`nk.Metric(NAME)(answers, gold)`: the value of `nikawa score`, and the score of each item."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import nikawa as nk
import nikawa.metrics.base
from nikawa.datasets.names import tasks
from nikawa.errors import BadInput, UnknownName
from nikawa.metrics import Evaluation, Items, Metric, MetricResult, Mode, metrics
from nikawa.metrics.base import mean
from nikawa.records import Prediction, Span
from nikawa.scoring.score import AnsweredTask

ANSWERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "inference": lambda inputs: "neutral",
    "similarity": lambda inputs: (
        5.0 / (1 + abs(len(inputs["sentence1"]) - len(inputs["sentence2"])))
    ),
    "reading": lambda inputs: inputs["context"][:4],
    "tagging": lambda inputs: [Span(0, 2, "PS")],
}
"""Answers without a model, right now and then."""


def test_examples_are_true() -> None:
    assert doctest.testmod(nikawa.metrics.base).failed == 0


def test_a_name_is_the_registered_metric() -> None:
    for name in metrics():
        assert Metric(name) is metrics()[name]
    assert nk.Metric is Metric
    assert repr(Metric("accuracy")) == "Metric('accuracy'): Share of items with the correct answer."
    with pytest.raises(UnknownName, match="there is no metric 'acuracy'; did you mean 'accuracy'"):
        Metric("acuracy")


def test_a_declaration_makes_a_new_one() -> None:
    def always_right(items: Items, mode: Mode) -> Evaluation:
        return mean(np.ones(len(items.gold)))

    mine = Metric("mine", always_right, "All is well.")
    assert mine(["a"], ["b"]).value == 1.0
    assert replace(mine, name="other").evaluate is always_right
    with pytest.raises(TypeError, match="the metric 'mine' has no function"):
        Metric("mine", about="Nothing.")


@pytest.mark.parametrize(
    "name", ["mini-ja-nli", "mini-ja-sts", "mini-ja-qa", "mini-ko-qa", "mini-ko-ner"]
)
def test_the_value_is_that_of_score(name: str) -> None:
    task = tasks()[name]
    examples = [e for e in nk.load(f"{task.dataset}:dev").splits["dev"] if task.asks(e)]
    answers = [
        Prediction(example=example.id, answer=ANSWERS[task.kind](example.inputs))
        for example in examples
    ]
    gold = {example.id: example.gold[task.question] for example in examples}
    for metric in task.metrics:
        result = Metric(metric)(
            answers, gold, labels=task.labels, inputs=[example.inputs for example in examples]
        )
        part = AnsweredTask.pair(task, examples, {answer.example: answer for answer in answers})
        expected, _ = part.evaluate(metrics()[metric], "official")
        assert result.value == pytest.approx(expected.value, nan_ok=True)
        assert result.n == len(result.items) == len(examples)


def test_lists_columns_and_mappings() -> None:
    gold, answers = ["a", "b", "b"], ["a", "a", None]
    result = Metric("accuracy")(answers, gold)
    assert (result.value, result.detail, result.n) == (1 / 3, [1.0, 0.0, 0.0], 3)
    assert float(result) == 1 / 3
    assert [item.id for item in result.items] == ["0", "1", "2"]
    by_id = Metric("accuracy")(
        dict(zip("xyz", answers, strict=True)), dict(zip("xyz", gold, strict=True))
    )
    assert by_id.value == 1 / 3
    predictions = [
        Prediction(example=i, answer=a) for i, a in zip("zyxq", ["b", "a", "a", "b"], strict=True)
    ]
    matched = Metric("accuracy")(predictions, dict(zip("xyz", gold, strict=True)))
    assert [item.answer for item in matched.items] == ["a", "a", "b"]
    assert matched.unknown == ("q",)
    assert "unknown q" in repr(matched)


def test_a_frame_in_and_out() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"gold": [1.0, 2.0, 3.0, 5.0], "answer": [1, 2, None, 4]})
    result = Metric("pearson")(frame["answer"], frame["gold"])
    assert result.value == pytest.approx(57 / math.sqrt(42 * 78))
    assert result.detail == [0, 0, None, 1]
    table = result.to_pandas()
    assert table.columns.tolist() == ["id", "gold", "answer", "score"]
    assert len(table) == 4
    assert "<table>" in result._repr_html_()


def test_shapes_of_spans_and_readings() -> None:
    span = {"start": 0, "end": 2, "label": "PS"}
    texts = [{"text": "花子は東京へ行く"}]
    assert Metric("entity-macro-f1")([[span]], [[span]], inputs=texts).value == 1.0
    assert Metric("jsquad-f1")(["東京"], ["東京都"]).value == pytest.approx(0.8)
    assert Metric("jsquad-em")(["東京"], [["京都", "東京"]]).value == 1.0


def test_undefined_is_nan() -> None:
    result = Metric("pearson")([1.0, 1.0], [1.0, 2.0])
    assert isinstance(result, MetricResult)
    assert math.isnan(result.value)


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    [
        ("accuracy", ([], []), "there are no items"),
        ("accuracy", (["a"], ["a", "b"]), "2 gold values, 1 answers"),
        ("accuracy", (["a"], [None]), "item '0' has no gold"),
        ("accuracy", ({"1": "a"}, ["a"]), "two lists, or two mappings by id"),
        ("accuracy", (1, 2), "two lists, or two mappings by id"),
        ("accuracy", (None, {"1": "a"}), "two lists, or two mappings by id"),
        ("accuracy", ([Prediction(example="1")] * 2, {"1": "a"}), "an item has two answers"),
        ("accuracy", (["a"], {"1": "a"}), "gold is a mapping by id, but the answers are not"),
        ("accuracy", ({}, {"1": "a", "2": "b"}), "2 of 2 items have no answer, such as 1, 2"),
        ("pearson", ([1], [1]), "there are 1 answers"),
        ("pearson", (["x", "y"], [1, 2]), "do not have the format that pearson needs"),
        ("jsquad-f1", ([1], [2]), "do not have the format that jsquad-f1 needs"),
        ("entity-macro-f1", ([[]], [[]]), "needs the input text of each item"),
        ("entity-macro-f1", ([[3]], [[]]), "an answer is not a list of spans"),
        ("auprc", (["a"], ["a"]), "needs the scores of each answer"),
    ],
)
def test_what_is_refused(metric: str, arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Metric(metric)(*arguments)


def test_a_mode_that_does_not_exist() -> None:
    with pytest.raises(UnknownName, match="there is no mode 'oficial'"):
        Metric("accuracy")(["a"], ["a"], mode="oficial")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="1 items, 2 inputs"):
        Metric("accuracy")(["a"], ["a"], inputs=[{}, {}])
