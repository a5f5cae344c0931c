"""Scores of dependency arcs and their labels (Dozat & Manning 2017) over the first and last sub-word of each word.

A word is the vectors of its two sub-words and the embeddings of its first and last part-of-speech tag; the root is a vector of
its own. `arc[i, j] = d_i U h_j + u h_j` tells how well word i hangs on j, `label[i, j, l] = d_i U_l h_j + V_l [d_i; h_j] + b_l`
under which label.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from nikawa.models.encoder.own import OwnModel

ARC, LABEL, TAG = 256, 128, 64
"""Sizes of the vectors arcs and labels are scored from, and of a tag's embedding."""
OUT = -1e9


class TreeModel(OwnModel):
    """An encoder with biaffine scores; `known`: part-of-speech tags and labels."""

    kind: ClassVar[str] = "tree"

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        nn, size = torch.nn, 2 * self.hidden + 2 * TAG
        self.tags = nn.Embedding(len(known["tags"]) + 1, TAG)
        self.root = nn.Parameter(torch.randn(size) * 0.02)
        self.dropout = nn.Dropout(float(getattr(encoder.config, "hidden_dropout_prob", 0.1) or 0.0))
        self.parts = nn.ModuleDict(
            {
                name: _layer(size, to)
                for name, to in (
                    ("arc_word", ARC),
                    ("arc_head", ARC),
                    ("label_word", LABEL),
                    ("label_head", LABEL),
                )
            }
        )
        n = len(known["labels"])
        self.arc = nn.Parameter(torch.empty(ARC + 1, ARC))
        self.label = nn.Parameter(torch.empty(n, LABEL, LABEL))
        self.sides = nn.Linear(2 * LABEL, n)
        nn.init.xavier_uniform_(self.arc)
        nn.init.xavier_uniform_(self.label)

    def vectors(self, batch: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """The four vectors of every word, the root first for heads."""
        hidden = self.encoder(**inputs).last_hidden_state
        size = hidden.shape[-1]
        ends = [
            hidden.gather(1, batch[name].clamp(min=0)[..., None].expand(-1, -1, size))
            for name in ("first", "last")
        ]
        tags = [self.tags(batch[name].clamp(min=0)) for name in ("first_tag", "last_tag")]
        words = torch.cat([*ends, *tags], dim=-1)
        heads = torch.cat([self.root.expand(words.shape[0], 1, -1), words], dim=1)
        words, heads = self.dropout(words), self.dropout(heads)
        return {
            name: self.dropout(part(heads if name.endswith("head") else words))
            for name, part in self.parts.items()
        }

    def arcs(self, found: dict[str, Any], batch: dict[str, Any]) -> Any:
        """A score for every word and head; a word cannot be its own head, nor hang on one that is not there."""
        words = found["arc_word"]
        ones = torch.cat([words, torch.ones_like(words[..., :1])], dim=-1)
        scores = (ones @ self.arc @ found["arc_head"].transpose(1, 2)).float()
        there = torch.nn.functional.pad(batch["first"] > -100, (1, 0), value=True)
        n = words.shape[1]
        own = torch.eye(n, dtype=torch.bool, device=words.device)
        barred = ~there[:, None, :] | torch.nn.functional.pad(own, (1, 0))[None]
        return scores.masked_fill(barred, OUT)

    def labels_at(self, found: dict[str, Any], heads: Any) -> Any:
        """The scores of the labels of every word under the head given."""
        words = found["label_word"]
        place = heads.clamp(min=0)[..., None].expand(-1, -1, LABEL)
        chosen = found["label_head"].gather(1, place)
        crossed = torch.einsum("bid,lde,bie->bil", words, self.label, chosen)
        return crossed + self.sides(torch.cat([words, chosen], dim=-1))

    def best_labels(self, found: dict[str, Any]) -> Any:
        """The best label of every word under every head."""
        words, heads = found["label_word"], found["label_head"]
        crossed = torch.einsum("bid,lde,bje->bijl", words, self.label, heads)
        left, right = self.sides.weight[:, :LABEL], self.sides.weight[:, LABEL:]
        both = (words @ left.T)[:, :, None] + (heads @ right.T)[:, None] + self.sides.bias
        return (crossed + both).argmax(-1)


def _layer(size: int, to: int) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(size, to), torch.nn.LeakyReLU(0.1))
