from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.jsquad import read, version_of
from nikawa.errors import BadInput
from nikawa.records import Finding

Put = Callable[..., Path]
Findings = Callable[..., dict[tuple[str, str], Finding]]
DEV = "jglue/datasets/jsquad-v1.3/valid-v1.3.json"
CONTEXT = "鈴虫峠 [SEP] 鈴虫峠は架空の峠で、標高は九百メートルである。"


def question(
    number: int, answer: str | None = "九百メートル", start: int = 23, **other: Any
) -> dict[str, Any]:
    row = {"id": f"a1p0q{number}", "question": "標高は？", "is_impossible": False, **other}
    return row if answer is None else row | {"answers": [{"text": answer, "answer_start": start}]}


def document(*questions: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": [{"title": "鈴虫峠", "paragraphs": [{"context": CONTEXT, "qas": list(questions)}]}]
    }


def test_reads_context_and_offsets_as_published(put: Put, data: Path) -> None:
    put(DEV, [document(question(3))])
    (example,) = load("jsquad:dev", data=data).splits["dev"]
    assert example.id == "a1p0q3"
    assert example.inputs == {"title": "鈴虫峠", "context": CONTEXT, "question": "標高は？"}
    assert example.gold == {"answers": [{"text": "九百メートル", "start": 23}]}
    assert CONTEXT[23:].startswith("九百メートル")
    assert example.group == "a1p0"
    assert example.meta == {"article": "鈴虫峠", "is_impossible": False}


@pytest.mark.parametrize("other", [{}, {"answers": []}, {"answers": None}])
def test_hidden_answers_are_no_gold(put: Put, other: dict[str, Any]) -> None:
    (example,) = read(put(DEV, [document(question(0, None, **other))]))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_an_impossible_question_has_gold_without_answers(put: Put) -> None:
    (example,) = read(put(DEV, [document(question(0, None, is_impossible=True, answers=[]))]))
    assert example.gold == {"answers": []}


def test_answers_on_some_questions_only_are_refused(put: Put) -> None:
    with pytest.raises(
        BadInput, match=r"valid-v1.3.json: the answer \(see question 'a1p0q1'\) is here for some"
    ):
        list(read(put(DEV, [document(question(0), question(1, None))])))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (question(0) | {"id": "17"}, "question id '17' is not a…p…q…"),
        (
            question(0, "九百", -1) | {"answers": [{"text": "九百"}]},
            "missing required field `answer_start`",
        ),
        (question(0) | {"question": None}, "expected `str`, got `null`"),
    ],
)
def test_a_broken_question_is_refused(put: Put, broken: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read(put(DEV, [document(broken)])))
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(caught.value.file))


def test_a_cut_document_is_refused(put: Put) -> None:
    path = put(DEV, [document(question(0))])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadInput, match="the JSON is incomplete"):
        list(read(path))


def test_json_lines_are_not_taken_for_the_document(put: Put) -> None:
    path = put(DEV, [document(question(0)), document(question(1))])
    with pytest.raises(BadInput, match="is not JSON"):
        list(read(path))


def test_an_id_twice_is_refused(put: Put, data: Path) -> None:
    put(DEV, [document(question(0), question(0))])
    with pytest.raises(BadInput, match="id 'a1p0q0' occurs twice"):
        load("jsquad", data=data)


def test_finds_what_offsets_do_not_tell(put: Put, data: Path, findings: Findings) -> None:
    wrong = [question(5, start=22), question(6, start=-1), question(7, start=400)]
    title = question(1, "鈴虫峠", 0)
    put(DEV, [document(question(0), title, question(2, question="標高は？ "), *wrong)])
    found = findings("jsquad", data)
    assert found["answers-in-title", "dev"].ids == ("jsquad:dev/a1p0q1",)
    assert found["repeated-answers", "dev"].ids == ("jsquad:dev/a1p0q1",)
    assert found["wrong-offsets", "dev"].ids == tuple(f"jsquad:dev/a1p0q{n}" for n in (5, 6, 7))
    assert found["edge-blank-questions", "dev"].ids == ("jsquad:dev/a1p0q2",)


def test_findings_count_answers_and_name_questions_once(
    put: Put, data: Path, findings: Findings
) -> None:
    twice = question(0) | {"answers": [{"text": "鈴虫峠", "answer_start": 0}] * 2}
    put(DEV, [document(twice)])
    found = findings("jsquad", data)["answers-in-title", "dev"]
    assert (found.count, found.ids) == (2, ("jsquad:dev/a1p0q0",))


@pytest.mark.parametrize(
    ("count", "version"), [(62_859, "1.2"), (62_697, "1.3"), (5, None), (0, None)]
)
def test_the_version_is_told_by_the_size_of_train(
    put: Put, count: int, version: str | None
) -> None:
    (example,) = read(put(DEV, [document(question(0))]))
    assert version_of({"train": (example,) * count, "dev": (example,)}) == version


def test_the_published_file(shared_data: Path, findings: Findings) -> None:
    dev = load("jsquad", data=shared_data).splits["dev"]
    assert len(dev) == 4442
    assert len({e.group for e in dev}) == 1145
    assert len({e.meta["article"] for e in dev}) == 59
    assert Counter(len(e.gold["answers"]) for e in dev) == {2: 473, 3: 3969}
    assert all(e.inputs["context"].startswith(e.inputs["title"] + " [SEP] ") for e in dev)
    found = findings("jsquad", shared_data)
    assert {check: f.count for (check, _), f in found.items()} == {
        "answers-in-title": 1309,
        "repeated-answers": 2600,
        "edge-blank-questions": 9,
    }


def test_published_starts_are_first_occurrences(shared_data: Path) -> None:
    for example in load("jsquad:dev", data=shared_data).splits["dev"]:
        for answer in example.gold["answers"]:
            assert example.inputs["context"].find(answer["text"]) == answer["start"]


def test_a_pretty_printed_document_reads_too(put: Put) -> None:
    path = put(DEV, [])
    path.write_text(json.dumps(document(question(0)), ensure_ascii=False, indent=2) + "\n", "utf-8")
    assert [e.id for e in read(path)] == ["a1p0q0"]
