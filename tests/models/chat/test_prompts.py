"""Prompt files, shots, and the small readers: what they take and what they refuse."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from nikawa.datasets import benchmarks
from nikawa.errors import BadInput
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer
from nikawa.io.answers.replies import find_json
from nikawa.io.answers.structures import Unreadable, count_occurrence, find_spans
from nikawa.models import models
from nikawa.models.chat.prompts import PROMPTS_FOLDER, draw_shots, find_template, read_template
from nikawa.models.chat.questions import QUESTIONS
from nikawa.records import Example, Kind, Span, Task

TASK = Task(
    name="own",
    dataset="own",
    kind="inference",
    question="label",
    inputs=("premise", "hypothesis"),
    labels=("entailment", "neutral"),
    metrics=(),
)
POOL = [
    Example(
        id=str(i),
        inputs={"premise": f"{i}", "hypothesis": "x"},
        gold={"label": "neutral" if i % 4 else "entailment"},
    )
    for i in range(40)
]


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("language", ["ja", "ko"])
def test_each_kind_has_a_prompt_in_both_languages(kind: Kind, language: str) -> None:
    names = {"similarity": ("sentence1", "sentence2"), "choice": ("question", "choices")}
    task = replace(TASK, kind=kind, inputs=names.get(kind, ()))
    template = find_template(task, language)
    assert template.name == f"{kind}.{language}.txt"
    script = r"[\u3040-\u30ff]" if language == "ja" else r"[\uac00-\ud7a3]"
    assert re.search(script, "".join(template.user))


@pytest.mark.parametrize(
    "task",
    [(b.language, t) for b in benchmarks().values() for t in b.tasks],
    ids=lambda pair: pair[1].name,
)
def test_each_task_has_a_prompt_whose_labels_are_its_own(task: tuple[str, Task]) -> None:
    language, found = task
    if language not in ("ja", "ko", "en"):  # other languages: the user sets one of these
        with pytest.raises(BadInput, match=f"no prompt for {found.kind} tasks in '{language}'"):
            find_template(found, language)
        language = "en"
    template = find_template(found, language)
    if found.labels and template.labels:
        assert set(template.labels) <= set(found.labels)
    if found.kind in ("text", "inference", "relation", "tagging") and language != "en":
        assert found.name == "ynat" or {*found.labels} == {*template.labels}


def test_no_prompt_is_without_a_task() -> None:
    kinds, tasks = get_args(Kind), {t.name for b in benchmarks().values() for t in b.tasks}
    for path in PROMPTS_FOLDER.iterdir():
        name, language, suffix = path.name.rsplit(".", 2)
        assert name in kinds or name in tasks
        assert (language in ("ja", "ko", "en"), suffix) == (True, "txt")


def write(folder: Path, text: str) -> Path:
    path = folder / "own.txt"
    path.write_text(text, "utf-8")
    return path


GOOD = '# a note\n== user ==\n{premise}と{hypothesis}\n{options}\n{"json": 1}\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            GOOD.replace("premise", "premis"),
            r"own.txt, line 3: there is no slot \{premis\} .*did you mean 'premise'",
        ),
        ("first\n" + GOOD, "line 1: is before the first section; start with == system =="),
        (GOOD + "== user ==\n", "line 6: the section 'user' is repeated"),
        (
            GOOD + "== usr ==\n",
            "line 6: the section 'usr' is unknown; use each once: system, user, labels",
        ),
        ("== system ==\nx\n", "has no section == user =="),
        (
            "== system ==\n{premise}\n" + GOOD[9:],
            r"line 2: \{premise\} has a different value for each example; use it in the section user",
        ),
        (
            "== user ==\n{options}\n",
            "the section user contains no input of the example; use at least one of the slots: hypothesis, premise",
        ),
        ("== user ==\n{premise}\n", r"does not list the possible answers; add \{options\}"),
        (GOOD + "== labels ==\nneutral\n", "line 7: is not of the form LABEL = WORD"),
    ],
)
def test_faults_are_told_with_their_lines(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        read_template(write(tmp_path, text), TASK)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"== user ==\n\xff{premise}\n")
    with pytest.raises(BadInput, match="line 2"):
        read_template(tmp_path / "x.txt", TASK)
    with pytest.raises((BadInput, OSError), match="absent"):
        read_template(tmp_path / "absent.txt", TASK)
    with pytest.raises(BadInput, match=r"no prompt for tree tasks in 'en'.*prompt=FILE"):
        find_template(replace(TASK, kind="tree"), "en")


def test_a_prompt_of_ones_own(server: Any, chat: Any, tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "== labels ==\nneutral = 不明\n")
    text = [replace(POOL[0], inputs={"premise": "{hypothesis}", "hypothesis": "雨"}, gold={})]
    model = chat(prompt=str(path))
    model.predict(TASK, text)
    [message] = server.asked[0]["messages"]
    assert message["content"] == '{hypothesis}と雨\nA: entailment\nB: 不明\n{"json": 1}'
    assert model.about()["prompt"] == "own.txt"
    with pytest.raises((BadInput, OSError), match="gone"):
        chat(prompt=str(tmp_path / "gone.txt")).predict(TASK, text)


def test_shots_are_balanced_and_drawn_by_seed() -> None:
    drawn = draw_shots(TASK, POOL, 6, 0)[:6]
    assert Counter(e.gold["label"] for e in drawn) == {"entailment": 3, "neutral": 3}
    assert drawn == draw_shots(TASK, POOL[::-1], 6, 0)[:6]
    assert drawn != draw_shots(TASK, POOL, 6, 1)[:6]
    assert {e.id for e in draw_shots(TASK, POOL, 4, 0)[:4]} < {e.id for e in drawn}
    assert len(draw_shots(TASK, POOL, "all", 0)) == 40
    assert len(draw_shots(TASK, POOL, 30, 0)) == 31
    assert draw_shots(TASK, (), 0, 0) == []
    with pytest.raises(BadInput, match="41 shots cannot be drawn from 40 examples"):
        draw_shots(TASK, POOL, 41, 0)


def test_shots_are_turns_before_the_question(server: Any, chat: Any) -> None:
    model = chat(shots=2, language="ja")
    with pytest.raises(BadInput, match="is not trained on"):
        model.predict(TASK, POOL[:1])
    with pytest.raises(BadInput, match="has no gold"):
        model.fit(TASK, [replace(POOL[0], gold={})] * 2)
    model.fit(TASK, POOL)
    model.predict(TASK, [replace(e, gold={}) for e in POOL])
    for body in server.asked:
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"]
        assert len(set(asked)) == 3, "a question is not its own example"
    shown = {m["content"] for m in server.asked[0]["messages"] if m["role"] == "assistant"}
    assert shown == {"A", "B"}
    assert len(model.about()["shots"]) == 2


LABELS_OFFERED = ("acceptable", "unacceptable", "neutral")
READ_OPTION = make_reader(
    replace(TASK, labels=LABELS_OFFERED),
    offer=Offer(
        keys=("A", "B", "C"),
        words=dict(zip(LABELS_OFFERED, ("容認できる", "容認できない", "中立"), strict=True)),
    ),
)
SCALE = (0.0, 5.0)
READ_NUMBER = make_reader(
    replace(TASK, kind="similarity", labels=(), scale=SCALE), offer=Offer(scale=SCALE)
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A", 0),
        ("Ｂ", 1),
        ("(C)", 2),
        ("B: 容認できない", 1),
        ("**A**", 0),
        ('{"answer": "C"}', 2),
        ('```json\n{"answer": "B"}\n```', 1),
        ("C\nAでもBでもない", 2),
        ("理由はAやBにある。\nよって答えはC", 2),
        ("容認できない", 1),
        ("容認できる", 0),
        ("Unacceptable.", 1),
        ("The answer is B.", 1),
        ("A cat is neutral", 2),
        ("正解:A", 0),
    ],
)
def test_options_that_can_be_read(text: str, meant: int) -> None:
    assert READ_OPTION(text, POOL[0]).answer == LABELS_OFFERED[meant]


@pytest.mark.parametrize("text", ["", "D", "AかB", "容認できる、中立", "Apple", "{}", "BCA", "[1]"])
def test_options_that_cannot(text: str) -> None:
    reading = READ_OPTION(text, POOL[0])
    assert reading.answer is None
    assert reading.why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.5", 3.5),
        ("４点", 4.0),
        ("4/5", 4.0),
        ("類似度: 2.5(5点満点)", 2.5),
        ('{"score": 1}', 1.0),
        ("0 。", 0.0),
        ("점수는 3.2입니다", 3.2),
    ],
)
def test_numbers_that_can_be_read(text: str, value: float) -> None:
    assert READ_NUMBER(text, POOL[0]).answer == value


@pytest.mark.parametrize("text", ["", "高い", "7", "-1", "3か4", "1.5.2", '{"score": null}'])
def test_numbers_that_cannot(text: str) -> None:
    reading = READ_NUMBER(text, POOL[0])
    assert reading.answer is None
    assert reading.why


def test_json_inside_a_text() -> None:
    assert find_json('はい。```json\n{"a": {"b": [1]}}\n```') == {"a": {"b": [1]}}
    assert find_json('{"a": {broken {"b": 1}') == {"b": 1}
    assert find_json("[1, 2]", (dict, list)) == [1, 2]
    assert find_json("[1, 2]") is None
    assert find_json("{" * 100_000) is None


LABELS = {"ps": "PS", "人名": "PS", "lc": "LC"}


@pytest.mark.parametrize(
    ("text", "entities", "spans"),
    [
        ("林と林", [("林", 2, "PS")], [(2, 3)]),
        ("林と林", [("林", None, "PS"), ("林", None, "人名")], [(0, 1), (2, 3)]),
        ("ああああ", [("ああ", 3, "PS")], [(2, 4)]),
        ("林です", [("林", 9, "ps")], [(0, 1)]),
        ("\u1100\u1161다", [("가다", 1, "PS")], [(0, 3)]),
        ("ＡＢＣ社", [("ABC社", 1, "LC")], [(0, 4)]),
        (" 林 ", [(" 林", 1, "PS")], [(0, 2)]),
        ("林です", [(" 林 ", 1, "PS")], [(0, 1)]),
        ("林です", [("林", 1, "PS"), ("林", 1, "PS")], [(0, 1)]),
    ],
)
def test_spans_that_can_be_found(
    text: str, entities: list[Any], spans: list[tuple[int, int]]
) -> None:
    told = [
        {"text": t, "label": label, **({"occurrence": n} if n else {})} for t, n, label in entities
    ]
    assert [(s.start, s.end) for s in find_spans(text, told, LABELS)] == spans


@pytest.mark.parametrize(
    ("text", "entity", "why"),
    [
        ("林と林", {"text": "林", "occurrence": 3, "label": "PS"}, "is in the text 2 times"),
        ("각", {"text": "가", "label": "PS"}, "is not in the text"),
        ("林", {"text": "森", "label": "PS"}, "'森' is not in the text"),
        ("林", {"text": "", "label": "PS"}, "is not in the text"),
        ("林", {"text": "林", "label": "XX"}, "'XX' is no label"),
        ("林", {"label": "PS"}, "has no text"),
        ("林", "林", "has no text"),
    ],
)
def test_spans_that_cannot(text: str, entity: Any, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        find_spans(text, [entity], LABELS)


def test_spans_that_overlap_and_their_way_back() -> None:
    with pytest.raises(Unreadable, match="overlap"):
        find_spans(
            "林さん", [{"text": "林", "label": "PS"}, {"text": "林さん", "label": "PS"}], LABELS
        )
    text = "ああああ林ああ"
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            told = {
                "text": text[start:end],
                "occurrence": count_occurrence(text, Span(start, end)),
                "label": "PS",
            }
            assert find_spans(text, [told], LABELS) == [Span(start, end, "PS")]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "chat:m needs the address of a server; pass --base-url URL; in Python, set base_url"),
        ({"base_url": "localhost:8000"}, "base_url must look like"),
        ({"base_url": "ftp://x/v1"}, "base_url must look like"),
        ({"base_url": "http://x:99999/v1"}, "base_url must look like"),
        ({"base_url": "http://x/v1?key=hush"}, r"must not contain \?"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"shots": -1}, "shots must be at least 0"),
        ({"shots": "some"}, "a setting is invalid"),
        ({"how": "guess"}, "a setting is invalid"),
        ({"timeout": 0}, "timeout must be greater than 0"),
        ({"wait": -1.0}, "wait must be 0 or more"),
        ({"extra": {"messages": []}}, "extra cannot set messages"),
        ({"api_key": "hush"}, "there is no setting 'api_key'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], told: str) -> None:
    from nikawa.models import model

    with pytest.raises(BadInput, match=told) as problem:
        model("chat:m", settings=settings)
    assert "hush" not in str(problem.value)
    assert models()["chat"].argument == "NAME"


@pytest.mark.parametrize(
    ("scale", "sentence"),
    [
        ((0.0, 5.0), "0은 뜻이 전혀 다르다는 것, 5는 뜻이 완전히 같다는 것을 나타냅니다."),
        ((1.0, 10.0), "1은 뜻이 전혀 다르다는 것, 10은 뜻이 완전히 같다는 것을 나타냅니다."),
        ((2.0, 4.0), "2는 뜻이 전혀 다르다는 것, 4는 뜻이 완전히 같다는 것을 나타냅니다."),
        ((-1.0, 1.0), "-1은 뜻이 전혀 다르다는 것, 1은 뜻이 완전히 같다는 것을 나타냅니다."),
        ((0.5, 100.0), "0.5는 뜻이 전혀 다르다는 것, 100은 뜻이 완전히 같다는 것을 나타냅니다."),
    ],
)
def test_a_korean_particle_follows_the_reading_of_the_number(
    scale: tuple[float, float], sentence: str
) -> None:
    task = replace(TASK, kind="similarity", inputs=("sentence1", "sentence2"), scale=scale)
    questions = QUESTIONS["similarity"](task, find_template(task, "ko"), "ko")
    assert sentence in questions.template.fill("system", questions.common_slots())
