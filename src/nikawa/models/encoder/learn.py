"""The training loop: epochs of batches, progress, the state on disk, the best state on dev."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nikawa.models.base import Progress
from nikawa.models.encoder.device import device_of, is_low, one_line, seeded
from nikawa.models.encoder.settings import FIRST, OUTSIDE, EncoderSettings
from nikawa.models.encoder.state import load_state, save_state
from nikawa.models.encoder.steps import Graphs, Loss, Plain
from nikawa.models.encoder.store import Batch, Rows, Store, epoch_plan, lengths_for
from nikawa.models.encoder.watching import watches

__all__ = ["Course", "Watch", "device_of", "is_low", "key_of", "learn", "one_line"]

LATER = {"head": "auto", "best_by": FIRST, "any_language": 0}
"""Settings that came later, with what held before: states of that time are taken up."""
WORTH = 10.0
"""Seconds of work that are worth a state on disk at the end of an epoch."""
Watch = Callable[[], float]
"""How good the model is on dev now; more is better."""


@dataclass
class Course:
    """One training: what is learned, how, and what is watched."""

    model: Any
    rows: Rows
    loss: Loss
    settings: EncoderSettings
    seed: int
    device: Any
    folder: Path | None = None
    progress: Progress = lambda _what, _done, _total: None
    watch: Watch | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    diverged: bool = False
    """Whether a weight is no number in the end."""


def learn(course: Course) -> None:
    """Train the model in place; a killed training goes on from the last state in the folder."""
    with one_line(course.settings), seeded(course.seed):
        if course.settings.epochs <= 0:
            course.model.to(course.device).float().eval()
            return
        _Loop(course).run()
        course.diverged = _diverged(course.model)


class _Loop:
    def __init__(self, course: Course) -> None:
        import torch

        self.course, settings = course, course.settings
        self.model = _marks_of(course.model) if course.folder is not None else ""
        low = is_low(settings, course.device)
        self.exact = (
            {n: p.detach().float().clone() for n, p in course.model.named_parameters()}
            if low
            else {}
        )
        """Weights as they were, before they are rounded to bf16."""
        course.model.to(course.device, torch.bfloat16 if low else torch.float32).train()
        self.store = Store(course.rows, course.device)
        self.longest = max(int(self.store.row_lengths().max()), 1)
        self.lengths = lengths_for(self.store.row_lengths(), settings.batch, settings.epochs)
        self.each = -(-self.store.n // settings.batch)
        self.total = max(1, round(self.each * settings.epochs))
        updates = _updates(self.total, self.each, settings.accumulate)
        graphs = course.device.type == "cuda" and settings.accumulate == 1
        self.steps = (Graphs if graphs else Plain)(
            course.model, self.store, course.loss, settings, updates, low
        )
        with torch.no_grad():
            for name, master in zip(
                self.steps.update.names, self.steps.update.masters, strict=True
            ):
                if low:
                    master.copy_(self.exact.pop(name))
        self.done, self.best, self.bad, self._written = 0, float("-inf"), 0, time.perf_counter()
        self.key = key_of(course) if course.folder is not None else ""

    def run(self) -> None:
        self._resume()
        while self.done < self.total and not self._given_up():
            self._epoch(self.done // self.each)
        self._finish()

    def batches(self, number: int) -> list[Batch]:
        """The batches of an epoch."""
        key = (self.course.seed, number)
        return epoch_plan(self.store, self.course.settings.batch, self.longest, key, self.lengths)

    def _epoch(self, number: int) -> None:
        settings = self.course.settings
        batches = self.batches(number)
        self.steps.begin(batches[: self.total - number * self.each])
        first = self.done - number * self.each
        self.steps.skip(first)
        began, last = time.perf_counter(), min(self.each, self.total - number * self.each)
        looks = {round(self.each * i / settings.checks) for i in range(1, settings.checks + 1)} | {
            last
        }
        due = False  # a look that falls between two steps of the optimiser waits for the next
        for place in range(first, last):
            self.steps.step(place)
            self.done += 1
            self._since += 1
            if self.done % max(1, min(50, self.each)) == 0:
                self._say(place - first + 1, began)
            due = due or place + 1 in looks
            if due and self.steps.rests(place):
                due = False
                self._after()
                if self._given_up():
                    break
            elif self._since >= settings.checkpoint_steps and self.steps.rests(place):
                self._save()

    def _say(self, steps: int, began: float) -> None:
        loss = self.steps.loss()
        self.course.history.append({"step": self.done, "loss": loss})
        speed = steps * self.course.settings.batch / max(1e-9, time.perf_counter() - began)
        left = round((self.total - self.done) * self.course.settings.batch / speed)
        what = f"loss {loss:.3f}, {speed:,.0f} rows/s, {left // 60}:{left % 60:02} left"
        self.course.progress(what, self.done, self.total)

    def _after(self) -> None:
        """Look at dev; remember the best."""
        course = self.course
        if course.watch is not None and watches(course.settings):
            course.model.eval()
            value = course.watch()
            course.model.train()
            course.history.append({"step": self.done, "dev": value})
            self.bad = 0 if value > self.best else self.bad + 1
            if value > self.best:
                self.best, self._kept = (
                    value,
                    {k: v.clone() for k, v in self.steps.update.state().items()},
                )
        if (
            self._since >= course.settings.checkpoint_steps
            or time.perf_counter() - self._written >= WORTH
        ):
            self._save()

    _kept: dict[str, Any] | None = None
    _since = 0
    """Batches since the state was written."""

    def _given_up(self) -> bool:
        limit = self.course.settings.early_stop
        return bool(limit and self.bad >= limit)

    def _finish(self) -> None:
        import torch

        if self.course.settings.keep == "best" and self._kept is not None:
            self.steps.update.restore(self._kept)
        with torch.no_grad():
            update = self.steps.update
            if update.low:
                self.course.model.float()
                trained = dict(zip(update.names, update.masters, strict=True))
                for name, weights in self.course.model.named_parameters():
                    weights.copy_(trained[name] if name in trained else self.exact[name])
        self.course.model.eval()

    _resting = 0.0
    """When the state may be written again."""

    def _save(self) -> None:
        """Write the state, but never spend more than a tenth of the time on it."""
        self._since = 0
        began = time.perf_counter()
        if self.course.folder is not None and began >= self._resting:
            marks = {
                "key": self.key,
                "model": self.model,
                "done": self.done,
                "best": self.best,
                "bad": self.bad,
                "history": self.course.history,
            }
            save_state(self.course.folder, self.steps.update.state(), self._kept, marks)
            self._written = time.perf_counter()
            self._resting = self._written + 10 * (self._written - began)

    def _resume(self) -> None:
        keys = {"key": self.key, "model": self.model}
        found = (
            load_state(self.course.folder, self.course.device, keys) if self.course.folder else None
        )
        if found is None:
            return
        state, self._kept, marks = found
        self.steps.update.restore(state)
        self.done, self.best, self.bad = marks["done"], marks["best"], marks["bad"]
        self.course.history[:] = marks["history"]


def _updates(total: int, each: int, accumulate: int) -> int:
    """Steps of the optimiser: what is left over at the end of an epoch makes one too."""
    whole, rest = divmod(total, each)
    return whole * -(-each // accumulate) + -(-rest // accumulate)


def key_of(course: Course) -> str:
    """What a training is known by: its rows, settings and seed; a state of another one is not taken up."""
    from hashlib import blake2b

    import msgspec

    settings = msgspec.to_builtins(
        msgspec.structs.replace(course.settings, **dict.fromkeys(OUTSIDE, 0))
    )
    for name, default in LATER.items():
        if settings[name] == default:
            del settings[name]
    told = msgspec.json.encode([settings, course.seed, course.rows.width])
    digest = blake2b(told, digest_size=16)
    for parts in course.rows.tokens.values():
        for part in parts:
            digest.update(part.tobytes())
    for values in course.rows.dense.values():
        digest.update(values.tobytes())
    return digest.hexdigest()


def _marks_of(model: Any) -> str:
    """What a model is known by before it learns: names, shapes and the first weights of its parts."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    for name, weights in model.named_parameters():
        digest.update(f"{name}{tuple(weights.shape)}".encode())
        digest.update(weights.detach().flatten()[:16].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _diverged(model: Any) -> bool:
    """Whether a weight is no number; waits for the device."""
    import torch

    sums = torch.stack([weights.detach().sum().float() for weights in model.parameters()])
    return not bool(torch.isfinite(sums).all())
