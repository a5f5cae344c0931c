"""Every recipe takes an owner's decision about an item: whatever the votes, or where its rule makes nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from nikawa.aggregation.decisions import Decision, DecisionBook
from nikawa.recipes.decide import decide, settled_answers
from nikawa.recipes.jglue.jcommonsenseqa import keep_solved_questions
from nikawa.recipes.jsick.jsick import settle_labels, sort_by_majority
from nikawa.recipes.klue.klue_ner import gather_tags, sort_by_check
from nikawa.recipes.klue.klue_nli import label_pairs
from nikawa.recipes.klue.klue_re import adjudicate_relations, vote_relations
from nikawa.recipes.klue.klue_sts import score_pairs
from nikawa.recipes.klue.reports import kept_on_review
from nikawa.recipes.klue.ynat import decide_topics
from nikawa.recipes.recipe import Kept
from nikawa.records import Example, Judgement, Span

REASON = "decided by rin: 読み直した"


def make_inputs(
    items: Mapping[str, Sequence[Example]],
    votes: Mapping[str, Sequence[Any]],
    decided: Mapping[str, Any],
    way: str,
) -> Any:
    """What a stage reads: one item `i`, the answers to each question about it, and a decision to some."""

    def judgements(ask: str) -> list[Judgement]:
        return [
            Judgement(example="i", worker=f"w{n}", question="q", answer=answer)
            for n, answer in enumerate(votes.get(ask, ()))
        ]

    def decisions(ask: str) -> DecisionBook:
        book = DecisionBook()
        if ask in decided:
            book.add([Decision("i", "q", decided[ask], by="rin", reason="読み直した", way=way)])
        return book

    return SimpleNamespace(
        examples=lambda name: iter(items.get(name, ())), judgements=judgements, decisions=decisions
    )


def item(**inputs: Any) -> Example:
    return Example(id="i", inputs=inputs or {"text": "凛は京都へ行った。"})


SPAN, OTHER = Span(0, 1, "PS"), Span(2, 4, "LC")
AS_ROWS = {
    span: {"start": span.start, "end": span.end, "label": span.label} for span in (SPAN, OTHER)
}
PAIR = Example(id="i", inputs={"text": "x", "subject": SPAN, "object": OTHER, "candidates": []})
Stage = Callable[[Any, Any], Any]
CASES: dict[str, tuple[Stage, dict[str, Any], Any, list[Any], list[Any], Any, Any, Any]] = {
    # stage, its items, config, clear votes, votes without gold, decision, gold of the clear votes, decided gold
    "jsick": (
        sort_by_majority,
        {"related": [item()]},
        None,
        ["a", "a", "b"],
        ["a", "b"],
        "b",
        {"label": "a"},
        {"label": "b"},
    ),
    "klue-re": (
        vote_relations,
        {"unreported": [PAIR]},
        SimpleNamespace(votes=2),
        ["a", "a", "b"],
        ["a", "b", "c"],
        "b",
        {"relation": "a"},
        {"relation": "b"},
    ),
    "ynat": (
        decide_topics,
        {"sound": [item()]},
        SimpleNamespace(votes=2),
        [["a", "b"], ["a"], ["b"]],
        [["a"], ["b"]],
        ["b", "a"],
        {"label": "a"},
        {"label": "b"},
    ),
    "klue-nli": (
        label_pairs,
        {"pairs": [Example(id="i", inputs={}, meta={"author": "a"})]},
        SimpleNamespace(votes=3),
        ["a", "a", "b"],
        ["a", "b", "c"],
        "b",
        {"label": "a"},
        {"label": "b"},
    ),
    "klue-sts": (
        score_pairs,
        {"sound": [item()]},
        SimpleNamespace(least_r=-1.0, least_alpha=-1.0, ratings=3, deviation=1.0, paraphrase=3.0),
        [1, 1, 1],
        [0, 5, 5],
        4,
        {"score": 1.0, "binary": 0},
        {"score": 4.0, "binary": 1},
    ),
}
ASKS = {
    "jsick": "inference",
    "klue-re": "relations",
    "ynat": "topics",
    "klue-nli": "validation",
    "klue-sts": "similarity",
}


@pytest.mark.parametrize("recipe", CASES)
def test_votes_of_a_recipe(recipe: str) -> None:
    stage, items, config, clear, unclear, decision, voted, decided = CASES[recipe]
    ask = ASKS[recipe]

    def outcome(votes: list[Any], way: str) -> Any:
        (made,) = stage(make_inputs(items, {ask: votes}, {ask: decision}, way), config)
        return made

    overridden = outcome(clear, "override")
    assert isinstance(overridden, Kept)
    assert {name: overridden.example.gold[name] for name in decided} == decided
    assert REASON in overridden.rule
    kept = outcome(clear, "ties")
    assert {name: kept.example.gold[name] for name in voted} == voted
    assert "decided" not in kept.rule
    for way in ("override", "ties"):
        settled = outcome(unclear, way)
        assert isinstance(settled, Kept), settled
        assert {name: settled.example.gold[name] for name in decided} == decided
        assert REASON in settled.rule


def test_ready_made_votes() -> None:
    def outcome(votes: list[str], decision: str, way: str, only: tuple[str, ...] = ()) -> Any:
        inputs = make_inputs({"items": [item()]}, {"ask": votes}, {"ask": decision}, way)
        (made,) = decide(inputs, "items", "ask", "votes:2/3", only)
        return made

    assert outcome(["a", "a", "b"], "b", "override").example.gold == {"q": "b"}
    assert REASON in outcome(["a", "a", "b"], "b", "override").rule
    assert outcome(["a", "a", "b"], "b", "ties").example.gold == {"q": "a"}
    assert outcome(["a", "b", "c"], "c", "ties").example.gold == {"q": "c"}
    assert outcome(["a", "a", "b"], "b", "override", ("a",)).why == "not a"


def test_adjudicators_of_a_recipe_are_overruled_too() -> None:
    items = {"open": [PAIR]}
    inputs = make_inputs(items, {"adjudication": ["a"]}, {"adjudication": "b"}, "override")
    (made,) = adjudicate_relations(inputs, None)
    assert isinstance(made, Kept)
    assert (made.example.gold, REASON in made.rule) == ({"relation": "b"}, True)
    pair = Example(id="i", inputs={}, gold={"label": "a"}, meta={"votes": "a x2"})
    items = {"listed": [pair], "paired": [pair]}
    inputs = make_inputs(items, {"adjudication": ["a"]}, {"adjudication": "b"}, "override")
    (made,) = settle_labels(inputs, None)
    assert isinstance(made, Kept)
    assert (made.example.gold, REASON in made.rule) == ({"label": "b"}, True)


def test_what_is_marked_checked_or_written_is_decided_too() -> None:
    marks = [[AS_ROWS[SPAN]], [AS_ROWS[SPAN]], [AS_ROWS[OTHER]]]
    for way, gold in (("override", [OTHER]), ("ties", [SPAN])):
        inputs = make_inputs(
            {"proposed": [item()], "tagged": [item()], "reported": [item()]},
            {"tagging": marks, "check": ["wrong", "right"], "review": ["keep", "discard"]},
            {"tagging": [AS_ROWS[OTHER]], "check": "right", "review": "keep"},
            way,
        )
        (made,) = gather_tags(inputs, None)
        assert made.example.gold == {"spans": gold}
        (checked,) = sort_by_check(inputs, None)
        assert isinstance(checked, Kept)
        assert checked.into == ("passed" if way == "override" else "doubtful")
        (reviewed,) = kept_on_review(inputs, None)
        assert isinstance(reviewed, Kept) is (way == "override")
        (answer, *others) = settled_answers(inputs, "tagging")["i"]
        assert (answer.kind, len(others)) == (
            ("decision", 0) if way == "override" else ("person", 2)
        )


def test_a_question_that_the_owner_solves() -> None:
    question = Example(id="i", inputs={}, gold={"choice": 2})
    for decision, votes, is_kept in ((2, [0, 0], True), (0, [2, 2], False)):
        inputs = make_inputs(
            {"complete": [question]}, {"check": votes}, {"check": decision}, "override"
        )
        (made,) = keep_solved_questions(inputs, SimpleNamespace(right=2))
        assert isinstance(made, Kept) is is_kept
