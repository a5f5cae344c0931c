"""The addresses that pages link to: paths of a server, or files of a static export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote, urlencode

from nikawa.board.views import Order, TableView


class Links(Protocol):
    """Where the parts of a board are. An empty address: it is not there, so it is no link."""

    can_compare: bool
    can_submit: bool
    can_embed: bool

    def static(self, name: str) -> str:
        """A script, style or image."""

    def board(self) -> str:
        """The first page."""

    def overview(self, sort: str, order: Order) -> str:
        """The overview, sorted."""

    def task(self, name: str, split: str = "", by: str = "") -> str:
        """The table of a task."""

    def sorted(self, table: TableView, key: str) -> str:
        """The same table sorted by a column; again by the same one, in the other direction."""

    def system(self, id: str) -> str:
        """The page of a system."""

    def compare(self) -> str:
        """The page that compares two systems."""

    def about(self) -> str:
        """The page about the board."""

    def embed(self, task: str) -> str:
        """The table of a task for a frame."""

    def data(self, kind: str) -> str:
        """The whole board as `csv` or `json`."""

    def language(self, code: str) -> str:
        """The same page in another language."""


def other_order(table: TableView, key: str) -> Order:
    """The direction that a click on a column asks for."""
    return "worst" if table.sort == key and table.order == "best" else "best"


class ServerLinks:
    """Paths of the server; `here` is the query of the current page, which another language keeps."""

    can_compare = can_submit = can_embed = True

    def __init__(self, static: str, here: Mapping[str, str] | None = None) -> None:
        self._static = static
        self._here = dict(here or {})

    def static(self, name: str) -> str:
        """A script, style or image."""
        return f"{self._static}/{name}"

    def board(self) -> str:
        """The first page."""
        return "/"

    def overview(self, sort: str, order: Order) -> str:
        """The overview, sorted."""
        return f"/?{urlencode({'sort': sort, 'order': order})}"

    def task(self, name: str, split: str = "", by: str = "") -> str:
        """The table of a task."""
        query = {key: value for key, value in (("split", split), ("by", by)) if value}
        return f"/t/{quote(name, safe='')}" + (f"?{urlencode(query)}" if query else "")

    def sorted(self, table: TableView, key: str) -> str:
        """The same table sorted by a column."""
        query = {"split": table.split.name, "by": table.by, "sort": key}
        query["order"] = other_order(table, key)
        shown = {key: value for key, value in query.items() if value}
        return f"/t/{quote(table.task.name, safe='')}?{urlencode(shown)}"

    def system(self, id: str) -> str:
        """The page of a system."""
        return f"/s/{quote(id, safe='')}"

    def compare(self) -> str:
        """The page that compares two systems."""
        return "/compare"

    def about(self) -> str:
        """The page about the board."""
        return "/about"

    def embed(self, task: str) -> str:
        """The table of a task for a frame."""
        return f"/embed/{quote(task, safe='')}"

    def data(self, kind: str) -> str:
        """The whole board as `csv` or `json`."""
        return f"/board.{kind}"

    def language(self, code: str) -> str:
        """The same page in another language."""
        return f"?{urlencode({**self._here, 'lang': code})}"


def file_part(name: str) -> str:
    """A part of a file name for a task, split or key, the same on every system.

    >>> file_part("mini-ja-nli"), file_part("a/b") == file_part("a b")
    ('mini-ja-nli', False)
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60]
    return plain if plain == name else f"{plain or 'x'}-{sha256(name.encode()).hexdigest()[:8]}"


class FileLinks:
    """Relative addresses between the files of a static export; `path` is the current page's, from the folder of its language."""

    can_compare = can_submit = can_embed = False

    def __init__(self, path: str, language: str, default: str, first: Mapping[str, str]) -> None:
        self._path, self._language, self._default = path, language, default
        self._first = first
        """The first split of each task: its page has the short name."""
        self._up = "../" * path.count("/")

    @property
    def _root(self) -> str:
        return self._up if self._language == self._default else f"{self._up}../"

    def static(self, name: str) -> str:
        """A script, style or image."""
        return f"{self._root}static/{name}"

    def board(self) -> str:
        """The first page."""
        return f"{self._up}index.html"

    def overview(self, sort: str, order: Order) -> str:
        """The overview, sorted."""
        return ""

    def task(self, name: str, split: str = "", by: str = "") -> str:
        """The table of a task."""
        return self._up + task_file(name, "" if split == self._first[name] else split, by)

    def sorted(self, table: TableView, key: str) -> str:
        """The same table sorted by a column."""
        return ""

    def system(self, id: str) -> str:
        """The page of a system."""
        return f"{self._up}s/{file_part(id)}.html"

    def compare(self) -> str:
        """The page that compares two systems."""
        return ""

    def about(self) -> str:
        """The page about the board."""
        return f"{self._up}about.html"

    def embed(self, task: str) -> str:
        """The table of a task for a frame."""
        return ""

    def data(self, kind: str) -> str:
        """The whole board as `csv` or `json`."""
        return f"{self._root}board.{kind}"

    def language(self, code: str) -> str:
        """The same page in another language."""
        folder = "" if code == self._default else f"{code}/"
        return f"{self._root}{folder}{self._path}"


def task_file(name: str, split: str = "", by: str = "") -> str:
    """The file of a task's table in a static export."""
    parts = [file_part(name)]
    parts += [f"split-{file_part(split)}"] if split else []
    parts += [f"by-{file_part(by)}"] if by else []
    return f"t/{'.'.join(parts)}.html"
