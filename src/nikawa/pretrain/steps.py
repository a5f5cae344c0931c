"""One step of training: cut windows, mask, forward, backward, clip, update. On a card it is captured once for each length.

Everything a step needs lies on the device and is counted there, so replaying the captured graph is all the host does.
The rate rises over the warm-up and falls to nothing at the last step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from nikawa.pretrain.mask import Pieces, masked
from nikawa.pretrain.network import Network
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.windows import Order, cut

WARM = 3
"""Steps before a graph is captured: kernels are chosen and compiled in them."""
FEW = 512
"""Pieces by which a processor is measured first."""
ROUND = 64
"""Steps whose windows are laid on the device at a time."""


class Steps:
    """Learns steps one after the other; `settle` makes them fast."""

    def __init__(
        self, network: Network, stream: Any, pieces: Pieces, settings: TrainSettings
    ) -> None:
        import torch

        self.network, self.stream, self.pieces, self.settings = network, stream, pieces, settings
        self.device = stream.device
        self.names = [name for name, _ in network.model.named_parameters()]
        self.weights = [weight for _, weight in network.model.named_parameters()]
        zero = torch.zeros((), device=self.device)
        self.at, self.total = zero.long(), zero.clone()
        self.rate, self.sum = zero.clone(), zero.clone()
        self.seen = 0
        """Steps since the loss was last asked for."""
        self._order: dict[int, Any] = {}
        self._graphs: dict[int, Any] = {}
        self._row = torch.zeros(1, dtype=torch.long, device=self.device)
        self._capture = self.device.type == "cuda"
        self._optimiser = torch.optim.AdamW(
            self._groups(),
            lr=self.rate,
            betas=(0.9, 0.98),
            eps=1e-6,
            fused=True,
            capturable=self._capture,
        )

    def _groups(self) -> list[dict[str, Any]]:
        """Scales and biases are not drawn to zero."""
        flat = [w for w in self.weights if w.ndim < 2]
        wide = [w for w in self.weights if w.ndim > 1]
        return [
            {"params": wide, "weight_decay": self.settings.weight_decay},
            {"params": flat, "weight_decay": 0.0},
        ]

    def rows(self, length: int) -> int:
        """Windows a step."""
        return self.settings.batch // length

    def lay(self, length: int, starts: np.ndarray) -> None:
        """Lay the windows of the next steps on the device."""
        import torch

        if length not in self._order:
            shape = (ROUND, self.rows(length))
            self._order[length] = torch.zeros(shape, dtype=torch.long, device=self.device)
        self._order[length][: len(starts)].copy_(torch.from_numpy(starts))
        self._row.zero_()

    def step(self, length: int) -> None:
        """Learn the next windows that were laid down."""
        graph = self._graphs.get(length)
        if graph is None:
            self._work(length)
        else:
            graph.replay()
        self.seen += 1

    def _work(self, length: int, rows: int | None = None) -> None:
        starts = self._order[length].index_select(0, self._row)[0]
        starts = starts if rows is None else starts[:rows]
        batch = masked(
            *cut(self.stream, starts, length, self.pieces),
            self.at,
            (self.settings.seed, self.settings.mask),
            self.pieces,
        )
        for weight in self.weights:
            weight.grad = None
        loss = self.network.loss(batch)
        loss.backward()
        self._clip()
        self._set_rate()
        self._optimiser.step()
        self.sum += loss.detach()
        self.at += 1
        self._row += 1

    def _clip(self) -> None:
        import torch

        slopes = [weight.grad for weight in self.weights]
        size = torch.stack(torch._foreach_norm(slopes)).norm()
        torch._foreach_mul_(slopes, (self.settings.clip / (size + 1e-6)).clamp(max=1.0))

    def _set_rate(self) -> None:
        """The rate of this step, computed where the step is counted."""
        import torch

        at, warm = self.at.float(), (self.total * self.settings.warmup).clamp(min=1.0)
        fall = ((at - warm) / (self.total - warm).clamp(min=1.0)).clamp(0.0, 1.0)
        fall = 1 - fall if self.settings.schedule == "linear" else (torch.cos(fall * pi) + 1) / 2
        self.rate.copy_(torch.minimum((at + 1) / warm, fall) * self.settings.rate())

    def settle(
        self,
        orders: dict[int, Order],
        timed: int,
        note: Callable[[str], None],
        seconds: float = 0.0,
    ) -> dict[int, float]:
        """Compile and capture where that helps; the seconds of a step of each length. The state stays as it was.

        So many steps of each length are timed, or, on a processor, as much work as so many seconds hold.
        """
        before = {name: value.clone() for name, value in self.state().items()}
        spent = None
        while spent is None:
            try:
                spent = {
                    length: self._settled(length, order, timed, seconds)
                    for length, order in orders.items()
                }
            except Exception as problem:  # whatever a compiler or a driver may raise
                looser = _looser(problem)
                if _is_full(problem) or not (looser or self._simpler()):
                    raise
                what = "not every kernel repeats its bits" if looser else "a faster way failed"
                note(f"{what}: {str(problem).strip().splitlines()[0][:200]}")
        self.restore(before)
        return spent

    def _simpler(self) -> bool:
        """Do without the compiler, then without graphs; whether there was anything to do without."""
        self._graphs.clear()
        had = self.network.fused or self._capture
        if self.network.fused:
            self.network.plain()
        else:
            self._capture = False
        return had

    def _settled(self, length: int, order: Order, timed: int, seconds: float) -> float:
        timed = min(timed, ROUND - 2)
        self.total.fill_(1e9)  # the rate stays near nothing
        self.lay(length, order.starts(0, ROUND))
        if self._capture:
            self._graphs[length] = self._captured(length)
        if seconds:
            return self._paced(length, seconds)
        for _ in range(max(min(2, timed), self.network.fused)):  # what fails must fail here
            self.step(length)
        self.wait()
        began = time.perf_counter()
        for _ in range(timed):
            self.step(length)
        self.wait()
        return (time.perf_counter() - began) / max(1, timed)

    def _paced(self, length: int, seconds: float) -> float:
        """The seconds of a step, by few windows where whole steps would take longer than there is time."""
        rows = self.rows(length)
        few = min(rows, max(1, FEW // length))
        self._timed(length, few)  # the first of all is slow
        whole: list[float] = []
        while True:
            spent = self._timed(length, few)
            seconds -= spent
            whole += [spent] if few == rows else []
            more = min(rows, 4 * few)
            if len(whole) == WARM or spent * more / few > seconds:
                return sum(whole) / len(whole) if whole else spent * rows / few
            few = more

    def _timed(self, length: int, rows: int) -> float:
        began = time.perf_counter()
        self._row.zero_()
        self._work(length, rows)
        return time.perf_counter() - began

    _pool: Any = None

    def _captured(self, length: int) -> Any:
        import torch

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                self._work(length)
        torch.cuda.current_stream().wait_stream(side)
        for weight in self.weights:
            weight.grad = (
                None  # slopes of another length must not hold the memory that all lengths share
            )
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._work(length)
        self._row.zero_()
        return graph

    def wait(self) -> None:
        """Until the device has done all it was told."""
        if self.device.type == "cuda":
            import torch

            torch.cuda.synchronize()

    def loss(self) -> float:
        """The mean loss since it was last taken up; waits for the device."""
        return float(self.sum) / max(1, self.seen)

    def clear(self) -> None:
        """Take up the mean loss from here."""
        self.sum.zero_()
        self.seen = 0

    def state(self) -> dict[str, Any]:
        """Everything the next step depends on; randomness is a function of the step."""
        found = {"at": self.at, "sum": self.sum}
        for name, weight in zip(self.names, self.weights, strict=True):
            found[f"weight.{name}"] = weight.detach()
            found |= {
                f"{key}.{name}": value
                for key, value in self._optimiser.state.get(weight, {}).items()
            }
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a state back in place, where captured graphs see it; what it does not know begins at nothing."""
        import torch

        with torch.no_grad():
            self.at.copy_(state["at"])
            self.sum.copy_(state["sum"])
            for name, weight in zip(self.names, self.weights, strict=True):
                weight.copy_(state[f"weight.{name}"])
                self._recall(name, weight, state)

    def _recall(self, name: str, weight: Any, state: dict[str, Any]) -> None:
        import torch

        own = self._optimiser.state[weight]
        for key in ("step", "exp_avg", "exp_avg_sq"):
            if key not in own:
                like = weight if key != "step" else torch.zeros((), device=self.device)
                own[key] = torch.zeros_like(like, dtype=torch.float32)
            if f"{key}.{name}" in state:
                own[key].copy_(state[f"{key}.{name}"])
            else:
                own[key].zero_()


def _looser(problem: Exception) -> bool:
    """Where a kernel has no repeatable form, only ask for one; whether that is new."""
    import torch

    if "deterministic" not in str(problem) or torch.is_deterministic_algorithms_warn_only_enabled():
        return False
    torch.use_deterministic_algorithms(True, warn_only=True)
    return True


def _is_full(problem: Exception) -> bool:
    import torch

    return isinstance(problem, torch.cuda.OutOfMemoryError | MemoryError)
