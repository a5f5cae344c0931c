"""Judgements out of a project, while people work: one snapshot, streamed. Also texts for a next round, and decisions."""

from __future__ import annotations

import csv
import hmac
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from nikawa.collect.form import WriterExample
from nikawa.collect.items import open_synced
from nikawa.collect.project import EXAMPLES, Project, open_project
from nikawa.collect.store import (
    ANSWERS,
    IS_COUNTED,
    TEXT_ORDER,
    Store,
    decode_example,
    format_time,
    is_keyed,
    project_database,
)
from nikawa.collect.writers import WRITER, Authorship, write_writers, writers_file
from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_write, private_files, refuse_existing
from nikawa.io.judgements import write_judgements
from nikawa.io.judgements.formula_escape import guard_cell
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement
from nikawa.serve.background import stream_in_process
from nikawa.serve.database import Connection

PARTS = ("main", "gold", "pilot", "surplus", "withdrawn", "excluded", "decisions")
"""What an export may hold; without a word it is `main`: the answers that stand."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Comes before comma-separated lines: without it Excel reads Japanese as another encoding."""
JUDGEMENT_COLUMNS = ("example", "worker", "question", "answer", "seconds", "at")
DECISION_COLUMNS = ("example", "question", "answer", "person", "reason")
BYTES_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class ExportOptions:
    """How judgements are written."""

    parts: tuple[str, ...] = ("main",)
    """Which answers are written: some of `PARTS`."""
    pseudonymise: bool = False
    """Whether workers get names that tell nothing about them."""
    form: str | None = None
    """`csv`, `examples`, `decisions`, or a form of `nikawa.io.judgements`; None: by the suffix of the file."""
    overwrite: bool = False
    """Whether a file that exists is replaced; else it is bad input."""


def export(
    folder: Path, out: Path, options: ExportOptions | None = None, database: str = ""
) -> int:
    """Write the judgements so far, texts to judge or decisions, from one moment, while people work.

    Returns how many lines or examples were written. The project may be served meanwhile. The file has mode 0600.
    """
    options = options or ExportOptions()
    form = options.form or ("csv" if out.name.endswith(".csv") else None)
    with (
        open_synced(folder, database) as (project, store),
        store.connection() as db,
        private_files(),  # who said what is for the owner alone, until they publish it
    ):
        if form == "examples":
            return _write_examples(db, project, out, options)
        if form == "decisions":
            return _write_decisions(db, project, out, options)
        judgements = read_judgements(db, project, options.parts, pseudonymise=options.pseudonymise)
        if form == "csv" or (form is None and ".jsonl" in out.name):
            counted = _Counted(judgements)
            lines = csv_lines(counted) if form == "csv" else json_lines(counted)
            with atomic_write(out, overwrite=options.overwrite) as stream:
                for block in lines:  # a compressed stream takes no list
                    stream.write(block)
            return counted.count
        if out.name.endswith(".tsv") or form not in (None, "records", "label-studio", "doccano"):
            judgements = _guard_cells(judgements)
        examples = None
        if form in ("label-studio", "doccano"):
            examples = {example.id: example for example in read_examples(project.folder / EXAMPLES)}
        return write_judgements(
            out, judgements, form, examples=examples, overwrite=options.overwrite
        )


class _Counted:
    """Counts the judgements that pass."""

    def __init__(self, rows: Iterable[Judgement]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Iterator[Judgement]:
        for row in self._rows:
            self.count += 1
            yield row


def stream_export(
    project: Project, store: Store, form: str, *, pseudonymise: bool
) -> Iterator[bytes]:
    """The judgements so far as lines of JSON (`jsonl`) or commas (`csv`), computed in a process of its own."""
    return stream_in_process(
        export_lines, str(project.folder), store.database.address, form, pseudonymise
    )


def export_lines(folder: str, database: str, form: str, pseudonymise: bool) -> Iterator[bytes]:
    """The judgements so far as lines, with a connection of their own."""
    project = open_project(Path(folder))
    db = project_database(database, project.folder, project.name).connect()
    try:
        judgements = read_judgements(db, project, pseudonymise=pseudonymise)
        yield from csv_lines(judgements) if form == "csv" else json_lines(judgements)
    finally:
        db.close()


def read_judgements(
    db: Connection,
    project: Project,
    parts: Iterable[str] = ("main",),
    *,
    pseudonymise: bool = False,
) -> Iterator[Judgement]:
    """The judgements of these parts, oldest first, the owner's decisions last.

    They are streamed from one snapshot: what comes in meanwhile is not among them. An unknown part is bad input.
    """
    included = set(parts)
    for part in included - set(PARTS):
        raise unknown("part", part, PARTS)
    if included - {"decisions"}:
        yield from read_answers(db, project, included, pseudonymise)
    if "decisions" not in included:
        return
    for ref, person, body, at in db.stream(
        "SELECT i.ref, d.person, d.body, d.at FROM decisions d JOIN items i ON i.id = d.item ORDER BY d.seq"
    ):
        worker, time = f"decision:{person}", format_time(at)
        for question, answer in project.form.to_judgements(msgspec.json.decode(body)):
            yield Judgement(example=ref, worker=worker, question=question, answer=answer, at=time)


def read_answers(
    db: Connection, project: Project, parts: set[str], pseudonymise: bool
) -> Iterator[Judgement]:
    """The judgements of answers, oldest first; `parts` says which kinds are included (see `PARTS`)."""
    kinds = [kind for kind in ("main", "gold", "pilot") if kind in parts] or ["main"]
    rules = ["a.kind IN ({})".format(", ".join(f"'{kind}'" for kind in kinds))]
    if "surplus" not in parts:
        rules.append("a.surplus = 0")
    if "withdrawn" not in parts:
        rules.append("x.answer IS NULL")
    if "excluded" not in parts:
        rules.append("w.state <> 'excluded'")
    show_name: Callable[[str], str] = cache(project.pseudonym) if pseudonymise else str

    @lru_cache(maxsize=4096)  # most projects have few different answers
    def split(body: str) -> list[tuple[str, Any]]:
        return project.form.to_judgements(msgspec.json.decode(body))

    for ref, worker, body, seconds, at in db.stream(
        f"SELECT i.ref, w.name, a.body, a.seconds, a.at FROM {ANSWERS} JOIN items i ON i.id = a.item"  # noqa: S608
        f" WHERE {' AND '.join(rules)} ORDER BY a.seq"
    ):
        name, time = show_name(worker), format_time(at)
        for question, answer in split(body):
            yield Judgement(
                example=ref, worker=name, question=question, answer=answer, seconds=seconds, at=time
            )


def _guard_cells(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Judgements whose texts no spreadsheet takes for a formula."""
    for judgement in judgements:
        yield msgspec.structs.replace(
            judgement,
            example=guard_cell(judgement.example),
            worker=guard_cell(judgement.worker),
            answer=guard_cell(judgement.answer),
        )


def csv_lines(judgements: Iterable[Judgement]) -> Iterator[bytes]:
    """The judgements as comma-separated lines in blocks, headings first, for Excel too."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(JUDGEMENT_COLUMNS)
    yield BYTE_ORDER_MARK
    for judgement in judgements:
        cells = []
        for column in JUDGEMENT_COLUMNS:
            value = getattr(judgement, column)
            if value is not None and not isinstance(value, str | int | float):
                value = msgspec.json.encode(value).decode()
            cells.append("" if value is None else guard_cell(value))
        writer.writerow(cells)
        if buffer.tell() > BYTES_PER_BLOCK:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def json_lines(judgements: Iterable[Judgement]) -> Iterator[bytes]:
    """The judgements as JSON lines, in blocks."""
    encoder = msgspec.json.Encoder()
    block = bytearray()
    for judgement in judgements:
        block += encoder.encode(judgement) + b"\n"
        if len(block) > BYTES_PER_BLOCK:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def _write_examples(db: Connection, project: Project, out: Path, options: ExportOptions) -> int:
    """What workers wrote as examples for others to judge, and beside it who wrote it; how many examples."""
    refuse_existing(out, options.overwrite)
    rows = list(_read_written_examples(db, project, options.pseudonymise))
    authors = [authorship for _, authorship in rows]
    write_writers(writers_file(out), authors, overwrite=options.overwrite)
    return write_records(out, [example for example, _ in rows], overwrite=options.overwrite)


def _read_written_examples(
    db: Connection, project: Project, pseudonymise: bool
) -> Iterator[tuple[Example, Authorship]]:
    """An example a text, under a number that does not tell what it was meant to be; who wrote it is apart.

    The order within an item is by a keyed hash, so that the place of a text does not give its label away, not even to
    who knows its writer. A project that began before that was so keeps its order: ids must not move to other texts. Answers that break
    a rule of the form, which only come from elsewhere, are skipped.
    """
    form, options = project.form, project.options
    if form.to_judge is None:
        cure = "use --to examples where workers write; others export judgements"
        raise BadInput(f"the form {form.name} asks for no texts", cure=cure)
    key = project.draw_key if is_keyed(db, TEXT_ORDER) else b""
    mark = project.pseudonym_keys[0].mark if pseudonymise else ""
    rows = db.stream(
        f"SELECT i.ref, w.name, t.body, a.body FROM {ANSWERS} JOIN items i ON i.id = a.item"  # noqa: S608
        " JOIN texts t ON t.item = i.id"
        f" WHERE a.kind = 'main' AND {IS_COUNTED} ORDER BY i.position, a.seq"
    )
    for ref, answers in groupby(rows, key=lambda row: str(row[0])):
        drawn: list[tuple[bytes, str, WriterExample]] = []
        for _, worker, text, body in answers:
            answer = msgspec.json.decode(body)
            example = decode_example(text)
            problems = form.validate(answer, example, options)
            if any(not problem.warning for problem in problems):
                continue  # brought in from elsewhere: what breaks a rule is nothing to judge
            for place, written in enumerate(form.to_judge(answer, example, options)):
                seed = f"{ref}\0{worker}\0{place}".encode("utf-8", "surrogatepass")
                draw = hmac.digest(key, seed, "sha256") if key else sha256(seed).digest()
                drawn.append((draw, worker, written))
        drawn.sort(key=lambda row: row[0])
        for number, (_, worker, written) in enumerate(drawn, start=1):
            name, pseudonym = f"{ref}-{number}", project.pseudonym(worker)
            writer = pseudonym if pseudonymise else worker
            yield (
                Example(id=name, inputs=written.inputs, meta={WRITER: pseudonym}, group=ref),
                Authorship(example=name, writer=writer, meant=written.meant, key=mark),
            )


def _write_decisions(db: Connection, project: Project, out: Path, options: ExportOptions) -> int:
    """The last decision of each item, a line a question, as `nikawa aggregate --adjudicated` reads it.

    Returns how many lines were written below the header.
    """
    lines = ["\t".join(DECISION_COLUMNS)]
    for ref, body, person, reason in db.stream(
        "SELECT i.ref, d.body, d.person, d.reason FROM decisions d JOIN items i ON i.id = d.item"
        " WHERE d.seq = (SELECT max(o.seq) FROM decisions o WHERE o.item = d.item) ORDER BY i.position"
    ):
        for question, answer in project.form.to_judgements(msgspec.json.decode(body)):
            is_text = isinstance(answer, str)
            value = guard_cell(answer) if is_text else msgspec.json.encode(answer).decode()
            cells = (guard_cell(ref), question, value, guard_cell(person), guard_cell(reason))
            lines.append("\t".join(" ".join(str(cell).split()) for cell in cells))
    with atomic_write(out, overwrite=options.overwrite) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
    return len(lines) - 1
