from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.klue_mrc import read
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]
CONTEXT = "하늘섬의 다리는 봄에 열렸다. 다리의 이름은 무지개다."


def question(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "guid": f"klue-mrc-v1_dev_{number:05}",
        "question": "다리의 이름은?",
        "question_type": 1,
        "is_impossible": False,
        "answers": [{"text": "무지개", "answer_start": CONTEXT.index("무지개")}],
    } | changes


def document(*questions: dict[str, Any]) -> dict[str, Any]:
    paragraphs = [{"context": CONTEXT, "qas": list(questions)}]
    article = {
        "title": "하늘섬",
        "source": "hankyung",
        "news_category": "종합",
        "paragraphs": paragraphs,
    }
    return {"version": "v1", "data": [article]}


def test_question(lay: Lay) -> None:
    (example,) = read(lay("klue-mrc", "dev", document(question(0))))
    assert example.inputs == {"title": "하늘섬", "context": CONTEXT, "question": "다리의 이름은?"}
    assert example.gold == {"answers": [{"text": "무지개", "start": CONTEXT.index("무지개")}]}
    assert example.meta == {
        "source": "hankyung",
        "category": "종합",
        "question_type": 1,
        "is_impossible": False,
    }


@pytest.mark.parametrize("key", ["answers", "plausible_answers"])
def test_impossible_has_no_gold_answer_but_is_not_hidden(lay: Lay, key: str) -> None:
    plausible = [{"text": "봄", "answer_start": 9}]
    asked = question(0, question_type=3, is_impossible=True, answers=[]) | {key: plausible}
    (example,) = read(lay("klue-mrc", "dev", document(asked)))
    assert example.gold == {"answers": []}
    assert example.origin is None
    assert example.meta["plausible_answers"] == [{"text": "봄", "start": 9}]


def test_same_context_same_group(lay: Lay) -> None:
    twice = document(question(0), question(1))
    twice["data"] += document(question(2))["data"]
    twice["data"][1]["paragraphs"][0]["context"] += " 끝."
    groups = [e.group for e in read(lay("klue-mrc", "dev", twice))]
    assert groups[0] == groups[1] != groups[2]


def test_hidden_test(lay: Lay) -> None:
    bare = {"guid": "klue-mrc-v1_test_00000", "question": "언제?"}
    (example,) = read(lay("klue-mrc", "test", document(bare)))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"
    with pytest.raises(BadInput, match="klue-mrc-v1_test_00000 has no answers"):
        list(read(lay("klue-mrc", "dev", document(bare))))


def test_traps(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    late = [{"text": "무지개", "answer_start": 0}]
    before = [{"text": "다.", "answer_start": -2}]
    lay(
        "klue-mrc",
        "dev",
        document(
            question(0),
            question(1, answers=late),
            question(2, answers=before),
            question(3, question_type=3),
        ),
    )
    found = trapped("klue-mrc", tmp_path)
    assert [i[-1] for i in found["answer-not-at-start"].ids] == ["1", "2"]
    assert [i[-1] for i in found["type-against-impossible"].ids] == ["3"]


def test_broken_documents(lay: Lay) -> None:
    broken = document(question(0), question(1))
    del broken["data"][0]["paragraphs"][0]["qas"][1]["question"]
    with pytest.raises(
        BadInput, match=r"missing required field `question` at data\[0\].paragraphs\[0\].qas\[1\]"
    ):
        list(read(lay("klue-mrc", "dev", broken)))
    with pytest.raises(BadInput, match="holds no article"):
        list(read(lay("klue-mrc", "dev", {"version": "v1", "data": []})))
    with pytest.raises(BadInput, match="expected `object`, got `array`"):
        list(read(lay("klue-mrc", "dev", [document()])))
