"""Rules: what they accept, what drops an item, what becomes of ties; held against plain counting."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.aggregation.decisions import Decision, DecisionBook, apply_decisions
from nikawa.aggregation.golden import klue_sts_labels
from nikawa.aggregation.rules import parse_rule
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import (
    ACCEPTED,
    DROPPED,
    TIED,
    Ties,
    Verdicts,
    apply_rule,
    round_or_cut,
)
from nikawa.errors import BadInput
from nikawa.records import Judgement


def table(*items: str | list[Any]) -> Table:
    """Each item's answers, by workers w0, w1, …"""
    rows = [
        (f"i{i}", f"w{w}", answer)
        for i, answers in enumerate(items)
        for w, answer in enumerate(answers)
    ]
    names, workers, answers = zip(*rows, strict=True)
    return Table.from_columns(names, workers, answers)


def states(rule: str, given_table: Table, ties: str = "adjudicate") -> list[int]:
    return [int(state) for state in apply_rule(given_table, rule, ties).state]


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=1, max_size=8))
def test_majority_is_plain_counting(items: list[list[str]]) -> None:
    found = apply_rule(table(*items), "majority")
    for i, answers in enumerate(items):
        ranked = Counter(answers).most_common()
        tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
        assert found.state[i] == (TIED if tied else ACCEPTED)
        assert found.answers()[i] == (None if tied else ranked[0][0])
        assert found.strength[i] == pytest.approx(ranked[0][1] / len(answers))


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=8))
def test_centres_and_spreads(items: list[list[int]]) -> None:
    built = table(*items)
    for rule, reference in (("mean", statistics.fmean), ("median", statistics.median)):
        assert apply_rule(built, rule).answers() == pytest.approx(
            [reference(answers) for answers in items]
        )
    limits = apply_rule(built, "mean+variance<1").state == ACCEPTED
    assert limits.tolist() == [statistics.pvariance(answers) < 1 for answers in items]


def test_spread_of_fractions() -> None:
    built = table([0.5, 2.5], [0.25, 0.25])
    assert states("mean+variance<1", built) == [DROPPED, ACCEPTED]
    assert states("mean+sd<=1", built) == [ACCEPTED, ACCEPTED]
    assert states("mean+sample-variance<=2", built) == [ACCEPTED, ACCEPTED]
    assert states("mean+sample-sd<1.4", built) == [DROPPED, ACCEPTED]


def test_a_variance_of_just_one_is_dropped() -> None:
    assert states("mean+variance<1", table([1, 3], [1, 2])) == [DROPPED, ACCEPTED]
    assert states("mean+variance<=1", table([1, 3], [1, 2])) == [ACCEPTED, ACCEPTED]


@pytest.mark.parametrize(
    ("rule", "answers", "state"),
    [
        ("votes:7/10", "pppppppnnn", ACCEPTED),
        ("votes:7/10", "ppppppnnnn", DROPPED),
        ("votes:6/10", "eeeeeennnn", ACCEPTED),
        ("votes:3/5", "eeenc", ACCEPTED),
        ("votes:3/5", "eennc", DROPPED),
        ("votes:2/3", "een", ACCEPTED),
        ("votes:2/3", "enc", DROPPED),
        ("votes:2/3", "ee", ACCEPTED),
        ("votes:2/3", "een" + "e", DROPPED),
        ("votes:2/5", "eennc", TIED),
        ("votes:2/5", "ee", DROPPED),
        ("votes:2", "eennc", TIED),
        ("majority+half", "eenc", DROPPED),
        ("majority+half", "eeen", ACCEPTED),
        ("majority+share>=0.75", "eeen", ACCEPTED),
        ("majority+share>0.75", "eeen", DROPPED),
        ("majority+min:3", "ee", DROPPED),
        ("majority+only:e|n", "eec", ACCEPTED),
        ("majority+only:e|n", "cce", DROPPED),
    ],
)
def test_thresholds(rule: str, answers: str, state: int) -> None:
    assert states(rule, table(answers, "enc" * 1))[0] == state


def test_the_step_that_dropped_is_told() -> None:
    found = apply_rule(table("eeecc", "ccccc", "ee"), "majority+min:3+only:e")
    assert found.by_step() == {"min:3": 1, "only:e": 1}
    assert found.answers() == ["e", None, None]


def test_ties() -> None:
    built = table("en", "ec", "ee")
    assert states("majority", built) == [TIED, TIED, ACCEPTED]
    assert states("majority", built, "drop") == [DROPPED, DROPPED, ACCEPTED]
    found = apply_rule(built, "majority", "prefer:n")
    assert found.answers() == ["n", None, "e"]
    assert found.count(TIED) == 1


def test_a_tie_is_dropped_by_the_limit_it_does_not_reach() -> None:
    assert states("majority", table("eenn")) == [TIED]
    assert states("majority+half", table("eenn")) == [DROPPED]


@pytest.mark.parametrize("text", ["", "prefer", "prefer:", "drop:e", "toss"])
def test_wrong_tie_rules(text: str) -> None:
    with pytest.raises(BadInput, match="not a way to settle ties"):
        Ties.parse(text)


def test_unknown_preference() -> None:
    with pytest.raises(BadInput, match="'x', which no worker answered"):
        apply_rule(table("en"), "majority", "prefer:x")
    with pytest.raises(BadInput, match="'x', which no worker answered"):
        apply_rule(table("ee"), "majority+only:x")


def decide(
    verdicts: Verdicts, answers: dict[str, Any], way: str | None = None, *, is_checked: bool = True
) -> Verdicts:
    """The verdicts with decisions, item to answer."""
    book = DecisionBook(way)
    book.add(
        Decision(item, verdicts.table.question, answer, is_checked=is_checked)
        for item, answer in answers.items()
    )
    return apply_decisions(verdicts, book)


def test_decisions_override_or_settle_ties() -> None:
    voted = apply_rule(table("en", "ec", "ee"), "majority")
    assert decide(voted, {"i0": "n", "i2": "n"}).answers() == ["n", None, "n"]
    assert decide(voted, {"i0": "n", "i2": "n"}, "ties").answers() == ["n", None, "e"]
    assert decide(voted, {"i0": "n", "i2": "n"}).without is voted
    numbered = apply_rule(table([0, 1], [1, 1]), "majority")
    assert decide(numbered, {"i0": "0"}).answers() == [0, 1]
    with pytest.raises(BadInput, match="not an answer that workers gave"):
        decide(voted, {"i0": "x"}, is_checked=False)
    assert decide(voted, {"i0": "x"}).answers() == ["x", None, "e"]  # a form let it through


@pytest.mark.parametrize("way", ["override", "ties"])
@pytest.mark.parametrize(
    ("rule", "items", "answer", "gold"),
    [
        ("votes:3/3", ["abc"], "c", ["c"]),
        ("votes:2", ["abc"], "c", ["c"]),
        ("majority+share>=0.9", ["aab"], "b", ["b"]),
        ("majority+min:4", ["aab"], "b", ["b"]),
        ("mean+variance<1+round:1", [[0, 5, 5]], 4, [4.0]),
        ("mean+variance<1+binary:3", [[0, 5, 5]], 4, [1]),
        ("median+sd<=1", [[0, 5, 5]], "4", [4.0]),
        ("dawid-skene+share>=1.5", ["aab"], "b", ["b"]),
        ("mace+share>=1.5", ["aab"], "b", ["b"]),
        ("first+votes:3/3", ["abc"], ["c", "a"], ["c"]),
    ],
)
def test_a_decision_is_gold_where_the_rule_drops_the_item(
    way: str, rule: str, items: list[Any], answer: Any, gold: list[Any]
) -> None:
    voted = apply_rule(table(*items), rule)
    assert voted.answers() == [None]
    found = decide(voted, {"i0": answer}, way)
    assert found.answers() == gold
    assert found.names[found.by[0]] == "decision"


@pytest.mark.parametrize(
    ("rule", "items", "answer", "votes", "gold"),
    [
        ("majority", ["aab"], "b", ["a"], ["b"]),
        ("votes:2/3", ["aab"], "b", ["a"], ["b"]),
        ("mean+round:1", [[1, 2, 2]], 5, [1.7], [5.0]),
        ("median", [[1, 2, 2]], 5, [2.0], [5.0]),
        ("dawid-skene", ["aab", "aaa", "bbb"], "b", ["a", "a", "b"], ["b", "a", "b"]),
        ("mace", ["aab", "aaa", "bbb"], "b", ["a", "a", "b"], ["b", "a", "b"]),
        ("first+majority", ["aab"], ["b", "a"], ["a"], ["b"]),
    ],
)
def test_a_decision_against_the_votes(
    rule: str, items: list[Any], answer: Any, votes: list[Any], gold: list[Any]
) -> None:
    voted = apply_rule(table(*items), rule)
    assert voted.answers() == votes
    assert decide(voted, {"i0": answer}, "override").answers() == gold
    assert decide(voted, {"i0": answer}, "ties").answers() == votes


def test_a_tie_that_the_tie_rule_settles_is_still_a_tie() -> None:
    voted = apply_rule(table("en"), "majority", "prefer:n")
    assert voted.answers() == ["n"]
    assert decide(voted, {"i0": "e"}, "ties").answers() == ["e"]


def test_the_last_decision_counts() -> None:
    book = DecisionBook()
    first = Decision("i0", "answer", "e", at="2026-11-16T10:00:00+00:00")
    second = Decision("i0", "answer", "n", at="2026-11-16T19:30:00+09:00")
    book.add([second, first, first])
    assert book.chain("i0") == [first, second]
    assert book.settle("i0", "c") == "n"
    assert apply_decisions(apply_rule(table("cc"), "majority"), book).answers() == ["n"]
    with pytest.raises(BadInput, match="there is no way to take decisions 'tie'"):
        DecisionBook("tie")


def test_a_decision_of_another_shape() -> None:
    with pytest.raises(BadInput, match="the decision 'much' about 'i0' is not a number"):
        decide(apply_rule(table([1, 2]), "mean"), {"i0": "much"})
    with pytest.raises(BadInput, match="is not a label"):
        decide(apply_rule(table("ab"), "majority"), {"i0": {"text": "a"}})


def test_items_without_answers_are_dropped() -> None:
    built = table("ee", "nn")
    found = apply_rule(built.select(built.item == 0), "majority")
    assert found.by_step() == {"no answers": 1}
    numbers = table([1, 2], [3])
    assert apply_rule(numbers.select(numbers.item == 0), "mean+round:1").answers() == [1.5, None]


@pytest.mark.parametrize("rule", ["dawid-skene", "mace"])
def test_models_of_workers_decide(rule: str) -> None:
    built = table("eeen", "nnne", "eeee", "nnnn", "eeee", "nnnn")
    found = apply_rule(built, f"{rule}+share>=0.6")
    assert found.answers() == list("enenen")
    assert found.fit is not None


def test_numbers_are_refused_where_labels_are() -> None:
    with pytest.raises(BadInput, match="are not numbers"):
        apply_rule(table("en"), "mean")


@pytest.mark.parametrize(
    ("value", "how", "places", "expected"),
    [
        (10 / 7, "digits", 16, 1.428571428571429),
        (2.675, "round", 2, 2.67),
        (0.25, "round", 1, 0.2),
        (1.01, "up", 1, 1.1),
        (1.1, "up", 1, 1.1),
        (1.19, "down", 1, 1.1),
        (3.0, "binary", 3, 1.0),
        (2.999, "binary", 3, 0.0),
    ],
)
def test_rounding(value: float, how: str, places: int, expected: float) -> None:
    assert round_or_cut(np.array([value, np.nan]), how, places).tolist()[0] == expected


def test_binary_gold_is_whole() -> None:
    answers = apply_rule(table([3, 3], [1, 4]), "mean+binary:3").answers()
    assert answers == [1, 0]
    assert all(isinstance(answer, int) for answer in answers)


def test_klue_sts_labels() -> None:
    assert klue_sts_labels([3, 4, 2, 3, 3, 3]) == {
        "real-label": 3.0,
        "label": 3.0,
        "binary-label": 1,
        "agreement": "0:0:1:4:1:0",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("majorty", "did you mean 'majority'"),
        ("half", "has no deciding step"),
        ("first", "has no deciding step"),
        ("majority+mean", "cannot follow"),
        ("majority+round:1", "not for labels"),
        ("mean+only:a", "not for numbers"),
        ("mean+binary:3+round:1", "must come last"),
        ("votes", "not a threshold"),
        ("votes:5/3", "not a threshold"),
        ("votes:0", "not a threshold"),
        ("mean+variance", "lacks a limit"),
        ("mean+variance<x", "needs a number"),
        ("mean+round", "lacks a value"),
        ("mean+round:x", "whole number"),
        ("majority:3", "takes no value"),
        ("", "unknown step"),
    ],
)
def test_wrong_rules_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_rule(text)


def _two_each() -> Table:
    votes = {"a": "EN", "b": "EE", "c": "CN"}
    return Table.from_judgements(
        [
            Judgement(example=item, worker=f"w{k}", question="label", answer=answer)
            for item, answers in votes.items()
            for k, answer in enumerate(answers)
        ],
        "label",
    )


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("majority", ["a", "b", "c"]),
        ("majority+half", ["b"]),
        ("majority+share>=0.9", ["b"]),
        ("majority+min:3", []),
        ("majority+only:E", ["b"]),
        ("majority+only:N", ["a", "c"]),
    ],
)
def test_ties_are_held_to_the_limits_too(rule: str, kept: list[str]) -> None:
    verdicts = apply_rule(_two_each(), rule, "prefer:N")
    gold = dict(zip(verdicts.table.items, verdicts.answers(), strict=True))
    assert [item for item, answer in gold.items() if answer is not None] == kept


def test_adjudication_is_held_to_the_labels_let_in() -> None:
    verdicts = decide(
        apply_rule(_two_each(), "majority+only:E", "adjudicate"), {"a": "N", "c": "C"}
    )
    assert dict(zip(verdicts.table.items, verdicts.answers(), strict=True)) == {
        "a": None,
        "b": "E",
        "c": None,
    }


@pytest.mark.parametrize(
    ("votes", "accepted"), [("EEEEEEEEE", True), ("EEEEEENNN", True), ("EEEEENNNN", False)]
)
def test_fewer_answers_count_where_the_rest_could_not_overturn_them(
    votes: str, accepted: bool
) -> None:
    rows = [
        Judgement(example="x", worker=f"w{k}", question="label", answer=a)
        for k, a in enumerate(votes)
    ]
    verdicts = apply_rule(Table.from_judgements(rows, "label"), "votes:5/10", "drop")
    assert (verdicts.answers() == ["E"]) is accepted
