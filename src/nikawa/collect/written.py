"""From one round to the next: what workers wrote as examples for others to judge, and decisions for `aggregate`."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import msgspec

from nikawa.collect.database import Link
from nikawa.collect.form import Answer, Written
from nikawa.collect.project import Project
from nikawa.collect.records import WRITER, example_of
from nikawa.collect.writers import Wrote, beside, write_writers
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.judgements.guard import safe
from nikawa.io.records import write_records
from nikawa.records import Example

SHEETS = ("examples", "decisions")
HEAD = ("example", "question", "answer", "person", "reason")

_TEXTS = (
    "SELECT i.ref, w.name, t.body, a.body FROM answers a JOIN items i ON i.id = a.item JOIN texts t ON t.item = i.id"
    " JOIN workers w ON w.id = a.worker LEFT JOIN withdrawals x ON x.answer = a.seq WHERE a.kind = 'main'"
    " AND a.surplus = 0 AND x.answer IS NULL AND w.state <> 'excluded' ORDER BY i.position, a.seq"
)
_LAST = (
    "SELECT i.ref, d.body, d.person, d.reason FROM decisions d JOIN items i ON i.id = d.item"
    " WHERE d.seq = (SELECT max(o.seq) FROM decisions o WHERE o.item = d.item) ORDER BY i.position"
)


def write_sheet(
    link: Link, project: Project, out: Path, form: str, *, hidden: bool, overwrite: bool
) -> int:
    """Write one of `SHEETS`; how many examples or decisions."""
    if form == "examples":
        refuse_existing(out, overwrite)
        found = list(_examples(link, project, hidden))
        write_writers(beside(out), [wrote for _, wrote in found], overwrite=overwrite)
        return write_records(out, [example for example, _ in found], overwrite=overwrite)
    lines = list(_decisions(link, project))
    with atomic_write(out, overwrite=overwrite) as stream:
        stream.write("".join(f"{line}\n" for line in ("\t".join(HEAD), *lines)).encode())
    return len(lines)


def _examples(link: Link, project: Project, hidden: bool) -> Iterator[tuple[Example, Wrote]]:
    """An example a text, under a number that does not tell what it was meant to be; who wrote it stands apart."""
    if project.form.to_judge is None:
        cure = "use --to examples where workers write; others export judgements"
        raise BadInput(f"the form {project.form.name} asks for no texts", cure=cure)
    for ref, rows in groupby(link.stream(_TEXTS), key=lambda row: str(row[0])):
        found = []
        for _, worker, text, body in rows:
            made = _written(project, msgspec.json.decode(body), example_of(text))
            found += [(_drawn(ref, worker, n), worker, one) for n, one in enumerate(made)]
        for n, (_, worker, one) in enumerate(sorted(found, key=lambda row: row[0]), start=1):
            name, other = f"{ref}-{n}", project.pseudonym(worker)
            example = Example(id=name, inputs=one.inputs, meta={WRITER: other}, group=ref)
            yield example, Wrote(example=name, writer=other if hidden else worker, meant=one.meant)


def _written(project: Project, answer: Answer, example: Example) -> list[Written]:
    """What an answer holds to judge; one that breaks a rule, brought in from elsewhere, holds nothing."""
    problems = project.form.validate(answer, example, project.options)
    if project.form.to_judge is None or any(not problem.warning for problem in problems):
        return []
    return project.form.to_judge(answer, example, project.options)


def _drawn(ref: str, worker: str, place: int) -> bytes:
    return sha256(f"{ref}\0{worker}\0{place}".encode("utf-8", "surrogatepass")).digest()


def _decisions(link: Link, project: Project) -> Iterator[str]:
    """The last decision of each item, a line a question, as `nikawa aggregate --adjudicated` reads it."""
    for ref, body, person, reason in link.stream(_LAST):
        for question, answer in project.form.to_judgements(msgspec.json.decode(body)):
            value = (
                safe(answer) if isinstance(answer, str) else msgspec.json.encode(answer).decode()
            )
            cells = (safe(ref), question, value, safe(person), safe(reason))
            yield "\t".join(" ".join(str(cell).split()) for cell in cells)
