"""The English side of JSICK: SICK's own sentences, labels and scores under the same ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import (
    make_card,
    make_example,
    pair_tasks,
    read_pairs,
)
from nikawa.errors import BadInput
from nikawa.records import Example


def read(path: Path) -> Iterator[Example]:
    """The English pairs of one published file; the tags are those of the Japanese pair."""
    for line, row in read_pairs(path):
        if not (row.premise_en or row.hypothesis_en):
            raise BadInput(
                "the English side is empty", file=path, line=line, cure="read jsick.tsv instead"
            )
        texts = (row.premise_en, row.hypothesis_en)
        yield make_example(row, texts, row.label_en, row.score_en, path, line)


DATASET = Benchmark(
    name="jsick-en",
    language="en",
    repository="jsick",
    suite="jsick",
    suite_place=2,
    further_files=("jsick/*",),
    card=make_card(
        name="jsick-en",
        title="SICK, as released with JSICK",
        languages=("en",),
        citation="Marelli et al. (2014). A SICK cure for the evaluation of compositional distributional semantic models. LREC. Released with Yanaka, Mineshima (2022), TACL 10.",
        description="The 9,927 English pairs JSICK was translated from, under the same ids and in the same splits.",
        labels="SICK's own: majority label and mean relatedness of ten workers. A corrected label of Kalouli et al. (2017) is kept as corrected_ab and corrected_ba where there is one.",
        workers="10 per pair in SICK; their answers are not published here",
        workers_are="none",
        source="captions of Flickr photographs and of video clips, rewritten by rule",
        problems=(
            "The tags were found in the Japanese sentences; the English ones need not show the phenomenon.",
            "381 pairs carry a corrected label, which is not the gold one.",
        ),
    ),
    tasks=pair_tasks(
        "jsick-en",
        ("accuracy", "macro-precision", "macro-recall", "macro-f1"),
        ("pearson", "spearman", "mse"),
    ),
    sources=(Source("", ("jsick/jsick.tsv",), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
)
