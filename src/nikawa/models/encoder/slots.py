"""What a dialogue says of every slot: each slot looks at the turns with a query of its own.

`c_s = sum_t softmax_t(q_s K h_t / sqrt(d)) h_t`; a linear layer over `c_s` tells the gate (no value, any value will do, one of the
ontology's), and its product with a vector for each value of the slot tells which.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from nikawa.models.encoder.own import OwnModel

OUT = -1e9
GATES = ("none", "dontcare", "value")


class SlotModel(OwnModel):
    """An encoder with a gate and a value a slot; `known["slots"]`: the values of every slot."""

    kind: ClassVar[str] = "dialogue"

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        nn, size, slots = torch.nn, self.hidden, known["slots"]
        counts = [len(values) for values in slots.values()]
        self.queries = nn.Parameter(torch.randn(len(slots), size) * 0.02)
        self.keys = nn.Linear(size, size)
        self.mix = nn.Sequential(nn.Linear(2 * size, size), nn.GELU(), nn.LayerNorm(size))
        self.gate = nn.Linear(size, len(GATES))
        self.values = nn.Linear(size, max(1, sum(counts)))
        owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        others = owner[None, :] != torch.arange(len(counts))[:, None]
        self.register_buffer(
            "others",
            others if sum(counts) else torch.ones(len(counts), 1, dtype=torch.bool),
            persistent=False,
        )

    def forward(self, inputs: dict[str, Any]) -> tuple[Any, Any]:
        """Scores of the gates and of the values (all slots' values, others' ruled out) of every slot."""
        hidden = self.encoder(**inputs).last_hidden_state
        scores = (
            torch.einsum("sh,bth->bst", self.queries, self.keys(hidden)).float()
            / hidden.shape[-1] ** 0.5
        )
        scores = scores.masked_fill(inputs["attention_mask"][:, None] == 0, OUT)
        seen = scores.softmax(-1).to(hidden.dtype) @ hidden
        queries = self.queries.to(seen.dtype).expand(seen.shape[0], -1, -1)
        mixed = self.mix(torch.cat([seen, queries], dim=-1))
        return self.gate(mixed), self.values(mixed).float().masked_fill(self.others, OUT)
