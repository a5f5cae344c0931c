"""Answers read in the shape of their task, and the reasons why others are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from nikawa.io.answers import parse_answer
from nikawa.records import Example, Span, Task

Tasks = Callable[[str], Task]
Examples = Callable[[str], list[Example]]


@pytest.mark.parametrize(
    ("name", "raw", "answer"),
    [
        ("jnli", "entailment", "entailment"),
        ("jnli", " Ｎｅｕｔｒａｌ。\n", "neutral"),
        ("jnli", "「矛盾」", "contradiction"),
        ("jnli", '"含意"', "entailment"),
        ("jnli", "答え：中立", "neutral"),
        ("jnli", "ANSWER: no", "contradiction"),
        ("klue-nli", "모순", "contradiction"),
        ("marc-ja", "ネガティブ", "negative"),
        ("marc-ja", "Positive", "positive"),
        ("jcola", 1, "acceptable"),
        ("jcola", "０", "unacceptable"),
        ("klue-re", "ORG:members", "org:members"),
        ("jsts", 3, 3.0),
        ("jsts", "３．５", 3.5),
        ("jsts", "Answer: 4.2", 4.2),
        ("jsts", "-1e-1", -0.1),
        ("jcommonsenseqa", 4, 4),
        ("jcommonsenseqa", "4", 4),
        ("jcommonsenseqa", "綱", 1),
        ("jcommonsenseqa", "B", 1),
        ("jcommonsenseqa", "ANSWER: Ｂ", 1),
        ("jcommonsenseqa", "ウ", 2),
        ("jsquad", "", ""),
        ("jsquad", " 白い。", " 白い。"),
        ("jsquad", 1912, "1912"),
        ("jsquad", {"text": "白"}, "白"),
        ("klue-ner", [], []),
        ("klue-ner", [{"start": 0, "end": 2, "label": "PS"}], [Span(0, 2, "PS")]),
        ("klue-ner", [[4, 8, "LC"]], [Span(4, 8, "LC")]),
        ("klue-ner", '[[4, 8, "LC"]]', [Span(4, 8, "LC")]),
        (
            "klue-ner",
            ["B-PS", "I-PS", "O", "O", "B-LC", "I-LC", "I-LC", "I-LC", "O"],
            [Span(0, 2, "PS"), Span(4, 8, "LC")],
        ),
        (
            "klue-ner",
            "B-PS B-PS I-LC B-LC I-LC I-LC I-PS",
            [Span(0, 1, "PS"), Span(1, 2, "PS"), Span(4, 8, "LC")],
        ),
        (
            "klue-dp",
            {"heads": [2, 0], "labels": ["NP", "VP"]},
            {"heads": [2, 0], "labels": ["NP", "VP"]},
        ),
        ("klue-dp", '[[2, "NP"], [0, "VP"]]', {"heads": [2, 0], "labels": ["NP", "VP"]}),
        ("wos", ["숙소-지역-북섬"], ["숙소-지역-북섬"]),
        ("wos", {"숙소-지역": "북섬", "숙소-종류": "none"}, ["숙소-지역-북섬"]),
        ("wos", "[]", []),
        # the shapes that prompts ask models for, also inside prose
        (
            "klue-ner",
            '次のとおりです。\n{"entities": [{"text": "미오", "occurrence": 1, "label": "ps"}]}',
            [Span(0, 2, "PS")],
        ),
        ("klue-ner", {"entities": []}, []),
        (
            "klue-dp",
            '```json\n{"words": [{"index": 2, "head": 0, "label": "VP"}, {"index": 1, "head": 2, "label": "NP"}]}\n```',
            {"heads": [2, 0], "labels": ["NP", "VP"]},
        ),
        ("wos", '{"state": [{"slot": "숙소-지역", "value": "북섬"}]}', ["숙소-지역-북섬"]),
        ("wos", '<think>[]</think>["숙소-지역-북섬"]', ["숙소-지역-북섬"]),
    ],
)
def test_read(task: Tasks, examples: Examples, name: str, raw: Any, answer: Any) -> None:
    assert parse_answer(raw, task(name), examples(name)[0]) == (answer, None)


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("jnli", "", "empty"),
        ("jnli", "entailment or neutral", "gives more than one answer"),
        ("jnli", "perhaps", "not one of entailment, contradiction, neutral"),
        ("jnli", 1, "a number, not a label"),
        ("jnli", "２", "a number, not a label"),
        ("jnli", ["entailment"], "not one of"),
        ("jnli", True, "not one of"),
        ("jsts", "NaN", "not a finite number"),
        ("jsts", math.inf, "not a finite number"),
        ("jsts", "-inf", "not a finite number"),
        ("jsts", 10**400, "not a finite number"),
        ("jsts", "1_0", "not a number"),
        ("jsts", "3 dogs", "not a number"),
        ("jsts", True, "not a number"),
        ("jsts", "", "empty"),
        ("jcommonsenseqa", 5, "there is no choice 5: choices are numbered from 0 to 4"),
        ("jcommonsenseqa", "-1", "not the place or the text"),
        ("jcommonsenseqa", "F", "not the place or the text"),
        ("jcommonsenseqa", "船", "not the place or the text"),
        ("jcommonsenseqa", "", "empty"),
        ("jcommonsenseqa", 1.0, "not the place or the text"),
        ("jsquad", ["白"], "not a text"),
        ("jsquad", 1.5, "not a text"),
        ("klue-ner", {"start": 0}, "not a list"),
        ("klue-ner", [[0, 2]], "a span is not {start, end, label}"),
        ("klue-ner", [[0, 10, "PS"]], "outside the text of 9 characters"),
        ("klue-ner", [[2, 2, "PS"]], "outside the text"),
        ("klue-ner", [[0, 2, "XX"]], "'XX' is not one of PS, LC"),
        ("klue-ner", ["O", "O"], "2 tags for 9 characters (7 without spaces)"),
        ("klue-ner", ["Q"] * 9, "'Q' is not a BIO tag"),
        ("klue-ner", ["B-XX"] * 9, "'XX' is not one of"),
        ("klue-dp", {"heads": [2]}, "not a mapping of heads and labels"),
        ("klue-dp", {"heads": [2], "labels": ["NP"]}, "1 heads and 1 labels for 2 words"),
        (
            "klue-dp",
            {"heads": [3, 0], "labels": ["NP", "VP"]},
            "a head is not a number from 0 to 2",
        ),
        ("klue-dp", {"heads": [2, 0], "labels": ["NP", "XP"]}, "'XP' is no label"),
        ("klue-dp", {"heads": "20", "labels": "NV"}, "are not lists"),
        ("wos", "숙소", "not a list"),
        ("klue-ner", '{"entities": [{"text": "없다", "label": "PS"}]}', "is not in the text"),
        ("klue-dp", '{"words": [{"index": 1, "head": 2, "label": "NP"}]}', "word 2 has no head"),
        ("wos", '{"state": [{"slot": "숙소-지역"}]}', "an entry is not a slot with a value"),
        ("wos", ["숙소-북섬"], "'숙소-북섬' is not domain-slot-value"),
    ],
)
def test_not_read(task: Tasks, examples: Examples, name: str, raw: Any, words: str) -> None:
    answer, why = parse_answer(raw, task(name), examples(name)[0])
    assert answer is None
    assert why is not None
    assert words in why


@pytest.mark.parametrize(
    ("raw", "answer", "words"),
    [
        ("3", None, "the text of one choice and the place of another"),
        ("A", None, "the text of one choice and the place of another"),
        ("1", 1, ""),
        ("7", 3, ""),
        ("鐘", 4, ""),
        ("B", 1, ""),
        ("0", 0, ""),
    ],
)
def test_choices_that_look_like_places(
    task: Tasks, examples: Examples, raw: str, answer: int | None, words: str
) -> None:
    found, why = parse_answer(raw, task("jcommonsenseqa"), examples("jcommonsenseqa")[1])
    assert found == answer
    assert words in (why or "")


def test_two_equal_choices(task: Tasks) -> None:
    example = Example(id="1", inputs={"question": "？", "choices": ["綱", "綱 ", "帆"]})
    assert parse_answer("綱。", task("jcommonsenseqa"), example) == (None, "two choices read so")
    assert parse_answer("綱 ", task("jcommonsenseqa"), example) == (1, None)


def test_places_in_the_labels(task: Tasks, examples: Examples) -> None:
    assert parse_answer("1", task("jnli"), examples("jnli")[0], indices=True) == (
        "contradiction",
        None,
    )
    assert parse_answer("neutral", task("jnli"), examples("jnli")[0], indices=True) == (
        "neutral",
        None,
    )
