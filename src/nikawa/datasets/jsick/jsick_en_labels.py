"""JSICK's Japanese pairs with the labels and scores of SICK: `Ja (L-En)` in the paper's Tables 12 to 14."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import make_card, make_example, pair_tasks, read_pairs
from nikawa.errors import BadInput
from nikawa.records import Example


def read(path: Path) -> Iterator[Example]:
    """The Japanese pairs of one published file with SICK's labels and scores."""
    for line, row in read_pairs(path):
        if not row.label_en:
            raise BadInput(
                "the English side is empty", file=path, line=line, cure="read jsick.tsv instead"
            )
        texts = (row.premise, row.hypothesis)
        yield make_example(row, texts, row.label_en, row.score_en, path, line)


DATASET = Benchmark(
    name="jsick-en-labels",
    language="ja",
    repository="jsick",
    further_files=("jsick/*",),
    relabels="jsick",
    card=make_card(
        name="jsick-en-labels",
        title="JSICK with the labels of SICK",
        languages=("ja",),
        citation="Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10.",
        description="The 9,927 Japanese pairs of JSICK with SICK's labels and scores, for comparisons between languages.",
        labels="SICK's own: majority label and mean relatedness of ten workers, who judged the English sentences.",
        workers="10 per pair in SICK; their answers are not published here",
        workers_are="none",
        source="SICK (captions of Flickr photographs and of video clips, rewritten by rule), translated sentence by sentence by one expert",
        problems=(
            "The labels are those of the English sentences; jsick has the labels that Japanese workers gave.",
            "The confusion matrix of Ja (L-En) in the paper's Table 13 has the Japanese labels in its rows, against its caption.",
        ),
    ),
    tasks=pair_tasks(
        "jsick-en-labels",
        ("accuracy", "macro-precision", "macro-recall", "macro-f1"),
        ("pearson", "spearman", "mse"),
    ),
    sources=(Source("", ("jsick/jsick.tsv",), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
)
