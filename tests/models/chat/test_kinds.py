"""Every kind of task against a server that does its part: what is asked, and what is read from the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput
from nikawa.models import Trainable
from nikawa.models.chat.conversation import detect_language
from nikawa.models.chat.prompts import find_template
from nikawa.models.chat.questions import QUESTIONS
from nikawa.records import Example, Kind, Prediction, Span, Task

NLI = ("entailment", "contradiction", "neutral")


def task(kind: Kind, question: str, *inputs: str, **more: Any) -> Task:
    return Task(
        name=f"own-{kind}",
        dataset="own",
        kind=kind,
        question=question,
        inputs=inputs,
        metrics=(),
        **more,
    )


INFER = task("inference", "label", "premise", "hypothesis", labels=NLI)
PAIRS = [
    Example(
        id="a",
        inputs={"premise": "庭で犬が走る。", "hypothesis": "犬が動く。"},
        gold={"label": "entailment"},
    ),
    Example(
        id="b",
        inputs={"premise": "庭で犬が走る。", "hypothesis": "犬はいない。"},
        gold={"label": "contradiction"},
    ),
    Example(
        id="c",
        inputs={"premise": "庭で犬が走る。", "hypothesis": "犬は白い。"},
        gold={"label": "neutral"},
    ),
]


def nli(question: str) -> str:
    last = question.rpartition("仮説")[2]
    return "A" if "動く" in last else "B" if "いない" in last else "C"


def answers(found: list[Prediction]) -> list[Any]:
    return [p.answer for p in found]


@pytest.mark.parametrize(
    ("can", "way"),
    [
        ({"logprobs"}, "logprob"),
        ({"echo"}, "echo"),
        ({"json_schema"}, "json_schema"),
        ({"structured_outputs"}, "structured_outputs"),
        ({"guided_json"}, "guided_json"),
        ({"grammar"}, "grammar"),
        (set(), "parse"),
    ],
)
@pytest.mark.parametrize("ignores", [False, True])
def test_a_choice_is_asked_as_well_as_the_server_can(
    server: Any, chat: Any, can: set[str], way: str, ignores: bool
) -> None:
    server.can = {"max_tokens", "temperature", "system", *can}
    server.ignores, server.brain = ignores, nli
    model = chat()
    found = model.predict(INFER, PAIRS)
    assert model.about()["how"] == way
    assert answers(found) == list(NLI)
    if way in ("logprob", "echo"):
        assert all(
            sum(p.scores.values()) == pytest.approx(1) and list(p.scores) == list(NLI)
            for p in found
        )
    else:
        assert all(p.scores is None for p in found)


def test_the_share_of_each_label_is_its_share_of_the_likeliest_tokens(
    server: Any, chat: Any
) -> None:
    [found] = chat().predict(INFER, PAIRS[:1])
    assert found.scores == pytest.approx(
        {"entailment": 0.8175745, "contradiction": 0.1824255, "neutral": 0.0}
    )


def test_what_a_server_objects_to_is_left_out(server: Any, chat: Any) -> None:
    server.can, server.brain = {"logprobs"}, nli
    assert answers(chat().predict(INFER, PAIRS)) == list(NLI)
    body = server.asked[0]
    assert "max_completion_tokens" in body
    assert "temperature" not in body
    assert body["messages"][0]["role"] == "user"
    assert body["messages"][0]["content"].startswith("前提と仮説の関係")


def test_fewer_alternatives_will_do(server: Any, chat: Any) -> None:
    server.brain, server.top = nli, 5
    model = chat()
    assert answers(model.predict(INFER, PAIRS)) == list(NLI)
    assert (model.about()["how"], server.asked[0]["top_logprobs"]) == ("logprob", 5)


def test_a_way_the_server_does_not_offer(server: Any, chat: Any) -> None:
    server.can = {"max_tokens", "temperature", "system"}
    with pytest.raises(
        BadInput, match="does not return log-probabilities for some/model; set how to auto"
    ):
        chat(how="logprob").predict(INFER, PAIRS)
    with pytest.raises(BadInput, match="does not return answers constrained by a schema"):
        chat(how="constrained").predict(INFER, PAIRS)
    chat(how="parse").predict(INFER, PAIRS)
    assert not {"logprobs", "response_format"} & {*server.asked[-1]}


def test_an_input_left_out_is_not_sent(server: Any, chat: Any) -> None:
    chat().predict(replace(INFER, inputs=("hypothesis",)), PAIRS)
    sent = json.dumps(server.asked, ensure_ascii=False)
    assert "仮説: 犬が動く。" in sent
    assert "庭で" not in sent
    assert "前提:" not in sent


def test_english_and_korean_are_told_by_their_script(server: Any, chat: Any) -> None:
    english = Example(id="e", inputs={"premise": "A dog runs.", "hypothesis": "A dog moves."})
    korean = Example(id="k", inputs={"premise": "개가 달린다.", "hypothesis": "개가 움직인다."})
    for example, first in ((english, "Premise: A dog runs."), (korean, "전제: 개가 달린다.")):
        chat().predict(INFER, [example])
        assert server.asked[-1]["messages"][-1]["content"].startswith(first)
    chat(language="ja").predict(INFER, [korean])
    assert server.asked[-1]["messages"][-1]["content"].startswith("前提: 개가")


@pytest.mark.parametrize("can", [{"json_schema"}, set()])
def test_similarity(server: Any, chat: Any, can: set[str]) -> None:
    server.can = {"max_tokens", "temperature", "system", *can}
    server.brain = lambda question: '{"score": 3.5}' if can else "３．５点"
    sts = task("similarity", "score", "sentence1", "sentence2", scale=(1.0, 5.0))
    example = Example(
        id="s", inputs={"sentence1": "雨だ。", "sentence2": "雪だ。"}, gold={"score": 2.25}
    )
    model = chat(shots=1)
    model.fit(sts, [replace(example, id="t", inputs={"sentence1": "空", "sentence2": "海"})])
    assert answers(model.predict(sts, [example])) == [3.5]
    messages = server.asked[0]["messages"]
    assert "1から5まで" in messages[0]["content"]
    assert messages[2]["content"] == ('{"score":2.2}' if can else "2.2")
    other = replace(sts, inputs=("premise", "hypothesis"))
    chat().predict(other, [replace(example, inputs={"premise": "朝だ。", "hypothesis": "夜だ。"})])
    assert "文1: 朝だ。\n文2: 夜だ。" in server.asked[-1]["messages"][-1]["content"]


def test_a_choice_brings_its_options(server: Any, chat: Any) -> None:
    server.brain = lambda question: "C"
    choice = task("choice", "choice", "question", "choices")
    example = Example(id="q", inputs={"question": "雪の色は？", "choices": ["赤", "青", "白"]})
    [found] = chat().predict(choice, [example])
    assert found.answer == 2
    assert set(found.scores) == {"0", "1", "2"}
    assert "A: 赤\nB: 青\nC: 白" in server.asked[0]["messages"][-1]["content"]
    [found] = chat(how="constrained").predict(choice, [example])
    schema = server.asked[-1]["response_format"]["json_schema"]["schema"]
    assert (found.answer, schema["properties"]["answer"]["enum"]) == (2, ["A", "B", "C"])
    with pytest.raises(BadInput, match="needs a list of 1 to 26 choices"):
        chat().predict(replace(choice, inputs=("question",)), [example])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("札幌", "札幌"),
        ("答え: 「札幌」\n理由は…", "札幌"),
        ("答えなし。", ""),
        ('{"answer": ""}', ""),
        ('{"answer": "札幌市"}', "札幌市"),
        ("「札幌に」", "札幌に"),
        ("『旅』", "『旅』"),
    ],
)
def test_reading(server: Any, chat: Any, said: str, meant: str) -> None:
    server.brain = lambda question: said
    mrc = task("reading", "answers", "title", "context", "question")
    inputs = {"title": "旅", "context": "札幌に行った。『旅』", "question": "どこに行った？"}
    [found] = chat().predict(mrc, [Example(id="r", inputs=inputs)])
    assert (found.answer, found.raw, found.why) == (meant, said, None)


NER = task("tagging", "spans", "text", labels=("PS", "LC"))
TOWN = Example(
    id="n",
    inputs={"text": "山田は山田町の山田さんです。"},
    gold={"spans": [Span(3, 6, "LC"), Span(7, 9, "PS")]},
)


@pytest.mark.parametrize("can", [{"json_schema"}, {"json_object"}, set()])
def test_entities_come_back_to_their_characters(server: Any, chat: Any, can: set[str]) -> None:
    server.can = {"max_tokens", "temperature", "system", *can}
    found = {
        "entities": [
            {"text": "山田", "occurrence": 3, "label": "PS"},
            {"text": "山田町", "occurrence": 1, "label": "地名"},
        ]
    }
    server.brain = lambda question: json.dumps(found, ensure_ascii=False)
    model = chat(shots=1)
    model.fit(NER, [TOWN])
    [answer] = model.predict(
        NER, [replace(TOWN, inputs={"text": "「" + TOWN.inputs["text"]}, gold={})]
    )
    assert answer.answer == [Span(4, 7, "LC"), Span(8, 10, "PS")]
    shown = json.loads(server.asked[0]["messages"][2]["content"])
    assert shown["entities"][1] == {"text": "山田", "occurrence": 3, "label": "PS"}


def test_relations(server: Any, chat: Any) -> None:
    labels = ("no_relation", *(f"per:r{i}" for i in range(29)))
    re_task = task("relation", "relation", "text", "subject", "object", labels=labels)
    inputs = {
        "text": "이순이는 서울에서 산다.",
        "subject": Span(0, 3),
        "object": {"start": 5, "end": 7},
    }
    server.brain = lambda question: (
        "per:r12" if "<subject>이순이</subject>는 <object>서울</object>에서" in question else "?"
    )
    model = chat()
    [found] = model.predict(re_task, [Example(id="1", inputs=inputs)])
    assert (found.answer, model.about()["how"]) == ("per:r12", "json_schema")
    schema = server.asked[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == list(labels)
    [scored] = chat(how="logprob").predict(re_task, [Example(id="1", inputs=inputs)])
    assert scored.answer == "per:r12"
    assert len(scored.scores) == 30


def test_trees(server: Any, chat: Any) -> None:
    dp = task("tree", "tree", "text", "words", labels=("NP", "VP"))
    words = [
        {"form": "비가", "lemma": "비 가", "pos": "NNG+JKS"},
        {"form": "온다", "lemma": "오 ㄴ다", "pos": "VV+EF"},
    ]
    rows = [
        {"index": 2, "word": "온다", "head": 0, "label": "VP"},
        {"index": 1, "word": "비가", "head": 2, "label": "np"},
    ]
    server.brain = lambda question: json.dumps({"words": rows})
    example = Example(
        id="1",
        inputs={"text": "비가 온다", "words": words},
        gold={"tree": {"heads": [2, 0], "labels": ["NP", "VP"]}},
    )
    model = chat(shots="all")
    model.fit(dp, [replace(example, inputs={"text": "눈이 온다", "words": words})])
    [found] = model.predict(dp, [example])
    assert found.answer == {"heads": [2, 0], "labels": ["NP", "VP"]}
    assert "1\t비가\t비 가\tNNG+JKS" in server.asked[0]["messages"][-1]["content"]
    rows.pop()
    [short] = chat(seed=1).predict(
        dp, [replace(example, inputs={**example.inputs, "text": "비가 온다."})]
    )
    assert (short.answer, short.why) == (None, "unparsable: word 1 has no head")


def test_dialogues(server: Any, chat: Any) -> None:
    dst = task("dialogue", "state", "turns")
    turns = [{"role": "user", "text": "싼 식당을 찾아요."}, {"role": "sys", "text": "지역은요?"}]
    server.brain = lambda question: (
        '{"state": [{"slot": "식당-가격대", "value": "저렴"}, {"slot": "식당-지역", "value": "none"}]}'
    )
    learn = Example(
        id="l", inputs={"turns": turns[:1]}, gold={"state": ["식당-가격대-저렴", "식당-지역-북쪽"]}
    )
    model = chat()
    model.fit(dst, [learn])
    [found] = model.predict(dst, [Example(id="1", inputs={"turns": turns})])
    assert found.answer == ["식당-가격대-저렴"]
    assert (
        "사용자: 싼 식당을 찾아요.\n시스템: 지역은요?" in server.asked[0]["messages"][-1]["content"]
    )
    server.brain = lambda question: '{"state": [{"slot": "택시-색", "value": "노랑"}]}'
    [odd] = model.predict(dst, [Example(id="2", inputs={"turns": turns[1:]})])
    assert odd.why == "unparsable: there is no slot '택시-색'"


def test_it_is_a_model_like_the_others(chat: Any) -> None:
    model = chat()
    assert isinstance(model, Trainable)
    assert model.name == "chat:some/model"
    assert model.predict(INFER, []) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["klue-ner", "klue-dp", "jsquad", "klue-nli", "jcommonsenseqa", "jsick-sts"]
)
def test_published_gold_survives_being_shown_and_read(shared_data: Path, name: str) -> None:
    found = tasks()[name]
    examples = load(f"{found.dataset}:dev", data=shared_data).splits["dev"]
    language = detect_language(found, examples)
    form = QUESTIONS[found.kind](found, find_template(found, language), language)
    for example in examples:
        gold = example.gold[found.question]
        meant = gold[0]["text"].strip() if name == "jsquad" else gold
        for as_json in (False, True):
            read = form.read(example, form.format_gold(example, gold, as_json)).answer
            assert read == (pytest.approx(meant, abs=0.051) if name == "jsick-sts" else meant), (
                example.id
            )
