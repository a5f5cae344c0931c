"""Suspected label errors: where models are confident that another label is right.

Confident learning (Northcutt, Jiang, Chuang 2021, https://doi.org/10.1613/jair.1.12125): the threshold of a label is the mean
probability it gets where it is gold; an item is suspect where another label reaches its own threshold and beats gold. The
likeliest errors come first, by how far that label is ahead. Probabilities are the mean over systems, so what several agree on
comes before the whim of one. Models must not have learned from the items: probabilities are of items held out, or cross-validated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join

import msgspec
import numpy as np

from nikawa.analysis.across import CLASSES
from nikawa.analysis.results import SUSPECTS, Suspect, Suspects
from nikawa.analysis.sample import Sitting, labels_of, places, probabilities
from nikawa.analysis.set_analysis import How
from nikawa.datasets.custom import declared_protocol
from nikawa.io.atomic import atomic_write
from nikawa.io.fit import fit
from nikawa.io.json import encode_json, read_json
from nikawa.recipes.forms import FORMS
from nikawa.recipes.sheet import CELLS, SHEET, TASKS, Sheet, write_cells
from nikawa.recipes.store import digest
from nikawa.records import Example
from nikawa.spec import name_and_split
from nikawa.stats.resample import Floats, Ints


@dataclass(frozen=True)
class Doubt:
    """An item whose gold is doubted."""

    item: int
    suggested: int
    margin: float
    """Probability of the suggested label less that of gold."""


def thresholds(probabilities: Floats, gold: Ints) -> Floats:
    """For each label, its mean probability where it is gold; infinite where it never is."""
    k = probabilities.shape[1]
    return np.array(
        [
            probabilities[gold == label, label].mean() if (gold == label).any() else np.inf
            for label in range(k)
        ]
    )


def doubts(probabilities: Floats, gold: Ints) -> list[Doubt]:
    """Items whose gold another label beats with confidence, the likeliest errors first."""
    n = len(gold)
    rows = np.arange(n)
    of_gold = np.where(gold < 0, 0.0, probabilities[rows, gold])
    able = (probabilities >= thresholds(probabilities, gold)) & (probabilities > of_gold[:, None])
    able[rows[gold >= 0], gold[gold >= 0]] = False
    best = np.where(able, probabilities, -1.0).argmax(axis=1)
    margin = probabilities[rows, best] - of_gold
    found = np.flatnonzero(able.any(axis=1))
    order = found[np.argsort(-margin[found], kind="stable")]
    return [Doubt(int(i), int(best[i]), float(margin[i])) for i in order]


FORM = {
    "inference": "inference",
    "relation": "relation",
    "choice": "multiple-choice",
    "text": "choice",
}
RELATIONS = ("entailment", "contradiction", "neutral")
"""What the form of inference asks for."""
PROMPTS = {
    "ja": "最も適切な答えを一つ選んでください。",
    "ko": "가장 알맞은 답을 하나 고르세요.",
    "en": "Choose the answer that fits best.",
}


Doubted = tuple[Suspects, Sitting, list[Example]]
"""Suspects, one of the systems that doubt them, and the items of their sheet."""


def suspects(sittings: Sequence[Sitting], how: How) -> tuple[Doubted, ...]:
    """For every set with labels, the suspects and the items of their sheet."""
    groups: dict[tuple[str, str, str], list[Sitting]] = {}
    for sitting in sittings:
        if (
            sitting.task.kind in CLASSES
            and len(_own(sitting))
            and not (_constant(sitting) or _learned(sitting))
        ):
            ids = digest(
                [example.id for example in sitting.examples]
            )  # folds of a sweep leave items out
            key = (sitting.task.name, sitting.loaded.names[sitting.set], ids)
            groups.setdefault(key, []).append(sitting)
    able = [part for part in map(_whole, groups.values()) if len(part) > 1 or _tells(part[0])]
    names = [f"{part[0].task.name}--{part[0].set}" for part in able]
    again = {
        name for name in names if names.count(name) > 1
    }  # such as two datasets of one's own, called the same
    places = [
        f"{n}--{digest(p[0].loaded.stem)[:8]}" if n in again else n
        for n, p in zip(names, able, strict=True)
    ]
    return tuple(_suspects(part, how, place) for part, place in zip(able, places, strict=True))


def _own(sitting: Sitting) -> Ints:
    """The places of items whose label is their own; where it is that of another item, that one is to be looked at."""
    own = [e.origin is None or e.origin.gold != "inherited" for e in sitting.examples]
    return np.flatnonzero(own)


def _learned(sitting: Sitting) -> bool:
    """Whether the system learned from the items it answered: then its agreement tells nothing."""
    protocol = sitting.loaded.spec.protocol
    return not protocol.folds and sitting.loaded.names[sitting.set] in protocol.train


def _tells(sitting: Sitting) -> bool:
    """Whether a system gives probabilities; without them, one system's every error would be a suspect."""
    labels = labels_of(sitting.task, sitting.runs)
    return not any(isinstance(probabilities(items, labels), str) for items in sitting.runs)


def _constant(sitting: Sitting) -> bool:
    """Whether the system gives one answer to everything, and so has no opinion on any item."""
    return all(len({str(answer) for answer in items.answers}) < 2 for items in sitting.runs)


def _whole(part: Sequence[Sitting]) -> Sequence[Sitting]:
    """Systems that saw and learned all there is, where there are such; else those that there are."""
    full = [s for s in part if not s.loaded.system.variation]
    whole = [s for s in part if not s.loaded.system.inputs]
    return full or whole or part


def _suspects(part: Sequence[Sitting], how: How, place: str) -> Doubted:
    first, own = part[0], _own(part[0])
    labels = labels_of(first.task, first.runs)
    gold = places(first.runs[0].gold, labels)[own]
    each = [_opinion(sitting, labels) for sitting in part]
    mean = np.mean([table for table, _ in each], axis=0)
    found = [replace(doubt, item=int(own[doubt.item])) for doubt in doubts(mean[own], gold)]
    chosen = found[: how.top]
    votes = np.stack([vote for _, vote in each])
    named = _referenced(first)
    items = tuple(
        _suspect(first, doubt, labels, mean, votes, f"{named}/{first.examples[doubt.item].id}")
        for doubt in chosen
    )
    limits = thresholds(mean[own], gold)
    suspected = Suspects(
        task=first.task.name,
        set=first.set,
        systems=tuple(s.loaded.stem for s in part),
        n=len(gold),
        thresholds={
            name: float(x) for name, x in zip(labels, limits, strict=True) if np.isfinite(x)
        },
        total=len(found),
        items=items,
        sheet=f"{SUSPECTS}/{place}" if items else "",
    )
    shown = [
        _shown(first.examples[d.item], first.task.inputs, s.example)
        for d, s in zip(chosen, items, strict=True)
    ]
    return (
        suspected,
        first,
        sorted(shown, key=lambda e: digest(e.id)),
    )  # the order must not tell the rank


def _referenced(sitting: Sitting) -> str:
    """Dataset and split as references have them: one of one's own by the name on its card, wherever it lies."""
    dataset, split = name_and_split(sitting.loaded.names[sitting.set])
    split = (
        "train" if split and split == declared_protocol(dataset).stand_in else split
    )  # its items are rows of train
    return f"{sitting.loaded.called if dataset == sitting.task.dataset else dataset}:{split}"


def _opinion(sitting: Sitting, labels: Sequence[str]) -> tuple[Floats, Ints]:
    """The mean probabilities of a system (the share of its seeds where it gives none), and its answer to each item."""
    answers = np.stack([places(items.answers, labels) for items in sitting.runs])
    shares = np.stack([(answers == label).mean(axis=0) for label in range(len(labels))], axis=1)
    tables = [probabilities(items, labels) for items in sitting.runs]
    told = [table for table in tables if not isinstance(table, str)]
    if len(told) == len(tables):
        mean = np.stack(told).mean(axis=0)
        full = np.isfinite(mean).all(axis=1, keepdims=True)
        return np.where(full, np.nan_to_num(mean), shares), _vote(shares)
    return shares, _vote(shares)


def _vote(shares: Floats) -> Ints:
    return np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1).astype(np.int64)


def _suspect(
    sitting: Sitting, doubt: Doubt, labels: Sequence[str], mean: Floats, votes: Ints, name: str
) -> Suspect:
    i, example = doubt.item, sitting.examples[doubt.item]
    gold = sitting.runs[0].gold[i]
    place = labels.index(str(gold)) if str(gold) in labels else -1
    spoken = (
        int(labels[doubt.suggested]) if sitting.task.kind == "choice" else labels[doubt.suggested]
    )
    return Suspect(
        example=name,
        gold=gold,
        suggested=spoken,
        p_gold=float(mean[i, place]) if place >= 0 else 0.0,
        p_suggested=float(mean[i, doubt.suggested]),
        against=int((votes[:, i] != place).sum()),
        systems=len(votes),
        suggest=int((votes[:, i] == doubt.suggested).sum()),
        tags=tuple(sorted(example.tags)),
        inputs=example.inputs,
    )


def _shown(example: Example, inputs: Sequence[str], name: str) -> Example:
    """An item as workers may see it: no gold, no answer of a model, nothing of how it was made."""
    kept = {key: example.inputs[key] for key in inputs if key in example.inputs}
    return Example(id=name, inputs=kept, group=example.group)


def write_sheet(folder: Path, sitting: Sitting, examples: Sequence[Example], workers: int) -> None:
    """`tasks.jsonl`, `tasks.csv` and `sheet.json`, as builds write them."""
    task, language = sitting.task, sitting.loaded.system.language
    form = FORM[task.kind]
    form = "choice" if form == "inference" and not set(task.labels) <= set(RELATIONS) else form
    sheet = Sheet(
        recipe="suspects",
        name=f"{task.name}--{sitting.set}",
        title=f"Second look at {_referenced(sitting)}",
        form=form,
        question=task.question,
        prompt=PROMPTS.get(language, PROMPTS["en"]),
        labels=tuple(map(str, task.labels)),
        scale=None,
        texts=1,
        workers=workers,
        items=len(examples),
        answer=FORMS[form].answer,
        language=language,
        tasks=digest([e.id for e in examples], [e.inputs for e in examples]),
    )
    with atomic_write(folder / TASKS) as stream:
        for example in examples:
            stream.write(fit(example)[0] + b"\n")
    write_cells(folder / CELLS, examples)
    with atomic_write(folder / SHEET) as stream:
        stream.write(msgspec.json.format(encode_json(sheet), indent=2) + b"\n")


def collect_command(folder: Path, project: str) -> str:
    """What a user types to take a sheet to workers, on annotation pages of their own."""
    sheet = read_json(folder / SHEET, Sheet)
    settings: dict[str, object] = {"question": sheet.question}
    settings |= {"naturalness": False} if sheet.form == "inference" else {}
    settings |= {"labels": sheet.labels} if sheet.form in ("choice", "relation") else {}
    words = [
        "nikawa",
        "collect",
        "new",
        project,
        "--examples",
        str(folder / TASKS),
        "--form",
        sheet.form,
    ]
    words += ["--workers-per-item", str(sheet.workers), "--title", sheet.title]
    words += ["--language", sheet.language if sheet.language in PROMPTS else "en"]
    said = (
        (name, value if isinstance(value, str) else encode_json(value).decode())
        for name, value in settings.items()
    )
    return join([*words, *(word for name, value in said for word in ("--set", f"{name}={value}"))])
