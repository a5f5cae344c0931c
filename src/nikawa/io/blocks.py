"""What the two CoNLL-like formats share: blocks of `# name = value` lines and rows, an empty line after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.escapes import escape, unescape
from nikawa.io.fit import fit
from nikawa.io.json import decode_json, encode_json, plain_fault
from nikawa.io.lines import read_lines
from nikawa.io.spans import checked
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


@dataclass(frozen=True)
class BlockForm:
    """How one of the formats reads and writes an example."""

    lines: Callable[[Example, Path], Iterable[Sequence[str]]]
    """The lines of an example, by their cells."""
    examples: Callable[[Iterable[Block], Path], Iterator[tuple[int, Example]]]
    """(Line, example) of blocks."""


def read_blocks(path: Path) -> Iterator[Block]:
    """Stream the blocks of a file."""
    return parse_blocks(read_lines(path), path)


def parse_blocks(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Block]:
    """Gather numbered lines into blocks."""
    block: Block | None = None
    number = 0
    for number, line in lines:
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
        raise _fault(
            f"{'repeated' if name in block.heads else 'unknown'} header {name!r}", path, number
        )
    text = plain_cell(value, path, number)
    block.heads[name] = (
        text if name in PLAIN else decode_json(text, object, path, number, unique=True)
    )


def plain_cell(cell: str, path: Path, number: int) -> str:
    """The text of a cell."""
    try:
        return unescape(cell)
    except ValueError as problem:
        raise BadInput(
            str(problem), file=path, line=number, cure=r"write a backslash as \\"
        ) from None


def _fault(what: str, path: Path, number: int) -> BadInput:
    return BadInput(what, file=path, line=number, cure="see docs/files.md")


def write_blocks(path: Path, records: Iterable[Record], form: BlockForm, overwrite: bool) -> int:
    """Write a block an example; one that would not be read back the same is refused."""
    count = 0
    with atomic_write(path, overwrite=overwrite) as stream:
        for count, record in enumerate(records, start=1):  # noqa: B007  (the count is the result)
            if not isinstance(record, Example):
                what = f"holds examples, not {type(record).__name__.lower()}s"
                raise BadInput(what, file=path, cure="use .jsonl")
            example = fit(record, path)[1]
            text = "".join("\t".join(cells) + "\n" for cells in form.lines(example, path)) + "\n"
            _read_again(example, text, form, path)
            stream.write(text.encode())
    return count


def _read_again(example: Example, text: str, form: BlockForm, path: Path) -> None:
    lines = enumerate(text.split("\n")[:-1], start=1)
    try:
        read = [checked(back) for _, back in form.examples(parse_blocks(lines, path), path)]
    except BadInput as problem:
        raise unfit(example, problem.what, path) from None
    if read != [example]:
        raise unfit(example, "not all of it would be read back", path)


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
        more = {
            key: msgspec.convert(block.heads.get(key, {}), dict[str, Any])
            for key in ("inputs", "gold")
        }
        both = {key: {**own[key], **more[key]} for key in more}
        return msgspec.convert({"id": own["id"], **both, **rest}, Example)
    except msgspec.ValidationError as problem:
        raise _fault(plain_fault(str(problem)), path, block.line) from None


def needed(block: Block, name: str, path: Path) -> str:
    """A header the format cannot do without."""
    if name not in block.heads:
        raise BadInput(
            f"the example has no `# {name} = ` line", file=path, line=block.line, cure="add one"
        )
    return str(block.heads[name])


def unfit(example: Example, why: str, path: Path) -> BadInput:
    """The error for an example this format cannot hold."""
    return BadInput(f"example {example.id} does not fit: {why}", file=path, cure="use .jsonl")
