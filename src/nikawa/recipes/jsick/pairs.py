"""English pairs to be translated: SICK's own table, the released table of JSICK, JSON lines or records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.jsick._rows import SPLITS, header_of, label_of, read_cells, score_of
from nikawa.errors import BadInput, suggest
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import need
from nikawa.recipes.recipe import found_in
from nikawa.records import Example, Origin

SICK = (
    "pair_ID",
    "SemEval_set",
    "sentence_A",
    "sentence_B",
    "entailment_label",
    "relatedness_score",
)
RELEASED = (
    "pair_ID",
    "data",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
)
WORDS = {
    **{word: ours for word, ours in SPLITS.items() if word != "all"},
    "dev": "dev",
    "valid": "dev",
}
"""Words for a split, in any case, to ours."""


class Line(msgspec.Struct):
    """A pair of a JSON line; what else the line holds is passed over."""

    id: str | int
    premise: str = ""
    hypothesis: str = ""
    split: str = ""
    label: str = ""
    relatedness: float | str = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    gold: dict[str, Any] = {}
    meta: dict[str, Any] = {}


Row = tuple[int, Line]


def read_pairs(path: Path, licence: str) -> Iterator[Example]:
    """The English pairs of a file, with SICK's label and score as gold and the split in the meta."""
    for number, line in _lines(path) if path.name.endswith(".jsonl") else _table(path):
        more = {"url": line.url, "licence": line.licence or licence}
        yield Example(
            id=str(need(line.id, "id", path, number)),
            inputs={
                name: " ".join(str(need(getattr(line, name), name, path, number)).split())
                for name in ("premise", "hypothesis")
            },
            gold=dict(_gold(line, path, number)),
            meta={"split": _split(line.split, path, number), **found_in(path, number, **more)},
            origin=Origin(recipe="sick"),
        )


def _table(path: Path) -> Iterator[Row]:
    columns = RELEASED if "sentence_A_En" in header_of(path) else SICK
    for number, (pair, split, premise, hypothesis, label, score) in read_cells(
        path, columns, crlf=True
    ):
        yield number, Line(pair, premise, hypothesis, split, label, score)


def _lines(path: Path) -> Iterator[Row]:
    """JSON lines, flat or as records."""
    for number, line in read_json_lines(path, Line):
        given = {**line.meta, **line.inputs, **line.gold}
        for name in ("premise", "hypothesis", "split", "label", "relatedness", "url", "licence"):
            if not getattr(line, name) and name in given:
                setattr(line, name, given[name])
        yield number, line


def _gold(line: Line, path: Path, number: int) -> Iterator[tuple[str, Any]]:
    """SICK's own answers, where they are given; nobody who translates or judges sees them."""
    if line.label:
        yield "label", label_of(str(line.label).lower(), path, number)
    if line.relatedness != "":
        yield "relatedness", score_of(str(line.relatedness), path, number)


def _split(word: str, path: Path, number: int) -> str:
    if str(word).lower() not in WORDS:
        what = f"split {word!r} is none of {', '.join(WORDS)}"
        raise BadInput(what, file=path, line=number, cure=suggest(str(word), WORDS))
    return WORDS[str(word).lower()]
