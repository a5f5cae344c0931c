"""Suspected label errors: where models are confident that another label is right, and a task sheet for a second look.

Confident learning (Northcutt, Jiang, Chuang 2021, https://doi.org/10.1613/jair.1.12125): the threshold of a label is the mean
probability it gets where it is gold; an item is suspect where another label reaches its own threshold and beats gold. The
likeliest errors come first, by how far that label is ahead. Probabilities are the mean over systems, so what several agree on
counts more than a single model. Models must not have learned from the items: probabilities must come from held-out items or cross-validation.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any

import numpy as np

from nikawa.analysis.answers import SystemAnswers
from nikawa.analysis.results import SUSPECTS, NoSuspects, Suspect, Suspects
from nikawa.analysis.set_analysis import AnalysisOptions
from nikawa.datasets.task_lookup import declared_protocol
from nikawa.io.file_names import to_file_name
from nikawa.io.json import encode_json, read_json
from nikawa.io.task_sheet import (
    ANSWER_SHAPES,
    SHEET,
    TASKS,
    Sheet,
    digest_items,
    digest_values,
    write_task_sheet,
)
from nikawa.records import CLASS_KINDS, Example
from nikawa.spec import name_and_split
from nikawa.stats.resample import Floats, Ints
from nikawa.stats.slices import Mask

FORMS_BY_KIND = {
    "inference": "inference",
    "relation": "relation",
    "choice": "multiple-choice",
    "text": "choice",
}
"""Kind of task to the form of the annotation page."""
RELATIONS = ("entailment", "contradiction", "neutral")
"""What the form of inference asks for."""
PROMPTS = {
    "ja": "最も適切な答えを一つ選んでください。",
    "ko": "가장 알맞은 답을 하나 고르세요.",
    "en": "Choose the answer that fits best.",
}


@dataclass(frozen=True)
class Doubt:
    """An item whose gold is doubted."""

    item: int
    suggested: int
    margin: float
    """Probability of the suggested label less that of gold."""


@dataclass(frozen=True)
class SuspectItems:
    """The suspects of a set, with the content of their task sheet."""

    suspects: Suspects
    answers: SystemAnswers
    """One of the systems that doubt them."""
    items: list[Example]
    """The suspects as workers may see them, in an order that hides the rank."""


def label_thresholds(probabilities: Floats, gold: Ints) -> Floats:
    """For each label, its mean probability where it is gold; infinite where it never is."""
    thresholds = []
    for label in range(probabilities.shape[1]):
        is_gold = gold == label
        thresholds.append(probabilities[is_gold, label].mean() if is_gold.any() else np.inf)
    return np.array(thresholds)


@dataclass(frozen=True)
class Doubts:
    """The same of many items, by column, the likeliest errors first."""

    items: Ints
    suggested: Ints
    margins: Floats

    def take(self, places: Any) -> Doubts:
        """Some of them."""
        return Doubts(self.items[places], self.suggested[places], self.margins[places])

    def list(self) -> list[Doubt]:
        """One by one."""
        columns = (self.items.tolist(), self.suggested.tolist(), self.margins.tolist())
        return [Doubt(*row) for row in zip(*columns, strict=True)]


def find_doubts(probabilities: Floats, gold: Ints) -> Doubts:
    """Items whose gold another label beats with confidence, the likeliest errors first."""
    thresholds = label_thresholds(probabilities, gold)
    of_gold = np.zeros(len(gold))
    for label in range(len(thresholds)):
        is_gold = gold == label
        of_gold[is_gold] = probabilities[is_gold, label]
    best = np.zeros(len(gold), dtype=np.int64)
    most = np.full(len(gold), -1.0)
    for label, threshold in enumerate(thresholds):
        own = probabilities[:, label]
        is_better = (own >= threshold) & (own > of_gold) & (own > most) & (gold != label)
        best[is_better] = label
        most[is_better] = own[is_better]
    doubted = np.flatnonzero(most >= 0)
    margins = most[doubted] - of_gold[doubted]
    order = np.argsort(-margins, kind="stable")
    doubted = doubted[order]
    return Doubts(doubted, best[doubted], margins[order])


def find_suspects(
    every: Sequence[SystemAnswers], options: AnalysisOptions
) -> tuple[tuple[SuspectItems, ...], tuple[NoSuspects, ...]]:
    """For every set with labels, the suspects and the items of their sheet, or why no label of it can be suspected.

    A suspicion needs confidence: the probabilities of a system, or several systems. A single answer without a probability is no
    more than an error, so that every error of one system would be a suspect.
    """
    groups: dict[tuple[str, str, str], list[SystemAnswers]] = {}
    for answers in every:
        if answers.task.kind in CLASS_KINDS and len(_own_items(answers)):
            # Folds of a sweep leave items out: only systems that answered the same ones are pooled.
            ids = digest_values([example.id for example in answers.examples])
            key = (answers.task.name, answers.full_name, ids)
            groups.setdefault(key, []).append(answers)
    pools: list[Sequence[SystemAnswers]] = []
    skipped = []
    for group in groups.values():
        pool = choose_fullest([answers for answers in group if not find_bias(answers)])
        reason = "" if pool else find_bias(group[0])
        if len(pool) == 1 and isinstance(pool[0].probabilities, str):
            reason = f"{pool[0].probabilities}, and there is no second system"
        if reason:
            first = group[0]
            skipped.append(NoSuspects(task=first.task.name, set=first.set, why=reason))
        else:
            pools.append(pool)
    names = [to_file_name(f"{pool[0].task.name}--{pool[0].set}") for pool in pools]
    counts = Counter(names)
    suspects = []
    for pool, name in zip(pools, names, strict=True):
        folder = name
        if counts[name] > 1:  # such as two custom datasets of one name
            folder = f"{name}--{digest_values(pool[0].loaded.stem)[:8]}"
        suspects.append(pool_suspects(pool, options, folder))
    return tuple(suspects), tuple(skipped)


def find_bias(answers: SystemAnswers) -> str:
    """The reason why the answers of a system say nothing about the labels; empty if they do.

    A constant answer is not evidence about any item, and neither is agreement on training items.
    """
    protocol = answers.spec.protocol
    if not protocol.folds and answers.full_name in protocol.train:
        return "the systems learned from these items"
    if all(len({str(answer) for answer in items.answers}) < 2 for items in answers.runs):
        return "the systems give the same answer to all items"
    return ""


def _own_items(answers: SystemAnswers) -> Ints:
    """The places of items whose label is their own; where it is that of another item, that one is to be looked at."""
    own = (
        example.origin is None or example.origin.gold != "inherited" for example in answers.examples
    )
    return np.flatnonzero(np.fromiter(own, np.bool_, len(answers.examples)))


def choose_fullest(group: Sequence[SystemAnswers]) -> Sequence[SystemAnswers]:
    """Systems that saw and learned all there is, where there are such; else those that there are."""
    as_published = [each for each in group if not each.spec.variation.title]
    all_inputs = [each for each in group if not each.spec.variation.inputs]
    return as_published or all_inputs or group


def pool_suspects(
    pool: Sequence[SystemAnswers], options: AnalysisOptions, folder: str
) -> SuspectItems:
    """The suspects that systems on the same items agree on, and the items of their sheet in `folder`.

    An item that no system gives probabilities for is suspect where two systems suggest the same label.
    """
    first = pool[0]
    mean = np.zeros((len(first.examples), len(first.labels)))
    votes = np.empty((len(pool), len(mean)), dtype=np.int64)
    is_sure: Mask = np.zeros(len(mean), dtype=np.bool_)
    for number, answers in enumerate(pool):
        votes[number], is_known = add_opinion(mean, answers)
        is_sure |= is_known
    mean /= len(pool)
    own = _own_items(first)
    if len(pool) == 1:
        own = own[is_sure[own]]
    is_whole = len(own) == len(mean)
    gold = first.gold_indices if is_whole else first.gold_indices[own]
    of_own = mean if is_whole else mean[own]
    doubts = find_doubts(of_own, gold)
    doubts = dataclasses.replace(doubts, items=own[doubts.items])
    agreeing = (votes[:, doubts.items] == doubts.suggested).sum(axis=0)
    doubts = doubts.take(is_sure[doubts.items] | (agreeing > 1))
    source = _reference(first)
    items, shown = [], []
    for doubt in doubts.take(slice(options.top)).list():
        example = first.examples[doubt.item]
        suspect = describe_suspect(first, doubt, mean, votes, f"{source}/{example.id}")
        inputs = {key: example.inputs[key] for key in first.task.inputs if key in example.inputs}
        items.append(suspect)
        shown.append(Example(id=suspect.example, inputs=inputs, group=example.group))
    thresholds = zip(first.labels, label_thresholds(of_own, gold), strict=True)
    suspects = Suspects(
        task=first.task.name,
        set=first.set,
        systems=tuple(answers.loaded.stem for answers in pool),
        n=len(gold),
        thresholds={label: float(limit) for label, limit in thresholds if np.isfinite(limit)},
        total=len(doubts.items),
        items=tuple(items),
        sheet=f"{SUSPECTS}/{folder}" if items else "",
    )
    return SuspectItems(suspects, first, sorted(shown, key=lambda item: digest_values(item.id)))


def _reference(answers: SystemAnswers) -> str:
    """Dataset and split as references have them: a custom dataset by the name on its card, wherever it is."""
    dataset, split = name_and_split(answers.full_name)
    if split and split == declared_protocol(dataset).stand_in:
        split = "train"  # its items are rows of train
    name = answers.loaded.sets.card.name if dataset == answers.task.dataset else dataset
    return f"{name}:{split}"


def add_opinion(total: Floats, answers: SystemAnswers) -> tuple[Ints, Mask]:
    """Add the mean probabilities of a system to a table of items by labels: the share of its seeds where it gives none.

    Returns its answer to each item, and for which items it gives probabilities. A large set has room for one such table.
    """
    indices, probabilities = answers.answer_indices, answers.probabilities
    votes = np.full(len(total), -1, dtype=np.int64)
    most = np.zeros(len(total))
    mean: Floats | None = None
    is_known: Mask = np.zeros(len(total), dtype=np.bool_)
    if not isinstance(probabilities, str):
        mean = probabilities.mean(axis=0)
        is_known = np.logical_and.reduce(np.isfinite(mean), axis=1)
    for label in range(len(answers.labels)):
        share = (indices == label).mean(axis=0)
        is_more = share > most
        votes[is_more], most[is_more] = label, share[is_more]
        total[:, label] += share if mean is None else np.where(is_known, mean[:, label], share)
    return votes, is_known


def describe_suspect(
    answers: SystemAnswers, doubt: Doubt, mean: Floats, votes: Ints, reference: str
) -> Suspect:
    """A doubted item as it is listed: `mean` are the probabilities over systems, `votes` the answer of each."""
    i, labels = doubt.item, answers.labels
    example, gold = answers.examples[i], answers.runs[0].gold[i]
    place = labels.index(str(gold)) if str(gold) in labels else -1
    suggested = labels[doubt.suggested]
    return Suspect(
        example=reference,
        gold=gold,
        suggested=int(suggested) if answers.task.kind == "choice" else suggested,
        p_gold=float(mean[i, place]) if place >= 0 else 0.0,
        p_suggested=float(mean[i, doubt.suggested]),
        against=int((votes[:, i] != place).sum()),
        systems=len(votes),
        suggest=int((votes[:, i] == doubt.suggested).sum()),
        tags=tuple(sorted(example.tags)),
        inputs=example.inputs,
    )


def write_suspect_sheet(folder: Path, suspects: SuspectItems, workers: int) -> None:
    """The task sheet of suspects, as builds write them; it contains no gold and no answer of a model."""
    answers, task = suspects.answers, suspects.answers.task
    language = answers.loaded.sets.language
    form = FORMS_BY_KIND[task.kind]
    if form == "inference" and not set(task.labels) <= set(RELATIONS):
        form = "choice"
    sheet = Sheet(
        recipe="suspects",
        name=f"{task.name}--{answers.set}",
        title=f"Second look at {_reference(answers)}",
        form=form,
        question=task.question,
        prompt=PROMPTS.get(language, PROMPTS["en"]),
        labels=tuple(map(str, task.labels)),
        scale=None,
        texts=1,
        workers=workers,
        items=len(suspects.items),
        answer=ANSWER_SHAPES[form],
        language=language,
        tasks=digest_items(suspects.items),
    )
    write_task_sheet(folder, sheet, suspects.items)


def collect_command(folder: Path, project: str) -> str:
    """The command that sends a sheet to workers on the user's own annotation pages."""
    sheet = read_json(folder / SHEET, Sheet)
    settings: dict[str, object] = {"question": sheet.question}
    if sheet.form == "inference":
        settings["naturalness"] = False
    if sheet.form in ("choice", "relation"):
        settings["labels"] = sheet.labels
    language = sheet.language if sheet.language in PROMPTS else "en"
    words = ["nikawa", "collect", "new", project, "--examples", str(folder / TASKS)]
    words += ["--form", sheet.form, "--workers-per-item", str(sheet.workers)]
    words += ["--title", sheet.title, "--language", language]
    for name, value in settings.items():
        text = value if isinstance(value, str) else encode_json(value).decode()
        words += ["--set", f"{name}={text}"]
    return join(words)
