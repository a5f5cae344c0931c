"""The routes of those who own a project: dashboard, adjudication, exclusion, export."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.collect import cases, overview
from nikawa.collect.aside import Failed, exported
from nikawa.collect.bodies import DecideBody, LinksBody, ResolveBody, WorkerBody
from nikawa.collect.dashboard import words
from nikawa.collect.guard import number, plain
from nikawa.collect.links import make_links
from nikawa.collect.project import can_be_called
from nikawa.collect.records import example_of
from nikawa.collect.routes_login import LoginRoutes
from nikawa.collect.site import ANALYSED, FRESH, answer
from nikawa.collect.workers import Refused, Worker, audit, by_name, exclude, reinstate
from nikawa.errors import NikawaError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from nikawa.collect.database import Link

_log = logging.getLogger("nikawa.collect")


class OwnerRoutes(LoginRoutes):
    """Handlers of one site."""

    async def dashboard(self, request: Request) -> Response:
        """The page of the dashboard, or to the log-in."""
        return await self._page(request, "dashboard.html")

    async def adjudicate(self, request: Request) -> Response:
        """The page where disagreements are decided."""
        return await self._page(request, "adjudicate.html")

    async def _page(self, request: Request, name: str) -> Response:
        from starlette.responses import RedirectResponse

        try:
            person = await self.person(request)
        except Refused as problem:
            if problem.status == 401:
                return RedirectResponse("/login", 303)
            raise
        user = {"name": person.name, "role": person.role}
        language = self._language(request)
        return self.site.page(
            name, language, csrf=person.csrf, user=user, words=dict(words(language))
        )

    async def data(self, request: Request) -> Response:
        """What a dashboard shows: figures of now, and the last analyses, of which newer ones may be under way."""
        await self.person(request)
        found = await self.site.once(
            "overview",
            FRESH,
            lambda: self.store.ask(lambda link: overview.overview(link, self.project)),
        )
        names = list(self.site.analyses)
        kept = await asyncio.gather(
            *(self.site.latest.get(name, ANALYSED, self._analysis(name)) for name in names)
        )
        told = {
            name: {"at": one.at, "working": one.working}
            for name, one in zip(names, kept, strict=True)
        }
        values = {name: one.value for name, one in zip(names, kept, strict=True)}
        return answer({**found, "analyses": values, "analysed": told})

    def _analysis(self, name: str) -> Any:
        def make() -> Any:
            try:
                return self.site.analyses[name](self.project, self.store)
            except NikawaError as problem:  # the rest of the dashboard must still be seen
                _log.warning("the analysis %s was left out: %s", name, problem)
                return None

        return make

    async def items(self, request: Request) -> Response:
        """A page of items."""
        await self.person(request)
        state, after = request.query_params.get("state", ""), plain(request, "after")
        return answer(await self.site.read(lambda link: overview.items(link, state, after)))

    async def disagreements(self, request: Request) -> Response:
        """Items whose answers disagree."""
        await self.person(request)
        after, language = plain(request, "after"), self._language(request)
        undecided = request.query_params.get("undecided", "") in ("1", "true")
        tell = partial(self.site.said, language)
        found = await self.site.read(
            lambda link: cases.disagreements(
                link, self.project, after, undecided=undecided, tell=tell
            )
        )
        return answer(found)

    async def case(self, request: Request) -> Response:
        """One item with its answers and decisions."""
        await self.person(request)
        ref, tell = plain(request, "ref"), partial(self.site.said, self._language(request))
        return answer(await self.site.read(lambda link: cases.case(link, self.project, ref, tell)))

    async def audit(self, request: Request) -> Response:
        """Who did what."""
        await self.person(request, "owner")
        after, latest = (
            number(request, "after"),
            request.query_params.get("latest", "") in ("1", "true"),
        )
        return answer(
            await self.site.read(lambda link: overview.audit_rows(link, after, latest=latest))
        )

    async def decide(self, request: Request) -> Response:
        """Take a decision; it is held to the form's rules as any answer."""
        person, now = await self.person(request), self.site.clock()
        body = await self.site.body(request, DecideBody)
        _, text = await self.site.read(lambda link: overview.item_of(link, body.ref))
        problems = self.project.form.validate(body.answer, example_of(text), self.project.options)
        if any(not problem.warning for problem in problems):
            return self.site.faults(self._language(request), problems)
        made = msgspec.json.encode(body.answer, order="deterministic").decode()
        seq = await self.site.write(
            lambda link: overview.decide(
                link, body.ref, made, body.reason, who=person.name, now=now
            )
        )
        return answer({"seq": seq})

    async def exclude(self, request: Request) -> Response:
        """Take a worker's answers out of the count."""
        return await self._change(request, exclude)

    async def reinstate(self, request: Request) -> Response:
        """Count a worker's answers again."""
        return await self._change(request, reinstate)

    async def _change(self, request: Request, change: Any) -> Response:
        person, now = await self.person(request, "owner"), self.site.clock()
        body = await self.site.body(request, WorkerBody)

        def act(link: Link) -> Worker:
            worker = by_name(link, body.worker)
            if worker is None:
                raise Refused("worker_unknown", 404)
            change(link, worker, body.reason, person.name, now)
            return worker

        worker = await self.site.write(act)
        return answer({"worker": worker.name, "state": worker.state})

    async def resolve(self, request: Request) -> Response:
        """Reopen a reported item, or drop it."""
        person, now = await self.person(request), self.site.clock()
        body = await self.site.body(request, ResolveBody)
        state = await self.site.write(
            lambda link: overview.resolve(
                link, body.ref, body.action, body.reason, who=person.name, now=now
            )
        )
        return answer({"ref": body.ref, "state": state})

    async def links(self, request: Request) -> Response:
        """Make links for workers."""
        person, now = await self.person(request, "owner"), self.site.clock()
        body = await self.site.body(request, LinksBody)
        if not all(map(can_be_called, body.names)):
            raise Refused("bad_request", 422)
        made = await self.site.write(
            lambda link: make_links(link, self.project, body.names, person.name, now)
        )
        return answer({"links": [{"worker": name, "path": f"/w/{token}"} for name, token in made]})

    async def export(self, request: Request) -> Response:
        """The judgements so far, streamed."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import StreamingResponse

        person, now = await self.person(request, "owner"), self.site.clock()
        hidden = request.query_params.get("pseudonymise", "") in ("1", "true")
        form = request.query_params.get("form", "jsonl")
        if form not in ("jsonl", "csv"):
            raise Refused("bad_request", 400)
        detail = {"pseudonymise": hidden, "form": form}
        await self.site.write(lambda link: audit(link, person.name, "export", detail, now))
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
        headers = {"content-disposition": f'attachment; filename="judgements.{form}"'}
        blocks = exported(self.project, self.store, form, pseudonymise=hidden)
        try:  # before the first line is out it can still be said that there will be none
            first = await run_in_threadpool(next, blocks, b"")
        except Failed as problem:
            _log.warning("an export was not made: %s", problem)
            raise Refused("server_error", 503) from None
        return StreamingResponse(chain([first], blocks), media_type=kind, headers=headers)

    async def openapi(self, request: Request) -> Response:
        """What this interface is, for programs."""
        from nikawa.collect.openapi import document

        await self.person(request)
        return answer(document(self.project.settings.title))
