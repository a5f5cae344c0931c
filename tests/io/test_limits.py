"""What a hostile file may make a reader take: memory and time are measured in a child process.

Every file here is refused in one line that names it, in little memory, and without a traceback; honest
files of any length stream.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from nikawa.errors import BadInput
from nikawa.io.limits import (
    ReadLimits,
    estimate_decoded,
    is_nested_deeper,
    parse_size,
    read_limits,
)
from nikawa.io.lines import open_bytes, read_lines
from nikawa.io.records import read_examples
from nikawa.io.toml import parse_toml, read_toml

GIGABYTE = 10**9
MEGABYTE = 10**6
FOLDER = Path(__file__).parents[2]


PEAK = """
import re, sys
from pathlib import Path
def measure_peak():  # of this program alone: getrusage counts what its parent took before too
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
"""
SERVER = """
import gc, io, json, traceback
from contextlib import redirect_stderr, redirect_stdout
from nikawa.cli.terminal.app import main
for line in sys.stdin:
    sys.argv = ["nikawa", *json.loads(line)]
    gc.collect()
    if "pyarrow" in sys.modules:  # its allocator keeps what the file before took
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    status = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            status = 1
            traceback.print_exc()
        out.flush(), err.flush()
    said = err.buffer.getvalue().decode()
    print(json.dumps([status, said, measure_peak()]), flush=True)
"""
COUNT = """
from nikawa.io.records import read_examples
print(sum(1 for _ in read_examples(Path(sys.argv[1]))), measure_peak())
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(FOLDER / "src")}
QUARTER = {
    ReadLimits().variable(name): str(getattr(ReadLimits(), name) // 4)
    for name in ("document", "line", "decoded", "page", "cells", "values")
}
"""A quarter of the usual limits, so that files that break them are a quarter as long."""
MAX_PEAK = 350 * MEGABYTE
"""The most memory that a refusal may take under these limits: under the usual ones that is 1 GB."""
Refuse = Callable[..., str]


@pytest.fixture(scope="module")
def refuse() -> Iterator[Refuse]:
    """Runs a command in another process; gives the one line with which it refuses a file."""
    with subprocess.Popen(
        [sys.executable, "-c", PEAK + SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, **QUARTER},
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None

        def run(*words: str | Path, file: Path | str, most: int = MAX_PEAK) -> str:
            print(json.dumps(list(map(str, words))), file=questions, flush=True)
            status, said, peak = json.loads(answers.readline())
            assert "Traceback" not in said, said
            assert status == 2, said
            assert len(said.strip().splitlines()) == 1, said
            assert Path(file).name in said
            assert peak < most, f"{peak:,} bytes"
            return str(said)

        yield run
        questions.close()


def count_examples(path: Path) -> tuple[int, int]:
    """How many examples a file has, and the bytes of memory that it took to count them."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK + COUNT, path],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    count, peak = map(int, done.stdout.split())
    return count, peak


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A dataset folder whose items have labels."""
    folder = tmp_path / "own"
    folder.mkdir()
    words = dict.fromkeys(
        ("title", "licence", "citation", "homepage", "description", "labels", "workers", "source"),
        "own",
    )
    card = {"name": "own", "version": "1", "languages": ["ja"], "workers_are": "none", **words}
    (folder / "card.json").write_text(json.dumps(card))
    rows = [
        {"id": str(i), "inputs": {"text": "雨。"}, "gold": {"label": "yes" if i % 2 else "no"}}
        for i in range(10)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "test.jsonl").write_text(text, "utf-8")
    return folder


def write_parquet_bomb(path: Path, form: str) -> None:
    """A small Parquet file that stands for gigabytes."""
    if form == "dictionary":  # one long text, a hundred thousand times
        values = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(np.zeros(100_000, np.int32)), ["a" * 25_000]
        )
        table = pyarrow.table({"id": values, "answer": values})
    elif form == "page":  # one text of 38 MB
        table = pyarrow.table({"id": ["0"], "answer": ["a" * 37_500_000]})
    elif form == "lists":  # one row with a list of 7.5 million
        flat = pyarrow.array(np.zeros(7_500_000, np.int8))
        lists = pyarrow.LargeListArray.from_arrays(pyarrow.array([0, len(flat)]), flat)
        table = pyarrow.table({"id": ["0"], "answer": lists})
    else:  # each text begins as the one before
        table = pyarrow.table({"id": ["a" * 400_000] * 750, "answer": ["yes"] * 750})
        pyarrow.parquet.write_table(
            table,
            path,
            compression="zstd",
            use_dictionary=False,
            column_encoding={"id": "DELTA_BYTE_ARRAY"},
        )
        return
    pyarrow.parquet.write_table(table, path, compression="zstd")


@pytest.mark.parametrize("form", ["dictionary", "page", "lists", "delta"])
def test_a_parquet_file_that_unpacks_to_gigabytes(
    refuse: Refuse, own: Path, tmp_path: Path, form: str
) -> None:
    path = tmp_path / "x.parquet"
    write_parquet_bomb(path, form)
    pyarrow.default_memory_pool().release_unused()
    assert path.stat().st_size < 20 * MEGABYTE
    refuse("score", own, path, file=path, most=GIGABYTE)


@pytest.mark.parametrize("method", ["deflate", "zstd"])
@pytest.mark.parametrize("form", ["spaces", "lists"])
def test_a_log_of_inspect_that_unpacks_to_gigabytes(
    refuse: Refuse, own: Path, tmp_path: Path, method: str, form: str
) -> None:
    # made here: as a parameter it would be in the memory of each test process from start to end
    size = 75 * MEGABYTE
    content = b" " * size if form == "spaces" else b"[" + b"[]," * (size // 10) + b"1]"
    path = tmp_path / "x.eval"
    name = b"samples/1.json"
    if method == "deflate":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name.decode(), content)
    else:
        packed = zstandard.compress(content)
        sizes = struct.pack("<III", 0, len(packed), 100)
        local = b"PK\x03\x04" + struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes
        local += struct.pack("<HH", len(name), 0) + name
        entry = b"PK\x01\x02" + struct.pack("<HHHHHH", 63, 63, 0, 93, 0, 33) + sizes
        entry += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
        end = b"PK\x05\x06" + struct.pack("<HHHH", 0, 0, 1, 1)
        end += struct.pack("<IIH", len(entry), len(local) + len(packed), 0)
        path.write_bytes(local + packed + entry + end)
    del content
    assert path.stat().st_size < 3 * MEGABYTE
    assert "NIKAWA_MAX_" in refuse("score", own, path, file=path)


def pack(data: bytes, suffix: str) -> bytes:
    """Data as the suffix says."""
    if suffix == ".gz":
        return gzip.compress(data, 1)
    if suffix == ".zst":
        return zstandard.compress(data)
    return lzma.compress(data, preset=1) if suffix == ".xz" else data


@pytest.mark.parametrize(
    ("start", "more", "suffix", "size"),
    [
        (b'{"id":"0","answer":"', b"a", "", 60),
        (b'{"id":"0","answer":"', b"a", ".gz", 17),
        (b'{"id":"0","answer":"', b"a", ".zst", 17),
        ('{"id":"0","answer":"😀'.encode(), b"a", "", 17),
        (b'{"id":"0","answer":[', b"[],", "", 17),
        (b"", b"1,2\t", "", 17),
    ],
)
def test_a_line_that_is_too_long(
    refuse: Refuse, own: Path, tmp_path: Path, start: bytes, more: bytes, suffix: str, size: int
) -> None:
    path = tmp_path / f"x.jsonl{suffix}"
    path.write_bytes(pack(start + more * (size * MEGABYTE // len(more)) + b'"}\n', suffix))
    assert "is longer than 16MB" in refuse("score", own, path, file=path)


@pytest.mark.parametrize(
    ("name", "start", "more", "end"),
    [
        ("x.jsonl", b'{"id":"0","answer":[', b"[],", b"1]}\n"),
        ("x.jsonl", b'{"id":"0","answer":[', b'{"a":1},', b"1]}\n"),
        ("x.jsonl", b'{"id":"0","doc":{"a":1},"answer":[', b"[],", b"NaN]}\n"),
        ("x.json", b"[", b"[],", b"1]"),
        ("x.json", b'{"a":[', b'{"a":1},', b"1]}"),
        ("x.json", b'{"samples":[', b"1000,", b"1]}"),
        ("x.csv", b"id,answer", b",ab", b"\n"),
        ("x.tsv", b"id\tanswer", b"\tab", b"\n"),
    ],
)
def test_a_text_that_takes_twenty_times_its_size(
    refuse: Refuse, own: Path, tmp_path: Path, name: str, start: bytes, more: bytes, end: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(start + more * (15 * MEGABYTE // len(more)) + end)
    assert "NIKAWA_MAX_" in refuse("score", own, path, file=path)


@pytest.mark.parametrize("name", ["x.csv", "x.conll"])
def test_a_record_of_endless_lines(refuse: Refuse, own: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "x.csv":
        cell = b',"' + b"a" * 5000 + b'\n"'
        path.write_bytes(b"id,answer\n0,yes" + cell * 3_500 + b"\n")
        words: tuple[str | Path, ...] = ("score", own, path)
    else:
        path.write_bytes(b"# id = 1\n" + "あ\tO\n".encode() * (MEGABYTE // 4))
        words = ("data", "check", path)
    assert "is longer than 16MB" in refuse(*words, file=path)


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".xz"])
def test_a_packed_file_that_does_not_end(
    tmp_path: Path, suffix: str, set_limit: Callable[[str, str], None]
) -> None:
    """Lines that are fine by themselves, and packed a thousandfold: refused long before the end."""
    set_limit("NIKAWA_MAX_RATIO", "100")
    path = tmp_path / f"x.txt{suffix}"
    path.write_bytes(pack((b"a" * 9999 + b"\n") * 28_000, suffix))
    with pytest.raises(BadInput, match=r"unpacks to more than 100 times its size; .*RATIO=200"):
        for _ in read_lines(path):
            pass


def test_xz_that_wants_a_window_of_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.xz"
    with lzma.open(path, "w", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]) as stream:
        stream.write(b"a\n")
    with pytest.raises(BadInput, match="cannot be decompressed"):
        list(read_lines(path))


@pytest.mark.parametrize("count", [1, 3])
def test_xz_streams_follow_each_other(tmp_path: Path, count: int) -> None:
    path = tmp_path / "x.txt.xz"
    path.write_bytes((lzma.compress("雨\n".encode()) + b"\0" * 8) * count)
    assert [line for _, line in read_lines(path)] == ["雨"] * count
    path.write_bytes(lzma.compress("雨\n".encode() * 1000)[:-20])
    with pytest.raises(BadInput, match="cannot be decompressed"):
        list(read_lines(path))


@pytest.mark.parametrize("kind", ["zero", "random", "pipe", "socket"])
def test_what_is_no_file_is_not_opened(
    refuse: Refuse, tmp_path: Path, kind: str, set_limit: Callable[[str, str], None]
) -> None:
    path = tmp_path / "project.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path.symlink_to(f"/dev/{kind}")
    assert "not a regular file" in refuse("collect", "status", tmp_path, file=path)


def test_pipes_given_on_purpose_and_the_null_device(tmp_path: Path) -> None:
    text = "古い橋のそばに小さな店が一軒あたらしく開いたそうだ。\n"
    for words in ('clean - --out "$0"', 'clean <(cat) --out "$0"'):
        out = tmp_path / f"{len(words)}.jsonl"
        line = f"{sys.executable} -m nikawa {words} --language ja"
        done = subprocess.run(
            ["bash", "-c", line, str(out)],
            input=text,
            text=True,
            capture_output=True,
            check=False,
            env=ENVIRONMENT,
        )
        assert done.returncode == 0, done.stderr
        assert out.stat().st_size
    with open_bytes(Path(os.devnull)) as stream:
        assert stream.read() == b""


def test_an_endless_pipe_is_refused(own: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"yes nothing | {sys.executable} -m nikawa agree -"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**ENVIRONMENT, "NIKAWA_MAX_PIPE": "5MB"},
    )
    assert done.returncode == 2
    assert "NIKAWA_MAX_PIPE=10MB" in done.stderr


def test_links_in_a_circle(refuse: Refuse, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.symlink_to("b.txt")
    (tmp_path / "b.txt").symlink_to("a.txt")
    error = refuse("clean", path, "--out", tmp_path / "out.jsonl", file=path)
    assert "symbolic links" in error
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("line", ["null", "[]", '{"example": 3}', "[" * 3000, "{"])
def test_lineage_that_is_none(refuse: Refuse, own: Path, line: str) -> None:
    (own / "lineage.jsonl").write_text(line + "\n")
    refuse("lineage", "test/3", "--in", own, file=own / "lineage.jsonl")


def test_an_index_of_lineage_that_points_nowhere(refuse: Refuse, own: Path) -> None:
    from nikawa.datasets.lineage import _hash

    (own / "lineage.jsonl").write_text("{}\n")
    head = struct.pack(">8sQ", b"nikawa-l", 3)
    entries = sorted(_hash(name) for name in ("test/3", "own:test/3", "3"))
    body = b"".join(struct.pack(">8sQ", each, 1 << 63) for each in entries)
    (own / "lineage.index").write_bytes(head + body)
    refuse("lineage", "test/3", "--in", own, file=own / "lineage.index")


HEADERS = {
    "unclosed": "{'descr': '<f8'( 'fortran_order': False, 'shape': (9, 3),",
    "huge": "{'descr': '<f8', 'fortran_order': False, 'shape': (900000000000, 3), }",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    "large": "{'descr': '<f8', 'fortran_order': False, 'shape': (25000000,), }",
    "none": "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
    "type": "{'descr': [[[]]], 'fortran_order': False, 'shape': (3,), }",
    "deep": "(" * 3000,
    "no dictionary": "3",
}


@pytest.mark.parametrize("form", HEADERS)
def test_numpy_headers_that_lie(refuse: Refuse, own: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.npy"
    header = HEADERS[form].encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + b"\0" * 64)
    refuse("score", own, path, file=path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_arrays_are_read_as_before(tmp_path: Path, order: str) -> None:
    from nikawa.io.answers.ordered import parse_numpy

    array = np.asarray(np.arange(30_000, dtype=np.float32).reshape(-1, 3), order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "x.npy", array)
    assert [row for _, row in parse_numpy(tmp_path / "x.npy")] == array.tolist()


DEEP = 3000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.jsonl", '{"id":"0","answer":' + "[" * DEEP + "]" * DEEP + "}\n"),
        ("x.json", '{"0":' + "[" * DEEP + "]" * DEEP + "}"),
        ("x.json", '{"0":' * DEEP + "1" + "}" * DEEP),
        ("x.json", "[" * DEEP + "]" * DEEP),
        ("x.jsonl", '{"doc_id":1,"doc":{},"resps":' + "[" * DEEP + "]" * DEEP + "}\n"),
        ("x.tsv", "example\tanswer:json\n0\t" + "[" * DEEP + "]" * DEEP + "\n"),
    ],
)
def test_answers_that_nest_too_deeply(
    refuse: Refuse, own: Path, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert "nests too deeply" in refuse("score", own, tmp_path / name, file=name)


TOML = {
    "lists": "a = " + "[" * DEEP + "]" * DEEP,
    "tables": "a = " + "{a=" * DEEP + "1" + "}" * DEEP,
    "dotted": ".".join(["a"] * 100_000) + " = 1",
    "header": "[" + ".".join(["a"] * 100_000) + "]",
}


@pytest.mark.parametrize("form", TOML)
def test_toml_that_nests_too_deeply(refuse: Refuse, tmp_path: Path, form: str) -> None:
    path = tmp_path / "project.toml"
    path.write_text('title = "x"\n' + TOML[form] + "\n")
    with pytest.raises(BadInput, match=r"project\.toml, line 2: nests too deeply"):
        read_toml(path)
    refuse("collect", "status", tmp_path, file=path)


def test_toml_faults_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    for text, line in (("a = 1\nb\n", 2), ("a = " + "1" * 9000, None), ("a = [1,\n2", 2)):
        with pytest.raises(BadInput, match="is not TOML") as caught:
            parse_toml(text, path)
        assert caught.value.line == line
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(BadInput, match="line 2: byte 6 is not UTF-8"):
        read_toml(path)
    assert parse_toml('a.b.c = "x.y.z"', path) == {"a": {"b": {"c": "x.y.z"}}}


def test_toml_that_is_too_long(refuse: Refuse, tmp_path: Path) -> None:
    path = tmp_path / "project.toml"
    with path.open("wb") as stream:
        stream.truncate(3 * GIGABYTE)
    assert "NIKAWA_MAX_SETTINGS=32MB" in refuse("collect", "status", tmp_path, file=path)


def test_limits_are_settings(tmp_path: Path, set_limit: Callable[[str, str], None]) -> None:
    assert read_limits() == ReadLimits()
    set_limit("NIKAWA_MAX_LINE", "1.5GiB")
    assert read_limits().line == 3 << 29
    for bad in ("0", "-1", "many", "5XB", "1e9", "9" * 40):
        with pytest.raises(BadInput, match=r"NIKAWA_MAX_LINE=.* is not a size"):
            parse_size(bad, "NIKAWA_MAX_LINE")
    (tmp_path / "x.jsonl").write_text('{"id":"1","inputs":{"text":"' + "x" * 100_000 + '"}}\n')
    set_limit("NIKAWA_MAX_LINE", "90KB")
    with pytest.raises(BadInput, match="NIKAWA_MAX_LINE=180KB"):
        list(read_examples(tmp_path / "x.jsonl"))
    set_limit("NIKAWA_MAX_LINE", "110KB")
    assert len(list(read_examples(tmp_path / "x.jsonl"))) == 1


def test_depth_is_counted_outside_texts() -> None:
    assert not is_nested_deeper(b'["' + b"[" * 999 + b'"]', 200)
    assert not is_nested_deeper(b"[[],[],[]]" * 999, 2)
    assert is_nested_deeper(b"[" * 300 + b"]" * 300, 200)
    assert is_nested_deeper(b'{"a":[' * 150 + b"1" + b"]}" * 150, 200)


@pytest.mark.parametrize(
    "text", ["[[]]", "[{}]", '[{"a":1}]', '["ab"]', '["あ"]', '["😀aaaaaaaa"]', "[1.5]", "[1000]"]
)
def test_the_estimate_is_above_what_json_takes(text: str) -> None:
    """Measured by what the allocator gives out while many of a value are decoded."""
    import tracemalloc

    import msgspec

    data = ("[" + ",".join([text] * 50_000) + "]").encode()
    tracemalloc.start()
    value = msgspec.json.decode(data)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(value) == 50_000
    assert taken <= estimate_decoded(data) <= 12 * taken


ROW = '{{"id":"{}","inputs":{{"text":"古い橋のそばに小さな店が一軒あったそうだ。{}"}}}}\n'


def test_a_corpus_of_300_megabytes_streams(tmp_path: Path) -> None:
    """Under a limit of memory that it would break if it were held."""
    path = tmp_path / "corpus.jsonl"
    block = "".join(ROW.format(i, "雨" * 300) for i in range(1000)).encode()
    with path.open("wb") as stream:
        for number in range(300 * MEGABYTE // len(block) + 1):
            stream.write(block.replace(b'"id":"', b'"id":"%d-' % number))
    assert path.stat().st_size > 300 * MEGABYTE
    count, peak = count_examples(path)
    assert count >= 300_000
    assert peak < 150 * MEGABYTE


def test_a_parquet_file_of_one_row_group_streams(tmp_path: Path) -> None:
    """As pyarrow writes it by default: all rows in one row group, dictionaries of 1 MB."""
    path = tmp_path / "items.parquet"
    count = 250_000
    table = pyarrow.table(
        {
            "id": [f"item-{number}" for number in range(count)],
            "inputs.text": [f"古い橋のそばに小さな店が一軒あったそうだ。{n}" for n in range(count)],
            "gold.label": ["yes", "no"] * (count // 2),
            "inputs.words": [["古い", "橋", str(number % 1000)] for number in range(count)],
        }
    )
    pyarrow.parquet.write_table(table, path)
    del table
    found, peak = count_examples(path)
    assert found == count
    assert peak < 250 * MEGABYTE, "examples that are all held take 440 MB"
