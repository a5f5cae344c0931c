"""Data that enters the store of a project: the items of its files, further examples, and judgements made elsewhere.

A file is taken in whole or not at all. Items are added and, where they are control or pilot items, corrected; none is
ever removed, as answers refer to them.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.collect.adjudication import import_decisions
from nikawa.collect.assignment import remember_seen
from nikawa.collect.effort import plan_effort
from nikawa.collect.form import REPORTS
from nikawa.collect.imports import fit_judgements, list_questions
from nikawa.collect.permutation import draw_index_start
from nikawa.collect.prelabels import sync_prelabels
from nikawa.collect.project import EXAMPLES, KINDS, Project, open_project
from nikawa.collect.sources import read_source_writers, read_sources
from nikawa.collect.store import (
    BY_MACHINE,
    DRAWS,
    KEYED,
    Store,
    decode_example,
    is_keyed,
    parse_time,
    project_database,
)
from nikawa.collect.workers import (
    AUTHOR,
    REPORT_COUNTED,
    Worker,
    add_worker,
    admit_worker,
    all_workers,
    bar_own_texts,
    count_items,
    find_faulty_name,
    read_spellings,
)
from nikawa.collect.writers import (
    WRITER,
    WRITERS,
    barred_from,
    is_pseudonym,
    read_writers,
    write_writers,
    writer_of,
)
from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.atomic import private_files
from nikawa.io.file_names import refuse_outside
from nikawa.io.judgements import QUESTION, JudgementOptions, Note, open_judgements
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement, find_answerer, is_person, name_kind
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection
from nikawa.serve.login import hash_token
from nikawa.serve.names import MAX_NAME_CHARS, fold_name
from nikawa.serve.store import get_value, require_tables, set_value

ITEMS_PER_CHUNK = 20_000


@contextmanager
def open_synced(
    folder: Path, database: str = "", *, is_new: bool = False
) -> Iterator[tuple[Project, Store]]:
    """Open a project and its store, take in what its files gained, and close the store at the end.

    `database` is a PostgreSQL address; empty, the data is a SQLite file in the folder. A database that is damaged, or
    that cannot be used now, is bad input; so is one without the project, unless the project `is_new`: answers would
    go to an empty database while the others wait elsewhere.
    """
    project = open_project(folder)
    where = project_database(database, folder, project.name)
    try:
        if not is_new:
            require_tables(where, "project", "NIKAWA_COLLECT_DATABASE")
        with Store(where) as store:
            sync_items(project, store)
            yield project, store
    except where.error as problem:
        is_outage = where.is_outage(problem)
        cure = "run the same command again later" if is_outage else "restore a backup"
        raise BadInput(f"cannot be used: {problem}", file=str(where), cure=cure) from problem


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
            _make_private(path)
            added[kind] = store.write(add_items, project, kind, path)
            store.write(set_value, f"file {kind}", version)
    workers = project.settings.assign.workers_per_item
    is_adaptive = bool(project.settings.effort.most)
    asked = "adaptive" if is_adaptive else str(workers)
    if store.read(get_value, "asked") != asked:

        def ask_workers(db: Connection) -> None:
            db.execute("UPDATE items SET asked = ? WHERE asked <> ?", workers, workers)
            set_value(db, "asked", asked)

        store.write(ask_workers)
    store.write(sync_prelabels, project)
    if is_adaptive:
        store.write(plan_effort, project)
    return added


def _make_private(path: Path) -> None:
    """Let only the owner read a file that an editor or a copy left open to others: it holds the gold of control items."""
    if path.stat().st_mode & 0o077:
        with suppress(
            PermissionError
        ):  # another user's, who serves the project from a folder of their own
            path.chmod(0o600)


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
    barred: tuple[str, ...]
    """Workers who may not judge it: they wrote it, or answered the item it was made from."""


def add_items(db: Connection, project: Project, kind: str, path: Path) -> int:
    """Add the items of a file that the store does not have; how many.

    `kind` is `main`, `gold` (control items) or `pilot`; control and pilot items that were corrected are corrected.
    """
    known = {ref for (ref,) in db.rows("SELECT ref FROM items WHERE kind = ?", kind)}
    next_position = count_items(db, kind)
    (next_id,) = db.required("SELECT coalesce(max(id), 0) + 1 FROM items")
    written_by: dict[str, list[int]] = {}
    key = project.draw_key if is_keyed(db, DRAWS) else b""
    new = _read_items(project, kind, path, known, key)
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
            for name in item.barred:
                written_by.setdefault(name, []).append(next_id + n)
        total += len(chunk)
    if total:
        db.analyse("items", "texts")
    if kind != "main":
        _correct_items(db, project, kind, path)
    _bar_writers(db, project, written_by)
    if kind == "pilot" and total:  # who has not begun takes it too
        db.execute(
            "UPDATE workers SET state = 'pilot' WHERE state = 'active' AND answered = 0 AND pilot = 0"
            " AND origin <> 'import'"
        )
    return total


def _read_items(
    project: Project, kind: str, path: Path, known: set[str], key: bytes = b""
) -> Iterator[NewItem]:
    """The items of a file that are not known; one that no worker could see or answer is bad input.

    `key` is that of the draw of their spots.
    """
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
        if kind != "main" and project.is_together:
            fault = "there are no control or pilot items where two workers answer together"
        if kind != "main" and example.hidden:
            # A worker who learns which answers were correct would learn the label.
            fault = "its label is hidden, so it cannot be a control or pilot item"
        if fault:
            cure = "correct the example, or remove it from the file"
            raise BadInput(f"example {example.id!r}: {fault}", file=path, cure=cure)
        gold = None
        if kind != "main":
            gold = encode(form.known_gold(example.gold, options)).decode()
        writer = writer_of(example, writers)
        meta = {WRITER: writer} if writer else {}
        body = encode(replace(example, gold={}, tags=frozenset(), meta=meta, origin=None)).decode()
        spot = draw_index_start(assign.seed, "item", example.id, key=key)
        barred = barred_from(example, writers)
        yield NewItem(example.id, example.group, spot, assign.workers_per_item, body, gold, barred)


def _correct_items(db: Connection, project: Project, kind: str, path: Path) -> None:
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


def _bar_writers(db: Connection, project: Project, written_by: dict[str, list[int]]) -> None:
    """Keep workers from judging their own texts: the writer of an item counts as having seen it, even before they join.

    A writer known only by a pseudonym is recognised by it when they join, or now if they joined before.
    """
    language, spellings, now = project.settings.language, read_spellings(db), time.time()
    for name, items in written_by.items():
        worker = admit_worker(db, project, name, AUTHOR, spellings, language=language, now=now)
        remember_seen(db, [(worker.id, item, None) for item in items])
    if any(map(is_pseudonym, written_by)):
        for worker in all_workers(db):
            bar_own_texts(db, project, worker)


def key_draws(db: Connection, project: Project, now: float) -> None:
    """Let chance be drawn with the project's secret from now on.

    Each worker begins a new order from its start: what they have seen is stepped over.
    """
    seed, key = project.settings.assign.seed, project.draw_key
    spots = [
        (draw_index_start(seed, "item", ref, key=key), item)
        for item, ref in db.rows("SELECT id, ref FROM items")
    ]
    db.execute_many("UPDATE items SET spot = ? WHERE id = ?", spots)
    db.execute("UPDATE workers SET place = 0")
    set_value(db, DRAWS, KEYED)
    add_audit(db, "command", "rekey", {"items": len(spots)}, now)


@dataclass(frozen=True)
class ImportReport:
    """The result of an import."""

    answers: int
    """Answers that were added."""
    known: int
    """Answers of workers who had one for the item already."""
    examples: int
    """Examples that were added."""
    notes: tuple[Note, ...] = ()
    """Oddities of the file of judgements."""
    decisions: int = 0
    """Decisions of an owner that were added."""
    reports: int = 0
    """Reports of workers that were added."""
    differing: int = 0
    """Answers known before that say something else than the file; they stay as they are."""


def import_judgements(
    folder: Path,
    file: Path | None,
    how: JudgementOptions,
    examples: str | None = None,
    database: str = "",
    *,
    skip_invalid: bool = False,
) -> ImportReport:
    """Add judgements made elsewhere, of any form `aggregate` reads, and further examples; all or none of a file.

    Answers are fitted to the form of the project (see `imports`); one that breaks its rules is bad input, or skipped and
    noted with `skip_invalid`. Answers that are there already stay as they are.
    """
    added = 0 if examples is None else _add_examples(folder, examples)
    with open_synced(folder, database) as (project, store):
        if file is None:
            return ImportReport(0, 0, added)
        questions = list_questions(project.form, project.options)
        main, kind = next(iter(questions.items()))
        for name in how.questions:
            if name not in questions:
                raise unknown("question of the project", name, questions)
        if how.question == QUESTION:
            how = dataclasses.replace(how, question=main)
        reading = open_judgements(file, dataclasses.replace(how, asks_spans=kind == "spans"))
        now = time.time()
        rows = fit_judgements(
            project, reading, lambda names: store.read(find_items, names), skip_invalid=skip_invalid
        )

        def add_all(db: Connection) -> tuple[int, int, int, int, int]:
            differing = count_differing(db, project, rows)
            answers, known = add_judgements(db, project, rows, str(file), now)
            decisions = import_decisions(db, project, reading.decisions, str(file), now)
            reports = import_reports(db, project, reading.reports, str(file), now)
            sync_prelabels(db, project)
            plan_effort(db, project)
            return answers, known, decisions, reports, differing

        answers, known, decisions, reports, differing = store.write(add_all)
        notes = reading.notes.report()
        return ImportReport(answers, known, added, notes, decisions, reports, differing)


def count_differing(db: Connection, project: Project, rows: Iterable[tuple[int, Judgement]]) -> int:
    """How many workers' answers about an item are there already, and other ones than these judgements say."""
    stored = {
        (fold_name(name), ref): msgspec.json.decode(body)
        for name, ref, body in db.rows(
            "SELECT w.name, i.ref, a.body FROM answers a JOIN workers w ON w.id = a.worker"
            " JOIN items i ON i.id = a.item WHERE a.surplus <> 1"
        )
    }
    names = {str(name) for (name,) in db.rows("SELECT name FROM workers")}
    pseudonyms = {one: name for name in names for one in project.pseudonyms(name)}
    differing = set()
    for _, judgement in rows:
        key = (fold_name(pseudonyms.get(judgement.worker, judgement.worker)), judgement.example)
        if key in stored:
            before = dict(project.form.to_judgements(stored[key]))
            if before.get(judgement.question) != judgement.answer:
                differing.add(key)
    return len(differing)


def find_items(db: Connection, names: Collection[str]) -> dict[str, Example]:
    """The main items of the project that have one of these ids, as workers see them."""
    texts = db.stream(
        "SELECT i.ref, t.body FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = 'main'"
    )
    return {ref: decode_example(body) for ref, body in texts if ref in names}


def _add_examples(folder: Path, spec: str) -> int:
    """Write the project's examples again with those that are new behind them; how many are new.

    `spec` names a dataset, folder or records file. An example that the form cannot show is bad input.
    """
    project = open_project(folder)
    path = project.folder / EXAMPLES
    for name in (EXAMPLES, WRITERS):
        refuse_outside(project.folder / name, project.folder)
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
    with private_files():
        write_records(path, [*before, *new], overwrite=True)
    return len(new)


def add_judgements(
    db: Connection, project: Project, rows: Iterable[tuple[int, Judgement]], file: str, now: float
) -> tuple[int, int]:
    """Add judgements made elsewhere, given with their lines; how many answers were added, and how many were known.

    Judgements of one worker about one item are one answer. A worker's pseudonym of this project stands for their name.
    Raises `BadInput` with the line for an item the project does not have, or a name that is not allowed.
    """
    items = {
        ref: (item, group)
        for item, ref, group in db.stream("SELECT id, ref, grp FROM items WHERE kind = 'main'")
    }
    names = [str(name) for (name,) in db.rows("SELECT name FROM workers")]
    pseudonyms = {one: name for name in names for one in project.pseudonyms(name)}
    answers: dict[str, dict[str, list[Judgement]]] = {}
    """Worker to item to the judgements of one answer."""
    for line, judgement in rows:
        name = pseudonyms.get(judgement.worker, judgement.worker)
        is_named = name_kind(name) == find_answerer(judgement)
        if not is_named:  # the store knows a machine by its name
            name = f"{judgement.kind.replace('machine', 'model')}:{name}"
        if judgement.example not in items:
            what = f"answers about {judgement.example!r}, which is not an item of the project"
            raise BadInput(what, file=file, line=line, cure="check the column with the ids")
        own = name if is_person(judgement) else name.partition(":")[2]
        if name not in answers and (fault := find_faulty_name(db, [own])):
            what = f"{name!r} cannot be a worker's name: {fault[1]}"
            cure = f"use 1 to {MAX_NAME_CHARS} visible characters"
            raise BadInput(what, file=file, line=line, cure=cure)
        answers.setdefault(name, {}).setdefault(judgement.example, []).append(judgement)
    variants = Counter(map(fold_name, answers))
    language, spellings = project.settings.language, read_spellings(db)
    added = 0
    for name in sorted(answers):
        if variants[fold_name(name)] == 1:
            worker = admit_worker(
                db, project, name, "import", spellings, language=language, now=now
            )
        else:  # ids of another tool that differ in case only are different people there: their answers stay apart
            token_hash = hash_token(project.token(name))
            worker = add_worker(db, name, token_hash, "import", language=language, now=now)
            bar_own_texts(db, project, worker)
        theirs = [(*items[ref], judgements) for ref, judgements in answers[name].items()]
        added += add_answers(db, project, worker, theirs, now)
    db.analyse("answers", "seen")
    add_audit(db, "command", "import", {"file": file, "answers": added}, now)
    return added, sum(map(len, answers.values())) - added


def import_reports(
    db: Connection, project: Project, rows: Iterable[tuple[int, Judgement]], file: str, now: float
) -> int:
    """Add reports made elsewhere, given with their lines; how many are new.

    They count as those made here: an item that is reported often enough is set aside, or the report is the worker's answer.
    """
    language, spellings = project.settings.language, read_spellings(db)
    names = [str(name) for (name,) in db.rows("SELECT name FROM workers")]
    pseudonyms = {one: name for name in names for one in project.pseudonyms(name)}
    added = 0
    for line, report in rows:
        item = db.one("SELECT id FROM items WHERE kind = 'main' AND ref = ?", report.example)
        if item is None:
            what = f"reports {report.example!r}, which is not an item of the project"
            raise BadInput(what, file=file, line=line, cure="check the column with the ids")
        if report.answer not in REPORTS:
            cure = suggest(str(report.answer), REPORTS)
            raise BadInput(
                f"the report {report.answer!r} is unknown", file=file, line=line, cure=cure
            )
        name = pseudonyms.get(report.worker, report.worker)
        if fault := find_faulty_name(db, [name]):
            what = f"{name!r} cannot be a worker's name: {fault[1]}"
            raise BadInput(what, file=file, line=line, cure="correct the name")
        worker = admit_worker(db, project, name, "import", spellings, language=language, now=now)
        (before,) = db.required(
            "SELECT count(*) FROM reports WHERE item = ? AND worker = ?", item[0], worker.id
        )
        if before:
            continue
        lease = f"import report {worker.id} {item[0]}"
        db.execute(
            "INSERT INTO reports (item, worker, lease, key, code, comment, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            item[0],
            worker.id,
            lease,
            lease,
            str(report.answer),
            report.comment,
            parse_time(report.at, now),
        )
        remember_seen(db, [(worker.id, item[0], None)])
        added += 1
        if project.settings.reports.counted:
            db.execute(
                "INSERT INTO leases (id, item, worker, issued, expires, state) VALUES (?, ?, ?, ?, ?, ?)",
                lease,
                item[0],
                worker.id,
                now,
                now,
                REPORT_COUNTED,
            )
            db.execute(
                "UPDATE items SET reports = reports + 1, done = done + 1 WHERE id = ?", item[0]
            )
            continue
        db.execute(
            "UPDATE items SET reports = reports + 1,"
            " held = CASE WHEN reports + 1 >= ? THEN 1 ELSE held END WHERE id = ?",
            project.settings.limits.reports_per_item,
            item[0],
        )
    return added


def add_answers(
    db: Connection,
    project: Project,
    worker: Worker,
    answers: list[tuple[int, str | None, list[Judgement]]],
    now: float,
) -> int:
    """Add a worker's answers to items they have none for, given as item, group and judgements; how many."""
    answered = db.rows("SELECT item FROM answers WHERE worker = ? AND surplus <> 1", worker.id)
    known = {item for (item,) in answered}
    new = [answer for answer in answers if answer[0] not in known]
    rows = []
    by_machine = name_kind(worker.name) != "person"
    surplus = BY_MACHINE if by_machine else 0
    for item, _, judgements in new:
        first = judgements[0]
        pairs = [(judgement.question, judgement.answer) for judgement in judgements]
        body = msgspec.json.encode(project.form.from_judgements(pairs)).decode()
        lease, key = f"import {worker.id} {item}", f"import {item}"
        at = parse_time(first.at, now)
        comment = next((one.comment for one in judgements if one.comment), "")
        rows.append(
            (surplus, 0, 0.0, item, worker.id, lease, key, "main", body, comment, first.seconds, at)
        )
    columns = "surplus, quick, pay, item, worker, lease, key, kind, body, comment, seconds, at"
    db.load("answers", columns, rows)
    _add_prelabelled(db, project, worker, new)
    if by_machine:
        return len(new)
    db.execute_many(
        "UPDATE items SET done = done + 1 WHERE id = ?", [(item,) for item, _, _ in new]
    )
    db.execute(
        "UPDATE workers SET answered = answered + ?, seconds = seconds + ? WHERE id = ?",
        len(new),
        sum(judgements[0].seconds or 0 for _, _, judgements in new),
        worker.id,
    )
    remember_seen(db, [(worker.id, item, group) for item, group, _ in new])
    _end_leases(db, worker, {item for item, _, _ in new})
    return len(new)


def _add_prelabelled(
    db: Connection,
    project: Project,
    worker: Worker,
    answers: list[tuple[int, str | None, list[Judgement]]],
) -> None:
    """Remember the machine's answers that the worker was shown, or not shown, elsewhere."""
    rows = []
    for item, _, judgements in answers:
        given = [(one.question, one.prelabel) for one in judgements if one.prelabel is not None]
        if given:
            first = given[0][1]
            pairs = [(question, prelabel.answer) for question, prelabel in given]
            body = msgspec.json.encode(project.form.from_judgements(pairs)).decode()
            rows.append((item, worker.id, first.worker, body, int(first.shown)))
    db.execute_many(
        "INSERT INTO prelabelled (item, worker, source, body, shown) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        rows,
    )


def _end_leases(db: Connection, worker: Worker, items: set[int]) -> None:
    """Close the leases of the worker on these items, which are answered now: no worker judges an item twice."""
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
