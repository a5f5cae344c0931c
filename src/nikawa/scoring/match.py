"""Match answers with gold: the split that their ids fit, missing answers, hidden labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from nikawa.datasets import benchmarks, load
from nikawa.datasets.custom import is_custom, with_usual_splits
from nikawa.datasets.keys import LabelKeys, read_keys, restore_labels
from nikawa.datasets.load import pick_split
from nikawa.datasets.locate import files_here, path_version
from nikawa.datasets.names import canonical_split
from nikawa.datasets.task_lookup import has_numbered_labels
from nikawa.datasets.views import training_views
from nikawa.errors import BadInput, list_names
from nikawa.io.answers import FORMS, AnswerFiles, Answers
from nikawa.io.json import read_json
from nikawa.records import LABELLED_KINDS, Dataset, Example, Task

MAX_ANSWER_CHARS = 60
"""Characters of an answer that an error shows."""

ReadDataset = Callable[[str], Dataset]
"""Loads a custom dataset; may cache it for several files of answers."""


class AnswerSource(Protocol):
    """Answers that can be matched with examples: an `AnswerFiles`, or any other source."""

    @property
    def path(self) -> Path | None:
        """The file or folder, for messages; None for answers in memory."""

    def match(self, examples: Sequence[Example]) -> Answers:
        """The answers to the task for these examples."""


def open_answers(
    answers: Path | AnswerSource,
    task: Task,
    form: str | None = None,
    *,
    keep_rows: bool,
    extract: Sequence[str] = (),
    keep_readings: bool = False,
) -> AnswerSource:
    """A file or folder of answers, ready to be matched; set `keep_rows` to match more than once.

    `extract` and `keep_readings` are as in `AnswerFiles`.
    """
    if not isinstance(answers, Path):
        return answers
    return AnswerFiles(
        answers,
        task,
        form=form,
        numbered_labels=has_numbered_labels(task),
        keep_rows=keep_rows,
        extract=extract,
        keep_readings=keep_readings,
    )


@dataclass(frozen=True)
class MatchedAnswers:
    """A split of a version of a dataset, and the answers to it."""

    split: str
    version: str
    examples: tuple[Example, ...]
    answers: Answers


def match_answers(
    task: Task,
    source: AnswerSource,
    read: ReadDataset,
    *,
    split: str | None = None,
    data: Path | None = None,
    version: str | None = None,
) -> MatchedAnswers:
    """The split that the answers are for: the named one, otherwise the one that shares most ids.

    Splits that are variants or parts of others count only if they are named. Raises `BadInput` if
    several splits fit equally well and have different items.
    """
    if is_custom(task.dataset):
        dataset = with_usual_splits(read(task.dataset))
        views: Collection[str] = training_views(dataset.splits)
        if split:
            dataset = pick_split(dataset, split, task.dataset)
    else:
        benchmark = benchmarks()[task.dataset]
        part = "" if split is None else f":{canonical_split(benchmark, split)}"
        dataset = load(f"{task.dataset}{part}", data=data, version=version, hidden=True)
        views = benchmark.views
    fitting: list[tuple[str, tuple[Example, ...], Answers]] = []
    absent: dict[str, tuple[Example, ...]] = {}
    for name, every in dataset.splits.items():
        examples = tuple(e for e in every if task.asks(e) and task.question in e.gold)
        is_withheld = is_custom(task.dataset) and any(e.hidden and not e.gold for e in every)
        if not examples and is_withheld:
            absent[name] = tuple(e for e in every if task.asks(e))
        if not examples or (split is None and name in views):
            continue
        answers = source.match(examples)
        fit = _fit(answers)
        if not fitting or fit >= _fit(fitting[0][2]):
            others = fitting if fitting and fit == _fit(fitting[0][2]) else []
            fitting = [*others, (name, examples, answers)]
    best = fitting[0] if fitting else None
    if best is None or not best[2].predictions:
        for name, examples in absent.items():
            if split is not None or source.match(examples).predictions:
                what = f"the labels of {task.dataset}:{name} are hidden and are not on this machine"
                cure = "if you have them, pass --hidden --keys FILE with the key file of nikawa data hide"
                raise BadInput(what, cure=cure)
    if best is None:
        cure = "run `nikawa data list` to see the available data"
        raise BadInput(
            f"no available split of {task.dataset} has gold labels for {task.name}", cure=cure
        )
    name, examples, answers = best
    if answers.refusal is not None:
        raise answers.refusal
    if answers.predictions and any(other[1] != examples for other in fitting):
        names = [split_name for split_name, *_ in fitting]
        what = f"the answers fit several splits of {task.dataset} equally well: {list_names(names)}"
        raise BadInput(what, file=source.path, cure=f"pass --split {' or --split '.join(names)}")
    if split is None and len(dataset.splits) > 1 and not is_custom(task.dataset):
        # another split's files may be of another version
        files = files_here(benchmarks()[task.dataset], data, version)
        if len({path_version(path) for paths in files.values() for path in paths}) > 1:
            dataset = load(f"{task.dataset}:{name}", data=data, version=version, hidden=True)
    return MatchedAnswers(name, dataset.version, examples, answers)


def _fit(answers: Answers) -> tuple[int, int, bool, bool]:
    """Measure how well answers fit a split: many ids known, many texts the same, no item without an
    answer, nothing to refuse.

    How many items have no answer does not count: a file with some of the answers to a large split
    would fit a small one that has the same ids better.
    """
    is_whole = answers.refusal is None
    return len(answers.predictions), answers.confirmed, not answers.missing, is_whole


def drop_hidden_items(matched: MatchedAnswers, dataset: str) -> MatchedAnswers:
    """Only the examples without hidden labels, and their answers: any figure over the others would reveal labels."""
    hidden = {example.id for example in matched.examples if example.hidden}
    if not hidden:
        return matched
    shown = tuple(example for example in matched.examples if not example.hidden)
    if not shown:
        name = f"{dataset}:{matched.split}"
        what = f"all {len(matched.examples)} labels of {name} are hidden"
        raise BadInput(what, cure="if you own the labels, pass --hidden to score against them")
    answers = matched.answers
    kept = replace(
        answers,
        predictions={i: p for i, p in answers.predictions.items() if i not in hidden},
        duplicates=[pair for pair in answers.duplicates if pair[0] not in hidden],
        missing=[name for name in answers.missing if name not in hidden],
        unparsed=[row for row in answers.unparsed if row[0] not in hidden],
        readings={i: r for i, r in answers.readings.items() if i not in hidden},
    )
    return replace(matched, examples=shown, answers=kept)


def open_with_keys(read: ReadDataset, keys: Path | LabelKeys) -> tuple[ReadDataset, LabelKeys]:
    """A reader whose datasets come with the labels of a key file, and the key file."""
    opened = read_keys(keys) if isinstance(keys, Path) else keys
    return cache(lambda text: restore_labels(read(text), opened, text)), opened


class MissingAnswers(BadInput):
    """Answers are missing; what to do about it depends on what they are for."""

    def with_cure(self, cure: str) -> BadInput:
        """The same with another cure."""
        return BadInput(self.what, file=self.file, line=self.line, cure=cure)


class UnknownIds(BadInput):
    """No answer is to an item: the answers may be to another task or split."""


def refuse_gaps(matched: MatchedAnswers, task: Task, partial: bool, path: Path | None) -> None:
    """Raise an error for missing answers, unless a partial score is allowed.

    Raises `MissingAnswers` for those, `UnknownIds` if no id is known, and `BadInput` if no answer can be read.
    """
    answers = matched.answers
    if not answers.predictions and answers.form in FORMS and FORMS[answers.form].log:
        what = f"none of the {len(answers.unknown)} samples has the id or the texts of an item"
        raise UnknownIds(f"{what} of {task.name}", file=path, cure="check the task and the split")
    if not answers.predictions:
        ids = ""
        if answers.unknown and answers.missing:
            ids = f" (the answers have ids such as {shorten(answers.unknown[0])!r}, the task has ids such as {answers.missing[0]!r})"
        what = f"none of the ids is in the task{ids}"
        raise UnknownIds(what, file=path, cure="check the task and the split")
    if len(answers.unparsed) == len(answers.predictions):
        raise unreadable_error(answers, task, path)
    if answers.missing and not partial:
        some = list_names(answers.missing[:3])
        what = f"{len(answers.missing)} of {len(matched.examples)} items have no answer, such as {some}"
        if limit := read_run_limit(path):
            what += f", because the run was limited to the first {limit:,} items"
        raise MissingAnswers(
            what,
            file=path,
            cure="add the missing answers, or pass --partial to score only the answered items",
        )


def read_run_limit(path: Path | None) -> int:
    """The limit of the run, if this is its folder or a file of answers in it; otherwise 0."""
    if path is None:
        return 0
    if (path / "predictions").is_dir():
        folder = path
    elif path.parent.name == "predictions":
        folder = path.parent.parent
    else:
        return 0
    try:
        run = read_json(folder / "run.json", dict[str, Any])
    except BadInput:
        return 0
    variation = run.get("variation")
    limit = variation.get("limit") if isinstance(variation, dict) else 0
    return limit if isinstance(limit, int) else 0


def unreadable_error(answers: Answers, task: Task, path: Path | None) -> BadInput:
    """The error for a file whose answers are all unreadable; the first one shows why."""
    name, raw, why = answers.unparsed[0]
    cure = "see docs/answers.md for how answers are read"
    numbers = all(re.fullmatch(r"[+-]?\d+", raw.strip()) for _, raw, _ in answers.unparsed)
    if task.kind in LABELLED_KINDS and numbers:
        why = why.partition(":")[0]
        cure = "if the answers are label indices, counted from 0, pass --form indices"
    what = f"none of the answers can be read; the first is {shorten(raw)!r} for item {name}: {why}"
    return BadInput(what, file=path, cure=cure)


def shorten(text: str) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= MAX_ANSWER_CHARS else f"{text[: MAX_ANSWER_CHARS - 1]}…"
