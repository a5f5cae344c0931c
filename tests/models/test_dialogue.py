"""Dialogue states: values in what people say, the ontology, and what is carried from turn to turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models import Trainable, model
from nikawa.models.dialogue import Ontology
from nikawa.models.dialogue.turns import Exchange, Step, parse_state, read_exchanges
from nikawa.models.dialogue.values import (
    NameFinder,
    find_numbers,
    find_times,
    fold_text,
    guess_kind,
)
from nikawa.records import Example, Kind, Task

TASK = Task(
    name="seats",
    dataset="invented",
    kind="dialogue",
    question="state",
    inputs=("turns",),
    metrics=("jga",),
)
SHOPS = ("별빛 국수", "초록 만두", "달맞이 김밥", "노을 라면", "바다 찌개")
COUNT = {"2": "두", "3": "세", "4": "네"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("오후 3시 30분에요", ["15:30"]),
        ("오전 열두 시", ["00:00"]),
        ("7시 반이요", ["07:30", "19:30"]),
        ("17:05 출발", ["17:05"]),
        ("세시 이십오분", ["03:25", "15:25"]),
        ("午後二時半に", ["14:30"]),
        ("25시에, 12:75에, 세 시간", []),
    ],
)
def test_times(text: str, wanted: list[str]) -> None:
    assert [mention.value for mention in find_times(text)] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3명이고 두 분 더", ["3", "2"]),
        ("혼자 이틀", ["1", "2"]),
        ("10일", ["10"]),
        ("五名", ["5"]),
        ("네 좋아요", []),
    ],
)
def test_numbers(text: str, wanted: list[str]) -> None:
    assert [mention.value for mention in find_numbers(text)] == wanted


def test_names_without_regard_to_blanks_the_longest_first() -> None:
    text = fold_text("별빛국수 말고 별빛 국수 본점, ＡＢ c로")
    found = list(NameFinder(["별빛 국수", "별빛국수 본점", "abC"]).find(text))
    assert [(m.value, text[m.start : m.end]) for m in found] == [
        ("별빛 국수", "별빛국수"),
        ("별빛국수 본점", "별빛 국수 본점"),
        ("abC", "ab c"),
    ]


def test_kinds_of_slots_and_slots_that_share_values() -> None:
    assert [guess_kind(v) for v in (["1", "2", "x"], ["12:30"], ["역", "1"], [])] == [
        "number",
        "time",
        "name",
        "name",
    ]
    states = [
        {"a-place": "역", "b-place": "역"},
        {"a-place": "강", "b-place": "강"},
        {"a-place": "산"},
    ]
    ontology = Ontology(states, {"c-place": ["섬", "none", "dontcare"]})
    step = Step(Exchange("", "산이나 섬으로"), {"a-place": "산"})
    assert [(c.slot, c.value) for c in ontology.find_candidates(step)] == [
        ("b-place", "산"),
        ("c-place", "섬"),
    ]


def test_turns_and_states_are_checked() -> None:
    turns = [
        {"role": "sys", "text": "어서"},
        {"role": "sys", "text": "오세요"},
        {"role": "user", "text": "네"},
        {"role": "sys", "text": "끝"},
    ]
    assert read_exchanges(TASK, Example(id="1", inputs={"turns": turns})) == (
        Exchange("어서 오세요", "네"),
    )
    with pytest.raises(BadInput, match="'1' has no turns"):
        read_exchanges(TASK, Example(id="1", inputs={}))
    with pytest.raises(BadInput, match="a turn without text"):
        read_exchanges(TASK, Example(id="1", inputs={"turns": [{"role": "user"}]}))
    assert parse_state(["가-나-다-라"], "1") == {"가-나": "다-라"}
    with pytest.raises(BadInput, match="'가-나' is not of the form domain-slot-value"):
        parse_state(["가-나"], "1")


def dialogue(number: int) -> list[Example]:
    """Three user turns: a shop and its price, a table, a taxi to the shop."""
    draw = Random(number)
    shop, count, hour = draw.choice(SHOPS), draw.choice(list(COUNT)), draw.randrange(1, 12)
    price = draw.choice(["싼", "비싼", "dontcare"])
    asked = {
        "싼": "값이 싼 곳이 좋겠어요",
        "비싼": "고급스러운 데로 할게요",
        "dontcare": "값은 상관없어요",
    }[price]
    said_count = draw.choice([count, COUNT[count] + " "])
    texts = [
        ("", f"밥집을 찾아요. {asked}", {"밥집-값": price}),
        (
            f"{shop} 어떠세요?",
            f"네 오후 {hour}시에 {said_count}명 앉을게요",
            {"밥집-이름": shop, "밥집-명수": count, "밥집-시간": f"{hour + 12}:00"},
        ),
        ("잡았습니다", "그 밥집까지 가는 택시도 불러 주세요", {"택시-도착지": shop}),
    ]
    turns: list[dict[str, str]] = []
    state: dict[str, str] = {}
    found = []
    for place, (system, user, new) in enumerate(texts):
        turns += [{"role": "sys", "text": system}] if system else []
        turns.append({"role": "user", "text": user})
        state |= new
        gold = {"state": [f"{slot}-{value}" for slot, value in state.items()]}
        found.append(
            Example(
                id=f"{number}-{place}", inputs={"turns": list(turns)}, gold=gold, group=str(number)
            )
        )
    return found


def fitted(examples: Sequence[Example], **settings: Any) -> Trainable:
    found = model("ontology-match", settings=settings)
    assert isinstance(found, Trainable)
    found.fit(TASK, examples)
    return found


@pytest.fixture(scope="module")
def learned() -> Trainable:
    return fitted([example for i in range(60) for example in dialogue(i)])


def test_states_are_followed_to_the_end(learned: Trainable) -> None:
    asked = [example for i in range(900, 930) for example in dialogue(i)]
    answers = learned.predict(TASK, asked)
    right = sum(set(a.answer) == set(e.gold["state"]) for a, e in zip(answers, asked, strict=True))
    assert right >= 0.95 * len(asked)


def test_an_answer_does_not_hang_on_what_else_is_asked(learned: Trainable) -> None:
    asked = [example for i in range(5) for example in dialogue(i)]
    together = {a.example: a.answer for a in learned.predict(TASK, asked)}
    for example in asked[::-4]:
        assert learned.predict(TASK, [example])[0].answer == together[example.id]


def test_nothing_said_nothing_wanted(learned: Trainable) -> None:
    quiet = Example(id="q", inputs={"turns": [{"role": "sys", "text": "어서 오세요"}]})
    other = Example(id="o", inputs={"turns": [{"role": "user", "text": "ㅎㅎ"}]})
    assert [a.answer for a in learned.predict(TASK, [quiet, other])] == [[], []]


def test_given_values_are_found_though_never_learned() -> None:
    learn = [example for i in range(60) for example in dialogue(i)]
    asked = dialogue(7)[1]
    turns = [dict(turn) for turn in asked.inputs["turns"]]
    turns[1]["text"] = "구름 우동 어떠세요?"
    new = replace(asked, inputs={"turns": turns})
    without = fitted(learn).predict(TASK, [new])[0].answer
    given = fitted(learn, ontology={"밥집-이름": ["구름 우동"]}).predict(TASK, [new])[0].answer
    assert "밥집-이름-구름 우동" not in without
    assert "밥집-이름-구름 우동" in given


def test_turns_whose_past_is_unknown_still_teach_the_ontology(invented: Mapping[Kind, Any]) -> None:
    late = [dialogue(i)[2] for i in range(4)]
    assert fitted(late).predict(TASK, late[:1])[0].answer == []
    case = invented["dialogue"]
    found = model("ontology-match")
    assert isinstance(found, Trainable)
    found.fit(case.task, case.learn)
    assert [a.answer for a in found.predict(case.task, case.ask)] == [
        sorted(e.gold["state"]) for e in case.ask
    ]
