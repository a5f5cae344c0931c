"""What is special to JSICK's files, counted: only the files that are there are looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nikawa.datasets.jsick._answers import Answers, majority, narrow, read_answers
from nikawa.datasets.jsick._rows import ANSWERS, RELEASED, SPLITS, Row, read_cells, read_pairs
from nikawa.datasets.jsick.jsick_stress import FOLDERS, ORIGIN, find_originals
from nikawa.records import Dataset, Finding, reference

Pairs = dict[str, Row]
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
    ("scramble-origin", "scramble-o"): 1666,
    ("scramble-origin", "scramble-ni"): 797,
    ("scramble-origin", "scramble-de"): 1006,
}
"""How many the published files hold; another count is news."""


def jsick_traps(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Ids that mislead, texts that differ between the files, and gold that does not follow the answers."""
    yield from _conflicts(dataset)
    root = folder / "jsick"
    pairs = (
        {row.pair: row for _, row in read_pairs(root / RELEASED)}
        if (root / RELEASED).is_file()
        else {}
    )
    numbered = [e for e in dataset.splits.get("train", ()) if e.id.startswith(NUMBERED)]
    if numbered:
        rows = [_Text(e.id.removeprefix(NUMBERED), *e.inputs.values()) for e in numbered]
        yield from _train_ids("train", rows, pairs)
    if numbered or not pairs:
        return
    if (root / "train.tsv").is_file():
        rows = [
            _Text(row.pair, row.premise, row.hypothesis)
            for _, row in read_pairs(root / "train.tsv")
        ]
        yield from _train_ids("train.tsv", rows, pairs)
        yield from _train_texts("train.tsv", rows, pairs)
    for name in ("test.tsv", ANSWERS):
        if (root / name).is_file():
            yield from _texts(root / name, pairs)
    if (root / ANSWERS).is_file():
        yield from _answers(root / ANSWERS, pairs)


def stress_traps(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Rows of the scrambled sets at hand whose published original is not the original premise."""
    for name, stress_set in FOLDERS.items():
        path = folder / "jsick-stress" / name / "test.tsv"
        if (
            stress_set not in dataset.splits
            or not stress_set.startswith("scramble")
            or not path.is_file()
        ):
            continue
        true = find_originals(path)
        rows = (cells for _, cells in read_cells(path, ("pair_ID", ORIGIN)))
        wrong = [pair for pair, text in rows if true.get(pair, text) != text]
        ids = [reference("jsick-stress", stress_set, pair) for pair in wrong]
        note = f"{ORIGIN} holds the swapped sentence; take the original from the test set"
        yield from _finding("scramble-origin", stress_set, ids, note)


def _conflicts(dataset: Dataset) -> Iterator[Finding]:
    """Pairs that occur more than once, with more than one label."""
    labels: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for split, examples in dataset.splits.items():
        for example in examples:
            key = (example.inputs["premise"], example.inputs["hypothesis"])
            labels[key][reference(dataset.name, split, example.id)] = example.gold["label"]
    repeated = [found for found in labels.values() if len(set(found.values())) > 1]
    ids = [name for found in repeated for name in found]
    note = "the same two sentences in the same order, with different labels"
    yield from _finding(
        "conflicting-labels", "+".join(dataset.splits), ids, note, count=len(repeated)
    )


class _Text(NamedTuple):
    """A row of `train.tsv`."""

    pair: str
    premise: str
    hypothesis: str


def _train_ids(where: str, rows: Sequence[_Text], pairs: Pairs) -> Iterator[Finding]:
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
    by_text = {(row.premise, row.hypothesis) for row in pairs.values()}
    found = sum((row.premise, row.hypothesis) in by_text for row in rows)
    misled = [
        row.pair for row in rows if row.pair not in pairs or pairs[row.pair].premise != row.premise
    ]
    note = f"pair_ID is a row number; joined on the two sentences, {found:,} of {len(rows):,} rows are found"
    ids = [reference("jsick", "train", NUMBERED + pair) for pair in misled]
    yield from _finding("train-file-ids", where, ids, note)


def _train_texts(where: str, rows: Sequence[_Text], pairs: Pairs) -> Iterator[Finding]:
    """Released pairs that `train.tsv` does not have."""
    here = {(row.premise, row.hypothesis) for row in rows}
    changed = (
        row
        for row in pairs.values()
        if row.data != "test" and (row.premise, row.hypothesis) not in here
    )
    yield from _finding("texts-differ", where, [_name(row) for row in changed], _OLDER)


_OLDER = f"an older text than that of {RELEASED}"


def _texts(path: Path, pairs: Pairs) -> Iterator[Finding]:
    """Pairs whose sentences are not those of the released table."""
    shared = ((row, pairs[row.pair]) for _, row in read_pairs(path) if row.pair in pairs)
    changed = (
        new for old, new in shared if (old.premise, old.hypothesis) != (new.premise, new.hypothesis)
    )
    yield from _finding("texts-differ", path.name, [_name(row) for row in changed], _OLDER)


def _answers(path: Path, pairs: Pairs) -> Iterator[Finding]:
    rows = [row for row in read_answers(path) if row.pair in pairs]
    for check, (holds, note) in _CHECKS.items():
        counts = {_name(pairs[row.pair]): holds(row) for row in rows}
        ids = [name for name, count in counts.items() if count]
        yield from _finding(check, path.name, ids, note, count=sum(counts.values()))


def _full_width(row: Answers) -> int:
    return int(any(not text.isascii() for text in row.scores))


def _not_mean(row: Answers) -> int:
    scores = [float(narrow(text)) for text in row.scores if text]
    return int(bool(scores) and abs(sum(scores) / len(scores) - float(row.score)) > 0.05 + 1e-9)


def _not_majority(row: Answers) -> int:
    return int(majority(row.labels) not in (None, row.label))


_CHECKS: dict[str, tuple[Callable[[Answers], int], str]] = {
    "full-width-scores": (
        _full_width,
        "an answer is a full-width digit, which the gold score leaves out",
    ),
    "gold-not-mean": (_not_mean, "the gold score is not the mean of the published answers"),
    "gold-not-majority": (
        _not_majority,
        "the gold label is not the majority of the published answers",
    ),
    "no-majority": (lambda row: int(majority(row.labels) is None), "the authors decided the label"),
    "blank-labels": (lambda row: row.labels.count(""), "no answer is published; it is left out"),
    "blank-scores": (lambda row: row.scores.count(""), "no answer is published; it is left out"),
}


def _name(row: Row) -> str:
    return reference("jsick", SPLITS.get(row.data, "all"), row.pair)


def _finding(
    check: str, where: str, ids: Iterable[str], note: str, count: int | None = None
) -> Iterator[Finding]:
    """One finding, or none where there is nothing to tell."""
    ids = tuple(ids)
    count = len(ids) if count is None else count
    if count:
        known = KNOWN.get((check, where)) == count
        yield Finding(check=check, where=where, count=count, ids=ids, note=note, known=known)
