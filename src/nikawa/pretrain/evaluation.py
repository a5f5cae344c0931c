"""How well held-out text is predicted: the same windows and the same masks at every evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from nikawa.pretrain.batches import MaskVocabulary, WindowOrder, draw_batch
from nikawa.pretrain.network import Network
from nikawa.pretrain.packing import Pack, join_stream
from nikawa.pretrain.settings import TrainSettings

MIN_TOKENS = 126
"""Tokens of held-out text from which on a loss is meaningful."""
MAX_TOKENS_ON_GPU, MAX_TOKENS_ON_CPU = 1 << 18, 1 << 14
"""Tokens that an evaluation reads."""
MAX_WINDOWS_AT_A_TIME = 256
MASK_SEED = 20_190_524
"""Of the masks, whatever the seed of the training: two trainings are compared on the same ones."""


class HeldoutEvaluator:
    """Held-out text on the device."""

    def __init__(
        self, pack: Pack, network: Network, vocabulary: MaskVocabulary, settings: TrainSettings
    ) -> None:
        import torch

        self.pack, self.vocabulary, self.settings = pack, vocabulary, settings
        # not fused: compiling for a few evaluations does not pay
        self.network = type(network)(network.model, network.low)
        device = next(network.model.parameters()).device
        on_gpu = device.type == "cuda"
        self.tokens = min(pack.tokens, MAX_TOKENS_ON_GPU if on_gpu else MAX_TOKENS_ON_CPU)
        """Tokens that an evaluation reads."""
        stream = join_stream(pack.ids()[: self.tokens], pack.begins()[: self.tokens])
        self.stream = torch.from_numpy(stream).to(device)

    def evaluate(self, length: int) -> tuple[float, float]:
        """The mean loss of predicted tokens, and the share of them that is predicted right."""
        import torch

        length = min(length, len(self.stream) + 2)  # a short text is read in one window
        order = WindowOrder(len(self.stream), length, 1, 0, self.pack.folder)
        starts = torch.arange(order.windows, device=self.stream.device) * order.span
        sums = torch.zeros(3, dtype=torch.float64, device=self.stream.device)
        rows = max(1, min(MAX_WINDOWS_AT_A_TIME, self.settings.batch // length))
        with torch.no_grad():
            for number, part in enumerate(starts.split(rows)):
                sums += self._evaluate_windows(part, length, number)
        loss, right, count = sums.tolist()
        return loss / max(1.0, count), right / max(1.0, count)

    def _evaluate_windows(self, starts: Any, length: int, number: int) -> Any:
        """Sums of the losses, of the right predictions and of all predictions."""
        import torch

        step = torch.tensor(number, device=starts.device)
        batch = draw_batch(
            self.stream, starts, length, step, self.vocabulary, self.settings, MASK_SEED
        )
        states = self.network.states(batch.ids)
        losses, logits = self.network.predict(states, batch.at, batch.gold)
        right = (logits.argmax(dim=-1) == batch.gold) * batch.weight
        sums = ((losses * batch.weight).sum(), right.sum(), batch.weight.sum())
        return torch.stack(sums).double()


def unigram_loss(train: Pack, heldout: Pack, max_tokens: int = MAX_TOKENS_ON_GPU) -> float:
    """The loss of a model that knows only how frequent each token is, by the same tokens: what
    context must beat.
    """
    frequencies = np.bincount(train.ids(), minlength=train.meta.vocabulary)
    counts = frequencies.astype(np.float64) + 1
    counts[train.meta.special["sep"]] = 0
    tokens = heldout.ids()[:max_tokens]
    tokens = tokens[tokens != heldout.meta.special["sep"]]
    if not len(tokens):
        return 0.0
    shares = counts[tokens] / counts.sum()
    return float(-np.log(shares).mean())
