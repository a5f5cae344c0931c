"""The dataset card in Markdown: every section is there, and the figures are those it was given."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from nikawa.datasets import benchmarks
from nikawa.records import Card
from nikawa.reporting.card import AskFigures, CheckFigures, Figures, StageFigures, format_card


@pytest.fixture
def card() -> Card:
    return replace(
        benchmarks()["mini-ja"].card, title='雨の "文" と 한국어', problems=("少ない。",)
    )


@pytest.fixture
def figures() -> Figures:
    ask = AskFigures(
        name="judge",
        title="the label",
        form="choice",
        items=1200,
        answers=3600,
        workers=40,
        each=3,
        simulated=0,
        agreement={"fleiss": 0.39949},
        notes=("2 answers were not counted",),
    )
    stage = StageFigures(
        name="kept",
        title="two of three agree",
        read={"judge": 3600},
        wrote={"kept": 1000},
        dropped={"fails votes:2/3": 200},
    )
    return Figures(
        stages=(stage,),
        asks=(ask,),
        licences={"CC0": 1200},
        labels={"train": {"はい": 600, "いいえ": 300}, "dev": {"はい": 100}},
        characters={"text": 12.5},
        workers_are="persons",
        answers=3600,
        simulated=0,
        chosen=("the order",),
        findings=(CheckFigures(check="leaked-texts", where="dev in train", count=4),),
    )


def test_the_sections_of_datasheet_and_data_statement(card: Card, figures: Figures) -> None:
    page = format_card(card, figures)
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [
        "Motivation",
        "Composition",
        "Collection process",
        "Workers and agreement",
        "Uses and known problems",
        "Data statement",
        "Maintenance",
    ]
    assert '# 雨の "文" と 한국어' in page
    assert 'pretty_name: "雨の \\"文\\" と 한국어"' in page


@pytest.mark.parametrize(
    "line",
    [
        "| はい | 600 | 100 | 700 |",
        "| いいえ | 300 | 0 | 300 |",
        "| all | 900 | 100 | 1,000 |",
        "| judge | fleiss | 0.399 |",
        "| kept | two of three agree | judge 3,600 | kept 1,000 | fails votes:2/3 200 |",
        "| judge | the label | 1,200 | 3 | 40 | 3,600 |",
        "Licences of the sources: CC0 (1,200 items).",
        "- judge: 2 answers were not counted",
        "- the order",
        "- 少ない。",
        "| leaked-texts | dev in train | 4 |",
    ],
)
def test_the_figures_are_there(card: Card, figures: Figures, line: str) -> None:
    assert line in format_card(card, figures).splitlines()


def test_agreement_is_told_with_its_interval(card: Card, figures: Figures) -> None:
    asked = replace(figures.asks[0], intervals={"fleiss": (0.3, 0.512345)})
    page = format_card(card, replace(figures, asks=(asked,)))
    assert "| judge | fleiss | 0.399 | 0.300 to 0.512 |" in page.splitlines()


def test_simulated_workers_head_the_page(card: Card, figures: Figures) -> None:
    page = format_card(card, replace(figures, simulated=600, workers_are="simulated"))
    assert "**The workers are simulated** (600 of 3,600 answers)" in page.partition("## ")[0]
    assert "**" not in format_card(card, figures)


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("CC BY-SA 4.0", "license: cc-by-sa-4.0"),
        ("CC BY-NC-SA 3.0", "license: cc-by-nc-sa-3.0"),
        ("CC0 1.0", "license: cc0-1.0"),
        ('the "house" terms', 'license: other\nlicense_name: "the \\"house\\" terms"'),
    ],
)
def test_the_head_names_the_licence(card: Card, figures: Figures, licence: str, said: str) -> None:
    assert f"\n{said}\n" in format_card(replace(card, licence=licence), figures).partition("# ")[0]
