"""`encoder:PATH`: a pre-trained encoder with the head of the task, fine-tuned on the training split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import Diverged, Model, Setup, not_fitted_error, read_settings
from nikawa.models.encoder.backbone import ready
from nikawa.models.encoder.settings import OUTSIDE, EncoderSettings, words_by
from nikawa.models.encoder.where import located
from nikawa.records import Example, Kind, Prediction, Task

DIVERGED = "diverged: the scores are no numbers"


class Encoder:
    """Loads the checkpoint when it learns; answers with what it learned."""

    name = "encoder"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.settings = read_settings(EncoderSettings, setup)
        self._model: Any = None
        self._head: Any = None
        self._work: Any = None
        self.history: list[dict[str, float]] = []
        """Losses and dev scores by step."""
        self._notes: list[str] = []

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Fine-tune; goes on from the state in the setup's folder where one is."""
        from nikawa.models.encoder.gold import check_gold
        from nikawa.models.encoder.watching import judged, notes, watch

        by = judged(task, self.settings)
        check_gold(task, examples)
        work, model = self._prepare(task, examples)
        from nikawa.models.encoder.enough import has_vectors, probed, read_enough
        from nikawa.models.encoder.language import suits
        from nikawa.models.encoder.learn import Course, device_of, learn
        from nikawa.models.encoder.lora import merged
        from nikawa.models.encoder.shared import rows_of

        rows = rows_of(self._head, work, examples, learn=True)
        read_enough(work, rows, examples, self._setup.argument)
        has_vectors(model, rows, self._setup.argument)
        told = suits(work, rows, located(self._setup.argument), probed(work, examples))
        self._model, self._work, self.history = model, work, []
        course = Course(
            model, rows, self._head.loss, self.settings, self._setup.seed, device_of(self.settings)
        )
        course.folder, course.progress, course.history = (
            self._setup.folder,
            self._setup.progress,
            self.history,
        )
        if dev and self._setup.score is not None:
            course.watch = watch(
                self._setup.score, by, dev, lambda asked: self.predict(task, asked)
            )
        self._notes = [*told, *notes(self.settings, course.watch is not None)]
        learn(course)
        if course.diverged:
            self._model = None
            raise Diverged(
                f"the training of {task.name} diverged: its weights are no numbers",
                cure="set a smaller learning_rate",
            )
        merged(model)

    def _prepare(self, task: Task, examples: Sequence[Example]) -> tuple[Any, Any]:
        """What the head works with, and the model with its new layers drawn by the seed."""
        _torch()
        import torch

        from nikawa.models.encoder.backbone import open_backbone
        from nikawa.models.encoder.heads import head_for
        from nikawa.models.encoder.heads._base import Work
        from nikawa.models.encoder.lora import adapted
        from nikawa.models.encoder.pieces import Reader

        self._head, backbone = (
            head_for(task, self.settings.head),
            open_backbone(self._setup.argument),
        )
        backbone.reads(self.settings.max_length)
        classes = backbone.classes(self._head.classes(task), self.settings)
        reader = Reader(backbone.tokenizer, words_by(self.settings.segmentation), backbone.segments)
        work = Work(task, reader, self.settings, classes)
        with torch.random.fork_rng():  # the caller's randomness stays as it is
            torch.manual_seed(self._setup.seed)
            model = self._head.model(work, backbone, examples)
            model = adapted(model, self.settings)
        return replace(work, known=getattr(model, "known", None)), model

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers, in the order of the examples."""
        if self._model is None and self.settings.epochs > 0:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        if self._model is None:  # what the folder holds answers as it is
            self._work, self._model = self._prepare(task, ())
            self._model.float().eval()  # a folder may hold half precision, which would round scores
        self._same(task)
        from nikawa.models.encoder.enough import has_vectors
        from nikawa.models.encoder.infer import inferred
        from nikawa.models.encoder.learn import device_of, is_low, one_line
        from nikawa.models.encoder.shared import rows_of

        work, device = replace(self._work, task=task), device_of(self.settings)
        rows = rows_of(self._head, work, examples, learn=False)
        has_vectors(self._model, rows, self._setup.argument)
        with one_line(self.settings):
            low = (
                is_low(self.settings, device) and task.kind != "similarity"
            )  # bf16 would round scores
            found, strange = inferred(self._model, rows, self._head.outputs, device, low)
        answers: list[Prediction] = self._head.answers(work, examples, rows, found)
        none = {rows.owner[row] for row in strange}
        return [
            Prediction(example=a.example, why=DIVERGED) if i in none else a
            for i, a in enumerate(answers)
        ]

    def _same(self, task: Task) -> None:
        """A head answers the kind of task and the labels it learned."""
        learned = self._work.task
        if (learned.kind, sorted(learned.labels)) != (task.kind, sorted(task.labels)):
            what = f"the model {self.name} has learned {learned.name}, not {task.name}"
            raise BadInput(
                what, cure="call fit with the task, or ask one of the same kind and labels"
            )

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Weights (safetensors), configuration and tokenizer, as plain transformers reads them; all or nothing."""
        if self._model is None:
            raise BadInput("there is nothing to save yet", cure="call fit first")
        from nikawa.models.encoder.saving import saved_to

        with saved_to(Path(folder), overwrite) as place:
            self._model.save_pretrained(place)
            self._work.reader.tokenizer.save_pretrained(place)

    def about(self) -> dict[str, Any]:
        """What a reader of the run should know beside its settings."""
        lost = self._work.reader.lost if self._work is not None else {}
        told = {"characters without a piece": dict(lost), "notes": self._notes}
        return {"history": self.history, **{name: value for name, value in told.items() if value}}


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
        located,
        ready,
    ),
)
