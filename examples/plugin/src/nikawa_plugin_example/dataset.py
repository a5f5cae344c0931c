"""politeness-ja: is a Japanese sentence polite (です・ます) or plain?

The files are in the folder `data/` of this package, with one record per line (see docs/records.md). A dataset that
users download themselves declares `repository` instead of `folder`.
"""

from __future__ import annotations

from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.io.records import read_examples
from nikawa.records import Card, Task

NAME = "politeness-ja"

DATASET = Benchmark(
    name=NAME,
    language="ja",
    repository="",
    folder=Path(__file__).parent / "data",
    card=Card(
        name=NAME,
        title="Polite or plain",
        version="0.1",
        languages=("ja",),
        licence="Apache-2.0",
        citation="The authors of the plug-in. Polite or plain.",
        homepage="not published",
        description="14 Japanese sentences, each polite or plain.",
        labels="By the author.",
        workers="None.",
        workers_are="none",
        source="Written for this template.",
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="text",
            question="label",
            inputs=("text",),
            labels=("polite", "plain"),
            metrics=("accuracy", "balanced-accuracy"),
        ),
    ),
    sources=(Source("train", ("train.jsonl",)), Source("dev", ("dev.jsonl",))),
    read=read_examples,
)
