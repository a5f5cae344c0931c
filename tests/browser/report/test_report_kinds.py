"""Examples of kinds that need more than a line: a question in its context, a tree word by word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.reporting.browser_items import FULL_SCORE, ItemColumns
from nikawa.reporting.page import write_report
from nikawa.reporting.page_data import Number, Page, Section, SystemRow

pytestmark = pytest.mark.slow


def report(folder: Path, kind: str, items: ItemColumns) -> Path:
    """A page of one task with the systems of the examples."""
    rows = tuple(
        SystemRow(
            system=name, seeds=(0,), runs=(f"runs/{name}",), metrics={"uas": Number(value=50.0)}
        )
        for name in items.systems
    )
    section = Section(
        name="t",
        title="",
        dataset="t",
        kind=kind,
        language=items.language,
        set="test",
        n=len(items),
        protocol="",
        protocol_why="",
        metrics=("uas",),
        lower_is_better=(),
        labels=(),
        rows=rows,
    )
    page = Page(
        title="Kinds",
        version="0",
        systems=tuple(items.systems),
        sections=(section,),
        runs=(),
        commands=(),
        rounds=0,
        tests=0,
    )
    return write_report(folder / "report", page, {"t": items})


def shown(page: Any) -> Any:
    place = page.locator(".browser").first
    place.scroll_into_view_if_needed()
    place.locator(".row").first.wait_for()
    return place


def test_gold_and_a_wrong_answer_are_underlined_in_the_context(visit: Any, tmp_path: Path) -> None:
    texts = ("犬はどこにいるか。", "公園 [SEP] 犬は公園の池のそばにいる。猫は家の中だ。")
    items = ItemColumns(
        texts=texts,
        words=("test", "公園の池のそば / 公園", "家の中"),
        ids=["1"],
        inputs={"question": [0], "context": [1]},
        gold=[1],
        sets=[0],
        tags=[()],
        parents=[-1],
        systems=("m",),
        answers=[[[2]]],
        points=[[0]],
        language="ja",
        notes={"kind": "reading"},
    )
    place = shown(visit(report(tmp_path, "reading", items)))
    assert place.locator("mark.gold").all_text_contents() == ["公園の池のそば"]
    assert place.locator("mark.wrong").all_text_contents() == ["家の中"]
    assert place.locator("dd[lang=ja]").nth(1).text_content() == texts[1], "no letter is lost"
    place.get_by_label("Search the examples").fill("猫")
    assert place.locator(".view mark").all_text_contents() == ["猫"], (
        "what was searched for goes before"
    )


def test_hidden_gold_is_called_so(visit: Any, tmp_path: Path) -> None:
    items = ItemColumns(
        texts=("犬がいる。", "猫がいる。"),
        words=("test", "yes", "\u202eno"),
        ids=["1", "2"],
        inputs={"text": [0, 1]},
        gold=[-1, 1],
        sets=[0, 0],
        tags=[(), ()],
        parents=[-1, -1],
        systems=("m",),
        answers=[[[2, 1]]],
        points=[[-1, FULL_SCORE]],
        language="ja",
        notes={"kind": "text"},
    )
    place = shown(visit(report(tmp_path, "text", items)))
    assert place.locator(".row .grow").all_text_contents() == ["gold hidden", "gold yes"]
    assert place.locator(".view dd").all_text_contents() == ["犬がいる。", "hidden"]
    assert place.locator(".view td bdi").all_text_contents() == ["\u202eno"], (
        "it turns nothing but itself around"
    )
    place.get_by_label("Outcome").select_option(label="wrong")
    assert place.locator(".row").count() == 0, "nor is it told whether the answer was right"


def test_a_tree_is_read_word_by_word(visit: Any, tmp_path: Path) -> None:
    items = ItemColumns(
        texts=("개가 빨리 달린다.",),
        words=("test", "3:NP_SBJ 3:AP 0:VP", "2:NP_SBJ 3:AP 0:VP"),
        ids=["1"],
        inputs={"text": [0]},
        gold=[1],
        sets=[0],
        tags=[()],
        parents=[-1],
        systems=("good", "poor"),
        answers=[[[1]], [[2]]],
        points=[[FULL_SCORE], [2 * FULL_SCORE // 3]],
        language="ko",
        notes={"kind": "tree"},
        folders=[["../runs/a"], ["../runs/b"]],
    )
    place = shown(visit(report(tmp_path, "tree", items)))
    lines = [
        row.locator("th, td").all_text_contents() for row in place.locator(".view tbody tr").all()
    ]
    assert lines == [
        ["1 개가", "3 달린다. NP_SBJ", "✓", "2 빨리 NP_SBJ"],
        ["2 빨리", "3 달린다. AP", "✓", "✓"],
        ["3 달린다.", "root VP", "✓", "✓"],
    ]
    assert place.locator(".row .said").text_content() == "3 of 3 heads"
    sources = "../runs/a/predictions/test.jsonl ../runs/b/predictions/test.jsonl"
    assert place.locator(".view table").get_attribute("data-src") == sources
    place.get_by_label("System").select_option(label="poor")
    place.get_by_label("Outcome").select_option(label="not fully right")
    assert place.locator(".row .said").text_content() == "2 of 3 heads"
