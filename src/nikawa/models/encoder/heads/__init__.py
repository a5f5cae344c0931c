"""One file per head: how a kind of task becomes rows, what is learned, and how the answer is read
back.

Rows are made once for all runs of a process that need the same: a grid and its seeds read a text
once.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.heads._base import Head, Work
from nikawa.records import Example, Kind, Task
from nikawa.registry import scan

__all__ = ["Head", "head_for", "kinds", "make_rows"]

DEFAULT_HEADS = ("choice", "dialogue", "relation", "sequence", "span", "tagging", "tree")
"""The heads that kinds have unless the settings name another."""
MAX_CACHED_ROWS = 8
"""Sets of rows that are kept: train, dev and test of two tasks, and some more."""
ROW_SETTINGS = ("max_length", "doc_stride", "segmentation", "normalise", "markers")
"""The settings that rows depend on."""

row_cache: OrderedDict[str, Rows] = OrderedDict()


@cache
def _heads() -> dict[str, Head]:
    """Each head by its file's name, with hyphens; the default ones first."""
    heads = {}
    for module in scan(sys.modules[__name__]):
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        heads[name] = module.HEAD
    return dict(sorted(heads.items(), key=lambda item: (item[0] not in DEFAULT_HEADS, item[0])))


def kinds() -> tuple[Kind, ...]:
    """The kinds of task that have a head."""
    return tuple(dict.fromkeys(kind for head in _heads().values() for kind in head.kinds))


def head_for(task: Task, name: str = "auto") -> Head:
    """The default head of a task's kind, or the one of this name.

    Raises BadInput if it does not answer the kind.
    """
    if name not in {"auto", *_heads()}:
        raise unknown("head", name, _heads())
    able = {own: head for own, head in _heads().items() if task.kind in head.kinds}
    if name != "auto" and name not in able:
        raise BadInput(
            f"the head {name} does not answer {task.kind} tasks",
            cure=f"use one of: {', '.join(able)}",
        )
    if not able:
        raise BadInput(
            f"no head answers {task.kind} tasks", cure=f"supported kinds: {', '.join(kinds())}"
        )
    return next(iter(able.values())) if name == "auto" else able[name]


def make_rows(head: Head, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
    """The head's rows of some examples, made once; they must not be changed."""
    key = _digest_row_inputs(head, work, examples, learn)
    reader = work.reader
    before = reader.lost.copy()
    if key not in row_cache:
        row_cache[key] = head.rows(work, examples, learn)
        row_cache[key].lost = reader.lost - before
    row_cache.move_to_end(key)
    # A reader that did not make the rows must report the same losses, and each set of rows counts once.
    reader.lost = before if key in reader.counted else before + row_cache[key].lost
    reader.counted.add(key)
    while len(row_cache) > MAX_CACHED_ROWS:
        row_cache.popitem(last=False)
    return row_cache[key]


def _digest_row_inputs(head: Head, work: Work, examples: Sequence[Example], learn: bool) -> str:
    """A digest of everything that rows depend on."""
    encode: Callable[[Any], bytes] = msgspec.json.Encoder(order="deterministic").encode
    digest = blake2b(digest_size=16)
    settings = {name: getattr(work.settings, name) for name in ROW_SETTINGS}
    name = f"{type(head).__module__}.{type(head).__qualname__}"
    digest.update(
        encode([name, work.reader.digest, work.task, work.classes, work.known, settings, learn])
    )
    for example in examples:
        gold = example.gold.get(work.task.question) if learn else None
        try:
            digest.update(encode([example.id, example.inputs, gold]))
        except UnicodeEncodeError:
            what = f"example {example.id!r} contains half a character (a lone surrogate)"
            raise BadInput(what, cure="read its file as UTF-8") from None
    return digest.hexdigest()
