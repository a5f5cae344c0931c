"""The English side of JSICK: SICK's own sentences, labels and scores under the same ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import (
    LABELS,
    check_label,
    check_texts,
    meta_of,
    parse_score,
    parse_split,
    parse_tags,
    read_pairs,
)
from nikawa.errors import BadInput
from nikawa.records import Card, Example, Task


def read(path: Path) -> Iterator[Example]:
    """The English pairs of one published file; the tags are those of the Japanese pair."""
    for line, row in read_pairs(path):
        if not (row.premise_en or row.hypothesis_en):
            raise BadInput(
                "the English side is empty", file=path, line=line, cure="read jsick.tsv instead"
            )
        yield Example(
            id=row.pair,
            inputs=check_texts(row.premise_en, row.hypothesis_en, path, line),
            gold={
                "label": check_label(row.label_en, path, line),
                "relatedness": parse_score(row.score_en, path, line),
            },
            tags=parse_tags(row.tags, path, line),
            meta=meta_of(row, parse_split(row.data, path, line)),
            group=row.premise_en,
        )


DATASET = Benchmark(
    name="jsick-en",
    language="en",
    repository="jsick",
    suite="jsick",
    suite_place=2,
    further_files=("jsick/*",),
    card=Card(
        name="jsick-en",
        title="SICK, as released beside JSICK",
        version="1.0",
        languages=("en",),
        licence="CC BY-SA 4.0",
        citation="Marelli et al. (2014). A SICK cure for the evaluation of compositional distributional semantic models. LREC. Released with Yanaka, Mineshima (2022), TACL 10.",
        homepage="https://github.com/verypluming/JSICK",
        description="The 9,927 English pairs JSICK was translated from, under the same ids and in the same splits.",
        labels="SICK's own: majority label and mean relatedness of ten workers. A corrected label of Kalouli et al. (2017) is kept as corrected_ab and corrected_ba where there is one.",
        workers="10 a pair in SICK; their answers are not published here",
        workers_are="none",
        source="captions of Flickr photographs and of video clips, rewritten by rule",
        problems=(
            "The tags were found in the Japanese sentences; the English ones need not show the phenomenon.",
            "381 pairs carry a corrected label, which is not the gold one.",
        ),
    ),
    tasks=(
        Task(
            name="jsick-en-nli",
            dataset="jsick-en",
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=LABELS,
            metrics=("accuracy", "macro-precision", "macro-recall", "macro-f1"),
        ),
        Task(
            name="jsick-en-sts",
            dataset="jsick-en",
            kind="similarity",
            question="relatedness",
            inputs=("premise", "hypothesis"),
            metrics=("pearson", "spearman", "mse"),
            scale=(1.0, 5.0),
        ),
    ),
    sources=(Source("", ("jsick/jsick.tsv",), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
)
