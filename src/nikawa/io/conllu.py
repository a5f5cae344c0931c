"""Trees in the ten columns of CoNLL-U: the part of speech is XPOS, the other columns nobody gives stay `_`.

A text that is itself an underscore is escaped with a backslash, so that nothing is taken for absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from nikawa.errors import BadInput
from nikawa.io.blocks import (
    Block,
    example_of,
    head_lines,
    needed,
    only_examples,
    plain_cell,
    read_blocks,
    rest_heads,
    unfit,
    write_blocks,
)
from nikawa.io.escapes import escape
from nikawa.records import Example, Record

R = TypeVar("R", bound=Record)

WIDTH = 10
WORD = {"form": 1, "lemma": 2, "pos": 4}
"""Parts of a word, and their columns."""
HEAD, LABEL = 6, 7


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, Any]]:
    """Stream (line, example)."""
    if kind is not Example:
        raise BadInput(f"holds examples, not {kind.__name__.lower()}s", file=path, cure="use .jsonl")
    for block in read_blocks(path):
        words = [_word(cells, at, path, number) for at, (number, cells) in enumerate(block.rows, start=1)]
        inputs = {"text": needed(block, "text", path), "words": words}
        own = {"id": needed(block, "sent_id", path), "inputs": inputs, "gold": _gold(block, path)}
        yield block.line, example_of(block, own, path)


def _word(cells: list[str], at: int, path: Path, number: int) -> dict[str, str]:
    if len(cells) != WIDTH:
        raise BadInput(
            f"has {len(cells)} columns, not {WIDTH}", file=path, line=number, cure="check the tabs"
        )
    if cells[0] != str(at):
        raise BadInput(
            f"word {cells[0]!r} should be {at}", file=path, line=number, cure="number words from 1; no ranges"
        )
    return {part: _text(cells[column], path, number) for part, column in WORD.items()}


def _text(cell: str, path: Path, number: int) -> str:
    return "" if cell == "_" else plain_cell(cell, path, number)


def _gold(block: Block, path: Path) -> dict[str, Any]:
    if all(cells[HEAD] == "_" for _, cells in block.rows):
        return {}
    heads, labels = [], []
    for number, cells in block.rows:
        if not (cells[HEAD].isascii() and cells[HEAD].isdigit() and int(cells[HEAD]) <= len(block.rows)):
            cure = f"0 (the root) to {len(block.rows)} is expected"
            raise BadInput(f"head {cells[HEAD]!r} is no word", file=path, line=number, cure=cure)
        heads.append(int(cells[HEAD]))
        labels.append(_text(cells[LABEL], path, number))
    return {"tree": {"heads": heads, "labels": labels}}


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """A block an example."""
    return write_blocks(path, (_lines(example, path) for example in only_examples(records, path)), overwrite)


def _lines(example: Example, path: Path) -> Iterator[list[str] | tuple[str]]:
    words, text = example.inputs.get("words"), example.inputs.get("text")
    if not isinstance(text, str) or not isinstance(words, list) or not words:
        raise unfit(example, "it has no text and words", path)
    tree = example.gold.get("tree", {"heads": ["_"] * len(words), "labels": [""] * len(words)})
    if not len(tree["heads"]) == len(tree["labels"]) == len(words):
        raise unfit(example, f"heads or labels for {len(words)} words differ in number", path)
    yield from head_lines(
        {"sent_id": example.id, "text": text, **rest_heads(example, ("text", "words"), "tree")}
    )
    for at, (word, head, label) in enumerate(zip(words, tree["heads"], tree["labels"], strict=True), start=1):
        if set(word) != set(WORD):
            raise unfit(example, f"a word is {', '.join(WORD)}", path)
        yield [
            str(at),
            _cell(word["form"]),
            _cell(word["lemma"]),
            "_",
            _cell(word["pos"]),
            "_",
            str(head),
            _cell(label),
            "_",
            "_",
        ]


def _cell(text: str) -> str:
    return "_" if not text else r"\_" if text == "_" else escape(text)
