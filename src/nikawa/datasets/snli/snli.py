"""SNLI: English inference between a photograph's caption and a sentence that a worker wrote."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.snli.rows import inference_task, read
from nikawa.records import Card

DATASET = Benchmark(
    name="snli",
    language="en",
    repository="snli",
    instead_of_fetch="download snli_1.0.zip from https://nlp.stanford.edu/projects/snli/ and unpack it in {folder}",
    card=Card(
        name="snli",
        title="SNLI: Stanford Natural Language Inference",
        version="1.0",
        languages=("en",),
        licence="CC BY-SA 4.0",
        citation="Bowman, Angeli, Potts, Manning (2015). A large annotated corpus for learning natural language inference. EMNLP.",
        homepage="https://nlp.stanford.edu/projects/snli/",
        description="570,152 pairs of a caption and a sentence that a worker wrote to follow from it, to contradict it, or neither.",
        labels="The label that the worker was asked for, or the majority of five workers for pairs that were judged again; - without a majority.",
        workers="1 or 5 per pair; their labels are in the files and are not read",
        workers_are="none",
        source="captions of Flickr photographs; hypotheses written by workers",
        problems=(
            "The published files were not available when this reader was written: it follows the published layout.",
            "A pair whose label is - has no gold; models neither learn from it nor are scored on it.",
        ),
    ),
    tasks=(inference_task("snli"),),
    sources=tuple(
        Source(
            split,
            tuple(
                f"{folder}snli_1.0_{split}.{suffix}"
                for suffix in ("jsonl", "txt")
                for folder in ("", "snli_1.0/")
            ),
        )
        for split in ("train", "dev", "test")
    ),
    read=read,
)
