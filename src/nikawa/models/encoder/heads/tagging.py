"""Spans of a text from tags of its sub-words: B- at the first sub-word of a span, I- inside, O
elsewhere.

KLUE's reference code reads tags back from words and loses its place there: after a word-final
unknown sub-word the next word takes its tag again, other sub-words of a word with an unknown one
count for one character each, and what is past the longest input vanishes from the gold answer too.
Here every sub-word knows its characters, long texts are read in windows that overlap, and gold is
never cut. A sub-word takes the tag of its first character there; here the tag of the span that contains
at least half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.models.base import get_gold, get_text
from nikawa.models.crf import tags_to_spans
from nikawa.models.encoder.alignment import Place
from nikawa.models.encoder.batches import IGNORED, Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    Batch,
    Head,
    RowOutputs,
    Work,
    class_config,
    mean_cross_entropy,
    model_inputs,
    split_windows,
    unknown_label_error,
)
from nikawa.records import Example, Kind, Prediction, Span, Task


class Tags(Head):
    """Transformers' own model for tokens."""

    kinds: tuple[Kind, ...] = ("tagging",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """O, then the beginning and the inside of each label."""
        return ("O", *(f"{mark}-{label}" for label in task.labels for mark in "BI"))

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """A score for each tag at each sub-word."""
        classes = work.classes or self.classes(work.task)
        return backbone.model(
            "AutoModelForTokenClassification", work.settings, **class_config(classes)
        )

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per window; its note: the first sub-word of the window, and the sub-words'
        characters.
        """
        texts = work.reader.read([get_text(e, "text") for e in examples])
        gold = get_gold(work.task, examples) if learn else [()] * len(examples)
        classes = {name: i for i, name in enumerate(work.classes or self.classes(work.task))}
        rows = Rows()
        pairs = []
        labels = []
        before, after = work.reader.frame.one
        longest = work.settings.max_length
        room = longest - len(before) - len(after)
        for i, (subwords, spans) in enumerate(zip(texts, gold, strict=True)):
            for span in spans:
                if f"B-{span.label}" not in classes:
                    raise unknown_label_error(work, examples[i], span.label, work.task.labels)
            tags = spans_to_tags(subwords.spans, spans) if learn else []
            tag_ids = [classes[tag] if tag else IGNORED for tag in tags]
            for start, end in split_windows(len(subwords.ids), room, work.settings.doc_stride):
                rows.owner.append(i)
                rows.notes.append((start, subwords.spans[start:end]))
                pairs.append(work.reader.frame_texts(subwords.ids[start:end], None, longest))
                own = np.full(len(pairs[-1][0]), IGNORED)
                if learn:
                    own[len(before) : len(before) + end - start] = tag_ids[start:end]
                labels.append(own)
        work.reader.add_tokens(rows, pairs)
        if learn:
            rows.tokens["labels"] = labels
            rows.pads["labels"] = IGNORED
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy over the sub-words that represent characters."""
        return mean_cross_entropy(model(**model_inputs(batch)).logits, batch["labels"])

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """The likeliest tag of each position."""
        return (model(**model_inputs(batch)).logits.argmax(-1),)

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The spans of each example.

        Where windows overlap, each sub-word is read where it has most around it.
        """
        classes = work.classes or self.classes(work.task)
        head = len(work.reader.frame.one[0])
        # by example and number of a sub-word: how far it is from the window's edge, its tag and characters
        best: list[dict[int, tuple[int, str, Place]]] = [{} for _ in examples]
        for owner, (start, spans), (tags,) in zip(rows.owner, rows.notes, outputs, strict=True):
            for i, place in enumerate(spans):
                around = min(i, len(spans) - 1 - i)
                number = start + i
                if number not in best[owner] or around > best[owner][number][0]:
                    best[owner][number] = (around, classes[int(tags[head + i])], place)
        predictions = []
        for example, subwords in zip(examples, best, strict=True):
            ordered = [subwords[number] for number in sorted(subwords)]
            answer = tags_to_spans([tag for _, tag, _ in ordered], [place for *_, place in ordered])
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions


def spans_to_tags(places: Sequence[Place], spans: Sequence[Span]) -> list[str]:
    """The tag of each sub-word, by the characters it represents.

    A sub-word without characters has the empty tag.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    tags: list[str] = []
    open_span, at = -1, 0
    for start, end in places:
        while at < len(ordered) and ordered[at].end <= start:
            at += 1
        best, most = -1, 0  # the first of the spans that share most characters with the sub-word
        for number in range(at, len(ordered)):
            span = ordered[number]
            if span.start >= end:
                break
            shared = min(span.end, end) - max(span.start, start)
            if shared > most:
                best, most = number, shared
        if end <= start:
            tags.append("")
        elif 2 * most < end - start or not most:
            tags.append("O")
            open_span = -1
        else:
            tags.append(f"{'I' if open_span == best else 'B'}-{ordered[best].label}")
            open_span = best
    return tags


HEAD = Tags()
