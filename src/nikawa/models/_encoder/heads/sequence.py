"""Labels and scores of one text or a pair, from the first position: a linear layer over the pooled vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models._encoder.backbone import Backbone
from nikawa.models._encoder.heads._base import Work, cross_entropy, inputs_only, softmax, text_rows
from nikawa.models._encoder.store import Rows
from nikawa.models.base import gold_of
from nikawa.records import Example, Kind, Prediction, Task


class Sequences:
    """Classification by cross-entropy; similarity by the squared error, kept on the task's scale when it answers."""

    kinds: tuple[Kind, ...] = ("text", "inference", "similarity")

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The head that transformers has for sequences."""
        task = work.task
        if task.kind == "similarity":
            changes: dict[str, Any] = {"num_labels": 1, "problem_type": "regression"}
        else:
            changes = {"id2label": dict(enumerate(task.labels)), "label2id": {name: i for i, name in enumerate(task.labels)}}  # fmt: skip
        return backbone.model("AutoModelForSequenceClassification", work.settings, **changes)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example."""
        made = text_rows(work, examples)
        if learn:
            gold = gold_of(work.task, examples)
            similar = work.task.kind == "similarity"
            made.dense["labels"] = (
                np.array(gold, dtype=np.float32) if similar else _indexes(work.task, examples, gold)
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

    def answers(self, work: Work, examples: Sequence[Example], rows: Rows, found: Sequence[Sequence[np.ndarray]]) -> list[Prediction]:  # fmt: skip
        """The likeliest label with all probabilities, or the score."""
        task = work.task
        if task.kind != "similarity":
            return [label_answer(e.id, task.labels, row[0]) for e, row in zip(examples, found, strict=True)]
        low, high = task.scale or (float("-inf"), float("inf"))
        values = [float(row[0][0]) for row in found]
        return [Prediction(example=e.id, answer=min(max(v, low), high)) for e, v in zip(examples, values, strict=True)]  # fmt: skip


def label_answer(example: str, labels: Sequence[str], logits: np.ndarray) -> Prediction:
    """The likeliest of the labels, with the probability of each."""
    shares = softmax(logits).tolist()
    best = int(np.argmax(logits))
    return Prediction(example=example, answer=labels[best], scores=dict(zip(labels, shares, strict=True)))


def _indexes(task: Task, examples: Sequence[Example], gold: Sequence[Any]) -> np.ndarray:
    place = {label: i for i, label in enumerate(task.labels)}
    for example, label in zip(examples, gold, strict=True):
        if label not in place:
            what = f"example {example.id!r} has the label {label!r}, which {task.name} does not know"
            raise BadInput(what, cure=f"labels: {', '.join(task.labels)}")
    return np.array([place[label] for label in gold])


HEAD = Sequences()
