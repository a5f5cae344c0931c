"""Answers marked in a text and sets of labels: measures against plain formulas, votes, decisions, from file to gold."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from nikawa.aggregation.agree_job import AgreeOptions, agree
from nikawa.aggregation.decisions import Decision, DecisionBook, apply_decisions
from nikawa.aggregation.job import aggregate
from nikawa.aggregation.label_sets import LABEL_SETS, LabelSet, jaccard, masi
from nikawa.aggregation.marked_answers import MARKED_ANSWERS, Marked, overlap
from nikawa.aggregation.report import write_result
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import freeze_answers
from nikawa.aggregation.verdicts import apply_rule
from nikawa.aggregation.workers import quality
from nikawa.errors import BadInput
from nikawa.io.jsonl import encode_record
from nikawa.records import Judgement

NONE = {"text": "", "start": -1}


def judgements(answers: dict[str, list[Any]], question: str = "answers") -> list[Judgement]:
    return [
        Judgement(example=item, worker=f"w{n}", question=question, answer=answer)
        for item, given in answers.items()
        for n, answer in enumerate(given)
    ]


def table_of(answers: dict[str, list[Any]]) -> Table:
    return Table.from_judgements(freeze_answers(judgements(answers)))


def mark(text: str, start: int) -> dict[str, Any]:
    return {"text": text, "start": start}


MARKS = {
    "a": [mark("석유등", 25), mark("석유등을", 25), mark("석유", 25)],
    "b": [NONE, NONE, mark("전등", 34)],
    "c": [mark("섬", 0), mark("등대", 3), NONE],
    "d": [NONE, NONE, NONE],
}
SETS: dict[str, list[Any]] = {
    "a": [["sport", "world"], ["world", "sport"], ["sport"]],
    "b": [["world"], ["economy"], ["world", "economy"]],
    "c": [["economy"], ["sport", "world"]],
}


def values(kind: Any, answers: dict[str, list[Any]]) -> dict[str, float]:
    return {measure.name: measure.value for measure in kind.measures(table_of(answers))}


def test_marked_answers_are_measured_by_their_formula() -> None:
    found = values(MARKED_ANSWERS, MARKS)
    top = bottom = top_some = bottom_some = 0.0
    for given in MARKS.values():
        read = [MARKED_ANSWERS.read(one) for one in given]
        for one, other in combinations(read, 2):
            assert one is not None
            assert other is not None
            top += overlap(one, other) / 2
            bottom += 1 / 2
            if one.text and other.text:
                top_some += overlap(one, other) / 2
                bottom_some += 1 / 2
    assert found["answer-f1"] == pytest.approx(top / bottom)
    assert found["f1-answerable"] == pytest.approx(top_some / bottom_some)
    assert overlap(Marked("석유등", 25), Marked("석유등을", 25)) == pytest.approx(6 / 7)
    states = {item: ["n" if one == NONE else "y" for one in given] for item, given in MARKS.items()}
    labels = apply_labels(states)
    assert found["answerable-percent"] == pytest.approx(labels["percent"])
    assert found["answerable-alpha"] == pytest.approx(labels["alpha"])
    assert found["answerable-fleiss"] == pytest.approx(labels["fleiss"])
    assert set(found) >= {"answers-equal", "answerable-cohen"}


def apply_labels(states: dict[str, list[Any]]) -> dict[str, float]:
    """Agreement of labels as it is measured for labels."""
    from nikawa.aggregation.agreement import measures

    return {one.name: one.value for one in measures(Table.from_judgements(judgements(states)))}


@pytest.mark.parametrize("similarity", [jaccard, masi])
def test_alpha_of_sets_is_krippendorffs(similarity: Any) -> None:
    draw = Random(3)
    given = {
        str(item): [draw.sample("abcd", draw.randint(1, 3)) for _ in range(draw.randint(1, 4))]
        for item in range(30)
    }
    read = {item: [LABEL_SETS.read(one) for one in rows] for item, rows in given.items()}
    paired = [rows for rows in read.values() if len(rows) > 1]
    everything = [one for rows in paired for one in rows]
    n = len(everything)
    observed = sum(
        (1 - similarity(one, other)) / (len(rows) - 1)
        for rows in paired
        for one, other in permutations(rows, 2)
    )
    expected = sum(1 - similarity(one, other) for one, other in permutations(everything, 2))
    name = f"alpha-{similarity.__name__}"
    assert values(LABEL_SETS, given)[name] == pytest.approx(1 - (n - 1) * observed / expected)


def test_distances_of_sets() -> None:
    one, part, other = LabelSet(("a", "b")), LabelSet(("a",)), LabelSet(("b", "c"))
    assert (jaccard(one, part), masi(one, part)) == pytest.approx((1 / 2, 1 / 3))
    assert (jaccard(one, other), masi(one, other)) == pytest.approx((1 / 3, 1 / 9))
    assert masi(part, LabelSet(("c",))) == jaccard(part, other) == 0
    assert masi(one, one) == jaccard(LabelSet(()), LabelSet(())) == 1


@pytest.mark.parametrize(
    ("rule", "gold"),
    [
        (
            "majority",
            [
                [mark("석유", 25), mark("석유등", 25), mark("석유등을", 25)],
                [],
                None,  # two find an answer, in places that share nothing
                [],
            ],
        ),
        ("votes:3", [[mark("석유", 25), mark("석유등", 25), mark("석유등을", 25)], None, None, []]),
    ],
)
def test_votes_on_marked_answers(rule: str, gold: list[Any]) -> None:
    verdicts = apply_rule(table_of(MARKS), rule, "drop")
    assert verdicts.answers() == gold
    assert verdicts.strength[0] == 1


def test_most_workers_come_first_in_gold() -> None:
    given = [mark("ab", 0), mark("abc", 0), mark("abc", 0), mark("zz", 9)]
    assert apply_rule(table_of({"a": given}), "majority").answers() == [
        [mark("abc", 0), mark("ab", 0)]
    ]
    tied = apply_rule(table_of({"a": [mark("ab", 0), NONE]}), "majority")
    assert tied.tied_places() == [0]


def test_votes_on_label_sets() -> None:
    verdicts = apply_rule(table_of(SETS), "majority")
    assert verdicts.answers() == [["sport", "world"], ["economy", "world"], None]
    assert verdicts.tied_places() == [2]
    assert apply_rule(table_of(SETS), "votes:3", "drop").answers() == [["sport"], None, None]


@pytest.mark.parametrize(
    ("answers", "rule", "what"),
    [
        (MARKS, "mean", "not for answers in a text"),
        (SETS, "dawid-skene", "not for label sets"),
        ({"a": [NONE, "x"]}, "majority", "some answers to 'answers' are answers in a text"),
        ({"a": [mark("", 3)]}, "majority", "w0's answer about a: it has a text without a place"),
        (
            {str(n): [[f"sentence {n} {w}"] for w in range(2)] for n in range(15)},
            "majority",
            "lists of 30 different texts, not of labels",
        ),
    ],
)
def test_what_cannot_be_voted_on(answers: dict[str, list[Any]], rule: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        apply_rule(table_of(answers), rule)


@pytest.mark.parametrize(
    ("answers", "decided", "gold"),
    [
        (MARKS, "25:석유등", [mark("석유등", 25)]),
        (MARKS, "none", []),
        (MARKS, NONE, []),
        (MARKS, mark("섬", 0), [mark("섬", 0)]),
        (MARKS, '[{"text": "섬", "start": 0}]', [mark("섬", 0)]),
        (SETS, "sport | world", ["sport", "world"]),
        (SETS, ["world"], ["world"]),
    ],
)
def test_a_person_decides(answers: dict[str, list[Any]], decided: Any, gold: Any) -> None:
    book = DecisionBook()
    book.add([Decision("c", "answers", decided)])
    verdicts = apply_decisions(apply_rule(table_of(answers), "majority"), book)
    assert verdicts.answers()[2] == gold


@pytest.mark.parametrize(("answers", "decided"), [(MARKS, "석유등"), (MARKS, "[1]"), (SETS, "")])
def test_a_decision_of_another_shape_is_refused(
    answers: dict[str, list[Any]], decided: str
) -> None:
    book = DecisionBook()
    book.add([Decision("c", "answers", decided)])
    with pytest.raises(BadInput, match=r"about 'c' cannot be used.*; write"):
        apply_decisions(apply_rule(table_of(answers), "majority"), book)


def test_workers_are_compared_with_the_others() -> None:
    rows = quality(table_of(SETS), {"a": ["world", "sport"]})
    assert [row.accuracy for row in rows] == [1, 1, 0]
    assert rows[2].agreement == pytest.approx((0.5 + 0.5) / 2)
    assert quality(table_of(MARKS), {"d": []})[0].accuracy == 1


def test_from_a_file_to_gold(tmp_path: Path) -> None:
    said, out = tmp_path / "said.jsonl", tmp_path / "gold"
    said.write_bytes(b"".join(encode_record(row) + b"\n" for row in judgements(MARKS)))
    report = agree(str(said), None, AgreeOptions(resamples=50)).report
    assert report.distribution == {"answerable": 6, "unanswerable": 6}
    assert {row.name for row in report.measures} > {"answer-f1", "answerable-alpha"}
    assert all(row.low is not None for row in report.measures if row.name == "answer-f1")
    write_result(aggregate(str(said)), out)
    rows = [msgspec.json.decode(line) for line in (out / "items.jsonl").read_bytes().splitlines()]
    assert rows[1]["gold"] == []
    assert rows[1]["why"] == "none 2, 34:전등 1, of 3"
    assert rows[0]["soft"]["25:석유등"] == pytest.approx(1 / 3, abs=1e-6)
    assert "0:섬 1, 3:등대 1, none 1, of 3" in (out / "adjudicate.tsv").read_text("utf-8")
    assert Counter(row["verdict"] for row in rows) == {"accepted": 3, "tied": 1}
