"""What the two CoNLL-like formats share: blocks of `# name = value` lines and rows, an empty line after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.escapes import escape, unescape
from nikawa.io.json import decode_json, encode_json, plain_fault
from nikawa.io.lines import read_lines
from nikawa.records import Example, Record

PLAIN = ("id", "sent_id", "group", "text")
"""Headers that hold text; the others hold JSON."""
HEADS = (*PLAIN, "inputs", "gold", "meta", "tags", "origin")


@dataclass
class Block:
    """One example as it stands in the file."""

    line: int
    heads: dict[str, Any]
    rows: list[tuple[int, list[str]]]


def read_blocks(path: Path) -> Iterator[Block]:
    """Stream the blocks of a file, cells unescaped."""
    block: Block | None = None
    number = 0
    for number, line in read_lines(path):
        if not line:
            if block is None:
                raise BadInput(
                    "is empty", file=path, line=number, cure="leave one empty line between examples"
                )
            yield block
            block = None
            continue
        block = block or Block(number, {}, [])
        _take(block, line, path, number)
    if block is not None:
        raise BadInput(
            "breaks off",
            file=path,
            line=number,
            cure="an empty line ends each example: fetch or write it again",
        )
    if not number:
        raise BadInput("is empty", file=path, cure="write at least one record")


def _take(block: Block, line: str, path: Path, number: int) -> None:
    if "\t" in line:
        block.rows.append((number, line.split("\t")))
        return
    name, equals, value = line.removeprefix("# ").partition(" = ")
    if not line.startswith("# ") or not equals:
        raise _fault("is neither a row nor a `# name = value` line", path, number)
    if name in block.heads or name not in HEADS:
        raise _fault(f"{'repeated' if name in block.heads else 'unknown'} header {name!r}", path, number)
    text = plain_cell(value, path, number)
    block.heads[name] = text if name in PLAIN else decode_json(text, object, path, number, unique=True)


def plain_cell(cell: str, path: Path, number: int) -> str:
    """The text of a cell."""
    try:
        return unescape(cell)
    except ValueError as problem:
        raise BadInput(str(problem), file=path, line=number, cure=r"write a backslash as \\") from None


def _fault(what: str, path: Path, number: int) -> BadInput:
    return BadInput(what, file=path, line=number, cure="see docs/files.md")


def write_blocks(path: Path, blocks: Iterable[Iterable[Sequence[str]]], overwrite: bool) -> int:
    """Write blocks of lines, given by their cells."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for count, lines in enumerate(blocks, start=1):  # noqa: B007  (the count is the result)
            text = "".join("\t".join(cells) + "\n" for cells in lines)
            stream.write(f"{text}\n".encode())
    return count


def head_lines(heads: Mapping[str, Any]) -> Iterator[tuple[str]]:
    """The `# name = value` lines of those that are not empty."""
    for name, value in heads.items():
        if name in PLAIN and value is not None:
            yield (f"# {name} = {escape(value)}",)
        elif name not in PLAIN and value:
            yield (f"# {name} = {escape(encode_json(value).decode())}",)


def rest_heads(example: Example, inputs: Sequence[str], gold: str) -> dict[str, Any]:
    """The headers for what the rows do not hold."""
    return {
        "group": example.group,
        "inputs": {k: v for k, v in example.inputs.items() if k not in inputs},
        "gold": {k: v for k, v in example.gold.items() if k != gold},
        "meta": example.meta,
        "tags": sorted(example.tags),
        "origin": example.origin,
    }


def example_of(block: Block, own: Mapping[str, Any], path: Path) -> Example:
    """The example of a block; `own` is what the format itself read: id, inputs, gold."""
    rest = {k: v for k, v in block.heads.items() if k in ("group", "meta", "tags", "origin")}
    try:
        more = {key: msgspec.convert(block.heads.get(key, {}), dict[str, Any]) for key in ("inputs", "gold")}
        both = {key: {**own[key], **more[key]} for key in more}
        return msgspec.convert({"id": own["id"], **both, **rest}, Example)
    except msgspec.ValidationError as problem:
        raise _fault(plain_fault(str(problem)), path, block.line) from None


def needed(block: Block, name: str, path: Path) -> str:
    """A header the format cannot do without."""
    if name not in block.heads:
        raise BadInput(f"the example has no `# {name} = ` line", file=path, line=block.line, cure="add one")
    return str(block.heads[name])


def only_examples(records: Iterable[Record], path: Path) -> Iterator[Example]:
    """The records, each of which must be an example."""
    for record in records:
        if not isinstance(record, Example):
            raise BadInput(
                f"holds examples, not {type(record).__name__.lower()}s", file=path, cure="use .jsonl"
            )
        encode_json(record)  # refuses NaN and half characters
        yield record


def unfit(example: Example, why: str, path: Path) -> BadInput:
    """The error for an example this format cannot hold."""
    return BadInput(f"example {example.id} does not fit: {why}", file=path, cure="use .jsonl")
