"""A span of the text for each question: candidates that begin and end where the script changes,
ranked linearly.

A Hangul word may also end one or two characters early, where a particle may begin; no analyser is
used. A candidate is described by the words of the question around it, by its length and
place, by its edges, and by its shape and last character combined with each cue of the question (n-grams
frequent in questions: 何年, 誰が, どこ are learned, not listed). Logistic regression separates right
candidates from random wrong ones. Where some training questions have no answer, a best
score below a threshold, learned on held-out questions, answers "".

Everything about the candidates of one text is computed at once, in arrays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import (
    Model,
    check_kind,
    draw_number,
    get_gold,
    get_text,
    not_fitted_error,
    read_settings,
)
from nikawa.models.hashed import fit_binary_weights
from nikawa.models.text_features import char_ngrams
from nikawa.records import Example, Kind, Prediction, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

KINDS: tuple[Kind, ...] = ("reading",)
NO_CUE = 1
"""The cue every question has."""
HELD_OUT_ONE_IN = 5
"""One question in so many is held out to learn when not to answer."""
TITLE_SEPARATOR = " [SEP] "
"""Separates title and paragraph in some datasets; the title does not count as evidence."""
_RUN = re.compile(
    r"(?P<han>[一-鿿々〆ヶ]+)|(?P<kata>[ァ-ヺー・]+)|(?P<hira>[ぁ-ゖ]+)|(?P<hangul>[가-힣]+)|(?P<latin>[A-Za-zＡ-Ｚａ-ｚ]+)"
    r"|(?P<digit>[0-9０-９.,，．]*[0-9０-９])|(?P<blank>\s+)|(?P<opens>[「『《（(【〈“\"'‘])|(?P<stops>[。！？!?\n])|(?P<other>.)",
    re.S,
)
_SCRIPTS = ("han", "kata", "hira", "hangul", "latin", "digit", "blank", "opens", "stops", "other")
_CODES = {name: code for code, name in enumerate(_SCRIPTS)}
HIRA, HANGUL, BLANK, OPENS, STOPS, OTHER = (
    _CODES[name] for name in ("hira", "hangul", "blank", "opens", "stops", "other")
)
MAX_CHARS, MAX_RUNS = 30, 9
"""Characters of a candidate, and runs of one script that it may cover."""
WINDOWS = (6, 15, 40)
"""Characters on either side in which words of the question are looked for."""
BITS = 18
"""Bits of the number of a hashed feature."""
FIGURES = 12 + 2 * len(WINDOWS)
"""Columns of `overlap_features`."""


class ReadingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    questions: Annotated[int, msgspec.Meta(ge=1)] = 8_000
    """Questions learned from at most, drawn by the seed."""
    wrong: Annotated[int, msgspec.Meta(ge=1)] = 25
    """Wrong candidates per question, drawn by the seed."""
    cues: Annotated[int, msgspec.Meta(ge=0)] = 400
    """N-grams of questions that count as cues: the most frequent ones."""
    strength: Annotated[float, msgspec.Meta(gt=0)] = 0.3
    """Inverse of the penalty on weights."""


class SpanOverlap:
    """The model; it can be pickled once it has learned."""

    name = "span-overlap"

    def __init__(self, settings: ReadingSettings = ReadingSettings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._weights: Any = None
        self._cues: dict[str, int] = {}
        self._rarity: dict[str, float] = {}
        self._threshold: float | None = None
        """Best scores below it mean that there is no answer; None: there always is one."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the cues, then the weights, then when not to answer."""
        check_kind(self.name, KINDS, task)
        get_gold(task, examples)
        for name in ("context", "question"):
            if name not in task.inputs:
                raise BadInput(
                    f"{self.name} needs the input {name}", cure=f"keep {name} among the inputs"
                )
        shuffled = sorted(examples, key=lambda e: (draw_number(self._seed, e.id), e.id))
        chosen = shuffled[: self._settings.questions]
        self._weights, self._threshold = None, None
        self._count_ngrams(chosen)
        if any(not example.gold[task.question] for example in chosen):
            held_out: list[Example] = []
            kept: list[Example] = []
            for example in chosen:
                number = draw_number(self._seed, example.group or example.id)
                (kept if number % HELD_OUT_ONE_IN else held_out).append(example)
            if held_out and kept:
                self._weights = self._learn_weights(task, kept)
                self._threshold = self._learn_threshold(task, held_out)
        self._weights = self._learn_weights(task, chosen)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best candidate of each text, or "" where none is good enough."""
        if self._weights is None:
            raise not_fitted_error(self.name, task)
        predictions = []
        for example in examples:
            answer, score = self._find_best(example)
            if self._threshold is not None and score < self._threshold:
                answer = ""
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions

    def _find_best(self, example: Example) -> tuple[str, float]:
        """The best candidate and its score; the whole text if there is no candidate."""
        candidates = find_candidates(get_text(example, "context"))
        if not len(candidates.starts):
            return candidates.body[candidates.first :].strip(), float("-inf")
        figures, ids = self._describe(example)
        scores = figures @ self._weights[:FIGURES] + self._weights[FIGURES:][ids].sum(axis=1)
        best = int(scores.argmax())
        return candidates.texts[best], float(scores[best])

    def _describe(
        self, example: Example, which: Sequence[int] | slice = slice(None)
    ) -> tuple[Floats, Ints]:
        """Figures and numbers of features of every candidate, or of some."""
        import numpy as np

        candidates = find_candidates(get_text(example, "context"))
        question = get_text(example, "question").strip()
        cues = {self._cues[gram] for gram in char_ngrams(question, 2, 3) if gram in self._cues}
        cue_ids = np.array([NO_CUE, *sorted(cues)], dtype=np.int64)
        figures = overlap_features(candidates, question, self._rarity)[which]
        return figures, hashed_features(candidates, cue_ids, which)

    def _count_ngrams(self, examples: Sequence[Example]) -> None:
        """Learn which n-grams are cues, and how rare bigrams are in texts."""
        in_questions: Counter[str] = Counter()
        for example in examples:
            question = get_text(example, "question").strip()
            in_questions.update(set(char_ngrams(question, 2, 3)))
        frequent = sorted(in_questions.items(), key=lambda item: (-item[1], item[0]))
        cues = [gram for gram, _ in frequent[: self._settings.cues]]
        self._cues = {gram: NO_CUE + 1 + i for i, gram in enumerate(cues)}
        texts = {get_text(example, "context") for example in examples}
        in_texts: Counter[str] = Counter()
        for text in texts:
            in_texts.update(set(char_ngrams(text, 2, 2)))
        self._rarity = {
            gram: log((1 + len(texts)) / (1 + count)) + 0.1
            for gram, count in in_texts.items()
            if count > 1
        }
        self._rarity[""] = log(1 + len(texts)) + 0.1

    def _learn_weights(self, task: Task, examples: Sequence[Example]) -> Any:
        """The weights that separate right candidates from wrong ones, drawn question by question."""
        import numpy as np
        from scipy.sparse import csr_matrix, hstack

        figures = []
        columns = []
        counts = []
        labels = []
        for example in examples:
            which, right = self._draw_candidates(task, example)
            if not which:
                continue
            own_figures, ids = self._describe(example, which)
            figures.append(own_figures)
            columns.append(ids.ravel().astype(np.int32))
            counts += [ids.shape[1]] * len(which)
            labels += right
        if len(set(labels)) < 2:
            what = "no gold answer is a span of its context that begins and ends where the script changes"
            raise BadInput(what, cure="add examples whose answers are spelled as in the context")
        ends = np.concatenate([[0], np.cumsum(counts)])
        column = np.concatenate(columns)
        sparse = csr_matrix((np.ones(len(column)), column, ends), shape=(len(labels), 1 << BITS))
        rows = hstack([csr_matrix(np.concatenate(figures)), sparse]).tocsr()
        return fit_binary_weights(rows, labels, strength=self._settings.strength, intercept=True)

    def _draw_candidates(self, task: Task, example: Example) -> tuple[list[int], list[int]]:
        """Candidates to learn from (every right one, some wrong ones), and whether each is right."""
        import numpy as np

        candidates = find_candidates(get_text(example, "context"))
        answers = {answer["text"] for answer in example.gold[task.question]}
        right = [i for i, text in enumerate(candidates.texts) if text in answers]
        wrong = np.setdiff1d(np.arange(len(candidates.starts)), right)
        random = np.random.default_rng(draw_number(self._seed, example.id))
        some = random.permutation(wrong)[: self._settings.wrong].tolist()
        return [*right, *some], [1] * len(right) + [0] * len(some)

    def _learn_threshold(self, task: Task, held_out: Sequence[Example]) -> float:
        """The threshold under which most held-out questions are answered correctly, "" among the
        answers.
        """
        ranked = []
        for example in held_out:
            text, score = self._find_best(example)
            answers = {answer["text"] for answer in example.gold[task.question]}
            ranked.append((score, text in answers, not answers))
        gain, best_gain, threshold = 0, 0, float("-inf")
        for score, is_right, has_none in sorted(ranked):
            gain += has_none - is_right
            if gain > best_gain:
                best_gain, threshold = gain, score
        return threshold + 1e-9 if threshold > float("-inf") else threshold


@dataclass(frozen=True)
class Candidates:
    """The spans of a text that may answer, as arrays with one entry per candidate."""

    body: str
    first: int
    """Where the paragraph begins, behind a title."""
    starts: Ints
    ends: Ints
    begins_with: Ints
    """Script of the first run of each candidate."""
    ends_with: Ints
    runs: Ints
    """Runs of one script that each candidate covers."""
    sentence: Ints
    """Number of the sentence each character is in."""

    @cached_property
    def texts(self) -> list[str]:
        """The characters of every candidate."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.body[start:end] for start, end in places]


@lru_cache(maxsize=64)
def find_candidates(body: str) -> Candidates:
    """Every span of a text that may answer.

    The result is cached, because questions on one text follow each other.
    """
    import numpy as np

    separator = body.find(TITLE_SEPARATOR)
    first = 0 if separator < 0 else separator + len(TITLE_SEPARATOR)
    runs = [
        (match.start(), match.end(), _CODES[match.lastgroup or "other"])
        for match in _RUN.finditer(body, first)
    ]
    rows = [row for i in range(len(runs)) for row in _list_candidates_from(runs, i)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    stops = np.zeros(len(body) + 1, dtype=np.int64)
    stops[[start + 1 for start, _, script in runs if script == STOPS]] = 1
    starts, ends, begins_with, ends_with, covered = table.T
    return Candidates(body, first, starts, ends, begins_with, ends_with, covered, np.cumsum(stops))


def _list_candidates_from(
    runs: list[tuple[int, int, int]], i: int
) -> list[tuple[int, int, int, int, int]]:
    """The candidates that begin with run `i`: start, end, script of the first and last run, number
    of runs.
    """
    start, end, script = runs[i]
    if script in (BLANK, STOPS, OTHER) or (script == HIRA and end - start < 2):
        return []
    rows = []
    for count, (last_start, stop, last) in enumerate(runs[i : i + MAX_RUNS], start=1):
        if last == STOPS or stop - start > MAX_CHARS:
            break
        if last in (BLANK, OPENS):
            continue
        rows.append((start, stop, script, last, count))
        if last == HANGUL:
            for particle in (1, 2):
                if stop - particle > last_start:
                    rows.append((start, stop - particle, script, last, count))
    return rows


def overlap_features(candidates: Candidates, question: str, rarity: dict[str, float]) -> Floats:
    """One row per candidate: how much of the question is around it and in it, its length and
    place.

    `rarity` is the weight of each bigram; that of "" is the weight of bigrams it lacks.
    """
    import numpy as np

    default = rarity.get("", 1.0)
    bigrams = set(char_ngrams(question, 2, 2))
    body = candidates.body
    s = candidates.starts
    e = candidates.ends
    # In order, so that the last digit does not depend on how Python hashes strings.
    total = sum(rarity.get(gram, default) for gram in sorted(bigrams)) or 1.0
    shared = []
    for i in range(len(body)):
        gram = body[i : i + 2]
        shared.append(rarity.get(gram, default) if gram in bigrams else 0.0)
    sums = np.concatenate([[0.0], np.cumsum(shared)]) / total
    last, first = len(body), candidates.first
    inside = sums[e] - sums[s]
    columns = [
        inside,
        inside * 10 / (e - s),
        np.log(e - s),
        (e - s) / MAX_CHARS,
        candidates.runs / MAX_RUNS,
    ]
    for size in WINDOWS:
        columns += [
            sums[s] - sums[np.maximum(s - size, first)],
            sums[np.minimum(e + size, last)] - sums[e],
        ]
    edges = np.flatnonzero(np.diff(candidates.sentence, prepend=-1))
    sentence = candidates.sentence[s]
    low = edges[sentence]
    high = np.append(edges[1:], last)[sentence]
    around = sums[high] - sums[low] - inside
    best = around.max() if len(around) else 0.0
    columns += [around, around - best, (s - low) / 50, (high - e) / 50, (s - first) / 300]
    in_question = np.array([text in question for text in candidates.texts], dtype=float)
    return np.column_stack([*columns, np.log1p(s - first), in_question])


def hashed_features(
    candidates: Candidates, cues: Ints, which: Sequence[int] | slice = slice(None)
) -> Ints:
    """One row per candidate, of all or of `which`: numbers of its features, alone and combined with each
    cue.
    """
    import numpy as np

    codes = np.array([0, 0, *map(ord, candidates.body), 0, 0], dtype=np.int64)
    s = candidates.starts[which] + 2
    e = candidates.ends[which] + 2
    begins = candidates.begins_with[which]
    ends = candidates.ends_with[which]
    runs = candidates.runs[which]
    before = codes[s - 1]
    after = codes[e]
    first = codes[s]
    last = codes[e - 1]
    shape = (begins * 16 + ends) * 16 + np.minimum(runs, 4) * 4 + np.minimum((e - s) // 4, 3)
    alone = [
        before,
        after,
        last,
        first,
        shape,
        before * 65_537 + codes[s - 2],
        after * 65_537 + codes[e + 1],
        before * 65_537 + after,
        last * 65_537 + after,
        last * 65_537 + codes[e - 2],
        begins * 64 + before,
        ends * 65_537 + after,
    ]
    beside = [shape, last, after, before, begins * 16 + ends]
    features = [_hash(column, n)[:, None] for n, column in enumerate(alone, start=1)]
    for n, column in enumerate(beside, start=101):
        features.append(_hash(_hash(column, n)[:, None] * 4_194_301 + cues[None, :], n))
    return np.concatenate(features, axis=1)


def _hash(values: Ints, salt: int) -> Ints:
    """Spread numbers over the table of weights, each template of features in its own way."""
    import numpy as np

    spread = values.astype(np.uint64) + np.uint64(salt * 1_000_003)
    return ((spread * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - BITS)).astype(np.int64)


MODELS = (
    Model(
        "span-overlap",
        "ranks spans of the text by nearby question words and by their shape",
        KINDS,
        lambda setup: SpanOverlap(read_settings(ReadingSettings, setup), setup.seed),
        settings=ReadingSettings,
    ),
)
