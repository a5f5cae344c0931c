"""What a head does, and what several of them share: rows of texts, losses, labels, layers of their
own.

A head that transformers does not have is a `HeadModel`: transformers saves the encoder, and two
files next to it store the head's layers.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from nikawa.errors import BadInput, list_names
from nikawa.io.lines import read_bytes
from nikawa.models.base import get_text
from nikawa.models.encoder.alignment import Place
from nikawa.models.encoder.batches import IGNORED, Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.subwords import SubwordReader
from nikawa.records import Example, Kind, Prediction, Task

HEAD_WEIGHTS, HEAD_FILE = "nikawa_head.safetensors", "nikawa_head.json"
"""Files next to a saved encoder: the weights of the head, and what else it learned."""
RULED_OUT = -1e9
"""The score of an answer that is not allowed."""


Batch = dict[str, Any]
"""Tensors by name, each with one entry per row."""
RowOutputs = Sequence[Sequence[np.ndarray]]
"""For each row the arrays that its outputs are."""


@dataclass(frozen=True)
class Work:
    """What a head works with: the task, the text reader, the settings."""

    task: Task
    reader: SubwordReader
    settings: EncoderSettings
    classes: tuple[str, ...] = ()
    """The task's classes in the order the model has them; empty: in the task's own."""
    known: Any = None
    """What a `HeadModel` learned in addition to weights: tags, slots, values."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the model's scores."""
        return self.classes or self.task.labels


class Head(ABC):
    """Rows in, answers out; stateless, so that one instance serves every run."""

    kinds: tuple[Kind, ...] = ()
    """The kinds of task that it answers."""

    def classes(self, task: Task) -> tuple[str, ...]:
        """The classes, for a head with a closed set in the encoder's
        configuration; empty for others.
        """
        return ()

    @abstractmethod
    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The checkpoint with this head on it.

        `train` provides what the head must know (an ontology).
        """

    @abstractmethod
    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """The examples as rows; with gold where `learn` is true."""

    @abstractmethod
    def loss(self, model: Any, batch: Batch) -> Any:
        """The mean loss over the rows that count.

        Called with tensors, inside a captured graph too.
        """

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """The tensors that answers are read from, with one entry per row.

        These are the logits, unless a head overrides this.
        """
        return (model(**model_inputs(batch)).logits,)

    @abstractmethod
    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """One prediction per example; `outputs[i]` are the outputs of row i."""


def model_inputs(batch: Batch) -> dict[str, Any]:
    """The part of a batch that a model of transformers takes."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: batch[name] for name in names if name in batch}


def make_text_rows(work: Work, examples: Sequence[Example]) -> Rows:
    """One row per example: its one text, or its two."""
    sides = []
    for name in work.task.inputs[:2]:
        sides.append(work.reader.ids([get_text(example, name) for example in examples]))
    seconds: Sequence[Any] = sides[1] if len(sides) > 1 else [None] * len(examples)
    pairs = [
        work.reader.frame_texts(first, second, work.settings.max_length)
        for first, second in zip(sides[0], seconds, strict=True)
    ]
    return work.reader.add_tokens(Rows.one_each(len(examples)), pairs)


def split_windows(count: int, room: int, stride: int) -> list[Place]:
    """Windows of at most `room` over `count` sub-words, which overlap by the stride.

    >>> split_windows(10, 6, 2)
    [(0, 6), (4, 10)]
    """
    step = room - min(stride, room // 2)
    windows = [(0, min(count, room))]
    while windows[-1][1] < count:
        start = windows[-1][0] + step
        windows.append((start, min(count, start + room)))
    return windows


def class_config(labels: Sequence[str]) -> dict[str, Any]:
    """The classes as entries of a checkpoint's configuration."""
    return {
        "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Mean over the labels that count, in float32."""
    return torch.nn.functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED)


def mean_cross_entropy(logits: Any, labels: Any) -> Any:
    """The same over any number of axes, and 0 where no label counts."""
    flat = logits.float().reshape(-1, logits.shape[-1])
    gold = labels.reshape(-1)
    total = torch.nn.functional.cross_entropy(flat, gold, ignore_index=IGNORED, reduction="sum")
    return total / (gold != IGNORED).sum().clamp(min=1)


def gather_vectors(vectors: Any, places: Any) -> Any:
    """The vectors at some places of each row.

    A missing place (`IGNORED`) gives the first.
    """
    indexes = places.clamp(min=0)[..., None].expand(-1, -1, vectors.shape[-1])
    return vectors.gather(1, indexes)


def label_indexes(work: Work, examples: Sequence[Example], gold: Sequence[Any]) -> np.ndarray:
    """The place of each gold label among the model's classes.

    Raises BadInput for one that is not there.
    """
    place = {label: i for i, label in enumerate(work.labels)}
    for example, label in zip(examples, gold, strict=True):
        if label not in place:
            raise unknown_label_error(work, example, label, work.labels)
    return np.array([place[label] for label in gold])


def unknown_label_error(
    work: Work, example: Example, label: Any, labels: Sequence[str]
) -> BadInput:
    """The error for an example with a label that the task does not have."""
    what = (
        f"example {example.id!r} has the label {label!r}, which is not a label of {work.task.name}"
    )
    return BadInput(what, cure=f"use one of: {list_names(labels)}")


def make_label_prediction(example: str, labels: Sequence[str], logits: np.ndarray) -> Prediction:
    """The likeliest of the labels, with the probability of each."""
    shares = softmax(logits).tolist()
    best = int(np.argmax(logits))
    return Prediction(
        example=example, answer=labels[best], scores=dict(zip(labels, shares, strict=True))
    )


def softmax(values: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis, in float64."""
    shifted = np.exp(values.astype(np.float64) - values.max(axis=-1, keepdims=True))
    shares: np.ndarray = shifted / shifted.sum(axis=-1, keepdims=True)
    return shares


class HeadModel(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """An encoder and layers over its vectors.

    `known` is what was learned in addition to weights (tags, slots, values).

    `known` must be JSON. A subclass names its `kind`, by which its files are recognised, and what
    `known` must have.
    """

    kind: ClassVar[str] = ""
    known_parts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__()
        self.encoder, self.known = encoder, known

    @property
    def base_model(self) -> Any:
        """The encoder, by the name transformers gives it."""
        return self.encoder

    @property
    def hidden(self) -> int:
        """The size of the encoder's vectors."""
        return int(self.encoder.config.hidden_size)

    def make_dropout(self) -> Any:
        """A dropout layer with the share that the encoder has."""
        return torch.nn.Dropout(
            float(getattr(self.encoder.config, "hidden_dropout_prob", 0.1) or 0.0)
        )

    def save_pretrained(self, folder: Path) -> None:
        """Save the encoder as transformers reads it, and the rest in two files next to it."""
        from safetensors.torch import save_file

        self.encoder.save_pretrained(folder)
        weights = {
            name: weight.detach().cpu().contiguous()
            for name, weight in self.state_dict().items()
            if not name.startswith("encoder.")
        }
        save_file(weights, str(Path(folder) / HEAD_WEIGHTS))
        content = {"kind": self.kind, "known": self.known}
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (Path(folder) / HEAD_FILE).write_text(text + "\n", encoding="utf-8")

    def load_head(self, source: str) -> None:
        """Load the weights that were saved next to an encoder.

        Raises BadInput if they do not fit.
        """
        from safetensors.torch import load_file

        path = Path(source) / HEAD_WEIGHTS
        try:
            loading = self.load_state_dict(load_file(str(path)), strict=False)
        except Exception as problem:  # a damaged file can raise anything
            raise _unreadable_head_error(path, problem) from None
        if any(not name.startswith("encoder.") for name in loading.missing_keys):
            raise BadInput(
                "weights of the head are missing", file=path, cure="save the model again"
            )

    @classmethod
    def load_known(cls, backbone: Backbone, settings: EncoderSettings) -> dict[str, Any] | None:
        """What a model of this kind had learned when it was saved with this checkpoint; None where
        none was.

        Raises BadInput if there is no such model and the checkpoint answers without further training.
        """
        path = Path(backbone.source) / HEAD_FILE
        known = None
        if path.is_file() and not settings.scratch:
            try:
                content = json.loads(read_bytes(path))
                if content["kind"] == cls.kind:
                    known = {**content["known"]}
                    for part in cls.known_parts:
                        _ = known[part]
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
                raise _unreadable_head_error(path, problem) from None
        if known is None and settings.epochs <= 0:
            what = f"{backbone.source} has no trained head for a {cls.kind} task"
            raise BadInput(what, cure="set epochs above 0 to train it")
        return known

    @classmethod
    def open(
        cls,
        backbone: Backbone,
        settings: EncoderSettings,
        read_known: Callable[[], dict[str, Any]],
    ) -> Self:
        """The model that was saved with this checkpoint if it knows enough, else one with new
        layers.

        `read_known` gives what the training examples need; it is not called if the checkpoint
        answers without being trained further.
        """
        known = cls.load_known(backbone, settings)
        needed = read_known() if known is None or settings.epochs > 0 else known
        encoder = backbone.model("AutoModel", settings)
        if known is None or not _includes(known, needed):
            return cls(encoder, needed)
        model = cls(encoder, known)
        model.load_head(backbone.source)
        return model


def _includes(known: Any, needed: Any) -> bool:
    """Whether every part, and in each every name, that is needed is known."""
    if isinstance(needed, Mapping):
        return all(key in known and _includes(known[key], needed[key]) for key in needed)
    return set(needed) <= set(known)


def _unreadable_head_error(path: Path, problem: Exception) -> BadInput:
    return BadInput(
        f"the head cannot be read: {type(problem).__name__}",
        file=path,
        cure="save the model again",
    )
