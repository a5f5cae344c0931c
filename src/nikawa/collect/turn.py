"""One request of a worker: a single question for all it must know, and its writes kept until they can go together.

A request that only goes on (an answer, then the next item) is three statements: this question, the choice of the
item, and the writes. It is written as a plan, a generator that yields its questions, so that those of several
requests can travel together (`lockstep`). What is seldom costs more: leases that ran out, withdrawals, exclusion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from nikawa.collect.database import Link, Row, Step
from nikawa.collect.settings import Settings
from nikawa.collect.workers import COLUMNS, Refused, Worker

_WIDTH = COLUMNS.count(",") + 1
WORKER = ", ".join(f"w.{name.strip()}" for name in COLUMNS.split(","))
"""The columns of a worker, of the table `w`."""
_SIZE = "(SELECT coalesce(max(position) + 1, 0) FROM items WHERE kind = '{}')"
_CASE = (
    f"SELECT {WORKER}, a.lease, a.surplus, l.item, l.state, l.issued, i.kind, i.open, d.lease,"  # noqa: S608
    " (SELECT count(*) FROM leases m WHERE m.worker = w.id AND m.state IN ('open', 'expired')),"
    " EXISTS (SELECT 1 FROM leases o WHERE o.state = 'open' AND o.expires <= ?),"
    f" {_SIZE.format('main')}, {_SIZE.format('gold')}, {_SIZE.format('pilot')}"
    " FROM workers w LEFT JOIN answers a ON a.worker = w.id AND a.key = ?"
    " LEFT JOIN leases l ON l.id = ? AND l.worker = w.id LEFT JOIN items i ON i.id = l.item"
    " LEFT JOIN drafts d ON d.lease = l.id WHERE w.link = ?"
)
_SAVE = (
    "UPDATE workers SET state = ?, serial = ?, place = ?, answered = ?, pilot = ?, pilot_right = ?, gold = ?,"
    " gold_right = ?, quick = ?, seconds = ?, earned = ?, last = ? WHERE id = ?"
)

T = TypeVar("T")
Plan = Generator[Step | None, Row | None, T]
"""Yields questions and is sent their first rows; yields None before it uses the connection itself, or must see what
others wrote: from there on it runs alone."""


@dataclass(frozen=True)
class Leased:
    """A lease as the request finds it."""

    item: int
    state: str
    """`open`, `expired`, `lost` (to somebody else), `answered` or `reported`."""
    issued: float
    kind: str
    room: bool
    """Whether its item needs somebody still."""
    draft: bool


@dataclass
class Turn:
    """What a request knows, and what it is going to write."""

    link: Link
    worker: Worker
    settings: Settings
    now: float
    before: tuple[str, bool] | None
    """Lease of the answer that came with this key before, and whether it was surplus."""
    lease: Leased | None
    mine: int
    """Leases of the worker that are open or ran out."""
    overdue: bool
    """Whether any lease ran out and was not taken back yet."""
    sizes: dict[str, int]
    """Items by kind."""
    undoable: bool | None = None
    """Whether the last answer may be withdrawn, where that is known already."""
    changed: bool = False
    """Whether the worker's row is to be written."""
    touched: set[tuple[str, int]] = field(default_factory=set)
    """The rows this turn rests on or writes: two turns with one in common must come one after the other."""
    _steps: list[Step] = field(default_factory=list)

    def later(self, sql: str, *values: Any) -> None:
        """Write this with the rest; no two may touch the same row."""
        self._steps.append((sql, *values))

    def take(self) -> list[Step]:
        """What was kept; the caller writes it."""
        if self.changed:
            self._steps.append((_SAVE, *_values(self.worker, self.now)))
        steps, self._steps, self.changed = self._steps, [], False
        return steps

    def flush(self) -> None:
        """Write what was kept."""
        steps = self.take()
        if steps:
            self.link.together(*steps)

    def leased(self) -> Leased:
        """The lease that was named; it must be the worker's, and not be used up."""
        if self.lease is None:
            raise Refused("lease_unknown", 404)
        if self.lease.state in ("answered", "reported"):
            raise Refused("already_answered")
        return self.lease

    def ended(self) -> None:
        """The lease that was named is used up."""
        if self.lease is not None and self.lease.state in ("open", "expired"):
            self.mine -= 1


def _values(worker: Worker, now: float) -> tuple[Any, ...]:
    return (
        worker.state,
        worker.serial,
        worker.place,
        worker.answered,
        worker.pilot,
        worker.pilot_right,
        worker.gold,
        worker.gold_right,
        worker.quick,
        worker.seconds,
        worker.earned,
        now,
        worker.id,
    )


def turn_of(
    link: Link,
    token: str,
    settings: Settings,
    now: float,
    *,
    lease: str | None = None,
    key: str | None = None,
) -> Plan[Turn]:
    """The turn of the worker with this link (its hash), about a lease and with the key of an answer."""
    row = yield (_CASE, now, key, lease, token)
    if row is None:
        raise Refused("link_unknown", 404)
    told, surplus, item, state, issued, kind, room, draft, mine, overdue, *sizes = row[_WIDTH:]
    held = (
        None if item is None else Leased(item, state, issued, kind, bool(room), draft is not None)
    )
    worker = Worker(*row[:_WIDTH])
    return Turn(
        link=link,
        worker=worker,
        settings=settings,
        now=now,
        before=None if told is None else (told, bool(surplus)),
        lease=held,
        mine=int(mine),
        overdue=bool(overdue),
        sizes=dict(zip(("main", "gold", "pilot"), map(int, sizes), strict=True)),
        touched={("worker", worker.id)}
        if held is None
        else {("worker", worker.id), ("item", held.item)},
    )


def alone(link: Link, plan: Plan[T]) -> T:
    """Follow a plan by itself."""
    row: Row | None = None
    while True:
        try:
            question = plan.send(row)
        except StopIteration as end:
            found: T = end.value
            return found
        row = None if question is None else link.one(*question)


@dataclass(frozen=True)
class Planned(Generic[T]):
    """An operation whose plan is known: called, it is done alone."""

    plan: Callable[[Link], Plan[tuple[T, Turn]]]

    def __call__(self, link: Link) -> T:
        """Ask, then write."""
        result, turn = alone(link, self.plan(link))
        turn.flush()
        return result
