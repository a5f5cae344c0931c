"""Reading sets built from a few passages by recorded workers: the plan of types, the rules for questions, checks, gold, scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.recipes.small_sources import SMALL_SOURCES

import nikawa as nk
from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.jsonl import encode_record
from nikawa.io.records import read_examples
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.reading_sets import count_sentences
from nikawa.records import Example, Judgement

Run = Callable[[], BuildReport]
SOURCES = ("wikipedia", "hankyung", "acrofan")
TEXT = "{n}번 부두에 등대가 섰다. 박구름 등대지기는 석유등 대신 전등을 달았다. 밤마다 배 {m}척이 지나간다."
PASSAGES = [
    {
        "id": f"{source}{n}",
        "title": "등대",
        "text": f"{TEXT.format(n=n, m=10 * n + k)}",
        "source": source,
        "licence": "CC BY 4.0",
    }
    for k, source in enumerate(SOURCES)
    for n in range(1, 6)
]
ODD = [
    {"id": "short", "title": "등대", "text": "짧다. 그렇다.", "source": "wikipedia"},
    {"id": "again", "title": "등대", "text": PASSAGES[0]["text"], "source": "wikipedia"},
    {"id": "one", "title": "등대", "text": "등대" * 20, "source": "wikipedia"},
]
QUESTIONS = {
    "paraphrase": ("밤에 불을 밝히려고 새로 설치한 것은?", "전등"),
    "several": ("기름을 쓰던 조명을 바꾼 사람은 누구인가?", "박구름"),
    "unanswerable": ("이 건물은 몇 층인가?", "석유등"),
}
SETTINGS: dict[str, Any] = {"shortest": 20, "passages": 12, "split": "0.5,0.25,0.25"}


def marked(context: str, text: str) -> dict[str, Any]:
    return {"text": text, "start": context.find(text)}


def write(item: Example) -> list[Any]:
    """A question of each type; the second of a type is numbered. One passage is reported."""
    if item.id == "hankyung1":
        return ["bias"]
    rows, seen = [], Counter[str]()
    for kind in item.inputs["types"]:
        question, answer = QUESTIONS[kind]
        seen[kind] += 1
        place = marked(item.inputs["context"], answer)
        more = f" ({seen[kind]})" if seen[kind] > 1 else ""
        rows.append(
            {"type": kind, "question": question + more, "answer": answer, "start": place["start"]}
        )
    return [rows]


def check(item: Example) -> list[Any]:
    """The first checker finds what the writer meant, the second a longer answer."""
    context, question = item.inputs["context"], item.inputs["question"]
    if question.startswith(QUESTIONS["unanswerable"][0]):
        return ["no-answer", marked(context, "석유등")]
    if question.startswith(QUESTIONS["several"][0]):
        return ["박구름", marked(context, "박구름 등대지기")]
    return ["no-answer", marked(context, "등대")]


def test_klue_mrc(start: Any, people: Any, tmp_path: Path) -> None:
    run: Run = start("klue-mrc", "articles", [*PASSAGES, *ODD], **SETTINGS)
    first, out = run(), tmp_path / "out"
    dropped = {"too short or too long": 1, "the same text came before": 1, "a single sentence": 1}
    assert first.stages[0].dropped == dropped
    tasks = list(read_examples(out / "people" / "written" / "tasks.jsonl"))
    assert Counter(task.id[:-1] for task in tasks) == dict.fromkeys(SOURCES, 4)
    planned = Counter(kind for task in tasks for kind in task.inputs["types"])
    assert planned == {"paraphrase": 14, "several": 11, "unanswerable": 11}
    reported = [task.id for task in tasks if task.id == "hankyung1"]
    people(out, "written", write)
    while waiting := run().waiting:
        ask = waiting[0].ask
        told = {"review": lambda _: ["discard"], "checked": check}
        people(out, ask, told[ask], who="c")
    questions = list(read_examples(out / "people" / "checked" / "tasks.jsonl"))
    assert len(questions) == 36 - 3 * len(reported)
    assert set(questions[0].inputs) == {"title", "context", "question"}
    assert not questions[0].meta
    dataset = load(str(out))
    rows = [example for split in dataset.splits.values() for example in split]
    by_type = {kind: [e for e in rows if e.meta["question_type"] == kind] for kind in (1, 2, 3)}
    assert not by_type[1]  # nobody else found the writer's answer
    context = by_type[2][0].inputs["context"]
    assert by_type[2][0].gold["answers"] == [
        marked(context, "박구름"),
        marked(context, "박구름 등대지기"),
    ]
    for example in by_type[3]:
        assert example.gold == {"answers": []}
        assert example.meta["is_impossible"]
        assert [one["text"] for one in example.meta["plausible_answers"]] == ["석유등"]
    homes = {e.group: name for name, split in dataset.splits.items() for e in split}
    assert all(homes[e.group] == name for name, split in dataset.splits.items() for e in split)
    entry = find_lineage(rows[0].id, out)
    assert {judgement.question for judgement in entry.judgements} >= {"answers"}
    assert {source["licence"] for source in entry.sources} == {"CC BY 4.0"}


def test_questions_that_break_a_rule_are_dropped(start: Any, people: Any, tmp_path: Path) -> None:
    run: Run = start("klue-mrc", "articles", PASSAGES[:1], questions=5, unanswerable=0, **SETTINGS)
    run()

    def break_rules(item: Example) -> list[Any]:
        kinds, context = item.inputs["types"], item.inputs["context"]
        rows = [
            ("기름을 쓰던 조명을 바꾼 사람은?", "박구름"),
            ("기름을 쓰던 조명을 바꾼 사람은?", "박구름"),
            ("박구름이 한 일은?", "박구름"),
            ("불을 단 곳은 어디인가?", "공항"),
            (f"{context[:20]}?", "석유등"),
        ]
        return ["\n".join(f"{question}\n{answer}" for question, answer in rows[: len(kinds)])]

    people(tmp_path / "out", "written", break_rules)
    (stage,) = [stage for stage in run().stages if stage.name == "asked"]
    assert stage.wrote == {"asked": 1}
    assert stage.dropped == {
        "asked twice of one passage": 1,
        "the question contains the answer": 1,
        "the answer is not in the passage": 1,
        "more than 0.8 of it is copied from the passage": 1,
    }


def test_an_answer_with_a_blank_stays_where_it_was_marked(
    start: Any, people: Any, tmp_path: Path
) -> None:
    run: Run = start("klue-mrc", "articles", PASSAGES[:1], questions=1, unanswerable=0, **SETTINGS)
    run()
    out = tmp_path / "out"

    def mark_the_second(item: Example) -> list[Any]:
        start = item.inputs["context"].index(" 등대지기")
        row = {"type": item.inputs["types"][0], "question": "누구인가?"}
        return [[{**row, "answer": " 등대", "start": start}]]

    people(out, "written", mark_the_second)
    run()
    (question,) = read_examples(out / "build" / "asked" / "asked.jsonl")
    start_of_word = question.inputs["context"].index("등대지기")
    assert question.meta["written"] == {"text": "등대", "start": start_of_word}
    assert question.inputs["context"].index("등대") < start_of_word


def test_a_decision_replaces_the_checkers(start: Any, people: Any, tmp_path: Path) -> None:
    run: Run = start("klue-mrc", "articles", PASSAGES[:6], **{**SETTINGS, "passages": 6})
    run()
    out = tmp_path / "out"
    people(out, "written", write)
    while (waiting := run().waiting)[0].ask != "checked":
        people(out, waiting[0].ask, lambda _: ["discard"])
    people(out, "checked", check, who="c")
    tasks = read_examples(out / "people" / "checked" / "tasks.jsonl")
    task = next(task for task in tasks if task.inputs["question"].startswith("밤에"))
    decision = Judgement(
        example=task.id,
        worker="decision:rin",
        question="answers",
        answer=marked(task.inputs["context"], "전등을"),
        kind="decision",
        comment="both are right",
    )
    with (out / "people" / "checked" / "answers.jsonl").open("ab") as stream:
        stream.write(encode_record(decision) + b"\n")
    run()
    (found,) = [e for split in load(str(out)).splits.values() for e in split if e.id == task.id]
    assert [answer["text"] for answer in found.gold["answers"]] == ["전등을", "전등"]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"votes": 4}, "votes = 4 is more than the writer and checkers = 2"),
        ({"several": 0.7, "unanswerable": 0.7}, "several and unanswerable are 1.4 together"),
        ({"shortest": 3000}, "shortest = 3000 is more than longest"),
    ],
)
def test_settings_that_cannot_be_met(start: Any, settings: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        start("klue-mrc", "articles", PASSAGES, **settings)()


def test_a_passage_without_a_source_is_named(start: Any) -> None:
    with pytest.raises(BadInput, match=r"articles\.jsonl, line 2: .*source"):
        start("klue-mrc", "articles", [PASSAGES[0], {**PASSAGES[1], "source": ""}], **SETTINGS)()


@pytest.mark.parametrize(
    ("recipe", "metrics"),
    [("klue-mrc", {"klue-em", "rouge-w"}), ("reading-ja", {"jsquad-em", "jsquad-f1"})],
)
def test_what_is_built_is_run_scored_and_reported_at_once(
    recipe: str, metrics: set[str], tmp_path: Path
) -> None:
    for name, text in SMALL_SOURCES[recipe]().items():
        (tmp_path / name).write_text(text, "utf-8")
    config, out = tmp_path / "config.toml", tmp_path / "out"
    build(recipe, out, BuildOptions(config=config, simulate=3))
    card = (out / "README.md").read_text("utf-8")
    assert re.findall(r"^\| (type \d, [a-z ]+) \|", card, re.MULTILINE) == [
        "type 1, answer",
        "type 2, answer",
        "type 3, no answer",
    ]
    rows = load(str(out)).splits["train"]
    assert {bool(row.gold["answers"]) for row in rows} == {True, False}
    right = {row.id: (row.gold["answers"] or [{"text": ""}])[0]["text"] for row in rows}
    scores = nk.score(f"{out}:train", right)
    assert {score.metric: score.value for score in scores.report.scores} == dict.fromkeys(
        metrics, 100
    )
    never = nk.score(f"{out}:train", dict.fromkeys(right, ""))
    share = sum(not text for text in right.values()) / len(right)
    values = [score.value for score in never.report.scores]
    assert values == pytest.approx([100 * share] * len(values))
    runs = nk.run(["majority", "baseline"], tasks=str(out), out=tmp_path / "runs")
    assert metrics <= set(runs.to_pandas()["metric"])
    nk.report(runs, out=tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert all(metric in page for metric in metrics)


def test_sentences_are_counted() -> None:
    assert count_sentences("하나다. 둘이다.") == count_sentences("一つ。二つ！") == 2
    assert count_sentences("값은 3.14다.") == count_sentences("「一つ。」") == 1
