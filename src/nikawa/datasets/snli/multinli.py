"""MultiNLI: English inference in ten genres, in SNLI's layout."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, RunProtocol, Source
from nikawa.datasets.snli.rows import inference_task, read
from nikawa.records import Card

FILES = {"train": "train", "dev": "dev_matched", "dev-mismatched": "dev_mismatched"}
"""Our name of a split to that in the name of its file."""

DATASET = Benchmark(
    name="multinli",
    language="en",
    repository="multinli",
    instead_of_fetch="download multinli_1.0.zip from https://cims.nyu.edu/~sbowman/multinli/ and unpack it in {folder}",
    card=Card(
        name="multinli",
        title="MultiNLI: Multi-Genre Natural Language Inference",
        version="1.0",
        languages=("en",),
        licence="see the corpus: most of it under the licence of the Open American National Corpus",
        citation="Williams, Nangia, Bowman (2018). A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference. NAACL.",
        homepage="https://cims.nyu.edu/~sbowman/multinli/",
        description="433 thousand pairs of a sentence of ten genres and a sentence that a worker wrote to follow from it, to contradict it, or neither.",
        labels="The label that the worker was asked for, or the majority of five workers for pairs of dev; - without a majority.",
        workers="1 or 5 per pair; their labels are in the files and are not read",
        workers_are="none",
        source="the Open American National Corpus and other sources in ten genres; hypotheses written by workers",
        problems=(
            "The published files were not available when this reader was written: it follows the published layout.",
            "A pair whose label is - has no gold; models neither learn from it nor are scored on it.",
            "The labels of the test sets are not published: dev has the genres of train, dev-mismatched other ones.",
        ),
    ),
    tasks=(inference_task("multinli"),),
    sources=tuple(
        Source(
            split,
            tuple(
                f"{folder}multinli_1.0_{name}.{suffix}"
                for suffix in ("jsonl", "txt")
                for folder in ("", "multinli_1.0/")
            ),
        )
        for split, name in FILES.items()
    ),
    read=read,
    protocol=RunProtocol(reported_on="dev"),
)
