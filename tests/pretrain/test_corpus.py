"""Raw text: documents, broken and giant lines, folders and packed files; memory stays flat."""

from __future__ import annotations

import gzip
import json
import lzma
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.corpus import (
    CHUNK_CHARS,
    MAX_LINE_BYTES,
    chunk_lines,
    find_sources,
)
from nikawa.pretrain.prepare import FileReport


def lines_of(*paths: Path, key: str = "text", table: Path | None = None) -> list[tuple[str, str]]:
    return [
        (line.document, line.text)
        for source in find_sources(paths, key, table)
        for line in source.read()
    ]


def test_a_blank_line_parts_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("一つ目\n続き\n\n\n二つ目\r\n", "utf-8")
    found = lines_of(path)
    assert [text for _, text in found] == ["一つ目", "続き", "二つ目"]
    assert found[0][0] == found[1][0] != found[2][0]


def test_a_table_parts_documents_and_blank_lines_do_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n二\n\n三\n四\n", "utf-8")
    (tmp_path / "t.tsv").write_text("0\t1\tx\n1\t3\tx\n4\t1\ty\n", "utf-8")
    found = lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")
    assert len({document for document, _ in found}) == 3
    assert found[1][0] == found[2][0]


def test_a_row_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n", "utf-8")
    (tmp_path / "t.tsv").write_text("0\t1\tx\nfirst\t1\tx\n", "utf-8")
    with pytest.raises(BadInput, match=r"t\.tsv, line 2: .*separated by tabs"):
        lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")


def test_a_table_of_another_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n二\n", "utf-8")
    (tmp_path / "a.jsonl").write_text('{"text": "一"}\n', "utf-8")
    (tmp_path / "t.tsv").write_text("0\t1\tx\n7\t3\tx\n", "utf-8")
    with pytest.raises(
        BadInput,
        match=r"a\.txt: has 2 lines, but according to t\.tsv a document begins in line 8; pass",
    ):
        lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")
    with pytest.raises(BadInput, match=r"t\.tsv: a table of sources describes one plain-text file"):
        lines_of(tmp_path / "a.jsonl", table=tmp_path / "t.tsv")


@pytest.mark.parametrize("order", [1, -1])
def test_rows_that_overlap_are_refused(order: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n二\n三\n", "utf-8")
    (tmp_path / "t.tsv").write_text("\n".join(["0\t2\tx", "1\t2\ty"][::order]) + "\n", "utf-8")
    told = (
        r"t\.tsv, line 2: begins at 1, which the row in line 1 already covers"
        if order > 0
        else r"line 1: .*in line 2"
    )
    with pytest.raises(BadInput, match=told):
        lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")
    (tmp_path / "t.tsv").write_text("0\t2\tx\n2\n", "utf-8")
    with pytest.raises(BadInput, match=r"t\.tsv, line 2: is not a row of sources"):
        lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")


def test_lines_that_no_row_holds_are_counted_and_most_of_them_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n二\n\n三\n四\n五\n", "utf-8")
    (tmp_path / "t.tsv").write_text("0\t2\tx\n4\t1\ty\n", "utf-8")
    (source,) = find_sources([tmp_path / "a.txt"], table=tmp_path / "t.tsv")
    assert len(list(source.read())) == 5
    assert source.outside == FileReport.of(source).outside == 2, "the blank line is no text"
    (tmp_path / "t.tsv").write_text("0\t2\tx\n", "utf-8")
    with pytest.raises(
        BadInput, match=r"a\.txt: has 5 lines of text, but t\.tsv covers only 2; pass the table"
    ):
        lines_of(tmp_path / "a.txt", table=tmp_path / "t.tsv")
    (plain,) = find_sources([tmp_path / "a.txt"])
    assert len(list(plain.read())) == 5
    assert b"outside" not in msgspec.json.encode(FileReport.of(plain))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_with_the_way_to_convert_it(encoding: str, tmp_path: Path) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    (tmp_path / "a.txt").write_bytes(f"{mark}古い橋を渡った。\n雨が降っていた。\n".encode(encoding))
    with pytest.raises(
        BadInput,
        match=r"a\.txt, line 1: is UTF-16; convert it, e\.g\. with iconv -f UTF-16 -t UTF-8",
    ):
        lines_of(tmp_path / "a.txt")


def test_records_are_documents(tmp_path: Path) -> None:
    rows = [{"body": "첫째 줄\n둘째 줄"}, {"body": "다른 글"}]
    text = "".join(json.dumps(row) + "\n" for row in rows) + "{broken\n"
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (source,) = find_sources([tmp_path / "a.jsonl.gz"], "body")
    found = list(source.read())
    assert [line.text for line in found] == ["첫째 줄", "둘째 줄", "다른 글"]
    assert found[0].document == found[1].document != found[2].document
    assert source.broken.places == ["a.jsonl.gz:3"]


def test_a_record_without_the_field_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"txet": "x"}\n', "utf-8")
    with pytest.raises(BadInput, match=r"a\.jsonl, line 1: .*'text'.*--field.*'txet'"):
        lines_of(tmp_path / "a.jsonl")


def test_a_record_whose_field_holds_no_text_is_counted(tmp_path: Path) -> None:
    """Dumps have empty rows; the field is the right one."""
    rows = [
        '\ufeff{"text": "一"}',
        '{"text": null}',
        '{"text": 5}',
        '{"text": ""}',
        '{"text": "二"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), "utf-8")
    (source,) = find_sources([tmp_path / "a.jsonl"])
    assert [line.text for line in source.read()] == ["一", "二"]
    assert source.broken.places == ["a.jsonl:2", "a.jsonl:3"]


def test_records_that_mostly_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "一"}\n' * 5 + "plain\n" * 100, "utf-8")
    with pytest.raises(
        BadInput, match=r"a\.jsonl, line 6: most of its lines are not JSON .*one JSON object"
    ):
        lines_of(tmp_path / "a.jsonl")


def test_lines_that_are_not_utf8_are_counted_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(
        "良い行\n".encode() * 50 + b"\xff\xfe broken\n" + "次の行\n".encode() + b"\x80"
    )
    (source,) = find_sources([path])
    assert len(list(source.read())) == 51
    assert (source.broken.count, source.broken.places) == (2, ["a.txt:51", "a.txt:53"])


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("古い橋のそばに小さな店があった。\n".encode("cp932") * 100)
    with pytest.raises(BadInput, match=r"not UTF-8; convert it, e\.g\. with iconv -f cp932"):
        lines_of(path)


def test_a_giant_line_is_cut_at_sentence_ends_in_flat_memory(tmp_path: Path) -> None:
    sentence = "長い長い一行の中で、猫が橋を渡った。"
    path = tmp_path / "a.txt.xz"
    whole = sentence * 200_000
    path.write_bytes(lzma.compress(whole.encode(), preset=0))
    (source,) = find_sources([path])
    tracemalloc.start()
    size = sum(_check(line.text, sentence) for line in source.read())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == len(whole)
    assert source.cut > 10
    assert len({line.document for line in source.read()}) > 10
    assert peak < 12 * MAX_LINE_BYTES


def _check(text: str, sentence: str) -> int:
    assert text.endswith("。")
    assert text.startswith(sentence)
    return len(text)


def test_a_giant_line_without_any_end_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("あ" * MAX_LINE_BYTES, "utf-8")
    found = [text for _, text in lines_of(path)]
    assert len(found) > 1
    assert "".join(found) == "あ" * MAX_LINE_BYTES


def test_a_giant_record_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nikawa.pretrain.corpus.MAX_RECORD_BYTES", MAX_LINE_BYTES)
    (tmp_path / "a.jsonl").write_text(
        f'{{"text": "一"}}\n{{"text": "{"長い" * MAX_LINE_BYTES}"}}\n{{"text": "二"}}\n', "utf-8"
    )
    (source,) = find_sources([tmp_path / "a.jsonl"])
    assert [line.text for line in source.read()] == ["一", "二"]
    assert set(source.broken.places) == {"a.jsonl:2"}


def test_documents_without_end_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{n}番目の行\n" for n in range(2500)), "utf-8")
    assert len({document for document, _ in lines_of(path)}) == 3


def test_folders_are_searched_and_names_told_apart(tmp_path: Path) -> None:
    for name in ("x/a.txt", "y/a.txt", "y/b.jsonl", "y/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            '{"text": "글"}\n' if name.endswith("jsonl") else "글\n", "utf-8"
        )
    assert len(lines_of(tmp_path)) == 3
    assert len({document for document, _ in lines_of(tmp_path)}) == 3
    with pytest.raises(BadInput, match="passed twice"):
        lines_of(tmp_path, tmp_path / "x")
    (tmp_path / "z").mkdir()
    with pytest.raises(BadInput, match=r"contains no text files; add files that end in \.txt"):
        lines_of(tmp_path / "z")
    with pytest.raises(BadInput, match="no such file"):
        lines_of(tmp_path / "none.txt")


def test_chunks_are_cut_by_content_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{n} {'あ' * 999}\n" for n in range(1000)), "utf-8")
    (source,) = find_sources([path])
    found = list(chunk_lines(source.read()))
    assert [len(chunk) for chunk in found[:-1]] == [len(found[0])] * (len(found) - 1)
    assert sum(len(line.text) for line in found[0]) >= CHUNK_CHARS
