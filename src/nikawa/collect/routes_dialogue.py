"""The routes of a worker who writes a dialogue: the search in the table of entities, and the dialogue of two workers.

They answer for projects of the form `dialogue` alone; each takes the worker's link, as `routes_worker` does. A page learns of
the partner's turns by a request that is answered once there is something new (long polling).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nikawa.collect.forms.dialogue import Dialogue
from nikawa.collect.interface import AloneBody, SearchBody, TurnBody
from nikawa.collect.live import (
    Talk,
    describe_talk,
    mark_of,
    read_talk,
    save_turn,
    touch_seat,
    write_alone,
)
from nikawa.collect.submissions import leased_text
from nikawa.collect.workers import find_worker
from nikawa.io.ontology import state_values
from nikawa.serve.errors import Refused
from nikawa.serve.requests import json_response, query_number, query_text

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.collect.routes_worker import WorkerRoutes

MAX_ENTITIES_SHOWN = 20
MAX_WAIT_SECONDS = 8
"""For which a request for news is held; the page asks again then."""
LOOK_SECONDS = 1.0
"""Between two looks at the database while a request is held: another server may have written to it, or a partner be gone."""
TOUCH_SHARE = 0.2
"""Of the seconds after which a page counts as away: so often the moment of its last request is stored."""


class DialogueRoutes:
    """Handlers for the pages of the form `dialogue` on one site."""

    def __init__(self, worker: WorkerRoutes) -> None:
        self.worker, self.site, self.project = worker, worker.site, worker.project
        self.listeners = worker.listeners

    def routes(self) -> list[BaseRoute]:
        """The table of routes."""
        from starlette.routing import Route

        limited = self.worker.limit_unknown_links
        posts: tuple[Callable[..., Any], ...] = (self.search, self.turn, self.alone)
        return [
            *(
                Route(f"/w/{{token}}/{post.__name__}", limited(post), methods=["POST"])
                for post in posts
            ),
            Route("/w/{token}/talk", limited(self.talk)),
        ]

    def options(self, *, live: bool = True) -> Dialogue:
        """The settings of the form; `live` asks for one in which two workers meet."""
        options = self.project.options
        if not isinstance(options, Dialogue) or (live and not self.project.is_together):
            raise Refused("not_found", 404)
        return options

    async def search(self, request: Request) -> Response:
        """The entities of a domain that fit a state, and have the words in one of their values."""
        token_hash = self.worker.token_hash(request)
        options = self.options(live=False)
        body = await self.site.read_body(request, SearchBody)
        await self.site.read(leased_text, token_hash, body.lease)
        rows: list[Any] = options.entities.search(
            options.ontology, body.domain, state_values(body.state), body.words.split()
        )
        return json_response({"count": len(rows), "rows": rows[:MAX_ENTITIES_SHOWN]})

    async def talk(self, request: Request) -> Response:
        """The dialogue of a lease, as soon as it is another than the page has, or after a while.

        A page that was closed meanwhile is not served any longer: its worker no longer counts as seen.
        """
        token_hash = self.worker.token_hash(request)
        options = self.options()
        lease, mark = query_text(request, "lease"), query_text(request, "mark")
        wait = min(query_number(request, "wait"), MAX_WAIT_SECONDS)
        loop = asyncio.get_running_loop()
        ends = loop.time() + wait
        worker = await self.site.read(find_worker, token_hash)
        while True:
            conversation = await self.site.read(read_talk, token_hash, lease)
            if isinstance(conversation, str):
                return json_response({"stage": "over" if conversation == "answered" else "lost"})
            now = self.site.clock()
            if now - conversation.own.seen > TOUCH_SHARE * options.partner_seconds:
                await self.site.write(touch_seat, self.project, token_hash, lease, now)
                self.listeners.notify(conversation.id)
            state = self._describe(conversation, worker.language, now)
            left = ends - loop.time()
            if state["mark"] != mark or left <= 0:
                return json_response(state)
            await self.listeners.wait(conversation.id, min(left, LOOK_SECONDS))
            if self.listeners.is_released or await request.is_disconnected():
                return json_response(state)

    def _describe(self, talk: Talk, language: str, now: float) -> dict[str, Any]:
        state = describe_talk(talk, self.options(), now)
        state["problems"] = [
            self.site.problem_json(language, problem) for problem in state["problems"]
        ]
        return {**state, "mark": mark_of(state)}

    async def turn(self, request: Request) -> Response:
        """Take a turn of a dialogue of two; one that breaks a rule is refused with its problems."""
        token_hash = self.worker.token_hash(request)
        self.options()
        body = await self.site.read_body(request, TurnBody)
        now = self.site.clock()
        problems, dialogue = await self.site.write(save_turn, self.project, token_hash, body, now)
        worker = await self.site.read(find_worker, token_hash)
        if not body.check and any(not problem.warning for problem in problems):
            return self.site.problems_response(worker.language, problems)
        if not body.check:
            self.listeners.notify(dialogue)
        rows = [self.site.problem_json(worker.language, problem) for problem in problems]
        return json_response({"saved": not body.check, "problems": rows})

    async def alone(self, request: Request) -> Response:
        """Let a worker write the rest alone, where the partner is away."""
        token_hash = self.worker.token_hash(request)
        self.options()
        body = await self.site.read_body(request, AloneBody)
        now = self.site.clock()
        dialogue = await self.site.write(write_alone, self.project, token_hash, body.lease, now)
        self.listeners.notify(dialogue)
        return json_response({"saved": True})
