"""A model judges: what it is asked, what becomes of its replies, and where its answers go."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.judging.conftest import LABELS, choose, key_of
from typer.testing import CliRunner

import nikawa as nk
from nikawa.aggregation.ranking import RankOptions, rank_compared
from nikawa.cli.judge import describe_bias
from nikawa.cli.terminal.app import build
from nikawa.collect.form import forms
from nikawa.collect.items import import_judgements, open_synced
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions
from nikawa.io.locks import lock_folder
from nikawa.io.records import write_records
from nikawa.judging.interview import ClosedField, CopyPlan, Interview, place_quotes
from nikawa.judging.position import ShownAnswer, measure_position_bias
from nikawa.judging.structures import StatesField, TreeField
from nikawa.judging.tasks import JudgingTask, find_form_limit, open_task
from nikawa.models.chat.settings import is_loopback
from nikawa.records import Example, Judgement

COPY = CopyPlan(1, 7, 0.0, 1)


def read(path: Path) -> list[Judgement]:
    return [msgspec.json.decode(line, type=Judgement) for line in path.read_bytes().splitlines()]


def test_a_project_is_judged_imported_and_counted_apart(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    server.brain = choose("含意")
    report = ask(project)
    rows = read(tmp_path / "out" / "judgements.jsonl")
    assert [(row.example, row.worker, row.answer, row.kind) for row in rows[:3]] == [
        ("i0", "model:model#1", "entailment", "machine"),
        ("i0", "model:model#2", "entailment", "machine"),
        ("i1", "model:model#1", "entailment", "machine"),
    ]
    assert (len(rows), report.judgements, report.same_answer) == (24, 24, 1.0)
    everything = json.dumps(server.asked, ensure_ascii=False)
    assert "秘密" not in everything  # gold, tags, meta, votes, control items
    assert "犬が走る → 含意" in everything  # the guideline with its examples
    replies = [
        json.loads(line) for line in (tmp_path / "out/replies.jsonl").read_bytes().splitlines()
    ]
    assert {tuple(row["order"]["label"]) for row in replies} > {tuple(LABELS)}
    assert {row["wording"] for row in replies} == {1, 2}
    assert {row["temperature"] for row in replies} == {0.0, 0.5}
    assert (tmp_path / "out/judgements.jsonl").stat().st_mode & 0o077 == 0
    with open_synced(project, is_new=True):
        pass
    imported = import_judgements(project, tmp_path / "out/judgements.jsonl", JudgementOptions())
    assert imported.answers == 24
    with pytest.raises(BadInput, match="no person answered"):
        nk.aggregate(tmp_path / "out" / "judgements.jsonl")


def test_the_same_seed_gives_the_same_bytes_and_asks_nothing_again(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    server.brain = choose("中立")
    server.trouble = lambda number, question: "reset" if number == 9 else None
    with pytest.raises(BadInput, match="run the same command again"):
        ask(project, settings={"retries": 0, "concurrency": 1})
    assert not (tmp_path / "out/judgements.jsonl").exists()
    server.trouble = lambda number, question: None
    before = len(server.asked)
    ask(project, settings={"retries": 0, "concurrency": 1})
    assert len(server.asked) - before < 24
    first = (tmp_path / "out/judgements.jsonl").read_bytes()
    before = len(server.asked)
    ask(project, settings={"retries": 0, "concurrency": 1})
    assert len(server.asked) == before
    journal = tmp_path / "out/cache/replies.jsonl"
    journal.write_bytes(journal.read_bytes()[:-200])  # as a kill leaves it
    (tmp_path / "out/judgements.jsonl").unlink()
    ask(project, settings={"retries": 0, "concurrency": 1})
    assert 0 < len(server.asked) - before < 4
    assert (tmp_path / "out/judgements.jsonl").read_bytes() == first
    ask(project, "again")
    assert (tmp_path / "again/judgements.jsonl").read_bytes() == first
    with pytest.raises(BadInput, match="another job"):
        ask(project, seed=1)


def test_a_server_that_misbehaves_changes_no_answer(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    server.brain = choose("含意")
    page = (200, {"Content-Type": "text/html"}, b"<script>alert(1)</script>")
    faults = [
        "reset",
        "cut",
        (429, {"Retry-After": "0"}, b""),
        (500, {}, b""),
        page,
        (200, {}, b"[]"),
    ]
    seen: set[str] = set()

    def trouble(number: int, question: str) -> Any:
        if question in seen:
            return None
        seen.add(question)
        return faults[len(seen) % len(faults)]

    server.trouble = trouble
    report = ask(project, settings={"concurrency": 4})
    assert report.judgements == 24
    body = (tmp_path / "out/judgements.jsonl").read_bytes()
    assert b"script" not in body
    server.trouble = lambda number, question: (401, {}, b"{}")
    with pytest.raises(BadInput, match="set a valid key"):
        ask(project, "locked")
    server.trouble = lambda number, question: None
    server.shape = lambda reply: {
        **reply,
        "choices": [{"message": {"refusal": "<b>No</b>"}, "finish_reason": "stop"}],
    }
    refused = ask(project, "refused", copies=1)
    assert refused.without_answer == {"refusal": 12}
    assert refused.judgements == 0


def test_an_answer_against_a_rule_is_asked_again_with_the_words_workers_read(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    def stubborn(asked: str) -> str:
        if "0匹" in asked:
            return "申し訳ありませんが、お答えできません。"
        return '{"label": "Q"}' if "1匹" in asked else json.dumps({"label": "A"})

    server.brain = stubborn
    server.can -= {"json_schema"}
    report = ask(project, copies=1, tries=2)
    last = [body["messages"] for body in server.asked if len(body["messages"]) > 2]
    told = "\n".join(messages[-1]["content"] for messages in last)
    assert "一つ選んでください" in told
    rows = {row.example: row for row in read(tmp_path / "out/judgements.jsonl")}
    assert rows["i2"].answer in LABELS
    assert rows["i1"].answer in LABELS  # the retry answers A
    assert report.copies[0].asked_again >= 2
    assert sum(report.without_answer.values()) == 12 - report.copies[0].answered


def test_personal_data_stays_here_unless_it_may_go(
    tmp_path: Path, ask: Callable[..., Any], server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.brain = choose("positive")
    texts = [
        Example(id="a", inputs={"text": "連絡は hong@example.com まで。"}),
        Example(id="b", inputs={"text": "とてもよい店。"}),
    ]
    write_records(tmp_path / "texts.jsonl", texts)
    how = {
        "form": "choice",
        "form_settings": {"labels": ["positive", "negative"], "names": {"positive": "positive"}},
        "copies": 1,
    }
    report = ask(tmp_path / "texts.jsonl", "near", **how)
    assert report.personal == ()
    monkeypatch.setattr("nikawa.judging.models.is_loopback", lambda _address: False)
    server.asked.clear()
    report = ask(tmp_path / "texts.jsonl", "far", **how)
    assert report.personal == ("a",)
    assert "hong@" not in json.dumps(server.asked)
    row = read(tmp_path / "far/judgements.jsonl")[0]
    assert row.answer is None
    assert row.comment.startswith("personal data: email")
    assert ask(tmp_path / "texts.jsonl", "sent", allow_remote=True, **how).personal == ()


def test_a_job_without_any_answer_says_what_to_do(
    project: Path, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.brain = lambda asked: "I cannot say."
    words = ["judge", str(project), "--model", "chat:m", "--base-url", server.url, "--copies", "1"]
    words += ["--tries", "1", "--quiet"]
    done = CliRunner().invoke(build(), [*words, "--out", str(tmp_path / "mute")])
    assert done.exit_code == 1
    assert "no answer was written: " in done.stderr
    assert "mute/replies.jsonl has each question with the replies; try another model" in done.stderr
    monkeypatch.setattr("nikawa.judging.models.is_loopback", lambda _address: False)
    examples = [Example(id="a", inputs={"text": "連絡は hong@exam\u200bple.com まで。"})]
    write_records(tmp_path / "texts.jsonl", examples)
    words[1:2] = [str(tmp_path / "texts.jsonl"), "--form", "choice"]
    words += ["--form-set", 'labels=["good", "bad"]']
    done = CliRunner().invoke(build(), [*words, "--out", str(tmp_path / "far")])
    assert done.exit_code == 1
    assert "all items have personal data; use a model on this machine, or pass" in done.stderr


def test_copies_that_ask_the_same_again_are_counted(
    project: Path, ask: Callable[..., Any], server: Any
) -> None:
    server.brain = choose("中立")
    report = ask(project, copies=4, settings={"temperature": 0.0})
    texts = {json.dumps(body["messages"], ensure_ascii=False) for body in server.asked}
    repeated = [one.repeated for one in report.copies]
    assert repeated[:3] == [0, 0, 0]
    assert 0 < repeated[3] < 12  # of six orders of the labels, some are drawn twice
    assert sum("匹の犬" in text for text in texts) == 48 - sum(repeated)
    assert [one.repeated for one in ask(project, "warm", copies=4).copies] == [0, 0, 0, 0]


def test_the_budget_stops_the_job_and_more_money_continues_it(
    project: Path, ask: Callable[..., Any], server: Any
) -> None:
    server.brain = choose("矛盾")
    server.shape = lambda reply: {**reply, "usage": {"prompt_tokens": 998, "completion_tokens": 2}}
    prices = {"price_in": 100.0, "price_out": 100.0, "concurrency": 1}
    with pytest.raises(BadInput, match="budget"):
        ask(project, max_cost=1.0, settings=prices)
    spent = len(server.asked)
    assert 0 < spent < 24
    report = ask(project, max_cost=100.0, settings=prices)
    assert len(server.asked) == 24
    assert report.cost == pytest.approx(24 * 1000 * 100 / 1e6)


@pytest.mark.parametrize("name", [name for name in forms() if not find_form_limit(forms()[name])])
def test_every_form_is_asked_in_every_language_and_its_sample_answer_is_read(name: str) -> None:
    form = forms()[name]
    assert form.sample is not None
    options = form.parse_options(form.initial_options(form.sample.settings))
    example = Example(id="1", inputs=dict(form.sample.inputs))
    for language in ("ja", "ko", "en"):
        task = JudgingTask("t", form, options, language, "G", (example,))
        one = Interview(task, example, COPY)
        said = _reply(one, form.sample.answer, str(example.inputs.get("text", "")))
        reading = one.read(f"<think>…</think>```json\n{json.dumps(said, ensure_ascii=False)}\n```")
        assert reading.why == ""
        assert form.validate(reading.answer or {}, example, options) == []
        assert {**form.sample.answer, **(reading.answer or {})} == reading.answer
        assert "{" not in one.question.partition("{")[0]
        assert set(one.schema["properties"]) == set(said)
    assert one.read("I cannot say.").answer is None
    first = next(iter(said))
    refused: tuple[Any, ...] = ({}, {"x": 1}, [], {first: None}, {first: [[]]})
    for answer in refused:
        assert one.read(json.dumps(answer)).answer is None or answer == []  # nothing to tag


def _reply(one: Interview, answer: dict[str, Any], text: str) -> dict[str, Any]:
    """What a model would say to mean an answer."""
    said: dict[str, Any] = {}
    for part in one.fields:
        value = answer[part.question]
        if isinstance(part, ClosedField):
            keys = dict(zip(map(str, part.values), part.keys, strict=True))
            is_list = isinstance(value, list)
            said[part.question] = [keys[str(v)] for v in value] if is_list else keys[str(value)]
        elif isinstance(part, TreeField):
            said[part.question] = [
                {"word": str(n), "head": str(head), "label": label}
                for n, (head, label) in enumerate(
                    zip(value["heads"], value["labels"], strict=True), 1
                )
            ][::-1]
        elif isinstance(part, StatesField):
            said[part.question] = value
        elif part.labels:
            said[part.question] = [
                {"text": text[span["start"] : span["end"]], "label": span["label"]}
                for span in value
            ]
        elif part.is_objects:
            said[part.question] = [{name: row[name] for name in part.fields} for row in value]
        else:
            said[part.question] = value
    return said


def test_a_form_whose_answer_no_model_gives_says_why() -> None:
    refused = [name for name in forms() if find_form_limit(forms()[name])]
    assert "dialogue" in refused
    assert not {"tree", "dialogue-states"} & set(refused)
    for name in refused:  # a form of another package may not declare it
        undeclared = dataclasses.replace(forms()[name], why_no_machine="")
        assert find_form_limit(undeclared) == "its answer is a structure"


def interview(name: str, language: str = "ko", **inputs: Any) -> Interview:
    """The sample item of a form, put to a model."""
    form = forms()[name]
    assert form.sample is not None
    options = form.parse_options(form.initial_options(form.sample.settings))
    example = Example(id="1", inputs={**form.sample.inputs, **inputs})
    return Interview(JudgingTask("t", form, options, language, "G", (example,)), example, COPY)


def test_a_tree_is_asked_for_word_by_word() -> None:
    begun = {"heads": [2, 3, 4, 0], "labels": ["NP", "NP", "NP", "VP"]}
    others = {"heads": [4, 4, 4, 0], "labels": ["AP", "AP", "AP", "AP"]}
    one = interview("tree", tree=begun, answers=[others])
    assert "3. 힘껏 (MAG)" in one.question
    assert "1 → 2: NP" in one.question
    assert "1 → 4: AP" not in one.question  # another worker's
    assert one.schema["properties"]["tree"]["minItems"] == 4
    assert "NP_SBJ: 체언구·주어" in one.question
    rows = [{"word": n, "head": 4, "label": "NP_OBJ"} for n in (1, 2, 3)]
    last = {"word": 4, "head": 0, "label": "VP"}
    assert one.read(json.dumps({"tree": [*rows, last]})).answer == {
        "tree": {"heads": [4, 4, 4, 0], "labels": ["NP_OBJ", "NP_OBJ", "NP_OBJ", "VP"]}
    }
    wrong = {
        "어절 4개를": rows,
        "4 → 9": [*rows, {**last, "head": 9}],
        "4 → 4": [*rows, {**last, "head": 4}],
        "NOPE: 목록에": [*rows, {**last, "label": "NOPE"}],
        "문장의 중심이 없습니다": [*rows, {**last, "head": 1}],
    }
    for part, reply in wrong.items():
        reading = one.read(json.dumps({"tree": reply}))
        assert reading.answer is None
        assert part in reading.correction


def test_the_states_of_a_dialogue_are_asked_for_turn_by_turn() -> None:
    one = interview("dialogue-states")
    assert "2. 이용자: 네, 토요일로" in one.question
    assert "안내원: 물안개여관이 있습니다." in one.question
    assert "숙소-지역: 강변, 시장, dontcare" in one.question
    assert "전화번호:" not in one.question  # asked about, and no part of a state
    reply = {"states": [["숙소-지역-강변"], []]}
    assert one.read(json.dumps(reply)).answer == reply
    wrong = {
        "숙소-지역-산: 목록에": [["숙소-지역-산"], []],
        "발화 수(2)": [["숙소-지역-강변"]],
        "3: 목록에": [[3], []],
    }
    for part, states in wrong.items():
        assert part in one.read(json.dumps({"states": states})).correction
    twice = [["숙소-지역-강변", "숙소-지역-시장"], []]
    assert one.read(json.dumps({"states": twice})).answer is None


def test_a_model_may_say_that_a_paragraph_has_no_answer() -> None:
    form = forms()["reading-answers"]
    assert form.sample is not None
    example = Example(id="1", inputs=dict(form.sample.inputs))
    task = JudgingTask("t", form, form.parse_options({}), "ko", "G", (example,))
    one = Interview(task, example, COPY)
    assert one.read('{"answers": "석유등"}').answer == form.sample.answer
    assert one.read('{"answers": ""}').answer == {"answers": {"text": "", "start": -1}}
    assert "촛불" in one.read('{"answers": "촛불"}').correction
    assert one.read('{"answers": 3}').answer is None


def test_a_model_is_told_the_types_of_its_questions() -> None:
    form = forms()["reading"]
    assert form.sample is not None
    inputs = {**form.sample.inputs, "types": ["several"]}
    example = Example(id="1", inputs=inputs)
    task = JudgingTask("t", form, form.parse_options({}), "ja", "G", (example,))
    one = Interview(task, example, COPY)
    assert one.question.count("複数の文") == 1
    assert one.fields[0].schema()["maxItems"] == 1
    reply = '{"questions": [{"question": "明かりは何から何に替わった？", "answer": "電灯"}]}'
    assert one.read(reply).answer == {
        "questions": [
            {
                "type": "several",
                "question": "明かりは何から何に替わった？",
                "answer": "電灯",
                "start": 34,
            }
        ]
    }


def test_quotes_become_spans() -> None:
    assert place_quotes("a", "no list") == "no list"
    with pytest.raises(ValueError, match="b"):
        place_quotes("a", [{"text": "b", "label": "X"}])


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://127.9.0.1/v1", True),
        ("http://127.0.0.1.example.com/v1", False),
        ("http://192.168.0.2/v1", False),
    ],
)
def test_what_is_remote(address: str, here: bool) -> None:
    assert is_loopback(address) is here


def test_an_address_of_this_machine_is_reached_without_a_proxy(
    project: Path, ask: Callable[..., Any], server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items with personal data are sent there because they stay here; a proxy would take them elsewhere."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing listens there
    server.brain = choose("矛盾")
    assert ask(project, copies=1, settings={"retries": 0}).judgements == 12


def test_two_processes_do_not_judge_into_one_folder(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    server.brain = choose("矛盾")
    busy = BadInput("busy")
    with (
        lock_folder(tmp_path / "out", busy=busy, misplaced=busy),
        pytest.raises(BadInput, match="another process judges"),
    ):
        ask(project)
    assert not server.asked
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out/.request.json.x.part").touch()  # the start was killed
    assert ask(project, copies=1).judgements == 12


def test_an_option_is_chosen_by_what_was_shown_alone() -> None:
    """A number is no place that the model has not seen, and no key is the name of another option."""
    form = forms()["multiple-choice"]
    assert form.sample is not None
    example = Example(id="c", inputs=dict(form.sample.inputs))
    options = form.parse_options(dict(form.sample.settings))
    task = JudgingTask("t", form, options, "en", "", (example,))
    interview = Interview(task, example, COPY)
    for number in (0, 1, 2.0):
        reading = interview.read(json.dumps({"choice": number}))
        assert reading.answer is None
        assert "not in the list" in reading.correction
    assert interview.read('{"choice": "B"}').answer is not None

    form = forms()["choice"]
    options = form.parse_options({"labels": ["C", "B", "A"], "shows": ["text"]})
    example = Example(id="c", inputs={"text": "x"})
    task = JudgingTask("t", form, options, "en", "", (example,))
    for number in range(1, 5):
        interview = Interview(task, example, dataclasses.replace(COPY, number=number))
        assert interview.read('{"label": "A"}').answer == {"label": "A"}
        key = key_of(interview.question, "B")
        assert interview.read(json.dumps({"label": key})).answer == {"label": "B"}


def test_position_bias_is_seen_where_it_is_and_not_where_it_is_not() -> None:
    import random

    draw = random.Random(1)
    orders = [draw.sample("abc", 3) for _ in range(90)]
    first = [ShownAnswer(str(i // 3), order, order[0]) for i, order in enumerate(orders)]
    fair = [ShownAnswer(str(i // 3), order, "a") for i, order in enumerate(orders)]
    biased, unbiased = (measure_position_bias("label", rows) for rows in (first, fair))
    assert biased is not None
    assert unbiased is not None
    assert (biased.p or 1) < 0.001
    assert (biased.first, biased.low, biased.high) == (3.0, 3.0, 3.0)
    assert (unbiased.p or 0) > 0.01
    assert (unbiased.low or 1) < 1 < (unbiased.high or 1)
    assert sum(unbiased.chosen) == 90
    scale = [ShownAnswer(str(i), (0, 5) if i % 2 else (5, 0), 4 + i % 2, True) for i in range(60)]
    upwards = measure_position_bias("score", scale)
    assert upwards is not None
    assert upwards.difference == 1.0
    assert (upwards.p or 1) < 0.001
    assert "shown upwards" in describe_bias(upwards)
    assert "first option" in describe_bias(biased)


def test_copies_with_opposite_habits_do_not_hide_each_other(
    ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    """A model that takes the first option under one instruction and the last under another: together they look fair."""
    items = [Example(id=f"i{n}", inputs={"text": f"文章{n}"}) for n in range(40)]
    path = tmp_path / "items.jsonl"
    write_records(path, items)
    systems: list[str] = []

    def answer(asked: str) -> str:
        system = server.asked[-1]["messages"][0]["content"]
        if system not in systems:
            systems.append(system)
        return json.dumps({"label": "AB"[systems.index(system) % 2]})

    server.brain = answer
    report = ask(
        path,
        form="choice",
        form_settings={"labels": ["x", "y"]},
        language="ja",
        settings={"concurrency": 1},  # so that the last request is the one to answer
    )
    (bias,) = report.position
    assert bias.chosen == (40, 40)
    assert (bias.p or 0) > 0.5
    one, other = bias.copies
    assert {one.chosen, other.chosen} == {(40, 0), (0, 40)}
    assert max(one.p or 1, other.p or 1) < 0.01
    assert describe_bias(one).startswith(f"{one.worker} alone, order of 'label': the first option")
    assert [one.worker for one in report.copies] == [one.worker, other.worker]


def test_bad_requests_are_one_line(project: Path, ask: Callable[..., Any], tmp_path: Path) -> None:
    from nikawa.judging.job import JudgeOptions, judge

    for model in ("replay:x", "chat:", "nothing"):
        with pytest.raises(BadInput):
            judge(str(project), model, tmp_path / "no", JudgeOptions())
    with pytest.raises(BadInput, match="address of a server"):
        judge(str(project), "chat:x", tmp_path / "no", JudgeOptions())
    assert not (tmp_path / "no").exists()
    goal = forms()["dialogue"].sample
    assert goal is not None
    write_records(tmp_path / "goals.jsonl", [Example(id="1", inputs=dict(goal.inputs))])
    with pytest.raises(BadInput, match="cannot answer the form dialogue: workers write it"):
        open_task(
            str(tmp_path / "goals.jsonl"),
            form="dialogue",
            language="ko",
            settings=dict(goal.settings),
        )
    with pytest.raises(BadInput, match="its own form"):
        ask(project, "no", form="scale")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    with pytest.raises(BadInput, match="already exists"):
        ask(project, "full")
    assert key_of("A: x", "x") == "A"


def test_a_model_that_takes_the_first_text_favours_none(
    ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    """Every other copy reads the texts exchanged, so the habit is seen, and the ranking has no winner."""
    pairs = [
        Example(
            id=f"p{n}",
            inputs={"a": f"甲の訳{n}", "b": f"乙の訳{n}"},
            meta={"a": "秘密の甲", "b": "秘密の乙"},
        )
        for n in range(12)
    ]
    path = tmp_path / "pairs.jsonl"
    write_records(path, pairs)
    server.brain = lambda asked: json.dumps(
        {
            "better": key_of(asked, "文章1のほうが良い"),
            "by": "1",
            "why": [key_of(asked, "表現が自然")],
        }
    )
    report = ask(path, form="preference", language="ja")
    assert "秘密" not in json.dumps(server.asked, ensure_ascii=False)
    (bias,) = [one for one in report.position if one.question == "better"]
    assert bias.chosen == (24, 0)
    rows = [row for row in read(tmp_path / "out/judgements.jsonl") if row.question == "better"]
    assert {answer: sum(row.answer == answer for row in rows) for answer in "ab"} == {
        "a": 12,
        "b": 12,
    }
    options = RankOptions(examples=str(path), machines=True)
    ranked = rank_compared(str(tmp_path / "out/judgements.jsonl"), options=options)
    assert [one.score for one in ranked.things] == pytest.approx([0, 0], abs=1e-9)
    with pytest.raises(BadInput, match="no person answered"):
        rank_compared(
            str(tmp_path / "out/judgements.jsonl"), options=RankOptions(examples=str(path))
        )
