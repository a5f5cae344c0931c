"""Tagging examples, a character a row: `character<TAB>B-LABEL`, `I-LABEL` or `O`, and `_` where gold is hidden.

The spans must be in order and apart; nested or overlapping ones need JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from nikawa.errors import BadInput
from nikawa.io.blocks import (
    Block,
    BlockForm,
    example_of,
    head_lines,
    needed,
    plain_cell,
    read_blocks,
    rest_heads,
    unfit,
    write_blocks,
)
from nikawa.io.escapes import escape
from nikawa.records import Example, Record, Span

R = TypeVar("R", bound=Record)

OUTSIDE, HIDDEN = "O", "_"


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, Any]]:
    """Stream (line, example)."""
    if kind is not Example:
        raise BadInput(
            f"holds examples, not {kind.__name__.lower()}s", file=path, cure="use .jsonl"
        )
    return _examples(read_blocks(path), path)


def _examples(blocks: Iterable[Block], path: Path) -> Iterator[tuple[int, Example]]:
    for block in blocks:
        text, tags = _columns(block, path)
        gold = {} if set(tags) == {HIDDEN} else {"spans": list(_spans(tags, block, path))}
        own = {"id": needed(block, "id", path), "inputs": {"text": text}, "gold": gold}
        yield block.line, example_of(block, own, path)


def _columns(block: Block, path: Path) -> tuple[str, list[str]]:
    characters, tags = [], []
    for number, cells in block.rows:
        if len(cells) != 2:
            raise BadInput(
                f"has {len(cells)} columns, not 2",
                file=path,
                line=number,
                cure="character, tab, tag",
            )
        character, tag = (plain_cell(cell, path, number) for cell in cells)
        if len(character) != 1:
            raise BadInput(
                f"{character!r} is not one character",
                file=path,
                line=number,
                cure="give each its own row",
            )
        characters.append(character)
        tags.append(tag)
    return "".join(characters), tags


def _spans(tags: list[str], block: Block, path: Path) -> Iterator[Span]:
    start = -1
    for at, tag in enumerate([*tags, OUTSIDE]):
        mark, _, label = tag.partition("-")
        if mark == "I" and start >= 0 and tags[start][2:] == label:
            continue
        if mark == "I" or (tag != OUTSIDE and mark != "B"):
            why = "follows no B of its label" if mark == "I" else "is not O, B-LABEL or I-LABEL"
            raise BadInput(
                f"tag {tag!r} {why}", file=path, line=block.rows[at][0], cure="check the tags"
            )
        if start >= 0:
            yield Span(start, at, tags[start][2:])
        start = at if mark == "B" else -1


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """A block an example."""
    return write_blocks(path, records, BlockForm(_lines, _examples), overwrite)


def _lines(example: Example, path: Path) -> Iterator[tuple[str, ...]]:
    text = example.inputs.get("text")
    if not isinstance(text, str) or not text:
        raise unfit(example, "it has no text", path)
    yield from head_lines({"id": example.id, **rest_heads(example, ("text",), "spans")})
    for character, tag in zip(text, _tags(example, text, path), strict=True):
        yield escape(character), escape(tag)


def _tags(example: Example, text: str, path: Path) -> list[str]:
    if "spans" not in example.gold:
        return [HIDDEN] * len(text)
    tags, end = [OUTSIDE] * len(text), 0
    for span in example.gold["spans"]:
        if not end <= span.start < span.end <= len(text):
            raise unfit(
                example,
                f"span {span.start}-{span.end} overlaps, is out of order, empty or outside",
                path,
            )
        tags[span.start] = f"B-{span.label}"
        tags[span.start + 1 : span.end] = [f"I-{span.label}"] * (span.end - span.start - 1)
        end = span.end
    return tags
