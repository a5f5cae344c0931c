"""Rows that several runs of one process share: a grid and its seeds read a text once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from nikawa.models._encoder.heads._base import Head, Work
from nikawa.models._encoder.store import Rows
from nikawa.records import Example

KEPT = 8
"""Sets of rows that are kept: train, dev and test of two tasks, and some more."""
MATTERS = ("max_length", "doc_stride", "segmentation", "markers")
"""The settings that rows depend on."""

_rows: OrderedDict[str, Rows] = OrderedDict()


def rows_of(head: Head, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
    """The head's rows of some examples, made once; they are not to be changed."""
    key = _key(work, examples, learn)
    if key not in _rows:
        _rows[key] = head.rows(work, examples, learn)
    _rows.move_to_end(key)
    while len(_rows) > KEPT:
        _rows.popitem(last=False)
    return _rows[key]


def forget() -> None:
    """Drop what is kept."""
    _rows.clear()


def _key(work: Work, examples: Sequence[Example], learn: bool) -> str:
    encode: Callable[[Any], bytes] = msgspec.json.Encoder(order="deterministic").encode
    digest = blake2b(digest_size=16)
    settings = {name: getattr(work.settings, name) for name in MATTERS}
    digest.update(encode([work.reader.digest, work.task, work.classes, work.known, settings, learn]))
    for example in examples:
        gold = example.gold.get(work.task.question) if learn else None
        digest.update(encode([example.id, example.inputs, gold]))
    return digest.hexdigest()
