"""Texts on their way out: cells of sheets, messages, Markdown; and the buckets that limit requests."""

from __future__ import annotations

import csv
import io
import re

import pytest

from nikawa.collect.export import csv_lines
from nikawa.collect.form import LANGUAGES, REPORTS
from nikawa.collect.guard import Limiter
from nikawa.collect.i18n import messages, say
from nikawa.collect.markdown import render
from nikawa.collect.workers import Refused
from nikawa.io.judgements.guard import safe
from nikawa.records import Judgement


def test_a_bucket_fills_again_and_is_forgotten() -> None:
    now = [0.0]
    limiter = Limiter(1, 2, lambda: now[0])
    limiter.take("a")
    limiter.take("a")
    with pytest.raises(Refused, match="too_many"):
        limiter.take("a")
    limiter.take("b")
    now[0] = 1.0
    limiter.take("a")
    with pytest.raises(Refused):
        limiter.take("a")


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\u00a0=1"]
)
def test_no_sheet_runs_a_cell(cell: str) -> None:
    assert safe(cell) == f"'{cell}"
    judgement = Judgement(example=cell, worker=cell, question="q", answer=cell)
    rows = list(csv.reader(io.StringIO("".join(csv_lines([judgement])), newline="")))
    assert all(value.startswith("'") for value in (rows[1][0], rows[1][1], rows[1][3]))


def test_numbers_stay_numbers_in_a_sheet() -> None:
    (text,) = csv_lines([Judgement(example="a", worker="w", question="q", answer=-1.5)])
    assert text.splitlines()[1] == "a,w,q,-1.5,,"


def test_messages_have_the_same_keys_and_values_in_all_languages() -> None:
    tables = {language: messages(language) for language in LANGUAGES}
    keys = {language: set(table) for language, table in tables.items()}
    assert keys["ja"] == keys["ko"] == keys["en"]
    for key in keys["en"]:
        assert (
            len({tuple(sorted(re.findall(r"\{(\w+)\}", table[key]))) for table in tables.values()})
            == 1
        ), key
        assert all(table[key].strip() for table in tables.values())
    assert {f"report_{code}" for code in REPORTS} <= keys["en"]
    assert say("ja", "left", {"left": 3}) == "残り 3 件"
    assert say("xx", "left") == " left"


def test_markdown_is_safe_and_does_what_guidelines_need() -> None:
    text = "# 題\n\n- **太** と *斜*\n- `<b>`\n\n1. 一\n\n> 引用\n\n|a|b|\n|-|-|\n|1|<i>|\n\n[x](https://e.example)\n[y](javascript:z)\n\n```\n<p>\n```\n"
    made = render(text)
    for part in (
        "<h2>題</h2>",
        "<li><strong>太</strong> と <em>斜</em></li>",
        "<code>&lt;b&gt;</code>",
        "<ol><li>一",
        "<blockquote>引用",
        "<td>&lt;i&gt;</td>",
        'href="https://e.example"',
        "<pre><code>&lt;p&gt;",
    ):
        assert part in made
    assert "javascript" not in re.findall(r'href="([^"]+)"', made)[0]
    assert len(re.findall("href=", made)) == 1
