"""The routes of a worker. A link is all the right a worker needs, and all that it opens is their own work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from nikawa.collect.answers import Given, Report, leased
from nikawa.collect.bodies import (
    AnswerBody,
    CheckBody,
    DraftBody,
    LanguageBody,
    ReportBody,
    UndoBody,
)
from nikawa.collect.form import Problem
from nikawa.collect.guard import sender_of
from nikawa.collect.i18n import accepted
from nikawa.collect.project import can_be_called, hashed
from nikawa.collect.records import example_of
from nikawa.collect.site import Site, answer
from nikawa.collect.workers import Refused, Worker, by_link, join

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from nikawa.collect.database import Link

UNKNOWN = "link_unknown"
"""The code of the refusal of a link that nobody has."""
Handler = Callable[["Request"], Awaitable["Response"]]


class WorkerRoutes:
    """Handlers of one site."""

    def __init__(self, site: Site) -> None:
        self.site, self.desk, self.project = site, site.desk, site.project

    def counted(self, handler: Handler) -> Handler:
        """A handler that counts unknown links by the address they are tried from: nobody may try many."""

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except Refused as problem:
                if problem.code == UNKNOWN:
                    self.site.strangers.take(sender_of(request))
                raise

        return handle

    def token(self, request: Request) -> str:
        """The hash of the link, once the rate is within its limit."""
        token = hashed(request.path_params["token"])
        self.site.requests.take(token)
        return token

    async def page(self, request: Request) -> Response:
        """The page itself; the script asks for the item."""
        token = self.token(request)
        worker = await self.site.read(lambda link: by_link(link, token))
        return self.site.page(
            "worker.html", worker.language, base=f"/w/{request.path_params['token']}"
        )

    async def next(self, request: Request) -> Response:
        """The item in hand, or a fresh one."""
        token, now = self.token(request), self.site.clock()
        standing = await self.site.write(self.desk.next(token, now))
        return answer(self.desk.state(standing))

    async def answer(self, request: Request) -> Response:
        """Take an answer once it is within the form's rules."""
        token, now = self.token(request), self.site.clock()
        body = await self.site.body(request, AnswerBody)
        self._refuse_long(body.comment)
        worker, problems, correct = await self.site.read(lambda link: self._look(link, token, body))
        if any(not problem.warning for problem in problems):
            return self.site.faults(worker.language, problems)
        text = msgspec.json.encode(body.answer, order="deterministic").decode()
        given = Given(body.lease, body.key, text, body.comment, body.seconds, correct)
        saved, standing = await self.site.write(self.desk.answer(token, given, now))
        state = self.desk.state(standing)
        return answer(
            {"saved": True, "duplicate": saved.duplicate, "surplus": saved.surplus, "state": state}
        )

    def _look(
        self, link: Link, token: str, body: AnswerBody | CheckBody
    ) -> tuple[Worker, list[Problem], bool | None]:
        worker, text, gold = leased(link, token, body.lease)
        form, options = self.project.form, self.project.options
        problems = form.validate(body.answer, example_of(text), options)
        if gold is None or any(not problem.warning for problem in problems):
            return worker, problems, None
        return worker, problems, form.gold_matches(body.answer, msgspec.json.decode(gold), options)

    def _refuse_long(self, comment: str) -> None:
        if len(comment) > self.project.settings.limits.comment_characters:
            raise Refused("too_large", 413)

    async def check(self, request: Request) -> Response:
        """The rules of the form while the worker types."""
        token = self.token(request)
        body = await self.site.body(request, CheckBody)
        worker, problems, _ = await self.site.read(lambda link: self._look(link, token, body))
        return answer(
            {"problems": [self.site.told(worker.language, problem) for problem in problems]}
        )

    async def draft(self, request: Request) -> Response:
        """Keep half-written work."""
        token, now = self.token(request), self.site.clock()
        body = await self.site.body(request, DraftBody)
        text = msgspec.json.encode(body.draft).decode()
        held = await self.site.write(self.desk.draft(token, body.lease, text, now))
        return answer({"saved": True, "held": held})

    async def undo(self, request: Request) -> Response:
        """Withdraw the last answer."""
        token, now = self.token(request), self.site.clock()
        body = await self.site.body(request, UndoBody)
        standing = await self.site.write(self.desk.undo(token, body.key, now))
        return answer({"state": self.desk.state(standing)})

    async def report(self, request: Request) -> Response:
        """Hand an item back."""
        token, now = self.token(request), self.site.clock()
        body = await self.site.body(request, ReportBody)
        self._refuse_long(body.comment)
        given = Report(body.lease, body.key, body.code, body.comment)
        saved, standing = await self.site.write(self.desk.report(token, given, now))
        return answer(
            {"saved": True, "duplicate": saved.duplicate, "state": self.desk.state(standing)}
        )

    async def language(self, request: Request) -> Response:
        """Another language for the pages."""
        token = self.token(request)
        body = await self.site.body(request, LanguageBody)

        def change(link: Link) -> None:
            worker = by_link(link, token)
            link.run("UPDATE workers SET language = ? WHERE id = ?", body.language, worker.id)

        await self.site.write(change)
        return answer({"language": body.language})

    async def join(self, request: Request) -> Response:
        """The entrance of a crowd platform: to the worker's own link."""
        from starlette.responses import RedirectResponse

        self.site.strangers.take(sender_of(request))
        settings, now = self.project.settings, self.site.clock()
        key = request.path_params["key"]
        name = request.query_params.get(settings.crowd.parameter, "").strip()
        if not settings.crowd.join or hashed(key) != hashed(self.project.join_key):
            raise Refused(UNKNOWN, 404)
        if not can_be_called(name):
            raise Refused("bad_request", 400)
        token = self.project.token(name)
        worker = await self.site.write(lambda link: join(link, name, hashed(token), settings, now))
        if worker.created == now:
            wanted = accepted(request.headers.get("accept-language", ""), settings.language)
            await self.site.write(
                lambda link: link.run(
                    "UPDATE workers SET language = ? WHERE id = ?", wanted, worker.id
                )
            )
        return RedirectResponse(f"/w/{token}", 303)
