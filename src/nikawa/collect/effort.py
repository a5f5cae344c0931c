"""Adaptive effort: each answer decides which item the next person is asked about, and when an item has enough.

`read_plan` computes from the stored answers how sure each item is (`nikawa.aggregation.effort`), and `store_plan` writes
what follows: how many answers each item needs (`items.asked`) and its place in the order of expected gain (`efforts`).
Assignment only reads these, so a request is as fast as ever; leases and time limits work as they do for a fixed number of
workers. A plan depends on the stored answers and open leases alone: after a restart it is the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nikawa.aggregation.effort import EffortPlan, EffortRule, plan_next
from nikawa.aggregation.effort_record import EffortRecord
from nikawa.aggregation.weighing import find_model_name
from nikawa.collect.form import Form, Offer
from nikawa.collect.prelabels import CONTROL
from nikawa.collect.project import SETTINGS, Project
from nikawa.collect.store import ANSWERS, BY_MACHINE, IS_COUNTED, Store
from nikawa.errors import BadInput, NikawaError, list_names
from nikawa.records import Example, Judgement, name_kind
from nikawa.serve.database import Connection
from nikawa.serve.store import get_value, set_value

if TYPE_CHECKING:
    from nikawa.collect.site import Site

SUMMARY = "effort"
"""The key of the figures of the latest plan."""
DONE = ("sure", "settled", "most")
"""Reasons for which an item has enough answers."""
REST = 4.0
"""Times as long as a plan took until the next is made: planning takes a fifth of one core at most."""
SHORTEST_REST = 0.25
_log = logging.getLogger("nikawa.collect")


class PlannedItem(NamedTuple):
    """What a plan says of an item."""

    item: int
    wanted: int
    """Answers that it needs in all, those that were there or under way included."""
    is_done: bool
    """Whether it needs none even if the answers under way never come."""


class StoredPlan(NamedTuple):
    """A plan to be stored: all items in the order in which to ask."""

    items: list[PlannedItem]
    summary: str
    """Its figures, as JSON."""


def find_rule(project: Project) -> EffortRule | None:
    """The rule that the settings make; None where each item gets the same number of workers.

    Raises `BadInput` where the settings make no sense, or the form has no single label or number to be sure of.
    """
    effort = project.settings.effort
    if not effort.most:
        return None
    file = project.folder / SETTINGS
    if not is_closed(project.form, project.options):
        what = f"[effort] needs a form with one label or number per item; {project.form.name} asks for something else"
        raise BadInput(what, file=file, cure="remove [effort]: each item gets workers_per_item")
    try:
        return EffortRule(
            same=effort.same,
            tolerance=effort.tolerance,
            least=effort.least,
            most=effort.most,
            budget=effort.budget or None,
            pilot=effort.pilot,
            machines=effort.machines,
            kind="numbers" if is_scale(project) else "labels",
            seed=project.settings.assign.seed,
        )
    except BadInput as problem:
        raise BadInput(f"[effort]: {problem.what}", file=file, cure=problem.cure) from None


def is_closed(form: Form, options: Any) -> bool:
    """Whether the main question of a form is answered by one label or number."""
    offer = _offer_sample(form, options)
    return offer is not None and not offer.is_ranking


def list_answers(project: Project) -> tuple[Any, ...]:
    """The answers that the form offers: a label that no one has given yet may still win."""
    offer = _offer_sample(project.form, project.options)
    return () if offer is None else offer.values


def _offer_sample(form: Form, options: Any) -> Offer | None:
    if form.offers is None or form.sample is None:
        return None
    example = Example(id="sample", inputs=dict(form.sample.inputs))
    return form.offers(example, options).get(form.main_question(options))


def is_scale(project: Project) -> bool:
    """Whether the answers are numbers of a scale."""
    return hasattr(project.options, "low")


def read_plan(db: Connection, project: Project, rule: EffortRule) -> StoredPlan:
    """Plan from the answers that count now. It only reads, and takes most of its time outside the database."""
    counts, plan = _plan_items(db, project, rule)
    sure = sum(count for reason, count in plan.reasons.items() if reason in ("sure", "settled"))
    summary = {
        "answers": plan.answers,
        "sure": sure,
        "reasons": dict(plan.reasons),
        "persons_accuracy": plan.persons_accuracy,
        "machine_accuracy": dict(plan.machine_accuracy),
    }
    items = []
    for one in plan.items:
        place, given = counts[one.example]
        items.append(PlannedItem(place, given + one.more, one.reason in DONE))
    return StoredPlan(items, msgspec.json.encode(summary).decode())


def record_effort(db: Connection, project: Project) -> EffortRecord | None:
    """What the exported judgements need with them; None where each item gets the same number of workers."""
    rule = find_rule(project)
    return None if rule is None else EffortRecord.of_plan(_plan_items(db, project, rule)[1], rule)


def _plan_items(
    db: Connection, project: Project, rule: EffortRule
) -> tuple[dict[str, tuple[int, int]], EffortPlan]:
    """The main items with their numbers and how many answers are there or under way, and the plan for them."""
    ids: dict[str, tuple[int, int]] = {}
    pending: dict[str, int] = {}
    for item, ref, done, leased in db.rows(
        "SELECT id, ref, done, leased FROM items WHERE kind = 'main' AND held = 0 ORDER BY id"
    ):
        ids[ref] = int(item), int(done) + int(leased)
        if leased:
            pending[ref] = int(leased)
    question = project.form.main_question(project.options)
    judgements = read_main_answers(db, project, question, machines=rule.machines)
    labels = list_answers(project)
    plan = plan_next(judgements, ids, rule, question=question, labels=labels, pending=pending)
    return ids, plan


def read_main_answers(
    db: Connection, project: Project, question: str, *, machines: bool
) -> list[Judgement]:
    """The answers to the main question that count, of persons and, where asked for, of machines.

    Answers of a model that workers find filled in do not count: the answers of these workers lean towards them already.
    """
    form = project.form
    shown = list_shown_models(db, project) if machines else set()

    @lru_cache(maxsize=4096)
    def answer_of(body: str) -> Any:
        return dict(form.to_judgements(msgspec.json.decode(body))).get(question)

    counted = f"({IS_COUNTED})"
    if machines:
        counted = f"({IS_COUNTED} OR (a.surplus = {BY_MACHINE} AND x.answer IS NULL))"
    return [
        Judgement(
            example=ref,
            worker=worker,
            question=question,
            answer=answer_of(body),
            kind=name_kind(worker),
        )
        for ref, worker, body in db.rows(
            f"SELECT i.ref, w.name, a.body FROM {ANSWERS} JOIN items i ON i.id = a.item"  # noqa: S608
            f" WHERE a.kind = 'main' AND {counted} ORDER BY a.seq"
        )
        if not shown or find_model_name(worker) not in shown
    ]


def list_shown_models(db: Connection, project: Project) -> set[str]:
    """The models whose answers workers find filled in, or found so earlier."""
    source = project.settings.prelabels.source
    names = {source} if source else set()
    if source:
        names |= {name for (name,) in db.rows("SELECT DISTINCT source FROM prelabels")}
    names |= {
        name for (name,) in db.rows("SELECT DISTINCT source FROM prelabelled WHERE shown = 1")
    }
    return {find_model_name(name) for name in names - {CONTROL}}


def describe_effort(store: Store, project: Project) -> str:
    """What the owner should know before workers come: that imported answers of a model do not count; else empty."""
    effort = project.settings.effort
    if not (effort.most and effort.machines):
        return ""
    shown = store.read(list_shown_models, project)
    imported = store.read(
        lambda db: db.rows(
            "SELECT DISTINCT w.name FROM answers a JOIN workers w ON w.id = a.worker WHERE a.surplus = ?",
            BY_MACHINE,
        )
    )
    unused = sorted(name for (name,) in imported if find_model_name(name) in shown)
    if not unused:
        return ""
    return (
        f"[effort] the answers of {list_names(unused)} do not count towards being sure: [prelabels] shows answers of this"
        " model to workers, so they would count twice"
    )


def store_plan(db: Connection, plan: StoredPlan, budget: int) -> int:
    """Write a plan; how many items it changes.

    Answers and leases may have come since it was read: they are counted again, so that the answers and those under way never
    exceed the budget. `budget` is 0 where there is no limit.
    """
    now = {
        int(item): (int(done), int(leased), int(asked_before))
        for item, done, leased, asked_before in db.rows(
            "SELECT id, done, leased, asked FROM items WHERE kind = 'main'"
        )
    }
    room = budget - sum(done + leased for done, leased, _ in now.values())
    changes: list[tuple[int, int]] = []
    places: dict[int, int] = {}
    for place, planned in enumerate(plan.items):
        done, leased, asked_before = now[planned.item]
        more = max(0, planned.wanted - done - leased)
        if budget:
            more = max(0, min(more, room))
            room -= more
        is_open = more or (leased and not planned.is_done)  # one whose lease runs out is open again
        if is_open:
            places[planned.item] = place
        wanted = done + leased + more if is_open else done
        if wanted != asked_before:
            changes.append((wanted, planned.item))
    db.execute_many("UPDATE items SET asked = ? WHERE id = ?", changes)
    stored = {int(item): int(place) for item, place in db.rows("SELECT item, place FROM efforts")}
    gone = [(item,) for item in stored if item not in places]
    moved = [(place, item) for item, place in places.items() if stored.get(item, place) != place]
    added = [(item, place) for item, place in places.items() if item not in stored]
    db.execute_many("DELETE FROM efforts WHERE item = ?", gone)
    db.execute_many("UPDATE efforts SET place = ? WHERE item = ?", moved)
    db.execute_many("INSERT INTO efforts (item, place) VALUES (?, ?)", added)
    set_value(db, SUMMARY, plan.summary)
    return len(changes)


def plan_effort(db: Connection, project: Project) -> int:
    """Plan and store in one transaction: when the server starts, and after an import. How many items it changes."""
    rule = find_rule(project)
    return 0 if rule is None else store_plan(db, read_plan(db, project, rule), rule.budget or 0)


def effort_summary(db: Connection, project: Project) -> dict[str, Any] | None:
    """The figures for the dashboard; None where each item gets the same number of workers."""
    effort = project.settings.effort
    if not effort.most:
        return None
    latest = msgspec.json.decode(get_value(db, SUMMARY) or "{}")
    (items,) = db.required("SELECT count(*) FROM items WHERE kind = 'main' AND held = 0")
    (bought,) = db.required("SELECT coalesce(sum(done), 0) FROM items WHERE kind = 'main'")
    return {
        "rule": msgspec.to_builtins(effort),
        "items": int(items),
        "bought": int(bought),
        "fixed": int(items) * project.settings.assign.workers_per_item,
        "sure": latest.get("sure", 0),
        "reasons": latest.get("reasons", {}),
        "persons_accuracy": latest.get("persons_accuracy"),
        "machine_accuracy": latest.get("machine_accuracy", {}),
    }


class EffortPlanner:
    """Plans in the background of a server, as answers come in: one plan at a time, with a rest in between."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._rule = find_rule(site.project)
        self._lock = asyncio.Lock()
        self._is_stale = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_on(self) -> bool:
        """Whether the project adapts the number of workers."""
        return self._rule is not None

    def note_change(self) -> None:
        """Have a plan made soon: an answer has come, or was withdrawn."""
        if self._rule is None:
            return
        self._is_stale = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._keep_up())

    async def _keep_up(self) -> None:
        while self._is_stale:
            began = time.monotonic()
            await self.catch_up()
            await asyncio.sleep(max(SHORTEST_REST, REST * (time.monotonic() - began)))

    async def catch_up(self) -> None:
        """Plan now if anything has changed since the latest plan; a plan that fails is logged, and the one before stays."""
        rule = self._rule
        if rule is None:
            return
        async with self._lock:
            if not self._is_stale:
                return
            self._is_stale = False
            try:
                plan = await self._site.read(read_plan, self._site.project, rule)
                await self._site.write(store_plan, plan, rule.budget or 0)
            except NikawaError as problem:
                _log.warning("the effort was not planned: %s", problem)
