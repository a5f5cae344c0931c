"""What the Japanese and the Korean mini-benchmark share: five tasks over one dataset, and where its
files lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.io.json import read_json_lines
from nikawa.io.records import read_examples
from nikawa.records import Card, Judgement, Task

INFERENCE_LABELS = ("entailment", "contradiction", "neutral")
ENTITY_LABELS = ("PS", "LC", "OG", "DT", "TI", "QT")
"""Person, location, organisation, date, time of day, quantity."""
WORKERS = (
    "5 simulated workers, w1 to w5, answer every inference and similarity item; no human being was asked. "
    "They are programs that start from the author's own label and err more often the higher their number; "
    "answers were drawn again where majority or mean missed that label or scores varied by 1 or more, and the seed "
    "was picked so that the workers come out in this order: agreement figures are tidier than real ones."
)


def mini(language: str, title: str, description: str) -> Benchmark:
    """The mini-benchmark of one language, from the files below `data/{language}`."""
    name, folder = f"mini-{language}", f"mini/data/{language}"

    def read_judgements(root: Path) -> Iterator[Judgement]:
        for _, judgement in read_json_lines(root / folder / "judgements.jsonl", Judgement):
            yield judgement

    return Benchmark(
        name=name,
        language=language,
        repository="",
        suite="demo",
        card=Card(
            name=name,
            title=title,
            version="1.0",
            languages=(language,),
            licence="Apache-2.0",
            citation="The Nikawa authors. The embedded mini-benchmark of Nikawa.",
            homepage="not published apart from Nikawa",
            description=description,
            labels="Inference: majority of five simulated workers; similarity: their mean; reading, choice and tagging: by the author.",
            workers=WORKERS,
            workers_are="simulated",
            source="Written for Nikawa; the people, firms and most of the places in it are invented",
            problems=(
                "The workers' answers and their seconds are simulated: fit to try the tools on, not to study people.",
                "It is far too small to rank models: one dev item of inference is 11 points of accuracy.",
                "The three hypotheses of a premise carry the three labels, so that groups are balanced by design.",
            ),
        ),
        tasks=(
            Task(
                name=f"{name}-nli",
                dataset=name,
                kind="inference",
                question="label",
                inputs=("premise", "hypothesis"),
                labels=INFERENCE_LABELS,
                metrics=("accuracy",),
            ),
            Task(
                name=f"{name}-sts",
                dataset=name,
                kind="similarity",
                question="score",
                inputs=("sentence1", "sentence2"),
                metrics=("pearson", "spearman"),
                scale=(0.0, 5.0),
            ),
            Task(
                name=f"{name}-qa",
                dataset=name,
                kind="reading",
                question="answers",
                inputs=("title", "context", "question"),
                metrics=("jsquad-em", "jsquad-f1") if language == "ja" else ("klue-em", "rouge-w"),
            ),
            Task(
                name=f"{name}-choice",
                dataset=name,
                kind="choice",
                question="choice",
                inputs=("question", "choices"),
                metrics=("accuracy",),
            ),
            Task(
                name=f"{name}-ner",
                dataset=name,
                kind="tagging",
                question="spans",
                inputs=("text",),
                labels=ENTITY_LABELS,
                metrics=("entity-macro-f1",),
            ),
        ),
        sources=tuple(
            Source(split, (f"{folder}/{split}.jsonl",)) for split in ("train", "dev", "test")
        ),
        read=read_examples,
        judgements=read_judgements,
    )
