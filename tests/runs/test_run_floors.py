"""The floor of every task whose published files few people have: small files of the same format, invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.runs.job import RunOptions, RunRequest, run

PLACES = ("하늘섬", "달빛골", "은모래", "푸른재", "솔바람마을")
PEOPLE = ("두루", "가온", "미르", "나래", "다솜")
TOPICS = {"경제": "물가와 수출", "스포츠": "결승전과 득점", "IT과학": "위성과 반도체"}
TRADES = {"찻집": "차를 마시고", "국숫집": "국수를 먹고"}


def marc_ja(i: int) -> Any:
    good = i % 2 == 0
    said = "とても丈夫で気に入りました" if good else "すぐに壊れて残念でした"
    return {
        "sentence": f"{i}番の架空の鍋。{said}。",
        "label": "positive" if good else "negative",
        "review_id": f"R{i}",
    }


def ynat(i: int) -> Any:
    label, words = list(TOPICS.items())[i % 3]
    return {
        "guid": f"ynat-v1_x_{i:05}",
        "title": f"{PLACES[i % 5]} {words} 소식 {i}",
        "predefined_news_category": label,
        "label": label,
        "annotations": {
            "annotators": [],
            "annotations": {"first-scope": [], "second-scope": [], "third-scope": []},
        },
        "url": "https://example.org/",
        "date": "2020.01.02. 오전 9:00",
    }


def klue_re(i: int) -> Any:
    person, place, born = PEOPLE[i % 5], PLACES[i // 5 % 5], i % 2 == 0
    text = f"{person}는 {place}에서 {'태어났다' if born else '길을 물었다'}."
    return {
        "guid": f"klue-re-v1_x_{i:05}",
        "sentence": text,
        "source": "wikipedia",
        "subject_entity": {
            "word": person,
            "start_idx": 0,
            "end_idx": len(person) - 1,
            "type": "PER",
        },
        "object_entity": {
            "word": place,
            "start_idx": text.index(place),
            "end_idx": text.index(place) + len(place) - 1,
            "type": "LOC",
        },
        "label": "per:place_of_birth" if born else "no_relation",
    }


def klue_mrc(i: int) -> Any:
    person, place = PEOPLE[i % 5], PLACES[i // 5 % 5]
    context = (
        f"{i}년 봄에 {person} 시장이 다리를 열었다. 다리는 {place} 남쪽에 있다. 이름은 무지개다."
    )
    asked, answer = (("누가 다리를 열었나?", person), ("다리는 어디에 있나?", place))[i % 2]
    answers = [{"text": answer, "answer_start": context.index(answer)}]
    one = {
        "guid": f"klue-mrc-v1_x_{i:05}",
        "question": asked,
        "question_type": 1,
        "is_impossible": False,
        "answers": answers,
    }
    return {
        "title": f"다리 {i}",
        "source": "hankyung",
        "news_category": "종합",
        "paragraphs": [{"context": context, "qas": [one]}],
    }


def wos(i: int) -> Any:
    trade, wish = list(TRADES.items())[i % 2]
    area = ("북쪽", "남쪽")[i // 2 % 2]
    first, second = [f"식당-종류-{trade}"], [f"식당-종류-{trade}", f"식당-지역-{area}"]
    turns = [
        {"role": "user", "text": f"{wish} 싶어요. {trade} 찾아 주세요.", "state": first},
        {"role": "sys", "text": "어느 쪽이 좋으세요?"},
        {"role": "user", "text": f"{area}으로 부탁해요.", "state": second},
    ]
    return {"guid": f"wos-v1_x_{i:05}", "domains": ["식당"], "dialogue": turns}


def lay(data: Path, name: str, split: str, records: list[Any]) -> None:
    """Write one published file below the data folder."""
    if name == "marc-ja":
        path = (
            data
            / "jglue/datasets/marc_ja-v1.3"
            / f"{'valid' if split == 'dev' else split}-v1.3.json"
        )
        body = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    else:
        path = data / "klue/klue_benchmark" / f"{name}-v1.1" / f"{name}-v1.1_{split}.json"
        whole = {"version": "v1", "data": records} if name == "klue-mrc" else records
        body = json.dumps(whole, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body, "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [marc_ja, ynat, klue_re, klue_mrc, wos], ids=lambda make: make.__name__
)
def test_the_baseline_beats_majority(make: Callable[[int], Any], tmp_path: Path) -> None:
    name = make.__name__.replace("_", "-")
    data = tmp_path / "data"
    lay(data, name, "train", [make(i) for i in range(120)])
    lay(data, name, "dev", [make(i) for i in range(200, 230)])
    request = RunRequest(tasks=(name,), models=("majority", "baseline"))
    done = run(request, RunOptions(out=tmp_path / "runs", data=data, workers=1))
    assert not done.problems
    first = {cell.model: cell for cell in reversed(done.cells)}
    assert {cell.protocol for cell in first.values()} == {"on dev"}
    majority, baseline = (first[model].mean or 0.0 for model in ("majority", "baseline"))
    assert baseline > majority
