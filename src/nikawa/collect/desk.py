"""What a worker's page gets to know: the stage, the item in hand, progress and earnings. Never gold, never others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from nikawa.collect.answers import Given, Report, Saved, answer, draft, last_answer, report, undo
from nikawa.collect.assign import Held, next_item, others_hold
from nikawa.collect.database import Link
from nikawa.collect.project import Project
from nikawa.collect.records import example_of
from nikawa.collect.turn import Plan, Planned, Turn, turn_of
from nikawa.collect.workers import Worker


@dataclass(frozen=True)
class Standing:
    """Where a worker stands after a request, as read in the same batch."""

    worker: Worker
    held: Held | None
    waiting: bool
    can_undo: bool
    pilot: int
    """How many items the pilot has."""


class Desk:
    """The operations of one project's workers; each is done whole, by the writer."""

    def __init__(self, project: Project) -> None:
        self.project, self.settings = project, project.settings

    def next(self, token: str, now: float) -> Planned[Standing]:
        """The item in hand, or a fresh one."""

        def plan(link: Link) -> Plan[tuple[Standing, Turn]]:
            turn = yield from turn_of(link, token, self.settings, now)
            return (yield from self._standing(turn)), turn

        return Planned(plan)

    def answer(self, token: str, given: Given, now: float) -> Planned[tuple[Saved, Standing]]:
        """Take an answer; the next item comes along."""

        def plan(link: Link) -> Plan[tuple[tuple[Saved, Standing], Turn]]:
            turn = yield from turn_of(
                link, token, self.settings, now, lease=given.lease, key=given.key
            )
            saved = yield from answer(turn, given)
            return (saved, (yield from self._standing(turn))), turn

        return Planned(plan)

    def undo(self, token: str, key: str, now: float) -> Planned[Standing]:
        """Withdraw the last answer."""

        def plan(link: Link) -> Plan[tuple[Standing, Turn]]:
            turn = yield from turn_of(link, token, self.settings, now)
            yield from undo(turn, key)
            return (yield from self._standing(turn)), turn

        return Planned(plan)

    def draft(self, token: str, lease: str, body: str, now: float) -> Planned[bool]:
        """Keep half-written work."""

        def plan(link: Link) -> Plan[tuple[bool, Turn]]:
            turn = yield from turn_of(link, token, self.settings, now, lease=lease)
            return draft(turn, lease, body), turn

        return Planned(plan)

    def report(self, token: str, given: Report, now: float) -> Planned[tuple[Saved, Standing]]:
        """Hand an item back."""

        def plan(link: Link) -> Plan[tuple[tuple[Saved, Standing], Turn]]:
            turn = yield from turn_of(link, token, self.settings, now, lease=given.lease)
            saved = yield from report(turn, given)
            return (saved, (yield from self._standing(turn))), turn

        return Planned(plan)

    def _standing(self, turn: Turn) -> Plan[Standing]:
        worker = turn.worker
        held = yield from next_item(turn)
        waiting = held is None and worker.state == "active" and not self._full(worker)
        if waiting:
            yield None
            turn.flush()
            waiting = others_hold(turn.link, worker)
        can_undo = turn.undoable
        if can_undo is None:
            can_undo = (yield from last_answer(worker)) is not None
        return Standing(worker, held, waiting, can_undo, turn.sizes["pilot"])

    def _full(self, worker: Worker) -> bool:
        return 0 < self.settings.assign.items_per_worker <= worker.answered

    def state(self, standing: Standing) -> dict[str, Any]:
        """The JSON of a standing."""
        worker, settings = standing.worker, self.settings
        stage = self._stage(standing)
        limit = settings.assign.items_per_worker
        ended = stage in ("done", "waiting") and worker.answered > 0
        return {
            "stage": stage,
            "item": None if standing.held is None else self._item(standing.held),
            "progress": {
                "answered": worker.answered,
                "left": max(0, limit - worker.answered) if limit else None,
                "pilot_left": max(0, standing.pilot - worker.pilot)
                if worker.state == "pilot"
                else 0,
            },
            "earned": {
                "amount": round(worker.earned, 4),
                "currency": settings.pay.currency,
                "per_item": settings.pay.per_item,
            },
            "can_undo": standing.can_undo,
            "code": self.project.code(worker.name) if ended else None,
            "language": worker.language,
        }

    def _stage(self, standing: Standing) -> str:
        state = standing.worker.state
        if state in ("failed", "excluded"):
            return state
        if standing.held is not None:
            return "pilot" if standing.held.kind == "pilot" else "main"
        return "waiting" if standing.waiting else "done"

    def _item(self, held: Held) -> dict[str, Any]:
        """An item as the form shows it; a control item looks like any other."""
        example = example_of(held.body)
        return {
            "lease": held.lease,
            "inputs": self.project.form.view(self.project.form, example, self.project.options),
            "draft": None if held.draft is None else msgspec.json.decode(held.draft),
            "previous": None if held.previous is None else msgspec.json.decode(held.previous),
            "expires": held.expires,
            "stage": "pilot" if held.kind == "pilot" else "main",
        }
