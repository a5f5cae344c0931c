"""Judgements out of a project, while people work: one snapshot, streamed. Also texts for a next round, and decisions.

Every export of judgements contains the comments of workers, the items they reported and the decisions of the owner, with
the reason (see `io.judgements.remarks`); formats without room for them get a second file. With pseudonyms, the names of
workers and owners are replaced inside these texts too.
"""

from __future__ import annotations

import csv
import hmac
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nikawa.aggregation.effort_record import effort_file, encode_effort
from nikawa.aggregation.prelabels import is_same_answer
from nikawa.collect.effort import record_effort
from nikawa.collect.form import WriterExample
from nikawa.collect.items import open_synced
from nikawa.collect.live import authors_of
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
from nikawa.errors import BadInput, name_faulty_file, unknown
from nikawa.io.atomic import atomic_write, private_files, refuse_existing
from nikawa.io.judgements import FORMS_WITHOUT_ROOM, write_judgements
from nikawa.io.judgements.base import format_answer_cell
from nikawa.io.judgements.formula_escape import guard_cell
from nikawa.io.judgements.remarks import (
    REPORT,
    AnswersOnly,
    name_decider,
    name_person,
    remarks_file,
    write_remarks_beside,
)
from nikawa.io.records import read_examples, write_records
from nikawa.records import (
    DECISION_KINDS,
    Example,
    Judgement,
    JudgementKind,
    Prelabel,
    name_kind,
)
from nikawa.serve.background import stream_in_process
from nikawa.serve.database import Connection
from nikawa.serve.names import fold_name

PARTS = ("main", "gold", "pilot", "surplus", "withdrawn", "excluded", "decisions", "reports")
"""Parts of an export."""
WHOLE = ("main", "decisions", "reports")
"""The default parts of an export: the answers that count, all decisions, and the reports about main items."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Comes before comma-separated lines: without it Excel reads Japanese as another encoding."""
JUDGEMENT_COLUMNS = ("example", "worker", "question", "answer", "seconds", "at")
REMARK_COLUMNS = ("comment", "kind")
PRELABEL_COLUMNS = ("prelabel",)
DECISION_COLUMNS = (
    "example",
    "question",
    "answer",
    "person",
    "reason",
    "at",
    "decides",
    "earlier",
)
"""`decides` says how the decision counts (`override` or `ties`), `earlier` holds those it replaced, as JSON."""
BYTES_PER_BLOCK = 1 << 16
_CLUSTER = re.compile("(?s:.)[\u0300-\u036f\u3099\u309a\uff9e\uff9f\u1160-\u11ff]*")
"""A character with the marks and letters that compose with it: か\u3099 is が, and three Jamo are a syllable."""


@dataclass(frozen=True)
class ExportOptions:
    """How judgements are written."""

    parts: tuple[str, ...] = WHOLE
    """What is written: some of `PARTS`."""
    pseudonymise: bool = False
    """Whether workers are named by pseudonyms."""
    form: str | None = None
    """`csv`, `examples`, `decisions`, or a form of `nikawa.io.judgements`; None: by the suffix of the file."""
    overwrite: bool = False
    """Whether a file that exists is replaced; else it is bad input."""


class ExportCount(NamedTuple):
    """The result of an export."""

    written: int
    """Judgements of workers; tasks for Label Studio; examples or lines of decisions where these are written."""
    decisions: int = 0
    reports: int = 0
    comments: int = 0
    """Judgements that have a comment of the worker."""
    remarks: Path | None = None
    """The second file, if the format has no room for the last three."""


def export(
    folder: Path, out: Path, options: ExportOptions | None = None, database: str = ""
) -> ExportCount:
    """Write the judgements so far, texts to judge or decisions, from one moment, while people work.

    The project may be served meanwhile. The file has mode 0600.
    """
    options = options or ExportOptions()
    form = options.form or ("csv" if out.name.endswith(".csv") else None)
    with (
        open_synced(folder, database) as (project, store),
        store.connection() as db,
        private_files(),  # only the owner may see who answered what, until it is published
    ):
        if form == "examples":
            return ExportCount(_write_examples(db, project, out, options))
        if form == "decisions":
            return ExportCount(_write_decisions(db, project, out, options))
        rows = read_judgements(db, project, options.parts, pseudonymise=options.pseudonymise)
        counted = _Counted(rows)
        effort = record_effort(db, project)
        if effort is not None:  # what was not asked, and why, is part of what the answers are worth
            with atomic_write(effort_file(out), overwrite=options.overwrite) as stream:
                stream.write(encode_effort(effort))
        elif options.overwrite:
            effort_file(out).unlink(missing_ok=True)  # of an earlier export
        judgements: Iterable[Judgement] = counted
        if form == "csv" or (form is None and ".jsonl" in out.name):
            lines = json_lines(counted)
            if form == "csv":
                lines = csv_lines(counted, list_columns(db))
            with atomic_write(out, overwrite=options.overwrite) as stream:
                for block in lines:  # a compressed stream takes no list
                    stream.write(block)
            return counted.report()
        answers = AnswersOnly(counted) if form in FORMS_WITHOUT_ROOM else None
        if answers is not None:
            refuse_existing(remarks_file(out), options.overwrite)
            judgements = answers
        examples = None
        if form in ("label-studio", "doccano"):
            examples = {example.id: example for example in read_examples(project.folder / EXAMPLES)}
        texts = project.form.questions if project.form.writes else ()
        written = write_judgements(
            out, judgements, form, examples=examples, texts=texts, overwrite=options.overwrite
        )
        count = counted.report()
        if form == "label-studio":
            count = count._replace(written=written)  # tasks, each with all its annotations
        if answers is not None:
            count = count._replace(remarks=write_remarks_beside(out, answers.apart))
        return count


class _Counted:
    """Counts the judgements that pass."""

    def __init__(self, rows: Iterable[Judgement]) -> None:
        self._rows = rows
        self._kinds: Counter[str] = Counter()
        self._comments = 0

    def __iter__(self) -> Iterator[Judgement]:
        for row in self._rows:
            self._kinds[row.kind] += 1
            if row.kind == "person" and row.comment:
                self._comments += 1
            yield row

    def report(self) -> ExportCount:
        """What passed."""
        decisions = sum(self._kinds[kind] for kind in DECISION_KINDS)
        return ExportCount(
            sum(self._kinds[kind] for kind in ("person", "machine", "simulated")),
            decisions,
            self._kinds[REPORT],
            comments=self._comments,
        )


def stream_export(
    project: Project, store: Store, form: str, *, pseudonymise: bool
) -> Iterator[bytes]:
    """The judgements so far as lines of JSON (`jsonl`) or commas (`csv`), computed in a separate process."""
    return stream_in_process(
        export_lines, str(project.folder), store.database.address, form, pseudonymise
    )


def export_lines(folder: str, database: str, form: str, pseudonymise: bool) -> Iterator[bytes]:
    """The judgements so far as lines, with a separate connection."""
    project = open_project(Path(folder))
    db = project_database(database, project.folder, project.name).connect()
    try:
        judgements = read_judgements(db, project, WHOLE, pseudonymise=pseudonymise)
        if form == "csv":
            yield from csv_lines(judgements, list_columns(db))
        else:
            yield from json_lines(judgements)
    finally:
        db.close()


def read_judgements(
    db: Connection,
    project: Project,
    parts: Iterable[str] = ("main",),
    *,
    pseudonymise: bool = False,
) -> Iterator[Judgement]:
    """The judgements of these parts, oldest first: answers, then reports, then the owner's decisions.

    They are streamed from one snapshot: what comes in meanwhile is not among them. An unknown part is bad input.
    """
    included = set(parts)
    for part in included - set(PARTS):
        raise unknown("part", part, PARTS)
    names = _Names(db, project) if pseudonymise else None
    if included - {"decisions", "reports"}:
        yield from read_answers(db, project, included, names)
    if "reports" in included:
        yield from read_reports(db, included, names)
    if "decisions" in included:
        yield from read_decisions(db, project, names)


def is_common_name(name: str) -> bool:
    """Whether a name is nothing but a letter or a small number, which comments hold without speaking of anybody."""
    return not name.strip() or (
        name.isascii() and (len(name) < 2 or (name.isdigit() and len(name) < 4))
    )


class _Names:
    """The names of workers and owners in an export with pseudonyms."""

    def __init__(self, db: Connection, project: Project) -> None:
        self.hide: Callable[[str], str] = cache(project.pseudonym)
        everyone = [str(name) for (name,) in db.rows("SELECT name FROM workers")]
        people = [name for name in everyone if name_kind(name) == "person"]
        people += [str(name) for (name,) in db.rows("SELECT DISTINCT person FROM decisions")]
        # A name of letters and digits is searched as a whole word: `an` does not match inside `and`. Blanks inside a name may be
        # missing, and of any width: 山田　太郎 is 山田 太郎.
        spellings = {fold_name(name): name for name in people if not is_common_name(name)}
        self._by_letters = {"".join(one.split()): name for one, name in spellings.items()}
        patterns = []
        for spelling in sorted(spellings, key=len, reverse=True):
            pattern = r"\s*".join(map(re.escape, spelling.split()))
            is_word = spelling.isascii()
            patterns.append(rf"(?<![0-9a-z]){pattern}(?![0-9a-z])" if is_word else pattern)
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def hide_in(self, text: str) -> str:
        """A comment or reason with the pseudonyms of the people whose names it holds, however they are typed."""
        if not text or self._pattern is None:
            return text
        folded, places = fold_text(text)
        parts, end = [], 0
        for match in self._pattern.finditer(folded):
            start = places[match.start()][0]
            if start < end:  # one character of the text may be several of the folded one
                continue
            name = self._by_letters.get("".join(match[0].split()), match[0])
            parts += [text[end:start], self.hide(name)]
            end = places[match.end() - 1][1]
        return "".join((*parts, text[end:]))


def fold_text(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text as `fold_name` spells names, and for each of its characters where it begins and ends in the text."""
    folded: list[str] = []
    places: list[tuple[int, int]] = []
    for cluster in _CLUSTER.finditer(text):
        plain = unicodedata.normalize("NFKC", cluster[0]).casefold()
        folded.append(plain)
        places += [cluster.span()] * len(plain)
    return "".join(folded), places


def find_rankings(project: Project) -> set[str]:
    """The questions that are answered with a ranking: of a list of labels the order counts. A set of labels has none."""
    form = project.form
    if form.offers is None or form.sample is None:
        return set()
    offers = form.offers(Example(id="sample", inputs=dict(form.sample.inputs)), project.options)
    return {name for name, offer in offers.items() if offer.is_ranking and not offer.is_set}


def _choose_kinds(parts: set[str]) -> str:
    """The kinds of items that are written, as a list of SQL; control and pilot items stay hidden unless they are named."""
    kinds = [kind for kind in ("main", "gold", "pilot") if kind in parts] or ["main"]
    return ", ".join(f"'{kind}'" for kind in kinds)


def read_answers(
    db: Connection, project: Project, parts: set[str], names: _Names | None
) -> Iterator[Judgement]:
    """The judgements of answers, oldest first; `parts` says which kinds are included (see `PARTS`)."""
    rules = [f"a.kind IN ({_choose_kinds(parts)})"]
    if "surplus" not in parts:
        rules.append("a.surplus <> 1")
    if "withdrawn" not in parts:
        rules.append("x.answer IS NULL")
    if "excluded" not in parts:
        rules.append("w.state <> 'excluded'")

    @lru_cache(maxsize=4096)  # most projects have few different answers
    def split(body: str) -> list[tuple[str, Any]]:
        return project.form.to_judgements(msgspec.json.decode(body))

    rankings = find_rankings(project)
    for ref, worker, body, seconds, at, comment, source, suggested, shown in db.stream(
        "SELECT i.ref, w.name, a.body, a.seconds, a.at, a.comment, p.source, p.body, p.shown"  # noqa: S608
        f" FROM {ANSWERS} JOIN items i ON i.id = a.item"
        " LEFT JOIN prelabelled p ON p.item = a.item AND p.worker = a.worker"
        f" WHERE {' AND '.join(rules)} ORDER BY a.seq"
    ):
        kind, time = name_kind(worker), format_time(at)
        name = worker if names is None or kind != "person" else names.hide(worker)
        if comment and names is not None:
            comment = names.hide_in(comment)  # noqa: PLW2901
        given = {} if suggested is None else dict(split(suggested))
        for question, answer in split(body):
            prelabel = None
            if question in given:
                is_ranking = question in rankings
                is_same = is_same_answer(answer, given[question], is_ranking=is_ranking)
                is_changed = bool(shown) and not is_same
                prelabel = Prelabel(
                    answer=given[question], worker=source, shown=bool(shown), changed=is_changed
                )
            yield Judgement(
                example=ref,
                worker=name,
                question=question,
                answer=answer,
                seconds=seconds,
                at=time,
                kind=kind,
                comment=comment,
                prelabel=prelabel,
            )


def read_reports(db: Connection, parts: set[str], names: _Names | None) -> Iterator[Judgement]:
    """The items that workers reported, with code and comment, of the kinds that `parts` selects."""
    rules = [f"i.kind IN ({_choose_kinds(parts)})"]
    if "excluded" not in parts:
        rules.append("w.state <> 'excluded'")
    for ref, worker, code, comment, at in db.stream(
        "SELECT i.ref, w.name, r.code, r.comment, r.at FROM reports r JOIN items i ON i.id = r.item"  # noqa: S608
        f" JOIN workers w ON w.id = r.worker WHERE {' AND '.join(rules)} ORDER BY r.seq"
    ):
        yield Judgement(
            example=ref,
            worker=worker if names is None else names.hide(worker),
            question=REPORT,
            answer=code,
            at=format_time(at),
            kind="report",
            comment=comment if names is None else names.hide_in(comment),
        )


def read_decisions(db: Connection, project: Project, names: _Names | None) -> Iterator[Judgement]:
    """All decisions, the oldest first; the kind says how they count, as the project has it."""
    kind: JudgementKind = (
        "tie-decision" if project.settings.adjudication.decisions == "ties" else "decision"
    )
    for ref, person, body, reason, at in db.stream(
        "SELECT i.ref, d.person, d.body, d.reason, d.at FROM decisions d JOIN items i ON i.id = d.item ORDER BY d.at, d.seq"
    ):
        name = person if names is None else names.hide(person)
        for question, answer in project.form.to_judgements(msgspec.json.decode(body)):
            yield Judgement(
                example=ref,
                worker=name_decider(kind, name),
                question=question,
                answer=answer,
                at=format_time(at),
                kind=kind,
                comment=reason if names is None else names.hide_in(reason),
            )


def list_columns(db: Connection) -> tuple[str, ...]:
    """The columns of a sheet: those for comments, kinds and pre-labels only where a project has any."""
    tables = ("answers WHERE comment <> ''", "reports", "decisions")
    has_remarks = any(db.one(f"SELECT 1 FROM {table} LIMIT 1") is not None for table in tables)  # noqa: S608
    has_prelabels = db.one("SELECT 1 FROM prelabelled LIMIT 1") is not None
    remarks = REMARK_COLUMNS if has_remarks else ()
    return (*JUDGEMENT_COLUMNS, *remarks, *(PRELABEL_COLUMNS if has_prelabels else ()))


def csv_lines(
    judgements: Iterable[Judgement],
    columns: Sequence[str] = (*JUDGEMENT_COLUMNS, *REMARK_COLUMNS),
) -> Iterator[bytes]:
    """The judgements as comma-separated lines in blocks, headings first, for Excel too."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(columns)
    yield BYTE_ORDER_MARK
    for judgement in judgements:
        cells = []
        for column in columns:
            value = getattr(judgement, column)
            if column == "kind" and value == "person":
                value = None  # a blank cell is a worker's answer
            if column == "answer":
                value = format_answer_cell(value)
            if column == "prelabel" and value is not None:
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
    """Write the texts of workers as examples for others to judge, and a file that names their writers; return the number of examples."""
    refuse_existing(out, options.overwrite)
    rows = list(_read_written_examples(db, project, options.pseudonymise))
    authors = [authorship for _, authorship in rows]
    write_writers(writers_file(out), authors, overwrite=options.overwrite)
    return write_records(out, [example for example, _ in rows], overwrite=options.overwrite)


def _read_written_examples(
    db: Connection, project: Project, pseudonymise: bool
) -> Iterator[tuple[Example, Authorship]]:
    """One example per text, under a number that does not tell what it was meant to be; who wrote it is apart.

    The order within an item is by a keyed hash, so that the place of a text does not give its label away, not even to
    who knows its writer. A project that began before that was so keeps its order: ids must not move to other texts. Answers that break
    a rule of the form, which only come from elsewhere, are skipped.
    """
    form, options = project.form, project.options
    if form.to_judge is None:
        cure = "remove --to examples: the answers of this form are judgements"
        raise BadInput(f"the form {form.name} does not ask workers to write texts", cure=cure)
    key = project.draw_key if is_keyed(db, TEXT_ORDER) else b""
    mark = project.pseudonym_keys[0].mark if pseudonymise else ""
    rows = db.stream(
        f"SELECT i.ref, w.name, t.body, a.body, i.id FROM {ANSWERS} JOIN items i ON i.id = a.item"  # noqa: S608
        " JOIN texts t ON t.item = i.id"
        f" WHERE a.kind = 'main' AND {IS_COUNTED} ORDER BY i.position, a.seq"
    )
    for ref, answers in groupby(rows, key=lambda row: str(row[0])):
        drawn: list[tuple[bytes, str, WriterExample]] = []
        authors: tuple[str, ...] = ()
        for _, worker, text, body, item in answers:
            answer = msgspec.json.decode(body)
            if project.is_together:
                if drawn:  # the answer of both is one text
                    continue
                authors = tuple(authors_of(db, item))
            with name_faulty_file(project.folder / "collect.db"):
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
            others = tuple(
                project.pseudonym(author) if pseudonymise else author
                for author in authors
                if author != worker
            )
            yield (
                Example(
                    id=name,
                    inputs=written.inputs,
                    meta={WRITER: pseudonym, **written.meta},
                    group=ref,
                ),
                Authorship(
                    example=name, writer=writer, others=others, meant=written.meant, key=mark
                ),
            )


def _write_decisions(db: Connection, project: Project, out: Path, options: ExportOptions) -> int:
    """The last decision of each item, one line per question, in the format that `nikawa aggregate --adjudicated` reads.

    Returns how many lines were written below the header.
    """
    chains: dict[tuple[str, str], list[Judgement]] = {}
    names = _Names(db, project) if options.pseudonymise else None
    for decision in read_decisions(db, project, names):
        chains.setdefault((decision.example, decision.question), []).append(decision)
    position = {ref: place for place, (ref,) in enumerate(db.rows(_DECIDED_ITEMS))}
    columns = DECISION_COLUMNS if chains else DECISION_COLUMNS[:5]
    lines = ["\t".join(columns)]
    for (ref, question), chain in sorted(chains.items(), key=lambda pair: position[pair[0][0]]):
        last = chain[-1]
        earlier = [
            {
                "answer": one.answer,
                "person": name_person(one),
                "reason": one.comment,
                "at": one.at,
            }
            for one in chain[:-1]
        ]
        is_text = isinstance(last.answer, str)
        value = guard_cell(last.answer) if is_text else msgspec.json.encode(last.answer).decode()
        cells = (
            guard_cell(ref),
            question,
            value,
            guard_cell(name_person(last)),
            guard_cell(last.comment),
            last.at,
            project.settings.adjudication.decisions,
            msgspec.json.encode(earlier).decode() if earlier else "",
        )
        # A line is a decision: breaks and tabs cannot stay. Other blanks may belong to a label.
        lines.append("\t".join(" ".join(_BREAKS.split(str(cell))) for cell in cells))
    with atomic_write(out, overwrite=options.overwrite) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
    return len(lines) - 1


_BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_DECIDED_ITEMS = (
    "SELECT ref FROM items WHERE kind = 'main' AND id IN (SELECT item FROM decisions)"
    " ORDER BY position"
)
