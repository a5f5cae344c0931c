"""A hidden label is nowhere outside the scorer's folder: markers are planted and searched in all that a board says and keeps.

The labels, tags and notes of the test items are words and numbers that occur nowhere else. Accounts submit answers (good, bad,
hostile), and visitors, a submitter, a reviewer and the owner then look at every page, follow every link and ask every route in three
languages. No response, header, log line, message, export, database cell or file outside `scorer/` may hold a marker. A new route that this
test does not ask fails it.
"""

from __future__ import annotations

import json
import logging
import re
import tarfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.board.conftest import CARD, BoardUnderTest
from typer.testing import CliRunner

from nikawa.board.accounts import (
    make_token,
    start_account_session,
)
from nikawa.board.app import create_app
from nikawa.board.flags import FlagFinder
from nikawa.board.folder import open_board
from nikawa.board.job import NewBoard, create_board
from nikawa.board.routes_owner import OwnerRoutes
from nikawa.board.routes_submitter import SubmitterRoutes
from nikawa.board.routes_visitor import VisitorRoutes
from nikawa.board.site import Site
from nikawa.board.store import open_store
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.cli.terminal.app import build
from nikawa.records import Dataset, Example
from nikawa.serve.login import hash_password, set_person, start_session

ITEMS = 120
WORD = "zqxvkwjh"
"""How every marker that is a word begins: long enough to be in no random id."""
SCORES = [f"{(n * 0.0413779) % 5:.6f}" for n in range(1, ITEMS + 1)]
"""Gold similarities; none has fewer than five decimals that matter."""
MARKER = re.compile("|".join([WORD, *map(re.escape, SCORES)]).encode(), re.IGNORECASE)
PASSWORD = "a long password of the owner"
LANGUAGES = ("en", "ja", "ko")
FIRST = [
    "/",
    "/board.csv",
    "/board.json",
    "/api",
    "/api/v1/board",
    "/api/v1/openapi.json",
    "/embed/marked",
    "/about",
    "/submit",
    "/me",
    "/owner",
    "/sign-up",
    "/log-in",
    "/compare",
    "/alive",
    "/nowhere",
]
"""Where a visit begins."""


def make_hidden(folder: Path) -> Path:
    """A similarity test whose hidden parts are all markers; only the source is kept."""

    def example(n: int, split: str) -> Example:
        name = f"{split}{n}"
        inputs = {"sentence1": f"潮{name}", "sentence2": f"波{name}"}
        if split == "train":
            return Example(id=name, inputs=inputs, gold={"score": 1.5 + n / 10})
        return Example(
            id=name,
            inputs=inputs,
            gold={"score": float(SCORES[n])},
            tags=frozenset({f"{WORD}tag{n % 2}"}),
            meta={"source": "news" if n % 2 else "web", "note": f"{WORD}note{n}"},
        )

    splits = {
        split: tuple(example(n, split) for n in range(count))
        for split, count in (("train", 20), ("test", ITEMS), ("final", ITEMS))
    }
    card = msgspec.structs.replace(CARD, name="marked")
    Dataset(name="marked", language="ja", version="1", card=card, splits=splits).save(folder / "in")
    options = HideOptions(splits=("test", "final"), keep=("meta.source",), allow=("meta.source",))
    hide(str(folder / "in"), folder / "marked", folder / "keys.jsonl", options=options)
    assert MARKER.search((folder / "keys.jsonl").read_bytes())
    return folder / "marked"


class Watched:
    """A board with planted markers, its application, and everything that it said."""

    def __init__(self, place: Path) -> None:
        folder = make_hidden(place)

        def change(text: str) -> str:
            text = text.replace(
                "slices = []", 'slices = ["meta.source", "tag", "meta.note", "bin"]'
            )
            return text.replace("min_items = 50", "min_items = 2").replace(
                "per_day = 3", "per_day = 0"
            )

        new = NewBoard(
            datasets=(folder,),
            keys=(place / "keys.jsonl",),
            public=("test",),
            final=("final",),
            title="Marked",
            closes="2027-03-31T23:59:59+09:00",
        )
        self.folder = place / "board"
        create_board(self.folder, new, change)
        board = open_board(self.folder)
        self.store = open_store("", board)
        gold = {
            split: {
                item["id"]: item["gold"]["score"]
                for item in map(
                    json.loads, (place / "keys.jsonl").read_text("utf-8").splitlines()[1:]
                )
                if item["split"] == split
            }
            for split in ("test", "final")
        }
        self.under = BoardUnderTest(board, self.store, gold)
        self.under.queue.find_flags = FlagFinder()
        self.app = create_app(
            board,
            self.store,
            clock=lambda: self.under.now,
            queue=self.under.queue,
            checker=self.under.checker,
            view_seconds=0.0,
        )
        self.client = TestClient(self.app, raise_server_exceptions=False, follow_redirects=False)
        self.said: list[tuple[str, bytes]] = []
        self.asked: set[str] = set()

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """One request; the whole response is kept."""
        response = self.client.request(method, path, **more)
        heads = b"\n".join(b": ".join(pair) for pair in response.headers.raw)
        self.said.append((f"{method} {path}", heads + b"\n\n" + response.content))
        self.asked.add(f"{method} {urlsplit(path).path}")
        return response

    def answers(self, split: str, miss: float, **changes: Any) -> bytes:
        """Answers near gold: rounded to halves, so that no file holds a marker itself, and moved by `miss`."""
        lines = []
        for number, (id, score) in enumerate(sorted(self.under.gold[split].items())):
            moved = round(2 * (float(score) + miss * ((number * 7) % 5 - 2))) / 2
            lines.append({"id": id, "answer": min(5.0, max(0.0, moved)), **changes})
        return "\n".join(map(json.dumps, lines)).encode()

    def submit(self, token: str, name: str, *files: bytes, key: str) -> Any:
        """Files as one submission; what was answered."""
        headers = {"Authorization": f"Bearer {token}"}
        uploads = []
        for data in files:
            path = "/api/v1/uploads?name=answers.jsonl"
            sent = self.ask("POST", path, content=data, headers=headers)
            if sent.status_code == 200:
                uploads.append(sent.json()["upload"])
        body = {"new_system": {"name": name}, "uploads": uploads, "key": key}
        return self.ask("POST", "/api/v1/submissions", json=body, headers=headers)

    def crawl(self, cookies: dict[str, str], language: str) -> None:
        """Follow every link from the first page on."""
        self.client.cookies.clear()
        for name, value in cookies.items():
            self.client.cookies.set(name, value)
        waiting, seen = list(FIRST), set[tuple[str, bool, bool]]()
        while waiting:
            path = waiting.pop()
            # one table of each kind is enough: sorted by another column it has the same rows
            plain = re.sub(r"(sort|order|lang)=[^&]*&?", "", path).rstrip("?&")
            kind = (plain, "sort=" in path, "lang=" in path)
            if kind in seen:
                continue
            seen.add(kind)
            response = self.ask(
                "GET", path, headers={"accept": "text/html", "accept-language": language}
            )
            links = (
                re.findall(r'(?:href|src|action)="([^"]+)"', response.text)
                if "html" in response.headers.get("content-type", "")
                else []
            )
            if "location" in response.headers:
                links.append(response.headers["location"])
            for link in links:
                target = urlsplit(urljoin(f"http://testserver{path}", unescape(link)))
                if target.netloc == "testserver" and not target.path.startswith("/log-out"):
                    waiting.append(target.path + (f"?{target.query}" if target.query else ""))


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    with made.client:
        yield made
    made.store.close()


def person_cookies(watched: Watched, role: str) -> dict[str, str]:
    now = watched.under.now
    if role == "submitter":
        account = watched.under.account("ann")
        return {"nikawa_account": watched.store.write(start_account_session, account.id, now)}
    if role in ("owner", "reviewer"):
        watched.store.write(set_person, role, role, hash_password(PASSWORD), now)
        return {"nikawa_session": watched.store.write(start_session, role, now)}
    return {}


def test_a_marker_is_nowhere(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    under = watched.under
    token = watched.store.write(make_token, under.account("ann").id, "t", under.now)
    final = watched.answers("final", 0.1)
    submissions = [
        watched.submit(token, "best", watched.answers("test", 0.2), final, key="1"),
        watched.submit(token, "worse", watched.answers("test", 0.9), key="2"),
        watched.submit(
            token, "seeds", watched.answers("test", 0.1), watched.answers("test", 0.15), key="3"
        ),
        # a constant has no correlation, and half a file no score
        watched.submit(token, "one", watched.answers("test", 0, answer=2.5), key="4"),
        watched.submit(token, "half", watched.answers("test", 0.2)[:3000], key="5"),
        watched.submit(
            token, "strange", b'{"id": "x", "answer": NaN}', b"\x00", b"PK\x03\x04", key="6"
        ),
    ]
    assert [one.status_code for one in submissions] == [200, 200, 200, 200, 422, 422]
    under.score()
    under.now = 1_806_505_300.0  # after the close
    under.score()
    shown = watched.ask("GET", "/board.json").json()
    assert any(score["value"] for entry in shown["entries"] for score in entry["scores"])
    for language in LANGUAGES:
        watched.crawl({}, language)
    for role, language in (("submitter", "ja"), ("reviewer", "ko"), ("owner", "en")):
        watched.crawl(person_cookies(watched, role), language)
    headers = {"Authorization": f"Bearer {token}"}
    watched.ask("GET", "/api/v1/me", headers=headers)
    for one in submissions[:4]:
        watched.ask("GET", f"/api/v1/submissions/{one.json()['submission']}", headers=headers)
    for what, content in watched.said:
        assert not MARKER.search(content), what
        assert not re.search(rb"Traceback|Internal Server Error", content), what
    assert not MARKER.search(caplog.text.encode())
    refuse_routes_that_were_not_asked(watched)
    search_database(watched)
    search_files(watched)


def refuse_routes_that_were_not_asked(watched: Watched) -> None:
    """Every GET route was asked: one that is new is looked at too."""
    site = Site(watched.under.board, watched.store)
    for routes in (VisitorRoutes(site), SubmitterRoutes(site), OwnerRoutes(site)):
        for route in routes.routes():
            assert isinstance(route, Route)
            if "GET" in (route.methods or ()):
                asked = any(
                    method == "GET" and route.path_regex.match(path)
                    for method, path in (one.split(" ", 1) for one in watched.asked)
                )
                assert asked or route.path == "/invite/{token}", route.path


def search_database(watched: Watched) -> None:
    """Every cell of every table."""

    def look(db: Any) -> None:
        tables = [row[0] for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert len(tables) > 12
        for table in tables:
            for row in db.rows(f"SELECT * FROM {table}"):
                assert not MARKER.search(repr(row).encode()), table

    watched.store.read(look)


def search_files(watched: Watched) -> None:
    """Every file but those of the scorer; exports for visitors; the backup's parts that are not the owner's keys."""
    place = watched.folder
    out = place.parent
    for words in (
        ["export", str(place), "--out", str(out / "board.csv")],
        ["export", str(place), "--out", str(out / "board.json")],
        ["export", str(place), "--to", "html", "--out", str(out / "html")],
        ["export", str(place), "--true-scores", "--out", str(out / "true.csv")],
        ["backup", str(place), "--out", str(out / "backup.tar")],
        ["status", str(place), "--json"],
    ):
        done = CliRunner().invoke(build(), ["board", *words])
        assert done.exit_code == 0, done.output
        assert not MARKER.search(done.output.encode())
    paths = [path for path in place.rglob("*") if place / "scorer" not in path.parents]
    paths += [out / "board.csv", out / "board.json", out / "true.csv", *(out / "html").rglob("*")]
    assert len(paths) > 60
    for path in paths:
        if path.is_file():
            assert not MARKER.search(path.read_bytes()), path
    for path in (place, *place.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    held = []
    with tarfile.open(out / "backup.tar") as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is not None and MARKER.search(stream.read()):
                held.append(member.name)
    assert held == ["board/scorer/keys/marked.jsonl"]
    assert (out / "backup.tar").stat().st_mode & 0o777 == 0o600
