"""Train an encoder or a causal model: prepare, time, learn, evaluate on held-out text, store the state.

A killed training resumes and reaches the same weights.
An interruption is taken up between two steps: the state is saved first. A second one ends at once.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.pretrain.batches import MaskVocabulary, WindowOrder
from nikawa.pretrain.card import Figures
from nikawa.pretrain.checkpoint import TrainingProgress, load_state, save_state
from nikawa.pretrain.device import (
    explain_failures,
    find_device,
    find_peak,
    use_repeatable_kernels,
    use_threads,
    uses_bf16,
)
from nikawa.pretrain.evaluation import HeldoutEvaluator, unigram_loss
from nikawa.pretrain.network import build_model, matches_transformers, open_network
from nikawa.pretrain.packing import Pack, join_stream, open_pack, tokenizer_fingerprint
from nikawa.pretrain.settings import NOT_IN_KEY, TrainSettings, check_settings, find_size
from nikawa.pretrain.steps import MAX_STEPS_LOADED, TrainingSteps

RESERVED_SHARE = 0.04
"""Share of the minutes kept for checkpoints and the end; on a GPU for evaluations too, which take
next to nothing there."""
EVALUATION_SHARE = 0.1
"""Share of the minutes that evaluations on held-out text may take on a CPU; there is always one, at
the end."""
TIMING_SHARE = 0.03
"""Share of the minutes in which a CPU's steps of one length are timed."""
CHECKED_SHARE, MAX_RESTART_SHARE = 0.05, 0.15
"""Shares of the minutes after which steps are compared with the schedule, and from which on it
stays as it is."""
MAX_DEVIATION = 0.1
"""The relative change of a step's time after which the schedule is computed again.
"""


@dataclass(frozen=True)
class Phase:
    """Steps `first` up to `end` with windows of one length."""

    length: int
    first: int
    end: int


class Schedule:
    """The steps of a training, once their number is known."""

    def __init__(self, settings: TrainSettings, total: int) -> None:
        self.phases: list[Phase] = []
        share, first = 0.0, 0
        for length, part in settings.lengths:
            share += part
            end = round(total * min(1.0, share))
            if end > first:
                self.phases.append(Phase(length, first, end))
            first = end
        count = max(1, settings.looks)
        evaluations = {round(total * i / count) for i in range(1, count + 1)}
        self.evaluations = sorted(evaluations | {total})
        """Numbers of steps after which held-out text is evaluated."""

    def phase(self, step: int) -> Phase:
        """The phase a step belongs to."""
        return next(phase for phase in self.phases if step < phase.end)

    def next_evaluation(self, done: int) -> int:
        """The number of steps after which the next evaluation is due."""
        return next(step for step in self.evaluations if step > done)


@dataclass(frozen=True)
class Budget:
    """Minutes since `began`, and what is known of steps and evaluations."""

    settings: TrainSettings
    began: float
    step_seconds: dict[int, float]
    """Seconds of a step by the length of its windows."""
    evaluation_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """All there is."""
        return self.settings.minutes * 60

    @property
    def mean_step_seconds(self) -> float:
        """Seconds of a step, as the lengths share them."""
        total = 0.0
        for length, share in self.settings.lengths:
            if share > 0:
                total += share * self.step_seconds[length]
        return total

    def seconds_left(self) -> float:
        """Seconds until the last step must be done."""
        return self.seconds * (1 - RESERVED_SHARE) - (time.perf_counter() - self.began)

    def evaluations(self) -> int:
        """How often held-out text is evaluated."""
        if self.evaluation_seconds <= 0:
            return self.settings.looks
        fitting = int(self.seconds * EVALUATION_SHARE / self.evaluation_seconds)
        return max(1, min(self.settings.looks, fitting))

    def steps(self) -> int:
        """Steps that fit; 0 where not even one does."""
        seconds = self.seconds_left() - self.evaluations() * self.evaluation_seconds
        return max(0, int(seconds / self.mean_step_seconds))

    def correct(self, length: int, seconds: float, steps: int) -> Budget | None:
        """The same by steps that were made in earnest; None where they took about what was
        expected, or too long to start over.
        """
        scale = seconds / steps / self.step_seconds[length]
        if abs(scale - 1) <= MAX_DEVIATION or seconds > MAX_RESTART_SHARE * self.seconds:
            return None
        return replace(
            self,
            step_seconds={known: each * scale for known, each in self.step_seconds.items()},
            evaluation_seconds=self.evaluation_seconds * scale,
        )


TIMED_STEPS = 20
"""Steps of each length that are timed on a GPU where minutes are given."""
MAX_SAVING_SHARE = 0.1
"""Share of the time that saving states may take."""

OnProgress = Callable[[str, int, int | None], None]


@dataclass
class TrainOptions:
    """One training: from what, how, and where its state is kept."""

    tokenizer: Path
    train: Path
    heldout: Path | None = None
    settings: TrainSettings = field(default_factory=lambda: TrainSettings(minutes=8))
    state: Path | None = None
    on_progress: OnProgress = lambda _what, _done, _total: None
    on_note: Callable[[str], None] = lambda _line: None
    """Called with the plan, which is valid for the whole training."""
    threads: int = 0
    """Of the CPU; 0: as many as torch takes."""


@dataclass
class TrainedModel:
    """A trained model, as transformers knows it, on the CPU."""

    model: Any
    figures: Figures

    @property
    def steps(self) -> int:
        """Its steps: the same number makes the same model again."""
        return self.figures.steps


def train(options: TrainOptions) -> TrainedModel:
    """Train; resumes from the state in the folder of the options if there is one."""
    settings = options.settings
    check_settings(settings)
    device = find_device(settings.device)
    is_exact = settings.repeatable and device.type == "cuda"
    with (
        explain_failures(settings),
        use_repeatable_kernels(is_exact),
        use_threads(options.threads),
    ):
        return PretrainingLoop(options, device).run()


def training_key(options: TrainOptions, pack: Pack) -> str:
    """What identifies a training: its text and all that decides its weights."""
    import torch

    defaults = {name: getattr(TrainSettings(), name) for name in NOT_IN_KEY}
    parts = [
        msgspec.structs.replace(options.settings, **defaults),
        options.settings.minutes,
        pack.meta.fingerprint,
        pack.meta.tokenizer,
        str(torch.__version__),
    ]
    return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()


class TrainingInterrupt(KeyboardInterrupt):
    """A training that was interrupted, and kept its state."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(
            f"stopped at step {done:,} of {total:,}; run the same command again to resume"
        )


@contextmanager
def catch_interrupts(enabled: bool = True) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether an interruption came.

    It never does where none can be caught (another thread, or signals ignored).
    """
    before = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not (enabled and in_main_thread and callable(before)):
        yield lambda: False
        return
    came = threading.Event()

    def note(_number: int, _frame: Any) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)  # the next one acts as ever
        with suppress(OSError):
            if os.isatty(2):
                os.write(2, b"\nstopping after this step; press Ctrl+C again to stop now\n")

    signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)


class PretrainingLoop:
    """A training under way."""

    def __init__(self, options: TrainOptions, device: Any) -> None:
        import torch

        self.began = time.perf_counter()
        self.options, self.settings, self.device = options, options.settings, device
        self.on_gpu = device.type == "cuda"
        self.pack = open_pack(options.train)
        meta = self.pack.meta
        if tokenizer_fingerprint(options.tokenizer) != meta.tokenizer:
            cure = f"pass that tokenizer instead of {options.tokenizer}, or pack the text again"
            raise BadInput("was packed with another tokenizer", file=options.train, cure=cure)
        self.size = find_size(self.settings.size)
        causal = self.settings.is_causal
        model = build_model(
            self.size, meta.vocabulary, meta.special, self.settings.seed, causal=causal
        )
        if not matches_transformers(model):
            kind = "Llama" if causal else "ModernBERT"
            what = f"this version of transformers computes {kind} differently from nikawa pretrain"
            raise BadInput(
                what, cure="install another version: pip install 'transformers>=5.17,<6'"
            )
        low = torch.bfloat16 if uses_bf16(self.settings.precision, device) else torch.float32
        self.network = open_network(model.to(device).train(), low)
        fused_by_default = self.settings.compile == "auto" and self.on_gpu
        if fused_by_default or self.settings.compile == "yes":
            self.network.fuse()
        vocabulary = MaskVocabulary(
            # [SEP] begins the documents of a causal model
            cls=meta.special["sep" if causal else "cls"],
            sep=meta.special["sep"],
            mask=meta.special["mask"],
            first=meta.first_piece,
            end=meta.vocabulary,
        )
        stream = torch.from_numpy(join_stream(self.pack.ids(), self.pack.begins()))
        stream = stream.to(device)
        self.steps = TrainingSteps(self.network, stream, vocabulary, self.settings)
        self.lengths = [length for length, share in self.settings.lengths if share > 0]
        self.step_tokens = self.steps.rows(self.lengths[0]) * self.lengths[0]
        seed = self.settings.seed
        self.orders = {
            length: WindowOrder(meta.pieces, length, self.steps.rows(length), seed, options.train)
            for length in self.lengths
        }
        self.evaluator: HeldoutEvaluator | None = None
        if options.heldout is not None:
            heldout = open_pack(options.heldout)
            if heldout.meta.tokenizer != meta.tokenizer:
                what = "was packed with a different tokenizer than the training text"
                raise BadInput(what, file=options.heldout, cure="pack it again")
            self.evaluator = HeldoutEvaluator(heldout, self.network, vocabulary, self.settings)
        self.progress = TrainingProgress(key=training_key(options, self.pack), total=0)
        self._budget: Budget | None = None
        """Of a training that has minutes, until its schedule has proved right or was corrected."""
        self._first_state: dict[str, Any] = {}
        self._steps_at_once = 1
        """Steps between two waits for the device: about a second's worth."""

    def run(self) -> TrainedModel:
        """Train to the end."""
        saved = load_state(self.options.state, self.progress.key) if self.options.state else None
        if saved is None or saved[1].done < saved[1].total:
            self._prepare(saved[1].total if saved else self.settings.steps)
        if saved:
            tensors, self.progress = saved
            self.steps.restore(tensors)
            self.steps.seen = self.progress.seen
        with catch_interrupts(self.options.state is not None) as was_interrupted:
            self._begin()  # what it announces may be interrupted at once
            while self.progress.done < self.progress.total:
                self._learn()
                self._correct_schedule()
                if was_interrupted() and self.progress.done < self.progress.total:
                    self._save()
                    raise TrainingInterrupt(self.progress.done, self.progress.total)
        if self.options.state:
            self._save()
        return TrainedModel(self.network.model.cpu().eval(), self._measure())

    def _prepare(self, total: int) -> None:
        """Compile, capture, and turn minutes into a number of steps where `total` is 0."""
        step_seconds: dict[int, float] = {}
        if self.on_gpu or self.network.is_fused or not total:
            what = "preparing the steps" if total or self.on_gpu else "measuring the speed"
            self.options.on_progress(what, 0, None)
            timed = TIMED_STEPS if self.on_gpu and not total else 0
            seconds = 0.0
            if not self.on_gpu and not total:
                seconds = TIMING_SHARE * 60 * self.settings.minutes
            note = self.progress.notes.append
            step_seconds = self.steps.optimise(self.orders, timed, note, seconds)
        self.progress.total = total or self._fit_into_minutes(step_seconds)

    def _fit_into_minutes(self, step_seconds: dict[int, float]) -> int:
        """Steps that fit into the minutes."""
        evaluation_seconds = 0.0
        if not self.on_gpu and self.evaluator is not None:
            # without learning, a third of the work
            share_of_step = self.evaluator.tokens / self.step_tokens
            evaluation_seconds = share_of_step * step_seconds[self.lengths[0]] / 3
        budget = Budget(self.settings, self.began, step_seconds, evaluation_seconds)
        self._budget = budget
        if not self.on_gpu:
            self._first_state = {name: value.clone() for name, value in self.steps.state().items()}
        self.progress.looks = budget.evaluations() if evaluation_seconds else 0
        steps = budget.steps()
        if not steps:
            note = "preparation used up all minutes; the training made one step"
            self.progress.notes.append(note)
        return max(1, steps)

    def _begin(self) -> None:
        """Make the schedule of all steps, once their number is known, and announce it."""
        progress = self.progress
        self.steps.total.fill_(float(progress.total))
        looks = progress.looks or self.settings.looks
        settings = msgspec.structs.replace(self.settings, looks=looks)
        self.schedule = Schedule(settings, progress.total)
        self._saved_at = self._paused_at = time.perf_counter()
        if progress.done >= progress.total:
            return
        steps = progress.total
        times = steps * self.step_tokens / max(1, self.pack.tokens)
        what = f"{steps:,} step{'s' * (steps > 1)} of {self.step_tokens:,} tokens, {times:.2g} times the text"
        if progress.done:
            what += f"; {progress.done:,} are done"
        if self._budget is not None:
            evaluation_seconds = progress.looks * self._budget.evaluation_seconds
            left = round(self._budget.mean_step_seconds * steps + evaluation_seconds)
            what += f", about {left // 60}:{left % 60:02} left"
        self.options.on_note(f"Plan: {what}")

    def _correct_schedule(self) -> None:
        """Start over with another number of steps, once, if the first steps take another time
        than was measured.

        The rate of every step depends on the number of all, so a schedule cannot be changed under
        way.
        """
        budget, progress = self._budget, self.progress
        if budget is None or self.on_gpu or progress.seconds < CHECKED_SHARE * budget.seconds:
            return
        first_state, self._budget, self._first_state = self._first_state, None, {}
        phase = self.schedule.phases[0]
        if progress.done >= phase.end:
            return
        better = budget.correct(phase.length, progress.seconds, progress.done)
        if better is None or (total := max(1, better.steps())) == progress.total:
            return
        times = better.mean_step_seconds / budget.mean_step_seconds
        what = f"A step takes {times:.2g} times as long as measured; the training starts over with a new plan"
        self.options.on_note(what)
        self.steps.restore(first_state)
        self.steps.seen = 0
        self.progress = TrainingProgress(
            key=progress.key,
            total=total,
            notes=progress.notes,
            looks=better.evaluations() if better.evaluation_seconds else 0,
        )
        self._budget = better
        self._begin()
        self._budget = None

    def _learn(self) -> None:
        """Learn some steps of one length, up to the next evaluation.

        Then report, evaluate and save where it is time to.
        """
        progress, phase = self.progress, self.schedule.phase(self.progress.done)
        first = progress.done
        next_evaluation = self.schedule.next_evaluation(first)
        stop = min(phase.end, first + self._steps_at_once, next_evaluation)
        starts = self.orders[phase.length].starts(first - phase.first, stop - first)
        self.steps.load_windows(phase.length, starts)
        for _ in range(stop - first):
            self.steps.step(phase.length)
        progress.done = stop
        loss = self.steps.mean_loss()  # waits for the device
        now = time.perf_counter()
        spent, self._paused_at = now - self._paused_at, now
        progress.seconds += spent
        if not math.isfinite(loss):
            what = f"the loss is not finite at step {progress.done:,}"
            rate = f"choose a learning rate under {self.settings.rate():g}"
            raise BadInput(what, cure=f"{rate}; the last good state is kept")
        if spent < 0.5 and stop - first == self._steps_at_once:
            self._steps_at_once = min(MAX_STEPS_LOADED, self._steps_at_once * 2)
        speed = (stop - first) / max(1e-9, spent) * self.step_tokens
        what = f"training, loss {loss:.3f}, {speed:,.0f} tokens/s"
        self.options.on_progress(what, progress.done, progress.total)
        if progress.done in self.schedule.evaluations:
            self._evaluate(loss)
        if self.options.state and now - self._saved_at > self.settings.checkpoint_seconds:
            self._save()
        self._paused_at = time.perf_counter()

    def _evaluate(self, loss: float) -> None:
        """Add the loss since the last evaluation, and how well held-out text is predicted, to the
        history.
        """
        entry = {"step": float(self.progress.done), "loss": loss}
        if self.evaluator is not None:
            length = self.schedule.phase(self.progress.done - 1).length
            entry["heldout"], entry["accuracy"] = self.evaluator.evaluate(length)
        self.progress.history.append(entry)
        self.steps.reset_loss()

    def _save(self) -> None:
        """Save the state; the next saving waits so long that savings take no more than their share
        of the time.
        """
        assert self.options.state is not None
        self.progress.seen = self.steps.seen
        began = time.perf_counter()
        save_state(self.options.state, self.steps.state(), self.progress)
        now = time.perf_counter()
        pause = (now - began) / MAX_SAVING_SHARE - self.settings.checkpoint_seconds
        self._saved_at = max(now, now + pause)

    def _measure(self) -> Figures:
        """The figures of a training that came to its end."""
        import torch

        meta, progress = self.pack.meta, self.progress
        tokens, operations = 0, 0.0
        for phase in self.schedule.phases:
            part = (phase.end - phase.first) * self.steps.rows(phase.length) * phase.length
            tokens += part
            share = 1.0 if self.settings.is_causal else self.settings.mask
            operations += part * self.size.operations(phase.length, meta.vocabulary, share)
        share_of_peak = None
        peak = find_peak(self.device)
        if peak and progress.seconds:
            share_of_peak = round(operations / progress.seconds / peak, 4)
        unigram = None
        if self.evaluator:
            unigram = unigram_loss(self.pack, self.evaluator.pack, self.evaluator.tokens)
        rate = self.settings.rate()
        last = progress.history[-1] if progress.history else {}
        return Figures(
            settings=msgspec.structs.replace(
                self.settings, steps=progress.total, minutes=0.0, learning_rate=rate
            ),
            parameters=sum(weight.numel() for weight in self.steps.weights),
            vocabulary=meta.vocabulary,
            text_pieces=meta.pieces,
            steps=progress.total,
            pieces=tokens,
            seconds=round(progress.seconds, 1),
            pieces_a_second=round(tokens / max(1e-9, progress.seconds)),
            share_of_peak=share_of_peak,
            device=torch.cuda.get_device_name(self.device) if self.on_gpu else "processor",
            threads=0 if self.on_gpu else torch.get_num_threads(),
            unigram=unigram,
            loss=last.get("loss"),
            heldout=last.get("heldout"),
            accuracy=last.get("accuracy"),
            history=progress.history,
            notes=progress.notes,
        )
