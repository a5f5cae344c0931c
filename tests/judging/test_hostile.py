"""What a hostile model writes stays text: in messages, tables, notebooks, pages, cards, and the files of other tools."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import nikawa as nk
from nikawa.cli.terminal.app import build
from nikawa.collect.form import forms
from nikawa.collect.items import open_synced
from nikawa.collect.project import create_project
from nikawa.collect.settings import Settings
from nikawa.io.judgements import open_judgements, write_judgements
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement
from nikawa.reporting.agreement import render_page

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = f"{MARKUP}\x1b[2J\x1b]0;owned\x07\u202e{{{{7*7}}}}"
FORMULA = '=HYPERLINK("http://evil.example","x")'
RAW = ("\x1b", "\x07", "\u202e")


def is_harmless(text: str) -> bool:
    """Whether a terminal shows the text as it is."""
    return not any(sign in text for sign in RAW)


def run(*words: str, status: int = 0) -> str:
    """The output of a command, which must end with this status and must not control a terminal."""
    done = CliRunner().invoke(build(), list(words), env={"COLUMNS": "4000"})
    assert done.exit_code == status, done.output
    assert is_harmless(done.output)
    return done.output


@pytest.mark.parametrize("reply", [HOSTILE, json.dumps({"label": HOSTILE}), "\x1b[31m" * 500])
def test_a_reply_that_is_no_answer(
    project: Path, ask: Callable[..., Any], server: Any, tmp_path: Path, reply: str
) -> None:
    """It is kept as it came, and shown with escapes."""
    server.brain = lambda asked: reply
    report = ask(project, copies=1, tries=1)
    assert report.judgements == 0
    assert is_harmless(repr(report))
    assert "<script" not in report._repr_html_()
    assert is_harmless(report._repr_html_())
    rows = (tmp_path / "out" / "replies.jsonl").read_text("utf-8").splitlines()
    kept = json.loads(rows[0])["tries"][0]["reply"]  # the server writes JSON, as it was asked to
    assert reply in (kept, json.loads(kept).get("answer"))
    printed = run("judge", str(project), "--model", "chat:some/model", "--out", str(tmp_path / "cli"),
                  "--base-url", server.url, "--copies", "1", "--tries", "1", status=1)  # fmt: skip
    assert "without an answer" in printed


def test_half_a_character_and_an_endless_count(
    ask: Callable[..., Any], server: Any, tmp_path: Path
) -> None:
    """An escape can name half of a surrogate pair, and a server any number: neither ends the job."""
    form = forms()["reading-answers"]
    assert form.sample is not None
    example = Example(id="c1", inputs=dict(form.sample.inputs))
    settings = {"title": "t", "form": form.name, "form_settings": dict(form.sample.settings)}
    made = create_project(tmp_path / "reading", msgspec.convert(settings, Settings), [example])
    (name,) = form.questions[:1]
    server.brain = lambda asked: f'{{"{name}": "\\ud800"}}'
    server.shape = lambda reply: {**reply, "usage": {"prompt_tokens": 10**30}}
    report = ask(made.folder, copies=1)
    assert report.judgements == 0
    assert report.without_answer == {"broke a rule": 1}
    assert len(server.asked) == 3
    assert 0 < report.tokens_in < 10**6


def test_a_text_that_a_model_writes(ask: Callable[..., Any], server: Any, tmp_path: Path) -> None:
    """A form in which workers write takes almost any text: it goes through every format as it is."""
    form = forms()["translation"]
    assert form.sample is not None
    settings = {"title": "t", "form": "translation", "form_settings": dict(form.sample.settings)}
    example = Example(id="c1", inputs=dict(form.sample.inputs))
    made = create_project(tmp_path / "writing", msgspec.convert(settings, Settings), [example])
    (name,) = form.questions[:1]
    text = f"{form.sample.answer[name]}{MARKUP}"
    server.brain = lambda asked: json.dumps({name: text}, ensure_ascii=False)
    report = ask(made.folder, copies=1)
    assert report.judgements == 1, report.without_answer
    with open_synced(made.folder, is_new=True):
        pass
    run("collect", "import", str(made.folder), str(tmp_path / "out" / "judgements.jsonl"))
    for file in ("back.jsonl", "back.csv"):
        run("collect", "export", str(made.folder), "--out", str(tmp_path / file))
        (row,) = open_judgements(tmp_path / file).rows
        assert (row[1].answer, row[1].kind) == (text, "machine")


def test_labels_and_names_in_figures_pages_and_exports(tmp_path: Path) -> None:
    """Answers and names of models that no form has checked, such as those of another tool."""
    worker = f"model:{MARKUP}#1"
    rows = []
    for n in range(40):
        for name in ("aki", "ben", worker):
            odd = name == worker and n % 4 == 0
            label = HOSTILE if odd else FORMULA if n % 5 == 0 else "yes"
            rows.append(Judgement(example=str(n), worker=name, question="label", answer=label))
        if n % 8 == 1:
            rows[-3] = Judgement(example=str(n), worker="aki", question="label", answer="no")
    path = tmp_path / "judgements.jsonl"
    write_records(path, rows)
    examples = [Example(id=str(n), inputs={"text": f"文{n}"}) for n in range(40)]
    write_records(tmp_path / "texts.jsonl", examples)

    result = nk.agree(path)
    found = nk.recheck(path)
    for shown in (result, found):
        assert is_harmless(repr(shown))
        assert is_harmless(shown._repr_html_())
        assert "<script" not in shown._repr_html_()
        assert "<img" not in shown._repr_html_()
    page = render_page(result.report, result.table)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert is_harmless(page)
    printed = run("agree", str(path), "--alternative")
    assert MARKUP in printed
    run("recheck", str(path))
    run(
        "aggregate", str(path), "--rule", "majority", "--machines", "tie-break", "--out",
        str(tmp_path / "gold"), "--examples", str(tmp_path / "texts.jsonl"),
    )  # fmt: skip
    run(
        "split",
        str(tmp_path / "gold/examples.jsonl"),
        "--by",
        "random",
        "--out",
        str(tmp_path / "ds"),
    )
    run("data", "card", str(tmp_path / "ds"), "--overwrite")
    run("data", "show", str(tmp_path / "ds"))
    traced = run("lineage", "0", "--in", str(tmp_path / "ds"))
    assert re.search(r"worker +kind +answer", traced)
    assert "machine" in traced

    known = {example.id: example for example in examples}
    for form, name in (
        ("label-studio", "a.json"),
        ("doccano", "folder"),
        (None, "a.tsv"),
    ):
        write_judgements(tmp_path / name, rows, form, examples=known)
        back = {row.worker: row for _, row in open_judgements(tmp_path / name).rows}
        assert back[worker].kind == "machine"
        assert {row.answer for _, row in open_judgements(tmp_path / name).rows} >= {"yes", "no"}
    cells = list(
        csv.reader(io.StringIO((tmp_path / "a.tsv").read_text("utf-8-sig")), delimiter="\t")
    )
    assert not any(cell.startswith("=") for line in cells for cell in line)
