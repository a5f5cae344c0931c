"""The routes of a worker. A link is all the right a worker needs, and all that it opens is their own work."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nikawa.collect.assignment import count_free_items, has_control_items
from nikawa.collect.form import Problem
from nikawa.collect.interface import (
    AnswerBody,
    CheckBody,
    DraftBody,
    LanguageBody,
    ReportBody,
    UndoBody,
)
from nikawa.collect.live import finish_dialogue
from nikawa.collect.project import Project
from nikawa.collect.site import Site
from nikawa.collect.store import decode_example
from nikawa.collect.submissions import (
    PageState,
    Report,
    Submission,
    leased_text,
    next_item,
    report_item,
    save_answer,
    save_draft,
    undo_answer,
)
from nikawa.collect.workers import Worker, find_worker, join_worker, set_language
from nikawa.serve.errors import Refused
from nikawa.serve.listeners import Listeners
from nikawa.serve.login import hash_token
from nikawa.serve.requests import json_response, sender_address

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.serve.database import Connection

LINK_UNKNOWN = "link_unknown"
"""The code of the refusal of an unknown link."""
Handler = Callable[["Request"], Awaitable["Response"]]


MAX_LEFT_COUNTED = 1000
"""Items counted for a worker; the page says that there are more."""
FEW_LEFT = 200
"""Number of items up to which each request counts the remaining ones again."""
LEFT_SECONDS = 5.0
"""How long a count of more items than `FEW_LEFT` is taken for right."""
LEFT_ANSWERS = 20
"""Answers of a worker between two counts, where there are control items: in between each answer counts one down. A count
after each answer would reveal control items, which are not among the remaining items."""


class Remaining(NamedTuple):
    """How many items were left for a worker, and when that was counted."""

    left: int
    """The item in hand is one of them, unless it is a control item: the number is the same either way."""
    answered: int
    """Answers the worker had given then."""
    at: float
    has_control: bool
    """Whether some of what the worker sees are control items."""

    def estimate(self, answered: int) -> int:
        """The number of remaining items after this number of answers."""
        return self.left - (answered - self.answered)

    def is_current(self, answered: int, now: float) -> bool:
        """Whether the estimate is still recent enough."""
        if self.estimate(answered) < 1:
            return False
        if self.has_control:
            return abs(answered - self.answered) < LEFT_ANSWERS
        return self.left >= FEW_LEFT and now - self.at < LEFT_SECONDS


def count_remaining(db: Connection, project: Project, state: PageState, now: float) -> Remaining:
    """Count the items that are left for the worker of a page."""
    settings, worker = project.settings, state.worker
    free = count_free_items(db, worker, settings, MAX_LEFT_COUNTED)
    in_hand = state.assigned is not None and state.assigned.kind == "main"
    return Remaining(free + in_hand, worker.answered, now, has_control_items(db, settings))


def state_json(project: Project, state: PageState, left: int | None = None) -> dict[str, Any]:
    """Data of a worker's page: stage, current item, progress and earnings. Never gold, never data of others.

    `left` is how many items there are for the worker (`count_remaining`); None if they were not counted.
    """
    worker = state.worker
    settings = project.settings
    assigned = state.assigned
    item = None
    if not worker.may_work:
        stage = worker.state
    elif assigned is None:
        stage = "waiting" if state.waiting else "done"
    else:
        stage = "pilot" if assigned.kind == "pilot" else "main"
        previous, draft, prelabel = assigned.previous, assigned.draft, assigned.prelabel
        item = {  # a control item looks like any other
            "lease": assigned.lease,
            "inputs": show_inputs(project, assigned.body),
            "draft": None if draft is None else msgspec.json.decode(draft),
            "previous": None if previous is None else msgspec.json.decode(previous),
            "prelabel": None if prelabel is None else msgspec.json.decode(prelabel),
            "expires": assigned.expires,
            "stage": stage,
        }
    limit = settings.assign.items_per_worker
    has_more = left is not None and left >= MAX_LEFT_COUNTED
    if limit:
        allowed = max(0, limit - worker.answered)
        has_more = has_more and left is not None and allowed > left
        left = allowed if left is None else min(left, allowed)
    has_ended = stage in ("done", "waiting") and worker.answered > 0
    return {
        "stage": stage,
        "item": item,
        "progress": {
            "answered": worker.answered,
            "left": left,
            "more": has_more,
            "pilot_left": max(0, state.pilot_items - worker.pilot),
        },
        "earned": {
            "amount": round(worker.earned, 4),
            "currency": settings.pay.currency,
            "per_item": settings.pay.per_item,
        },
        "can_undo": state.can_undo,
        "code": project.code(worker.name) if has_ended else None,
        "language": worker.language,
    }


def show_inputs(project: Project, body: str) -> dict[str, Any]:
    """What the page of a worker shows of an item; of one for two workers nothing, since one of them may not see it."""
    if project.is_together:
        return {"live": True}
    return project.form.view(project.form, decode_example(body), project.options)


class WorkerRoutes:
    """Handlers of one site's worker pages.

    Each takes the link from the path, counts the request against its limit, and answers with the state of the page.
    """

    def __init__(self, site: Site, listeners: Listeners) -> None:
        self.site, self.project, self.listeners = site, site.project, listeners
        self._remaining: dict[int, Remaining] = {}
        self.effort = site.effort

    def routes(self) -> list[BaseRoute]:
        """The table of routes."""
        from starlette.routing import Route

        limited = self.limit_unknown_links
        posts = (self.answer, self.draft, self.undo, self.report, self.check, self.language)
        return [
            Route("/w/{token}", limited(self.page)),
            Route("/w/{token}/next", limited(self.next)),
            *(
                Route(f"/w/{{token}}/{post.__name__}", limited(post), methods=["POST"])
                for post in posts
            ),
            Route("/join/{key}", self.join),
        ]

    def limit_unknown_links(self, handler: Handler) -> Handler:
        """A handler that counts unknown links by the address they are tried from, to limit the number of attempts."""

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except Refused as problem:
                if problem.code == LINK_UNKNOWN:
                    self.site.unknown_requests.count(sender_address(request))
                raise

        return handle

    def token_hash(self, request: Request) -> str:
        """The hash of the link, once the rate is within its limit."""
        token_hash = hash_token(request.path_params["token"])
        self.site.worker_requests.count(token_hash)
        return token_hash

    async def page(self, request: Request) -> Response:
        """The page itself; the script asks for the item."""
        worker = await self.site.read(find_worker, self.token_hash(request))
        base = f"/w/{request.path_params['token']}"
        return self.site.page("worker.html", worker.language, base=base)

    async def state(self, state: PageState) -> dict[str, Any]:
        """The state of a page as it gets it, with how many items are left."""
        worker = state.worker
        if worker.state != "active":
            return state_json(self.project, state)
        now = time.monotonic()
        known = self._remaining.get(worker.id)
        if known is None or not known.is_current(worker.answered, now):
            known = await self.site.read(count_remaining, self.project, state, now)
            self._remaining[worker.id] = known
        left = max(1, known.estimate(worker.answered)) if state.assigned is not None else 0
        return state_json(self.project, state, left)

    async def next(self, request: Request) -> Response:
        """The item in hand, or a fresh one."""
        token_hash = self.token_hash(request)
        now = self.site.clock()
        state = await self.site.write(next_item, self.project, token_hash, now)
        return json_response(await self.state(await self.after_plan(token_hash, state)))

    async def after_plan(self, token_hash: str, state: PageState) -> PageState:
        """The state of a page once all answers are planned with: who would get no item looks again after that."""
        if not self.effort.is_on or state.assigned is not None or state.worker.state != "active":
            return state
        await self.effort.catch_up()
        return await self.site.write(next_item, self.project, token_hash, self.site.clock())

    async def answer(self, request: Request) -> Response:
        """Take an answer once it is within the form's rules; the state of the page comes back with the next item.

        An answer that breaks a rule is not kept: the problems come back with status 422.
        """
        token_hash = self.token_hash(request)
        now = self.site.clock()
        body = await self.site.read_body(request, AnswerBody)
        self._refuse_long(body.comment)
        if self.project.is_together:
            return await self._answer_together(token_hash, body, now)
        worker, problems, correct = await self.site.read(self._check, token_hash, body)
        if any(not problem.warning for problem in problems):
            return self.site.problems_response(worker.language, problems)
        text = msgspec.json.encode(body.answer, order="deterministic").decode()
        submission = Submission(body.lease, body.key, text, body.comment, body.seconds, correct)
        saved, state = await self.site.write(save_answer, self.project, token_hash, submission, now)
        self.effort.note_change()
        state = await self.after_plan(token_hash, state)
        return json_response(
            {
                "saved": True,
                "duplicate": saved.duplicate,
                "surplus": saved.surplus,
                "state": await self.state(state),
            }
        )

    async def _answer_together(self, token_hash: str, body: AnswerBody, now: float) -> Response:
        """End what two workers wrote: it becomes the answer of both."""
        problems, saved, dialogue = await self.site.write(
            finish_dialogue, self.project, token_hash, body, now
        )
        if saved is None:
            worker = await self.site.read(find_worker, token_hash)
            return self.site.problems_response(worker.language, problems)
        self.listeners.notify(dialogue)
        result, state = saved
        row = {"saved": True, "duplicate": result.duplicate, "surplus": result.surplus}
        return json_response({**row, "state": await self.state(state)})

    def _check(
        self, db: Connection, token_hash: str, body: AnswerBody | CheckBody
    ) -> tuple[Worker, list[Problem], bool | None]:
        """Who answers, what is wrong with the answer, and whether it matches the gold of a control item."""
        worker, text, gold = leased_text(db, token_hash, body.lease)
        form = self.project.form
        options = self.project.options
        problems = form.validate(body.answer, decode_example(text), options)
        if gold is None or any(not problem.warning for problem in problems):
            return worker, problems, None
        return worker, problems, form.gold_matches(body.answer, msgspec.json.decode(gold), options)

    def _refuse_long(self, comment: str) -> None:
        if len(comment) > self.project.settings.limits.comment_characters:
            raise Refused("too_large", 413)

    async def check(self, request: Request) -> Response:
        """The rules of the form while the worker types."""
        token_hash = self.token_hash(request)
        body = await self.site.read_body(request, CheckBody)
        worker, problems, _ = await self.site.read(self._check, token_hash, body)
        rows = [self.site.problem_json(worker.language, problem) for problem in problems]
        return json_response({"problems": rows})

    async def draft(self, request: Request) -> Response:
        """Keep half-written work; `held` says whether the item is still the worker's."""
        token_hash = self.token_hash(request)
        now = self.site.clock()
        body = await self.site.read_body(request, DraftBody)
        text = msgspec.json.encode(body.draft).decode()
        is_leased = await self.site.write(
            save_draft, self.project, token_hash, body.lease, text, now
        )
        return json_response({"saved": True, "held": is_leased})

    async def undo(self, request: Request) -> Response:
        """Withdraw the last answer."""
        token_hash = self.token_hash(request)
        now = self.site.clock()
        body = await self.site.read_body(request, UndoBody)
        state = await self.site.write(undo_answer, self.project, token_hash, body.key, now)
        self.effort.note_change()
        return json_response({"state": await self.state(state)})

    async def report(self, request: Request) -> Response:
        """Report an item."""
        token_hash = self.token_hash(request)
        now = self.site.clock()
        body = await self.site.read_body(request, ReportBody)
        self._refuse_long(body.comment)
        if body.code not in self.project.settings.reports.codes:
            raise Refused("bad_request", 400)
        report = Report(body.lease, body.key, body.code, body.comment)
        saved, state = await self.site.write(report_item, self.project, token_hash, report, now)
        self.effort.note_change()
        state = await self.after_plan(token_hash, state)
        return json_response(
            {
                "saved": True,
                "duplicate": saved.duplicate,
                "state": await self.state(state),
            }
        )

    async def language(self, request: Request) -> Response:
        """Another language for the pages."""
        token_hash = self.token_hash(request)
        body = await self.site.read_body(request, LanguageBody)
        await self.site.write(set_language, token_hash, body.language)
        return json_response({"language": body.language})

    async def join(self, request: Request) -> Response:
        """The entrance of a crowd platform: to the worker's own link."""
        from starlette.responses import RedirectResponse

        self.site.unknown_requests.count(sender_address(request))
        settings = self.project.settings
        now = self.site.clock()
        key = request.path_params["key"]
        if not settings.crowd.join or hash_token(key) != hash_token(self.project.join_key):
            raise Refused(LINK_UNKNOWN, 404)
        name = request.query_params.get(settings.crowd.parameter, "").strip()
        language = self.site.request_language(request)
        worker = await self.site.write(join_worker, self.project, name, language=language, now=now)
        return RedirectResponse(f"/w/{self.project.token(worker.name)}", 303)
