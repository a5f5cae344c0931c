"""Dialogues with a goal and their states: what a goal may name, what counts as said, and states that are filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nikawa.collect.form import Form, Problem, find_form
from nikawa.collect.forms.dialogue import SAMPLE_TURNS
from nikawa.records import Example

WRITTEN, MARKED = find_form("dialogue"), find_form("dialogue-states")
assert WRITTEN.sample is not None
SAMPLE = WRITTEN.sample
ELSEWHERE: dict[str, Any] = {
    "식당": {
        "opening": "식사할 곳도 찾습니다.",
        "slots": {
            "이름": {"kind": "offer"},
            "대표 메뉴": {"kind": "ask", "phrase": "대표 메뉴를 물어보세요."},
        },
    }
}


def options_of(form: Form) -> Any:
    """The settings of the sample, with a second domain."""
    settings = dict(SAMPLE.settings)
    ontology = settings["ontology"]
    settings["ontology"] = {**ontology, "domains": {**ontology["domains"], **ELSEWHERE}}
    row = {"이름": "물레방아밥상", "대표 메뉴": "연잎밥"}
    settings["entities"] = {**settings["entities"], "식당": [row]}
    if form is MARKED:
        settings.pop("politeness")
    return form.parse_options(settings)


def problems_of(turns: Sequence[dict[str, Any]], **inputs: Any) -> list[Problem]:
    goal = Example(id="g", inputs={**SAMPLE.inputs, **inputs})
    answer = {"dialogue": {"how": "self", "turns": list(turns)}}
    return WRITTEN.validate(answer, goal, options_of(WRITTEN))


def changed(place: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {**turn, **fields} if number == place else turn for number, turn in enumerate(SAMPLE_TURNS)
    ]


def test_a_name_from_a_domain_that_the_goal_does_not_name_is_invented() -> None:
    state = [*SAMPLE_TURNS[2]["state"], "식당-이름-물레방아밥상"]
    (problem,) = [one for one in problems_of(changed(2, state=state)) if not one.warning]
    assert (problem.code, problem.values) == ("slot_invented", {"slot": "식당 이름"})
    asks = [*SAMPLE.inputs["asks"], {"slot": "식당-대표 메뉴", "sentence": 3}]
    assert all(one.warning for one in problems_of(changed(2, state=state), asks=asks))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (0, "강 변에 있는 숙소를 찾아 주세요."),
        (3, "토요일로 예약했습니다. 번호는 ０７０−０００１입니다."),
        (3, "토요일로 예약했습니다. 번호는 070-0001입니다."),
    ],
)
def test_width_blanks_and_hyphens_make_no_difference(place: int, text: str) -> None:
    text = text.replace("−", "-")
    assert problems_of(changed(place, text=text)) == []


def test_each_question_that_no_turn_answers_is_named_from_the_start() -> None:
    asks = [*SAMPLE.inputs["asks"], {"slot": "식당-대표 메뉴", "sentence": 3}]
    for turns in (SAMPLE_TURNS[:2], changed(3, text="토요일로 예약했습니다.")):
        found = [one for one in problems_of(turns, asks=asks) if one.code == "ask_open"]
        assert [one.values["slot"] for one in found] == ["숙소 전화번호", "식당 대표 메뉴"]
        assert all(one.warning for one in found)
    found = problems_of(SAMPLE_TURNS, asks=asks)
    assert [one.values["slot"] for one in found] == ["식당 대표 메뉴"]


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ({"constraints": [{"slot": "숙소-층", "value": "3"}]}, "'숙소-층' is no slot of a state"),
        ({"constraints": [{"slot": "숙소-전화번호", "value": "1"}]}, "'숙소-전화번호' is no slot"),
        (
            {"constraints": [{"slot": "숙소-지역", "value": "산"}]},
            "'산' is no value of '숙소-지역'",
        ),
        ({"constraints": [{"slot": "숙소-지역"}]}, "neither a value nor same"),
        ({"constraints": [{"slot": "숙소-지역", "same": "역-지역"}]}, "'역-지역' is no slot"),
        ({"asks": [{"slot": "숙소-지역"}]}, "'숙소-지역' is no slot of the kind ask"),
        ({"asks": [{"slot": "숙소-전화번호", "sentence": 4}]}, "sentence 4 of 4"),
        ({"goal": "강변"}, "not a list of sentences"),
    ],
)
def test_a_goal_that_no_dialogue_can_reach_is_refused(inputs: dict[str, Any], what: str) -> None:
    item = Example(id="g", inputs={**SAMPLE.inputs, **inputs})
    assert what in WRITTEN.find_fault(item, options_of(WRITTEN))


@pytest.mark.parametrize(
    ("states", "what"),
    [
        ([["숙소-지역-산"], []], "'숙소-지역-산' is not in the ontology"),
        ([["숙소-지역-강변", "숙소-지역-시장"], []], "names a slot twice"),
        ([[]], "has 1 states, and the user 2 turns"),
        (["숙소-지역-강변", []], "not a list of lists"),
        ("숙소", "not a list of lists"),
    ],
)
def test_states_that_nobody_could_mark_are_refused(states: Any, what: str) -> None:
    turns = [{"role": turn["role"], "text": turn["text"]} for turn in SAMPLE_TURNS]
    item = Example(id="d", inputs={"turns": turns, "states": states})
    assert what in MARKED.find_fault(item, options_of(MARKED))


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.99])
def test_a_control_item_can_come_filled_in_with_wrong_states(chance: float) -> None:
    options = options_of(MARKED)
    turns = [{"role": turn["role"], "text": turn["text"]} for turn in SAMPLE_TURNS]
    item = Example(id="d", inputs={"turns": turns})
    gold = {"states": [turn["state"] for turn in SAMPLE_TURNS if turn["role"] == "user"]}
    assert MARKED.mislead is not None
    wrong = MARKED.mislead(gold, item, options, chance)
    assert wrong is not None
    assert MARKED.validate(wrong, item, options) == []
    assert not MARKED.gold_matches(wrong, gold, options)
    assert MARKED.mislead({"states": [[], []]}, item, options, chance) is None
