"""Pairs, similarity and what texts share."""

from __future__ import annotations

import random
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput
from nikawa.models import Trainable, model
from nikawa.models.base import draw_number
from nikawa.models.linear import LinearModel
from nikawa.models.pairs import Overlap, common_subsequence_length
from nikawa.records import Example, Kind, Task


def fitted(name: str, task: Task, examples: Any, **settings: Any) -> Trainable:
    found = model(name, settings=settings)
    assert isinstance(found, Trainable)
    found.fit(task, examples)
    return found


def by_table(one: str, other: str) -> int:
    """The longest common subsequence as the textbook has it."""
    row = [0] * (len(other) + 1)
    for a in one:
        last = 0
        for j, b in enumerate(other, start=1):
            last, row[j] = row[j], last + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


def test_the_longest_common_subsequence() -> None:
    draw = random.Random(3)
    for _ in range(200):
        one, other = ("".join(draw.choices("あいうえ", k=draw.randrange(9))) for _ in range(2))
        assert common_subsequence_length(one, other) == by_table(one, other)
        longest = SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size
        assert longest <= common_subsequence_length(one, other)


def test_figures_of_overlap() -> None:
    left, right = ["ねこが鳴く", "ねこ", ""], ["ねこが鳴く", "いす", "ねこ"]
    overlap = Overlap(2).fit(left, right)
    figures = overlap.figures(left, right, overlap.counts(left, right))
    assert np.isfinite(figures).all()
    same, other, empty = figures[:, 0]
    assert (same, other, empty) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["pair-linear", "char-linear"])
def test_a_pair_model_tells_what_each_text_alone_does_not(
    name: str, invented: Mapping[Kind, Any]
) -> None:
    """Labels that hang on both texts: the same two hypotheses under the two premises, crosswise."""
    names = ["ねこ", "いぬ", "とり", "うま", "さる", "うし"]
    pairs = [(a, b) for a in names for b in names]
    made = [
        Example(
            id=f"{a}{b}",
            inputs={"premise": f"{a}が走る", "hypothesis": f"{b}が走る"},
            gold={"label": "entailment" if a == b else "neutral"},
        )
        for a, b in pairs
        if a == b or (names.index(b) - names.index(a)) % 6 == 1
    ]
    task = replace(invented["inference"].task, labels=("entailment", "neutral"))
    found = fitted(name, task, made, longest=2)
    right = sum(
        p.answer == e.gold["label"] for p, e in zip(found.predict(task, made), made, strict=True)
    )
    assert (right == len(made)) is (name == "pair-linear")


def test_pairs_are_learned(invented: Mapping[Kind, Any]) -> None:
    for kind in ("inference", "similarity"):
        case = invented[kind]
        answers = fitted("pair-linear", case.task, case.learn).predict(case.task, case.ask)
        gold = [e.gold[case.task.question] for e in case.ask]
        if kind == "inference":
            assert [a.answer for a in answers] == gold
        else:
            assert np.corrcoef([a.answer for a in answers], gold)[0, 1] > 0.95


def test_one_input_is_enough(invented: Mapping[Kind, Any]) -> None:
    case = invented["inference"]
    task = replace(case.task, inputs=("hypothesis",))
    found = fitted(
        "pair-linear",
        task,
        [replace(e, inputs={"hypothesis": e.inputs["hypothesis"]}) for e in case.learn],
    )
    told = [replace(e, inputs={**e.inputs, "premise": "何も言わない"}) for e in case.ask]
    assert found.predict(task, told) == found.predict(task, case.ask)


def test_overlap_needs_two_texts(invented: Mapping[Kind, Any]) -> None:
    case = invented["similarity"]
    with pytest.raises(BadInput, match="compares two texts"):
        fitted("char-overlap", replace(case.task, inputs=("sentence1",)), case.learn)
    with pytest.raises(BadInput, match="does not answer inference"):
        fitted("char-overlap", replace(case.task, kind="inference"), case.learn)


def test_settings_are_checked() -> None:
    with pytest.raises(BadInput, match="strength"):
        model("pair-linear", settings={"strength": -1})
    with pytest.raises(BadInput, match="no setting 'depth'"):
        model("char-overlap", settings={"depth": 2})


def test_weights_follow_the_metric() -> None:
    """Nine to one: accuracy is content with the frequent label, a correlation is not."""
    draw = np.random.default_rng(0)
    gold = ["rare" if i % 8 == 0 else "usual" for i in range(400)]
    rows = np.array([[draw.normal(1.0 if label == "rare" else 0.0)] for label in gold])
    task = Task(
        name="t", dataset="d", kind="text", question="q", inputs=("text",), metrics=("accuracy",)
    )
    asked = [Example(id=str(i), inputs={}) for i in range(400)]
    keys = [e.id for e in asked]

    def rare(measured: Task) -> int:
        linear = LinearModel(0, strength=None, penalty=1.0)
        linear.fit(measured, rows, gold, keys)
        answers = linear.predict(measured, rows, asked)
        assert all(a.scores and a.scores[a.answer] == max(a.scores.values()) for a in answers)
        return sum(a.answer == "rare" for a in answers)

    assert rare(task) == rare(replace(task, metrics=("accuracy", "mcc"))) < 20
    assert rare(replace(task, metrics=("mcc", "accuracy"))) > 20
    assert draw_number(0, "a") == draw_number(0, "a") != draw_number(1, "a")


@pytest.mark.slow
def test_jsick(shared_data: Path) -> None:
    """Trained on train alone; bag-of-characters features reach 84.3, the best model of the paper's Table 8 77.3."""
    splits = load("jsick", data=shared_data).splits
    for name, least in (("jsick-nli", 0.865), ("jsick-sts", 0.865)):
        task = tasks()[name]
        answers = fitted("pair-linear", task, splits["train"]).predict(task, splits["test"])
        gold = [e.gold[task.question] for e in splits["test"]]
        if name == "jsick-nli":
            reached = float(np.mean([a.answer == g for a, g in zip(answers, gold, strict=True)]))
        else:
            reached = float(np.corrcoef([a.answer for a in answers], gold)[0, 1])
        assert reached >= least
    task = replace(tasks()["jsick-nli"], inputs=("hypothesis",))
    answers = fitted("pair-linear", task, splits["train"]).predict(task, splits["test"])
    right = [a.answer == e.gold["label"] for a, e in zip(answers, splits["test"], strict=True)]
    assert np.mean(right) == pytest.approx(0.618, abs=0.01)
