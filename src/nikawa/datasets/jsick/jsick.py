"""JSICK: SICK translated into Japanese and judged again, for inference and similarity.

Known problems: only `jsick.tsv` is complete; `train.tsv` mixes train and trial, holds the Japanese
side alone and numbers its rows where the others have SICK's ids; four sentences differ between the
files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.answers import (
    Answers,
    gold_judgements,
    judgements,
    majority,
    narrow,
    read_answers,
)
from nikawa.datasets.jsick.rows import (
    ANSWERS,
    RELEASED,
    SPLITS,
    Row,
    check_label,
    check_texts,
    make_card,
    make_example,
    pair_tasks,
    read_pairs,
)
from nikawa.records import Dataset, Example, Finding, reference

NUMBERED = "train.tsv-"
"""What the reader puts before the row numbers of `train.tsv`."""
KNOWN = {
    ("train-file-ids", "train.tsv"): 4997,
    ("train-file-ids", "train"): 4997,
    ("texts-differ", "train.tsv"): 3,
    ("texts-differ", "test.tsv"): 1,
    ("texts-differ", ANSWERS): 4,
    ("full-width-scores", ANSWERS): 4000,
    ("gold-not-mean", ANSWERS): 3623,
    ("gold-not-majority", ANSWERS): 2,
    ("no-majority", ANSWERS): 46,
    ("blank-labels", ANSWERS): 2,
    ("blank-scores", ANSWERS): 3,
    ("conflicting-labels", "train+dev+test"): 2,
    ("conflicting-labels", "test"): 1,
}
"""How many the published files hold; another count is news."""


def read(path: Path) -> Iterator[Example]:
    """The Japanese pairs of one published file."""
    for line, row in read_pairs(path):
        if row.data or row.score or row.premise_en:
            texts = (row.premise, row.hypothesis)
            yield make_example(row, texts, row.label, row.score, path, line)
            continue
        # A row of `train.tsv`: its number is not SICK's id, so the id is given another form.
        yield Example(
            id=f"{NUMBERED}{row.pair}",
            inputs=check_texts(row.premise, row.hypothesis, path, line),
            gold={"label": check_label(row.label, path, line)},
            meta={"split": "train"},
            group=row.premise,
        )


def split_of(example: Example) -> str:
    """The split the files name; `all` where none does."""
    return str(example.meta["split"])


class _Text(NamedTuple):
    """A row of `train.tsv`."""

    pair: str
    premise: str
    hypothesis: str


Pairs = dict[str, Row]


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Ids that mislead, texts that differ between the files, and gold that does not follow the
    answers.

    Only the files that are there are looked at.
    """
    yield from conflicting_labels(dataset)
    root = folder / "jsick"
    pairs: Pairs = {}
    if (root / RELEASED).is_file():
        pairs = {row.pair: row for _, row in read_pairs(root / RELEASED)}
    numbered = [e for e in dataset.splits.get("train", ()) if e.id.startswith(NUMBERED)]
    if numbered:
        rows = [_Text(e.id.removeprefix(NUMBERED), *e.inputs.values()) for e in numbered]
        yield from _misleading_ids("train", rows, pairs)
    if numbered or not pairs:
        return
    if (root / "train.tsv").is_file():
        rows = [
            _Text(row.pair, row.premise, row.hypothesis)
            for _, row in read_pairs(root / "train.tsv")
        ]
        yield from _misleading_ids("train.tsv", rows, pairs)
        texts = {(row.premise, row.hypothesis) for row in rows}
        absent = [
            row
            for row in pairs.values()
            if row.data != "test" and (row.premise, row.hypothesis) not in texts
        ]
        yield from _older_texts("train.tsv", absent)
    for name in ("test.tsv", ANSWERS):
        if (root / name).is_file():
            changed = []
            for _, row in read_pairs(root / name):
                new = pairs.get(row.pair, row)
                if (row.premise, row.hypothesis) != (new.premise, new.hypothesis):
                    changed.append(new)
            yield from _older_texts(name, changed)
    if (root / ANSWERS).is_file():
        answers = [row for row in read_answers(root / ANSWERS) if row.pair in pairs]
        for check, (count_in, note) in ANSWER_CHECKS.items():
            counts = {_reference(pairs[row.pair]): count_in(row) for row in answers}
            ids = [name for name, count in counts.items() if count]
            yield from _report(check, ANSWERS, ids, note, count=sum(counts.values()))


def conflicting_labels(dataset: Dataset) -> Iterator[Finding]:
    """Pairs that occur more than once, with more than one label."""
    labels: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for split, examples in dataset.splits.items():
        for example in examples:
            key = (example.inputs["premise"], example.inputs["hypothesis"])
            labels[key][reference(dataset.name, split, example.id)] = example.gold["label"]
    repeated = [by_name for by_name in labels.values() if len(set(by_name.values())) > 1]
    ids = [name for by_name in repeated for name in by_name]
    note = "the same two sentences in the same order, with different labels"
    where = "+".join(dataset.splits)
    yield from _report("conflicting-labels", where, ids, note, count=len(repeated))


def _misleading_ids(where: str, rows: Sequence[_Text], pairs: Pairs) -> Iterator[Finding]:
    """How far `train.tsv` is from the released pairs, joined by id and joined by text."""
    if not pairs:
        note = (
            f"pair_ID is a row number, not SICK's id; get {RELEASED} and join on the two sentences"
        )
        every = tuple(reference("jsick", "train", NUMBERED + row.pair) for row in rows)
        yield Finding(
            check="train-file-ids", where=where, count=len(rows), ids=every, note=note, known=True
        )
        return
    texts = {(row.premise, row.hypothesis) for row in pairs.values()}
    joined = sum((row.premise, row.hypothesis) in texts for row in rows)
    misled = [
        row.pair for row in rows if row.pair not in pairs or pairs[row.pair].premise != row.premise
    ]
    note = f"pair_ID is a row number; joined on the two sentences, {joined:,} of {len(rows):,} rows are found"
    ids = [reference("jsick", "train", NUMBERED + pair) for pair in misled]
    yield from _report("train-file-ids", where, ids, note)


def _older_texts(where: str, rows: Iterable[Row]) -> Iterator[Finding]:
    note = f"an older text than that of {RELEASED}"
    yield from _report("texts-differ", where, [_reference(row) for row in rows], note)


def has_full_width_score(row: Answers) -> int:
    """Whether a worker's score is a full-width digit."""
    return int(any(not text.isascii() for text in row.scores))


def is_not_mean(row: Answers) -> int:
    """Whether the gold score is not the mean of the published scores, rounded to one decimal."""
    scores = [float(narrow(text)) for text in row.scores if text]
    if not scores:
        return 0
    mean = sum(scores) / len(scores)
    return int(abs(mean - float(row.score)) > 0.05 + 1e-9)


ANSWER_CHECKS: dict[str, tuple[Callable[[Answers], int], str]] = {
    "full-width-scores": (
        has_full_width_score,
        "an answer is a full-width digit, which the gold score leaves out",
    ),
    "gold-not-mean": (is_not_mean, "the gold score is not the mean of the published answers"),
    "gold-not-majority": (
        lambda row: int(majority(row.labels) not in (None, row.label)),
        "the gold label is not the majority of the published answers",
    ),
    "no-majority": (lambda row: int(majority(row.labels) is None), "the authors decided the label"),
    "blank-labels": (lambda row: row.labels.count(""), "no answer is published; it is left out"),
    "blank-scores": (lambda row: row.scores.count(""), "no answer is published; it is left out"),
}
"""Check to how often a row has the problem, and what it means."""


def _reference(row: Row) -> str:
    return reference("jsick", SPLITS.get(row.data, "all"), row.pair)


def _report(
    check: str, where: str, ids: Iterable[str], note: str, count: int | None = None
) -> Iterator[Finding]:
    """One finding, or none where there is nothing to tell."""
    ids = tuple(ids)
    count = len(ids) if count is None else count
    if count:
        known = KNOWN.get((check, where)) == count
        yield Finding(check=check, where=where, count=count, ids=ids, note=note, known=known)


DATASET = Benchmark(
    name="jsick",
    language="ja",
    repository="jsick",
    suite="jsick",
    suite_place=1,
    further_files=("jsick/*",),
    card=make_card(
        name="jsick",
        title="JSICK: Japanese Sentences Involving Compositional Knowledge",
        languages=("ja",),
        citation="Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10.",
        description="9,927 pairs of Japanese sentences, translated from SICK, with an inference label and a relatedness from 1 to 5.",
        labels="Inference: majority of three workers' answers, checked by the authors, who decided the ties. Relatedness: mean of the answers, one decimal.",
        workers="3 answers per pair from 6 native speakers (Lancers), chosen by ten test questions; published as three columns",
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
    tasks=pair_tasks(
        "jsick",
        ("accuracy", "macro-precision", "macro-recall", "macro-f1"),
        ("pearson", "spearman", "mse"),
    ),
    sources=(Source("", ("jsick/jsick.tsv",), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
    judgements=judgements,
    gold_judgements=gold_judgements,
    find_problems=find_problems,
)
