"""Labels and scores of one text or a pair, from the first position: a linear layer over the pooled vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.models.base import get_gold
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import (
    Work,
    cross_entropy,
    indexes,
    inputs_only,
    label_answer,
    named_classes,
    text_rows,
)
from nikawa.models.encoder.store import Rows
from nikawa.records import Example, Kind, Prediction, Task


class Sequences:
    """Classification by cross-entropy; similarity by the squared error, kept on the task's scale when it answers."""

    kinds: tuple[Kind, ...] = ("text", "inference", "similarity")

    def classes(self, task: Task) -> tuple[str, ...]:
        """The labels; a similarity has none."""
        return () if task.kind == "similarity" else task.labels

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The head that transformers has for sequences."""
        task = work.task
        if task.kind == "similarity":
            changes: dict[str, Any] = {"num_labels": 1, "problem_type": "regression"}
        else:
            changes = named_classes(work.labels)
        return backbone.model("AutoModelForSequenceClassification", work.settings, **changes)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example."""
        made = text_rows(work, examples)
        if learn:
            gold = get_gold(work.task, examples)
            similar = work.task.kind == "similarity"
            made.dense["labels"] = (
                np.array(gold, dtype=np.float32) if similar else indexes(work, examples, gold)
            )
        return made

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy, or the mean squared error over the rows with a score."""
        import torch

        logits, labels = model(**inputs_only(batch)).logits, batch["labels"]
        if labels.dtype != torch.float32:
            return cross_entropy(logits, labels)
        counts = ~torch.isnan(labels)
        off = torch.where(counts, logits.float().squeeze(-1) - labels.nan_to_num(), 0.0)
        return (off * off).sum() / counts.sum().clamp(min=1)

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """The logits."""
        return (model(**inputs_only(batch)).logits,)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The likeliest label with all probabilities, or the score."""
        task = work.task
        if task.kind != "similarity":
            return [
                label_answer(e.id, work.labels, row[0])
                for e, row in zip(examples, found, strict=True)
            ]
        low, high = task.scale or (float("-inf"), float("inf"))
        values = [float(row[0][0]) for row in found]
        return [
            Prediction(example=e.id, answer=min(max(v, low), high))
            for e, v in zip(examples, values, strict=True)
        ]


HEAD = Sequences()
