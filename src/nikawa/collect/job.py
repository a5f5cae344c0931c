"""An annotation project from start to end, as the command line drives it: make it, serve it, hand out links, look at it."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from nikawa.collect.dashboard import overview
from nikawa.collect.form import REPORTS, find_form
from nikawa.collect.forms._base import format_guideline, make_guideline
from nikawa.collect.items import key_draws, open_synced
from nikawa.collect.project import KINDS, Project, create_project, open_project
from nikawa.collect.pseudonyms import (
    OWNER_KEY,
    PseudonymKey,
    owner_key_file,
    read_key,
    write_key,
)
from nikawa.collect.settings import (
    COMMON_REPORTS,
    Assign,
    Language,
    ReportCode,
    Reports,
    Settings,
)
from nikawa.collect.sources import (
    DEFAULT_WORKERS,
    NewProject,
    choose_key,
    complete_settings,
    read_source_writers,
    read_sources,
)
from nikawa.collect.store import DRAWS, is_keyed
from nikawa.collect.workers import (
    all_workers,
    bar_own_texts,
    count_items,
    find_faulty_name,
    make_links,
    read_names,
)
from nikawa.collect.writers import WRITERS, barred_from, is_pseudonym, read_writers
from nikawa.datasets import benchmarks, load
from nikawa.errors import BadInput
from nikawa.io.atomic import private_files
from nikawa.io.records import read_examples, write_records
from nikawa.records import reference
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.login import hash_password, set_person
from nikawa.serve.names import (
    MAX_NAME_CHARS,
    describe_look_alikes,
    find_look_alikes,
    find_name_fault,
)
from nikawa.serve.server import local_address
from nikawa.serve.store import get_value, set_value

OWNER = "owner"
ADDRESS = "address"
"""The key under which the store keeps where the server was last started."""


@dataclass(frozen=True)
class NewReport:
    """The new project; the password is shown once and is not stored."""

    project: str
    """The folder."""
    form: str
    items: int
    """Main items."""
    workers_per_item: int
    owner: str
    """The name the owner logs in with."""
    password: str
    """Of the owner."""
    language: str
    notes: tuple[str, ...] = ()
    """Notes for the owner before work begins."""


def create(folder: Path, examples: str, new: NewProject, *, data: Path | None = None) -> NewReport:
    """Make a project of the examples of a dataset, folder or file; an owner with a password is made too.

    Settings that `new` does not give come from a task sheet next to the examples, else from the texts. Raises `BadInput` where
    the folder exists or the form cannot show an example; then nothing is left behind.
    """
    new, sources = complete_settings(new, examples, read_sources(examples, data))
    workers = new.workers or DEFAULT_WORKERS
    more = find_form(new.form).reports
    codes = (code for code in REPORTS if code in (*COMMON_REPORTS, *more))
    reports = Reports(codes=cast(tuple[ReportCode, ...], tuple(codes))) if more else Reports()
    if new.reports:
        reports = Reports(codes=cast(tuple[ReportCode, ...], new.reports), counted=True)
    settings = Settings(
        title=new.title or folder.name,
        form=new.form,
        language=cast(Language, new.language),
        assign=Assign(workers_per_item=workers),
        reports=reports,
        options=dict(new.options),
    )
    shared_key, key_note = choose_key(examples, new.key, new.share_key_with)
    authors = read_source_writers(examples).values()
    guidelines = {}
    if new.guideline and new.reports:
        guidelines = make_guideline(**{new.language: new.guideline})
    elif new.guideline:  # who reviews reported items, say, is not sent to report them again
        guidelines = {new.language: format_guideline(new.language, new.guideline)}
    project = create_project(folder, settings, sources, authors, shared_key, guidelines)
    password = secrets.token_urlsafe(12)
    try:
        with open_synced(folder, new.database, is_new=True) as (_, store):
            store.write(set_person, OWNER, "owner", hash_password(password), time.time())
            items = store.read(count_items, "main")
    except BaseException:
        shutil.rmtree(folder)  # a database that does not answer leaves no half of a project
        raise
    notes = (*new.notes, *filter(None, (key_note,)), *_note_pseudonyms(project))
    return NewReport(str(folder), new.form, items, workers, OWNER, password, new.language, notes)


def _note_pseudonyms(project: Project) -> tuple[str, ...]:
    """A warning if texts may be given to their own writers, because the names of the writers are unknown.

    Pseudonyms of the project's own key are as good as names. Where the file of writers is missing or older, nothing
    tells by which key they were made.
    """
    known = read_writers(project.folder / WRITERS)
    marks = {key.mark for key in project.pseudonym_keys}
    foreign = unsure = 0
    for example in read_examples(project.folder / KINDS["main"]):
        if any(map(is_pseudonym, barred_from(example, known))):
            mark = known[example.id].key if example.id in known else ""
            foreign += bool(mark) and mark not in marks
            unsure += not mark
    cure = (
        "make the project again with --share-key-with and the project they were written in, or with the file"
        " NAME.writers.jsonl that an export without --pseudonymise writes next to the examples"
    )
    notes = []
    if foreign:
        notes.append(
            f"{foreign:,} texts name their writers by pseudonyms of another key: the writer of a text may be given it to"
            f" judge; {cure}"
        )
    if unsure:
        notes.append(
            f"{unsure:,} texts name their writers by pseudonyms without saying which key made them: unless it is the key of this project,"
            f" the writer of a text may be given it to judge; {cure}"
        )
    return tuple(notes)


def create_demo(folder: Path) -> NewReport:
    """A project on the embedded Japanese dataset, with control items and a pilot."""
    embedded = [one for one in benchmarks().values() if not one.repository]
    dataset = load(next(one.name for one in embedded if one.language == "ja"))
    pairs = {
        split: [
            replace(
                example, id=reference(dataset.name, split, example.id), meta={}, tags=frozenset()
            )
            for example in examples
            if {"premise", "hypothesis"} <= example.inputs.keys() and "label" in example.gold
        ]
        for split, examples in dataset.splits.items()
    }
    train, test = pairs["train"], pairs["test"]
    labels = sorted({str(example.gold["label"]) for example in train})
    assign = Assign(workers_per_item=3)
    settings = Settings(
        title="Nikawa demo", form="choice", assign=assign, options={"labels": labels}
    )
    project = create_project(folder, settings, test)
    for kind, examples in (("gold", train[3:13]), ("pilot", train[:3])):
        known = [replace(example, gold={"label": example.gold["label"]}) for example in examples]
        with private_files():
            write_records(project.folder / KINDS[kind], known, overwrite=True)
    password = secrets.token_urlsafe(12)
    with open_synced(folder, is_new=True) as (_, store):
        store.write(set_person, OWNER, "owner", hash_password(password), time.time())
    return NewReport(
        str(folder), settings.form, len(test), assign.workers_per_item, OWNER, password, "ja"
    )


def set_password(
    folder: Path, name: str, role: str, secret: str | None = None, database: str = ""
) -> str:
    """Add an owner or reviewer, or give them a new password, which is returned.

    `role` is `owner` or `reviewer`; without a `secret` the password is random.
    """
    if fault := find_name_fault(name):
        cure = f"use 1 to {MAX_NAME_CHARS} visible characters"
        raise BadInput(f"{name!r} cannot log in: {fault}", cure=cure)
    password = secret or secrets.token_urlsafe(12)
    password_hash = hash_password(password)
    with open_synced(folder, database) as (_, store):
        store.write(set_person, name, role, password_hash, time.time())
    return password


def read_status(folder: Path, database: str = "") -> dict[str, Any]:
    """How far a project is, its workers and what they reported; it may be served meanwhile."""
    with open_synced(folder, database) as (project, store):
        return {"project": str(folder), **store.read(overview, project)}


def backup(folder: Path, out: Path, *, overwrite: bool = False, database: str = "") -> None:
    """Copy the database to `out` while people work; only SQLite can be copied, PostgreSQL has its own tools."""
    with open_synced(folder, database) as (_, store):
        store.backup(out, overwrite=overwrite)


@dataclass(frozen=True)
class Links:
    """Links of workers, and the entrance for a platform where the project has one."""

    links: tuple[tuple[str, str], ...]
    """Name and whole link of each worker."""
    join: str | None
    """The address to which a platform appends the worker id; None if the project has no link to join."""
    address: str = ""
    """What they begin with."""
    notes: tuple[str, ...] = ()
    """Names that are another worker's, spelled otherwise, and names that look like another's."""


def create_links(
    folder: Path, names: Sequence[str], address: str | None = None, database: str = ""
) -> Links:
    """Make links for workers; the same name gets the same link every time, however it is spelled.

    They begin with `address`, else with that of project.toml, else with the one the server was last started at.
    """
    with open_synced(folder, database) as (project, store):
        if faulty := store.read(find_faulty_name, names):
            what = f"{faulty[0]!r} cannot be a worker's name: {faulty[1]}"
            raise BadInput(what, cure=f"use 1 to {MAX_NAME_CHARS} visible characters")
        if address is None:
            started_at = store.read(get_value, ADDRESS) or ServeOptions().base(ServeOptions.port)
            address = project.settings.address or started_at
        base, links = address.rstrip("/"), []
        if names:
            links = store.write(make_links, project, names, "command", time.time())
        crowd = project.settings.crowd
        join = f"{base}/join/{project.join_key}?{crowd.parameter}=" if crowd.join else None
        rows = tuple((name, f"{base}/w/{token}") for name, token in links)
        notes = _note_spellings(names, [name for name, _ in rows], store.read(read_names))
        return Links(rows, join, base, notes)


def _note_spellings(
    given: Sequence[str], stored: list[str], everybody: list[str]
) -> tuple[str, ...]:
    """Notes for the owner about the names they gave: a note for each that stands for, or looks like, another."""
    notes = [
        f"{name!r} is the worker {other!r}, in another spelling: the link belongs to them"
        for name, other in zip(given, stored, strict=True)
        if name.strip() != other
    ]
    for group in find_look_alikes(everybody):
        if not set(group).isdisjoint(stored):
            notes.append(
                f"these names look alike: {describe_look_alikes(group)}; do they belong to the same person?"
            )
    return tuple(notes)


@dataclass(frozen=True)
class RekeyReport:
    """The effects of a change of keys."""

    project: str
    """The folder."""
    done: bool
    """Whether it was done; else this is what would be."""
    draws: bool
    """Whether draws change: they need the project's secret from now on."""
    pseudonyms: bool
    """Whether workers get other pseudonyms in exports from now on."""
    workers: int
    """Workers who have begun."""
    changes: tuple[str, ...]
    """Each change in words; nothing where nothing changes."""


def rekey(
    folder: Path,
    *,
    apply: bool = False,
    pseudonyms: bool = False,
    key: Path | None = None,
    share_key_with: Path | None = None,
    database: str = "",
) -> RekeyReport:
    """Let a project that began under older rules go by those of new ones; without `apply` only say what would change.

    Draws get keyed with the project's secret, so that no worker can predict control items. Where `pseudonyms`, `key` or
    `share_key_with` asks for it, pseudonyms get a key that projects share (`choose_key`). Links, answers, and what
    workers have seen or hold stay. The order of texts in exports stays too: their ids are in files elsewhere.
    """
    changes_key = pseudonyms or key is not None or share_key_with is not None
    with open_synced(folder, database) as (project, store):
        has_old_draws = not store.read(is_keyed, DRAWS)
        workers = store.read(all_workers)
        begun = sum(1 for worker in workers if worker.serial)
        new_key: PseudonymKey | None = None
        key_file = key or owner_key_file()
        if changes_key and (apply or share_key_with is not None):
            new_key, problem = choose_key("", key, share_key_with)
            if new_key is None:
                raise BadInput(problem, cure="pass a file with --key FILE")
        elif changes_key and key_file.exists():  # one that does not is made when the change is
            new_key = read_key(key_file)
        has_new_key = changes_key and (new_key is None or new_key != project.pseudonym_keys[0])
        changes = []
        if has_old_draws:
            changes.append(
                "control items and the order of items are drawn with the project's secret; the order changes for"
                f" workers who have started ({begun:,} so far), and no worker gets an item twice"
            )
        if has_new_key:
            changes.append(
                f"all workers ({len(workers):,} so far) get other pseudonyms in exports from now on; earlier exports keep"
                " theirs, and import reads both; restart a running server"
            )
        if apply:
            if has_old_draws:
                store.write(key_draws, project, time.time())
            if has_new_key and new_key is not None:
                write_key(folder / OWNER_KEY, new_key, overwrite=True)
                rekeyed = open_project(folder)
                for worker in workers:
                    store.write(bar_own_texts, rekeyed, worker)
        return RekeyReport(str(folder), apply, has_old_draws, has_new_key, begun, tuple(changes))


@dataclass(frozen=True)
class ServeOptions:
    """Where a server listens, and where its data is."""

    host: str = "127.0.0.1"
    """0.0.0.0 listens on all interfaces."""
    port: int = 8000
    """0: any that is free."""
    database: str = ""
    """A PostgreSQL address; empty: the file in the folder of the project."""
    trusted_proxies: tuple[str, ...] = ()
    """Web servers in front whose X-Forwarded-For is trusted, in addition to those of project.toml."""

    def base(self, port: int) -> str:
        """What addresses of its pages begin with; one that listens everywhere can be reached on this machine."""
        return local_address(self.host, port)


def serve(
    folder: Path,
    options: ServeOptions,
    on_start: Callable[[int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> None:
    """Serve a project until interrupted; `on_start` gets the port, `on_note` what the owner should know before."""
    from nikawa.collect.analyses import ANALYSES, in_process
    from nikawa.collect.app import create_app
    from nikawa.collect.effort import describe_effort
    from nikawa.collect.prelabels import describe_prelabels
    from nikawa.serve.clients import Networks
    from nikawa.serve.listeners import Listeners
    from nikawa.serve.server import ConnectionLimits, run_server

    analyses = {name: in_process(analysis) for name, analysis in ANALYSES.items()}
    with open_synced(folder, options.database) as (project, store):

        def remember_address(port: int) -> None:
            store.write(set_value, ADDRESS, options.base(port))
            if on_start is not None:
                on_start(port)

        for note in (describe_prelabels(store, project), describe_effort(store, project)):
            if on_note is not None and note:
                on_note(note)
        for language in LANGUAGES:
            project.guideline(
                language
            )  # one that cannot be read is reported now, before the first worker comes
        server = project.settings.server
        trusted = Networks((*server.trusted_proxies, *options.trusted_proxies))
        limits = ConnectionLimits(server.connections, server.connections_per_address, trusted)
        listening = options.base(0).removeprefix("http://")
        listeners = Listeners()
        app = create_app(
            project,
            store,
            analyses=analyses,
            trusted=trusted,
            hosts=[listening],
            listeners=listeners,
        )
        run_server(
            app,
            options.host,
            options.port,
            limits,
            on_start=remember_address,
            on_stop=listeners.release,
        )
