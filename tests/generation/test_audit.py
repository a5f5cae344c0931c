"""Problems read back through their templates: labels computed again, faults found, published data held to its figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.datasets import load
from nikawa.generation.audit import AuditReport, audit_examples, find_wrong_forms
from nikawa.generation.pack import Pack
from nikawa.generation.problem_reader import ProblemReader
from nikawa.generation.time_spans import SPANS
from nikawa.records import Example


def example(
    id: str, premise: str, hypothesis: str, label: str, template: str, **meta: str | None
) -> Example:
    inputs = {"premise": premise, "hypothesis": hypothesis}
    return Example(id=id, inputs=inputs, gold={"label": label}, meta={"template": template, **meta})


def since(
    id: str, since: str, now: str, then: str, label: str, verb: str = "勤めて", **meta: str | None
) -> Example:
    premise = f"{since}以来、ハルは灯台に{verb}いる。現在、{now}である。"
    return example(id, premise, f"ハルは{then}には灯台に{verb}いた。", label, "7", **meta)


def within(id: str, length: str, start: str, end: str, label: str) -> Example:
    premise = f"ハルが{length}以内に塔を塗った。ハルは{start}にその塔を塗り始めた。"
    return example(id, premise, f"ハルは{end}までにその塔を塗り終えた。", label, "8")


def found(report: AuditReport) -> dict[str, tuple[str, ...]]:
    return {finding.check: finding.ids for finding in report.findings}


def test_labels_that_agree(lighthouse: Pack) -> None:
    report = audit_examples(
        lighthouse.templates,
        [
            since("1", "2012年3月", "2019年8月", "2015年1月", "entailment"),
            since("2", "3月4日", "3月9日", "3月1日", "contradiction"),
            since("3", "2時", "5時", "7時", "neutral"),
            within("4", "2日間", "3日", "9日", "entailment"),
            example(
                "5",
                "昨日、ミオは島に渡った。今日は5月2日だ。",
                "ミオは5月1日に島に渡った。",
                "entailment",
                "9",
            ),
        ],
        wrong_forms=find_wrong_forms,
    )
    assert (report.rows, report.parsed, report.agree) == (5, 5, 5)
    assert (report.disagree, report.findings) == ((), ())


def test_the_twelfth_month(lighthouse: Pack) -> None:
    rows = [
        within("3763", "7ヶ月間", "11月", "12月", "entailment"),
        within("x", "1ヶ月間", "3月", "9月", "neutral"),
    ]
    assert audit_examples(lighthouse.templates, rows).disagree == (3763, "x")
    assert audit_examples(lighthouse.templates, rows, compat=True).disagree == ("x",)
    (finding,) = audit_examples(lighthouse.templates, rows).findings
    assert finding.check == "label"
    assert "entailment is neutral 1, neutral is entailment 1" in finding.note


def test_faults(lighthouse: Pack) -> None:
    good = {"time_format": "年", "time_span": "short", "category": "以来（灯台）"}
    rows = [
        since("1", "2015年", "2012年", "2014年", "contradiction", **good),
        since("2", "2012年", "2012年", "2015年", "neutral", **good),
        since("3", "2001年", "2012年", "2005年", "entailment", **good),
        since("4", "2012年", "2015年3月", "2014年", "entailment", **good),
        since("5", "2012年", "2015年", "2014年", "entailment", **{**good, "time_format": "月"}),
        since("6", "2012年", "2015年", "2014年", "entailment", **{**good, "category": "島"}),
        since("7", "2012年", "2015年", "2014年", "entailment", verb="生ずるて", **good),
        since("8", "2月30日", "3月15日", "3月14日", "entailment"),
        example("9", "ハルは泳いだ。", "ハルは泳いだ。", "neutral", "7"),
        example("10", "ハルは泳いだ。", "ハルは泳いだ。", "neutral", "70"),
        example(
            "11",
            "昨日、ミオは島に渡った。今日は5月2日だ。",
            "ミオは5月9日に島に渡った。",
            "entailment",
            "9",
        ),
    ]
    report = audit_examples(lighthouse.templates, rows, spans=SPANS, wrong_forms=find_wrong_forms)
    assert found(report) == {
        "unknown-template": ("10",),
        "unparsed": ("8", "9"),
        "category": ("6",),
        "time-format": ("5",),
        "time-span": ("3",),
        "inconsistent-premise": ("1",),
        "mixed-formats": ("4",),
        "equal-times": ("2",),
        "day-before": ("11",),
        "verb-form": ("7",),
    }
    assert (report.rows, report.parsed, report.agree) == (11, 7, 7)


def test_segmented_text_reads_alike(lighthouse: Pack) -> None:
    row = since("1", "3月4日", "3月9日", "3月1日", "contradiction")
    premise, hypothesis = (" ".join(text) for text in row.inputs.values())
    cut = example("1", premise, hypothesis, "contradiction", "7")
    assert audit_examples(lighthouse.templates, [cut]).agree == 1


def test_what_a_reader_gives_back(lighthouse: Pack) -> None:
    parsed = ProblemReader(lighthouse["8"]).read(
        "ハルが2日間で塔を塗った。ハルは3日にその塔を塗り始めた。",
        "ハルは9日までにその塔を塗り終えた。",
    )
    assert parsed is not None
    assert parsed.values == {"interval_1": 2, "time_2": (3,), "time_3": (9,)}
    assert parsed.texts["[以内に,で]"] == "で"
    assert (parsed.texts["verb_1.past"], parsed.texts["verb_1.stem"]) == ("塗った", "塗り")
    other = ProblemReader(lighthouse["8"]).read(
        "ハルが2日間で塔を塗った。ハルは3日にその橋を塗り始めた。",
        "ハルは9日までにその塔を塗り終えた。",
    )
    assert other is None


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ({"dictionary": "泳ぐ", "past": "泳いだ"}, []),
        ({"dictionary": "生ずる", "past": "生ずるた"}, ["生ずるた"]),
        ({"dictionary": "来る", "past": "きた"}, []),
        ({"past": "塗った", "stem": "塗り"}, []),
        ({"te": "建て"}, ["建て"]),
        ({"te": "建てて", "past": "建てた"}, []),
        ({"progressive": "勤めている", "progressive_past": "勤めていた"}, []),
        ({"progressive": "居る", "progressive_past": "居った"}, ["居る", "居った"]),
        ({"past": "いらっしゃるた"}, ["いらっしゃるた"]),
        ({"past": "署名した", "te": "署名して", "stem": "署名し"}, []),
        ({"dictionary": "嫌だ"}, ["嫌だ"]),
        ({"past": "灯台守った"}, []),
    ],
)
def test_verb_forms(shown: dict[str, str], wrong: list[str]) -> None:
    assert find_wrong_forms(shown) == wrong


@pytest.fixture(scope="module")
def train(published: Pack, shared_data: Path) -> tuple[Example, ...]:
    return load("jamp:train", data=shared_data).splits["train"]


@pytest.mark.slow
def test_published_train(published: Pack, train: tuple[Example, ...]) -> None:
    report = audit_examples(published.templates, train, spans=SPANS, wrong_forms=find_wrong_forms)
    assert (report.rows, report.parsed, report.agree) == (9950, 9950, 9946)
    assert report.disagree == (3763, 3767, 7807, 7809)
    counts = {finding.check: finding.count for finding in report.findings}
    # 27 rows by 居った, 生ずるた, 建て, いらっしゃるた and 嫌だ, and one more by 居って.
    assert counts == {"inconsistent-premise": 926, "verb-form": 28, "label": 4}
    premises = next(f.note for f in report.findings if f.check == "inconsistent-premise")
    assert "contradiction 557, neutral 369" in premises


@pytest.mark.slow
def test_published_train_by_the_authors_numbers(
    published: Pack, train: tuple[Example, ...]
) -> None:
    report = audit_examples(published.templates, train, compat=True)
    assert (report.rows, report.agree, report.disagree) == (9950, 9950, ())
