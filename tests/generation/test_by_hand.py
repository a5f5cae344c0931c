"""Files as editors and spreadsheets write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest

from nikawa.errors import BadInput
from nikawa.generation.pack import load_pack
from nikawa.generation.review import read_review_sheet
from nikawa.io.hand_edited import read_lines, read_rows

Write = Callable[..., Path]
ENCODED: dict[str, Callable[[str], bytes]] = {
    "windows": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "unicode-text": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "big": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "pieces": lambda text: normalize("NFD", text).encode(),
}


@pytest.mark.parametrize("name", ENCODED)
def test_templates_of_any_editor(native: Write, name: str) -> None:
    path = native()
    plain = load_pack(path).templates
    path.write_bytes(ENCODED[name](path.read_text("utf-8")))
    assert load_pack(path).templates == plain


def test_pieces_of_hangul_are_joined_and_kanji_stay(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text(normalize("NFD", "한국 ガギ") + "\ufa19\n", "utf-8")
    assert list(read_lines(path)) == [(1, "한국 ガギ\ufa19")]


@pytest.mark.parametrize("name", ENCODED)
def test_a_sheet_of_any_spreadsheet(tmp_path: Path, name: str) -> None:
    sheet = tmp_path / "sheet.tsv"
    rows = "id\tpremise\tdecision\treason\na\t灯台だ。\tkeep\t\nb\t船だ。\tdrop\tincomplete sentence\nc\t霧だ。\n"
    sheet.write_bytes(ENCODED[name](rows))
    assert [(d.id, d.keep) for d in read_review_sheet(sheet)] == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfea", "starts like UTF-16 but is not UTF-16"),
        ("灯台".encode("cp932"), "line 1: .*cp932"),
        (b"a\0\n", "NUL"),
        (b"", "is empty"),
        (b"id\nx\ty\n", "line 2: has 2 columns, the header has 1"),
    ],
)
def test_what_is_no_text_is_still_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "some.tsv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said):
        list(read_rows(path, ()))
