"""The tables of PLMUTE, as pandas wrote them: a row number without a heading, the pair, its label.

The other columns differ between the challenge sets: they go into `meta`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.known import KnownFinding
from nikawa.datasets.snli.rows import LABELS
from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.io.tsv import check_header
from nikawa.records import Example

WRITTEN = {written: name for name in LABELS for written in (name, name[0])}
"""What the files write for a label, in lower case, to the label: the third set has its initial."""
META = {
    "Type": "type",
    "Temp Type": "template_type",
    "Prem Fixed": "premise_fixed",
    "Dur Type": "duration_type",
    "Next Cycle": "next_cycle",
    "Higher Duration Unit": "unit",
}
"""Columns to slice by, to their names here."""

DRAWN_TWICE = tuple(
    KnownFinding(check=check, reason="times are drawn for each template, and some are drawn twice")
    for check in ("repeated-pairs", "repeated-unordered-pairs")
)
"""Findings of `nikawa data check` that are by design."""


def read(path: Path) -> Iterator[Example]:
    """The pairs of one challenge set; ids begin with its name, because their numbers repeat."""
    name = path.name.partition("_")[0]
    for line, row in _read_rows(path):
        label = WRITTEN.get(row["Label"].lower())
        if label is None:
            raise BadInput(
                f"label {row['Label']!r} is unknown",
                file=path,
                line=line,
                cure=f"expected: {', '.join(LABELS)}",
            )
        if not row["Premise"] or not row["Hypothesis"]:
            side = "hypothesis" if row["Premise"] else "premise"
            raise BadInput(
                f"the {side} is empty", file=path, line=line, cure="is this the published file?"
            )
        meta = {"challenge": name}
        meta |= {key: row[column] for column, key in META.items() if row.get(column)}
        yield Example(
            id=f"{name}-{row['']}",
            inputs={"premise": row["Premise"], "hypothesis": row["Hypothesis"]},
            gold={"label": label},
            meta=meta,
            group=row["Premise"],
        )


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """(Line, row by column)."""
    header: list[str] = []
    cells = csv.reader((f"{line}\n" for _, line in read_lines(path)), strict=True)
    try:
        for row in cells:
            if not header:
                header = row
                check_header(header, ("", "Premise", "Hypothesis", "Label"), path)
                continue
            if len(row) != len(header):
                what = f"has {len(row)} columns, the header has {len(header)}"
                cure = "look for a stray or missing comma"
                raise BadInput(what, file=path, line=cells.line_num, cure=cure)
            yield cells.line_num, dict(zip(header, row, strict=True))
    except csv.Error as problem:
        raise BadInput(
            f"is not CSV: {problem}", file=path, line=cells.line_num, cure="fetch it again"
        ) from None
    if not header:
        raise BadInput("is empty", file=path, cure="fetch it again")
