"""Template files of either notation: all templates that can be read, and every fault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from nikawa.generation.authors import parse_row, read_rows
from nikawa.generation.mistakes import At, Mistake, Trouble
from nikawa.generation.native import parse_block, read_blocks
from nikawa.generation.native_slots import Notation
from nikawa.generation.template import Template, unbound

Parsed = tuple[str, At, Callable[[], Template]]


def read_file(
    path: Path, notation: Notation, taken: Collection[str] = ()
) -> tuple[list[Template], list[Trouble]]:
    """The templates of a file and its faults; a `.tsv` is in the authors' notation, anything else in the native one."""
    templates: list[Template] = []
    troubles: list[Trouble] = []
    seen: dict[str, str] = dict.fromkeys(taken, "another file")
    for entry in _authors(path) if path.suffix == ".tsv" else _native(path, notation):
        if isinstance(entry, Mistake):
            troubles.append(entry.trouble())
            continue
        name, at, parse = entry
        if name in seen:
            what = f"template {name} was in {seen[name]} already"
            troubles.append(
                Mistake("duplicate-id", what, at, "give each template its own id").trouble(name)
            )
            continue
        seen[name] = f"line {at.line}"
        try:
            template = parse()
        except Mistake as mistake:
            troubles += [fault.trouble(name) for fault in (mistake, *mistake.others)]
        else:
            templates.append(template)
            troubles += unbound(template)
    if not templates and not troubles:
        troubles.append(Mistake("syntax", "holds no template", At(1, 1), "write one").trouble())
    return templates, troubles


def _authors(path: Path) -> Iterator[Parsed | Mistake]:
    for row, places in read_rows(path):
        yield row["id"], places["id"], lambda row=row, places=places: parse_row(row, places)  # type: ignore[misc]


def _native(path: Path, notation: Notation) -> Iterator[Parsed | Mistake]:
    for block in read_blocks(path):
        if isinstance(block, Mistake):
            yield block
        else:
            yield block.id, block.at, lambda block=block: parse_block(block, notation)  # type: ignore[misc]
