"""A small invented task of each kind, with examples to learn from and others to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from nikawa.records import Example, Kind, Span, Task

RELATIONS = ("no_relation", "per:origin", "org:place_of_headquarters")
PEOPLE = ("하나람", "두리온", "세찬별", "네모린", "다섯솔", "여울빛")
TOWNS = ("푸른읍", "맑은면", "너른골", "솔바람시")
ANIMALS = ("ねこ", "いぬ", "とり", "うま", "さる")
PLACES = ("公園", "庭", "部屋", "駅")


@dataclass(frozen=True)
class Invented:
    """A task, what to learn it from, and what to ask afterwards."""

    task: Task
    learn: tuple[Example, ...]
    ask: tuple[Example, ...]


def _text(i: int) -> tuple[dict[str, Any], Any]:
    good = i % 3 > 0
    return {
        "text": f"{i}番の宿は{'とてもよかった' if good else '最悪だと思う'}。"
    }, "good" if good else "bad"


def _pair(i: int) -> tuple[str, str, str, str, int]:
    animals, places = list(product(ANIMALS, ANIMALS)), list(product(PLACES, PLACES))
    (one, other), (here, there) = animals[i % len(animals)], places[(i // 3) % len(places)]
    return one, other, here, there, i % 3


def _inference(i: int) -> tuple[dict[str, Any], Any]:
    one, other, here, there, case = _pair(i)
    premise = f"{one}が{here}で遊んでいる"
    made = (f"{one}が遊んでいる", f"{one}は{here}で遊んでいない", f"{other}が{there}で眠っている")
    return {"premise": premise, "hypothesis": made[case]}, (
        "entailment",
        "contradiction",
        "neutral",
    )[case]


def _similarity(i: int) -> tuple[dict[str, Any], Any]:
    one, _, here, there, case = _pair(i)
    first = f"{one}が{here}で遊んでいる"
    made = (f"{one}が{here}で遊ぶ", f"{one}が{there}で眠る", "飛行機の切符は高い")
    return {"sentence1": first, "sentence2": made[case]}, (4.5, 2.5, 0.5)[case]


def _choice(i: int) -> tuple[dict[str, Any], Any]:
    pairs = [
        ("空を飛ぶもの", "飛行機"),
        ("雨の日に差すもの", "傘"),
        ("本を読む所", "図書館"),
        ("火を消す人", "消防士"),
    ]
    asked, _ = pairs[i % len(pairs)]
    choices = [right for _, right in pairs[i % 3 :] + pairs[: i % 3]]
    return {"question": f"{asked}は？", "choices": choices}, choices.index(dict(pairs)[asked])


def _reading(i: int) -> tuple[dict[str, Any], Any]:
    name, town, year = ("青木", "白井", "黒田")[i % 3], ("港町", "山里", "川端")[i % 2], 1900 + i
    context = f"{name} [SEP] {name}は{year}年に{town}で生まれた。のちに画家となった。"
    if i % 4 == 3:
        return {"title": name, "context": context, "question": f"{name}が好んだ料理は何か？"}, []
    asked, right = (("何年に", f"{year}年"), ("どこで", town))[i % 2]
    inputs = {"title": name, "context": context, "question": f"{name}は{asked}生まれたか？"}
    return inputs, [{"text": right, "start": context.index(right)}]


def _tagging(i: int) -> tuple[dict[str, Any], Any]:
    person, town = PEOPLE[i % len(PEOPLE)], TOWNS[i % len(TOWNS)]
    text = f"{person}은 어제 {town}에 갔다." if i % 5 else "오늘은 비가 왔다."
    found = [(person, "PS"), (town, "LC")] if i % 5 else []
    return {"text": text}, [
        Span(text.index(word), text.index(word) + len(word), label) for word, label in found
    ]


def _relation(i: int) -> tuple[dict[str, Any], Any]:
    person, town, case = PEOPLE[i % len(PEOPLE)], TOWNS[i % len(TOWNS)], i % 3
    text = (
        f"{person}은 {town}을 지나갔다.",
        f"{town}에서 태어난 {person}은 가수다.",
        f"{person} 회사의 본사는 {town}에 있다.",
    )[case]
    kind = "ORG" if case == 2 else "PER"
    subject, place = text.index(person), text.index(town)
    inputs = {
        "text": text,
        "subject": Span(subject, subject + len(person), kind),
        "object": Span(place, place + len(town), "LOC"),
    }
    return inputs, RELATIONS[case]


def _tree(i: int) -> tuple[dict[str, Any], Any]:
    person, town = PEOPLE[i % len(PEOPLE)], TOWNS[i % len(TOWNS)]
    words = [
        (f"{person}이", f"{person} 이", "NNP+JKS"),
        (f"{town}에", f"{town} 에", "NNP+JKB"),
        ("갔다.", "가 았 다 .", "VV+EP+EF+SF"),
    ]
    heads, labels = [3, 3, 0], ["NP_SBJ", "NP_AJT", "VP"]
    if i % 2:
        words.insert(1, ("아주", "아주", "MAG"))
        heads, labels = [4, 4, 4, 0], ["NP_SBJ", "AP", "NP_AJT", "VP"]
    text = " ".join(form for form, _, _ in words)
    shown = [{"form": form, "lemma": lemma, "pos": pos} for form, lemma, pos in words]
    return {"text": text, "words": shown}, {"heads": heads, "labels": labels}


def _dialogue(i: int) -> tuple[dict[str, Any], Any]:
    area, day = ("북쪽", "남쪽", "서쪽")[i // 2 % 3], ("월요일", "화요일")[i // 4 % 2]
    turns = [{"role": "user", "text": f"{area}에 있는 숙소를 찾아 주세요."}]
    state = [f"숙소-지역-{area}"]
    if i % 2:
        turns += [
            {"role": "sys", "text": "언제 묵으시나요?"},
            {"role": "user", "text": f"{day}에 묵을게요."},
        ]
        state.append(f"숙소-예약 요일-{day}")
    return {"turns": turns}, state


def _task(
    kind: Kind, question: str, inputs: tuple[str, ...], metrics: tuple[str, ...], **more: Any
) -> Task:
    return Task(
        name=f"invented-{kind}",
        dataset="invented",
        kind=kind,
        question=question,
        inputs=inputs,
        metrics=metrics,
        **more,
    )


MADE = {
    _text: _task(
        "text", "label", ("text",), ("accuracy", "mcc", "macro-f1"), labels=("good", "bad")
    ),
    _inference: _task(
        "inference",
        "label",
        ("premise", "hypothesis"),
        ("accuracy",),
        labels=("entailment", "contradiction", "neutral"),
    ),
    _similarity: _task(
        "similarity", "score", ("sentence1", "sentence2"), ("mse",), scale=(0.0, 5.0)
    ),
    _choice: _task("choice", "choice", ("question", "choices"), ("accuracy",)),
    _reading: _task(
        "reading",
        "answers",
        ("title", "context", "question"),
        ("jsquad-em", "jsquad-f1", "klue-em", "rouge-w"),
    ),
    _tagging: _task(
        "tagging", "spans", ("text",), ("entity-macro-f1", "char-macro-f1"), labels=("PS", "LC")
    ),
    _relation: _task(
        "relation",
        "relation",
        ("text", "subject", "object"),
        ("relation-micro-f1",),
        labels=RELATIONS,
    ),
    _tree: _task(
        "tree", "tree", ("text", "words"), ("uas", "las"), labels=("NP_SBJ", "NP_AJT", "AP", "VP")
    ),
    _dialogue: _task("dialogue", "state", ("turns",), ("jga", "slot-f1")),
}


def _examples(task: Task, make: Any, numbers: range) -> Iterator[Example]:
    for i in numbers:
        inputs, gold = make(i)
        group = f"d{i // 2}" if task.kind == "dialogue" else f"g{i % 17}"
        yield Example(id=f"{task.kind}-{i}", inputs=inputs, gold={task.question: gold}, group=group)


@pytest.fixture(scope="session")
def invented() -> Mapping[Kind, Invented]:
    """Each kind's task with 48 examples to learn from and 12 to ask."""
    return {
        task.kind: Invented(
            task,
            tuple(_examples(task, make, range(48))),
            tuple(_examples(task, make, range(48, 60))),
        )
        for make, task in MADE.items()
    }
