"""Relations from the states of the entity markers (Baldini Soares et al. 2019): `W tanh(V [h_subject; h_object])`.

`h` is the encoder's state at the marker that opens an entity; the first position stands in for an entity that is not shown.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from nikawa.models.encoder.own import OwnModel


class MarkerModel(OwnModel):
    """An encoder with a layer over two of its states; `known`: the labels."""

    kind: ClassVar[str] = "relation"

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        nn = torch.nn
        self.dropout = nn.Dropout(float(getattr(encoder.config, "hidden_dropout_prob", 0.1) or 0.0))
        self.dense = nn.Linear(2 * self.hidden, self.hidden)
        self.out = nn.Linear(self.hidden, len(known["labels"]))

    def forward(self, opens: Any, inputs: dict[str, Any]) -> Any:
        """A score a relation; `opens`: the places of the two opening markers."""
        hidden = self.encoder(**inputs).last_hidden_state
        places = opens.clamp(min=0)[..., None].expand(-1, -1, hidden.shape[-1])
        states = hidden.gather(1, places).flatten(1)
        return self.out(self.dropout(torch.tanh(self.dense(self.dropout(states)))))
