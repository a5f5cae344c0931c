"""Parts that the routes share: the project, its store, templates and messages, limits, and responses to refusals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nikawa.collect.effort import EffortPlanner
from nikawa.collect.form import Form, Problem
from nikawa.errors import BadInput
from nikawa.serve.background import LatestFigures
from nikawa.serve.languages import LANGUAGES, accepted_language, fill_message, read_messages
from nikawa.serve.limits import RateLimiter
from nikawa.serve.markdown import render_markdown
from nikawa.serve.requests import json_response
from nikawa.serve.server import StaticFiles
from nikawa.serve.site import ServedSite

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

    from nikawa.collect.project import Project
    from nikawa.collect.store import Store

Analysis = Callable[["Project", "Store"], Any]
"""An analysis that the dashboard shows and that needs other stages; passed in when the server starts."""
PAGES = Path(str(files("nikawa.collect") / "pages"))


def page_messages(language: str, form: Form | None = None) -> Mapping[str, str]:
    """The messages of all pages, and those of a form."""
    messages = read_messages("nikawa.collect", "messages", language)
    if form is None:
        return messages
    return {**messages, **form.words.get(language, form.words.get("en", {}))}


def page_message(
    language: str, key: str, values: Mapping[str, Any] | None = None, form: Form | None = None
) -> str:
    """One of the messages of `page_messages`, with its values filled in."""
    return fill_message(page_messages(language, form), key, values)


def owner_messages(language: str) -> Mapping[str, str]:
    """The messages of the owner's pages; they are apart, so that no worker's page carries them."""
    return read_messages("nikawa.collect", "messages/owner", language)


class Site(ServedSite):
    """A project being served: what every handler of a request needs.

    `analyses` are computed for the dashboard under their names; `clock` tells the time, so that tests can set it.
    """

    def __init__(
        self,
        project: Project,
        store: Store,
        analyses: Mapping[str, Analysis] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(store, clock)
        self.project = project
        self.analyses = dict(analyses or {})
        limits = project.settings.limits
        self.max_body_bytes = limits.body_kilobytes * 1024
        self.worker_requests = RateLimiter(
            limits.requests_per_second, 3 * limits.requests_per_second
        )
        """Of a worker's link."""
        self.unknown_requests = RateLimiter(5, 60)
        """Of an address that tries unknown links and cookies."""
        self.login_requests = RateLimiter(0.2, 8)
        """Of an address."""
        self.figures = LatestFigures(clock)
        self.effort = EffortPlanner(self)

    @cached_property
    def static(self) -> StaticFiles:
        """Scripts, styles and images; the form may add its own."""
        folders = (folder / "static" for folder in self._page_folders)
        return StaticFiles(*(folder for folder in folders if folder.is_dir()))

    @property
    def _page_folders(self) -> list[Path]:
        assets = self.project.form.assets
        return [PAGES] if assets is None else [PAGES, assets]

    @cached_property
    def modules(self) -> list[str]:
        """Scripts that those of a worker's page import, found beforehand so that a browser need not ask in turns."""
        names: list[str] = []
        waiting = [self.project.form.code, "collect.js"]
        while waiting:
            source = self.static.contents.get(waiting.pop(), b"").decode()
            imported = re.findall(r'from "\./([\w-]+\.js)"', source)
            new = [name for name in imported if name not in names]
            names += new
            waiting += new
        return names

    @cached_property
    def templates(self) -> Environment:
        """Jinja with escaping on everywhere."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        made = Environment(
            loader=FileSystemLoader(self._page_folders), autoescape=True, undefined=StrictUndefined
        )
        made.policies[
            "json.dumps_kwargs"
        ] = {}  # pages list settings, such as domains, in their order
        return made

    async def warm_up(self) -> None:
        """Have ready what the first visitor would wait for."""
        for language in LANGUAGES:
            self.page("worker.html", language, base="")
        self.templates.get_template("login.html")
        await self.check_alive()

    def page(self, name: str, language: str, status: int = 200, **more: Any) -> Response:
        """A page of HTML; `more` holds further values for its template."""
        from markupsafe import Markup
        from starlette.responses import HTMLResponse

        project, settings = self.project, self.project.settings
        try:
            guideline = render_markdown(project.guideline(language))
        except BadInput as problem:  # it was there when the server began: workers go on without it
            self._log.warn("a guideline is not shown: %s", problem)
            guideline = ""
        context = {
            "project": {
                "title": settings.title,
                "form": settings.form,
                "language": settings.language,
            },
            "form": project.form,
            "settings": project.form.page_settings(project.options),
            "language": language,
            "languages": LANGUAGES,
            "t": page_messages(language, project.form),
            "static": self.static.base,
            "modules": self.modules,
            "comment_limit": settings.limits.comment_characters,
            "report_codes": settings.reports.codes,
            "names": getattr(project.options, "names", {}),
            "guideline": Markup(guideline),  # noqa: S704  (escaped by render_markdown)
            **more,
        }
        return HTMLResponse(self.templates.get_template(name).render(context), status)

    def request_language(self, request: Request) -> str:
        """The language a browser asks for, else the project's own."""
        header = request.headers.get("accept-language", "")
        return accepted_language(header, self.project.settings.language)

    def message(self, language: str, code: str) -> str:
        """The sentence for the code of a refusal."""
        return page_message(language, code, form=self.project.form)

    def describe_problem(self, language: str, problem: Problem) -> str:
        """A problem of an answer as a sentence in a language, in the form's own words; a stored value is called as on the page."""
        form, values = self.project.form, dict(problem.values)
        if name := page_messages(language, form).get(f"label_{values.get('value')}"):
            values["value"] = name
        return page_message(language, problem.code, values, form)

    def problem_json(self, language: str, problem: Problem) -> dict[str, Any]:
        """A problem as the pages get it."""
        return {
            "code": problem.code,
            "message": self.describe_problem(language, problem),
            "values": problem.values,
            "where": problem.where,
            "warning": problem.warning,
        }

    def problems_response(self, language: str, problems: list[Problem]) -> Response:
        """Why an answer is refused: the first problem that is not a warning is the error, and all problems are listed."""
        first = next(problem for problem in problems if not problem.warning)
        body = {
            "error": first.code,
            "message": self.describe_problem(language, first),
            "problems": [self.problem_json(language, problem) for problem in problems],
        }
        return json_response(body, 422)
