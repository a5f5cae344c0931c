"""Every way an answer file can be broken: one line that names file, line or record, and cure."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from nikawa.errors import BadInput
from nikawa.io.answers import Answers

Complain = Callable[..., BadInput]
Read = Callable[..., Answers]
GOOD = '{"id":"100","answer":"entailment"}\n'


def _workbook() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr("xl/workbook.xml", "<workbook/>")
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "line", "words"),
    [
        ("x.jsonl", "", None, "is empty"),
        ("x.jsonl", "\n\n", None, "is empty"),
        ("x.jsonl", GOOD + "\n" + GOOD, 2, "is empty"),
        ("x.jsonl", GOOD + '{"id":"101","ans', 2, "the JSON is incomplete"),
        ("x.jsonl", GOOD + "neutral\n", 2, "is not JSON"),
        ("x.jsonl", GOOD + '["101","neutral"]\n', 2, "expected `object`, got `array`"),
        ("x.jsonl", GOOD + '{"id":"101","answer":NaN}\n', 2, "NaN and Infinity"),
        ("x.jsonl", "neutral\n", 1, "is not JSON"),
        ("x.jsonl", GOOD.encode() + b"\xef\xbb\xbf" + GOOD.encode(), 2, "byte order mark"),
        ("x.jsonl", GOOD.encode("utf-16"), 1, "is UTF-16"),
        ("x.jsonl", GOOD.replace("\n", "\r"), 1, "ends in CR"),
        ("x.jsonl", GOOD + '{"id":"101","answer":"a\0"}\n', 2, "NUL"),
        (
            "x.jsonl",
            GOOD.encode() + '{"id":"101","answer":"中立"}\n'.encode("cp932"),
            2,
            "perhaps cp932",
        ),
        ("x.jsonl", GOOD + '{"answer":"neutral"}\n', 2, "has no id (its fields are: answer)"),
        (
            "x.jsonl",
            GOOD + '{"id":"101","anser":"neutral"}\n',
            2,
            "has no answer (its fields are: id, anser)",
        ),
        (
            "x.jsonl",
            GOOD + '{"id":"101","answer":"a","pred":"b"}'.replace("answer", "prediction") + "\n",
            2,
            "has both 'prediction' and 'pred'",
        ),
        ("x.jsonl", '{"id":"1","answer":"a","pred":"b"}\n', 1, "has both 'answer' and 'pred'"),
        (
            "x.jsonl",
            GOOD + '{"id":1.5,"answer":"neutral"}\n',
            2,
            "the id 1.5 is neither a text nor a whole number",
        ),
        ("x.jsonl", GOOD + '{"id":"","answer":"neutral"}\n', 2, "the id '' is neither a text"),
        (
            "x.jsonl",
            GOOD + GOOD.replace("entail", "contra"),
            2,
            "id '100' has a different answer on line 1",
        ),
        ("x.jsonl", '{"id":"100","scores":[0.1,0.2]}\n', 1, "the scores have no names"),
        ("x.jsonl", '{"id":"100","scores":{"perhaps":1}}\n', 1, "the scores name 'perhaps'"),
        (
            "x.jsonl",
            '{"id":"100","scores":{"neutral":"high"}}\n',
            1,
            "the score of 'neutral' is 'high'",
        ),
        ("x.jsonl", '{"id":"100","scores":0.5}\n', 1, "the scores are not numbers by label"),
        ("x.json", "[1, 2", None, "the JSON is incomplete"),
        ("x.json", '{"100": "neutral",\n"101" "neutral"}', 2, "is not JSON"),
        ("x.json", "{}", None, "holds no answers"),
        ("x.json", "3", None, "is one JSON value, not answers"),
        (
            "x.json",
            '{"100":"neutral","101":"neutral","100":"entailment"}',
            None,
            "record 3: the id '100' has a different answer on record 1",
        ),
        ("x.json", '[{"id":"100","answer":"neutral"},3]', None, "record 2: is not an object"),
        ("x.json", '["neutral"]', None, "has 1 answers without ids, but the split has 3 examples"),
        ("x.json", "[]", None, "has 0 answers without ids"),
        (
            "x.json",
            '{"100":[{"text":"a"}],"101":[{"text":"b"},4]}',
            None,
            "record 2: '101' is not a list of texts",
        ),
        ("x.csv", "id;answer\n100;neutral\n", 1, "is separated by semicolons"),
        (
            "x.xlsx",
            _workbook(),
            None,
            "is a spreadsheet workbook; save its sheet as CSV (UTF-8)",
        ),
        ("x.tsv", "id\tanswer\n100\tneutral\textra\n", 2, "has 3 columns, the header has 2"),
        ("x.tsv", "id\tanswer\tanswer\n100\ta\tb\n", 1, "column 'answer' occurs twice"),
        ("x.tsv", "id\tanswer\n", 1, "has a header but no answers"),
        ("x.tsv", "100\tneutral\n101\tneutral\n", 2, "has no id (its fields are: 100, neutral)"),
        ("x.tsv", "id\tnote\n100\tneutral\n", 2, "has no answer"),
        ("x.tsv", "example\tanswer\n100\ta\\q\n", 2, "is not an escape"),
        ("x.tsv", "example\tanswer:json\n100\t{\n", 2, "the JSON is incomplete"),
        ("x.csv", 'id,answer\n100,"neutral\n', 2, "is not CSV"),
        ("x.csv", "id,answer\n100,well, neutral\n", 2, "has 3 columns, the header has 2"),
        ("x.csv", "id,answer\n", 1, "has a header but no answers"),
        ("x.csv", "id,id\n100,neutral\n", 1, "occurs twice"),
        (
            "x.txt",
            "entailment\nneutral\n",
            None,
            "has 2 answers without ids, but the split has 3 examples",
        ),
        ("x.txt", "entailment\nneutral\nneutral\r", 3, "ends in CR"),
        ("x.txt", "index\tprediction\n0\tneutral\n1\n", 3, "has no tab"),
        (
            "x.txt",
            "index\tprediction\n0\tneutral\nb\tneutral\n",
            3,
            "the index 'b' is not a number",
        ),
        ("x.txt", "index\tprediction\n1\ta\n2\tb\n3\tc\n", 4, "index 3 is past the 3 examples"),
        ("x.txt", "index\tprediction\n0\tneutral\n", None, "has 1 answers without ids"),
        (
            "x.txt",
            "index\tprediction\n0\tneutral\n0\tentailment\n1\tneutral\n",
            3,
            "id '100' has a different answer on line 2",
        ),
        (
            "x.txt",
            gzip.compress(GOOD.encode(), mtime=0),
            None,
            "is compressed, but does not end with .gz",
        ),
        ("x.jsonl.gz", gzip.compress(GOOD.encode(), mtime=0)[:-9], None, "cannot be decompressed"),
        ("x.jsonl.zst", GOOD, None, "cannot be decompressed"),
        ("x.parquet", b"PAR1 and nothing", None, "is not Parquet"),
        ("x.npy", b"\x93NUMPY\x01\x00", None, "is not a plain array"),
        ("x.eval", b"PK\x03\x04", None, "is a damaged archive"),
    ],
)
def test_broken(
    complain: Complain, name: str, data: str | bytes, line: int | None, words: str
) -> None:
    problem = complain(name, data)
    assert words in str(problem)
    assert problem.line == line


def test_places_counted_from_one(complain: Complain) -> None:
    problem = complain("x.txt", "1\n2\n3\n", "klue-nli")
    assert problem.line == 3
    assert "3 is no place in the 3 labels; count from 0" in str(problem)


def test_scores_of_another_number_of_labels(complain: Complain) -> None:
    assert "2 scores for 3 labels" in str(
        complain("x.jsonl", '{"id":"100","scores":[1,2]}', "jnli", "indices")
    )
    problem = complain("x.jsonl", '{"id":"100","scores":{"9":1}}', "jcommonsenseqa")
    assert "the scores name '9'" in str(problem)


def test_no_such_file(complain: Complain) -> None:
    assert "no such file" in str(complain("none.jsonl", None))


def test_a_pipe(complain: Complain, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in str(complain("pipe", None))


def test_parquet_without_rows(complain: Complain, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(
        pyarrow.table({"id": pyarrow.array([], pyarrow.string())}), tmp_path / "x.parquet"
    )
    assert "holds no answers" in str(complain("x.parquet", None))
    pyarrow.parquet.write_table(
        pyarrow.table({"id": ["100"], "reply": ["neutral"]}), tmp_path / "x.parquet"
    )
    assert "row 1: has no answer (its fields are: id, reply)" in str(complain("x.parquet", None))


def test_numpy_of_objects_or_texts(complain: Complain) -> None:
    for values, words in (
        ([{}], "is not a plain array"),
        (["a"], "is an array of <U1 with 1 dimensions"),
    ):
        stream = io.BytesIO()
        np.save(stream, np.array(values), allow_pickle=True)
        assert words in str(complain("x.npy", stream.getvalue()))


def test_folders(complain: Complain, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    assert "has no answer file" in str(complain("run", None))
    (run / "old.jsonl").write_text(GOOD)
    (run / "new.jsonl").write_text(GOOD)
    problem = complain("run", None)
    assert (
        "2 files that could contain the answers to jnli; pass one of them: new.jsonl, old.jsonl"
        in str(problem)
    )
    (run / "samples_jnli_1.jsonl").write_text(GOOD)
    (run / "samples_jnli_2.jsonl").write_text(GOOD)
    assert "pass one of them: samples_jnli_1.jsonl, samples_jnli_2.jsonl" in str(
        complain("run", None)
    )


def test_folder_of_parts(complain: Complain, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "part1.jsonl").write_text(GOOD)
    (run / "part2.jsonl").write_text(GOOD.replace("entailment", "neutral"))
    assert "line 1: the id '100' has a different answer on line 1 of part1.jsonl" in str(
        complain("run", None)
    )
    (run / "part1.jsonl").unlink()
    (run / "part2.jsonl").unlink()
    (run / "part1.txt").write_text("neutral\n")
    (run / "part2.txt").write_text("neutral\n")
    assert "is a part without ids" in str(complain("run", None))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("lins", "did you mean 'lines' or 'list'?"),
        ("tsv:strict", "the form 'tsv' has no option 'strict'; leave it out"),
    ],
)
def test_forms_nobody_has(read: Read, form: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        read("x.jsonl", GOOD, form=form)
    assert words in str(caught.value)
