"""Judgements out of a project and into it, further examples, and a copy of its database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nikawa.collect.export import MARK, csv_lines, harmless, json_lines, judgements, take_in
from nikawa.collect.open import examples_of, opened, writers_beside
from nikawa.collect.project import EXAMPLES, KINDS, open_project
from nikawa.collect.writers import WRITERS, read_writers, write_writers
from nikawa.collect.written import SHEETS, write_sheet
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.judgements import How, Note, open_judgements, write_judgements
from nikawa.io.records import read_examples, write_records
from nikawa.records import Judgement


@dataclass(frozen=True)
class Out:
    """How judgements are written."""

    parts: tuple[str, ...] = ("main",)
    pseudonymise: bool = False
    form: str | None = None
    """`csv`, `examples`, `decisions`, or a form of `nikawa.io.judgements`; None: by the suffix of the file."""
    overwrite: bool = False


def export(folder: Path, out: Path, how: Out | None = None, database: str = "") -> int:
    """Write the judgements so far, texts to judge or decisions, from one moment, while people work; how many."""
    chosen = how or Out()
    form = chosen.form or ("csv" if out.name.endswith(".csv") else None)
    with opened(folder, database) as (project, store), store.read() as link:
        if form in SHEETS:
            hidden, replaced = chosen.pseudonymise, chosen.overwrite
            return write_sheet(link, project, out, form, hidden=hidden, overwrite=replaced)
        found = judgements(link, project, chosen.parts, pseudonymise=chosen.pseudonymise)
        counted = _Counted(found)
        if form == "csv" or (form is None and ".jsonl" in out.name):
            _write_text(out, counted, form == "csv", chosen.overwrite)
            return counted.count
        sheet = out.name.endswith(".tsv") or form not in (
            None,
            "records",
            "label-studio",
            "doccano",
        )
        rows = harmless(found) if sheet else found
        examples = None
        if form in ("label-studio", "doccano"):
            examples = {example.id: example for example in read_examples(project.folder / EXAMPLES)}
        return write_judgements(out, rows, form, examples=examples, overwrite=chosen.overwrite)


def _write_text(out: Path, found: Iterable[Judgement], as_csv: bool, overwrite: bool) -> None:
    with atomic_write(out, overwrite=overwrite) as stream:
        if not as_csv:
            stream.writelines(json_lines(found))
            return
        stream.write(MARK)
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
            raise BadInput(
                f"example {example.id!r}: {fault}", file=spec, cure="name other examples"
            )
    if fresh:
        wrote = writers_beside(spec)
        if wrote:
            known_writers = read_writers(project.folder / WRITERS)
            write_writers(
                project.folder / WRITERS, {**wrote, **known_writers}.values(), overwrite=True
            )
        write_records(path, [*before, *fresh], overwrite=True)
    return len(fresh)


def backup(folder: Path, out: Path, *, overwrite: bool = False, database: str = "") -> None:
    """Copy the database while people work."""
    with opened(folder, database) as (_, store):
        store.backup(out, overwrite=overwrite)
