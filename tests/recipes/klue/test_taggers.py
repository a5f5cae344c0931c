"""Taggers that propose entities: a lexicon, a CRF that learned, a program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.recipes.klue.taggers import drop_overlaps, tagger_of
from nikawa.records import Example, Span

TYPES = ("PS", "LC", "DT")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that takes the first two characters of every line for a person."""
    path = tmp_path / "tagger"
    body = 'import sys\nfor line in sys.stdin:\n    print(\'[{"start": 0, "end": 2, "label": "PS"}]\')\n'
    path.write_text(f"#!{sys.executable}\n{body}", "utf-8")
    path.chmod(0o755)
    return path


def test_a_lexicon_takes_the_longest_at_the_beginning_of_words(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    path.write_text("서울\tLC\n서울숲\tLC\n김하늘\tPS\nre:\\d+월\tDT\n", "utf-8")
    (found,) = tagger_of(path, TYPES)(["김하늘이 3월에 서울숲과 북서울에 갔다"])
    assert found == [Span(0, 3, "PS"), Span(5, 7, "DT"), Span(9, 12, "LC")]


def test_a_crf_learns_from_records(tmp_path: Path) -> None:
    cities = ("가람시", "나루시", "다솜시", "라온시")
    known = [
        Example(id=str(n), inputs={"text": f"{city}에 갔다"}, gold={"spans": [Span(0, 3, "LC")]})
        for n, city in enumerate(cities * 3)
    ]
    write_records(tmp_path / "known.jsonl", known)
    assert tagger_of(tmp_path / "known.jsonl", TYPES)(["나루시에 갔다"]) == [[Span(0, 3, "LC")]]


def test_a_program_answers_line_by_line(program: Path) -> None:
    assert tagger_of(program, TYPES)(["하늘이 왔다", "바다가 왔다"]) == [
        [Span(0, 2, "PS")],
        [Span(0, 2, "PS")],
    ]


def test_of_spans_that_overlap_the_longer_stays() -> None:
    spans = [Span(0, 2, "PS"), Span(1, 5, "LC"), Span(5, 6, "DT"), Span(0, 2, "LC")]
    assert drop_overlaps(spans) == [Span(1, 5, "LC"), Span(5, 6, "DT")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("서울 LC\n", "line 1: is not an entity, tab and type"),
        ("서울\tLC\n부산\tCITY\n", "line 2: 'CITY' is not a type of entity"),
        ("re:(\tLC\n", "line 1: .* is not a regular expression"),
    ],
)
def test_a_wrong_lexicon_is_refused(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(text, "utf-8")
    with pytest.raises(BadInput, match=rf"names\.tsv, {what}"):
        tagger_of(tmp_path / "names.tsv", TYPES)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("pass", "answered 0 lines to 1"),
        ("print('x')", "'x', which is not a list of spans"),
        ("sys.exit('no model')", "exited with status 1: no model"),
        ('print(\'[{"start": 0, "end": 9, "label": "PS"}]\')', "a span 0-9 outside its line"),
        ('print(\'[{"start": 0, "end": 1, "label": "XX"}]\')', "'XX' is not a type"),
    ],
)
def test_a_program_that_fails_is_told(body: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "tagger"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n", "utf-8")
    path.chmod(0o755)
    with pytest.raises(BadInput, match=what):
        tagger_of(path, TYPES)(["하늘"])


def test_files_that_are_no_tagger_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tagger").write_text("서울", "utf-8")
    with pytest.raises(BadInput, match=r"cannot run .*; a tagger is a \.tsv lexicon"):
        tagger_of(tmp_path / "tagger", TYPES)(["하늘"])
    write_records(tmp_path / "known.jsonl", [Example(id="1", inputs={"text": "하늘"})])
    with pytest.raises(BadInput, match="contains no record with gold spans"):
        tagger_of(tmp_path / "known.jsonl", TYPES)
