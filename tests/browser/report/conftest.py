"""Two reports to look at in a browser: one of real runs, one of ten thousand examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nikawa.reporting.browser_items import FULL_SCORE, ItemColumns, WordNumbers
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.page import write_report
from nikawa.reporting.page_data import Number, Page, Section, SystemRow
from nikawa.runs.job import RunOptions, RunRequest, run

MANY = 10_000
NASTY = '<script>window.hacked=1</script><img src=x onerror="window.hacked=2">'
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a few runs in Japanese and Korean, with analyses, a learning curve and a missing input."""
    place = tmp_path_factory.mktemp("small")
    request = RunRequest(
        tasks=("mini-ja-nli", "mini-ko-sts"), models=("majority", "baseline"), seeds=(0, 1)
    )
    some = replace(request, tasks=("mini-ja-nli",), models=("baseline",), seeds=(0,))
    for one in (request, replace(some, inputs=("hypothesis",)), replace(some, shares=(0.5,))):
        run(one, RunOptions(out=place / "runs", workers=1))
    report([str(place / "runs")], place / "report", ReportOptions(rounds=200))
    return place / "report" / "index.html"


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten thousand invented pairs, the last half made from the first; two systems, three seeds."""
    place = tmp_path_factory.mktemp("large") / "report"
    rows = tuple(
        SystemRow(
            system=name,
            seeds=(0, 1, 2),
            runs=(f"runs/{name}",),
            metrics={
                "accuracy": Number(value=value, low=value - 1, high=value + 1, sd=0.2, n=MANY)
            },
        )
        for name, value in (("good", 75.0), ("poor", 50.0))
    )
    section = Section(
        name="large",
        title="Invented",
        dataset="large",
        kind="inference",
        language="ja",
        set="test",
        n=MANY,
        protocol="",
        protocol_why="",
        metrics=("accuracy",),
        lower_is_better=(),
        labels=LABELS,
        rows=rows,
    )
    page = Page(
        title="Ten thousand",
        version="0",
        systems=("good", "poor"),
        sections=(section,),
        runs=(),
        commands=("nikawa report runs",),
        rounds=0,
        tests=0,
    )
    return write_report(place, page, {"large": _items()})


def _items() -> ItemColumns:
    texts, words = WordNumbers(), WordNumbers()
    labels = [words.number(label) for label in LABELS]
    sets = [words.number("test"), words.number("swapped")]
    tags = [words.number(f"tag=phenomenon-{i}") for i in range(7)]
    numbers = range(MANY)
    premise = [
        texts.number(f"{i}番目の子供が公園で{'犬' if i % 2 else '猫'}と遊んでいる。")
        for i in numbers
    ]
    hypothesis = [texts.number(NASTY if i == 0 else f"{i}番目の子供は外にいる。") for i in numbers]
    gold = [labels[i % 3] for i in numbers]
    good = [[g if i % 4 else labels[(i + 1) % 3] for i, g in enumerate(gold)]] * 3
    poor = [[g if i % 2 else labels[(i + 2) % 3] for i, g in enumerate(gold)]] * 3
    points = [
        [FULL_SCORE if a == g else 0 for a, g in zip(seeds[0], gold, strict=True)]
        for seeds in (good, poor)
    ]
    return ItemColumns(
        texts=texts.words(),
        words=words.words(),
        ids=[str(i) for i in numbers],
        inputs={"premise": premise, "hypothesis": hypothesis},
        gold=gold,
        sets=[sets[i >= MANY // 2] for i in numbers],
        tags=[(tags[i % 7],) for i in numbers],
        parents=[i - MANY // 2 if i >= MANY // 2 else -1 for i in numbers],
        systems=("good", "poor"),
        answers=(good, poor),
        points=points,
        sure=[[31] * MANY, [62] * MANY],
        language="ja",
    )


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    """Opens a page and keeps what it complains about and asks for; nothing of either is allowed."""
    contexts, said, asked = [], list[str](), list[str]()

    def open_(path: Path, **settings: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda problem: said.append(str(problem)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == len(contexts)
