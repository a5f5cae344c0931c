"""The texts the artifact gate looks at: those that workers write, or those they judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nikawa.collect.dashboard import Given, latest
from nikawa.collect.judged import writes
from nikawa.collect.project import Project
from nikawa.collect.store import Store

SOURCES = ("premise", "text", "context", "question", "english", "sentence1")
"""Inputs a text may be written from, the likeliest first."""
LATEST = 20_000
"""Answers that are looked at, the last ones."""


@dataclass(frozen=True)
class Text:
    """One text with what is known of it."""

    group: str
    """The item it was written for: no model that judges it has seen the item."""
    writer: str
    """Empty where nobody is known to have written it."""
    label: str
    """Empty where it has none."""
    text: str
    source: str


def texts_of(project: Project, store: Store) -> list[Text]:
    """The texts, the oldest first."""
    with store.read() as link:
        given = list(latest(link, LATEST))[::-1]
    return list(_written(project, given)) if writes(project) else list(_judged(project, given))


def _written(project: Project, given: Iterable[Given]) -> Iterator[Text]:
    labels = getattr(project.options, "labels", ())
    for one in given:
        source = next((one.inputs[n] for n in SOURCES if isinstance(one.inputs.get(n), str)), "")
        for _, answer in project.form.to_judgements(one.answer):
            found = list(_strings(answer))
            named = labels if len(found) == len(labels) else [""] * len(found)
            for label, text in zip(named, found, strict=True):
                yield Text(one.ref, one.worker, label, text, source)


def _strings(answer: Any) -> Iterator[str]:
    """The texts in an answer: itself, those of a list, or the questions of a list of questions."""
    for part in answer if isinstance(answer, list) else [answer]:
        found = part.get("question") if isinstance(part, dict) else part
        if isinstance(found, str):
            yield found


def _judged(project: Project, given: Iterable[Given]) -> Iterator[Text]:
    """Each hypothesis once, with the label most workers chose; a tie is left out."""
    question = getattr(project.options, "question", project.form.questions[0])
    votes: dict[str, Counter[str]] = {}
    seen: dict[str, Given] = {}
    for one in given:
        label = one.answer.get(question)
        if isinstance(label, str) and isinstance(one.inputs.get("hypothesis"), str):
            votes.setdefault(one.ref, Counter())[label] += 1
            seen[one.ref] = one
    for ref, found in votes.items():
        (label, count), *others = found.most_common(2)
        if not others or others[0][1] < count:
            inputs = seen[ref].inputs
            premise = str(inputs.get("premise", ""))
            yield Text(premise or ref, seen[ref].writer, label, inputs["hypothesis"], premise)
