"""Windows of a packed stream: which come when, and how they are cut.

The order of a round over the text, and where its windows begin, come from (seed, length, round) alone, so any step can be
looked up without the ones before it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.pretrain.mask import Pieces


class Order:
    """Where the windows of each step begin; a round takes all windows once, shifted a little from the last round's."""

    def __init__(
        self, pieces: int, length: int, rows: int, seed: int, file: Path | None = None
    ) -> None:
        self.span, self.rows, self.seed = length - 2, rows, seed
        if pieces < self.span:
            what = f"holds {pieces:,} pieces, a window takes {self.span}"
            raise BadInput(what, file=file, cure="give more text")
        self.each = max(1, pieces // self.span - 1)
        self._slack = pieces - self.each * self.span
        self._last: tuple[int, np.ndarray] | None = None

    def starts(self, first: int, steps: int) -> np.ndarray:
        """The beginnings of the windows of steps `first` to `first + steps`, a row a step."""
        places = np.arange(first * self.rows, (first + steps) * self.rows)
        rounds = places // self.each
        found = np.empty(len(places), dtype=np.int64)
        for number in range(int(rounds[0]), int(rounds[-1]) + 1):
            mine = rounds == number
            found[mine] = self._round(number)[places[mine] % self.each]
        return found.reshape(steps, self.rows)

    def _round(self, number: int) -> np.ndarray:
        if self._last is None or self._last[0] != number:
            draw = np.random.default_rng([self.seed, self.span, number])
            shift = int(draw.integers(min(self.span, self._slack + 1)))
            self._last = (number, draw.permutation(self.each) * self.span + shift)
        return self._last[1]


def cut(stream: Any, starts: Any, length: int, pieces: Pieces) -> tuple[Any, Any]:
    """Windows [CLS] … [SEP] of the stream, and where words begin in them."""
    import torch
    from torch.nn.functional import pad

    inside = torch.arange(length - 2, device=starts.device)
    found = stream[starts[:, None] + inside].long()
    ids = pad(pad(found >> 1, (1, 0), value=pieces.cls), (0, 1), value=pieces.sep)
    return ids, pad((found & 1).bool(), (1, 1), value=True)
