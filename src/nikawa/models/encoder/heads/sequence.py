"""Labels and scores of one text or a pair, from the first position: a linear layer over the pooled
vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from nikawa.models.base import get_gold
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    Batch,
    Head,
    RowOutputs,
    Work,
    class_config,
    cross_entropy,
    label_indexes,
    make_label_prediction,
    make_text_rows,
    model_inputs,
)
from nikawa.records import Example, Kind, Prediction, Task


class Sequences(Head):
    """Classification by cross-entropy.

    Similarity uses the squared error; its answers are kept on the task's scale.
    """

    kinds: tuple[Kind, ...] = ("text", "inference", "similarity")

    def classes(self, task: Task) -> tuple[str, ...]:
        """The labels; a similarity has none."""
        return () if task.kind == "similarity" else task.labels

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """Transformers' own model for sequences."""
        if work.task.kind == "similarity":
            changes: dict[str, Any] = {"num_labels": 1, "problem_type": "regression"}
        else:
            changes = class_config(work.labels)
        return backbone.model("AutoModelForSequenceClassification", work.settings, **changes)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per example."""
        rows = make_text_rows(work, examples)
        if learn:
            gold = get_gold(work.task, examples)
            if work.task.kind == "similarity":
                rows.dense["labels"] = np.array(gold, dtype=np.float32)
            else:
                rows.dense["labels"] = label_indexes(work, examples, gold)
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy, or the mean squared error over the rows with a score."""
        logits = model(**model_inputs(batch)).logits
        labels = batch["labels"]
        if labels.dtype != torch.float32:
            return cross_entropy(logits, labels)
        counted = ~torch.isnan(labels)
        errors = torch.where(counted, logits.float().squeeze(-1) - labels.nan_to_num(), 0.0)
        return (errors * errors).sum() / counted.sum().clamp(min=1)

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The likeliest label with all probabilities, or the score."""
        task = work.task
        if task.kind != "similarity":
            return [
                make_label_prediction(e.id, work.labels, row[0])
                for e, row in zip(examples, outputs, strict=True)
            ]
        low, high = task.scale or (float("-inf"), float("inf"))
        predictions = []
        for example, row in zip(examples, outputs, strict=True):
            answer = min(max(float(row[0][0]), low), high)
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions


HEAD = Sequences()
