"""How well held-out text is predicted: the same windows and the same masks at every look."""

from __future__ import annotations

from typing import Any

import numpy as np

from nikawa.pretrain.mask import Pieces, masked
from nikawa.pretrain.network import Network
from nikawa.pretrain.pack import Packed, joined
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.windows import Order, cut

LEAST, MOST, MOST_SLOW = 126, 1 << 18, 1 << 14
"""Pieces from which on a loss says something, and that are looked at: on a card, and on a processor."""
SEED = 20_190_524
"""Of the masks, whatever the seed of the training: two trainings are compared on the same ones."""


class Watch:
    """Held-out text on the device."""

    def __init__(
        self, packed: Packed, network: Network, pieces: Pieces, settings: TrainSettings
    ) -> None:
        import torch

        self.packed, self.pieces, self.settings = packed, pieces, settings
        self.network = Network(
            network.model, network.low
        )  # not fused: compiling for a few looks does not pay
        device = next(network.model.parameters()).device
        self.most = min(packed.pieces, MOST if device.type == "cuda" else MOST_SLOW)
        """Pieces that are looked at."""
        stream = joined(packed.ids()[: self.most], packed.begins()[: self.most])
        self.stream = torch.from_numpy(stream).to(device)

    def look(self, length: int) -> tuple[float, float]:
        """The mean loss of masked pieces, and the share of them that is predicted right."""
        import torch

        length = min(length, len(self.stream) + 2)  # a short text is read in one window
        order = Order(len(self.stream), length, 1, 0, self.packed.folder)
        starts = torch.arange(order.each, device=self.stream.device) * order.span
        sums = torch.zeros(3, dtype=torch.float64, device=self.stream.device)
        with torch.no_grad():
            for number, part in enumerate(
                starts.split(max(1, min(256, self.settings.batch // length)))
            ):
                sums += self._part(part, length, number)
        loss, right, count = sums.tolist()
        return loss / max(1.0, count), right / max(1.0, count)

    def _part(self, starts: Any, length: int, number: int) -> Any:
        import torch

        step = torch.tensor(number, device=starts.device)
        batch = masked(
            *cut(self.stream, starts, length, self.pieces),
            step,
            (SEED, self.settings.mask),
            self.pieces,
        )
        each, logits = self.network.predict(self.network.states(batch.ids), batch.at, batch.gold)
        right = (logits.argmax(dim=-1) == batch.gold) * batch.weight
        return torch.stack(((each * batch.weight).sum(), right.sum(), batch.weight.sum())).double()


def unigram(train: Packed, heldout: Packed, most: int = MOST) -> float:
    """The loss of a model that knows only how frequent each piece is, by the same pieces: what context must beat."""
    counts = np.bincount(train.ids(), minlength=train.meta.vocabulary).astype(np.float64) + 1
    counts[train.meta.special["sep"]] = 0
    seen = heldout.ids()[:most]
    seen = seen[seen != heldout.meta.special["sep"]]
    return float(-np.log(counts[seen] / counts.sum()).mean()) if len(seen) else 0.0
