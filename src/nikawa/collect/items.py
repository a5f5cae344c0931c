"""Take a project's files into its store: items that are new, control items that were corrected, each file only when it changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.collect.assignment import remember_seen
from nikawa.collect.permutation import draw_spot
from nikawa.collect.project import KINDS, Project, open_project
from nikawa.collect.store import Store, get_value, open_store, set_value
from nikawa.collect.workers import AUTHOR, add_worker, count_items
from nikawa.collect.writers import WRITER, WRITERS, read_writers, writer_of
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.serve.database import Connection
from nikawa.serve.login import hash_token

ITEMS_PER_CHUNK = 20_000


@contextmanager
def open_synced(folder: Path, database: str = "") -> Iterator[tuple[Project, Store]]:
    """Open a project and its store, take in what its files gained, and close the store at the end.

    `database` is a PostgreSQL address; empty, the data is a SQLite file in the folder.
    """
    project = open_project(folder)
    with open_store(database, folder, project.name) as store:
        sync_items(project, store)
        yield project, store


def sync_items(project: Project, store: Store) -> dict[str, int]:
    """Add what the files gained since the last time, and follow the number of workers asked for.

    Returns how many items were added by kind. A file whose size and time are the same is not read.
    """
    added = dict.fromkeys(KINDS, 0)
    for kind, name in KINDS.items():
        path = project.folder / name
        if not path.is_file():
            continue
        facts = path.stat()
        version = f"{facts.st_size}:{facts.st_mtime_ns}"
        if store.read(get_value, f"file {kind}") != version:
            added[kind] = store.write(add_items, project, kind, path)
            store.write(set_value, f"file {kind}", version)
    workers = project.settings.assign.workers_per_item
    if store.read(get_value, "asked") != str(workers):
        store.write(_ask_workers, workers)
    return added


def _ask_workers(db: Connection, workers: int) -> None:
    """Ask for another number of workers an item."""
    db.execute("UPDATE items SET asked = ? WHERE asked <> ?", workers, workers)
    set_value(db, "asked", str(workers))


class NewItem(NamedTuple):
    """An item of a file, as the store keeps it."""

    ref: str
    """The id of its example, which judgements refer to."""
    group: str | None
    spot: int
    """A random place on a ring, where a search for open items may begin."""
    workers: int
    """How many workers are asked for."""
    body: str
    """The example without gold, tags, meta and origin, as JSON."""
    gold: str | None
    """The gold of a control or pilot item, as JSON."""
    writer: str
    """Who wrote it; empty where nobody is known."""


def add_items(db: Connection, project: Project, kind: str, path: Path) -> int:
    """Add the items of a file that the store does not have; how many."""
    known = {ref for (ref,) in db.rows("SELECT ref FROM items WHERE kind = ?", kind)}
    next_position = count_items(db, kind)
    (next_id,) = db.required("SELECT coalesce(max(id), 0) + 1 FROM items")
    written_by: dict[str, list[int]] = {}
    new = _read_items(project, kind, path, known)
    total = 0
    while chunk := list(enumerate(islice(new, ITEMS_PER_CHUNK), start=total)):
        db.load(
            "items",
            "id, position, kind, ref, grp, spot, asked",
            [
                (
                    next_id + n,
                    next_position + n,
                    kind,
                    item.ref,
                    item.group,
                    item.spot,
                    item.workers,
                )
                for n, item in chunk
            ],
        )
        texts = [(next_id + n, item.body, item.gold) for n, item in chunk]
        db.load("texts", "item, body, gold", texts)
        for n, item in chunk:
            if item.writer:
                written_by.setdefault(item.writer, []).append(next_id + n)
        total += len(chunk)
    if total:
        db.analyse("items", "texts")
    if kind != "main":
        correct_items(db, project, kind, path)
    bar_writers(db, project, written_by)
    if kind == "pilot" and total:  # who has not begun takes it too
        db.execute(
            "UPDATE workers SET state = 'pilot' WHERE state = 'active' AND answered = 0 AND pilot = 0"
            " AND origin <> 'import'"
        )
    return total


def _read_items(project: Project, kind: str, path: Path, known: set[str]) -> Iterator[NewItem]:
    """The items of a file that are not known; one that no worker could see or answer is bad input."""
    if not path.stat().st_size:
        return
    form = project.form
    options = project.options
    assign = project.settings.assign
    encode = msgspec.json.Encoder().encode
    writers = read_writers(project.folder / WRITERS)
    for example in read_examples(path):
        if example.id in known:
            continue
        fault = form.find_fault(example, options)
        if not fault and kind != "main":
            fault = form.find_gold_fault(example, options)
        if fault:
            cure = "correct the example, or take it out of the file"
            raise BadInput(f"example {example.id!r}: {fault}", file=path, cure=cure)
        gold = None
        if kind != "main":
            gold = encode(form.known_gold(example.gold, options)).decode()
        writer = writer_of(example, writers)
        meta = {WRITER: writer} if writer else {}
        body = encode(replace(example, gold={}, tags=frozenset(), meta=meta, origin=None)).decode()
        spot = draw_spot(assign.seed, "item", example.id)
        yield NewItem(example.id, example.group, spot, assign.workers_per_item, body, gold, writer)


def correct_items(db: Connection, project: Project, kind: str, path: Path) -> None:
    """A control or pilot item that was corrected in its file is corrected: wrong gold would exclude good workers."""
    stored = {
        ref: (item, body, gold)
        for ref, item, body, gold in db.rows(
            "SELECT i.ref, i.id, t.body, t.gold FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = ?",
            kind,
        )
    }
    for new in _read_items(project, kind, path, set()):
        item, body, gold = stored[new.ref]
        if (body, gold) != (new.body, new.gold):
            db.execute(
                "UPDATE texts SET body = ?, gold = ? WHERE item = ?", new.body, new.gold, item
            )


def bar_writers(db: Connection, project: Project, written_by: dict[str, list[int]]) -> None:
    """Nobody judges a text of their own: who wrote an item counts as one who has seen it, before they ever come."""
    language = project.settings.language
    for name, items in written_by.items():
        token_hash = hash_token(project.token(name))
        worker = add_worker(db, name, token_hash, AUTHOR, language=language, now=time.time())
        remember_seen(db, [(worker.id, item, None) for item in items])
