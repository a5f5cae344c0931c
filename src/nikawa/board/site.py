"""Parts that the routes of a board share: the board, its store, templates, and pages that are made once per change.

Pages for visitors are the same for everybody: `visitor_page` renders one when it is first asked for after something that is shown has changed,
keeps it, and answers browsers that have it already with 304. `page` is for everybody who is logged in: it is never kept.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from nikawa.board.links import ServerLinks
from nikawa.board.rendering import PAGES, PageContext, environment, read_static_file
from nikawa.board.snapshot import DAY, describe_tasks, read_mark, read_snapshot
from nikawa.board.views import BoardView, TaskView
from nikawa.board.words import account_messages, page_messages, say
from nikawa.serve.languages import LANGUAGES, accepted_language
from nikawa.serve.limits import RateLimiter
from nikawa.serve.server import StaticFiles
from nikawa.serve.site import ServedSite

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from nikawa.board.folder import Board
    from nikawa.board.queue import ScoringQueue
    from nikawa.board.records import ShownComparison
    from nikawa.board.store import BoardStore
    from nikawa.board.wire import Helper

LANGUAGE_COOKIE = "nikawa_language"
MAX_COMPARISONS = 4
"""Comparisons that wait for the scoring process in a thread; the others wait without one."""
VIEW_SECONDS = 2.0
"""A change is seen at the latest so long after it."""
MAX_KEPT_PAGES = 2000
MAX_KEPT_BYTES = 64 << 20
MIN_COMPRESSED_BYTES = 1400
"""Shorter bodies fit into one packet as they are."""


@dataclass(frozen=True)
class Snapshot:
    """The board as visitors see it, and a name for this state of it."""

    view: BoardView
    version: str
    at: float
    current: Mapping[tuple[str, str, str], str]
    """The submission that stands for a system on a task and split."""


@dataclass(frozen=True)
class KeptPage:
    """A response that was made."""

    body: bytes
    compressed: bytes
    tag: str


class PageCache:
    """Responses by key, each made once; the least recently asked one goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], KeptPage] = OrderedDict()
        self._size = 0
        self._busy: dict[tuple[str, ...], asyncio.Future[KeptPage]] = {}

    def has(self, key: tuple[str, ...]) -> bool:
        """Whether a response is kept."""
        return key in self._kept

    async def get(self, key: tuple[str, ...], make: Callable[[], bytes]) -> KeptPage:
        """The response of a key; a request that comes while it is being made waits for it."""
        from starlette.concurrency import run_in_threadpool

        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key in self._busy:
            return await asyncio.shield(self._busy[key])
        future = self._busy[key] = asyncio.get_running_loop().create_future()
        try:
            page = await run_in_threadpool(keep_page, make)
        except BaseException as problem:
            future.set_exception(problem)
            future.exception()  # no request may have waited
            raise
        else:
            future.set_result(page)
        finally:
            del self._busy[key]
        self._kept[key] = page
        self._size += len(page.body) + len(page.compressed)
        while len(self._kept) > MAX_KEPT_PAGES or self._size > MAX_KEPT_BYTES:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old.body) + len(old.compressed)
        return page


def keep_page(make: Callable[[], bytes]) -> KeptPage:
    """A response with its compressed form and its tag."""
    body = make()
    compressed = gzip.compress(body, 6, mtime=0) if len(body) > MIN_COMPRESSED_BYTES else b""
    return KeptPage(body, compressed, f'"{sha256(body).hexdigest()[:24]}"')


class Site(ServedSite):
    """A board being served: what every handler of a request needs.

    `view_seconds` is how long a state of the board is shown before it is looked up again; 0: with each request.
    """

    def __init__(
        self,
        board: Board,
        store: BoardStore,
        clock: Callable[[], float] = time.time,
        view_seconds: float = VIEW_SECONDS,
        *,
        queue: ScoringQueue | None = None,
        checker: Helper | None = None,
        address: str = "",
    ) -> None:
        super().__init__(store, clock)
        self.queue = queue
        """What scores submissions; None: nothing is scored."""
        self.checker = checker
        """What checks received files; None: no file is taken."""
        self.address = (board.settings.address or address).rstrip("/")
        """Where visitors reach the server."""
        self.board = board
        self.view_seconds = view_seconds
        self.pages = PageCache()
        self._last: tuple[bytes, Snapshot] | None = None
        rate = board.settings.server.requests_per_second
        self.requests = RateLimiter(rate, 3 * rate)
        """Of an account or address that changes something, or has something computed."""
        self.unknown_requests = RateLimiter(5, 60)
        """Of an address that tries unknown tokens and cookies."""
        self.login_requests = RateLimiter(0.2, 8)
        """Of an address."""
        self.comparisons = RateLimiter(1, 30)
        """Of an address that has systems compared."""
        self._comparisons_at_once = asyncio.Semaphore(MAX_COMPARISONS)
        self._comparing: dict[tuple[str, ...], asyncio.Future[list[ShownComparison]]] = {}

    @cached_property
    def static(self) -> StaticFiles:
        """Scripts, styles and images, with the style that reports and boards share."""
        made = StaticFiles(PAGES / "static")
        made.contents["base.css"] = read_static_file("base.css")
        joined = b"\0".join(name.encode() + data for name, data in made.contents.items())
        made.version = sha256(joined).hexdigest()[:12]
        return made

    @cached_property
    def tasks(self) -> tuple[TaskView, ...]:
        """The tasks, read once."""
        return describe_tasks(self.board)

    async def snapshot(self) -> Snapshot:
        """The board as visitors see it now."""
        from starlette.concurrency import run_in_threadpool

        if self.view_seconds <= 0:
            return await run_in_threadpool(self._take_snapshot)
        return await self.cached("snapshot", self.view_seconds, self._take_snapshot)

    def _take_snapshot(self) -> Snapshot:
        """A new state, or the last one where nothing has changed since."""
        now = self.clock()
        mark = self.store.read(read_mark, self.board, now)
        last = self._last
        if last is not None and last[0] == mark:
            return last[1]
        view, current = self.store.read(read_snapshot, self.board, self.tasks, now)
        view = replace(view, address=view.address or self.address)
        today = int(now // DAY)  # pages name the day
        digest = sha256(msgspec.json.encode([view, today, self.static.version]))
        snapshot = Snapshot(view, digest.hexdigest()[:24], now, current)
        self._last = (mark, snapshot)
        return snapshot

    async def compare(
        self, task: str, split: str, first: str, second: str
    ) -> list[ShownComparison]:
        """What is shown of a comparison of two submissions; it goes on if the caller stops waiting."""
        if self.queue is None:
            return []
        key = (task, split, first, second)
        if key not in self._comparing:
            comparison = asyncio.ensure_future(self._compare_in_turn(self.queue, *key))
            self._comparing[key] = comparison
            comparison.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(self._comparing[key])

    async def _compare_in_turn(
        self, queue: ScoringQueue, task: str, split: str, first: str, second: str
    ) -> list[ShownComparison]:
        """A comparison in a thread; few at once, so that they leave threads to readers."""
        from starlette.concurrency import run_in_threadpool

        async with self._comparisons_at_once:
            return await run_in_threadpool(queue.compare_shown, task, split, first, second)

    def _forget(self, key: tuple[str, ...], done: asyncio.Future[list[ShownComparison]]) -> None:
        del self._comparing[key]
        if not done.cancelled() and done.exception() is not None:
            self._log.warn("a comparison failed: %s", done.exception())

    def page_context(
        self, snapshot: Snapshot, language: str, here: Mapping[str, str] | None = None
    ) -> PageContext:
        """What the pages of a state share; `here` is the query of the page."""
        links = ServerLinks(self.static.base, here)
        about = self.board.about(language)
        return PageContext(snapshot.view, language, links, snapshot.at, about)

    async def visitor_page(
        self,
        request: Request,
        key: tuple[str, ...],
        render: Callable[[PageContext], str],
        here: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """A page that is the same for every visitor; `key` names it, with all of its query that matters."""
        snapshot = await self.snapshot()
        language = self.request_language(request)

        def make() -> bytes:
            return render(self.page_context(snapshot, language, here)).encode("utf-8", "replace")

        kept = await self.pages.get((snapshot.version, language, *key), make)
        response = self.kept_response(request, kept, "text/html; charset=utf-8")
        response.headers.update(headers or {})
        return response

    def kept_response(self, request: Request, kept: KeptPage, media_type: str) -> Response:
        """A kept page; who has it already gets 304, who can unpack it gets it compressed."""
        from starlette.responses import Response

        headers = {
            "etag": kept.tag,
            "cache-control": "public, no-cache",
            "vary": "Accept-Encoding, Accept-Language, Cookie",
            "x-robots-tag": "all",
        }
        known = {
            tag.strip().removeprefix("W/")
            for tag in request.headers.get("if-none-match", "").split(",")
        }
        if kept.tag in known:
            return Response(status_code=304, headers=headers)
        body = kept.body
        if kept.compressed and "gzip" in request.headers.get("accept-encoding", ""):
            body = kept.compressed
            headers["content-encoding"] = "gzip"
        return Response(body, media_type=media_type, headers=headers)

    async def warm_up(self) -> None:
        """Have ready what the first visitor would wait for."""
        environment().get_template("task.html")
        await self.snapshot()
        await self.check_alive()

    def request_language(self, request: Request) -> str:
        """The language that a visitor chose (`?lang=`, then the cookie of the choice), else that of the browser, else the board's own."""
        for chosen in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
            if chosen in LANGUAGES:
                return str(chosen)
        header = request.headers.get("accept-language", "")
        return accepted_language(header, self.board.settings.language)

    def message(self, language: str, code: str) -> str:
        """The sentence for the code of a refusal."""
        words = page_messages(language)
        return say(language, code) if code in words else account_messages(language).get(code, code)

    def page(self, name: str, language: str, status: int = 200, **more: Any) -> Response:
        """A page for one reader: a log-in, a form, a refusal. `more` holds further values for its template.

        Templates get `board` (title and name), `language`, `links`, `t` (messages for visitors; `words` of `more` are the
        page's own) and `section`, the place in the navigation.
        """
        from starlette.responses import HTMLResponse

        context = {
            "board": BoardView(
                title=self.board.settings.title,
                name=self.board.settings.name,
                language=self.board.settings.language,
                utc_offset=self.board.settings.dates.utc_offset,
            ),
            "language": language,
            "links": ServerLinks(self.static.base),
            "t": page_messages(language),
            "static": self.static.base,
            "section": "",
            **more,
        }
        text = environment().get_template(name).render(context)
        return HTMLResponse(text.encode("utf-8", "replace"), status)
