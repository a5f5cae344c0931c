"""Read corrections of gold: JSON lines or a sheet (item, question, new answer, reason, by whom), or what `nikawa aggregate` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, listed
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.judgements.base import Notes
from nikawa.io.judgements.sheets import layout_of, read_sheet

UNSAID: Any = msgspec.UNSET
NAMES = {
    "example": ("example", "id", "item", "reference"),
    "question": ("question",),
    "label": ("label", "after", "new", "answer", "gold", "new label", "new_label"),
    "before": ("before", "old", "old label", "old_label"),
    "why": ("why", "reason", "comment"),
    "by": ("by", "who", "worker", "by whom"),
}
"""What a field may be called in a file, in any case."""
JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


ITEMS, SUMMARY, ACCEPTED = "items.jsonl", "summary.json", "accepted"


class Settled(msgspec.Struct, frozen=True):
    """An item of a folder of gold: what became of it, by which step, on what votes."""

    example: str
    question: str
    verdict: str
    gold: Any = None
    by: str = ""
    why: str = ""


@dataclass(frozen=True)
class Wanted:
    """A line of the file, not held against the data yet."""

    line: int
    example: str
    question: str
    """Empty where the file does not say."""
    label: Any
    before: Any = UNSAID
    why: str = ""
    by: str = ""
    typed: bool = False
    """Whether the values came with types; cells of a sheet are texts."""
    again: bool = False
    """Whether people looked at the item again: an answer that stays is no fault."""


def read_relabels(path: Path) -> list[Wanted]:
    """Every correction of a file, or every answer of a folder of gold, in order; one without any is refused."""
    if path.is_dir():
        return list(_judged(path))
    rows = _json(path) if path.name.endswith(JSON_LINES) else _sheet(path)
    found = [_wanted(line, row, path, path.name.endswith(JSON_LINES)) for line, row in rows]
    if not found:
        raise BadInput(
            "holds no correction", file=path, cure="write a line an item below the heading"
        )
    return found


def _judged(folder: Path) -> Iterator[Wanted]:
    """The answers that workers settled on when they looked again, with their votes as the reason."""
    if not (folder / ITEMS).is_file():
        cure = "name a file of corrections, or a folder that nikawa aggregate wrote"
        raise BadInput(f"holds no {ITEMS}", file=folder, cure=cure)
    told = read_json(folder / SUMMARY, dict[str, Any])
    found = 0
    for line, row in read_json_lines(folder / ITEMS, Settled):
        if row.verdict == ACCEPTED:
            by = f"{told.get('workers', 'several')} workers, {row.by}"
            found += 1
            yield Wanted(
                line,
                row.example,
                row.question,
                row.gold,
                why=row.why,
                by=by,
                typed=True,
                again=True,
            )
    if not found:
        raise BadInput(
            "holds no item that got gold",
            file=folder / ITEMS,
            cure="settle the ties, or ask more workers",
        )


def _json(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in read_json_lines(path, dict[str, Any], unique=True):
        yield line, _named(row, path, line)


def _sheet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    header: list[str] = []
    for line, cells in read_sheet(path, layout_of(path), Notes()):
        if not header:
            header = cells
            _named(dict.fromkeys(header, ""), path, line)
            continue
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        yield (
            line,
            {
                k: v
                for k, v in _named(row, path, line).items()
                if v != "" or k in ("example", "label")
            },
        )


def _named(row: dict[str, Any], path: Path, line: int) -> dict[str, Any]:
    """The row under our names; further columns are passed over, two for one field are refused."""
    found: dict[str, Any] = {}
    places = {alias: field for field, aliases in NAMES.items() for alias in aliases}
    for name, value in row.items():
        field = places.get(name.strip().lower())
        if field is None:
            continue
        if field in found:
            what = f"two columns give the {field}, one of them {name!r}"
            raise BadInput(what, file=path, line=line, cure="keep one of them")
        found[field] = value
    for field in ("example", "label"):
        if field not in found:
            what = f"has no {'id' if field == 'example' else 'new label'}"
            raise BadInput(what, file=path, line=line, cure=f"call it {listed(NAMES[field])}")
    return found


def _wanted(line: int, row: dict[str, Any], path: Path, typed: bool) -> Wanted:
    example = row["example"]
    name = (
        str(example).strip()
        if isinstance(example, str | int) and not isinstance(example, bool)
        else ""
    )
    if not name or row["label"] in ("", None):
        what = "has no id" if not name else "has no new label"
        raise BadInput(what, file=path, line=line, cure="fill it in, or remove the line")
    question, why, by = (str(row.get(key) or "") for key in ("question", "why", "by"))
    return Wanted(line, name, question, row["label"], row.get("before", UNSAID), why, by, typed)
