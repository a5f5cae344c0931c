"""Every way a records file can be broken: one line that names file, line and cure."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from nikawa.errors import BadInput
from nikawa.io.json import read_json
from nikawa.io.lines import read_lines
from nikawa.io.records import read_examples, read_records
from nikawa.io.tsv import read_tsv
from nikawa.records import Card, Example, Prediction

Complain = Callable[[str, bytes], BadInput]

GOOD = '{"id":"1","inputs":{"text":"駅前の橋は青い。"}}\n'.encode()
SECOND = '{"id":"2","inputs":{"text":"다리는 파랗다."}}\n'.encode()


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "is empty"),
        (b"\n", 1, "is empty"),
        (GOOD + b"\n" + SECOND, 2, "is empty"),
        (GOOD + b"  \n", 2, "is empty"),
        (GOOD + '{"id":"2","inputs":{"text":"青い橋"}}\n'.encode("cp932"), 2, "perhaps cp932"),
        (GOOD + '{"id":"2","inputs":{"text":"파란 다리"}}\n'.encode("euc_kr"), 2, "perhaps cp949"),
        (GOOD.decode().encode("utf-16"), 1, "is UTF-16"),
        (b"\xef\xbb\xbf", None, "is empty"),
        (GOOD + b"\xef\xbb\xbf" + SECOND, 2, "begins with a byte order mark"),
        (b"\xef\xbb\xbf" * 2 + GOOD, 1, "begins with a byte order mark"),
        (GOOD.replace(b"\n", b"\r"), 1, "ends in CR;"),
        (GOOD.replace(b"\n", b"\r\n") + b"\r\n", 2, "is empty"),
        (GOOD + b'{"id":"2\0","inputs":{}}\n', 2, "NUL"),
        (GOOD + SECOND[:20], 2, "the JSON is incomplete"),
        (GOOD + b'{"id":2,"inputs":{}}\n', 2, "expected `str`, got `int` at id"),
        (GOOD + b'{"id":"2","inputs":{},"tags":"x"}\n', 2, "expected `array`, got `str` at tags"),
        (GOOD + b'{"id":"2","inputs":{},"gold":{"score":NaN}}\n', 2, "NaN and Infinity"),
        (GOOD + b'{"id":"2","inputs":{},"gold":{"score":-Infinity}}\n', 2, "NaN and Infinity"),
        (GOOD + b'{"id":"2","inputs":{},"gold":{"score":1e999}}\n', 2, "out of range"),
        (GOOD + b'{"id":"2","inputs":{},"colour":"red"}\n', 2, "unknown field `colour`"),
        (GOOD + b'{"id":"2"}\n', 2, "missing required field `inputs`"),
        (b'[{"id":"1"}]\n', 1, "expected `object`, got `array`"),
        (
            GOOD + b'{"id":"2","inputs":{"a":' + b"[" * 9000 + b"]" * 9000 + b"}}\n",
            2,
            "nests too deeply",
        ),
        (GOOD + b'{"id":"2","inputs":{"text":"\\ud800"}}\n', 2, "surrogate"),
        (GOOD + b'{"id":"2","inputs":{"text":"\\udc00"}}\n', 2, "surrogate"),
        (GOOD + b"hello\n", 2, "is not JSON"),
        (GOOD + SECOND + GOOD, 3, "'1' is already on line 1"),
        (
            '{"id":"1","inputs":{"text":"橋"},"gold":{"spans":[{"start":0,"end":2,"label":"LC"}]}}'.encode(),
            1,
            "span 0-2 is outside the text of 1 characters",
        ),
        (b'{"id":"1","inputs":{"text":"a"},"gold":{"spans":"x"}}', 1, "a span cannot be read"),
        (
            b'{"id":"1","inputs":{"text":"a","subject":{"start":-1,"end":1,"label":"PER"}}}',
            1,
            "outside the text",
        ),
    ],
)
def test_json_lines(complain: Complain, data: bytes, line: int | None, words: str) -> None:
    problem = complain("x.jsonl", data)
    assert words in str(problem)
    assert problem.line == line


@pytest.mark.parametrize(
    ("text", "encoding", "guess"),
    [
        ("青い橋を渡る。", "cp932", "cp932"),
        ("東橋", "cp932", "cp932"),
        ("青い橋を渡る。", "euc_jp", "euc-jp"),
        ("파란 다리를 건넌다.", "cp949", "cp949"),
        ("뷁이 다리를 건넌다.", "cp949", "cp949"),
        ("ㅋㅋ 파란 다리를 건넌다.", "cp949", "cp949"),
    ],
)
def test_the_encoding_is_guessed_by_its_letters(
    complain: Complain, text: str, encoding: str, guess: str
) -> None:
    problem = complain("x.jsonl", f'{{"id":"1","inputs":{{"text":"{text}"}}}}\n'.encode(encoding))
    assert problem.cure == f"convert it, e.g. with iconv -f {guess} -t UTF-8"


def test_bytes_of_no_encoding_get_no_advice_to_convert(complain: Complain) -> None:
    problem = complain("x.jsonl", b'{"id":"\xff\xfe\xfd","inputs":{}}')
    assert "a damaged file?" in str(problem)
    assert "iconv" not in str(problem)


def test_text_about_nan_is_not_taken_for_nan(complain: Complain) -> None:
    assert "unknown field" in str(
        complain("x.jsonl", b'{"id":"1","inputs":{"text":"a: NaN"},"x":1}')
    )


def test_a_bare_nan_in_a_document(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{\n "name": "a NaN",\n "version": NaN}')
    with pytest.raises(BadInput, match=r"card\.json, line 3: NaN and Infinity are not JSON"):
        read_json(tmp_path / "card.json", Card)


def test_last_line_without_line_feed(tmp_path: Path) -> None:
    """JSON tells its own end; a published table may end so, and says so to the reader of tables."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + SECOND[:-1])
    assert [example.id for example in read_examples(tmp_path / "x.jsonl")] == ["1", "2"]
    (tmp_path / "x.tsv").write_bytes(b"a\tb\n1\t2")
    assert list(read_tsv(tmp_path / "x.tsv")) == [(2, {"a": "1", "b": "2"})]


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv", ".conll", ".json", ".jsonl.gz", ".jsonl.zst"])
def test_a_line_that_does_not_end(
    complain: Complain, set_limit: Callable[[str, str], None], suffix: str
) -> None:
    set_limit("NIKAWA_MAX_LINE", "1MiB")
    set_limit("NIKAWA_MAX_DOCUMENT", "1MiB")
    data = b'{"id":"1","inputs":{"text":"' + b"x" * (1 << 21)
    if suffix.endswith(".gz"):
        data = gzip.compress(data)
    elif suffix.endswith(".zst"):
        data = zstandard.compress(data)
    problem = str(complain(f"x{suffix}", data))
    assert (
        "is longer than 1MiB; write one record per line, or raise the limit with NIKAWA_MAX_LINE=2MiB if you trust the file"
        in problem
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_document_that_is_too_long(
    tmp_path: Path, set_limit: Callable[[str, str], None], suffix: str
) -> None:
    set_limit("NIKAWA_MAX_DOCUMENT", "1MiB")
    data = b"[\n" + GOOD * (1 << 15) + b"]"
    (tmp_path / f"x.json{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    with pytest.raises(
        BadInput,
        match="is one document of more than 1MiB; convert it to JSON lines, or raise the limit with NIKAWA_MAX_DOCUMENT=2MiB",
    ):
        read_json(tmp_path / f"x.json{suffix}", object)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file; check the path"):
        list(read_examples(tmp_path / "none.jsonl"))


def test_folder_instead_of_file(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").mkdir()
    with pytest.raises(BadInput, match="is a folder, not a file"):
        list(read_examples(tmp_path / "x.jsonl"))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_file_cut_short(complain: Complain, suffix: str) -> None:
    whole = GOOD + b"".join(GOOD.replace(b'"1"', b'"%d"' % n) for n in range(2, 3000))
    packed = gzip.compress(whole) if suffix == ".gz" else zstandard.compress(whole)
    assert "cannot be decompressed" in str(complain(f"x.jsonl{suffix}", packed[:-9]))
    assert "cannot be decompressed" in str(complain(f"x.jsonl{suffix}", packed[: len(packed) // 2]))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_file_that_is_not(complain: Complain, suffix: str) -> None:
    assert "cannot be decompressed" in str(complain(f"x.jsonl{suffix}", GOOD))
    assert "is empty" in str(complain(f"y.jsonl{suffix}", b""))


def test_zstd_frames_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(zstandard.compress(GOOD) + zstandard.compress(SECOND))
    assert [example.id for example in read_examples(path)] == ["1", "2"]


def test_unknown_suffix(complain: Complain) -> None:
    assert "has the unknown suffix '.xlsx'; use .jsonl" in str(complain("x.xlsx", b"x"))


def test_only_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("one\u2028still one\x85still\x0bstill\ntwo", "utf-8")
    assert [number for number, _ in read_lines(path)] == [1, 2]


def test_prediction_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"example":"1","answer":"a"}\n{"example":"1","answer":"b"}\n')
    with pytest.raises(BadInput, match="line 2: the id '1' is already on line 1"):
        list(read_records(path, Prediction))


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "is empty"),
        (b"id\tinputs.text\n", None, "holds no records"),
        (b"id\tinputs.text\n1\n", 2, "has 1 columns, the header has 2"),
        (b"id\tinputs.text\n1\ta\tb\n", 2, "has 3 columns, the header has 2"),
        (b"id\tid\n1\t2\n", 1, "column 'id' occurs twice"),
        (b"id\tcolour\n1\tred\n", None, "unknown column 'colour'"),
        (b"id\tgold.label\n1\tx\n", None, "column 'inputs.NAME' is missing"),
        (b"inputs.text\nx\n", None, "column 'id' is missing"),
        (b"id:json\tinputs.text\n1\tx\n", 2, "expected `str`, got `int` at id"),
        (b"id\tinputs.text\n\\N\tx\n", 2, "missing required field `id`"),
        (b"id\tinputs.n:json\n1\tNaN\n", 2, "NaN and Infinity are not JSON"),
        (b"id\tinputs.n:json\n1\t[1\n", 2, "the JSON is incomplete"),
        (b"id\tinputs.text\n1\ta\\x\n", 2, "is not an escape"),
        (b"id\tinputs.text\n1\tx\n1\ty\n", 3, "'1' is already on line 2"),
        (b"id\tinputs.text\n1\tx\n2\ty", 3, "ends in the middle of a line"),
        (b"id\tinputs.te", 1, "ends in the middle of a line"),
        (b"id\tinputs.text\tinputs.text:json\n1\tx\t1\n", 1, "column 'inputs.text' occurs twice"),
        (b"id\tinputs.n:json\n1\t-Infinity\n", 2, "NaN and Infinity are not JSON"),
        (b"id\tinputs.n:json\n1\t{1}\n", 2, "is not JSON (JSON is malformed"),
    ],
)
def test_tables(complain: Complain, data: bytes, line: int | None, words: str) -> None:
    problem = complain("x.tsv", data)
    assert words in str(problem)
    assert problem.line == line


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[]", "holds no records"),
        (b"[1]", "expected `object`, got `int` at [0]"),
        (
            b'[{"id":"1","inputs":{}},{"id":"1","inputs":{}}]',
            "record 2: the id '1' is already on record 1",
        ),
        (b'[\n{"id":"1","inputs":{}},\n{"id":', "the JSON is incomplete"),
        (b'[\n{"id":"1" "inputs":{}}]', "line 2: is not JSON"),
    ],
)
def test_json_arrays(complain: Complain, data: bytes, words: str) -> None:
    assert words in str(complain("x.json", data))


def test_json_lines_under_the_suffix_of_json(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(GOOD + SECOND)
    assert [example.id for example in read_examples(tmp_path / "x.json")] == ["1", "2"]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        ("", None, "is empty"),
        ("\n", 1, "is empty"),
        ("# id = 1\n橋\tO\n", 2, "ends in the middle of an example"),
        ("# id = 1\n橋\tO\tO\n\n", 2, "has 3 columns, not 2"),
        ("# id = 1\n石橋\tO\n\n", 2, "is not one character"),
        ("# id = 1\n橋\tI-LC\n\n", 2, "follows no B"),
        ("# id = 1\n石\tB-LC\n橋\tI-OG\n\n", 3, "follows no B of its label"),
        ("# id = 1\n橋\tX\n\n", 2, "is not O, B-LABEL or I-LABEL"),
        ("# id = 1\n橋\t_\n石\tO\n\n", 2, "is not O, B-LABEL or I-LABEL"),
        ("橋\tO\n\n", 1, "has no `# id = ` line"),
        ("# id = 1\n# id = 2\n橋\tO\n\n", 2, "repeated header 'id'"),
        ("# colour = 1\n橋\tO\n\n", 1, "unknown header 'colour'"),
        ("# id = 1\n# meta = [1]\n橋\tO\n\n", 1, "expected `object`, got `array` at meta"),
        ("# id = 1\n# inputs = [1]\n橋\tO\n\n", 1, "expected `object`, got `array`"),
        ("# id = 1\nstray\n橋\tO\n\n", 2, "neither a row nor"),
        ("# id = 1\n\\q\tO\n\n", 2, "is not an escape"),
    ],
)
def test_conll(complain: Complain, data: str, line: int | None, words: str) -> None:
    problem = complain("x.conll", data.encode())
    assert words in str(problem)
    assert problem.line == line


ROW = "1\t橋\t橋\t_\tNN\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (f"# sent_id = 1\n# text = 橋\n{ROW[:-3]}\n\n", 3, "has 9 columns, not 10"),
        (
            f"# sent_id = 1\n# text = 橋\n{ROW.replace('1', '1-2', 1)}\n",
            3,
            "word '1-2' should be 1",
        ),
        (f"# sent_id = 1\n# text = 橋\n{ROW.replace('0', '2')}\n", 3, "head '2' is not a word"),
        (f"# sent_id = 1\n{ROW}\n", 1, "has no `# text = ` line"),
        (f"# text = 橋\n{ROW}\n", 1, "has no `# sent_id = ` line"),
    ],
)
def test_conllu(complain: Complain, data: str, line: int, words: str) -> None:
    problem = complain("x.conllu", data.encode())
    assert words in str(problem)
    assert problem.line == line


@pytest.mark.parametrize("suffix", [".conll", ".conllu"])
def test_blocks_hold_examples_only(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"x{suffix}").write_text("x")
    with pytest.raises(BadInput, match="holds examples, not predictions"):
        list(read_records(tmp_path / f"x{suffix}", Prediction))


def test_card_with_an_unknown_field(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"name": "x",\n "colour": 1}')
    with pytest.raises(BadInput, match="unknown field `colour`"):
        read_json(tmp_path / "card.json", Card)


def test_faults_name_no_gold(complain: Complain) -> None:
    problem = complain("x.jsonl", b'{"id":"1","inputs":{},"gold":{"label":"secret"},"x":1}')
    assert "secret" not in str(problem)
    assert Example(id="1", inputs={}).gold == {}
