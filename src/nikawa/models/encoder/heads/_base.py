"""What a head does, and what several of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nikawa.errors import BadInput, listed
from nikawa.models.base import get_text
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.pieces import Reader
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.store import IGNORED, Rows
from nikawa.records import Example, Kind, Prediction, Task


@dataclass(frozen=True)
class Work:
    """What a head works with: the task, the text reader, the settings."""

    task: Task
    reader: Reader
    settings: EncoderSettings
    classes: tuple[str, ...] = ()
    """The task's classes in the order the model has them; empty: in the task's own."""
    known: Any = None
    """What a model of our own learned beside weights: tags, slots, values."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the model's scores."""
        return self.classes or self.task.labels


class Head(Protocol):
    """Rows in, answers out; stateless, so that one instance serves every run."""

    kinds: tuple[Kind, ...]

    def classes(self, task: Task) -> tuple[str, ...]:
        """What the model chooses among, for a head with a closed set; empty for others."""
        ...

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The checkpoint with this head on it; `train` tells what the head must know (an ontology)."""
        ...

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """The examples as rows; with what is to be learned where `learn` says so."""
        ...

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """The mean loss over the rows that count; called with tensors, inside a captured graph too."""
        ...

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """What the answers are read from: tensors with one entry a row."""
        ...

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """One prediction an example; `found[i]` are the outputs of row i."""
        ...


def inputs_only(batch: dict[str, Any]) -> dict[str, Any]:
    """The part of a batch a model takes."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: batch[name] for name in names if name in batch}


def text_rows(work: Work, examples: Sequence[Example]) -> Rows:
    """A row an example: its one text, or its two."""
    names = work.task.inputs
    sides = [work.reader.ids([get_text(e, name) for e in examples]) for name in names[:2]]
    made = Rows(owner=list(range(len(examples))))
    seconds: Sequence[Any] = sides[1] if len(sides) > 1 else [None] * len(examples)
    pairs = [
        work.reader.pair(a, b, work.settings.max_length)
        for a, b in zip(sides[0], seconds, strict=True)
    ]
    return add_tokens(work, made, pairs)


def add_tokens(work: Work, rows: Rows, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rows:
    """Put input ids, and segments where the model takes them, into the rows."""
    rows.tokens["input_ids"] = [ids for ids, _ in pairs]
    if work.reader.frame.typed:
        rows.tokens["token_type_ids"] = [segments for _, segments in pairs]
    rows.pads["input_ids"] = work.reader.tokenizer.pad_token_id or 0
    return rows


def named_classes(labels: Sequence[str]) -> dict[str, Any]:
    """The classes as a checkpoint's configuration holds them."""
    return {
        "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Mean over the labels that count, in float32."""
    import torch

    return torch.nn.functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED)


def mean_cross_entropy(logits: Any, labels: Any) -> Any:
    """The same over any number of axes, and nothing where no label counts."""
    import torch

    flat, wanted = logits.float().reshape(-1, logits.shape[-1]), labels.reshape(-1)
    total = torch.nn.functional.cross_entropy(flat, wanted, ignore_index=IGNORED, reduction="sum")
    return total / (wanted != IGNORED).sum().clamp(min=1)


def indexes(work: Work, examples: Sequence[Example], gold: Sequence[Any]) -> np.ndarray:
    """The place of each gold label among the model's classes; one that is not there is told."""
    place = {label: i for i, label in enumerate(work.labels)}
    for example, label in zip(examples, gold, strict=True):
        if label not in place:
            what = f"example {example.id!r} has the label {label!r}, which {work.task.name} does not know"
            raise BadInput(what, cure=f"labels: {listed(work.labels)}")
    return np.array([place[label] for label in gold])


def label_answer(example: str, labels: Sequence[str], logits: np.ndarray) -> Prediction:
    """The likeliest of the labels, with the probability of each."""
    shares = softmax(logits).tolist()
    best = int(np.argmax(logits))
    return Prediction(
        example=example, answer=labels[best], scores=dict(zip(labels, shares, strict=True))
    )


def softmax(values: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis, in float64."""
    shifted = np.exp(values.astype(np.float64) - values.max(axis=-1, keepdims=True))
    made: np.ndarray = shifted / shifted.sum(axis=-1, keepdims=True)
    return made
