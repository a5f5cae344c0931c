"""Spans of a text from tags of its sub-words: B- at the first piece of a span, I- inside, O elsewhere.

KLUE's reference code reads tags back from words and loses its place there: after a word-final unknown piece the next word
takes its tag again, other pieces of a word with an unknown one count for one character each, and what is past the
longest input vanishes from the gold answer too. Here every piece knows its characters, long texts are read in
windows that overlap, and gold is never cut. A piece takes the tag of its first character there; here that of the span
that holds at least half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput, listed
from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import (
    Work,
    add_tokens,
    inputs_only,
    mean_cross_entropy,
    named_classes,
)
from nikawa.models.encoder.pieces import Pieces
from nikawa.models.encoder.store import IGNORED, Rows
from nikawa.records import Example, Kind, Prediction, Span, Task

Place = tuple[int, int]


class Tags:
    """The head that transformers has for tokens."""

    kinds: tuple[Kind, ...] = ("tagging",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """O, then the beginning and the inside of each label."""
        return ("O", *(f"{mark}-{label}" for label in task.labels for mark in "BI"))

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """A score for each tag at each sub-word."""
        classes = work.classes or self.classes(work.task)
        return backbone.model(
            "AutoModelForTokenClassification", work.settings, **named_classes(classes)
        )

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row a window; its note: the first piece of the window, and the pieces' characters."""
        found = work.reader.pieces([get_text(e, "text") for e in examples])
        gold = get_gold(work.task, examples) if learn else [()] * len(examples)
        made, pairs, labels = Rows(), [], []
        before, after = work.reader.frame.one
        for i, (pieces, spans) in enumerate(zip(found, gold, strict=True)):
            tags = self._tags(work, examples[i], pieces, spans) if learn else []
            for start, end in windows(len(pieces.ids), work):
                made.owner.append(i)
                made.notes.append((start, pieces.spans[start:end]))
                ids = np.array([*before, *pieces.ids[start:end], *after])
                pairs.append((ids, np.full(len(ids), work.reader.frame.segments[0])))
                labels.append(
                    np.array([IGNORED] * len(before) + tags[start:end] + [IGNORED] * len(after))
                )
        add_tokens(work, made, pairs)
        if learn:
            made.tokens["labels"], made.pads["labels"] = labels, IGNORED
        return made

    def _tags(
        self, work: Work, example: Example, pieces: Pieces, spans: Sequence[Span]
    ) -> list[int]:
        place = {name: i for i, name in enumerate(work.classes or self.classes(work.task))}
        for span in spans:
            if f"B-{span.label}" not in place:
                what = f"example {example.id!r} has the label {span.label!r}, which {work.task.name} does not know"
                raise BadInput(what, cure=f"labels: {listed(work.task.labels)}")
        return [place[name] if name else IGNORED for name in tags_of(pieces.spans, spans)]

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the sub-words that stand for characters."""
        return mean_cross_entropy(model(**inputs_only(batch)).logits, batch["labels"])

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """The likeliest tag of each position."""
        return (model(**inputs_only(batch)).logits.argmax(-1),)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The spans of each example; where windows overlap, each piece is read where it has most around it."""
        classes, head = work.classes or self.classes(work.task), len(work.reader.frame.one[0])
        best: list[dict[int, tuple[int, str, Place]]] = [{} for _ in examples]
        for owner, (start, spans), (tags,) in zip(rows.owner, rows.notes, found, strict=True):
            for i, place in enumerate(spans):
                inside = min(i, len(spans) - 1 - i)
                if start + i not in best[owner] or inside > best[owner][start + i][0]:
                    best[owner][start + i] = (inside, classes[int(tags[head + i])], place)
        made = []
        for example, pieces in zip(examples, best, strict=True):
            ordered = [pieces[i] for i in sorted(pieces)]
            spans = spans_of([tag for _, tag, _ in ordered], [place for _, _, place in ordered])
            made.append(Prediction(example=example.id, answer=spans))
        return made


def windows(n: int, work: Work) -> list[Place]:
    """The first and last piece (exclusive) of windows over `n` pieces, which overlap by the stride."""
    before, after = work.reader.frame.one
    room = work.settings.max_length - len(before) - len(after)
    step = room - min(work.settings.doc_stride, room // 2)
    made = [(0, min(n, room))]
    while made[-1][1] < n:
        start = made[-1][0] + step
        made.append((start, min(n, start + room)))
    return made


def tags_of(places: Sequence[Place], spans: Sequence[Span]) -> list[str]:
    """The tag of each piece; empty for one that stands for no character."""
    ordered = sorted(spans, key=lambda s: s.start)
    made: list[str] = []
    open_, at = -1, 0
    for start, end in places:
        while at < len(ordered) and ordered[at].end <= start:
            at += 1
        held = [
            (_shared(s, start, end), -i)
            for i, s in enumerate(ordered[at:], start=at)
            if s.start < end
        ]
        most, number = max(held, default=(0, 0))
        if end <= start:
            made.append("")
        elif 2 * most < end - start or not most:
            made.append("O")
            open_ = -1
        else:
            made.append(f"{'I' if open_ == -number else 'B'}-{ordered[-number].label}")
            open_ = -number
    return made


def _shared(span: Span, start: int, end: int) -> int:
    return min(span.end, end) - max(span.start, start)


def spans_of(tags: Sequence[str], places: Sequence[Place]) -> list[Span]:
    """The spans the tags tell of; an inside without a beginning begins one."""
    made: list[Span] = []
    last = ""
    for tag, (start, end) in zip(tags, places, strict=True):
        if end <= start:
            continue
        mark, _, label = tag.partition("-")
        if mark == "I" and label == last:
            made[-1] = Span(made[-1].start, end, label)
        elif mark in {"B", "I"}:
            made.append(Span(start, end, label))
        last = label
    return made


HEAD = Tags()
