"""Each answer against the rest: labels, numbers, texts, sets; ties marked; soft labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nikawa.aggregation.human import (
    all_texts,
    draw_leader,
    elements_of_half,
    find_combination,
    leave_one_out,
    majority_answer,
    mean_answer,
)
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import apply_rule, entropy, name_shares, soft_labels, vote_shares
from nikawa.errors import BadInput
from nikawa.records import Judgement, Span


def judged(*items: list[Any]) -> list[Judgement]:
    return [
        Judgement(example=str(i), worker=f"w{w}", question="q", answer=answer)
        for i, answers in enumerate(items)
        for w, answer in enumerate(answers)
    ]


def test_labels() -> None:
    left = leave_one_out(judged(["a", "a", "b"], ["a"], ["b", "b", "b"]), majority_answer)
    assert left.answers == ["a", "a", "b", "b", "b", "b"]
    assert left.tied == [True, True, False, False, False, False]
    assert [left.gold[i] for i in left.untied()] == ["a", "b", "b", "b"]
    assert left.alone == 1
    assert left.gold[0] in ("a", "b")


def test_a_lot_depends_on_its_key_alone() -> None:
    drawn = {draw_leader(["a", "b", "c", "a", "b"], str(key)) for key in range(50)}
    assert drawn == {"a", "b"}
    assert draw_leader(["b", "a"], "k") == draw_leader(["a", "b"], "k")


def test_numbers_texts_and_sets() -> None:
    assert leave_one_out(judged([1, 2, 6]), mean_answer).gold == [4.0, 3.5, 1.5]
    assert leave_one_out(judged(["川", "山", ""]), all_texts).gold[0] == [
        {"text": "山", "start": 0}
    ]
    one, two = {"start": 0, "end": 2, "label": "PS"}, {"start": 3, "end": 4, "label": "LC"}
    assert elements_of_half([[one, two], [one], [one]]) == [Span(**one)]  # type: ignore[arg-type]
    assert elements_of_half([["a-b-c"], ["a-b-c", "a-d-e"]]) == ["a-b-c", "a-d-e"]


def test_what_cannot_be_combined() -> None:
    with pytest.raises(BadInput, match="tree answers"):
        find_combination("tree")
    with pytest.raises(BadInput, match="no item has two"):
        leave_one_out(judged(["a"]), majority_answer)
    with pytest.raises(BadInput, match="no judgements"):
        leave_one_out([], majority_answer)


def test_soft_labels_keep_every_vote() -> None:
    table = Table.from_columns([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], list("aabbb"))
    shares = vote_shares(table)
    assert shares == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    assert entropy(shares) == pytest.approx([0.918296, 0], abs=1e-6)
    assert name_shares(shares[1], table.categories) == {"b": 1.0}
    assert soft_labels(apply_rule(table, "majority")) == pytest.approx(shares)
    fitted = apply_rule(table, "dawid-skene")
    assert fitted.fit is not None
    assert soft_labels(fitted) is fitted.fit.posterior
