"""The routes of those who own a board: the dashboard, and what an owner decides. A reviewer sees all of it and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nikawa.board.account_views import find_phase
from nikawa.board.accounts import make_invitation, set_account_state
from nikawa.board.leakage import Leak, sum_leaks
from nikawa.board.owner_views import (
    FlagRow,
    list_settings,
    read_audit,
    read_dashboard,
    resolve_flags,
)
from nikawa.board.rendering import format_minute
from nikawa.board.settings import SETTINGS
from nikawa.board.store import list_accounts, sum_disclosures
from nikawa.board.views import find_zone
from nikawa.board.wire import HelperFailed, HelperGone
from nikawa.board.words import owner_messages
from nikawa.serve.errors import Refused
from nikawa.serve.languages import fill_message
from nikawa.serve.login import CSRF_FIELD, SESSION_COOKIE, Person, find_person, require_csrf
from nikawa.serve.requests import query_number, read_form_body, sender_address

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.board.site import Site

MAX_FORM_BYTES = 65_536
MAX_INVITATIONS = 100
"""Of one form."""
DAY = 86_400.0
MAX_LEAKS = 4
"""Rows of one test: everybody together, and the accounts with the most."""


class OwnerRoutes:
    """Handlers of the owner's pages; each asks `person` first, which refuses requests without a session."""

    def __init__(self, site: Site) -> None:
        self.site, self.board = site, site.board

    def routes(self) -> list[BaseRoute]:
        """The table of routes."""
        from starlette.routing import Route

        post = partial(Route, methods=["POST"])
        return [
            Route("/owner", self.dashboard),
            post("/owner/accounts/{id}/{action}", self.change_account),
            post("/owner/flags/{submission}/{kind}/resolve", self.resolve_flags),
            post("/owner/invitations", self.invite),
        ]

    async def person(self, request: Request) -> Person:
        """Who asks; raises `Refused` without a session."""
        cookie = request.cookies.get(SESSION_COOKIE, "")
        try:
            return await self.site.read(find_person, cookie, self.site.clock())
        except Refused:
            self.site.unknown_requests.count(sender_address(request))
            raise

    async def _owner_form(self, request: Request) -> tuple[Person, dict[str, str]]:
        """The owner who sends a form, and its fields; a reviewer changes nothing."""
        person = await self.person(request)
        form = await read_form_body(request, MAX_FORM_BYTES)
        require_csrf(form.get(CSRF_FIELD, ""), person.csrf)
        if person.role != "owner":
            raise Refused("not_allowed", 403)
        return person, form

    async def dashboard(self, request: Request) -> Response:
        """The page of the dashboard, or to the log-in."""
        from starlette.responses import RedirectResponse

        try:
            person = await self.person(request)
        except Refused as problem:
            if problem.status != 401:
                raise
            return RedirectResponse("/log-in", 303)
        return await self._dashboard(request, person)

    async def _dashboard(
        self,
        request: Request,
        person: Person,
        *,
        new_links: list[dict[str, str]] | None = None,
    ) -> Response:
        language, now, board = self.site.request_language(request), self.site.clock(), self.board
        words = owner_messages(language)

        def tell(key: str, **values: Any) -> str:
            return fill_message(words, key, values)

        before = query_number(request, "before") or None
        data = await self.site.read(read_dashboard, board, before, now)
        is_owner = person.role == "owner"
        settings, queue = board.settings, self.site.queue
        context: dict[str, Any] = {
            "w": words,
            "tell": tell,
            "csrf": person.csrf,
            "user": {"name": person.name, "role": person.role},
            "is_owner": is_owner,
            "text": "",
            "section": "owner",
            "phase": find_phase(board, now),
            "closes": settings.dates.closes_at,
            "counts": data.counts,
            "waiting": data.waiting,
            "scorer_alive": queue is None or not queue.problem,
            "approvals": data.approvals,
            "accounts": data.accounts,
            "submissions": [
                one._replace(flags=[words.get(f"flag_{kind}", kind) for kind in one.flags])
                for one in data.submissions
            ],
            "older": data.older,
            "flags": [_describe_flag(words, one) for one in data.flags],
            "leaks": await self._list_leaks(),
            "closing": list(self._describe_closing(words, data.finals)),
            "invitations": data.invitations,
            "new_links": new_links or [],
            "who": settings.submissions.who,
            "settings": list(list_settings(settings)),
            "settings_file": str(board.folder / SETTINGS),
            "audit": await self.site.read(read_audit) if is_owner else [],
            "audit_open": False,
            "date": self._format_date,
        }
        return self.site.page("owner/dashboard.html", language, **context)

    async def _list_leaks(self) -> list[dict[str, Any]]:
        """The leak budget: of each test everybody together, then the accounts with the most."""
        from starlette.concurrency import run_in_threadpool

        if self.site.queue is None:
            return []
        try:
            tests = await run_in_threadpool(self.site.queue.describe_labels)
        except (HelperGone, HelperFailed):  # the page says that the scorer does not answer
            return []
        sums = await self.site.read(sum_disclosures)
        names = {one.id: one.name for one in await self.site.read(list_accounts)}
        starts = {(one.task, one.split): one.start for one in tests}
        rows: list[dict[str, Any]] = []
        shown: dict[tuple[str, str], int] = {}
        for leak in sum_leaks(sums, tests):
            place = (leak.task, leak.split)
            shown[place] = shown.get(place, 0) + 1
            if shown[place] <= MAX_LEAKS:
                rows.append(_describe_leak(leak, starts[place], names, shown[place] == 1))
        return rows

    def _format_date(self, moment: float | None) -> str:
        return format_minute(moment, find_zone(self.board.settings.dates.utc_offset))

    def _describe_closing(self, words: Mapping[str, str], finals: tuple[int, int, int]) -> Any:
        closes = self.board.settings.dates.closes_at
        has_final = any(one.role == "final" for one in self.board.sets)
        chosen, every, scored = finals
        if closes is None:
            yield words["closing_none"]
            return
        if find_phase(self.board, self.site.clock()) != "closed":
            yield fill_message(words, "closing_before", {"date": self._format_date(closes)})
            key = "closing_final" if has_final else "closing_nofinal"
            yield fill_message(words, key, {"chosen": chosen, "all": every})
        elif has_final:
            yield fill_message(words, "closing_done", {"scored": scored, "all": every})
        else:
            yield words["state_closed"]

    async def change_account(self, request: Request) -> Response:
        """Approve an account, or close it."""
        person, _ = await self._owner_form(request)
        action, id = request.path_params["action"], request.path_params["id"]
        if action not in ("approve", "close"):
            raise Refused("not_found", 404)
        state: Any = "active" if action == "approve" else "closed"
        await self.site.write(set_account_state, id, state, person.name, self.site.clock())
        return _redirect("/owner#accounts")

    async def resolve_flags(self, request: Request) -> Response:
        """Note that the owner has dealt with the flags of one kind that a submission has."""
        person, _ = await self._owner_form(request)
        submission, kind = request.path_params["submission"], request.path_params["kind"]
        await self.site.write(resolve_flags, submission, kind, person.name, self.site.clock())
        return _redirect("/owner#flags")

    async def invite(self, request: Request) -> Response:
        """Make invitation links, and show them this once."""
        person, form = await self._owner_form(request)
        notes = [line.strip()[:200] for line in form.get("notes", "").splitlines() if line.strip()]
        days = form.get("days", "")
        if not (days.isascii() and days.isdigit() and 1 <= int(days[:5]) <= 3650):
            raise Refused("bad_request", 422)
        if not 1 <= len(notes) <= MAX_INVITATIONS:
            raise Refused("bad_request", 422)
        links = []
        for note in notes:
            token = await self.site.write(
                make_invitation,
                person.name,
                self.site.clock(),
                note=note,
                seconds=int(days) * DAY,
            )
            links.append({"note": note, "link": f"{self.site.address}/sign-up?invitation={token}"})
        return await self._dashboard(request, person, new_links=links)


def _describe_flag(words: Mapping[str, str], flag: FlagRow) -> dict[str, Any]:
    meaning = fill_message(words, f"flag_{flag.kind}_means", dict(flag.detail))
    title = words.get(f"flag_{flag.kind}", flag.kind)
    return {**flag._asdict(), "title": title, "meaning": meaning}


def _describe_leak(
    leak: Leak, start: float, names: Mapping[str, str], is_first: bool
) -> dict[str, Any]:
    return {
        "task": leak.task,
        "split": leak.split,
        "account": None if leak.account is None else names.get(leak.account, leak.account),
        "is_first": is_first,
        "bits": f"{leak.bits:,.1f}",
        "share": f"{100 * leak.share:.1f}%",
        "share_value": f"{leak.share:.4f}",
        "start": f"{100 * start:.1f}%",
        "guess": f"{100 * leak.accuracy:.1f}%",
        "overfit": f"{100 * leak.overfit:.1f}%",
    }


def _redirect(to: str) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(to, 303)
