"""The artifact gate: what gives labels away while the texts are still being written, by word and by writer.

Workers' own texts are looked at where the form asks for some, else the hypotheses that they judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.workers import wilson
from nikawa.checks.artifacts import Pair, Tally, find_pairs, rank_associations, tabulate
from nikawa.checks.lengths import measure_explained, measure_lengths
from nikawa.checks.overlap import TokenOverlap, shared_tokens
from nikawa.collect.dashboard import CountedAnswer, latest_answers
from nikawa.collect.project import Project
from nikawa.collect.store import Store
from nikawa.errors import BadInput, MissingExtra
from nikawa.models import model
from nikawa.models.folds import DEFAULT_FOLDS, predict_out_of_fold
from nikawa.records import Example, Task
from nikawa.text import analyser
from nikawa.text.analysers import DEFAULTS

SIDE = "hypothesis"
SOURCES = ("premise", "text", "context", "question", "english", "sentence1")
"""Inputs a text may be written from, the likeliest first."""
MAX_ANSWERS = 20_000
"""Answers that are looked at, the last ones."""
BATCH = 300
"""Texts of a batch."""
MIN_TEXTS_TO_TRAIN = 60
"""Labelled texts below which no model is trained on them."""
MAX_TEXTS_TO_TRAIN = 6_000
"""Texts the model sees, the last ones: the gate must answer while people work."""
MAX_WORDS_SHOWN = 30
MAX_WRITERS_SHOWN = 3
"""Maximum number of writers listed for a word."""
MIN_TEXTS_OF_WRITER = 5
"""Minimum number of texts before a writer is compared with the others."""
ODD_STANDARD_ERRORS = 3.0
"""Standard errors from the mean at which a writer is odd."""

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Text:
    """One text with what is known of it."""

    group: str
    """The item it was written for: no model that judges it has seen the item."""
    writer: str
    """Empty if the writer is unknown."""
    label: str
    """Empty where it has none."""
    text: str
    source: str


@dataclass(frozen=True)
class Tokenised:
    """Texts with their tokens, and how much of each the source holds."""

    texts: Sequence[Text]
    tokens: Sequence[list[str]]
    sources: Sequence[frozenset[str]]
    shared: TokenOverlap


def analyse_artifacts(project: Project, store: Store) -> dict[str, Any]:
    """The last texts: how well a model guesses labels from them alone, words that give one away, writers apart.

    Where texts have no labels, only the words that are added to the sources and the writers are reported. No model is
    trained on fewer than `MIN_TEXTS_TO_TRAIN` texts: `needed` says how many are missing.
    """
    texts = read_texts(project, store)
    if not texts:
        return {"texts": 0}
    tokeniser, tokenised = _tokenise_texts(texts, project.settings.language)
    is_labelled = all(text.label for text in texts) and len({text.label for text in texts}) > 1
    hits = _guess_labels(texts) if is_labelled else None
    figures: dict[str, Any] = {
        "texts": len(texts),
        "batch": BATCH,
        "tokeniser": tokeniser,
        "labelled": is_labelled,
        "needed": max(0, MIN_TEXTS_TO_TRAIN - len(texts)) if is_labelled else 0,
        "guessed": None,
        "batches": [],
        "writers": _describe_writers(tokenised, hits),
    }
    if hits is not None:
        labels = Counter(text.label for text in texts[-len(hits) :])
        chance = max(labels.values()) / len(hits)
        guessed = _accuracy(hits)
        # An alarm where the whole interval is above the share of the most frequent label.
        figures["guessed"] = {**guessed, "chance": chance, "alarm": guessed["low"] > chance}
        # By batch too, so that a change of the guideline shows; the last may be unfinished.
        starts = range(0, len(hits), BATCH)
        figures["batches"] = [_accuracy(hits[start : start + BATCH]) for start in starts]
    if is_labelled:
        return figures | _measure_labels(tokenised)
    return figures | {"words": _find_added_words(tokenised), "lengths": []}


def read_texts(project: Project, store: Store) -> list[Text]:
    """The texts to look at, the oldest first."""
    with store.connection() as db:
        answers = list(latest_answers(db, MAX_ANSWERS))[::-1]
    texts = _list_written_texts if project.form.writes else _list_judged_texts
    return list(texts(project, answers))


def _list_written_texts(project: Project, answers: Iterable[CountedAnswer]) -> Iterator[Text]:
    """The texts of workers, each with the label it was written for, if any."""
    labels = getattr(project.options, "labels", ())
    for one in answers:
        sources = (one.inputs.get(name) for name in SOURCES)
        source = next((text for text in sources if isinstance(text, str)), "")
        for _, answer in project.form.to_judgements(one.answer):
            parts = answer if isinstance(answer, list) else [answer]
            # An answer is a text, a list of texts, or a list of questions with their answers.
            questions = (part.get("question") if isinstance(part, dict) else part for part in parts)
            texts = [text for text in questions if isinstance(text, str)]
            meant = labels if len(texts) == len(labels) else [""] * len(texts)
            for label, text in zip(meant, texts, strict=True):
                yield Text(one.ref, one.worker, label, text, source)


def _list_judged_texts(project: Project, answers: Iterable[CountedAnswer]) -> Iterator[Text]:
    """Each hypothesis once, with the label most workers chose; ties are skipped."""
    question = project.form.main_question(project.options)
    votes: dict[str, Counter[str]] = {}
    items: dict[str, CountedAnswer] = {}
    for one in answers:
        label = one.answer.get(question)
        if isinstance(label, str) and isinstance(one.inputs.get(SIDE), str):
            votes.setdefault(one.ref, Counter())[label] += 1
            items[one.ref] = one
    for ref, labels in votes.items():
        (label, count), *others = labels.most_common(2)
        if not others or others[0][1] < count:
            inputs = items[ref].inputs
            premise = str(inputs.get("premise", ""))
            yield Text(premise or ref, items[ref].writer, label, inputs[SIDE], premise)


def _tokenise_texts(texts: Sequence[Text], language: str) -> tuple[str, Tokenised]:
    """The tokens of texts and sources; by character where the language's analyser is not installed."""
    name = DEFAULTS.get(language, "whitespace")
    try:
        tool = analyser(name)
    except MissingExtra:
        name = "characters"
        tool = analyser(name)

    def split(lines: Iterable[str]) -> list[list[str]]:
        analysed = tool.analyse_many(iter(lines))
        return [[token.form or token.surface for token in tokens] for tokens in analysed]

    tokens = split(text.text for text in texts)
    distinct = list(dict.fromkeys(text.source for text in texts))
    by_source = dict(zip(distinct, map(frozenset, split(distinct)), strict=True))
    sources = [by_source[text.source] for text in texts]
    shared = shared_tokens(zip(tokens, sources, strict=True))
    return name, Tokenised(texts, tokens, sources, shared)


def _guess_labels(texts: Sequence[Text]) -> list[bool] | None:
    """Whether a model that sees the text alone finds its label, for the last texts; None where it cannot learn."""
    last = texts[-MAX_TEXTS_TO_TRAIN:]
    if len(last) < MIN_TEXTS_TO_TRAIN or len({text.group for text in last}) < DEFAULT_FOLDS:
        return None
    task = Task(
        name="text alone",
        dataset="project",
        kind="inference",
        question="label",
        inputs=(SIDE,),
        labels=tuple(sorted({text.label for text in last})),
        metrics=(),
    )
    examples = [
        Example(id=str(n), inputs={SIDE: text.text}, gold={"label": text.label})
        for n, text in enumerate(last)
    ]

    def make_model() -> Any:
        return model("char-linear", settings={"strength": 4.0})

    try:
        predictions = predict_out_of_fold(make_model, task, examples, [text.group for text in last])
    except (MissingExtra, BadInput):  # scikit-learn is an extra; a fold may lack a label
        return None
    return [one.answer == text.label for one, text in zip(predictions, last, strict=True)]


def _accuracy(hits: Sequence[bool]) -> dict[str, Any]:
    """The share of hits with Wilson's interval."""
    low, high = wilson(sum(hits), len(hits))
    return {"texts": len(hits), "accuracy": sum(hits) / len(hits), "low": low, "high": high}


def _measure_labels(tokenised: Tokenised) -> dict[str, Any]:
    """By label: words that give it away, lengths, and overlap with the source.

    `near` lists the words nearest to giving a label away, `explained` how much of the variance in length the label explains.
    """
    tally = Tally((SIDE,))
    overlaps: dict[str, list[float]] = {}
    shares = tokenised.shared.shares.tolist()
    for text, tokens, share in zip(tokenised.texts, tokenised.tokens, shares, strict=True):
        tally.add(text.label, (text.text,), (tokens,))
        overlaps.setdefault(text.label, []).append(share)
    table = tabulate(tally)
    rows = measure_lengths(tally, table.labels)
    return {
        "labels": dict(zip(table.labels, table.examples.tolist(), strict=True)),
        "words": [_describe_word(pair, tokenised) for pair in find_pairs(table)[:MAX_WORDS_SHOWN]],
        "near": msgspec.to_builtins(rank_associations(table, 5)),
        "lengths": [msgspec.to_builtins(row) for row in rows if row.unit == "characters"],
        "explained": next(
            row.share for row in measure_explained(tally) if row.unit == "characters"
        ),
        "overlap": {label: sum(all_) / len(all_) for label, all_ in sorted(overlaps.items())},
    }


def _describe_word(pair: Pair, tokenised: Tokenised) -> dict[str, Any]:
    """A word over the line, who writes it with the label, and how often in the last batch."""
    texts = tokenised.texts
    places = [
        n
        for n, text in enumerate(texts)
        if text.label == pair.label and pair.token in tokenised.tokens[n]
    ]
    writers = Counter(texts[n].writer for n in places if texts[n].writer)
    last_batch = (len(texts) - 1) // BATCH * BATCH
    recent = sum(n >= last_batch for n in places)
    return {**msgspec.to_builtins(pair), "writers": _most_frequent(writers), "recent": recent}


def _find_added_words(tokenised: Tokenised) -> list[dict[str, Any]]:
    """Where texts have no label: the words that are most often added to the source, and who adds them."""
    counts: Counter[str] = Counter()
    writers: dict[str, Counter[str]] = {}
    for text, tokens, source in zip(
        tokenised.texts, tokenised.tokens, tokenised.sources, strict=True
    ):
        for token in set(tokens) - source:
            counts[token] += 1
            writers.setdefault(token, Counter())[text.writer] += 1
    total = len(tokenised.texts)
    return [
        {
            "token": token,
            "label": "",
            "count": count,
            "n": total,
            "share": count / total,
            "writers": _most_frequent(writers[token]),
        }
        for token, count in _most_frequent(counts, MAX_WORDS_SHOWN)
        if count > 1
    ]


def _most_frequent(counts: Mapping[str, int], most: int = MAX_WRITERS_SHOWN) -> list[list[Any]]:
    """The most frequent names with their counts."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [list(pair) for pair in ranked[:most]]


def _describe_writers(tokenised: Tokenised, hits: Sequence[bool] | None) -> list[dict[str, Any]]:
    """Length and overlap of each writer's texts, how often their labels are guessed, and what is odd.

    Flags: `long` and `short` texts, `copies` from the source or `strays` from it, all against the other writers.
    """
    by_writer: dict[str, list[int]] = {}
    for place, text in enumerate(tokenised.texts):
        if text.writer:
            by_writer.setdefault(text.writer, []).append(place)
    characters = np.array([len(text.text) for text in tokenised.texts], dtype=np.float64)
    overlaps = tokenised.shared.shares
    first_guessed = len(tokenised.texts) - len(hits or ())
    rows = []
    for writer, places in by_writer.items():
        guesses = [hits[n - first_guessed] for n in places if n >= first_guessed] if hits else []
        flags = [
            *_flag_odd(characters, places, above="long", below="short"),
            *_flag_odd(overlaps, places, above="copies", below="strays"),
        ]
        rows.append(
            {
                "writer": writer,
                "texts": len(places),
                "characters": float(characters[places].mean()),
                "overlap": float(overlaps[places].mean()),
                "flags": flags,
                "guessed": sum(guesses) / len(guesses) if guesses else None,
            }
        )
    return sorted(rows, key=lambda row: (-len(row["flags"]), -row["texts"], row["writer"]))


def _flag_odd(values: Array, places: list[int], *, above: str, below: str) -> list[str]:
    """A flag where the mean of some values is far above or below that of the others."""
    rest = np.delete(values, places)
    if len(places) < MIN_TEXTS_OF_WRITER or len(rest) < MIN_TEXTS_OF_WRITER:
        return []
    difference = float(values[places].mean() - rest.mean())
    error = float(np.sqrt(values[places].var() / len(places) + rest.var() / len(rest)))
    is_certain = abs(difference) > ODD_STANDARD_ERRORS * error
    is_large = abs(difference) >= 0.1 * abs(float(rest.mean()))
    if not is_certain or not is_large:
        return []
    return [above if difference > 0 else below]
