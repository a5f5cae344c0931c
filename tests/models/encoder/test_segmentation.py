"""Encoders over the words of a program: learned, answered, and told where the program is not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import MissingExtra
from nikawa.records import Kind
from nikawa.text import analysers
from nikawa.text import jumanpp as _child

EACH = r"""
import sys

for line in sys.stdin.buffer:
    for c in line.decode().rstrip("\n"):
        sys.stdout.buffer.write(f"{c} {c} {c} 名詞 6 普通名詞 1 * 0 * 0 NIL\n".encode())
    sys.stdout.buffer.write(b"EOS\n")
    sys.stdout.buffer.flush()
"""
"""A program with the output of Juman++ to which every character is a word."""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No analyser from before, and none left behind."""
    for name in ("_named_analyser", "_shared_engine"):
        monkeypatch.setattr(analysers, name, cache(getattr(analysers, name).__wrapped__))
    yield
    for child in list(_child._ALL):
        child.close()


@pytest.mark.parametrize("kind", ["text", "reading"])
def test_an_encoder_learns_from_the_words_of_a_program(
    kind: Kind,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "each"
    program.write_text(f"#!{sys.executable} -SE\n{EACH}", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("JUMANPP", str(program))
    case, answers = invented[kind], []
    for name in ("jumanpp", "characters", "none"):
        encoder = made(segmentation=name)
        encoder.fit(case.task, case.learn[:16])
        answers.append(encoder.predict(case.task, case.ask))
    assert answers[0] == answers[1] != answers[2]


def test_a_program_that_is_not_there_is_told_before_anything_is_learned(
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JUMANPP", raising=False)
    case = invented["text"]
    with pytest.raises(
        MissingExtra, match=r"the program 'jumanpp' is not installed; build Juman\+\+ 2"
    ):
        made(segmentation="jumanpp").fit(case.task, case.learn)
