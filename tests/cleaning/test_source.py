"""Files of text: encodings told or refused, packed files, JSON lines, very long lines."""

from __future__ import annotations

import codecs
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest
import zstandard

from nikawa.cleaning import documents as source
from nikawa.cleaning.documents import add_origins, read_documents, read_origins, sample_text
from nikawa.cleaning.encoding import detect_language, find_encoding
from nikawa.errors import BadInput

JA = "古い橋のそばに小さな店があった。\n店の主人は毎朝はやく起きて、庭の花に水をやる。\n"
KO = "낡은 다리 옆에 작은 가게가 있었다.\n주인은 아침마다 일찍 일어나 꽃에 물을 준다.\n"


def lines(path: Path, encoding: str | None = None) -> list[str]:
    return [d.text for d in read_documents(path, path.name, sample_text(path, encoding)[0])]


@pytest.mark.parametrize(
    ("text", "encoding", "told"),
    [
        (JA, "utf-8", "utf-8"),
        (JA, "utf-8-sig", "utf-8-sig"),
        (JA, "shift_jis", "cp932"),
        (JA, "euc-jp", "euc-jp"),
        (JA, "iso2022_jp", "iso2022_jp"),
        (JA, "utf-16", "utf-16"),
        (JA, "utf-16-le", "utf-16-le"),
        (JA, "utf-16-be", "utf-16-be"),
        (KO, "utf-8", "utf-8"),
        (KO, "euc-kr", "cp949"),
        (KO, "cp949", "cp949"),
        (KO, "utf-16", "utf-16"),
        (KO, "utf-16-le", "utf-16-le"),
        ("똠방각하가 왔다고 한다.\n펲시를 마셨다.\n", "cp949", "cp949"),
        ("①番の㈱青空が橋を直した。\n", "cp932", "cp932"),
    ],
)
def test_encodings_are_told(tmp_path: Path, text: str, encoding: str, told: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes((text * 30).encode(encoding))
    assert sample_text(path, None)[0] == told
    assert lines(path) == (text * 30).splitlines()


def test_what_cannot_be_told_is_refused_with_a_cure(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Café crème brûlée à la carte\n".encode("latin-1"))
    with pytest.raises(BadInput, match="--encoding"):
        sample_text(path, None)
    assert lines(path, "latin-1") == ["Café crème brûlée à la carte"]
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(BadInput, match="NUL bytes"):
        sample_text(path, None)


def test_utf16_without_any_line_break(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    for encoding, text in (
        ("utf-16-le", JA),
        ("utf-16-be", JA),
        ("utf-16-be", KO.replace(" ", "").replace(".", "。")),
    ):
        path.write_bytes((text * 30).replace("\n", "").encode(encoding))
        assert sample_text(path, None)[0] == encoding


def test_a_nul_does_not_turn_utf8_into_utf16(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    for text in (JA, KO):
        raw = (text * 30).encode()
        path.write_bytes(raw.replace(b"\n", b"\0\n", 1))
        assert sample_text(path, None)[0] == "utf-8"


@pytest.mark.parametrize("text", [JA, KO])
def test_damaged_and_mixed_text_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    path, raw = tmp_path / "text.txt", (text * 10).encode()
    other = (text * 10).encode("cp932" if text is JA else "cp949")
    first = text.encode()
    for damaged, line in (
        (first + b"\xff" + raw, 3),
        (raw[:-3], 20),
        (raw + other, 21),
        (first + raw[:1] + b"\n" + raw, 3),
    ):
        path.write_bytes(damaged)
        with pytest.raises(BadInput, match="is not UTF-8") as told:
            sample_text(path, None)
        assert told.value.line == line


def test_a_wrong_or_unknown_encoding(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(JA.encode() + b"\xff\xfe\n")
    with pytest.raises(BadInput, match=r"text.txt, line 3: .*utf-8") as caught:
        lines(path, "utf-8")
    assert "--encoding" in caught.value.cure
    with pytest.raises(BadInput, match="no encoding"):
        find_encoding("klingon")
    with pytest.raises(BadInput, match="no encoding"):
        find_encoding("base64")
    assert find_encoding("EUC-KR") == "cp949"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp932"])
def test_a_character_across_blocks(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_BLOCK_BYTES", 7)
    path = tmp_path / "text.txt"
    path.write_bytes((JA * 3).encode(encoding))
    assert lines(path) == (JA * 3).splitlines()


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".xz"])
def test_packed_files(tmp_path: Path, suffix: str) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": zstandard.compress,
        ".xz": lzma.compress,
    }
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(packs[suffix](KO.encode("cp949")))
    assert lines(path) == KO.splitlines()


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".xz"])
def test_a_broken_packed_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(b"this is not packed")
    with pytest.raises(BadInput, match="cannot be decompressed"):
        sample_text(path, None)
    if suffix == ".xz":
        path.write_bytes(lzma.compress(KO.encode() * 1000)[:-20])
        with pytest.raises(BadInput, match="cannot be decompressed"):
            lines(path)


def test_line_ends_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("하나\r\n\r\n  \n둘".encode())
    assert [(d.line, d.text) for d in read_documents(path, "t", "utf-8")] == [
        (1, "하나"),
        (4, "둘"),
    ]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "articles.jsonl"
    rows = [
        {"id": 7, "text": "橋。", "licence": "CC0", "source": "a"},
        {"title": "海", "text": "店。\n花。"},
        {"id": "x:1:0", "inputs": {"text": "庭。"}, "meta": {"source": "b", "licence": "CC BY"}},
    ]
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    found = list(read_documents(path, "a", "utf-8"))
    assert [(d.name, d.id, d.text, d.source, d.licence) for d in found] == [
        ("a:1", "7", "橋。", "a", "CC0"),
        ("a:2", "海", "店。\n花。", "", ""),
        ("a:3", "x:1:0", "庭。", "b", "CC BY"),
    ]
    with pytest.raises(BadInput, match=r"line 1: has no text in the field 'body'.*--field"):
        list(read_documents(path, "a", "utf-8", "body"))
    path.write_text('{"text": 3}\n', "utf-8")
    with pytest.raises(BadInput, match="no text"):
        list(read_documents(path, "a", "utf-8"))
    path.write_text('{"text": \n', "utf-8")
    with pytest.raises(BadInput, match="line 1"):
        list(read_documents(path, "a", "utf-8"))


def test_a_long_document_is_cut_at_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_DOCUMENT_CHARS", 40)
    text = "橋が開いた。" * 30
    path = tmp_path / "t.txt"
    path.write_text(text, "utf-8")
    found = list(read_documents(path, "t", "utf-8"))
    assert "".join(d.text for d in found) == text
    assert all(d.text.endswith("。") and len(d.text) <= 40 for d in found)
    assert [text[d.base : d.base + len(d.text)] for d in found] == [d.text for d in found]
    path.write_text("あ" * 100, "utf-8")
    assert "".join(d.text for d in read_documents(path, "t", "utf-8")) == "あ" * 100


def test_language(tmp_path: Path) -> None:
    assert detect_language(JA, tmp_path) == "ja"
    assert detect_language(KO, tmp_path) == "ko"
    assert detect_language(normalize("NFD", KO), tmp_path) == "ko"
    assert detect_language(normalize("NFD", JA), tmp_path) == "ja"
    with pytest.raises(BadInput, match="--language"):
        detect_language("only Latin", tmp_path)
    with pytest.raises(BadInput, match="is empty"):
        detect_language(" \n", tmp_path)


def test_origins(tmp_path: Path) -> None:
    path, table = tmp_path / "t.txt", tmp_path / "t.tsv"
    path.write_text("하나\n둘\n셋\n넷\n", "utf-8")
    table.write_text("0\t2\twiki\tCC BY-SA 3.0\n3\t1\tlaw\n", "utf-8")
    found = list(add_origins(read_documents(path, "t", "utf-8"), "t", read_origins(table)))
    assert [(d.id, d.source, d.licence) for d in found] == [
        ("t:1", "wiki", "CC BY-SA 3.0"),
        ("t:1", "wiki", "CC BY-SA 3.0"),
        ("", "", ""),
        ("t:4", "law", ""),
    ]
    for bad, why in (
        ("0\t2\n", "line 1: is not a row"),
        ("0\t2\ta\n1\t1\tb\n", "line 2: starts before"),
    ):
        table.write_text(bad, "utf-8")
        with pytest.raises(BadInput, match=why):
            read_origins(table)


def test_boms_of_all_kinds_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(codecs.BOM_UTF16_BE + KO.encode("utf-16-be"))
    assert lines(path) == KO.splitlines()


def test_a_line_without_end_is_refused(
    tmp_path: Path, set_limit: Callable[[str, str], None]
) -> None:
    path = tmp_path / "endless.txt"
    path.write_text("短い。\n" + "雨が降る。" * 40_000, "utf-8")
    assert [number for number, _ in source.read_text_lines(path, "utf-8")] == [1, 2]
    set_limit("NIKAWA_MAX_LINE", "256KiB")
    with pytest.raises(BadInput, match="line 2: is longer than"):
        list(source.read_text_lines(path, "utf-8"))
