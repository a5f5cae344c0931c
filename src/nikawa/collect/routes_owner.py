"""The routes of those who own a project: log-in, dashboard, adjudication, exclusion, export.

A reviewer sees the dashboard and decides items; only an owner excludes workers, makes links, exports and reads the audit
log. Every POST carries the token of the session, so that no other site can send one in the name of the user.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.collect.adjudication import (
    add_decision,
    find_case,
    find_disagreements,
    find_doubtful,
    find_item,
    resolve_item,
)
from nikawa.collect.dashboard import RECHECK, audit_rows, item_rows, overview
from nikawa.collect.export import stream_export
from nikawa.collect.interface import (
    DecideBody,
    LinksBody,
    ResolveBody,
    WorkerBody,
    openapi_document,
)
from nikawa.collect.site import Site, owner_messages, page_message
from nikawa.collect.store import decode_example
from nikawa.collect.workers import (
    Worker,
    exclude,
    find_faulty_name,
    find_worker_by_name,
    make_links,
    reinstate,
)
from nikawa.errors import NikawaError
from nikawa.serve.audit import add_audit
from nikawa.serve.background import Figures, ProcessFailed
from nikawa.serve.errors import Refused
from nikawa.serve.login import (
    CSRF_FIELD,
    LOGIN_COOKIE,
    SESSION_COOKIE,
    Person,
    end_session,
    find_person,
    password_hash,
    password_matches,
    require_csrf,
    set_cookie,
    start_session,
)
from nikawa.serve.requests import (
    json_response,
    query_flag,
    query_number,
    query_text,
    read_form_body,
    refuse_cross_site,
    sender_address,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.serve.database import Connection


MAX_LOGIN_BYTES = 4096


class LoginRoutes:
    """Log-in and log-out of owners and reviewers, and the check of who asks."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.project = site.project
        self.store = site.store

    async def person(self, request: Request, role: str = "reviewer") -> Person:
        """Who asks; a POST must carry their token too.

        Raises `Refused` if the request has no session, the user does not have this role, or a POST comes from another site.
        """
        cookie = request.cookies.get(SESSION_COOKIE, "")
        try:
            person = await self.site.read(find_person, cookie, self.site.clock())
        except Refused:
            self.site.unknown_requests.count(sender_address(request))
            raise
        if role == "owner" and person.role != "owner":
            raise Refused("not_allowed", 403)
        if request.method == "POST":
            refuse_cross_site(request)
            require_csrf(request.headers.get(CSRF_FIELD, ""), person.csrf)
        return person

    async def login_page(self, request: Request) -> Response:
        """The page to log in."""
        return self._login_page(request)

    def _login_page(self, request: Request, text: str = "", status: int = 200) -> Response:
        """The page to log in; the token of its cookie must come back with the form."""
        csrf = secrets.token_urlsafe(24)
        language = self.site.request_language(request)
        response = self.site.page("login.html", language, status, csrf=csrf, text=text)
        set_cookie(request, response, LOGIN_COOKIE, csrf)
        return response

    async def login(self, request: Request) -> Response:
        """Check name and password, slowly, and start a session."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import RedirectResponse

        self.site.login_requests.count(sender_address(request))
        form = await read_form_body(request, MAX_LOGIN_BYTES)
        require_csrf(form.get(CSRF_FIELD, ""), request.cookies.get(LOGIN_COOKIE, ""))
        name = form.get("name", "")[:200].replace("\0", "")
        now = self.site.clock()
        kept = await self.site.read(password_hash, name)
        if not await run_in_threadpool(password_matches, kept, form.get("password", "")[:1000]):
            await self.site.write(add_audit, "?", "log in refused", {"name": name}, now)
            text = page_message(self.site.request_language(request), "login_failed")
            return self._login_page(request, text, 401)
        cookie = await self.site.write(start_session, name, now)
        response = RedirectResponse("/owner", 303)
        set_cookie(request, response, SESSION_COOKIE, cookie)
        response.delete_cookie(LOGIN_COOKIE, path="/")
        return response

    async def logout(self, request: Request) -> Response:
        """End the session."""
        person = await self.person(request)
        cookie = request.cookies.get(SESSION_COOKIE, "")
        await self.site.write(end_session, cookie, person.name, self.site.clock())
        response = json_response({"saved": True})
        response.delete_cookie(SESSION_COOKIE, path="/")
        return response


OVERVIEW_SECONDS, ANALYSIS_SECONDS = 2.0, 30.0
"""For how long a dashboard's figures, and its analyses, are not computed again."""
_log = logging.getLogger("nikawa.collect")


class OwnerRoutes(LoginRoutes):
    """Handlers of the owner's pages; each asks `person` first, which refuses requests without a session."""

    def routes(self) -> list[BaseRoute]:
        """The table of routes, log-in included."""
        from starlette.routing import Route

        gets = (
            self.adjudicate,
            self.data,
            self.items,
            self.disagreements,
            self.recheck,
            self.case,
            self.audit,
            self.export,
        )
        posts = (self.decide, self.exclude, self.reinstate, self.resolve, self.links)
        return [
            Route("/login", self.login_page, methods=["GET"]),
            Route("/login", self.login, methods=["POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/owner", self.dashboard),
            *(Route(f"/owner/{get.__name__}", get) for get in gets),
            *(Route(f"/owner/{post.__name__}", post, methods=["POST"]) for post in posts),
            Route("/openapi.json", self.openapi),
        ]

    async def dashboard(self, request: Request) -> Response:
        """The page of the dashboard, or to the log-in."""
        return await self._page(request, "dashboard.html")

    async def adjudicate(self, request: Request) -> Response:
        """The page where disagreements are decided."""
        return await self._page(request, "adjudicate.html")

    async def _page(self, request: Request, name: str) -> Response:
        """A page for those who are logged in; others are sent to the log-in."""
        from starlette.responses import RedirectResponse

        try:
            person = await self.person(request)
        except Refused as problem:
            if problem.status == 401:
                return RedirectResponse("/login", 303)
            raise
        user = {"name": person.name, "role": person.role}
        language = self.site.request_language(request)
        words = dict(owner_messages(language))
        decides = self.project.settings.adjudication.decisions
        return self.site.page(
            name, language, csrf=person.csrf, user=user, words=words, decides=decides
        )

    async def data(self, request: Request) -> Response:
        """Data of the dashboard: current figures, and the latest analyses, which may be updating."""
        await self.person(request)
        compute = partial(self.store.read, overview, self.project)
        figures = await self.site.cached("overview", OVERVIEW_SECONDS, compute)
        names = list(self.site.analyses)
        latest = await asyncio.gather(*map(self._latest, names))
        analyses = {name: one.value for name, one in zip(names, latest, strict=True)}
        if (recheck := analyses.get(RECHECK)) is not None:  # its rows have a page of their own
            analyses[RECHECK] = {name: value for name, value in recheck.items() if name != "rows"}
        analysed = {
            name: {"at": one.at, "working": one.working}
            for name, one in zip(names, latest, strict=True)
        }
        return json_response({**figures, "analyses": analyses, "analysed": analysed})

    async def _latest(self, name: str) -> Figures:
        return await self.site.figures.get(name, ANALYSIS_SECONDS, partial(self._analyse, name))

    def _analyse(self, name: str) -> Any:
        """An analysis for the dashboard; None where it fails, which is logged."""
        try:
            return self.site.analyses[name](self.project, self.store)
        except NikawaError as problem:  # the rest of the dashboard must still be seen
            _log.warning("the analysis %s was skipped: %s", name, problem)
            return None

    async def items(self, request: Request) -> Response:
        """A page of items."""
        await self.person(request)
        state = request.query_params.get("state", "")
        after = query_text(request, "after")
        return json_response(await self.site.read(item_rows, state, after))

    async def disagreements(self, request: Request) -> Response:
        """Items whose answers disagree."""
        await self.person(request)
        page = await self.site.read(
            find_disagreements,
            self.project,
            query_text(request, "after"),
            undecided=query_flag(request, "undecided"),
            describe=partial(self.site.describe_problem, self.site.request_language(request)),
        )
        return json_response(page)

    async def recheck(self, request: Request) -> Response:
        """Items with answers that a machine and the other workers contradict, the most doubtful first."""
        await self.person(request)
        working, rows = False, []
        if RECHECK in self.site.analyses:
            latest = await self._latest(RECHECK)
            working = latest.at is None and latest.working
            rows = (latest.value or {}).get("rows", [])
        page = await self.site.read(
            find_doubtful,
            self.project,
            rows,
            query_text(request, "after"),
            undecided=query_flag(request, "undecided"),
            describe=partial(self.site.describe_problem, self.site.request_language(request)),
        )
        return json_response({**page, "working": working})

    async def case(self, request: Request) -> Response:
        """One item with its answers and decisions."""
        await self.person(request)
        describe = partial(self.site.describe_problem, self.site.request_language(request))
        ref = query_text(request, "ref")
        return json_response(await self.site.read(find_case, self.project, ref, describe))

    async def audit(self, request: Request) -> Response:
        """Who did what."""
        await self.person(request, "owner")
        after = query_number(request, "after")
        latest = query_flag(request, "latest")
        return json_response(await self.site.read(audit_rows, after, latest=latest))

    async def decide(self, request: Request) -> Response:
        """Take a decision; it is held to the form's rules as any answer."""
        person = await self.person(request)
        body = await self.site.read_body(request, DecideBody)
        _, _, text = await self.site.read(find_item, body.ref)
        problems = self.project.form.validate(
            body.answer, decode_example(text), self.project.options
        )
        if any(not problem.warning for problem in problems):
            return self.site.problems_response(self.site.request_language(request), problems)
        answer = msgspec.json.encode(body.answer, order="deterministic").decode()
        seq = await self.site.write(
            add_decision, body.ref, answer, body.reason, who=person.name, now=self.site.clock()
        )
        return json_response({"seq": seq})

    async def exclude(self, request: Request) -> Response:
        """Take a worker's answers out of the count."""
        return await self._change_worker(request, exclude)

    async def reinstate(self, request: Request) -> Response:
        """Count a worker's answers again."""
        return await self._change_worker(request, reinstate)

    async def _change_worker(
        self, request: Request, change: Callable[[Connection, Worker, str, str, float], None]
    ) -> Response:
        person = await self.person(request, "owner")
        body = await self.site.read_body(request, WorkerBody)
        now = self.site.clock()

        def change_by_name(db: Connection) -> Worker:
            worker = find_worker_by_name(db, body.worker)
            if worker is None:
                raise Refused("worker_unknown", 404)
            change(db, worker, body.reason, person.name, now)
            return worker

        worker = await self.site.write(change_by_name)
        self.site.effort.note_change()
        return json_response({"worker": worker.name, "state": worker.state})

    async def resolve(self, request: Request) -> Response:
        """Reopen a reported item, or drop it."""
        person = await self.person(request)
        body = await self.site.read_body(request, ResolveBody)
        now = self.site.clock()
        state = await self.site.write(
            resolve_item, body.ref, body.action, body.reason, who=person.name, now=now
        )
        self.site.effort.note_change()
        return json_response({"ref": body.ref, "state": state})

    async def links(self, request: Request) -> Response:
        """Make links for workers."""
        person = await self.person(request, "owner")
        body = await self.site.read_body(request, LinksBody)
        now = self.site.clock()
        if await self.site.read(find_faulty_name, body.names) is not None:
            raise Refused("bad_request", 422)
        links = await self.site.write(make_links, self.project, body.names, person.name, now)
        rows = [{"worker": name, "path": f"/w/{token}"} for name, token in links]
        return json_response({"links": rows})

    async def export(self, request: Request) -> Response:
        """The judgements so far, streamed."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import StreamingResponse

        person = await self.person(request, "owner")
        pseudonymise = query_flag(request, "pseudonymise")
        form = request.query_params.get("form", "jsonl")
        if form not in ("jsonl", "csv"):
            raise Refused("bad_request", 400)
        detail = {"pseudonymise": pseudonymise, "form": form}
        await self.site.write(add_audit, person.name, "export", detail, self.site.clock())
        blocks = stream_export(self.project, self.store, form, pseudonymise=pseudonymise)
        try:  # an error can still be sent before the first line is out
            first = await run_in_threadpool(next, blocks, b"")
        except ProcessFailed as problem:
            _log.warning("an export failed: %s", problem)
            raise Refused("server_error", 503) from None
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
        headers = {"content-disposition": f'attachment; filename="judgements.{form}"'}
        return StreamingResponse(chain([first], blocks), media_type=kind, headers=headers)

    async def openapi(self, request: Request) -> Response:
        """The description of this interface, for programs."""
        await self.person(request)
        return json_response(openapi_document(self.project.settings.title))
