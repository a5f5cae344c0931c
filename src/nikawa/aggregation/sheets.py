"""Sheets that people fill in and give back: decisions, and answers that are known to be right.

A sheet is written with a byte order mark and no formulas, as spreadsheets open it. It is read in any form they save: UTF-8
with and without a mark and UTF-16, ends of lines of any kind, tabs or commas between cells, quoted cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any
from unicodedata import normalize

import msgspec

from nikawa.aggregation.decisions import Decision
from nikawa.aggregation.judgements import load_examples
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import holds_trees
from nikawa.errors import BadInput, suggest
from nikawa.io.hand_edited import read_lines
from nikawa.io.json import encode_json
from nikawa.io.judgements.formula_escape import guard_cell, unguard_cell
from nikawa.io.judgements.remarks import OVERRIDE, TIES
from nikawa.io.tsv import check_header

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TIE_COLUMNS = ("example", "question", "votes", "answer")
"""Columns of the sheet of ties; `answer` is for a person to fill in, the inputs follow."""
READ_COLUMNS = (*TIE_COLUMNS, "person", "reason", "at", "decides", "earlier")
"""Columns of a sheet of decisions that are read."""
MAX_ITEMS_SUGGESTED = 1000
"""Items a suggestion is looked for among."""


def name_input_column(name: str, inputs: Iterable[str]) -> str:
    """The column of an input; one that is called like a column of the sheet itself gets another name.

    >>> name_input_column("context", ()), name_input_column("question", ())
    ('context', 'input question')
    """
    column, others = name.strip() or "input", {one for one in inputs if one != name}
    while column in READ_COLUMNS or column in others:
        column = f"input {column}"
    return column


def write_sheet(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of values, each on one line, tabs between them."""
    with io.StringIO() as text:
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        for row in rows:
            cells = []
            for value in row:
                text_of_cell = value if isinstance(value, str) else encode_json(value).decode()
                cells.append(guard_cell(" ".join(text_of_cell.split())))
            writer.writerow(cells)
        path.write_bytes(BYTE_ORDER_MARK + text.getvalue().encode())


def read_sheet(path: Path, needs: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(Line number, row by column); what a spreadsheet would have run is bare again."""
    lines = [text for _, text in read_lines(path)]
    if not lines:
        raise BadInput("is empty", file=path, cure="write a header line and rows")
    rows = _split_cells(lines)
    _, header = next(rows)
    check_header(header, needs, path)
    for number, cells in rows:
        if not any(cells):  # spreadsheets keep emptied rows
            continue
        if len(cells) > len(header):
            what = f"has {len(cells)} columns, the header has {len(header)}"
            raise BadInput(what, file=path, line=number, cure="look for a stray tab or comma")
        # some leave the tabs of empty cells at the end out
        whole = zip_longest(header, cells, fillvalue="")
        yield number, {name: unguard_cell(cell) for name, cell in whole}


def _split_cells(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(Line number, cells) of a sheet with commas, or with tabs: there only quote marks around a cell are no text."""
    if "\t" not in lines[0]:
        reader = csv.reader(f"{line}\n" for line in lines)
        for cells in reader:
            yield reader.line_num, cells
        return
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t")
        for place, cell in enumerate(cells):
            if len(cell) > 1 and cell[0] == cell[-1] == '"':
                cells[place] = cell[1:-1].replace('""', '"')
        yield number, cells


# Decisions


@dataclass(frozen=True)
class DecisionSheet:
    """A sheet of decisions: ties that were filled in, or what `nikawa collect export --to decisions` wrote."""

    path: Path
    rows: tuple[Decision, ...]
    """In the order of the sheet; the earlier decisions of a project come before the one that replaced them."""

    @property
    def answers(self) -> dict[str, dict[str, Any]]:
        """Question to item to answer."""
        answers: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            answers.setdefault(row.question, {})[row.example] = row.answer
        return answers

    def check(self, tables: Mapping[str, Table]) -> None:
        """Refuse a sheet that decides about an item without judgements; `tables` are by question."""
        items = {question: set(table.items) for question, table in tables.items()}
        for row in self.rows:
            judged = items.get(row.question)
            if judged is not None and row.example not in judged and not row.is_checked:
                what = f"decides about {row.example!r}, which has no judgements"
                cure = _suggest_item(row.example, tables[row.question])
                raise BadInput(what, file=self.path, line=row.line, cure=cure)
        if not any(row.question in items for row in self.rows):
            what = "decides no question that is aggregated"
            cure = f"write one of these into the column question: {' or '.join(tables)}"
            raise BadInput(what, file=self.path, cure=cure)


def read_decisions(path: Path) -> DecisionSheet:
    """Read a sheet of decisions; rows without an answer are not decided.

    The columns `at`, `decides` and `earlier` are those of a project: its form held the decision to its rules, and its sheet
    says when it was taken, how it counts and which ones it replaced. Without them a person filled the sheet in: an item may be
    decided once.
    """
    rows: list[Decision] = []
    lines: dict[tuple[str, str], int] = {}
    for line, row in read_sheet(path, ("example", "question", "answer")):
        answer = normalize("NFC", unguard_cell(row["answer"].strip()))
        name = row["question"], row["example"]
        if lines.setdefault(name, line) != line:
            what, cure = f"{row['example']!r} is decided twice", "keep one line per item"
            raise BadInput(what, file=path, line=line, cure=cure)
        if not answer:
            continue
        at = row.get("at", "").strip()
        decision = Decision(
            example=row["example"],
            question=row["question"],
            answer=answer,
            by=row.get("person", "").strip(),
            reason=row.get("reason", "").strip(),
            at=at or None,
            way=TIES if row.get("decides", "").strip() == TIES else OVERRIDE,
            is_checked=bool(at),
            file=path,
            line=line,
        )
        rows += [*read_earlier(row.get("earlier", ""), decision), decision]
    return DecisionSheet(path, tuple(rows))


class EarlierDecision(msgspec.Struct, frozen=True):
    """A decision that a later one replaced, in the column `earlier`."""

    answer: Any
    person: str = ""
    reason: str = ""
    at: str | None = None


def read_earlier(cell: str, decision: Decision) -> Iterator[Decision]:
    """The decisions that `decision` replaced, from a cell that holds them as JSON."""
    if not cell.strip():
        return
    try:
        earlier = msgspec.json.decode(cell, type=list[EarlierDecision])
    except msgspec.MsgspecError:
        cure = "keep the column as `nikawa collect export` wrote it, or empty it"
        what = "the column earlier does not contain a list of decisions"
        raise BadInput(what, file=decision.file, line=decision.line, cure=cure) from None
    for one in earlier:
        yield replace(decision, answer=one.answer, by=one.person, reason=one.reason, at=one.at)


# Known answers


def read_known_answers(
    path: Path | None, table: Table, *, hidden: bool = False
) -> dict[str, Any] | None:
    """The known answers by item, labels in NFC as the judgements have them.

    Raises `BadInput` where none is about an item that was judged, and for hidden labels unless
    `hidden` is set.
    """
    if path is None:
        return None
    answers = read_known(path, table.question, hidden=hidden)
    items = set(table.items)
    if not any(item in items for item in answers):
        what = f"none of its {len(answers):,} known answers is about an item that was judged"
        first = next(iter(answers), "")
        raise BadInput(what, file=path, cure=_suggest_item(first, table))
    kind = find_kind(table)
    are_structures = kind is not None or holds_spans(table) or holds_trees(table)
    for item, answer in answers.items():
        if isinstance(answer, str):
            answers[item] = normalize("NFC", answer)
        elif isinstance(answer, list | dict) and item in items and not are_structures:
            what = f"the known answer to {item!r} is a list or an object, the workers' are not"
            raise BadInput(what, file=path, cure="write one value per item")
    return answers


def read_known(path: Path, question: str, *, hidden: bool = False) -> dict[str, Any]:
    """Known answers by item: a sheet with the columns example and answer, or examples with gold.

    How often workers are right about a hidden item tells its label, an answer at a time: a file
    with hidden items is refused unless `hidden` is set.
    """
    if path.name.endswith((".tsv", ".csv")):
        answers: dict[str, Any] = {}
        for _, row in read_sheet(path, ("example", "answer")):
            try:
                number = float(row["answer"])
            except ValueError:
                answers[row["example"]] = row["answer"]
            else:
                answers[row["example"]] = int(number) if number.is_integer() else number
        return answers
    examples = load_examples(str(path), str(path), None, hidden=hidden) or {}
    count = len({id(example) for example in examples.values() if example.hidden})
    if count and not hidden:
        what = f"the labels of {count:,} of its examples are hidden"
        cure = "remove these examples; if you own the labels, pass --hidden"
        raise BadInput(what, file=path, cure=cure)
    answers = {
        item: example.gold[question]
        for item, example in examples.items()
        if question in example.gold
    }
    if not answers:
        cure = "pass examples with gold, or a sheet with the columns example and answer"
        raise BadInput(f"contains no gold for {question!r}", file=path, cure=cure)
    return answers


def _suggest_item(item: str, table: Table) -> str:
    return suggest(item, islice(table.items, MAX_ITEMS_SUGGESTED))
