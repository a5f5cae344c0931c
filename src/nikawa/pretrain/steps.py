"""One step of training: cut windows, mask or shift, forward, backward, clip, update.

On a GPU it is captured once for each length. Everything a step needs is on the device and is
counted there, so replaying the captured graph is all the host does. The rate rises over the warm-up
and falls to nothing at the last step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from nikawa.pretrain.batches import MaskVocabulary, WindowOrder, draw_batch
from nikawa.pretrain.network import Network
from nikawa.pretrain.settings import TrainSettings

WARM_UP_STEPS = 3
"""Steps before a graph is captured: kernels are chosen and compiled in them."""
FIRST_TIMED_TOKENS = 512
"""Tokens by which a CPU is timed first."""
MAX_STEPS_LOADED = 64
"""Steps whose windows are put on the device at a time."""


class TrainingSteps:
    """Learns steps one after the other; `optimise` makes them fast."""

    def __init__(
        self, network: Network, stream: Any, vocabulary: MaskVocabulary, settings: TrainSettings
    ) -> None:
        import torch

        self.network, self.stream, self.settings = network, stream, settings
        self.vocabulary = vocabulary
        self.device = stream.device
        self.names = [name for name, _ in network.model.named_parameters()]
        self.weights = [weight for _, weight in network.model.named_parameters()]
        zero = torch.zeros((), device=self.device)
        self.at, self.total = zero.long(), zero.clone()
        self.rate, self.sum = zero.clone(), zero.clone()
        self.seen = 0
        """Steps since the mean loss was last reset."""
        self._starts: dict[int, Any] = {}
        self._row = torch.zeros(1, dtype=torch.long, device=self.device)
        self._graphs: dict[int, Any] = {}
        self._graph_pool: Any = None
        self._captures: bool = self.device.type == "cuda"
        matrices = [weight for weight in self.weights if weight.ndim > 1]
        scales_and_biases = [weight for weight in self.weights if weight.ndim < 2]
        self._optimiser = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": settings.weight_decay},
                {"params": scales_and_biases, "weight_decay": 0.0},
            ],
            lr=self.rate,
            betas=(0.9, 0.98),
            eps=1e-6,
            fused=True,
            capturable=self._captures,
        )

    def rows(self, length: int) -> int:
        """Windows a step."""
        return self.settings.batch // length

    def load_windows(self, length: int, starts: np.ndarray) -> None:
        """Put the windows of the next steps on the device."""
        import torch

        if length not in self._starts:
            shape = (MAX_STEPS_LOADED, self.rows(length))
            self._starts[length] = torch.zeros(shape, dtype=torch.long, device=self.device)
        self._starts[length][: len(starts)].copy_(torch.from_numpy(starts))
        self._row.zero_()

    def step(self, length: int) -> None:
        """Learn the next windows that were loaded."""
        graph = self._graphs.get(length)
        if graph is None:
            self._learn(length)
        else:
            graph.replay()
        self.seen += 1

    def _learn(self, length: int, rows: int | None = None) -> None:
        """One step on the windows of the next row; `rows` takes only some of them.

        No value goes to the host.
        """
        starts = self._starts[length].index_select(0, self._row)[0]
        starts = starts if rows is None else starts[:rows]
        settings = self.settings
        batch = draw_batch(
            self.stream, starts, length, self.at, self.vocabulary, settings, settings.seed
        )
        for weight in self.weights:
            weight.grad = None
        loss = self.network.loss(batch)
        loss.backward()
        self._clip_gradients()
        self._set_rate()
        self._optimiser.step()
        self.sum += loss.detach()
        self.at += 1
        self._row += 1

    def _clip_gradients(self) -> None:
        """Scale all gradients down where their norm is over the limit."""
        import torch

        gradients = [weight.grad for weight in self.weights]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        scale = (self.settings.clip / (norm + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, scale)

    def _set_rate(self) -> None:
        """The rate of this step, computed where the step is counted."""
        import torch

        at = self.at.float()
        warm = (self.total * self.settings.warmup).clamp(min=1.0)
        rest = (self.total - warm).clamp(min=1.0)
        fall = ((at - warm) / rest).clamp(0.0, 1.0)
        fall = 1 - fall if self.settings.schedule == "linear" else (torch.cos(fall * pi) + 1) / 2
        share = torch.minimum((at + 1) / warm, fall)
        self.rate.copy_(share * self.settings.rate())

    def optimise(
        self,
        orders: dict[int, WindowOrder],
        timed: int,
        note: Callable[[str], None],
        seconds: float = 0.0,
    ) -> dict[int, float]:
        """Compile and capture where that helps; returns the seconds of a step of each length.

        The state stays as it was. So many steps of each length are timed, or, on a CPU, as much
        work as so many `seconds` allow. `note` is called with the name of anything unavailable.
        """
        import torch

        before = {name: value.clone() for name, value in self.state().items()}
        step_seconds = None
        while step_seconds is None:
            try:
                step_seconds = {
                    length: self._optimise_length(length, order, timed, seconds)
                    for length, order in orders.items()
                }
            except Exception as problem:  # whatever a compiler or a driver may raise
                if isinstance(problem, torch.cuda.OutOfMemoryError | MemoryError):
                    raise
                if _allow_unrepeatable(problem):
                    what = "not every GPU kernel is deterministic"
                elif self._simplify():
                    what = "a faster implementation failed"
                else:
                    raise
                note(f"{what}: {str(problem).strip().splitlines()[0][:200]}")
        self.restore(before)
        return step_seconds

    def _simplify(self) -> bool:
        """Do without the compiler, then without graphs; whether there was anything to do without."""
        self._graphs.clear()
        if self.network.is_fused:
            self.network.unfuse()
            return True
        if not self._captures:
            return False
        self._captures = False
        return True

    def _optimise_length(
        self, length: int, order: WindowOrder, timed: int, seconds: float
    ) -> float:
        """Compile and capture the step of one length, and time it."""
        timed = min(timed, MAX_STEPS_LOADED - 2)
        self.total.fill_(1e9)  # the rate stays near nothing
        self.load_windows(length, order.starts(0, MAX_STEPS_LOADED))
        if self._captures:
            self._graphs[length] = self._capture(length)
        if seconds:
            return self._time_within(length, seconds)
        for _ in range(max(min(2, timed), self.network.is_fused)):  # what fails must fail here
            self.step(length)
        self.wait()
        began = time.perf_counter()
        for _ in range(timed):
            self.step(length)
        self.wait()
        return (time.perf_counter() - began) / max(1, timed)

    def _time_within(self, length: int, seconds: float) -> float:
        """The seconds of a step, by few windows where whole steps would take longer than there is
        time.
        """
        all_rows = self.rows(length)
        rows = min(all_rows, max(1, FIRST_TIMED_TOKENS // length))
        self._time_step(length, rows)  # the first of all is slow
        whole_steps: list[float] = []
        while True:
            spent = self._time_step(length, rows)
            seconds -= spent
            if rows == all_rows:
                whole_steps.append(spent)
            more = min(all_rows, 4 * rows)
            if len(whole_steps) == WARM_UP_STEPS or spent * more / rows > seconds:
                if whole_steps:
                    return sum(whole_steps) / len(whole_steps)
                return spent * all_rows / rows
            rows = more

    def _time_step(self, length: int, rows: int) -> float:
        """The seconds of one step with so many windows."""
        began = time.perf_counter()
        self._row.zero_()
        self._learn(length, rows)
        return time.perf_counter() - began

    def _capture(self, length: int) -> Any:
        """The step of one length as a CUDA graph, after a few steps that choose and compile its
        kernels.
        """
        import torch

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_STEPS):
                self._learn(length)
        torch.cuda.current_stream().wait_stream(side)
        # gradients of another length must not block the memory that all lengths share
        for weight in self.weights:
            weight.grad = None
        self._graph_pool = self._graph_pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._graph_pool):
            self._learn(length)
        self._row.zero_()
        return graph

    def wait(self) -> None:
        """Until the device has done all its work."""
        if self.device.type == "cuda":
            import torch

            torch.cuda.synchronize()

    def mean_loss(self) -> float:
        """The mean loss since it was last reset; waits for the device."""
        return float(self.sum) / max(1, self.seen)

    def reset_loss(self) -> None:
        """Take the mean loss from here on."""
        self.sum.zero_()
        self.seen = 0

    def state(self) -> dict[str, Any]:
        """Everything the next step depends on; randomness is a function of the step."""
        state = {"at": self.at, "sum": self.sum}
        for name, weight in zip(self.names, self.weights, strict=True):
            state[f"weight.{name}"] = weight.detach()
            for key, value in self._optimiser.state.get(weight, {}).items():
                state[f"{key}.{name}"] = value
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a state back in place, where captured graphs see it.

        What the state does not know starts from zero.
        """
        import torch

        with torch.no_grad():
            self.at.copy_(state["at"])
            self.sum.copy_(state["sum"])
            for name, weight in zip(self.names, self.weights, strict=True):
                weight.copy_(state[f"weight.{name}"])
                own = self._optimiser.state[weight]
                for key in ("step", "exp_avg", "exp_avg_sq"):
                    if key not in own:
                        like = weight if key != "step" else torch.zeros((), device=self.device)
                        own[key] = torch.zeros_like(like, dtype=torch.float32)
                    if f"{key}.{name}" in state:
                        own[key].copy_(state[f"{key}.{name}"])
                    else:
                        own[key].zero_()


def _allow_unrepeatable(problem: Exception) -> bool:
    """Where a kernel has no repeatable form, only ask for one; whether that is new."""
    import torch

    if "deterministic" not in str(problem) or torch.is_deterministic_algorithms_warn_only_enabled():
        return False
    torch.use_deterministic_algorithms(True, warn_only=True)
    return True
