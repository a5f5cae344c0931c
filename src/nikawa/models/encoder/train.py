"""Fine-tuning: the loop over epochs, evaluation on dev, the state on disk, and low-rank adapters.

A killed training resumes from its last state; on a CPU it ends with the same weights, bit for bit.
The state file is written whole or not at all.

Low-rank adapters (Hu et al. 2022): small matrices next to the encoder's are trained, and added to
them afterwards. The head is trained whole. What is saved is a plain checkpoint, whatever was
trained.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import BadInput, list_names, missing_extra
from nikawa.models.base import Progress, Scorer, ignore_progress
from nikawa.models.encoder.batches import (
    Batch,
    Rows,
    RowStore,
    choose_lengths,
    plan_epoch,
    plan_packed_epoch,
)
from nikawa.models.encoder.device import report_device_errors, seed_torch, uses_bf16
from nikawa.models.encoder.settings import FIRST_METRIC, RUNTIME_SETTINGS, EncoderSettings
from nikawa.models.encoder.steps import GraphSteps, Loss, PlainSteps, Steps, has_kernels
from nikawa.records import Example, Prediction, Task

STATE_FILE = "training.pt"
LATER_SETTINGS = {
    "head": "auto",
    "best_by": FIRST_METRIC,
    "any_language": 0,
    "normalise": "none",
    "input": "as-set",
}
"""Settings that older states do not have, with the equivalent value."""
SECONDS_WORTH_A_STATE = 10.0
"""Seconds of work after which a state is written at the end of an epoch."""
STEPS_BETWEEN_REPORTS = 50
NO_DEV = "there is no dev set: the last checkpoint is used, and training does not stop early"
NO_EVALUATION = "best_by has no effect without keep=best or early_stop"


@dataclass
class TrainingJob:
    """One training: what is learned, how, and how it is evaluated."""

    model: Any
    rows: Rows
    loss: Loss
    settings: EncoderSettings
    seed: int
    device: Any
    folder: Path | None = None
    """Where the state is stored; None: nowhere."""
    progress: Progress = ignore_progress
    evaluate: Callable[[], float] | None = None
    """How good the model is on dev now; more is better."""
    history: list[dict[str, float]] = field(default_factory=list)
    """Losses and scores on dev, by step."""
    diverged: bool = False
    """Whether a weight is not finite in the end."""


def train(training: TrainingJob) -> None:
    """Train the model in place; a killed training resumes from the last state in the folder."""
    import torch

    model = training.model
    with report_device_errors(training.settings), seed_torch(training.seed):
        if training.settings.epochs <= 0:
            model.to(training.device).float().eval()
            return
        TrainingLoop(training).run()
        sums = torch.stack([weights.detach().sum().float() for weights in model.parameters()])
        training.diverged = not bool(torch.isfinite(sums).all())


class TrainingLoop:
    """The epochs of one training."""

    def __init__(self, training: TrainingJob) -> None:
        import torch

        self._training, settings = training, training.settings
        model, device = training.model, training.device
        self._model_key = model_key(model) if training.folder is not None else ""
        bf16 = uses_bf16(settings, device)
        self._exact: dict[str, Any] = {}
        """With bf16 the weights as they were before rounding, of parameters that are not trained.
        """
        if bf16:
            self._exact = {n: p.detach().float().clone() for n, p in model.named_parameters()}
        model.to(device, torch.bfloat16 if bf16 else torch.float32).train()
        self._fast_layers: Any = None
        if bf16 and has_kernels(device):
            from nikawa.models.encoder.kernels import FastLayers

            self._fast_layers = FastLayers(model)
        self.store = RowStore(training.rows, device)
        sizes = self.store.row_lengths()
        self._longest = max(int(sizes.max()), 1)
        self._packed = self._pack_encoder()
        self._plans_packed = self._packed is not None
        """Whether batches are planned for packing; a resumed training keeps the plan that it had."""
        self._lengths = choose_lengths(sizes, settings.batch, settings.epochs)
        self._epoch_size = -(-self.store.n // settings.batch)
        """Batches in an epoch."""
        self._total = max(1, round(self._epoch_size * settings.epochs))
        updates = count_updates(self._total, self._epoch_size, settings.accumulate)
        captures = device.type == "cuda" and settings.accumulate == 1
        kind: type[Steps] = GraphSteps if captures else PlainSteps
        self.steps = kind(model, self.store, training.loss, settings, updates, bf16, self._packed)
        self._optimiser = self.steps.optimiser
        if bf16:
            with torch.no_grad():
                for name, master in zip(
                    self._optimiser.names, self._optimiser.masters, strict=True
                ):
                    master.copy_(self._exact.pop(name))
        self._done = 0
        """Batches learned."""
        self._best, self._not_better = float("-inf"), 0
        """The best score on dev, and the evaluations since."""
        self._best_state: dict[str, Any] | None = None
        self._unsaved = 0
        """Batches since the state was written, or should have been."""
        self._saved_at = time.perf_counter()
        self._save_after = 0.0
        """When the state may be written again."""
        self._key = training_key(training) if training.folder is not None else ""

    def run(self) -> None:
        """Train to the end, or until dev has not become better for long enough."""
        self._resume()
        while self._done < self._total and not self._stops_early():
            self._run_epoch(self._done // self._epoch_size)
        self._finish()

    def batches(self, epoch: int) -> list[Batch]:
        """The batches of an epoch."""
        key = (self._training.seed, epoch)
        batch = self._training.settings.batch
        if self._plans_packed:
            return plan_packed_epoch(self.store, batch, self._longest, key)
        return plan_epoch(self.store, batch, self._longest, key, self._lengths)

    def _pack_encoder(self) -> Any:
        """The packed way of the encoder, if there is one and it computes what the padded way does;
        else None.
        """
        import torch

        if self._fast_layers is None:
            return None
        from nikawa.models.encoder.packed import pack_encoder

        model = self._training.model
        packed = pack_encoder(model, self._fast_layers)
        if packed is None:
            return None
        count = min(self.store.n, self._training.settings.batch)
        rows = torch.arange(count, device=self.store.device)
        # As long as all batches are: kernels for longer rows may need more than this GPU has.
        batch = self.store.gather(rows, self._longest)
        tokens = int(self.store.row_tokens()[:count].sum())
        if packed.agrees(model, lambda: self._training.loss(model, batch), tokens):
            return packed
        packed.restore()
        return None

    def _run_epoch(self, epoch: int) -> None:
        settings = self._training.settings
        last = min(self._epoch_size, self._total - epoch * self._epoch_size)
        first = self._done - epoch * self._epoch_size
        self.steps.start_epoch(self.batches(epoch)[:last], first)
        evaluations = {
            round(self._epoch_size * i / settings.checks) for i in range(1, settings.checks + 1)
        }
        evaluations.add(last)
        began = time.perf_counter()
        is_due = False  # an evaluation between two steps of the optimiser waits for the next
        for number in range(first, last):
            self.steps.step(number)
            self._done += 1
            self._unsaved += 1
            if self._done % max(1, min(STEPS_BETWEEN_REPORTS, self._epoch_size)) == 0:
                self._report(number - first + 1, began)
            is_due = is_due or number + 1 in evaluations
            if not self.steps.ends_update(number):
                continue
            if is_due:
                is_due = False
                self._evaluate()
                elapsed = time.perf_counter() - self._saved_at
                if self._unsaved >= settings.checkpoint_steps or elapsed >= SECONDS_WORTH_A_STATE:
                    self._save()
                if self._stops_early():
                    break
            elif self._unsaved >= settings.checkpoint_steps:
                self._save()

    def _report(self, batches: int, began: float) -> None:
        """Report the loss and the speed of the batches since this time."""
        loss = self.steps.mean_loss()
        self._training.history.append({"step": self._done, "loss": loss})
        rows = self._training.settings.batch
        speed = batches * rows / max(1e-9, time.perf_counter() - began)
        left = round((self._total - self._done) * rows / speed)
        what = f"loss {loss:.3f}, {speed:,.0f} rows/s, {left // 60}:{left % 60:02} left"
        self._training.progress(what, self._done, self._total)

    def _evaluate(self) -> None:
        """Evaluate on dev, where that is wanted, and keep the best state."""
        training = self._training
        if training.evaluate is None or not evaluates_on_dev(training.settings):
            return
        training.model.eval()
        value = training.evaluate()
        training.model.train()
        training.history.append({"step": self._done, "dev": value})
        if value > self._best:
            self._best, self._not_better = value, 0
            self._best_state = {k: v.clone() for k, v in self._optimiser.state().items()}
        else:
            self._not_better += 1

    def _stops_early(self) -> bool:
        limit = self._training.settings.early_stop
        return bool(limit and self._not_better >= limit)

    def _finish(self) -> None:
        """Load the state that answers into the model, in float32."""
        import torch

        model, optimiser = self._training.model, self._optimiser
        if self._packed is not None:
            self._packed.restore()
        if self._fast_layers is not None:
            self._fast_layers.restore()
        if self._training.settings.keep == "best" and self._best_state is not None:
            optimiser.restore(self._best_state)
        if optimiser.bf16:
            model.float()
            weights = {
                **self._exact,
                **dict(zip(optimiser.names, optimiser.masters, strict=True)),
            }
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(weights[name])
        model.eval()

    def _save(self) -> None:
        """Write the state, but never spend more than a tenth of the time on it."""
        self._unsaved = 0
        began = time.perf_counter()
        if self._training.folder is None or began < self._save_after:
            return
        marks = {
            "key": self._key,
            "model": self._model_key,
            "done": self._done,
            "packed": self._plans_packed,
            "best": self._best,
            "bad": self._not_better,
            "history": self._training.history,
        }
        save_state(self._training.folder, self._optimiser.state(), self._best_state, marks)
        self._saved_at = time.perf_counter()
        self._save_after = self._saved_at + 10 * (self._saved_at - began)

    def _resume(self) -> None:
        if self._training.folder is None:
            return
        keys = {"key": self._key, "model": self._model_key}
        saved = load_state(self._training.folder, self._training.device, keys)
        if saved is None:
            return
        self._optimiser.restore(saved.state)
        self._best_state = saved.best_state
        marks = saved.marks
        self._done = marks["done"]
        # Another plan would learn some rows of an epoch twice, and others not at all.
        self._plans_packed = marks.get("packed", False)
        self._best = marks["best"]
        self._not_better = marks["bad"]
        self._training.history[:] = marks["history"]


def count_updates(total: int, epoch_size: int, accumulate: int) -> int:
    """Steps of the optimiser for `total` batches: what is left over at the end of an epoch makes
    one too.
    """
    epochs, rest = divmod(total, epoch_size)
    return epochs * -(-epoch_size // accumulate) + -(-rest // accumulate)


def training_key(training: TrainingJob) -> str:
    """The key of a training: its rows, settings and seed.

    A state with another key is not resumed.
    """
    settings = msgspec.to_builtins(
        msgspec.structs.replace(training.settings, **dict.fromkeys(RUNTIME_SETTINGS, 0))
    )
    for name, default in LATER_SETTINGS.items():
        if settings[name] == default:
            del settings[name]
    content = msgspec.json.encode([settings, training.seed, training.rows.width])
    digest = blake2b(content, digest_size=16)
    for parts in training.rows.tokens.values():
        for part in parts:
            digest.update(part.tobytes())
    for values in training.rows.dense.values():
        digest.update(values.tobytes())
    return digest.hexdigest()


def model_key(model: Any) -> str:
    """The key of an untrained model: names, shapes and first weights of its parts."""
    digest = blake2b(digest_size=16)
    for name, weights in model.named_parameters():
        digest.update(f"{name}{tuple(weights.shape)}".encode())
        digest.update(weights.detach().flatten()[:16].float().cpu().numpy().tobytes())
    return digest.hexdigest()


class SavedState(NamedTuple):
    """The state of an unfinished training."""

    state: dict[str, Any]
    """That of the optimiser."""
    best_state: dict[str, Any] | None
    marks: dict[str, Any]
    """Keys, counts and history."""


def save_state(
    folder: Path, state: dict[str, Any], best_state: dict[str, Any] | None, marks: dict[str, Any]
) -> None:
    """Replace the state in the folder.

    Raises BadInput and leaves the old one if it cannot be written.
    """
    import torch

    random = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state()
    whole = {
        "state": _copy_to_cpu(state),
        "kept": best_state and _copy_to_cpu(best_state),
        "marks": marks,
        "random": random,
    }
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{STATE_FILE}.part"
    try:
        with draft.open("wb") as file:
            torch.save(whole, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / STATE_FILE)
    except (OSError, RuntimeError) as problem:
        draft.unlink(missing_ok=True)
        cause: BaseException | None = problem  # torch reports a full disk by an error of its own
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        reason = cause.strerror if isinstance(cause, OSError) else ""
        raise BadInput(
            f"the training state cannot be written: {reason or ' '.join(str(problem).split())}",
            file=folder / STATE_FILE,
            cure="free some space and run the same command again: it resumes from the previous state",
        ) from None


def _copy_to_cpu(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.detach().cpu().clone() for name, value in state.items()}


def load_state(folder: Path, device: Any, keys: Mapping[str, str]) -> SavedState | None:
    """The state that the training of these keys left, with the random state restored; None
    without one.
    """
    import torch

    path = folder / STATE_FILE
    if not path.is_file():
        return None
    try:
        whole = torch.load(path, map_location=device, weights_only=True)
    except Exception as problem:
        raise BadInput(
            f"the training state cannot be read: {type(problem).__name__}",
            file=path,
            cure="remove the file to train from the start",
        ) from None
    marks = whole["marks"]
    if marks.get("key") != keys["key"] or marks.get("model", keys["model"]) != keys["model"]:
        return None
    torch.set_rng_state(whole["random"]["cpu"].cpu())
    if "cuda" in whole["random"] and torch.cuda.is_available():
        torch.cuda.set_rng_state(whole["random"]["cuda"].cpu())
    return SavedState(whole["state"], whole["kept"], marks)


def evaluates_on_dev(settings: EncoderSettings) -> bool:
    """Whether a training with these settings evaluates on dev at all."""
    return settings.keep == "best" or settings.early_stop > 0


def put_metric_first(task: Task, settings: EncoderSettings) -> Task:
    """The task with the metric that `best_by` names as its first, since scorers take the first.

    Raises BadInput if the task does not have that metric.
    """
    name = settings.best_by
    if name == FIRST_METRIC:
        return task
    if name not in task.metrics:
        cure = f"set best_by to one of: {list_names((FIRST_METRIC, *task.metrics))}"
        raise BadInput(f"{task.name} has no metric {name!r}", cure=cure)
    others = [other for other in task.metrics if other != name]
    return msgspec.structs.replace(task, metrics=(name, *others))


def make_evaluation(
    score: Scorer,
    task: Task,
    dev: Sequence[Example],
    predict: Callable[[Sequence[Example]], list[Prediction]],
) -> Callable[[], float]:
    """A function that scores the present answers to dev.

    It returns nan if answers are missing: such a state is never the best.
    """
    without_gold = [msgspec.structs.replace(example, gold={}) for example in dev]

    def evaluate() -> float:
        answers = predict(without_gold)
        if any(answer.answer is None for answer in answers):
            return float("nan")
        return score(task, dev, answers)

    return evaluate


def find_evaluation_notes(settings: EncoderSettings, has_dev: bool) -> list[str]:
    """Notes on evaluations that the settings request but that did not happen."""
    if evaluates_on_dev(settings):
        return [] if has_dev else [NO_DEV]
    return [] if settings.best_by == FIRST_METRIC else [NO_EVALUATION]


def add_adapters(model: Any, settings: EncoderSettings) -> Any:
    """The model with adapters at every linear layer of its encoder; only these are trained
    there.

    With `lora=0` the model as it is. Raises BadInput for an architecture without linear layers.
    """
    if not settings.lora:
        return model
    try:
        import peft
    except ImportError:
        raise missing_extra("the package 'peft'", "lora") from None
    import torch

    encoder = model.base_model
    layers = {
        name.split(".")[-1]
        for name, part in encoder.named_modules()
        if isinstance(part, torch.nn.Linear)
    }
    if not layers:
        raise BadInput(
            "this architecture has no linear layers to attach adapters to", cure="set lora=0"
        )
    config = peft.LoraConfig(
        r=settings.lora,
        lora_alpha=2 * settings.lora,
        lora_dropout=0.0,
        target_modules=sorted(layers),
    )
    vectors = encoder.get_input_embeddings().weight
    peft.inject_adapter_in_model(config, encoder)
    vectors.requires_grad_(getattr(vectors, "grown", False))
    return model


def merge_adapters(model: Any) -> None:
    """Merge the adapters into their weights, and remove them."""
    for parent in list(model.modules()):
        for name, part in list(parent.named_children()):
            if hasattr(part, "get_base_layer") and hasattr(part, "merge"):
                part.merge()
                setattr(parent, name, part.get_base_layer())
