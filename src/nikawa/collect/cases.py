"""What the owner decides: items whose answers disagree as their form sees it, the answers side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from nikawa.collect.database import Link, Row
from nikawa.collect.form import Answer, Problem
from nikawa.collect.project import Project
from nikawa.collect.records import example_of, stamp
from nikawa.collect.workers import Refused
from nikawa.records import Example

PAGE = 20
"""Cases of one page."""
CHUNK, LOOKED = 25, 1000
"""Items read at a time, and the most that one request looks at."""

Tell = Callable[[Problem], str]

_STANDS = " AND a.surplus = 0 AND x.answer IS NULL AND w.state <> 'excluded'"
_ANSWERS = "answers a JOIN workers w ON w.id = a.worker LEFT JOIN withdrawals x ON x.answer = a.seq"
_UNEQUAL = f" AND i.done > 1 AND (SELECT count(DISTINCT a.body) FROM {_ANSWERS} WHERE a.item = i.id{_STANDS}) > 1"  # noqa: S608
_UNDECIDED = " AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.item = i.id)"
_ITEM = (
    "SELECT i.ref, i.id, t.body FROM items i JOIN texts t ON t.item = i.id WHERE i.kind = 'main'"
)


def disagreements(
    link: Link,
    project: Project,
    after: str = "",
    *,
    undecided: bool = False,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """A page of items whose answers disagree, or whose written texts break a rule; `after` is None at the end."""
    rule = (" AND i.done > 0" if project.form.writes else _UNEQUAL) + (
        _UNDECIDED if undecided else ""
    )
    cases: list[dict[str, Any]] = []
    for _ in range(0, LOOKED, CHUNK):
        rows = link.rows(f"{_ITEM} AND i.ref > ?{rule} ORDER BY i.ref LIMIT ?", after, CHUNK)
        for row in rows:
            after = str(row[0])
            found = _case(link, project, row, tell)
            if _disputed(project, found):
                cases.append(found)
            if len(cases) == PAGE:
                return {"cases": cases, "after": after}
        if len(rows) < CHUNK:
            return {"cases": cases, "after": None}
    return {"cases": cases, "after": after}


def case(link: Link, project: Project, ref: str, tell: Tell | None = None) -> dict[str, Any]:
    """One item, whether its answers disagree or not."""
    row = link.one(f"{_ITEM} AND i.ref = ?", ref)
    if row is None:
        raise Refused("item_unknown", 404)
    return _case(link, project, row, tell)


def _disputed(project: Project, found: dict[str, Any]) -> bool:
    """Texts that workers write are no disagreement; an answer that breaks a rule, brought in from elsewhere, is."""
    if any(side["problems"] for side in found["answers"]):
        return True
    answers = [side["answer"] for side in found["answers"]]
    return not project.form.writes and project.form.differ(answers, project.options)


def _case(link: Link, project: Project, row: Row, tell: Tell | None) -> dict[str, Any]:
    """As workers saw the item, with their answers and all decisions, the last first."""
    ref, item, body = row
    example = example_of(body)
    decisions = [
        _decision(found)
        for found in link.rows(
            "SELECT person, body, reason, at FROM decisions WHERE item = ? ORDER BY seq DESC", item
        )
    ]
    return {
        "ref": ref,
        "inputs": project.form.view(project.form, example, project.options),
        "answers": _sides(link, project, item, example, tell or _code),
        "decision": decisions[0] if decisions else None,
        "decisions": decisions,
    }


def _sides(
    link: Link, project: Project, item: int, example: Example, tell: Tell
) -> list[dict[str, Any]]:
    rows = link.rows(
        f"SELECT w.name, a.body, a.comment, a.seconds FROM {_ANSWERS} WHERE a.item = ?{_STANDS} ORDER BY a.seq",  # noqa: S608
        item,
    )
    found = []
    for worker, body, comment, seconds in rows:
        answer: Answer = msgspec.json.decode(body)
        problems = [
            tell(problem) for problem in project.form.validate(answer, example, project.options)
        ]
        found.append(
            {
                "worker": worker,
                "answer": answer,
                "comment": comment,
                "seconds": seconds,
                "problems": problems,
            }
        )
    return found


def _code(problem: Problem) -> str:
    return problem.code


def _decision(row: Sequence[Any]) -> dict[str, Any]:
    return {
        "person": row[0],
        "answer": msgspec.json.decode(row[1]),
        "reason": row[2],
        "at": stamp(row[3]),
    }
