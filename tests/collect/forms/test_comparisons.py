"""Acceptability, preference and best-worst scaling: what their rules, places and wrong answers are."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from nikawa.collect.form import find_form
from nikawa.collect.forms.acceptability import find_difference
from nikawa.judging.interview import ClosedField, CopyPlan, Interview
from nikawa.judging.job import collect_shown
from nikawa.judging.models import Outcome
from nikawa.judging.position import measure_position_bias
from nikawa.judging.tasks import JudgingTask
from nikawa.records import Example


def codes(form: str, answer: dict[str, Any], inputs: dict[str, Any], **settings: Any) -> list[str]:
    found = find_form(form)
    example = Example(id="i", inputs=inputs)
    return [one.code for one in found.validate(answer, example, found.parse_options(settings))]


TWO = {"a": "雨がやんだ。", "b": "雨はやむ。"}


def test_a_preference_says_by_how_much_and_why() -> None:
    assert codes("preference", {"better": "tie", "by": 0}, TWO) == []
    assert codes("preference", {"better": "tie", "by": 0}, TWO, ties=False) == ["choose_one"]
    assert codes("preference", {"better": "b", "by": 3}, TWO, steps=3) == []
    assert codes("preference", {"better": "b"}, TWO) == ["by_wrong"]
    assert codes("preference", {"better": "b"}, TWO, by=False) == []
    assert codes("preference", {"better": "b", "by": 1}, TWO, by=False) == ["answer_invalid"]
    assert codes("preference", {"better": "b", "by": 1}, TWO, need_why=True) == ["why_missing"]
    assert codes("preference", {"better": "tie", "by": 0}, TWO, need_why=True) == []
    assert (
        codes("preference", {"better": "a", "by": 1, "why": ["short"]}, TWO, reasons=["short"])
        == []
    )


def test_only_pairs_have_a_second_question() -> None:
    alone = {"text": "犬が走る。"}
    assert codes("acceptability", {"label": "acceptable"}, alone, other=True) == []
    both = {**alone, "other": "犬を走る。"}
    assert codes("acceptability", {"label": "acceptable"}, both, other=True) == ["choose_one"]
    assert codes("acceptability", {"label": "acceptable"}, both) == []


@pytest.mark.parametrize(
    ("one", "other", "parts"),
    [
        ("犬が走る。", "犬を走る。", ("が", "を")),
        ("犬が走る。", "犬が。", ("走る", "")),
        ("同じ文。", "同じ文。", ("", "")),
        ("ああ", "あああ", ("", "あ")),
        ("", "何か", ("", "何か")),
    ],
)
def test_the_difference_is_what_both_ends_do_not_share(
    one: str, other: str, parts: tuple[str, str]
) -> None:
    found = find_difference(one, other)
    cuts = [text[slice(*found[name])] for name, text in (("text", one), ("other", other))]
    assert tuple(cuts) == parts


@pytest.mark.parametrize(
    "choices", [["一", "二"], ["一", "一", "二"], list("一二三四五六七八九十"), "一二三"]
)
def test_best_worst_needs_different_texts(choices: Any) -> None:
    form = find_form("best-worst")
    example = Example(id="i", inputs={"choices": choices})
    assert "cannot show it" in form.find_fault(example, form.parse_options({}))


@pytest.mark.parametrize("gold", [{"best": "A", "worst": "C"}, {"best": "B"}, {"worst": "B"}])
def test_wrong_pre_labels_are_valid_and_wrong(gold: dict[str, str]) -> None:
    form = find_form("best-worst")
    options, example = (
        form.parse_options({}),
        Example(id="i", inputs={"choices": ["一", "二", "三"]}),
    )
    for chance in (0.0, 0.5, 0.99):
        assert form.mislead is not None
        answer = form.mislead(gold, example, options, chance)
        assert answer is not None
        assert form.validate(answer, example, options) == []
        assert not form.gold_matches(answer, gold, options)
    other = find_form("preference")
    assert other.mislead is not None
    for right in ("a", "b", "tie"):
        answer = other.mislead({"better": right}, example, other.parse_options({}), 0.7)
        assert answer is not None
        assert answer["better"] not in (right, "tie")


def ask(items: int, copies: int) -> list[Interview]:
    form = find_form("preference")
    options = form.parse_options({"why": False})
    examples = tuple(
        Example(id=f"i{n}", inputs={"a": f"甲{n}", "b": f"乙{n}"}) for n in range(items)
    )
    task = JudgingTask("t", form, options, "ja", "指針", examples)
    return [
        Interview(task, example, CopyPlan(number, number, 0.0, 1))
        for example in examples
        for number in range(1, copies + 1)
    ]


def test_a_model_reads_the_texts_in_both_orders() -> None:
    interviews = ask(40, 2)
    firsts: Counter[tuple[str, str]] = Counter()
    for one in interviews:
        shown = one.question
        first = "a" if shown.index("甲") < shown.index("乙") else "b"
        firsts[one.example.id, first] += 1
        reading = one.read(json.dumps({"better": "1", "by": "2"}))  # always the first text
        assert reading.answer == {"better": first, "by": 2}
        assert one.order["better"] == [first, "ab".replace(first, ""), "tie"]
    assert set(firsts.values()) == {1}  # each item in each order
    begins = Counter(first for (_, first), _ in zip(firsts, range(0, 80, 2), strict=False))
    assert min(begins.values()) > 5


def test_a_model_that_takes_the_first_text_is_seen_to_do_so() -> None:
    interviews = ask(30, 2)

    def rows(key: str) -> list[tuple[Interview, Outcome]]:
        reply = json.dumps({"better": key, "by": "0" if key == "3" else "1"})
        return [(one, Outcome(answer=one.read(reply).answer)) for one in interviews]

    shown = collect_shown(rows("1"))["better"]
    bias = measure_position_bias("better", shown)
    assert bias is not None
    assert bias.chosen == (60, 0)
    assert "better" not in collect_shown(rows("3"))  # a tie has no place
    assert all(isinstance(part, ClosedField) for part in interviews[0].fields)
