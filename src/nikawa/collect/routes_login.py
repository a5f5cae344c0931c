"""Who asks for the owner's pages: log-in, session, role, and the token that every POST carries."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from nikawa.collect import people
from nikawa.collect.guard import body_of, fields_of, refuse_elsewhere, sender_of
from nikawa.collect.i18n import accepted, say
from nikawa.collect.site import Site, answer
from nikawa.collect.workers import Refused, audit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

SESSION, LOGIN = "nikawa_session", "nikawa_login"
FIELD = "X-CSRF-Token"


class LoginRoutes:
    """Handlers of one site."""

    def __init__(self, site: Site) -> None:
        self.site, self.project, self.store = site, site.project, site.store

    def _language(self, request: Request) -> str:
        return accepted(request.headers.get("accept-language", ""), self.project.settings.language)

    async def person(self, request: Request, role: str = "reviewer") -> people.Person:
        """Who asks; a POST must carry their token too."""
        now = self.site.clock()
        cookie = request.cookies.get(SESSION, "")
        try:
            person = await self.site.read(lambda link: people.person_of(link, cookie, now))
        except Refused:
            self.site.strangers.take(sender_of(request))
            raise
        if role == "owner" and person.role != "owner":
            raise Refused("not_allowed", 403)
        if request.method == "POST":
            refuse_elsewhere(request)
            if not hmac.compare_digest(
                request.headers.get(FIELD, "").encode(), person.csrf.encode()
            ):
                raise Refused("not_allowed", 403)
        return person

    def _cookie(self, request: Request, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            name,
            value,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )

    async def login_page(self, request: Request) -> Response:
        """The page to log in; its token must come back with the form."""
        return self._login(request, "", 200)

    def _login(self, request: Request, text: str, status: int) -> Response:
        csrf = secrets.token_urlsafe(24)
        response = self.site.page(
            "login.html", self._language(request), status, csrf=csrf, text=text
        )
        self._cookie(request, response, LOGIN, csrf)
        return response

    async def login(self, request: Request) -> Response:
        """Check name and password, slowly, and start a session."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import RedirectResponse

        self.site.logins.take(sender_of(request))
        refuse_elsewhere(request)
        form = fields_of(await body_of(request, 4096))
        kept = request.cookies.get(LOGIN, "")
        if not kept or not hmac.compare_digest(form.get(FIELD, "").encode(), kept.encode()):
            raise Refused("not_allowed", 403)
        name, now = form.get("name", "")[:200].replace("\0", ""), self.site.clock()
        stored = await self.site.read(lambda link: people.password_of(link, name))
        if not await run_in_threadpool(people.matches, stored, form.get("password", "")[:1000]):
            await self.site.write(
                lambda link: audit(link, "?", "log in refused", {"name": name}, now)
            )
            return self._login(request, say(self._language(request), "login_failed"), 401)
        cookie = await self.site.write(lambda link: people.start_session(link, name, now))
        response = RedirectResponse("/owner", 303)
        self._cookie(request, response, SESSION, cookie)
        response.delete_cookie(LOGIN, path="/")
        return response

    async def logout(self, request: Request) -> Response:
        """End the session."""
        person, now = await self.person(request), self.site.clock()
        cookie = request.cookies.get(SESSION, "")
        await self.site.write(lambda link: people.end_session(link, cookie, person.name, now))
        response = answer({"saved": True})
        response.delete_cookie(SESSION, path="/")
        return response
