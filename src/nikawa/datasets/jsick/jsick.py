"""JSICK: SICK translated into Japanese and judged anew, for inference and similarity.

Known problems: only `jsick.tsv` is complete; `train.tsv` mixes train and trial, holds the Japanese side alone and
numbers its rows where the others have SICK's ids; four sentences differ between the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick._answers import counted, judgements
from nikawa.datasets.jsick._rows import (
    LABELS,
    Row,
    label_of,
    meta_of,
    need_texts,
    read_pairs,
    score_of,
    split_of_word,
    tags_of,
)
from nikawa.records import Card, Dataset, Example, Finding, Task


def read(path: Path) -> Iterator[Example]:
    """The Japanese pairs of one published file.

    The group is the premise: a premise comes with several hypotheses, and a model that misreads it fails
    on all of them, so pairs that share one are not independent.
    """
    for line, row in read_pairs(path):
        if not (row.data or row.score or row.premise_en):
            yield _train_file_pair(row, path, line)
            continue
        yield Example(
            id=row.pair,
            inputs=need_texts(row.premise, row.hypothesis, path, line),
            gold={
                "label": label_of(row.label, path, line),
                "relatedness": score_of(row.score, path, line),
            },
            tags=tags_of(row.tags, path, line),
            meta=meta_of(row, split_of_word(row.data, path, line)),
            group=row.premise,
        )


def _train_file_pair(row: Row, path: Path, line: int) -> Example:
    """A row of `train.tsv`: its number is not SICK's id, so the id is given another form."""
    return Example(
        id=f"train.tsv-{row.pair}",
        inputs=need_texts(row.premise, row.hypothesis, path, line),
        gold={"label": label_of(row.label, path, line)},
        meta={"split": "train"},
        group=row.premise,
    )


def split_of(example: Example) -> str:
    """The split the files name; `all` where none does."""
    return str(example.meta["split"])


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """What is special to these files; only those that are there are looked at."""
    from nikawa.datasets.jsick._traps import jsick_traps

    return jsick_traps(folder, dataset)


DATASET = Benchmark(
    name="jsick",
    language="ja",
    repository="jsick",
    card=Card(
        name="jsick",
        title="JSICK: Japanese Sentences Involving Compositional Knowledge",
        version="1.0",
        languages=("ja",),
        licence="CC BY-SA 4.0",
        citation="Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10.",
        homepage="https://github.com/verypluming/JSICK",
        description="9,927 pairs of Japanese sentences, translated from SICK, with an inference label and a relatedness from 1 to 5.",
        labels="Inference: majority of three workers' answers, checked by the authors, who decided the ties. Relatedness: mean of the answers, one decimal.",
        workers="3 answers a pair from 6 native speakers (Lancers), chosen by ten test questions; published as three columns",
        workers_are="columns",
        source="SICK (captions of Flickr photographs and of video clips, rewritten by rule), translated sentence by sentence by one expert",
        problems=(
            "The pair_ID of train.tsv is a row number, not SICK's id: join on the sentences, or read jsick.tsv.",
            "Four sentences (567, 1251, 3451, 7101) were corrected in jsick.tsv only.",
            "4,000 relatedness scores (ids 601 to 4653) are means of two answers: the third is written in a full-width digit and was left out.",
            "The gold label of 912 and 7284 is not the majority of the published answers.",
            "Five cells of the workers' answers are blank (labels of 7311 and 7454, scores of 5688, 7310 and 7311).",
            "123 pairs occur more than once, two of them with different labels; 87 test pairs occur in train or dev.",
        ),
    ),
    tasks=(
        Task(
            name="jsick-nli",
            dataset="jsick",
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=LABELS,
            metrics=("accuracy", "macro-precision", "macro-recall", "macro-f1"),
        ),
        Task(
            name="jsick-sts",
            dataset="jsick",
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
    judgements=judgements,
    counted=counted,
    find_problems=find_problems,
)
