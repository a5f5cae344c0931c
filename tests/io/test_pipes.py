"""What is piped in can be looked at and then read, as a file can."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nikawa.aggregation.agree_job import AgreeOptions, agree
from nikawa.cleaning.job import clean
from nikawa.io.judgements import open_judgements
from nikawa.io.lines import open_bytes, read_lines
from nikawa.io.pipes import STDIN, input_path, is_piped

Pipe = Callable[[str], Path]
TEXT = "낡은 다리 옆에 작은 가게가 하나 새로 문을 열었다고 한다.\n"


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """The path of a pipe that holds a text and is closed at its other end."""
    ends: list[int] = []

    def make(text: str) -> Path:
        out, into = os.pipe()
        ends.append(out)
        with os.fdopen(into, "wb") as stream:
            stream.write(text.encode())
        return Path(f"/dev/fd/{out}")

    yield make
    for end in ends:
        os.close(end)


def test_a_pipe_is_read_as_often_as_a_file(pipe: Pipe) -> None:
    path = pipe("하나\n둘\n")
    with open_bytes(path) as stream:
        assert stream.read(3) == "하".encode()
    for _ in range(2):
        assert list(read_lines(path)) == [(1, "하나"), (2, "둘")]


def test_names(pipe: Pipe, tmp_path: Path) -> None:
    assert input_path("-") == input_path(Path("-")) == STDIN
    assert input_path("a.csv") == Path("a.csv")
    assert is_piped(pipe("x"))
    assert not is_piped(tmp_path)
    assert not is_piped(tmp_path / "absent")


@pytest.mark.parametrize("text", [TEXT, f'{{"text": "{TEXT.strip()}"}}\n'])
def test_clean_reads_a_pipe(text: str, pipe: Pipe, tmp_path: Path) -> None:
    report = clean([pipe(text)], tmp_path / "out.jsonl")
    assert (report.documents, report.characters, report.kept) == (1, len(TEXT) - 1, 1)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "\ufeffexample,worker,answer\n1,a,yes\n1,b,yes\n",
            "sheet in utf-8 with a byte order mark",
        ),
        ("example\tworker\tanswer\n1\ta\tyes\n1\tb\tyes\n", "sheet in utf-8"),
        (
            "".join(
                f'{{"example":"1","worker":"{w}","question":"label","answer":"yes"}}\n'
                for w in "ab"
            ),
            "records",
        ),
    ],
)
def test_judgements_come_through_a_pipe(text: str, form: str, pipe: Pipe) -> None:
    path = pipe(text)
    assert len(list(open_judgements(path).rows)) == 2
    report = agree(str(path), options=AgreeOptions(resamples=20)).report
    assert (report.form, report.counts["unanimous"]) == (form, 1)
