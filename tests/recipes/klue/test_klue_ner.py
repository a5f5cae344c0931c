"""KLUE-NER built from a few invented sentences by recorded workers, by the paper's thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.json import read_json
from nikawa.io.records import read_examples, write_records
from nikawa.io.task_sheet import mark_spans
from nikawa.recipes.build import BuildReport
from nikawa.records import Example, Span
from nikawa.reporting.card import Built

NAMES = ("김하늘", "이바다", "박구름", "최나무", "정노을", "한바람", "오이슬", "윤가람")
SENTENCES = [
    {"id": f"s{n}", "text": f"{name}은 {2000 + n}년에 푸른은행에 들어갔다.", "source": "wikitree"}
    for n, name in enumerate(NAMES)
] + [{"id": "film", "text": "1998년 영화라니 놀랍다.", "source": "nsmc"}]
ODD = [
    {"id": "none", "text": "정말 재미있었다.", "source": "nsmc"},
    {"id": "long", "text": f"{NAMES[0]}은 {'참 ' * 200}좋다.", "source": "nsmc"},
]
LEXICON = "".join(f"{name}\tPS\n" for name in NAMES) + "푸른은행\tOG\nre:\\d{4}년\tDT\n"


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def plain(item: Example) -> list[dict[str, Any]]:
    return list(item.inputs["spans"])


def tags(item: Example) -> list[Any]:
    """The proposals as they are, but for sentences handed back, wrong, or emptied."""
    odd: dict[str, Any] = {"s0": "broken", "s1": "hate", "s2": plain(item)[:1], "s3": []}
    return [odd.get(item.id, plain(item))]


@pytest.fixture
def begun(start: Any, tmp_path: Path) -> Any:
    """A build of the sentences, as a function to call again and again."""
    (tmp_path / "lexicon.tsv").write_text(LEXICON, "utf-8")

    def make(lines: Any = (*SENTENCES, *ODD), **settings: Any) -> Any:
        told = {"tagger": "lexicon.tsv", "split": "0.5,0.25,0.25", **settings}
        return start("klue-ner", "sentences", list(lines), **told)

    return make


def test_thresholds_of_the_paper(begun: Any, people: Any, tmp_path: Path) -> None:
    run, out = begun(), tmp_path / "out"
    first = run()
    assert of(first, "short") == ({"short": 10}, {"over 400 characters": 1})
    assert of(first, "proposed") == ({"proposed": 9}, {"no entity proposed": 1})
    people(out, "tagging", tags)
    reported = {"reported as inadequate": 1, "reported for hate, bias or privacy": 1}
    assert of(run(), "tagged") == ({"tagged": 7}, reported)
    people(
        out,
        "check",
        lambda item: ["right", "wrong" if item.id in ("s2", "s4") else "right"],
        "linguist",
    )
    assert of(run(), "checked")[0] == {"passed": 5, "doubtful": 2}
    people(out, "correction", lambda item: [mended(item)])
    fourth = run()
    assert of(fourth, "mended") == ({"nameless": 2, "naming": 4}, {"no entity is left": 1})
    people(out, "privacy", lambda item: ["private" if item.id == "s5" else "public"])
    last = run()
    assert of(last, "public") == ({"public": 5}, {"names a person who is no public figure": 1})
    examples = {e.id: e for part in load(str(out)).splits.values() for e in part}
    assert set(examples) == {"film", "s2", "s4", "s6", "s7"}
    assert examples["s2"].inputs == {"text": SENTENCES[2]["text"]}
    assert examples["s2"].gold["spans"] == [Span(0, 3, "PS"), Span(5, 10, "DT"), Span(12, 16, "OG")]
    assert [j.question for j in find_lineage("s2", out).judgements] == [
        "spans",
        "right",
        "right",
        "spans",
        "persons",
    ]


def mended(item: Example) -> list[dict[str, Any]]:
    if item.id == "s4":
        return [{"start": 5, "end": 10, "label": "DT"}]
    text = item.inputs["text"]
    bank = text.index("푸른은행")
    return [
        {"start": 0, "end": 3, "label": "PS"},
        {"start": 5, "end": 10, "label": "DT"},
        {"start": bank, "end": bank + 4, "label": "OG"},
    ]


def test_of_several_workers_more_than_half_decide(begun: Any, people: Any, tmp_path: Path) -> None:
    run, out = begun(workers=3), tmp_path / "out"
    run()
    people(out, "tagging", lambda item: [plain(item), plain(item)[:1], plain(item)[:2]])
    run()
    tagged = {
        e.id: e.gold["spans"] for e in read_examples(out / "build" / "tagged" / "tagged.jsonl")
    }
    assert {name: len(spans) for name, spans in tagged.items()} == {
        **{f"s{n}": 2 for n in range(8)},
        "film": 1,
    }


def test_the_card_tells_entities_agreement_and_each_licence_once(
    begun: Any, people: Any, tmp_path: Path
) -> None:
    lines = [{**line, "licence": "CC0-1.0"} for line in SENTENCES]
    run, out = begun(lines, workers=3), tmp_path / "out"
    run()
    people(
        out,
        "tagging",
        lambda item: ["broken" if item.id == "s0" else plain(item), plain(item), plain(item)[:2]],
    )
    run()
    people(out, "check", lambda item: ["right", "right"], "linguist")
    run()
    people(out, "privacy", lambda item: ["public"])
    run()
    page = (out / "README.md").read_text("utf-8")
    assert "CC0-1.0 (9 items)" in page
    rows = {
        line.split(" | ")[0]: line.split(" | ")[-1]
        for line in page.splitlines()
        if line.startswith("| ")
    }
    told = {name: rows[f"| {name}"] for name in ("DT", "OG", "PS", "all spans", "items")}
    assert told == {"DT": "8 |", "OG": "7 |", "PS": "7 |", "all spans": "22 |", "items": "8 |"}
    figures = read_json(out / "build.json", Built).figures
    assert sum(sum(found.values()) for found in figures.labels.values()) == 8
    tagging = next(ask for ask in figures.asks if ask.name == "tagging")
    assert set(tagging.agreement) == {"span-f1", "span-f1-overlap", "alpha-characters"}
    low, high = tagging.intervals["span-f1"]
    assert low <= tagging.agreement["span-f1"] <= high < 1
    assert "| tagging | span-f1 | " in page


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sentences_are_read_as_editors_write_them(
    begun: Any, tmp_path: Path, mark: str, end: str
) -> None:
    run = begun()
    path = next(file for file in tmp_path.glob("*.jsonl") if "sentences" in file.name)
    path.write_bytes((mark + path.read_text("utf-8").replace("\n", end)).encode())
    assert of(run(), "short") == ({"short": 10}, {"over 400 characters": 1})
    path.write_bytes((mark + "{}" + end + "x" + end).encode())
    with pytest.raises(BadInput, match=r"line 1: .*id"):
        run()


def test_a_sheet_takes_marked_text_and_json(begun: Any, tmp_path: Path) -> None:
    run, place = begun(SENTENCES[:3]), tmp_path / "out" / "people" / "tagging"
    run()
    marked = {e.id: mark_spans(e.inputs)["marked"] for e in read_examples(place / "tasks.jsonl")}
    assert marked["s0"] == "<김하늘:PS>은 <2000년:DT>에 <푸른은행:OG>에 들어갔다."
    rows = [
        ("s0", marked["s0"].replace("<2000년:DT>", "2000년")),
        ("s1", '"[{""start"": 0, ""end"": 3, ""label"": ""PS""}]"'),
        ("s2", SENTENCES[2]["text"]),
    ]
    sheet = "example,worker,answer\n" + "".join(f"{name},w,{answer}\n" for name, answer in rows)
    (place / "answers.csv").write_text(sheet, "utf-8")
    run()
    tagged = {
        e.id: e.gold["spans"]
        for e in read_examples(tmp_path / "out" / "build" / "tagged" / "tagged.jsonl")
    }
    assert tagged == {
        "s0": [Span(0, 3, "PS"), Span(12, 16, "OG")],
        "s1": [Span(0, 3, "PS")],
        "s2": [],
    }
    (place / "answers.csv").write_text(sheet.replace("들어갔다", "나왔다"), "utf-8")
    with pytest.raises(BadInput, match=r"line 2: .* without its marks is not the text"):
        run()


def test_overlapping_spans_have_no_character_tags(begun: Any, people: Any, tmp_path: Path) -> None:
    run = begun()
    run()
    spans = [{"start": 0, "end": 3, "label": "PS"}, {"start": 2, "end": 4, "label": "OG"}]
    people(tmp_path / "out", "tagging", lambda item: [spans])
    with pytest.raises(
        BadInput, match=r"answers\.jsonl, line 1: the answer about 's0' does not fit: .+ overlap"
    ):
        run()


def test_test_holds_entities_that_train_lacks(begun: Any, people: Any, tmp_path: Path) -> None:
    run, out = begun(SENTENCES), tmp_path / "out"
    run()
    people(out, "tagging", lambda item: [plain(item)])
    run()
    people(out, "check", lambda item: ["right", "right"], "linguist")
    run()
    people(out, "privacy", lambda item: ["public"])
    run()
    splits = load(str(out)).splits
    seen = {e.inputs["text"][s.start : s.end] for e in splits["train"] for s in e.gold["spans"]}
    for example in (*splits["dev"], *splits["test"]):
        assert {example.inputs["text"][s.start : s.end] for s in example.gold["spans"]} - seen
    rows = tmp_path / "test.conll"
    write_records(rows, splits["test"])
    assert "\tB-" in rows.read_text("utf-8")
    assert [e.gold for e in read_examples(rows)] == [e.gold for e in splits["test"]]


def test_spans_of_the_lines_are_united_with_the_taggers(begun: Any, tmp_path: Path) -> None:
    line = {
        **SENTENCES[0],
        "spans": [{"start": 12, "end": 14, "label": "OG"}, {"start": 3, "end": 4, "label": "TI"}],
    }
    begun([line, SENTENCES[1]])()
    found = next(read_examples(tmp_path / "out" / "people" / "tagging" / "tasks.jsonl"))
    assert (
        mark_spans(found.inputs)["marked"]
        == "<김하늘:PS><은:TI> <2000년:DT>에 <푸른은행:OG>에 들어갔다."
    )


@pytest.mark.parametrize(
    ("spans", "what"),
    [
        ([{"start": 0, "end": 99, "label": "PS"}], "line 1: has spans that do not fit its text"),
        ([{"start": 0, "end": 3, "label": "XX"}], "line 1: 'XX' is not a type of entity"),
    ],
)
def test_spans_that_do_not_fit_are_refused(begun: Any, spans: list[Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        begun([{**SENTENCES[0], "spans": spans}])()
