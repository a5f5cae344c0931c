"""Take a project's items into its store: those that are new, each file only when it changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.collect.assign import remember
from nikawa.collect.database import Link, found
from nikawa.collect.order import spot
from nikawa.collect.project import KINDS, Project, hashed
from nikawa.collect.records import WRITER
from nikawa.collect.store import Store
from nikawa.collect.workers import AUTHOR, add_worker, keep
from nikawa.collect.writers import WRITERS, read_writers, writer_of
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.records import Example

CHUNK = 20_000


def sync(project: Project, store: Store) -> dict[str, int]:
    """Add what the files gained since the last time, and follow the number of workers asked for; what was added."""
    added = {
        kind: _sync(project, store, kind, project.folder / name) for kind, name in KINDS.items()
    }
    _ask(project.settings.assign.workers_per_item, store)
    return added


def _ask(workers: int, store: Store) -> None:
    """Follow the number of workers an item, where it changed since the last time."""
    before = store.ask(lambda link: link.one("SELECT value FROM meta WHERE key = 'asked'"))
    if before is not None and before[0] == str(workers):
        return

    def change(link: Link) -> None:
        link.run("UPDATE items SET asked = ? WHERE asked <> ?", workers, workers)
        keep(link, "asked", str(workers))

    store.do(change)


def _sync(project: Project, store: Store, kind: str, path: Path) -> int:
    if not path.is_file():
        return 0
    facts = path.stat()
    stamp = f"{facts.st_size}:{facts.st_mtime_ns}"
    key = f"file {kind}"
    before = store.ask(lambda link: link.one("SELECT value FROM meta WHERE key = ?", key))
    if before is not None and before[0] == stamp:
        return 0
    added = store.do(lambda link: _load(link, project, kind, path))
    store.do(lambda link: keep(link, key, stamp))
    return added


def _load(link: Link, project: Project, kind: str, path: Path) -> int:
    known = {row[0] for row in link.rows("SELECT ref FROM items WHERE kind = ?", kind)}
    (start,) = found(link, "SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = ?", kind)
    (first,) = found(link, "SELECT coalesce(max(id), 0) + 1 FROM items")
    wrote: dict[str, list[int]] = {}
    rows = _rows(project, kind, path, known)
    total = 0
    while block := list(enumerate(islice(rows, CHUNK), start=total)):
        placed = [(first + n, start + n, kind, *row[:4]) for n, row in block]
        link.load("items", "id, position, kind, ref, grp, spot, asked", placed)
        link.load("texts", "item, body, gold", [(first + n, *row[4:6]) for n, row in block])
        for n, row in block:
            if row[6]:
                wrote.setdefault(row[6], []).append(first + n)
        total += len(block)
    if total:
        link.settle("items", "texts")
    if kind != "main":
        _correct(link, project, kind, path)
    _bar(link, project, wrote)
    if kind == "pilot" and total:  # who has not begun takes it too
        link.run(
            "UPDATE workers SET state = 'pilot' WHERE state = 'active' AND answered = 0 AND pilot = 0"
            " AND origin <> 'import'"
        )
    return total


def _rows(project: Project, kind: str, path: Path, known: set[str]) -> Iterator[tuple[Any, ...]]:
    if not path.stat().st_size:
        return
    seed, asked = project.settings.assign.seed, project.settings.assign.workers_per_item
    encode, writers = msgspec.json.Encoder().encode, read_writers(project.folder / WRITERS)
    for example in read_examples(path):
        if example.id in known:
            continue
        gold = _checked(project, kind, example, path)
        writer = writer_of(example, writers)
        meta = {WRITER: writer} if writer else {}
        body = encode(replace(example, gold={}, tags=frozenset(), meta=meta, origin=None)).decode()
        yield example.id, example.group, spot(seed, "item", example.id), asked, body, gold, writer


def _correct(link: Link, project: Project, kind: str, path: Path) -> None:
    """A control or pilot item that was corrected in its file is corrected: wrong gold would exclude good workers."""
    rows = link.rows(
        "SELECT i.ref, i.id, t.body, t.gold FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = ?",
        kind,
    )
    before = {ref: (item, body, gold) for ref, item, body, gold in rows}
    changed = [
        (body, gold, before[ref][0])
        for ref, _, _, _, body, gold, _ in _rows(project, kind, path, set())
        if before[ref][1:] != (body, gold)
    ]
    link.many("UPDATE texts SET body = ?, gold = ? WHERE item = ?", changed)


def _bar(link: Link, project: Project, wrote: dict[str, list[int]]) -> None:
    """Nobody judges a text of their own: who wrote an item counts as one who has seen it, before they ever come."""
    for name, items in wrote.items():
        token, now = hashed(project.token(name)), time.time()
        person = add_worker(link, name, token, AUTHOR, language=project.settings.language, now=now)
        remember(link, [(person.id, item, None) for item in items])


def _checked(project: Project, kind: str, example: Example, path: Path) -> str | None:
    """The gold of a control item, as far as the form asks for it; refuses what no worker could see or answer."""
    form, options = project.form, project.options
    fault = form.faults(example, options)
    if not fault and kind != "main":
        fault = form.gold_faults(example, options)
    if fault:
        cure = "correct the example, or take it out of the file"
        raise BadInput(f"example {example.id!r}: {fault}", file=path, cure=cure)
    return (
        None if kind == "main" else msgspec.json.encode(form.known(example.gold, options)).decode()
    )
