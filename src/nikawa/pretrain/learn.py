"""Train an encoder: prepare, measure, learn, look at held-out text, keep the state; a killed training goes on to the same weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.pretrain.card import Figures
from nikawa.pretrain.device import computes_low, device_for, peak_of, repeatable, told
from nikawa.pretrain.encode import fingerprint
from nikawa.pretrain.look import Watch, unigram
from nikawa.pretrain.mask import Pieces
from nikawa.pretrain.network import Network, build, same
from nikawa.pretrain.pack import Packed, joined, open_pack
from nikawa.pretrain.plan import Plan
from nikawa.pretrain.settings import OUTSIDE, TrainSettings, check_settings
from nikawa.pretrain.sizes import size_of
from nikawa.pretrain.state import Marks, load_state, save_state
from nikawa.pretrain.steps import ROUND, Steps
from nikawa.pretrain.windows import Order

TIMED = 20
"""Steps that are timed where minutes are given; on a processor fewer."""
RESERVE = 0.04
"""Share of the minutes kept for looks, states and the end."""

Progress = Callable[[str, int, int | None], None]


@dataclass
class Course:
    """One training: from what, how, and where its state is kept."""

    tokenizer: Path
    train: Path
    heldout: Path | None = None
    settings: TrainSettings = field(default_factory=lambda: TrainSettings(minutes=8))
    state: Path | None = None
    progress: Progress = lambda _what, _done, _total: None


@dataclass
class Learned:
    """A trained model, as transformers knows it, on the processor."""

    model: Any
    figures: Figures

    @property
    def steps(self) -> int:
        """Its steps: the same number makes the same model again."""
        return self.figures.steps


def learn(course: Course) -> Learned:
    """Train; goes on from the state in the course's folder where it left one."""
    check_settings(course.settings)
    device = device_for(course.settings.device)
    with told(course.settings), repeatable(course.settings.repeatable and device.type == "cuda"):
        return Training(course, device).run()


class Training:
    """A training under way."""

    def __init__(self, course: Course, device: Any) -> None:
        import torch

        self.began = time.perf_counter()
        self.course, self.settings, self.device = course, course.settings, device
        self.packed = open_pack(course.train)
        meta = self.packed.meta
        if fingerprint(course.tokenizer) != meta.tokenizer:
            raise BadInput("was packed with another tokenizer", file=course.train, cure=f"name that one instead of {course.tokenizer}, or pack the text again")  # fmt: skip
        self.size = size_of(self.settings.size)
        model = build(self.size, meta.vocabulary, meta.special, self.settings.seed)
        if not same(model):
            raise BadInput("this version of transformers computes ModernBERT otherwise than this training does", cure="install another: pip install 'transformers>=5.17,<6'")  # fmt: skip
        low = torch.bfloat16 if computes_low(self.settings.precision, device) else torch.float32
        self.network = Network(model.to(device).train(), low)
        if self.settings.compile == "yes" or (self.settings.compile == "auto" and device.type == "cuda"):
            self.network.fuse()
        self.pieces = Pieces(meta.special["cls"], meta.special["sep"], meta.special["mask"], meta.first_piece, meta.vocabulary)  # fmt: skip
        stream = torch.from_numpy(joined(self.packed.ids(), self.packed.begins())).to(device)
        self.steps = Steps(self.network, stream, self.pieces, self.settings)
        self.lengths = [length for length, share in self.settings.lengths if share > 0]
        self.orders = {length: Order(meta.pieces, length, self.steps.rows(length), self.settings.seed, course.train) for length in self.lengths}  # fmt: skip
        self.watch = self._watch()
        self.marks = Marks(key=key_of(course, self.packed), total=0)

    def _watch(self) -> Watch | None:
        if self.course.heldout is None:
            return None
        found = open_pack(self.course.heldout)
        if found.meta.tokenizer != self.packed.meta.tokenizer:
            raise BadInput("was packed with another tokenizer than the text to learn from", file=self.course.heldout, cure="pack it again")  # fmt: skip
        return Watch(found, self.network, self.pieces, self.settings)

    def run(self) -> Learned:
        """Train to the end."""
        left = load_state(self.course.state, self.marks.key) if self.course.state else None
        if left is None or left[1].done < left[1].total:
            self._prepare(left[1].total if left else self.settings.steps)
        if left:
            self.marks = left[1]
            self.steps.restore(left[0])
            self.steps.seen = self.marks.seen
        self.steps.total.fill_(float(self.marks.total))
        self.plan = Plan(self.settings, self.marks.total)
        self._saved = self._paused = time.perf_counter()
        while self.marks.done < self.marks.total:
            self._round()
        if self.course.state:
            self._save()
        return Learned(self.network.model.cpu().eval(), self._figures())

    def _prepare(self, total: int) -> None:
        """Compile, capture, and turn minutes into a number of steps."""
        timed = 0 if total else TIMED if self.device.type == "cuda" else 3
        if timed or self.device.type == "cuda" or self.network.fused:
            self.course.progress("preparing the steps", 0, None)
            spent = self.steps.settle(self.orders, timed, self.marks.notes.append)
        if not total:
            each = sum(share * spent[length] for length, share in self.settings.lengths if share > 0)
            left = self.settings.minutes * 60 * (1 - RESERVE) - (time.perf_counter() - self.began)
            total = max(1, int(left / each))
            if left < each:
                self.marks.notes.append("preparing took all the minutes there were: one step was made")
        self.marks.total = total

    _pace = 1
    """Steps between two waits for the device: about a second's worth."""

    def _round(self) -> None:
        """Some steps of one length, up to the next look."""
        done, phase = self.marks.done, self.plan.phase(self.marks.done)
        stop = min(phase.end, done + self._pace, self.plan.next_look(done))
        self.steps.lay(phase.length, self.orders[phase.length].starts(done - phase.first, stop - done))
        for _ in range(stop - done):
            self.steps.step(phase.length)
        self.marks.done = stop
        self._after(stop - done)

    def _after(self, steps: int) -> None:
        loss = self.steps.loss()  # waits for the device
        now = time.perf_counter()
        spent, self._paused = now - self._paused, now
        self.marks.seconds += spent
        if not math.isfinite(loss):
            raise BadInput(f"the loss is no number any more at step {self.marks.done:,}", cure=f"choose a learning rate under {self.settings.rate():g}; the last good state is kept")  # fmt: skip
        if spent < 0.5 and steps == self._pace:
            self._pace = min(ROUND, self._pace * 2)
        self._tell(loss, steps / max(1e-9, spent))
        if self.marks.done in self.plan.looks:
            self._look(loss)
        if self.course.state and now - self._saved > self.settings.checkpoint_seconds:
            self._save()
        self._paused = time.perf_counter()

    def _tell(self, loss: float, speed: float) -> None:
        left = round((self.marks.total - self.marks.done) / speed)
        what = f"loss {loss:.3f}, {speed * self._batch():,.0f} pieces/s, {left // 60}:{left % 60:02} left"
        self.course.progress(what, self.marks.done, self.marks.total)

    def _batch(self) -> int:
        """Pieces a step."""
        return self.steps.rows(self.lengths[0]) * self.lengths[0]

    def _look(self, loss: float) -> None:
        entry = {"step": float(self.marks.done), "loss": loss}
        if self.watch is not None:
            entry["heldout"], entry["accuracy"] = self.watch.look(self.plan.phase(self.marks.done - 1).length)
        self.marks.history.append(entry)
        self.steps.clear()

    def _save(self) -> None:
        assert self.course.state is not None
        self.marks.seen = self.steps.seen
        began = time.perf_counter()
        save_state(self.course.state, self.steps.state(), self.marks)
        now = time.perf_counter()
        # never more than a tenth of the time for states
        self._saved = max(now, now + 10 * (now - began) - self.settings.checkpoint_seconds)

    def _figures(self) -> Figures:
        meta, marks = self.packed.meta, self.marks
        pieces, work = 0, 0.0
        for phase in self.plan.phases:
            part = (phase.end - phase.first) * self.steps.rows(phase.length) * phase.length
            pieces += part
            work += part * self.size.operations(phase.length, meta.vocabulary, self.settings.mask)
        peak, last = peak_of(self.device), marks.history[-1] if marks.history else {}
        return Figures(
            settings=msgspec.structs.replace(self.settings, steps=marks.total, minutes=0.0),
            parameters=sum(weight.numel() for weight in self.steps.weights),
            vocabulary=meta.vocabulary,
            text_pieces=meta.pieces,
            steps=marks.total,
            pieces=pieces,
            seconds=round(marks.seconds, 1),
            pieces_a_second=round(pieces / max(1e-9, marks.seconds)),
            share_of_peak=round(work / marks.seconds / peak, 4) if peak and marks.seconds else None,
            device=told_device(self.device),
            unigram=unigram(self.packed, self.watch.packed) if self.watch else None,
            loss=last.get("loss"),
            heldout=last.get("heldout"),
            accuracy=last.get("accuracy"),
            history=marks.history,
            notes=marks.notes,
        )


def told_device(device: Any) -> str:
    """The device by name."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"


def key_of(course: Course, packed: Packed) -> str:
    """What a training is known by: its text and all that decides its weights."""
    import torch

    outside = {name: getattr(TrainSettings(), name) for name in OUTSIDE}
    settings = msgspec.structs.replace(course.settings, **outside)
    whole = [
        settings,
        course.settings.minutes,
        packed.meta.fingerprint,
        packed.meta.tokenizer,
        str(torch.__version__),
    ]
    return blake2b(msgspec.json.encode(whole), digest_size=16).hexdigest()
