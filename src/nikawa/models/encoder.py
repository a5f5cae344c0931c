"""`encoder:PATH`: a pre-trained encoder with the head of the task, fine-tuned on the training split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import msgspec

from nikawa.errors import BadInput, missing_extra
from nikawa.models._encoder.settings import OUTSIDE, EncoderSettings, words_by
from nikawa.models.base import Model, Setup, gold_of, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Task

MOST_UNKNOWN, MOST_LOST = 0.8, 0.1
"""Unknown pieces, and characters without a piece, as shares of all pieces: more is refused."""


class Encoder:
    """Loads the checkpoint when it learns; answers with what it learned."""

    name = "encoder"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.settings = settings_of(EncoderSettings, setup)
        self._model: Any = None
        self._head: Any = None
        self._work: Any = None
        self.history: list[dict[str, float]] = []
        """Losses and dev scores by step."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Fine-tune; goes on from the state in the setup's folder where one is."""
        gold_of(task, examples)
        work, model = self._prepare(task, examples)
        from nikawa.models._encoder.learn import Course, device_of, learn
        from nikawa.models._encoder.lora import merged
        from nikawa.models._encoder.shared import rows_of

        rows = rows_of(self._head, work, examples, learn=True)
        _read_enough(work, rows, self._setup.argument)
        self._model, self._work, self.history = model, work, []
        course = Course(model, rows, self._head.loss, self.settings, self._setup.seed, device_of(self.settings))  # fmt: skip
        course.folder, course.progress, course.history = self._setup.folder, self._setup.progress, self.history  # fmt: skip
        if dev and self._setup.score is not None:
            score, asked = self._setup.score, [_unlabelled(e) for e in dev]
            course.watch = lambda: score(task, dev, self.predict(task, asked))
        learn(course)
        merged(model)

    def _prepare(self, task: Task, examples: Sequence[Example]) -> tuple[Any, Any]:
        """What the head works with, and the model with its new layers drawn by the seed."""
        _torch()
        import torch

        from nikawa.models._encoder.backbone import open_backbone
        from nikawa.models._encoder.heads import head_for
        from nikawa.models._encoder.heads._base import Work
        from nikawa.models._encoder.lora import adapted
        from nikawa.models._encoder.pieces import Reader

        self._head, backbone = head_for(task), open_backbone(self._setup.argument)
        _fits(self.settings.max_length, backbone.positions(), self._setup.argument)
        classes = backbone.classes(self._head.classes(task), self.settings)
        work = Work(task, Reader(backbone.tokenizer, words_by(self.settings.segmentation)), self.settings, classes)  # fmt: skip
        with torch.random.fork_rng():  # the caller's randomness stays as it is
            torch.manual_seed(self._setup.seed)
            model = self._head.model(work, backbone, examples)
            model = adapted(model, self.settings)
        return replace(work, known=getattr(model, "known", None)), model

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers, in the order of the examples."""
        if self._model is None and self.settings.epochs > 0:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        if self._model is None:  # what the folder holds answers as it is
            self._work, self._model = self._prepare(task, ())
            self._model.eval()
        from nikawa.models._encoder.infer import infer
        from nikawa.models._encoder.learn import device_of, is_low, one_line
        from nikawa.models._encoder.shared import rows_of

        work, device = replace(self._work, task=task), device_of(self.settings)
        rows = rows_of(self._head, work, examples, learn=False)
        with one_line(self.settings):
            low = is_low(self.settings, device) and task.kind != "similarity"  # bf16 would round scores
            found = infer(self._model, rows, self._head.outputs, device, low)
        answers: list[Prediction] = self._head.answers(work, examples, rows, found)
        return answers

    def save(self, folder: Path) -> None:
        """Weights (safetensors), configuration and tokenizer, as plain transformers reads them."""
        if self._model is None:
            raise BadInput("there is nothing to save yet", cure="call fit first")
        self._model.save_pretrained(folder)
        self._work.reader.tokenizer.save_pretrained(folder)

    def about(self) -> dict[str, Any]:
        """What a reader of the run should know beside its settings."""
        lost = self._work.reader.lost if self._work is not None else {}
        return {"history": self.history, **({"characters without a piece": dict(lost)} if lost else {})}


def _unlabelled(example: Example) -> Example:
    return msgspec.structs.replace(example, gold={})


def _fits(length: int, most: int, source: str) -> None:
    if length > most:
        what = f"max_length is {length}, but {source} reads no more than {most} sub-words"
        raise BadInput(what, cure=f"set max_length={most}")


def _read_enough(work: Any, rows: Any, source: str) -> None:
    """A checkpoint of another language, or characters that vanish, must not pass for a poor model."""
    reader, parts = work.reader, rows.tokens["input_ids"]
    unknown, whole = sum(int((p == reader.tokenizer.unk_token_id).sum()) for p in parts), sum(map(len, parts))
    if unknown > MOST_UNKNOWN * whole:
        what = f"the tokenizer of {source} knows {1 - unknown / whole:.0%} of the pieces of {work.task.name}"
        raise BadInput(
            what, cure="take a checkpoint of this language, and the segmentation it was trained on"
        )
    lost = sum(reader.lost.values())
    if lost > whole * MOST_LOST:
        worst = ", ".join(repr(c) for c, _ in reader.lost.most_common(3))
        what = f"the tokenizer of {source} loses {lost:,} characters of {work.task.name}, such as {worst}"
        raise BadInput(what, cure="take a tokenizer that keeps them, or one that says where its pieces stand")


def _torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise missing_extra("the package 'torch'", "encoder") from None


MODELS = (
    Model(
        "encoder",
        "a pre-trained encoder, fine-tuned",
        get_args(Kind),
        Encoder,
        EncoderSettings,
        "PATH",
        OUTSIDE,
    ),
)
