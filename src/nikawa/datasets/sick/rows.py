"""SICK's table of pairs, which its translations keep: `SICK.txt`, `SICK_NL.txt`, `SICK_BR.txt`.

A translation has its own sentences in `sentence_A` and `sentence_B`; the ids, labels and scores are
those of SICK.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from nikawa.datasets.jsick.rows import (
    RELEASED,
    check_label,
    check_texts,
    parse_score,
    parse_split,
    parse_tags,
    read_cells,
)
from nikawa.io.lines import decode_line, numbered_lines, open_bytes
from nikawa.io.tsv import parse_rows
from nikawa.records import Card, Example

COLUMNS = (
    "pair_ID",
    "sentence_A",
    "sentence_B",
    "entailment_label",
    "relatedness_score",
    "SemEval_set",
)
"""The columns that are read."""
JSICK_FILES = (f"jsick/jsick/{RELEASED}", f"JSICK/jsick/{RELEASED}")
"""Where JSICK's table is below a data folder."""
NLI_METRICS = ("accuracy", "macro-precision", "macro-recall", "macro-f1")
STS_METRICS = ("pearson", "spearman", "mse")

make_card = partial(
    Card,
    version="1.0",
    labels="SICK's own: majority label and mean relatedness of ten workers.",
    workers="10 per pair in SICK; their answers are not published",
    workers_are="none",
)
"""The card of a dataset with SICK's table; given here is what all of them share."""


def read(path: Path) -> Iterator[Example]:
    """The pairs of a table.

    If JSICK's table is in the same data folder, each pair has the linguistic tags of its Japanese
    counterpart, found by SICK's id: JSICK's Table 14 compares languages by them.
    """
    tags = read_jsick_tags(path)
    for line, row in parse_rows(_lines(path), path, COLUMNS):
        pair, premise, hypothesis, label, score, part = (row[name] for name in COLUMNS)
        texts = check_texts(premise.strip(), hypothesis.strip(), path, line)
        jsick = tags.get(pair)
        yield Example(
            id=pair,
            inputs=texts,
            gold={
                "label": check_label(label.lower(), path, line),
                "relatedness": parse_score(score, path, line),
            },
            tags=parse_tags(jsick, path, line) if jsick else frozenset(),
            meta={"split": parse_split(part.lower(), path, line)},
            group=texts["premise"],
        )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a table; SICK-BR is published with a byte order mark."""
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            yield (
                number,
                decode_line(raw.removeprefix(BOM_UTF8) if number == 1 else raw, path, number),
            )


def read_jsick_tags(path: Path) -> dict[str, str]:
    """SICK's id to the tags of the Japanese pair; empty if JSICK's table is not in the data folder."""
    for folder in path.resolve().parents:
        for name in JSICK_FILES:
            if (folder / name).is_file():
                return {
                    pair: tags
                    for _, (pair, tags) in read_cells(folder / name, ("pair_ID", "semtag_short"))
                }
    return {}
