"""The answer as a span of the paragraph: a start and an end score per sub-word, over overlapping
windows.

The first position means "no answer here"; if training has questions without an answer, that
is an answer too. Positions are kept as characters of the paragraph, so the answer is cut from the
text itself, never put together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.alignment import Place
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    Batch,
    Head,
    RowOutputs,
    Work,
    cross_entropy,
    model_inputs,
    split_windows,
)
from nikawa.models.encoder.subwords import Framed, Subwords
from nikawa.records import Example, Kind, Prediction

MAX_QUESTION_SHARE = 0.5
"""A question may fill this share of a window; the rest of it is cut."""


class Window(NamedTuple):
    """A part of a paragraph, framed with the question."""

    framed: Framed
    head: int
    """Where the paragraph starts."""
    spans: list[Place]
    """The characters of each sub-word of the paragraph."""


class Spans(Head):
    """Transformers' own model for extractive reading."""

    kinds: tuple[Kind, ...] = ("reading",)

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """Two scores per position; the configuration keeps whether questions may have no answer."""
        has_empty = any(not example.gold.get(work.task.question) for example in train)
        may_be_empty = bool(getattr(backbone.config, "answers_may_be_empty", False)) or has_empty
        model = backbone.model(
            "AutoModelForQuestionAnswering",
            work.settings,
            num_labels=2,
            answers_may_be_empty=may_be_empty,
        )
        model.known = {"none": may_be_empty}
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per window; its note: where the paragraph starts in it and the characters of each
        sub-word.
        """
        shows_question = "question" in work.task.inputs
        questions = work.reader.ids(
            [get_text(e, "question") if shows_question else "" for e in examples]
        )
        contexts = work.reader.read([get_text(e, "context") for e in examples])
        gold: list[Any] = get_gold(work.task, examples) if learn else [None] * len(examples)
        rows = Rows()
        pairs, starts, ends = [], [], []
        for i, (question, context) in enumerate(zip(questions, contexts, strict=True)):
            target = None
            if gold[i]:
                first = gold[i][0]
                target = (first["start"], first["start"] + len(first["text"]))
            for window in _frame_windows(work, question, context):
                rows.owner.append(i)
                rows.notes.append((window.head, window.spans))
                pairs.append(window.framed)
                start, end = _find_target_subwords(window, target)
                starts.append(start)
                ends.append(end)
        work.reader.add_tokens(rows, pairs)
        if learn:
            rows.dense["start_positions"] = np.array(starts)
            rows.dense["end_positions"] = np.array(ends)
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """The mean of the cross-entropies of start and end."""
        scores = model(**model_inputs(batch))
        start = cross_entropy(scores.start_logits, batch["start_positions"])
        return (start + cross_entropy(scores.end_logits, batch["end_positions"])) / 2

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """Start and end scores."""
        scores = model(**model_inputs(batch))
        return scores.start_logits, scores.end_logits

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The best stretch over all windows of each example; none where the first position beats
        them all.
        """
        candidates: list[list[tuple[float, int, int]]] = [[] for _ in examples]
        empty = [float("inf")] * len(examples)  # the score of "no answer", the least of all windows
        for owner, (head, spans), (start, end) in zip(rows.owner, rows.notes, outputs, strict=True):
            empty[owner] = min(empty[owner], float(start[0] + end[0]))
            candidates[owner] += find_best_spans(start, end, head, spans, work)
        predictions = []
        for i, example in enumerate(examples):
            context = get_text(example, "context")
            ranked = sorted(candidates[i], key=lambda c: (-c[0], c[1], c[2]))
            is_empty = work.known["none"] and ranked and empty[i] > ranked[0][0]
            if not ranked or is_empty:
                predictions.append(Prediction(example=example.id, answer=""))
                continue
            scores: dict[str, float] = {}
            for score, a, b in ranked:
                scores.setdefault(context[a:b], score)
                if len(scores) == work.settings.n_best:
                    break
            best = next(iter(scores))
            predictions.append(Prediction(example=example.id, answer=best, scores=scores))
        return predictions


def _frame_windows(work: Work, question: list[int], context: Subwords) -> list[Window]:
    """The paragraph in windows that overlap by the stride, each framed with the question."""
    longest = work.settings.max_length
    before, between, after = work.reader.frame.two
    room = longest - len(before) - len(between) - len(after)
    question = question[: int(room * MAX_QUESTION_SHARE)]
    room -= len(question)
    head = len(before) + len(question) + len(between)
    windows = []
    for start, end in split_windows(len(context.ids), room, work.settings.doc_stride):
        framed = work.reader.frame_texts(question, context.ids[start:end], longest)
        windows.append(Window(framed, head, context.spans[start:end]))
    return windows


def _find_target_subwords(window: Window, target: Place | None) -> Place:
    """The sub-words of the answer in this window.

    If the answer is not wholly inside, it is the first position.
    """
    spans, head = window.spans, window.head
    if target is None or not spans:
        return 0, 0
    inside = [i for i, (a, b) in enumerate(spans) if a < target[1] and b > target[0]]
    if not inside or spans[0][0] > target[0] or spans[-1][1] < target[1]:
        return 0, 0
    return head + inside[0], head + inside[-1]


def find_best_spans(
    start: np.ndarray, end: np.ndarray, head: int, spans: list[Place], work: Work
) -> list[tuple[float, int, int]]:
    """The best stretches of one window: score, first and last character (exclusive)."""
    n = len(spans)
    limit = work.settings.max_answer
    best = work.settings.n_best
    if not n:
        return []
    first = start[head : head + n]
    last = end[head : head + n]
    starts = np.argsort(-first, kind="stable")[:best]
    ends = np.argsort(-last, kind="stable")[:best]
    scores = first[starts][:, None] + last[ends][None, :]
    length = ends[None, :] - starts[:, None]
    candidates = []
    for i, j in zip(*np.nonzero((length >= 0) & (length < limit)), strict=True):
        a = spans[starts[i]][0]
        b = spans[ends[j]][1]
        if b > a:
            candidates.append((float(scores[i, j]), a, b))
    return sorted(candidates, reverse=True)[:best]


HEAD = Spans()
