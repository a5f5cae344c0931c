"""One of several answers to a question: every choice is read with the question, the best-scored
wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    Batch,
    Head,
    RowOutputs,
    Work,
    cross_entropy,
    model_inputs,
    softmax,
)
from nikawa.records import Example, Kind, Prediction


class Choices(Head):
    """Transformers' own model for multiple choice."""

    kinds: tuple[Kind, ...] = ("choice",)

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """One score per choice."""
        return backbone.model("AutoModelForMultipleChoice", work.settings)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per example, one sequence per choice; the question comes first."""
        choices: list[Sequence[str]] = []
        for example in examples:
            own: Any = example.inputs.get("choices")
            is_list = isinstance(own, list | tuple) and len(own) > 1
            if not is_list or not all(isinstance(choice, str) for choice in own):
                what = f"example {example.id!r} needs a list of two or more choices"
                raise BadInput(what, cure="add its choices as a list of texts")
            choices.append(own)
        widths = {len(own) for own in choices} or {2}
        if len(widths) > 1:
            raise BadInput(
                f"examples have {min(widths)} to {max(widths)} choices",
                cure="use the same number in all",
            )
        width = widths.pop()
        choice_ids = work.reader.ids([choice for own in choices for choice in own])
        question_ids: list[list[int]] | None = None
        if (
            "question" in work.task.inputs
        ):  # otherwise only the choices, to measure what the question adds
            question_ids = work.reader.ids([get_text(e, "question") for e in examples])
        pairs = []
        for i, choice in enumerate(choice_ids):
            first, second = choice, None
            if question_ids is not None:
                first, second = question_ids[i // width], choice
            pairs.append(work.reader.frame_texts(first, second, work.settings.max_length))
        rows = work.reader.add_tokens(Rows.one_each(len(examples), width), pairs)
        if learn:
            rows.dense["labels"] = np.array(get_gold(work.task, examples), dtype=np.int64)
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy over the choices."""
        return cross_entropy(model(**model_inputs(batch)).logits, batch["labels"])

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The place of the best choice, with a probability for each place."""
        predictions = []
        for example, row in zip(examples, outputs, strict=True):
            scores = {str(i): share for i, share in enumerate(softmax(row[0]).tolist())}
            best = int(np.argmax(row[0]))
            predictions.append(Prediction(example=example.id, answer=best, scores=scores))
        return predictions


HEAD = Choices()
