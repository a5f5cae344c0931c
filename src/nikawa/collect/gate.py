"""The artifact gate: what gives labels away while the texts are still being written, by word and by writer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.workers import wilson
from nikawa.checks.artifacts import Pair, Tally, associations, over_the_line, tabulate
from nikawa.checks.lengths import explained, lengths
from nikawa.checks.overlap import Shared, shared_tokens
from nikawa.collect.judged import as_names
from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.collect.texts import Text, texts_of
from nikawa.errors import BadInput, MissingExtra
from nikawa.models import model
from nikawa.models.folds import FOLDS, out_of_fold
from nikawa.records import Example, Task
from nikawa.text import analyser
from nikawa.text.analysers import DEFAULTS

SIDE = "hypothesis"
BATCH = 300
"""Texts of a batch."""
FEWEST = 60
"""Labelled texts below which no model is trained on them."""
MOST = 6_000
"""Texts the model sees at most, the last ones: the gate must answer while people work."""
WORDS = 30
OWN = 5
"""Texts from which on a writer is told apart from the others."""
FAR = 3.0
"""Standard errors from the mean at which a writer is odd."""


@dataclass(frozen=True)
class Cut:
    """Texts with their tokens, and how much of each the source holds."""

    texts: Sequence[Text]
    tokens: Sequence[list[str]]
    sources: Sequence[frozenset[str]]
    shared: Shared


def gate(project: Project, store: Store) -> dict[str, Any]:
    """The last texts: how well a model guesses labels from them alone, words that give one away, writers apart."""
    texts = texts_of(project, store)
    if not texts:
        return {"texts": 0}
    name, cut = _cut(texts, project.settings.language)
    labelled = all(text.label for text in texts) and len({text.label for text in texts}) > 1
    right = _guesses(texts) if labelled else None
    told: dict[str, Any] = {
        "texts": len(texts),
        "batch": BATCH,
        "tokeniser": name,
        "labelled": labelled,
        "needed": max(0, FEWEST - len(texts)) if labelled else 0,
        "guessed": None if right is None else _guessed(texts, right),
        "batches": [] if right is None else list(_batches(right)),
        "writers": _writers(cut, right),
    }
    told |= _by_label(cut) if labelled else {"words": _added(cut), "lengths": []}
    return told


def _cut(texts: Sequence[Text], language: str) -> tuple[str, Cut]:
    """The tokens of texts and sources; by character where the language's analyser is not installed."""
    name = DEFAULTS.get(language, "whitespace")
    try:
        tool = analyser(name)
    except MissingExtra:
        name = "characters"
        tool = analyser(name)

    def tokens(given: Iterator[str]) -> list[list[str]]:
        return [
            [token.form or token.surface for token in found] for found in tool.analyse_many(given)
        ]

    own = tokens(text.text for text in texts)
    known = dict.fromkeys(text.source for text in texts)
    cut = dict(zip(known, map(frozenset, tokens(iter(known))), strict=True))
    sources = [cut[text.source] for text in texts]
    return name, Cut(texts, own, sources, shared_tokens(zip(own, sources, strict=True)))


def _guesses(texts: Sequence[Text]) -> list[bool] | None:
    """Whether a model that sees the text alone finds its label, for the last texts; None where it cannot learn."""
    last = texts[-MOST:]
    if len(last) < FEWEST or len({text.group for text in last}) < FOLDS:
        return None
    labels = tuple(sorted({text.label for text in last}))
    task = Task(
        name="text alone",
        dataset="project",
        kind="inference",
        question="label",
        inputs=(SIDE,),
        labels=labels,
        metrics=(),
    )
    examples = [
        Example(id=str(n), inputs={SIDE: text.text}, gold={"label": text.label})
        for n, text in enumerate(last)
    ]
    try:
        found = out_of_fold(_learner, task, examples, [text.group for text in last])
    except (MissingExtra, BadInput):  # scikit-learn is an extra; a fold may lack a label
        return None
    return [one.answer == text.label for one, text in zip(found, last, strict=True)]


def _learner() -> Any:
    return model("char-linear", settings={"strength": 4.0})


def _guessed(texts: Sequence[Text], right: Sequence[bool]) -> dict[str, Any]:
    """The accuracy with its interval; an alarm where all of it is above the most frequent label's share."""
    counts = Counter(text.label for text in texts[-len(right) :])
    chance = max(counts.values()) / len(right)
    told = _share(right)
    return {**told, "chance": chance, "alarm": told["low"] > chance}


def _share(right: Sequence[bool]) -> dict[str, Any]:
    low, high = wilson(sum(right), len(right))
    return {"texts": len(right), "accuracy": sum(right) / len(right), "low": low, "high": high}


def _batches(right: Sequence[bool]) -> Iterator[dict[str, Any]]:
    """The same by batch, so that a change of the guideline shows; the last may be unfinished."""
    yield from (_share(right[start : start + BATCH]) for start in range(0, len(right), BATCH))


def _by_label(cut: Cut) -> dict[str, Any]:
    tally = Tally((SIDE,))
    for text, tokens in zip(cut.texts, cut.tokens, strict=True):
        tally.add(text.label, (text.text,), (tokens,))
    table = tabulate(tally)
    return {
        "labels": dict(zip(table.labels, table.examples.tolist(), strict=True)),
        "words": [_word(pair, cut) for pair in over_the_line(table)[:WORDS]],
        "near": msgspec.to_builtins(associations(table, 5)),
        "lengths": [
            msgspec.to_builtins(row)
            for row in lengths(tally, table.labels)
            if row.unit == "characters"
        ],
        "explained": next(row.share for row in explained(tally) if row.unit == "characters"),
        "overlap": _overlap_by_label(cut),
    }


def _word(pair: Pair, cut: Cut) -> dict[str, Any]:
    """A word over the line, who writes it with the label, and how often in the last batch."""
    places = [
        n
        for n, text in enumerate(cut.texts)
        if text.label == pair.label and pair.token in cut.tokens[n]
    ]
    writers = Counter(cut.texts[n].writer for n in places if cut.texts[n].writer)
    recent = sum(n >= (len(cut.texts) - 1) // BATCH * BATCH for n in places)
    return {**msgspec.to_builtins(pair), "writers": as_names(writers), "recent": recent}


def _overlap_by_label(cut: Cut) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for text, share in zip(cut.texts, cut.shared.shares.tolist(), strict=True):
        found.setdefault(text.label, []).append(share)
    return {label: sum(shares) / len(shares) for label, shares in sorted(found.items())}


def _added(cut: Cut) -> list[dict[str, Any]]:
    """Where texts have no label: the words that are most often added to the source, and who adds them."""
    counts: Counter[str] = Counter()
    writers: dict[str, Counter[str]] = {}
    for text, tokens, source in zip(cut.texts, cut.tokens, cut.sources, strict=True):
        for token in set(tokens) - source:
            counts[token] += 1
            writers.setdefault(token, Counter())[text.writer] += 1
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:WORDS]
    total = len(cut.texts)
    return [
        {
            "token": token,
            "label": "",
            "count": count,
            "n": total,
            "share": count / total,
            "writers": as_names(writers[token]),
        }
        for token, count in most
        if count > 1
    ]


def _writers(cut: Cut, right: Sequence[bool] | None) -> list[dict[str, Any]]:
    """Length and overlap of each writer's texts, how often their labels are guessed, and what is odd."""
    own: dict[str, list[int]] = {}
    for place, text in enumerate(cut.texts):
        own.setdefault(text.writer, []).append(place)
    own.pop("", None)
    long = np.array([len(text.text) for text in cut.texts], dtype=np.float64)
    shift = len(cut.texts) - len(right or ())
    rows = []
    for writer, places in own.items():
        hits = [right[n - shift] for n in places if n >= shift] if right else []
        odd = [
            *_odd(long, places, ("long", "short")),
            *_odd(cut.shared.shares, places, ("copies", "strays")),
        ]
        rows.append(
            {
                "writer": writer,
                "texts": len(places),
                "characters": float(long[places].mean()),
                "overlap": float(cut.shared.shares[places].mean()),
                "flags": odd,
                "guessed": sum(hits) / len(hits) if hits else None,
            }
        )
    return sorted(rows, key=lambda row: (-len(row["flags"]), -row["texts"], row["writer"]))


def _odd(
    values: np.ndarray[Any, np.dtype[np.float64]], places: list[int], names: tuple[str, str]
) -> list[str]:
    """Whether the mean of some is far above (the first name) or below (the second) that of the others."""
    rest = np.delete(values, places)
    if len(places) < OWN or len(rest) < OWN:
        return []
    far = float(values[places].mean() - rest.mean())
    error = float(np.sqrt(values[places].var() / len(places) + rest.var() / len(rest)))
    if abs(far) <= FAR * error or abs(far) < 0.1 * abs(float(rest.mean())):
        return []
    return [names[0] if far > 0 else names[1]]
