"""Rows that several runs of one process share: a grid and its seeds read a text once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.encoder.heads._base import Head, Work
from nikawa.models.encoder.store import Rows
from nikawa.records import Example

KEPT = 8
"""Sets of rows that are kept: train, dev and test of two tasks, and some more."""
MATTERS = ("max_length", "doc_stride", "segmentation", "markers")
"""The settings that rows depend on."""

_rows: OrderedDict[str, Rows] = OrderedDict()


def rows_of(head: Head, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
    """The head's rows of some examples, made once; they are not to be changed."""
    key, reader = _key(head, work, examples, learn), work.reader
    before = reader.lost.copy()
    if key not in _rows:
        _rows[key] = head.rows(work, examples, learn)
        _rows[key].lost = reader.lost - before
    _rows.move_to_end(key)
    # a reader that did not make the rows must tell the same of them, and each row set counts once
    reader.lost = before if key in reader.counted else before + _rows[key].lost
    reader.counted.add(key)
    while len(_rows) > KEPT:
        _rows.popitem(last=False)
    return _rows[key]


def forget() -> None:
    """Drop what is kept."""
    _rows.clear()


def _key(head: Head, work: Work, examples: Sequence[Example], learn: bool) -> str:
    encode: Callable[[Any], bytes] = msgspec.json.Encoder(order="deterministic").encode
    digest = blake2b(digest_size=16)
    settings = {name: getattr(work.settings, name) for name in MATTERS}
    name = f"{type(head).__module__}.{type(head).__qualname__}"
    digest.update(
        encode([name, work.reader.digest, work.task, work.classes, work.known, settings, learn])
    )
    for example in examples:
        gold = example.gold.get(work.task.question) if learn else None
        try:
            digest.update(encode([example.id, example.inputs, gold]))
        except UnicodeEncodeError:
            what = f"example {example.id!r} holds half a character (a lone surrogate)"
            raise BadInput(what, cure="read its file as UTF-8") from None
    return digest.hexdigest()
