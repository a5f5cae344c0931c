"""The pairs of SNLI's layout, which MultiNLI and many translations share: JSON lines or a table.

Both have `gold_label`, `sentence1` and `sentence2`; ids, captions and genres where there are any.
`-` for a label means that the workers did not agree: such a pair has no gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.datasets.jglue.rows import check_label
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.io.lines import read_lines
from nikawa.io.tsv import parse_rows
from nikawa.records import Example, Task

LABELS = ("entailment", "contradiction", "neutral")
NO_AGREEMENT = "-"
"""The label of a pair on which the workers did not agree."""
JSON_SUFFIXES = (".jsonl", ".json")


class Row(msgspec.Struct):
    """The fields of a pair that are read; the files have more, such as parses."""

    gold_label: str
    sentence1: str
    sentence2: str
    pairID: str = ""  # noqa: N815  (the name in the files)
    captionID: str = ""  # noqa: N815
    """The photograph and the caption that the premise is."""
    genre: str = ""


def read(path: Path) -> Iterator[Example]:
    """The pairs of one file."""
    seen: Counter[str] = Counter()
    for line, row in _read_rows(path):
        for name, text in (("sentence1", row.sentence1), ("sentence2", row.sentence2)):
            if not text.strip():
                raise BadInput(
                    f"{name} is empty", file=path, line=line, cure="is this the published file?"
                )
        label = row.gold_label
        gold = {} if label == NO_AGREEMENT else {"label": check_label(label, LABELS, path, line)}
        pair = row.pairID or str(line)
        seen[pair] += 1
        meta = {"genre": row.genre} if row.genre else {}
        if row.captionID:
            meta["caption"] = row.captionID
        yield Example(
            # a repeated id gets a number, so that no pair is lost
            id=pair if seen[pair] == 1 else f"{pair}.{seen[pair]}",
            inputs={"premise": row.sentence1, "hypothesis": row.sentence2},
            gold=gold,
            meta=meta,
            group=row.captionID or row.sentence1,
        )


def _read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    if any(suffix in path.suffixes for suffix in JSON_SUFFIXES):
        yield from read_json_lines(path, Row)
        return
    needs = ("gold_label", "sentence1", "sentence2")
    # the last cells of a row, the labels of single workers, may be missing
    for line, cells in parse_rows(read_lines(path), path, needs, cut=True):
        yield line, msgspec.convert(cells, Row)


def inference_task(name: str) -> Task:
    """The question about a pair: its label."""
    return Task(
        name=name,
        dataset=name,
        kind="inference",
        question="label",
        inputs=("premise", "hypothesis"),
        labels=LABELS,
        metrics=("accuracy",),
    )
