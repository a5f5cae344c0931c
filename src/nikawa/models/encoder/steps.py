"""One training step: plain, or as a captured CUDA graph for each shape of a batch; and the
optimiser, AdamW.

With bf16 the model computes in bf16 and float32 master weights take the updates. Nothing in a step
of the optimiser waits for the device, so that it can be captured in a graph. On a GPU with Triton
the step in bf16 is that of `kernels.FusedAdamW`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any

from nikawa.models.encoder.batches import Batch, RowStore
from nikawa.models.encoder.settings import EncoderSettings

if TYPE_CHECKING:
    from nikawa.models.encoder.packed import PackedEncoder

Loss = Callable[[Any, dict[str, Any]], Any]
"""The mean loss of a model on a batch, over the rows that count."""
WARM_UP_STEPS = 3
"""Steps run before the first graph is captured, as capturing requires; one before each further, for
its own kernels."""


class Steps(ABC):
    """Learns batches one after the other."""

    def __init__(
        self,
        model: Any,
        store: RowStore,
        loss: Loss,
        settings: EncoderSettings,
        updates: int,
        bf16: bool,
        packed: PackedEncoder | None = None,
    ) -> None:
        """`updates` is the number of steps that the optimiser will make.

        `packed` is the packed way of the encoder, for batches that are to be packed.
        """
        import torch

        self._packed = packed
        self._model = model
        self._store = store
        self._loss = loss
        self._settings = settings
        self._batches: Sequence[Batch] = ()
        self._loss_sum = torch.zeros((), device=store.device)
        self._loss_count = 0
        # One backward pass shows which parameters take part (a pooler that a head ignores does not);
        # the random numbers of dropout stay as they were.
        model.zero_grad(set_to_none=True)
        first_row = torch.zeros(1, dtype=torch.long, device=store.device)
        batch = store.gather(first_row, int(store.row_lengths()[0]))
        with torch.random.fork_rng([store.device] if store.device.type == "cuda" else []):
            loss(model, batch).backward()
        self.optimiser = Optimiser(model, settings, updates, bf16)
        model.zero_grad(set_to_none=True)
        self.set_up()

    def set_up(self) -> None:  # noqa: B027 - most need nothing
        """Set up what a subclass needs in addition."""

    @abstractmethod
    def start_epoch(self, batches: Sequence[Batch], first: int = 0) -> None:
        """Take the batches of an epoch; the first to be learned has the number `first`."""

    @abstractmethod
    def step(self, number: int) -> None:
        """Learn the batch of this number."""

    @abstractmethod
    def ends_update(self, number: int) -> bool:
        """Whether the batch of this number completes a step of the optimiser."""

    def compute_loss(self, rows: Any, batch: Batch) -> Any:
        """The loss on these rows, in the shape of a batch."""
        inputs = self._store.gather(rows, batch.length)
        if not batch.tokens or self._packed is None:
            return self._loss(self._model, inputs)
        with self._packed.use(batch.tokens):
            return self._loss(self._model, inputs)

    def mean_loss(self) -> float:
        """The mean loss since the last call; waits for the device."""
        value = float(self._loss_sum) / max(1, self._loss_count)
        self._loss_sum.zero_()
        self._loss_count = 0
        return value


class PlainSteps(Steps):
    """One batch after the other, as any training loop does it."""

    def start_epoch(self, batches: Sequence[Batch], first: int = 0) -> None:
        """Take the batches of an epoch."""
        self._batches = batches

    def step(self, number: int) -> None:
        """Forward, backward, and an update once enough batches are accumulated."""
        import torch

        batch = self._batches[number]
        rows = torch.tensor(batch.rows, device=self._store.device)
        loss = self.compute_loss(rows, batch)
        accumulate = self._settings.accumulate
        if accumulate > 1:
            left = len(self._batches) - number // accumulate * accumulate
            (loss / min(accumulate, left)).backward()
        else:
            loss.backward()
        self._loss_sum += loss.detach()
        self._loss_count += 1
        if self.ends_update(number):
            self.optimiser.apply()
            self._model.zero_grad(set_to_none=not self.optimiser.bf16)

    def ends_update(self, number: int) -> bool:
        """Whether enough batches are accumulated, or the epoch ends."""
        return (number + 1) % self._settings.accumulate == 0 or number + 1 == len(self._batches)


class GraphSteps(Steps):
    """A captured CUDA graph for each shape of a batch: gather, forward, backward, clip, update.

    The host only chooses the next graph; the graph itself knows its rows.
    """

    def set_up(self) -> None:
        """Make the stream and the memory that graphs are captured with."""
        import torch

        settings, store = self._settings, self._store
        self._stream = torch.cuda.Stream()
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[tuple[int, int], Any] = {}
        """By length and tokens."""
        self._order = torch.zeros((0, settings.batch), dtype=torch.long, device=store.device)
        self._cursor = torch.zeros(1, dtype=torch.long, device=store.device)

    def start_epoch(self, batches: Sequence[Batch], first: int = 0) -> None:
        """Copy the order of an epoch to the device, and capture the graphs that are missing."""
        import torch

        if len(batches) > len(self._order):  # graphs read the memory they were captured with
            self._graphs.clear()
            shape = (len(batches), self._settings.batch)
            self._order = torch.zeros(shape, dtype=torch.long, device=self._store.device)
        shapes = {(batch.length, batch.tokens): batch for batch in batches}
        if missing := {shape: shapes[shape] for shape in set(shapes) - set(self._graphs)}:
            self._capture_graphs(missing)
        self._batches = batches
        order = torch.tensor([batch.rows for batch in batches])
        self._order[: len(batches)].copy_(order, non_blocking=True)
        self._cursor.fill_(first)

    def _capture_graphs(self, shapes: Mapping[tuple[int, int], Batch]) -> None:
        """Capture a graph for each of the shapes; the state stays as it was."""
        import torch

        state = {name: value.clone() for name, value in self.optimiser.state().items()}
        is_fresh = not any(name.startswith("exp_avg") for name in state)  # torch makes them late
        loss_sum = self._loss_sum.clone()
        self._order.fill_(self._store.n)
        for shape, batch in sorted(shapes.items(), reverse=True):
            self._stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._stream):
                for _ in range(1 if self._graphs else WARM_UP_STEPS):
                    self._cursor.zero_()
                    self._learn_next(batch)
            torch.cuda.current_stream().wait_stream(self._stream)
            graph = torch.cuda.CUDAGraph()
            self._model.zero_grad(set_to_none=True)
            self.optimiser.prepare_capture()
            with torch.cuda.graph(graph, pool=self._pool):
                self._learn_next(batch)
            self.optimiser.finish_capture()
            self._graphs[shape] = graph
        self.optimiser.restore(state)
        if is_fresh:
            self.optimiser.reset()
        self._cursor.zero_()
        self._loss_sum.copy_(loss_sum)

    def _learn_next(self, batch: Batch) -> None:
        """What a graph does: learn the rows under the cursor, and move the cursor on."""
        rows = self._order.index_select(0, self._cursor)[0]
        self._model.zero_grad(set_to_none=True)
        loss = self.compute_loss(rows, batch)
        loss.backward()
        self.optimiser.apply()
        self._loss_sum += loss.detach()
        self._cursor += 1

    def step(self, number: int) -> None:
        """Replay the graph of the batch's shape."""
        batch = self._batches[number]
        self._graphs[batch.length, batch.tokens].replay()
        self._loss_count += 1

    def ends_update(self, number: int) -> bool:
        """Always: every batch is a step."""
        return True


def learning_rates(settings: EncoderSettings, steps: int) -> list[float]:
    """The learning rate of each step: a straight rise over the warm-up, then a straight fall to
    zero.

    The warm-up is rounded up, as transformers' trainer does.
    """
    warm_up = ceil(steps * settings.warmup)
    rates = []
    for step in range(steps):
        if step < warm_up:
            share = step / max(1, warm_up)
        else:
            share = max(0.0, (steps - step) / max(1, steps - warm_up))
        rates.append(settings.learning_rate * share)
    return rates


def has_weight_decay(name: str, parameter: Any) -> bool:
    """Whether weight decay applies: not to biases and the scales of normalisation layers."""
    return bool(parameter.ndim > 1) or not (name.endswith("bias") or "norm" in name.lower())


def has_kernels(device: Any) -> bool:
    """Whether the kernels of `kernels` can be used on the device: a GPU with bf16, and Triton."""
    import torch

    if device.type != "cuda" or find_spec("triton") is None or not torch.cuda.is_bf16_supported():
        return False
    from nikawa.models.encoder.kernels import run_here

    return run_here()


class Optimiser:
    """AdamW with clipping and a learning rate that rises and falls, over the parameters that have a
    gradient.

    `apply` is one step. State and rate are kept on the device.
    """

    def __init__(self, model: Any, settings: EncoderSettings, steps: int, bf16: bool) -> None:
        import torch

        parameters = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and parameter.grad is not None
        }
        self.names = list(parameters)
        self.live = list(parameters.values())
        """The model's own weights."""
        self.bf16, self.clip = bf16, settings.clip
        device = self.live[0].device
        self._on_gpu = device.type == "cuda"
        self.at = torch.zeros(1, dtype=torch.long, device=device)
        """Steps made."""
        rates = [*learning_rates(settings, steps), 0.0]
        decays = [
            settings.weight_decay if has_weight_decay(name, weights) else 0.0
            for name, weights in parameters.items()
        ]
        self._fused: Any = None
        self._adamw: Any = None
        self.masters: list[Any]
        """The weights that are updated: float32 copies with bf16, else the model's own."""
        if bf16 and has_kernels(device):
            from nikawa.models.encoder.kernels import FusedAdamW

            self._fused = FusedAdamW(self.live, decays, rates, self.at, self.clip)
            self.masters = self._fused.masters
            return
        self.masters = [p.detach().float().clone() for p in self.live] if bf16 else self.live
        self._rates = torch.tensor(rates, device=device)
        self._rate = torch.zeros((), device=device)
        groups: dict[float, list[Any]] = {settings.weight_decay: [], 0.0: []}
        for decay, master in zip(decays, self.masters, strict=True):
            groups[decay].append(master)
        self._adamw = torch.optim.AdamW(
            [{"params": masters, "weight_decay": decay} for decay, masters in groups.items()],
            lr=self._rate if self._on_gpu else 0.0,
            fused=self._on_gpu or device.type == "cpu",
            capturable=self._on_gpu,
        )
        if bf16:
            for master in self.masters:
                master.grad = torch.zeros_like(master)

    def apply(self) -> None:
        """Clip, set the rate, step, and copy the masters back to the model."""
        import torch

        if self._fused is not None:
            self._fused.step()
            return
        if self.bf16:
            torch._foreach_copy_([m.grad for m in self.masters], [p.grad for p in self.live])
        self._clip_gradients([m.grad for m in self.masters])
        at = self.at.clamp(max=len(self._rates) - 1)
        if self._on_gpu:
            self._rate.copy_(self._rates.index_select(0, at)[0])
        else:
            for group in self._adamw.param_groups:
                group["lr"] = float(self._rates[at])
        self._adamw.step()
        self.at += 1
        if self.bf16:
            with torch.no_grad():
                torch._foreach_copy_(self.live, self.masters)

    def _clip_gradients(self, gradients: list[Any]) -> None:
        import torch

        if self.clip <= 0:
            return
        total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        if not self._on_gpu and float(total) + 1e-6 <= self.clip:
            return  # saves a pass over all gradients; on a GPU asking would mean waiting for it
        torch._foreach_mul_(gradients, torch.clamp(self.clip / (total + 1e-6), max=1.0))

    def prepare_capture(self) -> None:
        """Call before a graph with one step is captured."""
        if self._fused is not None:
            self._fused.prepare_capture()

    def finish_capture(self) -> None:
        """Call after it was captured, before it is replayed."""
        if self._fused is not None:
            self._fused.finish_capture()

    def _moments(self, number: int) -> dict[str, Any]:
        """What the optimiser keeps for the parameter of this number; empty before torch's first
        step.
        """
        if self._fused is None:
            return dict(self._adamw.state.get(self.masters[number], {}))
        means, squares = self._fused.means[number], self._fused.squares[number]
        return {"step": self.at[0].float(), "exp_avg": means, "exp_avg_sq": squares}

    def state(self) -> dict[str, Any]:
        """Everything that must be restored for the next step to be the same."""
        state: dict[str, Any] = {"at": self.at}
        for number, (name, master) in enumerate(zip(self.names, self.masters, strict=True)):
            state[f"weight/{name}"] = master.detach()
            for key, value in self._moments(number).items():
                state[f"{key}/{name}"] = value
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a state back in place, so that captured graphs see it."""
        import torch

        with torch.no_grad():
            self.at.copy_(state["at"])
            for number, (name, master) in enumerate(zip(self.names, self.masters, strict=True)):
                master.copy_(state[f"weight/{name}"])
                self.live[number].copy_(master)
                moments = self._moments(number)
                for key in ("step", "exp_avg", "exp_avg_sq"):
                    value = state.get(f"{key}/{name}")
                    if value is not None and key in moments:
                        moments[key].copy_(value)
                    elif value is not None:
                        on_cpu = key == "step" and not self._on_gpu
                        self._adamw.state[master][key] = value.clone().to(
                            "cpu" if on_cpu else master.device
                        )

    def reset(self) -> None:
        """Back to the first step, with the weights as they are."""
        self.at.zero_()
        for number in range(len(self.masters)):
            for value in self._moments(number).values():
                value.zero_()
