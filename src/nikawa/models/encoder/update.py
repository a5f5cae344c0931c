"""One step of AdamW with clipping and a rate that rises and falls, kept on the device.

With bf16 the model computes in bf16 and float32 masters take the updates. Nothing here waits for the device, so a
step can be captured in a graph.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from nikawa.models.encoder.settings import EncoderSettings


def rates(settings: EncoderSettings, steps: int) -> list[float]:
    """The learning rate of each step: a straight rise over the warm-up, then a straight fall to zero.

    The warm-up is rounded up, as transformers' trainer does.
    """
    warm = ceil(steps * settings.warmup)
    return [
        settings.learning_rate
        * (step / max(1, warm) if step < warm else max(0.0, (steps - step) / max(1, steps - warm)))
        for step in range(steps)
    ]


def decays(name: str, parameter: Any) -> bool:
    """Biases and the scales of normalisation layers are not drawn to zero."""
    return bool(parameter.ndim > 1) or not (name.endswith("bias") or "norm" in name.lower())


class Update:
    """The optimiser over the parameters that have a gradient; `apply` is one step."""

    def __init__(self, model: Any, settings: EncoderSettings, steps: int, low: bool) -> None:
        import torch

        named = [
            (name, p)
            for name, p in model.named_parameters()
            if p.requires_grad and p.grad is not None
        ]
        self.names = [name for name, _ in named]
        self.live = [p for _, p in named]
        self.low, self.clip = low, settings.clip
        self.masters = [p.detach().float().clone() for p in self.live] if low else self.live
        device = self.live[0].device
        self._on_card = device.type == "cuda"
        self.rates = torch.tensor([*rates(settings, steps), 0.0], device=device)
        self.at = torch.zeros(1, dtype=torch.long, device=device)
        self.rate = torch.zeros((), device=device)
        self.optimiser = torch.optim.AdamW(
            self._groups(settings.weight_decay),
            lr=self.rate if self._on_card else 0.0,
            fused=self._on_card or device.type == "cpu",
            capturable=self._on_card,
        )
        if low:
            for master in self.masters:
                master.grad = torch.zeros_like(master)

    def _groups(self, decay: float) -> list[dict[str, Any]]:
        pairs = list(zip(self.names, self.masters, strict=True))
        drawn = [p for name, p in pairs if decays(name, p)]
        free = [p for name, p in pairs if not decays(name, p)]
        return [{"params": drawn, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]

    def apply(self) -> None:
        """Clip, set the rate, step, and hand the masters back to the model."""
        import torch

        if self.low:
            torch._foreach_copy_([m.grad for m in self.masters], [p.grad for p in self.live])
        self._clip([m.grad for m in self.masters])
        if self._on_card:
            self.rate.copy_(self.rates.index_select(0, self.at.clamp(max=len(self.rates) - 1))[0])
        else:
            for group in self.optimiser.param_groups:
                group["lr"] = float(self.rates[self.at.clamp(max=len(self.rates) - 1)])
        self.optimiser.step()
        self.at += 1
        if self.low:
            with torch.no_grad():
                torch._foreach_copy_(self.live, self.masters)

    def _clip(self, gradients: list[Any]) -> None:
        import torch

        if self.clip <= 0:
            return
        total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        if not self._on_card and float(total) + 1e-6 <= self.clip:
            return  # a card must not be waited for; here a pass over all gradients is saved
        torch._foreach_mul_(gradients, torch.clamp(self.clip / (total + 1e-6), max=1.0))

    def state(self) -> dict[str, Any]:
        """Everything that must come back for the next step to be the same."""
        found: dict[str, Any] = {"at": self.at}
        for name, master in zip(self.names, self.masters, strict=True):
            found[f"weight/{name}"] = master.detach()
            for key, value in self.optimiser.state.get(master, {}).items():
                found[f"{key}/{name}"] = value
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a state back in place, so that captured graphs see it."""
        import torch

        with torch.no_grad():
            self.at.copy_(state["at"])
            for name, master, live in zip(self.names, self.masters, self.live, strict=True):
                master.copy_(state[f"weight/{name}"])
                live.copy_(master)
                own = self.optimiser.state[master]
                for key in ("step", "exp_avg", "exp_avg_sq"):
                    value = state.get(f"{key}/{name}")
                    if value is not None and key in own:
                        own[key].copy_(value)
                    elif value is not None:
                        own[key] = value.clone().to(
                            master.device if key != "step" or self._on_card else "cpu"
                        )

    def forget(self) -> None:
        """Back to the first step, with the weights as they are."""
        self.at.zero_()
        for own in self.optimiser.state.values():
            for value in own.values():
                value.zero_()
