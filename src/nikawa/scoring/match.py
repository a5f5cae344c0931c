"""Which gold a file of answers is held against: the split its ids fit, what is missing, what is hidden."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from nikawa.datasets import benchmarks, load
from nikawa.datasets.custom import has_numbered_labels, is_custom, with_usual_splits
from nikawa.datasets.hidden import load_and_hide
from nikawa.datasets.load import pick_split
from nikawa.datasets.locate import files_here, path_version
from nikawa.datasets.names import canonical_split
from nikawa.datasets.views import training_views
from nikawa.errors import BadInput
from nikawa.io.answers import Answers, read_answers
from nikawa.records import Dataset, Example, Task

LABELLED = ("text", "inference", "relation")
"""Kinds whose answers form a confusion matrix."""
SHOWN = 60
"""Characters of an answer that an error shows."""


class Read(Protocol):
    """Loads a dataset of one's own; what is read for several files of answers may be kept."""

    def __call__(self, spec: str, *, data: Path | None = None) -> Dataset:
        """The dataset."""


@dataclass(frozen=True)
class Wanted:
    """Which gold the answers are held against."""

    split: str | None
    data: Path | None
    version: str | None
    form: str | None
    read: Read = load_and_hide
    """How a dataset of one's own is read."""


def matched(
    task: Task, path: Path, wanted: Wanted
) -> tuple[str, tuple[Example, ...], Answers, str]:
    """The split the answers are for: as named, else the one whose ids they bear most."""
    dataset, views = _gold(task, wanted)
    best: tuple[str, tuple[Example, ...], Answers] | None = None
    for name, all_examples in dataset.splits.items():
        examples = tuple(e for e in all_examples if task.asks(e) and task.question in e.gold)
        if not examples or (wanted.split is None and name in views):
            continue
        numbered = has_numbered_labels(task)
        answers = read_answers(path, task, examples, form=wanted.form, numbered_labels=numbered)
        if best is None or _fit(answers) > _fit(best[2]):
            best = (name, examples, answers)
    if best is None:
        cure = "nikawa data list shows what is here"
        raise BadInput(f"no split of {task.dataset} here has gold for {task.name}", cure=cure)
    if wanted.split is None and len(dataset.splits) > 1 and not is_custom(task.dataset):
        # another split's files may be of another version
        found = files_here(benchmarks()[task.dataset], wanted.data, wanted.version)
        if len({path_version(path) for paths in found.values() for path in paths}) > 1:
            dataset = load(f"{task.dataset}:{best[0]}", data=wanted.data, version=wanted.version)
    return (*best, dataset.version)


def _gold(task: Task, wanted: Wanted) -> tuple[Dataset, Collection[str]]:
    """The dataset or the split that is named, and splits that are other guises or parts of others."""
    name = task.dataset
    if is_custom(name):
        dataset = with_usual_splits(wanted.read(name, data=wanted.data))
        views = training_views(dataset.splits)
        return (pick_split(dataset, wanted.split, name), ()) if wanted.split else (dataset, views)
    benchmark = benchmarks()[name]
    spec = name if wanted.split is None else f"{name}:{canonical_split(benchmark, wanted.split)}"
    return load(spec, data=wanted.data, version=wanted.version), benchmark.views


def _fit(answers: Answers) -> tuple[int, int]:
    return len(answers.predictions), -len(answers.missing)


class Gaps(BadInput):
    """Answers are missing; what to do about it depends on what they are for."""

    def told(self, cure: str) -> BadInput:
        """The same with another cure."""
        return BadInput(self.what, file=self.file, line=self.line, cure=cure)


def refuse_gaps(answers: Answers, task: Task, n: int, partial: bool, path: Path) -> None:
    """Refuse answers that leave items out, unless a partial score is allowed."""
    if not answers.predictions:
        raise BadInput(
            f"none of its {len(answers.unknown)} ids is in the task{_ids(answers)}",
            file=path,
            cure="check the task and the split",
        )
    if len(answers.unparsed) == len(answers.predictions):
        raise _nothing_read(answers, path, task.kind in LABELLED)
    if answers.missing and not partial:
        raise Gaps(
            f"{len(answers.missing)} of {n} items have no answer, such as {', '.join(answers.missing[:3])}",
            file=path,
            cure="add them, or say --partial to score the rest",
        )


def _ids(answers: Answers) -> str:
    """An id of the file and one of the task, where there are such."""
    if not (answers.unknown and answers.missing):
        return ""
    return f": it has {shortened(answers.unknown[0])!r}, the task {answers.missing[0]!r}"


def _nothing_read(answers: Answers, path: Path, labelled: bool) -> BadInput:
    """The error for a file whose answers are all unreadable; the first one tells why."""
    name, raw, why = answers.unparsed[0]
    cure = "docs/answers.md tells how an answer is read"
    if labelled and all(re.fullmatch(r"[+-]?\d+", raw.strip()) for _, raw, _ in answers.unparsed):
        why = why.partition(":")[0]
        cure = "if they are places in the task's labels, counted from 0, say --form indices"
    what = f"none of its {len(answers.unparsed)} answers could be read, such as {shortened(raw)!r} to {name}: {why}"
    return BadInput(what, file=path, cure=cure)


def shortened(text: str) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def opened(
    examples: tuple[Example, ...], answers: Answers, name: str
) -> tuple[tuple[Example, ...], Answers]:
    """The examples whose labels are not hidden, and the answers to them: any figure over the others would tell of them."""
    shown = tuple(example for example in examples if not example.hidden)
    if not shown:
        cure = "only whoever holds the labels may score them: --hidden"
        raise BadInput(f"the labels of all {len(examples)} items of {name} are hidden", cure=cure)
    ids = {example.id for example in examples if example.hidden}
    kept = replace(
        answers,
        predictions={name: given for name, given in answers.predictions.items() if name not in ids},
        duplicates=[pair for pair in answers.duplicates if pair[0] not in ids],
        missing=[name for name in answers.missing if name not in ids],
        unparsed=[one for one in answers.unparsed if one[0] not in ids],
    )
    return shown, kept if ids else answers
