"""Examples in blocks: spans with one character per row (`.conll`), trees with one word per row (`.conllu`).

A block is some `# name = value` lines, then tab-separated rows, then an empty line. The headers have
everything that the rows do not represent (other inputs, metadata, tags …), so that an example is read back
as it was written; an example that would change is an error.

- `.conll`: `character<TAB>B-LABEL`, `I-LABEL` or `O`, and `_` if gold is hidden. The spans must be in order and must not overlap; nested or
overlapping spans need JSON lines.
- `.conllu`: the ten columns of CoNLL-U. The part of speech is XPOS; other columns without a value are `_`. A text that is itself an
underscore is escaped with a backslash, so that it is not read as a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.escapes import escape, unescape_cell
from nikawa.io.json import decode_json, encode_json, plain_fault
from nikawa.io.jsonl import check_record
from nikawa.io.limits import CHECKED_BYTES
from nikawa.io.lines import read_lines, refuse_long_line
from nikawa.io.spans import check_spans
from nikawa.records import Example, Record, Span

TEXT_HEADERS = ("id", "sent_id", "group", "text")
"""Headers with text; the others are JSON."""
HEADERS = (*TEXT_HEADERS, "inputs", "gold", "meta", "tags", "origin")
OUTSIDE_TAG, HIDDEN_TAG = "O", "_"
BYTES_OF_ROW = 100
"""Bytes that each row adds to its characters towards the limit of a record, because it is stored as cells."""
CONLLU_COLUMNS = 10
WORD_COLUMNS = {"form": 1, "lemma": 2, "pos": 4}
"""Parts of a word, and their columns."""
HEAD_COLUMN, LABEL_COLUMN = 6, 7


@dataclass
class Block:
    """One example as written in the file."""

    line: int
    """The line where it begins."""
    headers: dict[str, Any]
    """Name to text, or to decoded JSON."""
    rows: list[tuple[int, list[str]]]
    """(Line, cells)."""


@dataclass(frozen=True)
class BlockForm:
    """How one of the formats reads and writes an example."""

    read: Callable[[Block, Path], Example]
    """The example of a block; the path is for messages."""
    write: Callable[[Example, Path], Iterable[Sequence[str]]]
    """The lines of an example, by their cells."""


def read_conll(path: Path, kind: type[Record]) -> Iterator[tuple[int, Any]]:
    """Stream (line, example) of spans."""
    return _read_blocks(path, kind, CONLL)


def write_conll(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """Write a block an example; returns how many."""
    return _write_blocks(path, records, CONLL, overwrite)


def read_conllu(path: Path, kind: type[Record]) -> Iterator[tuple[int, Any]]:
    """Stream (line, example) of trees."""
    return _read_blocks(path, kind, CONLLU)


def write_conllu(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """Write a block an example; returns how many."""
    return _write_blocks(path, records, CONLLU, overwrite)


def _read_blocks(path: Path, kind: type[Record], form: BlockForm) -> Iterator[tuple[int, Example]]:
    if kind is not Example:
        what = f"holds examples, not {kind.__name__.lower()}s"
        raise BadInput(what, file=path, cure="use .jsonl")
    return ((block.line, form.read(block, path)) for block in parse_blocks(read_lines(path), path))


def parse_blocks(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Block]:
    """Gather numbered lines into blocks; the path is for messages."""
    block: Block | None = None
    number = size = 0
    for number, line in lines:
        if line:
            block = block or Block(number, {}, [])
            add_line(block, line, path, number)
            size += len(line) + BYTES_OF_ROW
            if size > CHECKED_BYTES:
                refuse_long_line(size, path, block.line)
            continue
        size = 0
        if block is None:
            cure = "leave one empty line between examples"
            raise BadInput("is empty", file=path, line=number, cure=cure)
        yield block
        block = None
    if block is not None:
        cure = "each example ends with an empty line; fetch or write the file again"
        raise BadInput("ends in the middle of an example", file=path, line=number, cure=cure)
    if not number:
        raise BadInput("is empty", file=path, cure="write at least one record")


def add_line(block: Block, line: str, path: Path, number: int) -> None:
    """Add a row or a `# name = value` line to a block.

    Refuses headers that are unknown or repeated.
    """
    if "\t" in line:
        block.rows.append((number, line.split("\t")))
        return
    name, equals, value = line.removeprefix("# ").partition(" = ")
    problem = ""
    if not line.startswith("# ") or not equals:
        problem = "is neither a row nor a `# name = value` line"
    elif name in block.headers:
        problem = f"repeated header {name!r}"
    elif name not in HEADERS:
        problem = f"unknown header {name!r}"
    if problem:
        raise BadInput(problem, file=path, line=number, cure="see docs/files.md")
    text = unescape_cell(value, path, number)
    if name not in TEXT_HEADERS:
        block.headers[name] = decode_json(text, object, path, number, unique=True)
    else:
        block.headers[name] = text


def _make_example(
    block: Block, path: Path, *, id_header: str, inputs: Mapping[str, Any], gold: Mapping[str, Any]
) -> Example:
    """Return the example of a block; `inputs` and `gold` come from the rows, the rest from the headers."""
    headers = block.headers
    fields: dict[str, Any] = {"id": _need_header(block, id_header, path)}
    fields |= {k: v for k, v in headers.items() if k in ("group", "meta", "tags", "origin")}
    try:
        for name, values in (("inputs", inputs), ("gold", gold)):
            fields[name] = {**values, **msgspec.convert(headers.get(name, {}), dict[str, Any])}
        return msgspec.convert(fields, Example)
    except msgspec.ValidationError as problem:
        what = plain_fault(str(problem))
        raise BadInput(what, file=path, line=block.line, cure="see docs/files.md") from None


def _need_header(block: Block, name: str, path: Path) -> str:
    if name not in block.headers:
        what = f"the example has no `# {name} = ` line"
        raise BadInput(what, file=path, line=block.line, cure="add one")
    return str(block.headers[name])


def _write_blocks(path: Path, records: Iterable[Record], form: BlockForm, overwrite: bool) -> int:
    """Write a block an example; one that would not be read back the same is refused."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for count, record in enumerate(records, start=1):  # noqa: B007  (the count is the result)
            if not isinstance(record, Example):
                what = f"holds examples, not {type(record).__name__.lower()}s"
                raise BadInput(what, file=path, cure="use .jsonl")
            example = check_record(record, path)[1]
            rows = ["\t".join(cells) for cells in form.write(example, path)]
            lines = enumerate([*rows, ""], start=1)
            try:
                blocks = parse_blocks(lines, path)
                read_back = [check_spans(form.read(block, path)) for block in blocks]
            except BadInput as problem:
                raise _unfit(example, problem.what, path) from None
            if read_back != [example]:
                raise _unfit(example, "some of it would not be read back", path)
            stream.write("".join(f"{row}\n" for row in [*rows, ""]).encode())
    return count


def _header_lines(
    example: Example, inputs: Sequence[str], gold: str, **own: str
) -> Iterator[tuple[str]]:
    """Return the format's own headers, then those for values that its rows do not represent.

    Empty headers are omitted.
    """
    headers = {
        **own,
        "group": example.group,
        "inputs": {k: v for k, v in example.inputs.items() if k not in inputs},
        "gold": {k: v for k, v in example.gold.items() if k != gold},
        "meta": example.meta,
        "tags": sorted(example.tags),
        "origin": example.origin,
    }
    for name, value in headers.items():
        if name in TEXT_HEADERS and isinstance(value, str):
            yield (f"# {name} = {escape(value)}",)
        elif name not in TEXT_HEADERS and value:
            yield (f"# {name} = {escape(encode_json(value).decode())}",)


def _unfit(example: Example, why: str, path: Path) -> BadInput:
    """Return the error for an example that this format cannot represent."""
    return BadInput(f"example {example.id} does not fit: {why}", file=path, cure="use .jsonl")


def parse_conll_example(block: Block, path: Path) -> Example:
    """The example of a block whose rows are a character and its tag."""
    text, tags = "", []
    for number, cells in block.rows:
        if len(cells) != 2:
            what = f"has {len(cells)} columns, not 2"
            raise BadInput(what, file=path, line=number, cure="character, tab, tag")
        character, tag = (unescape_cell(cell, path, number) for cell in cells)
        if len(character) != 1:
            what = f"{character!r} is not one character"
            raise BadInput(what, file=path, line=number, cure="write one row per character")
        text += character
        tags.append(tag)
    gold = {} if set(tags) == {HIDDEN_TAG} else {"spans": list(spans_of_tags(tags, block, path))}
    return _make_example(block, path, id_header="id", inputs={"text": text}, gold=gold)


def spans_of_tags(tags: list[str], block: Block, path: Path) -> Iterator[Span]:
    """The spans that tags mark; an I without its B is refused."""
    start = -1
    for at, tag in enumerate([*tags, OUTSIDE_TAG]):
        mark, _, label = tag.partition("-")
        if mark == "I" and start >= 0 and tags[start][2:] == label:
            continue
        if mark == "I" or (tag != OUTSIDE_TAG and mark != "B"):
            why = "follows no B of its label" if mark == "I" else "is not O, B-LABEL or I-LABEL"
            line = block.rows[at][0]
            raise BadInput(f"tag {tag!r} {why}", file=path, line=line, cure="check the tags")
        if start >= 0:
            yield Span(start, at, tags[start][2:])
        start = at if mark == "B" else -1


def format_conll_example(example: Example, path: Path) -> Iterator[tuple[str, ...]]:
    """The lines of an example with spans, by their cells.

    Refuses spans that overlap or are out of order.
    """
    text = example.inputs.get("text")
    if not isinstance(text, str) or not text:
        raise _unfit(example, "it has no text", path)
    yield from _header_lines(example, ("text",), "spans", id=example.id)
    tags = [OUTSIDE_TAG if "spans" in example.gold else HIDDEN_TAG] * len(text)
    end = 0
    for span in example.gold.get("spans", ()):
        if not end <= span.start < span.end <= len(text):
            why = f"span {span.start}-{span.end} overlaps, is out of order, empty or outside"
            raise _unfit(example, why, path)
        tags[span.start] = f"B-{span.label}"
        tags[span.start + 1 : span.end] = [f"I-{span.label}"] * (span.end - span.start - 1)
        end = span.end
    for character, tag in zip(text, tags, strict=True):
        yield escape(character), escape(tag)


def parse_conllu_example(block: Block, path: Path) -> Example:
    """The example of a block whose rows are words with head and label."""

    def text_of(cell: str, number: int) -> str:
        return "" if cell == "_" else unescape_cell(cell, path, number)

    words = []
    for at, (number, cells) in enumerate(block.rows, start=1):
        if len(cells) != CONLLU_COLUMNS:
            what = f"has {len(cells)} columns, not {CONLLU_COLUMNS}"
            raise BadInput(what, file=path, line=number, cure="check the tabs")
        if cells[0] != str(at):
            what = f"word {cells[0]!r} should be {at}"
            raise BadInput(what, file=path, line=number, cure="number words from 1; no ranges")
        columns = WORD_COLUMNS.items()
        words.append({part: text_of(cells[column], number) for part, column in columns})
    inputs = {"text": _need_header(block, "text", path), "words": words}
    gold = {}
    if not all(cells[HEAD_COLUMN] == "_" for _, cells in block.rows):
        heads, labels = [], []
        for number, cells in block.rows:
            head = cells[HEAD_COLUMN]
            if not (head.isascii() and head.isdigit() and int(head) <= len(block.rows)):
                cure = f"write a number from 0 (the root) to {len(block.rows)}"
                raise BadInput(f"head {head!r} is not a word", file=path, line=number, cure=cure)
            heads.append(int(head))
            labels.append(text_of(cells[LABEL_COLUMN], number))
        gold = {"tree": {"heads": heads, "labels": labels}}
    return _make_example(block, path, id_header="sent_id", inputs=inputs, gold=gold)


def format_conllu_example(example: Example, path: Path) -> Iterator[Sequence[str]]:
    """The lines of an example with a tree, by their cells."""

    def cell_of(text: str) -> str:
        return "_" if not text else r"\_" if text == "_" else escape(text)

    words, text = example.inputs.get("words"), example.inputs.get("text")
    if not isinstance(text, str) or not isinstance(words, list) or not words:
        raise _unfit(example, "it has no text and words", path)
    own = {"sent_id": example.id, "text": text}
    yield from _header_lines(example, ("text", "words"), "tree", **own)
    arcs = list_arcs(example, len(words), path)
    for at, (word, (head, label)) in enumerate(zip(words, arcs, strict=True), start=1):
        is_word = isinstance(word, dict) and set(word) == set(WORD_COLUMNS)
        if not is_word or not all(isinstance(part, str) for part in word.values()):
            raise _unfit(example, f"a word is {', '.join(WORD_COLUMNS)}, each a text", path)
        form, lemma, pos = (cell_of(word[part]) for part in WORD_COLUMNS)
        yield str(at), form, lemma, "_", pos, "_", head, cell_of(label), "_", "_"


def list_arcs(example: Example, words: int, path: Path) -> list[tuple[str, str]]:
    """Head and label of each word; `_` and nothing where gold is hidden."""
    if "tree" not in example.gold:
        return [("_", "")] * words
    tree = example.gold["tree"] if isinstance(example.gold["tree"], dict) else {}
    heads, labels = tree.get("heads"), tree.get("labels")
    if (
        not isinstance(heads, list)
        or not isinstance(labels, list)
        or not len(heads) == len(labels) == words
    ):
        raise _unfit(example, f"the numbers of heads, labels and words ({words}) differ", path)
    for head in heads:
        if type(head) is not int or not 0 <= head <= words:
            why = f"head {head!r} is not a word: expected 0 (the root) to {words}"
            raise _unfit(example, why, path)
    if not all(isinstance(label, str) for label in labels):
        raise _unfit(example, "a label is not text", path)
    return [(str(head), label) for head, label in zip(heads, labels, strict=True)]


CONLL = BlockForm(parse_conll_example, format_conll_example)
CONLLU = BlockForm(parse_conllu_example, format_conllu_example)
