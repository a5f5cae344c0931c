"""MARC-ja: product reviews, positive or negative (JGLUE).

Known problems: Amazon withdrew the reviews, so only holders of an old copy have this set. It is
read as the authors' converter wrote it (`datasets/marc_ja-v*/`), else made from the raw reviews and
the id lists of the repository. The converter's test file has no labels; made from the raw file,
test is labelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, Source, hidden_origin, report_examples
from nikawa.datasets.jglue.marc_ja_raw import LABELS, LISTS, Lists, read_lists, read_raw
from nikawa.datasets.jglue.rows import check_label, check_labelled, make_card, sources
from nikawa.io.json import read_json_lines
from nikawa.records import Dataset, Example, Finding, Task

RAW = "amazon_reviews_multilingual_JP_v1_00.tsv"
"""What Amazon called the file of all Japanese reviews, packed or not."""


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the converted file."""

    sentence: str
    review_id: str
    label: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The reviews of one converted file, or of all splits where `path` is the raw TSV."""
    if ".tsv" in path.suffixes:
        yield from read_raw(path)
        return
    for line, row in check_labelled(read_json_lines(path, Row), path):
        gold = {} if row.label is None else {"label": check_label(row.label, LABELS, path, line)}
        yield Example(
            id=row.review_id,
            inputs={"text": row.sentence},
            gold=gold,
            origin=hidden_origin("marc-ja", gold),
        )


def split_of(example: Example) -> str:
    """The split of an example made from the raw file.

    Empty for a converted one, whose file tells.
    """
    return str(example.meta.get("split", ""))


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """What the id lists of the repository ask for, and whether dev and test were made with them."""
    if not (folder / LISTS).is_dir():
        return
    lists = read_lists(folder / LISTS)
    for split in lists.labels:
        if split in dataset.splits:
            yield from list_problems(split, lists, dataset)


def list_problems(split: str, lists: Lists, dataset: Dataset) -> Iterator[Finding]:
    """What the id lists say of one split, and the examples that they should have changed and did
    not.
    """
    dropped, labels = lists.dropped[split], lists.labels[split]
    note = "reviews left out, fewer than 7 of 10 workers agreeing"
    yield Finding(check="filtered-reviews", where=split, count=len(dropped), note=note)
    counts = Counter(labels.values())
    turned = ", ".join(f"{counts[name]} to {name}" for name in LABELS)
    note = f"reviews whose label workers turned over: {turned}"
    yield Finding(check="relabelled-reviews", where=split, count=len(labels), note=note)
    left, by_stars = [], []
    for example in dataset.splits[split]:
        if example.id in dropped:
            left.append(example)
        label = example.gold.get("label")
        if label is not None and label != labels.get(example.id, label):
            by_stars.append(example)
    note = "converted without the filter lists"
    yield from report_examples("unfiltered-reviews", dataset, split, left, note)
    note = "converted without the label lists"
    yield from report_examples("labels-by-stars", dataset, split, by_stars, note)


DATASET = Benchmark(
    name="marc-ja",
    language="ja",
    repository="jglue",
    suite="jglue",
    suite_place=1,
    # Labels of test came with v1.2, in 2025: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    further_files=("preprocess/marc-ja/*",),
    withdrawn="the reviews themselves were withdrawn by Amazon and cannot be fetched, only JGLUE's lists of review ids; "
    "a copy of the reviews you already have can be converted",
    instead_of_fetch=f"the reviews were withdrawn and cannot be fetched: put your own copy of {RAW}.gz into {{folder}}, or use marc-ja@FILE",
    card=make_card(
        name="marc-ja",
        title="MARC-ja: sentiment of Japanese product reviews (JGLUE)",
        licence="the conversion and id lists CC BY-SA 4.0; the reviews under Amazon's own terms, withdrawn",
        description="Japanese product reviews of at most 500 characters, positive (4, 5 stars) or negative (1, 2).",
        labels="By the stars; in dev and test replaced by the answer of at least 7 of 10 workers, or the review left out.",
        workers="none in train, 10 a review in dev and test; answers not published",
        source="Multilingual Amazon Reviews Corpus, Japanese part (Keung et al., 2020)",
        problems=(
            "The reviews are no longer distributed.",
            "About 88% of train is positive.",
            "Labels of train are stars, those of dev and test are workers' answers.",
        ),
    ),
    tasks=(
        Task(
            name="marc-ja",
            dataset="marc-ja",
            kind="text",
            question="label",
            inputs=("text",),
            labels=LABELS,
            metrics=("accuracy",),
            unit="fraction",
        ),
    ),
    sources=(
        *sources("marc_ja"),
        Source(
            "",
            (f"**/{RAW}", f"**/{RAW}.gz", f"**/{RAW}.zst"),
            fallback=True,
            holds=("train", "dev", "test"),
        ),
    ),
    read=read,
    split_of=split_of,
    find_problems=find_problems,
)
