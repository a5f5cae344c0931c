"""From judgements to gold: published golds come back, files say why, ties make the round trip, people are scored."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unicodedata import normalize

import pytest

from nikawa.aggregation import judgements
from nikawa.aggregation.golden import GOLDEN
from nikawa.aggregation.human import score_humans
from nikawa.aggregation.job import AggregateOptions, aggregate, report_workers
from nikawa.aggregation.report import collect_gold, write_result
from nikawa.aggregation.rules import parse_rules
from nikawa.aggregation.sheets import read_decisions, read_known
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io.judgements import open_judgements
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement, Span
from nikawa.scoring.conformance import check_conformance

Nikawa = Callable[..., CompletedProcess[str]]

TEXTS = ("橋が落ちた。", "舟が着いた。", "鐘が鳴った。", "雪が積もった。")
VOTES = ("aab", "abc", "bbb", "ca")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Judgements of four items by w0, w1, w2, and the examples they are about."""
    judged = [
        Judgement(example=f"i{i}", worker=f"w{w}", question="label", answer=answer, seconds=3.0 + w)
        for i, votes in enumerate(VOTES)
        for w, answer in enumerate(votes)
    ]
    examples = [
        Example(id=f"i{i}", inputs={"text": text}, gold={"old": i}) for i, text in enumerate(TEXTS)
    ]
    write_records(tmp_path / "judgements.jsonl", judged)
    write_records(tmp_path / "examples.jsonl", examples)
    return str(tmp_path / "judgements.jsonl"), str(tmp_path / "examples.jsonl")


WRITTEN = [
    "adjudicate.tsv",
    "agreement.json",
    "examples.jsonl",
    "items.jsonl",
    "judgements.jsonl",
    "summary.json",
]


def test_a_file_is_parsed_once(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def count(path: Path, *rest: Any) -> Any:
        opened.append(path)
        return open_judgements(path, *rest)

    monkeypatch.setattr(judgements, "open_judgements", count)
    rules = ("first=first+majority", "label=majority", "strict=votes:3/3")
    result = aggregate(files[0], options=AggregateOptions(rules=rules, examples=files[1]))
    write_result(result, tmp_path / "out")
    assert opened == [Path(files[0])]
    assert (tmp_path / "out" / "judgements.jsonl").read_bytes() == Path(files[0]).read_bytes()
    tables = result.tables
    assert tables["label"] is tables["strict"]
    assert tables["first"] is not tables["label"]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_files(files: tuple[str, str], tmp_path: Path) -> None:
    found = aggregate(files[0], options=AggregateOptions(rules=("majority",), examples=files[1]))
    names = write_result(found, tmp_path / "out")
    assert names == WRITTEN
    merged = list(read_examples(tmp_path / "out" / "examples.jsonl"))
    assert [(e.id, e.gold) for e in merged] == [
        ("i0", {"old": 0, "label": "a"}),
        ("i2", {"old": 2, "label": "b"}),
    ]
    assert merged[0].origin is not None
    assert (merged[0].origin.step, merged[0].origin.gold) == ("label=majority", "annotated")
    told = lines(tmp_path / "out" / "items.jsonl")
    assert [(t["verdict"], t["by"]) for t in told] == [
        ("accepted", "majority"),
        ("tied", "ties:adjudicate"),
        ("accepted", "majority"),
        ("tied", "ties:adjudicate"),
    ]
    assert (told[0]["why"], told[0]["soft"]) == ("a 2, b 1", {"a": 0.666667, "b": 0.333333})
    measures = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))["label"][
        "measures"
    ]
    assert {"name", "level", "value", "low", "high"} == set(measures[0])


def test_examples_nobody_judged_are_counted(files: tuple[str, str], tmp_path: Path) -> None:
    more = [*read_examples(Path(files[1])), Example(id="i9", inputs={"text": "霧が晴れた。"})]
    write_records(tmp_path / "more.jsonl", more)
    assert (
        aggregate(
            files[0], options=AggregateOptions(examples=str(tmp_path / "more.jsonl"))
        ).report.unjudged
        == 1
    )


def test_answers_about_no_example_are_placed(files: tuple[str, str], tmp_path: Path) -> None:
    write_records(tmp_path / "fewer.jsonl", list(read_examples(Path(files[1])))[:2])
    with pytest.raises(BadInput, match=r"judgements\.jsonl, line 7: answers about 'i2'"):
        aggregate(files[0], options=AggregateOptions(examples=str(tmp_path / "fewer.jsonl")))


def test_single_answers_make_gold_without_agreement(tmp_path: Path) -> None:
    rows = [Judgement(example=str(i), worker="w", question="label", answer="a") for i in range(2)]
    write_records(tmp_path / "single.jsonl", rows)
    write_result(aggregate(str(tmp_path / "single.jsonl")), tmp_path / "out")
    assert (
        json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))["label"]["measures"]
        == []
    )
    assert len(lines(tmp_path / "out" / "gold.jsonl")) == 2


def test_ties_make_the_round_trip(files: tuple[str, str], tmp_path: Path) -> None:
    write_result(aggregate(files[0], options=AggregateOptions(examples=files[1])), tmp_path / "out")
    sheet = tmp_path / "out" / "adjudicate.tsv"
    head, first, second = sheet.read_text("utf-8-sig").splitlines()
    assert head.split("\t") == ["example", "question", "votes", "answer", "text"]
    assert first.split("\t") == ["i1", "label", "a 1, b 1, c 1", "", TEXTS[1]]
    decided = tmp_path / "decided.tsv"
    decided.write_text(
        f"{head}\n{first.replace(chr(9) * 2, f'{chr(9)}b{chr(9)}')}\n{second}\n", "utf-8"
    )
    found = aggregate(files[0], options=AggregateOptions(adjudicated=decided))
    assert collect_gold(found.verdicts) == {
        "i0": {"label": "a"},
        "i1": {"label": "b"},
        "i2": {"label": "b"},
    }
    assert (found.report.rules[0].tied, found.report.rules[0].settled) == (1, 1)


def test_who_settled_a_tie_and_why_is_kept(files: tuple[str, str], tmp_path: Path) -> None:
    sheet = tmp_path / "decided.tsv"
    rows = [
        "example\tquestion\tanswer\tperson\treason",
        "i1\tlabel\tb\t凛\t文脈から",
        "i0\tlabel\tb\t凛\t違う",
    ]
    sheet.write_text("\n".join(rows) + "\n", "utf-8")
    write_result(aggregate(files[0], options=AggregateOptions(adjudicated=sheet)), tmp_path / "out")
    written = lines(tmp_path / "out" / "items.jsonl")
    told = [(t["example"], t.get("decided_by"), t.get("reason")) for t in written]
    assert (written[0]["gold"], written[0]["without_decision"]) == ("b", "a")
    assert told == [
        ("i0", "凛", "違う"),
        ("i1", "凛", "文脈から"),
        ("i2", None, None),
        ("i3", None, None),
    ]


def as_saved(text: str, name: str) -> bytes:
    """A sheet as a spreadsheet saves it."""
    lines = text.splitlines()
    if name == "commas":
        lines = [",".join(f'"{cell}"' for cell in line.split("\t")) for line in lines]
    if name == "quoted":
        lines = ["\t".join(f'"{cell}"' for cell in line.split("\t")) for line in lines]
    if name == "cut":
        lines = [line.rstrip("\t") for line in (*lines, "\t\t\t")]
    codec = {"utf-16": "utf-16", "plain": "utf-8"}.get(name, "utf-8-sig")
    return ("\n" if name == "plain" else "\r\n").join([*lines, ""]).encode(codec)


@pytest.mark.parametrize("name", ["plain", "bom", "utf-16", "commas", "quoted", "cut"])
def test_a_sheet_is_read_as_spreadsheets_save_it(
    files: tuple[str, str], tmp_path: Path, name: str
) -> None:
    write_result(aggregate(files[0]), tmp_path / "out")
    sheet, saved = tmp_path / "out" / "adjudicate.tsv", tmp_path / "saved.txt"
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    text = sheet.read_text("utf-8-sig").replace("a 1, b 1, c 1\t", "1\tb")
    saved.write_bytes(as_saved(text, name))
    assert read_decisions(saved).answers == {"label": {"i1": "b"}}
    known = tmp_path / "known.tsv"
    known.write_bytes(as_saved(text, name))
    assert read_known(known, "label") == {"i1": "b", "i3": ""}


def test_no_cell_of_the_sheet_is_a_formula(files: tuple[str, str], tmp_path: Path) -> None:
    judged = [Judgement(example="-i", worker=w, question="label", answer=f"={w}") for w in "ab"]
    write_records(tmp_path / "j.jsonl", judged)
    write_records(
        tmp_path / "e.jsonl", [Example(id="-i", inputs={"text": "=HYPERLINK(1)", "quote": '"雨'})]
    )
    spec, examples = str(tmp_path / "j.jsonl"), str(tmp_path / "e.jsonl")
    write_result(aggregate(spec, options=AggregateOptions(examples=examples)), tmp_path / "out")
    sheet = tmp_path / "out" / "adjudicate.tsv"
    cells = sheet.read_text("utf-8-sig").splitlines()[1].split("\t")
    assert cells == ["'-i", "label", "'=a 1, =b 1", "", '"' + '""雨' + '"', "'=HYPERLINK(1)"]
    sheet.write_text(sheet.read_text("utf-8-sig").replace("=b 1\t", "=b 1\t'=b"), "utf-8")
    found = aggregate(spec, options=AggregateOptions(examples=examples, adjudicated=sheet))
    assert collect_gold(found.verdicts) == {"-i": {"label": "=b"}}


SPANS = {
    "i0": [[(0, 1, "PS"), (2, 3, "LC")], [(0, 1, "PS"), (2, 3, "LC")], [(0, 1, "PS")]],
    "i1": [[(0, 1, "PS")], [(0, 2, "PS")]],
    "i2": [[], [], [(0, 1, "LC")]],
}


@pytest.fixture
def spans(tmp_path: Path) -> str:
    """Spans that three workers marked in three texts, two of them in the second."""
    judged = [
        Judgement(
            example=item,
            worker=f"w{w}",
            question="spans",
            answer=[{"start": s, "end": e, "label": label} for s, e, label in answer],
        )
        for item, answers in SPANS.items()
        for w, answer in enumerate(answers)
    ]
    write_records(tmp_path / "spans.jsonl", judged)
    return str(tmp_path / "spans.jsonl")


def test_spans_are_voted_on_one_by_one(spans: str, files: tuple[str, str], tmp_path: Path) -> None:
    options = AggregateOptions(examples=files[1])
    found, out = aggregate(spans, options=options), tmp_path / "out"
    names = write_result(found, out)
    assert names == WRITTEN
    gold = {e.id: e.gold["spans"] for e in read_examples(out / "examples.jsonl")}
    assert gold == {"i0": [Span(0, 1, "PS"), Span(2, 3, "LC")], "i2": []}
    told = lines(out / "items.jsonl")
    assert [t["why"] for t in told] == [
        "0-1:PS 3, 2-3:LC 2, of 3",
        "0-1:PS 1, 0-2:PS 1, of 2",
        "0-1:LC 1, of 3",
    ]
    assert told[0]["soft"] == {"0-1:PS": 1.0, "2-3:LC": 0.666667}
    measures = json.loads((out / "agreement.json").read_text("utf-8"))["spans"]["measures"]
    assert [m["name"] for m in measures] == ["span-f1", "span-f1-overlap", "alpha-characters"]
    sheet = out / "adjudicate.tsv"
    filled = sheet.read_text("utf-8").replace("(舟が), of 2\t", "(舟が), of 2\t0-2:PS, 3-4")
    sheet.write_text(filled, "utf-8")
    settled = aggregate(spans, options=dataclasses.replace(options, adjudicated=sheet))
    assert collect_gold(settled.verdicts)["i1"] == {"spans": [Span(0, 2, "PS"), Span(3, 4)]}
    assert not settled.report.notes


def test_gold_spans_are_held_against_those_that_are_there(spans: str, tmp_path: Path) -> None:
    golds: dict[str, list[Span]] = {
        "i0": [Span(2, 3, "LC"), Span(0, 1, "PS")],
        "i1": [],
        "i2": [Span(0, 1, "LC")],
    }
    write_records(
        tmp_path / "gold.jsonl",
        [
            Example(id=i, inputs={"text": "舟が着いた。"}, gold={"spans": g})
            for i, g in golds.items()
        ],
    )
    told = (
        aggregate(spans, options=AggregateOptions(examples=str(tmp_path / "gold.jsonl")))
        .report.rules[0]
        .published
    )
    assert told is not None
    assert (told.same, told.different, told.only_there) == (1, ("i2",), 1)
    known = report_workers(
        spans, None, AggregateOptions(known=tmp_path / "gold.jsonl"), pass_mark=0.5
    )
    assert [(w.gold_items, w.accuracy) for w in known.workers] == [(3, 1 / 3), (3, 1 / 3), (2, 0.5)]


def test_workers_who_mark_spans(spans: str, files: tuple[str, str]) -> None:
    told = report_workers(spans, None, AggregateOptions(exclude=("answers<3",)))
    assert [w.agreement for w in told.workers] == [0.5, 0.5, 0.5]
    assert [w.alpha for w in told.workers] == [None] * 3
    assert [(c.worker, c.lost) for c in told.excluded] == [("w2", 0), ("", 0)]
    found = score_humans(
        spans, None, AggregateOptions(examples=files[1]), "mini-ja-ner", resamples=20
    )
    assert {score.metric for score in found.scores} >= {"entity-macro-f1"}


def test_an_answer_that_cannot_be_counted_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    answers: list[Any] = ["a", [{"start": 0, "end": 1}], {"text": "a"}]
    write_records(
        path,
        [
            Judgement(example="i", worker=f"w{n}", question="q", answer=a)
            for n, a in enumerate(answers)
        ],
    )
    with pytest.raises(
        BadInput, match=r"odd\.jsonl, line 3: w2's answer about i is a mapping; an answer is"
    ):
        aggregate(str(path))


def test_an_item_decided_twice(tmp_path: Path) -> None:
    path = tmp_path / "decided.tsv"
    path.write_text("example\tquestion\tanswer\ni1\tlabel\tb\ni1\tlabel\tc\n", "utf-8")
    with pytest.raises(BadInput, match=r"line 3: 'i1' is decided twice"):
        _ = read_decisions(path).answers


def test_nothing_is_overwritten_unasked(files: tuple[str, str], tmp_path: Path) -> None:
    found = aggregate(files[0], options=AggregateOptions(rules=("dawid-skene",)))
    assert "skills.jsonl" in write_result(found, tmp_path / "out")
    assert {"worker", "skill", "answers_by_true"} <= set(
        lines(tmp_path / "out" / "skills.jsonl")[0]
    )
    with pytest.raises(BadInput, match="already exists"):
        write_result(found, tmp_path / "out")
    write_result(
        aggregate(files[0], options=AggregateOptions(rules=("mace",))),
        tmp_path / "out",
        overwrite=True,
    )
    assert "answers_given" in lines(tmp_path / "out" / "skills.jsonl")[0]
    assert lines(tmp_path / "out" / "gold.jsonl")[0]["gold"] == {"label": "a"}


def test_rules_by_question() -> None:
    assert {
        name: rule.text
        for name, rule in parse_rules(("score=mean+sd<=2", "binary=mean+binary:3")).items()
    } == {
        "score": "mean+sd<=2",
        "binary": "mean+binary:3",
    }
    assert list(parse_rules(("mean+sd<=2",))) == [""]
    with pytest.raises(BadInput, match="needs its own name"):
        parse_rules(("mean", "median"))


def test_ranked_first_choice(tmp_path: Path) -> None:
    ranked = [["x", "y"], ["x"], ["y", "x"], ["y"], ["x", "z"], ["z"]]
    judged = [
        Judgement(example=str(i // 3), worker=str(i % 3), question="topic", answer=answer)
        for i, answer in enumerate(ranked)
    ]
    write_records(tmp_path / "ranked.jsonl", judged)
    found = aggregate(
        str(tmp_path / "ranked.jsonl"), options=AggregateOptions(rules=("first+votes:2/3",))
    )
    assert collect_gold(found.verdicts) == {"0": {"topic": "x"}}
    assert found.report.rules[0].dropped == {"votes:2/3": 1}


@pytest.mark.parametrize(
    "options",
    [
        AggregateOptions(rules=("dawid-skene",)),
        AggregateOptions(rules=("mace",)),
        AggregateOptions(exclude=("alpha<0.2",)),
    ],
    ids=["dawid-skene", "mace", "exclude"],
)
def test_columns_are_no_persons(files: tuple[str, str], options: AggregateOptions) -> None:
    with pytest.raises(BadInput, match="only a column"):
        aggregate(files[0], options=dataclasses.replace(options, columns=True))


def test_only_published_data_has_a_published_way(files: tuple[str, str]) -> None:
    with pytest.raises(BadInput, match="not a published dataset"):
        aggregate(files[0], options=AggregateOptions(as_published=True))


def test_workers_and_known_answers(files: tuple[str, str], tmp_path: Path) -> None:
    sheet = tmp_path / "known.tsv"
    sheet.write_text("example\tanswer\ni0\ta\ni2\tb\n", "utf-8")
    report = report_workers(
        files[0], None, AggregateOptions(known=sheet, exclude=("accuracy<0.6",)), pass_mark=0.9
    )
    assert [w.accuracy for w in report.workers] == [1.0, 1.0, 0.5]
    assert [t.passed for t in report.trials] == [True, True, False]
    assert [change.worker for change in report.excluded] == ["w2", ""]
    found = aggregate(files[0], options=AggregateOptions(known=sheet, exclude=("accuracy<0.6",)))
    assert (found.report.answers, len(found.report.excluded)) == (8, 2)
    with pytest.raises(BadInput, match="needs known answers"):
        report_workers(files[0], None, AggregateOptions(), pass_mark=0.9)
    with pytest.raises(BadInput, match="no worker has the figure of"):
        report_workers(files[0], None, AggregateOptions(exclude=("r<0.8",)))
    write_records(tmp_path / "bare.jsonl", [Example(id="i0", inputs={"text": "灯がともる。"})])
    with pytest.raises(BadInput, match="contains no gold"):
        read_known(tmp_path / "bare.jsonl", "label")


def test_sheets_about_items_nobody_judged_are_refused(
    files: tuple[str, str], tmp_path: Path
) -> None:
    ties, known = tmp_path / "ties.tsv", tmp_path / "known.tsv"
    ties.write_text("example\tquestion\tanswer\ni1\tlabel\tb\ni99\tlabel\tb\n", "utf-8")
    said = r"ties\.tsv, line 3: decides about 'i99', which has no judgements; known: i0, i1"
    with pytest.raises(BadInput, match=said):
        aggregate(files[0], options=AggregateOptions(adjudicated=ties))
    ties.write_text("example\tquestion\tanswer\ni1\tlable\tb\n", "utf-8")
    with pytest.raises(
        BadInput,
        match="decides no question that is aggregated; write one of these into the column question: label",
    ):
        aggregate(files[0], options=AggregateOptions(adjudicated=ties))
    known.write_text("example\tanswer\nk1\ta\nk2\tb\n", "utf-8")
    for run in (aggregate, report_workers):
        with pytest.raises(
            BadInput, match="none of its 2 known answers is about an item that was judged"
        ):
            run(files[0], None, AggregateOptions(known=known))


def test_known_and_decided_labels_are_compared_in_nfc(tmp_path: Path) -> None:
    votes = {"i1": ("긍정", "긍정"), "i2": ("긍정", "부정")}
    judged = [
        Judgement(example=item, worker=f"w{w}", question="label", answer=a)
        for item, given in votes.items()
        for w, a in enumerate(given)
    ]
    write_records(tmp_path / "j.jsonl", judged)
    apart = normalize("NFD", "긍정")
    (tmp_path / "known.tsv").write_text(f"example\tanswer\ni1\t{apart}\n", "utf-8")
    (tmp_path / "ties.tsv").write_text(f"example\tquestion\tanswer\ni2\tlabel\t{apart}\n", "utf-8")
    report = report_workers(
        str(tmp_path / "j.jsonl"), None, AggregateOptions(known=tmp_path / "known.tsv")
    )
    assert [worker.accuracy for worker in report.workers] == [1.0, 1.0]
    found = aggregate(
        str(tmp_path / "j.jsonl"), options=AggregateOptions(adjudicated=tmp_path / "ties.tsv")
    )
    assert found.verdicts["label"].answers() == ["긍정", "긍정"]


def test_known_answers_from_examples(tmp_path: Path) -> None:
    given = [
        Example(id=f"i{i}", inputs={"text": text}, gold={"label": "a"})
        for i, text in enumerate(TEXTS)
    ]
    write_records(tmp_path / "gold.jsonl", given)
    assert read_known(tmp_path / "gold.jsonl", "label")["i3"] == "a"
    (tmp_path / "known.tsv").write_text("example\tanswer\ni0\t3\ni1\t2.5\ni2\tb\n", "utf-8")
    assert read_known(tmp_path / "known.tsv", "label") == {"i0": 3, "i1": 2.5, "i2": "b"}


def test_people_against_people(files: tuple[str, str]) -> None:
    report = score_humans(
        files[0], None, AggregateOptions(question="label"), task_name="mini-ja-nli", resamples=100
    )
    everything, untied = report.scores
    assert (everything.n, untied.n, report.tied) == (11, 6, 5)
    assert untied.value == pytest.approx(100 * 3 / 6)
    assert untied.low is None
    many = score_humans("mini-ja", None, AggregateOptions(question="label"), resamples=100).scores[
        0
    ]
    assert many.low is not None
    assert set(report.by_worker) == {"w0", "w1", "w2"}
    assert (
        score_humans(
            files[0], None, AggregateOptions(columns=True), task_name="mini-ja-nli", resamples=100
        ).by_worker
        == {}
    )
    with pytest.raises(BadInput, match="the judgements do not name their task"):
        score_humans(files[0], None, AggregateOptions())


def test_scores_of_people() -> None:
    report = score_humans("mini-ja", None, AggregateOptions(question="score"), resamples=100)
    assert [score.metric for score in report.scores] == ["pearson", "spearman"]
    assert report.tied == 0


def test_mini_gold_comes_back() -> None:
    for name in ("mini-ja", "mini-ko"):
        report = aggregate(
            name, options=AggregateOptions(rules=("label=majority", "score=mean+round:1"))
        ).report
        for rule in report.rules:
            assert rule.published is not None
            assert rule.published.same == rule.published.items == rule.items


def test_jsick_labels_come_back(shared_data: Path) -> None:
    (rule,) = aggregate("jsick", shared_data, AggregateOptions(question="label")).report.rules
    assert rule.published is not None
    assert (rule.published.same, rule.tied) == (9_879, 46)
    assert rule.published.different == ("jsick:test/912", "jsick:test/7284")
    assert len(rule.tied_items) == 46


def test_jsick_relatedness_comes_back(shared_data: Path) -> None:
    for as_published, same in ((True, 9_927), (False, 9_927 - 3_623)):
        options = AggregateOptions(
            rules=("mean+round:1",), question="relatedness", as_published=as_published
        )
        (rule,) = aggregate("jsick", shared_data, options).report.rules
        assert rule.published is not None
        assert (rule.published.same, rule.accepted) == (same, 9_927)


def test_klue_labels_come_back(shared_data: Path) -> None:
    rules = (
        "score=mean+digits:16",
        "binary=mean+digits:16+binary:3",
        "rounded=mean+digits:16+round:1",
    )
    found = aggregate("klue-sts", shared_data, AggregateOptions(rules=rules, question="score"))
    assert [r.published.same for r in found.report.rules[:2] if r.published] == [519, 519]
    rounded = {
        f"klue-sts:dev/{e.id}": e.meta["rounded"]
        for e in load("klue-sts", data=shared_data).splits["dev"]
    }
    assert {item: gold["rounded"] for item, gold in collect_gold(found.verdicts).items()} == rounded
    (rule,) = aggregate(
        "klue-nli", shared_data, AggregateOptions(rules=("votes:3/5",))
    ).report.rules
    assert rule.published is not None
    assert rule.published.same == 3_000


def test_published_columns_are_refused(shared_data: Path) -> None:
    for name in ("jsick", "klue-nli"):
        with pytest.raises(BadInput, match="only a column"):
            aggregate(name, shared_data, AggregateOptions(rules=("dawid-skene",), question="label"))
        with pytest.raises(BadInput, match="only a column"):
            report_workers(name, shared_data, AggregateOptions(question="label"))


def test_golden_rules_conform(shared_data: Path) -> None:
    report = check_conformance(shared_data.parent / "golden" / "agreement.json", GOLDEN)
    (group,) = [group for group in report.groups if group.name == "klue_sts_label_rules"]
    assert (group.passed, group.failures) == (group.cases, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rule", "votes:2/3", "--examples"), "2 of 4 items have gold"),
        (("--rule", "majority", "--json"), '"tied": 2'),
        (("--workers", "--exclude", "agreement<0.5"), "effect of excluding workers"),
        (("--human", "--task", "mini-ja-nli"), "each answer against the rest"),
    ],
)
def test_the_command(
    nikawa: Nikawa, files: tuple[str, str], words: tuple[str, ...], said: str
) -> None:
    given = [word for word in words if word != "--examples"]
    given += ["--examples", files[1]] if "--examples" in words else []
    done = nikawa("aggregate", files[0], *given)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the aggregation rule is missing"),
        (("--rule", "majorty"), "did you mean 'majority'"),
        (("--workers", "--human"), "cannot be combined"),
        (("--rule", "majority", "--ties", "toss"), "drop, adjudicate or prefer:LABEL"),
        (("--rule", "dawid-skene", "--workers-are-columns"), "only a column"),
    ],
)
def test_bad_input_is_one_line(
    nikawa: Nikawa, files: tuple[str, str], words: tuple[str, ...], said: str
) -> None:
    done = nikawa("aggregate", files[0], *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
