"""Decisions of the owner: items whose answers disagree under the rule of their form, their answers, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from nikawa.collect.dashboard import item_row
from nikawa.collect.form import Answer, Problem
from nikawa.collect.imports import explain_faults, vary_answer
from nikawa.collect.project import Project
from nikawa.collect.store import (
    ANSWERS,
    BY_MACHINE,
    IS_COUNTED,
    decode_example,
    format_time,
    parse_time,
)
from nikawa.errors import BadInput
from nikawa.io.judgements.remarks import name_person
from nikawa.records import Example, Judgement
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection, Row
from nikawa.serve.errors import Refused

CASES_PER_PAGE = 20
ITEMS_PER_QUERY, MAX_ITEMS_READ = 25, 1000
"""Items read at a time, and the most that one request looks at."""

Describe = Callable[[Problem], str]
"""A problem of an answer in words."""

_ITEM = (
    "SELECT i.ref, i.id, t.body FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = 'main'"
)
_HAS_DIFFERENT_ANSWERS = f"i.done > 1 AND (SELECT count(DISTINCT a.body) FROM {ANSWERS} WHERE a.item = i.id AND {IS_COUNTED}) > 1"  # noqa: S608
_IS_UNDECIDED = "NOT EXISTS (SELECT 1 FROM decisions d WHERE d.item = i.id)"


def _describe_by_code(problem: Problem) -> str:
    """The code of a problem that no page shows."""
    return problem.code


def find_disagreements(
    db: Connection,
    project: Project,
    after: str = "",
    *,
    undecided: bool = False,
    describe: Describe = _describe_by_code,
) -> dict[str, Any]:
    """A page of items whose answers disagree, or whose written texts break a rule.

    `after` is the reference the page starts behind; the one returned starts the next page, None at the end. One
    request looks at `MAX_ITEMS_READ` items, so a page may hold few cases and still not be the last.
    """
    rules = ["i.done > 0" if project.form.writes else _HAS_DIFFERENT_ANSWERS]
    if undecided:
        rules.append(_IS_UNDECIDED)
    query = f"{_ITEM} AND i.ref > ? AND {' AND '.join(rules)} ORDER BY i.ref LIMIT ?"
    cases: list[dict[str, Any]] = []
    for _ in range(0, MAX_ITEMS_READ, ITEMS_PER_QUERY):
        rows = db.rows(query, after, ITEMS_PER_QUERY)
        for row in rows:
            after = str(row[0])
            case = _read_case(db, project, row, describe)
            if _is_disputed(project, case):
                cases.append(case)
            if len(cases) == CASES_PER_PAGE:
                return {"cases": cases, "after": after}
        if len(rows) < ITEMS_PER_QUERY:
            return {"cases": cases, "after": None}
    return {"cases": cases, "after": after}


def find_doubtful(
    db: Connection,
    project: Project,
    rows: Sequence[Mapping[str, Any]],
    after: str = "",
    *,
    undecided: bool = False,
    describe: Describe = _describe_by_code,
) -> dict[str, Any]:
    """A page of the items with doubtful answers, as the analysis `recheck` ordered them.

    Each case has `doubtful`, the workers whose answers a machine and the others contradict, and `machines`, what the machines
    answered. `after` is the place in the order that the page starts at.
    """
    by_item: dict[str, list[str]] = {}
    for row in rows:
        by_item.setdefault(str(row["ref"]), []).append(str(row["worker"]))
    refs = list(by_item)
    start = int(after) if after.isascii() and after.isdigit() else 0
    cases: list[dict[str, Any]] = []
    for place, ref in enumerate(refs[start:], start=start):
        if len(cases) == CASES_PER_PAGE:
            return {"cases": cases, "after": str(place)}
        item = db.one(f"{_ITEM} AND i.ref = ?", ref)
        if item is None:
            continue
        case = _read_case(db, project, item, describe)
        if undecided and case["decision"] is not None:
            continue
        machines = db.rows(
            "SELECT w.name, a.body FROM answers a JOIN workers w ON w.id = a.worker"
            " WHERE a.item = ? AND a.surplus = ? ORDER BY w.name",
            item[1],
            BY_MACHINE,
        )
        given = [{"worker": name, "answer": msgspec.json.decode(body)} for name, body in machines]
        cases.append({**case, "doubtful": by_item[ref], "machines": given})
    return {"cases": cases, "after": None}


def _is_disputed(project: Project, case: dict[str, Any]) -> bool:
    """Texts that workers write are no disagreement; an answer that breaks a rule, brought in from elsewhere, is."""
    if any(row["problems"] for row in case["answers"]):
        return True
    answers = [row["answer"] for row in case["answers"]]
    return not project.form.writes and project.form.differ(answers, project.options)


def find_case(
    db: Connection, project: Project, ref: str, describe: Describe = _describe_by_code
) -> dict[str, Any]:
    """One item with its answers and decisions, whether its answers disagree or not."""
    return _read_case(db, project, find_item(db, ref), describe)


def find_item(db: Connection, ref: str) -> Row:
    """Reference, id and text of a main item; raises `Refused` with status 404 if it does not exist."""
    row = db.one(f"{_ITEM} AND i.ref = ?", ref)
    if row is None:
        raise Refused("item_unknown", 404)
    return row


def _read_case(db: Connection, project: Project, row: Row, describe: Describe) -> dict[str, Any]:
    """As workers saw the item, with their answers and reports and all decisions, the last first."""
    ref, item, body = row
    example = decode_example(body)
    answers = []
    for worker, submitted, comment, seconds in db.rows(
        f"SELECT w.name, a.body, a.comment, a.seconds FROM {ANSWERS} WHERE a.item = ? AND {IS_COUNTED} ORDER BY a.seq",  # noqa: S608
        item,
    ):
        answer: Answer = msgspec.json.decode(submitted)
        problems = project.form.validate(answer, example, project.options)
        answers.append(
            {
                "worker": worker,
                "answer": answer,
                "comment": comment,
                "seconds": seconds,
                "problems": [describe(problem) for problem in problems],
            }
        )
    decisions = [
        {
            "person": person,
            "answer": msgspec.json.decode(decided),
            "reason": reason,
            "at": format_time(at),
        }
        for person, decided, reason, at in db.rows(
            "SELECT person, body, reason, at FROM decisions WHERE item = ? ORDER BY at DESC, seq DESC",
            item,
        )
    ]
    reports = [
        {"worker": worker, "code": code, "comment": comment, "at": format_time(at)}
        for worker, code, comment, at in db.rows(
            "SELECT w.name, r.code, r.comment, r.at FROM reports r JOIN workers w ON w.id = r.worker"
            " WHERE r.item = ? ORDER BY r.seq",
            item,
        )
    ]
    return {
        "ref": ref,
        "inputs": project.form.view(project.form, example, project.options),
        "answers": answers,
        "reports": reports,
        "decision": decisions[0] if decisions else None,
        "decisions": decisions,
    }


def add_decision(db: Connection, ref: str, body: str, reason: str, *, who: str, now: float) -> int:
    """Add a decision about an item; returns its number. Earlier decisions stay, and the last one counts.

    `body` is the answer as JSON, already checked against the rules of the form.
    """
    _, item, _ = find_item(db, ref)
    db.execute(
        "INSERT INTO decisions (item, person, body, reason, at) VALUES (?, ?, ?, ?, ?)",
        item,
        who,
        body,
        reason,
        now,
    )
    (seq,) = db.required("SELECT max(seq) FROM decisions")
    add_audit(db, who, "decide", {"ref": ref, "reason": reason}, now)
    return int(seq)


def _decision_key(judgement: Judgement) -> tuple[str, str, str | None, str]:
    """Item, person, time and reason: the same for all questions of one decision."""
    return judgement.example, name_person(judgement), judgement.at, judgement.comment


def import_decisions(
    db: Connection, project: Project, rows: Iterable[tuple[int, Judgement]], file: str, now: float
) -> int:
    """Add decisions made elsewhere, with their line numbers; return how many are new. A repeated decision is not new.

    Judgements of one person at one time about one item are one decision, which is held to the rules of the form.
    """
    decisions: list[tuple[Judgement, int, dict[str, Any]]] = []
    open_decisions: dict[tuple[str, str, str | None, str], dict[str, Any]] = {}
    for line, judgement in rows:
        key = _decision_key(judgement)
        parts = open_decisions.get(key)
        if parts is None or judgement.question in parts:
            parts = open_decisions[key] = {}
            decisions.append((judgement, line, parts))
        parts[judgement.question] = judgement.answer
    added = 0
    for first, line, answers in decisions:
        ref, person, at, reason = _decision_key(first)
        row = db.one(f"{_ITEM} AND i.ref = ?", ref)
        if row is None:
            what = f"decides about {ref!r}, which is not an item of the project"
            raise BadInput(what, file=file, line=line, cure="check the column with the ids")
        _, item, body = row
        answer, faults = fit_decision(project, decode_example(body), answers)
        if faults:
            why = explain_faults(project.form, faults)
            what = f"the decision about {ref!r} breaks a rule of the form: {why}"
            raise BadInput(what, file=file, line=line, cure="correct it, or remove it")
        text = msgspec.json.encode(answer, order="deterministic").decode()
        time = parse_time(at, now)
        known = db.rows(
            "SELECT body, reason, at FROM decisions WHERE item = ? AND person = ?", item, person
        )
        if any(
            (decided, why) == (text, reason)
            and (at is None or format_time(when) == format_time(time))
            for decided, why, when in known
        ):
            continue
        db.execute(
            "INSERT INTO decisions (item, person, body, reason, at) VALUES (?, ?, ?, ?, ?)",
            item,
            person,
            text,
            reason,
            time,
        )
        added += 1
    if added:
        add_audit(db, "command", "import decisions", {"file": file, "decisions": added}, now)
    return added


def fit_decision(project: Project, example: Example, raw: Answer) -> tuple[Answer, list[Problem]]:
    """The decided answer as the form takes it, written otherwise where a file cannot (a label `1` is read as a number).

    Where it takes none, the faults of the answer as it is.
    """
    first_faults: list[Problem] = []
    for values in vary_answer(raw, example, project.options):
        answer = project.form.from_judgements(list(values.items()))
        problems = project.form.validate(answer, example, project.options)
        faults = [problem for problem in problems if not problem.warning]
        if not faults:
            return answer, []
        first_faults = first_faults or faults
    return raw, first_faults


def resolve_item(
    db: Connection, ref: str, action: str, reason: str, *, who: str, now: float
) -> str:
    """Open an item that was set aside (`reopen`), or set one aside for good (`drop`).

    Returns the state of the item afterwards, as `dashboard.item_row` names it.
    """
    _, item, _ = find_item(db, ref)
    is_set_aside = {"reopen": 0, "drop": 1}.get(action)
    if is_set_aside is None:
        raise Refused("bad_request", 400)
    db.execute("UPDATE items SET held = ? WHERE id = ?", is_set_aside, item)
    add_audit(db, who, action, {"ref": ref, "reason": reason}, now)
    return str(item_row(db, item)["state"])
