"""The column files of KLUE (NER, DP): comment lines, then sentences of a `## guid<TAB>text` line and rows.

The files are read whole: their rows are so short that going line by line costs ten times the parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nikawa.datasets.klue._common import CURE, read_text
from nikawa.errors import BadInput

_HEADER = re.compile(r"## (?P<id>\S+\d)[-_](?P<source>[A-Za-z]+)\t(?P<text>.*)")
_COMMENT = "##"


@dataclass(frozen=True, slots=True)
class Block:
    """One sentence of a column file."""

    id: str
    source: str
    header: str
    """The text of the header line, as published."""
    body: str
    """The rows, each with its line feed."""
    line: int
    """Line of the first row."""


def read_blocks(path: Path) -> Iterator[Block]:
    """The sentences of one published file."""
    line, found = 1, False
    for chunk in read_text(path).split("\n\n"):
        block = _block(chunk, line, path)
        if block is not None:
            found = True
            yield block
        line += chunk.count("\n") + 2
    if not found:
        raise BadInput("holds no sentence", file=path, cure=CURE)


def _block(chunk: str, line: int, path: Path) -> Block | None:
    body = chunk.strip("\n")
    line += len(chunk) - len(chunk.lstrip("\n"))
    while body.startswith(_COMMENT):
        head, _, body = body.partition("\n")
        line += 1
        found = _HEADER.fullmatch(head)
        if found:
            if not body:
                raise BadInput(f"{found['id']} has no rows", file=path, line=line - 1, cure=CURE)
            return Block(found["id"], found["source"], found["text"], body + "\n", line)
    if body:
        raise BadInput(
            "rows without a line '## guid<TAB>text' above them",
            file=path,
            line=line,
            cure="look for a stray blank line",
        )
    return None
