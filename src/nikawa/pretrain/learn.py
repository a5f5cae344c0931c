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
from nikawa.pretrain.device import computes_low, device_for, repeatable, threaded, told
from nikawa.pretrain.encode import fingerprint
from nikawa.pretrain.look import Watch
from nikawa.pretrain.mask import Pieces
from nikawa.pretrain.measured import figures_of
from nikawa.pretrain.minutes import MEASURED, TRIED, Budget
from nikawa.pretrain.network import Network, build, same
from nikawa.pretrain.pack import Packed, joined, open_pack
from nikawa.pretrain.plan import Plan
from nikawa.pretrain.settings import OUTSIDE, TrainSettings, check_settings
from nikawa.pretrain.sizes import size_of
from nikawa.pretrain.state import Marks, load_state, save_state
from nikawa.pretrain.steps import ROUND, Steps
from nikawa.pretrain.stop import Interrupted, interruptible
from nikawa.pretrain.windows import Order

TIMED = 20
"""Steps of each length that are timed on a card where minutes are given."""

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
    say: Callable[[str], None] = lambda _line: None
    """Hears what stays true for the whole training: the plan."""
    threads: int = 0
    """Of the processor; 0: as many as torch takes."""


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
    exact = course.settings.repeatable and device.type == "cuda"
    with told(course.settings), repeatable(exact), threaded(course.threads):
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
            raise BadInput(
                "was packed with another tokenizer",
                file=course.train,
                cure=f"name that one instead of {course.tokenizer}, or pack the text again",
            )
        self.size = size_of(self.settings.size)
        model = build(self.size, meta.vocabulary, meta.special, self.settings.seed)
        if not same(model):
            raise BadInput(
                "this version of transformers computes ModernBERT otherwise than this training does",
                cure="install another: pip install 'transformers>=5.17,<6'",
            )
        low = torch.bfloat16 if computes_low(self.settings.precision, device) else torch.float32
        self.network = Network(model.to(device).train(), low)
        if self.settings.compile == "yes" or (
            self.settings.compile == "auto" and device.type == "cuda"
        ):
            self.network.fuse()
        self.pieces = Pieces(
            meta.special["cls"],
            meta.special["sep"],
            meta.special["mask"],
            meta.first_piece,
            meta.vocabulary,
        )
        stream = torch.from_numpy(joined(self.packed.ids(), self.packed.begins())).to(device)
        self.steps = Steps(self.network, stream, self.pieces, self.settings)
        self.lengths = [length for length, share in self.settings.lengths if share > 0]
        self.orders = {
            length: Order(
                meta.pieces, length, self.steps.rows(length), self.settings.seed, course.train
            )
            for length in self.lengths
        }
        self.watch = self._watch()
        self.marks = Marks(key=key_of(course, self.packed), total=0)

    def _watch(self) -> Watch | None:
        if self.course.heldout is None:
            return None
        found = open_pack(self.course.heldout)
        if found.meta.tokenizer != self.packed.meta.tokenizer:
            raise BadInput(
                "was packed with another tokenizer than the text to learn from",
                file=self.course.heldout,
                cure="pack it again",
            )
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
        self._begin()
        with interruptible(self.course.state is not None) as asked:
            while self.marks.done < self.marks.total:
                self._round()
                self._correct()
                if asked() and self.marks.done < self.marks.total:
                    self._save()
                    raise Interrupted(self.marks.done, self.marks.total)
        if self.course.state:
            self._save()
        return Learned(self.network.model.cpu().eval(), figures_of(self))

    def _begin(self) -> None:
        """The plan of all steps, once their number is known."""
        self.steps.total.fill_(float(self.marks.total))
        looks = self.marks.looks or self.settings.looks
        self.plan = Plan(msgspec.structs.replace(self.settings, looks=looks), self.marks.total)
        self._saved = self._paused = time.perf_counter()
        if self.marks.done < self.marks.total:
            self._tell_plan()

    def _tell_plan(self) -> None:
        steps, pieces = self.marks.total, self.marks.total * self._batch()
        what = f"{steps:,} step{'s' * (steps > 1)} of {self._batch():,} pieces, {pieces / max(1, self.packed.pieces):.2g} times the text"
        if self.marks.done:
            what += f"; {self.marks.done:,} are done"
        if self._budget is not None:
            left = round(self._budget.each * steps + self.marks.looks * self._budget.look)
            what += f", about {left // 60}:{left % 60:02} from here"
        self.course.say(f"Plan: {what}")

    def _prepare(self, total: int) -> None:
        """Compile, capture, and turn minutes into a number of steps."""
        card = self.device.type == "cuda"
        spent: dict[int, float] = {}
        if card or self.network.fused or not total:
            self.course.progress(
                "preparing the steps" if total or card else "measuring the speed", 0, None
            )
            timed = TIMED if card and not total else 0
            seconds = 0.0 if card or total else MEASURED * 60 * self.settings.minutes
            spent = self.steps.settle(self.orders, timed, self.marks.notes.append, seconds)
        self.marks.total = total or self._fitting(spent)

    _budget: Budget | None = None
    """Of a training that has minutes, until its plan has proved right or was corrected."""

    def _fitting(self, spent: dict[int, float]) -> int:
        """Steps that fit into the minutes."""
        look = 0.0
        if (
            self.device.type != "cuda" and self.watch is not None
        ):  # without learning, a third of the work
            look = self.watch.most / self._batch() * spent[self.lengths[0]] / 3
        self._budget = Budget(self.settings, self.began, spent, look)
        if self.device.type != "cuda":
            self._first = {name: value.clone() for name, value in self.steps.state().items()}
        return self._planned(self._budget)

    def _planned(self, budget: Budget) -> int:
        self.marks.looks = budget.looks() if budget.look else 0
        steps = budget.steps()
        if not steps:
            self.marks.notes.append("preparing took all the minutes there were: one step was made")
        return max(1, steps)

    def _correct(self) -> None:
        """Begin anew with another number of steps, once, where the first ones take another time than was measured.

        The rate of every step depends on the number of all, so a plan cannot be changed under way.
        """
        budget, marks = self._budget, self.marks
        if budget is None or self.device.type == "cuda" or marks.seconds < TRIED * budget.seconds:
            return
        beginning, self._budget, self._first = self._first, None, {}
        first = self.plan.phases[0]
        if marks.done >= first.end:
            return
        better = budget.corrected(first.length, marks.seconds, marks.done)
        if better is not None and (total := max(1, better.steps())) != marks.total:
            times = better.each / budget.each
            self.course.say(
                f"A step takes {times:.2g} times what was measured: begun anew with another plan"
            )
            self.steps.restore(beginning)
            self.steps.seen = 0
            self.marks = Marks(
                key=marks.key,
                total=total,
                notes=marks.notes,
                looks=better.looks() if better.look else 0,
            )
            self._budget = better
            self._begin()
            self._budget = None

    _pace = 1
    """Steps between two waits for the device: about a second's worth."""

    def _round(self) -> None:
        """Some steps of one length, up to the next look."""
        done, phase = self.marks.done, self.plan.phase(self.marks.done)
        stop = min(phase.end, done + self._pace, self.plan.next_look(done))
        self.steps.lay(
            phase.length, self.orders[phase.length].starts(done - phase.first, stop - done)
        )
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
            raise BadInput(
                f"the loss is no number any more at step {self.marks.done:,}",
                cure=f"choose a learning rate under {self.settings.rate():g}; the last good state is kept",
            )
        if spent < 0.5 and steps == self._pace:
            self._pace = min(ROUND, self._pace * 2)
        self._tell(loss, steps / max(1e-9, spent))
        if self.marks.done in self.plan.looks:
            self._look(loss)
        if self.course.state and now - self._saved > self.settings.checkpoint_seconds:
            self._save()
        self._paused = time.perf_counter()

    def _tell(self, loss: float, speed: float) -> None:
        what = f"training, loss {loss:.3f}, {speed * self._batch():,.0f} pieces/s"
        self.course.progress(what, self.marks.done, self.marks.total)

    def _batch(self) -> int:
        """Pieces a step."""
        return self.steps.rows(self.lengths[0]) * self.lengths[0]

    def _look(self, loss: float) -> None:
        entry = {"step": float(self.marks.done), "loss": loss}
        if self.watch is not None:
            entry["heldout"], entry["accuracy"] = self.watch.look(
                self.plan.phase(self.marks.done - 1).length
            )
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
