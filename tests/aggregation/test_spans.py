"""Votes on spans: thresholds, ties, what is refused, and what a person writes into the sheet."""

from __future__ import annotations

import pytest

from nikawa.aggregation.spans import Marks, format_mark, freeze_spans, parse_marks
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import ACCEPTED, DROPPED, TIED, apply_rule
from nikawa.errors import BadInput
from nikawa.records import Judgement, Span

A, B, LONG = (0, 2, "A"), (3, 5, "B"), (0, 4, "A")


def table_of(*answers: Marks) -> Table:
    """The answers of one item, a worker each."""
    return Table.from_judgements(
        freeze_spans(
            Judgement(
                example="i", worker=str(n), question="spans", answer=[Span(*mark) for mark in marks]
            )
            for n, marks in enumerate(answers)
        )
    )


@pytest.mark.parametrize(
    ("rule", "answers", "state", "gold"),
    [
        ("majority", [(A, B), (A,), (A, B)], ACCEPTED, (A, B)),
        ("majority", [(A, B), (A,), (A,)], ACCEPTED, (A,)),
        ("majority", [(A,), (B,), ()], ACCEPTED, ()),
        ("majority", [(A, B), (A,)], TIED, (A,)),
        ("majority", [(A,)], ACCEPTED, (A,)),
        ("votes:1", [(A,), (B,)], ACCEPTED, (A, B)),
        ("votes:1", [(A,), (LONG,)], TIED, (A, LONG)),
        ("votes:1", [(A, LONG), ()], ACCEPTED, (A, LONG)),
        ("votes:2/3", [(A,), (A,)], ACCEPTED, (A,)),
        ("votes:2/3", [(A,), ()], DROPPED, ()),
        ("votes:2/2", [(A,), (A,), (A,)], DROPPED, (A,)),
        ("votes:3/5", [(A,), (A,), (A,), (A,)], ACCEPTED, (A,)),
        ("votes:3/5", [(A, B), (A, B), (A,), (A,)], DROPPED, (A,)),
        ("majority+min:3", [(A,), (A,)], DROPPED, (A,)),
    ],
)
def test_thresholds(rule: str, answers: list[Marks], state: int, gold: Marks) -> None:
    found = apply_rule(table_of(*answers), rule)
    assert found.marks == [tuple(sorted(gold))]
    assert found.state.tolist() == [state]
    assert found.answers() == [
        [Span(*mark) for mark in sorted(gold)] if state == ACCEPTED else None
    ]


@pytest.mark.parametrize(
    "rule", ["mean", "dawid-skene", "majority+half", "majority+only:A", "first+majority"]
)
def test_other_rules_are_not_for_spans(rule: str) -> None:
    with pytest.raises(BadInput, match="is not for spans; spans are voted on one by one"):
        apply_rule(table_of((A,), (A,)), rule)


def test_ties_between_spans() -> None:
    table = table_of((A,), ())
    assert apply_rule(table, "majority", "drop").by_step() == {"ties:drop": 1}
    with pytest.raises(BadInput, match="cannot prefer a label"):
        apply_rule(table, "majority", "prefer:A")


@pytest.mark.parametrize("marks", [(A, B), ((0, 2, ""),), ((3, 9, "날짜 DT"),)])
def test_what_is_written_is_read(marks: Marks) -> None:
    assert parse_marks(", ".join(map(format_mark, marks))) == marks
    assert parse_marks(" None ") == ()
    assert parse_marks('[{"start": 3, "end": 5, "label": "B"}, {"start": 0, "end": 2}]') == (
        (0, 2, ""),
        B,
    )


@pytest.mark.parametrize("text", ["A", "[0]", "0-2:A, B", "4-2:A", "", "0-2:A,"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a list of spans; write 0-3:PS"):
        parse_marks(text)
