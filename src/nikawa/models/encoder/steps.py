"""How one batch is learned: plainly, or as a captured graph a length that the card replays without the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.store import Batch, Store
from nikawa.models.encoder.update import Update

Loss = Callable[[Any, dict[str, Any]], Any]
"""The mean loss of a model on a batch, over the rows that count."""
WARM = 3
"""Steps run before the first graph is captured, as capturing asks for; one before each further, for its own kernels."""


class Steps(Protocol):
    """Learns batches one after the other."""

    update: Update

    def begin(self, batches: Sequence[Batch]) -> None:
        """Take the batches of an epoch."""
        ...

    def step(self, number: int) -> None:
        """Learn the batch of this number."""
        ...

    def rests(self, number: int) -> bool:
        """Whether nothing is half done after the batch of this number."""
        ...

    def loss(self) -> float:
        """The mean loss since it was last asked; waits for the device."""
        ...


class Plain:
    """One batch after the other, as any training loop does it."""

    def __init__(
        self, model: Any, store: Store, loss: Loss, settings: EncoderSettings, total: int, low: bool
    ) -> None:
        import torch

        self._model, self._store, self._loss, self._every = model, store, loss, settings.accumulate
        self._batches: Sequence[Batch] = ()
        self._sum = torch.zeros((), device=store.device)
        self._count = 0
        _touch(model, store, loss)
        self.update = Update(model, settings, total, low)
        model.zero_grad(set_to_none=True)

    def begin(self, batches: Sequence[Batch]) -> None:
        """Take the batches of an epoch."""
        self._batches = batches

    def skip(self, number: int) -> None:
        """Begin later in the epoch: batches are named by their number, so there is nothing to do."""

    def step(self, number: int) -> None:
        """Forward, backward, and an update once enough batches are gathered."""
        import torch

        batch = self._batches[number]
        rows = torch.tensor(batch.rows, device=self._store.device)
        loss = self._loss(self._model, self._store.gather(rows, batch.length))
        last = len(self._batches) - number // self._every * self._every
        (loss / min(self._every, last) if self._every > 1 else loss).backward()
        self._sum += loss.detach()
        self._count += 1
        if self.rests(number):
            self.update.apply()
            self._model.zero_grad(set_to_none=not self.update.low)

    def rests(self, number: int) -> bool:
        """Whether nothing is half done after this batch."""
        return (number + 1) % self._every == 0 or number + 1 == len(self._batches)

    def loss(self) -> float:
        """The mean loss since it was last asked."""
        value = float(self._sum) / max(1, self._count)
        self._sum.zero_()
        self._count = 0
        return value


class Graphs:
    """A captured graph for each length: gather, forward, backward, clip, update. The host only says which comes next."""

    def __init__(
        self, model: Any, store: Store, loss: Loss, settings: EncoderSettings, total: int, low: bool
    ) -> None:
        import torch

        self._model, self._store, self._loss = model, store, loss
        self._size, self._seen = settings.batch, 0
        self._stream = torch.cuda.Stream()
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[int, Any] = {}
        self._order = torch.zeros((0, settings.batch), dtype=torch.long, device=store.device)
        self._cursor = torch.zeros(1, dtype=torch.long, device=store.device)
        self._sum = torch.zeros((), device=store.device)
        self._batches: Sequence[Batch] = ()
        _touch(model, store, loss)
        self.update = Update(model, settings, total, low)

    def prepare(self, lengths: set[int]) -> None:
        """Capture a graph for each of the lengths; the state stays as it was."""
        state = {name: value.clone() for name, value in self.update.state().items()}
        fresh = not any(name.startswith("exp_avg") for name in state)
        self._order.fill_(self._store.n)
        for length in sorted(lengths, reverse=True):
            self._graphs[length] = self._capture(length)
        self.update.restore(state)
        if fresh:
            self.update.forget()
        self._cursor.zero_()
        self._sum.zero_()

    def _capture(self, length: int) -> Any:
        import torch

        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for _ in range(1 if self._graphs else WARM):
                self._cursor.zero_()
                self._work(length)
        torch.cuda.current_stream().wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        self._model.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, pool=self._pool):
            self._work(length)
        return graph

    def _work(self, length: int) -> None:
        rows = self._order.index_select(0, self._cursor)[0]
        self._model.zero_grad(set_to_none=True)
        loss = self._loss(self._model, self._store.gather(rows, length))
        loss.backward()
        self.update.apply()
        self._sum += loss.detach()
        self._cursor += 1

    def begin(self, batches: Sequence[Batch]) -> None:
        """Lay the order of an epoch on the device."""
        import torch

        if len(batches) > len(self._order):  # graphs read the place they were captured with
            self._graphs.clear()
            self._order = torch.zeros(
                (len(batches), self._size), dtype=torch.long, device=self._store.device
            )
        if missing := {batch.length for batch in batches} - set(self._graphs):
            self.prepare(missing)
        self._batches = batches
        order = torch.tensor([batch.rows for batch in batches])
        self._order[: len(batches)].copy_(order, non_blocking=True)
        self._cursor.zero_()

    def step(self, number: int) -> None:
        """Replay; the graph itself knows which rows come next."""
        self._graphs[self._batches[number].length].replay()
        self._seen += 1

    def rests(self, number: int) -> bool:
        """Always: every batch is a step."""
        return True

    def skip(self, number: int) -> None:
        """Go on at this batch of the epoch."""
        self._cursor.fill_(number)

    def loss(self) -> float:
        """The mean loss since it was last asked; waits for the card."""
        value = float(self._sum) / max(1, self._seen)
        self._sum.zero_()
        self._seen = 0
        return value


def _touch(model: Any, store: Store, loss: Loss) -> None:
    """One backward pass, to see which parameters take part (a pooler that a head ignores does not).

    The random numbers of dropout stay as they were.
    """
    import torch

    model.zero_grad(set_to_none=True)
    rows = torch.zeros(1, dtype=torch.long, device=store.device)
    length = int(store.row_lengths()[0])
    with torch.random.fork_rng([store.device] if store.device.type == "cuda" else []):
        loss(model, store.gather(rows, length)).backward()
