"""YNAT built from a few invented headlines by recorded workers, by the paper's thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.klue.ynat import LABELS
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.recipes.build import BuildReport
from nikawa.records import Example

HEADLINES = [
    {
        "id": f"{topic}-{n}",
        "text": f"{topic} 소식 {n}보",
        "category": topic,
        "date": f"{2016 + n}-03-0{n + 1}",
    }
    for topic in LABELS
    for n in range(5)
]
ODD = [
    {"id": "early", "text": "옛날 소식", "category": "정치", "date": "2015-12-31"},
    {"id": "late", "text": "새해 소식", "category": "정치", "date": "2021-01-01"},
    {"id": "weather", "text": "맑은 하늘", "category": "날씨", "date": "2019-05-05"},
    {"id": "again", "text": "정치  소식 0보", "category": "정치", "date": "2019-05-05"},
]


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def topics(item: Example) -> list[Any]:
    """Two of three agree, but for one headline each that nobody agrees on, cannot decide on, or reports."""
    topic = item.id.partition("-")[0]
    others = [label for label in LABELS if label != topic]
    odd: dict[str, list[Any]] = {
        "경제-0": [[topic], [others[0], topic], [others[1]]],
        "경제-1": [[topic], [topic], "undecidable"],
        "사회-0": [[topic], [topic], "personal"],
        "사회-1": ["hate", "bias", [topic]],
        "세계-0": ["bias", [topic], [topic]],
    }
    return odd.get(item.id, [[topic], f"{topic} > {others[0]}", [others[2], topic, others[3]]])


def test_thresholds_of_the_paper(start: Any, people: Any, tmp_path: Path) -> None:
    run, out = (
        start("ynat", "headlines", [*HEADLINES, *ODD], sections=["스포츠=4"]),
        tmp_path / "out",
    )
    first = run()
    gone = {
        "another section": 1,
        "published too early or too late": 2,
        "the same text came before": 1,
    }
    assert of(first, "taken") == ({"taken": 35}, gone)
    assert of(first, "chosen") == ({"chosen": 34}, {"not drawn": 1})
    people(out, "topics", topics)
    second = run()
    apart = {"unreported": 30, "reported": 3}
    assert of(second, "checked") == (apart, {"workers are unable to decide": 1})
    assert [waiting.ask for waiting in second.waiting] == ["review"]
    people(out, "review", lambda item: ["keep" if item.id == "사회-0" else "discard"])
    report = run()
    assert of(report, "sound") == ({"sound": 31}, {"reported, and discarded on review": 2})
    assert of(report, "agreed") == ({"agreed": 30}, {"no 2 workers put one topic first": 1})
    dataset = load(str(out))
    assert all(
        e.gold["label"] == e.id.partition("-")[0] for part in dataset.splits.values() for e in part
    )
    assert "사회-0" in {e.id for e in dataset.splits["train"]}


def test_dev_and_test_are_newer_or_hold_unseen_terms(
    start: Any, people: Any, tmp_path: Path
) -> None:
    rare = {"id": "정치-rare", "text": "정치 소식 희귀어", "category": "정치", "date": "2017-01-01"}
    run, out = start("ynat", "headlines", [*HEADLINES, rare], unseen=0.1), tmp_path / "out"
    run()
    people(out, "topics", lambda item: [[item.id.partition("-")[0]]] * 3)
    run()
    splits = load(str(out)).splits
    assert all(e.meta["date"] < "2020-01-01" for e in splits["train"])
    older = [
        e.id for part in ("dev", "test") for e in splits[part] if e.meta["date"] < "2020-01-01"
    ]
    assert older == ["정치-rare"]
    assert sum(len(splits[part]) for part in ("dev", "test")) == 8
    rules = [step.rule for step in find_lineage("정치-rare", out).steps]
    assert rules[-1].endswith("older, with terms train does not hold")


def test_a_fourth_topic_is_refused(start: Any, people: Any, tmp_path: Path) -> None:
    run = start("ynat", "headlines", HEADLINES)
    run()
    people(tmp_path / "out", "topics", lambda item: [list(LABELS[:4])] * 3)
    with pytest.raises(
        BadInput, match=r"4 labels, at most 3 .*; the form ranked accepts .*, or personal, hate"
    ):
        run()


@pytest.mark.parametrize(
    ("settings", "lines", "what"),
    [
        ({"after": "2021-06-01"}, HEADLINES, "all headlines are older than 2021-06-01"),
        ({"after": "2014-06-01"}, HEADLINES, "all headlines are from 2014-06-01"),
        ({"sections": ["스포츠"]}, HEADLINES, "'스포츠', which is not a name with a number"),
        ({"votes": 4}, HEADLINES, "votes = 4 is more than workers = 3"),
        (
            {},
            [{"id": 1, "text": "소식", "category": "정치"}],
            r"headlines\.jsonl, line 1: has no date",
        ),
        ({}, [{**HEADLINES[0], "date": "3월"}], r"line 1: '3월' is not a date; write dates as"),
        ({}, [{**HEADLINES[0], "date": "2019-13-01"}], r"line 1: '2019-13-01' is not a date"),
        (
            {"after": "2020-99-99"},
            HEADLINES,
            r"after = '2020-99-99' is not a day; write it as 2020-01-31",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(
    start: Any, settings: dict[str, Any], lines: list[dict[str, Any]], what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        start("ynat", "headlines", lines, **settings)()
