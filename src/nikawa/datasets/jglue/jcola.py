"""JCoLA: acceptability of sentences from linguistics papers (completes JGLUE).

Known problems: the published label 1 is acceptable; out-of-domain sets (`ood`) are splits of their
own, never to be mixed with in-domain ones; 12 phenomena are annotated in one file of `ood` only;
`original` may be a phrase that was made a sentence; test labels are not distributed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, Source, hidden_origin
from nikawa.datasets.jglue.rows import check_labelled
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.io.tsv import read_tsv
from nikawa.records import Card, Example, Task

LABELS = ("unacceptable", "acceptable")
"""By the published label: 0, 1."""
PHENOMENA = (
    "simple",
    "Arg. Str.",
    "ellipsis",
    "filler-gap",
    "control/raising",
    "island effects",
    "NPI/NCI",
    "verbal agr.",
    "binding",
    "morphology",
    "nominal structure",
    "quantifier",
)
"""The linguistic phenomena that a sentence may be marked for, as the columns are called; they
become tags."""
BOOLEANS = {"True": True, "False": False}
"""How a table writes a mark."""


class Row(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A line of a published file; the annotated file has all fields."""

    uid: int
    source: str
    label: int | None = None
    diacritic: str | None = None
    sentence: str
    original: str | None = None
    translation: str | None = None
    gloss: str | None = None
    simple: bool = False
    argument_structure: bool = msgspec.field(default=False, name="Arg. Str.")
    ellipsis: bool = False
    filler_gap: bool = msgspec.field(default=False, name="filler-gap")
    control: bool = msgspec.field(default=False, name="control/raising")
    island: bool = msgspec.field(default=False, name="island effects")
    npi: bool = msgspec.field(default=False, name="NPI/NCI")
    agreement: bool = msgspec.field(default=False, name="verbal agr.")
    binding: bool = False
    morphology: bool = False
    nominal: bool = msgspec.field(default=False, name="nominal structure")
    quantifier: bool = False


def read(path: Path) -> Iterator[Example]:
    """The sentences of one published file, JSON lines or TSV."""
    is_table = ".tsv" in path.suffixes
    rows = read_table(path) if is_table else read_json_lines(path, Row)
    for line, row in check_labelled(rows, path):
        if row.label not in (None, 0, 1):
            raise BadInput(
                f"label {row.label} is unknown",
                file=path,
                line=line,
                cure="expected: 1 (acceptable) or 0 (unacceptable)",
            )
        values = msgspec.to_builtins(row)
        names = ("source", "diacritic", "original", "translation", "gloss")
        gold = {} if row.label is None else {"label": LABELS[row.label]}
        yield Example(
            id=str(row.uid),
            inputs={"text": row.sentence},
            gold=gold,
            tags=frozenset(name for name in PHENOMENA if values[name]),
            meta={name: values[name] for name in names if values[name]},
            origin=hidden_origin("jcola", gold),
        )


def read_table(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of the TSV form, whose cells are all text: numbers and yes or no are read from it."""
    for line, cells in read_tsv(path, needs=("uid", "source", "sentence")):
        values: dict[str, Any] = {name: cell for name, cell in cells.items() if cell}
        for name in PHENOMENA:
            if name in values:
                values[name] = BOOLEANS.get(values[name], values[name])
        try:
            # Numbers are strings in a table; nothing else is converted, so `yes` is no boolean.
            values |= {name: int(values[name]) for name in ("uid", "label") if name in values}
            yield line, msgspec.convert(values, Row)
        except (ValueError, msgspec.ValidationError) as problem:
            raise BadInput(
                str(problem), file=path, line=line, cure="compare the line with the header"
            ) from None


def _files(name: str) -> tuple[str, ...]:
    return (f"data/jcola-v*/{name}-v*.json", f"data/jcola-v*/{name}-v*.tsv")


DATASET = Benchmark(
    name="jcola",
    language="ja",
    repository="jcola",
    suite="jglue",
    suite_place=2,
    # Test is not distributed: model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=Card(
        name="jcola",
        title="JCoLA: Japanese corpus of linguistic acceptability",
        version="1.0",
        languages=("ja",),
        licence="CC BY-SA 4.0",
        citation="Someya, Sugimoto, Oseki (2024). JCoLA: Japanese Corpus of Linguistic Acceptability. LREC-COLING.",
        homepage="https://github.com/osekilab/JCoLA",
        description="Japanese example sentences of linguistics papers, acceptable or not.",
        labels="The authors' own judgements as printed (any diacritic but g is unacceptable).",
        workers="none: the judgements are those of the cited papers",
        workers_are="none",
        source="Textbooks and handbooks (in-domain) and journal articles (out-of-domain) on Japanese syntax",
        problems=(
            "About 83% of the in-domain sentences are acceptable: read accuracy together with the Matthews correlation.",
            "The test sets (865 in-domain, 686 out-of-domain) are not distributed with labels.",
        ),
    ),
    tasks=(
        Task(
            name="jcola",
            dataset="jcola",
            kind="text",
            question="label",
            inputs=("text",),
            labels=LABELS,
            metrics=("accuracy", "mcc"),
            unit="fraction",
        ),
    ),
    sources=(
        Source("train", _files("in_domain_train")),
        Source("dev", _files("in_domain_valid")),
        Source("test", _files("in_domain_test")),
        Source("ood", _files("out_of_domain_valid_annotated") + _files("out_of_domain_valid")),
        Source("ood-test", _files("out_of_domain_test_annotated") + _files("out_of_domain_test")),
    ),
    read=read,
    aliases={"ood-dev": "ood", "ood-valid": "ood"},
)
