"""Files as Windows tools write them: a byte order mark before the text, lines ended by CR LF."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path
from shlex import quote

import pytest

from nikawa.errors import BadInput
from nikawa.io.answers.logs import read_samples
from nikawa.io.folders import read_folder, write_card
from nikawa.io.judgements.read import open_judgements, recognise_form, rows_only
from nikawa.io.lines import read_lines, read_whole
from nikawa.io.records import SUFFIXES, read_examples, write_records
from nikawa.records import Card, Example, Judgement, Span

BOM = b"\xef\xbb\xbf"
DRESSES = {
    "both": lambda data: BOM + data.replace(b"\n", b"\r\n"),
    "mark": lambda data: BOM + data,
    "ends": lambda data: data.replace(b"\n", b"\r\n"),
    "mixed": lambda data: data.replace(b"\n", b"\r\n", 1),
}
ODD = "행\r\n끝\ufeff\r"
"""A text whose own CR, LF and U+FEFF are none of the file's."""
TEXTS = [
    Example(id="1", inputs={"text": "港の灯"}, gold={"label": ODD}, meta={ODD: 1}),
    Example(id="\ufeff2", inputs={"text": ODD}, gold={"label": "白"}, tags=frozenset({"a"})),
]
SPANS = [
    Example(id=e.id, inputs={"text": "港の灯"}, gold={"spans": [Span(0, 1, "LC")]}) for e in TEXTS
]
TREE = {"heads": [2, 0], "labels": ["NP", "VP"]}
WORDS = [
    {"form": "배가", "lemma": "배", "pos": "NNG"},
    {"form": "온다", "lemma": "오", "pos": "VV"},
]
TREES = [
    Example(id=e.id, inputs={"text": "배가 온다", "words": WORDS}, gold={"tree": TREE})
    for e in TEXTS
]
KINDS = {".conll": SPANS, ".conllu": TREES}
PLAIN = [suffix for suffix in SUFFIXES if not suffix.endswith((".gz", ".zst", ".parquet"))]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("suffix", PLAIN)
def test_records_are_read_as_any_others(tmp_path: Path, suffix: str, dress: str) -> None:
    path, examples = tmp_path / f"x{suffix}", KINDS.get(suffix, TEXTS)
    write_records(path, examples)
    plain = path.read_bytes()
    path.write_bytes(DRESSES[dress](plain))
    assert list(read_examples(path)) == examples
    write_records(path, list(read_examples(path)), overwrite=True)
    assert path.read_bytes() == plain


def test_packed_records(tmp_path: Path) -> None:
    write_records(tmp_path / "x.jsonl", TEXTS)
    packed = gzip.compress(DRESSES["both"]((tmp_path / "x.jsonl").read_bytes()))
    (tmp_path / "y.jsonl.gz").write_bytes(packed)
    assert list(read_examples(tmp_path / "y.jsonl.gz")) == TEXTS


def test_places_and_ids_of_a_long_file_are_right(tmp_path: Path) -> None:
    """Longer than what is read at a time, so that CR and LF are parted somewhere."""
    rows = [
        f'{{"id":"{n}","inputs":{{"text":"{"港" * (n % 7)}"}}}}\r\n'.encode() for n in range(3000)
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(BOM + b"".join(rows))
    assert [example.id for example in read_examples(path)] == [str(n) for n in range(3000)]
    path.write_bytes(BOM + b"".join([*rows, rows[11]]))
    with pytest.raises(BadInput, match="line 3001: the id '11' is already on line 12"):
        list(read_examples(path))
    path.write_bytes(BOM + b"".join([*rows[:2000], b"{\r\n", *rows[2000:]]))
    with pytest.raises(BadInput, match="line 2001: the JSON is incomplete"):
        list(read_examples(path))


def test_a_mark_inside_a_file_is_told_with_what_takes_it_off(tmp_path: Path) -> None:
    path = tmp_path / "two files.jsonl"
    rows = [f'{{"id":"{n}","inputs":{{}}}}\r\n'.encode() for n in range(2)]
    path.write_bytes(b"".join(BOM + row for row in rows))
    with pytest.raises(BadInput) as caught:
        list(read_examples(path))
    said = (
        f"{path}, line 2: begins with a byte order mark; only the file itself may begin with one; "
    )
    cure = r"sed -i 's/^\xEF\xBB\xBF//' FILE"
    assert str(caught.value) == f"{said}{cure} removes it from every line"
    subprocess.run(["bash", "-c", cure.replace("FILE", quote(str(path)))], check=True)
    assert [example.id for example in read_examples(path)] == ["0", "1"]


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv", ".json"])
def test_judgements(tmp_path: Path, suffix: str) -> None:
    judged = [
        Judgement(example=str(n), worker="w1", question="label", answer="뱃길") for n in range(3)
    ]
    path = tmp_path / f"x{suffix}"
    write_records(path, judged)
    path.write_bytes(DRESSES["both"](path.read_bytes()))
    assert recognise_form(path) == "records"
    assert list(rows_only(open_judgements(path))) == judged


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_logs(tmp_path: Path, name: str) -> None:
    text = '{"a": 1, "b": NaN}\n{"a": 2}\n' if name.endswith("l") else '[{"a": 1},\n{"a": 2}]\n'
    (tmp_path / name).write_bytes(DRESSES["both"](text.encode()))
    assert [(place, sample["a"]) for place, sample in read_samples(tmp_path / name)] == [
        (1, 1),
        (2, 2),
    ]


def test_a_card(tmp_path: Path) -> None:
    card = Card(
        name="bays",
        title="Bays",
        version="1.0",
        languages=("ja",),
        licence="CC0 1.0",
        citation="none",
        homepage="none",
        description="Texts of bays.",
        labels="by hand",
        workers="one",
        workers_are="persons",
        source="invented",
    )
    write_card(card, tmp_path)
    (tmp_path / "card.json").write_bytes(DRESSES["both"]((tmp_path / "card.json").read_bytes()))
    write_records(tmp_path / "dev.jsonl", TEXTS)
    assert read_folder(tmp_path).card == card


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(BOM + "一\r\n\r\n\ufeff二\r三\r\n".encode())
    assert list(read_lines(path)) == [(1, "一"), (2, ""), (3, "\ufeff二\r三")]
    assert read_whole(path) == "一\n\n\ufeff二\r三"
    path.write_bytes(BOM)
    assert list(read_lines(path)) == []
