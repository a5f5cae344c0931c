"""The routes of submitters: accounts, the page to submit, my systems, and the JSON interface of programs.

A page is asked for with the cookie of a session, and each POST carries the session's token. A program sends a token of the account in the
header `Authorization`. Both come to the same functions, with the same checks and limits.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import TYPE_CHECKING, Any, cast

import msgspec

from nikawa.board.account_views import (
    FilePart,
    describe_account,
    describe_board,
    describe_system,
    describe_tasks,
    find_own_submission,
    find_phase,
    list_parts,
    list_remaining,
)
from nikawa.board.accounts import (
    ACCOUNT_COOKIE,
    SESSION_PREFIX,
    NewAccount,
    Submitter,
    account_password,
    find_submitter,
    find_token,
    list_tokens,
    make_token,
    note_token_use,
    revoke_token,
    set_account_password,
    sign_up,
    start_account_session,
)
from nikawa.board.api_page import list_operations, list_types
from nikawa.board.interface import (
    FinalChoice,
    NewSubmission,
    NewSystem,
    SentFile,
    SubmissionTaken,
    SystemChanges,
    TaskInfo,
    openapi_document,
)
from nikawa.board.records import Account, Link, System, SystemState
from nikawa.board.rendering import (
    count_digits,
    format_interval,
    format_minute,
    format_number,
)
from nikawa.board.store import find_system, list_submissions, list_systems
from nikawa.board.submissions import (
    accept_submission,
    add_upload,
    change_system,
    choose_final,
    create_system,
    drop_file,
    receive_file,
)
from nikawa.board.views import find_zone
from nikawa.board.words import account_messages
from nikawa.errors import BadInput
from nikawa.serve.audit import add_audit
from nikawa.serve.errors import Refused, Unavailable
from nikawa.serve.languages import fill_message
from nikawa.serve.limits import RateLimiter
from nikawa.serve.login import (
    CSRF_FIELD,
    LOGIN_COOKIE,
    MIN_PASSWORD_CHARS,
    SESSION_COOKIE,
    end_session,
    find_person,
    hash_password,
    hash_token,
    password_hash,
    password_matches,
    require_csrf,
    set_cookie,
    start_session,
)
from nikawa.serve.requests import (
    json_response,
    query_text,
    read_form_body,
    read_json_body,
    refuse_cross_site,
    sender_address,
)
from nikawa.version import __version__

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.board.interface import OwnSystem, ScoreLine, SubmissionState
    from nikawa.board.site import Site
    from nikawa.serve.database import Connection

MAX_FORM_BYTES, MAX_JSON_BYTES = 131_072, 131_072
MAX_PASSWORD_CHARS = 1000
PART_SECONDS, FILE_SECONDS = 30.0, 900.0
"""In which the next part of a file must come, and all of it."""
MAX_CHECKS = 4
"""Files that wait for the check in a thread; the others wait without one."""
MAX_FILES_AT_ONCE = 20
"""Of one account."""
TOKEN_NOTE_SECONDS = 60.0
"""Between two notes of when a token was last used."""
MAX_NOTED_TOKENS = 10_000
"""Whose last use is remembered."""
INCOMING = "incoming-"
"""What the folder of a file begins with that is on its way; what a killed server leaves is removed with other orphans."""


class SubmitterRoutes:
    """Handlers of one site's pages for submitters, and of its interface for programs."""

    def __init__(self, site: Site) -> None:
        self.site, self.board = site, site.board
        self.sign_ups = RateLimiter(1 / 60, 10)
        """Of an address."""
        self._tasks: tuple[TaskInfo, ...] | None = None
        self._noted: dict[str, float] = {}
        """The hash of a token to when its use was noted."""
        self._checks = asyncio.Semaphore(MAX_CHECKS)
        self._senders: dict[str, tuple[asyncio.Lock, int]] = {}

    def routes(self) -> list[BaseRoute]:
        """The table of routes."""
        from starlette.routing import Route

        post = partial(Route, methods=["POST"])
        return [
            Route("/sign-up", self.sign_up_page, methods=["GET"]),
            post("/sign-up", self.sign_up),
            Route("/invite/{token}", self.invitation),
            Route("/log-in", self.log_in_page, methods=["GET"]),
            post("/log-in", self.log_in),
            post("/log-out", self.log_out),
            Route("/submit", self.submit_page),
            Route("/me", self.me_page),
            post("/me/final", self.choose_final_on_page),
            post("/me/password", self.change_password),
            post("/me/tokens", self.make_token),
            post("/me/tokens/{id:int}/revoke", self.revoke_token),
            post("/me/systems/{id}", self.edit_system),
            post("/me/systems/{id}/{state}", self.set_state),
            Route("/api", self.api_page),
            Route("/api/v1/openapi.json", self.openapi),
            Route("/api/v1/board", self.api_board),
            Route("/api/v1/me", self.api_me),
            post("/api/v1/uploads", self.api_upload),
            post("/api/v1/submissions", self.api_submit),
            Route("/api/v1/submissions/{id}", self.api_submission),
            post("/api/v1/systems", self.api_new_system),
            Route("/api/v1/systems/{id}", self.api_change_system, methods=["PATCH"]),
            post("/api/v1/finals", self.api_final),
        ]

    # Who asks

    async def submitter(self, request: Request) -> Submitter:
        """The account that asks, by token or by cookie; a change by cookie must carry the session's token too.

        Raises `Refused` where there is neither, or the request comes from another site.
        """
        authorization = request.headers.get("authorization")
        try:
            if authorization is not None:
                kind, _, token = authorization.partition(" ")
                token = token.strip() if kind.lower() == "bearer" else ""
                submitter = await self.site.read(find_token, token)
                await self._note_use(token)
            else:
                cookie = request.cookies.get(ACCOUNT_COOKIE, "")
                submitter = await self.site.read(find_submitter, cookie, self.site.clock())
        except Refused:
            self.site.unknown_requests.count(sender_address(request))
            raise
        self.site.requests.count(submitter.account.id)
        if request.method not in ("GET", "HEAD") and authorization is None:
            refuse_cross_site(request)
            require_csrf(request.headers.get(CSRF_FIELD, ""), submitter.csrf)
        return submitter

    async def _note_use(self, token: str) -> None:
        now, name = self.site.clock(), hash_token(token)
        if now - self._noted.get(name, 0.0) > TOKEN_NOTE_SECONDS:
            if len(self._noted) > MAX_NOTED_TOKENS:
                self._noted.clear()
            self._noted[name] = now
            await self.site.write(note_token_use, token, now)

    async def _submitter_of_page(self, request: Request) -> Submitter:
        """Who asks for a page."""
        submitter = await self.site.read(
            find_submitter, request.cookies.get(ACCOUNT_COOKIE, ""), self.site.clock()
        )
        self.site.requests.count(submitter.account.id)
        return submitter

    async def _read_form(self, request: Request) -> tuple[Submitter, dict[str, str]]:
        """Who sends a form, and its fields; the form carries the session's token."""
        submitter = await self._submitter_of_page(request)
        form = await read_form_body(request, MAX_FORM_BYTES)
        require_csrf(form.get(CSRF_FIELD, ""), submitter.csrf)
        return submitter, form

    # Pages

    async def page(
        self, request: Request, template: str, section: str, status: int = 200, **more: Any
    ) -> Response:
        """A page in the words of submitters."""
        language = self.site.request_language(request)
        words = account_messages(language)

        def tell(key: str, **values: Any) -> str:
            return fill_message(words, key, values)

        return self.site.page(
            f"account/{template}.html",
            language,
            status,
            w=words,
            tell=tell,
            section=section,
            **more,
        )

    def _say(self, request: Request, code: str) -> str:
        return self.site.message(self.site.request_language(request), code)

    async def _form_page(
        self, request: Request, template: str, section: str, status: int = 200, **more: Any
    ) -> Response:
        """A page whose form is sent by somebody without a session: its token is that of a cookie that comes with it."""
        csrf = token_urlsafe(24)
        response = await self.page(request, template, section, status, csrf=csrf, **more)
        set_cookie(request, response, LOGIN_COOKIE, csrf)
        return response

    async def sign_up_page(self, request: Request) -> Response:
        """The page to sign up."""
        return await self._sign_up_page(request, {"invitation": query_text(request, "invitation")})

    async def _sign_up_page(
        self, request: Request, given: Mapping[str, str], text: str = "", status: int = 200
    ) -> Response:
        names = ("name", "email", "note", "invitation")
        return await self._form_page(
            request,
            "sign_up",
            "me",
            status,
            text=text,
            given={name: given.get(name, "")[:2000] for name in names},
            who=self.board.settings.submissions.who,
            min_password=MIN_PASSWORD_CHARS,
        )

    async def invitation(self, request: Request) -> Response:
        """The link of an invitation: to the page to sign up."""
        from urllib.parse import quote

        from starlette.responses import RedirectResponse

        token = quote(request.path_params["token"], safe="")
        return RedirectResponse(f"/sign-up?invitation={token}", 303)

    async def sign_up(self, request: Request) -> Response:
        """Make an account, and log in."""
        from starlette.concurrency import run_in_threadpool

        form = await read_form_body(request, MAX_FORM_BYTES)
        try:
            require_csrf(form.get(CSRF_FIELD, ""), request.cookies.get(LOGIN_COOKIE, ""))
            self.sign_ups.count(sender_address(request))
            password = form.get("password", "")
            _check_password(password)
            new = NewAccount(
                name=form.get("name", ""),
                password_hash=await run_in_threadpool(hash_password, password),
                email=form.get("email", "")[:500],
                language=self.site.request_language(request),
                note=form.get("note", ""),
                invitation=form.get("invitation", "").strip()[:200],
            )
            now = self.site.clock()
            account = await self.site.write(sign_up, self.board.settings, new, now)
        except Refused as problem:
            text = self._say(request, problem.code)
            return await self._sign_up_page(request, form, text, problem.status)
        return await self._start_session(request, account.id, "/me")

    async def _start_session(self, request: Request, account: str, to: str) -> Response:
        from starlette.responses import RedirectResponse

        cookie = await self.site.write(start_account_session, account, self.site.clock())
        response = RedirectResponse(to, 303)
        set_cookie(request, response, ACCOUNT_COOKIE, cookie)
        response.delete_cookie(LOGIN_COOKIE, path="/")
        return response

    async def log_in_page(self, request: Request) -> Response:
        """The page to log in, for submitters and owners."""
        return await self._log_in_page(request, query_text(request, "next"))

    async def _log_in_page(
        self, request: Request, to: str = "", name: str = "", text: str = "", status: int = 200
    ) -> Response:
        return await self._form_page(
            request, "log_in", "me", status, text=text, next=to[:200], known=name[:200]
        )

    async def log_in(self, request: Request) -> Response:
        """Check name and password, slowly, and start a session of the account, or of the owner or reviewer, of that name."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import RedirectResponse

        form = await read_form_body(request, MAX_FORM_BYTES)
        name = form.get("name", "")[:200].replace("\0", "")
        to = form.get("next", "")
        try:
            self.site.login_requests.count(sender_address(request))
            require_csrf(form.get(CSRF_FIELD, ""), request.cookies.get(LOGIN_COOKIE, ""))
        except Refused as problem:
            text = self._say(request, problem.code)
            return await self._log_in_page(request, to, name, text, problem.status)
        password, now = form.get("password", "")[:1000], self.site.clock()
        account, kept = await self.site.read(account_password, name)
        if await run_in_threadpool(password_matches, kept, password) and account is not None:
            return await self._start_session(request, account, to if to in ("/submit",) else "/me")
        kept = await self.site.read(password_hash, name)
        if await run_in_threadpool(password_matches, kept, password):
            cookie = await self.site.write(start_session, name, now)
            response = RedirectResponse("/owner", 303)
            set_cookie(request, response, SESSION_COOKIE, cookie)
            response.delete_cookie(LOGIN_COOKIE, path="/")
            return response
        await self.site.write(add_audit, "?", "log in refused", {"name": name}, now)
        text = account_messages(self.site.request_language(request))["login_failed"]
        return await self._log_in_page(request, to, name, text, 401)

    async def log_out(self, request: Request) -> Response:
        """End the sessions of this browser: of the account and of the owner, whichever the form's token belongs to."""
        from starlette.responses import RedirectResponse

        form = await read_form_body(request, MAX_FORM_BYTES)
        sent, now = form.get(CSRF_FIELD, ""), self.site.clock()
        response = RedirectResponse("/", 303)
        for name, find in ((ACCOUNT_COOKIE, find_submitter), (SESSION_COOKIE, find_person)):
            cookie = request.cookies.get(name, "")
            try:
                user = await self.site.read(cast(Any, find), cookie, now)
                require_csrf(sent, user.csrf)
            except Refused:
                continue
            who = SESSION_PREFIX + user.account.id if isinstance(user, Submitter) else user.name
            await self.site.write(end_session, cookie, who, now)
            response.delete_cookie(name, path="/")
        return response

    async def submit_page(self, request: Request) -> Response:
        """The page to submit."""
        try:
            submitter = await self._submitter_of_page(request)
        except Refused as problem:
            return self._to_log_in(problem, "/submit")
        account, now = submitter.account, self.site.clock()
        systems = await self.site.read(list_systems, account=account.id)
        tasks = await self.tasks()
        words = account_messages(self.site.request_language(request))
        limits = describe_board(self.board, tasks, now).limits
        return await self.page(
            request,
            "submit",
            "submit",
            account=account,
            csrf=submitter.csrf,
            systems=[one for one in systems[::-1] if one.state != "withdrawn"],
            tasks=list(dict.fromkeys(one.task for one in tasks)),
            splits=sorted({one.split for one in tasks}),
            finals=[{"task": one.task, "split": one.split} for one in tasks if one.role == "final"],
            limits=limits,
            megabytes=f"{limits.max_bytes / 1e6:g}",
            remaining=await self.site.read(list_remaining, self.board, account.id, now),
            words=dict(words),
            phase=find_phase(self.board, now),
            may_submit=account.state == "active" and find_phase(self.board, now) == "open",
            phase_text=self._describe_phase(request),
            reveals=self._format_date(self.board.settings.dates.reveals_at),
            address=self.site.address,
        )

    def _to_log_in(self, problem: Refused, to: str) -> Response:
        from starlette.responses import RedirectResponse

        if problem.status != 401:
            raise problem
        return RedirectResponse(f"/log-in?next={to}", 303)

    def _format_date(self, moment: float | str | None) -> str:
        """A moment, in seconds or as the interface has it, to the minute, in the zone of the board."""
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment).timestamp()
        return format_minute(moment, find_zone(self.board.settings.dates.utc_offset))

    def _describe_phase(self, request: Request) -> str:
        """Until when submissions are taken; empty for a board without dates."""
        words = account_messages(self.site.request_language(request))
        dates, phase = self.board.settings.dates, find_phase(self.board, self.site.clock())
        if phase == "upcoming":
            return fill_message(words, "opens", {"date": self._format_date(dates.opens_at)})
        key = "has_closed" if phase == "closed" else "closes"
        if dates.closes_at is None:
            return ""
        return fill_message(words, key, {"date": self._format_date(dates.closes_at)})

    async def me_page(self, request: Request) -> Response:
        """My systems."""
        try:
            submitter = await self._submitter_of_page(request)
        except Refused as problem:
            return self._to_log_in(problem, "/me")
        submitted = query_text(request, "submitted")
        words = account_messages(self.site.request_language(request))
        text = words["submitted"] if submitted else ""
        if not text and query_text(request, "done") in ("saved", "password_changed"):
            text = words[query_text(request, "done")]
        return await self._me_page(request, submitter, text=text, submitted=submitted)

    async def _me_page(
        self,
        request: Request,
        submitter: Submitter,
        *,
        text: str = "",
        is_fine: bool = True,
        submitted: str = "",
        token: str = "",
        status: int = 200,
    ) -> Response:
        account, now, board = submitter.account, self.site.clock(), self.board
        info = await self.site.read(describe_account, board, account, now)
        submissions = await self.site.read(list_submissions, account=account.id, limit=5000)
        words = account_messages(self.site.request_language(request))
        names = {one.system: one.name for one in info.systems}
        usable = {one.system for one in info.systems if one.state != "withdrawn"}
        finals = []
        for task in dict.fromkeys(one.task for one in board.sets if one.role == "final"):
            choices = [
                {"submission": one.id, "name": names[one.system], "received": one.received}
                for one in submissions
                if one.state != "failed"
                and one.system in usable
                and any(
                    (f.task, board.find_set(f.task, f.split).role) == (task, "final")
                    for f in one.files
                )
            ]
            is_open = find_phase(board, now) != "closed"
            chosen = info.finals.get(task, "")
            finals.append({"task": task, "choices": choices, "chosen": chosen, "is_open": is_open})

        def is_left_out(system: OwnSystem, submission: SubmissionState, part: FilePart) -> bool:
            """Whether a final split is never scored: the board is closed, and another submission stands for the account."""
            is_final = board.find_set(part.task, part.split).role == "final"
            if not is_final or find_phase(board, now) != "closed":
                return False
            chosen = info.finals.get(part.task, submission.submission)
            return system.state == "withdrawn" or chosen != submission.submission

        tokens = await self.site.read(list_tokens, account.id)
        fields = ("id", "label", "created", "last_used")
        seconds = board.settings.scoring.release_seconds
        return await self.page(
            request,
            "me",
            "me",
            status,
            account=account,
            csrf=submitter.csrf,
            text=text,
            is_fine=is_fine,
            submitted=submitted,
            token=token,
            systems=info.systems,
            parts={one.id: list_parts(board, one) for one in submissions},
            is_waiting=any(one.state in ("received", "scoring") for one in submissions)
            or any(one.visible_at is not None and one.visible_at > now for one in submissions),
            remaining=info.remaining,
            limits=board.settings.submissions,
            finals=finals,
            is_left_out=is_left_out,
            tokens=[dict(zip(fields, row, strict=True)) for row in tokens],
            phase=find_phase(board, now),
            phase_text=self._describe_phase(request),
            release_text=fill_message(
                words, "submitted_wait", {"minutes": describe_seconds(words, seconds)}
            ),
            reveals=self._format_date(board.settings.dates.reveals_at),
            min_password=MIN_PASSWORD_CHARS,
            date=self._format_date,
            score_text=format_score,
        )

    async def _answer_form(
        self, request: Request, submitter: Submitter, problem: Refused | str
    ) -> Response:
        """My systems with the reason why a form was refused."""
        text = problem if isinstance(problem, str) else self._say(request, problem.code)
        status = 422 if isinstance(problem, str) else problem.status
        return await self._me_page(request, submitter, text=text, is_fine=False, status=status)

    async def edit_system(self, request: Request) -> Response:
        """Change what the page of a system says."""
        submitter, form = await self._read_form(request)
        names = ("name", "description", "licence", "parameters", "training_data")
        facts: dict[str, Any] = {name: form[name] for name in names if name in form}
        facts["anonymous"] = "anonymous" in form
        facts["links"] = parse_links(form.get("links", ""))
        return await self._change_on_page(request, submitter, facts)

    async def set_state(self, request: Request) -> Response:
        """Publish a system, hide it again, or withdraw it."""
        submitter, _ = await self._read_form(request)
        state = request.path_params["state"]
        if state not in ("private", "published", "withdrawn"):
            raise Refused("not_found", 404)
        return await self._change_on_page(request, submitter, {"state": state})

    async def _change_on_page(
        self, request: Request, submitter: Submitter, facts: Mapping[str, Any]
    ) -> Response:
        id = request.path_params["id"]
        try:
            await self.site.write(change_system, submitter.account.id, id, facts, self.site.clock())
        except Refused as problem:
            return await self._answer_form(request, submitter, problem)
        return _redirect(f"/me?done=saved#s-{id}")

    async def choose_final_on_page(self, request: Request) -> Response:
        """Choose what is scored on the final split."""
        submitter, form = await self._read_form(request)
        task, submission = form.get("task", ""), form.get("submission", "")
        try:
            await self._choose_final(submitter.account, task, submission)
        except Refused as problem:
            return await self._answer_form(request, submitter, problem)
        return _redirect("/me?done=saved#final")

    async def _choose_final(self, account: Account, task: str, submission: str) -> None:
        now = self.site.clock()
        if not any((one.task, one.role) == (task, "final") for one in self.board.sets):
            raise Refused("not_found", 404)
        if find_phase(self.board, now) == "closed":
            raise Refused("closed", 409)
        await self.site.write(choose_final, account.id, task, submission, now)

    async def make_token(self, request: Request) -> Response:
        """Make a token, and show it this once."""
        submitter, form = await self._read_form(request)
        label = " ".join(form.get("label", "").replace("\0", "").split())[:100]
        now = self.site.clock()
        try:
            token = await self.site.write(make_token, submitter.account.id, label, now)
        except Refused as problem:
            return await self._answer_form(request, submitter, problem)
        return await self._me_page(request, submitter, token=token)

    async def revoke_token(self, request: Request) -> Response:
        """Make a token worthless."""
        submitter, _ = await self._read_form(request)
        id = request.path_params["id"]
        await self.site.write(revoke_token, submitter.account.id, id, self.site.clock())
        return _redirect("/me?done=saved#tokens")

    async def change_password(self, request: Request) -> Response:
        """Change the password; every session ends but a fresh one."""
        from starlette.concurrency import run_in_threadpool

        submitter, form = await self._read_form(request)
        account, new = submitter.account, form.get("new", "")
        try:
            self.site.login_requests.count(account.id)
            _, kept = await self.site.read(account_password, account.name)
            if not await run_in_threadpool(password_matches, kept, form.get("old", "")[:1000]):
                words = account_messages(self.site.request_language(request))
                return await self._answer_form(request, submitter, words["password_wrong"])
            _check_password(new)
        except Refused as problem:
            return await self._answer_form(request, submitter, problem)
        made = await run_in_threadpool(hash_password, new)
        await self.site.write(set_account_password, account.id, made, self.site.clock())
        return await self._start_session(request, account.id, "/me?done=password_changed")

    # The interface for programs

    async def tasks(self) -> tuple[TaskInfo, ...]:
        """What the board scores; read once."""
        from starlette.concurrency import run_in_threadpool

        if self._tasks is None:
            self._tasks = await run_in_threadpool(describe_tasks, self.board)
        return self._tasks

    def document(self) -> dict[str, Any]:
        """The description of the interface."""
        return openapi_document(self.board.settings.title, __version__, self.site.address)

    async def api_page(self, request: Request) -> Response:
        """The description of the interface, for people."""
        document = self.document()
        return await self.page(
            request,
            "api",
            "api",
            operations=list_operations(document),
            types=list_types(document),
        )

    async def openapi(self, _request: Request) -> Response:
        """The description of the interface, for programs."""
        return json_response(self.document())

    async def api_board(self, _request: Request) -> Response:
        """What the board is."""
        return json_response(describe_board(self.board, await self.tasks(), self.site.clock()))

    async def api_me(self, request: Request) -> Response:
        """The account."""
        submitter = await self.submitter(request)
        return await self._account_response(submitter)

    async def _account_response(self, submitter: Submitter) -> Response:
        account, now = submitter.account, self.site.clock()
        return json_response(await self.site.read(describe_account, self.board, account, now))

    async def api_upload(self, request: Request) -> Response:
        """Receive one file, check it, and keep it for a submission."""
        from starlette.concurrency import run_in_threadpool

        submitter, checker = await self.submitter(request), self.site.checker
        if checker is None:
            raise Refused("server_error", 503)
        if submitter.account.state != "active":
            raise Refused("not_active", 403)
        account, now = submitter.account, self.site.clock()
        seed = query_text(request, "seed")
        if seed and not (seed.isascii() and seed.isdigit() and len(seed) < 10):
            raise Refused("bad_request", 400)
        async with self._sending(account.id) as turn, self._receive_body(request) as path:
            receive = partial(
                receive_file,
                self.board,
                checker,
                path,
                query_text(request, "name")[:200],
                account=account.id,
                now=now,
                task=query_text(request, "task")[:200],
                split=query_text(request, "split")[:200],
                seed=int(seed) if seed else None,
            )
            try:
                # one file of an account at a time, and few in all: files that take long stop no reader
                async with turn, self._checks:
                    upload = await run_in_threadpool(receive)
            except BadInput as problem:
                return json_response({"error": "bad_file", "message": str(problem)}, 422)
        try:
            await self.site.write(add_upload, upload)
        except (Refused, Unavailable):
            await run_in_threadpool(drop_file, self.board, upload)
            raise
        language = self.site.request_language(request)
        return json_response(
            SentFile(
                upload=upload.id,
                name=upload.name,
                task=upload.task,
                split=upload.split,
                seed=upload.seed,
                digest=upload.digest,
                bytes=upload.size,
                answers=upload.answered,
                unreadable=upload.unparsed,
                warnings=tuple(_list_warnings(account_messages(language), upload)),
            )
        )

    @asynccontextmanager
    async def _sending(self, account: str) -> AsyncIterator[asyncio.Lock]:
        """Count a file on its way; its account's files are checked in turn, and too many at once are refused."""
        lock, count = self._senders.get(account, (asyncio.Lock(), 0))
        if count >= MAX_FILES_AT_ONCE:
            raise Refused("too_many", 429)
        self._senders[account] = lock, count + 1
        try:
            yield lock
        finally:
            lock, count = self._senders.pop(account)
            if count > 1:
                self._senders[account] = lock, count - 1

    @asynccontextmanager
    async def _receive_body(self, request: Request) -> AsyncIterator[Path]:
        """The body of a request in a file of its own, which is removed at the end."""
        from starlette.requests import ClientDisconnect

        max_bytes = int(self.board.settings.submissions.max_megabytes * 1e6)
        announced = request.headers.get("content-length", "0")
        if not announced.isascii() or not announced.isdigit() or int(announced) > max_bytes:
            raise Refused("too_large", 413)
        folder = self.board.submissions / f"{INCOMING}{token_hex(12)}"
        path, size = folder / "body", 0
        try:
            folder.mkdir(mode=0o700, parents=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            parts = aiter(request.stream())
            with os.fdopen(descriptor, "wb") as out:
                async with asyncio.timeout(FILE_SECONDS) as whole:
                    while True:
                        async with asyncio.timeout(PART_SECONDS):
                            part = await anext(parts, None)
                        if part is None:
                            break
                        size += len(part)
                        if size > max_bytes:
                            raise Refused("too_large", 413)
                        out.write(part)
            assert not whole.expired()
            if not size:
                raise Refused("empty_file", 422)
            yield path
        except TimeoutError:
            raise Refused("bad_request", 408) from None
        except ClientDisconnect:
            raise Refused("bad_request", 400) from None
        except OSError as problem:
            raise Unavailable("the disk did not take the file; send it again") from problem
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def api_submit(self, request: Request) -> Response:
        """Make a submission of files that were sent."""
        submitter = await self.submitter(request)
        body = await read_json_body(request, NewSubmission, MAX_JSON_BYTES)
        taken = await self.site.write(
            take_submission, self.site, submitter.account, body, self.site.clock()
        )
        if self.site.queue is not None:
            self.site.queue.wake()
        return json_response(taken)

    async def api_submission(self, request: Request) -> Response:
        """How far a submission is."""
        submitter = await self.submitter(request)
        state = await self.site.read(
            find_own_submission,
            self.board,
            submitter.account,
            request.path_params["id"],
            self.site.clock(),
        )
        if state is None:
            raise Refused("not_found", 404)
        return json_response(state)

    async def api_new_system(self, request: Request) -> Response:
        """Make a system."""
        submitter = await self.submitter(request)
        body = await read_json_body(request, NewSystem, MAX_JSON_BYTES)
        now = self.site.clock()
        if submitter.account.state != "active":  # what a system says is public
            raise Refused("not_active", 403)
        system = await self.site.write(make_system, submitter.account.id, body, now)
        return await self._system_response(submitter.account, system)

    async def api_change_system(self, request: Request) -> Response:
        """Rename, describe, publish or withdraw a system."""
        submitter = await self.submitter(request)
        body = await read_json_body(request, SystemChanges, MAX_JSON_BYTES)
        facts = msgspec.structs.asdict(body)
        facts = {name: value for name, value in facts.items() if value is not msgspec.UNSET}
        if "links" in facts:
            facts["links"] = [(one.title, one.address) for one in facts["links"]]
        id, now = request.path_params["id"], self.site.clock()
        system = await self.site.write(change_system, submitter.account.id, id, facts, now)
        return await self._system_response(submitter.account, system)

    async def _system_response(self, account: Account, system: System) -> Response:
        now = self.site.clock()

        def describe(db: Connection) -> Any:
            submissions = list_submissions(db, system=system.id)
            return describe_system(db, self.board, system, submissions, now)

        return json_response(await self.site.read(describe))

    async def api_final(self, request: Request) -> Response:
        """Choose what is scored on the final split."""
        submitter = await self.submitter(request)
        body = await read_json_body(request, FinalChoice, MAX_JSON_BYTES)
        await self._choose_final(submitter.account, body.task, body.submission)
        return await self._account_response(submitter)


def make_system(db: Connection, account: str, new: NewSystem, now: float) -> System:
    """Make a system of an account."""
    facts = {
        "name": new.name,
        "description": new.description,
        "licence": new.licence,
        "parameters": new.parameters,
        "training_data": new.training_data,
        "anonymous": new.anonymous,
        "links": [Link(title=one.title, address=one.address) for one in new.links],
    }
    state: SystemState = "published" if new.publish else "private"
    return create_system(db, account, facts, now, state=state)


def take_submission(
    db: Connection, site: Site, account: Account, body: NewSubmission, now: float
) -> SubmissionTaken:
    """Make a submission, with its system where that is new, in one transaction; the same key again makes none."""
    earlier = db.one(
        "SELECT system FROM submissions WHERE account = ? AND key = ?", account.id, body.key
    )
    wanted = earlier[0] if earlier is not None else body.system
    own = [one for one in list_systems(db, account=account.id) if one.state != "withdrawn"]
    system = find_system(db, wanted) if wanted else None
    if system is not None and system.account != account.id:
        system = None
    if system is None:
        name = body.system or (body.new_system.name.strip() if body.new_system else "")
        system = next((one for one in own if one.name == name), None)
    if system is None:
        if body.new_system is None:
            raise Refused("unknown_system", 404)
        if account.state != "active":
            raise Refused("not_active", 403)
        system = make_system(db, account.id, body.new_system, now)
    accepted = accept_submission(db, site.board, account, system, body.uploads, body.key, now)
    tasks = list(dict.fromkeys(file.task for file in accepted.submission.files))
    return SubmissionTaken(
        submission=accepted.submission.id,
        system=accepted.submission.system,
        duplicate=accepted.is_duplicate,
        remaining=list_remaining(db, site.board, account.id, now, tasks),
        is_public=system.state == "published",
    )


def _check_password(password: str) -> None:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise Refused("short_password", 422)


def parse_links(text: str) -> list[Link]:
    """The links of a form: one a line, with a title in front where there is one.

    >>> [(link.title, link.address) for link in parse_links("Paper https://x.example/1\\nhttps://y.example")]
    [('Paper', 'https://x.example/1'), ('', 'https://y.example')]
    """
    links = []
    for line in filter(None, map(str.strip, text.splitlines())):
        title, _, address = line.rpartition(" ")
        links.append(Link(title=title.strip(), address=address))
    return links


def format_score(score: ScoreLine) -> tuple[str, str]:
    """A score and its interval as pages show them."""
    view: Any = score  # has the fields of a `ScoreView` that these look at
    digits = count_digits([view])
    interval = format_interval(view, digits) if score.low is not None else ""
    return format_number(view, digits), interval


def describe_seconds(words: Mapping[str, str], seconds: float) -> str:
    """A span of time in words."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= size and seconds % size == 0:
            return fill_message(words, f"unit_{unit}", {"count": f"{seconds / size:g}"})
    return fill_message(words, "unit_seconds", {"count": f"{seconds:g}"})


def _list_warnings(words: Mapping[str, str], upload: Any) -> list[str]:
    """What a submitter should know of a file that is accepted."""
    texts = []
    if upload.unparsed:
        values = {"count": upload.unparsed, "first": upload.unreadable[0]}
        texts.append(fill_message(words, "warning_unparsed", values))
    if upload.unknown:
        texts.append(fill_message(words, "warning_unknown", {"count": upload.unknown}))
    return texts


def _redirect(to: str) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(to, 303)
