"""Whether a tokenizer reads a task at all: unknown pieces, characters that vanish, pieces without a vector."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.encoder.heads._base import Work
from nikawa.models.encoder.store import Rows
from nikawa.records import Example, texts_inside

MOST_UNKNOWN, MOST_LOST = 0.8, 0.1
"""Unknown pieces, and characters without a piece, as shares of all pieces: more is refused."""
PROBED = 256
"""Texts that are held against their pieces where the head itself asks for no characters."""


def read_enough(work: Work, rows: Rows, examples: Sequence[Example], source: str) -> None:
    """A checkpoint of another language, or characters that vanish, must not pass for a poor model."""
    tokenizer, ids = work.reader.tokenizer, np.concatenate(rows.tokens["input_ids"])
    framing = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    read = ids[~np.isin(ids, sorted(framing))]
    unknown = (
        int((read == tokenizer.unk_token_id).sum()) if tokenizer.unk_token_id is not None else 0
    )
    if unknown > MOST_UNKNOWN * len(read):
        what = f"the tokenizer of {source} knows {1 - unknown / len(read):.0%} of the pieces of {work.task.name}"
        cure = "take a checkpoint of this language, and the segmentation it was trained on"
        raise BadInput(what, cure=cure)
    lost, pieces = (work.reader.lost, len(ids)) if rows.lost else _probed(work, examples)
    if lost.total() > pieces * MOST_LOST:
        worst = ", ".join(repr(c) for c, _ in lost.most_common(3))
        what = f"the tokenizer of {source} loses {lost.total():,} characters of {work.task.name}, such as {worst}"
        raise BadInput(
            what, cure="take a tokenizer that keeps them, or one that says where its pieces stand"
        )


def probed(work: Work, examples: Sequence[Example]) -> list[str]:
    """The first texts of some examples."""
    seen = (
        part
        for e in examples
        for name in work.task.inputs
        for part in texts_inside(e.inputs.get(name))
    )
    return list(islice(seen, PROBED))


def _probed(work: Work, examples: Sequence[Example]) -> tuple[Any, int]:
    """What the first texts lose, and how many pieces they have; only tokenizers that tell places can be asked."""
    reader = work.reader
    before = reader.lost.copy()
    if not getattr(reader.tokenizer, "is_fast", False):
        return before, 0
    found = reader.pieces(probed(work, examples))
    lost, reader.lost = reader.lost - before, before
    return lost, sum(len(pieces.ids) for pieces in found)


def has_vectors(model: Any, rows: Rows, source: str) -> None:
    """Refuse rows with a piece that the model has no vector for."""
    size = model.base_model.get_input_embeddings().num_embeddings
    most = max((int(part.max()) for part in rows.tokens["input_ids"] if len(part)), default=0)
    if most >= size:
        what = f"the tokenizer of {source} makes the piece {most}, the model has {size:,}"
        raise BadInput(what, cure="take the tokenizer the model was trained with")
