"""Judgements made elsewhere, and further examples, into a project: all of a file, or nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nikawa.collect.assignment import remember_seen
from nikawa.collect.items import open_synced
from nikawa.collect.project import EXAMPLES, MAX_NAME_CHARS, Project, is_person_name, open_project
from nikawa.collect.sources import read_source_writers, read_sources
from nikawa.collect.store import parse_time
from nikawa.collect.workers import Worker, add_worker
from nikawa.collect.writers import WRITERS, read_writers, write_writers
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, Note, open_judgements
from nikawa.io.records import read_examples, write_records
from nikawa.records import Judgement
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection
from nikawa.serve.login import hash_token


@dataclass(frozen=True)
class ImportReport:
    """What came in."""

    answers: int
    """Answers that were added."""
    known: int
    """Answers of workers who had one for the item already."""
    examples: int
    """Examples that were added."""
    notes: tuple[Note, ...] = ()
    """What was odd about the file of judgements."""


def import_judgements(
    folder: Path,
    file: Path | None,
    how: JudgementOptions,
    examples: str | None = None,
    database: str = "",
) -> ImportReport:
    """Add judgements made elsewhere, of any form `aggregate` reads, and further examples; all or none of a file."""
    added = 0 if examples is None else add_examples(folder, examples)
    with open_synced(folder, database) as (project, store):
        if file is None:
            return ImportReport(0, 0, added)
        reading = open_judgements(file, how)
        answers, known = store.write(add_judgements, project, reading.rows, str(file), time.time())
        return ImportReport(answers, known, added, reading.notes.report())


def add_examples(folder: Path, spec: str) -> int:
    """Write the project's examples again with those that are new behind them; how many are new."""
    project = open_project(folder)
    path = project.folder / EXAMPLES
    before = list(read_examples(path))
    known = {example.id for example in before}
    new = [example for example in read_sources(spec) if example.id not in known]
    for example in new:
        fault = project.form.find_fault(example)
        if fault:
            what = f"example {example.id!r}: {fault}"
            raise BadInput(what, file=spec, cure="name other examples")
    if not new:
        return 0
    writers = read_source_writers(spec)
    if writers:
        writers = {**writers, **read_writers(project.folder / WRITERS)}
        write_writers(project.folder / WRITERS, writers.values(), overwrite=True)
    write_records(path, [*before, *new], overwrite=True)
    return len(new)


def add_judgements(
    db: Connection, project: Project, rows: Iterable[tuple[int, Judgement]], file: str, now: float
) -> tuple[int, int]:
    """Add judgements made elsewhere, given with their lines; how many answers were added, and how many were known."""
    items = {
        ref: (item, group)
        for item, ref, group in db.stream("SELECT id, ref, grp FROM items WHERE kind = 'main'")
    }
    pseudonyms = {project.pseudonym(name): name for (name,) in db.rows("SELECT name FROM workers")}
    answers: dict[str, dict[str, list[Judgement]]] = {}
    """Worker to item to the judgements of one answer."""
    for line, judgement in rows:
        name = pseudonyms.get(judgement.worker, judgement.worker)
        if judgement.example not in items:
            what = f"answers about {judgement.example!r}, which is no item of the project"
            raise BadInput(what, file=file, line=line, cure="check the column of the ids")
        if not is_person_name(name):
            cure = f"use 1 to {MAX_NAME_CHARS} printable characters"
            raise BadInput(f"{name!r} cannot be a worker's name", file=file, line=line, cure=cure)
        answers.setdefault(name, {}).setdefault(judgement.example, []).append(judgement)
    added = 0
    for name in sorted(answers):
        token_hash = hash_token(project.token(name))
        language = project.settings.language
        worker = add_worker(db, name, token_hash, "import", language=language, now=now)
        theirs = [(*items[ref], judgements) for ref, judgements in answers[name].items()]
        added += add_answers(db, project, worker, theirs, now)
    db.analyse("answers", "seen")
    add_audit(db, "command", "import", {"file": file, "answers": added}, now)
    return added, sum(map(len, answers.values())) - added


def add_answers(
    db: Connection,
    project: Project,
    worker: Worker,
    answers: list[tuple[int, str | None, list[Judgement]]],
    now: float,
) -> int:
    """Add a worker's answers to items they have none for, given as item, group and judgements; how many."""
    answered = db.rows("SELECT item FROM answers WHERE worker = ? AND surplus = 0", worker.id)
    known = {item for (item,) in answered}
    new = [answer for answer in answers if answer[0] not in known]
    rows = []
    for item, _, judgements in new:
        first = judgements[0]
        pairs = [(judgement.question, judgement.answer) for judgement in judgements]
        body = msgspec.json.encode(project.form.from_judgements(pairs)).decode()
        lease, key = f"import {worker.id} {item}", f"import {item}"
        at = parse_time(first.at, now)
        rows.append((item, worker.id, lease, key, "main", body, "", first.seconds, at, 0, 0, 0.0))
    columns = "item, worker, lease, key, kind, body, comment, seconds, at, surplus, quick, pay"
    db.load("answers", columns, rows)
    db.execute_many(
        "UPDATE items SET done = done + 1 WHERE id = ?", [(item,) for item, _, _ in new]
    )
    db.execute("UPDATE workers SET answered = answered + ? WHERE id = ?", len(new), worker.id)
    remember_seen(db, [(worker.id, item, group) for item, group, _ in new])
    end_leases(db, worker, {item for item, _, _ in new})
    return len(new)


def end_leases(db: Connection, worker: Worker, items: set[int]) -> None:
    """What the worker holds of these items is answered now: nobody judges an item twice."""
    leases = db.rows(
        "SELECT id, item, state FROM leases WHERE worker = ? AND state IN ('open', 'expired', 'lost')",
        worker.id,
    )
    for lease, item, state in leases:
        if item not in items:
            continue
        db.execute("UPDATE leases SET state = 'answered' WHERE id = ?", lease)
        if state == "open":
            db.execute("UPDATE items SET leased = leased - 1 WHERE id = ?", item)
