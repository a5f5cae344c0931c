"""An annotation project from start to end: make it, serve it, hand out links, look at it, take judgements in and out."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from nikawa.benchmarks import load
from nikawa.benchmarks.load import named
from nikawa.collect.export import csv_lines, harmless, json_lines, judgements, take_in
from nikawa.collect.form import LANGUAGES
from nikawa.collect.load import sync
from nikawa.collect.overview import overview
from nikawa.collect.people import hash_password, set_person
from nikawa.collect.project import EXAMPLES, KINDS, NAME, Project, create_project, open_project
from nikawa.collect.routes_owner import make_links
from nikawa.collect.settings import Assign, Language, Settings
from nikawa.collect.store import Store, open_store
from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_write
from nikawa.io.judgements import How, Note, open_judgements, write_judgements
from nikawa.io.records import SUFFIXES, read_examples, write_records
from nikawa.records import Example, Judgement, reference

DATABASE = "NIKAWA_COLLECT_DATABASE"
"""The environment variable with the address of PostgreSQL, so that a password is in no list of processes."""
OWNER = "owner"


@dataclass(frozen=True)
class New:
    """How a project starts."""

    form: str
    workers: int = 3
    language: str = "ja"
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The form's own settings."""
    database: str = ""


@dataclass(frozen=True)
class NewReport:
    """What was made; the password is shown once and kept nowhere."""

    project: str
    form: str
    items: int
    workers_per_item: int
    owner: str
    password: str


@contextmanager
def opened(folder: Path, database: str = "") -> Iterator[tuple[Project, Store]]:
    """A project and its store, with what its files gained taken in."""
    project = open_project(folder)
    with open_store(database, folder, project.name) as store:
        sync(project, store)
        yield project, store


def new(folder: Path, examples: str, how: New, *, data: Path | None = None) -> NewReport:
    """Make a project of the examples of a dataset, folder or file; an owner with a password is made too."""
    if how.language not in LANGUAGES:
        raise unknown("language", how.language, LANGUAGES)
    if how.workers < 1:
        raise BadInput("an item needs one worker at least", cure="say --workers-per-item 3")
    settings = Settings(
        title=how.title or folder.name,
        form=how.form,
        language=cast(Language, how.language),
        assign=Assign(workers_per_item=how.workers),
        options=dict(how.options),
    )
    create_project(folder, settings, examples_of(examples, data))
    password = secrets.token_urlsafe(12)
    with opened(folder, how.database) as (_, store):
        kept, now = hash_password(password), time.time()
        store.do(lambda link: set_person(link, OWNER, "owner", kept, now))
        count = store.ask(lambda link: link.rows("SELECT count(*) FROM items WHERE kind = 'main'"))[0][0]
    return NewReport(str(folder), how.form, int(count), how.workers, OWNER, password)


def examples_of(spec: str, data: Path | None) -> Iterator[Example]:
    """The examples to judge, under the references their judgements will carry; a file keeps its plain ids."""
    path = Path(spec)
    if named(spec) is None and spec.endswith(SUFFIXES) and path.is_file():
        yield from read_examples(path)
        return
    dataset = load(spec, data=data)
    for split, examples in dataset.splits.items():
        for example in examples:
            yield replace(example, id=reference(dataset.name, split, example.id))


def status(folder: Path, database: str = "") -> dict[str, Any]:
    """How far a project is, its workers and what they reported; it may be served meanwhile."""
    with opened(folder, database) as (project, store):
        return {"project": str(folder), **store.ask(lambda link: overview(link, project))}


@dataclass(frozen=True)
class Links:
    """Links of workers, and the entrance for a platform where the project has one."""

    links: tuple[tuple[str, str], ...]
    join: str | None


def links(folder: Path, names: Sequence[str], address: str, database: str = "") -> Links:
    """Make links for workers; the same name gets the same link every time."""
    for name in names:
        if not 0 < len(name) <= NAME or not name.isprintable():
            raise BadInput(f"{name!r} cannot be a worker's name", cure="use 1 to 200 printable characters")
    base = address.rstrip("/")
    with opened(folder, database) as (project, store):
        made = (
            store.do(lambda link: make_links(link, project, list(names), "command", time.time()))
            if names
            else []
        )
        crowd = project.settings.crowd
        join = f"{base}/join/{project.join_key}?{crowd.parameter}=" if crowd.join else None
        return Links(tuple((name, f"{base}/w/{token}") for name, token in made), join)


@dataclass(frozen=True)
class Out:
    """How judgements are written."""

    parts: tuple[str, ...] = ("main",)
    pseudonymise: bool = False
    form: str | None = None
    """`csv`, or a form of `nikawa.io.judgements`; None: by the suffix of the file."""
    overwrite: bool = False


def export(folder: Path, out: Path, how: Out | None = None, database: str = "") -> int:
    """Write the judgements so far, from one moment, while people work; how many."""
    chosen = how or Out()
    form = chosen.form or ("csv" if out.name.endswith(".csv") else None)
    with opened(folder, database) as (project, store), store.read() as link:
        found = judgements(link, project, chosen.parts, pseudonymise=chosen.pseudonymise)
        counted = _Counted(found)
        if form == "csv" or (form is None and ".jsonl" in out.name):
            _write_text(out, counted, form == "csv", chosen.overwrite)
            return counted.count
        rows = found if form in (None, "records", "label-studio", "doccano") else harmless(found)
        examples = None
        if form in ("label-studio", "doccano"):
            examples = {example.id: example for example in read_examples(project.folder / EXAMPLES)}
        return write_judgements(out, rows, form, examples=examples, overwrite=chosen.overwrite)


def _write_text(out: Path, found: Iterable[Judgement], as_csv: bool, overwrite: bool) -> None:
    with atomic_write(out, overwrite=overwrite) as stream:
        if not as_csv:
            stream.writelines(json_lines(found))
            return
        stream.write(b"\xef\xbb\xbf")  # without the mark Excel reads Japanese as another encoding
        for block in csv_lines(found):
            stream.write(block.encode())


class _Counted:
    """Counts what goes by."""

    def __init__(self, rows: Iterable[Judgement]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Iterator[Judgement]:
        for row in self._rows:
            self.count += 1
            yield row


@dataclass(frozen=True)
class ImportReport:
    """What came in."""

    answers: int
    known: int
    """Answers of workers who had one for the item already."""
    examples: int
    notes: tuple[Note, ...] = ()


def take(
    folder: Path, file: Path | None, how: How, examples: str | None = None, database: str = ""
) -> ImportReport:
    """Add judgements made elsewhere, of any form `aggregate` reads, and further examples; all or none of a file."""
    added = 0 if examples is None else _more(folder, examples)
    with opened(folder, database) as (project, store):
        if file is None:
            return ImportReport(0, 0, added)
        reading = open_judgements(file, how)
        now = time.time()
        answers, known = store.do(lambda link: take_in(link, project, reading.rows, str(file), now))
        return ImportReport(answers, known, added, reading.notes.report())


def _more(folder: Path, spec: str) -> int:
    """Write the project's examples again with those that are new behind them."""
    project = open_project(folder)
    path = project.folder / KINDS["main"]
    before = list(read_examples(path))
    known = {example.id for example in before}
    fresh = [example for example in examples_of(spec, None) if example.id not in known]
    for example in fresh:
        fault = project.form.faults(example)
        if fault:
            raise BadInput(f"example {example.id!r}: {fault}", file=spec, cure="name other examples")
    if fresh:
        write_records(path, [*before, *fresh], overwrite=True)
    return len(fresh)


def backup(folder: Path, out: Path, *, overwrite: bool = False, database: str = "") -> None:
    """Copy the database while people work."""
    with opened(folder, database) as (_, store):
        store.backup(out, overwrite=overwrite)


def password(folder: Path, name: str, role: str, secret: str | None = None, database: str = "") -> str:
    """Add an owner or reviewer, or give them a new password, which is returned."""
    chosen = secret or secrets.token_urlsafe(12)
    kept, now = hash_password(chosen), time.time()
    with opened(folder, database) as (_, store):
        store.do(lambda link: set_person(link, name, role, kept, now))
    return chosen


@dataclass(frozen=True)
class Serving:
    """Where a server listens."""

    host: str = "127.0.0.1"
    port: int = 8000
    database: str = ""


def serve(folder: Path, how: Serving, started: Callable[[int], None] | None = None) -> None:
    """Serve a project until interrupted; `started` is told the port."""
    from nikawa.collect.app import create_app, run
    from nikawa.jobs._collect_analyses import ANALYSES

    with opened(folder, how.database) as (project, store):
        run(create_app(project, store, analyses=ANALYSES), how.host, how.port, started=started)


def demo(folder: Path) -> NewReport:
    """A project on the embedded mini-benchmark, with control items and a pilot."""
    dataset = load("mini-ja")
    pairs = {
        split: [
            replace(example, id=reference(dataset.name, split, example.id), meta={}, tags=frozenset())
            for example in examples
            if {"premise", "hypothesis"} <= example.inputs.keys() and "label" in example.gold
        ]
        for split, examples in dataset.splits.items()
    }
    train = pairs["train"]
    labels = sorted({str(example.gold["label"]) for example in train})
    settings = Settings(
        title="Nikawa demo", form="choice", assign=Assign(workers_per_item=3), options={"labels": labels}
    )
    project = create_project(folder, settings, pairs["test"])
    for name, chosen in (("gold", train[3:13]), ("pilot", train[:3])):
        kept = [replace(example, gold={"label": example.gold["label"]}) for example in chosen]
        write_records(project.folder / KINDS[name], kept, overwrite=True)
    chosen_password = password(folder, OWNER, "owner")
    return NewReport(str(folder), "choice", len(pairs["test"]), 3, OWNER, chosen_password)
