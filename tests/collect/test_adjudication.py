"""What a disagreement is, form by form, and how the owner's list of them is read page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nikawa.collect.adjudication import CASES_PER_PAGE, find_case, find_disagreements
from nikawa.collect.dashboard import worker_rows
from nikawa.collect.form import forms
from nikawa.collect.items import sync_items
from nikawa.collect.workers import exclude
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example
from nikawa.serve.errors import Refused

SPAN = {"start": 0, "end": 3, "label": "PS"}
OTHER = {"start": 5, "end": 7, "label": "DT"}
TREE = {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]}
SAME_OR_NOT: list[tuple[str, list[dict[str, Any]], bool]] = [
    ("choice", [{"label": "yes"}, {"label": "yes"}], False),
    ("choice", [{"label": "yes"}, {"label": "no"}], True),
    (
        "inference",
        [{"label": "neutral", "naturalness": "both"}, {"naturalness": "both", "label": "neutral"}],
        False,
    ),
    (
        "inference",
        [
            {"label": "neutral", "naturalness": "both"},
            {"label": "neutral", "naturalness": "natural"},
        ],
        True,
    ),
    ("scale", [{"score": 3}, {"score": 4.0}, {"score": 4}], False),
    ("scale", [{"score": 3}, {"score": 4}, {"score": 5}], True),
    ("ranked", [{"label": ["a", "b"]}, {"label": ["a"]}], False),
    ("multiple-selection", [{"labels": ["a", "b"]}, {"labels": ["b", "a"]}], False),
    ("multiple-selection", [{"labels": ["a", "b"]}, {"labels": ["a"]}], True),
    ("ranked", [{"label": ["a", "b"]}, {"label": ["b", "a"]}], True),
    ("span-tagging", [{"spans": [SPAN, OTHER]}, {"spans": [OTHER, SPAN]}], False),
    ("span-tagging", [{"spans": [SPAN]}, {"spans": [{**SPAN, "label": "OG"}]}], True),
    ("tree", [{"tree": TREE}, {"tree": {**TREE, "heads": [2, 0]}}], False),
    ("preference", [{"better": "a", "by": 1}, {"better": "a", "by": 2, "why": ["clear"]}], False),
    ("preference", [{"better": "a", "by": 1}, {"better": "tie", "by": 0}], True),
    ("best-worst", [{"best": "A", "worst": "B"}, {"best": "A", "worst": "C"}], True),
    ("tree", [{"tree": TREE}, {"tree": {**TREE, "labels": ["NP_OBJ", "VP"]}}], True),
    (
        "dialogue-states",
        [{"states": [["a-b-c", "a-d-e"]]}, {"states": [["a-d-e", "a-b-c"]]}],
        False,
    ),
    ("dialogue-states", [{"states": [["a-b-c"], []]}, {"states": [["a-b-c"], ["a-b-c"]]}], True),
    (
        "further-answers",
        [{"answer": "明治の中ごろ", "start": 4}, {"answer": "明治", "start": 4}],
        False,
    ),
    ("further-answers", [{"answer": "電灯", "start": 4}, {"answer": "電灯", "start": 40}], True),
    ("further-answers", [{"answer": "電灯"}, {"answer": "石油ランプ", "start": 4}], True),
    ("further-answers", [{"answer": "電灯"}, {"answer": "明るい電灯"}], False),
    (
        "reading-answers",
        [{"answers": {"text": "석유등", "start": 25}}, {"answers": {"text": "석유", "start": 25}}],
        False,
    ),
    (
        "reading-answers",
        [{"answers": {"text": "석유등", "start": 25}}, {"answers": {"text": "", "start": -1}}],
        True,
    ),
    (
        "reading-answers",
        [{"answers": {"text": "등", "start": 3}}, {"answers": {"text": "등", "start": 27}}],
        True,
    ),
]


@pytest.mark.parametrize(("name", "answers", "differ"), SAME_OR_NOT, ids=str)
def test_answers_that_disagree(name: str, answers: list[dict[str, Any]], differ: bool) -> None:
    form = forms()[name]
    assert form.sample is not None
    options = form.parse_options(form.sample.settings if form.files else {})
    assert form.differ(answers, options) is differ


def test_what_is_written_is_no_disagreement() -> None:
    assert {form.name for form in forms().values() if form.writes} == {
        "concept-question",
        "dialogue",
        "distractors",
        "free-text",
        "reading",
        "translation",
        "write-contradictions",
        "write-hypotheses",
        "write-question",
    }


def disagree(here: Any, count: int) -> None:
    """Two workers who say something else about each of so many items."""
    here.join("a", "b")
    for _ in range(count):
        here.answer("a", "neutral")
        here.answer("b", "entailment")


def test_the_list_goes_on_where_it_ended(crowd: Callable[..., Any]) -> None:
    here = crowd(items=CASES_PER_PAGE + 3)
    disagree(here, CASES_PER_PAGE + 3)
    first = here.store.read(lambda db: find_disagreements(db, here.project))
    assert len(first["cases"]) == CASES_PER_PAGE
    rest = here.store.read(lambda db: find_disagreements(db, here.project, first["after"]))
    assert [row["ref"] for row in rest["cases"]] == [
        f"i{n:03}" for n in range(CASES_PER_PAGE, CASES_PER_PAGE + 3)
    ]
    assert rest["after"] is None
    here.change(exclude, "b")
    assert here.store.read(lambda db: find_disagreements(db, here.project)) == {
        "cases": [],
        "after": None,
    }


def test_a_case_shows_what_workers_saw(crowd: Callable[..., Any]) -> None:
    here = crowd(items=1)
    disagree(here, 1)
    found = here.store.read(lambda db: find_case(db, here.project, "i000"))
    assert found["inputs"] == {"premise": "前提i000", "hypothesis": "仮説i000"}
    assert [side["answer"]["label"] for side in found["answers"]] == ["neutral", "entailment"]
    with pytest.raises(Refused, match="item_unknown"):
        here.store.read(lambda db: find_case(db, here.project, "none"))


def test_an_answer_that_breaks_a_rule_is_looked_at(crowd: Callable[..., Any]) -> None:
    here = crowd(items=2)
    here.join("a")
    here.answer("a")
    bad = msgspec.json.encode({"label": "perhaps"}).decode()
    here.store.write(lambda db: db.execute("UPDATE answers SET body = ? WHERE kind = 'main'", bad))
    here.join("b")
    here.answer("b")
    here.answer("b")
    (found,) = here.store.read(lambda db: find_disagreements(db, here.project))["cases"]
    assert {side["worker"]: side["problems"] for side in found["answers"]} == {
        "a": ["choose_one"],
        "b": [],
    }


def test_nobody_judges_a_text_of_their_own(crowd: Callable[..., Any]) -> None:
    """Under the name they wrote it with; the owner's list names those only who came."""
    here = crowd(items=2)
    own = Example(
        id="own",
        inputs={"premise": "a", "hypothesis": "b"},
        meta={"writer": "mado", "meant": "neutral"},
    )
    path = here.project.folder / "examples.jsonl"
    write_records(path, [*read_examples(path), own], overwrite=True)
    assert sync_items(here.project, here.store)["main"] == 1
    assert here.store.read(worker_rows) == []
    here.join("mado", "nagi")
    seen: dict[str, set[str]] = {"mado": set(), "nagi": set()}
    for name, found in seen.items():
        while (item := here.state(name)["item"]) is not None:
            found.add(item["inputs"]["premise"])
            assert "mado" not in str(item)
            here.answer(name)
    assert seen == {"mado": {"前提i000", "前提i001"}, "nagi": {"前提i000", "前提i001", "a"}}
    assert {row["name"] for row in here.store.read(worker_rows)} == {"mado", "nagi"}
