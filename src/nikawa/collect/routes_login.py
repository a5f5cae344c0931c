"""Who asks for the owner's pages: log-in, session, role, and the token that every POST carries."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from nikawa.collect.site import Site, page_message
from nikawa.serve.audit import add_audit
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
    read_form_body,
    refuse_cross_site,
    sender_address,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MAX_LOGIN_BYTES = 4096


class LoginRoutes:
    """Handlers of one site."""

    def __init__(self, site: Site) -> None:
        self.site, self.project, self.store = site, site.project, site.store

    async def person(self, request: Request, role: str = "reviewer") -> Person:
        """Who asks; a POST must carry their token too. Refuses those who are not logged in, or not in this role."""
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
        csrf, language = secrets.token_urlsafe(24), self.site.request_language(request)
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
        name, now = form.get("name", "")[:200].replace("\0", ""), self.site.clock()
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
