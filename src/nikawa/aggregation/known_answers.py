"""Sheets that go with judgements, the known answers and the decided ties: they must be about items that were judged."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

from nikawa.aggregation.files import read_known
from nikawa.aggregation.table import Table
from nikawa.aggregation.tie_sheet import read_rows
from nikawa.errors import BadInput, suggest

NEAR = 1000
"""Items a suggestion is looked for among."""


def known_answers(path: Path | None, table: Table) -> dict[str, Any] | None:
    """The known answers, labels in NFC as the judgements have them; refused where none is about an item that was judged."""
    if path is None:
        return None
    found = read_known(path, table.question)
    items = set(table.items)
    if not any(item in items for item in found):
        what = f"none of its {len(found):,} known answers is about an item that was judged"
        cure = _near(next(iter(found), ""), table)
        raise BadInput(what, file=path, cure=cure)
    return {item: normalize("NFC", a) if isinstance(a, str) else a for item, a in found.items()}


def check_decided(path: Path, tables: Mapping[str, Table]) -> None:
    """Refuse a sheet of ties that decides about an item nobody judged."""
    tables = {name or table.question: table for name, table in tables.items()}
    items = {question: set(table.items) for question, table in tables.items()}
    heard = False
    for line, row in read_rows(path, ("example", "question", "answer")):
        example, question = row["example"], row["question"]
        heard = heard or question in items
        if row["answer"].strip() and question in items and example not in items[question]:
            what = f"decides about {example!r}, which nobody judged"
            raise BadInput(what, file=path, line=line, cure=_near(example, tables[question]))
    if not heard:
        what = "decides no question that is aggregated"
        cure = f"the column question says {' or '.join(tables)}"
        raise BadInput(what, file=path, cure=cure)


def _near(item: str, table: Table) -> str:
    return suggest(item, islice(table.items, NEAR))
