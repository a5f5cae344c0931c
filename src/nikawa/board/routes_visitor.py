"""The routes for everybody: the board, its systems, comparisons, and the whole board as CSV and JSON."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, cast

from nikawa.board.exchange import board_csv, board_json
from nikawa.board.rendering import (
    render_about,
    render_board,
    render_compare,
    render_embed,
    render_system,
    render_task,
)
from nikawa.board.views import SORTS, Order, TaskView, view_comparison
from nikawa.errors import NikawaError
from nikawa.serve.errors import Refused
from nikawa.serve.requests import sender_address
from nikawa.serve.server import CONTENT_POLICY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from nikawa.board.site import Site, Snapshot
    from nikawa.board.views import BoardView, ComparisonView, EntryView, ScoreView

COMPARE_SECONDS = 5.0
"""A comparison that takes longer goes on, and the page says that it can be loaded again."""
PENDING = "pending"
EMBED_HEADERS = {
    "content-security-policy": CONTENT_POLICY.replace(
        "frame-ancestors 'none'", "frame-ancestors *"
    ),
    "cross-origin-resource-policy": "cross-origin",
    "x-robots-tag": "noindex",
}
"""Any page may show the table in a frame: it holds nothing that a click could do harm with."""


class VisitorRoutes:
    """Pages and files for visitors. Nothing here needs a log-in, or knows of one."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        from starlette.routing import Route

        return [
            Route("/", self.board),
            Route("/t/{task}", self.task),
            Route("/s/{id}", self.system),
            Route("/compare", self.compare),
            Route("/about", self.about),
            Route("/embed/{task}", self.embed),
            Route("/board.csv", partial(self.data, kind="csv")),
            Route("/board.json", partial(self.data, kind="json")),
        ]

    async def board(self, request: Request) -> Response:
        """The first page."""
        snapshot = await self.site.snapshot()
        tasks = snapshot.view.tasks
        if len(tasks) == 1:
            return await self._task(request, tasks[0], "/")
        sort, order = request.query_params.get("sort", ""), read_order(request)
        if sort not in (*(task.name for task in tasks), "name", "mean"):
            sort, order = "", "best"
        here = {"sort": sort, "order": order} if sort else {}
        return await self.site.visitor_page(
            request,
            ("/", sort, order),
            lambda page: render_board(page, sort, order),
            here,
        )

    async def task(self, request: Request) -> Response:
        """The table of a task."""
        task = find_task(await self.site.snapshot(), request)
        return await self._task(request, task, "/t/")

    async def _task(self, request: Request, task: TaskView, path: str) -> Response:
        query = request.query_params
        name = query.get("split", "")
        split = next((one for one in task.splits if one.name == name), None)
        if split is None and name:
            raise Refused("not_found", 404)
        split = split or task.splits[0]
        by = query.get("by", "")
        if by not in {one.by for one in task.slices}:
            by = ""
        keys = {one.where for one in task.slices if one.by == by} | {m.name for m in task.metrics}
        sort, order = query.get("sort", ""), read_order(request)
        if sort not in keys | set(SORTS):
            sort, order = "", "best"
        chosen = {"split": name, "by": by, "sort": sort, "order": order if sort else ""}
        return await self.site.visitor_page(
            request,
            (path, task.name, split.name, by, sort, order),
            lambda page: render_task(page, task, split, by=by, sort=sort, order=order),
            {key: value for key, value in chosen.items() if value},
        )

    async def system(self, request: Request) -> Response:
        """The page of a system; one that is private does not exist."""
        snapshot = await self.site.snapshot()
        entry = snapshot.view.entry(request.path_params["id"])
        if entry is None:
            raise Refused("not_found", 404)
        return await self.site.visitor_page(
            request, ("/s/", entry.id), lambda page: render_system(page, entry)
        )

    async def compare(self, request: Request) -> Response:
        """Two systems, compared by paired tests; each pair of submissions is compared once, and then kept."""
        snapshot = await self.site.snapshot()
        view = snapshot.view
        a, b = (find_entry(view, request.query_params.get(name, "")) for name in ("a", "b"))
        if a is None or b is None or a.id == b.id:
            chosen = ("/compare", a.id if a else "", b.id if b else "")
            return await self._compare_page(request, chosen, a, b, ())
        pairs = list(list_pairs(snapshot, a, b))
        key = ("/compare", a.id, b.id, "")
        if not self.site.pages.has((snapshot.version, self.site.request_language(request), *key)):
            self.site.comparisons.count(sender_address(request))
        rows = [await self._compare(*pair) for pair in pairs]
        if any(row.reason == PENDING for row in rows):
            key = ("/compare", a.id, b.id, f"{self.site.clock():.3f}")  # it is another one soon
        return await self._compare_page(request, key, a, b, rows)

    async def _compare_page(
        self,
        request: Request,
        key: tuple[str, ...],
        a: EntryView | None,
        b: EntryView | None,
        rows: Sequence[ComparisonView],
    ) -> Response:
        here = {name: one.id for name, one in (("a", a), ("b", b)) if one is not None}
        return await self.site.visitor_page(
            request, key, lambda page: render_compare(page, a, b, rows), here
        )

    async def _compare(self, first: str, second: str, a: ScoreView, b: ScoreView) -> ComparisonView:
        """One paired test: from the store, or from the scoring process."""
        try:
            async with asyncio.timeout(COMPARE_SECONDS):
                shown = await self.site.compare(a.task, a.split, first, second)
        except (TimeoutError, NikawaError):
            return view_comparison(a, b, None, PENDING)
        shared = next((one for one in shown if one.metric == a.metric), None)
        return view_comparison(a, b, shared, "undefined")

    async def about(self, request: Request) -> Response:
        """What the board is about."""
        language = self.site.request_language(request)
        text = self.site.board.about(language)
        return await self.site.visitor_page(request, ("/about", text), render_about)

    async def embed(self, request: Request) -> Response:
        """The table of a task for a frame on another site."""
        task = find_task(await self.site.snapshot(), request)
        return await self.site.visitor_page(
            request,
            ("/embed/", task.name),
            lambda page: render_embed(page, task, task.splits[0]),
            headers=EMBED_HEADERS,
        )

    async def data(self, request: Request, kind: str) -> Response:
        """The whole board as it is shown, for programs; other sites' scripts may read it."""
        snapshot = await self.site.snapshot()
        make, media_type = _KINDS[kind]
        kept = await self.site.pages.get(
            (snapshot.version, "", f"/board.{kind}"), lambda: make(snapshot.view)
        )
        response = self.site.kept_response(request, kept, media_type)
        response.headers["access-control-allow-origin"] = "*"
        response.headers["cross-origin-resource-policy"] = "cross-origin"
        return response


_KINDS: dict[str, tuple[Callable[..., bytes], str]] = {
    "csv": (board_csv, "text/csv; charset=utf-8"),
    "json": (board_json, "application/json"),
}


def list_pairs(
    snapshot: Snapshot, a: EntryView, b: EntryView
) -> Iterator[tuple[str, str, ScoreView, ScoreView]]:
    """What two systems can be compared on: their submissions and main scores, for each split with a shown score of both."""
    for task in snapshot.view.tasks:
        for split in task.splits:
            metric = task.metrics[0].name
            left, right = (one.score(task.name, split.name, metric) for one in (a, b))
            places = [(one.id, task.name, split.name) for one in (a, b)]
            if left and right and left.value is not None and right.value is not None:
                yield snapshot.current[places[0]], snapshot.current[places[1]], left, right


def find_entry(view: BoardView, id: str) -> EntryView | None:
    """A system that can be compared; an unknown id, and people, are the choice of no system."""
    return next((one for one in view.shown if one.id == id and one.kind != "human"), None)


def find_task(snapshot: Snapshot, request: Request) -> TaskView:
    """The task that a path names."""
    task = snapshot.view.task(request.path_params["task"])
    if task is None:
        raise Refused("not_found", 404)
    return task


def read_order(request: Request) -> Order:
    """The direction that a query asks for."""
    order = request.query_params.get("order", "best")
    return cast(Order, order if order in ("best", "worst") else "best")
