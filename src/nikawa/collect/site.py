"""What the routes share: the project, its store, the templates, the limits, and how answers are written."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from nikawa.collect.desk import Desk
from nikawa.collect.form import LANGUAGES, Problem
from nikawa.collect.guard import Limiter, body_of, refuse_elsewhere
from nikawa.collect.i18n import say, table
from nikawa.collect.latest import Latest
from nikawa.collect.markdown import render
from nikawa.collect.workers import Refused

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

    from nikawa.collect.database import Link
    from nikawa.collect.project import Project
    from nikawa.collect.store import Store

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
Analysis = Callable[["Project", "Store"], Any]
"""Something a dashboard shows that needs other stages; given by whoever starts the server."""
FRESH, ANALYSED = 2.0, 30.0
"""Seconds for which a dashboard's figures, and its analyses, are not computed again."""


class Site:
    """A project being served."""

    def __init__(
        self,
        project: Project,
        store: Store,
        analyses: Mapping[str, Analysis] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.project, self.store, self.clock = project, store, clock
        self.analyses = dict(analyses or {})
        self.desk = Desk(project)
        limits = project.settings.limits
        self.limit = limits.body_kilobytes * 1024
        self.requests = Limiter(limits.requests_per_second, 3 * limits.requests_per_second)
        self.strangers = Limiter(5, 60)
        self.logins = Limiter(0.2, 8)
        self.latest = Latest(clock)
        self.kept: dict[str, tuple[float, Any]] = {}
        self.busy: dict[str, asyncio.Lock] = {}

    async def write(self, operation: Callable[[Link], T]) -> T:
        """Have an operation done and wait until it is on disk."""
        return await asyncio.wrap_future(self.store.write(operation))

    async def read(self, question: Callable[[Link], T]) -> T:
        """Ask the store, beside the loop."""
        from starlette.concurrency import run_in_threadpool

        return await run_in_threadpool(self.store.ask, question)

    async def body(self, request: Request, kind: type[S]) -> S:
        """The JSON body of a POST, checked."""
        refuse_elsewhere(request)
        if (
            request.headers.get("content-type", "").split(";")[0].strip().lower()
            != "application/json"
        ):
            raise Refused("bad_request", 415)
        raw = await body_of(request, self.limit)
        if b"\\u0000" in raw:  # no database keeps it in a text, and no keyboard makes it
            raise Refused("bad_request", 422)
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Refused("bad_request", 422) from None

    async def once(self, key: str, seconds: float, make: Callable[[], T]) -> T:
        """A value computed beside the loop, at most once at a time and once in so many seconds."""
        from starlette.concurrency import run_in_threadpool

        async with self.busy.setdefault(key, asyncio.Lock()):
            until, value = self.kept.get(key, (float("-inf"), None))
            began = time.monotonic()
            if began >= until:
                value = await run_in_threadpool(make)
                ended = time.monotonic()  # what is slow to compute is computed less often
                self.kept[key] = (ended + max(seconds, 10 * (ended - began)), value)
            return cast(T, value)

    @cached_property
    def static(self) -> tuple[str, dict[str, bytes]]:
        """The version in the address of the static files, and their contents."""
        folder = Path(str(files("nikawa.collect") / "pages" / "static"))
        contents = {
            path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()
        }
        digest = sha256(
            b"\0".join(name.encode() + data for name, data in contents.items())
        ).hexdigest()
        return digest[:12], contents

    @cached_property
    def modules(self) -> list[str]:
        """Scripts that those of a worker's page import, found beforehand so that a browser need not ask in turns."""
        found, waiting = list[str](), [self.project.form.code, "collect.js"]
        while waiting:
            source = self.static[1].get(waiting.pop(), b"").decode()
            fresh = [
                name for name in re.findall(r'from "\./([\w-]+\.js)"', source) if name not in found
            ]
            found += fresh
            waiting += fresh
        return found

    @cached_property
    def templates(self) -> Environment:
        """Jinja with escaping on everywhere."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        folder = str(files("nikawa.collect") / "pages")
        return Environment(
            loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined
        )

    async def warm(self) -> None:
        """Have ready what the first visitor would wait for."""
        for language in LANGUAGES:
            self.page("worker.html", language, base="")
        self.templates.get_template("login.html")
        await self.read(lambda link: link.one("SELECT 1"))

    def page(self, name: str, language: str, status: int = 200, **more: Any) -> Response:
        """A page of HTML."""
        from markupsafe import Markup
        from starlette.responses import HTMLResponse

        settings = self.project.settings
        context = {
            "project": {
                "title": settings.title,
                "form": settings.form,
                "language": settings.language,
            },
            "form": self.project.form,
            "settings": msgspec.to_builtins(self.project.options) or {},
            "language": language,
            "languages": LANGUAGES,
            "t": table(language, self.project.form),
            "static": f"/static/{self.static[0]}",
            "modules": self.modules,
            "comment_limit": settings.limits.comment_characters,
            "guideline": Markup(render(self.project.guideline(language))),  # noqa: S704  (escaped by render)
            **more,
        }
        return HTMLResponse(self.templates.get_template(name).render(context), status)

    def said(self, language: str, problem: Problem) -> str:
        """A problem in words."""
        return say(language, problem.code, problem.values, self.project.form)

    def told(self, language: str, problem: Problem) -> dict[str, Any]:
        """A problem as the pages get it."""
        return {
            "code": problem.code,
            "message": self.said(language, problem),
            "values": problem.values,
            "where": problem.where,
            "warning": problem.warning,
        }

    def faults(self, language: str, problems: list[Problem]) -> Response:
        """Why an answer is not taken."""
        first = next(problem for problem in problems if not problem.warning)
        told = [self.told(language, problem) for problem in problems]
        return answer(
            {"error": first.code, "message": self.said(language, first), "problems": told}, 422
        )

    def refusal(self, problem: Refused, language: str, html: bool = False) -> Response:
        """What somebody gets whose request cannot be done: a code and a sentence, nothing else."""
        if html:
            text = say(language, problem.code)
            return self.page(
                "message.html", language, problem.status, heading=problem.status, text=text
            )
        return answer(
            {"error": problem.code, "message": say(language, problem.code)}, problem.status
        )


def answer(value: Any, status: int = 200) -> Response:
    """A JSON response."""
    from starlette.responses import Response

    return Response(msgspec.json.encode(value), status, media_type="application/json")
