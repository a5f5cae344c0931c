"""The answer as a stretch of the paragraph: a start and an end score a sub-word, over overlapping windows.

The first position stands for "no answer here"; where training has questions without an answer, that is an answer too.
Positions are kept as characters of the paragraph, so the answer is cut from the text itself, never put together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import Work, add_tokens, cross_entropy, inputs_only
from nikawa.models.encoder.pieces import Pieces
from nikawa.models.encoder.store import Rows
from nikawa.records import Example, Kind, Prediction, Task

QUESTION_SHARE = 0.5
"""A question may fill this share of a window; the rest of it is cut."""


class Spans:
    """The head that transformers has for extractive reading."""

    kinds: tuple[Kind, ...] = ("reading",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """None that are named."""
        return ()

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """Two scores a position; the configuration keeps whether questions may have no answer."""
        empty = any(not example.gold.get(work.task.question) for example in train)
        may = bool(getattr(backbone.config, "answers_may_be_empty", False)) or empty
        model = backbone.model(
            "AutoModelForQuestionAnswering", work.settings, num_labels=2, answers_may_be_empty=may
        )
        model.known = {"none": may}
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row a window; its note: where the paragraph starts in it and the characters of each piece."""
        asked = "question" in work.task.inputs
        questions = work.reader.ids([get_text(e, "question") if asked else "" for e in examples])
        contexts = work.reader.pieces([get_text(e, "context") for e in examples])
        gold = get_gold(work.task, examples) if learn else [None] * len(examples)
        made, pairs, starts, ends = Rows(), [], [], []
        for i, (question, context) in enumerate(zip(questions, contexts, strict=True)):
            target = _target(gold[i]) if gold[i] else None
            for ids, segments, head, spans in windows(work, question, context):
                made.owner.append(i)
                made.notes.append((head, spans))
                pairs.append((ids, segments))
                start, end = _place(spans, head, target)
                starts.append(start)
                ends.append(end)
        add_tokens(work, made, pairs)
        if learn:
            made.dense |= {"start_positions": np.array(starts), "end_positions": np.array(ends)}
        return made

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """The mean of the cross-entropies of start and end."""
        found = model(**inputs_only(batch))
        start = cross_entropy(found.start_logits, batch["start_positions"])
        return (start + cross_entropy(found.end_logits, batch["end_positions"])) / 2

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """Start and end scores."""
        found = model(**inputs_only(batch))
        return found.start_logits, found.end_logits

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The best stretch over all windows of each example; none where the first position beats them all."""
        best: list[list[tuple[float, int, int]]] = [[] for _ in examples]
        none = np.full(len(examples), np.inf)
        for owner, (head, spans), (start, end) in zip(rows.owner, rows.notes, found, strict=True):
            none[owner] = min(none[owner], float(start[0] + end[0]))
            best[owner] += stretches(start, end, head, spans, work)
        may = work.known["none"]
        return [
            _answer(e, b, float(n) if may else None, work)
            for e, b, n in zip(examples, best, none, strict=True)
        ]


Window = tuple[np.ndarray, np.ndarray, int, list[tuple[int, int]]]


def windows(work: Work, question: list[int], context: Pieces) -> list[Window]:
    """The paragraph in windows that overlap by the stride, each framed with the question."""
    frame, longest = work.reader.frame, work.settings.max_length
    before, between, after = frame.two
    special = len(before) + len(between) + len(after)
    question = question[: int((longest - special) * QUESTION_SHARE)]
    room = longest - special - len(question)
    stride = min(work.settings.doc_stride, room // 2)
    head = len(before) + len(question) + len(between)
    made = []
    for start in range(0, max(1, len(context.ids)), room - stride):
        part = context.ids[start : start + room]
        ids = np.array([*before, *question, *between, *part, *after])
        segments = np.array([frame.segments[0]] * head + [frame.segments[1]] * (len(ids) - head))
        made.append((ids, segments, head, context.spans[start : start + room]))
        if start + room >= len(context.ids):
            break
    return made


def _target(answers: Any) -> tuple[int, int]:
    first = answers[0]
    return first["start"], first["start"] + len(first["text"])


def _place(
    spans: list[tuple[int, int]], head: int, target: tuple[int, int] | None
) -> tuple[int, int]:
    """The pieces of the answer in this window; the first position where it is not wholly inside."""
    if target is None or not spans:
        return 0, 0
    inside = [i for i, (a, b) in enumerate(spans) if a < target[1] and b > target[0]]
    if not inside or spans[0][0] > target[0] or spans[-1][1] < target[1]:
        return 0, 0
    return head + inside[0], head + inside[-1]


def stretches(
    start: np.ndarray, end: np.ndarray, head: int, spans: list[tuple[int, int]], work: Work
) -> list[tuple[float, int, int]]:
    """The best stretches of one window: score, first and last character (exclusive)."""
    n, limit, best = len(spans), work.settings.max_answer, work.settings.n_best
    if not n:
        return []
    first, last = start[head : head + n], end[head : head + n]
    tops = np.argsort(-first, kind="stable")[:best]
    tails = np.argsort(-last, kind="stable")[:best]
    scores = first[tops][:, None] + last[tails][None, :]
    span = tails[None, :] - tops[:, None]
    fits = (span >= 0) & (span < limit)
    found = [
        (float(scores[i, j]), spans[tops[i]][0], spans[tails[j]][1])
        for i, j in zip(*np.nonzero(fits), strict=True)
    ]
    return sorted((f for f in found if f[2] > f[1]), reverse=True)[:best]


def _answer(
    example: Example, found: list[tuple[float, int, int]], none: float | None, work: Work
) -> Prediction:
    context = get_text(example, "context")
    ranked = sorted(found, key=lambda f: (-f[0], f[1], f[2]))
    if not ranked or (none is not None and none > ranked[0][0]):
        return Prediction(example=example.id, answer="")
    texts: dict[str, float] = {}
    for score, a, b in ranked:
        texts.setdefault(context[a:b], score)
        if len(texts) == work.settings.n_best:
            break
    return Prediction(example=example.id, answer=next(iter(texts)), scores=texts)


HEAD = Spans()
