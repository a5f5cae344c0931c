"""`encoder:PATH`: a pre-trained encoder with the head of the task, fine-tuned on the training split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from nikawa.errors import BadInput, missing_extra
from nikawa.models._encoder.settings import EncoderSettings
from nikawa.models.base import Model, Setup, gold_of, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Task


class Encoder:
    """Loads the checkpoint when it learns; answers with what it learned."""

    name = "encoder"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.settings = settings_of(EncoderSettings, setup)
        self._model: Any = None
        self._head: Any = None
        self._reader: Any = None
        self.history: list[dict[str, float]] = []
        """Losses and dev scores by step."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Fine-tune; goes on from the state in the setup's folder where one is."""
        from nikawa.models._encoder.heads import head_for
        from nikawa.models._encoder.heads._base import Work
        from nikawa.models._encoder.learn import Course, device_of, learn

        gold_of(task, examples)
        self._head, device = head_for(task), device_of(self.settings)
        backbone = self._open()
        work = Work(task, self._reader, self.settings)
        self._model = self._made(work, backbone, examples)
        rows = self._head.rows(work, examples, learn=True)
        course = Course(self._model, rows, self._head.loss, self.settings, self._setup.seed, device)
        course.folder, course.progress, course.history = (
            self._setup.folder,
            self._setup.progress,
            self.history,
        )
        if dev and self._setup.score is not None:
            score = self._setup.score
            course.watch = lambda: score(task, dev, self.predict(task, [_unlabelled(e) for e in dev]))
        learn(course)

    def _open(self) -> Any:
        from nikawa.models._encoder.backbone import open_backbone
        from nikawa.models._encoder.pieces import Reader

        _torch()
        backbone = open_backbone(self._setup.argument)
        self._reader = Reader(backbone.tokenizer, _words(self.settings.segmentation))
        return backbone

    def _made(self, work: Any, backbone: Any, examples: Sequence[Example]) -> Any:
        """The model with its new layers drawn by the seed, the caller's randomness untouched."""
        import torch

        with torch.random.fork_rng():
            torch.manual_seed(self._setup.seed)
            return self._head.model(work, backbone, examples)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers, in the order of the examples."""
        if self._model is None:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        from nikawa.models._encoder.heads._base import Work
        from nikawa.models._encoder.infer import infer
        from nikawa.models._encoder.learn import device_of, is_low, one_line

        work, device = Work(task, self._reader, self.settings), device_of(self.settings)
        rows = self._head.rows(work, examples, learn=False)
        with one_line(self.settings):
            found = infer(self._model, rows, self._head.outputs, device, is_low(self.settings, device))
        answers: list[Prediction] = self._head.answers(work, examples, rows, found)
        return answers

    def save(self, folder: Path) -> None:
        """Weights (safetensors), configuration and tokenizer, as plain transformers reads them."""
        if self._model is None:
            raise BadInput("there is nothing to save yet", cure="call fit first")
        self._model.save_pretrained(folder)
        self._reader.tokenizer.save_pretrained(folder)

    def about(self) -> dict[str, Any]:
        """What a reader of the run should know beside its settings."""
        return {"history": self.history}


def _unlabelled(example: Example) -> Example:
    from msgspec.structs import replace

    return replace(example, gold={})


def _torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise missing_extra("the package 'torch'", "encoder") from None


def _words(name: str) -> Any:
    """The analyser's surfaces, for vocabularies that were learned on words."""
    if name == "none":
        return None
    from nikawa.text import analyser

    found = analyser(name)
    return lambda text: [token.surface for token in found.analyse(text)]


MODELS = (
    Model("encoder", "a pre-trained encoder, fine-tuned", get_args(Kind), Encoder, EncoderSettings, "PATH"),
)
