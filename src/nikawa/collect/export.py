"""Judgements out of the store and into it, while people work: one snapshot, streamed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec

from nikawa.collect.assign import remember
from nikawa.collect.database import Link
from nikawa.collect.project import NAME, Project, can_be_called, hashed
from nikawa.collect.records import moment, stamp
from nikawa.collect.workers import add_worker, audit
from nikawa.errors import BadInput, unknown
from nikawa.io.judgements.guard import safe
from nikawa.records import Judgement

PARTS = ("main", "gold", "pilot", "surplus", "withdrawn", "excluded", "decisions")
"""What an export may hold; without a word it is `main`: the answers that stand."""
MARK = b"\xef\xbb\xbf"
"""Stands before comma-separated lines: without it Excel reads Japanese as another encoding."""
HEAD = ("example", "worker", "question", "answer", "seconds", "at")

Name = Callable[[str], str]


def judgements(
    link: Link, project: Project, parts: Iterable[str] = ("main",), *, pseudonymise: bool = False
) -> Iterator[Judgement]:
    """The judgements of these parts, oldest first, the owner's decisions last."""
    wanted = set(parts)
    for part in wanted - set(PARTS):
        raise unknown("part", part, PARTS)
    name = _names(project) if pseudonymise else str
    if wanted - {"decisions"}:
        yield from _answers(link, project, wanted, name)
    if "decisions" in wanted:
        yield from _decisions(link, project)


def _answers(link: Link, project: Project, wanted: set[str], name: Name) -> Iterator[Judgement]:
    split = _splitter(project)
    for ref, worker, body, seconds, at in link.stream(
        "SELECT i.ref, w.name, a.body, a.seconds, a.at FROM answers a JOIN items i ON i.id = a.item"  # noqa: S608
        " JOIN workers w ON w.id = a.worker LEFT JOIN withdrawals x ON x.answer = a.seq"
        f" WHERE {_where(wanted)} ORDER BY a.seq"
    ):
        shown, when = name(worker), stamp(at)
        for question, answer in split(body):
            yield Judgement(
                example=ref,
                worker=shown,
                question=question,
                answer=answer,
                seconds=seconds,
                at=when,
            )


def _splitter(project: Project) -> Callable[[str], list[tuple[str, Any]]]:
    """From the stored answer to its questions; most projects have few different answers."""

    @lru_cache(maxsize=4096)
    def split(body: str) -> list[tuple[str, Any]]:
        return project.form.to_judgements(msgspec.json.decode(body))

    return split


def _where(wanted: set[str]) -> str:
    kinds = [kind for kind in ("main", "gold", "pilot") if kind in wanted]
    rules = ["a.kind IN ({})".format(", ".join(f"'{kind}'" for kind in kinds or ["main"]))]
    if "surplus" not in wanted:
        rules.append("a.surplus = 0")
    if "withdrawn" not in wanted:
        rules.append("x.answer IS NULL")
    if "excluded" not in wanted:
        rules.append("w.state <> 'excluded'")
    return " AND ".join(rules)


def _decisions(link: Link, project: Project) -> Iterator[Judgement]:
    for ref, person, body, at in link.stream(
        "SELECT i.ref, d.person, d.body, d.at FROM decisions d JOIN items i ON i.id = d.item ORDER BY d.seq"
    ):
        for question, answer in project.form.to_judgements(msgspec.json.decode(body)):
            yield Judgement(
                example=ref,
                worker=f"decision:{person}",
                question=question,
                answer=answer,
                at=stamp(at),
            )


def _names(project: Project) -> Name:
    known: dict[str, str] = {}

    def name(worker: str) -> str:
        if worker not in known:
            known[worker] = project.pseudonym(worker)
        return known[worker]

    return name


def harmless(found: Iterable[Judgement]) -> Iterator[Judgement]:
    """Judgements whose texts may stand in a sheet."""
    for judgement in found:
        yield msgspec.structs.replace(
            judgement,
            example=safe(judgement.example),
            worker=safe(judgement.worker),
            answer=safe(judgement.answer),
        )


def csv_lines(found: Iterable[Judgement]) -> Iterator[str]:
    """The judgements as comma-separated lines, headings first."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(HEAD)
    for judgement in found:
        cells = (getattr(judgement, field) for field in HEAD)
        writer.writerow(["" if cell is None else safe(_text(cell)) for cell in cells])
        if buffer.tell() > 1 << 16:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _text(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float) else msgspec.json.encode(cell).decode()


def json_lines(found: Iterable[Judgement]) -> Iterator[bytes]:
    """The judgements as JSON lines, in blocks."""
    encoder, block = msgspec.json.Encoder(), bytearray()
    for judgement in found:
        block += encoder.encode(judgement) + b"\n"
        if len(block) > 1 << 16:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def take_in(
    link: Link, project: Project, rows: Iterable[tuple[int, Judgement]], file: str, now: float
) -> tuple[int, int]:
    """Add judgements made elsewhere, all or none; how many answers were added, and how many were known."""
    items = {
        ref: (item, group)
        for item, ref, group in link.stream("SELECT id, ref, grp FROM items WHERE kind = 'main'")
    }
    grouped: dict[tuple[str, str], list[Judgement]] = {}
    hidden = {project.pseudonym(name): name for (name,) in link.rows("SELECT name FROM workers")}
    for line, judgement in rows:
        worker = hidden.get(judgement.worker, judgement.worker)
        if judgement.example not in items:
            what = f"answers about {judgement.example!r}, which is no item of the project"
            raise BadInput(what, file=file, line=line, cure="check the column of the ids")
        if not can_be_called(worker):
            cure = f"use 1 to {NAME} printable characters"
            raise BadInput(f"{worker!r} cannot be a worker's name", file=file, line=line, cure=cure)
        grouped.setdefault((worker, judgement.example), []).append(judgement)
    added = 0
    by_worker = sorted(grouped.items(), key=lambda pair: pair[0][0])
    for worker, theirs in groupby(by_worker, key=lambda pair: pair[0][0]):
        token = hashed(project.token(worker))
        person = add_worker(
            link, worker, token, "import", language=project.settings.language, now=now
        )
        added += _add(
            link, project, person.id, [(*items[ref], found) for (_, ref), found in theirs], now
        )
    link.settle("answers", "seen")
    audit(link, "command", "import", {"file": file, "answers": added}, now)
    return added, len(grouped) - added


def _add(
    link: Link,
    project: Project,
    worker: int,
    theirs: list[tuple[int, str | None, list[Judgement]]],
    now: float,
) -> int:
    """Add a worker's answers to items they have none for; how many."""
    known = {
        item
        for (item,) in link.rows(
            "SELECT item FROM answers WHERE worker = ? AND surplus = 0", worker
        )
    }
    fresh = [one for one in theirs if one[0] not in known]
    link.load(
        "answers",
        "item, worker, lease, key, kind, body, comment, seconds, at, surplus, quick, pay",
        [_row(project, worker, item, found, now) for item, _, found in fresh],
    )
    link.many("UPDATE items SET done = done + 1 WHERE id = ?", [(item,) for item, _, _ in fresh])
    link.run("UPDATE workers SET answered = answered + ? WHERE id = ?", len(fresh), worker)
    remember(link, [(worker, item, group) for item, group, _ in fresh])
    _hand_in(link, worker, {item for item, _, _ in fresh})
    return len(fresh)


def _hand_in(link: Link, worker: int, items: set[int]) -> None:
    """What the worker holds of these items is answered now: nobody judges an item twice."""
    held = link.rows(
        "SELECT id, item, state FROM leases WHERE worker = ? AND state IN ('open', 'expired', 'lost')",
        worker,
    )
    theirs = [(lease, item, state) for lease, item, state in held if item in items]
    link.many(
        "UPDATE leases SET state = 'answered' WHERE id = ?", [(lease,) for lease, _, _ in theirs]
    )
    opened = [(item,) for _, item, state in theirs if state == "open"]
    link.many("UPDATE items SET leased = leased - 1 WHERE id = ?", opened)


def _row(
    project: Project, worker: int, item: int, found: list[Judgement], now: float
) -> tuple[Any, ...]:
    body = project.form.from_judgements(
        [(judgement.question, judgement.answer) for judgement in found]
    )
    text, first = msgspec.json.encode(body).decode(), found[0]
    lease, key = f"import {worker} {item}", f"import {item}"
    return (
        item,
        worker,
        lease,
        key,
        "main",
        text,
        "",
        first.seconds,
        moment(first.at, now),
        0,
        0,
        0.0,
    )
