"""The routes of a worker who writes a dialogue: the search in the table of entities.

They answer for projects of the form `dialogue` alone; each takes the worker's link, as `routes_worker` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nikawa.collect.forms.dialogue import Dialogue
from nikawa.collect.interface import SearchBody
from nikawa.collect.submissions import leased_text
from nikawa.io.ontology import state_values
from nikawa.serve.errors import Refused
from nikawa.serve.requests import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.collect.routes_worker import WorkerRoutes

MAX_ENTITIES_SHOWN = 20


class DialogueRoutes:
    """Handlers for the pages of the form `dialogue` on one site."""

    def __init__(self, worker: WorkerRoutes) -> None:
        self.worker, self.site, self.project = worker, worker.site, worker.project

    def routes(self) -> list[BaseRoute]:
        """The table of routes."""
        from starlette.routing import Route

        limited = self.worker.limit_unknown_links
        return [Route("/w/{token}/search", limited(self.search), methods=["POST"])]

    def options(self) -> Dialogue:
        """The settings of the form."""
        options = self.project.options
        if not isinstance(options, Dialogue):
            raise Refused("not_found", 404)
        return options

    async def search(self, request: Request) -> Response:
        """The entities of a domain that fit a state, and have the words in one of their values."""
        token_hash = self.worker.token_hash(request)
        options = self.options()
        body = await self.site.read_body(request, SearchBody)
        await self.site.read(leased_text, token_hash, body.lease)
        rows: list[Any] = options.entities.search(
            options.ontology, body.domain, state_values(body.state), body.words.split()
        )
        return json_response({"count": len(rows), "rows": rows[:MAX_ENTITIES_SHOWN]})
