"""Trees in the ten columns of CoNLL-U: the part of speech is XPOS, the other columns nobody gives stay `_`.

A text that is itself an underscore is escaped with a backslash, so that nothing is taken for absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from nikawa.records import Example, Record

R = TypeVar("R", bound=Record)

WIDTH = 10
WORD = {"form": 1, "lemma": 2, "pos": 4}
"""Parts of a word, and their columns."""
HEAD, LABEL = 6, 7


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, Any]]:
    """Stream (line, example)."""
    if kind is not Example:
        raise BadInput(
            f"holds examples, not {kind.__name__.lower()}s", file=path, cure="use .jsonl"
        )
    return _examples(read_blocks(path), path)


def _examples(blocks: Iterable[Block], path: Path) -> Iterator[tuple[int, Example]]:
    for block in blocks:
        words = [
            _word(cells, at, path, number) for at, (number, cells) in enumerate(block.rows, start=1)
        ]
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
            f"word {cells[0]!r} should be {at}",
            file=path,
            line=number,
            cure="number words from 1; no ranges",
        )
    return {part: _text(cells[column], path, number) for part, column in WORD.items()}


def _text(cell: str, path: Path, number: int) -> str:
    return "" if cell == "_" else plain_cell(cell, path, number)


def _gold(block: Block, path: Path) -> dict[str, Any]:
    if all(cells[HEAD] == "_" for _, cells in block.rows):
        return {}
    heads, labels = [], []
    for number, cells in block.rows:
        if not (
            cells[HEAD].isascii() and cells[HEAD].isdigit() and int(cells[HEAD]) <= len(block.rows)
        ):
            cure = f"0 (the root) to {len(block.rows)} is expected"
            raise BadInput(f"head {cells[HEAD]!r} is no word", file=path, line=number, cure=cure)
        heads.append(int(cells[HEAD]))
        labels.append(_text(cells[LABEL], path, number))
    return {"tree": {"heads": heads, "labels": labels}}


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """A block an example."""
    return write_blocks(path, records, BlockForm(_lines, _examples), overwrite)


def _lines(example: Example, path: Path) -> Iterator[Sequence[str]]:
    words, text = example.inputs.get("words"), example.inputs.get("text")
    if not isinstance(text, str) or not isinstance(words, list) or not words:
        raise unfit(example, "it has no text and words", path)
    yield from head_lines(
        {"sent_id": example.id, "text": text, **rest_heads(example, ("text", "words"), "tree")}
    )
    edges = _edges(example, len(words), path)
    for at, (word, (head, label)) in enumerate(zip(words, edges, strict=True), start=1):
        if not isinstance(word, dict) or set(word) != set(WORD) or not _are_texts(word.values()):
            raise unfit(example, f"a word is {', '.join(WORD)}, each a text", path)
        form, lemma, pos = (_cell(word[part]) for part in WORD)
        yield str(at), form, lemma, "_", pos, "_", head, _cell(label), "_", "_"


def _edges(example: Example, count: int, path: Path) -> list[tuple[str, str]]:
    """Head and label of each word; `_` and nothing where gold is hidden."""
    if "tree" not in example.gold:
        return [("_", "")] * count
    tree = example.gold["tree"]
    heads, labels = (
        tree.get(part) if isinstance(tree, dict) else None for part in ("heads", "labels")
    )
    if (
        not isinstance(heads, list)
        or not isinstance(labels, list)
        or not len(heads) == len(labels) == count
    ):
        raise unfit(example, f"heads or labels for {count} words differ in number", path)
    wrong = [head for head in heads if type(head) is not int or not 0 <= head <= count]
    if wrong:
        raise unfit(
            example, f"head {wrong[0]!r} is no word: 0 (the root) to {count} is expected", path
        )
    if not _are_texts(labels):
        raise unfit(example, "a label is not text", path)
    return [(str(head), label) for head, label in zip(heads, labels, strict=True)]


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _cell(text: str) -> str:
    return "_" if not text else r"\_" if text == "_" else escape(text)
