"""`encoder:PATH`: a pre-trained encoder with the head of the task, fine-tuned on the training
split.

Importing this package loads neither torch nor transformers: they are needed when a model learns or
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import Diverged, Model, Setup, not_fitted_error, read_settings
from nikawa.models.encoder.checkpoint import (
    check_encoder,
    locate_checkpoint,
    open_backbone,
    refuse_decoder,
    write_model_folder,
)
from nikawa.models.encoder.published import find_input_notes, resolve_published_input
from nikawa.models.encoder.settings import RUNTIME_SETTINGS, EncoderSettings, make_word_finder
from nikawa.records import Example, Kind, Prediction, Task

NOT_FINITE = "diverged: the scores are no numbers"


class Encoder:
    """Loads the checkpoint when it learns; answers with what it learned."""

    name = "encoder"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        read_settings(EncoderSettings, setup)  # refuses invalid settings before they are resolved
        settings = resolve_published_input(setup.argument, setup.settings)
        self.settings = read_settings(EncoderSettings, replace(setup, settings=settings))
        self._model: Any = None
        self._head: Any = None
        self._work: Any = None
        self.history: list[dict[str, float]] = []
        """Losses and dev scores by step."""
        self._notes: list[str] = []

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Fine-tune; resumes from the state in the setup's folder where there is one.

        Raises BadInput for gold, text or a checkpoint that cannot be used, and Diverged if weights
        are not finite in the end.
        """
        from nikawa.models.encoder.checks import (
            check_coverage,
            check_gold,
            check_language,
            check_vectors,
            sample_texts,
        )
        from nikawa.models.encoder.train import (
            TrainingJob,
            find_evaluation_notes,
            make_evaluation,
            merge_adapters,
            put_metric_first,
            train,
        )

        setup, source = self._setup, self._setup.argument
        refuse_decoder(source)
        evaluated_task = put_metric_first(task, self.settings)
        check_gold(task, examples)
        work, model = self._prepare(task, examples)
        from nikawa.models.encoder.device import choose_device
        from nikawa.models.encoder.heads import make_rows

        rows = make_rows(self._head, work, examples, learn=True)
        check_coverage(work, rows, examples, source)
        check_vectors(model, rows, source)
        texts = sample_texts(work, examples)
        notes = check_language(work, rows, locate_checkpoint(source), texts)
        self._model = model
        self._work = work
        self.history = []
        training = TrainingJob(
            model,
            rows,
            self._head.loss,
            self.settings,
            setup.seed,
            choose_device(self.settings),
            folder=setup.folder,
            progress=setup.progress,
            history=self.history,
        )
        if dev and setup.score is not None:
            training.evaluate = make_evaluation(
                setup.score, evaluated_task, dev, lambda examples: self.predict(task, examples)
            )
        has_dev = training.evaluate is not None
        self._notes = [
            *find_input_notes(source, self.settings),
            *notes,
            *find_evaluation_notes(self.settings, has_dev),
        ]
        train(training)
        if training.diverged:
            self._model = None
            raise Diverged(
                f"training on {task.name} diverged: the weights are not finite",
                cure="set a smaller learning_rate",
            )
        merge_adapters(model)

    def _prepare(self, task: Task, examples: Sequence[Example]) -> tuple[Any, Any]:
        """What the head works with, and the model with its new layers drawn by the seed."""
        import_torch()
        from nikawa.models.encoder.device import seed_torch
        from nikawa.models.encoder.heads import head_for
        from nikawa.models.encoder.heads._base import Work
        from nikawa.models.encoder.subwords import SubwordReader
        from nikawa.models.encoder.train import add_adapters

        settings = self.settings
        self._head = head_for(task, settings.head)
        backbone = open_backbone(self._setup.argument)
        backbone.check_length(settings.max_length)
        classes = backbone.order_classes(self._head.classes(task), settings)
        find_words = make_word_finder(settings.segmentation)
        reader = SubwordReader(
            backbone.tokenizer, find_words, backbone.segments, settings.normalise
        )
        work = Work(task, reader, settings, classes)
        with seed_torch(self._setup.seed):
            model = self._head.model(work, backbone, examples)
            model = add_adapters(model, settings)
        return replace(work, known=getattr(model, "known", None)), model

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers, in the order of the examples.

        An answer whose scores are not finite is empty, with the reason.
        """
        if self._model is None and self.settings.epochs > 0:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        if self._model is None:  # the checkpoint answers as it is
            self._work, self._model = self._prepare(task, ())
            self._notes = find_input_notes(self._setup.argument, self.settings)
            self._model.float().eval()  # a folder may contain half-precision weights, which would round scores
        learned = self._work.task
        if (learned.kind, sorted(learned.labels)) != (task.kind, sorted(task.labels)):
            what = f"the model {self.name} is trained on {learned.name}, not on {task.name}"
            raise BadInput(
                what,
                cure="call fit with this task, or use a task of the same kind with the same labels",
            )
        from nikawa.models.encoder.checks import check_vectors
        from nikawa.models.encoder.device import choose_device, report_device_errors, uses_bf16
        from nikawa.models.encoder.heads import make_rows
        from nikawa.models.encoder.predict import compute_outputs

        work = replace(self._work, task=task)
        device = choose_device(self.settings)
        rows = make_rows(self._head, work, examples, learn=False)
        check_vectors(self._model, rows, self._setup.argument)
        # bf16 would round the scores that a similarity task answers
        bf16 = uses_bf16(self.settings, device) and task.kind != "similarity"
        with report_device_errors(self.settings):
            outputs, not_finite = compute_outputs(
                self._model, rows, self._head.outputs, device, bf16
            )
        answers: list[Prediction] = self._head.answers(work, examples, rows, outputs)
        for number in {rows.owner[row] for row in not_finite}:
            answers[number] = Prediction(example=answers[number].example, why=NOT_FINITE)
        return answers

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Save weights (safetensors), configuration and tokenizer in transformers' format; all or
        nothing.
        """
        if self._model is None:
            raise BadInput("there is nothing to save yet", cure="call fit first")
        with write_model_folder(Path(folder), overwrite) as draft:
            self._model.save_pretrained(draft)
            self._work.reader.tokenizer.save_pretrained(draft)

    def about(self) -> dict[str, Any]:
        """Facts about the run that its settings do not contain."""
        about: dict[str, Any] = {"history": self.history}
        if self._work is not None and self._work.reader.lost:
            about["characters without a piece"] = dict(self._work.reader.lost)
        if self._notes:
            about["notes"] = self._notes
        return about


def import_torch() -> None:
    """Raise MissingExtra where torch is not installed."""
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
        RUNTIME_SETTINGS,
        locate_checkpoint,
        check_encoder,
        resolve_settings=resolve_published_input,
    ),
)
